"""Statistics that have more than one name."""

from __future__ import annotations

import pytest

from postri import agg
from postri.errors import InputError
from postri.statistics.count import count
from postri.statistics.registry import Form, registered


@pytest.mark.parametrize("text", ["avg(fare)", "AVG(fare)", "mean(fare)", ' avg ( "fare" ) '])
def test_avg_is_the_mean(text):
    assert agg.read(text) == agg.mean("fare") == agg.avg("fare")


def test_a_misspelt_one_is_told():
    with pytest.raises(InputError, match="did you mean 'avg'"):
        agg.read("agv(fare)")


def test_no_two_statistics_share_a_name():
    with pytest.raises(ValueError, match="avg"), registered(Form("avg", count, "How many.")):
        pass
