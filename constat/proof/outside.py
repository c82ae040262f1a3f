"""What came from outside, as a certificate shows it: possible rows, who speaks, what is used."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from constat.evaluation import UNTIMED, Clock, FilledRow, Opening, PackedRows, in_parts
from constat.frozen import frozen, slotted
from constat.logic import OPEN, NullCell, unread_columns
from constat.proof.instances import PositiveCode, is_starred, known_columns, opened
from constat.proof.reading import timely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal

    from constat.evaluation import Assumption, Call, Conflict, Evidence
    from constat.logic import OpenRow, Row
    from constat.proof.instances import AtomCode, Binding, ComparisonCode, Pattern, RuleCode
    from constat.proof.reading import Reading

# A row with ⋆ in a column matches every value there; indexes follow later additions.

Columns = tuple[int, ...]


class Relation:
    """A growing set of open rows, indexed on demand."""

    def __init__(self, rows: Iterable[OpenRow] = (), clock: Clock = UNTIMED) -> None:
        self.rows: dict[OpenRow, None] = dict.fromkeys(rows)
        self._indexes: dict[Columns, tuple[dict[OpenRow, list[OpenRow]], list[OpenRow]]] = {}
        self._star_shapes: set[Columns] = set()
        self.null_columns: set[int] = set()
        self.columns_of_none: set[int] = set()
        for row in timely(clock, self.rows):
            if OPEN in row or NullCell in map(type, row):
                self._note_stars(row)
        unread = unread_columns(self.rows)
        self.null_columns |= unread
        self.columns_of_none |= unread

    def add(self, row: OpenRow) -> bool:
        """Add a row; tell whether it is new."""
        if row in self.rows:
            return False
        self.rows[row] = None
        self._note_stars(row)
        for columns, (exact, starred) in self._indexes.items():
            _file(row, columns, exact, starred)
        return True

    def _note_stars(self, row: OpenRow) -> None:
        if OPEN in row:
            self._star_shapes.add(tuple(c for c, slot in enumerate(row) if slot is OPEN))
        if NullCell in map(type, row):
            for column, cell in enumerate(row):
                if isinstance(cell, NullCell):
                    self.null_columns.add(column)
                    if cell.policy.is_empty:
                        self.columns_of_none.add(column)

    @property
    def has_placeholders(self) -> bool:
        """Whether any row has a ⋆."""
        return bool(self._star_shapes)

    def matching(self, columns: Columns, key: Row) -> list[OpenRow]:
        """Return the rows that may have this key in these columns."""
        if not columns:
            return list(self.rows)
        exact, starred = self._index(columns)
        found = exact.get(key, ())
        if not starred:
            return list(found)
        pairs = tuple(zip(columns, key, strict=True))
        return [
            *found,
            *(row for row in starred if all(row[c] == v or _is_vague(row[c]) for c, v in pairs)),
        ]

    def covers(self, head: OpenRow) -> bool:
        """Tell whether a row equals the head wherever the row is not ⋆."""
        if head in self.rows:
            return True
        for stars in self._star_shapes:
            masked = list(head)
            for column in stars:
                masked[column] = OPEN
            if tuple(masked) in self.rows:
                return True
        return False

    def _index(self, columns: Columns) -> tuple[dict[OpenRow, list[OpenRow]], list[OpenRow]]:
        known = self._indexes.get(columns)
        if known is None:
            known = ({}, [])
            for row in self.rows:
                _file(row, columns, *known)
            self._indexes[columns] = known
        return known


def has_none(cell: object) -> bool:
    """Tell whether a cell says that there is no value."""
    return isinstance(cell, NullCell) and cell.policy.is_empty


def _is_vague(cell: object) -> bool:
    """Tell whether a cell may have any value: ⋆, a label, or perhaps none."""
    return cell is OPEN or (isinstance(cell, NullCell) and not cell.policy.is_empty)


def _file(
    row: OpenRow,
    columns: Columns,
    exact: dict[OpenRow, list[OpenRow]],
    starred: list[OpenRow],
) -> None:
    key = tuple([row[column] for column in columns])
    if OPEN in key or NullCell in map(type, key):
        if not any(map(has_none, key)):
            starred.append(row)
    else:
        exact.setdefault(key, []).append(row)


# A pattern counts as answered only where a recorded answer speaks for it or for a wider pattern;
# what nobody answered stays unknown.


@frozen(eq=False)
class Grounds:
    """Why a row is there: whose word it is, and what must be accepted for it.

    One object per evidence and assumption, compared by identity: an evidence may name thousands of
    parameters, and hashing them for every row would cost more than the proof.
    """

    evidence: Evidence
    assumption: Assumption | None

    @property
    def confidence(self) -> Decimal:
        """The evidence's confidence; of a filled row the least of all who say its cells."""
        return min(one.confidence for one in self.evidence.every())

    def filled(self, row: Row) -> FilledRow:
        """Take the row apart: as its source gave it, and the words that fill its null cells."""
        return FilledRow.of(row, self.evidence, self.assumption)


@slotted
class Answers:
    """Everything that was answered for one predicate.

    ``spoken_for[columns][key]`` are the authorities of a key; ``openings[row]`` keeps one opening
    per assumption; ``asked`` holds every pattern that was demanded.  Rows that came ``packed`` stay
    so while they are all there are, and nobody looks for single ones.
    """

    _rows: dict[Row, tuple[Grounds, ...]] = field(default_factory=dict)
    packed: tuple[PackedRows, Grounds] | None = None
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

    @property
    def rows(self) -> dict[Row, tuple[Grounds, ...]]:
        """Return the rows, each with the reasons for it."""
        packed, self.packed = self.packed, None
        if packed is not None:
            self._rows.update(dict.fromkeys(packed[0], packed[1:]))
        return self._rows

    def take_packed(self, rows: Sequence[Row], grounds: Grounds) -> bool:
        """Keep rows packed where there are no others yet; tell whether that was done."""
        if not isinstance(rows, PackedRows) or self.packed is not None or self._rows:
            return False
        if grounds.assumption is not None or grounds.evidence.fills is not None:
            return False
        self.packed = rows, grounds
        return True

    def authorities(self, columns: Columns, key: Row) -> tuple[Evidence, ...]:
        """Return who speaks for an answered pattern."""
        return self.spoken_for[columns][key]

    def take_rows(self, rows: Iterable[Row], grounds: Grounds) -> None:
        """Add rows with one reason; the first ones at once, as nothing is known of them."""
        if not self.rows:
            self.rows.update(dict.fromkeys(rows, (grounds,)))
            return
        for row in rows:
            self.add_row(row, grounds)

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
            if answers.take_packed(portion.rows, grounds):
                continue
            answers.take_rows(timely(self._clock, portion.rows), grounds)
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


# The rows given are those a checker will find once the noted coverage, and all that matches it, is
# written down.
# A pattern that nobody answered is *not asked*: it gets an opening of its own, so that a
# certificate never claims completeness that no source gave.

Covered = tuple[str, "Columns", "Row"]
Sifted = tuple[str, "Columns", "Row", int, int]
"""A coverage for one literal alone: besides, the number of its rule, and its place there."""
Fact = tuple[str, "Row"]

# A wider answer is shown whole where it is small: one coverage then serves many patterns.
_WIDE_ROWS = 64
# Of more rows those are left out that the reader's comparisons let not pass, if they are most.
_MOST_WHOLE = 10_000
# So many rows are looked for among packed ones, one after the other.
_MOST_LOOKS = 32
_NOT_ASKED = "this was not asked"
_UNANSWERED = "no tier answered"
_NO_AUTHORITY = "no authority speaks for this"


@slotted
class Usage:
    """What a part of a proof rests on."""

    covered: set[Covered] = field(default_factory=set)
    sifted: dict[Sifted, list[OpenRow]] = field(default_factory=dict)
    """The rows that are shown for one literal alone."""
    facts: set[Fact] = field(default_factory=set)
    assumptions: set[Assumption] = field(default_factory=set)
    closed: bool = False
    """Whether an accepted assumption took an opening away."""

    def add(self, other: Usage) -> None:
        """Take over what another part rests on."""
        self.covered |= other.covered
        self.sifted |= other.sifted
        self.facts |= other.facts
        self.assumptions |= other.assumptions
        self.closed |= other.closed

    def every(self) -> set[Covered]:
        """Return all coverage, whether it is for one literal alone or for all."""
        return self.covered.union(one[:3] for one in self.sifted)


@frozen
class _Found:
    """The possible rows of a pattern, the coverage that serves it, and what would have matched."""

    rows: list[OpenRow]
    covered: Covered
    closed_by: frozenset[Assumption]


def _may_equal(cell: object, other: object) -> bool:
    return cell == other or isinstance(cell, NullCell) or isinstance(other, NullCell)


class Outside:
    """The external predicates of a reading."""

    def __init__(self, reading: Reading, book: AnswerBook | None = None) -> None:
        self.reading = reading
        self.book = AnswerBook(reading.calls, reading.clock) if book is None else book
        self.usage = Usage()
        self.changed = False
        self._sides: dict[str, Side] = {}
        self._found: dict[Covered, _Found] = {}
        # How many rows matched, and which of them pass.
        self._sifted: dict[Sifted, tuple[int, list[OpenRow]]] = {}

    def restart(self) -> None:
        """Forget what was used, not what was found out."""
        self.usage = Usage()
        self.changed = False
        self._found.clear()

    def side(self, predicate: str) -> Side:
        """Return the rows of one predicate."""
        side = self._sides.get(predicate)
        if side is None:
            side = self._sides[predicate] = Side(self.book, predicate, self.reading)
        return side

    def concerns(self, conflict: Conflict) -> bool:
        """Tell whether somebody contests a used row, or a row of a used coverage.

        A null cell may be any value.
        """
        name = conflict.predicate
        key = self.reading.program.program.predicates[name].key or ()
        used = [(key, tuple([row[n] for n in key])) for at, row in self.usage.facts if at == name]
        used += [(columns, cells) for at, columns, cells in self.usage.every() if at == name]
        return any(
            all(_may_equal(row[n], cell) for n, cell in zip(columns, cells, strict=True))
            for columns, cells in dict.fromkeys(used)
            for row in conflict.rows
        )

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
        self._close(found.closed_by)
        return found.rows

    def packed(self, predicate: str, pattern: Pattern) -> tuple[PackedRows, Grounds] | None:
        """Return the rows that match a pattern as they came packed, with the grounds of all.

        ``None`` where they are to be looked up one by one.
        """
        side, (columns, key) = self.side(predicate), known_columns(pattern)
        found = side.answers.packed
        if found is None or side.openings or is_starred(pattern):
            return None
        if side.serving(columns, key) != (columns, key) or not side.has_authority(columns, key):
            return None
        rows, grounds = found
        self.usage.covered.add((predicate, columns, key))
        return rows.having(columns, {key}), grounds

    def _close(self, closed_by: frozenset[Assumption]) -> None:
        if closed_by:
            self.usage.assumptions |= closed_by
            self.usage.closed = True

    def sift(
        self, code: RuleCode, place: int, pattern: Pattern, binding: Binding
    ) -> list[OpenRow] | None:
        """Return the possible rows that a literal of a rule lets pass by its own comparisons.

        ``None`` where they are no great part of those that match, or where the others cannot be
        left out: all are then to be looked up, and shown.
        """
        literal, tests = code.body[place], code.own_tests(place)
        if not tests or not isinstance(literal, PositiveCode) or is_starred(pattern):
            return None
        atom, (columns, key) = literal.atom, known_columns(pattern)
        side = self.side(atom.predicate)
        if side.fillings or not side.has_authority(columns, key):
            return None
        rows = side.rows.matching(columns, key)
        one = (atom.predicate, columns, key, code.number, place)
        if len(rows) <= _MOST_WHOLE or one[:3] in self.usage.covered:
            return None
        known = self._sifted.get(one)
        if known is None or known[0] != len(rows):
            kept = [
                row
                for row in timely(self.reading.clock, rows)
                if row in side.openings or _passes(atom, tests, pattern, row, binding)
            ]
            known = self._sifted[one] = (len(rows), kept)
        if len(known[1]) > len(rows) // 2:
            return None
        self.usage.sifted[one] = known[1]
        closed = side.closed.matching(columns, key)
        self._close(frozenset(why for row in closed for why in side.closing(row)))
        return known[1]

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

    def _coverage(self, side: Side, columns: Columns, key: Row, arity: int) -> tuple[Columns, Row]:
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
        return frozenset(in_parts(one for side in sides for _, one in side.fillings.values()))

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


def _passes(
    atom: AtomCode,
    tests: Iterable[ComparisonCode],
    pattern: Pattern,
    row: OpenRow,
    binding: Binding,
) -> bool:
    """Tell whether a literal takes a row, and no comparison is false then."""
    taken = atom.unify(pattern, row, binding)
    return taken is not None and all(test.truth(taken) is not False for test in tests)


class Side:
    """One external predicate in a reading."""

    def __init__(self, book: AnswerBook, predicate: str, reading: Reading) -> None:
        self.answers = answers = book.of(predicate)
        self.book = book
        self.reading = reading
        self.closed = Relation()
        # Of each row whose null cells are filled in this reading, what fills them.
        self.fillings: dict[OpenRow, tuple[Row, Assumption]] = {}
        self._looked = 0
        for filled, found in self.given.items() if answers.packed is None else ():
            if found[0].evidence.fills is not None and found[0].assumption is not None:
                bare = found[0].filled(filled).bare.row
                self.fillings[bare] = (filled, found[0].assumption)
                self.closed.add(bare)
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

    @cached_property
    def given(self) -> dict[Row, tuple[Grounds, ...]]:
        """The rows of the reading, each with the reasons for it."""
        return _given(self.book, self.answers, self.reading)

    @cached_property
    def rows(self) -> Relation:
        """The possible rows."""
        return Relation(self.given, self.reading.clock)

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
            known = any(not evidence.assumed for evidence in evidences)
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
        packed = self.answers.packed
        if packed is not None and self._looked < _MOST_LOOKS:
            self._looked += 1
            return self.best(packed[1:] if row in packed[0] else ())
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
    """Return the rows of a reading: of a filled one the cells whose filling is accepted."""
    found: dict[Row, tuple[Grounds, ...]] = {}
    for row, grounds in answers.rows.items():
        if grounds[0].evidence.fills is None or reading.holds(grounds[0].assumption):
            found[row] = grounds
        else:
            held = grounds[0].filled(row).held(reading.holds)
            found[held.row] = (book.grounds(held.evidence, held.assumption),)
    return found
