"""What a draft leaves open, and what its queries give: names and rules that are made, not written.

In: a program that a draft has joined. Out: the same program, in which a predicate of the draft also
has the rows of `p_beyond_draft`, which nobody knows and the draft's word closes; and whether an
`.input` of a draft is fenced in. Invariants: that something does *not* follow from a draft is an
assumption like what does follow, since another definition might give it; a query of a draft reaches
its predicate by a proposed rule alone. Example: `gold(?c) :- gold_as_queried(?c).` is the only rule
that uses `gold_as_queried`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.analysis import QUERIED
from constat.logic import Aggregate, Atom, Negative, Positive, Predicate, Rule, Variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.logic import Column, Literal, Program

BEYOND: Final = "_beyond_draft"
RESERVED: Final = (QUERIED, BEYOND)
"""Endings of names that no draft may give to a predicate of its own."""


def left_open(program: Program, drafted: Mapping[str, str]) -> Program:
    """Leave drafted predicates open; `drafted` names for each the draft that declares it whole."""
    predicates, rules = dict(program.predicates), list(program.rules)
    for name, draft in drafted.items():
        predicate, beyond = predicates[name], name + BEYOND
        columns = tuple(replace(column, attributes={}) for column in predicate.columns)
        says = sentence(f"{name} has, beyond the draft,", columns)
        attributes = {"closed": draft, "says": says}
        predicates[beyond] = Predicate(beyond, columns, attributes=attributes)
        rules.append(bridge(predicate, beyond, f"{beyond}.1"))
    return replace(program, predicates=predicates, rules=tuple(rules))


def bridge(predicate: Predicate, below: str, identity: str) -> Rule:
    """Give the rule by which the rows of one predicate are rows of another."""
    terms = tuple(Variable(column.name) for column in predicate.columns)
    says = predicate.attributes.get("says") or sentence(f"{predicate.name} has", predicate.columns)
    body = (Positive(Atom(below, terms)),)
    return Rule(identity, Atom(predicate.name, terms), body, attributes={"says": says})


def sentence(start: str, columns: Sequence[Column]) -> str:
    """Give a sentence that names every column."""
    named = ", ".join(f"{{{column.name}}}" for column in columns)
    return f"{start} {named}".rstrip()


def is_fenced_in(name: str, rules: Sequence[Rule]) -> bool:
    """Tell whether the rows of a drafted query reach nothing but the predicate that it serves."""
    if not name.endswith(QUERIED):
        return False
    served = name.removesuffix(QUERIED)
    users = [rule for rule in rules if name in set(used(rule.body))]
    heads = {rule.head.predicate for rule in rules}
    return name not in heads and all(_is_bridge(rule, served) for rule in users)


def used(body: Sequence[Literal]) -> Iterator[str]:
    """Yield the predicates of a body, those inside aggregates too."""
    for literal in body:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom.predicate
            case Aggregate(body=inner):
                yield from used(inner)
            case _:
                pass


def _is_bridge(rule: Rule, served: str) -> bool:
    return (
        rule.head.predicate == served
        and len(rule.body) == 1
        and isinstance(rule.body[0], Positive)
        and rule.body[0].atom.terms == rule.head.terms
    )
