"""The table [service] of a policy."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bank import dataset_text
from postri.errors import PolicyError
from postri.policy import ServicePolicy, read_policy

DATASET = dataset_text("d", source="d.csv", budget="1", rows=None, columns={}) + "[service]\n"


def read(folder, lines, before=DATASET):
    path = folder / "postri.toml"
    path.write_text(before + lines)
    return read_policy(path)


def problems(folder, lines, before=DATASET):
    with pytest.raises(PolicyError) as caught:
        read(folder, lines, before)
    return [(problem.line, problem.text) for problem in caught.value.problems]


def test_what_is_left_out_has_a_default(tmp_path):
    policy = read(tmp_path, "")
    assert policy.service == ServicePolicy()
    assert (policy.service.host, policy.service.port, policy.service.time_grid) == (
        "127.0.0.1",
        8765,
        Fraction(1, 2),
    )
    assert policy.tokens == tmp_path / "postri.ledger.tokens"


def test_a_policy_without_the_table_has_all_defaults(tmp_path):
    assert read(tmp_path, "", DATASET.removesuffix("[service]\n")).service == ServicePolicy()


def test_every_key_means_what_it_says(tmp_path):
    lines = """\
tokens = "keys/tokens"
host = "::1"
port = 0
time_grid = "0.25"
max_body = 2048
rate = 10
connections = 20
allowance = "1/2"
token_days = 30
scans = 2
waiting = 0
scan_timeout = 0.5
shutdown_timeout = 0
waiting_each = 3
memory = "500 MB"
answers = "at the next full minute"
"""
    service = read(tmp_path, lines).service
    assert service == ServicePolicy(
        tmp_path / "keys/tokens",
        "::1",
        0,
        Fraction(1, 4),
        2048,
        10,
        20,
        Fraction(1, 2),
        30,
        2,
        0,
        Fraction(1, 2),
        Fraction(0),
        waiting_each=3,
        memory=500_000_000,
        answers=60,
    )


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("on the time grid", 0),
        ("at the next full second", 1),
        ("at the next full 10 seconds", 10),
        ("at the next full 15 minutes", 900),
        ("at the next full hour", 3600),
    ],
)
def test_answers_leave_on_the_grid_or_at_fixed_times(tmp_path, words, seconds):
    assert read(tmp_path, f'answers = "{words}"\n').service.answers == seconds


def test_tokens_lie_beside_a_ledger_that_is_elsewhere(tmp_path):
    assert (
        read(tmp_path, "", 'ledger = "safe/l"\n' + DATASET).tokens == tmp_path / "safe" / "l.tokens"
    )


WRONG = {
    "an unknown key": (
        "prot = 1\n",
        "there is no key 'prot' here; did you mean 'port' or 'rate' or 'host'?",
    ),
    "a port that is too high": ("port = 65536\n", "port must be from 0 to 65535, got 65536"),
    "a port that is no number": ("port = 'http'\n", "port must be a finite number, got 'http'"),
    "a grid before its question": (
        "time_grid = -1\n",
        "time_grid must be from 0 to 60 seconds, got -1",
    ),
    "a body of nothing": ("max_body = 0\n", "max_body must be from 1024 to 16777216, got 0"),
    "half a request": ("rate = 0.5\n", "rate must be a whole number, got 0.5"),
    "no connections": ("connections = 0\n", "connections must be from 1 to 10000, got 0"),
    "tokens of a century": ("token_days = 36500\n", "token_days must be from 1 to 3660, got 36500"),
    "no scans": ("scans = 0\n", "scans must be from 1 to 256, got 0"),
    "fewer than none that wait": ("waiting = -1\n", "waiting must be from 0 to 100000, got -1"),
    "fewer than none of each": (
        "waiting_each = -1\n",
        "waiting_each must be from 0 to 100000, got -1",
    ),
    "memory without a unit": (
        "memory = 2000000000\n",
        'memory must be a size of at least 100MB, such as "2GB" or "500MB", got 2000000000',
    ),
    "no memory": (
        'memory = "0GB"\n',
        'memory must be a size of at least 100MB, such as "2GB" or "500MB", got \'0GB\'',
    ),
    "no time": ("scan_timeout = 0\n", "scan_timeout must be from 0.01 to 86400 seconds, got 0"),
    "for ever": (
        "shutdown_timeout = 1e9\n",
        "shutdown_timeout must be from 0 to 86400 seconds, got 1000000000.0",
    ),
    "answers at no time": (
        'answers = "at noon"\n',
        'answers must be "on the time grid", or at fixed times, such as "at the next full minute" '
        "or \"at the next full 10 seconds\", got 'at noon'",
    ),
    "answers at times that wander": (
        'answers = "at the next full 7 minutes"\n',
        "answers must be at times that every day has alike: a number of minutes that divides 60, "
        "got 7",
    ),
    "answers every nothing": (
        'answers = "at the next full 0 hours"\n',
        "answers must be at times that every day has alike: a number of hours that divides 24, "
        "got 0",
    ),
    "a host that is no text": ("host = 1\n", "host must be text in quotes, got 1"),
    "tokens at a URL": ("tokens = 'http://x'\n", "tokens must be the path of a file, not a URL"),
    "tokens in the ledger": (
        "tokens = 'postri.ledger'\n",
        "tokens is a file of the ledger; keep tokens in a file of their own",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_problem_is_told_with_its_line(tmp_path, name):
    lines, expected = WRONG[name]
    assert problems(tmp_path, lines) == [(7, expected)]


def test_problems_stand_among_the_others(tmp_path):
    before = DATASET.replace('budget = "1"', 'budget = "0"')
    assert [line for line, _ in problems(tmp_path, "port = -1\nrate = 0\n", before)] == [4, 7, 8]
