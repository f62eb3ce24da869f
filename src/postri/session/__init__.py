"""Sessions: questions to a policy's datasets, paid for from its ledger.

`connect` gives the session for a place: a `LocalSession` beside the data for a policy, a
`RemoteSession` across HTTP for the address of a service. Both are a `Session` and answer alike.
"""

from __future__ import annotations

import os
from getpass import getuser

from postri.errors import InputError
from postri.exact import shown
from postri.policy import read_policy
from postri.question import Price
from postri.question.planning import QuestionPlan
from postri.session.facts import Budget, ColumnFacts, DatasetBudget, DatasetFacts
from postri.session.local import LocalSession
from postri.session.remote import RemoteSession, is_url
from postri.session.session import PastAnswer, Session

ANALYST = "POSTRI_ANALYST"
TOKEN = "POSTRI_TOKEN"


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
        if token is None:
            token = os.environ.get(TOKEN)
        return RemoteSession(place, token)
    if token is not None:
        raise InputError(
            "a token goes with the address of a service, such as 'https://host'; a policy "
            "needs none"
        )
    policy = read_policy(place)
    return LocalSession(policy, policy.open_ledger(), _analyst_name(analyst))


def _analyst_name(given: str | None) -> str:
    name = given
    if name is None:
        name = os.environ.get(ANALYST) or getuser()
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"the analyst must have a name, got {shown(name)}")
    return name


__all__ = [
    "Budget",
    "ColumnFacts",
    "DatasetBudget",
    "DatasetFacts",
    "LocalSession",
    "PastAnswer",
    "Price",
    "QuestionPlan",
    "RemoteSession",
    "Session",
    "connect",
]
