"""What every method offers to those who take it: a name, a cost, a forecast, notes, and a refusal
of what it cannot answer.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import tanh
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import postri
from postri import (
    AddOrRemoveRows,
    Depth,
    Domain,
    InputError,
    PostRI,
    PostRISVT,
    ReplaceRows,
    SeededCoins,
    Sun2023,
    Sun2023SVT,
    Tree,
)
from postri.audit.tiny_tables import plain_grid
from postri.cli import app
from postri.methods import METHODS, Method, method_named
from postri.methods.method import QuantileTerms, Span
from postri.privacy import Spend

NAMED: dict[str, Method] = {
    "depth": Depth(),
    "depth-gumbel": Depth(noise="gumbel"),
    "postri": PostRI(),
    "postri-default": PostRI(),
    "postri-optimal": PostRI("optimal"),
    "postri-7:3": PostRI("0.7"),
    "postri-9:1": PostRI("median-focused"),
    "postri-svt": PostRISVT(),
    "sun2023": Sun2023(),
    "sun2023-4": Sun2023(4),
    "sun2023-9": Sun2023(9),
    "sun2023-svt": Sun2023SVT(),
    "tree": Tree(),
}
EVERY_NAME = pytest.mark.parametrize("name", METHODS)
PUBLISHED = pytest.mark.parametrize("name", [name for name in NAMED if NAMED[name].every_row])

ROWS = np.arange(20_000)
ASKED = {"epsilon": 1, "domain": Domain(0, 100_000), "protect": ReplaceRows(1)}


def terms(epsilon: Fraction = Fraction(1), split: Fraction = Fraction(1, 4)) -> QuantileTerms:
    spend = Spend(epsilon * split, epsilon * (1 - split))
    return QuantileTerms(Fraction(1, 2), spend, Fraction(1, 20), ReplaceRows(1))


def test_these_methods_have_names():
    assert dict(METHODS) == NAMED


@EVERY_NAME
def test_a_method_is_called_what_it_is_named(name: str):
    """`postri` is short for `postri-default`."""
    method = method_named(name)
    assert isinstance(method, Method)
    assert method.name == {"postri": "postri-default"}.get(name, name)


@EVERY_NAME
def test_a_name_and_its_object_give_the_same_answer(name: str):
    by_name = postri.median(ROWS, method=name, coins=SeededCoins(1), **ASKED)
    assert by_name == postri.median(ROWS, method=NAMED[name], coins=SeededCoins(1), **ASKED)
    assert by_name.method == NAMED[name].name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["postri-optimal", "sun2023-svt"])
def test_the_command_line_takes_a_method_by_name(name: str, tmp_path: Path):
    file = tmp_path / "rows.csv"
    file.write_text("x\n" + "\n".join(map(str, range(2_000))), encoding="utf-8")
    words = ["median", str(file), "x", "--epsilon", "1", "--lower", "0", "--upper", "5000"]
    replace = ["--protect", "replace-rows", "--json", "--method", name]
    done = CliRunner().invoke(app, [*words, *replace], catch_exceptions=False)
    assert json.loads(done.stdout)["method"] == name
    with pytest.raises(InputError, match="did you mean"):
        CliRunner().invoke(app, [*words, *replace[:-1], name + "x"], catch_exceptions=False)


@pytest.mark.parametrize("wrong", [Depth, PostRI, object(), None, 3])
def test_what_is_no_method_is_refused(wrong):
    with pytest.raises(InputError, match=r"method must be a name \(depth, "):
        postri.median([1], epsilon=1, method=wrong)


def test_a_recorded_answer_is_found_by_the_words_of_depth():
    """Its representation is part of the key of every recorded answer: it must not change."""
    assert repr(Depth()) == (
        "Depth(noise='exponential', paces=(Fraction(5, 1), Fraction(2, 1), Fraction(5, 4)), "
        "knees=(2, 2000), margin=15, bonus=20, lean=32)"
    )


# What a question costs, by Theorem 13: epsilon * tanh(epsilon/2) for a pure draw, epsilon^2/8 for
# one of bounded range.


def pure(epsilon: Fraction) -> float:
    return float(epsilon) * tanh(float(epsilon) / 2)


def ranged(epsilon: Fraction) -> float:
    return float(epsilon) ** 2 / 8


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3)], ids=str)
@pytest.mark.parametrize(
    ("name", "draws"),
    [
        ("depth", [(pure, "1/4"), (pure, "3/4")]),
        ("depth-gumbel", [(ranged, "1/4"), (pure, "3/4")]),
        ("postri", [(ranged, "1/2"), (ranged, "1/2")]),
        ("postri-9:1", [(ranged, "9/10"), (ranged, "1/10")]),
        ("postri-optimal", [(ranged, "1")]),
        ("postri-svt", [(pure, "1")]),
        ("sun2023", [(ranged, "1/2"), (ranged, "1/2")]),
        ("sun2023-svt", [(pure, "1/2"), (pure, "1/2")]),
        ("tree", [(pure, "1")]),
    ],
)
def test_a_method_knows_what_its_draws_cost(name: str, draws: list, epsilon: Fraction):
    """Depth follows the split of the question, the published methods their own."""
    cost = method_named(name).cost(terms(epsilon))
    assert cost.epsilon == epsilon
    rho = sum(kind(epsilon * Fraction(share)) for kind, share in draws)
    assert float(cost.rho) == pytest.approx(rho, rel=1e-12)


@EVERY_NAME
def test_the_parts_of_an_answer_cost_no_more_than_was_told(name: str):
    answer = postri.median(ROWS, method=name, coins=SeededCoins(2), **ASKED)
    assert answer.spend.epsilon == ASKED["epsilon"]


# Forecasts, notes, advice.


@PUBLISHED
def test_the_published_methods_forecast_nothing(name: str):
    method = method_named(name)
    assert method.forecast(terms(), rows=1_000, groups=1, domain=None) is None


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_depth_forecasts_its_reach_or_the_epsilon_that_one_takes(noise):
    method = Depth(noise=noise)
    plan = method.forecast(terms(), rows=10_000, groups=1, domain=None)
    assert plan.epsilon == 1 and plan.enough
    wanted = Fraction(1, 100)
    dear = method.forecast(terms(), rows=10_000, groups=1, domain=None, reach=wanted)
    assert dear.reach == pytest.approx(0.01, rel=0.02)
    assert dear.epsilon != 1


@EVERY_NAME
def test_only_depth_advises_where_the_interval_is_the_whole_domain(name: str):
    method = method_named(name)
    domain = Domain(0, 9)
    span = Span(5, 0, 9)
    advice = method.advice(span, terms(), plain_grid(10), domain)
    assert bool(advice) == (not method.every_row)
    inside = Span(5, 1, 9)
    assert method.advice(inside, terms(), plain_grid(10), domain) == ()


@EVERY_NAME
def test_notes_stand_on_every_answer(name: str):
    answer = postri.median(ROWS, method=name, coins=SeededCoins(1), **ASKED)
    assert answer.notes == method_named(name).notes
    assert bool(answer.notes) == method_named(name).every_row


@PUBLISHED
def test_the_published_methods_protect_against_one_replaced_row_alone(name: str):
    """The default change of the functions is another one: the message says what to do."""
    with pytest.raises(InputError, match=r"ask with protect=ReplaceRows\(1\)"):
        postri.median(ROWS, **(ASKED | {"method": name, "protect": AddOrRemoveRows(1)}))
