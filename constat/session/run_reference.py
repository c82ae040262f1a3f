"""The relations of a program, goal by goal: for `constat run --engine reference`.

In: a `Computation`. Out: its relations. Invariant: a file is read when it is first asked for, and
once. Example: `ReferenceRelations(computation).count("path")`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from constat.catalog.fact_files import read_rows, row_pieces
from constat.engine import LazyEngine
from constat.evaluation import Answer, Evidence, Limits, Origin, Portion, QueryRun
from constat.session.run_outcomes import whole
from constat.tiers.memory import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.catalog.fact_files import FactFile
    from constat.catalog.fact_ports import OutputFile
    from constat.evaluation import Demand, Observer
    from constat.logic import Predicate, Row
    from constat.session.run_relations import Computation


class ReferenceRelations:
    """Relations of the reference engine, one evaluation for each."""

    def __init__(self, computation: Computation) -> None:
        self._computation = computation
        predicates = computation.program.program.predicates
        self._externals = {
            name: _Given(predicates[name], files, computation.observe)
            for name, files in computation.given.items()
        }
        self._found = {name: self._evaluated(name) for name in computation.wanted}

    def count(self, predicate: str) -> int:
        """How many rows a relation has."""
        return len(self._found[predicate])

    def lines(self, output: OutputFile) -> Iterator[str]:
        """Yield the rows of a relation as pieces of text, sorted by their values."""
        return row_pieces(output, self._found[output.predicate.name])

    def _evaluated(self, predicate: str) -> list[Row]:
        resources = self._computation.resources
        limits = Limits(
            seconds=resources.seconds,
            rows=1 << 40,
            rounds=1 << 40,
            calls=1 << 40,
            memory=resources.memory or Limits().memory,
        )
        outcome = LazyEngine().evaluate(
            self._computation.program,
            self._computation.goal(predicate),
            self._externals,
            limits,
            exhaust=True,
            observe=self._computation.observe,
        )
        return whole(outcome, predicate)


class _Given:
    """A predicate whose rows are in files, read when they are first asked for."""

    cost = 1

    def __init__(self, predicate: Predicate, files: Iterable[FactFile], observe: Observer) -> None:
        self._predicate = predicate
        self._files = tuple(files)
        self._observe = observe

    def answer(self, demand: Demand) -> Answer:
        """Answer every key: the files are all there is."""
        portions, _ = self._known.select(demand.columns, demand.keys)
        return Answer(tuple(portions), (), frozenset(demand.keys), self._known.answer.authorities)

    @cached_property
    def _known(self) -> Remembered:
        rows: dict[Row, None] = {}
        for one in self._files:
            self._observe(QueryRun(one.shown, "", 0, 0, 0.0))
            rows.update(dict.fromkeys(read_rows(one)))
        names = ", ".join(one.shown for one in self._files)
        evidence = Evidence("files", Origin.DATABASE, names, "", row_count=len(rows))
        portions = (Portion(tuple(rows), evidence),) if rows else ()
        return Remembered(Answer(portions, (), frozenset(((),)), (evidence,)))
