"""What PostgreSQL's catalogue says of a table: its columns, and whether reading may fail on a row.

Reads the catalogue alone, never a row. A materialized view holds stored rows, and is a table here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postri.engines.doubts import doubt

# What PostgreSQL calls an encoding in which it checks no text.
UNCHECKED_ENCODING = "SQL_ASCII"
UNCHECKED_TEXT = "text that is not checked"

FIND = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text,
       has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE CASE WHEN %(schema)s::text IS NULL THEN c.oid = to_regclass(quote_ident(%(table)s))
           ELSE n.nspname = %(schema)s AND c.relname = %(table)s END
"""
OTHERS = """
SELECT CASE WHEN pg_table_is_visible(c.oid) AND NOT %(qualified)s THEN c.relname
            ELSE n.nspname || '.' || c.relname END AS name
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f')
      AND n.nspname NOT LIKE 'pg\\_%%' AND n.nspname <> 'information_schema'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
ORDER BY name LIMIT 1000
"""
# A domain has the type that it is over. A type that the server does not come with has no name that
# could be taken for one of the server's own.
COLUMNS = """
WITH RECURSIVE bases AS (
    SELECT attnum, attname, atttypid AS type, atttypmod AS modifier
    FROM pg_catalog.pg_attribute
    WHERE attrelid = %(table)s AND attnum > 0 AND NOT attisdropped
          AND has_column_privilege(attrelid, attnum, 'SELECT')
    UNION ALL
    SELECT attnum, attname, typbasetype, typtypmod
    FROM bases JOIN pg_catalog.pg_type AS t ON t.oid = type
    WHERE typtype = 'd'
)
SELECT attname, CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace
                     THEN format_type(type, modifier) ELSE n.nspname || '.' || t.typname END,
       t.typcategory = 'S'
FROM bases JOIN pg_catalog.pg_type AS t ON t.oid = type
           JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
WHERE typtype <> 'd'
ORDER BY attnum
"""
# The table and all that it inherits rows from, such as partitions. Row security is that of the
# table by whose name rows are read.
PARTS = """
WITH RECURSIVE parts AS (
    SELECT %(table)s::oid AS oid
    UNION
    SELECT inhrelid FROM parts JOIN pg_catalog.pg_inherits ON inhparent = parts.oid
)
SELECT c.oid = %(table)s::oid,
       c.relkind::text,
       EXISTS (SELECT FROM pg_catalog.pg_attribute
               WHERE attrelid = c.oid AND attgenerated = 'v' AND NOT attisdropped),
       c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_catalog.pg_rewrite
                                           WHERE ev_class = c.oid AND ev_type = '1'),
       c.oid = %(table)s::oid AND row_security_active(c.oid)
FROM parts JOIN pg_catalog.pg_class AS c ON c.oid = parts.oid
"""
ENCODING = "SELECT current_setting('server_encoding')"

VIEW = doubt("a view")
FOREIGN = doubt("a foreign table", "the other place")
FOREIGN_PART = doubt("a table of which a part is a foreign table", "the other place")
GENERATED = doubt("a table with generated columns that are not stored", "one of their expressions")
RULE = doubt("a table with a rule for SELECT")
ROW_SECURITY = doubt(
    "a table whose row security holds for this role", "the expression of one of its policies"
)

Rows = Callable[[str, Mapping[str, Any]], Sequence[tuple[Any, ...]]]


@dataclass(frozen=True)
class Definition:
    """What a table is: two that differ are read differently."""

    table: int
    types: Mapping[str, str]
    doubts: tuple[str, ...]


def definition_of(table: int, rows: Rows) -> Definition:
    """The definition of the table of this number, by queries of the catalogue."""
    values = {"table": table}
    ((encoding,),) = rows(ENCODING, {})
    types = {}
    for column, declared, is_text in rows(COLUMNS, values):
        types[str(column)] = str(declared)
        if is_text and encoding == UNCHECKED_ENCODING:
            types[str(column)] = UNCHECKED_TEXT
    doubts = dict.fromkeys(each for part in rows(PARTS, values) for each in _doubts(*part))
    return Definition(table, types, tuple(doubts))


def _doubts(
    whole: bool, kind: str, generated: bool, has_rule: bool, secured: bool
) -> Iterator[str]:
    if kind == "v":
        yield VIEW
    if kind == "f" and whole:
        yield FOREIGN
    if kind == "f" and not whole:
        yield FOREIGN_PART
    if generated:
        yield GENERATED
    if has_rule:
        yield RULE
    if secured:
        yield ROW_SECURITY
