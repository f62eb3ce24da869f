"""What an audit says: as a table for a terminal, as JSON, and as Markdown for the docs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import postri
from postri.audit.attack import AttackOutcome, Size


@dataclass(frozen=True)
class Report:
    """The outcomes of an audit, with its moment and its size."""

    time: datetime
    size: Size
    outcomes: Sequence[AttackOutcome]

    @property
    def passed(self) -> bool:
        """Whether no attack found anything."""
        return all(outcome.passed for outcome in self.outcomes)

    @property
    def summary(self) -> str:
        """In one line."""
        failed = [outcome.name for outcome in self.outcomes if not outcome.passed]
        number = len(self.outcomes)
        if failed:
            return f"{len(failed)} of {number} attacks found something: {', '.join(failed)}"
        return f"{number} of {number} attacks found nothing"

    @property
    def circumstances(self) -> str:
        """What was attacked, when, and how long."""
        moment = self.time.strftime("%Y-%m-%d %H:%M UTC")
        return (
            f"postri {postri.__version__}, Python {platform.python_version()}, {moment}; "
            f"{self.size.minutes:g} minutes of fuzzing and draws, seed {self.size.seed}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "version": postri.__version__,
            "python": platform.python_version(),
            "time": self.time.isoformat(timespec="seconds"),
            "minutes": self.size.minutes,
            "seed": self.size.seed,
            "passed": self.passed,
            "attacks": [outcome.to_dict() for outcome in self.outcomes],
        }

    def to_markdown(self) -> str:
        """A page: the table of all attacks, then the figures of each."""
        lines = [
            "# Audit report",
            "",
            f"{self.circumstances}. **{_capital(self.summary)}.**",
            "",
            "| attack | verdict | seconds | what was tried |",
            "|---|---|---:|---|",
        ]
        for outcome in self.outcomes:
            cells = (outcome.name, outcome.verdict, f"{outcome.seconds:.0f}", outcome.tried)
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
        for outcome in self.outcomes:
            lines += ["", f"## {outcome.name}", "", "| figure | |", "|---|---|"]
            for name, figure in outcome.figures.items():
                lines.append(f"| {_cell(name)} | {_cell(figure)} |")
            for finding in outcome.findings:
                lines += ["", f"**Found:** {_cell(finding)}"]
        return "\n".join(lines) + "\n"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _cell(words: str) -> str:
    """A text that breaks no table."""
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
