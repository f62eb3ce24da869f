"""How the tests are shared out among the workers of a run: one JVM, one PostgreSQL, one browser.

A file stays on one worker, so that what it draws or loads once is drawn or loaded once. Tests of
one service form a unit of their own, whatever file they stand in. Long units come first and the
short ones last: a worker that is done early finds something small to do, and no long file is left
for the end.

`--dist loadgroup` of pytest-xdist 3.8 would do the first half, but pytest 9.2 does not let it
write a group's name into the name of a test.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from xdist.scheduler import LoadScopeScheduling

# By the names of tests, which is all that the process that shares them out knows of them.
SERVICES = {
    "Spark": re.compile("spark", re.IGNORECASE),
    "PostgreSQL": re.compile("postgres", re.IGNORECASE),
    "browser": re.compile("test_page"),
}
# Files that take longest, longest first: by their names, which are the same in every folder.
LONG = (
    "test_exhaustive",
    "test_sampler",
    "test_additive_coverage",
    "test_population_coverage",
    "test_tree_coverage",
    "test_rows",
    "test_expressions",
    "test_secrets",
    "test_replicas",
    "test_web_replicas",
    "test_run",
    "test_ledger_cli",
    "test_cost_of_rows",
    "test_trimmed",
    "test_web_timing",
    "test_published_methods",
    "test_reproduction",
    "test_laziness",
    "test_group_scans",
    "test_leaks",
    "test_files",
    "test_above_threshold",
    "test_web_serve",
    "test_report",
    "test_processes",
    "test_console",
    "test_site",
    "test_contract",
    "test_groups",
    "test_web_schema",
    "test_hard_tables",
    "test_web_queries",
    "test_session",
    "test_public_rows",
    "test_published_privacy",
    "test_research_cli",
    "test_crashes",
    "test_web_neighbours",
    "test_findings",
    "test_new_statistic",
    "test_web_load",
    "test_web_kills",
    "test_remote_session",
    "test_iqr",
    "test_truth",
    "test_timing_attack",
)


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
        """Services, then the long files, then the others; among equals what has most tests."""
        known = [*SERVICES, *LONG]
        name = PurePath(unit).stem
        place = known.index(name) if name in known else len(known)
        return place, -len(self.workqueue[unit])
