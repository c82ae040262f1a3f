"""External predicates in memory that answer exactly what is demanded, and remember the demands.

In: a ``World``.  Out: one ``TableExternal`` per predicate.  Invariant: an answer says nothing that
the world does not say, and nothing about keys that were not demanded.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.evaluation import Answer, Assumption, Demand, Evidence, Opening, Origin, Portion
from constat.logic import (
    OPEN,
    Kind,
    OpenRow,
    Predicate,
    Row,
    format_value,
    has_null_cells,
)
from tests.oracle.naive import World, agree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.analysis import AnalysedProgram

SOME_TIME = "2026-01-31T10:00:00.000000Z"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a table answers: all of these say the same about the world.

    ``silent``: a key that is wholly open is left unanswered.  ``narrow``: openings are given with
    the demanded values in them.  ``wide``: rows that were not demanded come along.  ``far``: each
    table is a source of its own across a network, so that tables are asked at the same time.
    ``keyed``: nothing is said of demands that do not bind the first column, as some sources do.
    """

    silent: bool = False
    narrow: bool = False
    wide: bool = False
    far: bool = False
    keyed: bool = False


STRICT = Manner()


class TableExternal:
    """One predicate's rows and openings."""

    def __init__(
        self, predicate: Predicate, world: World, manner: Manner = STRICT, *, cost: int = 10
    ) -> None:
        self.predicate = predicate
        self.table = world.rows.get(predicate.name, ())
        self.openings = world.openings.get(predicate.name, ())
        self.manner = manner
        self.demands: list[Demand] = []
        self._cost = cost

    @property
    def cost(self) -> int:
        return 100 if self.manner.far else self._cost

    @property
    def source(self) -> str:
        return self.predicate.name if self.manner.far else ""

    def answer(self, demand: Demand) -> Answer:
        self.demands.append(demand)
        assert demand.predicate.name == self.predicate.name
        assert list(demand.columns) == sorted(set(demand.columns))
        assert len(set(demand.keys)) == len(demand.keys)
        answered = frozenset(key for key in demand.keys if not self._silent(demand.columns, key))
        authorities = (self._evidence((), None),) if answered else ()
        return Answer(self._portions(demand), self._openings(demand), answered, authorities)

    def _silent(self, columns: tuple[int, ...], key: Row) -> bool:
        if self.manner.keyed and self.predicate.arity and 0 not in columns:
            return True
        pattern = _pattern(columns, key, self.predicate.arity)
        return self.manner.silent and any(
            assumption is None and all(slot is OPEN or slot == part for slot, part in pairs)
            for opening, assumption in self.openings
            for pairs in [list(zip(opening, pattern, strict=True))]
        )

    def _portions(self, demand: Demand) -> tuple[Portion, ...]:
        grouped: dict[Assumption | None, list[Row]] = {}
        for row, assumption in self.table:
            if self.manner.wide or _demanded(demand, row):
                grouped.setdefault(assumption, []).append(row)
        return tuple(
            Portion(tuple(rows), self._evidence(rows, assumption), assumption)
            for assumption, rows in grouped.items()
        )

    def _openings(self, demand: Demand) -> tuple[Opening, ...]:
        found: dict[Opening, None] = {}
        for key in demand.keys:
            pattern = _pattern(demand.columns, key, self.predicate.arity)
            for opening, assumption in self.openings:
                if all(map(agree, opening, pattern)):
                    narrowed = tuple(
                        part if slot is OPEN else slot
                        for slot, part in zip(opening, pattern, strict=True)
                    )
                    row = narrowed if self.manner.narrow else opening
                    found[Opening(row, "the source did not say", "database", assumption)] = None
        return tuple(found)

    def _evidence(self, rows: Iterable[Row], assumption: Assumption | None) -> Evidence:
        listed = list(rows)
        trusted = assumption is None or assumption.kind != "fact"
        return Evidence(
            tier="database" if trusted else "user",
            origin=Origin.DATABASE if trusted else Origin.USER_PROVIDED,
            source="memory" if trusted else "people",
            executed_at=SOME_TIME,
            row_count=len(listed),
            content_hash=_hash(listed, self.predicate.kinds),
            confidence=Decimal(1) if assumption is None else assumption.confidence,
            author=None if trusted else "alice",
        )


def tables(
    program: AnalysedProgram, world: World, manner: Manner = STRICT
) -> Mapping[str, TableExternal]:
    """Return a fresh table for each external predicate."""
    return {
        name: TableExternal(program.program.predicates[name], world, manner)
        for name in sorted(program.external)
    }


def _pattern(columns: tuple[int, ...], key: Row, arity: int) -> OpenRow:
    bound = dict(zip(columns, key, strict=True))
    return tuple(bound.get(place, OPEN) for place in range(arity))


def _demanded(demand: Demand, row: Row) -> bool:
    cells = tuple(row[column] for column in demand.columns)
    return cells in demand.keys or any(_may_be(cells, key) for key in demand.keys)


def _may_be(cells: Row, key: Row) -> bool:
    """Tell whether a row with null cells may have these values."""
    pairs = zip(cells, key, strict=True)
    return has_null_cells(cells) and all(has_null_cells((one,)) or one == v for one, v in pairs)


def _hash(rows: list[Row], kinds: tuple[Kind, ...]) -> str:
    texts = [
        [
            None if has_null_cells((value,)) else format_value(value, kind)
            for value, kind in zip(row, kinds, strict=True)
        ]
        for row in rows
    ]
    texts.sort(key=lambda row: [(text is not None, text or "") for text in row])
    total = hashlib.sha256()
    for text in texts:
        total.update(json.dumps(text, separators=(",", ":")).encode() + b"\n")
    return "sha256:" + total.hexdigest()
