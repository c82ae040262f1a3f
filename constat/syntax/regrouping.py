"""Put patterns back where analysis has put functions in their place.

In: the literals of a body. Out: the literals as people read them, each with the number of literals
it stands for. Invariant: the numbers add up to the length of the body, and opening the patterns
again gives the same literals. Example: `constructor_of(?e) = "$Add/2", ?l = field_of(?e, 0)` is
`?e = $Add(?l, _)`, which stands for two. See `constat.analysis.opening`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    NIL,
    Apply,
    Comparison,
    Constant,
    Kind,
    Literal,
    Term,
    Variable,
    is_constructor,
)

# What has more fields than any type was not made by analysis.
_COUNT: Final = re.compile(r"[0-9]{1,4}\Z")
_WILDCARD: Final = Variable("_1")


def regrouped(body: Sequence[Literal]) -> Iterator[tuple[Literal, int]]:
    """Yield the literals of a body with each group of functions as one pattern.

    An aggregate comes as it is: its body is another.
    """
    place = 0
    while place < len(body):
        literal, size = _pattern(body, place)
        yield literal, size
        place += size


def _pattern(body: Sequence[Literal], place: int) -> tuple[Literal, int]:
    """Read the group that begins at a place; the literal there alone where none does."""
    first = body[place]
    begun = _constructor(first)
    if begun is None:
        return first, 1
    structure, constructor, count = begun
    fields: dict[int, Term] = {}
    end = place + 1
    while end < len(body):
        found = _field(body[end], structure.name)
        if found is None or not max(fields, default=-1) < found[0] < count:
            break
        fields[found[0]] = found[1]
        end += 1
    arguments = tuple(fields.get(index, _WILDCARD) for index in range(count))
    made = Apply(constructor, arguments, Kind.STRUCTURE)
    span = first.span if isinstance(first, Comparison) else None
    return Comparison("=", structure, made, span), end - place


def _constructor(literal: Literal) -> tuple[Variable, str, int] | None:
    """Read `constructor_of(?r) = "$Add/2"` as the variable, the constructor and its fields."""
    match literal:
        case Comparison(
            operator="=",
            left=Apply(function=function, arguments=(Variable() as structure,)),
            right=Constant(value=str() as indicator),
        ) if function == CONSTRUCTOR_OF:
            constructor, _, count = indicator.rpartition("/")
            known = constructor == NIL or is_constructor(constructor)
            if known and _COUNT.match(count):
                return structure, constructor, int(count)
    return None


def _field(literal: Literal, structure: str) -> tuple[int, Term] | None:
    """Read `?l = field_of(?r, 0)` as the number of the field and the term."""
    match literal:
        case Comparison(
            operator="=",
            left=term,
            right=Apply(
                function=function,
                arguments=(Variable(name=name), Constant(value=int() as index)),
            ),
        ) if function == FIELD_OF and name == structure:
            return index, term
    return None
