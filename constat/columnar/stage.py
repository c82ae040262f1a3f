"""One stage computed: finished relations in, the relations of the stage out.

Invariant: the result is exact or an exception is raised (`StrategyError`, `ResourceError`, or
whatever `check` raises); nothing partial is ever given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from constat.columnar.arithmetic import NumberOf, encode
from constat.columnar.arrays import Columns
from constat.columnar.bitmaps import Bitmap, matrix_bits
from constat.columnar.bounds import Bounds
from constat.columnar.chains import Chain, choose_rows, find_chain
from constat.columnar.domains import find_domains
from constat.columnar.indexes import Finished, Growing, Readable
from constat.columnar.packing import Domain, Packing, Widths
from constat.columnar.preparation import Preparation, Prepared
from constat.columnar.products import JOINED, Chained, Partners
from constat.columnar.refusals import refusal
from constat.columnar.renumbering import renumber
from constat.columnar.rounds import Own, Rounds
from constat.columnar.runs import Runs
from constat.evaluation.bulk import Resources, StageReport, StrategyError
from constat.evaluation.events import Observer, ignore_event
from constat.plan.forward import ForwardPlan, Stage, Strategy


def _never() -> None:
    """Nobody wants to stop."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """In what portions the work is done. Tests make everything small.

    `chunk` is how many bindings may exist at a time, `widths` how many bits keys have, `bitmap`
    how many bits the pairs of one relation may take, `joined` what a pair that a join makes is
    estimated to cost in nanoseconds: little favours pairs, much favours rows of bits.
    """

    chunk: int = 1 << 19
    widths: Widths = field(default_factory=Widths)
    bitmap: int = 1 << 30
    joined: float = JOINED


_PAIR: Final = 2
# A round may need as much again for new rows, and for a product.
_MATRICES: Final = 3
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
) -> tuple[Mapping[str, Columns], StageReport]:
    """Compute the relations of a stage.

    `relations` has the rows of every relation the stage reads (absent: none), its own given ones
    included: int64, each row once. `number_of` is the shared dictionary. `check` is called for each
    chunk and round, and raises to stop. With `analyze` the report has the bindings after each step;
    with `stamps` each relation has one more column, the round its rows came in (0: from finished
    relations alone). Raises `StrategyError` and `ResourceError`.
    """
    why = refusal(stage, plan.relations, strategy)
    if why:
        raise StrategyError(why)
    bounds = Bounds(resources, check, chunk=tuning.chunk)
    renumbered = renumber(stage, relations)
    builder = _Builder(stage, plan, renumbered.inputs, number_of, bounds, tuning)
    own, pipelines = builder.build(strategy, stamps=stamps)
    _seed(own, stage, renumbered.inputs, number_of)
    rounds = Rounds(own, pipelines, bounds, observe, stamps=stamps, analyze=analyze)
    rounds.run()
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


@dataclass(frozen=True, slots=True)
class _Builder:
    """Makes what the rounds of a stage work on."""

    stage: Stage
    plan: ForwardPlan
    relations: Mapping[str, Columns]
    number_of: NumberOf
    bounds: Bounds
    tuning: Tuning

    def build(
        self, strategy: Strategy, *, stamps: bool
    ) -> tuple[dict[str, Own], list[Prepared | Chained]]:
        """The stage's own relations, and its pipelines ready to run."""
        arity = {name: relation.arity for name, relation in self.plan.relations.items()}
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
