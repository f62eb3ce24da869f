"""The steward's commands: what they print, and their exit codes."""

from __future__ import annotations

import json

import duckdb
import pytest

from program import run

pytestmark = pytest.mark.slow

FILLED = {
    'budget = "TODO"': "budget = 5",
    'change = "TODO", rows = "TODO"': 'change = "add-or-remove-rows", rows = 1',
}


@pytest.fixture
def folder(tmp_path):
    """Three good rows, one null age, one age above 120 and one line that is no record."""
    (tmp_path / "staff.csv").write_text("age,team\n30,a\n40,b\n50,a\n,b\n999,c\nbroken\n")
    return tmp_path


def fill(folder, **types):
    """What the steward writes into the skeleton."""
    path = folder / "postri.toml"
    text = path.read_text()
    for mark, value in FILLED.items():
        assert mark in text
        text = text.replace(mark, value)
    before, age, team = (
        text.partition("[datasets.staff.columns.age]")[0],
        "[datasets.staff.columns.age]",
        "[datasets.staff.columns.team]",
    )
    lines = {
        "age": 'type = "integer"\nlower = 0\nupper = 120',
        "team": 'type = "text"\nkeys = ["a", "b"]',
    } | types
    path.write_text(f"{before}{age}\n{lines['age']}\n{team}\n{lines['team']}\n")
    return path.read_text()


def line_of(text, start):
    return next(
        number for number, line in enumerate(text.splitlines(), start=1) if line.startswith(start)
    )


def test_init_writes_a_policy_and_says_what_is_to_be_done_next(folder):
    out, err = run("init", "staff.csv", folder=folder)
    assert out == "postri.toml\n"
    steps = [line.split()[0] for line in err.splitlines() if line.startswith("  ")]
    assert steps == ["1.", "2.", "3.", "4.", "5."]
    assert "budget and protect" in err and "postri check --look" in err
    assert "[datasets.staff]" in (folder / "postri.toml").read_text()


def test_from_init_to_a_policy_without_errors(folder):
    run("init", "staff.csv", folder=folder)
    out, err = run("check", folder=folder, code=2)
    assert [line.split(": ")[1].split()[0] for line in out.splitlines()] == [
        "budget",
        "change",
        "rows",
    ]
    text = (folder / "postri.toml").read_text()
    assert (
        out.startswith(f"postri.toml:{line_of(text, 'budget')}: budget is still to be filled in: ")
        and err == ""
    )
    fill(folder)
    assert run("check", folder=folder) == ("postri.toml: no errors: all is well\n", "")


def test_init_never_writes_over_a_file_unless_forced(folder):
    (folder / "postri.toml").write_text("mine")
    _, err = run("init", "staff.csv", folder=folder, code=2)
    assert err == (
        "postri: there is a file 'postri.toml' already; --force writes over it, --out names "
        "another\n"
    )
    assert (folder / "postri.toml").read_text() == "mine"
    run("init", "staff.csv", "--out", "other.toml", folder=folder)
    run("init", "staff.csv", "--force", folder=folder)
    assert (folder / "postri.toml").read_text() == (folder / "other.toml").read_text()


def test_init_takes_what_a_csv_file_does_not_tell(folder):
    (folder / "plain.txt").write_text("1;'x'\n")
    marks = ("--delimiter", ";", "--quote", "'", "--no-header", "--names", "n,t")
    run("init", "plain.txt", *marks, folder=folder)
    text = (folder / "postri.toml").read_text()
    assert 'delimiter = ";"\nquote = "\'"\nheader = false\nnames = ["n", "t"]\n' in text
    assert "[datasets.plain.columns.t]" in text


def test_init_of_data_or_into_a_folder_that_is_not_there_exits_with_2(folder):
    assert "did you mean 'staff.csv'?" in run("init", "staf.csv", folder=folder, code=2)[1]
    assert (
        "No such file or directory; choose another place"
        in run("init", "staff.csv", "--out", "no/p.toml", folder=folder, code=2)[1]
    )
    assert not (folder / "postri.toml").exists()


def test_check_tells_errors_and_warnings_with_their_lines(folder):
    run("init", "staff.csv", folder=folder)
    text = fill(folder, age='type = "integer"', team='type = "decimal"\nkeys = [1]')
    out, _ = run("check", folder=folder, code=2)
    age, team = (line_of(text, f"[datasets.staff.columns.{name}]") for name in ("age", "team"))
    first, *others = out.splitlines()
    assert first.startswith(f"postri.toml:{team}: the column 'team' has the declared type decimal")
    assert [other.partition(": column")[0] for other in others] == [
        f"postri.toml:{age}: warning",
        f"postri.toml:{team}: warning",
    ]


def test_warnings_alone_exit_with_0(folder):
    run("init", "staff.csv", folder=folder)
    fill(folder, age='type = "integer"')
    out, _ = run("check", folder=folder)
    assert out.splitlines()[-1] == "postri.toml: no errors, 1 warning"


def test_a_view_is_refused_until_the_steward_vouches_which_is_shown_in_red(folder):
    with duckdb.connect(str(folder / "staff.duckdb")) as connection:
        connection.execute("CREATE VIEW staff AS SELECT 30 AS age, 'a' AS team")
    run("init", "staff.duckdb", "--table", "staff", folder=folder)
    text = fill(folder)
    assert "# vouched = true" in text and "it is a view" in text
    out, _ = run("check", folder=folder, code=2)
    assert "the source is a view" in out and "say vouched = true" in out
    (folder / "postri.toml").write_text(text.replace("# vouched = true", "vouched = true"))
    plain, _ = run("check", folder=folder)
    assert "vouched for" in plain and "one bit of that row" in plain
    assert plain.splitlines()[-1] == "postri.toml: no errors, 1 warning"
    shown, _ = run("check", folder=folder, FORCE_COLOR="1")
    assert shown.startswith("\x1b[31m") and "\x1b[31m" not in plain


def test_the_policy_is_named_by_option_by_variable_or_by_default(folder):
    run("init", "staff.csv", folder=folder)
    fill(folder)
    (folder / "postri.toml").rename(folder / "mine.toml")
    assert run("check", "--policy", "mine.toml", folder=folder)[0].startswith(
        "mine.toml: no errors"
    )
    assert run("check", folder=folder, POSTRI_POLICY="mine.toml")[0].startswith(
        "mine.toml: no errors"
    )
    assert run("check", "--policy", "mine.toml", folder=folder, POSTRI_POLICY="no.toml")[
        0
    ].startswith("mine.toml: no errors")
    assert (
        run("check", folder=folder, code=2)[0]
        == "postri.toml: there is no such file; postri init DATA writes one\n"
    )


def test_look_shows_what_is_lost_and_says_that_it_is_not_private(folder):
    run("init", "staff.csv", folder=folder)
    fill(folder)
    out, _ = run("check", "--look", folder=folder)
    assert "NOT PRIVATE" in out and "staff: 6 rows" in out
    cells = {
        line.split()[0]: line.split()[1:]
        for line in out.splitlines()
        if line.startswith(("  age ", "  team "))
    }
    assert cells == {
        "age": ["integer", "4", "(66.67%)", "1", "(16.67%)", "none", "none", "1", "(16.67%)"],
        "team": ["text", "5", "(83.33%)", "none", "none", "1", "(16.67%)"],
    }
    assert "1 (16.67%) lines are no records, and are lost in every column: line 7" in out
    assert "  age: empty: line 5\n" in out
    assert '    age: unreadable = "up to 20%"\n' in out and "team: unreadable" not in out
    for cell in ("999", "broken"):
        assert cell not in out


def test_look_has_exact_numbers_in_json(folder):
    run("init", "staff.csv", folder=folder)
    fill(folder)
    said = json.loads(run("check", "--look", "--json", folder=folder)[0])
    assert (said["errors"], said["warnings"], said["private"]) == (
        [],
        [],
        False,
    ) and "NOT PRIVATE" in said["notice"]
    seen = said["look"]["staff"]
    assert (seen["rows"], seen["units"]) == (6, None)
    assert seen["no_record"] == {"rows": 1, "share": 1 / 6, "first": [7]}
    age, team = seen["columns"]["age"], seen["columns"]["team"]
    assert (age["type"], age["accepted"], age["unknown_keys"]) == ("integer", None, None)
    assert age["empty"] == {"rows": 1, "share": 1 / 6, "first": [5]}
    counts = ("read", "dropped", "unreadable", "below", "above")
    assert [age[name]["rows"] for name in counts] == [4, 2, 0, 0, 1]
    assert age["dropped"]["share"] == 2 / 6
    assert (team["dropped"]["rows"], team["unknown_keys"]["rows"]) == (1, 1)


def test_look_tells_where_more_is_lost_than_the_policy_accepts(folder):
    run("init", "staff.csv", folder=folder)
    accepted = 'type = "integer"\nlower = 0\nupper = 120\nunreadable = "up to {}%"'
    text = fill(folder, age=accepted.format("1.5"))
    line = line_of(text, "[datasets.staff.columns.age]")
    out, _ = run("check", "--look", folder=folder)
    assert (
        f"postri.toml:{line}: warning: more cells of 'age' cannot be read than the 1.5% that "
        "unreadable accepts\n"
    ) in out
    assert "unreadable = " not in out
    run("init", "staff.csv", "--force", folder=folder)
    fill(folder, age=accepted.format("20"))
    assert "warning" not in run("check", "--look", folder=folder)[0]


def test_a_file_is_looked_at_without_a_policy(folder):
    (folder / "trips.csv").write_text(
        "rider,fare,day,city\n"
        + "".join(f"{i // 10},{i}.5,2024-01-0{1 + i % 9},Oslo\n" for i in range(60))
        + "7,n/a,soon,Rome\n7,8,,Oslo\n"
    )
    out, err = run("look", "trips.csv", "--unit", "rider", folder=folder)
    assert "NOT PRIVATE" in out and "trips.csv: 62 rows" in out and err == ""
    rows = [line.split() for line in out.splitlines()]
    assert ["rider", "integer", "all", "none", "none"] in rows
    assert ["fare", "decimal", "61", "(98.39%)", "none", "1", "(1.61%)"] in rows
    assert ["day", "date", "60", "(96.77%)", "1", "(1.61%)", "1", "(1.61%)"] in rows
    assert ["city", "text", "all", "none", "none"] in rows
    assert "  fare: not numbers: line 62\n" in out and "  day: empty: line 63\n" in out
    assert "rider: 7 units" in out and "rows = 10 is the least of these that keeps 95%" in out
    assert "n/a" not in out and "soon" not in out
    said = json.loads(
        run("look", "trips.csv", "--type", "fare=integer", "--json", folder=folder)[0]
    )
    assert (said["private"], said["units"]) == (False, None)
    (fare,) = said["columns"]["fare"]["readings"]
    assert (fare["type"], fare["read"]["rows"]) == ("integer", 1)
    assert fare["unreadable"] == {"rows": 61, "share": 61 / 62, "first": [2, 3, 4, 5, 6]}


def test_a_file_of_which_nothing_is_lost_has_no_list_of_losses(folder):
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 1 AS a, 'x' AS b) TO '{folder / 'whole.parquet'}' (FORMAT parquet)"
        )
    out, _ = run("look", "whole.parquet", "--unit", "b", folder=folder)
    assert "whole.parquet: 1 rows" in out and "row 1" not in out and ": not" not in out
    assert "rows = 1 is the least of these" in out
    (folder / "none.csv").write_text("a,b\n")
    assert (
        "there is no row to choose a bound by"
        in run("look", "none.csv", "--unit", "b", folder=folder)[0]
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("nothing.csv",), "there is no file 'nothing.csv'"),
        (("staff.csv", "--unit", "agee"), "did you mean 'age'?"),
        (("staff.csv", "--type", "age"), "--type must name a column and its type"),
        (("staff.csv", "--type", "age=truth"), "such as --type age=integer"),
        (("staff.csv", "--type", "agee=date"), "did you mean 'age'?"),
    ],
)
def test_a_look_at_what_is_not_there_exits_with_2(words, reason, folder):
    assert reason in run("look", *words, folder=folder, code=2)[1]


def test_nothing_is_looked_at_without_asking_or_while_there_are_errors(folder):
    run("init", "staff.csv", folder=folder)
    said = json.loads(run("check", "--look", "--json", folder=folder, code=2)[0])
    assert said["look"] == {} and [problem["line"] > 0 for problem in said["errors"]] == [
        True,
        True,
        True,
    ]
    fill(folder)
    assert list(json.loads(run("check", "--json", folder=folder)[0])) == ["errors", "warnings"]
    assert "NOT PRIVATE" not in run("check", folder=folder)[0]


def test_names_that_look_like_markup_are_shown_as_they_are(folder):
    (folder / "odd.csv").write_text("[red]x[/red]\n1\n")
    run("init", "odd.csv", folder=folder)
    path = folder / "postri.toml"
    path.write_text(
        path.read_text()
        .replace(*next(iter(FILLED.items())))
        .replace('change = "TODO", rows = "TODO"', 'change = "replace-rows", rows = 1')
    )
    assert "[red]x[/red]" in run("check", "--look", folder=folder)[0]
