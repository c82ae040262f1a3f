"""Inputs for Spark, in place where the server sees them, and results back from it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.fact_files import STDIN
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import StrategyError
from constat.logic import Kind, null_policies
from constat.logic.arithmetic import bounds
from constat.spark.connection import SparkFailureError
from constat.spark.functions import failure, written
from constat.spark.relations import Part
from constat.sql import trees
from constat.sql.loading import take_staged
from constat.sql.trees import columns_of
from constat.sql.written import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlglot import exp

    from constat.catalog.fact_files import FactFile
    from constat.logic import Column, Predicate, Row
    from constat.plan.forward import Relation
    from constat.spark.relations import SparkRelations
    from constat.sql import Database

# A value goes over exactly or not at all, as with DuckDB: a column whose type leaves a doubt is
# refused, and a cell that is no value ends the statement that reads it.

_WRITTEN: Final = MappingProxyType(
    {
        Kind.NUMBER: "BIGINT",
        Kind.UNSIGNED: "DECIMAL(20,0)",
        Kind.FLOAT: "DOUBLE",
        Kind.DECIMAL: "DECIMAL(38,12)",
        Kind.DATE: "DATE",
        Kind.BOOL: "BOOLEAN",
    }
)
_LOADED: Final = "loaded_from_spark"
_LONGEST: Final = 1 << 20
_MOST_SENT: Final = 5_000_000
_SHARE: Final = 100_000
_INTEGERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_FOLDER: Final = ("/", "\\")
_PATTERNS: Final = MappingProxyType(
    {
        Kind.NUMBER: "^(0|-?[1-9][0-9]{0,18})$",
        Kind.UNSIGNED: "^(0|[1-9][0-9]{0,19})$",
        Kind.BOOL: "^(true|false)$",
        Kind.DATE: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    }
)


def refused(message: str, note: str, edit: str) -> ConstatError:
    """Give the error for an input that does not come to Spark."""
    return ConstatError([Diagnostic("C0683", message, note=note, help=edit)])


# ------------------------------------------------------------------------------ tables in place


def load_table(relations: SparkRelations, predicate: Predicate, table: str) -> None:
    """Let a relation read a table of the server, or Parquet that it sees, where it lies.

    Raises `ConstatError` for columns that are no columns of the predicate.
    """
    stored = relations.stored(predicate.name)
    read = _reader(table)
    try:
        types = relations.connection.types(read)
        relations.connection.frame(read, f"{stored.view}_source")
    except SparkFailureError:
        raise refused(
            f"Spark does not read `{table}`, which is named for `{predicate.name}`",
            "a table is named as in Spark's SQL, Parquet by a path that the server sees",
            f"correct `engines: {{spark: {{tables: {{{predicate.name}: ...}}}}}}`",
        ) from None
    outputs = [
        (f"c{place}", _converted(predicate, place, types)) for place in range(predicate.arity)
    ]
    source = trees.table(f"{stored.view}_source", "q")
    query = typed(stored.relation, trees.select(outputs, source=source), distinct=False)
    text = written(query)
    relations.connection.frame(lambda session: session.sql(text), stored.view)
    stored.in_place = True


def _reader(table: str) -> Callable[[Any], Any]:
    if any(one in table for one in _FOLDER) or table.endswith(".parquet"):
        return lambda session: session.read.parquet(table)
    return lambda session: session.table(table)


def _converted(predicate: Predicate, place: int, types: dict[str, str]) -> exp.Expr:
    """A column in the kind that is declared; NULL fails, as does what does not fit."""
    column = predicate.columns[place]
    if null_policies(predicate)[place] is not None:
        raise refused(
            f"`{predicate.name}` may have null in `{column.name}`, and is read in place by Spark",
            "Spark takes what has a value in each cell",
            f"leave `{predicate.name}` out of `tables`, or its `null` out of the declaration",
        )
    known = {name.casefold(): (name, one) for name, one in types.items()}
    if column.name.casefold() not in known:
        raise refused(
            f"what Spark reads for `{predicate.name}` has no column `{column.name}`",
            f"it has {', '.join(types)}"[:200],
            "name the columns of the table in the declaration",
        )
    name, written = known[column.name.casefold()]
    found = _value(trees.column("q", name), column.kind, written)
    if found is None:
        raise refused(
            f"`{column.name}` of `{predicate.name}` is {written} in Spark, which is no plain "
            f"{column.kind.value}",
            "a value goes over exactly, or not at all",
            "declare the column by its own kind, or convert it in a view of Spark",
        )
    null = failure(f"a cell of {predicate.name} is null")
    return trees.choose(trees.is_null(trees.column("q", name)), null, found)


def _value(node: exp.Expr, kind: Kind, written: str) -> exp.Expr | None:
    match kind:
        case Kind.NUMBER if written in _INTEGERS:
            return trees.cast(node, trees.type_of(kind))
        case Kind.UNSIGNED if written in _INTEGERS:
            negative = trees.binary("<", node, trees.integer(0))
            whole = trees.cast(node.copy(), trees.type_of(kind))
            return trees.choose(negative, failure("a negative cell"), whole)
        case Kind.FLOAT if written == "double":
            zero = trees.constant(0.0, kind)
            value = trees.choose(trees.binary("=", node, zero), zero.copy(), node.copy())
            finite = trees.call("isfinite", node.copy())
            number = trees.opposite(trees.call("isnan", node.copy()))
            fits = trees.binary("and", number, finite)
            return trees.choose(fits, value, failure("a cell that is no finite float"))
        case Kind.DECIMAL if written in _INTEGERS or _is_narrow(written):
            return trees.cast(node, trees.type_of(kind))
        case Kind.SYMBOL if written == "string":
            return _text(node)
        case Kind.BOOL if written == "boolean":
            return trees.choose(node, trees.text("true"), trees.text("false"))
        case Kind.DATE if written == "date":
            text = trees.cast(node, trees.typed("VARCHAR"))
            ten = trees.binary("=", trees.call("strlen", text), trees.integer(10))
            return trees.choose(ten, text.copy(), failure("a date beyond four digits"))
        case _:
            return None


def _is_narrow(written: str) -> bool:
    """Whether a decimal type has no more digits or places than ours."""
    if not written.startswith("decimal("):
        return False
    digits, places = map(int, written[8:-1].split(","))
    return places <= trees.PLACES and digits - places <= 38 - trees.PLACES


def _text(node: exp.Expr) -> exp.Expr:
    short = trees.binary("<=", trees.call("strlen", node), trees.integer(_LONGEST))
    nul = trees.call("contains", node.copy(), trees.call("char", trees.integer(0)))
    fits = trees.binary("and", short, trees.opposite(nul))
    return trees.choose(fits, node.copy(), failure("a text that is too long or holds NUL"))


# -------------------------------------------------------------------------- fact files in place


def load_files(relations: SparkRelations, predicate: Predicate, files: Sequence[FactFile]) -> bool:
    """Let the server read fact files; tell whether it could.

    It takes only cells that are spelled so plainly that there is no doubt about their value, and
    of a file all lines or none. What it leaves is read here, by the reader that names the line.
    """
    if not files or not all(_is_plain(one) for one in files):
        return False
    relation = relations.stored(predicate.name).relation
    kept: list[Part] = []
    for number, one in enumerate(files):
        view = f"{relations.tables.table(predicate.name)}_file{number}"
        try:
            relations.connection.frame(_lines_of(one.path), view)
            kept.append(relations.keep(predicate.name, _cells(one, relation, view)))
        except SparkFailureError:
            return False
    if len(kept) == 1:
        relations.replace(predicate.name, kept[0])
        return True
    view = f"{relations.tables.table(predicate.name)}_files"
    relations.show(view, relation, kept)
    query = trees.everything(trees.table(view))
    relations.replace(predicate.name, relations.keep(predicate.name, query))
    return True


def _is_plain(file: FactFile) -> bool:
    kinds = file.predicate.kinds
    return (
        file.path != STDIN
        and bool(file.places)
        and not file.header
        and not file.quoted
        and not file.bracketed
        and not file.skip_empty
        and file.path.suffix != ".gz"
        and all(kind is Kind.SYMBOL or kind in _PATTERNS for kind in kinds)
    )


def _lines_of(path: Path) -> Callable[[Any], Any]:
    return lambda session: session.read.option("lineSep", "\n").text(str(path))


def _cells(file: FactFile, relation: Relation, view: str) -> exp.Select:
    delimiter = "".join(f"[{one}]" if one != "\t" else one for one in file.delimiter)
    line = trees.bare("value")
    cells = trees.call("split", line, trees.text(delimiter), trees.integer(-1))
    read = trees.select([("cells", cells), ("value", line.copy())], source=trees.table(view))
    outputs = []
    odd = trees.binary(
        "or",
        trees.call("contains", trees.column("q", "value"), trees.call("char", trees.integer(13))),
        trees.binary("=", trees.column("q", "value"), trees.text("")),
    )
    width = trees.call("size", trees.column("q", "cells"))
    short = trees.binary("<=", width, trees.integer(max(file.places)))
    wrong = trees.binary("or", odd, short)
    for place, (at, kind) in enumerate(zip(file.places, relation.kinds, strict=True)):
        node = trees.call("get", trees.column("q", "cells"), trees.integer(at))
        cell = _cell(node, kind, file.word_size)
        found = trees.choose(wrong.copy(), failure("a line that is read elsewhere"), cell)
        outputs.append((f"c{place}", found))
    return trees.select(outputs, source=trees.nested(read, "q"))


def _cell(node: exp.Expr, kind: Kind, word_size: int) -> exp.Expr:
    if kind is Kind.SYMBOL:
        return _text(node)
    plain = trees.call("regexp_like", node, trees.text(_PATTERNS[kind]))
    value = node.copy()
    if kind in {Kind.NUMBER, Kind.UNSIGNED}:
        value = trees.try_cast(value, trees.type_of(kind))
        low, high = (trees.constant(one, kind) for one in bounds(kind, word_size))
        fits = trees.binary(
            "and",
            trees.binary(">=", value, low),
            trees.binary("<=", value.copy(), high),
        )
        plain = trees.binary("and", plain, fits)
    elif kind is Kind.DATE:
        day = trees.try_cast(value.copy(), trees.typed("DATE"))
        known = trees.opposite(trees.is_null(day))
        after = trees.binary(">=", value.copy(), trees.text("0001"))
        plain = trees.binary("and", plain, trees.binary("and", known, after))
    return trees.choose(plain, value, failure("a cell that is read elsewhere"))


# --------------------------------------------------------------------------- through this machine


def send(relations: SparkRelations, database: Database, name: str) -> None:
    """Take the rows of a relation over that DuckDB has loaded here.

    Where both see the folder they are written into it as Parquet; else they travel, and are few.
    """
    relation = relations.stored(name).relation
    database.make_distinct(name)
    rows = database.count(name)
    outputs = [
        (label, _for_parquet(trees.bare(label), kind))
        for (label, _), kind in zip(
            columns_of(relation), relation.kinds or (Kind.NUMBER,), strict=True
        )
    ]
    query = trees.select(outputs, source=trees.table(database.stored(name).table))
    path = relations.fresh_path(relations.tables.table(name))
    if relations.connection.is_shared:
        Path(path).mkdir(parents=True)
        written = database.connection.written(query)
        text = f"COPY ({written}) TO '{path}/rows.parquet' (FORMAT parquet)"
        database.guarded(lambda: database.connection.driver.execute(text))
    else:
        if rows > _MOST_SENT:
            raise _too_many(name, rows)
        _travel(relations, database, name, query)
        return
    relations.replace(name, Part(path, rows))


def _for_parquet(node: exp.Expr, kind: Kind) -> exp.Expr:
    return trees.cast(node, trees.wide_integer(20)) if kind is Kind.UNSIGNED else node


def _too_many(name: str, rows: int) -> ConstatError:
    return refused(
        f"`{name}` has {rows:,} rows, which would go through this machine to Spark",
        f"at most {_MOST_SENT:,} rows of an input do that",
        f'name where Spark reads it: `engines: {{spark: {{tables: {{{name}: "schema.table"}}}}}}`',
    )


def _too_many_back(name: str, rows: int) -> ConstatError:
    return refused(
        f"`{name}` has {rows:,} rows, which would come from Spark to this machine",
        f"at most {_MOST_SENT:,} rows of a result do that",
        "leave them there: `constat run --engine spark --parquet FOLDER`, or ask for fewer",
    )


def _travel(relations: SparkRelations, database: Database, name: str, query: exp.Query) -> None:
    """Send rows as tables of Arrow, some at a time."""
    stored = relations.stored(name)
    driver = database.connection.driver
    text = database.connection.written(query)
    reader: Any = database.guarded(lambda: driver.sql(text).to_arrow_reader(_SHARE))
    for batch in reader:
        _keep_arrow(relations, name, batch)
    relations.show(stored.view, stored.relation, stored.parts)


def _keep_arrow(relations: SparkRelations, name: str, batch: Any) -> None:  # noqa: ANN401  Arrow's
    import pyarrow as pa  # noqa: PLC0415  heavy library, loaded on first use

    view = f"{relations.tables.table(name)}_sent"
    table = pa.Table.from_batches([batch])
    relations.connection.frame(lambda session: session.createDataFrame(table), view)
    part = relations.keep(name, trees.everything(trees.table(view)), distinct=False)
    relations.add(name, part)


def stated(relations: SparkRelations, name: str, rows: Iterable[Row]) -> str:
    """Let statements read rows of Python, which the rules state; give the name of the view."""
    import pyarrow as pa  # noqa: PLC0415  heavy library, loaded on first use

    relation = relations.stored(name).relation
    view = f"{relations.tables.table(name)}_stated"
    listed = list(rows)
    arrays = {
        f"c{place}": pa.array([_plain(row[place], kind) for row in listed], _arrow(kind))
        for place, kind in enumerate(relation.kinds)
    }
    table = pa.table(arrays)
    relations.connection.frame(lambda session: session.createDataFrame(table), view)
    return view


def _plain(value: object, kind: Kind) -> object:
    match kind:
        case Kind.DECIMAL:
            return trees.checked_decimal(Decimal(str(value)))
        case Kind.UNSIGNED:
            return Decimal(str(value))
        case _:
            return value


def _arrow(kind: Kind) -> Any:  # noqa: ANN401  a type of Arrow
    import pyarrow as pa  # noqa: PLC0415  heavy library, loaded on first use

    match kind:
        case Kind.NUMBER:
            return pa.int64()
        case Kind.UNSIGNED:
            return pa.decimal128(20, 0)
        case Kind.FLOAT:
            return pa.float64()
        case Kind.DECIMAL:
            return pa.decimal128(38, trees.PLACES)
        case _:
            return pa.string()


# ------------------------------------------------------------------------------- results


def write_there(
    relations: SparkRelations, name: str, columns: Sequence[Column], folder: str
) -> int:
    """Let the server write a relation as Parquet, under the names and types of its columns.

    Raises `ConstatError` where it does not, as into a folder that is there.
    """
    stored = relations.stored(name)
    relations.make_distinct(name)
    outputs = [
        (column.name, _told(trees.bare(f"c{place}"), column.kind))
        for place, column in enumerate(columns)
    ] or [("there", trees.bare("c0"))]
    query = trees.select(outputs, source=trees.table(stored.view))
    kinds = [f"`{column.name}` {_WRITTEN.get(column.kind, 'STRING')}" for column in columns]
    path = f"{folder.rstrip('/')}/{name}"
    schema = ", ".join(kinds) or "`there` BIGINT"
    try:
        return relations.connection.save_written(written(query), path, schema, "error")
    except SparkFailureError as problem:
        message = f"Spark does not write `{name}`: {problem}"
        note = "it writes into folders that are new"
        help_ = "name another folder: `--parquet FOLDER`"
        raise ConstatError([Diagnostic("C0607", message, note=note, help=help_)]) from None


def _told(node: exp.Expr, kind: Kind) -> exp.Expr:
    match kind:
        case Kind.DATE:
            return trees.cast(node, trees.typed("DATE"))
        case Kind.BOOL:
            return trees.binary("=", node, trees.text("true"))
        case _:
            return node


def fetch(relations: SparkRelations, database: Database, name: str) -> None:
    """Bring the rows of a relation here, into the database of the results."""
    stored = relations.stored(name)
    outputs = [
        (label, trees.cast(trees.bare(label), kind)) for label, kind in columns_of(stored.relation)
    ]
    staging = database.fresh_name(f"from spark {name}")
    if stored.parts and relations.connection.is_shared and not stored.in_place:
        folders = ", ".join(f"'{one.path}/*.parquet'" for one in stored.parts)
        query = trees.select(outputs, source=trees.table(_LOADED))
        written = database.connection.written(trees.create(staging, query))
        source = f"read_parquet([{folders}])"
        text = written.replace(f'"{_LOADED}"', source)
        database.guarded(lambda: database.connection.driver.execute(text))
    elif stored.parts or stored.in_place:
        rows = relations.count(name)
        if rows > _MOST_SENT:
            raise _too_many_back(name, rows)
        whole = trees.everything(trees.table(stored.view))
        database.connection.register(_LOADED, relations.connection.arrow(whole))
        query = trees.select(outputs, source=trees.table(_LOADED))
        database.connection.run(trees.create(staging, query))
        database.connection.unregister(_LOADED)
    else:
        return
    try:
        take_staged(database, database.stored(name), staging)
    except StrategyError:
        raise refused(
            f"a value of `{name}` that Spark gave is none here",
            "this is a mistake of ours or of the server",
            "compute it with `--engine forward`, and report the program",
        ) from None
