"""The functions that make structures of values and take them apart.

What takes apart is total, so the order of a rule's literals decides no error: where there is no
such field of that kind it gives a fixed value, and a rule that means a certain constructor asks for
it beside the field.  FORMAT.md, section 4.

Example: of ``[1, "a"]`` the ``field_of`` kind ``symbol`` and number 1 is ``a``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from .structures import Structure, Structures, is_constructor, quoted, unquoted
from .values import KINDS, NUMERIC, STRUCTURE, is_number_field, is_spelled

if TYPE_CHECKING:
    from .structures import Field
    from .values import Known

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
    }
)


def is_about_structures(name: str) -> bool:
    """Tell whether the function makes structures or takes them apart."""
    return name in APART or is_constructor(name)


def signature_holds(name: str, kinds: tuple[str, ...], result: str) -> bool:
    """Tell whether such a function takes these kinds and gives this one."""
    match name:
        case "constructor_of":
            return (kinds, result) == ((STRUCTURE,), "symbol")
        case "field_of":
            return kinds == (STRUCTURE, "number") and result in KINDS
        case _:
            return len(kinds) > 0 and result == STRUCTURE


def call(
    structures: Structures, name: str, kinds: tuple[str, ...], result: str, args: list[Known]
) -> Known | None:
    """Evaluate such a function, whose signature holds; ``None`` for ⚡."""
    whole = args[0]
    if name not in APART:
        return structures.made(name, tuple(map(_as_field, kinds, args)))
    if not isinstance(whole, Structure):
        raise TypeError(name)
    if name == "constructor_of":
        return whole.indicator
    place = int(str(args[1]))
    field = whole.fields[place] if 0 <= place < len(whole.fields) else None
    return _value(structures, result, field)


def on_texts(name: str, kinds: tuple[str, ...], result: str, texts: tuple[str, ...]) -> str | None:
    """Evaluate such a function on spelled values."""
    structures = Structures()
    args: list[Known] = []
    for kind, text in zip(kinds, texts, strict=True):
        found = structures.read(text, is_number_field) if kind == STRUCTURE else text
        if found is None:
            raise ValueError(text)
        args.append(found)
    value = call(structures, name, kinds, result, args)
    return None if value is None else str(value)


def _as_field(kind: str, value: Known) -> Field:
    return value if kind in NUMERIC or kind == STRUCTURE else quoted(str(value))


def _value(structures: Structures, kind: str, field: Field | None) -> Known:
    """Return the value of this kind that a field spells, or what stands for nothing."""
    if kind == STRUCTURE:
        return field if isinstance(field, Structure) else structures.nil
    if not isinstance(field, str):
        return _NOTHING[kind]
    text = field if kind in NUMERIC else unquoted(field)
    return text if text is not None and is_spelled(kind, text) else _NOTHING[kind]
