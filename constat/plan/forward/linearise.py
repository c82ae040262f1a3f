"""Make the closure of a relation linear: `p :- p, p` becomes `p :- p, e`.

In: a draft. Out: its program, with transitive rules replaced where the conditions hold. Example:
`path(?x, ?z) :- path(?x, ?y), path(?y, ?z).` and `path(?x, ?y) :- edge(?x, ?y).` become the
latter with `path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).`

Conditions, for a rule `p(h) :- p(a), p(b)` of a predicate without rows from outside. (1) Each
column is of one of three sorts: a group column has one variable in h, a and b; a source column has
one variable in h and a; a target column has one variable in h and b. (2) The variables of a in its
target columns are those of b in its source columns. (3) No variable stands anywhere else. (4) It is
the only rule of p whose body reaches p. Then p is the closure of what its other rules give, call it
e, under the composition that the rule describes. Composition is associative, so the closure is the
union of the powers of e, and the least relation that holds e and is closed under composition with e
on one side has all of them, by induction on the power; it is contained in p because e is. With a
further rule of p that reaches p the same holds, but e would be recursive with p and nothing be won,
so the rule is kept. See Jagadish, Agrawal and Ness, A study of transitive closure as a recursion
mechanism (1987), and Abiteboul, Hull and Vianu, chapter 13.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.logic import Atom, Constant, Positive, Rule, Variable
from constat.plan.costs import predicates_of, rules_by_head
from constat.plan.forward.draft import TypedRule
from constat.plan.forward.reach import settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import Component
    from constat.logic import Predicate
    from constat.plan.forward.draft import Draft

NAME = "linear closure"


@dataclass(frozen=True, slots=True)
class Closure:
    """A transitive rule: its number, and the sorts of the columns."""

    number: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(slots=True)
class _Change:
    """The rules of the program, some of them taken out, and what is new."""

    rules: list[TypedRule | None]
    added: list[TypedRule] = field(default_factory=list)
    made: dict[str, Predicate] = field(default_factory=dict)


def linearise(draft: Draft) -> None:
    """Replace the transitive rules for which the conditions hold."""
    if not draft.options.rewrite:
        return
    heads = rules_by_head(draft.program)
    change = _Change(list(draft.typed_rules()))
    for component in draft.program.components:
        for found in _closures(draft, component, heads):
            why = _against(draft, component, found, heads)
            name = component.predicates[0]
            if why:
                draft.note(NAME, name, why, applied=False)
                continue
            base = _linear(draft, found, [n for n in heads[name] if n != found.number], change)
            why = f"{draft.program.rules[found.number].id} composes with {base} on one side"
            draft.note(NAME, name, why, applied=True)
    if change.added:
        kept = [one for one in change.rules if one is not None]
        draft.revise([*kept, *change.added], change.made, NAME)


def _closures(
    draft: Draft, component: Component, heads: Mapping[str, tuple[int, ...]]
) -> list[Closure]:
    if not component.recursive:
        return []
    numbers = (number for name in component.predicates for number in heads.get(name, ()))
    found = (closure_of(number, draft.program.rules[number]) for number in numbers)
    return [one for one in found if one is not None]


def closure_of(number: int, rule: Rule) -> Closure | None:
    """Recognise a transitive rule (conditions 1 to 3), in either order of its body."""
    match rule.body:
        case (Positive(one), Positive(other)) if (
            one.predicate == other.predicate == rule.head.predicate
        ):
            return _sorted(number, rule.head, one, other) or _sorted(number, rule.head, other, one)
        case _:
            return None


def _sorted(number: int, head: Atom, first: Atom, second: Atom) -> Closure | None:
    groups: list[str] = []
    sources: list[int] = []
    targets: list[int] = []
    for column, terms in enumerate(zip(head.terms, first.terms, second.terms, strict=True)):
        match terms:
            case (Variable(h), Variable(a), Variable(b)) if h == a == b:
                groups.append(h)
            case (Variable(h), Variable(a), Variable()) if h == a:
                sources.append(column)
            case (Variable(h), Variable(), Variable(b)) if h == b:
                targets.append(column)
            case _:
                return None
    joined = [_name(first, column) for column in targets]
    ends = [_name(head, column) for column in (*sources, *targets)]
    every = [*groups, *joined, *ends]
    if not sources or len(set(every)) != len(every):
        return None
    if sorted(joined) != sorted(_name(second, column) for column in sources):
        return None
    return Closure(number, tuple(sources), tuple(targets))


def _name(atom: Atom, column: int) -> str:
    term = atom.terms[column]
    return term.name if isinstance(term, Variable) else ""


def _against(
    draft: Draft, component: Component, found: Closure, heads: Mapping[str, tuple[int, ...]]
) -> str:
    """Why the rule has to stay, or nothing."""
    name = component.predicates[0]
    members = set(component.predicates)
    if name in draft.program.external:
        return "it has rows from outside, too"
    if not settled(draft, [name]):
        return "what it rests on may be unknown"
    others = (number for one in members for number in heads.get(one, ()) if number != found.number)
    if len(members) > 1 or any(
        members & set(predicates_of(literal))
        for number in others
        for literal in draft.program.rules[number].body
    ):
        return "another rule of it is recursive"
    return ""


def _linear(draft: Draft, found: Closure, exits: list[int], change: _Change) -> str:
    rule, kinds = draft.program.rules[found.number], draft.program.variable_kinds[found.number]
    base = _copied(draft, exits)
    if not base:
        base = f"{rule.head.predicate}/once"
        predicate = draft.program.program.predicates[rule.head.predicate]
        change.made[base] = replace(predicate, name=base, source=None, attributes={})
        for number in exits:
            one, its_kinds = draft.program.rules[number], draft.program.variable_kinds[number]
            change.rules[number] = None
            change.added.append((replace(one, head=replace(one.head, predicate=base)), its_kinds))
        start = Rule(f"{base}.start", rule.head, (Positive(Atom(base, rule.head.terms)),))
        change.added.append((start, kinds))
    change.rules[found.number] = None
    body = _body(draft, found, rule, base)
    change.added.append((replace(rule, body=body), kinds))
    return base


def _body(draft: Draft, found: Closure, rule: Rule, base: str) -> tuple[Positive, Positive]:
    """Compose with the base on the side where a wanted constant does not stand."""
    one, other = (literal for literal in rule.body if isinstance(literal, Positive))
    start = rule.head.terms[found.sources[0]]
    first, second = (one, other) if one.atom.terms[found.sources[0]] == start else (other, one)
    if _wants_target(draft, rule.head.predicate, found):
        return Positive(replace(first.atom, predicate=base)), second
    return first, Positive(replace(second.atom, predicate=base))


def _wants_target(draft: Draft, name: str, found: Closure) -> bool:
    bound = {
        column
        for one in draft.wanted
        if one.relation == name
        for column, term in enumerate(one.atom.terms)
        if isinstance(term, Constant)
    }
    return bool(bound & set(found.targets)) and not bound & set(found.sources)


def _copied(draft: Draft, exits: list[int]) -> str:
    """The relation that the only other rule copies as it is, or nothing."""
    if len(exits) != 1:
        return ""
    rule = draft.program.rules[exits[0]]
    match rule.body:
        case (Positive(atom),) if atom.terms == rule.head.terms:
            names = {term.name for term in atom.terms if isinstance(term, Variable)}
            return atom.predicate if len(names) == len(atom.terms) else ""
        case _:
            return ""
