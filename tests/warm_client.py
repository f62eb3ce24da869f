"""A program for shell scripts that need not load the package: it asks the process of `warm_start`
for one that has loaded it, and is as if it were that process.

Run with the place of a socket, and the words of the program. It loads next to nothing itself.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main(place: str, words: list[str]) -> int:
    """What the program ends with, as a shell would tell it."""
    request = {
        "words": words,
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "descriptors": [],
        "is_leader": False,
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(place)
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        process = int(connection.recv(100))
        for told in (signal.SIGINT, signal.SIGTERM):
            signal.signal(told, lambda number, frame: os.kill(process, number))
        status = int(connection.recv(100))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
