"""A process that adds tokens to a file, as fast as it can:

`python adding_tokens.py FILE NAME NUMBER`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from postri.web.tokens import Tokens

if __name__ == "__main__":
    file, name, number = sys.argv[1:]
    for each in range(int(number)):
        with Tokens(Path(file)) as tokens:
            sys.stdout.write(tokens.add(f"{name} {each}", "analyst")[1] + "\n")
