"""A question as it was put, before anything is looked up: what goes to a session, over a wire, and
into an analyst's history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from postri.answer.within import Within
from postri.errors import InputError, nearest
from postri.exact import Number, parameter, shown, written
from postri.privacy import check_epsilon, check_share
from postri.question.dataset import By, check_no_domain
from postri.question.rules import (
    NO_EPSILON,
    check_aggregates,
    check_by,
    check_expect,
    check_flag,
    check_text,
)
from postri.statistics.registry import read
from postri.statistics.statistic import Statistic

STRUCTURED = ("dataset", "aggregates", "by", "where", "weights")


@dataclass(frozen=True, kw_only=True)
class Wording:
    """A question in SQL, or one of a dataset with its aggregates.

    Nothing of it is checked: whoever answers it does that. `within` is a wish for all aggregates
    that have none of their own; without epsilon, that follows from wishes. `expect` is about how
    many rows match, for forecasts and wishes alone: else it is no part of the question.
    """

    epsilon: Number | None = None
    within: Number | Within | None = None
    sql: str | None = None
    dataset: str | None = None
    aggregates: Mapping[str, Statistic | str] | None = None
    by: By | Sequence[str | By] = ()
    where: str | None = None
    weights: Mapping[str, Number] | None = None
    confidence: Number = 0.95
    simultaneous: bool = False
    fresh: bool = False
    expect: int | None = None

    def to_fields(self) -> dict[str, Any]:
        """As plain values, one form for all that mean the same words.

        InputError for what is of no such form.
        """
        found: dict[str, Any]
        if self.sql is not None:
            found = {"sql": check_text(self.sql, "a question in SQL")}
            if self.weights is not None:
                found["weights"] = _weights(self.weights, ())
        else:
            found = self._structured()
        if self.epsilon is not None:
            found["epsilon"] = written(check_epsilon(self.epsilon))
        if self.within is not None:
            found["within"] = str(Within.of(self.within))
        check_share(self.confidence, "confidence")
        found["confidence"] = written(parameter(self.confidence, "confidence"))
        for name in ("simultaneous", "fresh"):
            if check_flag(getattr(self, name), name):
                found[name] = True
        if self.expect is not None:
            found["expect"] = check_expect(self.expect)
        return found

    def _structured(self) -> dict[str, Any]:
        aggregates = {}
        for name, statistic in check_aggregates(self.aggregates).items():
            check_no_domain(statistic)
            aggregates[name] = _written(statistic)
        found: dict[str, Any] = {"dataset": self.dataset, "aggregates": aggregates}
        by = check_by(self.by)
        if by:
            # A list, because objects may lose their order.
            found["by"] = [
                name if name == divides else {name: str(divides)} for name, divides in by.items()
            ]
        if self.where is not None:
            from postri.expressions.reader import check_text as check_predicate_text

            found["where"] = check_predicate_text(self.where)
        if self.weights is not None:
            found["weights"] = _weights(self.weights, list(aggregates))
        if not found.get("weights", True):
            del found["weights"]
        return found

    def settled(self, epsilons: Mapping[str, Fraction]) -> Wording:
        """The same with the epsilons that followed from its wishes: what is kept of it. So it
        means the same whatever forecasts say later.
        """
        total = sum(epsilons.values(), start=Fraction(0))
        weights = None
        if len(epsilons) > 1:
            weights = {name: str(epsilon) for name, epsilon in epsilons.items()}
        return replace(self, epsilon=total, weights=weights)

    @property
    def words(self) -> str:
        """The question in a line."""
        if self.sql is not None:
            return " ".join(self.sql.split())
        fields = self._structured()
        words = f"{', '.join(fields['aggregates'].values())} of {self.dataset}"
        if self.within is not None:
            words += f" within {Within.of(self.within).words}"
        if self.where is not None:
            words += f" where {self.where}"
        if by := check_by(self.by):
            words += f" by {', '.join(by)}"
        return words

    @property
    def text(self) -> str:
        """The question as JSON, whatever was expected of it for its forecast."""
        fields = self.to_fields()
        if not self.may_wish:
            fields.pop("expect", None)
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @property
    def may_wish(self) -> bool:
        """Whether what was expected may have decided about epsilon and methods."""
        if self.within is not None:
            return True
        if self.sql is not None:
            return "within" in self.sql.lower()
        return any(each.within is not None for each in check_aggregates(self.aggregates).values())


def read_wording(given: object) -> Wording:
    """The wording of plain values, or InputError for the first thing that is wrong with their
    shape.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            'a question must be an object, such as {"sql": "SELECT MEDIAN(x) FROM t", '
            '"epsilon": "1/2"}'
        )
    known = [field.name for field in fields(Wording)]
    for name in given:
        if name not in known:
            raise InputError(f"a question has no {shown(name)}; {nearest(str(name), known)}")
    found = {name: each for name, each in given.items() if each is not None}
    if "sql" in found:
        for name in STRUCTURED:
            # What is kept of a question with wishes has the division that followed from them.
            if name in found and not (name == "weights" and "epsilon" in found):
                raise InputError(
                    f"a question in SQL says everything in its text: leave out {name!r}"
                )
    elif "dataset" not in found or "aggregates" not in found:
        raise InputError('a question must have "sql", or "dataset" and "aggregates"')
    wording = Wording(**found)
    wording.to_fields()
    if wording.epsilon is None and not wording.may_wish:
        raise InputError(NO_EPSILON)
    return wording


def _written(statistic: Statistic) -> str:
    """The statistic as text, by which it is kept; InputError if that could not be read again."""
    try:
        text = statistic.text
        read(text)
    except ValueError:
        raise InputError(
            f"a {statistic.title} has a number that is too long to be kept: give it fewer digits"
        ) from None
    return text


def _weights(weights: object, names: Sequence[str]) -> dict[str, str]:
    """Weights as text. Whether each aggregate has one is looked at when the question is read."""
    if not isinstance(weights, Mapping):
        listed = ", ".join(map(repr, names))
        raise InputError(
            f"weights must give each of {listed} its weight, and no other; got {shown(weights)}"
        )
    found = {}
    for name, weight in weights.items():
        checked = check_text(name, "the name of an aggregate")
        found[checked] = written(parameter(weight, f"the weight of {name!r}"))
    return found
