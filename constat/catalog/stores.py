"""Read stores of documents as the tables of an empty DuckDB.

In: a store that lists its collections and gives the documents of one. Out: a table for each
collection, and one for each list within its documents. Invariants: a collection is read whole, or
not at all: beyond its bounds, or where a document cannot be read, it is a failure. Nothing of a
rule is ever sent, so that no value can become part of a query. A message holds no address and no
text of a driver. Example: `connect(database, 30)`. Reference: https://bsonspec.org
"""

from __future__ import annotations

import base64
import importlib
import json
import time
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.catalog.connection import SourceColumn, SourceFailureError, SourceTable
from constat.catalog.duck_queries import DuckReading
from constat.catalog.duck_session import DuckSession, named
from constat.catalog.guard import guard
from constat.diagnostics import ConstatError, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.duck_queries import DuckColumn
    from constat.project import Database

MOST_DOCUMENTS: Final = 200_000
MOST_LETTERS: Final = 1 << 27
_MOST_COLUMNS: Final = 2_000
_MOST_COLLECTIONS: Final = 2_000
_LONGEST_NAME: Final = 200
_DEEPEST: Final = 32
_ROWS_AT_ONCE: Final = 5_000
_TYPES: Final = MappingProxyType(
    {"whole": "BIGINT", "float": "DOUBLE", "truth": "BOOLEAN", "time": "TIMESTAMP"}
)
_UNVERIFIED: Final = "unverified: this kind of store was not tried with a server of its maker"
_NUMBERS: Final = frozenset(("whole", "float", "decimal"))
_REFUSED: Final = frozenset((13, 18, 8000))


class Store(Protocol):
    """What a store of documents does; each method raises `SourceFailureError`."""

    def collections(self) -> Sequence[str]:
        """Name the collections."""
        ...

    def documents(self, collection: str) -> Iterator[Mapping[str, Any]]:
        """Give all documents of a collection; each has an `_id`."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


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
            return "whole", str(int(value))
        case float():
            return "float", repr(value)
        case str():
            return "text", str(value)
        case datetime():
            return "time", value.replace(tzinfo=None).isoformat(sep=" ")
        case bytes():
            return "binary", base64.b64encode(value).decode()
    kind = type(value).__name__
    if kind == "Decimal128":
        return "decimal", format(value.to_decimal(), "f")
    return kind.lower(), str(value)


class Tables:
    """The rows that documents of a collection become: its own, and those of lists within."""

    def __init__(self, collection: str) -> None:
        self.collection = collection
        self.rows: dict[str, list[dict[str, Cell]]] = {collection: []}
        self._letters = 0

    def add(self, document: Mapping[str, Any]) -> None:
        """Add a document."""
        if len(self.rows[self.collection]) >= MOST_DOCUMENTS:
            raise self.failure(f"has more than {MOST_DOCUMENTS:,} documents")
        key = document.get("_id")
        parent = ("object", json.dumps(key, default=str)) if isinstance(key, dict) else cell_of(key)
        self._add(self.collection, document, {}, parent, "")

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
        for number, one in enumerate(entries):
            place = f"{around}.{number}" if around else str(number)
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

    def columns(self, table: str) -> dict[tuple[str, str], tuple[str, str]]:
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
                columns[(name, one)] = (f"{name}.{one}", _TYPES.get(one, "VARCHAR"))
        return columns

    def _check_label(self, label: str, known: set[str]) -> None:
        if not label.strip() or not label.isprintable() or len(label) > _LONGEST_NAME:
            raise self.failure("has a field whose name cannot be that of a column")
        if label.lower() in known:
            raise self.failure(f"has two fields {_told(label)} that differ by their case only")
        if len(known) >= _MOST_COLUMNS:
            raise self.failure(f"has more than {_MOST_COLUMNS:,} fields")
        known.add(label.lower())


def _told(name: str) -> str:
    return name[:_LONGEST_NAME] if name.isprintable() else "?"


def connect(database: Database, seconds: float) -> StoreConnection:
    """Give a connection to a store; it is reached when reading begins."""
    return StoreConnection(MongoStore(database, seconds), seconds)


class StoreConnection(DuckReading):
    """Collections as tables; implements `Connection`. Reading one takes `seconds` at most."""

    snapshot: str | None = None

    def __init__(self, store: Store, seconds: float) -> None:
        super().__init__()
        self._store = store
        self._seconds = seconds
        self._collections: tuple[str, ...] = ()
        self._loaded: dict[str, SourceTable] = {}
        self._read: set[str] = set()
        self._reads = False

    @staticmethod
    def replaced() -> bool:
        """Documents are read anew after each `begin`."""
        return False

    def begin(self) -> bool:
        """List the collections; what was read before is forgotten."""
        if self._reads:
            self._reading().check_lost()
            return False
        self.close()
        listed = sorted(self._store.collections())
        if len(listed) > _MOST_COLLECTIONS:
            raise SourceFailureError(f"it has more than {_MOST_COLLECTIONS:,} collections")
        self._collections = tuple(listed)
        self._session = DuckSession(None)
        self._reads = True
        return True

    def release(self) -> None:
        """End reading; the next `begin` reads anew."""
        self._reads = False

    def close(self) -> None:
        """Forget what was read, and end the connection to the store."""
        super().close()
        self._store.close()
        self._loaded.clear()
        self._read.clear()
        self._reads = False

    def tables(self) -> Mapping[str, SourceTable]:
        """Give the tables; the columns are known of those that a query has needed."""
        unread = {name.lower(): SourceTable(name, (), plain=False) for name in self._collections}
        return unread | self._loaded

    def look(self, statement: str, seconds: float) -> list[tuple[object, ...]]:
        """Run a statement of Constat's own about the tables, once all are there."""
        for name in self._collections:
            self._load(name)
        return super().look(statement, seconds)

    def _columns(self, query: str) -> tuple[DuckColumn, ...]:
        if query not in self._described:
            asked = {one.lower() for one in guard(query, self.dialect).tables}
            for name in self._collections:
                folded = name.lower()
                if any(one == folded or one.startswith(f"{folded}__") for one in asked):
                    self._load(name)
        return super()._columns(query)

    def _load(self, collection: str) -> None:
        """Make the tables of a collection, all or none."""
        if collection in self._read:
            return
        until = time.monotonic() + self._seconds
        tables = Tables(collection)
        for document in self._store.documents(collection):
            tables.add(document)
            if time.monotonic() > until:
                raise tables.failure(f"took more than {self._seconds:g} seconds to read")
        listed = {name: tables.columns(name) for name in tables.rows}
        taken = {one.lower() for one in self._collections if one != collection}
        for name in tables.rows:
            if name.lower() in taken | self._loaded.keys():
                raise tables.failure(f"would need two tables {_told(name)}")
            taken.add(name.lower())
        for name, rows in tables.rows.items():
            if listed[name]:
                self._make(name, rows, listed[name])
        self._read.add(collection)

    def _make(
        self,
        name: str,
        rows: Sequence[Mapping[str, Cell]],
        columns: Mapping[tuple[str, str], tuple[str, str]],
    ) -> None:
        session, raw = self._reading(), f"{name} read"
        labels = dict(columns.values())
        with session.bounded(self._seconds):
            session.own(
                f"CREATE TABLE {named(raw)} ({', '.join(f'{named(x)} VARCHAR' for x in labels)})"
            )
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = rows[start : start + _ROWS_AT_ONCE]
                session.append(raw, [_laid_out(row, columns, labels) for row in part])
                session.check_time()
            cast = ", ".join(f"CAST({named(x)} AS {t}) AS {named(x)}" for x, t in labels.items())
            session.own(f"CREATE TABLE {named(name)} AS SELECT {cast} FROM {named(raw)}")  # noqa: S608  quoted
            session.own(f"DROP TABLE {named(raw)}")
            session.own(f"COMMENT ON TABLE {named(name)} IS '{_UNVERIFIED}'")
        found = tuple(SourceColumn(x.lower(), t, never_null=False) for x, t in labels.items())
        self._loaded[name.lower()] = SourceTable(name, found, plain=False)


def _laid_out(
    row: Mapping[str, Cell],
    columns: Mapping[tuple[str, str], tuple[str, str]],
    labels: Mapping[str, str],
) -> tuple[str | None, ...]:
    cells = {columns[(name, family)][0]: text for name, (family, text) in row.items()}
    return tuple(cells.get(label) for label in labels)


class MongoStore:
    """A database of MongoDB, or of a server that speaks its protocol; implements `Store`."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._wait = max(1, int(min(seconds, 30) * 1000))
        try:
            self._driver: Any = importlib.import_module("pymongo")
            self._errors: Any = importlib.import_module("pymongo.errors")
            self._bson: Any = importlib.import_module("bson.errors")
        except ImportError:
            message = f"database `{database.name}` needs the package pymongo"
            raise self._mistake(
                f"{message}, which cannot be loaded", "pip install 'constat[mongodb]'", "C0552"
            ) from None
        self._address = database.uri()
        self._client: Any = None

    def _mistake(self, message: str, hint: str, code: str = "C0512") -> ConstatError:
        return ConstatError([Diagnostic(code, message, self._database.span, help=hint)])

    def _opened(self) -> Any:  # noqa: ANN401  the driver is loaded on first use
        name = self._database.name
        if self._client is None:
            try:
                self._client = self._driver.MongoClient(
                    self._address,
                    serverSelectionTimeoutMS=self._wait,
                    connectTimeoutMS=self._wait,
                    socketTimeoutMS=self._wait,
                )
            except (self._errors.PyMongoError, ValueError, TypeError):
                # A message of the driver's may show the address: none of its text is used.
                message = f"the uri of database `{name}` is not an address of MongoDB"
                hint = "write for example `mongodb://user:${PASSWORD}@host:27017`"
                raise self._mistake(message, hint) from None
        wanted = self._database.options.get("database")
        try:
            return self._client[wanted] if wanted else self._client.get_default_database()
        except self._errors.PyMongoError:
            message = f"database `{name}` does not say which database of the server is meant"
            raise self._mistake(message, "write `database: NAME` below its `uri`") from None

    def collections(self) -> Sequence[str]:
        """Name the collections and views; those of the server itself are left out."""
        opened = self._opened()
        try:
            listed = opened.list_collection_names()
        except self._errors.PyMongoError as problem:
            raise self._failure(problem) from None
        return [str(one) for one in listed if not str(one).startswith("system.")]

    def documents(self, collection: str) -> Iterator[Mapping[str, Any]]:
        """Give all documents: `find` without a condition, and nothing else."""
        opened = self._opened()
        try:
            yield from opened[collection].find({}, max_time_ms=self._wait)
        except (self._errors.PyMongoError, self._bson.BSONError) as problem:
            raise self._failure(problem) from None

    def _failure(self, problem: Exception) -> SourceFailureError:
        if getattr(problem, "code", None) in _REFUSED:
            return SourceFailureError("the server does not let us in")
        if isinstance(problem, self._errors.ConnectionFailure):
            return SourceFailureError("the server does not answer")
        return SourceFailureError(f"the server cannot answer ({type(problem).__name__})")

    def close(self) -> None:
        """End the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
