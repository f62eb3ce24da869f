"""The published methods, side by side with ours: for researchers.

`PostRI`, `PostRISVT`, `Sun2023` and `Sun2023SVT` are method objects: `postri.median(source,
method=PostRI(), ...)`. They answer for the median, protect against one replaced row, and hold their
interval's promise only where the number of rows is public and large enough and no value lies near
the edge of the domain. For an answer to rely on, use the default method, `depth`.
"""

from postri.methods.formulas import (
    Optimum,
    eta,
    gamma1,
    gamma2,
    optimal_ratio,
    optimal_step,
    optimum,
    rank_lower_bound,
)
from postri.methods.postri import PostRI, PostRISVT
from postri.methods.sun2023 import Sun2023, Sun2023SVT

__all__ = [
    "Optimum",
    "PostRI",
    "PostRISVT",
    "Sun2023",
    "Sun2023SVT",
    "eta",
    "gamma1",
    "gamma2",
    "optimal_ratio",
    "optimal_step",
    "optimum",
    "rank_lower_bound",
]
