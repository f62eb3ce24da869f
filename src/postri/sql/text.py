"""The text of a question in SQL: one statement, short, and without anything hidden in it."""

from __future__ import annotations

import unicodedata

from sqlglot import TokenType

from postri.errors import InputError
from postri.exact import shown
from postri.expressions import tree
from postri.expressions.words import LONGEST, SPACES, SourceText, Word, Words

__all__ = ["SqlText", "Word", "Words"]

# Parentheses around an expression that is as deep as allowed, and those of the function around it.
DEEPEST = tree.DEEPEST + 1
# Control and format characters, surrogates, private and unassigned ones, separators of lines.
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


class SqlText(SourceText):
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
        _check_characters(text)
        super().__init__(text, "question")
        self._left_out: list[tuple[int, int]] = []
        self._check_comments()
        while self.words and self.words[-1].kind == TokenType.SEMICOLON:
            self.words.pop()
        if not self.words:
            raise InputError("the question is empty; write one, such as SELECT MEDIAN(x) FROM t")
        self._check_parentheses()

    def leave_out(self, start: int, end: int) -> None:
        """Let the text of some words do without this part of it."""
        self._left_out.append((start, end))

    def within(self, words: Words) -> str:
        """The text of some words that stand side by side, without what is left out."""
        if not words:
            return ""
        place, last = words[0].start, words[-1].end
        parts = []
        for start, end in sorted(self._left_out):
            if place <= start and end <= last:
                parts.append(self.text[place:start])
                place = end
        return "".join([*parts, self.text[place:last]])

    def _check_comments(self) -> None:
        for word in self.words:
            if word.has_comment:
                raise self.error(word, "comments are not allowed in a question; leave them out")

    def _check_parentheses(self) -> None:
        opened: list[Word] = []
        for word in self.words:
            if word.kind == TokenType.SEMICOLON:
                raise self.error(word, "one question at a time: nothing may follow a semicolon")
            if word.kind == TokenType.L_PAREN:
                opened.append(word)
                if len(opened) > DEEPEST:
                    raise self.error(word, str(tree.nested_too_deep()))
            elif word.kind == TokenType.R_PAREN:
                if not opened:
                    raise self.error(word, "this parenthesis closes nothing")
                opened.pop()
        if opened:
            raise self.error(opened[-1], "this parenthesis is not closed")


def _check_characters(text: str) -> None:
    for place, character in enumerate(text):
        if character not in SPACES and unicodedata.category(character) in HIDDEN:
            # It may turn the line around or hide a part of it, so it is named and the line is not
            # shown.
            raise InputError(
                f"the character U+{ord(character):04X} at place {place + 1} is not "
                "allowed in a question; leave it out"
            )
