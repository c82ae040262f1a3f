"""The proof of greatest confidence, where the caller wants the search exhausted.

In: a reading and the facts to prove.  Out: for every fact a best derivation, found over all rule
instances whose premises are certain.  Invariant: a conclusion is never more confident than a
premise, and it is higher, so taking facts in falling confidence and, of equal ones, in rising
height finds the best ones first and never in a circle (Knuth, A generalization of Dijkstra's
algorithm, 1977).  Height is that of the proof tree: where all confidences are equal, no proof is
lower than the one that is found; its height is the round in which bulk evaluation finds the fact.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from constat.proof.best_totals import Open, Waiting, facts_of, open_total, with_totals
from constat.proof.confidence import MILLION, millionths, rule_confidence
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    decided_by_totals,
    is_ground,
)
from constat.proof.ordering import order_of
from constat.proof.proofs import FactNode, RuleNode
from constat.proof.reading import rule_assumption
from constat.proof.slices import Slice

if TYPE_CHECKING:
    from constat.proof.instances import Binding, LiteralCode, RuleCode
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node
    from constat.proof.reading import Reading


@dataclass(slots=True)
class _Way:
    """One way to derive a fact; ``waits`` counts the premises that are not settled yet.

    ``height`` is that of the proof tree, as far as its premises are settled.
    """

    fact: Fact
    node: Node
    cap: int
    factor: int
    premises: tuple[Fact, ...]
    totals: list[Open] = field(default_factory=list)
    waits: int = 0
    height: int = 0

    def finished(self) -> Node:
        """Return the node, with the summands that were settled first."""
        if not self.totals or not isinstance(self.node, RuleNode):
            return self.node
        listed = tuple((one.place, one.listed()) for one in self.totals)
        return replace(self.node, values=with_totals(self.node.values, self.totals), totals=listed)


_Entry: TypeAlias = tuple[int, int, int, _Way]
"""Falling confidence, height, arrival, way."""


def best_nodes(reading: Reading, facts: tuple[Fact, ...], steps: int) -> dict[Fact, Node]:
    """Return a best derivation of each fact and of what it rests on.

    Raises ``TooLargeError`` where there are more instances than ``steps`` allows.
    """
    search = _Search(reading, steps)
    search.collect(facts)
    return search.best()


class _Search:
    """The hypergraph of certain instances below some facts."""

    def __init__(self, reading: Reading, steps: int) -> None:
        self.reading = reading
        self.walker = Slice(reading, steps)
        closing = [
            millionths(one.confidence)
            for one in reading.accepted
            if one.kind in {"closure", "fall-through"}
        ]
        self.absence = min(closing, default=MILLION)
        self.ways: dict[Fact, list[_Way]] = {}
        self.pushed = 0

    def collect(self, facts: tuple[Fact, ...]) -> None:
        """Find all ways to derive the facts, and what they rest on, and so on."""
        waiting = list(facts)
        while waiting:
            fact = waiting.pop()
            if fact not in self.ways:
                self.ways[fact] = self.ways_of(fact)
                waiting += [premise for way in self.ways[fact] for premise in way.premises]
                for way in self.ways[fact]:
                    waiting += [f for one in way.totals for w in one.waiting for f in facts_of(w)]

    def ways_of(self, fact: Fact) -> list[_Way]:
        predicate, row = fact
        found: list[_Way] = []
        grounds = self.walker.outside.grounds(predicate, row)
        if grounds is not None:
            sure = millionths(grounds.evidence.confidence)
            found.append(_Way(fact, FactNode(predicate, row), sure, MILLION, ()))
        columns = tuple(range(len(row)))
        for number in self.reading.program.rule_numbers(predicate):
            if not self.reading.holds(rule_assumption(self.reading.program, number)):
                continue
            code = self.walker.code(number)
            start = code.start(columns, row)
            if start is None:
                continue
            for binding in self.walker.search(code, order_of(code, columns), start):
                way = self.way(fact, code, binding)
                if way is not None:
                    found.append(way)
        return found

    def way(self, fact: Fact, code: RuleCode, binding: Binding) -> _Way | None:
        """Return the instance as a way to derive the fact, if it holds for certain."""
        totals = self.totals(code, binding)
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
            rests = self.rests_on(code, place, literal, binding)
            if rests is None:
                return None
            below.update(dict.fromkeys(rests))
            positive = isinstance(literal, PositiveCode)
            premises.append(rests[0] if positive else None)
            if not positive and not isinstance(literal, ComparisonCode):
                cap = min(cap, self.absence)
        if any(one.needs_absence for one in totals):
            cap = min(cap, self.absence)
        rule = self.reading.program.rules[code.number]
        values = tuple(binding[: code.outer])
        node = RuleNode(*fact, code.number, values, tuple(premises), ())  # type: ignore[arg-type]
        return _Way(fact, node, cap, millionths(rule.confidence), tuple(below), totals)

    def totals(self, code: RuleCode, binding: Binding) -> list[Open] | None:
        """Return the recursive totals of an instance; ``None`` where one cannot be certain."""
        found: list[Open] = []
        for place, literal in enumerate(code.body):
            if isinstance(literal, AggregateCode) and literal.threshold is not None:
                total = open_total(self.walker, code, place, literal, binding)
                if total is None:
                    return None
                found.append(total)
        return found

    def rests_on(
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
                return exact.read if exact.value == binding[literal.result] else None

    def best(self) -> dict[Fact, Node]:
        """Take facts in falling confidence, each by the way that reached it first."""
        users: dict[Fact, list[_Way]] = {}
        summands: dict[Fact, list[tuple[_Way, Open, Waiting]]] = {}
        heap: list[_Entry] = []
        for way in (way for ways in self.ways.values() for way in ways):
            way.waits = len(way.premises) + sum(not one.reached for one in way.totals)
            for premise in way.premises:
                users.setdefault(premise, []).append(way)
            for total in way.totals:
                for one in total.waiting:
                    for premise in facts_of(one):
                        summands.setdefault(premise, []).append((way, total, one))
            if not way.waits:
                self.push(heap, way)
        return self.settled(heap, users, summands)

    def settled(
        self,
        heap: list[_Entry],
        users: dict[Fact, list[_Way]],
        summands: dict[Fact, list[tuple[_Way, Open, Waiting]]],
    ) -> dict[Fact, Node]:
        """Settle facts until no way is left."""
        chosen: dict[Fact, Node] = {}
        while heap:
            falling, _, _, way = heapq.heappop(heap)
            if way.fact in chosen:
                continue
            chosen[way.fact] = way.finished()
            for user in users.get(way.fact, ()):
                self.served(heap, user, way, -falling)
            for user, total, one in summands.get(way.fact, ()):
                if not total.reached:
                    total.settle(one)
                    if total.reached:
                        self.served(heap, user, way, -falling)
        return chosen

    def served(self, heap: list[_Entry], way: _Way, premise: _Way, confidence: int) -> None:
        """Take note that a way waits for one thing less, which was settled by `premise`."""
        way.waits -= 1
        way.cap = min(way.cap, confidence)
        way.height = max(way.height, premise.height + 1)
        if not way.waits:
            self.push(heap, way)

    def push(self, heap: list[_Entry], way: _Way) -> None:
        """Put a way whose premises are settled on the heap; of equal ones the first wins."""
        self.pushed += 1
        confidence = rule_confidence(way.cap, way.factor)
        heapq.heappush(heap, (-confidence, way.height, self.pushed, way))
