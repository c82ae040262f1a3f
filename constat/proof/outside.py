"""What came from outside, as a certificate shows it: possible rows, who speaks, what is used.

In: a reading.  Out: the possible rows of a pattern of an external predicate, with a ``Usage`` that
notes which coverage, facts and assumptions the answer rested on.  Invariant: the rows given are
those a checker will find once the noted coverage, and all that matches it, is written down.

A pattern that nobody answered is *not asked*: it gets an opening of its own, so that a certificate
never claims completeness that no source gave.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.evaluation import Opening
from constat.logic import OPEN
from constat.proof.answers import AnswerBook
from constat.proof.instances import is_starred, known_columns, opened
from constat.proof.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal

    from constat.evaluation import Assumption, Evidence
    from constat.logic import OpenRow, Row
    from constat.proof.answers import Answers, Columns, Grounds
    from constat.proof.instances import Pattern
    from constat.proof.reading import Reading

Covered = tuple[str, "Columns", "Row"]
Fact = tuple[str, "Row"]

# A wider answer is shown whole where it is small: one coverage then serves many patterns.
_WIDE_ROWS = 64
_NOT_ASKED = "this was not asked"
_UNANSWERED = "no tier answered"
_NO_AUTHORITY = "no authority speaks for this"


@dataclass(slots=True)
class Usage:
    """What a part of a proof rests on."""

    covered: set[Covered] = field(default_factory=set)
    facts: set[Fact] = field(default_factory=set)
    assumptions: set[Assumption] = field(default_factory=set)
    closed: bool = False
    """Whether an accepted assumption took an opening away."""

    def add(self, other: Usage) -> None:
        """Take over what another part rests on."""
        self.covered |= other.covered
        self.facts |= other.facts
        self.assumptions |= other.assumptions
        self.closed |= other.closed


@dataclass(frozen=True, slots=True)
class _Found:
    """The possible rows of a pattern, the coverage that serves it, and what would have matched."""

    rows: list[OpenRow]
    covered: Covered
    closed_by: frozenset[Assumption]


class Outside:
    """The external predicates of a reading."""

    def __init__(self, reading: Reading, book: AnswerBook | None = None) -> None:
        self.reading = reading
        self.book = AnswerBook(reading.calls, reading.clock) if book is None else book
        self.usage = Usage()
        self.changed = False
        self._sides: dict[str, _Side] = {}
        self._found: dict[Covered, _Found] = {}

    def restart(self) -> None:
        """Forget what was used, not what was found out."""
        self.usage = Usage()
        self.changed = False
        self._found.clear()

    def side(self, predicate: str) -> _Side:
        """Return the rows of one predicate."""
        side = self._sides.get(predicate)
        if side is None:
            side = self._sides[predicate] = _Side(self.book, predicate, self.reading)
        return side

    def possible(self, predicate: str, pattern: Pattern) -> list[OpenRow]:
        """Return the possible rows that match a pattern."""
        columns, key = known_columns(pattern)
        found = self._found.get((predicate, columns, key))
        if found is None:
            side = self.side(predicate)
            if is_starred(pattern) and side.serving(columns, key) is None:
                return [opened(pattern)]
            found = self._found[predicate, columns, key] = self._find(predicate, columns, key)
        self.usage.covered.add(found.covered)
        if found.closed_by:
            self.usage.assumptions |= found.closed_by
            self.usage.closed = True
        return found.rows

    def is_served(self, predicate: str, pattern: Pattern) -> bool:
        """Tell whether a pattern was answered, or is shown in any case."""
        return self.side(predicate).serving(*known_columns(pattern)) is not None

    def promise(self, predicate: str, columns: Columns, key: Row) -> bool:
        """Let a pattern that is shown serve narrower ones from now on; tell whether that is new."""
        promised = self.side(predicate).promised.setdefault(columns, set())
        new = key not in promised
        promised.add(key)
        return new

    def _find(self, predicate: str, columns: Columns, key: Row) -> _Found:
        side = self.side(predicate)
        arity = self.reading.program.program.predicates[predicate].arity
        wide, projected = self._coverage(side, columns, key, arity)
        rows = side.rows.matching(columns, key)
        closed: set[Assumption] = set()
        for row in side.closed.matching(columns, key):
            closed.update(side.closing(row))
        return _Found(rows, (predicate, wide, projected), frozenset(closed))

    def _coverage(self, side: _Side, columns: Columns, key: Row, arity: int) -> tuple[Columns, Row]:
        served = side.serving(columns, key)
        if served is None:
            # Later passes must see this opening wherever it matches.
            reason = _UNANSWERED if (columns, key) in side.answers.asked else _NOT_ASKED
            self.changed |= side.open(columns, key, arity, reason)
            return columns, key
        if served[0] != columns and len(side.rows.matching(*served)) > _WIDE_ROWS:
            served = columns, key
        if not side.has_authority(columns, key):
            self.changed |= side.back(*served, arity)
        return served

    def looked_up(self, predicate: str, pattern: OpenRow) -> tuple[tuple[Covered, ...], bool]:
        """Return what served a pattern that was looked up, and whether assumptions closed it."""
        columns, key = known_columns(pattern)
        found = self._found.get((predicate, columns, key))
        return ((), False) if found is None else ((found.covered,), bool(found.closed_by))

    def grounds(self, predicate: str, row: Row) -> Grounds | None:
        """Return the best grounds on which a row holds, ``None`` if it does not."""
        return self.side(predicate).grounds(row)

    def is_certain(self, predicate: str, row: Row) -> bool:
        """Tell whether a row holds; it is then part of the proof."""
        grounds = self.grounds(predicate, row)
        if grounds is None:
            return False
        self.usage.facts.add((predicate, row))
        if grounds.assumption is not None:
            self.usage.assumptions.add(grounds.assumption)
        return True

    def fillings(self) -> frozenset[Assumption]:
        """Return the accepted assumptions that null cells are filled under."""
        sides = self._sides.values()
        return frozenset(one for side in sides for _, one in side.fillings.values())

    def all_hold(self, predicate: str, rows: Iterable[Row]) -> tuple[Grounds, ...] | None:
        """Return on what rows hold, each grounds once; ``None`` where one does not hold.

        Assumptions are noted as used, the rows are not: there may be a million.
        """
        side = self.side(predicate)
        given = dict.fromkeys(map(side.given.get, rows))
        found: dict[Grounds, None] = {}
        for one in given:
            best = side.best(one or ())
            if best is None:
                return None
            found[best] = None
        self.usage.assumptions.update(g.assumption for g in found if g.assumption is not None)
        return tuple(found)

    def sources(self, covered: Covered) -> tuple[Evidence, ...]:
        """Return who speaks for a coverage; nobody where it was not asked."""
        predicate, columns, key = covered
        return self.side(predicate).speakers(columns, key)


class _Side:
    """One external predicate in a reading."""

    def __init__(self, book: AnswerBook, predicate: str, reading: Reading) -> None:
        self.answers = answers = book.of(predicate)
        self.reading = reading
        self.given = _given(book, answers, reading)
        self.rows = Relation(self.given, reading.clock)
        self.closed = Relation()
        # Of each row whose null cells are filled in this reading, what fills them.
        self.fillings: dict[OpenRow, tuple[Row, Assumption]] = {}
        for filled, found in self.given.items():
            unfilled = found[0].evidence.fills
            if unfilled is not None and found[0].assumption is not None:
                self.fillings[unfilled.row] = (filled, found[0].assumption)
                self.closed.add(unfilled.row)
        self.openings: dict[OpenRow, dict[Assumption | None, Opening]] = {
            row: dict(by) for row, by in answers.openings.items()
        }
        for row in self.openings:
            self._file(row)
        # Patterns that nobody answered and that are shown all the same.
        self.promised: dict[Columns, set[Row]] = {}
        self._held: dict[Grounds, bool] = {}
        # By identity: the tuples live in the recorded answers.
        self._authority: dict[int, bool] = {}

    def _file(self, row: OpenRow) -> None:
        accepted = [a is not None and a in self.reading.accepted for a in self.openings[row]]
        if any(accepted):
            self.closed.add(row)
        if not all(accepted):
            self.rows.add(row)

    def closing(self, row: OpenRow) -> Iterator[Assumption]:
        """Yield the accepted assumptions that close an opening, or fill a row."""
        if row in self.fillings:
            yield self.fillings[row][1]
        for assumption in self.openings.get(row, ()):
            if assumption is not None and assumption in self.reading.accepted:
                yield assumption

    def serving(self, columns: Columns, key: Row) -> tuple[Columns, Row] | None:
        """Return the most specific answered pattern that serves this one, or one promised."""
        found = next(self.answers.serving(columns, key), None)
        if found is not None or not self.promised:
            return found
        places = dict(zip(columns, key, strict=True))
        for wide, keys in self.promised.items():
            if all(column in places for column in wide):
                projected = tuple([places[column] for column in wide])
                if projected in keys:
                    return wide, projected
        return None

    def speakers(self, columns: Columns, key: Row) -> tuple[Evidence, ...]:
        """Return who speaks for the pattern: where there are authorities, the closest ones."""
        first: tuple[Evidence, ...] | None = None
        for served in self.answers.serving(columns, key):
            evidences = self.answers.authorities(*served)
            if self._is_authority(evidences):
                return evidences
            first = evidences if first is None else first
        return first or ()

    def _is_authority(self, evidences: tuple[Evidence, ...]) -> bool:
        known = self._authority.get(id(evidences))
        if known is None:
            known = any(not evidence.origin.assumed for evidence in evidences)
            self._authority[id(evidences)] = known
        return known

    def has_authority(self, columns: Columns, key: Row) -> bool:
        """Tell whether configuration or a database speaks for the pattern."""
        return self._is_authority(self.speakers(columns, key))

    def open(self, columns: Columns, key: Row, arity: int, reason: str) -> bool:
        """Admit that anything may match a pattern; tell whether that is new."""
        places = dict(zip(columns, key, strict=True))
        row: OpenRow = tuple([places.get(column, OPEN) for column in range(arity)])
        if row in self.openings:
            return False
        self.openings[row] = {None: Opening(row, reason, "")}
        self._file(row)
        return True

    def back(self, columns: Columns, key: Row, arity: int) -> bool:
        """See to it that an opening backs a pattern for which no authority speaks."""
        places = dict(zip(columns, key, strict=True))
        row: OpenRow = tuple([places.get(column, OPEN) for column in range(arity)])
        if row in self.openings:
            return False
        for wider, by_assumption in self.openings.items():
            if all(slot is OPEN or slot == mine for slot, mine in zip(wider, row, strict=True)):
                self.openings[row] = {
                    assumption: Opening(row, opening.reason, opening.tier, assumption)
                    for assumption, opening in by_assumption.items()
                }
                self._file(row)
                return True
        return self.open(columns, key, arity, _NO_AUTHORITY)

    def grounds(self, row: Row) -> Grounds | None:
        """Return the grounds of greatest confidence that hold, plain ones first."""
        return self.best(self.given.get(row, ()))

    def best(self, given: Iterable[Grounds]) -> Grounds | None:
        """Return the best of some grounds, ``None`` where none holds."""
        best: Grounds | None = None
        for one in given:
            if self._holds(one) and (best is None or _rank(one) > _rank(best)):
                best = one
        return best

    def _holds(self, grounds: Grounds) -> bool:
        known = self._held.get(grounds)
        if known is None:
            known = self._held[grounds] = self.reading.holds(grounds.assumption)
        return known

    def shown(self, row: Row) -> Grounds:
        """Return the grounds under which a certificate shows a row."""
        return self.grounds(row) or self.given[row][0]


def _rank(grounds: Grounds) -> tuple[Decimal, bool]:
    return (grounds.confidence, grounds.assumption is None)


def _given(book: AnswerBook, answers: Answers, reading: Reading) -> dict[Row, tuple[Grounds, ...]]:
    """Return the rows of a reading: a filled one only where its filling is accepted."""
    found: dict[Row, tuple[Grounds, ...]] = {}
    for row, grounds in answers.rows.items():
        unfilled = grounds[0].evidence.fills
        if unfilled is None or reading.holds(grounds[0].assumption):
            found[row] = grounds
        else:
            found[unfilled.row] = (book.grounds(unfilled.evidence, None),)
    return found
