"""With `postgres`: a median of a table of the server that $POSTRI_CHECK_POSTGRES names."""

from __future__ import annotations

import os

import psycopg

import postri

url = os.environ["POSTRI_CHECK_POSTGRES"]
with psycopg.connect(url, autocommit=True) as connection:
    connection.execute("DROP TABLE IF EXISTS cells")
    connection.execute("CREATE TABLE cells AS SELECT generate_series(0, 999) AS x")
table = postri.Table.from_postgres(url, "public.cells")
assert postri.median(table, "x", epsilon=1).private
