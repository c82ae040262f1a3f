"""A step of Python code, and what running it gives.

In: nothing. Out: frozen values. Invariants: `Run.level`, `Run.seconds`, `Run.code` and
`Run.queries` are measured outside of the sandbox; everything else comes from the step, is bounded,
and is untrusted text or typed data. Whether an error may be retried follows from its kind alone.
Example: `Code('store.put("t", pd.DataFrame({"a": [1]}))', outputs=("t",))`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from constat.store.tables_format import Table
from constat.store.tables_values import Json, Scalar

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Code:
    """What is to run. `outputs` are the names that it has to leave; others it may leave too.

    `databases` are the names of those that it may ask; the first one is also called `db`.
    """

    text: str
    inputs: Mapping[str, Table] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture that a step drew: PNG bytes."""

    name: str
    png: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A query of a step as it ran outside of the sandbox; `error` is empty where it ended well."""

    database: str
    text: str
    parameters: tuple[Parameter, ...]
    rows: int
    sha256: str
    seconds: float
    error: str = ""


@dataclass(frozen=True, slots=True)
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
