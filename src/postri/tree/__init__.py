"""The whole distribution of a column from one release: a tree of noisy counts over the grid."""
