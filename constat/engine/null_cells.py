"""How literals meet rows with null cells (semantics 26 to 26c).

Only an evaluation that has met such a row comes here. A label is carried like a value; a literal
that reads a cell of `maybe`, or holds a label against anything but itself, may hold and need not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from constat.evaluation import ABSENT, POSSIBLE
from constat.logic import OPEN, NullCell, NullPolicy, OpenRow, Slot, may_agree
from constat.plan import Join

Binding = tuple[Slot, ...]
Number = int | Decimal
Columns = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]

_MANY = 1_000
"""From this many bindings on that agree in what is known nobody tells them apart."""


def is_null(slot: object) -> bool:
    """Whether a slot holds a null cell."""
    return type(slot) is NullCell


def has_null(slots: Iterable[object]) -> bool:
    """Whether one of the slots holds a null cell."""
    return NullCell in map(type, slots)


def is_hole(slot: object) -> bool:
    """Whether nobody knows what a slot holds: a placeholder or a null cell."""
    return slot is OPEN or type(slot) is NullCell


def has_hole(slots: Sequence[object]) -> bool:
    """Whether one of the slots is a hole."""
    return OPEN in slots or has_null(slots)


def fits(row: OpenRow, read: Iterable[int]) -> bool:
    """Whether what is read of a row is there for certain: values and labels."""
    cells: OpenRow = row
    return all(not isinstance(cells[place], NullCell) or cells[place].is_label for place in read)  # type: ignore[union-attr]  # a null cell by then


def grade(
    row: OpenRow, strength: int, values: Mapping[int, Slot], read: Columns, same: Pairs
) -> int:
    """How surely a row of that strength matches an atom; `ABSENT` where it cannot.

    `values` are those the atom's columns are bound to, `read` the columns it reads besides, `same`
    the pairs of columns that have to be equal.
    """
    cells = [(row[column], value) for column, value in values.items()]
    cells += [(row[column], row[column]) for column in read]
    cells += [(row[one], row[other]) for one, other in same]
    for cell, value in cells:
        nulls = [one for one in (cell, value) if isinstance(one, NullCell)]
        if any(one.policy is NullPolicy.NONE for one in nulls):
            return ABSENT
        if nulls and not (cell == value and nulls[0].is_label):
            strength = min(strength, POSSIBLE)
    return strength


def unify_nulls(binding: Binding, row: OpenRow, step: Join) -> Binding | None:
    """Extend a binding by a row that `grade` lets match; `None` when values differ.

    What nobody knows takes a value that it meets, so that no more correlation is lost than must be.
    """
    values = list(binding)
    for column, place in zip(step.columns, step.key, strict=True):
        met = _met(values[place], row[column])
        if met is None:
            return None
        if place >= step.fixed:
            values[place] = met
    shown = list(row)
    for one, other in step.same:
        met = _met(shown[one], shown[other])
        if met is None:
            return None
        shown[one] = met
    values.extend(
        _read(shown[column]) if column in step.read else shown[column] for column in step.kept
    )
    return tuple(values)


def _met(held: Slot, found: Slot) -> Slot | None:
    """What two slots are that are equal; `None` where they cannot be."""
    if held is OPEN:
        return _read(found)
    if is_null(held):
        return held if is_hole(found) else found
    return held if is_hole(found) or found == held else None


def _read(cell: Slot) -> Slot:
    """What a variable is bound to by a cell: a value or a label, or else nobody knows."""
    return OPEN if isinstance(cell, NullCell) and not cell.is_label else cell


def are_distinct(bindings: Sequence[Binding]) -> bool:
    """Whether any two of the bindings, which are all different, differ for certain."""
    doubtful = {
        place
        for binding in bindings
        if has_null(binding)
        for place, cell in enumerate(binding)
        if is_doubtful(cell)
    }
    if not doubtful:
        return True
    known: dict[Binding, list[Binding]] = defaultdict(list)
    for binding in bindings:
        key = tuple(cell for place, cell in enumerate(binding) if place not in doubtful)
        known[key].append(binding)
    return not any(map(_has_equals, known.values()))


def _has_equals(bindings: list[Binding]) -> bool:
    if len(bindings) > _MANY:
        return True
    return any(
        may_agree(one, other) for place, one in enumerate(bindings) for other in bindings[:place]
    )


def is_doubtful(slot: object) -> bool:
    """Whether a slot may be equal to another one that is not the same."""
    return isinstance(slot, NullCell) and slot.policy is not NullPolicy.NONE


def told_apart(values: Mapping[Binding, Number]) -> list[Binding]:
    """Give bindings of which any two differ for certain, of much value together.

    Those without a doubtful cell, and besides those that are doubtful in the same columns and
    differ from them and from each other in the rest. So more bindings never make less.
    """
    plain = [one for one in values if not any(map(is_doubtful, one))]
    shapes: dict[Columns, dict[Binding, Binding]] = defaultdict(dict)
    for binding in values:
        shown = tuple(place for place, cell in enumerate(binding) if not is_doubtful(cell))
        if len(shown) < len(binding):
            known = tuple(binding[place] for place in shown)
            first = shapes[shown].setdefault(known, binding)
            if values[binding] < values[first]:
                shapes[shown][known] = binding
    best: list[Binding] = []
    for shown, found in shapes.items():
        there = {tuple(one[place] for place in shown) for one in plain}
        left = [binding for known, binding in found.items() if known not in there]
        if sum(map(values.__getitem__, left)) > sum(map(values.__getitem__, best)):
            best = left
    return [*plain, *best]
