"""Programs of the package that need not load it: forked from one process that has loaded it.

A process of Python that loads the service works for longer than most of what tests ask of it. What
is forked is a process all the same: with its own signals, streams, end and memory. That a program
starts from nothing is tested where it is the point, and `make prove` starts each so.

Run as a program, with the place of a socket, this is the process that has loaded the package. Each
connection asks for one start; over it comes the number of the process, and its status at the end.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from select import select
from threading import Lock
from typing import IO, Any

from proving import PROVE

PRELOADED = ("postri.cli.program", "postri.web.server", "postri.engines.process.worker")
# A request in one message: its words and surroundings are not longer than that.
LONGEST = 1 << 20
# Its standard input is closed when whoever started it ends.
LIFELINE = 0
# Where the process that forks listens, for programs that it has forked.
PLACE = "POSTRI_TEST_WARM_START"
COLD_START = subprocess.Popen
CLIENT = Path(__file__).with_name("warm_client.py")


class WarmStart:
    """What `subprocess.Popen` is, as far as tests ask for it: the first word is this Python's
    program, or a script in Python.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        stdin: int | None = None,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        text: bool = False,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        process_group: int | None = None,
    ) -> None:
        self.returncode: int | None = None
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        theirs: list[int] = []
        given = []
        for number, wanted in enumerate((stdin, stdout, stderr)):
            if wanted == subprocess.PIPE:
                reading, writing = os.pipe()
                ends = (reading, writing) if number == 0 else (writing, reading)
                theirs.append(ends[0])
                given.append(ends[0])
                mode = ("w" if number == 0 else "r") + ("" if text else "b")
                stream = open(ends[1], mode)  # noqa: SIM115  # it is the caller's
                setattr(self, ("stdin", "stdout", "stderr")[number], stream)
            elif wanted == subprocess.DEVNULL:
                theirs.append(os.open(os.devnull, os.O_RDWR))
                given.append(theirs[-1])
            elif wanted is None:
                given.append(number)
            elif isinstance(wanted, int):
                given.append(wanted)
            else:
                given.append(wanted.fileno())
        request = {
            "words": list(words),
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "descriptors": list(pass_fds),
            "is_leader": process_group is not None,
        }
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(_place())
        message = json.dumps(request).encode()
        socket.send_fds(self._connection, [message], [*given, *pass_fds])
        self.pid = int(self._connection.recv(100))
        for descriptor in theirs:
            os.close(descriptor)

    def poll(self) -> int | None:
        """Its status, if it has ended."""
        if self.returncode is None:
            with suppress(BlockingIOError):
                self._look(socket.MSG_DONTWAIT)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its status, once it has ended."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self._look()
            except TimeoutError:
                raise subprocess.TimeoutExpired("a warm start", timeout or 0) from None
            finally:
                if self.returncode is None:
                    self._connection.settimeout(None)
        assert self.returncode is not None
        return self.returncode

    def _look(self, flags: int = 0) -> None:
        status = self._connection.recv(100, flags)
        assert status, "the process that forks is gone"
        self.returncode = int(status)
        self._connection.close()

    def send_signal(self, sent: int) -> None:
        """As `Popen`: nothing is sent to a process that has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sent)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def started(words: Sequence[str], **how: Any) -> Any:
    """A process: warm, or under `make prove` from nothing."""
    if PROVE:
        return COLD_START(words, **how)
    return WarmStart(words, **how)


def warm_program(script: Path) -> str:
    """A program in Python as a command for shell scripts: warm, or under `make prove` itself."""
    if PROVE:
        return str(script)
    return f"{sys.executable} -I {CLIENT} {_place()} {script}"


_starting = Lock()


def start_forking() -> None:
    """Start the process that forks, for this one and all that it starts; it takes a while."""
    place = Path(tempfile.mkdtemp(prefix="postri-warm-")) / "socket"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, __file__, str(place)]
    forking = COLD_START(command, stdin=subprocess.PIPE, env=environment)
    # It ends when this one does, however; in the usual way it is also waited for.
    atexit.register(forking.communicate)
    os.environ[PLACE] = str(place)


def _place() -> str:
    """Where the process that forks listens; it is started when it is first asked for."""
    with _starting:
        if PLACE not in os.environ:
            start_forking()
    place = os.environ[PLACE]
    deadline = time.monotonic() + 120
    while not os.path.exists(place):
        assert time.monotonic() < deadline, "the process that forks does not listen"
        time.sleep(0.01)
    return place


# ---- the process that forks


def fork_for_ever(place: Path) -> Any:
    """Fork at every request, until whoever started this ends.

    Returns in the processes that were forked, with what they are to run.
    """
    for name in PRELOADED:
        import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Whoever finds the file finds somebody who listens.
    listener.bind(f"{place}.new")
    listener.listen(100)
    Path(f"{place}.new").rename(place)
    while listener in select([listener, LIFELINE], [], [])[0]:
        connection, _ = listener.accept()
        with connection:
            message, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 16)
            if os.fork() == 0:
                listener.close()
                return watched(connection, json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        # Those that have ended, so that what they worked is known.
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
    place.unlink()
    place.parent.rmdir()
    # At once: a library that counts its objects at the end would miss those that are frozen.
    os._exit(0)


def watched(connection: socket.socket, request: Any, descriptors: list[int]) -> Any:
    """Fork once more: this process tells when the other ends, and how."""
    child = os.fork()
    if child == 0:
        connection.close()
        return request, descriptors
    for descriptor in (0, 1, 2, *descriptors):
        os.close(descriptor)
    with suppress(OSError):
        connection.send(b"%d" % child)
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        connection.send(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def become(place: str, request: Any, descriptors: list[int]) -> None:
    """Run the words of a request as Python would."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # A library that counts its objects at the end would miss those that are frozen.
    gc.unfreeze()
    os.chdir(request["cwd"])
    if request["is_leader"]:
        os.setpgid(0, 0)
    # First out of the way of one another, then to their places.
    high = [os.dup(descriptor) for descriptor in descriptors]
    apart = [os.dup2(each, 1000 + number) for number, each in enumerate(high)]
    for descriptor in (*descriptors, *high):
        os.close(descriptor)
    places = (0, 1, 2, *request["descriptors"])
    for there, here in zip(apart, places, strict=True):
        os.dup2(there, here)
        os.close(there)
    os.environ.clear()
    os.environ.update(request["env"])
    os.environ[PLACE] = place
    _warm_workers()
    words = request["words"]
    if words[0] == sys.executable:
        words = words[1:]
    if words[0] == "-P":
        words = words[1:]
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(words[1], {"__name__": "__main__"})
    else:
        sys.argv = list(words)
        sys.path[0] = str(Path(words[0]).parent)
        runpy.run_path(words[0], run_name="__main__")


def _warm_workers() -> None:
    """What the service starts to count for it is warm too."""
    from postri import system

    def start_with(descriptor: int, words: Sequence[str]) -> WarmStart:
        return WarmStart(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor],
            process_group=0,
        )

    system.start_with = start_with  # type: ignore[assignment]  # as far as workers ask for it


if __name__ == "__main__":
    become(sys.argv[1], *fork_for_ever(Path(sys.argv[1])))
