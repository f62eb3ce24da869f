"""What a page types into a shell is run, in the folder that its examples made, and shows what the
page says.

The examples in Python between the commands are run too, in one process with them, so that a page
can be followed from its top to its end. Coins are the system's: pages leave out what they decide.
"""

from __future__ import annotations

import shlex
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestParser, DocTestRunner, OutputChecker

import pytest
from pages import DOCS, Command, blocks, commands, console_pages
from typer.testing import CliRunner

from postri.cli import app
from postri.errors import PostriError

ANYTHING = ELLIPSIS | NORMALIZE_WHITESPACE


def run(command: Command) -> str:
    """What a terminal shows; an error as the program itself would tell it."""
    program, *words = shlex.split(command.typed)
    assert program == "postri", f"only postri is run here, not {program}"
    done = CliRunner().invoke(app, words)
    if isinstance(done.exception, PostriError):
        return f"{done.output}postri: {done.exception}\n"
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


@pytest.mark.slow
@pytest.mark.parametrize("page", console_pages(), ids=lambda page: page.stem)
def test_a_page_can_be_followed(page, monkeypatch):
    names: dict[str, object] = {}
    parser, checker = DocTestParser(), OutputChecker()
    for language, text in blocks(page):
        if language == "python":
            example = parser.get_doctest(text, names, page.name, str(page), 0)
            assert DocTestRunner(verbose=False).run(example, clear_globs=False).failed == 0
            names.update(example.globs)
        elif language == "console":
            monkeypatch.chdir(str(names["folder"]))
            for command in commands(text):
                shown = run(command)
                told = command.shown
                assert checker.check_output(told, shown, ANYTHING), f"$ {command.typed}\n{shown}"


def test_there_are_such_pages():
    names = {str(page.relative_to(DOCS)) for page in console_pages()}
    assert {"tutorials/analyst.md", "tutorials/steward.md"} <= names
