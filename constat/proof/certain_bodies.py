"""Bindings under which a whole body is certain, by the cheapest literal first.

In: a rule and values for its head.  Out: the bindings whose positive literals are certain rows.
Invariant: every instance whose premises are certain is among them; absences and aggregates are
taken by the walker, so those that come out need not hold.  Unlike an upper bound, which needs all
that is possible, this may read a literal by whichever columns have the fewest rows.

Example: ``reach(1, 9)`` by ``reach(?a, ?b), edge(?b, ?c)`` reads the edges into 9 first, not all
that 1 reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import OPEN
from constat.proof.instances import ComparisonCode, PositiveCode, is_hole
from constat.proof.ordering import is_ready
from constat.proof.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.logic import OpenRow
    from constat.proof.instances import AtomCode, Binding, Pattern, RuleCode
    from constat.proof.slices import Slice

_Open = tuple["Binding", tuple[int, ...]]
"""A binding and the places of the body that it was not held against yet."""


class CertainBodies:
    """The certain rows of a reading, indexed by whatever columns are bound."""

    def __init__(self, walker: Slice) -> None:
        self._walker = walker
        self._relations: dict[str, Relation] = {}

    def search(self, code: RuleCode, start: Binding) -> Iterator[Binding]:
        """Yield the bindings; depth first, without recursion."""
        stack: list[Iterator[_Open]] = [iter(((start, tuple(range(len(code.body)))),))]
        while stack:
            state = next(stack[-1], None)
            if state is None:
                stack.pop()
            elif state[1]:
                stack.append(self._step(code, *state))
            else:
                yield state[0]

    def _step(self, code: RuleCode, binding: Binding, left: tuple[int, ...]) -> Iterator[_Open]:
        place, rows = self._cheapest(code, binding, left)
        rest = tuple([one for one in left if one != place])
        literal = code.body[place]
        if not isinstance(literal, PositiveCode):
            return iter([(one, rest) for one in self._walker.extend(code, place, binding)])
        pattern = literal.atom.pattern(binding)
        self._walker.spend(1 + len(rows))
        extended = (literal.atom.unify(pattern, row, binding) for row in rows)
        return iter([(one, rest) for one in extended if one is not None])

    def _cheapest(
        self, code: RuleCode, binding: Binding, left: tuple[int, ...]
    ) -> tuple[int, list[OpenRow]]:
        """Choose a comparison that can be made, else the atom with the fewest rows, else the rest.

        Absences and aggregates cost more than a look into an index, and fewer bindings reach them.
        """
        bound = {slot for slot, cell in enumerate(binding) if cell is not None}
        # What is never ready ("any" under a negation) comes last, as it is.
        ready = [place for place in left if is_ready(code.body[place], bound)] or list(left)
        best: tuple[int, list[OpenRow]] | None = None
        for place in ready:
            literal = code.body[place]
            if isinstance(literal, ComparisonCode):
                return place, []
            if isinstance(literal, PositiveCode):
                rows = self._matching(literal.atom, literal.atom.pattern(binding))
                if best is None or len(rows) < len(best[1]):
                    best = place, rows
        return best or (ready[0], [])

    def _matching(self, atom: AtomCode, pattern: Pattern) -> list[OpenRow]:
        columns = tuple([place for place, cell in enumerate(pattern) if not is_hole(cell)])
        key = tuple([pattern[column] for column in columns])
        return self._relation(atom.predicate).matching(columns, key)  # type: ignore[arg-type]

    def _relation(self, predicate: str) -> Relation:
        found = self._relations.get(predicate)
        if found is None:
            found = self._relations[predicate] = Relation(self._certain(predicate))
        return found

    def _certain(self, predicate: str) -> Iterable[OpenRow]:
        reading, outside = self._walker.reading, self._walker.outside
        rows = dict.fromkeys(reading.outcome.rows(predicate, reading.certain))
        if predicate in reading.program.external:
            rows.update(dict.fromkeys(outside.side(predicate).given))
        return [row for row in rows if OPEN not in row]
