"""How the benchmarks measure: in turns, in one run, as medians."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def seconds(action: Callable[[], Any], repeats: int) -> float:
    """The median time of an action, after one run that does not count."""
    return side_by_side({"it": action}, repeats)["it"]


def side_by_side(
    actions: dict[str, Callable[[], Any]], repeats: int, before: int = 1
) -> dict[str, float]:
    """The median time of each action, taken in turns so that a slow moment hits all alike; those
    before do not count.
    """
    times = _in_turns(actions, repeats, before)
    return {name: float(np.median(taken)) for name, taken in times.items()}


def least_side_by_side(actions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least time of each action, otherwise the same: for what takes so little time that others
    on the machine decide how long it takes on most turns.
    """
    return {name: min(taken) for name, taken in _in_turns(actions, repeats, 1).items()}


def _in_turns(
    actions: dict[str, Callable[[], Any]], repeats: int, before: int
) -> dict[str, list[float]]:
    """The times of each action, without those of the turns before."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(before + repeats):
        for name, action in actions.items():
            start = perf_counter()
            action()
            times[name].append(perf_counter() - start)
    return {name: taken[before:] for name, taken in times.items()}


def resident(name: str) -> float:
    """A figure of this process in megabytes:

    VmRSS is what it holds now, VmHWM the most that it held.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024
