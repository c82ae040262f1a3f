"""The relations of a program that is run as a whole, by one engine or the other.

In: a program and the rows or files of its given predicates. Out: a `Relations`: counts and rows.
Invariant: a relation is whole and certain, or `ConstatError` says which rule could not be
evaluated with which values; both engines give the same rows in the same order. Example: rows come
sorted by their values, numbers as numbers and texts by code points.
"""

from __future__ import annotations

import importlib
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from constat.catalog.fact_files import STDIN, FactFile, read_rows
from constat.catalog.fact_writing import row_pieces
from constat.diagnostics import ConstatError, Diagnostic
from constat.engine import LazyEngine
from constat.evaluation import (
    ACCEPTED,
    Answer,
    Evidence,
    Limits,
    Origin,
    Portion,
    QueryRun,
    ResourceError,
    Resources,
)
from constat.logic import Atom, Kind, Variable
from constat.tiers.memory import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.catalog.fact_ports import OutputFile
    from constat.evaluation import Demand, Failure, Observer, Outcome
    from constat.forward import Results
    from constat.logic import Predicate, Row
    from constat.plan.forward import Strategy

ENGINES: Final = ("forward", "reference")
_LINES: Final = "constat.session.run_lines"
UNBOUNDED: Final = Resources(seconds=1e9)
# Of these DuckDB makes the same text as we do.
_PLAIN: Final = frozenset(set(Kind) - {Kind.FLOAT, Kind.DECIMAL})
_MOST_SHOWN: Final = 10


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
        yield _Reference(computation)
        return
    forward = importlib.import_module("constat.forward")
    inputs = {name: _input(forward, files) for name, files in computation.given.items()}
    # Where more is computed than the memory holds, it is spilled here.
    with tempfile.TemporaryDirectory(prefix="constat-", ignore_cleanup_errors=True) as scratch:
        resources = replace(computation.resources, scratch=Path(scratch))
        try:
            results: Results = forward.evaluate(
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
            raise _stopped(str(problem), notes) from problem


def _input(forward: object, files: tuple[FactFile, ...]) -> object:
    module: dict[str, type] = vars(forward)
    if any(one.path == STDIN for one in files) or not files:
        rows = dict.fromkeys(row for one in files for row in read_rows(one))
        return module["Rows"](tuple(rows))
    return module["Files"](files)


class _Forward:
    """Relations in the database of the forward engine."""

    def __init__(self, computation: Computation, results: Results) -> None:
        self._places = {name: place for place, name in enumerate(computation.wanted)}
        self._results = results
        self._outcomes: dict[str, list[Row]] = {}
        for name, place in self._places.items():
            if not results.is_closed(place):
                self._outcomes[name] = _whole(results.outcome(place), name)

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
            lines: Iterator[str] = importlib.import_module(_LINES).sorted_lines(
                self._results, place, output.delimiter
            )
            return lines
        rows = sorted(row for batch in self._results.batches(place) for row in batch)
        return row_pieces(output, rows)


class _Reference:
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
        return len(self._found[predicate])

    def lines(self, output: OutputFile) -> Iterator[str]:
        return row_pieces(output, self._found[output.predicate.name])

    def _evaluated(self, predicate: str) -> list[Row]:
        limits = Limits(
            seconds=self._computation.resources.seconds, rows=1 << 40, rounds=1 << 40, calls=1 << 40
        )
        outcome = LazyEngine().evaluate(
            self._computation.program,
            self._computation.goal(predicate),
            self._externals,
            limits,
            exhaust=True,
            observe=self._computation.observe,
        )
        return _whole(outcome, predicate)


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


def _whole(outcome: Outcome, predicate: str) -> list[Row]:
    """Give the rows of an outcome, sorted; raise where it is not the whole relation."""
    if outcome.failures:
        raise ConstatError([_failed(outcome, one) for one in outcome.failures[:_MOST_SHOWN]])
    if outcome.stopped:
        raise _stopped(outcome.stopped, ())
    rows: list[Row] = list(outcome.rows(predicate, ACCEPTED))  # type: ignore[arg-type]  # nothing is open here
    return sorted(rows)


def _failed(outcome: Outcome, failure: Failure) -> Diagnostic:
    rule = outcome.program.rules[failure.rule]
    bindings = ", ".join(f"?{name} = {value}" for name, value in failure.bindings.items())
    return Diagnostic(
        "C0608",
        f"rule `{rule.id}` cannot be evaluated: {failure.reason}",
        rule.span,
        label=f"with {bindings}" if bindings else "",
        note="a relation without these rows would look whole, so nothing was written",
        help="leave the values out that it is not defined for, for example by `?y != 0`",
    )


def _stopped(reason: str, notes: Sequence[str]) -> ConstatError:
    return ConstatError(
        [
            Diagnostic(
                "C0609",
                f"the evaluation was stopped: {reason}",
                note="; ".join([*notes, "no file is half written"]),
                help="allow more by `--timeout` or `--memory`, or make the program ask for less",
            )
        ]
    )
