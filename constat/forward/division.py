"""Which predicates are computed in bulk, and which the goal-directed engine has to look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from constat.analysis import AnalysedProgram, Component
from constat.evaluation import Range
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Comparison,
    Constant,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
)
from constat.plan.compilation import predicates_of, rules_by_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Literal, Row, Value

# A row outside of the demand matches no atom that anybody reads, so without it every relation is
# the same; also where the atom is negated or aggregated over.

MOST_KEYS: Final = 100


@frozen
class Restriction:
    """The columns that are constants in every use, their values, and ranges that all uses share."""

    columns: tuple[int, ...] = ()
    keys: tuple[Row, ...] = ((),)
    ranges: tuple[Range, ...] = ()

    def covers(self, other: Restriction) -> bool:
        """Tell whether all that the other one asks for is asked for here."""
        if not set(self.ranges) <= set(other.ranges):
            return False
        same = self.columns == other.columns and set(self.keys) >= set(other.keys)
        return same or not self.columns

    @property
    def narrowed(self) -> tuple[Range, ...]:
        """The ranges, and the constants of a single key."""
        if len(self.keys) != 1:
            return self.ranges
        pairs = zip(self.columns, self.keys[0], strict=True)
        return (*(Range(column, "=", value) for column, value in pairs), *self.ranges)


EVERYTHING: Final = Restriction()


@slotted
class _Uses:
    """The constants of the atoms of one predicate; `columns` are those that all atoms bind."""

    columns: frozenset[int]
    atoms: list[Atom] = field(default_factory=list)
    ranges: frozenset[Range] | None = None

    def restriction(self) -> Restriction:
        """Give the narrowest demand for all atoms."""
        columns = tuple(sorted(self.columns))
        keys = dict.fromkeys(
            tuple(term.value for n in columns if isinstance(term := atom.terms[n], Constant))
            for atom in self.atoms
        )
        ranges = tuple(sorted(self.ranges or (), key=repr))
        if columns and len(keys) <= MOST_KEYS:
            return Restriction(columns, tuple(keys), ranges)
        return Restriction(ranges=ranges)


def restrictions(
    program: AnalysedProgram, derived: Collection[str], wanted: Iterable[Atom]
) -> dict[str, Restriction]:
    """Give the demand for each predicate that the rules of `derived` and the wanted atoms use."""
    found: dict[str, _Uses] = {}
    nothing: _Bounds = {}
    atoms: list[tuple[Atom, _Bounds]] = [(atom, nothing) for atom in wanted]
    for rule in program.rules:
        if rule.head.predicate in derived:
            bounds = _bounds(rule.body, nothing)
            for literal in rule.body:
                atoms += _atoms(literal, bounds)
            # A given predicate that rules derive too is read as a whole: what is given is part.
            found[rule.head.predicate] = _Uses(frozenset(), ranges=frozenset())
    for atom, bounds in atoms:
        constants = frozenset(n for n, term in enumerate(atom.terms) if isinstance(term, Constant))
        uses = found.setdefault(atom.predicate, _Uses(constants))
        uses.columns &= constants
        ranges = frozenset(_ranges(atom, bounds))
        uses.ranges = ranges if uses.ranges is None else uses.ranges & ranges
        uses.atoms.append(atom)
    return {name: uses.restriction() for name, uses in found.items()}


_Bounds: TypeAlias = "Mapping[str, tuple[tuple[str, Value], ...]]"
"""For variables of a body: operators, and the constants that they are compared with."""
_TURNED: Final = MappingProxyType({"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="})


def _bounds(body: Iterable[Literal], outer: _Bounds) -> _Bounds:
    """Give what comparisons with constants say of variables, besides what is said around them.

    A false comparison decides a body whatever else is in it, also where that errs or is open.
    """
    found = {name: list(given) for name, given in outer.items()}
    for literal in body:
        if isinstance(literal, Comparison) and literal.operator in _TURNED:
            left, right, operator = literal.left, literal.right, literal.operator
            if isinstance(left, Constant):
                left, right, operator = right, left, _TURNED[operator]
            if isinstance(left, Variable) and isinstance(right, Constant):
                found.setdefault(left.name, []).append((operator, right.value))
    return {name: tuple(given) for name, given in found.items()}


def _ranges(atom: Atom, bounds: _Bounds) -> Iterator[Range]:
    for column, term in enumerate(atom.terms):
        if isinstance(term, Variable):
            for operator, value in bounds.get(term.name, ()):
                yield Range(column, operator, value)


def _atoms(literal: Literal, bounds: _Bounds) -> Iterator[tuple[Atom, _Bounds]]:
    match literal:
        case Positive(atom) | Negative(atom):
            yield atom, bounds
        case Aggregate(body=body):
            for inner in body:
                yield from _atoms(inner, _bounds(body, bounds))
        case _:
            return


@frozen
class Division:
    """How a program is divided.

    `bulk` are the atoms to compute in bulk: the wanted ones that are closed or graded, then those
    of the `frontier`, the closed derived predicates that the reference engine reads. `given` are
    the predicates from outside that they rest on, `restrictions` say which of their rows, `below`
    are all predicates they rest on. `open_rules` are the predicates whose rules are left to the
    reference engine.
    """

    bulk: tuple[Atom, ...]
    open_wanted: tuple[Atom, ...]
    frontier: tuple[str, ...]
    given: frozenset[str]
    below: frozenset[str]
    open_rules: frozenset[str]
    restrictions: Mapping[str, Restriction] = field(default_factory=dict, hash=False)


def divide(
    program: AnalysedProgram,
    wanted: Sequence[Atom],
    opened: Collection[str],
    doubtful: Collection[str] = (),
) -> Division:
    """Divide a program.

    `opened` are left to the reference engine by themselves, `doubtful` are not closed.
    """
    uses = used_by_head(program)
    open_names = dependents(uses, opened)
    # What is graded for one wanted atom is the reference engine's own for another.
    unsettled = dependents(uses, {*opened, *doubtful, *assumed_heads(program)})
    open_wanted = tuple(atom for atom in wanted if atom.predicate in open_names)
    read = _reached({atom.predicate for atom in open_wanted}, uses, unsettled)
    open_rules = frozenset(read & unsettled)
    frontier = tuple(sorted(name for name in read - unsettled if name in uses))
    bulk = [atom for atom in wanted if atom.predicate not in open_names]
    bulk += [free_atom(program.program.predicates[name]) for name in frontier]
    below = frozenset(_reached({atom.predicate for atom in bulk}, uses, set(uses)))
    given = below & program.external
    every = restrictions(program, below, bulk)
    needed = {name: every.get(name, EVERYTHING) for name in given}
    return Division(tuple(bulk), open_wanted, frontier, given, below, open_rules, needed)


def assumed_heads(program: AnalysedProgram) -> set[str]:
    """Name the predicates that a rule derives under an assumption."""
    return {rule.head.predicate for rule in program.rules if rule.assumed}


def used_by_head(program: AnalysedProgram) -> dict[str, frozenset[str]]:
    """Give for each derived predicate those that its rules read."""
    return {
        name: frozenset(
            used
            for number in numbers
            for literal in program.rules[number].body
            for used in predicates_of(literal)
        )
        for name, numbers in rules_by_head(program).items()
    }


def dependents(uses: Mapping[str, frozenset[str]], names: Iterable[str]) -> set[str]:
    """Give the names and every derived predicate that rests on one of them."""
    readers: dict[str, list[str]] = {}
    for head, used in uses.items():
        for name in used:
            readers.setdefault(name, []).append(head)
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += readers.get(name, ())
    return found


def _reached(
    names: Iterable[str], uses: Mapping[str, frozenset[str]], through: Collection[str]
) -> set[str]:
    """Give the names and what their rules read, following the rules of `through` only."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            if name in through:
                waiting += uses.get(name, ())
    return found


def free_atom(predicate: Predicate) -> Atom:
    """Give the atom that asks for every row of a predicate."""
    return Atom(predicate.name, tuple(Variable(f"v{place}") for place in range(predicate.arity)))


def over_stored(
    program: AnalysedProgram, kept: Collection[str], stored: Mapping[str, str]
) -> AnalysedProgram:
    """Give the program of the rules of `kept`, over relations that are stored.

    `stored` names, for each predicate that is computed already, the external predicate that holds
    its rows. Under a name of its own the predicate stays derived, by one rule that copies: an
    engine then asks for it exactly as it would if its own rules were there.
    """
    copied = {name: other for name, other in stored.items() if other != name}
    numbers = [n for n, rule in enumerate(program.rules) if rule.head.predicate in kept]
    predicates = dict(program.program.predicates)
    rules = [program.rules[number] for number in numbers]
    kinds = [program.variable_kinds[number] for number in numbers]
    for name, other in copied.items():
        declared = predicates[name]
        predicates[other] = Predicate(other, _plain(declared.columns))
        atom = free_atom(declared)
        rules.append(Rule(f"{other}.1", atom, (Positive(replace(atom, predicate=other)),)))
        kinds.append({f"v{place}": kind for place, kind in enumerate(declared.kinds)})
    external = {*(program.external & set(kept)), *stored.values()}
    external |= {
        used
        for number in numbers
        for literal in program.rules[number].body
        for used in predicates_of(literal)
        if used in program.external and used not in stored
    }
    return AnalysedProgram(
        replace(program.program, predicates=predicates, rules=tuple(rules)),
        tuple(rules),
        tuple(kinds),
        tuple(_components(program, kept, copied)),
        frozenset(external),
    )


def _plain(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(replace(column, attributes={}) for column in columns)


def _components(
    program: AnalysedProgram, kept: Collection[str], copied: Collection[str]
) -> Iterable[Component]:
    for component in program.components:
        yield from (Component((p,), recursive=False) for p in component.predicates if p in copied)
        if all(name in kept for name in component.predicates):
            yield component
