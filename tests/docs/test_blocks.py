"""Blocks of the documentation that are no session: commands to be typed elsewhere, parts of a
policy, and Python that needs a file, a service or another library.

Sessions (`>>>`) are run by `make check`, those in a shell by `test_console.py`. Here Python is run
where its files can be made, commands are held to options that there are, and policies to keys.
"""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer
from pages import DOCS, blocks

import postri
from bank import write_policy
from postri.cli import app
from postri.policy import reading
from postri.policy.oidc import OIDC_NEEDS, READERS

pytestmark = pytest.mark.slow

ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
WRONG_ON_PURPOSE = DOCS / "wrong-inputs.md"
# Python that cannot run here: it asks a server, or shows how another library is used.
ELSEWHERE = {
    "docs/how-to/from-diffprivlib.md",
    "docs/how-to/from-google.md",
    "docs/how-to/from-opendp.md",
    "docs/how-to/from-tumult.md",
    "docs/how-to/postgresql.md",
    "docs/how-to/spark.md",
    "docs/service.md",
    "docs/session.md",
}
SHELLS = ("sh", "text", "console")
PROGRAM = typer.main.get_command(app)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def plain_python(page: Path) -> list[str]:
    """The blocks of Python that are no session."""
    found = [text for language, text in blocks(page) if language == "python"]
    return [text for text in found if ">>>" not in text]


WITH_PYTHON = [page for page in PAGES if plain_python(page)]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_is_python_and_names_what_there_is(page):
    for text in plain_python(page):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "postri":
                assert {name.name for name in node.names} <= {*postri.__all__}
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert node.value.id != "postri" or node.attr in postri.__all__


# The files that pages name, beside a policy of a bank.
FILES = {
    "README.md": ("build/salaries.csv", ","),
    "docs/reading-data.md": ("staff.csv", ";"),
    "docs/sql.md": ("staff.csv", ","),
}


def write_salaries(file: Path, delimiter: str) -> None:
    lines = [f"salary{delimiter}hired"]
    lines += [f"{30_000 + 7 * row}{delimiter}2024-01-{row % 28 + 1:02}" for row in range(5_000)]
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("page", FILES)
def test_python_that_needs_files_alone_is_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, delimiter = FILES[page]
    write_salaries(tmp_path / file, delimiter)
    write_policy(tmp_path)
    names: dict[str, object] = {"postri": postri, "agg": postri.agg}
    with postri.connect("postri.toml", analyst="ann") as db:
        names["db"] = db
        for text in plain_python(ROOT / page):
            exec(compile(text, page, "exec"), names)
    if names["db"] is not db:
        names["db"].close()


def test_whatever_is_not_run_is_meant_not_to_be():
    assert {name_of(page) for page in WITH_PYTHON} == {*FILES} | ELSEWHERE


def typed(page: Path) -> Iterator[list[str]]:
    """Each command of this program that a page shows: in its blocks, and in a sentence."""
    text = page.read_text(encoding="utf-8")
    lines = [
        line.removeprefix("$ ")
        for language, block in blocks(page)
        if language in SHELLS
        for line in block.splitlines()
    ]
    lines += re.findall(r"(?<!`)`(postri [^`\n]+)`(?!`)", text)
    for line in lines:
        # `postri: ...` is what the program says.
        if line.startswith("postri "):
            yield shlex.split(line.removeprefix("postri "), comments=True)


WITH_COMMANDS = [page for page in PAGES if page != WRONG_ON_PURPOSE and list(typed(page))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_a_command_and_its_options_are_there(page):
    for typed_words in typed(page):
        command, context, words = PROGRAM, click.Context(PROGRAM, info_name="postri"), typed_words
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            assert words[0] in command.commands, typed_words
            command = command.commands[words[0]]
            context = click.Context(command, parent=context)
            words = words[1:]
        known = {
            option
            for parameter in command.get_params(context)
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= known, f"{command.name}: {sorted(given - known)}"


def policies() -> Iterator[tuple[str, dict]]:
    for page in PAGES:
        for language, text in blocks(page):
            if language == "toml":
                yield name_of(page), tomllib.loads(text)


@pytest.mark.parametrize("page", sorted({page for page, _ in policies()}))
def test_a_part_of_a_policy_has_keys_that_there_are(page):
    for where, policy in policies():
        if where != page:
            continue
        assert {*policy} <= {*reading.POLICY_KEYS}
        service = policy.get("service", {})
        assert {*service} <= {*reading.SERVICE_READERS, "tokens", "oidc"}
        oidc = {*OIDC_NEEDS, *READERS, "algorithms", "required", "datasets"}
        assert {*service.get("oidc", {})} <= oidc
        for dataset in policy.get("datasets", {}).values():
            assert {*dataset} <= {*reading.DATASET_KEYS}
            assert {*dataset.get("protect", {})} <= {*reading.PROTECT_NEEDS}
            for column in dataset.get("columns", {}).values():
                assert {*column} <= {*reading.COLUMN_KEYS}
        for table in policy.get("public", {}).values():
            assert {*table} <= {*reading.PUBLIC_KEYS}
