"""Whose budget a question draws on: datasets about the same people count together.

What was said of a dataset once stays true of its earlier spends. So the places where its rows lay
and the datasets that it was joined with add up over all its terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from postri.cost import NOTHING, Cost
from postri.errors import (
    BudgetExceeded,
    DatasetClosed,
    PostriError,
    QuestionsExceeded,
    TermsRefused,
)
from postri.ledger.book import Book
from postri.ledger.charges import (
    Charge,
    Limits,
    People,
    check_limits,
    check_open,
    check_questions,
)
from postri.ledger.protection import Protections
from postri.ledger.store import DatasetUsage, Usage
from postri.ledger.terms import DatasetTerms, Restated
from postri.privacy import ProtectedChange


@dataclass(frozen=True)
class Standing:
    """What counts against the limits of a dataset, before its next question.

    `names` are all datasets about the same people; `facts` must be appended first.
    """

    names: tuple[str, ...]
    facts: tuple[Restated | DatasetTerms, ...] = ()

    @property
    def restated(self) -> list[Restated]:
        """What is to be charged because of a stronger protection."""
        return [fact for fact in self.facts if isinstance(fact, Restated)]

    def spent(self, book: Book, analyst: str | None = None) -> Cost:
        """What was spent by all, or by one analyst, as it counts."""
        total = NOTHING
        for name in self.names:
            total += book.spent(name, analyst)
        for fact in self.restated:
            if analyst is None or fact.analyst == analyst:
                total += fact.cost
        return total

    def usage(self, kept: Mapping[str, DatasetUsage]) -> DatasetUsage:
        """The same for everybody, from the totals of all datasets."""
        whole = DatasetUsage()
        for name in self.names:
            whole = whole.joined(kept.get(name, DatasetUsage()))
        extra = sum((fact.cost for fact in self.restated), NOTHING)
        analysts = dict(whole.analysts)
        for fact in self.restated:
            if fact.analyst is not None:
                own = analysts.get(fact.analyst, Usage())
                analysts[fact.analyst] = replace(own, cost=own.cost + fact.cost)
        return replace(whole, cost=whole.cost + extra, analysts=analysts)


def standing_of(
    book: Book, dataset: str, people: People, protections: Callable[[str], Protections]
) -> Standing:
    """What counts for a dataset about these people; `protections` is asked if one changed.

    TermsRefused if the dataset reads what is known as another's, or if no number tells what earlier
    spends mean under the protection.
    """
    names = book.same_people(dataset, people.same_people)
    check_places(book, dataset, names, people.places)
    facts: list[Restated | DatasetTerms] = []
    for terms, protect in _changed(book, names, people):
        facts.extend(protections(terms.dataset).restatements(terms.dataset, protect, dataset))
        if terms.dataset != dataset:
            facts.append(replace(terms, protect=protect, places=()))
    return Standing(names, tuple(facts))


def _changed(
    book: Book, names: Iterable[str], people: People
) -> Iterator[tuple[DatasetTerms, ProtectedChange]]:
    """The last terms of those datasets that protect something else, and what is to be protected.

    What was never asked has spent nothing; what was asked under this protection last was restated
    then.
    """
    protect = people.protect
    if protect is None:
        return
    for name in names:
        terms = book.terms(name)
        if terms is not None and terms.protect != protect:
            yield terms, protect


def check_places(book: Book, dataset: str, names: Iterable[str], places: Iterable[str]) -> None:
    """TermsRefused if rows of the dataset lie where those of another do that is not joined."""
    others = sorted(book.sharing(dataset, places) - set(names))
    if others:
        other = others[0]
        raise TermsRefused(
            f"dataset {dataset!r} reads the same source as {other!r} does or did, so both are "
            f'about the same people: write same_people_as = "{other}" in the table of '
            f"{dataset!r}, and what was spent on either counts for both; if it is {other!r} under "
            "a new name, write that or the old name; nothing was spent"
        )


def without_number(
    book: Book, dataset: str, people: People, protections: Callable[[str], Protections]
) -> list[tuple[DatasetTerms, ProtectedChange]]:
    """The last terms of those datasets whose earlier spends have no number under the protection,
    and the protection.
    """
    found = []
    names = book.same_people(dataset, people.same_people)
    for terms, protect in _changed(book, names, people):
        try:
            list(protections(terms.dataset).restatements(terms.dataset, protect))
        except TermsRefused:
            found.append((terms, protect))
    return found


def terms_under(
    terms: DatasetTerms | None, dataset: str, limits: Limits, names: Iterable[str]
) -> DatasetTerms:
    """The terms of a dataset as these limits have them, with the allowances that it had and no new
    place; what the limits do not say stays.
    """
    protect = limits.people.protect
    allowances: Mapping[str, Fraction] = {}
    if terms is not None:
        allowances = terms.allowances
        if protect is None:
            protect = terms.protect
    return DatasetTerms(
        dataset=dataset,
        budget=limits.budget,
        accountant=limits.accountant,
        per_question=limits.per_question,
        allowances=allowances,
        protect=protect,
        same_people=tuple(name for name in names if name != dataset),
    )


def refusal_of(
    book: Book, charge: Charge, limits: Limits, standing: Standing
) -> PostriError | None:
    """Why the limits do not allow a charge; None if they do."""
    on_dataset = standing.spent(book)
    by_analyst = standing.spent(book, charge.analyst)
    # Failures of all datasets about the same people tell of the same rows.
    unanswered = [book.without_answer(name) for name in standing.names]
    try:
        check_limits(charge, limits, on_dataset, by_analyst)
        check_questions(charge, limits, book.questions(charge.dataset, charge.analyst))
        # Last, for whoever is refused here may wait: until another question has its answer.
        check_open(charge.dataset, limits, *map(sum, zip(*unanswered, strict=True)))
    except (BudgetExceeded, QuestionsExceeded, DatasetClosed) as error:
        return error
    return None


def write_terms(book: Book, charge: Charge, limits: Limits, names: Iterable[str]) -> None:
    """Keep the terms as the limits of one analyst have them, if they changed; the allowances of
    others stay.
    """
    terms = book.terms(charge.dataset)
    wanted = terms_under(terms, charge.dataset, limits, names)
    allowances = dict(wanted.allowances)
    allowances.pop(charge.analyst, None)
    if limits.allowance is not None:
        allowances[charge.analyst] = limits.allowance
    new_places = limits.people.places - book.places(charge.dataset)
    wanted = replace(
        wanted, allowances=MappingProxyType(allowances), places=tuple(sorted(new_places))
    )
    if terms is None or replace(terms, places=()) != wanted:
        book.append(wanted)
