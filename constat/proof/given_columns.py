"""Make given columns ordinary: what is asked for becomes a relation that the rules read.

In: an analysed program with `@[given]` columns. Out: one in which each rule of such a predicate
begins with `p.given(...)`, and each caller has a rule that says which values it asks for. Both
derive the same rows for what is asked; the second needs nothing of engines and checkers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from constat.analysis import AnalysedProgram
from constat.analysis.binding import names_in
from constat.analysis.demand import binders, demand_relation, without_given
from constat.analysis.draft import Draft
from constat.analysis.strata import find_strata
from constat.diagnostics import ConstatError
from constat.logic import (
    Aggregate,
    Atom,
    Negative,
    Positive,
    Predicate,
    Rule,
    literal_variables,
    outer_names,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.logic import Kind, Literal


def with_given(program: AnalysedProgram) -> AnalysedProgram:
    """Return a program without given columns, for goals that are rules of it."""
    predicates = program.program.predicates
    if not any(one.given for one in predicates.values()):
        return program
    asking = _Asking(program)
    rules = [
        asking.rule(rule, kinds)
        for rule, kinds in zip(program.rules, program.variable_kinds, strict=True)
    ]
    every = (*rules, *(rule for rule, _ in asking.added))
    kinds = (*program.variable_kinds, *(one for _, one in asking.added))
    plain = {name: without_given(one) for name, one in predicates.items()}
    declared = {**plain, **{one.name: one for one in asking.demanded.values()}}
    joined = replace(program.program, predicates=declared, rules=every)
    draft = Draft(joined, [], predicates=declared, rules=list(every), variable_kinds=list(kinds))
    find_strata(draft)
    if draft.diagnostics:
        raise ConstatError(draft.diagnostics)
    marked = tuple(draft.rules)
    return AnalysedProgram(
        replace(joined, rules=marked), marked, kinds, draft.components, program.external
    )


@dataclass(slots=True)
class _Asking:
    program: AnalysedProgram
    demanded: dict[str, Predicate] = field(default_factory=dict)
    added: list[tuple[Rule, Mapping[str, Kind]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for predicate in self.program.program.predicates.values():
            if predicate.given:
                self.demanded[predicate.name] = demand_relation(predicate)

    def rule(self, rule: Rule, kinds: Mapping[str, Kind]) -> Rule:
        """Return a rule that reads what is asked for, and note what it asks for itself."""
        own = self.own(rule)
        for place, literal in enumerate(rule.body):
            match literal:
                case Positive(atom) | Negative(atom) if atom.predicate in self.demanded:
                    beside = [one for at, one in enumerate(rule.body) if at != place]
                    self.ask(rule, kinds, atom, beside)
                case Aggregate(body=inner):
                    self.inside(rule, kinds, place, inner)
                case _:
                    pass
        if own is None:
            return rule
        return replace(rule, body=(own, *rule.body), attributes=_shifted(rule))

    def own(self, rule: Rule) -> Positive | None:
        """Return the literal that reads what is asked of a rule's head."""
        predicate = self.program.program.predicates[rule.head.predicate]
        if not predicate.given:
            return None
        terms = tuple(rule.head.terms[place] for place in predicate.given)
        return Positive(Atom(self.demanded[predicate.name].name, terms))

    def inside(
        self, rule: Rule, kinds: Mapping[str, Kind], place: int, inner: Sequence[Literal]
    ) -> None:
        """Note what an aggregate asks for."""
        outside = [one for number, one in enumerate(rule.body) if number != place]
        for at, one in enumerate(inner):
            if isinstance(one, Positive | Negative) and one.atom.predicate in self.demanded:
                beside = [other for number, other in enumerate(inner) if number != at]
                self.ask(rule, kinds, one.atom, [*outside, *beside])

    def ask(
        self, rule: Rule, kinds: Mapping[str, Kind], atom: Atom, beside: Sequence[Literal]
    ) -> None:
        """Add the rule that says which values an atom is asked for."""
        demanded = self.demanded[atom.predicate]
        predicates = self.program.program.predicates
        predicate = predicates[atom.predicate]
        terms = tuple(atom.terms[place] for place in predicate.given)
        body = binders(rule, predicates, names_in(terms), beside)
        if body is None:
            raise TypeError(f"nothing binds the given columns of `{atom.predicate}`")
        own = self.own(rule)
        literals = tuple(body) if own is None else (own, *body)
        name = (
            f"{demanded.name}.{sum(r.head.predicate == demanded.name for r, _ in self.added) + 1}"
        )
        asked = Rule(name, Atom(demanded.name, terms), literals, span=rule.span)
        used = set(outer_names(asked))
        used |= {one.name for literal in literals for one in literal_variables(literal)}
        self.added.append((asked, {n: kind for n, kind in kinds.items() if n in used}))


def _shifted(rule: Rule) -> Mapping[str, str]:
    """Return the attributes with no reason for the literal that was put first."""
    reasons = rule.attributes.get("reasons", "")
    return {**rule.attributes, "reasons": f"-,{reasons}"} if reasons else rule.attributes
