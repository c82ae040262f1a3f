"""Relations that lie in the database of an evaluation, looked up by key.

In: a relation, columns, keys. Out: its rows in canonical form. Invariant: a relation is complete
before it is looked at, so that what is read once stays right. Small relations are indexed here; in
large ones DuckDB looks for many keys at once. Example:
`stored.matching("edge", (0,), ((1,), (2,)))` gives the edges that begin at 1 or 2.
"""

from __future__ import annotations

from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from constat.logic import Atom, Kind, Variable, canonical_decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.logic import Row
    from constat.sql import Database

Columns = tuple[int, ...]
_SOUGHT: Final = frozenset({Kind.NUMBER, Kind.SYMBOL, Kind.STRUCTURE})
_MANY: Final = 300_000
_SHARE: Final = 1_000


class StoredRelations:
    """Looks rows up; an index is built when its columns are first asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._indexes: dict[tuple[str, Columns], dict[object, list[Row]]] = {}

    def all(self, relation: str) -> Iterator[Row]:
        """Yield all rows of a relation."""
        for batch in self._database.rows(relation):
            yield from batch

    def matching(self, relation: str, columns: Columns, keys: tuple[Row, ...]) -> list[Row]:
        """Give the rows with one of these keys in the columns."""
        if not columns:
            return list(self.all(relation)) if keys else []
        index = self._indexes.get((relation, columns))
        if index is None and self._is_large(relation, columns[0]):
            return [row for part in _shares(keys) for row in self._found(relation, columns, part)]
        if index is None:
            index = self._indexes[relation, columns] = self._index(relation, columns)
        wanted = keys if len(columns) > 1 else [key[0] for key in keys]
        return [row for key in wanted for row in index.get(key, ())]

    def _is_large(self, relation: str, column: int) -> bool:
        """Whether the rows are too many to index here, and keys can be looked for in DuckDB."""
        kind = self._database.relation(relation).kinds[column]
        return kind in _SOUGHT and self._database.count(relation) > _MANY

    def _found(self, relation: str, columns: Columns, keys: tuple[Row, ...]) -> Iterator[Row]:
        """Look for some keys in one pass over the relation; its first column narrows it there."""
        from duckdb import ColumnExpression, ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        every = Atom(
            relation,
            tuple(Variable(f"v{n}") for n in range(self._database.relation(relation).arity)),
        )
        wanted, first = frozenset(keys), dict.fromkeys(key[0] for key in keys)
        column = ColumnExpression(f"c{columns[0]}")
        chosen = self._database.select(relation, every).filter(
            column.isin(*map(ConstantExpression, first))
        )
        decimals = [
            n
            for n, kind in enumerate(self._database.relation(relation).kinds)
            if kind is Kind.DECIMAL
        ]
        for row in chosen.fetchall():
            if tuple([row[n] for n in columns]) in wanted:
                yield _canonical(row, decimals)

    def forget(self, relation: str) -> None:
        """Drop what was read of a relation that has grown."""
        for known in [one for one in self._indexes if one[0] == relation]:
            del self._indexes[known]

    def _index(self, relation: str, columns: Columns) -> dict[object, list[Row]]:
        key: Callable[[Row], object] = itemgetter(*columns)
        found: dict[object, list[Row]] = {}
        for row in self.all(relation):
            found.setdefault(key(row), []).append(row)
        return found


def _shares(keys: tuple[Row, ...]) -> Iterator[tuple[Row, ...]]:
    for start in range(0, len(keys), _SHARE):
        yield keys[start : start + _SHARE]


def _canonical(row: Row, decimals: Sequence[int]) -> Row:
    if not decimals:
        return row
    cells = list(row)
    for place in decimals:
        cells[place] = canonical_decimal(Decimal(cells[place]))
    return tuple(cells)
