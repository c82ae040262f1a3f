"""Open the connection that a database of the project describes.

In: a `Database` and the project's folder. Out: a `Connection`. Raises `ConstatError` for what the
configuration says wrongly, `SourceFailureError` where the source is not there. Invariant: no
message shows an address. Example: `sqlite:///shop.sqlite` is a path relative to the project,
`sqlite:////srv/shop.sqlite` an absolute one.
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
_LONGEST_WAIT: Final = 5.0


def open_connection(database: Database, folder: Path, seconds: float) -> Connection:
    """Open a database; waiting for a lock takes at most `seconds`, and never more than 5."""
    uri = database.uri()
    if database.kind not in {"sql", "sqlite"} or not uri.startswith(_SQLITE):
        raise _mistake(
            database,
            f"database `{database.name}` is of a kind that this version cannot read",
            "use an SQLite file: `uri: sqlite:///data/shop.sqlite`",
        )
    path = _path(uri.removeprefix(_SQLITE), database, folder)
    wait = min(seconds, _LONGEST_WAIT)
    return SqliteConnection(path, wait_seconds=wait, immutable=database.immutable)


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


def _mistake(database: Database, message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0512", message, database.span, help=hint)])
