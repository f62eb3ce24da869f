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
    "decimal|thousands"
)
DOMAIN = re.compile(
    r"(?:domain=)?\bDomain\((?P<lower>[^,()]+), (?P<upper>[^,()]+)"
    r"(?:, step='?(?P<step>[^'()]+)'?)?\)"
)


def _domain(found: re.Match[str]) -> str:
    words = f"--lower {found['lower']} --upper {found['upper']}"
    if found["step"] is not None:
        words += f" --step {found['step']}"
    return words


# From the special to the general.
WORDS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (DOMAIN, _domain),
    (re.compile(r"; give a domain$"), "; give --lower and --upper"),
    (re.compile(rf"^({OPTIONS}) must\b"), r"--\1 must"),
    (re.compile(r"^--lower must be below upper\b"), "--lower must be below --upper"),
    (re.compile(r"^--upper must be lower plus"), "--upper must be --lower plus"),
    (re.compile(r"^(date|timestamp)_format\b"), r"--\1-format"),
    (re.compile(r"^(decimal|delimiter) and (thousands|quote) must\b"), r"--\1 and --\2 must"),
    (re.compile(r"^k, the rows per person, must\b"), "--rows-per-person must"),
    (re.compile(r"^expect, about how\b"), "--expect, about how"),
    (re.compile(r"^p must\b"), "P must"),
    (re.compile(r"^(--method must be a name \(.*\)) or a method object, .*, got"), r"\1, got"),
    (re.compile(r"^give either epsilon "), "give either --epsilon "),
    (re.compile(r"(?<=\)) or reach (?=\()"), " or --reach "),
    (re.compile(r"\bmethod='([^']+)'"), r"--method \1"),
    (re.compile(r"\bprotect=ReplaceRows\(1\)"), "--protect replace-rows"),
    (re.compile(r"\bpostri\.open\(\.\.\., (delimiter|encoding)=('[^']+')\)"), r"--\1 \2"),
    (re.compile(r"\bgive token=, or set "), "set "),
    (re.compile(r"\bfresh=True\b"), "--fresh"),
    (re.compile(r"\bwhere=, by= and units need\b"), "--where, --by and units need"),
    (re.compile(r"\bcolumns=\{'first': None, \.\.\.\}"), "--names first,second,..."),
    (re.compile(r"\bdeclare columns with header=False\b"), "give --no-header and --names"),
    (re.compile(r"\bleave it out of columns=\.\.\."), "leave out --type"),
    (re.compile(r"\bleave out columns=\.\.\."), "leave out --type and --names"),
    (re.compile(r"; declare it: postri.*$"), "; declare it in a policy, and use postri ask"),
]


def in_options(message: str) -> str:
    """A message of the library as the command line says it.

    >>> in_options("a sum of 'x' needs a domain, such as Domain(0, 1000)")
    "a sum of 'x' needs a domain, such as --lower 0 --upper 1000"
    >>> in_options("epsilon must be positive, got -1")
    '--epsilon must be positive, got -1'
    """
    for words, option in WORDS:
        message = words.sub(option, message)
    return message
