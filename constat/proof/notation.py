"""Cells of a certificate: values, labels of unknown values, structures that a table shares.

What a certificate holds is gathered before a cell of it is written, since rows are sorted by their
cells.  A label is named by its content (FORMAT.md, section 2).  A structure is in the table where
it occurs twice, or where a part of it is; so a walk over a list says "the rest" by a number.

Example: of the cells `[1, [2, nil]]` and `[2, nil]` the table has both, and the first is
`["[]", "1", 0]`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import OPEN, Kind, NullCell, NullPolicy, Open, format_value, null_cells
from constat.logic.structure_text import STRING, constructor_and_fields
from constat.proof.canonical import sort_key
from constat.proof.proofs import RuleNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from constat.logic import OpenRow
    from constat.proof.canonical import Cell, Json, TextRow
    from constat.proof.proofs import Proof

_TEXTS: Final = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL})
# Shorter structures cost less written out than named, and are taken apart whole.
_SHORT: Final = 24
_SMALL: Final = 2_000
# So far a long structure is looked into for one that is known: lists are walked in short steps.
_MOST_SIGNS: Final = 256
_SIGN: Final = re.compile(rf"{STRING}|\$[A-Za-z_][A-Za-z0-9_]*\(|[\[\])]", re.ASCII)


class Notation:
    """Spells the cells of one certificate; ``kinds`` are those of each predicate's columns."""

    def __init__(
        self,
        kinds: Mapping[str, Sequence[Kind]] = MappingProxyType({}),
        nulls: Iterable[NullCell] = (),
        structures: Iterable[str] = (),
    ) -> None:
        self.shared = SharedValues(structures)
        found = {
            cell: (
                cell.predicate,
                self._known(cell, kinds[cell.predicate]),
                cell.column,
                cell.ordinal,
            )
            for cell in nulls
            if cell.policy is NullPolicy.UNKNOWN
        }
        ordered = sorted(
            found, key=lambda one: (found[one][0], sort_key(found[one][1]), *found[one][2:])
        )
        self.labels: dict[NullCell, int] = {cell: place for place, cell in enumerate(ordered)}
        self.labels_json: list[Json] = [
            [name, list(row), column, ordinal]
            for name, row, column, ordinal in (found[cell] for cell in ordered)
        ]

    def _known(self, cell: NullCell, kinds: Sequence[Kind]) -> TextRow:
        """Spell the known cells of a label's row."""
        return self.speller(kinds)([OPEN if one is None else one for one in cell.known])

    def speller(self, kinds: Sequence[Kind]) -> Callable[[Sequence[object]], TextRow]:
        """Return the function that spells a row of these kinds; ⋆ becomes ``None``."""
        plain = all(kind in _TEXTS for kind in kinds)

        def spell(row: Sequence[object]) -> TextRow:
            return tuple([self.cell(slot, kind) for slot, kind in zip(row, kinds, strict=True)])

        def spell_texts(row: Sequence[object]) -> TextRow:
            return tuple([slot if type(slot) is str else self._null(slot) for slot in row])

        return spell_texts if plain else spell

    def cell(self, slot: object, kind: Kind) -> Cell:
        """Spell one cell."""
        if isinstance(slot, Open | NullCell):
            return self._null(slot)
        text = format_value(slot, kind)  # type: ignore[arg-type]  # a value
        return self.shared.places.get(text, text) if kind is Kind.STRUCTURE else text

    def _null(self, slot: object) -> Cell:
        if not isinstance(slot, NullCell):
            return None
        if slot.policy is NullPolicy.UNKNOWN:
            return ("unknown", self.labels[slot])
        return ("none",) if slot.policy is NullPolicy.NONE else ("maybe", slot.ordinal)


class SharedValues:
    """The table of structures: ``places`` of their texts."""

    def __init__(self, cells: Iterable[str]) -> None:
        self.places: dict[str, int] = {}
        self.entries: list[Json] = []
        self._parts: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._times: dict[str, int] = {}
        for text in cells:
            if len(text) >= _SHORT:
                self._times[text] = self._times.get(text, 0) + 1
        self._own = {text: text for text in self._times}
        # The shorter first: of a list the rest is there before the list.
        for text in sorted(self._times, key=lambda one: (len(one), one)):
            self._take_apart(text)
        self._count()
        for text in self._parts:
            self._enter(text)

    def _take_apart(self, whole: str) -> None:
        """Note the parts of a structure, inner ones first; of a long one those around a known one.

        A long one that holds nothing known has no parts until it is named itself.
        """
        if len(whole) > _SMALL:
            around = self._around_known(whole)
            for outer, inner in zip(around[-2::-1], around[:0:-1], strict=True):
                self._parts.setdefault(outer, _ending_with(outer, inner))
            self._parts.setdefault(whole, (whole, ()))
            return
        # What is known has its parts already: going down a list meets each rest once.
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        waiting = [whole]
        while waiting:
            text = waiting[-1]
            parts = found.get(text) or constructor_and_fields(text)
            found[text] = parts
            below = [one for one in parts[1] if len(one) >= _SHORT and one[0] in "[$"]
            left = [one for one in below if one not in self._parts]
            waiting += left
            if not left:
                self._parts[waiting.pop()] = parts

    def _around_known(self, whole: str) -> list[str]:
        """Return a structure, those that end it one in the other, and the known one in them."""
        found = [whole]
        for number, sign in enumerate(_SIGN.finditer(whole, 1)):
            if number > _MOST_SIGNS:
                break
            if sign[0] in "])":
                # What was opened last does not reach to the end.
                found.pop()
                if not found:
                    break
            elif sign[0][0] != '"':
                inner = whole[sign.start() : len(whole) - len(found)]
                # The text that is there already: copies of long lists fill the memory.
                found.append(self._own.get(inner, inner))
                if inner in self._parts:
                    return found
        return []

    def _count(self) -> None:
        for text, (_, fields) in self._parts.items():
            for field in fields:
                if field in self._parts:
                    self._times[field] = self._times.get(field, 0) + 1
            self._times.setdefault(text, 0)

    def _enter(self, text: str) -> None:
        constructor, fields = self._parts[text]
        if not fields and self._times[text] > 1:
            constructor, fields = constructor_and_fields(text)
        inner = [self.places.get(field, field) for field in fields]
        shares = any(type(field) is int for field in inner)
        if fields and len(text) >= _SHORT and (shares or self._times[text] > 1):
            self.places[text] = len(self.entries)
            self.entries.append([constructor, *inner])


def _ending_with(outer: str, inner: str) -> tuple[str, tuple[str, ...]]:
    """Take a structure apart whose last field is known."""
    constructor, fields = constructor_and_fields(f"{outer[: -len(inner) - 1]}nil{outer[-1]}")
    return constructor, (*fields[:-1], inner)


def notation_of(proof: Proof, shown: Iterable[tuple[str, OpenRow]], *, shares: bool) -> Notation:
    """Return how the cells of a certificate are spelled; ``shown`` is what came from outside."""
    predicates = proof.reading.program.program.predicates
    kinds = {name: predicate.kinds for name, predicate in predicates.items()}
    rows = list(shown)
    nulls = [cell for _, row in rows for cell in null_cells(row)]
    has_structures = shares and any(Kind.STRUCTURE in one for one in kinds.values())
    structures = structures_in(proof) if has_structures else []
    if has_structures:
        structures += [text for name, row in rows for text in _structures(row, kinds[name])]
    return Notation(kinds, nulls, structures)


def structures_in(proof: Proof) -> list[str]:
    """Return the structures in nodes and bounds of a proof, as often as they stand there."""
    predicates = proof.reading.program.program.predicates
    found: list[str] = []
    for node in proof.nodes.values():
        found += _structures(node.row, predicates[node.predicate].kinds)
        if isinstance(node, RuleNode):
            code = proof.code(node.rule)
            found += _structures(node.values, code.kinds[: code.outer])
            for place, total in node.totals:
                inner = [code.kinds[slot] for slot in code.body[place].inner]  # type: ignore[union-attr]
                found += [t for one in total.summands for t in _structures(one.values, inner)]
    inside = proof.slice.inside
    for name, rows in inside.shown_rows().items():
        found += [text for row in rows for text in _structures(row, predicates[name].kinds)]
    for (name, columns), entry in inside.entries.items():
        own = [predicates[name].kinds[column] for column in columns]
        found += [text for key in entry.keys for text in _structures(key, own)]
    return found


def _structures(row: Sequence[object], kinds: Sequence[Kind]) -> list[str]:
    pairs = zip(row, kinds, strict=True)
    return [cell for cell, kind in pairs if kind is Kind.STRUCTURE and isinstance(cell, str)]
