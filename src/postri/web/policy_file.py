"""The policy's file while it is served: an edit takes effect, or is refused and said so.

What it says of datasets and public tables holds from the next question on. Where to listen, limits,
the ledger and the tokens are read when the service starts: an edit of these is said to wait for
that. A file that is wrong changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from postri.errors import PolicyError, PostriError
from postri.policy import Policy, read_policy
from postri.web.logs import log

# How often the file is looked at, in seconds.
PACE = 2.0

Stamp = tuple[int, int, int] | None
# The stamp of a file that was not looked at.
NEVER: Stamp = (-1, -1, -1)


class PolicyFile:
    """Watches one file. `take` is handed each policy that is to be served from then on; `told`
    hears what became of each edit: taken, or refused.
    """

    def __init__(
        self,
        policy: Policy,
        take: Callable[[Policy], object],
        told: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._policy = policy
        self._take = take
        self._told = told
        # The file may have changed since it was read: the first look reads it again.
        self._stamp: Stamp = NEVER
        self.is_in_force = True
        """Whether what is served is what stands in the file."""

    def look(self) -> None:
        """Look whether the file has changed, and if so what it says now."""
        stamp = _stamp(self._policy.path)
        if stamp == self._stamp:
            return
        is_first = self._stamp == NEVER
        self._stamp = stamp
        try:
            found = read_policy(self._policy.path)
        except PostriError as error:
            self._refuse(error)
            return
        # The next edit is compared with what is served, not with what waits for a restart.
        served = replace(self._policy, datasets=found.datasets)
        names = sorted(_changed(self._policy, found))
        waits = _without_datasets(served) != _without_datasets(found)
        if is_first and not names and not waits:
            return
        self._policy = served
        self._take(served)
        self.is_in_force = not waits
        log("policy_taken", datasets=names, restart_needed=waits)
        self._told("taken")

    def _refuse(self, error: PostriError) -> None:
        lines: list[int] = []
        if isinstance(error, PolicyError):
            lines = [problem.line for problem in error.problems]
        self.is_in_force = False
        # The words may hold what stands in the file, which is no business of a log.
        log(
            "policy_refused",
            logging.ERROR,
            lines=lines,
            what="the policy before this edit stays in force; 'postri check' says what is wrong",
        )
        self._told("refused")

    async def keep(self, do: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
        """Look again and again, until this is cancelled. `do` does it where it holds up nobody."""
        while True:
            await asyncio.sleep(PACE)
            await do(self.look)


def _stamp(path: Path) -> Stamp:
    """What changes when a file is written or put in the place of another; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _without_datasets(policy: Policy) -> Policy:
    return replace(policy, datasets={}, ledger_line=0, head_line=0)


def _changed(old: Policy, new: Policy) -> set[str]:
    """The datasets of which the two say something else, wherever in the file it stands."""
    before, after = (
        {name: dataset.unplaced() for name, dataset in policy.datasets.items()}
        for policy in (old, new)
    )
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}
