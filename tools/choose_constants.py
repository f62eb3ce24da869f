"""Compare constants of the depth method, and splits of epsilon, on synthetic shapes and on the
tables of the experiments.

Every setting draws from the same tables with the same seeds. A loss is the geometric mean, over
cells, of a mean divided by that of the first constants: 0.98 means two per cent less. Constants are
chosen on one half of the shapes and confirmed on the other half.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import postri
from postri import AddOrRemoveRows, Depth, Domain, ReplaceRows, SeededCoins
from postri.columns import integer_type
from postri.grid import grid_of
from postri.methods.method import QuantileTerms
from postri.privacy import ProtectedChange, split_spend
from postri.research.subjects import Subject, shape_subject
from postri.window import trim

ROOT = Path(__file__).resolve().parent.parent
CHOOSE = ("normal", "exponential", "bimodal", "ties")
CONFIRM = ("lognormal", "uniform", "zipf", "constant")
SIZES = (100, 1_000, 10_000, 100_000)
EPSILONS = (Fraction(1, 4), Fraction(1), Fraction(4))
HALF = Fraction(1, 2)
ADDED_ROW = AddOrRemoveRows(1)
LARGEST = 10**8
REAL = {
    "bank": ("balance", Domain(-8_019, LARGEST - 8_019)),
    "adult": ("fnlwgt", Domain(0, LARGEST)),
    "airplane": ("capacity", Domain(0, LARGEST)),
}
TABLES = 5
OTHER_PS = (Fraction(1, 4), Fraction(9, 10), Fraction(99, 100))
GROUPS = (
    "choose",
    "confirm",
    "mid-size ties",
    "few rows, many rows",
    *(f"p={p}" for p in OTHER_PS),
    "one replaced row",
    "default domain",
    "real",
)

WIDTH, ROWS, ERROR, OFF, EDGE, HELD = range(6)
# Half a step, or half a row: an interval of one point, or a value without error, has something to
# divide by.
LEAST = 0.5
# One far run in a hundred multiplies a cell's mean by thousands. A cell counts for at most this
# factor.
MOST = 2.0


@dataclass(frozen=True)
class Setting:
    name: str
    method: Depth
    split: Fraction = HALF


FIRST = Setting("first", Depth())
ONE_AT_A_TIME: dict[str, tuple[Any, ...]] = {
    "margin": (8, 12, 22),
    "bonus": (7, 60),
    "lean": (16, 64),
}
# The paces of the clock, and the knees at which they change.
READINGS: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = (
    (("3", "2", "5/4"), (2, 2_000)),
    (("4", "2", "5/4"), (2, 2_000)),
    (("7", "2", "5/4"), (2, 2_000)),
    (("5", "3/2", "5/4"), (2, 2_000)),
    (("5", "2", "1"), (4, 4_000)),
    (("5", "3/2"), (20,)),
    (("5", "2"), (2,)),
    (("5",), ()),
)


def settings() -> Iterator[Setting]:
    yield FIRST
    for split in ("0.3", "0.4", "0.6", "0.7", "0.8"):
        yield Setting(f"split {split}", FIRST.method, Fraction(split))
    for paces, knees in READINGS:
        clock = replace(FIRST.method, paces=tuple(map(Fraction, paces)), knees=knees)
        yield Setting(f"paces {' '.join(paces)} knees {' '.join(map(str, knees))}", clock)
    for name, numbers in ONE_AT_A_TIME.items():
        for number in numbers:
            yield Setting(f"{name} {number}", replace(FIRST.method, **{name: number}))


@dataclass(frozen=True)
class Cell:
    """One question about a few tables of a kind."""

    group: str
    name: str
    subjects: tuple[Subject, ...]
    epsilon: Fraction
    beta: Fraction
    p: Fraction
    protect: ProtectedChange

    def question(self, split: Fraction) -> QuantileTerms:
        return QuantileTerms(self.p, split_spend(self.epsilon, split), self.beta, self.protect)


def synthetic(
    group: str,
    shape: str,
    n: int,
    epsilons: Iterable[Fraction],
    confidence: str = "0.95",
    p: Fraction = HALF,
    protect: ProtectedChange = ADDED_ROW,
) -> Iterator[Cell]:
    # The tables of the side checks are others.
    seeds = range(TABLES) if group in {"choose", "confirm"} else range(TABLES, 2 * TABLES)
    subjects = tuple(shape_subject(shape, n, seed) for seed in seeds)
    if group == "default domain":
        subjects = tuple(on_default_domain(subject) for subject in subjects)
    for epsilon in epsilons:
        yield Cell(
            group,
            f"{shape} {n} {epsilon} {confidence}",
            subjects,
            epsilon,
            1 - Fraction(confidence),
            p,
            protect,
        )


def on_default_domain(subject: Subject) -> Subject:
    return replace(subject, grid=grid_of(integer_type(64), None))


def cells(folder: Path) -> Iterator[Cell]:
    for group, shapes in (("choose", CHOOSE), ("confirm", CONFIRM)):
        for shape in shapes:
            for n in SIZES:
                yield from synthetic(group, shape, n, EPSILONS)
            yield from synthetic(group, shape, 10_000, EPSILONS, "0.99")
    for n in (300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000):
        yield from synthetic("mid-size ties", "ties", n, [Fraction(1)])
    for shape in (*CHOOSE, *CONFIRM):
        for n in (50, 1_000_000):
            yield from synthetic("few rows, many rows", shape, n, [Fraction(1)])
        for n in (1_000, 100_000):
            for p in OTHER_PS:
                yield from synthetic(f"p={p}", shape, n, [Fraction(1)], p=p)
            yield from synthetic(
                "one replaced row", shape, n, [Fraction(1)], protect=ReplaceRows(1)
            )
            yield from synthetic("default domain", shape, n, [Fraction(1)])
    for name, (column, domain) in REAL.items():
        path = folder / f"{name}.csv"
        if path.is_file():
            subject = Subject.of_table(
                name, postri.open(path, columns={column: "integer"}), column, domain
            )
            for epsilon in EPSILONS:
                yield Cell(
                    "real",
                    f"{name} {epsilon}",
                    (subject,),
                    epsilon,
                    Fraction(1, 100),
                    HALF,
                    ReplaceRows(1),
                )


def quantile(subject: Subject, p: Fraction) -> float:
    """The quantile with averages at jumps: definition 2 of Hyndman and Fan."""
    target = p * subject.rows
    places = np.array([ceil(target), floor(target) + 1]) - 1
    return float(
        subject.whole.indexes[np.searchsorted(subject.whole.ranks[1:], places, side="right")].mean()
    )


def rows_off(subject: Subject, p: Fraction, index: int) -> float:
    """How many rows lie between a value and the target rank."""
    before, upto = subject.whole.ranks[np.searchsorted(subject.whole.indexes, [index, index + 1])]
    target = float(p * subject.rows)
    return max(0.0, float(before) - target, target - float(upto))


def measure(cell: Cell, setting: Setting, half: int, runs: int) -> NDArray[np.float64]:
    """One line per run: half-width, half of the rows inside, error, rows off, whether it ends on an
    edge, whether it holds the quantile.
    """
    question, lines = cell.question(setting.split), []
    for table, subject in enumerate(cell.subjects):
        truth, grid = quantile(subject, cell.p), subject.grid
        windows = [trim(subject.whole, cell.p, half * 8**level) for level in range(12)]
        for run in range(runs // len(cell.subjects)):
            span = setting.method.draw(
                windows.__getitem__, question, grid, SeededCoins(run * TABLES + table)
            )
            lines.append(
                (
                    (span.high - span.low) / 2,
                    subject.rows_between(span.low, span.high) / 2,
                    abs(float(span.value) - truth),
                    rows_off(subject, cell.p, int(span.value)),
                    span.low == grid.first or span.high == grid.last,
                    span.low <= truth <= span.high,
                )
            )
    return np.array(lines, dtype=np.float64)


Measured = dict[tuple[str, str, str], NDArray[np.float64]]


def loss(found: Measured, name: str, group: str, column: int) -> tuple[float, float]:
    """The loss of a setting and its standard error, from runs that are paired by their seeds."""
    logs, variances = [], []
    for (_, _, cell), lines in of(found, name, group):
        own, first = (kind[:, column] + LEAST for kind in (lines, found[FIRST.name, group, cell]))
        logs.append(float(np.clip(np.log(own.mean() / first.mean()), -log(MOST), log(MOST))))
        variances.append(
            min((own / own.mean() - first / first.mean()).var() / len(own), log(MOST) ** 2)
        )
    mean = float(np.exp(np.mean(logs)))
    return mean, mean * float(np.sqrt(np.sum(variances))) / len(logs)


def of(
    found: Measured, name: str, group: str
) -> list[tuple[tuple[str, str, str], NDArray[np.float64]]]:
    return [(key, lines) for key, lines in found.items() if key[:2] == (name, group)]


def report(found: Measured) -> None:
    names = list(dict.fromkeys(name for name, _, _ in found))
    for group in (group for group in GROUPS if of(found, FIRST.name, group)):
        print(
            f"\n{group} ({len(of(found, FIRST.name, group))} cells): ratios to the first "
            "constants (standard error), then shares"
        )
        print(
            f"{'':30}"
            + "".join(f"{head:>16}" for head in ("half-width", "rows inside", "error", "rows off"))
            + "   on an edge  coverage"
        )
        for name in names:
            ratios = "".join(
                "{:8.3f} ({:.3f})".format(*loss(found, name, group, column))
                for column in (WIDTH, ROWS, ERROR, OFF)
            )
            edge, held = (
                np.mean([lines[:, column].mean() for _, lines in of(found, name, group)])
                for column in (EDGE, HELD)
            )
            print(f"{name:30}{ratios}{edge:13.3f}{held:10.4f}")
    tables = [cell for (_, _, cell), _ in of(found, FIRST.name, "real")]
    for title, column in (("half-width", WIDTH), ("error", ERROR)) if tables else ():
        print(f"\nmean {title} by table and epsilon (confidence 0.99, one replaced row)")
        print(f"{'':30}" + "".join(f"{cell:>14}" for cell in tables))
        for name in names:
            print(
                f"{name:30}"
                + "".join(f"{found[name, 'real', cell][:, column].mean():14.2f}" for cell in tables)
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs",
        type=int,
        default=80,
        help="draws per cell and setting; three times as many on the real tables",
    )
    parser.add_argument(
        "--only", nargs="*", metavar="SETTING", help="compare these settings with the first"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("POSTRI_DATA") or ROOT.parent / "shared" / "data"),
    )
    options = parser.parse_args()
    chosen = [
        setting
        for setting in settings()
        if not options.only or setting.name in {FIRST.name, *options.only}
    ]
    asked = list(cells(options.data))
    # One window for all settings: coins are addressed by a candidate's place in it.
    halves = [
        max(
            setting.method.half(cell.question(setting.split), cell.subjects[0].grid)
            for setting in chosen
        )
        for cell in asked
    ]
    found: Measured = {}
    began = time.monotonic()
    for done, setting in enumerate(chosen):
        for cell, half in zip(asked, halves, strict=True):
            runs = options.runs * (3 if cell.group == "real" else 1)
            found[setting.name, cell.group, cell.name] = measure(cell, setting, half, runs)
        print(
            f"{done + 1}/{len(chosen)} {setting.name}, {time.monotonic() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    report(found)


if __name__ == "__main__":
    main()
