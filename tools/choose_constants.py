"""Compare constants of the depth method, and the split of epsilon, on synthetic shapes and on the experiments' tables.

Every setting draws from the same tables with the same seeds. A loss is the geometric mean, over cells, of a mean divided by that of the
constants that ship: 0.98 means two per cent less. Constants are chosen on one half of the shapes and confirmed on the other half.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import postri
from postri import AddOrRemoveRows, Depth, Domain, ReplaceRows, SeededCoins
from postri.intervals.method import Question
from postri.privacy import ProtectedChange, split_spend
from postri.research.shapes import shape_subject
from postri.research.subject import Subject
from postri.window import trim

ROOT = Path(__file__).resolve().parent.parent
CHOOSE = ("normal", "exponential", "bimodal", "ties")
CONFIRM = ("lognormal", "uniform", "zipf", "constant")
SIZES = (100, 1_000, 10_000, 100_000)
EPSILONS = (Fraction(1, 4), Fraction(1), Fraction(4))
MEDIAN, UPPER = Fraction(1, 2), Fraction(9, 10)
LARGEST = 10**8
REAL = {
    "bank": ("balance", Domain(-8_019, LARGEST - 8_019)),
    "adult": ("fnlwgt", Domain(0, LARGEST)),
    "airplane": ("capacity", Domain(0, LARGEST)),
}
# Half a step, so that an interval of one point has a width to compare.
FLOOR = 0.5
TABLES = 5
WIDTH, ROWS, ERROR, HELD, EDGE = range(5)


@dataclass(frozen=True)
class Setting:
    name: str
    method: Depth = field(default_factory=Depth)
    split: Fraction = Fraction(1, 2)


def sweeps() -> Iterator[Setting]:
    """One constant at a time, then some together."""
    shipped = Depth()
    yield Setting("shipped")
    for tenths in (3, 4, 6, 7):
        yield Setting(f"split 0.{tenths}", split=Fraction(tenths, 10))
    for growth in ("1.05", "1.1", "1.15", "1.3", "1.5"):
        yield Setting(f"growth {growth}", replace(shipped, growth=Fraction(growth)))
    for name, values in {
        "weight": (4, 7, 14, 20, 40),
        "margin": (4, 8, 11, 22, 30),
        "bonus": (3, 7, 60, 200),
        "lean": (4, 8, 32, 64),
    }.items():
        for value in values:
            yield Setting(f"{name} {value}", replace(shipped, **{name: value}))
    for growth, weight in (("1.1", 20), ("1.1", 14), ("1.15", 14), ("1.3", 7)):
        yield Setting(f"growth {growth}, weight {weight}", replace(shipped, growth=Fraction(growth), weight=weight))
    for margin, bonus in ((8, 7), (11, 60), (8, 200)):
        yield Setting(f"margin {margin}, bonus {bonus}", replace(shipped, margin=margin, bonus=bonus))


@dataclass(frozen=True)
class Cell:
    """A question about a few tables of one kind."""

    group: str
    name: str
    subjects: tuple[Subject, ...]
    epsilon: Fraction
    beta: Fraction
    p: Fraction = MEDIAN
    protect: ProtectedChange = AddOrRemoveRows(1)  # noqa: RUF009  # a frozen value

    def question(self, split: Fraction) -> Question:
        return Question(self.p, split_spend(self.epsilon, split), self.beta, self.protect)


def synthetic() -> Iterator[Cell]:
    for group, shapes in (("choose", CHOOSE), ("confirm", CONFIRM)):
        for shape in shapes:
            for n in SIZES:
                subjects = tuple(shape_subject(shape, n, table) for table in range(TABLES))
                for epsilon in EPSILONS:
                    name = f"{shape} {n} eps {epsilon}"
                    yield Cell(group, name, subjects, epsilon, Fraction(1, 20))
                    if n == 10_000:
                        yield Cell(group, f"{name} 99%", subjects, epsilon, Fraction(1, 100))
                if n in {1_000, 100_000}:
                    yield Cell("p=9/10", f"{shape} {n} p=9/10", subjects, Fraction(1), Fraction(1, 20), UPPER)


def real(folder: Path) -> Iterator[Cell]:
    for name, (column, domain) in REAL.items():
        path = folder / f"{name}.csv"
        if path.is_file():
            subject = Subject.of_table(name, postri.open(path, columns={column: "integer"}), column, domain)
            for epsilon in EPSILONS:
                yield Cell("real", f"{name} {epsilon}", (subject,), epsilon, Fraction(1, 100), protect=ReplaceRows(1))


def quantile(subject: Subject, p: Fraction) -> float:
    """The middle of what may be called the quantile: definition 2 of Hyndman and Fan."""
    rank = p * subject.rows
    ranks = np.array([ceil(rank), int(rank) + 1]) - 1
    return float(subject.whole.indexes[np.searchsorted(subject.whole.ranks[1:], ranks, side="right")].mean())


def measure(cell: Cell, setting: Setting, half: int, runs: int) -> NDArray[np.float64]:
    """One line per run: half-width, half of the rows inside, error, whether it holds the quantile, whether it ends on an edge."""
    question, lines = cell.question(setting.split), []
    for table, subject in enumerate(cell.subjects):
        truth, grid = quantile(subject, cell.p), subject.grid
        windows = [trim(subject.whole, cell.p, half * 8**level) for level in range(12)]
        for run in range(runs // len(cell.subjects)):
            span = setting.method.draw(windows.__getitem__, question, grid, SeededCoins(run * TABLES + table))
            lines.append(
                (
                    (span.high - span.low) / 2,
                    subject.rows_between(span.low, span.high) / 2,
                    abs(float(span.value) - truth),
                    span.low <= truth <= span.high,
                    span.low == grid.first or span.high == grid.last,
                )
            )
    return np.array(lines, dtype=np.float64)


def ratio(pairs: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]], column: int) -> tuple[float, float]:
    """The loss against the shipped constants and its standard error. Runs are paired by their seeds."""
    logs, variances = [], []
    for own, shipped in pairs:
        ours, theirs = own[:, column] + FLOOR, shipped[:, column] + FLOOR
        logs.append(np.log(ours.mean() / theirs.mean()))
        variances.append((ours / ours.mean() - theirs / theirs.mean()).var() / len(ours))
    loss = float(np.exp(np.mean(logs)))
    return loss, loss * float(np.sqrt(np.sum(variances))) / len(logs)


def report(cells: list[Cell], found: dict[str, list[NDArray[np.float64]]]) -> None:
    groups = [group for group in ("choose", "confirm", "p=9/10", "real") if any(cell.group == group for cell in cells)]
    print("\nMeans as ratios of the shipped constants' (standard error): half-width, rows inside, error; then share on an edge, coverage")
    print(f"{'':24}" + "".join(f"{group:^62}" for group in groups))
    for name, measured in found.items():
        line = f"{name:24}"
        for group in groups:
            own = [i for i, cell in enumerate(cells) if cell.group == group]
            for column in (WIDTH, ROWS, ERROR):
                loss, error = ratio([(measured[i], found["shipped"][i]) for i in own], column)
                line += f" {loss:.3f} ({error:.3f})"
            edge, held = (np.mean([measured[i][:, column].mean() for i in own]) for column in (EDGE, HELD))
            line += f" {edge:5.3f} {held:6.4f}  "
        print(line)
    tables = [i for i, cell in enumerate(cells) if cell.group == "real"]
    if tables:
        print("\nMean half-widths on the tables of the experiments, by epsilon (beta 0.01, replaced rows)")
        print(f"{'':24}" + "".join(f"{cells[i].name:>14}" for i in tables))
        for name, measured in found.items():
            print(f"{name:24}" + "".join(f"{measured[i][:, WIDTH].mean():14.2f}" for i in tables))
    lowest = min(
        (measured[i][:, HELD].mean() - (1 - float(cells[i].beta)), name, cells[i].name)
        for name, measured in found.items()
        for i in range(len(cells))
    )
    print(f"\nThe least coverage minus the confidence: {lowest}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60, help="draws per cell and setting")
    parser.add_argument("--only", nargs="*", help="compare these settings with the shipped one, by name")
    parser.add_argument("--cells", nargs="*", help="groups of cells: choose, confirm, p=9/10, real")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("POSTRI_DATA") or ROOT.parent / "shared" / "data"))
    parser.add_argument("--save", type=Path, help="write all measurements to this .npz file")
    options = parser.parse_args()
    settings = [setting for setting in sweeps() if not options.only or setting.name in {"shipped", *options.only}]
    cells = [cell for cell in (*synthetic(), *real(options.data)) if not options.cells or cell.group in options.cells]
    # One window for all settings: coins are addressed by a run's place in it.
    halves = [max(setting.method.half(cell.question(setting.split), cell.subjects[0].grid) for setting in settings) for cell in cells]
    found: dict[str, list[NDArray[np.float64]]] = {}
    began = time.monotonic()
    for setting in settings:
        found[setting.name] = [
            measure(cell, setting, half, options.runs * (3 if cell.group == "real" else 1))
            for cell, half in zip(cells, halves, strict=True)
        ]
        print(f"{len(found)}/{len(settings)} {setting.name}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    report(cells, found)
    if options.save:
        np.savez(
            options.save,
            **{f"{name}|{cell.group}|{cell.name}": lines for name, rows in found.items() for cell, lines in zip(cells, rows, strict=True)},
        )


if __name__ == "__main__":
    main()
