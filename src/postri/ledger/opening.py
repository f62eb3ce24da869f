"""Which store a place names: a file, or the URL of a database."""

from __future__ import annotations

from pathlib import Path

from postri.errors import InputError, LedgerError
from postri.ledger.audit import verify
from postri.ledger.sqlite import SqliteLedger
from postri.ledger.stored import StoredLedger

Place = Path | str

SCHEMES = ("postgresql://", "postgres://")


def is_database(place: Place | None) -> bool:
    """Whether a place is the URL of a database.

    >>> is_database("postgresql://db/spends"), is_database(Path("postri.ledger"))
    (True, False)
    """
    return isinstance(place, str) and place.startswith(SCHEMES)


def open_ledger(
    place: Place, head: Place | None = None, *, audit: bool = False, patience: float = 30.0
) -> StoredLedger:
    """The ledger of a place; see `SqliteLedger` and `PostgresLedger`.

    A ledger in a database names the place of its heads.
    """
    if not is_database(place):
        if is_database(head):
            raise InputError(
                "the head of a ledger in a file is a file too: name one, or keep the ledger in "
                "the database"
            )
        return SqliteLedger(place, head, audit=audit, patience=patience)
    if head is None:
        raise InputError(
            "a ledger in a database needs a place for its heads: a folder, or another database"
        )
    from postri.ledger.postgres import PostgresLedger

    return PostgresLedger(str(place), head, audit=audit, patience=patience)


def copy_ledger(source: SqliteLedger, target: StoredLedger) -> int:
    """Move a ledger in a file over to a database, entry by entry; how many there are.

    Both are verified, and then compared hash by hash: what comes out is what went in. Nobody can
    write the file meanwhile. LedgerError if anything does not fit; then nothing was copied.
    """
    from postri.ledger.postgres import PostgresLedger

    if not isinstance(target, PostgresLedger):
        raise InputError("copy a ledger from a file to a database: a file is copied as a backup")
    problems = verify(source)
    if problems:
        raise LedgerError(f"the ledger to be copied is not good: {problems[0]} Nothing was copied")
    # One dataset's lock is everybody's in a file.
    with source._writing("") as book:
        target.copy_trunk(book)
        count = 0
        for mine, theirs in zip(book.entries(), target.entries(), strict=True):
            if not mine.is_same(theirs):
                raise LedgerError(
                    f"entry {mine.number} is not the same in the copy: the database is not what "
                    "was written; make a new one and copy again"
                )
            count += 1
    problems = verify(target)
    if problems:
        raise LedgerError(f"the copy is not good: {problems[0]} Make a new one and copy again")
    return count
