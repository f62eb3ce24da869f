"""Running the service: where it listens, and how it ends."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from ipaddress import ip_address
from types import FrameType

import uvicorn

from postri.errors import InputError, PostriError
from postri.policy import Policy
from postri.web import logs
from postri.web.app import create_app
from postri.web.connections import FIRST_HEADERS, NEXT_HEADERS, guarded
from postri.web.metrics import PATH, told_by
from postri.web.scans import GRACE
from postri.web.service import Service
from postri.web.tokens import Tokens


class Server(uvicorn.Server):
    """Ends in order: running questions are finished, or else accounted for.

    A second signal ends it at once.
    """

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready
        self._watches: list[asyncio.Task[None]] = []

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops it, the second does not wait."""
        if self.should_exit:
            os._exit(128 + sig)
        self._service.scans.stop()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        if self.config.ssl is not None:
            # uvicorn has no word for it: a client that is silent would hold a connection for a
            # minute before any of ours is made.
            loop = asyncio.get_running_loop()
            hurried = partial(loop.create_server, ssl_handshake_timeout=FIRST_HEADERS)
            loop.create_server = hurried  # type: ignore[method-assign]  # see above
        await super().startup(sockets)
        self._watches = [asyncio.create_task(each) for each in self._service.watches()]
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the questions that are here, then cancel those that are left."""
        logs.log("shutdown")
        patience = float(self._service.policy.service.shutdown_timeout)
        later = asyncio.get_running_loop().call_later(patience, self._service.cut_off)
        await super().shutdown(sockets)
        later.cancel()
        for watch in self._watches:
            watch.cancel()


def serve(
    policy: Policy,
    host: str,
    port: int,
    *,
    certificate: str | None = None,
    private_key: str | None = None,
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Serve the policy until a signal ends it."""
    listener = _bound(host, port)
    address, port = listener.getsockname()[:2]
    # An IPv6 address may name its interface after a percent sign.
    is_loopback = ip_address(address.partition("%")[0]).is_loopback
    if not is_loopback and certificate is None:
        warn(
            "this address can be reached from other machines, and without TLS everybody on "
            "the way can read tokens and answers"
        )
    url = _url(address, port, certificate)
    with policy.open_ledger() as ledger, Tokens(policy.tokens) as tokens:
        for text in ledger.warnings():
            warn(text)
        if not tokens.all():
            warn(
                "there are no tokens yet: make the first with 'postri token add NAME --role "
                "steward'"
            )
        service = Service(policy, ledger, tokens)
        with closing(service), _told_counters(service) as counters:
            config = _config(service, certificate, private_key)
            logs.configure()
            # The first question does not wait until a process has started.
            service.workers.warm(1)

            def ready() -> None:
                for words in (f"listening on {url}", *counters):
                    say(f"postri: {words}")

            server = Server(config, service, ready)
            server.run([listener])
            _leave(service)


@contextmanager
def _told_counters(service: Service) -> Iterator[list[str]]:
    """Counters at the address that the policy names, if it does; yields what to say of it."""
    address = service.policy.service.metrics
    if address is None:
        yield []
        return
    listener = _bound(*address, "metrics in the policy's table [service]")
    host, port = listener.getsockname()[:2]
    with told_by(listener, service.metrics):
        yield [f"counters at {_url(host, port, None)}{PATH}"]


def _url(address: str, port: int, certificate: str | None) -> str:
    scheme = "https"
    if certificate is None:
        scheme = "http"
    if ":" in address:
        address = f"[{address}]"
    return f"{scheme}://{address}:{port}"


def _config(service: Service, certificate: str | None, private_key: str | None) -> uvicorn.Config:
    config = uvicorn.Config(
        create_app(service),
        http=guarded(service.policy.service.connections),
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=int(NEXT_HEADERS),
        timeout_graceful_shutdown=int(service.policy.service.shutdown_timeout + 2 * int(GRACE)),
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
    )
    try:
        config.load()
    except (OSError, ValueError):
        raise InputError(
            "the certificate or its private key cannot be read: name two PEM files that "
            "belong together"
        ) from None
    return config


def _bound(host: str, port: int, where: str = "--host and --port") -> socket.socket:
    """A socket at this address."""
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        words = getattr(error, "strerror", None) or type(error).__name__
        raise PostriError(
            f"cannot listen on {host!r} port {port} ({words}): choose another with {where}"
        ) from None
    return listener


def _leave(service: Service) -> None:
    """End although a thread may be stuck in its database: its reservation stays open, and counts as
    spent.
    """
    if service.scans.running:
        sys.stderr.flush()
        os._exit(1)
