"""Run as a program, several at once: asks a number of questions of one ledger and prints the
reservations that were accepted, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from some_charges import charge, limits

from postri.errors import BudgetExceeded
from postri.ledger import SqliteLedger


def hammer(path: Path, name: str, count: int, budget: str) -> list[int]:
    accepted = []
    with SqliteLedger(path) as ledger:
        for number in range(count):
            try:
                reservation = ledger.reserve(
                    charge(f"{name} {number}", analyst=name), limits(budget)
                )
            except BudgetExceeded:
                continue
            ledger.record(reservation, f"answer {reservation}")
            accepted.append(reservation)
    return accepted


if __name__ == "__main__":
    json.dump(hammer(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]), sys.stdout)
