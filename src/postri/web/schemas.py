"""The shapes of requests and replies, for the OpenAPI description.

The session checks what comes in; these describe it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from postri.web.refusals import TITLES

Number = int | float | str


class Strict(BaseModel):
    """A request that has these names and no others."""

    model_config = ConfigDict(extra="forbid")


class Question(Strict):
    """A question in SQL, or one of a dataset with its aggregates.

    Exactly one of `sql` and `dataset` is given.
    """

    sql: str | None = Field(None, max_length=10_000)
    dataset: str | None = None
    aggregates: dict[str, str] | None = Field(
        None, description='By name, such as {"mid": "median(balance)", "n": "count()"}.'
    )
    by: list[str] | None = Field(None, description="Columns that have public keys in the policy.")
    where: str | None = Field(None, max_length=10_000, description="Which rows count, in SQL.")
    weights: dict[str, Number] | None = Field(
        None, description="How epsilon is divided over the aggregates; evenly if left out."
    )
    epsilon: Number = Field(
        description="What all aggregates cost together. A text such as '1/3' is exact."
    )
    confidence: Number | None = None
    simultaneous: bool | None = Field(None, description="All intervals hold at once.")
    fresh: bool | None = Field(
        None, description="Pay for a new draw, even if the answer is recorded."
    )


class NewToken(Strict):
    """A token to be made."""

    name: str = Field(min_length=1, max_length=200)
    role: Literal["analyst", "steward"]
    allowance: Number | None = Field(
        None,
        description="The most that this name may spend on each dataset; as it was if left out.",
    )
    expires: str | None = Field(
        None, description="A span such as 90d, or a day such as 2027-01-31."
    )


class NewAllowance(Strict):
    """An allowance to be set; null for none."""

    allowance: Number | None = None


class OneAnswer(BaseModel):
    """A value with its interval."""

    value: Any
    low: Any
    high: Any
    low_is_edge: bool
    high_is_edge: bool
    confidence: float
    epsilon: str
    method: str
    protects: str
    private: bool
    statistic: str
    sentence: str
    notes: list[str]


class Group(BaseModel):
    """The answers of one group; of all rows, if there are no keys."""

    keys: dict[str, Any]
    answers: dict[str, OneAnswer]


class Answered(BaseModel):
    """The answer to a question. `record` is for clients that rebuild the result."""

    columns: list[str]
    rows: list[dict[str, Any]]
    epsilon: str
    charged: str
    answer_id: str | None
    recorded: bool
    groups: list[Group]
    record: dict[str, Any]


class Forecast(BaseModel):
    """How far an interval will reach.

    A plan has `reach_percentiles`, a reach has `reach` and `statistic`.
    """

    model_config = ConfigDict(extra="allow")

    kind: Literal["plan", "reach", "unknown"]
    sentence: str


class Priced(BaseModel):
    """What a question would cost."""

    epsilon: str
    charged: str
    remaining: str
    recorded: bool
    refused: str | None
    forecasts: dict[str, Forecast]
    words: str


class ColumnShape(BaseModel):
    """A column that may be asked about."""

    name: str
    type: str
    lower: Any
    upper: Any
    step: str | None
    keys: list[Any] | None


class DatasetShape(BaseModel):
    """What is public of a dataset."""

    name: str
    version: str
    rows: int | None
    budget: str
    accountant: str
    delta: str | None
    max_epsilon_per_question: str | None
    protects: str
    protect: dict[str, Any]
    columns: list[ColumnShape]


class Datasets(BaseModel):
    """All datasets."""

    datasets: list[DatasetShape]


class Spent(BaseModel):
    """What an analyst spent of a dataset."""

    spent: str
    entries: int
    allowance: str | None


class DatasetBudgetShape(BaseModel):
    """The budget of a dataset, and the asker's part in it. `analysts` is for stewards."""

    budget: str
    spent: str
    remaining: str
    entries: int
    own: str
    allowance: str | None
    accountant: str
    analysts: dict[str, Spent] | None = None


class Past(BaseModel):
    """A question that was asked before."""

    answer_id: str
    time: str
    dataset: str
    question: dict[str, Any]
    epsilon: str
    status: Literal["answered", "failed", "open"]
    reason: str | None
    result: Answered | None


class History(BaseModel):
    """Own answers, newest first; `next` goes into `before`."""

    answers: list[Past]
    next: str | None


class Me(BaseModel):
    """Whose token it is."""

    name: str
    role: Literal["analyst", "steward"]
    expires: str | None
    allowance: str | None


class TokenShape(BaseModel):
    """A token without its secret."""

    id: str
    name: str
    role: Literal["analyst", "steward"]
    created: str
    expires: str | None
    revoked: str | None


class TokenList(BaseModel):
    """All tokens."""

    tokens: list[TokenShape]


class MadeToken(TokenShape):
    """A new token. Its text is told this once."""

    allowance: str | None
    token: str


class Allowances(BaseModel):
    """The allowances by name, each on every dataset."""

    allowances: dict[str, str]


class SetAllowance(BaseModel):
    """The allowance of a name as it is now."""

    name: str
    allowance: str | None


class EntryShape(BaseModel):
    """An entry of the ledger: who spent what on which question."""

    number: int
    time: str
    kind: str
    dataset: str | None
    analyst: str | None
    epsilon: str
    question: str | None
    fate: str


class Trail(BaseModel):
    """Entries of the ledger; `next` goes into `after`."""

    head: str
    entries: list[EntryShape]
    next: int | None


class State(BaseModel):
    """How the service is."""

    status: Literal["ok", "ready"]


class Problem(BaseModel):
    """Why there is no answer (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str = Field(json_schema_extra={"enum": list(TITLES)})
    detail: str
    request_id: str = Field(pattern="^[0-9a-f]{16}$")
    spent: bool | None = Field(None, description="Whether the question was paid for.")


SHAPES: tuple[type[BaseModel], ...] = (
    *(
        Question,
        NewToken,
        NewAllowance,
        Answered,
        Priced,
        Datasets,
        DatasetBudgetShape,
        History,
        Me,
    ),
    *(TokenList, MadeToken, Allowances, SetAllowance, Trail, State, Problem),
)
