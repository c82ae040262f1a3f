"""Proofs of single rows of a large result, each of least height, within milliseconds.

In: a goal with variables. Out: `RowProofs`, which computes the whole result once, with the round in
which each row came, and then finds the few rows from outside that a lowest proof of any one row
rests on. These alone are asked of the sources again, and the goal-directed engine proves the row
from them: its certificate is one like any other. Invariant: where heights are not simply rounds, or
a source has changed since, the row is proved in the usual way. Example:
`with session.row_proofs("path(?a, ?b)") as rows: rows.prove("1, 4")`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from constat.analysis import check_goal
from constat.evaluation import Answer, Demand, Portion, Verdict
from constat.forward.levels import levels_of
from constat.logic import Constant
from constat.proof import decide
from constat.proof.lowest import LowestProofs
from constat.proof.topk import Ranking
from constat.session.bulk_question import Asked
from constat.session.query_rows import goals_of_row
from constat.session.query_text import parse_query
from constat.session.querying import compile_query
from constat.session.result import result_of
from constat.store.clock import now
from constat.syntax import parse_goal

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from constat.evaluation import ExternalPredicate, Externals
    from constat.logic import Atom, Row
    from constat.proof.lowest import Leaves
    from constat.session.bench import Bench
    from constat.session.querying import Compiled
    from constat.session.result import Result


@dataclass(slots=True)
class OnlyRows:
    """An external predicate that is asked for some rows only; of all others it knows nothing."""

    external: ExternalPredicate
    rows: tuple[Row, ...]
    _answer: Answer | None = None

    @property
    def cost(self) -> int:
        """That of the predicate itself."""
        return self.external.cost

    def answer(self, demand: Demand) -> Answer:
        """Answer from the rows, which are asked for in one question."""
        if self._answer is None:
            columns = tuple(range(demand.predicate.arity))
            self._answer = self.external.answer(Demand(demand.predicate, columns, self.rows))
        wanted = set(demand.keys)
        portions = []
        for portion in self._answer.portions:
            rows = [row for row in portion.rows if _key(row, demand.columns) in wanted]
            if rows:
                portions.append(Portion(tuple(rows), portion.evidence, portion.assumption))
        return Answer(tuple(portions))


def _key(row: Row, columns: tuple[int, ...]) -> Row:
    return tuple([row[column] for column in columns])


@dataclass(slots=True)
class RowProofs:
    """Proves rows of one query; a context manager that holds the result in memory.

    `usual` proves a goal in the usual way.
    """

    bench: Bench
    compiled: Compiled
    usual: Callable[[str], Result]
    _built: bool = False
    _lowest: LowestProofs | None = field(default=None)

    def prepare(self) -> bool:
        """Compute the result, which the first proof does otherwise; tell whether it helps."""
        if not self._built:
            with self.bench.evaluating(None) as tiers:
                asked = Asked(self.compiled, tiers.externals, self.bench.limits, now())
                program, goal = self.compiled.program, self.compiled.goal
                levels = levels_of(program, goal, tiers.externals, asked.resources)
            self._lowest = None if levels is None else LowestProofs(program, levels)
            self._built = True
        return self._lowest is not None

    def prove(self, row: str) -> tuple[Result, ...]:
        """Prove a row, given as its values as in a goal: `C001, 150`.

        Gives a result for each positive atom of the query. Raises `ConstatError` as `prove` does.
        """
        self.prepare()
        return tuple(self._proved(goal) for goal in goals_of_row(self.compiled, row))

    def _proved(self, text: str) -> Result:
        program = self.bench.program
        goal = check_goal(parse_goal(text, program.program), program)
        leaves = self._leaves(goal)
        if leaves is None:
            return self.usual(text)
        created = now()
        with self.bench.evaluating(None) as tiers:
            decision = decide(
                self.bench.engine,
                program,
                goal,
                _only(tiers.externals, leaves),
                self.bench.limits,
                ranking=Ranking.HEIGHT,
                observe=self.bench.observe,
            )
        result = result_of(decision, program, created, self.bench.speech)
        return result if result.verdict is Verdict.PROVED else self.usual(text)

    def _leaves(self, goal: Atom) -> Leaves | None:
        """Give what a lowest proof rests on, where that is known."""
        lowest = None if self._is_written_down() else self._lowest
        row = tuple(term.value for term in goal.terms if isinstance(term, Constant))
        if lowest is None or goal.predicate not in lowest.levels.derived:
            return None
        return lowest.leaves(goal.predicate, row) if len(row) == len(goal.terms) else None

    def _is_written_down(self) -> bool:
        """Whether each result is logged or recorded, as only the usual way does."""
        project = self.bench.project
        predicates = self.bench.program.program.predicates.values()
        named = any(one.source and "record" in one.source.parameters for one in predicates)
        return project.log.on or project.record.every or bool(project.record.sources) or named

    def close(self) -> None:
        """Forget the result."""
        lowest, self._lowest, self._built = self._lowest, None, False
        if lowest is not None:
            lowest.levels.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def row_proofs(bench: Bench, query: str, usual: Callable[[str], Result]) -> RowProofs:
    """Make ready to prove rows of a query. Raises `ConstatError` where it cannot be read."""
    read = parse_query(query, bench.program.program)
    return RowProofs(bench, compile_query(read, bench.program), usual)


def _only(externals: Externals, leaves: Leaves) -> Externals:
    """Narrow external predicates to the leaves; those without one know no row."""
    return {name: OnlyRows(one, tuple(leaves.get(name, ()))) for name, one in externals.items()}
