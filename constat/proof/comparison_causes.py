"""Which changes an effect follows from.

In: two sides, and the changes with what each is about.  Out: for an effect, the nearest changes
below it: the premises of its derivations, further down where a premise is as it was, and for what
is negated, aggregated or not derived at all the changes of the predicates that the rules mention.
Invariants: only changes are named that the effect can rest on; derivations are followed with a list
of our own, so they may be deep.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.proof.comparison_side import Key, Side
    from constat.proof.export.document import Members

_EFFECTS: Final = frozenset({"conclusion", "shape", "verdict"})
_VERDICT: Final = "verdict"

About = tuple[str, tuple["Key", ...], str]
"""A change: its kind, the facts it is about, and their predicate."""


class Causes:
    """Finds what effects follow from."""

    def __init__(self, sides: tuple[Side, Side], changes: Sequence[About]) -> None:
        self._sides = sides
        self._changes = changes
        self._of_fact: dict[Key, set[int]] = defaultdict(set)
        self._of_predicate: dict[str, set[int]] = defaultdict(set)
        self._of_rules: dict[str, set[int]] = defaultdict(set)
        self._assumptions: set[int] = set()
        for number, (kind, facts, predicate) in enumerate(changes):
            if kind == "rule":
                self._of_rules[predicate].add(number)
            elif kind == "assumption":
                self._assumptions.add(number)
            elif kind != _VERDICT:
                # The shape of a proof is no reason for what follows from the fact.
                if kind not in {"shape", "source"}:
                    self._of_predicate[predicate].add(number)
                for fact in facts:
                    self._of_fact[fact].add(number)

    def of(self, number: int) -> tuple[int, ...]:
        """Return the numbers of the changes that a change follows from; none for a cause."""
        kind, facts, predicate = self._changes[number]
        if kind not in _EFFECTS:
            return ()
        found: set[int] = set()
        for side in self._sides:
            nodes = [
                side.derived[fact]
                for pattern in facts
                for fact in _matching(side, pattern, any_row=kind == _VERDICT)
            ]
            found |= self._below(side, nodes)
            if not nodes:
                found |= self._near(side, side.mentions.get(predicate, ()))
                found |= self._of_rules[predicate]
        if kind == _VERDICT:
            found |= self._assumptions
            for fact in facts:
                found |= self._of_fact.get(fact, set())
        return tuple(sorted(found - {number}))

    def _below(self, side: Side, nodes: Iterable[Members]) -> set[int]:
        """Return the nearest changes below some nodes of a side."""
        found: set[int] = set()
        met: set[Key] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            found |= self._of_rules.get(node["fact"][0], set())
            found |= self._near(side, side.looked_at(node))
            for premise in side.premises(node):
                if premise in met:
                    continue
                met.add(premise)
                changed = self._of_fact.get(premise)
                if changed:
                    found |= changed
                elif premise in side.derived:
                    waiting.append(side.derived[premise])
        return found

    def _near(self, side: Side, predicates: Iterable[str]) -> set[int]:
        """Return the changes of predicates, or else of the nearest ones below."""
        found: set[int] = set()
        met: set[str] = set()
        waiting = list(predicates)
        while waiting:
            name = waiting.pop()
            if name in met:
                continue
            met.add(name)
            changed = self._of_predicate.get(name, set()) | self._of_rules.get(name, set())
            if changed:
                found |= changed
            else:
                waiting += side.mentions.get(name, ())
        return found


def _matching(side: Side, pattern: Key, *, any_row: bool) -> list[Key]:
    """Return the derived facts of a side that a pattern stands for."""
    if pattern in side.derived:
        return [pattern]
    if not any_row or None not in pattern[1]:
        return []
    name, slots = pattern
    return [
        key
        for key in side.derived
        if key[0] == name
        and all(slot is None or slot == text for slot, text in zip(slots, key[1], strict=True))
    ]
