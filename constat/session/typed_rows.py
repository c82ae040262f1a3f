"""Answers as columns with exact types, for Arrow and Parquet.

In: answers, some of their rows and columns. Out: a relation of DuckDB whose columns have types:
BIGINT, UBIGINT, DOUBLE, VARCHAR, DATE, TIMESTAMP WITH TIME ZONE, BOOLEAN, and DECIMAL(38, s) with
as many places as the values have; the verdict stands behind them. Invariant: no value changes.
Example: `pyarrow.table(answers.to_arrow())`, `polars.DataFrame(answers.to_arrow())`.
Reference: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Resources, StrategyError, Verdict
from constat.logic import Atom, Kind, NullCell, Variable
from constat.plan.forward import Relation
from constat.session.frames import free_name
from constat.session.stored_rows import StoredRows
from constat.sql import Database

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from constat.logic import Value
    from constat.session.answers import AnswerColumn, Answers, Rows

_NAME = "answers"


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Rows that other libraries read by `__arrow_c_stream__`; each reading computes them anew."""

    relation: duckdb.DuckDBPyRelation
    database: Database

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.relation.__arrow_c_stream__(requested_schema)


def arrow_rows(rows: Rows, columns: Sequence[AnswerColumn]) -> ArrowRows:
    """Give some columns of some rows, and their verdicts. Raises `ConstatError`."""
    answers = rows.answers
    stored = _stored(rows)
    places = [answers.columns.index(column) for column in columns]
    return ArrowRows(_typed(stored, answers, columns, places), stored.database)


def _stored(rows: Rows) -> StoredRows:
    """Give the rows as they lie in a DuckDB, with the verdict as a last column where it varies."""
    answers = rows.answers
    if isinstance(rows.values, StoredRows) and answers.alike:
        return rows.values
    kinds = (*(column.kind for column in answers.columns), Kind.SYMBOL, Kind.NUMBER)
    database = Database(Resources(), allowed=())
    database.declare(Relation(_NAME, kinds, (False,) * len(kinds), given=True, derived=False))
    try:
        # The last column keeps the order that the rows have.
        numbered = enumerate(rows)
        cells = ((*map(_known, one.values), one.verdict.value, n) for n, one in numbered)
        database.load_rows(_NAME, cells)
    except StrategyError as problem:
        message = f"the answers do not fit columns of one type each: {problem}"
        raise ConstatError([Diagnostic("C0433", message, help="write CSV or JSON lines")]) from None
    free = Atom(_NAME, tuple(Variable(f"v{place}") for place in range(len(kinds))))
    from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

    relation = database.select(_NAME, free)
    named = [
        ColumnExpression(name).alias(f"v{place}") for place, name in enumerate(relation.columns)
    ]
    order = ((len(kinds) - 1, False),)
    return StoredRows(relation.select(*named), kinds, len(rows), database, order)


def _known(value: Value | NullCell) -> Value | None:
    """Give a value; nothing for one that nobody knows."""
    return None if isinstance(value, NullCell) else value


def _typed(
    stored: StoredRows, answers: Answers, columns: Sequence[AnswerColumn], places: Sequence[int]
) -> duckdb.DuckDBPyRelation:
    from duckdb import ColumnExpression, ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

    taken = {column.name for column in columns}
    told = [
        _cell(stored, column.kind, place).alias(column.name)
        for column, place in zip(columns, places, strict=True)
    ]
    width = len(answers.columns)
    plain = len(stored.kinds) == width
    alike = answers.unchecked(Verdict.PROVED).value
    verdict = ConstantExpression(alike) if plain else ColumnExpression(f"v{width}")
    return stored.selected().select(*told, verdict.alias(free_name("verdict", taken)))


def _cell(stored: StoredRows, kind: Kind, place: int) -> duckdb.Expression:
    from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

    column = ColumnExpression(f"v{place}")
    match kind:
        case Kind.DATE:
            return column.cast("DATE")
        case Kind.TIMESTAMP:
            return column.cast("TIMESTAMP WITH TIME ZONE")
        case Kind.BOOL:
            return column.cast("BOOLEAN")
        case Kind.DECIMAL:
            return column.cast(f"DECIMAL(38, {_places(stored, place)})")
        case _:
            return column


def _places(stored: StoredRows, place: int) -> int:
    """Give how many decimal places the values of a column need."""
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression  # noqa: PLC0415  heavy library, loaded on first use

    text = ColumnExpression(f"v{place}").cast("VARCHAR")
    short = FunctionExpression("rtrim", text, ConstantExpression("0"))
    point = FunctionExpression("strpos", text, ConstantExpression("."))
    used = FunctionExpression("length", short) - point
    found = stored.selected().aggregate([FunctionExpression("max", used)]).fetchall()
    return int(found[0][0] or 0)
