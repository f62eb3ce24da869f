"""What an attack is, how long it may take, and what comes of it; and the list of all attacks.

A module that holds an attack calls it ATTACK, and has its place in MODULES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any

from postri.errors import InputError, nearest

# The modules that hold attacks, in the order in which they run: what takes least comes first.
MODULES = ("exact", "neighbours", "faults", "black_box", "timing", "fuzz")
# How the minutes of an audit are divided: a part for each of the four things that are fuzzed, and
# two for the draws of the black box.
FUZZED_PARTS = 4
BLACK_BOX_PARTS = 2
PARTS = FUZZED_PARTS + BLACK_BOX_PARTS
# From this many minutes on, what has a fixed size is tried at its full size.
FULL = 30


@dataclass(frozen=True)
class Size:
    """How much is tried: `minutes` for fuzzing and black-box draws together.

    `seed` is that of the attackers' own choices (which questions, which mutations). The draws that
    are attacked use the coins that ship.
    """

    minutes: float = 1.5
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.minutes <= 10_000:
            raise InputError(
                f"minutes must be above 0 and at most 10,000, got {self.minutes}; 60 is full size"
            )

    @property
    def full(self) -> bool:
        """Whether what has a fixed size is tried at its full size."""
        return self.minutes >= FULL

    @property
    def fuzz_seconds(self) -> float:
        """For each of the things that are fuzzed."""
        return self.minutes * 60 / PARTS

    @property
    def black_box_seconds(self) -> float:
        """For the draws of the black box, all together."""
        return self.minutes * 60 * BLACK_BOX_PARTS / PARTS


@dataclass
class AttackNotes:
    """What an attack writes down while it runs.

    `tell` is called with a word on where it is, for whoever looks on.
    """

    tell: Callable[[str], None] = lambda words: None
    figures: dict[str, str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AttackOutcome:
    """What came of an attack: it has passed if it found nothing."""

    name: str
    tried: str
    figures: Mapping[str, str]
    findings: tuple[str, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """In one word."""
        if self.passed:
            return "passed"
        return "failed"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "tried": self.tried,
            "figures": dict(self.figures),
            "findings": list(self.findings),
            "verdict": self.verdict,
            "seconds": round(self.seconds, 1),
        }


@dataclass(frozen=True)
class Attack:
    """An attack by its name, with a sentence on what it tries."""

    name: str
    tried: str
    attempt: Callable[[Size, AttackNotes], None]

    def run(self, size: Size, tell: Callable[[str], None] = lambda words: None) -> AttackOutcome:
        """Try it. An attack that breaks down has found something: what it met is told."""
        notes = AttackNotes(tell)
        start = perf_counter()
        try:
            self.attempt(size, notes)
        except Exception as error:
            # The tables are the audit's own: nobody's cell can be in the message.
            notes.findings.append(f"the attack itself met {type(error).__name__}: {error}")
        seconds = perf_counter() - start
        return AttackOutcome(self.name, self.tried, notes.figures, tuple(notes.findings), seconds)


def attacks() -> list[Attack]:
    """Every attack, in the order in which they run."""
    return [import_module(f"postri.audit.{module}").ATTACK for module in MODULES]


def chosen(names: str | None) -> list[Attack]:
    """Those that are named, separated by commas; all if None."""
    known = attacks()
    if names is None:
        return known
    by_name = {attack.name: attack for attack in known}
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in by_name:
            raise InputError(f"there is no attack {name!r}; {nearest(name, by_name)}")
    return [attack for attack in known if attack.name in wanted]


def run_all(
    which: list[Attack], size: Size, tell: Callable[[str, str], None]
) -> Iterator[AttackOutcome]:
    """One after the other. `tell` hears the name of the attack and where it is."""
    for attack in which:
        tell(attack.name, "")
        yield attack.run(size, partial(tell, attack.name))
