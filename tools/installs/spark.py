"""With `spark`: a median of a data frame, in a session on this machine."""

from __future__ import annotations

from pyspark.sql import SparkSession

import postri

settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}
session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
assert postri.median(session.range(1_000), "id", epsilon=1).private
session.stop()
