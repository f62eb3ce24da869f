"""The table [service] of a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from postri.policy import values as v
from postri.policy.model import Service
from postri.policy.section import Section

READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "host": v.a_name,
    "port": partial(v.a_whole_between, low=0, high=65_535),
    "time_grid": partial(v.some_seconds, high=60),
    "max_body": partial(v.a_whole_between, low=1_024, high=16 * 1024 * 1024),
    "rate": v.a_count,
    "scans": partial(v.a_whole_between, low=1, high=256),
    "waiting": partial(v.a_whole_between, low=0, high=100_000),
    "scan_timeout": partial(v.some_seconds, low=Fraction(1, 100)),
    "shutdown_timeout": v.some_seconds,
}


def read_service(section: Section | None, folder: Path) -> Service:
    """How to serve, with what is usual where the table says nothing."""
    if section is None:
        return Service()
    readers: dict[str, Callable[[str, Any], Any]] = {
        "tokens": partial(v.a_file, folder=folder),
        **READERS,
    }
    section.refuse_others(readers)
    found: dict[str, Any] = {key: section.get(key, read) for key, read in readers.items()}
    return Service(**{key: value for key, value in found.items() if value is not None})
