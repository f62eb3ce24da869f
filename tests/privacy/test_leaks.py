"""Nothing leaks: what stands in a cell shows in no output, log, warning, message, exception chain
or traceback, and decides no error.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.main

import postri
from postri import Domain, ReplaceRows
from postri.cli import main
from program import commands_of
from proving import sized

pytestmark = pytest.mark.slow

NUMBER = 918_273_645_546_372_819
TEXT = "xq-secret-cell-zz"
DAY = date(7731, 11, 19)
# How a cell would show: the number in full, shortened or as a float, the text, the day.
MARKS = ("918273645", "9.18273645", "xq-secret", "secret-cell", "7731-11", "7731, 11")


def shows(words: str) -> str | None:
    """The first mark that stands in a text, however its digits are grouped."""
    plain = words.replace(",", "").replace("_", "")
    return next((mark for mark in MARKS if mark in words or mark in plain), None)


class Watch(logging.Handler):
    """Everything that a request says on its way, by whatever channel."""

    def __init__(self) -> None:
        super().__init__(level=logging.NOTSET)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.getMessage()} {record.args} {record.exc_info} {record.__dict__}")

    def ask(self, request: Callable[[], object]) -> str:
        """Make a request; returns its outcome: an answer, or the kind and message of the error."""
        streams = io.StringIO(), io.StringIO()
        root = logging.getLogger()
        level = root.level
        root.addHandler(self)
        root.setLevel(logging.NOTSET)
        try:
            with (
                warnings.catch_warnings(record=True) as warned,
                redirect_stdout(streams[0]),
                redirect_stderr(streams[1]),
            ):
                warnings.simplefilter("always")
                outcome = self._outcome(request)
        finally:
            root.removeHandler(self)
            root.setLevel(level)
        self.said += [stream.getvalue() for stream in streams]
        self.said += [f"{warning.message!r} {warning.line}" for warning in warned]
        return f"{outcome}; {len(warned)} warnings"

    def _outcome(self, request: Callable[[], object]) -> str:
        try:
            answer = request()
        except (Exception, SystemExit) as error:
            self.said += [
                "".join(traceback.format_exception(error)),
                *(repr(link) + str(link.__dict__) for link in chain(error)),
            ]
            return f"{type(error).__name__}: {error}"
        self.said += [f"{answer!s} {answer!r}"]
        for each in (
            answer
            if isinstance(answer, postri.Answers)
            else [answer]
            if isinstance(answer, postri.Answer)
            else []
        ):
            self.said += [each.explain(), each.to_json(), each._repr_html_()]
        return "an answer"

    def leak(self) -> str | None:
        """A mark that was seen anywhere."""
        return next((found for words in self.said if (found := shows(words))), None)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception with all its causes and contexts, suppressed or not."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        link = waiting.pop()
        if link is not None and link not in seen:
            seen.append(link)
            waiting += [link.__cause__, link.__context__]
    return iter(seen)


# ---- the watch itself can fail


def _chained() -> None:
    try:
        int(TEXT)
    except ValueError:
        raise KeyError("nothing") from None


LEAKS = {
    "stdout": lambda: sys.stdout.write(f"{NUMBER:,}"),
    "stderr": lambda: sys.stderr.write(TEXT),
    "a log": lambda: logging.getLogger("any").debug("cell %s", NUMBER),
    "a warning": lambda: warnings.warn(f"{float(NUMBER)}", stacklevel=1),
    "a message": lambda: int(TEXT),
    "a suppressed context": _chained,
    "an answer": lambda: DAY,
}


@pytest.mark.parametrize("channel", LEAKS)
def test_the_watch_sees_a_leak(channel):
    watch = Watch()
    watch.ask(LEAKS[channel])
    assert watch.leak()


def test_the_watch_sees_nothing_where_nothing_is():
    watch = Watch()
    assert watch.ask(lambda: 5) == "an answer; 0 warnings"
    assert watch.leak() is None


# ---- a secret in every cell

SECRETS = {
    "whole": [NUMBER] * 300,
    "real": [float(NUMBER)] * 300,
    "text": [TEXT] * 300,
    "day": [DAY] * 300,
    "exact": [Decimal("918273645.54")] * 300,
}
MIXED = [
    *(
        NUMBER,
        str(NUMBER),
        float(NUMBER),
        Decimal(NUMBER),
        Fraction(NUMBER, 7),
        complex(NUMBER),
        NUMBER * 10**400,
        f"{NUMBER}e999999999",
    ),
    *(
        TEXT,
        f"{TEXT}\n{TEXT}",
        TEXT.encode(),
        (TEXT,),
        [NUMBER],
        {TEXT: NUMBER},
        DAY,
        datetime(7731, 11, 19),
        np.datetime64(DAY),
        None,
    ),
]

ARROW = pa.table(
    {
        "whole": pa.array(SECRETS["whole"], pa.int64()),
        "real": pa.array(SECRETS["real"], pa.float64()),
        "text": pa.array(SECRETS["text"], pa.string()),
        "day": pa.array(SECRETS["day"], pa.date32()),
        "exact": pa.array(SECRETS["exact"], pa.decimal128(12, 2)),
        "long": pa.array([Decimal(NUMBER)] * 300, pa.decimal128(38, 0)),
        "moment": pa.array([datetime(7731, 11, 19)] * 300, pa.timestamp("us")),
        "short": pa.array([datetime(7731, 11, 19)] * 300, pa.timestamp("ms")),
        "list": pa.array([[NUMBER]] * 300),
        "words": pa.array([TEXT] * 300).dictionary_encode(),
        "raw": pa.array([TEXT.encode()] * 300),
    }
)
TABLES = {
    "dictionary of lists": SECRETS | {"mixed": MIXED},
    "dictionary of arrays": {name: np.array(cells) for name, cells in SECRETS.items()}
    | {"day": np.array(SECRETS["day"], dtype="M8[D]")},
    "structured array": np.array(
        [(NUMBER, float(NUMBER), TEXT)] * 300,
        dtype=[("whole", "i8"), ("real", "f8"), ("text", "U30")],
    ),
    "pandas": pd.DataFrame(SECRETS | {"category": pd.Series(SECRETS["text"], dtype="category")}),
    "pandas objects": pd.DataFrame(SECRETS, dtype=object),
    "pandas nullable": pd.DataFrame(
        {
            "whole": pd.array(SECRETS["whole"], dtype="Int64"),
            "text": pd.array(SECRETS["text"], dtype="string"),
        }
    ),
    "polars": pl.DataFrame(SECRETS),
    "polars objects": pl.DataFrame({"mixed": pl.Series(MIXED[:6], dtype=pl.Object)}),
    "arrow": ARROW,
}
NUMBERS = Domain(0, 1_000)
DAYS = Domain("2024-01-01", "2024-12-31")
MOMENTS = Domain("2024-01-01T00:00:00", "2024-12-31T00:00:00")
# Good ones (far from every secret, which is clamped to the domain's edge or dropped) and bad ones.
REQUESTS = {
    "numbers": {"domain": NUMBERS},
    "days": {"domain": DAYS},
    "moments": {"domain": MOMENTS},
    "a fine step": {
        "domain": Domain(0, 100, step="0.001"),
        "protect": ReplaceRows(2),
        "method": postri.Depth(noise="gumbel"),
    },
    "no epsilon": {"epsilon": 0},
    "no confidence": {"confidence": 1, "domain": NUMBERS},
    "unknown method": {"method": "dept", "domain": NUMBERS},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """The same secrets in files: two that are sound, and some that are not."""
    folder = tmp_path_factory.mktemp("secrets")
    rows = [
        f'{NUMBER},{float(NUMBER)},{TEXT},{DAY},"{TEXT},{NUMBER}",{NUMBER}{"0" * 400}'
        for _ in range(300)
    ]
    odd = [
        f"{NUMBER},{TEXT}",
        f'"{TEXT}',
        f'{TEXT}"{NUMBER},1,2,3,4,5',
        f"{NUMBER},,,,,,,,{TEXT}",
        f"\x00{TEXT}",
        f"{NUMBER}\r{TEXT}",
    ]
    texts = {
        "sound.csv": "\n".join(["whole,real,text,day,quoted,far", *rows]),
        "odd.csv": "\n".join(
            ["whole,real,text,day,quoted,far", *rows[:50], *odd, *rows[:50], *odd]
        ),
        "no records.csv": "\n".join(["whole,real,text,day,quoted,far", *odd]),
        "no parquet.parquet": "\n".join(rows),
        "unknown.xyz": "\n".join(rows),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(
            text.encode() + (b"\xff\xfe" + TEXT.encode() if name == "odd.csv" else b"")
        )
    pq.write_table(ARROW, folder / "sound.parquet")
    whole = (folder / "sound.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "damaged.parquet").write_bytes(
        whole[:200] + bytes(byte ^ 0x5A for byte in whole[200:900]) + whole[900:]
    )
    return {file.name: str(file) for file in folder.iterdir()}


def asked_for_everything(source: object) -> Watch:
    """Every request about every column of a source, good and bad."""
    watch, opened = Watch(), []
    watch.ask(lambda: opened.append(postri.open(source)))
    table = opened[0] if opened else source
    for column, how in itertools.product(
        [*table.columns, "wholy"] if opened else ["whole"], REQUESTS.values()
    ):
        watch.ask(
            lambda column=column, how=how: postri.median(
                table, column=column, **({"epsilon": 1} | how)
            )
        )
    return watch


@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_memory_never_shows_a_cell(name):
    watch = asked_for_everything(TABLES[name])
    assert watch.leak() is None
    assert watch.said


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [key for key in SECRETS if key != "text"] + ["mixed"])
def test_a_column_without_a_table_never_shows_a_cell(name):
    cells = MIXED if name == "mixed" else SECRETS[name]
    watch = Watch()
    sources = [cells, tuple(cells), np.array([*cells, None], dtype=object)]
    if name != "mixed":
        sources += [
            np.array(cells),
            pd.Series(cells),
            pl.Series(cells),
            pa.array(cells),
            pa.chunked_array([cells, cells]),
        ]
    for source, how in itertools.product(sources, REQUESTS.values()):
        watch.ask(
            lambda source=source, how=how: postri.quantiles(
                source, [0.1, 0.5], **({"epsilon": 1} | how)
            )
        )
    assert watch.leak() is None


OUTLIERS = [5] * 500 + [NUMBER] * 3 + [7] * 500
HOLDERS = {
    "list": list,
    "texts": lambda cells: list(map(str, cells)),
    "numpy": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "arrow": pa.array,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_cell_far_from_the_quantile_does_not_show_without_a_domain(holder):
    watch = Watch()
    assert (
        watch.ask(lambda: postri.quantiles(HOLDERS[holder](OUTLIERS), [0.25, 0.5, 0.75], epsilon=3))
        == "an answer; 0 warnings"
    )
    assert watch.leak() is None


BAD_SOURCES = {
    "two dimensions": np.full((3, 3), NUMBER),
    "a set": {NUMBER, TEXT},
    "a generator": (cell for cell in [NUMBER, TEXT]),
    "a number": NUMBER,
    "bytes": TEXT.encode(),
    "texts": np.array([TEXT]),
    "durations": np.array([NUMBER], dtype="m8[s]"),
    "complex": np.array([complex(NUMBER)]),
    "nested": pa.array([{"a": NUMBER}]),
    "two columns of one name": pd.DataFrame([[NUMBER, NUMBER]], columns=["whole", "whole"]),
}


@pytest.mark.parametrize("name", BAD_SOURCES)
def test_a_source_that_is_refused_never_shows_a_cell(name):
    watch = Watch()
    column = {"column": "whole"} if name.startswith("two columns") else {}
    assert watch.ask(lambda: postri.median(BAD_SOURCES[name], epsilon=1, **column)).startswith(
        "InputError"
    )
    assert watch.leak() is None


class FailingColumn:
    """A column whose library fails on a cell, and says which."""

    dtype = None

    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError(f"cannot convert {TEXT} to a number")


class FailingArray:
    """The same for a library that converts to NumPy."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError(f"cannot convert {TEXT} to a number")


class FailingTable(dict):
    """The same for a table that fails when a column is fetched."""

    def __getitem__(self, name):
        raise RuntimeError(f"row {NUMBER} of {name} is broken")


@pytest.mark.parametrize(
    "source",
    [FailingColumn(), FailingArray(), FailingTable(whole=[1])],
    ids=lambda source: type(source).__name__,
)
def test_what_another_library_says_about_a_cell_goes_no_further(source):
    watch = Watch()
    assert not watch.ask(lambda: postri.median(source, epsilon=1)).startswith("an answer")
    assert watch.leak() is None


def test_data_given_as_a_parameter_by_mistake_is_not_shown():
    """The arguments in the wrong order: a message names the type of what was given."""
    watch = Watch()
    series = pd.Series(SECRETS["whole"])
    for wrong in (
        series,
        SECRETS["whole"],
        np.array(SECRETS["whole"]),
        pl.Series(SECRETS["whole"]),
        SECRETS,
    ):
        for name in (
            "epsilon",
            "confidence",
            "split",
            "domain",
            "protect",
            "method",
            "coins",
            "column",
        ):
            watch.ask(lambda how={"epsilon": 1, name: wrong}: postri.median([1, 2], **how))
            watch.ask(
                lambda how={"epsilon": 1, name: wrong}: postri.median(
                    {"a": [1], "b": [2]}, **({"column": "a"} | how)
                )
            )
        watch.ask(lambda wrong=wrong: postri.quantile([1, 2], wrong, epsilon=1))
    assert watch.leak() is None


NAMES = (
    "sound.csv",
    "odd.csv",
    "no records.csv",
    "sound.parquet",
    "no parquet.parquet",
    "cut.parquet",
    "damaged.parquet",
    "unknown.xyz",
)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_never_shows_a_cell(files, name):
    watch = asked_for_everything(files[name])
    assert watch.leak() is None
    assert watch.said


def run(monkeypatch, watch: Watch, *words: object) -> str:
    """The program, in this process: what it prints and says is watched, and its exit code is the
    outcome.
    """
    monkeypatch.setattr(sys, "argv", ["postri", *map(str, words)])
    monkeypatch.setattr(typer.main, "get_command", commands_of)
    return watch.ask(main)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", NAMES)
def test_the_program_never_shows_a_cell(files, name, monkeypatch):
    watch = Watch()
    numbers, days = (
        ("--lower", 0, "--upper", 1_000),
        ("--lower", "2024-01-01", "--upper", "2024-12-31"),
    )
    ways = [
        ("--epsilon", 1, *numbers, "--json"),
        ("--epsilon", 1, *days),
        ("--epsilon", "x", *numbers),
    ]
    for column, way in itertools.product(["whole", "text", "short", "wholy"], ways):
        outcome = run(monkeypatch, watch, "median", files[name], column, *way)
        assert outcome.startswith(("an answer", "SystemExit: 0", "SystemExit: 2", "SystemExit: 1"))
    run(monkeypatch, watch, "quantile", files[name], "whole", "1.5", "--epsilon", 1)
    assert watch.leak() is None
    assert not any("Traceback" in words and "SystemExit" not in words for words in watch.said)


def test_the_program_answers_where_a_secret_is_clamped(files, monkeypatch, capsys):
    """The requests above are not all refused."""
    words = f"--epsilon 1 --lower 0 --upper 9 --json {files['sound.csv']} whole"
    monkeypatch.setattr(sys, "argv", ["postri", "median", *words.split()])
    try:
        main()
    except SystemExit as stop:
        assert not stop.code  # noqa: PT017 - a program may end by returning or by exit code 0
    assert json.loads(capsys.readouterr().out)["high_is_edge"]


# ---- neighbouring tables

CELLS = [
    *(
        "",
        TEXT,
        "7",
        "7,5",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "9" * 400,
        "0x10",
        "2024-01-31",
        '"',
        "\x00",
        "\u00e9",
    ),
    *(
        NUMBER,
        -NUMBER,
        10**400,
        -(10**400),
        float("nan"),
        float("inf"),
        -float("inf"),
        1e308,
        5e-324,
        2.5,
        True,
        1j,
        Fraction(1, 3),
    ),
    *(
        Decimal("sNaN"),
        Decimal("1e999999"),
        DAY,
        datetime(2024, 1, 31),
        np.datetime64("NaT", "us"),
        np.timedelta64(1, "D"),
        np.float16("nan"),
    ),
    *(None, b"7", [7], {}, object()),
]
BASE = [5, 6, 7, 8]
WAYS = {
    "no domain": {},
    "numbers": {"domain": NUMBERS},
    "decimals": {"domain": Domain(0, 10, step="0.01")},
    "days": {"domain": DAYS},
    "moments": {"domain": MOMENTS},
    "no epsilon": {"epsilon": -1},
    "unknown column": {"column": "y"},
}


def outcome_of(source: object, how: dict) -> str:
    """The kind of outcome, with the message of an error."""
    return Watch().ask(lambda: postri.median(source, **({"epsilon": 1} | how)))


def objects(cells: list) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


UNTYPED = {
    "list": list,
    "tuple": tuple,
    "objects": objects,
    "dictionary": lambda cells: {"x": cells},
    "pandas": lambda cells: pd.Series(objects(cells), dtype=object),
}


def in_some_way(kinds: Iterable[str], one_in: int) -> list[tuple[str, str]]:
    """Every kind in some way, and every way with some kind; `make prove` asks each in each."""
    return [
        (kind, way)
        for i, kind in enumerate(kinds)
        for j, way in enumerate(WAYS)
        if (i + j) % sized(one_in, 1) == 0
    ]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("kind", "way"), in_some_way(UNTYPED, 4))
def test_neighbours_without_types_have_the_same_outcome(kind, way):
    """One row added, removed, or replaced by whatever a cell can be."""
    expected = outcome_of(UNTYPED[kind](BASE), WAYS[way])
    assert outcome_of(UNTYPED[kind](BASE[:-1]), WAYS[way]) == expected
    for cell in CELLS:
        assert outcome_of(UNTYPED[kind]([*BASE, cell]), WAYS[way]) == expected, cell
        assert outcome_of(UNTYPED[kind]([cell, *BASE[1:]]), WAYS[way]) == expected, cell


TYPED = {
    "integers": (np.int64, [0, -(2**63), 2**63 - 1]),
    "bytes": (np.uint8, [0, 255]),
    "floats": (np.float64, [np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0, 0.005]),
    "short floats": (np.float16, [np.nan, np.inf, 65_504, 6e-8]),
    "long floats": (
        np.longdouble,
        [np.nan, np.inf, np.longdouble("1e4000"), np.longdouble("1e-4000")],
    ),
    "days": ("M8[D]", ["NaT", "0000-01-01", "10000-01-01", "2024-02-29"]),
    "moments": ("M8[us]", ["NaT", "0000-01-01", "10000-01-01", "2024-02-29T12:00"]),
    "hours": ("M8[h]", ["NaT", 2**63 - 1, -(2**62)]),
}
IN_TYPES = {
    "numpy": lambda cells, dtype: np.array(cells, dtype=dtype),
    "reversed": lambda cells, dtype: np.array(cells, dtype=dtype)[::-1],
    "masked": lambda cells, dtype: np.ma.array(
        np.array(cells, dtype=dtype), mask=[*[False] * (len(cells) - 1), True]
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("holder", IN_TYPES)
@pytest.mark.parametrize("name", TYPED)
def test_neighbours_of_one_type_have_the_same_outcome(name, holder, way):
    dtype, cells = TYPED[name]
    make = IN_TYPES[holder]
    expected = outcome_of(make(BASE, dtype), WAYS[way])
    assert outcome_of(make(BASE[:-1], dtype), WAYS[way]) == expected
    assert outcome_of(make(BASE[:1], dtype), WAYS[way]) == expected
    for cell in cells:
        assert outcome_of(make([*BASE, cell], dtype), WAYS[way]) == expected, cell


ARROW_TYPES = {
    "int64": (pa.int64(), [None, 2**63 - 1, -(2**63)]),
    "float": (pa.float64(), [None, float("nan"), float("inf"), -float("inf"), 1e308]),
    "decimal": (
        pa.decimal128(18, 2),
        [None, Decimal("9999999999999999.99"), Decimal("-9999999999999999.99")],
    ),
    "date": (pa.date32(), [None, -(2**31), 2**31 - 1]),
    "timestamp": (pa.timestamp("us"), [None, -(2**63) + 1, 2**63 - 1]),
    "fine timestamp": (pa.timestamp("ns"), [None, -(2**63) + 1, 2**63 - 1]),
    "boolean": (pa.bool_(), [None]),
    "text": (pa.string(), [None, TEXT, ""]),
}


def arrow_cells(cells: list, kind: pa.DataType) -> pa.Array:
    """Raw numbers may stand for dates and timestamps that Python's own cannot hold."""
    if pa.types.is_temporal(kind):
        return pa.array(cells, pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind)
    wanted = {"string": str, "decimal128(18, 2)": Decimal}.get(str(kind), lambda cell: cell)
    return pa.array([None if cell is None else wanted(cell) for cell in cells], kind)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "way"), in_some_way(ARROW_TYPES, 6))
def test_neighbours_in_arrow_and_parquet_have_the_same_outcome(name, way, tmp_path):
    kind, cells = ARROW_TYPES[name]
    base = [True, False] if name == "boolean" else BASE

    def outcomes(rows: list) -> list[str]:
        column = arrow_cells(rows, kind)
        pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet", store_schema=False)
        sources = (column, pa.table({"x": column}), str(tmp_path / "t.parquet"))
        return [outcome_of(source, WAYS[way]) for source in sources]

    expected = outcomes(base)
    assert outcomes(base[:-1]) == expected
    for cell in cells:
        assert outcomes([*base, cell]) == expected, cell
    assert outcomes([]) == expected


LINES = [
    *(
        b"",
        b",",
        b"7,7",
        b"7,7,7",
        b'"7"',
        b'"7',
        b'7"',
        b'""',
        b'"""',
        b"'7'",
        b"\\",
        b"#7",
        b" 7 ",
        b"7\r8",
        b"7\x00",
        b"\xff",
    ),
    *(
        b"\xef\xbb\xbf7",
        "\u00e9".encode(),
        b"NULL",
        b"nan",
        b"inf",
        b"1e400",
        b"9" * 5_000,
        b"2024-01-31",
        TEXT.encode(),
        b"x" * 3_000_000,
    ),
]


@pytest.fixture
def outcome_of_csv(tmp_path) -> Callable[..., str]:
    """What comes of a CSV file with these lines."""

    def outcome(*lines: bytes, **how) -> str:
        path = tmp_path / "t.csv"
        path.write_bytes(b"\n".join([b"x", *lines]) + b"\n")
        return outcome_of(str(path), how)

    return outcome


@pytest.mark.one_in(4)
@pytest.mark.parametrize("line", LINES[:: sized(2, 1)], ids=range(len(LINES))[:: sized(2, 1)])
def test_a_line_of_csv_decides_no_outcome(line, outcome_of_csv):
    """One line added, or one replaced, by whatever a line can be."""
    assert (
        outcome_of_csv(b"5", b"6", b"7", line)
        == outcome_of_csv(b"5", line, b"7")
        == "an answer; 0 warnings"
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("way", WAYS)
def test_neighbours_in_csv_have_the_same_outcome(way, outcome_of_csv):
    """No line, few, and all odd ones at once."""
    expected = outcome_of_csv(b"5", b"6", **WAYS[way])
    assert (
        outcome_of_csv(b"5", **WAYS[way])
        == outcome_of_csv(**WAYS[way])
        == outcome_of_csv(*LINES, **WAYS[way])
        == expected
    )


def test_the_comparison_sees_outcomes_that_differ():
    assert outcome_of(np.array([1.5]), {}) != outcome_of(np.array([1]), {})
    assert outcome_of([1], {"epsilon": 0}) != outcome_of([1], {"epsilon": -1})
    assert outcome_of([1], {}) == "an answer; 0 warnings"
