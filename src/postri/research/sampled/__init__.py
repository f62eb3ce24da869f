"""Intervals for the median of a population, ours and published ones, side by side."""
