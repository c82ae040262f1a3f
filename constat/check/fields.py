"""The functions that make structures of values and take them apart.

In: a function, the kinds, the spelled arguments.  Out: the spelled result, or ``None`` for ⚡.
Invariant: what takes apart is total, so the order of a rule's literals decides no error; where
there is no such field of that kind it gives a fixed value, and a rule that means a certain
constructor asks for it beside the field.  FORMAT.md, section 4.

Example: ``call("field_of", "symbol", ("structure", "number"), ('[1, "a"]', "1")) == "a"``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from . import structures
from .values import KINDS, NUMERIC, STRUCTURE, is_spelled

APART: Final = frozenset({"constructor_of", "field_of"})

_NOTHING: Final = MappingProxyType(
    {
        "number": "0",
        "unsigned": "0",
        "float": "0x0.0p+0",
        "Decimal": "0",
        "symbol": "",
        "Date": "0001-01-01",
        "Timestamp": "0001-01-01T00:00:00.000000Z",
        "Bool": "false",
        STRUCTURE: structures.NIL,
    }
)


def is_about_structures(name: str) -> bool:
    """Tell whether the function makes structures or takes them apart."""
    return name in APART or structures.is_constructor(name)


def signature_holds(name: str, kinds: tuple[str, ...], result: str) -> bool:
    """Tell whether such a function takes these kinds and gives this one."""
    match name:
        case "constructor_of":
            return (kinds, result) == ((STRUCTURE,), "symbol")
        case "field_of":
            return kinds == (STRUCTURE, "number") and result in KINDS
        case _:
            return len(kinds) > 0 and result == STRUCTURE


def call(name: str, result: str, kinds: tuple[str, ...], args: tuple[str, ...]) -> str | None:
    """Evaluate such a function, whose signature holds."""
    match name:
        case "constructor_of":
            return structures.constructor_of(args[0])
        case "field_of":
            return _value(result, structures.field_at(args[0], int(args[1])))
        case _:
            return structures.made(name, tuple(map(_as_field, kinds, args)))


def _as_field(kind: str, text: str) -> str:
    return text if kind in NUMERIC or kind == STRUCTURE else structures.quoted(text)


def _value(kind: str, field: str | None) -> str:
    """Return the value of this kind that a field spells, or what stands for nothing."""
    if field is None:
        return _NOTHING[kind]
    if kind == STRUCTURE:
        # No text and no number begins with one of these, and every other field does.
        return field if field[0] in "[$n" else _NOTHING[kind]
    text = field if kind in NUMERIC else structures.unquoted(field)
    return text if text is not None and is_spelled(kind, text) else _NOTHING[kind]
