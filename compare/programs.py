"""Peers' programs at work: one line in, one line out, and an end to waiting.

A program is started when it is first asked, and then kept: some need seconds to start, and a whole
comparison asks thousands of times.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Thread
from types import TracebackType
from typing import IO, Any

from compare.registry import PEERS_FOLDER, EnvironmentMissing, Peer
from postri.errors import PostriError

Answer = dict[str, Any]
NOT_INSTALLED = "does not install: "
NO_ANSWER = "no answer within"


class Interrupted(PostriError):  # noqa: N818  it is no error: somebody ended the run
    """The programs were ended from outside: what they did not answer says nothing of them."""


class Environments:
    """The Python of each peer. What could not be built is remembered, not tried for every row."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, Path | EnvironmentMissing] = {}
        self._one_at_a_time = Lock()

    def python(self, peer: Peer) -> Path:
        """Its interpreter, or the reason why there is none."""
        with self._one_at_a_time:
            if peer.key not in self._found:
                self._found[peer.key] = self._built(peer)
        found = self._found[peer.key]
        if isinstance(found, EnvironmentMissing):
            raise found
        return found

    def _built(self, peer: Peer) -> Path | EnvironmentMissing:
        try:
            return peer.python(self._folder)
        except EnvironmentMissing as why:
            return why


class Program:
    """A running program of a peer. One that ends, or does not answer in time, is started anew for
    the next task.
    """

    def __init__(self, peer: Peer, python: Path) -> None:
        self._peer = peer
        self._python = python
        self._running: subprocess.Popen[str] | None = None
        self._interrupted = False
        self._lines: Queue[str | None] = Queue()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  closed by close

    def ask(self, task: Mapping[str, Any], patience: float) -> Answer:
        """The answer to one task; a program that fails has its failure as an answer."""
        if self._interrupted:
            raise Interrupted(f"{self._peer.name} is asked no more")
        running = self._running or self._start()
        try:
            assert running.stdin is not None
            running.stdin.write(json.dumps(task) + "\n")
            running.stdin.flush()
            line = self._lines.get(timeout=patience)
        except Empty:
            self.stop()
            return {"error": f"{NO_ANSWER} {patience:g} s"}
        except BrokenPipeError:
            line = None
        if self._interrupted:
            raise Interrupted(f"{self._peer.name} was ended from outside")
        if line is None:
            last = self._last_words()
            self.stop()
            return {"error": f"the program ended: {last}"}
        answer: Answer = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[str]:
        # Another environment's packages must not be seen; ours may lie in the path that is set.
        paths = [str(PEERS_FOLDER)]
        if self._peer.requirement is None and os.environ.get("PYTHONPATH"):
            paths.append(os.environ["PYTHONPATH"])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self._lines = Queue()
        self._errors.seek(0)
        self._errors.truncate()
        self._running = subprocess.Popen(
            [str(self._python), str(self._peer.program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            # A Ctrl-C is ours to hear: a program that dies of it would have its end as an answer.
            start_new_session=True,
        )
        Thread(target=_read, args=(self._running.stdout, self._lines), daemon=True).start()
        return self._running

    def stop(self) -> None:
        """End the program, whatever it does."""
        if self._running is None:
            return
        self._running.kill()
        self._running.wait()
        for pipe in (self._running.stdin, self._running.stdout):
            if pipe is not None:
                _close(pipe)
        self._running = None

    def interrupt(self) -> None:
        """From another thread: end it for good; who waits for its answer is told so."""
        self._interrupted = True
        running = self._running
        if running is not None:
            running.kill()

    def close(self) -> None:
        """End it, and give back what it holds."""
        self.stop()
        self._errors.close()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return (lines or ["without a word"])[-1][:300]


def _close(pipe: IO[str]) -> None:
    # What was left to write may have no reader any more.
    with suppress(BrokenPipeError):
        pipe.close()


def _read(pipe: IO[str], lines: Queue[str | None]) -> None:
    for line in pipe:
        lines.put(line)
    lines.put(None)


class Lane:
    """The programs of one line of work, at most one of each peer."""

    def __init__(self, environments: Environments) -> None:
        self._environments = environments
        self._programs: dict[str, Program] = {}

    def __enter__(self) -> Lane:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(
        self, peer: Peer, task: Mapping[str, Any], patience: float, afresh: bool = False
    ) -> Answer:
        """The answer of a peer; where it does not install, that is its answer.

        `afresh` starts a process for this task, so that its peak of memory is its own.
        """
        try:
            program = self._program(peer)
        except EnvironmentMissing as why:
            return {"error": f"{NOT_INSTALLED}{why}"}
        if not afresh:
            return program.ask(task, patience)
        program.stop()
        answer = program.ask(task, patience)
        program.stop()
        return answer

    def _program(self, peer: Peer) -> Program:
        if peer.key not in self._programs:
            python = self._environments.python(peer)
            self._programs[peer.key] = Program(peer, python)
        return self._programs[peer.key]

    def rest(self) -> None:
        """End all programs until they are asked again: none takes a share of the machine."""
        for program in self._programs.values():
            program.stop()

    def interrupt(self) -> None:
        """From another thread: end all programs, and tell who waits for them."""
        for program in list(self._programs.values()):
            program.interrupt()

    def close(self) -> None:
        """End all programs for good."""
        for program in self._programs.values():
            program.close()
