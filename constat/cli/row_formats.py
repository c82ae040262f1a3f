"""Answers as CSV, JSON, JSON lines, Arrow and Parquet, piece by piece."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import re
import secrets
import shutil
from contextlib import contextmanager
from decimal import Decimal
from functools import reduce
from itertools import islice
from operator import and_
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.cli.results import assumption_json, call_json
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Verdict
from constat.evaluation.processor import set_up_duckdb
from constat.logic import Kind, NullCell, display_value
from constat.proof.render import defused
from constat.session.answers import Computed
from constat.session.rows import StoredRows
from constat.store.replacing import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType
    from typing import BinaryIO

    import duckdb

    from constat.cli.output import Pipe
    from constat.logic import Row, Value
    from constat.recount import Recount
    from constat.session import AnswerColumn, AnswerRow, Answers, Rows
    from constat.session.answers import RowCheck

_SAFE_INTEGER: Final = (1 << 53) - 1


class Shown:
    """The rows to write, and which of their columns.

    `models` is what models used for them; `given_before` says that rows were shown already, before
    their check had ended. `unplaced` counts the rows left out that may belong to those written.
    """

    def __init__(
        self, answers: Answers, rows: Rows, columns: Sequence[AnswerColumn], *, confidence: bool
    ) -> None:
        self.answers = answers
        self.rows = rows
        self.columns = tuple(columns)
        self.places = tuple(answers.columns.index(column) for column in columns)
        self.confidence = confidence
        self.models: dict[str, object] | None = None
        self.given_before = False
        self.unplaced = 0

    def values(self, row: AnswerRow) -> tuple[Value, ...]:
        """Give the values of the columns that are written."""
        return tuple([row.values[place] for place in self.places])

    def extra(self) -> tuple[str, ...]:
        """Name the columns behind the variables; a variable of the same name keeps it."""
        names = ("verdict", "confidence", "assumptions")
        taken = {column.name for column in self.columns}
        wanted = names if self.confidence else (names[0], names[2])
        return tuple(_free(name, taken) for name in wanted)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def csv_pieces(shown: Shown, *, spreadsheet: bool) -> Iterator[str]:
    """Write CSV; with `spreadsheet`, texts hold no formula and no control character."""
    yield csv_line([*(column.name for column in shown.columns), *shown.extra()])
    for row in shown.rows:
        yield csv_line(csv_cells(shown, row, spreadsheet=spreadsheet))


def csv_line(cells: Sequence[str]) -> str:
    """Write one record of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()


def csv_cells(shown: Shown, row: AnswerRow, *, spreadsheet: bool = False) -> list[str]:
    """Give the cells of a row; what nobody knows is empty."""
    kinds = [column.kind for column in shown.columns]
    cells = [
        "" if isinstance(value, NullCell) else display_value(value, kind)
        for value, kind in zip(shown.values(row), kinds, strict=True)
    ]
    extra = _extra_cells(shown, row)
    if spreadsheet:
        told = zip(cells, kinds, strict=True)
        cells = [cell if kind.numeric else defused(cell) for cell, kind in told]
        extra = map(defused, extra)
    return [*cells, *extra]


def _extra_cells(shown: Shown, row: AnswerRow) -> Iterator[str]:
    yield row.verdict.value
    if shown.confidence:
        yield "" if row.confidence is None else f"{row.confidence:f}"
    yield "; ".join(one.text for one in row.assumptions)


def json_line_pieces(shown: Shown) -> Iterator[str]:
    """Write one JSON object for each row, each on a line."""
    for row in shown.rows:
        yield json_line(shown, row)


def json_line(shown: Shown, row: AnswerRow) -> str:
    """Write one row as a line."""
    return json.dumps(row_json(shown, row), ensure_ascii=True) + "\n"


def json_pieces(shown: Shown, left_out: int) -> Iterator[str]:
    """Write one JSON object whose last member is the rows."""
    head = json.dumps(answers_json(shown, left_out), indent=2, ensure_ascii=True)
    yield head.removesuffix("\n}") + ',\n  "rows": ['
    separator = "\n    "
    for row in shown.rows:
        yield separator + json.dumps(row_json(shown, row), ensure_ascii=True)
        separator = ",\n    "
    yield "\n  ]\n}\n" if len(shown.rows) else "]\n}\n"


def answers_json(shown: Shown, left_out: int) -> dict[str, object]:
    """Give everything but the rows."""
    answers = shown.answers
    return {
        "query": answers.query,
        "status": answers.settled.value,
        "exit_code": answers.exit_code,
        "created": answers.created,
        "snapshot": answers.snapshot,
        "columns": [{"name": one.name, "kind": one.kind.value} for one in shown.columns],
        "counts": {
            "proved": answers.count(Verdict.PROVED),
            "proved_under": answers.count(Verdict.PROVED_UNDER),
            "computed": answers.count(Computed.CERTAIN),
            "computed_under": answers.count(Computed.UNDER),
            "unresolved": answers.count(Verdict.UNRESOLVED),
            "excluded_under": answers.excluded,
            "fewest": len(answers) if answers.fewest is None else answers.fewest,
            "shown": len(shown.rows),
            "left_out": left_out,
            "unplaced": shown.unplaced,
        },
        "assumptions": [assumption_json(one) for one in answers.assumptions],
        "conflicts": list(answers.conflicts),
        "open": {
            "shapes": answers.open_shapes,
            "stopped": answers.stopped,
            "reasons": [
                {
                    "predicate": one.predicate,
                    "reason": one.reason,
                    "tier": one.tier,
                    "count": one.count,
                    "goal": one.goal,
                    "others": list(one.others),
                    "edit": one.edit,
                }
                for one in answers.reasons
            ],
        },
        "calls": [call_json(call) for call in answers.calls],
        "models": shown.models,
        "check": None if answers.check is None else _check_json(answers, answers.check),
        "recount": None if answers.recount is None else _recount_json(answers, answers.recount),
    }


def _recount_json(answers: Answers, found: Recount) -> dict[str, object]:
    pairs = [list(zip(answers.columns, row, strict=False)) for row in found.examples]
    return {
        "state": found.state.value,
        "why": found.why,
        "extra": found.extra,
        "missing": found.missing,
        "examples": [
            {column.name: value_json(value, column.kind) for column, value in one} for one in pairs
        ],
    }


def _check_json(answers: Answers, check: RowCheck) -> dict[str, object]:
    def values(row: Row) -> dict[str, object]:
        pairs = zip(answers.columns, row, strict=True)
        return {column.name: value_json(value, column.kind) for column, value in pairs}

    return {
        "asked": check.asked,
        "proved": len(check.proved),
        "differences": [
            {
                "values": values(one.row),
                "goal": one.goal,
                "said": one.said,
                "verdict": one.verdict or None,
                "reason": one.reason,
            }
            for one in check.differences
        ],
    }


def row_json(shown: Shown, row: AnswerRow) -> dict[str, object]:
    """Give one row."""
    values = zip(shown.columns, shown.values(row), strict=True)
    told: dict[str, object] = {
        "values": {column.name: value_json(value, column.kind) for column, value in values},
        "verdict": row.verdict.value,
        "goals": list(row.goals),
        "assumptions": [one.text for one in row.assumptions],
    }
    if shown.confidence:
        told["confidence"] = None if row.confidence is None else f"{row.confidence:f}"
    return told


def value_json(value: Value | NullCell, kind: Kind) -> object:
    """Give a value as JSON that every reader reads alike; what nobody knows is null."""
    if isinstance(value, NullCell):
        return None
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            small = -_SAFE_INTEGER <= int(value) <= _SAFE_INTEGER
            return value if small else str(value)
        case Kind.FLOAT:
            return value
        case Kind.BOOL:
            return value == "true"
        case _:
            return display_value(value, kind)


# A row is written here only where it is certain and its texts are plain letters and digits, which
# need no quotes in CSV, JSON and goals; DuckDB leaves every other row, and every float and
# structure, to Python.

# What needs no quotes as a constant of a goal, and none in CSV and JSON.
_PLAIN: Final = "[A-Za-z0-9][A-Za-z0-9_.:+@/-]*"
_WHOLE_SECOND: Final = ".000000Z"
# A float is spelled by Python alone; a structure is never plain.
_BY_HAND: Final = frozenset({Kind.FLOAT, Kind.STRUCTURE})


def stored_rows(shown: Shown) -> StoredRows | None:
    """Give the rows where they lie in a DuckDB and DuckDB can write them."""
    rows = shown.rows.values
    kinds = {column.kind for column in shown.answers.columns}
    if shown.confidence or not kinds or kinds & _BY_HAND or not isinstance(rows, StoredRows):
        return None
    if shown.answers.check is not None and shown.answers.check.proved:
        # Rows that were proved one by one are called otherwise than those beside them.
        return None
    return rows if rows.unproved or not shown.answers.weak else None


def bulk_csv_pieces(shown: Shown, rows: StoredRows) -> Iterator[str]:
    """Write CSV; see `row_formats.csv_pieces`."""
    yield csv_line([*(column.name for column in shown.columns), *shown.extra()])

    def by_hand(row: Row) -> str:
        return csv_line(csv_cells(shown, shown.answers.row(row)))

    yield from _LineWriter(shown, rows).csv(by_hand)


def bulk_json_line_pieces(shown: Shown, rows: StoredRows) -> Iterator[str]:
    """Write one JSON object for each row; see `row_formats.json_line_pieces`."""

    def by_hand(row: Row) -> str:
        return json_line(shown, shown.answers.row(row))

    yield from _LineWriter(shown, rows).json_lines(by_hand)


class _LineWriter:
    """Writes lines of text, each from parts that DuckDB joins."""

    def __init__(self, shown: Shown, rows: StoredRows) -> None:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        self._duckdb = duckdb
        self._shown = shown
        self._rows = rows
        self._kinds = [column.kind for column in shown.answers.columns]
        self._verdict = shown.answers.unchecked(Verdict.PROVED).value

    def csv(self, by_hand: Callable[[Row], str]) -> Iterator[str]:
        """Yield the rows of CSV."""
        parts: list[duckdb.Expression] = []
        for place in self._shown.places:
            parts += [self._text(place), self._word(",")]
        yield from self._lines([*parts, self._word(f"{self._verdict},\r\n")], by_hand)

    def json_lines(self, by_hand: Callable[[Row], str]) -> Iterator[str]:
        """Yield one JSON object for each row."""
        parts: list[duckdb.Expression] = []
        before = '{"values": {'
        for column, place in zip(self._shown.columns, self._shown.places, strict=True):
            parts += [self._word(f"{before}{json.dumps(column.name)}: "), self._json(place)]
            before = ", "
        parts += [self._word(f'}}, "verdict": "{self._verdict}", "goals": '), *self._goals()]
        yield from self._lines([*parts, self._word(', "assumptions": []}\n')], by_hand)

    def _goals(self) -> Iterator[duckdb.Expression]:
        """Write the goals of a row: those of a row of marks, with values for the marks."""
        marks = [_mark(kind, place) for place, kind in enumerate(self._kinds)]
        text = json.dumps(list(self._shown.answers.show(tuple(marks))))
        places = {str(mark): place for place, mark in enumerate(marks)}
        for piece in re.split(f"({'|'.join(map(re.escape, places))})", text):
            place = places.get(piece)
            yield self._word(piece) if place is None else self._text(place)

    def _lines(
        self, parts: Sequence[duckdb.Expression], by_hand: Callable[[Row], str]
    ) -> Iterator[str]:
        duckdb = self._duckdb
        line, plain = duckdb.FunctionExpression("concat", *parts), self._is_plain()
        if plain is None:
            told = [line.alias("line")]
        else:
            # Values travel only with the rows that are written by hand.
            missing = duckdb.ConstantExpression(None)
            told = [duckdb.CaseExpression(plain, line).otherwise(missing).alias("line")]
            told += [
                duckdb.CaseExpression(plain, missing).otherwise(self._column(place))
                for place in range(len(self._kinds))
            ]
        for batch in self._rows.batches(self._rows.selected().select(*told)):
            yield "".join(
                [
                    str(row[0]) if row[0] is not None else by_hand(self._rows.canonical(row[1:]))
                    for row in batch
                ]
            )

    def _is_plain(self) -> duckdb.Expression | None:
        """Tell whether a row is certain and its texts are plain; nothing where all rows are."""
        tests = [
            self._call("regexp_full_match", self._column(place), self._word(_PLAIN))
            for place, kind in enumerate(self._kinds)
            if kind is Kind.SYMBOL
        ]
        if self._rows.unproved:
            tests.append(~self._duckdb.ColumnExpression(self._rows.unproved))
        return reduce(and_, tests) if tests else None

    def _text(self, place: int) -> duckdb.Expression:
        """Write a value as `display_value` does."""
        column = self._column(place)
        match self._kinds[place]:
            case Kind.NUMBER | Kind.UNSIGNED:
                return self._spelled(column)
            case Kind.DECIMAL:
                text = self._spelled(column)
                short = self._call(
                    "rtrim", self._call("rtrim", text, self._word("0")), self._word(".")
                )
                return self._either(self._call("contains", text, self._word(".")), short, text)
            case Kind.TIMESTAMP:
                whole = self._call("ends_with", column, self._word(_WHOLE_SECOND))
                cut = self._call(
                    "left", column, self._duckdb.ConstantExpression(-len(_WHOLE_SECOND))
                )
                return self._either(whole, self._call("concat", cut, self._word("Z")), column)
            case _:
                return column

    def _json(self, place: int) -> duckdb.Expression:
        """Write a value as `value_json` does."""
        text = self._text(place)
        quoted = self._call("concat", self._word('"'), text, self._word('"'))
        match self._kinds[place]:
            case Kind.BOOL:
                return text
            case Kind.NUMBER | Kind.UNSIGNED:
                most = self._duckdb.ConstantExpression(_SAFE_INTEGER)
                least = self._duckdb.ConstantExpression(-_SAFE_INTEGER)
                column = self._column(place)
                return self._either((column >= least) & (column <= most), text, quoted)
            case _:
                return quoted

    def _column(self, place: int) -> duckdb.Expression:
        return self._duckdb.ColumnExpression(f"v{place}")

    def _word(self, text: str) -> duckdb.Expression:
        return self._duckdb.ConstantExpression(text)

    def _call(self, function: str, *arguments: duckdb.Expression) -> duckdb.Expression:
        return self._duckdb.FunctionExpression(function, *arguments)

    def _either(
        self, test: duckdb.Expression, one: duckdb.Expression, other: duckdb.Expression
    ) -> duckdb.Expression:
        return self._duckdb.CaseExpression(test, one).otherwise(other)

    def _spelled(self, column: duckdb.Expression) -> duckdb.Expression:
        return column.cast("VARCHAR")


def _mark(kind: Kind, place: int) -> Value:
    """Make a value of a kind whose spelling stands nowhere else."""
    digits = f"7{secrets.randbits(100):031d}{place:03d}7"
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return int(digits)
        case Kind.DECIMAL:
            return Decimal(digits)
        case _:
            return f"mark{digits}"


# No value changes. A column whose values do not fit one DECIMAL(38, s) is an error that names it,
# not a rounded number.

_BATCH: Final = 20_000
_DIGITS: Final = 38
_TYPES: Final = MappingProxyType(
    {
        Kind.NUMBER: "BIGINT",
        Kind.UNSIGNED: "UBIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.SYMBOL: "VARCHAR",
        Kind.STRUCTURE: "VARCHAR",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMPTZ",
        Kind.BOOL: "BOOLEAN",
    }
)


@contextmanager
def typed_answers(shown: Shown) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a DuckDB in which the rows are the table `answers`."""
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    plain = not shown.confidence and shown.answers.alike
    if isinstance(shown.rows.values, StoredRows) and plain:
        # The DuckDB that holds the rows is locked down; it hands them to one that may write.
        with duckdb.connect() as connection:
            set_up_duckdb(connection).execute("SET TimeZone = 'UTC'")
            connection.register("answers", _stored(shown))
            yield connection
        return
    types = [_type(shown, place) for place in range(len(shown.columns))]
    types += ["VARCHAR", *(["DECIMAL(7, 6)"] if shown.confidence else []), "VARCHAR[]"]
    names = [*(column.name for column in shown.columns), *shown.extra()]
    # On disk, so that a million rows need not be held twice.
    with (
        Scratch() as folder,
        duckdb.connect(os.fspath(folder.path / "answers.duckdb")) as connection,
    ):
        _fill(set_up_duckdb(connection), shown, names, types)
        yield connection


def _stored(shown: Shown) -> object:
    import duckdb  # noqa: PLC0415  heavy library, loaded on first use

    # Most queries start without what holds rows in a DuckDB.
    from constat.session.rows import ArrowRows, arrow_rows  # noqa: PLC0415  loaded when it is used

    typed = arrow_rows(shown.rows, shown.columns)
    names = [*(column.name for column in shown.columns), *shown.extra()]
    empty = duckdb.ConstantExpression([]).cast("VARCHAR[]").alias(names[-1])
    return ArrowRows(typed.relation.select(duckdb.StarExpression(), empty), typed.database)


def _fill(
    connection: duckdb.DuckDBPyConnection, shown: Shown, names: list[str], types: list[str]
) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in zip(names, types, strict=True))
    connection.execute(f"CREATE TABLE answers ({columns})")
    # Lists travel as they are: no text is made of a value that DuckDB would have to read again.
    wanted = ", ".join(_unnested(kind) for kind in types)
    statement = f"INSERT INTO answers SELECT {wanted}"
    rows = iter(shown.rows)
    while batch := list(islice(rows, _BATCH)):
        connection.execute(statement, _columns(shown, batch))


def _columns(shown: Shown, batch: list[AnswerRow]) -> list[list[object]]:
    values = [shown.values(row) for row in batch]
    found: list[list[object]] = []
    for place, column in enumerate(shown.columns):
        # A value that nobody knows is NULL.
        cells = [None if isinstance(row[place], NullCell) else row[place] for row in values]
        texts = column.kind in {Kind.DECIMAL, Kind.BOOL, Kind.TIMESTAMP, Kind.DATE}
        found.append([None if one is None else str(one) for one in cells] if texts else [*cells])
    found.append([row.verdict.value for row in batch])
    if shown.confidence:
        found.append([None if row.confidence is None else str(row.confidence) for row in batch])
    found.append([[one.text for one in row.assumptions] for row in batch])
    return found


def _unnested(kind: str) -> str:
    match kind:
        case "VARCHAR[]":
            return "unnest(CAST(? AS VARCHAR[][]))"
        case "BIGINT" | "UBIGINT" | "DOUBLE" | "VARCHAR":
            return f"unnest(CAST(? AS {kind}[]))"
        case _:
            return f"CAST(unnest(CAST(? AS VARCHAR[])) AS {kind})"


def _type(shown: Shown, place: int) -> str:
    column = shown.columns[place]
    if column.kind is not Kind.DECIMAL:
        return _TYPES[column.kind]
    whole, places = 1, 0
    for value in _decimals(shown, place):
        _, digits, exponent = value.as_tuple()
        after = max(0, -exponent) if isinstance(exponent, int) else 0
        places = max(places, after)
        whole = max(whole, len(digits) - after)
    if whole + places > _DIGITS:
        message = f"the values of `?{column.name}` do not fit one column of 38 digits in Parquet"
        note = f"they have up to {whole} digits before and {places} behind the point"
        raise ConstatError(
            [Diagnostic("C0433", message, note=note, help="write `--format csv` or `jsonl`")]
        )
    return f"DECIMAL(38, {places})"


def _decimals(shown: Shown, place: int) -> Iterator[Decimal]:
    cells = (shown.values(row)[place] for row in shown.rows)
    yield from (Decimal(cell) for cell in cells if not isinstance(cell, NullCell))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# No value changes. Reference:
# https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format


def write_arrow(shown: Shown, stream: BinaryIO | Pipe) -> None:
    """Write the rows to a stream; raises `ConstatError` where the library is not installed."""
    ipc = _library()
    with typed_answers(shown) as holder, ipc.StreamWriter.from_writable(stream) as writer:
        writer.write_stream(holder.table("answers"))


def _library() -> ModuleType:
    try:
        return importlib.import_module("nanoarrow.ipc")
    except ImportError:
        message = "Arrow streams are written by a library that is not installed"
        help_ = "run `pip install 'constat[arrow]'`, or write `--format parquet`"
        raise ConstatError([Diagnostic("C0434", message, help=help_)]) from None


def write_parquet(shown: Shown, stream: BinaryIO) -> None:
    """Write the rows to a stream, by way of a temporary folder."""
    with Scratch() as folder, typed_answers(shown) as holder:
        target = folder.path / "answers.parquet"
        quoted = os.fspath(target).replace("'", "''")
        holder.execute(f"COPY answers TO '{quoted}' (FORMAT parquet)")
        with target.open("rb") as made:
            shutil.copyfileobj(made, stream, 1 << 20)
