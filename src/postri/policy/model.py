"""What a policy says, as values; and the types that it names, beside those that sources declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal, Self

from postri.columns import BOOLEAN, MAX_TEXT, ColumnType
from postri.domain import Domain
from postri.engines.csv_format import CsvFormat
from postri.engines.rows import Key
from postri.expressions.lookup import Cell as PublicCell
from postri.expressions.lookup import Key as PublicKey
from postri.ledger import Place, StoredLedger, is_database, open_ledger
from postri.privacy import ProtectedChange
from postri.question.dataset import PublicPart

AccountantName = Literal["pure", "zcdp"]

# The types of columns. Those with bounds have quantiles; numbers have sums and means too.
NUMBERS = ("integer", "decimal", "float")
BOUNDED = (*NUMBERS, "date", "timestamp")
TYPES = (*BOUNDED, "text", "boolean")
# Beside the policy, unless it names another place.
LEDGER_FILE = "postri.ledger"


@dataclass(frozen=True)
class PublicColumn(PublicPart):
    """What a public table has for each key, as raw cells; `key_type` is what its keys are."""

    key_type: str
    rows: tuple[tuple[PublicKey, PublicCell | None], ...] = field(repr=False)


@dataclass(frozen=True)
class ColumnPolicy:
    """A column that analysts may ask about. What is not listed does not exist for them.

    `parsed` says that its cells are texts, so that some may not be of its type; `unreadable` is the
    share of such cells that the steward has accepted.
    """

    name: str
    type: str
    domain: Domain | None
    keys: tuple[Key, ...] | None
    line: int
    parsed: bool = False
    unreadable: Fraction | None = None
    public: PublicColumn | None = None
    """Where its cells stand, if that is a public table."""
    discover: bool = False
    """Whether its keys are unknown, and those that many rows have may be found."""


@dataclass(frozen=True)
class Dataset:
    """A table with its budget. Its source may hold a password, so it is never shown."""

    name: str
    source: str = field(repr=False)
    table: str | None
    version: str
    budget: Fraction
    accountant: AccountantName
    delta: Fraction | None
    rows: int | None
    units: int | None
    max_epsilon_per_question: Fraction | None
    allowances: Mapping[str, Fraction]
    protect: ProtectedChange
    columns: Mapping[str, ColumnPolicy]
    csv: CsvFormat
    line: int
    names: tuple[str, ...] = ()
    """The names of all columns of a CSV file without a header."""
    min_epsilon: Fraction | None = None
    """The least that a question may cost; a thousandth of the budget if None."""
    questions: int = 10_000
    """How many questions an analyst may ask."""
    max_failures: int = 3
    """How many questions may be without an answer until the dataset is closed."""
    same_people_as: str | None = None
    """Another dataset about the same people: what is spent on either counts for both."""
    vouched: bool = False
    """Whether the steward vouches that a source that could fail on a row fails on none."""
    max_text: int = MAX_TEXT
    """How many characters a text may have; a longer one cannot be read."""
    joins: tuple[str, ...] = ()
    """The public tables whose columns are among its own."""
    discover_delta: Fraction | None = None
    """What a question that finds keys costs of delta; a hundredth of it if None."""

    @property
    def key_delta(self) -> Fraction | None:
        """What a question that finds keys costs of delta; None without a delta."""
        if self.discover_delta is None and self.delta is not None:
            return self.delta / 100
        return self.discover_delta

    def unplaced(self) -> Self:
        """The same, wherever in its file it stands."""
        columns = {name: replace(column, line=0) for name, column in self.columns.items()}
        return replace(self, line=0, columns=columns)

    @property
    def least_epsilon(self) -> Fraction:
        """The least that a question may cost."""
        if self.min_epsilon is None:
            return self.budget / 1000
        return self.min_epsilon


@dataclass(frozen=True)
class OidcPolicy:
    """An issuer of OpenID Connect whose tokens the service takes beside its own.

    `audience` is what its tokens must be meant for, `name` the claim that names the analyst.
    """

    issuer: str
    audience: str
    name: str = "sub"
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    leeway: Fraction = Fraction(30)
    """By how many seconds the clocks of issuer and service may differ."""
    required: Mapping[str, str] = field(default_factory=dict)
    """Claims that must have a value, or hold it in a list."""
    datasets: tuple[str, ...] | None = None
    """The datasets that these tokens open; all if None."""


@dataclass(frozen=True)
class ServicePolicy:
    """How `postri serve` serves the datasets. Times are in seconds."""

    tokens: Path | None = None
    """The file of the tokens; beside the ledger, or in its database, if None."""
    host: str = "127.0.0.1"
    port: int = 8765
    time_grid: Fraction = Fraction(1, 2)
    """Answers leave at whole multiples of this after their question was whole; 0 for at once."""
    max_body: int = 65_536
    rate: int = 600
    """Requests per minute and token."""
    connections: int = 200
    """How many connections one address may hold."""
    allowance: Fraction | None = None
    """What an analyst may spend on each dataset who has no allowance of their own."""
    token_days: int = 90
    """How long a token is valid that is made without an expiry."""
    scans: int = 4
    waiting: int = 64
    scan_timeout: Fraction = Fraction(60)
    shutdown_timeout: Fraction = Fraction(30)
    waiting_each: int = 32
    """Questions of one analyst that may wait."""
    memory: int | None = None
    """Bytes that one scan may use, of files and of DuckDB's databases; None for a share of the
    machine's.
    """
    answers: int = 0
    """Seconds between the fixed times at which answers leave; 0 for on the time grid."""
    metrics: tuple[str, int] | None = None
    """Where counters are told, to whoever can connect; nowhere if None."""
    oidc: OidcPolicy | None = None
    """The second way to know an analyst, beside tokens."""


@dataclass(frozen=True)
class Policy:
    """The steward's file. Its paths are absolute."""

    path: Path
    ledger: Place
    head: Place | None
    datasets: Mapping[str, Dataset]
    ledger_line: int = 0
    head_line: int = 0
    service: ServicePolicy = field(default_factory=ServicePolicy)

    @property
    def tokens(self) -> Place:
        """Where the service's tokens are: a file, or the database of the ledger."""
        if self.service.tokens is not None:
            return self.service.tokens
        if is_database(self.ledger):
            return self.ledger
        return self._beside("tokens")

    @property
    def past_texts(self) -> Path:
        """The file of past answers that the service has ready."""
        return self._beside("texts")

    def _beside(self, ending: str) -> Path:
        """A file beside the ledger; beside this policy if the ledger lies in a database."""
        file = self.path.with_name(LEDGER_FILE)
        if isinstance(self.ledger, Path):
            file = self.ledger
        return file.with_name(f"{file.name}.{ending}")

    @property
    def ledger_files(self) -> list[Path]:
        """The files of the ledger and of its head, as far as they are files."""
        return [place for place in (self.ledger, self.head) if isinstance(place, Path)]

    @property
    def has_ledger(self) -> bool:
        """Whether there is a ledger that may know something; one in a database always may."""
        if isinstance(self.ledger, Path):
            return self.ledger.is_file() and self.ledger.stat().st_size > 0
        return True

    def open_ledger(self, *, audit: bool = False) -> StoredLedger:
        """The ledger of this policy; to be closed."""
        return open_ledger(self.ledger, self.head, audit=audit)


def type_name(declared: ColumnType) -> str | None:
    """What a policy calls a declared type; None where nothing is declared.

    >>> type_name(BOOLEAN)
    'boolean'
    """
    if declared == BOOLEAN:
        return "boolean"
    if declared.kind != "number":
        return declared.kind
    if declared.name.startswith("decimal"):
        return "decimal"
    if declared.unit is None:
        return "float"
    return "integer"


def agrees(named: str, declared: ColumnType) -> bool:
    """Whether a policy may call a declared type so."""
    name = type_name(declared)
    if name is None or name == named:
        return True
    # A decimal without places holds whole numbers.
    return named == "integer" and name == "decimal" and declared.unit == 1
