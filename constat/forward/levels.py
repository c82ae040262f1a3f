"""Whole relations with the least height at which each row can be proved.

In: a program, a goal's atom, inputs. Out: `Levels`: every relation that the goal rests on, in
memory and ready to be looked up. `None` where heights are not simply rounds: below negation and
aggregates, above rules or rows that are assumed, where a relation is open, or where rules of one
component read relations whose rows have several heights. Invariant: the height of a row is that of
its lowest proof, a row from outside having 0 (rounds of semi-naive evaluation, see
`constat.columnar.stage`). Example: in the closure of `edge` the height of `path(1, 4)` is the
length of the shortest path.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.evaluation import ResourceError, StrategyError, ignore_event
from constat.forward.division import EVERYTHING, used_by_head
from constat.forward.gathering import Gathering
from constat.forward.inputs import Outside
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


@dataclass(slots=True)
class Levels:
    """The relations of one evaluation, by predicate; values, and the numbers they stand for."""

    derived: frozenset[str]
    _lookups: Mapping[str, Lookup]
    _kinds: Mapping[str, tuple[Kind, ...]]
    _database: Database
    _texts: dict[int, str] = field(default_factory=dict)

    def height(self, predicate: str, row: Row) -> int | None:
        """The least height of a row; `None` where it does not hold."""
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
        self._database.close()

    def _numbers(self, bound: Mapping[int, Value]) -> dict[int, int]:
        return {place: self._number(value) for place, value in bound.items()}

    def _number(self, value: Value) -> int:
        return self._database.number_of(value) if isinstance(value, str) else int(str(value))

    def _text(self, number: int) -> str:
        found = self._texts.get(number)
        if found is None:
            (found,) = self._database.texts([number])
            self._texts[number] = found
        return found


def levels_of(
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    resources: Resources,
    observe: Observer = ignore_event,
) -> Levels | None:
    """Compute what a goal rests on, with heights; whoever takes it closes it."""
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
    try:
        found = _Computing(plan, database, gathering, resources, observe).run()
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
    return Levels(frozenset(found) - set(given), found, kinds, database)


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


@dataclass(slots=True)
class _Computing:
    """One evaluation; `heights` are those of relations whose rows have all the same."""

    plan: ForwardPlan
    database: Database
    gathering: Gathering
    resources: Resources
    observe: Observer
    heights: dict[str, int | None] = field(default_factory=dict)
    columns: dict[str, Columns] = field(default_factory=dict)
    lookups: dict[str, Lookup] = field(default_factory=dict)

    def run(self) -> dict[str, Lookup] | None:
        """Load, then compute stage by stage."""
        from constat.columnar import relations as looking  # noqa: PLC0415  loaded when it is used
        from constat.columnar import run_stage  # noqa: PLC0415  loaded when it is used

        for relation in self.plan.relations.values():
            self.database.declare(relation)
        for name in self.plan.inputs:
            self.gathering.found[name].load(self.database, name)
            self.columns[name] = self.database.columns(name)
            self.lookups[name] = looking.Lookup(self.columns[name], 0)
            self.heights[name] = 0
        until = time.monotonic() + self.resources.seconds
        for stage in self.plan.stages:
            base = self._base_height(stage)
            if base is None or time.monotonic() > until:
                return None
            found, _ = run_stage(
                stage,
                self.plan,
                self.columns,
                self.database.number_of,
                _strategy(stage),
                self.resources,
                stamps=True,
                observe=self.observe,
            )
            for name, columns in found.items():
                *own, rounds = columns
                self.columns[name] = tuple(own)
                self.heights[name] = None if stage.is_recursive else base
                its = rounds + base if stage.is_recursive else base
                self.lookups[name] = looking.Lookup(own, its)
        return self.lookups

    def _base_height(self, stage: Stage) -> int | None:
        """The height of rows that need no other row of the stage; `None` where it is not one."""
        own = frozenset(stage.predicates)
        base: set[int] = set()
        later = {0}
        for rule in self.plan.program.rules:
            if rule.head.predicate in own:
                read = _read(rule)
                heights = [self.heights[name] for name in read - own]
                if None in heights:
                    return None
                height = 1 + max((one for one in heights if one is not None), default=0)
                (later if read & own else base).add(height)
        if len(base) != 1 or max(later) > min(base) + 1:
            return None
        return base.pop()


def _read(rule: Rule) -> frozenset[str]:
    return frozenset(one.atom.predicate for one in rule.body if isinstance(one, Positive))


def _strategy(stage: Stage) -> Strategy:
    arrays = (one for one in (stage.strategy, *stage.choices) if one in _BY_ARRAYS)
    return next(arrays, Strategy.RUNS)
