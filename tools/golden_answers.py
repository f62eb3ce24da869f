"""Ask a few hundred seeded questions through every public surface, and write what came back.

    PYTHONPATH=src python tools/golden_answers.py before.jsonl
    ... refactor ...
    PYTHONPATH=src python tools/golden_answers.py after.jsonl
    python tools/golden_answers.py --compare before.jsonl after.jsonl

One line of JSON a question, sorted by its id. A refactoring that changes no answer gives the same
file, and `--compare` finds nothing; else it names each question whose answer differs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from golden.book import Book
from golden.commands import ask_commands
from golden.compare import differences
from golden.library import ask_library
from golden.postgres import ask_postgres
from golden.service import ask_service
from golden.sessions import ask_sessions
from golden.tables import write_files


def main() -> None:
    match sys.argv[1:]:
        case ["--compare", before, after]:
            found = differences(Path(before), Path(after))
            print("\n".join([*found, f"{len(found)} answers differ"]))
            sys.exit(1 if found else 0)
        case [out]:
            write_book(Path(out).resolve())
        case _:
            sys.exit(__doc__)


def write_book(out: Path) -> None:
    # The same words on every machine: of the width of a line, of who asks.
    for name in [name for name in os.environ if name.startswith("POSTRI_")]:
        del os.environ[name]
    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb", POSTRI_ANALYST="ann")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        write_files(folder)
        book = Book(folder)
        book.patch_system_coins()
        for ask in (ask_library, ask_sessions, ask_commands, ask_service, ask_postgres):
            ask(book, folder)
        number = book.write(out)
        os.chdir("/")
    print(f"{number} answers in {out}")


if __name__ == "__main__":
    main()
