"""The steward's file: what it says, and every problem of a wrong one with its line."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from postri import AddOrRemoveRows, AddOrRemoveUnits, Domain, ReplaceRows, ReplaceUnits
from postri.engines.csv_format import CsvFormat
from postri.errors import PolicyError, PostriError
from postri.policy import read_policy
from postri.policy.people import joined_with

CONTRACT = """\
ledger = "postri.ledger"            # optional; default beside this file; paths are relative to this file
[datasets.bank]
source = "bank.parquet"             # a file, a glob, or a database URL with table = "schema.table"
version = "1"
budget = "5"
accountant = "pure"                 # or "zcdp" with delta = "1e-6"
rows = 45000                        # public and approximate; forecasts use this, never the real count
max_epsilon_per_question = "1"      # optional
protect = { change = "add-or-remove-rows", rows = 1 }
[datasets.bank.columns.balance]
type = "integer"                    # integer | decimal | float | date | timestamp | text | boolean
lower = -10000
upper = 200000
[datasets.bank.columns.job]
type = "text"
keys = ["admin.", "technician"]
"""  # noqa: E501  # as the contract has it
DATASET = """\
[datasets.d]
source = "d.csv"
version = "1"
budget = 1
protect = { change = "replace-rows", rows = 1 }
"""
OTHER = DATASET.replace("datasets.d", "datasets.other").replace("d.csv", "other.csv")
PARQUET = DATASET.replace("d.csv", "d.parquet")
COLUMN = DATASET + "[datasets.d.columns.x]\n"
SHARE = 'say how many cells may be lost, such as "up to 2%"'
ALL_READ = "every cell of such a column can be read, unless it is null; leave unreadable out"
CHANGES = "add-or-remove-rows, replace-rows, add-or-remove-units, replace-units"


def written(folder, text):
    path = folder / "postri.toml"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def problems(folder, text):
    with pytest.raises(PolicyError) as caught:
        read_policy(written(folder, text))
    return [(problem.line, problem.text) for problem in caught.value.problems]


def dataset_of(folder, text):
    (dataset,) = read_policy(written(folder, text)).datasets.values()
    return dataset


def column_of(folder, lines, before=COLUMN):
    return dataset_of(folder, before + lines).columns["x"]


class TestRightFiles:
    def test_the_contracts_example_means_what_it_says(self, tmp_path):
        policy = read_policy(written(tmp_path, CONTRACT))
        assert (policy.path, policy.ledger, policy.head) == (
            tmp_path / "postri.toml",
            tmp_path / "postri.ledger",
            None,
        )
        bank = policy.datasets["bank"]
        assert (bank.name, bank.source, bank.table, bank.version, bank.line) == (
            "bank",
            "bank.parquet",
            None,
            "1",
            2,
        )
        assert (
            bank.budget,
            bank.accountant,
            bank.delta,
            bank.rows,
            bank.max_epsilon_per_question,
        ) == (5, "pure", None, 45_000, 1)
        assert (bank.allowances, bank.protect, bank.csv) == ({}, AddOrRemoveRows(1), CsvFormat())
        balance, job = bank.columns["balance"], bank.columns["job"]
        assert (balance.type, balance.domain, balance.keys, balance.line) == (
            "integer",
            Domain(-10_000, 200_000),
            None,
            10,
        )
        assert (job.type, job.domain, job.keys, job.line) == (
            "text",
            None,
            ("admin.", "technician"),
            14,
        )

    def test_what_bounds_side_channels_may_be_said(self, tmp_path):
        text = DATASET + 'min_epsilon = "1/50"\nquestions = 7\nmax_failures = 1\n'
        dataset = dataset_of(tmp_path, text)
        assert (dataset.least_epsilon, dataset.questions, dataset.max_failures) == (
            Fraction(1, 50),
            7,
            1,
        )

    def test_the_longest_text_is_the_policys(self, tmp_path):
        dataset = read_policy(written(tmp_path, DATASET + "max_text = 500\n")).datasets["d"]
        assert dataset.max_text == 500
        for wrong in ("0", "-1", "1_000_001", "1.5", "'many'", "true"):
            with pytest.raises(PolicyError, match="line 6: max_text must be"):
                read_policy(written(tmp_path, DATASET + f"max_text = {wrong}\n"))

    def test_what_may_be_left_out_has_a_default(self, tmp_path):
        policy = read_policy(written(tmp_path, DATASET))
        dataset = policy.datasets["d"]
        assert dataset.max_text == 10_000
        assert policy.ledger == tmp_path / "postri.ledger"
        assert (
            dataset.accountant,
            dataset.delta,
            dataset.rows,
            dataset.units,
            dataset.max_epsilon_per_question,
        ) == ("pure", None, None, None, None)
        assert (dataset.least_epsilon, dataset.questions, dataset.max_failures) == (
            Fraction(1, 1000),
            10_000,
            3,
        )
        assert (dataset.table, dataset.allowances, dataset.columns, dataset.csv, dataset.names) == (
            None,
            {},
            {},
            CsvFormat(),
            (),
        )

    @pytest.mark.parametrize(
        ("said", "share"),
        [("up to 2%", "0.02"), ("up to 0.5 %", "0.005"), ("up to 0%", "0"), ("up to 100%", "1")],
    )
    def test_what_the_steward_accepts_to_lose_is_exact(self, said, share, tmp_path):
        text = COLUMN + f'type = "float"\nunreadable = "{said}"\n'
        assert dataset_of(tmp_path, text).columns["x"].unreadable == Fraction(share)

    @pytest.mark.parametrize(("line", "vouched"), [("", False), ("false", False), ("true", True)])
    def test_nobody_vouches_for_a_source_unless_the_steward_does(self, tmp_path, line, vouched):
        text = DATASET + (line and f"vouched = {line}\n")
        assert dataset_of(tmp_path, text).vouched is vouched

    def test_the_number_of_units_is_public_and_approximate(self, tmp_path):
        assert dataset_of(tmp_path, DATASET + "units = 4000\n").units == 4_000

    def test_paths_are_seen_from_the_policys_folder(self, tmp_path, monkeypatch):
        written(tmp_path, 'ledger = "safe/l"\nledger_head = "/elsewhere/head"\n' + DATASET)
        monkeypatch.chdir(tmp_path)
        policy = read_policy("postri.toml")
        assert (policy.ledger, str(policy.head)) == (tmp_path / "safe" / "l", "/elsewhere/head")

    @pytest.mark.parametrize(
        ("number", "meant"),
        [
            ('"1/3"', Fraction(1, 3)),
            ("0.1", Fraction(1, 10)),
            ('"0.1"', Fraction(1, 10)),
            ("5", 5),
            ('"1e-2"', Fraction(1, 100)),
        ],
    )
    def test_epsilons_are_exact(self, tmp_path, number, meant):
        text = DATASET.replace(
            "budget = 1",
            (
                f"budget = {number}\nmax_epsilon_per_question = {number}\nallowances = {{ ann = "
                f"{number} }}"
            ),
        )
        dataset = dataset_of(tmp_path, text)
        assert (dataset.budget, dataset.max_epsilon_per_question, dataset.allowances) == (
            meant,
            meant,
            {"ann": meant},
        )

    def test_datasets_about_the_same_people_are_found_over_any_number_of_steps(self, tmp_path):
        """Some are known to the ledger alone, and `other` says nothing itself."""
        third = OTHER.replace("other", "third") + "same_people_as = 'd'\n"
        fourth = OTHER.replace("other", "fourth") + "same_people_as = 'gone'\n"
        text = DATASET + "same_people_as = 'gone'\n" + OTHER + third + fourth
        datasets = read_policy(written(tmp_path, text)).datasets
        assert datasets["third"].same_people_as == "d"
        assert joined_with(datasets, "third") == ("d", "fourth", "gone")
        assert joined_with(datasets, "fourth") == ("d", "gone", "third")
        assert joined_with(datasets, "other") == ()

    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            ('change = "add-or-remove-rows", rows = 3', AddOrRemoveRows(3)),
            ('change = "replace-rows", rows = "2"', ReplaceRows(2)),
            (
                'change = "add-or-remove-units", unit = "who", rows = 3',
                AddOrRemoveUnits("who", rows=3),
            ),
            ('change = "replace-units", unit = "who", rows = 1', ReplaceUnits("who", rows=1)),
        ],
    )
    def test_every_protected_change_has_a_name(self, tmp_path, said, meant):
        assert (
            dataset_of(tmp_path, DATASET.replace('change = "replace-rows", rows = 1', said)).protect
            == meant
        )

    def test_zcdp_has_a_delta(self, tmp_path):
        dataset = dataset_of(tmp_path, DATASET + 'accountant = "zcdp"\ndelta = "1e-6"\n')
        assert (dataset.accountant, dataset.delta) == ("zcdp", Fraction(1, 10**6))

    @pytest.mark.parametrize(
        ("lines", "domain"),
        [
            ('type = "integer"\nlower = 0\nupper = 100\nstep = 10', Domain(0, 100, 10)),
            ('type = "integer"\nlower = "0"\nupper = "1e3"', Domain(0, 1000)),
            ('type = "decimal"\nlower = 0\nupper = 5.5\nstep = 0.1', Domain(0, "5.5", "0.1")),
            (
                'type = "float"\nlower = -1.5\nupper = 1.5\nstep = "0.5"',
                Domain("-1.5", "1.5", "0.5"),
            ),
            (
                'type = "date"\nlower = 2024-01-01\nupper = "2024-12-30"\nstep = 7',
                Domain(date(2024, 1, 1), date(2024, 12, 30), 7),
            ),
            (
                'type = "timestamp"\nlower = 2024-01-01\nupper = 2024-01-02T12:00:00',
                Domain("2024-01-01 00:00", "2024-01-02 12:00"),
            ),
            (
                'type = "timestamp"\nlower = 2024-01-01T00:00:00Z\n'
                'upper = "2024-01-02T00:00+00:00"\nstep = "0.5"',
                Domain(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC), "0.5"),
            ),
        ],
    )
    def test_bounds_are_numbers_texts_dates_or_timestamps(self, tmp_path, lines, domain):
        assert column_of(tmp_path, lines).domain == domain

    @pytest.mark.parametrize(
        ("lines", "keys"),
        [
            ('type = "text"\nkeys = ["a", "", "1"]', ("a", "", "1")),
            ('type = "integer"\nkeys = [3, -1, "7"]', (3, -1, 7)),
            ('type = "decimal"\nkeys = [0.5, "1.25", 2]', (Decimal("0.5"), Decimal("1.25"), 2)),
            (
                'type = "date"\nkeys = [2024-01-31, "2024-02-29"]',
                (date(2024, 1, 31), date(2024, 2, 29)),
            ),
            ('type = "timestamp"\nkeys = [2024-01-31T12:00:00]', (datetime(2024, 1, 31, 12),)),
            ('type = "boolean"\nkeys = [true, false]', (True, False)),
        ],
    )
    def test_keys_are_of_the_columns_type(self, tmp_path, lines, keys):
        column = column_of(tmp_path, lines, PARQUET + "[datasets.d.columns.x]\n")
        assert column.keys == keys and [type(key) for key in column.keys] == [
            type(key) for key in keys
        ]

    def test_a_csv_file_is_read_as_it_is_written(self, tmp_path):
        dataset = dataset_of(
            tmp_path, DATASET + "delimiter = ';'\nquote = ''\nheader = false\nnames = ['a', 'b']\n"
        )
        assert (dataset.csv, dataset.names) == (CsvFormat(";", "", header=False), ("a", "b"))

    def test_names_with_any_signs_are_names(self, tmp_path):
        dataset = dataset_of(
            tmp_path, DATASET + '[datasets.d.columns."a.b = \\"c\\"\\n"]\ntype = "text"\n'
        )
        assert list(dataset.columns) == ['a.b = "c"\n']

    def test_a_version_may_be_a_whole_number(self, tmp_path):
        assert dataset_of(tmp_path, DATASET.replace('version = "1"', "version = 7")).version == "7"

    def test_a_byte_order_mark_is_ignored(self, tmp_path):
        assert list(read_policy(written(tmp_path, "\ufeff" + DATASET)).datasets) == ["d"]

    def test_a_dataset_never_shows_its_source(self, tmp_path):
        text = DATASET.replace('"d.csv"', '"postgresql://u:pass-xq-word@h/d"\ntable = "t"')
        policy = read_policy(written(tmp_path, text))
        assert "pass-xq-word" not in repr(policy)
        assert "pass-xq-word" in policy.datasets["d"].source


SAID = "which the steward must choose"
WRONG = {
    "no dataset": (
        "ledger = 'x'\n",
        [
            (
                0,
                (
                    "there is no dataset; add a table [datasets.NAME] with source, version, "
                    "budget and protect"
                ),
            )
        ],
    ),
    "an empty file": (
        "",
        [
            (
                0,
                (
                    "there is no dataset; add a table [datasets.NAME] with source, version, "
                    "budget and protect"
                ),
            )
        ],
    ),
    "datasets is a number": ("datasets = 3\n", [(1, "datasets must be a table, got 3")]),
    "a dataset is a text": ("[datasets]\nd = 'd.csv'\n", [(2, "d must be a table, got 'd.csv'")]),
    "a dataset without a name": (
        DATASET.replace("datasets.d", 'datasets.""'),
        [(1, "a dataset needs a name: [datasets.NAME]")],
    ),
    "all that is required": (
        "[datasets.d]\n",
        [
            (1, 'source is missing: where the rows are, such as source = "bank.parquet"'),
            (1, 'version is missing: which rows these are, such as version = "1"'),
            (
                1,
                "budget is missing: what all questions together may cost in epsilon, such as "
                'budget = "5"',
            ),
            (
                1,
                f"protect is missing: what one person may change, {SAID}: "
                'protect = { change = "add-or-remove-rows", rows = 1 }',
            ),
        ],
    ),
    "unknown keys": (
        DATASET.replace("budget", "bugdet") + "colums = {}\n[servers]\nport = 1\n",
        [
            (
                1,
                "budget is missing: what all questions together may cost in epsilon, such as "
                'budget = "5"',
            ),
            (4, "there is no key 'bugdet' here; did you mean 'budget' or 'delta'?"),
            (6, "there is no key 'colums' here; did you mean 'columns'?"),
            (7, "there is no key 'servers' here; did you mean 'service'?"),
        ],
    ),
    "unknown keys of a column": (
        COLUMN + 'type = "integer"\nmin = 0\nlow = 1\n',
        [
            (
                8,
                "there is no key 'min' here; there are: 'type', 'lower', 'upper', 'step', 'keys', "
                "'unreadable'",
            ),
            (9, "there is no key 'low' here; did you mean 'lower'?"),
        ],
    ),
    "budget": (
        DATASET.replace("budget = 1", "budget = 'lots'"),
        [(4, "budget must be a finite number, got 'lots'")],
    ),
    "budget zero": (
        DATASET.replace("budget = 1", "budget = 0"),
        [(4, "budget must be positive and at most 1000000, got 0")],
    ),
    "budget infinite": (
        DATASET.replace("budget = 1", "budget = inf"),
        [(4, "budget must be a finite number, got inf")],
    ),
    "budget true": (
        DATASET.replace("budget = 1", "budget = true"),
        [(4, "budget must be a number, got true")],
    ),
    "budget a date": (
        DATASET.replace("budget = 1", "budget = 2024-01-31"),
        [(4, "budget must be a number, got 2024-01-31")],
    ),
    "a budget to be filled in": (
        DATASET.replace("budget = 1", 'budget = "TODO"'),
        [
            (
                4,
                "budget is still to be filled in: what all questions together may cost in "
                'epsilon, such as budget = "5"',
            )
        ],
    ),
    "a version that is a float": (
        DATASET.replace('version = "1"', "version = 1.10"),
        [(3, "version must be text in quotes, got 1.1")],
    ),
    "an empty version": (
        DATASET.replace('version = "1"', "version = ''"),
        [(3, "version must not be empty")],
    ),
    "vouched": (DATASET + "vouched = 1\n", [(6, "vouched must be true or false, got 1")]),
    "rows": (DATASET + "rows = 0\n", [(6, "rows must be at least 1, got 0")]),
    "units": (DATASET + "units = 0\n", [(6, "units must be at least 1, got 0")]),
    "rows in part": (DATASET + "rows = 1.5\n", [(6, "rows must be a whole number, got 1.5")]),
    "limits": (
        DATASET
        + "max_epsilon_per_question = -1\nallowances = { ann = 0,\n  bob = 'x' }\n".replace(
            ",\n ", ","
        ),
        [
            (6, "max_epsilon_per_question must be positive and at most 1000000, got -1"),
            (7, "the allowance of 'ann' must be positive and at most 1000000, got 0"),
            (7, "the allowance of 'bob' must be a finite number, got 'x'"),
        ],
    ),
    "the least epsilon, questions and failures": (
        DATASET + "min_epsilon = 0\nquestions = 0\nmax_failures = 1.5\n",
        [
            (6, "min_epsilon must be positive and at most 1000000, got 0"),
            (7, "questions must be at least 1, got 0"),
            (8, "max_failures must be a whole number, got 1.5"),
        ],
    ),
    "a least epsilon that nothing may cost": (
        DATASET + 'max_epsilon_per_question = "1/2"\nmin_epsilon = "0.6"\n',
        [
            (
                7,
                "min_epsilon is 0.6, more than the 0.5 that one question may cost: nothing could "
                "be asked",
            )
        ],
    ),
    "absurd amounts": (
        DATASET.replace("budget = 1", 'budget = "1e-400"')
        + 'min_epsilon = "1e-13"\nmax_epsilon_per_question = "1e-401"\n'
        + f'allowances = {{ ann = "0.{"3" * 70}" }}\n',
        [
            (4, "budget must be at least 1e-12, got '1e-400': no question may cost less"),
            (6, "min_epsilon must be at least 1e-12, got '1e-13': no question may cost less"),
            (
                7,
                "max_epsilon_per_question must be a finite number of fewer digits and a smaller "
                "exponent, got '1e-401'",
            ),
            (
                8,
                "the allowance of 'ann' must have at most 60 digits, as a decimal or as a "
                f"fraction, got '0.{'3' * 54}...",
            ),
        ],
    ),
    "allowances in a table of their own": (
        DATASET + "[datasets.d.allowances]\nann = 1\nbob = []\n",
        [(8, "the allowance of 'bob' must be a number, got a list")],
    ),
    "the same people as itself": (
        DATASET + "same_people_as = 'd'\n",
        [(6, "same_people_as must name another dataset, got this one's own name")],
    ),
    "the same people as nobody": (
        DATASET + "same_people_as = 7\n",
        [(6, "same_people_as must be text in quotes, got 7")],
    ),
    "the same people, and another protection": (
        DATASET + OTHER.replace("rows = 1", "rows = 2") + "same_people_as = 'd'\n",
        [
            (
                11,
                "datasets 'other' and 'd' are about the same people, so their spends add up only "
                "under the same protect: 'other' protects replacing any 2 rows, 'd' replacing any "
                "one row; write the same in both",
            )
        ],
    ),
    "the same people, and another accountant": (
        DATASET + OTHER + "accountant = 'zcdp'\ndelta = 1e-6\nsame_people_as = 'd'\n",
        [
            (
                13,
                "datasets 'other' and 'd' are about the same people, so their spends add up only "
                "under the same accountant and delta: 'other' has \"zcdp\" with delta 0.000001, "
                "'d' \"pure\"; write the same in both",
            )
        ],
    ),
    "the same people over a third name": (
        DATASET
        + "same_people_as = 'gone'\n"
        + OTHER
        + "accountant = 'zcdp'\ndelta = 1e-6\nsame_people_as = 'gone'\n",
        [
            (
                line,
                f"datasets {names} are about the same people, so their spends add up only under "
                f"the same accountant and delta: {both}; write the same in both",
            )
            for line, names, both in (
                (6, "'d' and 'other'", "'d' has \"pure\", 'other' \"zcdp\" with delta 0.000001"),
                (14, "'other' and 'd'", "'other' has \"zcdp\" with delta 0.000001, 'd' \"pure\""),
            )
        ],
    ),
    "accountant": (
        DATASET + "accountant = 'zCDP'\n",
        [(6, "accountant cannot be 'zCDP'; there are: 'pure', 'zcdp'")],
    ),
    "zcdp without delta": (
        DATASET + "accountant = 'zcdp'\n",
        [(6, 'accountant = "zcdp" needs delta, a number of at most 0.01 such as delta = "1e-6"')],
    ),
    "delta of one": (
        DATASET + "accountant = 'zcdp'\ndelta = 1\n",
        [(7, "delta must lie strictly between 0 and 1, got 1")],
    ),
    "delta that protects nobody": (
        DATASET + "accountant = 'zcdp'\ndelta = '0.9998'\n",
        [
            (
                7,
                "delta must be at most 0.01, got '0.9998': with that probability the promise may "
                "fail altogether, so it should be far below one over the number of persons, such "
                'as "1e-6"',
            )
        ],
    ),
    "pure with delta": (
        DATASET + "delta = '1e-6'\n",
        [(6, 'delta goes with accountant = "zcdp"; leave it out, or write that accountant')],
    ),
    "protect is a text": (
        DATASET.replace('{ change = "replace-rows", rows = 1 }', '"replace-rows"'),
        [(5, "protect must be a table, got 'replace-rows'")],
    ),
    "protect is empty": (
        DATASET.replace('{ change = "replace-rows", rows = 1 }', "{}"),
        [
            (5, f"change is missing: what neighbouring tables differ in: {CHANGES}"),
            (5, "rows is missing: how many rows belong to one person at most, such as rows = 1"),
        ],
    ),
    "protect is misspelt": (
        DATASET.replace("replace-rows", "replace-row").replace("rows = 1", "rows = 0"),
        [
            (5, "change cannot be 'replace-row'; did you mean 'replace-rows' or 'replace-units'?"),
            (5, "rows must be at least 1, got 0"),
        ],
    ),
    "units without a column": (
        DATASET.replace("replace-rows", "replace-units"),
        [(5, 'unit is missing: the column whose values are persons, such as unit = "customer_id"')],
    ),
    "rows with a column of units": (
        DATASET.replace("rows = 1 }", "rows = 1, unit = 'who' }"),
        [
            (
                5,
                (
                    "unit goes with add-or-remove-units or replace-units, got change = "
                    "'replace-rows'; leave unit out, or write such a change"
                ),
            )
        ],
    ),
    "protect to be filled in": (
        DATASET.replace('"replace-rows", rows = 1', '"TODO", rows = "TODO"'),
        [
            (5, f"change is still to be filled in: what neighbouring tables differ in: {CHANGES}"),
            (
                5,
                (
                    "rows is still to be filled in: how many rows belong to one person at most, "
                    "such as rows = 1"
                ),
            ),
        ],
    ),
    "the ledger": ("ledger = 3\n" + DATASET, [(1, "ledger must be text in quotes, got 3")]),
    "a ledger elsewhere": (
        "ledger = 'mysql://u:pass-xq-word@h/d'\n" + DATASET,
        [
            (
                1,
                "ledger must be the path of a file, or the URL of a PostgreSQL database, such as "
                '"postgresql://user@host/database"',
            )
        ],
    ),
    "the head of a file in a database": (
        "ledger = 'l'\nledger_head = 'postgresql://u:pass-xq-word@h/d'\n" + DATASET,
        [
            (
                2,
                "ledger_head is a database, and the ledger is a file; name a file for its head, "
                "or keep the ledger in a database too",
            )
        ],
    ),
    "the ledger twice": (
        "ledger = 'a/l'\nledger_head = 'a/l'\n" + DATASET,
        [(2, "ledger_head is the ledger itself; keep the head of its chain in another place")],
    ),
    "a file of no format": (
        DATASET.replace("d.csv", "d.xlsx"),
        [
            (
                2,
                "source must end in one of .csv, .tsv, .txt, .csv.gz, .csv.zst, .tsv.gz, "
                ".tsv.zst, .txt.gz, .txt.zst, .parquet, .pq, "
                "or be a DuckDB database file or a PostgreSQL URL or a Spark URL or a chdb URL, "
                "with table = ...",
            )
        ],
    ),
    "a file with a table": (
        DATASET + "table = 't'\n",
        [(2, "a .csv file is one table; leave table out")],
    ),
    "a database without a table": (
        DATASET.replace("d.csv", "d.duckdb"),
        [(2, 'a DuckDB database needs the name of its table: write table = "main.trips"')],
    ),
    "a server without a table": (
        DATASET.replace("d.csv", "postgresql://u:pass-xq-word@h/d"),
        [(2, 'a PostgreSQL source needs the name of its table: write table = "schema.table"')],
    ),
    "an empty table": (
        DATASET.replace("d.csv", "d.db") + "table = ''\n",
        [(6, "table must not be empty")],
    ),
    "marks of a CSV file": (
        DATASET + "delimiter = ',,'\nquote = 5\nheader = 'yes'\nnames = []\n",
        [
            (6, "delimiter must be one ASCII character, got ',,'"),
            (7, "quote must be one ASCII character or empty, got 5"),
            (8, "header must be true or false, got 'yes'"),
            (9, 'names must be a list, such as names = ["one", "two"], got an empty list'),
            (9, "names are for a file without a header; leave them out, or write header = false"),
        ],
    ),
    "equal marks": (
        DATASET + "quote = ','\n",
        [(6, "delimiter and quote must differ, got ',' for both")],
    ),
    "marks of a Parquet file": (
        PARQUET + "delimiter = ';'\nheader = false\n",
        [
            (6, "delimiter is for CSV files; leave it out"),
            (7, "header is for CSV files; leave it out"),
        ],
    ),
    "no header and no names": (
        DATASET + "header = false\n",
        [
            (
                6,
                "a file without a header needs the names of all its columns, in order: "
                'names = ["first", "second"]',
            )
        ],
    ),
    "a column that is not among the names": (
        DATASET
        + 'header = false\nnames = ["age", "job"]\n[datasets.d.columns.ages]\ntype = "integer"\n',
        [(8, "there is no column 'ages' among names; did you mean 'age'?")],
    ),
    "names twice": (
        DATASET + "header = false\nnames = ['a', 'a']\n",
        [(7, "names must differ from one another, got 'a' more than once")],
    ),
    "no type": (
        COLUMN + "lower = 0\n",
        [
            (
                6,
                (
                    "type is missing: what the column holds: integer, decimal, float, date, "
                    "timestamp, text, boolean"
                ),
            )
        ],
    ),
    "a type that is none": (
        COLUMN + "type = 'int'\n",
        [(7, "type cannot be 'int'; did you mean 'integer'?")],
    ),
    "a type that is a number": (
        COLUMN + "type = 5\n",
        [
            (
                7,
                (
                    "type cannot be 5; there are: 'integer', 'decimal', 'float', 'date', "
                    "'timestamp', 'text', 'boolean'"
                ),
            )
        ],
    ),
    "a boolean in a CSV file": (
        COLUMN + "type = 'boolean'\nkeys = [true]\n",
        [
            (
                7,
                'a CSV file holds no booleans; write type = "text" and keys = ["true", "false"], '
                "as the cells are written",
            )
        ],
    ),
    "one bound": (
        COLUMN + "type = 'integer'\nlower = 0\n",
        [(8, "upper must stand beside lower: a domain has both bounds, or none")],
    ),
    "a step alone": (
        COLUMN + "type = 'float'\nstep = 1\n",
        [(8, "lower and upper must stand beside step: a domain has both bounds, or none")],
    ),
    "bounds of text": (
        COLUMN + "type = 'text'\nlower = 'a'\nupper = 'b'\n",
        [(8, "a column of type text has no bounds; leave lower and upper out")],
    ),
    "bounds reversed": (
        COLUMN + "type = 'integer'\nlower = 5\nupper = 1\n",
        [(8, "lower must be below upper, got lower 5 and upper 1")],
    ),
    "bounds off the grid": (
        COLUMN + "type = 'integer'\nlower = 0\nupper = 10\nstep = 3\n",
        [
            (
                8,
                (
                    "upper must be lower plus a whole number of steps, got lower 0, upper 10, "
                    "step 3; take 9 or 12"
                ),
            )
        ],
    ),
    "bounds of another kind": (
        COLUMN + "type = 'integer'\nlower = 2024-01-01\nupper = '2024-01-31'\n",
        [
            (8, "lower must be a number, got 2024-01-01"),
            (9, "upper must be a finite number, got '2024-01-31'"),
        ],
    ),
    "dates of another kind": (
        COLUMN + "type = 'date'\nlower = 0\nupper = 2024-01-01T00:00:00\n",
        [
            (8, "lower must be a date, such as 2024-01-31, got 0"),
            (9, "upper must be a date, such as 2024-01-31, got 2024-01-01T00:00:00"),
        ],
    ),
    "dates reversed": (
        COLUMN + "type = 'date'\nlower = 2024-01-31\nupper = 2024-01-01\n",
        [(8, "lower must be below upper, got lower '2024-01-31' and upper '2024-01-01'")],
    ),
    "no such day": (
        COLUMN + "type = 'date'\nlower = '2023-02-29'\nupper = 2024-01-01\n",
        [(8, "lower must be a date, such as 2024-01-31, got '2023-02-29'")],
    ),
    "one zone": (
        COLUMN + "type = 'timestamp'\nlower = 2024-01-01T00:00:00Z\nupper = 2024-01-02\n",
        [
            (
                8,
                (
                    "lower and upper must be of one kind, got '2024-01-01T00:00:00+00:00' and "
                    "'2024-01-02T00:00:00'"
                ),
            )
        ],
    ),
    "beyond the calendar": (
        COLUMN
        + "type = 'timestamp'\nlower = 2024-01-01T00:00:00Z\nupper = '9999-12-31T23:00:00-14:00'\n",
        [
            (
                9,
                (
                    "upper must be a timestamp, such as 2024-01-31T18:30:00, got "
                    "'9999-12-31T23:00:00-14:00'"
                ),
            )
        ],
    ),
    "a negative step": (
        COLUMN + "type = 'float'\nlower = 0\nupper = 1\nstep = -1\n",
        [(10, "step must be positive, got -1")],
    ),
    "bounds to be filled in": (
        COLUMN + "type = 'float'\nlower = 'TODO'\nupper = 1\n",
        [(8, "lower is still to be filled in: write its value in place of TODO")],
    ),
    "keys": (
        COLUMN + "type = 'integer'\nkeys = [\n  1,\n  'x',  # no\n\n  true,\n]\n",
        [
            (10, "a key of a column of type integer must be a finite number, got 'x'"),
            (12, "a key of a column of type integer must be a number, got true"),
        ],
    ),
    "keys that are one": (
        COLUMN + "type = 'text'\nkeys = 'a'\n",
        [(8, 'keys must be a list, such as keys = ["one", "two"], got \'a\'')],
    ),
    "keys of no number": (
        COLUMN + "type = 'text'\nkeys = []\n",
        [(8, 'keys must be a list, such as keys = ["one", "two"], got an empty list')],
    ),
    "keys of text that are numbers": (
        COLUMN + "type = 'text'\nkeys = [1]\n",
        [(8, "a key of a column of type text must be text in quotes, got 1")],
    ),
    **{
        f"unreadable as {said}": (
            COLUMN + f"type = 'integer'\nunreadable = {said}\n",
            [(8, f"unreadable must {message}, got {got}")],
        )
        for said, message, got in (
            ("'2%'", SHARE, "'2%'"),
            ("'up to 2'", SHARE, "'up to 2'"),
            ("'up to -2%'", SHARE, "'up to -2%'"),
            ("'up to 101%'", SHARE, "'up to 101%'"),
            ("'Up to 2%'", SHARE, "'Up to 2%'"),
            ("'up to 2% '", SHARE, "'up to 2% '"),
            ("0.02", SHARE, "0.02"),
        )
    },
    "unreadable text": (
        COLUMN + "type = 'text'\nunreadable = 'up to 2%'\n",
        [(8, ALL_READ)],
    ),
    "unreadable cells of a source with types": (
        PARQUET + "[datasets.d.columns.x]\ntype = 'float'\nunreadable = 'up to 2%'\n",
        [(8, ALL_READ)],
    ),
    "keys twice": (
        COLUMN + "type = 'text'\nkeys = ['a', 'a']\n",
        [(8, "the public keys of 'x' must differ from one another")],
    ),
    "keys of floats": (
        COLUMN + "type = 'float'\nkeys = [0.5]\n",
        [(8, "a column of floats has no keys, because floats are rounded; leave keys out")],
    ),
    "keys that no decimal writes": (
        COLUMN + "type = 'decimal'\nkeys = ['1/3']\n",
        [(8, "a key of a column of type decimal must be a finite decimal, got '1/3'")],
    ),
    "keys to be filled in": (
        COLUMN + "type = 'text'\nkeys = ['TODO']\n",
        [(8, "the keys are still to be filled in: write them in place of TODO, or leave keys out")],
    ),
    "a column that is a text": (
        DATASET + "columns = { x = 'integer' }\n",
        [(6, "x must be a table, got 'integer'")],
    ),
    "two datasets": (
        DATASET.replace("budget = 1", "budget = -1")
        + DATASET.replace("datasets.d", "datasets.e").replace('version = "1"\n', ""),
        [
            (4, "budget must be positive and at most 1000000, got -1"),
            (6, 'version is missing: which rows these are, such as version = "1"'),
        ],
    ),
    "a syntax error": ("[datasets.d]\nsource = \n", [(2, "this is not TOML: Invalid value")]),
    "a key twice": (DATASET + "budget = 2\n", [(6, "this is not TOML: Cannot overwrite a value")]),
    "an end too soon": (
        DATASET + "allowances = {",
        [(6, "this is not TOML: Invalid initial character for a key part")],
    ),
    "a number without end": (
        f"rows = {'9' * 5000}\n",
        [(0, "this is not TOML: a number has too many digits")],
    ),
    "brackets without end": (
        f"a = {'[' * 5000}",
        [(0, "this is not a policy: it is nested too deep")],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_problem_is_told_with_its_line(tmp_path, name):
    text, expected = WRONG[name]
    assert problems(tmp_path, text) == expected


def test_problems_of_all_parts_are_told_at_once_in_the_order_of_their_lines(tmp_path):
    text = (
        "[datasets.d.columns.x]\ntype = 'int'\n[datasets.d]\nbudget = 0\nsource = "
        "'d.csv'\nprotect = {}\nverson = '1'\n"
    )
    assert [line for line, _ in problems(tmp_path, text)] == [2, 3, 4, 6, 6, 7]


def test_the_error_names_the_file_and_lists_the_problems(tmp_path):
    path = written(tmp_path, DATASET.replace("budget = 1", "budget = 0"))
    with pytest.raises(
        PostriError, match=r"has 1 problem:\n  line 4: budget must be positive"
    ) as caught:
        read_policy(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "postgres:/u:pass-xq-word@h/d",
        "postgressql://u:pass-xq-word@h/d",
        "mysql://u:pass-xq-word@h/d",
        "host=h user=u password=pass-xq-word",
        "user=u password=pass-xq-word/x.csv",
        "postgresql://u:pass-xq@word@h/d",
    ],
)
def test_a_misspelt_url_is_refused_and_never_shown(tmp_path, source):
    ((line, text),) = problems(tmp_path, DATASET.replace("d.csv", source) + "table = 't'\n")
    assert (line, text) == (
        2,
        (
            "source is not the URL of a PostgreSQL server; write "
            "postgresql://user@host:port/database, special signs as %XX"
        ),
    )


def test_a_folder_may_be_named_like_a_part_of_a_url(tmp_path):
    assert (
        dataset_of(tmp_path, DATASET.replace("d.csv", "host=oslo/*.csv")).source
        == "host=oslo/*.csv"
    )


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PolicyError, match="there is no such file; postri init DATA writes one"):
        read_policy(tmp_path / "postri.toml")
    with pytest.raises(PolicyError, match="the file cannot be read: Is a directory"):
        read_policy(tmp_path)


def test_a_file_that_is_not_utf_8_tells_its_line(tmp_path):
    path = tmp_path / "postri.toml"
    path.write_bytes(b"# good\n# b\xe9d\n")
    with pytest.raises(PolicyError) as caught:
        read_policy(path)
    assert [(each.line, each.text) for each in caught.value.problems] == [
        (2, "the file must be written in UTF-8, and this line is not")
    ]
