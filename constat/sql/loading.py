"""Rows, fact files, data frames and queries into tables."""

from __future__ import annotations

import mmap
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, assert_never

import numpy as np

from constat.catalog.connection import Single, Spelled, read_cell, read_column
from constat.catalog.fact_files import STDIN, read_rows
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import StrategyError
from constat.logic import Kind, Row
from constat.sql import trees
from constat.sql.pipelines import TEXTS
from constat.sql.relations import CACHED, make_distinct, new_texts, numbered_rows, write_arrays
from constat.sql.trees import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from sqlglot import exp

    from constat.catalog.connection import Cell
    from constat.catalog.fact_files import FactFile
    from constat.logic import Column, Value
    from constat.plan.forward import Relation
    from constat.sql.relations import Relations, Stored

_BATCH: Final = 20_000
_STAGED: Final = "staged_arrays"
# Arrays that take more than such a part of the memory that there may be become a table at once.
_SHARE: Final = 8


def load_rows(database: Relations, name: str, rows: Iterable[Row]) -> int:
    """Add rows; give how many there were, repeated ones included."""
    stored = database.stored(name)
    relation = stored.relation
    staging = database.fresh_name(f"new {name}")
    columns = [(f"c{place}", trees.type_of(kind)) for place, kind in enumerate(relation.kinds)]
    columns = columns or [("c0", trees.type_of(Kind.NUMBER))]
    database.connection.run(trees.create_empty(staging, columns))
    decimals = [place for place, kind in enumerate(relation.kinds) if kind is Kind.DECIMAL]
    total, remaining = 0, iter(rows)
    try:
        while batch := list(islice(remaining, _BATCH)):
            for place in decimals:
                for row in batch:
                    if row[place] is not None:
                        trees.checked_decimal(Decimal(row[place]))
            database.connection.append(staging, batch if relation.arity else [(0,)] * len(batch))
            total += len(batch)
        take_staged(database, stored, staging)
    finally:
        database.connection.run(trees.drop(staging))
    return total


def take_staged(database: Relations, stored: Stored, staging: str) -> None:
    """Add the rows of a table with plain values to a relation; others drop what is left of it."""
    relation, stored.arrays = stored.relation, None
    texts = [place for place, one in enumerate(relation.encoded) if one]
    if not texts and not database.estimate(relation.name):
        database.connection.run(trees.drop(stored.table))
        database.connection.run(trees.rename(staging, stored.table))
        stored.distinct, stored.rows = False, None
        return
    if texts:
        enter_texts(database, staging, texts)
    width = max(relation.arity, 1)
    query = numbered_rows(staging, width, texts, distinct=False)
    database.connection.run(trees.insert(stored.table, query))
    stored.distinct, stored.rows = False, None


def enter_texts(database: Relations, table: str, columns: Sequence[int]) -> None:
    """Enter the texts of some columns into the dictionary."""
    known = database.count_rows(TEXTS)
    labels = [f"c{place}" for place in columns]
    database.connection.run(new_texts(table, labels, known))


def store_columns(database: Relations, name: str, columns: Sequence[npt.NDArray[np.int64]]) -> None:
    """Take arrays, whose rows are distinct, for the rows of a relation."""
    if not columns:
        raise StrategyError("a relation without columns is no array")
    database.keep(name, tuple(columns))
    size = sum(one.nbytes for one in columns)
    if database.resources.memory and size > database.resources.memory // _SHARE:
        # DuckDB can put it on the disk.
        database.stored(name)


def store_stamps(database: Relations, name: str, columns: Sequence[npt.NDArray[np.int64]]) -> None:
    """Take arrays for the rows of a relation and the rounds in which they came."""
    relation = database.relation(name)
    named = [*columns_of(relation), ("round", trees.typed("BIGINT"))]
    table = database.fresh_name(f"rounds {name}")
    write_arrays(database, table, named, columns)
    database.stamped[name] = table


def read_stamped(database: Relations, name: str) -> tuple[npt.NDArray[np.int64], ...]:
    """Give the columns of a stamped relation of integers and numbers, and the rounds."""
    relation = database.relation(name)
    if name not in database.stamped:
        raise StrategyError(f"the rounds of {name} were not recorded")
    _require_integers(relation)
    labels = [*[label for label, _ in columns_of(relation)], "round"]
    return _arrays(database, database.stamped[name], labels)


def read_columns(database: Relations, name: str) -> tuple[npt.NDArray[np.int64], ...]:
    """Give the columns of a relation of integers and numbers as arrays of int64, rows distinct."""
    make_distinct(database, name)
    stored = database.declared(name)
    if stored.arrays is None:
        relation = stored.relation
        _require_integers(relation)
        if not stored.made:
            return tuple(np.empty(0, np.int64) for _ in relation.kinds)
        labels = [label for label, _ in columns_of(relation)]
        found = _arrays(database, database.stored(name).table, labels)
        if len(found[0]) > CACHED:
            return found
        stored.arrays = found
    return stored.arrays


def _require_integers(relation: Relation) -> None:
    for kind, encoded in zip(relation.kinds, relation.encoded, strict=True):
        if not encoded and kind not in {Kind.NUMBER, Kind.UNSIGNED}:
            raise StrategyError(f"{relation.name} has a column that is no integer")


def _arrays(
    database: Relations, table: str, labels: Sequence[str]
) -> tuple[npt.NDArray[np.int64], ...]:
    outputs = [(label, trees.cast(trees.bare(label), trees.typed("BIGINT"))) for label in labels]
    query = trees.select(outputs, source=trees.table(table))
    written = database.connection.written(query)
    driver = database.connection.driver
    found = database.guarded(lambda: driver.execute(written).fetchnumpy())
    return tuple(np.asarray(found[label], dtype=np.int64) for label in labels)


def texts(database: Relations, numbers: Sequence[int]) -> list[str]:
    """Give the texts of numbers of the dictionary, in their order."""
    wanted = np.asarray(numbers, dtype=np.int64)
    arrays = {"place": np.arange(len(wanted)), "number": wanted}
    database.connection.register(_STAGED, arrays)
    try:
        query = trees.select(
            [("place", trees.column("q", "place")), ("text", trees.column("d", "text"))],
            source=trees.table(_STAGED, "q"),
        )
        same = trees.binary("=", trees.column("d", "number"), trees.column("q", "number"))
        trees.add_join(query, trees.table(TEXTS, "d"), [same])
        found = database.connection.run(query)
    finally:
        database.connection.unregister(_STAGED)
    by_place = {int(str(place)): str(value) for place, value in found}
    return [by_place[place] for place in range(len(wanted))]


# A file is taken by DuckDB as a whole, or not at all: each cell must be spelled so plainly that
# there is no doubt about its value (an integer that reads back as the same text, for example).
# Everything else, and every mistake, is left to the reader of fact files, which knows all
# spellings and names the line.

_WILD: Final = frozenset("*?[")
_NARROW: Final = 32
_LONGEST: Final = 1 << 20
_FLOAT: Final = r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,4})?"
_DECIMAL: Final = r"[+-]?[0-9]{1,26}(\.[0-9]{1,12})?"
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
_GZIP: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def load_files(database: Relations, name: str, files: Sequence[FactFile]) -> None:
    """Add the rows of fact files to a relation. Raises `ConstatError` for a damaged one."""
    staging = database.fresh_name(f"files {name}")
    try:
        queries = [query for one in files if (query := _query(one)) is not None]
        if not queries:
            return
        database.connection.run(trees.create(staging, trees.union(queries)))
        take_staged(database, database.stored(name), staging)
    except (StrategyError, OSError, ValueError):
        load_rows(database, name, chain.from_iterable(map(read_rows, files)))
    finally:
        database.connection.run(trees.drop(staging))


def _query(file: FactFile) -> exp.Select | None:
    """The query of a file's rows, or nothing for an empty file."""
    shown = str(file.path)
    if file.path == STDIN or not file.places or _WILD.intersection(shown):
        raise StrategyError("a file that Python reads")
    if Kind.STRUCTURE in file.predicate.kinds:
        # A structure has several spellings, and its type is checked.
        raise StrategyError("a column that Python reads")
    width = _width(file)
    if not width:
        return None
    if width <= max(file.places):
        raise StrategyError("a line that is too short")
    labels = [f"t{place}" for place in range(width)]
    options = _options(file)
    source = trees.read_csv(shown, labels, options)
    texts = [trees.call("coalesce", trees.bare(label), trees.text("")) for label in labels]
    wanted = [(f"t{place}", texts[at]) for place, at in enumerate(file.places)]
    kinds = file.predicate.kinds
    parsed = [
        (f"v{place}", _parsed(trees.bare(f"t{at}"), kinds[place], file.word_size))
        for place, at in enumerate(file.places)
    ]
    read = trees.select([*wanted, *parsed], source=source, where=_kept(file, labels))
    outputs = [(f"c{place}", _cell(place, kind, file)) for place, kind in enumerate(kinds)]
    return trees.select(outputs, source=trees.nested(read, "q"))


def _options(file: FactFile) -> list[tuple[str, exp.Expr]]:
    no, yes = trees.truth(False), trees.truth(True)  # noqa: FBT003  values of settings
    return [
        ("delim", trees.text(file.delimiter)),
        ("header", no),
        ("skip", trees.integer(int(file.header))),
        ("auto_detect", no),
        ("compression", trees.text("none")),
        ("encoding", trees.text("utf-8")),
        ("quote", trees.text("")),
        ("escape", trees.text("")),
        ("null_padding", no.copy()),
        ("ignore_errors", no.copy()),
        ("strict_mode", yes),
    ]


def _width(file: FactFile) -> int:
    """How many cells the first line has; 0 for an empty file.

    Raises `StrategyError` for bytes that DuckDB takes in another way than the reader does: it
    leaves empty lines out, and lets a carriage return end a line.
    """
    if not file.path.stat().st_size:
        return 0
    with file.path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as all_:
        odd = [b"\r", b"\0", b"\n\n", *([b'"'] if file.quoted else [])]
        odd += [b"[", b"]"] if file.bracketed else []
        if any(all_.find(one) >= 0 for one in odd):
            raise StrategyError("bytes that Python reads")
        if all_[:2] == _GZIP or all_[:3] == _BYTE_ORDER_MARK or all_[:1] == b"\n":
            raise StrategyError("a beginning that Python reads")
        end = all_.find(b"\n")
        first = all_[: end if end >= 0 else len(all_)]
    if file.header and end in {-1, file.path.stat().st_size - 1}:
        return 0
    return first.count(file.delimiter.encode()) + 1


def _kept(file: FactFile, labels: Sequence[str]) -> list[exp.Expr]:
    """Leave out rows with an empty cell where that is wanted and the cell would be no value."""
    return [
        trees.binary("!=", trees.bare(labels[file.places[place]]), trees.text(""))
        for place in sorted(file.skip_empty)
        if file.predicate.kinds[place] is not Kind.SYMBOL
    ]


def _parsed(node: exp.Expr, kind: Kind, word_size: int) -> exp.Expr:
    """A cell as DuckDB reads it, which may be too generous."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED | Kind.DECIMAL:
            return trees.try_cast(node, trees.type_of(kind))
        case Kind.FLOAT:
            value = trees.try_cast(node, trees.type_of(kind))
            if word_size == _NARROW:
                value = trees.cast(trees.try_cast(value, trees.typed("FLOAT")), trees.type_of(kind))
            return value
        case Kind.DATE:
            return trees.try_cast(node, trees.typed("DATE"))
        case Kind.TIMESTAMP:
            without_zone = trees.call("left", node, trees.integer(26))
            return trees.try_cast(without_zone, trees.typed("TIMESTAMP"))
        case Kind.SYMBOL | Kind.BOOL | Kind.STRUCTURE:
            return trees.integer(0)


def _cell(place: int, kind: Kind, file: FactFile) -> exp.Expr:
    """The value of a cell, or a failure where its spelling is not plain."""
    text, value = trees.bare(f"t{place}"), trees.bare(f"v{place}")
    found: exp.Expr = text
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            plain = [trees.binary("=", trees.cast(value, trees.typed("VARCHAR")), text)]
            if file.word_size == _NARROW:
                narrow = "INT" if kind is Kind.NUMBER else "UINT"
                plain.append(_known(trees.try_cast(value, trees.typed(narrow))))
            found = value
        case Kind.FLOAT:
            plain = [_matches(text, _FLOAT), trees.call("isfinite", value)]
            zero = trees.constant(0.0, kind)
            found = trees.choose(trees.binary("=", value, zero), zero.copy(), value)
        case Kind.DECIMAL:
            plain, found = [_matches(text, _DECIMAL), _known(value)], value
        case Kind.DATE | Kind.TIMESTAMP:
            shape = _DATE if kind is Kind.DATE else _TIMESTAMP
            first = trees.binary(">=", text, trees.text("0001"))
            plain = [_matches(text, shape), _known(value), first]
        case Kind.BOOL:
            truths = [trees.binary("=", text, trees.text(one)) for one in ("true", "false")]
            plain = [trees.binary("or", *truths)]
        case Kind.SYMBOL:
            plain = [trees.binary("<=", trees.call("strlen", text), trees.integer(_LONGEST))]
        case Kind.STRUCTURE:
            raise StrategyError("a column that Python reads")
        case _:
            assert_never(kind)
    condition = plain[0]
    for one in plain[1:]:
        condition = trees.binary("and", condition, one)
    return trees.choose(condition, found, trees.call("error", trees.text("a cell")))


def _known(node: exp.Expr) -> exp.Expr:
    return trees.opposite(trees.is_null(node))


def _matches(text: exp.Expr, pattern: str) -> exp.Expr:
    return trees.call("regexp_full_match", text, trees.text(pattern))


# A value goes over exactly or not at all, as cells of any source do: DuckDB converts the columns
# whose types leave no doubt, all others are read cell by cell.

_SOURCE: Final = "loaded_frame"
_FRAMES_BATCH: Final = 10_000
_SIGNED: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_INTEGERS: Final = _SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
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
        database.connection.run(trees.create(staging, everything))
    finally:
        database.connection.unregister(_SOURCE)
    try:
        _take(database, name, staging, columns)
    finally:
        database.connection.run(trees.drop(staging))


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
        database.connection.run(trees.attach(str(path), label))
    try:
        database.connection.run(trees.create(staging, query))
        _take(database, name, staging)
    finally:
        database.connection.run(trees.drop(staging))
        for label in attached:
            database.connection.run(trees.detach(label))


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
            database.connection.run(trees.create(staging, trees.select(outputs, source=source)))
            take_staged(database, database.stored(name), staging)
        except StrategyError:
            pass
        else:
            return
        finally:
            database.connection.run(trees.drop(staging))
    load_rows(database, name, _cells(database, relation, table, columns))


def _types(database: Relations, table: str) -> list[str]:
    none = trees.everything(trees.table(table)).limit(0, copy=False).sql("duckdb")
    driver = database.connection.driver
    described = database.guarded(lambda: driver.execute(none).description)
    return [str(column[1]) for column in described or ()]


def _converted(node: exp.Expr, kind: Kind, written: str) -> exp.Expr | None:
    """The value of a column whose type leaves no doubt; NULL fails, as does what does not fit."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED if written in _INTEGERS:
            return _frames_known(node, trees.cast(node, trees.type_of(kind)))
        case Kind.FLOAT if written == "DOUBLE":
            zero = trees.constant(0.0, kind)
            value = trees.choose(trees.binary("=", node, zero), zero.copy(), node)
            return trees.choose(trees.call("isfinite", node), value, _no_value())
        case Kind.SYMBOL if written == "VARCHAR":
            short = trees.binary("<=", trees.call("strlen", node), trees.integer(_LONGEST))
            nul = trees.call("contains", node, trees.call("chr", trees.integer(0)))
            return trees.choose(trees.binary("and", short, trees.opposite(nul)), node, _no_value())
        case Kind.BOOL if written == "BOOLEAN":
            return _frames_known(node, trees.cast(node, trees.typed("VARCHAR")))
        case Kind.DATE if written == "DATE":
            text = trees.cast(node, trees.typed("VARCHAR"))
            return trees.choose(
                trees.binary("=", _length(text), trees.integer(10)), text, _no_value()
            )
        case _:
            return None


def _length(text: exp.Expr) -> exp.Expr:
    return trees.call("strlen", text)


def _frames_known(node: exp.Expr, value: exp.Expr) -> exp.Expr:
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
    for batch in database.connection.stream(query, _FRAMES_BATCH):
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
