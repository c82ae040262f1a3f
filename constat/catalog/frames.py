"""Read frames of a running program: pandas, Polars, Arrow and DuckDB relations.

In: objects by the names of the relations they hold. Out: batches of raw rows. Invariants: a frame
is referred to, looked at in each evaluation, and read again where its content is another one; what
is read is a copy, so that a state is one even if the program writes to the frame meanwhile; the
state is named by the content. A cell that pandas calls missing (NaN among floats) is NULL; NaN of
another library is no value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from constat.catalog.connection import (
    QueryMistakeError,
    SourceColumn,
    SourceFailureError,
    SourceTable,
)
from constat.catalog.duck_queries import CopiedReading
from constat.catalog.duck_session import DuckSession, named
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.project import Database
    from constat.project.settings import Frame

Family = Literal["text", "integer", "float", "decimal", "truth", "date", "time", "null", "other"]

_CODE: Final = "C0514"
_SECONDS: Final = 60.0
OBJECTS: Final = "OBJECT"
"""The type of a column of Python objects that are not of one type."""

_OF_FAMILIES: Final[tuple[tuple[Family, tuple[str, ...]], ...]] = (
    ("text", ("varchar", "enum", "uuid")),
    ("integer", ("tinyint", "smallint", "integer", "bigint", "hugeint")),
    ("integer", ("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint")),
    ("float", ("float", "double")),
    ("time", ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns")),
    ("time", ("timestamp with time zone",)),
    ("date", ("date",)),
    ("truth", ("boolean",)),
    ("decimal", ("decimal",)),
)
_FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {name: family for family, names in _OF_FAMILIES for name in names}
)
_PYTHON: Final[tuple[tuple[Family, tuple[type, ...]], ...]] = (
    ("text", (str,)),
    ("truth", (bool,)),
    ("integer", (Integral,)),
    ("float", (Real,)),
    ("decimal", (Decimal,)),
    ("time", (datetime,)),
    ("date", (date,)),
)
_NUMBERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})


def describe_frame(name: str, frame: object) -> dict[str, str]:
    """Give the columns of a frame with their types as DuckDB writes them; raises `ConstatError`.

    A column that cannot be read exactly is one of objects, which no relation can have.
    """
    _check_form(name, frame)
    columns = _names(name, frame)
    families = _object_families(frame, columns)
    readable = [one for one in columns if families.get(one, "null") is not None]
    session = DuckSession(None)
    try:
        found = _written(session, frame, readable)
        # Without columns to read there is nothing to ask.
        written = dict.fromkeys(columns, OBJECTS) | found
    finally:
        session.close()
    for column, wanted in families.items():
        if wanted not in {"null", family(written[column])}:
            written[column] = OBJECTS
    return written


def _check_form(name: str, frame: object) -> None:
    """Refuse what is no frame; raises `ConstatError`."""
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__qualname__}"
    if hasattr(frame, "read_next_batch"):
        hint = f"read it into a table first: `{name}.read_all()`"
        raise mistake(f"`{name}` can be read only once", hint)
    if hasattr(frame, "to_frame"):
        hint = f"make a frame of it: `{name}.to_frame()`"
        raise mistake(f"`{name}` is of type {kind}, which is one column", hint)
    if not is_pandas(frame) and not hasattr(frame, "__arrow_c_stream__"):
        hint = "give a frame of pandas or Polars, a table of Arrow, or a relation of DuckDB"
        if hasattr(frame, "collect"):
            hint = f"collect it first: `{name}.collect()`"
        raise mistake(f"`{name}` is of type {kind}, which is no frame", hint)


def _written(session: DuckSession, frame: object, columns: Sequence[str]) -> dict[str, str]:
    """Give the types of the columns that DuckDB can read: one that it cannot hides no other."""
    try:
        found = session.frame_columns(exact(frame, columns), columns, _SECONDS)
    except (SourceFailureError, QueryMistakeError):
        if len(columns) < 2:  # noqa: PLR2004  nothing to try one by one
            return {}
        alone = (_written(session, frame, [one]) for one in columns)
        return {name: written for one in alone for name, written in one.items()}
    return {column.name: column.written for column in found}


def read_columns(frame: Frame) -> tuple[str, ...]:
    """Name the columns of a frame that a relation can have: these are its content."""
    return tuple(name for name, written in frame.columns.items() if kind_of(written) is not None)


def mistake(message: str, hint: str) -> ConstatError:
    """Give the error of a frame that cannot be a relation."""
    return ConstatError([Diagnostic(_CODE, f"the frame {message}", help=hint)])


def is_pandas(frame: object) -> bool:
    """Whether a frame is one of pandas, whose streams would need a further package."""
    return type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "dtypes")


def _names(name: str, frame: object) -> tuple[str, ...]:
    """Give the names of the columns where a look at them is free; no two differ in case only."""
    listed: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())
    found = tuple(listed)
    for one in found:
        if not isinstance(one, str):
            hint = f"name its columns: `{name}.columns = [...]`"
            raise mistake(f"`{name}` has a column {one!r}, whose name is no text", hint)
    lowered = sorted(one.lower() for one in found)
    for one, other in pairwise(lowered):
        if one == other:
            hint = "rename one of them"
            raise mistake(f"`{name}` has two columns `{one}`, or one in another case", hint)
    return found


def _object_families(frame: object, columns: Sequence[str]) -> dict[str, Family | None]:
    """Give what the Python objects in columns of pandas are; nothing where they are of many types.

    DuckDB guesses a type for them: a guess of another family would change values.
    """
    return {
        column: _family_of(values)
        for column, values in _series(frame, columns)
        if values.dtype == "object"
    }


def _series(frame: object, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
    pandas_frame: Any = frame
    if is_pandas(frame):
        yield from ((column, pandas_frame[column]) for column in columns)


def _family_of(values: Any) -> Family | None:  # noqa: ANN401  a series of pandas
    given = values[values.notna()]
    types = set(map(type, given))
    families = {next((f for f, t in _PYTHON if issubclass(one, t)), None) for one in types}
    if len(families) > 1:
        return None
    if any(hasattr(one, "nanosecond") for one in types) and any(
        getattr(one, "nanosecond", 0) for one in given
    ):
        # They would be cut off.
        return None
    return families.pop() if families else "null"


def exact(frame: object, columns: Sequence[str]) -> object:
    """Give a frame in the form in which DuckDB reads these columns exactly.

    Whole numbers of a category of pandas would be read as floats where a cell is missing, and
    decimals where one is NaN, which pandas calls missing.
    """
    given: Any = frame
    library = type(frame).__module__.partition(".")[0]
    if library in {"polars", "pyarrow"}:
        chosen = given.select(list(columns))
        return _without_untyped(chosen) if library == "polars" else chosen
    if not is_pandas(frame):
        return frame
    changed: dict[str, Any] = {}
    for column, values in _series(frame, columns):
        if values.dtype == "category" and values.cat.categories.dtype.kind in "iu":
            changed[column] = _uncategorised(values)
        elif values.dtype == "object" and values.isna().any():
            changed[column] = values.where(values.notna(), None)
    chosen = given if len(columns) == given.shape[1] else given[list(columns)]
    return chosen.assign(**changed) if changed else chosen


def _without_untyped(frame: Any) -> object:  # noqa: ANN401  a frame of Polars
    """Give columns without a type the type of texts: DuckDB cannot read theirs."""
    import polars as pl  # noqa: PLC0415  heavy library, loaded on first use

    return frame.cast({pl.Null: pl.String})


def _uncategorised(values: Any) -> object:  # noqa: ANN401  a series of pandas
    """Give the whole numbers of a category; pandas itself would take them for floats."""
    import pandas as pd  # noqa: PLC0415  heavy library, loaded on first use

    categories = values.cat.categories
    kept: Any = pd.array(categories, dtype="UInt64" if categories.dtype.kind == "u" else "Int64")
    return kept.take(values.cat.codes.to_numpy(), allow_fill=True)


def family(written: str) -> Family:
    """Give what the values of a column are, by its type as DuckDB writes it."""
    plain = written != "JSON" and "[" not in written
    return _FAMILIES.get(written.lower().partition("(")[0], "other") if plain else "other"


def kind_of(written: str) -> Kind | None:
    """Give the kind that a column of this type is declared with; nothing where none fits."""
    match family(written):
        case "text":
            return Kind.SYMBOL
        case "integer":
            return Kind.UNSIGNED if written in {"UBIGINT", "UHUGEINT"} else Kind.NUMBER
        case "float":
            return Kind.FLOAT
        case "decimal":
            return Kind.DECIMAL
        case "truth":
            return Kind.BOOL
        case "date":
            return Kind.DATE
        case "time":
            return Kind.TIMESTAMP
    return None


def fits(written: str, kind: Kind) -> bool:
    """Whether a column of this type can hold values of a kind; each cell is still looked at."""
    match family(written):
        case "text":
            return True
        case "integer":
            return kind in _NUMBERS | {Kind.BOOL}
        case "float" | "decimal":
            return kind in _NUMBERS
        case "truth":
            return kind is Kind.BOOL
        case "date":
            return kind is Kind.DATE
        case "time":
            return kind in {Kind.DATE, Kind.TIMESTAMP}
    return False


def check_columns(
    name: str, frame: Frame, declared: Mapping[str, Kind], diagnostics: list[Diagnostic]
) -> None:
    """Report the declared columns that a frame has not, or has with values of another kind."""
    for column, kind in declared.items():
        written = frame.columns.get(column)
        if written is None:
            message = f"the frame `{name}` has no column `{column}`, which `.decl {name}` names"
            near = nearest(column, sorted(frame.columns))
            hint = f"rename its column `{near}`" if near else f"it has {_listed(frame.columns)}"
        elif not fits(written, kind):
            message = (
                f"the column `{column}` of the frame `{name}` is {written}, declared {kind.value}"
            )
            suited = kind_of(written)
            hint = f"convert the column, or declare `{column}: {suited.value}`" if suited else ""
            hint = hint or "convert the column to numbers, texts or times"
        else:
            continue
        diagnostics.append(Diagnostic(_CODE, message, help=hint))


def _listed(columns: Mapping[str, str], most: int = 12) -> str:
    shown = ", ".join(f"`{one}`" for one in list(columns)[:most])
    return f"{shown} and {len(columns) - most} more" if len(columns) > most else shown or "none"


def connect(database: Database, seconds: float) -> FramesConnection:
    """Give a connection; the frames are read when reading begins."""
    return FramesConnection(database.frames, seconds)


class FramesConnection(CopiedReading):
    """Frames as tables; implements `Connection`. Reading one takes `seconds` at most."""

    def __init__(self, frames: Mapping[str, Frame], seconds: float) -> None:
        super().__init__()
        self._frames = frames
        self._seconds = seconds
        self._marks: dict[str, tuple[object, ...]] = {}

    def _start(self) -> None:
        self._session = DuckSession(None)
        try:
            contents = sorted((name, self._taken(name, one)) for name, one in self._frames.items())
        except (SourceFailureError, QueryMistakeError) as problem:
            self.close()
            raise SourceFailureError(problem.reason, problem.code) from None
        self.snapshot = f"content {contents[0][1]}" if len(contents) == 1 else _joined(contents)

    def tables(self) -> Mapping[str, SourceTable]:
        """Give the frames."""
        return {
            name.lower(): SourceTable(
                name,
                tuple(SourceColumn(c, w, never_null=False) for c, w in one.columns.items()),
                plain=True,
            )
            for name, one in self._frames.items()
        }

    def _same(self) -> bool:
        """Compare what is there with what was read."""
        try:
            return all(
                self._fits(one) and self._mark(one) == self._marks[name]
                for name, one in self._frames.items()
            )
        except (SourceFailureError, QueryMistakeError):
            return False

    def _mark(self, frame: Frame) -> tuple[object, ...]:
        columns = read_columns(frame)
        return self._reading().frame_mark(exact(frame.value, columns), columns, self._seconds)

    @staticmethod
    def _fits(frame: Frame) -> bool:
        """Whether columns of Python objects hold what they held when the session began."""
        families = _object_families(frame.value, read_columns(frame))
        return all(one in {"null", family(frame.columns[c])} for c, one in families.items())

    def _taken(self, name: str, frame: Frame) -> str:
        """Copy a frame, and give the hash of its content."""
        session, columns = self._reading(), read_columns(frame)
        if not columns or not self._fits(frame):
            _refuse(name)
        session.take(name, exact(frame.value, columns), self._seconds, columns)
        found = {one.name: one.written for one in session.columns(_all(name))}
        if not _same_types(found, {one: frame.columns[one] for one in columns}):
            _refuse(name)
        self._marks[name] = session.frame_mark(name, columns, self._seconds)
        digest = hashlib.sha256(repr(sorted(found.items())).encode())
        for block in session.row_digests(name, columns, self._seconds):
            digest.update(block)
        return f"sha256:{digest.hexdigest()}"


def _all(name: str) -> str:
    return f"SELECT * FROM {named(name)}"  # noqa: S608  quoted


def _same_types(found: Mapping[str, str], began: Mapping[str, str]) -> bool:
    """Whether columns have the types they began with: a decimal of more digits is one still."""
    return found.keys() == began.keys() and all(
        one == began[name] or (one.startswith("DECIMAL(") and began[name].startswith("DECIMAL("))
        for name, one in found.items()
    )


def _refuse(name: str) -> NoReturn:
    reason = f"the frame {name} has other columns or types than when the session began"
    raise SourceFailureError(f"{reason}; begin a new session with it")


def _joined(contents: Sequence[tuple[str, str]]) -> str:
    """Name the state of several frames."""
    return f"content sha256:{hashlib.sha256(repr(contents).encode()).hexdigest()}"
