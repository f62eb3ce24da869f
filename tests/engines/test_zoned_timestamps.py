"""Timestamps with offsets, in cells of which nothing or "timestamp" is declared: read as instants
in UTC, whatever the domain says.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pytest

import postri
from postri import Domain, SeededCoins
from postri.grid import grid_of
from postri.window import Target
from program import run

NOON = datetime(2013, 7, 3, 12)
HOURS = [NOON + timedelta(hours=i - 1_000) for i in range(2_001)]
DAY = Domain("2024-05-01 00:00", "2024-05-02 00:00", step=60)
ZONED_DAY = Domain("2024-05-01 00:00+00:00", "2024-05-02 00:00+00:00", step=60)


@pytest.fixture
def flights(tmp_path):
    path = tmp_path / "flights.csv"
    path.write_text("carrier,time_hour\n" + "".join(f"UA,{hour.isoformat()}Z\n" for hour in HOURS))
    return path


@pytest.mark.parametrize(
    "bounds", [[], ["--lower", "2012-01-01T00:00", "--upper", "2015-01-01T00:00"]]
)
def test_the_command_line_reads_timestamps_that_end_in_z(flights, bounds):
    """At epsilon 40, far off by chance once in e^100 runs."""
    options = ("--epsilon", 40, "--type", "timestamp", "--json", *bounds)
    answer = json.loads(run("median", flights, "time_hour", *options)[0])
    low, value, high = (
        datetime.fromisoformat(answer[key]).replace(tzinfo=None) for key in ("low", "value", "high")
    )
    assert low <= value <= high
    assert abs(value - NOON) < timedelta(days=10)
    assert high - low < timedelta(days=20)


def test_a_domain_with_a_zone_fits_a_declared_timestamp(flights):
    table = postri.open(flights, columns={"time_hour": "timestamp"})
    bounds = Domain("2013-01-01T00:00Z", "2014-01-01T00:00Z", step=3600)
    answer = postri.median(
        table, column="time_hour", domain=bounds, epsilon=40, coins=SeededCoins(2)
    )
    assert NOON.replace(tzinfo=UTC) in answer.interval
    assert answer.value.tzinfo == UTC


OFFSETS = {
    "2024-05-01 10:00": 600,
    "2024-05-01T10:00:00": 600,
    "2024-05-01T10:00:00Z": 600,
    "2024-05-01 10:00:29.5Z": 600,
    "2024-05-01T10:00Z": 600,
    "2024-05-01T12:00:00+02:00": 600,
    "2024-05-01T12:00:00+0200": 600,
    "2024-05-01T12:00:00+02": 600,
    "2024-05-01T04:30-05:30": 600,
    "2024-05-01T00:30:00+02:00": 0,
    "2024-05-01Z": None,
    "2024-05-01T10:00:00z": None,
    "2024-05-01T10:00:00ZZ": None,
    "2024-05-01T10:00:00+99:00": None,
    "2024-05-01T10:00:00 Z": None,
}


@pytest.mark.parametrize("domain", [DAY, ZONED_DAY], ids=["no zone", "zone"])
@pytest.mark.parametrize("declared", [None, "timestamp"])
def test_memory_and_files_read_every_offset_as_the_same_instant(tmp_path, domain, declared):
    path = tmp_path / "cells.csv"
    path.write_text("t\n" + "".join(f"{text}\n" for text in OFFSETS))
    expected = sorted(minute for minute in OFFSETS.values() if minute is not None)
    for source in (path, {"t": list(OFFSETS)}):
        table = postri.open(source, columns={"t": declared})
        grid = grid_of(table.type_of("t"), domain)
        window = table.windows("t", grid, [Target(Fraction(1, 2), 100)])[0](0)
        assert np.repeat(window.indexes, window.counts).tolist() == expected


def test_objects_with_an_offset_are_instants_too():
    east = timezone(timedelta(hours=2))
    cells = [datetime(2024, 5, 1, 10), datetime(2024, 5, 1, 12, tzinfo=east)]
    for domain in (DAY, ZONED_DAY):
        table = postri.open(cells)
        window = table.windows(
            None, grid_of(table.type_of(None), domain), [Target(Fraction(1, 2), 9)]
        )[0](0)
        assert (window.indexes.tolist(), window.counts.tolist()) == ([600], [2])
