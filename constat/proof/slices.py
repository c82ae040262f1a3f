"""The slice of the world that a verdict needs, walked as a checker walks it (FORMAT.md, section 6).

In: a reading and what has to be shown (rows that hold, patterns that have no row).  Out: the nodes
to derive, the closure of what was called absent or aggregated, and the outside rows all that rests
on.  Invariant: at the end every demanded key was run through every rule, and each head obtained is
covered by a row of the closure; so what is outside the closure is false (Tarski, 1955).

Where a run finds a row or an opening that nobody knew of, earlier look-ups may have missed it, so
the walk starts again with it.  So it does where a look-up was taken for one that nothing serves,
and what is shown for another one serves it: a checker finds the rows there.  Rows and promises are
only ever added, so this ends where evaluation does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from constat.logic import OPEN
from constat.proof.groups import Aggregates
from constat.proof.growth import Growth
from constat.proof.inside import Inside, filled_head
from constat.proof.instances import (
    AggregateCode,
    Binding,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    compile_rule,
    is_ground,
    is_hole,
    is_known,
    is_starred,
    known_columns,
)
from constat.proof.lateness import TooLargeError, look_at
from constat.proof.ordering import order_of
from constat.proof.outside import Outside
from constat.proof.relation import has_none

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from constat.logic import OpenRow, Row
    from constat.proof.answers import AnswerBook
    from constat.proof.inside import Entry
    from constat.proof.instances import LiteralCode, Pattern, RuleCode, Test, ThresholdCode
    from constat.proof.outside import Fact
    from constat.proof.reading import Reading
    from constat.proof.relation import Columns

Shown: TypeAlias = "Mapping[tuple[str, Columns], AbstractSet[Row]]"
MOST_STEPS = 50_000_000
"""How much of the world a proof may look at; a checker counts steps of its own."""
_MOST_PASSES = 10_000
_STEPS_A_LOOK = 1_000


class Slice:
    """Everything a verdict rests on, found by walking from its roots."""

    def __init__(
        self, reading: Reading, steps: int | None = None, book: AnswerBook | None = None
    ) -> None:
        self.reading = reading
        self.program = reading.program
        self.codes: dict[int, RuleCode] = {}
        self.outside = Outside(reading, book)
        self.inside = Inside(reading, lambda number, columns: order_of(self.code(number), columns))
        self.derived = frozenset(rule.head.predicate for rule in self.program.rules)
        self.aggregates = Aggregates(self)
        self.growth = Growth(self)
        self.consulted: dict[Fact, None] = {}
        self.steps = MOST_STEPS if steps is None else steps
        self._unlooked = 0
        self._by_node: dict[Fact, None] = {}
        self._not_by_node: set[Fact] = set()
        # Facts that have nodes, once the roots have been derived.
        self.nodes: Container[Fact] = self.consulted
        self._unserved: set[tuple[str, Columns, Row]] = set()
        self._has_node: set[Fact] = set()
        # An upper bound needs no look at what is negated; whoever asks what is missing does.
        self.shows_negated = False

    def code(self, number: int) -> RuleCode:
        """Return a rule, compiled once."""
        code = self.codes.get(number)
        if code is None:
            code = self.codes[number] = self.program.remembered(
                ("code", number), lambda: compile_rule(self.program, number)
            )
        return code

    def walk(self, roots: Callable[[], None]) -> None:
        """Look up what ``roots`` looks up, until everything it rests on is known."""
        for _ in range(_MOST_PASSES):
            self.outside.restart()
            self.inside.restart()
            self.aggregates.restart()
            self.growth.restart()
            self.consulted.clear()
            self._by_node.clear()
            self._unserved.clear()
            roots()
            self.settle()
            changed = self.outside.changed or self.inside.changed
            # Both are asked: each notes what the next walk must know.
            if not any([changed, self._served_anyway(), self._serves_more()]):
                return
        raise TooLargeError

    def settle(self) -> None:
        """Run the rules for every key that waits."""
        waiting = self.inside.waiting
        while waiting:
            entry, key = waiting.pop()
            for number, order in entry.orders.items():
                self._run(entry, key, number, order)

    def possible(
        self, predicate: str, pattern: Pattern, unread: AbstractSet[int] = frozenset()
    ) -> list[OpenRow]:
        """Return the possible rows that match a pattern, from outside and derived.

        ``unread`` are columns of which the pattern asks nothing, not even that there is a value.
        """
        if all(map(is_known, pattern)) and self._is_shown_by_node(predicate, pattern):  # type: ignore[arg-type]
            return [pattern]  # type: ignore[list-item]  # ground
        found: list[OpenRow] | None = None
        if is_starred(pattern):
            self._note_unserved(predicate, pattern)
        if predicate in self.program.external:
            found = self._with_values(predicate, pattern, unread)
        if predicate in self.derived:
            rows = self.inside.possible(predicate, pattern)
            found = rows if found is None else found + rows
        self.spend(1 + len(found or ()))
        return found or []

    def _with_values(
        self, predicate: str, pattern: Pattern, unread: AbstractSet[int]
    ) -> list[OpenRow]:
        """Return the rows from outside that have a value wherever the pattern reads one."""
        found = self.outside.possible(predicate, pattern)
        none = self.outside.side(predicate).rows.columns_of_none
        read = none - unread
        return [row for row in found if not any(has_none(row[c]) for c in read)] if read else found

    def spend(self, steps: int) -> None:
        """Take steps; raises ``TooLargeError`` where there are no more, or no time."""
        self.steps -= steps
        if self.steps < 0:
            raise TooLargeError
        self.look(steps)

    def look(self, steps: int) -> None:
        """Look at the clock after so many steps and again; raises ``LateError``."""
        self._unlooked += steps
        if self._unlooked > _STEPS_A_LOOK:
            self._unlooked = 0
            look_at(self.reading.clock)

    def _is_shown_by_node(self, predicate: str, row: Row) -> bool:
        """Tell whether a node stands for all that a ground pattern may match.

        An engine runs no further rule once a ground row is certain.  Running them here would ask
        what it left unasked, and open what nobody needs; the row's derivation says enough.
        """
        fact = (predicate, row)
        if fact in self._by_node:
            return True
        if fact in self._not_by_node or self._is_looked_up(predicate, row):
            return False
        if not self.is_certain(predicate, row):
            return False
        self._by_node[fact] = self.consulted[fact] = None
        return True

    def _is_looked_up(self, predicate: str, row: Row) -> bool:
        """Tell whether rows that are shown anyway answer a ground pattern."""
        if predicate in self.derived:
            return self.inside.is_active(predicate, row)
        return self.outside.is_served(predicate, row)

    def _served_anyway(self) -> bool:
        """Tell whether something shown serves a pattern that a node stands for.

        A checker then looks there, and the node would be there for nothing.
        """
        covered, keyed = self._shown()
        served = [
            (name, row)
            for name, row in self._by_node
            if _serves(covered, name, range(len(row)), row)
            or _serves(keyed, name, range(len(row)), row)
        ]
        self._not_by_node.update(served)
        return bool(served)

    def _serves_more(self) -> bool:
        """Tell whether something shown serves a pattern that was taken for one without.

        It is promised to the next walk, which looks there as a checker does.
        """
        if not self._unserved:
            return False
        covered, keyed = self._shown()
        more = False
        for name, columns, key in self._unserved:
            outside = _serves(covered, name, columns, key)
            if outside is not None and name in self.program.external:
                more |= self.outside.promise(name, *outside)
            inside = _serves(keyed, name, columns, key)
            if inside is not None and name in self.derived:
                more |= self.inside.promise(name, *inside)
            if (name, key) in self.nodes and (name, key) not in self._has_node:
                self._has_node.add((name, key))
                more = True
        return more

    def _shown(self) -> tuple[Shown, Shown]:
        """Return the patterns that coverage and closure serve, by predicate and columns."""
        covered: dict[tuple[str, Columns], set[Row]] = {}
        for predicate, columns, key in self.outside.usage.covered:
            covered.setdefault((predicate, columns), set()).add(key)
        keyed: Shown = {
            (predicate, columns): entry.keys.keys()
            for (predicate, columns), entry in self.inside.entries.items()
        }
        return covered, keyed

    def is_served(self, predicate: str, pattern: Pattern) -> bool:
        """Tell whether the certificate will say all that matches a pattern."""
        if all(map(is_known, pattern)) and (predicate, pattern) in self._has_node:
            return True
        if self._is_served(predicate, pattern):
            return True
        self._note_unserved(predicate, pattern)
        return False

    def _is_served(self, predicate: str, pattern: Pattern) -> bool:
        columns, key = known_columns(pattern)
        if predicate in self.program.external and not self.outside.is_served(predicate, pattern):
            return False
        return predicate not in self.derived or self.inside.is_served(predicate, columns, key)

    def _note_unserved(self, predicate: str, pattern: Pattern) -> None:
        """Remember a pattern that is taken as one that nothing serves, where it is one."""
        if not self._is_served(predicate, pattern):
            self._unserved.add((predicate, *known_columns(pattern)))

    def is_certain(self, predicate: str, row: OpenRow) -> bool:
        """Tell whether a ground row is certain; the proof then shows why."""
        if predicate in self.program.external and self.outside.is_certain(predicate, row):  # type: ignore[arg-type]
            return True
        if predicate in self.derived and self.inside.is_certain(predicate, row):
            self.consulted[predicate, row] = None  # type: ignore[index]  # the row is ground
            return True
        return False

    def _run(self, entry: Entry, key: Row, number: int, order: tuple[int, ...]) -> None:
        code = self.code(number)
        start = code.start(entry.columns, key)
        if start is None:
            return
        for binding in self.search(code, order, start):
            pattern = code.head.pattern(binding)
            head = filled_head(pattern, entry.columns, key)
            if head is not None and not self.inside.covers(entry.predicate, head):
                self.inside.add(entry.predicate, head)

    def search(self, code: RuleCode, order: tuple[int, ...], start: Binding) -> Iterator[Binding]:
        """Yield the bindings under which a body may be true; depth first, without recursion."""
        if not order:
            yield start
            return
        last = len(order) - 1
        stack = [iter(self.extend(code, order[0], start))]
        while stack:
            binding = next(stack[-1], None)
            if binding is None:
                stack.pop()
            elif len(stack) > last:
                yield binding
            else:
                stack.append(iter(self.extend(code, order[len(stack)], binding)))

    def extend(self, code: RuleCode, place: int, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which one literal may be true as well."""
        literal: LiteralCode = code.body[place]
        if isinstance(literal, AggregateCode):
            return self._aggregated(code, place, literal, binding)
        return self.tested(literal, binding)

    def tested(self, literal: Test, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which a literal that is no aggregate may be true."""
        match literal:
            case PositiveCode(atom):
                pattern = atom.pattern(binding)
                extended = (
                    atom.unify(pattern, row, binding)
                    for row in self.possible(atom.predicate, pattern, atom.unread)
                )
                return [one for one in extended if one is not None]
            case NegativeCode(atom):
                row = atom.pattern(binding)
                if is_ground(row):
                    if self.is_certain(atom.predicate, row):  # type: ignore[arg-type]
                        return ()
                    if self.shows_negated:
                        self.possible(atom.predicate, row)
                return (binding,)
            case ComparisonCode():
                return compared(literal, binding)

    def _aggregated(
        self, code: RuleCode, place: int, literal: AggregateCode, binding: Binding
    ) -> tuple[Binding, ...]:
        if literal.threshold is not None:
            return self._total(code, place, literal, literal.threshold, binding)
        value = self.aggregates.exact(code, place, literal, binding).value
        if value is None:
            return ()
        known = binding[literal.result]
        if is_hole(known):
            extended = list(binding)
            extended[literal.result] = value
            return (extended,)
        return (binding,) if is_hole(value) or value == known else ()

    def _total(
        self,
        code: RuleCode,
        place: int,
        literal: AggregateCode,
        threshold: ThresholdCode,
        binding: Binding,
    ) -> tuple[Binding, ...]:
        """Keep what may exceed its bound; the comparison behind it is decided with that."""
        top = self.growth.top(code, place, literal, binding)
        if not self.growth.may_exceed(threshold, top, binding):
            return ()
        extended = list(binding)
        extended[literal.result] = OPEN
        return (extended,)


def _serves(
    shown: Shown, predicate: str, columns: Sequence[int], key: Row
) -> tuple[Columns, Row] | None:
    """Return what serves a pattern among what is shown: the same, or fewer columns."""
    places = dict(zip(columns, key, strict=True))
    for (name, wide), keys in shown.items():
        if name == predicate and all(column in places for column in wide):
            projected = tuple([places[column] for column in wide])
            if projected in keys:
                return wide, projected
    return None


def compared(literal: ComparisonCode, binding: Binding) -> tuple[Binding, ...]:
    """Return the binding, bound further by an assignment, or nothing where the test is false."""
    truth = literal.truth(binding)
    if truth is None:
        assigned = literal.assigned(binding)
        if assigned is None:
            raise ValueError("a comparison comes before what binds its variables")
        return (assigned,)
    return () if truth is False else (binding,)
