"""Which rows of two certificates are the same thing.

In: two sides.  Out: pairs of rows, one of them missing where a row is gone or new, and the rows
that stand alone.  Invariants: each row is in one pair at most; which side comes first does not
matter.  Example: the threshold 100,000 before and 90,000 after is one pair, not two changes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.proof.comparison_side import ABSENT, UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.proof.comparison_side import Key, Side, TextRow

_NOT_LOOKED_AT: Final = "the other certificate does not look at this row"
_PERHAPS: Final = "rows that may correspond; neither certificate says that the other is not there"

Columns = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A row before and after; ``known`` unless one side says nothing about the other's row."""

    keys: tuple[Key | None, Key | None]
    subject: str
    known: bool = True


class Pairs:
    """The aligned leaves and conclusions; ``alone`` are leaves of one side with the reason."""

    def __init__(self, before: Side, after: Side, keys: Mapping[str, Columns]) -> None:
        self._sides = (before, after)
        self._keys = keys
        self._partner: tuple[dict[Key, Key], dict[Key, Key]] = ({}, {})
        self.alone: list[tuple[Key, str, str]] = []
        self.leaves = self._leaves()
        self.conclusions = self._conclusions()

    def name(self, side: Side, key: Key) -> tuple[str, ...]:
        """Return the same name for the two rows of a pair."""
        place = 0 if side is self._sides[0] else 1
        partner = self._partner[place].get(key, key)
        return tuple(sorted((str(key), str(partner))))

    def _pair(self, first: Key, second: Key) -> Pair:
        self._partner[0][first] = second
        self._partner[1][second] = first
        common = [
            one if one == other else None for one, other in zip(first[1], second[1], strict=True)
        ]
        subject = self._sides[0].document.atom(first[0], common)
        return Pair((first, second), subject)

    def _leaves(self) -> list[Pair]:
        before, after = self._sides
        found = [Pair((key, key), before.text(key)) for key in before.leaves if key in after.leaves]
        left = [key for key in before.leaves if key not in after.leaves]
        right = [key for key in after.leaves if key not in before.leaves]
        matched = self._matched(left, right)
        for first, second in matched.items():
            if self._is_known(first, second):
                found.append(self._pair(first, second))
            else:
                self.alone += [(first, "before", _PERHAPS), (second, "after", _PERHAPS)]
        seconds = set(matched.values())
        found += self._single([key for key in left if key not in matched], place=0)
        found += self._single([key for key in right if key not in seconds], place=1)
        return found

    def _single(self, keys: Iterable[Key], place: int) -> list[Pair]:
        """Return the rows of one side that the other knows about; note the rest."""
        mine, other = self._sides[place], self._sides[1 - place]
        found = []
        for key in keys:
            if other.state(key) == UNSEEN:
                self.alone.append((key, ("before", "after")[place], _NOT_LOOKED_AT))
            else:
                # The other side may know it to be absent, or only not know it.
                absent = other.state(key) == ABSENT
                both = (key, None) if place == 0 else (None, key)
                if absent:
                    found.append(Pair(both, mine.text(key)))
        return found

    def _is_known(self, first: Key, second: Key) -> bool:
        """Tell whether one row took the place of the other."""
        before, after = self._sides
        if first[0] in self._keys or (before.is_configured(first) and after.is_configured(second)):
            return True
        return ABSENT in {after.state(first), before.state(second)}

    def _matched(self, left: Iterable[Key], right: Iterable[Key]) -> dict[Key, Key]:
        """Pair rows by the declared key, or else by all columns but one."""
        found: dict[Key, Key] = {}
        kinds = tuple(side.columns for side in self._sides)
        rows: dict[str, tuple[list[Key], list[Key]]] = defaultdict(lambda: ([], []))
        for place, keys in enumerate((left, right)):
            for key in keys:
                if kinds[0].get(key[0]) == kinds[1].get(key[0]):
                    rows[key[0]][place].append(key)
        for predicate, (first, second) in rows.items():
            declared = self._keys.get(predicate)
            arity = len(kinds[0][predicate])
            ways = (
                [declared]
                if declared is not None
                else [tuple(c for c in range(arity) if c != one) for one in range(arity)]
            )
            found.update(_unique(first, second, ways))
        return found

    def _conclusions(self) -> list[Pair]:
        before, after = self._sides
        every = {*before.derived, *after.derived, *before.possible, *after.possible}
        goals = {side.goal for side in self._sides}
        paired = self._by_results()
        seconds = set(paired.values())
        found = [self._pair(first, second) for first, second in paired.items()]
        for key in every:
            if key in paired or key in seconds or key in goals:
                continue
            # An upper bound shows rows that hold, too: only what one side rules out has changed.
            states = [side.state(key) for side in self._sides]
            if states.count(ABSENT) == 1 and UNSEEN not in states:
                found.append(Pair((key, key), before.text(key)))
        return found

    def _by_results(self) -> dict[Key, Key]:
        """Pair conclusions that differ only in what an aggregate gave."""
        before, after = self._sides
        found: dict[Key, Key] = {}
        names = {key[0] for key in before.derived} & {key[0] for key in after.derived}
        for name in names:
            filled = [side.result_columns(name) or frozenset() for side in self._sides]
            results = filled[0] & filled[1]
            if not results or before.columns[name] != after.columns[name]:
                continue
            columns = tuple(c for c in range(len(before.columns[name])) if c not in results)
            first = [key for key in before.derived if key[0] == name and key not in after.derived]
            second = [key for key in after.derived if key[0] == name and key not in before.derived]
            found.update(_unique(first, second, [columns]))
        return found


def _unique(first: Iterable[Key], second: Iterable[Key], ways: Iterable[Columns]) -> dict[Key, Key]:
    """Pair rows that agree in some columns, where that names one row on each side."""
    partners: dict[Key, set[Key]] = defaultdict(set)
    backwards: dict[Key, set[Key]] = defaultdict(set)
    for columns in ways:
        left, right = _grouped(first, columns), _grouped(second, columns)
        for values in left.keys() & right.keys():
            for one in left[values]:
                partners[one].update(right[values])
            for other in right[values]:
                backwards[other].update(left[values])
    return {
        one: other
        for one, others in partners.items()
        if len(others) == 1
        for other in others
        if len(backwards[other]) == 1
    }


def _grouped(keys: Iterable[Key], columns: Columns) -> dict[TextRow, list[Key]]:
    found: dict[TextRow, list[Key]] = defaultdict(list)
    for key in keys:
        found[tuple([key[1][column] for column in columns])].append(key)
    return found
