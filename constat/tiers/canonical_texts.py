"""Read values in the spelling that the store and certificates use.

In: a text and the column that it is to be a value of. Out: the value. Invariant: a structure that
is none of the column's type is no value, though its spelling is in order. Example: `$Add(1)` where
`Add` has two fields raises `ValueError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import Kind, canonical_float, is_of_type, parse_value

if TYPE_CHECKING:
    from constat.logic import Column, Value


def read_canonical(text: str, column: Column) -> Value:
    """Read a value of a column that `format_value` wrote; raises `ValueError`."""
    # Floats are spelled in hexadecimal there, which people do not write.
    if column.kind is Kind.FLOAT and "0x" in text:
        return canonical_float(float.fromhex(text))
    value = parse_value(text, column.kind)
    if not is_of_type(value, column):
        raise ValueError(f"is no {column.type_name}")
    return value
