"""One row of the comparison: its tasks, asked of every peer, and kept as JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from compare import tables
from compare.measures import ENOUGH_RUNS, Truth, cell
from compare.programs import NO_ANSWER, NOT_INSTALLED, Environments, Lane
from compare.registry import ROOT, Peer
from compare.rows import CONFIDENCE, EPSILONS, Row
from postri.research.unknown_keys import comparison

# The odd tables of peers/protocol.py, in the order of the report.
ODD = ("ties", "constant", "empty", "one row", "NaN", "infinities", "nulls", "text")
ODD_BOUNDS = tables.Bounds(0, 100)
TIMED_BOUNDS = tables.Bounds(0, 10_000_000)
TIMED_RUNS = 5
LEAST_TIMED = 2
TIMED_SECONDS = 20.0
GROUPS = 20
# A library whose cell takes so many times the seconds of a cell is slow.
SLOW = 3.0
# One whose cell of a table's median takes so many seconds is not asked for other quantiles of it.
SLOW_MEDIAN = 10.0
# What a row's figures depend on: ours, the programs of the peers, and these.
MEASURING = ("measures.py", "rows.py", "running.py", "tables.py")

Cells = list[dict[str, Any]]


@dataclass(frozen=True)
class Settings:
    """How much is run, with whom, and where it is kept."""

    peers: Sequence[Peer]
    out: Path
    runs: int = 1_000
    # A cell ends after so many seconds with the runs that it has. With fewer than ENOUGH_RUNS it
    # goes on, if the rest of them fits into the longest time.
    seconds: float = 1.0
    longest: float = 15.0
    # One answer ends after so many seconds: of a cell, and of a table whose time is taken.
    patience: float = 90.0
    timed_patience: float = 600.0
    epsilons: tuple[float, ...] = EPSILONS
    column: Callable[[str], Any] = tables.column
    bounds: Callable[[str], tables.Bounds] = tables.TABLES.__getitem__

    @property
    def kept(self) -> Path:
        """The folder with a file for each row."""
        return self.out / "rows"

    def file(self, row: Row) -> Path:
        """Where a row is kept."""
        return self.kept / f"{row.name}.json"

    def environments(self) -> Environments:
        """Where the peers' environments are built and looked for."""
        return Environments(self.out / "envs")

    def terms(self) -> dict[str, Any]:
        """What a row was run with: one that was run on the same terms need not be run again."""
        return {
            "code": code(),
            "runs": self.runs,
            "seconds": self.seconds,
            "longest": self.longest,
            "peers": {peer.key: [peer.requirement, *peer.needs] for peer in self.peers},
        }


def is_there(row: Row, settings: Settings) -> bool:
    """Whether a row was run to its end on the same terms, with every peer installed."""
    file = settings.file(row)
    if not file.is_file():
        return False
    kept = json.loads(file.read_text(encoding="utf-8"))
    said = [cell.get("error", "") for cell in kept.get("cells", ())]
    if any(words.startswith(NOT_INSTALLED) for words in said):
        return False
    return bool(kept.get("terms") == settings.terms())


def run_row(row: Row, settings: Settings, lane: Lane) -> Path:
    """Run one row, and keep what came out."""
    kinds = {"error": _error, "odd": _odd, "time": _time, "unknown-keys": _unknown_keys}
    start = perf_counter()
    kept = {
        "row": row.name,
        "kind": row.kind,
        "table": row.table,
        "statistic": row.statistic,
        "label": row.label,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "tree": tree(),
        "terms": settings.terms(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.system()}",
        **kinds[row.kind](row, settings, lane),
    }
    kept["took"] = round(perf_counter() - start, 1)
    settings.kept.mkdir(parents=True, exist_ok=True)
    file = settings.file(row)
    if file.is_file() and "cells" in kept:
        _keep_others(kept, json.loads(file.read_text(encoding="utf-8")), settings)
    # Whole or not at all: a run that is cut off leaves no half of a row.
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(file)
    return file


def _keep_others(kept: dict[str, Any], before: dict[str, Any], settings: Settings) -> None:
    """What peers said before that were not asked this time."""
    asked = {peer.key for peer in settings.peers}
    others = [cell for cell in before["cells"] if cell["peer"] not in asked]
    if others:
        kept["cells"] += others
        kept["tree"] = ", ".join(dict.fromkeys([before["tree"], kept["tree"]]))


@cache
def tree() -> str:
    """The commit that was run, as far as it is known."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


@cache
def code() -> str:
    """A short name of all code that figures depend on, committed or not."""
    compare = ROOT / "compare"
    files = [*(ROOT / "src" / "postri").rglob("*.py"), *(compare / "peers").glob("*.py")]
    files += [compare / name for name in MEASURING]
    found = sha256()
    for file in sorted(files):
        found.update(f"{file.relative_to(ROOT)}\n".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def _error(row: Row, settings: Settings, lane: Lane) -> dict[str, Any]:
    values = settings.column(row.table)
    file = tables.stored(row.table, values, settings.out / "tables")
    bounds = settings.bounds(row.table)
    truth = Truth.of(row.statistic, row.ps, values)
    asked = {
        "statistic": row.statistic,
        "ps": row.ps,
        "lower": bounds.lower,
        "upper": bounds.upper,
        "runs": settings.runs,
        "seconds": settings.seconds,
        "enough": ENOUGH_RUNS,
        "longest": settings.longest,
        "confidence": CONFIDENCE,
        "table": str(file),
    }
    found: Cells = []
    for peer in settings.peers:
        for way in peer.ways:
            for neighbours in peer.neighbours:
                names = {"peer": peer.key, "way": way, "neighbours": neighbours}
                left_out = "" if peer.is_ours else _slow_median(names, row, settings)
                for epsilon, answer in _at_each_epsilon(
                    peer, {**asked, **names}, settings, lane, left_out
                ):
                    figures = cell({**names, "epsilon": epsilon}, answer, truth, CONFIDENCE)
                    found.append(figures)
    return {
        "rows": len(values),
        "lower": bounds.lower,
        "upper": bounds.upper,
        "confidence": CONFIDENCE,
        "true": list(truth.values),
        "cells": found,
    }


def _at_each_epsilon(
    peer: Peer, asked: dict[str, Any], settings: Settings, lane: Lane, left_out: str
) -> Iterator[tuple[float, dict[str, Any]]]:
    """The answers of a peer in one way. One that is slow is asked at the first epsilon alone, and
    one that is `left_out` not at all.
    """
    task = {key: value for key, value in asked.items() if key != "peer"}
    for epsilon in settings.epsilons:
        if left_out:
            yield epsilon, {"left_out": left_out}
            continue
        answer = lane.ask(peer, {**task, "epsilon": epsilon}, settings.patience)
        yield epsilon, answer
        if not peer.is_ours:
            left_out = _is_slow(answer, epsilon, settings)


def _is_slow(answer: dict[str, Any], epsilon: float, settings: Settings) -> str:
    """Why it is not asked at another epsilon, where it takes as long; else nothing."""
    if answer.get("error", "").startswith(NO_ANSWER):
        return f"not asked: {answer['error']} at epsilon {epsilon:g}"
    runs = answer.get("seconds", [])
    if sum(runs) <= SLOW * settings.seconds:
        return ""
    return f"not asked: {len(runs):,} runs took {sum(runs):.0f} s at epsilon {epsilon:g}"


def _slow_median(names: dict[str, str], row: Row, settings: Settings) -> str:
    """Why a library is not asked for another quantile of a table: by what its median took."""
    median = settings.kept / f"{row.table}-median.json"
    if row.statistic == "median" or not row.ps or not median.is_file():
        return ""
    for cell_of_median in json.loads(median.read_text(encoding="utf-8"))["cells"]:
        if any(cell_of_median.get(key) != names[key] for key in ("peer", "way", "neighbours")):
            continue
        if cell_of_median.get("error", "").startswith(NO_ANSWER):
            return f"not asked: of the median {cell_of_median['error']}"
        runs = cell_of_median.get("runs", 0)
        took = runs * cell_of_median.get("seconds", 0.0)
        if took > SLOW_MEDIAN:
            return f"not asked: {runs:,} runs of the median took {took:.0f} s"
    return ""


def _ways_once(peer: Peer) -> tuple[str, ...]:
    """Ours is asked once where it does not matter how epsilon is split."""
    if peer.is_ours:
        return peer.ways[:1]
    return peer.ways


def _odd(row: Row, settings: Settings, lane: Lane) -> dict[str, Any]:
    found: Cells = []
    for peer in settings.peers:
        for way, odd in product(_ways_once(peer), ODD):
            task = {
                "way": way,
                "statistic": row.statistic,
                "epsilon": 1.0,
                "lower": ODD_BOUNDS.lower,
                "upper": ODD_BOUNDS.upper,
                "runs": 1,
                "seconds": settings.seconds,
                "neighbours": peer.neighbours[0],
                "odd": odd,
            }
            answer = lane.ask(peer, task, settings.patience)
            kept = {"peer": peer.key, "way": way, "odd": odd}
            for word in ("version", "unsupported", "error", "warned"):
                if answer.get(word):
                    kept[word] = answer[word]
            if "values" in answer:
                kept["value"] = answer["values"][0][0]
                kept["low"] = answer["lows"][0][0]
                kept["high"] = answer["highs"][0][0]
            found.append(kept)
    return {"cells": found}


def _time(row: Row, settings: Settings, lane: Lane) -> dict[str, Any]:
    values = tables.salaries(row.size)
    file = tables.stored(f"salaries-{row.size}", values, settings.out / "tables")
    extra: dict[str, Any] = {}
    plain: dict[str, float] = {}
    if row.statistic != "median":
        parquet = file.with_suffix(".parquet")
        _write_parquet(file, values, parquet)
        extra = {"parquet": str(parquet), "keys": list(range(GROUPS))}
    plain["duckdb_seconds"] = _duckdb_median(row.statistic, values, extra)
    del values
    found: Cells = []
    for peer in settings.peers:
        for way in _ways_once(peer):
            names = {"peer": peer.key, "way": way}
            hopeless = _hopeless(names, row, settings)
            if hopeless:
                found.append({**names, "left_out": hopeless})
                continue
            task = {
                "way": way,
                "statistic": row.statistic,
                "epsilon": 1.0,
                "lower": TIMED_BOUNDS.lower,
                "upper": TIMED_BOUNDS.upper,
                "runs": TIMED_RUNS,
                "seconds": TIMED_SECONDS,
                "neighbours": peer.neighbours[0],
                "table": str(file),
                "timed": True,
                "extra": extra,
            }
            answer = lane.ask(peer, task, settings.timed_patience, afresh=True)
            found.append(_timed(names, answer))
    return {"size": row.size, **plain, "cells": found}


def _timed(names: dict[str, str], answer: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = dict(names)
    for word in ("version", "unsupported", "error", "peak_mb", "base_mb"):
        if answer.get(word):
            kept[word] = answer[word]
    if "values" in answer:
        kept["runs"] = len(answer["seconds"])
        # The least of a few: others on the machine only ever add time.
        kept["seconds"] = min(answer["seconds"])
        kept["numpy_seconds"] = min(answer["plain_seconds"])
    return kept


def _hopeless(names: dict[str, str], row: Row, settings: Settings) -> str | None:
    """Why a library is not asked about so many rows, by what fewer rows took: it would run out of
    time, or would take the machine's memory from all that runs on it.
    """
    for smaller in _smaller(row, settings):
        for known in smaller["cells"]:
            if (known["peer"], known["way"]) == (names["peer"], names["way"]):
                return _beyond(known, smaller["size"], row.size, settings)
    return None


def _beyond(known: dict[str, Any], rows: int, wanted: int, settings: Settings) -> str | None:
    """What a cell with fewer rows tells about more of them, if that is too much."""
    if "left_out" in known:
        return str(known["left_out"])
    told = f"not asked: at {rows:,} rows"
    if "error" in known:
        return f"{told}, {known['error']}"
    if "seconds" not in known:
        return None
    times = wanted / rows
    if known["seconds"] * times * LEAST_TIMED > settings.timed_patience:
        return f"{told} an answer took {known['seconds']:.3g} s"
    if known["peak_mb"] * times > memory_mb():
        return f"{told} it held {known['peak_mb']:,.0f} MB"
    return None


def _smaller(row: Row, settings: Settings) -> list[dict[str, Any]]:
    """What was kept of the same question about fewer rows, the most rows first."""
    found = []
    for file in settings.kept.glob("time-*.json"):
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["statistic"] == row.statistic and kept["size"] < row.size:
            found.append(kept)
    return sorted(found, key=lambda kept: -kept["size"])


def memory_mb() -> float:
    """The memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20


def _write_parquet(file: Path, values: Any, parquet: Path) -> None:
    """A column x beside a column g of public keys."""
    import duckdb

    groups = np.arange(len(values)) % GROUPS
    frame = {"x": values, "g": groups}
    connection = duckdb.connect()
    connection.register("numbers", _arrow(frame))
    connection.execute(f"COPY numbers TO '{parquet}' (FORMAT parquet)")


def _arrow(frame: dict[str, Any]) -> Any:
    import pyarrow

    return pyarrow.table(frame)


def _duckdb_median(statistic: str, values: Any, extra: dict[str, Any]) -> float:
    """The least time of DuckDB's own median of the same rows, which is not private."""
    import duckdb

    connection = duckdb.connect()
    if statistic == "median":
        connection.register("arrow", _arrow({"x": values}))
        connection.execute("CREATE TABLE numbers AS SELECT x FROM arrow")
        text = "SELECT median(x) FROM numbers"
    elif statistic == "parquet":
        text = f"SELECT median(x) FROM '{extra['parquet']}'"
    else:
        text = f"SELECT g, median(x) FROM '{extra['parquet']}' GROUP BY g"
    times = []
    for _ in range(TIMED_RUNS):
        start = perf_counter()
        connection.execute(text).fetchall()
        times.append(perf_counter() - start)
    return min(times)


def _unknown_keys(row: Row, settings: Settings, lane: Lane) -> dict[str, Any]:
    return {"text": comparison()}
