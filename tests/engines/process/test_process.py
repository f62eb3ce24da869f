"""Scans in processes of their own: the same counts and errors as here, and nothing left behind."""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import subprocess
import sys
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow.csv as pc
import pytest

from bank import COLUMNS, bank, dataset_text, in_duckdb, write_policy
from postri import EngineError, InputError, SeededCoins, SourceError
from postri.engines import duckdb as duckdb_kind
from postri.engines.process import pool
from postri.engines.process.engine import ProcessEngine, QuestionScans
from postri.engines.process.pool import Workers, share_of_memory
from postri.engines.process.worker import Desk
from postri.engines.progress import Cancel, cancelled_by
from postri.engines.rows import Rows, Units
from postri.grid import grid_of
from postri.ledger import SqliteLedger
from postri.policy import open_dataset, read_policy
from postri.session import LocalSession
from postri.window import Target
from proving import sized
from services.odd_worker import odd_program

pytestmark = pytest.mark.slow

MEMORY = 10**9
# A guard against waiting for ever, in seconds.
PATIENCE = 60
QUESTIONS = (
    "SELECT job, MEDIAN(balance) AS mid, AVG(age) AS old, COUNT(*) AS n FROM bank "
    "WHERE age < 60 AND job LIKE '%e_%' GROUP BY job",
    "SELECT QUANTILE(balance - 10 * age, 0.9) AS high, SUM(age) AS years FROM bank",
    "SELECT MEDIAN(since) AS day, MEDIAN(rate) AS rate FROM bank WHERE balance BETWEEN 0 AND 999",
)
PERSONS = 'change = "add-or-remove-units", unit = "secret", rows = 150'


def is_running(process: int) -> bool:
    """Whether a process runs; one that has ended and waits to be counted does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def workers():
    workers = Workers(MEMORY)
    yield workers
    workers.close()


class WorkerSession(LocalSession):
    """A session that counts in a worker."""

    def __init__(self, workers, *given, **how):
        super().__init__(*given, **how)
        self._workers = workers

    def answer(self, wording, retry=None):
        with QuestionScans(self._workers) as scans:
            self._opener = scans.open
            return super().answer(wording, retry)


def as_csv(folder: Path) -> Path:
    folder.mkdir()
    table = bank()
    pc.write_csv(table.drop_columns("vip"), folder / "bank.csv")
    columns = {name: text for name, text in COLUMNS.items() if name != "vip"}
    path = folder / "postri.toml"
    path.write_text(dataset_text(source="bank.csv", columns=columns))
    return path


def persons(folder: Path) -> Path:
    path = write_policy(folder)
    path.write_text(dataset_text(protect=PERSONS))
    return path


POLICIES = {"parquet": write_policy, "duckdb": in_duckdb, "csv": as_csv, "persons": persons}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", POLICIES)
def test_the_same_coins_give_the_same_answers_as_here(name, tmp_path, workers):
    policy = read_policy(POLICIES[name](tmp_path / name))

    def coins():
        return SeededCoins(5)

    with SqliteLedger(policy.ledger, None) as ledger:
        here = LocalSession(policy, ledger, "ann", coins=coins)
        there = WorkerSession(workers, policy, ledger, "ann", coins=coins)
        for question in QUESTIONS:
            answers = [
                each.sql(question, epsilon="1/4", fresh=True).to_dict() for each in (here, there)
            ]
            for answer in answers:
                answer.pop("answer_id")
            assert answers[0] == answers[1]


def opened(policy, scans, dataset="bank"):
    return open_dataset(policy, policy.datasets[dataset], scans.open)


@pytest.mark.parametrize("name", ["parquet", "duckdb", "csv"])
def test_a_wider_window_comes_from_the_same_worker_and_snapshot(name, tmp_path, workers):
    policy = read_policy(POLICIES[name](tmp_path / name))
    with QuestionScans(workers) as scans:
        there, here = opened(policy, scans), open_dataset(policy, policy.datasets["bank"])
        grid = grid_of(here.type_of("balance"), policy.datasets["bank"].columns["balance"].domain)
        (process,) = (worker.process_id for worker in workers._busy)
        targets = [Target(Fraction(1, 2), 3)]
        with there.snapshot() as still:
            (windows,) = still.windows("balance", grid, targets)
            (expected,) = here.windows("balance", grid, targets)
            for level in (2, 0, 3):
                assert windows(level) == expected(level)
        assert [worker.process_id for worker in workers._busy] == [process]


@pytest.mark.parametrize("name", ["parquet", "duckdb", "csv"])
def test_counts_below_points_are_those_of_an_engine_here(name, tmp_path, workers):
    policy = read_policy(POLICIES[name](tmp_path / name))
    with QuestionScans(workers) as scans:
        there, here = opened(policy, scans), open_dataset(policy, policy.datasets["bank"])
        grid = grid_of(here.type_of("balance"), policy.datasets["bank"].columns["balance"].domain)
        points = np.linspace(grid.first + 1, grid.last, 3_000).astype(np.int64)
        with there.snapshot() as still:
            counts = still.counts_below("balance", grid, points)
        assert counts == here.counts_below("balance", grid, points)
        assert 0 < counts[0].counts[0] < counts[0].counts[-1] <= counts[0].n


def test_errors_are_those_of_an_engine_here(tmp_path, workers):
    policy = read_policy(write_policy(tmp_path))
    dataset = policy.datasets["bank"]
    with QuestionScans(workers) as scans:
        table = opened(policy, scans)
        with pytest.raises(InputError, match="there is no column 'balanse'; did you mean"):
            table.column("balanse")
        (policy.path.parent / "bank.parquet").rename(tmp_path / "gone.parquet")
        with pytest.raises(InputError) as there:
            opened(policy, scans)
        with pytest.raises(InputError) as here:
            open_dataset(policy, dataset)
        assert str(there.value) == str(here.value)
        (tmp_path / "bank.parquet").write_bytes(b"no such thing")
        with pytest.raises(SourceError, match="cannot open the file: it is damaged"):
            opened(policy, scans)


class TestStaying:
    """A source that says by its stamp that it is the same need not be opened anew."""

    @pytest.fixture
    def settled(self, monkeypatch):
        """Files count as settled as soon as they are written."""
        monkeypatch.setattr(duckdb_kind, "SETTLED", -(10**9))

    @pytest.fixture
    def openings(self, monkeypatch):
        """Which sources were opened, and not found open."""
        seen = []
        for kind in (duckdb_kind.FilesOfFormat, duckdb_kind.Databases):

            def watched(source, *given, opened=kind.open):
                seen.append(source.name)
                return opened(source, *given)

            monkeypatch.setattr(kind, "open", watched)
        return seen

    def ask(self, desk, policy):
        """A question by a worker's desk in this process: the columns and how many rows."""
        table = open_dataset(policy, policy.datasets["bank"], self.opener(desk))
        with table.snapshot() as still:
            found = list(still.columns), counted(still)
        desk.clear()
        return found

    def opener(self, desk):
        do = self.at(desk)
        numbers = itertools.count()
        worker = SimpleNamespace(
            call=do, tell=do, post=do, before=do, next_number=lambda: next(numbers)
        )
        return lambda kind, *given: ProcessEngine.opened(worker, kind.name, given)

    def at(self, desk):
        return lambda call, *given: getattr(desk, call)(*given)

    def test_parquet_files_are_opened_once(self, tmp_path, settled, openings):
        policy, desk = read_policy(write_policy(tmp_path)), Desk()
        answers = [self.ask(desk, policy) for _ in range(3)]
        assert openings == ["parquet"] and answers[0] == answers[1] == answers[2]
        desk.let_go()
        assert self.ask(desk, policy) == answers[0]
        assert openings == ["parquet"] * 2

    def test_a_file_that_changed_is_opened_anew(self, tmp_path, settled, openings):
        policy, desk = read_policy(write_policy(tmp_path)), Desk()
        columns, sizes = self.ask(desk, policy)
        file = tmp_path / "bank.parquet"
        more = f"SELECT *, 1 AS added FROM '{file}' LIMIT 1500"
        duckdb.sql(more).write_parquet(str(tmp_path / "other.parquet"))
        for replace in (Path.replace, shutil.copy):
            before = len(openings)
            replace(tmp_path / "other.parquet", file)
            found, rows = self.ask(desk, policy)
            assert len(openings) == before + 1
            assert rows == [1_500] and set(found) == {*columns, "added"}
            shutil.copy(file, tmp_path / "other.parquet")
        assert sizes == [2_000]

    def test_a_file_that_was_written_a_moment_ago_does_not_stay(self, tmp_path, openings):
        """It could be written again in the same tick of the clock."""
        policy, desk = read_policy(write_policy(tmp_path)), Desk()
        assert self.ask(desk, policy) == self.ask(desk, policy)
        assert openings == ["parquet"] * 2

    @pytest.mark.parametrize("name", ["csv", "duckdb"])
    def test_what_keeps_lines_or_locks_others_out_does_not_stay(
        self, name, tmp_path, settled, openings
    ):
        policy, desk = read_policy(POLICIES[name](tmp_path / name)), Desk()
        assert self.ask(desk, policy) == self.ask(desk, policy)
        assert openings == [name] * 2

    def test_nor_does_anything_of_a_question_that_failed(self, tmp_path, settled, openings):
        policy, desk = read_policy(write_policy(tmp_path)), Desk()
        open_dataset(policy, policy.datasets["bank"], self.opener(desk))
        desk.failed()
        desk.clear()
        self.ask(desk, policy)
        assert openings == ["parquet"] * 2

    def test_an_edit_of_the_policy_reaches_workers_that_wait_and_that_work(self, tmp_path, workers):
        policy = read_policy(write_policy(tmp_path))
        told = []
        with QuestionScans(workers) as scans:
            assert counted(opened(policy, scans)) == [2_000]
            (worker,) = workers._busy
            tell = worker.tell
            worker.tell = lambda *words: told.append(words[0]) or tell(*words)
            workers.let_go()
            assert "let_go" not in told
        assert told[-2:] == ["clear", "let_go"]
        told.clear()
        workers.let_go()
        assert told == ["clear", "let_go"]
        with QuestionScans(workers) as scans:
            assert counted(opened(policy, scans)) == [2_000]
        assert told[-1] == "clear"


def test_no_database_stays_open_between_questions(tmp_path, workers):
    """Somebody else may write the database then."""
    policy = read_policy(in_duckdb(tmp_path))
    with QuestionScans(workers) as scans:
        with opened(policy, scans).snapshot() as still:
            assert still.columns
        with pytest.raises(duckdb.IOException):
            duckdb.connect(str(tmp_path / "bank.duckdb"))
    duckdb.connect(str(tmp_path / "bank.duckdb")).close()


class TestTurns:
    """How often a worker is waited for."""

    @pytest.fixture
    def worker(self, workers):
        worker = workers.take()
        yield worker
        workers.give_back(worker)

    def test_what_goes_ahead_is_done_in_its_order_in_one_turn(self, tmp_path, worker, monkeypatch):
        policy = read_policy(write_policy(tmp_path))
        sent = []
        dumps = pickle.dumps

        def noted(calls, protocol):
            sent.append([call for call, _ in calls])
            return dumps(calls, protocol)

        monkeypatch.setattr(pool, "pickle", SimpleNamespace(**{**vars(pickle), "dumps": noted}))
        table = open_dataset(
            policy,
            policy.datasets["bank"],
            lambda kind, *given: ProcessEngine.opened(worker, kind.name, given),
        )
        with table.snapshot() as still:
            assert counted(still) == [2_000]
        assert counted(table) == [2_000]
        assert sent[:2] == [["open"], ["with_max_text", "ask"]]
        assert sent[-3:] == [["begin", "ask"], ["end"], ["ask"]]

    def test_what_fails_ahead_is_told_by_the_next_call_and_by_no_other(self, worker):
        worker.before("begin", worker.next_number(), -1)
        with pytest.raises(EngineError, match="KeyError"):
            worker.call("clear")
        assert worker.call("clear") is None

    def test_what_was_posted_and_failed_is_told_nobody(self, worker):
        worker.post("with_max_text", worker.next_number(), -1, 10)
        assert worker.call("clear") is None

    def test_nothing_of_a_question_goes_ahead_of_the_next_one(self, tmp_path, workers):
        with QuestionScans(workers) as scans:
            opened(read_policy(write_policy(tmp_path)), scans)
            (worker,) = workers._busy
            worker.before("begin", worker.next_number(), -1)
        assert workers.take() is worker
        assert worker.call("clear") is None
        workers.give_back(worker)


def counted(table):
    return table.sizes(None, table.bind(Rows()))


def odd(how, tmp_path, *, memory=MEMORY):
    place = tmp_path / "odd"
    place.touch()
    return Workers(memory, odd_program(how, place)), place


# A worker takes a second or two to start, so `make test` tries each source in one of both ways.
SOURCES_AND_WAYS = list(product(["parquet", "duckdb", "csv"], ["deaf", "locked"]))
NOT_LISTENING = sized(
    [("parquet", "deaf"), ("duckdb", "locked"), ("csv", "deaf")], SOURCES_AND_WAYS
)


@pytest.mark.parametrize(("name", "how"), NOT_LISTENING)
def test_what_does_not_listen_is_killed_when_it_is_cancelled(name, how, tmp_path):
    """Inside DuckDB, and inside what holds the interpreter's lock."""
    policy = read_policy(POLICIES[name](tmp_path / name))
    workers, place = odd(how, tmp_path)
    cancel = Cancel()
    try:
        with QuestionScans(workers) as scans, cancelled_by(cancel):
            place.unlink()
            table = opened(policy, scans)
            place.touch()
            (worker,) = workers.alive
            Timer(0.5, cancel.now, [InputError("stop")]).start()
            with pytest.raises(InputError, match="stop"):
                counted(table)
            until(lambda: not is_running(worker.process_id))
        place.unlink()
        with QuestionScans(workers) as scans:
            assert counted(opened(policy, scans)) == [2_000]
            assert [each.process_id for each in workers.alive] != [worker.process_id]
    finally:
        workers.close()


@pytest.mark.parametrize("how", ["killed", "hungry", "strange", "broken"])
def test_whatever_goes_wrong_in_a_worker_is_a_failure_of_the_engine(how, tmp_path):
    """It dies, or asks for more memory than it may have, or says what nobody may hear."""
    policy = read_policy(write_policy(tmp_path / "bank"))
    workers, place = odd(how, tmp_path)
    place.write_text("cell 4711")
    try:
        with QuestionScans(workers) as scans:
            table = opened(policy, scans)
            with pytest.raises(EngineError) as caught:
                counted(table)
            assert "4711" not in repr(caught.value)
            assert caught.value.__cause__ is None
        place.unlink()
        with QuestionScans(workers) as scans:
            assert counted(opened(policy, scans)) == [2_000]
    finally:
        workers.close()


def test_duckdb_keeps_to_its_memory(tmp_path):
    """A query that needs more fails, as any other may, and the next one does not."""
    path = in_duckdb(tmp_path)
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE many AS SELECT range AS person, 1 AS x FROM range(3000000)"
        )
    protect = 'change = "add-or-remove-units", unit = "person", rows = 1'
    columns = {"x": 'type = "integer"\nlower = 0\nupper = 9'}
    many = dataset_text(
        "many", source="bank.duckdb", table="main.many", protect=protect, columns=columns
    )
    path.write_text(path.read_text() + many)
    policy = read_policy(path)
    workers = Workers(100_000_000)
    try:
        with QuestionScans(workers) as scans:
            table = opened(policy, scans, "many")
            bound = table.bind(Rows(units=Units("person", 1)))
            with pytest.raises(EngineError, match="DuckDB failed while it counted"):
                table.sizes(None, bound)
            assert counted(opened(policy, scans)) == [2_000]
    finally:
        workers.close()


def test_a_program_that_is_not_there_is_a_failure_of_the_engine():
    with pytest.raises(EngineError, match="no process could be started"):
        Workers(MEMORY, ["/no/such/program"]).take()


def test_all_workers_together_leave_memory_to_others():
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert share_of_memory(1) == machine * 4 // 5
    assert 4 * share_of_memory(4) <= machine * 4 // 5
    assert share_of_memory(10**9) == 100_000_000


def test_a_worker_holds_no_coins():
    """Nor anything else that could randomise or spend."""
    code = (
        "import sys; import postri.engines.process.worker; "
        "print([name for name in sys.modules if name.startswith('postri.')])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert "postri.engines.duckdb.source" in loaded
    for name in ("mechanisms", "methods", "ledger", "session", "policy", "privacy"):
        assert f"'postri.{name}" not in loaded


PARENT = """
import sys
from pathlib import Path
from postri.engines.process import pool
from postri.engines.process.engine import QuestionScans
from postri.engines.process.pool import Workers, share_of_memory
from postri.engines.rows import Rows
from postri.policy import open_dataset, read_policy
from services.odd_worker import odd_program

workers = Workers(10**9, odd_program("locked", Path(sys.argv[1])))
workers.warm(2)
policy = read_policy(sys.argv[2])
with QuestionScans(workers) as scans:
    table = open_dataset(policy, policy.datasets["bank"], scans.open)
    print(*(worker.process_id for worker in workers.alive), flush=True)
    table.sizes(None, table.bind(Rows()))
"""


def test_no_worker_outlives_whoever_started_it(tmp_path):
    """However that ends, and even if the worker holds the interpreter's lock."""
    place = tmp_path / "odd"
    place.touch()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", PARENT, str(place), str(write_policy(tmp_path))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as parent:
        try:
            processes = list(map(int, parent.stdout.readline().split()))
            until(place.with_suffix(".waiting").exists)
            assert len(processes) == 2 and all(map(is_running, processes))
        finally:
            parent.kill()
    until(lambda: not any(map(is_running, processes)))
