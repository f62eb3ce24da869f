"""The tables of a PostgreSQL ledger, as steps from an empty database to the newest schema, and the
rights that a service needs on them.

No row of any table is ever changed: totals are rows that follow one another, and the newest counts.
So the role of a service needs no right but to read and to insert, and a trigger refuses everything
else to everybody.

A step, once released, is never changed.
"""

from __future__ import annotations

SCHEMA = "postri"
HEADS_SCHEMA = "postri_heads"

TABLES = (
    # Which schema this is: the largest value counts.
    """
    CREATE TABLE meta (name text COLLATE "C", value bigint, PRIMARY KEY (name, value))
    """,
    # No two entries follow the same one: a chain cannot fork, whoever holds which lock.
    """
    CREATE TABLE entries (
        number bigint PRIMARY KEY,
        chain text COLLATE "C" NOT NULL,
        time text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        body text COLLATE "C" NOT NULL,
        previous text COLLATE "C" NOT NULL,
        hash text COLLATE "C" NOT NULL,
        UNIQUE (chain, previous)
    )
    """,
    "CREATE INDEX entries_of_chains ON entries (chain, number)",
    # The newest entry of a chain up to which a version of postri has understood everything.
    """
    CREATE TABLE understood (
        chain text COLLATE "C", number bigint, PRIMARY KEY (chain, number)
    )
    """,
    # All below follows from the entries, and is kept in the same transactions so that no question
    # adds up the past. A name is a dataset, and an analyst on it or nobody.
    """
    CREATE TABLE names (
        dataset text COLLATE "C", analyst text COLLATE "C", PRIMARY KEY (dataset, analyst)
    )
    """,
    """
    CREATE TABLE datasets (
        dataset text COLLATE "C",
        number bigint,
        epsilon text COLLATE "C" NOT NULL,
        rho text COLLATE "C" NOT NULL,
        delta text COLLATE "C" NOT NULL,
        entries bigint NOT NULL,
        terms bigint,
        reopened bigint NOT NULL,
        unanswered bigint NOT NULL,
        failed bigint NOT NULL,
        PRIMARY KEY (dataset, number)
    )
    """,
    """
    CREATE TABLE analysts (
        dataset text COLLATE "C",
        analyst text COLLATE "C",
        number bigint,
        epsilon text COLLATE "C" NOT NULL,
        rho text COLLATE "C" NOT NULL,
        delta text COLLATE "C" NOT NULL,
        entries bigint NOT NULL,
        questions bigint NOT NULL,
        PRIMARY KEY (dataset, analyst, number)
    )
    """,
    """
    CREATE TABLE reservations (
        dataset text COLLATE "C", reservation bigint, PRIMARY KEY (dataset, reservation)
    )
    """,
    "CREATE TABLE fates (reservation bigint PRIMARY KEY, number bigint NOT NULL)",
    """
    CREATE TABLE answers (
        dataset text COLLATE "C",
        version text COLLATE "C",
        key text COLLATE "C",
        reservation bigint,
        PRIMARY KEY (dataset, version, key, reservation)
    )
    """,
    """
    CREATE TABLE places (
        dataset text COLLATE "C", place text COLLATE "C", PRIMARY KEY (dataset, place)
    )
    """,
    "CREATE INDEX datasets_at_places ON places (place, dataset)",
    """
    CREATE TABLE same_people (
        dataset text COLLATE "C", other text COLLATE "C", PRIMARY KEY (dataset, other)
    )
    """,
    # How questions were put, and under which keys they may be tried again: they follow from no
    # entry, and nothing is charged or answered by them alone. Wordings are JSON: a text of
    # PostgreSQL holds no zero byte.
    """
    CREATE TABLE wordings (
        analyst text COLLATE "C",
        reservation bigint,
        wording text COLLATE "C" NOT NULL,
        PRIMARY KEY (analyst, reservation)
    )
    """,
    """
    CREATE TABLE retries (
        analyst text COLLATE "C",
        retry text COLLATE "C",
        reservation bigint NOT NULL,
        wording text COLLATE "C" NOT NULL,
        PRIMARY KEY (analyst, retry)
    )
    """,
    # Numbers are given out without waiting for anybody: one may stay unused.
    "CREATE SEQUENCE numbers",
)

HEAD_TABLES = (
    'CREATE TABLE meta (name text COLLATE "C", value bigint, PRIMARY KEY (name, value))',
    'CREATE TABLE chains (chain text COLLATE "C" PRIMARY KEY)',
    """
    CREATE TABLE heads (
        turn bigint PRIMARY KEY,
        chain text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        hash text COLLATE "C" NOT NULL,
        spending text COLLATE "C" NOT NULL
    )
    """,
    "CREATE INDEX heads_of_chains ON heads (chain, turn)",
    "CREATE SEQUENCE turns",
)

FORBID = """
    CREATE FUNCTION {schema}.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'rows of {schema}.% are permanent', TG_TABLE_NAME;
    END
    $$
"""
FORBID_ON = """
    DO $$
    DECLARE
        table_name name;
    BEGIN
        FOR table_name IN
            SELECT c.relname FROM pg_catalog.pg_class AS c
            WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind = 'r'
        LOOP
            EXECUTE format(
                'CREATE TRIGGER permanent BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.%I '
                'FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse_change()',
                table_name
            );
        END LOOP;
    END
    $$
"""


def _first(schema: str, tables: tuple[str, ...]) -> tuple[str, ...]:
    return (
        f"CREATE SCHEMA {schema}",
        f"SET LOCAL search_path = {schema}",
        *tables,
        FORBID.format(schema=schema),
        FORBID_ON.format(schema=schema),
    )


# Step i leads from schema i to schema i + 1; schema 0 is a database without a ledger.
MIGRATIONS: tuple[tuple[str, ...], ...] = (_first(SCHEMA, TABLES),)
HEAD_MIGRATIONS: tuple[tuple[str, ...], ...] = (_first(HEADS_SCHEMA, HEAD_TABLES),)


def grants(role: str, schema: str = SCHEMA) -> list[str]:
    """What the role of a service needs, and no more: to read and to insert.

    >>> grants("service")[1]
    'GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA postri TO "service";'
    """
    name = quoted(role)
    return [
        f"GRANT USAGE ON SCHEMA {schema} TO {name};",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {name};",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {name};",
    ]


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
