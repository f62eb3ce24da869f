"""With `spark-connect`: a median of a data frame of a server, which PySpark starts here."""

from __future__ import annotations

from pyspark.sql import SparkSession

import postri

session = SparkSession.builder.remote("local[1]").getOrCreate()
assert type(session).__module__.startswith("pyspark.sql.connect")
# The plan is the server's, and could be anything: somebody has to vouch for it.
table = postri.open(session.range(1_000), vouched=True)
assert postri.median(table, "id", epsilon=1).private
session.stop()
