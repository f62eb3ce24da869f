"""Intervals of 99 percentiles by the quantile tree of Google's library for differential privacy.

It is run in an environment of its own, which has python-dp and nothing of postri: reads whole
numbers from standard input, one a line, and writes the two ends of each interval as JSON.
"""

from __future__ import annotations

import json
import sys

from pydp.algorithms.quantile_tree import QuantileTree

# The library's usual shape: 16^4 leaves.
HEIGHT, BRANCHES = 4, 16
PERCENTILES = [k / 100 for k in range(1, 100)]


def main() -> None:
    """The domain, epsilon and confidence are given as words."""
    low, high, epsilon, confidence = map(float, sys.argv[1:])
    tree = QuantileTree(low, high, HEIGHT, BRANCHES)
    for line in sys.stdin:
        tree.add_entry(float(line))
    found = tree.compute_quantiles_and_confidence_intervals(
        epsilon, 0, 1, 1, PERCENTILES, confidence, "laplace"
    )
    print(json.dumps([[each.lower_bound, each.upper_bound] for each in found]))


if __name__ == "__main__":
    main()
