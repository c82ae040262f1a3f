"""Make some literals of a body a relation of their own.

In: literals that are safe by themselves, the variables to keep. Out: the relation, its rule, and
the atom that stands for the literals. Invariant: the atom holds for the same values of the kept
variables; all others were local to the literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from constat.logic import (
    Apply,
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
    term_variables,
)
from constat.plan.forward.draft import TypedRule


@dataclass(frozen=True, slots=True)
class Cut:
    """All that makes one such relation another: its literals, columns, and kinds of variables.

    `Extracts` makes a relation from nothing else, so no two that differ can be taken for one.
    """

    literals: tuple[Literal, ...]
    kept: tuple[str, ...]
    kinds: tuple[tuple[str, Kind], ...]

    @classmethod
    def of(cls, literals: Iterable[Literal], kept: Iterable[str], kinds: Mapping[str, Kind]) -> Cut:
        """Describe some literals of a rule, whose variables have these kinds."""
        body = tuple(literals)
        return cls(body, tuple(kept), kinds_of(body, kinds))


@dataclass(frozen=True, slots=True)
class Extract:
    """A relation made of literals."""

    predicate: Predicate
    rule: TypedRule

    def atom(self, renamed: Mapping[str, str]) -> Atom:
        """The atom for other names of the kept variables."""
        terms = (term for term in self.rule[0].head.terms if isinstance(term, Variable))
        return Atom(self.predicate.name, tuple(Variable(renamed[term.name]) for term in terms))


@dataclass(slots=True)
class Extracts:
    """The relations that one pass makes, each once."""

    made: dict[Cut, Extract] = field(default_factory=dict)

    def take(self, name: str, cut: Cut) -> Extract:
        """Give the relation of a cut; a new one is called by this name and its number."""
        if cut not in self.made:
            self.made[cut] = extract(f"{name}/{len(self.made) + 1}", cut)
        return self.made[cut]

    @property
    def predicates(self) -> dict[str, Predicate]:
        """The relations by name."""
        return {one.predicate.name: one.predicate for one in self.made.values()}

    @property
    def rules(self) -> list[TypedRule]:
        """The rule of each relation."""
        return [one.rule for one in self.made.values()]


def extract(name: str, cut: Cut) -> Extract:
    """Make literals a relation whose columns are the kept variables."""
    kinds = dict(cut.kinds)
    columns = tuple(Column(one, kinds[one].value, kinds[one]) for one in cut.kept)
    head = Atom(name, tuple(map(Variable, cut.kept)))
    return Extract(Predicate(name, columns), (Rule(f"{name}.1", head, cut.literals), kinds))


def kinds_of(body: Iterable[Literal], kinds: Mapping[str, Kind]) -> tuple[tuple[str, Kind], ...]:
    """Give the variables of a body with their kinds, in the order of their names."""
    return tuple((name, kinds[name]) for name in sorted({n for one in body for n in names_of(one)}))


def names_of(literal: Literal) -> set[str]:
    """The names of a literal's variables."""
    return {variable.name for variable in literal_variables(literal)}


def computes(atom: Atom) -> bool:
    """Whether an atom computes from variables, which other literals then have to bind."""
    return any(
        isinstance(one, Apply) and any(True for _ in term_variables(one)) for one in atom.terms
    )


def is_safe(literals: Iterable[Literal]) -> bool:
    """Whether positive atoms bind every variable of the other literals, none an aggregate.

    An atom that computes binds nothing here: what it computes from may be its own variable.
    """
    body = tuple(literals)
    bound: set[str] = set()
    for one in body:
        if isinstance(one, Positive) and not computes(one.atom):
            bound.update(term.name for term in one.atom.terms if isinstance(term, Variable))
    return all(
        isinstance(one, Positive | Negative | Comparison) and names_of(one) <= bound for one in body
    )
