"""A peer's program at work: one line in, one line out, and an end to waiting."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import IO, Any

from compare.registry import PEERS_FOLDER, Peer

Answer = dict[str, Any]


class Program:
    """A running program of a peer. One that ends, or does not answer in time, is started anew for
    the next task.
    """

    def __init__(self, peer: Peer, python: Path, patience: float) -> None:
        self._peer = peer
        self._python = python
        self._patience = patience
        self._running: subprocess.Popen[str] | None = None
        self._lines: Queue[str | None] = Queue()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  closed by close

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._errors.close()

    def ask(self, task: Mapping[str, Any]) -> Answer:
        """The answer to one task; a program that fails has its failure as an answer."""
        running = self._running or self._start()
        try:
            assert running.stdin is not None
            running.stdin.write(json.dumps(task) + "\n")
            running.stdin.flush()
            line = self._lines.get(timeout=self._patience)
        except Empty:
            self.stop()
            return {"error": f"no answer within {self._patience:g} s"}
        except BrokenPipeError:
            line = None
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


def answers(
    peer: Peer,
    python: Path,
    tasks: Iterable[Mapping[str, Any]],
    patience: float,
    afresh: bool = False,
) -> Iterator[Answer]:
    """The answers to the tasks, in order; `afresh` starts a process for each, so that its peak of
    memory is its own.
    """
    with Program(peer, python, patience) as program:
        for task in tasks:
            yield program.ask(task)
            if afresh:
                program.stop()
