"""What a session has been told already.

In: complete answers. Out: the same answers for narrower patterns. Invariants: only keys that were
answered are kept, so "unknown" is asked again; a wider pattern serves a narrower one, never the
reverse; the evidence stays that of the query that ran. Example: after all rows of `tier` were read,
`tier(C001, ?t)` is served without a query.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.evaluation import UNTIMED, Answer, Portion
from constat.frozen import slotted
from constat.tiers.tier import has_null, keys_of, matched_keys, openings_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.evaluation import Clock, Demand, Evidence, Opening
    from constat.logic import Row

_Columns = tuple[int, ...]
MOST_ROWS: Final = 2_000_000


@slotted
class _Index:
    """Rows by their values in some columns, and those that have a null cell there."""

    by_key: dict[Row, list[Row]] = field(default_factory=dict)
    loose: list[Row] = field(default_factory=list)


class Remembered:
    """One answer, indexed by the columns it is asked by."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.size = sum(len(portion.rows) for portion in answer.portions)
        self._indexes: dict[_Columns, list[_Index]] = {}

    def select(
        self, columns: _Columns, keys: Iterable[Row], clock: Clock = UNTIMED
    ) -> tuple[list[Portion], list[Opening]]:
        """Give what the answer says about those keys."""
        if not columns:
            # Everything was asked for: the rows are given as they came, packed where they are.
            portions = [portion for portion in self.answer.portions if portion.rows]
            return portions, list(openings_for(self.answer.openings, columns, set(keys), clock))
        if columns not in self._indexes:
            self._indexes[columns] = [
                _index(portion, columns, clock) for portion in self.answer.portions
            ]
        wanted = tuple(keys)
        among = set(wanted)
        portions = []
        for portion, index in zip(self.answer.portions, self._indexes[columns], strict=True):
            rows = tuple(row for key in clock.over(wanted) for row in index.by_key.get(key, ()))
            rows += tuple(
                row for row in clock.over(index.loose) if matched_keys(row, columns, among)
            )
            if rows:
                portions.append(Portion(rows, portion.evidence, portion.assumption))
        openings = openings_for(self.answer.openings, columns, among, clock)
        return portions, list(openings)


class Memory:
    """The complete answers about one predicate."""

    def __init__(self) -> None:
        self._kept: dict[_Columns, dict[Row, Remembered]] = {}
        self._size = 0

    def keep(self, columns: _Columns, answer: Answer) -> None:
        """Remember the answered keys of an answer."""
        if not answer.answered:
            return
        remembered = Remembered(answer)
        if self._size + remembered.size > MOST_ROWS:
            self.forget()
        self._size += remembered.size
        self._kept.setdefault(columns, {}).update(dict.fromkeys(answer.answered, remembered))

    def forget(self) -> None:
        """Forget everything: the source has changed."""
        self._kept.clear()
        self._size = 0

    def recall(self, demand: Demand) -> tuple[Answer, tuple[Row, ...]]:
        """Give what is known of a demand, and the keys about which nothing is."""
        found: dict[int, tuple[Remembered, list[Row]]] = {}
        missing = list(demand.keys)
        for columns, kept in self._kept.items():
            if not missing or not set(columns) <= set(demand.columns):
                continue
            places = [demand.columns.index(column) for column in columns]
            left = []
            over = demand.clock.over
            for key, narrow in zip(missing, keys_of(over(missing), places), strict=True):
                remembered = kept.get(narrow)
                if remembered is None:
                    left.append(key)
                else:
                    found.setdefault(id(remembered), (remembered, []))[1].append(key)
            missing = left
        return _recalled(demand, found.values()), tuple(missing)


def _index(portion: Portion, columns: _Columns, clock: Clock) -> _Index:
    index = _Index()
    rows = portion.rows
    for row, key in zip(rows, keys_of(clock.over(rows), columns), strict=True):
        if has_null(row, columns):
            index.loose.append(row)
        else:
            index.by_key.setdefault(key, []).append(row)
    return index


def _recalled(demand: Demand, found: Iterable[tuple[Remembered, list[Row]]]) -> Answer:
    portions: list[Portion] = []
    openings: dict[Opening, None] = {}
    answered: set[Row] = set()
    authorities: dict[int, Evidence] = {}
    for remembered, keys in found:
        some, opened = remembered.select(demand.columns, keys, demand.clock)
        portions += some
        openings.update(dict.fromkeys(opened))
        answered.update(keys)
        authorities.update({id(one): one for one in remembered.answer.authorities})
    return Answer(
        tuple(portions),
        tuple(openings),
        frozenset(answered),
        tuple(authorities.values()),
    )
