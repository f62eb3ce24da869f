"""Nobody without a valid token, on no endpoint, before the body is read; no analyst on a steward's
endpoint; nobody sees another's.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from http.client import HTTPConnection

import pytest
from serving import QUESTION, in_thread, write_policy

PAST = datetime(2020, 1, 1, tzinfo=UTC)
ASKING = [
    ("POST", "/v1/query"),
    ("POST", "/v1/price"),
    ("POST", "/v1/plan"),
    *(("GET", f"/v1/{name}") for name in ("statistics", "datasets", "budget", "answers", "me")),
]
STEWARDING = [
    ("GET", "/v1/tokens"),
    ("POST", "/v1/tokens"),
    ("POST", "/v1/tokens/0a1b2c3d/renewal"),
    ("DELETE", "/v1/tokens/0a1b2c3d"),
    ("GET", "/v1/allowances"),
    ("PUT", "/v1/allowances/ann"),
    ("GET", "/v1/ledger"),
    ("POST", "/v1/ledger/verification"),
    ("POST", "/v1/datasets/bank/opening"),
]
ODD = [
    ("GET", "/v1"),
    ("GET", "/v1/"),
    ("GET", "/v1/nothing"),
    ("PATCH", "/v1/query"),
    ("OPTIONS", "/v1/query"),
    ("HEAD", "/v1/me"),
]
HEADERS = {
    "none": {},
    "empty": {"Authorization": ""},
    "another scheme": {"Authorization": "Basic YW5uOnB3"},
    "no token": {"Authorization": "Bearer"},
    "nonsense": {"Authorization": "Bearer ptr_nonsense"},
    "unknown": {"Authorization": "Bearer ptr_00000000_" + "A" * 43},
    "not ASCII": {"Authorization": "Bearer \xff"},
}


def assert_unauthorized(reply, method="GET"):
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == 'Bearer realm="postri"'
    if method != "HEAD":
        assert reply.code == "unauthorized"


def test_every_endpoint_of_the_description_is_among_these(shared):
    paths = shared.get("/openapi.json").json["paths"]
    described = {
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if path.startswith("/v1/")
    }
    places = {"0a1b2c3d": "{id}", "/ann$": "/{analyst}", "/bank/": "/{dataset}/"}
    here = set()
    for method, asked in (*ASKING, *STEWARDING):
        path = asked
        for value, place in places.items():
            path = re.sub(value, place, path)
        here.add((method, path))
    assert described == here


@pytest.mark.parametrize("why", HEADERS)
def test_without_a_valid_token_there_is_nothing(shared, why):
    for method, path in (*ASKING, *STEWARDING, *ODD):
        assert_unauthorized(
            shared.send(method, path, QUESTION if method == "POST" else None, **HEADERS[why]),
            method,
        )


def test_a_token_that_was_valid_is_not_any_more(served):
    expired, revoked = served.token("ann", expires=PAST), served.token("ann")
    assert served.get("/v1/me", revoked).status == 200
    served.tokens.revoke(revoked[4:12])
    for token in (expired, revoked):
        for method, path in (*ASKING, *STEWARDING):
            assert_unauthorized(
                served.send(method, path, QUESTION if method == "POST" else None, token)
            )


def test_two_tokens_at_once_are_none(shared):
    text = (
        f"GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shared.ann}\r\nAuthorization: "
        f"Bearer {shared.sue}\r\n\r\n"
    )
    with shared.raw(text.encode()) as connection:
        assert b" 401 " in connection.recv(100)


def test_the_scheme_is_written_as_anybody_likes(shared):
    assert shared.get("/v1/me", Authorization=f"bEARER  {shared.ann}").status == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 5_000, b"x" * 200_000],
    ids=["empty", "cut", "bytes", "deep", "large"],
)
def test_a_malformed_body_changes_nothing_about_that(shared, body):
    for path in ("/v1/query", "/v1/price", "/v1/tokens"):
        assert_unauthorized(shared.send("POST", path, body))


def test_the_reply_comes_before_the_body_is_read(shared):
    """The head promises a terabyte, and none of it is ever sent."""
    with shared.raw(
        b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n"
    ) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 401 ")


def test_an_analyst_is_no_steward(served):
    for method, path in STEWARDING:
        reply = served.send(
            method,
            path,
            {"name": "eve", "role": "steward"} if method != "GET" else None,
            served.ann,
        )
        assert (reply.status, reply.code) == (403, "forbidden")
    assert [token.name for token in served.tokens.all()] == ["ann", "sue"]


def test_an_analysts_body_is_not_read_on_a_stewards_endpoint(shared):
    head = (
        "POST /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        f"{shared.ann}\r\nContent-Length: 1000\r\n\r\n"
    )
    with shared.raw(head.encode()) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 403 ")


def test_one_sees_ones_own_answers_and_no_others(served):
    bob = served.token("bob")
    asked = served.ask(served.ann).json
    assert [
        each["answer_id"] for each in served.get("/v1/answers", served.ann).json["answers"]
    ] == [asked["answer_id"]]
    assert served.get("/v1/answers", bob).json == {"answers": [], "next": None}
    assert served.get("/v1/answers", served.sue).json == {"answers": [], "next": None}
    own = {
        name: served.get("/v1/budget", token).json["bank"]["own"]
        for name, token in (("ann", served.ann), ("bob", bob))
    }
    assert own == {"ann": "1/2", "bob": "0"}
    assert "analysts" not in served.get("/v1/budget", bob).json["bank"]
    assert served.get("/v1/budget", served.sue).json["bank"]["analysts"] == {
        "ann": {"spent": "1/2", "entries": 2, "allowance": None}
    }


def test_another_token_of_the_same_name_sees_the_same(served):
    asked = served.ask(served.ann).json
    (seen,) = served.get("/v1/answers", served.token("ann")).json["answers"]
    assert seen["answer_id"] == asked["answer_id"] and seen["result"]["rows"] == asked["rows"]


def test_a_retry_key_is_ones_own(served):
    bob, key = served.token("bob"), {"Idempotency_Key": "k"}
    first = served.ask(served.ann, {**QUESTION, "fresh": True}, **key)
    second = served.ask(bob, {**QUESTION, "fresh": True}, **key)
    assert first.status == second.status == 200
    assert first.json["answer_id"] != second.json["answer_id"]


def test_what_needs_no_token(shared):
    assert shared.get("/healthz").json == {"status": "ok"}
    assert shared.get("/readyz").json == {"status": "ready"}
    assert shared.get("/").headers["content-type"] == "text/html; charset=utf-8"
    assert shared.get("/openapi.json").json["openapi"] == "3.1.0"


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/%2e%2e/errors.py",
        "/page//etc/passwd",
        "/page/",
        "/page/nothing.js",
    ],
)
def test_the_page_has_its_files_and_no_others(shared, path):
    assert shared.get(path).code == "not_found"
    assert shared.get("/page/index.html").text == shared.get("/").text


@pytest.mark.parametrize(
    "path", ["/", "/nothing", "/healthz", "/v1/me", "/v1/query", "/openapi.json"]
)
def test_every_reply_is_sealed(shared, path):
    for token in (None, shared.ann):
        reply = shared.get(path, token, X_Request_Id="mine")
        assert re.fullmatch("[0-9a-f]{16}", reply.headers["x-request-id"])
        assert reply.headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'; style-src 'self'; "
        )
        assert (reply.headers["x-content-type-options"], reply.headers["referrer-policy"]) == (
            "nosniff",
            "no-referrer",
        )
        assert reply.headers["cache-control"] == (
            "no-store" if path.startswith("/v1") else "no-cache"
        )
        assert "server" not in reply.headers


def test_problems_carry_no_secret(shared):
    for path in ("/v1/me", "/v1/query"):
        assert shared.ann not in json.dumps(shared.send("POST", path, b"{", shared.ann).json)


def test_a_connection_goes_on_after_a_refusal(shared):
    """What is left of a body that nobody wanted is not taken for the next request."""
    with closing(HTTPConnection("127.0.0.1", shared.port, timeout=60)) as connection:
        for body, token, status in (
            (b"{}", "nonsense", 401),
            (b"x" * 300_000, "nonsense", 401),
            (b"x" * 300_000, shared.ann, 413),
            (b"{", shared.ann, 400),
        ):
            connection.request("POST", "/v1/query", body, {"Authorization": f"Bearer {token}"})
            reply = connection.getresponse()
            assert (reply.status, bool(reply.read())) == (status, True)
        connection.request("GET", "/v1/me", None, {"Authorization": f"Bearer {shared.ann}"})
        assert connection.getresponse().status == 200


class TestScopes:
    """A token that was made for some datasets knows of no others."""

    def test_others_are_not_there(self, served):
        eve = served.token("eve", datasets=["endless"])
        assert served.get("/v1/me", eve).json["datasets"] == ["endless"]
        assert [each["name"] for each in served.get("/v1/datasets", eve).json["datasets"]] == [
            "endless"
        ]
        assert list(served.get("/v1/budget", eve).json) == ["endless"]
        for path in ("/v1/query", "/v1/price"):
            for question in (QUESTION, {"sql": "SELECT COUNT(*) AS n FROM bank", "epsilon": 1}):
                reply = served.send("POST", path, question, eve)
                assert reply.code == "invalid_request"
                assert "there are: 'endless'" in reply.json["detail"]
        assert served.service.ledger.summary() == {}

    def test_an_analyst_without_an_allowance_has_the_policys(self, tmp_path):
        with in_thread(write_policy(tmp_path, service='allowance = "3/4"')) as served:
            assert served.get("/v1/me", served.ann).json["allowance"] == "3/4"
            assert served.ask(served.ann).status == 200
            refused = served.ask(served.ann, {**QUESTION, "fresh": True})
            assert (refused.code, refused.json["remaining"]) == ("budget_exceeded", "1/4")
            rich = served.token("ida", allowance=Fraction(2))
            assert served.get("/v1/me", rich).json["allowance"] == "2"
            assert served.get("/v1/me", served.sue).json["allowance"] is None

    def test_a_steward_renews_a_token(self, served):
        eve = served.token("eve", datasets=["bank"])
        path = f"/v1/tokens/{eve[4:12]}/renewal"
        assert served.send("POST", path, {}, served.ann).status == 403
        made = served.send("POST", path, {"expires": "12h"}, served.sue)
        assert (made.status, made.json["name"], made.json["datasets"]) == (201, "eve", ["bank"])
        assert served.get("/v1/me", eve).status == 401
        assert served.get("/v1/me", made.json["token"]).status == 200
        assert served.send("POST", path, {}, served.sue).code == "invalid_request"
        missing = served.send("POST", "/v1/tokens/ffffffff/renewal", {}, served.sue)
        assert missing.code == "not_found"
