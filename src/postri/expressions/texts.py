"""Texts, which compare by their code points (the same order as that of their bytes in UTF-8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from postri.expressions.node import Node
from postri.expressions.pattern import Pattern
from postri.expressions.vectors import Input, Vector, Vectors
from postri.expressions.writing import Writer


@dataclass(frozen=True)
class TextCell(Node):
    """A column of texts."""

    input: Input

    def vector(self, cells: Vectors) -> Vector:
        found = cells[self.input]
        values = np.asarray(found.values, object)
        return Vector(
            values if found.valid is None else np.where(found.valid, values, ""), found.valid
        )

    def sql(self, writer: Writer) -> str:
        return writer.raw(self.input)


@dataclass(frozen=True)
class TextConstant(Node):
    """A text."""

    text: str

    def vector(self, cells: Vectors) -> Vector:
        return Vector(np.array([self.text], object))

    def sql(self, writer: Writer) -> str:
        return writer.dialect.text_literal(self.text)


@dataclass(frozen=True)
class Like(Node):
    """Whether a text fits a pattern."""

    operand: Node
    pattern: Pattern

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        fits = {text: self.pattern.matches(text) for text in set(found.values)}
        return Vector(np.array([fits[text] for text in found.values], np.bool_), found.valid)

    def sql(self, writer: Writer) -> str:
        return writer.dialect.like(self.operand.sql(writer), self.pattern)
