"""What stands in each slot of a binding: its kind, and the class of places it shares values with.

In: a compiled rule and the rule it comes from. Out: a frame, with one of its own for the inside of
each aggregate. Invariant: a frame has as many slots as a binding at the end of the steps. Constants
are kept apart by kind, as `compile_rule` lays them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from constat.logic import (
    Aggregate,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Value,
    aggregate_kind,
)
from constat.plan.forward.classes import Classes
from constat.plan.operators import (
    Absence,
    Call,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    RulePlan,
    Slot,
    Step,
    slots_of,
)

TEXTS = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
Column = Callable[[str, int], tuple[Kind, int]]
"""The kind and the place of a column."""


@dataclass(slots=True)
class Frame:
    """The slots of a binding: kinds and places side by side; `inner` by number of the step."""

    kinds: list[Kind] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    inner: dict[int, Frame] = field(default_factory=dict)

    def add(self, kind: Kind, place: int) -> None:
        """Append a slot."""
        self.kinds.append(kind)
        self.places.append(place)


@dataclass(frozen=True, slots=True)
class Framing:
    """Builds frames and joins the classes of places that share values.

    With `strict` a class that would have to be spelled out again, for an order or a function, is
    spoiled: that is for rules that are evaluated many times.
    """

    classes: Classes
    column: Column
    strict: bool

    def of_rule(self, plan: RulePlan, rule: Rule) -> Frame:
        """Build the frame of a rule."""
        frame = Frame()
        atoms = (rule.head.terms, *_atoms(rule.body))
        for constant in distinct_constants(term for terms in atoms for term in terms):
            frame.add(constant.kind, self.classes.new())
        folds = (rule.body[place] for place in plan.order)
        aggregates = iter([one for one in folds if isinstance(one, Aggregate)])
        for number, step in enumerate(plan.steps):
            if isinstance(step, Fold):
                self._fold(frame, number, step, next(aggregates))
            else:
                self._step(frame, step)
        for column, expression in enumerate(plan.head):
            _, place = self.column(rule.head.predicate, column)
            self._equal(frame, expression, place)
        return frame

    def _step(self, frame: Frame, step: Step) -> None:
        match step:
            case Join(predicate=predicate, columns=columns, key=key, kept=kept, same=same):
                self._keys(frame, predicate, columns, key)
                for one, other in same:
                    self.classes.join(
                        self.column(predicate, one)[1], self.column(predicate, other)[1]
                    )
                for column in kept:
                    frame.add(*self.column(predicate, column))
            case Absence(predicate=predicate, columns=columns, key=key):
                self._keys(frame, predicate, columns, key)
            case Filter():
                self._filter(frame, step)
            case Compute(expression=expression):
                kind = _kind(frame, expression)
                place = self.classes.new()
                self._equal(frame, expression, place)
                frame.add(kind, place)
            case Fold():
                raise AssertionError("an aggregate has no aggregate inside")

    def _keys(
        self, frame: Frame, predicate: str, columns: Sequence[int], key: Sequence[int]
    ) -> None:
        for column, slot in zip(columns, key, strict=True):
            self.classes.join(self.column(predicate, column)[1], frame.places[slot])

    def _filter(self, frame: Frame, step: Filter) -> None:
        sides = (step.left, step.right)
        for expression in sides:
            if self.strict and isinstance(expression, Call):
                self._spoil(frame, slots_of(expression))
        match step:
            case Filter(operator="=" | "!=", left=Slot(one), right=Slot(other)):
                self.classes.join(frame.places[one], frame.places[other])
            case Filter(operator="=" | "!=") if not any(isinstance(one, Call) for one in sides):
                pass
            case _ if self.strict:
                self._spoil(frame, [slot for one in sides for slot in slots_of(one)])
            case _:
                pass

    def _equal(self, frame: Frame, expression: Expression, place: int) -> None:
        match expression:
            case Slot(slot):
                self.classes.join(frame.places[slot], place)
            case Literally():
                pass
            case Call():
                self.classes.spoil(place)
                if self.strict:
                    self._spoil(frame, slots_of(expression))

    def _spoil(self, frame: Frame, slots: Iterable[int]) -> None:
        for slot in slots:
            self.classes.spoil(frame.places[slot])

    def _fold(self, frame: Frame, number: int, step: Fold, literal: Aggregate) -> None:
        inner = frame.inner[number] = Frame()
        for slot in step.group:
            inner.add(frame.kinds[slot], frame.places[slot])
        for constant in distinct_constants(
            term for terms in _atoms(literal.body) for term in terms
        ):
            inner.add(constant.kind, self.classes.new())
        for one in step.steps:
            self._step(inner, one)
        if step.target is not None:
            # The result is text again, and so would be what it is compared with.
            self._spoil(inner, slots_of(step.target))
        if self.strict and step.threshold is not None:
            self._spoil(frame, slots_of(step.threshold.bound))
        result = self.classes.new()
        self.classes.spoil(result)
        frame.add(aggregate_kind(step.function, step.kind) or Kind.NUMBER, result)


def _kind(frame: Frame, expression: Expression) -> Kind:
    match expression:
        case Slot(slot):
            return frame.kinds[slot]
        case Call(result=result):
            return result
        case Literally(kind=kind):
            return kind


def distinct_constants(terms: Iterable[Term]) -> Iterator[Constant]:
    """Each constant once, told apart by kind and value, in order."""
    seen: set[tuple[Kind, Value]] = set()
    for term in terms:
        if isinstance(term, Constant) and (term.kind, term.value) not in seen:
            seen.add((term.kind, term.value))
            yield term


def _atoms(body: Iterable[Literal]) -> Iterator[tuple[Term, ...]]:
    for literal in body:
        if isinstance(literal, Positive | Negative):
            yield literal.atom.terms
