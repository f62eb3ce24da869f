"""The shapes of what the service takes, and of what it sends that is its own: what it sends of
sessions and answers stands beside these.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, Required, TypedDict

from postri.ledger.trail import EntryFields, UnansweredFields
from postri.statistics.registry import StatisticFields
from postri.web.tokens import Role, Token, TokenFields

# ---- requests

# Who reads a request checks it; these shapes describe what is taken.
Number = int | float | str
Text = Annotated[str, ("maxLength", 10_000)]
Name = Annotated[str, ("minLength", 1), ("maxLength", 200)]
EXPIRY = "A span such as 90d, a day such as 2027-01-31, or never; the policy's days if left out."


class QuestionFields(TypedDict, total=False):
    """A question in SQL, or one of a dataset with its aggregates.

    Exactly one of `sql` and `dataset` is given.
    """

    sql: Text | None
    dataset: str | None
    aggregates: Annotated[
        dict[str, str] | None,
        'By name, such as {"mid": "median(balance)", "late": "count() where delay > 15"}, or with '
        'a wish "count() within 50".',
    ]
    by: Annotated[
        list[str | dict[str, str]] | dict[str, str] | None,
        "Columns that have public keys in the policy, and expressions by name, such as "
        "{\"month\": \"DATE_TRUNC('month', t) BETWEEN '2024-01' AND '2024-12'\"}.",
    ]
    where: Annotated[Text | None, "Which rows count, in SQL."]
    weights: Annotated[
        dict[str, Number] | None,
        "How epsilon is divided over the aggregates; evenly if left out.",
    ]
    epsilon: Annotated[
        Number | None,
        "What all aggregates cost together. A text such as '1/3' is exact. Without it, it follows "
        "from wishes: from `within`, or from those of the aggregates.",
    ]
    within: Annotated[
        Number | None,
        "How near all aggregates are wanted that have no wish of their own: a number in their own "
        "unit, or for quantiles '1 percentile' or '75 rows'.",
    ]
    confidence: Number | None
    simultaneous: Annotated[bool | None, "All intervals hold at once."]
    fresh: Annotated[bool | None, "Pay for a new draw, even if the answer is recorded."]
    expect: Annotated[
        int | None,
        "About how many rows match, in each group: for forecasts and wishes alone. Without a wish "
        "it changes no answer.",
        ("minimum", 1),
    ]


class PlanRequestFields(TypedDict, total=False):
    """Questions to be planned together."""

    questions: Required[
        Annotated[list[QuestionFields | Text], "Each as in a query, or a text in SQL."]
    ]
    delta: Annotated[
        Number | None, "At which rhos are told as an epsilon; the policy's if left out."
    ]


class NewTokenFields(TypedDict, total=False):
    """A token to be made."""

    name: Required[Name]
    role: Required[Role]
    allowance: Annotated[
        Number | None, "The most that this name may spend on each dataset; as it was if left out."
    ]
    expires: Annotated[str | None, EXPIRY]
    datasets: Annotated[list[str] | None, "The datasets that it opens; all if left out."]


class RenewalFields(TypedDict, total=False):
    """How long the token is valid that comes in place of another."""

    expires: Annotated[str | None, EXPIRY]


class NewAllowanceFields(TypedDict, total=False):
    """An allowance to be set; null for none."""

    allowance: Number | None


class VerificationRequestFields(TypedDict, total=False):
    """What the ledger is compared with, besides itself."""

    head: Annotated[
        str | None,
        "A head that was told earlier and kept elsewhere: its entry must still be there.",
    ]


# ---- replies


class StatisticsFields(TypedDict):
    """What can be asked."""

    statistics: list[StatisticFields]


class MeFields(TypedDict):
    """Whose token it is."""

    name: str
    role: Role
    expires: str | None
    allowance: str | None
    datasets: list[str] | None


class TokensFields(TypedDict):
    """All tokens."""

    tokens: list[TokenFields]


class MadeTokenFields(TokenFields):
    """A new token. Its text is told this once."""

    allowance: str | None
    token: str


class AllowancesFields(TypedDict):
    """The allowances by name, each on every dataset."""

    allowances: dict[str, str]


class AllowanceFields(TypedDict):
    """The allowance of a name as it is now."""

    name: str
    allowance: str | None


class TrailFields(TypedDict):
    """Entries of the ledger; `next` goes into `after`, or into `before` with the newest first."""

    head: str
    entries: list[EntryFields]
    next: int | None


class VerificationFields(TypedDict):
    """What is wrong with the ledger, in sentences; nothing if it is good."""

    head: str
    entries: int
    problems: list[str]


class OpeningFields(TypedDict):
    """A dataset that is open again, and the questions without an answer that were looked at."""

    dataset: str
    unanswered: list[UnansweredFields]


class StateFields(TypedDict):
    """How the service is."""

    status: Literal["ok", "ready"]


def me_fields(token: Token, allowance: Fraction | None) -> MeFields:
    """A token, as whoever has it sees it, with what its name may spend."""
    fields = token.to_fields()
    return {
        "name": token.name,
        "role": token.role,
        "expires": token.expires,
        "allowance": amount_text(allowance),
        "datasets": fields["datasets"],
    }


def made_token_fields(token: Token, text: str) -> MadeTokenFields:
    """A token that was made now, with its text."""
    return {**token.to_fields(), "allowance": amount_text(token.allowance), "token": text}


def amount_text(amount: Fraction | None) -> str | None:
    """An amount of budget, exactly."""
    if amount is None:
        return None
    return str(amount)
