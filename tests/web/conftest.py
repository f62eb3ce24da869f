"""The service that the tests ask: in a thread where speed matters, as a process where signals and
standard error do.
"""

from __future__ import annotations

import pytest
from browser import end_chromium
from serving import Process, in_thread, write_policy


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """One browser for the files of the page, which follow one another."""
    done = yield
    if nextitem is None or "test_page" not in nextitem.nodeid:
        end_chromium()
    return done


@pytest.fixture
def policy(tmp_path):
    return write_policy(tmp_path)


@pytest.fixture
def served(tmp_path):
    """The usual service without a time grid, in a thread."""
    with in_thread(write_policy(tmp_path)) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One for many tests: of what is refused, which leaves nothing behind."""
    with in_thread(
        write_policy(tmp_path_factory.mktemp("shared"), service="rate = 1000000")
    ) as found:
        yield found


@pytest.fixture
def start():
    """Starts services, and ends them when the test does."""
    running: list[Process] = []

    def start(path, *arguments, **how) -> Process:
        running.append(Process(path, *arguments, **how))
        return running[-1]

    yield start
    for process in running:
        process.end()
