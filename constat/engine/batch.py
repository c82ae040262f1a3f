"""A set of bindings on their way through a rule.

Those that hold for certain, and weaker ones with their strengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from constat.engine.relation import tuple_getter
from constat.evaluation import ABSENT, ACCEPTED
from constat.logic import OPEN, Row, Slot
from constat.plan import Join

Binding = tuple[Slot, ...]
Weak = tuple[Binding, int]


@dataclass(slots=True)
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
