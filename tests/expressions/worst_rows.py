"""A search for the row on which a predicate costs most, guided by what rows cost.

It knows nothing of how an engine works. Texts are repetitions of letters and of parts of the
predicate at hand, near matches, spliced and cut to lengths below and above what may be read;
numbers, dates and timestamps are those at the ends of their types. What cost most is changed a
little, and kept where it costs more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

from postri.columns import MAX_TEXT

# Room for the numbers that tell rows apart.
LONGEST = MAX_TEXT - 4
LENGTHS = (
    LONGEST,
    LONGEST,
    LONGEST,
    LONGEST // 2,
    1_000,
    100,
    1,
    0,
    MAX_TEXT + 1,
    4 * MAX_TEXT + 1,
)
FAR_TOO_LONG = 10 * MAX_TEXT
UNITS = ("a", "ab", "ba", "aab", "é", "aé", "\U0001f600", "a\U0001f600", "~", " ", "%", "_", "\n")
CELLS: dict[str, Sequence[Any]] = {
    "i": (0, 1, -1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), None),
    "j": (0, 1, -1, 3, 2**32, -(2**62), 2**63 - 1, -(2**63), None),
    "d": (*map(Decimal, ("0", "0.01", "-9999999999999999.99", "9999999999999999.99")), None),
    "f": (
        *(0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-150, 1e-151, 1e150, 1e151, 1e308, 2.0**53),
        *(float("inf"), float("-inf"), float("nan"), None),
    ),
    "day": (date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(1582, 10, 10), None),
    "ts": (
        datetime(1, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        None,
    ),
}
PLAIN = {
    "t": "abcdef",
    "u": "abcdeg",
    "i": 12,
    "j": 34,
    "d": Decimal("1.25"),
    "f": 2.5,
    "day": date(2020, 1, 1),
    "ts": datetime(2020, 1, 1, 12),
}


@dataclass(frozen=True)
class Row:
    """The cells of a row, and which share of a text stands before the number by which rows that
    are otherwise alike are told apart: an engine may compute equal texts once.
    """

    cells: dict[str, Any] = field(default_factory=lambda: dict(PLAIN))
    place: float = 1.0

    def numbered(self, number: int) -> dict[str, Any]:
        """The cells of one such row."""
        return {**self.cells, "t": self._text("t", number), "u": self._text("u", number)}

    def _text(self, column: str, number: int) -> str | None:
        text = self.cells[column]
        if text is None:
            return None
        place = round(self.place * len(text))
        return f"{text[:place]}{number}{text[place:]}"


@dataclass(frozen=True)
class Trial:
    """A predicate, as a text, on a row."""

    predicate: str
    row: Row


# What one row of each trial costs.
Costs = Callable[[Sequence[Trial]], Sequence[float]]


@dataclass(frozen=True)
class Worst:
    """The most expensive row that was found for a predicate, and what it costs."""

    row: Row
    cost: float


def worst_rows(
    predicates: Sequence[str], costs: Costs, *, generations: int, children: int, seed: int = 5
) -> dict[str, Worst]:
    """For each predicate the most expensive row that was found.

    All predicates take a step at a time, so that an engine may measure many trials at once.
    """
    random = Random(seed)
    worst = {predicate: Worst(Row(), 0.0) for predicate in predicates}
    for generation in range(generations):
        trials = []
        for predicate in predicates:
            parent = worst[predicate].row
            trials += [
                Trial(predicate, _child(parent, predicate, generation * children + number, random))
                for number in range(children)
            ]
        for trial, cost in zip(trials, costs(trials), strict=True):
            if cost > worst[trial.predicate].cost:
                worst[trial.predicate] = Worst(trial.row, cost)
    return worst


def _child(parent: Row, predicate: str, number: int, random: Random) -> Row:
    """A row to try: first some that are likely to cost much, then changes of the worst so far."""
    if number < len(FIRST):
        return FIRST[number](predicate, random)
    return random.choice(CHANGES)(parent, predicate, random)


# ---- rows to begin with


def _near_match(predicate: str, random: Random) -> Row:
    """Texts in which most of what is looked for stands everywhere, and its end nowhere."""
    near = _near(predicate, random)
    text = _filled(near, LONGEST)
    extremes = {column: random.choice(cells[:-1]) for column, cells in CELLS.items()}
    return Row({**extremes, "t": text, "u": text})


def _one_letter(predicate: str, random: Random) -> Row:
    """The same letter all along, which the predicate looks for most."""
    letters = "".join(_words(predicate)) or "a"
    letter = max(sorted(set(letters)), key=letters.count)
    text = letter * LONGEST
    return Row({**PLAIN, "t": text, "u": text[:-1] + "~", "f": 5e-324, "i": -(2**63)})


def _too_long(predicate: str, random: Random) -> Row:
    """Texts that cannot be read."""
    text = _filled(_near(predicate, random), FAR_TOO_LONG)
    return Row({**PLAIN, "t": text, "u": text[: MAX_TEXT + 1], "f": float("nan")})


def _wide(predicate: str, random: Random) -> Row:
    """Signs of four bytes."""
    text = "\U0001f600" * LONGEST
    return Row({**PLAIN, "t": text, "u": text, "d": Decimal("-9999999999999999.99")}, 0.0)


FIRST = (_near_match, _one_letter, _too_long, _wide)


# ---- changes of a row


def _other_text(row: Row, predicate: str, random: Random) -> Row:
    """One text anew."""
    unit = random.choice([*UNITS, _near(predicate, random), *_words(predicate)])
    return _with(row, random.choice("tu"), _filled(unit, random.choice(LENGTHS)))


def _spliced(row: Row, predicate: str, random: Random) -> Row:
    """Another beginning, end or middle."""
    column = random.choice("tu")
    text = row.cells[column] or ""
    unit = random.choice([*UNITS, _near(predicate, random)])
    new = _filled(unit, random.randint(1, max(1, len(text))))
    place = random.choice([0, len(text) // 2, len(text)])
    return _with(row, column, (text[:place] + new + text[place:])[:LONGEST])


def _other_length(row: Row, predicate: str, random: Random) -> Row:
    """The same texts, shorter or longer."""
    length = random.choice(LENGTHS)
    cells = {each: _filled(row.cells[each] or "a", length) for each in "tu"}
    return replace(row, cells={**row.cells, **cells})


def _other_letters(row: Row, predicate: str, random: Random) -> Row:
    """Some letters changed, at random places or at regular ones."""
    column = random.choice("tu")
    letters = list(row.cells[column] or "a")
    step = random.choice([1, 2, 3, 7, 13, 64, 1_000])
    first = random.randrange(len(letters))
    letter = random.choice("".join([*UNITS, *_words(predicate)]))
    for place in range(first, len(letters), step):
        letters[place] = letter
    return _with(row, column, "".join(letters))


def _alike(row: Row, predicate: str, random: Random) -> Row:
    """Two texts that differ at their ends, if at all."""
    text = (row.cells["t"] or "")[:LONGEST]
    return _with(row, "u", text[:-1] + random.choice(["", text[-1:], "~", "é"]))


def _other_cells(row: Row, predicate: str, random: Random) -> Row:
    """Some numbers and moments at the ends of their types."""
    chosen = random.sample(list(CELLS), random.randint(1, len(CELLS)))
    cells = {column: random.choice(CELLS[column]) for column in chosen}
    return replace(row, cells={**row.cells, **cells})


def _other_place(row: Row, predicate: str, random: Random) -> Row:
    """The number that tells rows apart elsewhere, or nothing in place of a text."""
    if random.random() < 0.2:
        return _with(row, random.choice("tu"), None)
    return replace(row, place=random.choice([0.0, 0.5, 1.0]))


CHANGES = (
    *(_other_text, _other_text, _spliced, _spliced, _other_letters, _other_letters),
    *(_other_length, _alike, _other_cells, _other_cells, _other_place),
)


def _with(row: Row, column: str, cell: Any) -> Row:
    return replace(row, cells={**row.cells, column: cell})


def _filled(unit: str, length: int) -> str:
    """A text repeated up to a length."""
    return (unit * (length // max(len(unit), 1) + 1))[:length]


def _words(predicate: str) -> list[str]:
    """What stands between the wildcards of the texts of a predicate."""
    texts = re.findall(r"'([^']*)'", predicate)
    return [word for text in texts for word in re.split("[%_]+", text) if word]


def _near(predicate: str, random: Random) -> str:
    """A text that fits a pattern of the predicate but for its last character, or almost."""
    texts = re.findall(r"'([^']*)'", predicate) or ["ab"]
    text = random.choice(texts)
    fits = "".join(random.choice("aab") if sign == "_" else sign for sign in text if sign != "%")
    return fits[:-1] or "a"
