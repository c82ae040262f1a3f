"""Check that every variable of a rule is bound.

In: a draft. Out: diagnostics C0203, C0204, C0205, C0208 and C0210, one per variable. Invariant:
afterwards a rule without a diagnostic is safe as `constat/check/FORMAT.md`, section 4 has it, and
its body can be ordered. Example: in `p(?x) :- !q(?x).` nothing binds `?x`. See Abiteboul, Hull
and Vianu, Foundations of Databases, chapter 5.
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
    names_in,
    steps_of,
)
from constat.logic import Aggregate, Comparison, Negative, Positive, outer_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis.draft import Draft
    from constat.diagnostics import Diagnostic
    from constat.logic import Atom, Rule, Variable


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
    bound = bind(steps, ())
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
        if (step.needs - {name}) & names and name not in step.needs
    }
    causes = [name for name in missing if name not in consequences]
    if causes or not missing:
        return causes
    # A circle: each would be bound if another were. What an aggregate groups by is the way out.
    groups = [name for name in missing if _inside(rule, name) is not None]
    return (groups or missing)[:1]


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


def _occurrence(rule: Rule, name: str) -> Variable:
    """Give the first occurrence of a variable in a rule."""
    return next(one for one in unbound.occurrences(rule) if one.name == name)


def _unbound_inside(rule: Rule, aggregate: Aggregate, outer: set[str]) -> Iterator[Diagnostic]:
    bound = bind(steps_of(aggregate.body, outer, set()), outer)
    reported: set[str] = set()
    for variable in aggregate_variables(aggregate):
        if variable.name not in bound.names and variable.name not in reported:
            reported.add(variable.name)
            yield unbound.in_aggregate(rule, variable, aggregate)
