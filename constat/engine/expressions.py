"""Expressions of the plan as Python functions over bindings.

Two forms: over bindings without placeholders (fast), and over any binding, where a placeholder
among the arguments gives the placeholder (semantics 7). Both raise `EvaluationError` when the
function does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import repeat
from operator import is_, itemgetter

from constat.engine.null_cells import has_null, is_hole, is_null
from constat.engine.texts import Texts
from constat.logic import OPEN, Open, Slot, Value, comparison, implementation
from constat.plan import Call, Expression, Filter, Literally, slots_of
from constat.plan import Slot as SlotPlace

Binding = tuple[Slot, ...]


def value_of(expression: Expression, texts: Texts | None = None) -> Callable[[Binding], Value]:
    """A function that evaluates the expression over a binding without placeholders."""
    match expression:
        case SlotPlace(place):
            return lambda binding: _known(binding[place])
        case Literally(value):
            return lambda _: value
        case Call(function, arguments, parameters, result):
            find = implementation if texts is None else texts.function
            compute = find(function, parameters, result)
            return _applied(compute, [value_of(one, texts) for one in arguments])


def _known(value: Slot) -> Value:
    if isinstance(value, Open):
        raise TypeError("a placeholder reached an exact evaluation")
    return value


def _applied(
    function: Callable[..., Value], arguments: list[Callable[[Binding], Value]]
) -> Callable[[Binding], Value]:
    if len(arguments) == 2:  # noqa: PLR2004 -- the usual arity of arithmetic, worth a path of its own
        left, right = arguments
        return lambda binding: function(left(binding), right(binding))
    return lambda binding: function(*(argument(binding) for argument in arguments))


def reads_open(expression: Expression, binding: Binding) -> bool:
    """Whether the expression reads a placeholder."""
    return any(binding[place] is OPEN for place in slots_of(expression))


def reads_hole(expression: Expression, binding: Binding) -> bool:
    """Whether the expression reads a placeholder or a label."""
    return any(is_hole(binding[place]) for place in slots_of(expression))


def same_label(left: Expression, right: Expression, binding: Binding) -> bool:
    """Whether both are the same label, so that they are equal for certain."""
    if not isinstance(left, SlotPlace) or not isinstance(right, SlotPlace):
        return False
    return is_null(binding[left.place]) and binding[left.place] == binding[right.place]


def values_of(
    expression: Expression, bindings: Collection[Binding], texts: Texts, *, nulls: bool = False
) -> list[Value] | None:
    """The values over many bindings; `None` where one has a hole that is read."""
    for place in slots_of(expression):
        if any(map(is_, map(itemgetter(place), bindings), repeat(OPEN))):
            return None
        if nulls and has_null(map(itemgetter(place), bindings)):
            return None
    if isinstance(expression, SlotPlace):
        return list(map(itemgetter(expression.place), bindings))
    return list(map(value_of(expression, texts), bindings))


def test_of(step: Filter, texts: Texts) -> Callable[[Binding], bool]:
    """A function that decides the comparison over a binding without placeholders where it reads."""
    left, right = value_of(step.left, texts), value_of(step.right, texts)
    holds = comparison(step.operator, step.kind)
    return lambda binding: holds(left(binding), right(binding))
