"""The ledger in a PostgreSQL database: for services on several machines.

One transaction reserves. It locks the dataset and all that are about the same people, checks the
limits, appends, and commits with `synchronous_commit` on before data are touched.

The locks are advisory, taken in one order and gone with the transaction: to lock a row would take
the right to update it, and the role of a service has none. They keep processes from waiting in
vain; that no chain forks is a constraint of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from postri.cost import NOTHING
from postri.errors import LedgerError
from postri.ledger.book import Book
from postri.ledger.charges import Attempt, Charge, Limits, People
from postri.ledger.entries import FIRST_HASH, Entry, Restored, canonical
from postri.ledger.head import Head, trouble
from postri.ledger.postgres.book import (
    PostgresBook,
    fate_looks_at,
    foreseen_of,
    reservation_looks_at,
)
from postri.ledger.postgres.connection import (
    TRY_LOCK,
    ConnectionLost,
    LedgerServer,
    Request,
    as_one,
    lock_key,
    one_by_one,
)
from postri.ledger.postgres.heads import HeadDatabase, HeadFolder, HeadPlace, HeldHeads
from postri.ledger.postgres.making import schema_of
from postri.ledger.postgres.schema import MIGRATIONS, SCHEMA
from postri.ledger.schema import check_known
from postri.ledger.store import TRUNK
from postri.ledger.stored import NOBODY, BookSnapshot, StoredLedger, restored, restoring

ACCEPT = "look for a newer copy, or accept this one: postri budget --accept-restored"
# Whoever says something new of places or people holds this one too: two that claim the same place
# at once would not see each other.
TERMS_LOCK = lock_key("postri ledger", "terms")
LONGEST_MEMORY = 4096

RIGHTS = """
    SELECT string_agg(DISTINCT privilege, ', ')
    FROM pg_catalog.pg_class AS c,
        unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS privilege
    WHERE c.relnamespace = 'postri'::regnamespace AND c.relkind = 'r'
        AND has_table_privilege(c.oid, privilege)
"""
SETTING = "SELECT current_setting(?)"


class PostgresLedger(StoredLedger):
    """A ledger in a database in which `init_ledger` has made its tables; the heads of its chains in
    a folder, or in another database.

    A ledger that is older than its heads is refused. `audit=True` opens it all the same, to verify,
    export or accept it. `patience` is how long to wait, in seconds, while another process writes.
    """

    def __init__(
        self, url: str, head: str | Path, *, audit: bool = False, patience: float = 30.0
    ) -> None:
        super().__init__()
        self._server = LedgerServer(url, SCHEMA, patience, "the ledger")
        self.title = self._server.title
        self._heads: HeadPlace = _head_place(head, patience)
        # What this process has read and knows, by chain: it need not be read again.
        self._understood: dict[str, int] = {}
        # Which datasets were locked together last: most often they are to be again.
        self._locked: dict[str, tuple[str, ...]] = {}
        # The datasets and analysts of reservations that have no fate yet.
        self._reserved: dict[int, tuple[str, str]] = {}
        try:
            self._check_database()
            if not audit:
                with self._reading():
                    pass
        except BaseException:
            self.close()
            raise

    def _check_database(self) -> None:
        with self._server.reading() as transaction:
            schema = schema_of(transaction, SCHEMA, self.title)
            if schema == 0:
                raise LedgerError(
                    f"{self.title} has no ledger: make one with 'postri ledger init', as the "
                    "owner of the database"
                )
            check_known(schema, len(MIGRATIONS), self.title.removeprefix("the ledger "))
            if schema < len(MIGRATIONS):
                raise LedgerError(
                    f"{self.title} was made by an older version of postri (schema {schema}, this "
                    f"version writes {len(MIGRATIONS)}): bring it up with 'postri ledger init', "
                    "as the owner of the database; nothing is lost"
                )
            (recovering,) = transaction.do("SELECT pg_is_in_recovery()").fetchone()
        if recovering:
            raise LedgerError(
                f"{self.title} cannot be written, for the database is a standby or still in "
                "recovery: name the primary, or ask again when recovery is over; nothing was spent"
            )

    def warnings(self) -> list[str]:
        with self._server.reading() as transaction:
            (rights,) = transaction.do(RIGHTS).fetchone()
            settings = {
                name: transaction.do(SETTING, (name,)).fetchone()[0]
                for name in ("fsync", "full_page_writes")
            }
        found = []
        if rights:
            found.append(
                f"{self.title} is opened by a role that has too many rights ({rights}): entries "
                "are guarded by a trigger alone; use a role with no more than what 'postri "
                "ledger init' prints"
            )
        for name, value in settings.items():
            if value == "off":
                found.append(
                    f"{self.title} runs with {name} = off: what was spent may be forgotten when "
                    "the power fails; turn it on"
                )
        return found

    # ---- questions

    def reserve(self, charge: Charge, limits: Limits, attempt: Attempt | None = None) -> int:
        number = super().reserve(charge, limits, attempt)
        # Its fate need not look for its dataset.
        if len(self._reserved) >= LONGEST_MEMORY:
            self._reserved.clear()
        self._reserved[number] = (charge.dataset, charge.analyst)
        return number

    def turn(self, *words: str) -> AbstractContextManager[None]:
        return self._server.holding((TRY_LOCK, (lock_key("postri ledger", "turn", *words),)))

    # ---- audits

    @contextmanager
    def snapshot(self) -> Iterator[BookSnapshot]:
        heads = self._heads.read()
        with self._looking() as book:
            yield BookSnapshot(book, self._with_new(book, heads))

    def accept_restored(self) -> int:
        known = self._heads.read()
        with self._looking() as book:
            names = {*known, *book.tips()}
        for head in known.values():
            if head is not None:
                names |= {*head.spent}
        datasets = sorted(names - {TRUNK})
        with self._locking((TRUNK, *datasets), wide=True) as (book, held):
            for chain in (TRUNK, *datasets):
                book.understand(chain, 0)
            troubled = [
                name
                for name in (TRUNK, *datasets)
                if _trouble(book, name, held.newest.get(name)) is not None
            ]
            if not troubled:
                raise LedgerError(f"{self.title} fits its heads: there is nothing to accept")
            number = 0
            for dataset in datasets:
                fact = _accepted(book, held, dataset, troubled)
                if fact is not None:
                    number = book.append(fact)
            moved = {name: book.chain_head(name) for name in {*troubled, *book.written}}
            self._commit(book)
            held.replace(moved)
            return number

    def copy_trunk(self, source: Book) -> None:
        """Take over all entries of another ledger as they are, into this one that has none yet;
        as the owner of the database.
        """
        with self._locking((TRUNK,), wide=True) as (book, held):
            if book.tips():
                raise LedgerError(
                    f"{self.title} has entries already: copy into a new one; nothing was copied"
                )
            for entry in source.entries():
                book.append_copy(entry)
            for analyst, reservation, wording in source.all_wordings():
                book.keep_wording(analyst, reservation, wording)
            for analyst, retry, reservation, digest in source.all_retries():
                book.keep_retry(analyst, retry, reservation, digest)
            book.end_trunk()
            self._finish(book, held)

    # ---- transactions

    @contextmanager
    def _writing(
        self,
        dataset: str,
        people: People = NOBODY,
        analyst: str | None = None,
        retry: str | None = None,
    ) -> Iterator[PostgresBook]:
        names = self._locked.get(dataset, (dataset,))
        wide = False
        while True:
            looks_at = reservation_looks_at(names, analyst, retry)
            with self._locking(names, looks_at, wide=wide) as (book, held):
                joined = book.same_people(dataset, people.same_people)
                says_more = bool(people.places - book.places(dataset)) or not (
                    set(people.same_people) <= set(book.same_people(dataset))
                )
                # All is read under the locks; what they do not cover needs a second attempt.
                if not set(joined) <= set(names) or (says_more and not wide):
                    names = tuple(sorted({*joined, *names}))
                    wide = says_more
                    continue
                self._locked[dataset] = joined
                self._check(book, names, held.newest)
                yield book
                self._finish(book, held)
                return

    @contextmanager
    def _locking(
        self, chains: Sequence[str], looks_at: Sequence[Request] = (), *, wide: bool = False
    ) -> Iterator[tuple[PostgresBook, HeldHeads]]:
        """A transaction in which nobody else writes these chains, and moves their heads; what it
        looks at is read under the locks, in the same trip.
        """
        locks = [_lock_of(name) for name in chains]
        if wide:
            locks.append(TERMS_LOCK)
        requests = [*foreseen_of(chains), *looks_at]
        with (
            self._server.writing(locks, [as_one(requests)]) as transaction,
            # Held until the heads have moved, so that no process moves them back, and writable
            # before anything is spent.
            self._heads.held(chains) as held,
        ):
            found = one_by_one(transaction.first[0])
            yield PostgresBook(transaction, requests, found), held

    @contextmanager
    def _ending(self, reservation: int) -> Iterator[PostgresBook]:
        asked_by = self._reserved.pop(reservation, None)
        if asked_by is None:
            with self._looking() as book:
                asked = book.reservation(reservation)
                asked_by = (asked.dataset, asked.analyst)
        dataset, analyst = asked_by
        # A fate changes no limit: other datasets about the same people need not wait.
        with self._locking((dataset,), fate_looks_at(reservation, dataset, analyst)) as (
            book,
            held,
        ):
            self._check(book, (dataset,), held.newest)
            yield book
            self._finish(book, held)

    def _finish(self, book: PostgresBook, held: HeldHeads) -> None:
        heads = {chain: book.chain_head(chain) for chain in book.written}
        # A head from the start: one that is missing later was lost.
        new = [chain for chain in book.written if held.newest.get(chain) is None]
        if new:
            held.begin({chain: _no_head(chain) for chain in new})
        self._commit(book)
        for chain, head in heads.items():
            self._understood[chain] = head.number
        if heads:
            held.move(heads)

    def _commit(self, book: PostgresBook) -> None:
        """Commit; if the connection breaks meanwhile, find out what became of it."""
        written = list(book.written.values())
        try:
            book.commit()
        except ConnectionLost:
            if not written or not self._is_there(written[-1]):
                raise

    def _is_there(self, entry: Entry) -> bool:
        """Whether an entry whose commit was cut off is durable.

        The lock of its chain is waited for: while the old transaction is not over, nobody knows.
        """
        try:
            with self._server.writing([_lock_of(entry.chain)]) as transaction:
                return PostgresBook(transaction).hash_at(entry.number) == entry.hash
        except LedgerError:
            pass
        raise LedgerError(
            f"{self.title} lost its connection while entry {entry.number} was committed, and "
            "cannot be asked whether it is there: it may count as spent, and no answer was given "
            "for it; check that the server runs, and ask again"
        )

    @contextmanager
    def _reading(self, dataset: str | None = None) -> Iterator[PostgresBook]:
        chains: tuple[str, ...] | None = None
        if dataset is not None:
            chains = (TRUNK, dataset)
        # The heads first: the ledger can only have grown since.
        heads = self._heads.read(chains)
        with self._looking() as book:
            if chains is None:
                chains = tuple(sorted({TRUNK, *heads, *book.tips()}))
            self._check(book, chains, self._with_new(book, heads))
            yield book

    def _with_new(
        self, book: PostgresBook, heads: Mapping[str, Head | None]
    ) -> Mapping[str, Head | None]:
        """The heads, also of chains that began after they were read: such a chain has its first
        head before its first entry, and what it says by now may be newer than the book.
        """
        missing = [chain for chain in book.tips() if heads.get(chain) is None]
        found = self._heads.read(missing)
        return {**heads, **{chain: _no_head(chain) for chain in missing if found[chain]}}

    def _check(
        self, book: PostgresBook, chains: Iterable[str], heads: Mapping[str, Head | None]
    ) -> None:
        """LedgerError if a chain, or the trunk, is older than its head or not all known."""
        for chain in {TRUNK: None, **dict.fromkeys(chains)}:
            found = _trouble(book, chain, heads.get(chain))
            if found is not None:
                raise LedgerError(f"{self.title} is refused{_at(chain)}: {found}; {ACCEPT}")
            book.understand(chain, self._understood.get(chain, 0))
            self._understood[chain] = book.tip(chain).number

    @contextmanager
    def _looking(self) -> Iterator[PostgresBook]:
        with self._server.reading() as transaction:
            yield PostgresBook(transaction)

    def close(self) -> None:
        self._server.close()
        self._heads.close()


def _head_place(place: str | Path, patience: float) -> HeadPlace:
    if isinstance(place, str) and "://" in place:
        return HeadDatabase(place, patience)
    folder = HeadFolder(Path(place), patience)
    folder.make()
    return folder


def _no_head(chain: str) -> Head:
    """The head of a chain that has no entry yet."""
    return Head(0, FIRST_HASH, canonical({chain: ("0", "0")}))


def _lock_of(chain: str) -> int:
    return lock_key("postri ledger", "chain", chain)


def _at(chain: str) -> str:
    if chain == TRUNK:
        return ""
    return f" at dataset {chain!r}"


def _trouble(book: PostgresBook, chain: str, head: Head | None) -> str | None:
    return trouble(head, book.tip(chain).number, lambda number: book.hash_in(chain, number))


def _accepted(
    book: PostgresBook, held: HeldHeads, dataset: str, troubled: Sequence[str]
) -> Restored | None:
    """What is to be charged to a dataset whose chain, or whose trunk if it has no chain yet, does
    not fit its head; None if all is well with it.
    """
    chain = dataset
    if dataset not in troubled:
        own = held.newest.get(dataset)
        if TRUNK not in troubled or (own is not None and own.number):
            return None
        chain = TRUNK
    head = held.newest.get(chain)
    is_behind = head is not None and head.number > book.tip(chain).number
    fact = restored(book, head, is_behind=is_behind)
    # Also where nothing was lost: the entry is the dataset's.
    charged = {dataset: fact.charged.get(dataset, NOTHING)}
    return restoring(fact.head, charged)
