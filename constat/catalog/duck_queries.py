"""How the columns of a DuckDB query are read, spelled and handed out as Arrow streams."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, assert_never

from constat.catalog.connection import QueryMistakeError, SourceFailureError, Stream
from constat.catalog.keyed import (
    Family,
    query_name,
    query_prefix,
    typed_pushes,
    typed_question,
    typed_whole,
)
from constat.frozen import frozen
from constat.logic import Kind, NullPolicy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from constat.catalog.connection import Question, RawRow, ReadBounds, Whole
    from constat.catalog.duck_session import DuckSession
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.evaluation import Demand
    from constat.logic import Row

# Nothing is lost on the way to Python. The driver gives the last day there is for an infinite
# date, cuts nanoseconds off, and needs a further package for time zones; so dates and times are
# spelled by DuckDB itself. Types that no declared kind can hold are refused by name.

_SIGNED: Final = frozenset({"tinyint", "smallint", "integer", "bigint"})
_INTEGERS: Final = _SIGNED | {
    "hugeint", "utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"
}  # fmt: skip
_TIMES: Final = frozenset({"timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"})
_ZONED: Final = "timestamp with time zone"
# DuckDB compares a decimal with an integer of 19 digits as decimals of 38 digits in all.
_MOST_PLACES: Final = 19
_LONGEST_TYPE: Final = 60


@frozen
class DuckColumn:
    """An output column: its name, its type's family name and its type as DuckDB writes it."""

    name: str
    kind: str
    written: str

    @property
    def family(self) -> Family:
        """What keys the column can be compared with."""
        if self.kind == "varchar":
            return Family.TEXT
        if self.kind in {"enum", "uuid"}:
            return Family.CAST
        if self.kind == "decimal":
            places = int(self.written.rstrip(")").rpartition(",")[2])
            return Family.NUMERIC if places <= _MOST_PLACES else Family.OTHER
        if self.kind in _SIGNED:
            return Family.SIGNED
        return Family.NUMERIC if self.kind in {*_INTEGERS, "float", "double"} else Family.OTHER

    @property
    def spelled(self) -> bool:
        """Whether the text that is read spells a value that is no text."""
        return self.kind in {"date", "bignum", _ZONED, *_TIMES}

    @property
    def known(self) -> bool:
        """Whether a declared kind can hold such values. JSON text would bring its quotes along."""
        plain = self.kind in {"varchar", "decimal", "float", "double", "boolean", "blob", "null"}
        own = plain or self.family is Family.CAST or self.kind in _INTEGERS
        return (own or self.spelled) and self.written != "JSON"

    def output(self, position: int) -> str:
        """Give what the outer SELECT says for the column at that position."""
        column = f"c{position}"
        if self.kind == _ZONED:
            return f"CAST({column} AT TIME ZONE 'UTC' AS VARCHAR)"
        cast = self.spelled or self.family is Family.CAST
        return f"CAST({column} AS VARCHAR)" if cast else column


def check_types(columns: Sequence[DuckColumn]) -> None:
    """Raise `QueryMistakeError` for a column of a type that no declared kind can hold."""
    for place, column in enumerate(columns, 1):
        if not column.known:
            written = column.written[:_LONGEST_TYPE]
            raise QueryMistakeError(
                f"its column {place} is of type {written}, which no declared kind can hold",
                "C0540",
                hint="take the part that is meant, or cast it to text: `CAST(... AS VARCHAR)`",
            )


def outputs(columns: Sequence[DuckColumn]) -> tuple[tuple[str, ...], frozenset[int]]:
    """Give what the outer SELECT lists, and the positions that are spelled."""
    listed = tuple(column.output(position) for position, column in enumerate(columns))
    return listed, frozenset(place for place, column in enumerate(columns) if column.spelled)


# Where the condition is false, the expression gives what `read_cell` gives for the same cell. What
# DuckDB could only approximate (text as decimals, floats as decimals) is left to `read_cell`.

_NARROW: Final = frozenset({"tinyint", "smallint", "integer", "utinyint", "usmallint", "uinteger"})
_WIDE: Final = frozenset({"bigint", "ubigint", "hugeint", "uhugeint"})
_DUCK_TIMES: Final = frozenset({"timestamp", "timestamp_s", "timestamp_ms"})
_LONGEST_TEXT: Final = 1 << 20
_DECIMAL: Final = re.compile(r"DECIMAL\(([0-9]+),\s*([0-9]+)\)\Z")
_MOST_DIGITS: Final = 38
_DUCK_MOST_PLACES: Final = 12
_EXACT_FLOAT: Final = 1 << 53
_FLOAT_DIGITS: Final = 15
DIGITS: Final = "digits"
"""The kind of a column of ours that holds exact numbers of a server as texts."""
_FLOAT_TEXT: Final = r"-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?"


@frozen
class Spelling:
    """The canonical value of a cell that is not NULL, and when there is none."""

    value: str
    wrong: str


def spelling(  # noqa: PLR0911  one for each kind
    column: DuckColumn, kind: Kind, position: int
) -> Spelling | None:
    """Give the spelling of the output column `c<position>`; `None` where it is left to Python."""
    name, stored = f"c{position}", column.kind
    match kind:
        case Kind.SYMBOL:
            return _symbol(name, stored)
        case Kind.NUMBER:
            return _integer(name, stored, "BIGINT", "-?[0-9]{1,18}")
        case Kind.UNSIGNED:
            return _integer(name, stored, "UBIGINT", "[0-9]{1,18}")
        case Kind.FLOAT:
            return _float(name, stored)
        case Kind.DECIMAL:
            return _decimal(name, column)
        case Kind.DATE:
            return _date(name, stored)
        case Kind.TIMESTAMP:
            return _timestamp(name, stored)
        case Kind.BOOL:
            return _truth(name, stored)
        case Kind.STRUCTURE:
            # Whether a text is a value of the type is told by reading it, here and not there.
            return None
        case _:
            assert_never(kind)


def _symbol(name: str, stored: str) -> Spelling | None:
    if stored in {"enum", "uuid"}:
        name = f"CAST({name} AS VARCHAR)"
    elif stored != "varchar":
        return None
    return Spelling(name, f"(strlen({name}) > {_LONGEST_TEXT} OR contains({name}, chr(0)))")


def _integer(name: str, stored: str, target: str, pattern: str) -> Spelling | None:
    value = f"TRY_CAST({name} AS {target})"
    if stored in _NARROW | _WIDE:
        return Spelling(value, f"{value} IS NULL")
    if stored == "varchar":
        return Spelling(value, f"(NOT regexp_full_match({name}, '{pattern}') OR {value} IS NULL)")
    if stored == DIGITS:
        whole = f"TRY_CAST(split_part({name}, '.', 1) AS {target})"
        form = f"regexp_full_match({name}, '{pattern}([.]0+)?')"
        return Spelling(whole, f"(NOT {form} OR {whole} IS NULL)")
    return None


def _float(name: str, stored: str) -> Spelling | None:
    value = f"TRY_CAST({name} AS DOUBLE)"
    # There is one zero: -0.0 becomes 0.0.
    plain = f"CASE WHEN {value} = 0 THEN 0.0::DOUBLE ELSE {value} END"
    wrong = f"({value} IS NULL OR NOT isfinite({value}))"
    if stored in {"double", "float", *_NARROW}:
        return Spelling(plain, wrong)
    if stored == "bigint":
        return Spelling(plain, f"{name} NOT BETWEEN -{_EXACT_FLOAT} AND {_EXACT_FLOAT}")
    if stored == "varchar":
        return Spelling(plain, f"(NOT regexp_full_match({name}, '{_FLOAT_TEXT}') OR {wrong})")
    if stored == DIGITS:
        # So few digits are those of the nearest float, too.
        form = f"regexp_full_match({name}, '-?[0-9]+([.][0-9]+)?')"
        digits = f"strlen(translate({name}, '-.', ''))"
        return Spelling(plain, f"(NOT {form} OR {digits} > {_FLOAT_DIGITS} OR {wrong})")
    return None


def _decimal(name: str, column: DuckColumn) -> Spelling | None:
    if column.kind == DIGITS:
        whole, places = _MOST_DIGITS - _DUCK_MOST_PLACES, _DUCK_MOST_PLACES
        form = f"-?[0-9]{{1,{whole}}}([.][0-9]{{1,{places}}}0*)?"
        value = f"TRY_CAST({name} AS DECIMAL({_MOST_DIGITS},{places}))"
        return Spelling(value, f"(NOT regexp_full_match({name}, '{form}') OR {value} IS NULL)")
    found = _DECIMAL.match(column.written)
    if found is None:
        return None
    digits, places = int(found[1]), int(found[2])
    # What has more would be rounded on its way, or not fit.
    fits = places <= _DUCK_MOST_PLACES and digits - places <= _MOST_DIGITS - _DUCK_MOST_PLACES
    return Spelling(name, "false") if fits else None


def _date(name: str, stored: str) -> Spelling | None:
    if stored == "date":
        beyond = f"(NOT isfinite({name}) OR year({name}) NOT BETWEEN 1 AND 9999)"
        return Spelling(f"CAST({name} AS VARCHAR)", beyond)
    if stored == "varchar":
        form = f"regexp_full_match({name}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')"
        day = f"TRY_CAST({name} AS DATE)"
        return Spelling(name, f"(NOT {form} OR {day} IS NULL OR {name} < '0001')")
    return None


def _timestamp(name: str, stored: str) -> Spelling | None:
    if stored == _ZONED:
        name = f"({name} AT TIME ZONE 'UTC')"
    elif stored not in _DUCK_TIMES:
        return None
    moment = f"CAST({name} AS TIMESTAMP)"
    beyond = f"(NOT isfinite({moment}) OR year({moment}) NOT BETWEEN 1 AND 9999)"
    return Spelling(f"strftime({moment}, '%Y-%m-%dT%H:%M:%S.%fZ')", beyond)


def _truth(name: str, stored: str) -> Spelling | None:
    if stored == "boolean":
        return Spelling(f"CASE WHEN {name} THEN 'true' ELSE 'false' END", "false")
    if stored in {"varchar", *_NARROW, "bigint"}:
        text = f"CAST({name} AS VARCHAR)"
        value = f"CASE WHEN {text} IN ('1', 'true') THEN 'true' ELSE 'false' END"
        return Spelling(value, f"{text} NOT IN ('0', '1', 'true', 'false')")
    return None


# A stream is handed out only where the query, read cell by cell, would have given these rows, all
# of them, and nothing to complain of: no NULL but those to skip and those that a row may hold, no
# value without canonical form, no key twice. Rows with such a cell are given apart. Whether a row
# comes twice is left to whoever loads them.

_HELD: Final = frozenset(policy.value for policy in NullPolicy)
MOST_HOLES: Final = 1_000_000
"""With more of them a source is read cell by cell."""


@frozen
class WholeQueries:
    """The query that looks at all rows first, the one that gives them, and the one for holes.

    A hole is a row with a NULL that it may hold; it comes with its number, and NULL.
    """

    look: str
    give: str
    holes: str


def whole_queries(whole: Whole, columns: Sequence[DuckColumn]) -> WholeQueries | None:
    """Write the queries; `None` where a column has to be read cell by cell."""
    pairs = enumerate(zip(columns, whole.kinds, strict=True))
    found = [spelling(column, kind, place) for place, (column, kind) in pairs]
    spellings = [one for one in found if one is not None]
    if not spellings or len(spellings) < len(found):
        return None
    values = [f"{one.value} AS v{place}" for place, one in enumerate(spellings)]
    skipped = [f"c{place} IS NOT NULL" for place, one in enumerate(whole.policies) if one == "skip"]
    kept = f" WHERE {' AND '.join(skipped)}" if skipped else ""
    prefix, name = query_prefix(whole.guarded, len(values)), query_name(whole.guarded)
    form = "SELECT DISTINCT" if whole.distinct else "SELECT"
    hole = _hole(whole)
    full = " AND ".join([*skipped, *([f"NOT {hole}"] * bool(hole))])
    give = f"{prefix}{form} {', '.join(values)} FROM {name}{f' WHERE {full}' if full else ''}"
    numbered = f"FROM (SELECT *, row_number() OVER () AS number FROM {name})"  # noqa: S608  ours
    left_out = " AND ".join([*skipped, hole or "false"])
    holes = f"{prefix}SELECT number, {', '.join(values)} {numbered} WHERE {left_out}"
    look = prefix + _look(whole, spellings, kept, hole)
    return WholeQueries(look, give, f"{holes} ORDER BY number")


def _hole(whole: Whole) -> str:
    """Write the condition of a row with a null cell; nothing where no row may hold one."""
    unknown = [f"c{n} IS NULL" for n, one in enumerate(whole.policies) if one in _HELD]
    # Of repeated rows only reading them one by one tells which count.
    return f"({' OR '.join(unknown)})" if unknown and not whole.distinct else ""


def _look(whole: Whole, spellings: Sequence[Spelling], kept: str, hole: str) -> str:
    """Count rows, see whether a cell is wrong, count the keys and the holes, in one pass."""
    wrong = " OR ".join(
        f"(c{n} IS NOT NULL AND {one.wrong})"
        if hole and policy in _HELD and n not in whole.key
        else f"c{n} IS NULL OR {one.wrong}"
        for n, (one, policy) in enumerate(zip(spellings, whole.policies, strict=True))
    )
    key = ", ".join(f"c{place}" for place in whole.key)
    keys = f"count(DISTINCT ({key}))" if whole.key else "count(*)"
    rows = f"FROM {query_name(whole.guarded)}{kept}"
    rows = f"FROM (SELECT DISTINCT * {rows})" if whole.distinct else rows
    holes = f"count(*) FILTER (WHERE {hole})" if hole else "0"
    return f"SELECT count(*), bool_or({wrong}), {keys}, {holes} {rows}"


def counted(told: tuple[object, ...]) -> tuple[int, int] | None:
    """Give the numbers of whole rows and of holes; `None` where rows have to be read."""
    rows, wrong, keys, holes = told
    left_out = int(str(holes))
    if wrong or rows != keys or left_out > MOST_HOLES:
        return None
    return int(str(rows)) - left_out, left_out


def looked(session: DuckSession, queries: WholeQueries, bounds: ReadBounds) -> Stream | None:
    """Look at all rows and hand them out; `None` where they have to be read cell by cell."""
    try:
        told = session.rows(queries.look, bounds.seconds, lambda _: None)
    except QueryMistakeError as problem:
        # The guard and the description passed it; what it meets in the rows is no mistake.
        raise SourceFailureError(problem.reason) from None
    count = counted(told[0])
    if count is None or sum(count) > bounds.rows:
        return None
    rows, holes = count
    found = session.rows(queries.holes, bounds.seconds, lambda _: None) if holes else []
    numbered = tuple((int(str(number)), cells) for number, *cells in found)
    return Stream(rows, queries.give, lambda: session.stream(queries.give), numbered)


# The columns of a query are those of the session that is open now; a new session describes them
# anew.


class DuckReading:
    """Asks the open session; a driver adds what it opens, and when."""

    dialect = "duckdb"
    most_keys = 5_000

    def __init__(self) -> None:
        self._session: DuckSession | None = None
        self._described: dict[str, tuple[DuckColumn, ...]] = {}

    def columns(self, query: str) -> tuple[str, ...]:
        """Give the column names; a type that no declared kind can hold is a mistake."""
        columns = self._columns(query)
        check_types(columns)
        return tuple(column.name for column in columns)

    def pushes(
        self, guarded: Guarded, demand: Demand, nulls_matter: Collection[int]
    ) -> tuple[Push, ...]:
        """Choose the columns to send by the types of the output columns."""
        families = [column.family for column in self._columns(guarded.text)]
        return typed_pushes(families, demand, nulls_matter)

    def keyed(
        self, guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for some keys, each value a parameter."""
        listed, spelled = outputs(self._columns(guarded.text))
        return typed_question(guarded, arity, pushes, keys, outputs=listed, spelled=spelled)

    def whole(self, guarded: Guarded, arity: int) -> Question:
        """Ask for all rows."""
        listed, spelled = outputs(self._columns(guarded.text))
        return typed_whole(guarded, arity, outputs=listed, spelled=spelled)

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; raises `SourceFailureError` at its bounds, after what came before them."""
        yield from self._reading().read(question, bounds)

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; `None` where they have to be read cell by cell."""
        queries = whole_queries(whole, self._columns(whole.guarded.text))
        if queries is None:
            return None
        session = self._reading()
        session.bear(bounds)
        return looked(session, queries, bounds)

    def estimate(self, guarded: Guarded) -> float | None:
        """Guess how many rows a query gives, without running it."""
        self._columns(guarded.text)
        return self._reading().estimate(guarded.text)

    def look(self, statement: str, seconds: float) -> list[tuple[object, ...]]:
        """Run a statement of Constat's own about the tables, for so long at most."""
        return self._reading().rows(statement, seconds, lambda _: None)

    def parents(self) -> Mapping[str, str]:
        """Give for tables of lists those whose `_id` is their `_parent`."""
        return {}

    def problems(self) -> Mapping[str, str]:
        """Say of tables, by their names, why it is not known what they hold."""
        return {}

    def cancel(self) -> None:
        """Interrupt the running query."""
        session = self._session
        if session is not None:
            session.cancel()

    def close(self) -> None:
        """Close the session; without one, nothing happens."""
        session, self._session = self._session, None
        self._described.clear()
        if session is not None:
            session.close()

    def _columns(self, query: str) -> tuple[DuckColumn, ...]:
        if query not in self._described:
            self._described[query] = self._reading().columns(query)
        return self._described[query]

    def _reading(self) -> DuckSession:
        if self._session is None:
            raise SourceFailureError("it is not being read")
        return self._session


class CopiedReading(DuckReading, ABC):
    """Reads a copy of what a source holds, which is kept as long as the source stays the same.

    A driver says what is `_same`, and `_start`s to read.
    """

    def __init__(self) -> None:
        super().__init__()
        self._reads = False
        self.snapshot: str | None = None

    @staticmethod
    def replaced() -> bool:
        """The source is looked at anew by each `begin`."""
        return False

    def begin(self) -> bool:
        """Look at the source; where it has changed, everything is read anew."""
        if self._reads:
            self._reading().check_lost()
            return False
        self._reads = True
        if self._session is not None and not self._session.lost and self._same():
            return False
        self._emptied()
        self._start()
        return True

    def release(self) -> None:
        """End reading one state; the copy is kept as long as the source stays the same."""
        self._reads = False

    def _emptied(self) -> None:
        """Forget the copy."""
        self.close()

    @abstractmethod
    def _same(self) -> bool:
        """Tell whether the source holds what the copy does."""

    @abstractmethod
    def _start(self) -> None:
        """Open a session for a new copy."""
