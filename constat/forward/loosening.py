"""Loosen a way in which a body holds until every order of its literals says at most as much.

In: a way, the rule's variables that meet a placeholder where the order matters. Out: ways that hold
wherever the reference engine may let the way hold, and open wherever it may leave a column open.
Invariant (semantics 7): what is lost is correlation, so what rests on these ways is possible where
it might have been decided, and never decided otherwise.

The reference engine takes the literals one after the other. The first row with a placeholder that
it meets has known columns, and they stay known. Whatever is joined by the placeholder afterwards
may match anything, and so on through the variables that this leaves open. So each open row is taken
as the first one in turn: it is kept, and what hangs together with its placeholder is dropped.

Example: in `reach(?a, ?c) :- reach(?a, ?b), edge(?b, ?c).` the row `reach(7, *)` drops `edge`, and
gives `reach(7, *)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from constat.evaluation import POSSIBLE
from constat.forward.ways import UnfitError, pins
from constat.logic import Aggregate, Comparison, Positive, literal_variables

if TYPE_CHECKING:
    from constat.forward.ways import Opened, Way
    from constat.logic import Literal

Names = frozenset[str]
_NONE: Names = frozenset()


def loosened(way: Way, doubted: Collection[str], given: Collection[str] = ()) -> list[Way]:
    """Give the ways that replace one.

    `doubted` are its variables whose meaning depends on the order of literals, `given` those that
    are known before the body. Raises `UnfitError` where no open row explains them.
    """
    return list(_Loosening(way, frozenset(doubted), frozenset(given)).ways())


def pruned(way: Way, unknown: Collection[str]) -> Way:
    """Drop what reads variables that nothing in the body binds, and what that leaves unbound."""
    literals = list(way.literals)
    missing = set(unknown)
    while dropped := [one for one in literals if _reads(one) & missing]:
        literals = [one for one in literals if one not in dropped]
        bound = {name for one in literals for name in _gives(one)}
        missing |= {name for one in dropped for name in _gives(one)} - bound
    return replace(way, literals=tuple(literals), strength=min(way.strength, POSSIBLE))


@dataclass(frozen=True)
class _Loosening:
    way: Way
    doubted: Names
    given: Names

    def ways(self) -> Iterator[Way]:
        """Yield the ways; each keeps the open rows that may be met first, in some order."""
        if not self._doubtful:
            # A way that nothing replaces would be lost.
            raise UnfitError("nobody knows where an unknown value of a rule comes from")
        seen: set[tuple[Literal, ...]] = set()
        waiting: list[tuple[Opened, ...]] = [(one,) for one in self._doubtful]
        while waiting:
            first = waiting.pop()
            lost, literals = self._without(first)
            further = [
                one
                for one in self._doubtful
                if one not in first and one.literal in literals and not one.every & lost
            ]
            waiting += [(*first, one) for one in further]
            if not further and literals not in seen:
                seen.add(literals)
                yield replace(
                    self.way,
                    literals=literals,
                    strength=min(self.way.strength, POSSIBLE),
                    known=self.way.known - lost,
                    open=self.way.open | lost,
                    met=_NONE,
                    whole=(),
                )

    @cached_property
    def _doubtful(self) -> Sequence[Opened]:
        """The open rows whose placeholders are doubted, or give one that is."""
        return [one for one in self.way.opened if self._spread(one.names) & self.doubted]

    def _spread(self, names: Names) -> Names:
        """Give the variables that are computed from some, by equalities and totals."""
        found = names
        while True:
            more = found
            for one in self.way.every:
                if isinstance(one, Comparison | Aggregate):
                    more |= _computed(one, more)
            if more == found:
                return found
            found = more

    def _without(self, first: Sequence[Opened]) -> tuple[Names, tuple[Literal, ...]]:
        """Drop what hangs together with the placeholders of the rows that are met first."""
        opened = frozenset(name for one in first for name in one.names)
        kept = [one.literal for one in first]
        sure = self.given | {name for one in kept for name in _gives(one)}
        lost = opened - sure
        while True:
            more = lost
            for one in self.way.every:
                more |= _computed(one, more)
            for place, literal in enumerate(self.way.literals):
                names = self._names(place)
                if isinstance(literal, Positive) and literal not in kept and names & more:
                    more |= names
            more -= sure
            if more == lost:
                break
            lost = more
        return lost, tuple(
            one
            for place, one in enumerate(self.way.literals)
            if one in kept or not self._names(place) & lost
        )

    def _names(self, place: int) -> Names:
        """Name the variables of a literal as written, those of its open columns included."""
        literal = self.way.literals[place]
        found = next((one.every for one in self.way.opened if one.literal == literal), _NONE)
        return found | {one.name for one in literal_variables(literal)}


def _computed(literal: Literal, lost: Names) -> Names:
    """Name the variables that a literal may compute from others that are lost."""
    match literal:
        case Comparison(left=left, right=right):
            names = {one.name for one in literal_variables(literal)}
            bare = pins(literal)
            if left == right or not bare:
                return _NONE
            return frozenset(name for name in bare if (names - {name}) & lost)
        case Aggregate(result=result):
            inside = {one.name for one in literal_variables(literal)} - {result.name}
            return frozenset({result.name}) if inside & lost else _NONE
        case _:
            return _NONE


def _gives(literal: Literal) -> Names:
    """Name the variables that a literal may bind."""
    match literal:
        case Positive():
            return frozenset(one.name for one in literal_variables(literal))
        case Comparison():
            return frozenset(pins(literal))
        case Aggregate(result=result):
            return frozenset({result.name})
        case _:
            return _NONE


def _reads(literal: Literal) -> Names:
    return frozenset(one.name for one in literal_variables(literal))
