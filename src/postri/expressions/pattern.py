"""The patterns of LIKE: `%` stands for any text, `_` for one character (code point).

A text is matched in a time that grows with its length alone, whatever stands in it. What stands
before the first `%` is looked at in one place. Each part after a `%` is looked for, and its first
place is the best one, so that no place is tried for two parts. Parts without `_` are found in one
pass. With `_` among its characters each place may cost as many steps as a part is long: so there
are few.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from postri.errors import InputError
from postri.exact import shown

ESCAPE = "!"
# How long a pattern may be: `%` and `_` count, signs that escape others do not.
MOST_CHARACTERS = 1_000
# How many `%` and runs of `_` it may have.
MOST_WILDCARDS = 20
# How many characters may be looked for after the first `%`: where `_` stands there, and else. One
# beside a `%` is not looked for: it is counted.
MOST_WITH_GAPS = 12
MOST_LOOKED_FOR = 100
# The largest number of repetitions that every engine's regular expressions know.
MOST_REPEATED = 250
# Up to how many characters of any kind are written without a number of repetitions.
WRITTEN_OUT = 3

Piece = str | int


@dataclass(frozen=True)
class Segment:
    """What stands between two `%`: texts, and numbers of characters that may be any."""

    pieces: tuple[Piece, ...]

    @cached_property
    def length(self) -> int:
        """Of how many characters it is."""
        return sum(len(piece) if isinstance(piece, str) else piece for piece in self.pieces)

    @property
    def has_gaps(self) -> bool:
        """Whether some of its characters may be any."""
        return any(isinstance(piece, int) for piece in self.pieces)

    @property
    def looked_for(self) -> int:
        """Of how many characters it is without the last ones that may be any."""
        if self.pieces and isinstance(self.pieces[-1], int):
            return self.length - self.pieces[-1]
        return self.length

    def written(self) -> str:
        """Its text as a part of a pattern with the escape character `!`."""
        return "".join(
            "_" * piece if isinstance(piece, int) else _escaped(piece) for piece in self.pieces
        )

    def fits(self, text: str, start: int) -> bool:
        """Whether it fits a text at this place, where the text is long enough."""
        for piece in self.pieces:
            if isinstance(piece, str):
                if not text.startswith(piece, start):
                    return False
                start += len(piece)
            else:
                start += piece
        return True

    def find(self, text: str, start: int, end: int) -> int | None:
        """The first place between two others where it fits."""
        if not self.has_gaps:
            place = text.find("".join(map(str, self.pieces)), start, end)
            return None if place < 0 else place
        found = self._regular.search(text, start, end)
        return None if found is None else found.start()

    @cached_property
    def _regular(self) -> re.Pattern[str]:
        return re.compile(self.regular(re.escape), re.DOTALL)

    def regular(self, escaped: Callable[[str], str]) -> str:
        """A regular expression of it, in which `.` is any character.

        `escaped` writes a text that stands for itself.
        """
        return "".join(
            _any(piece) if isinstance(piece, int) else escaped(piece) for piece in self.pieces
        )


@dataclass(frozen=True)
class Pattern:
    """Segments with `%` between them."""

    segments: tuple[Segment, ...]

    @classmethod
    def read(cls, text: str, escape: str | None = None) -> Pattern:
        """The pattern that a text means.

        Without an escape character there is none: a backslash is a backslash.
        """
        if escape is not None and len(escape) != 1:
            raise InputError(f"ESCAPE must be one character, got {shown(escape)}")
        segments: list[list[Piece]] = [[]]
        characters = iter(text)
        for character in characters:
            if character == escape:
                _add(segments[-1], _literal(next(characters, None), escape))
            elif character == "%":
                segments.append([])
            else:
                _add(segments[-1], 1 if character == "_" else character)
        found = cls(tuple(Segment(tuple(pieces)) for pieces in _normal(segments)))
        found.check_size()
        return found

    def check_size(self) -> None:
        """InputError if a text could take long to match."""
        if self.length > MOST_CHARACTERS:
            raise InputError(
                f"a LIKE pattern may have at most {MOST_CHARACTERS:,} characters, % and _ "
                f"included, got {self.length:,}"
            )
        if self.wildcards > MOST_WILDCARDS:
            raise InputError(f"a LIKE pattern may have at most {MOST_WILDCARDS} wildcards")
        looked_for = self.looked_for
        if self.has_gaps and looked_for > MOST_WITH_GAPS:
            raise InputError(
                f"a LIKE pattern with _ after a % may have at most {MOST_WITH_GAPS} characters "
                f"after its first %, without those beside a %, got {looked_for}; write % in "
                "place of _, or look for less"
            )
        if looked_for > MOST_LOOKED_FOR:
            raise InputError(
                f"a LIKE pattern may have at most {MOST_LOOKED_FOR} characters after its first %, "
                f"got {looked_for}; look for less"
            )

    @property
    def length(self) -> int:
        """Of how many characters it is, `%` and `_` among them."""
        return len(self.segments) - 1 + sum(segment.length for segment in self.segments)

    @property
    def looked_for(self) -> int:
        """How many characters are looked for after the first `%`."""
        return sum(segment.looked_for for segment in self.segments[1:])

    def split(self) -> tuple[Segment, Pattern]:
        """What stands before the first `%`, and the pattern of what follows that."""
        return self.segments[0], Pattern((Segment(()), *self.segments[1:]))

    @property
    def has_gaps(self) -> bool:
        """Whether `_` stands after a `%`."""
        return any(segment.has_gaps for segment in self.segments[1:])

    @property
    def wildcards(self) -> int:
        """How many `%` and runs of `_` it has."""
        pieces = [piece for segment in self.segments for piece in segment.pieces]
        runs = sum(isinstance(piece, int) for piece in pieces)
        return len(self.segments) - 1 + runs

    def written(self) -> str:
        """The text of the pattern with the escape character `!`."""
        return "%".join(segment.written() for segment in self.segments)

    def matches(self, text: str) -> bool:
        """Whether a text fits: the first place for each segment is the best one, so nothing is
        tried twice.
        """
        first = self.segments[0]
        last = self.segments[-1]
        if len(self.segments) == 1:
            return len(text) == first.length and first.fits(text, 0)
        start = first.length
        end = len(text) - last.length
        if start > end or not first.fits(text, 0) or not last.fits(text, end):
            return False
        for segment in self.segments[1:-1]:
            found = segment.find(text, start, end)
            if found is None:
                return False
            start = found + segment.length
        return True


def _normal(segments: list[list[Piece]]) -> list[list[Piece]]:
    """The same pattern with each `_` before the `%` that it stands beside, and without segments of
    nothing between two `%`: `%_` means what `_%` does.
    """
    first, *others = segments
    kept = [first]
    for place, pieces in enumerate(others, start=1):
        rest = pieces
        if pieces and isinstance(pieces[0], int):
            _add(kept[-1], pieces[0])
            rest = pieces[1:]
        if rest or place == len(others):
            kept.append(rest)
    return kept


def _add(pieces: list[Piece], new: Piece) -> None:
    """Add a piece, to the one before where that is of its kind."""
    if pieces and type(pieces[-1]) is type(new):
        pieces[-1] += new  # type: ignore[operator]  # both are texts, or both numbers
    else:
        pieces.append(new)


def _any(number: int) -> str:
    """As many characters of any kind."""
    # Java takes twice as long for a repetition of one as for the one, so few are written out.
    if number <= WRITTEN_OUT:
        return "." * number
    whole, rest = divmod(number, MOST_REPEATED)
    return f".{{{MOST_REPEATED}}}" * whole + f".{{{rest}}}" * bool(rest)


def _literal(character: str | None, escape: str) -> str:
    if character is None or character not in ("%", "_", escape):
        raise InputError(
            f"in a LIKE pattern the escape character {shown(escape)} must stand before %, _ "
            "or itself"
        )
    return character


def _escaped(text: str) -> str:
    return "".join(
        ESCAPE + character if character in ("%", "_", ESCAPE) else character for character in text
    )
