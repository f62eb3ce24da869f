"""Run as a program, several at once: asks a number of questions of datasets in one ledger in a
database, in turn, and prints how many were accepted of each, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter

from some_charges import ENOUGH, charge

from postri.ledger.postgres import PostgresLedger


def hammer(url: str, head: str, name: str, count: int, datasets: int) -> Counter[str]:
    accepted: Counter[str] = Counter()
    with PostgresLedger(url, head) as ledger:
        for number in range(count):
            dataset = f"dataset {number % datasets}"
            asked = charge(f"{name} {number}", "1/7", dataset=dataset, analyst=name)
            ledger.record(ledger.reserve(asked, ENOUGH), "x")
            accepted[dataset] += 1
    return accepted


if __name__ == "__main__":
    url, head, name, count, datasets = sys.argv[1:]
    json.dump(hammer(url, head, name, int(count), int(datasets)), sys.stdout)
