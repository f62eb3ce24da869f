"""The command line: options in, an answer out.

Results go to standard output, words to standard error.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import Any

from postri.cli.output import say
from postri.cli.plain import plain_request
from postri.cli.wording import in_options
from postri.errors import BudgetExceeded, InputError, PolicyError, PostriError, QuestionsExceeded

# As shells do for a program that Ctrl-C ended.
INTERRUPTED = 130


def __getattr__(name: str) -> Any:
    """All commands, which most programs that run one of them do not load."""
    if name == "app":
        from postri.cli.program import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run the program.

    Exit codes: 0 done, 2 the request is wrong, 3 refused for budget, 1 anything else.
    """
    try:
        _run(sys.argv[1:])
    except PolicyError as error:
        _stop(str(error), 2)
    except InputError as error:
        _stop(in_options(str(error)), 2)
    except (BudgetExceeded, QuestionsExceeded) as error:
        _stop(str(error), 3)
    except PostriError as error:
        _stop(in_options(str(error)), 1)
    except Exception as error:
        # The message of an exception that is not ours may carry a cell: only its kind is shown.
        kind = type(error).__name__
        _stop(
            f"failed with {kind}; please report it, with the command and the declared types of "
            "the data",
            1,
        )


def _run(words: list[str]) -> None:
    """A plain command is read here, any other by typer, which takes longer to load."""
    request = plain_request(words)
    if request is None:
        from postri.cli.program import app

        app(prog_name="postri")
        return
    # Threads for products of matrices, of which there are none, take a while to start and to end.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # One answer leaves hardly any garbage, and at its end Python looks for it when all modules are
    # gone: no need to do so before, too.
    gc.disable()
    atexit.register(gc.disable)
    from postri.cli.files import show_quantile

    try:
        show_quantile(**request)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Nobody reads on; what is left to be written goes nowhere, until the program ends.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # see above
        sys.exit(1)
    finally:
        gc.enable()


def _stop(message: str, code: int) -> None:
    say(f"postri: {message}", err=True)
    sys.exit(code)
