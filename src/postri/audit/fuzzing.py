"""A small coverage-guided fuzzer: inputs are changed at random, and those that reach lines of
postri that none reached before are kept and changed further.

Its choices come from a generator with a seed that is told, so that a run can be repeated; nothing
private is drawn from it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from types import CodeType, FrameType
from typing import Any

import postri
from postri import system

PACKAGE = str(Path(postri.__file__).parent) + os.sep
OWN = str(Path(__file__).parent) + os.sep
# What an input may take of the processor, in seconds, before it counts as one that hangs. Wall time
# would blame an input for a busy machine.
PATIENCE = 20.0
MOST_BYTES = 6_000
# How many changes an input gets at most, and how often a part is repeated at most.
MOST_CHANGES = 5
MOST_REPEATS = 400
# How many tries a finding is made smaller in.
MOST_SHRINKS = 300
NUMBERS = (b"0", b"-1", b"1e400", b"9" * 40, b"0.1", b"NaN", b"2147483648", b"1/3", b"1e-400")


class Hang(Exception):  # noqa: N818  # what happened, and no error of anybody's
    """An input took longer than it may."""


@dataclass(frozen=True)
class FuzzTarget:
    """What is fuzzed: how an input is tried, what to begin with, which words to put in.

    `attempt` returns for every input that is answered or refused as it should be, and raises for
    every other.
    """

    name: str
    attempt: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]


@dataclass(frozen=True)
class Crash:
    """An input that was neither answered nor refused, as small as it could be made."""

    kind: str
    message: str
    input: bytes

    def told(self) -> str:
        """In a line."""
        return f"{self.kind} ({self.message[:200]}) on {self.input[:300]!r}"


@dataclass
class FuzzFindings:
    """What came of fuzzing a target."""

    inputs: int = 0
    lines: int = 0
    lines_of_seeds: int = 0
    kept: int = 0
    crashes: dict[tuple[str, str], Crash] = field(default_factory=dict)


class Coverage:
    """The lines of postri that were run, in all threads that begin while it watches."""

    def __init__(self) -> None:
        self.lines: set[tuple[CodeType, int]] = set()
        self._ours: dict[CodeType, bool] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for the time of a block."""
        before = sys.gettrace()
        threading.settrace(self._entered)
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        ours = self._ours.get(code)
        if ours is None:
            file = code.co_filename
            ours = file.startswith(PACKAGE) and not file.startswith(OWN)
            self._ours[code] = ours
        if not ours:
            return None
        return self._moved

    def _moved(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code, frame.f_lineno))
        return self._moved


@contextmanager
def guarded(seconds: float = PATIENCE) -> Iterator[None]:
    """Raise Hang inside the block if it takes more of the processor.

    Only the main thread can be told so: elsewhere there is no guard.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with system.processor_time(seconds, Hang(f"more than {seconds:g} seconds of the processor")):
        yield


class Fuzzer:
    """Changes inputs of a target for a while."""

    def __init__(self, target: FuzzTarget, seed: int) -> None:
        self._target = target
        self._random = Random(f"{seed}/{target.name}")
        self._corpus: list[bytes] = []
        self._coverage = Coverage()
        self.found = FuzzFindings()

    def run(self, seconds: float, least: int, tell: Callable[[str], None]) -> FuzzFindings:
        """Try the seeds, then changed inputs until the time is over, and `least` of them."""
        until = monotonic() + seconds
        with self._coverage.watching():
            for seed in self._target.seeds:
                self._try(seed)
            self.found.lines_of_seeds = len(self._coverage.lines)
            self._corpus = list(self._target.seeds)
            while monotonic() < until or self.found.inputs < least:
                self._try(self._changed())
                if self.found.inputs % 50 == 0:
                    tell(f"{self._target.name}, {self.found.inputs:,} inputs")
        self.found.lines = len(self._coverage.lines)
        self.found.kept = len(self._corpus)
        return self.found

    def _try(self, given: bytes) -> None:
        before = len(self._coverage.lines)
        crash = tried(self._target, given)
        self.found.inputs += 1
        if crash is not None:
            # One of a kind is enough: where it was raised tells two of a kind apart.
            key = (crash.kind, crash.message[:60])
            if key not in self.found.crashes:
                self.found.crashes[key] = shrunk(self._target, crash)
        elif len(self._coverage.lines) > before:
            self._corpus.append(given)

    def _changed(self) -> bytes:
        random = self._random
        # Those that were found last lead furthest.
        place = int(len(self._corpus) * (1 - random.random() ** 2))
        given = self._corpus[min(place, len(self._corpus) - 1)]
        for _ in range(random.randint(1, MOST_CHANGES)):
            given = random.choice(CHANGES)(given, self._target.words, self._corpus, random)
        return given[:MOST_BYTES]


def tried(target: FuzzTarget, given: bytes) -> Crash | None:
    """What an input makes of the target: nothing, if it was answered or refused as it should be."""
    try:
        with guarded():
            target.attempt(given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Crash(type(error).__name__, str(error), given)
    return None


def shrunk(target: FuzzTarget, crash: Crash) -> Crash:
    """The same kind of crash by less: parts are left out as long as it stays."""
    tries = 0
    size = max(1, len(crash.input) // 2)
    while size and tries < MOST_SHRINKS:
        place = 0
        while place < len(crash.input) and tries < MOST_SHRINKS:
            smaller = crash.input[:place] + crash.input[place + size :]
            tries += 1
            again = tried(target, smaller)
            if again is not None and again.kind == crash.kind:
                crash = again
            else:
                place += size
        size //= 2
    return crash


# ---- changes: of an input, with words and other inputs at hand

Words = Sequence[bytes]


def _part(given: bytes, random: Random) -> tuple[int, int]:
    start = random.randint(0, len(given))
    length = int(random.expovariate(1 / 8)) + 1
    return start, min(len(given), start + length)


def _left_out(given: bytes, words: Words, corpus: Words, random: Random) -> bytes:
    start, end = _part(given, random)
    return given[:start] + given[end:]


def _repeated(given: bytes, words: Words, corpus: Words, random: Random) -> bytes:
    start, end = _part(given, random)
    times = int(MOST_REPEATS ** random.random())
    return given[:end] + given[start:end] * times + given[end:]


def _word_put_in(given: bytes, words: Words, corpus: Words, random: Random) -> bytes:
    place = random.randint(0, len(given))
    return given[:place] + random.choice(words) + given[place:]


def _word_in_place(given: bytes, words: Words, corpus: Words, random: Random) -> bytes:
    start, end = _part(given, random)
    return given[:start] + random.choice(words) + given[end:]


def _number_put_in(given: bytes, words: Words, corpus: Words, random: Random) -> bytes:
    start, end = _part(given, random)
    return given[:start] + random.choice(NUMBERS) + given[end:]


def _byte_changed(given: bytes, words: Words, corpus: Words, random: Random) -> bytes:
    if not given:
        return bytes([random.randrange(256)])
    place = random.randrange(len(given))
    return given[:place] + bytes([random.randrange(256)]) + given[place + 1 :]


def _joined(given: bytes, words: Words, corpus: Words, random: Random) -> bytes:
    other = random.choice(corpus)
    return given[: random.randint(0, len(given))] + other[random.randint(0, len(other)) :]


CHANGES = (
    _left_out,
    _repeated,
    _word_put_in,
    _word_in_place,
    _word_put_in,
    _number_put_in,
    _byte_changed,
    _joined,
)
