"""The real server, which the tests of the engines start as well."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "engines"))

from postgres_server import postgres  # found by the line above

__all__ = ["postgres"]
