"""`make compare`: run the rows that are asked for, and write the page of all that were ever run.

make compare                       every row: hours
make compare ONLY=adult-median     one row; also a table (adult), a statistic (median), time
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

from compare.page import write_page
from compare.registry import PEERS, ROOT
from compare.rows import all_rows, chosen
from compare.running import Settings, run_row, say
from postri.errors import PostriError


def main(words: list[str] | None = None) -> int:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--only", help="names of rows, with commas between")
    reader.add_argument("--runs", type=int, default=1_000, help="runs of a cell")
    reader.add_argument("--seconds", type=float, default=60.0, help="a cell ends after so many")
    reader.add_argument("--patience", type=float, default=600.0, help="one answer ends after these")
    reader.add_argument("--peers", help="keys of the peers to ask, with commas between")
    reader.add_argument("--out", type=Path, default=ROOT / "build" / "compare")
    reader.add_argument("--page", action="store_true", help="write the page of what was run before")
    reader.add_argument("--docs", action="store_true", help="and its copy in the documentation")
    given = reader.parse_args(words)
    peers = PEERS
    if given.peers:
        keys = given.peers.split(",")
        peers = tuple(peer for peer in PEERS if peer.key in keys)
    settings = Settings(peers, given.out, given.runs, given.seconds, given.patience)
    try:
        if not given.page:
            for row in chosen(given.only, all_rows()):
                start = perf_counter()
                run_row(row, settings)
                say(f"{row.name}: {perf_counter() - start:.0f} s")
        page = write_page(settings.out)
        if given.docs:
            write_page(settings.out, ROOT / "docs" / "compare" / "index.html", "../")
    except PostriError as error:
        say(str(error))
        return 2
    print(f"written to {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
