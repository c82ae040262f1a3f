"""What PostgreSQL's types mean: how their cells are read, and what they can be compared with.

In: the numbers (OIDs) of types. Out: loaders for psycopg, and a `Family` per column. Invariants: no
value is rounded: a `real` becomes the float it is, an infinite date is no date; a type that is not
known here is spelled as the server spells it and is no text. Example: the OID 20 (`bigint`) is
NUMERIC, 2950 (`uuid`) is CAST. Reference: the catalogue `pg_type`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from datetime import date, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

from constat.catalog.connection import Single, Spelled
from constat.catalog.typed import Family

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import psycopg
    from psycopg.abc import Buffer

_BOOL, _BYTEA, _INT8, _INT2, _INT4, _FLOAT4, _FLOAT8, _NUMERIC = 16, 17, 20, 21, 23, 700, 701, 1700
_CHAR, _NAME, _TEXT, _BPCHAR, _VARCHAR, _UUID = 18, 19, 25, 1042, 1043, 2950
_DATE, _TIMESTAMP, _TIMESTAMPTZ = 1082, 1114, 1184
_FAMILIES: Final[Mapping[int, Family]] = MappingProxyType(
    {
        **dict.fromkeys((_INT2, _INT4, _INT8, _FLOAT4, _FLOAT8, _NUMERIC), Family.NUMERIC),
        **dict.fromkeys((_TEXT, _BPCHAR, _VARCHAR), Family.TEXT),
        **dict.fromkeys((_CHAR, _NAME, _UUID), Family.CAST),
    }
)
# psycopg reads these exactly: integers, floats of 64 bits, decimals, truth values, bytes.
_AS_THEY_ARE: Final = frozenset({_BOOL, _BYTEA, _INT2, _INT4, _INT8, _FLOAT8, _NUMERIC})
_NO_TYPE: Final = 0


@dataclass(slots=True)
class Names:
    """The types that a database has made itself: enumerations, `citext`, and others.

    `exact` where the server stores text without an encoding, so that it may be no UTF-8.
    """

    exact: bool = False
    labels: set[int] = field(default_factory=set)
    folding: set[int] = field(default_factory=set)
    other: set[int] = field(default_factory=set)

    def unknown(self, types: Iterable[int]) -> list[int]:
        """Give the types of which nothing has been heard."""
        known = self.labels | self.folding | self.other
        return [one for one in dict.fromkeys(types) if one >= _FIRST_OWN and one not in known]

    def add(self, asked: Iterable[int], told: Iterable[tuple[Any, ...]]) -> None:
        """Remember what was asked and what the server told: number, enumeration, `citext`."""
        self.other.update(asked)
        for number, is_enumeration, is_citext in told:
            if is_enumeration or is_citext:
                self.other.discard(number)
                (self.labels if is_enumeration else self.folding).add(number)


_FIRST_OWN: Final = 16_384


def families(types: Sequence[int], names: Names) -> tuple[Family, ...]:
    """Give what each column can be compared with."""
    return tuple(_family(one, names) for one in types)


def _family(number: int, names: Names) -> Family:
    if number in names.labels:
        # As text: a key that is no label would be an error, and it is simply not there.
        return Family.CAST
    if number in names.folding:
        return Family.TEXT
    return _FAMILIES.get(number, Family.OTHER)


def teach(link: psycopg.Connection[Any], names: Names) -> None:
    """Tell a connection how cells become values here."""
    adapters = link.adapters
    strange = _foreign(names)
    for known in {one.oid for one in adapters.types} | {one.array_oid for one in adapters.types}:
        if known not in _AS_THEY_ARE:
            adapters.register_loader(known, strange)
    adapters.register_loader(_NO_TYPE, strange)
    text = _AnyText if names.exact else TextLoader
    for number in (_TEXT, _VARCHAR, _BPCHAR, _NAME, _CHAR, _UUID):
        adapters.register_loader(number, text)
    adapters.register_loader(_FLOAT4, _Single)
    adapters.register_loader(_DATE, _Date)
    adapters.register_loader(_TIMESTAMP, _Moment)
    adapters.register_loader(_TIMESTAMPTZ, _Moment)


def _decoded(data: Buffer) -> str:
    # Bytes that are no UTF-8 become half surrogates, which no value may hold.
    return bytes(data).decode("utf-8", "surrogateescape")


class _AnyText(Loader):
    def load(self, data: Buffer) -> str:
        return _decoded(data)


class _Single(Loader):
    def load(self, data: Buffer) -> Single:
        # The shortest text of a 32 bit float names it among those, and not among 64 bit floats.
        value = float(bytes(data))
        return Single(struct.unpack("f", struct.pack("f", value))[0])


class _Date(Loader):
    def load(self, data: Buffer) -> date | Spelled:
        text = _decoded(data)
        try:
            return date.fromisoformat(text)
        except ValueError:
            return Spelled(text)


class _Moment(Loader):
    def load(self, data: Buffer) -> datetime | Spelled:
        text = _decoded(data)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return Spelled(text)


def _foreign(names: Names) -> type[Loader]:
    class Foreign(Loader):
        """Reads labels and `citext` as text; anything else is no text, however it is spelled."""

        def load(self, data: Buffer) -> str:
            text = _decoded(data)
            known = self.oid in names.labels or self.oid in names.folding
            return text if known else Spelled(text)

    return Foreign
