"""Read stores of documents as the tables of an empty DuckDB.

In: a store that lists its collections and gives the documents of one. Out: a table for each
collection, and one for each list within its documents. Invariants: a collection is read whole, or
not at all: beyond its bounds, or where a document cannot be read, it is a failure. Of a collection
that is large the columns are those of its first documents, and only keys and ranges are sent, as
values of the store's own protocol; what comes back is compared here once more. A message holds no
address and no text of a driver. Example: `StoreConnection(store, database, 30)`.
"""

from __future__ import annotations

import base64
import importlib
import json
import time
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import Question, SourceColumn, SourceFailureError, SourceTable
from constat.catalog.duck_queries import CopiedReading, looked, whole_queries
from constat.catalog.duck_session import DuckSession, named, quoted
from constat.catalog.guard import guard
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from constat.catalog.connection import RawRow, ReadBounds, Stream, Whole
    from constat.catalog.duck_queries import DuckColumn
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.evaluation import Demand, Range
    from constat.logic import Row
    from constat.project import Database

MOST_DOCUMENTS: Final = 1_000_000
MOST_LETTERS: Final = 1 << 28
SAMPLED: Final = 2_000
_MOST_COLUMNS: Final = 2_000
_MOST_COLLECTIONS: Final = 2_000
_LONGEST_NAME: Final = 200
_LONGEST_TOLD: Final = 2_000
_DEEPEST: Final = 32
_ROWS_AT_ONCE: Final = 5_000
_WAIT: Final = 3.0
_TYPES: Final = MappingProxyType(
    {"whole": "BIGINT", "float": "DOUBLE", "truth": "BOOLEAN", "time": "TIMESTAMP"}
)
_UNVERIFIED: Final = "unverified: this kind of store was not tried with a server of its maker"
_NUMBERS: Final = frozenset(("whole", "float", "decimal"))
_LARGEST_WHOLE: Final = 1 << 63
_MOST_ZEROS: Final = 400

# What is asked of a store. It may give more than what is meant, and never less: a condition leaves
# documents out, and what comes is compared here.


@frozen
class Field:
    """A field of documents, with the names of the objects around it, and the kind of its values."""

    path: str
    family: str


@frozen
class Keys:
    """Values that a field may have; `none` where a document without any is meant as well.

    That is one whose field is missing, or holds a list, an object or a value of another kind.
    """

    field: Field
    values: tuple[str | int, ...]
    none: bool = False


@frozen
class Bound:
    """What a number is compared with; a document without one is meant as well, as for `Keys`.

    Where nobody has to see those, `Store.keeps_open` may be false.
    """

    field: Field
    operator: str
    value: int | float


@frozen
class Condition:
    """Which documents are meant: those that meet all of it."""

    keys: tuple[Keys, ...] = ()
    bounds: tuple[Bound, ...] = ()


EVERYTHING: Final = Condition()


class Store(ABC):
    """What a store of documents does; what it asks of its server raises `SourceFailureError`."""

    tried = False
    """Whether it was tried with a server that nobody here wrote."""
    most_keys = 1_000
    """How many values of one field may be sent at once."""
    most_asked = 50_000
    """With more keys than that everything is read instead."""

    def __init__(self) -> None:
        self._until = 0.0
        self._seconds = 0.0
        self._cancelled = False

    def start(self, seconds: float) -> None:
        """Begin to read for so long at most."""
        self._seconds, self._cancelled = seconds, False
        self._until = time.monotonic() + seconds

    def cancel(self) -> None:
        """End what is being read, from any thread."""
        self._cancelled = True

    def check(self) -> None:
        """Raise where reading ought to have ended; asked for each page and each document."""
        if self._cancelled:
            raise SourceFailureError("it was cancelled", "C0521")
        if time.monotonic() > self._until:
            raise SourceFailureError(f"it did not finish within {self._seconds:g} s", "C0521")

    @abstractmethod
    def collections(self) -> Sequence[str]:
        """Name the collections."""

    @abstractmethod
    def documents(self, collection: str, condition: Condition) -> Iterator[Mapping[str, Any]]:
        """Give the documents that are meant, and perhaps others; each has an `_id`."""

    @abstractmethod
    def told(self, collection: str, condition: Condition) -> str:
        """Write what is sent for these documents, as people of the store would write it."""

    def finds(self, collection: str, field: Field) -> bool:
        """Whether documents can be asked for by values of a field."""
        del collection, field
        return False

    def orders(self, collection: str, field: Field) -> bool:
        """Whether documents can be asked for by a range of the numbers in a field."""
        del collection, field
        return False

    def keeps_open(self, collection: str, field: Field) -> bool:
        """Whether a condition can let documents through whose field has no value of its kind.

        Such a document is a row with NULL, which may be one that somebody has to see.
        """
        del collection
        return field.path == "_id"

    def unique(self, collection: str) -> bool:
        """Whether each document of a collection has an `_id` of its own."""
        del collection
        return True

    def count(self, collection: str) -> int | None:
        """Guess how many documents there are; `None` where nobody knows."""
        del collection
        return None

    def close(self) -> None:  # noqa: B027  not each store keeps a connection
        """End the connection."""


class Pages:
    """Follows marks of further pages; one that comes again would lead round for ever."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: set[str] = set()

    def follow(self, mark: object) -> None:
        """Check a mark, and the time, before its page is asked for."""
        self._store.check()
        text = str(mark)
        if text in self._seen:
            raise SourceFailureError("its pages lead back to one that was read")
        self._seen.add(text)


def patience(seconds: float) -> float:
    """Give the seconds to wait for the first word of a server."""
    return max(0.1, min(seconds, _WAIT))


def driver(database: Database, module: str, package: str, extra: str) -> Any:  # noqa: ANN401  a module
    """Load the package that a store needs."""
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f"database `{database.name}` needs the package {package}, which cannot be loaded"
        raise mistake(database, message, f"pip install 'constat[{extra}]'", "C0552") from None


def mistake(database: Database, message: str, hint: str, code: str = "C0512") -> ConstatError:
    """Give the error for a setting that cannot be used."""
    return ConstatError([Diagnostic(code, message, database.span, help=hint)])


Cell = tuple[str, str]
"""What a value is, and how it is written."""


def cell_of(value: Any) -> Cell | None:  # noqa: ANN401, PLR0911  one for each kind of value
    """Write a value that is neither a list nor an object; nothing for none."""
    match value:
        case None:
            return None
        case bool():
            return "truth", "true" if value else "false"
        case int():
            fits = -_LARGEST_WHOLE <= value < _LARGEST_WHOLE
            return ("whole" if fits else "decimal"), str(int(value))
        case float():
            return "float", repr(value)
        case str():
            return "text", str(value)
        case datetime():
            return "time", value.replace(tzinfo=None).isoformat(sep=" ")
        case bytes() | bytearray():
            return "binary", base64.b64encode(value).decode()
        case Decimal():
            return "decimal", _digits(value)
    kind = type(value).__name__
    if kind == "Decimal128":
        return "decimal", _digits(value.to_decimal())
    return kind.lower(), str(value)


def number(text: str) -> float | Decimal:
    """Read a number of JSON that is no whole one: as a float where that loses no digit."""
    exact, near = Decimal(text), float(text)
    return near if Decimal(repr(near)) == exact else exact


def _digits(value: Decimal) -> str:
    spelled = value.is_finite() and abs(value.adjusted()) <= _MOST_ZEROS
    return format(value, "f") if spelled else str(value)


# Documents become rows: one for each document, and one for each entry of a list within it.


class Tables:
    """The rows that documents of a collection become: its own, and those of lists within."""

    def __init__(self, collection: str) -> None:
        self.collection = collection
        self.rows: dict[str, list[dict[str, Cell]]] = {collection: []}
        self.documents = 0
        self._letters = 0

    def add(self, document: Mapping[str, Any]) -> None:
        """Add a document."""
        self.documents += 1
        if self.documents > MOST_DOCUMENTS:
            raise self.failure(f"has more than {MOST_DOCUMENTS:,} documents")
        key = document.get("_id")
        parent = ("object", json.dumps(key, default=str)) if isinstance(key, dict) else cell_of(key)
        self._add(self.collection, document, {}, parent, "")

    def taken(self) -> dict[str, list[dict[str, Cell]]]:
        """Give the rows since the last time, and forget them."""
        found, self.rows = self.rows, {self.collection: []}
        return found

    def failure(self, reason: str) -> SourceFailureError:
        """Say why a collection cannot be read; names are told, values never."""
        return SourceFailureError(f"the collection {_told(self.collection)} {reason}", "C0541")

    def _add(
        self, table: str, entry: object, row: dict[str, Cell], parent: Cell | None, place: str
    ) -> None:
        """Add a row for a document, or for an entry of a list, and rows for the lists in it."""
        waiting: list[tuple[str, Any, int]] = []
        if isinstance(entry, dict):
            waiting += [(name, cell, 1) for name, cell in entry.items()]
        else:
            waiting.append(("value", entry, 1))
        seen = set(row)
        for name, value, depth in waiting:
            if depth > _DEEPEST or table.count("__") > _DEEPEST:
                raise self.failure(f"holds more than {_DEEPEST} levels of objects")
            if isinstance(value, dict):
                waiting += [(f"{name}.{inner}", one, depth + 1) for inner, one in value.items()]
            elif isinstance(value, list):
                self._put(row, f"{name}.length", ("whole", str(len(value))))
                self._entries(f"{table}__{name}", value, parent, place)
            elif name in seen:
                raise self.failure(f"has two fields {_told(name)} in one document")
            elif (cell := cell_of(value)) is not None:
                self._put(row, name, cell)
            seen.add(name)
        self.rows.setdefault(table, []).append(row)

    def _entries(self, table: str, entries: list[Any], parent: Cell | None, around: str) -> None:
        if parent is None:
            raise self.failure("has a document without `_id`")
        self.rows.setdefault(table, [])
        for number_of, one in enumerate(entries):
            place = f"{around}.{number_of}" if around else str(number_of)
            row: dict[str, Cell] = {}
            self._put(row, "_parent", parent)
            if around:
                self._put(row, "_within", ("text", around))
            self._put(row, "_position", ("text", place) if around else ("whole", place))
            self._add(table, one, row, parent, place)

    def _put(self, row: dict[str, Cell], name: str, cell: Cell) -> None:
        if name in row:
            raise self.failure(f"has two fields {_told(name)} in one document")
        self._letters += len(cell[1]) + len(name)
        if self._letters > MOST_LETTERS:
            raise self.failure(f"holds more than {MOST_LETTERS:,} letters")
        row[name] = cell

    def columns(self, table: str) -> Columns:
        """Name the columns of a table, by field and what its values are, with their types.

        A field with values of several kinds becomes a column for each: `price.whole`, `price.text`.
        """
        found: dict[str, dict[str, None]] = {}
        for row in self.rows[table]:
            for name, (family, _) in row.items():
                found.setdefault(name, {})[family] = None
        columns: dict[tuple[str, str], tuple[str, str]] = {}
        known: set[str] = set()
        for name, families in found.items():
            if families.keys() <= _NUMBERS or len(families) == 1:
                written = "VARCHAR" if len(families) > 1 else _TYPES.get(next(iter(families)))
                self._check_label(name, known)
                columns |= {(name, one): (name, written or "VARCHAR") for one in families}
                continue
            for one in families:
                self._check_label(f"{name}.{one}", known)
                columns[name, one] = (f"{name}.{one}", _TYPES.get(one, "VARCHAR"))
        return columns

    def remarks(self, table: str, columns: Columns) -> dict[str, str]:
        """Say of columns in how many rows they have a value, and of fields of several kinds."""
        rows = self.rows[table]
        counts = Counter(
            columns[name, family][0] for row in rows for name, (family, _) in row.items()
        )
        kinds: dict[str, list[str]] = {}
        for name, family in columns:
            kinds.setdefault(name, []).append(family)
        said: dict[str, list[str]] = {}
        for (name, family), (label, _) in columns.items():
            if len(kinds[name]) > 1:
                others = ", ".join(one for one in kinds[name] if one != family)
                said.setdefault(label, []).append(f"{name} also holds values of the kind {others}")
        for label, count in counts.items():
            if count < len(rows):
                said.setdefault(label, []).append(f"in {count:,} of {len(rows):,} read")
        return {label: "; ".join(dict.fromkeys(lines)) for label, lines in said.items()}

    def _check_label(self, label: str, known: set[str]) -> None:
        if not label.strip() or not label.isprintable() or len(label) > _LONGEST_NAME:
            raise self.failure("has a field whose name cannot be that of a column")
        if label.lower() in known:
            raise self.failure(f"has two fields {_told(label)} that differ by their case only")
        if len(known) >= _MOST_COLUMNS:
            raise self.failure(f"has more than {_MOST_COLUMNS:,} fields")
        known.add(label.lower())


Columns = dict[tuple[str, str], tuple[str, str]]
"""Name and type of a column by the field that it holds and what the field's values are."""


def _told(name: str) -> str:
    return name[:_LONGEST_NAME] if name.isprintable() else "?"


@frozen
class Layout:
    """The tables of a collection; `documents` were looked at, and with `whole` these are all."""

    collection: str
    documents: int
    whole: bool
    tables: Mapping[str, Columns]
    remarks: Mapping[str, Mapping[str, str]]

    def column(self, table: str, field: str, family: str) -> str | None:
        """Name the column for a value; `None` if it fits none, empty if the field has none."""
        columns = self.tables.get(table, {})
        found = columns.get((field, family))
        if found is not None:
            return found[0]
        others = {one: label for (name, one), label in columns.items() if name == field}
        if family in _NUMBERS and others.keys() <= _NUMBERS and others:
            label, written = next(iter(others.values()))
            return label if written == "VARCHAR" else None
        return None if others else ""


class Filling:
    """Fills the tables of a layout with rows; a value that no column fits spoils the column."""

    def __init__(self, session: DuckSession, layout: Layout, note: str, *, unique: bool) -> None:
        self._session = session
        self._layout = layout
        self._note = note
        self._unique = unique
        self.spoilt: dict[tuple[str, str], str] = {}
        for table, columns in self._filled():
            listed = ", ".join(f"{named(one)} VARCHAR" for one in dict(columns.values()))
            session.own(f"CREATE TABLE {named(_raw(table))} ({listed})")

    def _filled(self) -> Iterator[tuple[str, Columns]]:
        return ((table, columns) for table, columns in self._layout.tables.items() if columns)

    def add(self, rows: Mapping[str, Sequence[Mapping[str, Cell]]]) -> None:
        """Add rows of tables; those of tables that the layout has not are left out."""
        for table, columns in self._filled():
            labels = list(dict(columns.values()))
            listed = rows.get(table, ())
            for start in range(0, len(listed), _ROWS_AT_ONCE):
                part = listed[start : start + _ROWS_AT_ONCE]
                self._session.append(_raw(table), [self._row(table, one, labels) for one in part])
                self._session.check_time()

    def _row(
        self, table: str, row: Mapping[str, Cell], labels: Sequence[str]
    ) -> tuple[str | None, ...]:
        cells: dict[str, str] = {}
        for name, (family, text) in row.items():
            label = self._layout.column(table, name, family)
            if label is None:
                self._spoil(table, name, family)
            elif label:
                cells[label] = text
        return tuple(cells.get(label) for label in labels)

    def _spoil(self, table: str, name: str, family: str) -> None:
        layout = self._layout
        for (field, _), (label, _) in layout.tables[table].items():
            if field == name:
                self.spoilt[table.lower(), label.lower()] = (
                    f"the collection {_told(layout.collection)} holds in {_told(name)} a value of"
                    f" the kind {family}, which the first {layout.documents:,} documents do not;"
                    " `sample` of the database looks at more of them"
                )

    def finish(self) -> None:
        """Make the tables."""
        own = self._session.own
        for table, columns in self._filled():
            types, raw = dict(columns.values()), _raw(table)
            listed = [f"{named(one)} {kind}" for one, kind in types.items()]
            # What a document is known by is in each of them; a store that gives one twice lies.
            key = ["_id"] if table == self._layout.collection else ["_parent", "_position"]
            if self._unique and types.keys() >= set(key):
                listed.append(f"PRIMARY KEY ({', '.join(map(named, key))})")
            cast = ", ".join(f"CAST({named(x)} AS {t}) AS {named(x)}" for x, t in types.items())
            own(f"CREATE OR REPLACE TABLE {named(table)} ({', '.join(listed)})")
            try:
                own(f"INSERT INTO {named(table)} SELECT {cast} FROM {named(raw)}")  # noqa: S608  quoted
            except SourceFailureError as problem:
                if "(Constraint)" not in problem.reason:
                    raise
                reason = f"the collection {_told(table)} gives a document without `_id`, or twice"
                raise SourceFailureError(reason, "C0541") from None
            own(f"DROP TABLE {named(raw)}")
            if self._note:
                own(f"COMMENT ON TABLE {named(table)} IS {quoted(self._note)}")
            for label, said in self._layout.remarks.get(table, {}).items():
                own(f"COMMENT ON COLUMN {named(table)}.{named(label)} IS {quoted(said)}")


def _raw(table: str) -> str:
    return f"{table} read"


# Which queries pass rows of one table on, so that those of some documents are those that the query
# gives for all documents.


@frozen
class Names:
    """What a query names: all columns, or every one with `star`; its outputs where it is single.

    A single query passes columns of one table on, and leaves out rows by conditions alone.
    """

    columns: frozenset[str]
    star: bool
    table: str = ""
    outputs: tuple[str, ...] = ()


def names_of(query: str) -> Names:
    """Find what a guarded query names."""
    from sqlglot import exp, parse_one  # noqa: PLC0415  heavy library, loaded on first use

    root = parse_one(query, dialect="duckdb")
    columns = frozenset(one.name.lower() for one in root.find_all(exp.Column))
    tables = {one.name.lower() for one in root.find_all(exp.Table)}
    aliases = {one.alias.lower() for one in root.find_all(exp.Table)}
    star = next(root.find_all(exp.Star), None) is not None
    names = Names(columns, star or not columns.isdisjoint(tables | aliases))
    if not isinstance(root, exp.Select) or names.star:
        return names
    if any(value for part, value in root.args.items() if part not in _SIMPLE):
        return names
    source = root.args["from_"].this if root.args.get("from_") else None
    outputs = [one.unalias() for one in root.selects]
    single = isinstance(source, exp.Table) and not any(
        value for part, value in source.args.items() if part not in {"this", "alias"}
    )
    nodes = [one for one in root.find_all(exp.Query, exp.AggFunc, exp.Window) if one is not root]
    if not single or nodes or not all(isinstance(one, exp.Column) for one in outputs):
        return names
    table = root.args["from_"].this.name.lower()
    return replace(names, table=table, outputs=tuple(x.name.lower() for x in outputs))


_SIMPLE: Final = frozenset(("expressions", "from_", "where"))


@frozen
class StoreQuestion(Question):
    """A query of rules with what was added to it; with a collection over some documents of that."""

    query: str = ""
    collection: str = ""
    condition: Condition = EVERYTHING


class StoreConnection(CopiedReading):
    """Collections as tables; implements `Connection`. Reading one takes `seconds` at most."""

    def __init__(self, store: Store, database: Database, seconds: float) -> None:
        super().__init__()
        self.most_keys = store.most_keys
        self._store = store
        self._seconds = seconds
        self._sample = int(database.options.get("sample", SAMPLED))
        self._collections: tuple[str, ...] = ()
        self._layouts: dict[str, Layout] = {}
        self._made: dict[str, SourceTable] = {}
        self._prepared: set[str] = set()
        self._complete: set[str] = set()
        self._failed: dict[str, SourceFailureError] = {}
        self._spoilt: dict[tuple[str, str], str] = {}
        self._names: dict[str, Names] = {}
        self._parts: list[DuckSession] = []
        self._problems: dict[str, str] = {}

    def _same(self) -> bool:
        """Documents are read anew after each `begin`."""
        return False

    def _start(self) -> None:
        """List the collections; of large ones it stays known what their columns are."""
        self._store.start(self._seconds)
        listed = sorted(self._store.collections())
        if len(listed) > _MOST_COLLECTIONS:
            raise SourceFailureError(f"it has more than {_MOST_COLLECTIONS:,} collections")
        self._collections = tuple(listed)
        kept = {x: y for x, y in self._layouts.items() if x in self._collections and not y.whole}
        self._layouts = kept
        self._session = DuckSession(None)

    def close(self) -> None:
        """Forget what was read, and end the connection to the store."""
        self._emptied()
        self._store.close()

    def _emptied(self) -> None:
        super().close()
        for part in self._parts:
            part.close()
        self._parts.clear()
        for held in (self._made, self._prepared, self._complete, self._failed, self._spoilt):
            held.clear()
        self._problems.clear()

    def cancel(self) -> None:
        """Interrupt the running query, and what is read from the store."""
        self._store.cancel()
        super().cancel()
        for part in list(self._parts):
            part.cancel()

    def tables(self) -> Mapping[str, SourceTable]:
        """Give the tables; the columns are known of those that a query has needed."""
        unread = {name.lower(): SourceTable(name, (), plain=False) for name in self._collections}
        return unread | self._made

    def problems(self) -> Mapping[str, str]:
        """Say of collections why they could not be looked at."""
        return self._problems

    def parents(self) -> Mapping[str, str]:
        """Give for tables of lists the collections that they are of."""
        return {
            table: layout.collection
            for layout in self._layouts.values()
            if self._store.unique(layout.collection)
            for table, columns in layout.tables.items()
            if table != layout.collection and "_parent" in dict(columns.values())
        }

    def look(self, statement: str, seconds: float) -> list[tuple[object, ...]]:
        """Run a statement of Constat's own about the tables, once it is known what they are."""
        for name in self._collections:
            try:
                self._prepare(name)
            except SourceFailureError as problem:
                if problem.code != "C0541":
                    raise
                self._problems[name] = problem.reason
        return super().look(statement, seconds)

    def _columns(self, query: str) -> tuple[DuckColumn, ...]:
        if query not in self._described:
            for name in self._asked(query):
                self._prepare(name)
        return super()._columns(query)

    def _asked(self, query: str) -> list[str]:
        """Name the collections whose tables a query reads."""
        asked = guard(query, self.dialect).tables
        return [
            name
            for name in self._collections
            if any(one == name.lower() or one.startswith(f"{name.lower()}__") for one in asked)
        ]

    def _named(self, query: str) -> Names:
        if query not in self._names:
            self._names[query] = names_of(query)
        return self._names[query]

    # ------------------------------------------------------------- what the columns are

    def _prepare(self, collection: str) -> None:
        """Make the tables of a collection, all or none: whole if it is small, and empty else."""
        if collection in self._prepared:
            return
        if collection in self._failed:
            raise self._failed[collection]
        try:
            tables = Tables(collection)
            layout = self._layouts.get(collection) or self._laid_out(tables)
            self._fill(layout, [tables.rows])
        except SourceFailureError as problem:
            self._failed[collection] = problem
            raise
        self._prepared.add(collection)
        if layout.whole:
            self._complete.add(collection)

    def _laid_out(self, tables: Tables) -> Layout:
        """Look at the first documents; where there are no others, these are all."""
        collection, whole = tables.collection, True
        self._store.start(self._seconds)
        for document in self._store.documents(collection, EVERYTHING):
            self._store.check()
            if tables.documents >= self._sample:
                whole = False
                break
            tables.add(document)
        columns = {name: tables.columns(name) for name in tables.rows}
        taken = {one.lower() for one in self._collections if one != collection}
        for name in tables.rows:
            if name.lower() in taken | self._made.keys():
                raise tables.failure(f"would need two tables {_told(name)}")
            taken.add(name.lower())
        remarks = {name: tables.remarks(name, columns[name]) for name in tables.rows}
        found = Layout(collection, tables.documents, whole, columns, remarks)
        if not whole:
            tables.taken()
        self._layouts[collection] = found
        return found

    def _fill(
        self, layout: Layout, parts: Iterable[Mapping[str, Sequence[Mapping[str, Cell]]]]
    ) -> None:
        session, notes = self._reading(), []
        if not self._store.tried:
            notes.append(_UNVERIFIED)
        if not layout.whole:
            notes.append(f"the columns are those of the first {layout.documents:,} documents")
        with session.bounded(self._seconds):
            unique = self._store.unique(layout.collection)
            filling = Filling(session, layout, "; ".join(notes), unique=unique)
            for rows in parts:
                filling.add(rows)
            filling.finish()
        self._spoilt |= filling.spoilt
        for table, columns in layout.tables.items():
            if columns:
                types = dict(columns.values())
                found = (SourceColumn(x.lower(), t, never_null=False) for x, t in types.items())
                self._made[table.lower()] = SourceTable(table, tuple(found), plain=False)

    # ------------------------------------------------------------- all documents, or some

    def _rows_of(
        self, collection: str, condition: Condition, seconds: float
    ) -> Iterator[dict[str, list[dict[str, Cell]]]]:
        """Yield the rows of documents, so many documents at once."""
        tables = Tables(collection)
        self._store.start(min(seconds, self._seconds))
        for document in self._store.documents(collection, condition):
            self._store.check()
            tables.add(document)
            if tables.documents % _ROWS_AT_ONCE == 0:
                yield tables.taken()
        yield tables.taken()

    def _load(self, query: str, seconds: float) -> None:
        """Read the collections that a query names, each once."""
        for name in self._asked(query):
            if name in self._failed:
                raise self._failed[name]
            if name in self._complete:
                continue
            try:
                self._fill(self._layouts[name], self._rows_of(name, EVERYTHING, seconds))
            except SourceFailureError as problem:
                self._failed[name] = problem
                raise
            self._complete.add(name)
        self._check_spoilt(query, self._spoilt)

    def _part(
        self, collection: str, condition: Condition, query: str, seconds: float
    ) -> DuckSession:
        """Give a session of its own with the rows of some documents."""
        session = DuckSession(None)
        self._parts.append(session)
        with session.bounded(min(seconds, self._seconds)):
            unique = self._store.unique(collection)
            filling = Filling(session, self._layouts[collection], "", unique=unique)
            for rows in self._rows_of(collection, condition, seconds):
                filling.add(rows)
            filling.finish()
        self._check_spoilt(query, filling.spoilt)
        return session

    def _end(self, part: DuckSession) -> None:
        self._parts.remove(part)
        part.close()

    def _check_spoilt(self, query: str, spoilt: Mapping[tuple[str, str], str]) -> None:
        """Raise where a query names a column that does not hold all values of its field."""
        if not spoilt:
            return
        names, tables = self._named(query), guard(query, self.dialect).tables
        for (table, label), reason in spoilt.items():
            if table in tables and (names.star or label in names.columns):
                raise SourceFailureError(reason, "C0541")

    def _open(self, query: str) -> tuple[str, Names] | None:
        """Give collection and names of a single query whose documents are not all read."""
        self._columns(query)
        unread = [name for name in self._asked(query) if name not in self._complete]
        names = self._named(query) if unread else None
        return (unread[0], names) if names is not None and names.table else None

    def _field(self, collection: str, names: Names, position: int) -> Field | None:
        """Give the field of documents that an output column holds; `None` where it is none."""
        label, layout = names.outputs[position], self._layouts[collection]
        columns = next((y for x, y in layout.tables.items() if x.lower() == names.table), {})
        found = [field for field, (one, _) in columns.items() if one.lower() == label]
        if len(found) != 1 or found[0][0].endswith(".length"):
            return None
        path, family = found[0]
        if names.table == collection.lower():
            return Field(path, family)
        return Field("_id", family) if path == "_parent" else None

    # ------------------------------------------------------------- asking

    def pushes(
        self, guarded: Guarded, demand: Demand, nulls_matter: Collection[int]
    ) -> tuple[Push, ...]:
        """Choose the columns to send: where documents are missing here, those the store finds."""
        found = super().pushes(guarded, demand, nulls_matter)
        if all(name in self._complete for name in self._asked(guarded.text)):
            return found
        opened = self._open(guarded.text)
        if opened is None or len(demand.keys) > self._store.most_asked:
            return ()
        chosen = []
        for push in found:
            field = self._field(*opened, push.position)
            # What the store does not find may be a number of another kind than is declared.
            if push.besides or field is None or not self._store.finds(opened[0], field):
                continue
            if not push.nullable or self._store.keeps_open(opened[0], field):
                chosen.append(push)
        return tuple(chosen)

    def keyed(
        self, guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for some keys: of the copy, or of the store where the copy has not all documents."""
        question = super().keyed(guarded, arity, pushes, keys)
        opened = self._open(guarded.text)
        if opened is None:
            return self._saying(question, guarded.text)
        sent = []
        for place, push in enumerate(pushes):
            field = self._field(*opened, push.position)
            if field is None:
                return self._saying(question, guarded.text)
            values = dict.fromkeys(one[place] for one in keys)
            typed = tuple(one if isinstance(one, int) else str(one) for one in values)
            sent.append(Keys(field, typed, push.nullable and field.path != "_id"))
        condition = Condition(tuple(sent))
        return self._saying(question, guarded.text, opened[0], condition)

    def whole(self, guarded: Guarded, arity: int) -> Question:
        """Ask for all rows."""
        return self._saying(super().whole(guarded, arity), guarded.text)

    def _saying(
        self, question: Question, query: str, part: str = "", condition: Condition = EVERYTHING
    ) -> Question:
        """Say behind a question what the store is sent; with `part` of that collection."""
        said = [
            self._sentence(name, condition) for name in ([part] if part else self._asked(query))
        ]
        return StoreQuestion(
            "\n".join([question.text, *said]),
            question.parameters,
            question.spelled,
            question.tables,
            query=query,
            collection=part,
            condition=condition,
        )

    def _sentence(self, collection: str, condition: Condition) -> str:
        said = "".join(
            x if x.isprintable() else "?" for x in self._store.told(collection, condition)
        )
        cut = f"{said[:_LONGEST_TOLD]}..." if len(said) > _LONGEST_TOLD else said
        return f"-- sent to the store: {cut}"

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query over all documents of its collections, or over those that are asked for."""
        query, part = question.text, ""
        if isinstance(question, StoreQuestion):
            query, part = question.query, question.collection
        if isinstance(question, StoreQuestion) and part and part not in self._complete:
            session = self._part(part, question.condition, query, bounds.seconds)
            try:
                yield from session.read(question, bounds)
            finally:
                self._end(session)
            return
        self._load(query, bounds.seconds)
        yield from super().read(question, bounds)

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; of a large collection those within the ranges."""
        query = whole.guarded.text
        opened = self._open(query)
        told = self._told_ranges(whole, *opened) if opened is not None else []
        if opened is None or not told:
            self._load(query, bounds.seconds)
            return super().stream(whole, bounds)
        queries = whole_queries(whole, self._columns(query))
        if queries is None:
            return None
        condition = Condition(bounds=tuple(bound for _, bound in told))
        session = self._part(opened[0], condition, query, bounds.seconds)
        found = looked(session, queries, bounds)
        if found is None:
            return None
        said = f"{found.query}\n{self._sentence(opened[0], condition)}"
        return replace(found, query=said, told=tuple(one for one, _ in told))

    def _told_ranges(
        self, whole: Whole, collection: str, names: Names
    ) -> list[tuple[Range, Bound]]:
        """Choose the ranges that the store can be told."""
        fields = [self._field(collection, names, place) for place in range(len(names.outputs))]
        # Two rows of one key are a contradiction, also where one of them is outside of a range.
        named = [fields[place] for place in whole.key]
        root = names.table == collection.lower() and self._store.unique(collection)
        own = root and any(one is not None and one.path == "_id" for one in named)
        found = []
        for one in whole.ranges:
            field, value = fields[one.column], one.value
            if field is None or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if whole.key and not own and one.column not in whole.key:
                continue
            skips = whole.policies[one.column] == "skip"
            if not skips and not self._store.keeps_open(collection, field):
                continue
            if field.family in {"whole", "float"} and self._store.orders(collection, field):
                found.append((one, Bound(field, one.operator, value)))
        return found

    def estimate(self, guarded: Guarded) -> float | None:
        """Guess how many rows a query gives, without running it."""
        self._columns(guarded.text)
        unread = [x for x in self._asked(guarded.text) if x not in self._complete]
        if not unread:
            return super().estimate(guarded)
        guesses = [self._store.count(one) or self._layouts[one].documents for one in unread]
        return float(max(guesses))
