"""Literals that take one structure apart, found again to be printed as the pattern they stand for.

In: literals of a body and a place among them.  Out: the variable, the constructor and what each
field is, where the literals from there on ask for a constructor and then for fields in ascending
order.  Invariant: the pattern says all that these literals say, and nothing more.  FORMAT.md,
section 9.

Example: ``constructor_of(?e) = "$Add/2"``, ``?r = field_of(?e, 1)`` is ``?e = $Add(_, ?r)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .rules import Call, Comparison, Constant, Variable

if TYPE_CHECKING:
    from .rules import Literal, Term

# So many fields at most: a short literal must not become a long line.
_INDICATOR: Final = re.compile(r"(?:nil/0|(\[\]|\$[A-Za-z_][A-Za-z0-9_]*)/(0|[1-9][0-9]?))\Z")


@dataclass(frozen=True, slots=True)
class Opened:
    """``end`` is the place behind the literals; a field that none of them names is ``None``."""

    whole: Variable
    constructor: str
    fields: tuple[Term | None, ...]
    end: int


def opened_at(body: tuple[Literal, ...], place: int) -> Opened | None:
    """Return the structure that the literals from a place on take apart."""
    found = _asked_constructor(body[place])
    if found is None:
        return None
    whole, constructor, count = found
    fields: list[Term | None] = [None] * count
    end = place + 1
    least = 0
    while end < len(body):
        asked = _asked_field(body[end], whole)
        if asked is None or not least <= asked[0] < count:
            break
        least = asked[0] + 1
        fields[asked[0]] = asked[1]
        end += 1
    return Opened(whole, constructor, tuple(fields), end)


def _asked_constructor(literal: Literal) -> tuple[Variable, str, int] | None:
    match literal:
        case Comparison("=", Call("constructor_of", (Variable() as whole,)), Constant(text)) if (
            isinstance(text, str) and (found := _INDICATOR.match(text))
        ):
            return whole, found[1] or "nil", int(found[2] or 0)
        case _:
            return None


def _asked_field(literal: Literal, whole: Variable) -> tuple[int, Term] | None:
    match literal:
        case Comparison("=", left, Call("field_of", (Variable() as asked, Constant(place)))) if (
            asked == whole
        ):
            return int(str(place)), left
        case _:
            return None
