"""The order in which the rows of a unit count: a module of its own, for what it loads takes longer
than a question without units.
"""

from __future__ import annotations

from hashlib import md5


def md5_of(text: str) -> str:
    """The digits of a fixed, public shuffle: no secret is kept by it."""
    return md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
