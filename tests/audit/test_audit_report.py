"""The registry, the report and the command: names, verdicts, forms and exit codes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from postri.audit import attack as registry
from postri.audit.attack import Attack, AttackNotes, Size, attacks, chosen
from postri.audit.report import Report
from postri.errors import InputError
from program import run

NAMES = ["exact", "neighbours", "faults", "black-box", "timing", "fuzz"]


def quiet(size: Size, notes: AttackNotes) -> None:
    notes.tell("here")
    notes.figures["tables | pairs"] = "1,000"


def alarmed(size: Size, notes: AttackNotes) -> None:
    notes.findings.append("a <cell> shows")


def broken(size: Size, notes: AttackNotes) -> None:
    raise ZeroDivisionError("no")


QUIET, ALARMED, BROKEN = (
    Attack(each.__name__, f"tries {each.__name__}", each) for each in (quiet, alarmed, broken)
)


def report(*which: Attack) -> Report:
    outcomes = [attack.run(Size()) for attack in which]
    return Report(datetime(2026, 11, 17, 8, tzinfo=UTC), Size(), outcomes)


def test_every_attack_is_registered_under_its_name():
    assert sorted(attack.name for attack in attacks()) == sorted(NAMES)
    assert [attack.name for attack in chosen("fuzz, exact")] == ["exact", "fuzz"]


def test_an_attack_that_does_not_exist_is_told():
    with pytest.raises(InputError, match="there is no attack 'exakt'; did you mean 'exact'"):
        chosen("exakt")


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), 20_000])
def test_minutes_are_positive_and_end(minutes):
    with pytest.raises(InputError, match="minutes must be above 0"):
        Size(minutes)


def test_sixty_minutes_are_ten_for_each_thing_that_is_fuzzed():
    assert Size(60).fuzz_seconds == 600 and Size(60).full and not Size().full


def test_an_attack_that_breaks_down_has_not_passed():
    outcome = BROKEN.run(Size())
    assert not outcome.passed and "ZeroDivisionError" in outcome.findings[0]


def test_the_report_says_what_failed():
    assert report(QUIET).passed and report(QUIET).summary == "1 of 1 attacks found nothing"
    found = report(QUIET, ALARMED)
    assert not found.passed
    assert found.summary == "1 of 2 attacks found something: alarmed"


def test_the_report_as_markdown():
    text = report(QUIET, ALARMED).to_markdown()
    assert "| quiet | passed | 0 | tries quiet |" in text
    assert "| tables \\| pairs | 1,000 |" in text
    assert "**Found:** a &lt;cell> shows" in text
    assert "2026-11-17 08:00 UTC" in text


def test_the_report_as_plain_values():
    fields = json.loads(json.dumps(report(QUIET, ALARMED).to_dict()))
    assert fields["passed"] is False
    assert [each["verdict"] for each in fields["attacks"]] == ["passed", "failed"]
    assert fields["attacks"][0]["figures"] == {"tables | pairs": "1,000"}


def test_the_command_prints_a_table_and_ends_with_0(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "chosen", lambda names: [QUIET])
    out, err = run("audit", "--out", "report.md", folder=tmp_path)
    assert "quiet" in out and "passed" in out and "1 of 1 attacks found nothing" in out
    assert "saved report.md" in err
    assert (tmp_path / "report.md").read_text().startswith("# Audit report")


def test_the_command_ends_with_1_if_anything_was_found(monkeypatch):
    monkeypatch.setattr(registry, "chosen", lambda names: [QUIET, ALARMED])
    out, _ = run("audit", "--json", code=1)
    assert json.loads(out)["passed"] is False
    out, _ = run("audit", code=1)
    assert "alarmed: a <cell> shows" in out


def test_the_command_refuses_what_it_does_not_know():
    _, err = run("audit", "--only", "nothing", code=2)
    assert "there is no attack 'nothing'" in err
    _, err = run("audit", "--minutes", "0", code=2)
    assert "minutes must be above 0" in err


def test_the_command_has_help():
    out, _ = run("audit", "--help")
    for option in ("--minutes", "--only", "--self-test", "--seed", "--json", "--out"):
        assert option in out
