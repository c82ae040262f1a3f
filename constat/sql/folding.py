"""Aggregates as queries.

In: bindings, and a `Fold`. Out: the same bindings with one slot more. The assignments of the fold
are a query of their own that starts either with the groups of the bindings (`restricted`) or, where
its own joins bind the whole group, with nothing; grouped, it is joined to the bindings. Invariant:
a group without assignments has the count and the sum 0, and no other aggregate. Relations are sets
and every variable of an aggregate has a slot, so assignments are distinct without being made so.
Example: `?n = count : { order(_, ?c) }` for the customers ?c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from constat.evaluation import StrategyError
from constat.logic import Kind, aggregate_kind
from constat.logic.wrapping import unwrapped
from constat.plan import Absence, Compute, Filter, Fold, Join, slots_of
from constat.plan.forward import Reading
from constat.sql import trees
from constat.sql.functions import folded
from constat.sql.rows import Cell, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from constat.plan import Expression, Step
    from constat.plan.forward import Layout

_ALWAYS: Final = ("count", "sum")
_FEW: Final = 0.05
_EXACT_TOTALS: Final = (Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL)


class Wish(Protocol):
    """How a fold is best computed."""

    @property
    def restricted(self) -> bool:
        """Whether the bindings are the few of a round."""
        ...

    @property
    def before(self) -> float:
        """The estimated number of bindings, 0 for unknown."""
        ...

    @property
    def touched(self) -> Groups | None:
        """The only groups that matter."""
        ...

    @property
    def shown(self) -> bool:
        """Whether the result is in the head."""
        ...


class StepText(Protocol):
    """Writes the steps inside."""

    def rows(self) -> Rows:
        """Rows under construction."""
        ...

    def join(self, rows: Rows, step: Join, reading: Reading, free: Sequence[int] = ()) -> None:
        """Join a relation."""
        ...

    def step(
        self, rows: Rows, step: Step, reading: Reading, layout: Layout, shown: set[int]
    ) -> None:
        """Take a step."""
        ...


def add_fold(writer: StepText, rows: Rows, step: Fold, layout: Layout, wish: Wish) -> None:
    """Append an aggregate to the bindings."""
    if wish.touched is not None:
        _only_touched(rows, step, wish.touched)
    group = [rows.cells[place] for place in step.group]
    if not group:
        inner = _assignments(writer, step, layout, writer.rows())
        _cross(rows, step, _grouped(inner, step, 0), wish)
        return
    if _joins_bind_group(step) and not wish.restricted and not _few(rows, step, wish):
        inner = _assignments(writer, step, layout, writer.rows(), free=True)
        rows.flatten()
    else:
        inner = _assignments(writer, step, layout, _start(writer, rows, step))
    alias = rows.names.fresh("a")
    grouped = _grouped(inner, step, len(group))
    # What the total reads is spelled out before it is grouped: numbers may have become texts.
    on = []
    for place, slot in enumerate(step.group):
        key, node = inner.cells[place], trees.column(alias, f"k{place}")
        on.append(rows.equal(rows.cells[slot], Cell(key.kind, node, key.encoded)))
    outer = unwrapped(step.function)[0] in _ALWAYS
    rows.add_source(trees.nested(grouped, alias), on, outer=outer)
    _append(rows, step, trees.column(alias, "v"), wish)


@dataclass(frozen=True, slots=True)
class Groups:
    """The only groups that matter: a query of `k0`, `k1`, ..., and which of them are numbers."""

    query: exp.Query
    encoded: tuple[bool, ...]


def touched_groups(
    writer: StepText, step: Fold, layout: Layout, reading_of: Sequence[Reading]
) -> Groups | None:
    """The groups whose assignments read rows of a round, or nothing where that cannot be said.

    `reading_of[i]` says which rows inner step i reads.
    """
    if not step.group or not _joins_bind_group(step):
        return None
    inner = _assignments(writer, step, layout, writer.rows(), free=True, readings=reading_of)
    keys = [inner.cells[place] for place in range(len(step.group))]
    nodes = [cell.node if cell.node is not None else inner.plain(cell) for cell in keys]
    outputs = [(f"k{place}", node) for place, node in enumerate(nodes)]
    query = inner.query(outputs, distinct=True)
    return Groups(query, tuple(cell.encoded for cell in keys))


def _assignments(
    writer: StepText,
    step: Fold,
    layout: Layout,
    inner: Rows,
    *,
    free: bool = False,
    readings: Sequence[Reading] = (),
) -> Rows:
    """Take the inner steps."""
    group = range(len(step.group))
    inner.width = len(group)
    inner.append_constants(step.constants, layout.kinds)
    for number, one in enumerate(step.steps):
        reading = readings[number] if readings else Reading.FULL
        if isinstance(one, Join):
            writer.join(inner, one, reading, group if free else ())
        else:
            writer.step(inner, one, reading, layout, set())
    return inner


def _start(writer: StepText, rows: Rows, step: Fold) -> Rows:
    """Begin with the distinct groups of the bindings, which become a table that is read twice."""
    rows.flatten()
    # Constants are no columns of a query: a group has them as they are.
    columns = [
        (place, slot) for place, slot in enumerate(step.group) if rows.cells[slot].node is not None
    ]
    named = [(f"s{slot}", cell.node) for slot, cell in rows.cells.items() if cell.node is not None]
    bindings = rows.query(named or [("nothing", trees.integer(0))])
    label = rows.names.fresh("b")
    rows.add_table(label, bindings)
    rows.add_source(trees.table(label))
    inner = writer.rows()
    if columns:
        keys = [(f"s{place}", trees.bare(f"s{slot}")) for place, slot in columns]
        groups = trees.select(keys, source=trees.table(label), distinct=True)
        inner.add_source(trees.nested(groups, rows.names.fresh("q")))
    for place, slot in enumerate(step.group):
        cell = rows.cells[slot]
        node = None if cell.node is None else trees.bare(f"s{place}")
        inner.cells[place] = Cell(cell.kind, node, cell.encoded, cell.value)
    for slot, cell in list(rows.cells.items()):
        if cell.node is not None:
            rows.cells[slot] = Cell(cell.kind, trees.bare(f"s{slot}"), cell.encoded)
    return inner


def _grouped(inner: Rows, step: Fold, width: int) -> exp.Select:
    """One row for each group that has an assignment: `k0`, `k1`, ..., and the value `v`."""
    total = _total(inner, step)
    current = [inner.cells[place] for place in range(width)]
    nodes = [cell.node if cell.node is not None else inner.plain(cell) for cell in current]
    outputs = [*((f"k{place}", node) for place, node in enumerate(nodes)), ("v", total)]
    query = inner.query(outputs)
    trees.group(query, [node.copy() for node in nodes])
    return query


def _total(inner: Rows, step: Fold) -> exp.Expr:
    result = aggregate_kind(step.function, step.kind)
    if result is None:
        raise StrategyError(f"no aggregate {step.function} of that kind")
    if step.threshold is not None:
        return _threshold_total(inner, step)
    target = None
    if step.target is not None and step.kind is not None:
        target = inner.value(step.target, step.kind)
    return folded(inner.outside, step.function, step.kind, result, target)


def _threshold_total(inner: Rows, step: Fold) -> exp.Expr:
    """The exact total, wider than its kind; a summand below zero is left to other strategies."""
    if step.target is None or step.kind is None:
        return trees.call("count", trees.integer(1))
    if step.kind not in _EXACT_TOTALS or unwrapped(step.function)[1]:
        raise StrategyError("a threshold on a sum that SQL does not add up exactly")
    target = inner.value(step.target, step.kind)
    total = trees.call("sum", target)
    if step.threshold is not None and step.threshold.proven:
        return total
    least = trees.call("min", target.copy())
    negative = trees.binary("<", least, trees.integer(0))
    reason = "a summand of a threshold is negative"
    return trees.choose(negative, trees.call("error", trees.text(reason)), total)


def _append(rows: Rows, step: Fold, value: exp.Expr, wish: Wish) -> None:
    """Append the value of the group, or compare it with the bound of a threshold."""
    result = aggregate_kind(step.function, step.kind) or Kind.NUMBER
    plain = unwrapped(step.function)[0]
    if plain in _ALWAYS:
        value = trees.call("coalesce", value, trees.constant(0, result))
    if step.threshold is not None:
        _keep_beyond(rows, step, value, result)
        return
    place = rows.name_slot(value, result)
    if not wish.shown and plain in {"sum", "mean"}:
        rows.force(trees.bare(f"s{place}"))


def _keep_beyond(rows: Rows, step: Fold, value: exp.Expr, kind: Kind) -> None:
    if step.threshold is None:
        return
    node = rows.let(value)
    bound = rows.value(step.threshold.bound, kind)
    rows.add_condition(trees.binary(step.threshold.operator, node, bound))
    rows.width += 1


def _cross(rows: Rows, step: Fold, grouped: exp.Select, wish: Wish) -> None:
    """Join the one row that an aggregate without a group has."""
    alias = rows.names.fresh("a")
    rows.flatten()
    rows.add_source(trees.nested(grouped, alias))
    value = trees.column(alias, "v")
    if unwrapped(step.function)[0] not in _ALWAYS:
        rows.add_condition(trees.opposite(trees.is_null(value)))
    _append(rows, step, value.copy(), wish)


def _only_touched(rows: Rows, step: Fold, touched: Groups) -> None:
    rows.flatten()
    alias = rows.names.fresh("g")
    on = []
    for place, (slot, encoded) in enumerate(zip(step.group, touched.encoded, strict=True)):
        cell = rows.cells[slot]
        key = Cell(cell.kind, trees.column(alias, f"k{place}"), encoded)
        on.append(rows.equal(cell, key))
    rows.add_source(trees.nested(touched.query.copy(), alias), on)


def _joins_bind_group(step: Fold) -> bool:
    """Whether the inner joins find all values of the group by themselves."""
    free = set(range(len(step.group)))
    for one in step.steps:
        match one:
            case Join(key=key):
                free.difference_update(key)
            case Absence(key=key):
                if free.intersection(key):
                    return False
            case Compute(expression):
                if _reads(free, expression):
                    return False
            case Filter(left=left, right=right):
                if _reads(free, left) or _reads(free, right):
                    return False
            case Fold():
                return False
    return not free and not (step.target is not None and _reads(free, step.target))


def _reads(free: set[int], expression: Expression) -> bool:
    return not free.isdisjoint(slots_of(expression))


def _few(rows: Rows, step: Fold, wish: Wish) -> bool:
    """Whether the bindings are so few that most groups would be computed in vain."""
    sizes = [
        rows.tables.relation(one.predicate).rows for one in step.steps if isinstance(one, Join)
    ]
    return bool(wish.before) and bool(sizes) and wish.before < _FEW * max(sizes)
