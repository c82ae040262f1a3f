"""Answers as CSV, JSON and JSON lines, piece by piece.

In: answers and the rows to write. Out: pieces of text; a row is written when it is read, so a
million rows need no more room than one. Invariants: no value changes. In JSON, integers beyond
2^53 - 1 and all decimals are texts, because many readers round them (RFC 7493, section 2.2). CSV is
that of RFC 4180, in UTF-8, with `verdict` behind the variables.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Final

from constat.cli.results import assumption_json, call_json
from constat.evaluation import Verdict
from constat.logic import Kind, NullCell, display_value
from constat.proof.render import defused
from constat.session.answers import Computed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.logic import Row, Value
    from constat.session import AnswerColumn, AnswerRow, Answers, Rows
    from constat.session.answers import RowCheck

_SAFE_INTEGER: Final = (1 << 53) - 1


class Shown:
    """The rows to write, and which of their columns; `models` is what models used for them."""

    def __init__(
        self, answers: Answers, rows: Rows, columns: Sequence[AnswerColumn], *, confidence: bool
    ) -> None:
        self.answers = answers
        self.rows = rows
        self.columns = tuple(columns)
        self.places = tuple(answers.columns.index(column) for column in columns)
        self.confidence = confidence
        self.models: dict[str, object] | None = None

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
                }
                for one in answers.reasons
            ],
        },
        "calls": [call_json(call) for call in answers.calls],
        "models": shown.models,
        "check": None if answers.check is None else _check_json(answers, answers.check),
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
