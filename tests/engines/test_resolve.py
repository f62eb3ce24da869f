"""From a source to its engine: what is not of a kind's own folder reads the register."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import postri
from bank import dataset_text
from postri import InputError, SeededCoins
from postri.engines import resolve
from postri.engines.csv_format import CsvFormat
from postri.engines.memory.source import memory_engine
from postri.engines.resolve import KINDS, EngineKind, PolicySource, PythonSource, policy_source_of
from postri.policy import check_policy, read_policy, skeleton

POLICY = dataset_text(
    "dice",
    source="dice:600",
    rows=None,
    columns={"eyes": 'type = "integer"\nlower = 1\nupper = 6'},
)


KIND_NAMES = ["spark", "delta", "clickhouse", "postgres", "duckdb", "memory"]


class Dice:
    """An object that no engine knows."""

    def __init__(self, rolls: int) -> None:
        self.rolls = rolls


def dice_engine(rolls: int):
    return memory_engine({"eyes": np.arange(rolls) % 6 + 1}, {})


class DiceObjects(PythonSource):
    accepted = "dice"

    def takes(self, source):
        return isinstance(source, Dice)

    def open(self, source, types, csv):
        return dice_engine(source.rolls)


class DiceTexts(PolicySource):
    name = "dice"
    described = "dice"
    is_path = False

    def takes(self, source, table):
        return source.startswith("dice:")

    def open(self, source, table, declared, csv):
        return dice_engine(int(source.removeprefix("dice:")))

    def places(self, source, table):
        return {(source,)}

    def written(self, source, folder):
        return source, "loaded ones are for the steward"


@pytest.fixture
def dice(monkeypatch):
    """A kind of engine that is registered for one test."""
    kind = EngineKind("dice", (DiceObjects(),), (DiceTexts(),))
    monkeypatch.setattr(resolve, "KINDS", [kind, *KINDS])


def test_each_kind_registers_itself_once():
    assert [kind.name for kind in KINDS] == KIND_NAMES
    known = [source.name for kind in KINDS for source in kind.policy_sources]
    assert known == ["spark", "delta", "clickhouse", "postgres", "csv", "parquet", "duckdb"]


@pytest.mark.usefixtures("dice")
def test_a_kind_that_is_registered_is_taken_everywhere(tmp_path):
    assert postri.open(Dice(600)).columns == ["eyes"]
    answer = postri.median(Dice(600), column="eyes", epsilon=1, coins=SeededCoins(7))
    assert 3 <= answer.value <= 4
    path = tmp_path / "postri.toml"
    path.write_text(POLICY)
    assert check_policy(read_policy(path)) == ([], [])
    with postri.connect(path, analyst="ann") as session:
        assert session.sql("SELECT COUNT(*) AS n FROM dice", epsilon=1).rows
    assert "# loaded ones are for the steward" in skeleton("dice:600")


@pytest.mark.usefixtures("dice")
def test_messages_list_what_is_registered():
    with pytest.raises(InputError, match=r"a DuckDB relation, the path of .*, or dice"):
        postri.median(object(), epsilon=1)
    with pytest.raises(
        InputError,
        match=r"or be a DuckDB .* or a PostgreSQL URL or a Spark URL or a chdb URL or dice, ",
    ):
        policy_source_of("rows.xyz", None)


@pytest.mark.parametrize(
    ("source", "table", "name"),
    [
        ("postgresql://ann@db/bank", "public.rows", "postgres"),
        ("spark://local", "default.rows", "spark"),
        ("sc://db", "/data/*.parquet", "spark"),
        ("chdb:///data/bank", "default.rows", "clickhouse"),
        ("rows.csv", None, "csv"),
        ("rows/*.TSV", None, "csv"),
        ("rows.pq", None, "parquet"),
        ("bank.duckdb", "main.rows", "duckdb"),
        ("bank.any", "rows", "duckdb"),
    ],
)
def test_a_policys_source_is_known_by_its_text(source, table, name):
    kind = policy_source_of(source, table)
    assert kind.name == name
    assert kind.declares_types == (name != "csv")
    assert kind.is_path == (name not in ("clickhouse", "postgres", "spark"))


@pytest.mark.slow
def test_the_register_loads_no_library():
    code = """
import sys
from postri.engines.resolve import policy_source_of
for source in ("postgresql://h/d", "sc://h", "chdb:///d", "a.db"):
    policy_source_of(source, "t")
policy_source_of("a.csv", None)
heavy = {"chdb", "duckdb", "psycopg", "pyspark", "pyarrow", "pandas", "polars"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"


def test_a_format_is_checked():
    with pytest.raises(InputError, match="delimiter must be one ASCII character, got ''"):
        CsvFormat(delimiter="")
    with pytest.raises(
        InputError, match="quote must be one ASCII character or empty, got '\\[\\['"
    ):
        CsvFormat(quote="[[")
