"""Many clients at once: no error but refused budgets, and a total that is exact."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from served import hurried_trips, ledger_of, new_token, served

from postri import BudgetExceeded
from postri.ledger import verify
from proving import sized

pytestmark = pytest.mark.alone

ROWS, CLIENTS, QUERIES = sized((20_000, 16, 32), (1_000_000, 32, 2_000))
EPSILON = Fraction(1, 100)
# Three quarters of the questions fit.
FITS = QUERIES * 3 // 4
# Four analysts; the last may spend less than a fair share.
DANS = QUERIES // 10
ALLOWANCES = {"ann": None, "bob": None, "cid": str(FITS * EPSILON), "dan": str(DANS * EPSILON)}


@pytest.mark.slow
def test_many_clients_with_many_queries_spend_the_budget_to_the_last_bit(tmp_path, figures):
    policy = hurried_trips(tmp_path, rows=ROWS, budget=str(FITS * EPSILON))
    tokens = {
        name: new_token(policy, name, allowance=allowance) for name, allowance in ALLOWANCES.items()
    }
    names = list(tokens)

    with served(policy) as service:

        def client(number: int) -> list[tuple[str, str]]:
            name, came = names[number % len(names)], []
            with service.session(tokens[name]) as db:
                for _ in range(QUERIES // CLIENTS + (number < QUERIES % CLIENTS)):
                    try:
                        result = db.ask(
                            "trips", {"mid": "median(fare)"}, epsilon=EPSILON, fresh=True
                        )
                    except BudgetExceeded:
                        came.append((name, "refused"))
                    else:
                        assert result.charged == EPSILON and 0 <= result.answers[0].value <= 100_000
                        came.append((name, str(result.answer_id)))
            return came

        with ThreadPoolExecutor(CLIENTS) as pool:
            came = [each for part in pool.map(client, range(CLIENTS)) for each in part]

    ids = [number for _, number in came if number != "refused"]
    answered = Counter(name for name, number in came if number != "refused")
    figures(f"{len(ids)} of {len(came)} queries were answered: {dict(answered)}")
    assert len(came) == QUERIES and len(ids) == len(set(ids)) == FITS
    assert answered["dan"] == DANS
    with ledger_of(policy) as ledger:
        assert verify(ledger) == []
        usage = ledger.summary()["trips"]
        assert usage.cost.epsilon == FITS * EPSILON
        assert {name: each.cost.epsilon for name, each in usage.analysts.items()} == {
            name: EPSILON * n for name, n in answered.items()
        }
        recorded = {
            past.id
            for name in names
            for past in everything(ledger, name)
            if past.answer_text is not None
        }
    assert recorded == set(map(int, ids))


def everything(ledger, analyst: str):
    """The whole history of an analyst."""
    before = None
    while page := ledger.history(analyst, before, 200):
        yield from page
        before = page[-1].id
