"""Every refusal of the service as problem details (RFC 9457): one table from errors to statuses and
codes.

What is told of an error is safe to tell: no path, no source, no message of an error that is not
ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

from postri.errors import EngineError, LedgerError, PolicyError, PostriError
from postri.session.wire import KINDS, problem_members

TITLES: Mapping[str, str] = {
    "unauthorized": "A valid token is needed",
    "forbidden": "This is for stewards",
    "not_found": "There is nothing here",
    "method_not_allowed": "This is not done here",
    "invalid_request": "The request is wrong",
    "retry_key_used": "The retry key belongs to another question",
    "budget_exceeded": "The budget does not allow it",
    "questions_exceeded": "No more questions may be asked",
    "closed": "The dataset is closed",
    "request_too_large": "The request is too large",
    "rate_limited": "Too many requests",
    "busy": "Too many questions wait",
    "shutting_down": "The service is shutting down",
    "not_ready": "The service is not ready",
    "timed_out": "The question took too long",
    "question_failed": "The question failed",
    "source_error": "The data cannot be opened",
    "engine_error": "The data cannot be looked at",
    "ledger_error": "The ledger cannot be used",
    "policy_error": "The policy does not fit the data",
    "internal": "Something went wrong here",
}
STATUSES: Mapping[str, int] = {
    **{kind.code: kind.status for kind in KINDS.values()},
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "request_too_large": 413,
    "rate_limited": 429,
    "busy": 503,
    "shutting_down": 503,
    "not_ready": 503,
    "timed_out": 504,
    "policy_error": 500,
    "internal": 500,
}
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="postri"'}
LEDGER = (
    "the ledger or the file of tokens cannot be read or written now; the steward finds out why "
    "with 'postri budget --verify'"
)
POLICY = "what the policy says does not fit the data; the steward finds out why with 'postri check'"
UNSPENT = "nothing was spent"


class ProblemFields(TypedDict):
    """Why there is no answer (RFC 9457)."""

    type: str
    title: str
    status: int
    code: Annotated[str, ("enum", tuple(TITLES))]
    detail: str
    request_id: Annotated[str, ("pattern", "^[0-9a-f]{16}$")]
    spent: NotRequired[Annotated[bool | None, "Whether the question was paid for."]]
    charged: NotRequired[Annotated[str, "The epsilon that a question that failed keeps spent."]]


class Timeout(EngineError):  # noqa: N818  # the ledger keeps its name as the reason of a failure
    """A question took longer than the service lets one take.

    Told of one that was not paid for yet; of any other, the session tells that it failed.
    """


class Shutdown(EngineError):  # noqa: N818  # the ledger keeps its name as the reason of a failure
    """The service ended before a question was answered.

    Told of one that was not paid for yet; of any other, the session tells that it failed.
    """


@dataclass(eq=False)
class Refusal(Exception):  # noqa: N818  # what it is on the wire
    """A reply that is no answer."""

    code: str
    detail: str
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The status of its code."""
        return STATUSES[self.code]

    def fields(self, request_id: str) -> dict[str, Any]:
        """As problem details."""
        problem: ProblemFields = {
            "type": "about:blank",
            "title": TITLES[self.code],
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "request_id": request_id,
        }
        return {**problem, **self.members}


def refusal_of(error: BaseException) -> Refusal:
    """What is told of an error."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, Timeout | Shutdown):
        return _cut_off(error)
    if isinstance(error, PolicyError):
        return Refusal("policy_error", POLICY)
    if isinstance(error, PostriError):
        for kind, known in KINDS.items():
            if isinstance(error, kind):
                return Refusal(known.code, _detail(error), problem_members(error))
    return Refusal(
        "internal", f"failed with {type(error).__name__}; please report it, with the request_id"
    )


def _detail(error: PostriError) -> str:
    # What goes wrong with a ledger names its file.
    if isinstance(error, LedgerError):
        return LEDGER
    return str(error)


def _cut_off(error: Timeout | Shutdown) -> Refusal:
    code = "shutting_down"
    words = "the service is shutting down"
    if isinstance(error, Timeout):
        code = "timed_out"
        words = "the question took too long"
    return Refusal(code, f"{words}; {UNSPENT}", {"spent": False})


def unauthorized() -> Refusal:
    """For whoever has no valid token. Does not say which of the reasons it is."""
    return Refusal(
        "unauthorized",
        "send a valid token: 'Authorization: Bearer ptr_...'; the steward makes one with "
        "'postri token add'",
        headers=CHALLENGE,
    )


def wait(code: str, detail: str, seconds: int) -> Refusal:
    """For whoever should come back later."""
    return Refusal(code, detail, headers={"Retry-After": str(seconds)})
