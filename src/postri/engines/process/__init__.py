"""Scans in processes of their own, which can be killed: a thread that is busy inside a library
cannot.

`engine.py` stands in for an engine that lies in another process, `pool.py` keeps those processes,
`worker.py` is what runs in them.
"""
