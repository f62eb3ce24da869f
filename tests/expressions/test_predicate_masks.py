"""A mask has the rows on which a slow and plain reading of the predicate holds."""

from __future__ import annotations

import numpy as np
import pytest
from extreme_cells import TYPES, extreme_table, plain_rows, vectors
from hypothesis import assume, given
from hypothesis import strategies as st
from random_expressions import Expressions
from reference import Reference

from postri.errors import InputError
from postri.expressions import Predicate, tree
from proving import examples

TABLE = extreme_table()
ROWS = plain_rows(TABLE)
REFERENCE = Reference(TYPES)


def mask_of(predicate: Predicate) -> list[bool]:
    bound = predicate.bind(list(TYPES), TYPES.__getitem__)
    return np.broadcast_to(bound.mask(vectors(TABLE, bound.inputs)), len(ROWS)).tolist()


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.integers(0, 4))
@examples(400)
def test_random_conditions_hold_where_the_reference_says(source, depth):
    predicate = Predicate.parse(str(Expressions(source, unsigned=True).truth(depth)))
    try:
        mask = mask_of(predicate)
    except InputError:
        assume(False)
    assert mask == [REFERENCE.holds(predicate.expression, row) for row in ROWS]


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.integers(0, 4))
@examples(400)
def test_the_normal_form_holds_on_the_same_rows_and_is_its_own_normal_form(source, depth):
    predicate = Predicate.parse(str(Expressions(source, unsigned=True).truth(depth)))
    try:
        mask = mask_of(predicate)
    except InputError:
        assume(False)
    normal = predicate.normal(list(TYPES))
    assert mask_of(normal) == mask
    assert normal.normal(list(TYPES)) == normal
    assert Predicate.parse(str(normal)) == normal


@given(st.randoms(use_true_random=False), st.integers(1, 4))
@examples(200)
def test_what_is_only_said_in_another_order_has_the_same_normal_form(source, depth):
    expression = Expressions(source, unsigned=True).truth(depth)
    assert Predicate(expression).normal(list(TYPES)) == Predicate(
        shuffled(expression, source)
    ).normal(list(TYPES))


def shuffled(part: tree.Expression, source) -> tree.Expression:
    """The same conditions in another order."""
    if isinstance(part, tree.And | tree.Or):
        items = [shuffled(each, source) for each in part.items]
        source.shuffle(items)
        return type(part)((*items, items[0]))
    if isinstance(part, tree.Not):
        return tree.Not(shuffled(part.operand, source))
    if isinstance(part, tree.Compare):
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
        return tree.Compare(turned[part.operator], part.right, part.left)
    return part
