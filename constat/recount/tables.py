"""A fresh DuckDB that the check alone uses: its tables, its functions, and how inputs come in.

The functions are those of the checker of certificates (`constat.check`), on the texts of values,
so that what computes here is not what computed in the run. One that has no value there fails the
statement. Rows come in as Python values or as a stream of Arrow; what no column here holds exactly
is refused, never rounded.
"""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from inspect import Parameter, Signature
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from constat.catalog.interruptible import Deadline
from constat.check.functions import call, compare, operator_holds, round_to_places, signature_holds
from constat.check.values import parse, spell
from constat.evaluation import UNTIMED, Demand, RelationPredicate
from constat.evaluation.processor import set_up_duckdb
from constat.logic import Kind, has_null_cells
from constat.recount.statements import PLACES, Functions, RefusedError, fits, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from constat.evaluation import Answer, Clock, ExternalPredicate, Readable
    from constat.logic import Predicate, Row, Value

_NUMERIC: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
_BATCH: Final = 20_000
_REMEMBERED: Final = 1 << 16
_STREAM: Final = "incoming"


class Tables:
    """The database of one check. `seconds` and `memory` (bytes) bound what it may use.

    It reads and writes files in `folder` alone, and none without one.
    """

    def __init__(
        self, seconds: float, memory: int = 0, threads: int = 0, folder: Path | None = None
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

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        return self.number("SELECT count(*) FROM", table)

    def fresh(self) -> str:
        """Give the name of a table that is not there yet."""
        self._made += 1
        return f"t{self._made}"

    def empty(self, kinds: Sequence[Kind]) -> str:
        """Make a table without rows; without columns it has one that holds 0."""
        table = self.fresh()
        types = [type_of(kind) for kind in kinds] or ["BIGINT"]
        columns = ", ".join(f"c{place} {one}" for place, one in enumerate(types))
        self.run("CREATE TABLE", table, f"({columns})")
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

    def add_stream(self, table: str, stream: object, kinds: Sequence[Kind]) -> None:
        """Add the rows of a stream of Arrow, whose columns come in the order of the table's."""
        self.driver.register(_STREAM, _Stream(stream))
        try:
            given = self.run("DESCRIBE", _STREAM)
            if len(given) != max(1, len(kinds)) and kinds:
                raise RefusedError("a stream has other columns than its relation")
            outputs = [
                f'CAST("{name}" AS {type_of(kind)})'
                for (name, written, *_), kind in zip(given, kinds, strict=False)
                if _is_exact(str(written), kind)
            ]
            outputs = outputs or ["CAST(0 AS BIGINT)"]
            self.run("INSERT INTO", table, "SELECT", ", ".join(outputs), "FROM", _STREAM)
        finally:
            self.driver.unregister(_STREAM)
        if self.number("SELECT count(*) FROM", table, "WHERE", _nulls(kinds)):
            raise RefusedError("a cell without a value")

    def save(self, table: str, file: Path, names: Sequence[str]) -> None:
        """Write a table into a file of Parquet, in the order of its values."""
        columns = ", ".join(f"c{place} AS {_named(name)}" for place, name in enumerate(names))
        target = f"TO {_quoted(file)} (FORMAT parquet)"
        self.run("COPY (SELECT", columns or "c0", "FROM", table, "ORDER BY ALL)", target)

    def load(self, file: Path, kinds: Sequence[Kind]) -> str:
        """Make a table of a file that `save` wrote. Raises `ValueError` for another one."""
        source, table = f"read_parquet({_quoted(file)})", self.empty(kinds)
        given, own = self.run("DESCRIBE SELECT * FROM", source), self.run("DESCRIBE", table)
        if [one[1] for one in given] != [one[1] for one in own]:
            raise ValueError("it has other columns than its relation")
        self.run("INSERT INTO", table, "SELECT * FROM", source)
        if self.number("SELECT count(*) FROM", table, "WHERE", _nulls(kinds)):
            raise ValueError("it has a cell without a value")
        return table

    def batches(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, some at a time."""
        found = self.driver.execute(query)
        while rows := found.fetchmany(_BATCH):
            if self.late:
                raise RefusedError("the time for it was up")
            yield from rows

    # ------------------------------------------------------------------------------ functions

    def _call(self, function: str, given: tuple[Kind, ...], result: Kind) -> str:
        names = tuple(kind.value for kind in given)
        if not signature_holds(function, names, result.value):
            raise RefusedError(f"the function `{function}`")

        @lru_cache(_REMEMBERED)
        def computed(*values: Value) -> Value:
            texts = tuple(_spelled(one, kind) for one, kind in zip(values, given, strict=True))
            return _value(call(function, names, result.value, texts), result)

        return self._function(("call", function, given, result), computed, given, type_of(result))

    def _test(self, operator: str, kind: Kind) -> str:
        if not operator_holds(operator, kind.value):
            raise RefusedError(f"the comparison `{operator}`")

        @lru_cache(_REMEMBERED)
        def decided(left: Value, right: Value) -> bool:
            found = compare(operator, kind.value, _spelled(left, kind), _spelled(right, kind))
            if found is None:
                raise ValueError("a comparison without a value")
            return found

        return self._function(("test", operator, kind), decided, (kind, kind), "BOOLEAN")

    def _fold(self, function: str, kind: Kind, result: Kind) -> str:
        if function not in {"sum", "mean"} or kind not in _NUMERIC:
            raise RefusedError(f"the aggregate `{function}` of such values")

        def folded(values: list[Value]) -> Value:
            numbers = [parse(kind.value, _spelled(one, kind)) for one in values]
            total = sum(map(Fraction, numbers), Fraction())
            if function == "mean":
                total /= len(values)
            return _value(_rounded(total, result), result)

        key = ("fold", function, kind, result)
        if key not in self._known:
            self._create(key, folded, [f"{type_of(kind)}[]"], type_of(result))
        return self._known[key]

    def _function(
        self,
        key: tuple[object, ...],
        computed: Callable[..., object],
        given: tuple[Kind, ...],
        result: str,
    ) -> str:
        if key not in self._known:
            self._create(key, computed, [type_of(kind) for kind in given], result)
        return self._known[key]

    def _create(
        self,
        key: tuple[object, ...],
        computed: Callable[..., object],
        given: Sequence[str],
        result: str,
    ) -> None:
        def plain(*values: object) -> object:
            return computed(*values)

        # The driver evaluates annotations, and looks at the signature for how many values it takes.
        plain.__annotations__ = {}
        listed = [Parameter(f"v{n}", Parameter.POSITIONAL_ONLY) for n in range(len(given))]
        plain.__signature__ = Signature(listed)  # type: ignore[attr-defined]  # `inspect` looks there
        name = self._known[key] = f"f{len(self._known)}"
        self.driver.create_function(name, plain, list(given), result)


class _Stream:
    """A stream and nothing else: a relation of another connection cannot be read as one of ours."""

    def __init__(self, source: object) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # a stream


def _quoted(file: Path) -> str:
    text = str(file.resolve()).replace("'", "''")
    return f"'{text}'"


def _named(name: str) -> str:
    text = name.replace('"', '""')
    return f'"{text}"'


def _nulls(kinds: Sequence[Kind]) -> str:
    return " OR ".join(f"c{place} IS NULL" for place in range(max(1, len(kinds))))


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
        raise ValueError("a function without a value")
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


# Whoever answers is asked for everything once more, in the read transaction of the run where there
# is one. What is less than complete, assumed, possible, or holds cells without a value is refused:
# the check has no clause for it yet, and says so.

# What costs as much is paid for by the question: nobody asks it for everything.
_DEAR: Final = 1_000
_MOST_ROWS: Final = 2_000_000_000
_EVERYTHING: Final = ((),)


def read_input(
    tables: Tables,
    predicate: Predicate,
    external: ExternalPredicate | None,
    clock: Clock = UNTIMED,
) -> str:
    """Give a table with all rows of a predicate, each once. Raises `RefusedError`."""
    table = tables.empty(predicate.kinds)
    if external is None:
        raise RefusedError(f"nobody gives the rows of {predicate.name}")
    if external.cost >= _DEAR:
        raise RefusedError(f"{predicate.name} is not asked for everything")
    demand = Demand(predicate, (), _EVERYTHING, clock)
    stream = None
    if isinstance(external, RelationPredicate) and Kind.STRUCTURE not in predicate.kinds:
        stream = external.as_relation(demand, _MOST_ROWS)
    if stream is not None:
        _streamed(tables, table, stream)
    else:
        tables.add_rows(table, _rows(external.answer(demand), predicate), predicate.kinds)
    return distinct(tables, table)


def _streamed(tables: Tables, table: str, stream: Readable) -> None:
    predicate = stream.predicate
    if stream.openings or stream.nulls:
        raise RefusedError(f"rows of {predicate.name} are not fully known")
    if stream.evidence.confidence != 1:
        raise RefusedError(f"the source of {predicate.name} has less than full confidence")
    tables.add_stream(table, stream.stream(), predicate.kinds)
    if stream.changed():
        raise RefusedError(f"the source of {predicate.name} changed while it was read")
    found = tables.count(table)
    if found != stream.rows:
        raise RefusedError(f"{predicate.name} has {found:,} rows, and {stream.rows:,} were told")


def _rows(answer: Answer, predicate: Predicate) -> Iterator[Row]:
    name = predicate.name
    if _EVERYTHING[0] not in answer.answered:
        raise RefusedError(f"not all rows of {name} were answered")
    if answer.openings:
        raise RefusedError(f"rows of {name} are not fully known")
    said = [*answer.authorities, *(one.evidence for one in answer.portions)]
    if any(one.confidence != 1 for one in said):
        raise RefusedError(f"the source of {name} has less than full confidence")
    for portion in answer.portions:
        if portion.assumption is not None:
            raise RefusedError(f"rows of {name} are assumed")
        for row in portion.rows:
            if has_null_cells(row):
                raise RefusedError(f"rows of {name} are not fully known")
            yield row


def distinct(tables: Tables, table: str) -> str:
    """Give the table, or one with its rows each once."""
    rows = tables.count(table)
    each = tables.number("SELECT count(*) FROM (SELECT DISTINCT * FROM", table, ") AS each_one")
    if each == rows:
        return table
    once = tables.fresh()
    tables.run("CREATE TABLE", once, "AS SELECT DISTINCT * FROM", table)
    return once
