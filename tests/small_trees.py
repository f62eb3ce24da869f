"""Trees over few points with rows that are known: what the tests of trees share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from postri.audit.tiny_tables import Rows, plain_grid
from postri.tree.shape import TreeNode, TreeShape
from postri.window import CountsBelow, Indexes, PointCounts

# Two children a node and three levels, on eight points.
BINARY = TreeShape(plain_grid(8), most_children=2)


def counts_below(*tables: Sequence[int] | Indexes) -> CountsBelow:
    """What an engine counts of tables of sorted grid indexes, each of which is a group."""
    cells = [np.array(rows, np.int64) for rows in tables]

    def below(points: Indexes) -> list[PointCounts]:
        return [PointCounts(points, np.searchsorted(each, points), len(each)) for each in cells]

    return below


def inner_nodes(shape: TreeShape) -> Iterator[TreeNode]:
    """All nodes that can be divided, from the root down."""
    waiting = [shape.root]
    while waiting:
        node = waiting.pop(0)
        if not node.is_leaf:
            yield node
            waiting += shape.children(node)


def rows_inside(rows: Rows, node: TreeNode) -> int:
    """How many rows a node holds."""
    return sum(node.first <= row <= node.last for row in rows)


def children_counts(shape: TreeShape, node: TreeNode, rows: Rows) -> list[int]:
    """How many rows each of its children holds."""
    return [rows_inside(rows, child) for child in shape.children(node)]
