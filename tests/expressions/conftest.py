"""The real engines, which the tests of the engines' own folder start as well."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "engines"))

from postgres_server import postgres  # found by the line above
from spark_session import spark

__all__ = ["postgres", "spark"]
