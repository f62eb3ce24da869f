"""One of several processes that ask the same dataset as fast as they can: prints how many questions
were answered, and how many refused.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bank import in_memory, session
from postri import BudgetExceeded


def main(policy: Path, analyst: str, questions: int) -> None:
    answered = []
    refused = 0
    with in_memory(), session(policy, analyst) as db:
        for _ in range(questions):
            try:
                answered.append(
                    db.ask("bank", {"n": "count()"}, epsilon="1/100", fresh=True).answer_id
                )
            except BudgetExceeded:
                refused += 1
    sys.stdout.write(json.dumps({"answered": answered, "refused": refused}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
