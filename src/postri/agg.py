"""What can be asked of a table, for `ask`: `agg.median("fare")`, or the same as text.

Every registered statistic is a function here, under its name.

>>> from postri import agg
>>> agg.quantile("fare", 0.9) == agg.read("quantile(fare, 0.9)")
True

Each takes a filter of its own, which selects among the rows of the question.

>>> agg.count(where="delay > 15") == agg.read("count() where delay > 15")
True
"""

from __future__ import annotations

from collections.abc import Callable

from postri.statistics.registry import form_named, forms, read
from postri.statistics.statistic import Statistic

__all__ = ["Statistic", "read"]


def __getattr__(name: str) -> Callable[..., Statistic]:
    form = form_named(name)
    if form is None:
        raise AttributeError(f"module 'postri.agg' has no attribute {name!r}")
    return form.asked


def __dir__() -> list[str]:
    return sorted([*__all__, *(form.name for form in forms())])
