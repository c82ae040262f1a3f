"""Takes structures apart and remembers how, so that a walk down a long one stays linear.

In: structures in their spelling. Out: their constructors and fields. Invariant: what is given is
what `structures` gives, whatever was asked before; what is remembered is bounded. The parts of a
long structure are found in one pass over it, and each part remembers where it came from: the tail
of a list of 10,000 cells is cut without looking at its cells again.

>>> parts = Parts()
>>> parts.constructor_of("[1, [2, nil]]")
'[]/2'
>>> parts.field_of(Kind.STRUCTURE)("[1, [2, nil]]", 1)
'[2, nil]'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from constat.logic.structure_text import (
    RECORD,
    all_cuts,
    constructor_and_fields,
    parts_between,
)
from constat.logic.structures import NOTHING, field_reader, indicator_of
from constat.logic.values import Kind, Value

_LONG: Final = 512
"""From this length on the parts of the parts are found as well."""
_MOST_TEXT: Final = 1 << 29
"""Room for a list of 10,000 cells, with all that end it: a proof meets them from the end."""
_MOST: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class _Within:
    """Where a structure stands in a longer one, and the cuts of all structures there."""

    text: str
    start: int
    cuts: Mapping[int, tuple[int, ...]]


class Parts:
    """What one evaluation has taken apart; single-threaded."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._within: dict[str, _Within] = {}
        self._size = 0

    def constructor_of(self, structure: str) -> str:
        """Give the constructor and the number of fields."""
        return self._taken(structure)[0]

    def field_of(self, kind: Kind) -> Callable[[str, int], Value]:
        """Give what reads a field of that kind, counted from 0."""
        field, taken = field_reader(kind), self._taken

        def read(structure: str, place: int) -> Value:
            fields = taken(structure)[1]
            return field(fields[place]) if 0 <= place < len(fields) else NOTHING[kind]

        return read

    def _taken(self, structure: str) -> tuple[str, tuple[str, ...]]:
        known = self._known.get(structure)
        if known is None:
            known = self._known[structure] = self._take(structure)
        return known

    def _take(self, structure: str) -> tuple[str, tuple[str, ...]]:
        self._size += len(structure)
        if self._size > _MOST_TEXT or len(self._known) > _MOST:
            self._known.clear()
            self._within.clear()
            self._size = len(structure)
        if len(structure) < _LONG or structure[-1] not in "])":
            constructor, fields = constructor_and_fields(structure)
            return indicator_of(constructor, len(fields)), fields
        within = self._within.pop(structure, None)
        if within is None:
            within = _Within(structure, 0, all_cuts(structure))
        return self._cut(within)

    def _cut(self, within: _Within) -> tuple[str, tuple[str, ...]]:
        text, cuts = within.text, within.cuts[within.start]
        fields = parts_between(text, cuts)
        for field, cut in zip(fields, cuts, strict=False):
            if len(field) >= _LONG and field[0] != '"':
                self._within[field] = _Within(text, cut + 2, within.cuts)
        first = cuts[0] + 2
        name = RECORD if text[within.start] == "[" else text[within.start : first - 1]
        return indicator_of(name, len(fields)), fields
