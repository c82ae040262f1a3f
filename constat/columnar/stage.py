"""One stage computed in semi-naive rounds, or refused with the reason."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Final, Protocol

import numpy as np

from constat.columnar.arrays import (
    EMPTY,
    Array,
    Batch,
    Bounds,
    Columns,
    Domain,
    Mask,
    Packing,
    Widths,
    Words,
    neighbours_differ,
)
from constat.columnar.bits import (
    WORD,
    Bitmap,
    RowBits,
    from_pairs,
    matrix_bits,
    set_bits,
    unite,
    words_of,
)
from constat.columnar.domains import (
    COMPARISONS,
    NumberOf,
    column_function,
    encode,
    find_domains,
    renumber,
)
from constat.columnar.relations import Finished, Growing, Readable, Runs
from constat.columnar.steps import JoinStep, Preparation, Prepared, Seen, When
from constat.evaluation import (
    Observer,
    PipelineReport,
    Resources,
    RoundFinished,
    StageReport,
    StrategyError,
    ignore_event,
)
from constat.frozen import frozen, slotted
from constat.logic import Kind
from constat.logic.arithmetic import unwrapped
from constat.plan import Absence, Call, Compute, Expression, Filter, Fold, Join, Slot, Step
from constat.plan.forward import ForwardPlan, Pipeline, Reading, Relation, Stage, Strategy

# Rules that are products of binary relations, computed as Boolean matrices.

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
_PAIR_BITS: Final = 48
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
                self.bounds.need(count * _PAIR_BITS, "the pairs of a product")
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
            self.bounds.need(int(np.bitwise_count(words).sum()) * _PAIR_BITS, "a growing relation")
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


# One stage computed in semi-naive rounds, or refused with the reason.

# What is not refused here is computed exactly or raises `StrategyError`.

_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_STRATEGIES: Final = frozenset({Strategy.BITMAP, Strategy.RUNS})
_FOLDS: Final = frozenset({"count", "sum", "min", "max"})
_PAIR: Final = 2


def refusal(
    stage: Stage, relations: Mapping[str, Relation], strategy: Strategy = Strategy.RUNS
) -> str:
    """Why the stage cannot be computed this way; empty where it can."""
    return next(_reasons(stage, relations, strategy), "")


def _reasons(stage: Stage, relations: Mapping[str, Relation], strategy: Strategy) -> Iterator[str]:
    if strategy not in _STRATEGIES:
        yield f"{strategy.value} is no strategy of the columnar back end"
    arities = [relations[name].arity for name in stage.predicates]
    if strategy is Strategy.BITMAP and all(arity > _PAIR for arity in arities):
        yield "no relation of the stage has at most two columns"
    pipelines = (*stage.base, *stage.recursive)
    read = {name for one in pipelines for name in _predicates(one.plan.steps)}
    for name in (*stage.predicates, *sorted(read)):
        yield from _relation_reasons(relations[name])
    for pipeline in pipelines:
        for expression in pipeline.plan.head:
            yield from _expression_reasons(expression)
        for step in pipeline.plan.steps:
            yield from _step_reasons(step)
        yield from _layout_reasons(pipeline)


def _relation_reasons(relation: Relation) -> Iterator[str]:
    if not relation.arity:
        yield f"{relation.name} has no columns"
    for kind, encoded in zip(relation.kinds, relation.encoded, strict=True):
        if not encoded and kind not in _INTEGERS:
            yield f"{relation.name} has a {kind.value} column that is not encoded"


def _layout_reasons(pipeline: Pipeline) -> Iterator[str]:
    for layout in (pipeline.layout, *pipeline.inner.values()):
        for slot, kind in enumerate(layout.kinds):
            if kind not in _INTEGERS and slot not in layout.encoded:
                yield f"a {kind.value} value is not encoded"


def _predicates(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        match step:
            case Join() | Absence():
                yield step.predicate
            case Fold():
                yield from _predicates(step.steps)
            case Filter() | Compute():
                pass


def _step_reasons(step: Step) -> Iterator[str]:
    match step:
        case Filter(operator, left, right, kind):
            if operator not in COMPARISONS or (kind not in _INTEGERS and operator not in "!="):
                yield f"`{operator}` of {kind.value} values is not computed on columns"
            yield from _expression_reasons(left)
            yield from _expression_reasons(right)
        case Compute(expression):
            yield from _expression_reasons(expression)
        case Fold():
            yield from _fold_reasons(step)
        case Join() | Absence():
            pass


def _fold_reasons(step: Fold) -> Iterator[str]:
    integers = step.function == "count" or step.kind in _INTEGERS
    plain, width = unwrapped(step.function)
    if plain not in _FOLDS or not integers or (width and step.threshold is not None):
        kind = "" if step.kind is None else f" of {step.kind.value} values"
        yield f"{step.function}{kind} is not computed on columns"
    if step.target is not None:
        yield from _expression_reasons(step.target)
    if step.threshold is not None:
        yield from _expression_reasons(step.threshold.bound)
    for inner in step.steps:
        # An aggregate inside an aggregate does not exist in the language.
        yield from _step_reasons(inner)


def _expression_reasons(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Call):
        kinds = {*expression.parameters, expression.result}
        if not kinds <= _INTEGERS or not _is_computed(expression):
            kind = expression.result.value
            yield f"`{expression.function}` giving {kind} is not computed on columns"
        for argument in expression.arguments:
            yield from _expression_reasons(argument)


def _is_computed(call: Call) -> bool:
    try:
        column_function(call.function, call.result)
    except KeyError:
        return False
    return True


# All pipelines of a round read the rows of earlier rounds only, so that a row's stamp is the least
# height of its proofs within the stage (with bitmaps only where stamps are asked for).
# See Abiteboul, Hull and Vianu, Foundations of Databases, section 13.1 (semi-naive evaluation).


class Store(Protocol):
    """Where the rows of a relation are kept apart from each other."""

    rows: int

    @property
    def size(self) -> int:
        """Bytes held."""
        ...

    def offer(self, columns: Sequence[Array]) -> None:
        """Take candidates; repetitions and known rows are welcome."""
        ...

    def close(self) -> int:
        """End a round: how many rows are new."""
        ...

    def delta(self) -> Columns:
        """The new rows of the last round, each once."""
        ...

    def columns(self) -> Columns:
        """All rows."""
        ...


# Sizes are taken anew after so many new rows, and at the end.
_MEASURED_EACH: Final = 1 << 15


@slotted
class Own:
    """A relation of the stage: its rows, and how joins see them."""

    store: Store
    growing: Growing
    stamped: list[tuple[int, Columns]] = field(default_factory=list)

    def close(self, number: int, bounds: Bounds, *, stamps: bool) -> int:
        """End a round; give how many rows are new."""
        fresh = self.store.close()
        if self.growing.asked or stamps:
            bounds.need(fresh * self.growing.bytes_per_row, "the new rows of a round")
            columns = self.store.delta()
            if stamps and fresh:
                self.stamped.append((number, columns))
            self.growing.turn(columns)
        return fresh

    @property
    def size(self) -> int:
        """Bytes held."""
        stamped = sum(array.nbytes for _, columns in self.stamped for array in columns)
        return self.store.size + self.growing.size + stamped

    def result(self, *, stamps: bool) -> Columns:
        """All rows; with stamps the round of each as one more column."""
        if not stamps:
            return self.store.columns()
        arity = len(self.store.columns())
        if not self.stamped:
            return tuple(np.empty(0, np.int64) for _ in range(arity + 1))
        joined = [
            np.concatenate([columns[place] for _, columns in self.stamped])
            for place in range(arity)
        ]
        rounds = [np.full(len(columns[0]), number, np.int64) for number, columns in self.stamped]
        return (*joined, np.concatenate(rounds))


@slotted
class Work:
    """What one pipeline did so far."""

    rows: list[int]
    seconds: float = 0.0


class _DenseError(Exception):
    """So many rows are made that a bit for each row that may be costs less."""


@frozen
class Watch:
    """What rounds keep account of, and after how many candidates they are given up."""

    stamps: bool = False
    analyze: bool = False
    most: float | None = None


class Rounds:
    """Runs the pipelines of a stage to the fixpoint."""

    def __init__(
        self,
        own: Mapping[str, Own],
        pipelines: Sequence[Prepared | Chained],
        bounds: Bounds,
        observe: Observer,
        watch: Watch,
    ) -> None:
        self._most = math.inf if watch.most is None else watch.most
        self._offered = 0
        self._own = own
        self._pipelines = pipelines
        self._bounds = bounds
        self._observe = observe
        self._stamps = watch.stamps
        self._analyze = watch.analyze
        self._work: dict[int, Work] = {}
        self._variable = 0
        self._unmeasured = _MEASURED_EACH
        self.rounds = 0

    def run(self) -> None:
        """Compute the base, then rounds until nothing is new.

        Raises `_DenseError` after more than `most` candidates; what is in the stores stays true.
        """
        self._pass({When.BASE})
        fresh = self._close(0)
        first = any(one.when is When.FIRST for one in self._pipelines)
        recursive = any(one.when is not When.BASE for one in self._pipelines)
        number = 1
        while recursive and (fresh or (first and number == 1)):
            self._pass({When.EACH, When.FIRST if number == 1 else When.LATER})
            fresh = self._close(number)
            number += 1

    def _pass(self, when: set[When]) -> None:
        for prepared in self._pipelines:
            if prepared.when in when:
                self._bounds.tick()
                self._fire(prepared)

    def _fire(self, prepared: Prepared | Chained) -> None:
        if not self._analyze:
            self._run(prepared, None)
            return
        steps = len(prepared.pipeline.plan.steps)
        work = self._work.setdefault(id(prepared.pipeline), Work([0] * steps))
        started = time.perf_counter()

        def seen(place: int, count: int) -> None:
            work.rows[place] += count

        self._run(prepared, seen)
        work.seconds += time.perf_counter() - started

    def _run(self, prepared: Prepared | Chained, seen: Seen | None) -> None:
        if isinstance(prepared, Chained):
            prepared.fire(seen)
            return
        store = self._own[prepared.pipeline.head].store
        for columns in prepared.rows(self._bounds, seen):
            self._offered += len(columns[0])
            store.offer(columns)
            if self._offered > self._most:
                raise _DenseError

    def _close(self, number: int) -> int:
        fresh = 0
        for own in self._own.values():
            fresh += own.close(number, self._bounds, stamps=self._stamps)
            self._bounds.count(own.store.rows, self.rounds)
        self._measure(fresh)
        if fresh:
            self.rounds += 1
            self._observe(RoundFinished(tuple(self._own), self.rounds, fresh))
        return fresh

    def _measure(self, fresh: int) -> None:
        self._unmeasured += fresh
        if self._unmeasured >= _MEASURED_EACH or not fresh:
            self._unmeasured = 0
            now = sum(one.size for one in self._own.values())
            self._bounds.held += now - self._variable
            self._variable = now

    @property
    def size(self) -> int:
        """Bytes of the relations where they lie."""
        return self._variable

    def reports(self) -> tuple[PipelineReport, ...]:
        """What each pipeline did, where that was measured."""
        found: dict[int, PipelineReport] = {}
        for prepared in self._pipelines:
            work = self._work.get(id(prepared.pipeline))
            if work is not None:
                rule = prepared.pipeline.plan.rule
                report = PipelineReport(rule, tuple(work.rows), work.seconds)
                found[id(prepared.pipeline)] = report
        return tuple(found.values())


# The result is exact or an exception is raised (`StrategyError`, `ResourceError`, or whatever
# `check` raises); nothing partial is ever given.


def _never() -> None:
    """Nobody wants to stop."""


@frozen
class Tuning:
    """In what portions the work is done. Tests make everything small.

    `chunk` is how many bindings may exist at a time, `widths` how many bits keys have, `bitmap`
    how many bits the pairs of one relation may take, `sparse` from how many bits of a stage on
    its rows are kept sorted until they are many, `joined` what a pair that a join makes is
    estimated to cost in nanoseconds: little favours pairs, much favours rows of bits.
    """

    chunk: int = 1 << 19
    widths: Widths = field(default_factory=Widths)
    bitmap: int = 1 << 30
    sparse: int = 1 << 26
    joined: float = JOINED


# A round may need as much again for new rows, and for a product.
_MATRICES: Final = 3
# What a candidate costs among sorted rows, in bits of a matrix that some rounds pass over.
_CANDIDATE: Final = 128
# The difference of any two values below this size fits in 64 bits, with room to add a third.
_SAFE: Final = 1 << 61
_TUNING: Final = Tuning()


def run_stage(  # noqa: PLR0913, PLR0917  what every back end is given, and what it may be asked for
    stage: Stage,
    plan: ForwardPlan,
    relations: Mapping[str, Columns],
    number_of: NumberOf,
    strategy: Strategy,
    resources: Resources,
    *,
    stamps: bool = False,
    analyze: bool = False,
    observe: Observer = ignore_event,
    check: Callable[[], None] = _never,
    tuning: Tuning = _TUNING,
    most: float | None = None,
) -> tuple[Mapping[str, Columns], StageReport]:
    """Compute the relations of a stage.

    `relations` has the rows of every relation the stage reads (absent: none), its own given ones
    included: int64, each row once. `number_of` is the shared dictionary. `check` is called for each
    chunk and round, and raises to stop. After `most` candidates the stage is given up. With
    `analyze` the report has the bindings after each step;
    with `stamps` each relation has one more column, the round its rows came in (0: from finished
    relations alone). Raises `StrategyError` and `ResourceError`.
    """
    why = refusal(stage, plan.relations, strategy)
    if why:
        raise StrategyError(why)
    bounds = Bounds(resources, check, chunk=tuning.chunk)
    renumbered = renumber(stage, relations)
    builder = _Builder(stage, plan, renumbered.inputs, number_of, bounds, tuning)
    own, rounds, strategy = builder.settle(strategy, observe, Watch(stamps, analyze, most))
    report = StageReport(
        number=stage.number,
        strategy=strategy.value,
        rounds=rounds.rounds,
        rows={name: one.store.rows for name, one in own.items()},
        seconds=bounds.seconds(),
        bytes=rounds.size,
        pipelines=rounds.reports(),
    )
    found = {name: renumbered.back(name, one.result(stamps=stamps)) for name, one in own.items()}
    return found, report


@frozen
class _Builder:
    """Makes what the rounds of a stage work on."""

    stage: Stage
    plan: ForwardPlan
    relations: Mapping[str, Columns]
    number_of: NumberOf
    bounds: Bounds
    tuning: Tuning

    def settle(
        self, strategy: Strategy, observe: Observer, watch: Watch
    ) -> tuple[dict[str, Own], Rounds, Strategy]:
        """Compute the fixpoint; give also the strategy that came to it."""
        known, bounds = self.relations, self.bounds
        trial = self.worth_trying() if strategy is Strategy.BITMAP and not watch.stamps else 0.0
        strategy = Strategy.RUNS if trial else strategy
        while True:
            own, pipelines = self.build(strategy, stamps=watch.stamps)
            _seed(own, self.stage, known, self.number_of)
            limited = replace(watch, most=trial or watch.most)
            rounds = Rounds(own, pipelines, bounds, observe, limited)
            try:
                rounds.run()
            except _DenseError:
                if not trial:
                    raise StrategyError("its rules make more rows than was thought") from None
                # Rows only follow from rows: whatever was found so far is where the bits begin.
                known = {name: _all_rows(one) for name, one in own.items()}
                strategy, trial, bounds.held = Strategy.BITMAP, 0.0, 0
            else:
                return own, rounds, strategy

    def arity(self) -> dict[str, int]:
        """How many columns each relation has that the stage makes or reads."""
        pipelines = (*self.stage.base, *self.stage.recursive)
        read = (name for one in pipelines for name in _predicates(one.plan.steps))
        names = dict.fromkeys((*self.stage.predicates, *read))
        return {name: self.plan.relations[name].arity for name in names}

    def worth_trying(self) -> float:
        """After how many candidates sorted rows give way to bits; nothing where bits are cheap.

        A matrix is passed over in every round, however few of its pairs there are.
        """
        arity = self.arity()
        found = find_domains(self.stage, arity, self.relations, self.number_of)
        bits = 0
        for name in self.stage.predicates:
            domains = [found[name, place] for place in range(arity[name])]
            if len(domains) <= _PAIR and all(one.closed for one in domains):
                bits += matrix_bits(domains, 0)
        return bits / _CANDIDATE if bits > self.tuning.sparse else 0.0

    def build(
        self, strategy: Strategy, *, stamps: bool
    ) -> tuple[dict[str, Own], list[Prepared | Chained]]:
        """The stage's own relations, and its pipelines ready to run."""
        arity = self.arity()
        found = find_domains(self.stage, arity, self.relations, self.number_of)
        domains = {
            name: [found[name, place] for place in range(arity[name])]
            for name in self.stage.predicates
        }
        # A product may use rows of the round it is in, so that their stamps would not be least.
        chains = {} if stamps else _chains(self.stage)
        bitmaps: dict[str, Bitmap] = {}
        if strategy is Strategy.BITMAP:
            rows = choose_rows(list(chains.values()), self.stage.predicates)
            bitmaps = _bitmaps(domains, rows, self.bounds, self.tuning)
        own = {name: self._own(domains[name], bitmaps.get(name)) for name in self.stage.predicates}
        readable = _Readable(own, self.relations, arity, self.bounds, self.tuning.widths)
        preparation = Preparation(readable, self.number_of, self.bounds, self.tuning.widths)
        pipelines: list[Prepared | Chained] = [preparation.base(one) for one in self.stage.base]
        partners = Partners(readable.finished)
        for number, pipeline in enumerate(self.stage.recursive):
            chain = chains.get(number)
            if chain is not None and _fits(chain, own, bitmaps, readable):
                joined = self.tuning.joined
                pipelines.append(Chained(chain, bitmaps, partners, self.bounds, joined))
            else:
                pipelines += preparation.recursive(pipeline)
        return own, pipelines

    def _own(self, domains: list[Domain], bitmap: Bitmap | None) -> Own:
        widths = self.tuning.widths
        growing = Growing(domains, widths)
        return Own(bitmap or Runs(Packing(domains, widths), self.bounds), growing)


def _all_rows(own: Own) -> Columns:
    """The rows that were offered so far, those of a round that did not end included."""
    own.store.close()
    return own.store.columns()


def _chains(stage: Stage) -> dict[int, Chain]:
    """The recursive pipelines that are products of binary relations, by their number."""
    found = ((number, find_chain(one)) for number, one in enumerate(stage.recursive))
    return {number: chain for number, chain in found if chain is not None}


def _fits(
    chain: Chain, own: Mapping[str, Own], bitmaps: Mapping[str, Bitmap], readable: _Readable
) -> bool:
    """Whether each of the stage's relations in a chain is a bitmap, and differences are safe."""
    domains: list[Domain] = []
    for name in {chain.pipeline.head, *(one.predicate for one in chain.factors)}:
        if name in bitmaps:
            domains += [bitmaps[name].bit, bitmaps[name].row_domain]
        elif name in own:
            return False
        else:
            domains += [readable.finished(name).domain(column) for column in range(_PAIR)]
    return all(one.low > -_SAFE and one.high < _SAFE for one in domains)


def _bitmaps(
    columns: Mapping[str, list[Domain]], rows: Mapping[str, int], bounds: Bounds, tuning: Tuning
) -> dict[str, Bitmap]:
    """Bitmaps for the relations whose pairs are few enough."""
    found: dict[str, Bitmap] = {}
    for name, domains in columns.items():
        if len(domains) <= _PAIR and all(one.closed for one in domains):
            bits = matrix_bits(domains, rows[name])
            if bits <= tuning.bitmap and bounds.fits(bits // 8 * _MATRICES):
                found[name] = Bitmap(domains, rows[name], bounds)
                bounds.held += bits // 8
    if not found:
        raise StrategyError("the possible pairs of no relation fit into a bitmap")
    bounds.held = 0
    return found


def _seed(
    own: Mapping[str, Own], stage: Stage, relations: Mapping[str, Columns], number_of: NumberOf
) -> None:
    """Offer the rows that are given and stated."""
    for name, relation in own.items():
        given = relations.get(name)
        if given is not None and len(given[0]):
            relation.store.offer(given)
        stated = stage.stated.get(name, ())
        if stated:
            encoded = [[encode(value, number_of) for value in row] for row in stated]
            relation.store.offer(list(np.array(encoded, np.int64).T.copy()))


class _Readable(dict[str, Readable]):
    """Relations by name; a finished one is wrapped when it is first read."""

    def __init__(
        self,
        own: Mapping[str, Own],
        columns: Mapping[str, Columns],
        arity: Mapping[str, int],
        bounds: Bounds,
        widths: Widths,
    ) -> None:
        super().__init__({name: one.growing for name, one in own.items()})
        self._columns = columns
        self._arity = arity
        self._bounds = bounds
        self._widths = widths

    def finished(self, name: str) -> Finished:
        """A relation that is not of the stage."""
        found = self[name]
        if isinstance(found, Growing):
            raise TypeError(f"{name} still grows")
        return found

    def __missing__(self, name: str) -> Readable:
        columns = self._columns.get(name)
        if columns is None:
            columns = tuple(np.empty(0, np.int64) for _ in range(self._arity[name]))
        self[name] = Finished(columns, self._bounds, self._widths)
        return self[name]
