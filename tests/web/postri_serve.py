"""The program `postri`. With POSTRI_TEST_GATE, scans wait until that file is there."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from postri.cli import main

if __name__ == "__main__":
    if gate := os.environ.get("POSTRI_TEST_GATE"):
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from postri.web import service
        from services.odd_worker import odd_program

        service.Workers = partial(service.Workers, program=odd_program("wait", Path(gate)))
    main()
