"""A proxy before a server that can cut its connections at the worst moments."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

# What a server says when a transaction is durable.
COMMITTED = b"COMMIT\0"


class DroppingProxy:
    """Passes on bytes between clients and a server, until it is told to cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._armed = threading.Event()
        self._has_cut = threading.Event()
        self.cut_commits = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Drop all connections now."""
        for pair in list(self._pairs):
            self._drop(pair)

    def cut_at_commit(self, patience: float) -> None:
        """Drop the next connection on which the server says that a transaction is durable, before
        the client hears of it; wait for so many seconds until that has come.
        """
        self._has_cut.clear()
        self._armed.set()
        assert self._has_cut.wait(patience), "no transaction was durable"

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        with suppress(OSError):
            server = socket.create_connection(("127.0.0.1", self._target))
            pair = (client, server)
            self._pairs.append(pair)
            for source, target in (pair, pair[::-1]):
                threading.Thread(
                    target=self._pass_on, args=(pair, source, target), daemon=True
                ).start()
            return
        client.close()

    def _pass_on(
        self,
        pair: tuple[socket.socket, socket.socket],
        source: socket.socket,
        target: socket.socket,
    ) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                if source is pair[1] and COMMITTED in content and self._armed.is_set():
                    self._armed.clear()
                    self.cut_commits += 1
                    self._has_cut.set()
                    break
                target.sendall(content)
        self._drop(pair)

    def _drop(self, pair: tuple[socket.socket, socket.socket]) -> None:
        with suppress(ValueError):
            self._pairs.remove(pair)
        # A forked child may hold them too: closing alone would not end the connection.
        for each in pair:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
