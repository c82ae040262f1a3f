"""The world with some facts more and some fewer, and values for what such facts leave open."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, Component
from constat.evaluation import ACCEPTED, Demand
from constat.logic import (
    NIL,
    OPEN,
    Apply,
    Atom,
    Column,
    Constant,
    EvaluationError,
    Kind,
    Predicate,
    Rule,
    Variable,
    comparison,
    implementation,
    read_as,
)
from constat.logic.structures import example_of
from constat.proof.overlay import Overlay, Removal, overlaid
from constat.proof.symbolic import Hole, Linear, UnsolvedError, choose, is_value, show_condition
from constat.syntax import print_row, print_term
from constat.tiers import Chain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.evaluation import Derivation, Engine, Externals, Limits, Outcome
    from constat.logic import Aggregate, Literal, Open, OpenRow, Row, Value
    from constat.proof.suppositions import Made, State, Supposed
    from constat.proof.symbolic import Cell, Condition

# Every answer is the engine's or a source's own in that world; nothing is computed here.

_GROUP: Final = "abduction.group"


@dataclass(frozen=True, slots=True)
class Delta:
    """What is supposed: rows more, rows fewer."""

    added: frozenset[tuple[str, Row]] = frozenset()
    removed: frozenset[tuple[str, Row]] = frozenset()

    def overlay(self) -> Overlay:
        """Return it as an overlay."""
        removals = sorted(self.removed, key=str)
        return Overlay(tuple(sorted(self.added, key=str)), tuple(Removal(*one) for one in removals))


@dataclass(slots=True)
class Worlds:
    """Answers questions about worlds, each question once.

    ``contradicted`` names predicates of which tiers say what cannot be true at once.
    """

    engine: Engine
    program: AnalysedProgram
    externals: Externals
    limits: Limits
    evaluations: int = 0
    known: dict[object, object] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)

    def rows(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        """Return the rows that match a shape: those of sources, and conclusions."""
        key = (predicate, shape, delta)
        if key not in self.known:
            found = dict.fromkeys(self._told(predicate, shape, delta))
            if self._is_derived(predicate):
                found.update(dict.fromkeys(self._concluded(predicate, shape, delta)))
            over = self.limits.running().over
            self.known[key] = [row for row in over(found) if _matches(row, shape)]
        return self.known[key]  # type: ignore[return-value]  # as it was put there

    def key(self, predicate: str) -> tuple[int, ...] | None:
        """Return the columns in which a row must differ from others to count beside them."""
        chain = self.externals.get(predicate)
        return chain.key if isinstance(chain, Chain) else None

    def told(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        """Return the rows of sources that match a shape, without those that are supposed."""
        found = self._told(predicate, shape, delta)
        return [row for row in found if (predicate, row) not in delta.added]

    def strength(self, predicate: str, row: Row, delta: Delta) -> int:
        """Return how strongly a ground row holds."""
        return self._outcome(predicate, row, delta).strength(self._atom(predicate, row))

    def derivation(self, predicate: str, row: Row, delta: Delta) -> Derivation | None:
        """Return one derivation of a row that holds."""
        try:
            return self._outcome(predicate, row, delta).derivation(predicate, row, ACCEPTED)
        except KeyError:
            return None

    def proves(self, goal: Atom, delta: Delta) -> bool:
        """Tell whether a goal holds in a world, assumptions accepted."""
        outcome = self._evaluate(self.program, goal, delta)
        return outcome.strength(goal) >= ACCEPTED

    def group(self, aggregate: Aggregate, kinds: dict[str, Kind], delta: Delta) -> list[Row]:
        """Return the value of an aggregate whose outer variables have been replaced by values."""
        result = aggregate.result
        head = Atom(_GROUP, (result,))
        plain = replace(aggregate, recursive=False)
        return self._asked(head, (plain,), kinds, delta)

    def assignments(
        self,
        body: tuple[Literal, ...],
        names: tuple[str, ...],
        kinds: dict[str, Kind],
        delta: Delta,
    ) -> list[Row]:
        """Return the values of variables under which a body holds."""
        head = Atom(_GROUP, tuple(Variable(name) for name in names))
        return self._asked(head, body, kinds, delta)

    def _asked(
        self, head: Atom, body: tuple[Literal, ...], kinds: dict[str, Kind], delta: Delta
    ) -> list[Row]:
        key = (head, body, delta)
        if key not in self.known:
            program = self._with_rule(head, body, kinds)
            outcome = self._evaluate(program, head, delta)
            found = [row for row in outcome.rows(_GROUP, ACCEPTED) if OPEN not in row]
            self.known[key] = found
        return self.known[key]  # type: ignore[return-value]  # as it was put there

    def _with_rule(
        self, head: Atom, body: tuple[Literal, ...], kinds: dict[str, Kind]
    ) -> AnalysedProgram:
        columns = tuple(
            Column(term.name, kinds[term.name].value, kinds[term.name])
            for term in head.terms
            if isinstance(term, Variable)
        )
        base = self.program
        rules = (*base.rules, Rule(f"{_GROUP}.1", head, body))
        predicates = {**base.program.predicates, _GROUP: Predicate(_GROUP, columns)}
        return AnalysedProgram(
            replace(base.program, predicates=predicates, rules=rules),
            rules,
            (*base.variable_kinds, kinds),
            (*base.components, Component((_GROUP,), recursive=False)),
            base.external,
        )

    def _is_derived(self, predicate: str) -> bool:
        return any(rule.head.predicate == predicate for rule in self.program.rules)

    def _told(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        if predicate not in self.program.external:
            return []
        columns = tuple(place for place, slot in enumerate(shape) if slot is not OPEN)
        key: Row = tuple(shape[column] for column in columns)  # type: ignore[misc]  # ground
        declared = self.program.program.predicates[predicate]
        demand = Demand(declared, columns, (key,), self.limits.running())
        answer = self._world(delta)[predicate].answer(demand)
        if answer.conflicts and answer.openings:
            self.contradicted.add(predicate)
        return [row for portion in answer.portions for row in demand.clock.over(portion.rows)]

    def _concluded(self, predicate: str, shape: OpenRow, delta: Delta) -> list[Row]:
        outcome = self._outcome(predicate, shape, delta)
        rows = outcome.rows(predicate, ACCEPTED)
        return [row for row in rows if OPEN not in row]  # type: ignore[misc]  # ground

    def _outcome(self, predicate: str, shape: OpenRow, delta: Delta) -> Outcome:
        key = ("outcome", predicate, shape, delta)
        if key not in self.known:
            atom = self._atom(predicate, shape)
            self.known[key] = self._evaluate(self.program, atom, delta)
        return self.known[key]  # type: ignore[return-value]  # as it was put there

    def _atom(self, predicate: str, shape: OpenRow) -> Atom:
        kinds = self.program.program.predicates[predicate].kinds
        return Atom(
            predicate,
            tuple(
                Variable(f"c{place}") if slot is OPEN else Constant(slot, kind)
                for place, (slot, kind) in enumerate(zip(shape, kinds, strict=True))
            ),
        )

    def _evaluate(self, program: AnalysedProgram, goal: Atom, delta: Delta) -> Outcome:
        self.evaluations += 1
        return self.engine.evaluate(program, goal, self._world(delta), self.limits)

    def _world(self, delta: Delta) -> Externals:
        if not delta.added and not delta.removed:
            return self.externals
        key = ("world", delta)
        if key not in self.known:
            self.known[key] = overlaid(self.externals, self.program, delta.overlay())
        return self.known[key]  # type: ignore[return-value]  # as it was put there


def _matches(row: Row, shape: OpenRow) -> bool:
    return all(slot is OPEN or slot == value for slot, value in zip(shape, row, strict=True))


# The values meet the conditions, and where any value would do, it is one that the source's rows do
# not have; a value that is forced is no variable any more.

# A number that no source is likely to have, where its rows are too many to look.
_UNUSUAL: Final = 900_000_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A fact to suppose: with variables for what may be chosen, conditions, and as it was tried."""

    fact: str
    conditions: tuple[str, ...]
    tried: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A set of facts; ``shapes`` are what is compared between sets.

    ``rows`` are the values of what a state adds, in its order.
    """

    delta: Delta
    rows: tuple[Row, ...]
    added: tuple[Shown, ...]
    removed: tuple[str, ...]
    shapes: frozenset[tuple[str, str]]


def witnesses(state: State, worlds: Worlds) -> Chosen:
    """Choose values; raises `UnsolvedError` where none are found."""
    return _Choosing(state, worlds).chosen()


class _Choosing:
    """Chooses the values of one state."""

    def __init__(self, state: State, worlds: Worlds) -> None:
        self.state = state
        self.worlds = worlds
        self.predicates = worlds.program.program.predicates
        self.values: dict[int, Value] = {}
        self.names: dict[int, str] = {}
        self.made = {one.hole: one for one in state.made}
        self.making: set[int] = set()

    def chosen(self) -> Chosen:
        """Choose for every fact, then write them."""
        if any(hole in self.state.bound for hole in self.made):
            raise UnsolvedError("a structure that is made of parts and given as a whole")
        rows = [self.row(one) for one in self.state.added]
        pairs = list(zip(self.state.added, rows, strict=True))
        shown = dict.fromkeys(self.shown(one, row) for one, row in pairs)
        removed = tuple(
            print_row(self.predicates[name], row)
            for name, row in sorted(self.state.removed, key=str)
        )
        delta = Delta(frozenset((one.predicate, row) for one, row in pairs), self.state.removed)
        shapes = {("add", one.fact) for one in shown} | {("remove", text) for text in removed}
        return Chosen(delta, tuple(rows), tuple(shown), removed, frozenset(shapes))

    def row(self, one: Supposed) -> Row:
        """Return a fact with all its values."""
        return tuple(
            self.value(one, place, self.state.binding.follow(cell))
            for place, cell in enumerate(one.cells)
        )

    def value(self, one: Supposed, place: int, cell: Cell) -> Value:
        if is_value(cell):
            return cell  # type: ignore[return-value]  # a value
        hole = _hole(cell)
        if hole not in self.values and hole in self.made:
            column = self.predicates[one.predicate].columns[place]
            self.names[hole] = self.name(column.name)
            return self.whole(self.made[hole], column)
        if hole not in self.values:
            conditions = self.conditions(hole)
            others = _examples(self.predicates[one.predicate].columns[place])
            taken = self.taken(one, place)
            kind, is_free = self.state.kinds[hole], partial(self.is_free, one, place)
            self.values[hole] = choose(kind, conditions, taken, others, is_free)
            self.names[hole] = self.name(self.predicates[one.predicate].columns[place].name)
        return self.values[hole]

    def whole(self, made: Made, column: Column | None) -> Value:
        """Make a structure of parts that are chosen; the column tells their types."""
        if made.hole in self.making:
            raise UnsolvedError("a structure that would be a part of itself")
        self.making.add(made.hole)
        parts = [self.part(made, place, column) for place in range(len(made.parts))]
        try:
            value = implementation(made.constructor, made.kinds, Kind.STRUCTURE)(*parts)
        except EvaluationError as problem:
            raise UnsolvedError(str(problem)) from None
        for one in self.conditions(made.hole):
            if not comparison(one.operator, Kind.STRUCTURE)(value, one.bound):
                raise UnsolvedError("a structure of which no parts were found")
        self.values[made.hole] = value
        return value

    def part(self, made: Made, place: int, column: Column | None) -> Value:
        """Choose a part of a structure."""
        followed = self.state.binding.follow(made.parts[place])
        if is_value(followed):
            return followed  # type: ignore[return-value]  # a value
        hole, field = _hole(followed), _field(made, place, column)
        if hole not in self.values:
            self.names[hole] = self.name(made.names[place] or "value")
            if hole in self.made:
                return self.whole(self.made[hole], field)
            others = () if field is None else _examples(field)
            taken = set(self.values.values())
            found = choose(made.kinds[place], self.conditions(hole), taken, others)
            self.values[hole] = found
        return self.values[hole]

    def conditions(self, hole: int) -> list[Condition]:
        """Return what a value to be chosen has to meet."""
        return [known for known in self.state.conditions if known.hole == hole]

    def taken(self, one: Supposed, place: int) -> set[Value]:
        """Return the values that rows like this one have in a column, and that are chosen."""
        chosen = set(self.values.values())
        shape = self.shape(one)
        if all(slot is OPEN for slot in shape):
            return {_UNUSUAL, *chosen}
        rows = self.worlds.rows(one.predicate, shape, self.state.delta)
        return {row[place] for row in rows} | chosen

    def is_free(self, one: Supposed, place: int, value: Value) -> bool:
        """Tell whether no row has this value in its key, beside what is known of the key."""
        key = self.worlds.key(one.predicate)
        if key is None or place not in key:
            return True
        cells = (self.known(self.state.binding.follow(cell)) for cell in one.cells)
        shape = tuple(
            value if at == place else cell if at in key else OPEN for at, cell in enumerate(cells)
        )
        return not self.worlds.told(one.predicate, shape, self.state.delta)

    def known(self, cell: Cell) -> Value | Open:
        """Return the value of a cell where it has one by now."""
        if is_value(cell):
            return cell  # type: ignore[return-value]  # a value
        return self.values.get(_hole(cell), OPEN)

    def shape(self, one: Supposed) -> OpenRow:
        cells = (self.state.binding.follow(cell) for cell in one.cells)
        return tuple(cell if is_value(cell) else OPEN for cell in cells)  # type: ignore[misc]

    def name(self, wanted: str) -> str:
        """Name a value after its column or variable; a second of that name gets a number."""
        name, number = wanted, 1
        while name in self.names.values():
            number += 1
            name = f"{wanted}_{number}"
        return name

    def shown(self, one: Supposed, row: Row) -> Shown:
        """Write a fact with variables, its conditions, and as it is tried."""
        predicate = self.predicates[one.predicate]
        columns = list(predicate.columns)
        conditions: dict[str, None] = {}
        for place, cell in enumerate(one.cells):
            followed = self.state.binding.follow(cell)
            if is_value(followed):
                continue
            hole = _hole(followed)
            columns[place] = replace(columns[place], name=self.names[hole])
            conditions.update(dict.fromkeys(self.told(hole)))
        named: Predicate = replace(predicate, columns=tuple(columns))
        return Shown(
            print_row(named, self.shape(one)), tuple(conditions), print_row(predicate, row)
        )

    def told(self, hole: int) -> Iterator[str]:
        """Say what a value to be chosen has to meet, and what a structure is made of."""
        waiting = [hole]
        while waiting:
            one = waiting.pop(0)
            for known in self.conditions(one):
                yield show_condition(known, self.state.kinds[one], self.names[one])
            made = self.made.get(one)
            if made is None:
                continue
            parts = [self.state.binding.follow(cell) for cell in made.parts]
            waiting += [_hole(cell) for cell in parts if not is_value(cell)]
            terms = [
                Constant(cell, kind) if is_value(cell) else Variable(self.names[_hole(cell)])  # type: ignore[arg-type]  # a value
                for cell, kind in zip(parts, made.kinds, strict=True)
            ]
            pattern = Apply(made.constructor, tuple(terms), Kind.STRUCTURE)
            yield f"?{self.names[one]} = {print_term(pattern)}"


def _field(made: Made, place: int, column: Column | None) -> Column | None:
    """Return the column of a field, where the type of the structure is known."""
    if column is None or column.structures is None:
        return None
    branch = column.structures.branch(column.type_name, made.constructor)
    return None if branch is None else branch.fields[place]


def _examples(column: Column) -> tuple[Value, ...]:
    """Return values of a structure's type; those of other kinds need none."""
    if column.kind is not Kind.STRUCTURE:
        return ()
    text = example_of(column)
    records = column.structures is not None and column.structures.is_record(column.type_name)
    texts = [*([text] if text else []), *([NIL] if records else [])]
    return tuple(read_as(one, column) for one in texts)


def _hole(cell: Cell) -> int:
    match cell:
        case Hole(number=number):
            return number
        case Linear(hole=hole, plain=True):
            return hole
        case _:
            raise UnsolvedError("a supposed row with a value that is made of another")
