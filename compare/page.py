"""The page of the comparison, from the rows that were kept."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from compare.charts import draw_charts
from compare.findings import Against, Finding, Kept, brief, findings, shown_peer
from compare.measures import ENOUGH_RUNS
from compare.registry import PEERS
from compare.rows import all_rows
from compare.running import ODD
from postri.research.report.document import (
    Block,
    Figure,
    Heading,
    TableBlock,
    TextBlock,
    as_html,
)

FEATURES = Path(__file__).with_name("features.toml")
NAMES = {peer.key: peer.name for peer in PEERS}
# Charts are narrow, for phones, and stand side by side where there is room.
STYLE = """
.scroll { margin: 1.2rem 0; }
figure { max-width: min(100%, 30rem); vertical-align: top; margin: .5rem 1rem .5rem 0; }
a { color: inherit; overflow-wrap: anywhere; }
"""


def write_page(out: Path, page: Path | None = None, documentation: str = "../docs/") -> Path:
    """The page of all rows that were ever kept in a folder: `index.html` there, or another file.

    `documentation` is where ours lies as seen from the page.
    """
    rows = kept_rows(out)
    blocks = page_blocks(rows, draw_charts(rows, out / "figures"), documentation)
    page = page or out / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(as_html(blocks, out / "figures", STYLE), encoding="utf-8")
    return page


def kept_rows(out: Path) -> list[Kept]:
    """What was run, in the order of the rows; rows of tests that are not listed come last."""
    order = {row.name: place for place, row in enumerate(all_rows())}
    files = sorted(
        (out / "rows").glob("*.json"), key=lambda file: (order.get(file.stem, len(order)), file)
    )
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def page_blocks(rows: Sequence[Kept], charts: Sequence[Figure], documentation: str) -> list[Block]:
    """The whole page."""
    found = findings(rows)
    return [
        Heading("postri side by side with its peers", 1),
        *_opening(rows),
        Heading("What it shows"),
        *_claims(found),
        Heading("How it was measured"),
        *_how(rows),
        Heading("Charts"),
        *charts,
        Heading("Errors and intervals"),
        *_tables(rows),
        Heading("Odd inputs"),
        *_odd(rows),
        Heading("Time and memory"),
        *_time(rows),
        Heading("Unknown keys"),
        *_unknown_keys(rows),
        Heading("What each can do"),
        *_features(documentation),
        Heading("Not run"),
        *_not_run(rows),
    ]


def _opening(rows: Sequence[Kept]) -> Iterator[Block]:
    if not rows:
        yield TextBlock("No row was run yet: `make compare ONLY=adult-median` runs one.")
        return
    dates = sorted(row["made"] for row in rows)
    trees = ", ".join(sorted({tree for row in rows for tree in row["tree"].split(", ")}))
    yield TextBlock(
        f"{len(rows):,} rows of {len(all_rows()):,}, run from {dates[0]} to {dates[-1]} on tree "
        f"{trees}, Python {rows[0]['python']}, {rows[0]['machine']}. A row can be run again by "
        "itself: `make compare ONLY=adult-median` renews this page."
    )


def _not_run(rows: Sequence[Kept]) -> Iterator[Block]:
    run = {row["row"] for row in rows}
    missing = [row for row in all_rows() if row.name not in run]
    if not missing:
        yield TextBlock("None.")
        return
    yield TextBlock(
        f"{len(missing):,} rows were not run for this page, and it says nothing about them. "
        "`make compare ONLY=NAME` runs a row and renews the page."
    )
    tables: dict[str, list[str]] = {}
    for row in missing:
        tables.setdefault(row.table or "others", []).append(row.label)
    lines = [[table, ", ".join(labels)] for table, labels in tables.items()]
    yield TableBlock("Rows that were not run", ("table", "rows"), lines, frozenset({1}))


def _claims(found: Sequence[Finding]) -> Iterator[Block]:
    yield TextBlock(
        "A difference counts from four standard errors on; where all runs of a library had the "
        "same error, it is taken to vary as ours does. A promised coverage is broken "
        "where chance explains the misses less than once in ten thousand. Charts and claims leave "
        f"out cells with fewer than {ENOUGH_RUNS} runs; the tables hold them."
    )
    for finding in found:
        yield TextBlock(f"*{finding.claim}*: {finding.verdict}.")
        if finding.closed:
            yield _closed(finding.closed)
        if finding.open:
            yield _open(finding)


def _open(finding: Finding) -> Block:
    """The cells against a claim: those of each library together, where it is about errors."""
    caption = f"Where it does not hold: {finding.claim.lower()}"
    if finding.closed:
        caption += ", however epsilon is split"
    cells = finding.open
    if not cells[0].peer:
        return TableBlock(caption, ("cell",), [[each.words] for each in cells], frozenset({0}))
    lines = []
    for peer, assumes in dict.fromkeys((each.peer, each.assumes) for each in cells):
        listed = [
            f"{each.cell}: {each.over_ours:.2f}"
            for each in cells
            if (each.peer, each.assumes) == (peer, assumes)
        ]
        lines.append([peer, assumes, f"{len(listed):,}", "; ".join(listed)])
    header = ("library", "what is given", "cells", "row at epsilon: its error over ours")
    return TableBlock(caption, header, lines, frozenset({1, 3}))


def _closed(cells: Sequence[Against]) -> Block:
    """Cells alike in why they are against us, in a line for each library."""
    lines = []
    for peer in dict.fromkeys(each.peer for each in cells):
        over_ours = [each.over_ours for each in cells if each.peer == peer]
        span = f"{min(over_ours):.2f} to {max(over_ours):.2f}"
        lines.append([peer, f"{len(over_ours):,}", f"{median(over_ours):.2f}", span])
    header = ("library", "cells", "its error over ours, as a rule", "from the least to the most")
    caption = (
        "Where a library is closer than our default, which keeps half of epsilon for the interval, "
        "and no closer than ours with `split=0.9`"
    )
    return TableBlock(caption, header, lines)


def _how(rows: Sequence[Kept]) -> Iterator[Block]:
    yield TextBlock(
        "Each library runs in an environment of its own, built from the registry, and is used as "
        "its documentation says. A quantile of postri comes with its interval: half of epsilon "
        "draws the value. The peers that give no interval spend all of epsilon on the value. "
        "`9:1` is postri with nine tenths of epsilon for the value, whose interval is several "
        "times wider: no one setting has the best of both. Errors of quantiles are in "
        "rows (how many rows lie between the value and its target rank) and in units of the "
        "column; coverage is counted against the true value, at 95 %."
    )
    versions = _versions(rows)
    lines = [
        [peer.name, versions.get(peer.key, "not run"), peer.requirement or "this tree", peer.about]
        for peer in PEERS
    ]
    yield TableBlock(
        "Libraries and their neighbouring tables",
        ("library", "version", "installed as", "neighbours, and so the meaning of epsilon"),
        lines,
        frozenset({3}),
    )
    failures = sorted(
        {
            (cell["peer"], cell["error"])
            for row in rows
            for cell in row.get("cells", ())
            if "error" in cell and row["kind"] != "odd"
        }
    )
    if failures:
        yield TableBlock(
            "What did not run",
            ("library", "what it said"),
            [[NAMES.get(peer, peer), _plain(words)] for peer, words in failures],
            frozenset({1}),
        )


def _versions(rows: Sequence[Kept]) -> dict[str, str]:
    return {
        cell["peer"]: cell["version"]
        for row in rows
        for cell in row.get("cells", ())
        if cell.get("version")
    }


HEADER = (
    "row",
    "epsilon",
    "library",
    "neighbours",
    "runs",
    "error in rows",
    "error in value",
    "half-width",
    "coverage",
)


def _tables(rows: Sequence[Kept]) -> Iterator[Block]:
    chosen = [row for row in rows if row["kind"] == "error"]
    if not chosen:
        yield TextBlock("No such row was run yet.")
    for label in dict.fromkeys(row["label"] for row in chosen):
        lines = []
        for row in chosen:
            if row["label"] != label:
                continue
            ordered = sorted(row["cells"], key=lambda cell: cell["epsilon"])
            lines += [_line(row, cell) for cell in ordered if "value_error" in cell]
        if lines:
            caption = f"{label}: mean ± standard error. Bold: the promise of coverage is broken"
            yield TableBlock(caption, HEADER, lines)


def _line(row: Kept, cell: Kept) -> list[str]:
    share = ""
    if "coverage" in cell:
        share = f"{cell['coverage']['share']:.3f}"
        if not cell["coverage"]["stands"]:
            share = f"**{share}**"
    return [
        row["row"],
        f"{cell['epsilon']:g}",
        shown_peer(cell),
        cell["neighbours"],
        f"{cell['runs']:,}",
        _measured(cell, "rank_error"),
        _measured(cell, "value_error"),
        _measured(cell, "half_width"),
        share,
    ]


def _measured(cell: Kept, name: str) -> str:
    if name not in cell:
        return ""
    mean = brief(cell[name]["mean"])
    if cell["runs"] == 1:
        return mean
    return f"{mean} ± {brief(cell[name]['error'])}"


def _odd(rows: Sequence[Kept]) -> Iterator[Block]:
    row = next((row for row in rows if row["kind"] == "odd"), None)
    if row is None:
        yield TextBlock("Not run yet: `make compare ONLY=odd-inputs`.")
        return
    yield TextBlock(
        "The median at epsilon 1 of a table of 40 rows, most of them 5, within 0 to 100, asked "
        "once. A number is what was answered; else what was raised."
    )
    ways = list(dict.fromkeys(shown_peer(cell) for cell in row["cells"]))
    lines = []
    for odd in ODD:
        said = {shown_peer(cell): _said(cell) for cell in row["cells"] if cell["odd"] == odd}
        lines.append([odd, *(said.get(way, "") for way in ways)])
    wide = frozenset(range(1, len(ways) + 1))
    yield TableBlock("What each does", ("table", *ways), lines, wide)


def _said(cell: Kept) -> str:
    for word in ("unsupported", "error"):
        if word in cell:
            return _plain(cell[word])
    value = cell["value"]
    if isinstance(value, float):
        value = brief(value)
    words = str(value)
    if cell.get("low") is not None:
        words += f" ({brief(cell['low'])} to {brief(cell['high'])})"
    if cell.get("warned"):
        words += f"; warns: {_plain(cell['warned'][0])}"
    return words


def _plain(words: str) -> str:
    """A message in one line, without what marks mean."""
    one_line = " ".join(words.split())
    for mark in "*`[]":
        one_line = one_line.replace(mark, "'")
    if len(one_line) > 160:
        return f"{one_line[:157]}..."
    return one_line


def _time(rows: Sequence[Kept]) -> Iterator[Block]:
    chosen = [row for row in rows if row["kind"] == "time"]
    if not chosen:
        yield TextBlock(
            "Not run for this page: times are taken on an idle machine, by "
            "`make compare ONLY=time`."
        )
        return
    lines = []
    for row in chosen:
        for cell in row["cells"]:
            lines.append([row["row"], shown_peer(cell), *_timed(row, cell)])
    yield TextBlock(
        "The least time of a few runs, beside NumPy's median of the same array in the same "
        "process, in turns, and beside DuckDB's own median. Memory is the peak of a fresh process "
        "over what it held with the table alone. NumPy's median, which copies the array, is asked "
        "in that process too: so it is never less than the array, 800 MB for 1e8 rows."
    )
    header = ("row", "library", "seconds", "over np.median", "over DuckDB", "memory, MB")
    yield TableBlock("Time and memory of a median", header, lines)


def _timed(row: Kept, cell: Kept) -> list[str]:
    if "seconds" not in cell:
        said = [cell[word] for word in ("unsupported", "left_out", "error") if word in cell]
        return [_plain(said[0]), "", "", ""]
    return [
        f"{cell['seconds']:.3g}",
        f"{cell['seconds'] / cell['numpy_seconds']:.2f}",
        f"{cell['seconds'] / row['duckdb_seconds']:.2f}",
        f"{cell['peak_mb'] - cell['base_mb']:,.0f}",
    ]


def _unknown_keys(rows: Sequence[Kept]) -> Iterator[Block]:
    row = next((row for row in rows if row["kind"] == "unknown-keys"), None)
    if row is None:
        yield TextBlock("Not run yet: `make compare ONLY=unknown-keys`.")
        return
    title, _, header, _, *lines = row["text"].splitlines()
    cells = [[part.strip() for part in line.strip("|").split("|")] for line in (header, *lines)]
    yield TableBlock(f"{title}; computed, not drawn", cells[0], cells[1:])


def _features(documentation: str) -> Iterator[Block]:
    listed: dict[str, Any] = tomllib.loads(FEATURES.read_text(encoding="utf-8"))
    libraries: dict[str, str] = listed["libraries"]
    yield TextBlock(
        f"Looked up on {listed['date']}. Each cell links to its source. *Not found* means that no "
        "page said so: it may exist."
    )
    lines = []
    for feature in listed.get("feature", ()):
        cells = [_feature(feature.get(key), documentation) for key in libraries]
        lines.append([feature["name"], *cells])
    wide = frozenset(range(1, len(libraries) + 1))
    yield TableBlock("Features", ("", *libraries.values()), lines, wide)


def _feature(cell: Sequence[str] | None, documentation: str) -> str:
    if cell is None:
        return "not found"
    words, source = cell
    if not source.startswith("https://"):
        source = f"{documentation}{source}"
    return f"[{words}]({source})"
