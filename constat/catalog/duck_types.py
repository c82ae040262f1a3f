"""How the columns of a DuckDB query are read: as they are, spelled as text, or not at all.

In: the type of an output column. Out: what it can be compared with, and how the outer SELECT spells
it. Invariant: nothing is lost on the way to Python. The driver gives the last day there is for an
infinite date, cuts nanoseconds off, and needs a further package for time zones; so dates and times
are spelled by DuckDB itself. Types that no declared kind can hold are refused by name. Example: a
column of type `DATE` is selected as `CAST(c0 AS VARCHAR)` and read as `Spelled("2026-01-31")`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.catalog.failure import QueryMistakeError
from constat.catalog.typed import Family

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIGNED: Final = frozenset({"tinyint", "smallint", "integer", "bigint", "hugeint"})
_INTEGERS: Final = _SIGNED | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"}
_TIMES: Final = frozenset({"timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"})
_ZONED: Final = "timestamp with time zone"
# DuckDB compares a decimal with an integer of 19 digits as decimals of 38 digits in all.
_MOST_PLACES: Final = 19
_LONGEST_TYPE: Final = 60


@dataclass(frozen=True, slots=True)
class DuckColumn:
    """An output column: its name, its type's family name and its type as DuckDB writes it."""

    name: str
    kind: str
    written: str

    @property
    def family(self) -> Family:
        """What keys the column can be compared with."""
        if self.kind == "varchar":
            return Family.TEXT
        if self.kind in {"enum", "uuid"}:
            return Family.CAST
        if self.kind == "decimal":
            places = int(self.written.rstrip(")").rpartition(",")[2])
            return Family.NUMERIC if places <= _MOST_PLACES else Family.OTHER
        return Family.NUMERIC if self.kind in {*_INTEGERS, "float", "double"} else Family.OTHER

    @property
    def spelled(self) -> bool:
        """Whether the text that is read spells a value that is no text."""
        return self.kind in {"date", "bignum", _ZONED, *_TIMES}

    @property
    def known(self) -> bool:
        """Whether a declared kind can hold such values. JSON text would bring its quotes along."""
        plain = self.kind in {"varchar", "decimal", "float", "double", "boolean", "blob", "null"}
        own = plain or self.family is Family.CAST or self.kind in _INTEGERS
        return (own or self.spelled) and self.written != "JSON"

    def output(self, position: int) -> str:
        """Give what the outer SELECT says for the column at that position."""
        column = f"c{position}"
        if self.kind == _ZONED:
            return f"CAST({column} AT TIME ZONE 'UTC' AS VARCHAR)"
        cast = self.spelled or self.family is Family.CAST
        return f"CAST({column} AS VARCHAR)" if cast else column


def check_types(columns: Sequence[DuckColumn]) -> None:
    """Raise `QueryMistakeError` for a column of a type that no declared kind can hold."""
    for place, column in enumerate(columns, 1):
        if not column.known:
            written = column.written[:_LONGEST_TYPE]
            raise QueryMistakeError(
                f"its column {place} is of type {written}, which no declared kind can hold",
                "C0540",
                hint="take the part that is meant, or cast it to text: `CAST(... AS VARCHAR)`",
            )


def outputs(columns: Sequence[DuckColumn]) -> tuple[tuple[str, ...], frozenset[int]]:
    """Give what the outer SELECT lists, and the positions that are spelled."""
    listed = tuple(column.output(position) for position, column in enumerate(columns))
    return listed, frozenset(place for place, column in enumerate(columns) if column.spelled)
