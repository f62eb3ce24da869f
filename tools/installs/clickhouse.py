"""With `clickhouse`: a median of a stored table, in the memory of this process."""

from __future__ import annotations

import chdb

import postri

connection = chdb.connect(":memory:")
connection.query("CREATE TABLE trips (fare Int64) ENGINE = MergeTree ORDER BY tuple()")
connection.query("INSERT INTO trips SELECT number FROM numbers(1000)")
trips = postri.Table.from_chdb(":memory:", "trips")
assert postri.median(trips, "fare", epsilon=1).private
