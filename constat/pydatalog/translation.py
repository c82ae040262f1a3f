"""Analysed logic becomes clauses for pyDatalog: values in, values out, never text.

In: an analysed program, a goal, and the rows of every external predicate the goal depends on. Out:
a `Question`. Invariant: the least model of the clauses, stratum by stratum, is that of the rules;
what the goal does not depend on is left out. An aggregate becomes a relation of its assignments,
which pyDatalog completes before it is folded.

Example: `n(?c, ?k) :- c(?c), ?k = count : { o(?c, ?i) }.` becomes `a(c, i) :- o(c, i).` and
`n(c, k) :- c(c), k = count of a(c, _).`
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import cast

from constat.analysis import AnalysedProgram
from constat.logic import (
    Aggregate,
    Atom,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Row,
    Rule,
    Variable,
    aggregate_kind,
    literal_variables,
    outer_names,
)
from constat.pydatalog.body import Body
from constat.pydatalog.clauses import (
    Clause,
    Constants,
    Place,
    Premise,
    Question,
    Stage,
    Summary,
    Term,
)


def needed(program: AnalysedProgram, goal: Atom) -> tuple[str, ...]:
    """The predicates that a goal depends on, itself included, in the order they are met."""
    uses: dict[str, list[str]] = {}
    for rule in program.rules:
        uses.setdefault(rule.head.predicate, []).extend(_used(rule.body))
    found = {goal.predicate: None}
    waiting = [goal.predicate]
    while waiting:
        new = [name for name in uses.get(waiting.pop(), ()) if name not in found]
        found.update(dict.fromkeys(new))
        waiting.extend(new)
    return tuple(found)


def translate(program: AnalysedProgram, goal: Atom, rows: Mapping[str, Sequence[Row]]) -> Question:
    """Translate everything that the goal depends on."""
    return _Translation(program, needed(program, goal)).question(goal, rows)


def _used(body: Sequence[Literal]) -> list[str]:
    names: list[str] = []
    for literal in body:
        match literal:
            case Positive(atom) | Negative(atom):
                names.append(atom.predicate)
            case Aggregate(body=inner):
                names.extend(_used(inner))
            case _:
                pass
    return names


class _Translation:
    """The clauses of one program. Relations beyond the predicates belong to aggregates."""

    def __init__(self, program: AnalysedProgram, names: Sequence[str]) -> None:
        self._program = program
        self._arities = [program.program.predicates[name].arity for name in names]
        self._places = {name: Place(number) for number, name in enumerate(names)}
        self._stages: list[Stage] = []
        self._inside: dict[str, dict[str, Place]] = {}
        for component in program.components:
            if component.recursive and self._places.keys() >= set(component.predicates):
                self._share(component.predicates)
        self._constants = Constants()
        self._clauses: list[Clause] = []

    def _share(self, names: Sequence[str]) -> None:
        """Let predicates that use each other, or themselves, share a relation inside.

        pyDatalog waits for ever where three subgoals wait for each other in a circle, as those of
        `path(?x, ?y) :- edge(?x, ?z), path(?z, ?y).` do over edges in a circle. A shared relation
        that is asked for all of its rows is one subgoal, and waits for itself only.
        """
        relation, widths = len(self._arities), [self._arity(name) for name in names]
        self._arities.append(max(widths) + 1)
        inside = {
            name: Place(relation, tag, max(widths) - width)
            for tag, (name, width) in enumerate(zip(names, widths, strict=True))
        }
        self._inside.update(dict.fromkeys(names, inside))
        members = tuple((self._places[name].relation, self._arity(name)) for name in names)
        self._stages.append(Stage(relation, members))

    def _arity(self, name: str) -> int:
        return self._program.program.predicates[name].arity

    def _own(self, name: str) -> Place:
        """Where the rows of a predicate are derived."""
        return self._inside.get(name, self._places)[name]

    def question(self, goal: Atom, rows: Mapping[str, Sequence[Row]]) -> Question:
        facts: dict[int, list[tuple[Term, ...]]] = {}
        for name, all_rows in rows.items():
            place, kinds = self._own(name), self._kinds(name)
            facts.setdefault(place.relation, []).extend(
                place.premise(self._constants.row(row, kinds)).terms for row in all_rows
            )
        for number, rule in enumerate(self._program.rules):
            if rule.head.predicate in self._places:
                self._rule(rule, self._program.variable_kinds[number])
        return Question(
            goal=self._goal(goal),
            facts={relation: tuple(all_rows) for relation, all_rows in facts.items()},
            clauses=tuple(self._clauses),
            arities=tuple(self._arities),
            constants=self._constants.listed(),
            kinds=self._kinds(goal.predicate),
            stages=tuple(self._stages),
        )

    def _kinds(self, name: str) -> tuple[Kind, ...]:
        return self._program.program.predicates[name].kinds

    def _goal(self, goal: Atom) -> Premise:
        terms: list[Term] = []
        for term in goal.terms:
            match term:
                case Variable(name):
                    terms.append(name)
                case Constant(value, kind):
                    terms.append(self._constants.number(kind, value))
                case _:
                    raise TypeError("a goal computes nothing")
        return self._places[goal.predicate].premise(terms)

    def _rule(self, rule: Rule, kinds: Mapping[str, Kind]) -> None:
        outer = frozenset(outer_names(rule))
        inside = self._inside.get(rule.head.predicate)
        places = self._places if inside is None else ChainMap(inside, self._places)
        shared = None if inside is None else self._own(rule.head.predicate).relation
        body = Body(kinds, places, self._constants, shared)
        body.translate(rule.body, lambda one, around: self._fold(one, around, outer))
        self._add(body, body.premise(rule.head))

    def _add(self, body: Body, head: Premise, given: int = 0) -> None:
        """Add a clause whose first columns, so many, are bound whenever it is asked."""
        if not body.impossible:
            self._clauses.append(Clause(head, body.ordered(head.terms[:given])))

    def _fold(self, aggregate: Aggregate, around: Body, outer: frozenset[str]) -> Summary:
        """Give the aggregate a relation of its assignments; they are counted once each."""
        occurrences = literal_variables(aggregate)
        next(occurrences)  # the result
        names = tuple(dict.fromkeys(variable.name for variable in occurrences))
        group = [name for name in names if name in outer]
        local = [name for name in names if name not in outer]
        body = Body(around.kinds, self._places, self._constants)
        body.translate(aggregate.body, _no_aggregate_inside)
        kind = None if aggregate.target is None else body.kind(aggregate.target)
        terms = [body.simple(Variable(name)) for name in (*group, *local)]
        if aggregate.target is not None:
            terms.append(body.simple(aggregate.target))
        relation = len(self._arities)
        self._arities.append(len(terms))
        self._add(body, Premise(relation, tuple(terms)), given=len(group))
        return Summary(
            function=aggregate.function,
            kind=kind,
            result_kind=cast("Kind", aggregate_kind(aggregate.function, kind)),
            relation=relation,
            group=tuple(around.simple(Variable(name)) for name in group),
            local=len(local),
            result=around.simple(aggregate.result),
        )


def _no_aggregate_inside(_aggregate: Aggregate, _around: Body) -> Summary:
    raise TypeError("an aggregate inside an aggregate")
