"""Keys that nobody declared: who decides which are told, and the draw that finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from postri.answer import Answer
from postri.answer.drawn import Kept
from postri.columns import DECLARABLE
from postri.engines.rows import (
    MOST_GROUPS,
    GroupColumn,
    Groups,
    Key,
    KeySizes,
    Rows,
    Selection,
    keys_of_raws,
)
from postri.engines.table import Table
from postri.mechanisms.coins import Coins
from postri.statistics.count import Count
from postri.statistics.found import FoundCount
from postri.statistics.statistic import Asked, Statistic

# The name of a count that decides and that nobody asked for. No aggregate has it.
UNASKED = ""
# How cells are read that are declared to be whole numbers, and the ends of those.
WHOLE = DECLARABLE["integer"]
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def with_decider(
    aggregates: Mapping[str, Statistic], shares: Sequence[Fraction], groups: Groups
) -> tuple[Mapping[str, Statistic], Sequence[Fraction]]:
    """The aggregates with the count that decides which keys are told, and their shares of epsilon.

    A count of all rows that is asked for decides, and is paid for once. Else one more count does,
    which has a share like that of the others. It stands behind them and is not shown.
    """
    unknown = groups.unknown
    if unknown is None or unknown.delta is None:
        return aggregates, shares
    decider = FoundCount(found=unknown.column, delta=unknown.delta)
    if len(groups.columns) == 1:
        for name, statistic in aggregates.items():
            if statistic == Count():
                return {**aggregates, name: decider}, shares
    number = len(shares)
    own = Fraction(1, number + 1)
    return {**aggregates, UNASKED: decider}, [*(share * number * own for share in shares), own]


def most_found(asked: Sequence[Asked], groups: Groups) -> int:
    """How many keys may be told: so many that all groups, and the keys that statistics tell of in
    them, are no more than may be declared.
    """
    told = [len(each.statistic.public_keys or ()) for each in asked]
    return max(1, MOST_GROUPS // (groups.declared_size * max([1, *told])))


@dataclass(frozen=True)
class FoundKeys:
    """The keys that are told, in their order, and the number of rows of each."""

    keys: tuple[Key, ...]
    answers: Sequence[Answer]


def draw_keys(
    table: Table, rows: Rows, unknown: GroupColumn, decider: Asked, most: int, coins: Coins
) -> FoundKeys:
    """Count the rows of all keys that the column has, and draw which of them are told."""
    selection = _of_unknown(table, rows, unknown)
    (column,) = selection.keys
    sizes = _within_64_bits(table.key_sizes(selection), is_read=column.type == WHOLE)
    statistic = decider.statistic
    assert isinstance(statistic, FoundCount)
    places, noisy = statistic.draw_kept(sizes.rows, most, decider.terms, coins)
    keys = keys_of_raws(sizes.raws[places], column.type)
    return FoundKeys(keys, statistic.told(keys, noisy, decider.terms, coins))


def _of_unknown(table: Table, rows: Rows, unknown: GroupColumn) -> Selection:
    return table.bind(Rows(rows.where, Groups((unknown,)), rows.units))


def _within_64_bits(sizes: KeySizes, *, is_read: bool) -> KeySizes:
    """Without the ends of 64 bits where cells are read as whole numbers: all beyond count as they
    do, and are no key.
    """
    if not is_read:
        return sizes
    inside = (sizes.raws > LOWEST) & (sizes.raws < HIGHEST)
    return KeySizes(sizes.raws[inside], sizes.rows[inside])


def keys_in(answers: Sequence[Sequence[Answer]], place: int) -> tuple[Key, ...]:
    """The keys that were told, from the answers of all groups: each count that decided has its
    own.
    """
    kept = [group[place].drawn for group in answers]
    return tuple(dict.fromkeys(each.key for each in kept if isinstance(each, Kept)))
