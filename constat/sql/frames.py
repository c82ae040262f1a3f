"""Load data frames, Arrow streams and queries: typed columns become columns of kinds.

In: an object that DuckDB reads as a table, or a query. Out: its rows in a relation, columns taken
by position. Invariant: a value goes over exactly or not at all, as cells of any source do: DuckDB
converts the columns whose types leave no doubt, all others are read cell by cell. Example: a column
of 32-bit integers is a number column; one of floats is, too, where every float is whole.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.cells import read_cell, read_column
from constat.catalog.connection import Single, Spelled
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import StrategyError
from constat.logic import Kind
from constat.sql import changes, storing, trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlglot import exp

    from constat.catalog.connection import Cell
    from constat.logic import Column, Row, Value
    from constat.plan.forward import Relation
    from constat.sql.relations import Relations

_SOURCE: Final = "loaded_frame"
_BATCH: Final = 10_000
_SIGNED: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_INTEGERS: Final = _SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
_LONGEST: Final = 1 << 20
_ZONED: Final = "TIMESTAMP WITH TIME ZONE"


def load_frame(
    database: Relations, name: str, frame: object, columns: Sequence[Column] = ()
) -> None:
    """Add the rows of a frame or a stream to a relation; `columns` tell the types of structures."""
    staging = database.fresh_name(f"frame {name}")
    database.connection.register(_SOURCE, _readable(frame))
    try:
        # A stream can be read once only.
        everything = trees.everything(trees.table(_SOURCE))
        database.connection.run(changes.create(staging, everything))
    finally:
        database.connection.unregister(_SOURCE)
    try:
        _take(database, name, staging, columns)
    finally:
        database.connection.run(changes.drop(staging))


class _Stream:
    """A stream and nothing else: DuckDB refuses relations of its own from other connections."""

    def __init__(self, source: object) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # asked for before


def _readable(frame: object) -> object:
    # The streams of pandas need a further package; DuckDB reads its frames by itself.
    if type(frame).__module__.partition(".")[0] == "pandas":
        return frame
    return _Stream(frame) if hasattr(frame, "__arrow_c_stream__") else frame


def load_query(
    database: Relations, name: str, query: exp.Query, attached: Mapping[str, Path]
) -> None:
    """Add the rows of a query to a relation; `attached` are DuckDB files by their names in it."""
    staging = database.fresh_name(f"query {name}")
    for label, path in attached.items():
        database.connection.run(changes.attach(str(path), label))
    try:
        database.connection.run(changes.create(staging, query))
        _take(database, name, staging)
    finally:
        database.connection.run(changes.drop(staging))
        for label in attached:
            database.connection.run(changes.detach(label))


def _take(database: Relations, name: str, table: str, columns: Sequence[Column] = ()) -> None:
    relation = database.relation(name)
    types = _types(database, table)
    if len(types) != len(relation.kinds):
        raise _failure(
            "C0650",
            f"`{name}` has {len(relation.kinds)} columns, and what was given for it {len(types)}",
            "a frame stands for a relation column by column, in their order",
            "select the columns of the declaration, in its order",
        )
    labels = [f"c{place}" for place in range(len(types))]
    nodes = [
        _converted(trees.bare(label), kind, written)
        for label, kind, written in zip(labels, relation.kinds, types, strict=True)
    ]
    exact = [node for node in nodes if node is not None]
    source = trees.renamed(table, "q", labels)
    if len(exact) == len(nodes) and labels:
        staging = database.fresh_name(f"exact {name}")
        try:
            outputs = list(zip(labels, exact, strict=True))
            database.connection.run(changes.create(staging, trees.select(outputs, source=source)))
            storing.take_staged(database, database.stored(name), staging)
        except StrategyError:
            pass
        else:
            return
        finally:
            database.connection.run(changes.drop(staging))
    storing.load_rows(database, name, _cells(database, relation, table, columns))


def _types(database: Relations, table: str) -> list[str]:
    none = trees.everything(trees.table(table)).limit(0, copy=False).sql("duckdb")
    driver = database.connection.driver
    described = database.guarded(lambda: driver.execute(none).description)
    return [str(column[1]) for column in described or ()]


def _converted(node: exp.Expr, kind: Kind, written: str) -> exp.Expr | None:
    """The value of a column whose type leaves no doubt; NULL fails, as does what does not fit."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED if written in _INTEGERS:
            return _known(node, trees.cast(node, trees.type_of(kind)))
        case Kind.FLOAT if written == "DOUBLE":
            zero = trees.constant(0.0, kind)
            value = trees.choose(trees.binary("=", node, zero), zero.copy(), node)
            return trees.choose(trees.call("isfinite", node), value, _no_value())
        case Kind.SYMBOL if written == "VARCHAR":
            short = trees.binary("<=", trees.call("strlen", node), trees.integer(_LONGEST))
            nul = trees.call("contains", node, trees.call("chr", trees.integer(0)))
            return trees.choose(trees.binary("and", short, trees.opposite(nul)), node, _no_value())
        case Kind.BOOL if written == "BOOLEAN":
            return _known(node, trees.cast(node, trees.typed("VARCHAR")))
        case Kind.DATE if written == "DATE":
            text = trees.cast(node, trees.typed("VARCHAR"))
            return trees.choose(
                trees.binary("=", _length(text), trees.integer(10)), text, _no_value()
            )
        case _:
            return None


def _length(text: exp.Expr) -> exp.Expr:
    return trees.call("strlen", text)


def _known(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    return trees.choose(trees.is_null(node), _no_value(), value)


def _no_value() -> exp.Expr:
    return trees.call("error", trees.text("no value"))


def _cells(
    database: Relations, relation: Relation, table: str, columns: Sequence[Column]
) -> Iterator[Row]:
    """Read cell by cell; raises `ConstatError` at the first that is no value of its column."""
    number = 0
    readers = _readers(relation, columns)
    types = _types(database, table)
    labels = [f"c{place}" for place in range(len(types))]
    outputs = [
        (label, _driver_value(trees.bare(label), written))
        for label, written in zip(labels, types, strict=True)
    ]
    query = trees.select(outputs, source=trees.renamed(table, "q", labels))
    marks = [_marks(written) for written in types]
    for batch in database.connection.stream(query, _BATCH):
        for row in batch:
            number += 1
            cells = [
                cell if mark is None or cell is None else mark(cell)
                for mark, cell in zip(marks, row, strict=True)
            ]
            yield tuple(_values(relation, readers, number, cells))


def _driver_value(node: exp.Expr, written: str) -> exp.Expr:
    """Let DuckDB spell what its driver would cut short: times have nanoseconds and no zone."""
    if written == _ZONED:
        return trees.cast(trees.in_utc(node), trees.typed("VARCHAR"))
    return trees.cast(node, trees.typed("VARCHAR")) if _is_spelled(written) else node


def _is_spelled(written: str) -> bool:
    return written == "DATE" or written.startswith("TIMESTAMP")


def _marks(written: str) -> Callable[[Any], Cell] | None:
    """What tells a cell from a text, or from a float of 64 bits, that looks the same."""
    if written == "FLOAT":
        return Single
    return Spelled if _is_spelled(written) else None


def _readers(relation: Relation, columns: Sequence[Column]) -> list[Callable[[Any], Value]]:
    """Give what reads the cells of each column, by kind or by declaration."""
    if columns:
        return [partial(read_column, column=one) for one in columns]
    return [partial(read_cell, kind=kind) for kind in relation.kinds]


def _values(
    relation: Relation,
    readers: Sequence[Callable[[Any], Value]],
    number: int,
    row: Sequence[object],
) -> Iterator[Value]:
    for place, (cell, kind) in enumerate(zip(row, relation.kinds, strict=True)):
        try:
            yield readers[place](cell)
        except (ValueError, ArithmeticError, AttributeError, TypeError) as problem:
            reason = str(problem) if type(problem) is ValueError else "is no value"
            raise _failure(
                "C0651",
                f"row {number} of what was given for `{relation.name}`: column {place + 1} is a "
                f"{kind.value}, and its cell {reason}",
                "a cell goes over exactly, or not at all",
                "correct the cell, or convert the column before it is handed over",
            ) from None


def _failure(code: str, message: str, note: str, edit: str) -> ConstatError:
    return ConstatError([Diagnostic(code, message, None, note=note, help=edit)])
