"""Read a version of a Delta or Iceberg table by the library of its format.

In: the folder of a table and the version that counts. Out: its rows as an Arrow stream. Invariants:
the version is named to the library, so that what is written meanwhile is not seen; every file that
the metadata name lies in the project, after resolving links, before one of them is opened; nothing
is fetched from elsewhere, whatever metadata say of it. Example: `load_lake(session, "orders",
table, folder, 30)`.
"""

from __future__ import annotations

import importlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from constat.catalog.connection import QueryMistakeError, SourceFailureError
from constat.catalog.file_tables import local_path
from constat.project import inside
from constat.project.files import DELTA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.catalog.duck_session import DuckSession
    from constat.catalog.file_tables import FileTable

_TABLE: Final = "t"
_READ: Final = frozenset(("timestampNtz",))
"""Features of Delta that are read; others may name files that nobody here would look at."""


def load_lake(
    session: DuckSession,
    name: str,
    table: FileTable,
    folder: Path,
    seconds: float,
    *,
    empty: bool = False,
) -> None:
    """Load a table, or its columns alone; whatever its library raises is damage."""
    pattern = table.setting.pattern
    try:
        kind = _Delta if table.setting.lake == DELTA else _Iceberg
        session.take(name, kind(table, folder, empty=empty), seconds)
    except (SourceFailureError, QueryMistakeError) as problem:
        if problem.code in {"C0521", "C0541", "C0543", "C0552"}:
            raise
        raise _damaged(pattern, "DuckDB cannot take its rows") from None
    except Exception as problem:  # noqa: BLE001  two libraries, one in Rust, without a common base
        raise _damaged(pattern, type(problem).__name__) from None


def _damaged(pattern: str, why: str) -> SourceFailureError:
    return SourceFailureError(
        f"`{pattern}` cannot be read as a table, or is damaged ({why})", "C0543"
    )


def _library(name: str, extra: str) -> Any:  # noqa: ANN401  the libraries have few types
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        reason = f"such tables need the package {package}: pip install 'constat[{extra}]'"
        raise SourceFailureError(reason, "C0552") from None


def _check_inside(locations: Iterable[str], folder: Path) -> None:
    for one in locations:
        if inside(local_path(one), folder) is None:
            raise SourceFailureError("a file of it leads out of the project", "C0541")


def _place_of(written: str, folder: Path) -> str:
    """Give where a file of a log is: within the folder of its table, or at an address.

    What the library calls the addresses of files is not where it reads them.
    """
    if ":" in written.partition("/")[0]:
        return written
    plain = unquote(written)
    if ".." in PurePosixPath(written).parts or ".." in PurePosixPath(plain).parts:
        raise SourceFailureError("a file of it leads out of its folder", "C0541")
    return str(folder / plain)


class _Delta:
    """Gives the stream of a version of a Delta table anew each time it is asked for."""

    def __init__(self, table: FileTable, folder: Path, *, empty: bool) -> None:
        library = _library("deltalake", "delta")
        self._library = library
        self._empty = empty
        self._table = library.DeltaTable(str(table.files[0]), version=int(table.version))
        others = set(self._table.protocol().reader_features or ()) - _READ
        if others:
            said = f"it uses {', '.join(sorted(others))}, which is not read"
            raise SourceFailureError(said, "C0543")
        place = Path(table.files[0])
        _check_inside(map(str, (place / "_delta_log").rglob("*")), folder)
        added = self._table.get_add_actions().column("path").to_pylist()
        _check_inside((_place_of(str(one), place) for one in added), folder)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        builder = self._library.QueryBuilder().register(_TABLE, self._table)
        found = builder.execute(f"SELECT * FROM {_TABLE}{' LIMIT 0' if self._empty else ''}")  # noqa: S608  a name of ours
        return found.__arrow_c_stream__(requested_schema)


class _Iceberg:
    """Gives the stream of a snapshot of an Iceberg table anew each time it is asked for."""

    def __init__(self, table: FileTable, folder: Path, *, empty: bool) -> None:
        library = _library("pyiceberg.table", "iceberg")
        reading = _library("pyiceberg.io.pyarrow", "iceberg")
        serializers = _library("pyiceberg.serializers", "iceberg")
        catalogs = _library("pyiceberg.catalog.noop", "iceberg")
        files = _local_files(reading.PyArrowFileIO, folder)
        place = str(table.files[0])
        metadata = serializers.FromInputFile.table_metadata(files.new_input(place))
        found = library.StaticTable(
            identifier=(_TABLE,),
            metadata=metadata,
            metadata_location=place,
            io=files,
            catalog=catalogs.NoopCatalog(_TABLE),
        )
        self._empty = empty or not table.version
        self._scan = found.scan(snapshot_id=int(table.version) if table.version else None)
        for task in () if self._empty else self._scan.plan_files():
            named = (task.file, *task.delete_files)
            _check_inside((one.file_path for one in named), folder)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._empty:
            shape = _library("pyiceberg.io.pyarrow", "iceberg").schema_to_pyarrow(
                self._scan.projection(), include_field_ids=False
            )
            return shape.empty_table().__arrow_c_stream__(requested_schema)
        return self._scan.to_arrow_batch_reader().__arrow_c_stream__(requested_schema)


def _local_files(base: Any, folder: Path) -> Any:  # noqa: ANN401  a class of the library
    """Give what opens files for the library: those of the project, and to read only.

    A table may say which class opens its files; nobody listens to that.
    """

    class LocalFiles(base):  # type: ignore[misc]  # the class of an optional library
        def new_input(self, location: str) -> Any:  # noqa: ANN401  as above
            _check_inside([location], folder)
            return super().new_input(location)

        def new_output(self, location: str) -> Any:  # noqa: ANN401  as above
            raise PermissionError(location)

        def delete(self, location: Any) -> None:  # noqa: ANN401  as above
            raise PermissionError(location)

        def _initialize_fs(self, scheme: str, netloc: str | None = None) -> Any:  # noqa: ANN401  as above
            if scheme != "file":
                said = "a file of it lies on another machine: it is not read"
                raise SourceFailureError(said, "C0541")
            return super()._initialize_fs(scheme, netloc)

    return LocalFiles()
