"""The locator: it finds every key that tomllib reads, on the line where it was written."""

from __future__ import annotations

import tomllib
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postri.policy.section import Place, locate
from proving import examples

QUOTES = '"' * 3


def places(value: Any, here: Place = ()) -> set[Place]:
    """Every key and item of a value that tomllib gives."""
    inner: dict[Any, Any] = {}
    if isinstance(value, dict):
        inner = value
    elif isinstance(value, list):
        inner = dict(enumerate(value))
    found: set[Place] = set()
    for key, each in inner.items():
        place = (*here, key)
        found |= {place} | places(each, place)
    return found


CASES = {
    "pairs": ("a = 1\n\nb = 2", {("a",): 1, ("b",): 3}),
    "comments": ("# a = 1\na = 1 # b = 2\n # c\n", {("a",): 2}),
    "tables": ("[a]\nx = 1\n[b]\ny = 2", {("a",): 1, ("a", "x"): 2, ("b",): 3, ("b", "y"): 4}),
    "a table inside": ("[a.b]\nx = 1", {("a",): 1, ("a", "b"): 1, ("a", "b", "x"): 2}),
    "a header after what it holds": (
        "[a.b]\nx = 1\n[a]\ny = 2",
        {("a",): 3, ("a", "b"): 1, ("a", "b", "x"): 2, ("a", "y"): 4},
    ),
    "blanks in a header": ("[ a . 'b' ]\nx = 1", {("a",): 1, ("a", "b"): 1, ("a", "b", "x"): 2}),
    "dotted keys": ("a.b = 1\na . c = 2", {("a",): 1, ("a", "b"): 1, ("a", "c"): 2}),
    "quoted keys": (
        '"a.b" = 1\n\'c d\'.e = 2\n"" = 3',
        {("a.b",): 1, ("c d",): 2, ("c d", "e"): 2, ("",): 3},
    ),
    "escapes in keys": (r'"a\"b" = 1' + "\n" + r'"\u00e9\t=" = 2', {('a"b',): 1, ("é\t=",): 2}),
    "an inline table": (
        'p = { x = 1, "y".z = 2 }',
        {("p",): 1, ("p", "x"): 1, ("p", "y"): 1, ("p", "y", "z"): 1},
    ),
    "an array over lines": (
        "k = [\n 'a', # one\n\n 'b'\n]\nz = 1",
        {("k",): 1, ("k", 0): 2, ("k", 1): 4, ("z",): 6},
    ),
    "arrays in arrays": (
        "k = [[1,\n2],\n[]]",
        {("k",): 1, ("k", 0): 1, ("k", 0, 0): 1, ("k", 0, 1): 2, ("k", 1): 3},
    ),
    "tables in an array": (
        "k = [{a = 1},\n{a = 2}]",
        {("k",): 1, ("k", 0): 1, ("k", 0, "a"): 1, ("k", 1): 2, ("k", 1, "a"): 2},
    ),
    "an array of tables": (
        "[[k]]\na = 1\n[k.b]\nc = 1\n[[k]]\na = 2",
        {
            ("k",): 1,
            ("k", 0): 1,
            ("k", 0, "a"): 2,
            ("k", 0, "b"): 3,
            ("k", 0, "b", "c"): 4,
            ("k", 1): 5,
            ("k", 1, "a"): 6,
        },
    ),
    "an array of tables inside another": (
        "[[k]]\n[[k.m]]\n[[k.m]]\na = 1",
        {
            ("k",): 1,
            ("k", 0): 1,
            ("k", 0, "m"): 2,
            ("k", 0, "m", 0): 2,
            ("k", 0, "m", 1): 3,
            ("k", 0, "m", 1, "a"): 4,
        },
    ),
    "text over lines": (f"a = {QUOTES}\n[x]\ny = 1\n{QUOTES}\nb = 2", {("a",): 1, ("b",): 5}),
    "literal text over lines": ("a = '''\n\\\n[x]'''\nb = 2", {("a",): 1, ("b",): 4}),
    "quotes at the end of such text": (
        f"a = {QUOTES}b{QUOTES}\"\"\nc = '''d'''''\ne = 1",
        {("a",): 1, ("c",): 2, ("e",): 3},
    ),
    "escaped quotes in such text": (
        f"a = {QUOTES}b\\{QUOTES}\nc{QUOTES}\nd = 1",
        {("a",): 1, ("d",): 3},
    ),
    "marks in texts": (
        'a = \'# [x] = \'\nb = "]},\\""\nc = [\'],\', "#"]',
        {("a",): 1, ("b",): 2, ("c",): 3, ("c", 0): 3, ("c", 1): 3},
    ),
    "empty texts": (
        "a = ''\nb = \"\"\nc = ''''''\nd = 1",
        {("a",): 1, ("b",): 2, ("c",): 3, ("d",): 4},
    ),
    "scalars": (
        "a = -1_000.5e3\nb = 1979-05-27 07:32:00\nc = [true,inf]",
        {("a",): 1, ("b",): 2, ("c",): 3, ("c", 0): 3, ("c", 1): 3},
    ),
    "lines of Windows": (
        "a = 1\r\n\r\n[b]\r\nc = '''\r\n'''\r\nd = 1\r\n",
        {("a",): 1, ("b",): 3, ("b", "c"): 4, ("b", "d"): 6},
    ),
    "an empty file": ("", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_key_stands_on_its_line(name):
    text, lines = CASES[name]
    assert places(tomllib.loads(text)) == set(lines)
    assert locate(text) == lines


class Writer:
    """Writes TOML, and remembers on which line it wrote what."""

    def __init__(self, draw):
        self.draw, self.text, self.lines, self._numbers = draw, "", {}, count()

    def put(self, *texts):
        self.text += self.draw(st.sampled_from(texts))

    def note(self, place):
        self.lines.setdefault(place, self.text.count("\n") + 1)

    def name(self):
        """A name that occurs once, and how it is written."""
        name = self.draw(st.sampled_from(["a", "b-c", "_", "7"])) + str(next(self._numbers))
        odd = name + self.draw(st.sampled_from([" #", "=", "[x]", ".y", "é", "\t"]))
        return self.draw(
            st.sampled_from(
                [
                    (name, name),
                    (name, f'"{name}"'),
                    (odd, "'" + odd + "'"),
                    (odd, '"' + odd.replace("\t", "\\t") + '"'),
                ]
            )
        )

    def value(self, place, depth):
        kind = self.draw(st.sampled_from(["scalar", "text"] + ["array", "table"] * (depth < 3)))
        if kind == "scalar":
            self.put("1", "-2.5e3", "true", "1979-05-27", "1979-05-27 07:32:00Z", "0x1F")
        elif kind == "text":
            self.put(
                '""',
                "''",
                r'"a\"b\\"',
                "'a\"#'",
                '"""\n"]\n"""',
                "'''\n[x]\n'''",
                '"""a\\"""""',
                "''' ' '' '''",
                r'"""\\"""',
            )
        elif kind == "array":
            self.array(place, depth)
        else:
            self.table(place, depth)

    def array(self, place, depth):
        self.put("[")
        for number in range(self.draw(st.integers(0, 3))):
            self.put("", " ", "\n", "\n# ]\n\n ")
            self.note((*place, number))
            self.value((*place, number), depth + 1)
            self.put("", "\n", " # ,\n")
            self.put(",")
        self.put("", "\n")
        self.put("]")

    def table(self, place, depth):
        self.put("{")
        for number in range(self.draw(st.integers(0, 2))):
            self.put(", " if number else " ")
            self.pair(place, depth)
        self.put("", " ")
        self.put("}")

    def pair(self, place, depth):
        for number in range(self.draw(st.integers(1, 2))):
            self.put(" . " if number else "")
            name, written = self.name()
            place = (*place, name)
            self.note(place)
            self.put(written)
        self.put("=", " = ", "\t=")
        self.value(place, depth)

    def header(self):
        self.put("", "  ")
        place, line = (), self.text.count("\n") + 1
        names = [self.name() for _ in range(self.draw(st.integers(1, 3)))]
        for name, _ in names:
            place = (*place, name)
            self.lines[place] = line
        self.put("[" + ".".join(written for _, written in names) + "]")
        return place

    def document(self):
        here = ()
        for _ in range(self.draw(st.integers(0, 6))):
            self.put("", "\n", "# [no]\n", "  ")
            here = self.header() if self.draw(st.booleans()) else here
            if self.text.endswith("]"):
                self.put("\n", " # x = 1\n")
            self.pair(here, 0)
            self.put("\n", " # y\n")
        return self


@pytest.mark.slow
@examples(200)
@given(st.data())
def test_each_key_of_any_file_stands_on_its_line(data):
    written = Writer(data.draw).document()
    assert places(tomllib.loads(written.text)) == set(written.lines)
    assert locate(written.text) == written.lines
    assert locate(written.text.replace("\n", "\r\n")) == written.lines
