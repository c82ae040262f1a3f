"""The leaves of a JSON text with the exact bytes they stand in.

In: bytes.  Out: for each text, number, truth value and null its path and its span.  Invariants: a
span holds the leaf and nothing else, so reading it alone gives the leaf's value; a text that is not
one JSON value (RFC 8259) is refused as a whole.  A search for the value would find its twin.

Example: in ``{"a": [7]}`` the leaf ``("a", 0)`` has the span 7 to 8.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str | int, ...]

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_TEXT: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_OTHER: Final = re.compile(
    rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null"
)
_DEEPEST: Final = 200


class JsonSpanError(ValueError):
    """Bytes that are no JSON text, or one that is too deep; ``place`` is the byte."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(f"byte {place}: {reason}")
        self.place = place


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts: ``data[start:end]`` is its JSON."""

    path: Path
    start: int
    end: int


def json_leaves(data: bytes) -> tuple[Leaf, ...]:
    """Return the leaves in their order; raises ``JsonSpanError``."""
    try:
        data.decode()
    except UnicodeDecodeError as problem:
        raise JsonSpanError("this is not UTF-8", problem.start) from None
    return tuple(_Reader(data).leaves())


class _Reader:
    """Reads from left to right; ``path`` names the value that comes next."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.path: list[str | int] = []

    def leaves(self) -> Iterator[Leaf]:
        while True:
            leaf = self.value()
            if leaf is not None:
                yield leaf
            if not self.move_on():
                return

    def value(self) -> Leaf | None:
        """Read a leaf, or go into an array or object until something is there to read."""
        while True:
            self.skip()
            match self.data[self.place : self.place + 1]:
                case b"{":
                    self.enter("")
                    if self.took(b"}"):
                        self.path.pop()
                        return None
                    self.path[-1] = self.name()
                case b"[":
                    self.enter(0)
                    if self.took(b"]"):
                        self.path.pop()
                        return None
                case b'"':
                    return self.leaf(_TEXT, "a text that does not end, or with a wrong escape")
                case _:
                    return self.leaf(_OTHER, "no value begins here")

    def move_on(self) -> bool:
        """Go to the next value; tell whether there is one."""
        while self.path:
            if self.took(b","):
                last = self.path[-1]
                self.path[-1] = last + 1 if isinstance(last, int) else self.name()
                return True
            if not self.took(b"]" if isinstance(self.path[-1], int) else b"}"):
                raise JsonSpanError("neither a comma nor the end", self.place)
            self.path.pop()
        self.skip()
        if self.place < len(self.data):
            raise JsonSpanError("something follows the value", self.place)
        return False

    def enter(self, first: str | int) -> None:
        if len(self.path) >= _DEEPEST:
            raise JsonSpanError("the value is too deep", self.place)
        self.place += 1
        self.path.append(first)

    def name(self) -> str:
        """Read the name of a member and the colon behind it."""
        self.skip()
        leaf = self.leaf(_TEXT, "a member has no name")
        if not self.took(b":"):
            raise JsonSpanError("a colon is missing", self.place)
        found: str = json.loads(self.data[leaf.start : leaf.end])
        return found

    def leaf(self, pattern: re.Pattern[bytes], otherwise: str) -> Leaf:
        found = pattern.match(self.data, self.place)
        if found is None:
            raise JsonSpanError(otherwise, self.place)
        self.place = found.end()
        return Leaf(tuple(self.path), found.start(), found.end())

    def took(self, mark: bytes) -> bool:
        self.skip()
        if self.data[self.place : self.place + 1] != mark:
            return False
        self.place += 1
        return True

    def skip(self) -> None:
        found = _SPACE.match(self.data, self.place)
        if found is not None:
            self.place = found.end()
