"""With `spark-connect`: a median of a data frame of a server, which PySpark starts here."""

from __future__ import annotations

from pyspark.sql import SparkSession

import postri

session = SparkSession.builder.remote("local[1]").getOrCreate()
assert type(session).__module__.startswith("pyspark.sql.connect")
assert postri.median(session.range(1_000), "id", epsilon=1).private
session.stop()
