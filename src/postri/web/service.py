"""What all requests share: the policy, its ledger, the tokens, the threads that answer, and whether
the service can answer at all.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from postri.answer import Result
from postri.engines.process.engine import QuestionScans
from postri.engines.process.pool import Workers, share_of_memory
from postri.engines.progress import check_cancelled
from postri.engines.table import Table
from postri.errors import PolicyError, PostriError, SourceError
from postri.ledger import SqliteLedger
from postri.mechanisms.coins import secret_bytes
from postri.policy import Dataset, Policy
from postri.question import Wording
from postri.session.local import LocalSession
from postri.web.limits import Rate, TimeGrid
from postri.web.queues import FairQueue
from postri.web.scans import Scans
from postri.web.tokens import Token, Tokens

Value = TypeVar("Value")

# Threads for what is short, apart from one another: one kind never waits for another.
TOKENS = 4
SHORT = 8
PROBES = 1
# Threads for long lists, such as histories, which are shared fairly: how many, how many requests
# may wait, and how many of each name.
LISTS = 2
LISTS_WAITING = 64
LISTS_WAITING_EACH = 16
# Less room on the disk than this is no room: a few entries and the journal must fit.
LEAST_ROOM = 1 << 20
PROBE = b"\0" * 4096
# Who asks often gets the last finding, for each probe waits for the disk. In seconds.
FRESH = 1.0
FULL = "the disk of the ledger is full"
UNWRITABLE = "the folder of the ledger cannot be written"
UNREADABLE = "the ledger or the file of tokens cannot be read"


class ServedSession(LocalSession):
    """A session that counts in a process of its own, and tells nothing of where the data are,
    whatever goes wrong with them.

    One question at a time.
    """

    def __init__(self, service: Service, token: Token) -> None:
        super().__init__(
            service.policy, service.ledger, token.name, allowance=service.allowance(token)
        )
        self._datasets = {
            name: dataset for name, dataset in self._datasets.items() if token.opens(name)
        }
        self._workers = service.workers

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The recorded answer to the question, or a new one that is paid for."""
        with QuestionScans(self._workers) as scans:
            self._opener = scans.open
            return super().answer(wording, retry)

    def _open(self, dataset: Dataset) -> Table:
        try:
            return super()._open(dataset)
        except PolicyError:
            raise
        except PostriError:
            pass
        check_cancelled()
        # Raised outside that block, so that the message stays out of the chain.
        raise SourceError(
            f"the data of {dataset.name!r} cannot be opened; the steward finds out why with "
            "'postri check'"
        )


class Service:
    """A policy that is served."""

    def __init__(
        self,
        policy: Policy,
        ledger: SqliteLedger,
        tokens: Tokens,
        workers: Workers | None = None,
    ) -> None:
        limits = policy.service
        self.policy = policy
        self.ledger = ledger
        self.tokens = tokens
        self.workers = workers or Workers(limits.memory or share_of_memory(limits.scans))
        self.scans = Scans(
            limits.scans,
            limits.waiting,
            limits.waiting_each,
            float(limits.scan_timeout),
        )
        self.grid = TimeGrid(float(limits.time_grid))
        self.rate = Rate(limits.rate)
        self.token_threads = CapacityLimiter(TOKENS)
        self._short_threads = CapacityLimiter(SHORT)
        self._probe_threads = CapacityLimiter(PROBES)
        self._list_threads = CapacityLimiter(LISTS)
        self._lists = FairQueue(LISTS, LISTS_WAITING, LISTS_WAITING_EACH)
        folders = {file.parent for file in (policy.ledger, policy.head) if file is not None}
        self.readiness = Readiness(
            folders, lambda: (ledger.history("", limit=1), tokens.allowances())
        )

    def session(self, token: Token) -> LocalSession:
        """The session of whoever has this token: it knows of no other datasets."""
        return ServedSession(self, token)

    def allowance(self, token: Token) -> Fraction | None:
        """What its name may spend on each dataset: that of an analyst who has none is the
        policy's.
        """
        if token.allowance is None and token.role == "analyst":
            return self.policy.service.allowance
        return token.allowance

    async def do(self, work: Callable[..., Value], *given: object) -> Value:
        """Do something short on a thread: it may wait for the disk."""
        return await to_thread.run_sync(partial(work, *given), limiter=self._short_threads)

    async def listing(self, name: str, work: Callable[..., Value], *given: object) -> Value:
        """Make a list that may be long, for the analyst or steward of this name."""
        async with self._lists.turn(name):
            return await to_thread.run_sync(partial(work, *given), limiter=self._list_threads)

    async def trouble(self) -> str | None:
        """Why no question could be paid for now; None if all is well."""
        return await to_thread.run_sync(self.readiness.trouble, limiter=self._probe_threads)

    def close(self) -> None:
        """Let go of the files."""
        self.workers.close()
        self.ledger.close()
        self.tokens.close()


class Readiness:
    """Finds out whether questions could be paid for now: from a ledger that can be read, and
    folders that can be written. `look` reads the ledger.
    """

    def __init__(self, folders: set[Path], look: Callable[[], object]) -> None:
        self._folders = folders
        self._look = look
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
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return FULL
            return UNWRITABLE
        except PostriError:
            return UNREADABLE
        return None


def _write(folder: Path) -> None:
    """Write a little, down to the disk, and take it away again."""
    # A name that nobody can have prepared.
    place = folder / f".postri-probe-{secret_bytes(8).hex()}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(place, flags, 0o600)
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
