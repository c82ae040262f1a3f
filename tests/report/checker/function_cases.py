"""Random calls of functions, comparisons, spellings and patterns.

In: a random generator.  Out: cases that both checkers can be asked.  Invariant: values are drawn
near the edges of their kinds, where two implementations differ if they differ at all.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

Call = tuple[str, list[str], str, list[str]]

NUMERIC: Final = ("number", "unsigned", "float", "Decimal")
CONVERSIONS: Final = (
    ("to_number", "number"),
    ("to_unsigned", "unsigned"),
    ("to_float", "float"),
    ("to_decimal", "Decimal"),
)
KINDS: Final = (*NUMERIC, "symbol", "Date", "Timestamp", "Bool")
LETTERS: Final = 'ab0 9.-+eé€\U0001f600\uffff\ue000\n\t"\\\x7f'
PARTS: Final = (
    *"ab0.|()[]{}*+?^$-,\\",
    "\\d",
    "\\W",
    "\\s",
    "\\-",
    "[a-b]",
    "[^a]",
    "{2}",
    "{0,3}",
    "{1,}",
    "(a|)",
    "[-a]",
    "[a-]",
    "\\n",
    "é",
    "\U0001f600",
)


def whole(rng: random.Random, low: int, high: int) -> int:
    """Return an integer of the range: small, near an end, near a power of two, or any."""
    near = rng.choice([0, low, high, 2 ** rng.randrange(64), -(2 ** rng.randrange(64))])
    value = near + rng.randrange(-3, 4) if rng.random() < 0.8 else rng.randint(low, high)
    return min(max(value, low), high)


def float_of(rng: random.Random) -> float:
    """Return a finite float: few digits, near a border of the kind, or any bits."""
    way = rng.randrange(4)
    if way == 0:
        value = rng.randrange(-40, 40) / rng.choice([1, 2, 3, 4, 10])
    elif way == 1:
        value = math.ldexp(rng.choice([1.0, -1.0, 1.5, 3.0]), rng.randrange(-1080, 1022))
    elif way == 2:
        value = 1.0 + rng.randrange(-5, 6) * 2.0**-52
    else:
        value = struct.unpack("<d", rng.randbytes(8))[0]
    return value + 0.0 if math.isfinite(value) else 0.5


def decimal_of(rng: random.Random) -> str:
    """Return a Decimal in its one spelling."""
    digits = str(rng.randrange(10 ** rng.choice([1, 2, 5, 12, 37, 38])))
    places = rng.choice([0, 0, 1, 2, 12, 13, 37, 38])
    digits = digits.zfill(places + 1)
    text = digits[: len(digits) - places].lstrip("0") or "0"
    fraction = digits[len(digits) - places :].rstrip("0") if places else ""
    text += f".{fraction}" if fraction else ""
    return f"-{text}" if rng.random() < 0.4 and text != "0" else text


def text_of(rng: random.Random) -> str:
    """Return a text: a numeral, a date, or letters of one to four bytes."""
    if rng.random() < 0.4:
        return rng.choice([decimal_of(rng), str(whole(rng, -(2**70), 2**70)), date_of(rng)])
    return "".join(rng.choice(LETTERS) for _ in range(rng.randrange(9)))


def date_of(rng: random.Random) -> str:
    """Return a day, often the last or the first of a month."""
    year = rng.choice([1, 4, 100, 1900, 1999, 2000, 2023, 2024, 9999])
    return f"{year:04}-{rng.choice([1, 2, 2, 3, 12]):02}-{rng.choice([1, 15, 28]):02}"


def value_of(rng: random.Random, kind: str) -> str:
    """Return a value of a kind."""
    match kind:
        case "number":
            return str(whole(rng, -(2**63), 2**63 - 1))
        case "unsigned":
            return str(whole(rng, 0, 2**64 - 1))
        case "float":
            return float_of(rng).hex()
        case "Decimal":
            return decimal_of(rng)
        case "Date":
            return rng.choice([date_of(rng), "2024-02-29", "2000-02-29", "9999-12-31"])
        case "Timestamp":
            return f"{date_of(rng)}T{rng.randrange(24):02}:00:59.00000{rng.randrange(10)}Z"
        case "Bool":
            return rng.choice(["true", "false"])
    return text_of(rng)


def signatures() -> Iterator[tuple[str, list[str], str]]:
    """Yield functions with the kinds of their arguments and of their result."""
    for kind in NUMERIC:
        for name in ("+", "-", "*", "/", "^", "min", "max"):
            yield name, [kind, kind], kind
        yield "neg", [kind], kind
        for name, to in CONVERSIONS:
            yield name, [kind], to
            yield name, ["symbol"], to
    for kind in ("number", "unsigned"):
        for name in ["%", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"]:
            yield name, [kind, kind], kind
        yield "bnot", [kind], kind
        yield "lnot", [kind], kind
    for one in KINDS:
        yield "to_string", [one], "symbol"
        for other in KINDS:
            yield "as", [one], other
    yield from (
        ("cat", ["symbol", "symbol"], "symbol"),
        ("strlen", ["symbol"], "number"),
        ("days_between", ["Date", "Date"], "number"),
        ("years_between", ["Date", "Date"], "number"),
        ("max", ["symbol", "symbol", "symbol"], "symbol"),
    )
    for kind in ("Date", "Timestamp"):
        for name in ("year", "month", "day", "quarter"):
            yield name, [kind], "number"
    yield "date_of", ["Timestamp"], "Date"


def calls(rng: random.Random, rounds: int) -> Iterator[Call]:
    """Yield calls of every function, so many of each."""
    for _ in range(rounds):
        for name, kinds, result in signatures():
            yield name, kinds, result, [value_of(rng, kind) for kind in kinds]
        few = [str(rng.randrange(-1, 9)), str(rng.randrange(-1, 9))]
        yield "substr", ["symbol", "number", "number"], "symbol", [text_of(rng), *few]
        for size in (10, 800_000, 2**62):
            days = str(rng.randrange(-size, size))
            yield "date_add", ["Date", "number"], "Date", [date_of(rng), days]
        for kind in ("number", "unsigned", "Decimal"):
            base = rng.choice([str(rng.randrange(12)), value_of(rng, kind)])
            yield "^", [kind, kind], kind, [base, str(rng.randrange(70))]
            yield "bshr" if kind == "number" else "+", [kind, kind], kind, [base, "3"]


def comparisons(rng: random.Random, rounds: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield comparisons of two values of a kind."""
    for _ in range(rounds):
        for kind in KINDS:
            for operator in ("=", "<", "<=", ">", ">=")[: 1 if kind == "Bool" else None]:
                left = value_of(rng, kind)
                right = left if rng.random() < 0.2 else value_of(rng, kind)
                yield operator, kind, left, right
        yield "contains", "symbol", text_of(rng)[:2], text_of(rng)


def patterns(rng: random.Random, rounds: int) -> Iterator[tuple[str, str]]:
    """Yield patterns, most of them nearly right, with texts."""
    for _ in range(rounds):
        pattern = "".join(rng.choice(PARTS) for _ in range(rng.randrange(1, 8)))
        for _ in range(3):
            yield pattern, "".join(rng.choice("ab0-]\n") for _ in range(rng.randrange(5)))


def spellings(rng: random.Random, rounds: int) -> Iterator[tuple[str, str]]:
    """Yield texts that are, or nearly are, spellings of a kind."""
    for _ in range(rounds):
        for kind in KINDS:
            text = list(value_of(rng, kind))
            if text and rng.random() < 0.7:
                text[rng.randrange(len(text))] = rng.choice(["", *"09-+.pxaTZ: 1"])
            yield kind, "".join(text)
