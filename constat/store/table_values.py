"""What a session keeps of tables: versions, notes, artifacts, and rows made on demand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.logic import canonical_decimal
from constat.store.table_forms import (
    FIXED,
    TEXTUAL,
    Column,
    Table,
    TableError,
    checked,
    column_values,
    table_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from constat.logic import Row
    from constat.store.tables import Transaction

# A version, once kept, is never changed; numbers of versions, notes and artifacts begin at 1 and
# have no gaps.

Scalar = int | float | str | bool | None
Json = Scalar | list["Json"] | dict[str, "Json"]

ARTIFACT_KINDS: Final = ("code", "output", "error", "plot", "query", "chart", "text")


@frozen
class NewArtifact:
    """Something that a step left besides tables; `attempt` counts the tries of the step."""

    kind: str
    name: str
    content: bytes = field(repr=False)
    media: str = "text/plain; charset=utf-8"
    attempt: int = 1


@frozen
class StepResult:
    """All that a step leaves; it is kept as a whole or not at all."""

    step: int
    name: str = ""
    tables: Mapping[str, Table] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    artifacts: tuple[NewArtifact, ...] = ()


@frozen
class StoredTable:
    """A version of a table.

    `reference` is the Parquet file of a large one in the store's folder, and empty for others.
    """

    name: str
    version: int
    step: int
    step_name: str
    sha256: str
    rows: int
    columns: tuple[tuple[str, str], ...]
    size: int
    reference: str
    at: str


@frozen
class StoredState:
    """A version of a state variable."""

    name: str
    version: int
    step: int
    value: Json
    at: str


@frozen
class Note:
    """A line of the scratchpad."""

    number: int
    step: int
    text: str
    at: str


@frozen
class Artifact:
    """Something that a step left besides tables, without its content."""

    number: int
    step: int
    attempt: int
    kind: str
    name: str
    media: str
    sha256: str
    size: int
    at: str


@frozen
class Kept:
    """What `commit` kept, with the numbers that it got."""

    tables: tuple[StoredTable, ...] = ()
    state: tuple[StoredState, ...] = ()
    notes: tuple[Note, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


# What passes can be read back as it was, from each kind of database.

_NAME: Final = re.compile(r"[^\W\d]\w{0,99}\Z")
_LARGEST_STATE: Final = 1 << 20
_LARGEST_ARTIFACT: Final = 64 << 20
_LONGEST_NOTE: Final = 10_000
_LONGEST_TITLE: Final = 200
_DEEPEST: Final = 50
_MOST: Final = 1_000
_LARGEST_STEP: Final = 1 << 40
_RULE: Final = "letters, digits and `_`, not beginning with a digit, at most 100"


def check_result(result: StepResult) -> None:
    """Refuse what cannot be kept."""
    if type(result.step) is not int or not 0 <= result.step <= _LARGEST_STEP:
        raise _refusal("the number of a step is no whole number from 0 on")
    if not _is_title(result.name, empty=True):
        raise _refusal("the name of a step holds a control character, or is too long")
    counts = (result.tables, result.state, result.notes, result.artifacts)
    if any(len(one) > _MOST for one in counts):
        raise _refusal(f"a step leaves more than {_MOST} of one kind")
    for name in (*result.tables, *result.state):
        if not is_name(name):
            raise _refusal("the name of a table or state variable is not one", _RULE)
    _check_contents(result)


def is_name(text: str) -> bool:
    """Tell whether a text may name a table or a state variable."""
    return bool(_NAME.match(text))


def _check_contents(result: StepResult) -> None:
    for table in result.tables.values():
        try:
            checked(table)
        except TableError as problem:
            raise _refusal(f"a table cannot be kept: {problem}") from None
    for value in result.state.values():
        json_text(value)
    for note in result.notes:
        if len(note) > _LONGEST_NOTE or not _is_text(note):
            raise _refusal("a note is too long, or holds half a surrogate pair")
    for artifact in result.artifacts:
        _check_artifact(artifact)


def _check_artifact(artifact: NewArtifact) -> None:
    if artifact.kind not in ARTIFACT_KINDS:
        raise _refusal("an artifact is of no known kind", ", ".join(ARTIFACT_KINDS))
    if not _is_title(artifact.name, empty=True) or not _is_title(artifact.media):
        raise _refusal("the name or media type of an artifact holds a control character")
    if len(artifact.content) > _LARGEST_ARTIFACT:
        raise _refusal(f"an artifact is larger than {_LARGEST_ARTIFACT >> 20} MiB")


def json_text(value: Json) -> str:
    """Spell a value; raises `ConstatError` for one that JSON has no word for."""
    if not is_json(value):
        raise _refusal("a state variable is no text, number, truth value, list or table of these")
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if len(text) > _LARGEST_STATE:
        raise _refusal(f"a state variable is larger than {_LARGEST_STATE >> 20} MiB")
    return text


def is_json(value: object) -> bool:
    """Tell whether a value can be spelled and read back as it was, without recursion."""
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if depth > _DEEPEST:
            return False
        if isinstance(one, list):
            pending += [(inner, depth + 1) for inner in one]
        elif isinstance(one, dict):
            if not all(isinstance(key, str) for key in one):
                return False
            pending += [(inner, depth + 1) for inner in one.values()]
        elif not is_scalar(one):
            return False
    return True


def is_scalar(value: object) -> bool:
    """Tell whether a value is a single one that JSON has a word for."""
    if isinstance(value, bool | str) or value is None:
        return True
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 64
    return isinstance(value, float) and math.isfinite(value)


def next_numbers(transaction: Transaction, table: str, session: str) -> Callable[[str], int]:
    """Give what tells the next version of a name; the transaction is the only one that writes."""

    def following(name: str) -> int:
        statement = f"SELECT max(version) FROM {table} WHERE session = ? AND name = ?"  # noqa: S608  our names
        return int(transaction.rows(statement, (session, name))[0][0] or 0) + 1

    return following


def _is_title(text: str, *, empty: bool = False) -> bool:
    return (bool(text) or empty) and len(text) <= _LONGEST_TITLE and text.isprintable()


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(message: str, hint: str = "") -> ConstatError:
    note = f"allowed are {hint}" if hint else ""
    return ConstatError([Diagnostic("C0917", message, note=note)])


# A row is the same value whether it is read alone, in a stretch, or with all others.

MANY: Final = 50_000
"""From so many rows on, a relation of a step is kept as a table and not as Python values."""
_BATCH: Final = 10_000


class TableRows(Sequence["Row"]):
    """The rows of a table. Equal to any sequence of the same rows."""

    def __init__(self, table: Table) -> None:
        if any(column.missing for column in table.columns):
            raise ValueError("a row of a relation has no missing cell")
        self.table = table

    def __len__(self) -> int:
        return self.table.rows

    def __iter__(self) -> Iterator[Row]:
        for first in range(0, self.table.rows, _BATCH):
            yield from self._stretch(first, min(first + _BATCH, self.table.rows))

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        """Give a row, or a stretch of rows."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1:
                raise ValueError("rows are taken one after the other")
            return tuple(self._stretch(first, max(first, last)))
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        return self._stretch(number, number + 1)[0]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TableRows):
            return self.table == other.table or tuple(self) == tuple(other)
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(self) == len(other) and all(map(tuple.__eq__, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"TableRows({len(self):,} rows)"

    def _stretch(self, first: int, last: int) -> list[Row]:
        if not self.table.columns:
            return [()] * (last - first)
        cells = [_values(_part(column, first, last), last - first) for column in self.table.columns]
        return list(zip(*cells, strict=True))


def rows_table(columns: Sequence[tuple[str, str]], rows: Iterable[Row]) -> Table:
    """Make the table of rows; those that lie in one already are not read."""
    if isinstance(rows, TableRows):
        named = zip(columns, rows.table.columns, strict=True)
        made = [Column(name, one.kind, one.data, one.missing, one.ends) for (name, _), one in named]
        return Table(tuple(made), rows.table.rows)
    listed = list(rows)
    if not columns:
        return Table((), len(listed))
    return table_of(columns, [[row[place] for row in listed] for place in range(len(columns))])


def table_rows(table: Table) -> Sequence[Row]:
    """Give the rows of a table: as Python values where they are few."""
    if table.rows >= MANY:
        return TableRows(table)
    cells = [_values(column, table.rows) for column in table.columns]
    return tuple(zip(*cells, strict=True)) if cells else ((),) * table.rows


def repeated(table: Table) -> int:
    """Count the rows that are equal to the one before them."""
    same = np.ones(max(0, table.rows - 1), np.bool_)
    # The columns that are compared fastest come first: most often one of them settles it.
    for column in sorted(table.columns, key=lambda one: one.kind in TEXTUAL):
        if not same.any():
            break
        same &= _same(column)
    return int(same.sum())


def _same(column: Column) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if column.kind not in TEXTUAL:
        cells = np.frombuffer(column.data, FIXED[column.kind])
        found: np.ndarray[Any, np.dtype[np.bool_]] = cells[1:] == cells[:-1]
        return found
    ends = np.frombuffer(column.ends, "<i8").tolist()
    texts = [column.data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return np.fromiter((a == b for a, b in zip(texts[1:], texts, strict=False)), np.bool_)


def _part(column: Column, first: int, last: int) -> Column:
    if column.kind not in TEXTUAL:
        size = np.dtype(FIXED[column.kind]).itemsize
        return Column(column.name, column.kind, column.data[first * size : last * size])
    ends = np.frombuffer(column.ends, "<i8")
    start = int(ends[first - 1]) if first else 0
    chosen = ends[first:last]
    stop = int(chosen[-1]) if len(chosen) else start
    own = (chosen - start).astype("<i8").tobytes()
    return Column(column.name, column.kind, column.data[start:stop], b"", own)


def _values(column: Column, rows: int) -> list[Any]:
    found = column_values(column, rows)
    if column.kind == "Decimal":
        return [canonical_decimal(Decimal(one)) for one in found]
    return found
