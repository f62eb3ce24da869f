"""How many keys are found that nobody declared: ours beside the rules of Google's library.

`python -m postri.research.unknown_keys` prints how many of the keys of a table each rule finds on
average. The chances are computed, and nothing is drawn.

Google's library has two rules (`common_docs/partition_selection.md`, `pre_thresholding.md` and
`go/dpagg/select_partition.go` of github.com/google/differential-privacy). The one that runs before
an aggregation keeps a key with the largest chance that privacy allows, and tells no number: a count
is another draw, and another part of the budget. With a pre-threshold it drops keys of fewer persons
altogether. The one that runs after an aggregation adds Laplace noise to the count, and tells it
where it passes a threshold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import exp, log

from postri.keeping import KeepingLaw

Chance = Callable[[int], float]

# How many rows the most frequent key of a Zipf table has, and how many keys there are.
LARGEST = 20_000
KEYS = 20_000
SETTINGS = (("1/10", "1e-6"), ("1/2", "1e-6"), ("1", "1e-6"), ("1", "1e-9"), ("3", "1e-6"))
PRE_THRESHOLD = 10


def zipf(keys: int = KEYS, largest: int = LARGEST) -> list[int]:
    """The numbers of rows of keys that are in proportion to 1, 1/2, 1/3 and so on.

    >>> zipf(4, 12)
    [12, 6, 4, 3]
    """
    return [max(1, largest // rank) for rank in range(1, keys + 1)]


def ours(epsilon: Fraction, delta: Fraction) -> Chance:
    """A key's chance to be told together with its number of rows, where a person has one row."""
    law = KeepingLaw(epsilon, delta)
    return lambda rows: float(law.chance(rows))


def google_before(epsilon: Fraction, delta: Fraction, pre_threshold: int = 1) -> Chance:
    """The recurrence of `keepPartitionProbability`, for a person in one key. With a pre-threshold
    the persons beyond it count, and one of those up to it.
    """
    ratio = exp(epsilon)
    step = float(delta)
    chances = [0.0]
    while chances[-1] < 1:
        last = chances[-1]
        chances.append(min(last * ratio + step, 1 - (1 - last - step) / ratio, 1.0))

    def chance(rows: int) -> float:
        beyond = rows - pre_threshold + 1
        return chances[min(max(beyond, 0), len(chances) - 1)]

    return chance


def google_after(epsilon: Fraction, delta: Fraction) -> Chance:
    """`ThresholdedResult` of a count with Laplace noise: the threshold is 1 + ln(1/(2 delta)) /
    epsilon.
    """
    threshold = 1 + log(1 / (2 * delta)) / epsilon

    def chance(rows: int) -> float:
        below = 0.5 * exp(-epsilon * abs(threshold - rows))
        return below if rows < threshold else 1 - below

    return chance


def expected(chance: Chance, rows: Sequence[int]) -> float:
    """How many keys are found on average."""
    known = {number: chance(number) for number in set(rows)}
    return sum(known[number] for number in rows)


def rules(epsilon: Fraction, delta: Fraction) -> Mapping[str, Chance]:
    """All rules by name, at the same epsilon and delta."""
    return {
        "ours, with the count": ours(epsilon, delta),
        "before, without a count": google_before(epsilon, delta),
        f"before, pre-threshold {PRE_THRESHOLD}": google_before(epsilon, delta, PRE_THRESHOLD),
        # Half of epsilon and all of delta find the key, and half of epsilon draws its count.
        "before, and then a count": google_before(epsilon / 2, delta),
        "after, with the count": google_after(epsilon, delta),
    }


def comparison() -> str:
    """The comparison as a table of Markdown."""
    rows = zipf()
    names = list(rules(*map(Fraction, SETTINGS[0])))
    lines = [
        f"Keys found on average, of {len(rows):,} keys of a Zipf table",
        "",
        f"| epsilon | delta | {' | '.join(names)} |",
        f"|{'---|' * (len(names) + 2)}",
    ]
    for epsilon, delta in SETTINGS:
        found = rules(Fraction(epsilon), Fraction(delta)).values()
        cells = [f"{expected(chance, rows):,.2f}" for chance in found]
        lines.append(f"| {epsilon} | {delta} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{comparison()}\n")
