"""The body of a rule as its text has it: what takes a structure apart is one literal again.

In: a body in which analysis has opened the patterns.  Out: the literals people read, each with the
places that it stands for.  Invariant: every place belongs to one literal, in the order of the body,
and the literals say what the body says; a literal that was not opened is the body's own.

Example: ``constructor_of(?e) = "$Add/2", ?l = field_of(?e, 0)`` is ``?e = $Add(?l, _)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.logic import (
    Apply,
    Comparison,
    Constant,
    Variable,
    is_constructor,
)
from constat.syntax.regrouping import regrouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.logic import Literal, Term

LEFT_OUT: Final = Variable("_0")
"""Stands for a field that a pattern leaves out; no rule has it, wildcards count from 1."""


@dataclass(frozen=True, slots=True)
class Written:
    """A literal as people read it; ``places`` are those of the body that it stands for.

    Where ``opened`` is true it is a pattern: the first place asks for the constructor, the others
    for fields.
    """

    literal: Literal
    places: tuple[int, ...]
    opened: bool = False


def written_body(body: Sequence[Literal]) -> tuple[Written, ...]:
    """Return the literals of a body as people read them."""
    found: list[Written] = []
    place = 0
    for literal, size in regrouped(body):
        places = tuple(range(place, place + size))
        if isinstance(literal, Comparison) and literal is not body[place]:
            pattern = _without(literal.right, body[place + 1 : place + size])
            found.append(Written(replace(literal, right=pattern), places, opened=True))
        else:
            found.append(Written(body[place], places))
        place += size
    return tuple(found)


def as_written(body: Sequence[Literal]) -> tuple[Literal, ...]:
    """Return the literals alone."""
    return tuple(one.literal for one in written_body(body))


def pattern_sides(literal: Comparison) -> tuple[Term, Apply] | None:
    """Return what an equation takes apart or makes, and its pattern; ``None`` for others."""
    if literal.operator != "=":
        return None
    for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
        is_pattern = isinstance(other, Apply) and is_constructor(other.function)
        if isinstance(other, Apply) and is_pattern and not isinstance(side, Apply):
            return side, other
    return None


def _without(pattern: Term, fields: Sequence[Literal]) -> Term:
    """Mark the fields of a pattern that no literal asks for."""
    if not isinstance(pattern, Apply):
        return pattern
    asked = set(map(_number_asked, fields))
    arguments = enumerate(pattern.arguments)
    kept = tuple(one if place in asked else LEFT_OUT for place, one in arguments)
    return replace(pattern, arguments=kept)


def _number_asked(literal: Literal) -> int | None:
    match literal:
        case Comparison(right=Apply(arguments=(_, Constant(value=int() as number)))):
            return number
        case _:
            return None
