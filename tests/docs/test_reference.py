"""The reference is generated from the code: whatever is public stands in it.

The pages are those of `tools/docs/reference_pages.py`, as the site has them.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from inspect import isfunction
from pathlib import Path

import pytest

import postri
from postri.errors import PostriError
from postri.policy import reading
from postri.statistics.registry import forms
from postri.web.refusals import TITLES

ROOT = Path(__file__).resolve().parents[2]
ERRORS = [
    name
    for name in postri.__all__
    if isinstance(getattr(postri, name), type) and issubclass(getattr(postri, name), PostriError)
]


@pytest.fixture(scope="module")
def generator():
    spec = spec_from_file_location(
        "reference_pages", ROOT / "tools" / "docs" / "reference_pages.py"
    )
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(generator):
    return generator.reference_pages(ROOT / "docs")


def headings(page: str) -> list[str]:
    lines = (line for line in page.splitlines() if line.startswith("#"))
    return [line.lstrip("#").strip().strip("`") for line in lines]


def test_every_public_name_has_a_heading(pages):
    found = headings(pages["python"])
    for name in postri.__all__:
        if name not in ERRORS and name != "__version__":
            assert f"postri.{name}" in found
    assert postri.__version__ in pages["python"]


def test_a_function_is_shown_with_its_parameters_and_its_words(pages):
    for name in postri.__all__:
        public = getattr(postri, name)
        if isfunction(public):
            section = pages["python"].partition(f"### `postri.{name}`\n")[2].partition("\n### ")[0]
            assert f"postri.{name}(" in section
            assert public.__doc__.strip().splitlines()[0] in section


def test_a_default_is_told_as_it_is_written(pages):
    assert "method: str | Method = 'depth'" in pages["python"]
    assert "confidence: Number = 0.95" in pages["python"]


def test_every_statistic_stands_in_its_table(pages):
    for form in forms():
        assert f"| `{form.name}` |" in pages["statistics"]


def test_every_command_is_there_with_its_help(generator, pages):
    names = [" ".join(words) for words in generator.command_names()]
    assert {"median", "ask", "token add", "ledger init", "open-again"} <= set(names)
    for name in names:
        section = pages["commands"].partition(f"## `postri {name}`\n")[2].partition("\n## ")[0]
        assert f"Usage: postri {name}" in section
        assert "--help" in section


def test_every_endpoint_is_there_with_its_replies(generator, pages):
    paths = generator.http_description()["paths"]
    operations = [(method, path) for path, methods in paths.items() for method in methods]
    assert ("post", "/v1/query") in operations
    for method, path in operations:
        assert f"{method.upper()} {path}" in headings(pages["http"])
    for code in TITLES:
        assert f"| `{code}` |" in pages["http"]


def test_every_key_of_a_policy_is_explained(pages):
    known = (
        *(key for key in reading.POLICY_KEYS if key not in ("service", "datasets", "public")),
        *(key for key in reading.DATASET_KEYS if key not in ("columns", "line_breaks")),
        *reading.COLUMN_KEYS,
        *reading.PROTECT_NEEDS,
        *reading.PUBLIC_NEEDS,
        *reading.SERVICE_READERS,
    )
    for key in known:
        assert f"| `{key}` |" in pages["policy-keys"]


def test_a_key_that_no_table_explains_ends_the_build(generator, tmp_path):
    for name in ("policy.md", "service.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("| `vouched` |", "| `vouch` |"))
    with pytest.raises(LookupError, match="no row explains vouched"):
        generator.policy_page(tmp_path)


def test_every_error_is_there_with_its_exit_code(pages):
    for name in ERRORS:
        section = pages["errors"].partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        assert "| exit code |" in section
    assert "| exit code | 3 |" in pages["errors"].partition("## `BudgetExceeded`")[2][:900]
