"""Fill recursive relations of two columns as matrices of bits, in rounds.

In: a recursive component whose relations have two columns each. Out: their rows, or nothing where
a rule has another form, or the matrices would be too large; then the rounds go over tables.

A relation is a matrix with one bit for each pair of values that may come together: the values are
numbered, and two columns that a rule equates share their numbers. What a rule reads besides the
component is a table by SQL, as any rule is (`statements`), with the variables that it shares with
the rest as its columns. If what is left is a chain from the first variable of the head to the
second, as in `p(?x, ?z) :- q(?x, ?y), r(?y, ?z).`, then its instances are the ways through the
matrices, and their heads are the bits of the product of these. So a bit comes in by an instance
over bits of rounds before, and the round is its rank (38, i); when a round brings none, each
product of the matrices lies within them, and they are closed under the rules (ii). In a round only
products with bits of the last round are taken: others were taken before.

Nothing of this is shared with the arrays of the run (`constat.columnar`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from constat.diagnostics.interruption import check_interrupted
from constat.frozen import frozen
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
_PORTION: Final = 1 << 18
"""Words that are gathered at once: they stay near the processor."""
_PER_PAIR: Final = 16
"""What it costs to take one pair, in words that are gathered."""
_MOST_MET: Final = 1 << 22
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
        ways = [
            (cost, place, way)
            for place in range(len(left) - 1)
            for way, cost in enumerate(_costs(left[place], left[place + 1]))
        ]
        _, place, way = min(ways)
        one, other = left[place : place + 2]
        left[place : place + 2] = [_WAYS[way](one, other)]
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
    starts, second = right.starts(), right.pairs()[1]
    sizes = starts[middle + 1] - starts[middle]
    total = int(sizes.sum())
    if total > _MOST_MET:
        return _gathered(left, right)
    ends = np.cumsum(sizes)
    places = np.arange(total) + np.repeat(starts[middle] - (ends - sizes), sizes)
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
        self.last = self._known = None
        take = self._by_pairs if all(one.only_pairs for one in waiting) else self._by_lines
        last = take(waiting)
        if last is not None:
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


@frozen
class Filled:
    """A relation of two columns that is a matrix."""

    matrix: Matrix
    numberings: tuple[Numbering, Numbering]
    kinds: tuple[Kind, ...]

    def is_exactly(self, tables: Tables, table: str) -> bool:
        """Whether a table has these rows, each once, and no others."""
        if tables.count(table) != self.matrix.count():
            return False
        first, second = 0, 1
        matrix, turned = self.matrix, self.matrix.turned()
        if turned.has_lines and not matrix.has_lines:
            first, second, matrix = 1, 0, turned
        lines = matrix.lines()
        width = lines.words.shape[1] << 6
        columns = {n: (self.numberings[n], f"r.c{n}", f"d{n}") for n in (first, second)}
        numbers = [one.number(column, alias) for one, column, alias in columns.values()]
        joined = [one.source(column, alias) for one, column, alias in columns.values()]
        small = matrix.size[0] * width <= _UNSIGNED
        keys = tables.arrays(
            *(
                f"SELECT CAST({numbers[0]} * {width} + {numbers[1]} AS",
                "UINTEGER" if small else "BIGINT",
            ),
            *(") AS k FROM", table, "AS r", *joined),
        )[0]
        if keys is None:
            return False
        # As many rows as bits: with equal bits none comes twice.
        return bool(np.array_equal(_bits_of(keys, matrix.size[0], width), _whole(lines, matrix)))

    def into(self, tables: Tables) -> str:
        """Write the rows into a table."""
        table = tables.empty(self.kinds)
        first, second = self.matrix.pairs()
        values = [
            one.value(f"n.n{place}", f"d{place}") for place, one in enumerate(self.numberings)
        ]
        joined = "".join(join for _, join in values)
        with tables.incoming({"n0": first, "n1": second}) as source:
            outputs = ", ".join(value for value, _ in values)
            tables.run("INSERT INTO", table, "SELECT", outputs, "FROM", source, "AS n", joined)
        return table


_UNSIGNED: Final = (1 << 32) - 1
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


@frozen
class _Link:
    """What joins a variable of a chain to the next one: a member, or a part by its number.

    Where it is turned its second column is the one of the first variable.
    """

    source: str | int
    is_turned: bool


@frozen
class _Chain:
    """A recursive rule: its head is the product of its links; `apart` excludes equal values."""

    head: str
    links: tuple[_Link, ...]
    apart: bool


@frozen
class _Part:
    """What a rule reads besides the component: a table with two columns."""

    table: str
    kinds: tuple[Kind, Kind]


_Column = tuple[str | int, int]


@dataclass(slots=True)
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
    parts: list[_Part] = field(default_factory=list)
    numberings: dict[_Column, Numbering] = field(default_factory=dict)
    _above: dict[_Column, _Column] = field(default_factory=dict)

    def run(self) -> dict[str, Filled] | None:
        """Fill all matrices; nothing where a rule has another form or they would be too large."""
        if any(len(kinds) != _PAIR for kinds in self.columns_of.values()):
            return None
        chains: list[_Chain] = []
        exits = {name: [*self.given[name]] for name in self.rules}
        for name, numbers in self.rules.items():
            for number in numbers:
                rule = self.rule_of(number)
                if not self._own(rule.body):
                    exits[name].append(self._text(rule, number))
                    continue
                chain = self._chain(rule, number)
                if chain is None:
                    return None
                chains.append(chain)
        return self._filled(chains, self._exits(exits))

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

    def _chain(self, rule: Rule, number: int) -> _Chain | None:
        """Read a rule as a chain from its head's first variable to the second."""
        head = _ends(rule.head)
        own = self._own(rule.body)
        edges = [(one.predicate, *ends) for one in own if (ends := _ends(one))]
        if head is None or len(edges) < len(own):
            return None
        shared = {*head, *(name for _, *ends in edges for name in ends)}
        rest = [one for one in rule.body if not (isinstance(one, Positive) and one.atom in own)]
        if any(isinstance(one, Aggregate) for one in rest):
            return None
        apart = [one for one in rest if _sets_apart(one, head)]
        groups = _groups([one for one in rest if one not in apart], shared)
        links: list[tuple[str | int, str, str]] = list(edges)
        for group in groups:
            names = sorted(_names(group) & shared)
            if not 1 <= len(names) <= _PAIR:
                return None
            left, right = names[0], names[-1]
            links.append((self._part(rule, number, group, (left, right)), left, right))
        found = _way(head, links)
        return None if found is None else _Chain(rule.head.predicate, found, bool(apart))

    def _part(
        self, rule: Rule, number: int, body: Sequence[Literal], names: tuple[str, str]
    ) -> int:
        """Make the table of a part of a rule; its number."""
        kinds = self.kinds_of(number)
        head = replace(rule.head, predicate="part", terms=tuple(map(Variable, names)))
        table = self.tables.fresh()
        text = self._text(replace(rule, head=head, body=tuple(body)), number)
        self.tables.run("CREATE TABLE", table, "AS", text)
        self.parts.append(_Part(table, (kinds[names[0]], kinds[names[1]])))
        return len(self.parts) - 1

    def _exits(self, queries: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Make a table of the rows of each member that need none of the component."""
        found: dict[str, str] = {}
        for name, texts in queries.items():
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
            last: _Column = (chain.head, 0)
            for link in chain.links:
                sides = [(link.source, 0), (link.source, 1)]
                before, after = sides[::-1] if link.is_turned else sides
                self._unite(last, before)
                last = after
            self._unite(last, (chain.head, 1))
            if chain.apart:
                self._unite((chain.head, 0), (chain.head, 1))
        held: list[tuple[_Column, str, Kind]] = []
        for name, table in exits.items():
            held += [((name, n), table, kind) for n, kind in enumerate(self.columns_of[name])]
        for place, part in enumerate(self.parts):
            held += [((place, n), part.table, kind) for n, kind in enumerate(part.kinds)]
        together: dict[_Column, list[tuple[_Column, str, Kind]]] = {}
        for one in held:
            together.setdefault(self._top(one[0]), []).append(one)
        for columns in together.values():
            numbering = self._numbering([(t, c[1]) for c, t, _ in columns], columns[0][2])
            self.numberings |= {column: numbering for column, _, _ in columns}
        bits = sum(
            self.numberings[name, 0].size * self.numberings[name, 1].size for name in self.rules
        )
        most = min(_MOST_BITS, self.tables.memory * 2 or _MOST_BITS)
        return bits <= most

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

    def _matrix(self, source: str | int, table: str) -> Matrix:
        """Read a table of pairs."""
        sides = [self.numberings[source, 0], self.numberings[source, 1]]
        numbers = ", ".join(
            f"{one.number(f'r.c{n}', f'd{n}')} AS n{n}" for n, one in enumerate(sides)
        )
        joined = "".join(one.source(f"r.c{n}", f"d{n}") for n, one in enumerate(sides))
        first, second = self.tables.arrays("SELECT", numbers, "FROM", table, "AS r", joined)
        if first is None or second is None:
            raise RefusedError("a value without a number")
        order = np.argsort(first, kind="stable")
        return Matrix((sides[0].size, sides[1].size), (first[order], second[order]))

    # ------------------------------------------------------------------------------- rounds

    def _filled(
        self, chains: Sequence[_Chain], exits: Mapping[str, str]
    ) -> dict[str, Filled] | None:
        if not self._number(chains, exits):
            return None
        parts = [self._matrix(place, part.table) for place, part in enumerate(self.parts)]
        growing: dict[str, Growing] = {}
        for name, table in exits.items():
            first = self._matrix(name, table)
            growing[name] = Growing(first.size, is_turned=_is_turned(name, chains))
            growing[name].offer(first)
        while sum(one.close() for one in growing.values()):
            check_interrupted()
            if self.tables.late:
                raise RefusedError("the time for it was up")
            for chain in chains:
                for factors in _factors(chain, growing, parts):
                    found = _product(factors)
                    growing[chain.head].offer(_without_equal(found) if chain.apart else found)
        return {
            name: Filled(
                one.matrix(),
                (self.numberings[name, 0], self.numberings[name, 1]),
                self.columns_of[name],
            )
            for name, one in growing.items()
        }


def _factors(
    chain: _Chain, growing: Mapping[str, Growing], parts: Sequence[Matrix]
) -> Iterator[list[Matrix]]:
    """Yield the products of a rule that read what the last round brought in one place each."""
    for chosen, link in enumerate(chain.links):
        if isinstance(link.source, int) or growing[link.source].last is None:
            continue
        found: list[Matrix] = []
        for place, other in enumerate(chain.links):
            if isinstance(other.source, int):
                matrix = parts[other.source]
            else:
                own = growing[other.source]
                last = own.last if place == chosen else None
                matrix = own.matrix() if last is None else last
            found.append(matrix.turned() if other.is_turned else matrix)
        yield found


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


def _ends(atom: Atom) -> tuple[str, str] | None:
    """Name the two variables of an atom, if it has nothing else."""
    names = [one.name for one in atom.terms if isinstance(one, Variable)]
    if len(atom.terms) != _PAIR or len(set(names)) != _PAIR:
        return None
    return names[0], names[1]


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
) -> tuple[_Link, ...] | None:
    """Order links into a way from one variable to another that takes each once."""
    at, goal = ends
    left, found, passed = list(links), [], {ends[0]}
    while True:
        loops = [one for one in left if one[1] == one[2] == at]
        found += [_Link(one[0], is_turned=False) for one in loops]
        left = [one for one in left if one not in loops]
        if at == goal:
            return None if left else tuple(found)
        near = [one for one in left if at in one[1:]]
        if len(near) != 1:
            return None
        source, first, second = near[0]
        left.remove(near[0])
        found.append(_Link(source, is_turned=first != at))
        at = second if first == at else first
        if at in passed:
            return None
        passed.add(at)
