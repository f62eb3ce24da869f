"""What a text means, and what is refused, by name, before anything else happens."""

from __future__ import annotations

import logging
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_expressions import Expressions

from postri.errors import InputError
from postri.expressions import Predicate, tree
from postri.expressions.pattern import Pattern
from postri.expressions.tree import DEEPEST
from postri.expressions.words import LONGEST
from proving import examples

MEANINGS = {
    "age<40": "age < 40",
    "age<40 and job in('admin.','clerk')": "age < 40 AND job IN ('admin.', 'clerk')",
    "a or b and not c": "a OR b AND NOT c",
    "(a or b) and not (c)": "(a OR b) AND NOT c",
    "a and (b and c)": "a AND b AND c",
    "not (a and b)": "NOT (a AND b)",
    "not a = b": "NOT a = b",
    "(not a) = b": "(NOT a) = b",
    "x == 1 or x != 2": "x = 1 OR x <> 2",
    "x is null": "x IS NULL",
    "x is not null": "NOT x IS NULL",
    "x not in (1, null)": "NOT x IN (1, NULL)",
    "x not between 1 and 2": "NOT x BETWEEN 1 AND 2",
    "x between -1 and y + 1 and b": "x BETWEEN -1 AND y + 1 AND b",
    "x is true and y is not false": "x IS TRUE AND NOT y IS FALSE",
    "x is distinct from y": "x IS DISTINCT FROM y",
    "x is not distinct from y": "NOT x IS DISTINCT FROM y",
    "x <=> y": "NOT x IS DISTINCT FROM y",
    "x like 'a%'": "x LIKE 'a%'",
    "x not like 'a%'": "NOT x LIKE 'a%'",
    "x like 'a\\_%' escape '\\'": "x LIKE 'a!_%' ESCAPE '!'",
    "x not like 'a\\_%' escape '\\'": "NOT x LIKE 'a!_%' ESCAPE '!'",
    "x like 'a\\%'": "x LIKE 'a\\%'",
    "x like 'a!b'": "x LIKE 'a!!b' ESCAPE '!'",
    "x like '%%a%%'": "x LIKE '%a%'",
    "case when a then 1 end = 1": "CASE WHEN a THEN 1 END = 1",
    "case when a then 1 when b then 2 else 3 end = 1": (
        "CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END = 1"
    ),
    "COALESCE(x, 0) > 1": "COALESCE(x, 0) > 1",
    "abs(x) > 1": "ABS(x) > 1",
    "abs > 1 and cast < 5 and round = 3": "abs > 1 AND cast < 5 AND round = 3",
    "least(x, y, 1) < greatest(x, 2)": "LEAST(x, y, 1) < GREATEST(x, 2)",
    "round(x) = 1": "ROUND(x) = 1",
    "round(x, 0) = 1": "ROUND(x) = 1",
    "round(x + 1, -2) = 1": "ROUND(x + 1, -2) = 1",
    "floor(x) = ceiling(x)": "FLOOR(x) = CEIL(x)",
    "ceil(x) = 1": "CEIL(x) = 1",
    "cast(x as int) = cast(x as bigint)": "CAST(x AS INTEGER) = CAST(x AS INTEGER)",
    "cast(x as double precision) > 1": "CAST(x AS DOUBLE) > 1",
    "cast(x as numeric(5)) = cast(x as decimal(9,2))": (
        "CAST(x AS DECIMAL(5, 0)) = CAST(x AS DECIMAL(9, 2))"
    ),
    "cast(x = 1 or y as integer) = 1": "CAST(x = 1 OR y AS INTEGER) = 1",
    "cast(t as date) > cast(d as timestamp)": "CAST(t AS DATE) > CAST(d AS TIMESTAMP)",
    "datediff('DAY', a, b) > d - e": "DATE_DIFF('day', a, b) > d - e",
    "a - b - c > 0": "a - b - c > 0",
    "a - (b - c) > 0": "a - (b - c) > 0",
    "a * (b + c) / d > 0": "a * (b + c) / d > 0",
    "-x * - 3 - -4 < 0": "-x * -3 - -4 < 0",
    "-(-x) < 0": "-(-x) < 0",
    "+x < 0": "x < 0",
    "-(5) < x": "-5 < x",
    "x < .5": "x < 0.5",
    "x < 5.": "x < 5",
    "x < 1.50": "x < 1.5",
    "x < 1e3": "x < 1000",
    "x < 1e30": "x < 1e30",
    "x < -1.5E-30": "x < -15e-31",
    "x < 123456789012345678901234567890": "x < 12345678901234567890123456789e1",
    "d < date '2024-01-31'": "d < DATE '2024-01-31'",
    "d < timestamp '2024-01-31 18:30'": "d < TIMESTAMP '2024-01-31 18:30:00'",
    "d < timestamp '2024-01-31T18:30:00.5Z'": "d < TIMESTAMP '2024-01-31 18:30:00.500000+00:00'",
    "\"we\"\"ird; {name} 'x' -- \" = 'it''s \\ ${y}'": (
        "\"we\"\"ird; {name} 'x' -- \" = 'it''s \\ ${y}'"
    ),
    '"SELECT" = "from"': '"SELECT" = "from"',
    "date = 'x' and year = 1 and user = 'y'": "date = 'x' AND year = 1 AND user = 'y'",
    "größe > 1": "größe > 1",
    "TRUE": "TRUE",
    "1 = 1 and x > 0": "1 = 1 AND x > 0",
}


@pytest.mark.parametrize("text", MEANINGS)
def test_a_text_has_a_normal_form_that_reads_back(text):
    predicate = Predicate.parse(text)
    assert str(predicate) == MEANINGS[text]
    assert Predicate.parse(str(predicate)) == predicate
    assert hash(Predicate.parse(str(predicate))) == hash(predicate)


@given(st.randoms(use_true_random=False))
@examples(200)
def test_the_normal_form_of_any_predicate_reads_back(source):
    predicate = Predicate.parse(str(Expressions(source, unsigned=True).truth(4)))
    assert Predicate.parse(str(predicate)) == predicate


def test_columns_are_named_once_in_their_order():
    assert Predicate.parse('b > a AND (A IS NULL OR "c d" = b)').columns == ("b", "a", "A", "c d")


FUNCTIONS = [
    "random() < 1",
    "now() > d",
    "rand() < 1",
    "length(t) > 1",
    "regexp_like(t, 'a')",
    "if(a, b, c)",
    "try_cast(x as int) > 1",
    "convert(x, int) > 1",
    "nvl(x, 1) > 1",
    "ifnull(x, 1) > 1",
    "COALESE(x, 1) > 1",
    "count(*) > 1",
    "md5(t) = ''",
    "sum(x) over () > 1",
    "x = any (1)",
    "x > all (1, 2)",
    "exists (select 1)",
    "row(1) = x",
    "unnest(x) = 1",
    "age(d) = 1",
    "trim(t) = ''",
    "substring(t from 1) = ''",
    "position('a' in t) = 1",
    "nullif(x, 1) = 1",
    "pg_sleep(9) = 1",
    "t like any ('a')",
    "version() = ''",
    "getvariable('a') = 1",
    "read_csv('a') = 1",
    "x is of (int)",
    "x (+) = y",
    "lower(t) = 'a'",
    "decimal(1, 2) > x",
    "sqrt(x) > 1",
    "mod(x, 2) = 1",
    "trunc(x) = 1",
    "date_bin('day', d) = d",
]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_function_that_is_not_on_the_list_is_refused_by_its_name(text):
    with pytest.raises(InputError, match=r"the function \w+ is not allowed.*COALESCE"):
        Predicate.parse(text)


HOSTILE = {
    "": "empty",
    " \n\t": "empty",
    "x = 1;": "';'",
    "x = 1; DROP TABLE y": "';'",
    "x = 1 -- comment": "comments",
    "/* comment */ x = 1": "comments",
    "x = /*! 1 */ 1": "comments",
    "x = 1 /* not closed": "not closed",
    "x = 'not closed": "not closed",
    'x = "not closed': "not closed",
    "x = (SELECT 1)": "'SELECT'",
    "x IN (SELECT 1)": "'SELECT'",
    "x IN (y)": "list of literals",
    "x IN ()": "list of literals",
    "x IN y": "list of literals",
    "SELECT 1": "SELECT",
    "x = 1 UNION SELECT 2": "UNION",
    "x = 1 LIMIT 1": "LIMIT",
    "x AS y": "AS",
    "x = ?": r"'\?'",
    "x = :a": "':'",
    "x = @a": "'@'",
    "x = $1": r"'\$1'.*double quotes",
    "x = ${a}": r"'\$'",
    "x = {{ a }}": "'{'",
    "x = $$a$$": r"\$\$",
    "x::int = 1": "'::'",
    "x || y = 'a'": r"'\|\|'",
    "x % 2 = 0": "'%'",
    "x ^ 2 = 0": r"'\^'",
    "x & 1 = 1": "'&'",
    "x | 1 = 1": r"'\|'",
    "~x = 1": "'~'",
    "x ~ 'a'": "'~'",
    "!x": "'!'",
    "x << 1 = 2": "cannot be read near '<'",
    "x // 2 = 0": "cannot be read near '/'",
    "x div 2 = 1": "DIV",
    "x xor y": "xor",
    "x -> 'a' = 1": "'->'",
    "x #> 1": "'#>'",
    "x[1] = 1": r"'\['",
    "[x] = 1": r"'\['",
    "`x` = 1": "'`'.*allowed",
    "t.x = 1": "without its table",
    "x.5 = 1": "not allowed|cannot be read",
    "* = 1": "STAR",
    "(1, 2) = (x, y)": "TUPLE",
    "x ILIKE 'a'": "ILIKE",
    "x RLIKE 'a'": "REGEXP",
    "x REGEXP 'a'": "REGEXP",
    "x SIMILAR TO 'a'": "SIMILAR",
    "x GLOB 'a*'": "GLOB",
    "x COLLATE \"C\" = 'a'": "COLLATE",
    "x LIKE y": "text literal",
    "x LIKE 'a' || 'b'": r"'\|\|'",
    "x LIKE 'a' ESCAPE 'ab'": "one character",
    "x LIKE 'a' ESCAPE ''": "one character",
    "x LIKE 'a!' ESCAPE '!'": "must stand before",
    "x LIKE 'a!b' ESCAPE '!'": "must stand before",
    "x LIKE 'a' ESCAPE y": "cannot be read near 'y'",
    "x ILIKE 'a' ESCAPE '!'": "ILIKE",
    "x IS 5": "IS 5",
    "x IS JSON": "IS JSON",
    "x BETWEEN SYMMETRIC 1 AND 2": "SYMMETRIC",
    "CASE x WHEN 1 THEN 2 END = 1": "CASE WHEN x =",
    "d AT TIME ZONE 'UTC' > d": "AT TIME ZONE",
    "d > INTERVAL '1' DAY": "INTERVAL",
    "d > CURRENT_DATE": "CURRENT DATE",
    "d > CURRENT_TIMESTAMP": "CURRENT TIMESTAMP",
    "t = CURRENT_USER": "CURRENT USER",
    "d > DATE '2024-13-01'": "not a date",
    "d > DATE '2024-1-1'": "not a date",
    "d > DATE 5": "literal of this type",
    "d > TIMESTAMP 'yesterday'": "not a timestamp",
    "d > TIMESTAMP '0001-01-01 00:00:00+14:00'": "not a timestamp",
    "d > TIME '10:00'": "literal of this type",
    "x = INT '5'": "literal of this type",
    "N'a' = t": "cannot be read near",
    "E'a' = t": "cannot be read",
    "X'1F' = t": "cannot be read",
    "'a' 'b' = t": "CONCAT",
    "0x1F = x": "cannot be read",
    "1_000 = x": "cannot be read",
    "x = 1e": "finite number",
    "x = 1e999": "finite number",
    "x = " + "1" * 500: "finite number",
    "x <": "cannot be read near '<'",
    "x y": "cannot be read near 'y'",
    "ABS() > 1": "cannot be read near 'ABS'",
    "ABS(x, 1) > 1": r"write ABS\(x\)",
    "LEAST(x) > 1": r"write LEAST\(x, y\)",
    "GREATEST() > 1": "cannot be read near 'GREATEST'",
    "ROUND(x, y) > 1": r"write ROUND\(x\) or ROUND\(x, n\), with n from -18 to 18",
    "ROUND(x, 0.5) > 1": r"write ROUND",
    "ROUND(x, 19) > 1": r"write ROUND",
    "ROUND(x, 1, 2) > 1": r"write ROUND",
    "FLOOR(x, 1) > 1": r"write FLOOR\(x\)",
    "CAST(x) > 1": r"write CAST\(x AS type\)",
    "CAST(x, INT) > 1": r"write CAST\(x AS type\)",
    "CAST(x AS TEXT) > 'a'": "CAST to 'TEXT' is not allowed.*allowed are INTEGER",
    "CAST(x AS 'INT') > 1": "CAST to 'INT' is not allowed",
    'CAST(x AS "INT") > 1': "CAST to 'INT' is not allowed",
    "CAST(x AS BOOLEAN)": "CAST to 'BOOLEAN'",
    "CAST(x AS REAL) > 1": "CAST to 'REAL'",
    "CAST(x AS INT(5)) > 1": "the function INT is not allowed",
    "CAST(x AS DECIMAL) > 1": r"write DECIMAL\(p, s\)",
    "CAST(x AS DECIMAL()) > 1": r"write DECIMAL\(p, s\)",
    "CAST(x AS DECIMAL(19, 2)) > 1": r"write DECIMAL\(p, s\)",
    "CAST(x AS DECIMAL(2, 3)) > 1": r"write DECIMAL\(p, s\)",
    "CAST(x AS DECIMAL(0, 0)) > 1": r"write DECIMAL\(p, s\)",
    "CAST(x AS DECIMAL(5, y)) > 1": r"write DECIMAL\(p, s\)",
    "CAST(x AS DECIMAL(5, 1, 1)) > 1": r"write DECIMAL\(p, s\)",
    "CAST(x AS INT": "cannot be read",
    "CAST(x AS": "cannot be read",
    "x AS DECIMAL(5, 1)": "cannot be read near 'AS'",
    "DATE_DIFF('week', a, b) > 1": r"write DATE_DIFF\('day', start, end\)",
    "DATE_DIFF(day, a, b) > 1": r"write DATE_DIFF\('day', start, end\)",
    "DATEDIFF(a, b) > 1": r"write DATE_DIFF\('day', start, end\)",
    "ABS(" * 25 + "x" + ")" * 25 + " > 1": "nested",
    "(x": "cannot be read",
    "x)": "cannot be read near '\\)'",
    "AND": "cannot be read",
    "x = 1 AND": "cannot be read",
    "x = '\0'": "NUL",
    "x = '\ud800'": "surrogate",
    "x = 'a' OR '1'='1' --": "comments",
    "' OR '1'='1": "cannot be read",
    "(" * 3_000 + "x" + ")" * 3_000: "nested",
    "(" * 3_000: "nested",
    "NOT " * 2_400 + "x": "nested",
    "NOT " * 100_000 + "x": "10,000 characters",
    "- " * 4_000 + "x > 0": "nested",
    "x+" * 4_900 + "1 > 0": "nested",
    "CASE WHEN x THEN " * 25 + "1" + " END" * 25: "nested",
    "COALESCE(" * 25 + "x" + ")" * 25: "nested",
    "(end + " * 900 + "x" + ")" * 900: "nested",
    "CASE WHEN end = " * 300 + "x" + " THEN 1 END" * 300: "nested",
    "x = '" + "a" * 20_000 + "'": "10,000 characters",
    "CASE WHEN " * 4
    + "x"
    + " BETWEEN 1 AND 2 THEN 1 END" * 4
    + " = 1": "BETWEEN may stand inside another",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", HOSTILE, ids=lambda text: text[:40].encode("ascii", "replace").decode() or "nothing"
)
def test_what_is_not_on_the_list_is_refused_quickly_and_quietly(text, caplog, capsys):
    started = time.process_time()
    with caplog.at_level(logging.DEBUG), pytest.raises(InputError, match=HOSTILE[text]) as refusal:
        Predicate.parse(text)
    assert time.process_time() - started < 2
    assert not caplog.records and capsys.readouterr() == ("", "")
    assert "sqlglot" not in str(refusal.value).lower() and len(str(refusal.value)) < 400
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize("text", [None, 5, b"x = 1", ["x = 1"]])
def test_a_predicate_is_a_text(text):
    with pytest.raises(InputError, match="a predicate is a text in SQL"):
        Predicate.parse(text)


def test_as_deep_as_allowed_is_read():
    for text in (
        f"{'(' * DEEPEST}x{')' * DEEPEST}",
        "NOT " * DEEPEST + "x",
        "NOT (" * (DEEPEST - 1) + "x" + ")" * (DEEPEST - 1),
    ):
        assert Predicate.parse(text).columns == ("x",)


def test_as_long_as_allowed_is_read():
    many = " OR ".join(["x = 1"] * (LONGEST // 10))
    assert Predicate.parse(many).columns == ("x",)


def test_a_short_text_with_a_long_normal_form_is_refused():
    with pytest.raises(InputError, match="10,000 characters"):
        Predicate.parse(" and ".join(["x=1e9"] * 830))


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        ("", [""], ["a"]),
        ("%", ["", "a", "\n"], []),
        ("_", ["a", "\n", "é", "\U0001f600"], ["", "ab", "e\u0301"]),
        ("a%", ["a", "ab"], ["", "ba"]),
        ("%a%a%", ["aa", "bacab"], ["a", "ab"]),
        ("a%a", ["aa", "aba"], ["a"]),
        ("_%_", ["ab", "abc"], ["a"]),
        ("%a_b%", ["axb", "aaxbb", "a\nb"], ["ab", "axxb"]),
        ("a\\%", ["a\\", "a\\b"], ["a%"]),
    ],
)
def test_percent_is_any_text_and_underscore_one_code_point(pattern, fits, fails):
    read = Pattern.read(pattern)
    assert [read.matches(text) for text in fits + fails] == [True] * len(fits) + [False] * len(
        fails
    )


def test_a_pattern_of_many_parts_takes_no_time():
    """A regular expression would try some 10^20 ways."""
    assert not Pattern.read("%a" * 19 + "%b").matches("a" * 10_000)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("%_", "_%"),
        ("%_%_%_", "___%"),
        ("a%__b", "a__%b"),
        ("a%_%b_%_c", "a_%b__%c"),
        ("%%__", "__%"),
        ("a%", "a%"),
        ("_%_a_b%", "__%a_b%"),
    ],
)
def test_characters_beside_a_percent_sign_stand_before_it(written, normal):
    """`%_` means what `_%` does, and the second is matched in one place."""
    assert Pattern.read(written).written() == normal


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("_" * 1_001, "at most 1,000 characters"),
        ("%" + "_" * 9_000 + "~%", "at most 1,000 characters"),
        ("a" * 1_000 + "%", "at most 1,000 characters"),
        ("%a" * 21, "at most 20 wildcards"),
        ("%" + "a" * 101, "at most 100 characters after its first %"),
        ("%" + "a" * 60 + "%" + "b" * 41 + "%", "at most 100 characters after its first %"),
        ("%a" + "_" * 11 + "b%", "with _ after a % may have at most 12"),
        ("%abcdefgh%i_klm", "with _ after a % may have at most 12"),
    ],
)
def test_a_pattern_that_a_text_could_make_slow_is_refused(pattern, reason):
    with pytest.raises(InputError, match=reason):
        Predicate.parse(f"x LIKE '{pattern}'")


@pytest.mark.parametrize(
    "pattern",
    ["_" * 1_000, "a" * 900 + "%" + "a" * 99, "%a" * 20, "%" + "_" * 500 + "b%", "%a_b_c_d_e_fg%"],
)
def test_a_pattern_at_its_limits_is_read_and_reads_back(pattern):
    predicate = Predicate.parse(f"x LIKE '{pattern}'")
    assert Predicate.parse(str(predicate)) == predicate


@pytest.mark.parametrize("size", [100, 2_000, 100_000])
def test_a_tree_that_nobody_read_is_held_to_the_same_limits(size):
    deep: tree.Expression = tree.Column("x")
    for _ in range(size):
        deep = tree.Not(deep)
    with pytest.raises(InputError, match="nested at most 20 deep"):
        Predicate(deep)
    wide = tree.Or((tree.Column("x"),) * (10_000 + size))
    with pytest.raises(InputError, match="at most 10,000 parts"):
        Predicate(wide)


@pytest.mark.slow
def test_nothing_but_a_predicate_loads_sqlglot():
    code = (
        "import sys, postri.expressions; assert 'sqlglot' not in sys.modules; "
        "postri.expressions.Predicate.parse('x > 1')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
