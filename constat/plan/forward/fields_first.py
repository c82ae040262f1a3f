"""Take structures apart before a recursion, and not again in each of its rounds.

In: a draft. Out: its program, in which a recursive rule reads a relation that has the fields of
what a lower relation holds. Example: `length(?l, ?n + 1) :- part(?l), ?l = [_, ?t], length(?t,
?n).` reads `part/fields/1(?l, ?t)`; then no list is looked into in the rounds. Invariant: what is
moved errs for no value, so it makes no difference when it is computed; the new relation holds for
the same values of the kept variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Apply,
    Comparison,
    Literal,
    Positive,
    Term,
    Variable,
    literal_variables,
    term_variables,
)
from constat.plan.forward.extract import Cut, Extracts, names_of

if TYPE_CHECKING:
    from constat.logic import Atom, Rule
    from constat.plan.forward.draft import Draft, TypedRule

NAME: Final = "fields first"
_TOTAL: Final = frozenset({CONSTRUCTOR_OF, FIELD_OF})


_NEVER_ERR: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
Moved = tuple[Literal, ...]


def take_fields_first(draft: Draft) -> None:
    """Let recursive rules read fields from relations of their own."""
    if not draft.options.rewrite:
        return
    members = {
        name: frozenset(one.predicates)
        for one in draft.program.components
        if one.recursive
        for name in one.predicates
    }
    made = Extracts()
    rules = [
        _taken(draft, typed, members[typed[0].head.predicate], made)
        if typed[0].head.predicate in members
        else typed
        for typed in draft.typed_rules()
    ]
    if made.made:
        draft.revise([*rules, *made.rules], made.predicates, NAME)


def _taken(draft: Draft, typed: TypedRule, own: frozenset[str], made: Extracts) -> TypedRule:
    rule, kinds = typed
    for literal in rule.body:
        if not isinstance(literal, Positive) or literal.atom.predicate in own:
            continue
        moved: Moved = (literal, *_following(literal.atom, rule.body))
        if not any(_computes(one) for one in moved[1:]):
            continue
        kept = _kept(moved, rule)
        found = made.take(f"{literal.atom.predicate}/fields", Cut.of(moved, kept, kinds))
        draft.note(NAME, literal.atom.predicate, f"{rule.id} reads fields of it", applied=True)
        atom = found.atom({name: name for name in kept})
        gone = {id(one) for one in moved[1:]}
        body = (Positive(atom) if one is literal else one for one in rule.body)
        rule = replace(rule, body=tuple(one for one in body if id(one) not in gone))
    return rule, kinds


def _following(atom: Atom, body: Sequence[Literal]) -> list[Comparison]:
    """Give the comparisons that need nothing but an atom, and each other."""
    if any(isinstance(term, Apply) for term in atom.terms):
        return []
    bound = {term.name for term in atom.terms if isinstance(term, Variable)}
    waiting = [one for one in body if isinstance(one, Comparison) and _is_total(one)]
    found: list[Comparison] = []
    while ready := next((one for one in waiting if _is_ready(one, bound)), None):
        waiting.remove(ready)
        found.append(ready)
        bound |= names_of(ready)
    return found


def _is_total(literal: Comparison) -> bool:
    return literal.operator in _NEVER_ERR and all(
        one.function in _TOTAL for side in (literal.left, literal.right) for one in _calls(side)
    )


def _is_ready(literal: Comparison, bound: set[str]) -> bool:
    sides = ((literal.left, literal.right), (literal.right, literal.left))
    binds = literal.operator == "=" and any(
        isinstance(one, Variable) and _names(other) <= bound for one, other in sides
    )
    return binds or names_of(literal) <= bound


def _computes(literal: Literal) -> bool:
    if not isinstance(literal, Comparison):
        return False
    return any(True for side in (literal.left, literal.right) for _ in _calls(side))


def _calls(term: Term) -> Iterator[Apply]:
    pending = [term]
    while pending:
        one = pending.pop()
        if isinstance(one, Apply):
            yield one
            pending.extend(one.arguments)


def _names(term: Term) -> set[str]:
    return {one.name for one in term_variables(term)}


def _kept(moved: Moved, rule: Rule) -> tuple[str, ...]:
    """Give the variables of what is moved that anything else of the rule reads."""
    gone = {id(one) for one in moved}
    later = {one.name for term in rule.head.terms for one in term_variables(term)}
    for literal in rule.body:
        if id(literal) not in gone:
            later |= names_of(literal)
    names = dict.fromkeys(v.name for one in moved for v in literal_variables(one))
    return tuple(name for name in names if name in later)
