"""The second way to know an analyst: tokens that an issuer of OpenID Connect has signed.

A token is a text that only the issuer can have made: its signature fits a public key of the issuer,
by an algorithm that the policy names, and its claims say that it is from this issuer, for this
service and for now. One claim is the name of the analyst; stewards have tokens of the service.
Whatever is wrong with a text, it is no token, and nothing is told of why.

Keys are fetched when they are needed, and kept. A key that the issuer takes back is worthless here
after `FRESH` seconds; after `KEPT` if the issuer cannot be reached meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from threading import Lock
from time import monotonic
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

import jwt

from postri.policy.model import OidcPolicy
from postri.policy.values import is_safe_url
from postri.web.logs import log_failure
from postri.web.tokens import Token, check_analyst, moment_text

Jwk = Mapping[str, Any]

DISCOVERY = "/.well-known/openid-configuration"
# In seconds: how long keys are taken for the issuer's; how long they are kept while it cannot be
# reached; how long it is not asked again, however many unknown keys are named; how long it may
# take to say something.
FRESH = 300.0
KEPT = 3600.0
PAUSE = 10.0
PATIENCE = 5.0
LONGEST_REPLY = 1 << 20
LONGEST_TOKEN = 16_384
# Members of a key that only its owner should have.
SECRET_MEMBERS = ("d", "k")
NEEDED = ("exp", "iat", "iss", "aud", "sub")
DECODER = jwt.PyJWT(options={"enforce_minimum_key_length": True})


class NoToken(Exception):  # noqa: N818  # it says what a text is
    """A text that is no token of the issuer's. It is told to nobody."""


class _NoRedirect(HTTPRedirectHandler):
    """The issuer is where the policy says, and nowhere else."""

    def redirect_request(self, *given: Any, **named: Any) -> None:
        return None


def fetch_json(url: str) -> Any:
    """What is there, if it is JSON of a reasonable size."""
    if not is_safe_url(url):
        raise ValueError("keys come over TLS, or from this machine")
    request = Request(url, headers={"Accept": "application/json"})
    with build_opener(_NoRedirect).open(request, timeout=PATIENCE) as reply:
        content = reply.read(LONGEST_REPLY + 1)
    if len(content) > LONGEST_REPLY:
        raise ValueError("the reply is too long")
    return json.loads(content)


def fetch_keys(issuer: str, fetch: Callable[[str], Any] = fetch_json) -> Sequence[Jwk]:
    """The public keys by which the issuer signs, as it tells them itself."""
    found = fetch(issuer.rstrip("/") + DISCOVERY)
    if found["issuer"] != issuer:
        raise ValueError("the issuer calls itself by another name")
    return [key for key in fetch(found["jwks_uri"])["keys"] if _can_verify(key)]


def _can_verify(key: Any) -> bool:
    """Whether it is a public key for signatures."""
    if not isinstance(key, dict) or any(member in key for member in SECRET_MEMBERS):
        return False
    return key.get("kty") != "oct" and key.get("use", "sig") == "sig"


class IssuerKeys:
    """The keys of an issuer, shared by threads. `told` hears whether fetching them went well."""

    def __init__(
        self,
        fetch: Callable[[], Sequence[Jwk]],
        told: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._fetch = fetch
        self._told = told
        self._clock = clock
        self._lock = Lock()
        self._keys: Sequence[Jwk] = ()
        self._fetched = -KEPT
        self._tried = -KEPT

    def matching(self, kid: object, algorithm: str) -> jwt.PyJWK:
        """The key of this id, for this algorithm; NoToken if there is none."""
        with self._lock:
            if self._clock() - self._fetched >= FRESH:
                self._renew()
            key = self._find(kid, algorithm)
            if key is None:
                # The issuer may have a new one.
                self._renew()
                key = self._find(kid, algorithm)
        if key is None:
            raise NoToken
        return jwt.PyJWK(dict(key), algorithm)

    def _find(self, kid: object, algorithm: str) -> Jwk | None:
        fitting = [key for key in self._keys if key.get("alg", algorithm) == algorithm]
        if kid is not None:
            fitting = [key for key in fitting if key.get("kid") == kid]
        # Without an id there is nothing to choose by.
        if len(fitting) != 1:
            return None
        return fitting[0]

    def _renew(self) -> None:
        now = self._clock()
        if now - self._tried < PAUSE:
            return
        self._tried = now
        try:
            self._keys = self._fetch()
        except Exception as error:
            # Whatever the issuer does: those who have other tokens go on.
            log_failure(error, about="oidc")
            self._told("failed")
            if now - self._fetched >= KEPT:
                self._keys = ()
            return
        self._told("fetched")
        self._fetched = now


class Issuer:
    """Verifies tokens of one issuer."""

    def __init__(self, policy: OidcPolicy, keys: IssuerKeys) -> None:
        self._policy = policy
        self._keys = keys

    def verify(self, text: str) -> Token | None:
        """The analyst whom the issuer vouches for, without an allowance; None if the text is no
        token of its.
        """
        if len(text) > LONGEST_TOKEN:
            return None
        try:
            return self._token(self._claims(text))
        except Exception:
            # Whatever a stranger's text does to those who read it, it is no token.
            return None

    def _claims(self, text: str) -> dict[str, Any]:
        policy = self._policy
        header = jwt.get_unverified_header(text)
        algorithm = header.get("alg")
        # What the token says of itself only picks among what the policy allows.
        if algorithm not in policy.algorithms or "crit" in header:
            raise NoToken
        return DECODER.decode(
            text,
            self._keys.matching(header.get("kid"), algorithm),
            algorithms=[algorithm],
            audience=policy.audience,
            issuer=policy.issuer,
            leeway=float(policy.leeway),
            options={"require": list(NEEDED)},
        )

    def _token(self, claims: Mapping[str, Any]) -> Token:
        policy = self._policy
        name = claims.get(policy.name)
        check_analyst(name)
        # Whoever may write any address into a form is not its owner.
        if policy.name == "email" and claims.get("email_verified") is not True:
            raise NoToken
        for claim, value in policy.required.items():
            if not _has(claims.get(claim), value):
                raise NoToken
        who = f"{policy.issuer}\0{claims['sub']}"
        return Token(
            id=f"oidc-{sha256(who.encode()).hexdigest()[:16]}",
            name=str(name),
            role="analyst",
            created=moment_text(datetime.fromtimestamp(claims["iat"], UTC)),
            expires=moment_text(datetime.fromtimestamp(claims["exp"], UTC)),
            revoked=None,
            datasets=policy.datasets,
            allowance=None,
        )


def _has(claim: object, value: str) -> bool:
    if isinstance(claim, list):
        return value in claim
    return claim == value
