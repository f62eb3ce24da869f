"""A program like a peer's, without a library: what it answers is planted.

It needs no network, and is run as the programs of the real peers are.
"""

from __future__ import annotations

import sys
from time import sleep
from typing import Any

import numpy as np
from protocol import ADD_OR_REMOVE, Prepared, Task, Unsupported, serve

FAR = 40
VERY_WIDE = 100_000


def prepare(task: Task, cells: Any) -> Prepared:
    if task.odd is not None:
        raise ValueError(f"planted [message] about {task.odd}")
    true = float(np.median(cells))
    if task.way == "ends":
        sys.exit("planted end")
    if task.way == "sleeps":
        sleep(60)
    if task.way == "lacks":
        raise Unsupported("planted gap")
    planted = {
        # Closer than any private answer can be.
        "better": (true, None, None),
        # The claim of an interval is one thing, and what it holds another.
        "overclaims": (true + FAR, true + FAR - 1, true + FAR + 1),
        "narrow": (true + FAR, true - 0.25, true + FAR),
        "wide": (true + FAR, true - VERY_WIDE, true + VERY_WIDE),
        "no number": ("much", None, None),
    }
    return Prepared(lambda: [planted[task.way]], ADD_OR_REMOVE)


if __name__ == "__main__":
    serve("planted", prepare)
