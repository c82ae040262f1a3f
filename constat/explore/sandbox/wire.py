"""Frames over a socket, read within bounds; both sides of the sandbox speak them.

In: a kind, a table for JSON and bytes. Out: the same. Invariants: nothing is run by being read; a
frame that is longer than agreed is an error before it is read; a header is a JSON table of bounded
size. Example: the frame `result` of a step has its tables one after another in its bytes.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST_HEADER: Final = 16 << 20
_PREFIX: Final = struct.Struct("<4sIQ")
_MAGIC: Final = b"CNF1"


class WireError(ValueError):
    """What came is no frame, or one that is too long."""


class Frame(NamedTuple):
    """A frame: its kind, what it tells, and bytes."""

    kind: str
    told: dict[str, Any]
    body: bytes


def packed(kind: str, told: dict[str, Any], body: bytes = b"") -> bytes:
    """Spell a frame."""
    header = json.dumps([kind, told], ensure_ascii=True, allow_nan=False).encode()
    return _PREFIX.pack(_MAGIC, len(header), len(body)) + header + body


def received(read: Callable[[int], bytes], largest: int) -> Frame | None:
    """Read a frame; `read` gives exactly so many bytes, or none at the end. Raises `WireError`."""
    prefix = read(_PREFIX.size)
    if not prefix:
        return None
    magic, header_length, body_length = _PREFIX.unpack(prefix)
    if magic != _MAGIC or header_length > LARGEST_HEADER or body_length > largest:
        raise WireError("what came is no frame, or one that is too long")
    header = read(header_length)
    body = read(body_length) if body_length else b""
    if len(header) != header_length or len(body) != body_length:
        raise WireError("a frame is cut off")
    kind, told = _header(header)
    return Frame(kind, told, body)


def _header(content: bytes) -> tuple[str, dict[str, Any]]:
    # Counted before they are read: the reader of JSON goes one level deeper for each.
    if content.count(b"[") + content.count(b"{") > LARGEST_HEADER // 8:
        raise WireError("a frame has too many parts")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise WireError("the header of a frame is no JSON") from None
    match found:
        case [str(kind), dict(told)]:
            return kind, told
        case _:
            raise WireError("the header of a frame is not what was agreed")


def pieces(body: bytes, lengths: list[int]) -> list[bytes]:
    """Cut bytes into parts of these lengths. Raises `WireError` where they do not fit."""
    if any(type(one) is not int or one < 0 for one in lengths) or sum(lengths) != len(body):
        raise WireError("the parts of a frame do not fit")
    found = []
    place = 0
    for length in lengths:
        found.append(body[place : place + length])
        place += length
    return found
