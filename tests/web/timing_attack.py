"""An attack on a clock: what was seen of questions, the best rule that half of them teach, and how
often it is right about the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import comb, floor

from scipy.stats import beta


@dataclass
class Seen:
    """What an analyst with a clock sees of one question: moments after it was whole."""

    is_with: bool
    offset: float
    times: dict[str, float] = field(default_factory=dict)

    def changed(self, what: str, moment: float) -> None:
        """Something that is polled is another than before."""
        self.times.setdefault(f"first {what}", moment)
        self.times[f"last {what}"] = moment

    def only(self, what: str) -> Seen:
        """The same question, seen by somebody who looks at this alone."""
        times = {name: each for name, each in self.times.items() if what in name}
        return replace(self, times=times)


@dataclass(frozen=True)
class Rule:
    """Says that the person is there if something was seen later than a moment, or earlier; at one
    offset, if one is named.
    """

    what: str
    offset: float | None
    threshold: float
    is_later: bool

    def votes(self, seen: list[Seen]) -> tuple[int, int, int, int]:
        """How often it says so of tables with the person, of how many; and of those without."""
        counts = {True: [0, 0], False: [0, 0]}
        for each in seen:
            if self.offset in (None, each.offset) and self.what in each.times:
                is_late = each.times[self.what] > self.threshold
                counts[each.is_with][0] += is_late == self.is_later
                counts[each.is_with][1] += 1
        return (*counts[True], *counts[False])


def chance(votes: tuple[int, int, int, int]) -> float:
    """How likely at least so many right votes are by luck (Fisher's exact test)."""
    right, with_person, wrong, without = votes
    said = right + wrong
    ways = sum(
        comb(with_person, k) * comb(without, said - k)
        for k in range(right, min(said, with_person) + 1)
        if said - k <= without
    )
    return ways / comb(with_person + without, said)


def advantage(votes: tuple[int, int, int, int]) -> float:
    right, with_person, wrong, without = votes
    return right / max(with_person, 1) - wrong / max(without, 1)


def best_rule(seen: list[Seen]) -> Rule:
    """What tells most on these questions: any moment, any threshold, any offset."""
    rules = []
    for what in {what for each in seen for what in each.times}:
        for offset in (None, *{each.offset for each in seen}):
            moments = [
                each.times[what]
                for each in seen
                if what in each.times and offset in (None, each.offset)
            ]
            for threshold in set(moments):
                rules += [Rule(what, offset, threshold, is_later) for is_later in (True, False)]
    return min(rules, key=lambda rule: chance(rule.votes(seen)))


def attacked(seen: list[Seen]) -> tuple[Rule, tuple[int, int, int, int]]:
    """The rule that one half of the questions teaches, and its votes on the other half."""
    halves: tuple[list[Seen], list[Seen]] = ([], [])
    counts: dict[tuple[bool, float], int] = {}
    for each in seen:
        key = (each.is_with, each.offset)
        counts[key] = counts.get(key, 0) + 1
        halves[counts[key] % 2].append(each)
    rule = best_rule(halves[1])
    return rule, rule.votes(halves[0])


def bound_of_advantage(seen: list[Seen], what: str, step: float) -> float:
    """The most that may be gained from the point at which something was seen, whatever is chosen
    as threshold; at 95 % (Clopper-Pearson, both sides together).
    """
    points = {
        side: [floor(each.times[what] / step + 1e-6) for each in seen if each.is_with == side]
        for side in (True, False)
    }
    largest = 0.0
    for threshold in {point for each in points.values() for point in each}:
        ends = []
        for side in (True, False):
            late = sum(point > threshold for point in points[side])
            ends.append(_clopper_pearson(late, len(points[side])))
        (low, high), (other_low, other_high) = ends
        largest = max(largest, high - other_low, other_high - low)
    return largest


def _clopper_pearson(count: int, of: int, miss: float = 0.0125) -> tuple[float, float]:
    low = 0.0 if count == 0 else beta.ppf(miss, count, of - count + 1)
    high = 1.0 if count == of else beta.ppf(1 - miss, count + 1, of - count)
    return float(low), float(high)
