"""One row of the comparison: its tasks, asked of every peer, and kept as JSON."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from compare import tables
from compare.measures import Truth, cell
from compare.programs import answers
from compare.registry import ROOT, EnvironmentMissing, Peer
from compare.rows import CONFIDENCE, EPSILONS, Row
from postri.research.unknown_keys import comparison

# The odd tables of peers/protocol.py, in the order of the report.
ODD = ("ties", "constant", "empty", "one row", "NaN", "infinities", "nulls", "text")
ODD_BOUNDS = tables.Bounds(0, 100)
TIMED_BOUNDS = tables.Bounds(0, 10_000_000)
TIMED_RUNS = 5
GROUPS = 20

Cells = list[dict[str, Any]]


@dataclass(frozen=True)
class Settings:
    """How much is run, with whom, and where it is kept."""

    peers: Sequence[Peer]
    out: Path
    runs: int = 1_000
    # A cell ends after so many seconds with the runs that it has; a draw after `patience`.
    seconds: float = 60.0
    patience: float = 600.0
    epsilons: tuple[float, ...] = EPSILONS
    column: Callable[[str], Any] = tables.column
    bounds: Callable[[str], tables.Bounds] = tables.TABLES.__getitem__

    @property
    def kept(self) -> Path:
        """The folder with a file for each row."""
        return self.out / "rows"


def run_row(row: Row, settings: Settings) -> Path:
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
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.system()}",
        **kinds[row.kind](row, settings),
    }
    kept["took"] = round(perf_counter() - start, 1)
    settings.kept.mkdir(parents=True, exist_ok=True)
    file = settings.kept / f"{row.name}.json"
    if file.is_file() and "cells" in kept:
        _keep_others(kept, json.loads(file.read_text(encoding="utf-8")), settings)
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return file


def _keep_others(kept: dict[str, Any], before: dict[str, Any], settings: Settings) -> None:
    """What peers said before that were not asked this time."""
    asked = {peer.key for peer in settings.peers}
    others = [cell for cell in before["cells"] if cell["peer"] not in asked]
    if others:
        kept["cells"] += others
        kept["tree"] = ", ".join(dict.fromkeys([before["tree"], kept["tree"]]))


def tree() -> str:
    """The commit that was run, as far as it is known."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def _asked(
    peer: Peer, settings: Settings, tasks: Sequence[dict[str, Any]], afresh: bool = False
) -> Iterator[dict[str, Any]]:
    """The answers of one peer; where its environment cannot be built, that is every answer."""
    try:
        python = peer.python(settings.out / "envs")
    except EnvironmentMissing as why:
        yield from ({"error": f"does not install: {why}"} for _ in tasks)
        return
    yield from answers(peer, python, tasks, settings.patience, afresh)


def _error(row: Row, settings: Settings) -> dict[str, Any]:
    values = settings.column(row.table)
    file = tables.stored(row.table, values, settings.out / "tables")
    bounds = settings.bounds(row.table)
    truth = Truth.of(row.statistic, row.ps, values)
    found: Cells = []
    for peer in settings.peers:
        tasks = [
            {
                "way": way,
                "statistic": row.statistic,
                "ps": row.ps,
                "epsilon": epsilon,
                "lower": bounds.lower,
                "upper": bounds.upper,
                "runs": settings.runs,
                "seconds": settings.seconds,
                "confidence": CONFIDENCE,
                "neighbours": neighbours,
                "table": str(file),
            }
            for way in peer.ways
            for neighbours in peer.neighbours
            for epsilon in settings.epsilons
        ]
        for task, answer in zip(tasks, _asked(peer, settings, tasks), strict=True):
            names = {"peer": peer.key, "way": task["way"], "epsilon": task["epsilon"]}
            names["neighbours"] = task["neighbours"]
            found.append(cell(names, answer, truth, CONFIDENCE))
    return {
        "rows": len(values),
        "lower": bounds.lower,
        "upper": bounds.upper,
        "confidence": CONFIDENCE,
        "true": list(truth.values),
        "cells": found,
    }


def _ways_once(peer: Peer) -> tuple[str, ...]:
    """Ours is asked once where it does not matter how epsilon is split."""
    if peer.is_ours:
        return peer.ways[:1]
    return peer.ways


def _odd(row: Row, settings: Settings) -> dict[str, Any]:
    found: Cells = []
    for peer in settings.peers:
        tasks = [
            {
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
            for way in _ways_once(peer)
            for odd in ODD
        ]
        for task, answer in zip(tasks, _asked(peer, settings, tasks), strict=True):
            kept = {"peer": peer.key, "way": task["way"], "odd": task["odd"]}
            for word in ("version", "unsupported", "error", "warned"):
                if answer.get(word):
                    kept[word] = answer[word]
            if "values" in answer:
                kept["value"] = answer["values"][0][0]
                kept["low"] = answer["lows"][0][0]
                kept["high"] = answer["highs"][0][0]
            found.append(kept)
    return {"cells": found}


def _time(row: Row, settings: Settings) -> dict[str, Any]:
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
        tasks = [
            {
                "way": way,
                "statistic": row.statistic,
                "epsilon": 1.0,
                "lower": TIMED_BOUNDS.lower,
                "upper": TIMED_BOUNDS.upper,
                "runs": TIMED_RUNS,
                "seconds": settings.seconds,
                "neighbours": peer.neighbours[0],
                "table": str(file),
                "timed": True,
                "extra": extra,
            }
            for way in _ways_once(peer)
        ]
        for task, answer in zip(tasks, _asked(peer, settings, tasks, True), strict=True):
            kept: dict[str, Any] = {"peer": peer.key, "way": task["way"]}
            for word in ("version", "unsupported", "error", "peak_mb", "base_mb"):
                if answer.get(word):
                    kept[word] = answer[word]
            if "values" in answer:
                kept["runs"] = len(answer["seconds"])
                # The least of a few: others on the machine only ever add time.
                kept["seconds"] = min(answer["seconds"])
                kept["numpy_seconds"] = min(answer["plain_seconds"])
            found.append(kept)
    return {"size": row.size, **plain, "cells": found}


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


def _unknown_keys(row: Row, settings: Settings) -> dict[str, Any]:
    return {"text": comparison()}


def say(words: str) -> None:
    """Progress, on standard error."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
