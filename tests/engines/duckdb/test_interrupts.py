"""A Ctrl-C that DuckDB hears before Python is a Ctrl-C all the same, wherever it comes."""

from __future__ import annotations

import _thread
import signal
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import duckdb
import pytest

from postri import SeededCoins, SourceError, median
from postri.engines.duckdb import source
from postri.engines.engine import SMALL
from postri.engines.table import Table

pytestmark = pytest.mark.slow

SETTING = "SELECT current_setting('perfect_ht_threshold')"
# Many short steps, for DuckDB listens between two.
STEPS = " UNION ALL ".join(f"SELECT sum(range) FROM range({100_000 + i})" for i in range(600))


class Interrupted:
    """A connection that hears a Ctrl-C in one of its statements, after or instead of its work."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, which: int, is_done: bool) -> None:
        self._connection, self._left, self._is_done = connection, which, is_done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, *words: Any) -> Any:
        self._left -= 1
        if self._left == -1:
            if self._is_done:
                self._connection.execute(*words)
            raise RuntimeError(source.INTERRUPTED)
        return self._connection.execute(*words)

    @property
    def is_over(self) -> bool:
        """Whether it was interrupted."""
        return self._left < 0


class Relation:
    """The relation of a table, on such a connection."""

    def __init__(self, relation: duckdb.DuckDBPyRelation, connection: Interrupted) -> None:
        self._relation, self._con = relation, connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._relation, name)


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE trips AS SELECT (i * 7919) % 10007 AS x FROM range({SMALL + 1}) AS n(i)"
        )
        yield connection


def raised(work: Callable[[], object]) -> BaseException | None:
    """What comes of it, an interrupt too."""
    try:
        work()
    except BaseException as error:
        return error
    return None


@pytest.mark.parametrize("is_done", [False, True])
def test_wherever_it_comes_it_is_raised_and_the_connection_is_as_it_was(connection, is_done):
    connection.execute("SET perfect_ht_threshold = 9")
    for which in range(100):
        interrupted = Interrupted(connection, which, is_done)
        relation = Relation(connection.table("trips"), interrupted)

        def asked(relation=relation) -> object:
            engine = source.relation_engine(relation)
            return median(Table(engine), "x", epsilon=1, coins=SeededCoins(1))

        came = raised(asked)
        assert connection.execute(SETTING).fetchall() == [(9,)]
        first, second = (connection.execute(source.TRANSACTION).fetchall() for _ in range(2))
        assert first != second, "a transaction is open"
        assert not source._in_arrays
        if not interrupted.is_over:
            assert came is None
            break
        assert isinstance(came, KeyboardInterrupt), f"lost in statement {which}: {came!r}"
    # A question has more than a few statements of its own beside its scans.
    assert which > 5


@pytest.fixture
def pythons_own_handler():
    """Of Ctrl-C: a session of Spark puts its own in the place, and a file may come after one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("pythons_own_handler")
def test_duckdb_tells_of_it_in_these_words(connection):
    """It hears most of them; what comes before or at the end of a query Python hears itself, and
    another one is tried at another tenth of the time that the query takes. That DuckDB hears none
    of 50 happens less often than once in a million runs, if it hears one of four.
    """

    def counted(wait: float) -> None:
        over = Event()
        alarm = Thread(target=interrupt_after, args=(wait, over))
        alarm.start()
        connection.execute(STEPS).fetchall()
        over.set()
        alarm.join()
        # If it came too late for the query, Python hears it now.
        sleep(0.01)

    start = monotonic()
    connection.execute(STEPS).fetchall()
    takes = monotonic() - start
    came: BaseException | None = None
    for turn in range(50):
        came = raised(partial(counted, takes * (turn % 9 + 1) / 10))
        if isinstance(came, RuntimeError):
            break
    assert type(came) is RuntimeError
    assert str(came) == source.INTERRUPTED


def interrupt_after(wait: float, over: Event) -> None:
    """As Ctrl-C does it, unless the query of the main thread is over by then."""
    if not over.wait(wait):
        _thread.interrupt_main()


def test_an_interrupt_is_no_failure_of_the_file():
    def interrupted() -> object:
        raise RuntimeError(source.INTERRUPTED)

    with pytest.raises(KeyboardInterrupt):
        source.quietly(interrupted, SourceError("cannot open the file"))


def test_another_error_of_this_kind_stays_what_it_is():
    with pytest.raises(RuntimeError, match="another"), source.hearing_interrupts():
        raise RuntimeError("another")
