r"""Structures, which are records, branches of algebraic data types and ``nil``: texts with parts.

In: texts.  Out: whether one spells a structure, its constructor and its fields, and the text of a
new one.  Invariant: a text shows where each field ends without its type being known (texts stand
in quotes, in which ``\"`` and ``\\`` are the only escapes; numbers do not), so two structures are
equal exactly when their texts are.  Nothing recurses: a text may nest as deep as it is long.
FORMAT.md, section 2.

Example: ``parts('$Add($One(1), "a")') == ("$Add", ("$One(1)", '"a"'))``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

RECORD: Final = "[]"
NIL: Final = "nil"
LARGEST: Final = 1_048_576
"""Bytes of a structure's text in UTF-8."""

QUOTED: Final = r'"[^"\\]*+(?:\\["\\][^"\\]*+)*+"'
_NAME: Final = r"\$[A-Za-z_][A-Za-z0-9_]*+"
# All that opens, one value without fields, all that closes: possessive, so nothing is tried twice.
_RUN: Final = re.compile(
    rf"((?:\[|{_NAME}\()*+)"
    rf"(nil|{_NAME}(?!\()|{QUOTED}|[-0-9][-+.0-9a-fpx]*+|(?=\]))"
    r"([\])]*+)(, |\Z)"
)
_MARK: Final = re.compile(rf"{QUOTED}|[\[(]++|,")
_INNER: Final = re.compile(rf"{QUOTED}|[\[(]++|[\])]++")
_BRANCH: Final = re.compile(rf"{_NAME}\Z")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def is_constructor(name: str) -> bool:
    """Tell whether the function makes structures."""
    return name == RECORD or _BRANCH.match(name) is not None


def is_structure(text: str, is_number: Callable[[str], bool]) -> bool:
    """Tell whether the text spells a structure; ``is_number`` knows the numbers among its parts."""
    closers: list[str] = []
    position = 0
    while (run := _RUN.match(text, position)) is not None:
        opening, value, closing, separator = run.groups()
        closers += ["]" if sign == "[" else ")" for sign in opening if sign in "[("]
        if not value:
            # Only the record without fields has nothing between its brackets.
            if not opening.endswith("["):
                return False
        elif value[0] not in "$n" and not (closers and (value[0] == '"' or is_number(value))):
            return False
        if closing:
            if closers[-len(closing) :] != list(reversed(closing)):
                return False
            del closers[-len(closing) :]
        if not (separator and closers):
            return not (separator or closers)
        position = run.end()
    return False


# One structure is asked for its constructor and then for each of its fields.
@lru_cache(maxsize=8)
def parts(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the constructor of a structure and the texts of its fields."""
    start = text.find("(") + 1 if text[0] == "$" else int(text[0] == "[")
    if not start:
        return text, ()
    constructor = RECORD if text[0] == "[" else text[: start - 1]
    return constructor, () if text == RECORD else _fields(text, start)


def _fields(text: str, start: int) -> tuple[str, ...]:
    found: list[str] = []
    depth, position, end = 0, start, len(text) - 1
    # Inside a field only brackets matter, and they come in runs.
    while (mark := (_INNER if depth else _MARK).search(text, position, end)) is not None:
        position = mark.end()
        sign = text[position - 1]
        if sign in "[(":
            depth += position - mark.start()
        elif sign in "])":
            depth -= position - mark.start()
        elif sign == ",":
            found.append(text[start : mark.start()])
            # A comma has one blank behind it.
            start = position + 1
    return (*found, text[start:end])


def constructor_of(text: str) -> str:
    """Return the constructor and the number of fields: ``nil/0``, ``[]/2``, ``$Add/2``."""
    constructor, fields = parts(text)
    return f"{constructor}/{len(fields)}"


def field_at(text: str, place: int) -> str | None:
    """Return the text of a field, counted from 0, if there is one."""
    _, fields = parts(text)
    return fields[place] if 0 <= place < len(fields) else None


def made(constructor: str, fields: tuple[str, ...]) -> str | None:
    """Return the structure with these fields, ``None`` where it is too long to be one."""
    if sum(map(len, fields)) > LARGEST:
        return None
    inner = ", ".join(fields)
    text = f"[{inner}]" if constructor == RECORD else f"{constructor}({inner})"
    return text if len(text.encode()) <= LARGEST else None


def quoted(text: str) -> str:
    """Return a text as a field."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(field: str) -> str | None:
    """Return the text that a field is, ``None`` where the field is no text."""
    return _ESCAPED.sub(r"\1", field[1:-1]) if field[0] == '"' else None
