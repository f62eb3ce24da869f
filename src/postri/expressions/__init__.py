"""Expressions in SQL: an allow-list of functions that fail on no cell and mean the same in memory
and in databases.

    text  ->  words  ->  tree  ->  plan  ->  a mask of arrays, or the text of a database's condition

`words` cuts a text, `grammar` puts words together, and `reader` makes a tree of them, from what
`allowed` lets through. `normal` brings trees that mean the same to one form. `binding` gives each
part of a tree its kind, by the declared types of the columns, and makes a plan, whose parts
(`numbers`, `conditions`) know how they are computed on arrays and how they are written in SQL.
Dialects write what databases write differently. `predicate` holds what others use: a predicate, or
a value that is asked about, on a table. `ranges` tells the public domain of a value.
"""

from postri.expressions.plan import Input, Vector
from postri.expressions.predicate import Bound, Predicate, Value

__all__ = ["Bound", "Input", "Predicate", "Value", "Vector"]
