"""On which line each key of a TOML text stands: tomllib reads values and tells no places.

The text must be one that tomllib has read, so nothing is checked here.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Place = tuple[str | int, ...]

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
        self._text, self._at = text, 0
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._tables: dict[Place, int] = {}
        self.lines: dict[Place, int] = {}
        here: Place = ()
        while self._mark(SPACE):
            if self._mark(SPACE) == "[":
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
        line, several = self._line, self._text.startswith("[[", self._at)
        self._at += 1 + several
        *parents, last = self._key()
        self._mark(BLANK)
        self._at += 1 + several
        here: Place = ()
        for name in parents:
            here = self._newest((*here, name), line)
        here = (*here, last)
        if several:
            self.lines.setdefault(here, line)
            self._tables[here] = self._tables.get(here, 0) + 1
            here = (*here, self._tables[here] - 1)
        self.lines[here] = line
        return here

    def _newest(self, here: Place, line: int) -> Place:
        """A table on the way to another, or the newest one of several."""
        self.lines.setdefault(here, line)
        return (*here, self._tables[here] - 1) if here in self._tables else here

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
        line, here = self._line, table
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
        else:
            self._pass(STRING if mark in ("'", '"') else SCALAR)

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
