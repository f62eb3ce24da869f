"""Flights of planes, most of which fly far more often than a bound on their rows lets count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bank import dataset_text

# Nobody flies for XX.
CARRIERS = ("B6", "UA", "XX")
UNITS = 'change = "add-or-remove-units", unit = "tailnum", rows = 20'
COLUMNS = {
    "tailnum": 'type = "text"',
    "carrier": f'type = "text"\nkeys = {list(CARRIERS)}',
    "dep_delay": 'type = "integer"\nlower = -60\nupper = 1500',
    "distance": 'type = "integer"\nlower = 0\nupper = 1000',
    "hour": 'type = "integer"\nlower = 0\nupper = 23',
    "left": 'type = "timestamp"\nlower = 2013-01-01T00:00:00Z\nupper = 2013-12-31T00:00:00Z',
}


def flights() -> pa.Table:
    """Busy planes of B6 leave early, idle ones of UA late; all fly farther than 1,000 miles."""
    source = np.random.default_rng(4)
    tails, carriers, delays = [], [], []
    for plane in range(400):
        is_busy = plane % 4 == 0
        number = 300 if is_busy else 10
        tails += [f"N{plane}"] * number
        carriers += ["B6" if is_busy else "UA"] * number
        delays.append(source.integers(-6, -1, number) if is_busy else source.integers(0, 9, number))
    rows = len(tails)
    return pa.table(
        {
            "tailnum": tails,
            "carrier": carriers,
            "dep_delay": np.concatenate(delays),
            "distance": source.integers(3_500, 4_600, rows),
            "hour": source.integers(0, 24, rows),
            "left": pa.array(
                np.datetime64("2013-05-01T00:00:00", "us") + source.integers(0, 5 * 10**12, rows),
                pa.timestamp("us", "UTC"),
            ),
        }
    )


def write_flights(folder: Path, protect: str = UNITS, more: str = "") -> Path:
    """The policy beside its table; `more` are further lines of the policy."""
    pq.write_table(flights(), folder / "flights.parquet")
    path = folder / "postri.toml"
    path.write_text(
        dataset_text(
            "flights",
            source="flights.parquet",
            budget="1000",
            rows=33_000,
            protect=protect,
            columns=COLUMNS,
        )
        + more
    )
    return path
