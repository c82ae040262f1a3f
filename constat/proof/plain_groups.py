"""Groups whose assignments are rows of one source predicate, folded as columns.

In: an aggregate whose body is one positive literal and comparisons of what it binds, and a binding
of its group.  Out: the same ``Exact`` as literal by literal, or ``None`` where that way is needed:
an open row, a row that does not hold, a conclusion, a cell without a value.  Invariant: only speed
differs; the same rows, sources and look-ups are noted, in the same order.

Example: a sum over a million orders of a customer takes its values from the rows as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, cast, overload

from constat.proof.instances import ComparisonCode, PositiveCode, is_ground, is_hole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Row, Value
    from constat.proof.answers import Grounds
    from constat.proof.instances import AggregateCode, AtomCode, Binding, Pattern, TermCode
    from constat.proof.outside import Fact, Outside


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


@dataclass(frozen=True, slots=True)
class PlainGroup:
    """The distinct local values of a group, what each adds, and the rows that gave them."""

    assignments: tuple[tuple[Value, ...], ...]
    targets: tuple[Value, ...]
    read: ReadRows


def plain_group(outside: Outside, literal: AggregateCode, start: Binding) -> PlainGroup | None:
    """Return the group, ``None`` where its literals have to be taken one by one.

    Whoever takes it notes its facts as used; coverage and assumptions are noted here.
    """
    atom = _only_atom(literal, start)
    if atom is None or outside.side(atom.predicate).rows.has_open_rows:
        return None
    pattern = atom.pattern(start)
    columns = _local_columns(atom, pattern, literal.inner)
    if columns is None:
        return None
    # A group's literals are taken from a stack, so that the last row comes first.
    rows = cast("list[Row]", outside.possible(atom.predicate, pattern)[::-1])
    kept = _kept(rows, _tests(literal), atom, start)
    if kept is None:
        return None
    targets = _targets(kept, literal.target, atom, start)
    grounds = None if targets is None else outside.all_hold(atom.predicate, kept)
    if targets is None or grounds is None:
        return None
    read = ReadRows(atom.predicate, kept, grounds)
    return PlainGroup(tuple(_project(kept, columns)), targets, read)


def _only_atom(literal: AggregateCode, start: Binding) -> AtomCode | None:
    """Return the one atom of a body in which every comparison waits for it."""
    atoms = [test.atom for test in literal.body if isinstance(test, PositiveCode)]
    tests = _tests(literal)
    if len(atoms) != 1 or len(tests) != len(literal.body) - 1:
        return None
    waiting = all(one.truth(start) is None and one.assigned(start) is None for one in tests)
    return atoms[0] if waiting else None


def _tests(literal: AggregateCode) -> list[ComparisonCode]:
    return [test for test in literal.body if isinstance(test, ComparisonCode)]


def _local_columns(
    atom: AtomCode, pattern: Pattern, inner: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the column of each local variable where each stands in just one, the others bound."""
    place: dict[int, int] = {}
    for column, (slot, cell) in enumerate(zip(atom.slots, pattern, strict=True)):
        if cell is not None and not is_hole(cell):
            continue
        if cell is not None or slot < 0 or slot in place:
            return None
        place[slot] = column
    if not inner or place.keys() != set(inner):
        return None
    return tuple(place[slot] for slot in inner)


def _kept(
    rows: list[Row], tests: list[ComparisonCode], atom: AtomCode, start: Binding
) -> list[Row] | None:
    """Return the rows that pass the comparisons; ``None`` where one is not decided."""
    if not tests:
        return rows
    kept: list[Row] = []
    for row, binding in zip(rows, _bindings(rows, atom, start), strict=True):
        truths = [test.truth(binding) for test in tests]
        if False in truths:
            continue
        if not all(truth is True for truth in truths):
            return None
        kept.append(row)
    return kept


def _bindings(rows: list[Row], atom: AtomCode, start: Binding) -> Iterator[Binding]:
    """Yield the group's binding with the cells of each row: one list, written anew each time."""
    binding = list(start)
    places = [(slot, column) for column, slot in enumerate(atom.slots) if slot >= 0]
    for row in rows:
        for slot, column in places:
            binding[slot] = row[column]
        yield binding


def _targets(
    rows: list[Row], target: TermCode | None, atom: AtomCode, start: Binding
) -> tuple[Value, ...] | None:
    """Return what each row adds, nothing where rows are counted; ``None`` where one has none."""
    if target is None:
        return ()
    if target.slot >= 0 and target.slot in atom.slots:
        return tuple(map(itemgetter(atom.slots.index(target.slot)), rows))
    found = tuple(target.evaluate(binding) for binding in _bindings(rows, atom, start))
    return cast("tuple[Value, ...]", found) if is_ground(found) else None


def _project(rows: list[Row], columns: tuple[int, ...]) -> Iterator[Row]:
    if len(columns) == 1:
        return zip(map(itemgetter(columns[0]), rows), strict=True)
    return map(itemgetter(*columns), rows)
