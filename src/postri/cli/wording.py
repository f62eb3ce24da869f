"""Errors in the words of the command line: what Python calls `domain=` is `--lower` and `--upper`
here.

The library says once what is wrong, in the words of those who call it. Whoever typed a command
knows options, so each of these words stands here with the option that means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Parameters whose option has their name.
OPTIONS = (
    "lower|upper|step|epsilon|confidence|split|method|reach|rows|groups|delimiter|quote|encoding|"
    "decimal|thousands|within"
)
DOMAIN = (
    r"(?:domain=)?\bDomain\((?P<lower>[^,()]+), (?P<upper>[^,()]+)"
    r"(?:, step='?(?P<step>[^'()]+)'?)?\)"
)


def _domain(found: re.Match[str]) -> str:
    words = f"--lower {found['lower']} --upper {found['upper']}"
    if found["step"] is not None:
        words += f" --step {found['step']}"
    return words


# From the special to the general. Patterns are compiled when there is an error to tell.
WORDS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (DOMAIN, _domain),
    (r"; give a domain$", "; give --lower and --upper"),
    (rf"^({OPTIONS}) must\b", r"--\1 must"),
    (r"^--lower must be below upper\b", "--lower must be below --upper"),
    (r"^--upper must be lower plus", "--upper must be --lower plus"),
    (r"^(date|timestamp)_format\b", r"--\1-format"),
    (r"^(decimal|delimiter) and (thousands|quote) must\b", r"--\1 and --\2 must"),
    (r"^k, the rows per person, must\b", "--rows-per-person must"),
    (r"^expect, about how\b", "--expect, about how"),
    (r"^p must\b", "P must"),
    (r"^(--method must be a name \(.*\)) or a method object, .*, got", r"\1, got"),
    (r"^give either epsilon ", "give either --epsilon "),
    (r"(?<=\)) or within (?=\()", " or --within "),
    (r"(^|: )give epsilon, or within, from", r"\1give --epsilon, or --within, from"),
    (r"\(expect\)$", "(--expect)"),
    (r", so no epsilon follows from within: give epsilon$", ": give --epsilon, and not --within"),
    (
        r"^weights divide epsilon, and within tells it: leave out weights",
        "--weights divide --epsilon, and --within tells it: leave out --weights",
    ),
    (r"(?<=\)) or reach (?=\()", " or --reach "),
    (r"\bmethod='([^']+)'", r"--method \1"),
    (r"\bprotect=ReplaceRows\(1\)", "--protect replace-rows"),
    (r"\bpostri\.open\(\.\.\., (delimiter|encoding)=('[^']+')\)", r"--\1 \2"),
    (r"\bgive token=, or set ", "set "),
    (r"\bfresh=True\b", "--fresh"),
    (r"\bwhere=, by= and units need\b", "--where, --by and units need"),
    (r"\bcolumns=\{'first': None, \.\.\.\}", "--names first,second,..."),
    (r"\bdeclare columns with header=False\b", "give --no-header and --names"),
    (r"\bpostri\.connect\(\.\.\.\)\.sql\(\.\.\.\)", "postri sql"),
    (r"\bleave it out of columns=\.\.\.", "leave out --type"),
    (r"\bleave out columns=\.\.\.", "leave out --type and --names"),
    (r"; declare it: postri.*$", "; declare it in a policy, and use postri ask"),
]


def in_options(message: str) -> str:
    """A message of the library as the command line says it.

    >>> in_options("a sum of 'x' needs a domain, such as Domain(0, 1000)")
    "a sum of 'x' needs a domain, such as --lower 0 --upper 1000"
    >>> in_options("epsilon must be positive, got -1")
    '--epsilon must be positive, got -1'
    """
    for words, option in WORDS:
        message = re.sub(words, option, message)
    return message
