"""What users plausibly get wrong, by the place where they write it.

`test_wrong_inputs.py` asks each of these and compares the answers with `docs/wrong-inputs.md`.
"""

from __future__ import annotations

POLICY = """\
[datasets.staff]
source = "staff.csv"
version = "1"
budget = "2"
rows = 1000
allowances = { bob = "1/2" }
protect = { change = "add-or-remove-rows", rows = 1 }

[datasets.staff.columns.salary]
type = "integer"
lower = 0
upper = 100000

[datasets.staff.columns.rate]
type = "decimal"

[datasets.staff.columns.since]
type = "date"
lower = 2000-01-01
upper = 2030-12-31

[datasets.staff.columns.team]
type = "text"
keys = ["blue", "red"]
"""

# `df` is a data frame with the columns of the policy and `name`.
PYTHON = (
    'postri.median(df, "salry", epsilon=1)',
    "postri.median(df, epsilon=1)",
    'postri.median(df, "team", epsilon=1)',
    'postri.median("stuff.csv", "salary", epsilon=1)',
    'postri.median("staff.xlsx", "salary", epsilon=1)',
    'postri.median("semicolons.csv", "salary", epsilon=1)',
    'postri.median("latin.csv", "salary", epsilon=1)',
    'postri.median("staff.csv", "salary", epsilon=1, where="rate IS NULL")',
    "postri.median(42, epsilon=1)",
    'postri.median(df, "salary", epsilon=0)',
    'postri.median(df, "salary", epsilon=-1)',
    'postri.median(df, "salary", epsilon="one")',
    'postri.median(df, "salary", epsilon="1e-400")',
    'postri.median(df, "salary", epsilon="1e-401")',
    'postri.median(df, "salary", epsilon=1, confidence=95)',
    'postri.median(df, "salary", epsilon=1, split=1)',
    'postri.median(df, "salary", epsilon=1, method="dept")',
    'postri.median(df, "salary", epsilon=1, method="postri")',
    'postri.median(df, "salary", epsilon=1, domain=(0, 1000))',
    'postri.median(df, "salary", epsilon=1, domain=Domain(1000, 0))',
    'postri.median(df, "salary", epsilon=1, domain=Domain(0, 10, step=3))',
    'postri.median(df, "salary", epsilon=1, domain=Domain(0, 10, step=0))',
    'postri.median(df, "since", epsilon=1, domain=Domain(0, 1000))',
    'postri.median(df, "rate", epsilon=1)',
    'postri.median(df, "salary", epsilon=1, protect="rows")',
    'postri.median(df, "salary", epsilon=1, protect=AddOrRemoveRows(0))',
    'postri.median(df, "salary", epsilon=1, protect=AddOrRemoveUnits("persn", 3))',
    'postri.median(df, "salary", epsilon=1, where="sqrt(salary) > 10")',
    'postri.median(df, "salary", epsilon=1, where="salry > 10")',
    'postri.median(df, "salary", epsilon=1, where="salary > 10 AND")',
    """postri.count(df, epsilon=1, where='team = "blue"')""",
    """postri.count(df, epsilon=1, where="team = 7")""",
    'postri.quantile(df, 50, "salary", epsilon=1)',
    'postri.quantiles(df, 0.5, "salary", epsilon=1)',
    'postri.quantiles(df, [], "salary", epsilon=1)',
    'postri.sum(df, "salary", epsilon=1)',
    'postri.mean(df, "since", epsilon=1)',
    'postri.ask(df, {"mid": "medain(salary)"}, epsilon=1)',
    'postri.ask(df, "median(salary)", epsilon=1)',
    'postri.ask(df, {"n": agg.count()}, by="team", epsilon=1)',
    'postri.ask(df, {"n": agg.count()}, by={"team": []}, epsilon=1)',
    'postri.ask(df, {"n": agg.count()}, weights={"m": 1}, epsilon=1)',
    "postri.plan(rows=1000)",
    'postri.open("staff.csv", encoding="utf8-latin")',
    'postri.open("staff.csv", columns={"salary": "int64"})',
    'postri.open("staff.csv", header=False)',
    'postri.open("staff.csv", delimiter=";;")',
    'postri.open("staff.csv", decimal=",", thousands=",")',
    'postri.open("staff.csv", date_format="DD.MM.YYYY")',
    'postri.open("staff.csv", line_breaks=True)',
    'postri.connect("nowhere.toml")',
)

# `db` is `postri.connect("postri.toml", analyst="ann")`.
SESSION = (
    'db.median("stuff", "salary", epsilon=1)',
    'db.median("staff", "salry", epsilon=1)',
    'db.median("staff", "name", epsilon=1)',
    'db.median("staff", "team", epsilon=1)',
    'db.median("staff", "rate", epsilon=1)',
    'db.median("staff", "salary", epsilon=3)',
    'bob.median("staff", "salary", epsilon=1)',
    'db.median("staff", "salary", epsilon=0)',
    'db.median("staff", "salary", epsilon=1, domain=Domain(0, 10))',
    'db.mean("staff", "rate", epsilon=1)',
    'db.quantile("staff", "salary", 90, epsilon=1)',
    'db.ask("staff", {"n": "count()"}, by=["salary"], epsilon=1)',
    'db.ask("staff", {"n": "count()"}, by="team", epsilon=1)',
    'db.ask("staff", {}, epsilon=1)',
    'db.price("staff", {"n": "count()"}, epsilon=1, expect=0)',
    """db.count("staff", epsilon=1, where="name = 'Ann'")""",
)

SQL = (
    "SELECT MEDIAN(salry) FROM staff",
    "SELECT MEDAIN(salary) FROM staff",
    "SELECT MEDIAN(salary) FROM stuff",
    "SELECT MEDIAN(salary)",
    "SELECT * FROM staff",
    "SELECT salary FROM staff",
    "SELECT MAX(salary) FROM staff",
    "SELECT COUNT(DISTINCT team) FROM staff",
    "SELECT QUANTILE_CONT(salary, 50) FROM staff",
    "SELECT SUM(rate) FROM staff",
    "SELECT team, COUNT(*) FROM staff",
    "SELECT COUNT(*) FROM staff GROUP BY salary",
    'SELECT COUNT(*) FROM staff WHERE team = "blue"',
    "SELECT COUNT(*) FROM staff WHERE 'team' = 'blue'",
    "SELECT COUNT(*) FROM staff WHERE 'salary' > 1000",
    "SELECT COUNT(*) FROM staff WHERE UPPER(team) = 'BLUE'",
    "SELECT COUNT(*) FROM staff WHERE salary = 'much'",
    "SELECT COUNT(*) FROM staff WHERE since > '2020-13-01'",
    "SELECT COUNT(*) AS n FROM staff HAVING team = 'blue'",
    "SELECT COUNT(*) AS n FROM staff ORDER BY m",
    "SELECT COUNT(*) AS n FROM staff LIMIT -1",
    "SELECT COUNT(*) FROM staff JOIN teams ON staff.team = teams.id",
    "SELECT COUNT(*) FROM (SELECT salary FROM staff)",
    "SELECT COUNT(*) / SUM(salary) FROM staff",
    "SELECT COUNT(*) FROM staff; DROP TABLE staff",
)

# A command, and its exit code.
COMMANDS = (
    ("postri medain staff.csv salary --epsilon 1", 2),
    ("postri median staff.csv salary", 2),
    ("postri median staff.csv salary --epsilon 0", 2),
    ("postri median staff.csv salary --epsilon one", 2),
    ("postri median stuff.csv salary --epsilon 1", 2),
    ("postri median staff.csv salry --epsilon 1", 2),
    ("postri median staff.csv --epsilon 1", 2),
    ("postri median semicolons.csv salary --epsilon 1", 2),
    ("postri median latin.csv salary --epsilon 1", 2),
    ("postri median staff.csv salary --epsilon 1 --no-header", 2),
    ("postri median staff.csv salary --epsilon 1 --where 'rate IS NULL'", 2),
    ("postri median staff.csv salary --epsilon 1 --confidence 95", 2),
    ("postri median staff.csv salary --epsilon 1 --lower 1000 --upper 0", 2),
    ("postri median staff.csv salary --epsilon 1 --lower 0", 2),
    ("postri median staff.csv salary --epsilon 1 --lower 0 --upper 10 --step 3", 2),
    ("postri median staff.csv salary --epsilon 1 --lower zero --upper ten", 2),
    ("postri median staff.csv rate --epsilon 1 --type float", 2),
    ("postri median staff.csv salary --epsilon 1 --type int", 2),
    ("postri median staff.csv salary --epsilon 1 --method dept", 2),
    ("postri median staff.csv salary --epsilon 1 --method postri", 2),
    ("postri median staff.csv salary --epsilon 1 --rows-per-person 0", 2),
    ("postri median staff.csv salary --epsilon 1 --encoding latin1-de", 2),
    ("postri median staff.csv salary --epsilon 1 --delimiter ;;", 2),
    ("postri median staff.csv salary --epsilon 1 --decimal , --thousands ,", 2),
    ("postri median staff.csv since --epsilon 1 --type date --date-format DD.MM.YYYY", 2),
    ("postri median staff.csv salary --epsilon 1 --line-breaks", 2),
    ("postri median staff.csv salary --epsilon 1 --where 'sqrt(salary) > 10'", 2),
    ("""postri median staff.csv salary --epsilon 1 --where 'team = "blue"'""", 2),
    ("postri median staff.csv salary --epsilon 1 --plot bar.jpeg", 2),
    ("postri quantile staff.csv salary 90 --epsilon 1", 2),
    ("postri plan --rows 1000", 2),
    ("postri plan --rows 1000 --reach 2", 2),
    ("postri ask stuff 'median(salary)' --epsilon 1", 2),
    ("postri ask staff 'medain(salary)' --epsilon 1", 2),
    ("postri ask staff salary --epsilon 1", 2),
    ("postri ask staff 'median(salary)' --epsilon 3", 3),
    ("postri ask staff 'median(salary)' --epsilon 1 --analyst bob", 3),
    ("postri ask staff 'mean(rate)' --epsilon 1", 2),
    ("postri ask staff 'count()' --by salary --epsilon 1", 2),
    ("postri ask staff 'count()' --by teem --epsilon 1", 2),
    ("postri ask staff 'count()' 'median(salary)' --weights 1 --epsilon 1", 2),
    ("postri ask staff 'count()' --epsilon 1 --price --expect 0", 2),
    ("postri ask staff 'count()' --epsilon 1 --policy nowhere.toml", 2),
    ("postri ask staff 'count()' --epsilon 1 --policy http://127.0.0.1:1", 2),
    ("postri ask staff 'count()' --epsilon 1 --policy semicolons.toml", 2),
    ("postri sql 'SELECT MAX(salary) FROM staff' --epsilon 1", 2),
    ("postri look staff.csv --type salary", 2),
    ("postri look staff.csv --unit persn", 2),
    ("postri init staff.csv", 2),
    ("postri check --policy stuff.toml", 2),
    ("postri check --policy semicolons.toml", 2),
    ("postri open-again stuff", 2),
    ("postri ask staff 'count()' --epsilon 0.001", 2),
    ("postri ask staff 'count()' --epsilon 1e-400", 2),
    ("postri token add eve --role boss", 2),
)

# A line of the policy above, and what stands in its place.
POLICY_LINES = (
    ('budget = "2"', 'bugdet = "2"'),
    ('budget = "2"', 'budget = "two"'),
    ('budget = "2"', "budget = 0"),
    ('source = "staff.csv"', "source = 7"),
    ('source = "staff.csv"', 'source = "staff.xlsx"'),
    ('source = "staff.csv"', 'source = "staff.csv"\nencoding = "latin1-de"'),
    ('source = "staff.csv"', 'source = "staff.csv"\ndelimiter = ";;"'),
    ('version = "1"', ""),
    ("rows = 1000", "rows = -5"),
    ("rows = 1000", "rows = 1000\nunits = 0"),
    ("rows = 1000", "rows = 1000\nmin_epsilon = 3"),
    ("rows = 1000", 'rows = 1000\nmin_epsilon = "1e-400"'),
    ("rows = 1000", "rows = 1000\nmax_failures = 0"),
    ("rows = 1000", 'rows = 1000\naccountant = "zcdp"'),
    ("rows = 1000", 'rows = 1000\naccountant = "zcdp"\ndelta = 0.5'),
    ('allowances = { bob = "1/2" }', "allowances = { bob = -1 }"),
    ('"add-or-remove-rows", rows = 1', '"add-or-remove-rows", rows = 0'),
    ('"add-or-remove-rows", rows = 1', '"add-or-remove-row", rows = 1'),
    ('"add-or-remove-rows", rows = 1', '"add-or-remove-units", rows = 1'),
    ('type = "decimal"', 'type = "number"'),
    ('type = "decimal"', 'type = "decimal"\nunreadable = 2'),
    ("lower = 0", "lower = 200000"),
    ("lower = 0", 'lower = "zero"'),
    ("upper = 100000", ""),
    ("upper = 100000", "upper = 100000\nstep = 3"),
    ("lower = 2000-01-01", 'lower = "1.1.2000"'),
    ('keys = ["blue", "red"]', 'keys = ["blue", "blue"]'),
    ('keys = ["blue", "red"]', "keys = [1, 2]"),
    ('keys = ["blue", "red"]', 'keys = "blue"'),
)

# Who asks, the request, and its body.
REQUESTS = (
    ("no token", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 1}'),
    ("a wrong token", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 1}'),
    ("ann", "GET /v1/ledger", ""),
    ("ann", "GET /v1/quary", ""),
    ("ann", "GET /v1/query", ""),
    ("ann", "POST /v1/query", ""),
    ("ann", "POST /v1/query", "epsilon=1"),
    ("ann", "POST /v1/query", "[1]"),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff"}'),
    ("ann", "POST /v1/query", '{"epsilon": 1}'),
    ("ann", "POST /v1/query", '{"sql": "SELECT MAX(salary) FROM staff", "epsilon": 1}'),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilom": 1}'),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 3}'),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 0}'),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": NaN}'),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 0.001}'),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 1e-400}'),
    ("ann", "POST /v1/query", '{"dataset": "staff", "aggregates": "count()", "epsilon": 1}'),
    ("ann", "POST /v1/query", '{"dataset": "staff", "epsilon": 1}'),
    (
        "ann",
        "POST /v1/query",
        '{"dataset": "staff", "aggregates": {"n": "medain(salary)"}, "epsilon": 1}',
    ),
    (
        "ann",
        "POST /v1/query",
        '{"dataset": "staff", "aggregates": {"n": "mean(rate)"}, "epsilon": 1}',
    ),
    (
        "ann",
        "POST /v1/query",
        '{"dataset": "staff", "aggregates": {"n": "count()"}, "by": "team", "epsilon": 1}',
    ),
    (
        "ann",
        "POST /v1/query",
        '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 1, "confidence": 95}',
    ),
    ("ann", "POST /v1/query", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 1, "fresh": 1}'),
    ("ann", "POST /v1/price", '{"sql": "SELECT COUNT(*) FROM staff", "epsilon": 1, "expect": 0}'),
    ("ann", "GET /v1/answers?limit=0", ""),
    ("sue", "POST /v1/tokens", '{"name": "eve", "role": "boss"}'),
    ("sue", "POST /v1/tokens", '{"name": "eve", "role": "analyst", "expires": "soon"}'),
    ("sue", "PUT /v1/allowances/ann", '{"allowance": -1}'),
    ("sue", "DELETE /v1/tokens/00000000", ""),
)
