"""The two sizes of the proofs: small by default, full under `make prove` (POSTRI_PROVE=1)."""

from __future__ import annotations

import os
from typing import TypeVar

PROVE = os.environ.get("POSTRI_PROVE") == "1"

T = TypeVar("T")


def sized(small: T, full: T) -> T:
    """The one or the other."""
    return full if PROVE else small
