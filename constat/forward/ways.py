"""The ways in which a body can hold where premises are not certain, and looser ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.frozen import frozen, slotted
from constat.logic import (
    OPEN,
    TURNED,
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    MadeBy,
    Negative,
    NullCell,
    Positive,
    Predicate,
    Term,
    Value,
    Variable,
    canonical_decimal,
    literal_variables,
    term_variables,
    vocabulary,
)

if TYPE_CHECKING:
    from constat.logic import OpenRow, Row

WORDS: Final = MappingProxyType(
    {
        CERTAIN: "certain",
        ACCEPTED: "accepted",
        POSSIBLE: "possible",
        CONCEIVABLE: "conceivable",
    }
)
_LABEL: Final = ".label"
"""The end of names of variables that stand for labels; names of the language have no point."""
MADE: Final = ".made.label"
"""The end of names of those that stand for what a total function made of a label (26b)."""
MEMBER: Final = ".member"
"""The end of names of those that stand for the certain member of a group that is furthest out."""
MEMBERS: Final = ".members"
"""The end of names of those that stand for how many members of a group are certain."""
_BETWEEN: Final = "|"
_SHAPE: Final = "~"
_SPELLED: Final = frozenset(
    {Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.SYMBOL}
)
"""Kinds of the values that stand in a label's text; before one that is a text stands its length."""


@dataclass(frozen=True, slots=True, order=True)
class Grade:
    """A strength, and which columns are open or hold labels; never both in one grade.

    Without labels it is below certain, with labels it is accepted at least: a weaker row says no
    more of a label than that the column is open. `made` are the columns whose labels a function
    made; no function makes a further one of these (26b).
    """

    strength: int
    open: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    made: tuple[int, ...] = ()

    def known(self, arity: int) -> tuple[int, ...]:
        """The columns that the relation has: those that hold values or labels."""
        return tuple(place for place in range(arity) if place not in self.open)

    @property
    def opened(self) -> Grade:
        """The grade of the same rows where nobody tells their labels from other values."""
        open_columns = tuple(sorted({*self.open, *self.labels}))
        return Grade(min(self.strength, POSSIBLE), open_columns)


def graded_name(predicate: Predicate, grade: Grade) -> str:
    """Name the relation of a grade; names of the language have no point, so it is free."""
    missing = [predicate.columns[place].name for place in grade.open]
    labels = [predicate.columns[place].name for place in grade.labels]
    how = ["without", *missing] if missing else []
    how += ["labels", *labels] if labels else []
    made = [predicate.columns[place].name for place in grade.made]
    how += ["made", *made] if made else []
    return ".".join([predicate.name, WORDS[grade.strength], *how])


def graded_predicate(predicate: Predicate, grade: Grade) -> Predicate:
    """Declare the relation of a grade; a label is a text."""
    columns = (
        Column(predicate.columns[place].name, Kind.SYMBOL.value, Kind.SYMBOL)
        if place in grade.labels
        else predicate.columns[place]
        for place in grade.known(predicate.arity)
    )
    return Predicate(graded_name(predicate, grade), tuple(columns))


def graded_atom(
    predicate: Predicate, grade: Grade, atom: Atom, labels: Mapping[int, Variable] | None = None
) -> Atom:
    """Give the atom of a grade: the terms that stand at known columns.

    `labels` are the variables of its labels, by column; without them any label is meant.
    """
    name = graded_name(predicate, grade)
    terms = tuple(
        atom.terms[place]
        if place not in grade.labels
        else (labels or {}).get(place, Variable(f"{name}.{place}"))
        for place in grade.known(predicate.arity)
    )
    return Atom(name, terms, atom.span)


@slotted
class Labels:
    """The labels of one evaluation, each with the text that stands for it in relations."""

    texts: dict[NullCell, str] = field(default_factory=dict)
    cells: dict[str, NullCell] = field(default_factory=dict)
    shapes: dict[Shape, str] = field(default_factory=dict)

    def text(self, label: NullCell) -> str:
        """Give the text of a label."""
        if label not in self.texts:
            text = self.texts[label] = str(len(self.texts))
            self.cells[text] = label
        return self.texts[label]

    def cell(self, text: object) -> NullCell:
        """Give the label of a text."""
        shape, _, rest = str(text).partition(_BETWEEN)
        if not rest:
            return self.cells[shape]
        function, given = next(one for one, name in self.shapes.items() if name == shape)
        label, _, rest = rest.partition(_BETWEEN)
        arguments: list[Value | None] = []
        for one in given:
            if isinstance(one, Kind):
                value, rest = _next_value(rest, one)
                arguments.append(value)
            else:
                arguments.append(None if one is None else one.value)
        return replace(self.cells[label], made=MadeBy(function, tuple(arguments)))

    def made(self, way: Way, term: Term, kinds: Mapping[str, Kind]) -> tuple[Way, Variable] | None:
        """Let a way compute the label that a total function makes; nothing where it makes none.

        It makes one of one label, which no function made, and of constants and values.
        """
        word = vocabulary.FUNCTIONS.get(term.function) if isinstance(term, Apply) else None
        if not isinstance(term, Apply) or word is None or not word.total:
            return None
        given: list[Kind | Constant | None] = []
        labels: list[Variable] = []
        values: list[Variable] = []
        for one in term.arguments:
            label = way.carried.get(one.name) if isinstance(one, Variable) else None
            if label is not None:
                labels.append(label)
                given.append(None)
            elif isinstance(one, Constant):
                given.append(one)
            elif (
                isinstance(one, Variable) and one.name in way.known and kinds[one.name] in _SPELLED
            ):
                values.append(one)
                given.append(kinds[one.name])
            else:
                return None
        if len(labels) != 1 or labels[0].name.endswith(MADE):
            return None
        key = (term.function, tuple(given))
        shape = self.shapes.setdefault(key, f"{_SHAPE}{len(self.shapes)}")
        parts: list[Term] = [Constant(f"{shape}{_BETWEEN}", Kind.SYMBOL), labels[0]]
        for one in values:
            spelled: Term = Apply("to_string", (one,), Kind.SYMBOL)
            if kinds[one.name] is Kind.SYMBOL:
                length = Apply("strlen", (one,), Kind.NUMBER)
                spelled = Apply("to_string", (length,), Kind.SYMBOL)
                parts += [Constant(_BETWEEN, Kind.SYMBOL), spelled]
                spelled = one
            parts += [Constant(_BETWEEN, Kind.SYMBOL), spelled]
        name = Variable(f"{len(way.literals)}{MADE}")
        text = Apply("cat", tuple(parts), Kind.SYMBOL)
        return way.taking(CERTAIN, Comparison("=", name, text)), name


Shape = tuple[str, tuple[Kind | Constant | None, ...]]
"""A function and its arguments: nothing where the label stood, a kind for a value of the row."""


def _next_value(rest: str, kind: Kind) -> tuple[Value, str]:
    """Read the first value of what is left of a label's text, and give what is left behind it."""
    part, _, rest = rest.partition(_BETWEEN)
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return int(part), rest
        case Kind.FLOAT:
            return float(part), rest
        case Kind.DECIMAL:
            return canonical_decimal(Decimal(part)), rest
        case Kind.SYMBOL:
            # It counts bytes, as `strlen` does.
            encoded, length = rest.encode(), int(part)
            return encoded[:length].decode(), encoded[length + len(_BETWEEN) :].decode()
        case _:
            return part, rest


def by_grade(
    sure: Iterable[Row], weak: Iterable[tuple[OpenRow, int]], labels: Labels
) -> dict[Grade, tuple[Row, ...]]:
    """Sort weak rows, and those with labels, by grade, each at its greatest strength.

    Certain rows are left out.
    """
    best: dict[OpenRow, int] = {}
    for row, strength in weak:
        shape = row
        if strength < ACCEPTED or OPEN in row:
            cells: Sequence[object] = row
            shape = tuple(
                OPEN if isinstance(cell, NullCell) else slot
                for cell, slot in zip(cells, row, strict=True)
            )
        if strength > best.get(shape, ABSENT):
            best[shape] = strength
    if any(OPEN not in row for row in best):
        for row in sure:
            best.pop(row, None)
    found: dict[Grade, list[Row]] = {}
    for row, strength in best.items():
        cells = row
        missing = tuple(place for place, slot in enumerate(row) if slot is OPEN)
        named = tuple(place for place, cell in enumerate(cells) if isinstance(cell, NullCell))
        known: Row = tuple(
            [
                labels.text(cell) if isinstance(cell, NullCell) else cell
                for cell in cells
                if cell is not OPEN
            ]
        )
        found.setdefault(Grade(strength, missing, named), []).append(known)
    return {grade: tuple(rows) for grade, rows in sorted(found.items())}


def open_row(grade: Grade, row: Row, labels: Labels) -> OpenRow:
    """Put the placeholders and labels of a grade back into a row of its relation."""
    values = iter(row)
    width = len(row) + len(grade.open)
    cells: list[object] = []
    for place in range(width):
        cell: object = OPEN if place in grade.open else next(values)
        cells.append(labels.cell(cell) if place in grade.labels else cell)
    return cast("OpenRow", tuple(cells))


# What the reference engine says of a placeholder that meets another literal depends on the order
# in which it takes the literals. `Unfit` says so, and the predicate is left to it; see
# `placeholders`.

MOST_WAYS: Final = 128
_STRENGTHS: Final = (CONCEIVABLE, POSSIBLE, ACCEPTED)


class UnfitError(Exception):
    """A predicate cannot be computed in bulk as long as something is open; the text says why."""


@frozen
class Graded:
    """The predicates of a program, and the grades of those that are not closed."""

    predicates: Mapping[str, Predicate]
    grades: Mapping[str, tuple[Grade, ...]]

    def of(self, name: str) -> tuple[Grade, ...]:
        """Give the grades of a predicate: none where it is closed."""
        return self.grades.get(name, ())

    def atom(self, grade: Grade, atom: Atom, labels: Mapping[int, Variable] | None = None) -> Atom:
        """Give the atom that reads a grade; `labels` as `graded_atom` has them."""
        return graded_atom(self.predicates[atom.predicate], grade, atom, labels)


@frozen
class Doubt:
    """What an aggregate says of a group that is not certain.

    `touched` has an atom for each grade of the groups with uncertain members; an open column is
    one whose value does not matter. `accepted` is the aggregate over what holds once assumptions
    are accepted. `members` is the aggregate over all certain members, where some hold labels.
    """

    touched: Mapping[Grade, Atom]
    accepted: Aggregate
    members: Aggregate | None = None


@frozen
class Opened:
    """A literal of a way over rows with open columns, and the variables that stand there."""

    literal: Literal
    names: frozenset[str]

    @property
    def every(self) -> frozenset[str]:
        """All variables of the literal as it was written."""
        return self.names | {one.name for one in literal_variables(self.literal)}


@frozen
class Shown:
    """A row with labels that a way takes for an atom: the variables of its labels, by column."""

    grade: Grade
    atom: Atom
    labels: Mapping[int, Variable] = field(hash=False)
    literal: Positive

    @property
    def read(self) -> list[Term]:
        """The terms that the atom has where the row has labels."""
        return [self.atom.terms[place] for place in self.labels]

    def naming(self, names: Mapping[Variable, Variable]) -> Shown:
        """Give the row with other variables for its labels."""
        labels = {place: names.get(one, one) for place, one in self.labels.items()}
        return replace(self, labels=labels, literal=Positive(renamed(self.literal.atom, names)))


def renamed(atom: Atom, names: Mapping[Variable, Variable]) -> Atom:
    """Give an atom with other variables."""
    terms = tuple(names.get(one, one) if isinstance(one, Variable) else one for one in atom.terms)
    return replace(atom, terms=terms)


@frozen
class Way:
    """One way in which a body can hold.

    `open` are the variables that hold a placeholder, `met` those that an open row leaves open and
    another literal binds. `whole` are the open rows of which every column is known here. `opened`
    are the literals that placeholders come from, `every` the literals as they were written.
    `carried` are the variables that hold a label, each with the variable that stands for it;
    `shown` are the rows with labels that were taken. `bounded` has of open leasts and greatests
    what a value has to be to their member, which bounds them: `>=` or `<=`.
    """

    literals: tuple[Literal, ...] = ()
    strength: int = CERTAIN
    known: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()
    whole: tuple[tuple[Grade, Atom], ...] = ()
    opened: tuple[Opened, ...] = ()
    every: tuple[Literal, ...] = ()
    carried: Mapping[str, Variable] = field(default_factory=dict, hash=False)
    shown: tuple[Shown, ...] = ()
    bounded: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def bound(self) -> frozenset[str]:
        """The variables that hold a value, a label or a placeholder."""
        return self.known | self.open | self.carried.keys()

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

    def widened(self) -> Way:
        """Give the way in which nobody tells labels from other values: they are open."""
        if not self.shown:
            return self
        equal = [one for one in self.every if isinstance(one, Comparison)]
        pinned = self.known | {name for one in equal for name in pins(one)}
        # Those that functions made have names of their own here, which nothing else reads.
        written = {name for name in self.carried if "." not in name}
        found = replace(self.taking(POSSIBLE), open=self.open | written, carried={}, shown=())
        for one in self.shown:
            own = set(one.labels.values())
            names = {name for name in written if self.carried[name] in own}
            names |= {term.name for term in one.read if isinstance(term, Variable)}
            found = found.opening(one.literal, *names)
            whole = (one.grade.opened, one.atom)
            if _is_whole(whole, pinned):
                found = replace(found, whole=(*found.whole, (one.grade, one.atom)))
        return found


@frozen
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
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    labels: Labels = field(default_factory=Labels)

    def ways(self) -> list[Way]:
        """Give all ways. Raises `UnfitError` where they are too many."""
        ways = [Way(known=self.start, every=tuple(self.literals))]
        for literal in self.literals:
            if isinstance(literal, Positive):
                ways = _few(way for one in ways for way in self._positive(one, literal.atom))
        ways = _few(self._settled(way) for one in ways for way in self._labelled(one))
        for place in self._order():
            ways = _few(way for one in ways for way in self._further(one, place))
        # Of a label that is at most possible nobody says more than that it is open.
        return [way if way.strength >= ACCEPTED else way.widened() for way in ways]

    def _positive(self, way: Way, atom: Atom) -> Iterator[Way]:
        names = frozenset(term.name for term in atom.terms if isinstance(term, Variable))
        yield replace(way.taking(CERTAIN, Positive(atom)), known=way.known | names)
        for grade in self.graded.of(atom.predicate):
            if grade.labels:
                yield self._carrying(way, grade, atom)
                continue
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
            if grade.strength > strength and not grade.open and not grade.labels:
                yield Negative(self.graded.atom(grade, atom))

    def _carrying(self, way: Way, grade: Grade, atom: Atom) -> Way:
        """Take a row with labels; each gets a variable of its own, so that all may meet later."""
        number = len(way.shown)
        labels = {
            n: Variable(f"{number}.{n}{MADE if n in grade.made else _LABEL}") for n in grade.labels
        }
        shown = self.graded.atom(grade, atom, labels)
        known = {
            term.name
            for place, term in enumerate(atom.terms)
            if isinstance(term, Variable) and place not in grade.labels
        }
        found = way.taking(grade.strength, Positive(shown))
        if self.distinct and grade.strength < CERTAIN:
            stronger = replace(grade, strength=CERTAIN)
            if stronger in self.graded.of(atom.predicate):
                found = found.taking(CERTAIN, Negative(self.graded.atom(stronger, atom, labels)))
        taken = Shown(grade, atom, labels, Positive(shown))
        return replace(found, known=way.known | known, shown=(*way.shown, taken))

    def _labelled(self, way: Way) -> Iterator[Way]:
        """Settle what labels meet: themselves, for certain, or anything else, possibly."""
        met: dict[str, list[Variable]] = {}
        clash = False
        for one in way.shown:
            for place, label in one.labels.items():
                term = one.atom.terms[place]
                if isinstance(term, Variable):
                    met.setdefault(term.name, []).append(label)
                else:
                    clash = True
        carried = {name: labels[0] for name, labels in met.items()}
        if clash or met.keys() & (way.known | way.open):
            yield replace(way, carried=carried).widened()
            return
        same: dict[Variable, Variable] = {}
        for first, *others in met.values():
            for other in others:
                # All before are the same label, and this one is another.
                found = _with_labels(way, same).taking(CERTAIN, Comparison("!=", first, other))
                yield replace(found, carried=carried).widened()
                same[other] = first
        yield replace(_with_labels(way, same), carried=carried)

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
        if erring is None or _names(erring) & (way.open | way.carried.keys()):
            yield from self._taken(way, place)
            return
        # It stands before what it guards: conditions that are ready at once keep their order.
        yield from self._taken(way.taking(CERTAIN, Negative(erring)), place)
        failed = way.taking(POSSIBLE, Positive(erring))
        literal = self.literals[place]
        found = assigned(literal, way.bound) if isinstance(literal, Comparison) else None
        if found is not None:
            failed = failed.binding(found, is_open=True).opening(Positive(erring), found)
        yield failed

    def _taken(self, way: Way, place: int) -> Iterator[Way]:
        match self.literals[place]:
            case Comparison() as literal if _outer(literal) & way.carried.keys():
                yield from self._compared_labels(way, literal)
            case Comparison() as literal:
                yield self._compared(way, literal)
            case Negative(atom):
                yield from self._absent(way, atom)
            case Aggregate() as literal:
                yield from self._folded(way, literal, place)
            case literal:
                yield way.taking(CERTAIN, literal)

    def _compared_labels(self, way: Way, literal: Comparison) -> Iterator[Way]:
        """Compare where a side reads a label: it equals itself, and may be anything else (26a)."""
        found = assigned(literal, way.bound)
        sides: list[Variable | None] = []
        for side in (literal.left, literal.right):
            made = self.labels.made(way, side, self.kinds)
            way = way if made is None else made[0]
            label = way.carried.get(side.name) if isinstance(side, Variable) else None
            sides.append(label if made is None else made[1])
        given = next((one for one in sides if one is not None), None)
        if found is not None and given is not None:
            yield replace(way, carried={**way.carried, found: given})
            return
        left, right = sides
        operator = literal.operator
        if found is not None or left is None or right is None or operator not in _ORDERED:
            yield self._compared(way.widened(), literal)
            return
        if operator in _REFLEXIVE:
            yield way if left == right else way.taking(CERTAIN, Comparison("=", left, right))
        if left != right:
            yield way.taking(CERTAIN, Comparison("!=", left, right)).widened()

    def _compared(self, way: Way, literal: Comparison) -> Way:
        found = assigned(literal, way.bound)
        reads_open = bool(_outer(literal) & way.open)
        if found is not None:
            bound = way.binding(found, is_open=reads_open)
            return bound.taking(POSSIBLE) if reads_open else bound.taking(CERTAIN, literal)
        if not reads_open:
            return way.taking(CERTAIN, literal)
        within = list(_within(way, literal))
        for name in pins(literal):
            # In another order of literals it is computed from what is open.
            if name in way.known - self.start and (_outer(literal) - {name}) & way.open:
                way = way.binding(name, is_open=True)
        return way.taking(POSSIBLE, *within)

    def _absent(self, way: Way, atom: Atom) -> Iterator[Way]:
        found = self._valued(way, atom)
        if found is None:
            # A function of a label may err, and then nobody knows, whatever rows there are (9).
            way = way.widened()
        else:
            way, atom = found
        if _names(atom) & way.open:
            yield way.taking(POSSIBLE)
            return
        every = list(self._matches(way, atom))
        yield way.taking(CERTAIN, *(Negative(one) for _, one in every))
        for strength in _STRENGTHS:
            without = [Negative(one) for other, one in every if other > strength]
            for other, one in every:
                if other == strength:
                    # In max-min logic over -1..3 negation mirrors the chain.
                    mirrored = CERTAIN - 1 - strength
                    yield way.taking(mirrored, Positive(one), *without)

    def _valued(self, way: Way, atom: Atom) -> tuple[Way, Atom] | None:
        """Name the labels that functions make in an atom; nothing where one of them makes none."""
        terms = list(atom.terms)
        for place, term in enumerate(terms):
            read = {one.name for one in term_variables(term)}
            if isinstance(term, Apply) and read & way.carried.keys():
                made = self.labels.made(way, term, self.kinds)
                if made is None:
                    return None
                name = f"{made[1].name}.value"
                way = replace(made[0], carried={**made[0].carried, name: made[1]})
                terms[place] = Variable(name)
        return way, replace(atom, terms=tuple(terms))

    def _matches(self, way: Way, atom: Atom) -> Iterator[tuple[int, Atom]]:
        """Yield what a denied atom may match: the strength of the match, and an atom for it."""
        for number, grade in enumerate((_SURE, *self.graded.of(atom.predicate))):
            match = _Match(way, atom, grade, number)
            if match.is_exact:
                yield grade.strength, match.shown(self.graded, match.alike)
            if match.doubted:
                # A label may be whatever value is there, or another label.
                yield min(grade.strength, POSSIBLE), match.shown(self.graded, {})

    def _folded(self, way: Way, literal: Aggregate, place: int) -> Iterator[Way]:
        result = literal.result.name
        group = {one.name for one in literal_variables(literal)} & way.bound - {result}
        if group & way.carried.keys():
            way = way.widened()
        if group & way.open:
            yield way.taking(POSSIBLE).binding(result, is_open=True)
            return
        if result in way.carried:
            way = way.widened()
        if result in way.open:
            # What is there already, and nobody knows, may be the value.
            yield way.taking(POSSIBLE)
            return
        doubt = self.doubts.get(place)
        touched = {} if doubt is None else doubt.touched
        every = map(Negative, touched.values())
        exact = way.binding(result, is_open=False)
        members = None if doubt is None else doubt.members
        yield exact.taking(CERTAIN, members or literal, *every)
        possible = [Negative(one) for grade, one in touched.items() if grade.strength == POSSIBLE]
        for grade, atom in touched.items():
            open_ways = [
                one.binding(result, is_open=True).opening(Positive(atom), result)
                for one in _bounding(way, members or literal)
            ]
            if grade.strength == POSSIBLE:
                yield from (one.taking(POSSIBLE, Positive(atom)) for one in open_ways)
            elif doubt is not None:
                # The hard reading does not know the assumed rows; the accepted one does.
                yield exact.taking(ACCEPTED, Positive(atom), doubt.accepted, *possible)
                yield from (one.taking(CONCEIVABLE, Positive(atom)) for one in open_ways)


def _bounding(way: Way, literal: Aggregate) -> Iterator[Way]:
    """Give the ways in which a least or greatest is open: with a certain member, and without one.

    The greatest of a group is at least the target of each member, and the least at most that.
    """
    result = literal.result.name
    if not is_bounded(literal):
        yield way
        return
    count, member = Variable(f"{result}{MEMBERS}"), Variable(f"{result}{MEMBER}")
    none = replace(literal, function="count", target=None, result=count)
    yield way.taking(CERTAIN, none, Comparison("=", count, Constant(0, Kind.NUMBER)))
    operator = ">=" if literal.function == "max" else "<="
    found = way.taking(CERTAIN, replace(literal, result=member))
    if result in way.known:
        found = found.taking(CERTAIN, Comparison(operator, literal.result, member))
    yield replace(found, bounded={**way.bounded, result: operator})


def is_bounded(literal: Aggregate) -> bool:
    """Tell whether members bound the result: the target is a variable, and nothing is denied."""
    plain = not any(isinstance(one, Negative) for one in literal.body)
    extreme = literal.function in {"min", "max"} and not literal.recursive
    return extreme and plain and isinstance(literal.target, Variable)


def _within(way: Way, literal: Comparison) -> Iterator[Comparison]:
    """Say what a value has to be that is compared with an open least or greatest."""
    turned = TURNED.get(literal.operator)
    if turned is None:
        return
    sides = (literal.left, literal.operator, literal.right), (literal.right, turned, literal.left)
    for side, operator, other in sides:
        if not isinstance(side, Variable) or side.name not in way.bounded.keys() & way.open:
            continue
        reflexive = way.bounded[side.name]
        ruling = {"=": reflexive, TURNED[reflexive]: reflexive, TURNED[reflexive][0]: reflexive[0]}
        names = {one.name for one in term_variables(other)}
        if operator in ruling and names <= way.known - way.open:
            yield Comparison(ruling[operator], other, Variable(f"{side.name}{MEMBER}"))


_SURE: Final = Grade(CERTAIN)
_REFLEXIVE: Final = frozenset({"=", "<=", ">="})
_ORDERED: Final = _REFLEXIVE | {"!=", "<", ">"}


def _with_labels(way: Way, names: Mapping[Variable, Variable]) -> Way:
    """Give a way in which some labels are the same ones."""
    literals = tuple(
        replace(one, atom=renamed(one.atom, names)) if isinstance(one, Positive | Negative) else one
        for one in way.literals
    )
    return replace(way, literals=literals, shown=tuple(one.naming(names) for one in way.shown))


@frozen
class _Match:
    """How the rows of a grade match a denied atom; `_SURE` are the certain rows without labels."""

    way: Way
    atom: Atom
    grade: Grade
    number: int

    def _is_free(self, term: Term) -> bool:
        """Whether nothing binds the variable of a column: then any cell matches."""
        return isinstance(term, Variable) and term.name not in self.way.bound

    @property
    def alike(self) -> dict[int, Variable]:
        """The columns in which one label is asked for, or met twice, with its variable."""
        found: dict[int, Variable] = {}
        terms = self.atom.terms
        for place in self.grade.labels:
            term = terms[place]
            if isinstance(term, Variable) and term.name in self.way.carried:
                found[place] = self.way.carried[term.name]
            elif self._is_free(term) and terms.count(term) > 1:
                found[place] = Variable(f"{self._any(terms.index(term)).name}{_LABEL}")
        return found

    @property
    def mixed(self) -> frozenset[int]:
        """The columns in which a label meets what is no label."""
        carried, terms = self.way.carried, self.atom.terms
        found: set[int] = set()
        for place in self.grade.known(len(terms)):
            term, is_label = terms[place], place in self.grade.labels
            if self._is_free(term):
                others = [n for n, one in enumerate(terms) if one == term]
                if is_label and not all(n in self.grade.labels for n in others):
                    found.add(place)
            elif {one.name for one in term_variables(term)} & carried.keys():
                if not is_label or not isinstance(term, Variable):
                    found.add(place)
            elif is_label:
                found.add(place)
        return frozenset(found)

    @property
    def is_exact(self) -> bool:
        """Whether a row matches as strongly as it holds, where the labels in `alike` are met."""
        return not self.mixed

    @property
    def doubted(self) -> bool:
        """Whether rows may match besides."""
        return bool(self.mixed or self.alike)

    def _any(self, place: int) -> Variable:
        return Variable(f"{len(self.way.literals)}.{self.number}.{place}.any")

    def shown(self, graded: Graded, labels: Mapping[int, Variable]) -> Atom:
        """Give the atom of the rows; where labels decide nothing any cell is taken."""
        doubted = {*self.mixed, *self.alike} - labels.keys()
        terms = tuple(
            self._any(place) if place in doubted else term
            for place, term in enumerate(self.atom.terms)
        )
        atom = replace(self.atom, terms=terms)
        if self.grade == _SURE:
            return atom
        names = {place: labels.get(place, self._any(place)) for place in self.grade.labels}
        return graded.atom(self.grade, atom, names)


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
        return lost, _reading_labels(
            one
            for place, one in enumerate(self.way.literals)
            if one in kept or not self._names(place) & lost
        )

    def _names(self, place: int) -> Names:
        """Name the variables of a literal as written, those of its open columns included."""
        literal = self.way.literals[place]
        found = next((one.every for one in self.way.opened if one.literal == literal), _NONE)
        return found | {one.name for one in literal_variables(literal)}


def _reading_labels(literals: Iterable[Literal]) -> tuple[Literal, ...]:
    """Drop conditions on labels that no row gives any more."""
    left = tuple(literals)
    given = {name for one in left if isinstance(one, Positive | Aggregate) for name in _gives(one)}
    made = (_LABEL, MEMBER, MEMBERS)
    return tuple(
        one
        for one in left
        if all(name in given or not name.endswith(made) for name in _reads(one))
        or isinstance(one, Positive)
    )


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
