"""With `zstd`: a median of a compressed CSV file."""

from __future__ import annotations

import sys
from pathlib import Path

import postri

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

file = Path("cells.csv.zst")
file.write_bytes(zstd.compress(b"x\n" + b"".join(b"%d\n" % i for i in range(1_000))))
table = postri.open(file, columns={"x": "integer"})
assert postri.median(table, "x", epsilon=1).private
