"""Counts, sums, means and histograms by exhaustion: every tiny table, every neighbour, the noise
that the shipped code would draw.

Laplace noise of scale s moves a log chance by at most |difference| / s, and by exactly that
somewhere. Gaussian noise has a Rényi divergence of at most order * difference^2 / (2 variance). So
the largest log ratio of all numbers that a question draws, or its rho, is the sum of these: exact,
with no chance involved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import postri
from postri.answer.drawn import Noisy
from postri.audit.swapped import swapped
from postri.domain import Domain
from postri.noise import DiscreteLaplace, Noise
from postri.privacy import AddOrRemoveRows, ProtectedChange
from postri.question import plain_question
from postri.statistics import additive
from postri.statistics.registry import Form, ParameterKind, forms
from postri.statistics.statistic import Statistic

Cell = float | None
Row = tuple[str, Cell]
Rows = tuple[Row, ...]
Numbers = list[tuple[Fraction, Noise]]


@dataclass(frozen=True)
class AdditiveCase:
    """One configuration: a statistic, its noise, and the rows that tables may have."""

    statistic: Statistic
    protect: ProtectedChange
    epsilon: Fraction
    gaussian: bool
    domain: Domain
    groups: tuple[str, ...] = ("a",)
    most_rows: int = 2

    @property
    def budget(self) -> Fraction:
        """What one person may move: epsilon, or the rho that goes with it."""
        if self.gaussian:
            return self.epsilon**2 / 2
        return self.epsilon

    @property
    def rows(self) -> list[Row]:
        """Every row: in each group both ends of the domain, what is between and beyond, and null.

        "z" is no group of the question.
        """
        lower, upper, step = self.domain.bounds
        cells: list[Cell] = [float(lower), float(lower + step), float(upper), float(upper + 5)]
        return list(product((*self.groups, "z"), [*cells, None]))

    def tables(self) -> Iterator[Rows]:
        """Every table of up to `most_rows` rows."""
        for size in range(self.most_rows + 1):
            yield from combinations_with_replacement(sorted(self.rows, key=repr), size)

    def neighbours(self, rows: Rows) -> Iterator[Rows]:
        """The tables that one person's one row makes of it: one row fewer, or another one."""
        for place in range(len(rows)):
            rest = rows[:place] + rows[place + 1 :]
            if isinstance(self.protect, AddOrRemoveRows):
                yield rest
            else:
                yield from (tuple(sorted((*rest, row), key=repr)) for row in self.rows)


def additive_statistics(domain: Domain) -> Iterator[tuple[Form, Statistic]]:
    """Every statistic of the registry that adds noise, about a column of cells if it takes one,
    with bins of the domain, or with a condition that some of its cells meet. Of those that look
    further by what they drew, no fixed list of numbers can be compared.
    """
    values: dict[ParameterKind, Any] = {
        "column": "x",
        "edges": (domain.lower, domain.lower + domain.step, domain.upper),
        "condition": f"x > {domain.lower}",
        "keys": (domain.lower, domain.upper),
        "number": 1,
    }
    for form in forms():
        kinds = [parameter.kind for parameter in form.parameters]
        known = [values[kind] for kind in kinds if kind in values]
        for inside in dict.fromkeys([(), tuple(known)]):
            statistic = _made(form, inside)
            if statistic is None or statistic.draws_interval or statistic.looks_further:
                continue
            yield form, statistic


def _made(form: Form, inside: tuple[Any, ...]) -> Statistic | None:
    """The statistic of a form with these values and none else; None if it needs more."""
    needed = [parameter for parameter in form.parameters if not parameter.optional]
    if not len(needed) <= len(inside) <= len(form.parameters):
        return None
    return form.make(*inside)


def drawn_numbers(case: AdditiveCase, rows: Rows) -> Numbers:
    """Every number that a question draws, without its noise, and that noise."""
    noises: list[Noise] = []

    def no_noise(noise: Noise, coins: object) -> int:
        noises.append(noise)
        return 0

    by = None
    if len(case.groups) > 1:
        by = {"g": list(case.groups)}
    where = None
    if by is None:
        # Rows of "z" do not count: their number is no public number.
        where = "g = 'a'"
    question = plain_question(
        {"a": _on_domain(case.statistic, case.domain)},
        protect=case.protect,
        epsilon=case.epsilon,
        confidence=0.5,
        concentrated=case.gaussian,
        by=by,
        where=where,
    )
    table = {"g": [group for group, _ in rows], "x": [cell for _, cell in rows]}
    with ExitStack() as stack:
        for name in ("discrete_laplace", "discrete_gaussian"):
            stack.enter_context(swapped(additive, name, no_noise))
        answers = question.bound(postri.open(table)).answers()
    # Several answers of one draw hold the same numbers, each of which is told once.
    numbers = {
        id(noisy): Fraction(noisy.drawn)
        for group in answers
        for answer in group
        for noisy in _noisy_numbers(answer.drawn)
    }
    return list(zip(numbers.values(), noises, strict=True))


def _on_domain(statistic: Statistic, domain: Domain) -> Statistic:
    """With the domain, if it is one that has any."""
    if not statistic.about_grid:
        return statistic
    return replace(statistic, domain=domain)


def _noisy_numbers(drawn: Any) -> Iterator[Noisy]:
    """The numbers with noise on them that stand in what was drawn, in the order of its fields."""
    if isinstance(drawn, Noisy):
        yield drawn
    elif isinstance(drawn, tuple):
        for each in drawn:
            yield from _noisy_numbers(each)
    elif is_dataclass(drawn):
        for each in fields(drawn):
            yield from _noisy_numbers(getattr(drawn, each.name))


def loss(one: Numbers, other: Numbers) -> Fraction:
    """The largest log ratio of Laplace noise; the rho of Gaussian noise.

    Noise that differs between neighbours is a leak without bound.
    """
    if [noise for _, noise in one] != [noise for _, noise in other]:
        return Fraction(10**9)
    total = Fraction(0)
    for (a, noise), (b, _) in zip(one, other, strict=True):
        if isinstance(noise, DiscreteLaplace):
            total += abs(a - b) / noise.scale
        else:
            total += (a - b) ** 2 / (2 * noise.variance)
    return total


def largest_loss(case: AdditiveCase) -> tuple[Fraction, int]:
    """The largest over all pairs of neighbours, and how many pairs there are."""
    found = {rows: drawn_numbers(case, rows) for rows in case.tables()}
    losses = [
        loss(numbers, found[other])
        for rows, numbers in found.items()
        for other in case.neighbours(rows)
    ]
    return max(losses), len(losses)
