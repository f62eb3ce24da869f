"""`postri serve`: a policy's datasets behind HTTP, for a team."""

from __future__ import annotations

from typing import Annotated

import typer

from postri.errors import InputError, missing_extra

Served = Annotated[
    str, typer.Argument(metavar="POLICY", envvar="POSTRI_POLICY", help="The steward's file.")
]
Policy = Annotated[
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
    policy: Policy = None,
) -> None:
    """Serve the datasets of a policy over HTTP, with a page."""
    from postri.policy import read_policy

    if (certificate is None) != (private_key is None):
        raise InputError("TLS needs both --certificate and --private-key")
    found = read_policy(policy or served)
    try:
        from postri.web import server
    except ModuleNotFoundError as error:
        raise missing_extra(
            "The service", (error.name or "fastapi").partition(".")[0], "web"
        ) from None
    server.serve(
        found,
        host if host is not None else found.service.host,
        port if port is not None else found.service.port,
        certificate=certificate,
        private_key=private_key,
        say=_say,
        warn=lambda words: typer.echo(f"postri: {words}", err=True),
    )


def _say(words: str) -> None:
    typer.echo(words)
