"""A question in its normal form: the key of a recorded answer is every parameter of it, whatever
words and order it was asked in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

from postri.agg import Aggregate, Count, Mean, Quantile, Sum
from postri.answer import Answer
from postri.answer.words import JOINT
from postri.asking import Asked, Request, check_aggregates, check_weights, checked_request
from postri.domain import Domain
from postri.engines.rows import Key
from postri.errors import InputError, nearest
from postri.exact import Number, shown
from postri.expressions import Predicate
from postri.expressions.tree import Expression
from postri.ledger import Cost, bounded_range, pure_draw
from postri.mechanisms.coins import Coins
from postri.methods.depth import Depth
from postri.policy import ColumnPolicy, Dataset
from postri.session.wording import check_by, check_flag
from postri.sql import Computed


@dataclass(frozen=True)
class Question:
    """What is asked of a dataset.

    The request has its aggregates and its keys in normal order; the result has them as they were
    asked.
    """

    dataset: Dataset
    names: tuple[str, ...]
    places: tuple[int, ...]
    by: tuple[str, ...]
    request: Request
    computed: Mapping[str, Expression] = field(default_factory=dict)

    @cached_property
    def normal(self) -> str:
        """The normal form, as text."""
        return _text(
            {
                "dataset": self.dataset.name,
                "version": self.dataset.version,
                "aggregates": [self._aggregate(asked) for asked in self.request.asked],
                "by": [[name, list(map(_key, keys))] for name, keys in self._groups],
                "where": None if self.request.where is None else str(self.request.where),
                "protect": str(self.dataset.protect),
                **(
                    {"computed": {name: str(each) for name, each in sorted(self.computed.items())}}
                    if self.computed
                    else {}
                ),
            }
        )

    @property
    def key(self) -> str:
        """By which an answer is found again."""
        return sha256(self.normal.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def cost(self) -> Cost:
        """What it draws. Disjoint groups share it."""
        first, *rest = (_cost(asked, self.request) for asked in self.request.asked)
        return sum(rest, start=first)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.request.rows.number

    @property
    def _groups(self) -> tuple[tuple[str, tuple[Key, ...]], ...]:
        return self.request.groups.columns if self.request.groups else ()

    def _aggregate(self, asked: Asked) -> dict[str, object]:
        """One aggregate with all that its draw depends on.

        The interval of a count, sum or mean is free: its confidence is not in it.
        """
        fields = aggregate_fields(asked.aggregate) | {"epsilon": str(asked.epsilon)}
        if isinstance(asked.aggregate, Quantile):
            beta = self.request.beta(self.groups) / asked.parts
            fields |= {
                "beta": str(beta),
                "split": str(self.request.split),
                "method": repr(self.request.method),
            }
        return fields

    def arranged(
        self, answers: Sequence[Sequence[Answer]]
    ) -> list[tuple[tuple[Any, ...], list[Answer]]]:
        """Answers in normal order as rows in the order in which they were asked for."""
        columns = dict(self._groups)
        normal = {keys: place for place, keys in enumerate(product(*columns.values()))}
        sorted_names = list(columns)
        rows = []
        for keys in product(*(columns[name] for name in self.by)):
            named = dict(zip(self.by, keys, strict=True))
            group = answers[normal[tuple(named[name] for name in sorted_names)]]
            rows.append((keys, [group[place] for place in self.places]))
        return rows

    def adapted(self, answer: Answer) -> Answer:
        """A recorded answer with the interval of this question's confidence, which is free where
        the noise is public.
        """
        if answer.drawn is None:
            return answer
        joint = (JOINT,) if self.request.joint and len(self.names) * self.groups > 1 else ()
        return replace(
            answer,
            interval=answer.drawn.interval(self.request.beta(self.groups)),
            confidence=float(self.request.confidence),
            notes=(*(note for note in answer.notes if note != JOINT), *joint),
        )


def read_question(
    dataset: Dataset,
    aggregates: Mapping[str, Aggregate | str] | None,
    *,
    epsilon: Number,
    by: Sequence[str] = (),
    where: str | Predicate | None = None,
    weights: Mapping[str, Number] | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    coins: Coins | None = None,
    computed: Mapping[str, Computed] | None = None,
    parts: Mapping[str, int] | None = None,
) -> Question:
    """The question, or InputError for the first thing that is wrong with it.

    Nothing but the policy is looked at.

    `where` is a text, or a predicate in normal form, as SQL hands it over. `computed` are
    expressions that aggregates name as columns. `parts` says how many intervals must
    hold at once with that of an aggregate.
    """
    known = computed or {}
    wanted = {
        name: _on_policy(each, dataset, known)
        for name, each in check_aggregates(aggregates).items()
    }
    shares = check_weights(weights, wanted)
    columns = _check_by(by, dataset)
    # The order of their texts is the normal order; equal ones are interchangeable.
    order = sorted(
        range(len(wanted)),
        key=lambda i: _text(aggregate_fields(list(wanted.values())[i])) + f" {shares[i]}",
    )
    request = checked_request(
        [list(wanted.values())[i] for i in order],
        epsilon=epsilon,
        confidence=confidence,
        protect=dataset.protect,
        method=Depth(noise="gumbel" if dataset.accountant == "zcdp" else "exponential"),
        coins=coins,
        where=where,
        by={name: columns[name] for name in sorted(columns)} or None,
        shares=[shares[i] for i in order],
        joint=check_flag(simultaneous, "simultaneous"),
        parts=[(parts or {}).get(list(wanted)[i], 1) for i in order],
    )
    if request.where is not None and not isinstance(where, Predicate):
        request = replace(request, where=request.where.normal(list(dataset.columns)))
    places = tuple(order.index(i) for i in range(len(wanted)))
    expressions = {name: each.expression for name, each in known.items()}
    return Question(dataset, tuple(wanted), places, tuple(columns), request, expressions)


def _on_policy(
    aggregate: Aggregate, dataset: Dataset, computed: Mapping[str, Computed]
) -> Aggregate:
    """The aggregate on the policy's domain, or on that of an expression."""
    if aggregate.column in computed:
        return (
            aggregate
            if isinstance(aggregate, Count)
            else replace(aggregate, domain=computed[str(aggregate.column)].domain)
        )
    if isinstance(aggregate, Count):
        return (
            aggregate
            if aggregate.column is None
            else replace(aggregate, column=_column(aggregate.column, dataset).name)
        )
    if aggregate.domain is not None:
        raise InputError(
            f"the domain of {shown(aggregate.column)} is the policy's; leave it out of the "
            "aggregate"
        )
    column = _column(aggregate.column, dataset)
    if isinstance(aggregate, Sum | Mean) and column.domain is None:
        raise InputError(
            f"there is no sum or mean of {column.name!r}: the policy gives it no lower and "
            "upper; ask for its median"
        )
    return replace(aggregate, column=column.name, domain=column.domain)


def _column(name: object, dataset: Dataset) -> ColumnPolicy:
    if not isinstance(name, str) or name not in dataset.columns:
        raise InputError(
            f"{dataset.name!r} has no column {shown(name)}; {nearest(str(name), dataset.columns)}"
        )
    return dataset.columns[name]


def _check_by(by: object, dataset: Dataset) -> dict[str, tuple[Key, ...]]:
    """The columns to divide by, with their public keys."""
    columns = {}
    for name in check_by(by):
        column = _column(name, dataset)
        if column.keys is None:
            raise InputError(
                f"{name!r} has no public keys in the policy, so rows cannot be divided by it; "
                f"{_with_keys(dataset)}"
            )
        if name in columns:
            raise InputError(f"by names {name!r} twice")
        columns[column.name] = column.keys
    return columns


def _with_keys(dataset: Dataset) -> str:
    names = [name for name, column in dataset.columns.items() if column.keys is not None]
    return f"columns with keys: {', '.join(map(repr, names))}" if names else "no column has keys"


def aggregate_fields(aggregate: Aggregate) -> dict[str, object]:
    """What an aggregate is, in plain values."""
    if isinstance(aggregate, Count):
        return {"count": aggregate.column}
    domain = None if aggregate.domain is None else _domain(aggregate.domain)
    if isinstance(aggregate, Quantile):
        return {"quantile": aggregate.column, "p": str(aggregate.p), "domain": domain}
    return {"mean" if isinstance(aggregate, Mean) else "sum": aggregate.column, "domain": domain}


def _domain(domain: Domain) -> list[object]:
    return [_key(domain.lower), _key(domain.upper), _key(domain.step)]


def _key(key: Key) -> list[object]:
    """A key or a bound with its kind: the text "1" is not the number 1, and 1.0 is."""
    if isinstance(key, str | bool):
        return [type(key).__name__, key]
    if isinstance(key, date):
        return [type(key).__name__, key.isoformat()]
    return ["number", str(Fraction(key) if isinstance(key, Decimal) else key)]


def _cost(asked: Asked, request: Request) -> Cost:
    """What the draws of one aggregate cost."""
    if isinstance(asked.aggregate, Quantile):
        bounded = isinstance(request.method, Depth) and request.method.noise == "gumbel"
        draw = bounded_range if bounded else pure_draw
        return draw(asked.epsilon * request.split) + draw(asked.epsilon * (1 - request.split))
    if isinstance(asked.aggregate, Mean):
        return pure_draw(asked.epsilon / 2) + pure_draw(asked.epsilon / 2)
    return pure_draw(asked.epsilon)


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
