"""Speed and memory as ratios measured side by side in one run, into build/bench.json.

Lower is better, but for those in LEAST.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from math import log
from pathlib import Path
from time import perf_counter

import numpy as np

import postri
from asking import asked_next
from distribution import distribution_figures
from engines import csv_engine, duckdb_engine, postgres_engine, print_peak, spark_engine
from filtered import filtered_thousand
from ledger import ledger_growth, ledger_rate, postgres_ledger_rate
from postri import PostRI
from service import history_page, http_small, service_latency
from session import session_overhead
from starting import first_answers
from timing import ROOT, least_side_by_side, resident, seconds, side_by_side
from together import together
from unknown_keys import unknown_keys

LIMITS = {
    "array_1e8_vs_np_median": 0.35,
    "array_1e8_vs_np_sum": 1.7,
    "array_1e6_vs_np_median": 0.4,
    "array_1e5_vs_np_median": 2.0,
    "array_float_vs_np_median": 0.2,
    "small_ms": 0.8,
    "first_answer_vs_import": 3.0,
    "cli_vs_import": 2.0,
    "csv_vs_duckdb": 1.2,
    "array_1e8_extra_mb": 150.0,
    "growth_exponent": 1.05,
    "draw_ms_eps1_int64": 1.5,
    "draw_ms_eps001_int64": 15.0,
    "thousand_questions_s": 5.0,
    "filtered_thousand_s": 20.0,
    "together_vs_slowest": 1.5,
    "help_vs_import_typer": 3.0,
    "duckdb_table_vs_median": 0.15,
    "duckdb_table_vs_sum": 8.0,
    "duckdb_parquet_vs_median": 0.35,
    "duckdb_memory_vs_median": 1.0,
    "duckdb_groups_vs_median": 0.33,
    "distribution_99_rows": 75.0,
    "distribution_99_rows_int64": 110.0,
    "distribution_9_rows": 72.0,
    "distribution_vs_median": 3.0,
    "distribution_groups_vs_medians": 3.0,
    "days_vs_group_by": 1.5,
    "variance_vs_var_pop": 2.0,
    "unknown_keys_vs_group_by": 2.0,
    "postgres_vs_percentile_disc": 0.33,
    "spark_vs_median": 0.3,
    "rows_returned_vs_window": 3.0,
    "session_overhead": 1.2,
    "service_p95_vs_session": 5.0,
    "http_small_vs_session": 1.5,
    "history_page_vs_texts": 3.0,
    # The published notebook takes 0.45 s for a query on the adult table: a twentieth of that.
    "postri_adult_ms": 22.0,
    "report_20_runs_min": 8.0,
}
LEAST = {
    "ledger_vs_sqlite_insert": 0.5,
    "ledger_growth": 0.8,
    "postgres_reservations": 300.0,
    "quantile_tree_vs_distribution_99_rows": 7.0,
}


def salaries(rows: int) -> np.ndarray:
    """Whole numbers of a lognormal shape, written in place a part at a time."""
    data, generator = np.empty(rows, np.int64), np.random.default_rng(1)
    for start in range(0, rows, 1 << 20):
        part = data[start : start + (1 << 20)]
        part[:] = np.exp(generator.normal(10.7, 0.45, len(part))) * 100
    return data


def arrays() -> dict[str, float]:
    """The array engine against NumPy."""
    data = salaries(10**8)
    times = side_by_side(
        {
            "ours": lambda: postri.median(data, epsilon=1),
            "median": lambda: np.median(data),
            "sum": lambda: np.sum(data),
        },
        5,
    )
    small = seconds(lambda: postri.median(data[: 10**6], epsilon=1), 25)
    return {
        "array_1e8_vs_np_median": times["ours"] / times["median"],
        "array_1e8_vs_np_sum": times["ours"] / times["sum"],
        "growth_exponent": log(times["ours"] / small) / log(100),
    }


def small_arrays() -> dict[str, float]:
    """The array engine where the table is small, and where cells are floats that are rounded."""
    figures = {}
    for name, rows, repeats in (("1e5", 10**5, 60), ("1e6", 10**6, 30)):
        data = salaries(rows)
        times = least_side_by_side(
            {
                "ours": lambda data=data: postri.median(data, epsilon=1),
                "median": lambda data=data: np.median(data),
            },
            repeats,
        )
        figures[f"array_{name}_vs_np_median"] = times["ours"] / times["median"]
    fares = np.round(np.random.default_rng(1).lognormal(3, 1, 10**7), 2)
    domain = postri.Domain(0, 10_000, step="0.01")
    times = side_by_side(
        {
            "ours": lambda: postri.median(fares, domain=domain, epsilon=1),
            "median": lambda: np.median(fares),
        },
        7,
    )
    few = salaries(1_000)
    least = least_side_by_side({"few": lambda: postri.median(few, epsilon=1)}, 300)
    return {
        **figures,
        "array_float_vs_np_median": times["ours"] / times["median"],
        "small_ms": 1e3 * least["few"],
    }


def draws() -> dict[str, float]:
    """What an answer takes when the window is there: everything but the scan."""
    table = postri.open(salaries(10**6))
    many = seconds(lambda: [postri.median(table, epsilon=1) for _ in range(1000)], 1)
    return {
        "draw_ms_eps1_int64": 1e3 * seconds(lambda: postri.median(table, epsilon=1), 200),
        "draw_ms_eps001_int64": 1e3 * seconds(lambda: postri.median(table, epsilon="0.01"), 50),
        "thousand_questions_s": many,
    }


def memory() -> dict[str, float]:
    """The peak of a fresh process over the program and the data."""
    text = subprocess.run(
        [sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True
    ).stdout
    return {"array_1e8_extra_mb": float(text)}


def print_memory() -> None:
    postri.median(salaries(10**6), epsilon=1)  # loads what an answer needs
    program = resident("VmRSS")
    data = salaries(10**8)
    postri.median(data, epsilon=1)
    # Some of what the process holds may be paged out at any moment, so the data count by their
    # size.
    print(resident("VmHWM") - program - data.nbytes / 2**20)


def command_line() -> dict[str, float]:
    """`postri --help` against the bare import of the library that it is made with."""
    commands = {
        "help": [str(Path(sys.executable).with_name("postri")), "--help"],
        "typer": [sys.executable, "-c", "import typer"],
    }
    run = {
        name: lambda words=words: subprocess.run(words, capture_output=True, check=True)
        for name, words in commands.items()
    }
    times = side_by_side(run, 15)
    return {"help_vs_import_typer": times["help"] / times["typer"]}


def research() -> dict[str, float]:
    """A whole query by the published method on the adult table, and the whole report at 20 runs.

    Needs the tables of the experiments.
    """
    folder = Path(os.environ.get("POSTRI_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "adult.csv").is_file():
        print(
            (
                f"the tables of the experiments are not in {folder}: set POSTRI_DATA; their "
                "figures are left out"
            ),
            file=sys.stderr,
        )
        return {}
    weights = np.genfromtxt(
        folder / "adult.csv", delimiter=",", skip_header=1, usecols=2, dtype=np.int64
    )
    how = {
        "domain": postri.Domain(0, 10**8),
        "protect": postri.ReplaceRows(1),
        "confidence": "0.99",
        "method": PostRI(),
    }
    times = [
        seconds(lambda epsilon=epsilon: postri.median(weights, epsilon=epsilon, **how), 25)
        for epsilon in ("1/4", 1, 4)
    ]
    start = perf_counter()
    words = [
        str(Path(sys.executable).with_name("postri")),
        "reproduce",
        "--data",
        str(folder),
        "--runs",
        "20",
        "--out",
        "build/bench-report",
    ]
    subprocess.run(words, capture_output=True, check=True, cwd=ROOT)
    return {
        "postri_adult_ms": 1e3 * max(times),
        "report_20_runs_min": (perf_counter() - start) / 60,
    }


def target_of(name: str, value: float) -> str:
    """The target of a figure, and whether it was missed; nothing for one that has none."""
    if name not in LEAST and name not in LIMITS:
        return ""
    if name in LEAST:
        return f"at least {LEAST[name]:g}{'' if value >= LEAST[name] else '   MISSED'}"
    return f"at most {LIMITS[name]:g}{'' if value <= LIMITS[name] else '   MISSED'}"


PARTS: tuple[Callable[[], dict[str, float]], ...] = (
    command_line,
    first_answers,
    draws,
    filtered_thousand,
    together,
    small_arrays,
    arrays,
    memory,
    duckdb_engine,
    csv_engine,
    postgres_engine,
    spark_engine,
    distribution_figures,
    asked_next,
    unknown_keys,
    session_overhead,
    service_latency,
    http_small,
    history_page,
    ledger_rate,
    ledger_growth,
    postgres_ledger_rate,
    research,
)


def main(names: list[str]) -> None:
    """All parts, or those with these names. What was measured is written as it comes."""
    parts = {part.__name__: part for part in PARTS}
    for name in names:
        if name not in parts:
            sys.exit(f"there is no part {name}; there are {', '.join(parts)}")
    figures: dict[str, float] = {}
    target = ROOT / "build" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    for part in names or parts:
        print(f"{part} ...", file=sys.stderr, flush=True)
        for name, value in parts[part]().items():
            # A figure that several parts measure is the largest of them.
            figures[name] = max(round(value, 4), figures.get(name, 0.0))
            print(f"{name:28} {value:10.4g}   {target_of(name, value)}", flush=True)
        target.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"written to {target.relative_to(ROOT)}")


if __name__ == "__main__":
    if "--memory" in sys.argv:
        print_memory()
    elif "--peak" in sys.argv:
        print_peak(*sys.argv[2:])
    else:
        main(sys.argv[1:])
