"""The words of the rule language: which are taken, which are hints, which are refused.

In: nothing. Out: constants. Invariant: a name that stock Souffle reserves cannot be declared
here, so that what this parser accepts loads there unchanged. Example: `count` is in `RESERVED`,
so `.decl r(count: number)` is an error.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.logic import AGGREGATES, COMPARISONS, Kind
from constat.logic.vocabulary import BITWISE

AGGREGATE_WORDS: Final = frozenset(AGGREGATES)
CONSTRAINT_WORDS: Final = frozenset(one for one in COMPARISONS if one.isalpha())
BASE_TYPES: Final = frozenset(kind.value for kind in Kind if kind is not Kind.STRUCTURE)
# Stock Souffle needs stand-ins for these four; a declaration that says the same is no conflict.
STAND_INS: Final = MappingProxyType(
    {"Date": "symbol", "Timestamp": "symbol", "Decimal": "float", "Bool": "symbol"}
)

HINTS: Final = frozenset(
    {"inline", "no_inline", "magic", "no_magic", "brie", "btree", "btree_delete"}
)
LEGACY_TAGS: Final = frozenset({"input", "output", "printsize"})
NEGATIONS: Final = frozenset({"not", "\\+", "~", "¬"})

RESERVED: Final = (
    AGGREGATE_WORDS
    | CONSTRAINT_WORDS
    | BITWISE
    | HINTS
    | LEGACY_TAGS
    | frozenset(
        {
            "and",
            "as",
            "autoinc",
            "cat",
            "debug_delta",
            "eqrel",
            "false",
            "fold",
            "if",
            "is",
            "nil",
            "not",
            "or",
            "ord",
            "overridable",
            "range",
            "recursive_iteration_cnt",
            "stateful",
            "strlen",
            "substr",
            "to_float",
            "to_number",
            "to_string",
            "to_unsigned",
            "true",
        }
    )
)

DIRECTIVES: Final = frozenset(
    {
        *("decl", "type", "input", "output", "printsize", "constraint"),
        *("include", "once", "pragma", "plan"),
    }
)
REFUSED_DIRECTIVES: Final = MappingProxyType(
    {
        "comp": "component",
        "init": "component",
        "override": "component",
        "functor": "functor",
        "lattice": "lattice",
        "limitsize": "limitsize",
        "number_type": "legacy",
        "symbol_type": "legacy",
        "debug_delta": "counter",
    }
)
REFUSED_FUNCTIONS: Final = MappingProxyType(
    {
        "autoinc": "autoinc",
        "ord": "ord",
        "recursive_iteration_cnt": "counter",
        "debug_delta": "counter",
    }
)

COMPARISON_SIGNS: Final = frozenset(COMPARISONS) - {
    sign for word in CONSTRAINT_WORDS for sign in (word, f"!{word}")
}
# What people of other languages write for a comparison, and what it is here.
COMPARISON_HABITS: Final = MappingProxyType(
    {
        "==": "=",
        "=:=": "=",
        ":=": "=",
        "is": "=",
        "=<": "<=",
        "≤": "<=",
        "=>": ">=",
        "≥": ">=",
        "<>": "!=",
        "\\=": "!=",
        "=\\=": "!=",
        "≠": "!=",
    }
)
CONNECTIVE_HABITS: Final = MappingProxyType(
    {
        "&&": ",",
        "&": ",",
        "and": ",",
        "∧": ",",
        "||": ";",
        "|": ";",
        "or": ";",
        "\N{LOGICAL OR}": ";",
    }
)
ARROW_HABITS: Final = frozenset({"->", "=>", ":=", "if", "←", "→", ":", "<=", "=", "⇐"})
MACROS: Final = frozenset(
    {
        "define",
        "elif",
        "else",
        "endif",
        "error",
        "if",
        "ifdef",
        "ifndef",
        "include",
        "line",
        "undef",
    }
)
