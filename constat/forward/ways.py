"""The ways in which a body can hold where premises are not certain, and looser ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.logic import (
    OPEN,
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

if TYPE_CHECKING:
    from constat.logic import OpenRow, Row

WORDS: Final = MappingProxyType(
    {ACCEPTED: "accepted", POSSIBLE: "possible", CONCEIVABLE: "conceivable"}
)


@dataclass(frozen=True, slots=True, order=True)
class Grade:
    """A strength below certain, and the columns that are open."""

    strength: int
    open: tuple[int, ...] = ()

    def known(self, arity: int) -> tuple[int, ...]:
        """The columns that hold values."""
        return tuple(place for place in range(arity) if place not in self.open)


def graded_name(predicate: Predicate, grade: Grade) -> str:
    """Name the relation of a grade; names of the language have no point, so it is free."""
    missing = [predicate.columns[place].name for place in grade.open]
    without = ["without", *missing] if missing else []
    return ".".join([predicate.name, WORDS[grade.strength], *without])


def graded_predicate(predicate: Predicate, grade: Grade) -> Predicate:
    """Declare the relation of a grade."""
    columns = tuple(predicate.columns[place] for place in grade.known(predicate.arity))
    return Predicate(graded_name(predicate, grade), columns)


def graded_atom(predicate: Predicate, grade: Grade, atom: Atom) -> Atom:
    """Give the atom of a grade: the terms that stand at known columns."""
    terms = tuple(atom.terms[place] for place in grade.known(predicate.arity))
    return Atom(graded_name(predicate, grade), terms, atom.span)


def by_grade(
    sure: Iterable[Row], weak: Iterable[tuple[OpenRow, int]]
) -> dict[Grade, tuple[Row, ...]]:
    """Sort weak rows by grade, each at its greatest strength; certain rows are left out."""
    best: dict[OpenRow, int] = {}
    for row, strength in weak:
        if strength > best.get(row, ABSENT):
            best[row] = strength
    if any(OPEN not in row for row in best):
        for row in sure:
            best.pop(row, None)
    found: dict[Grade, list[Row]] = {}
    for row, strength in best.items():
        missing = tuple(place for place, slot in enumerate(row) if slot is OPEN)
        known: Row = tuple(slot for slot in row if slot is not OPEN)
        found.setdefault(Grade(strength, missing), []).append(known)
    return {grade: tuple(rows) for grade, rows in sorted(found.items())}


def open_row(grade: Grade, row: Row) -> OpenRow:
    """Put the placeholders of a grade back into a row of its relation."""
    values = iter(row)
    width = len(row) + len(grade.open)
    return tuple(OPEN if place in grade.open else next(values) for place in range(width))


# What the reference engine says of a placeholder that meets another literal depends on the order
# in which it takes the literals. `Unfit` says so, and the predicate is left to it; see
# `placeholders`.

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


# What is lost is correlation, so what rests on these ways is possible where it might have been
# decided, and never decided otherwise.
# The reference engine takes the literals one after the other. The first row with a placeholder
# that it meets has known columns, and they stay known. Whatever is joined by the placeholder
# afterwards may match anything, and so on through the variables that this leaves open. So each
# open row is taken as the first one in turn: it is kept, and what hangs together with its
# placeholder is dropped.

Names = frozenset[str]
_NONE: Names = frozenset()


def loosened(way: Way, doubted: Collection[str], given: Collection[str] = ()) -> list[Way]:
    """Give the ways that replace one.

    `doubted` are its variables whose meaning depends on the order of literals, `given` those that
    are known before the body. Raises `UnfitError` where no open row explains them.
    """
    return list(_Loosening(way, frozenset(doubted), frozenset(given)).ways())


def pruned(way: Way, unknown: Collection[str]) -> Way:
    """Drop what reads variables that nothing in the body binds, and what that leaves unbound."""
    literals = list(way.literals)
    missing = set(unknown)
    while dropped := [one for one in literals if _reads(one) & missing]:
        literals = [one for one in literals if one not in dropped]
        bound = {name for one in literals for name in _gives(one)}
        missing |= {name for one in dropped for name in _gives(one)} - bound
    return replace(way, literals=tuple(literals), strength=min(way.strength, POSSIBLE))


@dataclass(frozen=True)
class _Loosening:
    way: Way
    doubted: Names
    given: Names

    def ways(self) -> Iterator[Way]:
        """Yield the ways; each keeps the open rows that may be met first, in some order."""
        if not self._doubtful:
            # A way that nothing replaces would be lost.
            raise UnfitError("nobody knows where an unknown value of a rule comes from")
        seen: set[tuple[Literal, ...]] = set()
        waiting: list[tuple[Opened, ...]] = [(one,) for one in self._doubtful]
        while waiting:
            first = waiting.pop()
            lost, literals = self._without(first)
            further = [
                one
                for one in self._doubtful
                if one not in first and one.literal in literals and not one.every & lost
            ]
            waiting += [(*first, one) for one in further]
            if not further and literals not in seen:
                seen.add(literals)
                yield replace(
                    self.way,
                    literals=literals,
                    strength=min(self.way.strength, POSSIBLE),
                    known=self.way.known - lost,
                    open=self.way.open | lost,
                    met=_NONE,
                    whole=(),
                )

    @cached_property
    def _doubtful(self) -> Sequence[Opened]:
        """The open rows whose placeholders are doubted, or give one that is."""
        return [one for one in self.way.opened if self._spread(one.names) & self.doubted]

    def _spread(self, names: Names) -> Names:
        """Give the variables that are computed from some, by equalities and totals."""
        found = names
        while True:
            more = found
            for one in self.way.every:
                if isinstance(one, Comparison | Aggregate):
                    more |= _computed(one, more)
            if more == found:
                return found
            found = more

    def _without(self, first: Sequence[Opened]) -> tuple[Names, tuple[Literal, ...]]:
        """Drop what hangs together with the placeholders of the rows that are met first."""
        opened = frozenset(name for one in first for name in one.names)
        kept = [one.literal for one in first]
        sure = self.given | {name for one in kept for name in _gives(one)}
        lost = opened - sure
        while True:
            more = lost
            for one in self.way.every:
                more |= _computed(one, more)
            for place, literal in enumerate(self.way.literals):
                names = self._names(place)
                if isinstance(literal, Positive) and literal not in kept and names & more:
                    more |= names
            more -= sure
            if more == lost:
                break
            lost = more
        return lost, tuple(
            one
            for place, one in enumerate(self.way.literals)
            if one in kept or not self._names(place) & lost
        )

    def _names(self, place: int) -> Names:
        """Name the variables of a literal as written, those of its open columns included."""
        literal = self.way.literals[place]
        found = next((one.every for one in self.way.opened if one.literal == literal), _NONE)
        return found | {one.name for one in literal_variables(literal)}


def _computed(literal: Literal, lost: Names) -> Names:
    """Name the variables that a literal may compute from others that are lost."""
    match literal:
        case Comparison(left=left, right=right):
            names = {one.name for one in literal_variables(literal)}
            bare = pins(literal)
            if left == right or not bare:
                return _NONE
            return frozenset(name for name in bare if (names - {name}) & lost)
        case Aggregate(result=result):
            inside = {one.name for one in literal_variables(literal)} - {result.name}
            return frozenset({result.name}) if inside & lost else _NONE
        case _:
            return _NONE


def _gives(literal: Literal) -> Names:
    """Name the variables that a literal may bind."""
    match literal:
        case Positive():
            return frozenset(one.name for one in literal_variables(literal))
        case Comparison():
            return frozenset(pins(literal))
        case Aggregate(result=result):
            return frozenset({result.name})
        case _:
            return _NONE


def _reads(literal: Literal) -> Names:
    return frozenset(one.name for one in literal_variables(literal))
