"""Coverage of the tree: no quantile, share or count is missed more often than it says.

On trees of eight points and three levels all tables of up to four rows are tried: exactly, by
adding up the chances of the noises along the path of the quantile, and by many draws of all noises
at once. The tests of nodes are the shipped ones; that intervals follow from them as here is checked
against shipped intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, floor

import numpy as np
import pytest
from scipy.stats import binom
from test_hard_tables import TABLES as HARD_TABLES
from test_hard_tables import HardTable, holds

import postri
from postri import Distribution, Domain, Interval, SeededCoins
from postri.audit.tiny_tables import Rows, all_tables, holds_quantile
from postri.domain import position
from postri.noise import DiscreteLaplace
from postri.tree.drawn_tree import DrawnTree
from postri.tree.noisy_tree import NoisyTree, TreeNoise
from postri.tree.shape import Level, TreeNode, TreeShape
from postri.tree.tails import NoiseSum
from proving import sized
from small_trees import BINARY, children_counts, inner_nodes, rows_inside

pytestmark = pytest.mark.slow

BETA = Fraction(1, 10)
PS = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
ENDS = ("low", "high")
SMALL, LARGE = Fraction(1), Fraction(12)
SIGNIFICANCE = 1e-7


@dataclass(frozen=True)
class NodeTest:
    """The test of one node for one end: it fails if the rows past the target rank are off by so
    much, to that side.
    """

    node: TreeNode
    weights: np.ndarray
    columns: list[int]
    most: float


@dataclass
class SmallTree:
    """All tests of a tree whose nodes are all divided, for one quantile.

    What is planted into it by other tests: which noises are known of, how beta is divided, and how
    many rows there are to spare.
    """

    epsilon: Fraction
    p: Fraction
    shape: TreeShape = BINARY
    spare: Fraction | None = None
    own_level_only: bool = False
    tests: dict[tuple[str, TreeNode], NodeTest] = field(init=False)

    def __post_init__(self) -> None:
        tree = NoisyTree(self.shape, TreeNoise(DiscreteLaplace(1 / self.epsilon)))
        for node in self.nodes:
            tree.divide(node, [0] * len(self.shape.children(node)))
        self.tests = {
            (end, child): test
            for node in self.nodes
            for end in ENDS
            for child, test in self._tests(tree, node, end)
        }

    @cached_property
    def nodes(self) -> list[TreeNode]:
        return list(inner_nodes(self.shape))

    @cached_property
    def scales(self) -> np.ndarray:
        """Of the noise of each child of each node, one after the other."""
        return np.array(
            [
                float(1 / (self.epsilon * BINARY.level_below(node).share))
                for node in self.nodes
                for _ in self.shape.children(node)
            ]
        )

    def _tests(
        self, tree: NoisyTree, node: TreeNode, end: str
    ) -> Iterator[tuple[TreeNode, NodeTest]]:
        boundaries = tree.boundaries(node)
        children = self.shape.children(node)
        columns = [
            2 * self.nodes.index(above) + place
            for above in boundaries.slots.nodes
            for place in range(len(self.shape.children(above)))
        ]
        chance = float(self.shape.level_below(node).chance) * float(BETA / 2)
        for place, child in enumerate(children):
            # Which boundary is tested, and which nodes are never out, as the promise says.
            boundary = place + 1 if end == "low" else place
            if child.last == self.shape.grid.last and end == "low":
                continue
            if child.first == self.shape.grid.first and end == "high":
                continue
            noise = boundaries.noise_past_rank(boundary, float(self.p))
            weights = noise.weights
            known = noise
            if self.own_level_only:
                own = np.where(np.arange(len(weights)) < len(weights) - len(children), 0, weights)
                known = NoiseSum(noise.kind, noise.squares, own)
            yield child, NodeTest(child, weights, columns, least_passed(known, chance))

    @property
    def bad(self) -> Fraction:
        if self.spare is not None:
            return self.spare
        return 1 - Fraction(1, self.p.denominator)

    def past_rank(self, end: str, child: TreeNode, rows: Rows) -> float:
        """The true rows past the target rank at the boundary that is tested."""
        boundary = child.last + 1 if end == "low" else child.first
        return sum(row < boundary for row in rows) - float(self.p * len(rows))

    def is_out(self, end: str, child: TreeNode, rows: Rows, off: np.ndarray) -> np.ndarray:
        """Whether the test of a node fails, where its estimate is off by so much."""
        past = self.past_rank(end, child, rows) + off
        short = -past if end == "low" else past
        most = self.tests[end, child].most
        return short - float(self.bad) >= most

    def path(self, index: int) -> list[TreeNode]:
        """Below the root, down to the leaf of an index."""
        found = [self.shape.root]
        while not found[-1].is_leaf:
            found.append(self.shape.child_with(found[-1], index)[1])
        return found[1:]


def least_passed(noise: NoiseSum, chance: float) -> float:
    """The least number that the shipped test takes for passed seldom, by bisection."""
    low, high = 0.0, noise.deviation
    while not noise.passes_seldom(high, chance):
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if noise.passes_seldom(middle, chance):
            high = middle
        else:
            low = middle
    return high


def must_hold(rows: Rows, p: Fraction) -> tuple[int, int]:
    """The grid points of x_(floor t) and x_(ceil t + 1), or the grid's ends."""
    target = p * len(rows)
    first, last = floor(target), ceil(target) + 1
    low = rows[first - 1] if first >= 1 else BINARY.grid.first
    high = rows[last - 1] if last <= len(rows) else BINARY.grid.last
    return low, high


# Exactly: the path of the quantile fails some test.

MOST_NOISE = 3


@dataclass
class PathChances:
    """The chances of all noises of a path within a range, and what they are off by at its tests."""

    tree: SmallTree

    def __post_init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[np.ndarray, dict[TreeNode, np.ndarray]]] = {}
        self._failures: dict[tuple, float] = {}

    @property
    def rest(self) -> float:
        """At least the chance that some noise of a path lies beyond the range."""
        scales = np.unique(self.tree.scales)
        return sum(2 * 2 * exp(-(MOST_NOISE + 1) / scale) for scale in scales)

    def of_path(self, end: str, leaf: int) -> tuple[np.ndarray, dict[TreeNode, np.ndarray]]:
        key = (end, leaf)
        if key not in self._kept:
            self._kept[key] = self._enumerated(end, leaf)
        return self._kept[key]

    def _enumerated(self, end: str, leaf: int) -> tuple[np.ndarray, dict[TreeNode, np.ndarray]]:
        nodes = self.tree.path(leaf)
        tests = {
            child: self.tree.tests[end, child] for child in nodes if (end, child) in self.tree.tests
        }
        if not tests:
            return np.ones(1), {}
        columns = max((test.columns for test in tests.values()), key=len)
        values = np.arange(-MOST_NOISE, MOST_NOISE + 1, dtype=float)
        noises = np.stack(np.meshgrid(*[values] * len(columns)), axis=-1).reshape(-1, len(columns))
        q = np.exp(-1 / self.tree.scales[columns])
        chances = np.prod((1 - q) / (1 + q) * q ** np.abs(noises), axis=1)
        off = {
            child: noises[:, : len(test.columns)] @ test.weights for child, test in tests.items()
        }
        return chances, off

    def failure(self, end: str, rows: Rows) -> float:
        """At least the chance that the end misses what it must hold."""
        low, high = must_hold(rows, self.tree.p)
        leaf = low if end == "low" else high
        chances, off = self.of_path(end, leaf)
        pasts = tuple(self.tree.past_rank(end, child, rows) for child in off)
        key = (end, leaf, pasts)
        if key not in self._failures:
            fails = np.zeros(len(chances), bool)
            for child, each in off.items():
                fails |= self.tree.is_out(end, child, rows, each)
            self._failures[key] = float(chances[fails].sum())
        return self._failures[key]


@pytest.mark.parametrize("p", PS, ids=str)
def test_no_table_fails_more_often_than_beta_by_exact_chances(
    p: Fraction, figures: Callable[[str], None]
):
    """At a large epsilon few values of noise have any chance: all of them are added up."""
    chances = PathChances(SmallTree(LARGE, p))
    worst = 0.0
    for rows in all_tables(BINARY.grid, sized(3, 4)):
        worst = max(worst, sum(chances.failure(end, rows) for end in ENDS))
    figures(f"at most {(worst + chances.rest) / float(BETA):.3f} of beta")
    assert worst > 0
    assert worst + chances.rest <= float(BETA)


# By many draws of all noises at once, whatever epsilon.


def many_noises(tree: SmallTree, number: int) -> np.ndarray:
    """Noises of all nodes, one draw a row, from a generator of its own."""
    random = np.random.default_rng(2_026)
    q = np.exp(-1 / tree.scales)
    pairs = random.geometric(1 - q, (2, number, len(q)))
    return (pairs[0] - pairs[1]).astype(float)


@dataclass
class Drawn:
    """By how much every test of a tree is off in each of many draws."""

    tree: SmallTree
    number: int = sized(1_500, 20_000)
    shifted: int = 0

    def __post_init__(self) -> None:
        noises = many_noises(self.tree, self.number)
        self.off = {
            key: noises[:, test.columns] @ test.weights for key, test in self.tree.tests.items()
        }

    def ends(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """The first grid point, and the last one, of the interval of each draw."""
        leaves = range(BINARY.grid.first, BINARY.grid.last + 1)
        passing: dict[str, list[np.ndarray]] = {}
        out = {
            (end, child): self.tree.is_out(end, child, rows, off)
            for (end, child), off in self.off.items()
        }
        for end in ENDS:
            passing[end] = []
            for leaf in leaves:
                fine = np.ones(self.number, bool)
                for child in self.tree.path(leaf):
                    if (end, child) in out:
                        fine &= ~out[end, child]
                passing[end].append(fine)
        low = np.argmax(passing["low"], axis=0)
        high = BINARY.grid.last - np.argmax(passing["high"][::-1], axis=0)
        return low + self.shifted, high - self.shifted

    def missed(self, rows: Rows) -> int:
        """How many intervals miss what they must hold."""
        low, high = self.ends(rows)
        least, largest = must_hold(rows, self.tree.p)
        return int(np.sum((low > least) | (high < largest)))

    def contradicts(self, tables: list[Rows]) -> bool:
        """Whether some table misses more often than beta: by luck once in ten million runs."""
        level = SIGNIFICANCE / len(tables)
        worst = max(self.missed(rows) for rows in tables)
        return bool(binom.sf(worst - 1, self.number, float(BETA)) < level)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("p", PS, ids=str)
@pytest.mark.parametrize("epsilon", [SMALL, Fraction(4), LARGE], ids=str)
def test_no_table_is_missed_more_often_than_beta(
    epsilon: Fraction, p: Fraction, figures: Callable[[str], None]
):
    drawn = Drawn(SmallTree(epsilon, p))
    tables = all_tables(BINARY.grid, sized(3, 4))
    worst = max(drawn.missed(rows) for rows in tables)
    figures(f"at worst {worst} of {drawn.number} missed, {worst / drawn.number / float(BETA):.3f}")
    assert not drawn.contradicts(tables)


@pytest.mark.parametrize("p", PS, ids=str)
def test_these_intervals_are_the_shipped_ones(p: Fraction):
    tree = SmallTree(Fraction(4), p)
    drawn = Drawn(tree, number=sized(15, 300))
    noises = many_noises(tree, drawn.number).astype(int)
    for rows in ((), (3,), (0, 7, 7), (1, 4, 4, 6)):
        low, high = drawn.ends(rows)
        for place, noise in enumerate(noises):
            shipped = NoisyTree(BINARY, TreeNoise(DiscreteLaplace(1 / tree.epsilon)))
            for number, node in enumerate(tree.nodes):
                counts = children_counts(BINARY, node, rows)
                own = noise[2 * number : 2 * number + 2]
                shipped.divide(node, [int(a + b) for a, b in zip(counts, own, strict=True)])
            first, last = shipped.interval(p, BETA)
            assert (first.first, last.last) == (low[place], high[place])


def test_what_must_be_held_is_what_the_promise_says():
    for rows in all_tables(BINARY.grid, 2):
        for p in PS:
            low, high = must_hold(rows, p)
            assert holds_quantile(low, high, rows, p, BINARY.grid)
            assert low == 0 or not holds_quantile(low + 1, high, rows, p, BINARY.grid)
            assert high == 7 or not holds_quantile(low, high - 1, rows, p, BINARY.grid)
    assert rows_inside((1, 4, 4), TreeNode(2, 5, 1)) == 2


# The checks can fail: each of these bugs is caught.


class Undivided(TreeShape):
    """Every test may fail with all of beta."""

    def _fading_levels(self, share: Fraction, chance: Fraction, number: int) -> list[Level]:
        levels = super()._fading_levels(share, chance, number)
        return [Level(level.share, chance) for level in levels]


# Rows of which the median lies between two leaves at every level.
SHARP: list[Rows] = [(), (3, 4), (3, 3, 4, 4), (0, 7), (1, 6), (2, 2, 5, 5)]


def test_beta_that_is_not_divided_is_caught():
    tree = SmallTree(SMALL, Fraction(1, 2), shape=Undivided(BINARY.grid, 2))
    assert Drawn(tree, number=20_000).contradicts(SHARP)


def test_edges_that_are_shifted_by_one_are_caught():
    tree = SmallTree(LARGE, Fraction(1, 2))
    assert Drawn(tree, shifted=1).contradicts(SHARP)


def test_no_row_to_spare_is_caught():
    """At p = 9/10 the ranks next to the target are up to nine tenths of a row away."""
    tree = SmallTree(LARGE, Fraction(9, 10), spare=Fraction(0))
    assert Drawn(tree).contradicts(all_tables(BINARY.grid, 2))


def test_noise_of_the_levels_above_that_is_forgotten_is_caught():
    """The estimate of a boundary has the noise of all levels, and their covariance."""
    tree = SmallTree(Fraction(4), Fraction(1, 2), own_level_only=True)
    assert Drawn(tree).contradicts(all_tables(BINARY.grid, 3))


# Hard tables, through the front door, for 99 quantiles and for shares, counts and histograms.

PERCENT = tuple(Fraction(k, 100) for k in range(1, 100))
RUNS = sized(1, 12)
NAMES = sized(
    (
        "no row, default domain",
        "three rows, given domain",
        "half on each edge, given domain",
        "int64 extremes, default domain",
        "floats beyond both edges",
    ),
    tuple(HARD_TABLES),
)
# A release that fails by this chance, or a single answer of it, fails in no run by luck.
SURELY = "0.9999999"


def releases(table: HardTable, runs: int) -> Iterator[Distribution]:
    source = postri.open(table.rows)
    for seed in range(runs):
        yield postri.distribution(
            source, epsilon=table.epsilon, domain=table.domain, coins=SeededCoins(seed)
        )


def asked_points(table: HardTable, found: Distribution) -> list[Fraction]:
    """Points inside the domain, at cells and beside them: chosen without a look at the release."""
    first, last = (position(found.grid.value(end)) for end in (found.grid.first, found.grid.last))
    step = found.grid.step
    cells = table.clamped
    some = [cells[len(cells) * k // 4] for k in range(4)] if cells else [Fraction(5)]
    beside = {cell + step * part for cell in some for part in (Fraction(0), Fraction(1, 2), 1)}
    return sorted(point for point in beside if first < point < last)


def in_kind(found: Distribution, point: Fraction) -> object:
    """A point as the column has them; whole days or seconds where they are dates."""
    if found.grid.kind == "number":
        return point
    return found.grid.value(floor((point - found.grid.base) / found.grid.step))


def below(table: HardTable, point: object) -> int:
    number = Fraction(point) if isinstance(point, int | Fraction) else position(point)
    return sum(cell < number for cell in table.clamped)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
def test_all_that_follows_from_a_release_holds(name: str, figures: Callable[[str], None]):
    """All 99 quantiles at once, shares, counts and bars, so surely that no miss is luck: of all
    answers of a run one misses once in 100,000 runs at most. And with beta 0.1 each quantile by
    itself, by the binomial test.
    """
    table = HARD_TABLES[name]
    spans = [table.must_hold(p) for p in PERCENT]
    missed = np.zeros(len(PERCENT), int)
    for found in releases(table, RUNS):
        at_once = found.quantiles(PERCENT, confidence=SURELY, simultaneous=True)
        for answer, span in zip(at_once, spans, strict=True):
            assert holds(answer.interval, *span)
            assert answer.value in answer.interval
        for place, answer in enumerate(found.quantiles(PERCENT, confidence="0.9")):
            missed[place] += not holds(answer.interval, *spans[place])
        check_shares_and_counts(table, found)
    worst = int(missed.max())
    figures(f"of {RUNS} releases a quantile missed {missed.mean():.2f} times, at worst {worst}")
    assert binom.sf(worst - 1, RUNS, 0.1) > SIGNIFICANCE / len(PERCENT)


def check_shares_and_counts(table: HardTable, found: Distribution) -> None:
    n = len(table.rows)
    points = [in_kind(found, point) for point in asked_points(table, found)]
    for point in points:
        rows = below(table, point)
        assert rows in found.count(None, point, confidence=SURELY).interval
        assert n - rows in found.count(point, confidence=SURELY).interval
        share = found.share(below=point, confidence=SURELY).interval
        assert n == 0 or share.low <= Fraction(rows, n) <= share.high
    assert n in found.count(confidence=SURELY).interval
    edges = sorted(set(points))
    if len(edges) > 1:
        bars = found.histogram(edges, confidence=SURELY, simultaneous=True)
        for (low, high), (answer,) in bars.groups:
            assert below(table, high) - below(table, low) in answer.interval


def test_a_release_whose_edges_are_shifted_is_caught(monkeypatch: pytest.MonkeyPatch):
    """Half of the rows at 3 and half at 900: the interval of the median must hold both."""
    original = DrawnTree.between

    def shifted(drawn: DrawnTree, low: int, high: int) -> Interval:
        return original(drawn, low + 1, high - 1)

    table = HARD_TABLES["two atoms, given domain"]
    span = table.must_hold(Fraction(1, 2))
    (found,) = releases(table, 1)
    assert holds(found.quantile("0.5", confidence=SURELY).interval, *span)
    monkeypatch.setattr(DrawnTree, "between", shifted)
    assert not holds(found.quantile("0.5", confidence=SURELY).interval, *span)


# A real table: as narrow as it was measured.


def half_widths(answers: list, cells: np.ndarray) -> np.ndarray:
    """How many rows each interval reaches to one side, on average of both."""
    lows = np.array([int(answer.interval.low) for answer in answers])
    highs = np.array([int(answer.interval.high) for answer in answers])
    return (np.searchsorted(cells, highs, "right") - np.searchsorted(cells, lows, "left")) / 2


ADULT = {
    "99 percentiles, given domain": (PERCENT, Domain(0, 2_000_000), 75),
    "99 percentiles, default domain": (PERCENT, None, 110),
    "9 deciles, given domain": (PERCENT[9::10], Domain(0, 2_000_000), 76),
}


@pytest.mark.parametrize("name", sized(list(ADULT)[::2], list(ADULT)))
def test_intervals_on_adult_are_as_narrow_as_promised(
    name: str, tables, figures: Callable[[str], None]
):
    """The same coins in every run, so no luck is involved. Each interval holds 95 %."""
    ps, domain, most = ADULT[name]
    lines = (tables / "adult.csv").read_text().splitlines()[1:]
    cells = np.sort(np.array([int(line.split(",")[2]) for line in lines]))
    source = postri.open(cells)
    widths = []
    missed = []
    for seed in range(sized(1, 10) if len(ps) > 9 else sized(3, 20)):
        answers = postri.quantiles(
            source, ps, epsilon=1, domain=domain, method="tree", coins=SeededCoins(seed)
        )
        widths.append(half_widths(answers, cells).mean())
        for answer in answers:
            target = answer.p * len(cells)
            low, high = cells[floor(target) - 1], cells[ceil(target)]
            missed.append(low not in answer.interval or high not in answer.interval)
    figures(f"{np.mean(widths):.1f} rows, {np.mean(missed):.4f} missed")
    assert np.mean(widths) <= most
    assert np.mean(missed) < 0.05
