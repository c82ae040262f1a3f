"""Open the connection that a database of the project describes.

In: a `Database` and the project's folder. Out: a `Connection`. Raises `ConstatError` for what the
configuration says wrongly, `SourceFailureError` where the source is not there. Invariants: no
message shows an address; a driver is loaded when a source of its kind is first opened. Example:
`sqlite:///shop.sqlite` is a path relative to the project, `sqlite:////srv/shop.sqlite` an absolute
one; `type: files` reads CSV, Parquet and JSON lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.catalog.sqlite import SqliteConnection
from constat.diagnostics import ConstatError, Diagnostic
from constat.project import inside

if TYPE_CHECKING:
    from constat.catalog.connection import Connection
    from constat.project import Database

_SQLITE: Final = "sqlite:///"
_DUCKDB: Final = "duckdb:///"
_LONGEST_WAIT: Final = 5.0


def open_connection(database: Database, folder: Path, seconds: float) -> Connection:
    """Open a database; waiting for a lock or an answer to the first word takes `seconds` at most.

    Never more than 5 seconds for a file.
    """
    if database.kind == "files":
        from constat.catalog import files  # noqa: PLC0415  loaded when it is used

        return files.connect(database, folder, seconds)
    uri = database.uri()
    if database.kind not in {"sql", "sqlite", "duckdb"}:
        raise _mistake(
            database,
            f"database `{database.name}` is of a kind that this version cannot read",
            "leave `type` out for SQL databases, or write `type: files`",
        )
    if uri.startswith(_SQLITE):
        path = _path(uri.removeprefix(_SQLITE), database, folder)
        wait = min(seconds, _LONGEST_WAIT)
        return SqliteConnection(path, wait_seconds=wait, immutable=database.immutable)
    if uri.startswith(_DUCKDB):
        from constat.catalog import duck  # noqa: PLC0415  loaded when it is used

        return duck.connect(database, _path(uri.removeprefix(_DUCKDB), database, folder))
    from constat.catalog import drivers  # noqa: PLC0415  loaded when it is used

    return drivers.connect(database, seconds)


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


def _mistake(database: Database, message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0512", message, database.span, help=hint)])
