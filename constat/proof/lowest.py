"""The rows from outside that a lowest proof of a row rests on, found in whole relations.

In: relations with the least height of each row (`constat.forward.levels`), a row. Out: the rows
from outside at the leaves of one proof of that height. Invariant: each step goes to rows of less
height, so that the walk ends; nothing is searched but the rules of rows on the way.
Example: for `path(1, 4)` by way of 2 these are `edge(1, 2)` and `edge(2, 4)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.proof.instances import Binding, ComparisonCode, PositiveCode, compile_rule, is_hole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.forward.levels import Levels
    from constat.logic import Row, Value
    from constat.proof.instances import AtomCode, LiteralCode, RuleCode

Leaves = dict[str, dict["Row", None]]


@dataclass(slots=True)
class LowestProofs:
    """Finds the leaves of proofs; the rules are made ready once."""

    program: AnalysedProgram
    levels: Levels
    _codes: dict[str, list[RuleCode]] = field(default_factory=dict)

    def leaves(self, predicate: str, row: Row) -> Leaves | None:
        """Give the leaves of a lowest proof; `None` where the row does not hold."""
        found: Leaves = {}
        waiting, seen = [(predicate, row)], {(predicate, row)}
        while waiting:
            name, values = waiting.pop()
            if name not in self.levels.derived:
                found.setdefault(name, {})[values] = None
                continue
            premises = self._premises(name, values)
            if premises is None:
                return None
            fresh = [one for one in premises if one not in seen]
            seen.update(fresh)
            waiting += fresh
        return found

    def _premises(self, predicate: str, row: Row) -> list[tuple[str, Row]] | None:
        """Give what one rule instance of least height needs."""
        height = self.levels.height(predicate, row)
        if height is None:
            return None
        for code in self._rules(predicate):
            start = code.start(tuple(range(len(row))), row)
            found = None if start is None else self._search(code, start, height)
            if found is not None and code.head.pattern(found) == row:
                atoms = (one.atom for one in code.body if isinstance(one, PositiveCode))
                return [(atom.predicate, atom.pattern(found)) for atom in atoms]  # type: ignore[misc]  # all is bound
        return None

    def _search(self, code: RuleCode, start: Binding, below: int) -> Binding | None:
        """Find a binding under which the body holds in rows of less height."""
        waiting: list[tuple[Binding, tuple[LiteralCode, ...]]] = [(start, code.body)]
        while waiting:
            binding, left = waiting.pop()
            if not left:
                return binding
            place = self._next(binding, left)
            test, rest = left[place], left[:place] + left[place + 1 :]
            if isinstance(test, ComparisonCode):
                extended = test.assigned(binding)
                if extended is not None or test.truth(binding) is True:
                    waiting.append((extended or binding, rest))
            elif isinstance(test, PositiveCode):
                atom, pattern = test.atom, test.atom.pattern(binding)
                rows = self.levels.rows(atom.predicate, _bound(atom, binding), below)
                unified = (atom.unify(pattern, row, binding) for row in rows)
                waiting += [(one, rest) for one in unified if one is not None]
        return None

    def _next(self, binding: Binding, left: tuple[LiteralCode, ...]) -> int:
        """Choose what can be tested, then the atom that leaves the fewest rows."""
        best, least = 0, -1
        for place, test in enumerate(left):
            if isinstance(test, ComparisonCode):
                if test.truth(binding) is not None or test.assigned(binding) is not None:
                    return place
            elif isinstance(test, PositiveCode):
                count = self.levels.count(test.atom.predicate, _bound(test.atom, binding))
                if least < 0 or count < least:
                    best, least = place, count
        return best

    def _rules(self, predicate: str) -> list[RuleCode]:
        if predicate not in self._codes:
            numbers = self.program.rule_numbers(predicate)
            self._codes[predicate] = [compile_rule(self.program, number) for number in numbers]
        return self._codes[predicate]


def _bound(atom: AtomCode, binding: Binding) -> Mapping[int, Value]:
    """Give the columns of an atom that have a value."""
    cells = enumerate(atom.pattern(binding))
    return {place: cell for place, cell in cells if not is_hole(cell)}  # type: ignore[misc]  # no hole
