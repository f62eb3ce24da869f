"""A session: an analyst's questions, whether the data are here or behind a service."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from getpass import getuser
from types import TracebackType
from typing import Any, Self

from postri import agg
from postri.answer import Answer, Result
from postri.errors import InputError, nearest
from postri.exact import Number, shown
from postri.ledger import SqliteLedger
from postri.policy import read_policy
from postri.question import Price, Wording
from postri.session.budget import Budget
from postri.session.desk import Desk, PastAnswer
from postri.session.facts import DatasetFacts
from postri.session.local import LocalDesk
from postri.session.remote import RemoteDesk, is_url
from postri.statistics.statistic import Statistic

ANALYST, TOKEN = "POSTRI_ANALYST", "POSTRI_TOKEN"
MEDIAN = "0.5"


def connect(
    policy_or_url: str | os.PathLike[str], *, analyst: str | None = None, token: str | None = None
) -> Session:
    """A session with a policy's datasets, for an analyst: the one named, or $POSTRI_ANALYST, or the
    user of this machine.

    With the address of a service, for whoever the token says: the one given, or $POSTRI_TOKEN.
    Close it at the end, or use it in a `with` block.
    """
    place = os.fspath(policy_or_url)
    if is_url(place):
        if analyst is not None:
            raise InputError("a service knows the analyst by the token: leave out analyst")
        return Session(RemoteDesk(place, token if token is not None else os.environ.get(TOKEN)))
    if token is not None:
        raise InputError(
            "a token goes with the address of a service, such as 'https://host'; a policy "
            "needs none"
        )
    policy = read_policy(place)
    return Session(LocalDesk(policy, SqliteLedger(policy.ledger, policy.head), _analyst(analyst)))


def _analyst(name: str | None) -> str:
    if name is None:
        name = os.environ.get(ANALYST) or getuser()
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"the analyst must have a name, got {shown(name)}")
    return name


class Session:
    """An analyst's questions to datasets, each paid for from a ledger. Made by `postri.connect`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def analyst(self) -> str:
        """Who asks."""
        return self._desk.analyst

    @property
    def datasets(self) -> list[str]:
        """The names of the datasets."""
        return list(self.describe())

    def describe(self) -> Mapping[str, DatasetFacts]:
        """What is public of each dataset."""
        return self._desk.describe()

    def ask(
        self,
        dataset: str,
        aggregates: Mapping[str, Statistic | str],
        *,
        epsilon: Number,
        by: Sequence[str] = (),
        where: str | None = None,
        weights: Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
        retry: str | None = None,
    ) -> Result:
        """Several aggregates at once, of all rows or group by group; `epsilon` is what all cost
        together.

        `by` names columns that have public keys in the policy. The same question asked again
        returns the recorded answer and costs nothing; `fresh` pays for a new draw. BudgetExceeded
        if the budget does not allow it: then nothing was spent. With a key of your own in `retry`,
        a question that was cut off may be asked again with the same key, and is paid for once.
        """
        return self._desk.answer(
            Wording(
                dataset=dataset,
                aggregates=aggregates,
                epsilon=epsilon,
                by=by,
                where=where,
                weights=weights,
                confidence=confidence,
                simultaneous=simultaneous,
                fresh=fresh,
            ),
            retry,
        )

    def sql(
        self,
        text: str,
        *,
        epsilon: Number,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
        retry: str | None = None,
    ) -> Result:
        """A question in SQL:

        `SELECT job, MEDIAN(balance) AS mid, COUNT(*) AS n FROM bank WHERE age < 40 GROUP BY job
        ORDER BY mid DESC`.

        `epsilon` is what all its aggregates cost together. What is not answered is refused with the
        place in the text.
        """
        wording = Wording(
            sql=_sql(text),
            epsilon=epsilon,
            confidence=confidence,
            simultaneous=simultaneous,
            fresh=fresh,
        )
        return self._desk.answer(wording, retry)

    def median(self, dataset: str, column: str, *, epsilon: Number, **how: Any) -> Answer:
        """The median of a column; `where`, `confidence` and `fresh` as in `ask`."""
        return self.quantile(dataset, column, MEDIAN, epsilon=epsilon, **how)

    def quantile(
        self, dataset: str, column: str, p: Number, *, epsilon: Number, **how: Any
    ) -> Answer:
        """The p-quantile of a column: 0.9 is the 90th percentile."""
        return self._one(dataset, agg.quantile(column, p), epsilon, **how)

    def count(
        self, dataset: str, column: str | None = None, *, epsilon: Number, **how: Any
    ) -> Answer:
        """The number of rows, or of those in which a column has a cell that can be read."""
        return self._one(dataset, agg.count(column), epsilon, **how)

    def sum(self, dataset: str, column: str, *, epsilon: Number, **how: Any) -> Answer:
        """The sum of a column, clamped to its domain."""
        return self._one(dataset, agg.sum(column), epsilon, **how)

    def mean(self, dataset: str, column: str, *, epsilon: Number, **how: Any) -> Answer:
        """The mean of a column, clamped to its domain."""
        return self._one(dataset, agg.mean(column), epsilon, **how)

    def price(
        self,
        dataset: str,
        aggregates: Mapping[str, Statistic | str] | None = None,
        *,
        epsilon: Number,
        by: Sequence[str] = (),
        where: str | None = None,
        weights: Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        simultaneous: bool = False,
        fresh: bool = False,
    ) -> Price:
        """What the question would cost, and how far its intervals will reach: from public numbers,
        free. The table is not looked at.

        Takes what `ask` takes, or the text of a question in SQL.
        """
        words = (
            {"sql": _sql(dataset)}
            if aggregates is None
            else {"dataset": dataset, "aggregates": aggregates}
        )
        return self._desk.price(
            Wording(
                **words,
                epsilon=epsilon,
                by=by,
                where=where,
                weights=weights,
                confidence=confidence,
                simultaneous=simultaneous,
                fresh=fresh,
            )
        )

    def budget(self, dataset: str | None = None) -> Budget:
        """What the datasets, or one of them, have left; and of that, what this analyst has."""
        return self._desk.budget(dataset)

    def answers(self, before: str | None = None, limit: int = 50) -> list[PastAnswer]:
        """What this analyst asked, newest first, with the answers as they were given; below the
        number of an answer, if one is given.
        """
        return self._desk.answers(before, limit)

    def close(self) -> None:
        """Let go of the ledger, or of the service."""
        self._desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _one(self, dataset: str, aggregate: Statistic, epsilon: Number, **how: Any) -> Answer:
        known = {"where", "confidence", "fresh", "retry"}
        for name in how.keys() - known:
            raise InputError(f"there is no parameter {name!r}; {nearest(name, sorted(known))}")
        result = self.ask(dataset, {"answer": aggregate}, epsilon=epsilon, **how)
        (answer,) = result.answers
        return answer


def _sql(text: object) -> str:
    if not isinstance(text, str):
        raise InputError(f"a question in SQL must be a text, got {shown(text)}")
    return text
