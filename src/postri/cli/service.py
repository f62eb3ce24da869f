"""`postri serve`: a policy's datasets behind HTTP, for a team. `postri token`: who may ask."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from postri import system
from postri.cli import options as o
from postri.errors import InputError, PostriError, missing_extra

if TYPE_CHECKING:
    from postri.web.tokens import Token, Tokens

SHOWN_ONCE = "This is the only time that the token is shown: keep it as you keep a password."

token = typer.Typer(
    help="Tokens of the service: add, list, rotate, revoke.",
    no_args_is_help=True,
    rich_markup_mode=None,
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
        metavar="SPAN|DAY|never",
        help="How long it is valid: 90d, 12h, through a day, 2027-01-31, or never to expire.",
        show_default="the policy's token_days, 90",
    ),
]
Datasets = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", help="The datasets that it opens, with commas between.", show_default="all"
    ),
]
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The 8 signs after ptr_, as the list shows them.", show_default=False
    ),
]


Served = Annotated[
    str, typer.Argument(metavar="POLICY", envvar="POSTRI_POLICY", help="The steward's file.")
]
SamePolicy = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="The same, as other commands have it."),
]
Host = Annotated[
    str | None,
    typer.Option(help="Where to listen; the policy's, or this machine alone.", show_default=False),
]
Port = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        help="The port; the policy's, or 8765. 0 takes a free one.",
        show_default=False,
    ),
]
Certificate = Annotated[
    str | None, typer.Option(metavar="FILE", help="For TLS: the certificate, as PEM.")
]
PrivateKey = Annotated[
    str | None, typer.Option(metavar="FILE", help="For TLS: its private key, as PEM.")
]


def serve(
    served: Served = "postri.toml",
    host: Host = None,
    port: Port = None,
    certificate: Certificate = None,
    private_key: PrivateKey = None,
    policy: SamePolicy = None,
) -> None:
    """Serve the datasets of a policy over HTTP, with a page."""
    from postri.policy import read_policy

    if not system.can_serve():
        raise PostriError(
            "the service runs on Linux and macOS: on Windows start it in WSL or in a container, "
            "and ask it from here; local questions need no service"
        )
    if (certificate is None) != (private_key is None):
        raise InputError("TLS needs both --certificate and --private-key")
    found = read_policy(policy or served)
    try:
        from postri.web import server
    except ModuleNotFoundError as error:
        library = (error.name or "fastapi").partition(".")[0]
        raise missing_extra("The service", library, "web") from None
    if host is None:
        host = found.service.host
    if port is None:
        port = found.service.port
    server.serve(
        found,
        host,
        port,
        certificate=certificate,
        private_key=private_key,
        say=typer.echo,
        warn=lambda words: typer.echo(f"postri: {words}", err=True),
    )


@token.command()
def add(
    name: Name,
    role: WithRole,
    allowance: Allowance = None,
    expires: Expires = None,
    datasets: Datasets = None,
    policy: o.Policy = "postri.toml",
) -> None:
    """Make a token and print it, this once, as the last line of standard output."""
    from postri.policy import read_policy
    from postri.policy.values import an_epsilon
    from postri.web.tokens import check_datasets, read_expiry

    amount = None
    if allowance is not None:
        amount = an_epsilon("the allowance", allowance)
    found = read_policy(policy)
    until = read_expiry(expires, found.service.token_days)
    scope = None
    if datasets is not None:
        scope = check_datasets([each.strip() for each in datasets.split(",")], found.datasets)
    with _tokens(policy) as tokens:
        made = tokens.add(name, role.value, expires=until, allowance=amount, datasets=scope)
    _tell(*made)


@token.command()
def rotate(number: Id, expires: Expires = None, policy: o.Policy = "postri.toml") -> None:
    """Make a token in place of another, which is revoked, and print it, this once.

    Name, role and datasets stay.
    """
    from postri.policy import read_policy
    from postri.web.tokens import read_expiry

    until = read_expiry(expires, read_policy(policy).service.token_days)
    with _tokens(policy) as tokens:
        made = tokens.rotate(number.removeprefix("ptr_"), expires=until)
    if made is None:
        raise _unknown(number)
    _tell(*made)


def _tell(made: Token, text: str) -> None:
    """What was made, in words; then the token alone."""
    end = "until it is revoked"
    if made.expires is not None:
        end = f"until {made.expires}"
        if datetime.fromisoformat(made.expires) <= datetime.now(UTC):
            end += "; that is over already"
    opens = ""
    if made.datasets is not None:
        opens = f" for {', '.join(made.datasets)}"
    typer.echo(
        f"a token for {made.name!r} ({made.role}){opens}, valid {end}. {SHOWN_ONCE}", err=True
    )
    typer.echo(text)


@token.command(name="list")
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
    until = "until revoked"
    if token.revoked:
        until = f"revoked {token.revoked}"
    elif token.expires:
        until = f"until {token.expires}"
    line = f"{token.id}  {token.role:<7}  {token.name}  since {token.created}, {until}"
    if token.allowance is not None:
        line += f"  allowance {token.allowance}"
    if token.datasets is not None:
        line += f"  for {', '.join(token.datasets)}"
    return line


@token.command()
def revoke(number: Id, policy: o.Policy = "postri.toml") -> None:
    """Make a token worthless, now and for good."""
    with _tokens(policy) as tokens:
        if not tokens.revoke(number.removeprefix("ptr_")):
            raise _unknown(number)
    typer.echo(f"revoked {number.removeprefix('ptr_')}", err=True)


def _unknown(number: str) -> InputError:
    return InputError(
        f"there is no token {number[:12]!r}; postri token list shows those that there are"
    )


def _tokens(policy: str) -> Tokens:
    from postri.policy import read_policy
    from postri.web.tokens import Tokens

    return Tokens(read_policy(policy).tokens)
