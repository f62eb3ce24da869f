"""Predicates and expressions of rows in SQL: an allow-list of functions that fail on no cell and
mean the same in memory and in databases.

    text  ->  tree  ->  plan  ->  a mask of arrays, or the text of a database's own condition

`reader` makes a tree of a text and refuses what is not allowed. `binding` gives each part of a tree
its kind, by the declared types of the columns, and makes a plan, whose parts (`numbers`, `truths`,
`texts`, `choices`) know how they are computed on arrays and how they are written in SQL. Dialects
write what databases write differently. `values` binds an expression that is asked about, and
`ranges` tells its public domain.
"""

from postri.expressions.predicate import Bound, Predicate
from postri.expressions.values import Value
from postri.expressions.vectors import Input, Vector

__all__ = ["Bound", "Input", "Predicate", "Value", "Vector"]
