"""Rules that are products of binary relations.

In: a recursive pipeline. Out: a `Chain` where its joins form a path from one variable of the head
to the other, `head(u, w) :- r1(u, a), r2(a, b), ..., rn(z, w)` with the columns of any atom either
way round; else nothing. Such a rule is a product of Boolean matrices. Invariant: the factors stand
in the order of the path, and each joins the next one by exactly one variable.

Example: `hpt(?h, ?k) :- store(?y, ?x), vpt(?y, ?h), vpt(?x, ?k).` is the path h - vpt backward -
y - store - x - vpt - k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from constat.plan import Join, Slot
from constat.plan.forward import Pipeline, Reading

_ENDS = 2


@dataclass(frozen=True, slots=True)
class Factor:
    """One atom of the path; `forward` where the path goes from its column 0 to its column 1."""

    predicate: str
    forward: bool
    reading: Reading
    step: int


@dataclass(frozen=True, slots=True)
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
