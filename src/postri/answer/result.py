"""What a question with several parts returns: a table of values, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

from postri.answer.answer import Answer
from postri.answer.bins import ENDS
from postri.answer.lazy import LazySequence
from postri.answer.population import Population, joined
from postri.answer.words import key_words, shared_notes, table
from postri.errors import InputError, PostriError, nearest
from postri.exact import shown

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

# What follows the name of a key that was found in the name of its lead.
LEAD = "_lead"


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result: a key, or the value of the aggregate of this name, or an end of its
    interval, or whether that end is an edge, which means "here or beyond"; or the key that an
    aggregate found, which is a `winner`.
    """

    title: str
    what: Literal["key", "winner", "value", "low", "high", "low_is_edge", "high_is_edge"]
    name: str


def usual_columns(name: str, *, finds_key: bool = False) -> list[ResultColumn]:
    """A value, and the ends of its interval after it; before it the key that it is about, if the
    aggregate finds one.
    """
    winners = []
    if finds_key:
        winners.append(ResultColumn(winner_title(name), "winner", name))
    return [
        *winners,
        ResultColumn(name, "value", name),
        ResultColumn(f"{name}_low", "low", name),
        ResultColumn(f"{name}_high", "high", name),
        ResultColumn(f"{name}_low_is_edge", "low_is_edge", name),
        ResultColumn(f"{name}_high_is_edge", "high_is_edge", name),
    ]


def winner_title(name: str) -> str:
    """What the column of a key is called that an answer of this name is about.

    >>> winner_title("mode_city_lead")
    'mode_city'
    """
    return name.removesuffix(LEAD)


class Result:
    """Answers as rows and columns: the keys of a group, then for each aggregate `name`, `name_low`,
    `name_high`, `name_low_is_edge` and `name_high_is_edge`: an end on the domain's edge means "here
    or beyond".

    `population` says which rows all of it is about, `populations` says it for each aggregate.
    `epsilon` is what all of it cost: groups are disjoint and share it. `charged` is what was paid
    for it now: nothing, if it was `recorded` in a ledger before. A ledger's answer has an
    `answer_id`.
    """

    def __init__(
        self,
        keys: Sequence[str],
        names: Sequence[str],
        groups: Sequence[tuple[tuple[Any, ...], Sequence[Answer]]],
        *,
        answer_id: str | None = None,
        recorded: bool = False,
        layout: Sequence[ResultColumn] | None = None,
        epsilon: Fraction | None = None,
        about: Answer | None = None,
        charged: Fraction | None = None,
    ) -> None:
        self.keys = tuple(keys)
        self.names = tuple(names)

        @cache
        def row(place: int) -> tuple[tuple[Any, ...], tuple[Answer, ...]]:
            values, answers = groups[place]
            return tuple(values), tuple(answers)

        self.groups = LazySequence(len(groups), row)
        self.answer_id = answer_id
        self.recorded = recorded
        if layout is None:
            layout = [ResultColumn(key, "key", key) for key in self.keys]
            for name in self.names:
                layout += usual_columns(name, finds_key=name in self._winners)
        self.layout = tuple(layout)
        # A result may have lost all its rows by HAVING, and still have cost something.
        if about is None:
            about = self.groups[0][1][0]
        if epsilon is None:
            epsilon = sum((answer.epsilon for answer in self.groups[0][1]), start=Fraction(0))
        self.about = about
        self.epsilon = epsilon
        self._charged = charged
        self._places = {name: place for place, name in enumerate(self.names)}

    @staticmethod
    def check_names(keys: Sequence[str], names: Sequence[str], winners: Sequence[str] = ()) -> None:
        """Refuse names that would give two columns of the same name; `winners` are those of the
        answers that find a key.
        """
        seen = set()
        titles = [
            cell.title for name in names for cell in usual_columns(name, finds_key=name in winners)
        ]
        for column in (*keys, *titles):
            if column in seen:
                raise InputError(
                    f"two columns of the result would have the name {column!r}; rename an aggregate"
                )
            seen.add(column)

    @property
    def _winners(self) -> list[str]:
        """The names of the answers that are about a key which they found."""
        if not self.groups:
            return []
        _, answers = self.groups[0]
        named = zip(self.names, answers, strict=True)
        return [name for name, answer in named if answer.key is not None]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [cell.title for cell in self.layout]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a group."""
        return [
            {cell.title: self.cell(cell, *group) for cell in self.layout} for group in self.groups
        ]

    def cell(self, cell: ResultColumn, values: tuple[Any, ...], answers: tuple[Answer, ...]) -> Any:
        """What stands in a column, in the row of these keys and answers."""
        if cell.what == "key":
            return values[self.keys.index(cell.name)]
        answer = self.answer_of(cell, answers)
        if cell.what == "value":
            return answer.value
        if cell.what == "winner":
            return answer.key
        return getattr(answer.interval, cell.what)

    def answer_of(self, cell: ResultColumn, answers: tuple[Answer, ...]) -> Answer:
        """The answer that a column tells, among those of a row."""
        return answers[self._places[cell.name]]

    @property
    def confidence(self) -> float:
        """With which probability each interval holds its true value."""
        return self.about.confidence

    @property
    def population(self) -> str:
        """The rows that all of it is about, in words; what is particular to an aggregate stands in
        parentheses.
        """
        if not self.groups:
            # HAVING may have left none; what was asked is still about some rows.
            return str(replace(self.about.rows.whole, cells=None, taken=None, particular=None))
        return str(joined(self._populations))

    @property
    def populations(self) -> dict[str, str]:
        """For each aggregate the rows that it is about, in all groups together; nothing for a
        result without rows.
        """
        return {name: str(population) for name, population in self._populations.items()}

    @property
    def _populations(self) -> dict[str, Population]:
        if not self.groups:
            return {}
        _, answers = self.groups[0]
        wholes = (answer.rows.whole for answer in answers)
        return dict(zip(self.names, wholes, strict=True))

    @property
    def notes(self) -> list[str]:
        """What else a reader must know, with the answers that it is about."""
        return shared_notes(self)

    @property
    def answers(self) -> list[Answer]:
        """Every answer, group by group."""
        return [answer for _, answers in self.groups for answer in answers]

    @property
    def charged(self) -> Fraction:
        """What was paid for it now: its epsilon; of Gaussian noise, what it added to the total."""
        if self.recorded:
            return Fraction(0)
        if self._charged is not None:
            return self._charged
        return self.epsilon

    @property
    def private(self) -> bool:
        """Whether all answers were drawn with coins that nobody can foresee."""
        return all(answer.private for answer in (self.about, *self.answers))

    def answer(self, name: str, *keys: Any) -> Answer:
        """One answer: that of an aggregate, in the group of these keys."""
        place = self._place(name)
        for values, answers in self.groups:
            if values == keys:
                return answers[place]
        raise InputError(
            f"there is no group {shown(keys)}; name a key for each of "
            f"{', '.join(self.keys) or 'no column'}"
        )

    def _place(self, name: str) -> int:
        """Where the answer of this name is among those of a group."""
        if name not in self._places:
            raise InputError(
                f"there is no aggregate {shown(name)}; {nearest(str(name), self.names)}"
            )
        return self._places[name]

    def __len__(self) -> int:
        return len(self.groups)

    def __str__(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return f"<Result of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from postri.answer.notebook import result_html

        return result_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Columns, rows and what they cost, as Python values."""
        # The forms read results too, so they import this file.
        from postri.answer.forms import plain_result

        return dict(plain_result(self))

    def to_json(self) -> str:
        """The same as JSON: dates as text, epsilon as a rational, decimals with all digits."""
        from postri.answer.forms import json_text

        return json_text(self.to_dict())

    def to_csv(self) -> str:
        """The rows as CSV text with a header; dates in ISO form, decimals with all their digits.

        The last column says in each row which rows the answers are about.
        """
        import csv

        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.columns, self._population_title()])
        population = self.population
        for row in self.rows:
            writer.writerow([*map(_csv_cell, row.values()), population])
        return text.getvalue()

    def _population_title(self) -> str:
        """A column of the result may have the name."""
        title = "population"
        while title in self.columns:
            title += "_"
        return title

    # These libraries load only when they are asked for: nobody who prints a table waits for them.

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas data frame, with the `population` among its `attrs`."""
        try:
            import pandas
        except ImportError:
            raise _missing("pandas") from None
        frame = pandas.DataFrame(self._columns())
        frame.attrs["population"] = self.population
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars data frame."""
        try:
            import polars
        except ImportError:
            raise _missing("polars") from None
        return polars.DataFrame(self._columns())

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table, with the `population` in its schema's metadata."""
        try:
            import pyarrow
        except ImportError:
            raise _missing("pyarrow") from None
        table = pyarrow.table(self._columns())
        return table.replace_schema_metadata({"population": self.population})

    def _columns(self) -> dict[str, list[Any]]:
        rows = self.rows
        return {name: [row[name] for row in rows] for name in self.columns}

    def plot(
        self, name: str | None = None, ax: Axes | None = None, *, title: str | None = None
    ) -> Axes:
        """Draw dots with bars, one below the other: of one aggregate, or of all. Where a key is a
        date or timestamp, one aggregate is drawn as dots with upright bars along time.

        Needs the extra `plot`. `title` stands above in place of the names of the columns.
        """
        from postri.answer.picture import draw_result

        names = self.names
        if name is not None:
            names = (name,)
        return draw_result(self, names, ax, title)

    def labels(self, names: Sequence[str]) -> list[tuple[str, Answer]]:
        """The answers of some aggregates, each with a label that tells it from the others."""
        labelled = []
        places = [(name, self._place(name)) for name in names]
        for values, answers in self.groups:
            group = ", ".join(map(str, values))
            for name, place in places:
                label = name
                if group and len(names) == 1:
                    label = group
                elif group:
                    label = f"{group}: {name}"
                answer = answers[place]
                if answer.key is not None:
                    label = f"{label}: {key_words(answer.key)}"
                labelled.append((label, answer))
        return labelled

    @property
    def pictures(self) -> list[list[str]]:
        """The names of the answers by what one picture shows: the bins of a histogram together, and
        every other aggregate by itself.
        """
        if not self.groups:
            return [[name] for name in self.names]
        _, answers = self.groups[0]
        found: list[list[str]] = []
        for name, answer in zip(self.names, answers, strict=True):
            if found and answer.bin is not None and answer.bin.number > 0:
                found[-1].append(name)
            else:
                found.append([name])
        return found

    def by_bin(self) -> Result:
        """The histogram that it is, with a row for each bin in place of columns."""
        rows = []
        for answer in self.answers:
            assert answer.bin is not None
            rows.append(((answer.bin.low, answer.bin.high), [answer]))
        return Result(
            ENDS,
            ("count",),
            rows,
            answer_id=self.answer_id,
            recorded=self.recorded,
            epsilon=self.epsilon,
            charged=self._charged,
        )

    def by_place(self) -> Result:
        """The ranking that it is, with a row for each place in place of columns."""
        rows = [((place, answer.key), [answer]) for place, answer in enumerate(self.answers, 1)]
        keys = ("place", "key")
        return Result(
            keys,
            ("lead",),
            rows,
            answer_id=self.answer_id,
            recorded=self.recorded,
            layout=[*(ResultColumn(key, "key", key) for key in keys), *usual_columns("lead")],
            epsilon=self.epsilon,
            charged=self._charged,
        )


def _csv_cell(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell)


def _missing(package: str) -> PostriError:
    return PostriError(f"this needs {package}: pip install {package}")
