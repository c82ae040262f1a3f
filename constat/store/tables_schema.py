"""The tables that the store of tables consists of, in the words of each database.

In: a dialect. Out: statements that create what is missing. Invariant: columns only ever get added,
under a higher `VERSION`. Example: a version of a table is a row of `constat_tables`, its content,
when it is small, one of `constat_contents`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

APPLICATION: Final = 0x434E5442  # "CNTB"
VERSION: Final = 1
SQLITE: Final = "sqlite"
DUCKDB: Final = "duckdb"
POSTGRESQL: Final = "postgresql"

_BYTES: Final = MappingProxyType({SQLITE: "BLOB", DUCKDB: "BLOB", POSTGRESQL: "BYTEA"})
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS constat_contents (
    sha256 TEXT PRIMARY KEY,
    content {bytes} NOT NULL
);
CREATE TABLE IF NOT EXISTS constat_tables (
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    step BIGINT NOT NULL,
    step_name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    row_count BIGINT NOT NULL,
    columns TEXT NOT NULL,
    size BIGINT NOT NULL,
    reference TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, name, version)
);
CREATE TABLE IF NOT EXISTS constat_state (
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    step BIGINT NOT NULL,
    value TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, name, version)
);
CREATE TABLE IF NOT EXISTS constat_notes (
    session TEXT NOT NULL,
    number BIGINT NOT NULL,
    step BIGINT NOT NULL,
    text TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, number)
);
CREATE TABLE IF NOT EXISTS constat_artifacts (
    session TEXT NOT NULL,
    number BIGINT NOT NULL,
    step BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    media TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (session, number)
)
"""


def statements(dialect: str) -> tuple[str, ...]:
    """Give the statements of a dialect, each for itself."""
    return tuple(one.strip() for one in _SCHEMA.format(bytes=_BYTES[dialect]).split(";"))
