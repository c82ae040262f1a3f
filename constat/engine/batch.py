"""Bindings on their way through a rule, and expressions over them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from itertools import repeat
from operator import is_, itemgetter
from typing import cast

from constat.engine.relation import Texts, has_null, is_hole, is_null, tuple_getter
from constat.evaluation import ABSENT, ACCEPTED
from constat.frozen import slotted
from constat.logic import (
    OPEN,
    EvaluationError,
    Open,
    Row,
    Slot,
    Value,
    comparison,
    implementation,
    made_of,
)
from constat.plan import Call, Expression, Filter, Join, Literally, slots_of
from constat.plan import Slot as SlotPlace

# Those that hold for certain, and weaker ones with their strengths.

Binding = tuple[Slot, ...]
Weak = tuple[Binding, int]


@slotted
class Batch:
    """Bindings of one rule at one step.

    Duplicates are harmless; `weak` pairs a binding with its strength.
    """

    sure: list[Binding] = field(default_factory=list)
    weak: list[Weak] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.sure) or bool(self.weak)

    def keys(self, getter: Callable[[Binding], Binding]) -> set[Row]:
        """The distinct keys of the bindings, those with placeholders left out.

        Nobody can be asked for them.
        """
        found = set(map(getter, self.sure))
        found.update(
            key for key in (getter(binding) for binding, _ in self.weak) if OPEN not in key
        )
        return found  # type: ignore[return-value]  # certain bindings hold no placeholder


def strongest(pairs: Iterable[Weak]) -> dict[Binding, int]:
    """Each binding once, with its greatest strength."""
    best: dict[Binding, int] = {}
    for binding, strength in pairs:
        if strength > best.get(binding, ABSENT):
            best[binding] = strength
    return best


def widest(pairs: Iterable[Weak]) -> list[Weak]:
    """Drop the bindings of which a more open one says as much.

    Where nearly everything is open, rows would be spelled out one by one only to say "perhaps".
    """
    best = strongest(pairs)
    shapes: dict[tuple[int, ...], dict[Binding, int]] = {}
    for binding, strength in best.items():
        shown = tuple(place for place, slot in enumerate(binding) if slot is not OPEN)
        shapes.setdefault(shown, {})[tuple(binding[place] for place in shown)] = strength
    if len(shapes) == 1:
        return list(best.items())
    found: list[Weak] = []
    for shown, table in shapes.items():
        wider = [one for one in shapes if len(one) < len(shown) and set(one) <= set(shown)]
        places = [
            (shapes[one], tuple_getter([shown.index(place) for place in one])) for one in wider
        ]
        width = len(next(iter(best)))
        for key, strength in table.items():
            if strength >= ACCEPTED or not any(
                other.get(narrow(key), ABSENT) >= strength for other, narrow in places
            ):
                slots = dict(zip(shown, key, strict=True))
                found.append((tuple(slots.get(place, OPEN) for place in range(width)), strength))
    return found


def unify(binding: Binding, row: tuple[Slot, ...], step: Join) -> Binding | None:
    """Extend a binding by a row where either may hold placeholders; `None` when they differ.

    A placeholder that meets a value takes it, so that no more correlation is lost than must be.
    """
    values = list(binding)
    for column, place in zip(step.columns, step.key, strict=True):
        found = row[column]
        if values[place] is OPEN:
            values[place] = found
        elif found is not OPEN and found != values[place]:
            return None
    shown = list(row)
    for one, other in step.same:
        if shown[one] is OPEN:
            shown[one] = shown[other]
        elif shown[other] is not OPEN and shown[one] != shown[other]:
            return None
    values.extend(shown[column] for column in step.kept)
    return tuple(values)


# Two forms: over bindings without placeholders (fast), and over any binding, where a placeholder
# among the arguments gives the placeholder (semantics 7). Both raise `EvaluationError` when the
# function does.


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


def reads_hole(expression: Expression, binding: Binding) -> bool:
    """Whether the expression reads a placeholder or a label."""
    return any(is_hole(binding[place]) for place in slots_of(expression))


def same_label(left: Expression, right: Expression, binding: Binding, texts: Texts) -> bool:
    """Whether both are the same label, so that they are equal for certain."""
    if not reads_hole(left, binding):
        return False
    label = cell_of(left, binding, texts)
    return is_null(label) and label == cell_of(right, binding, texts)


def cell_of(expression: Expression, binding: Binding, texts: Texts) -> Slot:
    """Evaluate over any binding: a value, a label, or the placeholder where nobody knows.

    What errs beside something unknown is not known either.
    """
    match expression:
        case SlotPlace(place):
            return binding[place]
        case Literally(value):
            return value
        case Call(function, arguments, parameters, result):
            cells = [cell_of(one, binding, texts) for one in arguments]
            if any(map(is_hole, cells)):
                return cast("Slot", made_of(function, cells))
            try:
                return texts.function(function, parameters, result)(*cells)
            except EvaluationError:
                return OPEN


def slot_of(expression: Expression, binding: Binding, texts: Texts) -> Slot:
    """Evaluate over any binding, and raise where what is known errs."""
    if reads_hole(expression, binding):
        return cell_of(expression, binding, texts)
    return value_of(expression, texts)(binding)


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
