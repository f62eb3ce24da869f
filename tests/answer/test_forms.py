"""The forms of answers: what the ledger keeps is read for ever, and a statistic brings its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import pytest

import postri
from postri import AddOrRemoveRows, Answer, Domain, Interval, SeededCoins, Spend, agg
from postri.answer import drawn, words
from postri.answer.drawn import Noisy, read_drawn, register_drawn
from postri.answer.forms import json_text, read_answers, write_answers
from postri.answer.population import ALL_ROWS
from postri.answer.words import register_words
from postri.noise import DiscreteGaussian, DiscreteLaplace

RECORD = (
    '{"form":1,"groups":[[{"value":["integer","3"],"interval":[["decimal","2.5"],["decimal","'
    '3.5"],false,false],"confidence":0.95,"spend":["1/2","1/2"],"method":"depth","p":"1/2","p'
    'rivate":false,"notes":[],"statistic":"quantile","drawn":null},{"value":["integer","200"]'
    ',"interval":[["integer","197"],["integer","203"],false,false],"confidence":0.95,"spend":'
    '["1","0"],"method":"discrete-laplace","p":null,"private":false,"notes":[],"statistic":"c'
    'ount","drawn":{"drawn":"200","unit":"1","scale":"1","negative":false}},{"value":["decima'
    'l","2.9990"],"interval":[["decimal","2.8858"],["decimal","3.1101"],false,false],"confide'
    'nce":0.95,"spend":["1","0"],"method":"discrete-laplace","p":null,"private":false,"notes"'
    ':[],"statistic":"mean","drawn":{"from_lower":{"drawn":"1199","unit":"1/2","scale":"20","'
    'negative":false},"from_upper":{"drawn":"2799","unit":"1/2","scale":"20","negative":false'
    '},"lower":"0","upper":"10","step":"1/2"}}]]}'
)

# Of the first version that kept answers: it drew a mean from the middle of the domain and from the
# number of rows.
OLD_MEAN = (
    '{"form":1,"groups":[[{"value":["decimal","2.9975"],"interval":[["decimal","2.7331"],["de'
    'cimal","3.2440"],false,false],"confidence":0.95,"spend":["1","0"],"method":"discrete-lap'
    'lace","p":null,"private":false,"notes":[],"statistic":"mean","drawn":{"total":{"drawn":"'
    '-801","unit":"1/2","scale":"20","negative":true},"count":{"drawn":"200","unit":"1","scal'
    'e":"2","negative":false},"lower":"0","upper":"10","step":"1/2"}}]]}'
)


@pytest.fixture
def answers() -> list[postri.Answer]:
    result = postri.ask(
        {"x": [1, 2, 3, 4, 5] * 40},
        {
            "mid": agg.median("x", domain=Domain(0, 10)),
            "n": agg.count(),
            "mean": agg.mean("x", domain=Domain(0, 10, "0.5")),
        },
        epsilon=3,
        coins=SeededCoins(7),
    )
    return result.answers


def test_what_the_ledger_keeps_is_the_same_byte_for_byte(answers):
    assert write_answers([answers]) == RECORD


def about_all(answer: postri.Answer) -> postri.Answer:
    """Which rows it is about is known from the question, and no part of the record."""
    return replace(answer, rows=ALL_ROWS)


def test_what_the_ledger_kept_reads_as_the_same_answers(answers):
    assert read_answers(RECORD, AddOrRemoveRows(1)) == [list(map(about_all, answers))]
    assert write_answers(read_answers(RECORD, AddOrRemoveRows(1))) == RECORD


def test_a_kept_mean_still_gives_intervals_of_other_confidences(answers):
    ((*_, mean),) = read_answers(RECORD, AddOrRemoveRows(1))
    assert mean.at("0.99") == about_all(answers[-1].at("0.99"))
    assert mean.at("0.99").interval.width > mean.interval.width


def test_a_mean_of_before_is_read_and_its_intervals_are_narrower_now():
    ((mean,),) = read_answers(OLD_MEAN, AddOrRemoveRows(1))
    assert write_answers([[mean]]) == OLD_MEAN
    again = mean.at(0.95)
    assert again.value == mean.value == Decimal("2.9975")
    assert mean.interval.low < again.interval.low < 3 < again.interval.high < mean.interval.high


def test_gaussian_noise_reads_back_with_its_rho():
    noise = DiscreteGaussian(Fraction(9, 2))
    answer = Answer(
        value=3,
        interval=Interval(0, 8),
        confidence=0.95,
        spend=Spend(Fraction(1, 3), Fraction(0), Fraction(1, 18)),
        protect=AddOrRemoveRows(1),
        method=noise.name,
        statistic="count",
        drawn=Noisy(3, Fraction(1), noise, negative=False),
    )
    text = write_answers([[answer]])
    assert '"spend":["1/3","0","1/18"]' in text
    assert '"variance":"9/2"' in text
    assert read_answers(text, AddOrRemoveRows(1)) == [[answer]]


def test_answers_of_another_form_are_not_guessed_at():
    with pytest.raises(ValueError, match="another form"):
        read_answers('{"form": 2, "groups": []}', AddOrRemoveRows(1))
    with pytest.raises(ValueError, match="another form"):
        read_drawn({"colour": "red"})


@dataclass(frozen=True)
class Dozens:
    """What a statistic of somebody else keeps of its draw."""

    dozens: int
    noise: ClassVar = DiscreteLaplace(Fraction(1))

    @property
    def value(self) -> int:
        return self.dozens * 12

    def interval(self, beta: Fraction) -> Interval:
        return Interval(self.value - 12, self.value + 12)

    def to_fields(self) -> dict[str, str]:
        return {"dozens": str(self.dozens)}

    @classmethod
    def from_fields(cls, fields):
        return cls(int(fields["dozens"]))


def test_a_statistic_brings_what_it_draws_and_its_words(answers, monkeypatch):
    monkeypatch.setattr(drawn, "_CLASSES", dict(drawn._CLASSES))
    monkeypatch.setattr(words, "_EXPLANATIONS", dict(words._EXPLANATIONS))
    register_drawn("dozens", Dozens)
    register_words("dozens", explanation="A dozen has twelve rows.")
    answer = replace(answers[1], statistic="dozens", drawn=Dozens(3), value=36)
    assert read_answers(write_answers([[answer]]), answer.protect) == [[about_all(answer)]]
    assert answer.at("0.5").interval == Interval(24, 48)
    assert str(answer).startswith("dozens 36, between")
    assert " A dozen has twelve rows. " in answer.explain()
    with pytest.raises(ValueError, match="already"):
        register_drawn("dozens", type("Others", (Dozens,), {}))


@pytest.mark.parametrize(("edges", "lines"), [([0, 50], 2), (range(0, 101, 10), 30)])
def test_one_row_of_many_columns_is_read_from_the_top_down(edges, lines):
    bars = {"h": agg.histogram("x", edges=edges)}
    result = postri.ask({"x": range(100)}, bars, epsilon=1, coins=SeededCoins(1))
    table = str(result).partition("\nabout all rows")[0]
    assert len(table.splitlines()) == lines


class TestJsonText:
    def test_decimals_keep_their_digits_wherever_they_stand(self):
        assert json_text(Decimal("12.30")) == "12.30"
        value = {"a": [1, Decimal("12.30"), {"b": Decimal("1E+2")}], "c": date(2026, 11, 18)}
        assert json_text(value) == '{"a": [1, 12.30, {"b": 100}], "c": "2026-11-18"}'

    def test_with_and_without_a_decimal_it_is_the_same_text(self):
        value = {"é": [True, None, 0.1, "é", (1, 2)], "t": datetime(2026, 11, 18, 5, 0, 1)}
        text = '{"\\u00e9": [true, null, 0.1, "\\u00e9", [1, 2]], "t": "2026-11-18T05:00:01"}'
        assert json_text(value) == text
        assert json_text([value, Decimal(1)]) == f"[{text}, 1]"

    def test_what_is_no_value_of_json_is_refused(self):
        for value in ({"a": Fraction(1, 2)}, [Decimal(1), Fraction(1, 2)]):
            with pytest.raises(TypeError, match="Fraction is no value of JSON"):
                json_text(value)
