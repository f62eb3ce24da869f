"""The least epsilon for a wish, beside a search of every epsilon; and what wishes divide."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from bank import session, spent, write_policy
from postri import AddOrRemoveRows, Domain, InputError, ReplaceRows, agg
from postri.answer.forecast import Plan
from postri.answer.within import Within
from postri.cost import rho_of
from postri.question import plain_question
from postri.question.expected import PublicRows
from postri.question.wishes import epsilon_at, index_from
from postri.statistics.registry import forms, read
from proving import PROVE, sized

ROWS = 400
PUBLIC = PublicRows(ROWS)
DOMAIN = Domain(0, 1_000)
ONE_ROW = AddOrRemoveRows(1)
VALUES = {
    "column": "x",
    "condition": "x > 10",
    "share": "0.4",
    "shares": ["0.4", "0.5"],
    "edges": [0, 10, 100],
    "number": 2,
    "keys": ["a", "b", "c"],
}
TOLERANCE = Fraction(105, 100)
# The wish of each statistic is what it reaches at this epsilon.
TARGET = Fraction("0.731")


def statistic_of(form):
    """What a form of the registry asks for, on a domain if it needs one."""
    statistic = form.make(*(VALUES[parameter.kind] for parameter in form.parameters))
    if statistic.domain is None and statistic.fits != "any":
        statistic = replace(statistic, domain=DOMAIN)
    return statistic


# Forecasts for populations take a third of a second each: `make prove` looks at them.
FORMS = [
    form
    for form in forms()
    if statistic_of(form).takes_wish and (PROVE or not statistic_of(form).errs_with_rows)
]


def question(aggregates, epsilon=None, *, concentrated=False, protect=ONE_ROW, **how):
    return plain_question(
        aggregates,
        epsilon=epsilon,
        confidence=how.pop("confidence", 0.95),
        protect=protect,
        concentrated=concentrated,
        public=how.pop("public", PUBLIC),
        **how,
    )


def forecasts(statistic, epsilon, **how):
    """The forecasts of one statistic that has this epsilon alone."""
    (asked,) = question({"it": replace(statistic, within=None)}, epsilon, **how).asked
    rows = PUBLIC.expected(asked.terms.protect, asked.terms.groups, filtered=False)
    return list(asked.forecasts(rows).values())


def reached(statistic, epsilon, **how):
    """The wish that is just met at this epsilon."""
    reaches = []
    for forecast in forecasts(statistic, epsilon, **how):
        if isinstance(forecast, Plan):
            reaches.append(Within(100 * Fraction(forecast.reach), "percentiles"))
        else:
            # Whole numbers that are exact by the forecast are within a half.
            reaches.append(Within(forecast.reach or Fraction(1, 2)))
    return max(reaches, key=lambda wish: wish.amount)


def is_met(statistic, wish, epsilon, **how):
    """Whether all intervals are within the wish, in plain words of the forecasts themselves."""
    for forecast in forecasts(statistic, epsilon, **how):
        if isinstance(forecast, Plan):
            if not forecast.enough or 100 * Fraction(forecast.reach) > wish.amount:
                return False
        elif forecast.reach > wish.amount:
            return False
    return True


def assert_least(statistic, wish, found, **how):
    """The epsilon meets the wish, and none of a grid that is more than 5 % smaller does."""
    assert is_met(statistic, wish, found, **how)
    below = found / TOLERANCE
    for _ in range(sized(4, 60)):
        assert not is_met(statistic, wish, below, **how)
        below /= sized(Fraction(2), Fraction(103, 100))
        # An epsilon has few digits.
        below = below.limit_denominator(10**12)


@pytest.mark.one_in(5)
@pytest.mark.slow
@pytest.mark.parametrize("concentrated", [False, True], ids=["pure", "zcdp"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_the_least_epsilon_of_every_statistic(form, concentrated):
    statistic = statistic_of(form)
    protect = ONE_ROW
    wish = reached(statistic, TARGET, concentrated=concentrated, protect=protect)
    wanted = {"it": replace(statistic, within=wish)}
    found = question(wanted, concentrated=concentrated, protect=protect).epsilon
    assert found == epsilon_at(index_from(found))
    assert_least(statistic, wish, found, concentrated=concentrated, protect=protect)


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("protect", [ONE_ROW, ReplaceRows(2)], ids=str)
@pytest.mark.parametrize("confidence", [0.9, 0.999])
@pytest.mark.parametrize(
    "statistic",
    [agg.count(), agg.mean("x", domain=DOMAIN), agg.quantile("x", 0.6, domain=DOMAIN)],
    ids=lambda statistic: statistic.text,
)
def test_groups_confidence_and_what_is_protected(statistic, confidence, protect):
    """Groups share epsilon, and each has its part of the rows."""
    how = {"by": {"g": ["a", "b"]}, "confidence": confidence, "protect": protect}
    wish = reached(statistic, 1, **how)
    found = question({"it": replace(statistic, within=wish)}, **how).epsilon
    assert_least(statistic, wish, found, **how)


def test_several_quantiles_have_a_draw_each_or_one_release():
    """Whichever takes less: of nine quantiles, a tree."""
    ps = [f"0.{k}" for k in range(1, 10)]
    public = PublicRows(10_000)
    several = {p: agg.quantile("x", p, domain=DOMAIN, within="2 percentiles") for p in ps}
    together = question(several, public=public)
    assert {asked.terms.method.name for asked in together.asked} == {"tree"}
    alone = [question({p: each}, public=public).epsilon for p, each in several.items()]
    assert together.epsilon < sum(alone) / 2
    rows = public.expected(ONE_ROW, 1, filtered=False)
    assert all(asked.ratio(rows) <= 1 for asked in together.asked)
    two = {p: several[p] for p in ps[4:6]}
    assert question(two, public=public).epsilon == alone[4] + alone[5]


WISHES = {
    "n": agg.count(within=4),
    "total": agg.sum("x", domain=DOMAIN, within=20_000),
    "mid": agg.median("x", domain=DOMAIN, within="3 percentiles"),
}
STEPS = 60


def ratios(name, statistic, total, *, concentrated):
    """The ratio of an aggregate with each of some parts of a total."""
    (asked,) = question({name: statistic}, 1, concentrated=concentrated).asked
    rows = PUBLIC.expected(ONE_ROW, 1, filtered=False)
    found = []
    for part in range(1, STEPS):
        share = Fraction(part, STEPS)
        rho = rho_of(total) * share if concentrated else None
        terms = replace(asked.terms, epsilon=total * share, rho=rho)
        found.append(replace(asked, terms=terms).ratio(rows))
    return found


def best_split(total, *, concentrated):
    """The least ratio of the aggregate that is furthest from its wish, over all splits."""
    n, amount, mid = (
        ratios(name, each, total, concentrated=concentrated) for name, each in WISHES.items()
    )
    return min(
        max(n[i - 1], amount[j - 1], mid[STEPS - i - j - 1])
        for i in range(1, STEPS - 1)
        for j in range(1, STEPS - i)
    )


@pytest.mark.slow
@pytest.mark.parametrize("concentrated", [False, True], ids=["pure", "zcdp"])
@pytest.mark.parametrize("total", [Fraction(1, 2), Fraction(3)])
def test_wishes_divide_epsilon_as_well_as_any_split(total, concentrated):
    divided = question(WISHES, total, concentrated=concentrated)
    assert divided.epsilon == total
    rows = PUBLIC.expected(ONE_ROW, 1, filtered=False)
    worst = max(asked.ratio(rows) for asked in divided.asked)
    assert worst <= best_split(total, concentrated=concentrated) * float(TOLERANCE)


@pytest.mark.parametrize("concentrated", [False, True], ids=["pure", "zcdp"])
def test_without_epsilon_all_wishes_are_met_for_as_little_as_any_split(concentrated):
    found = question(WISHES, concentrated=concentrated)
    rows = PUBLIC.expected(ONE_ROW, 1, filtered=False)
    assert all(asked.ratio(rows) <= 1 for asked in found.asked)
    # A part of a sixtieth too many for each of three is what the grid of splits may lose.
    less = found.epsilon / TOLERANCE
    assert best_split(less * (1 - Fraction(3, STEPS)), concentrated=concentrated) > 1
    if not concentrated:
        alone = [question({name: each}).epsilon for name, each in WISHES.items()]
        assert found.epsilon == sum(alone)


def test_an_epsilon_is_of_three_digits():
    for index, after in pairwise(range(-2_000, 2_000, 7)):
        assert epsilon_at(index) < epsilon_at(after)
        assert index_from(epsilon_at(index)) == index
        assert index_from(epsilon_at(index) * Fraction(10_001, 10_000)) == index + 1


WRONG = {
    "another unit": (agg.median("x", within=500), "forecast in ranks"),
    "ranks of a count": (agg.count(within="1 percentile"), "in its own unit"),
    "too near": (agg.median("x", within="1 row"), "it reaches 1.5.* rows even at epsilon 1000"),
    "too few rows": (agg.quantile("x", "0.0001", within="10 percentiles"), "too few"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_refused(name):
    statistic, message = WRONG[name]
    with pytest.raises(InputError, match=message):
        question({"it": statistic})


def test_without_a_number_of_rows_a_median_has_no_epsilon_and_a_count_has():
    with pytest.raises(InputError, match=r"tell about how many rows match \(expect\)"):
        question({"it": agg.median("x", within="1 percentile")}, public=PublicRows())
    assert question({"n": agg.count(within=50)}, public=PublicRows()).epsilon < 1


@pytest.mark.parametrize(
    "given", [0, -1, "1%", "percentile", "60 percentiles", "1 row 2", True, None, "nan", [1]]
)
def test_no_wish(given):
    with pytest.raises(InputError):
        Within.of(given)


@pytest.mark.parametrize("given", [500, 0.25, "1/3", "1 percentile", "0.5 percentiles", "75 rows"])
def test_a_wish_reads_back_from_its_text(given):
    wish = Within.of(given)
    assert Within.of(str(wish)) == wish
    text = agg.count(where="x > 5", within=given).text
    assert agg.read(text).within == wish and agg.read(text).text == text


class TestSession:
    def test_the_answer_and_the_history_say_the_wish_and_the_epsilon(self, tmp_path):
        with session(write_policy(tmp_path)) as db:
            answer = db.median("bank", "balance", within="3 percentiles")
            (past,) = db.answers()
        note = "wanted within 3 percentiles to each side, by the forecast: epsilon 0.0871"
        assert note in answer.notes and answer.epsilon == Fraction("0.0871")
        assert past.status == "answered" and past.result.answers[0].value == answer.value
        fields = past.question.to_fields()
        assert (fields["within"], fields["epsilon"]) == ("3 percentiles", "0.0871")

    def test_it_is_the_question_with_that_epsilon(self, tmp_path):
        """So whoever asks by epsilon gets the recorded answer, without the other's wish."""
        wanted = {"n": "count() within 50", "mid": "median(balance) within 3 percentiles"}
        with session(write_policy(tmp_path)) as db:
            first = db.ask("bank", wanted)
            weights = {name: first.answer(name).epsilon for name in wanted}
            plain = {"n": "count()", "mid": "median(balance)"}
            again = db.ask("bank", plain, epsilon=first.epsilon, weights=weights)
            assert again.recorded and not any("wanted" in note for note in again.notes)
            repeated = db.ask("bank", wanted)
            assert repeated.recorded and any("wanted" in note for note in repeated.notes)
        assert spent(tmp_path / "postri.toml") == first.epsilon

    def test_sql_has_wishes_behind_aggregates(self, tmp_path):
        text = "SELECT COUNT(*) WITHIN 50 AS n, MEDIAN(balance) WITHIN 3 PERCENTILES FROM bank"
        with session(write_policy(tmp_path)) as db:
            result = db.sql(text + " ORDER BY COUNT(*)")
            assert result.names == ("n", "median_balance")
            price = db.price("bank", {"n": "count()", "mid": "median(balance)"}, epsilon=1)
            assert result.epsilon == Fraction("0.1465") < price.epsilon
            assert [past.status for past in db.answers()] == ["answered"]
            assert db.answers()[0].result.names == result.names
            with pytest.raises(InputError, match="wanted within 50 elsewhere"):
                db.sql(text + " ORDER BY COUNT(*) WITHIN 60")

    def test_it_costs_what_the_policy_lets_a_question_cost_at_least(self, tmp_path):
        path = write_policy(tmp_path, more='min_epsilon = "0.25"')
        with session(path) as db:
            assert db.price("bank", {"n": "count()"}, within=10**6).epsilon == Fraction(1, 4)

    def test_a_filter_needs_a_word_on_the_rows(self, tmp_path):
        how = {"within": "3 percentiles", "where": "age < 40"}
        with session(write_policy(tmp_path)) as db:
            with pytest.raises(InputError, match="tell about how many rows match"):
                db.price("bank", {"mid": "median(balance)"}, **how)
            price = db.price("bank", {"mid": "median(balance)"}, **how, expect=500)
            assert price.forecasts["mid"].reach <= 0.03

    def test_nothing_is_opened_and_nothing_spent(self, tmp_path):
        path = write_policy(tmp_path)
        (tmp_path / "bank.parquet").unlink()
        with session(path) as db:
            assert db.price("bank", {"n": "count()"}, within=50).epsilon < 1
            with pytest.raises(InputError, match="in ranks"):
                db.median("bank", "balance", within=50)
            assert db.plan(["SELECT COUNT(*) WITHIN 50 FROM bank"]).totals["bank"].pure < 1
            assert db.answers() == [] and db.budget()["bank"].spent == 0


@pytest.mark.parametrize("wanted", ["trimmed_mean(x, 0.1)", "winsorized_mean(x, 0.1)"])
def test_what_depends_on_the_rows_near_its_ends_takes_no_wish(wanted):
    statistic = replace(read(wanted), domain=DOMAIN, within=Within(Fraction(5)))
    with pytest.raises(InputError, match="no epsilon follows from within: give epsilon"):
        question({"it": statistic})
