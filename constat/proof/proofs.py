"""From an outcome to a proof: the nodes that derive what holds, and the bound on what does not.

In: a reading and a goal that is proved, disproved or unresolved in it.  Out: a ``Proof``: nodes
with premises before conclusions, and the slice that absences and aggregates rest on.  Invariant:
every negated literal of a node has no possible row and every aggregate its exact value; otherwise
``UnshownError`` says which, because a verdict without a proof must not leave the house.

Derivations are followed with a list of our own, so a proof may be 10,000 steps deep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from constat.evaluation import FactDerivation, LimitReachedError, in_parts
from constat.frozen import frozen
from constat.logic import OPEN, Constant, is_wildcard
from constat.proof.instances import (
    AggregateCode,
    NegativeCode,
    PositiveCode,
    is_ground,
    is_hole,
)
from constat.proof.levels import MILLION, millionths, rule_confidence
from constat.proof.reading import LateError, rule_assumption, timely
from constat.proof.slices import Slice, bound_by, has_negations, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.evaluation import Assumption, RuleDerivation
    from constat.logic import Atom, Row, Value
    from constat.proof.groups import Exact
    from constat.proof.instances import Binding, Cell, Pattern, RuleCode, ThresholdCode
    from constat.proof.outside import AnswerBook, Fact
    from constat.proof.reading import Reading
    from constat.proof.slices import Listed


class UnsupportedError(RuntimeError):
    """The outcome claims what its own rows do not support: an error of ours."""


class UnshownError(UnsupportedError):
    """What is possible in a certificate leaves open what the outcome decides."""


@frozen
class FactNode:
    """A row that came from outside."""

    predicate: str
    row: Row


@frozen
class RuleNode:
    """One firing: ``premises`` has a fact for each positive literal and ``None`` elsewhere.

    ``values`` are those of the rule's outer variables; ``exacts`` the aggregates, by literal, and
    ``totals`` the recursive thresholds, whose results in ``values`` are lower bounds.
    """

    predicate: str
    row: Row
    rule: int
    values: tuple[Value, ...]
    premises: tuple[Fact | None, ...]
    exacts: tuple[tuple[int, Exact], ...]
    totals: tuple[tuple[int, Listed], ...] = ()

    def supports(self) -> Iterator[Fact]:
        """Yield the premises, those of summands included."""
        yield from (premise for premise in self.premises if premise is not None)
        for _, total in self.totals:
            yield from total.premises()

    def binding(self, code: RuleCode) -> Binding:
        """Return the node's substitution; local variables of aggregates are unbound."""
        return [*self.values, *[None] * (len(code.names) - code.outer)]


Node = FactNode | RuleNode


class Proof:
    """What shows a verdict in a reading; ``nodes`` and ``confidences`` are in proof order."""

    def __init__(self, reading: Reading, goal: Atom, book: AnswerBook | None = None) -> None:
        self.reading = reading
        self.goal = goal
        self.slice = Slice(reading, book=book)
        self.answers: tuple[Fact, ...] = ()
        self.left_out = 0
        """How many certain rows of the goal it was not asked to show."""
        self.nodes: dict[Fact, Node] = {}
        self.confidences: dict[Fact, int] = {}
        self._derived: dict[Fact, Node] = {}
        self._absence: int | None = None

    @property
    def pattern(self) -> Pattern:
        """The goal's values, ``None`` where it has a variable."""
        return tuple([t.value if isinstance(t, Constant) else None for t in self.goal.terms])

    @property
    def unread(self) -> frozenset[int]:
        """The columns in which the goal has ``_``."""
        return frozenset(place for place, t in enumerate(self.goal.terms) if is_wildcard(t))

    def show(self, answers: tuple[Fact, ...], *, bounded: bool) -> None:
        """Derive the answers; with ``bounded`` also look up all that may match the goal."""
        self.answers = answers

        def roots() -> None:
            if bounded:
                self.slice.possible(self.goal.predicate, self.pattern, self.unread)
            self.nodes.clear()
            self.slice.nodes = self.nodes
            waiting = list(answers)
            while True:
                for fact in waiting:
                    self._derive(fact)
                # Running the rules consults further rows as certain, and those need nodes too.
                self.slice.settle()
                waiting = [fact for fact in self.slice.consulted if fact not in self.nodes]
                if not waiting:
                    return

        self.slice.walk(roots)
        self._order()
        self._weigh()

    def used_assumptions(self) -> tuple[Assumption, ...]:
        """Return the accepted assumptions that the proof needs, in the order met.

        What stands for several is given as such; see ``accepted_assumptions``.
        """
        found: dict[Assumption, None] = {}
        for node in self.nodes.values():
            if isinstance(node, RuleNode):
                assumption = rule_assumption(self.reading.program, node.rule)
            else:
                grounds = self.slice.outside.grounds(node.predicate, node.row)
                assumption = None if grounds is None else grounds.assumption
            if assumption is not None:
                found[assumption] = None
        used = self.slice.outside.usage.assumptions
        found.update(dict.fromkeys(sorted(used, key=lambda one: (one.kind, one.text))))
        return tuple(found)

    def accepted_assumptions(self) -> tuple[Assumption, ...]:
        """Return what a verdict on this proof accepts, each assumption by itself."""
        return in_parts(self.used_assumptions())

    def absence_confidence(self) -> int:
        """Return what an absence is worth: the least confidence of what closes it."""
        if self._absence is None:
            filling = self.slice.outside.fillings()
            closing = [
                millionths(one.confidence)
                for one in self.accepted_assumptions()
                if one.kind in {"closure", "fall-through"} or one in filling
            ]
            self._absence = min(closing, default=MILLION)
        return self._absence

    def confidence_of(self, predicate: str, row: Row) -> int:
        """Return the best confidence of a certain row, as a node or as a fact from outside."""
        grounds = self.slice.outside.grounds(predicate, row)
        outside = 0 if grounds is None else millionths(grounds.confidence)
        return max(outside, self.confidences.get((predicate, row), 0))

    def prefer(self, nodes: Mapping[Fact, Node]) -> None:
        """Take these derivations instead of the engine's."""
        self._derived.update(nodes)

    def code(self, number: int) -> RuleCode:
        """Return a compiled rule."""
        return self.slice.code(number)

    # ------------------------------------------------------------------ nodes

    def _derive(self, fact: Fact) -> None:
        """Add the nodes of a fact and of everything it rests on."""
        stack = [fact]
        while stack:
            one = stack.pop()
            if one in self.nodes:
                continue
            self.slice.look(1)
            node = self._node(one)
            self.nodes[one] = node
            if isinstance(node, RuleNode):
                stack += node.supports()

    def _node(self, fact: Fact) -> Node:
        node = self._derived.get(fact)
        if node is None:
            outcome = self.reading.outcome
            try:
                derivation = outcome.derivation(*fact, self.reading.certain)
            except LimitReachedError as limit:
                raise LateError(str(limit)) from None
            if isinstance(derivation, FactDerivation):
                node = FactNode(*fact)
            else:
                node = self._rule_node(fact, derivation)
            self._derived[fact] = node
        if isinstance(node, FactNode):
            self._check_fact(node)
            return node
        return self._with_absences(node)

    def _check_fact(self, node: FactNode) -> None:
        if not self.slice.outside.is_certain(node.predicate, node.row):
            raise UnsupportedError(f"no source gave a row of {node.predicate} that is used")

    def _rule_node(self, fact: Fact, derivation: RuleDerivation) -> RuleNode:
        code = self.code(derivation.rule)
        # What is not read has no value; an engine need not bind it.
        values = cast(
            "tuple[Value, ...]",
            tuple(
                derivation.bindings.get(name, OPEN)
                if place in code.unread
                else derivation.bindings[name]
                for place, name in enumerate(code.names[: code.outer])
            ),
        )
        premises: list[Fact | None] = []
        for literal, row in zip(code.body, derivation.premises, strict=True):
            if isinstance(literal, PositiveCode) and row is not None:
                premises.append((literal.atom.predicate, row))
            else:
                premises.append(None)
        totals = tuple(
            (place, listed(code, literal, values, derivation.listed[place]))
            for place, literal in enumerate(code.body)
            if isinstance(literal, AggregateCode) and literal.threshold is not None
        )
        return RuleNode(*fact, derivation.rule, values, tuple(premises), (), totals)

    def _with_absences(self, node: RuleNode) -> RuleNode:
        """Look up what the node's negations and aggregates rest on."""
        code = self.code(node.rule)
        binding = node.binding(code)
        exacts: list[tuple[int, Exact]] = []
        for place, literal in enumerate(code.body):
            if isinstance(literal, NegativeCode):
                self._check_absent(literal, binding)
            elif isinstance(literal, AggregateCode) and literal.threshold is not None:
                self._check_total(node, place, literal, literal.threshold)
            elif isinstance(literal, AggregateCode):
                exact = self.slice.aggregates.exact(code, place, literal, binding)
                if is_hole(exact.value):
                    raise UnshownError(f"an aggregate of rule {node.rule} is not known")
                if exact.value != binding[literal.result]:
                    raise UnsupportedError(f"an aggregate of rule {node.rule} has another value")
                exacts.append((place, exact))
        return replace(node, exacts=tuple(exacts))

    def _check_total(
        self, node: RuleNode, place: int, literal: AggregateCode, threshold: ThresholdCode
    ) -> None:
        """Look up what a total rests on besides its premises."""
        code, total = self.code(node.rule), dict(node.totals)[place]
        for one in total.summands:
            inner = bound_by(code, literal, one, node.binding(code))
            for test in literal.body:
                if isinstance(test, NegativeCode):
                    self._check_absent(test, inner)
        if threshold.proven:
            return
        if not self.slice.growth.top(code, place, literal, node.binding(code)).grows:
            raise UnshownError(f"a total of rule {node.rule} may have a negative summand")

    def _check_absent(self, literal: NegativeCode, binding: Binding) -> None:
        row: tuple[Cell, ...] = literal.atom.pattern(binding)
        if not is_ground(row) or self.slice.possible(literal.atom.predicate, row):
            raise UnshownError(f"a row of {literal.atom.predicate} is not known to be absent")

    # ------------------------------------------------------------------ order and confidence

    def rests_on(self, node: Node) -> Iterator[Fact]:
        """Yield the facts a node needs that have nodes of their own."""
        if isinstance(node, RuleNode):
            yield from node.supports()
            for _, exact in node.exacts:
                # Rows that a summary stands for are rows of sources, and rest on nothing.
                if exact.sources:
                    continue
                yield from (fact for fact in exact.read if fact in self.nodes)

    def _order(self) -> None:
        """Put premises before conclusions."""
        ordered: dict[Fact, Node] = {}
        entered: set[Fact] = set()
        # Rows may come from sets: sorted, the same proof gives the same bytes.
        roots = sorted(self.nodes, key=lambda fact: (fact[0], str(fact[1])))
        ranks = {fact: rank for rank, fact in enumerate(roots)}
        for root in timely(self.reading.clock, roots):
            stack = [root]
            while stack:
                fact = stack[-1]
                if fact in ordered:
                    stack.pop()
                    continue
                node = self.nodes[fact]
                below = sorted(
                    (one for one in self.rests_on(node) if one not in ordered),
                    key=ranks.__getitem__,
                )
                if not below:
                    ordered[fact] = node
                    stack.pop()
                elif fact in entered:
                    raise UnsupportedError(f"a row of {fact[0]} would support itself")
                else:
                    entered.add(fact)
                    stack += below
        self.nodes = ordered

    def _weigh(self) -> None:
        absence = self.absence_confidence()
        for fact, node in timely(self.reading.clock, self.nodes.items()):
            if isinstance(node, RuleNode):
                self.confidences[fact] = self._rule_weight(node, absence)
            else:
                grounds = self.slice.outside.grounds(*fact)
                sure = MILLION if grounds is None else millionths(grounds.confidence)
                self.confidences[fact] = sure

    def _rule_weight(self, node: RuleNode, absence: int) -> int:
        least = MILLION
        exacts = dict(node.exacts)
        for place, literal in enumerate(self.code(node.rule).body):
            premise = node.premises[place]
            if premise is not None:
                least = min(least, self.confidences[premise])
            elif isinstance(literal, NegativeCode):
                least = min(least, absence)
            elif place in exacts:
                least = min(least, self.exact_weight(exacts[place]))
            elif isinstance(literal, AggregateCode) and literal.threshold is not None:
                least = min(least, self.total_weight(dict(node.totals)[place], literal))
        rule = self.reading.program.rules[node.rule]
        return rule_confidence(least, millionths(rule.confidence))

    def total_weight(self, total: Listed, literal: AggregateCode) -> int:
        """Return what a total is worth: the least of its premises and of the absences it needs."""
        least = min((self.confidences[premise] for premise in total.premises()), default=MILLION)
        unproven = literal.threshold is not None and not literal.threshold.proven
        absent = unproven or (total.summands and has_negations(literal))
        return min(least, self.absence_confidence()) if absent else least

    def exact_weight(self, exact: Exact) -> int:
        """Return what a total is worth: its rows or its sources, and the absence of others."""
        if exact.sources:
            return min(millionths(evidence.confidence) for _, evidence in exact.sources)
        read = [self.confidence_of(*fact) for fact in exact.read]
        return min([self.absence_confidence(), *read])
