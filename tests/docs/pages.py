"""The runnable blocks of a page, in its order: examples in Python, and sessions in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A line that is typed, and what a terminal shows then; `...` stands for anything."""

    typed: str
    shown: str


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each fenced block."""
    for found in FENCED.finditer(page.read_text(encoding="utf-8")):
        yield found[1], found[2]


def commands(text: str) -> Iterator[Command]:
    """The commands of a block `console`."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        typed, _, shown = part.partition("\n")
        yield Command(typed, shown)


def console_pages() -> list[Path]:
    """The pages to be followed step by step on which something is typed."""
    pages = [*(DOCS / "tutorials").glob("*.md"), *(DOCS / "how-to").glob("*.md")]
    return sorted(page for page in pages if "```console\n" in page.read_text("utf-8"))
