"""The rules for the parts of a question, each once: what was given, checked, or InputError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from postri.answer.within import FORMS, Within
from postri.errors import InputError
from postri.exact import Number, exact, shown
from postri.mechanisms.coins import Coins, SystemCoins
from postri.methods import METHODS, method_named
from postri.methods.method import Method
from postri.privacy import check_epsilon
from postri.statistics.registry import read
from postri.statistics.statistic import Statistic

if TYPE_CHECKING:
    from postri.expressions.grouping import Grouping

# More rows than any table has.
MOST_ROWS = 10**15

# What a question without epsilon and without a wish is told, wherever that is found.
NO_EPSILON = f"give epsilon, or within, from which it follows: {FORMS}"


def check_aggregates(aggregates: object) -> dict[str, Statistic]:
    """The statistics by their names."""
    if not isinstance(aggregates, Mapping) or not aggregates:
        got = "none" if aggregates == {} else shown(aggregates)
        raise InputError(
            f'aggregates must map names to aggregates, such as {{"mid": "median(fare)"}}, got {got}'
        )
    for name in aggregates:
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of an aggregate must be text, got {shown(name)}")
    return {name: read(each) for name, each in aggregates.items()}


def check_weights(weights: object, names: Sequence[str]) -> dict[str, Fraction]:
    """The weight of each aggregate; as given, not yet divided by their sum."""
    if not isinstance(weights, Mapping) or set(weights) != set(names):
        listed = ", ".join(map(repr, names))
        got = shown(weights)
        if isinstance(weights, Mapping):
            got = "those of " + (", ".join(map(shown, weights)) or "none")
        raise InputError(f"weights must give each of {listed} its weight, and no other; got {got}")
    numbers = {name: exact(weights[name], f"the weight of {name!r}") for name in names}
    for name, number in numbers.items():
        if number <= 0:
            raise InputError(f"the weight of {name!r} must be positive, got {shown(weights[name])}")
    return numbers


def shares_of(weights: object, names: Sequence[str]) -> list[Fraction]:
    """The share of epsilon that each aggregate gets: an even one, or by its weight."""
    if weights is None:
        return [Fraction(1, len(names))] * len(names)
    numbers = check_weights(weights, names)
    total = sum(numbers.values())
    return [number / total for number in numbers.values()]


def check_wishes(
    epsilon: Number | None, weights: object, aggregates: Mapping[str, Statistic]
) -> Fraction | None:
    """The epsilon, or None if it follows from wishes; InputError if it does not."""
    for statistic in aggregates.values():
        if statistic.within is not None and not statistic.takes_wish:
            raise InputError(
                f"how far a {statistic.title} reaches depends on the rows near its ends, so no "
                "epsilon follows from within: give epsilon"
            )
    wishing = [name for name, statistic in aggregates.items() if statistic.within is not None]
    others = [name for name in aggregates if name not in wishing]
    if epsilon is None and not wishing:
        raise InputError(NO_EPSILON)
    if epsilon is None and weights is not None:
        raise InputError("weights divide epsilon, and within tells it: leave out weights")
    if wishing and others and weights is None:
        raise InputError(
            f"{others[0]!r} has no wish, and {wishing[0]!r} has one: give each its within, or none"
        )
    if epsilon is None:
        return None
    return check_epsilon(epsilon)


def check_wishes_of_groups(*, divides: bool) -> None:
    """InputError if wishes are to tell an epsilon where the keys of groups are found."""
    if divides:
        raise InputError(
            "how many groups there will be is not known where keys are found, so no epsilon "
            "follows from within: give epsilon"
        )


def wishes_divide(epsilon: object, aggregates: Mapping[str, Statistic]) -> bool:
    """Whether epsilon, or its division, follows from wishes. One aggregate has all of it."""
    if epsilon is not None and len(aggregates) == 1:
        return False
    return all(statistic.within is not None for statistic in aggregates.values())


def with_wish(
    aggregates: Mapping[str, Statistic], within: Number | Within | None
) -> dict[str, Statistic]:
    """The statistics, those that have no wish of their own with this one."""
    if within is None:
        return dict(aggregates)
    wish = Within.of(within)
    return {
        name: statistic if statistic.within is not None else statistic.wished(wish)
        for name, statistic in aggregates.items()
    }


def check_by(by: object) -> dict[str, str | Grouping]:
    """What divides rows, by the name that the result has for it: columns by their own names, and
    expressions by the ones that are given.
    """
    if isinstance(by, Mapping):
        return {check_text(name, "a name in by"): _divides(each) for name, each in by.items()}
    if isinstance(by, str) or not isinstance(by, Sequence):
        raise InputError(
            'by must be a list of columns, such as ["job"], whose keys are the policy\'s, or map '
            "names to what divides rows, such as {'month': by.month('t', '2013-01', '2013-12')}; "
            f"got {shown(by)}"
        )
    found: dict[str, str | Grouping] = {}
    for each in by:
        named = check_by(each) if isinstance(each, Mapping) else {}
        if not named:
            name = check_text(each, "a column to divide by")
            named = {name: name}
        for name, divides in named.items():
            if name in found:
                raise InputError(f"by names {name!r} twice")
            found[name] = divides
    return found


def _divides(value: object) -> str | Grouping:
    if isinstance(value, str):
        return value
    from postri.expressions.grouping import Grouping

    if not isinstance(value, Grouping):
        raise InputError(
            "rows are divided by a column of the policy, by what postri.by makes, or by its text; "
            f"got {shown(value)}"
        )
    return value


def check_method(method: object) -> Method:
    """The method of this name, or the object."""
    if isinstance(method, str):
        return method_named(method)
    if not isinstance(method, Method):
        raise InputError(
            f"method must be a name ({', '.join(METHODS)}) or a method object, such as "
            f"Depth(noise='gumbel'), got {shown(method)}"
        )
    return method


def check_coins(coins: Coins | None) -> Coins:
    """The coins to draw with: the system's, unless others are given."""
    if coins is None:
        return SystemCoins()
    if isinstance(coins, type) or not callable(getattr(coins, "draw", None)):
        raise InputError(
            f"coins must be left out, or SeededCoins(seed) for an experiment, got {shown(coins)}"
        )
    return coins


def check_expect(expect: object) -> int:
    """About how many rows match: a whole number."""
    if isinstance(expect, bool) or not isinstance(expect, int) or not 1 <= expect <= MOST_ROWS:
        raise InputError(
            "expect, about how many rows match, must be a whole number from 1 to 10^15, got "
            f"{shown(expect)}"
        )
    return expect


def check_flag(flag: object, name: str) -> bool:
    """True or False, and nothing that passes for it."""
    if not isinstance(flag, bool):
        raise InputError(f"{name} must be true or false, got {shown(flag)}")
    return flag


def check_text(value: object, name: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, got {shown(value)}")
    return value
