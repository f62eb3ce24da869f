"""A document of headings, paragraphs, tables and figures, written as Markdown and as one HTML file
that needs no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1f2937; --soft: #6b7280; --line: #d1d5db; --paper: #ffffff; --mark: #fef3c7;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e7eb; --soft: #9ca3af; --line: #374151; --paper: #111827; --mark: #4a3b0a; }
}
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid var(--line); }
th, td { text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td strong { background: var(--mark); }
td.text { white-space: normal; min-width: 14rem; }
figure { margin: 1rem 0; background: #ffffff; border-radius: .3rem; }
figure { display: inline-block; max-width: 100%; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: #374151; font-size: .85rem; padding: 0 .8rem .6rem; }
code { font-size: .9em; }
"""

PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head>
<body>
{body}
</body>
</html>
"""


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is that of the document."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class TextBlock:
    """A paragraph. `**strong**`, `*emphasis*`, `` `code` `` and `[link](address)` mean what they
    mean in Markdown.
    """

    text: str


@dataclass(frozen=True)
class TableBlock:
    """Cells as text, with the caption that says what they are; `wide` columns hold sentences."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    wide: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Figure:
    """A picture that lies in `figures/` beside the document, as .svg and .png."""

    name: str
    caption: str


Block = Heading | TextBlock | TableBlock | Figure


def two_digits(number: float) -> str:
    """A number to two digits, halves upwards, as published figures are rounded.

    >>> two_digits(0.565), two_digits(1263.995)
    ('0.57', '1,264.00')
    """
    return f"{number + 1e-9:,.2f}"


def as_markdown(blocks: Sequence[Block]) -> str:
    """The Markdown text."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case TextBlock(text):
            return text
        case Figure(name, caption):
            return f"![{caption}](figures/{name}.png)\n\n*{caption}*"
        case TableBlock(caption, header, rows):
            ruler = ["---", *("---:" for _ in header[1:])]
            escaped = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
            lines = [escaped[0], ruler, *escaped[1:]]
            return f"*{caption}*\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_html(blocks: Sequence[Block], folder: Path, style: str = "") -> str:
    """One self-contained page; the figures of the folder are drawn inside it.

    `style` is added to that of every report.
    """
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    body = "\n".join(_html(block, folder) for block in blocks)
    return PAGE.format(title=escape(title), style=STYLE + style, body=body)


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case TextBlock(text):
            return f"<p>{_inline(text)}</p>"
        case Figure(name, caption):
            svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
            drawing = svg[svg.index("<svg") :]
            words = f"<figcaption>{_inline(caption)}</figcaption>"
            return f'<figure role="img" aria-label="{escape(caption)}">{drawing}{words}</figure>'
        case TableBlock():
            return _html_table(block)


def _html_table(table: TableBlock) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        written = []
        for column, cell in enumerate(cells):
            mark = ""
            if column in table.wide:
                mark = ' class="text"'
            written.append(f"<{tag}{mark}>{_inline(cell)}</{tag}>")
        return f"<tr>{''.join(written)}</tr>"

    caption = f"<caption>{_inline(table.caption)}</caption>"
    head = f"<thead>{line(table.header, 'th')}</thead>"
    lines = "\n".join(line(row, "td") for row in table.rows)
    body = f"<tbody>{lines}</tbody>"
    return f'<div class="scroll"><table>{caption}{head}\n{body}</table></div>'


def _inline(text: str) -> str:
    """Marks inside `code` mean nothing."""
    written = []
    for i, part in enumerate(escape(text, quote=False).split("`")):
        inside_code = i % 2 == 1
        if inside_code:
            written.append(f"<code>{part}</code>")
        else:
            written.append(_marked(part))
    return "".join(written)


def _marked(text: str) -> str:
    text = re.sub(r"\[([^\]]+)\]\(([^()\s]+)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<!\w)\*([^*\s][^*]*)\*(?!\w)", r"<em>\1</em>", text)
