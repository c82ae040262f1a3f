"""Re-fires derivations: each step follows from rows of that strength, and steps end at facts."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from constat.evaluation import CERTAIN, CONCEIVABLE, POSSIBLE, FactDerivation, RuleDerivation
from constat.logic import (
    OPEN,
    Aggregate,
    Comparison,
    Constant,
    Kind,
    Literal,
    Positive,
    Row,
    outer_names,
    threshold_of,
)
from tests.oracle.naive import Binding, Relation
from tests.oracle.translation import Firing

if TYPE_CHECKING:
    from constat.evaluation import Outcome
    from tests.oracle.naive import World
    from tests.property.running import Truth

Fact = tuple[str, Row]


class Refiring:
    """Checks the proofs of one outcome in one reading."""

    def __init__(self, outcome: Outcome, world: World, truth: Truth, least: int) -> None:
        self.outcome = outcome
        self.world = world
        self.least = least
        self.oracle = truth.hard if least == CERTAIN else truth.accepted
        self.own = self._own()
        self.known: set[Fact] = set()

    def _own(self) -> dict[str, Relation]:
        """Return the engine's relations in this reading, as far as it looked."""
        widest = CONCEIVABLE if self.least == CERTAIN else POSSIBLE
        own: dict[str, Relation] = {}
        for name in self.outcome.program.program.predicates:
            own[name] = dict.fromkeys(self.outcome.rows(name, widest), False)
            own[name].update(dict.fromkeys(self.outcome.rows(name, self.least), True))
        return own

    def facts(self) -> list[Fact]:
        """Return the facts that the engine says hold."""
        return [
            (name, tuple(slot for slot in row if slot is not OPEN))
            for name, relation in self.own.items()
            for row, certain in relation.items()
            if certain
        ]

    def follow(self, fact: Fact, path: tuple[Fact, ...] = ()) -> None:
        """Check the proof of a fact down to its leaves."""
        assert fact not in path, f"circular support: {(*path, fact)}"
        if fact in self.known:
            return
        derivation = self.outcome.derivation(*fact, self.least)
        assert (derivation.predicate, derivation.row) == fact
        match derivation:
            case FactDerivation(predicate, row, _, assumption):
                assert (row, assumption) in self.world.rows[predicate], f"no such leaf: {fact}"
                assert assumption is None or self.least < CERTAIN
            case RuleDerivation():
                for premise in self.step(derivation):
                    self.follow(premise, (*path, fact))
        self.known.add(fact)

    def step(self, derivation: RuleDerivation) -> list[Fact]:
        """Check one firing; return its premises."""
        rule = self.outcome.program.rules[derivation.rule]
        assert self.least < CERTAIN or not rule.assumed, f"{rule.id} is an assumption"
        binding: Binding = dict(derivation.bindings)
        assert set(binding) == set(outer_names(rule)), binding
        kinds = self.outcome.program.variable_kinds[derivation.rule]
        bodies = Firing(rule, kinds, self.oracle), Firing(rule, kinds, self.own)
        assert bodies[0].row(rule.head, binding) == derivation.row
        premises: list[Fact] = []
        decided = [
            threshold.place
            for place, literal in enumerate(rule.body)
            if isinstance(literal, Aggregate) and literal.recursive
            for threshold in [threshold_of(rule, place)]
            if threshold is not None
        ]
        assert len(derivation.listed) == len(decided)
        for place, (literal, premise) in enumerate(
            zip(rule.body, derivation.premises, strict=True)
        ):
            if place in derivation.listed:
                premises += self.total(bodies, place, derivation)
            elif place in decided:
                assert premise is None
            elif isinstance(literal, Positive):
                assert premise is not None
                assert bodies[0].row(literal.atom, binding) == premise
                premises.append((literal.atom.predicate, premise))
            else:
                assert premise is None
                assert _true(bodies, literal, binding), f"{literal} under {binding}"
        return premises

    def total(
        self, bodies: tuple[Firing, Firing], place: int, derivation: RuleDerivation
    ) -> list[Fact]:
        """Check what carries a threshold; return its premises."""
        body = bodies[0]
        literal, threshold = body.rule.body[place], threshold_of(body.rule, place)
        assert isinstance(literal, Aggregate)
        assert threshold is not None
        binding: Binding = dict(derivation.bindings)
        premises: list[Fact] = []
        total: int | Decimal = 0
        listed = derivation.listed[place]
        assert len({tuple(sorted(one.items())) for one in listed}) == len(listed)
        for one in listed:
            inner = {**binding, **one}
            value = 1 if literal.target is None else body.slot(literal.target, inner)
            assert isinstance(value, int | Decimal)
            assert value >= 0
            total += value
            for test in literal.body:
                if isinstance(test, Positive):
                    premises.append((test.atom.predicate, body.row(test.atom, inner)))  # type: ignore[arg-type]
                else:
                    assert _true(bodies, test, inner), f"{test} under {inner}"
        kind = Kind.DECIMAL if isinstance(total, Decimal) else Kind.NUMBER
        compared = Comparison(threshold.operator, Constant(total, kind), threshold.bound)
        assert body.is_certain(compared, binding)
        assert derivation.bindings[literal.result.name] == total
        return premises


def _true(bodies: tuple[Firing, Firing], literal: Literal, binding: Binding) -> bool:
    """Tell whether a literal is certain by the oracle, or by what the engine knows more exactly."""
    return any(body.is_certain(literal, binding) for body in bodies)
