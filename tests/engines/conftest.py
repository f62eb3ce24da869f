"""The real engines that the tests of this folder share."""

from postgres_server import postgres
from spark_session import spark

__all__ = ["postgres", "spark"]
