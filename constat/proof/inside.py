"""Derived predicates, as a certificate bounds them from above: rows, and the keys they are for.

In: a reading.  Out: the possible rows of a pattern of a derived predicate, and a list of keys whose
rules have still to be run to see that the rows are an upper bound.  Invariant: every pattern that
was looked up is served by an entry; rows an engine did not have are added, never dropped.

Example: looking up ``reach("a", ?y)`` uses the engine's rows and asks for the key ``"a"``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.logic import OPEN
from constat.proof.instances import is_hole, is_known, is_starred, known_columns, opened
from constat.proof.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.evaluation import DemandEntry
    from constat.logic import OpenRow, Row, Value
    from constat.proof.instances import Pattern
    from constat.proof.reading import Reading
    from constat.proof.relation import Columns

Orders = dict[int, tuple[int, ...]]


@dataclass(slots=True)
class Entry:
    """The keys of some columns of a predicate, and the order of each rule's body for them."""

    predicate: str
    columns: Columns
    orders: Orders
    keys: dict[Row, None] = field(default_factory=dict)


class Inside:
    """The derived predicates of a reading."""

    def __init__(
        self, reading: Reading, order_of: Callable[[int, Columns], tuple[int, ...]]
    ) -> None:
        self.reading = reading
        self.entries: dict[tuple[str, Columns], Entry] = {}
        self.waiting: list[tuple[Entry, Row]] = []
        self.changed = False
        self._order_of = order_of
        self._relations: dict[str, Relation] = {}
        self._certain: dict[str, frozenset[OpenRow]] = {}
        self._found: dict[tuple[str, Columns, Row], list[OpenRow]] = {}
        self._promised: dict[str, dict[Columns, set[Row]]] = {}
        self._demands: dict[str, list[DemandEntry]] = {}
        for demand in reading.outcome.demands:
            self._demands.setdefault(demand.predicate, []).append(demand)
        for demands in self._demands.values():
            demands.sort(key=lambda one: -len(one.columns))

    def restart(self) -> None:
        """Forget what was used, not what was found out."""
        self.changed = False
        self.waiting.clear()
        self._found.clear()
        self.entries.clear()

    def relation(self, predicate: str) -> Relation:
        """Return all possible rows known of a predicate."""
        relation = self._relations.get(predicate)
        if relation is None:
            rows = self.reading.outcome.rows(predicate, self.reading.possible)
            relation = self._relations[predicate] = Relation(rows)
        return relation

    def is_certain(self, predicate: str, row: OpenRow) -> bool:
        """Tell whether the engine has a derivation of the row in this reading."""
        rows = self._certain.get(predicate)
        if rows is None:
            rows = frozenset(self.reading.outcome.rows(predicate, self.reading.certain))
            self._certain[predicate] = rows
        return row in rows

    def add(self, predicate: str, row: OpenRow) -> None:
        """Add a row that the rules give and no known row covers."""
        self.relation(predicate).add(row)
        self.changed = True

    def possible(self, predicate: str, pattern: Pattern) -> list[OpenRow]:
        """Return the possible rows that match a pattern."""
        columns, key = known_columns(pattern)
        found = self._found.get((predicate, columns, key))
        if found is not None:
            return found
        unknown = is_starred(pattern)
        served = self._serving(predicate, columns, key, recorded_only=unknown)
        if served is None:
            return [opened(pattern)]
        entry, projected = served
        if projected not in entry.keys:
            entry.keys[projected] = None
            self.waiting.append((entry, projected))
        found = self._found[predicate, columns, key] = self.relation(predicate).matching(
            columns, key
        )
        return found

    def is_active(self, predicate: str, row: Row) -> bool:
        """Tell whether an entry in use serves a ground pattern."""
        return any(
            tuple([row[column] for column in columns]) in entry.keys
            for (name, columns), entry in self.entries.items()
            if name == predicate
        )

    def promise(self, predicate: str, columns: Columns, key: Row) -> bool:
        """Let a key that is shown serve narrower patterns from now on; tell whether that is new."""
        promised = self._promised.setdefault(predicate, {}).setdefault(columns, set())
        new = key not in promised
        promised.add(key)
        return new

    def is_served(self, predicate: str, columns: Columns, key: Row) -> bool:
        """Tell whether the engine was asked for all that matches a pattern, or it is shown."""
        return self._key_serving(predicate, dict(zip(columns, key, strict=True))) is not None

    def _key_serving(
        self, predicate: str, places: dict[int, Value]
    ) -> tuple[Columns, Row, DemandEntry | None] | None:
        """Return the columns and key that serve a pattern: those of a demand, or promised ones."""
        demands = self._demands.get(predicate, ())
        for demand in demands:
            if all(column in places for column in demand.columns):
                projected = tuple([places[column] for column in demand.columns])
                if projected in demand.keys:
                    return demand.columns, projected, demand
        for columns, keys in self._promised.get(predicate, {}).items():
            if all(column in places for column in columns):
                projected = tuple([places[column] for column in columns])
                if projected in keys:
                    same = (one for one in demands if one.columns == columns)
                    return columns, projected, next(same, None)
        return None

    def _serving(
        self, predicate: str, columns: Columns, key: Row, *, recorded_only: bool
    ) -> tuple[Entry, Row] | None:
        places = dict(zip(columns, key, strict=True))
        found = self._key_serving(predicate, places)
        if found is not None:
            bound, projected, demand = found
            return self._entry(predicate, bound, demand), projected
        if recorded_only:
            return None
        for demand in self._demands.get(predicate, ()):
            if all(column in places for column in demand.columns):
                projected = tuple([places[column] for column in demand.columns])
                return self._entry(predicate, demand.columns, demand), projected
        return self._entry(predicate, columns, None), key

    def _entry(self, predicate: str, columns: Columns, demand: DemandEntry | None) -> Entry:
        entry = self.entries.get((predicate, columns))
        if entry is None:
            orders: Orders = {}
            for number in self.reading.program.rule_numbers(predicate):
                known = None if demand is None else demand.orders.get(number)
                orders[number] = self._order_of(number, columns) if known is None else tuple(known)
            entry = self.entries[predicate, columns] = Entry(predicate, columns, orders)
        return entry

    def shown_rows(self) -> dict[str, list[OpenRow]]:
        """Return the rows within the demanded slice, by predicate."""
        shown: dict[str, dict[OpenRow, None]] = {}
        for entry in self.entries.values():
            relation = self.relation(entry.predicate)
            rows = shown.setdefault(entry.predicate, {})
            for key in entry.keys:
                rows.update(dict.fromkeys(relation.matching(entry.columns, key)))
        return {predicate: list(rows) for predicate, rows in shown.items() if rows}

    def covers(self, predicate: str, head: OpenRow) -> bool:
        """Tell whether a known row covers a head."""
        return self.relation(predicate).covers(head)


def filled_head(pattern: Pattern, columns: Columns, key: Row) -> OpenRow | None:
    """Return a head for a key: holes there take the key's value; ``None`` if it differs."""
    head: list[object] = list(pattern)
    for column, value in zip(columns, key, strict=True):
        if is_hole(pattern[column]):
            head[column] = value
        elif pattern[column] != value and is_known(pattern[column]):
            return None
    return tuple([OPEN if is_hole(cell) else cell for cell in head])  # type: ignore[arg-type, misc]
