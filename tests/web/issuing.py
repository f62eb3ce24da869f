"""An issuer of OpenID Connect on this machine: it tells its keys, and signs what a test wants."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "postri"
WRITERS = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


@cache
def private_key(algorithm: str, number: int = 0) -> Any:
    """A key for this algorithm; another one for another number. Made once, for it takes a while."""
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: Any, algorithm: str, kid: str | None, **members: Any) -> dict[str, Any]:
    """The public half, as an issuer tells it."""
    found = WRITERS[algorithm].to_jwk(key.public_key(), as_dict=True)
    if kid is not None:
        found["kid"] = kid
    return {**found, "use": "sig", "alg": algorithm, **members}


class LocalIssuer:
    """Where it is, what it tells, and how often it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: list[dict[str, Any]] = []
        self.asked: Counter[str] = Counter()
        # What it says of itself, if a test wants another thing than the truth.
        self.told: dict[str, Any] = {}
        self.is_down = False
        self.use("RS256", "first")

    def use(self, algorithm: str, kid: str | None, number: int = 0, **members: Any) -> None:
        """Sign by this key alone from here on."""
        self.algorithm, self.kid = algorithm, kid
        self.key = private_key(algorithm, number)
        self.keys = [public_jwk(self.key, algorithm, kid, **members)]

    def claims(self, **claims: Any) -> dict[str, Any]:
        """What a good token says; None takes a claim away."""
        now = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 300}
        return {name: value for name, value in {**usual, **claims}.items() if value is not None}

    def token(self, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token that is good, but for what is said otherwise."""
        heads = {"kid": self.kid, **(headers or {})}
        heads = {name: value for name, value in heads.items() if value is not None}
        return jwt.encode(self.claims(**claims), self.key, self.algorithm, heads)

    def reply(self, path: str) -> tuple[int, Any]:
        self.asked[path] += 1
        if self.is_down:
            return 500, {}
        if path == "/.well-known/openid-configuration":
            usual = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
            return 200, {**usual, **self.told}
        if path == "/keys":
            return 200, {"keys": self.keys}
        if path == "/moved":
            return 302, {}
        return 404, {}


@contextmanager
def local_issuer() -> Iterator[LocalIssuer]:
    """One that listens for the time of a block."""
    issuer = LocalIssuer()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, fields = issuer.reply(self.path)
            content = json.dumps(fields).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{issuer.url}/keys")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *given: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield issuer
        finally:
            server.shutdown()
