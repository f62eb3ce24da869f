"""What commands print: results on standard output, words and the bar of a long scan on standard
error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from postri.answer import Answer, Plan, Result
    from postri.engines.progress import Percent
    from postri.question.planning import QuestionPlan
    from postri.session import Budget, Price

# After how many seconds a bar is shown, and how often it moves.
PATIENCE = 1.0
PACE = 0.1


def say(text: str, *, err: bool = False) -> None:
    """Print a text at once: results to standard output, or words to standard error."""
    print(text, file=sys.stderr if err else sys.stdout, flush=True)


def check_picture(file: str | None) -> None:
    """Refuse, before anything is paid for, a file that no picture can be saved to."""
    if file is not None:
        from postri.answer.picture import check_file

        check_file(file)


def show_answer(answer: Answer, *, json: bool, plot: str | None) -> None:
    """An answer, and its picture if one is wanted."""
    if json:
        say(answer.to_json())
    else:
        say(str(answer))
    if plot is not None:
        from postri.answer.picture import save

        save([answer], plot)
        say_saved(plot)


def show_result(result: Result, *, json: bool, csv: bool, plot: str | None) -> None:
    """A result, and its picture if one is wanted."""
    if json:
        say(result.to_json())
    elif csv:
        say(result.to_csv().rstrip("\n"))
    else:
        say(str(result))
    if plot is not None:
        from postri.answer.picture import save_result

        save_result(result, plot)
        say_saved(plot)


def show_plain(value: Plan | QuestionPlan | Budget, *, json: bool) -> None:
    """A forecast, a plan or a budget."""
    from json import dumps

    if json:
        say(dumps(value.to_dict()))
    else:
        say(str(value))


def show_price(price: Price, *, json: bool) -> None:
    """A price, in the words of the command line."""
    from json import dumps

    if json:
        say(dumps(price.to_dict()))
    else:
        say(price.told("--expect 30000"))


def say_saved(file: str) -> None:
    """That a file was written."""
    say(f"saved {file}", err=True)


def wide_console() -> Console:
    """A console that is never narrower than a table's numbers: a terminal wraps a line, it must not
    lose a digit.
    """
    from rich.console import Console

    console = Console()
    console.width = max(console.width, 100)
    return console


def shown_progress() -> AbstractContextManager[None]:
    """Show the progress of the scans inside, if somebody looks on: gone when the scan is done."""
    if not sys.stderr.isatty():
        return nullcontext()
    from postri.engines.progress import showing

    return showing(_bar)


@contextmanager
def _bar(percent: Percent) -> Iterator[None]:
    done = Event()
    watcher = Thread(target=_draw, args=(percent, done), daemon=True)
    try:
        watcher.start()
        yield
    finally:
        done.set()
        # An interrupt may have come before it began.
        if watcher.is_alive():
            watcher.join()


def _draw(percent: Percent, done: Event) -> None:
    """Wait a moment, for most scans are short; then draw until the scan is done."""
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("counting"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        while not done.wait(PACE):
            # An engine that cannot tell how far it is says -1.
            here = percent()
            if here < 0:
                progress.update(task, total=None, completed=0)
            else:
                progress.update(task, total=100, completed=here)
