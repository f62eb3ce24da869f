"""Makes this interpreter like one on Windows, as far as that can be done on Linux: modules that are
not there cannot be imported, names that are not there are gone, and locks come from `msvcrt`.

    python -c 'import elsewhere; elsewhere.go(); ...'
"""

from __future__ import annotations

import importlib
import importlib.abc
import os
import signal
import sys
import types

# Loaded before anything is taken away: other libraries are not what is tried, and take this system
# for what it is.
LOADED = (
    "ctypes",
    "duckdb",
    "flint",
    "multiprocessing",
    "numpy",
    "platform",
    "sqlglot",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "typer",
)
MODULES = ("fcntl", "grp", "posix", "pwd", "readline", "resource", "termios")
OS_NAMES = (
    "O_ASYNC",
    "O_CLOEXEC",
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "O_NONBLOCK",
    "chown",
    "fchmod",
    "fchown",
    "fork",
    "forkpty",
    "fstatvfs",
    "geteuid",
    "getgid",
    "getpgid",
    "getuid",
    "killpg",
    "lockf",
    "mkfifo",
    "nice",
    "posix_spawn",
    "pread",
    "preadv",
    "pwrite",
    "pwritev",
    "register_at_fork",
    "sched_getaffinity",
    "setsid",
    "setuid",
    "statvfs",
    "sysconf",
    "uname",
    "waitid",
    "waitpid",
)
SIGNAL_NAMES = (
    "ITIMER_PROF",
    "ITIMER_REAL",
    "SIGALRM",
    "SIGCHLD",
    "SIGHUP",
    "SIGKILL",
    "SIGPROF",
    "SIGUSR1",
    "alarm",
    "setitimer",
)
# These stay where they are, for other libraries look for them again.
STAYING = ("sched_getaffinity", "sysconf", "uname", "waitid", "waitpid")


class _Missing(importlib.abc.MetaPathFinder):
    """Finds nothing of these names."""

    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"there is no {name} on this system", name=name)


def go(*others: str) -> None:
    """From here on this is another system; these libraries are loaded before."""
    for name in (*LOADED, *others):
        importlib.import_module(name)
    sys.modules["msvcrt"] = _locks()
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Missing())
    for module, names in ((os, OS_NAMES), (signal, SIGNAL_NAMES)):
        for name in names:
            if name not in STAYING and hasattr(module, name):
                delattr(module, name)
    # There is no /dev either.
    is_folder = os.path.isdir
    os.path.isdir = lambda path: not str(path).startswith("/dev") and is_folder(path)


def _locks() -> types.ModuleType:
    """Locks as Windows has them, made of those of Linux: no two at once, and an error of its own
    for one that is taken.
    """
    from fcntl import LOCK_EX, LOCK_NB, flock

    def locking(file: int, mode: int, size: int) -> None:
        assert (mode, size) == (2, 1)
        # Nothing that is ever read may be locked.
        assert os.lseek(file, 0, os.SEEK_CUR) > os.fstat(file).st_size
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    found = types.ModuleType("msvcrt")
    found.LK_NBLCK = 2
    found.locking = locking
    return found
