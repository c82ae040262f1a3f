"""The store of tables: what the steps of a session leave, and the only thing that they share.

In: what a step leaves, as a whole. Out: tables, state variables, notes and artifacts, each with the
step that made it, its version and its hash. Invariants: what a step leaves is kept as a whole or
not at all, and survives a crash once `commit` has returned; a version is never changed, so that
what an earlier step read can be read again (`at=step`); an empty table is a version like any other.
Two programs may commit at once. Example:
`DataStore(state, "s1").commit(StepResult(1, tables={"sales": table}))`.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store import clock
from constat.store.tables_backends import StoreFailureError, backend_at
from constat.store.tables_checking import check_result, json_text, next_numbers
from constat.store.tables_files import DEFAULT_ADDRESS, adding
from constat.store.tables_format import Table, TableError, decode, encode
from constat.store.tables_parquet import read_parquet
from constat.store.tables_values import (
    Artifact,
    Json,
    Kept,
    Note,
    StepResult,
    StoredState,
    StoredTable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.store.tables_backends import Rows, Transaction
    from constat.store.tables_files import Adding

FOLDER: Final = "explored"
INLINE_BYTES: Final = 1 << 20
_TABLE: Final = (
    "SELECT name, version, step, step_name, sha256, row_count, columns, size, reference, kept_at"
    " FROM constat_tables"
)
_ARTIFACT: Final = (
    "SELECT number, step, attempt, kind, name, media, sha256, size, kept_at FROM constat_artifacts"
)
_NO_LIMIT: Final = (1 << 62) - 1


class DataStore:
    """What one session keeps. Reading creates nothing.

    `folder` is that of the project's state. `address` says where the tables lie when it is not a
    file of SQLite in that folder: `duckdb:///FILE` or `postgresql://...`. Tables above
    `inline_bytes` become Parquet files in the folder, by reference.
    """

    def __init__(
        self,
        folder: Path,
        session: str,
        *,
        address: str = "",
        inline_bytes: int = INLINE_BYTES,
    ) -> None:
        self.session = session
        self.folder = folder / FOLDER
        self._inline = inline_bytes
        self._address = address or DEFAULT_ADDRESS
        with _failures("opened"):
            self._backend = backend_at(self._address, self.folder)

    def commit(self, result: StepResult) -> Kept:
        """Keep what a step leaves, as a whole. Raises `ConstatError`; then nothing was kept."""
        check_result(result)
        with _failures("written"), adding(self.folder, self._address, self._files) as files:
            # Files first: a file without a row is waste, a row without a file would be a loss.
            kept = {name: self._content(table, files) for name, table in result.tables.items()}
            now = clock.now()
            with self._backend.writing() as transaction:
                return Kept(
                    self._keep_tables(transaction, result, kept, now),
                    self._keep_state(transaction, result, now),
                    self._keep_notes(transaction, result, now),
                    self._keep_artifacts(transaction, result, now),
                )

    def tables(self, *, at: int | None = None, history: bool = False) -> tuple[StoredTable, ...]:
        """Give the latest version of each table, by name; as of the end of step `at`, or all."""
        found = self._read(
            f"{_TABLE} WHERE session = ? AND step <= ? ORDER BY name, version",
            (self.session, _NO_LIMIT if at is None else at),
        )
        listed = tuple(map(_stored_table, found))
        return listed if history else tuple({one.name: one for one in listed}.values())

    def stored(
        self, name: str, *, version: int | None = None, at: int | None = None
    ) -> StoredTable | None:
        """Give what is known of a table: its latest version, that of a step, or a given one."""
        for one in reversed(self.tables(at=at, history=True)):
            if one.name == name and version in {None, one.version}:
                return one
        return None

    def table(self, name: str, *, version: int | None = None, at: int | None = None) -> Table:
        """Read a table. Raises `ConstatError` where there is none, or its content is damaged."""
        found = self.stored(name, version=version, at=at)
        if found is None:
            names = ", ".join(one.name for one in self.tables(at=at)) or "none"
            message = "there is no such table in this session"
            raise ConstatError([Diagnostic("C0916", message, note=f"there are: {names}")])
        with _failures("read"):
            if found.reference:
                path = self.folder / found.reference
                return read_parquet(path, found.columns, found.sha256)
            content = self._blob(found.sha256)
            return decode(content)

    def path(self, stored: StoredTable) -> Path | None:
        """Give the Parquet file of a large table; `None` where it lies in the database."""
        return self.folder / stored.reference if stored.reference else None

    def state(self, *, at: int | None = None) -> dict[str, Json]:
        """Give the state variables, as of the end of step `at` or now."""
        return {one.name: one.value for one in self.state_history(at=at)}

    def state_history(self, *, at: int | None = None) -> tuple[StoredState, ...]:
        """Give every version of every state variable, by name."""
        found = self._read(
            "SELECT name, version, step, value, kept_at FROM constat_state"
            " WHERE session = ? AND step <= ? ORDER BY name, version",
            (self.session, _NO_LIMIT if at is None else at),
        )
        return tuple(
            StoredState(name, int(version), int(step), json.loads(value), when)
            for name, version, step, value, when in found
        )

    def notes(self) -> tuple[Note, ...]:
        """Give the scratchpad."""
        found = self._read(
            "SELECT number, step, text, kept_at FROM constat_notes WHERE session = ?"
            " ORDER BY number",
            (self.session,),
        )
        return tuple(
            Note(int(number), int(step), json.loads(text), when)
            for number, step, text, when in found
        )

    def artifacts(
        self, *, step: int | None = None, kind: str | None = None
    ) -> tuple[Artifact, ...]:
        """Give the artifacts in the order in which they were kept."""
        found = self._read(f"{_ARTIFACT} WHERE session = ? ORDER BY number", (self.session,))
        listed = (Artifact(*row) for row in found)
        return tuple(one for one in listed if step in {None, one.step} and kind in {None, one.kind})

    def content(self, artifact: Artifact) -> bytes:
        """Read an artifact."""
        with _failures("read"):
            return self._blob(artifact.sha256)

    def last_step(self) -> int:
        """Give the highest number of a step that left anything; 0 before the first."""
        highest = 0
        for name in ("tables", "state", "notes", "artifacts"):
            statement = f"SELECT max(step) FROM constat_{name} WHERE session = ?"  # noqa: S608  our names
            for (step,) in self._read(statement, (self.session,)):
                highest = max(highest, step or 0)
        return highest

    def _read(self, statement: str, parameters: tuple[object, ...]) -> Rows:
        if not self._backend.exists():
            return []
        with _failures("read"), self._backend.reading() as transaction:
            return transaction.rows(statement, parameters)

    def _blob(self, sha256: str) -> bytes:
        statement = "SELECT content FROM constat_contents WHERE sha256 = ?"
        with self._backend.reading() as transaction:
            found = transaction.rows(statement, (sha256,))
        content = bytes(found[0][0]) if found else b""
        if hashlib.sha256(content).hexdigest() != sha256:
            raise TableError("a content has another hash than it was kept with")
        return content

    def _files(self) -> frozenset[str]:
        """Name the files of all sessions."""
        statement = "SELECT DISTINCT reference FROM constat_tables WHERE reference <> ''"
        return frozenset(str(name) for (name,) in self._read(statement, ()))

    def _content(self, table: Table, files: Adding) -> tuple[str, str, bytes]:
        """Give the hash of a table, its file or nothing, and its bytes or none."""
        content = encode(table)
        sha256 = hashlib.sha256(content).hexdigest()
        if len(content) <= self._inline or not table.columns:
            return sha256, "", content
        return sha256, files.write(table, sha256), b""

    def _keep_tables(
        self,
        transaction: Transaction,
        result: StepResult,
        kept: dict[str, tuple[str, str, bytes]],
        now: str,
    ) -> tuple[StoredTable, ...]:
        versions = next_numbers(transaction, "constat_tables", self.session)
        made = []
        for name, table in result.tables.items():
            sha256, reference, content = kept[name]
            columns = tuple(zip(table.names, table.kinds, strict=True))
            one = StoredTable(
                *(name, versions(name), result.step, result.name, sha256, table.rows),
                *(columns, table.size, reference, now),
            )
            if not reference:
                _keep_content(transaction, sha256, content)
            transaction.rows(
                f"INSERT INTO constat_tables VALUES ({', '.join('?' * 11)})",  # noqa: S608  marks
                (
                    *(self.session, name, one.version, one.step, one.step_name, sha256, one.rows),
                    *(json_text(list(map(list, columns))), one.size, reference, now),
                ),
            )
            made.append(one)
        return tuple(made)

    def _keep_state(
        self, transaction: Transaction, result: StepResult, now: str
    ) -> tuple[StoredState, ...]:
        versions = next_numbers(transaction, "constat_state", self.session)
        made = []
        for name, value in result.state.items():
            one = StoredState(name, versions(name), result.step, value, now)
            transaction.rows(
                "INSERT INTO constat_state VALUES (?, ?, ?, ?, ?, ?)",
                (self.session, name, one.version, one.step, json_text(value), now),
            )
            made.append(one)
        return tuple(made)

    def _keep_notes(
        self, transaction: Transaction, result: StepResult, now: str
    ) -> tuple[Note, ...]:
        first = _count(transaction, "constat_notes", self.session) + 1
        made = tuple(
            Note(first + place, result.step, text, now) for place, text in enumerate(result.notes)
        )
        for one in made:
            transaction.rows(
                "INSERT INTO constat_notes VALUES (?, ?, ?, ?, ?)",
                (self.session, one.number, one.step, json_text(one.text), now),
            )
        return made

    def _keep_artifacts(
        self, transaction: Transaction, result: StepResult, now: str
    ) -> tuple[Artifact, ...]:
        first = _count(transaction, "constat_artifacts", self.session) + 1
        made = []
        for place, new in enumerate(result.artifacts):
            sha256 = hashlib.sha256(new.content).hexdigest()
            one = Artifact(
                *(first + place, result.step, new.attempt, new.kind, new.name, new.media),
                *(sha256, len(new.content), now),
            )
            _keep_content(transaction, sha256, new.content)
            transaction.rows(
                f"INSERT INTO constat_artifacts VALUES ({', '.join('?' * 10)})",  # noqa: S608  marks
                (
                    *(self.session, one.number, one.step, one.attempt, one.kind, one.name),
                    *(one.media, one.sha256, one.size, now),
                ),
            )
            made.append(one)
        return tuple(made)


def _keep_content(transaction: Transaction, sha256: str, content: bytes) -> None:
    transaction.rows(
        "INSERT INTO constat_contents VALUES (?, ?) ON CONFLICT DO NOTHING", (sha256, content)
    )


def _count(transaction: Transaction, table: str, session: str) -> int:
    statement = f"SELECT count(*) FROM {table} WHERE session = ?"  # noqa: S608  our names
    return int(transaction.rows(statement, (session,))[0][0])


def _stored_table(row: tuple[Any, ...]) -> StoredTable:
    name, version, step, step_name, sha256, rows, columns, size, reference, when = row
    listed = tuple((str(column), str(kind)) for column, kind in json.loads(columns))
    return StoredTable(name, version, step, step_name, sha256, rows, listed, size, reference, when)


@contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except StoreFailureError as problem:
        reason = problem.reason
    except TableError as problem:
        reason = str(problem)
    except OSError as problem:
        reason = problem.strerror or str(problem) or type(problem).__name__
    else:
        return
    message = f"the store of tables cannot be {what}: {reason}"
    raise ConstatError([Diagnostic("C0915", message, note="nothing was changed or deleted")])
