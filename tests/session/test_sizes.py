"""Whatever is accepted is answered, recorded and read again; whatever is too deep, too long or too
large is refused before anything is charged, with one message for each limit.

Each shape is tried at many sizes, up to where its text is too long to be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import postri
from bank import in_memory, seeded, write_policy
from postri import InputError, Session
from postri.expressions import Predicate
from postri.expressions.pattern import Pattern
from proving import sized

pytestmark = pytest.mark.slow

Shape = Callable[[str, int], str]
"""Makes a text of an operand and a size."""

NUMBERS: dict[str, Shape] = {
    "a sum": lambda x, n: x + "+1" * n,
    "a sum from the right": lambda x, n: "1+(" * n + x + ")" * n,
    "a product": lambda x, n: x + "*2" * n,
    "a quotient": lambda x, n: x + "/3" * n,
    "large factors": lambda x, n: x + "*1e399" * n,
    "small factors": lambda x, n: x + "*1e-399" * n,
    "large divisors": lambda x, n: x + "/1e399" * n,
    "parentheses": lambda x, n: "(" * n + x + ")" * n,
    "signs": lambda x, n: "- " * n + x,
    "signs and parentheses": lambda x, n: "-(" * n + x + ")" * n,
    "terms of its own": lambda x, n: "+".join([x] * (n + 1)),
    "factors of its own": lambda x, n: "*".join([x] * (n + 1)),
    "a balanced product": lambda x, n: balanced(x, "*", n + 1),
    "a balanced sum": lambda x, n: balanced(x, "+", n + 1),
}
CHOICES: dict[str, Shape] = {
    "CASE in CASE": lambda x, n: "CASE WHEN vip THEN " * n + x + " ELSE 1 END" * n,
    "many WHEN": lambda x, n: f"CASE {'WHEN vip THEN 1 ' * (n + 1)}ELSE {x} END",
    "a long COALESCE": lambda x, n: f"COALESCE({','.join([x] * (n + 1))})",
    "COALESCE in COALESCE": lambda x, n: "COALESCE(" * n + x + ",1)" * n,
    "a long LEAST": lambda x, n: f"LEAST({','.join([x] * (n + 1))})",
    "GREATEST in GREATEST": lambda x, n: "GREATEST(" * n + x + ",1)" * n,
    "ROUND in CAST": lambda x, n: "CAST(ROUND(" * n + x + ",1) AS DOUBLE)" * n,
}
TRUTHS: dict[str, Shape] = {
    "NOT": lambda x, n: "NOT " * n + x,
    "NOT and parentheses": lambda x, n: "NOT (" * n + x + ")" * n,
    "AND": lambda x, n: " AND ".join([x] * (n + 1)),
    "OR": lambda x, n: " OR ".join([x] * (n + 1)),
    "AND in OR": lambda x, n: "(" * n + x + "".join(f" {word(k)} {x})" for k in range(n)),
    "parentheses": lambda x, n: "(" * n + x + ")" * n,
    "comparisons": lambda x, n: x + " = TRUE" * n,
}
PLACES = {
    "SELECT": "SELECT {} AS v FROM bank",
    "an aggregate": "SELECT SUM({}) AS v FROM bank",
    "WHERE": "SELECT COUNT(*) AS v FROM bank WHERE {}",
    "HAVING": "SELECT job, COUNT(*) AS v FROM bank GROUP BY job HAVING {}",
    "ORDER BY": "SELECT job, COUNT(*) AS v FROM bank GROUP BY job ORDER BY {}",
}


def word(k: int) -> str:
    return ("OR", "AND")[k % 2]


def balanced(x: str, sign: str, n: int) -> str:
    """So that a tree of n leaves is as flat as can be."""
    if n == 1:
        return x
    return f"({balanced(x, sign, n // 2)}{sign}{balanced(x, sign, n - n // 2)})"


def texts(n: int) -> dict[str, str]:
    """A question of each shape in each place."""
    found = {}
    for name, shape in NUMBERS.items():
        found[f"{name} in SELECT"] = PLACES["SELECT"].format(shape("COUNT(*)", n))
        found[f"{name} in an aggregate"] = PLACES["an aggregate"].format(shape("age", n))
        found[f"{name} in WHERE"] = PLACES["WHERE"].format(shape("age", n) + " > 3")
        found[f"{name} in HAVING"] = PLACES["HAVING"].format(shape("v", n) + " > 3")
        found[f"{name} in ORDER BY"] = PLACES["ORDER BY"].format(shape("COUNT(*)", n))
    for name, shape in CHOICES.items():
        found[f"{name} in an aggregate"] = PLACES["an aggregate"].format(shape("age", n))
        found[f"{name} in WHERE"] = PLACES["WHERE"].format(shape("age", n) + " > 3")
    for name, shape in TRUTHS.items():
        found[f"{name} in WHERE"] = PLACES["WHERE"].format(shape("vip", n))
        found[f"{name} in HAVING"] = PLACES["HAVING"].format(shape("(v > 3)", n))
    numbers = ",".join(map(str, range(n + 1)))
    found["a long list"] = PLACES["WHERE"].format(f"age IN ({numbers})")
    return found


LIMITS = re.compile(
    "|".join(
        (
            "an expression may be nested at most 20 deep",
            r"a (?:predicate|question in SQL) may have at most 10,000 characters",
            "may have more than 2,000 digits",
            "has more than 1,000 digits",
            "has too many digits to compute with",
            "can be more than 2.62 steps",
            "more than 18 decimal places",
            "is beyond all floats",
            "is too large or too small to compute with",
            "can be more than",
        )
    )
)


def asked(work: Callable[[], Any], name: str) -> Any:
    """What it gives, or None where it is refused for one of the limits."""
    refusal = ""
    try:
        return work()
    except InputError as error:
        refusal = str(error)
    assert LIMITS.search(refusal), (name, refusal[:200])
    return None


def spent_on(session: Session) -> Fraction:
    return session.budget("bank")["bank"].spent


SIZES = sized(
    (1, 19, 20, 21, 980),
    (*range(1, 45), 99, 100, 101, 250, 500, 900, 980, 1_500, 2_400, 3_300, 4_990, 10_000),
)
# Beyond this every text is too long.
LONGEST = 2_000
# Far from every limit of depth, where texts are long, every second question will do: each shape is
# asked in some place.
LONG = 900


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES)
def test_a_question_is_refused_for_nothing_or_answered_and_read_again(size, tmp_path):
    path = write_policy(tmp_path, budget="100000")
    answered = []
    every = 1
    if size >= LONG:
        every = sized(2, 1)
    with in_memory(), seeded(path) as session:
        for name, text in list(texts(size).items())[::every]:
            spent = spent_on(session)
            result = asked(lambda text=text: session.sql(text, epsilon="0.01"), name)
            if result is None:
                assert spent_on(session) == spent, name
                continue
            answered.append(name)
            for form in (result.to_json, result.to_csv, result.to_dict, result.__str__):
                assert form()
        found = session.answers(limit=200)
        # The same aggregates in other arithmetic are one question: it is charged once.
        assert bool(found) == bool(answered)
        assert answered or size > LONGEST
        for past in found:
            assert past.result is not None
            assert str(past.result)


@pytest.mark.parametrize("size", sized((20, 500), (5, 18, 19, 20, 21, 25, 500, 10_000)))
def test_a_filter_is_refused_in_python_as_in_a_session(size):
    table = {"age": [30, 40], "vip": [True, False]}
    for name, shape in {**NUMBERS, **CHOICES}.items():
        text = shape("age", size) + " > 3"
        asked(lambda text=text: postri.count(table, where=text, epsilon=1), name)
    for name, shape in TRUTHS.items():
        text = shape("vip", size)
        predicate = asked(lambda text=text: Predicate.parse(text), name)
        assert predicate is None or Predicate.parse(str(predicate)) == predicate


def test_a_sum_of_a_thousand_terms_costs_nothing(tmp_path):
    """It was charged, failed while it was computed, and spoiled the list of past answers."""
    path = write_policy(tmp_path)
    with in_memory(), seeded(path) as session:
        with pytest.raises(InputError, match="nested at most 20 deep"):
            session.sql("SELECT COUNT(*)" + "+1" * 980 + " FROM bank", epsilon="0.01")
        with pytest.raises(InputError, match="more than 2,000 digits"):
            session.sql("SELECT COUNT(*)" + "*1e399" * 16 + " FROM bank", epsilon="0.01")
        assert spent_on(session) == 0
        assert session.answers() == []


@pytest.mark.parametrize(
    "pattern",
    [
        "%" + "_" * 9_000 + "~%",
        "%" + "_a" * 400 + "%",
        "%a" * 400,
        "%" + "a" * 5_000 + "~%",
        "a_%" * 300,
        "%" + "a_" * 7 + "~%",
        "_%" * 1_200 + "a_b_c_d_e_f_g",
    ],
)
def test_a_pattern_that_a_text_could_make_slow_costs_nothing(pattern, tmp_path):
    path = write_policy(tmp_path)
    text = f"SELECT COUNT(*) FROM bank WHERE job LIKE '{pattern}'"
    with in_memory(), seeded(path) as session:
        with pytest.raises(InputError, match="a LIKE pattern"):
            session.sql(text, epsilon="0.01")
        with pytest.raises(InputError, match="a LIKE pattern"):
            session.count("bank", where=f"job LIKE '{pattern}'", epsilon="0.01")
        assert spent_on(session) == 0
    with pytest.raises(InputError, match="a LIKE pattern"):
        Pattern.read(pattern)
