"""Whether the service can answer: a ledger that can be read, and folders that can be written."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic

from postri.errors import PostriError

# Less room than this is no room: a few entries and the journal must fit.
LEAST_ROOM = 1 << 20
PROBE = b"\0" * 4096
# Who asks often gets the last finding, for each probe waits for the disk.
FRESH = 1.0
FULL = "the disk of the ledger is full"
UNWRITABLE = "the folder of the ledger cannot be written"
UNREADABLE = "the ledger or the file of tokens cannot be read"


class Readiness:
    """Finds out whether questions could be paid for now."""

    def __init__(self, folders: set[Path], look: Callable[[], object]) -> None:
        self._folders, self._look = folders, look
        self._found: tuple[float, str | None] | None = None
        self._lock = Lock()

    def trouble(self) -> str | None:
        """What is wrong, in plain words without a path; None if all is well."""
        with self._lock:
            if self._found is None or monotonic() - self._found[0] > FRESH:
                self._found = (monotonic(), self._probe())
            return self._found[1]

    def _probe(self) -> str | None:
        try:
            for folder in self._folders:
                _write(folder)
            self._look()
        except OSError as error:
            return FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else UNWRITABLE
        except PostriError:
            return UNREADABLE
        return None


def _write(folder: Path) -> None:
    """Write a little, down to the disk, and take it away again."""
    place = folder / f".postri-probe-{os.getpid()}"
    try:
        file = os.open(
            place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            os.write(file, PROBE)
            os.fsync(file)
            room = os.fstatvfs(file)
        finally:
            os.close(file)
    finally:
        place.unlink(missing_ok=True)
    if room.f_bavail * room.f_frsize < LEAST_ROOM:
        raise OSError(errno.ENOSPC, "too little room")
