"""What outside answered, by predicate: rows with evidence, openings, who speaks for which keys.

In: the calls of an evaluation.  Out: an ``AnswerBook``.  Invariant: a pattern counts as answered
only where a recorded answer speaks for it or for a wider pattern; what nobody answered stays
unknown.

Example: after an answer for all rows of ``tier``, the pattern ``tier("C001", ?t)`` is answered too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.evaluation import UNTIMED, Clock
from constat.proof.lateness import timely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from constat.evaluation import Assumption, Call, Evidence, Opening
    from constat.logic import OpenRow, Row

Columns = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """Why a row is there: whose word it is, and what must be accepted for it.

    One object per evidence and assumption, compared by identity: an evidence may name thousands of
    parameters, and hashing them for every row would cost more than the proof.
    """

    evidence: Evidence
    assumption: Assumption | None

    @property
    def confidence(self) -> Decimal:
        """The evidence's confidence; of a filled row the least of both."""
        unfilled = self.evidence.fills
        own = self.evidence.confidence
        return own if unfilled is None else min(own, unfilled.evidence.confidence)


@dataclass(slots=True)
class Answers:
    """Everything that was answered for one predicate.

    ``spoken_for[columns][key]`` are the authorities of a key; ``openings[row]`` keeps one opening
    per assumption; ``asked`` holds every pattern that was demanded.
    """

    rows: dict[Row, tuple[Grounds, ...]] = field(default_factory=dict)
    openings: dict[OpenRow, dict[Assumption | None, Opening]] = field(default_factory=dict)
    spoken_for: dict[Columns, dict[Row, tuple[Evidence, ...]]] = field(default_factory=dict)
    asked: set[tuple[Columns, Row]] = field(default_factory=set)
    narrow_first: list[Columns] = field(default_factory=list)

    def serving(self, columns: Columns, key: Row) -> Iterator[tuple[Columns, Row]]:
        """Yield the answered patterns that serve this one, the most specific first."""
        for wide in self.narrow_first:
            if wide == columns:
                projected = key
            elif set(wide) <= set(columns):
                projected = tuple([key[columns.index(column)] for column in wide])
            else:
                continue
            if projected in self.spoken_for[wide]:
                yield wide, projected

    def authorities(self, columns: Columns, key: Row) -> tuple[Evidence, ...]:
        """Return who speaks for an answered pattern."""
        return self.spoken_for[columns][key]

    def add_row(self, row: Row, grounds: Grounds) -> None:
        """Add a row with one more reason for it."""
        known = self.rows.get(row)
        if known is None:
            self.rows[row] = (grounds,)
        elif grounds not in known:
            self.rows[row] = (*known, grounds)

    def take_keys(self, call: Call) -> None:
        """Add what a call asked for and what was answered of it."""
        columns = call.demand.columns
        self.asked.update((columns, key) for key in call.demand.keys)
        if columns not in self.spoken_for:
            self.narrow_first = sorted([*self.narrow_first, columns], key=len, reverse=True)
        spoken = self.spoken_for.setdefault(columns, {})
        for key in call.answer.answered:
            spoken.setdefault(key, call.answer.authorities)


class AnswerBook:
    """The answers of an evaluation, by predicate; evidence is numbered, equal ones alike."""

    def __init__(self, calls: Iterable[Call], clock: Clock = UNTIMED) -> None:
        self._clock = clock
        self._answers: dict[str, Answers] = {}
        self._numbers: dict[Evidence, int] = {}
        # Looked up by identity first: the objects live as long as the calls do.
        self._seen: dict[int, tuple[Evidence, int]] = {}
        self._grounds: dict[tuple[int, Assumption | None], Grounds] = {}
        for call in calls:
            self._take(call)

    def _take(self, call: Call) -> None:
        answers = self._answers.setdefault(call.demand.predicate.name, Answers())
        for portion in call.answer.portions:
            grounds = self.grounds(portion.evidence, portion.assumption)
            for row in timely(self._clock, portion.rows):
                answers.add_row(row, grounds)
        for opening in timely(self._clock, call.answer.openings):
            told = opening.filled
            if told is not None:
                # A row that is filled is no opening: it is there, whoever says more of it.
                for row in told.rows:
                    answers.add_row(row, self.grounds(told.evidence, told.assumption))
                continue
            answers.openings.setdefault(opening.row, {}).setdefault(opening.assumption, opening)
        answers.take_keys(call)

    def grounds(self, evidence: Evidence, assumption: Assumption | None) -> Grounds:
        """Return the one object for these grounds."""
        key = (self.number(evidence), assumption)
        found = self._grounds.get(key)
        if found is None:
            found = self._grounds[key] = Grounds(evidence, assumption)
        return found

    def number(self, evidence: Evidence) -> int:
        """Return the number of an evidence."""
        seen = self._seen.get(id(evidence))
        if seen is None:
            number = self._numbers.setdefault(evidence, len(self._numbers))
            seen = self._seen[id(evidence)] = (evidence, number)
        return seen[1]

    def of(self, predicate: str) -> Answers:
        """Return the answers for a predicate; none where nothing was asked."""
        return self._answers.get(predicate) or Answers()

    def predicates(self) -> tuple[str, ...]:
        """Return the predicates that were asked for."""
        return tuple(self._answers)

    def assumptions(self) -> Iterator[Assumption]:
        """Yield every assumption an answer names, in the order met, with repetitions."""
        for _, assumption in self._grounds:
            if assumption is not None:
                yield assumption
        for answers in self._answers.values():
            for openings in answers.openings.values():
                yield from (assumption for assumption in openings if assumption is not None)
