"""A fresh DuckDB that the check alone uses: its tables, and its functions.

The functions are those of the checker of certificates (`constat.check`), on the texts of values,
so that what computes here is not what computed in the run. One that has no value there fails the
statement. Rows come in as Python values or as a stream of Arrow; what no column here holds exactly
is refused, never rounded.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from inspect import Parameter, Signature
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from constat.catalog.duck_session import long_repeats
from constat.catalog.interruptible import Deadline
from constat.check.functions import call, compare, operator_holds, round_to_places, signature_holds
from constat.check.values import parse, spell
from constat.evaluation.processor import set_up_duckdb
from constat.frozen import frozen
from constat.logic import OPEN, Kind, NullCell, NullPolicy
from constat.recount.statements import (
    INTEGERS,
    PLACES,
    Functions,
    RefusedError,
    conjunction,
    fits,
    literal,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from constat.logic import OpenRow, Predicate, Row, Value

_NUMERIC: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
_BATCH: Final = 20_000
_REMEMBERED: Final = 1 << 16
_STREAM: Final = "incoming"
_PACKED: Final = 1 << 63
_INLINE: Final = 12
"""So many bytes of a text DuckDB has in the cell itself."""


class Tables:
    """The database of one check. `seconds` and `memory` (bytes) bound what it may use.

    It reads and writes files in `folder` alone, and none without one.
    """

    def __init__(
        self,
        seconds: float,
        memory: int = 0,
        threads: int = 0,
        folder: Path | None = None,
        few: int = 1_000,
    ) -> None:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        settings: dict[str, Any] = {"preserve_insertion_order": False}
        settings |= {"memory_limit": f"{memory >> 20}MiB"} if memory else {}
        settings |= {"threads": threads} if threads else {}
        self.driver = set_up_duckdb(duckdb.connect(":memory:", config=settings))
        if folder is not None:
            self.driver.execute("SET allowed_directories = [?]", [f"{folder.resolve()}{os.sep}"])
        self.driver.execute("SET enable_external_access = false")
        self.functions = Functions(self._call, self._test, self._fold)
        self.emptying = Functions(
            partial(self._call, empty=True),
            partial(self._test, empty=True),
            partial(self._fold, empty=True),
            empty=True,
        )
        self.memory, self.few = memory, few
        # Of some tables: a column in which no two rows are the same.
        self.keys: dict[str, int] = {}
        self._deadline = Deadline(seconds, self.driver.interrupt)
        self._known: dict[tuple[object, ...], str] = {}
        self._made = 0

    def __enter__(self) -> Self:
        self._deadline.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._deadline.__exit__()
        self.driver.close()

    def cancel(self) -> None:
        """End what runs, as if the time were up; from any thread."""
        self._deadline.cancel()

    def begin_anew(self, seconds: float) -> None:
        """Let the time begin again, unless it was cancelled."""
        before = self._deadline
        before.__exit__()
        self._deadline = Deadline(seconds, self.driver.interrupt)
        self._deadline.__enter__()
        if before.cancelled:
            self._deadline.cancel()

    def infer_nothing(self) -> None:
        """Have DuckDB infer nothing of values: some of what it makes then of 128 bits fails."""
        self.driver.execute("SET disabled_optimizers = 'statistics_propagation'")

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self._deadline.late

    def run(self, *words: str) -> list[tuple[Any, ...]]:
        """Run one statement, given in pieces; raises `RefusedError` where the time is up."""
        if self.late:
            raise RefusedError("the time for it was up")
        return self.driver.execute(" ".join(words)).fetchall()

    def number(self, *words: str) -> int:
        """Run a query that gives one number."""
        return int(self.run(*words)[0][0])

    def arrays(self, *words: str) -> list[Any]:
        """Run a query, and give each column as an array; nothing for one that lacks a value."""
        if self.late:
            raise RefusedError("the time for it was up")
        found: dict[str, Any] = self.driver.execute(" ".join(words)).fetchnumpy()
        return [None if hasattr(one, "mask") and one.mask.any() else one for one in found.values()]

    def bounds(self, tables: Sequence[str], kinds: Sequence[Kind]) -> list[tuple[int, int, int]]:
        """Say of each column of whole numbers which is the least and which the greatest."""
        whole = [place for place, kind in enumerate(kinds) if kind in INTEGERS]
        if not whole:
            return []
        columns = ", ".join(f"c{n}" for n in whole)
        every = " UNION ALL ".join(f"SELECT {columns} FROM {table}" for table in tables)  # noqa: S608  names are ours
        outputs = ", ".join(f"min(c{n}), max(c{n})" for n in whole)
        (row,) = self.run("SELECT", outputs, "FROM (", every, ") AS every")
        found = zip(whole, row[::2], row[1::2], strict=True)
        return [(n, 0, 0) if low is None else (n, low, high) for n, low, high in found]

    def ranges(self, tables: Sequence[str], kinds: Sequence[Kind]) -> list[tuple[int, str, int]]:
        """Say which columns of whole numbers fit into one of 63 bits: place, least, and span."""
        found: list[tuple[int, str, int]] = []
        total = 1
        for place, low, high in self.bounds(tables, kinds):
            span = high - low + 1
            if total * span < _PACKED:
                total *= span
                found.append((place, literal(low, kinds[place]), span))
        return found

    def packed(
        self,
        table: str,
        ranges: Sequence[tuple[int, str, int]],
        *,
        beyond: bool = False,
    ) -> Any:  # noqa: ANN401  an array, and numpy is loaded where it is used
        """Give each row of a table as one number, by these columns: equal where all of them are.

        A row with a cell beyond its range is -1, which no other row is, where there may be such.
        """
        key = "CAST(0 AS BIGINT)"
        for place, low, span in ranges:
            # What is left of a column is below its span, and the product of all fits.
            key = f"({key}) * {span} + CAST(c{place} - {low} AS BIGINT)"
        if beyond and ranges:
            # A number of 64 bits and a span of 63 have a sum in 128.
            inside = (
                f"c{place} >= {low} AND c{place} < CAST({low} AS HUGEINT) + {span}"
                for place, low, span in ranges
            )
            key = f"CASE WHEN {' AND '.join(inside)} THEN {key} ELSE -1 END"
        return self.arrays("SELECT", key, "AS k FROM", table)[0]

    @contextmanager
    def incoming(self, arrays: dict[str, Any]) -> Iterator[str]:
        """Give the name by which arrays can be read as the columns of a table."""
        self.driver.register(_STREAM, arrays)
        try:
            yield _STREAM
        finally:
            self.driver.unregister(_STREAM)

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        return self.number("SELECT count(*) FROM", table)

    def fresh(self) -> str:
        """Give the name of a table that is not there yet."""
        self._made += 1
        return f"t{self._made}"

    def empty_marked(self, kinds: Sequence[Kind]) -> str:
        """Make a table for rows with marks, without any (see `marks`)."""
        table = self.fresh()
        types = [type_of(kind) for kind in kinds] or ["BIGINT"]
        columns = [f"c{n} {one}, m{n} VARCHAR" for n, one in enumerate(types)]
        self.run("CREATE TABLE", table, f"({', '.join(columns)}, s BOOLEAN)")
        return table

    def add_marked(
        self, table: str, rows: Iterable[tuple[OpenRow, bool]], kinds: Sequence[Kind]
    ) -> None:
        """Add rows whose cells may be null or open, each with whether it is certain."""

        def whole() -> Iterator[tuple[object, ...]]:
            for row, sure in rows:
                cells: list[object] = []
                for cell, kind in zip(row, kinds, strict=True):
                    mark = mark_of(cell)
                    if mark is None and kind is Kind.DECIMAL:
                        fits(Decimal(cell))  # type: ignore[arg-type]  # a value
                    cells += [cell if mark is None else None, mark]
                yield (*(cells or [0, None]), True if sure else None)

        waiting = whole()
        while batch := list(islice(waiting, _BATCH)):
            if self.late:
                raise RefusedError("the time for it was up")
            with self.driver.appender(table) as appender:
                appender.append_rows(batch)

    def empty(self, kinds: Sequence[Kind], places: Sequence[int] | None = None) -> str:
        """Make a table without rows, with these columns or all; without any it has one with 0."""
        table = self.fresh()
        places = range(len(kinds)) if places is None else places
        columns = [f"c{place} {type_of(kinds[place])}" for place in places] or ["c0 BIGINT"]
        self.run("CREATE TABLE", table, f"({', '.join(columns)})")
        return table

    def add_rows(self, table: str, rows: Iterable[Row], kinds: Sequence[Kind]) -> None:
        """Add rows of Python values in canonical form."""
        decimals = [place for place, kind in enumerate(kinds) if kind is Kind.DECIMAL]
        waiting = iter(rows)
        while batch := list(islice(waiting, _BATCH)):
            if self.late:
                raise RefusedError("the time for it was up")
            for place in decimals:
                for row in batch:
                    fits(Decimal(row[place]))
            appender = self.driver.appender(table)
            with appender:
                appender.append_rows([row or (0,) for row in batch])

    def add_stream(
        self,
        table: str,
        stream: object,
        kinds: Sequence[Kind],
        places: Sequence[int] | None = None,
        *,
        cast: bool = True,
    ) -> None:
        """Add the rows of a stream of Arrow, whose columns come in the order of the relation's.

        The table has the columns `places`, or all. A row with no value in another is left out. Not
        to `cast` raises `OtherKindError` for a column of another kind.
        """
        places = range(len(kinds)) if places is None else places
        self.driver.register(_STREAM, _Stream(stream))
        try:
            given = self.run("DESCRIBE", _STREAM)
            if len(given) != max(1, len(kinds)) and kinds:
                raise RefusedError("a stream has other columns than its relation")
            if not cast and not all(
                _is_of(str(one[1]), kind) for one, kind in zip(given, kinds, strict=False)
            ):
                raise OtherKindError
            outputs = [
                f'CAST("{given[n][0]}" AS {type_of(kinds[n])})'
                for n in places
                if _is_exact(str(given[n][1]), kinds[n])
            ]
            others = [f'"{given[n][0]}" IS NOT NULL' for n in range(len(kinds)) if n not in places]
            self.run(
                *("INSERT INTO", table, "SELECT", ", ".join(outputs or ["CAST(0 AS BIGINT)"])),
                *("FROM", _STREAM, "WHERE", conjunction(others)),
            )
        finally:
            self.driver.unregister(_STREAM)
        if self.number("SELECT count(*) FROM", table, "WHERE", _nulls(places)):
            raise RefusedError("a cell without a value")

    def save(self, table: str, file: Path, names: Sequence[str]) -> None:
        """Write a table into a file of Parquet, in the order of its values."""
        columns = ", ".join(f"c{place} AS {_named(name)}" for place, name in enumerate(names))
        target = f"TO {_quoted(file)} (FORMAT parquet)"
        self.run("COPY (SELECT", columns or "c0", "FROM", table, "ORDER BY ALL)", target)

    def save_marked(self, loaded: Loaded, file: Path, names: Sequence[str]) -> int:
        """Write all rows of a relation with their marks; give how many there are."""
        width = range(max(1, len(names)))
        given = [*names] or ["c0"]
        named = ", ".join(
            f"c{n} AS {_named(given[n])}, m{n} AS {_named(f'{given[n]}.mark')}" for n in width
        )
        plain = ", ".join(f"c{n}, CAST(NULL AS VARCHAR) AS m{n}" for n in width)
        whole = ("(SELECT", plain, ", true AS s FROM", loaded.whole)
        target = f"TO {_quoted(file)} (FORMAT parquet)"
        self.run(
            *("COPY (SELECT", named, ", s AS", _named(".certain"), "FROM", *whole),
            *("UNION ALL SELECT * FROM", loaded.marked, ") AS every ORDER BY ALL)", target),
        )
        return self.count(loaded.whole) + self.count(loaded.marked)

    def load(self, file: Path, kinds: Sequence[Kind]) -> Loaded:
        """Make tables of a file that was written here. Raises `ValueError` for another one.

        Raises `RefusedError` for one whose rows take more memory than there is, before any is made.
        """
        source = f"read_parquet({_quoted(file)})"
        described = self.run("DESCRIBE SELECT * FROM", source)
        given = [one[1] for one in described]
        if long_repeats(self.run, file, described) is not None:
            raise RefusedError(f"`{file.name}` repeats long texts in very many rows")
        if self.memory and self._least_bytes(source, described) > self.memory:
            raise RefusedError("it needs more memory than there is")
        table, marked = self.empty(kinds), self.empty_marked(kinds)
        own, beside = ([one[1] for one in self.run("DESCRIBE", name)] for name in (table, marked))
        if given == own:
            self.run("INSERT INTO", table, "SELECT * FROM", source)
            if self.number("SELECT count(*) FROM", table, "WHERE", _nulls(range(len(kinds)))):
                raise ValueError("it has a cell without a value")
            return Loaded(table)
        if given != beside:
            raise ValueError("it has other columns than its relation")
        width = range(max(1, len(kinds)))
        self.run("INSERT INTO", marked, "SELECT * FROM", source)
        doubtful = " OR ".join(f"(c{n} IS NULL) <> (m{n} IS NOT NULL)" for n in width)
        if self.number("SELECT count(*) FROM", marked, "WHERE", doubtful):
            raise ValueError("it has a cell with neither a value nor a mark, or with both")
        open_yet_sure = " OR ".join(f"m{n} = '*' AND s" for n in width)
        if self.number("SELECT count(*) FROM", marked, "WHERE s = false OR", open_yet_sure):
            raise ValueError("`.certain` is true, or empty as of a row with an open cell")
        whole = " AND ".join(["s IS TRUE", *(f"m{n} IS NULL" for n in width)])
        values = ", ".join(f"c{n}" for n in width)
        self.run("INSERT INTO", table, "SELECT", values, "FROM", marked, "WHERE", whole)
        self.run("DELETE FROM", marked, "WHERE", whole)
        return Loaded(table, marked)

    def _least_bytes(self, source: str, described: Sequence[tuple[Any, ...]]) -> int:
        """Count what rows take at least: a byte for a cell, and each text that is not short."""
        texts = [f"strlen({_named(str(one[0]))})" for one in described if one[1] == "VARCHAR"]
        long = [f"coalesce(sum({one}) FILTER ({one} > {_INLINE}), 0)" for one in texts]
        width = f"count(*)::HUGEINT * {len(described)}"
        return self.number("SELECT", " + ".join([width, *long]), "FROM", source)

    def batches(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, some at a time."""
        found = self.driver.execute(query)
        while rows := found.fetchmany(_BATCH):
            if self.late:
                raise RefusedError("the time for it was up")
            yield from rows

    # ------------------------------------------------------------------------------ functions

    def _call(
        self, function: str, given: tuple[Kind, ...], result: Kind, *, empty: bool = False
    ) -> str:
        names = tuple(kind.value for kind in given)
        if not signature_holds(function, names, result.value):
            raise RefusedError(f"the function `{function}`")

        @lru_cache(_REMEMBERED)
        def computed(*values: Value) -> Value:
            texts = tuple(_spelled(one, kind) for one, kind in zip(values, given, strict=True))
            return _value(call(function, names, result.value, texts), result)

        key = ("call", function, given, result)
        return self._function(key, computed, given, type_of(result), empty=empty)

    def _test(self, operator: str, kind: Kind, *, empty: bool = False) -> str:
        if not operator_holds(operator, kind.value):
            raise RefusedError(f"the comparison `{operator}`")

        @lru_cache(_REMEMBERED)
        def decided(left: Value, right: Value) -> bool:
            found = compare(operator, kind.value, _spelled(left, kind), _spelled(right, kind))
            if found is None:
                raise _ErringError("a comparison without a value")
            return found

        key = ("test", operator, kind)
        return self._function(key, decided, (kind, kind), "BOOLEAN", empty=empty)

    def _fold(self, function: str, kind: Kind, result: Kind, *, empty: bool = False) -> str:
        if function not in {"sum", "mean"} or kind not in _NUMERIC:
            raise RefusedError(f"the aggregate `{function}` of such values")

        def folded(values: list[Value]) -> Value:
            numbers = [parse(kind.value, _spelled(one, kind)) for one in values]
            total = sum(map(Fraction, numbers), Fraction())
            if function == "mean":
                total /= len(values)
            return _value(_rounded(total, result), result)

        key = ("fold", function, kind, result, empty)
        if key not in self._known:
            self._create(key, folded, [f"{type_of(kind)}[]"], type_of(result), empty=empty)
        return self._known[key]

    def _function(
        self,
        key: tuple[object, ...],
        computed: Callable[..., object],
        given: tuple[Kind, ...],
        result: str,
        *,
        empty: bool,
    ) -> str:
        key = (*key, empty)
        if key not in self._known:
            self._create(key, computed, [type_of(kind) for kind in given], result, empty=empty)
        return self._known[key]

    def _create(
        self,
        key: tuple[object, ...],
        computed: Callable[..., object],
        given: Sequence[str],
        result: str,
        *,
        empty: bool,
    ) -> None:
        def plain(*values: object) -> object:
            if None in values:
                return None
            try:
                return computed(*values)
            except _ErringError:
                if empty:
                    return None
                raise

        # The driver evaluates annotations, and looks at the signature for how many values it takes.
        plain.__annotations__ = {}
        listed = [Parameter(f"v{n}", Parameter.POSITIONAL_ONLY) for n in range(len(given))]
        plain.__signature__ = Signature(listed)  # type: ignore[attr-defined]  # `inspect` looks there
        name = self._known[key] = f"f{len(self._known)}"
        from duckdb.func import FunctionNullHandling  # noqa: PLC0415  heavy library, loaded on first use

        nulls = FunctionNullHandling.SPECIAL if empty else FunctionNullHandling.DEFAULT
        self.driver.create_function(name, plain, list(given), result, null_handling=nulls)


class _ErringError(ValueError):
    """A function, a comparison or a total has no value for an instance."""


class OtherKindError(RefusedError):
    """An answer has a value that is not of its column's kind, so it does not follow."""


class _Stream:
    """A stream and nothing else: a relation of another connection cannot be read as one of ours."""

    def __init__(self, source: object) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # a stream


def require_marks(
    tables: Tables, loaded: Loaded, predicate: Predicate, policies: Sequence[NullPolicy | None]
) -> None:
    """Raise `ValueError` for marks that no row of an input has: a label names its own row."""
    policy = {"L": NullPolicy.UNKNOWN, "M": NullPolicy.MAYBE, "N": NullPolicy.NONE}
    for *cells, _ in tables.batches(f"SELECT * FROM {loaded.marked}"):  # noqa: S608  the name is ours
        values, marks = cells[::2], cells[1::2]
        known = [None if one is None else str(one) for one in values]
        for column, mark in enumerate(marks):
            if mark is None or mark == "*":
                continue
            if policies[column] is not policy.get(mark[:1]) or not mark:
                raise ValueError("it has a mark that its column does not have")
            if mark == "N":
                continue
            named = json.loads(mark[1:])
            if not isinstance(named, list) or named[:2] != [predicate.name, column]:
                raise ValueError("it has a label of another column")
            if len(named) != _NAMED or _canonical(named[2], predicate) != _canonical(
                known, predicate
            ):
                raise ValueError("it has a label of another row")


_NAMED: Final = 4


def _canonical(cells: object, predicate: Predicate) -> list[str | None]:
    """Give the cells of a label in one spelling: a Decimal has no zeros at the end."""
    if not isinstance(cells, list) or len(cells) != predicate.arity:
        raise ValueError("it has a label of another row")
    return [
        None if one is None else str(Decimal(one).normalize()) if kind is Kind.DECIMAL else str(one)
        for one, kind in zip(cells, predicate.kinds, strict=True)
    ]


def mark_of(cell: object) -> str | None:
    """Write the mark of a cell (see `marks`); nothing where it has a value.

    Raises `RefusedError` for what a function made: the check writes that its own way.
    """
    if cell is OPEN:
        return "*"
    if not isinstance(cell, NullCell):
        return None
    if cell.policy is NullPolicy.NONE:
        return "N"
    if cell.made is not None or cell.policy not in {NullPolicy.UNKNOWN, NullPolicy.MAYBE}:
        raise RefusedError("a cell that a function made of an unknown value")
    known = [None if one is None else str(one) for one in cell.known]
    name = json.dumps([cell.predicate, cell.column, known, cell.ordinal], ensure_ascii=False)
    return f"{'L' if cell.is_label else 'M'}{name}"


def _quoted(file: Path) -> str:
    text = str(file.resolve()).replace("'", "''")
    return f"'{text}'"


def _named(name: str) -> str:
    text = name.replace('"', '""')
    return f'"{text}"'


def _nulls(places: Sequence[int]) -> str:
    return " OR ".join(f"c{place} IS NULL" for place in places or (0,))


def _is_of(written: str, kind: Kind) -> bool:
    """Whether a column that comes as this type of DuckDB's has values of a kind."""
    if kind in INTEGERS:
        # Spark has no column of 64 bits without a sign.
        return written.endswith(("INT", "INTEGER", ",0)"))
    if kind is Kind.DECIMAL:
        return written.endswith("INT") or written.startswith(("INTEGER", "DECIMAL"))
    return written == type_of(kind)


def _is_exact(written: str, kind: Kind) -> bool:
    """Raise `RefusedError` where a column may hold what ours would round."""
    if kind is Kind.DECIMAL and written.startswith("DECIMAL"):
        places = int(written.rpartition(",")[2].strip(" )"))
        if places > PLACES:
            raise RefusedError("a Decimal has more digits than fit beside twelve places")
    elif kind is Kind.DECIMAL and not written.endswith("INT"):
        raise RefusedError(f"a column of Decimals that comes as {written}")
    return True


def _spelled(value: Value, kind: Kind) -> str:
    """Write a value as the checker reads it."""
    if kind not in _NUMERIC:
        return str(value)
    text = spell(kind.value, value)  # type: ignore[arg-type]  # a number
    if text is None:
        raise ValueError("a value that its kind does not have")
    return text


def _value(text: str | None, kind: Kind) -> Value:
    """Read what the checker's functions give; nothing is an error of the instance."""
    if text is None:
        raise _ErringError("a function without a value")
    if kind not in _NUMERIC:
        return text
    value = parse(kind.value, text)
    if isinstance(value, Decimal):
        fits(value)
    return value


def _rounded(exact: Fraction, kind: Kind) -> str | None:
    """Give the one value of a kind that a sum or a mean is, rounded once."""
    if kind is Kind.FLOAT:
        try:
            return spell("float", exact.numerator / exact.denominator)
        except OverflowError:
            return None
    return spell(kind.value, round_to_places(exact) if kind is Kind.DECIMAL else int(exact))


@frozen
class Loaded:
    """The tables of a relation: its whole, certain rows, and the others where there are any."""

    whole: str
    marked: str = ""
