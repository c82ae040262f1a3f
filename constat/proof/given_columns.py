"""A decision whose rules have given columns, shown with the rules as they are written (42, 47).

Evaluation reads what is asked of a given column as a relation (`with_given`). A certificate needs
none: whoever calls the predicate binds the column, and each key of the upper bound has it. So the
same rows are shown over the rules as written. Where that shows less, as where nobody knows what is
asked, the relation is written too.
"""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from constat.evaluation import (
    CONCEIVABLE,
    DemandEntry,
    PackedColumn,
    PackedRows,
    RuleDerivation,
    Verdict,
)
from constat.frozen import frozen, slotted
from constat.logic import Kind
from constat.proof.projection import demanded_relations, with_projected_negations
from constat.proof.proofs import Proof, RuleNode, UnshownError, UnsupportedError
from constat.proof.reading import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Call, Derivation, Failure, Outcome
    from constat.logic import Atom, OpenRow, Row, Value
    from constat.proof.decide import Decision
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node


def as_written(decision: Decision) -> Decision:
    """Return a decision that is shown with given columns; as it is where that shows less."""
    program = decision.program
    if program is None or decision.limit:
        return decision
    try:
        outcome = _Written(decision.reading.outcome, with_projected_negations(program))
        proof = _shown(decision, outcome)
    except (UnshownError, UnsupportedError, TooLargeError, KeyError):
        return decision
    return decision if proof is None else replace(decision, proof=proof)


def _shown(decision: Decision, outcome: _Written) -> Proof | None:
    """Show the same of the same reading; `None` where another verdict would follow."""
    before = decision.proof
    reading = replace(decision.reading, program=outcome.program, outcome=outcome)
    proof = Proof(reading, decision.goal)
    proof.slice.shows_negated = before.slice.shows_negated
    proof.prefer(outcome.nodes(before.nodes))
    proof.show(before.answers, bounded=not before.answers)
    goal = decision.goal.predicate
    possible = bool(before.answers) or bool(proof.slice.possible(goal, proof.pattern, proof.unread))
    disproved = decision.verdict in {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}
    same = set(proof.accepted_assumptions()) == set(before.accepted_assumptions())
    worth = [
        max((one.confidences[fact] for fact in one.answers), default=one.absence_confidence())
        for one in (before, proof)
    ]
    return proof if same and possible is not disproved and worth[0] == worth[1] else None


@slotted
class _Written:
    """An outcome told in the rules as written: without the relations of what was asked."""

    inner: Outcome
    program: AnalysedProgram
    _numbers: dict[int, int] = field(init=False)
    _firsts: dict[int, int] = field(init=False)
    _demanded: Mapping[str, str] = field(init=False)
    demands: tuple[DemandEntry, ...] = field(init=False)
    """What was asked of derived predicates, each key with its given columns."""

    def __post_init__(self) -> None:
        places = {rule.id: number for number, rule in enumerate(self.program.rules)}
        found = enumerate(self.inner.program.rules)
        self._numbers = {number: places[rule.id] for number, rule in found if rule.id in places}
        self._firsts = {
            places[rule.id]: len(rule.body) - len(self.program.rules[places[rule.id]].body)
            for rule in self.inner.program.rules
            if rule.id in places
        }
        self._demanded = demanded_relations(self.program)
        hidden = set(self._demanded.values())
        entries = (one for one in self.inner.demands if one.predicate not in hidden)
        self.demands = tuple(map(self._entry, entries))

    @property
    def goal(self) -> Atom:
        """The goal that was evaluated."""
        return self.inner.goal

    @property
    def calls(self) -> tuple[Call, ...]:
        """All demands made outside, in order."""
        return self.inner.calls

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Rule instances that erred."""
        found = (one for one in self.inner.failures if one.rule in self._numbers)
        return tuple(replace(one, rule=self._numbers[one.rule]) for one in found)

    @property
    def stopped(self) -> str:
        """Why evaluation stopped before the end."""
        return self.inner.stopped

    def strength(self, atom: Atom) -> int:
        """The greatest strength of the rows that match the atom."""
        return self.inner.strength(atom)

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        """The rows of a predicate with at least that strength."""
        return self.inner.rows(predicate, least)

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:
        """One derivation of a row, without the premise that it was asked for."""
        found = self.inner.derivation(predicate, row, least)
        if not isinstance(found, RuleDerivation):
            return found
        number = self._numbers[found.rule]
        first = self._first(number)
        listed = {place - first: rows for place, rows in found.listed.items()}
        return replace(found, rule=number, premises=found.premises[first:], listed=listed)

    def nodes(self, nodes: Mapping[Fact, Node]) -> dict[Fact, Node]:
        """Give the nodes of a proof over the rules that were evaluated."""
        return dict(self._nodes(nodes))

    def _nodes(self, nodes: Mapping[Fact, Node]) -> Iterator[tuple[Fact, Node]]:
        for fact, node in nodes.items():
            if not isinstance(node, RuleNode):
                yield fact, node
            elif node.rule in self._numbers:
                number = self._numbers[node.rule]
                first = self._first(number)
                totals = tuple((place - first, one) for place, one in node.totals)
                premises = node.premises[first:]
                told = replace(node, rule=number, premises=premises, exacts=(), totals=totals)
                yield fact, told

    def _first(self, number: int) -> int:
        """Count the literals that were put first: what is asked of the head's given columns.

        The rule of a projection (`late.some.days`) was evaluated without one.
        """
        return self._firsts[number]

    def _given(self, predicate: str) -> tuple[int, ...]:
        return self.program.program.predicates[predicate].given

    def _entry(self, demand: DemandEntry) -> DemandEntry:
        """Give each key its given columns; orders are those that bind what others are given."""
        given = self._given(demand.predicate)
        columns = tuple(sorted({*demand.columns, *given}))
        if columns == demand.columns:
            return replace(demand, orders={})
        asked = [
            dict(zip(given, row, strict=True))
            for row in self.inner.rows(self._demanded[demand.predicate], CONCEIVABLE)
        ]
        keys = {
            tuple(cells[place] for place in columns)
            for key, more in product(demand.keys, asked)
            for cells in [{**more, **dict(zip(demand.columns, key, strict=True))}]
            if all(more.get(place, cell) == cell for place, cell in cells.items())
        }
        return DemandEntry(demand.predicate, columns, {}, frozenset(keys))  # type: ignore[arg-type]


# Rows of whole numbers, sorted as texts and hashed chunk by chunk, from whole columns.

# Up to so many digits, digits and length of a number fit into one key with a bit for the sign.
_MOST_PACKED: Final = 17
# With 20 digits, shorter numbers cannot be shifted to the same length within 64 bits.
_MOST_DIGITS: Final = 19
_NARROW_DIGITS: Final = 9
_BLOCK: Final = 1 << 16
_POWERS: Final = tuple(10**place for place in range(_MOST_DIGITS + 1))


@frozen
class _Column:
    """Whole numbers in two parts: whether each is negative, and its digits as a number."""

    negative: NDArray[np.bool_]
    size: NDArray[np.uint64]
    digits: NDArray[np.int8]
    """How many digits each has."""

    def sort_keys(self) -> list[NDArray[Any]]:
        """Return keys that sort as the texts do, the first one first: `-` is below all digits."""
        longest = int(self.digits.max())
        powers = np.array(_POWERS, np.uint64)
        padded = self.size * powers[longest - self.digits]
        if longest > _MOST_PACKED:
            return [~self.negative, padded, self.digits]
        sign = np.where(self.negative, np.uint64(0), np.uint64(1 << 63))
        return [padded * np.uint64(32) + self.digits.astype(np.uint64) + sign]

    def taken(self, order: NDArray[np.intp]) -> _Column:
        """Return the numbers at some places."""
        return _Column(self.negative[order], self.size[order], self.digits[order])


def sorted_hashes(
    rows: Sequence[tuple[Value, ...]],
    kinds: Sequence[Kind],
    targets: Sequence[Value],
    size: int,
) -> Iterator[tuple[str, list[Value]]] | None:
    """Return the hexadecimal hash of each chunk of so many rows, and its targets in their order.

    ``None`` where a number has 20 digits.  Targets are empty where rows are counted.
    """
    found = [_column(_numbers(rows, n, its)) for n, its in enumerate(kinds)]
    columns = [one for one in found if one is not None]
    if len(columns) < len(found):
        return None
    order = _order([key for column in columns for key in column.sort_keys()])
    lines, added = _chunks(columns, order, size), _Added(targets)
    return (
        (hashlib.sha256(line).hexdigest(), added.at(order[start : start + size]))
        for start, line in zip(range(0, len(rows), size), lines, strict=True)
    )


def _numbers(rows: Sequence[tuple[Value, ...]], place: int, kind: Kind) -> NDArray[Any]:
    form = np.uint64 if kind is Kind.UNSIGNED else np.int64
    packed = rows.columns[place].numbers if isinstance(rows, PackedRows) else None
    if packed is not None:
        return np.frombuffer(packed, np.int64).astype(form)
    values = cast("Iterable[int]", map(itemgetter(place), rows))
    return np.fromiter(values, form, len(rows))


class _Added:
    """What each row adds; nothing where rows are counted."""

    def __init__(self, targets: Sequence[Value]) -> None:
        self._targets = targets
        self._numbers: NDArray[Any] = np.empty(0)
        packed = targets.numbers if isinstance(targets, PackedColumn) else None
        if packed is not None:
            self._numbers = np.frombuffer(packed, np.int64)
        elif targets and isinstance(targets[0], int):
            self._numbers = np.array(list(targets))

    def at(self, places: NDArray[np.intp]) -> list[Value]:
        """Return what the rows at some places add."""
        if not self._targets:
            return []
        # What does not fit into 64 bits would become an array of another type.
        if self._numbers.dtype in {np.dtype(np.int64), np.dtype(np.uint64)}:
            return cast("list[Value]", self._numbers[places].tolist())
        return [self._targets[place] for place in places.tolist()]


def _column(numbers: NDArray[Any]) -> _Column | None:
    negative = numbers < 0
    unsigned = numbers.astype(np.uint64)
    # In two's complement the least number of 64 bits has its own size as an unsigned one.
    sizes = np.where(negative, ~unsigned + np.uint64(1), unsigned)
    if int(sizes.max()) >= _POWERS[-1]:
        return None
    digits = np.searchsorted(np.array(_POWERS, np.uint64), sizes, side="right")
    return _Column(negative, sizes, np.maximum(digits, 1).astype(np.int8))


def _order(keys: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Sort by several keys; where the first one decides everything, by that alone."""
    order = np.argsort(keys[0])
    first = keys[0][order]
    if np.any(first[1:] == first[:-1]):
        return np.lexsort(keys[::-1])
    return order


def _chunks(columns: list[_Column], order: NDArray[np.intp], size: int) -> Iterator[bytes]:
    """Yield the lines of each chunk; blocks of rows keep the tables of letters small."""
    block = max(size, _BLOCK // size * size)
    for start in range(0, len(order), block):
        part = [column.taken(order[start : start + block]) for column in columns]
        letters, ends = _letters(part)
        begin = 0
        for last in range(size - 1, len(ends) + size - 1, size):
            end = int(ends[min(last, len(ends) - 1)])
            yield letters[begin:end]
            begin = end


def _letters(columns: list[_Column]) -> tuple[bytes, NDArray[np.intp]]:
    """Write rows one after another, and say where each ends."""
    rows = len(columns[0].size)
    texts: list[NDArray[np.uint8]] = []
    shown: list[NDArray[np.bool_]] = []

    def write(text: bytes) -> None:
        texts.append(np.broadcast_to(np.frombuffer(text, np.uint8), (rows, len(text))))
        shown.append(np.ones((rows, len(text)), np.bool_))

    write(b'["')
    for place, column in enumerate(columns):
        if place:
            write(b'","')
        longest = int(column.digits.max())
        if column.negative.any():
            texts.append(np.full((rows, 1), ord("-"), np.uint8))
            shown.append(column.negative[:, None])
        powers = np.array(_POWERS[:longest][::-1], np.uint64)
        numbers = column.size[:, None]
        if longest <= _NARROW_DIGITS:
            # Half as many bits are divided several times as fast.
            numbers, powers = numbers.astype(np.uint32), powers.astype(np.uint32)
        texts.append((numbers // powers % numbers.dtype.type(10)).astype(np.uint8) + ord("0"))
        shown.append(np.arange(longest) >= (longest - column.digits)[:, None])
    write(b'"]\n')
    mask = np.concatenate(shown, axis=1)
    return np.concatenate(texts, axis=1)[mask].tobytes(), np.cumsum(mask.sum(axis=1))
