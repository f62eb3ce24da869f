"""The tree by exhaustion: every tiny table, every neighbour, all noisy counts that the shipped code
would draw.

Laplace noise of scale s moves a log chance by at most |difference| / s, and by exactly that where
the noisy count is at least both counts. Which nodes are drawn next depends on noisy counts alone
(shown here by replaying them), so the log ratio of a whole release is the sum over the nodes that
it drew. It is largest where all are drawn: that sum is exact, with no chance involved. The rho of
Gaussian noise is the sum of difference^2 / (2 variance) in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import postri
from postri import AddOrRemoveRows, Domain, ReplaceRows, SeededCoins
from postri.audit.tiny_tables import Rows, all_tables, neighbours
from postri.mechanisms.coins import ManyWanted, Wanted
from postri.methods import tree as tree_method
from postri.methods import tree_release
from postri.methods.tree import tree_noise
from postri.methods.tree_release import ChosenNodes, release
from postri.noise import DiscreteLaplace, Noise
from postri.privacy import ProtectedChange
from postri.question.checking import plain_question
from postri.tree.front import Front, Looked, Wish
from postri.tree.noisy_tree import NoisyTree
from postri.tree.shape import Level, TreeNode, TreeShape
from proving import sized
from small_trees import BINARY, children_counts, counts_below, inner_nodes

pytestmark = pytest.mark.slow

EPSILON = Fraction(3, 4)
RHO = Fraction(2, 9)
MOST_ROWS = sized(3, 4)
PS = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
WISH = Wish(PS, Fraction(1, 10))
CHANGES: tuple[ProtectedChange, ...] = (
    AddOrRemoveRows(1),
    ReplaceRows(1),
    AddOrRemoveRows(2),
    ReplaceRows(2),
)
Counts = NDArray[np.int64]
# What a count without noise costs.
NO_NOISE = Fraction(10**9)


@dataclass
class Recorder:
    """Watches the draws of a release: the counts of every node that is drawn, and their noise.

    No noise is added, so the noisy counts are the counts.
    """

    drawn: list[tuple[TreeNode, tuple[int, ...], Noise | None]] = field(default_factory=list)
    _noises: list[Noise] | None = None

    def __enter__(self) -> Recorder:
        self._patches = pytest.MonkeyPatch()
        original = tree_release.with_noise

        def laplace(noises: Sequence[Noise], which: Any, wanted: ManyWanted) -> Any:
            self._noises = [noises[each] for each in which]
            return np.zeros(wanted.numbers.sum(), np.int64)

        def gaussian(noises: Sequence[Noise], wanted: Sequence[Wanted]) -> list[int]:
            self._noises = list(noises)
            return [0] * sum(each.number for each in wanted)

        def with_noise(chosen: ChosenNodes, counts: Counts) -> Any:
            self._noises = None
            noisy = original(chosen, counts)
            nodes = nodes_of(chosen)
            noises = self._noises or [None] * len(nodes)
            self.drawn += zip(nodes, listed(chosen, counts), noises, strict=True)
            return noisy

        self._patches.setattr(tree_release, "laplace_numbers", laplace)
        self._patches.setattr(tree_release, "gaussian_numbers", gaussian)
        self._patches.setattr(tree_release, "with_noise", with_noise)
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.undo()


def nodes_of(chosen: ChosenNodes) -> list[TreeNode]:
    return [chosen.node(place) for place in range(len(chosen.number))]


def listed(chosen: ChosenNodes, counts: Counts) -> list[tuple[int, ...]]:
    """The counts of the children that each node has."""
    numbers = chosen.children.numbers.tolist()
    return [tuple(own[:number]) for own, number in zip(counts.tolist(), numbers, strict=True)]


def everything(front: Front, leaves: Looked, is_end: Any) -> Any:
    """All nodes are worth a look, whatever was drawn."""
    return leaves.square > 0


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases divide all nodes."""
    monkeypatch.setattr(Front, "worth_a_look", everything)


def largest_loss(
    shape: TreeShape, noise: Noise, protect: ProtectedChange, tables: list[Rows]
) -> Fraction:
    """The largest log ratio of neighbours, or rho, over all outputs of an eager release."""
    found = []
    noises: list[list[Noise | None]] = []
    for rows in tables:
        with Recorder() as recorder:
            release(shape, noise, 1, counts_below(rows), WISH, SeededCoins(0))
        found.append([count for _, counts, _ in recorder.drawn for count in counts])
        noises.append([each for _, counts, each in recorder.drawn for _ in counts])
    # The noise is public: the same for all tables.
    assert all(each == noises[0] for each in noises)
    power = 1 if isinstance(noise, DiscreteLaplace) else 2
    costs = [_cost(each) for each in noises[0]]
    unit = np.lcm.reduce([cost.denominator for cost in costs])
    whole = np.array([int(cost * int(unit)) for cost in costs], dtype=object)
    counts = np.array(found, dtype=np.int64)
    pairs = neighbours(tables, protect)
    moved = np.abs(counts[pairs[:, 0]] - counts[pairs[:, 1]]) ** power
    different = np.unique(moved, axis=0).astype(object)
    return Fraction(int((different @ whole).max()), int(unit))


def _cost(noise: Noise | None) -> Fraction:
    """What a difference of one row in one count costs."""
    if noise is None:
        return NO_NOISE
    if isinstance(noise, DiscreteLaplace):
        return 1 / noise.scale
    return 1 / (2 * noise.variance)


TABLES = all_tables(BINARY.grid, MOST_ROWS)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("protect", CHANGES, ids=str)
@pytest.mark.usefixtures("eager")
def test_no_release_is_likelier_by_more_than_epsilon_on_a_neighbour_and_some_is_by_all_of_it(
    protect: ProtectedChange, figures: Callable[[str], None]
):
    loss = largest_loss(BINARY, tree_noise(EPSILON, None, protect), protect, TABLES)
    figures(f"{len(TABLES)} tables, largest log ratio {float(loss / EPSILON)} of epsilon")
    assert loss == EPSILON


@pytest.mark.one_in(4)
@pytest.mark.parametrize("protect", CHANGES, ids=str)
@pytest.mark.usefixtures("eager")
def test_gaussian_noise_costs_rho_at_most_and_somewhere_all_of_it(
    protect: ProtectedChange, figures: Callable[[str], None]
):
    loss = largest_loss(BINARY, tree_noise(EPSILON, RHO, protect), protect, TABLES)
    figures(f"{len(TABLES)} tables, largest rho {float(loss / RHO)} of what it costs")
    assert loss == RHO


def log_chances(tree: NoisyTree, tables: list[Rows]) -> list[Fraction]:
    """The logarithm of the chance that each table gives this very release, but for a constant.

    By the noise of each level: the division of its nodes is no chance at all, given their counts.
    """
    total = [Fraction(0)] * len(tables)
    for node, noisy in tree.counts.items():
        noise = tree.noise.at(tree.shape.level_below(node).share)
        assert isinstance(noise, DiscreteLaplace)
        for place, rows in enumerate(tables):
            counts = children_counts(tree.shape, node, rows)
            away = sum(abs(a - b) for a, b in zip(noisy, counts, strict=True))
            total[place] -= away / noise.scale
    return total


@pytest.mark.parametrize("protect", CHANGES[:2], ids=str)
def test_releases_that_divide_some_nodes_only_keep_epsilon_too(
    protect: ProtectedChange, figures: Callable[[str], None]
):
    """The exact log ratio of what was really released, by all neighbours."""
    tables = all_tables(BINARY.grid, 2)
    pairs = neighbours(tables, protect).tolist()
    noise = tree_noise(EPSILON * 4, None, protect)
    largest = Fraction(0)
    divided = set()
    for seed in range(sized(20, 500)):
        rows = tables[seed % len(tables)]
        (tree,) = release(BINARY, noise, 1, counts_below(rows), WISH, SeededCoins(seed))
        divided.add(len(tree.counts))
        chances = log_chances(tree, tables)
        largest = max(largest, *(chances[a] - chances[b] for a, b in pairs))
    figures(f"largest log ratio {float(largest / (EPSILON * 4))} of epsilon")
    assert len(divided) > 2, "some divide more than others"
    assert EPSILON <= largest <= EPSILON * 4


@dataclass
class Replayed:
    """Noisy counts that do not depend on the table: those of one random number for each node."""

    seed: int
    asked: list[TreeNode] = field(default_factory=list)

    def __call__(self, chosen: ChosenNodes, counts: Counts) -> Counts:
        self.asked += nodes_of(chosen)
        noisy = np.zeros_like(counts)
        for own, node, number in zip(noisy, nodes_of(chosen), chosen.children.numbers, strict=True):
            random = np.random.default_rng([self.seed, node.depth, node.first])
            own[:number] = random.integers(-2, 12, number)
        return noisy


def asked_nodes(rows: Rows, seed: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The nodes that a release asks for, and the points that it has counted, one after the other,
    where these noisy counts are drawn.
    """
    replayed = Replayed(seed)
    scans = []
    below = counts_below(rows)

    def counted(points: Any) -> Any:
        scans.append(points.tolist())
        return below(points)

    monkeypatch.setattr(tree_release, "with_noise", replayed)
    noise = DiscreteLaplace(Fraction(1))
    release(BINARY, noise, 1, counted, WISH, SeededCoins(0))
    return [replayed.asked, scans]


@pytest.mark.parametrize("seed", range(sized(4, 12)))
def test_which_nodes_are_drawn_next_follows_from_the_noisy_counts_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch
):
    tables = TABLES[:: sized(15, 4)]
    expected = asked_nodes(tables[0], seed, monkeypatch)
    assert all(asked_nodes(rows, seed, monkeypatch) == expected for rows in tables)


def test_replayed_counts_divide_more_or_less(monkeypatch: pytest.MonkeyPatch):
    """The replay shows something: other noisy counts ask for other nodes."""
    asked = {len(asked_nodes((), seed, monkeypatch)[0]) for seed in range(10)}
    assert len(asked) > 2


# The checks can fail: each of these bugs is caught.


def test_a_look_that_depends_on_the_table_is_caught(monkeypatch: pytest.MonkeyPatch):
    original = Front.worth_a_look
    table: list[Rows] = []

    def peeking(front: Front, leaves: Looked, is_end: Any) -> Any:
        nodes = [front.numbers.node(number) for number in leaves.node]
        holds = [any(node.first <= row <= node.last for row in table[-1]) for node in nodes]
        return original(front, leaves, is_end) & (np.array(holds) | (leaves.node == 0))

    monkeypatch.setattr(Front, "worth_a_look", peeking)
    found = []
    for rows in ((), (1,), (1, 6)):
        table.append(rows)
        found.append([asked_nodes(rows, seed, monkeypatch) for seed in range(5)])
    assert found[0] != found[1] != found[2]


@pytest.mark.usefixtures("eager")
def test_a_level_without_noise_is_caught(monkeypatch: pytest.MonkeyPatch):
    original = tree_release.with_noise

    def forgetful(chosen: ChosenNodes, counts: Counts) -> Counts:
        if chosen.node(0).depth == 1:
            return counts
        return original(chosen, counts)

    monkeypatch.setattr(tree_release, "with_noise", forgetful)
    protect = AddOrRemoveRows(1)
    loss = largest_loss(BINARY, tree_noise(EPSILON, None, protect), protect, TABLES)
    assert loss >= NO_NOISE


@pytest.mark.usefixtures("eager")
def test_the_noise_of_added_rows_where_rows_are_replaced_is_caught(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(tree_method, "moved_cells", lambda protect: Fraction(protect.k))
    protect = ReplaceRows(2)
    loss = largest_loss(BINARY, tree_noise(EPSILON, None, protect), protect, TABLES)
    assert loss == 2 * EPSILON


class Generous(TreeShape):
    """Each level gets the share of the first."""

    def _fading_levels(self, share: Fraction, chance: Fraction, number: int) -> list[Level]:
        levels = super()._fading_levels(share, chance, number)
        return [levels[0]] * number


@pytest.mark.usefixtures("eager")
def test_shares_that_add_up_to_more_than_epsilon_are_caught():
    protect = AddOrRemoveRows(1)
    shape = Generous(BINARY.grid, BINARY.most_children)
    assert largest_loss(shape, tree_noise(EPSILON, None, protect), protect, TABLES) > EPSILON


@pytest.mark.usefixtures("eager")
def test_a_node_that_is_drawn_twice_is_caught(monkeypatch: pytest.MonkeyPatch):
    original = tree_release._Part.draw

    def again(part: Any, exact: Any) -> None:
        front = part.front
        if front.chosen.node[0] == 0:
            chosen = ChosenNodes(
                front.numbers, front.chosen.node, front.chosen.group, [SeededCoins(0).draw()]
            )
            tree_release.with_noise(chosen, exact.children(chosen.children, chosen.group))
        original(part, exact)

    monkeypatch.setattr(tree_release._Part, "draw", again)
    protect = AddOrRemoveRows(1)
    loss = largest_loss(BINARY, tree_noise(EPSILON, None, protect), protect, TABLES)
    assert loss == EPSILON * (1 + BINARY.level_below(BINARY.root).share)


def test_no_node_is_ever_drawn_twice():
    for rows in TABLES[::7]:
        with Recorder() as recorder:
            release(
                BINARY,
                DiscreteLaplace(Fraction(1, 20)),
                1,
                counts_below(rows),
                WISH,
                SeededCoins(0),
            )
        nodes = [node for node, _, _ in recorder.drawn]
        assert len(nodes) == len(set(nodes))


# The whole way from a question to the noise, for all groups together.

CELLS = (0, 9, 63, 90, None)
DOMAIN = Domain(0, 63)
GROUPED = [(group, cell) for group in ("a", "b", "z") for cell in CELLS]


def asked(rows: Sequence[tuple[str, Any]], protect: ProtectedChange, *, gaussian: bool) -> Any:
    question = plain_question(
        {"d": postri.agg.distribution("x", domain=DOMAIN)},
        protect=protect,
        epsilon=EPSILON,
        confidence=0.9,
        by={"g": ["a", "b"]},
        concentrated=gaussian,
        coins=SeededCoins(0),
    )
    table = {
        "g": [group for group, _ in rows],
        "x": [None if cell is None else float(cell) for _, cell in rows],
    }
    with Recorder() as recorder:
        question.bound(postri.open(table)).answers()
    return recorder.drawn


def loss_of(one: Any, other: Any) -> Fraction:
    total = Fraction(0)
    for (node, counts, noise), (node_too, counts_too, noise_too) in zip(one, other, strict=True):
        assert (node, noise) == (node_too, noise_too)
        power = 1 if isinstance(noise, DiscreteLaplace) else 2
        moved = sum(abs(a - b) ** power for a, b in zip(counts, counts_too, strict=True))
        total += moved * _cost(noise)
    return total


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("gaussian", "budget"),
    [(False, EPSILON), (True, EPSILON**2 / 2)],
    ids=["Laplace", "Gaussian"],
)
@pytest.mark.parametrize("protect", CHANGES[:2], ids=str)
@pytest.mark.usefixtures("eager")
def test_a_question_about_groups_costs_epsilon_and_no_more(
    protect: ProtectedChange, gaussian: bool, budget: Fraction
):
    """A row of "z" lies in no group, one of 90 beyond the domain's edge."""
    nothing = asked([], protect, gaussian=gaussian)
    single = [asked([row], protect, gaussian=gaussian) for row in GROUPED]
    losses = [loss_of(nothing, each) for each in single]
    if isinstance(protect, ReplaceRows):
        losses += [loss_of(one, other) for one in single for other in single]
    assert max(losses) == budget


def test_all_nodes_of_an_eager_tree_are_looked_at(eager: None):
    with Recorder() as recorder:
        release(BINARY, DiscreteLaplace(Fraction(1)), 1, counts_below(()), WISH, SeededCoins(0))
    assert {node for node, _, _ in recorder.drawn} == set(inner_nodes(BINARY))
