"""The second way to know an analyst: tokens of an issuer, which the test starts. Whatever is wrong
with one, the reply is the same 401.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
import time
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from issuing import AUDIENCE, local_issuer, private_key, public_jwk
from serving import QUESTION, in_thread, write_policy
from test_web_auth import assert_unauthorized

from postri import connect
from postri.errors import PostriError
from postri.policy import read_policy
from postri.policy.model import OidcPolicy
from postri.web import oidc
from postri.web import service as service_module
from postri.web.oidc import Issuer, IssuerKeys, fetch_keys


@pytest.fixture
def issuer():
    with local_issuer() as found:
        yield found


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A service, and the issuer that it knows: for what leaves nothing behind."""
    with local_issuer() as issuer:
        path = write_policy(tmp_path_factory.mktemp("oidc"), service=table(issuer))
        with in_thread(path) as served:
            yield served, issuer


def table(issuer, more="", service=""):
    """The policy's table, at the end of [service]."""
    return (
        f'rate = 1000000\ntime_grid = 0\n{service}\n[service.oidc]\nissuer = "{issuer.url}"\n'
        f'audience = "{AUDIENCE}"\n{more}\n'
    )


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


def verifier(issuer, clock=None, **policy):
    """What verifies, without a service around it."""
    told = []
    keys = IssuerKeys(partial(fetch_keys, issuer.url), told.append, clock or time.monotonic)
    found = Issuer(OidcPolicy(issuer.url, AUDIENCE, **policy), keys)
    return SimpleNamespace(verify=found.verify, told=told)


def part(fields):
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=")


def by_hand(header, claims, sign=lambda text: b""):
    """A token that no library would make."""
    text = part(header) + b"." + part(claims)
    return (text + b"." + base64.urlsafe_b64encode(sign(text)).rstrip(b"=")).decode()


@pytest.mark.slow
class TestService:
    def test_an_analyst_of_the_issuer_asks_and_is_known_by_name(self, both):
        served, issuer = both
        with connect(f"http://127.0.0.1:{served.port}", token=issuer.token()) as db:
            assert db.analyst == "ann"
            assert db.median("bank", "x", epsilon="1/2").epsilon == Fraction(1, 2)
        # Tokens stay; and the same name is the same analyst.
        assert served.get("/v1/budget", served.ann).json["bank"]["own"] == "1/2"
        me = served.get("/v1/me", issuer.token(sub="bob")).json
        assert (me["name"], me["role"], me["datasets"]) == ("bob", "analyst", None)

    def test_no_token_of_the_issuer_is_a_stewards(self, both):
        served, issuer = both
        token = issuer.token(sub="sue", role="steward", roles=["steward"])
        assert served.get("/v1/tokens", token).status == 403
        assert served.get("/v1/tokens", served.sue).status == 200

    def test_an_allowance_is_the_names(self, both):
        served, issuer = both
        served.tokens.allow("eve", Fraction(1, 4))
        token = issuer.token(sub="eve")
        assert served.get("/v1/me", token).json["allowance"] == "1/4"
        assert served.ask(token, {**QUESTION, "epsilon": "1/3"}).code == "budget_exceeded"

    def test_every_wrong_token_has_the_same_reply(self, both):
        """The bytes too, but for the request's id."""
        served, issuer = both
        seen = set()
        for token in wrong_tokens(issuer).values():
            reply = served.get("/v1/me", token)
            assert_unauthorized(reply)
            fields = {**reply.json, "request_id": ""}
            seen.add(json.dumps(fields))
        seen.add(json.dumps({**served.get("/v1/me", "ptr_no").json, "request_id": ""}))
        assert len(seen) == 1

    def test_its_datasets_are_all_that_it_opens(self, issuer, tmp_path):
        path = write_policy(tmp_path, service=table(issuer, 'datasets = ["endless"]'))
        with in_thread(path) as served:
            token = issuer.token()
            known = served.get("/v1/datasets", token).json
            assert [each["name"] for each in known["datasets"]] == ["endless"]
            assert served.ask(token, QUESTION).status == 400

    def test_the_rate_is_each_persons(self, issuer, tmp_path):
        lines = table(issuer).replace("rate = 1000000", "rate = 2")
        with in_thread(write_policy(tmp_path, service=lines)) as served:
            ann = [served.get("/v1/me", issuer.token(jti=str(n))).status for n in range(3)]
            assert ann == [200, 200, 429]
            assert served.get("/v1/me", issuer.token(sub="bob")).status == 200


def wrong_tokens(issuer):
    """Attacks, by name: each is refused."""
    now = int(time.time())
    good = issuer.token()
    head, body, signature = good.split(".")
    claims = issuer.claims()
    public = issuer.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    other = private_key("RS256", 1)

    def mac(secret):
        return lambda text: hmac.new(secret, text, hashlib.sha256).digest()

    own = public_jwk(other, "RS256", "first")
    return {
        "nothing": "",
        "one dot": "a.b",
        "nonsense": "a.b.c",
        "long": "a." * 20_000,
        "nested": f"{base64.urlsafe_b64encode(b'[' * 9_000).decode()}.{body}.{signature}",
        "no signature": f"{head}.{body}.",
        "another signature": f"{head}.{body}.{signature[:-8]}AAAAAAAA",
        "another body": f"{head}.{part(issuer.claims(sub='eve')).decode()}.{signature}",
        "alg none": by_hand({"alg": "none", "kid": "first"}, claims),
        "alg None": by_hand({"alg": "None", "kid": "first"}, claims),
        "no alg": by_hand({"kid": "first"}, claims),
        "alg a list": by_hand({"alg": ["RS256"], "kid": "first"}, claims),
        "public key as a secret": by_hand({"alg": "HS256", "kid": "first"}, claims, mac(public)),
        "empty secret": by_hand({"alg": "HS256", "kid": "first"}, claims, mac(b"")),
        "another key of the same id": jwt.encode(claims, other, "RS256", {"kid": "first"}),
        "its own key": jwt.encode(claims, other, "RS256", {"kid": "first", "jwk": own}),
        "a key from elsewhere": jwt.encode(
            claims, other, "RS256", {"kid": "x", "jku": f"{issuer.url}/keys"}
        ),
        "an algorithm that is not allowed": jwt.encode(
            claims, issuer.key, "RS512", {"kid": "first"}
        ),
        "an id that is no text": jwt.encode(claims, other, "RS256", {"x": 1}),
        "a critical extension": issuer.token({"crit": ["b64"], "b64": True}),
        "over": issuer.token(exp=now - 31, iat=now - 400),
        "not yet": issuer.token(nbf=now + 60),
        "made later": issuer.token(iat=now + 60),
        "no end": issuer.token(exp=None),
        "no start": issuer.token(iat=None),
        "an end that is no number": by_hand({"alg": "RS256"}, {**claims, "exp": "never"}),
        "for somebody else": issuer.token(aud="another"),
        "for nobody": issuer.token(aud=None),
        "of another issuer": issuer.token(iss="https://login.example.org"),
        "of an issuer that begins so": issuer.token(iss=issuer.url + "0"),
        "of no issuer": issuer.token(iss=None),
        "of nobody": issuer.token(sub=None),
        "an empty name": issuer.token(sub=""),
        "a name that cannot be printed": issuer.token(sub="ann\n"),
        "a name with a space around": issuer.token(sub=" ann"),
        "a name of 201 characters": issuer.token(sub="a" * 201),
    }


class TestClaims:
    def test_a_good_token_is_its_analysts(self, issuer):
        found = verifier(issuer).verify(issuer.token())
        assert (found.name, found.role, found.revoked) == ("ann", "analyst", None)
        assert found.id.startswith("oidc-") and found.expires > found.created

    def test_whatever_is_wrong_it_is_no_token(self, issuer):
        verify = verifier(issuer).verify
        assert verify(issuer.token()) is not None
        found = {what: verify(token) for what, token in wrong_tokens(issuer).items()}
        assert {what for what, token in found.items() if token is not None} == set()

    def test_clocks_may_differ_by_the_leeway(self, issuer):
        now = int(time.time())
        late = issuer.token(exp=now - 20)
        assert verifier(issuer).verify(late) is not None
        assert verifier(issuer, leeway=Fraction(10)).verify(late) is None

    def test_the_audience_may_be_one_of_several(self, issuer):
        assert verifier(issuer).verify(issuer.token(aud=["x", AUDIENCE])) is not None

    @pytest.mark.parametrize("algorithm", ["ES256", "EdDSA"])
    def test_other_algorithms_if_the_policy_names_them(self, issuer, algorithm):
        issuer.use(algorithm, "other")
        assert verifier(issuer, algorithms=(algorithm,)).verify(issuer.token()) is not None
        assert verifier(issuer, algorithms=("PS256",)).verify(issuer.token()) is None

    def test_another_claim_is_the_name(self, issuer):
        verify = verifier(issuer, name="preferred_username").verify
        assert verify(issuer.token(preferred_username="ann b")).name == "ann b"
        assert verify(issuer.token()) is None
        assert verify(issuer.token(preferred_username=["ann"])) is None

    def test_an_address_must_be_verified(self, issuer):
        verify = verifier(issuer, name="email").verify
        address = "ann@example.org"
        assert verify(issuer.token(email=address, email_verified=True)).name == address
        for given in (False, None, "true"):
            assert verify(issuer.token(email=address, email_verified=given)) is None

    def test_a_group_may_be_required(self, issuer):
        verify = verifier(issuer, required={"groups": "lab"}).verify
        assert verify(issuer.token(groups=["x", "lab"])) is not None
        assert verify(issuer.token(groups="lab")) is not None
        for groups in ("laboratory", ["LAB"], {"lab": 1}, None, 7):
            assert verify(issuer.token(groups=groups)) is None


class TestKeys:
    def test_they_are_fetched_once(self, issuer):
        found = verifier(issuer)
        assert all(found.verify(issuer.token(sub=name)) for name in ("ann", "bob", "eve"))
        assert issuer.asked["/keys"] == 1 and found.told == ["fetched"]

    def test_a_new_key_is_found_at_once_and_an_old_one_forgotten(self, issuer):
        clock = Clock()
        found = verifier(issuer, clock)
        old = issuer.token()
        assert found.verify(old) is not None
        clock.now += oidc.PAUSE
        issuer.use("RS256", "second", 1)
        assert found.verify(issuer.token()) is not None
        assert found.verify(old) is None

    def test_a_key_that_was_taken_back_is_worthless_soon(self, issuer):
        clock = Clock()
        found = verifier(issuer, clock)
        old = issuer.token()
        assert found.verify(old) is not None
        issuer.keys = []
        clock.now += oidc.FRESH - 1
        assert found.verify(old) is not None
        clock.now += 1
        assert found.verify(old) is None

    def test_unknown_keys_do_not_make_it_ask_again_and_again(self, issuer):
        clock = Clock()
        found = verifier(issuer, clock)
        for number in range(50):
            assert found.verify(issuer.token({"kid": f"x{number}"})) is None
        assert issuer.asked["/keys"] == 1
        clock.now += oidc.PAUSE
        assert found.verify(issuer.token({"kid": "y"})) is None
        assert issuer.asked["/keys"] == 2

    def test_an_issuer_that_is_down_is_waited_for_a_while(self, issuer):
        clock = Clock()
        found = verifier(issuer, clock)
        token = issuer.token()
        assert found.verify(token) is not None
        issuer.is_down = True
        clock.now += oidc.KEPT - 1
        assert found.verify(token) is not None
        clock.now += oidc.PAUSE
        assert found.verify(token) is None
        issuer.is_down = False
        clock.now += oidc.PAUSE
        assert found.verify(token) is not None
        assert found.told == ["fetched", "failed", "failed", "fetched"]

    def test_without_an_id_there_must_be_one_key(self, issuer):
        issuer.use("RS256", None)
        found = verifier(issuer)
        assert found.verify(issuer.token()) is not None
        issuer.keys.append(public_jwk(private_key("RS256", 1), "RS256", None))
        assert verifier(issuer).verify(issuer.token()) is None

    def test_keys_for_other_ends_are_not_for_signatures(self, issuer):
        for members in ({"use": "enc"}, {"alg": "RS512"}, {"d": "AQAB"}, {"kty": "oct", "k": "AA"}):
            issuer.use("RS256", "first", **members)
            assert verifier(issuer).verify(issuer.token()) is None, members

    @pytest.mark.parametrize(
        "told",
        [
            {"issuer": "https://login.example.org"},
            {"jwks_uri": "http://login.example.org/keys"},
            {"jwks_uri": "file:///etc/passwd"},
            {"jwks_uri": 7},
            {"jwks_uri": None},
        ],
    )
    def test_an_issuer_that_is_not_itself_has_no_keys(self, issuer, told):
        issuer.told = told
        found = verifier(issuer)
        assert found.verify(issuer.token()) is None and found.told == ["failed"]

    def test_it_is_not_followed_elsewhere(self, issuer):
        issuer.told = {"jwks_uri": f"{issuer.url}/moved"}
        found = verifier(issuer)
        assert found.verify(issuer.token()) is None and found.told == ["failed"]
        assert issuer.asked["/keys"] == 0

    def test_a_reply_without_end_is_not_read(self, issuer, monkeypatch):
        monkeypatch.setattr(oidc, "LONGEST_REPLY", 10)
        found = verifier(issuer)
        assert found.verify(issuer.token()) is None and found.told == ["failed"]


class TestPolicy:
    def test_every_key_means_what_it_says(self, tmp_path):
        lines = """
issuer = "https://login.example.org/lab"
audience = "postri"
name = "email"
algorithms = ["ES256"]
leeway = 5
datasets = ["bank"]
required = { groups = "lab" }
"""
        path = tmp_path / "postri.toml"
        write_policy(tmp_path)
        path.write_text(path.read_text().replace("time_grid = 0", f"[service.oidc]{lines}"))
        assert read_policy(path).service.oidc == OidcPolicy(
            "https://login.example.org/lab",
            "postri",
            "email",
            ("ES256",),
            Fraction(5),
            {"groups": "lab"},
            ("bank",),
        )

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ("", "issuer is missing"),
            ('issuer = "https://x.org"', "audience is missing"),
            ('issuer = "http://login.example.org"\naudience = "p"', "issuer must be the address"),
            ('issuer = "https://a@x.org"\naudience = "p"', "issuer must be the address"),
            ('issuer = "https://x.org?a=1"\naudience = "p"', "issuer must be the address"),
            ('issuer = "https://x.org:port"\naudience = "p"', "issuer must be the address"),
            ('issuer = "https://x.org"\naudience = "p"\nalgorithms = ["none"]', "'none'"),
            ('issuer = "https://x.org"\naudience = "p"\nalgorithms = ["HS256"]', "'HS256'"),
            ('issuer = "https://x.org"\naudience = "p"\ndatasets = ["bonk"]', "mean 'bank'"),
            ('issuer = "https://x.org"\naudience = "p"\nsecret = "x"', "no key 'secret'"),
        ],
    )
    def test_what_is_wrong_is_told(self, tmp_path, lines, words):
        path = write_policy(tmp_path)
        text = path.read_text().replace("time_grid = 0", f"[service.oidc]\n{lines}")
        path.write_text(text)
        with pytest.raises(PostriError, match=words):
            read_policy(path)

    def test_a_missing_library_prints_its_install_line(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "jwt", None)
        monkeypatch.delitem(sys.modules, "postri.web.oidc")
        with pytest.raises(PostriError, match=r"pip install 'postri\[oidc\]'"):
            service_module._issuer(OidcPolicy("https://x.org", "p"), print)
