"""The real server, which the tests of the engines start as well, and searches that find the same in
every run.
"""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent.parent / "engines"))

from postgres_server import postgres  # found by the line above

__all__ = ["postgres"]

settings.register_profile(
    "same",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same")
