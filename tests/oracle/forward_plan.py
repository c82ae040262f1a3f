"""A slow interpreter of forward plans: what a plan means, in sets of tuples.

In: a ``ForwardPlan`` and the rows of its inputs.  Out: the rows of every relation.  Invariant: no
cleverness; only what the plan says is done.  Rounds are semi-naive by the readings, slots that
are not live are forgotten, and encoded texts are tokens that equal no text, so that a plan that
mixes up one of these gives other rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.logic import Kind, Row, Value, comparison, fold, implementation
from constat.plan import (
    Absence,
    Beyond,
    Call,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    Slot,
    Step,
)
from constat.plan.forward import ForwardPlan, Layout, Pipeline, Reading, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Token:
    """The number of a text."""

    text: Value


@dataclass(frozen=True, slots=True)
class Gone:
    """What stands in a slot that is no longer live."""


Held = Value | Token | Gone
Binding = tuple[Held, ...]
Rows = set[Binding]
GONE = Gone()


def evaluate(plan: ForwardPlan, given: Mapping[str, Iterable[Row]]) -> dict[str, set[Row]]:
    """Compute every relation of the plan."""
    state = {name: _held(plan, name, given.get(name, ())) for name in plan.relations}
    for stage in plan.stages:
        _Stage(plan, stage, state).run()
    return {name: {tuple(map(plain, row)) for row in rows} for name, rows in state.items()}


def plain(value: Held) -> Value:
    """Spell out a token."""
    assert not isinstance(value, Gone), "a slot was read that is not live"
    return value.text if isinstance(value, Token) else value


def _held(plan: ForwardPlan, name: str, rows: Iterable[Row]) -> Rows:
    encoded = plan.relations[name].encoded
    return {tuple(Token(v) if e else v for v, e in zip(row, encoded, strict=True)) for row in rows}


class _Stage:
    def __init__(self, plan: ForwardPlan, stage: Stage, state: dict[str, Rows]) -> None:
        self.plan = plan
        self.stage = stage
        self.state = state
        self.delta: dict[str, Rows] = {}

    def run(self) -> None:
        """Compute the relations of the stage."""
        for name, stated in self.stage.stated.items():
            self.state[name] |= _held(self.plan, name, stated)
        for pipeline in self.stage.base:
            self.state[pipeline.head] |= set(self.heads(pipeline))
        self.delta = {name: set(self.state[name]) for name in self.stage.predicates}
        first = True
        while self.stage.recursive and (first or any(self.delta.values())):
            first = False
            new: dict[str, Rows] = {name: set() for name in self.stage.predicates}
            for pipeline in self.stage.recursive:
                new[pipeline.head] |= set(self.heads(pipeline))
            for name, rows in new.items():
                self.delta[name] = rows - self.state[name]
                self.state[name] = self.state[name] | rows

    def heads(self, pipeline: Pipeline) -> Iterator[Binding]:
        """Give the rows of a pipeline's head."""
        layout = pipeline.layout
        bindings = {_constants(pipeline.plan.constants, layout)}
        for number, step in enumerate(pipeline.plan.steps):
            reading = pipeline.readings[number]
            inner = pipeline.inner.get(number, layout)
            found = [
                one
                for binding in bindings
                for one in self.step(step, binding, reading, (layout, inner))
            ]
            live = pipeline.live[number]
            bindings = {
                tuple(v if slot in live else GONE for slot, v in enumerate(one)) for one in found
            }
        encoded = self.plan.relations[pipeline.head].encoded
        for binding in bindings:
            yield tuple(
                as_held(expression, binding, one)
                for expression, one in zip(pipeline.plan.head, encoded, strict=True)
            )

    def step(
        self, step: Step, binding: Binding, reading: Reading, layouts: tuple[Layout, Layout]
    ) -> Iterator[Binding]:
        """Give what a step makes of a binding."""
        match step:
            case Join():
                for row in self.read(step.predicate, reading):
                    if _agrees(step, binding, row):
                        yield (*binding, *(row[column] for column in step.kept))
            case Absence(predicate, columns, key):
                values = [binding[slot] for slot in key]
                rows = self.state[predicate]
                if not any([row[column] for column in columns] == values for row in rows):
                    yield binding
            case Filter():
                if _holds(step, binding):
                    yield binding
            case Compute(expression):
                encoded = len(binding) in layouts[0].encoded
                yield (*binding, as_held(expression, binding, encoded))
            case Fold():
                yield from self.fold(step, binding, layouts[1])

    def read(self, name: str, reading: Reading) -> Rows:
        """Give the rows that a reading means."""
        match reading:
            case Reading.DELTA:
                return self.delta[name]
            case Reading.STABLE:
                return self.state[name] - self.delta[name]
            case Reading.FULL:
                return self.state[name]

    def fold(self, step: Fold, binding: Binding, layout: Layout) -> Iterator[Binding]:
        """Aggregate over the assignments of the group."""
        group = tuple(binding[slot] for slot in step.group)
        constants = _constants(step.constants, layout, len(group))
        inner: list[Binding] = [(*group, *constants)]
        for one in step.steps:
            inner = [
                found
                for each in inner
                for found in self.step(one, each, Reading.FULL, (layout, layout))
            ]
        distinct = {tuple(one[slot] for slot in step.distinct): one for one in inner}
        target = step.target
        values = [0 if target is None else value_of(target, one) for one in distinct.values()]
        if step.threshold is not None:
            if beyond(step.threshold, values, step.function, binding):
                yield (*binding, GONE)
            return
        value = fold(step.function, step.kind, values)
        if value is not None:
            yield (*binding, value)


def beyond(threshold: Beyond, values: list[Value], function: str, binding: Binding) -> bool:
    """Tell whether an exact total is beyond the bound."""
    total = len(values) if function == "count" else sum(values)  # type: ignore[arg-type]
    bound = value_of(threshold.bound, binding)
    return total > bound if threshold.operator == ">" else total >= bound  # type: ignore[operator]


def value_of(expression: Expression, binding: Binding) -> Value:
    """Evaluate an expression over what the slots spell out."""
    match expression:
        case Slot(place):
            return plain(binding[place])
        case Literally(value):
            return value
        case Call(function, arguments, parameters, result):
            values = [value_of(one, binding) for one in arguments]
            return implementation(function, parameters, result)(*values)


def as_held(expression: Expression, binding: Binding, encoded: bool) -> Held:  # noqa: FBT001  a flag of the layout
    """Evaluate an expression for a place that is encoded or not."""
    if isinstance(expression, Slot):
        held = binding[expression.place]
        assert not isinstance(held, Gone), "a slot was read that is not live"
        assert encoded or not isinstance(held, Token), "a number was put where a text stands"
        # What a rule made gets its number when its row is entered.
        return Token(held) if encoded and not isinstance(held, Token) else held
    value = value_of(expression, binding)
    return Token(value) if encoded else value


def _holds(step: Filter, binding: Binding) -> bool:
    if isinstance(step.left, Slot) and isinstance(step.right, Slot):
        left, right = binding[step.left.place], binding[step.right.place]
        if step.operator in {"=", "!="}:
            assert isinstance(left, Token) is isinstance(right, Token)
    test = comparison(step.operator, step.kind)
    return bool(test(value_of(step.left, binding), value_of(step.right, binding)))


def _agrees(step: Join, binding: Binding, row: Binding) -> bool:
    keys = zip(step.columns, step.key, strict=True)
    assert not any(isinstance(binding[slot], Gone) for slot in step.key)
    return all(row[column] == binding[slot] for column, slot in keys) and all(
        row[one] == row[other] for one, other in step.same
    )


def _constants(values: Iterable[Value], layout: Layout, start: int = 0) -> Binding:
    return tuple(
        Token(value) if slot in layout.encoded else value
        for slot, value in enumerate(values, start)
    )


def kinds_fit(plan: ForwardPlan, pipeline: Pipeline) -> bool:
    """Tell whether the layout has the kinds of what the joins append."""
    width = len(pipeline.plan.constants)
    kinds: list[Kind] = list(pipeline.layout.kinds)
    for step in pipeline.plan.steps:
        if isinstance(step, Join):
            columns = plan.relations[step.predicate].kinds
            for column in step.kept:
                if kinds[width] is not columns[column]:
                    return False
                width += 1
        elif isinstance(step, Compute | Fold):
            width += 1
    return width == len(kinds)
