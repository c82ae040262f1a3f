"""Look at the inputs: which are whole and certain, how large they are, how to load them.

In: the inputs of an evaluation. Out: a `Gathered` for each that is looked at. Invariant: `closed`
is said only of a relation whose every row is certain and which nothing can be added to: a complete
answer, without openings, assumptions or doubts, by authorities of full confidence (semantics 7,
10). Example: an external predicate that answers all keys with one open row is not closed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from constat.catalog.fact_files import estimated_rows
from constat.evaluation import (
    Answer,
    Call,
    CallFinished,
    CallStarted,
    Demand,
    Readable,
    RelationPredicate,
)
from constat.forward.demands import EVERYTHING
from constat.forward.inputs import Files, Frame, Outside, Rows
from constat.forward.streaming import load_stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.catalog.fact_files import FactFile
    from constat.evaluation import ExternalPredicate, Observer
    from constat.forward.demands import Wish
    from constat.forward.inputs import Input
    from constat.logic import Predicate, Row
    from constat.sql import Database

# What costs as much is paid for by the question: nobody asks it for everything.
DEAR: Final = 1_000
_MANY: Final = 200_000
_FEW: Final = 5_000


@dataclass(slots=True)
class Gathered:
    """What is known of one input. `rows` is a count or an estimate."""

    predicate: Predicate
    closed: bool
    rows: float | None = None
    source: Rows | Files | Frame | Readable | None = None

    @property
    def is_small(self) -> bool:
        """Whether the rows are in memory, and few."""
        return isinstance(self.source, Rows) and len(self.source.rows) < _FEW

    def load(self, database: Database, name: str) -> None:
        """Load the rows into a relation of the database."""
        source = self.source
        match source:
            case None:
                pass
            case Rows(rows):
                database.load_rows(name, rows)
            case Files(files):
                database.load_files(name, files)
            case Frame(frame):
                database.load_frame(name, frame)
            case Readable():
                load_stream(database, name, source)
            case _:
                assert_never(source)


@dataclass(slots=True)
class Gathering:
    """Asks the inputs, each once, and remembers the calls."""

    inputs: Mapping[str, Input]
    observe: Observer
    most_calls: int
    most_rows: int
    found: dict[str, Gathered] = field(default_factory=dict)
    asked: dict[str, Wish] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def look(self, predicate: Predicate, wish: Wish) -> Gathered:
        """Give what is known of the wished rows of an input, asking for them the first time."""
        name = predicate.name
        if name not in self.found or self.asked[name] not in {wish, EVERYTHING}:
            self.asked[name] = wish
            self.found[name] = self._look(predicate, wish)
        return self.found[name]

    def _look(self, predicate: Predicate, wish: Wish) -> Gathered:
        given = self.inputs.get(predicate.name)
        match given:
            case None:
                return Gathered(predicate, closed=False)
            case Rows(rows):
                return Gathered(predicate, closed=True, rows=len(rows), source=given)
            case Files(files):
                return Gathered(predicate, closed=True, rows=_size(files), source=given)
            case Frame(frame):
                length = getattr(frame, "__len__", None)
                count = None if length is None else float(length())
                return Gathered(predicate, closed=True, rows=count, source=given)
            case Outside(external):
                return self._ask(predicate, external, wish)
            case _:
                assert_never(given)

    def _ask(self, predicate: Predicate, external: ExternalPredicate, wish: Wish) -> Gathered:
        if external.cost >= DEAR or len(self.calls) >= self.most_calls:
            return Gathered(predicate, closed=False)
        demand = Demand(predicate, wish.columns, tuple(sorted(wish.keys)))
        self.observe(CallStarted(predicate.name, _names(demand), len(demand.keys)))
        started = time.monotonic()
        readable = None
        if isinstance(external, RelationPredicate) and _worth_streaming(external, demand):
            readable = external.as_relation(Demand(predicate, (), ((),)), self.most_rows)
        if readable is None:
            answer = external.answer(demand)
            rows = _distinct(answer)
            found = Gathered(predicate, _is_closed(answer, demand), len(rows), Rows(rows))
        else:
            demand = Demand(predicate, (), ((),))
            self.asked[predicate.name] = EVERYTHING
            answer = Answer((), (), frozenset(demand.keys), (readable.evidence,))
            found = Gathered(predicate, closed=True, rows=readable.rows, source=readable)
        self._told(demand, answer, int(found.rows or 0), time.monotonic() - started)
        return found if found.closed else Gathered(predicate, closed=False)

    def _told(self, demand: Demand, answer: Answer, rows: int, seconds: float) -> None:
        call = Call(len(self.calls) + 1, demand, answer, seconds)
        self.calls.append(call)
        name, openings = demand.predicate.name, len(answer.openings)
        keys = len(demand.keys)
        self.observe(CallFinished(call.number, name, _names(demand), keys, rows, openings, seconds))


def _worth_streaming(external: RelationPredicate, demand: Demand) -> bool:
    """Tell whether all rows are handed over sooner than those of some keys are read one by one."""
    return not demand.columns or (external.estimate() or 0) > _MANY


def _names(demand: Demand) -> tuple[str, ...]:
    return tuple(demand.predicate.columns[column].name for column in demand.columns)


def _is_closed(answer: Answer, demand: Demand) -> bool:
    told = [portion.evidence for portion in answer.portions] + list(answer.authorities)
    return (
        all(key in answer.answered for key in demand.keys)
        and not answer.openings
        and all(portion.assumption is None for portion in answer.portions)
        and all(one.confidence == 1 for one in told)
    )


def _distinct(answer: Answer) -> tuple[Row, ...]:
    if len(answer.portions) == 1:
        return answer.portions[0].rows
    return tuple(dict.fromkeys(row for portion in answer.portions for row in portion.rows))


def _size(files: Iterable[FactFile]) -> float | None:
    counts = [estimated_rows(one) for one in files]
    return None if None in counts else sum(count for count in counts if count is not None)
