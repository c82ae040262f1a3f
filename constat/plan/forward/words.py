"""Steps of a pipeline in words, with the names that the rule gives to its slots.

In: a plan and one of its pipelines. Out: a line for each step. Invariant: a line names relations,
columns and variables as the rules do, so that it can be found in them. Example: `join edge on
from = ?y, take ?z`.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from constat.frozen import frozen
from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Rule,
    Term,
    Value,
    Variable,
)
from constat.plan.forward.operators import ForwardPlan, Pipeline, Reading
from constat.plan.forward.pipelines import appended, distinct_constants
from constat.plan.operators import (
    Absence,
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
from constat.syntax import print_literal, print_term

_READ: Final = MappingProxyType(
    {Reading.DELTA: "the new rows of ", Reading.STABLE: "the older rows of ", Reading.FULL: ""}
)


def step_words(plan: ForwardPlan, pipeline: Pipeline) -> list[str]:
    """Say what each step of a pipeline does."""
    rule = plan.program.rules[pipeline.plan.rule]
    names = _Names(pipeline, rule)
    folds = iter(_aggregates(rule, pipeline))
    lines = []
    width = len(pipeline.plan.constants)
    for number, step in enumerate(pipeline.plan.steps):
        words = _Words(plan, names, width, pipeline.readings[number])
        line = _fold(next(folds), step) if isinstance(step, Fold) else words.of(step)
        if number in pipeline.distinct:
            line += "; drop duplicates"
        lines.append(line)
        width += appended(step)
    return lines


def head_words(plan: ForwardPlan, pipeline: Pipeline) -> str:
    """Say what the pipeline makes."""
    rule = plan.program.rules[pipeline.plan.rule]
    names = _Names(pipeline, rule)
    terms = ", ".join(names.written(one) for one in pipeline.plan.head)
    return f"into {pipeline.head} ({terms}), without duplicates"


def _aggregates(rule: Rule, pipeline: Pipeline) -> Iterator[tuple[Rule, Aggregate]]:
    for place in pipeline.plan.order:
        literal = rule.body[place]
        if isinstance(literal, Aggregate):
            yield rule, literal


def _fold(found: tuple[Rule, Aggregate], step: Fold) -> str:
    rule, literal = found
    text = print_literal(literal)
    if step.threshold is None:
        return f"aggregate {text}"
    bounds = [
        print_literal(one)
        for one in rule.body
        if isinstance(one, Comparison) and literal.result in {one.left, one.right}
    ]
    return f"aggregate {text} and keep groups with {', '.join(bounds)}"


@frozen
class _Names:
    """How the slots of a pipeline are called."""

    pipeline: Pipeline
    rule: Rule

    def of(self, slot: int) -> str:
        """Name a slot: its variable, its constant, or its number."""
        plan = self.pipeline.plan
        for name, place in plan.variables.items():
            if place == slot:
                return print_term(Variable(name))
        if slot < len(plan.constants):
            return print_term(self._constant(slot))
        return f"value {slot}"

    def _constant(self, slot: int) -> Constant:
        terms = [
            *self.rule.head.terms,
            *(
                term
                for one in self.rule.body
                for term in getattr(one, "atom", self.rule.head).terms
            ),
        ]
        return list(distinct_constants(terms))[slot]

    def term(self, expression: Expression, kind: Kind) -> Term:
        """Turn an expression into a term of the language again."""
        match expression:
            case Slot(place):
                name = self.of(place)
                return Variable(name.removeprefix("?"))
            case Literally(value):
                return Constant(value, _kind(value, kind))
            case Call(function, arguments, parameters, result):
                inner = zip(arguments, parameters, strict=False)
                terms = tuple(self.term(one, parameter) for one, parameter in inner)
                return Apply(function, terms, result)

    def written(self, expression: Expression, kind: Kind = Kind.SYMBOL) -> str:
        """Write an expression."""
        if isinstance(expression, Slot):
            return self.of(expression.place)
        return print_term(self.term(expression, kind))


def _kind(value: Value, kind: Kind) -> Kind:
    """The kind to print a constant with: a text is quoted, a number is not."""
    if isinstance(value, str):
        return Kind.SYMBOL
    return Kind.NUMBER if kind is Kind.SYMBOL and isinstance(value, int) else kind


@frozen
class _Words:
    """Says what one step does; the bindings before it have `width` slots."""

    plan: ForwardPlan
    names: _Names
    width: int
    reading: Reading

    def of(self, step: Step) -> str:
        """Say what a step does."""
        match step:
            case Join():
                return self._join(step)
            case Absence(predicate=predicate, columns=columns, key=key):
                where = self._equalities(predicate, columns, key)
                return f"drop what is in {predicate}" + (f" on {where}" if where else "")
            case Filter(operator=operator, left=left, right=right, kind=kind):
                sides = (self.names.term(left, kind), self.names.term(right, kind))
                return f"keep {print_literal(Comparison(operator, *sides))}"
            case Compute(expression=expression):
                return f"compute {self.names.of(self.width)} = {self.names.written(expression)}"
            case Fold():
                raise AssertionError("aggregates are written as in their rule")

    def _join(self, step: Join) -> str:
        source = _READ[self.reading] + step.predicate
        where = self._equalities(step.predicate, step.columns, step.key)
        for one, other in step.same:
            names = self._column(step.predicate, one), self._column(step.predicate, other)
            where += (", " if where else "") + " = ".join(names)
        taken = ", ".join(self.names.of(self.width + place) for place in range(len(step.kept)))
        first = "read" if not any(slot >= self._constants for slot in step.key) else "join"
        if first == "read" and self.width > self._constants:
            first = "cross with"
        middle = (" on " if first == "join" else " where ") + where if where else ""
        return f"{first} {source}{middle}" + (f", take {taken}" if taken else "")

    @property
    def _constants(self) -> int:
        return len(self.names.pipeline.plan.constants)

    def _column(self, predicate: str, column: int) -> str:
        return self.plan.program.program.predicates[predicate].columns[column].name

    def _equalities(self, predicate: str, columns: tuple[int, ...], key: tuple[int, ...]) -> str:
        pairs = zip(columns, key, strict=True)
        return ", ".join(
            f"{self._column(predicate, column)} = {self.names.of(slot)}" for column, slot in pairs
        )
