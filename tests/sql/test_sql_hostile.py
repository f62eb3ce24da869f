"""Texts that mean harm: none reaches an engine, each is refused at once, with a message and without
a traceback.
"""

from __future__ import annotations

import time
from unittest.mock import patch

import pytest
from sql_policy import datasets

from postri import InputError
from postri.ledger import SqliteLedger
from postri.policy import read_policy
from postri.session import LocalSession
from postri.session import local as module

SECOND = 1.0
BASE = "SELECT COUNT(*) FROM bank"
STACKED = [
    f"{BASE}; DROP TABLE bank",
    f"{BASE};; SELECT 1",
    f"{BASE}; COPY bank TO '/tmp/x.csv'",
    f"{BASE}; INSTALL httpfs",
    f"{BASE}; LOAD httpfs",
    f"{BASE}; ATTACH '/etc/passwd'",
    f"{BASE}; PRAGMA database_list",
    f"{BASE}; SET memory_limit = '1TB'",
    f"{BASE}; CALL pragma_version()",
    f"{BASE}\n;\nUPDATE bank SET age = 0",
    ";" * 50 + "SELECT 1",
]
OTHERS = [
    "DROP TABLE bank",
    "DELETE FROM bank",
    "UPDATE bank SET age = 1",
    "INSERT INTO bank VALUES (1)",
    "CREATE TABLE t AS SELECT 1",
    "ALTER TABLE bank ADD x INT",
    "TRUNCATE bank",
    "GRANT ALL ON bank TO x",
    "COPY bank TO 'x'",
    "EXPORT DATABASE 'x'",
    "VACUUM",
    "BEGIN",
    "PRAGMA show_tables",
    "SHOW TABLES",
    "DESCRIBE bank",
    "EXPLAIN ANALYZE SELECT 1",
    "VALUES (1)",
    "TABLE bank",
    "MERGE INTO bank USING x",
    "CALL f()",
    "EXECUTE x",
    "PREPARE x AS SELECT 1",
    "SET x = 1",
    "USE x",
    "KILL 1",
    "FROM bank SELECT COUNT(*)",
    "FROM bank",
]
COMMENTS = [
    f"{BASE} -- comment",
    f"{BASE} /* comment */",
    "SELECT COUNT(*) /* FROM x */ FROM bank",
    "/* */ SELECT COUNT(*) FROM bank",
    f"{BASE} WHERE age < 40 -- AND job = 'x'",
    "SEL/**/ECT COUNT(*) FROM bank",
    f"{BASE} # comment",
    f"{BASE} /*+ HINT */",
    f"{BASE} /* not closed",
]
UNIONS = [
    f"{BASE} UNION SELECT age FROM bank",
    f"{BASE} UNION ALL SELECT secret FROM bank",
    f"{BASE} INTERSECT SELECT 1",
    f"{BASE} WHERE 1 = 1 UNION SELECT 1",
    f"({BASE}) UNION ({BASE})",
    f"WITH x AS ({BASE}) SELECT * FROM x",
    "SELECT COUNT(*) FROM (SELECT * FROM bank)",
    f"{BASE} WHERE age = (SELECT MAX(age) FROM bank)",
    f"{BASE} WHERE age > ALL (SELECT 1)",
    f"{BASE} WHERE EXISTS (SELECT 1)",
    f"SELECT ({BASE}) FROM bank",
    f"{BASE} JOIN bank ON TRUE",
    f"{BASE}, bank",
    "SELECT COUNT(*) FROM bank LATERAL VIEW explode(x) t",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM '/etc/passwd'",
    "SELECT COUNT(*) FROM bank TABLESAMPLE (1 ROWS)",
    "SELECT COUNT(*) FROM pg_catalog.pg_user",
]
FUNCTIONS = [
    f"{BASE} WHERE {condition}"
    for condition in (
        "pg_sleep(10) = 1",
        "pg_read_file('/etc/passwd') = ''",
        "random() < 0.5",
        "now() > since",
        "current_user = 'x'",
        "version() = ''",
        "getenv('HOME') = ''",
        "read_text('/etc/passwd') = ''",
        "error('x') = 1",
        "nextval('s') = 1",
        "regexp_matches(job, '(a+)+$')",
        "CAST(job AS TEXT) = job",
        "age::text = '1'",
        "TRY_CAST(job AS INT) = 1",
        "repeat('x', 1000000000) = ''",
        "age = ?",
        "age = $1",
        "age = :x",
        "age = @x",
        "age = {{ x }}",
        "age = ${x}",
        "job SIMILAR TO 'x'",
        "job ~ 'x'",
        "age @> 1",
        "age[1] = 1",
        "job = E'\\n'",
        "age = 0x1F",
        "job COLLATE x = 'a'",
        "(age, job) = (1, 'x')",
        "x'00' = job",
        "age IS OF (int)",
    )
]
SELECTED = [
    f"SELECT {item} FROM bank"
    for item in (
        "pg_sleep(10)",
        "MEDIAN(pg_sleep(10))",
        "SUM(random())",
        "COUNT(*) OVER (ORDER BY age)",
        "MEDIAN(age::int)",
        "SUM((SELECT 1))",
        "age",
        "secret",
        "*, COUNT(*)",
        "bank.*",
        "COUNT(secret)",
        "MAX(age)",
        "LIST(age)",
        "MEDIAN(secret + 1)",
        "COUNT(*) INTO OUTFILE 'x'",
    )
]
UNICODE = [
    "ＳＥＬＥＣＴ COUNT(*) FROM bank",
    "SELECT COUNT(*) FROM b\u0430nk",
    "SELECT COUNT(*) FROM bank\u200b",
    "SELECT COUNT(*) FROM \u202eknab",
    "SELECT COUNT(*) FROM bank WHERE job = '\u202e'",
    "SELECT MEDIAN(ag\u0435) FROM bank",
    "SELECT COUNT(*) FROM bank\u2028; DROP TABLE bank",
    "SELECT COUNT(*) FROM bank\x00",
    "SELECT COUNT(*) FROM bank WHERE job = '\ud800'",
    "SELECT COUNT(*) FROM bank WHERE job \uff1d 'x'",
    "SELECT \u037e COUNT(*) FROM bank",
    "\ufeffSELECT COUNT(*) FROM bank",
    "SELECT COUNT(*) FROM bank WHERE job = \u2019x\u2019",
]
HUGE = {
    "3,000 parentheses": "SELECT " + "(" * 3_000 + "COUNT(*)" + ")" * 3_000 + " FROM bank",
    "3,000 parentheses in a filter": f"{BASE} WHERE " + "(" * 3_000 + "age < 1" + ")" * 3_000,
    "40 parentheses": "SELECT " + "(" * 40 + "COUNT(*)" + ")" * 40 + " FROM bank",
    "a megabyte": f"{BASE} WHERE age < " + "1" * 1_000_000,
    "a megabyte of blanks": BASE + " " * 1_000_000,
    "a megabyte of quotes": BASE + "'" * 1_000_000,
    "3,000 minus signs": "SELECT " + "- " * 3_000 + "COUNT(*) FROM bank",
    "3,000 NOTs": f"{BASE} HAVING " + "NOT " * 2_000 + "TRUE",
    "2,000 columns": "SELECT " + ", ".join(["COUNT(*)"] * 900) + " FROM bank",
    "a deep sum": "SELECT " + "COUNT(*) * (1 + " * 60 + "1" + ")" * 60 + " FROM bank",
    "a huge number": "SELECT COUNT(*) * 1e999999999 FROM bank",
    "a huge number in a filter": f"{BASE} WHERE age < 1e999999999",
    "a huge limit": f"{BASE} LIMIT 99999999999999999999",
    "many ANDs of nothing": f"{BASE} WHERE " + "AND " * 2_000,
    "an empty text": "",
    "blanks": " \n\t ",
    "not a text": 7,
    "bytes": b"SELECT 1",
}
TEXTS = [*STACKED, *OTHERS, *COMMENTS, *UNIONS, *FUNCTIONS, *SELECTED, *UNICODE, *HUGE.values()]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    datasets(folder)
    policy = read_policy(folder / "postri.toml")
    with SqliteLedger(policy.ledger, policy.head) as ledger:
        yield LocalSession(policy, ledger, "eve")


def test_there_are_a_hundred():
    assert len(TEXTS) >= 100


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text)[:50])
def test_it_is_refused_at_once_and_reaches_no_engine(text, session):
    with patch.object(module, "open_dataset", side_effect=AssertionError("an engine was reached")):
        start = time.process_time()
        with pytest.raises(InputError) as refused:
            session.sql(text, epsilon=1)
        assert time.process_time() - start < SECOND
    message = str(refused.value)
    assert len(message) < 1_000
    assert message.isprintable() or "\n" in message
    assert session.budget("bank")["bank"].spent == 0
