"""A timeout is real: what does not listen is gone when its time is over, and nobody else waits for
it any longer than that.
"""

from __future__ import annotations

import os
import signal
from itertools import product
from pathlib import Path

import pytest
from serving import (
    QUESTION,
    Process,
    in_thread,
    odd_workers,
    token_of,
    until,
    write_policy,
)

from bank import dataset_text
from postri.ledger import verify
from postri.web.refusals import Timeout
from proving import sized

pytestmark = pytest.mark.slow

# No time runs out by itself, however busy the machine is: `time_is_over` says when.
LONG = "scan_timeout = 86400"
NUMBERS = {"x": 'type = "integer"\nlower = 0\nupper = 100'}


def is_running(process: int) -> bool:
    """Whether a process runs; one that has ended and waits to be counted does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def asks(dataset: str) -> dict[str, object]:
    return {"dataset": dataset, "aggregates": {"n": "count()"}, "epsilon": "1/2"}


def write_files(folder: Path, *, service: str, more: str = "") -> Path:
    """The usual policy, with the same rows as a CSV file beside the database, and `more`."""
    path = write_policy(folder, service=service)
    (folder / "rows.csv").write_text("x\n" + "".join(f"{i % 97}\n" for i in range(400)))
    rows = dataset_text("rows", source="rows.csv", rows=400, columns=NUMBERS)
    path.write_text(path.read_text() + rows + more)
    return path


def time_is_over(questions) -> None:
    """What the clock does when a question has had its time."""
    for question in questions:
        question.stop(Timeout)


def failed(reply) -> bool:
    """Whether a question failed and was paid for."""
    return (reply.status, reply.json["spent"]) == (502, True)


# Each dataset in one of both ways, or in both.
NOT_LISTENING = sized(
    [("bank", "locked"), ("rows", "deaf")], list(product(["bank", "rows"], ["deaf", "locked"]))
)


@pytest.mark.parametrize(("dataset", "how"), NOT_LISTENING)
def test_a_scan_that_does_not_listen_is_gone_after_its_time(how, dataset, tmp_path):
    """The pattern that costs text times pattern, on one row, forced past every guard."""
    place = tmp_path / "odd"
    path = write_files(tmp_path, service=LONG)
    with odd_workers(how, place) as workers, in_thread(path, workers) as served:
        workers.warm(2)
        place.touch()
        asked = served.later(served.ann, asks(dataset))
        until(place.with_suffix(".waiting").exists)
        before = [worker.process_id for worker in workers.alive]
        time_is_over(served.service.scans._questions)
        assert failed(asked.reply())
        until(lambda: served.service.scans.running == 0)
        # Nobody but the one that was busy is gone.
        until(lambda: sum(map(is_running, before)) == 1)
        place.unlink()
        assert served.ask(served.ann, {**asks(dataset), "epsilon": "1/4"}).status == 200
        assert verify(served.service.ledger) == []


def test_four_of_them_delay_nobody_beyond_their_time(tmp_path):
    """Each takes one of the four places until its time is over; then somebody else's question is
    answered.
    """
    others = "".join(
        dataset_text(f"rows{i}", source=f"rows{i}.csv", rows=400, columns=NUMBERS) for i in range(4)
    )
    path = write_files(tmp_path, service=LONG, more=others)
    for i in range(4):
        (tmp_path / f"rows{i}.csv").write_text("x\n1\n2\n")
    place = tmp_path / "odd"
    place.touch()
    with odd_workers("deaf", place) as workers, in_thread(path, workers) as served:
        asked = [served.later(served.ann, asks(f"rows{i}")) for i in range(4)]
        until(lambda: len(served.service.ledger.history("ann")) == 4)
        deaf = {worker.process_id for worker in workers.alive}
        questions = list(served.service.scans._questions)
        innocent = served.later(served.token("bob"))
        until(lambda: served.service.scans.running == 5)
        until(lambda: len(list(tmp_path.glob("odd.waiting-*"))) == 4)
        place.unlink()
        time_is_over(questions)
        assert innocent.reply().status == 200
        assert all(failed(each.reply()) for each in asked)
        until(lambda: not any(map(is_running, deaf)))


def test_a_worker_that_is_killed_leaves_a_failed_question_and_a_working_service(tmp_path):
    place = tmp_path / "gate"
    path = write_policy(tmp_path)
    with odd_workers("wait", place) as workers, in_thread(path, workers) as served:
        asked = served.later(served.ann, QUESTION)
        until(place.with_suffix(".waiting").exists)
        (worker,) = workers.alive
        os.kill(worker.process_id, signal.SIGKILL)
        assert failed(asked.reply())
        (past,) = served.service.ledger.history("ann")
        assert (past.reason, past.answer_text) == ("EngineError", None)
        place.touch()
        assert served.ask(served.ann, {**QUESTION, "epsilon": "1/4"}).status == 200
        # One that dies while nobody needs it is not missed.
        (worker,) = workers.alive
        os.kill(worker.process_id, signal.SIGKILL)
        until(lambda: not worker.is_alive)
        assert served.ask(served.ann, {**QUESTION, "epsilon": "1/8"}).status == 200
        assert verify(served.service.ledger) == []


def children_of(process: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == process and words[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_the_service(sent, start, tmp_path):
    path = write_policy(tmp_path)
    ann = token_of(path, "ann")
    # A warm start has no children of its own: its workers are forked as it was.
    process: Process = start(path, is_cold=True)
    assert process.ask(ann).status == 200
    workers = children_of(process.process.pid)
    assert workers
    process.signal(sent)
    process.wait()
    until(lambda: not any(map(is_running, workers)))


def test_a_server_that_does_not_end_a_query_postgres(tmp_path, postgres):
    """PostgreSQL is told to cancel it, and the next question is answered."""
    postgres.run(
        "DROP TABLE IF EXISTS sleepers",
        "CREATE TABLE sleepers AS SELECT 1 AS x",
        "DROP VIEW IF EXISTS sleeping",
        "CREATE VIEW sleeping AS SELECT x + length(pg_sleep(1200)::text) AS x FROM sleepers",
    )
    both = "".join(
        dataset_text(
            name, source=postgres.url(), table=f"public.{name}", more=more, columns=NUMBERS
        )
        for name, more in (("sleepers", ""), ("sleeping", "vouched = true"))
    )
    path = write_files(tmp_path, service=f"{LONG}\nscans = 1", more=both)
    with in_thread(path) as served:
        asked = served.later(served.ann, {**asks("sleeping"), "aggregates": {"n": "median(x)"}})
        until(lambda: running(postgres))
        (question,) = served.service.scans._questions
        innocent = served.later(served.token("bob"), asks("sleepers"))
        until(lambda: served.service.scans.running == 2)
        time_is_over([question])
        assert failed(asked.reply())
        assert innocent.reply().status == 200
        until(lambda: not running(postgres))


def running(postgres) -> int:
    """How many queries of ours sleep in the server: those about its catalogue do not."""
    with postgres.connect() as connection:
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND "
            "application_name = 'postri'"
        )
        return connection.execute(query).fetchone()[0]
