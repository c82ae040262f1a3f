"""Read values in the spelling that the store and certificates use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import Kind, canonical_float, parse_value

if TYPE_CHECKING:
    from constat.logic import Value


def read_canonical(text: str, kind: Kind) -> Value:
    """Read a value that `format_value` wrote; raises `ValueError`."""
    # Floats are spelled in hexadecimal there, which people do not write.
    if kind is Kind.FLOAT and "0x" in text:
        return canonical_float(float.fromhex(text))
    return parse_value(text, kind)
