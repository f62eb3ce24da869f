"""Proofs report figures. A full-size run prints them at its end, gathered from all workers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from proving import PROVE


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Notes a line of figures about this test."""
    return lambda line: record_property("figures", line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not PROVE:
        return
    terminalreporter.section("figures of the proofs")
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, line in report.user_properties:
                if name == "figures" and report.when == "call":
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {line}")
