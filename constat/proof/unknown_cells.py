"""Which null cells a goal meets that may be values: what is not known, in words and as goals.

Only columns count that the goal or a rule below it reads, in rows that its constants let match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.logic import (
    OPEN,
    Aggregate,
    Constant,
    Negative,
    NullCell,
    NullPolicy,
    Positive,
    is_wildcard,
    row_order,
)
from constat.proof.sentences import show_value, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from constat.evaluation import Outcome
    from constat.logic import Atom, Literal, OpenRow, Predicate, Row, Slot


@dataclass(frozen=True, slots=True)
class UnknownRow:
    """A certain row of which not every cell that is read is known."""

    predicate: Predicate
    row: Row
    columns: tuple[int, ...]
    tier: str

    @property
    def pattern(self) -> OpenRow:
        """The row, as what to ask for: every cell that may be a value stays open."""
        cells: OpenRow = self.row
        return tuple(OPEN if isinstance(cell, NullCell) else cell for cell in cells)

    def is_among(self, covered: Collection[tuple[str, tuple[int, ...], Row]]) -> bool:
        """Whether it may be a row of one of these patterns: predicate, columns, and their key."""
        cells: OpenRow = self.row
        return any(
            name == self.predicate.name
            and all(_may_be(value, cells[place]) for place, value in zip(columns, key, strict=True))
            for name, columns, key in covered
        )

    @property
    def reason(self) -> str:
        """What is not known: `the region of order 7 is not known`."""
        names = [words(self.predicate.columns[column].name) for column in self.columns]
        listed = " and ".join(f"the {name}" for name in names)
        is_known = "is not known" if len(names) == 1 else "are not known"
        return f"{listed} of {_subject(self.predicate, self.row)} {is_known}"


def unknown_rows(outcome: Outcome) -> tuple[UnknownRow, ...]:
    """Give the rows that a goal met, and of which it reads what nobody knows."""
    readings = _readings(outcome)
    found: dict[tuple[str, Row], UnknownRow] = {}
    for call in outcome.calls:
        predicate = call.demand.predicate
        atoms = readings.get(predicate.name, ())
        for portion in call.answer.portions if atoms else ():
            for row in portion.rows:
                columns = _unknown(row, atoms)
                if columns:
                    tier = portion.evidence.tier
                    found[predicate.name, row] = UnknownRow(predicate, row, columns, tier)
    return tuple(sorted(found.values(), key=lambda one: (one.predicate.name, row_order(one.row))))


def _readings(outcome: Outcome) -> dict[str, list[Atom]]:
    """Give the atoms that read external predicates, of the goal and of the rules below it."""
    program, seen = outcome.program, {outcome.goal.predicate}
    found: dict[str, list[Atom]] = {outcome.goal.predicate: [outcome.goal]}
    waiting = [outcome.goal.predicate]
    while waiting:
        name = waiting.pop()
        for number in program.rule_numbers(name):
            for atom in _atoms(program.rules[number].body):
                found.setdefault(atom.predicate, []).append(atom)
                if atom.predicate not in seen:
                    seen.add(atom.predicate)
                    waiting.append(atom.predicate)
    return found


def _atoms(body: tuple[Literal, ...]) -> Iterator[Atom]:
    for literal in body:
        if isinstance(literal, Aggregate):
            yield from _atoms(literal.body)
        elif isinstance(literal, Positive | Negative):
            yield literal.atom


def _unknown(row: Row, atoms: Sequence[Atom]) -> tuple[int, ...]:
    """Give the columns of a row that some atom reads, that it may match, and that are not known."""
    found: dict[int, None] = {}
    cells: OpenRow = row
    for atom in atoms:
        pairs = list(zip(atom.terms, cells, strict=True))
        if all(not isinstance(term, Constant) or _may_be(term.value, cell) for term, cell in pairs):
            for column, (term, cell) in enumerate(pairs):
                if _may_be_any(cell) and not is_wildcard(term):
                    found[column] = None
    return tuple(sorted(found))


def _may_be(value: Slot, cell: Slot) -> bool:
    return value == cell or _may_be_any(cell)


def _may_be_any(cell: object) -> bool:
    return isinstance(cell, NullCell) and cell.policy is not NullPolicy.NONE


def _subject(predicate: Predicate, row: Row) -> str:
    """Name a row by its key, or else by what is known of it."""
    cells: OpenRow = row
    places = predicate.key or tuple(range(len(row)))
    known = [place for place in places if not isinstance(cells[place], NullCell)]
    columns = predicate.columns
    shown = {p: show_value(cells[p], columns[p].kind, columns[p].name) for p in known}
    if predicate.key:
        return f"{words(predicate.name)} {', '.join(shown.values())}"
    listed = ", ".join(f"{words(columns[place].name)} {text}" for place, text in shown.items())
    return f"{words(predicate.name)} with {listed}" if listed else f"a {words(predicate.name)}"
