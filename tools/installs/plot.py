"""With `plot`: pictures of an answer and of a distribution."""

from __future__ import annotations

from pathlib import Path

import postri

postri.median(range(1_000), epsilon=1).plot().figure.savefig("answer.svg")
cells = list(range(1_000))
domain = postri.Domain(0, 1_000)
postri.distribution(cells, epsilon=1, domain=domain).plot().figure.savefig("distribution.svg")
assert all(Path(name).stat().st_size for name in ("answer.svg", "distribution.svg"))
