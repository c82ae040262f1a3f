"""Check the nodes: each is a fact shown, or follows by its rule from earlier nodes.

In: a certificate, its rows, its aggregates.  Out: the confidence of every node is confirmed, or
``Rejected`` at the node.  Invariant: premises point backward, so no fact supports itself; absence
and aggregates reach only into lower strata.

Example: a node whose premise is a later node is rejected with code ``premise``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from .aggregates import some_may_be_one
from .canonical import Rejected
from .certificate import FactNode, RuleNode
from .closure import Growth, assigned, exceeds
from .levels import Lookups
from .rules import Aggregate, Binding, Comparison, Negative, Positive
from .values import MILLION, Hole, surely

if TYPE_CHECKING:
    from .aggregates import Aggregates
    from .certificate import Certificate
    from .levels import Levels
    from .rows import Rows
    from .rules import Atom, Literal, Test, Threshold


class Nodes:
    """Checks nodes in order; ``rests_on[i]`` are the nodes that node i uses."""

    def __init__(
        self, certificate: Certificate, rows: Rows, aggregates: Aggregates, levels: Levels
    ) -> None:
        self.nodes = certificate.nodes
        self.rules = certificate.program.rules
        self.evidence = certificate.evidence
        self.rows = rows
        self.aggregates = aggregates
        self.levels = levels
        self.growth = Growth(aggregates, rows)
        self.rests_on: list[list[int]] = []

    def check(self) -> None:
        """Reject the certificate at the first node that does not follow."""
        if len(self.rows.nodes) < len(self.nodes):
            raise Rejected("node", "two nodes have the same fact", "nodes")
        for position, node in enumerate(self.nodes):
            try:
                self._check(position, node)
            except Rejected as rejected:
                rejected.within(f"nodes[{position}]")
                raise

    def _check(self, position: int, node: FactNode | RuleNode) -> None:
        self.rests_on.append([])
        found = self._fact(node) if isinstance(node, FactNode) else self._rule(position, node)
        if found != node.confidence:
            raise Rejected("confidence", "the confidence is another", "confidence")

    def _accept(self, assumption: int | None) -> None:
        if assumption is None:
            return
        if not self.rows.holds(assumption):
            raise Rejected("assumption", "this rests on an assumption that is not accepted")
        self.rows.used_assumptions.add(assumption)

    def _fact(self, node: FactNode) -> int:
        groups = self.evidence.facts
        if node.group >= len(groups):
            raise Rejected("node", "there is no such group of facts", "facts")
        group = groups[node.group]
        if node.row >= len(group.rows):
            raise Rejected("node", "the group has no such row", "row")
        shown = self.rows.shown_row(node.group, group, node.row)
        if (group.predicate, shown.row) != (node.predicate, node.fact):
            raise Rejected("node", "the row of the group is another fact", "fact")
        for assumption in shown.rests_on:
            self._accept(assumption)
        return shown.confidence

    def _rule(self, position: int, node: RuleNode) -> int:
        rule = self.rules[node.rule]
        self._accept(rule.assumption)
        binding: Binding = [Hole.UNBOUND if value is None else value for value in node.bind]
        if (
            rule.head.predicate != node.predicate
            or self.rows.evaluator.instance(rule.head, binding) != node.fact
        ):
            raise Rejected("head", "the head under this binding is another fact", "fact")
        least = MILLION
        decided = {one.threshold.place for _, one in rule.growing if one.threshold}
        for at, literal in enumerate(rule.body):
            try:
                if at in decided:
                    _check_bare(node.premises[at])
                else:
                    least = min(least, self._noted(position, node, at, literal, binding))
            except Rejected as rejected:
                rejected.within(f"premises[{at}]")
                raise
        return least * rule.confidence // MILLION

    def _noted(
        self, position: int, node: RuleNode, at: int, literal: Literal, binding: Binding
    ) -> int:
        """Check a literal; what an absence or an aggregate looks up is noted for its level."""
        if isinstance(literal, Positive):
            return self._premise(position, node.premises[at], literal.atom, binding)
        if isinstance(literal, Negative | Aggregate):
            self.rows.lookups = Lookups()
            self.levels.literals.append((position, at, self.rows.lookups))
        return self._literal(position, node, at, literal, binding)

    def _literal(
        self, position: int, node: RuleNode, at: int, literal: Literal, binding: Binding
    ) -> int:
        if not isinstance(literal, Aggregate):
            return self._test(position, node.premises[at], literal, binding)
        if literal.threshold is not None:
            return self._exceeding(position, node, at, literal, binding)
        _check_bare(node.premises[at])
        return self._aggregated(position, node, at, literal, binding)

    def _test(self, position: int, premise: int | None, test: Test, binding: Binding) -> int:
        if isinstance(test, Positive):
            return self._premise(position, premise, test.atom, binding)
        _check_bare(premise)
        match test:
            case Negative(atom):
                return self._absent(atom, binding)
            case Comparison():
                return self._compared(test, binding)

    def _premise(self, position: int, premise: int | None, atom: Atom, binding: Binding) -> int:
        if premise is None or premise >= position:
            raise Rejected("premise", "a premise is an earlier node")
        earlier = self.nodes[premise]
        wanted = self.rows.evaluator.instance(atom, binding)
        same = earlier.predicate == atom.predicate
        if not same or not (earlier.fact == wanted or surely(wanted, earlier.fact)):
            raise Rejected("premise", "the premise is another fact")
        self.rests_on[position].append(premise)
        return earlier.confidence

    def _absent(self, atom: Atom, binding: Binding) -> int:
        row = self.rows.evaluator.instance(atom, binding)
        # Reading allows an unbound variable here only where it occurs once: then it means "any".
        if Hole.STAR in row or Hole.ERROR in row:
            raise Rejected("negation", "the negated atom has no value")
        if self.rows.possible(atom.predicate, row):
            raise Rejected("negation", "the negated atom may be true")
        return self.aggregates.absence

    def _compared(self, literal: Comparison, binding: Binding) -> int:
        if self.rows.evaluator.truth(literal, binding) is not True:
            raise Rejected("comparison", "the comparison does not hold")
        return MILLION

    def _aggregated(
        self, position: int, node: RuleNode, at: int, literal: Aggregate, binding: Binding
    ) -> int:
        exact = self.aggregates.exact(node.rule, at, literal, binding)
        if exact.value is None or isinstance(exact.value, Hole):
            raise Rejected("aggregate", "the aggregate has no exact value")
        if exact.value != binding[literal.result.position]:
            raise Rejected("aggregate", f"the aggregate is {str(exact.value)[:80]}")
        self.rests_on[position] += exact.consulted
        return exact.confidence

    def _exceeding(
        self,
        position: int,
        node: RuleNode,
        at: int,
        literal: Aggregate,
        binding: Binding,
    ) -> int:
        """Check that what is listed exceeds the bound, and that nothing can take from it."""
        threshold = cast("Threshold", literal.threshold)
        if some_may_be_one([one.values for one in node.listed[at]], self.rows.spend):
            raise Rejected("threshold", "two of what is listed may be one")
        least, total = MILLION, Fraction()
        for number, one in enumerate(node.listed[at]):
            inner = assigned(literal, binding, one.values)
            try:
                sure, value = self._summand(position, one.premises, literal, inner)
            except Rejected as rejected:
                rejected.within(f"[{number}]")
                raise
            least, total = min(least, sure), total + value
        bound = self.growth.bound(threshold, binding)
        if bound is None or not exceeds(total, threshold, bound):
            raise Rejected("threshold", "what is listed does not exceed the bound")
        if threshold.proven:
            return least
        top = self.growth.top(node.rule, at, literal, binding)
        if not top.grows:
            raise Rejected("threshold", "a row of this group may be negative")
        self.rests_on[position] += top.consulted
        return min(least, self.aggregates.absence)

    def _summand(
        self, position: int, premises: tuple[int | None, ...], literal: Aggregate, inner: Binding
    ) -> tuple[int, Fraction]:
        least = MILLION
        for premise, test in zip(premises, literal.body, strict=True):
            least = min(least, self._test(position, premise, test, inner))
        value = self.growth.summand(literal, inner)
        if value is None or value < 0:
            raise Rejected("threshold", "a summand is negative or has no value")
        return least, value


def _check_bare(premise: int | None) -> None:
    if premise is not None:
        raise Rejected("premise", "only a positive literal has a premise")


def check_all_used(rests_on: list[list[int]], roots: set[int]) -> None:
    """Reject a node that neither the goal nor an upper bound needs."""
    used: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node not in used:
            used.add(node)
            waiting += rests_on[node]
    for position in range(len(rests_on)):
        if position not in used:
            raise Rejected("unused", "nothing needs this node", f"nodes[{position}]")
