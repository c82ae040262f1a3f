"""Put together what a source tells about its tables in several answers.

In: tables, columns, keys and relationships, each with the identity that the source has for its
table. Out: a `SourceSchema`. Invariants: tables are in the order of their labels; what is left out
because there is too much of it is said; a name that cannot be written in a query is left out and
said. Example: `Assembly("sales", "sqlite").table("orders", "orders")`.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from constat.catalog.schema.described import (
    LONGEST_NAME,
    MOST_COLUMNS,
    MOST_TABLES,
    ColumnSchema,
    Relationship,
    SourceSchema,
    TableSchema,
    shortened,
)
from constat.frozen import slotted

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


@slotted
class _Growing:
    table: TableSchema
    columns: list[ColumnSchema] = field(default_factory=list)
    unique: list[tuple[str, ...]] = field(default_factory=list)
    pointing: list[tuple[tuple[str, ...], Hashable, tuple[str, ...]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Assembly:
    """The tables of one source, as they become known."""

    def __init__(self, database: str, dialect: str) -> None:
        self._database = database
        self._dialect = dialect
        self._tables: dict[Hashable, _Growing] = {}
        self._problems: list[str] = []

    def table(  # noqa: PLR0913  what a source says about a table
        self,
        identity: Hashable,
        name: str,
        schema: str = "",
        kind: str = "table",
        *,
        rows: float | None = None,
        counted: bool = False,
        comment: object = None,
    ) -> None:
        """Add a table; one whose name no query can spell is left out."""
        if not _writable(name) or not _writable(schema or "_"):
            self._problems.append("a table whose name no query can spell is left out")
            return
        if len(self._tables) >= MOST_TABLES:
            self._problems.append(f"there are more than {MOST_TABLES:,} tables")
            return
        known = None if rows is None or rows < 0 else int(rows)
        found = TableSchema(
            self._database,
            name,
            schema,
            kind,
            rows=known,
            counted=counted and known is not None,
            comment=shortened(comment),
        )
        self._tables[identity] = _Growing(found)

    def column(self, identity: Hashable, column: ColumnSchema) -> None:
        """Add a column behind those that the table has."""
        growing = self._tables.get(identity)
        if growing is None:
            return
        if len(growing.columns) >= MOST_COLUMNS:
            self.problem(identity, f"it has more than {MOST_COLUMNS:,} columns")
        elif not _writable(column.name):
            self.problem(identity, "a column whose name no query can spell is left out")
        else:
            growing.columns.append(column)

    def key(self, identity: Hashable, columns: Sequence[str], *, primary: bool) -> None:
        """Add a declared key."""
        growing = self._tables.get(identity)
        if growing is None or not columns:
            return
        if primary:
            growing.table = replace(growing.table, key=tuple(columns))
        elif tuple(columns) not in growing.unique:
            growing.unique.append(tuple(columns))

    def pointing(
        self, identity: Hashable, columns: Sequence[str], to: Hashable, targets: Sequence[str] = ()
    ) -> None:
        """Add a declared relationship; without `targets` it points to the key."""
        growing = self._tables.get(identity)
        if growing is not None and columns:
            growing.pointing.append((tuple(columns), to, tuple(targets)))

    def problem(self, identity: Hashable, reason: str) -> None:
        """Say what could not be found out about a table."""
        growing = self._tables.get(identity)
        if growing is not None and reason not in growing.problems:
            growing.problems.append(reason)

    def left_out(self, reason: str) -> None:
        """Say what could not be found out about any table."""
        self._problems.append(reason)

    def empty_views(self, reason: str) -> None:
        """Say of the views without columns why there are none."""
        for identity, growing in self._tables.items():
            if growing.table.kind == "view" and not growing.columns:
                self.problem(identity, reason)

    def finished(self) -> SourceSchema:
        """Give all tables."""
        tables = sorted(map(self._finished, self._tables.values()), key=lambda one: one.label)
        problems = tuple(dict.fromkeys(self._problems))
        return SourceSchema(self._database, self._dialect, tuple(tables), problems)

    def _finished(self, growing: _Growing) -> TableSchema:
        relationships = []
        for columns, identity, targets in growing.pointing:
            target = self._tables.get(identity)
            if target is not None:
                named = targets or target.table.key
                relationships.append(Relationship(columns, target.table.label, named))
        return replace(
            growing.table,
            columns=tuple(growing.columns),
            unique=tuple(growing.unique),
            relationships=tuple(dict.fromkeys(relationships)),
            problems=tuple(growing.problems),
        )


def _writable(name: str) -> bool:
    """Tell whether a query may hold the name: the guard takes no control characters."""
    if not name or len(name) > LONGEST_NAME:
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return all(letter >= " " and letter != "\x7f" for letter in name)
