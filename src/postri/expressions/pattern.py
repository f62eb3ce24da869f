"""The patterns of LIKE: `%` stands for any text, `_` for one character (code point)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from postri.errors import InputError
from postri.exact import shown

ESCAPE = "!"
MOST_WILDCARDS = 100

Piece = str | int


@dataclass(frozen=True)
class Segment:
    """What stands between two `%`: texts, and numbers of characters that may be any."""

    pieces: tuple[Piece, ...]

    @cached_property
    def length(self) -> int:
        """Of how many characters it is."""
        return sum(len(piece) if isinstance(piece, str) else piece for piece in self.pieces)

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
        if len(self.pieces) == 1 and isinstance(self.pieces[0], str):
            found = text.find(self.pieces[0], start, end)
            return None if found < 0 else found
        for place in range(start, end - self.length + 1):
            if self.fits(text, place):
                return place
        return None


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
        # Empty segments between two `%` say nothing.
        ends = (0, len(segments) - 1)
        kept = [pieces for place, pieces in enumerate(segments) if pieces or place in ends]
        found = cls(tuple(Segment(tuple(pieces)) for pieces in kept))
        if found.wildcards > MOST_WILDCARDS:
            raise InputError(f"a LIKE pattern may have at most {MOST_WILDCARDS} wildcards")
        return found

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


def _add(pieces: list[Piece], new: Piece) -> None:
    """Add a piece, to the one before where that is of its kind."""
    if pieces and type(pieces[-1]) is type(new):
        pieces[-1] += new  # type: ignore[operator]  # both are texts, or both numbers
    else:
        pieces.append(new)


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
