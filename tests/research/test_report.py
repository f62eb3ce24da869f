"""The report: one list of blocks as Markdown and as HTML, and a whole small reproduction with its
files.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from postri.errors import InputError
from postri.research import reproduce
from postri.research.experiment import COMPARED, Cell, Outcome, run_all, run_cell
from postri.research.report.document import (
    Block,
    Figure,
    Heading,
    TableBlock,
    TextBlock,
    as_html,
    as_markdown,
)
from postri.research.report.findings import findings
from postri.research.report.results import ONE, TABLE_1, Results, all_cells, published_cells
from postri.research.report.sections import report_blocks
from postri.research.reproduce import ReportFiles, draw_results, write_report
from postri.research.subjects import shape_subject
from postri.research.tables import load_tables
from run_here import run_experiments, run_here

RUNS = 2
TABLES = ("bank", "adult", "airplane")
PICTURES = (
    *(f"{table}_{measure}" for table in TABLES for measure in ("error", "half_width")),
    "shapes_half_width",
)
HEADER = [
    *(
        "subject",
        "resample",
        "rows",
        "method",
        "epsilon",
        "beta",
        "run",
        "true_median",
        "value",
        "low",
        "high",
    ),
    *("error", "half_width", "half_width_rows", "covered", "at_edge", "milliseconds"),
]


# Documents.


class Page(HTMLParser):
    """Reads a page: its tags in order, its text, and what it refers to.

    Every tag must be closed, in order.
    """

    VOID = frozenset({"meta"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: Counter[str] = Counter()
        self.references: list[str] = []
        self.words: list[str] = []
        self.labels: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name.rpartition(":")[2] in (
                "src",
                "href",
                "srcset",
                "data",
                "action",
                "poster",
                "background",
            ):
                self.references.append(value or "")
            self._note_urls(value or "")
            if name == "id":
                self.ids[value or ""] += 1
            if name == "aria-label":
                self.labels.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self._note_urls(data)
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    def _note_urls(self, text: str) -> None:
        assert "@import" not in text
        self.references += re.findall(r"url\(\s*['\"]?([^'\")]*)", text)

    @property
    def text(self) -> str:
        return "".join(self.words)


BLOCKS: list[Block] = [
    Heading("A & B", 1),
    TextBlock("**Strong**, *soft* and `code` where 1 < 2, 3 * 4 * 5."),
    Heading("Smaller"),
    Heading("Smallest", 3),
    TableBlock(
        "Rows of `x`", ("name", "a < b"), [["either|or", "**1**"], ["<b> & c", ""]], frozenset({1})
    ),
    Figure("line", 'A "line" & more'),
]


DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "line.svg").write_text(f'<?xml version="1.0"?>\n<!DOCTYPE svg>\n{DRAWING}\n')
    return tmp_path


def test_blocks_become_markdown():
    assert as_markdown(BLOCKS) == (
        "# A & B\n"
        "\n"
        "**Strong**, *soft* and `code` where 1 < 2, 3 * 4 * 5.\n"
        "\n"
        "## Smaller\n"
        "\n"
        "### Smallest\n"
        "\n"
        "*Rows of `x`*\n"
        "\n"
        "| name | a < b |\n"
        "| --- | ---: |\n"
        "| either\\|or | **1** |\n"
        "| <b> & c |  |\n"
        "\n"
        '![A "line" & more](figures/line.png)\n'
        "\n"
        '*A "line" & more*\n'
    )


def test_blocks_become_html(folder):
    page = as_html(BLOCKS, folder)
    for part in (
        "<title>A &amp; B</title>",
        "<h1>A &amp; B</h1>",
        (
            "<p><strong>Strong</strong>, <em>soft</em> and <code>code</code> where 1 &lt; 2, 3 * "
            "4 * 5.</p>"
        ),
        "<h2>Smaller</h2>",
        "<h3>Smallest</h3>",
        "<caption>Rows of <code>x</code></caption>",
        '<tr><th>name</th><th class="text">a &lt; b</th></tr>',
        '<tr><td>either|or</td><td class="text"><strong>1</strong></td></tr>',
        '<tr><td>&lt;b&gt; &amp; c</td><td class="text"></td></tr>',
        '<figcaption>A "line" &amp; more</figcaption>',
    ):
        assert part in page


def test_a_figure_is_drawn_inside_the_page_and_has_a_label(folder):
    page = as_html(BLOCKS, folder)
    assert f'<figure role="img" aria-label="A &quot;line&quot; &amp; more">{DRAWING}' in page
    assert "<?xml" not in page and page.lower().count("<!doctype") == 1
    assert Page(page).labels == ['A "line" & more']


def test_the_page_is_well_formed_and_refers_to_nothing(folder):
    page = Page(as_html(BLOCKS, folder))
    assert page.references == []
    assert page.tags[:2] == ["html", "head"] and "table" in page.tags


@pytest.mark.parametrize("wrong", ["<p>open", "<p><b>x</p></b>", '<style>@import "x"</style>'])
def test_the_reader_of_pages_refuses_what_is_not_well_formed(wrong: str):
    with pytest.raises(AssertionError):
        Page(wrong)


def test_the_reader_of_pages_sees_references():
    page = Page(
        '<svg><use xlink:href="#a"/><g clip-path="url(#b)"></g><image href="https://x"/></svg>'
        '<style>p { background: url("c.png") }</style>'
    )
    assert page.references == ["#a", "#b", "https://x", "c.png"]


# Draws.


def assert_same_draws(one: Outcome, other: Outcome) -> None:
    assert (one.cell, one.rows, one.true_median) == (other.cell, other.rows, other.true_median)
    for name in (
        "values",
        "lows",
        "highs",
        "half_width_rows",
        "covered",
        "at_edge",
        "errors",
        "half_widths",
    ):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("method", COMPARED)
def test_a_cell_gives_the_same_draws_whenever_it_is_run(method: str):
    cell, subject = Cell("uniform", method, ONE, 5), shape_subject("uniform", 10_000, 1)
    once = run_cell(cell, subject)
    assert_same_draws(once, run_cell(cell, subject))
    assert len(set(once.values)) > 1


def test_another_cell_gives_other_draws():
    subject = shape_subject("uniform", 1_000, 1)
    draws = [
        run_cell(cell, subject).values
        for cell in (
            Cell("uniform", "depth", ONE, 5),
            Cell("other", "depth", ONE, 5),
        )
    ]
    assert not np.array_equal(*draws)


@pytest.mark.slow
def test_all_cores_give_the_outcomes_of_this_process_in_the_order_of_the_cells():
    subjects = {name: shape_subject(name, 1_000, 1) for name in ("uniform", "zipf")}
    cells = [
        Cell(name, method, epsilon, 3)
        for epsilon in (Fraction(4), Fraction(1, 2), ONE)
        for method in ("sun2023", "depth", "postri-default")
        for name in ("zipf", "uniform")
    ]
    again = [Cell("uniform", "depth", ONE, 1, resample=number) for number in (2, 1, 2)] * 6
    outcomes = list(run_all([*cells, *again], subjects, workers=2))
    for outcome, here in zip(outcomes, run_here([*cells, *again], subjects), strict=True):
        assert_same_draws(outcome, here)
    assert [outcome.cell for outcome in outcomes] == [*cells, *again]
    for outcome in outcomes[: len(cells)]:
        assert_same_draws(outcome, run_cell(outcome.cell, subjects[outcome.cell.subject]))
    for outcome in outcomes[len(cells) :]:
        assert_same_draws(outcome, next(first for first in outcomes if first.cell == outcome.cell))
    second, first = outcomes[len(cells) : len(cells) + 2]
    assert (second.values[0], second.lows[0], second.highs[0]) != (
        first.values[0],
        first.lows[0],
        first.highs[0],
    )


@pytest.mark.parametrize("runs", [1, 0, -3, True, 2.5])
def test_a_reproduction_needs_two_runs_or_more(tmp_path, runs: object):
    with pytest.raises(InputError, match=f"runs must be a whole number of at least 2, got {runs}"):
        draw_results(tmp_path, runs)


# A whole reproduction, small.


@pytest.fixture(scope="module")
def drawn(tables) -> tuple[Results, list[Outcome]]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reproduce, "run_all", run_experiments)
        return draw_results(tables, RUNS)


@pytest.fixture(scope="module")
def files(drawn, tmp_path_factory) -> ReportFiles:
    return write_report(*drawn, tmp_path_factory.mktemp("reproduction") / "out")


@pytest.fixture(scope="module")
def page(files) -> Page:
    return Page(files.html.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_report_its_runs_and_its_figures_are_written_beside_one_another(files):
    out = files.html.parent
    assert sorted(path.name for path in out.iterdir()) == [
        "figures",
        "report.html",
        "report.md",
        "runs.csv",
    ]
    assert (files.markdown, files.runs, files.figures) == (
        out / "report.md",
        out / "runs.csv",
        out / "figures",
    )
    assert {path.name for path in files.figures.iterdir()} == {
        f"{name}.{ending}" for name in PICTURES for ending in ("svg", "png")
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_figure_is_saved_as_svg_and_as_png(files, name: str):
    png, svg = (
        (files.figures / f"{name}.png").read_bytes(),
        (files.figures / f"{name}.svg").read_text(encoding="utf-8"),
    )
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and len(png) > 20_000
    drawing = Page(svg[svg.index("<svg") :])
    assert drawing.tags.count("path") > 10
    label = "rows" if name.startswith("shapes") else "epsilon"
    assert (
        label in drawing.text and "depth (ours)" in drawing.text and "PostRI (1:1)" in drawing.text
    )


@pytest.mark.slow
def test_every_draw_has_a_line_of_its_own(files, drawn):
    with files.runs.open(newline="", encoding="utf-8") as stream:
        header, *lines = csv.reader(stream)
    assert header == HEADER
    cells = all_cells(TABLES, RUNS)
    assert [outcome.cell for outcome in drawn[1]] == cells
    assert len(lines) == sum(cell.runs for cell in cells)
    keys = [
        tuple(
            line[HEADER.index(name)] for name in ("subject", "resample", "method", "epsilon", "run")
        )
        for line in lines
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.slow
def test_the_columns_of_the_runs_agree_with_one_another(files):
    with files.runs.open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    column = {
        name: np.array([float(line[name]) for line in lines])
        for name in HEADER
        if name not in ("subject", "method")
    }
    assert column["error"] == pytest.approx(
        np.abs(column["value"] - column["true_median"]), rel=1e-9
    )
    assert column["half_width"] == pytest.approx((column["high"] - column["low"]) / 2, rel=1e-9)
    held = (column["low"] <= column["true_median"]) & (column["true_median"] <= column["high"])
    assert np.array_equal(column["covered"], held) and 0 < held.mean() < 1
    assert np.all((column["low"] <= column["value"]) & (column["value"] <= column["high"]))
    assert np.all(
        (column["half_width_rows"] >= 0) & (column["half_width_rows"] <= column["rows"] / 2)
    )
    assert set(column["at_edge"]) == {0, 1} and set(column["beta"]) == {0.01}
    assert set(column["epsilon"]) == {0.25, 0.5, 1, 2, 4}
    assert np.all(column["milliseconds"] > 0)


@pytest.mark.slow
def test_the_report_says_that_it_is_not_private(files, page):
    assert (
        "**Everything here is computed from the raw data and is not private.**"
        in files.markdown.read_text(encoding="utf-8")
    )
    assert "is not private" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("method", COMPARED)
def test_the_report_shows_every_method_on_every_table_and_shape(files, method: str):
    text = files.markdown.read_text(encoding="utf-8")
    # Two tables of ratios, one of coverage and one of rows have a line each; every shape has one.
    assert all(text.count(f"\n| {table}, {method} |") >= 4 for table in TABLES)
    assert text.count(f"\n| {method} |") == 8


@pytest.mark.slow
def test_table_1_is_shown_as_published(files, page):
    text = files.markdown.read_text(encoding="utf-8")
    table = text[text.index("## Table 1") : text.index("## Error and half-width")]
    for cell in TABLE_1:
        (line,) = (
            line
            for line in table.splitlines()
            if line.startswith(f"| {cell.subject}, {cell.method} |")
        )
        assert f"| {cell.error:,.2f} (± {cell.error_sd:,.2f}) |" in line
        assert f"| {cell.half_width:,.2f} (± {cell.half_width_sd:,.2f}) |" in line
    for figure in ("0.06", "14.19", "32.40", "1,264.00", "7.88", "13.13"):
        assert figure in table and figure in page.text


@pytest.mark.slow
def test_the_claim_of_the_abstract_stands_beside_our_figures(files, page):
    claim = "14% to 850% higher utility"
    assert claim in files.markdown.read_text(encoding="utf-8") and claim in page.text
    assert "baseline against PostRI (1:1)" in page.text


@pytest.mark.slow
def test_every_finding_is_in_the_report(files, drawn, page):
    text = files.markdown.read_text(encoding="utf-8")
    found = findings(drawn[0])
    assert len(found) == 11
    for number, finding in enumerate(found, start=1):
        assert f"\n### {number}. {finding.title}\n" in text
        assert f"{number}. {finding.title}" in page.text


@pytest.mark.slow
def test_markdown_shows_the_pictures_that_were_saved(files):
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", files.markdown.read_text(encoding="utf-8"))
    assert shown == [f"figures/{name}.png" for name in PICTURES]
    assert all((files.markdown.parent / name).is_file() for name in shown)


@pytest.mark.slow
def test_the_page_needs_nothing_but_itself(page):
    assert not {"script", "link", "img", "image", "iframe", "object", "embed"} & set(page.tags)
    assert all(reference.startswith("#") for reference in page.references)
    # Each of the drawings has names of its own, so that none borrows from another.
    assert len(page.references) > 100
    assert {page.ids[reference[1:]] for reference in page.references} == {1}


@pytest.mark.slow
def test_the_page_has_every_figure_inside_with_a_label(page):
    assert page.tags.count("svg") == page.tags.count("figure") == len(page.labels) == len(PICTURES)
    assert all(len(label) > 40 for label in page.labels)


@pytest.mark.slow
def test_tables_of_the_report_are_whole(files):
    """Every row has as many cells as its header, in both documents."""
    lines = files.markdown.read_text(encoding="utf-8").splitlines()
    rulers = [place for place, line in enumerate(lines) if line.startswith("| ---")]
    assert len(rulers) == files.html.read_text(encoding="utf-8").count("<table>") > 20
    for place in rulers:
        end = next(
            (after for after in range(place, len(lines)) if not lines[after].startswith("|")),
            len(lines),
        )
        assert end > place + 1
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines[place - 1 : end]}) == 1


@pytest.mark.slow
def test_no_cell_of_the_report_is_undefined(files):
    assert not re.search(r"\b(nan|inf|None)\b", files.markdown.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def without_airplane(drawn, tables, tmp_path_factory) -> tuple[Results, Path]:
    """The same draws from a folder without the airplane table: a cell's draws do not depend on the
    others.
    """
    folder = tmp_path_factory.mktemp("two tables")
    for name in ("bank", "adult"):
        (folder / f"{name}.csv").symlink_to(tables / f"{name}.csv")
    subjects, missing = load_tables(folder)
    found = Results(subjects, published_cells(folder), RUNS, tuple(missing))
    found.add(outcome for outcome in drawn[1] if outcome.cell.subject != "airplane")
    return found, folder


def written(results: Results) -> str:
    pictures = [Figure(name, name) for name in PICTURES if not name.startswith("airplane")]
    return as_markdown(report_blocks(results, pictures))


@pytest.mark.slow
def test_a_report_without_a_table_says_what_was_left_out(without_airplane):
    results, folder = without_airplane
    text = written(results)
    assert f"\nLeft out: airplane: there is no airplane.csv in {folder}.\n" in text
    assert "\n| bank, depth |" in text and "\n| adult, depth |" in text
    assert "| airplane" not in text and "Removing ties by expansion" not in text
    assert "Of 4 published cells" in text


@pytest.mark.slow
def test_a_report_without_a_table_but_with_its_published_results_is_written(
    without_airplane, tables
):
    results, _ = without_airplane
    assert "Of 50 published cells" in written(replace(results, published=published_cells(tables)))
