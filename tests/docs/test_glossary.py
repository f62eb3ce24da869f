"""The glossary has the words of the package: each public class, and no class that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import postri

DOCS = Path(__file__).resolve().parents[2] / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
WORDS, CLASSES = GLOSSARY.split("## Classes")


def first_cells(text: str) -> list[str]:
    """The first cell of each row of the tables, without their heads."""
    cells = re.findall(r"^\| *(.+?) *\|", text, re.MULTILINE)
    return [cell for cell in cells if cell not in ("word", "class", "---")]


def explained_classes() -> list[str]:
    return [cell.strip("`") for cell in first_cells(CLASSES)]


def explained_words() -> list[str]:
    return [word for cell in first_cells(WORDS) for word in cell.split(", ")]


def test_every_public_class_is_explained_once_and_no_other():
    public = [name for name in postri.__all__ if isinstance(getattr(postri, name), type)]
    assert sorted(explained_classes()) == sorted(public)


def test_words_stand_once_and_in_order():
    words = first_cells(WORDS)
    assert words == sorted(words, key=str.lower)
    assert len(set(explained_words())) == len(explained_words())


def test_the_words_of_how_it_works_are_explained():
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    table = page.partition("## The words")[2].partition("## The pipeline")[0]
    assert set(first_cells(table)) <= set(first_cells(WORDS))
