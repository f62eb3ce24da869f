"""Epsilon, and the protected change: what two neighbouring tables may differ in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from postri.errors import InputError
from postri.exact import Number, exact, parameter, shown


@dataclass(frozen=True)
class AddOrRemoveRows:
    """One person's presence adds or removes at most `k` rows. The number of rows is private.

    >>> AddOrRemoveRows(1).sensitivity(Fraction(1, 2))
    Fraction(1, 2)
    """

    k: int = 1

    def __post_init__(self) -> None:
        _check_rows(self.k, "k")

    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        """How far one person moves `#{x <= u} - p*n`: an added row moves it by 1-p or by -p, and
        lies in one group.
        """
        return added_or_removed(self.k, p)

    def __str__(self) -> str:
        return f"adding or removing {_rows(self.k)}"


@dataclass(frozen=True)
class ReplaceRows:
    """One person's presence changes the content of at most `k` rows.

    The number of rows may be public.

    >>> ReplaceRows(2).sensitivity(Fraction(1, 2))
    Fraction(2, 1)
    """

    k: int = 1

    def __post_init__(self) -> None:
        _check_rows(self.k, "k")

    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        """How far one person moves `#{x <= u} - p*n`: a replaced row moves the count by 1 and
        leaves n.

        A row that becomes null is a removed row, which moves it by less. Where there are several
        groups, a row may leave one and enter another: two moves.
        """
        return replaced(self.k, p, groups)

    def __str__(self) -> str:
        return f"replacing {_rows(self.k)}"


@dataclass(frozen=True)
class AddOrRemoveUnits:
    """A person is a value of the column `unit`, and may be added or removed with all rows; the
    engine counts at most `rows` of them.

    >>> AddOrRemoveUnits("customer_id", rows=3).sensitivity(Fraction(1, 2))
    Fraction(3, 2)
    """

    unit: str
    rows: int = 1

    def __post_init__(self) -> None:
        _check_units(self.unit, self.rows)

    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        """How far one person moves `#{x <= u} - p*n`: at most `rows` rows count, whatever group
        they lie in.
        """
        return added_or_removed(self.rows, p)

    def __str__(self) -> str:
        return f"adding or removing {_unit(self.unit, self.rows)}"


@dataclass(frozen=True)
class ReplaceUnits:
    """A person is a value of the column `unit`, and all rows of that person may change; the engine
    counts at most `rows` of them.

    >>> ReplaceUnits("customer_id", rows=3).sensitivity(Fraction(1, 2))
    Fraction(3, 1)
    """

    unit: str
    rows: int = 1

    def __post_init__(self) -> None:
        _check_units(self.unit, self.rows)

    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        """How far one person moves `#{x <= u} - p*n`: at most `rows` rows leave and at most as many
        enter.
        """
        return replaced(self.rows, p, groups)

    def __str__(self) -> str:
        return f"replacing {_unit(self.unit, self.rows)}"


ProtectedChange = AddOrRemoveRows | ReplaceRows | AddOrRemoveUnits | ReplaceUnits


ROW_CHANGES: Mapping[str, type[AddOrRemoveRows | ReplaceRows]] = {
    "add-or-remove-rows": AddOrRemoveRows,
    "replace-rows": ReplaceRows,
}
UNIT_CHANGES: Mapping[str, type[AddOrRemoveUnits | ReplaceUnits]] = {
    "add-or-remove-units": AddOrRemoveUnits,
    "replace-units": ReplaceUnits,
}


def protect_fields(protect: ProtectedChange) -> dict[str, str | int]:
    """A protected change as a policy writes it.

    >>> protect_fields(AddOrRemoveUnits("customer_id", rows=3))
    {'change': 'add-or-remove-units', 'rows': 3, 'unit': 'customer_id'}
    """
    (change,) = (
        name for name, kind in {**ROW_CHANGES, **UNIT_CHANGES}.items() if type(protect) is kind
    )
    unit = {"unit": protect.unit} if isinstance(protect, AddOrRemoveUnits | ReplaceUnits) else {}
    return {"change": change, "rows": most_rows(protect), **unit}


def read_protect(fields: Mapping[str, Any]) -> ProtectedChange:
    """The protected change that was written."""
    change, rows = fields["change"], fields["rows"]
    if change in ROW_CHANGES:
        return ROW_CHANGES[change](rows)
    return UNIT_CHANGES[change](fields["unit"], rows)


def group_factor(before: ProtectedChange, now: ProtectedChange) -> int | None:
    """How many steps of the change before make one of the change now, at most (Theorem 21); None
    if no number is proved to be enough.

    >>> group_factor(AddOrRemoveRows(1), AddOrRemoveRows(100))
    100
    >>> group_factor(AddOrRemoveRows(1), AddOrRemoveUnits("customer_id")) is None
    True
    """
    if isinstance(before, AddOrRemoveRows | ReplaceRows):
        return _steps_of_rows(before, now)
    return _steps_of_units(before, now)


def _steps_of_rows(before: AddOrRemoveRows | ReplaceRows, now: ProtectedChange) -> int | None:
    if not isinstance(now, AddOrRemoveRows | ReplaceRows):
        # A unit may have any number of rows.
        return None
    rows = now.k
    if isinstance(before, AddOrRemoveRows) and isinstance(now, ReplaceRows):
        # A replaced row is a removed one and an added one.
        rows = 2 * now.k
    elif type(before) is not type(now):
        # However many rows are replaced, their number stays.
        return None
    return -(-rows // before.k)


def _steps_of_units(before: AddOrRemoveUnits | ReplaceUnits, now: ProtectedChange) -> int | None:
    if isinstance(now, AddOrRemoveUnits | ReplaceUnits):
        if before.unit != now.unit:
            return None
        # How many rows of a unit count is no part of what is protected: a unit has them all.
        if type(before) is type(now):
            return 1
        if isinstance(before, ReplaceUnits):
            return None
        # A replaced unit is a removed one and an added one.
        return 2
    if isinstance(before, ReplaceUnits):
        return None
    rows = now.k
    if isinstance(now, ReplaceRows):
        rows = 2 * now.k
    # A row that is added or removed changes one unit, which is removed and added again.
    return 2 * rows


def added_or_removed(rows: int, p: Fraction) -> Fraction:
    """How far `rows` added or removed rows move all groups together."""
    return rows * max(p, 1 - p)


def replaced(rows: int, p: Fraction, groups: int) -> Fraction:
    """How far `rows` replaced rows move all groups together."""
    return Fraction(rows) if groups == 1 else 2 * rows * max(p, 1 - p)


def moved_with_drift(
    protect: ProtectedChange, p: Fraction, groups: int, drift: Fraction
) -> Fraction:
    """How much further one person moves `#{x <= u} - p*n - w(n)` than without w, in all groups
    together, if w moves by `drift` at most with each row that n gains or loses.

    >>> moved_with_drift(AddOrRemoveRows(2), Fraction(1, 2), 1, Fraction(1, 10))
    Fraction(1, 5)

    A replaced row moves n only if it becomes null or stops being it. Then it moves the count by
    less than 1, which leaves room for some drift.

    >>> moved_with_drift(ReplaceRows(2), Fraction(1, 2), 1, Fraction(1, 10))
    Fraction(0, 1)
    """
    rows = most_rows(protect)
    if not replaces(protect):
        return rows * drift
    if groups > 1:
        return 2 * rows * drift
    return rows * max(Fraction(0), max(p, 1 - p) + drift - 1)


def moved_rows(protect: ProtectedChange, groups: int) -> Fraction:
    """By how much one person moves the numbers of rows of all groups together: a replaced row may
    leave one group and enter another.
    """
    return Fraction(most_rows(protect) * (2 if replaces(protect) and groups > 1 else 1))


def moved_groups(protect: ProtectedChange, groups: int) -> Fraction:
    """In how many groups one person may count or not, where a person counts once in each: in as
    many as rows of it do. A replaced person may leave as many and enter as many others.
    """
    most = min(most_rows(protect), groups)
    if replaces(protect):
        most = min(2 * most, groups)
    return Fraction(most)


def moved_sum(protect: ProtectedChange, groups: int, lower: Fraction, upper: Fraction) -> Fraction:
    """By how much one person moves the sums of all groups together, of cells between two bounds.

    A replaced row moves a sum by the distance of two cells, or by one cell if it becomes null; with
    several groups, by two cells.
    """
    largest = max(abs(lower), abs(upper))
    if not replaces(protect):
        return most_rows(protect) * largest
    return most_rows(protect) * (max(upper - lower, largest) if groups == 1 else 2 * largest)


def moved_ends(protect: ProtectedChange) -> Fraction:
    """By how much one person moves the sums of the distances of cells from both ends of a domain,
    in all groups together, as a multiple of the domain's width.

    An added row moves the one by what it does not move the other: by the width in all. A replaced
    row moves both by the distance of two cells, or leaves one group and enters another.
    """
    return Fraction(most_rows(protect) * (2 if replaces(protect) else 1))


def moved_cells(protect: ProtectedChange) -> Fraction:
    """By how much one person moves the numbers of rows of disjoint stretches of a domain, in all
    groups together: a replaced row leaves one stretch and enters another.
    """
    return Fraction(most_rows(protect) * (2 if replaces(protect) else 1))


def moved_cells_squared(protect: ProtectedChange) -> Fraction:
    """The sum of the squares of what `moved_cells` adds up."""
    return Fraction(most_rows(protect) ** 2 * (2 if replaces(protect) else 1))


def moved_rows_squared(protect: ProtectedChange, groups: int) -> Fraction:
    """The sum, over all groups, of the squares of what `moved_rows` adds up."""
    return Fraction(most_rows(protect) ** 2 * (2 if replaces(protect) and groups > 1 else 1))


def moved_sum_squared(
    protect: ProtectedChange, groups: int, lower: Fraction, upper: Fraction
) -> Fraction:
    """The sum, over all groups, of the squares of what `moved_sum` adds up: two cells of two groups
    are no more than the diagonal of a square.
    """
    if not replaces(protect) or groups == 1:
        return moved_sum(protect, groups, lower, upper) ** 2
    largest = max(abs(lower), abs(upper))
    return most_rows(protect) ** 2 * max((upper - lower) ** 2, 2 * largest**2)


def moved_ends_squared(protect: ProtectedChange) -> Fraction:
    """The sum, over all groups, of the squares of what `moved_ends` adds up, as a multiple of the
    domain's width squared.
    """
    return Fraction(most_rows(protect) ** 2 * (2 if replaces(protect) else 1))


def protected_unit(protect: ProtectedChange) -> list[str]:
    """The column whose values are persons, if there is one."""
    if isinstance(protect, AddOrRemoveUnits | ReplaceUnits):
        return [protect.unit]
    return []


def most_rows(protect: ProtectedChange) -> int:
    """How many rows of one person count."""
    return protect.k if isinstance(protect, AddOrRemoveRows | ReplaceRows) else protect.rows


def replaces(protect: ProtectedChange) -> bool:
    """Whether rows change what they hold, and are neither added nor removed."""
    return isinstance(protect, ReplaceRows | ReplaceUnits)


def _rows(k: int) -> str:
    return "any one row" if k == 1 else f"any {k} rows"


def _unit(unit: str, rows: int) -> str:
    return f"all rows of any one {unit} (at most {'one counts' if rows == 1 else f'{rows} count'})"


def _check_units(unit: object, rows: object) -> None:
    if not isinstance(unit, str) or not unit:
        raise InputError(
            "name the column whose values are persons, such as "
            f"AddOrRemoveUnits('customer_id', rows=3), got {shown(unit)}"
        )
    _check_rows(rows, "rows")


def _check_rows(k: object, name: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(
            f"{name}, the rows per person, must be a whole number of at least 1, got {shown(k)}"
        )


def check_protect(protect: object) -> ProtectedChange:
    """The protected change, or InputError if it is something else."""
    if not isinstance(protect, ProtectedChange):
        raise InputError(
            "protect must be AddOrRemoveRows(k), ReplaceRows(k), AddOrRemoveUnits(column, "
            "rows=k) or ReplaceUnits(column, rows=k), "
            f"got {shown(protect)}"
        )
    return protect


@dataclass(frozen=True)
class Spend:
    """What one value and its interval cost: exact fractions of epsilon.

    Gaussian noise has a `rho` in place of a factor e^epsilon; its epsilon is what was asked for.
    What follows from a release that others follow from too has a part of its cost, or none: then
    `release` is what the whole of it cost, in epsilon or in rho, and what protects people.
    """

    value: Fraction
    interval: Fraction
    rho: Fraction | None = None
    release: Fraction | None = None

    @property
    def epsilon(self) -> Fraction:
        """What both cost together."""
        return self.value + self.interval


LARGEST_EPSILON = 1_000_000
# Below it nothing can be told from noise, whatever the table.
SMALLEST_EPSILON = Fraction(1, 10**12)
# With probability delta the promise may fail altogether. At more than this it protects nothing: of
# a hundred persons one could be shown in full.
LARGEST_DELTA = Fraction(1, 100)
# Below it no chance can be told from 0.
SMALLEST_DELTA = Fraction(1, 10**50)


def check_epsilon(epsilon: Number) -> Fraction:
    """Epsilon as an exact positive rational."""
    number = exact(epsilon, "epsilon")
    if number <= 0:
        raise InputError(f"epsilon must be positive, got {shown(epsilon)}")
    if number > LARGEST_EPSILON:
        raise InputError(
            f"epsilon must be at most {LARGEST_EPSILON}, got {shown(epsilon)}; far smaller "
            "ones protect nothing already"
        )
    if number < SMALLEST_EPSILON:
        raise InputError(
            f"epsilon must be at least 1e-12, got {shown(epsilon)}; far larger "
            "ones tell nothing already"
        )
    return parameter(epsilon, "epsilon")


def check_delta(delta: Number) -> Fraction:
    """Delta as an exact rational above 0 that protects somebody."""
    number = parameter(delta, "delta")
    if not SMALLEST_DELTA <= number <= LARGEST_DELTA:
        raise InputError(
            f"delta must lie between 1e-50 and 0.01, such as '1e-6', got {shown(delta)}: with that "
            "probability the promise may fail altogether, so it should be far below one over the "
            "number of persons"
        )
    return number


def check_share(value: Number, name: str) -> Fraction:
    """A number strictly between 0 and 1: a confidence, a quantile, a split."""
    number = exact(value, name)
    if not 0 < number < 1:
        hint = ""
        if 1 < number < 100:
            percent = float(number)
            hint = f": {percent:g}% is {percent / 100:g}"
        raise InputError(f"{name} must lie strictly between 0 and 1, got {shown(value)}{hint}")
    return number


def check_outer(p: Number) -> Fraction:
    """The share of the rows at each end of a column: less than a half."""
    share = check_share(p, "p")
    if 2 * share >= 1:
        raise InputError(
            f"p, the share of the rows at each end, must be below 0.5, got {shown(p)}; for the "
            "middle alone ask for the median"
        )
    return share


def check_shares(ps: object, name: str) -> tuple[Fraction, ...]:
    """Several quantiles."""
    if isinstance(ps, str) or not isinstance(ps, Iterable):
        raise InputError(
            f"{name} must be a list of quantiles, such as [0.25, 0.5, 0.75], got {shown(ps)}"
        )
    checked = tuple(check_share(p, "p") for p in ps)
    if not checked:
        raise InputError(f"{name} must hold at least one quantile, got none")
    return checked


def split_spend(epsilon: Fraction, split: Fraction) -> Spend:
    """`split` of epsilon for the value, the rest for its interval."""
    return Spend(epsilon * split, epsilon * (1 - split))
