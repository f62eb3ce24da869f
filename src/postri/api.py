"""The functions that users call: an engine and a query, no ledger.

Parameters are checked before data is touched. What an aggregate needs is loaded when it is first
asked for: most processes ask for few of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from postri.answer import Answer, Answers, Plan, Result
from postri.answer.population import Covers, check_covers
from postri.answer.within import Within
from postri.domain import Domain
from postri.engines.csv_format import CsvFormat
from postri.engines.resolve import engine_of
from postri.engines.rows import Keys
from postri.engines.table import Table
from postri.errors import InputError
from postri.exact import Number, shown
from postri.mechanisms.coins import Coins
from postri.methods import Method
from postri.privacy import (
    AddOrRemoveRows,
    ProtectedChange,
    check_outer,
    check_share,
    check_shares,
)
from postri.question import Question, plain_question
from postri.question.expected import PublicRows
from postri.question.rules import (
    check_aggregates,
    check_coins,
    check_expect,
    check_method,
    with_wish,
)
from postri.statistics.quantile import HALF, Quantile
from postri.statistics.statistic import Statistic

if TYPE_CHECKING:
    from postri.tree.distribution import Distribution

ONE_ROW = AddOrRemoveRows(1)
USUAL_CSV = CsvFormat()

# How many questions are kept; they are small, and hold nothing of a table.
MOST_QUESTIONS = 64
_QUESTIONS: dict[tuple[object, ...], Question] = {}


def open(
    source: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    delimiter: str | None = None,
    quote: str = '"',
    header: bool = True,
    encoding: str = "utf-8",
    decimal: str = ".",
    thousands: str = "",
    date_format: str | None = None,
    timestamp_format: str | None = None,
    line_breaks: bool = False,
    vouched: bool = False,
) -> Table:
    """Open a source for many questions: a `Table` is accepted wherever a source is, and keeps what
    it counted.

    `columns` declares types ("integer", "decimal", "float", "date", "timestamp") of columns whose
    source declares none: lists, object arrays, CSV. The others say how a CSV file is written;
    nothing is guessed. Without a header, `columns` names all columns in order; None leaves one
    undeclared. Cells with line breaks are refused, with the reason.

    A source that computes its cells, such as a view or a query, may fail on a row. It is refused,
    unless you say by `vouched` that it fails on none.

    >>> table = open({"salary": [30_500, 41_000, 38_200]}, columns={"salary": "integer"})
    >>> table.columns
    ['salary']
    """
    style = CsvFormat(
        delimiter=delimiter,
        quote=quote,
        header=header,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        date_format=date_format,
        timestamp_format=timestamp_format,
        line_breaks=line_breaks,
    )
    return Table(engine_of(source, columns, style, vouched=vouched))


@overload
def median(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    covers: Covers = "table",
    coins: Coins | None = None,
) -> Answer: ...
@overload
def median(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: Mapping[str, Keys],
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    covers: Covers = "table",
    coins: Coins | None = None,
) -> Result: ...
def median(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: Mapping[str, Keys] | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    covers: Covers = "table",
    coins: Coins | None = None,
) -> Answer | Result:
    """The private median of a column, with an interval that holds the true one with probability
    `confidence`.

    Value and interval together cost `epsilon`; `split` is the value's share of it. `where` selects
    rows by a predicate in SQL, such as "age < 40 AND job IN ('clerk', 'cook')". The answer's
    `population` names the rows that it is about. If it `covers` "population", the interval holds
    the median of the population from which the rows were drawn, at random and independently. With
    `by`, as in `ask`, the result has a row for each group.

    In place of epsilon, `within` tells how near the median is wanted, "1 percentile" or "75 rows":
    then it costs the least epsilon with which its forecast is. `expect` is about how many rows
    match, in each group: a public number, which that takes.

    >>> from postri import SeededCoins
    >>> answer = median(range(1_000), epsilon=1, coins=SeededCoins(8))
    >>> answer.interval.low <= 499 <= answer.interval.high
    True
    """
    statistic = Quantile(column, domain, HALF, check_covers(covers))
    return _one_or_groups(
        "median",
        statistic,
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        by=by,
        confidence=confidence,
        protect=protect,
        method=check_method(method),
        split=split,
        coins=coins,
    )


@overload
def quantile(
    source: Any,
    p: Number,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    covers: Covers = "table",
    coins: Coins | None = None,
) -> Answer: ...
@overload
def quantile(
    source: Any,
    p: Number,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: Mapping[str, Keys],
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    covers: Covers = "table",
    coins: Coins | None = None,
) -> Result: ...
def quantile(
    source: Any,
    p: Number,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: Mapping[str, Keys] | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method = "depth",
    split: Number = 0.5,
    covers: Covers = "table",
    coins: Coins | None = None,
) -> Answer | Result:
    """The private p-quantile of a column: 0.9 is the 90th percentile. Otherwise like `median`."""
    _check_order("quantile", p, column)
    statistic = Quantile(column, domain, check_share(p, "p"), check_covers(covers))
    return _one_or_groups(
        "quantile",
        statistic,
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        by=by,
        confidence=confidence,
        protect=protect,
        method=check_method(method),
        split=split,
        coins=coins,
    )


def quantiles(
    source: Any,
    ps: Sequence[Number],
    column: str | None = None,
    *,
    simultaneous: bool = False,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    method: str | Method | None = None,
    split: Number = 0.5,
    covers: Covers = "table",
    coins: Coins | None = None,
) -> Answers:
    """Several private quantiles of a column, in the order of `ps`; `epsilon` is what all cost
    together.

    Values do not fall as the quantile rises. Each interval holds its quantile with probability
    `confidence`, and none depends on where the others end. With `simultaneous` all of them hold at
    once, so each is cut by what the others say.

    Without a method, each quantile gets a draw of its own, or all follow from one release of a tree
    of noisy counts: whichever is narrower by the forecast, which is the tree from some quantiles
    on.
    """
    _check_order("quantiles", ps, column)
    checked = check_shares(ps, "ps")
    whose = check_covers(covers)
    question = _question(
        {str(place): Quantile(column, domain, p, whose) for place, p in enumerate(checked)},
        epsilon=epsilon,
        within=within,
        expect=expect,
        confidence=confidence,
        protect=protect,
        method=method,
        split=split,
        coins=coins,
        where=where,
        simultaneous=simultaneous,
    )
    return Answers(_answers(question, source))


def count(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private number of rows; with a column, of those in which it has a cell that can be read.

    >>> from postri import SeededCoins
    >>> print(count(range(1_000), epsilon=1, coins=SeededCoins(7)).population)
    all rows
    """
    from postri.statistics.count import Count

    return _one(
        Count(column),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def sum(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private sum of a column, whose cells are clamped to the domain.

    >>> from postri import SeededCoins
    >>> ones = {"x": [1] * 5_000}
    >>> total = sum(ones, "x", domain=Domain(0, 10), epsilon=1, coins=SeededCoins(7))
    >>> 5_000 in total.interval
    True
    """
    from postri.statistics.sum import Sum

    return _one(
        Sum(column, domain),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def mean(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private mean of a column, whose cells are clamped to the domain."""
    from postri.statistics.mean import Mean

    return _one(
        Mean(column, domain),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def share(
    source: Any,
    condition: str,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private share of the rows on which a condition in SQL holds, from 0 to 1.

    A row on which the condition is unknown counts as one on which it does not hold.

    >>> from postri import SeededCoins
    >>> late = share({"x": list(range(1_000))}, "x < 250", epsilon=1, coins=SeededCoins(7))
    >>> 0.25 in late.interval
    True
    """
    from postri.statistics.share import share as share_of

    return _one(
        share_of(condition),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def variance(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private variance of a column, whose cells are clamped to the domain: of all rows that
    count, divided by their number.

    >>> from postri import SeededCoins
    >>> ends = {"x": [0, 10] * 5_000}
    >>> spread = variance(ends, "x", domain=Domain(0, 10), epsilon=1, coins=SeededCoins(7))
    >>> 25 in spread.interval
    True
    """
    from postri.statistics.variance import Variance

    return _one(
        Variance(column, domain),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def std(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private standard deviation of a column, whose cells are clamped to the domain: the root
    of its variance.
    """
    from postri.statistics.variance import StandardDeviation

    return _one(
        StandardDeviation(column, domain),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def trimmed_mean(
    source: Any,
    p: Number,
    column: str | None = None,
    *,
    epsilon: Number,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private mean of a column without a share `p` of its rows at each end; cells are clamped
    to the domain, which the noise does not depend on.

    >>> from postri import SeededCoins
    >>> pay = {"x": [*range(10_000), 1_000_000]}
    >>> everybody = Domain(0, 1_000_000)
    >>> middle = trimmed_mean(pay, 0.1, "x", domain=everybody, epsilon=1, coins=SeededCoins(7))
    >>> 5_000 in middle.interval, middle.interval.width < 50
    (True, True)
    """
    from postri.statistics.trimmed import TrimmedMean

    return _one(
        TrimmedMean(column, domain, _outer("trimmed_mean", p, column)),
        source,
        epsilon=epsilon,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def winsorized_mean(
    source: Any,
    p: Number,
    column: str | None = None,
    *,
    epsilon: Number,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private mean of a column in which a share `p` of the rows at each end is moved inwards,
    to the quantile there. Otherwise like `trimmed_mean`.
    """
    from postri.statistics.trimmed import WinsorizedMean

    return _one(
        WinsorizedMean(column, domain, _outer("winsorized_mean", p, column)),
        source,
        epsilon=epsilon,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def iqr(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The private interquartile range of a column: by how much its third quartile is more than its
    first.

    >>> from postri import SeededCoins
    >>> spread = iqr(range(10_000), epsilon=1, coins=SeededCoins(7))
    >>> 5_000 in spread.interval
    True
    """
    from postri.statistics.iqr import InterquartileRange

    return _one(
        InterquartileRange(column, domain),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def mode(
    source: Any,
    column: str,
    *,
    keys: Sequence[Any] | None = None,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Answer:
    """The key of a column that most rows have, of some public keys, as the answer's `key`. Its
    value is the key's lead: by how many rows it is ahead of all others.

    If the interval of the lead holds no negative number, the key is the exact mode with probability
    `confidence`.

    >>> from postri import SeededCoins
    >>> trips = {"city": ["Oslo"] * 500 + ["Bergen"] * 300}
    >>> found = mode(trips, "city", keys=["Bergen", "Oslo"], epsilon=1, coins=SeededCoins(7))
    >>> found.key, 200 in found.interval
    ('Oslo', True)
    """
    from postri.statistics.mode import mode as mode_of

    return _one(
        mode_of(column, keys),
        source,
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        protect=protect,
        coins=coins,
    )


def top_k(
    source: Any,
    column: str,
    *,
    k: int,
    keys: Sequence[Any] | None = None,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Result:
    """The k keys of a column that most rows have, of some public keys: a row a place, with the
    key's lead, which is by how many rows it is ahead of the k-th of the others.

    All together cost `epsilon`, whatever k is. All intervals hold at once with probability
    `confidence`: a key whose lead is surely not negative is surely one of the k.
    """
    from postri.statistics.mode import top_k as top_k_of

    question = _question(
        {"top": top_k_of(column, k, keys)},
        epsilon=epsilon,
        within=within,
        expect=expect,
        confidence=confidence,
        protect=protect,
        coins=coins,
        where=where,
    )
    return _result(question, source).by_place()


@overload
def distribution(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Distribution: ...
@overload
def distribution(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: Mapping[str, Keys],
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> dict[Any, Distribution]: ...
def distribution(
    source: Any,
    column: str | None = None,
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    by: Mapping[str, Keys] | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Distribution | dict[Any, Distribution]:
    """The whole distribution of a column for one epsilon: every quantile, share, count and
    histogram follows from it with an interval, and costs nothing more.

    With `by`, a dictionary with one for each group: by its key, or by the tuple of its keys if
    several columns divide the rows.

    >>> from postri import SeededCoins
    >>> pay = distribution(range(10_000), epsilon=1, coins=SeededCoins(7))
    >>> len(pay.quantiles([k / 100 for k in range(1, 100)]))
    99
    """
    from postri.statistics.distribution import ColumnDistribution
    from postri.tree.distribution import Distribution

    question = _question(
        {"distribution": ColumnDistribution(column, domain)},
        epsilon=epsilon,
        within=within,
        expect=expect,
        confidence=confidence,
        protect=protect,
        coins=coins,
        where=where,
        by=by,
    )
    answers = question.bound(_table(source)).answers()
    found = {keys: Distribution(group[0]) for keys, group in question.arranged(answers)}
    if by is None:
        return found[()]
    if len(question.by) == 1:
        return {keys[0]: each for keys, each in found.items()}
    return dict(found)


def histogram(
    source: Any,
    column: str | None = None,
    *,
    edges: Sequence[Any],
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    domain: Domain | None = None,
    where: str | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Result:
    """How many cells of a column lie from each of the `edges` to below the next: a row a bin.

    The last bin holds its upper edge too, if that is the domain's upper end. Cells before the first
    edge and from the last one on are in no bin. Bins are disjoint, so all of them together cost
    `epsilon`. Each interval holds its true count with probability `confidence`; with
    `simultaneous`, all of them do at once.

    >>> from postri import SeededCoins
    >>> coins = SeededCoins(7)
    >>> bars = histogram({"x": range(90)}, "x", edges=[0, 10, 100], epsilon=1, coins=coins)
    >>> [(row["from"], row["to"]) for row in bars.rows]
    [(0, 10), (10, 100)]
    """
    from postri.statistics.histogram import Histogram, check_edges

    question = _question(
        {"count": Histogram(column, domain, check_edges(edges))},
        epsilon=epsilon,
        within=within,
        expect=expect,
        confidence=confidence,
        protect=protect,
        coins=coins,
        where=where,
        simultaneous=simultaneous,
    )
    return _result(question, source).by_bin()


def ask(
    source: Any,
    aggregates: Mapping[str, Statistic | str],
    *,
    epsilon: Number | None = None,
    within: Number | Within | None = None,
    expect: int | None = None,
    by: Mapping[str, Keys] | None = None,
    where: str | None = None,
    weights: Mapping[str, Number] | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    protect: ProtectedChange = ONE_ROW,
    coins: Coins | None = None,
) -> Result:
    """Several aggregates at once, of all rows or group by group; `epsilon` is what all cost
    together.

    `by` maps columns to their public keys: there is one row of answers for each combination of
    keys, whether the table has rows for it or not, and rows with other keys are ignored. It may
    also map names to what divides rows, such as `by.month("t", "2013-01", "2013-12")`. Groups are
    disjoint and share epsilon; aggregates divide it, evenly or by `weights`. Each interval holds
    its true value with probability `confidence`; with `simultaneous`, all of them do at once.

    `within` is a wish for all aggregates that have none of their own, as `agg.count(within=50)`
    has. Without epsilon each costs the least with which its forecast is within its wish; with
    epsilon, that is divided so that each is as near as it can be in parts of its wish.

    >>> from postri import SeededCoins, agg
    >>> table = {"city": ["Oslo", "Bergen"] * 500, "fare": list(range(1_000))}
    >>> cities = {"city": ["Oslo", "Bergen"]}
    >>> coins = SeededCoins(7)
    >>> result = ask(table, {"mid": agg.median("fare")}, by=cities, epsilon=1, coins=coins)
    >>> result.columns
    ['city', 'mid', 'mid_low', 'mid_high', 'mid_low_is_edge', 'mid_high_is_edge']
    >>> print(result.population)
    rows of each city whose fare is a number
    """
    question = _question(
        check_aggregates(aggregates),
        epsilon=epsilon,
        within=within,
        expect=expect,
        divides=True,
        confidence=confidence,
        protect=protect,
        coins=coins,
        where=where,
        by=by,
        weights=weights,
        simultaneous=simultaneous,
    )
    Result.check_names(question.by, question.names, question.winners)
    return _result(question, source)


def plan(
    *,
    rows: int,
    epsilon: Number | None = None,
    reach: Number | None = None,
    p: Number = 0.5,
    domain: Domain | None = None,
    confidence: Number = 0.95,
    protect: ProtectedChange = ONE_ROW,
    split: Number = 0.5,
    groups: int = 1,
    quantiles: int = 1,
    covers: Covers = "table",
) -> Plan:
    """How far the interval will reach, before anything is spent: from public numbers alone, for
    smooth data.

    Give `epsilon` to learn the reach, or `reach` (a share of the rows, to each side) to learn the
    epsilon. If several `quantiles` share epsilon, the reach is that of each, by the method that
    suits them best.

    >>> forecast = plan(rows=45_000, epsilon=1)
    >>> print(f"from quantile {forecast.low:.4f} to {forecast.high:.4f}")
    from quantile 0.4998 to 0.5002
    """
    _check_count(rows, "rows", 0)
    _check_count(groups, "groups", 1)
    if (epsilon is None) == (reach is None):
        raise InputError(
            "give either epsilon (to learn how far the interval will reach) or reach (to "
            "learn the epsilon that it takes)"
        )
    share = None
    if reach is not None:
        share = check_share(reach, "reach")
    _check_count(quantiles, "quantiles", 1)
    if share is not None and quantiles > 1:
        raise InputError("reach tells the epsilon of one quantile; for several give epsilon")
    quantile = Quantile(None, domain, check_share(p, "p"), check_covers(covers))
    question = plain_question(
        {str(place): quantile for place in range(quantiles)},
        epsilon=1 if epsilon is None else epsilon,
        confidence=confidence,
        protect=protect,
        split=split,
        public=PublicRows(rows // groups),
    )
    terms = replace(question.asked[0].terms, groups=groups)
    own = quantile.quantile_terms(terms)
    forecast = terms.method.forecast(own, rows=rows, groups=groups, domain=domain, reach=share)
    assert forecast is not None
    return replace(forecast, epsilon=forecast.epsilon * quantiles, quantiles=quantiles)


def _table(source: Any) -> Table:
    if isinstance(source, Table):
        return source
    return Table(engine_of(source, None, USUAL_CSV))


def _question(
    aggregates: Mapping[str, Statistic],
    *,
    epsilon: Number | None,
    within: Number | Within | None = None,
    expect: int | None = None,
    divides: bool = False,
    **how: Any,
) -> Question:
    """A question that costs epsilon, or what its wishes take; only if it `divides` the one by the
    others may it have both.
    """
    wishing = with_wish(aggregates, within)
    has_wish = any(each.within is not None for each in wishing.values())
    if epsilon is not None and has_wish and not divides:
        raise InputError(
            "give either epsilon (what the answer may cost) or within (how near it is wanted, "
            "which tells the epsilon)"
        )
    public = PublicRows()
    if expect is not None:
        public = PublicRows(expect=check_expect(expect))
        if not has_wish:
            raise InputError(
                "expect, about how many rows match, is for within alone, which tells the epsilon: "
                "leave it out"
            )
    return plain_question(wishing, epsilon=epsilon, public=public, **how)


def _one(statistic: Statistic, source: Any, **how: Any) -> Answer:
    """The answer to one statistic alone."""
    return _answers(_kept_question(statistic, **how), source)[0]


def _kept_question(statistic: Statistic, *, coins: Coins | None = None, **how: Any) -> Question:
    """The question about one statistic. What is public of it is kept: most ask the same of many
    tables.
    """
    key = _key_of(statistic, how)
    try:
        question = _QUESTIONS.get(key)
    except TypeError:
        # Something that cannot be compared is told by the checks.
        return _question({"answer": statistic}, coins=coins, **how)
    if question is None:
        question = _question({"answer": statistic}, **how)
        if len(_QUESTIONS) >= MOST_QUESTIONS:
            _QUESTIONS.clear()
        _QUESTIONS[key] = question
    return question.with_coins(check_coins(coins))


def _key_of(statistic: Statistic, how: Mapping[str, Any]) -> tuple[object, ...]:
    """What tells questions apart. What is equal may not mean the same: True is no number, and the
    ends of a domain are told as they were written.
    """
    given = tuple(how.values())
    domain = None
    if statistic.domain is not None:
        domain = repr(statistic.domain)
    kinds = tuple(map(type, given))
    return (type(statistic), statistic, type(statistic.column), domain, *how, *given, *kinds)


def _one_or_groups(
    name: str, statistic: Statistic, source: Any, *, by: Mapping[str, Keys] | None, **how: Any
) -> Answer | Result:
    """The answer to one statistic alone; with groups, the result that has it under a name."""
    if by is None:
        return _one(statistic, source, **how)
    question = _question({name: statistic}, by=by, **how)
    Result.check_names(question.by, question.names, question.winners)
    return _result(question, source)


def _result(question: Question, source: Any) -> Result:
    """The same as rows and columns. Bins of a histogram share its epsilon, as groups do."""
    drawn = question.bound(_table(source)).drawn()
    return Result(
        question.by,
        question.names,
        drawn.rows,
        epsilon=question.epsilon,
        about=question.nothing_found(drawn.answers),
    )


def _answers(question: Question, source: Any) -> list[Answer]:
    """Open the source, count, draw: the answers of a question without groups."""
    return question.bound(_table(source)).answers()[0]


def _check_order(name: str, p: object, column: object) -> None:
    """InputError if a column and a number stand in each other's place, as nobody can mean it."""
    if isinstance(p, str) and column is not None and not isinstance(column, str):
        raise InputError(
            f"the number stands before the column here: {name}(source, {column}, {p!r})"
        )


def _outer(name: str, p: Number, column: str | None) -> Fraction:
    _check_order(name, p, column)
    return check_outer(p)


def _check_count(number: object, name: str, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {shown(number)}")
