"""A slow evaluator that is obviously right: the reference for every engine.

In: an analysed program and a ``World``, all that is outside seen at once.  Out: for a reading,
each predicate's rows with whether they are certain (semantics 7 to 10).  Invariant: no cleverness.
Rules fire on all rows of all predicates, stratum by stratum, until nothing is new.

Example: with ``r`` open at (⋆), ``p(?x) :- r(?x).`` makes ``p(⋆)`` possible and nothing certain.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, Assumption
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
    Slot,
    Term,
    Variable,
    comparison,
    fold,
    implementation,
    is_never_negative,
    literal_variables,
    local_names,
    term_variables,
    threshold_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis import AnalysedProgram

Relation = dict[OpenRow, bool]
"""The possible rows of a predicate, each with whether it is certain."""

Binding = dict[str, Slot]


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside: rows and openings by predicate, each under an assumption or none."""

    rows: Mapping[str, tuple[tuple[Row, Assumption | None], ...]] = field(default_factory=dict)
    openings: Mapping[str, tuple[tuple[OpenRow, Assumption | None], ...]] = field(
        default_factory=dict
    )


def strength(program: AnalysedProgram, world: World, goal: Atom) -> int:
    """Return the strength of the goal: what the two readings say about its pattern."""
    hard = matching(goal, evaluate(program, world, accepted=False)[goal.predicate])
    accepted = matching(goal, evaluate(program, world, accepted=True)[goal.predicate])
    if any(hard.values()):
        return CERTAIN
    if any(accepted.values()):
        return ACCEPTED
    if accepted:
        return POSSIBLE
    return CONCEIVABLE if hard else ABSENT


def matching(goal: Atom, relation: Relation) -> Relation:
    """Return the rows of the relation that match the goal."""
    return {row: sure for row, sure in relation.items() if unify(goal, row, {}) is not None}


def evaluate(program: AnalysedProgram, world: World, *, accepted: bool) -> dict[str, Relation]:
    """Return all relations in the hard reading, or in the one that accepts every assumption."""
    relations: dict[str, Relation] = {name: {} for name in program.program.predicates}
    for predicate, rows in world.rows.items():
        for row, assumption in rows:
            add(relations[predicate], row, certain=accepted or assumption is None)
    for predicate, openings in world.openings.items():
        for opening, assumption in openings:
            if assumption is None or not accepted:
                add(relations[predicate], opening, certain=False)
    for component in program.components:
        numbers = [number for name in component.predicates for number in program.rule_numbers(name)]
        # What is possible does not depend on which totals are certain, and it tells whether a
        # summand may be negative; so a component is finished twice.
        for sure_totals in (False, True):
            changed = True
            while changed:
                fired = [
                    fire(program, number, relations, accepted=accepted, sure_totals=sure_totals)
                    for number in numbers
                ]
                changed = any(fired)
    return relations


def fire(
    program: AnalysedProgram,
    number: int,
    relations: dict[str, Relation],
    *,
    accepted: bool,
    sure_totals: bool = True,
) -> bool:
    """Add the heads of all instances of a rule; return whether anything was new."""
    rule = program.rules[number]
    body = Body(rule, program.variable_kinds[number], relations, sure_totals=sure_totals)
    holds = accepted or not rule.assumed
    heads = [(body.row(rule.head, one), sure) for one, sure in body.solutions(rule.body, {})]
    relation = relations[rule.head.predicate]
    changes = [add(relation, head, certain=holds and sure) for head, sure in heads]
    return any(changes)


def add(relation: Relation, row: OpenRow, *, certain: bool) -> bool:
    """Add a row; return whether that changed the relation. A row with ⋆ is never certain."""
    sure = certain and OPEN not in row
    changed = row not in relation or (sure and not relation[row])
    relation[row] = sure or relation.get(row, False)
    return changed


def agree(left: Slot, right: Slot) -> bool:
    """Tell whether two slots may be the same value."""
    return left is OPEN or right is OPEN or left == right


def unify(atom: Atom, row: OpenRow, binding: Binding) -> Binding | None:
    """Return the binding extended by the row; what is ⋆ takes the other side's value.

    Functions in the atom are looked at when everything is bound, in ``Body.solutions``.
    """
    extended = dict(binding)
    for term, slot in zip(atom.terms, row, strict=True):
        match term:
            case Variable(name):
                known = extended.get(name, OPEN)
                if not agree(known, slot):
                    return None
                extended[name] = slot if known is OPEN else known
            case Constant(value):
                if not agree(value, slot):
                    return None
            case Apply():
                pass
    return extended


class Body:
    """Finds the assignments of a rule's body, and of the aggregates in it."""

    def __init__(
        self,
        rule: Rule,
        kinds: Mapping[str, Kind],
        relations: dict[str, Relation],
        *,
        sure_totals: bool = True,
    ) -> None:
        self.rule = rule
        self.kinds = kinds
        self.relations = relations
        self.sure_totals = sure_totals
        self.thresholds = {
            literal.result: threshold_of(rule, place)
            for place, literal in enumerate(rule.body)
            if isinstance(literal, Aggregate) and literal.recursive
        }

    def solutions(self, body: Iterable[Literal], given: Binding) -> Iterator[tuple[Binding, bool]]:
        """Yield the possible assignments, each with whether it is certain this way."""
        literals = tuple(body)
        atoms = [literal.atom for literal in literals if isinstance(literal, Positive)]
        for joined, rows in self.join(atoms, given):
            binding = self.bind(literals, joined)
            if binding is None:
                continue
            truths = [self.check(literal, binding) for literal in literals]
            for atom, row in zip(atoms, rows, strict=True):
                truths.append(self.meets(atom, row, binding))
            if False not in truths:
                yield binding, None not in truths

    def join(
        self, atoms: list[Atom], binding: Binding
    ) -> Iterator[tuple[Binding, tuple[OpenRow, ...]]]:
        """Yield the bindings that take one possible row for each atom, with these rows."""
        if not atoms:
            yield binding, ()
            return
        for row in self.relations[atoms[0].predicate]:
            extended = unify(atoms[0], row, binding)
            if extended is not None:
                for rest, rows in self.join(atoms[1:], extended):
                    yield rest, (row, *rows)

    def bind(self, body: tuple[Literal, ...], joined: Binding) -> Binding | None:
        """Bind by equations and aggregates what is not known yet; ``None`` if one has no value."""
        binding = dict(joined)
        while True:
            before = dict(binding)
            for literal in body:
                match literal:
                    case Comparison("=", left, right):
                        self.equate(left, right, binding)
                        self.equate(right, left, binding)
                    case Aggregate(result=result) if result in self.thresholds:
                        binding[result.name] = OPEN
                    case Aggregate(result=result) if self.ready(literal, binding):
                        value = self.aggregate(literal, binding)
                        if value is None:
                            return None
                        if binding.get(result.name, OPEN) is OPEN:
                            binding[result.name] = value
                    case _:
                        pass
            if binding == before:
                return binding

    def equate(self, side: Term, other: Term, binding: Binding) -> None:
        """Let a variable that has no value take that of the other side of its equation."""
        known = all(variable.name in binding for variable in term_variables(other))
        if known and isinstance(side, Variable) and binding.get(side.name, OPEN) is OPEN:
            binding[side.name] = self.slot(other, binding)

    def check(self, literal: Literal, binding: Binding) -> bool | None:
        """Tell whether a literal is true, false, or unknown, under a full binding."""
        match literal:
            case Positive():
                return True
            case Negative(atom):
                return self.denied(atom, binding)
            case Comparison(left=left, right=right):
                if left in self.thresholds or right in self.thresholds:
                    return True
                return self.compare(literal, binding)
            case Aggregate(result=result) if result in self.thresholds:
                return self.beyond(literal, binding)
            case Aggregate(result=result):
                value = self.aggregate(literal, binding)
                known = binding[result.name]
                if value is None or not agree(value, known):
                    return False
                return None if value is OPEN or known is OPEN else True

    def meets(self, atom: Atom, row: OpenRow, binding: Binding) -> bool | None:
        """Tell whether the instance of an atom is that row of its relation, and is certain."""
        instance = self.row(atom, binding)
        if not all(map(agree, instance, row)):
            return False
        return True if instance == row and self.relations[atom.predicate][row] else None

    def denied(self, atom: Atom, binding: Binding) -> bool | None:
        """Tell whether no row is that of an atom; what nothing binds may have any value."""
        relation = self.relations[atom.predicate]
        known = [
            place
            for place, term in enumerate(atom.terms)
            if all(variable.name in binding for variable in term_variables(term))
        ]
        instance = tuple(self.slot(atom.terms[place], binding) for place in known)
        shown: Relation = {}
        for row, certain in relation.items():
            part = tuple(row[place] for place in known)
            shown[part] = certain or shown.get(part, False)
        return self.absent(instance, shown)

    def absent(self, row: OpenRow, relation: Relation) -> bool | None:
        """Tell whether a row is absent: certain iff not possible, possible iff not certain."""
        if relation.get(row, False):
            return False
        possible = any(all(map(agree, row, other)) for other in relation)
        return None if possible or OPEN in row else True

    def compare(self, literal: Comparison, binding: Binding) -> bool | None:
        """Compare; over ⋆, and where evaluation errs, the truth is unknown."""
        left, right = self.slot(literal.left, binding), self.slot(literal.right, binding)
        if left is OPEN or right is OPEN:
            return None
        try:
            return comparison(literal.operator, self.kind(literal.left))(left, right)
        except EvaluationError:
            return None

    def row(self, atom: Atom, binding: Binding) -> OpenRow:
        """Return the instance of an atom."""
        return tuple(self.slot(term, binding) for term in atom.terms)

    def slot(self, term: Term, binding: Binding) -> Slot:
        """Return the value of a term; ⋆ where it rests on ⋆ or errs."""
        match term:
            case Variable(name):
                return binding[name]
            case Constant(value):
                return value
            case Apply(function, arguments):
                slots = [self.slot(argument, binding) for argument in arguments]
                if OPEN in slots:
                    return OPEN
                parameters = tuple(self.kind(argument) for argument in arguments)
                try:
                    return implementation(function, parameters, self.kind(term))(*slots)
                except EvaluationError:
                    return OPEN

    def kind(self, term: Term) -> Kind:
        """Return the kind of a term."""
        found = self.kinds[term.name] if isinstance(term, Variable) else term.kind
        assert found is not None, "analysis gives every function its kind"
        return found

    def given(self, aggregate: Aggregate) -> set[str]:
        """Return the names that an aggregate takes from outside."""
        names = {variable.name for inner in aggregate.body for variable in literal_variables(inner)}
        if aggregate.target is not None:
            names |= {variable.name for variable in term_variables(aggregate.target)}
        return names - set(local_names(self.rule, aggregate))

    def ready(self, aggregate: Aggregate, binding: Binding) -> bool:
        """Tell whether the group of an aggregate is known."""
        return self.given(aggregate) <= set(binding)

    def beyond(self, aggregate: Aggregate, binding: Binding) -> bool | None:
        """Tell whether a recursive total is beyond its bound.

        What is certain is a lower bound as long as nothing that is possible takes from it.
        """
        threshold = self.thresholds[aggregate.result]
        assert threshold is not None, "analysis refuses every other recursive aggregate"
        bound = self.slot(threshold.bound, binding)
        if bound is OPEN or OPEN in (binding[name] for name in self.given(aggregate)):
            return None
        sure, most, unknown, falls = Fraction(), Fraction(), False, False
        for key, certain in self.assignments(aggregate, binding).items():
            target = aggregate.target
            value = 1 if target is None else self.slot(target, dict(key))
            unknown |= OPEN in (slot for _, slot in key) or value is OPEN
            exact = None if value is OPEN else Fraction(value)
            falls |= exact is None or exact < 0
            if exact is not None and exact > 0:
                most += exact
                sure += exact if certain else 0
        falls = falls and not is_never_negative(aggregate, self.kinds)
        compare = operator.gt if threshold.operator == ">" else operator.ge
        if compare(sure, Fraction(bound)) and not falls and self.sure_totals:
            return True
        return None if unknown or compare(most, Fraction(bound)) else False

    def assignments(
        self, aggregate: Aggregate, binding: Binding
    ) -> dict[tuple[tuple[str, Slot], ...], bool]:
        """Return the distinct assignments of an aggregate, each with whether it is certain."""
        given = {name: binding[name] for name in self.given(aggregate)}
        assignments: dict[tuple[tuple[str, Slot], ...], bool] = {}
        for one, sure in self.solutions(aggregate.body, given):
            key = tuple(sorted(one.items()))
            assignments[key] = sure or assignments.get(key, False)
        return assignments

    def aggregate(self, aggregate: Aggregate, binding: Binding) -> Slot | None:
        """Return the exact value, ⋆ when there is none, ``None`` for min, max, mean of no rows."""
        given = {name: binding[name] for name in self.given(aggregate)}
        assignments = self.assignments(aggregate, binding)
        if OPEN in given.values() or not all(assignments.values()):
            return OPEN
        target = aggregate.target
        targets = [0 if target is None else self.slot(target, dict(key)) for key in assignments]
        values = [value for value in targets if value is not OPEN]
        if len(values) < len(targets):
            return OPEN
        try:
            return fold(aggregate.function, None if target is None else self.kind(target), values)
        except EvaluationError:
            return OPEN
