"""Some lines from everywhere in CSV files, which tell where a window should lie: FOR SPEED ALONE.

A few hundred short stretches are read, evenly spread over the bytes of the files. What the lines
hold is checked nowhere: a guess that is wrong costs a scan, and changes no window.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from postri.engines.engine import SMALL
from postri.engines.sql.dialect import filled

STRETCHES = 256
LINES_EACH = 64
# And so many bytes at most: no long line decides how much is read.
BYTES_EACH = 1 << 14
# How many bytes tell how long a line is.
FIRST_LOOK = 1 << 16
# A line has a sign, and an end.
SHORTEST_LINE = 2
LINE_END = b"\n"

SAMPLED_LINES = """
    (
        SELECT unnest(string_split({lines}, chr(10))) AS line
    ) AS sampled
"""


@dataclass(frozen=True)
class LineSample:
    """Some lines, and about how many there are in all."""

    lines: Sequence[bytes]
    rows: int

    @property
    def share(self) -> float:
        """About which share of all lines they are."""
        return min(1.0, len(self.lines) / self.rows)

    @property
    def relation(self) -> str:
        """The lines as a relation. No statement holds a NUL, and no number does either."""
        text = LINE_END.join(self.lines).decode("utf-8", "replace").replace("\0", "")
        quoted = text.replace("'", "''")
        return filled(SAMPLED_LINES, lines=f"'{quoted}'")


def sample_lines(paths: Sequence[str]) -> LineSample | None:
    """Lines of these files; None where they are too few to be worth a guess, or cannot be read."""
    with suppress(OSError):
        ends = list(accumulate(os.path.getsize(path) for path in paths))
        if not ends or ends[-1] <= SHORTEST_LINE * SMALL:
            return None
        lines = list(_spread_lines(paths, ends))
        length = sum(map(len, lines)) + len(lines)
        if lines:
            return LineSample(lines, round(ends[-1] * len(lines) / length))
    return None


def _spread_lines(paths: Sequence[str], ends: Sequence[int]) -> Iterator[bytes]:
    """The whole lines of each stretch: its first and its last line are cut off somewhere."""
    size = min(LINES_EACH * _line_length(paths[0]), BYTES_EACH)
    starts: dict[str, list[int]] = {}
    for i in range(STRETCHES):
        place = i * ends[-1] // STRETCHES
        file = bisect_right(ends, place)
        before = ends[file - 1] if file else 0
        starts.setdefault(paths[file], []).append(place - before)
    for path, places in starts.items():
        with Path(path).open("rb") as file_of_lines:
            for place in places:
                file_of_lines.seek(place)
                yield from file_of_lines.read(size).split(LINE_END)[1:-1]


def _line_length(path: str) -> int:
    """About how many bytes a line has."""
    with Path(path).open("rb") as file:
        start = file.read(FIRST_LOOK)
    return max(SHORTEST_LINE, len(start) // max(1, start.count(LINE_END)))
