"""What the rows show of ours beside the others, and where they do not.

Each claim is looked at in every cell, and every cell against it is named. A peer is compared with
ours under the same neighbours, at the same epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from compare.measures import ENOUGH_RUNS, Figure, figure

Kept = dict[str, Any]
OURS = "postri"
# Widths that are rounded otherwise are the same.
SAME_WIDTH = 0.001


@dataclass(frozen=True)
class Against:
    """A cell in which a claim fails, and what is lower there than ours by how much."""

    words: str
    cell: str = ""
    peer: str = ""
    assumes: str = ""
    over_ours: float = 1.0
    # Whether ours is no more than noise apart where nine tenths of epsilon draw the value.
    closed: bool = False


@dataclass(frozen=True)
class Finding:
    """A claim, in how many cells it was looked at, the cells where it fails, and how many had too
    few runs to tell.
    """

    claim: str
    looked_at: int
    against: list[Against] = field(default_factory=list)
    too_few: int = 0

    @property
    def closed(self) -> list[Against]:
        """Where the claim fails for how epsilon is split by default, and for nothing else."""
        return [each for each in self.against if each.closed]

    @property
    def open(self) -> list[Against]:
        """Where it fails however epsilon is split."""
        return [each for each in self.against if not each.closed]

    @property
    def verdict(self) -> str:
        """In words, with the numbers."""
        if not self.looked_at:
            words = "not looked at yet: no row of this kind was run often enough"
        elif not self.against:
            words = f"holds in all {self.looked_at:,} cells"
        else:
            held = self.looked_at - len(self.against)
            words = f"**does not hold in {len(self.against):,} cells**, holds in {held:,}"
        if self.closed:
            words += (
                f"; in {len(self.closed):,} of the former ours is no more than noise apart once "
                "nine tenths of its epsilon, too, draw the value (`split=0.9`)"
            )
        if self.too_few:
            words += f"; {self.too_few:,} cells had fewer than {ENOUGH_RUNS} runs and tell nothing"
        return words


@dataclass(frozen=True)
class Pair:
    """A peer's cell and those of ours that stand beside it."""

    row: Kept
    peer: Kept
    ours: Kept
    value_heavy: Kept | None

    @property
    def name(self) -> str:
        """Which cell this is, in words."""
        return f"{self.row['row']} at epsilon {self.peer['epsilon']:g}, {shown_peer(self.peer)}"

    def errors(self) -> tuple[Figure, Figure]:
        """The errors of the peer and of ours: in rows for quantiles, else in value."""
        word = "rank_error"
        if word not in self.ours:
            word = "value_error"
        return Figure(**self.peer[word]), Figure(**self.ours[word])

    @property
    def tells(self) -> bool:
        """Whether both were run often enough."""
        return min(self.peer["runs"], self.ours["runs"]) >= ENOUGH_RUNS

    @property
    def peer_is_better(self) -> bool:
        """Whether the peer's error is lower beyond noise."""
        theirs, ours = self.errors()
        return self._is_below(theirs, ours, self.ours["runs"])

    @property
    def closed(self) -> bool:
        """Whether it is not, where nine tenths of our epsilon draw the value."""
        if self.value_heavy is None:
            return False
        heavy = figure(self.value_heavy, "rank_error")
        theirs, _ = self.errors()
        return heavy is not None and not self._is_below(theirs, heavy, self.value_heavy["runs"])

    def _is_below(self, theirs: Figure, ours: Figure, runs: int) -> bool:
        """Few runs that are all alike do not tell that others would be: then the peer's error is
        taken to vary as ours does.
        """
        if not theirs.error:
            theirs = Figure(theirs.mean, ours.error * sqrt(runs / self.peer["runs"]))
        return theirs.below(ours)


def shown_peer(cell: Kept) -> str:
    """The name of a peer with its way, where it has several."""
    if cell["way"] == "default":
        return str(cell["peer"])
    return f"{cell['peer']} ({cell['way']})"


def pairs(rows: Sequence[Kept]) -> Iterator[Pair]:
    """Every answered cell of a peer, beside ours."""
    for row in rows:
        if row["kind"] != "error":
            continue
        own = {
            (cell["way"], cell["neighbours"], cell["epsilon"]): cell
            for cell in row["cells"]
            if cell["peer"] == OURS and "value_error" in cell
        }
        for cell in row["cells"]:
            if cell["peer"] == OURS or "value_error" not in cell:
                continue
            terms = cell["neighbours"], cell["epsilon"]
            if ("default", *terms) in own:
                yield Pair(row, cell, own["default", *terms], own.get(("9:1", *terms)))


def findings(rows: Sequence[Kept]) -> list[Finding]:
    """The four claims of the comparison."""
    beside = [pair for pair in pairs(rows) if pair.tells]
    too_few = [pair for pair in pairs(rows) if not pair.tells]
    return [
        _errors(beside, len(too_few)),
        _our_coverage(rows),
        _narrowest(beside, len([pair for pair in too_few if "coverage" in pair.peer])),
        _fastest(rows),
    ]


def _errors(beside: Sequence[Pair], too_few: int) -> Finding:
    against = []
    for pair in beside:
        if not pair.peer_is_better:
            continue
        theirs, ours = pair.errors()
        against.append(
            Against(
                f"{pair.name}: error {brief(theirs.mean)} against {brief(ours.mean)}",
                f"{pair.row['row']} at {pair.peer['epsilon']:g}",
                shown_peer(pair.peer),
                pair.peer.get("assumes", ""),
                theirs.mean / ours.mean,
                pair.closed,
            )
        )
    claim = "No peer has a lower error beyond noise at the same privacy"
    return Finding(claim, len(beside), against, too_few)


def _our_coverage(rows: Sequence[Kept]) -> Finding:
    cells = [
        (row, cell)
        for row in rows
        if row["kind"] == "error"
        for cell in row["cells"]
        if cell["peer"] == OURS and "coverage" in cell
    ]
    too_few = [cell for _, cell in cells if cell["runs"] < ENOUGH_RUNS]
    cells = [(row, cell) for row, cell in cells if cell["runs"] >= ENOUGH_RUNS]
    against = [
        Against(
            f"{row['row']} at epsilon {cell['epsilon']:g}, {cell['neighbours']}: "
            f"{cell['coverage']['share']:.3f} of {cell['coverage']['tries']:,}"
        )
        for row, cell in cells
        if not cell["coverage"]["stands"]
    ]
    claim = "Our intervals hold as often as they promise"
    return Finding(claim, len(cells), against, len(too_few))


def _narrowest(beside: Sequence[Pair], too_few: int) -> Finding:
    """Among those that cover; one that misses too often is no rival."""
    rivals = [
        pair for pair in beside if "coverage" in pair.peer and pair.peer["coverage"]["stands"]
    ]
    against = []
    for pair in rivals:
        theirs = Figure(**pair.peer["half_width"])
        ours = Figure(**pair.ours["half_width"])
        if theirs.below(ours) and theirs.mean < ours.mean * (1 - SAME_WIDTH):
            words = f"half-width {brief(theirs.mean)} against {brief(ours.mean)}"
            against.append(Against(f"{pair.name}: {words}"))
    claim = "Our interval is the narrowest among those that cover"
    return Finding(claim, len(rivals), against, too_few)


def _fastest(rows: Sequence[Kept]) -> Finding:
    looked_at = 0
    against = []
    for row in rows:
        if row["kind"] != "time" or row["size"] < 10**6:
            continue
        timed = [cell for cell in row["cells"] if "seconds" in cell]
        own = [cell["seconds"] for cell in timed if cell["peer"] == OURS]
        for cell in timed:
            if cell["peer"] == OURS or not own:
                continue
            looked_at += 1
            if cell["seconds"] < min(own):
                words = f"{row['row']}, {shown_peer(cell)}: {cell['seconds']:.3g} s"
                against.append(Against(f"{words} against {min(own):.3g} s"))
    claim = "Our time is the lowest among private answers from 1e6 rows on"
    return Finding(claim, looked_at, against)


def brief(number: float) -> str:
    """Three digits or so.

    >>> brief(0.01234), brief(123.4), brief(1234567.0), brief(2.5e9)
    ('0.0123', '123', '1,234,567', '2.5e+09')
    """
    if abs(number) >= 1e8:
        return f"{number:.3g}"
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"
