"""Restrict the rules to what wanted constants demand, where that is estimated to be less work.

In: a draft. Out: its program, rewritten by magic sets or left alone, with a note that says why.
Invariant: the program stays stratified. Demands go through negation and aggregates where the
result is still stratified (semantics 14 asks for that of every program); else what is negated or
aggregated is computed in full. Never blindly: a demand that reaches most of a relation costs more
than it saves, so both programs are estimated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis.strata import THRESHOLDS, dependencies
from constat.logic import Aggregate, Constant, Positive
from constat.plan.forward.demand_rules import Demands, demand_name
from constat.plan.forward.operators import Wanted
from constat.plan.forward.pipelines import compile_pipelines
from constat.plan.forward.reach import keep_reachable, settled
from constat.plan.forward.work import work_of

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import Atom
    from constat.plan.forward.draft import Draft

NAME = "magic sets"
_GAIN = 0.5
_WORTH = 5_000.0


def restrict_to_demand(draft: Draft) -> None:
    """Rewrite the program by magic sets, where constants are wanted and it pays."""
    subject = ", ".join(sorted({one.relation for one in draft.wanted}))
    if not draft.options.rewrite or draft.options.magic is False or not _may_gain(draft):
        return
    if not settled(draft, [one.relation for one in draft.wanted]):
        draft.note(NAME, subject, "what it rests on may be unknown", applied=False)
        return
    compile_pipelines(draft)
    before = work_of(draft)
    if draft.options.magic is None and before < _WORTH:
        draft.note(NAME, subject, "there is little to compute in any case", applied=False)
        return
    rewritten = _rewritten(draft)
    if rewritten is None:
        draft.note(
            NAME,
            subject,
            "no rule can use the constants, or it would take too many forms of them",
            applied=False,
        )
        return
    keep_reachable(rewritten)
    compile_pipelines(rewritten)
    after = work_of(rewritten)
    why = f"about {_about(after)} bindings with demands, {_about(before)} without"
    applied = draft.options.magic is True or after < before * _GAIN
    if applied:
        draft.program, draft.wanted = rewritten.program, rewritten.wanted
        draft.estimates, draft.drafts = rewritten.estimates, rewritten.drafts
        draft.compiled = rewritten.compiled
        draft.made_by.update(rewritten.made_by)
    draft.note(NAME, subject, why, applied=applied)


def _about(bindings: float) -> str:
    return f"{float(f'{bindings:.2g}'):,.0f}"


def _may_gain(draft: Draft) -> bool:
    """Whether a constant stands in a wanted atom, or where a rule reads a derived predicate."""
    derived = {rule.head.predicate for rule in draft.program.rules}
    wanted = (_renamed(one) for one in draft.wanted)
    read = (
        one.atom for rule in draft.program.rules for one in rule.body if isinstance(one, Positive)
    )
    return any(
        atom.predicate in derived and any(isinstance(term, Constant) for term in atom.terms)
        for atom in (*wanted, *read)
    )


def _rewritten(draft: Draft) -> Draft | None:
    for through in (True, False):
        demands = Demands(draft, draft.estimates, _fixed(draft.program), through=through)
        wanted = [Wanted(one.atom, demands.seed(_renamed(one))) for one in draft.wanted]
        copy = replace(draft, wanted=wanted, notes=[], made_by={}, compiled=None)
        rules = demands.follow()
        if rules is None or not any(one.startswith(demand_name("")) for one in demands.made):
            return None
        copy.revise(rules, demands.made, NAME)
        if not through or is_stratified(copy.program):
            return copy
    return None


def _renamed(wanted: Wanted) -> Atom:
    return replace(wanted.atom, predicate=wanted.relation)


def is_stratified(program: AnalysedProgram) -> bool:
    """Whether no component negates or aggregates over itself, thresholds aside."""
    graph = dependencies(program.program)
    component = {
        name: number for number, one in enumerate(program.components) for name in one.predicates
    }
    return not any(
        use.how not in {"", *THRESHOLDS} and component[use.predicate] == component[name]
        for name, uses in graph.items()
        for use in uses
    )


def _fixed(program: AnalysedProgram) -> frozenset[str]:
    """Predicates that demands do not enter: those with rows from outside, and thresholds."""
    heads = {
        rule.head.predicate
        for rule in program.rules
        if any(isinstance(one, Aggregate) and one.recursive for one in rule.body)
    }
    recursive = {
        name
        for component in program.components
        if heads & set(component.predicates)
        for name in component.predicates
    }
    return frozenset(recursive | program.external)
