"""Answer a large query by bulk evaluation; its rows stay where they were computed."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.analysis import AnalysedProgram, Component
from constat.diagnostics import ConstatError, Diagnostic
from constat.engine import LazyEngine, told_apart
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    Answer,
    Evidence,
    Origin,
    Portion,
    ResourceError,
    Resources,
    Verdict,
    in_parts,
)
from constat.evaluation.processor import finalize_here
from constat.forward import Options, Outside, Serving, evaluate
from constat.frozen import frozen, slotted
from constat.logic import (
    OPEN,
    Atom,
    Column,
    Constant,
    Kind,
    NullCell,
    Positive,
    Predicate,
    Rule,
    Variable,
    has_null_cells,
    parse_value,
    row_order,
)
from constat.project.settings import ALWAYS, OFF
from constat.proof.projection import with_projections
from constat.proof.reading import assumptions_met
from constat.recount import (
    Bounds,
    Claim,
    Computed,
    Prepared,
    Recount,
    RefusedError,
    State,
    recount,
    write_folder,
)
from constat.session.answers import Answers, Notes, OpenReason, Settled, reasons_in_bulk
from constat.session.options import UNCHECKED, BulkOptions
from constat.session.querying import (
    MANY,
    Compiled,
    Found,
    answer_columns,
    large_below,
    narrowed,
    outcome_answers,
    row_goals,
    within_budget,
)
from constat.session.resting import resting
from constat.session.rows import LabelledRows, StoredRows
from constat.sql.connection import usual_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import duckdb

    from constat.evaluation import (
        Assumption,
        Call,
        Demand,
        ExternalPredicate,
        Externals,
        Limits,
        Observer,
        Outcome,
    )
    from constat.forward import Results
    from constat.logic import Row, Value
    from constat.project.settings import SparkSetting
    from constat.session.checking import Checks
    from constat.sql import Database

# What is spilled goes where this machine lets us write.


@frozen
class BulkQuery:
    """A query to compute in bulk, and what is done with its answers as a whole.

    `least` is its program as `prove` asks it, which does not read what the goal does not need.
    """

    compiled: Compiled
    externals: Externals
    limits: Limits
    created: str
    whole: BulkOptions = UNCHECKED
    least: AnalysedProgram | None = None
    spark: SparkSetting | None = None
    """Where it is computed instead of here."""
    on_server: bool = False
    """Whether only the server that has the relations may compute it."""

    @property
    def resources(self) -> Resources:
        """What the evaluation may use; it spills into the machine's folder for temporary files."""
        folder = Path(tempfile.gettempdir())
        scratch = folder if os.access(folder, os.W_OK) else None
        clock = self.limits.running()
        return Resources(self.limits.seconds, rows=self.limits.rows, scratch=scratch, clock=clock)


# The same as `querying` says of an outcome: a row counts at its greatest strength, one that a
# stronger open shape covers is as possible as the shape, and what is conceivable only is excluded.
# Rows are compared in DuckDB; only weak rows that somebody asks for become Python values.

_STRENGTH: Final = "strength"
_UNPROVED: Final = "unproved"


@frozen
class GradedRows:
    """What a graded query found.

    `listed` are the rows in the order of their values, `accepted` and `possible` count those that
    are not proved, `excluded` the ground rows that only an assumption rules out. `shapes` counts
    the open shapes by strength.
    """

    listed: StoredRows | LabelledRows | list[Row]
    accepted: int
    possible: int
    excluded: int
    shapes: Mapping[int, int]
    verdicts: Verdicts
    one_by_one: bool = False
    """Whether some rows were decided by the reference engine."""

    def saying(self, said: Mapping[Row, int]) -> GradedRows:
        """Give what was found where the reference engine has said the strengths of some rows."""
        weak = {row: one for row, one in said.items() if CONCEIVABLE < one < CERTAIN}
        before = Counter(
            POSSIBLE if verdict is Verdict.UNRESOLVED else ACCEPTED
            for row in said
            if (verdict := self.verdicts.get(row)) is not None
        )
        after = Counter(said.values())
        earlier = self.verdicts

        def rows() -> Iterator[tuple[Row, int]]:
            yield from (one for one in earlier.rows() if one[0] not in said)
            yield from weak.items()

        return replace(
            self,
            listed=_listing(self.listed, said),
            accepted=self.accepted + after[ACCEPTED] - before[ACCEPTED],
            possible=self.possible + after[POSSIBLE] - before[POSSIBLE],
            excluded=self.excluded + after[CONCEIVABLE],
            verdicts=Verdicts(rows, earlier.total + len(weak) - before.total()),
            one_by_one=True,
        )


def _listing(
    listed: StoredRows | LabelledRows | list[Row], said: Mapping[Row, int]
) -> StoredRows | LabelledRows | list[Row]:
    """List rows where the strengths of some are said."""
    held = {row: one for row, one in said.items() if one > CONCEIVABLE}
    if isinstance(listed, list):
        return [row for row in listed if row not in said or row in held]
    nulls = [row for row in held if has_null_cells(row)]
    stored = listed.stored if isinstance(listed, LabelledRows) else listed
    plain = [(*row, one < CERTAIN) for row, one in held.items() if not has_null_cells(row)]
    labelled = listed.labelled if isinstance(listed, LabelledRows) else ()
    others = [row for row in labelled if row not in said]
    stored = stored.exchanged([row for row in said if not has_null_cells(row)], plain)
    beside = sorted([*others, *nulls], key=row_order)
    return LabelledRows(stored, beside) if beside else stored


@slotted
class Verdicts(Mapping["Row", Verdict]):
    """The verdicts of the rows that are not proved; read when somebody asks for one."""

    rows: Callable[[], Iterator[tuple[Row, int]]]
    total: int
    _read: dict[Row, Verdict] | None = field(default=None, init=False)

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Row]:
        return iter(self._found())

    def __getitem__(self, row: Row) -> Verdict:
        return self._found()[row]

    def of(self, verdict: Verdict) -> Iterator[Row]:
        """Yield the rows with a verdict."""
        return (row for row, one in self._found().items() if one is verdict)

    def _found(self) -> dict[Row, Verdict]:
        if self._read is None:
            self._read = {
                row: Verdict.PROVED_UNDER if strength == ACCEPTED else Verdict.UNRESOLVED
                for row, strength in self.rows()
            }
        return self._read


def graded_rows(
    results: Results, goal: Atom, places: Sequence[int], kinds: tuple[Kind, ...]
) -> GradedRows:
    """Compare the rows of all grades of a goal; `places` are the columns of the answer."""
    if not places:
        return _ground(results)
    comparison = _Comparison(results, goal, tuple(places), kinds)
    # One piece of work, which Ctrl-C and the time limit can end.
    found = results.database.guarded(comparison.run)
    labelled = _labelled(results, goal, places)
    return _beside(found, labelled) if labelled else found


def _labelled(results: Results, goal: Atom, places: Sequence[int]) -> dict[Row, int]:
    """Give the rows of the answer that came with labels, each with its greatest strength."""
    found: dict[Row, int] = {}
    if not any(grade.labels for grade in results.grades(0)):
        return found
    for row, strength in results.weak_rows(0):
        narrow = narrowed(goal, row) if has_null_cells(cast("Row", row)) else None
        if narrow is not None:
            shown = cast("Row", tuple([narrow[0][place] for place in places]))
            held = strength if narrow[1] else min(strength, POSSIBLE)
            found[shown] = max(held, found.get(shown, ABSENT))
    return found


def _beside(found: GradedRows, labelled: Mapping[Row, int]) -> GradedRows:
    """Put rows with labels beside the others; one that a constant met may be among those."""
    stored = found.listed
    if not isinstance(stored, StoredRows):
        return found
    plain = {row for row in labelled if not has_null_cells(row)}
    there = plain.intersection(stored) if plain else plain
    fresh = {row: strength for row, strength in labelled.items() if row not in there}
    weak = {row: strength for row, strength in fresh.items() if strength < CERTAIN}
    listed = LabelledRows(stored, sorted(fresh, key=row_order))

    def rows() -> Iterator[tuple[Row, int]]:
        yield from found.verdicts.rows()
        yield from weak.items()

    counted = Counter(weak.values())
    return replace(
        found,
        listed=listed,
        accepted=found.accepted + counted[ACCEPTED],
        possible=found.possible + counted[POSSIBLE],
        verdicts=Verdicts(rows, found.verdicts.total + len(weak)),
    )


def _fewest(rows: Sequence[Row]) -> int | None:
    """Count the rows that differ for certain; of very many those without labels."""
    if not isinstance(rows, LabelledRows):
        return None
    if len(rows) > MANY:
        return len(rows.stored)
    return len(told_apart(dict.fromkeys(rows, 1)))


def _ground(results: Results) -> GradedRows:
    """Say what is known of a goal without variables: one row, or none."""
    strengths = [strength for _, strength in results.weak_rows(0)]
    best = CERTAIN if results.count(0) else max(strengths, default=ABSENT)
    weak = [((), best)] if CONCEIVABLE < best < CERTAIN else []
    verdicts = Verdicts(lambda: iter(weak), len(weak))
    listed: list[Row] = [()] * (best > CONCEIVABLE)
    counts = {strength: int(best == strength) for strength in (ACCEPTED, POSSIBLE, CONCEIVABLE)}
    return GradedRows(listed, counts[ACCEPTED], counts[POSSIBLE], counts[CONCEIVABLE], {}, verdicts)


@frozen
class _Shapes:
    """Open shapes: the columns of the answer that they know, their rows, their strength."""

    known: tuple[int, ...]
    rows: duckdb.DuckDBPyRelation
    strength: int


@frozen
class _Comparison:
    results: Results
    goal: Atom
    places: tuple[int, ...]
    kinds: tuple[Kind, ...]

    def run(self) -> GradedRows:
        """Compare all rows."""
        database = self.results.database
        certain = self._certain()
        weak, shapes = self._graded(certain)
        for one in shapes:
            if one.strength > CONCEIVABLE:
                weak = self._covered(weak, one)
        kept = self._kept(weak, "weak answers")
        counts = dict(kept.aggregate(f"{_STRENGTH}, count(*)").fetchall())
        held = kept.filter(f"{_STRENGTH} > {CONCEIVABLE}")
        sure = int(certain.aggregate("count(*)").fetchall()[0][0])
        found = counts.get(ACCEPTED, 0) + counts.get(POSSIBLE, 0)
        every = self._marked(certain, unproved=False).union(self._marked(held, unproved=True))
        listed = StoredRows(every, self.kinds, sure + found, database, unproved=_UNPROVED)
        by_row = StoredRows(held, self.kinds, found, database)

        def rows() -> Iterator[tuple[Row, int]]:
            for batch in by_row.batches(held):
                for row in batch:
                    yield by_row.canonical(row[:-1]), int(str(row[-1]))

        return GradedRows(
            listed,
            counts.get(ACCEPTED, 0),
            counts.get(POSSIBLE, 0),
            counts.get(CONCEIVABLE, 0),
            self._counted(shapes),
            Verdicts(rows, found),
        )

    def _certain(self) -> duckdb.DuckDBPyRelation:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        relation = self.results.select(0)
        names = relation.columns
        return relation.select(
            *(ColumnExpression(names[n]).alias(f"v{k}") for k, n in enumerate(self.places))
        )

    def _marked(self, rows: duckdb.DuckDBPyRelation, *, unproved: bool) -> duckdb.DuckDBPyRelation:
        from duckdb import ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        return rows.select(*self._columns(), ConstantExpression(unproved).alias(_UNPROVED))

    def _columns(self, known: Sequence[int] | None = None) -> list[duckdb.Expression]:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        numbers = range(len(self.places)) if known is None else known
        return [ColumnExpression(f"v{k}") for k in numbers]

    def _graded(
        self, certain: duckdb.DuckDBPyRelation
    ) -> tuple[duckdb.DuckDBPyRelation, list[_Shapes]]:
        """Give the ground rows that are not certain, and the shapes."""
        ground: duckdb.DuckDBPyRelation | None = None
        shapes: list[_Shapes] = []
        for one in self._parts():
            if len(one.known) < len(self.places):
                shapes.append(one)
            else:
                told = self._told(one)
                ground = told if ground is None else ground.union(told)
        if ground is None:
            return self._nothing(certain), shapes
        every = ", ".join(f"v{k}" for k in range(len(self.places)))
        best = ground.aggregate(f"{every}, max({_STRENGTH}) AS {_STRENGTH}")
        return self._beside(best, certain, range(len(self.places)), "anti"), shapes

    def _parts(self) -> Iterator[_Shapes]:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        results = self.results
        atoms = {} if results.graded is None else results.graded.atoms(self.goal)
        for grade, name in results.grades(0).items():
            if grade.labels:
                continue
            relation = results.database.select(name, atoms[grade])
            names = dict(zip(grade.known(len(self.goal.terms)), relation.columns, strict=False))
            known = tuple(k for k, n in enumerate(self.places) if n in names)
            chosen = [ColumnExpression(names[self.places[k]]).alias(f"v{k}") for k in known]
            rows = relation.select(*chosen) if chosen else relation
            yield _Shapes(known, rows, grade.strength)

    def _told(self, one: _Shapes) -> duckdb.DuckDBPyRelation:
        from duckdb import ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        strength = ConstantExpression(one.strength).cast("BIGINT").alias(_STRENGTH)
        return one.rows.select(*self._columns(one.known), strength)

    def _nothing(self, certain: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
        from duckdb import ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        strength = ConstantExpression(CONCEIVABLE).cast("BIGINT").alias(_STRENGTH)
        return certain.select(*self._columns(), strength).limit(0)

    def _beside(
        self,
        rows: duckdb.DuckDBPyRelation,
        others: duckdb.DuckDBPyRelation,
        known: Sequence[int],
        how: str,
    ) -> duckdb.DuckDBPyRelation:
        """Give the rows that are (`semi`) or are not (`anti`) among others, by some columns."""
        same = " AND ".join(f"a.v{k} = b.v{k}" for k in known) or "true"
        return rows.set_alias("a").join(others.set_alias("b"), same, how)

    def _covered(self, weak: duckdb.DuckDBPyRelation, shapes: _Shapes) -> duckdb.DuckDBPyRelation:
        """Raise the rows that a stronger shape covers."""
        below = weak.filter(f"{_STRENGTH} < {shapes.strength}")
        covered = self._beside(below, shapes.rows, shapes.known, "semi")
        raised = self._told(_Shapes(tuple(range(len(self.places))), covered, shapes.strength))
        rest = self._beside(below, shapes.rows, shapes.known, "anti")
        above = weak.filter(f"{_STRENGTH} >= {shapes.strength}")
        return above.union(raised).union(rest)

    def _counted(self, shapes: Sequence[_Shapes]) -> dict[int, int]:
        """Count the shapes, each at its greatest strength."""
        found: dict[int, int] = {}
        for known in dict.fromkeys(one.known for one in shapes):
            same = [one for one in shapes if one.known == known]
            for strength, count in self._sizes(known, same):
                found[strength] = found.get(strength, 0) + count
        return found

    def _sizes(
        self, known: tuple[int, ...], shapes: Sequence[_Shapes]
    ) -> Iterator[tuple[int, int]]:
        if not known:
            strengths = [one.strength for one in shapes if one.rows.limit(1).fetchall()]
            yield from [(max(strengths), 1)] if strengths else []
            return
        every = self._told(shapes[0])
        for one in shapes[1:]:
            every = every.union(self._told(one))
        columns = ", ".join(f"v{k}" for k in known)
        best = every.aggregate(f"{columns}, max({_STRENGTH}) AS {_STRENGTH}")
        yield from best.aggregate(f"{_STRENGTH}, count(*)").fetchall()

    def _kept(self, rows: duckdb.DuckDBPyRelation, hint: str) -> duckdb.DuckDBPyRelation:
        """Compute rows once, for all who read them."""
        database = self.results.database
        name = database.fresh_name(hint)
        database.guarded(lambda: rows.create(name))
        return database.connection.driver.table(name)


# As `resting` has it, a row holds whenever the assumptions noted at it do. Where there is one
# assumption only, every accepted row rests on it. Where there are several, a few rows are proved
# by the reference engine, asked for these rows alone, and of many every assumption is named.


@frozen
class GradedRests:
    """The assumptions of the whole, and notes by row of the answer."""

    assumptions: tuple[Assumption, ...] = ()
    notes: Mapping[Row, Notes] = field(default_factory=dict)


_MOST_PROVED: Final = 20_000
_NAME: Final = "query.accepted"


def graded_rests(
    asked: BulkQuery, results: Results, found: GradedRows, *, whole: bool, observe: Observer
) -> GradedRests:
    """Note what accepted rows rest on; `whole` asks under what there are no other rows."""
    if not found.accepted and not whole:
        return GradedRests()
    every = _sorted(_met(asked, results))
    if len(every) <= 1 or found.accepted > _MOST_PROVED:
        return GradedRests(every, _Alike(found.verdicts, Notes(None, every)))
    rows = [_filled(asked, row) for row in found.verdicts.of(Verdict.PROVED_UNDER)]
    rests = resting(
        _proved(asked, rows, observe),
        (),
        tuple((asked.compiled.goal.predicate, row) for row in rows),
        whole=False,
        clock=asked.limits.proving(),
    )
    places = asked.compiled.places
    notes = {tuple([row[place] for place in places]): one for (_, row), one in rests.notes.items()}
    closing = _sorted(_closing(results)) if whole else ()
    noted = {one for note in notes.values() for one in note.assumptions}
    return GradedRests(_sorted([*noted, *closing]), notes)


@frozen
class _Alike(Mapping["Row", Notes]):
    """The same notes for every accepted row."""

    verdicts: Verdicts
    note: Notes

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Row]:
        return self.verdicts.of(Verdict.PROVED_UNDER)

    def __getitem__(self, row: Row) -> Notes:
        if self.verdicts[row] is not Verdict.PROVED_UNDER:
            raise KeyError(row)
        return self.note


def _met(asked: BulkQuery, results: Results) -> tuple[Assumption, ...]:
    """Give the assumptions of the answers, and of the rules below the goal."""
    program = with_projections(asked.compiled.program)
    below = results.below
    rules = tuple(one for one in program.rules if one.head.predicate in below)
    return assumptions_met(replace(program, rules=rules), results.calls)


def _closing(results: Results) -> Iterator[Assumption]:
    """Yield the assumptions under which no further rows are open.

    A row that is there anyway is no further one.
    """
    for call in results.calls:
        there = {row for portion in call.answer.portions for row in portion.rows}
        for opening in call.answer.openings:
            if opening.assumption is not None and opening.row not in there:
                yield opening.assumption


def _sorted(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    return tuple(sorted(set(in_parts(assumptions)), key=lambda one: (one.kind, one.text)))


def _filled(asked: BulkQuery, row: Row) -> Row:
    """Give the row of the goal's predicate that a row of the answer stands for."""
    values = dict(zip(asked.compiled.places, row, strict=True))
    return tuple(
        term.value if isinstance(term, Constant) else values[place]
        for place, term in enumerate(asked.compiled.goal.terms)
    )


def _proved(asked: BulkQuery, rows: list[Row], observe: Observer) -> Outcome:
    """Let the reference engine derive some rows, by demands for these alone."""
    program, goal, externals = _demands(asked, {tuple(range(len(asked.compiled.goal.terms))): rows})
    limits = asked.limits.showing()
    return LazyEngine().evaluate(program, goal, externals, limits, exhaust=True, observe=observe)


def _demands(
    asked: BulkQuery, known: Mapping[tuple[int, ...], Sequence[Row]]
) -> tuple[AnalysedProgram, Atom, Externals]:
    """Ask for the rows of the goal's predicate that have given values at known columns."""
    program = with_projections(asked.compiled.program)
    predicate = program.program.predicates[asked.compiled.goal.predicate]
    columns = _plain(predicate)
    terms = tuple(Variable(f"c{place}") for place in range(predicate.arity))
    kinds = {f"c{place}": kind for place, kind in enumerate(predicate.kinds)}
    predicates = {**program.program.predicates, _NAME: Predicate(_NAME, columns)}
    externals, rules = {**asked.externals}, list(program.rules)
    for places, rows in known.items():
        name = ".".join([f"{_NAME}.rows", *map(str, places)])
        predicates[name] = Predicate(name, tuple(columns[place] for place in places))
        externals[name] = _Rows(tuple(rows), asked.created)
        given = Atom(name, tuple(terms[place] for place in places))
        body = (Positive(given), Positive(Atom(predicate.name, terms)))
        rules.append(Rule(name, Atom(_NAME, terms), body))
    extended = AnalysedProgram(
        replace(program.program, predicates=predicates, rules=tuple(rules)),
        tuple(rules),
        (*program.variable_kinds, *[kinds] * len(known)),
        (*program.components, Component((_NAME,), recursive=False)),
        program.external | (externals.keys() - asked.externals.keys()),
    )
    return extended, Atom(_NAME, terms), externals


def _plain(predicate: Predicate) -> tuple[Column, ...]:
    return tuple(replace(column, attributes={}) for column in predicate.columns)


@frozen
class _Rows:
    """The rows to prove, as an external predicate that is asked for all of them first."""

    rows: tuple[Row, ...]
    created: str
    cost: int = 0

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        evidence = Evidence("query", Origin.CONFIG, "query", self.created, row_count=len(self.rows))
        return Answer((Portion(self.rows, evidence),), (), frozenset(demand.keys), (evidence,))


def answer_in_bulk(asked: BulkQuery, observe: Observer) -> Answers:
    """Evaluate a query forward, and check the answers where that is wished for."""
    asked, answers = _read_by_column(asked, _answered(asked, observe), observe)
    if asked.whole.folder is not None:
        _write_folder(asked, answers, asked.whole.folder)
    if asked.whole.check == OFF or not answers.in_bulk or answers.stopped:
        return answers
    if answers.recount is not None:
        return answers
    if answers.settled is Settled.UNDER or Verdict.PROVED_UNDER in answers.weak.values():
        return answers.counted(Recount(State.NOT_CHECKED, "some of it rests on assumptions"))
    if asked.whole.check == ALWAYS or asked.whole.checks is None:
        bounds = Bounds(asked.limits.running().left, usual_memory() // 2)
        claim = _claim(asked, answers)
        found = recount(asked.compiled.program, claim, asked.externals, bounds)
        if asked.whole.checks is not None:
            asked.whole.checks.heed(answers.query, found)
        return answers.counted(found)
    return _checked_beside(asked, answers, asked.whole.checks)


# Whole rows are read in place, which is fast. What is wrong in a column that the goal does not need
# is met there, and `prove` does not meet it (semantics 50): such relations are read once more, as
# `prove` reads them. Only where something is open is that paid for.


def _read_by_column(
    asked: BulkQuery, answers: Answers, observe: Observer
) -> tuple[BulkQuery, Answers]:
    """Give the answers, where something is open those of the columns that the goal reads."""
    least = asked.least
    if least is None or answers.stopped or answers.settled is Settled.FOR_CERTAIN:
        return asked, answers
    program = asked.compiled.program
    declared = program.program.predicates
    changed = {
        name: _ByColumn(asked.externals[name], least.program.predicates[name])
        for name in _doubted(answers.calls)
        if name in declared and least.program.predicates[name].unread
    }
    if not changed:
        return asked, answers
    predicates = {**declared, **{name: one.stored for name, one in changed.items()}}
    program = replace(program, program=replace(program.program, predicates=predicates))
    externals = {**asked.externals, **changed}
    again = replace(asked, compiled=replace(asked.compiled, program=program), externals=externals)
    found = _answered(again, observe)
    return (asked, answers) if found.stopped else (again, found)


_INSTEAD: Final[Mapping[Kind, Value]] = MappingProxyType(
    {
        Kind.NUMBER: 0,
        Kind.UNSIGNED: 0,
        Kind.FLOAT: 0.0,
        Kind.DECIMAL: Decimal(0),
        Kind.SYMBOL: "",
        Kind.DATE: parse_value("1970-01-01", Kind.DATE),
        Kind.TIMESTAMP: parse_value("1970-01-01T00:00:00.000000Z", Kind.TIMESTAMP),
        Kind.BOOL: parse_value("false", Kind.BOOL),
        Kind.STRUCTURE: "nil",
    }
)
"""What stands in a cell that nobody reads: the same in every row, so it tells no rows apart."""


@frozen
class _ByColumn:
    """An external predicate of which some columns are not read."""

    external: ExternalPredicate
    least: Predicate

    @property
    def cost(self) -> int:
        """How dear a demand is."""
        return self.external.cost

    @property
    def stored(self) -> Predicate:
        """The predicate with values that stand for what is not read."""
        columns = tuple(
            replace(one, attributes={**one.attributes, "null": "error"})
            if place in self.least.unread
            else one
            for place, one in enumerate(self.least.columns)
        )
        return replace(self.least, columns=columns)

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        answer = self.external.answer(replace(demand, predicate=self.least))
        return replace(answer, portions=tuple(map(self._filled, answer.portions)))

    def _filled(self, portion: Portion) -> Portion:
        kinds, unread = self.least.kinds, frozenset(self.least.unread)
        rows = (
            tuple(_INSTEAD[kinds[n]] if n in unread else cell for n, cell in enumerate(row))
            for row in portion.rows
        )
        return replace(portion, rows=tuple(rows))


def _doubted(calls: Iterable[Call]) -> Iterator[str]:
    """Name the predicates whose answers are not whole and certain."""
    for call in calls:
        answer = call.answer
        open_ = answer.openings or answer.conflicts
        if open_ or not all(key in answer.answered for key in call.demand.keys):
            yield call.demand.predicate.name


def _checked_beside(asked: BulkQuery, answers: Answers, checks: Checks) -> Answers:
    """Read what the check needs while the sources are in one state, and let it go on."""
    bounds = Bounds(asked.limits.seconds, usual_memory() // 2)
    prepared = Prepared(asked.compiled.program, _claim(asked, answers), asked.externals, bounds)
    pending = replace(answers, checking=checks.begin(answers.query, prepared))
    return pending.checked(asked.whole.wait)


def _claim(asked: BulkQuery, answers: Answers) -> Claim:
    """Claim the proved rows; where something is open, nobody says that there are no others."""
    compiled, rows, weak = asked.compiled, answers.sure, answers.weak
    whole = answers.settled is Settled.FOR_CERTAIN
    labelled: tuple[Row, ...] = ()
    if isinstance(rows, LabelledRows):
        labelled = tuple(row for row in rows.labelled if row not in weak)
        rows = rows.stored
    if isinstance(rows, StoredRows) and compiled.places:
        stream = rows.proved
        return Claim(compiled.goal, compiled.places, labelled, stream, whole=whole)
    sure = rows if not weak else [row for row in rows if row not in weak]
    return Claim(compiled.goal, compiled.places, sure, whole=whole)


def _write_folder(asked: BulkQuery, answers: Answers, folder: Path) -> None:
    """Write what somebody else counts again. Raises `ConstatError`."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise _unwritten(folder, "there is something of that name", "name a new folder")
    if answers.settled is not Settled.FOR_CERTAIN or answers.weak or answers.excluded:
        raise _unwritten(folder, _unsettled(answers))
    if not answers.in_bulk or answers.stopped:
        raise _unwritten(folder, answers.stopped or "it was not computed in bulk")
    claim = _claim(asked, answers)
    computed = Computed(asked.compiled.program, claim, asked.externals, asked.created)
    try:
        left = asked.limits.running().left
        write_folder(folder, computed, Bounds(left, usual_memory() // 2))
    except RefusedError as refused:
        raise _unwritten(folder, str(refused)) from None
    except OSError as problem:
        raise _unwritten(folder, problem.strerror or type(problem).__name__) from None


def _unsettled(answers: Answers) -> str:
    """Say what of an answer is assumed or not known."""
    for one in answers.reasons:
        return f"some of it is not known: {one.predicate}, {one.reason}"
    for assumption in answers.assumptions:
        return f"some of it rests on an assumption: {assumption.text}"
    return "some of it is assumed or not known"


def _unwritten(folder: Path, why: str, help_: str = "") -> ConstatError:
    message = f"the answer cannot be written into `{folder.name}`: {why}"
    return ConstatError([Diagnostic("C0617", message, help=help_)])


def _answered(asked: BulkQuery, observe: Observer) -> Answers:
    compiled = asked.compiled
    inputs = {name: Outside(one) for name, one in asked.externals.items()}
    try:
        results = evaluate(
            with_projections(compiled.program),
            [compiled.goal],
            inputs,
            Options(
                asked.resources,
                calls=asked.limits.calls,
                graded=True,
                loose_above=MANY,
                spark=asked.spark,
                served=Serving.ALWAYS if asked.on_server else Serving.WHERE_LESS_IS_SENT,
            ),
            observe,
        )
    except ResourceError as problem:
        return _stopped(asked, problem)
    if not results.is_in_bulk(0):
        with results:
            outcome = results.outcome(0)
            found = outcome_answers(
                compiled,
                outcome,
                created=asked.created,
                confidence=False,
                clock=asked.limits.proving(),
            )
            return replace(found, calls=_calls_outside(asked, results, outcome), in_bulk=True)
    try:
        if results.grades(0):
            return _graded(asked, results, observe)
        listed = _listed(compiled, results)
        rows = _stored(compiled, results) if listed is None else listed
        return _answers(asked, results, rows)
    except ResourceError as problem:
        results.close()
        return _stopped(asked, problem)
    except BaseException:
        # Nobody holds the rows yet who would take away what was spilled.
        results.close()
        raise


# Over very many rows an unknown value that is joined in several places is taken for several
# (`loosening`), and rows stay open that a proof decides. Of a few of them it is asked, and of
# shapes of rows of which something is known.

_MOST_ASKED: Final = 2_000
_MOST_READ: Final = 100_000
"""The rows that may be read for shapes: what is too much is given up after a second or two."""
_ONE_BY_ONE: Final = "some of its rows were decided one by one"


def _asked_one_by_one(
    asked: BulkQuery, results: Results, found: GradedRows, observe: Observer
) -> GradedRows:
    """Let the reference engine say what it knows of open rows and shapes, where they are few."""
    program = asked.compiled.program if asked.least is None else asked.least
    proving = replace(asked, compiled=replace(asked.compiled, program=program))
    if 0 < found.shapes.get(POSSIBLE, 0) <= _MOST_ASKED:
        found = _asked_by_shape(proving, results, found, observe)
    rows = [
        row
        for row in (found.verdicts.of(Verdict.UNRESOLVED) if found.possible <= _MOST_ASKED else ())
        if not has_null_cells(row)
    ]
    if not rows or not asked.limits.left:
        return found
    whole = [_filled(asked, row) for row in rows]
    outcome = _proved(proving, whole, observe)
    if outcome.stopped not in {"", "settled"}:
        return found
    kinds = _plain(program.program.predicates[asked.compiled.goal.predicate])
    said = {}
    for row, cells in zip(rows, whole, strict=True):
        terms = tuple(Constant(cell, one.kind) for cell, one in zip(cells, kinds, strict=True))
        said[row] = outcome.strength(Atom(_NAME, terms))
    return found.saying(said)


def _asked_by_shape(
    asked: BulkQuery, results: Results, found: GradedRows, observe: Observer
) -> GradedRows:
    """Ask which rows there are of each open shape, if few rows have to be read for that."""
    goal = asked.compiled.goal
    shapes: dict[tuple[int, ...], dict[Row, None]] = {}
    for row, strength in results.weak_rows(0):
        narrow = narrowed(goal, row) if strength == POSSIBLE and OPEN in row else None
        if narrow is None or OPEN not in narrow[0]:
            continue
        cells: Sequence[object] = narrow[0]
        places = tuple(
            n for n, cell in enumerate(cells) if cell is not OPEN and not isinstance(cell, NullCell)
        )
        shapes.setdefault(places, {})[cast("Row", tuple(cells[n] for n in places))] = None
    if () in shapes:
        shapes = {(): {(): None}}
    known = {places: tuple(rows) for places, rows in shapes.items()}
    program, wanted, externals = _demands(asked, known)
    large = large_below(asked.compiled, externals)
    limits = asked.limits
    asking = (LazyEngine(), program, wanted, externals, limits, large, observe)
    outcome = within_budget(*asking, most=_MOST_READ)
    if outcome is None or outcome.stopped not in {"", "settled"}:
        return found
    shown = Compiled(asked.compiled.query, program, Atom(_NAME, goal.terms), asked.compiled.places)
    rows = Found(shown, outcome)
    said = dict.fromkeys(map(rows.shown, rows.certain), CERTAIN)
    said.update({rows.shown(row): strength for row, strength in rows.strengths.items()})
    counts = {one: rows.count_shapes(one) for one in (ACCEPTED, POSSIBLE, CONCEIVABLE)}
    kept = {one: count for one, count in found.shapes.items() if one != POSSIBLE}
    every = Counter(kept) + Counter(counts)
    return replace(found.saying(said), shapes=every)


def _graded(asked: BulkQuery, results: Results, observe: Observer) -> Answers:
    """Say what graded rows mean for a query."""
    compiled = asked.compiled
    kinds = tuple(column.kind for column in answer_columns(compiled))
    found = graded_rows(results, compiled.goal, compiled.places, kinds)
    _release_with(results.database)
    if results.loose:
        found = _asked_one_by_one(asked, results, found, observe)
    is_open = bool(found.possible or found.shapes.get(POSSIBLE))
    under = bool(found.accepted or found.excluded or found.shapes.get(CONCEIVABLE))
    settled = Settled.FOR_CERTAIN
    if is_open or under:
        settled = Settled.OPEN if is_open else Settled.UNDER
    rests = graded_rests(asked, results, found, whole=settled is Settled.UNDER, observe=observe)
    return replace(
        _answers(asked, results, found.listed),
        fewest=_fewest(found.listed),
        settled=settled,
        assumptions=rests.assumptions,
        reasons=reasons_in_bulk(results, asked.compiled.program) if is_open else (),
        open_shapes=found.shapes.get(POSSIBLE, 0),
        excluded=found.excluded + found.shapes.get(CONCEIVABLE, 0),
        weak=found.verdicts,
        notes=rests.notes,
        recount=Recount(State.NOT_CHECKED, _ONE_BY_ONE) if found.one_by_one else None,
    )


def _calls_outside(asked: BulkQuery, results: Results, outcome: Outcome) -> tuple[Call, ...]:
    """Give the calls for whole relations, then those for what is open.

    Relations that were computed on the way are no sources, though the reference engine asks them.
    """
    later = [one for one in outcome.calls if one.demand.predicate.name in asked.externals]
    both = enumerate((*results.calls, *later), start=1)
    return tuple(replace(one, number=number) for number, one in both)


def _listed(compiled: Compiled, results: Results) -> list[Row] | None:
    """Give the rows of an answer in their order, where a few came that lie in no table."""
    if not compiled.places or results.database.listed(results.relation(0)) is None:
        return None
    rows = chain.from_iterable(results.batches(0))
    found = sorted(tuple([row[place] for place in compiled.places]) for row in rows)
    results.close()
    return found


def _stored(compiled: Compiled, results: Results) -> StoredRows:
    from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

    relation = results.select(0)
    names = relation.columns
    kinds = tuple(column.kind for column in answer_columns(compiled))
    if compiled.places:
        chosen = [
            ColumnExpression(names[place]).alias(f"v{number}")
            for number, place in enumerate(compiled.places)
        ]
        relation = relation.select(*chosen)
    _release_with(results.database)
    return StoredRows(relation, kinds, results.count(0), results.database)


def _release_with(database: Database) -> None:
    """Close a database when the last of the rows that hold it has gone."""
    finalize_here(database, database.connection.close)


def _stopped(asked: BulkQuery, problem: ResourceError) -> Answers:
    finished = getattr(problem, "__notes__", ["nothing was finished"])[0]
    raising = asked.limits.raising(problem.limit) if problem.limit else ""
    if raising in str(problem):
        raising = ""
    reason = f"{problem}{raising}; {finished} [C0660]"
    told = OpenReason(asked.compiled.goal.predicate, reason, "", 1, "")
    return _answers(asked, None, (), stopped=reason, reasons=(told,))


def _answers(
    asked: BulkQuery,
    results: Results | None,
    rows: Sequence[Row],
    *,
    stopped: str = "",
    reasons: tuple[OpenReason, ...] = (),
) -> Answers:
    return Answers(
        query=asked.compiled.query.text,
        columns=answer_columns(asked.compiled),
        settled=Settled.OPEN if stopped else Settled.FOR_CERTAIN,
        assumptions=(),
        reasons=reasons,
        open_shapes=0,
        excluded=0,
        calls=() if results is None else results.calls,
        created=asked.created,
        stopped=stopped,
        weighed=False,
        sure=rows,
        weak={},
        notes={},
        show=row_goals(asked.compiled),
        in_bulk=True,
    )
