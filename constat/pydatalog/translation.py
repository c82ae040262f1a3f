"""Analysed logic becomes clauses for pyDatalog: values in, values out, never text."""

from __future__ import annotations

import heapq
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, assert_never, cast

from constat.analysis import AnalysedProgram
from constat.diagnostics import Diagnostic
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Predicate,
    Row,
    Rule,
    Value,
    Variable,
    aggregate_kind,
    literal_variables,
    outer_names,
)
from constat.logic import Atom as LogicAtom
from constat.logic import Literal as LogicLiteral
from constat.logic import Term as LogicTerm
from constat.plan.planning import not_bound

# A term is the number of a constant or the name of a variable, a relation is a number: pyDatalog
# never sees a text of the program or of a source.
# In every body the literals stand in an order in which each finds bound what it reads, for
# pyDatalog takes them from left to right.

Term = int | str
Terms = tuple[Term, ...]


@frozen
class Premise:
    """A relation applied to terms, or its absence."""

    relation: int
    terms: Terms
    negated: bool = False


@frozen
class Place:
    """Where the rows of a predicate stand: in a relation of its own, or in a shared one.

    Rows of a shared relation begin with the `tag` of their predicate and end with `padding`. It is
    asked for all of its rows only, so that it waits for itself and for nothing that waits for it.
    """

    relation: int
    tag: Term | None = None
    padding: int = 0

    def premise(self, terms: Sequence[Term]) -> Premise:
        """The predicate applied to terms."""
        tag = () if self.tag is None else (self.tag,)
        return Premise(self.relation, (*tag, *terms, *(0,) * self.padding))


@frozen
class Stage:
    """A shared relation that is asked once, in full, before what uses it.

    Its rows with tag i become facts of `members[i]`, a relation and its width.
    """

    relation: int
    members: tuple[tuple[int, int], ...]


@frozen
class Same:
    """Two bound terms have the same number."""

    left: Term
    right: Term


@frozen
class Condition:
    """A comparison of two bound terms of one kind."""

    operator: str
    kind: Kind
    left: Term
    right: Term


@frozen
class Computation:
    """`result = function(arguments)`; the arguments are bound, the result need not be."""

    function: str
    parameters: tuple[Kind, ...]
    kind: Kind
    arguments: Terms
    result: Term


@frozen
class Summary:
    """`result = function` over the rows of `relation` whose first columns are `group`.

    Then come `local` columns, one for each variable of the aggregate that is not outside, and the
    folded value where `kind` is not `None`. `result_kind` is the kind of the result.
    """

    function: str
    kind: Kind | None
    result_kind: Kind
    relation: int
    group: Terms
    local: int
    result: Term

    @property
    def width(self) -> int:
        """How many columns the relation has beside the group."""
        return self.local + (self.kind is not None)


Literal = Premise | Same | Condition | Computation | Summary


@frozen
class Clause:
    """A head that follows from a body."""

    head: Premise
    body: tuple[Literal, ...]


@frozen
class Question:
    """Everything one run of pyDatalog needs. `arities[i]` is the width of relation i."""

    constants: tuple[tuple[Kind, Value], ...]
    arities: tuple[int, ...]
    facts: Mapping[int, tuple[Terms, ...]]
    clauses: tuple[Clause, ...]
    goal: Premise
    kinds: tuple[Kind, ...]
    """The kinds of the goal's columns."""
    stages: tuple[Stage, ...] = ()
    """Callees first."""


class Constants:
    """Numbers for values: the same number exactly for the same value of the same kind.

    For Python, and for pyDatalog, 1, 1.0 and True are one constant; here the kind is part of it.
    """

    def __init__(self, listed: Iterable[tuple[Kind, Value]] = ()) -> None:
        self._values: list[Value] = []
        self._numbers: dict[tuple[Kind, Value], int] = {}
        for kind, value in listed:
            self.number(kind, value)

    def number(self, kind: Kind, value: Value) -> int:
        """The number of a value, a new one where it has none yet."""
        found = self._numbers.setdefault((kind, value), len(self._values))
        if found == len(self._values):
            self._values.append(value)
        return found

    def value(self, number: int) -> Value:
        """The value with that number."""
        return self._values[number]

    def listed(self) -> tuple[tuple[Kind, Value], ...]:
        """All of them, by number."""
        return tuple(self._numbers)

    def row(self, row: Row, kinds: Iterable[Kind]) -> tuple[int, ...]:
        """The numbers of the values of a row."""
        return tuple(self.number(kind, value) for kind, value in zip(kinds, row, strict=True))


# Time is that of sorting, for any body.

_TOTAL: Final = frozenset(
    {
        *("+", "-", "*", "neg", "cat", "strlen", "to_string", "min", "max"),
        *("band", "bor", "bxor", "bnot", "land", "lor", "lxor", "lnot"),
    }
)
"""Functions that err on extreme values only."""

Rank = tuple[int, int]


def ordered(literals: Sequence[Literal], given: Terms, shared: int | None) -> Iterator[Literal]:
    """Yield the literals. Raises `ValueError` where no order exists; analysis lets none through."""
    ordering = _Ordering(literals, shared)
    ordering.bind(names(given))
    for place in ordering.places():
        yield literals[place]


def names(terms: Iterable[object]) -> set[str]:
    """The names of the variables among some terms."""
    return {term for term in terms if isinstance(term, str)}


def gives(literal: Literal) -> set[str]:
    """What is bound once a literal was taken."""
    match literal:
        case Premise(terms=terms, negated=False):
            return names(terms)
        case Computation(result=result) | Summary(result=result):
            return names((result,))
        case _:
            return set()


def _needs(literal: Literal, bindable: set[str]) -> set[str]:
    match literal:
        case Premise(terms=terms, negated=negated):
            # A variable that nothing binds means "any" in a negated atom.
            return names(terms) & bindable if negated else set()
        case Computation(arguments=arguments):
            return names(arguments)
        case Summary(group=group):
            return names(group)
        case Same(left, right) | Condition(left=left, right=right):
            return names((left, right))


def _rank(literal: Literal, shared: int | None) -> int:
    match literal:
        case Premise(relation=relation) if relation == shared:
            # It cannot use what is bound, and the others can use what it binds.
            return 0
        case Same():
            return 0
        case Condition(operator=operator):
            return 5 if operator in {"match", "!match"} else 0
        case Computation(function=function):
            return 1 if function in _TOTAL else 5
        case Premise(negated=negated):
            return 2 if negated else 3
        case Summary():
            return 4


class _Ordering:
    """What is bound so far, and which literals wait for what."""

    def __init__(self, literals: Sequence[Literal], shared: int | None) -> None:
        bindable = set().union(*map(gives, literals)) if literals else set()
        self._literals = literals
        self._ranks = [_rank(literal, shared) for literal in literals]
        self._missing = [_needs(one, bindable) for one in literals]
        self._unbound = [gives(one) if isinstance(one, Premise) else set() for one in literals]
        self._readers: dict[str, list[int]] = {}
        self._ready: list[tuple[Rank, int]] = []
        self._bound: set[str] = set()
        for place, missing in enumerate(self._missing):
            for name in missing | self._unbound[place]:
                self._readers.setdefault(name, []).append(place)
            self._offer(place)

    def bind(self, new: set[str]) -> None:
        """Tell the literals that read these variables."""
        for name in new - self._bound:
            self._bound.add(name)
            for place in self._readers.pop(name, ()):
                self._missing[place].discard(name)
                self._unbound[place].discard(name)
                self._offer(place)

    def places(self) -> Iterator[int]:
        """Yield all places in order."""
        taken: set[int] = set()
        while self._ready:
            # The newest offer of a literal ranks it best and comes first; older ones are skipped.
            _, place = heapq.heappop(self._ready)
            if place not in taken:
                taken.add(place)
                self.bind(gives(self._literals[place]))
                yield place
        if len(taken) < len(self._literals):
            raise ValueError("a body without an order")

    def _offer(self, place: int) -> None:
        if not self._missing[place]:
            heapq.heappush(self._ready, ((self._ranks[place], self._cost(place)), place))

    def _cost(self, place: int) -> int:
        """How selective an atom is: fewer bound terms, more rows."""
        literal = self._literals[place]
        if isinstance(literal, Premise):
            return len(self._unbound[place]) - len(literal.terms)
        return 0


# A body keeps its meaning, and a shared relation is asked for all of its rows, whatever is bound.

Fold = Callable[[Aggregate, "Body"], Summary]


@slotted
class Body:
    """A conjunction under translation.

    `impossible` is set where two different constants are equated: nothing follows. `shared` is the
    relation that is asked for all of its rows only, where the rule is one of its own.
    """

    kinds: Mapping[str, Kind]
    places: Mapping[str, Place]
    constants: Constants
    shared: int | None = None
    literals: list[Literal] = field(default_factory=list)
    impossible: bool = False
    _equal: dict[str, Term] = field(default_factory=dict)
    _fresh: int = 0

    def translate(self, body: Iterable[LogicLiteral], fold: Fold) -> None:
        """Take all literals of a conjunction."""
        rest: list[LogicLiteral] = []
        for literal in body:
            match literal:
                case Comparison("=", Variable() | Constant(), Variable() | Constant()):
                    self._equate(self.simple(literal.left), self.simple(literal.right))
                case _:
                    rest.append(literal)
        for literal in rest:
            self._take(literal, fold)

    def _take(self, literal: LogicLiteral, fold: Fold) -> None:
        match literal:
            case Positive(atom):
                self.literals.append(self.premise(atom))
            case Negative(atom):
                premise = self.premise(atom)
                self.literals.append(Premise(premise.relation, premise.terms, negated=True))
            case Comparison("=", Apply() as left, right) | Comparison("=", right, Apply() as left):
                self._compute(left, self.simple(right))
            case Comparison(operator, left, right):
                kind = self.kind(left)
                test = Condition(operator, kind, self.simple(left), self.simple(right))
                self.literals.append(test)
            case Aggregate():
                self.literals.append(fold(literal, self))
            case _:
                assert_never(literal)

    def premise(self, atom: LogicAtom) -> Premise:
        """Translate an atom; what it computes becomes literals of its own."""
        return self.places[atom.predicate].premise([self.simple(term) for term in atom.terms])

    def simple(self, term: LogicTerm) -> Term:
        """Give a constant or a variable that has the value of a term."""
        match term:
            case Variable(name):
                return self._found(name)
            case Constant(value, kind):
                return self.constants.number(kind, value)
            case Apply():
                self._fresh += 1
                # A space: no variable of a program has such a name.
                result = f"computed {self._fresh}"
                self._compute(term, result)
                return result

    def kind(self, term: LogicTerm) -> Kind:
        """Give the kind of a term; analysis has found it."""
        kind = self.kinds[term.name] if isinstance(term, Variable) else term.kind
        if kind is None:
            raise TypeError("a function without a kind")
        return kind

    def _compute(self, term: Apply, result: Term) -> None:
        arguments = tuple(self.simple(one) for one in term.arguments)
        parameters = tuple(self.kind(one) for one in term.arguments)
        self.literals.append(
            Computation(term.function, parameters, self.kind(term), arguments, result)
        )

    def _found(self, name: str) -> Term:
        passed: list[str] = []
        term: Term = name
        while isinstance(term, str) and term in self._equal:
            passed.append(term)
            term = self._equal[term]
        # Shorten the path (Tarjan, 1975): a chain of equations may be as long as a file.
        self._equal.update(dict.fromkeys(passed, term))
        return term

    def _equate(self, left: Term, right: Term) -> None:
        """Solve an equation at once: a number stands for one value of one kind."""
        if left == right:
            return
        if isinstance(left, str):
            self._equal[left] = right
        elif isinstance(right, str):
            self._equal[right] = left
        else:
            self.impossible = True

    def ordered(self, given: Terms = ()) -> tuple[Literal, ...]:
        """Give the literals in an order in which each can be taken, with some terms bound."""
        found: list[Literal] = []
        bound = names(given)
        for literal in ordered(self.literals, given, self.shared):
            found.extend(self._in_full(literal, bound))
            bound |= gives(literal)
        return tuple(found)

    def _in_full(self, literal: Literal, bound: set[str]) -> Iterator[Literal]:
        """Ask the shared relation for all rows, and choose among them afterwards."""
        if not isinstance(literal, Premise) or literal.relation != self.shared:
            yield literal
            return
        terms: list[Term] = []
        equal: list[Same] = []
        for term in literal.terms:
            if isinstance(term, str) and term not in bound and term not in terms:
                terms.append(term)
            else:
                self._fresh += 1
                terms.append(f"computed {self._fresh}")
                equal.append(Same(terms[-1], term))
        yield Premise(literal.relation, tuple(terms))
        yield from equal


# What is let through has the same meaning in pyDatalog; the strata were checked by analysis.


def refusals(program: AnalysedProgram, names: Iterable[str]) -> list[Diagnostic]:
    """Give a diagnostic for each construct that is refused."""
    found = set(names)
    declared = (program.program.predicates.get(name) for name in sorted(found))
    given = [not_bound(one) for one in declared if one is not None and one.given]
    return [*given, *_rules(program, found), *_totals(program, found), *_inputs(program, found)]


def _rules(program: AnalysedProgram, names: set[str]) -> Iterator[Diagnostic]:
    for rule in program.rules:
        if rule.assumed and rule.head.predicate in names:
            yield Diagnostic(
                "C0420",
                f"pyDatalog takes no rule that is an assumption: `{rule.id}`",
                rule.span,
                label=_why(rule),
                note="its conclusions hold under an assumption, and pyDatalog knows no assumptions",
                help="leave `--engine` out: Constat's own engine lists the assumption",
            )


def _totals(program: AnalysedProgram, names: set[str]) -> Iterator[Diagnostic]:
    for rule in program.rules:
        for literal in rule.body if rule.head.predicate in names else ():
            if isinstance(literal, Aggregate) and literal.recursive:
                yield Diagnostic(
                    "C0283",
                    f"pyDatalog has no {literal.function} that runs through recursion",
                    literal.span or rule.span,
                    label=f"the rows of this {literal.function} depend on `{rule.head.predicate}`",
                    note="pyDatalog folds a relation once it is complete, and this one is not "
                    "complete without the result",
                    help="leave `--engine` out: Constat's own engine takes it as a threshold",
                )


def _why(rule: Rule) -> str:
    if rule.proposed:
        return "a model wrote this rule and nobody has approved it"
    return f"this rule has the confidence {rule.confidence:f}"


def _inputs(program: AnalysedProgram, names: set[str]) -> Iterator[Diagnostic]:
    for name, predicate in program.program.predicates.items():
        if name in names and name in program.external:
            required = _required(predicate)
            if predicate.source is not None and required:
                yield Diagnostic(
                    "C0421",
                    f"pyDatalog needs all rows of `{name}`, which answers for given values only",
                    predicate.source.span or predicate.span,
                    label=f"this input needs {required}",
                    note="pyDatalog is handed complete tables before it starts; it asks nothing",
                    help="leave `--engine` out: Constat's own engine asks for the values it needs",
                )


def _required(predicate: Predicate) -> str:
    parameters = {} if predicate.source is None else predicate.source.parameters
    names = [name.strip() for name in parameters.get("required", "").split(",")]
    return " and ".join(f"`{name}`" for name in names if name)


# The least model of the clauses, stratum by stratum, is that of the rules; what the goal does not
# depend on is left out. An aggregate becomes a relation of its assignments, which pyDatalog
# completes before it is folded.


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


def _used(body: Sequence[LogicLiteral]) -> list[str]:
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
