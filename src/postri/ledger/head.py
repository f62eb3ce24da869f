"""The chain's head in a second place: the last number, its hash and what was spent.

It shows when an old copy of a ledger comes back.

The file has two slots, and a new head overwrites the older one in place. So a power failure leaves
at least one of them whole, and the disk need not be waited for: a head that is older than its
ledger is fine. A slot is a line with a checksum, filled up with blanks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep

from postri import system
from postri.cost import Cost
from postri.errors import LedgerError
from postri.ledger.entries import FIRST_HASH, Entry
from postri.ledger.parts import rational, read_epsilon
from postri.mechanisms.coins import secret_bytes

SLOT = 4096


@dataclass(frozen=True)
class Head:
    """Where a chain ends, and what was spent by then, as canonical JSON: read at every question,
    and looked into when trouble is found.
    """

    number: int
    hash: str
    spending: str

    @property
    def line(self) -> str:
        """The head as a line to print, keep elsewhere and hand to `verify(expected_head=...)`."""
        return f"{self.number} {self.hash}"

    @property
    def spent(self) -> dict[str, Cost]:
        """What was spent, by dataset."""
        spent = json.loads(self.spending)
        return {
            # A delta stands there only where there is one.
            dataset: Cost(read_epsilon(epsilon), rational(rho), *map(rational, delta))
            for dataset, (epsilon, rho, *delta) in spent.items()
        }

    def knows(self, entry: Entry) -> bool:
        """Whether an entry was there by then."""
        return entry.number <= self.number


@dataclass(frozen=True)
class Heads(Head):
    """Where a ledger of several chains ends: its last number, a hash over the ends of all chains,
    and those ends, each as name, number and hash.
    """

    chains: tuple[tuple[str, int, str], ...] = ()

    @property
    def line(self) -> str:
        """The ends of all chains, as a line."""
        if not self.chains:
            return f"0 {FIRST_HASH}"
        return ", ".join(f"{number} {hash}" for _, number, hash in self.chains)

    def knows(self, entry: Entry) -> bool:
        ends = {name: number for name, number, _ in self.chains}
        return entry.number <= ends.get(entry.chain, 0)


def trouble(head: Head | None, number: int, hash_at: Callable[[int], str | None]) -> str | None:
    """Why a chain that ends at this number does not fit its head; None if it does."""
    if head is None:
        if number == 0:
            return None
        return "its head is missing or damaged"
    if head.number > number:
        return (
            f"it ends at entry {number}, and its head knows of entry {head.number}: this is an "
            "old copy, or entries were cut off"
        )
    if head.number and hash_at(head.number) != head.hash:
        return (
            f"its entry {head.number} is not the one that its head knows: entries were changed, "
            "or the head is another ledger's"
        )
    return None


class HeadFile:
    """The head of one ledger in a file of its own, shared by processes."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path
        self.patience = patience

    def read(self) -> Head | None:
        """The head; None if there is no file or nothing whole in it."""
        with (
            self._worded(),
            suppress(FileNotFoundError),
            self._locked(shared=True) as file,
        ):
            return HeldHead(self.path, file).newest
        return None

    @contextmanager
    def held(self) -> Iterator[HeldHead]:
        """The head, to be moved: nobody else can read or move it meanwhile.

        Makes the file if there is none.
        """
        with self._worded():
            if not self.path.exists():
                self._make()
            with self._locked(shared=False) as file:
                yield HeldHead(self.path, file)

    def _make(self) -> None:
        """An empty file, through no link that somebody has put in its place."""
        # Another process may be as fast; a link to nothing is found when it is opened.
        with suppress(FileExistsError):
            os.close(system.create(self.path))

    @contextmanager
    def _locked(self, *, shared: bool) -> Iterator[int]:
        """The open file under a lock; opened again if it was replaced while the lock was waited
        for.
        """
        while True:
            file = system.open_there(self.path, writable=not shared)
            try:
                self._wait_for(file, shared=shared)
                if os.path.samestat(os.fstat(file), os.stat(self.path)):
                    yield file
                    return
            finally:
                os.close(file)

    def _wait_for(self, file: int, *, shared: bool) -> None:
        deadline = monotonic() + self.patience
        while True:
            try:
                system.lock(file, shared=shared)
                return
            except BlockingIOError:
                if monotonic() > deadline:
                    raise
            sleep(0.001)

    @contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError:
            raise LedgerError(
                f"the ledger's head {str(self.path)!r} was locked by another process for "
                f"{self.patience:g} seconds: ask again, or end the process that holds it"
            ) from None
        except OSError as error:
            raise LedgerError(
                f"the ledger's head {str(self.path)!r} cannot be used ({error.strerror}): make the "
                "file and its folder writable for this user, on a disk that has room"
            ) from None


class HeldHead:
    """A head under a lock; `newest` is where it stands."""

    def __init__(self, path: Path, file: int) -> None:
        self._path = path
        self._file = file
        content = system.read_at(file, os.fstat(file).st_size, 0)
        self._size = len(content) // 2
        self._first = _slot(content[: self._size])
        second = _slot(content[self._size :])
        self.newest = self._first
        if self._first is None or (second is not None and second.number > self._first.number):
            self.newest = second

    def move(self, head: Head) -> None:
        """Write the slot that is not the newest. A head that outgrew the slots gets a new file."""
        line = _line(head)
        if len(line) >= self._size:
            self.replace(head)
            return
        # The newest slot stays whole while the other one is written.
        offset = 0
        if self.newest is self._first:
            offset = self._size
        system.write_at(self._file, _padded(line, self._size), offset)

    def begin(self, head: Head) -> None:
        """Write the first head into an empty file, which stays the same file: its lock is held."""
        line = _line(head)
        self._size = SLOT
        while self._size <= 2 * len(line):
            self._size *= 2
        os.ftruncate(self._file, 0)
        system.write_at(self._file, _padded(line, self._size) + _padded(b"", self._size), 0)
        self._first = head
        self.newest = head

    def replace(self, head: Head) -> None:
        """Put a new file in the place of the old one, all at once; also for an older head."""
        line = _line(head)
        size = SLOT
        while size <= 2 * len(line):
            size *= 2
        # A name that nobody can have prepared.
        new = self._path.with_name(f"{self._path.name}.{secret_bytes(8).hex()}.new")
        with open(system.create(new), "wb") as file:
            file.write(_padded(line, size) + _padded(b"", size))
            file.flush()
            os.fsync(file.fileno())
        system.replace(self._file, self._path, new)
        self.newest = head


def _line(head: Head) -> bytes:
    text = f"{head.number} {head.hash} {head.spending}"
    return f"{_checksum(text)} {text}".encode()


def _slot(slot: bytes) -> Head | None:
    """The head of a slot; None if it is not whole."""
    checksum, _, text = slot.rstrip().decode("ascii", "replace").partition(" ")
    if not text or checksum != _checksum(text):
        return None
    number, hash, spending = text.split(" ", 2)
    return Head(int(number), hash, spending)


def _checksum(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _padded(line: bytes, size: int) -> bytes:
    return line.ljust(size - 1) + b"\n"
