"""The ways in which the body of a rule can hold, where some of its premises are not certain.

In: a body, and the grades of the predicates that it reads. Out: a `Way` for each choice of a grade
for each literal: a body over closed relations, the strength of its instances, and the variables
that hold a placeholder. Invariants (semantics 7 and 8): an instance has the least strength of its
premises; `!q(k)` mirrors the strength of `q(k)`, which is the greatest that any row has; whatever
reads a placeholder is possible and says nothing more.

What the reference engine says of a placeholder that meets another literal depends on the order in
which it takes the literals. `Unfit` says so, and the predicate is left to it; see `placeholders`.

Example: where `risk` has rows of strength 1 beside its certain ones, the body
`customer(?c), !risk(?c)` holds in two ways: with `!risk(?c), !risk.possible(?c)` for certain, and
with `risk.possible(?c), !risk(?c)` possibly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.forward.grades import Grade, graded_atom
from constat.logic import (
    Aggregate,
    Atom,
    Comparison,
    Literal,
    Negative,
    Positive,
    Predicate,
    Variable,
    literal_variables,
    term_variables,
)

MOST_WAYS: Final = 128
_STRENGTHS: Final = (CONCEIVABLE, POSSIBLE, ACCEPTED)


class UnfitError(Exception):
    """A predicate cannot be computed in bulk as long as something is open; the text says why."""


@dataclass(frozen=True, slots=True)
class Graded:
    """The predicates of a program, and the grades of those that are not closed."""

    predicates: Mapping[str, Predicate]
    grades: Mapping[str, tuple[Grade, ...]]

    def of(self, name: str) -> tuple[Grade, ...]:
        """Give the grades of a predicate: none where it is closed."""
        return self.grades.get(name, ())

    def atom(self, grade: Grade, atom: Atom) -> Atom:
        """Give the atom that reads a grade."""
        return graded_atom(self.predicates[atom.predicate], grade, atom)


@dataclass(frozen=True, slots=True)
class Doubt:
    """What an aggregate says of a group that is not certain.

    `touched` has an atom for each grade of the groups with uncertain members; an open column is
    one whose value does not matter. `accepted` is the aggregate over what holds once assumptions
    are accepted.
    """

    touched: Mapping[Grade, Atom]
    accepted: Aggregate


@dataclass(frozen=True, slots=True)
class Opened:
    """A literal of a way over rows with open columns, and the variables that stand there."""

    literal: Literal
    names: frozenset[str]

    @property
    def every(self) -> frozenset[str]:
        """All variables of the literal as it was written."""
        return self.names | {one.name for one in literal_variables(self.literal)}


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a body can hold.

    `open` are the variables that hold a placeholder, `met` those that an open row leaves open and
    another literal binds. `whole` are the open rows of which every column is known here. `opened`
    are the literals that placeholders come from, `every` the literals as they were written.
    """

    literals: tuple[Literal, ...] = ()
    strength: int = CERTAIN
    known: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()
    whole: tuple[tuple[Grade, Atom], ...] = ()
    opened: tuple[Opened, ...] = ()
    every: tuple[Literal, ...] = ()

    def taking(self, strength: int, *literals: Literal) -> Way:
        """Give the way with more literals, at most as strong as they are."""
        return replace(
            self,
            literals=(*self.literals, *literals),
            strength=min(self.strength, strength),
        )

    def opening(self, literal: Literal, *names: str) -> Way:
        """Give the way with variables that a literal of it leaves open."""
        return replace(self, opened=(*self.opened, Opened(literal, frozenset(names))))

    def binding(self, name: str, *, is_open: bool) -> Way:
        """Give the way with a variable bound to a value, or to a placeholder."""
        if not is_open:
            return replace(self, known=self.known | {name})
        if name in self.known:
            return replace(self, met=self.met | {name})
        return replace(self, open=self.open | {name})


@dataclass(frozen=True, slots=True)
class Body:
    """A body to expand.

    `start` are the variables that are known before it, `doubts` what is said of its aggregates, by
    place; `erring` has for a place the atom that holds where its expressions err (semantics 9).
    With `distinct` a row counts in one grade only, its greatest: so the members of a group are told
    apart.
    """

    literals: Sequence[Literal]
    graded: Graded
    start: frozenset[str] = frozenset()
    doubts: Mapping[int, Doubt] = field(default_factory=dict)
    distinct: bool = False
    erring: Mapping[int, Atom] = field(default_factory=dict)

    def ways(self) -> list[Way]:
        """Give all ways. Raises `UnfitError` where they are too many."""
        ways = [Way(known=self.start, every=tuple(self.literals))]
        for literal in self.literals:
            if isinstance(literal, Positive):
                ways = _few(way for one in ways for way in self._positive(one, literal.atom))
        ways = [self._settled(one) for one in ways]
        for place in self._order():
            ways = _few(way for one in ways for way in self._further(one, place))
        return ways

    def _positive(self, way: Way, atom: Atom) -> Iterator[Way]:
        names = frozenset(term.name for term in atom.terms if isinstance(term, Variable))
        yield replace(way.taking(CERTAIN, Positive(atom)), known=way.known | names)
        for grade in self.graded.of(atom.predicate):
            shown = self.graded.atom(grade, atom)
            known = frozenset(one.name for one in shown.terms if isinstance(one, Variable))
            found = way.taking(grade.strength, Positive(shown))
            if not grade.open and self.distinct:
                found = found.taking(CERTAIN, *self._stronger(atom, grade.strength))
            if grade.open:
                found = replace(found, whole=(*found.whole, (grade, atom)))
            opened = names - known
            if grade.open:
                found = found.opening(Positive(shown), *opened)
            yield replace(found, known=way.known | known, open=way.open | opened)

    def _stronger(self, atom: Atom, strength: int) -> Iterator[Negative]:
        """Say that a row has no greater strength."""
        yield Negative(atom)
        for grade in self.graded.of(atom.predicate):
            if grade.strength > strength and not grade.open:
                yield Negative(self.graded.atom(grade, atom))

    def _settled(self, way: Way) -> Way:
        """Settle which variables are open once all positive literals are taken."""
        equal = [one for one in self.literals if isinstance(one, Comparison)]
        pinned = way.known | {name for one in equal for name in pins(one)}
        return replace(
            way,
            open=way.open - way.known,
            met=(way.open & way.known) - self.start,
            whole=tuple(one for one in way.whole if _is_whole(one, pinned)),
        )

    def _order(self) -> list[int]:
        """Order the other literals so that each comes after what binds its variables."""
        binding = [one for one in self.literals if not isinstance(one, Negative)]
        shared = self.start | {name for one in binding for name in _outer(one)}
        bound = self.start | {
            name for one in self.literals if isinstance(one, Positive) for name in _outer(one)
        }
        left = [n for n, one in enumerate(self.literals) if not isinstance(one, Positive)]
        order: list[int] = []
        while left:
            ready = next((n for n in left if self._is_ready(n, bound, shared)), None)
            if ready is None:
                raise UnfitError("the literals of a rule have no order")
            left.remove(ready)
            order.append(ready)
            literal = self.literals[ready]
            if isinstance(literal, Aggregate):
                bound = bound | {literal.result.name}
            elif isinstance(literal, Comparison):
                bound = bound | _outer(literal)
        return order

    def _is_ready(self, place: int, bound: frozenset[str], shared: frozenset[str]) -> bool:
        match self.literals[place]:
            case Comparison() as literal:
                return assigned(literal, bound) is not None or _outer(literal) <= bound
            case Negative() as literal:
                return _outer(literal) & shared <= bound
            case Aggregate() as literal:
                names = {one.name for one in literal_variables(literal)}
                return names & shared - {literal.result.name} <= bound
            case _:
                return True

    def _further(self, way: Way, place: int) -> Iterator[Way]:
        erring = self.erring.get(place)
        if erring is None or _names(erring) & way.open:
            yield from self._taken(way, place)
            return
        # It stands before what it guards: conditions that are ready at once keep their order.
        yield from self._taken(way.taking(CERTAIN, Negative(erring)), place)
        failed = way.taking(POSSIBLE, Positive(erring))
        literal = self.literals[place]
        found = assigned(literal, way.known | way.open) if isinstance(literal, Comparison) else None
        if found is not None:
            failed = failed.binding(found, is_open=True).opening(Positive(erring), found)
        yield failed

    def _taken(self, way: Way, place: int) -> Iterator[Way]:
        match self.literals[place]:
            case Comparison() as literal:
                yield self._compared(way, literal)
            case Negative(atom):
                yield from self._absent(way, atom)
            case Aggregate() as literal:
                yield from self._folded(way, literal, place)
            case literal:
                yield way.taking(CERTAIN, literal)

    def _compared(self, way: Way, literal: Comparison) -> Way:
        found = assigned(literal, way.known | way.open)
        reads_open = bool(_outer(literal) & way.open)
        if found is not None:
            bound = way.binding(found, is_open=reads_open)
            return bound.taking(POSSIBLE) if reads_open else bound.taking(CERTAIN, literal)
        if not reads_open:
            return way.taking(CERTAIN, literal)
        for name in pins(literal):
            # In another order of literals it is computed from what is open.
            if name in way.known - self.start and (_outer(literal) - {name}) & way.open:
                way = way.binding(name, is_open=True)
        return way.taking(POSSIBLE)

    def _absent(self, way: Way, atom: Atom) -> Iterator[Way]:
        if _names(atom) & way.open:
            yield way.taking(POSSIBLE)
            return
        grades = self.graded.of(atom.predicate)
        every = {one: self.graded.atom(one, atom) for one in grades}
        yield way.taking(CERTAIN, Negative(atom), *map(Negative, every.values()))
        for strength in _STRENGTHS:
            stronger = [one for grade, one in every.items() if grade.strength > strength]
            without = [Negative(atom), *map(Negative, stronger)]
            for grade, one in every.items():
                if grade.strength == strength:
                    # In max-min logic over -1..3 negation mirrors the chain.
                    mirrored = CERTAIN - 1 - strength
                    yield way.taking(mirrored, Positive(one), *without)

    def _folded(self, way: Way, literal: Aggregate, place: int) -> Iterator[Way]:
        result = literal.result.name
        known = way.known | way.open
        group = {one.name for one in literal_variables(literal)} & known - {result}
        if group & way.open:
            yield way.taking(POSSIBLE).binding(result, is_open=True)
            return
        doubt = self.doubts.get(place)
        touched = {} if doubt is None else doubt.touched
        every = map(Negative, touched.values())
        exact = way.binding(result, is_open=False)
        yield exact.taking(CERTAIN, literal, *every)
        possible = [Negative(one) for grade, one in touched.items() if grade.strength == POSSIBLE]
        for grade, atom in touched.items():
            open_way = way.binding(result, is_open=True).opening(Positive(atom), result)
            if grade.strength == POSSIBLE:
                yield open_way.taking(POSSIBLE, Positive(atom))
            elif doubt is not None:
                # The hard reading does not know the assumed rows; the accepted one does.
                yield exact.taking(ACCEPTED, Positive(atom), doubt.accepted, *possible)
                yield open_way.taking(CONCEIVABLE, Positive(atom))


def pins(literal: Comparison) -> tuple[str, ...]:
    """Name the variables that an equality may bind: its bare sides."""
    sides = (literal.left, literal.right) if literal.operator == "=" else ()
    return tuple(side.name for side in sides if isinstance(side, Variable))


def assigned(literal: Comparison, bound: Iterable[str]) -> str | None:
    """Name the variable that an equality binds, where it binds one."""
    known = frozenset(bound)
    if literal.operator == "=":
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            names = {variable.name for variable in term_variables(other)}
            if isinstance(one, Variable) and one.name not in known and names <= known:
                return one.name
    return None


def _is_whole(one: tuple[Grade, Atom], known: frozenset[str]) -> bool:
    grade, atom = one
    terms = [atom.terms[place] for place in grade.open]
    return all(variable.name in known for term in terms for variable in term_variables(term))


def _outer(literal: Literal) -> frozenset[str]:
    """Name the variables of a literal; of an aggregate its result only."""
    if isinstance(literal, Aggregate):
        return frozenset({literal.result.name})
    return frozenset(variable.name for variable in literal_variables(literal))


def _names(atom: Atom) -> frozenset[str]:
    return frozenset(one.name for term in atom.terms for one in term_variables(term))


def _few(ways: Iterable[Way]) -> list[Way]:
    found: list[Way] = []
    for way in ways:
        found.append(way)
        if len(found) > MOST_WAYS:
            raise UnfitError(f"its rule can hold in more than {MOST_WAYS} ways")
    return found
