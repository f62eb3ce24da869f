"""The paper's experiments, and the comparison of methods on any column: for researchers.

The methods are in `postri.methods`; here are the tables that they run on, the runs, and the report.
The formulas of the paper are functions of this package.
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

__all__ = [
    "Optimum",
    "eta",
    "gamma1",
    "gamma2",
    "optimal_ratio",
    "optimal_step",
    "optimum",
    "rank_lower_bound",
]
