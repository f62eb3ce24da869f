"""The book of answers: each question under a name of its own, with all that came back.

Nothing in it depends on the clock, on the folder, or on the system's coins, so that two runs of
the same code write the same book.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import postri
from postri import Answer, Result, SeededCoins, SystemCoins

# What differs from run to run: times, hashes of entries with times in them, random ids.
UNSTABLE = frozenset({"time", "hash", "previous", "head", "request_id", "id", "created", "token"})
TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK", "SELECT txid_current()")


class Book:
    """Asks questions, and keeps what came back by the name of the question."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._told: dict[str, Any] = {}
        self._coins = SeededCoins(0)

    def patch_system_coins(self) -> None:
        """From now on, what is drawn with the system's coins is drawn with the book's.

        A session, the command line and the service take no coins from outside, and should not.
        """
        SystemCoins.draw = lambda _: self._coins.draw()  # type: ignore[method-assign]

    def coins(self, name: str) -> SeededCoins:
        """Coins that belong to a name: a new question in the book changes no other."""
        return SeededCoins(zlib.crc32(name.encode()))

    def ask(self, name: str, work: Callable[[], Any]) -> None:
        """Keep what the work returns, or how it is refused."""
        if name in self._told:
            raise ValueError(f"two questions are called {name!r}")
        self._coins = self.coins(name)
        self._told[name] = self._scrubbed(outcome(work))

    def keep_statements(self, name: str, texts: list[str]) -> None:
        """Keep the statements that a database ran; where its transactions began and ended apart."""
        statements = [statement(text) for text in texts]
        marks = [text for text in statements if text.startswith(TRANSACTION)]
        self.ask(name, lambda: [text for text in statements if text not in marks])
        self.ask(f"{name}/transactions", lambda: marks)

    def write(self, file: Path) -> int:
        """Write one line of JSON a question, in the order of their names; return how many."""
        with file.open("w", encoding="utf-8") as lines:
            for name in sorted(self._told):
                line = {"id": name, "told": self._told[name]}
                lines.write(json.dumps(line, ensure_ascii=False, default=plain) + "\n")
        return len(self._told)

    def _scrubbed(self, told: Any) -> Any:
        """Without the folder of this run, and without what a clock or a coin decides."""
        if isinstance(told, str):
            return told.replace(self._folder, "FOLDER")
        if isinstance(told, dict):
            kept = {str(key): each for key, each in told.items() if key not in UNSTABLE}
            return {key: self._scrubbed(each) for key, each in kept.items()}
        if isinstance(told, list | tuple):
            return [self._scrubbed(each) for each in told]
        return told


def outcome(work: Callable[[], Any]) -> Any:
    """What the work returns in plain values, or the kind and the words of its error."""
    try:
        return plain(work())
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


def plain(value: Any) -> Any:
    """A value as JSON can hold it, with everything that users see of it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Answer):
        return _answer(value)
    if isinstance(value, Result):
        return _result(value)
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | postri.Answers):
        return [plain(each) for each in value]
    return _other(value)


def _other(value: Any) -> Any:
    """A price, a budget; else the kind and the words of a value."""
    if hasattr(value, "to_dict"):
        return {"dict": plain(value.to_dict()), "str": str(value)}
    return f"{type(value).__name__} {value}"


def _answer(answer: Answer) -> dict[str, Any]:
    told = {
        "dict": plain(answer.to_dict()),
        "json": answer.to_json(),
        "str": str(answer),
        "explain": answer.explain(),
        "notes": list(answer.notes),
        "spend": [str(answer.spend.value), str(answer.spend.interval)],
        "statistic": answer.statistic,
    }
    # Only additive noise has another interval for nothing.
    with suppress(Exception):
        told["at 99%"] = str(answer.at("0.99"))
    return told


def _result(result: Result) -> dict[str, Any]:
    return {
        "dict": plain(result.to_dict()),
        "json": result.to_json(),
        "csv": result.to_csv(),
        "str": str(result),
        "html": result._repr_html_(),
        "recorded": result.recorded,
        "private": result.private,
        "answers": [_answer(answer) for answer in result.answers],
    }


def statement(text: str) -> str:
    """A statement in SQL whatever its line breaks and indents; no text of ours has blanks in quotes
    beside its brackets.

    >>> statement("SELECT count(\\n    *\\n)\\nFROM t")
    'SELECT count(*) FROM t'
    """
    one_line = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"(?<=\() | (?=\))", "", one_line)
