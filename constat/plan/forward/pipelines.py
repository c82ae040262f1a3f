"""Each rule as pipelines: one for a rule of a base, one for each place that reads a last round.

In: a draft whose components are known. Out: `Draft.drafts`, with the steps, readings, liveness
and estimates of each pipeline; layouts are still empty. Invariant (semi-naive evaluation): for a
rule that reads its own stage at the places 1 to n of its body, pipeline i reads the last round at
i, only older rows before i, and all rows after i. Each combination with a row of the last round is
thus found by exactly one pipeline: that of its first such place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.logic import Aggregate, Constant, Kind, Positive, Rule
from constat.plan.costs import rules_by_head
from constat.plan.forward.draft import StageDraft
from constat.plan.forward.estimates import Bindings, Estimates, follow, head_values
from constat.plan.forward.fixpoints import grow
from constat.plan.forward.join_order import plan_rule
from constat.plan.forward.liveness import live_slots, worth_dropping
from constat.plan.forward.operators import Layout, Pipeline, Reading
from constat.plan.operators import Join, RulePlan

if TYPE_CHECKING:
    from constat.analysis import Component
    from constat.plan.forward.draft import Draft

_SMALL_BODY = 2
_MANY_PLACES = 12


def compile_pipelines(draft: Draft) -> None:
    """Compile every component, callees first, so that sizes below are known.

    A pass that weighs what the program would do compiles it ahead; that is not done twice.
    """
    program = draft.program
    if draft.compiled is program:
        return
    draft.estimates, draft.drafts, draft.compiled = Estimates(), [], program
    for name in sorted(program.external):
        if name in program.program.predicates:
            arity = program.program.predicates[name].arity
            draft.estimates.take(name, arity, draft.statistics)
    heads = rules_by_head(program)
    for component in program.components:
        draft.drafts.append(_stage(draft, component, heads))


def _stage(draft: Draft, component: Component, heads: Mapping[str, tuple[int, ...]]) -> StageDraft:
    stage = StageDraft(component)
    own = frozenset(component.predicates) if component.recursive else frozenset[str]()
    rules = _Rules(draft, own)
    recursive: list[tuple[int, tuple[int, ...]]] = []
    for name in component.predicates:
        if name not in draft.program.external:
            draft.estimates.counts.setdefault(name, 0.0)
        for number in heads.get(name, ()):
            places = own_places(draft.program.rules[number], own)
            if is_stated(draft.program.rules[number]):
                stage.stated.append(number)
            elif places or _is_threshold(draft.program.rules[number]):
                recursive.append((number, places))
            else:
                stage.base.append(rules.base(number))
    _count_stated(draft, stage)
    for pipeline in stage.base:
        add_head(draft.estimates, pipeline.plan, pipeline.head, rules.bindings[id(pipeline)])
    stage.recursive = [one for number, places in recursive for one in rules.deltas(number, places)]
    stage.linear = all(_occurrences(draft.program.rules[n], places) <= 1 for n, places in recursive)
    stage.rounds = grow(draft, stage)
    stage.rows = sum(draft.estimates.rows(name) for name in component.predicates)
    # The first orders were chosen before the size of this stage was known.
    stage.recursive = [rules.again(one) for one in stage.recursive]
    return stage


def own_places(rule: Rule, own: frozenset[str]) -> tuple[int, ...]:
    """The places of a body that read these predicates."""
    return tuple(
        place
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Positive) and literal.atom.predicate in own
    )


def is_stated(rule: Rule) -> bool:
    """Whether a rule is a fact of the text."""
    return not rule.body and all(isinstance(term, Constant) for term in rule.head.terms)


def add_head(estimates: Estimates, plan: RulePlan, head: str, bindings: Bindings) -> None:
    """Count what a rule adds to its head, from its last bindings."""
    values = head_values(plan, bindings)
    estimates.add(head, bindings.rows, values)


def _is_threshold(rule: Rule) -> bool:
    return any(isinstance(one, Aggregate) and one.recursive for one in rule.body)


def _occurrences(rule: Rule, places: tuple[int, ...]) -> int:
    inside = sum(isinstance(one, Aggregate) and one.recursive for one in rule.body)
    return len(places) + inside


def _count_stated(draft: Draft, stage: StageDraft) -> None:
    columns: dict[str, list[set[object]]] = {}
    counts: dict[str, int] = {}
    for number in stage.stated:
        head = draft.program.rules[number].head
        counts[head.predicate] = counts.get(head.predicate, 0) + 1
        sets = columns.setdefault(head.predicate, [set() for _ in head.terms])
        for values, term in zip(sets, head.terms, strict=True):
            values.add(term.value if isinstance(term, Constant) else term)
    for name, sets in columns.items():
        draft.estimates.add(name, float(counts[name]), [float(len(values)) for values in sets])


@dataclass(frozen=True, slots=True)
class _Rules:
    """Makes pipelines of the rules of one stage."""

    draft: Draft
    own: frozenset[str]
    bindings: dict[int, Bindings] = field(default_factory=dict)

    def base(self, number: int) -> Pipeline:
        return self._pipeline(number, None, ())

    def deltas(self, number: int, places: tuple[int, ...]) -> list[Pipeline]:
        rule = self.draft.program.rules[number]
        if _is_threshold(rule):
            return [self._pipeline(number, None, ())]
        if len(places) <= _MANY_PLACES:
            return [self._pipeline(number, place, places) for place in places]
        # An order for each place would take time in the cube of a body's length.
        first = self._pipeline(number, places[0], places)
        return [replace(first, readings=readings_of(first.plan, place, places)) for place in places]

    def again(self, pipeline: Pipeline) -> Pipeline:
        """Order a pipeline anew if it reads this stage at another place than its first."""
        body = self.draft.program.rules[pipeline.plan.rule].body
        delta = _delta_of(pipeline)
        places = own_places(self.draft.program.rules[pipeline.plan.rule], self.own)
        if len(body) > _SMALL_BODY and 1 < len(places) <= _MANY_PLACES:
            return self._pipeline(pipeline.plan.rule, delta, places)
        rows, _ = follow(pipeline.plan, self.draft.estimates)
        distinct = worth_dropping(pipeline.plan, pipeline.live, self.draft.estimates)
        return replace(pipeline, rows=rows, distinct=distinct)

    def _pipeline(self, number: int, delta: int | None, places: tuple[int, ...]) -> Pipeline:
        rule = self.draft.program.rules[number]
        kinds: Mapping[str, Kind] = self.draft.program.variable_kinds[number]
        first = None if delta is None else rule.body[delta]
        estimates = self.draft.estimates
        plan = plan_rule(number, rule, kinds, estimates, first)
        rows, bindings = follow(plan, estimates)
        live = live_slots(plan)
        found = Pipeline(
            head=rule.head.predicate,
            plan=plan,
            readings=readings_of(plan, delta, places),
            live=live,
            distinct=worth_dropping(plan, live, estimates),
            layout=Layout(()),
            rows=rows,
        )
        self.bindings[id(found)] = bindings
        return found


def _delta_of(pipeline: Pipeline) -> int | None:
    for step, reading in zip(pipeline.plan.steps, pipeline.readings, strict=True):
        if isinstance(step, Join) and reading is Reading.DELTA:
            return step.literal
    return None


def readings_of(plan: RulePlan, delta: int | None, places: tuple[int, ...]) -> tuple[Reading, ...]:
    """Say of each step which rows it reads; `delta` is the place that reads the last round."""
    return tuple(
        _reading(step.literal, delta, places)
        if isinstance(step, Join) and delta is not None
        else Reading.FULL
        for step in plan.steps
    )


def _reading(place: int, delta: int | None, places: tuple[int, ...]) -> Reading:
    if place == delta:
        return Reading.DELTA
    if delta is not None and place in places and place < delta:
        return Reading.STABLE
    return Reading.FULL
