"""The words of the language: functions, aggregates, comparisons, each with its meaning.

Syntax, analysis, back ends, portability and `docs/language.md` read them here; what a function
takes and gives is in `functors`. The checkers keep their own, which tests compare with these.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.frozen import frozen


@frozen
class Word:
    """What a function means; `total` where it errs on no values, `souffle` where Soufflé has it."""

    meaning: str
    total: bool = False
    souffle: bool = True


FUNCTIONS: Final = MappingProxyType(
    {
        "+": Word("the sum"),
        "-": Word("the difference"),
        "*": Word("the product"),
        "/": Word("the quotient; of whole numbers cut off towards zero"),
        "^": Word("the power"),
        "%": Word("the remainder, with the sign of the dividend"),
        "band": Word("bits that both have", total=True),
        "bor": Word("bits that one or both have", total=True),
        "bxor": Word("bits that exactly one has", total=True),
        "bshl": Word("bits moved to the left"),
        "bshr": Word("bits moved to the right, the sign kept"),
        "bshru": Word("bits moved to the right, zeros before them"),
        "land": Word("1 where both are not 0, else 0", total=True),
        "lor": Word("1 where one or both are not 0, else 0", total=True),
        "lxor": Word("1 where exactly one is not 0, else 0", total=True),
        "neg": Word("the number with the other sign, written `-?x`"),
        "bnot": Word("all bits turned round", total=True),
        "lnot": Word("1 for 0, else 0", total=True),
        "min": Word("the least of two or more", total=True),
        "max": Word("the greatest of two or more", total=True),
        "cat": Word("texts joined, at most 1,048,576 bytes"),
        "strlen": Word("the number of bytes", total=True),
        "substr": Word("a part of a text: start from 0 and length, in bytes"),
        "to_string": Word("the value as a text", total=True),
        "to_number": Word("a text as a whole number; a number without its fraction"),
        "to_unsigned": Word("the same, not below 0"),
        "to_float": Word("a text or number as a float"),
        "to_decimal": Word("a text or number as a Decimal", souffle=False),
        "days_between": Word("days from the first to the second", total=True, souffle=False),
        "years_between": Word(
            "whole years from the first to the second", total=True, souffle=False
        ),
        "date_add": Word("the day so many days later", souffle=False),
        "year": Word("the year", total=True, souffle=False),
        "month": Word("the month, 1 to 12", total=True, souffle=False),
        "day": Word("the day of the month", total=True, souffle=False),
        "quarter": Word("the quarter, 1 to 4", total=True, souffle=False),
        "date_of": Word("the day of a Timestamp, in UTC", total=True, souffle=False),
        "as": Word("the same value as another type, `as(?x, Decimal)`"),
    }
)
BITWISE: Final = frozenset(
    {"band", "bor", "bxor", "bnot", "bshl", "bshr", "bshru", "land", "lor", "lxor", "lnot"}
)
"""The functions that are words between or before terms."""

AGGREGATES: Final = MappingProxyType(
    {
        "sum": "the sum of the target over all bindings; 0 of none",
        "count": "how many bindings there are; 0 of none",
        "min": "the least target; no row of none",
        "max": "the greatest target; no row of none",
        "mean": "the sum divided by the count, rounded once; no row of none",
    }
)
COMPARISONS: Final = MappingProxyType(
    {
        "=": "the same value; binds a variable that nothing else binds",
        "!=": "another value",
        "<": "less; of texts by code point",
        "<=": "less or the same",
        ">": "greater",
        ">=": "greater or the same",
        "match": "`match(pattern, text)`: the whole text matches",
        "!match": "the text does not match",
        "contains": "`contains(part, text)`: the part is in the text",
        "!contains": "the part is not in the text",
    }
)
