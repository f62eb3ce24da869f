"""A policy beside its sources: by names and declared types alone."""

from __future__ import annotations

import os

import pytest
from policy_tables import (
    COLUMNS,
    FLAG,
    SOURCES,
    TEXT_FLAG,
    dataset,
    write_csv,
    write_duckdb,
    write_parquet,
    write_policy,
    write_source,
)

from postri import median
from postri.engines.duckdb.csv import CsvEngine
from postri.engines.postgres import without_password
from postri.engines.sql.engine import SqlEngine
from postri.policy import check_policy, open_dataset, read_policy
from postri.policy.sources import places_of
from services.postgres_server import SECRET

pytestmark = pytest.mark.slow


def checked(folder, text):
    """The errors and the warnings, each with its line."""
    errors, warnings = check_policy(read_policy(write_policy(folder, text)))
    return [[(each.line, each.text) for each in problems] for problems in (errors, warnings)]


def with_column(source, name, lines):
    return dataset(*source, f"[datasets.trips.columns.{name}]\n{lines}\n")


def line_of(text, start):
    return next(
        number for number, line in enumerate(text.splitlines(), start=1) if line.startswith(start)
    )


@pytest.mark.parametrize("kind", SOURCES)
class TestEverySource:
    """CSV and Parquet files, a database of DuckDB, a server of PostgreSQL."""

    def test_a_right_policy_has_no_errors_and_reads_no_row(
        self, kind, tmp_path, request, monkeypatch
    ):
        def never(*_):
            raise AssertionError("a row was read")

        for engine in (CsvEngine, SqlEngine):
            monkeypatch.setattr(engine, "windows", never)
            monkeypatch.setattr(engine, "matching", never)
        source = write_source(kind, tmp_path, request)
        text = dataset(
            *source,
            COLUMNS + (TEXT_FLAG if kind == "csv" else FLAG),
            'change = "replace-units", unit = "who", rows = 2',
        )
        errors, warnings = checked(tmp_path, text)
        assert errors == []
        bare = (
            "column 'id' has no bounds, so quantiles only: a sum or a mean of it needs lower and "
            "upper"
        )
        assert warnings == [(line_of(text, "[datasets.trips.columns.id]"), bare)]

    def test_columns_that_are_not_there_are_all_told_with_the_nearest_name(
        self, kind, tmp_path, request
    ):
        source = write_source(kind, tmp_path, request)
        text = dataset(
            *source,
            '[datasets.trips.columns.ages]\ntype = "integer"\n'
            '[datasets.trips.columns.fares]\ntype = "decimal"\n',
        )
        errors, _ = checked(tmp_path, text)
        first = line_of(text, "[datasets.trips.columns.ages]")
        assert [line for line, _ in errors] == [first, first + 2]
        assert errors[0][1].startswith("the source has no column 'ages'; did you mean 'age'")
        assert "did you mean 'fare'" in errors[1][1]

    def test_a_column_of_units_that_is_not_there_or_is_no_person_is_told(
        self, kind, tmp_path, request
    ):
        source = write_source(kind, tmp_path, request)
        ((line, text),), _ = checked(
            tmp_path, dataset(*source, "", 'change = "add-or-remove-units", unit = "wo", rows = 2')
        )
        assert line == 1 and text.startswith("protect: there is no column 'wo'; did you mean 'who'")
        if kind != "csv":
            ((_, text),), _ = checked(
                tmp_path,
                dataset(*source, "", 'change = "add-or-remove-units", unit = "born", rows = 2'),
            )
            assert text.endswith("a unit column must hold whole numbers or text")

    def test_an_opened_dataset_answers(self, kind, tmp_path, request):
        source = write_source(kind, tmp_path, request)
        policy = read_policy(write_policy(tmp_path, dataset(*source, COLUMNS)))
        table = open_dataset(policy, policy.datasets["trips"])
        assert (
            0
            <= median(
                table,
                column="age",
                domain=policy.datasets["trips"].columns["age"].domain,
                epsilon=1,
            ).value
            <= 100
        )


TYPED = [kind for kind in SOURCES if kind != "csv"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize(
    ("column", "said", "right"),
    [
        *(
            ("age", "decimal", "integer"),
            ("fare", "float", "decimal"),
            ("ratio", "integer", "float"),
            ("flag", "integer", "boolean"),
        ),
        *(
            ("born", "timestamp", "date"),
            ("since", "date", "timestamp"),
            ("city", "integer", "text"),
            ("age", "text", "integer"),
        ),
        ("fare", "integer", "decimal"),
    ],
)
def test_a_type_that_the_source_does_not_declare_is_told(
    kind, column, said, right, tmp_path, request
):
    source = write_source(kind, tmp_path, request)
    text = with_column(source, column, f'type = "{said}"')
    errors, _ = checked(tmp_path, text)
    assert [line for line, _ in errors] == [line_of(text, "[datasets.trips.columns")]
    assert errors[0][1].startswith(
        f"column '{column}' has type '{said}' in the policy, and the source declares '"
    )
    instead = f'\'; write type = "{right}"'
    if right == "text":
        instead += f", or store its cells as {said}s: a stored text stays a text"
    assert errors[0][1].endswith(instead)


def test_a_decimal_without_places_may_be_called_an_integer(tmp_path):
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 1::DECIMAL(9,0) AS x) TO '{tmp_path / 'd.parquet'}' (FORMAT parquet)"
        )
    for said in "integer", "decimal":
        assert checked(
            tmp_path,
            with_column(("d.parquet", None), "x", f'type = "{said}"\nlower = 0\nupper = 9'),
        ) == [[], []]


WARNED = {
    ("csv", "age", "integer"): "so quantiles only: a sum or a mean of it needs lower and upper",
    (
        "csv",
        "fare",
        "decimal",
    ): "so no quantile, sum or mean of it can be asked: they need lower, upper and step",
    (
        "parquet",
        "fare",
        "decimal",
    ): "so quantiles only: a sum or a mean of it needs lower and upper",
    (
        "parquet",
        "ratio",
        "float",
    ): "so no quantile, sum or mean of it can be asked: they need lower, upper and step",
}


@pytest.mark.parametrize(("kind", "column", "said"), WARNED)
def test_a_column_without_bounds_says_what_cannot_be_asked(kind, column, said, tmp_path, request):
    source = write_source(kind, tmp_path, request)
    text = f"column '{column}' has no bounds, {WARNED[kind, column, said]}"
    assert checked(tmp_path, with_column(source, column, f'type = "{said}"')) == [[], [(6, text)]]


@pytest.mark.parametrize(
    ("column", "said"),
    [("born", "date"), ("since", "timestamp"), ("city", "text"), ("flag", "boolean")],
)
def test_columns_of_other_types_need_no_bounds(column, said, tmp_path):
    assert checked(tmp_path, with_column(write_parquet(tmp_path), column, f'type = "{said}"')) == [
        [],
        [],
    ]


class TestColumns:
    def test_bounds_with_a_zone_need_a_column_with_one(self, tmp_path):
        bounds = 'type = "timestamp"\nlower = 2024-01-01T00:00:00Z\nupper = 2025-01-01T00:00:00Z'
        errors, _ = checked(tmp_path, with_column(write_parquet(tmp_path), "since", bounds))
        assert errors == [
            (
                6,
                (
                    "the bounds of 'since': the column's timestamps have no time zone and the "
                    "domain's bounds have one; make them agree"
                ),
            )
        ]

    def test_keys_need_a_type_without_rounding(self, tmp_path):
        ((line, text),), _ = checked(
            tmp_path, with_column(write_csv(tmp_path), "fare", 'type = "decimal"\nkeys = ["2.50"]')
        )
        assert line == 6 and text.endswith("give it a type without rounding: whole numbers")

    def test_a_name_that_a_header_has_twice_is_told(self, tmp_path):
        (tmp_path / "d.csv").write_text("x,x\n1,2\n")
        errors, _ = checked(tmp_path, with_column(("d.csv", None), "x", 'type = "integer"'))
        assert errors == [
            (6, "the header has more than one column 'x'; rename all but one of them")
        ]

    def test_a_type_that_cannot_be_read_is_told(self, tmp_path):
        import duckdb

        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT TIME '12:00' AS x) TO '{tmp_path / 'd.parquet'}' (FORMAT parquet)"
            )
        ((line, text),), _ = checked(
            tmp_path, with_column(("d.parquet", None), "x", 'type = "text"')
        )
        assert line == 6 and "has the declared type TIME" in text

    def test_no_columns_are_warned_of(self, tmp_path):
        text = "dataset 'trips' has no columns: nothing but the number of rows can be asked"
        assert checked(tmp_path, dataset(*write_csv(tmp_path))) == [[], [(1, text)]]

    def test_a_file_without_a_header_has_the_names_of_the_policy(self, tmp_path):
        (tmp_path / "d.csv").write_text("1;x\n2;y\n")
        more = (
            'delimiter = ";"\nheader = false\nnames = ["n", "t"]\n'
            '[datasets.trips.columns.n]\ntype = "integer"\nlower = 0\nupper = 9\n'
        )
        assert checked(tmp_path, dataset("d.csv", None, more)) == [[], []]


class TestSources:
    @pytest.mark.parametrize(
        ("source", "table", "words"),
        [
            ("trip.csv", None, "there is no file"),
            ("no/*.parquet", None, "no file matches"),
            ("no.duckdb", "t", "there is no database file"),
            ("trips.duckdb", "trip", "DuckDB has no table 'trip'"),
            ("broken.parquet", None, "damaged"),
        ],
    )
    def test_a_source_that_does_not_open_is_told_on_the_datasets_line(
        self, tmp_path, source, table, words
    ):
        write_csv(tmp_path)
        write_duckdb(tmp_path)
        (tmp_path / "broken.parquet").write_bytes(b"PAR1 broken")
        ((line, text),), _ = checked(tmp_path, "\n\n" + dataset(source, table, COLUMNS))
        assert (
            line == 3
            and text.startswith("the source of dataset 'trips' cannot be opened: ")
            and words in text
        )

    def test_errors_of_all_datasets_are_told_at_once(self, tmp_path):
        source = write_csv(tmp_path)
        good = dataset(*source, '[datasets.trips.columns.age]\ntype = "text"\n')
        text = (
            dataset("no.csv", None).replace("trips", "one")
            + good
            + dataset("no.parquet", None).replace("trips", "two")
        )
        errors, _ = checked(tmp_path, text)
        assert [line for line, _ in errors] == [1, 13]

    def test_a_server_that_refuses_tells_no_password(self, tmp_path, postgres):
        for url in (
            postgres.url(password="pass-xq-wrong"),
            f"postgresql://u:{SECRET}@127.0.0.1:1/d",
        ):
            ((line, text),), _ = checked(tmp_path, dataset(url, "public.trips", COLUMNS))
            assert line == 1 and "cannot connect to PostgreSQL" in text
            assert SECRET not in text and "xq" not in text

    def test_a_server_without_the_table_tells_no_password(self, tmp_path, postgres):
        ((_, text),), _ = checked(tmp_path, dataset(postgres.url(), "no.such", COLUMNS))
        assert "PostgreSQL has no table 'no.such'" in text and SECRET not in text

    def test_a_folder_with_the_marks_of_a_pattern_is_a_folder(self, tmp_path):
        """The engine reads no file with such marks in its path, and says so; without care it would
        find none.
        """
        folder = tmp_path / "a[b]"
        folder.mkdir()
        write_csv(folder)
        ((_, text),), _ = checked(folder, dataset("*.csv", None, COLUMNS))
        assert "the name of a file may not hold [" in text


class TestSharedRows:
    def shared(self, folder, one, other, more=""):
        text = dataset(*one, more).replace("trips]", "one]", 1) + dataset(*other).replace(
            "trips]", "two]", 1
        )
        policy = read_policy(write_policy(folder, text))
        return [each for each in check_policy(policy)[0] if "read the same source" in each.text]

    def test_the_same_file_under_two_names_is_an_error_of_the_second(self, tmp_path):
        write_csv(tmp_path)
        write_csv(tmp_path, name="others.csv")
        (tmp_path / "link.csv").symlink_to(tmp_path / "trips.csv")
        for other in ("trips.csv", "./trips.csv", "link.csv", str(tmp_path / "trips.csv"), "*.csv"):
            (error,) = self.shared(tmp_path, ("trips.csv", None), (other, None))
            assert error.line == 6
            assert error.text == (
                "datasets 'one' and 'two' read the same source, so what is asked of both adds up: "
                "write same_people_as = \"one\" in the table of 'two', or leave one of them out"
            )

    def test_joined_datasets_may_read_the_same_file(self, tmp_path):
        write_csv(tmp_path)
        more = 'same_people_as = "two"\n'
        assert self.shared(tmp_path, ("trips.csv", None), ("trips.csv", None), more) == []

    def test_other_files_are_not(self, tmp_path):
        write_csv(tmp_path)
        write_parquet(tmp_path)
        assert self.shared(tmp_path, ("trips.csv", None), ("trips.parquet", None)) == []

    def test_tables_of_a_database_are_told_apart(self, tmp_path):
        write_duckdb(tmp_path)
        for spelling in ("main.trips", "TRIPS", '\\"trips\\"', "trips.main.trips"):
            assert self.shared(tmp_path, ("trips.duckdb", "trips"), ("trips.duckdb", spelling))
        assert self.shared(tmp_path, ("trips.duckdb", "trips"), ("trips.duckdb", "other")) == []

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("postgresql://ann:a@h/d", "postgres://bob:b@H:5432/d?sslmode=require", True),
            ("postgresql://h/d", "postgresql:///?host=H&dbname=d", True),
            ("postgresql://d@h", "postgresql://bob@h/d", True),
            ("postgresql://h:1/d", "postgresql://h/d?port=1", True),
            ("postgresql://h/d%20e", "postgresql://h/?dbname=d%20e", True),
            ("postgresql://h/d", "postgresql://h/e", False),
            ("postgresql://h/d", "postgresql://h/d?port=1", False),
            ("postgresql://h/d", "postgresql://g/d", False),
            ("postgresql://h:1/d", "postgresql://h:2/d", False),
        ],
    )
    def test_servers_are_compared_without_credentials(self, tmp_path, one, other, same):
        text = dataset(one, "trips").replace("trips]", "one]") + dataset(
            other, "public.trips"
        ).replace("trips]", "two]")
        policy = read_policy(write_policy(tmp_path, text))
        here, there = (places_of(policy, each) for each in policy.datasets.values())
        assert bool(here & there) is same

    def test_a_password_is_taken_out_wherever_it_stands(self):
        for url in (
            "postgresql://u:s3cret@h:1/d",
            "postgresql://u:s#3:cret@h:1/d",
            "postgresql://u@h:1/d?password=s3cret&sslpassword=s3cret",
        ):
            assert without_password(url) == "postgresql://u@h:1/d"
        assert without_password("postgres://h?sslmode=require") == "postgres://h?sslmode=require"


class TestLimitsAndLedger:
    def test_limits_above_the_budget_are_warned_of(self, tmp_path):
        more = (
            'max_epsilon_per_question = 6\nallowances = { ann = "11/2", bob = 5 }\n'
            '[datasets.trips.columns.city]\ntype = "text"\n'
        )
        _, warnings = checked(tmp_path, dataset(*write_csv(tmp_path), more))
        assert warnings == [
            (1, "the allowance of 'ann' is 5.5, more than the budget 5: it limits nothing"),
            (1, "max_epsilon_per_question is 6, more than the budget 5: it limits nothing"),
        ]

    def test_an_allowance_below_the_least_epsilon_is_warned_of(self, tmp_path):
        more = (
            'min_epsilon = "0.1"\nallowances = { ann = "0.05", bob = "0.1" }\n'
            '[datasets.trips.columns.city]\ntype = "text"\n'
        )
        _, warnings = checked(tmp_path, dataset(*write_csv(tmp_path), more))
        assert warnings == [
            (
                1,
                "the allowance of 'ann' is 0.05, less than the 0.1 that a question costs at least "
                "(min_epsilon): 'ann' can ask nothing",
            )
        ]

    def test_units_without_a_unit_are_warned_of(self, tmp_path):
        more = 'units = 4\n[datasets.trips.columns.city]\ntype = "text"\n'
        text = dataset(*write_csv(tmp_path), more)
        _, warnings = checked(tmp_path, text)
        assert warnings == [
            (1, "units of dataset 'trips' is for protect with a unit: nothing uses it")
        ]
        by_unit = 'change = "replace-units", unit = "who", rows = 1'
        assert checked(tmp_path, dataset(*write_csv(tmp_path), more, by_unit)) == [[], []]

    def test_a_folder_that_is_not_there_is_told_on_the_ledgers_line(self, tmp_path):
        text = 'ledger = "no/l"\nledger_head = "nor/h"\n' + dataset(*write_csv(tmp_path), COLUMNS)
        errors, _ = checked(tmp_path, text)
        assert errors == [
            (
                1,
                (
                    f"ledger cannot be written: there is no folder '{tmp_path / 'no'}'; make it, "
                    "or name another"
                ),
            ),
            (
                2,
                (
                    f"ledger_head cannot be written: there is no folder '{tmp_path / 'nor'}'; "
                    "make it, or name another"
                ),
            ),
        ]

    def test_a_ledger_that_is_a_folder_is_told(self, tmp_path):
        (tmp_path / "postri.ledger").mkdir()
        errors, _ = checked(tmp_path, dataset(*write_csv(tmp_path), COLUMNS))
        assert errors == [
            (
                0,
                (
                    f"ledger cannot be written: '{tmp_path / 'postri.ledger'}' is a folder; name "
                    "a file"
                ),
            )
        ]

    @pytest.mark.parametrize(
        ("denied", "words"), [("folder", "the folder"), ("file", "does not allow it")]
    )
    def test_rights_that_are_missing_are_told(self, tmp_path, monkeypatch, denied, words):
        """By what the system answers, because some users may do everything."""
        ledger = tmp_path / "postri.ledger"
        ledger.touch()
        refused = str(tmp_path if denied == "folder" else ledger)
        monkeypatch.setattr(
            os, "access", lambda path, mode: str(path) != refused or not mode & os.W_OK
        )
        ((line, text),), _ = checked(tmp_path, dataset(*write_csv(tmp_path), COLUMNS))
        assert line == 0 and words in text and "change its rights" in text and refused in text
