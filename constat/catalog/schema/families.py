"""What a declared type means, whatever the source: the kinds that its values could have.

In: the words of a declaration, such as `decimal(10,2) unsigned`. Out: kinds, the likeliest first; a
family for comparing two columns. Invariant: an unknown type gives no kind and no family, and is
then decided by the stored values. Example: `kinds_of("bigint(20) unsigned")` begins with NUMBER.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORD: Final = re.compile(r"[a-z][a-z0-9]*")
_ONE_BIT: Final = re.compile(r"(?:tinyint|bit)\(1\)")

_INTEGER: Final = (Kind.NUMBER, Kind.DECIMAL, Kind.SYMBOL)
_EXACT: Final = (Kind.DECIMAL, Kind.SYMBOL)
_BINARY: Final = (Kind.DECIMAL, Kind.FLOAT, Kind.SYMBOL)
_TEXT: Final = (Kind.SYMBOL,)
_DAY: Final = (Kind.DATE, Kind.TIMESTAMP, Kind.SYMBOL)
_MOMENT: Final = (Kind.TIMESTAMP, Kind.SYMBOL)
_TRUTH: Final = (Kind.BOOL, Kind.NUMBER, Kind.SYMBOL)
# No kind of the language is like these: a query casts them to text.
_FOREIGN: Final = frozenset(
    {"uuid", "json", "jsonb", "xml", "inet", "interval", "time", "struct", "map", "list", "union"}
)

_KINDS: Final[Mapping[str, tuple[Kind, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(
            [
                *("int", "integer", "bigint", "smallint", "mediumint", "tinyint", "hugeint"),
                *("serial", "bigserial", "smallserial", "int2", "int4", "int8", "year", "long"),
                *("ubigint", "uinteger", "usmallint", "utinyint", "uhugeint", "counter"),
            ],
            _INTEGER,
        ),
        **dict.fromkeys(("decimal", "numeric", "money", "number", "currency", "dec"), _EXACT),
        **dict.fromkeys(("float", "double", "real", "float4", "float8", "single"), _BINARY),
        **dict.fromkeys(
            [
                *("char", "varchar", "text", "string", "nvarchar", "nchar", "character", "clob"),
                *("tinytext", "mediumtext", "longtext", "bpchar", "enum", "set", "citext"),
                *("name", "varchar2", "nvarchar2", "longchar"),
            ],
            _TEXT,
        ),
        "date": _DAY,
        **dict.fromkeys(("datetime", "timestamp", "timestamptz", "smalldatetime"), _MOMENT),
        **dict.fromkeys(("bool", "boolean", "bit", "logical"), _TRUTH),
        **dict.fromkeys(_FOREIGN, _TEXT),
    }
)
_BYTES: Final = frozenset({"blob", "bytea", "binary", "varbinary", "longblob", "mediumblob"})


def kinds_of(declared: str) -> tuple[Kind, ...]:
    """Give the kinds that values of a declared type could have; nothing for an unknown type."""
    lowered = declared.lower()
    if _ONE_BIT.match(lowered):
        return _TRUTH
    found = _KINDS.get(_first(lowered), ())
    if found is _INTEGER and ("unsigned" in lowered or _first(lowered) in {"ubigint", "uinteger"}):
        return (Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL, Kind.SYMBOL)
    return found


def is_bytes(declared: str) -> bool:
    """Whether a declared type holds bytes, which are never values."""
    return _first(declared.lower()) in _BYTES


def is_foreign(declared: str) -> bool:
    """Whether values have to be cast to text in the query."""
    lowered = declared.lower()
    return "[" in lowered or _first(lowered) in _FOREIGN


def family_of(declared: str) -> str:
    """Name what a column can be compared with: `number`, `text`, `time`, or nothing."""
    kinds = kinds_of(declared)
    if not kinds:
        return "bytes" if is_bytes(declared) else ""
    if kinds[0].numeric:
        return "number"
    return {Kind.SYMBOL: "text", Kind.BOOL: "truth"}.get(kinds[0], "time")


def _first(lowered: str) -> str:
    found = _WORD.search(lowered)
    return found[0] if found else ""
