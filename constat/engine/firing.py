"""The start and the end of a rule: bindings from demanded keys, head rows from bindings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from constat.engine.batch import Batch, Binding
from constat.engine.expressions import reads_hole, value_of
from constat.engine.relation import tuple_getter
from constat.engine.state import State
from constat.evaluation import ACCEPTED, POSSIBLE
from constat.logic import OPEN, EvaluationError, OpenRow, Row
from constat.plan import Expression, RulePlan, Slot

if TYPE_CHECKING:
    from constat.logic import Slot as SlotValue


def start(rule: RulePlan, keys: Iterable[Row]) -> Batch:
    """The first bindings of a rule.

    A key and the rule's constants, where the head can match the key.
    """
    bindings: list[Binding] = [key + rule.constants for key in keys]
    for one, other in rule.checks:
        bindings = [binding for binding in bindings if binding[one] == binding[other]]
    return Batch(bindings)


def heads(rule: RulePlan, batch: Batch, state: State) -> tuple[set[Row], list[tuple[OpenRow, int]]]:
    """The head rows of a finished batch: certain ones and weaker ones.

    An assumed rule gives no certain rows.
    """
    over = state.clock.over
    weak = [(_open_row(rule, binding, state), strength) for binding, strength in over(batch.weak)]
    if all(isinstance(one, Slot) for one in rule.head):
        getter = tuple_getter([one.place for one in rule.head if isinstance(one, Slot)])
        sure = set(map(getter, over(batch.sure)))
    else:
        rows = [_open_row(rule, binding, state) for binding in over(batch.sure)]
        sure = {row for row in rows if OPEN not in row}
        weak.extend((row, POSSIBLE) for row in rows if OPEN in row)
    if rule.assumed:
        weak.extend((row, ACCEPTED) for row in sure)
        weak = [(row, min(strength, ACCEPTED)) for row, strength in weak]
        sure = set()
    weak = [(row, min(strength, POSSIBLE) if OPEN in row else strength) for row, strength in weak]
    return sure, weak  # type: ignore[return-value]  # certain bindings hold no placeholder


def _open_row(rule: RulePlan, binding: Binding, state: State) -> OpenRow:
    return tuple(_slot(one, rule, binding, state) for one in rule.head)


def _slot(expression: Expression, rule: RulePlan, binding: Binding, state: State) -> SlotValue:
    if isinstance(expression, Slot):
        return binding[expression.place]
    if reads_hole(expression, binding):
        return OPEN
    try:
        return value_of(expression, state.texts)(binding)
    except EvaluationError as error:
        state.fail(rule, binding, str(error))
        return OPEN
