"""External predicates under suppositions: rows added, rows hidden, rules that do not stand.

In: external predicates and an ``Overlay``.  Out: external predicates that answer as the others do,
but for what is supposed.  Invariant: each supposition is an assumption.  Without it the world is
open there, so a verdict that needs no supposition is the verdict of the real world, and one that
needs some is UNDER them and names them; nothing is written anywhere.

Example: with ``blocked(C003)`` hidden, that row is possible until "supposed: there is no
blocked(C003)" is accepted; then it is gone.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    Answer,
    Assumption,
    Evidence,
    FillablePredicate,
    Opening,
    Origin,
    Portion,
)
from constat.frozen import frozen
from constat.logic import OPEN, NullCell
from constat.syntax import print_row, print_stated
from constat.tiers import SUPPOSED, Chain
from constat.tiers.tier import rows_as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Demand, ExternalPredicate, Externals
    from constat.logic import OpenRow, Predicate, Row

STANDS: Final = "rule.stands"
"""The predicate that guards a rule which is supposed not to hold; no program can declare it."""


@frozen
class Removal:
    """Rows of a predicate that are supposed not to be; ⋆ stands for any value."""

    predicate: str
    pattern: OpenRow


@frozen
class Overlay:
    """What is supposed: rows that are there besides, rows that are not, rules that do not stand."""

    added: tuple[tuple[str, Row], ...] = ()
    removed: tuple[Removal, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def predicates(self) -> frozenset[str]:
        """The predicates whose rows are supposed to be others."""
        return frozenset(
            [*(name for name, _ in self.added), *(one.predicate for one in self.removed)]
        )


def supposed_fact(predicate: Predicate, row: Row) -> Assumption:
    """Give the assumption that a row is there."""
    atom = print_stated(predicate, row)
    return Assumption("fact", atom, f"{SUPPOSED}: {atom}")


def supposed_absence(predicate: Predicate, pattern: OpenRow) -> Assumption:
    """Give the assumption that no row of a shape is there."""
    atom = print_row(predicate, pattern)
    return Assumption("closure", predicate.name, f"{SUPPOSED}: there is no {atom}")


def dropped_rule(rule: str) -> Assumption:
    """Give the assumption that a rule does not stand."""
    return Assumption("closure", STANDS, f"{SUPPOSED}: rule {rule} does not stand")


def overlaid(externals: Externals, program: AnalysedProgram, overlay: Overlay) -> Externals:
    """Give external predicates under suppositions; those nothing is supposed of stay as they are.

    A predicate that nobody answers for, because a supposed rule brought it, is answered too.
    """
    predicates = program.program.predicates
    found = dict(externals)
    for name in overlay.predicates | (program.external - externals.keys()):
        found[name] = _Supposed(externals.get(name), predicates[name], overlay)
    if STANDS in program.external:
        found[STANDS] = _Stands()
    return found


class _Stands:
    """Of no rule that is asked for it is known that it stands; supposed is that it does not."""

    cost = 1

    def answer(self, demand: Demand) -> Answer:
        """Answer: nothing, under the suppositions."""
        openings = []
        for key in demand.keys:
            rule = str(key[0]) if key else "that was changed"
            opening = Opening(key or (OPEN,), "a rule is supposed", SUPPOSED, dropped_rule(rule))
            openings.append(opening)
        return Answer((), tuple(openings), frozenset(demand.keys))


@frozen
class _Absence:
    """A shape that is supposed empty, and the assumption that it is."""

    pattern: OpenRow
    assumption: Assumption

    def holds(self, row: OpenRow) -> bool:
        """Tell whether everything of a row's shape is supposed not to be."""
        return all(
            wanted is OPEN or wanted == slot for wanted, slot in zip(self.pattern, row, strict=True)
        )


class _Supposed:
    """One external predicate under suppositions."""

    def __init__(
        self, inner: ExternalPredicate | None, predicate: Predicate, overlay: Overlay
    ) -> None:
        self.cost = 1 if inner is None else inner.cost
        self._inner = inner
        name = predicate.name
        rows = dict.fromkeys(row for one, row in overlay.added if one == name)
        # Alike to whom it reads fewer columns, two suppositions are one row.
        self._added = {
            shown: replace(_portion(predicate, row), rows=(shown,))
            for row in rows
            for shown in rows_as_read([row], predicate)
        }
        patterns = [one.pattern for one in overlay.removed if one.predicate == name]
        # What a chain knows of a key decides whether a supposed row counts, as it does for a fact
        # that somebody states (semantics 41); nobody else knows tiers, so there it replaces.
        self._weighed = isinstance(inner, Chain) and inner.key is not None
        if isinstance(inner, Chain) and self._weighed:
            added = (_portion(predicate, row) for row in rows)
            self._inner = inner.supposing(tuple(added), self._visible)
        else:
            patterns += [_of_key(row, predicate.key) for row in rows if predicate.key]
        self._absences = tuple(
            _Absence(pattern, supposed_absence(predicate, pattern))
            for pattern in dict.fromkeys(patterns)
        )

    @property
    def may_fill(self) -> bool:
        """Whether the predicate that is supposed about may fill null cells."""
        return isinstance(self._inner, FillablePredicate) and self._inner.may_fill

    def filled(self) -> _Supposed:
        """Give the same where somebody's word counts of null cells."""
        other = copy(self)
        if isinstance(self._inner, FillablePredicate):
            other._inner = self._inner.filled()  # noqa: SLF001  a copy of our own
        return other

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        inner = Answer() if self._inner is None else self._inner.answer(demand)
        visible = self._visible(inner)
        portions, openings = list(visible.portions), dict.fromkeys(visible.openings)
        answered = set(inner.answered)
        for key in demand.keys:
            shape = _shape(demand, key)
            absence = self._absence(shape)
            if key not in answered and absence is not None:
                answered.add(key)
                openings[_opening(shape, absence)] = None
        if not self._weighed:
            portions += self._besides(demand, visible)
            openings.update(dict.fromkeys(self._shapes()))
        return replace(
            inner,
            portions=tuple(portions),
            openings=tuple(openings),
            answered=frozenset(answered),
        )

    def _besides(self, demand: Demand, visible: Answer) -> Iterator[Portion]:
        """Yield what is supposed besides rows that hold anyway."""
        plain = {row for one in visible.portions if one.assumption is None for row in one.rows}
        return (
            self._added[row]
            for row in self._wanted(demand)
            if row not in plain and not _leaves_out(row)
        )

    def _shapes(self) -> Iterator[Opening]:
        """Yield the rows of which only some cells are supposed: beside no row they say no whole."""
        for row in filter(_leaves_out, self._added):
            cells: OpenRow = row
            shape = tuple(OPEN if isinstance(cell, NullCell) else cell for cell in cells)
            yield Opening(shape, "what is supposed of it leaves columns out", SUPPOSED)

    def _visible(self, inner: Answer) -> Answer:
        """Give an answer without the rows that are supposed not to be."""
        portions: list[Portion] = []
        openings: dict[Opening, None] = {}
        for portion in inner.portions:
            kept = self._kept(portion.rows, openings)
            if kept:
                portions.append(Portion(tuple(kept), portion.evidence, portion.assumption))
        for opening in inner.openings:
            absence = self._absence(opening.row)
            openings[opening if absence is None else _opening(opening.row, absence)] = None
        return replace(inner, portions=tuple(portions), openings=tuple(openings))

    def _kept(self, rows: Iterable[Row], openings: dict[Opening, None]) -> list[Row]:
        """Give the rows that are not hidden; the others become open until that is accepted."""
        kept = []
        for row in rows:
            absence = None if row in self._added else self._absence(row)
            if absence is None:
                kept.append(row)
            else:
                openings[_opening(row, absence)] = None
        return kept

    def _absence(self, row: OpenRow) -> _Absence | None:
        return next((one for one in self._absences if one.holds(row)), None)

    def _wanted(self, demand: Demand) -> Iterator[Row]:
        keys = set(demand.keys)
        for row in self._added:
            if tuple(row[column] for column in demand.columns) in keys:
                yield row


def _leaves_out(row: Row) -> bool:
    """Whether a supposition leaves a cell out that somebody reads."""
    cells: tuple[object, ...] = row
    return any(isinstance(cell, NullCell) and not cell.policy.is_empty for cell in cells)


def _portion(predicate: Predicate, row: Row) -> Portion:
    # The word of whoever supposes: no authority, so the row never holds without its assumption.
    evidence = Evidence(
        SUPPOSED,
        Origin.USER_PROVIDED,
        "what-if",
        "",
        query=print_stated(predicate, row),
        row_count=1,
    )
    return Portion((row,), evidence, supposed_fact(predicate, row))


def _opening(row: OpenRow, absence: _Absence) -> Opening:
    # An open row has values and ⋆ only: of a null cell nothing is claimed.
    cells: OpenRow = tuple(OPEN if isinstance(cell, NullCell) else cell for cell in row)
    return Opening(cells, absence.assumption.text, SUPPOSED, absence.assumption)


def _of_key(row: Row, key: tuple[int, ...]) -> OpenRow:
    return tuple(slot if place in key else OPEN for place, slot in enumerate(row))


def _shape(demand: Demand, key: Row) -> OpenRow:
    places = dict(zip(demand.columns, key, strict=True))
    return tuple(places.get(place, OPEN) for place in range(demand.predicate.arity))
