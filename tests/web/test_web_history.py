"""The history is ready to serve: a page is read, and no question is parsed for it; and what is
served follows from ledger and policy, whatever lies in the file of texts.
"""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import wait
from contextlib import closing, contextmanager

import pytest
from serving import QUESTION, WORKERS, in_thread, odd_workers, until, write_policy
from test_web_limits import gate

from postri.answer.forms import json_text
from postri.errors import LedgerError, QuestionFailed
from postri.ledger import AskedQuestion, SqliteLedger
from postri.policy import read_policy
from postri.question import read_wording
from postri.session.past import CHANGED
from postri.session.wire import past_fields
from postri.web.past_texts import PastText, PastTexts
from postri.web.service import QUIET, ServedSession, Service
from postri.web.tokens import Tokens

SQL = {"sql": "SELECT city, COUNT(*) AS n FROM bank WHERE x < 40 GROUP BY city", "epsilon": "1/4"}


@contextmanager
def opened(path, workers=WORKERS):
    """The sessions of a policy's service, without a server."""
    policy = read_policy(path)
    with SqliteLedger(policy.ledger) as ledger, Tokens(policy.tokens) as tokens:
        service = Service(policy, ledger, tokens, workers)
        try:
            yield lambda name="ann": service.session(tokens.add(name, "analyst")[0])
        finally:
            service.close()


@pytest.fixture
def parsed(monkeypatch):
    """The wordings that were read or parsed since the list was cleared."""
    seen = []
    for name in ("_parsed", "_past_answer"):
        work = getattr(ServedSession, name)

        def counted(session, *given, work=work, name=name):
            seen.append(name)
            return work(session, *given)

        monkeypatch.setattr(ServedSession, name, counted)
    return seen


def page(session, **how):
    return session.answers_text(how.get("before"), how.get("limit", 50))


def page_made_anew(session):
    answers = json_text([past_fields(past) for past in session.answers()])
    return f'{{"answers": {answers}, "next": null}}'


def ask(session, question):
    result = session.answer(read_wording(question))
    texts_are_made(session._service)
    return result


def texts_are_made(service):
    """Wait for the thread that makes texts ready."""
    service._texts_thread.submit(lambda: None).result()


def texts_of(path):
    """How many texts are ready."""
    with closing(sqlite3.connect(read_policy(path).past_texts)) as connection:
        return connection.execute("SELECT count(*) FROM texts").fetchone()[0]


class TestReady:
    def test_a_page_parses_nothing(self, tmp_path, parsed):
        with opened(write_policy(tmp_path)) as session:
            ann = session()
            for question in (QUESTION, SQL, QUESTION):
                ask(ann, question)
            parsed.clear()
            text = page(session())
            assert parsed == []
            assert text == page_made_anew(ann)
            assert len(parsed) > 0

    def test_nor_after_a_restart(self, tmp_path, parsed):
        path = write_policy(tmp_path)
        with opened(path) as session:
            ask(session(), SQL)
            before = page(session())
        # Where in its file a dataset stands changes nothing.
        path.write_text("# A remark.\n" + path.read_text())
        parsed.clear()
        with opened(path) as session:
            assert page(session()) == before
        assert parsed == []

    def test_each_analyst_has_the_own_words(self, tmp_path, parsed):
        same = {**SQL, "sql": SQL["sql"].replace("AS n", "AS number")}
        with opened(write_policy(tmp_path)) as session:
            ask(session("ann"), SQL)
            ask(session("ben"), same)
            parsed.clear()
            pages = [page(session(name)) for name in ("ann", "ben")]
            assert parsed == []
            assert '"number"' not in pages[0] and '"number"' in pages[1]

    def test_the_words_of_the_first_time_stay(self, tmp_path):
        """Also where the text is made by somebody who asks again in other words."""
        path = write_policy(tmp_path)
        other = {**SQL, "sql": SQL["sql"].replace("AS n", "AS number")}
        with opened(path) as session:
            ask(session(), SQL)
            before = page(session())
            with sqlite3.connect(read_policy(path).past_texts) as connection:
                connection.execute("DELETE FROM texts")
            ask(session(), other)
            assert page(session()) == before == page_made_anew(session())

    def test_texts_wait_while_somebody_asks_and_keep_no_service_from_its_end(self, tmp_path):
        path = write_policy(tmp_path)
        with opened(path) as session:
            service = session()._service
            # A question that does not end before the service does.
            service.scans._questions.add(object())
            session().answer(read_wording(QUESTION))
            made = service._texts_thread.submit(lambda: None)
            wait([made], timeout=4 * QUIET)
            assert not made.done()
            service.scans._questions.clear()
            made.result()
            service.scans._questions.add(object())
            session().answer(read_wording(SQL))
        # The last one was made at the end, or not at all.
        assert texts_of(path) in (1, 2)

    def test_pages_follow_one_another(self, tmp_path):
        with opened(write_policy(tmp_path)) as session:
            for epsilon in ("1/4", "1/8", "1/16"):
                ask(session(), {**QUESTION, "epsilon": epsilon})
            whole = page(session())
            first = page(session(), limit=2)
            rest = page(session(), limit=2, before=first.rpartition('"next": ')[2].strip('"}'))
            assert first[: first.rindex(", ")].endswith("}]")
            ids = [text.count('"answer_id"') for text in (whole, first, rest)]
            assert ids[0] == ids[1] + ids[2]

    @pytest.mark.slow
    def test_a_question_that_is_still_open_is_told_as_such_and_then_answered(self, tmp_path):
        path = write_policy(tmp_path)
        with gate(tmp_path) as (workers, open_gate), in_thread(path, workers) as served:
            asked = served.later(served.ann)
            until(served.service.ledger.summary)
            (past,) = served.get("/v1/answers", served.ann).json["answers"]
            assert (past["status"], past["result"]) == ("open", None)
            open_gate()
            assert asked.reply().status == 200
            (past,) = served.get("/v1/answers", served.ann).json["answers"]
            assert past["status"] == "answered" and past["result"]["recorded"] is True


class TestTrue:
    def test_a_policy_that_means_something_else_is_told(self, tmp_path, parsed):
        path = write_policy(tmp_path)
        with opened(path) as session:
            ask(session(), QUESTION)
            assert CHANGED not in page(session())
        path.write_text(path.read_text().replace("upper = 100", "upper = 99"))
        with opened(path) as session:
            assert CHANGED in page(session())
            parsed.clear()
            assert CHANGED in page(session())
            assert parsed == []

    def test_a_ledger_that_is_another_one_is_not_served_from_old_texts(self, tmp_path):
        path = write_policy(tmp_path)
        with opened(path) as session:
            ask(session(), QUESTION)
        for file in tmp_path.glob("postri.ledger*"):
            if "texts" not in file.name and "tokens" not in file.name:
                file.unlink()
        with opened(path) as session:
            ask(session(), {**QUESTION, "aggregates": {"n": "count()"}})
            text = page(session())
            assert "count()" in text and "median(x)" not in text
            assert text == page_made_anew(session())

    @pytest.mark.parametrize("harm", ["deleted", "emptied", "damaged while it is open"])
    def test_a_file_of_texts_that_is_lost_is_made_again(self, tmp_path, harm):
        path = write_policy(tmp_path)
        texts = read_policy(path).past_texts
        with opened(path) as session:
            ask(session(), SQL)
            before = page(session())
            if harm == "damaged while it is open":
                with sqlite3.connect(texts) as connection:
                    connection.execute("DROP TABLE texts")
                assert page(session()) == before
                return
            if harm == "emptied":
                with sqlite3.connect(texts) as connection:
                    connection.execute("DELETE FROM texts")
        if harm == "deleted":
            for file in tmp_path.glob("postri.ledger.texts*"):
                file.unlink()
        with opened(path) as session:
            assert page(session()) == before

    @pytest.mark.slow
    def test_a_failure_is_told_from_the_ledger(self, tmp_path):
        place, path = tmp_path / "odd", write_policy(tmp_path)
        with odd_workers("broken", place) as workers, opened(path, workers) as session:
            ann = session()
            ask(ann, QUESTION)
            place.touch()
            with pytest.raises(QuestionFailed):
                ask(ann, {**QUESTION, "epsilon": "1/4"})
            assert page(ann) == page_made_anew(ann)
            assert page(ann).count('"status": "failed"') == 1


class TestFile:
    def test_it_is_for_its_owner_alone(self, tmp_path):
        path = write_policy(tmp_path)
        with opened(path):
            mode = read_policy(path).past_texts.stat().st_mode
            assert stat.S_IMODE(mode) == 0o600

    def test_a_file_of_something_else_is_left_alone(self, tmp_path):
        path = write_policy(tmp_path)
        other = read_policy(path).past_texts
        with sqlite3.connect(other) as connection:
            connection.execute("CREATE TABLE mine (x)")
        with pytest.raises(LedgerError, match="is a database of something else: move it away"):
            PastTexts(other, read_policy(path))

    def test_a_text_is_ready_for_its_own_entry_alone(self, tmp_path):
        path = write_policy(tmp_path)
        texts = PastTexts(tmp_path / "texts", read_policy(path))
        asked = AskedQuestion(7, "hash", "wording")
        texts.keep("ann", asked, PastText("bank", "{}"))
        assert texts.of("ann", [asked]) == {7: "{}"}
        assert texts.of("ben", [asked]) == {}
        for other in (AskedQuestion(8, "hash", "wording"), AskedQuestion(7, "other", "wording")):
            assert texts.of("ann", [other]) == {}
        assert texts.of("ann", [AskedQuestion(7, "hash", "other")]) == {}
        texts.close()
