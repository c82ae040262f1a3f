"""All ways to derive facts and what they rest on: the hypergraph that searches for proofs walk.

In: a reading and facts that are certain in it.  Out: ``Ways``: for every fact below them each rule
instance whose premises are certain, and the row of a source where there is one.  Invariant: a way
is there iff a certificate may use it as the node of its fact; whether its premises can be shown
without the fact itself is left to the search.  Example: a fact that two rules give has two ways.
Reference: Gallo, Longo, Pallottino, Nguyen, Directed hypergraphs and applications, 1993.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constat.proof.best_totals import facts_of, open_total, with_totals
from constat.proof.certain_bodies import CertainBodies
from constat.proof.confidence import MILLION, millionths
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    decided_by_totals,
    is_ground,
)
from constat.proof.proofs import FactNode, RuleNode
from constat.proof.reading import rule_assumption
from constat.proof.slices import Slice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.proof.best_totals import Open
    from constat.proof.growth import Listed
    from constat.proof.instances import Binding, LiteralCode, RuleCode
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node
    from constat.proof.reading import Reading


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """One way to derive a fact, compared by identity.

    ``cap`` is the confidence of what is no premise, ``factor`` that of the rule; ``totals`` are
    recursive thresholds, whose summands the search chooses: none of them has been settled.
    """

    fact: Fact
    node: Node
    cap: int
    factor: int
    premises: tuple[Fact, ...] = ()
    totals: tuple[Open, ...] = ()

    def settled(self, listed: tuple[Listed, ...]) -> Node:
        """Return the node, with the summands that were chosen for its totals."""
        if not self.totals or not isinstance(self.node, RuleNode):
            return self.node
        pairs = tuple(zip(self.totals, listed, strict=True))
        totals = tuple((one.place, chosen) for one, chosen in pairs)
        return replace(self.node, values=with_totals(self.node.values, pairs), totals=totals)

    def below(self, listed: tuple[Listed, ...]) -> tuple[Fact, ...]:
        """Return what the fact rests on when those summands are chosen."""
        if not listed:
            return self.premises
        chosen = (premise for one in listed for premise in one.premises())
        return tuple(dict.fromkeys((*self.premises, *chosen)))


class Ways:
    """The ways below some facts, found once.

    Raises ``TooLargeError`` where there are more instances than ``steps`` allows.
    """

    def __init__(self, reading: Reading, facts: Iterable[Fact], steps: int) -> None:
        self.reading = reading
        self.walker = Slice(reading, steps)
        self._bodies = CertainBodies(self.walker)
        closing = [
            millionths(one.confidence)
            for one in reading.accepted
            if one.kind in {"closure", "fall-through"}
        ]
        self._absence = min(closing, default=MILLION)
        self._ways: dict[Fact, tuple[Way, ...]] = {}
        self._collect(facts)

    def of(self, fact: Fact) -> tuple[Way, ...]:
        """Return the ways to derive a fact, that of its source first."""
        return self._ways[fact]

    @property
    def is_exact(self) -> bool:
        """Whether confidences found here are those of the proofs, not only bounds below them."""
        return self._absence == MILLION

    def _collect(self, facts: Iterable[Fact]) -> None:
        """Find all ways to derive the facts, and what they rest on, and so on."""
        waiting = list(facts)
        while waiting:
            fact = waiting.pop()
            if fact not in self._ways:
                found = self._ways[fact] = tuple(self._ways_of(fact))
                waiting += [premise for way in found for premise in way.premises]
                for way in found:
                    waiting += [f for one in way.totals for w in one.waiting for f in facts_of(w)]

    def _ways_of(self, fact: Fact) -> list[Way]:
        predicate, row = fact
        found: list[Way] = []
        grounds = self.walker.outside.grounds(predicate, row)
        if grounds is not None:
            sure = millionths(grounds.confidence)
            found.append(Way(fact, FactNode(predicate, row), sure, MILLION))
        columns = tuple(range(len(row)))
        for number in self.reading.program.rule_numbers(predicate):
            if not self.reading.holds(rule_assumption(self.reading.program, number)):
                continue
            code = self.walker.code(number)
            start = code.start(columns, row)
            if start is None:
                continue
            instances: dict[tuple[object, ...], Way] = {}
            for binding in self._bodies.search(code, start):
                way = self._way(fact, code, binding)
                if way is not None:
                    # A possible row beside the certain one may lead to the same instance again.
                    instances.setdefault(tuple(binding), way)
            found += instances.values()
        return found

    def _way(self, fact: Fact, code: RuleCode, binding: Binding) -> Way | None:
        """Return the instance as a way to derive the fact, if it holds for certain."""
        totals = self._totals(code, binding)
        if totals is None:
            return None
        decided = {one.result for one in totals}
        known = [cell for slot, cell in enumerate(binding[: code.outer]) if slot not in decided]
        if not is_ground(known) or code.head.pattern(binding) != fact[1]:
            return None
        cap = MILLION
        below: dict[Fact, None] = {}
        premises: list[Fact | None] = []
        for place, literal in enumerate(code.body):
            rests = self._rests_on(code, place, literal, binding)
            if rests is None:
                return None
            below.update(dict.fromkeys(rests))
            positive = isinstance(literal, PositiveCode)
            premises.append(rests[0] if positive else None)
            if not positive and not isinstance(literal, ComparisonCode):
                cap = min(cap, self._absence)
        if any(one.needs_absence for one in totals):
            cap = min(cap, self._absence)
        rule = self.reading.program.rules[code.number]
        values = tuple(binding[: code.outer])
        node = RuleNode(*fact, code.number, values, tuple(premises), ())  # type: ignore[arg-type]
        return Way(fact, node, cap, millionths(rule.confidence), tuple(below), tuple(totals))

    def _totals(self, code: RuleCode, binding: Binding) -> list[Open] | None:
        """Return the recursive totals of an instance; ``None`` where one cannot be certain."""
        found: list[Open] = []
        for place, literal in enumerate(code.body):
            if isinstance(literal, AggregateCode) and literal.threshold is not None:
                total = open_total(self.walker, code, place, literal, binding)
                if total is None:
                    return None
                found.append(total)
        return found

    def _rests_on(
        self, code: RuleCode, place: int, literal: LiteralCode, binding: Binding
    ) -> tuple[Fact, ...] | None:
        """Return the facts a literal rests on; ``None`` where it is not certain."""
        match literal:
            case PositiveCode(atom):
                row = atom.pattern(binding)
                certain = is_ground(row) and self.walker.is_certain(atom.predicate, row)  # type: ignore[arg-type]
                return ((atom.predicate, row),) if certain else None  # type: ignore[return-value]
            case NegativeCode(atom):
                row = atom.pattern(binding)
                absent = is_ground(row) and not self.walker.possible(atom.predicate, row)
                return () if absent else None
            case ComparisonCode():
                decided = literal in decided_by_totals(code)
                return () if decided or literal.truth(binding) is True else None
            case AggregateCode() if literal.threshold is not None:
                return ()
            case AggregateCode():
                exact = self.walker.aggregates.exact(code, place, literal, binding)
                return tuple(exact.read) if exact.value == binding[literal.result] else None
