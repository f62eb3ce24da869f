"""The parts of a plan: expressions whose kinds are known, and which fail on no cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from postri.expressions.vectors import Vector, Vectors
from postri.expressions.writing import Writer


@dataclass(frozen=True)
class Node(ABC):
    """A part of a plan. In memory and in a database it has the same value."""

    @property
    def unit(self) -> Fraction | None:
        """What the whole number 1 means, for numbers, dates and timestamps that are whole; None for
        the others.
        """
        return None

    @abstractmethod
    def vector(self, cells: Vectors) -> Vector:
        """Its value in each row."""

    @abstractmethod
    def sql(self, writer: Writer) -> str:
        """The text of an expression, in parentheses where it needs some."""
