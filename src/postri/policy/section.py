"""A policy's file as sections whose problems are noted rather than raised, so that all are told at
once, each with its line.

tomllib reads the values and tells no places: `locate` finds the line of each key in a text that
tomllib has read, so nothing is checked there.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from postri.errors import InputError, PolicyError, Problem, nearest
from postri.exact import shown
from postri.policy.values import a_table

Value = TypeVar("Value")
ReadValue = Callable[[str, Any], Value]
Place = tuple[str | int, ...]

# What `postri init` writes where the steward must choose.
TODO = "TODO"


# ---- sections


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

    def get(self, key: str, read: ReadValue[Value]) -> Value | None:
        """What a key means; None if it is missing or wrong."""
        if not self.has(key):
            return None
        if self.values[key] == TODO:
            hint = self.needed.get(key, "write its value in place of TODO")
            self.note(f"{key} is still to be filled in: {hint}", key)
            return None
        try:
            return read(key, self.values[key])
        except InputError as error:
            self.note(str(error), key)
            return None

    def need(self, key: str, read: ReadValue[Value]) -> Value | None:
        """The same of a key that must be there."""
        if not self.has(key):
            self.note(f"{key} is missing: {self.needed[key]}")
        return self.get(key, read)

    def section(self, key: str, needed: Mapping[str, str]) -> Section | None:
        """The table of a key."""
        values = self.get(key, a_table)
        if values is None:
            return None
        return Section(values, (*self.place, key), self.notes, needed)

    def sections(self, key: str, needed: Mapping[str, str]) -> dict[str, Section]:
        """The tables in the table of a key, by name."""
        outer = self.section(key, {})
        if outer is None:
            return {}
        inner = {name: outer.section(name, needed) for name in outer.values}
        return {name: section for name, section in inner.items() if section is not None}

    def refuse_others(self, known: Iterable[str]) -> None:
        """Note keys that mean nothing."""
        names = list(known)
        for key in self.values:
            if key not in names:
                self.note(f"there is no key {shown(key)} here; {nearest(key, names)}", key)


# ---- from a file to its outermost section


def read_file(file: Path) -> Section:
    """The whole file, or PolicyError if it is no TOML."""
    text = _text(file)
    try:
        values = tomllib.loads(text)
        return Section(values, (), Notes(locate(text)), {})
    except RecursionError:
        problem = Problem(0, "this is not a policy: it is nested too deep")
    except ValueError as error:
        problem = _syntax_problem(str(error), text)
    raise PolicyError(str(file), [problem])


def _text(file: Path) -> str:
    try:
        raw = file.read_bytes()
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        problem = Problem(0, "there is no such file; postri init DATA writes one")
    except OSError as error:
        problem = Problem(0, f"the file cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = Problem(line, "the file must be written in UTF-8, and this line is not")
    raise PolicyError(str(file), [problem])


def _syntax_problem(message: str, text: str) -> Problem:
    """A syntax error on the line that tomllib puts at the end of its message."""
    place = r"(.*) \(at (?:line (\d+), column \d+|end of document)\)"
    found = re.fullmatch(place, message, re.DOTALL)
    if found is None:
        return Problem(0, "this is not TOML: a number has too many digits")
    line = int(found[2] or text.count("\n") + 1)
    return Problem(line, f"this is not TOML: {found[1]}")


# ---- on which line each key stands

# A string of any of the four kinds. Two quotes before the closing three belong to a string over
# several lines.
STRING = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})'
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
BARE = re.compile(r"[A-Za-z0-9_-]+")
SCALAR = re.compile(r"[^,\]}\n#]*")
BLANK = re.compile(r"[ \t]*")
SPACE = re.compile(r"(?:[ \t\n]|#[^\n]*)*")


def locate(text: str) -> dict[Place, int]:
    r"""The line, counted from 1, of each key, table and item of an array.

    >>> lines = locate('[bank]\nbudget = "5"\nkeys = [\n  "a",\n  "b",\n]')
    >>> lines["bank", "budget"], lines["bank", "keys"], lines["bank", "keys", 1]
    (2, 3, 5)
    """
    return _Locator(text.replace("\r\n", "\n")).lines


class _Locator:
    """Walks once over a text.

    A table that is named by its parts alone stands where the first part does, until its own header
    comes.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        # Where lines end, so that the line of a place is found by bisection.
        self._ends = [found.start() for found in re.finditer("\n", text)]
        # How often each [[table]] has come.
        self._tables: dict[Place, int] = {}
        self.lines: dict[Place, int] = {}
        here: Place = ()
        while mark := self._mark(SPACE):
            if mark == "[":
                here = self._header()
            else:
                self._pair(here)

    def _mark(self, skipped: re.Pattern[str]) -> str:
        """The next sign after what is skipped; empty at the end."""
        self._pass(skipped)
        return self._text[self._at : self._at + 1]

    def _pass(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return found[0]

    @property
    def _line(self) -> int:
        return bisect_right(self._ends, self._at) + 1

    def _header(self) -> Place:
        """`[a.b]` or `[[a.b]]`: the table that the pairs below it belong to."""
        line = self._line
        is_array = self._text.startswith("[[", self._at)
        brackets = 1 + is_array
        self._at += brackets
        *parents, last = self._key()
        self._mark(BLANK)
        self._at += brackets
        here: Place = ()
        for name in parents:
            here = self._newest((*here, name), line)
        here = (*here, last)
        if is_array:
            # The array stands where its first table does, each table at its own header.
            self.lines.setdefault(here, line)
            number = self._tables.get(here, 0)
            self._tables[here] = number + 1
            here = (*here, number)
        self.lines[here] = line
        return here

    def _newest(self, here: Place, line: int) -> Place:
        """A table on the way to another, or the newest one of several."""
        self.lines.setdefault(here, line)
        if here in self._tables:
            return (*here, self._tables[here] - 1)
        return here

    def _key(self) -> list[str]:
        names = [self._name()]
        while self._mark(BLANK) == ".":
            self._at += 1
            names.append(self._name())
        return names

    def _name(self) -> str:
        if self._mark(BLANK) not in ("'", '"'):
            return self._pass(BARE)
        return str(tomllib.loads(f"name = {self._pass(STRING)}")["name"])

    def _pair(self, table: Place) -> None:
        line = self._line
        here = table
        for name in self._key():
            here = (*here, name)
            self.lines.setdefault(here, line)
        self._mark(BLANK)
        self._at += 1
        self._value(here)

    def _value(self, here: Place) -> None:
        mark = self._mark(BLANK)
        if mark == "[":
            self._array(here)
        elif mark == "{":
            self._inline_table(here)
        elif mark in ("'", '"'):
            self._pass(STRING)
        else:
            self._pass(SCALAR)

    def _array(self, here: Place) -> None:
        self._at += 1
        number = 0
        while self._mark(SPACE) != "]":
            self.lines[*here, number] = self._line
            self._value((*here, number))
            number += 1
            self._comma()
        self._at += 1

    def _inline_table(self, here: Place) -> None:
        self._at += 1
        while self._mark(SPACE) != "}":
            self._pair(here)
            self._comma()
        self._at += 1

    def _comma(self) -> None:
        if self._mark(SPACE) == ",":
            self._at += 1
