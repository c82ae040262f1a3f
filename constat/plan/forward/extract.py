"""Make some literals of a body a relation of their own.

In: literals that are safe by themselves, the variables to keep. Out: the relation, its rule, and
the atom that stands for the literals. Invariant: the atom holds for the same values of the kept
variables; all others were local to the literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from constat.logic import (
    Atom,
    Column,
    Comparison,
    Kind,
    Literal,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
    literal_variables,
)
from constat.plan.forward.draft import TypedRule


@dataclass(frozen=True, slots=True)
class Extract:
    """A relation made of literals."""

    predicate: Predicate
    rule: TypedRule

    def atom(self, renamed: Mapping[str, str]) -> Atom:
        """The atom for other names of the kept variables."""
        terms = (term for term in self.rule[0].head.terms if isinstance(term, Variable))
        return Atom(self.predicate.name, tuple(Variable(renamed[term.name]) for term in terms))


def extract(
    name: str, literals: Sequence[Literal], kept: Iterable[str], kinds: Mapping[str, Kind]
) -> Extract:
    """Make literals a relation whose columns are the kept variables."""
    names = tuple(kept)
    columns = tuple(Column(one, kinds[one].value, kinds[one]) for one in names)
    head = Atom(name, tuple(map(Variable, names)))
    own = {one: kinds[one] for literal in literals for one in names_of(literal)}
    return Extract(Predicate(name, columns), (Rule(f"{name}.1", head, tuple(literals)), own))


def names_of(literal: Literal) -> set[str]:
    """The names of a literal's variables."""
    return {variable.name for variable in literal_variables(literal)}


def is_safe(literals: Iterable[Literal]) -> bool:
    """Whether positive atoms bind every variable of the other literals, none an aggregate."""
    body = tuple(literals)
    bound: set[str] = set()
    for one in body:
        if isinstance(one, Positive):
            bound.update(term.name for term in one.atom.terms if isinstance(term, Variable))
    return all(
        isinstance(one, Positive | Negative | Comparison) and names_of(one) <= bound for one in body
    )
