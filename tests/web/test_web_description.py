"""The OpenAPI description says what the service does: every reply has the shape that it promises,
and every example too.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import pytest
from serving import QUESTION, SLOW, in_thread, write_policy

from postri.web import refusals
from postri.web.description import ALWAYS
from postri.web.schema import Schemas

OPERATIONS = [
    ("post", "/v1/query"),
    ("post", "/v1/price"),
    ("post", "/v1/plan"),
    ("get", "/v1/statistics"),
    ("get", "/v1/datasets"),
    ("get", "/v1/budget"),
    ("get", "/v1/answers"),
    ("get", "/v1/me"),
    ("get", "/v1/tokens"),
    ("post", "/v1/tokens"),
    ("get", "/v1/allowances"),
    ("put", "/v1/allowances/{analyst}"),
    ("get", "/v1/ledger"),
    ("post", "/v1/ledger/verification"),
    ("post", "/v1/datasets/{dataset}/opening"),
    ("get", "/healthz"),
    ("get", "/readyz"),
]
BODIES = {
    "/v1/query": QUESTION,
    "/v1/price": QUESTION,
    "/v1/plan": {"questions": [QUESTION]},
    "/v1/tokens": {"name": "eve", "role": "analyst"},
    "/v1/tokens/{id}/renewal": {"expires": "12h"},
    "/v1/allowances/{analyst}": {"allowance": 1},
    "/v1/ledger/verification": {"head": "3 0123456789abcdef"},
}
PYTHON = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
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


def faults(
    value: Any, schema: dict[str, Any], named: dict[str, Any], place: str = "$"
) -> list[str]:
    """What about a value is not as its schema says; a name that no shape has is a fault too."""
    if "$ref" in schema:
        schema = named[schema["$ref"].removeprefix("#/components/schemas/")]
    if "anyOf" in schema:
        tried = [faults(value, each, named, place) for each in schema["anyOf"]]
        return min(tried, key=len)
    if "type" not in schema:
        return []
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, PYTHON[schema["type"]]) or (
        schema["type"] in ("integer", "number") and not is_number
    ):
        return [f"{place} is not of type {schema['type']}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{place} is none of {schema['enum']}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{place} does not match {schema['pattern']}")
    for number, item in enumerate(value if isinstance(value, list) else []):
        found += faults(item, schema["items"], named, f"{place}[{number}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [
            f"{place}.{name} is missing" for name in schema.get("required", []) if name not in value
        ]
        for name, each in value.items():
            if name in properties:
                found += faults(each, properties[name], named, f"{place}.{name}")
            elif schema.get("additionalProperties", False) is not False:
                found += faults(each, schema["additionalProperties"], named, f"{place}.{name}")
            else:
                found.append(f"{place}.{name} is not described")
    return found


def test_every_reference_leads_somewhere(description):
    known = description["components"]["schemas"]
    assert {
        reference.removeprefix("#/components/schemas/") for reference in references(description)
    } <= set(known)
    assert description["openapi"] == "3.1.0"


def test_every_operation_is_tried_here(description):
    told = {(method, path) for method, path, _ in operations(description)}
    # The ids of tokens are not known before: the tests of tokens ask these two.
    by_id = {("delete", "/v1/tokens/{id}"), ("post", "/v1/tokens/{id}/renewal")}
    assert told - by_id == set(OPERATIONS)


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
    named = description["components"]["schemas"]
    for token in (shared.ann, shared.sue):
        reply = shared.send(
            method.upper(),
            path.replace("{analyst}", "eve").replace("{dataset}", "bank"),
            BODIES.get(path) if method != "get" else None,
            token,
        )
        if token is shared.ann and reply.status == 403:
            continue
        assert reply.status in (200, 201), reply.json
        content = description["paths"][path][method]["responses"][str(reply.status)]["content"]
        content = content["application/json"]
        assert faults(reply.json, content["schema"], named) == []
    for example in content["examples"].values():
        assert faults(example["value"], content["schema"], named) == []


def test_examples_of_bodies_have_the_shape(description):
    named = description["components"]["schemas"]
    for _, path, operation in operations(description):
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]["application/json"]
            for value in [BODIES[path], *(each["value"] for each in content["examples"].values())]:
                assert faults(value, content["schema"], named) == []
            assert faults({**value, "else": 1}, content["schema"], named) != []


def described_problem(fields, description) -> bool:
    """Whether it is one; a problem may have more members than every problem has."""
    shape = description["components"]["schemas"]["Problem"]
    return faults(fields, {**shape, "additionalProperties": {}}, {}) == []


def test_examples_of_problems_have_the_shape(description):
    for _, _, operation in operations(description):
        for status, reply in operation["responses"].items():
            for example in (
                reply.get("content", {})
                .get("application/problem+json", {})
                .get("examples", {})
                .values()
            ):
                assert described_problem(example["value"], description)
                assert example["value"]["status"] == int(status)


@pytest.mark.slow
def test_real_problems_have_the_shape_and_are_documented(tmp_path):
    with in_thread(write_policy(tmp_path, service="scan_timeout = 0.1")) as served:
        description = served.get("/openapi.json").json
        documented = description["paths"]["/v1/query"]["post"]["responses"]
        for question in ({}, {**QUESTION, "epsilon": 50}, SLOW):
            reply = served.ask(served.ann, question)
            assert described_problem(reply.json, description)
            assert (
                reply.code
                in documented[str(reply.status)]["content"]["application/problem+json"]["examples"]
            )


class Leaf(TypedDict):
    """A leaf."""

    colour: Literal["red", "green"]


class TreeFields(TypedDict, total=False):
    """A tree.

    It may hold trees.
    """

    name: Required[Annotated[str, "How it is called.", ("maxLength", 9)]]
    leaves: list[Leaf]
    trees: dict[str, TreeFields] | None
    age: NotRequired[int | float]


def test_a_schema_is_derived_from_types():
    schemas = Schemas(closed=(TreeFields,))
    assert schemas.of(TreeFields) == {"$ref": "#/components/schemas/Tree"}
    assert schemas.named == {
        "Tree": {
            "type": "object",
            "title": "Tree",
            "description": "A tree.\n\nIt may hold trees.",
            "properties": {
                "name": {"type": "string", "description": "How it is called.", "maxLength": 9},
                "leaves": {"type": "array", "items": {"$ref": "#/components/schemas/Leaf"}},
                "trees": {
                    "anyOf": [
                        {
                            "type": "object",
                            "additionalProperties": {"$ref": "#/components/schemas/Tree"},
                        },
                        {"type": "null"},
                    ]
                },
                "age": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        "Leaf": {
            "type": "object",
            "title": "Leaf",
            "description": "A leaf.",
            "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
            "required": ["colour"],
        },
    }
    with pytest.raises(TypeError):
        schemas.of(set[int])
