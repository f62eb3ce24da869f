"""The heads of chains in a second place: a folder with a file for each chain, or another database.

A head is held from before the commit until it has moved, as in a SQLite ledger, so that no process
moves it back; and each chain has its own, so that datasets do not wait for one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from postri.errors import LedgerError
from postri.ledger.head import Head, HeadFile, HeldHead
from postri.ledger.postgres.connection import (
    Fetched,
    LedgerServer,
    Request,
    Transaction,
    lock_key,
)
from postri.ledger.postgres.schema import HEADS_SCHEMA
from postri.ledger.store import TRUNK

FOLDER_MODE = 0o700

NEWEST = "SELECT number, hash, spending FROM heads WHERE chain = ? ORDER BY turn DESC LIMIT 1"
ALL_NEWEST = """
    SELECT chains.chain, newest.number, newest.hash, newest.spending
    FROM chains, LATERAL (
        SELECT * FROM heads WHERE chain = chains.chain ORDER BY turn DESC LIMIT 1
    ) AS newest
"""
ADD_CHAIN = "INSERT INTO chains VALUES (?) ON CONFLICT DO NOTHING"
ADD_HEAD = "INSERT INTO heads VALUES (nextval('turns'), ?, ?, ?, ?)"


class HeldHeads(Protocol):
    """Heads that nobody else can move."""

    @property
    def newest(self) -> Mapping[str, Head | None]:
        """Where they stand, by the chain's name; also the trunk's, which never moves."""

    def begin(self, heads: Mapping[str, Head]) -> None:
        """The first heads of chains that have none; they stay held."""

    def move(self, heads: Mapping[str, Head]) -> None:
        """Where chains end now: all that moved."""

    def replace(self, heads: Mapping[str, Head]) -> None:
        """The same, also where a chain ends earlier than its head says."""


class HeadPlace(Protocol):
    """The second place."""

    def read(self, chains: Iterable[str] | None = None) -> Mapping[str, Head | None]:
        """The heads of some chains, or all that there are."""

    def held(self, chains: Iterable[str]) -> AbstractContextManager[HeldHeads]:
        """The heads of some chains, to be moved."""

    def close(self) -> None:
        """Let go of the place."""


# ---- a folder


class HeadFolder:
    """A file for each chain, in a folder that is made if it is not there."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path = path
        self._patience = patience

    def make(self) -> None:
        """Make the folder."""
        try:
            self.path.mkdir(mode=FOLDER_MODE, exist_ok=True)
        except OSError as error:
            raise LedgerError(
                f"the folder {str(self.path)!r} of the ledger's heads cannot be made "
                f"({error.strerror}): name a folder that this user can write, or another database"
            ) from None

    def read(self, chains: Iterable[str] | None = None) -> Mapping[str, Head | None]:
        if chains is not None:
            return {chain: self._file(chain).read() for chain in chains}
        found: dict[str, Head | None] = {}
        for path in sorted(self.path.glob("*.head")):
            head = HeadFile(path, self._patience).read()
            if head is not None:
                found[self._chain(path, head)] = head
        return found

    @contextmanager
    def held(self, chains: Iterable[str]) -> Iterator[HeldFiles]:
        names = sorted(set(chains))
        with ExitStack() as stack:
            files = {name: stack.enter_context(self._file(name).held()) for name in names}
            newest = {name: file.newest for name, file in files.items()}
            if TRUNK not in newest:
                newest[TRUNK] = self._file(TRUNK).read()
            yield HeldFiles(files, newest)

    def close(self) -> None:
        pass

    def _file(self, chain: str) -> HeadFile:
        # A dataset's name may hold signs that a file's name must not.
        name = "trunk"
        if chain != TRUNK:
            name = sha256(chain.encode()).hexdigest()[:32]
        return HeadFile(self.path / f"{name}.head", self._patience)

    def _chain(self, path: Path, head: Head) -> str:
        if path == self._file(TRUNK).path:
            return TRUNK
        (dataset,) = head.spent
        return dataset


class HeldFiles:
    """Head files under their locks."""

    def __init__(self, files: Mapping[str, HeldHead], newest: Mapping[str, Head | None]) -> None:
        self._files = files
        self.newest = newest

    def begin(self, heads: Mapping[str, Head]) -> None:
        # In place: the lock is that of the file.
        for chain, head in heads.items():
            self._files[chain].begin(head)

    def move(self, heads: Mapping[str, Head]) -> None:
        for chain, head in heads.items():
            self._files[chain].move(head)

    def replace(self, heads: Mapping[str, Head]) -> None:
        for chain, head in heads.items():
            self._files[chain].replace(head)


# ---- another database


class HeadDatabase:
    """A table in another database, with other credentials: heads follow one another there, and the
    newest counts. Its role can insert and read.
    """

    def __init__(self, url: str, patience: float) -> None:
        self._server = LedgerServer(url, HEADS_SCHEMA, patience, "the ledger's head")

    def read(self, chains: Iterable[str] | None = None) -> Mapping[str, Head | None]:
        with self._server.reading() as transaction:
            if chains is not None:
                names = list(chains)
                return _newest(names, transaction.ask_all(_asking(names)))
            rows = transaction.do(ALL_NEWEST)
            return {chain: Head(number, hash, spending) for chain, number, hash, spending in rows}

    @contextmanager
    def held(self, chains: Iterable[str]) -> Iterator[HeldRows]:
        held = set(chains)
        locks = [lock_key("postri head", name) for name in held]
        names = sorted({TRUNK, *held})
        with self._server.writing(locks, _asking(names)) as transaction:
            yield HeldRows(self._server, transaction, _newest(names, transaction.first))

    def close(self) -> None:
        self._server.close()


class HeldRows:
    """Rows of heads under their locks."""

    def __init__(
        self,
        server: LedgerServer,
        transaction: Transaction,
        newest: Mapping[str, Head | None],
    ) -> None:
        self._server = server
        self._transaction = transaction
        self.newest = newest

    def move(self, heads: Mapping[str, Head]) -> None:
        # The ledger is durable by now, and a head that is older than its ledger is fine. One that
        # cannot be written is noticed before the next question spends anything.
        with suppress(LedgerError):
            self.replace(heads)

    def begin(self, heads: Mapping[str, Head]) -> None:
        # On its own: the locks stay with the other transaction.
        with self._server.writing() as transaction:
            self._add(transaction, heads)

    def replace(self, heads: Mapping[str, Head]) -> None:
        # Nor need the disk be waited for.
        self._transaction.queue("SET LOCAL synchronous_commit = off")
        self._add(self._transaction, heads)

    def _add(self, transaction: Transaction, heads: Mapping[str, Head]) -> None:
        for chain, head in heads.items():
            if self.newest.get(chain) is None:
                transaction.queue(ADD_CHAIN, (chain,))
            row = (chain, head.number, head.hash, head.spending)
            transaction.queue(ADD_HEAD, row)
        transaction.commit()


def _asking(chains: Sequence[str]) -> list[Request]:
    """The statements that read the newest heads."""
    return [(NEWEST, (chain,)) for chain in chains]


def _newest(chains: Sequence[str], answers: Sequence[Fetched]) -> dict[str, Head | None]:
    """What they gave."""
    found: dict[str, Head | None] = {}
    for chain, rows in zip(chains, answers, strict=True):
        row = rows.fetchone()
        found[chain] = None
        if row is not None:
            found[chain] = Head(*row)
    return found
