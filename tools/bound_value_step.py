"""How much better than permute-and-flip could the draw of a value be?

A linear program over all tables of a few rows on a few points finds the private draw of a median
with the least error: rows between the value and the target rank, on average over all tables, and on
the worst table. Nothing private can be better there. Takes a minute; needs SciPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from math import exp, factorial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

Floats = NDArray[np.float64]
Table = tuple[int, ...]
# Rows, points, epsilon of the value.
CASES = ((8, 3, 1), (8, 4, 1), (12, 4, 1), (8, 4, 2), (8, 5, 2))


@dataclass(frozen=True)
class Tables:
    """All tables of so many rows on so many points, by how many rows each point holds."""

    rows: int
    points: int

    def __iter__(self) -> Iterator[Table]:
        for counts in product(range(self.rows + 1), repeat=self.points):
            if sum(counts) == self.rows:
                yield counts

    def neighbours(self, table: Table) -> Iterator[Table]:
        """One row is replaced."""
        for source, goal in permutations(range(self.points), 2):
            if table[source]:
                moved = list(table)
                moved[source] -= 1
                moved[goal] += 1
                yield tuple(moved)

    def depths(self) -> Floats:
        """By how many rows each point holds the median, a line for each table."""
        counts = np.array(list(self), dtype=np.float64)
        up_to = np.cumsum(counts, axis=1)
        depths: Floats = np.minimum(self.rows / 2 - (up_to - counts), up_to - self.rows / 2)
        return depths


def permute_and_flip(depths: Floats, epsilon: float) -> Floats:
    """The chance of each point, from the orders in which points may be looked at."""
    heads = np.exp(epsilon / 2 * (depths - depths.max()))
    chances = np.zeros(len(depths))
    for order in permutations(range(len(depths))):
        reached = 1.0
        for point in order:
            chances[point] += reached * heads[point]
            reached *= 1 - heads[point]
    return chances / factorial(len(depths))


def best(tables: Tables, epsilon: float, off: Floats) -> tuple[float, float]:
    """The least mean error of a private draw, and the least worst one."""
    every = list(tables)
    numbers = {table: number for number, table in enumerate(every)}
    pairs = [
        (number, numbers[other])
        for table, number in numbers.items()
        for other in tables.neighbours(table)
    ]
    points = tables.points
    size = len(every) * points + 1
    limits = lil_matrix((len(pairs) * points + len(every), size))
    for k, (one, other) in enumerate(pairs):
        for point in range(points):
            limits[k * points + point, one * points + point] = 1
            limits[k * points + point, other * points + point] = -exp(epsilon)
    sums = lil_matrix((len(every), size))
    for number in range(len(every)):
        own = slice(number * points, (number + 1) * points)
        # The last variable is at least the error on every table.
        limits[len(pairs) * points + number, own] = off[number]
        limits[len(pairs) * points + number, size - 1] = -1
        sums[number, own] = 1
    found = [
        linprog(
            goal,
            A_ub=limits.tocsr(),
            b_ub=np.zeros(limits.shape[0]),
            A_eq=sums.tocsr(),
            b_eq=np.ones(len(every)),
            method="highs",
        ).fun
        for goal in (np.append(off.ravel() / len(every), 0), np.append(0 * off.ravel(), 1))
    ]
    return found[0], found[1]


def main() -> None:
    print("rows off: permute-and-flip, the best private draw, ratio; on average and at worst")
    for rows, points, epsilon in CASES:
        tables = Tables(rows, points)
        depths = tables.depths()
        off = np.maximum(-depths, 0)
        ours = np.array(
            [permute_and_flip(each, epsilon) @ lost for each, lost in zip(depths, off, strict=True)]
        )
        mean, worst = best(tables, epsilon, off)
        print(
            f"{rows} rows on {points} points, epsilon {epsilon}:"
            f"  {ours.mean():.3f} {mean:.3f} {mean / ours.mean():.2f}"
            f"  {ours.max():.3f} {worst:.3f} {worst / ours.max():.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
