"""The text of a question in SQL: its words with their places, and errors that point at a place."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Tokenizer, TokenType
from sqlglot.errors import SqlglotError

from postri.errors import InputError
from postri.exact import shown

LONGEST, DEEPEST, SHOWN = 10_000, 50, 100
SPACES = "\t\n\r "


@dataclass(frozen=True)
class Word:
    """A word or sign of the text: from `start` up to `end`."""

    kind: TokenType
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word in capitals, as keywords and functions are compared."""
        return self.text.upper()

    @property
    def is_name(self) -> bool:
        """Whether it can name something: a bare word, or anything in double quotes."""
        bare = (
            self.kind not in (TokenType.STRING, TokenType.NUMBER)
            and self.text.replace("_", "a").isalnum()
        )
        return self.kind == TokenType.IDENTIFIER or bare


Words = Sequence[Word]


class SqlText:
    """A text that is short, whole, and one statement."""

    def __init__(self, text: object) -> None:
        if not isinstance(text, str):
            raise InputError(
                f"a question in SQL is a text, such as 'SELECT MEDIAN(x) FROM t', got {shown(text)}"
            )
        if len(text) > LONGEST:
            raise InputError(
                f"a question in SQL may have at most {LONGEST:,} characters, got {len(text):,}"
            )
        self.text = text
        self._check_characters()
        self.words = self._words()
        self._check_parentheses()

    def error(self, place: Word | Words, message: str) -> InputError:
        """An error that shows the line and marks the place in it."""
        words = [place] if isinstance(place, Word) else list(place)
        start, end = (
            (words[0].start, words[-1].end)
            if words
            else (len(self.text.rstrip()), len(self.text.rstrip()) + 1)
        )
        return InputError(f"{message}\n{self._marked(start, end)}")

    def within(self, words: Words) -> str:
        """The text of some words that stand side by side."""
        return self.text[words[0].start : words[-1].end] if words else ""

    def _marked(self, start: int, end: int) -> str:
        """The line of a place, cut where it is long, and carets below the place."""
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", start)
        line = self.text[first : len(self.text) if last < 0 else last].translate(
            dict.fromkeys(map(ord, SPACES), " ")
        )
        place, length = start - first, max(1, min(end - start, len(line) - (start - first)))
        cut = max(0, place - SHOWN // 2)
        line, place = (
            ("..." if cut else "") + line[cut : cut + SHOWN],
            place - cut + (3 if cut else 0),
        )
        return f"  {line}\n  {' ' * place}{'^' * min(length, SHOWN)}"

    def _check_characters(self) -> None:
        for place, character in enumerate(self.text):
            if character not in SPACES and unicodedata.category(character) in (
                "Cc",
                "Cf",
                "Cs",
                "Co",
                "Cn",
                "Zl",
                "Zp",
            ):
                # It may turn the line around or hide a part of it, so it is named and the line is
                # not shown.
                raise InputError(
                    f"the character U+{ord(character):04X} at place {place + 1} is not "
                    "allowed in a question; leave it out"
                )

    def _words(self) -> list[Word]:
        try:
            tokens = Tokenizer().tokenize(self.text)
        except SqlglotError:
            raise InputError(
                "a quote or comment in the question is not closed; write ' inside a text as ''"
            ) from None
        words = [Word(token.token_type, token.text, token.start, token.end + 1) for token in tokens]
        for token, word in zip(tokens, words, strict=True):
            if token.comments:
                raise self.error(word, "comments are not allowed in a question; leave them out")
        while words and words[-1].kind == TokenType.SEMICOLON:
            words.pop()
        if not words:
            raise InputError("the question is empty; write one, such as SELECT MEDIAN(x) FROM t")
        return words

    def _check_parentheses(self) -> None:
        opened: list[Word] = []
        for word in self.words:
            if word.kind == TokenType.SEMICOLON:
                raise self.error(word, "one question at a time: nothing may follow a semicolon")
            if word.kind == TokenType.L_PAREN:
                opened.append(word)
                if len(opened) > DEEPEST:
                    raise self.error(word, f"parentheses may be nested at most {DEEPEST} deep")
            elif word.kind == TokenType.R_PAREN:
                if not opened:
                    raise self.error(word, "this parenthesis closes nothing")
                opened.pop()
        if opened:
            raise self.error(opened[-1], "this parenthesis is not closed")
