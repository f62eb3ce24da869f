"""From what a caller says to a question that is checked: every rule once, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from postri.answer.forecast import ExpectedRows, Unknown
from postri.answer.words import wish_note
from postri.domain import check_domain
from postri.engines.rows import MOST_GROUPS, Groups, Keys
from postri.exact import Number
from postri.expressions import Predicate
from postri.mechanisms.coins import Coins
from postri.methods.method import Method, check_rows
from postri.privacy import ProtectedChange, check_protect, check_share
from postri.question.choice import Choice
from postri.question.expected import PublicRows
from postri.question.question import Question, joint_notes
from postri.question.rules import (
    check_coins,
    check_method,
    check_wishes,
    check_wishes_of_groups,
    shares_of,
    wishes_divide,
)
from postri.statistics.statistic import Asked, Statistic, Terms

if TYPE_CHECKING:
    from postri.expressions.tree import Expression

NOTHING_PUBLIC = PublicRows()
NONE_TOLD: Mapping[str, int] = MappingProxyType({})


def plain_question(
    aggregates: Mapping[str, Statistic],
    *,
    epsilon: Number | None,
    confidence: Number,
    protect: ProtectedChange,
    method: str | Method | None = None,
    split: Number = 0.5,
    coins: Coins | None = None,
    where: str | Predicate | None = None,
    by: Mapping[str, Keys] | None = None,
    weights: object = None,
    simultaneous: bool = False,
    parts: Mapping[str, int] = NONE_TOLD,
    selected: Mapping[str, int] = NONE_TOLD,
    concentrated: bool = False,
    public: PublicRows = NOTHING_PUBLIC,
    least: Fraction = Fraction(0),
) -> Question:
    """A question to a table without a policy, drawn in the order in which it was asked.

    Without a method, each column's quantiles get the one that suits them best, by the forecast for
    as many rows as are `public`.

    Epsilon is divided evenly, or by `weights`; if all aggregates have a wish, so that each is as
    good as it can be in parts of it. Without epsilon each gets the least that its wish takes, and
    all together `least` at least. `parts` says how many intervals must hold at once
    with that of an aggregate, `selected` by how much more beta is divided for those by which rows
    are selected. If the privacy is to be `concentrated`, Gaussian noise is drawn where noise is
    added, and its draws divide the rho of the question in place of its epsilon.
    """
    total = check_wishes(epsilon, weights, aggregates)
    _check_statistics(aggregates.values(), protect)
    terms = _terms(confidence, protect, method, split, concentrated=concentrated)
    checked_coins = check_coins(coins)
    predicate = Predicate.of(where)
    groups = Groups.of(by) if by is not None else None
    check_rows(
        terms.method,
        where=predicate is not None or any(each.where for each in aggregates.values()),
        by=groups is not None,
        protect=terms.protect,
    )
    answers = sum(len(statistic.suffixes) for statistic in aggregates.values())
    terms = _in_groups(terms, answers, groups, simultaneous=simultaneous)
    names = tuple(aggregates)
    divides = weights is None and wishes_divide(total, aggregates)
    shares: Sequence[Fraction] = ()
    if not divides:
        shares = shares_of(weights, list(names))
    unknown = groups is not None and groups.unknown is not None
    if groups is not None and unknown:
        from postri.question.discovery import with_decider

        check_wishes_of_groups(divides=divides)
        aggregates, shares = with_decider(aggregates, shares, groups)
    choice = Choice(
        [
            Asked(each, replace(terms, parts=parts.get(name, 1), selected=selected.get(name, 1)))
            for name, each in aggregates.items()
        ],
        # The rows of groups that nobody knows are not known either.
        _expected(aggregates.values(), terms, public, filtered=unknown or predicate is not None),
        fixed=method is not None,
        concentrated=concentrated,
    )
    if divides:
        asked = choice.wished(list(aggregates), total, least)
    else:
        assert total is not None
        asked = choice.paying([total * share for share in shares])
    return Question(
        asked=_settled(choice, asked, public),
        aggregates=names,
        places=tuple(range(len(names))),
        confidence=terms.confidence,
        protect=terms.protect,
        coins=checked_coins,
        where=predicate,
        groups=groups,
        by=tuple(column.name for column in groups.columns) if groups else (),
        simultaneous=simultaneous,
        computed=_own_columns(aggregates.values()),
    )


def _check_statistics(statistics: Iterable[Statistic], protect: ProtectedChange) -> None:
    for statistic in statistics:
        check_domain(statistic.domain)
        statistic.check_protect(check_protect(protect))
        if statistic.public_keys is not None:
            Groups.of({str(statistic.column): statistic.public_keys})


def _terms(
    confidence: Number,
    protect: ProtectedChange,
    method: str | Method | None,
    split: Number,
    *,
    concentrated: bool,
) -> Terms:
    """The terms of all statistics, but for what each pays."""
    sure = check_share(confidence, "confidence")
    usual = "depth"
    if concentrated:
        # The exponential mechanism has the smaller rho at the same epsilon (Theorem 13).
        usual = "depth-gumbel"
    return Terms(
        Fraction(1),
        1 - sure,
        sure,
        check_protect(protect),
        method=check_method(method or usual),
        split=check_share(split, "split"),
    )


def _expected(
    statistics: Iterable[Statistic], terms: Terms, public: PublicRows, *, filtered: bool
) -> list[ExpectedRows | Unknown]:
    """For each statistic what is public about the rows that count for it, by which methods are
    compared.
    """
    return [
        public.expected(terms.protect, terms.groups, filtered=filtered or each.where is not None)
        for each in statistics
    ]


def _settled(choice: Choice, asked: Sequence[Asked], public: PublicRows) -> tuple[Asked, ...]:
    """All by the methods that suit them best, checked, and with what is to be said of them."""
    best = choice.by_best_methods(asked, public.rows)
    for each in best:
        each.statistic.check_terms(each.terms)
    return _told_found([_with_wish(each) for each in best])


def _told_found(asked: Sequence[Asked]) -> tuple[Asked, ...]:
    """Each with what one of them has to say to all, such as how the keys are found."""
    notes = [note for each in asked if (note := each.statistic.note_to_all(each.terms))]
    found = tuple(asked)
    for note in notes:
        found = tuple(each.noted(note) for each in found)
    return found


def _own_columns(statistics: Iterable[Statistic]) -> dict[str, Expression]:
    """The columns that statistics bring, by name."""
    found: dict[str, Expression] = {}
    for statistic in statistics:
        found.update(statistic.computed)
    return found


def _with_wish(asked: Asked) -> Asked:
    """The same with a note that tells the wish, if there is one."""
    wish = asked.statistic.within
    if wish is None:
        return asked
    return asked.noted(wish_note(wish.words, asked.terms.epsilon))


def _in_groups(terms: Terms, answers: int, groups: Groups | None, *, simultaneous: bool) -> Terms:
    """The terms of all statistics, which have so many answers in each group.

    Intervals that are to hold at once divide beta.
    """
    number = groups.size if groups else 1
    if groups is not None and groups.unknown is not None:
        # As many as there may be: how many there are is known when they are found.
        joint = joint_notes(simultaneous, MOST_GROUPS)
        return replace(terms, groups=MOST_GROUPS, at_once=simultaneous, notes=joint)
    if not simultaneous:
        return replace(terms, groups=number)
    intervals = answers * number
    notes = joint_notes(simultaneous, intervals)
    beta = terms.beta / intervals
    return replace(terms, groups=number, beta=beta, at_once=True, notes=notes)
