"""Which variables a body binds, and which of its literals can have their turn.

In: the literals of a body and what is bound at its start. Out: what is bound at its end, and the
literals that still wait. Invariant: a literal that does not wait has a place in some order of the
body in which everything it reads is bound before. Example: in `p(?x), ?y = ?x + 1` the atom binds
`?x`, then the equation binds `?y`; in `p(?r), ?r = [?x, _]` it binds `?x`, for a structure can be
taken apart.

Like forward chaining for Horn clauses (Dowling and Gallier, 1984) this takes linear time,
whatever the order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import groupby
from typing import NamedTuple, TypeGuard

from constat.logic import (
    RANGE,
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
    is_constructor,
    literal_variables,
    outer_names,
    term_variables,
)


class Step(NamedTuple):
    """A way to take the literal at a place: once `needs` are bound, `gives` are too.

    A step that `opens` a structure is taken when no other can be: the literal is a pattern only
    where it has to be one, and else makes a value that can be looked up.
    """

    place: int
    needs: frozenset[str]
    gives: frozenset[str]
    opens: bool = False


class Bound(NamedTuple):
    """What is bound at the end of a body, and the places of the literals that wait for ever.

    `opened` tells for each place where a structure is taken apart what that gave.
    """

    names: set[str]
    waiting: tuple[int, ...]
    opened: dict[int, frozenset[str]]


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
                given = frozenset[str]().union(*map(pattern_names, atom.terms))
                yield Step(place, frozenset(_read_first(atom, inputs)), given)
            case Negative(atom):
                required = names_in(inputs(atom))
                yield Step(place, (names_in(atom.terms) - free) | required, none)
            case Comparison("=", left, right):
                yield Step(place, names_in((left, right)), none)
                for one, other in equations(left, right):
                    yield from _steps_of_equation(place, one, other)
                    yield from _steps_of_equation(place, other, one)
            case Comparison(left=left, right=right):
                yield Step(place, names_in((left, right)), none)
            case Aggregate(result=result):
                names = frozenset(one.name for one in aggregate_variables(literal))
                yield Step(place, names & outer, frozenset((result.name,)))


def _steps_of_equation(place: int, known: Term, other: Term) -> Iterator[Step]:
    """Yield what an equation gives once one side is known: a variable, or parts of a structure."""
    if isinstance(other, Variable):
        yield Step(place, names_in((known,)), frozenset((other.name,)))
    elif is_pattern(other):
        yield Step(place, names_in((known,)), pattern_names(other), opens=True)


def equations(left: Term, right: Term) -> Iterator[tuple[Term, Term]]:
    """Yield the equations between the parts of two terms, left to right.

    Structures are equal exactly when their constructors and their fields are.
    """
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if is_pattern(one) and is_pattern(other) and _same_constructor(one, other):
            stack.extend(zip(reversed(one.arguments), reversed(other.arguments), strict=True))
        else:
            yield one, other


def is_pattern(term: Term) -> TypeGuard[Apply]:
    """Tell whether a term is a constructor, which can be taken apart."""
    return isinstance(term, Apply) and is_constructor(term.function)


def _same_constructor(one: Apply, other: Apply) -> bool:
    return one.function == other.function and len(one.arguments) == len(other.arguments)


def pattern_names(term: Term) -> frozenset[str]:
    """Give the variables that a term binds where its value is known: not those of functions."""
    names: set[str] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Variable):
            names.add(part.name)
        elif is_pattern(part):
            stack.extend(part.arguments)
    return frozenset(names)


def bind(steps: Iterable[Step], given: Iterable[str], turns: Sequence[int] | None = None) -> Bound:
    """Take literals for as long as one is ready, those that open structures last.

    With the turn of each place, literals are looked at only after those of the turns before were
    taken as far as they could be, so that the order of the text decides what is opened. What is
    bound in the end is the same.
    """
    binding = _Binding(set(given))
    for _, together in groupby(steps, key=lambda step: turns[step.place] if turns else 0):
        for step in together:
            binding.add(step)
        binding.run()
    waiting = tuple(place for place, waits in binding.places.items() if waits)
    return Bound(binding.bound, waiting, binding.opened)


class _Binding:
    """Steps that are ready, and those that wait for names."""

    def __init__(self, bound: set[str]) -> None:
        self.bound = bound
        self.places: dict[int, bool] = {}
        self.opened: dict[int, frozenset[str]] = {}
        self.waiting_for: dict[str, list[list[object]]] = {}
        self.ready: list[Step] = []
        # By place, so that the order of the text decides; the number keeps steps uncompared.
        self.opening: list[tuple[int, int, Step]] = []
        self.pushed = 0

    def add(self, step: Step) -> None:
        self.places.setdefault(step.place, True)
        missing = step.needs - self.bound
        cell: list[object] = [len(missing), step]
        for name in missing:
            self.waiting_for.setdefault(name, []).append(cell)
        if not missing:
            self.is_ready(step)

    def is_ready(self, step: Step) -> None:
        if step.opens:
            self.pushed += 1
            heappush(self.opening, (step.place, self.pushed, step))
        else:
            self.ready.append(step)

    def run(self) -> None:
        while self.ready or self.opening:
            step = self.ready.pop() if self.ready else heappop(self.opening)[2]
            fresh = step.gives - self.bound
            if step.opens and fresh:
                self.opened[step.place] = self.opened.get(step.place, frozenset()) | fresh
            self.places[step.place] = False
            self.give(fresh)

    def give(self, names: Iterable[str]) -> None:
        for name in names:
            self.bound.add(name)
            for cell in self.waiting_for.pop(name, ()):
                cell[0] -= 1  # type: ignore[operator]  # a counter beside its step
                if not cell[0]:
                    self.is_ready(cell[1])  # type: ignore[arg-type]  # the step


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
        if isinstance(term, Apply) and not is_pattern(term):
            yield from (variable.name for variable in term_variables(term))
    yield from names_in(inputs(atom))


def waiting_atoms(
    rule: Rule, inputs: Inputs, given: Collection[str]
) -> Iterator[tuple[Atom, frozenset[str]]]:
    """Yield the atoms that wait, with the variables that their inputs wait for."""
    outer = set(outer_names(rule))
    bound = bind(steps_of(rule.body, outer, free_names(rule), inputs), given)
    yield from _waiting(rule.body, bound.waiting, bound.names, inputs)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            inside = bind(steps_of(literal.body, outer, set(), inputs), bound.names)
            yield from _waiting(literal.body, inside.waiting, inside.names, inputs)


def _waiting(
    body: Iterable[Literal], waiting: Iterable[int], bound: set[str], inputs: Inputs
) -> Iterator[tuple[Atom, frozenset[str]]]:
    literals = tuple(body)
    for place in waiting:
        literal = literals[place]
        if isinstance(literal, Positive | Negative):
            names = names_in(inputs(literal.atom)) - bound
            if names:
                yield literal.atom, names


def uses_range(rule: Rule) -> bool:
    """Tell whether a rule uses `range`."""
    return any(has_range(one) for one in rule.body) or any(map(holds_range, rule.head.terms))


def has_range(literal: Literal) -> bool:
    """Tell whether a range stands anywhere in a literal."""
    match literal:
        case Positive(atom) | Negative(atom):
            return any(map(holds_range, atom.terms))
        case Comparison(left=left, right=right):
            return holds_range(left) or holds_range(right)
        case Aggregate(target=target, body=body):
            return any(map(has_range, body)) or (target is not None and holds_range(target))


def holds_range(term: Term) -> bool:
    """Tell whether a range stands anywhere in a term."""
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Apply):
            if part.function == RANGE:
                return True
            stack.extend(part.arguments)
    return False
