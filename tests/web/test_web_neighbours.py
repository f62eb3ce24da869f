"""Neighbouring tables look the same from outside: status codes, shapes of bodies, charges and log
lines, for 240 questions under `make prove`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served import Service, new_token, served

from bank import COLUMNS, dataset_text
from postri.audit import neighbours
from proving import sized

POLICY = """
[service]
time_grid = 0
rate = 1000000
"""
NEIGHBOUR_COLUMNS = {
    "x": """
        type = "integer"
        lower = -1000
        upper = 1000
    """,
    "y": COLUMNS["rate"],
    "g": """
        type = "text"
        keys = ["a", "b", "c"]
    """,
    "who": 'type = "integer"',
}
# What one more person's row may hold; over HTTP a NUL too.
ODD = [(x, y, g and g.replace("\x1f", "\x00\x1f"), who) for x, y, g, who in neighbours.ODD]
# Each table is asked this many of the questions, the next one others.
ASKED = sized(1, 6)
QUESTIONS: list[dict[str, Any]] = [
    {"aggregates": {"mid": "median(x)"}, "epsilon": "1/4"},
    {
        "aggregates": {"mid": "median(y)", "n": "count()", "s": "sum(y)", "m": "mean(x)"},
        "epsilon": "1/2",
    },
    {
        "aggregates": {"q": "quantile(x, 0.9)"},
        "by": ["g"],
        "where": "y / x > 1 OR g LIKE 'a%'",
        "epsilon": "1/4",
    },
    {
        "sql": "SELECT g, COUNT(x) AS n FROM {t} WHERE x * 1000000000 > 5 GROUP BY g ORDER BY g",
        "epsilon": "1/4",
    },
    {"sql": "SELECT SUM(y) / COUNT(*) AS average FROM {t}", "epsilon": "2"},
    {"sql": "SELECT MEDIAN(x) FROM {t}", "epsilon": "9"},
    {"sql": "SELECT x FROM {t}", "epsilon": "1/4"},
    {"aggregates": {"mid": "median(secret)"}, "epsilon": "1/4"},
    {"aggregates": {"mid": "median(x)"}, "epsilon": "1/4"},
]


def columns(rows: list[tuple[Any, ...]]) -> pa.Table:
    types = {"x": pa.int64(), "y": pa.float64(), "g": pa.string(), "who": pa.int64()}
    return pa.table(
        {
            name: pa.array([row[i] for row in rows], kind)
            for i, (name, kind) in enumerate(types.items())
        }
    )


def pairs() -> Iterator[tuple[str, str, list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
    """The kind of a file, the protected change, a table and its neighbour."""
    for number, row in enumerate(ODD):
        for place, size in enumerate(neighbours.SIZES):
            if (number + place) % sized(2, 1):
                continue
            base: list[tuple[Any, ...]] = [
                ((i * 37) % 500 - 100, (i % 40) / 4, "abcd"[i % 4], i // 3) for i in range(size)
            ]
            kind = "parquet" if (number + place) % 3 else "csv"
            if kind == "csv" and any(
                isinstance(cell, str) and ("\x00" in cell or '"' in cell) for cell in row
            ):
                kind = "parquet"
            unit = place % 2 == 0
            yield (
                kind,
                'add-or-remove-units", unit = "who' if unit else "add-or-remove-rows",
                base,
                [*base, row],
            )


def write(folder: Path, side: int) -> Path:
    """All tables of one side, under the same names."""
    folder.mkdir()
    text = POLICY
    for number, (kind, change, *both) in enumerate(pairs()):
        table = columns(both[side])
        if kind == "parquet":
            pq.write_table(table, folder / f"t{number}.parquet")
        else:
            lines = [
                "x,y,g,who",
                *(
                    ",".join("" if cell is None else str(cell) for cell in row)
                    for row in both[side]
                ),
            ]
            (folder / f"t{number}.csv").write_text("\n".join(lines) + "\n")
        text += dataset_text(
            f"t{number}",
            source=f"t{number}.{kind}",
            budget="6",
            rows=100,
            protect=f'change = "{change}", rows = 1',
            columns=NEIGHBOUR_COLUMNS,
        )
    (folder / "postri.toml").write_text(text)
    return folder / "postri.toml"


def shape(value: Any) -> Any:
    """A body without what was drawn: the names and kinds of its parts.

    Notes follow from the answer, such as whether it lies on an edge.
    """
    if isinstance(value, dict):
        return {name: "notes" if name == "notes" else shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return (
        "number"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else type(value).__name__
    )


def asked(
    service: Service, token: str, dataset: str, question: dict[str, Any]
) -> tuple[int, Any, Any]:
    """What comes back from one question: the status, what may be seen of the body, the budget
    afterwards.
    """
    body = (
        {**question, "sql": question["sql"].format(t=dataset)}
        if "sql" in question
        else {**question, "dataset": dataset}
    )
    status, fields = call(service, token, "POST", "/v1/query", body)
    _, price = call(service, token, "POST", "/v1/price", body)
    _, budget = call(service, token, "GET", "/v1/budget")
    seen = (
        shape(fields)
        if status == 200
        else {name: each for name, each in fields.items() if name != "request_id"}
    )
    charges = {
        name: fields.get(name)
        for name in ("epsilon", "charged", "answer_id", "recorded", "columns")
    }
    without_id = {name: each for name, each in price.items() if name != "request_id"}
    return status, [seen, charges, without_id], budget[dataset]


def call(service: Service, token: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", service.port, timeout=120)
    connection.request(
        method,
        path,
        None if body is None else json.dumps(body),
        {"Authorization": f"Bearer {token}"},
    )
    reply = connection.getresponse()
    fields = json.loads(reply.read())
    connection.close()
    return reply.status, fields


def chosen(number: int) -> list[dict[str, Any]]:
    """The questions to a table, other ones for each."""
    return [QUESTIONS[(number + k) % len(QUESTIONS)] for k in range(ASKED)]


def everything(folder: Path, side: int) -> tuple[list[Any], list[Any]]:
    """All that is seen of one side, and its log without times and request ids."""
    policy = write(folder, side)
    token = new_token(policy)
    with served(policy) as service:
        seen = [
            asked(service, token, f"t{number}", question)
            for number, _ in enumerate(pairs())
            for question in chosen(number)
        ]
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    return seen, [
        {
            name: each
            for name, each in line.items()
            if name not in ("time", "request_id", "port", "url")
        }
        for line in lines
    ]


@pytest.mark.slow
def test_neighbours_behave_the_same(tmp_path):
    (left, left_log), (right, right_log) = (
        everything(tmp_path / name, side) for side, name in enumerate(("left", "right"))
    )
    assert len(left) == sized(20, 40) * ASKED
    assert {status for status, *_ in left} == {200, 400, 409}
    for one, other in zip(left, right, strict=True):
        assert one == other
    assert left_log == right_log and len(left_log) >= 3 * len(left)
