"""What a model reads about tables: as few words as say it.

In: answers of the catalog. Out: lines, in which every text of a source is quoted. Invariant: the
same catalog gives the same lines, so that a recorded conversation can be replayed. Example:
`id INTEGER key`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.authoring.discovery_text import named, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.catalog.schema import (
        ColumnSchema,
        DatabaseSummary,
        Link,
        Sample,
        SearchResult,
        TableSchema,
    )
    from constat.store.catalog_index import KeptTable


def database_lines(found: Sequence[DatabaseSummary]) -> str:
    """Tell which databases there are."""
    return "\n".join(_database(one) for one in found) or "no databases"


def table_lines(found: Sequence[KeptTable]) -> str:
    """Tell which tables there are, one a line."""
    return "\n".join(_table(one) for one in found) or "no tables"


def schema_lines(table: TableSchema, predicates: Sequence[str]) -> str:
    """Tell all about a table; `predicates` are those that read it already."""
    return "\n".join(_schema(table, predicates))


def link_lines(found: Sequence[Link]) -> str:
    """Tell how tables are related."""
    return "\n".join(_link(one) for one in found) or "no relationships are known"


def sample_lines(found: Sequence[Sample]) -> str:
    """Tell values of columns, with how often each was seen among the first rows."""
    lines = []
    for one in found:
        values = ", ".join(f"{quoted(value)} x{count}" for value, count in one.values)
        lines.append(f"{named(one.column)}: {values or 'no values'}{', ...' if one.cut else ''}")
    return "\n".join(lines)


def search_lines(found: SearchResult) -> str:
    """Tell what fits a search."""
    lines = [
        f"{hit.kind} {named(hit.name) if hit.kind != 'predicate' else quoted(hit.name)}"
        + (f" {quoted(hit.about)}" if hit.about else "")
        for hit in found.hits
    ]
    if not lines:
        meant = ", ".join(map(quoted, found.meant))
        return f"nothing fits; near are: {meant}" if meant else "nothing fits"
    return "\n".join(lines)


def _database(one: DatabaseSummary) -> str:
    tables = f"{one.tables} table" + ("" if one.tables == 1 else "s")
    text = f"{named(one.name)} ({one.kind}): {tables}"
    if one.failure:
        text += f"; it does not answer now ({quoted(one.failure)}), so this may be old or missing"
    return text + "".join(f"; {quoted(problem)}" for problem in one.problems)


def _table(one: KeptTable) -> str:
    rows = "" if one.rows is None else f", about {one.rows:,} rows"
    columns = f"{one.columns} column" + ("" if one.columns == 1 else "s")
    view = "" if one.kind == "table" else f"{one.kind}, "
    text = f"{named(f'{one.source}.{one.label}')} ({view}{columns}{rows})"
    return f"{text} {quoted(one.comment)}" if one.comment else text


def _schema(table: TableSchema, predicates: Sequence[str]) -> Iterator[str]:
    rows = "" if table.rows is None else f", about {table.rows:,} rows"
    comment = f" {quoted(table.comment, 400)}" if table.comment else ""
    yield f"{named(table.path)} ({table.kind}{rows}){comment}"
    pointing = {
        one.columns[0]: one for one in table.relationships if len(one.columns) == 1 and one.declared
    }
    for column in table.columns:
        target = pointing.get(column.name)
        arrow = ""
        if target is not None:
            arrow = f" -> {named(target.target)}.{_listed(target.target_columns)}"
        yield _column(column, table) + arrow
    if len(table.key) > 1:
        yield f"key: {_listed(table.key)}"
    for unique in table.unique:
        yield f"unique: {_listed(unique)}"
    for one in table.relationships:
        if one.columns[0] not in pointing or one != pointing[one.columns[0]]:
            how = "points to" if one.declared else "may point to"
            target_columns = _listed(one.target_columns)
            yield f"{_listed(one.columns)} {how} {named(one.target)}.{target_columns}"
    for problem in table.problems:
        yield f"not known: {quoted(problem)}"
    for predicate in predicates:
        yield f"predicate that reads it: {quoted(predicate, 400)}"


def _column(column: ColumnSchema, table: TableSchema) -> str:
    words = [named(column.name)]
    if column.declared:
        plain = column.declared.replace(" ", "").replace("(", "").replace(")", "").replace(",", "")
        safe = plain.replace("_", "").isalnum() and plain.isascii()
        words.append(column.declared if safe else quoted(column.declared))
    if table.key == (column.name,):
        words.append("key")
    elif not column.nullable:
        words.append("not null")
    elif table.kind == "table":
        words.append("may be missing")
    if column.comment:
        words.append(quoted(column.comment))
    return " ".join(words)


def _link(one: Link) -> str:
    text = (
        f"{named(f'{one.database}.{one.table}')}.{_listed(one.columns)} -> "
        f"{named(f'{one.database}.{one.target}')}.{_listed(one.target_columns)}"
    )
    return f"{text} declared" if one.declared else f"{text} inferred: {quoted(one.evidence)}"


def _listed(columns: Sequence[str]) -> str:
    names = ", ".join(map(named, columns))
    return names if len(columns) == 1 else f"({names})"
