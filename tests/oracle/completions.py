"""The judge of the definition: every way the world may be, with two truth values.

A null cell is each value of a small domain, or a fresh one (`maybe`: also none); an open pattern is
each set of rows over the domain; an assumed fact or rule holds or does not. What is certain is so
in all completions, what is so in one is possible. Shares the words of rules with `definition`, and
no meaning: literals are taken as they become ready, given columns are called from above.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import Final

from tests.oracle.definition import (
    NONE,
    Aggregate,
    Atom,
    Beyond,
    Blank,
    Body,
    Call,
    Cell,
    Compare,
    Const,
    ErringError,
    Literal,
    Made,
    Negative,
    Null,
    Opening,
    Outside,
    Positive,
    Program,
    Reading,
    Row,
    Rule,
    Star,
    Term,
    Value,
    Var,
    exactly,
    filled,
    is_value,
    names_of,
    uses,
)

Domain = Mapping[str, tuple[Value, ...]]
"""The values of each kind. It has those that the program compares with, and no fresh ones."""
Plain = tuple[Cell, ...]
"""A row of values, with `NONE` where there is no value."""
Found = dict[str, Cell]

_BEYOND: Final = 6
"""How far values that nobody has lie beyond the domain; near, as a range counts up to them."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One way the world may be.

    Nobody knows what an instance derives that errs: with `erring` all it might, else nothing.
    """

    facts: Mapping[str, frozenset[Plain]]
    values: Mapping[Null, Cell]
    rules: frozenset[str]
    erring: bool


def completions(
    program: Program,
    outside: Outside,
    domain: Domain,
    accepted: Collection[str] = (),
    most: int = 64,
) -> Iterator[Completion]:
    """Yield all completions where they are few, else so many, the same each time."""
    nulls, sure, optional = _alternatives(program, outside, domain, accepted)
    doubtful = [rule.name for rule in program.rules if not rule.words <= set(accepted)]
    widths = [len(cells) for cells in nulls.values()] + [2] * (len(optional) + len(doubtful) + 1)
    for places in _chosen(widths, most):
        values = {
            null: cells[place] for (null, cells), place in zip(nulls.items(), places, strict=False)
        }
        rest = places[len(nulls) :]
        rows = sure + [one for one, place in zip(optional, rest, strict=False) if place]
        out = {n for n, place in zip(doubtful, rest[len(optional) :], strict=False) if place}
        facts: dict[str, set[Plain]] = {name: set() for name in program.kinds}
        for name, row in rows:
            facts[name].add(
                tuple(values.get(cell, cell) if isinstance(cell, Null) else cell for cell in row)
            )
        yield Completion(
            {name: frozenset(found) for name, found in facts.items()},
            values,
            frozenset(rule.name for rule in program.rules) - out,
            bool(places[-1]),
        )


def _alternatives(
    program: Program, outside: Outside, domain: Domain, accepted: Collection[str]
) -> tuple[dict[Null, list[Cell]], list[tuple[str, Row]], list[tuple[str, Row]]]:
    nulls: dict[Null, list[Cell]] = {}
    sure: list[tuple[str, Row]] = []
    optional: list[tuple[str, Row]] = []
    fresh = _BEYOND + max(int(one) for one in domain.get("number", (0,)))
    for name, facts in outside.facts.items():
        for fact in facts:
            row = filled(fact, accepted)
            (sure if fact.words <= set(accepted) else optional).append((name, row))
            for cell, kind in zip(row, program.kinds[name], strict=True):
                if isinstance(cell, Null) and cell not in nulls and cell != NONE:
                    # One that another cell may have, too, and one of its own.
                    made = type(domain[kind][0])
                    own: list[Cell] = [made(fresh), made(fresh + 1 + len(nulls))]
                    none: list[Cell] = [NONE] if cell.policy == "maybe" else []
                    nulls[cell] = [*domain[kind], *own, *none]
    for name, openings in outside.openings.items():
        for opening in openings:
            if not opening.words or not opening.words <= set(accepted):
                optional += [(name, row) for row in _rows(opening, program.kinds[name], domain)]
    return nulls, sure, [one for one in dict.fromkeys(optional) if one not in sure]


def _rows(opening: Opening, kinds: tuple[str, ...], domain: Domain) -> Iterator[Row]:
    columns = [
        [one for one in domain[kind] if one not in cell.besides]
        if isinstance(cell, Star)
        else [cell]
        for cell, kind in zip(opening.row, kinds, strict=True)
    ]
    yield from product(*columns)


def _chosen(widths: list[int], most: int) -> Iterator[tuple[int, ...]]:
    if prod(widths) <= most:
        yield from product(*map(range, widths))
        return
    random = Random(len(widths))
    yield tuple(0 for _ in widths)
    yield tuple(width - 1 for width in widths)
    for _ in range(most - 2):
        share = random.choice((0.2, 0.5, 0.8))
        yield tuple(
            random.randrange(1, width) if width > 1 and random.random() < share else 0
            for width in widths
        )


class Model:
    """The ordinary model of a completion, stratum by stratum."""

    def __init__(self, program: Program, completion: Completion, domain: Domain) -> None:
        self.program = program
        self.domain = domain
        self.erring = completion.erring
        self.values = completion.values
        self._orders: dict[tuple[int, frozenset[str]], tuple[Body, Body]] = {}
        self.rules = [rule for rule in program.rules if rule.name in completion.rules]
        self.facts = {name: set(rows) for name, rows in completion.facts.items()}
        for stratum in program.strata():
            rules = [one for one in self.rules if one.head.predicate in stratum]
            rules = [one for one in rules if one.head.predicate not in program.given]
            looked_at = rules
            while True:
                found = {
                    (one.head.predicate, row) for one in looked_at for row in self.heads(one, {})
                }
                new = [(name, row) for name, row in found if row not in self.facts[name]]
                if not new:
                    break
                for name, row in new:
                    self.facts[name].add(row)
                looked_at = [one for one in rules if self._depends(one, {name for name, _ in new})]

    def _depends(self, rule: Rule, changed: Collection[str]) -> bool:
        """Tell whether a rule reads one of these; what is called from above may do so itself."""
        return bool(self.program.given) or any(name in changed for name, _ in uses(rule.body))

    def as_in(self, completion: Completion) -> Model:
        """Give the model of a completion with the same facts and rules, and values of its own."""
        other = copy(self)
        other.values = completion.values
        return other

    def holds(self, goal: Body) -> bool:
        return any(True for _ in self.extend(goal, {}))

    def rows(self, atom: Atom, known: Found) -> list[Plain]:
        """Give the rows of an atom's predicate; where columns are given, those that are asked."""
        places = self.program.given.get(atom.predicate, ())
        rows = list(self.facts[atom.predicate])
        if not places:
            return rows
        for key in product(*(self.guesses(atom.terms[place], known) for place in places)):
            for rule in self.rules:
                if rule.head.predicate == atom.predicate:
                    shape = Atom(atom.predicate, tuple(rule.head.terms[place] for place in places))
                    start = self.joined(shape, key, {})
                    rows += [] if start is None else self.heads(rule, start)
        return rows

    def heads(self, rule: Rule, start: Found) -> list[Plain]:
        return [
            row
            for known in self.extend(rule.body, start)
            for row in product(*(self.guesses(term, known) for term in rule.head.terms))
        ]

    def extend(self, left: Body, known: Found) -> Iterator[Found]:
        """Yield the assignments that satisfy literals, each taken when it is ready."""
        yield from self._through(self.order(left, known), known)

    def _through(self, left: Body, known: Found) -> Iterator[Found]:
        if not left:
            yield known
            return
        for extended in self.step(left[0], known):
            yield from self._through(left[1:], extended)

    def order(self, body: Body, known: Collection[str]) -> Body:
        """Put each literal behind those that bind what it needs; which these are no row changes."""
        key = id(body), frozenset(known)
        # The body is kept, so that no other one gets its identity.
        kept, placed = self._orders.get(key, ((), ()))
        if kept is body:
            return placed
        names, left = set(known), list(body)
        order: list[Literal] = []
        while left:
            inside = _names_inside(left)
            order.append(next(one for one in left if self.ready(one, names, inside)))
            left.remove(order[-1])
            names |= _names_inside(order[-1:])
        self._orders[key] = body, tuple(order)
        return tuple(order)

    def ready(self, literal: Literal, known: set[str], inside: Collection[str]) -> bool:
        match literal:
            case Positive(atom):
                places = self.program.given.get(atom.predicate, ())
                needed = [t for p, t in enumerate(atom.terms) if p in places or isinstance(t, Call)]
                return all(names_of(term) <= known for term in needed)
            case Negative(atom):
                names = {name for term in atom.terms for name in names_of(term)}
                # What no other literal binds means "any".
                return names & set(inside) <= known
            case Compare("=", left, right):
                sides = ((left, right), (right, left))
                ready = (isinstance(a, Var) and names_of(b) <= known for a, b in sides)
                return any(ready) or names_of(left) | names_of(right) <= known
            case Compare(left=left, right=right):
                return names_of(left) | names_of(right) <= known
            case Aggregate(outer=outer):
                return outer <= known
            case Beyond(outer=outer, bound=bound):
                return outer | names_of(bound) <= known

    def step(self, literal: Literal, known: Found) -> Iterator[Found]:
        match literal:
            case Positive(atom):
                found = (self.joined(atom, row, known) for row in self.rows(atom, known))
                yield from (one for one in found if one is not None)
            case Negative(atom):
                yield from [known] if self.may_lack(atom, known) else []
            case Compare():
                yield from self.compared(literal, known)
            case Aggregate(result=result):
                for value in self.totals(literal, known):
                    if known.get(result.name, value) == value:
                        yield {**known, result.name: value}
            case Beyond():
                yield from [known] if self.passes(literal, known) else []

    def joined(self, atom: Atom, row: Plain, known: Found) -> Found | None:
        found = dict(known)
        for term, cell in zip(atom.terms, row, strict=True):
            match term:
                case Blank(name):
                    found[name] = cell
                case _ if cell == NONE:
                    return None
                case Var(name):
                    if found.setdefault(name, cell) != cell:
                        return None
                case Const(value):
                    if value != cell:
                        return None
                case Call():
                    if cell not in self.guesses(term, known):
                        return None
        return found

    def may_lack(self, atom: Atom, known: Found) -> bool:
        """Tell whether some instance of a negated atom has no row; only where it errs are many."""
        bound = [term for term in atom.terms if isinstance(term, Call)]
        rows = self.rows(atom, known)
        for guess in product(*(self.guesses(term, known) for term in bound)):
            fixed = dict(zip(map(id, bound), guess, strict=True))
            terms = tuple(
                Const(fixed[id(term)]) if id(term) in fixed else term for term in atom.terms
            )
            instance = Atom(atom.predicate, terms)
            if all(self.joined(instance, row, known) is None for row in rows):
                return True
        return False

    def compared(self, literal: Compare, known: Found) -> Iterator[Found]:
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(one, Var) and one.name not in known:
                for value in self.guesses(other, known):
                    yield {**known, one.name: value}
                return
        pairs = product(self.guesses(literal.left, known), self.guesses(literal.right, known))
        try:
            found = any(literal.test(left, right) for left, right in pairs)
        except ErringError:
            found = self.erring
        if found:
            yield known

    def group(self, literal: Aggregate | Beyond, known: Found) -> list[Found]:
        start = {name: known[name] for name in literal.outer}
        keys = {tuple(sorted(one.items())) for one in self.extend(literal.body, start)}
        return [dict(key) for key in keys]

    def totals(self, literal: Aggregate, known: Found) -> tuple[Value, ...]:
        group, target = self.group(literal, known), literal.target
        try:
            cells = [0 if target is None else self.value(target, one) for one in group]
            value = literal.fold(cells)
        except ErringError:
            return self.domain["number"] if self.erring else ()
        return () if value is None else (value,)

    def passes(self, literal: Beyond, known: Found) -> bool:
        """Tell whether a total passes; nobody knows it where a summand is below zero."""
        group, target = self.group(literal, known), literal.target
        test = operator.gt if literal.operator == ">" else operator.ge
        try:
            cells = [1 if target is None else self.value(target, one) for one in group]
            bound = exactly(self.value(literal.bound, known))
        except ErringError:
            return self.erring
        exact = list(map(exactly, cells))
        falls = any(one < 0 for one in exact) and not self.erring
        return not falls and test(sum((one for one in exact if one > 0), Fraction()), bound)

    def guesses(self, term: Term, known: Found) -> tuple[Value, ...]:
        """Give the value of a term, or where it errs all it might be."""
        try:
            return (self.value(term, known),)
        except ErringError:
            kind = term.function.kind if isinstance(term, Call) else "number"
            return self.domain[kind] if self.erring else ()

    def value(self, term: Term, known: Found) -> Value:
        match term:
            case Var(name) | Blank(name):
                cell = known[name]
                assert is_value(cell), "a variable that is read has a value"
                return cell
            case Const(value):
                return value
            case Call(function, arguments):
                return function.apply(*(self.value(one, known) for one in arguments))

    def known_as(self, cell: Cell) -> Cell:
        """Give what a cell of the definition is in this completion; ⋆ stays ⋆."""
        match cell:
            case Null():
                return self.values.get(cell, cell)
            case Made(function, arguments):
                return function.apply(*map(self.known_as, arguments))
            case _:
                return cell


class Models:
    """The models of one program, each made once: many databases have completions that are alike.

    Two completions have one model where their facts, their rules and what errs are the same; which
    cell was not known matters to `contradictions` alone.
    """

    def __init__(self, program: Program, domain: Domain) -> None:
        self.program = program
        self.domain = domain
        self._made: dict[tuple[object, ...], Model] = {}

    def of(self, completion: Completion) -> Model:
        facts = tuple(completion.facts[name] for name in self.program.kinds)
        key = facts, completion.rules, completion.erring
        if key not in self._made:
            self._made[key] = Model(self.program, completion, self.domain)
        return self._made[key].as_in(completion)


def _names_inside(body: Iterable[Literal]) -> set[str]:
    """Give the names that a literal other than a negation has."""
    names: set[str] = set()
    for literal in body:
        match literal:
            case Positive(atom):
                names |= {name for term in atom.terms for name in names_of(term)}
            case Compare(left=left, right=right):
                names |= names_of(left) | names_of(right)
            case Aggregate(result=result, outer=outer):
                names |= {result.name} | outer
            case Beyond(outer=outer, bound=bound):
                names |= outer | names_of(bound)
            case Negative():
                pass
    return names


def contradictions(reading: Reading, model: Model) -> list[str]:
    """Say what a reading has wrong of a completion: certain rows not there, rows not possible."""
    found = []
    for name, relation in reading.relations.items():
        if name in reading.program.given:
            continue
        for row, certain in relation.items():
            real = tuple(map(model.known_as, row))
            if certain and real not in model.facts[name]:
                found.append(f"{name}{row} is certain and not there")
        shapes = [tuple(map(model.known_as, row)) for row in relation]
        found += [
            f"{name}{row} is there and not possible"
            for row in model.facts[name]
            if not any(all(map(_allows, shape, row)) for shape in shapes)
        ]
    return found


def _allows(shape: Cell, cell: Cell) -> bool:
    return cell not in shape.besides if isinstance(shape, Star) else shape == cell
