"""Read Cassandra, and servers that speak its protocol, as a store of documents.

In: `cassandra://user:password@host:9042/keyspace`. Out: the rows of a table, page by page. Where a
table's partition key is one column, rows are asked for by its values, which are parameters of a
prepared statement. `_id` is the primary key; where that has several columns, all of them as JSON.
Reference: https://cassandra.apache.org/doc/latest/cassandra/developing/cql
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from constat.catalog.connection import SourceFailureError
from constat.catalog.stores import Pages, Store, driver, mistake, patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.catalog.stores import Condition, Field, Keys
    from constat.project import Database

_PORT: Final = 9042
_PAGE: Final = 1_000
_LONGEST_KEY: Final = 65_535
_FAMILIES: Final[Mapping[str, tuple[str, int]]] = MappingProxyType(
    {
        "text": ("text", 0),
        "varchar": ("text", 0),
        "ascii": ("text", 0),
        "bigint": ("whole", 63),
        "int": ("whole", 31),
    }
)
_COLUMNS: Final = (
    "SELECT table_name, column_name, kind, position, type FROM system_schema.columns"
    " WHERE keyspace_name = %s"
)
_PLAIN: Final = (type(None), bool, int, float, str, bytes, Decimal, datetime)


class CassandraStore(Store):
    """The tables of a keyspace. It was tried with no server: `tried` is not set."""

    most_keys = 100
    most_asked = 5_000

    def __init__(self, database: Database, seconds: float) -> None:
        super().__init__()
        self._database = database
        self._longest = seconds
        self._driver: Any = driver(database, "cassandra", "cassandra-driver", "cassandra")
        self._clusters: Any = driver(database, "cassandra.cluster", "cassandra-driver", "cassandra")
        self._queries: Any = driver(database, "cassandra.query", "cassandra-driver", "cassandra")
        self._auth: Any = driver(database, "cassandra.auth", "cassandra-driver", "cassandra")
        # The driver would tell standard error where it connects to.
        logging.getLogger("cassandra").addHandler(logging.NullHandler())
        self._cluster: Any = None
        self._session: Any = None
        self._columns: dict[str, list[dict[str, Any]]] = {}
        try:
            parts = urlsplit(database.uri())
            self._host, self._port = parts.hostname or "", parts.port or _PORT
            self._account = (unquote(parts.username or ""), unquote(parts.password or ""))
            self._space = database.options.get("database") or unquote(parts.path.strip("/"))
            known = parts.scheme == "cassandra" and bool(self._host and self._space)
        except ValueError:
            known = False
        if not known:
            message = f"the uri of database `{database.name}` is not an address of Cassandra"
            hint = "write for example `cassandra://reader:${PASSWORD}@host:9042/keyspace`"
            raise mistake(database, message, hint)

    def _opened(self) -> Any:  # noqa: ANN401  the driver is loaded on first use
        if self._session is None:
            clusters, wait = self._clusters, patience(self._longest)
            profile = clusters.ExecutionProfile(
                request_timeout=self._longest, row_factory=self._queries.dict_factory
            )
            name, password = self._account
            signed = self._auth.PlainTextAuthProvider(name, password) if name else None
            self._cluster = clusters.Cluster(
                [self._host],
                port=self._port,
                auth_provider=signed,
                connect_timeout=wait,
                control_connection_timeout=wait,
                execution_profiles={clusters.EXEC_PROFILE_DEFAULT: profile},
                schema_metadata_enabled=False,
                token_metadata_enabled=False,
            )
            self._session = self._cluster.connect()
        return self._session

    def _rows(self, statement: object, values: Sequence[object] = ()) -> Iterator[dict[str, Any]]:
        """Give the rows of a statement; each page is asked for when it is needed."""
        self.check()
        pages = Pages(self)
        try:
            # The driver itself would follow empty pages until its stack is full.
            found = self._opened().execute(statement, values or None)
            while True:
                yield from found.current_rows
                if not found.has_more_pages:
                    return
                pages.follow(found.paging_state)
                found.fetch_next_page()
        except SourceFailureError:
            raise
        except Exception as problem:  # noqa: BLE001  a driver's own, or one of a reactor's
            raise self._failure(problem) from None

    def _failure(self, problem: Exception) -> SourceFailureError:
        causes = getattr(problem, "errors", None)
        inner = list(causes.values()) if isinstance(causes, dict) else []
        refused = (self._driver.AuthenticationFailed, self._driver.Unauthorized)
        if any(isinstance(one, refused) for one in (problem, *inner)):
            return SourceFailureError("the server does not let us in")
        if isinstance(problem, self._clusters.NoHostAvailable | OSError | self._driver.Timeout):
            return SourceFailureError("the server does not answer")
        return SourceFailureError(f"the server cannot answer ({type(problem).__name__})")

    def collections(self) -> Sequence[str]:
        """Name the tables of the keyspace."""
        self._columns = {}
        for one in self._rows(_COLUMNS, [self._space]):
            self._columns.setdefault(str(one["table_name"]), []).append(one)
        return list(self._columns)

    def _key(self, table: str, kinds: AbstractSet[str]) -> list[tuple[str, str]]:
        """Give the columns of a kind of key in their order, with their types."""
        order = {"partition_key": 0, "clustering": 1}
        found = [one for one in self._columns.get(table, ()) if one["kind"] in kinds]
        found.sort(key=lambda one: (order[one["kind"]], one["position"]))
        return [(str(one["column_name"]), str(one["type"])) for one in found]

    def documents(self, collection: str, condition: Condition) -> Iterator[Mapping[str, Any]]:
        """Give rows as objects."""
        names = [name for name, _ in self._key(collection, {"partition_key", "clustering"})]
        for row in self._chosen(collection, condition):
            plain = {str(name): _value(one) for name, one in row.items()}
            own = [plain.get(name) for name in names]
            own_id = own[0] if len(own) == 1 else json.dumps(own, default=str)
            if plain.setdefault("_id", own_id) != own_id:
                reason = f"the collection {collection} has a column `_id` that is not its key"
                raise SourceFailureError(reason, "C0541")
            yield plain

    def _chosen(self, table: str, condition: Condition) -> Iterator[dict[str, Any]]:
        statement = f"SELECT * FROM {_quoted(self._space)}.{_quoted(table)}"  # noqa: S608  quoted
        if not condition.keys:
            yield from self._rows(self._queries.SimpleStatement(statement, fetch_size=_PAGE))
            return
        ((name, kind),) = self._key(table, {"partition_key"})
        try:
            prepared = self._opened().prepare(f"{statement} WHERE {_quoted(name)} = ?")
        except Exception as problem:  # noqa: BLE001  a driver's own, or one of a reactor's
            raise self._failure(problem) from None
        prepared.fetch_size = _PAGE
        for value in _sendable(kind, condition.keys[0]):
            yield from self._rows(prepared, [value])

    def told(self, collection: str, condition: Condition) -> str:
        """Write the statement, with the values that are sent for its parameter."""
        statement = f"SELECT * FROM {_quoted(self._space)}.{_quoted(collection)}"  # noqa: S608  quoted
        if not condition.keys:
            return statement
        ((name, kind),) = self._key(collection, {"partition_key"})
        values = json.dumps(_sendable(kind, condition.keys[0]), ensure_ascii=False)
        return f"{statement} WHERE {_quoted(name)} = ?, for each of {values}"

    def finds(self, collection: str, field: Field) -> bool:
        """Whether a field is the whole partition key, or `_id` where that is the primary key."""
        partition = self._key(collection, {"partition_key"})
        if len(partition) != 1:
            return False
        single = not self._key(collection, {"clustering"})
        ((name, kind),) = partition
        known = _FAMILIES.get(kind, ("", 0))[0] == field.family
        return known and field.path in ({name, "_id"} if single else {name})

    def keeps_open(self, collection: str, field: Field) -> bool:
        """A key always has a value."""
        del collection, field
        return True

    def close(self) -> None:
        """End the connections."""
        cluster, self._cluster, self._session = self._cluster, None, None
        if cluster is not None:
            cluster.shutdown()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sendable(kind: str, keys: Keys) -> list[str | int]:
    """Give the values that a column of the type can have."""
    family, bits = _FAMILIES[kind]
    if family == "whole":
        return [one for one in keys.values if -(1 << bits) <= int(one) < (1 << bits)]
    texts = [str(one) for one in keys.values if kind != "ascii" or str(one).isascii()]
    return [one for one in texts if 0 < len(one.encode()) <= _LONGEST_KEY]


def _value(value: Any) -> Any:  # noqa: ANN401  what a driver gives
    """Make lists and objects of the driver's own; what else it has is spelled as text."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        return {str(name): _value(one) for name, one in value.items()}
    if hasattr(value, "_asdict"):
        return {str(name): _value(one) for name, one in value._asdict().items()}
    if isinstance(value, AbstractSet) or type(value).__name__ == "SortedSet":
        return sorted((_value(one) for one in value), key=repr)
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    return str(value)
