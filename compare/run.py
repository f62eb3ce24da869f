"""`make compare`: run the rows that are asked for, and write the page of all that were ever run.

make compare                       every row, about an hour; one that was cut off goes on
make compare ONLY=adult-median     one row; also a table (adult), a statistic (median), time
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

from compare.page import write_page
from compare.programs import Lane
from compare.progress import Progress, say
from compare.registry import PEERS, ROOT, EnvironmentMissing
from compare.rows import Row, all_rows, chosen
from compare.running import Settings, is_there, run_row
from postri.errors import PostriError

SIDE_BY_SIDE = 2


def main(words: list[str] | None = None) -> int:
    given = _reader().parse_args(words)
    peers = PEERS
    if given.peers:
        keys = given.peers.split(",")
        peers = tuple(peer for peer in PEERS if peer.key in keys)
    settings = Settings(
        peers,
        given.out,
        given.runs,
        given.seconds,
        given.longest,
        given.patience,
        given.timed_patience,
    )
    try:
        if not given.page:
            run_rows(_asked(given, settings), settings, given.side_by_side)
        page = write_page(settings.out)
        if given.docs:
            write_page(settings.out, ROOT / "docs" / "compare" / "index.html", "../")
    except PostriError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("cut off: the rows that were run are kept, and the same command goes on with the rest")
        return 130
    print(f"written to {page}")
    return 0


def _reader() -> argparse.ArgumentParser:
    usual = Settings((), Path())
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("--only", help="names of rows, with commas between; these are run anew")
    reader.add_argument("--without", help="names of rows to leave out, with commas between")
    reader.add_argument("--again", action="store_true", help="also what was run on the same terms")
    reader.add_argument("--runs", type=int, default=usual.runs, help="runs of a cell")
    reader.add_argument(
        "--seconds", type=float, default=usual.seconds, help="a cell ends after so many"
    )
    reader.add_argument(
        "--longest",
        type=float,
        default=usual.longest,
        help="unless 30 runs, which tell something, fit into these",
    )
    reader.add_argument(
        "--patience", type=float, default=usual.patience, help="one answer ends after these"
    )
    reader.add_argument(
        "--timed-patience", type=float, default=usual.timed_patience, help="and of rows of time"
    )
    reader.add_argument(
        "--side-by-side", type=int, default=SIDE_BY_SIDE, help="so many rows; never those of time"
    )
    reader.add_argument("--peers", help="keys of the peers to ask, with commas between")
    reader.add_argument("--out", type=Path, default=ROOT / "build" / "compare")
    reader.add_argument("--page", action="store_true", help="write the page of what was run before")
    reader.add_argument("--docs", action="store_true", help="and its copy in the documentation")
    return reader


def _asked(given: argparse.Namespace, settings: Settings) -> list[Row]:
    """The rows to run: those that are named, or all that are not there yet."""
    rows = chosen(given.only, all_rows())
    if given.without:
        left_out = chosen(given.without, all_rows())
        rows = [row for row in rows if row not in left_out]
    if given.only or given.again:
        return rows
    missing = [row for row in rows if not is_there(row, settings)]
    if len(missing) < len(rows):
        there = len(rows) - len(missing)
        say(f"{there:,} rows were run before on the same terms: --again runs them anew")
    return missing


def run_rows(rows: Sequence[Row], settings: Settings, side_by_side: int) -> None:
    """Run them, a few side by side; those of time come last and have the machine for themselves."""
    environments = settings.environments()
    for peer in settings.peers:
        try:
            environments.python(peer)
        except EnvironmentMissing as why:
            say(f"{peer.name} does not install: {why}")
    progress = Progress(rows, side_by_side)
    say(progress.opening())
    timed = [row for row in rows if row.kind == "time"]
    # A median tells which library is too slow to be asked for the other quantiles.
    others = sorted(
        (row for row in rows if row.kind != "time"), key=lambda row: row.statistic != "median"
    )
    with ExitStack() as held:
        lanes = [held.enter_context(Lane(environments)) for _ in range(side_by_side)]
        _side_by_side(others, settings, lanes, progress)
        for lane in lanes:
            lane.rest()
        for row in timed:
            _run(row, settings, lanes[0], progress)


def _run(row: Row, settings: Settings, lane: Lane, progress: Progress) -> None:
    start = perf_counter()
    run_row(row, settings, lane)
    say(progress.ended(row, perf_counter() - start))


def _side_by_side(
    rows: Sequence[Row], settings: Settings, lanes: Sequence[Lane], progress: Progress
) -> None:
    free: SimpleQueue[Lane] = SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def run(row: Row) -> None:
        lane = free.get()
        try:
            _run(row, settings, lane, progress)
        finally:
            free.put(lane)

    with ThreadPoolExecutor(len(lanes)) as workers:
        try:
            for _ in workers.map(run, rows):
                pass
        except BaseException:
            # Whatever ends the run, rows that have not begun do not begin, and those that have are
            # not waited for.
            workers.shutdown(wait=False, cancel_futures=True)
            for lane in lanes:
                lane.interrupt()
            raise


if __name__ == "__main__":
    sys.exit(main())
