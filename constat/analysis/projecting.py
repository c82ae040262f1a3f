"""Name what a denied atom inside an aggregate leaves out: souffle mode only.

In: a program as lowered. Out: one in which `!q(?x, _)` inside an aggregate is `!q.0(?x)`, with the
rule `q.0(?v1) :- q(?v1, _).`, and a warning with what strict mode says. Invariant: the new
predicates have names that no text can spell, and the answers stay the same. Example: `count : {
p(?x), !q(?x, _) }` counts the `?x` for which there is no `q` at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.analysis.draft import as_warning
from constat.analysis.unbound import in_aggregate
from constat.logic import (
    Aggregate,
    Atom,
    Negative,
    Positive,
    Predicate,
    Program,
    Rule,
    Variable,
    is_wildcard,
)

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic
    from constat.logic import Literal


def with_projections(program: Program, diagnostics: list[Diagnostic]) -> Program:
    """Give the program with a predicate for each denied atom that leaves columns out."""
    projecting = _Projecting(program, diagnostics)
    rules = [projecting.rule(rule) for rule in program.rules]
    if not projecting.predicates:
        return program
    predicates = {**program.predicates, **projecting.predicates}
    return replace(program, predicates=predicates, rules=(*rules, *projecting.rules))


@dataclass(slots=True)
class _Projecting:
    """The predicates and rules made so far."""

    program: Program
    diagnostics: list[Diagnostic]
    predicates: dict[str, Predicate] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)

    def rule(self, rule: Rule) -> Rule:
        body: list[Literal] = []
        for literal in rule.body:
            if isinstance(literal, Aggregate):
                inner = tuple(
                    self.denied(rule, literal, one) if isinstance(one, Negative) else one
                    for one in literal.body
                )
                body.append(replace(literal, body=inner))
            else:
                body.append(literal)
        return replace(rule, body=tuple(body))

    def denied(self, rule: Rule, aggregate: Aggregate, denied: Negative) -> Negative:
        atom = denied.atom
        predicate = self.program.predicates.get(atom.predicate)
        left_out = {place for place, term in enumerate(atom.terms) if is_wildcard(term)}
        if not left_out or predicate is None or predicate.arity != len(atom.terms):
            return denied
        first = atom.terms[min(left_out)]
        if isinstance(first, Variable):
            self.diagnostics.append(as_warning(in_aggregate(rule, first, aggregate)))
        places = [place for place in range(predicate.arity) if place not in left_out]
        # Where nothing is kept the dot alone tells it from the predicate itself.
        name = f"{predicate.name}.{'.'.join(map(str, places))}"
        if name not in self.predicates:
            self.add(name, predicate, places, atom)
        return Negative(Atom(name, tuple(atom.terms[place] for place in places), atom.span))

    def add(self, name: str, predicate: Predicate, places: list[int], atom: Atom) -> None:
        columns = tuple(replace(predicate.columns[place], attributes={}) for place in places)
        self.predicates[name] = Predicate(name, columns, span=predicate.span)
        # What the head takes is read, and no `_`.
        letters = ["v" if place in places else "_" for place in range(predicate.arity)]
        variables = [Variable(f"{letter}{n}") for n, letter in enumerate(letters, 1)]
        head = Atom(name, tuple(variables[place] for place in places), atom.span)
        body = Positive(Atom(predicate.name, tuple(variables), atom.span))
        self.rules.append(Rule(name, head, (body,), span=atom.span))
