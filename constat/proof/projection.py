"""Give a name to "some row of p", so that its absence is that of a ground atom.

In: an analysed program, in which ``!p(?x, _)`` means that no row of p has that first column.  Out:
the same program with ``!p.some.c(?x)`` there, and the rule that derives it.  Invariant: both
programs derive the same rows; in the second one every negated atom is ground once its rule's outer
variables are bound, as certificates want it (FORMAT.md, section 4).  Of columns that may hold null
cells the rule reads those that the atom read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.analysis import AnalysedProgram, Component
from constat.logic import (
    Atom,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
    is_wildcard,
    literal_variables,
    null_policies,
    term_variables,
)
from constat.proof.given_columns import with_given

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Kind


_Kept = tuple[str, tuple[int, ...], tuple[int, ...]]
"""A predicate, the columns that are kept, and those that hold nulls and are not read."""


def with_projections(program: AnalysedProgram) -> AnalysedProgram:
    """Return a program whose negated atoms have no variables of their own.

    What its rules are given is a relation there (see ``given_columns``).
    """
    program = with_given(program)
    projector = _Projector(program)
    rules = tuple(projector.rule(rule) for rule in program.rules)
    if not projector.added:
        return program
    every = (*rules, *(added.rule for added in projector.added.values()))
    predicates = {
        **program.program.predicates,
        **{added.predicate.name: added.predicate for added in projector.added.values()},
    }
    return AnalysedProgram(
        replace(program.program, predicates=predicates, rules=every),
        every,
        (*program.variable_kinds, *(added.kinds for added in projector.added.values())),
        _components(program, projector.added),
        program.external,
    )


@dataclass(frozen=True, slots=True)
class _Added:
    predicate: Predicate
    rule: Rule
    kinds: Mapping[str, Kind]


@dataclass(slots=True)
class _Projector:
    program: AnalysedProgram
    added: dict[_Kept, _Added] = field(default_factory=dict)

    def rule(self, rule: Rule) -> Rule:
        """Return a rule with its negated atoms projected."""
        if not any(isinstance(literal, Negative) for literal in rule.body):
            return rule
        seen = Counter(v.name for literal in rule.body for v in literal_variables(literal))
        seen.update(v.name for term in rule.head.terms for v in term_variables(term))
        body = tuple(
            Negative(self.atom(literal.atom, seen)) if isinstance(literal, Negative) else literal
            for literal in rule.body
        )
        return rule if body == rule.body else replace(rule, body=body)

    def atom(self, atom: Atom, seen: Counter[str]) -> Atom:
        """Return an atom without the variables that occur nowhere else."""
        kept = tuple(
            place
            for place, term in enumerate(atom.terms)
            if not (isinstance(term, Variable) and seen[term.name] == 1)
        )
        if len(kept) == len(atom.terms):
            return atom
        policies = null_policies(self.program.program.predicates[atom.predicate])
        unread = tuple(
            place
            for place, policy in enumerate(policies)
            if policy is not None and is_wildcard(atom.terms[place])
        )
        added = self.added.get((atom.predicate, kept, unread))
        if added is None:
            added = self.make(atom.predicate, kept, unread)
            self.added[atom.predicate, kept, unread] = added
        return Atom(added.predicate.name, tuple(atom.terms[place] for place in kept), atom.span)

    def make(self, name: str, kept: tuple[int, ...], unread: tuple[int, ...]) -> _Added:
        """Make the predicate "some row of p" and its rule."""
        predicate = self.program.program.predicates[name]
        columns = tuple(predicate.columns[place] for place in kept)
        # Names of the language have no point, so this one is free.
        some = ("of", *(predicate.columns[place].name for place in unread)) if unread else ()
        fresh = ".".join([name, "some", *(column.name for column in columns), *some])
        shown = " and ".join(f"{column.name} {{{column.name}}}" for column in columns)
        says = f"{name} has some row with {shown}" if shown else f"{name} has some row"
        variables = tuple(
            Variable(f"_{place + 1}" if place in unread else f"c{place}")
            for place in range(predicate.arity)
        )
        head = Atom(fresh, tuple(variables[place] for place in kept))
        rule = Rule(f"{fresh}.1", head, (Positive(Atom(name, variables)),))
        kinds = {v.name: kind for v, kind in zip(variables, predicate.kinds, strict=True)}
        return _Added(Predicate(fresh, columns, attributes={"says": says}), rule, kinds)


def _components(program: AnalysedProgram, added: Mapping[_Kept, _Added]) -> tuple[Component, ...]:
    """Put each new predicate right above the one it projects."""
    above: dict[str, list[Component]] = {}
    for (name, _, _), one in added.items():
        above.setdefault(name, []).append(Component((one.predicate.name,), recursive=False))
    found: list[Component] = []
    for component in program.components:
        found.append(component)
        for name in component.predicates:
            found += above.pop(name, [])
    first = [component for components in above.values() for component in components]
    return (*first, *found)
