"""Look at the inputs: which are whole and certain, how large they are, how to load them.

In: the inputs of an evaluation. Out: a `Gathered` for each that is looked at. Invariants: `closed`
is said only of a relation whose every row is certain and which nothing can be added to: a complete
answer, without openings, assumptions or doubts, by authorities of full confidence (semantics 7,
10). One with `grades` is complete but for the rows that they hold; asked by key it says the same.
Example: an external predicate that answers all keys with one open row is graded, one that answers
nothing at all, or may have any row besides, has a reason in `why`.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, assert_never

from constat.catalog.fact_files import estimated_rows
from constat.evaluation import (
    ACCEPTED,
    CONCEIVABLE,
    POSSIBLE,
    UNTIMED,
    Answer,
    Call,
    CallFinished,
    CallStarted,
    Demand,
    GuessingPredicate,
    Portion,
    Readable,
    RelationPredicate,
    Resources,
    Served,
    ServedPredicate,
)
from constat.forward.division import EVERYTHING, Restriction
from constat.forward.inputs import (
    Files,
    Frame,
    Nulls,
    Outside,
    Placed,
    Rows,
    Serving,
    Streamed,
    Viewed,
    alike_in_stream,
    load_stream,
)
from constat.forward.ways import Labels, by_grade, graded_name
from constat.frozen import slotted
from constat.logic import OPEN, Kind, has_null_cells, null_policies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from constat.catalog.fact_files import FactFile
    from constat.evaluation import Clock, ExternalPredicate, Observer
    from constat.forward.inputs import Input, View
    from constat.forward.ways import Grade
    from constat.logic import OpenRow, Predicate, Row
    from constat.sql import Database

# What costs as much is paid for by the question: nobody asks it for everything.
DEAR: Final = 1_000
_NULLS: Final = "cells of its rows are null"
_MANY: Final = 200_000
_FEW: Final = 5_000


@slotted
class Gathered:
    """What is known of one input.

    `rows` is a count or an estimate of the certain rows, `grades` hold the others, where that is
    all there can be. `why` says why nothing can be said of it in bulk. Where its rows hold null
    cells `nulls` has these as they came, for views.
    """

    predicate: Predicate
    closed: bool
    rows: float | None = None
    source: Rows | Files | Frame | Readable | Served | Streamed | Placed | None = None
    grades: Mapping[Grade, tuple[Row, ...]] = field(default_factory=dict)
    why: str = ""
    nulls: Nulls = field(default_factory=Nulls)

    @property
    def is_small(self) -> bool:
        """Whether the rows are in memory, and few."""
        return isinstance(self.source, Rows) and len(self.source.rows) < _FEW

    @property
    def holds_nulls(self) -> bool:
        """Whether some row holds a null cell."""
        return self.nulls.are_any

    def load(self, database: Database, name: str) -> None:
        """Load the certain rows, or those of a grade, into a relation of the database."""
        source = self.source
        if name != self.predicate.name:
            named = {graded_name(self.predicate, one): rows for one, rows in self.grades.items()}
            source = Rows(named[name])
        match source:
            case None:
                pass
            case Rows(rows):
                database.load_rows(name, rows)
            case Files(files):
                database.load_files(name, files)
            case Frame(frame):
                database.load_frame(name, frame, self.predicate.columns)
            case Readable():
                load_stream(database, name, source)
            case Streamed():
                source.load(database, name)
            case Placed() | Served():
                raise AssertionError("what lies elsewhere is read there")
            case _:
                assert_never(source)


def is_read_there(gathered: Gathered) -> bool:
    """Whether a server may read the rows by itself, from files or a table of its own."""
    return isinstance(gathered.source, Files | Placed)


@slotted
class Gathering:
    """Asks the inputs, each once, and remembers the calls."""

    inputs: Mapping[str, Input]
    observe: Observer
    most_calls: int
    most_rows: int
    clock: Clock = UNTIMED
    resources: Resources = field(default_factory=Resources)
    served: Serving = Serving.NEVER
    refused: dict[str, str] = field(default_factory=dict)
    """Why inputs are not computed with where they lie."""
    found: dict[str, Gathered] = field(default_factory=dict)
    asked: dict[str, Restriction] = field(default_factory=dict)
    wished: dict[str, Restriction] = field(default_factory=dict)
    """Which rows of an input are needed, though all of them may be asked for."""
    calls: list[Call] = field(default_factory=list)
    labels: Labels = field(default_factory=Labels)

    def give(self, predicate: Predicate, rows: tuple[Row, ...]) -> None:
        """Take rows that were found on the way for an input."""
        self.found[predicate.name] = Gathered(
            predicate, closed=True, rows=len(rows), source=Rows(rows)
        )
        self.asked[predicate.name] = EVERYTHING

    def look(self, predicate: Predicate, restriction: Restriction) -> Gathered:
        """Give what is known of the wished rows of an input, asking for them the first time."""
        name = predicate.name
        if name not in self.found or not self.asked[name].covers(restriction):
            self.asked[name] = self.wished[name] = restriction
            self.found[name] = self._look(predicate, restriction)
        return self.found[name]

    @property
    def is_any_served(self) -> bool:
        """Whether some relation was left on its server."""
        return any(isinstance(one.source, Served) for one in self.found.values())

    def guess(self, name: str) -> float | None:
        """Guess how many rows of an input are needed; `None` where nobody knows."""
        match self.inputs.get(name), self.wished.get(name):
            case Outside(GuessingPredicate() as external), Restriction() as wish:
                return external.guess(wish.narrowed)
            case _:
                return None

    def bring(self) -> bool:
        """Let what was left on its server be read here; tell whether there is any."""
        left = [name for name, one in self.found.items() if isinstance(one.source, Served)]
        self.served = Serving.NEVER
        for name in left:
            del self.found[name]
        self.calls = [one for one in self.calls if one.demand.predicate.name not in left]
        return bool(left)

    def _left_there(
        self, external: ExternalPredicate, predicate: Predicate, demand: Demand
    ) -> Gathered | None:
        """Leave a relation on its server, where that computes with it exactly."""
        if self.served is Serving.NEVER:
            return None
        asked = self.served is Serving.ALWAYS
        found: Served | str = ""
        if not asked and any(null_policies(predicate)):
            # Views of its rows are made where they are read first.
            found = "cells of its rows may be null"
        elif isinstance(external, ServedPredicate):
            found = external.served(demand, cheaply=not asked)
        if isinstance(found, str):
            if asked or (found and isinstance(external, ServedPredicate)):
                self.refused[predicate.name] = found or "no PostgreSQL database tells it"
            return None
        answer = Answer((), (), frozenset(demand.keys), (found.evidence,))
        self._told(demand, answer, int(found.rows), 0.0)
        return Gathered(predicate, closed=True, rows=found.rows, source=found)

    def _look(self, predicate: Predicate, restriction: Restriction) -> Gathered:
        given = self.inputs.get(predicate.name)
        match given:
            case None:
                return Gathered(predicate, closed=False, why="nobody gives its rows")
            case Rows(rows):
                return Gathered(predicate, closed=True, rows=len(rows), source=given)
            case Files(files):
                return Gathered(predicate, closed=True, rows=_size(files), source=given)
            case Frame(frame):
                length = getattr(frame, "__len__", None)
                count = None if length is None else float(length())
                return Gathered(predicate, closed=True, rows=count, source=given)
            case Placed():
                return Gathered(predicate, closed=True, source=given)
            case Outside(external):
                return self._ask(predicate, external, restriction)
            case Viewed(view):
                return through(view, self.found[view.base.name], self.resources, self.labels)
            case _:
                assert_never(given)

    def _ask(
        self, predicate: Predicate, external: ExternalPredicate, restriction: Restriction
    ) -> Gathered:
        if external.cost >= DEAR or len(self.calls) >= self.most_calls:
            return Gathered(predicate, closed=False, why="it is not asked for everything")
        demand = Demand(predicate, restriction.columns, tuple(sorted(restriction.keys)), self.clock)
        self.observe(CallStarted(predicate.name, _names(demand), len(demand.keys)))
        started = time.monotonic()
        readable = None
        everything = Demand(predicate, (), ((),), self.clock, restriction.narrowed)
        there = self._left_there(external, predicate, replace(everything, ranges=()))
        if there is not None:
            self.asked[predicate.name] = EVERYTHING
            return there
        if isinstance(external, RelationPredicate) and _worth_streaming(external, demand):
            readable = external.as_relation(everything, self.most_rows)
        if readable is None:
            # Nobody was told of ranges.
            self.asked[predicate.name] = Restriction(restriction.columns, restriction.keys)
            answer = external.answer(demand)
            found = _gathered(answer, demand, self.labels)
        else:
            demand = replace(everything, ranges=readable.told)
            self.asked[predicate.name] = Restriction(ranges=demand.ranges)
            evidence = readable.evidence
            portions = (Portion(readable.nulls, evidence),) if readable.nulls else ()
            answer = Answer(portions, readable.openings, frozenset(demand.keys), (evidence,))
            found = replace(
                _gathered(answer, demand, self.labels), rows=readable.rows, source=readable
            )
        self._told(demand, answer, int(found.rows or 0), time.monotonic() - started)
        return found

    def _told(self, demand: Demand, answer: Answer, rows: int, seconds: float) -> None:
        call = Call(len(self.calls) + 1, demand, answer, seconds)
        self.calls.append(call)
        name, openings = demand.predicate.name, len(answer.openings)
        keys = len(demand.keys)
        self.observe(CallFinished(call.number, name, _names(demand), keys, rows, openings, seconds))


def _worth_streaming(external: RelationPredicate, demand: Demand) -> bool:
    """Tell whether all rows are handed over sooner than those of some keys are read one by one.

    The type of a structure is checked where it is read, value by value.
    """
    if Kind.STRUCTURE in demand.predicate.kinds:
        return False
    return not demand.columns or (external.estimate() or 0) > _MANY


def _names(demand: Demand) -> tuple[str, ...]:
    return tuple(demand.predicate.columns[column].name for column in demand.columns)


def _gathered(answer: Answer, demand: Demand, labels: Labels) -> Gathered:
    """Say what an answer is: closed, graded, or nothing that bulk evaluation can use."""
    sure = [one for one in answer.portions if one.assumption is None]
    rows = _distinct(sure)
    weak: list[tuple[OpenRow, int]] = [
        (row, ACCEPTED) for one in answer.portions if one.assumption is not None for row in one.rows
    ]
    weak += [
        (one.row, POSSIBLE if one.assumption is None else CONCEIVABLE) for one in answer.openings
    ]
    why = _unusable(answer, demand, sure)
    nulls = Nulls()
    if any(null_policies(demand.predicate)):
        nulls = Nulls(tuple(row for row in rows if has_null_cells(row)), tuple(weak), why)
        if nulls.are_any:
            rows = tuple(row for row in rows if not has_null_cells(row))
            # Only what literals meet of it can be said in bulk.
            why = why or _NULLS
    grades = {} if why else by_grade(rows, weak, labels)
    closed = not why and not grades
    return Gathered(demand.predicate, closed, len(rows), Rows(rows), grades, why, nulls)


def through(view: View, base: Gathered, resources: Resources, labels: Labels) -> Gathered:
    """Say what literals meet that read the same columns of an input with null cells."""
    source = base.source
    if isinstance(source, Readable):
        alike = alike_in_stream(view, base.nulls.rows, source, resources)
        sure, weak = base.nulls.through(view, (), alike)
        every: Rows | Streamed = Streamed(view, source, tuple(sure))
        count = source.rows + len(sure)
    else:
        whole = source.rows if isinstance(source, Rows) else ()
        sure, weak = base.nulls.through(view, whole)
        every = Rows(tuple(dict.fromkeys([*view.whole(whole), *sure])))
        count = len(every.rows)
    why = base.nulls.why
    # Of a stream nobody has looked which rows are certain besides.
    known = every.rows if isinstance(every, Rows) else sure
    grades = {} if why else by_grade(known, weak, labels)
    return Gathered(view.predicate, not why and not grades, count, every, grades, why)


def _unusable(answer: Answer, demand: Demand, sure: Sequence[Portion]) -> str:
    told = [portion.evidence for portion in sure] + list(answer.authorities)
    if not all(key in answer.answered for key in demand.keys):
        return "not all of its rows were answered"
    if any(one.confidence != 1 for one in told):
        return "a source has less than full confidence"
    if demand.predicate.arity and any(
        one.assumption is None and all(slot is OPEN for slot in one.row) for one in answer.openings
    ):
        # Asked by key, such a source may know more.
        return "it may have any row besides"
    return ""


def _distinct(portions: Sequence[Portion]) -> Sequence[Row]:
    if len(portions) == 1:
        return portions[0].rows
    return tuple(dict.fromkeys(row for portion in portions for row in portion.rows))


def _size(files: Iterable[FactFile]) -> float | None:
    counts = [estimated_rows(one) for one in files]
    return None if None in counts else sum(count for count in counts if count is not None)
