"""What proved answers rest on: assumptions and confidences, from one proof of all rows.

In: an outcome and the rows that hold in it, certain and accepted. Out: notes for each row, and the
assumptions of the set as a whole. Invariant: a row holds whenever the assumptions noted at it do;
they need not be the fewest, which `prove` looks for. Where a proof of all rows would be too large,
or takes too long, confidences are left out and every assumption that was met is named.
"""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.evaluation import UNTIMED, in_parts
from constat.frozen import frozen
from constat.proof.instances import AggregateCode, NegativeCode
from constat.proof.levels import MILLION
from constat.proof.proofs import Proof, RuleNode
from constat.proof.reading import (
    TooLargeError,
    accepting_reading,
    hard_reading,
    look_at,
    rule_assumption,
)
from constat.proof.topk import best_nodes
from constat.session.answers import Notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.evaluation import Assumption, Clock, Outcome
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node
    from constat.proof.reading import Reading

_MOST_NOTED: Final = 20_000
_BEST_STEPS: Final = 2_000_000


@frozen
class Rests:
    """The assumptions of the whole, and notes by row."""

    assumptions: tuple[Assumption, ...] = ()
    notes: Mapping[Fact, Notes] = field(default_factory=dict)


def resting(
    outcome: Outcome,
    certain: tuple[Fact, ...],
    accepted: tuple[Fact, ...],
    *,
    whole: bool,
    clock: Clock = UNTIMED,
) -> Rests:
    """Note what rows rest on.

    `certain` are the rows whose confidence is wanted; `whole` asks for the assumptions under
    which there are no other rows.
    """
    notes = _confidences(outcome, certain, clock) if certain else {}
    if not accepted and not whole:
        return Rests((), notes)
    # Few of them are met, and they are named in every case.
    every = _in_order(in_parts(accepting_reading(outcome).accepted))
    crude = Rests(every, notes | {fact: Notes(None, every) for fact in accepted})
    if len(accepted) > _MOST_NOTED:
        return crude
    try:
        proof = Proof(accepting_reading(outcome, clock), outcome.goal)
        proof.show(accepted, bounded=whole)
        walk = _Walk(proof, clock)
        under = {
            fact: Notes(Decimal(proof.confidences[fact]) / MILLION, walk.assumptions(fact))
            for fact in accepted
        }
    except TooLargeError:
        return crude
    return Rests(_in_order(proof.accepted_assumptions()), notes | under)


def _in_order(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Put assumptions into the one order that does not depend on who found them."""
    return tuple(sorted(assumptions, key=lambda one: (one.kind, one.text)))


def _confidences(outcome: Outcome, facts: tuple[Fact, ...], clock: Clock) -> dict[Fact, Notes]:
    """Give the best confidences, or those of the first proofs where there are too many ways."""
    reading = hard_reading(outcome, clock)
    try:
        proof = _best(reading, outcome, facts)
    except TooLargeError:
        return {}
    return {fact: Notes(Decimal(proof.confidences[fact]) / MILLION) for fact in facts}


def _best(reading: Reading, outcome: Outcome, facts: tuple[Fact, ...]) -> Proof:
    proof = Proof(reading, outcome.goal)
    proof.show(facts, bounded=False)
    if all(proof.confidences[fact] == MILLION for fact in facts):
        return proof
    try:
        nodes = best_nodes(reading, facts, _BEST_STEPS)
        better = Proof(reading, outcome.goal)
        better.prefer(nodes)
        better.show(facts, bounded=False)
    except TooLargeError:
        return proof
    return better


class _Walk:
    """Collects the assumptions below each fact of a proof, without recursion."""

    def __init__(self, proof: Proof, clock: Clock) -> None:
        self._proof = proof
        self._clock = clock
        self._absences = tuple(
            sorted(proof.slice.outside.usage.assumptions, key=lambda one: (one.kind, one.text))
        )

    def assumptions(self, fact: Fact) -> tuple[Assumption, ...]:
        """Give the assumptions of a fact's derivation, in a fixed order."""
        found: dict[Assumption, None] = {}
        seen = {fact}
        waiting = [fact]
        look_at(self._clock)
        while waiting:
            node = self._proof.nodes[waiting.pop()]
            found.update(dict.fromkeys(self._own(node)))
            below = [one for one in self._proof.rests_on(node) if one not in seen]
            seen.update(below)
            waiting += below
        return tuple(sorted(found, key=lambda one: (one.kind, one.text)))

    def _own(self, node: Node) -> tuple[Assumption, ...]:
        proof = self._proof
        if not isinstance(node, RuleNode):
            grounds = proof.slice.outside.grounds(node.predicate, node.row)
            held = None if grounds is None else grounds.assumption
            return () if held is None else in_parts((held,))
        rule = rule_assumption(proof.reading.program, node.rule)
        own = () if rule is None else (rule,)
        looks_away = any(
            isinstance(one, NegativeCode | AggregateCode) for one in proof.code(node.rule).body
        )
        # What closes an absence is recorded for the proof as a whole, not for each literal.
        return (*own, *self._absences) if looks_away else own
