"""Check that every variable of a rule is bound.

In: a draft. Out: diagnostics C0203, C0204, C0205, C0208, C0210 and C0244, one per variable.
Invariant: afterwards a rule without a diagnostic is safe as `constat/check/FORMAT.md`, section 4
has it, and its body can be ordered. Example: in `p(?x) :- !q(?x).` nothing binds `?x`. See
Abiteboul, Hull and Vianu, Foundations of Databases, chapter 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis import unbound
from constat.analysis.aggregation import shadowed_names
from constat.analysis.binding import (
    Step,
    aggregate_variables,
    bind,
    free_names,
    is_pattern,
    names_in,
    steps_of,
)
from constat.analysis.given_columns import given_names
from constat.analysis.structure_mistakes import any_value
from constat.logic import Aggregate, Comparison, Negative, Positive, outer_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis.draft import Draft
    from constat.diagnostics import Diagnostic
    from constat.logic import Atom, Literal, Rule, Term, Variable


def check_safety(draft: Draft) -> None:
    """Report variables that nothing binds."""
    for rule in draft.program.rules:
        draft.diagnostics.extend(unsafe_variables(draft, rule))


def unsafe_variables(draft: Draft, rule: Rule) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each variable of a rule that nothing binds."""
    names = outer_names(rule)
    outer = set(names)
    # Only `_` and `_name` may stand for any value: a plain name was meant to be bound.
    free = {name for name in free_names(rule) if name[0] == "_"}
    steps = list(steps_of(rule.body, outer, free))
    bound = bind(steps, given_names(rule, draft.predicates))
    skipped = free | shadowed_names(rule, outer)
    missing = [name for name in names if name not in bound.names and name not in skipped]
    for name in _causes(missing, steps, rule):
        yield _unbound(draft, rule, name)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            yield from _unbound_inside(rule, literal, outer)


def _causes(missing: list[str], steps: list[Step], rule: Rule) -> list[str]:
    """Leave out what would be bound if the other missing variables were: one error per cause."""
    names = set(missing)
    consequences = {
        name
        for step in steps
        for name in step.gives & names
        if (step.needs - {name}) & names and name not in step.needs and not _is_making(step, names)
    }
    causes = [name for name in missing if name not in consequences]
    if causes or not missing:
        return causes
    # A circle: each would be bound if another were. What an aggregate groups by is the way out.
    groups = [name for name in missing if _inside(rule, name) is not None]
    return (groups or missing)[:1]


def _is_making(step: Step, missing: set[str]) -> bool:
    """Tell whether a structure lacks nothing but its `_`: then it was meant to be made."""
    return step.opens and all(name[0] == "_" for name in step.gives & missing)


def _inside(rule: Rule, name: str) -> tuple[Aggregate, Atom] | None:
    """Give the aggregate and the positive atom in it that hold a variable."""
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            for inner in literal.body:
                if isinstance(inner, Positive) and name in names_in(inner.atom.terms):
                    return literal, inner.atom
    return None


def _unbound(draft: Draft, rule: Rule, name: str) -> Diagnostic:
    """Choose the diagnostic that shows the mistake best."""
    where = _made_with(rule.body, name, rule.head)
    if where:
        return any_value(_occurrence(rule, name), where)
    inside = _inside(rule, name)
    if inside is not None:
        return unbound.group(rule, _occurrence(rule, name), *inside)
    if name in names_in(rule.head.terms):
        return unbound.in_head(draft, rule, _occurrence(rule, name))
    for literal in rule.body:
        match literal:
            case Negative(atom) if name in names_in(atom.terms):
                return unbound.in_negation(draft, rule, _occurrence(rule, name), atom)
            case Positive(atom) if name in names_in(atom.terms):
                return unbound.in_function(_occurrence(rule, name), atom)
            case Comparison() if name in names_in((literal.left, literal.right)):
                return unbound.in_comparison(draft, rule, _occurrence(rule, name), literal)
            case _:
                pass
    return unbound.in_head(draft, rule, _occurrence(rule, name))


def _made_with(body: Iterable[Literal], name: str, head: Atom | None = None) -> str:
    """Say where a `_` stands in a structure that is made; empty for other variables."""
    if name[0] != "_":
        return ""
    if head is not None and _has_part(head.terms, name):
        return "in the head"
    for literal in body:
        match literal:
            case Negative(atom) if _has_part(atom.terms, name):
                return "under `!`"
            case Comparison() if _has_part((literal.left, literal.right), name):
                return "that is made or compared"
            case _:
                pass
    return ""


def _has_part(terms: Iterable[Term], name: str) -> bool:
    return any(is_pattern(term) and name in names_in((term,)) for term in terms)


def _occurrence(rule: Rule, name: str) -> Variable:
    """Give the first occurrence of a variable in a rule."""
    return next(one for one in unbound.occurrences(rule) if one.name == name)


def _unbound_inside(rule: Rule, aggregate: Aggregate, outer: set[str]) -> Iterator[Diagnostic]:
    bound = bind(steps_of(aggregate.body, outer, set()), outer)
    reported: set[str] = set()
    for variable in aggregate_variables(aggregate):
        if variable.name not in bound.names and variable.name not in reported:
            reported.add(variable.name)
            where = _made_with(aggregate.body, variable.name)
            if where:
                yield any_value(variable, where)
            else:
                yield unbound.in_aggregate(rule, variable, aggregate)
