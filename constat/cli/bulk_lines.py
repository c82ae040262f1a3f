"""CSV and JSON lines of very many rows, written by DuckDB.

In: rows that lie in a DuckDB. Out: the same pieces of text as `row_formats` gives. Invariant: a row
is written here only where it is certain and its texts are plain letters and digits, which need no
quotes in CSV, JSON and goals; DuckDB leaves every other row, and every float and structure, to
Python. Example: of ten million customer numbers none becomes a Python value by itself.
"""

from __future__ import annotations

import json
import re
import secrets
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Final

from constat.cli.row_formats import csv_cells, csv_line, json_line
from constat.evaluation import Verdict
from constat.logic import Kind
from constat.session.stored_rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb

    from constat.cli.row_formats import Shown
    from constat.logic import Row, Value

# What needs no quotes as a constant of a goal, and none in CSV and JSON.
_PLAIN: Final = "[A-Za-z0-9][A-Za-z0-9_.:+@/-]*"
_SAFE_INTEGER: Final = (1 << 53) - 1
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
