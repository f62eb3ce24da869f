"""What all requests share: the policy, its ledger, the tokens, and the threads that answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from postri.engines.table import Table
from postri.errors import PolicyError, PostriError, SourceError
from postri.ledger import SqliteLedger
from postri.policy import Dataset, Policy
from postri.session.local import LocalSession
from postri.web.limits import Rate, Scans
from postri.web.readiness import Readiness
from postri.web.timing import TimeGrid
from postri.web.tokens import Token, Tokens

Value = TypeVar("Value")

# Threads for what is short: tokens, prices, budgets, histories.
SHORT = 8


class ServedSession(LocalSession):
    """A session that tells nothing of where the data are, whatever goes wrong with them."""

    def _open(self, dataset: Dataset) -> Table:
        try:
            return super()._open(dataset)
        except PolicyError:
            raise
        except PostriError:
            pass
        # Raised outside that block, so that the message stays out of the chain.
        raise SourceError(
            f"the data of {dataset.name!r} cannot be opened; the steward finds out why with "
            "'postri check'"
        )


class Service:
    """A policy that is served."""

    def __init__(self, policy: Policy, ledger: SqliteLedger, tokens: Tokens) -> None:
        how = policy.service
        self.policy, self.ledger, self.tokens = policy, ledger, tokens
        self.scans = Scans(how.scans, how.waiting, float(how.scan_timeout))
        self.grid, self.rate = TimeGrid(float(how.time_grid)), Rate(how.rate)
        self.threads = CapacityLimiter(SHORT)
        folders = {file.parent for file in (policy.ledger, policy.head) if file is not None}
        self.readiness = Readiness(
            folders, lambda: (ledger.history("", limit=1), tokens.allowances())
        )

    def session(self, token: Token) -> LocalSession:
        """The session of whoever has this token."""
        return ServedSession(self.policy, self.ledger, token.name, allowance=token.allowance)

    async def do(self, work: Callable[..., Value], *given: object) -> Value:
        """Do something short on a thread: it may wait for the disk."""
        return await to_thread.run_sync(partial(work, *given), limiter=self.threads)

    def close(self) -> None:
        """Let go of the files."""
        self.ledger.close()
        self.tokens.close()
