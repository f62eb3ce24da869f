"""How numbers, dates and timestamps may be declared to be written, and what they become."""

from __future__ import annotations

import pytest

from postri import InputError
from postri.engines.csv_format import CsvFormat, MomentFormat, NumberFormat

NUMBERS = {
    ("1.234,5", ",", "."): "1234.5",
    ("1234,5", ",", "."): "1234.5",
    ("-1.234.567", ",", "."): "-1234567",
    ("+,5", ",", "."): "+.5",
    ("1,", ",", "."): "1.",
    ("1,5e-3", ",", ""): "1.5e-3",
    ("-Inf", ",", "."): "-Inf",
    ("1 234 567,89", ",", " "): "1234567.89",
    ("1\u202f234,5", ",", "\u202f"): "1234.5",
    ("1'234.5", ".", "'"): "1234.5",
    ("1,234", ".", ","): "1234",
    # Not written as was declared: a point that might mean either is not guessed at.
    ("1.5", ",", ""): "",
    ("1.5", ",", "."): "",
    ("12.34,5", ",", "."): "",
    ("1234.567,5", ",", "."): "",
    ("1,2,3", ",", ""): "",
    ("1.234.", ",", "."): "",
    (".", ",", "."): "",
    ("", ",", "."): "",
    ("1 2", ",", "."): "",
    ("x", ",", "."): "",
}


@pytest.mark.parametrize(("text", "decimal", "thousands"), NUMBERS)
def test_a_number_is_rewritten_or_is_none(text, decimal, thousands):
    found = NumberFormat(decimal, thousands).plain(text)
    assert found == NUMBERS[text, decimal, thousands]


MOMENTS = {
    ("%d.%m.%Y", "3.2.2024"): "2024-02-03",
    ("%m/%d/%Y", "02/29/2024"): "2024-02-29",
    ("%d-%b-%y", "03-FEB-68"): "2068-02-03",
    ("%d-%b-%y", "03-Feb-69"): "1969-02-03",
    ("%Y%m%d", "20240131"): "2024-01-31",
    ("%d %% %m %Y", "1 % 2 2024"): "2024-02-01",
    ("%d.%m.%Y", "3.2.24"): "",
    ("%d.%m.%Y", " 3.2.2024"): "",
    ("%d.%m.%Y", "3.2.2024 12:00"): "",
    ("%d.%m.%Y %H:%M", "3.2.2024 17:05"): "2024-02-03T17:05:00",
    ("%m/%d/%Y %I:%M:%S %p", "2/3/2024 12:05:06 AM"): "2024-02-03T00:05:06",
    ("%m/%d/%Y %I:%M:%S %p", "2/3/2024 1:05:06 pm"): "2024-02-03T13:05:06",
    ("%Y-%m-%dT%H:%M:%S.%f%z", "2024-02-03T04:05:06.5+02:00"): "2024-02-03T04:05:06.5+02:00",
    ("%Y-%m-%d %H", "2024-02-03 4"): "2024-02-03T04:00:00",
}


@pytest.mark.parametrize(("pattern", "text"), MOMENTS)
def test_a_moment_is_rewritten_or_is_none(pattern, text):
    assert MomentFormat(pattern, "timestamp_format").plain(text) == MOMENTS[pattern, text]


@pytest.mark.parametrize("text", ["2/3/2024 13:00 PM", "2/3/2024 0:00 AM"])
def test_an_hour_that_half_a_day_has_not_is_no_moment(text):
    """The grammar reads no hour 99."""
    plain = MomentFormat("%m/%d/%Y %I:%M %p", "timestamp_format").plain(text)
    assert plain == "2024-02-03T99:00:00"


WRONG = {
    "no fields": ({"date_format": "day"}, "must tell year, month and day"),
    "no year": ({"date_format": "%d.%m."}, "must tell year, month and day"),
    "two years": ({"date_format": "%Y %y %m %d"}, "each part once"),
    "two months": ({"date_format": "%Y %m %b %d"}, "each part once"),
    "two days": ({"date_format": "%Y %m %d %d"}, "each part once"),
    "an unknown field": ({"date_format": "%d.%m.%G"}, "knows %Y .*got '%G'"),
    "a sign at the end": ({"date_format": "%d.%m.%Y%"}, "knows %Y .*got '%'"),
    "a time of dates": ({"date_format": "%d.%m.%Y %H:%M"}, "dates, which have no time of day"),
    "half a day": ({"timestamp_format": "%d.%m.%Y %I:%M"}, "%I and %p together"),
    "minutes alone": ({"timestamp_format": "%d.%m.%Y %M"}, "must tell the hour"),
    "a zone alone": ({"timestamp_format": "%d.%m.%Y %z"}, "must tell the hour"),
    "seconds without minutes": ({"timestamp_format": "%d.%m.%Y %H %S"}, "minutes before seconds"),
    "no text": ({"timestamp_format": 7}, "must be a pattern"),
    "an odd decimal mark": ({"decimal": ";"}, "decimal must be"),
    "an odd thousands mark": ({"thousands": "x"}, "thousands must be"),
    "the same marks": ({"decimal": ",", "thousands": ","}, "must differ"),
    "the usual mark twice": ({"thousands": "."}, "must differ"),
    "an unknown encoding": ({"encoding": "utf-7"}, "encoding must be one of"),
    "no encoding": ({"encoding": None}, "encoding must be one of"),
    "line breaks": ({"line_breaks": True}, "unbalanced quote could make the rows of everybody"),
    "the comma as a quote": ({"quote": ","}, "delimiter and quote must differ"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_refused(name):
    how, words = WRONG[name]
    with pytest.raises(InputError, match=words):
        CsvFormat(**how)


@pytest.mark.parametrize(
    ("path", "declared", "separator"),
    [
        ("a.csv", None, ","),
        ("a.tsv", None, "\t"),
        ("a.TSV.gz", None, "\t"),
        ("a.txt", None, ","),
        ("a.tsv", ";", ";"),
        ("a.csv", "\\t", "\t"),
    ],
)
def test_the_delimiter_is_declared_or_follows_from_the_name(path, declared, separator):
    assert CsvFormat(delimiter=declared).separator(path) == separator


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("UTF8", "utf-8"),
        ("ISO-8859-1", "latin-1"),
        ("windows-1252", "cp1252"),
        ("UTF-16", "utf-16"),
    ],
)
def test_an_encoding_may_be_called_by_its_other_names(written, name):
    assert CsvFormat(encoding=written).encoding == name
