"""What the types of MySQL and MariaDB mean: how cells are read, what they can be compared with.

In: type codes of the protocol, with their character sets. Out: decoders for PyMySQL, and a `Family`
per column. Invariants: no value is rounded; a date that does not exist (`0000-00-00`) is no date
and no text. Example: the code 246 (`DECIMAL`) is NUMERIC, 254 (`CHAR`, `ENUM`) is TEXT.
Reference: https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pymysql import converters
from pymysql.constants import FIELD_TYPE

from constat.catalog.connection import Spelled
from constat.catalog.typed import Family

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NUMERIC: Final = frozenset({
    FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG,
    FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE, FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL,
})  # fmt: skip
_TEXT: Final = frozenset({
    FIELD_TYPE.VARCHAR, FIELD_TYPE.VAR_STRING, FIELD_TYPE.STRING, FIELD_TYPE.BLOB,
    FIELD_TYPE.TINY_BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB, FIELD_TYPE.ENUM,
    FIELD_TYPE.SET,
})  # fmt: skip
# The character set of bytes.
_BINARY: Final = 63


def families(columns: Iterable[tuple[int, int]]) -> tuple[Family, ...]:
    """Give what each column, a type code and a character set, can be compared with."""
    return tuple(_family(code, letters) for code, letters in columns)


def is_single(code: int) -> bool:
    """Tell whether a column holds floats of 32 bits."""
    return code == FIELD_TYPE.FLOAT


def _family(code: int, letters: int) -> Family:
    if code in _NUMERIC:
        return Family.NUMERIC
    return Family.TEXT if code in _TEXT and letters != _BINARY else Family.OTHER


def _date(text: str) -> date | Spelled:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return Spelled(text)


def _moment(text: str) -> datetime | Spelled:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return Spelled(text)


DECODERS: Final[Mapping[Any, Any]] = MappingProxyType({
    **{kind: one for kind, one in converters.conversions.items() if not isinstance(kind, int)},
    **dict.fromkeys(
        (
            FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG,
            FIELD_TYPE.LONGLONG, FIELD_TYPE.YEAR,
        ),
        int,
    ),
    FIELD_TYPE.DOUBLE: float,
    FIELD_TYPE.DECIMAL: Decimal,
    FIELD_TYPE.NEWDECIMAL: Decimal,
    FIELD_TYPE.DATE: _date,
    FIELD_TYPE.DATETIME: _moment,
    FIELD_TYPE.TIMESTAMP: _moment,
    # Spelled as the server does, and no text: a float with six digits, a time of day, JSON.
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.TIME, FIELD_TYPE.JSON), Spelled),
})  # fmt: skip
"""How PyMySQL turns parameters into literals, and cells into values."""
