"""A table of the file whose problems are noted rather than raised, so that all are told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from postri.errors import InputError, Problem, nearest
from postri.exact import shown
from postri.policy.lines import Place
from postri.policy.values import a_table

Value = TypeVar("Value")
Read = Callable[[str, Any], Value]

TODO = "TODO"


@dataclass(frozen=True)
class Notes:
    """On which line each key stands, and the problems so far."""

    lines: Mapping[Place, int]
    problems: list[Problem] = field(default_factory=list)

    def line(self, place: Place) -> int:
        """The line of a key or a table; 0 for the file as a whole."""
        return self.lines.get(place, 0)

    def add(self, place: Place, text: str) -> None:
        """One more problem."""
        self.problems.append(Problem(self.line(place), text))


@dataclass(frozen=True)
class Section:
    """One table of the file.

    `needed` says what its keys are for, where one is missing or still to be filled in.
    """

    values: Mapping[str, Any]
    place: Place
    notes: Notes
    needed: Mapping[str, str]

    @property
    def line(self) -> int:
        """Where it stands."""
        return self.notes.line(self.place)

    def has(self, key: str) -> bool:
        """Whether a key is there."""
        return key in self.values

    def note(self, text: str, *under: str | int) -> None:
        """A problem of a key, or of the table as a whole."""
        self.notes.add((*self.place, *under), text)

    def get(self, key: str, read: Read[Value]) -> Value | None:
        """What a key means; None if it is missing or wrong."""
        if not self.has(key):
            return None
        if self.values[key] == TODO:
            self.note(
                (
                    f"{key} is still to be filled in: "
                    f"{self.needed.get(key, 'write its value in place of TODO')}"
                ),
                key,
            )
            return None
        try:
            return read(key, self.values[key])
        except InputError as error:
            self.note(str(error), key)
            return None

    def need(self, key: str, read: Read[Value]) -> Value | None:
        """The same of a key that must be there."""
        if not self.has(key):
            self.note(f"{key} is missing: {self.needed[key]}")
        return self.get(key, read)

    def section(self, key: str, needed: Mapping[str, str]) -> Section | None:
        """The table of a key."""
        values = self.get(key, a_table)
        return None if values is None else Section(values, (*self.place, key), self.notes, needed)

    def sections(self, key: str, needed: Mapping[str, str]) -> dict[str, Section]:
        """The tables in the table of a key, by name."""
        outer = self.section(key, {})
        inner = {name: outer.section(name, needed) for name in outer.values} if outer else {}
        return {name: section for name, section in inner.items() if section is not None}

    def refuse_others(self, known: Iterable[str]) -> None:
        """Note keys that mean nothing."""
        names = list(known)
        for key in self.values:
            if key not in names:
                self.note(f"there is no key {shown(key)} here; {nearest(key, names)}", key)
