"""What is known of the tables of a source: columns, keys, relationships, comments, sizes.

In: nothing. Out: frozen values, and their JSON. Invariants: names are spelled as the source spells
them; every text of the source is bounded, and is data, never an instruction; no value of a row is
among them. Example: `TableSchema("sales", "orders", columns=(ColumnSchema("id", "INTEGER"),))`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

MOST_TABLES: Final = 50_000
MOST_COLUMNS: Final = 5_000
LONGEST_NAME: Final = 256
LONGEST_COMMENT: Final = 1_000
_LONGEST_TYPE: Final = 200


@dataclass(frozen=True, slots=True)
class ColumnSchema:
    """A column: its type in the source's words (empty where it has none), whether NULL may stand.

    `generated` where the source computes it.
    """

    name: str
    declared: str = ""
    nullable: bool = True
    comment: str = ""
    generated: bool = False


@dataclass(frozen=True, slots=True)
class Relationship:
    """Rows of one table point to rows of another one of the same source.

    `declared` where the source says so; else `evidence` says what it was inferred from.
    """

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    declared: bool = True
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table, view or file. `name` is as a query may spell it within the source, unquoted.

    `schema` is set where the query has to name it. `rows` is an estimate unless `counted`.
    `key` is the declared primary key, `unique` what else is declared to be one. `problems` say
    what could not be found out.
    """

    database: str
    name: str
    schema: str = ""
    kind: str = "table"
    columns: tuple[ColumnSchema, ...] = ()
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    relationships: tuple[Relationship, ...] = ()
    rows: int | None = None
    counted: bool = False
    comment: str = ""
    problems: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name within the source."""
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def path(self) -> str:
        """The name within the project."""
        return f"{self.database}.{self.label}"

    def column(self, name: str) -> ColumnSchema | None:
        """Find a column by its name, in any case where only one fits."""
        exact = [one for one in self.columns if one.name == name]
        alike = exact or [one for one in self.columns if one.name.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None


@dataclass(frozen=True, slots=True)
class SourceSchema:
    """All tables of a source, in the order of their names; `problems` say what is left out."""

    database: str
    dialect: str
    tables: tuple[TableSchema, ...]
    problems: tuple[str, ...] = ()


def shortened(text: object, most: int = LONGEST_COMMENT) -> str:
    """Give a text of a source for keeping: bounded, and without half characters."""
    found = "" if text is None else str(text)
    found = found if len(found) <= most else found[: most - 1] + "…"
    return found.encode("utf-8", "replace").decode("utf-8")


def column_of(
    name: object, declared: object, *, nullable: bool, comment: object = None
) -> ColumnSchema:
    """Make a column of what a source says about it."""
    return ColumnSchema(str(name), shortened(declared, _LONGEST_TYPE), nullable, shortened(comment))


def to_json(table: TableSchema) -> dict[str, Any]:
    """Give a table as JSON values; columns and relationships as lists, because there are many."""
    return {
        "database": table.database,
        "name": table.name,
        "schema": table.schema,
        "kind": table.kind,
        "columns": [
            [one.name, one.declared, one.nullable, one.comment, one.generated]
            for one in table.columns
        ],
        "key": table.key,
        "unique": table.unique,
        "relationships": [
            [one.columns, one.target, one.target_columns, one.declared, one.evidence]
            for one in table.relationships
        ],
        "rows": table.rows,
        "counted": table.counted,
        "comment": table.comment,
        "problems": table.problems,
    }


def from_json(value: Mapping[str, Any]) -> TableSchema:
    """Read what `to_json` gave."""
    return TableSchema(
        **{
            **value,
            "columns": tuple(ColumnSchema(*one) for one in value["columns"]),
            "key": tuple(value["key"]),
            "unique": tuple(tuple(one) for one in value["unique"]),
            "relationships": tuple(
                Relationship(tuple(columns), target, tuple(targets), *rest)
                for columns, target, targets, *rest in value["relationships"]
            ),
            "problems": tuple(value["problems"]),
        }
    )
