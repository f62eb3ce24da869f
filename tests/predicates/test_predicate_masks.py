"""A mask has the rows on which a slow and plain reading of the predicate holds."""

from __future__ import annotations

import numpy as np
from extreme_cells import TYPES, extreme_table, plain_rows, vectors
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_expressions import Expressions
from reference import Reference

from postri.errors import InputError
from postri.predicates import Predicate

TABLE = extreme_table()
ROWS = plain_rows(TABLE)
REFERENCE = Reference(TYPES)


def mask_of(predicate: Predicate) -> list[bool]:
    bound = predicate.bind(list(TYPES), TYPES.__getitem__)
    return np.broadcast_to(bound.mask(vectors(TABLE, bound.inputs)), len(ROWS)).tolist()


@given(st.randoms(use_true_random=False), st.integers(0, 4))
@settings(max_examples=400, deadline=None)
def test_random_conditions_hold_where_the_reference_says(source, depth):
    predicate = Predicate.parse(str(Expressions(source, unsigned=True).truth(depth)))
    try:
        mask = mask_of(predicate)
    except InputError:
        assume(False)
    assert mask == [REFERENCE.holds(predicate.expression, row) for row in ROWS]
