"""What a text in SQL means, and what is refused, where, and with which words."""

from __future__ import annotations

import pytest
from sql_policy import datasets

from postri import InputError, agg
from postri.sql import read_sql

COUNT, MID = agg.count(), agg.median("balance")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return datasets(tmp_path_factory.mktemp("sql"))


# ---- aggregates

AGGREGATES = {
    "COUNT(*)": agg.count(),
    "count( * )": agg.count(),
    "COUNT(age)": agg.count("age"),
    "COUNT(job)": agg.count("job"),
    "COUNT(vip)": agg.count("vip"),
    "COUNT(id)": agg.count("id"),
    "COUNT(since)": agg.count("since"),
    'COUNT("age")': agg.count("age"),
    "COUNT(AGE)": agg.count("age"),
    "SUM(age)": agg.sum("age"),
    "sum(Balance)": agg.sum("balance"),
    "SUM(rate)": agg.sum("rate"),
    'SUM("odd name")': agg.sum("odd name"),
    "AVG(age)": agg.mean("age"),
    "mean(age)": agg.mean("age"),
    "AVG(rate)": agg.mean("rate"),
    "MEDIAN(balance)": MID,
    "median(\nbalance\t)": MID,
    "MEDIAN(since)": agg.median("since"),
    "MEDIAN(id)": agg.median("id"),
    'Median("odd name")': agg.median("odd name"),
    "QUANTILE_CONT(balance, 0.5)": MID,
    "QUANTILE_CONT(balance, 0.9)": agg.quantile("balance", "0.9"),
    "quantile_cont(balance, 1/4)": agg.quantile("balance", "1/4"),
    "QUANTILE_CONT(balance, .05)": agg.quantile("balance", "0.05"),
    "QUANTILE(balance, 1e-3)": agg.quantile("balance", "0.001"),
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY balance)": agg.quantile("balance", "0.9"),
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY balance ASC)": agg.quantile("balance", "0.9"),
    "percentile_cont(0.9) within group (order by balance desc)": agg.quantile("balance", "0.1"),
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY since)": agg.median("since"),
}


@pytest.mark.parametrize("text", AGGREGATES)
def test_an_aggregate_means(text, known):
    statement = read_sql(f"SELECT {text} AS a FROM bank", known)
    assert list(statement.aggregates.values()) == [AGGREGATES[text]]
    assert (statement.dataset, statement.by, statement.where) == ("bank", {}, None)
    assert list(statement.values) == ["a"]


# ---- whole texts: aggregates, keys, filter, titles of the columns

MEANINGS = {
    "SELECT COUNT(*) FROM bank": ([COUNT], (), None, ["count", "count_low", "count_high"]),
    "SELECT COUNT(*) FROM bank;": ([COUNT], (), None, ["count", "count_low", "count_high"]),
    "select count(*) from BANK": ([COUNT], (), None, ["count", "count_low", "count_high"]),
    "SELECT COUNT(*) n FROM bank": ([COUNT], (), None, ["n", "n_low", "n_high"]),
    'SELECT COUNT(*) AS "the n" FROM bank': (
        [COUNT],
        (),
        None,
        ["the n", "the n_low", "the n_high"],
    ),
    'SELECT COUNT(*) AS n FROM "bank"': ([COUNT], (), None, ["n", "n_low", "n_high"]),
    'SELECT COUNT(x) AS n FROM "Other Set"': ([agg.count("x")], (), None, ["n", "n_low", "n_high"]),
    "SELECT MEDIAN(balance), COUNT(*) FROM bank": (
        [MID, COUNT],
        (),
        None,
        [
            "median_balance",
            "median_balance_low",
            "median_balance_high",
            "count",
            "count_low",
            "count_high",
        ],
    ),
    "SELECT COUNT(*) AS n FROM bank WHERE age < 40": (
        [COUNT],
        (),
        '"age" < 40',
        ["n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n FROM bank WHERE 40 > AGE AND job = 'cook'": (
        [COUNT],
        (),
        """"age" < 40 AND "job" = 'cook'""",
        ["n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n FROM bank WHERE (age < 40 OR vip) AND since > DATE '2001-01-01'": (
        [COUNT],
        (),
        """("age" < 40 OR "vip") AND DATE '2001-01-01' < "since\"""",
        ["n", "n_low", "n_high"],
    ),
    (
        "SELECT COUNT(*) AS n FROM bank WHERE job IN ('a', 'b') AND age BETWEEN 20 AND 30 AND "
        "job LIKE 'a%' AND rate IS NOT NULL"
    ): (
        [COUNT],
        (),
        """"age" <= 30 AND "job" IN ('a', 'b') AND "job" LIKE 'a%' AND 20 <= "age" """
        """AND NOT "rate" IS NULL""",
        ["n", "n_low", "n_high"],
    ),
    "SELECT job, COUNT(*) AS n FROM bank GROUP BY job": (
        [COUNT],
        ("job",),
        None,
        ["job", "n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n, job FROM bank GROUP BY job": (
        [COUNT],
        ("job",),
        None,
        ["n", "n_low", "n_high", "job"],
    ),
    "SELECT job AS j, COUNT(*) AS n FROM bank GROUP BY job": (
        [COUNT],
        ("job",),
        None,
        ["j", "n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n FROM bank GROUP BY job": (
        [COUNT],
        ("job",),
        None,
        ["n", "n_low", "n_high"],
    ),
    "SELECT vip, job, COUNT(*) AS n FROM bank GROUP BY job, vip": (
        [COUNT],
        ("job", "vip"),
        None,
        ["vip", "job", "n", "n_low", "n_high"],
    ),
    'SELECT "odd name", COUNT(*) AS n FROM bank GROUP BY "odd name"': (
        [COUNT],
        ("odd name",),
        None,
        ["odd name", "n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n, LOW(n), HIGH(n) FROM bank": (
        [COUNT],
        (),
        None,
        ["n", "n_low", "n_high"],
    ),
    "SELECT LOW(n), COUNT(*) AS n FROM bank": ([COUNT], (), None, ["n_low", "n"]),
    "SELECT COUNT(*) AS n, HIGH(n) AS most FROM bank": ([COUNT], (), None, ["n", "most"]),
    "SELECT COUNT(*) AS n, MEDIAN(balance) AS m, HIGH(m) FROM bank": (
        [COUNT, MID],
        (),
        None,
        ["n", "m", "m_high"],
    ),
    "SELECT MEDIAN(balance) * 12 AS year FROM bank": (
        [MID],
        (),
        None,
        ["year", "year_low", "year_high"],
    ),
    "SELECT 12 * MEDIAN(balance) AS year FROM bank": (
        [MID],
        (),
        None,
        ["year", "year_low", "year_high"],
    ),
    "SELECT -MEDIAN(balance) AS debt FROM bank": (
        [MID],
        (),
        None,
        ["debt", "debt_low", "debt_high"],
    ),
    "SELECT SUM(age) / COUNT(*) AS a FROM bank": (
        [agg.sum("age"), COUNT],
        (),
        None,
        ["a", "a_low", "a_high"],
    ),
    "SELECT MEDIAN(balance) / MEDIAN(age) AS a FROM bank": (
        [MID, agg.median("age")],
        (),
        None,
        ["a", "a_low", "a_high"],
    ),
    "SELECT (MEDIAN(balance) + SUM(age)) * 2 - COUNT(*) AS a FROM bank": (
        [MID, agg.sum("age"), COUNT],
        (),
        None,
        ["a", "a_low", "a_high"],
    ),
    "SELECT COUNT(*) AS n, COUNT(*) * 2 AS twice FROM bank": (
        [COUNT],
        (),
        None,
        ["n", "n_low", "n_high", "twice", "twice_low", "twice_high"],
    ),
    "SELECT COUNT(*) AS n FROM bank HAVING n > 10 AND NOT (n = 5 OR n <> 6)": (
        [COUNT],
        (),
        None,
        ["n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n FROM bank HAVING MEDIAN(balance) > 0": (
        [COUNT, MID],
        (),
        None,
        ["n", "n_low", "n_high"],
    ),
    (
        "SELECT job, COUNT(*) AS n FROM bank GROUP BY job HAVING job = 'admin.' ORDER BY n DESC, "
        "job ASC LIMIT 3 OFFSET 1"
    ): (
        [COUNT],
        ("job",),
        None,
        ["job", "n", "n_low", "n_high"],
    ),
    "SELECT job, COUNT(*) AS n FROM bank GROUP BY job ORDER BY 2, 1 DESC": (
        [COUNT],
        ("job",),
        None,
        ["job", "n", "n_low", "n_high"],
    ),
    "SELECT job, COUNT(*) AS n FROM bank GROUP BY job ORDER BY n * 2": (
        [COUNT],
        ("job",),
        None,
        ["job", "n", "n_low", "n_high"],
    ),
    "SELECT job AS j, COUNT(*) AS n FROM bank GROUP BY 1": (
        [COUNT],
        ("job",),
        None,
        ["j", "n", "n_low", "n_high"],
    ),
    "SELECT b.job, MEDIAN(B.balance) FROM bank AS b WHERE b.age < 40 GROUP BY b.job": (
        [MID],
        ("job",),
        '"age" < 40',
        ["job", "median_balance", "median_balance_low", "median_balance_high"],
    ),
    'SELECT COUNT(*) AS n, MEDIAN(t."balance" / 100) FROM bank t ORDER BY t.n': (
        [COUNT, agg.median('("balance" / 100)')],
        (),
        None,
        [
            "n",
            "n_low",
            "n_high",
            "median_balance_100",
            "median_balance_100_low",
            "median_balance_100_high",
        ],
    ),
    "SELECT COUNT(bank.*) AS n FROM bank WHERE bank.vip": (
        [COUNT],
        (),
        '"vip"',
        ["n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n FROM bank HAVING LOW(n) > 3 AND n_high < 5 ORDER BY HIGH(n) LIMIT 1": (
        [COUNT],
        (),
        None,
        ["n", "n_low", "n_high"],
    ),
    "SELECT COUNT(*) AS n, LOW(n) AS least FROM bank HAVING least > 3 ORDER BY 2": (
        [COUNT],
        (),
        None,
        ["n", "least"],
    ),
    "SELECT COUNT(*) AS n FROM bank HAVING MEDIAN(since) > DATE '2001-01-01'": (
        [COUNT, agg.median("since")],
        (),
        None,
        ["n", "n_low", "n_high"],
    ),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_a_text_means(text, known):
    aggregates, by, where, titles = MEANINGS[text]
    statement = read_sql(text, known)
    assert list(statement.aggregates.values()) == aggregates
    assert tuple(statement.by) == by
    assert (statement.where and str(statement.where)) == where
    # Whether an end is an edge stands beside it; the tests of edges look at that.
    shown = [cell.title for cell in statement._layout() if not cell.what.endswith("_is_edge")]
    assert shown == titles


# ---- refused: the message, and what is marked in the text

REFUSED = [
    # rows are private
    ("SELECT * FROM bank", "the columns that may be asked about: balance, age, rate", "*"),
    ("SELECT age FROM bank", "'age' is not in GROUP BY, and rows are private", "age"),
    ("SELECT job, age, COUNT(*) FROM bank GROUP BY job", "'age' is not in GROUP BY", "age"),
    ("SELECT job FROM bank GROUP BY job", "at least one aggregate", "job"),
    ("SELECT 1 FROM bank", "a column of a question is an aggregate", "1"),
    ("SELECT 'x' AS a, COUNT(*) FROM bank", "a column of a question is an aggregate", "'x'"),
    ("SELECT age + 1 FROM bank", "ask for an aggregate of it, such as COUNT(age)", "age"),
    ("SELECT COUNT(*) > 3 FROM bank", "a column of a question is an aggregate", "COUNT(*) > 3"),
    # functions that are not answered
    ("SELECT MIN(age) FROM bank", "such as QUANTILE_CONT(age, 0.01)", "MIN"),
    ("SELECT MAX(balance) FROM bank", "such as QUANTILE_CONT(balance, 0.99)", "MAX"),
    ("SELECT TOP_K(job) FROM bank", "write TOP_K(x, 3)", "TOP_K(job"),
    ("SELECT TOP_K(job, 0) FROM bank", "whole number from 1 to 100", "TOP_K(job, 0"),
    ("SELECT TRIMMED_MEAN(age, 0.6) FROM bank", "must be below 0.5", "TRIMMED_MEAN(age, 0.6"),
    ("SELECT IQR(since) FROM bank", "no interquartile range of a column of dates", "since"),
    ("SELECT FIRST(age) FROM bank", "shows single rows", "FIRST"),
    ("SELECT ARRAY_AGG(age) FROM bank", "shows single rows", "ARRAY_AGG"),
    ("SELECT STRING_AGG(job) FROM bank", "shows single rows", "STRING_AGG"),
    (
        "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age) FROM bank",
        "QUANTILE_CONT",
        "PERCENTILE_DISC",
    ),
    ("SELECT DISTINCT job FROM bank", "DISTINCT is answered in COUNT", "DISTINCT"),
    ("SELECT SUM(DISTINCT age) FROM bank", "DISTINCT is answered in COUNT", "DISTINCT"),
    (
        "SELECT APPROX_COUNT_DISTINCT(age) FROM bank",
        "ask for COUNT(DISTINCT age)",
        "APPROX_COUNT_DISTINCT",
    ),
    ("SELECT MEDIAN(age) OVER () FROM bank", "windows are not answered", "OVER"),
    ("SELECT COUNT(*) FILTER (age < 3) FROM bank", "write FILTER", "FILTER (age < 3"),
    ("SELECT RANDOM() FROM bank", "there is no function RANDOM", "RANDOM"),
    ("SELECT ABS(COUNT(*)) FROM bank", "there is no function ABS", "ABS"),
    # misspelt names
    ("SELECT MEDIAN(blance) FROM bank", "did you mean 'balance'", "blance"),
    ("SELECT MEDIN(age) FROM bank", "did you mean 'MEDIAN'", "MEDIN"),
    ("SELECT CONT(*) FROM bank", "did you mean 'COUNT'", "CONT"),
    ("SELECT COUNT(*) FROM bnk", "did you mean 'bank'", "bnk"),
    ("SELECT COUNT(*) FROM bank WHERE agee < 3", "did you mean 'age'", "agee"),
    ("SELECT COUNT(*) FROM bank GROUP BY jobb", "GROUP BY takes columns with public keys", "jobb"),
    ('SELECT MEDIAN("Age") FROM bank', "there is no column 'Age'", '"Age"'),
    ('SELECT COUNT(*) FROM "BANK"', "there is no dataset 'BANK'", '"BANK"'),
    ("SELECT COUNT(*) AS n, LOW(m) FROM bank", "there is no value 'm'", "LOW(m)"),
    ("SELECT COUNT(*) AS n FROM bank ORDER BY m", "there is no column 'm'", "m"),
    ("SELECT COUNT(*) AS n FROM bank HAVING m > 3", "there is no column 'm'", "m"),
    # wrong kinds
    ("SELECT MEDIAN(job) FROM bank", "'job' holds texts", "job"),
    ("SELECT SUM(job) FROM bank", "'job' holds texts", "job"),
    ("SELECT AVG(vip) FROM bank", "'vip' holds truths", "vip"),
    ("SELECT SUM(since) FROM bank", "no sum of dates", "since"),
    ("SELECT AVG(since) FROM bank", "no mean of dates", "since"),
    ("SELECT SUM(id) FROM bank", "the policy gives it no lower and upper", "id"),
    ("SELECT AVG(id) FROM bank", "the policy gives it no lower and upper", "id"),
    ("SELECT MEDIAN(since) + 1 FROM bank", "one of these is a date", "MEDIAN(since) + 1"),
    ("SELECT COUNT(*) n FROM bank HAVING n", "HAVING takes a condition", "n"),
    ("SELECT COUNT(*) n FROM bank HAVING n = 'x'", "a number is compared with a text", "n = 'x'"),
    ("SELECT COUNT(*) n FROM bank HAVING n > 1 AND 3", "AND takes two conditions", "AND"),
    ("SELECT COUNT(*) n FROM bank HAVING NOT n", "NOT takes a condition", "NOT"),
    (
        "SELECT MEDIAN(since) d FROM bank HAVING d > DATE '2001-13-01'",
        "is not a date",
        "'2001-13-01'",
    ),
    # divisors
    ("SELECT COUNT(*) / MEDIAN(balance) FROM bank", "may hold 0", "COUNT(*) / MEDIAN(balance)"),
    ("SELECT COUNT(*) / SUM(age) FROM bank", "may hold 0", "COUNT(*) / SUM(age)"),
    ("SELECT COUNT(*) / 0 FROM bank", "may hold 0", "COUNT(*) / 0"),
    ("SELECT SUM(age) / (COUNT(*) * 2) FROM bank", "may hold 0", "SUM(age) / (COUNT(*) * 2)"),
    ("SELECT COUNT(*) / (COUNT(*) - 1) FROM bank", "may hold 0", "COUNT(*) / (COUNT(*) - 1)"),
    # arguments
    ("SELECT COUNT() FROM bank", "write COUNT(*)", None),
    ("SELECT SUM() FROM bank", "write SUM(x)", "SUM"),
    ("SELECT SUM(age, balance) FROM bank", "write SUM(x)", "SUM(age, balance"),
    ("SELECT QUANTILE_CONT(age) FROM bank", "write QUANTILE_CONT(x, 0.9)", "QUANTILE_CONT(age"),
    ("SELECT QUANTILE_CONT(age, 2) FROM bank", "strictly between 0 and 1", "2"),
    ("SELECT QUANTILE_CONT(age, 'x') FROM bank", "must be a finite number", "'x'"),
    ("SELECT PERCENTILE_CONT(0.5) FROM bank", "WITHIN GROUP (ORDER BY x)", "PERCENTILE_CONT"),
    (
        "SELECT PERCENTILE_CONT(7) WITHIN GROUP (ORDER BY age) FROM bank",
        "strictly between 0 and 1",
        "7",
    ),
    (
        "SELECT MEDIAN(age) WITHIN GROUP (ORDER BY age) FROM bank",
        "belongs to PERCENTILE_CONT",
        "ORDER BY age",
    ),
    ("SELECT COUNT(*) AS n, LOW(n, 3) FROM bank", "write LOW(name)", "LOW(n, 3)"),
    ("SELECT COUNT(*) AS n, LOW(n) + 1 FROM bank", "write LOW(name)", "LOW(n) + 1"),
    ("SELECT COUNT(*) AS n, 1 + LOW(n) FROM bank", "stands by itself in SELECT", "LOW"),
    # clauses
    ("SELECT", "FROM names the dataset", None),
    ("SELECT COUNT(*)", "FROM names the dataset", None),
    ("SELECT COUNT(*) FROM", "FROM names the dataset", "FROM"),
    ("SELECT FROM bank", "something is missing in SELECT", "SELECT"),
    ("SELECT COUNT(*), FROM bank", "something is missing in SELECT", "SELECT"),
    ("FROM bank", "a question begins with SELECT", "FROM"),
    ("SELECT COUNT(*) FROM bank WHERE", "something is missing after WHERE", "WHERE"),
    ("SELECT COUNT(*) FROM bank GROUP BY", "something is missing in GROUP BY", "GROUP BY"),
    ("SELECT COUNT(*) FROM bank HAVING", "something is missing after HAVING", "HAVING"),
    ("SELECT COUNT(*) FROM bank ORDER BY", "something is missing in ORDER BY", "ORDER BY"),
    ("SELECT COUNT(*) FROM bank ORDER BY DESC", "something is missing in ORDER BY", "ORDER BY"),
    ("SELECT COUNT(*) FROM bank ORDER BY 7", "the number of one of the columns", "7"),
    ("SELECT COUNT(*) FROM bank LIMIT", "LIMIT takes a whole number", "LIMIT"),
    ("SELECT COUNT(*) FROM bank LIMIT 1.5", "LIMIT takes a whole number", "1.5"),
    ("SELECT COUNT(*) FROM bank LIMIT -1", "LIMIT takes a whole number", "-1"),
    ("SELECT COUNT(*) FROM bank LIMIT n", "LIMIT takes a whole number", "n"),
    (
        "SELECT COUNT(*) FROM bank GROUP BY job WHERE age < 3",
        "WHERE must stand before GROUP BY",
        "WHERE",
    ),
    ("SELECT COUNT(*) FROM bank WHERE age < 3 WHERE age < 4", "stands here a second time", "WHERE"),
    (
        "SELECT COUNT(*) FROM bank GROUP BY age",
        "'age' has no public keys in the policy; columns with keys: 'job', 'vip'",
        "age",
    ),
    ("SELECT COUNT(*) FROM bank GROUP BY job, job", "stands in GROUP BY twice", "job"),
    ("SELECT COUNT(*) FROM bank GROUP BY job || 'x'", "GROUP BY takes columns", "job || 'x'"),
    ("SELECT COUNT(*) FROM bank b c", "one name, or one and an alias: FROM bank AS t", "b c"),
    ("SELECT COUNT(*) FROM bank AS 3", "after FROM stands one name", "AS 3"),
    ("SELECT COUNT(*) FROM bank AS", "after FROM stands one name", "AS"),
    ("SELECT COUNT(*) FROM main.bank", "after FROM stands one name", ".bank"),
    ("SELECT MEDIAN(c.age) FROM bank AS b", "there is no table 'c' in this question", "c"),
    ("SELECT MEDIAN(bank.age) FROM bank b", "write b.x, or x alone", "bank"),
    ("SELECT MEDIAN(age) FROM bank b WHERE b.", "something is missing after this", "."),
    ("SELECT b.* FROM bank b", "rows are private, so there is no SELECT *", "*"),
    ("SELECT COUNT(*) FROM bank GROUP BY 1", "GROUP BY takes columns with public keys", "1"),
    ("SELECT job, COUNT(*) FROM bank GROUP BY 3", "names no column: SELECT has 2", "3"),
    ("SELECT job, COUNT(*) FROM bank GROUP BY 1.5", "names no column: SELECT has 2", "1.5"),
    ("SELECT job, COUNT(*) FROM bank GROUP BY 0", "names no column: SELECT has 2", "0"),
    # texts in double quotes
    (
        'SELECT COUNT(*) FROM bank WHERE job = "UA"',
        "there is no column 'UA'; a text stands in single quotes: 'UA'",
        '"UA"',
    ),
    (
        'SELECT job, COUNT(*) FROM bank GROUP BY job HAVING job = "UA"',
        "a text stands in single quotes: 'UA'",
        '"UA"',
    ),
    # ends of intervals in conditions
    ("SELECT COUNT(*) AS n FROM bank HAVING LOW(m) > 3", "write LOW(name)", "LOW(m"),
    ("SELECT COUNT(*) AS n FROM bank HAVING HIGH(n, 1) > 3", "write HIGH(name)", "HIGH(n, 1"),
    ("SELECT COUNT(*) AS n FROM bank ORDER BY LOW(COUNT(*))", "write LOW(name)", "LOW(COUNT(*)"),
    ("SELECT COUNT(*) a, COUNT(age) a FROM bank", "two columns have the name 'a'", "COUNT(*) a"),
    ("SELECT COUNT(*) AS 3 FROM bank", "a column is named by a word", "3"),
    ("SELECT COUNT(*) COUNT(*) FROM bank", "is not expected here", "COUNT"),
    ("SELECT COUNT(*) + FROM bank", "something is missing after this", "+"),
    ("SELECT (COUNT(*) FROM bank", "this parenthesis is not closed", "("),
    ("SELECT COUNT(*)) FROM bank", "this parenthesis closes nothing", ")"),
    # other statements
    ("SELECT COUNT(*) FROM bank JOIN x ON 1 = 1", "joins are not answered", "x"),
    ("SELECT COUNT(*) FROM bank LEFT JOIN x ON 1 = 1", "joins are not answered", "x"),
    ("SELECT COUNT(*) FROM bank CROSS JOIN x", "joins are not answered", "CROSS"),
    ("SELECT COUNT(*) FROM bank NATURAL JOIN x", "joins are not answered", "NATURAL"),
    ("SELECT COUNT(*) FROM bank, x", "one dataset at a time", "bank, x"),
    ("SELECT COUNT(*) FROM (SELECT * FROM bank)", "subqueries are not answered", "SELECT"),
    ("SELECT (SELECT COUNT(*) FROM bank) FROM bank", "subqueries are not answered", "SELECT"),
    ("SELECT COUNT(*) FROM bank WHERE age IN (SELECT 1)", "subqueries are not answered", "SELECT"),
    ("SELECT COUNT(*) FROM bank WHERE EXISTS (SELECT 1)", "subqueries are not answered", "EXISTS"),
    ("WITH t AS (SELECT 1) SELECT COUNT(*) FROM t", "WITH is not answered", "WITH"),
    ("SELECT COUNT(*) FROM bank UNION SELECT COUNT(*) FROM bank", "ask two questions", "UNION"),
    ("SELECT COUNT(*) FROM bank EXCEPT SELECT 1", "ask two questions", "EXCEPT"),
    ("DROP TABLE bank", "only SELECT is answered", "DROP"),
    ("DELETE FROM bank", "only SELECT is answered", "DELETE"),
    ("EXPLAIN SELECT COUNT(*) FROM bank", "only SELECT is answered", None),
    ("SELECT COUNT(*) FROM bank; SELECT 1", "one question at a time", ";"),
    ("SELECT COUNT(*) -- all\nFROM bank", "comments are not allowed", None),
    ("SELECT COUNT(*) FROM bank QUALIFY 1", "QUALIFY is not answered", "QUALIFY"),
    # filters
    ("SELECT COUNT(*) FROM bank WHERE sin(age) > 0", "the function sin is not allowed here", "sin"),
    ("SELECT COUNT(*) FROM bank WHERE age ~ 'x'", "is not allowed here", None),
    ("SELECT COUNT(*) FROM bank WHERE CAST(age AS TEXT) = 'x'", "is not allowed here", None),
    ("SELECT COUNT(*) FROM bank WHERE age LIKE job", "LIKE takes a text literal", None),
]


@pytest.mark.parametrize(("text", "message", "marked"), REFUSED)
def test_what_is_refused_says_where_and_why(text, message, marked, known):
    with pytest.raises(InputError) as refused:
        read_sql(text, known)
    words, line, carets = str(refused.value).rsplit("\n", 2)
    assert message in words
    start = len(carets) - len(carets.lstrip())
    if marked is not None:
        assert line[start : start + carets.count("^")] == marked


def test_there_are_enough_of_them():
    assert len(AGGREGATES) + len(MEANINGS) + len(REFUSED) >= 150


def test_the_line_of_a_long_text_is_shown_and_cut(known):
    text = (
        "SELECT COUNT(*)\nFROM bank\nWHERE "
        + " OR ".join(f"age = {number}" for number in range(60))
        + " OR agee = 1"
    )
    with pytest.raises(InputError) as refused:
        read_sql(text, known)
    _, line, carets = str(refused.value).rsplit("\n", 2)
    assert len(line) < 120 and line.startswith("  ...")
    start = len(carets) - len(carets.lstrip())
    assert line[start : start + carets.count("^")] == "agee"
