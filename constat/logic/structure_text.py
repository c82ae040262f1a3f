r"""The one spelling of a structure: a record, a branch of an algebraic data type, or `nil`.

In: texts. Out: whether a text is a structure, and its constructor and fields. Invariant: two
structures are equal exactly when their texts are, and a text shows where each field ends without
knowing its type: texts stand in quotes, numbers do not. Nothing here recurses, so that a list may
be as long as a text. Example: `$Add($Number(1), $Number(2))` has the constructor `$Add` and the
fields `$Number(1)` and `$Number(2)`.

A record is `[1, "a"]`, a branch `$Name(1, "a")` or `$Name`; in quotes only `\"` and `\\` are
escapes. Dates, times and truth values are texts; numbers have the spelling of certificates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

NIL: Final = "nil"
RECORD: Final = "[]"
"""The constructor of all records; that of a branch is its name with the dollar sign."""

STRING: Final = r'"[^"\\]*(?:\\["\\][^"\\]*)*"'
"""The pattern of a text in its quotes."""
_TOKEN: Final = re.compile(
    rf"{STRING}|\$[A-Za-z_][A-Za-z0-9_]*|[\[\]()]|, |[-A-Za-z0-9.+]+", re.ASCII
)
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,37})\Z")
_POINTED: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,37})\.[0-9]{0,37}[1-9]\Z")
_HEXADECIMAL: Final = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}\Z")
_MOST_DIGITS: Final = 38
_BETWEEN: Final = ", "
# Outside of quotes these signs stand nowhere else; what lies between them is skipped at once.
_MARK: Final = re.compile(rf"{STRING}|[\[\]()]|{_BETWEEN}")
# Fields that go no deeper than this, at once. Possessive: what does not match is not tried again.
_SHALLOW: Final = 4


def _group(depth: int) -> str:
    inner = _group(depth - 1) if depth else STRING
    return rf'[\[(](?:[^\[\]()"]++|{STRING}|{inner})*+[\])]'


_FIELDS: Final = re.compile(
    rf'{STRING}|(?:\$[A-Za-z0-9_]++)?{_group(_SHALLOW)}|[^\[\]()", ]++', re.ASCII
)
_OPENING: Final = re.compile(rf"{STRING}|\$[A-Za-z_][A-Za-z0-9_]*\(|[\[\])]|{_BETWEEN}", re.ASCII)
_FLOAT: Final = re.compile(rf"{STRING}|-?0x[0-9a-f.]+p[+-][0-9]+")


def quoted(text: str) -> str:
    """Write a text as a field."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(field: str) -> str:
    """Give the text of a field in quotes."""
    plain = field[1:-1]
    return re.sub(r"\\(.)", r"\1", plain, flags=re.DOTALL) if "\\" in plain else plain


def is_structure(text: str) -> bool:
    """Tell whether a text is the spelling of a structure."""
    closers: list[str] = []
    wants_value, may_close = True, False
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            return False
        piece, position = found[0], found.end()
        if piece in {"]", ")"}:
            if not closers or closers.pop() != piece or (wants_value and not may_close):
                return False
            wants_value, may_close = False, False
        elif piece == ", ":
            if wants_value or not closers:
                return False
            wants_value, may_close = True, False
        elif not wants_value:
            return False
        elif piece == "[" or (piece[0] == "$" and text.startswith("(", position)):
            position += piece != "["
            closers.append("]" if piece == "[" else ")")
            # `[]` is the record without fields; `$A()` is spelled `$A`.
            may_close = piece == "["
        elif piece[0] == "$" or piece == NIL or (closers and _is_leaf(piece)):
            wants_value, may_close = False, False
        else:
            return False
    return not closers and not wants_value


def _is_leaf(piece: str) -> bool:
    """Tell whether a piece is a text in quotes or a number in its one spelling."""
    if piece[0] == '"':
        return True
    if _WHOLE.match(piece):
        return piece != "-0"
    if _POINTED.match(piece):
        whole, _, places = piece.lstrip("-").partition(".")
        return len(whole.lstrip("0")) + len(places) <= _MOST_DIGITS or whole == "0"
    if _HEXADECIMAL.match(piece):
        return _is_hexadecimal(piece)
    return False


def _is_hexadecimal(piece: str) -> bool:
    try:
        value = float.fromhex(piece)
    except OverflowError:
        return False
    return value.hex() == piece and piece != "-0x0.0p+0"


def constructor_and_fields(structure: str) -> tuple[str, tuple[str, ...]]:
    """Give the constructor of a structure and the spellings of its fields."""
    if structure[-1] not in "])":
        return structure, ()
    start = 1 if structure[0] == "[" else structure.index("(") + 1
    name = RECORD if start == 1 else structure[: start - 1]
    inner = structure[start:-1]
    fields = tuple(_FIELDS.findall(inner))
    return name, fields if _BETWEEN.join(fields) == inner else _fields(structure, start)


def _fields(structure: str, start: int) -> tuple[str, ...]:
    """Give the fields of a structure of any depth; they begin at `start`."""
    cuts = [start - len(_BETWEEN)]
    depth = 0
    for found in _MARK.finditer(structure, start, len(structure) - 1):
        piece = found[0]
        if piece == _BETWEEN:
            if not depth:
                cuts.append(found.start())
        elif piece in "[(":
            depth += 1
        elif piece in "])":
            depth -= 1
    cuts.append(len(structure) - 1)
    return parts_between(structure, cuts)


def parts_between(text: str, cuts: Sequence[int]) -> tuple[str, ...]:
    """Give the fields of a structure: what stands between two cuts, behind the sign between."""
    width = len(_BETWEEN)
    if len(cuts) == 2 and cuts[0] + width == cuts[1]:  # noqa: PLR2004  a structure without fields
        return ()
    return tuple([text[one + width : end] for one, end in pairwise(cuts)])


def all_cuts(structure: str) -> dict[int, tuple[int, ...]]:
    """Say where the fields of a structure, and of all structures in it, are cut.

    By the place where a structure begins. One pass over the text, however deep it goes.
    """
    found: dict[int, tuple[int, ...]] = {}
    waiting: list[tuple[int, list[int]]] = []
    for mark in _OPENING.finditer(structure):
        piece = mark[0]
        if piece == _BETWEEN:
            waiting[-1][1].append(mark.start())
        elif piece[-1] in "[(":
            waiting.append((mark.start(), [mark.end() - len(_BETWEEN)]))
        elif piece in "])":
            start, cuts = waiting.pop()
            found[start] = (*cuts, mark.start())
    return found


def shown(structure: str) -> str:
    """Write a structure for people: its floats in short decimal form."""
    if "0x" not in structure:
        return structure
    return _FLOAT.sub(lambda found: _shown(found[0]), structure)


def _shown(piece: str) -> str:
    return piece if piece[0] == '"' else repr(float.fromhex(piece))
