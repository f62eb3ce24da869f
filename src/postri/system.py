"""What differs from one operating system to the next, in one file: locks, private files, limits and
signals.

Everything else runs wherever Python does: nothing but this file imports a module, or uses a name,
that some system does not have. What is missing is looked for by its name, not by the name of the
system. Linux and macOS have all of it. Windows has other locks, keeps no rights in a file's mode,
and has none of what the service needs (`can_serve`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, cast

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]  # Windows
try:
    import msvcrt
except ImportError:
    msvcrt = None  # type: ignore[assignment]  # all others
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]  # Windows

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import Popen

PRIVATE = 0o600
# Windows would translate line ends.
BINARY: int = getattr(os, "O_BINARY", 0)
# A link that somebody has put in a file's place is not followed, where links can be told apart.
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
# On Windows a lock keeps others from reading what is locked: this byte is never there.
LOCKED_BYTE = 1 << 30
# Standard input of a worker is a pipe to whoever started it. Nothing is ever sent through it.
LIFELINE = 0
FIRST_TO_END = "1000"
FORKS: Callable[..., None] | None = getattr(os, "register_at_fork", None)


# ---- files


def create(path: Path | str) -> int:
    """A new file that nobody else may read, whatever the umask; FileExistsError if there is one.

    Windows knows no such rights: there it has those of its folder.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINK | BINARY, PRIVATE)
    _make_private(file)
    return file


def ensure(path: Path | str) -> None:
    """An empty file for its owner alone, if there is none."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | NO_LINK | BINARY, PRIVATE))


def open_there(path: Path, *, writable: bool) -> int:
    """A file that is there, to be read or also to be written."""
    flags = os.O_RDONLY
    if writable:
        flags = os.O_RDWR
    return os.open(path, flags | BINARY)


def _make_private(file: int) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(file, PRIVATE)


def read_at(file: int, size: int, offset: int) -> bytes:
    """Up to `size` bytes of an open file."""
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, size)


def write_at(file: int, content: bytes, offset: int) -> None:
    """Put bytes into an open file, in the place of others."""
    os.lseek(file, offset, os.SEEK_SET)
    os.write(file, content)


def replace(file: int, path: Path, new: Path) -> None:
    """Put a new file in the place of one that is open, all at once.

    Windows replaces no file that is open. There its content is written over: if the power fails
    just then, what is left is not whole.
    """
    if fcntl is not None:
        os.replace(new, path)
        return
    content = new.read_bytes()
    write_at(file, content, 0)
    os.ftruncate(file, len(content))
    os.fsync(file)
    new.unlink()


def lock(file: int, *, shared: bool) -> None:
    """Take the lock of an open file, until it is closed; BlockingIOError if somebody else has it.

    Windows has no shared ones, so that readers take turns.
    """
    if fcntl is not None:
        kind = fcntl.LOCK_EX
        if shared:
            kind = fcntl.LOCK_SH
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    elif msvcrt is not None:
        os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError from None
    else:
        raise OSError(0, "this system has no locks for files")


def unnamed_file() -> tuple[IO[bytes], str]:
    """A file that nobody else can open, and the path by which a library of this process does; it is
    gone when it is let go, or when the process ends.
    """
    from tempfile import NamedTemporaryFile, TemporaryFile
    from weakref import finalize

    if os.path.isdir("/dev/fd"):
        file = TemporaryFile()  # noqa: SIM115  # it lives as long as whoever holds it
        return file, f"/dev/fd/{file.fileno()}"
    # Elsewhere a file needs a name to be opened a second time; and Windows opens none a second time
    # that goes by itself when it is closed.
    named = NamedTemporaryFile(delete=False)  # noqa: SIM115  # likewise
    finalize(named, _remove, named.file, named.name)
    return cast(IO[bytes], named), named.name


def _remove(file: IO[bytes], path: str) -> None:
    file.close()
    # Windows removes no file that a library still reads.
    with suppress(OSError):
        os.unlink(path)


# ---- processes and limits


def can_serve() -> bool:
    """Whether the service can run here: it hands sockets to processes, and limits their memory."""
    return fcntl is not None and resource is not None


def on_fork(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Call these around every fork, on both sides; where there are no forks, never."""
    if FORKS is not None:
        FORKS(before=before, after_in_parent=after, after_in_child=after)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory() -> int:
    """The memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def open_files(wanted: int) -> int:
    """How many files this process may have open: `wanted`, or as many as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return min(wanted, soft)


def start_with(descriptor: int, words: Sequence[str]) -> Popen[bytes]:
    """Start a silent process that has this descriptor, and a pipe to this one that tells it when
    this one ends.
    """
    import subprocess

    # A group of its own: Ctrl-C is for whoever waits for it.
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[descriptor],
        process_group=0,
    )


def limit_process(memory: int) -> None:
    """Let this process have no more than `memory` bytes, and let it be the first to end where
    memory is short.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    # The system ends this process before the one that waits for it.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write(FIRST_TO_END)
    # A crash leaves no cells on a disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_with_parent() -> None:
    """End when the other end of standard input is closed: so it is when its process ends, however.

    On Linux the kernel sees to it, for a thread waits while a library holds the interpreter's lock.
    """
    if sys.platform == "linux":
        import select

        fcntl.fcntl(LIFELINE, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(LIFELINE, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(LIFELINE, fcntl.F_GETFL)
        fcntl.fcntl(LIFELINE, fcntl.F_SETFL, flags | os.O_ASYNC)
        # It may have been closed before that.
        if select.select([LIFELINE], [], [], 0)[0]:
            os._exit(1)
    else:
        Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    os.read(LIFELINE, 1)
    os._exit(1)


@contextmanager
def processor_time(seconds: float, error: Exception) -> Iterator[None]:
    """Raise `error` inside the block, in the main thread, if it takes more of the processor; where
    the system does not count that, it may take what it takes.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def too_long(number: int, frame: FrameType | None) -> None:
        raise error

    before: Any = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
