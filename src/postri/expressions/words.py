"""The words of a text in SQL, with their places, and errors that point at a place.

One tokenizer for predicates, row expressions and whole questions: sqlglot's, which is loaded here
and in the readers of words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Tokenizer, TokenType
from sqlglot.errors import SqlglotError

from postri.errors import InputError

LONGEST = 10_000
SPACES = "\t\n\r "
# An error shows so much of a line.
SHOWN = 100


@dataclass(frozen=True)
class Word:
    """A word or sign of a text: from `start` up to `end`.

    `upper` is the word in capitals, as keywords and functions are compared.
    """

    kind: TokenType
    text: str
    upper: str
    start: int
    end: int
    has_comment: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it can name something: a bare word, or anything in double quotes."""
        if self.kind == TokenType.IDENTIFIER:
            return True
        if self.kind in (TokenType.STRING, TokenType.NUMBER):
            return False
        return self.text.replace("_", "a").isalnum()


Words = Sequence[Word]


class SourceText:
    """A text and its words. `called` is what the text is, in errors."""

    def __init__(self, text: str, called: str) -> None:
        self.text = text
        self.words = _words(text, called)

    def error(self, place: Word | Words, message: str) -> InputError:
        """An error that shows the line and marks the place in it; without words, its end."""
        if isinstance(place, Word):
            start, end = place.start, place.end
        elif place:
            start, end = place[0].start, place[-1].end
        else:
            start = len(self.text.rstrip())
            end = start + 1
        return InputError(f"{message}\n{self._marked(start, end)}")

    def located(self, words: Words, error: InputError) -> InputError:
        """An error that points at the word that it names, or at all words that it is about."""
        message = str(error)
        if "\n" in message:
            return error
        named = []
        for word in words:
            place = max(message.find(repr(word.text)), message.find(f"function {word.text} "))
            if place >= 0:
                named.append((place, word.start, word))
        # What is wrong is named before what is meant instead.
        first = min(named)[-1] if named else words
        return self.error(first, message.replace("in a predicate", "here"))

    def within(self, words: Words) -> str:
        """The text of some words that stand side by side."""
        return self.text[words[0].start : words[-1].end] if words else ""

    def _marked(self, start: int, end: int) -> str:
        """The line of a place, cut where it is long, and carets below the place."""
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", start)
        if line_end < 0:
            line_end = len(self.text)
        blanks = dict.fromkeys(map(ord, SPACES), " ")
        line = self.text[line_start:line_end].translate(blanks)
        place = start - line_start
        length = max(1, min(end - start, len(line) - place))
        cut = max(0, place - SHOWN // 2)
        line = line[cut : cut + SHOWN]
        if cut:
            line = f"...{line}"
            place += len("...") - cut
        return f"  {line}\n  {' ' * place}{'^' * min(length, SHOWN)}"


def _words(text: str, called: str) -> list[Word]:
    try:
        tokens = Tokenizer().tokenize(text)
    except SqlglotError:
        raise InputError(
            f"a quote or comment in the {called} is not closed; write ' inside a text as ''"
        ) from None
    return [
        Word(
            token.token_type,
            token.text,
            token.text.upper(),
            token.start,
            token.end + 1,
            bool(token.comments),
        )
        for token in tokens
    ]
