"""What else stands in a rule's way behind the literal that stops it.

In: a rule, the nearest binding, the literals behind the one that failed, and a way to evaluate
goals.  Out: those that fail as well.  Invariant: a literal is named only where it fails for every
completion of the binding: what cannot be told without the literal that failed is left out.

Example: ``is_vip(C004)`` has too little revenue, and is blocked besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE
from constat.logic import OPEN
from constat.proof.instances import (
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    is_ground,
    opened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.evaluation import Outcome
    from constat.logic import Atom, OpenRow
    from constat.proof.instances import AtomCode, Binding
    from constat.proof.obstacles import Describing, Obstacle


class Asking(Protocol):
    """What evaluates further goals."""

    def atom(self, shape: tuple[str, OpenRow]) -> Atom:
        """Return the goal that asks for a shape."""
        ...

    def outcome(self, shape: tuple[str, OpenRow]) -> Outcome | None:
        """Evaluate a goal; ``None`` when no more may be asked."""
        ...


def besides(
    describing: Describing, asking: Asking, binding: Binding, places: tuple[int, ...]
) -> Iterator[Obstacle]:
    """Yield the literals that fail besides, in the order of the walk."""
    for place in places:
        code = describing.code.body[place]
        if isinstance(code, ComparisonCode):
            # A field of a structure that has another constructor says nothing.
            truth = OPEN if describing.is_idle(place, binding) else code.truth(binding)
            if truth is False:
                yield describing.obstacle(place, binding)
            elif truth is None:
                binding = code.assigned(binding) or binding
        elif isinstance(code, PositiveCode):
            found = _matching(describing, asking, code.atom, binding)
            if found is None:
                continue
            absent, rows = found
            if absent:
                yield describing.obstacle(place, binding)
            elif len(rows) == 1:
                pattern = code.atom.pattern(binding)
                binding = code.atom.unify(pattern, rows[0], binding) or binding
        elif isinstance(code, NegativeCode) and _is_there(asking, code.atom, binding):
            yield describing.obstacle(place, binding)


def _matching(
    describing: Describing, asking: Asking, atom: AtomCode, binding: Binding
) -> tuple[bool, list[OpenRow]] | None:
    """Return whether no row can match an atom, and those that do; ``None`` if nobody can tell."""
    pattern = atom.pattern(binding)
    if any(c is None and s < 0 for c, s in zip(pattern, atom.slots, strict=True)):
        # A function of what is not bound: which rows match depends on the literal that failed.
        return None
    if all(cell is None for cell in pattern) and not describing.is_configured(atom.predicate):
        # Nothing narrows it: that would read a whole relation for a remark.
        return None
    shape = (atom.predicate, opened(pattern))
    outcome = asking.outcome(shape)
    if outcome is None:
        return None
    strength = outcome.strength(asking.atom(shape))
    if strength in {ABSENT, CONCEIVABLE}:
        return True, []
    rows = [
        row
        for row in outcome.rows(atom.predicate, ACCEPTED)
        if OPEN not in row and atom.unify(pattern, row, binding) is not None
    ]
    return False, rows if strength in {CERTAIN, ACCEPTED} else []


def _is_there(asking: Asking, atom: AtomCode, binding: Binding) -> bool:
    row = atom.pattern(binding)
    if not is_ground(row):
        return False
    shape = (atom.predicate, opened(row))
    outcome = asking.outcome(shape)
    return outcome is not None and outcome.strength(asking.atom(shape)) in {CERTAIN, ACCEPTED}
