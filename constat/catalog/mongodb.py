"""Read MongoDB, and servers that speak its protocol, as a store of documents.

In: an address and the name of a database. Out: documents by `find`. A condition is `$in` or a
comparison of a field at the top of documents: a path with a dot would miss a field whose name has
one. What is asked for is a value of BSON, never a text that could be read as an operator.
Reference: https://bsonspec.org
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import SourceFailureError
from constat.catalog.stores import Store, driver, mistake, patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.catalog.stores import Condition, Field
    from constat.project import Database

_REFUSED: Final = frozenset((13, 18, 8000))
_AT_ONCE: Final = 1_000
_OUTSIDE: Final = MappingProxyType(
    {"=": ("$lt", "$gt"), "<": ("$gte",), "<=": ("$gt",), ">": ("$lte",), ">=": ("$lt",)}
)
_KINDS: Final = MappingProxyType({"text": ("string",), "whole": ("int", "long")})
_LARGEST: Final = 1 << 63


class MongoStore(Store):
    """A database of MongoDB."""

    most_keys = 5_000

    def __init__(self, database: Database, seconds: float) -> None:
        super().__init__()
        self._database = database
        self.tried = database.kind == "mongodb"
        self._wait = max(1, int(patience(seconds) * 1000))
        self._longest = max(1, int(seconds * 1000))
        self._driver: Any = driver(database, "pymongo", "pymongo", "mongodb")
        self._errors: Any = driver(database, "pymongo.errors", "pymongo", "mongodb")
        self._bson: Any = driver(database, "bson.errors", "pymongo", "mongodb")
        self._address = database.uri()
        self._client: Any = None

    def _opened(self) -> Any:  # noqa: ANN401  the driver is loaded on first use
        name = self._database.name
        if self._client is None:
            try:
                self._client = self._driver.MongoClient(
                    self._address,
                    serverSelectionTimeoutMS=self._wait,
                    connectTimeoutMS=self._wait,
                    socketTimeoutMS=self._longest,
                )
            except (self._errors.PyMongoError, ValueError, TypeError):
                # A message of the driver's may show the address: none of its text is used.
                message = f"the uri of database `{name}` is not an address of MongoDB"
                hint = "write for example `mongodb://user:${PASSWORD}@host:27017`"
                raise mistake(self._database, message, hint) from None
        wanted = self._database.options.get("database")
        try:
            return self._client[wanted] if wanted else self._client.get_default_database()
        except self._errors.PyMongoError:
            message = f"database `{name}` does not say which database of the server is meant"
            hint = "write `database: NAME` below its `uri`"
            raise mistake(self._database, message, hint) from None

    def collections(self) -> Sequence[str]:
        """Name the collections and views; those of the server itself are left out."""
        opened = self._opened()
        try:
            listed = opened.list_collection_names()
        except self._errors.PyMongoError as problem:
            raise self._failure(problem) from None
        return [str(one) for one in listed if not str(one).startswith("system.")]

    def documents(self, collection: str, condition: Condition) -> Iterator[Mapping[str, Any]]:
        """Give documents by `find`."""
        opened = self._opened()
        try:
            with opened[collection].find(
                _filter(condition), max_time_ms=self._longest, batch_size=_AT_ONCE
            ) as found:
                yield from found
        except (self._errors.PyMongoError, self._bson.BSONError) as problem:
            raise self._failure(problem) from None

    def told(self, collection: str, condition: Condition) -> str:
        """Write the call of the shell."""
        return f"db[{json.dumps(collection)}].find({json.dumps(_filter(condition))})"

    def finds(self, collection: str, field: Field) -> bool:
        """Whether `$in` finds each document with a value: texts and whole numbers at the top."""
        del collection
        return field.family in {"text", "whole"} and _at_top(field)

    def orders(self, collection: str, field: Field) -> bool:
        """Whether the server compares the numbers of a field."""
        del collection
        return _at_top(field)

    def keeps_open(self, collection: str, field: Field) -> bool:
        """Each value says of which kind it is."""
        del collection, field
        return True

    def count(self, collection: str) -> int | None:
        """Ask for the count that the server keeps."""
        try:
            return int(self._opened()[collection].estimated_document_count())
        except self._errors.PyMongoError:
            return None

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


def _at_top(field: Field) -> bool:
    return "." not in field.path and not field.path.startswith("$")


def _filter(condition: Condition) -> dict[str, Any]:
    """Write a condition; a document without a value of a range, or with several, comes along."""
    parts: list[dict[str, Any]] = []
    for keys in condition.keys:
        # Beyond 64 bits there is no whole number that a document could hold.
        values: list[Any] = [
            one for one in keys.values if isinstance(one, str) or -_LARGEST <= one < _LARGEST
        ]
        path, wanted = keys.field.path, {"$in": values}
        others = [{"$not": {"$type": list(_KINDS[keys.field.family])}}, {"$type": "array"}]
        parts.append(
            {"$or": [{path: one} for one in (wanted, *others)]} if keys.none else {path: wanted}
        )
    for bound in condition.bounds:
        path, value = bound.field.path, bound.value
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            continue
        single = {path: {"$not": {"$type": "array"}}}
        parts += [
            {"$nor": [{"$and": [{path: {one: value}}, single]}]} for one in _OUTSIDE[bound.operator]
        ]
    return {"$and": parts} if len(parts) > 1 else next(iter(parts), {})
