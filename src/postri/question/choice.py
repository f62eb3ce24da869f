"""What each statistic of a question pays, and by which method it is drawn: chosen by forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from postri.answer.forecast import ExpectedRows, Unknown
from postri.cost import rho_of
from postri.question.question import BatchKey
from postri.statistics.statistic import Asked, Batch


@dataclass(frozen=True)
class Choice:
    """Some statistics on all their terms but for epsilon and their methods, which are to be chosen
    by forecasts. `expected` is how many rows count for each.
    """

    asked: Sequence[Asked]
    expected: Sequence[ExpectedRows | Unknown]
    fixed: bool
    concentrated: bool

    def paying(self, epsilons: Sequence[Fraction]) -> list[Asked]:
        """Each with its epsilon. Gaussian draws divide the rho of all in the same way."""
        total = sum(epsilons, start=Fraction(0))
        found = []
        for each, epsilon in zip(self.asked, epsilons, strict=True):
            rho = rho_of(total) * epsilon / total if self.concentrated else None
            found.append(replace(each, terms=replace(each.terms, epsilon=epsilon, rho=rho)))
        return found

    def wished(self, names: Sequence[str], total: Fraction | None, least: Fraction) -> list[Asked]:
        """Each with the epsilon that its wish takes, or with its part of a total."""
        from postri.question.wishes import Wisher, divided_epsilons, least_epsilons

        wishers = [
            Wisher(name, each, rows)
            for name, each, rows in zip(names, self.asked, self.expected, strict=True)
        ]
        together = [
            (batch, [wishers[place] for place in places]) for batch, places in self._together()
        ]
        how = {"fixed": self.fixed, "concentrated": self.concentrated}
        if total is None:
            epsilons = least_epsilons(together, least=least, **how)
        else:
            epsilons = divided_epsilons(together, total, **how)
        return self.paying([epsilons[name] for name in names])

    def by_best_methods(self, asked: Sequence[Asked], rows: int | None) -> list[Asked]:
        """Each on terms that suit those best which are answered together, in the same order."""
        chosen = list(asked)
        for batch, places in self._together():
            best = batch.by_best_method(
                [asked[place] for place in places],
                fixed=self.fixed,
                rows=rows,
                expected=[self.expected[place] for place in places],
            )
            for place, each in zip(places, best, strict=True):
                chosen[place] = each
        return chosen

    def _together(self) -> list[tuple[type[Batch], list[int]]]:
        """Where those are that are answered together."""
        found: dict[BatchKey, list[int]] = {}
        for place, each in enumerate(self.asked):
            statistic = each.statistic
            key = (statistic.batch, statistic.column, statistic.domain, statistic.where)
            found.setdefault(key, []).append(place)
        return [(batch, places) for (batch, *_), places in found.items()]
