"""Fill recursive relations as matrices of bits, in rounds.

In: a recursive component whose relations have two columns or more. Out: their rows, or nothing
where a rule has another form, or the matrices would be too large; then the rounds go over tables.

A relation is a matrix with one bit for each pair of values that may come together: the values are
numbered, and two columns that a rule equates share their numbers. What a rule reads besides the
component is a table by SQL, as any rule is (`statements`), with the variables that it shares with
the rest as its columns. If what is left is a chain from the first variable of the head to the
second, as in `p(?x, ?z) :- q(?x, ?y), r(?y, ?z).`, then its instances are the ways through the
matrices, and their heads are the bits of the product of these. So a bit comes in by an instance
over bits of rounds before, and the round is its rank (38, i); when a round brings none, each
product of the matrices lies within them, and they are closed under the rules (ii). In a round only
products with bits of the last round are taken: others were taken before.

A relation of more columns is a matrix for each value of the others, its labels: `role(?a, ?r, ?b)`
is a set of pairs (?a, ?b) for each ?r. Each instance of a rule gives its labels one value each, so
the instances of a rule are those of its copies, one for each choice of these values, and a copy is
a chain over the matrices that the choice names (i, ii). No choice is left out: a label that a part
of the rule has takes the values it has there, any other all values of its column. A column is a
label or a side throughout, and no variable of a rule is both.

Nothing of this is shared with the arrays of the run (`constat.columnar`).
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from itertools import combinations, islice, product
from typing import TYPE_CHECKING, Final

import numpy as np

from constat.diagnostics.interruption import check_interrupted
from constat.frozen import frozen, slotted
from constat.logic import Aggregate, Comparison, Kind, Positive, Variable, literal_variables
from constat.recount.statements import INTEGERS, RefusedError, RuleStatement, literal, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from constat.logic import Atom, Literal, Rule
    from constat.recount.tables import Tables

    Numbers = NDArray[np.int64]
    Words = NDArray[np.uint64]

_PAIR: Final = 2
_MOST_BITS: Final = 1 << 30
"""Bits of all matrices of a component together: 128 MiB, twice that where both sides are read."""
_MOST_WAYS: Final = 27
_MOST_COPIES: Final = 1_000
"""Of the rules of a component: a round multiplies each."""
_PORTION: Final = 1 << 18
"""Words that are gathered at once: they stay near the processor."""
_PER_PAIR: Final = 16
"""What it costs to take one pair, in words that are gathered."""
_MOST_MET: Final = 1 << 22
_FEW_LINES: Final = 8
_FEW_MET: Final = 1 << 11
"""So few instances are taken pair by pair before anything is estimated."""
_SPREAD: Final = 8
_NONE: Final = np.empty(0, np.int64)


# ------------------------------------------------------------------------------------- matrices


def _words(bits: int) -> int:
    return (bits + 63) >> 6


def _one_bit(places: Numbers) -> Words:
    found: Words = np.uint64(1) << (places & 63).astype(np.uint64)
    return found


@frozen
class Lines:
    """Some lines of a matrix, their numbers rising, each a row of words."""

    numbers: Numbers
    words: Words

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Give the line and the place of each bit, in this order."""
        flat, width = self.words.reshape(-1), self.words.shape[1]
        lines, places = [_NONE], [_NONE]
        # Unpacking makes a byte of each bit, so it goes in portions.
        filled = np.flatnonzero(flat)
        for low in range(0, len(filled), _PORTION):
            some = filled[low : low + _PORTION]
            found = np.flatnonzero(np.unpackbits(flat[some].view(np.uint8), bitorder="little"))
            word = some[found >> 6]
            line = word // width
            lines.append(self.numbers[line])
            places.append(((word - line * width) << 6) | (found & 63))
        return np.concatenate(lines), np.concatenate(places)

    def count(self) -> int:
        """Count the bits."""
        return int(np.bitwise_count(self.words).sum(dtype=np.int64))


def _lines(first: Numbers, second: Numbers, bits: int) -> Lines:
    """Make lines of pairs in any order."""
    numbers, place = np.unique(first, return_inverse=True)
    words = np.zeros((len(numbers), _words(bits)), np.uint64)
    at = place * words.shape[1] + (second >> 6)
    np.bitwise_or.at(words.reshape(-1), at, _one_bit(second))
    return Lines(numbers, words)


class Matrix:
    """A set of pairs, held as pairs, as lines of its first side, or as lines of its second one.

    What is asked for is made of what is there, once.
    """

    def __init__(
        self,
        size: tuple[int, int],
        pairs: tuple[Numbers, Numbers] | None = None,
        lines: Lines | None = None,
        turned: Lines | None = None,
        other: Matrix | None = None,
    ) -> None:
        self.size = size
        self._pairs, self._lines, self._turned = pairs, lines, turned
        self._other = other
        self._starts: Numbers | None = None
        self._count = -1

    def count(self) -> int:
        """Count the pairs; where they may repeat, at least as many."""
        if self._count < 0:
            held = self._lines or self._turned
            self._count = len(self.pairs()[0]) if held is None else held.count()
        return self._count

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Give the pairs, the first numbers rising."""
        if self._pairs is None:
            if self._lines is not None:
                self._pairs = self._lines.pairs()
            elif self._turned is not None:
                second, first = self._turned.pairs()
                order = np.argsort(first, kind="stable")
                self._pairs = first[order], second[order]
            else:
                self._pairs = _NONE, _NONE
        return self._pairs

    def lines(self) -> Lines:
        """Give the lines of the first side."""
        if self._lines is None:
            self._lines = _lines(*self.pairs(), self.size[1])
        return self._lines

    def starts(self) -> Numbers:
        """Say where among the pairs those of each first number begin, and where the last end."""
        if self._starts is None:
            many = np.bincount(self.pairs()[0], minlength=self.size[0])
            self._starts = np.concatenate([[0], np.cumsum(many)])
        return self._starts

    @property
    def has_starts(self) -> bool:
        """Whether it is known where pairs begin."""
        return self._starts is not None

    @property
    def filled(self) -> int:
        """At how many lines one has to look."""
        return self.size[0] if self._lines is None else len(self._lines.numbers)

    @property
    def only_pairs(self) -> bool:
        """Whether no lines are there, of neither side."""
        return self._lines is None and self._turned is None

    @property
    def has_lines(self) -> bool:
        """Whether the lines are there."""
        return self._lines is not None

    @property
    def has_pairs(self) -> bool:
        """Whether the pairs are there."""
        return self._pairs is not None

    def turned(self) -> Matrix:
        """Give the matrix with its sides exchanged."""
        if self._other is None:
            pairs = None
            if self._pairs is not None and self._lines is None and self._turned is None:
                order = np.argsort(self._pairs[1], kind="stable")
                pairs = self._pairs[1][order], self._pairs[0][order]
            self._other = Matrix(self.size[::-1], pairs, self._turned, self._lines, self)
        return self._other


def _product(factors: Sequence[Matrix]) -> Matrix:
    """Multiply matrices, in the order and in the ways that seem cheapest."""
    left = list(factors)
    while len(left) > 1:
        if not all(one.count() for one in left):
            return Matrix((left[0].size[0], left[-1].size[1]), (_NONE, _NONE))
        few = [
            (left[n].count() * left[n + 1].count() // max(1, left[n].size[1]), n)
            for n in range(len(left) - 1)
            if left[n].has_pairs and (left[n + 1].has_pairs or _unpacking(left[n + 1]) < _PORTION)
        ]
        if few and min(few)[0] < _FEW_MET:
            place, way = min(few)[1], _joined
        else:
            ways = [
                (cost, place, number)
                for place in range(len(left) - 1)
                for number, cost in enumerate(_costs(left[place], left[place + 1]))
            ]
            _, place, number = min(ways)
            way = _WAYS[number]
        left[place : place + 2] = [way(left[place], left[place + 1])]
    return left[0]


def _costs(left: Matrix, right: Matrix) -> tuple[int, int, int]:
    """Estimate the work of each way to multiply."""
    met = left.count() * right.count() // max(1, right.size[0])
    joined = _PER_PAIR * (met + left.count()) + (0 if right.has_starts else 4 * right.size[0])
    joined += sum(0 if one.has_pairs else _unpacking(one) for one in (left, right))
    turned = _gathering(right.turned(), left.turned())
    return _gathering(left, right), turned, joined


def _gathering(left: Matrix, right: Matrix) -> int:
    cost = left.count() * _words(right.size[1]) * right.filled // max(1, right.size[0])
    cost += 0 if left.has_pairs else _unpacking(left)
    return cost + (0 if right.has_lines else _PER_PAIR * right.count())


def _unpacking(one: Matrix) -> int:
    return 4 * one.count() + one.filled * _words(one.size[1])


def _gathered_turned(left: Matrix, right: Matrix) -> Matrix:
    return _gathered(right.turned(), left.turned()).turned()


def _joined(left: Matrix, right: Matrix) -> Matrix:
    """Multiply pair by pair; what comes may come several times."""
    first, middle = left.pairs()
    begin, second = right.pairs()
    if right.has_starts or _FEW_LINES * len(middle) > right.size[0]:
        starts = right.starts()
        lows, highs = starts[middle], starts[middle + 1]
    else:
        lows, highs = (np.searchsorted(begin, middle, side) for side in ("left", "right"))
    sizes = highs - lows
    total = int(sizes.sum())
    if total > _MOST_MET:
        return _gathered(left, right)
    ends = np.cumsum(sizes)
    places = np.arange(total) + np.repeat(lows - (ends - sizes), sizes)
    return Matrix((left.size[0], right.size[1]), (np.repeat(first, sizes), second[places]))


def _gathered(left: Matrix, right: Matrix) -> Matrix:
    """Multiply: for each line of the left side unite those lines of the right one it names."""
    first, middle = left.pairs()
    lines = right.lines()
    if len(lines.numbers) < right.size[0]:
        place = np.full(right.size[0], -1, np.int64)
        place[lines.numbers] = np.arange(len(lines.numbers))
        middle = place[middle]
        there = middle >= 0
        first, middle = first[there], middle[there]
    size = left.size[0], right.size[1]
    if not len(first):
        return Matrix(size, (first, first))
    starts = np.flatnonzero(np.r_[True, first[1:] != first[:-1]])
    return Matrix(size, lines=Lines(first[starts], _united(starts, middle, lines.words)))


def _united(starts: Numbers, middle: Numbers, words: Words) -> Words:
    """Unite, for each group of numbers that begins at `starts`, the lines with these numbers.

    All groups take their first line, then those that have one their second, and so on.
    """
    sizes = np.diff(np.r_[starts, len(middle)])
    order = np.argsort(-sizes, kind="stable")
    starts, falling = starts[order], -sizes[order]
    found = words[middle[starts]]
    portion = max(1, _PORTION // max(1, words.shape[1]))
    for step in range(1, -int(falling[0])):
        several = int(np.searchsorted(falling, -step))
        if not several:
            break
        for low in range(0, several, portion):
            high = min(several, low + portion)
            found[low:high] |= words[middle[starts[low:high] + step]]
    turned = np.empty_like(found)
    turned[order] = found
    return turned


_WAYS: Final = (_gathered, _gathered_turned, _joined)


class Growing:
    """A matrix that grows in rounds.

    `main` are its lines, of the second side where `is_turned`; those of the other side are kept
    beside them from when somebody first asks for them.
    """

    def __init__(self, size: tuple[int, int], *, is_turned: bool) -> None:
        self.size, self.is_turned = size, is_turned
        self._own = size[::-1] if is_turned else size
        self._main: Words = np.zeros((self._own[0], _words(self._own[1])), np.uint64)
        self._beside: Words | None = None
        self._known: Matrix | None = None
        self._waiting: list[Matrix] = []
        self.last: Matrix | None = None

    def offer(self, found: Matrix) -> None:
        """Take pairs, known or not."""
        self._waiting.append(found.turned() if self.is_turned else found)

    def close(self) -> bool:
        """End a round: whether it brought anything. What is new is `last`."""
        waiting, self._waiting = self._waiting, []
        self.last = None
        if not waiting:
            return False
        take = self._by_pairs if all(one.only_pairs for one in waiting) else self._by_lines
        last = take(waiting)
        if last is not None:
            self._known = None
            self.last = last.turned() if self.is_turned else last
        return last is not None

    def _by_pairs(self, waiting: Sequence[Matrix]) -> Matrix | None:
        """Take pairs one by one; nothing where none is new."""
        width = self._main.shape[1] << 6
        keys = [first * width + second for first, second in (one.pairs() for one in waiting)]
        found = np.unique(np.concatenate([_NONE, *keys]))
        flat = self._main.reshape(-1)
        found = found[(flat[found >> 6] & _one_bit(found)) == 0]
        if not len(found):
            return None
        np.bitwise_or.at(flat, found >> 6, _one_bit(found))
        first = found // width
        second = found - first * width
        if self._beside is not None:
            at = second * self._beside.shape[1] + (first >> 6)
            np.bitwise_or.at(self._beside.reshape(-1), at, _one_bit(first))
        return Matrix(self._own, (first, second))

    def _by_lines(self, waiting: Sequence[Matrix]) -> Matrix | None:
        """Take whole lines; nothing where none has a new bit."""
        parts: list[Lines] = []
        for one in waiting:
            if one.has_lines or not one.turned().has_lines:
                parts.append(_taken(one.lines(), self._main))
                continue
            # Of what comes by its other side only what is new is turned.
            new = _taken(one.turned().lines(), self._side())
            if len(new.numbers):
                second, first = new.pairs()
                parts.append(_taken(_lines(first, second, self._own[1]), self._main))
        fresh = _together(parts)
        if fresh is None:
            return None
        last = Matrix(self._own, lines=fresh)
        if self._beside is not None:
            turned = last.turned().lines()
            self._beside[turned.numbers] |= turned.words
        return last

    def matrix(self) -> Matrix:
        """Give all pairs that are known."""
        if self._known is None:
            lines = Lines(np.arange(self._own[0]), self._main)
            turned = None if self._beside is None else Lines(np.arange(self._own[1]), self._beside)
            found = Matrix(self._own, None, lines, turned)
            self._known = found.turned() if self.is_turned else found
        return self._known

    def _side(self) -> Words:
        """Give the lines of the other side, and keep them from now on."""
        if self._beside is None:
            self._beside = np.zeros((self._own[1], _words(self._own[0])), np.uint64)
            first, second = Lines(np.arange(self._own[0]), self._main).pairs()
            at = second * self._beside.shape[1] + (first >> 6)
            np.bitwise_or.at(self._beside.reshape(-1), at, _one_bit(first))
        return self._beside


def _taken(lines: Lines, known: Words) -> Lines:
    """Put lines into a matrix, and give what was not there."""
    new = lines.words & ~known[lines.numbers]
    there = new.any(axis=1)
    numbers, new = (lines.numbers, new) if there.all() else (lines.numbers[there], new[there])
    known[numbers] |= new
    return Lines(numbers, new)


def _together(parts: Sequence[Lines]) -> Lines | None:
    """Unite lines whose bits are each in one of them."""
    filled = [one for one in parts if len(one.numbers)]
    if len(filled) < _PAIR:
        return filled[0] if filled else None
    numbers = np.unique(np.concatenate([one.numbers for one in filled]))
    words = np.zeros((len(numbers), filled[0].words.shape[1]), np.uint64)
    for one in filled:
        words[np.searchsorted(numbers, one.numbers)] |= one.words
    return Lines(numbers, words)


# --------------------------------------------------------------------------------------- values


@frozen
class Numbering:
    """The numbers of the values of some columns: their distance from `low`, or those of a table.

    `table` has the values in `v` and their numbers, from 0 and without gaps, in `i`.
    """

    size: int
    kind: Kind
    low: int = 0
    table: str = ""

    def source(self, column: str, alias: str) -> str:
        """Write what has to be joined to number a column; a value without number has none."""
        return f" LEFT JOIN {self.table} AS {alias} ON {alias}.v = {column}" if self.table else ""

    def number(self, column: str, alias: str) -> str:
        """Write the number of a column, or nothing where it has none."""
        if self.table:
            return f"{alias}.i"
        low, high = (literal(one, self.kind) for one in (self.low, self.low + self.size - 1))
        inside = f"{column} BETWEEN {low} AND {high}"
        return f"CASE WHEN {inside} THEN CAST({column} - {low} AS BIGINT) END"

    def value(self, number: str, alias: str) -> tuple[str, str]:
        """Write the value of a number, and what has to be joined for it."""
        if self.table:
            return f"{alias}.v", f" JOIN {self.table} AS {alias} ON {alias}.i = {number}"
        return f"CAST(CAST({number} AS HUGEINT) + {self.low} AS {type_of(self.kind)})", ""


_Labels = tuple[int, ...]


@frozen
class Filled:
    """A relation that is a matrix for each choice of its labels; `sides` are the other two columns.

    `numberings` are those of its columns. What is not among the `matrices` is empty.
    """

    matrices: Mapping[_Labels, Matrix]
    sides: tuple[int, int]
    numberings: tuple[Numbering, ...]
    kinds: tuple[Kind, ...]

    def count(self) -> int:
        """Count the rows."""
        return sum(one.count() for one in self.matrices.values())

    def is_exactly(self, tables: Tables, table: str) -> bool:
        """Whether a table has these rows, each once, and no others."""
        if tables.count(table) != self.count():
            return False
        turned = any(one.turned().has_lines and not one.has_lines for one in self.matrices.values())
        first, second = self.sides[::-1] if turned else self.sides
        lines, width = self.numberings[first].size, _words(self.numberings[second].size) << 6
        labels = [n for n in range(len(self.kinds)) if n not in self.sides]
        sizes = [self.numberings[n].size for n in labels]
        total = math.prod(sizes) * lines * width
        order = [*zip(labels, sizes, strict=True), (first, lines), (second, width)]
        key = "CAST(0 AS BIGINT)"
        for place, size in order:
            key = f"({key}) * {size} + {self.numberings[place].number(f'r.c{place}', f'd{place}')}"
        joined = [one.source(f"r.c{n}", f"d{n}") for n, one in enumerate(self.numberings)]
        kind = "UINTEGER" if total <= _UNSIGNED else "BIGINT"
        keys = tables.arrays(f"SELECT CAST({key} AS {kind}) AS k FROM", table, "AS r", *joined)[0]
        if keys is None:
            return False
        # As many rows as bits: with equal ones none comes twice.
        if len(keys) < total // _SPARSE:
            columns, own = self._columns(), np.zeros(len(keys), np.int64)
            for place, size in order:
                own = own * size + columns[place]
            return bool(np.array_equal(np.sort(keys), np.sort(own)))
        return self._are_bits(_bits_of(keys, total // width, width), sizes, turned=turned)

    def _are_bits(self, found: Words, sizes: Sequence[int], *, turned: bool) -> bool:
        """Whether these are the bits of the matrices, one below the other."""
        lines = len(found) // math.prod(sizes)
        for place, labels in enumerate(product(*map(range, sizes))):
            part, matrix = found[place * lines : (place + 1) * lines], self.matrices.get(labels)
            if matrix is None:
                if part.any():
                    return False
                continue
            matrix = matrix.turned() if turned else matrix
            if not np.array_equal(part, _whole(matrix.lines(), matrix)):
                return False
        return True

    def into(self, tables: Tables) -> str:
        """Write the rows into a table."""
        table = tables.empty(self.kinds)
        values = [
            one.value(f"n.n{place}", f"d{place}") for place, one in enumerate(self.numberings)
        ]
        joined = "".join(join for _, join in values)
        columns = {f"n{place}": one for place, one in enumerate(self._columns())}
        with tables.incoming(columns) as source:
            outputs = ", ".join(value for value, _ in values)
            tables.run("INSERT INTO", table, "SELECT", outputs, "FROM", source, "AS n", joined)
        return table

    def _columns(self) -> list[Numbers]:
        """Give the numbers of all rows, column by column."""
        parts: list[list[Numbers]] = [[_NONE] for _ in self.kinds]
        for labels, matrix in self.matrices.items():
            sides, others = dict(zip(self.sides, matrix.pairs(), strict=True)), iter(labels)
            for place, part in enumerate(parts):
                side = sides.get(place)
                part.append(np.full(matrix.count(), next(others)) if side is None else side)
        return [np.concatenate(one) for one in parts]


_UNSIGNED: Final = (1 << 32) - 1
_SPARSE: Final = 256
"""With fewer rows than one for so many bits their numbers are sorted, and no bits are set."""
_MOST_BYTES: Final = 1 << 26


def _bits_of(keys: Numbers, lines: int, width: int) -> Words:
    """Set the bits with some numbers in a matrix of `lines` times `width` bits."""
    if lines * width <= _MOST_BYTES:
        there = np.zeros(lines * width, np.bool_)
        there[keys] = True
        found: Words = np.packbits(there, bitorder="little").view(np.uint64).reshape(lines, -1)
        return found
    words = np.zeros(lines * (width >> 6), np.uint64)
    for low in range(0, len(keys), 1 << 20):
        some = keys[low : low + (1 << 20)].astype(np.int64)
        np.bitwise_or.at(words, some >> 6, _one_bit(some))
    return words.reshape(lines, -1)


def _whole(lines: Lines, matrix: Matrix) -> Words:
    """Give all lines of a matrix, those without bits too."""
    if len(lines.numbers) == matrix.size[0]:
        return lines.words
    words = np.zeros((matrix.size[0], lines.words.shape[1]), np.uint64)
    words[lines.numbers] = lines.words
    return words


# ---------------------------------------------------------------------------------------- rules


_Column = tuple[str | int, int]
_Sides = tuple[int, int]
_Slice = tuple[str, _Labels]
_Choice = dict[str, int]


@frozen
class _Sight:
    """An atom as a pair of variables, with the variables of its labels."""

    sides: tuple[str, str]
    labels: tuple[str, ...]


@frozen
class _Link:
    """What joins a variable of a chain to the next one: a member, or a part by its number.

    Where it is turned its second side is the one of the first variable.
    """

    source: str | int
    labels: tuple[str, ...]
    is_turned: bool


@frozen
class _Chain:
    """A recursive rule: its head is the product of its links; `apart` excludes equal values.

    `tests` are parts without sides: they choose labels.
    """

    head: str
    labels: tuple[str, ...]
    links: tuple[_Link, ...]
    tests: tuple[int, ...]
    apart: bool


@frozen
class _Part:
    """What a rule reads besides the component: a table with two sides or none, then its labels."""

    table: str
    kinds: tuple[Kind, ...]
    labels: tuple[str, ...]

    @property
    def sides(self) -> int:
        """How many columns are no labels."""
        return len(self.kinds) - len(self.labels)


@frozen
class _Copy:
    """A chain with one choice of its labels; each factor is a member's matrix or that of a part."""

    head: _Slice
    factors: tuple[tuple[_Slice | Matrix, bool], ...]
    apart: bool


@frozen
class _Form:
    """A recursive rule as a way: `own` looks at its `atoms` of the component, in their order.

    A link is the number of one of these as a text, or that of a group of other literals.
    """

    head: _Sight
    atoms: Sequence[Atom]
    own: Sequence[_Sight]
    groups: Sequence[Sequence[Literal]]
    way: tuple[tuple[str | int, bool], ...]
    apart: bool


@slotted
class Filling:
    """A recursive component on its way into matrices.

    `rules` are those of each member by their numbers, `table` gives the table of an atom, `given`
    are queries for rows that a member has besides its rules.
    """

    tables: Tables
    rules: Mapping[str, Sequence[int]]
    rule_of: Callable[[int], Rule]
    kinds_of: Callable[[int], Mapping[str, Kind]]
    columns_of: Mapping[str, tuple[Kind, ...]]
    table: Callable[[int, Atom], str]
    given: Mapping[str, Sequence[str]]
    sides: Mapping[str, _Sides] = field(default_factory=dict)
    parts: list[_Part] = field(default_factory=list)
    numberings: dict[_Column, Numbering] = field(default_factory=dict)
    _above: dict[_Column, _Column] = field(default_factory=dict)

    def run(self) -> dict[str, Filled] | None:
        """Fill all matrices; nothing where a rule has another form or they would be too large."""
        if any(len(kinds) < _PAIR for kinds in self.columns_of.values()):
            return None
        exits: dict[str, str] = {}
        for sides in self._ways():
            self.sides = sides
            chains = self._chains()
            if chains is None:
                continue
            exits = exits or self._exits()
            found = self._filled(chains, exits)
            if found is not None:
                return found
        return None

    def _ways(self) -> Iterator[dict[str, _Sides]]:
        """Yield which columns of each member may be its sides."""
        every = [list(combinations(range(len(one)), _PAIR)) for one in self.columns_of.values()]
        for chosen in islice(product(*every), _MOST_WAYS):
            yield dict(zip(self.columns_of, chosen, strict=True))

    # ----------------------------------------------------------------------------- the form

    def _own(self, literals: Iterable[Literal]) -> list[Atom]:
        """Give the atoms that read the component."""
        return [
            one.atom
            for one in literals
            if isinstance(one, Positive) and one.atom.predicate in self.rules
        ]

    def _text(self, rule: Rule, number: int) -> str:
        functions = self.tables.functions
        return RuleStatement(rule, self.kinds_of(number), functions, self.table).text()

    def _chains(self) -> list[_Chain] | None:
        """Read the recursive rules as chains; nothing where one is none."""
        self.parts, self._above = [], {}
        rules = [(n, self.rule_of(n)) for numbers in self.rules.values() for n in numbers]
        recursive = [(n, rule) for n, rule in rules if self._own(rule.body)]
        # First whether all have the form: that takes no statement.
        links = [self._links(rule) for _, rule in recursive]
        if any(one is None for one in links):
            return None
        return [
            self._chain(rule, number, found)
            for (number, rule), found in zip(recursive, links, strict=True)
            if found is not None
        ]

    def _sight(self, atom: Atom) -> _Sight | None:
        """Look at an atom of the component, if it has variables alone, and two different ones."""
        names = [one.name for one in atom.terms if isinstance(one, Variable)]
        sides = self.sides[atom.predicate]
        if len(names) != len(atom.terms) or names[sides[0]] == names[sides[1]]:
            return None
        labels = tuple(name for place, name in enumerate(names) if place not in sides)
        return _Sight((names[sides[0]], names[sides[1]]), labels)

    def _links(self, rule: Rule) -> _Form | None:
        """Read a rule as a way from one side of its head to the other."""
        own = self._own(rule.body)
        sights = [self._sight(one) for one in (rule.head, *own)]
        seen = [one for one in sights if one is not None]
        if len(seen) < len(sights):
            return None
        head, *others = seen
        sides = {name for one in seen for name in one.sides}
        labels = {name for one in seen for name in one.labels}
        rest = [one for one in rule.body if not (isinstance(one, Positive) and one.atom in own)]
        if sides & labels or any(isinstance(one, Aggregate) for one in rest):
            return None
        apart = [one for one in rest if _sets_apart(one, head.sides)]
        groups = _groups([one for one in rest if one not in apart], sides | labels)
        links: list[tuple[str | int, str, str]] = []
        for place, group in enumerate(groups):
            names = sorted(_names(group) & sides)
            if len(names) > _PAIR or not _names(group) & (sides | labels):
                return None
            if names:
                links.append((place, names[0], names[-1]))
        links += [(str(n), *one.sides) for n, one in enumerate(others)]
        found = _way(head.sides, links)
        return None if found is None else _Form(head, own, others, groups, found, bool(apart))

    def _chain(self, rule: Rule, number: int, form: _Form) -> _Chain:
        """Make the tables of the parts of a rule."""
        labels = {name for one in (form.head, *form.own) for name in one.labels}
        sides = {name for one in (form.head, *form.own) for name in one.sides}
        numbers: list[int] = []
        for group in form.groups:
            names = sorted(_names(group) & sides)
            shown = sorted(_names(group) & labels)
            numbers.append(self._part(rule, number, group, [*names[:1], *names[-1:]], shown))
        links: list[_Link] = []
        for source, is_turned in form.way:
            if isinstance(source, int):
                part = numbers[source]
                links.append(_Link(part, self.parts[part].labels, is_turned))
            else:
                atom, sight = form.atoms[int(source)], form.own[int(source)]
                links.append(_Link(atom.predicate, sight.labels, is_turned))
        tests = tuple(one for one in numbers if not self.parts[one].sides)
        return _Chain(rule.head.predicate, form.head.labels, tuple(links), tests, form.apart)

    def _part(
        self,
        rule: Rule,
        number: int,
        body: Sequence[Literal],
        sides: Sequence[str],
        labels: Sequence[str],
    ) -> int:
        """Make the table of a part of a rule; its number."""
        kinds, names = self.kinds_of(number), [*sides, *labels]
        head = replace(rule.head, predicate="part", terms=tuple(map(Variable, names)))
        table = self.tables.fresh()
        text = self._text(replace(rule, head=head, body=tuple(body)), number)
        self.tables.run("CREATE TABLE", table, "AS", text)
        self.parts.append(_Part(table, tuple(kinds[one] for one in names), tuple(labels)))
        return len(self.parts) - 1

    def _exits(self) -> dict[str, str]:
        """Make a table of the rows of each member that need none of the component."""
        found: dict[str, str] = {}
        for name, numbers in self.rules.items():
            texts = [*self.given[name]]
            for number in numbers:
                rule = self.rule_of(number)
                if not self._own(rule.body):
                    texts.append(self._text(rule, number))
            found[name] = self.tables.empty(self.columns_of[name])
            if texts:
                self.tables.run("INSERT INTO", found[name], " UNION ".join(texts))
        return found

    # ------------------------------------------------------------------------------- values

    def _top(self, column: _Column) -> _Column:
        while (above := self._above.get(column, column)) != column:
            column = above
        return column

    def _unite(self, one: _Column, other: _Column) -> None:
        self._above[self._top(one)] = self._top(other)

    def _number(self, chains: Sequence[_Chain], exits: Mapping[str, str]) -> bool:
        """Number the values of all columns; false where the matrices would be too large."""
        for chain in chains:
            self._equate(chain)
        held: list[tuple[_Column, str, Kind]] = []
        for name, table in exits.items():
            held += [((name, n), table, kind) for n, kind in enumerate(self.columns_of[name])]
        for place, part in enumerate(self.parts):
            held += [((place, n), part.table, kind) for n, kind in enumerate(part.kinds)]
        together: dict[_Column, list[tuple[_Column, str, Kind]]] = {}
        for one in held:
            together.setdefault(self._top(one[0]), []).append(one)
        self.numberings = {}
        for columns in together.values():
            numbering = self._numbering([(t, c[1]) for c, t, _ in columns], columns[0][2])
            self.numberings |= {column: numbering for column, _, _ in columns}
        bits = sum(
            math.prod(self.numberings[name, n].size for n in range(len(kinds)))
            for name, kinds in self.columns_of.items()
        )
        most = min(_MOST_BITS, self.tables.memory * 2 or _MOST_BITS)
        return bits <= most

    def _equate(self, chain: _Chain) -> None:
        """Unite the columns that a chain equates: sides one after the other, labels by name."""
        last = self._sides_of(chain.head)[0]
        labelled = [*zip(chain.labels, self._labels_of(chain.head), strict=True)]
        for link in chain.links:
            before, after = self._sides_of(link.source)[:: -1 if link.is_turned else 1]
            self._unite(last, before)
            last = after
            labelled += zip(link.labels, self._labels_of(link.source), strict=True)
        self._unite(last, self._sides_of(chain.head)[1])
        for test in chain.tests:
            labelled += zip(self.parts[test].labels, self._labels_of(test), strict=True)
        first = dict(reversed(labelled))
        for name, column in labelled:
            self._unite(first[name], column)
        if chain.apart:
            self._unite(*self._sides_of(chain.head))

    def _sides_of(self, source: str | int) -> tuple[_Column, _Column]:
        first, second = self.sides[source] if isinstance(source, str) else (0, 1)
        return (source, first), (source, second)

    def _labels_of(self, source: str | int) -> list[_Column]:
        if isinstance(source, str):
            places = range(len(self.columns_of[source]))
            return [(source, n) for n in places if n not in self.sides[source]]
        part = self.parts[source]
        return [(source, n) for n in range(part.sides, len(part.kinds))]

    def _numbering(self, columns: Sequence[tuple[str, int]], kind: Kind) -> Numbering:
        every = " UNION ".join(f"SELECT DISTINCT c{n} AS v FROM {table}" for table, n in columns)  # noqa: S608  names are ours
        if kind in INTEGERS:
            ((low, high, count),) = self.tables.run(
                *("SELECT min(v), max(v), count(*) FROM (", every, ") AS each_one"),
            )
            if not count:
                return Numbering(1, kind)
            if high - low < _SPREAD * count:
                return Numbering(high - low + 1, kind, low)
        table = self.tables.fresh()
        self.tables.run(
            *("CREATE TABLE", table, "AS SELECT v, row_number() OVER (ORDER BY v) - 1 AS i"),
            *("FROM (", every, ") AS each_one"),
        )
        return Numbering(max(1, self.tables.count(table)), kind, table=table)

    def _numbers(self, source: str | int, table: str) -> list[Numbers]:
        """Read the columns of a table as numbers: its sides, if it has any, then its labels."""
        columns = self._labels_of(source)
        if isinstance(source, str) or self.parts[source].sides:
            columns = [*self._sides_of(source), *columns]
        numbers = [self.numberings[one].number(f"r.c{one[1]}", f"d{one[1]}") for one in columns]
        joined = [self.numberings[one].source(f"r.c{one[1]}", f"d{one[1]}") for one in columns]
        outputs = ", ".join(f"{text} AS n{n}" for n, text in enumerate(numbers))
        found = self.tables.arrays("SELECT", outputs, "FROM", table, "AS r", *joined)
        if any(one is None for one in found):
            raise RefusedError("a value without a number")
        return found

    def _matrices(self, source: str | int, table: str) -> dict[_Labels, Matrix]:
        """Read a table of pairs, for each choice of its labels."""
        first, second, *labels = self._numbers(source, table)
        size = tuple(self.numberings[one].size for one in self._sides_of(source))
        order = np.lexsort((first, *labels)) if labels else np.argsort(first, kind="stable")
        first, second, labels = first[order], second[order], [one[order] for one in labels]
        if not labels:
            return {(): Matrix((size[0], size[1]), (first, second))}
        if not len(first):
            return {}
        new = np.zeros(len(first), np.bool_)
        for one in labels:
            new[1:] |= one[1:] != one[:-1]
        new[0] = True
        starts = np.flatnonzero(new)
        ends = [*starts[1:].tolist(), len(first)]
        return {
            tuple(int(one[low]) for one in labels): Matrix(
                (size[0], size[1]), (first[low:high], second[low:high])
            )
            for low, high in zip(starts.tolist(), ends, strict=True)
        }

    # ------------------------------------------------------------------------------- copies

    def _copies(self, chains: Sequence[_Chain]) -> list[_Copy] | None:
        """Copy each chain for each choice of its labels; nothing where there are too many."""
        matrices: dict[int, dict[_Labels, Matrix]] = {}
        allowed: dict[int, set[_Labels]] = {}
        for place, part in enumerate(self.parts):
            if part.sides:
                matrices[place] = self._matrices(place, part.table)
                allowed[place] = set(matrices[place])
            else:
                columns = self._numbers(place, part.table)
                allowed[place] = set(zip(*(one.tolist() for one in columns), strict=True))
        copies: list[_Copy] = []
        for chain in chains:
            for choice in self._choices(chain, allowed):
                if len(copies) >= _MOST_COPIES:
                    return None
                copies.append(_copy(chain, choice, matrices))
        return copies

    def _choices(self, chain: _Chain, allowed: Mapping[int, set[_Labels]]) -> Iterable[_Choice]:
        """Yield each choice of labels for which every part of a chain has a row."""
        found: Iterable[_Choice] = [{}]
        used = [one.source for one in chain.links if isinstance(one.source, int)]
        for part in (*chain.tests, *used):
            found = _agreeing(found, self.parts[part].labels, allowed[part])
        bound = {name for part in (*chain.tests, *used) for name in self.parts[part].labels}
        for link in chain.links:
            for name, column in zip(link.labels, self._labels_of(link.source), strict=True):
                if name not in bound:
                    bound.add(name)
                    every = ((number,) for number in range(self.numberings[column].size))
                    found = _agreeing(found, (name,), list(every))
        return found

    # ------------------------------------------------------------------------------- rounds

    def _filled(
        self, chains: Sequence[_Chain], exits: Mapping[str, str]
    ) -> dict[str, Filled] | None:
        if not self._number(chains, exits):
            return None
        copies = self._copies(chains)
        if copies is None:
            return None
        growing = _Many(
            {
                name: (self.numberings[one].size, self.numberings[other].size)
                for name in exits
                for one, other in [self._sides_of(name)]
            },
            {name: _is_turned(name, chains) for name in exits},
            copies,
        )
        for name, table in exits.items():
            for labels, matrix in self._matrices(name, table).items():
                growing.offer((name, labels), matrix)
        while brought := growing.close():
            check_interrupted()
            if self.tables.late:
                raise RefusedError("the time for it was up")
            growing.follow(brought)
        return {
            name: Filled(
                growing.of(name),
                self.sides[name],
                tuple(self.numberings[name, n] for n in range(len(kinds))),
                kinds,
            )
            for name, kinds in self.columns_of.items()
        }


class _Many:
    """The matrices of all members, which grow together; those that got no bit are not there."""

    def __init__(
        self,
        sizes: Mapping[str, tuple[int, int]],
        turned: Mapping[str, bool],
        copies: Sequence[_Copy],
    ) -> None:
        self._sizes, self._turned = sizes, turned
        self._held: dict[_Slice, Growing] = {}
        self._readers: dict[_Slice, list[tuple[_Copy, int]]] = {}
        for copy in copies:
            for place, (source, _) in enumerate(copy.factors):
                if not isinstance(source, Matrix):
                    self._readers.setdefault(source, []).append((copy, place))

    def offer(self, key: _Slice, found: Matrix) -> None:
        """Take pairs for a matrix, known or not."""
        if key not in self._held:
            self._held[key] = Growing(self._sizes[key[0]], is_turned=self._turned[key[0]])
        self._held[key].offer(found)

    def close(self) -> list[_Slice]:
        """End a round: which matrices it brought something."""
        return [key for key, one in self._held.items() if one.close()]

    def follow(self, brought: Sequence[_Slice]) -> None:
        """Take all products that read what the last round brought, in one place each."""
        for key in brought:
            for copy, chosen in self._readers.get(key, []):
                factors = self._factors(copy, chosen)
                if factors is not None:
                    found = _product(factors)
                    self.offer(copy.head, _without_equal(found) if copy.apart else found)

    def _factors(self, copy: _Copy, chosen: int) -> list[Matrix] | None:
        found: list[Matrix] = []
        for place, (source, is_turned) in enumerate(copy.factors):
            if isinstance(source, Matrix):
                matrix = source
            elif source in self._held:
                own = self._held[source]
                last = own.last if place == chosen else None
                matrix = own.matrix() if last is None else last
            else:
                return None
            found.append(matrix.turned() if is_turned else matrix)
        return found

    def of(self, name: str) -> dict[_Labels, Matrix]:
        """Give the matrices of a member."""
        return {key[1]: one.matrix() for key, one in self._held.items() if key[0] == name}


def _copy(
    chain: _Chain, choice: _Choice, matrices: Mapping[int, Mapping[_Labels, Matrix]]
) -> _Copy:
    """Copy a chain for one choice of its labels."""
    factors: list[tuple[_Slice | Matrix, bool]] = []
    for link in chain.links:
        labels = tuple(choice[name] for name in link.labels)
        if isinstance(link.source, str):
            factors.append(((link.source, labels), link.is_turned))
        else:
            factors.append((matrices[link.source][labels], link.is_turned))
    head = chain.head, tuple(choice[name] for name in chain.labels)
    return _Copy(head, tuple(factors), chain.apart)


def _agreeing(
    choices: Iterable[_Choice], names: Sequence[str], every: Iterable[_Labels]
) -> Iterator[_Choice]:
    """Yield what choices become with values for these names that agree with them."""
    for choice in choices:
        for values in every:
            named = [*zip(names, values, strict=True)]
            if all(choice.get(name, value) == value for name, value in named):
                yield {**choice, **dict(named)}


def _without_equal(found: Matrix) -> Matrix:
    """Take out the pairs of equal values, which have equal numbers."""
    if found.only_pairs:
        first, second = found.pairs()
        differ = first != second
        return Matrix(found.size, (first[differ], second[differ]))
    matrix = found if found.has_lines or not found.turned().has_lines else found.turned()
    lines = matrix.lines()
    words = lines.words.copy()
    words[np.arange(len(lines.numbers)), lines.numbers >> 6] &= ~_one_bit(lines.numbers)
    made = Matrix(matrix.size, lines=Lines(lines.numbers, words))
    return made if matrix is found else made.turned()


def _is_turned(name: str, chains: Sequence[_Chain]) -> bool:
    """Whether a member grows at its second side: in most rules it comes first, and is read alone.

    Then lines of what follows need not be taken for each of its pairs.
    """
    votes = 0
    for chain in chains:
        members = [place for place, one in enumerate(chain.links) if isinstance(one.source, str)]
        if len(members) == 1:
            link = chain.links[members[0]]
            vote = (members[0] == 0) - (members[0] == len(chain.links) - 1)
            votes += vote * (chain.head == name)
            votes += (-vote if link.is_turned else vote) * (link.source == name)
    return votes > 0


def _names(literals: Iterable[Literal]) -> set[str]:
    return {v.name for one in literals for v in literal_variables(one)}


def _sets_apart(one: Literal, head: tuple[str, str]) -> bool:
    """Whether a literal says that the values of the head differ."""
    match one:
        case Comparison(operator="!=", left=Variable(left), right=Variable(right)):
            return {left, right} == set(head)
        case _:
            return False


def _groups(literals: Sequence[Literal], shared: set[str]) -> list[list[Literal]]:
    """Put literals together that read a variable which nothing else reads, and what tests them."""
    groups: list[tuple[set[str], list[Literal]]] = []
    for one in sorted(literals, key=lambda one: not isinstance(one, Positive)):
        names = _names([one])
        link = names - shared if isinstance(one, Positive) else names
        near = [group for group in groups if group[0] & link]
        if not isinstance(one, Positive):
            near = [group for group in near if names <= group[0]][:1] or near
        groups = [group for group in groups if group not in near]
        body = [item for _, items in near for item in items]
        groups.append((names.union(*(known for known, _ in near)), [*body, one]))
    return [items for _, items in groups]


def _way(
    ends: tuple[str, str], links: Sequence[tuple[str | int, str, str]]
) -> tuple[tuple[str | int, bool], ...] | None:
    """Order links into a way from one variable to another that takes each once."""
    at, goal = ends
    left, passed = list(links), {ends[0]}
    found: list[tuple[str | int, bool]] = []
    while True:
        loops = [one for one in left if one[1] == one[2] == at]
        found += [(one[0], False) for one in loops]
        left = [one for one in left if one not in loops]
        if at == goal:
            return None if left else tuple(found)
        near = [one for one in left if at in one[1:]]
        if len(near) != 1:
            return None
        source, first, second = near[0]
        left.remove(near[0])
        found.append((source, first != at))
        at = second if first == at else first
        if at in passed:
            return None
        passed.add(at)
