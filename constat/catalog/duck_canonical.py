"""How DuckDB itself spells a column's values in canonical form, where it can do so exactly.

In: the type of an output column and the declared kind. Out: a SELECT expression for the canonical
value and a condition that is true of values that have none, or nothing. Invariant: where the
condition is false, the expression gives what `read_cell` gives for the same cell. What DuckDB could
only approximate (text as decimals, floats as decimals) is left to `read_cell`. Example: a DATE
column of kind Date is `CAST(c0 AS VARCHAR)`, and a day after 9999-12-31 has no canonical form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from constat.logic import Kind

if TYPE_CHECKING:
    from constat.catalog.duck_types import DuckColumn

_NARROW: Final = frozenset({"tinyint", "smallint", "integer", "utinyint", "usmallint", "uinteger"})
_WIDE: Final = frozenset({"bigint", "ubigint", "hugeint", "uhugeint"})
_TIMES: Final = frozenset({"timestamp", "timestamp_s", "timestamp_ms"})
_ZONED: Final = "timestamp with time zone"
_LONGEST_TEXT: Final = 1 << 20
_DECIMAL: Final = re.compile(r"DECIMAL\(([0-9]+),\s*([0-9]+)\)\Z")
_MOST_DIGITS: Final = 38
_MOST_PLACES: Final = 12
_EXACT_FLOAT: Final = 1 << 53
_FLOAT_TEXT: Final = r"-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?"


@dataclass(frozen=True, slots=True)
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
    return None


def _decimal(name: str, column: DuckColumn) -> Spelling | None:
    found = _DECIMAL.match(column.written)
    if found is None:
        return None
    digits, places = int(found[1]), int(found[2])
    # What has more would be rounded on its way, or not fit.
    fits = places <= _MOST_PLACES and digits - places <= _MOST_DIGITS - _MOST_PLACES
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
    elif stored not in _TIMES:
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
