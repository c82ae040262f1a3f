"""Whole relations with the least height at which each row can be proved.

In: a program, a goal's atom, inputs. Out: `Levels`: every relation that the goal rests on, in
memory and ready to be looked up; heights come when they are asked for, by one more evaluation.
`None` where heights are not simply rounds: below negation and aggregates, above rules or rows that
are assumed, where a relation is open, or where rules of one component read relations whose rows
have several heights. Invariant: the height of a row is that of its lowest proof, a row from outside
having 0 (rounds of semi-naive evaluation, see `constat.columnar.stage`). Example: in the closure of
`edge` the height of `path(1, 4)` is the length of the shortest path.
"""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING

from constat.evaluation import ResourceError, StrategyError, ignore_event
from constat.forward.division import EVERYTHING, used_by_head
from constat.forward.gathering import Gathering
from constat.forward.inputs import Outside
from constat.frozen import slotted
from constat.logic import Comparison, Kind, Positive
from constat.plan.forward import PlanOptions, Sizes, Strategy, plan_forward
from constat.sql import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.columnar import Columns
    from constat.columnar.relations import Lookup
    from constat.evaluation import Externals, Observer, Resources
    from constat.logic import Atom, Row, Rule, Value
    from constat.plan.forward import ForwardPlan, Stage

_BY_ARRAYS = frozenset({Strategy.BITMAP, Strategy.RUNS})
_TEXTS = frozenset({Kind.SYMBOL, Kind.STRUCTURE})
_READABLE = _TEXTS | {Kind.NUMBER}


@slotted
class Levels:
    """The relations of one evaluation, by predicate; values, and the numbers they stand for."""

    derived: frozenset[str]
    _lookups: Mapping[str, Lookup]
    _kinds: Mapping[str, tuple[Kind, ...]]
    _computing: _Computing
    _texts: dict[int, str] = field(default_factory=dict)
    has_heights: bool = False

    def add_heights(self) -> bool:
        """Compute the height of every row once more from the rules; tell whether that went."""
        if not self.has_heights:
            found = self._computing.run(stamps=True)
            self.has_heights = found is not None
            self._lookups = found or self._lookups
        return self.has_heights

    def rows_derived(self) -> int:
        """How many rows rules give."""
        return sum(self._lookups[name].count({}) for name in self.derived)

    def height(self, predicate: str, row: Row) -> int | None:
        """The least height of a row (before `add_heights`: 0); `None` where it does not hold."""
        numbers = [self._number(one) for one in row]
        return self._lookups[predicate].height(numbers)

    def count(self, predicate: str, bound: Mapping[int, Value]) -> int:
        """At most how many rows have these values."""
        return self._lookups[predicate].count(self._numbers(bound))

    def rows(self, predicate: str, bound: Mapping[int, Value], below: int) -> Iterator[Row]:
        """Yield the rows with these values whose height is less."""
        kinds = self._kinds[predicate]
        for found in self._lookups[predicate].rows(self._numbers(bound), below):
            yield tuple(
                self._text(one) if kind in _TEXTS else one
                for one, kind in zip(found, kinds, strict=True)
            )

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(one.size for one in self._lookups.values())

    def close(self) -> None:
        """Forget everything."""
        self._computing.database.close()

    def _numbers(self, bound: Mapping[int, Value]) -> dict[int, int]:
        return {place: self._number(value) for place, value in bound.items()}

    def _number(self, value: Value) -> int:
        if not isinstance(value, str):
            return int(str(value))
        return self._computing.database.number_of(value)

    def _text(self, number: int) -> str:
        found = self._texts.get(number)
        if found is None:
            (found,) = self._computing.database.texts([number])
            self._texts[number] = found
        return found


def levels_of(
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    resources: Resources,
    observe: Observer = ignore_event,
) -> Levels | None:
    """Compute what a goal rests on, still without heights; whoever takes it closes it."""
    below = _below(program, goal.predicate)
    given = sorted(below & program.external)
    if not _is_plain(program, below):
        return None
    inputs = {name: Outside(one) for name, one in externals.items()}
    gathering = Gathering(inputs, observe, len(given), resources.rows)
    predicates = program.program.predicates
    known = [gathering.look(predicates[name], EVERYTHING) for name in given]
    if not all(one.closed for one in known):
        return None
    sizes = Sizes({one.predicate.name: float(one.rows or 0) for one in known})
    plan = plan_forward(program, [goal], sizes, PlanOptions(magic=False, rewrite=False))
    database = Database(resources)
    computing = _Computing(plan, database, gathering, resources, observe)
    try:
        computing.load()
        found = computing.run(stamps=False)
    except (ResourceError, StrategyError):
        # Too large, or no column for its values: rows are proved without it.
        database.close()
        return None
    except BaseException:
        database.close()
        raise
    if found is None:
        database.close()
        return None
    kinds = {name: one.kinds for name, one in plan.relations.items()}
    return Levels(frozenset(found) - set(given), found, kinds, computing)


def _below(program: AnalysedProgram, predicate: str) -> frozenset[str]:
    """Everything that a predicate rests on, itself included."""
    uses = used_by_head(program)
    found, waiting = {predicate}, [predicate]
    while waiting:
        fresh = uses.get(waiting.pop(), frozenset()) - found
        found |= fresh
        waiting += fresh
    return frozenset(found)


def _is_plain(program: AnalysedProgram, below: frozenset[str]) -> bool:
    """Whether heights are rounds as far as rules and columns go."""
    predicates = program.program.predicates
    rules = [rule for rule in program.rules if rule.head.predicate in below]
    derived = {rule.head.predicate for rule in rules}
    return (
        not derived & program.external
        and all(set(predicates[name].kinds) <= _READABLE for name in below)
        and not any(rule.assumed for rule in rules)
        and all(isinstance(one, Positive | Comparison) for rule in rules for one in rule.body)
    )


@slotted
class _Computing:
    """One evaluation, which may be made again; `columns` are the rows from outside."""

    plan: ForwardPlan
    database: Database
    gathering: Gathering
    resources: Resources
    observe: Observer
    columns: dict[str, Columns] = field(default_factory=dict)

    def load(self) -> None:
        """Load what comes from outside."""
        for relation in self.plan.relations.values():
            self.database.declare(relation)
        for name in self.plan.inputs:
            self.gathering.found[name].load(self.database, name)
            self.columns[name] = self.database.columns(name)

    def run(self, *, stamps: bool) -> dict[str, Lookup] | None:
        """Compute stage by stage; where rows get no stamps their heights are told as 0."""
        from constat.columnar import relations as looking  # noqa: PLC0415  loaded when it is used
        from constat.columnar import run_stage  # noqa: PLC0415  loaded when it is used

        columns = dict(self.columns)
        heights: dict[str, int | None] = dict.fromkeys(columns, 0)
        lookups = {name: looking.Lookup(its, 0) for name, its in columns.items()}
        until = time.monotonic() + self.resources.seconds
        for stage in self.plan.stages:
            base = self._base_height(stage, heights)
            if base is None or time.monotonic() > until:
                return None
            found, _ = run_stage(
                stage,
                self.plan,
                columns,
                self.database.number_of,
                _strategy(stage),
                self.resources,
                stamps=stamps,
                observe=self.observe,
            )
            for name, rows in found.items():
                own = columns[name] = rows[: len(self.plan.relations[name].kinds)]
                heights[name] = None if stage.is_recursive else base
                its = rows[-1] + base if stamps and stage.is_recursive else base * stamps
                lookups[name] = looking.Lookup(own, its)
        return lookups

    def _base_height(self, stage: Stage, heights: Mapping[str, int | None]) -> int | None:
        """The height of rows that need no other row of the stage; `None` where it is not one.

        `heights` are those of relations whose rows have all the same.
        """
        own = frozenset(stage.predicates)
        base: set[int] = set()
        later = {0}
        for rule in self.plan.program.rules:
            if rule.head.predicate in own:
                read = _read(rule)
                read_ones = [heights[name] for name in read - own]
                if None in read_ones:
                    return None
                height = 1 + max((one for one in read_ones if one is not None), default=0)
                (later if read & own else base).add(height)
        if len(base) != 1 or max(later) > min(base) + 1:
            return None
        return base.pop()


def _read(rule: Rule) -> frozenset[str]:
    return frozenset(one.atom.predicate for one in rule.body if isinstance(one, Positive))


def _strategy(stage: Stage) -> Strategy:
    arrays = (one for one in (stage.strategy, *stage.choices) if one in _BY_ARRAYS)
    return next(arrays, Strategy.RUNS)
