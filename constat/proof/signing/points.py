"""Which 32 bytes are a public key that binds its owner to what was signed.

In: the encoding of a point of edwards25519. Out: whether it is refused. A point of small order
verifies signatures that nobody made, and a coordinate written as y + p is a second spelling of one
key; libraries differ in what they refuse, so it is refused here. Invariant: every key that a
generator makes passes. Example: the neutral point, y = 1, is refused.
Reference: RFC 8032, sections 5.1.2 and 8.4.
"""

from __future__ import annotations

from typing import Final

_P: Final = 2**255 - 19
# The y of the two pairs of points of order 8; each other order below has one y.
_ORDER_8: Final = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL: Final = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})


def refused_point(raw: bytes) -> str:
    """Say why these 32 bytes are no usable public key; an empty text where they are one."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P:
        return "the key is not in its one spelling"
    return "the key is a point of small order, under which anybody can sign" if y in _SMALL else ""
