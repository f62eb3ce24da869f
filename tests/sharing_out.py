"""How the tests are shared out among the workers of a run: one JVM, one PostgreSQL, one browser.

A file stays on one worker, so that what it draws or loads once is drawn or loaded once. Tests of
one service form a unit of their own, whatever file they stand in. Units of which one test is slow
come first and the quick ones last: a worker that is done early finds something small to do, and no
long file is left for the end.

`--dist loadgroup` of pytest-xdist 3.8 would do the first half, but pytest 9.2 does not let it
write a group's name into the name of a test.
"""

from __future__ import annotations

import re
from typing import Any

from xdist.scheduler import LoadScopeScheduling

# By the names of tests, which is all that the process that shares them out knows of them.
SERVICES = {
    "Spark": re.compile("spark", re.IGNORECASE),
    "PostgreSQL": re.compile("postgres", re.IGNORECASE),
    "browser": re.compile("test_page"),
}
# Folders whose files take long, longest first.
LONG = ("research", "web", "coverage", "privacy", "functional", "engines", "sql")


class Units(LoadScopeScheduling):
    """Units of work in this order; a worker that has nothing left takes the next."""

    def _split_scope(self, nodeid: str) -> str:
        for service, named in SERVICES.items():
            if named.search(nodeid):
                return service
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: Any) -> None:
        following = min(self.workqueue, key=self._place)
        self.workqueue.move_to_end(following, last=False)
        super()._assign_work_unit(node)

    def _place(self, unit: str) -> tuple[int, int]:
        """Services, then the long folders, then the others; among equals what has most tests."""
        if unit in SERVICES:
            place = list(SERVICES).index(unit)
        else:
            folder = unit.split("/")[1]
            place = len(SERVICES) + (LONG.index(folder) if folder in LONG else len(LONG))
        return place, -len(self.workqueue[unit])
