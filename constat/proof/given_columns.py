"""A decision whose rules have given columns, shown with the rules as they are written (42, 47).

Evaluation reads what is asked of a given column as a relation (`with_given`). A certificate needs
none: whoever calls the predicate binds the column, and each key of the upper bound has it. So the
same rows are shown over the rules as written. Where that shows less, as where nobody knows what is
asked, the relation is written too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from constat.evaluation import CONCEIVABLE, DemandEntry, RuleDerivation, Verdict
from constat.proof.lateness import TooLargeError
from constat.proof.projection import demanded_relations, with_projected_negations
from constat.proof.proofs import Proof, RuleNode, UnshownError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Call, Derivation, Failure, Outcome
    from constat.logic import Atom, OpenRow, Row
    from constat.proof.decide import Decision
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node


def as_written(decision: Decision) -> Decision:
    """Return a decision that is shown with given columns; as it is where that shows less."""
    program = decision.program
    if program is None or decision.limit:
        return decision
    try:
        outcome = _Written(decision.reading.outcome, with_projected_negations(program))
        proof = _shown(decision, outcome)
    except (UnshownError, UnsupportedError, TooLargeError, KeyError):
        return decision
    return decision if proof is None else replace(decision, proof=proof)


def _shown(decision: Decision, outcome: _Written) -> Proof | None:
    """Show the same of the same reading; `None` where another verdict would follow."""
    before = decision.proof
    reading = replace(decision.reading, program=outcome.program, outcome=outcome)
    proof = Proof(reading, decision.goal)
    proof.slice.shows_negated = before.slice.shows_negated
    proof.prefer(outcome.nodes(before.nodes))
    proof.show(before.answers, bounded=not before.answers)
    goal = decision.goal.predicate
    possible = bool(before.answers) or bool(proof.slice.possible(goal, proof.pattern, proof.unread))
    disproved = decision.verdict in {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}
    same = set(proof.accepted_assumptions()) == set(before.accepted_assumptions())
    worth = [
        max((one.confidences[fact] for fact in one.answers), default=one.absence_confidence())
        for one in (before, proof)
    ]
    return proof if same and possible is not disproved and worth[0] == worth[1] else None


@dataclass(slots=True)
class _Written:
    """An outcome told in the rules as written: without the relations of what was asked."""

    inner: Outcome
    program: AnalysedProgram
    _numbers: dict[int, int] = field(init=False)
    _firsts: dict[int, int] = field(init=False)
    _demanded: Mapping[str, str] = field(init=False)
    demands: tuple[DemandEntry, ...] = field(init=False)
    """What was asked of derived predicates, each key with its given columns."""

    def __post_init__(self) -> None:
        places = {rule.id: number for number, rule in enumerate(self.program.rules)}
        found = enumerate(self.inner.program.rules)
        self._numbers = {number: places[rule.id] for number, rule in found if rule.id in places}
        self._firsts = {
            places[rule.id]: len(rule.body) - len(self.program.rules[places[rule.id]].body)
            for rule in self.inner.program.rules
            if rule.id in places
        }
        self._demanded = demanded_relations(self.program)
        hidden = set(self._demanded.values())
        entries = (one for one in self.inner.demands if one.predicate not in hidden)
        self.demands = tuple(map(self._entry, entries))

    @property
    def goal(self) -> Atom:
        """The goal that was evaluated."""
        return self.inner.goal

    @property
    def calls(self) -> tuple[Call, ...]:
        """All demands made outside, in order."""
        return self.inner.calls

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Rule instances that erred."""
        found = (one for one in self.inner.failures if one.rule in self._numbers)
        return tuple(replace(one, rule=self._numbers[one.rule]) for one in found)

    @property
    def stopped(self) -> str:
        """Why evaluation stopped before the end."""
        return self.inner.stopped

    def strength(self, atom: Atom) -> int:
        """The greatest strength of the rows that match the atom."""
        return self.inner.strength(atom)

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        """The rows of a predicate with at least that strength."""
        return self.inner.rows(predicate, least)

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        """One derivation of a row, without the premise that it was asked for."""
        found = self.inner.derivation(predicate, row, least)
        if not isinstance(found, RuleDerivation):
            return found
        number = self._numbers[found.rule]
        first = self._first(number)
        listed = {place - first: rows for place, rows in found.listed.items()}
        return replace(found, rule=number, premises=found.premises[first:], listed=listed)

    def nodes(self, nodes: Mapping[Fact, Node]) -> dict[Fact, Node]:
        """Give the nodes of a proof over the rules that were evaluated."""
        return dict(self._nodes(nodes))

    def _nodes(self, nodes: Mapping[Fact, Node]) -> Iterator[tuple[Fact, Node]]:
        for fact, node in nodes.items():
            if not isinstance(node, RuleNode):
                yield fact, node
            elif node.rule in self._numbers:
                number = self._numbers[node.rule]
                first = self._first(number)
                totals = tuple((place - first, one) for place, one in node.totals)
                premises = node.premises[first:]
                told = replace(node, rule=number, premises=premises, exacts=(), totals=totals)
                yield fact, told

    def _first(self, number: int) -> int:
        """Count the literals that were put first: what is asked of the head's given columns.

        The rule of a projection (`late.some.days`) was evaluated without one.
        """
        return self._firsts[number]

    def _given(self, predicate: str) -> tuple[int, ...]:
        return self.program.program.predicates[predicate].given

    def _entry(self, demand: DemandEntry) -> DemandEntry:
        """Give each key its given columns; orders are those that bind what others are given."""
        given = self._given(demand.predicate)
        columns = tuple(sorted({*demand.columns, *given}))
        if columns == demand.columns:
            return replace(demand, orders={})
        asked = [
            dict(zip(given, row, strict=True))
            for row in self.inner.rows(self._demanded[demand.predicate], CONCEIVABLE)
        ]
        keys = {
            tuple(cells[place] for place in columns)
            for key, more in product(demand.keys, asked)
            for cells in [{**more, **dict(zip(demand.columns, key, strict=True))}]
            if all(more.get(place, cell) == cell for place, cell in cells.items())
        }
        return DemandEntry(demand.predicate, columns, {}, frozenset(keys))  # type: ignore[arg-type]
