"""What all tests share: the experiments' tables, and the figures that proofs report at the end of a
full-size run.
"""

from __future__ import annotations

import gc
import os
import re
from collections import defaultdict
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from proving import PROVE
from repeatable_coins import seed_system_coins
from services.postgres_server import postgres
from services.spark_session import spark, spark_connect
from warm_start import start_forking

# The fixtures of servers that tests of several folders ask for.
__all__ = ["postgres", "spark", "spark_connect"]

# Hypothesis searches the same examples in every run, in whatever time that takes: a red run means a
# change, never bad luck.
settings.register_profile(
    "same",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same")

SERVICES = {"postgres", "spark", "chromium", "terminal"}
# A file that has one of these names looks at less outside `make prove`, or starts programs warm.
TWO_SIZES = ("PROVE", "sized", "examples", "some_of", "most_of", "SOME_ENGINES", "spark_session")
TWO_SIZES += ("start", "served", "serving", "warm_program")
# The tests that `make test-fast` asks for.
QUICK = "not slow"
# They start servers, draw again and again, or run whole experiments.
SLOW_FOLDERS = ("audit", "coverage", "deploy", "research", "web")
SLOW_FILE = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)
TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

# Until all tests are collected, hardly anything that was made is garbage.
gc.disable()


@pytest.fixture(scope="session")
def tables() -> Path:
    """The folder with the experiments' tables, which are not part of the repository."""
    folder = Path(os.environ.get("POSTRI_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "bank.csv").is_file():
        reason = (
            "the tables of the experiments are not here: set POSTRI_DATA to the folder that has "
            "bank.csv, adult.csv and airplane.csv"
        )
        if os.environ.get("POSTRI_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Notes a line of figures about this test."""
    return lambda line: record_property("figures", line)


def pytest_configure(config: pytest.Config) -> None:
    """The workers of a run share the process that their programs are forked from."""
    shares_out = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if shares_out and config.option.markexpr != QUICK and not PROVE:
        start_forking()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Which test runs on which worker of `pytest -n`."""
    from sharing_out import Units

    return Units(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is slow as a whole is not even imported where the quick ones are asked for."""
    if config.option.markexpr != QUICK:
        return None
    if collection_path.parent == TESTS and collection_path.name in SLOW_FOLDERS:
        return True
    if collection_path.suffix != ".py":
        return None
    return SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) and True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What has two sizes is what `make prove` runs; what needs a service is never quick."""
    if not PROVE:
        _leave_out(config, items)
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        is_served = not SERVICES.isdisjoint(getattr(item, "fixturenames", ()))
        if is_served or folder in SLOW_FOLDERS:
            item.add_marker("slow")
        module = getattr(item, "module", None)
        if any(hasattr(module, name) for name in TWO_SIZES) or item.get_closest_marker("one_in"):
            item.add_marker("prove")


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with the mark `one_in` all cases but one in so many, and at least one: of all
    cases, or of those with each value of the parameter that the mark names, such as an engine.

    Which ones follows from their names: with every n-th a parameter could be left out as a whole.
    """
    cases: defaultdict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    share: dict[tuple[str, str], int] = {}
    for item in items:
        if mark := item.get_closest_marker("one_in"):
            test = item.nodeid.partition("[")[0], _value(item, mark.kwargs.get("each"))
            cases[test].append(item)
            share[test] = mark.args[0]
    left_out: list[pytest.Item] = []
    for test, those in cases.items():
        left_out += sorted(those, key=_place)[ceil(len(those) / share[test]) :]
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]
    config.hook.pytest_deselected(items=left_out)


def _value(case: pytest.Item, parameter: str | None) -> str:
    """Of this parameter; nothing where none is named."""
    if parameter is None:
        return ""
    return str(case.callspec.params[parameter])  # type: ignore[attr-defined]  # it has cases


def _place(case: pytest.Item) -> int:
    """By the name alone, as its coins: a test that moves to another folder keeps its cases."""
    return crc32(case.name.encode())


def pytest_collection_finish() -> None:
    """What was imported stays: a test that collects garbage need not look through it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """At the end it goes too: a library that counts its objects then would miss some."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    seed_system_coins(item)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not PROVE:
        return
    terminalreporter.section("figures of the proofs")
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, line in report.user_properties:
                if name == "figures" and report.when == "call":
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {line}")
