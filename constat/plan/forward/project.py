"""Projection push-down into recursion: give a fixpoint the columns it reads and no others.

In: a draft. Out: its program, in which a recursive rule reads a projection of a relation where some
column, say a weight that is a float, would keep the fixpoint from being computed on integers. A
comparison that reads this atom only goes with it. Example: `path(?x, ?z) :- path(?x, ?y),
edge(?y, ?z, ?w), ?w > 0.5.` reads `edge/1(?y, ?z)`, made of the last two. Invariant: a projection
holds for the same values of the kept variables. It is made only where the stage then is one that
integers serve better than SQL: not linear, or pairs that grow beyond what they are made of.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.logic import Comparison, Literal, Positive, Rule, Variable, term_variables
from constat.plan.forward.draft import Draft
from constat.plan.forward.extract import Cut, Extracts, computes, names_of
from constat.plan.forward.frames import TEXTS
from constat.plan.forward.pipelines import compile_pipelines
from constat.plan.forward.suitability import INTEGERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import Component
    from constat.logic import Atom, Kind, Predicate
    from constat.plan.forward.draft import StageDraft, TypedRule

NAME = "projection"
_GROWN = 2.0
_PAIR = 2


@dataclass(slots=True)
class _Change:
    """The rules of the program, and the projections made so far."""

    rules: list[TypedRule]
    made: Extracts = field(default_factory=Extracts)


def project_inputs(draft: Draft) -> None:
    """Let recursive rules read projections, where that makes their stage one of integers."""
    if not draft.options.rewrite:
        return
    wide = [one for one in draft.program.components if one.recursive and _is_wide(draft, one)]
    if not wide:
        return
    compile_pipelines(draft)
    stages = {stage.component.predicates: stage for stage in draft.drafts}
    change = _Change(draft.typed_rules())
    for component in wide:
        if _gains(draft, stages[component.predicates]):
            _project(draft, component, change)
    if change.made.made:
        draft.revise([*change.rules, *change.made.rules], change.made.predicates, NAME)


def _is_wide(draft: Draft, component: Component) -> bool:
    predicates = draft.program.program.predicates
    members = set(component.predicates)
    if not all(_holds(predicates[name]) for name in members):
        return False
    return any(
        isinstance(one, Positive) and not _holds(predicates[one.atom.predicate])
        for rule in draft.program.rules
        if rule.head.predicate in members
        for one in rule.body
    )


def _holds(predicate: Predicate) -> bool:
    """Whether integers, or numbers of texts, can stand for all values of a relation."""
    return all(kind in INTEGERS or kind in TEXTS for kind in predicate.kinds)


def _gains(compiled: Draft, stage: StageDraft) -> bool:
    if not stage.linear:
        return True
    own = stage.component.predicates
    read = {
        one.atom.predicate
        for rule in compiled.program.rules
        if rule.head.predicate in own
        for one in rule.body
        if isinstance(one, Positive) and one.atom.predicate not in own
    }
    pairs = all(compiled.program.program.predicates[name].arity == _PAIR for name in own)
    return pairs and stage.rows > _GROWN * sum(compiled.estimates.rows(name) for name in read)


def _project(draft: Draft, component: Component, change: _Change) -> None:
    members = set(component.predicates)
    for number, (rule, kinds) in enumerate(change.rules):
        if rule.head.predicate not in members:
            continue
        for literal in rule.body:
            if isinstance(literal, Positive) and literal.atom.predicate not in members:
                predicate = draft.program.program.predicates[literal.atom.predicate]
                # What an atom computes from other literals cannot leave them.
                if not computes(literal.atom) and not _holds(predicate):
                    found = _projected(draft, change.rules[number][0], literal, kinds, change)
                    change.rules[number] = (found, kinds)


def _projected(
    draft: Draft, rule: Rule, literal: Positive, kinds: Mapping[str, Kind], change: _Change
) -> Rule:
    names = {term.name for term in literal.atom.terms if isinstance(term, Variable)}
    moved = [literal, *(one for one in rule.body if _goes_with(one, names))]
    rest = [one for one in rule.body if all(one is not other for other in moved)]
    later = {v.name for term in rule.head.terms for v in term_variables(term)}
    for one in rest:
        later |= names_of(one)
    kept = [name for name in _order(literal.atom) if name in later]
    if any(kinds[name] not in INTEGERS | TEXTS for name in kept):
        draft.note(NAME, rule.id, "a later step reads the column", applied=False)
        return rule
    found = change.made.take(literal.atom.predicate, Cut.of(moved, kept, kinds))
    draft.note(NAME, literal.atom.predicate, f"{rule.id} reads {len(kept)} columns", applied=True)
    atom = found.atom({name: name for name in kept})
    places = {id(one) for one in moved[1:]}
    body = (Positive(atom) if one is literal else one for one in rule.body if id(one) not in places)
    return replace(rule, body=tuple(body))


def _goes_with(literal: Literal, names: set[str]) -> bool:
    return isinstance(literal, Comparison) and names_of(literal) <= names


def _order(atom: Atom) -> list[str]:
    return list(dict.fromkeys(term.name for term in atom.terms if isinstance(term, Variable)))
