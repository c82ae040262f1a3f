"""Values of every kind, with the awkward ones near the edges."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import MappingProxyType

from hypothesis import strategies as st

from constat.logic import NIL, RECORD, Kind, Value, canonical_decimal
from constat.logic.structures import construct

NUMBERS = st.one_of(
    st.integers(-9, 9),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([-(2**63), 2**63 - 1, 2**62, -1, 0, 2**53 + 1]),
)
UNSIGNED = st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1), st.just(2**64 - 1))
FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value or 0.0),
    st.sampled_from([1e308, -1e308, 5e-324, 0.1, 0.5, 1e16, 2.0**63, 3.0]),
)
DECIMALS = st.one_of(
    st.tuples(st.integers(-999, 999), st.integers(-3, 3)),
    st.tuples(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-38, 0)),
).map(lambda pair: canonical_decimal(Decimal((pair[0] < 0, digits(pair[0]), pair[1]))))
SYMBOLS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.text("aé€𝄞", max_size=6),
    st.sampled_from(
        [
            *("", "12", "+12", "-0", "1.50", "1e5", " 1", "1_0", "٣", "true", "1.", ".5", "1\n"),
            *("9" * 40, "0." + "1" * 40, "9" * 400, "0" * 5000 + "7", "99999999999999999999"),
            *("2024-02-29", "2023-02-29", "20240229", "2024-01-01T00:00:00.000000Z"),
            *("2024-01-01T00:00:00Z", "2024-01-01 00:00:00"),
        ]
    ),
)
DATES = st.one_of(
    st.dates(),
    st.dates(date(2023, 2, 26), date(2024, 3, 3)),
    st.sampled_from([date.min, date.max, date(2024, 2, 29), date(2023, 3, 1)]),
).map(date.isoformat)
TIMESTAMPS = st.datetimes().map(lambda moment: moment.isoformat(timespec="microseconds") + "Z")

LEAVES = MappingProxyType[Kind, st.SearchStrategy[Value]](
    {
        Kind.NUMBER: NUMBERS,
        Kind.UNSIGNED: UNSIGNED,
        Kind.FLOAT: FLOATS,
        Kind.SYMBOL: SYMBOLS,
        Kind.DATE: DATES,
        Kind.TIMESTAMP: TIMESTAMPS,
        Kind.DECIMAL: DECIMALS,
        Kind.BOOL: st.sampled_from(["true", "false"]),
    }
)
CONSTRUCTORS = st.sampled_from([RECORD, "$A", "$Add", "$_a1", "$nil"])
Fields = tuple[tuple[Kind, Value], ...]


def _made(constructor: str, fields: Fields) -> Value:
    return construct(constructor, tuple(kind for kind, _ in fields))(*(one for _, one in fields))


def fields_of(structures: st.SearchStrategy[Value]) -> st.SearchStrategy[Fields]:
    """Fields of any kinds, structures of those given among them."""
    leaves = [st.tuples(st.just(kind), values) for kind, values in LEAVES.items()]
    inner = st.tuples(st.just(Kind.STRUCTURE), structures)
    return st.lists(st.one_of(inner, *leaves), max_size=4).map(tuple)


STRUCTURES: st.SearchStrategy[Value] = st.recursive(
    st.sampled_from([NIL, "$Zero", "[]"]),
    lambda inner: st.builds(_made, CONSTRUCTORS, fields_of(inner)),
    max_leaves=8,
)
VALUES = MappingProxyType[Kind, st.SearchStrategy[Value]]({**LEAVES, Kind.STRUCTURE: STRUCTURES})


def digits(value: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(value))))


PATTERN_PARTS = st.sampled_from(
    [
        *("a", "b", "-", ".", "[ab]", "[^a]", "[a-c]", "[-a]", "[a-]", r"\d", r"\w", r"\S", r"\."),
        *("é", " ", r"\n", r"[\d_]", "[^\\s]", "()", "(a|)", "(a|ba)"),
    ]
)
REPETITIONS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "{0}", "{1,3}"])


def _repeated(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = st.tuples(parts, REPETITIONS).map("".join)
    sequence = st.lists(one, max_size=4).map("".join)
    return st.lists(sequence, min_size=1, max_size=3).map("|".join).map(lambda text: f"({text})")


PATTERNS = st.recursive(PATTERN_PARTS, _repeated, max_leaves=12)
"""Patterns inside the subset that Python's `re` reads in the same way."""

SCRAWLS = st.text("ab-^$()[]{}*+?|\\.,01d\n", max_size=12)
"""Texts that look like patterns, most of them outside the subset."""

TEXTS = st.text("ab-.c1_é \n", max_size=10)
