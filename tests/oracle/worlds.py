"""The meaning that the three-valued semantics must not contradict: every way the world may be.

In: a program and a world with open patterns.  Out: completions, in which everything is known, and
the ordinary two-valued model of each.  Invariant: what is PROVED is true in all of them, what is
DISPROVED in none.  Shares nothing with ``naive`` but the functions of values.

Example: with ``r`` open at (⋆) and the domain {1, 2} there are four completions of ``r``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import TYPE_CHECKING

from constat.logic import (
    OPEN,
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Literal,
    Negative,
    OpenRow,
    Positive,
    Row,
    Rule,
    Term,
    Value,
    Variable,
    comparison,
    fold,
    implementation,
    literal_variables,
    local_names,
    term_variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from tests.oracle.naive import World

Domain = dict[Kind, tuple[Value, ...]]
Facts = dict[str, set[Row]]
Assignment = dict[str, Value]

MOST_COMPLETIONS = 64
BEYOND_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class Completion:
    """One way the world may be.

    ``rules`` are the numbers of the rules that hold.  Where an instance errs nobody knows what it
    derives: with ``erring`` all it might, without it nothing.
    """

    facts: Facts
    rules: frozenset[int]
    erring: bool


def completions(
    program: AnalysedProgram, world: World, domain: Domain, *, accepted: bool
) -> Iterator[Completion]:
    """Yield all completions where they are few, else a sample that is the same each time."""
    sure, optional = _external(program, world, domain, accepted=accepted)
    doubtful = [
        number for number, rule in enumerate(program.rules) if rule.assumed and not accepted
    ]
    width = len(optional) + len(doubtful) + 1
    for choice in _choices(width):
        facts = {name: set(rows) for name, rows in sure.items()}
        for (name, row), chosen in zip(optional, choice, strict=False):
            if chosen:
                facts[name].add(row)
        out = {n for n, chosen in zip(doubtful, choice[len(optional) :], strict=False) if chosen}
        yield Completion(facts, frozenset(range(len(program.rules))) - out, choice[-1])


def holds(program: AnalysedProgram, completion: Completion, goal: Atom, domain: Domain) -> bool:
    """Tell whether some row matches the goal in the model of the completion."""
    rows = model(program, completion, domain)[goal.predicate]
    return any(_joined(goal, row, {}) is not None for row in rows)


def model(program: AnalysedProgram, completion: Completion, domain: Domain) -> Facts:
    """Return the two-valued model, stratum by stratum."""
    facts = {name: set(rows) for name, rows in completion.facts.items()}
    for component in program.components:
        numbers = [
            number
            for name in component.predicates
            for number in program.rule_numbers(name)
            if number in completion.rules
        ]
        while True:
            new = {
                (program.rules[number].head.predicate, row)
                for number in numbers
                for row in _Firing(program, number, facts, domain, completion).heads()
            }
            if all(row in facts[name] for name, row in new):
                break
            for name, row in new:
                facts[name].add(row)
    return facts


def _external(
    program: AnalysedProgram, world: World, domain: Domain, *, accepted: bool
) -> tuple[Facts, list[tuple[str, Row]]]:
    sure: Facts = {name: set() for name in program.program.predicates}
    optional: dict[tuple[str, Row], None] = {}
    for name, rows in world.rows.items():
        for row, assumption in rows:
            if assumption is None or accepted:
                sure[name].add(row)
            else:
                optional[name, row] = None
    for name, openings in world.openings.items():
        kinds = program.program.predicates[name].kinds
        for opening, assumption in openings:
            if assumption is None or not accepted:
                for row in _instances(opening, kinds, domain):
                    optional[name, row] = None
    return sure, [(name, row) for name, row in optional if row not in sure[name]]


def _instances(opening: OpenRow, kinds: tuple[Kind, ...], domain: Domain) -> Iterator[Row]:
    columns = [
        domain[kind] if slot is OPEN else (slot,) for slot, kind in zip(opening, kinds, strict=True)
    ]
    yield from product(*columns)


def _choices(width: int) -> Iterator[tuple[bool, ...]]:
    if 2**width <= MOST_COMPLETIONS:
        yield from product((False, True), repeat=width)
        return
    random = Random(width)
    yield (False,) * width
    yield (True,) * width
    for _ in range(MOST_COMPLETIONS - 2):
        share = random.choice((0.2, 0.5, 0.8))
        yield tuple(random.random() < share for _ in range(width))


def _joined(atom: Atom, row: Row, known: Assignment) -> Assignment | None:
    found = dict(known)
    for term, value in zip(atom.terms, row, strict=True):
        if isinstance(term, Variable):
            if found.setdefault(term.name, value) != value:
                return None
        elif isinstance(term, Constant) and term.value != value:
            return None
    return found


class _Firing:
    """All instances of one rule over known facts; literals are taken as they become ready."""

    def __init__(
        self,
        program: AnalysedProgram,
        number: int,
        facts: Facts,
        domain: Domain,
        completion: Completion,
    ) -> None:
        self.rule: Rule = program.rules[number]
        self.kinds: Mapping[str, Kind] = program.variable_kinds[number]
        self.facts = facts
        self.domain = domain
        self.erring = completion.erring
        seen = Counter(v.name for literal in self.rule.body for v in literal_variables(literal))
        seen.update(v.name for term in self.rule.head.terms for v in term_variables(term))
        # In a negation such a variable means "any".
        self.singles = frozenset(name for name, times in seen.items() if times == 1)

    def heads(self) -> Iterator[Row]:
        for known in self.extend(self.rule.body, {}):
            yield from product(*(self.values(term, known) for term in self.rule.head.terms))

    def extend(self, left: tuple[Literal, ...], known: Assignment) -> Iterator[Assignment]:
        if not left:
            yield known
            return
        place = next(place for place, one in enumerate(left) if self.ready(one, known))
        rest = left[:place] + left[place + 1 :]
        for extended in self.step(left[place], known):
            yield from self.extend(rest, extended)

    def ready(self, literal: Literal, known: Assignment) -> bool:
        match literal:
            case Positive(atom):
                needed = [v for t in atom.terms if isinstance(t, Apply) for v in term_variables(t)]
                return all(variable.name in known for variable in needed)
            case Comparison("=", left, right) if self.assigns(left, right, known):
                return True
            case Negative():
                names = {variable.name for variable in literal_variables(literal)}
                return names - self.singles <= set(known)
            case Aggregate():
                return self.outer(literal) <= set(known)
            case _:
                return all(variable.name in known for variable in literal_variables(literal))

    def assigns(self, left: Term, right: Term, known: Assignment) -> bool:
        sides = ((left, right), (right, left))
        return any(isinstance(one, Variable) and self.bound(other, known) for one, other in sides)

    def bound(self, term: Term, known: Assignment) -> bool:
        return all(variable.name in known for variable in term_variables(term))

    def step(self, literal: Literal, known: Assignment) -> Iterator[Assignment]:
        match literal:
            case Positive(atom):
                for row in self.facts[atom.predicate]:
                    found = _joined(atom, row, known)
                    if found is not None and self.fits(atom, row, found):
                        yield found
            case Negative(atom):
                if self.may_lack(atom, known):
                    yield known
            case Comparison():
                yield from self.compared(literal, known)
            case Aggregate(result=result):
                for value in self.aggregated(literal, known):
                    if known.get(result.name, value) == value:
                        yield {**known, result.name: value}

    def may_lack(self, atom: Atom, known: Assignment) -> bool:
        """Tell whether some instance of a negated atom matches no row."""
        free = [
            place
            for place, term in enumerate(atom.terms)
            if isinstance(term, Variable) and term.name not in known
        ]
        bound = [place for place in range(len(atom.terms)) if place not in free]
        rows = {tuple(row[place] for place in bound) for row in self.facts[atom.predicate]}
        keys = product(*(self.values(atom.terms[place], known) for place in bound))
        return any(key not in rows for key in keys)

    def fits(self, atom: Atom, row: Row, known: Assignment) -> bool:
        return all(
            value in self.values(term, known)
            for term, value in zip(atom.terms, row, strict=True)
            if isinstance(term, Apply)
        )

    def compared(self, literal: Comparison, known: Assignment) -> Iterator[Assignment]:
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(one, Variable) and one.name not in known:
                for value in self.values(other, known):
                    yield {**known, one.name: value}
                return
        test = comparison(literal.operator, self.kind(literal.left))
        pairs = product(self.values(literal.left, known), self.values(literal.right, known))
        try:
            found = any(test(left, right) for left, right in pairs)
        except EvaluationError:
            found = self.erring
        if found:
            yield known

    def outer(self, aggregate: Aggregate) -> set[str]:
        names = {variable.name for variable in literal_variables(aggregate)}
        return names - set(local_names(self.rule, aggregate)) - {aggregate.result.name}

    def aggregated(self, aggregate: Aggregate, known: Assignment) -> tuple[Value, ...]:
        given = {name: known[name] for name in self.outer(aggregate)}
        found = {tuple(sorted(one.items())) for one in self.extend(aggregate.body, given)}
        target = aggregate.target
        kind = Kind.NUMBER if target is None else self.kind(target)
        try:
            values = [0 if target is None else self.value(target, dict(one)) for one in found]
            if aggregate.recursive and any(str(value).startswith("-") for value in values):
                # A recursive total that may fall: nobody knows what follows from it.
                return (BEYOND_ALL,) if self.erring else ()
            value = fold(aggregate.function, None if target is None else kind, values)
        except EvaluationError:
            return self.domain[self.kinds[aggregate.result.name]] if self.erring else ()
        return () if value is None else (value,)

    def values(self, term: Term, known: Assignment) -> tuple[Value, ...]:
        """Return the value of a term, or all it might be where it errs."""
        try:
            return (self.value(term, known),)
        except EvaluationError:
            return self.domain[self.kind(term)] if self.erring else ()

    def value(self, term: Term, known: Assignment) -> Value:
        match term:
            case Variable(name):
                return known[name]
            case Constant(value):
                return value
            case Apply(function, arguments):
                kinds = tuple(self.kind(argument) for argument in arguments)
                values = [self.value(argument, known) for argument in arguments]
                return implementation(function, kinds, self.kind(term))(*values)

    def kind(self, term: Term) -> Kind:
        found = self.kinds[term.name] if isinstance(term, Variable) else term.kind
        assert found is not None, "analysis gives every function its kind"
        return found
