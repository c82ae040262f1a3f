"""Stages built by hand from rules as text: no estimates, no rewriting, one stage for all rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from constat.columnar import Tuning, run_stage
from constat.evaluation import Resources
from constat.logic import Aggregate, Kind, Positive
from constat.plan import Fold, Join, compile_rule
from constat.plan.forward import (
    ForwardPlan,
    Layout,
    Pipeline,
    Reading,
    Relation,
    Stage,
    Strategy,
)
from tests.engine.tables import program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.columnar import Columns
    from constat.evaluation import StageReport
    from constat.logic import Row, Rule, Value
    from constat.plan import Step

INTEGERS = frozenset({Kind.NUMBER, Kind.UNSIGNED})
Rows = set[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its one stage, and the plan around it."""

    analysed: AnalysedProgram
    stage: Stage
    plan: ForwardPlan


def case(text: str, number: int = 0) -> Case:
    """Make one stage of all rules of a program; the relations without rules are inputs."""
    analysed = program(text)
    rules = [(n, rule) for n, rule in enumerate(analysed.rules) if rule.body]
    facts = [rule for rule in analysed.rules if not rule.body]
    own = tuple(dict.fromkeys(rule.head.predicate for rule in analysed.rules))
    base = [(n, rule) for n, rule in rules if not _reads(rule, own)]
    recursive = [(n, rule) for n, rule in rules if _reads(rule, own)]
    stated: dict[str, tuple[Row, ...]] = {}
    for fact in facts:
        row = tuple(_value(term) for term in fact.head.terms)
        stated[fact.head.predicate] = (*stated.get(fact.head.predicate, ()), row)
    stage = Stage(
        number=number,
        predicates=own,
        stated=stated,
        base=tuple(_pipeline(analysed, n, rule, None, own) for n, rule in base),
        recursive=tuple(one for n, rule in recursive for one in _deltas(analysed, n, rule, own)),
        linear=False,
        strategy=Strategy.RUNS,
        choices=(Strategy.RUNS, Strategy.BITMAP),
        why="by hand",
    )
    plan = ForwardPlan(analysed, analysed, _relations(analysed, own), (), (stage,), ())
    return Case(analysed, stage, plan)


def compute(
    made: Case,
    inputs: Mapping[str, Rows],
    strategy: Strategy = Strategy.RUNS,
    *,
    tuning: Tuning | None = None,
    resources: Resources | None = None,
    stamps: bool = False,
) -> tuple[dict[str, Rows], StageReport]:
    """Run the stage over sets of rows."""
    texts: dict[str, int] = {}
    found, report = run_stage(
        made.stage,
        made.plan,
        {name: columns_of(rows, made.plan.relations[name].arity) for name, rows in inputs.items()},
        lambda text: texts.setdefault(text, len(texts)),
        strategy,
        resources or Resources(),
        tuning=tuning or Tuning(),
        stamps=stamps,
    )
    for name, columns in found.items():
        rows = rows_of(columns)
        assert len(rows) == len(columns[0]), f"{name} has repeated rows"
    return {name: rows_of(columns) for name, columns in found.items()}, report


def columns_of(rows: Rows, arity: int) -> Columns:
    """Turn rows into columns."""
    if not rows:
        return tuple(np.empty(0, np.int64) for _ in range(arity))
    return tuple(np.array(column, np.int64) for column in zip(*sorted(rows), strict=True))


def rows_of(columns: Columns) -> Rows:
    """Turn columns into rows."""
    return set(zip(*(column.tolist() for column in columns), strict=True))


def _value(term: object) -> Value:
    value: Value = term.value  # type: ignore[attr-defined]  # a fact has constants
    return value


def _reads(rule: Rule, own: tuple[str, ...]) -> bool:
    return any(
        (isinstance(one, Positive) and one.atom.predicate in own)
        or (isinstance(one, Aggregate) and one.recursive)
        for one in rule.body
    )


def _deltas(
    analysed: AnalysedProgram, number: int, rule: Rule, own: tuple[str, ...]
) -> list[Pipeline]:
    if any(isinstance(one, Aggregate) and one.recursive for one in rule.body):
        return [_pipeline(analysed, number, rule, None, own)]
    places = [
        place
        for place, one in enumerate(rule.body)
        if isinstance(one, Positive) and one.atom.predicate in own
    ]
    return [_pipeline(analysed, number, rule, place, own) for place in places]


def _pipeline(
    analysed: AnalysedProgram, number: int, rule: Rule, delta: int | None, own: tuple[str, ...]
) -> Pipeline:
    kinds = analysed.variable_kinds[number]
    # A relation that is cheap is taken first: the delta.
    costs = {} if delta is None else dict.fromkeys(_names(rule), 1)
    if delta is not None:
        atom = rule.body[delta]
        assert isinstance(atom, Positive)
        costs[atom.atom.predicate] = 0
    plan = compile_rule(number, rule, (), kinds, costs)
    steps = plan.steps
    return Pipeline(
        head=rule.head.predicate,
        plan=plan,
        readings=tuple(_reading(step, delta, own) for step in steps),
        live=(),
        # After the first join duplicates may be dropped: never wrong.
        distinct=frozenset({0} if len(steps) > 1 and isinstance(steps[0], Join) else ()),
        layout=Layout(()),
    )


def _names(rule: Rule) -> list[str]:
    return [one.atom.predicate for one in rule.body if isinstance(one, Positive)]


def _reading(step: Step, delta: int | None, own: tuple[str, ...]) -> Reading:
    if not isinstance(step, Join) or isinstance(step, Fold) or delta is None:
        return Reading.FULL
    if step.literal == delta:
        return Reading.DELTA
    earlier = step.predicate in own and step.literal < delta
    return Reading.STABLE if earlier else Reading.FULL


def _relations(analysed: AnalysedProgram, own: tuple[str, ...]) -> dict[str, Relation]:
    return {
        name: Relation(
            name,
            signature.kinds,
            tuple(kind not in INTEGERS for kind in signature.kinds),
            given=name not in own,
            derived=name in own,
        )
        for name, signature in analysed.program.predicates.items()
    }


__all__ = ["Case", "Rows", "case", "columns_of", "compute", "replace", "rows_of"]
