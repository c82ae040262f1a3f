"""What to say about a variable that nothing binds.

In: the rule and the variable. Out: a diagnostic whose help shows an edit. Invariant: what stands
in backquotes in a help is text that parses. Example: for `?rate` it offers `tier_rate(_, ?rate)`
where such a predicate is declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Related
from constat.logic import (
    Atom,
    Negative,
    Positive,
    Rule,
    Variable,
    literal_variables,
    term_variables,
)
from constat.syntax import print_atom, print_literal, print_rule, print_term

if TYPE_CHECKING:
    from constat.analysis.draft import Draft
    from constat.logic import Aggregate, Comparison, Predicate, Term

_LOOKED_AT = 1000


def occurrences(rule: Rule) -> Iterator[Variable]:
    """Yield every variable occurrence of a rule, head first."""
    for term in rule.head.terms:
        yield from term_variables(term)
    for literal in rule.body:
        yield from literal_variables(literal)


def in_head(draft: Draft, rule: Rule, variable: Variable) -> Diagnostic:
    """Report a head variable that the body does not bind."""
    shown = print_term(variable)
    return Diagnostic(
        "C0203",
        f"variable `{shown}` in the head is never bound",
        variable.span or rule.head.span or rule.span,
        label="used only here" if _uses(rule, variable) == 1 else "no positive atom binds it",
        note="every head variable must occur in a positive body atom, or get its value from `=` "
        "or an aggregate",
        help=f"bind it, for example with `{_binder(draft, rule, variable)}`",
    )


def in_negation(draft: Draft, rule: Rule, variable: Variable, atom: Atom) -> Diagnostic:
    """Report a variable that occurs only under negation."""
    shown = print_term(variable)
    if _uses(rule, variable) == 1:
        edit = f"write `{print_literal(Negative(_without(atom, variable)))}` if any value counts, "
        edit += f"or bind it with `{_binder(draft, rule, variable)}`"
    else:
        edit = f"bind it, for example with `{_binder(draft, rule, variable)}`"
    return Diagnostic(
        "C0204",
        f"variable `{shown}` under `!` is never bound",
        variable.span or atom.span,
        label="what is absent cannot bind a variable",
        note="a variable of a negated atom occurs in a positive atom too; `_` stands for any value",
        help=edit,
    )


def in_comparison(
    draft: Draft, rule: Rule, variable: Variable, comparison: Comparison
) -> Diagnostic:
    """Report a variable that occurs only in comparisons."""
    return Diagnostic(
        "C0205",
        f"variable `{print_term(variable)}` in a comparison is never bound",
        variable.span or comparison.span,
        label="nothing gives it a value",
        note="a comparison tests values; only `=` with a known other side binds a variable",
        help=f"bind it, for example with `{_binder(draft, rule, variable)}`",
    )


def in_function(variable: Variable, atom: Atom) -> Diagnostic:
    """Report a variable that occurs only inside a function of a positive atom."""
    place = next(
        index for index, term in enumerate(atom.terms) if variable in set(term_variables(term))
    )
    fresh = Variable(f"{variable.name}_value")
    changed = replace(atom, terms=(*atom.terms[:place], fresh, *atom.terms[place + 1 :]))
    return Diagnostic(
        "C0205",
        f"variable `{print_term(variable)}` in an expression is never bound",
        variable.span or atom.span,
        label="a function cannot be turned round to find its argument",
        note="the arguments of a function are bound by other literals of the body",
        help=f"write `{print_atom(changed)}`, and bind `{print_term(variable)}` by another atom",
    )


def group(rule: Rule, variable: Variable, aggregate: Aggregate, atom: Atom) -> Diagnostic:
    """Report a variable of the head or body that is bound only inside an aggregate."""
    shown = print_term(variable)
    grounding = _only(atom, variable)
    grounded = replace(rule, body=(Positive(grounding), *rule.body), attributes={})
    inside = next((one for one in _inside(aggregate) if one == variable), variable)
    related = () if inside.span is None else (Related(inside.span, "bound only in here"),)
    return Diagnostic(
        "C0208",
        f"variable `{shown}` is bound only inside an aggregate",
        variable.span or aggregate.span,
        label="this is the group, and nothing outside the aggregate binds it",
        note="group keys come from outside the aggregate: otherwise nothing tells an empty group "
        "from one that does not exist",
        help=f"add `{print_atom(grounding)}`: `{_one_line(grounded)}`",
        related=related,
    )


def in_aggregate(rule: Rule, variable: Variable, aggregate: Aggregate) -> Diagnostic:
    """Report a local variable that no positive atom of the aggregate binds."""
    shown = print_term(variable)
    return Diagnostic(
        "C0210",
        f"variable `{shown}` inside `{aggregate.function}` is never bound",
        variable.span or aggregate.span or rule.span,
        label="no positive atom of the aggregate binds it",
        note="an aggregate ranges over the bindings that the positive atoms in its body give",
        help=_inside_help(variable, aggregate),
    )


def _inside_help(variable: Variable, aggregate: Aggregate) -> str:
    for literal in aggregate.body:
        if isinstance(literal, Negative) and variable in set(literal_variables(literal)):
            kept = [term for term in literal.atom.terms if term != variable]
            name = f"some_{literal.atom.predicate}"
            head = Atom(name, tuple(kept))
            return (
                f"write `!{print_atom(head)}` with the rule `{print_atom(head)} :- "
                f"{print_atom(_without(literal.atom, variable))}.`"
            )
    shown = print_term(variable)
    unused = [
        (one.atom, term)
        for one in aggregate.body
        if isinstance(one, Positive)
        for term in one.atom.terms
        if isinstance(term, Variable) and term.name.startswith("_")
    ]
    same = [(atom, term) for atom, term in unused if term.name == f"_{variable.name}"]
    for atom, old in same or unused:
        changed = replace(atom, terms=tuple(variable if one == old else one for one in atom.terms))
        return f"bind `{shown}` in the body, for example with `{print_atom(changed)}`"
    return f"add an atom to the body, for example `known_{variable.name}({shown})`"


def _uses(rule: Rule, variable: Variable) -> int:
    return sum(one == variable for one in occurrences(rule))


def _inside(aggregate: Aggregate) -> Iterator[Variable]:
    for inner in aggregate.body:
        yield from literal_variables(inner)


def _without(atom: Atom, variable: Variable) -> Atom:
    """Give the atom with `_` in place of a variable."""
    wild = Variable("_1")
    return replace(atom, terms=tuple(wild if one == variable else one for one in atom.terms))


def _only(atom: Atom, variable: Variable) -> Atom:
    """Give the atom with `_` in place of everything but a variable."""
    wild = Variable("_1")
    return replace(atom, terms=tuple(one if one == variable else wild for one in atom.terms))


def _one_line(rule: Rule) -> str:
    text = print_rule(replace(rule, id=f"{rule.head.predicate}.1", confidence=Decimal(1)))
    return " ".join(text.split())


def _binder(draft: Draft, rule: Rule, variable: Variable) -> str:
    """Give an atom that could bind the variable, by a column's name, else by its type."""
    known = {one.name for one in occurrences(rule)}
    used_by = rule.head.predicate
    predicates = [
        one for one in islice(draft.predicates.values(), _LOOKED_AT) if one.name != used_by
    ]
    for predicate in predicates:
        for place, column in enumerate(predicate.columns):
            if column.name == variable.name:
                return _atom_with(predicate, place, variable, known)
    wanted = _head_type(draft, rule, variable)
    for predicate in predicates:
        for place, column in enumerate(predicate.columns):
            if column.type_name == wanted:
                return _atom_with(predicate, place, variable, known)
    return print_atom(Atom(f"known_{variable.name.strip('_')}", (variable,)))


def _head_type(draft: Draft, rule: Rule, variable: Variable) -> str:
    predicate = draft.predicates.get(rule.head.predicate)
    if predicate is not None:
        for term, column in zip(rule.head.terms, predicate.columns, strict=False):
            if term == variable:
                return column.type_name
    return ""


def _atom_with(predicate: Predicate, place: int, variable: Variable, known: set[str]) -> str:
    terms: list[Term] = []
    for other, column in enumerate(predicate.columns):
        if other == place:
            terms.append(variable)
        elif column.name in known:
            terms.append(Variable(column.name))
        else:
            terms.append(Variable("_1"))
    return print_atom(Atom(predicate.name, tuple(terms)))
