"""The notebooks of the documentation run as they are, and their outputs are kept in them."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def runner():
    """The tool that runs notebooks."""
    spec = spec_from_file_location("run_notebooks", ROOT / "tools" / "run_notebooks.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kinds(notebook) -> list[list[str]]:
    """What each cell with code shows: a stream's name, or media types."""
    return [
        [output.get("name") or ", ".join(sorted(output["data"])) for output in cell["outputs"]]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def test_there_is_one_for_each_person():
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "contributor", "researcher", "steward"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_what_it_keeps(runner, path):
    """Answers are drawn anew, so numbers differ; what kind of thing a cell shows does not."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kinds(runner.run(path)) == kinds(kept)
    assert sum(map(len, kinds(kept))) > 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_links_lead_somewhere_and_its_outputs_name_no_folder(path):
    text = path.read_text(encoding="utf-8")
    linked = {part.split(")")[0].split("#")[0] for part in text.split("](")[1:]}
    assert linked
    assert all((path.parent / link).is_file() for link in linked)
    assert "/tmp" not in text and "/home" not in text
