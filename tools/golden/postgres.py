"""A table of a PostgreSQL server, if the machine has one; and the statements that it ran."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import postri
from golden.book import Book, plain
from golden.library import OF_EVERY_SOURCE
from golden.sessions import ROWS, TABLE, TEXTS, write_policy
from golden.tables import staff

HERE = Path(__file__).resolve().parent
TYPES = (
    "salary bigint, age integer, rate double precision, born date, seen timestamp, "
    "city text, vip boolean, rider bigint"
)


def ask_postgres(book: Book, folder: Path) -> None:
    """The questions of every source, and some in SQL on a policy."""
    with started_postgres() as server:
        for title, question in OF_EVERY_SOURCE.items():
            table = postri.Table.from_postgres(server.url(), "public.staff")
            with _statements() as texts:
                answer = plain(question(table, book.coins(title)))
            book.ask(f"source/postgres/{title}", lambda answer=answer: answer)
            book.keep_statements(f"statements/postgres/{title}", texts)
        with postri.connect(postgres_policy(folder, server), analyst="ann") as db:
            for text in TEXTS:
                book.ask(f"sql/postgres/{text}", lambda text=text: db.sql(text, epsilon=1))


@contextmanager
def started_postgres() -> Iterator[Any]:
    """A server with the staff, such as the tests start it; the helper lies beside them."""
    helper = next((HERE.parent.parent / "tests").rglob("postgres_server.py"))
    sys.path.insert(0, str(helper.parent))
    from postgres_server import postgres_server

    with postgres_server() as server:
        _load(server)
        yield server


def postgres_policy(folder: Path, server: Any) -> Path:
    """A policy whose staff lie on the server."""
    path = write_policy(folder / "session-postgres", "duckdb", ROWS)
    text = path.read_text().replace(TABLE, '\ntable = "public.staff"')
    path.write_text(text.replace("staff.duckdb", server.url()))
    return path


def _load(server: Any) -> None:
    server.run(f"CREATE TABLE staff ({TYPES})")
    lines = io.StringIO()
    for row in zip(*staff().to_pydict().values(), strict=True):
        lines.write("\t".join(r"\N" if cell is None else str(cell) for cell in row) + "\n")
    with server.connect() as connection, connection.cursor() as cursor:
        with cursor.copy(b"COPY staff FROM STDIN") as copy:
            copy.write(lines.getvalue())
        cursor.execute(b"ANALYZE staff")


@contextmanager
def _statements() -> Iterator[list[str]]:
    """What is asked of the server meanwhile; not what is asked of its catalogue."""
    import psycopg

    texts: list[str] = []
    execute = psycopg.Cursor.execute

    def kept(self: Any, query: Any, *given: Any, **how: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if "pg_catalog" not in text:
            texts.append(text)
        return execute(self, query, *given, **how)

    with patch.object(psycopg.Cursor, "execute", kept):
        yield texts
