"""Give a name to an argument that is computed from what its own atom binds.

`e(?x, ?x + 1)` becomes `e(?x, ?y), ?y = ?x + 1`. Where other literals bind `?x`, the atom stays as
it is: then it is looked up by the value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from constat.analysis.abducing import REASONS, reason_codes
from constat.analysis.binding import bind, free_names, is_pattern, names_in, steps_of
from constat.analysis.unbound import occurrences
from constat.logic import Aggregate, Apply, Comparison, Positive, Variable, outer_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.logic import Atom, Literal, Predicate, Program, Rule, Term


def with_equations(program: Program) -> Program:
    """Give the program in which no atom waits for a value that it binds itself."""
    rules = tuple(
        _Naming(rule, program.predicates).named() if _computes(rule.body) else rule
        for rule in program.rules
    )
    return program if rules == program.rules else replace(program, rules=rules)


def _computes(body: Iterable[Literal]) -> bool:
    for literal in body:
        match literal:
            case Positive(atom) if any(map(_is_computed, atom.terms)):
                return True
            case Aggregate(body=inner) if _computes(inner):
                return True
            case _:
                pass
    return False


def _is_computed(term: Term) -> bool:
    return isinstance(term, Apply) and not is_pattern(term) and bool(names_in((term,)))


class _Naming:
    """One rule while its arguments are named."""

    def __init__(self, rule: Rule, predicates: Mapping[str, Predicate]) -> None:
        self.rule = rule
        self.predicates = predicates
        self.outer = set(outer_names(rule))
        self.taken = {one.name for one in occurrences(rule)}

    def named(self) -> Rule:
        """Give the rule; as it is where names would bind nothing."""
        rule = self.rule
        free = free_names(rule)
        bound = bind(steps_of(rule.body, self.outer, free), ())
        body: list[Literal] = []
        codes: list[str] = []
        for place, literal in enumerate(rule.body):
            written = list(self.literal(literal, waits=place in bound.waiting, bound=bound.names))
            body += written
            # What a literal became has the reason code of the literal.
            codes += reason_codes(rule.attributes)[place : place + 1] * len(written)
        if len(body) > len(rule.body):
            fresh = self.taken - {one.name for one in occurrences(rule)}
            again = bind(steps_of(body, self.outer | fresh, free), ())
            if len(again.waiting) >= len(bound.waiting):
                return rule
        attributes = {**rule.attributes, REASONS: ",".join(codes)} if codes else rule.attributes
        return replace(rule, body=tuple(body), attributes=attributes)

    def literal(self, literal: Literal, *, waits: bool, bound: set[str]) -> Iterator[Literal]:
        """Yield what a literal becomes."""
        match literal:
            case Positive(atom) if waits:
                yield from self.atom(atom)
            case Aggregate(body=inner):
                body = list(self.inside(inner, bound))
                kept = cast("tuple[Positive | Comparison, ...]", tuple(body))
                yield replace(literal, body=kept) if len(body) > len(inner) else literal
            case _:
                yield literal

    def inside(self, body: Sequence[Literal], bound: set[str]) -> Iterator[Literal]:
        """Yield the literals of an aggregate, in which the outer variables are bound."""
        waiting = bind(steps_of(body, self.outer, set()), bound | self.outer).waiting
        for place, literal in enumerate(body):
            yield from self.literal(literal, waits=place in waiting, bound=bound)

    def atom(self, atom: Atom) -> Iterator[Literal]:
        """Yield an atom with variables for what it computes, and their equations."""
        terms: list[Term] = []
        equations: list[Comparison] = []
        for place, term in enumerate(atom.terms):
            if not _is_computed(term):
                terms.append(term)
                continue
            name = self.unused(atom.predicate, place)
            span = term.span if isinstance(term, Apply) else None
            terms.append(Variable(name, span))
            equations.append(Comparison("=", Variable(name, span), term, span))
        yield Positive(replace(atom, terms=tuple(terms)))
        yield from equations

    def unused(self, predicate: str, place: int) -> str:
        """Give a name that the rule does not use, that of the column if it can be."""
        declared = self.predicates.get(predicate)
        known = declared is not None and place < declared.arity
        stem = declared.columns[place].name if declared is not None and known else "value"
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name
