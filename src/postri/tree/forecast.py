"""How far the intervals of a tree reach, from public numbers alone.

The weights of the noises do not depend on what is counted, so the reach of a test is known before
anything is drawn. On smooth data the level decides at which a node holds about as many rows as the
test reaches: above it nodes are too coarse, below it tests cut nothing more off.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from postri.domain import Domain
from postri.grid import Grid
from postri.noise import Noise
from postri.tree.estimates import Boundaries
from postri.tree.noisy_tree import TreeNoise
from postri.tree.shape import CHILDREN, TreeShape, shape_of

# The grid of whole numbers of 64 bits stands for any default domain; with a usual value on it.
HALF_RANGE = 2**63
DEFAULT = Grid(-HALF_RANGE, HALF_RANGE - 1, Fraction(0), Fraction(1), anchor=0)
USUAL_VALUE = 100_000
# The level that decides if nobody knows the number of rows.
USUAL_DEPTH = 5
# Part of the rows of the deciding node by which an interval reaches further on average.
ROUGHNESS = 0.35


@lru_cache(maxsize=256)
def reach_in_rows(noise: Noise, domain: Domain | None, beta: Fraction, rows: int | None) -> float:
    """How many rows an interval reaches to each side of the target rank, on average, on smooth data
    of about this many rows.
    """
    grid = DEFAULT
    index = USUAL_VALUE
    if domain is not None:
        grid = Grid(0, domain.points - 1, Fraction(0), Fraction(1))
        index = domain.points // 3
    reaches = _reaches(shape_of(grid), TreeNoise(noise), index, beta)
    if not reaches:
        return 0.0
    if rows is None:
        return reaches[min(USUAL_DEPTH, len(reaches)) - 1]
    # On a default domain the levels above the octaves hold nearly all rows.
    above = 0
    if domain is None:
        above = 1
    found = []
    for depth, reach in enumerate(reaches, start=1):
        inside: float = rows / CHILDREN ** max(depth - above, 0)
        found.append(reach + ROUGHNESS * inside)
    return min(found)


def _reaches(shape: TreeShape, noise: TreeNoise, index: int, beta: Fraction) -> list[float]:
    """How far the test of a boundary next to an index reaches on each level of its path."""
    node = shape.root
    boundaries = None
    place = 0
    reaches = []
    while not node.is_leaf:
        children = shape.children(node)
        nothing = [0] * len(children)
        level = shape.level_below(node)
        own = noise.at(level.share)
        if boundaries is None:
            boundaries = Boundaries.of_root(node, nothing, own)
        else:
            boundaries = boundaries.of_child(place, node, nothing, own)
        place = next(i for i, child in enumerate(children) if index <= child.last)
        chance = float(level.chance * beta / 2)
        reaches.append(boundaries.noise_past_rank(place, 0.5).reach(chance))
        node = children[place]
    return reaches


def rows_needed(reach: float, p: Fraction) -> int:
    """About how many rows it takes before an interval stays off the domain's edges."""
    return ceil(Fraction(reach) / min(p, 1 - p))
