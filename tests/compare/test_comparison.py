"""The comparison with other libraries, run small: ours beside a planted program, no network."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from compare.findings import brief, findings
from compare.measures import Figure, Truth, cell, coverage
from compare.page import FEATURES, kept_rows, write_page
from compare.programs import Environments, Lane
from compare.registry import PEERS, ROOT, EnvironmentMissing, Peer
from compare.rows import Row, all_rows, chosen
from compare.running import ODD, Settings, run_row
from compare.tables import TABLES, Bounds
from postri.errors import InputError

# Each starts programs of its own.
pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("planted_peer.py")
OURS = PEERS[0]
RUNS = 40
ROW = Row("small-median", "error", "small", "median", (0.5,))


def planted(*ways: str) -> Peer:
    return Peer("planted", "Planted", PROGRAM, ways=ways)


def small_settings(out: Path, *peers: Peer, **more) -> Settings:
    return Settings(
        peers,
        out,
        RUNS,
        patience=60,
        epsilons=(1.0,),
        column=lambda table: np.arange(0, 20_001, 10),
        bounds=lambda table: Bounds(0, 20_000),
        **more,
    )


def run(row: Row, settings: Settings) -> None:
    """One row, by programs that are started for it."""
    with Lane(settings.environments()) as lane:
        run_row(row, settings, lane)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The folder of a small comparison with everything that can be planted."""
    out = tmp_path_factory.mktemp("compared")
    ways = ("better", "overclaims", "narrow", "wide", "lacks", "no number")
    run(ROW, small_settings(out, OURS, planted(*ways)))
    write_page(out)
    return out


def cells_of(out: Path, way: str) -> list[dict]:
    (row,) = kept_rows(out)
    return [each for each in row["cells"] if each["way"] == way]


def with_errors(out: Path, better: float, default: float, heavy: float) -> list[dict]:
    """The rows with these errors in place of what was drawn, so that no luck is left."""
    rows = kept_rows(out)
    for each in rows[0]["cells"]:
        if "rank_error" in each:
            mean = {"better": better, "default": default, "9:1": heavy}.get(each["way"], 40.0)
            each["rank_error"] = {"mean": mean, "error": 0.1}
    return rows


def page_of(rows: list[dict], out: Path) -> str:
    (out / "rows").mkdir()
    (out / "rows" / "small-median.json").write_text(json.dumps(rows[0]))
    return write_page(out).read_text()


def test_a_peer_that_is_better_is_named(compared, tmp_path):
    rows = with_errors(compared, better=1.0, default=5.0, heavy=4.0)
    errors, *_ = findings(rows)
    (found,) = errors.open
    assert found.words == "small-median at epsilon 1, planted (better): error 1 against 5"
    assert errors.closed == []
    assert "small-median at 1: 0.20" in page_of(rows, tmp_path)


def test_few_runs_that_are_all_alike_are_taken_to_vary_as_ours_do(compared):
    rows = with_errors(compared, better=1.0, default=1.5, heavy=1.4)
    (better,) = (each for each in rows[0]["cells"] if each["way"] == "better")
    better["rank_error"]["error"] = 0.0
    errors, *_ = findings(rows)
    assert errors.against == []


def test_one_that_is_closer_by_the_split_alone_is_counted_by_library(compared, tmp_path):
    rows = with_errors(compared, better=2.0, default=5.0, heavy=2.1)
    errors, *_ = findings(rows)
    assert [each.peer for each in errors.closed] == ["planted (better)"]
    assert errors.open == []
    assert "in 1 of the former ours is no more than noise apart" in errors.verdict
    text = page_of(rows, tmp_path)
    assert "Where a library is closer than our default" in text
    assert "however epsilon is split" not in text


def test_an_interval_that_does_not_hold_is_shown_as_such_whatever_it_claims(compared):
    (overclaiming,) = cells_of(compared, "overclaims")
    assert overclaiming["coverage"] == {"share": 0.0, "tries": RUNS, "stands": False}
    text = (compared / "index.html").read_text()
    assert "<strong>0.000</strong>" in text
    assert "promise broken" in text


def test_a_narrower_interval_that_holds_is_named_and_one_that_misses_is_no_rival(compared):
    *_, narrowest, _ = findings(kept_rows(compared))
    assert [each.words.split(":")[0] for each in narrowest.against] == [
        "small-median at epsilon 1, planted (narrow)"
    ]
    assert narrowest.looked_at == 2


def test_a_width_that_is_rounded_otherwise_is_no_narrower(compared):
    rows = kept_rows(compared)
    for each in rows[0]["cells"]:
        if "half_width" in each:
            mean = 999.99 if each["way"] == "narrow" else 1_000.0
            each["half_width"] = {"mean": mean, "error": 0.0}
    *_, narrowest, _ = findings(rows)
    assert narrowest.against == []


# Fails by luck if 40 intervals of 95 % miss so often that chance explains it once in ten thousand:
# the true coverage is above 0.99 here, so less than once in 1e12.
def test_our_intervals_are_looked_at_under_both_kinds_of_neighbours(compared):
    _, covered, *_ = findings(kept_rows(compared))
    assert covered.looked_at == 4
    assert covered.against == []


def test_what_a_library_lacks_or_answers_wrongly_is_kept_in_words(compared):
    (lacking,) = cells_of(compared, "lacks")
    (wordy,) = cells_of(compared, "no number")
    assert lacking["unsupported"] == "planted gap"
    assert wordy["error"] == "an answer is no number"


def test_the_page_tells_the_runs_and_the_rows_that_were_not_run(compared):
    text = (compared / "index.html").read_text()
    assert f"<td>{RUNS}</td>" in text
    assert "rows were not run for this page" in text
    assert "make compare ONLY=NAME" in text


def test_a_cell_with_few_runs_tells_nothing(compared):
    rows = kept_rows(compared)
    for each in rows[0]["cells"]:
        if "runs" in each:
            each["runs"] = 7
    found = findings(rows)
    assert [finding.looked_at for finding in found] == [0, 0, 0, 0]
    assert [finding.against for finding in found] == [[], [], [], []]
    assert "4 cells had fewer than 30 runs and tell nothing" in found[1].verdict


def test_a_row_run_again_renews_its_peers_and_keeps_the_others(tmp_path):
    run(ROW, small_settings(tmp_path, planted("better")))
    run(ROW, small_settings(tmp_path, Peer("other", "Other", PROGRAM, ways=("wide",))))
    run(ROW, small_settings(tmp_path, planted("wide")))
    (row,) = kept_rows(tmp_path)
    assert sorted((each["peer"], each["way"]) for each in row["cells"]) == [
        ("other", "wide"),
        ("planted", "wide"),
    ]


def test_a_program_that_ends_or_sleeps_is_told_and_the_next_task_is_answered(tmp_path):
    table = tmp_path / "t.npy"
    np.save(table, np.arange(11))
    tasks = [
        {
            "way": way,
            "statistic": "median",
            "epsilon": 1,
            "lower": 0,
            "upper": 10,
            "runs": 1,
            "seconds": 1,
            "table": str(table),
        }
        for way in ("ends", "better")
    ]
    with Lane(Environments(tmp_path)) as lane:
        ended, better = (lane.ask(planted("ends"), task, patience=60) for task in tasks)
        slept = lane.ask(planted(), {**tasks[0], "way": "sleeps"}, patience=2)
        awake = lane.ask(planted(), tasks[1], patience=60)
    assert ended == {"error": "the program ended: planted end"}
    assert better["values"] == [[5.0]]
    assert slept == {"error": "no answer within 2 s"}
    assert awake["values"] == [[5.0]]


def test_odd_inputs_are_shown_with_what_was_raised(tmp_path):
    (row,) = [row for row in all_rows() if row.kind == "odd"]
    run(row, small_settings(tmp_path, planted("better")))
    text = write_page(tmp_path).read_text()
    assert all(f"planted 'message' about {odd}" in text for odd in ODD)


def test_an_environment_that_cannot_be_built_is_the_answer(tmp_path, monkeypatch):
    def fails(key, requirements, environments):
        raise EnvironmentMissing("planted: no such distribution")

    monkeypatch.setattr("compare.registry.built", fails)
    absent = Peer("absent", "Absent", PROGRAM, "absent==1")
    run(ROW, small_settings(tmp_path, absent))
    (kept,) = kept_rows(tmp_path)[0]["cells"]
    assert kept["error"] == "does not install: planted: no such distribution"


@pytest.mark.parametrize(
    ("only", "names"),
    [
        ("adult-median", ["adult-median"]),
        ("time-1e6,odd-inputs", ["time-1e6", "odd-inputs"]),
        ("unknown-keys", ["unknown-keys"]),
        ("median", [f"{table}-median" for table in TABLES]),
    ],
)
def test_rows_are_chosen_by_name(only, names):
    assert [row.name for row in chosen(only, all_rows())] == names


def test_a_row_that_is_not_there_is_refused_with_how_rows_are_named():
    with pytest.raises(InputError, match="there is no row 'adult-modus'; rows are named like"):
        chosen("adult-modus", all_rows())


def test_an_error_in_rows_is_the_distance_to_the_target_rank():
    truth = Truth.of("median", (0.5,), np.array([1, 2, 2, 2, 9, 9]))
    values = np.array([[2.0], [1.0], [8.0], [10.0]])
    assert truth.rank_errors(values).ravel().tolist() == [0, 2, 1, 3]


def test_coverage_counts_each_quantile_and_one_bad_run_is_no_proof():
    truth = Truth.of("quantiles", (0.25, 0.75), np.arange(101))
    lows = np.array([[20.0, 70.0], [30.0, 80.0]])
    found = coverage(lows, lows + 9, truth, 0.95)
    assert (found.share, found.tries, found.stands) == (0.5, 4, True)
    never = np.tile([[30.0, 80.0]], (20, 1))
    assert not coverage(never, never + 9, truth, 0.95).stands


def test_one_run_is_never_beyond_noise():
    assert not Figure.of(np.array([1.0])).below(Figure(100.0, 0.0))
    assert Figure.of(np.array([1.0, 1.0])).below(Figure(100.0, 0.0))


def test_answers_that_are_not_finite_are_no_figures():
    truth = Truth.of("count", (), np.arange(3))
    kept = cell({}, {"values": [["nan"]], "lows": [[None]], "seconds": [1]}, truth, 0.95)
    assert kept == {"error": "an answer is not finite"}


def test_every_cell_of_the_features_has_a_source_or_is_not_found():
    listed = tomllib.loads(FEATURES.read_text())
    assert set(listed["libraries"]) == {peer.key for peer in PEERS}
    for feature in listed["feature"]:
        assert set(feature) - {"name"} <= set(listed["libraries"])
        for key, (words, source) in ((key, feature[key]) for key in feature if key != "name"):
            assert words
            if key == OURS.key:
                assert (ROOT / "docs" / source).with_suffix(".md").is_file()
            else:
                assert source.startswith("https://")


def test_a_feature_without_a_source_is_not_found(compared):
    text = (compared / "index.html").read_text()
    assert '<td class="text">not found</td>' in text
    assert '<a href="../docs/how-it-works.html">' in text


def test_what_is_kept_is_json_that_can_be_read_again(compared):
    file = compared / "rows" / "small-median.json"
    kept = json.loads(file.read_text())
    assert kept["rows"] == 2_001
    assert kept["true"] == [10_000.0]
    assert brief(kept["true"][0]) == "10,000"
