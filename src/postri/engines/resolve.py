"""From a source to its engine: each kind of engine registers here what it takes.

Nobody's library is imported to know a source, and no cell is looked at: what is not of a kind's own
folder reads this register, and a heavy library loads when its first table is opened.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from postri.columns import DECLARABLE, UNTYPED, ColumnType
from postri.engines.csv_format import CsvFormat
from postri.engines.doubts import checked
from postri.engines.engine import Engine
from postri.errors import InputError, nearest
from postri.exact import shown

Declared = Mapping[str, str | None]
"""The types that a user declares, in words, of columns whose source declares none."""

Types = Mapping[str, ColumnType]
"""The same, checked."""


class PythonSource(ABC):
    """Objects that `postri.open` takes."""

    accepted = ""
    """How a message lists them."""

    @abstractmethod
    def takes(self, source: Any) -> bool:
        """Whether an object is one of them."""

    @abstractmethod
    def open(self, source: Any, types: Types, csv: CsvFormat) -> Engine:
        """Its engine."""

    def is_csv(self, source: Any) -> bool:
        """Whether it is of CSV files, which are written in many ways."""
        return False


class PolicySource(ABC):
    """Texts that a policy names as the source of a dataset."""

    name: str
    endings: tuple[str, ...] = ()
    """By which endings a file is known as one of them."""

    described = ""
    """How a message lists those that need the name of a table beside them."""

    is_path = True
    """Whether the text is a path, which is seen from the policy's folder."""

    counts_here = True
    """Whether a scan runs in this process, where nobody else can end it; a server's does not."""

    declares_types = True
    """Whether the source declares the types of its columns; CSV files do not."""

    @abstractmethod
    def takes(self, source: str, table: str | None) -> bool:
        """Whether a text is one of them; InputError if it is, but misspelt or without its table."""

    @abstractmethod
    def open(self, source: str, table: str | None, declared: Declared, csv: CsvFormat) -> Engine:
        """Its engine; a database needs neither declared types nor a format."""

    def stamp(
        self, source: str, table: str | None, declared: Declared, csv: CsvFormat
    ) -> Hashable | None:
        """What tells whether an engine that stayed open is still that of the source: it was opened
        under the same stamp. None where it must be opened anew.
        """
        return None

    @abstractmethod
    def places(self, source: str, table: str | None) -> set[tuple[str, ...]]:
        """Where the rows lie: two sources that share a place share rows. Empty if none is there."""

    def written(self, source: str, folder: str | os.PathLike[str] | None) -> tuple[str, str]:
        """The source as `postri init` writes it into a policy in this folder, and a comment."""
        if folder is None or os.path.isabs(source):
            return source, ""
        from pathlib import Path

        return Path(os.path.relpath(source, folder)).as_posix(), ""


class Opener(Protocol):
    """From a kind of sources, and what it needs to open one, to the engine."""

    def __call__(self, kind: PolicySource, *given: Any) -> Engine: ...


def open_here(kind: PolicySource, *given: Any) -> Engine:
    """The engine in this process."""
    return kind.open(*given)


@dataclass(frozen=True)
class EngineKind:
    """One kind of engine, as its folder registers it: what it takes in Python and in a policy."""

    name: str
    python_sources: tuple[PythonSource, ...] = ()
    policy_sources: tuple[PolicySource, ...] = ()


KINDS: list[EngineKind] = []


def register(kind: EngineKind) -> None:
    """Make a kind known. Those that are registered first are asked first."""
    KINDS.append(kind)


def engine_of(
    source: Any, declared: Declared | None, csv: CsvFormat, *, vouched: bool = False
) -> Engine:
    """The engine for an object, with the types that the user declares of columns whose source
    declares none. One that may fail on a row is refused, unless the user vouches for it.
    """
    kind = _python_source(source)
    if csv.formats and not kind.is_csv(source):
        named = " and ".join(csv.formats)
        raise InputError(f"only a CSV file has {named}, and the source is none; leave that out")
    engine = kind.open(source, _declared_types(declared), csv)
    _check_names(declared or {}, engine.names)
    return checked(engine, vouched=vouched)


def _python_source(source: Any) -> PythonSource:
    # Memory takes whatever nobody else does.
    return next(each for each in _python_sources() if each.takes(source))


def _python_sources() -> list[PythonSource]:
    return [each for kind in KINDS for each in kind.python_sources]


def accepted_sources() -> str:
    """What `postri.open` takes, for a message: the usual ones first."""
    texts = [each.accepted for each in reversed(_python_sources()) if each.accepted]
    return ", ".join([*texts[:-1], f"or {texts[-1]}"])


def policy_source_of(source: str, table: str | None) -> PolicySource:
    """What the source of a policy is, by its text alone, or InputError."""
    known = _policy_sources()
    for each in known:
        if each.takes(source, table):
            return each
    endings = ", ".join(ending for each in known for ending in each.endings)
    others = " or ".join(sorted(each.described for each in known if each.described))
    raise InputError(f"source must end in one of {endings}, or be {others}, with table = ...")


def policy_source_named(name: str) -> PolicySource:
    """A kind of a policy's sources, by its name."""
    return next(each for each in _policy_sources() if each.name == name)


def _policy_sources() -> list[PolicySource]:
    return [each for kind in KINDS for each in kind.policy_sources]


def _declared_types(declared: Declared | None) -> dict[str, ColumnType]:
    """The types that a user declares, by the names of their columns, or InputError."""
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        raise InputError(
            "columns must map names to types, such as {'salary': 'integer'}, got "
            f"{shown(declared)}"
        )
    return {name: _declared(name, text) for name, text in declared.items()}


def _declared(name: str, text: object) -> ColumnType:
    if text is None:
        return UNTYPED
    if not isinstance(text, str) or text not in DECLARABLE:
        raise InputError(
            f"the type of column {name!r} must be one of {', '.join(DECLARABLE)}, got {shown(text)}"
        )
    return DECLARABLE[text]


def _check_names(declared: Iterable[str], names: Iterable[str] | None) -> None:
    known = list(names or ())
    for name in declared:
        if name not in known:
            hint = ""
            if known:
                hint = f"; {nearest(name, known)}"
            raise InputError(f"a type is declared for an unknown column {name!r}{hint}")
