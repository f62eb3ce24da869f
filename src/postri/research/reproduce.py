"""`postri reproduce`: the paper's experiments with every method, and the report about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from postri.errors import InputError
from postri.exact import shown
from postri.research.experiment import Outcome, run_all, write_csv
from postri.research.report.document import as_html, as_markdown
from postri.research.report.figures import draw_figures
from postri.research.report.results import Results, all_cells, published_cells, synthetic_subjects
from postri.research.report.sections import report_blocks
from postri.research.tables import data_folder, load_tables

Watch = Callable[[Iterable[Outcome], int], Iterable[Outcome]]


@dataclass(frozen=True)
class ReportFiles:
    """What was written."""

    html: Path
    markdown: Path
    runs: Path
    figures: Path


def draw_results(
    data: Path | None, runs: int, watch: Watch = lambda outcomes, total: outcomes
) -> tuple[Results, list[Outcome]]:
    """Draw everything that the report is made from; `watch` sees the outcomes pass, and is told how
    many will come.
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise InputError(f"runs must be a whole number of at least 2, got {shown(runs)}")
    folder = data_folder(data)
    tables, missing = load_tables(folder)
    cells = all_cells(list(tables), runs)
    outcomes = list(watch(run_all(cells, {**tables, **synthetic_subjects()}), len(cells)))
    results = Results(tables, published_cells(folder), runs, tuple(missing))
    results.add(outcomes)
    return results, outcomes


def write_report(results: Results, outcomes: Iterable[Outcome], out: Path) -> ReportFiles:
    """The report as HTML and Markdown, its figures, and every run."""
    files = ReportFiles(out / "report.html", out / "report.md", out / "runs.csv", out / "figures")
    out.mkdir(parents=True, exist_ok=True)
    blocks = report_blocks(results, draw_figures(results, files.figures))
    files.html.write_text(as_html(blocks, files.figures), encoding="utf-8")
    files.markdown.write_text(as_markdown(blocks), encoding="utf-8")
    write_csv(files.runs, outcomes)
    return files
