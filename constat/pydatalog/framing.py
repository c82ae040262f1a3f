"""Frames on the pipe: eight bytes of length, then the bytes.

In: bytes as they come. Out: one body. Invariant: a length above the bound is seen before anything
of that size is kept. Example: the frame of `ok` is seven zero bytes, 2, `ok`.
"""

from __future__ import annotations

import struct
from typing import Final

LENGTH: Final = struct.Struct(">Q")
SECONDS: Final = struct.Struct(">d")


class Incoming:
    """A frame that is being received."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._received = bytearray()

    def add(self, read: bytes) -> None:
        """Take the next bytes."""
        self._received += read

    @property
    def complete(self) -> bool:
        """Whether all of the frame is there."""
        length = self._length
        return length is not None and len(self._received) >= LENGTH.size + length

    @property
    def too_large(self) -> bool:
        """Whether the frame is, or says it will be, larger than the bound."""
        return (self._length or 0) > self.largest

    @property
    def body(self) -> bytes:
        """The bytes of the frame."""
        return bytes(self._received[LENGTH.size : LENGTH.size + (self._length or 0)])

    @property
    def _length(self) -> int | None:
        if len(self._received) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._received)
        return int(length)
