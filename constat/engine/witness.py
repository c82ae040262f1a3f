"""Why a row holds, found on demand: nothing is annotated while rules run.

A derived row has a stamp; some rule instance made it from rows with smaller stamps. That instance
is found again by running the predicate's rules with the whole head bound over the relations as
they are, and taking the first instance whose premises are all older. Following premises therefore
ends. Negation and aggregates are decided over what was asked during evaluation; what was not
asked counts as open, so that no derivation rests on a question that nobody put.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from constat.engine.batch import Batch, Binding
from constat.engine.evaluation import Evaluation
from constat.engine.expressions import value_of
from constat.engine.firing import heads, start
from constat.engine.listing import Listing
from constat.engine.steps import Steps
from constat.evaluation import ACCEPTED, CERTAIN, Derivation, FactDerivation, RuleDerivation
from constat.logic import OPEN, Aggregate, Literal, Positive, Row, Rule
from constat.plan import RulePlan, compile_rule, expression_of, predicate_costs, rules_by_head

_LAST = 1_000_000


class Witnesses:
    """Finds derivations in a finished evaluation."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._state = evaluation.state
        self._steps = Steps(evaluation.state, closed=True)
        program = evaluation.program
        self._heads = program.remembered("heads", lambda: rules_by_head(program))
        self._plans: dict[int, RulePlan] = {}
        self._costs = predicate_costs(evaluation.program, {})
        # With the head bound, what is not recursive is most selective; recursive literals then
        # only confirm. The other way round a proof of n steps would look at n rows in each.
        for component in evaluation.program.components:
            if component.recursive:
                self._costs.update(dict.fromkeys(component.predicates, _LAST))

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        """One well-founded derivation; raises `KeyError` when the row is not that strong."""
        stamp = self._state.relation(predicate).stamp(row, least)
        if stamp is None:
            raise KeyError((predicate, row))
        fact = self._fact(predicate, row, least)
        if fact is not None and fact.assumption is None:
            return fact
        stated = self._state.stated.get(predicate, {}).get(row)
        if stated is not None:
            return RuleDerivation(predicate, row, stated, {}, ())
        for number in self._heads.get(predicate, ()):
            rule = self._evaluation.program.rules[number]
            if rule.assumed and least == CERTAIN:
                continue
            for derivation in self._firings(number, rule, row, least, stamp):
                return derivation
        if fact is not None:
            return fact
        raise KeyError((predicate, row))

    def _fact(self, predicate: str, row: Row, least: int) -> FactDerivation | None:
        portion = self._state.facts.get(predicate, {}).get(row)
        if portion is None or (portion.assumption is not None and least == CERTAIN):
            return None
        return FactDerivation(predicate, row, portion.evidence, portion.assumption)

    def _firings(
        self, number: int, rule: Rule, row: Row, least: int, stamp: int
    ) -> Iterator[RuleDerivation]:
        plan = self._plan(number, rule)
        for binding in self._bindings(plan, row, least):
            premises = tuple(self._premise(literal, plan, binding) for literal in rule.body)
            if not self._older(rule, premises, least, stamp):
                continue
            carried = Listing(self._state, self._steps, rule, plan).of(binding, least, stamp)
            if carried is not None:
                values = {name: binding[place] for name, place in plan.variables.items()}
                values |= {_result(rule, place): one.total for place, one in carried.items()}
                listed = {place: one.assignments for place, one in carried.items()}
                yield RuleDerivation(rule.head.predicate, row, number, values, premises, listed)  # type: ignore[arg-type]  # no placeholder

    def _premise(self, literal: Literal, plan: RulePlan, binding: Binding) -> Row | None:
        if not isinstance(literal, Positive):
            return None
        kinds = self._evaluation.program.variable_kinds[plan.rule]
        terms = literal.atom.terms
        return tuple(
            value_of(expression_of(term, plan.variables, kinds), self._state.texts)(binding)
            for term in terms
        )

    def _plan(self, number: int, rule: Rule) -> RulePlan:
        plan = self._plans.get(number)
        if plan is None:
            columns = tuple(range(len(rule.head.terms)))
            kinds = self._evaluation.program.variable_kinds[number]
            # An aggregate has to ask what it asked during evaluation: its own order stays.
            asked = self._evaluation.plan.costs
            plan = compile_rule(
                number, rule, columns, kinds, self._costs, keep_all=True, inside=asked
            )
            self._plans[number] = plan
        return plan

    def _bindings(self, plan: RulePlan, row: Row, least: int) -> list[Binding]:
        runner = self._steps.run(plan.steps, start(plan, [row]), plan)
        try:
            request = next(runner)
        except StopIteration as finished:
            batch = finished.value
        else:
            raise AssertionError(f"a closed evaluation asked for {request.predicate}")
        found: list[Binding] = [one for one in batch.sure if OPEN not in one]
        if least == ACCEPTED:
            found += [
                one for one, strength in batch.weak if strength >= ACCEPTED and OPEN not in one
            ]
        return [one for one in found if self._makes(plan, one, row)]

    def _makes(self, plan: RulePlan, binding: Binding, row: Row) -> bool:
        """A head with functions does not pin its variables: the instance may make another row."""
        sure, weak = heads(plan, Batch([binding]), self._state)
        return row in sure or any(row == other for other, _ in weak)

    def _older(self, rule: Rule, premises: tuple[Row | None, ...], least: int, stamp: int) -> bool:
        for literal, premise in zip(rule.body, premises, strict=True):
            if premise is None or not isinstance(literal, Positive):
                continue
            reached = self._state.relation(literal.atom.predicate).stamp(premise, least)
            if reached is None or reached >= stamp:
                return False
        return True


def _result(rule: Rule, place: int) -> str:
    return cast("Aggregate", rule.body[place]).result.name
