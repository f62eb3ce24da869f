"""Cells that a statement returns uncounted are counted as a database would count them."""

from __future__ import annotations

import numpy as np
import pytest

from postri.engines.sql.index_keys import IndexKeys
from postri.engines.sql.scan_result import ScanResult

KEYS = IndexKeys("raw", "0", "0", "0", 0, lambda places, _: places.astype(np.int64))


def found(result: ScanResult) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
    rows = list(
        zip(result.indexes.tolist(), result.numbers.tolist(), result.upto.tolist(), strict=True)
    )
    return {name: rows[run] for name, run in result.runs.items()}


# Places of 64 bits leave no room for groups beside them in one number.
@pytest.mark.parametrize("far", [0, 2**62])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_single_cells_are_counted_by_group_and_target(kind, far):
    columns = [
        np.array([4, 1, 4, 4, 1, 5], dtype=np.int32),
        np.array([7, far, 5, 7, -far, 7], dtype=kind),
        np.array([-11, -41, -11, -11, -41, -91]),
    ]
    of_first = [(-far, 1, 41), (far, 1, 42)] if far else [(0, 2, 42)]
    assert found(ScanResult.of_cells(columns, KEYS, {}, 2)) == {
        (0, 1): of_first,
        (2, 0): [(5, 1, 11), (7, 2, 13)],
        (2, 1): [(7, 1, 91)],
    }


def test_groups_that_were_counted_stand_beside_those_that_were_not():
    columns = [
        np.array([1, 0, 1, 0, 1, 2, 2]),
        np.array([9, 8, 3, 8, 3, 3, 3]),
        np.array([30, -6, 26, -6, 20, 4, 0]),
    ]
    result = ScanResult.of_cells(columns, KEYS, {0: 20, 1: 50, 2: 4}, 1)
    assert found(result) == {
        (0, 0): [(8, 2, 7)],
        (1, 0): [(3, 6, 26), (9, 4, 30)],
        (2, 0): [(3, 4, 4)],
    }
    assert [result.n(group) for group in range(4)] == [20, 50, 4, 0]


def test_there_may_be_keys_alone_or_nothing():
    keys = [np.array([0, 0]), np.array([5, 5]), np.array([3, 2])]
    assert found(ScanResult.of_cells(keys, KEYS, {0: 9}, 1)) == {(0, 0): [(5, 1, 3)]}
    nothing = [np.empty(0, np.int64)] * 3
    assert found(ScanResult.of_cells(nothing, KEYS, {}, 1)) == {}


def test_keys_in_doubt_are_told_apart():
    columns = [
        np.array([0, 0, 0, 1, 1, 1]),
        np.array([2.5, 2.5, 2.0, 3.5, 3.5, 3.5]),
        np.array([2.75, 2.25, 0.0, 3.25, 3.75, 3.25]),
        np.array([-1, -1, -1, 5, 9, 2]),
    ]
    keys = IndexKeys("raw", "cell", "0", "0", 0, lambda _, doubts: (4 * doubts).astype(np.int64))
    result = ScanResult.of_cells(columns, keys, {0: 3, 1: 9}, 1)
    assert found(result) == {
        (0, 0): [(0, 1, 1), (9, 1, 2), (11, 1, 3)],
        (1, 0): [(13, 3, 5), (15, 4, 9)],
    }
