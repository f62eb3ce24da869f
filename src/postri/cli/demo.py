"""`postri demo`: the main job on a table that the program makes up."""

from __future__ import annotations

from importlib.util import find_spec
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postri.exact import plain

if TYPE_CHECKING:
    from postri.answer import Answer

ROWS = 5_000
BUDGETS = ("0.1", "0.5", "2")

Out = Annotated[Path, typer.Option(help="Where to save the table and the picture.")]


def demo(out: Out = Path("build")) -> None:
    """Make up a salary table, ask for its median at three budgets, and show how close the answers
    come.
    """
    from statistics import median

    import postri

    out.mkdir(parents=True, exist_ok=True)
    file = out / "salaries.csv"
    picture = out / "salaries.png"
    salaries = _salaries()
    truth = median(salaries)
    _write(file, salaries)
    table = postri.open(file, columns={"salary": "integer"})
    answers = [postri.median(table, column="salary", epsilon=epsilon) for epsilon in BUDGETS]
    _show(answers, truth, file)
    # A first try should end well without the extra.
    if find_spec("matplotlib") is None:
        words = "For a picture of these answers: pip install 'postri[plot]', and run it again."
    else:
        _draw(answers, truth, picture)
        words = f"The picture: {picture}"
    typer.echo(f"\n{words}", err=True)


def _salaries() -> list[int]:
    """Salaries of a made-up firm: lognormal by its quantiles, to the nearest 10, in an order that
    tells nothing.
    """
    from statistics import NormalDist

    spread = NormalDist(10.7, 0.45)
    ranked = [round(exp(spread.inv_cdf((i + 0.5) / ROWS)), -1) for i in range(ROWS)]
    return [int(ranked[(i * 2_741) % ROWS]) for i in range(ROWS)]


def _write(file: Path, salaries: list[int]) -> None:
    lines = ["employee,salary"]
    lines += [f"{number},{salary}" for number, salary in enumerate(salaries, start=1)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _show(answers: list[Answer], truth: float, file: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from postri.answer.words import shown

    console = Console(soft_wrap=True)
    console.print(
        f"\n{ROWS:,} made-up salaries ({file}). What is the median, if no employee may be "
        "given away?\n"
    )
    table = Table(
        "epsilon",
        "private median",
        "95% interval",
        "true median",
        "in it?",
        title="postri.median(table, column='salary', epsilon=...)",
    )
    for answer in answers:
        interval = answer.interval
        held = "no"
        if truth in interval:
            held = "yes"
        ends = f"{shown(interval.low)} to {shown(interval.high)}"
        table.add_row(plain(answer.epsilon), shown(answer.value), ends, f"{truth:,.10g}", held)
    console.print(table)
    console.print("\nThe larger epsilon, the closer the answer and the weaker the protection.")
    console.print(
        "The true median stands here because the data are generated: nobody would print it "
        "of real data.\n"
    )
    console.print(str(answers[-1]))


def _draw(answers: list[Answer], truth: float, picture: Path) -> None:
    from postri.answer.picture import save

    labels = [f"epsilon {plain(answer.epsilon)}" for answer in answers]
    title = f"The median of {ROWS:,} made-up salaries"
    save(answers, picture, labels=labels, title=title, truth=truth)
