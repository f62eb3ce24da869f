"""Many quantiles of one column for one epsilon: published ways, and how far off each of them is.

The published ways give values without intervals, so they are no methods of `postri.methods`: an
answer always has an interval. Here they are subjects of a comparison.
"""
