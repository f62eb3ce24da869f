"""Draw the map of the code from the import contract, with the first words of each module.

    python tools/draw_architecture.py            # writes docs/images/architecture.svg
    python tools/draw_architecture.py --check    # fails if the picture is not current

The contract stands in pyproject.toml under [tool.importlinter]. `make check` holds the code to it,
and it is exhaustive, so the map is complete.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "postri"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

WIDTH = 960
MARGIN = 16
GAP = 8
PADDING = 10
NAME_HEIGHT = 18
LINE_HEIGHT = 14
# How wide a letter of the small text is: the text is wrapped without a font at hand.
LETTER = 5.9
FOLDER_FILL = "#e3edf7"
FILE_FILL = "#f6f3ea"
STYLE = """
  text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1c2733; }
  .name { font-size: 14px; font-weight: 600; }
  .words { font-size: 11px; fill: #3b4a5a; }
  .rule { font-size: 12px; }
  rect.room { stroke: #9fb3c8; }
"""


@dataclass(frozen=True)
class Room:
    """A module or a folder of the package, with what its docstring says first."""

    name: str
    words: str
    is_folder: bool


@dataclass(frozen=True)
class Box:
    """A room at its place in a row."""

    room: Room
    left: float
    width: float

    @property
    def lines(self) -> list[str]:
        return textwrap.wrap(self.room.words, int((self.width - 2 * PADDING) / LETTER))

    @property
    def height(self) -> float:
        return NAME_HEIGHT + LINE_HEIGHT * len(self.lines) + PADDING + 4


def main() -> None:
    picture = drawn(contracts())
    if sys.argv[1:] != ["--check"]:
        PICTURE.write_text(picture, encoding="utf-8")
        print(f"wrote {PICTURE.relative_to(ROOT)}")
        return
    if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != picture:
        sys.exit("the map is not current: run python tools/draw_architecture.py")


def contracts() -> list[dict[str, Any]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return found


def drawn(found: list[dict[str, Any]]) -> str:
    """The picture: a row a layer, then the rules that hold besides."""
    (layers,) = (contract["layers"] for contract in found if contract["type"] == "layers")
    body: list[str] = []
    top: float = MARGIN
    for layer in layers:
        boxes = list(_row([_room(name) for name in layer.split(" | ")]))
        height = max(box.height for box in boxes)
        for box in boxes:
            body += _drawn_box(box, top, height)
        top += height + GAP
    top += GAP
    rules = [
        "A room may import those below it. Rooms side by side do not know each other.",
        *_rules(found),
    ]
    for rule in rules:
        for line in textwrap.wrap(rule, int((WIDTH - 2 * MARGIN) / LETTER / 1.1)):
            top += LINE_HEIGHT + 2
            body.append(f'  <text class="rule" x="{MARGIN}" y="{top:.0f}">{escape(line)}</text>')
    height = top + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img">\n'
        "  <title>The rooms of postri, and who may import whom</title>\n"
        f"  <style>{STYLE}  </style>\n"
        f'  <rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>'
    )
    return "\n".join([head, *body, "</svg>", ""])


def _row(rooms: list[Room]) -> Iterator[Box]:
    width = (WIDTH - 2 * MARGIN - GAP * (len(rooms) - 1)) / len(rooms)
    for place, room in enumerate(rooms):
        yield Box(room, MARGIN + place * (width + GAP), width)


def _drawn_box(box: Box, top: float, height: float) -> list[str]:
    fill = FOLDER_FILL if box.room.is_folder else FILE_FILL
    title = box.room.name + ("/" if box.room.is_folder else ".py")
    left = box.left + PADDING
    shape = f'x="{box.left:.0f}" y="{top:.0f}" width="{box.width:.0f}" height="{height:.0f}"'
    found = [
        f'  <rect class="room" {shape} rx="4" fill="{fill}"/>',
        f'  <text class="name" x="{left:.0f}" y="{top + NAME_HEIGHT:.0f}">{escape(title)}</text>',
    ]
    for number, line in enumerate(box.lines, start=1):
        base = top + NAME_HEIGHT + LINE_HEIGHT * number + 2
        found.append(f'  <text class="words" x="{left:.0f}" y="{base:.0f}">{escape(line)}</text>')
    return found


def _room(name: str) -> Room:
    folder = PACKAGE / name
    is_folder = folder.is_dir()
    file = folder / "__init__.py" if is_folder else folder.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    # The first sentence, on one line; without the marks of code.
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0].rstrip(".").replace("`", "")
    return Room(name, sentence, is_folder)


def _rules(found: list[dict[str, Any]]) -> Iterator[str]:
    """What is forbidden besides, inside the package."""
    for contract in found:
        if contract["type"] != "forbidden":
            continue
        forbidden = contract["forbidden_modules"]
        inside = [name.removeprefix("postri.") for name in forbidden if name.startswith("postri.")]
        if inside:
            sources = [name.removeprefix("postri.") for name in contract["source_modules"]]
            yield f"{contract['name']}: {_listed(sources)} may not import {_listed(inside)}."


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


if __name__ == "__main__":
    main()
