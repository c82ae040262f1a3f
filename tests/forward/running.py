"""Runs the forward engine on a case, over the same tables as the other engines.

In: a program, a world and a goal. Out: the strength of the goal and its rows by strength. A closed
result has certain rows only; an open one is the reference engine's outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.evaluation import ABSENT, Resources
from constat.forward import Options, Outside, Serving, evaluate
from tests.property.coverage import under
from tests.property.tables import STRICT, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.analysis import AnalysedProgram
    from constat.evaluation import ExternalPredicate
    from constat.forward import Results
    from constat.logic import Atom, OpenRow
    from constat.plan.forward import Strategy
    from constat.project.settings import SparkSetting
    from tests.oracle.naive import World
    from tests.property.tables import Manner, TableExternal

RESOURCES = Resources(seconds=60.0, memory=512 << 20, threads=1)


@dataclass(frozen=True)
class Found:
    """What one evaluation says of the goal."""

    closed: bool
    strength: int
    rows: dict[int, set[OpenRow]]
    strategies: tuple[str, ...]
    tried: tuple[tuple[str, str], ...]
    how: str
    left: tuple[str, ...]
    erring: bool = False
    loose: tuple[str, ...] = ()


def forward(
    program: AnalysedProgram,
    world: World,
    goal: Atom,
    manner: Manner = STRICT,
    *,
    strategy: Strategy | None = None,
    magic: bool | None = None,
    loose: bool = False,
    spark: SparkSetting | None = None,
    placed: Callable[[TableExternal], ExternalPredicate] | None = None,
) -> Found:
    """Evaluate one goal forward; `loose` lets it decide less than the reference engine.

    `placed` puts a table on a server, which computes then.
    """
    given = tables(program, world, manner)
    inputs = {name: Outside(placed(one) if placed else one) for name, one in given.items()}
    options = Options(
        RESOURCES,
        strategy=strategy,
        magic=magic,
        graded=True,
        loose_above=-1 if loose else None,
        spark=spark,
        served=Serving.ALWAYS if placed else Serving.NEVER,
    )
    with evaluate(program, [goal], inputs, options) as results:
        strategies = tuple(report.strategy for report in results.reports)
        tried = tuple(one for report in results.reports for one in report.tried)
        if not results.is_in_bulk(0):
            outcome = results.outcome(0)
            rows = {
                least: under(goal, outcome.rows(goal.predicate, least)) for least in (3, 2, 1, 0)
            }
            return Found(
                False, outcome.strength(goal), rows, strategies, tried, "reference", why(results)
            )
        certain: set[OpenRow] = {row for batch in results.batches(0) for row in batch}
        assert len(certain) == results.count(0), "rows are distinct"
        assert certain == under(goal, certain)
        weak = list(results.weak_rows(0))
        rows = {
            least: certain | under(goal, (row for row, strength in weak if strength >= least))
            for least in (3, 2, 1, 0)
        }
        strength = max((least for least, found in rows.items() if found), default=ABSENT)
        manner_of = "graded" if results.grades(0) else "closed"
        erring = bool(results.erring)
        return Found(
            not weak,
            strength,
            rows,
            strategies,
            tried,
            manner_of,
            why(results),
            erring,
            tuple(sorted(results.loose.values())),
        )


def why(results: Results) -> tuple[str, ...]:
    """Say what was left to the reference engine."""
    return tuple(sorted(results.left.values()))
