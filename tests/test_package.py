"""The surface: public names, what an import loads, and coins across a fork."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

import postri
from postri import SeededCoins, SystemCoins

HEAVY = ("duckdb", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "flint", "rich", "typer")


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def loaded_by(code: str) -> set[str]:
    """The packages that a fresh interpreter has loaded after this code."""
    return set(
        run(
            f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
        ).split()
    )


@pytest.mark.slow
def test_no_two_classes_of_the_package_have_one_name():
    """Who reads a class's name in an error or a docstring finds one class."""
    package = Path(postri.__file__).parent
    names = Counter(
        node.name
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, number in names.items() if number > 1] == []


def test_the_version_is_the_same_everywhere():
    """The package index's, the program's and that of who cites it."""
    root = Path(__file__).parents[1]
    cited = re.findall(r"^version: (.*)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == [postri.__version__]
    assert version("postri") == postri.__version__
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/postri/__init__.py"


class TestNames:
    """What `postri` offers."""

    def test_they_are_sorted(self):
        assert sorted(postri.__all__) == postri.__all__

    def test_each_of_them_exists(self):
        for name in postri.__all__:
            assert getattr(postri, name) is not None

    def test_they_are_all_that_the_module_lists(self):
        assert dir(postri) == postri.__all__

    @pytest.mark.slow
    def test_a_star_import_brings_them_all(self):
        names = run("from postri import *\nprint(*sorted(set(dir()) - {'__builtins__'}))").split()
        assert set(postri.__all__) <= set(names)

    def test_they_are_those_that_a_type_checker_sees(self):
        """The imports for type checkers and the lazy table must offer the same names."""
        tree = ast.parse(Path(postri.__file__).read_text(encoding="utf-8"))
        guarded = next(node for node in tree.body if isinstance(node, ast.If))
        seen = {
            alias.name
            for node in guarded.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert seen | {"__version__"} == set(postri.__all__)

    def test_they_hold_what_the_contract_names(self):
        """Those without which no script of a user runs."""
        functions = {"median", "quantile", "quantiles", "open", "plan"}
        values = {
            "Domain",
            "AddOrRemoveRows",
            "ReplaceRows",
            "Answer",
            "Answers",
            "Interval",
            "Spend",
            "Plan",
            "Table",
        }
        others = {"Depth", "SeededCoins", "PostriError", "InputError", "SourceError", "EngineError"}
        assert functions | values | others <= set(postri.__all__)

    def test_another_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="mdian"):
            _ = postri.mdian

    def test_the_errors_form_the_tree_of_the_contract(self):
        assert issubclass(postri.InputError, postri.PostriError)
        assert issubclass(postri.InputError, ValueError)
        assert issubclass(postri.SourceError, postri.PostriError)
        assert issubclass(postri.EngineError, postri.PostriError)
        assert not issubclass(postri.SourceError, ValueError)


@pytest.mark.slow
class TestImports:
    """Heavy libraries load only when they are used."""

    def test_importing_the_package_loads_none_of_them(self):
        assert not loaded_by("import postri") & set(HEAVY)

    def test_the_check_sees_what_is_loaded(self):
        assert {"numpy", "flint"} <= loaded_by("import postri, flint\npostri.median")

    def test_a_numpy_question_loads_no_database_no_tables_and_no_plots(self):
        code = (
            "import numpy as np, postri\nstr(postri.median(np.arange(300_000), "
            "epsilon=1).to_json())"
        )
        assert not loaded_by(code) & {
            "duckdb",
            "pandas",
            "polars",
            "pyarrow",
            "matplotlib",
            "typer",
            "rich",
        }

    def test_a_first_answer_loads_no_reader_of_sql_and_no_ledger(self):
        """These take about as long to load as NumPy does; nor what other questions need."""
        code = "import numpy as np, postri\npostri.median(np.arange(1_000), epsilon=1)"
        parts = run(f"import sys\n{code}\nprint(*sys.modules)").split()
        others = {"postri.ledger", "postri.expressions.binding", "postri.tree", "numpy.ma"}
        of_other_questions = {
            "postri.engines.ahead",
            "postri.engines.lost",
            "postri.engines.memory.arrow",
            "postri.engines.sql.dialect",
            "postri.expressions.grouping",
            "postri.expressions.tree",
            "postri.methods.groups",
            "postri.question.discovery",
            "postri.question.price",
            "postri.question.wishes",
            "postri.question.wording",
            "hashlib",
            "json",
            "subprocess",
            "tempfile",
        }
        assert not set(parts) & {"sqlglot", *others, *of_other_questions}

    def test_a_list_and_a_plan_load_no_database_no_tables_and_no_plots(self):
        code = (
            "import postri\npostri.median([1, 2], epsilon=1).explain()\nstr(postri.plan(rows=10, "
            "epsilon=1))"
        )
        assert not loaded_by(code) & {
            "duckdb",
            "pandas",
            "polars",
            "pyarrow",
            "matplotlib",
            "typer",
            "rich",
        }

    def test_a_polars_question_loads_no_other_library_of_tables(self):
        assert not loaded_by(
            "import polars, postri\npostri.median(polars.Series([1, 2]), epsilon=1)"
        ) & {"duckdb", "pandas", "pyarrow"}


def in_child(draw) -> bytes:
    """What a forked child draws."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, draw())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read()


@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning"
)  # Newer Pythons warn where libraries have started threads.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.system_coins
class TestForks:
    """No coin survives a fork. Two draws of 256 bits are never the same by luck."""

    def test_parent_and_child_draw_different_words(self):
        coins = SystemCoins()
        draw = coins.draw()
        draw.words((), 1)
        drawn = [in_child(lambda: draw.words(("key",), 4).tobytes()) for _ in range(3)] + [
            draw.words(("key",), 4).tobytes()
        ]
        assert all(len(words) == 32 for words in drawn)
        assert len(set(drawn)) == 4

    def test_the_check_sees_coins_that_survive(self):
        """Seeded coins do: that is what they are for."""
        draw = SeededCoins(7).draw()
        assert (
            in_child(lambda: draw.words(("key",), 4).tobytes()) == draw.words(("key",), 4).tobytes()
        )

    def test_an_opened_table_answers_differently_in_a_child(self):
        """Two independent draws at a tiny epsilon agree once in thousands, around zero; five in a
        row never do.
        """
        table = postri.open(range(10))

        def draw() -> bytes:
            answers = [postri.median(table, epsilon="1e-9").value for _ in range(5)]
            return repr(answers).encode()

        draw()
        drawn = [*(in_child(draw) for _ in range(3)), draw()]
        assert all(drawn) and len(set(drawn)) == 4

    def test_the_systems_coins_hold_no_state(self):
        coins = SystemCoins()
        coins.draw().words((), 10)
        assert not vars(coins)
        assert coins.draw() is coins


class TestSeededCoins:
    """Repeatable coins."""

    def test_the_same_seed_gives_the_same_answers(self):
        one, other = SeededCoins(7), SeededCoins(7)
        first, second = (postri.median(range(100), epsilon="0.1", coins=one) for _ in range(2))
        assert [first, second] == [
            postri.median(range(100), epsilon="0.1", coins=other) for _ in range(2)
        ]
        assert first != second

    def test_another_seed_gives_other_answers(self):
        assert (
            len(
                {
                    postri.median(range(100), epsilon="0.01", coins=SeededCoins(seed)).value
                    for seed in range(20)
                }
            )
            > 10
        )
