"""Compute once what several rules begin with.

In: a draft. Out: its program, in which equal beginnings of bodies are a relation of their own where
that is estimated to pay. Two beginnings are equal when they differ in the names of variables only.
Example: `p(?x) :- e(?x, ?y), f(?y, ?z), g(?z).` and `q(?z) :- e(?x, ?y), f(?y, ?z).` share the join
of e and f. Invariant: a shared beginning reads no predicate of the rules' own components, so that
it is complete before any of them begins. The longest beginning goes first; it pays where joining
it again for every further rule makes more bindings than it has rows to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constat.logic import (
    Apply,
    Atom,
    Comparison,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
    literal_variables,
    term_variables,
)
from constat.plan.forward.estimates import distinct_of, follow
from constat.plan.forward.extract import Cut, extract, is_safe
from constat.plan.forward.join_order import plan_rule
from constat.plan.forward.pipelines import compile_pipelines

if TYPE_CHECKING:
    from constat.logic import Predicate
    from constat.plan.forward.draft import Draft, TypedRule
    from constat.plan.forward.estimates import Estimates
    from constat.plan.forward.extract import Extract

NAME = "common subplans"
_LONGEST = 6
_COST_OF_KEEPING = 2.0
_WORTH = 10_000.0

Beginning = tuple[tuple[Literal, ...], tuple[tuple[str, Kind], ...]]
"""Literals in canonical names, with the kind of each name: all that the rules have in common."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A rule that has a beginning; `names` gives for each of its variables the canonical one."""

    number: int
    length: int
    names: Mapping[str, str]


def share_subplans(draft: Draft) -> None:
    """Share beginnings of bodies where it pays."""
    if not draft.options.rewrite or not _is_large(draft):
        return
    groups = _groups(draft)
    if not groups:
        return
    compile_pipelines(draft)
    estimates = draft.estimates
    rules = draft.typed_rules()
    made: dict[str, Predicate] = {}
    added: list[TypedRule] = []
    taken: set[int] = set()
    for beginning in sorted(groups, key=lambda one: len(one[0]), reverse=True):
        uses = [use for use in groups[beginning] if use.number not in taken]
        if len(uses) < 2:  # noqa: PLR2004  one rule shares nothing
            continue
        found = _extracted(rules, beginning, uses, f"shared/{len(made) + 1}")
        why, pays = _weigh(found, len(uses), estimates)
        if why:
            subject = ", ".join(rules[use.number][0].id for use in uses)
            draft.note(NAME, subject, why, applied=pays)
        if not pays:
            continue
        made[found.predicate.name] = found.predicate
        added.append(found.rule)
        for use in uses:
            taken.add(use.number)
            rules[use.number] = _shortened(rules[use.number], use, found)
    if made:
        draft.revise([*rules, *added], made, NAME)


def _is_large(draft: Draft) -> bool:
    """Whether some input is known to be large; else it is not worth looking."""
    sizes = (draft.statistics.rows(name) for name in draft.program.external)
    return any(rows is not None and rows >= _WORTH for rows in sizes)


def _groups(draft: Draft) -> dict[Beginning, list[_Use]]:
    """Beginnings that several rules have."""
    component = {
        name: frozenset(one.predicates) if one.recursive else frozenset((name,))
        for one in draft.program.components
        for name in one.predicates
    }
    found: dict[Beginning, list[_Use]] = {}
    for number, typed in enumerate(draft.typed_rules()):
        own = component[typed[0].head.predicate]
        for use, beginning in _beginnings(number, typed, own):
            found.setdefault(beginning, []).append(use)
    return {one: uses for one, uses in found.items() if len(uses) > 1}


def _beginnings(
    number: int, typed: TypedRule, own: frozenset[str]
) -> Iterator[tuple[_Use, Beginning]]:
    rule, kinds = typed
    names: dict[str, str] = {}
    literals: list[Literal] = []
    atoms = 0
    for length, literal in enumerate(rule.body[:_LONGEST], start=1):
        match literal:
            case Positive(atom) | Negative(atom) if atom.predicate in own:
                return
            case Positive() | Negative() | Comparison():
                for variable in literal_variables(literal):
                    names.setdefault(variable.name, f"v{len(names)}")
                literals.append(_renamed(literal, names))
            case _:
                return
        atoms += isinstance(literal, Positive)
        if atoms > 1 and is_safe(literals):
            known = tuple((canonical, kinds[name]) for name, canonical in names.items())
            yield _Use(number, length, dict(names)), (tuple(literals), known)


def _renamed(
    literal: Positive | Negative | Comparison, names: Mapping[str, str]
) -> Positive | Negative | Comparison:
    match literal:
        case Positive(atom) | Negative(atom):
            terms = tuple(_term(term, names) for term in atom.terms)
            return replace(literal, atom=Atom(atom.predicate, terms))
        case Comparison(operator, left, right):
            return Comparison(operator, _term(left, names), _term(right, names))


def _term(term: Term, names: Mapping[str, str]) -> Term:
    match term:
        case Variable(name):
            return Variable(names[name])
        case Apply(arguments=arguments):
            return replace(term, arguments=tuple(_term(one, names) for one in arguments))
        case _:
            return term


def _extracted(
    rules: list[TypedRule], beginning: Beginning, uses: list[_Use], name: str
) -> Extract:
    literals, kinds = beginning
    needed = {name for use in uses for name in _needed(rules[use.number][0], use)}
    kept = (one for one, _ in kinds if one in needed)
    return extract(name, Cut.of(literals, kept, dict(kinds)))


def _needed(rule: Rule, use: _Use) -> set[str]:
    """The canonical names of what the rest of a rule reads."""
    later = {v.name for term in rule.head.terms for v in term_variables(term)}
    for literal in rule.body[use.length :]:
        later.update(variable.name for variable in literal_variables(literal))
    return {canonical for name, canonical in use.names.items() if name in later}


def _weigh(found: Extract, uses: int, estimates: Estimates) -> tuple[str, bool]:
    """Whether sharing pays, and why or why not where that is worth a word."""
    rule, kinds = found.rule
    plan = plan_rule(0, rule, kinds, estimates)
    counts, bindings = follow(plan, estimates)
    domain = 1.0
    for expression in plan.head:
        domain = min(domain * bindings.of(expression), 1e18)
    rows = distinct_of(bindings.rows, domain)
    saved = (uses - 1) * sum(counts)
    if saved < _WORTH:
        return "", False
    why = f"about {saved:,.0f} bindings saved, {rows:,.0f} rows to keep"
    return why, saved > _COST_OF_KEEPING * rows


def _shortened(typed: TypedRule, use: _Use, found: Extract) -> TypedRule:
    rule, kinds = typed
    back = {canonical: name for name, canonical in use.names.items()}
    first = Positive(found.atom(back))
    return replace(rule, body=(first, *rule.body[use.length :])), kinds
