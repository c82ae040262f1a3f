"""The relations of a whole program, computed in bulk or goal by goal, and their lines."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from constat.catalog.fact_files import STDIN, FactFile, read_rows, row_pieces
from constat.diagnostics import ConstatError, Diagnostic
from constat.engine import LazyEngine
from constat.evaluation import (
    ACCEPTED,
    CONCEIVABLE,
    Answer,
    Evidence,
    Limits,
    Origin,
    Portion,
    QueryRun,
    ResourceError,
    Resources,
    ignore_event,
)
from constat.frozen import frozen
from constat.logic import Atom, Kind, Variable
from constat.project.settings import ALWAYS, OFF
from constat.tiers.memory import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlglot import exp

    from constat.analysis import AnalysedProgram
    from constat.catalog.fact_ports import OutputFile
    from constat.evaluation import Demand, Failure, Observer, Outcome
    from constat.forward import Files, Results, Rows
    from constat.logic import Predicate, Row
    from constat.plan.forward import Strategy
    from constat.project.settings import SparkSetting
    from constat.recount import Recount

# What the reference engine found of a program that is run as a whole.

_MOST_SHOWN: Final = 10
_NARROW: Final = "does not fit in a number of 32 bits"
_OPTIONS: Final = (
    ("time limit", "--timeout"),
    ("did not finish within", "--timeout"),
    ("memory", "--memory"),
    (" MB of ", "--memory"),
)
"""Words of a reason, and the option of `constat run` that allows more."""


def whole(outcome: Outcome, predicate: str) -> list[Row]:
    """Give the rows of an outcome, sorted; raise where it is not the whole relation."""
    rows: set[Row] = set(outcome.rows(predicate, ACCEPTED))  # type: ignore[arg-type]  # what is accepted has values
    if any(row not in rows for row in outcome.rows(predicate, CONCEIVABLE)) and outcome.failures:
        found = [_failed(outcome, one) for one in outcome.failures[:_MOST_SHOWN]]
        more = len(outcome.failures) - len(found)
        if more > 0:
            found[-1] = replace(found[-1], note=f"and {more:,} more instances of rules err")
        raise ConstatError(found)
    if outcome.stopped:
        raise stopped(outcome.stopped, ())
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
        help="run with `--word-size 64`, or compute with smaller numbers"
        if _NARROW in failure.reason
        else "leave the values out that it is not defined for, for example by `?y != 0`",
    )


def stopped(reason: str, notes: Sequence[str]) -> ConstatError:
    """Say that a bound was reached, which option raises it, and what was finished by then."""
    named = dict.fromkeys(f"`{option}`" for word, option in _OPTIONS if word in reason)
    more = f"allow more by {' or '.join(named)}, or " if named else ""
    return ConstatError(
        [
            Diagnostic(
                "C0609",
                f"the evaluation was stopped: {reason}",
                note="; ".join([*notes, "no file is half written"]),
                help=f"{more}make the program ask for less",
            )
        ]
    )


# The lines and their order are those that `fact_writing` and `sorted` would give; so only kinds
# whose text DuckDB writes in the same way may come here, and it compares texts by code points.

_AT_ONCE: Final = 10_000


def sorted_lines(results: Results, place: int, delimiter: str) -> Iterator[str]:
    """Yield the lines of a closed relation in pieces of many lines each."""
    from constat.sql import trees  # noqa: PLC0415  loaded when it is used
    from constat.sql.relations import spelled_rows  # noqa: PLC0415  loaded when it is used

    database, name = results.database, results.relation(place)
    relation = database.relation(name)
    if not relation.arity:
        yield from ["()\n"] * database.count(name)
        return
    database.make_distinct(name)
    rows = spelled_rows(database.stored(name).table, relation.encoded)
    columns = [trees.column("q", f"c{number}") for number in range(relation.arity)]
    cells: list[exp.Expr] = []
    for column in columns:
        cells.extend([trees.text(delimiter), trees.cast(column.copy(), trees.typed("VARCHAR"))])
    line = trees.call("concat", *cells[1:])
    query = trees.select([("line", line)], source=trees.nested(rows, "q"))
    query = query.order_by(*columns, copy=False)
    for batch in database.connection.stream(query, _AT_ONCE):
        yield "".join([f"{found[0]}\n" for found in batch])


# A file is read when it is first asked for, and once.


class ReferenceRelations:
    """Relations of the reference engine, one evaluation for each, within limits."""

    engine = "reference"
    checks: tuple[tuple[str, Recount], ...] = ()

    def __init__(self, computation: Computation, limits: Limits) -> None:
        self._computation = computation
        self._limits = limits
        predicates = computation.program.program.predicates
        self._externals = {
            name: _Given(predicates[name], files, computation.observe)
            for name, files in computation.given.items()
        }
        self._found = {name: self._evaluated(name) for name in computation.wanted}

    def check_written(self) -> tuple[tuple[str, Recount], ...]:
        """Nothing was computed in bulk."""
        return ()

    def count(self, predicate: str) -> int:
        """How many rows a relation has."""
        return len(self._found[predicate])

    def lines(self, output: OutputFile) -> Iterator[str]:
        """Yield the rows of a relation as pieces of text, sorted by their values."""
        return row_pieces(output, self._found[output.predicate.name])

    def _evaluated(self, predicate: str) -> list[Row]:
        outcome = LazyEngine().evaluate(
            self._computation.program,
            self._computation.goal(predicate),
            self._externals,
            self._limits,
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


# A relation is whole and certain, or `ConstatError` says which rule could not be evaluated with
# which values; both engines give the same rows in the same order.

ENGINES: Final = ("auto", "forward", "reference", "spark")
# Loaded where they are needed: neither does for the other engine.
UNBOUNDED: Final = Resources(seconds=1e9)
_LONGEST: Final = 3600.0
_DIFFERENT: Final = 7
_UNTOUCHED: Final = "all files are what they were before"
_TAKEN_BACK: Final = "the files were written before it was counted again, and none of them counts"
# Of these DuckDB makes the same text as we do.
_PLAIN: Final = frozenset(set(Kind) - {Kind.FLOAT, Kind.DECIMAL, Kind.STRUCTURE})


class Relations(Protocol):
    """Computed relations, by predicate, and the engine that computed them."""

    engine: str

    def count(self, predicate: str) -> int:
        """How many rows a relation has."""
        ...

    def lines(self, output: OutputFile) -> Iterator[str]:
        """Yield the rows of a relation as pieces of text, sorted by their values."""
        ...

    @property
    def checks(self) -> tuple[tuple[str, Recount], ...]:
        """What checking the relations as wholes came to, where that was wished for at once."""
        ...

    def check_written(self) -> tuple[tuple[str, Recount], ...]:
        """Check the relations as wholes after they were written. Raises `ConstatError`."""
        ...


@frozen
class Computation:
    """What to compute: the wanted predicates, from the files of the given ones."""

    program: AnalysedProgram
    wanted: tuple[str, ...]
    given: Mapping[str, tuple[FactFile, ...]]
    observe: Observer
    resources: Resources = UNBOUNDED
    strategy: Strategy | None = None
    check: str = OFF
    spark: SparkSetting | None = None

    def goal(self, predicate: str) -> Atom:
        """Give the goal of all rows of a predicate."""
        arity = self.program.program.predicates[predicate].arity
        return Atom(predicate, tuple(Variable(f"c{place}") for place in range(arity)))


@contextmanager
def computed(computation: Computation, engine: str) -> Iterator[Relations]:
    """Compute the wanted relations; they are there until the block ends."""
    small = _small(computation) if engine == "auto" else None
    if small is not None:
        yield small
        return
    if engine == "reference":
        resources = computation.resources
        memory = resources.memory or Limits().memory
        yield ReferenceRelations(
            computation, Limits(resources.seconds, 1 << 40, 1 << 40, 1 << 40, memory)
        )
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
            forward.Options(
                resources=resources, strategy=computation.strategy, spark=computation.spark
            ),
            computation.observe,
        )
        with results:
            # Also sorting and writing what was computed can reach a bound.
            yield _Forward(computation, results)
    except ResourceError as problem:
        notes: list[str] = getattr(problem, "__notes__", [])
        raise stopped(str(problem), notes) from problem


# The libraries of the bulk engine take longer to load than a small program takes row by row.

_SMALL: Final = Limits(seconds=0.5, rows=2_000, rounds=2_000, calls=1_000, memory=50_000_000)
_SMALL_RULES: Final = 100
_SMALL_FILES: Final = 1 << 15


def _small(computation: Computation) -> ReferenceRelations | None:
    """Compute a small program row by row; give nothing where it is not one, or is wrong."""
    files = [one for listed in computation.given.values() for one in listed]
    if (
        computation.strategy is not None
        or computation.check != OFF
        or len(computation.program.rules) > _SMALL_RULES
        # What stands there can be read once.
        or any(one.path == STDIN for one in files)
        or sum(one.path.stat().st_size for one in files) > _SMALL_FILES
    ):
        return None
    limits = replace(_SMALL, seconds=min(_SMALL.seconds, computation.resources.seconds))
    try:
        return ReferenceRelations(replace(computation, observe=ignore_event), limits)
    except (ConstatError, ResourceError):
        return None


def _input(files: tuple[FactFile, ...]) -> Rows | Files:
    from constat.forward import Files, Rows  # noqa: PLC0415  loaded when it is used

    if any(one.path == STDIN for one in files) or not files:
        rows = dict.fromkeys(row for one in files for row in read_rows(one))
        return Rows(tuple(rows))
    return Files(files)


class _Forward:
    """Relations in the database of the forward engine."""

    engine = "forward"

    def __init__(self, computation: Computation, results: Results) -> None:
        self._places = {name: place for place, name in enumerate(computation.wanted)}
        self._results = results
        self._outcomes: dict[str, list[Row]] = {}
        for name, place in self._places.items():
            if not results.is_closed(place):
                self._outcomes[name] = whole(results.outcome(place), name)
        self.checks = (
            _checks(computation, results, _UNTOUCHED) if computation.check == ALWAYS else ()
        )
        self._check = partial(_checks, computation, results, _TAKEN_BACK)

    def check_written(self) -> tuple[tuple[str, Recount], ...]:
        """Check what was computed; its files are there."""
        return self._check()

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
            lines: Iterator[str] = sorted_lines(self._results, place, output.delimiter)
            return lines
        rows = sorted(row for batch in self._results.batches(place) for row in batch)
        return row_pieces(output, rows)


# What was computed is counted again over rows that are read from the files anew, by the reader of
# the other engine. A relation that differs is a mistake of ours, and nothing is written.


def _checks(
    computation: Computation, results: Results, files: str
) -> tuple[tuple[str, Recount], ...]:
    """Check every relation that was computed in bulk. Raises `ConstatError` where one differs."""
    from constat.recount import Bounds, Claim, recount_all  # noqa: PLC0415  loaded when it is used

    closed = [name for place, name in enumerate(computation.wanted) if results.is_closed(place)]
    claims = [
        Claim(
            computation.goal(name),
            tuple(range(len(computation.goal(name).terms))),
            stream=partial(results.select, computation.wanted.index(name)),
        )
        for name in closed
    ]
    predicates = computation.program.program.predicates
    # What came by the standard input cannot be read again: then nobody gives these rows.
    externals = {
        name: _Given(predicates[name], files, ignore_event)
        for name, files in computation.given.items()
        if all(one.path != STDIN for one in files)
    }
    left = computation.resources.running().left
    bounds = Bounds(min(left, _LONGEST), computation.resources.memory)
    found = recount_all(computation.program, claims, externals, bounds)
    wrong = [(name, one) for name, one in zip(closed, found, strict=True) if one.differs]
    if wrong:
        told = [_differing(*one, files) for one in wrong]
        raise ConstatError(told, exit_code=_DIFFERENT)
    return tuple(zip(closed, found, strict=True))


def _differing(name: str, found: Recount, files: str) -> Diagnostic:
    return Diagnostic(
        "C0616",
        f"`{name}` was computed, and counted again from the rules {found.why}",
        note=files,
        help="run it with `--engine reference`, and report the program: this is a mistake of ours",
    )
