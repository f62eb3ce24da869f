"""What a policy says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from postri.domain import Domain
from postri.engines.resolve import CsvFormat
from postri.engines.rows import Key
from postri.privacy import ProtectedChange

Accountant = Literal["pure", "zcdp"]


@dataclass(frozen=True)
class ColumnPolicy:
    """A column that analysts may ask about. What is not listed does not exist for them."""

    name: str
    type: str
    domain: Domain | None
    keys: tuple[Key, ...] | None
    line: int


@dataclass(frozen=True)
class Dataset:
    """A table with its budget. Its source may hold a password, so it is never shown."""

    name: str
    source: str = field(repr=False)
    table: str | None
    version: str
    budget: Fraction
    accountant: Accountant
    delta: Fraction | None
    rows: int | None
    max_epsilon_per_question: Fraction | None
    allowances: Mapping[str, Fraction]
    protect: ProtectedChange
    columns: Mapping[str, ColumnPolicy]
    csv: CsvFormat
    line: int
    names: tuple[str, ...] = ()
    """The names of all columns of a CSV file without a header."""


@dataclass(frozen=True)
class Service:
    """How `postri serve` serves the datasets. Times are in seconds."""

    tokens: Path | None = None
    """Where tokens are kept; beside the ledger if None."""
    host: str = "127.0.0.1"
    port: int = 8765
    time_grid: Fraction = Fraction(1, 2)
    """Answers leave at whole multiples of this after their question came; 0 for at once."""
    max_body: int = 65_536
    rate: int = 600
    """Requests per minute and token."""
    scans: int = 4
    waiting: int = 64
    scan_timeout: Fraction = Fraction(60)
    shutdown_timeout: Fraction = Fraction(30)


@dataclass(frozen=True)
class Policy:
    """The steward's file. Its paths are absolute."""

    path: Path
    ledger: Path
    head: Path | None
    datasets: Mapping[str, Dataset]
    ledger_line: int = 0
    head_line: int = 0
    service: Service = field(default_factory=Service)

    @property
    def tokens(self) -> Path:
        """The file of the service's tokens."""
        return self.service.tokens or self.ledger.with_name(f"{self.ledger.name}.tokens")
