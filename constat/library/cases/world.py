"""The world of a case: what it states is all there is, but for what it calls open.

In: rows, shapes of rows nobody knows, and which predicates are open or declared closed. Out:
external predicates. Invariant: a closed predicate speaks for every key; an open one for none.
Example: of `tier("C001", "gold").` and nothing else, `tier(C002, ?t)` is answered with no row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.evaluation import Answer, Assumption, Evidence, Opening, Origin, Portion
from constat.logic import OPEN
from constat.store.clock import now
from constat.tiers.hashing import content_hash
from constat.tiers.matching import matched_keys, rows_for

if TYPE_CHECKING:
    from constat.evaluation import Demand
    from constat.logic import OpenRow, Predicate, Row

TIER: Final = "case"


@dataclass(slots=True)
class StatedRows:
    """Rows with one ground: whose word they are, and what must be accepted for them."""

    origin: Origin
    author: str | None
    assumption: Assumption | None
    rows: dict[Row, None] = field(default_factory=dict)


@dataclass(slots=True)
class Table:
    """What a case says about one external predicate."""

    predicate: Predicate
    source: str
    stated: list[StatedRows] = field(default_factory=list)
    unknown: list[OpenRow] = field(default_factory=list)
    open: bool = False
    vouched: bool = False
    """Closed by declaration only: that no row is missing is an assumption."""

    def state(self, row: Row, origin: Origin, author: str | None, given: Assumption | None) -> None:
        """Add a row."""
        for one in self.stated:
            if (one.origin, one.author, one.assumption) == (origin, author, given):
                one.rows[row] = None
                return
        self.stated.append(StatedRows(origin, author, given, {row: None}))

    def external(self) -> CaseExternal:
        """Give the predicate that answers with what was stated."""
        return CaseExternal(self)


class CaseExternal:
    """One predicate of a case."""

    cost = 1

    def __init__(self, table: Table) -> None:
        self._table = table
        self._own = self._evidence(Origin.CONFIG, None, ())
        self._portions = []
        for stated in table.stated:
            rows = tuple(stated.rows)
            evidence = self._evidence(stated.origin, stated.author, rows)
            if stated.assumption is not None:
                evidence = replace(evidence, confidence=stated.assumption.confidence)
            self._portions.append(Portion(rows, evidence, stated.assumption))
            if stated.origin is Origin.CONFIG:
                self._own = evidence

    def answer(self, demand: Demand) -> Answer:
        """Answer a demand from the case alone."""
        columns, keys = demand.columns, demand.keys
        portions = []
        for one in self._portions:
            rows = rows_for(one.rows, columns, keys)
            if rows:
                portions.append(replace(one, rows=rows))
        openings = [
            Opening(row, "the case leaves this value unknown", TIER)
            for row in self._table.unknown
            if matched_keys(row, columns, keys)
        ]
        openings.extend(self._left_open(demand))
        return Answer(tuple(portions), tuple(openings), frozenset(keys), (self._own,))

    def _left_open(self, demand: Demand) -> list[Opening]:
        name = self._table.predicate.name
        if self._table.vouched:
            text = f"the case declares that no fact of {name} is missing"
            given = Assumption("closure", name, text)
            reason = "it is closed by declaration only"
        elif self._table.open:
            given, reason = None, "the case leaves the predicate open"
        else:
            return []
        shapes = []
        for key in demand.keys:
            places = dict(zip(demand.columns, key, strict=True))
            row = tuple(places.get(column, OPEN) for column in range(demand.predicate.arity))
            shapes.append(Opening(row, reason, TIER, given))
        return shapes

    def _evidence(self, origin: Origin, author: str | None, rows: tuple[Row, ...]) -> Evidence:
        kinds = self._table.predicate.kinds
        return Evidence(
            tier=TIER,
            origin=origin,
            source=self._table.source,
            executed_at=now(),
            row_count=len(rows),
            content_hash=content_hash(rows, kinds),
            author=author,
        )
