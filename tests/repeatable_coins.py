"""The coins of the tests: the same in every run.

`SystemCoins` stays what it is to the code, also to what an answer says of itself. Only its words
come from a generator that starts anew with each test, from the test's name. So a test that draws
without coins of its own passes always or never, and a red run means a change.
"""

from __future__ import annotations

import os
import threading
import zlib
from dataclasses import dataclass, field

import numpy as np
import pytest

from postri.mechanisms.coins import Key, SystemCoins, Words

_system_words = SystemCoins.words


@dataclass
class _Repeatable:
    """A generator for one test: threads share it, a forked child has no part in it."""

    generator: np.random.Generator
    process: int = field(default_factory=os.getpid)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def words(self, coins: SystemCoins, key: Key, number: int) -> Words:
        if os.getpid() != self.process:
            return _system_words(coins, key, number)
        with self.lock:
            return np.frombuffer(self.generator.bytes(8 * number), dtype=np.uint64)


def seed_system_coins(test: pytest.Item) -> None:
    """From here on the system's coins repeat themselves, unless the test is about them."""
    if test.get_closest_marker("system_coins"):
        SystemCoins.words = _system_words
        return
    # By the name alone: a test that moves to another folder keeps its coins.
    repeatable = _Repeatable(np.random.default_rng(zlib.crc32(test.name.encode())))

    def words(self: SystemCoins, key: Key, number: int) -> Words:
        return repeatable.words(self, key, number)

    SystemCoins.words = words
