"""The fuzzer: led by coverage, it finds and shrinks what crashes, and finds nothing in postri."""

from __future__ import annotations

import pytest

from postri.audit import fuzz
from postri.audit.attack import AttackNotes, Size
from postri.audit.fuzz import TARGETS, refused_or_done
from postri.audit.fuzzing import (
    OWN,
    PACKAGE,
    Coverage,
    Fuzzer,
    FuzzTarget,
    Hang,
    guarded,
    shrunk,
    tried,
)
from postri.errors import EngineError, InputError, QuestionFailed
from postri.exact import exact
from proving import sized

SILENT = Size(0.0001)


@pytest.mark.slow
@pytest.mark.parametrize("make", TARGETS, ids=lambda make: make.__name__)
def test_what_is_fuzzed_is_answered_or_refused(make):
    """Under `make prove` for a minute each; `make audit` takes ten."""
    notes = AttackNotes()
    fuzz.fuzz(make, sized(SILENT, Size(6)), notes, least=sized(15, 1_000))
    assert notes.findings == []
    assert any("lines of postri" in figure for figure in notes.figures.values())


@pytest.mark.slow
@pytest.mark.parametrize("make", TARGETS[:3], ids=lambda make: make.__name__)
def test_what_fuzzing_begins_with_is_answered(make, monkeypatch):
    """Changes of a question that is refused at its first word would lead nowhere."""
    monkeypatch.setattr(fuzz, "refused_or_done", lambda work: work())
    with make() as target:
        assert [tried(target, seed) for seed in target.seeds] == [None] * len(target.seeds)


def toy(attempt) -> FuzzTarget:
    return FuzzTarget("toy", attempt, (b"SELECT",), (b"(", b")", b"x"))


def crashing(given: bytes) -> None:
    if b"((" in given:
        raise ZeroDivisionError("no")


def test_an_input_that_crashes_is_found_and_made_small():
    found = Fuzzer(toy(crashing), 1).run(0, 400, lambda words: None)
    (crash,) = found.crashes.values()
    assert crash.kind == "ZeroDivisionError" and crash.input == b"(("
    assert "ZeroDivisionError" in crash.told()


def test_the_same_seed_tries_the_same_inputs():
    runs = []
    for _ in range(2):
        given: list[bytes] = []
        Fuzzer(toy(given.append), 7).run(0, 50, lambda words: None)
        runs.append(given)
    assert runs[0] == runs[1] and len(set(runs[0])) > 25


def test_an_input_that_reaches_new_lines_is_kept():
    """A number is read by other lines than what is none."""

    def read(given: bytes) -> None:
        refused_or_done(lambda: exact(given.decode(errors="replace"), "it"))

    target = FuzzTarget("numbers", read, (b"x",), (b"1", b"/", b"1/3"))
    found = Fuzzer(target, 3).run(0, 200, lambda words: None)
    assert found.crashes == {}
    assert found.lines > found.lines_of_seeds > 0 and found.kept > 1


def test_coverage_is_of_postri_alone():
    coverage = Coverage()
    with coverage.watching():
        exact("1/3", "it")
        sorted([3, 1])
    files = {code.co_filename for code, _ in coverage.lines}
    assert files and all(file.startswith(PACKAGE) and not file.startswith(OWN) for file in files)


def test_an_input_that_hangs_is_found():
    def endless(given: bytes) -> None:
        with guarded(0.05):
            while True:
                pass

    crash = tried(toy(endless), b"x")
    assert crash is not None and crash.kind == Hang.__name__


def test_shrinking_ends_at_what_is_needed():
    crash = tried(toy(crashing), b"SELECT ((((x)) FROM")
    assert crash is not None
    assert shrunk(toy(crashing), crash).input == b"(("


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError("x"), EngineError("x"), QuestionFailed("1", 1), InputError(" ")],
    ids=lambda error: type(error).__name__,
)
def test_what_is_no_refusal_with_a_message_is_a_finding(error):
    def work() -> None:
        raise error

    with pytest.raises((type(error), AssertionError)):
        refused_or_done(work)


def test_a_refusal_with_a_message_is_none():
    def work() -> None:
        raise InputError("x must be a number, got y")

    refused_or_done(work)


@pytest.mark.slow
def test_a_status_of_500_is_a_finding(monkeypatch):
    def broken(*given, **how):
        raise ZeroDivisionError

    with fuzz.http_target() as target:
        assert tried(target, target.seeds[3]) is None
        monkeypatch.setattr("postri.web.asking.budget_fields", broken)
        crash = tried(target, target.seeds[3])
        assert crash is not None and crash.message == "status 500"
