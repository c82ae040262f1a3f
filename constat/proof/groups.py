"""The exact value of an aggregate for a group, with the assignments it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol, cast, overload

from constat.evaluation import PackedColumn
from constat.frozen import frozen
from constat.logic import OPEN, TURNED, EvaluationError, NullCell, NullPolicy, fold, is_ruled_out
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    is_ground,
    is_hole,
    is_known,
    is_starred,
)
from constat.proof.outside import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from typing import TypeAlias

    from constat.evaluation import Evidence, PackedRows
    from constat.logic import OpenRow, Row, Value
    from constat.proof.instances import (
        AtomCode,
        Binding,
        Cell,
        Pattern,
        RuleCode,
        TermCode,
        Test,
    )
    from constat.proof.outside import Covered, Fact, Grounds, Outside

    # Local variables that a comparison gives a value to, in an order in which that can be done.
    _Computed: TypeAlias = dict[int, TermCode]
    _Bound: TypeAlias = Callable[[Iterable[Row]], Iterator[Binding]]

# Only speed differs; the same rows, sources and look-ups are noted, in the same order.


class ReadRows(Sequence["Fact"]):
    """Certain rows of one predicate as facts that are made when asked for; ``grounds`` in order."""

    def __init__(self, predicate: str, rows: Sequence[Row], grounds: tuple[Grounds, ...]) -> None:
        self.predicate = predicate
        self.rows = rows
        self.grounds = grounds

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Fact]:
        """Yield each row as a fact."""
        return zip(repeat(self.predicate), self.rows, strict=False)

    @overload
    def __getitem__(self, place: int) -> Fact: ...
    @overload
    def __getitem__(self, place: slice) -> ReadRows: ...
    def __getitem__(self, place: int | slice) -> Fact | ReadRows:
        """Return one fact, or some of them."""
        if isinstance(place, slice):
            return ReadRows(self.predicate, self.rows[place], self.grounds)
        return self.predicate, self.rows[place]


@frozen
class PlainGroup:
    """The distinct local values of a group, what each adds, and the rows that gave them."""

    assignments: Sequence[tuple[Value, ...]]
    targets: Sequence[Value]
    read: ReadRows


def plain_group(outside: Outside, literal: AggregateCode, start: Binding) -> PlainGroup | None:
    """Return the group, ``None`` where its literals have to be taken one by one.

    Whoever takes it notes its facts as used; coverage and assumptions are noted here.
    """
    found = _only_atom(literal, start)
    if found is None:
        return None
    atom, tests, computed = found
    if not computed:
        group = _packed_group(outside, literal, start, atom, tests)
        if group is not None:
            return group
    relation = outside.side(atom.predicate).rows
    # What nobody reads tells rows apart where it differs, and matters for nothing else.
    if relation.has_placeholders or not relation.null_columns <= atom.unread:
        return None
    pattern = atom.pattern(start)
    columns = _local_columns(
        atom, pattern, [slot for slot in literal.inner if slot not in computed]
    )
    if columns is None:
        return None
    # A group's literals are taken from a stack, so that the last row comes first.
    rows = cast("list[Row]", outside.possible(atom.predicate, pattern)[::-1])
    bindings = partial(_bindings, atom=atom, start=start, computed=computed)
    kept = _kept(rows, tests, bindings)
    if kept is None:
        return None
    if relation.null_columns and not _told_apart(
        literal, kept, list(columns.values()), relation.null_columns
    ):
        return None
    cells = _computed_cells(kept, computed, bindings)
    targets = None if cells is None else _targets(kept, literal.target, atom, cells, bindings)
    grounds = None if targets is None else outside.all_hold(atom.predicate, kept)
    if cells is None or targets is None or grounds is None:
        return None
    read = ReadRows(atom.predicate, kept, grounds)
    return PlainGroup(tuple(_assignments(kept, literal, columns, cells)), targets, read)


def _packed_group(
    outside: Outside,
    literal: AggregateCode,
    start: Binding,
    atom: AtomCode,
    tests: list[ComparisonCode],
) -> PlainGroup | None:
    """Return the group of rows that came packed, without making objects of them."""
    pattern = atom.pattern(start)
    columns = _local_columns(atom, pattern, literal.inner)
    found = None if columns is None else outside.packed(atom.predicate, pattern)
    if columns is None or found is None:
        return None
    rows, grounds = found
    bindings = partial(_bindings, atom=atom, start=start, computed={})
    if tests:
        flags = bytearray()
        for one in bindings(rows):
            passes = _passes(tests, one)
            if passes is None:
                return None
            flags.append(passes)
        rows = rows.chosen(flags)
    targets = _packed_targets(rows, literal.target, atom, bindings)
    if targets is None:
        return None
    assignments = rows.project([columns[slot] for slot in literal.inner])
    return PlainGroup(assignments, targets, ReadRows(atom.predicate, rows, (grounds,)))


def _packed_targets(
    rows: PackedRows, target: TermCode | None, atom: AtomCode, bindings: _Bound
) -> Sequence[Value] | None:
    """Return what each row adds, as ``_targets`` does."""
    if target is None:
        return ()
    if target.slot >= 0 and target.slot in atom.slots:
        return rows.columns[atom.slots.index(target.slot)]
    found, cells = PackedColumn(), map(target.evaluate, bindings(rows))
    while block := tuple(islice(cells, _BLOCK)):
        if not is_ground(block):
            return None
        found.extend(cast("tuple[Value, ...]", block))
    return found


def _assignments(
    rows: list[Row],
    literal: AggregateCode,
    columns: Mapping[int, int],
    cells: Mapping[int, list[Value]],
) -> Iterator[tuple[Value, ...]]:
    if not cells:
        return _project(rows, [columns[slot] for slot in literal.inner])
    every = (
        cells[slot] if slot in cells else map(itemgetter(columns[slot]), rows)
        for slot in literal.inner
    )
    return zip(*every, strict=True)


def _told_apart(
    literal: AggregateCode, rows: list[Row], columns: Sequence[int], nulls: AbstractSet[int]
) -> bool:
    """Tell whether any two rows differ in a local column in which none of them has a null cell.

    The least and the greatest are the same whether two are one or not.
    """
    if literal.function in {"min", "max"}:
        return True
    known = [column for column in columns if column not in nulls]
    return bool(known) and len(set(_project(rows, known))) == len(rows)


def _only_atom(
    literal: AggregateCode, start: Binding
) -> tuple[AtomCode, list[ComparisonCode], _Computed] | None:
    """Return the one atom of a body in which every comparison waits for it, and what they do.

    The comparisons are those that test; the others give a variable its value.
    """
    atoms = [test.atom for test in literal.body if isinstance(test, PositiveCode)]
    tests = [test for test in literal.body if isinstance(test, ComparisonCode)]
    if len(atoms) != 1 or len(tests) != len(literal.body) - 1:
        return None
    if any(one.truth(start) is not None or one.assigned(start) is not None for one in tests):
        return None
    known = {slot for slot in atoms[0].slots if slot >= 0}
    known |= {slot for slot, cell in enumerate(start) if cell is not None}
    computed: _Computed = {}
    while True:
        found = next((one for test in tests for one in _given(test, known)), None)
        if found is None:
            return atoms[0], tests, computed
        slot, term, test = found
        computed[slot] = term
        known.add(slot)
        tests = [one for one in tests if one is not test]


def _given(
    test: ComparisonCode, known: AbstractSet[int]
) -> Iterator[tuple[int, TermCode, ComparisonCode]]:
    """Yield the variable that a comparison gives a value to, where all that it needs is known."""
    if test.operator == "=":
        for side, other in ((test.left, test.right), (test.right, test.left)):
            if side.slot >= 0 and side.slot not in known and other.reads <= known:
                yield side.slot, other, test


def _local_columns(atom: AtomCode, pattern: Pattern, inner: Sequence[int]) -> dict[int, int] | None:
    """Return the column of each local variable where each stands in just one, the others bound."""
    place: dict[int, int] = {}
    for column, (slot, cell) in enumerate(zip(atom.slots, pattern, strict=True)):
        if cell is not None and not is_hole(cell):
            continue
        if cell is not None or slot < 0 or slot in place:
            return None
        place[slot] = column
    return place if inner and place.keys() == set(inner) else None


def _kept(rows: list[Row], tests: list[ComparisonCode], bindings: _Bound) -> list[Row] | None:
    """Return the rows that pass the comparisons; ``None`` where one is not decided."""
    if not tests:
        return rows
    kept: list[Row] = []
    for row, binding in zip(rows, bindings(rows), strict=True):
        passes = _passes(tests, binding)
        if passes is None:
            return None
        if passes:
            kept.append(row)
    return kept


def _passes(tests: list[ComparisonCode], binding: Binding) -> bool | None:
    """Tell whether a row passes the comparisons; ``None`` where that is not decided."""
    truths = [test.truth(binding) for test in tests]
    if False in truths:
        return False
    # What is not decided may be anything else, also something that counts as true.
    return True if all(truth is True for truth in truths) else None


def _bindings(
    rows: Iterable[Row], atom: AtomCode, start: Binding, computed: _Computed
) -> Iterator[Binding]:
    """Yield the group's binding with the cells of each row: one list, written anew each time."""
    binding = list(start)
    places = [(slot, column) for column, slot in enumerate(atom.slots) if slot >= 0]
    for row in rows:
        for slot, column in places:
            binding[slot] = row[column]
        for slot, term in computed.items():
            binding[slot] = term.evaluate(binding)
        yield binding


def _computed_cells(
    rows: list[Row], computed: _Computed, bindings: _Bound
) -> dict[int, list[Value]] | None:
    """Return what is computed of each row; ``None`` where something is not a value."""
    if not computed:
        return {}
    slots = list(computed)
    every = [[binding[slot] for slot in slots] for binding in bindings(rows)]
    if not all(map(is_ground, every)):
        return None
    columns: Iterable[Sequence[Cell]] = zip(*every, strict=True) if every else [()] * len(slots)
    return {
        slot: cast("list[Value]", list(cells)) for slot, cells in zip(slots, columns, strict=True)
    }


def _targets(
    rows: list[Row],
    target: TermCode | None,
    atom: AtomCode,
    cells: Mapping[int, list[Value]],
    bindings: _Bound,
) -> tuple[Value, ...] | None:
    """Return what each row adds, nothing where rows are counted; ``None`` where one has none."""
    if target is None:
        return ()
    if target.slot in cells:
        return tuple(cells[target.slot])
    if target.slot >= 0 and target.slot in atom.slots:
        return tuple(map(itemgetter(atom.slots.index(target.slot)), rows))
    found = tuple(target.evaluate(binding) for binding in bindings(rows))
    return cast("tuple[Value, ...]", found) if is_ground(found) else None


def _project(rows: list[Row], columns: Sequence[int]) -> Iterator[Row]:
    if len(columns) == 1:
        return zip(map(itemgetter(columns[0]), rows), strict=True)
    return map(itemgetter(*columns), rows)


# Literals are taken as a checker takes them, whichever is ready, so every look-up it makes is
# among the recorded ones.
# Where more than 1,000 rows of sources alone were folded, the certificate carries a summary
# instead of the rows; then the look-ups are not part of what the certificate shows.

MOST_INLINE = 1_000
_BLOCK = 4_096

GroupKey = tuple[int, int, tuple["Cell", ...]]


@frozen
class Exact:
    """``value`` is ``None`` where the fold of nothing has no value, ⋆ where it is not exact.

    ``assignments`` are the distinct values of the local variables, ``targets`` what each adds,
    ``read`` the rows that were certain, and ``sources`` is set where a summary stands for them.
    ``covered`` served its look-ups; ``closed`` tells that an accepted assumption took part.
    """

    value: Cell
    assignments: Sequence[tuple[Value, ...]] = ()
    targets: Sequence[Value] = ()
    read: Sequence[Fact] = ()
    sources: tuple[tuple[str, Evidence], ...] = ()
    covered: tuple[Covered, ...] = ()
    closed: bool = False


@frozen
class Chunk:
    """Assignments that come one after another; texts as certificates have them."""

    count: int
    total: str | None
    least: str | None
    greatest: str | None
    hash: str


class Rows(Protocol):
    """What the assignments of a group are made from."""

    def tested(self, literal: Test, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which a literal may be true."""
        ...

    def possible(
        self, predicate: str, pattern: Pattern, unread: AbstractSet[int] = frozenset()
    ) -> list[OpenRow]:
        """Return the possible rows that match a pattern."""
        ...

    def is_served(self, predicate: str, pattern: Pattern) -> bool:
        """Tell whether the certificate will say all that matches a pattern."""
        ...

    def look(self, steps: int) -> None:
        """Look at the clock after so many steps and again, where there is one."""
        ...

    def is_certain(self, predicate: str, row: OpenRow) -> bool:
        """Tell whether a ground row is certain."""
        ...


class Walker(Rows, Protocol):
    """What an aggregate needs of the slice it belongs to."""

    outside: Outside
    derived: frozenset[str]


class Aggregates:
    """Evaluates the aggregates of a slice, each group once."""

    def __init__(self, owner: Walker) -> None:
        self._owner = owner
        self.known: dict[GroupKey, Exact] = {}
        self._members: dict[GroupKey, Value | None] = {}
        self.chunks: dict[GroupKey, list[Chunk]] = {}
        """Those of the groups that are summarised, once a certificate has needed them."""

    def restart(self) -> None:
        """Forget the values: rows have been added."""
        self.known.clear()
        self._members.clear()
        self.chunks.clear()

    def exact(self, code: RuleCode, place: int, literal: AggregateCode, binding: Binding) -> Exact:
        """Return the value for the group that the binding names."""
        group = tuple([binding[slot] for slot in literal.outer])
        # Nobody knows which group it is where a label names it.
        if not all(map(is_known, group)):
            return Exact(OPEN)
        key = (code.number, place, group)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self._evaluate(code, literal, group)
        return known

    def ruled_out(self, code: RuleCode, binding: Binding) -> tuple[int, Value] | None:
        """Return where a body holds an open least or greatest for what it cannot be.

        The greatest is at least what one member has that is certain, and the least at most that:
        with the place comes the member.
        """
        found: list[tuple[int, Value]] = []
        for place, literal in enumerate(code.body):
            if not isinstance(literal, AggregateCode) or not is_bounded(literal):
                continue
            if not is_hole(self.exact(code, place, literal, binding).value):
                continue
            member = self._member(code, place, literal, binding)
            held = [("=", binding[literal.result]), *_compared(code, literal, binding)]
            found += [
                (place, member)
                for operator, cell in held
                if member is not None
                and is_known(cell)
                and is_ruled_out(literal.function, operator, cast("Value", cell), member)
            ]
        return found[0] if found else None

    def _member(
        self, code: RuleCode, place: int, literal: AggregateCode, binding: Binding
    ) -> Value | None:
        """Return the target furthest out of the members of a group that are certain."""
        group = tuple([binding[slot] for slot in literal.outer])
        if not all(map(is_known, group)):
            return None
        key = (code.number, place, group)
        if key not in self._members:
            start: Binding = [None] * len(code.names)
            for slot, value in zip(literal.outer, group, strict=True):
                start[slot] = value
            self._members[key] = Group(self._owner, literal).furthest(start)
        return self._members[key]

    def _evaluate(self, code: RuleCode, literal: AggregateCode, group: tuple[Cell, ...]) -> Exact:
        start: Binding = [None] * len(code.names)
        for slot, value in zip(literal.outer, group, strict=True):
            start[slot] = value
        outside = self._owner.outside
        before, outside.usage = outside.usage, Usage()
        found = self._at_once(literal, start) or Group(self._owner, literal).exact(start)
        used = outside.usage
        found = replace(found, covered=tuple(used.covered), closed=used.closed)
        if len(found.assignments) > MOST_INLINE and self._is_plain(literal):
            sources = _sources(self._owner, outside.usage, found)
            if sources:
                outside.usage = before
                return replace(found, sources=sources)
        if isinstance(found.read, ReadRows):
            outside.usage.facts.update(found.read)
        before.add(outside.usage)
        outside.usage = before
        return found

    def _at_once(self, literal: AggregateCode, start: Binding) -> Exact | None:
        """Fold a group of plain rows as columns; ``None`` where it is not one."""
        if not self._is_plain(literal):
            return None
        group = plain_group(self._owner.outside, literal, start)
        if group is None:
            return None
        value = fold_exactly(literal, group.targets, len(group.assignments))
        return Exact(value, group.assignments, group.targets, group.read)

    def _is_plain(self, literal: AggregateCode) -> bool:
        """Tell whether only rows of sources are folded, no conclusions."""
        return all(
            isinstance(test, ComparisonCode)
            or (isinstance(test, PositiveCode) and test.atom.predicate not in self._owner.derived)
            for test in literal.body
        )


def _sources(owner: Walker, usage: Usage, found: Exact) -> tuple[tuple[str, Evidence], ...]:
    """Return the sources a summary can name; none where a row rests on an assumption."""
    named: dict[tuple[str, int], Evidence] = {}
    number = owner.outside.book.number
    for covered in usage.covered:
        for evidence in owner.outside.sources(covered):
            named[covered[0], number(evidence)] = evidence
    for predicate, grounds in _grounds(owner, found.read):
        if grounds is None or grounds.assumption is not None:
            return ()
        named[predicate, number(grounds.evidence)] = grounds.evidence
    vouched = all(not evidence.assumed for evidence in named.values())
    if usage.assumptions or not vouched:
        return ()
    return tuple((predicate, evidence) for (predicate, _), evidence in named.items())


def _grounds(owner: Walker, read: Sequence[Fact]) -> Iterator[tuple[str, Grounds | None]]:
    """Yield on what the rows rest; of rows that were read at once each grounds but once."""
    if isinstance(read, ReadRows):
        yield from ((read.predicate, grounds) for grounds in read.grounds)
        return
    for predicate, row in read:
        yield predicate, owner.outside.grounds(predicate, row)


def is_bounded(literal: AggregateCode) -> bool:
    """Tell whether members of a group bound its least or greatest: the target is a variable."""
    if literal.function not in {"min", "max"} or literal.threshold is not None:
        return False
    plain = not any(isinstance(test, NegativeCode) for test in literal.body)
    return plain and literal.target is not None and literal.target.slot >= 0


def _compared(
    code: RuleCode, literal: AggregateCode, binding: Binding
) -> Iterator[tuple[str, Cell]]:
    """Yield what a rule compares the result of an aggregate with, the result being on the left."""
    for one in code.body:
        if isinstance(one, ComparisonCode) and one.operator in TURNED:
            if one.left.slot == literal.result:
                yield one.operator, one.right.evaluate(binding)
            if one.right.slot == literal.result:
                yield TURNED[one.operator], one.left.evaluate(binding)


def fold_exactly(literal: AggregateCode, targets: Sequence[Value], count: int) -> Cell:
    """Fold what the assignments add; ⋆ where the fold errs, ``None`` where nothing has no value."""
    if literal.target is None:
        return count
    try:
        return fold(literal.function, literal.target.kind, targets)
    except EvaluationError:
        return OPEN


class Group:
    """The assignments of one group: enumerated as possible, then examined for certainty."""

    def __init__(self, owner: Rows, literal: AggregateCode) -> None:
        self.owner = owner
        self.literal = literal
        self.read: dict[Fact, None] = {}

    def exact(self, start: Binding) -> Exact:
        """Fold the group's distinct assignments."""
        distinct = self.distinct(start)
        if not all(is_ground(cells) for cells in distinct):
            return Exact(OPEN)
        # The least and the greatest are the same whether two assignments are one or not.
        if self.literal.function not in {"min", "max"} and some_may_be_one(distinct):
            # A checker looks at no row of such a group: nodes for them would be there for nothing.
            return Exact(OPEN)
        certain = True
        targets: list[Value] = []
        for binding in distinct.values():
            self.owner.look(1)
            for test in self.literal.body:
                certain &= self._holds(test, binding)
            if self.literal.target is not None:
                target = self.literal.target.evaluate(binding)
                certain &= is_known(target)
                targets.append(target)  # type: ignore[arg-type]  # folded only without holes
        rows: tuple[tuple[Value, ...], ...] = tuple(distinct)  # type: ignore[arg-type]
        if not certain:
            return Exact(OPEN)
        value = fold_exactly(self.literal, targets, len(rows))
        return Exact(value, rows, tuple(targets), tuple(self.read))

    def furthest(self, start: Binding) -> Value | None:
        """Return the target furthest out of the assignments that are certain.

        No more is consulted than one of them needs, so that a proof shows no other.
        """
        slot = cast("TermCode", self.literal.target).slot
        bindings = [one for one in self.distinct(start).values() if is_known(one[slot])]
        bindings.sort(key=itemgetter(slot), reverse=self.literal.function == "max")
        for binding in bindings:
            self.owner.look(1)
            if all(self._holds(test, binding) for test in self.literal.body):
                return cast("Value", binding[slot])
        return None

    def distinct(self, start: Binding) -> dict[tuple[Cell, ...], Binding]:
        """Return the distinct cells of the local variables, each with a binding that has them."""
        inner, found = self.literal.inner, {}
        for one in self._assignments(start):
            self.owner.look(1)
            found[tuple([one[slot] for slot in inner])] = one
        return found

    def _assignments(self, start: Binding) -> list[Binding]:
        found: list[Binding] = []
        waiting = [(start, self.literal.body)]
        while waiting:
            self.owner.look(1)
            binding, left = waiting.pop()
            if not left:
                found.append(binding)
                continue
            place = self._next(binding, left)
            rest = left[:place] + left[place + 1 :]
            waiting += [(one, rest) for one in self.owner.tested(left[place], binding)]
        return found

    def _next(self, binding: Binding, left: tuple[Test, ...]) -> int:
        """Choose tests first, then of the atoms a checker can take the one with the fewest unbound.

        Only where it could take none is another one looked up, which it then can.
        """
        best, least = -1, (2, 0)
        for place, test in enumerate(left):
            if not isinstance(test, PositiveCode):
                if _is_ready(test, binding):
                    return place
                continue
            pattern = test.atom.pattern(binding)
            if any(c is None and s < 0 for c, s in zip(pattern, test.atom.slots, strict=True)):
                continue
            # A pattern with a hole is answered by an open row where nothing serves it.
            ready = is_starred(pattern) or self.owner.is_served(test.atom.predicate, pattern)
            rank = (0 if ready else 1, pattern.count(None))
            if best < 0 or rank < least:
                best, least = place, rank
        if best < 0:
            raise ValueError("an aggregate's body cannot be ordered")
        return best

    def _holds(self, test: Test, binding: Binding) -> bool:
        if isinstance(test, ComparisonCode):
            return test.truth(binding) is True
        row = test.atom.pattern(binding)
        if not is_ground(row):
            return False
        if isinstance(test, NegativeCode):
            return not self.owner.possible(test.atom.predicate, row)
        if not self.owner.is_certain(test.atom.predicate, row):  # type: ignore[arg-type]  # ground
            return False
        self.read[test.atom.predicate, row] = None  # type: ignore[index]  # the row is ground
        return True


def some_may_be_one(assignments: Iterable[Sequence[Cell]]) -> bool:
    """Tell whether two of these distinct assignments differ in nothing that is known.

    A label tells nothing apart from a value, and what is perhaps none nothing from none either.
    """
    by_form: dict[tuple[object, ...], list[Sequence[Cell]]] = {}
    for one in assignments:
        by_form.setdefault(tuple(map(_form, one)), []).append(one)
    forms = list(by_form)
    for number, form in enumerate(forms):
        for other in forms[: number + 1]:
            unknown = set(form) - {None, NullPolicy.NONE}
            if (form != other or unknown) and _may_overlap(form, other, by_form):
                return True
    return False


def _form(cell: Cell) -> NullPolicy | None:
    if not isinstance(cell, NullCell):
        return None
    return NullPolicy.NONE if cell.policy.is_empty else cell.policy


def _may_overlap(
    form: tuple[object, ...],
    other: tuple[object, ...],
    by_form: Mapping[tuple[object, ...], list[Sequence[Cell]]],
) -> bool:
    """Tell whether an assignment of one form agrees with one of the other in all they know."""
    pairs = list(zip(form, other, strict=True))
    none = NullPolicy.NONE
    if any(none in pair and set(pair) - {none, NullPolicy.MAYBE} for pair in pairs):
        return False
    both = [place for place, pair in enumerate(pairs) if pair == (None, None)]
    keys = [tuple([row[place] for place in both]) for row in by_form[form]]
    if form == other:
        return len(set(keys)) < len(keys)
    return not {tuple([row[place] for place in both]) for row in by_form[other]}.isdisjoint(keys)


def _is_ready(test: ComparisonCode | NegativeCode, binding: Binding) -> bool:
    if isinstance(test, ComparisonCode):
        return test.truth(binding) is not None or test.assigned(binding) is not None
    return None not in test.atom.pattern(binding)
