"""One stage computed in semi-naive rounds, or refused with the reason."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Protocol

import numpy as np

from constat.columnar.arrays import Array, Bounds, Columns, Domain, Packing, Widths
from constat.columnar.bits import Bitmap, matrix_bits
from constat.columnar.domains import (
    COMPARISONS,
    NumberOf,
    column_function,
    encode,
    find_domains,
    renumber,
)
from constat.columnar.products import JOINED, Chain, Chained, Partners, choose_rows, find_chain
from constat.columnar.relations import Finished, Growing, Readable, Runs
from constat.columnar.steps import Preparation, Prepared, Seen, When
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
from constat.plan import Absence, Call, Compute, Expression, Filter, Fold, Join, Step
from constat.plan.forward import ForwardPlan, Pipeline, Relation, Stage, Strategy

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
