"""What some questions cost together, under each accountant, and which of them one release serves.

All of it follows from questions that were read and from public numbers: nothing is opened, nothing
is spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from postri.answer.forecast import EXPECT, ExpectedRows, Plan, Reach, Unknown
from postri.answer.within import Within
from postri.cost import NOTHING, Cost, gaussian_draw, pure_draw, rho_of
from postri.exact import plain
from postri.ledger import ZCDP, Accountant, Pure
from postri.methods.tree import Tree
from postri.question.normal_form import DatasetQuestion
from postri.question.price import Price, brief, expected_rows
from postri.question.wishes import Draws, Wisher, epsilon_at
from postri.statistics.statistic import Asked

# At which delta totals are compared where the policy names none.
USUAL_DELTA = Fraction(1, 10**6)
TITLES = ("", "question", "pure", "zCDP", "reaches")
PERCENTS = 100
DIGITS = 4


@dataclass(frozen=True)
class PlannedQuestion:
    """One question of a plan: its words, its price, and the epsilon that it asks for where epsilons
    add up, and where rhos do.

    `repeats` is the number of an earlier one that it repeats, counted from 1: that costs nothing.
    """

    words: str
    dataset: str
    price: Price
    pure: Fraction
    zcdp: Fraction
    repeats: int | None = None


@dataclass(frozen=True)
class Merge:
    """Quantiles of one column that cost less as one release of its distribution.

    `questions` are their numbers in the plan, counted from 1; the release at `epsilon` is as near
    as each of them wants, and `saved` is by how much the total falls.
    """

    dataset: str
    column: str
    questions: tuple[int, ...]
    aggregates: tuple[str, ...]
    epsilon: Fraction
    saved: Fraction

    def __str__(self) -> str:
        named = zip(self.aggregates, self.questions, strict=True)
        listed = ", ".join(f"{name} of {number}" for name, number in named)
        return (
            f"merge {listed} into one distribution of {self.column} at epsilon "
            f"{plain(self.epsilon)}: saves {brief(self.saved)}"
        )


@dataclass(frozen=True)
class PlannedTotal:
    """What all questions to a dataset cost together: where epsilons add up, and at `delta` where
    rhos do; and both once more if what can be merged is merged.
    """

    pure: Fraction
    zcdp: Fraction
    delta: Fraction
    merged_pure: Fraction
    merged_zcdp: Fraction
    accountant: str
    remaining: Fraction

    def __str__(self) -> str:
        return (
            f"epsilon {brief(self.pure)} pure, {brief(self.zcdp)} under zCDP at delta "
            f"{plain(self.delta)}; merged {brief(self.merged_pure)} and {brief(self.merged_zcdp)}; "
            f"{brief(self.remaining)} is left, and the policy's accountant is {self.accountant}"
        )


@dataclass(frozen=True)
class QuestionPlan:
    """Questions with what each of them costs, what they cost together, and which to merge."""

    questions: tuple[PlannedQuestion, ...]
    totals: Mapping[str, PlannedTotal]
    merges: tuple[Merge, ...]

    def to_dict(self) -> dict[str, object]:
        """As plain values: rationals as text."""
        return {
            "questions": [
                {**plain_fields(each), "price": each.price.to_dict()} for each in self.questions
            ],
            "totals": {name: plain_fields(each) for name, each in self.totals.items()},
            "merges": [plain_fields(each) for each in self.merges],
        }

    def _cells(self) -> list[tuple[str, ...]]:
        """The table, row by row."""
        cells: list[tuple[str, ...]] = []
        for number, each in enumerate(self.questions, start=1):
            cost = (plain(each.pure), plain(each.zcdp))
            if each.repeats is not None:
                cost = (f"as {each.repeats}", f"as {each.repeats}")
            reaches = [
                f"{name} {reach_words(forecast)}" for name, forecast in each.price.forecasts.items()
            ]
            cells.append((str(number), each.words, *cost, ", ".join(reaches)))
        return cells

    @property
    def _footing(self) -> list[str]:
        totals = [f"together on {name}: {each}" for name, each in self.totals.items()]
        return [*totals, *map(str, self.merges)]

    def __str__(self) -> str:
        rows = [TITLES, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *self._footing])

    def _repr_html_(self) -> str:
        from postri.answer.notebook import table

        return table(TITLES, self._cells(), self._footing)


def plain_fields(part: PlannedQuestion | PlannedTotal | Merge) -> dict[str, Any]:
    """A part of a plan as plain values: rationals as text."""
    found = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if isinstance(value, Fraction):
            value = str(value)
        elif isinstance(value, tuple):
            value = list(value)
        found[each.name] = value
    return found


def reach_words(forecast: Plan | Reach | Unknown) -> str:
    """How far an interval will reach to each side, in a few words."""
    if isinstance(forecast, Unknown):
        return f"unknown ({EXPECT})"
    if isinstance(forecast, Reach):
        return f"±{float(forecast.reach):,.{DIGITS}g}"
    if not forecast.enough:
        return "to the domain's edge"
    return f"±{PERCENTS * forecast.reach:.{DIGITS}g} percentiles"


@dataclass(frozen=True)
class PlannedAggregate:
    """An aggregate of a plan: of which question it is, by its number, and how many rows count."""

    number: int
    name: str
    question: DatasetQuestion
    asked: Asked
    rows: ExpectedRows | Unknown

    @property
    def key(self) -> tuple[object, ...]:
        """What aggregates have in common that one release can serve."""
        statistic = self.asked.statistic
        question = self.question
        return (
            question.dataset.name,
            statistic.column,
            statistic.domain,
            question.rows_where(statistic.where).where,
            question.groups,
        )

    def reached(self) -> Within | None:
        """How far its intervals will reach, as a wish; None if nobody knows, or if that is the
        domain's edge.
        """
        if not self.asked.statistic.takes_wish:
            return None
        values = []
        percentiles = []
        for forecast in self.asked.forecasts(self.rows).values():
            if isinstance(forecast, Reach):
                # Whole numbers that are exact by the forecast are within a half.
                values.append(forecast.reach or Fraction(1, 2))
            elif isinstance(forecast, Plan) and forecast.enough:
                percentiles.append(PERCENTS * Fraction(forecast.reach))
            else:
                return None
        if values:
            return Within(max(values))
        return Within(max(percentiles), "percentiles")

    def needs(self) -> Fraction | None:
        """The epsilon of a release that is as near as this one is wanted, or will be; None if
        nobody knows.
        """
        statistic = self.asked.statistic
        wish = statistic.within or self.reached()
        if wish is None or isinstance(self.rows, Unknown):
            return None
        asked = replace(self.asked, statistic=statistic.wished(wish))
        wisher = Wisher(self.name, asked, self.rows)
        concentrated = self.question.dataset.accountant == "zcdp"
        draws = Draws(statistic.batch, [wisher], Tree(), concentrated, met=True)
        index = draws.least()
        if index is None:
            return None
        return epsilon_at(index)


def parts_of(number: int, question: DatasetQuestion, expect: int | None) -> list[PlannedAggregate]:
    """The aggregates of a question of this number."""
    found = []
    for name, place in zip(question.aggregates, question.places, strict=True):
        asked = question.asked[place]
        rows = expected_rows(question, expect, filtered=asked.statistic.where is not None)
        found.append(PlannedAggregate(number, name, question, asked, rows))
    return found


def reached(question: DatasetQuestion, expect: int | None) -> dict[str, Within] | None:
    """How far the intervals of each aggregate will reach, as wishes for it; None if that is not
    known of all, or is the domain's edge.
    """
    found = {}
    for part in parts_of(0, question, expect):
        wish = part.reached()
        if wish is None:
            return None
        found[part.name] = wish
    return found


def total(costs: Sequence[Cost], accountant: Accountant) -> Fraction:
    """What some costs mean together."""
    return accountant.epsilon(sum(costs, start=NOTHING))


def merged(
    parts: Sequence[PlannedAggregate], accountant: Accountant
) -> tuple[list[Merge], Fraction]:
    """Which aggregates of one dataset to merge, and what all cost together if they are.

    One release serves all that need no more than its epsilon. So of those that it could serve, in
    the order of what they need, the first ones are merged, as many as save the most.
    """
    candidates: dict[tuple[object, ...], list[tuple[Fraction, int]]] = {}
    for place, part in enumerate(parts):
        if not part.asked.statistic.follows_from_distribution:
            continue
        needed = part.needs()
        if needed is not None:
            candidates.setdefault(part.key, []).append((needed, place))
    costs = {place: part.asked.cost for place, part in enumerate(parts)}
    merges = []
    releases: list[Cost] = []
    for needs in candidates.values():
        needs.sort()
        now = total([*costs.values(), *releases], accountant)
        best = None
        for number in range(2, len(needs) + 1):
            epsilon = needs[number - 1][0]
            places = {place for _, place in needs[:number]}
            kept = [cost for place, cost in costs.items() if place not in places]
            release = _release_cost(parts[0], epsilon)
            saved = now - total([*kept, *releases, release], accountant)
            if saved > 0 and (best is None or saved > best[0]):
                best = (saved, places, epsilon, release)
        if best is not None:
            saved, places, epsilon, release = best
            merges.append(_merge([parts[place] for place in sorted(places)], epsilon, saved))
            releases.append(release)
            for place in places:
                del costs[place]
    return merges, total([*costs.values(), *releases], accountant)


def _release_cost(part: PlannedAggregate, epsilon: Fraction) -> Cost:
    """What a distribution costs, in a question of its own."""
    if part.question.dataset.accountant == "zcdp":
        return gaussian_draw(rho_of(epsilon))
    return pure_draw(epsilon)


def _merge(parts: Sequence[PlannedAggregate], epsilon: Fraction, saved: Fraction) -> Merge:
    return Merge(
        dataset=parts[0].question.dataset.name,
        column=str(parts[0].asked.statistic.column),
        questions=tuple(part.number for part in parts),
        aggregates=tuple(part.name for part in parts),
        epsilon=epsilon,
        saved=saved,
    )


@dataclass(frozen=True)
class Planning:
    """A question to be planned: as it is under each accountant, by its name, with its words, its
    price and what is expected of the number of rows.
    """

    words: str
    under: Mapping[str, DatasetQuestion]
    accountant: str
    price: Price
    expect: int | None

    @property
    def own(self) -> DatasetQuestion:
        """As the policy's accountant has it."""
        return self.under[self.accountant]


def question_plan(asked: Sequence[Planning], deltas: Mapping[str, Fraction]) -> QuestionPlan:
    """The plan of some questions; `deltas` are those at which rhos are told, by dataset."""
    planned = []
    first: dict[str, int] = {}
    distinct: dict[str, list[tuple[int, Planning]]] = {}
    for number, each in enumerate(asked, start=1):
        dataset = each.own.dataset.name
        repeats = first.get(each.own.key)
        if repeats is None:
            first[each.own.key] = number
            distinct.setdefault(dataset, []).append((number, each))
        planned.append(
            PlannedQuestion(
                words=each.words,
                dataset=dataset,
                price=each.price,
                pure=each.under["pure"].epsilon,
                zcdp=each.under["zcdp"].epsilon,
                repeats=repeats,
            )
        )
    totals = {}
    merges: list[Merge] = []
    for dataset, questions in distinct.items():
        own = questions[0][1]
        accountants: dict[str, Accountant] = {"pure": Pure(), "zcdp": ZCDP(deltas[dataset])}
        together = {}
        once_merged = {}
        for name, accountant in accountants.items():
            parts = [
                part
                for number, each in questions
                for part in parts_of(number, each.under[name], each.expect)
            ]
            together[name] = total([part.asked.cost for part in parts], accountant)
            found, once_merged[name] = merged(parts, accountant)
            if name == own.accountant:
                merges += found
        totals[dataset] = PlannedTotal(
            pure=together["pure"],
            zcdp=together["zcdp"],
            delta=deltas[dataset],
            merged_pure=once_merged["pure"],
            merged_zcdp=once_merged["zcdp"],
            accountant=own.accountant,
            remaining=own.price.remaining,
        )
    return QuestionPlan(tuple(planned), totals, tuple(merges))
