"""Relations that steps give, and how later steps ask for them.

In: rows in canonical form, with what they rest on. Out: `Relation`, and an external predicate over
it. Invariants: rows are distinct and in the order of their values, so equal relations have equal
tables; what rests on assumptions is never handed on as certain: its rows hold under them, and until
they are accepted there may be others. Example: `StepRows(predicate, relation, evidence)`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from constat.evaluation import (
    Answer,
    Assumption,
    Evidence,
    Opening,
    Portion,
    Readable,
    Verdict,
    in_parts,
)
from constat.explore.indexed_rows import IndexedRows, shape_of
from constat.logic import Kind, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.evaluation import Demand
    from constat.explore.plan import Output
    from constat.logic import Predicate
    from constat.store.tables_format import Table

STEP: Final = "step"
"""The tier in the evidence of what a step gave."""


class Settlement(Enum):
    """Whether a relation is known; the value is how results write it."""

    CERTAIN = "SETTLED"
    UNDER = "SETTLED_UNDER"
    OPEN = "OPEN"

    @property
    def exit_code(self) -> int:
        """0 settled, 3 settled under assumptions, 4 open."""
        return {"SETTLED": 0, "SETTLED_UNDER": 3}.get(self.value, 4)


class EveryRow(Mapping[Row, Verdict]):
    """One verdict on all rows of a relation, which are not listed again for it."""

    def __init__(self, rows: Sequence[Row], verdict: Verdict) -> None:
        self.rows = rows
        self.verdict = verdict

    def __getitem__(self, row: Row) -> Verdict:
        if row not in self.rows:
            raise KeyError(row)
        return self.verdict

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Relation:
    """The rows of a step's output that hold, for certain or once the assumptions are accepted.

    `weak` has the verdicts of rows that are not certain. `reasons` say what is not known, where the
    relation is open; `unresolved` counts rows that may hold besides. `order` are the places of the
    rows in the order that the step asked for, or nothing.
    """

    output: Output
    kinds: tuple[Kind, ...]
    rows: Sequence[Row] = field(repr=False)
    settlement: Settlement = Settlement.CERTAIN
    assumptions: tuple[Assumption, ...] = ()
    reasons: tuple[str, ...] = ()
    unresolved: int = 0
    weak: Mapping[Row, Verdict] = field(default_factory=dict, repr=False, hash=False)
    order: tuple[int, ...] = field(default=(), repr=False)

    @property
    def shown(self) -> Sequence[Row]:
        """The rows in the order that the step asked for."""
        return tuple(self.rows[place] for place in self.order) if self.order else self.rows

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.output.columns)

    def table(self) -> Table:
        """Give the rows as a table of the store."""
        # Only what is kept needs numpy.
        making = importlib.import_module("constat.store.tables_rows")
        columns = [(n, kind.value) for n, kind in zip(self.names, self.kinds, strict=True)]
        found: Table = making.rows_table(columns, self.rows)
        return found


def sorted_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Put rows in the order of their values; columns are of one kind each, so all compare."""
    found: list[Any] = list(rows)
    return tuple(sorted(found))


class StepRows:
    """A relation as an external predicate, for the steps after it.

    Implements `RelationPredicate`, so that much of it is computed in bulk at once.
    """

    cost = 1

    def __init__(self, predicate: Predicate, relation: Relation, evidence: Evidence) -> None:
        self._predicate = predicate
        self._rows = relation.rows
        self._evidence = evidence
        # Rows that may not be all are open whatever is accepted.
        self._open = relation.settlement is Settlement.OPEN
        self._assumption = None if self._open else _together(relation, evidence.source)
        self._indexed = IndexedRows(relation.rows)

    def estimate(self) -> float | None:
        """How many rows there are."""
        return float(len(self._rows))

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        """Hand out the rows as they lie in a table, where they do and are certain."""
        table: Table | None = getattr(self._rows, "table", None)
        count = len(self._rows)
        if demand.columns or table is None or self._assumption or self._open or count > most_rows:
            return None
        cells = importlib.import_module("constat.store.tables_cells")
        stream = cells.canonical_stream(table)
        if stream is None:
            return None
        return Readable(self._predicate, count, self._evidence, lambda: stream)

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch; every key is answered."""
        rows = self._indexed.matching(demand)
        portions = (Portion(rows, self._evidence, self._assumption),) if rows else ()
        openings: tuple[Opening, ...] = ()
        if self._assumption is not None or self._open:
            reason = f"{self._evidence.source} was computed from what is assumed, or not all known"
            openings = tuple(
                Opening(shape_of(demand, key), reason, STEP, self._assumption)
                for key in demand.keys
            )
        return Answer(portions, openings, frozenset(demand.keys), (self._evidence,))


def _together(relation: Relation, source: str) -> Assumption | None:
    """Make one assumption of several that the rows rest on together."""
    if not relation.assumptions:
        return None
    if len(relation.assumptions) == 1:
        return relation.assumptions[0]
    parts = in_parts(relation.assumptions)
    text = f"{source} rests on: " + "; ".join(one.text for one in parts)
    least = min(one.confidence for one in parts)
    return Assumption("fact", source, text, least, parts)
