"""The OpenAPI description says what the service does: every reply has the shape that it promises,
and every example too.
"""

from __future__ import annotations

import pytest
from serving import QUESTION, SLOW, in_thread, write_policy

from postri.web import refusals, schemas
from postri.web.described import ALWAYS

OPERATIONS = {
    ("post", "/v1/query"): schemas.Answered,
    ("post", "/v1/price"): schemas.Priced,
    ("get", "/v1/datasets"): schemas.Datasets,
    ("get", "/v1/answers"): schemas.History,
    ("get", "/v1/me"): schemas.Me,
    ("get", "/v1/tokens"): schemas.TokenList,
    ("post", "/v1/tokens"): schemas.MadeToken,
    ("get", "/v1/allowances"): schemas.Allowances,
    ("put", "/v1/allowances/{analyst}"): schemas.SetAllowance,
    ("get", "/v1/ledger"): schemas.Trail,
    ("get", "/healthz"): schemas.State,
    ("get", "/readyz"): schemas.State,
}
BODIES = {
    "/v1/query": QUESTION,
    "/v1/price": QUESTION,
    "/v1/tokens": {"name": "eve", "role": "analyst"},
    "/v1/allowances/{analyst}": {"allowance": 1},
}


@pytest.fixture(scope="module")
def description(shared):
    return shared.get("/openapi.json").json


def operations(description):
    return [
        (method, path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]


def references(part):
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for each in part.values():
            yield from references(each)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


def test_every_reference_leads_somewhere(description):
    known = description["components"]["schemas"]
    assert {
        reference.removeprefix("#/components/schemas/") for reference in references(description)
    } <= set(known)
    assert description["openapi"] == "3.1.0"


def test_every_operation_has_examples_of_all_that_may_come(description):
    for method, path, operation in operations(description):
        statuses = operation["responses"]
        if path.startswith("/v1/"):
            assert {str(refusals.STATUSES[code]) for code in ALWAYS} <= set(statuses), (
                method,
                path,
            )
            assert operation["security"] == [{"token": []}]
        for status, reply in statuses.items():
            assert status == "204" or all(
                content["examples"] for content in reply["content"].values()
            ), (method, path, status)
            assert (int(status) < 400) or list(reply["content"]) == ["application/problem+json"]
        assert (
            "requestBody" not in operation
            or operation["requestBody"]["content"]["application/json"]["examples"]
        )


def test_every_code_is_documented_somewhere(description):
    told = {
        example["value"]["code"]
        for _, _, operation in operations(description)
        for status, reply in operation["responses"].items()
        if int(status) >= 400
        for content in reply["content"].values()
        for example in content["examples"].values()
    }
    # These two belong to no operation: to an address and a method that there are not.
    assert told | {"method_not_allowed"} == set(refusals.TITLES) == set(refusals.STATUSES)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_replies_and_examples_have_the_shape(shared, description, method, path):
    model = OPERATIONS[method, path]
    reply = shared.send(
        method.upper(),
        path.replace("{analyst}", "eve"),
        BODIES.get(path) if method != "get" else None,
        shared.sue,
    )
    assert reply.status in (200, 201), reply.json
    assert set(reply.json) == set(model.model_fields)
    model.model_validate(reply.json)
    content = description["paths"][path][method]["responses"][str(reply.status)]["content"][
        "application/json"
    ]
    for example in content["examples"].values():
        model.model_validate(example["value"])
        assert set(example["value"]) == set(model.model_fields)


def test_budgets_have_the_shape(shared, description):
    shared.ask(shared.ann)
    for token in (shared.ann, shared.sue):
        for each in shared.get("/v1/budget", token).json.values():
            schemas.DatasetBudgetShape.model_validate(each)
    reply = description["paths"]["/v1/budget"]["get"]["responses"]["200"]["content"][
        "application/json"
    ]
    for each in reply["examples"]["usual"]["value"].values():
        schemas.DatasetBudgetShape.model_validate(each)


def test_examples_of_problems_have_the_shape(description):
    for _, _, operation in operations(description):
        for status, reply in operation["responses"].items():
            for example in (
                reply.get("content", {})
                .get("application/problem+json", {})
                .get("examples", {})
                .values()
            ):
                assert schemas.Problem.model_validate(example["value"]).status == int(status)


def test_real_problems_have_the_shape_and_are_documented(tmp_path):
    with in_thread(write_policy(tmp_path, service="scan_timeout = 0.1")) as served:
        documented = served.get("/openapi.json").json["paths"]["/v1/query"]["post"]["responses"]
        for question in ({}, {**QUESTION, "epsilon": 50}, SLOW):
            reply = served.ask(served.ann, question)
            schemas.Problem.model_validate(reply.json)
            assert (
                reply.code
                in documented[str(reply.status)]["content"]["application/problem+json"]["examples"]
            )
