"""What all requests share: the policy, its ledger, the tokens, the threads that answer, and whether
the service can answer at all.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from shutil import disk_usage
from threading import BoundedSemaphore, Event, Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter, to_thread

from postri import system
from postri.answer import Result
from postri.answer.forms import json_text
from postri.engines.process.engine import QuestionScans
from postri.engines.process.pool import Workers, share_of_memory
from postri.engines.progress import check_cancelled, waiting_for_others
from postri.engines.staying import Staying
from postri.engines.table import Table
from postri.errors import LedgerError, PolicyError, PostriError, SourceError, missing_extra
from postri.ledger import AskedQuestion, StoredLedger, View, is_database
from postri.mechanisms.coins import secret_bytes
from postri.policy import Dataset, Policy
from postri.policy.model import OidcPolicy
from postri.question import Wording
from postri.session.local import LocalSession
from postri.session.parsed import ParsedWording
from postri.session.release import AT_ONCE, Release
from postri.session.session import answer_number, check_limit
from postri.session.wire import history_text, past_fields
from postri.web.limits import OwnRate, Rate, SharedRate
from postri.web.metrics import Metrics
from postri.web.past_texts import PastText, PastTexts
from postri.web.policy_file import PACE, PolicyFile
from postri.web.queues import FairQueue
from postri.web.scans import GRACE, Scans
from postri.web.time_grid import Departure, PublicView, TimeGrid
from postri.web.tokens import PREFIX, Token, Tokens

if TYPE_CHECKING:
    from postri.web.database import ServiceDatabase
    from postri.web.oidc import Issuer

Value = TypeVar("Value")

# Threads for what is short, apart from one another: one kind never waits for another.
TOKENS = 4
SHORT = 8
PROBES = 1
# Whoever verifies the ledger reads all of it: one at a time, and nobody else waits for that.
AUDITS = 1
# Threads for long lists, such as histories, which are shared fairly: how many, how many requests
# may wait, and how many of each name.
LISTS = 2
LISTS_WAITING = 64
LISTS_WAITING_EACH = 16
# How many answers may wait until their texts for the history are made ready; others are made when
# somebody reads them.
TEXTS_WAITING = 256
# How often the thread that makes them looks whether somebody still asks, in seconds.
QUIET = 0.05
# Less room on the disk than this is no room: a few entries and the journal must fit.
LEAST_ROOM = 1 << 20
PROBE = b"\0" * 4096
# Who asks often gets the last finding, for each probe waits for the disk. In seconds.
FRESH = 1.0
FULL = "the disk of the ledger is full"
UNWRITABLE = "the folder of the ledger cannot be written"
UNREADABLE = "the ledger or the file of tokens cannot be read"


class ServedSession(LocalSession):
    """A session that counts in a process of its own, tells nothing of where the data are, whatever
    goes wrong with them, and of the ledger no more than the service tells all.

    One question at a time.
    """

    def __init__(self, service: Service, token: Token, release: Release) -> None:
        # An edit of the policy meanwhile is for the next question.
        policy, self._texts, self._connections = service.served
        super().__init__(
            policy,
            service.ledger,
            token.name,
            allowance=service.allowance(token),
            release=release,
        )
        self._datasets = {
            name: dataset for name, dataset in self._datasets.items() if token.opens(name)
        }
        self._service = service

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The recorded answer to the question, or a new one that is paid for."""
        workers = self._service.workers
        with self._service.place(), QuestionScans(workers, self._connections) as scans:
            self._opener = scans.open
            return super().answer(wording, retry)

    def _view(self) -> View:
        return self._service.public.now()

    def answers_text(self, before: str | None, limit: int) -> str:
        """A page of the history as JSON: texts that are ready, and those that are made now."""
        check_limit(limit)
        asked = self._ledger.asked(self.analyst, self._end(answer_number(before)), limit)
        ready = self._texts.of(self.analyst, asked)
        texts = [ready.get(each.number) or self._text_of(each) for each in asked]
        last = None
        if asked:
            last = str(asked[-1].number)
        return history_text(texts, limit, last)

    def _text_of(self, asked: AskedQuestion) -> str:
        texts = self._texts
        # One at a time: who wants the same page at the same time finds it made.
        with texts.filling:
            ready = texts.of(self.analyst, [asked])
            return ready.get(asked.number) or self._made_text(asked)

    def _made_text(self, asked: AskedQuestion, parsed: ParsedWording | None = None) -> str:
        """The text of one past answer, kept ready if nothing will change it."""
        (found,) = self._ledger.history(self.analyst, asked.number + 1, 1)
        past = self._past_answer(found, parsed)
        text = json_text(past_fields(past))
        if past.status == "answered":
            self._texts.keep(self.analyst, asked, PastText(past.dataset, text))
        return text

    def _handed(self, words: str, parsed: ParsedWording, answer_id: str) -> None:
        # The reply does not wait for it.
        self._service.later(partial(self._ready_text, words, parsed, answer_id))

    def _ready_text(self, words: str, parsed: ParsedWording, answer_id: str) -> None:
        number = int(answer_id)
        for asked in self._ledger.asked(self.analyst, number + 1, 1):
            # The history keeps the words in which an analyst asked a question first.
            is_first = (asked.number, asked.wording) == (number, words)
            if is_first and not self._texts.of(self.analyst, [asked]):
                self._made_text(asked, parsed)

    def _open(self, dataset: Dataset) -> Table:
        try:
            return super()._open(dataset)
        except PolicyError:
            raise
        except PostriError:
            pass
        check_cancelled()
        # Raised outside that block, so that the message stays out of the chain.
        raise SourceError(
            f"the data of {dataset.name!r} cannot be opened; the steward finds out why with "
            "'postri check'"
        )


class Service:
    """A policy that is served."""

    def __init__(
        self,
        policy: Policy,
        ledger: StoredLedger,
        tokens: Tokens,
        workers: Workers | None = None,
    ) -> None:
        limits = policy.service
        self.served = (policy, PastTexts(policy.past_texts, policy), _connections())
        """The policy that is in force, the past answers under it, and the connections to its
        sources that stay open: all change at once.
        """
        self.ledger = ledger
        self.tokens = tokens
        # Workers that somebody else made are theirs to end.
        self._is_owner = workers is None
        self.workers = workers or Workers(limits.memory or share_of_memory(limits.scans))
        self.scans = Scans(
            limits.scans,
            limits.waiting,
            limits.waiting_each,
            float(limits.scan_timeout),
        )
        self.grid = TimeGrid(
            float(limits.time_grid),
            longest=float(limits.scan_timeout) + GRACE,
            period=float(limits.answers),
        )
        self._shared = _shared_by_services(policy)
        self.public = PublicView(ledger, float(limits.time_grid), self._shared)
        self._ending = Event()
        self._rate = self._rate_of(limits.rate)
        self._file = PolicyFile(policy, self._take, self._count_change)
        self.metrics = Metrics(self._gauges)
        self._issuer = _issuer(limits.oidc, self._count_fetch)
        self._issuer_threads = CapacityLimiter(TOKENS)
        self._token_threads = CapacityLimiter(TOKENS)
        self._short_threads = CapacityLimiter(SHORT)
        self._probe_threads = CapacityLimiter(PROBES)
        self._audit_threads = CapacityLimiter(AUDITS)
        self._list_threads = CapacityLimiter(LISTS)
        self._texts_thread = ThreadPoolExecutor(1, "texts")
        self._texts_to_make = BoundedSemaphore(TEXTS_WAITING)
        self._is_closed = False
        self._lists = FairQueue(LISTS, LISTS_WAITING, LISTS_WAITING_EACH)
        folders = {file.parent for file in policy.ledger_files}
        self.readiness = Readiness(
            folders, lambda: (ledger.history("", limit=1), tokens.allowances())
        )

    @property
    def policy(self) -> Policy:
        """The policy that is in force."""
        return self.served[0]

    async def identify(self, text: str) -> Token | None:
        """Whose token a text is: one of ours, or of the policy's issuer; None if it is none.

        The two have threads of their own, for an issuer may keep those waiting who name it.
        """
        if self._issuer is None or text.startswith(PREFIX):
            is_told, token = self.tokens.verify_at_once(text)
            if is_told:
                return token
            return await to_thread.run_sync(self.tokens.verify, text, limiter=self._token_threads)
        token = await to_thread.run_sync(self._issuer.verify, text, limiter=self._issuer_threads)
        if token is None:
            return None
        return replace(token, allowance=await self.do(self.tokens.allowance_of, token.name))

    def _rate_of(self, per_minute: int) -> Rate:
        if self._shared is None:
            return OwnRate(per_minute)
        return SharedRate(per_minute, self._shared)

    async def admit(self, token: Token) -> None:
        """Let in one request of whoever has this token; refused if there were too many."""
        if self._shared is None:
            self._rate.take(token.id)
            return
        await to_thread.run_sync(self._rate.take, token.id, limiter=self._token_threads)

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place among those that all services on the ledger have together, for a question that
        has one of this service. Its time does not run while it waits.
        """
        if self._shared is None:
            yield
            return
        with ExitStack() as held:
            with waiting_for_others():
                place = self._shared.place(self.policy.service.scans, check_cancelled)
                held.enter_context(place)
            yield

    def session(self, token: Token, release: Release = AT_ONCE) -> ServedSession:
        """The session of whoever has this token: it knows of no other datasets."""
        return ServedSession(self, token, release)

    def allowance(self, token: Token) -> Fraction | None:
        """What its name may spend on each dataset: that of an analyst who has none is the
        policy's.
        """
        if token.allowance is None and token.role == "analyst":
            return self.policy.service.allowance
        return token.allowance

    def departure(self) -> Departure:
        """The release of a question that is whole now."""
        return Departure(self.grid, self._ending)

    async def do(self, work: Callable[..., Value], *given: object) -> Value:
        """Do something short on a thread: it may wait for the disk."""
        return await to_thread.run_sync(partial(work, *given), limiter=self._short_threads)

    async def reply_leaves(self) -> None:
        """Before a reply leaves: who has it finds its question in the history and in the budget."""
        # Without a grid everybody looks for themselves.
        if self.public.has_grid:
            await self.do(self.public.reply_leaves)

    def later(self, work: Callable[[], object]) -> None:
        """Do something on a thread of its own when no question runs, and whether it fails or not;
        or not at all, if much of it waits already.
        """
        if not self._texts_to_make.acquire(blocking=False):
            return

        def do() -> None:
            # Whoever asks goes first: a text that is not ready is made when it is looked at. A
            # question runs until its reply may leave, so nobody learns how long a scan took.
            while self.scans.running and not self._is_closed:
                sleep(QUIET)
            with suppress(Exception):
                work()

        # A service that ends does nothing later.
        with suppress(RuntimeError):
            made = self._texts_thread.submit(do)
            made.add_done_callback(lambda _: self._texts_to_make.release())

    async def listing(self, name: str, work: Callable[..., Value], *given: object) -> Value:
        """Make a list that may be long, for the analyst or steward of this name."""
        async with self._lists.turn(name):
            return await to_thread.run_sync(partial(work, *given), limiter=self._list_threads)

    async def audit(self, work: Callable[..., Value], *given: object) -> Value:
        """Do something that reads the whole ledger, when no other such work is under way."""
        return await to_thread.run_sync(partial(work, *given), limiter=self._audit_threads)

    async def trouble(self) -> str | None:
        """Why no question could be paid for now; None if all is well."""
        return await to_thread.run_sync(self.readiness.trouble, limiter=self._probe_threads)

    def watches(self) -> list[Coroutine[Any, Any, None]]:
        """What goes on until it is cancelled: the ledger is shown as it is at every point of the
        grid, counters at fixed times, an edit of the policy or of allowances is found, and
        connections are closed that nobody needs.
        """
        return [
            self.public.keep(self.do),
            self.metrics.keep(),
            self._file.keep(self.do),
            self._keep_allowances(),
            self._keep_connections(),
        ]

    def _take(self, policy: Policy) -> None:
        _, texts, connections = self.served
        self.served = (policy, texts.under(policy), _connections())
        # Questions that go on under the old policy close theirs at their end.
        connections.close()
        self.workers.let_go()
        self.ledger.say_again()

    async def _keep_allowances(self) -> None:
        """Find allowances that were changed by another service: one that was raised and lowered
        again is no other policy than ours.
        """
        known = None
        while True:
            with suppress(LedgerError):
                found = await self.do(self.tokens.allowances)
                if found != known:
                    self.ledger.say_again()
                known = found
            await asyncio.sleep(PACE)

    async def _keep_connections(self) -> None:
        """Close connections to sources that nobody has needed for long."""
        while True:
            await asyncio.sleep(PACE)
            await self.do(self.served[2].expire)

    def _count_change(self, outcome: str) -> None:
        self.metrics.count("postri_policy_changes_total", outcome=outcome)

    def _count_fetch(self, outcome: str) -> None:
        self.metrics.count("postri_oidc_fetches_total", outcome=outcome)

    def _gauges(self) -> dict[str, int]:
        return {
            "postri_questions_running": self.scans.queue.taken,
            "postri_questions_waiting": self.scans.queue.waiting,
            "postri_questions_places": self.scans.queue.places,
            "postri_policy_in_force": int(self._file.is_in_force),
        }

    def cut_off(self) -> None:
        """End now: cancel what is still counted, and let go what waits for its point."""
        self._ending.set()
        self.scans.cancel()

    def close(self) -> None:
        """Let go of the files."""
        self._is_closed = True
        if self._is_owner:
            self.workers.close()
        self._texts_thread.shutdown(cancel_futures=True)
        self.ledger.close()
        self.tokens.close()
        self.served[1].close()
        self.served[2].close()
        if self._shared is not None:
            self._shared.close()


def _connections() -> Staying[Any]:
    return Staying(close=lambda connection: connection.close())


def _shared_by_services(policy: Policy) -> ServiceDatabase | None:
    """What other services on the same ledger change too, if it lies in a database."""
    if not is_database(policy.ledger):
        return None
    from postri.web.database import ServiceDatabase

    return ServiceDatabase(str(policy.ledger))


def _issuer(policy: OidcPolicy | None, told: Callable[[str], object]) -> Issuer | None:
    """Who verifies tokens of the policy's issuer, if it names one."""
    if policy is None:
        return None
    try:
        from postri.web.oidc import Issuer, IssuerKeys, fetch_keys
    except ModuleNotFoundError:
        raise missing_extra("OpenID Connect", "pyjwt", "oidc") from None
    return Issuer(policy, IssuerKeys(partial(fetch_keys, policy.issuer), told))


class Readiness:
    """Finds out whether questions could be paid for now: from a ledger that can be read, and
    folders that can be written. `look` reads the ledger.
    """

    def __init__(self, folders: set[Path], look: Callable[[], object]) -> None:
        self._folders = folders
        self._look = look
        self._found: tuple[float, str | None] | None = None
        self._lock = Lock()

    def trouble(self) -> str | None:
        """What is wrong, in plain words without a path; None if all is well."""
        with self._lock:
            if self._found is None or monotonic() - self._found[0] > FRESH:
                self._found = (monotonic(), self._probe())
            return self._found[1]

    def _probe(self) -> str | None:
        try:
            for folder in self._folders:
                _write(folder)
            self._look()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return FULL
            return UNWRITABLE
        except PostriError:
            return UNREADABLE
        return None


def _write(folder: Path) -> None:
    """Write a little, down to the disk, and take it away again."""
    # A name that nobody can have prepared.
    place = folder / f".postri-probe-{secret_bytes(8).hex()}"
    try:
        file = system.create(place)
        try:
            os.write(file, PROBE)
            os.fsync(file)
        finally:
            os.close(file)
    finally:
        place.unlink(missing_ok=True)
    if disk_usage(folder).free < LEAST_ROOM:
        raise OSError(errno.ENOSPC, "too little room")
