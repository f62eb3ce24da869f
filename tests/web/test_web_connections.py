"""Connections without a request: they cost little, end soon, and keep nobody out."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack, contextmanager

import pytest
from serving import in_thread, token_of, until, write_policy

from postri.web import connections
from postri.web.connections import Door

HALF = (
    b"",
    b"G",
    b"GET /healthz HTTP/1.1\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ",
    b"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ptr_\r\n",
    b"\r\n",
)
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@contextmanager
def many_files(number):
    """This process may open that number, if the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def head_of(served, length):
    """The headers of a question whose body is still to come."""
    head = (
        "POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        f"{served.ann}\r\nContent-Length: {length}\r\n\r\n"
    )
    return head.encode()


def is_closed(connection):
    """Whether it ends, perhaps after a word."""
    connection.settimeout(60)
    try:
        while connection.recv(1_000):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.slow
def test_half_sent_headers_keep_nobody_out(tmp_path, start):
    """More of them than a process may usually have files, all from one address."""
    policy = write_policy(tmp_path)
    ann = token_of(policy, "ann")
    process = start(policy)
    with many_files(4_096), ExitStack() as stack:
        for number in range(1_100):
            stack.enter_context(process.raw(HALF[number % len(HALF)]))
        assert process.get("/healthz").status == 200
        assert process.get("/v1/me", ann).status == 200


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("text", HALF)
def test_headers_have_a_deadline_however_they_trickle_in(tmp_path, monkeypatch, text):
    monkeypatch.setattr(connections, "FIRST_HEADERS", 0.2)
    with in_thread(write_policy(tmp_path)) as served, served.raw(text) as connection:
        assert is_closed(connection)
        assert served.get("/healthz").status == 200


def test_so_have_those_of_the_next_request(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "NEXT_HEADERS", 0.2)
    with in_thread(write_policy(tmp_path)) as served, served.raw(WHOLE) as connection:
        assert connection.recv(10_000).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost")
        assert is_closed(connection)


def test_requests_on_one_connection_are_answered_one_after_the_other(served):
    with served.raw(WHOLE * 3) as connection:
        connection.settimeout(60)
        received = b""
        while received.count(b'"ok"}') < 3:
            part = connection.recv(10_000)
            assert part
            received += part
        connection.sendall(WHOLE)
        assert connection.recv(10_000).startswith(b"HTTP/1.1 200 ")


def test_a_question_that_is_being_answered_is_not_cut_off_by_new_connections(tmp_path):
    with (
        in_thread(write_policy(tmp_path, service="connections = 3")) as served,
        ExitStack() as stack,
    ):
        asking = stack.enter_context(served.raw(head_of(served, 55)))
        door = served.server.config.http_protocol_class.keywords["door"]
        until(lambda: door._held.total() == 1 and not door._waiting, "the request")
        # There is room for two besides: the first that waits has to go.
        waiting = [stack.enter_context(served.raw(b"GET")) for _ in range(3)]
        assert is_closed(waiting[0])
        asking.sendall(b'{"sql": "SELECT COUNT(*) AS n FROM bank", "epsilon": 1}')
        asking.settimeout(60)
        assert asking.recv(10_000).startswith(b"HTTP/1.1 200 ")


def test_an_address_that_is_busy_with_all_its_connections_gets_no_more(tmp_path):
    with (
        in_thread(write_policy(tmp_path, service="connections = 2")) as served,
        ExitStack() as stack,
    ):
        for _ in range(2):
            stack.enter_context(served.raw(head_of(served, 10)))
        door = served.server.config.http_protocol_class.keywords["door"]
        until(lambda: door._held.total() == 2 and not door._waiting, "the requests")
        with served.raw(WHOLE) as third:
            assert is_closed(third)
        # Another address of this machine is let in.
        other = socket.create_connection(
            ("127.0.0.1", served.port), timeout=60, source_address=("127.0.0.2", 0)
        )
        with other:
            other.sendall(WHOLE)
            assert other.recv(1_000).startswith(b"HTTP/1.1 200 ")


class Caller:
    """A connection, as far as the door knows one."""

    def __init__(self, address):
        self.address = address
        self.ended = False

    def end(self):
        self.ended = True


def entered(door, *addresses):
    callers = [Caller(address) for address in addresses]
    assert all(door.enter(caller) for caller in callers)
    return callers


def test_who_has_waited_longest_makes_room():
    door = Door(each=2, most=10)
    first, second = entered(door, "a", "a")
    door.asks(first)
    door.waits(first)
    assert door.enter(Caller("a"))
    assert (first.ended, second.ended) == (False, True)


def test_only_of_the_same_address_unless_all_is_full():
    door = Door(each=2, most=3)
    first, second, other = entered(door, "a", "a", "b")
    door.asks(other)
    assert door.enter(Caller("c"))
    assert (first.ended, second.ended, other.ended) == (True, False, False)
