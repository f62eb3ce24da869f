"""Rows of a result are made when somebody looks at them, once each."""

from __future__ import annotations

import pickle
from copy import copy, deepcopy
from dataclasses import replace
from unittest.mock import patch

import pytest

import postri
from postri import SeededCoins, agg, by
from postri.answer.drawn import Kept
from postri.answer.lazy import LazySequence
from postri.tree.drawn_tree import DrawnTree

NAMES = [f"place {number % 40}" for number in range(4_000)]


def found_keys() -> postri.Result:
    table = postri.open({"place": NAMES}, columns={"place": "text"})
    places = by.discover("place", delta="1e-6")
    return postri.ask(
        table, {"n": agg.count()}, by={"place": places}, epsilon=1, coins=SeededCoins(1)
    )


def test_a_lazy_sequence_is_like_the_list_of_its_items():
    lazy = LazySequence(5, lambda place: 10 * place)
    items = [0, 10, 20, 30, 40]
    assert list(lazy) == items
    assert [lazy[place] for place in range(-5, 5)] == items * 2
    assert lazy[1:-1] == items[1:-1]
    assert len(lazy) == 5
    assert 30 in lazy
    assert lazy == items and lazy == LazySequence(5, lambda place: 10 * place)
    for other in (items[:-1], [0, 10, 20, 30, 41], 5):
        assert lazy != other
    assert pickle.loads(pickle.dumps(LazySequence(2, str))) == ["0", "1"]
    for place in (5, -6):
        with pytest.raises(IndexError):
            lazy[place]


def test_no_answer_is_made_before_somebody_looks_at_it(monkeypatch):
    made = []
    interval = Kept.interval
    monkeypatch.setattr(
        Kept, "interval", lambda self, beta: made.append(self.key) or interval(self, beta)
    )
    result = found_keys()
    assert len(result) == 40
    # The first row tells what the columns are.
    assert set(made) <= {"place 0"}
    made.clear()
    keys, answers = result.groups[7]
    assert made == list(keys)
    # It is made once.
    assert result.groups[7][1] is answers
    assert made == list(keys)


def test_a_result_can_be_copied_and_pickled():
    result = found_keys()
    for other in (deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert other.rows == result.rows
        assert other.answer("n", "place 7") == result.answer("n", "place 7")


def test_a_release_tells_its_median_when_somebody_looks():
    with patch.object(DrawnTree, "interval", side_effect=AssertionError("too early")):
        released = postri.distribution(range(500), epsilon=1, coins=SeededCoins(2))
    answer = released.answer
    assert answer.interval is answer.interval
    assert (answer.value, answer.interval) == (released.median.value, released.median.interval)


def test_a_release_that_nobody_looked_at_is_copied_compared_and_stored():
    def answer() -> postri.Answer:
        return postri.distribution(range(500), epsilon=1, coins=SeededCoins(2)).answer

    looked_at = answer()
    assert "value" in repr(looked_at)
    for each in (copy(answer()), pickle.loads(pickle.dumps(answer())), replace(answer(), notes=())):
        assert (each.value, each.interval) == (looked_at.value, looked_at.interval)
    read = postri.Distribution.from_json(postri.Distribution(answer()).to_json()).answer
    assert str(read) == str(looked_at)
    with pytest.raises(AttributeError, match="no width"):
        _ = looked_at.width
