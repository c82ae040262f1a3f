"""Infer relationships that nobody has declared, from names and types.

In: the tables of a source. Out: the same tables with inferred relationships, each marked with what
it was inferred from. Invariants: a declared relationship is never repeated or contradicted; nothing
is read but names and types, so an inferred one is a guess until `check` has compared the values;
time is linear in the number of columns. Example: `orders.customer_id` points to `customers.id`, as
does `billing_customer_id`. Reference: Rostin and others, "A machine learning approach to foreign
key discovery", 2009, whose strongest feature is the name.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.catalog.schema.described import Relationship
from constat.catalog.schema.families import family_of
from constat.catalog.schema.words import singular, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.schema.described import ColumnSchema, SourceSchema, TableSchema

_MOST_WORDS: Final = 6
_MOST_TARGETS: Final = 3
_PLAIN_KEYS: Final = frozenset({("id",), ("key",), ("code",), ("number",), ("no",)})

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Target:
    """A column that other tables may name. `unique` where it is declared to be a key."""

    table: TableSchema
    column: ColumnSchema
    unique: bool


def with_inferred(source: SourceSchema) -> SourceSchema:
    """Add what names suggest."""
    targets = _targets(source.tables)
    return replace(source, tables=tuple(_related(table, targets) for table in source.tables))


def _targets(tables: Sequence[TableSchema]) -> Mapping[Words, list[_Target]]:
    """Give the columns that may be pointed to, by the words that another table would use."""
    found: dict[Words, list[_Target]] = defaultdict(list)
    for table in tables:
        for column, unique in _keys(table):
            noun, words = singular(words_of(table.name)), words_of(column.name)
            if not noun or not words:
                continue
            target = _Target(table, column, unique)
            if words[-len(noun) - 1 : -1] == noun:
                # The key is named after its table already: `customers.customer_id`.
                found[words].append(target)
            elif words in _PLAIN_KEYS:
                found[(*noun, *words)].append(target)
    return found


def _keys(table: TableSchema) -> Iterator[tuple[ColumnSchema, bool]]:
    """Give the columns that identify a row by themselves, as declared or as named."""
    single = {one[0] for one in (table.key, *table.unique) if len(one) == 1}
    for column in table.columns:
        if column.name in single:
            yield column, True
        elif not table.key and not table.unique and table.kind != "view":
            # Files declare nothing: what is called `id` is taken for one.
            words = words_of(column.name)
            if words and words[-1:] in _PLAIN_KEYS:
                yield column, False


def _related(table: TableSchema, targets: Mapping[Words, list[_Target]]) -> TableSchema:
    declared = {one.columns[0] for one in table.relationships if len(one.columns) == 1}
    inferred = [
        relationship
        for column in table.columns
        if column.name not in declared
        for relationship in _pointing(table, column, targets)
    ]
    return replace(table, relationships=(*table.relationships, *inferred))


def _pointing(
    table: TableSchema, column: ColumnSchema, targets: Mapping[Words, list[_Target]]
) -> Iterator[Relationship]:
    words = words_of(column.name)[-_MOST_WORDS:]
    for skipped in range(len(words) - 1):
        fitting = [
            one
            for one in targets.get(words[skipped:], ())
            if not (one.table is table and one.column is column) and _comparable(one.column, column)
        ]
        near = [one for one in fitting if one.table.schema == table.schema] or fitting
        if near:
            for one in near[:_MOST_TARGETS]:
                yield _relationship(column, one, len(near), prefixed=bool(skipped))
            return


def _comparable(one: ColumnSchema, other: ColumnSchema) -> bool:
    first, second = family_of(one.declared), family_of(other.declared)
    return first == second or not first or not second


def _relationship(
    column: ColumnSchema, target: _Target, alternatives: int, *, prefixed: bool
) -> Relationship:
    what = "ends with" if prefixed else "is"
    evidence = f"its name {what} that of the {'key' if target.unique else 'column'} it points to"
    if not target.unique:
        evidence += ", which no declaration calls a key"
    if alternatives > 1:
        evidence += f"; {alternatives} tables fit"
    name = target.column.name
    return Relationship(
        (column.name,), target.table.label, (name,), declared=False, evidence=evidence
    )
