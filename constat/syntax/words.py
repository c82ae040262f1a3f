"""The words and operators of the rule language: taken, hinted at, refused."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.logic import AGGREGATES, COMPARISONS, Kind
from constat.logic.vocabulary import BITWISE

# A name that stock Souffle reserves cannot be declared here, so that what this parser accepts
# loads there unchanged.

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
SQL_WORDS: Final = frozenset({"in", "between", "like", "ilike", "regexp", "rlike"})
"""What stands between two terms in SQL and is no comparison here."""
AGGREGATE_HABITS: Final = MappingProxyType(
    {"avg": "mean", "average": "mean", "total": "sum", "minimum": "min", "maximum": "max"}
)
NO_VALUE_HABITS: Final = frozenset({"none", "nan", "na", "undefined", "missing", "unset"})
"""Names that other languages have for a value that is not there; as texts they may be meant."""
NO_VALUE_TESTS: Final = frozenset(
    {"is_null", "isnull", "isnan", "isna", "is_not_null", "notnull", "is_none", "known", "exists"}
)
TODAY_HABITS: Final = frozenset(
    {"now", "today", "current_date", "current_timestamp", "getdate", "sysdate", "curdate"}
)
TODAY_EDIT: Final = (
    "a day is a fact: declare `.decl today(day: Date)`, read it by `today(?day)`, and give it in"
    ' constat.yaml: `facts: {today: "2026-06-15"}`'
)

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


# The order is that of Souffle, so an expression without brackets means the same in both; `^` alone
# binds from the right.

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
