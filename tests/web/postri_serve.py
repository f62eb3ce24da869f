"""The program `postri`. With POSTRI_TEST_GATE, scans wait until that file is there."""

from __future__ import annotations

import os
import time
from pathlib import Path

from postri.cli import main

if __name__ == "__main__":
    if gate := os.environ.get("POSTRI_TEST_GATE"):
        from postri.engines.duckdb import source as duckdb
        from postri.engines.progress import check_cancelled

        counted = duckdb.run_query

        def gated(*given):
            Path(f"{gate}.waiting").touch()
            while not Path(gate).exists():
                check_cancelled()
                time.sleep(0.01)
            return counted(*given)

        duckdb.run_query = gated
    main()
