"""The figures of a source tree: how dense its lines are, how many files it has, how far a question
walks in it.

    python tools/measure.py [--json] TREE...

A tree is a folder with `src/postri`; without one, this repository is measured. Several trees stand
side by side: before and after.

- A line of code is a line with a token that is no comment and no part of a docstring.
- Tokens are Python's own, without comments, line ends and indents.
- Comments and long lines are shares of the lines of code, docstrings of all lines.
- A walk is what runs for one question, the first of its session: the named functions of postri
  that were called, the files that they lie in, and how often a call lies in another folder below
  `postri` than the call before it; and the same with each pair of functions counted once, so that
  a loop over words or candidates does not count as a walk.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LONG_LINE = 100
SMALL_FILE = 60
NO_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Figures = dict[str, float]


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--walk"]:
        print(json.dumps(walks()))
        return
    trees = [Path(word).resolve() for word in words if word != "--json"] or [ROOT]
    found = {str(tree): {**text_figures(tree), **walk_figures(tree)} for tree in trees}
    if "--json" in words:
        print(json.dumps(found, indent=2))
    else:
        print_table(list(found.values()))


def print_table(columns: list[Figures]) -> None:
    for name in columns[0]:
        cells = [f"{_shown(figures[name]):>10}" for figures in columns]
        print(f"{name:60}", *cells)


def _shown(figure: float) -> str:
    if float(figure).is_integer():
        return f"{figure:,.0f}"
    return f"{figure:,.1f}"


# ---- what the text tells


@dataclass(frozen=True)
class SourceFile:
    """A Python file: its text and what was counted in it."""

    path: Path
    lines: list[str]
    tree: ast.Module
    code_lines: int
    tokens: int
    comment_lines: int
    docstring_lines: int


def read_source(path: Path) -> SourceFile:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    in_docstring = set(_docstring_lines(tree))
    code: set[int] = set()
    tokens = comments = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = token.start[0]
        if token.type == tokenize.COMMENT and lines[row - 1].lstrip().startswith("#"):
            comments += 1
        if token.type not in NO_CODE and row not in in_docstring:
            tokens += 1
            code.update(range(row, token.end[0] + 1))
    return SourceFile(path, lines, tree, len(code), tokens, comments, len(in_docstring))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            yield from range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1)


def text_figures(tree: Path) -> Figures:
    package = tree / "src" / "postri"
    files = [read_source(path) for path in sorted(package.rglob("*.py"))]
    nodes = [node for file in files for node in ast.walk(file.tree)]
    lengths = sorted(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in nodes
        if isinstance(node, FUNCTIONS)
    )
    code = sum(file.code_lines for file in files)
    lines = sum(len(file.lines) for file in files)
    long_lines = sum(len(line) > LONG_LINE for file in files for line in file.lines)
    conditional = [node for node in nodes if isinstance(node, ast.IfExp)]
    importers = importers_of(package, files)
    return {
        "files": len(files),
        "lines": lines,
        "lines of code": code,
        "tokens per line of code": sum(file.tokens for file in files) / code,
        "lines above 100 columns, %": 100 * long_lines / code,
        "conditional expressions per 1,000 lines": 1_000 * len(conditional) / code,
        "  of them inside another": nested_conditionals(conditional),
        "comments, %": 100 * sum(file.comment_lines for file in files) / code,
        "docstrings, %": 100 * sum(file.docstring_lines for file in files) / lines,
        "function length, median": median(lengths),
        "function length, 90th percentile": lengths[int(0.9 * len(lengths))],
        "lines of code in a file, median": median(file.code_lines for file in files),
        "files under 60 lines": sum(len(file.lines) < SMALL_FILE for file in files),
        "  of them without __init__.py": sum(
            len(file.lines) < SMALL_FILE and file.path.name != "__init__.py" for file in files
        ),
        "files with one importer": sum(number == 1 for number in importers.values()),
    }


def nested_conditionals(conditional: list[ast.IfExp]) -> int:
    inside = {
        id(inner)
        for outer in conditional
        for inner in ast.walk(outer)
        if isinstance(inner, ast.IfExp) and inner is not outer
    }
    return len(inside)


def importers_of(package: Path, files: list[SourceFile]) -> Counter[str]:
    """How many files import each module. An `__init__.py` that passes names on is an importer."""
    known = {_module(package, file.path) for file in files}
    found: Counter[str] = Counter()
    for file in files:
        found.update(set(_imported(file.tree, known)) - {_module(package, file.path)})
    return found


def _module(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, known: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        if isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield inside if inside in known else node.module


# ---- what a question walks through


def walk_figures(tree: Path) -> Figures:
    """The walks, in a process of their own that has the tree's package."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, str(Path(__file__).resolve()), "--walk"]
    done = subprocess.run(command, env=environment, check=True, text=True, stdout=subprocess.PIPE)
    found: Figures = json.loads(done.stdout)
    return found


def walks() -> Figures:
    """Each of the four walks, the first question of a session each."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name).resolve()
        os.chdir(folder)
        found: Figures = {}
        for title, question in _questions(folder, stack).items():
            calls = called(question)
            found[f"{title}: functions"] = len(set(calls))
            found[f"{title}: files"] = len({file for file, _, _ in calls})
            changes = folder_changes(calls)
            found[f"{title}: folder changes"] = len(changes)
            found[f"{title}: different folder changes"] = len(set(changes))
        os.chdir("/")
    return found


def _questions(folder: Path, stack: ExitStack) -> dict[str, Callable[[], Any]]:
    """The four questions, with all that they need opened before."""
    import duckdb
    import numpy as np
    from golden.book import Book
    from golden.postgres import postgres_policy, started_postgres
    from golden.service import SERVICE, served
    from golden.sessions import write_policy
    from golden.tables import write_files

    import postri
    from postri import SeededCoins, agg

    # The same coins in every tree, so that no luck of a draw takes another way.
    Book(folder).patch_system_coins()
    write_files(folder)
    array = np.arange(10_000) * 7_919 % 40_009
    connection = stack.enter_context(duckdb.connect("staff.duckdb", read_only=True))
    relation = connection.table("staff")
    server = stack.enter_context(started_postgres())
    session = postri.connect(postgres_policy(folder, server), analyst="ann")
    stack.enter_context(session)
    text = (
        "SELECT city, MEDIAN(salary) AS mid, COUNT(*) AS n FROM staff WHERE age < 40 "
        "GROUP BY city ORDER BY mid DESC"
    )
    policy = write_policy(folder / "walk-service", "parquet")
    policy.write_text(SERVICE + policy.read_text())
    client, tokens = stack.enter_context(served(policy))
    body = {"sql": text, "epsilon": 1}
    return {
        "median of an array": lambda: postri.median(array, epsilon=1, coins=SeededCoins(1)),
        "ask on DuckDB, groups and filter": lambda: postri.ask(
            relation,
            {"mid": agg.median("salary"), "n": agg.count()},
            by={"city": ["Oslo", "Bergen", "Nowhere"]},
            where="age < 40",
            epsilon=1,
            coins=SeededCoins(1),
        ),
        "Session.sql on PostgreSQL": lambda: session.sql(text, epsilon=1),
        "POST /v1/query": lambda: client.send("POST", "/v1/query", body, tokens["ann"]),
    }


Call = tuple[str, str, int]


def called(work: Callable[[], Any]) -> list[Call]:
    """The named functions of postri that the work calls, in their order, on all threads."""
    import postri

    package = str(Path(postri.__file__).parent) + os.sep
    calls: list[Call] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # "<lambda>", "<listcomp>" and "<module>" are no functions that a reader looks up.
        if event == "call" and code.co_filename.startswith(package) and code.co_name[0] != "<":
            file = code.co_filename.removeprefix(package)
            calls.append((file, code.co_name, code.co_firstlineno))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def folder_changes(calls: list[Call]) -> list[tuple[Call, Call]]:
    """Where the walk enters another folder below `postri`; the files at its top are one."""
    return [(one, other) for one, other in pairwise(calls) if _folder(one) != _folder(other)]


def _folder(call: Call) -> str:
    folder, separator, _ = call[0].partition(os.sep)
    return folder if separator else ""


if __name__ == "__main__":
    main()
