"""A first policy: from the schema alone, and right once it is filled in."""

from __future__ import annotations

import re
import tomllib

import duckdb
import pytest
from policy_tables import (
    DECLARED,
    EVERY_SOURCE,
    ROWS,
    write_csv,
    write_parquet,
    write_policy,
    write_source,
)

from postri import InputError
from postri.engines.csv_format import CsvFormat
from postri.errors import PolicyError
from postri.policy import check_policy, read_policy, skeleton
from postri.policy.skeleton import toml_key, toml_text
from services.postgres_server import SECRET

NAMED = {
    "id": "integer",
    "who": "integer",
    "age": "integer",
    "fare": "decimal",
    "ratio": "float",
} | {
    "city": "text",
    "born": "date",
    "since": "timestamp",
    "flag": "boolean",
}
BOUNDS = {
    "integer": ("0", "9"),
    "decimal": ("0", "9"),
    "float": ("0", "9"),
    "date": ("2000-01-01", "2001-01-01"),
}
BOUNDS["timestamp"] = BOUNDS["date"]


def written(kind, folder, request, rows=ROWS):
    source, table = write_source(kind, folder, request, rows)
    return skeleton(source if kind == "postgres" else str(folder / source), table, folder=folder)


def filled(text, secret=""):
    """What a steward makes of it: every marked place is filled in, what was a remark is said."""
    text = text.replace('budget = "TODO"', "budget = 5").replace(
        'change = "TODO", rows = "TODO"', 'change = "replace-rows", rows = 1'
    )
    text = re.sub(
        r"^# (?=lower|upper|step|keys|rows|max_|allowances)", "", text, flags=re.MULTILINE
    )
    parts = re.split(r"(?=^\[)", text, flags=re.MULTILINE)
    for number, part in enumerate(parts):
        for lower, upper in [
            BOUNDS[found[1]]
            for found in [re.search('type = "(.*?)"', part)]
            if found and found[1] in BOUNDS
        ]:
            parts[number] = part.replace('lower = "TODO"', f'lower = "{lower}"').replace(
                'upper = "TODO"', f'upper = "{upper}"'
            )
    return (
        "".join(parts)
        .replace('keys = ["TODO"]', 'keys = ["a"]')
        .replace("postgres@", f"postgres:{secret}@")
    )


@pytest.fixture(params=EVERY_SOURCE)
def kind(request):
    return request.param


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_it_lists_every_column_with_its_type(kind, tmp_path, request):
    columns = tomllib.loads(written(kind, tmp_path, request))["datasets"]["trips"]["columns"]
    assert {name: column["type"] for name, column in columns.items()} == (
        dict.fromkeys(DECLARED, "text") if kind == "csv" else NAMED
    )


@pytest.mark.slow
def test_it_is_the_same_whatever_the_rows_are(kind, tmp_path, request):
    full, empty = (written(kind, tmp_path, request, rows) for rows in (ROWS, ()))
    many = written(kind, tmp_path, request, ROWS * 50)
    assert full == empty == many
    assert not any(cell in full for cell in ("Oslo", "Bergen", "250", "1880", "9.99"))


def test_it_is_refused_until_the_marked_places_are_filled_in(kind, tmp_path, request):
    text = written(kind, tmp_path, request)
    with pytest.raises(PolicyError) as caught:
        read_policy(write_policy(tmp_path, text))
    assert [problem.text.split(":")[0] for problem in caught.value.problems] == [
        "budget is still to be filled in",
        "change is still to be filled in",
        "rows is still to be filled in",
    ]
    lines = text.splitlines()
    assert all("TODO" in lines[problem.line - 1] for problem in caught.value.problems)


@pytest.mark.slow
def test_it_is_right_once_they_are(kind, tmp_path, request):
    text = filled(written(kind, tmp_path, request), SECRET)
    if kind == "csv":
        # A file declares nothing: the columns are text until the steward says more, and text has no
        # bounds.
        text = re.sub(r"^(lower|upper|step) = .*\n", "", text, flags=re.MULTILINE)
    assert "TODO" not in text.partition("[datasets")[2]
    policy = read_policy(write_policy(tmp_path, text))
    assert policy.datasets["trips"].rows == 45_000 and policy.datasets["trips"].allowances == {
        "ann": 2
    }
    assert [
        column.domain is not None for column in policy.datasets["trips"].columns.values()
    ].count(True) == (0 if kind == "csv" else 7)
    errors, _ = check_policy(policy)
    assert errors == []


def test_its_bounds_are_refused_where_they_are_named_and_not_filled_in(tmp_path):
    write_parquet(tmp_path)
    text = re.sub(r"^# (?=lower|upper|keys)", "", skeleton("trips.parquet"), flags=re.MULTILINE)
    with pytest.raises(PolicyError) as caught:
        read_policy(write_policy(tmp_path, text))
    assert (
        sum("lower is still to be filled in" in problem.text for problem in caught.value.problems)
        == 7
    )
    assert (
        sum("keys are still to be filled in" in problem.text for problem in caught.value.problems)
        == 1
    )


def test_a_csv_column_is_text_until_the_steward_says_what_it_holds(tmp_path):
    write_csv(tmp_path)
    assert skeleton("trips.csv").count(
        'type = "text"                       # say what it holds: integer | decimal |'
    ) == len(DECLARED)


@pytest.mark.slow
def test_the_password_of_a_server_is_left_out(tmp_path, request):
    text = written("postgres", tmp_path, request)
    assert SECRET not in text and "the password is left out" in text
    assert "postgresql://postgres@127.0.0.1:" in text


def test_a_path_is_seen_from_the_policys_folder(tmp_path):
    (tmp_path / "data").mkdir()
    write_csv(tmp_path / "data")
    assert 'source = "../data/trips.csv"' in skeleton(
        "data/trips.csv", folder=tmp_path / "policies"
    )
    assert 'source = "data/trips.csv"' in skeleton("data/trips.csv", folder=tmp_path)
    assert f'source = "{tmp_path}/data/trips.csv"' in skeleton(
        f"{tmp_path}/data/trips.csv", folder=tmp_path
    )


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("trips.csv", "trips"),
        ("data/*.csv", "data"),
        ("data/part-*.csv", "part"),
        ("a b.csv", '"a b"'),
        ("é.csv", '"é"'),
    ],
)
def test_the_dataset_is_named_after_the_file_or_its_folder(tmp_path, source, name):
    (tmp_path / "data").mkdir()
    for file in ("trips.csv", "data/part-1.csv", "a b.csv", "é.csv"):
        write_csv(tmp_path, name=file)
    assert f"[datasets.{name}]" in skeleton(source)


def test_a_csv_file_is_described_as_it_is_written(tmp_path):
    (tmp_path / "d.csv").write_text("1;'x'\n")
    text = skeleton("d.csv", csv=CsvFormat(";", "'", header=False), names=("n", "odd name"))
    dataset = read_policy(
        write_policy(
            tmp_path,
            filled(text)
            .replace("lower", "# lower")
            .replace("upper", "# upper")
            .replace("step", "# step"),
        )
    ).datasets["d"]
    assert (dataset.csv, dataset.names, list(dataset.columns)) == (
        CsvFormat(";", "'", header=False),
        ("n", "odd name"),
        ["n", "odd name"],
    )


ODD = [
    'say "hi"',
    "a.b",
    "back\\slash",
    "tab\there",
    "new\nline",
    "é",
    "",
    "[x]",
    "# no",
    "'",
    "日本",
    "\x7f\x1b[31m",
    "\u2028",
    "TODO",
]


@pytest.mark.parametrize("name", ODD)
def test_names_with_any_signs_are_quoted_so_that_toml_reads_them(name):
    assert tomllib.loads(f"{toml_key(name)} = {toml_text(name)}") == {name: name}
    assert toml_text(name).isprintable()


def test_a_table_with_such_names_gives_a_right_policy(tmp_path):
    names = [name for name in ODD if name]
    with duckdb.connect() as connection:
        listed = ", ".join('1 AS "' + name.replace('"', '""') + '"' for name in names)
        connection.execute(
            f"COPY (SELECT {listed}) TO '{tmp_path / 'odd.parquet'}' (FORMAT parquet)"
        )
    policy = read_policy(write_policy(tmp_path, filled(skeleton("odd.parquet"))))
    assert list(policy.datasets["odd"].columns) == names
    assert check_policy(policy)[0] == []


def test_a_column_that_cannot_be_read_is_a_remark(tmp_path):
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 1 AS x, TIME '12:00' AS \"at\nnoon\") TO "
            f"'{tmp_path / 'd.parquet'}' (FORMAT parquet)"
        )
    text = skeleton("d.parquet")
    assert list(tomllib.loads(text)["datasets"]["d"]["columns"]) == ["x"]
    assert '# [datasets.d.columns."at\\nnoon"]' in text and "has the declared type TIME" in text


@pytest.mark.parametrize("source", ["no.csv", "no.xlsx", "no.duckdb", "mysql://u:pass-xq-word@h/d"])
def test_a_source_that_is_none_is_refused(source):
    with pytest.raises(InputError) as caught:
        skeleton(source)
    assert "pass-xq-word" not in str(caught.value)
