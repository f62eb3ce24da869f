"""A thousand questions with filters, each a different one, to one open table in memory."""

from __future__ import annotations

from itertools import product
from time import perf_counter

import numpy as np

import postri

ROWS = 1_000_000
AGES = range(20, 70)
CITIES = [f"city {number}" for number in range(20)]


def filtered_thousand() -> dict[str, float]:
    """How many seconds all of them take, the first one among them."""
    generator = np.random.default_rng(1)
    table = postri.open(
        {
            "pay": (generator.lognormal(10.7, 0.45, ROWS) * 100).astype(np.int64),
            "age": generator.integers(18, 80, ROWS),
            "city": np.array(CITIES)[generator.integers(0, len(CITIES), ROWS)],
        }
    )
    start = perf_counter()
    for age, city in product(AGES, CITIES):
        postri.median(table, "pay", where=f"age < {age} AND city = '{city}'", epsilon=1)
    return {"filtered_thousand_s": perf_counter() - start}
