"""A statement laid out for a reader: the same text, with other white space between its words."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""
    '(?:[^']|'')*'          # a text
    | "(?:[^"]|"")*"        # a name
    | `(?:[^`]|``)*`        # a name, as Spark quotes it
    | [(),]
    | [^\s(),'"`]+
    """,
    re.VERBOSE,
)
CLAUSES = {"FROM", "WHERE", "UNION", "SELECT", "GROUP"}
JOINS = {"JOIN", "LEFT", "SEMI", "CROSS"}
WIDTH = 100
STEP = "    "


def readable(statement: str) -> str:
    """One clause a line, and one column where they do not fit; what stands in brackets that are no
    table stays on its line, as far as that reaches.
    """
    return "\n".join(_joined(_Layout(statement).lines)) + "\n"


class _Layout:
    def __init__(self, statement: str) -> None:
        self.lines = [""]
        self._indents = [""]
        # For each open bracket: whether a table stands in it, and the clause that is written.
        self._tables = [True]
        self._clauses = [""]
        self._previous = ""
        end = 0
        for found in TOKEN.finditer(statement):
            self._add(found[0], spaced=found.start() > end)
            end = found.end()

    @property
    def _indent(self) -> str:
        return STEP * (sum(self._tables) - 1)

    def _add(self, token: str, *, spaced: bool) -> None:
        if token == ")":
            is_table = self._tables.pop()
            self._clauses.pop()
            if is_table:
                self._begin_line(self._indent)
            self._write(token, spaced=spaced and not is_table)
        elif self._tables[-1] and self._begins_a_clause(token):
            deeper = STEP if token in JOINS else ""
            self._begin_line(self._indent + deeper)
            self._clauses[-1] = token
            self._write(token, spaced=False)
        elif self._tables[-1] and self._previous == "," and self._clauses[-1] == "SELECT":
            self._begin_line(self._indent + STEP)
            self._write(token, spaced=False)
        elif self._tables[-1] and self._previous == "," and self._clauses[-1] == "WITH":
            self._begin_line(self._indent)
            self._write(token, spaced=False)
        else:
            self._write(token, spaced=spaced)
            if token == "WITH":
                self._clauses[-1] = token
        if token == "(":
            self._tables.append(self._previous in {"FROM", "JOIN", "MATERIALIZED", ""})
            self._clauses.append("")
            if self._tables[-1]:
                self._begin_line(self._indent)
        self._previous = token

    def _begins_a_clause(self, token: str) -> bool:
        if token in JOINS:
            return self._previous not in JOINS
        if token == "GROUP":
            return self._previous != "WITHIN"
        return token in CLAUSES

    def _begin_line(self, indent: str) -> None:
        if self.lines[-1].strip():
            self.lines.append("")
            self._indents.append("")
        self.lines[-1] = indent
        self._indents[-1] = indent

    def _write(self, token: str, *, spaced: bool) -> None:
        if spaced and len(self.lines[-1]) + len(token) >= WIDTH:
            self._begin_line(self._indent + 2 * STEP)
        elif spaced and self.lines[-1].strip():
            self.lines[-1] += " "
        self.lines[-1] += token


def _joined(lines: list[str]) -> list[str]:
    """The columns of a SELECT on one line where they fit."""
    found: list[str] = []
    start = None
    for line in [line.rstrip() for line in lines]:
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        if bare.startswith("SELECT"):
            start = len(found)
        elif start is not None and indent != _indent_of(found[start]) + STEP:
            columns = [found[start], *(each.strip() for each in found[start + 1 :])]
            if len(" ".join(columns)) <= WIDTH:
                found[start:] = [" ".join(columns)]
            start = None
        found.append(line)
    return found


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
