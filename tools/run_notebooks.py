"""Run the notebooks of the documentation and keep their outputs: `python tools/run_notebooks.py`.

No kernel is started: cells run in this process, one after the other, as a kernel would run them.
What a cell prints, the value of its last expression and the pictures that it drew become its
outputs.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib as mpl

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
DOTS_PER_INCH = 100


def run(path: Path) -> dict[str, Any]:
    """The notebook with the outputs that its cells have now."""
    mpl.use("Agg")
    # What was drawn before is no picture of this notebook.
    _pictures()
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        cell["execution_count"] = number
        cell["outputs"] = _outputs("".join(cell["source"]), names, number, path.name)
    return notebook


def _outputs(source: str, names: dict[str, Any], number: int, title: str) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = None
    # A semicolon at the end of a cell keeps its value to itself.
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]  # checked
    printed = io.StringIO()
    value = None
    with redirect_stdout(printed):
        exec(compile(tree, f"{title}, cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(last, f"{title}, cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    pictures = _pictures()
    if value is not None and not source.rstrip().endswith(";"):
        outputs.append(
            {
                "data": _shown(value),
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs + pictures


def _shown(value: object) -> dict[str, list[str]]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    html = getattr(value, "_repr_html_", None)
    if html is not None:
        data["text/html"] = html().splitlines(keepends=True)
    return data


def _pictures() -> list[dict[str, Any]]:
    """The pictures that were drawn since the last time."""
    import matplotlib.pyplot as plt

    outputs = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format="png", dpi=DOTS_PER_INCH)
        plt.close(number)
        picture = base64.b64encode(file.getvalue()).decode()
        data = {"image/png": picture}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def main() -> None:
    """Run all of them, or those that are named, and write them back."""
    files = [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb"))
    for path in files:
        notebook = run(path)
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
