"""Rules that are products of binary relations, computed as Boolean matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Final

import numpy as np

from constat.columnar.arrays import (
    EMPTY,
    Array,
    Batch,
    Bounds,
    Domain,
    Mask,
    Words,
    neighbours_differ,
)
from constat.columnar.bits import WORD, Bitmap, RowBits, from_pairs, set_bits, unite, words_of
from constat.columnar.relations import Finished
from constat.columnar.steps import JoinStep, Seen, When
from constat.evaluation import StrategyError
from constat.frozen import frozen, slotted
from constat.plan import Join, Slot
from constat.plan.forward import Pipeline, Reading

# The factors stand in the order of the path, and each joins the next one by exactly one variable.

_ENDS = 2


@frozen
class Factor:
    """One atom of the path; `forward` where the path goes from its column 0 to its column 1."""

    predicate: str
    forward: bool
    reading: Reading
    step: int


@frozen
class Chain:
    """The factors from the first to the second variable of the head.

    `order` are the factors as the plan takes them, the one that reads the delta first.
    """

    pipeline: Pipeline
    factors: tuple[Factor, ...]
    order: tuple[int, ...]


def find_chain(pipeline: Pipeline) -> Chain | None:
    """The chain a recursive pipeline is, if it is one."""
    ends = _head(pipeline)
    atoms = _atoms(pipeline)
    if ends is None or atoms is None:
        return None
    path = _path(ends, atoms)
    if path is None:
        return None
    deltas = [place for place, one in enumerate(path) if one.reading is Reading.DELTA]
    if len(deltas) != 1:
        return None
    return Chain(pipeline, path, _order(path, deltas[0]))


def _head(pipeline: Pipeline) -> tuple[int, int] | None:
    match pipeline.plan.head:
        case (Slot(one), Slot(other)) if one != other:
            return one, other
        case _:
            return None


def _atoms(pipeline: Pipeline) -> list[tuple[Join, Reading, tuple[int, int], int]] | None:
    """The atoms with their variables, each named by its slot."""
    plan = pipeline.plan
    if plan.constants:
        return None
    width = 0
    found: list[tuple[Join, Reading, tuple[int, int], int]] = []
    for place, step in enumerate(plan.steps):
        if not isinstance(step, Join) or step.arity != _ENDS or step.same:
            return None
        names = dict(zip(step.columns, step.key, strict=True))
        names.update({column: width + number for number, column in enumerate(step.kept)})
        width += len(step.kept)
        if len(names) != _ENDS or names[0] == names[1]:
            return None
        found.append((step, pipeline.readings[place], (names[0], names[1]), place))
    return found


def _path(
    ends: tuple[int, int], atoms: Sequence[tuple[Join, Reading, tuple[int, int], int]]
) -> tuple[Factor, ...] | None:
    """Walk from one end to the other; every atom once, no variable twice."""
    at, goal = ends
    left = list(atoms)
    seen = {at}
    path: list[Factor] = []
    while left:
        touching = [one for one in left if at in one[2]]
        if len(touching) != 1:
            return None
        step, reading, (first, second), place = touching[0]
        left.remove(touching[0])
        forward = first == at
        at = second if forward else first
        if at in seen:
            return None
        seen.add(at)
        path.append(Factor(step.predicate, forward, reading, place))
    return tuple(path) if at == goal else None


def _order(path: Sequence[Factor], delta: int) -> tuple[int, ...]:
    """The delta first, then neighbours of what is done, the plan's earlier step before."""
    order = [delta]
    low = high = delta
    while len(order) < len(path):
        beside = [place for place in (low - 1, high + 1) if 0 <= place < len(path)]
        chosen = min(beside, key=lambda place: path[place].step)
        order.append(chosen)
        low, high = min(low, chosen), max(high, chosen)
    return tuple(order)


def choose_rows(chains: Sequence[Chain], own: Sequence[str]) -> dict[str, int]:
    """For each relation the column that should choose the row, so that little is transposed.

    Tries all ways for up to a few relations; the first column where it makes no difference.
    """
    best: tuple[int, tuple[int, ...]] | None = None
    few = 6
    choices = product((0, 1), repeat=len(own)) if len(own) <= few else [(0,) * len(own)]
    for choice in choices:
        rows = dict(zip(own, choice, strict=True))
        cost = sum(turns(chain, rows) for chain in chains)
        if best is None or (cost, choice) < best:
            best = (cost, choice)
    return dict(zip(own, best[1] if best else (), strict=False))


def turns(chain: Chain, rows: Mapping[str, int]) -> int:
    """How often a product has to be transposed, if it is computed on rows of bits throughout."""
    factors, delta = chain.factors, chain.order[0]
    # The side of the product that its rows stand for: 0 left, 1 right.
    side = _row_side(factors[delta], rows)
    low = high = delta
    count = 0
    for place in chain.order[1:]:
        needed = 1 if place > high else 0
        own = factors[place].predicate in rows
        if own and _row_side(factors[place], rows) == 1 - needed:
            # The product is taken apart into pairs; its rows become those of its far side.
            side = 1 - needed
        elif side != needed:
            count += 1
            side = needed
        low, high = min(low, place), max(high, place)
    return count + (side != rows[chain.pipeline.head])


def _row_side(factor: Factor, rows: Mapping[str, int]) -> int:
    """The side of a factor, along the path, that its rows stand for."""
    row = rows[factor.predicate]
    return row if factor.forward else 1 - row


# * pairs with the rows of a finished relation that they lead to, as joins do; * rows of bits
# united along the pairs of a relation: `new[t] |= rows[s]` for each pair (s, t); * pairs that each
# unite a row of a growing relation: `new[r] |= full[s]` for each pair (r, s).
# The candidates are the pairs of the product; rows that were added during the round may be used
# already, which derives nothing false and misses nothing.

# Measured, in nanoseconds: what a pair costs that a join makes and a bitmap sifts; one by which
# rows are united; each word of these; a pair that changes its form; the calls of a union.
JOINED: Final = 45.0
_UNITED: Final = 30.0
_WORD: Final = 1.2
_TURNED: Final = 30.0
_CALLS: Final = 30_000.0
# A growing relation is taken apart in blocks of so many words.
_BLOCK: Final = 1 << 17
_SPREAD: Final = 8
# Two values of a pair, their places, and what sorting them takes.
_PAIR: Final = 48
_OTHER, _NEAR, _FAR = range(3)


@slotted
class Product:
    """Pairs from the left to the right end of what is multiplied so far.

    Either values side by side, `ends`, or rows of bits whose rows stand for the end `side`.
    """

    ends: tuple[Array, Array] = (EMPTY, EMPTY)
    bits: RowBits | None = None
    side: int = 0

    def count(self) -> int:
        """How many pairs there are."""
        return len(self.ends[0]) if self.bits is None else self.bits.count()

    def pairs(self) -> tuple[Array, Array]:
        """The values of both ends, side by side."""
        if self.bits is None:
            return self.ends
        rows, bits = self.bits.pairs()
        return (bits, rows) if self.side else (rows, bits)

    def rows(self, side: int, bit: Domain) -> RowBits:
        """As rows of bits for the end `side`; there are some pairs."""
        if self.bits is not None and self.side == side:
            return self.bits
        pairs = self.pairs()
        return from_pairs(pairs[side], pairs[1 - side], int(pairs[side].min()), bit)


@frozen
class Turn:
    """One multiplication: by the factor at `place` of the path, on the right (1) or left (0) side.

    `near` is the factor's column that is joined; `other` and `far` are the variables, counted
    along the path, of the end of the product that stays and of the end that is new.
    """

    place: int
    side: int
    near: int
    other: int
    far: int


@slotted
class Partners:
    """The pairs of finished relations sorted by one column: made once, for all chains."""

    finished: Callable[[str], Finished]
    sorted: dict[tuple[str, int], tuple[Array, Array]] = field(default_factory=dict)

    def by(self, predicate: str, column: int) -> tuple[Array, Array]:
        """The values of a column, rising, and those of the other column beside them."""
        key = (predicate, column)
        if key not in self.sorted:
            segments = self.finished(predicate).segments((column,), Reading.FULL)
            if not segments:
                return EMPTY, EMPTY
            found = segments[0].take(slice(None), (0, 1))
            values, others = found[column], found[1 - column]
            if np.any(values[1:] < values[:-1]):
                # Codes of a dictionary need not rise as their values do.
                order = np.argsort(values, kind="stable")
                values, others = values[order], others[order]
            self.sorted[key] = (values, others)
        return self.sorted[key]


@frozen
class Chained:
    """A chain ready to run."""

    chain: Chain
    own: Mapping[str, Bitmap]
    partners: Partners
    bounds: Bounds
    joined: float = JOINED

    @property
    def when(self) -> When:
        """In which rounds it runs."""
        return When.EACH

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline it computes."""
        return self.chain.pipeline

    def fire(self, seen: Seen | None = None) -> None:
        """Multiply the delta out, depth first, and offer the result.

        `seen(step, pairs)` hears how many pairs there are after a step of the plan.
        """
        order, factors = self.chain.order, self.chain.factors
        delta = self._delta(factors[order[0]])
        pending: list[Iterator[Product]] = [iter((delta,))]
        while pending:
            product = next(pending[-1], None)
            if product is None:
                pending.pop()
                continue
            count = product.count()
            if seen is not None:
                seen(factors[order[len(pending) - 1]].step, count)
            if not count:
                continue
            self.bounds.tick()
            if product.bits is not None and not self._stays_bits(product, len(pending)):
                self.bounds.need(count * _PAIR, "the pairs of a product")
            if len(pending) == len(order):
                self._offer(product)
            else:
                pending.append(self._times(product, len(pending)))

    def _stays_bits(self, product: Product, number: int) -> bool:
        """Whether what comes next takes rows of bits as they are."""
        order = self.chain.order
        if number == len(order):
            return product.side == self.own[self.pipeline.head].row
        factor, side = self.chain.factors[order[number]], int(order[number] > max(order[:number]))
        growing = self.own.get(factor.predicate)
        near = 1 - side if factor.forward else side
        return product.side == side and (growing is None or growing.row != near)

    def _delta(self, factor: Factor) -> Product:
        bitmap = self.own[factor.predicate]
        side = bitmap.row if factor.forward else 1 - bitmap.row
        if bitmap.delta_is_pairs:
            rows, bits = bitmap.delta_pairs()
            return Product((bits, rows) if side else (rows, bits))
        return Product(bits=bitmap.delta_bits(), side=side)

    def _offer(self, product: Product) -> None:
        head = self.own[self.pipeline.head]
        if product.bits is not None and product.side == head.row:
            head.offer_rows(product.bits)
        else:
            head.offer(product.pairs())

    def _times(self, product: Product, number: int) -> Iterator[Product]:
        """Multiply by the factor that comes at this place of the order."""
        done = self.chain.order[:number]
        place = self.chain.order[number]
        side = 1 if place > max(done) else 0
        factor = self.chain.factors[place]
        turn = Turn(
            place=place,
            side=side,
            near=1 - side if factor.forward else side,
            other=min(done) if side else max(done) + 1,
            far=place + 1 if side else place,
        )
        if factor.predicate in self.own:
            return self._times_growing(product, self.own[factor.predicate], turn)
        return self._times_finished(product, factor.predicate, turn)

    def _domain(self, variable: int) -> Domain | None:
        """The domain of a variable of the head, as wide as its bitmap has it."""
        head = self.own[self.pipeline.head]
        if variable not in {0, len(self.chain.factors)}:
            return None
        column = min(variable, 1)
        return head.row_domain if head.row == column else head.padded

    def _times_finished(self, product: Product, predicate: str, turn: Turn) -> Iterator[Product]:
        relation = self.partners.finished(predicate)
        if not relation.rows:
            return
        side, near = turn.side, turn.near
        if product.bits is not None and product.side != side:
            product = Product(product.pairs())
        bit = self._bit_domain(product, turn)
        if self._prefers_pairs(product, relation, turn, words_of(bit)):
            yield from self._joined(product, relation, turn)
            return
        rows = self._rows(product, side, bit)
        targets, sources = self.partners.by(predicate, 1 - near)
        places = _places(rows, sources)
        found = places >= 0
        low = (self._domain(turn.far) or relation.domain(1 - near)).low
        yield self._united(rows, targets[found] - low, places[found], low, side)

    def _rows(self, product: Product, side: int, bit: Domain) -> RowBits:
        """The product as rows of bits, where these fit."""
        if product.bits is None or product.side != side:
            size = product.count() * words_of(bit) * 8
            if not self.bounds.fits(size):
                raise StrategyError("rows of bits would be too wide for what a rule joins")
        return product.rows(side, bit)

    def _united(self, rows: RowBits, targets: Array, places: Array, low: int, side: int) -> Product:
        if not len(targets):
            return Product()
        starts = np.flatnonzero(neighbours_differ(targets))
        self.bounds.need(2 * len(starts) * rows.bits.shape[1] * 8, "a product of relations")
        words = unite(starts, places, rows.bits)
        return Product(bits=RowBits(targets[starts], words, low, rows.bit_low), side=side)

    def _bit_domain(self, product: Product, turn: Turn) -> Domain:
        """The domain for the bits of the end that stays."""
        if product.bits is not None and product.side == turn.side:
            low, words = product.bits.bit_low, product.bits.bits.shape[1]
            return Domain(low, low + (words << WORD) - 1)
        known = self._domain(turn.other)
        if known is not None:
            return known
        values = product.pairs()[1 - turn.side]
        return Domain(int(values.min()), int(values.max()))

    def _prefers_pairs(self, product: Product, relation: Finished, turn: Turn, width: int) -> bool:
        count = product.count()
        different = relation.different(turn.near)
        touched = float(relation.rows)
        turned = 0.0
        if product.bits is None or product.side != turn.side:
            touched *= min(1.0, count / different)
            turned = count * _TURNED
        else:
            touched *= min(1.0, len(product.bits.rows) / different)
        joined = count * (relation.rows / different) * self.joined
        return joined < touched * (_UNITED + width * _WORD) + turned + _CALLS

    def _joined(self, product: Product, relation: Finished, turn: Turn) -> Iterator[Product]:
        pairs, side, near = product.pairs(), turn.side, turn.near
        step = Join("", (near,), (_NEAR,), (1 - near,), (), 2, -1)
        live = frozenset({_OTHER, _FAR})
        join = JoinStep(step, relation, Reading.FULL, live, _FAR, self.bounds)
        batch = Batch(len(pairs[0]), {_OTHER: pairs[1 - side], _NEAR: pairs[side]}, {})
        for found in join.run(batch):
            ends = (found.slots[_OTHER], found.slots[_FAR])
            yield Product(ends if side else ends[::-1])

    def _times_growing(self, product: Product, full: Bitmap, turn: Turn) -> Iterator[Product]:
        if full.row == turn.near:
            yield self._uniting_full(product, full, turn)
        else:
            yield from self._along_full(product, full, turn)

    def _uniting_full(self, product: Product, full: Bitmap, turn: Turn) -> Product:
        """Each pair unites the row of the growing relation that it leads to."""
        pairs, side = product.pairs(), turn.side
        kept, joined = pairs[1 - side], pairs[side]
        inside = (joined >= full.row_domain.low) & (joined <= full.row_domain.high)
        kept, joined = kept[inside], joined[inside]
        if product.bits is None or product.side == side:
            order = np.argsort(kept, kind="stable")
            kept, joined = kept[order], joined[order]
        if not len(kept):
            return Product()
        known = self._domain(turn.other)
        low = int(kept[0]) if known is None else known.low
        rows = RowBits(EMPTY, full.words, full.row_domain.low, full.bit.low)
        return self._united(rows, kept - low, joined - full.row_domain.low, low, 1 - side)

    def _wanted(self, full: Bitmap, turn: Turn) -> Array:
        """The rows of a growing relation that the factor after it can join at all."""
        factors, side = self.chain.factors, turn.side
        place = turn.place + (1 if side else -1)
        height = len(full.words)
        if not 0 <= place < len(factors) or factors[place].predicate in self.own:
            return np.arange(height)
        near = 1 - side if factors[place].forward else side
        values = self.partners.by(factors[place].predicate, near)[0]
        rows = values[neighbours_differ(values)] - full.row_domain.low
        return rows[(rows >= 0) & (rows < height)]

    def _along_full(self, product: Product, full: Bitmap, turn: Turn) -> Iterator[Product]:
        """Each pair of the growing relation whose bit is a row of ours unites that row."""
        side, wanted = turn.side, self._wanted(full, turn)
        rows = self._rows(product, side, self._bit_domain(product, turn))
        mask = _mask(rows, full)
        height = max(1, _BLOCK // full.words.shape[1])
        domain = self._domain(turn.far) or full.row_domain
        for first in range(0, len(wanted), height):
            block = wanted[first : first + height]
            words = full.words[block] & mask
            self.bounds.need(int(np.bitwise_count(words).sum()) * _PAIR, "a growing relation")
            targets, bits = set_bits(words)
            if len(targets):
                places = _places(rows, bits + full.bit.low)
                shift = full.row_domain.low - domain.low
                yield self._united(rows, block[targets] + shift, places, domain.low, side)


def _places(rows: RowBits, values: Array) -> Array:
    """For each value the place of its row, -1 for none."""
    offsets = values - rows.row_low
    last = int(rows.rows[-1])
    inside: Mask = (offsets >= 0) & (offsets <= last)
    if last <= _SPREAD * (len(rows.rows) + len(values)):
        table = np.full(last + 1, -1, np.int64)
        table[rows.rows] = np.arange(len(rows.rows))
        places = table[np.where(inside, offsets, 0)]
    else:
        places = np.searchsorted(rows.rows, offsets)
        np.minimum(places, len(rows.rows) - 1, out=places)
        inside &= rows.rows[places] == offsets
    return np.where(inside, places, -1)


def _mask(rows: RowBits, full: Bitmap) -> Words:
    """One row of words with the bits of the growing relation that are rows of ours."""
    bits = rows.rows + rows.row_low - full.bit.low
    bits = bits[(bits >= 0) & (bits <= full.bit.high - full.bit.low)]
    if not len(bits):
        return np.zeros(full.words.shape[1], np.uint64)
    made = from_pairs(np.zeros(len(bits), np.int64), bits + full.bit.low, 0, full.padded)
    mask: Words = made.bits[0]
    return mask
