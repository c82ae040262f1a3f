r"""Structures: records, branches of algebraic data types and ``nil``, each value one object.

A ``Structures`` makes each structure once, so two are equal exactly where they are the same object,
a field is found and a list is made longer in constant time, and a walk over a list takes linear
time however often a certificate says "the rest of it".  Nothing recurses: a structure may nest as
deep as its text is long.  FORMAT.md, section 2.

Example: ``Structures().read('$Add($One(1), "a")').fields`` has the structure ``$One(1)`` and the
text ``"a"``, in its quotes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

RECORD: Final = "[]"
LARGEST: Final = 1_048_576
"""Bytes of a structure's text in UTF-8."""

QUOTED: Final = r'"[^"\\]*+(?:\\["\\][^"\\]*+)*+"'
_NAME: Final = r"\$[A-Za-z_][A-Za-z0-9_]*+"
# What opens, what closes, what stands between two fields, and what is a value by itself.
_SIGN: Final = re.compile(
    rf"(\[|{_NAME}\()|([\])])|(, )|(nil|{_NAME})|({QUOTED}|[-0-9][-+.0-9a-fpx]*+)"
)
QUOTED_TEXT: Final = re.compile(rf"{QUOTED}\Z")
_BRANCH: Final = re.compile(rf"{_NAME}\Z")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class Structure:
    """One structure; its fields are structures, or the spellings of numbers and of texts in quotes.

    ``size`` is that of its text in bytes, ``place`` the index in the table of shared values.
    """

    __slots__ = ("constructor", "fields", "place", "size", "spelled")

    def __init__(self, constructor: str, fields: tuple[Field, ...], size: int) -> None:
        self.constructor = constructor
        self.fields = fields
        self.size = size
        self.place: int | None = None
        self.spelled = ""

    def __str__(self) -> str:
        """Return the text; it is written out anew unless it was read as one."""
        return self.spelled or "".join(_pieces(self))

    @property
    def indicator(self) -> str:
        """The constructor and the number of fields: ``nil/0``, ``[]/2``, ``$Add/2``."""
        return f"{self.constructor}/{len(self.fields)}"


Field: TypeAlias = "str | Structure"


def _pieces(whole: Structure) -> list[str]:
    found: list[str] = []
    waiting: list[str | Structure] = [whole]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif part.fields:
            closer = "]" if part.constructor == RECORD else ")"
            found.append("[" if part.constructor == RECORD else f"{part.constructor}(")
            waiting.append(closer)
            for field in reversed(part.fields):
                waiting += (field, ", ")
            waiting.pop()
        else:
            found.append(part.constructor)
    return found


def is_constructor(name: str) -> bool:
    """Tell whether the function makes structures."""
    return name == RECORD or _BRANCH.match(name) is not None


class Structures:
    """Makes structures, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[Field, ...]], Structure] = {}
        self.nil = Structure("nil", (), len("nil"))
        self._known["nil", ()] = self.nil

    def made(self, constructor: str, fields: tuple[Field, ...]) -> Structure | None:
        """Return the structure with these fields, ``None`` where its text would be too long."""
        found = self._known.get((constructor, fields))
        if found is None:
            size = _size(constructor, fields)
            if size > LARGEST:
                return None
            found = self._known[constructor, fields] = Structure(constructor, fields, size)
        return found

    def read(self, text: str, is_number: Callable[[str], bool]) -> Structure | None:
        """Return the structure that a text spells; ``is_number`` knows the numbers in it."""
        if len(text) > LARGEST or len(text.encode()) > LARGEST:
            return None
        reading = _Reading(self, is_number)
        position, end = 0, len(text)
        while position < end:
            sign = _SIGN.match(text, position)
            if sign is None or not reading.take(sign):
                return None
            position = sign.end()
        found = reading.whole
        if found is not None:
            found.spelled = text
        return found


def _size(constructor: str, fields: tuple[Field, ...]) -> int:
    if not fields:
        return len(constructor)
    around = 2 if constructor == RECORD else len(constructor) + 2
    inner = sum(len(f.encode()) if isinstance(f, str) else f.size for f in fields)
    return around + inner + 2 * (len(fields) - 1)


class _Reading:
    """A text that is read sign by sign; ``whole`` is set when its last bracket is closed."""

    def __init__(self, owner: Structures, is_number: Callable[[str], bool]) -> None:
        self.owner = owner
        self.is_number = is_number
        self.open: list[tuple[str, list[Field]]] = []
        self.whole: Structure | None = None
        self.wants_value = True

    def take(self, sign: re.Match[str]) -> bool:
        """Go on by one sign; tell whether it may stand here."""
        opening, closing, comma, bare, field = sign.groups()
        if self.whole is not None:
            return False
        if closing is not None:
            return self.close(closing)
        if comma is not None:
            allowed, self.wants_value = not self.wants_value and bool(self.open), True
            return allowed
        if not self.wants_value:
            return False
        if opening is not None:
            self.open.append((RECORD if opening == "[" else opening[:-1], []))
            return True
        if bare is not None:
            return self.add(self.owner.made(bare, ()))
        if not self.open or not (field[0] == '"' or self.is_number(field)):
            return False
        return self.add(field)

    def close(self, closing: str) -> bool:
        if not self.open:
            return False
        constructor, fields = self.open.pop()
        # Only the record without fields has nothing between its brackets.
        empty = self.wants_value and not fields and constructor == RECORD
        if (closing == "]") != (constructor == RECORD) or (self.wants_value and not empty):
            return False
        return self.add(self.owner.made(constructor, tuple(fields)))

    def add(self, field: Field | None) -> bool:
        self.wants_value = False
        if field is None:
            return False
        if self.open:
            self.open[-1][1].append(field)
        elif isinstance(field, Structure):
            self.whole = field
        return True


def quoted(text: str) -> str:
    """Return a text as a field."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(field: str) -> str | None:
    """Return the text that a field is, ``None`` where the field is no text."""
    return _ESCAPED.sub(r"\1", field[1:-1]) if field[0] == '"' else None
