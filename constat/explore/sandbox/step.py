"""A step of Python code, and what it says of itself: bounded, typed, harmless to look at."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, Final

from constat.explore.sandbox.wire import WireError, pieces
from constat.frozen import frozen
from constat.store.table_forms import Table, TableError, decode
from constat.store.table_values import Json, Scalar, is_json, is_name

Parameter = int | str
Source = Callable[[str, Sequence[Parameter], float], Table]
"""Reads a database: a SELECT, its parameters, and the seconds that are left.

Raises `QueryMistakeError` for a query that cannot be right, `SourceFailureError` where the database
does not answer.
"""

LONGEST_CODE: Final = 256 << 10


class Level(Enum):
    """How a step is kept away from the machine; the value is what results and settings say."""

    BUBBLEWRAP = "bubblewrap"
    KERNEL = "landlock"
    NONE = "none"

    @property
    def strong(self) -> bool:
        """Whether code that nobody has read may run."""
        return self is not Level.NONE


class ErrorKind(Enum):
    """Why a step did not end well."""

    SYNTAX = "syntax"
    NAME = "name"
    MISSING_COLUMN = "missing column"
    MISSING_TABLE = "missing table"
    TYPE = "type"
    VALUE = "value"
    ARITHMETIC = "arithmetic"
    ATTRIBUTE = "attribute"
    QUERY = "query"
    RESULT = "result"
    OTHER = "other"
    CONNECTION = "connection"
    BLOCKED_IMPORT = "blocked import"
    BLOCKED_CALL = "blocked call"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    KILLED = "killed"
    PROTOCOL = "protocol"


RETRYABLE: Final = frozenset(
    {
        ErrorKind.SYNTAX,
        ErrorKind.NAME,
        ErrorKind.MISSING_COLUMN,
        ErrorKind.MISSING_TABLE,
        ErrorKind.TYPE,
        ErrorKind.VALUE,
        ErrorKind.ARITHMETIC,
        ErrorKind.ATTRIBUTE,
        ErrorKind.QUERY,
        ErrorKind.RESULT,
        ErrorKind.OTHER,
        ErrorKind.BLOCKED_CALL,
    }
)


@frozen
class StepError:
    """What went wrong. `line` is that of the step's text, 0 where there is none.

    `variables` are names with bounded representations, made by the step itself.
    """

    kind: ErrorKind
    message: str
    line: int = 0
    traceback: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    retry_connections: bool = False

    @property
    def retryable(self) -> bool:
        """Whether other code, or another attempt, may help."""
        if self.kind is ErrorKind.CONNECTION:
            return self.retry_connections
        return self.kind in RETRYABLE


@frozen
class StepLimits:
    """What a step may use. `seconds` of the clock include queries; `output` is its text."""

    seconds: float = 30.0
    memory: int = 1 << 30
    bytes: int = 128 << 20
    output: int = 64 << 10
    rows: int = 1_000_000
    queries: int = 1_000
    plots: int = 20
    retry_connections: bool = False


@frozen
class Code:
    """What is to run. `outputs` are the names that it has to leave; others it may leave too.

    `databases` are the names of those that it may ask; the first one is also called `db`.
    """

    text: str
    inputs: Mapping[str, Table] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()


@frozen
class Plot:
    """A picture that a step drew: PNG bytes."""

    name: str
    png: bytes = field(repr=False)


@frozen
class QueryRun:
    """A query of a step as it ran outside of the sandbox; `error` is empty where it ended well."""

    database: str
    text: str
    parameters: tuple[Parameter, ...]
    rows: int
    sha256: str
    seconds: float
    error: str = ""


@frozen
class Run:
    """What a step left. After an error tables, state and notes are empty: nothing of it counts."""

    code: str
    level: Level
    seconds: float
    tables: Mapping[str, Table] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    output: str = ""
    plots: tuple[Plot, ...] = ()
    queries: tuple[QueryRun, ...] = ()
    error: StepError | None = None


_LONGEST_TITLE: Final = 100
_LONGEST_NOTE: Final = 10_000
_LONGEST_TRACEBACK: Final = 25_000
_LONGEST_MESSAGE: Final = 2_000
_LONGEST_VALUE: Final = 1_000
_MOST_VARIABLES: Final = 40
_MOST_NAMES: Final = 1_000
_LARGEST_PICTURE: Final = 16 << 20
_WIDEST_PICTURE: Final = 10_000
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_SIZES: Final = struct.Struct(">II")
_SIZES_AT: Final = 16


class UntrustedError(ValueError):
    """What came is not what a step may say; the message quotes nothing of it."""


def safe_text(text: str, longest: int) -> str:
    """Write out what is no printable character, and cut what is too long."""
    cut = text[:longest]
    shown = cut if cut.isprintable() else "".join(map(_shown, cut))
    return shown if len(text) <= longest else f"{shown}[...]"


def _shown(letter: str) -> str:
    if letter.isprintable() or letter in "\n\t":
        return letter
    return letter.encode("unicode_escape").decode()


def read_error(told: object, *, retry_connections: bool) -> StepError:
    """Read what a step tells of its failure."""
    found = told if isinstance(told, dict) else {}
    line = found.get("line")
    return StepError(
        _kind(found.get("kind")),
        safe_text(_text(found.get("message")), _LONGEST_MESSAGE),
        line if type(line) is int and 0 <= line < 1 << 31 else 0,
        safe_text(_text(found.get("traceback")), _LONGEST_TRACEBACK),
        _variables(found.get("variables")),
        retry_connections,
    )


def _kind(told: object) -> ErrorKind:
    try:
        return ErrorKind(told)
    except ValueError:
        return ErrorKind.OTHER


def _variables(told: object) -> tuple[tuple[str, str], ...]:
    listed = told if isinstance(told, list) else []
    found = []
    for one in listed[:_MOST_VARIABLES]:
        match one:
            case [str(name), str(shown)]:
                pair = (safe_text(name, _LONGEST_TITLE), safe_text(shown, _LONGEST_VALUE))
                found.append(pair)
            case _:
                pass
    return tuple(found)


def _text(told: object) -> str:
    return told if isinstance(told, str) else ""


def read_tables(
    told: dict[str, Any], body: bytes, limits: StepLimits
) -> tuple[dict[str, Table], tuple[Plot, ...]]:
    """Read the tables and pictures of a result."""
    tables, plots = _listed(told.get("tables")), _listed(told.get("plots"))
    try:
        parts = pieces(body, [length for _, length in (*tables, *plots)])
        read = [decode(part) for part in parts[: len(tables)]]
    except (WireError, TableError) as problem:
        raise UntrustedError(str(problem)) from None
    names = [name for name, _ in tables]
    if not all(map(is_name, names)) or len(set(names)) != len(names):
        raise UntrustedError("the name of a table is not one")
    if any(table.rows > limits.rows for table in read):
        raise UntrustedError(f"a table has more than {limits.rows} rows")
    pictures = [
        _plot(name, part) for (name, _), part in zip(plots, parts[len(tables) :], strict=True)
    ]
    if len(pictures) > limits.plots:
        raise UntrustedError(f"there are more than {limits.plots} pictures")
    return dict(zip(names, read, strict=True)), tuple(pictures)


def _listed(told: object) -> list[tuple[str, int]]:
    if not isinstance(told, list) or len(told) > _MOST_NAMES:
        raise UntrustedError("the list of tables is not what was agreed")
    found = []
    for one in told:
        match one:
            case [str(name), int(length)]:
                found.append((name, length))
            case _:
                raise UntrustedError("the list of tables is not what was agreed")
    return found


def _plot(name: str, content: bytes) -> Plot:
    if not content.startswith(_PNG) or not _SIZES_AT + 8 <= len(content) <= _LARGEST_PICTURE:
        raise UntrustedError("a picture is no PNG, or too large")
    if max(_SIZES.unpack_from(content, _SIZES_AT)) > _WIDEST_PICTURE:
        raise UntrustedError("a picture is too large")
    return Plot(safe_text(name, _LONGEST_TITLE), content)


def read_state(told: object) -> dict[str, Any]:
    """Read the state variables of a result."""
    if not isinstance(told, dict) or len(told) > _MOST_NAMES or not is_json(told):
        raise UntrustedError("the state variables are not what was agreed")
    if not all(map(is_name, told)):
        raise UntrustedError("the name of a state variable is not one")
    return told


def read_notes(told: object) -> tuple[str, ...]:
    """Read the lines for the scratchpad."""
    if not isinstance(told, list) or len(told) > _MOST_NAMES:
        raise UntrustedError("the notes are not what was agreed")
    return tuple(safe_text(_text(one), _LONGEST_NOTE) for one in told)
