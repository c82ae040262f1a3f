"""What the rows of a graded query rest on.

In: graded rows, and the calls that were made for whole relations. Out: notes for the rows that are
accepted, and the assumptions of the whole. Invariant: as `resting` has it, a row holds whenever the
assumptions noted at it do. Where there is one assumption only, every accepted row rests on it.
Where there are several, a few rows are proved by the reference engine, asked for these rows alone,
and of many every assumption is named. Example: a million customers of whom none is blocked, by a
list that is declared complete, are accepted under that closure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.analysis import AnalysedProgram, Component
from constat.engine import LazyEngine
from constat.evaluation import (
    Answer,
    Evidence,
    Origin,
    Portion,
    Verdict,
    in_parts,
)
from constat.logic import Atom, Column, Constant, Positive, Predicate, Rule, Variable
from constat.proof.projection import with_projections
from constat.proof.reading import assumptions_met
from constat.session.answers import Notes
from constat.session.resting import resting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.evaluation import Assumption, Demand, Observer, Outcome
    from constat.forward import Results
    from constat.logic import Row
    from constat.session.bulk_question import Asked
    from constat.session.graded_rows import GradedRows, Verdicts


@dataclass(frozen=True, slots=True)
class GradedRests:
    """The assumptions of the whole, and notes by row of the answer."""

    assumptions: tuple[Assumption, ...] = ()
    notes: Mapping[Row, Notes] = field(default_factory=dict)


_MOST_PROVED: Final = 20_000
_NAME: Final = "query.accepted"


def graded_rests(
    asked: Asked, results: Results, found: GradedRows, *, whole: bool, observe: Observer
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
    )
    places = asked.compiled.places
    notes = {tuple([row[place] for place in places]): one for (_, row), one in rests.notes.items()}
    closing = _sorted(_closing(results)) if whole else ()
    noted = {one for note in notes.values() for one in note.assumptions}
    return GradedRests(_sorted([*noted, *closing]), notes)


@dataclass(frozen=True, slots=True)
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


def _met(asked: Asked, results: Results) -> tuple[Assumption, ...]:
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


def _filled(asked: Asked, row: Row) -> Row:
    """Give the row of the goal's predicate that a row of the answer stands for."""
    values = dict(zip(asked.compiled.places, row, strict=True))
    return tuple(
        term.value if isinstance(term, Constant) else values[place]
        for place, term in enumerate(asked.compiled.goal.terms)
    )


def _proved(asked: Asked, rows: list[Row], observe: Observer) -> Outcome:
    """Let the reference engine derive some rows, by demands for these alone."""
    program = with_projections(asked.compiled.program)
    predicate = program.program.predicates[asked.compiled.goal.predicate]
    given = Predicate(f"{_NAME}.rows", _plain(predicate))
    head = Predicate(_NAME, given.columns)
    terms = tuple(Variable(f"c{place}") for place in range(predicate.arity))
    body = (Positive(Atom(given.name, terms)), Positive(Atom(predicate.name, terms)))
    rule = Rule(f"{_NAME}.1", Atom(_NAME, terms), body)
    kinds = {f"c{place}": kind for place, kind in enumerate(predicate.kinds)}
    rules = (*program.rules, rule)
    predicates = {**program.program.predicates, given.name: given, _NAME: head}
    extended = AnalysedProgram(
        replace(program.program, predicates=predicates, rules=rules),
        rules,
        (*program.variable_kinds, kinds),
        (*program.components, Component((_NAME,), recursive=False)),
        program.external | {given.name},
    )
    externals = {**asked.externals, given.name: _Rows(tuple(rows), asked.created)}
    return LazyEngine().evaluate(
        extended, Atom(_NAME, terms), externals, asked.limits, exhaust=True, observe=observe
    )


def _plain(predicate: Predicate) -> tuple[Column, ...]:
    return tuple(replace(column, attributes={}) for column in predicate.columns)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows to prove, as an external predicate that is asked for all of them first."""

    rows: tuple[Row, ...]
    created: str
    cost: int = 0

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        evidence = Evidence("query", Origin.CONFIG, "query", self.created, row_count=len(self.rows))
        return Answer((Portion(self.rows, evidence),), (), frozenset(demand.keys), (evidence,))
