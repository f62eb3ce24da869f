"""What stays open between questions: so many, for so long, and never two at once."""

from __future__ import annotations

import time
from threading import Thread

from postri.engines.staying import Staying


def test_what_was_given_back_last_is_taken_first_and_by_one_alone():
    closed = []
    staying = Staying(closed.append)
    for number in range(3):
        staying.give("a", number)
    staying.give("b", "other")
    assert [staying.take("a") for _ in range(4)] == [2, 1, 0, None]
    assert staying.take("c") is None and staying.take("b") == "other"
    assert closed == [] and len(staying) == 0


def test_of_too_many_those_that_wait_longest_are_closed():
    closed = []
    staying = Staying(closed.append, most=2)
    for number in range(5):
        staying.give(number % 2, number)
    assert closed == [0, 1, 2] and len(staying) == 2
    assert (staying.take(1), staying.take(0)) == (3, 4)


def test_whatever_waits_too_long_is_closed():
    closed = []
    staying = Staying(closed.append, idle=0.05)
    assert staying.rest is None
    staying.give("a", 1)
    assert 0 <= staying.rest <= 0.05
    time.sleep(0.06)
    assert staying.rest == 0
    staying.give("a", 2)
    staying.expire()
    assert closed[0] == 1 and staying.take("a") in (2, None)


def test_once_closed_nothing_stays():
    closed = []
    staying = Staying(closed.append)
    for number in range(2):
        staying.give("a", number)
    taken = staying.take("a")
    staying.close()
    assert closed == [0]
    staying.give("a", taken)
    assert closed == [0, 1] and staying.take("a") is None


def test_letting_go_closes_what_waits_and_goes_on():
    closed = []
    staying = Staying(closed.append)
    staying.give("a", 1)
    staying.let_go()
    assert closed == [1]
    staying.give("a", 2)
    assert staying.take("a") == 2


def test_threads_never_have_the_same_one():
    staying = Staying(lambda _: None, most=4)
    for number in range(4):
        staying.give("a", [number])
    shared = []

    def use() -> None:
        for _ in range(500):
            item = staying.take("a")
            if item is None:
                continue
            item.append("mine")
            if item.count("mine") != 1:
                shared.append(item)
            item.remove("mine")
            staying.give("a", item)

    threads = [Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared == [] and len(staying) == 4
