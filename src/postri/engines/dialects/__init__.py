"""What databases write differently: names, literals, whole-number arithmetic, and how a cell of
each declared type becomes raw.

A raw expression fails on no cell: cells are clamped before they are converted. It is null where the
cell is null. One file a database.
"""
