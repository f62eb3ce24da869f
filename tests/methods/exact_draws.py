"""The exact chances of what a method draws as it ships: every choice of its noisy maxima and walks,
followed to the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from exact_methods import Method, Output, Rows

from mechanisms.exact_walks import stop_chances
from postri.audit.tiny_tables import plain_grid, whole_windows
from postri.mechanisms.coins import SystemCoins
from postri.mechanisms.noisy_max import Runs
from postri.methods import postri, postri_svt, sun2023, sun2023_svt
from postri.methods.method import QuantileTerms
from postri.research.many import halving

Options = dict[Hashable, float]


class _UndecidedError(Exception):
    def __init__(self, options: Options) -> None:
        self.options = options


class Branches:
    """Stands in for the samplers of the published methods: takes the choices that it is told, and
    asks for the first that it is not.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._told: Iterator[Any] = iter(())
        for module in (postri, sun2023, halving):
            monkeypatch.setattr(module, "noisy_max", self._noisy_max)
        for walking in (postri_svt, sun2023_svt):
            monkeypatch.setattr(walking, "above_threshold", self._above_threshold)

    def chances(
        self, method: Method, rows: Rows, points: int, terms: QuantileTerms
    ) -> dict[Output, float]:
        """The chance of every output."""
        windows, grid = whole_windows(rows), plain_grid(points)

        def output() -> Output:
            span = method.draw(windows, terms, grid, SystemCoins())
            return Fraction(span.value), span.low, span.high

        return self.followed(output)

    def followed(self, output: Callable[[], Output]) -> dict[Output, float]:
        """The chance of everything that can come out, whatever draws it."""
        found: defaultdict[Output, float] = defaultdict(float)
        paths: list[tuple[tuple[Hashable, ...], float]] = [((), 1.0)]
        while paths:
            choices, chance = paths.pop()
            self._told = iter(choices)
            try:
                drawn = output()
            except _UndecidedError as undecided:
                paths += [
                    ((*choices, option), chance * share)
                    for option, share in undecided.options.items()
                ]
            else:
                found[drawn] += chance
        return found

    def _choose(self, options: Callable[[], Options]) -> Any:
        for choice in self._told:
            return choice
        raise _UndecidedError(options())

    def _noisy_max(
        self, runs: Runs, *, rate: Fraction, noise: str, coins: object
    ) -> SimpleNamespace:
        assert noise == "gumbel" and runs.known.all()
        return SimpleNamespace(copy=self._choose(lambda: gumbel_options(runs, rate)))

    def _above_threshold(
        self,
        counts: Any,
        sizes: Any,
        threshold: int,
        *,
        epsilon: Fraction,
        sensitivity: Fraction,
        coins: object,
    ) -> Any:
        assert sensitivity == 1
        return self._choose(lambda: walk_options(counts, sizes, threshold, epsilon))


def gumbel_options(runs: Runs, rate: Fraction) -> Options:
    """The chance of each copy of runs whose scores are all known."""
    spans = [range(*runs.span(j)) for j in range(len(runs.scores))]
    weights = np.exp(float(rate) * (runs.scores - runs.scores.max()).astype(np.float64))
    total = sum(weight * len(span) for weight, span in zip(weights, spans, strict=True))
    return {
        copy: float(weight / total)
        for weight, span in zip(weights, spans, strict=True)
        for copy in span
    }


def walk_options(counts: Any, sizes: Any, threshold: int, epsilon: Fraction) -> Options:
    """The chance of each place of a walk, and of None."""
    places = [(j, place) for j, size in enumerate(sizes) for place in range(size)]
    stops = stop_chances(
        [int(counts[j]) for j, _ in places], [1] * len(places), threshold, epsilon=epsilon
    )
    return {**dict(zip(places, map(float, stops.runs), strict=True)), None: stops.none}
