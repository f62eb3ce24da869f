"""Reserves in a ledger whose files may not grow beyond a limit, until it fails; prints how many
reservations succeeded.

A program: the limit holds for a whole process, and a child that is forked from a test would inherit
threads that do not run there.
"""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path

from some_charges import ENOUGH, charge

from postri.errors import LedgerError
from postri.ledger import SqliteLedger

FULL = ("the disk is full", "the disk failed")


def fill(path: Path) -> int:
    """Reserve until it fails; how many succeeded."""
    done = 0
    told = ""
    with SqliteLedger(path) as ledger:
        while not told:
            try:
                ledger.reserve(charge(done), ENOUGH)
            except LedgerError as error:
                told = str(error)
            else:
                done += 1
    assert any(words in told for words in FULL), told
    return done


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    sys.stdout.write(str(fill(Path(sys.argv[1]))))
