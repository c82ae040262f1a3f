"""The relations of a program that is run as a whole, by one engine or the other.

In: a program and the rows or files of its given predicates. Out: a `Relations`: counts and rows.
Invariant: a relation is whole and certain, or `ConstatError` says which rule could not be
evaluated with which values; both engines give the same rows in the same order. Example: rows come
sorted by their values, numbers as numbers and texts by code points.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from constat.catalog.fact_files import STDIN, FactFile, read_rows, row_pieces
from constat.evaluation import ResourceError, Resources
from constat.logic import Atom, Kind, Variable
from constat.session.run_outcomes import stopped, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.catalog.fact_ports import OutputFile
    from constat.evaluation import Observer
    from constat.forward import Files, Results, Rows
    from constat.logic import Row
    from constat.plan.forward import Strategy

ENGINES: Final = ("forward", "reference")
# Loaded where they are needed: neither does for the other engine.
UNBOUNDED: Final = Resources(seconds=1e9)
# Of these DuckDB makes the same text as we do.
_PLAIN: Final = frozenset(set(Kind) - {Kind.FLOAT, Kind.DECIMAL, Kind.STRUCTURE})


class Relations(Protocol):
    """Computed relations, by predicate."""

    def count(self, predicate: str) -> int:
        """How many rows a relation has."""
        ...

    def lines(self, output: OutputFile) -> Iterator[str]:
        """Yield the rows of a relation as pieces of text, sorted by their values."""
        ...


@dataclass(frozen=True, slots=True)
class Computation:
    """What to compute: the wanted predicates, from the files of the given ones."""

    program: AnalysedProgram
    wanted: tuple[str, ...]
    given: Mapping[str, tuple[FactFile, ...]]
    observe: Observer
    resources: Resources = UNBOUNDED
    strategy: Strategy | None = None

    def goal(self, predicate: str) -> Atom:
        """Give the goal of all rows of a predicate."""
        arity = self.program.program.predicates[predicate].arity
        return Atom(predicate, tuple(Variable(f"c{place}") for place in range(arity)))


@contextmanager
def computed(computation: Computation, engine: str) -> Iterator[Relations]:
    """Compute the wanted relations; they are there until the block ends."""
    if engine == "reference":
        from constat.session.run_reference import ReferenceRelations  # noqa: PLC0415  loaded when it is used

        yield ReferenceRelations(computation)
        return
    from constat import forward  # noqa: PLC0415  loaded when it is used

    inputs = {name: _input(files) for name, files in computation.given.items()}
    # Where more is computed than the memory holds, it is spilled here.
    resources = replace(computation.resources, scratch=Path(tempfile.gettempdir()))
    try:
        results = forward.evaluate(
            computation.program,
            [computation.goal(name) for name in computation.wanted],
            inputs,
            forward.Options(resources=resources, strategy=computation.strategy),
            computation.observe,
        )
        with results:
            # Also sorting and writing what was computed can reach a bound.
            yield _Forward(computation, results)
    except ResourceError as problem:
        notes: list[str] = getattr(problem, "__notes__", [])
        raise stopped(str(problem), notes) from problem


def _input(files: tuple[FactFile, ...]) -> Rows | Files:
    from constat.forward import Files, Rows  # noqa: PLC0415  loaded when it is used

    if any(one.path == STDIN for one in files) or not files:
        rows = dict.fromkeys(row for one in files for row in read_rows(one))
        return Rows(tuple(rows))
    return Files(files)


class _Forward:
    """Relations in the database of the forward engine."""

    def __init__(self, computation: Computation, results: Results) -> None:
        self._places = {name: place for place, name in enumerate(computation.wanted)}
        self._results = results
        self._outcomes: dict[str, list[Row]] = {}
        for name, place in self._places.items():
            if not results.is_closed(place):
                self._outcomes[name] = whole(results.outcome(place), name)

    def count(self, predicate: str) -> int:
        if predicate in self._outcomes:
            return len(self._outcomes[predicate])
        return self._results.count(self._places[predicate])

    def lines(self, output: OutputFile) -> Iterator[str]:
        predicate = output.predicate.name
        if predicate in self._outcomes:
            return row_pieces(output, self._outcomes[predicate])
        place = self._places[predicate]
        if not output.quoted and _PLAIN.issuperset(output.predicate.kinds):
            from constat.session.run_lines import sorted_lines  # noqa: PLC0415  loaded when it is used

            lines: Iterator[str] = sorted_lines(self._results, place, output.delimiter)
            return lines
        rows = sorted(row for batch in self._results.batches(place) for row in batch)
        return row_pieces(output, rows)
