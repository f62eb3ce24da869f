"""Two books side by side: which questions have another answer, and where in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LONGEST = 300
MISSING = "(nothing)"


def differences(before: Path, after: Path) -> list[str]:
    """A paragraph for each question whose answer differs, with the places in it that do."""
    old, new = _read(before), _read(after)
    found = []
    for name in sorted(old.keys() | new.keys()):
        places = list(_places(old.get(name, MISSING), new.get(name, MISSING), ""))
        if places:
            found.append("\n".join([name, *places]))
    return found


def _read(file: Path) -> dict[str, Any]:
    with file.open(encoding="utf-8") as lines:
        return {line["id"]: line["told"] for line in map(json.loads, lines)}


def _places(old: Any, new: Any, path: str) -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _places(old.get(key, MISSING), new.get(key, MISSING), f"{path}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _places(one, other, f"{path}/{place}")
    else:
        one, other = _around_first_difference(_text(old), _text(new))
        yield f"  {path or '/'}\n    - {one}\n    + {other}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _around_first_difference(old: str, new: str) -> tuple[str, str]:
    """Of long texts, the part where they begin to differ."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    start = max(0, same - LONGEST // 3)
    return repr(old[start : start + LONGEST]), repr(new[start : start + LONGEST])
