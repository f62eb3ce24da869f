"""A question as it was put, before anything is looked up: what goes to a desk, over a wire, and
into an analyst's history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from postri import agg
from postri.agg import Aggregate, Count
from postri.asking import check_aggregates
from postri.errors import InputError, nearest
from postri.exact import Number, exact, shown, written
from postri.expressions.reader import check_text
from postri.privacy import check_epsilon, check_share

STRUCTURED = ("dataset", "aggregates", "by", "where", "weights")


@dataclass(frozen=True, kw_only=True)
class Wording:
    """A question in SQL, or one of a dataset with its aggregates.

    Nothing of it is checked: whoever answers it does that.
    """

    epsilon: Number
    sql: str | None = None
    dataset: str | None = None
    aggregates: Mapping[str, Aggregate | str] | None = None
    by: Sequence[str] = ()
    where: str | None = None
    weights: Mapping[str, Number] | None = None
    confidence: Number = 0.95
    simultaneous: bool = False
    fresh: bool = False

    def to_fields(self) -> dict[str, Any]:
        """As plain values, one form for all that mean the same words.

        InputError for what is of no such form.
        """
        named = (
            {"sql": _text(self.sql, "a question in SQL")}
            if self.sql is not None
            else self._structured()
        )
        common = {
            "epsilon": written(check_epsilon(self.epsilon)),
            "confidence": written(check_share(self.confidence, "confidence")),
        }
        flags = {
            name: True
            for name in ("simultaneous", "fresh")
            if check_flag(getattr(self, name), name)
        }
        return {**named, **common, **flags}

    def _structured(self) -> dict[str, Any]:
        aggregates = {
            name: _written(each) for name, each in check_aggregates(self.aggregates).items()
        }
        optional = {
            "by": list(check_by(self.by)),
            "where": None if self.where is None else check_text(self.where),
            "weights": None if self.weights is None else _weights(self.weights, aggregates),
        }
        return {
            "dataset": self.dataset,
            "aggregates": aggregates,
            **{name: each for name, each in optional.items() if each},
        }

    @property
    def text(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_fields(), sort_keys=True, separators=(",", ":"))


def read_wording(given: object) -> Wording:
    """The wording of plain values, or InputError for the first thing that is wrong with their
    shape.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            'a question must be an object, such as {"sql": "SELECT MEDIAN(x) FROM t", "epsilon": "1/2"}'
        )
    known = [field.name for field in fields(Wording)]
    for name in given:
        if name not in known:
            raise InputError(f"a question has no {shown(name)}; {nearest(str(name), known)}")
    found = {name: each for name, each in given.items() if each is not None}
    if "epsilon" not in found:
        raise InputError('a question must say its epsilon, such as "epsilon": "1/2"')
    if "sql" in found:
        for name in STRUCTURED:
            if name in found:
                raise InputError(
                    f"a question in SQL says everything in its text: leave out {name!r}"
                )
    elif "dataset" not in found or "aggregates" not in found:
        raise InputError('a question must have "sql", or "dataset" and "aggregates"')
    wording = Wording(**found)
    wording.to_fields()
    return wording


def check_by(by: object) -> Sequence[str]:
    """The columns to divide by, or InputError if they are no list of texts."""
    if isinstance(by, str | Mapping) or not isinstance(by, Sequence):
        raise InputError(
            "by must be a list of columns, such as ['job']: their keys are the policy's; got "
            f"{shown(by)}"
        )
    return [_text(name, "a column to divide by") for name in by]


def check_flag(flag: object, name: str) -> bool:
    """The flag, or InputError if it is something else."""
    if not isinstance(flag, bool):
        raise InputError(f"{name} must be True or False, got {shown(flag)}")
    return flag


def _written(aggregate: Aggregate) -> str:
    if not isinstance(aggregate, Count) and aggregate.domain is not None:
        raise InputError(
            f"the domain of {shown(aggregate.column)} is the policy's; leave it out of the "
            "aggregate"
        )
    return agg.written(aggregate)


def _weights(weights: object, aggregates: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(weights, Mapping):
        raise InputError(
            f"weights must give each of {', '.join(map(repr, aggregates))} its weight, and no "
            f"other; got {shown(weights)}"
        )
    return {
        _text(name, "the name of an aggregate"): written(exact(each, f"the weight of {name!r}"))
        for name, each in weights.items()
    }


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, got {shown(value)}")
    return value
