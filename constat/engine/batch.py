"""A set of bindings on their way through a rule.

Those that hold for certain, and weaker ones with their strengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from constat.evaluation import ABSENT
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
