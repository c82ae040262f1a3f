"""The world with some facts more and some fewer, and values for what such facts leave open."""

from __future__ import annotations

from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, Component
from constat.evaluation import ABSENT, ACCEPTED, Demand, FillablePredicate, filled_externals
from constat.frozen import frozen, slotted
from constat.logic import (
    NIL,
    OPEN,
    Aggregate,
    Apply,
    Atom,
    Column,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    NullCell,
    Positive,
    Predicate,
    Rule,
    Variable,
    comparison,
    implementation,
    literal_variables,
    read_as,
)
from constat.logic.structures import example_of
from constat.proof.overlay import Overlay, Removal, overlaid
from constat.proof.symbolic import (
    Hole,
    Linear,
    UnsolvedError,
    choose,
    evaluated,
    is_value,
    show_condition,
)
from constat.proof.written import written_literal
from constat.syntax import print_literal, print_row, print_term
from constat.tiers import Chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.evaluation import Derivation, Engine, Externals, Limits, Outcome
    from constat.logic import Literal, Open, OpenRow, Row, Term, Value
    from constat.proof.suppositions import Demanded, Made, State, Supposed
    from constat.proof.symbolic import Cell, Condition

# Every answer is the engine's or a source's own in that world; nothing is computed here.

_GROUP: Final = "abduction.group"


@frozen
class Delta:
    """What is supposed: rows more, rows fewer."""

    added: frozenset[tuple[str, Row]] = frozenset()
    removed: frozenset[tuple[str, Row]] = frozenset()

    def overlay(self) -> Overlay:
        """Return it as an overlay."""
        removals = [Removal(name, _pattern(row)) for name, row in sorted(self.removed, key=str)]
        return Overlay(tuple(sorted(self.added, key=str)), tuple(removals))


@slotted
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
        outcome = self._outcome(predicate, row, delta)
        if _pattern(row) != row:
            return ACCEPTED if row in outcome.rows(predicate, ACCEPTED) else ABSENT
        return outcome.strength(self._atom(predicate, row))

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

    def leaves(self, predicate: str) -> frozenset[tuple[str, bool]]:
        """Name what comes from outside below a predicate, as `leaves_below` does."""
        key = ("leaves", predicate)
        if key not in self.known:
            own = {(predicate, True)} if predicate in self.program.external else set()
            self.known[key] = frozenset(own | {*leaves_below(self.program, predicate)})
        return self.known[key]  # type: ignore[return-value]  # as it was put there

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
        known = _pattern(shape)
        columns = tuple(place for place, slot in enumerate(known) if slot is not OPEN)
        key: Row = tuple(known[column] for column in columns)  # type: ignore[misc]  # ground
        declared = self.program.program.predicates[predicate]
        demand = Demand(declared, columns, (key,), self.limits.running())
        external = self._world(delta)[predicate]
        answer = external.answer(demand)
        if isinstance(external, FillablePredicate) and external.may_fill:
            answer = external.filled().answer(demand)
        if answer.conflicts and answer.openings:
            self.contradicted.add(predicate)
        rows = (row for portion in answer.portions for row in demand.clock.over(portion.rows))
        return [row for row in rows if known == shape or _matches(row, shape)]

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
                for place, (slot, kind) in enumerate(zip(_pattern(shape), kinds, strict=True))
            ),
        )

    def _evaluate(self, program: AnalysedProgram, goal: Atom, delta: Delta) -> Outcome:
        self.evaluations += 1
        world = self._world(delta)
        outcome = self.engine.evaluate(program, goal, world, self.limits)
        # What fills null cells counts for a goal that is open without it, as when it is decided.
        filled = None if outcome.strength(goal) >= ACCEPTED else filled_externals(world)
        if filled is None:
            return outcome
        return self.engine.evaluate(program, goal, filled, self.limits)

    def _world(self, delta: Delta) -> Externals:
        if not delta.added and not delta.removed:
            return self.externals
        key = ("world", delta)
        if key not in self.known:
            self.known[key] = overlaid(self.externals, self.program, delta.overlay())
        return self.known[key]  # type: ignore[return-value]  # as it was put there


def _pattern(shape: OpenRow) -> OpenRow:
    """Return a row as it is asked for and hidden: with nothing said of its null cells."""
    return tuple(OPEN if isinstance(slot, NullCell) else slot for slot in shape)


def leaves_below(program: AnalysedProgram, name: str) -> tuple[tuple[str, bool], ...]:
    """Name the predicates of outside that a conclusion rests on, however deep.

    With each comes whether more of it can mean more conclusions; below an odd number of negations
    it means fewer, and below an aggregate it is either.
    """
    found: dict[tuple[str, bool], None] = {}
    seen = {(name, True)}
    waiting = [(name, True)]
    while waiting:
        above, sign = waiting.pop(0)
        for rule in program.program.rules_for(above):
            for one, signs in _signed(rule.body):
                for same in {sign is each for each in signs}:
                    if one in program.external:
                        found[one, same] = None
                    if (one, same) not in seen:
                        seen.add((one, same))
                        waiting.append((one, same))
    return tuple(sorted(found))


def _signed(body: Iterable[Literal]) -> Iterator[tuple[str, tuple[bool, ...]]]:
    for literal in body:
        match literal:
            case Positive(atom):
                yield atom.predicate, (True,)
            case Negative(atom):
                yield atom.predicate, (False,)
            case Aggregate(body=inner):
                yield from ((one, (True, False)) for one, _ in _signed(inner))
            case _:
                pass


def _matches(row: Row, shape: OpenRow) -> bool:
    return all(slot is OPEN or slot == value for slot, value in zip(shape, row, strict=True))


# The values meet the conditions, and where any value would do, it is one that the source's rows do
# not have; a value that is forced is no variable any more.

# A number that no source is likely to have, where its rows are too many to look.
_UNUSUAL: Final = 900_000_000


@frozen
class Shown:
    """A fact to suppose: with variables for what may be chosen, conditions, and as it was tried."""

    fact: str
    conditions: tuple[str, ...]
    tried: str


@frozen
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
        demands = self.demands()
        shown = dict.fromkeys(
            self.shown(one, row, None if demands is None else demands.get(place, ()))
            for place, (one, row) in enumerate(pairs)
        )
        removed = tuple(
            print_row(self.predicates[name], _pattern(row))
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
            kind, is_free = self.state.kinds[hole], partial(self.is_free, one, place, hole)
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
        return {row[place] for row in rows if not isinstance(row[place], NullCell)} | chosen

    def is_free(self, one: Supposed, place: int, hole: int, value: Value) -> bool:
        """Tell whether nothing is against a value.

        No row has it in its key, beside what is known of the key, and no literal forbids it.
        """
        if not all(self.allows(each, hole, value) for each in self.state.demanded):
            return False
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

    def allows(self, one: Demanded, hole: int, value: Value) -> bool:
        """Tell whether a denied literal lets a value be; one that rests on other choices does."""
        atom = one.literal.atom
        cells = [evaluated(term, one.env, self.state.binding) for term in atom.terms]
        holes = {_hole(cell) for cell in cells if isinstance(cell, Hole | Linear)}
        plain = all(not isinstance(cell, Linear) or cell.plain for cell in cells)
        if hole not in holes or None in cells or not plain or isinstance(one.literal, Positive):
            return True
        values = {**self.values, hole: value}
        if not holes <= values.keys():
            return True
        row = tuple(
            values[_hole(cell)] if isinstance(cell, Hole | Linear) else cell for cell in cells
        )
        return self.worlds.strength(atom.predicate, row, self.state.delta) < ACCEPTED  # type: ignore[arg-type]  # values only

    def demands(self) -> Mapping[int, list[str]] | None:
        """Say what else has to hold of the values to be chosen, by the fact that has them.

        ``None`` where that cannot be said: then only the values that were tried are told.
        """
        added = enumerate(self.state.added)
        chosen = {place: one for place, one in added if OPEN in self.shape(one)}
        names = {one.predicate for one in chosen.values()}
        if not all(self.is_as_counted(one.literal, one.rows, chosen) for one in self.state.grouped):
            return None
        found: dict[int, list[str]] = {place: [] for place in chosen}
        for one in self.state.demanded if chosen else ():
            leaves = self.worlds.leaves(one.literal.atom.predicate)
            # More rows of these make it fail.
            signs = {leaf for leaf, more in leaves if more is isinstance(one.literal, Negative)}
            holes = self.holes(
                self.state.binding.follow(Hole(one.env[variable.name]))
                for variable in literal_variables(one.literal)
            )
            cells = {place: self.holes(self.cells(each)) for place, each in chosen.items()}
            about = [place for place in chosen if cells[place] & holes]
            if not about and not holes:
                about = [place for place, each in chosen.items() if each.predicate in signs]
            if not about and not (names & signs or holes):
                continue
            text = self.written(one)
            if text is None or not about:
                return None
            if text not in found[about[-1]]:
                found[about[-1]].append(text)
        return found

    def is_as_counted(self, literal: Aggregate, rows: int, chosen: Mapping[int, Supposed]) -> bool:
        """Tell whether an aggregate is made of the supposed rows that it was solved for."""
        names = [one.atom.predicate for one in literal.body if isinstance(one, Positive | Negative)]
        below = [{leaf for leaf, _ in self.worlds.leaves(name)} for name in names]
        met = [[one.predicate in leaves for leaves in below] for one in chosen.values()]
        readers = sum(map(any, zip(*met, strict=True)))
        return sum(map(any, met)) == rows if readers == 1 else not any(map(any, met))

    def cells(self, one: Supposed) -> Iterator[Cell]:
        return map(self.state.binding.follow, one.cells)

    def holes(self, cells: Iterable[Cell]) -> set[int]:
        """Return what is chosen in cells, parts of structures included."""
        found: set[int] = set()
        waiting = [cell for cell in cells if not is_value(cell)]
        while waiting:
            cell = waiting.pop()
            hole = cell.number if isinstance(cell, Hole) else cell.hole  # type: ignore[union-attr]  # no value
            if hole not in found:
                found.add(hole)
                parts = self.made[hole].parts if hole in self.made else ()
                followed = map(self.state.binding.follow, parts)
                waiting += [part for part in followed if not is_value(part)]
        return found

    def written(self, one: Demanded) -> str | None:
        """Write a literal with what its variables stand for; ``None`` where that has no name."""
        atom = one.literal.atom
        try:
            terms = tuple(self.term(term, one.env) for term in atom.terms)
        except UnsolvedError:
            return None
        program = self.worlds.program.program
        literal = written_literal(program, replace(one.literal, atom=replace(atom, terms=terms)))
        if not isinstance(literal, Positive | Negative) or any(
            isinstance(term, Apply) for term in literal.atom.terms
        ):
            return print_literal(literal, self.predicates)
        # As facts are written, that stand beside it.
        predicate = self.predicates[literal.atom.predicate]
        columns = tuple(
            replace(column, name=term.name) if isinstance(term, Variable) else column
            for column, term in zip(predicate.columns, literal.atom.terms, strict=True)
        )
        row = (term.value if isinstance(term, Constant) else OPEN for term in literal.atom.terms)
        text = print_row(replace(predicate, columns=columns), tuple(row))
        return f"!{text}" if isinstance(literal, Negative) else text

    def term(self, term: Term, env: Mapping[str, int]) -> Term:
        match term:
            case Variable(name=name):
                cell = self.state.binding.follow(Hole(env[name]))
                if isinstance(cell, NullCell):
                    raise UnsolvedError("a literal about a value that nobody knows")
                if is_value(cell):
                    return Constant(cell, self.state.kinds[env[name]])  # type: ignore[arg-type]  # a value
                if _hole(cell) not in self.names:
                    raise UnsolvedError("a value that no fact shows")
                return Variable(self.names[_hole(cell)])
            case Constant(value=NullCell()):
                raise UnsolvedError("a literal about a value that nobody knows")
            case Apply():
                return replace(term, arguments=tuple(self.term(one, env) for one in term.arguments))
            case _:
                return term

    def shown(self, one: Supposed, row: Row, demands: Iterable[str] | None) -> Shown:
        """Write a fact with variables, its conditions, and as it is tried.

        Without what else it demands, only the values that were tried are told.
        """
        predicate = self.predicates[one.predicate]
        if demands is None:
            return Shown(print_row(predicate, row), (), print_row(predicate, row))
        columns = list(predicate.columns)
        conditions: dict[str, None] = {}
        for place, cell in enumerate(one.cells):
            followed = self.state.binding.follow(cell)
            if is_value(followed):
                continue
            hole = _hole(followed)
            columns[place] = replace(columns[place], name=self.names[hole])
            conditions.update(dict.fromkeys(self.told(hole)))
        conditions.update(dict.fromkeys(demands))
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
