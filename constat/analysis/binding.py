"""Which variables a body binds, and which of its literals can have their turn.

In: the literals of a body and what is bound at its start. Out: what is bound at its end, and the
literals that still wait. Invariant: a literal that does not wait has a place in some order of the
body in which everything it reads is bound before. Example: in `p(?x), ?y = ?x + 1` the atom binds
`?x`, then the equation binds `?y`.

Like forward chaining for Horn clauses (Dowling and Gallier, 1984) this takes linear time,
whatever the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Variable,
    literal_variables,
    term_variables,
)


class Step(NamedTuple):
    """A way to take the literal at a place: once `needs` are bound, `gives` are too."""

    place: int
    needs: frozenset[str]
    gives: frozenset[str]


class Bound(NamedTuple):
    """What is bound at the end of a body, and the places of the literals that wait for ever."""

    names: set[str]
    waiting: tuple[int, ...]


Inputs = Callable[[Atom], Iterable[Term]]
"""The terms of an atom that must be bound before it is asked, beside those with functions."""


def nothing_required(_atom: Atom) -> tuple[Term, ...]:
    """Ask for nothing to be bound: the inputs of predicates that can be read in full."""
    return ()


def steps_of(
    body: Iterable[Literal],
    outer: set[str],
    free: set[str],
    inputs: Inputs = nothing_required,
) -> Iterator[Step]:
    """Yield the ways to take each literal. `free` may stay unbound in negated atoms."""
    none: frozenset[str] = frozenset()
    for place, literal in enumerate(body):
        match literal:
            case Positive(atom):
                given = frozenset(term.name for term in atom.terms if isinstance(term, Variable))
                yield Step(place, frozenset(_read_first(atom, inputs)), given)
            case Negative(atom):
                required = names_in(inputs(atom))
                yield Step(place, (names_in(atom.terms) - free) | required, none)
            case Comparison("=", left, right):
                yield Step(place, names_in((left, right)), none)
                if isinstance(left, Variable):
                    yield Step(place, names_in((right,)), frozenset((left.name,)))
                if isinstance(right, Variable):
                    yield Step(place, names_in((left,)), frozenset((right.name,)))
            case Comparison(left=left, right=right):
                yield Step(place, names_in((left, right)), none)
            case Aggregate(result=result):
                names = frozenset(one.name for one in aggregate_variables(literal))
                yield Step(place, names & outer, frozenset((result.name,)))


def bind(steps: Iterable[Step], given: Iterable[str]) -> Bound:
    """Take literals for as long as one is ready."""
    bound = set(given)
    waiting_for: dict[str, list[list[object]]] = {}
    ready: list[Step] = []
    places: dict[int, bool] = {}
    for step in steps:
        places.setdefault(step.place, True)
        missing = step.needs - bound
        if not missing:
            ready.append(step)
            continue
        cell: list[object] = [len(missing), step]
        for name in missing:
            waiting_for.setdefault(name, []).append(cell)
    while ready:
        step = ready.pop()
        places[step.place] = False
        for name in step.gives - bound:
            bound.add(name)
            for cell in waiting_for.pop(name, ()):
                cell[0] -= 1  # type: ignore[operator]  # a counter beside its step
                if not cell[0]:
                    ready.append(cell[1])  # type: ignore[arg-type]  # the step
    return Bound(bound, tuple(place for place, waits in places.items() if waits))


def names_in(terms: Iterable[Term]) -> frozenset[str]:
    """Give the names of all variables in some terms."""
    names: set[str] = set()
    for term in terms:
        if isinstance(term, Variable):
            names.add(term.name)
        elif isinstance(term, Apply):
            names.update(variable.name for variable in term_variables(term))
    return frozenset(names)


def aggregate_variables(aggregate: Aggregate) -> Iterator[Variable]:
    """Yield the variable occurrences of an aggregate without its result."""
    occurrences = literal_variables(aggregate)
    next(occurrences)
    yield from occurrences


def free_names(rule: Rule) -> set[str]:
    """Give the variables that mean "any": they occur once in the rule, in a negated atom."""
    once: dict[str, int] = {}
    candidates: set[str] = set()
    if not any(isinstance(literal, Negative) for literal in rule.body):
        return candidates
    for term in rule.head.terms:
        for variable in term_variables(term):
            once[variable.name] = once.get(variable.name, 0) + 1
    for literal in rule.body:
        for variable in literal_variables(literal):
            once[variable.name] = once.get(variable.name, 0) + 1
        if isinstance(literal, Negative):
            candidates.update(
                term.name for term in literal.atom.terms if isinstance(term, Variable)
            )
    return {name for name in candidates if once[name] == 1}


def _read_first(atom: Atom, inputs: Inputs) -> Iterator[str]:
    for term in atom.terms:
        if isinstance(term, Apply):
            yield from (variable.name for variable in term_variables(term))
    yield from names_in(inputs(atom))
