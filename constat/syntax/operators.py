"""The operators of terms: how tightly they bind, and how other languages spell them.

In: nothing. Out: constants for reading and for printing. Invariant: the order is that of Souffle,
so an expression without brackets means the same in both; `^` alone binds from the right. Example:
`-?x ^ 2 band 3` is `(-(?x ^ 2)) band 3`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

INFIX: Final = MappingProxyType(
    {
        "lor": 1,
        "lxor": 2,
        "land": 3,
        "bor": 4,
        "bxor": 5,
        "band": 6,
        **dict.fromkeys(("bshl", "bshr", "bshru"), 7),
        **dict.fromkeys(("+", "-"), 8),
        **dict.fromkeys(("*", "/", "%"), 9),
        "^": 11,
    }
)
"""How tightly an operator between two terms binds; words and signs alike."""

PREFIX_POWER: Final = 10
"""Signs bind more tightly than all but `^`."""
ATOMIC: Final = 12
PREFIX_WORDS: Final = frozenset({"bnot", "lnot"})
UNARY: Final = PREFIX_WORDS | {"neg"}

DOUBLED: Final = MappingProxyType({"*": "^", "<": "bshl", ">": "bshr"})
"""`**`, `<<` and `>>`: signs that mean something else when they stand twice."""
SIGN_HABITS: Final = MappingProxyType({"&": "band", "|": "bor", "&&": "land", "||": "lor"})
WORD_HABITS: Final = MappingProxyType(
    {
        **dict.fromkeys(("mod", "rem"), "%"),
        "div": "/",
        "xor": "bxor",
        "shl": "bshl",
        "shr": "bshr",
    }
)
