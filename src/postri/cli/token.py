"""`postri token`: who may ask the service."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from postri.cli import options as o
from postri.errors import InputError

if TYPE_CHECKING:
    from postri.web.tokens import Token, Tokens

SHOWN_ONCE = "This is the only time that the token is shown: keep it as you keep a password."

app = typer.Typer(
    help="Tokens of the service: add, list, revoke.", no_args_is_help=True, rich_markup_mode=None
)


class Role(StrEnum):
    """What a token allows: to ask, or also to see all spends and to make tokens."""

    ANALYST = "analyst"
    STEWARD = "steward"


Name = Annotated[
    str,
    typer.Argument(
        help="Whose token it is. Several tokens may have the same name.", show_default=False
    ),
]
WithRole = Annotated[Role, typer.Option("--role", help="What it allows.", show_default=False)]
Allowance = Annotated[
    str | None,
    typer.Option(help="The most that this analyst may spend on each dataset, such as 2."),
]
Expires = Annotated[
    str | None,
    typer.Option(
        metavar="SPAN|DAY", help="How long it is valid: 90d, 12h, or through a day, 2027-01-31."
    ),
]
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The 8 signs after ptr_, as the list shows them.", show_default=False
    ),
]


@app.command()
def add(
    name: Name,
    role: WithRole,
    allowance: Allowance = None,
    expires: Expires = None,
    policy: o.Policy = "postri.toml",
) -> None:
    """Make a token and print it, this once, as the last line of standard output."""
    from postri.policy.values import an_epsilon
    from postri.web.tokens import read_expiry

    amount = None if allowance is None else an_epsilon("the allowance", allowance)
    until = None if expires is None else read_expiry(expires)
    with _tokens(policy) as tokens:
        token, text = tokens.add(name, role.value, expires=until, allowance=amount)
    words = f"a token for {token.name!r} ({token.role}), " + (
        f"valid until {token.expires}" if token.expires else "valid until it is revoked"
    )
    late = "; that is over already" if until is not None and until <= datetime.now(UTC) else ""
    typer.echo(f"{words}{late}. {SHOWN_ONCE}", err=True)
    typer.echo(text)


@app.command(name="list")
def list_(json: o.Json = False, policy: o.Policy = "postri.toml") -> None:
    """All tokens, without their secrets."""
    from json import dumps

    with _tokens(policy) as tokens:
        found = tokens.all()
    if json:
        typer.echo(dumps({"tokens": [token.to_fields() for token in found]}))
        return
    for token in found:
        typer.echo(_line(token))


def _line(token: Token) -> str:
    until = (
        f"revoked {token.revoked}"
        if token.revoked
        else f"until {token.expires}"
        if token.expires
        else "until revoked"
    )
    allowance = "" if token.allowance is None else f"  allowance {token.allowance}"
    return f"{token.id}  {token.role:<7}  {token.name}  since {token.created}, {until}{allowance}"


@app.command()
def revoke(number: Id, policy: o.Policy = "postri.toml") -> None:
    """Make a token worthless, now and for good."""
    with _tokens(policy) as tokens:
        if not tokens.revoke(number.removeprefix("ptr_")):
            raise InputError(
                f"there is no token {number[:12]!r}; postri token list shows those that there are"
            )
    typer.echo(f"revoked {number.removeprefix('ptr_')}", err=True)


def _tokens(policy: str) -> Tokens:
    from postri.policy import read_policy
    from postri.web.tokens import Tokens

    return Tokens(read_policy(policy).tokens)
