"""The report: all of its sections in their order, and those that put methods beside one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from postri.exact import plain
from postri.methods.formulas import rank_lower_bound
from postri.research.experiment import COMPARED, Floats, Outcome
from postri.research.report.document import Block, Figure, Heading, TableBlock, TextBlock
from postri.research.report.figures import TITLES
from postri.research.report.findings import findings_section
from postri.research.report.published import (
    all_published_section,
    claims_section,
    comparisons,
    table_1_section,
)
from postri.research.report.results import (
    EPSILONS,
    RESAMPLES_PER_RUN,
    SIZES,
    Results,
    shape_name,
)
from postri.research.report.statistics import (
    LIMIT,
    binomial_interval,
    covers,
)
from postri.research.subjects import SHAPES

PROMISED = 0.99
BY_EPSILON = ("table, method", *map(plain, EPSILONS))


def report_blocks(results: Results, figures: Sequence[Figure]) -> list[Block]:
    """The whole report."""
    return [
        Heading("Private medians with intervals: the published methods, reproduced", 1),
        *_opening(results),
        Heading("In short"),
        *_in_short(results),
        Heading("Table 1, re-made"),
        *table_1_section(results),
        Heading("Error and half-width against epsilon"),
        *figures[:-1],
        Heading("Every published cell"),
        *all_published_section(results),
        Heading("Every method against `depth`"),
        *_ratios(results),
        Heading("Coverage"),
        *_coverage(results),
        Heading("In rows, beside what no method can beat"),
        *_in_rows(results),
        Heading("Resamples of each table"),
        *_resamples(results),
        Heading("Eight synthetic shapes"),
        *_shapes(results, figures[-1]),
        Heading("The paper's analysis as numbers"),
        *claims_section(results),
        *_walks(results),
        Heading("What we found"),
        *findings_section(results),
    ]


def _opening(results: Results) -> list[Block]:
    tables = ", ".join(
        f"{TITLES[name]} ({subject.rows:,} rows)" for name, subject in results.tables.items()
    )
    blocks: list[Block] = [
        TextBlock(
            f"Tables: {tables}. Domain 0 to 1e8 after the paper's shift, one replaced row, "
            f"beta 0.01, {results.runs:,} runs of each "
            "cell. **Everything here is computed from the raw data and is not private.** "
            "Draws are exact and repeatable; `runs.csv` "
            "has every one."
        )
    ]
    return blocks + [TextBlock(f"Left out: {words}") for words in results.missing]


def _in_short(results: Results) -> list[Block]:
    compared = comparisons(results)
    agree = sum(each.agrees for each in compared)
    explained = sum(not each.agrees and each.explained for each in compared)
    rest = len(compared) - agree - explained
    ratios = [
        results.of(table, "postri-default", epsilon).half_widths.mean()
        # An interval of one point has no width to divide by.
        / max(results.of(table, "depth", epsilon).half_widths.mean(), 1e-9)
        for table in results.tables
        if table != "airplane"
        for epsilon in EPSILONS
        if epsilon <= 1
    ]
    words = [
        f"Of {len(compared)} published cells {agree} agree with the algorithm within "
        f"{LIMIT:g} combined standard errors in error and "
        f"half-width; {explained} differ and agree once a slip of the released code, or of the "
        f"code that made the stored results, is repeated; {rest} are not explained.",
    ]
    if ratios:
        words.append(
            f"At epsilon up to 1 the intervals of `depth` are {min(ratios):.1f} to "
            f"{max(ratios):.1f} times narrower than those of "
            "PostRI (1:1) on the bank and adult tables, at the same epsilon and the same "
            "confidence."
        )
    return [TextBlock(sentence) for sentence in words]


def _ratios(results: Results) -> list[Block]:
    return [
        _ratio_table(results, "half-width", lambda outcome: outcome.half_widths),
        _ratio_table(results, "error", lambda outcome: outcome.errors),
    ]


def _ratio_table(results: Results, words: str, measure: Callable[[Outcome], Floats]) -> TableBlock:
    rows = []
    for method in COMPARED:
        for table in results.tables:
            cells = []
            for epsilon in EPSILONS:
                own = float(measure(results.of(table, method, epsilon)).mean())
                ours = float(measure(results.of(table, "depth", epsilon)).mean())
                cells.append(_ratio(own, ours))
            rows.append([f"{table}, {method}", *cells])
    return TableBlock(f"Mean {words} over that of `depth`, by epsilon", BY_EPSILON, rows)


def _ratio(own: float, ours: float) -> str:
    if ours > 0:
        return f"{own / ours:.2f}"
    if own == 0:
        return "1.00"
    return f"{own:.3g} against 0"


def _coverage(results: Results) -> list[Block]:
    rows = []
    for method in COMPARED:
        for table in results.tables:
            cells = [_share(results.of(table, method, epsilon)) for epsilon in EPSILONS]
            rows.append([f"{table}, {method}", *cells])
    return [
        TextBlock(
            "How often the interval held the true median (0.99 is promised), with the exact "
            "95 % interval of Clopper and Pearson."
        ),
        TableBlock("Observed coverage, by epsilon", BY_EPSILON, rows),
    ]


def _share(outcome: Outcome) -> str:
    hits = int(outcome.covered.sum())
    runs = len(outcome.covered)
    low, high = binomial_interval(hits, runs)
    return f"{hits / runs:.3f} ({low:.3f} to {high:.3f})"


def _in_rows(results: Results) -> list[Block]:
    bounds = [rank_lower_bound(float(epsilon), 1 - PROMISED) for epsilon in EPSILONS]
    rows = [["lower bound ln(1/(2 beta))/epsilon", *(f"{bound:.1f}" for bound in bounds), ""]]
    for method in COMPARED:
        for table in results.tables:
            outcomes = [results.of(table, method, epsilon) for epsilon in EPSILONS]
            widths = [f"{outcome.half_width_rows.mean():,.1f}" for outcome in outcomes]
            times = np.concatenate([outcome.milliseconds for outcome in outcomes])
            rows.append([f"{table}, {method}", *widths, f"{np.median(times):.1f}"])
    return [
        TextBlock(
            "Half the number of rows inside the interval. No private method that covers with "
            "probability 0.99 on every table can "
            "have ends that lie nearer to the target rank, for half of its draws, than the "
            "first line says (docs/theory.md proves "
            "it). On the airplane table a single value holds more than two thousand rows, "
            "and every interval holds whole values. The "
            "last column is the median time of a query, all epsilons together, once the "
            "counts are there."
        ),
        TableBlock("Half-width in rows, by epsilon", (*BY_EPSILON, "ms a query"), rows),
    ]


def _resamples(results: Results) -> list[Block]:
    rows = []
    for table in results.tables:
        for epsilon in EPSILONS:
            ours = results.resampled_errors(table, "depth", epsilon)
            theirs = results.resampled_errors(table, "postri-default", epsilon)
            rows.append(
                [
                    table,
                    plain(epsilon),
                    f"{ours.mean():,.2f}",
                    f"{theirs.mean():,.2f}",
                    f"{paired_errors(ours, theirs):+.1f}",
                ]
            )
    return [
        TextBlock(
            "The error of a method on one table may be an accident of that table. Here each "
            "method answers once on each of "
            f"{RESAMPLES_PER_RUN * results.runs:,} bootstrap resamples; the difference is in "
            "standard errors of the paired "
            "differences, and negative where `depth` is closer."
        ),
        TableBlock(
            "Mean error on resamples",
            ("table", "epsilon", "`depth`", "PostRI (1:1)", "difference"),
            rows,
        ),
    ]


def paired_errors(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The mean paired difference in its standard errors."""
    differences = ours - theirs
    if len(differences) < 2:
        return 0.0
    error = float(differences.std(ddof=1)) / np.sqrt(len(differences))
    if not error:
        return 0.0
    return float(differences.mean() / error)


def _shapes(results: Results, figure: Figure) -> list[Block]:
    blocks: list[Block] = [
        TextBlock(
            "The same question on shapes that nobody tuned for: epsilon 1, beta 0.01, domain "
            "0 to 1e8. Bold: the intervals missed "
            "the median more often than chance explains (one-sided, level 0.001). A "
            "half-width of tens of millions is no answer, "
            "whatever it covers."
        ),
        figure,
    ]
    for shape in SHAPES:
        rows = []
        for method in COMPARED:
            outcomes = [results.of(shape_name(shape, n), method) for n in SIZES]
            rows.append([method, *map(_shape_cell, outcomes)])
        header = ("method", *(f"{n:,} rows" for n in SIZES))
        caption = f"Shape {shape}: mean error / mean half-width (coverage)"
        blocks.append(TableBlock(caption, header, rows))
    return blocks


def _shape_cell(outcome: Outcome) -> str:
    hits = int(outcome.covered.sum())
    runs = len(outcome.covered)
    share = f"({hits / runs:.2f})"
    if not covers(hits, runs, PROMISED, 0.001):
        share = f"**{share}**"
    return f"{_brief(outcome.errors.mean())} / {_brief(outcome.half_widths.mean())} {share}"


def _walks(results: Results) -> list[Block]:
    rows = []
    for table in results.tables:
        for name, walk in (("postri-default", "postri-svt"), ("sun2023", "sun2023-svt")):
            cells = []
            for epsilon in EPSILONS:
                walked = results.of(table, walk, epsilon).half_widths.mean()
                drawn = results.of(table, name, epsilon).half_widths.mean()
                cells.append(f"{walked / drawn:.2f}")
            rows.append([f"{table}, {walk} over {name}", *cells])
    return [
        TextBlock(
            "The paper argues that the exponential mechanism beats AboveThreshold (the "
            "sparse vector technique) here. So it does: "
            "where the half-width is found by walking up to a threshold, it is about twice "
            "as wide, because the threshold must allow "
            "for AboveThreshold's own error."
        ),
        TableBlock(
            "Half-width by AboveThreshold over that by the exponential mechanism, by epsilon",
            ("", *map(plain, EPSILONS)),
            rows,
        ),
    ]


def _brief(number: float) -> str:
    """Three digits or so, millions as such."""
    if number >= 1e6:
        return f"{number / 1e6:.3g}M"
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"
