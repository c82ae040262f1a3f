"""Open the connection that a database of the project describes.

No message shows an address; a driver is loaded when a source of its kind is first opened. Servers
(PostgreSQL, MySQL, MariaDB, and what else has a dialect) are reached through SQLAlchemy.
`sqlite:///shop.sqlite` is a path relative to the project, `sqlite:////srv/shop.sqlite` an absolute
one; `type: files` reads CSV, Parquet and JSON lines.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

from constat.catalog.sqlite import SqliteConnection
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.project import inside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import URL, Dialect

    from constat.catalog.connection import Connection
    from constat.catalog.stores import Store
    from constat.project import Database, Project
    from constat.project.settings import Asker

_SQLITE: Final = "sqlite:///"
_DUCKDB: Final = "duckdb:///"
_LONGEST_WAIT: Final = 5.0

# No message holds any part of the address, which may be a password wherever it was mistyped.

# SQLAlchemy's names of dialects, and sqlglot's of the same SQL.
_DIALECTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bigquery": "bigquery",
        "clickhouse": "clickhouse",
        "databricks": "databricks",
        "mariadb": "mysql",
        "mssql": "tsql",
        "mysql": "mysql",
        "oracle": "oracle",
        "postgresql": "postgres",
        "redshift": "redshift",
        "snowflake": "snowflake",
        "sqlite": "sqlite",
        "trino": "trino",
    }
)
# Whose transactions, types and ways to cancel this package knows: driver, package and extra.
_KNOWN: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "postgresql": ("psycopg", "psycopg", "postgresql"),
        "mysql": ("pymysql", "PyMySQL", "mysql"),
        "mariadb": ("pymysql", "PyMySQL", "mysql"),
    }
)


_KINDS_OF_STORES: Final = (
    *("mongodb", "cosmosdb", "firestore", "redis", "valkey"),
    *("dynamodb", "elasticsearch", "opensearch", "cassandra"),
)
_NO_STORES: Final = frozenset(("sql", "sqlite", "duckdb"))
_GROUP: Final = "constat.stores"
"""The entry points of stores of others, by `type`; each makes a `Store` of setting and seconds."""


def open_connection(database: Database, folder: Path, seconds: float) -> Connection:
    """Open a database; waiting for a lock or an answer to the first word takes `seconds` at most.

    Never more than 5 seconds for a file.
    """
    idle = None if database.opened is None else database.opened.take(database)
    return _opened(database, folder, seconds) if idle is None else cast("Connection", idle)


class KeptOpen:
    """Connections to files that are idle: what was loaded for one of them is there for the next."""

    def __init__(self) -> None:
        self._idle: list[tuple[Database, Connection]] = []

    def of(self, project: Project) -> Project:
        """Give the project with its files read by these connections."""
        named = project.databases.items()
        kept = {
            name: replace(one, opened=self) if one.kind == "files" else one for name, one in named
        }
        return replace(project, databases=kept)

    def take(self, database: Database) -> Connection | None:
        """Give one to this database, and have it no more."""
        for place, (own, _) in enumerate(self._idle):
            if own == database:
                return self._idle.pop(place)[1]
        return None

    def give(self, database: Database, connection: Connection) -> None:
        """Keep one for whoever takes it next."""
        self._idle.append((database, connection))

    def close(self) -> None:
        """Close those that are idle."""
        while self._idle:
            self._idle.pop()[1].close()


def _opened(database: Database, folder: Path, seconds: float) -> Connection:
    if database.caller is not None and not _is_told(database):
        message = f"database `{database.name}` has a `caller`, which PostgreSQL alone is told"
        raise _mistake(database, message, "leave `caller` out; `rights:` hold for every source")
    if database.kind == "files":
        from constat.catalog import files  # noqa: PLC0415  loaded when it is used

        return files.connect(database, folder, seconds)
    if database.kind == "frames":
        from constat.catalog import frames  # noqa: PLC0415  loaded when it is used

        return frames.connect(database, seconds)
    if database.kind not in _NO_STORES:
        from constat.catalog import stores  # noqa: PLC0415  loaded when it is used

        return stores.StoreConnection(_store(database, seconds), database, seconds)
    uri = database.uri()
    if uri.startswith(_SQLITE):
        path = _path(uri.removeprefix(_SQLITE), database, folder)
        wait = min(seconds, _LONGEST_WAIT)
        return SqliteConnection(path, wait_seconds=wait, immutable=database.immutable)
    if uri.startswith(_DUCKDB):
        from constat.catalog import duck  # noqa: PLC0415  loaded when it is used

        return duck.connect(database, _path(uri.removeprefix(_DUCKDB), database, folder))
    return connect(database, seconds)


def _is_told(database: Database) -> bool:
    backend = database.uri().partition(":")[0].partition("+")[0]
    return database.kind == "sql" and backend == "postgresql"


def _store(database: Database, seconds: float) -> Store:
    """Make the store of a database's kind; the module of a driver is loaded for it only."""
    match database.kind:
        case "mongodb" | "cosmosdb" | "firestore":
            from constat.catalog import mongodb  # noqa: PLC0415  loaded when it is used

            return mongodb.MongoStore(database, seconds)
        case "redis" | "valkey":
            from constat.catalog import redis  # noqa: PLC0415  loaded when it is used

            return redis.RedisStore(database, seconds)
        case "dynamodb":
            from constat.catalog import dynamodb  # noqa: PLC0415  loaded when it is used

            return dynamodb.DynamoStore(database, seconds)
        case "cassandra":
            from constat.catalog import cassandra  # noqa: PLC0415  loaded when it is used

            return cassandra.CassandraStore(database, seconds)
        case "elasticsearch" | "opensearch":
            from constat.catalog import elasticsearch  # noqa: PLC0415  loaded when it is used

            return elasticsearch.SearchStore(database, seconds)
        case kind:
            return _store_of_others(database, kind, seconds)


def _store_of_others(database: Database, kind: str, seconds: float) -> Store:
    from importlib.metadata import entry_points  # noqa: PLC0415  heavy library, loaded on first use

    for entry in entry_points(group=_GROUP, name=kind):
        try:
            return cast("Store", entry.load()(database, seconds))
        except ConstatError:
            raise
        except Exception as problem:
            message = f"the store of database `{database.name}` fails ({type(problem).__name__})"
            raise _mistake(database, message, "mend the package that has it") from problem
    raise _mistake(
        database,
        f"database `{database.name}` is of a kind that this version cannot read; goals that do not"
        " ask it are not concerned",
        "leave `type` out for SQL databases, write `type: files` or the name of a store"
        f" ({', '.join(_KINDS_OF_STORES)}), or install the package that reads it",
    )


def _path(written: str, database: Database, folder: Path) -> Path:
    if not written or written.startswith(":") or "?" in written or "\0" in written:
        raise _mistake(
            database,
            f"the uri of database `{database.name}` is not the path of a file",
            "write `sqlite:///` and a path, without parameters",
        )
    # An absolute path is the configuration's explicit wish; a relative one stays inside.
    found = Path(written) if Path(written).is_absolute() else inside(written, folder)
    if found is None:
        raise _mistake(
            database,
            f"the file of database `{database.name}` lies outside the project",
            "name a file inside the project, or write its absolute path",
        )
    return found


def file_outside(database: Database, folder: Path) -> Path | None:
    """Give the file of a database where an absolute path leads out of the project's folder."""
    uri = database.uri()
    for prefix in (_SQLITE, _DUCKDB):
        written = uri.removeprefix(prefix)
        if uri.startswith(prefix) and Path(written).is_absolute():
            return None if inside(written, folder) else Path(written)
    return None


def is_local(database: Database) -> bool:
    """Whether a database is read from files of this machine."""
    if database.remote is not None:
        return False
    return bool(database.files) or (database.address.text or "").startswith((_SQLITE, _DUCKDB))


@frozen
class Target:
    """A parsed address. `backend` is SQLAlchemy's name of the dialect, `sql` is sqlglot's."""

    name: str
    backend: str
    sql: str
    url: URL = field(repr=False)
    dialect: Dialect = field(repr=False)
    asker: Asker | None = None


def sql_of(address: str) -> str:
    """Name the SQL of an address by how it begins; empty where that is not known."""
    backend = address.partition(":")[0].partition("+")[0]
    return "duckdb" if backend == "duckdb" else _DIALECTS.get(backend, "")


def store_of(address: str) -> tuple[str, str]:
    """Give the kind of store that an address is of, and the address as its driver takes it.

    `opensearch+https://host` names a store whose addresses are those of HTTP. The kind is empty
    where it is of no store.
    """
    scheme, _, rest = address.partition("://")
    kind, _, inner = scheme.lower().partition("+")
    if kind in {"redis", "rediss"} or (kind == "mongodb" and inner in {"", "srv"}):
        return "mongodb" if kind == "mongodb" else "redis", address
    if scheme.lower() == "cassandra":
        return "cassandra", address
    if kind in {"dynamodb", "elasticsearch", "opensearch"} and inner in {"http", "https"}:
        return kind, f"{inner}://{rest}"
    return "", address


def target(database: Database) -> Target:
    """Read the address of a database."""
    url = _parsed(database)
    backend = url.get_backend_name()
    if backend not in _DIALECTS:
        raise _mistake(
            database,
            f"the uri of database `{database.name}` begins with a name that is not known here",
            f"known: {', '.join(sorted(_DIALECTS))}; SQLite and DuckDB files are"
            " `sqlite:///path` and `duckdb:///path`",
        )
    if backend in _KNOWN:
        driver = _KNOWN[backend][0]
        if url.drivername not in {backend, f"{backend}+{driver}"}:
            message = f"database `{database.name}` is read through the driver {driver} only"
            raise _mistake(database, message, f"write `{backend}://`, without naming a driver")
        url = url.set(drivername=f"{backend}+{driver}")
    if backend == "sqlite":
        url = _read_only_file(database, url)
    dialect = _dialect(database, url)
    return Target(database.name, backend, _DIALECTS[backend], url, dialect, database.asker)


def _parsed(database: Database) -> URL:
    from sqlalchemy.engine import make_url  # noqa: PLC0415  heavy library, loaded on first use
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415  heavy library, loaded on first use

    text = database.uri()
    # A message of SQLAlchemy's may show the whole address: none of its text is used.
    with suppress(ArgumentError, ValueError):
        if text.isprintable():
            return make_url(text)
    message = f"the uri of database `{database.name}` is not an address of a database"
    hint = "write for example `postgresql://user:${PASSWORD}@host/name`"
    raise _mistake(database, message, hint)


def _dialect(database: Database, url: URL) -> Dialect:
    """Load the dialect and its driver."""
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  heavy library, loaded on first use

    backend = url.get_backend_name()
    try:
        if backend in _KNOWN:
            importlib.import_module(_KNOWN[backend][0])
        kind = url.get_dialect()
        dialect: Dialect = kind(dbapi=kind.import_dbapi())  # type: ignore[call-arg]  # each dialect takes it
    except ImportError:
        raise _missing(database, backend) from None
    except SQLAlchemyError:
        raise _missing(database, backend) from None
    if dialect.is_async:
        message = f"the uri of database `{database.name}` names an asynchronous driver"
        raise _mistake(database, message, f"write `{backend}://`, or a driver that waits")
    return dialect


def _read_only_file(database: Database, url: URL) -> URL:
    """Give the address of an SQLite file that is never created or written."""
    path = url.database or ""
    if not Path(path).is_absolute() or url.query or path.startswith("file:"):
        message = f"the uri of database `{database.name}` is not the absolute path of a file"
        raise _mistake(
            database, message, "write `sqlite:///path`, which is relative to the project"
        )
    return url.set(database=f"file:{quote(path)}", query={"mode": "ro", "uri": "true"})


def _missing(database: Database, backend: str) -> ConstatError:
    """Say which package to install. A dialect of its own brings no driver that is known here."""
    if backend in _KNOWN:
        _, package, extra = _KNOWN[backend]
        needs, hint = f"the package {package}", f"pip install 'constat[{extra}]'"
    else:
        needs = f"SQLAlchemy's dialect `{backend}` and its driver"
        hint = f"install the package that brings SQLAlchemy's dialect `{backend}`, and its driver"
    message = f"database `{database.name}` needs {needs}, which cannot be loaded"
    return ConstatError([Diagnostic("C0552", message, database.span, help=hint)])


def _mistake(database: Database, message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0512", message, database.span, help=hint)])


def connect(database: Database, seconds: float) -> Connection:
    """Open a connection; waiting for the server takes `seconds` at most.

    Raises `ConstatError` for an address or driver that cannot be used, `SourceFailureError` where
    the server does not let us in.
    """
    found = target(database)
    # The module of a driver is loaded only for a source that needs it.
    match found.backend:
        case "postgresql":
            from constat.catalog import postgresql  # noqa: PLC0415  loaded when it is used

            return postgresql.connect(found, seconds)
        case "mysql" | "mariadb":
            from constat.catalog import mysql  # noqa: PLC0415  loaded when it is used

            return mysql.connect(found, seconds)
        case _:
            from constat.catalog import other_database  # noqa: PLC0415  loaded when it is used

            return other_database.connect(found, seconds)
