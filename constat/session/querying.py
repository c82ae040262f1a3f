"""Answer a query: choose the engine, evaluate once, and say what is known of each row."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse, check_goal, fence_mistakes
from constat.diagnostics import ConstatError
from constat.engine import told_apart
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    UNTIMED,
    GuessingPredicate,
    Limits,
    RelationPredicate,
    Verdict,
    filled_externals,
)
from constat.frozen import frozen, slotted
from constat.logic import (
    OPEN,
    Atom,
    Constant,
    NullCell,
    Positive,
    Predicate,
    Rule,
    Variable,
    has_null_cells,
    is_wildcard,
    row_order,
)
from constat.plan.compilation import predicates_below
from constat.proof.projection import with_projections
from constat.session.answers import AnswerColumn, Answers, SecondRows, Settled, open_reasons
from constat.session.resting import resting
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import (
        Answer,
        Clock,
        Demand,
        Engine,
        ExternalPredicate,
        Externals,
        Observer,
        Outcome,
    )
    from constat.forward.division import Restriction
    from constat.logic import Column, OpenRow, Row, Slot
    from constat.proof.outside import Fact
    from constat.session.query_text import Query

# Join the answers of two evaluations of a query, in the second of which words fill null cells.

MOST_JOINED: Final = 200_000
"""Rows of more answers stay where they were computed: what is open there is asked by itself."""


def joined(first: Answers, second: Answers) -> Answers:
    """Say of each row what the first answers decide, else what the second ones do."""
    if _was_stopped(second) or max(len(first), len(second)) > MOST_JOINED:
        return first
    verdicts = {row: first.weak.get(row, Verdict.PROVED) for row in first.sure}
    later = {row: second.weak.get(row, Verdict.PROVED) for row in second.sure}
    decided = {row for row, verdict in verdicts.items() if verdict is not Verdict.UNRESOLVED}
    closed, left_out = not second.open_shapes, 0
    for row in verdicts.keys() - decided:
        if row in later:
            verdicts[row] = later[row]
        elif closed:
            # No row that may be this one is left.
            del verdicts[row]
            left_out += 1
    if first.open_shapes:
        verdicts = {**later, **verdicts}
    return _with_rows(first, second, verdicts, decided, left_out)


def _was_stopped(answers: Answers) -> bool:
    return answers.stopped not in {"", "settled"}


def _with_rows(
    first: Answers,
    second: Answers,
    verdicts: Mapping[Row, Verdict],
    decided: set[Row],
    left_out: int,
) -> Answers:
    nulls = any(map(has_null_cells, verdicts))
    rows = sorted(verdicts, key=row_order if nulls else None)
    weak = {row: verdicts[row] for row in rows if verdicts[row] is not Verdict.PROVED}
    shapes = second.open_shapes if first.open_shapes else 0
    is_open = bool(shapes) or Verdict.UNRESOLVED in weak.values() or _was_stopped(first)
    excluded = first.excluded + left_out + (second.excluded if first.open_shapes else 0)
    under = Settled.UNDER if weak or excluded else Settled.FOR_CERTAIN
    notes = {row: (first if row in decided else second).notes.get(row) for row in rows}
    return replace(
        second,
        settled=Settled.OPEN if is_open else under,
        assumptions=tuple(dict.fromkeys(chain(first.assumptions, second.assumptions))),
        reasons=(second.reasons or first.reasons) if is_open else (),
        open_shapes=shapes,
        excluded=excluded,
        stopped=first.stopped,
        sure=rows,
        weak=weak,
        notes={row: one for row, one in notes.items() if one is not None},
        in_bulk=first.in_bulk or second.in_bulk,
        recount=None,
        fewest=len(told_apart(dict.fromkeys(rows, 1))) if nulls else len(rows),
    )


# Neither engine ever says what the other denies. They say the same, but where over many rows an
# unknown value is joined in several places: there bulk evaluation leaves rows open that a single
# proof might decide, and says so. What is known before anything is read decides first: the sizes
# of the sources. A goal with constants, or one over small sources, is tried; when it has gone
# through `MANY` rows, or a large source is asked for everything, that attempt ends.

MANY: Final = 200_000
"""From so many rows on, computing in bulk is worth its start, which takes a few tenths."""
FEW: Final = 2_000
"""So many rows that a rule's constants leave are gone through while bulk begins."""


class _TooMuchError(Exception):
    """The attempt is not worth its time any more."""


def try_small(
    engine: Engine, compiled: Compiled, externals: Externals, limits: Limits, observe: Observer
) -> Outcome | None:
    """Evaluate a query goal by goal; `None` where that is too much."""
    large = large_below(compiled, externals)
    asked = not large or any(isinstance(term, Constant) for term in compiled.goal.terms)
    if not asked and not _are_narrow(compiled, externals, large):
        return None
    program = with_projections(compiled.program)
    outcome = within_budget(engine, program, compiled.goal, externals, limits, large, observe)
    too_many = outcome is not None and "rows" in outcome.stopped and limits.rows > MANY
    return None if too_many else outcome


def within_budget(  # noqa: PLR0913, PLR0917  # the engine's own arguments, handed through
    engine: Engine,
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    large: Collection[str],
    observe: Observer,
    most: int = MANY,
) -> Outcome | None:
    """Evaluate a goal; `None` where that reads over `most` rows, or one of the `large` whole."""
    budget = _Budget(most)
    watched = {name: _Watched(one, name in large, budget) for name, one in externals.items()}
    bounded = replace(limits.showing(), rows=min(limits.rows, most))
    try:
        return engine.evaluate(program, goal, watched, bounded, exhaust=True, observe=observe)
    except _TooMuchError:
        return None


def large_below(compiled: Compiled, externals: Externals) -> frozenset[str]:
    """Name the external predicates below a query that may have very many rows."""
    below = predicates_below(compiled.program, compiled.goal.predicate)
    return frozenset(name for name in below if name in externals and _is_large(externals[name]))


def _are_narrow(compiled: Compiled, externals: Externals, large: Collection[str]) -> bool:
    """Tell whether rules ask large sources for constants alone, and all sources for few rows."""
    from constat.forward.division import restrictions  # noqa: PLC0415  loaded when it is used

    below = predicates_below(compiled.program, compiled.goal.predicate)
    wished = restrictions(compiled.program, below, [compiled.goal])
    rows = 0.0
    try:
        for name in below & externals.keys():
            guess = _guess(externals[name], wished[name], large=name in large)
            if guess is None or (rows := rows + guess) > FEW:
                return False
    except ConstatError:
        # Whoever asks it, if anybody does, will say what is wrong.
        return False
    return True


def _guess(external: ExternalPredicate, wish: Restriction, *, large: bool) -> float | None:
    """Guess how many rows are asked for; of a large source only constants tell."""
    if not large:
        return (external.estimate() or 0) if isinstance(external, RelationPredicate) else 0
    if not wish.columns or not isinstance(external, GuessingPredicate):
        return None
    found = [external.guess(replace(wish, keys=(key,)).narrowed) for key in wish.keys]
    return None if None in found else sum(one for one in found if one is not None)


def _is_large(external: ExternalPredicate) -> bool:
    if not isinstance(external, RelationPredicate):
        return False
    try:
        rows = external.estimate()
    except ConstatError:
        # Whoever asks it, if anybody does, will say what is wrong.
        return False
    return rows is not None and rows > MANY


@slotted
class _Budget:
    """The rows that an attempt may still read."""

    left: int

    def take(self, rows: int) -> None:
        """Count rows that came; raises when there are too many."""
        self.left -= rows
        if self.left < 0:
            raise _TooMuchError


@slotted
class _Watched:
    """An external predicate under a budget."""

    external: ExternalPredicate
    large: bool
    budget: _Budget

    @property
    def cost(self) -> int:
        """How dear a demand is."""
        return self.external.cost

    @property
    def source(self) -> str:
        """The source that may be asked beside others; see `ConcurrentPredicate`."""
        found: str = getattr(self.external, "source", "")
        return found

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch, if that is not too much."""
        if self.large and not demand.columns:
            raise _TooMuchError
        answer = self.external.answer(demand)
        self.budget.take(sum(len(portion.rows) for portion in answer.portions))
        return answer


# What a row is called follows from strengths as `prove` does it (semantics 7 and 10): a row that
# an open shape covers is at least possible.


@frozen
class Compiled:
    """A query as an atom of a program.

    `places` are the positions of the answer's columns in it.
    """

    query: Query
    program: AnalysedProgram
    goal: Atom
    places: tuple[int, ...]


def compile_query(query: Query, program: AnalysedProgram, *, name: str = "") -> Compiled:
    """Make a query ready for an engine. Raises `ConstatError` where it is unsafe or ill typed.

    `name` is that of the relation that a query has which is no plain goal.
    """
    goal = query.goal
    fenced = list(fence_mistakes(query.literals, program, query.span))
    if fenced:
        raise ConstatError(fenced)
    if goal is None or program.program.predicates[goal.predicate].given:
        program, goal = _with_rule(query, program, name or _free_name(program))
    goal = check_goal(goal, program)
    variables = [place for place, term in enumerate(goal.terms) if isinstance(term, Variable)]
    return Compiled(query, program, goal, tuple(variables))


def _with_rule(query: Query, program: AnalysedProgram, name: str) -> tuple[AnalysedProgram, Atom]:
    variables = tuple(Variable(column.name) for column in query.columns)
    head = Atom(name, variables, query.span)
    rule = Rule(f"{name}.1", head, query.literals, span=query.span)
    predicates = {**program.program.predicates, name: Predicate(name, query.columns)}
    rules = (*program.program.rules, rule)
    diagnostics: list[Diagnostic] = []
    found = analyse(replace(program.program, predicates=predicates, rules=rules), diagnostics)
    if found is None:
        # The rules have been analysed before: what is wrong now is wrong with the query.
        raise ConstatError([one for one in diagnostics if one.severity.value == "error"])
    return found, head


def _free_name(program: AnalysedProgram) -> str:
    name = "query"
    while name in program.program.predicates:
        name += "_"
    return name


def answer_query(  # noqa: PLR0913  # the engine's own arguments, handed through
    engine: Engine,
    compiled: Compiled,
    externals: Externals,
    limits: Limits,
    *,
    created: str,
    confidence: bool,
    observe: Observer,
) -> Answers:
    """Evaluate a compiled query."""
    goal = compiled.goal
    # As `prove` does: in a proof every negated atom is ground.
    program = with_projections(compiled.program)
    bounds = limits.showing()
    outcome = engine.evaluate(program, goal, externals, bounds, exhaust=True, observe=observe)
    return outcome_answers(
        compiled, outcome, created=created, confidence=confidence, clock=bounds.proving()
    )


def answer_twice(
    once: Callable[[Externals, Limits], Answers], externals: Externals, limits: Limits
) -> Answers:
    """Answer a query; where null cells leave it open, again with what somebody says of them.

    As `prove` does it for one goal; the time is that of both.
    """
    first = once(externals, limits)
    filled = filled_externals(externals) if first.settled is Settled.OPEN else None
    if filled is None or not limits.left:
        return first
    return joined(first, once(filled, limits))


def outcome_answers(
    compiled: Compiled,
    outcome: Outcome,
    *,
    created: str,
    confidence: bool,
    clock: Clock = UNTIMED,
) -> Answers:
    """Say what an outcome means for a query; the clock bounds what notes its rows have."""
    found = Found(compiled, outcome)
    settled = found.settled()
    rests = resting(
        outcome,
        found.facts(CERTAIN) if confidence else (),
        found.facts(ACCEPTED),
        whole=settled is Settled.UNDER,
        clock=clock,
    )
    return Answers(
        query=compiled.query.text,
        columns=answer_columns(compiled),
        settled=settled,
        assumptions=rests.assumptions,
        reasons=open_reasons(outcome) if settled is Settled.OPEN else (),
        open_shapes=found.count_shapes(POSSIBLE),
        excluded=found.excluded + found.count_shapes(CONCEIVABLE),
        calls=outcome.calls,
        created=created,
        stopped=outcome.stopped,
        weighed=confidence,
        sure=found.listed,
        fewest=found.fewest(),
        weak=found.weak,
        notes={found.shown(row): notes for (_, row), notes in rests.notes.items()},
        show=row_goals(compiled),
    )


def second_rows(compiled: Compiled, rows: Iterable[Row], stopped: str) -> SecondRows:
    """Give what another engine found, with the columns of the answer."""
    found = {tuple([row[place] for place in compiled.places]) for row in rows}
    return SecondRows(compiled.query.text, answer_columns(compiled), tuple(sorted(found)), stopped)


def answer_columns(compiled: Compiled) -> tuple[AnswerColumn, ...]:
    """Give the columns of the answers."""
    return tuple(AnswerColumn(one.name, one.kind) for one in _columns(compiled))


def _columns(compiled: Compiled) -> tuple[Column, ...]:
    declared = compiled.program.program.predicates[compiled.goal.predicate].columns
    return tuple(
        replace(declared[place], name=_name(compiled.goal, place)) for place in compiled.places
    )


def _name(goal: Atom, place: int) -> str:
    term = goal.terms[place]
    return term.name if isinstance(term, Variable) else ""


class Found:
    """The rows of an outcome that match a query, by strength."""

    def __init__(self, compiled: Compiled, outcome: Outcome) -> None:
        self.compiled = compiled
        self.outcome = outcome
        self.name = compiled.goal.predicate
        self._whole = compiled.places == tuple(range(len(compiled.goal.terms)))
        self.certain: list[Row] = []
        self.shapes: dict[OpenRow, int] = {}
        self.strengths: dict[Row, int] = {}
        doubtful: list[OpenRow] = []
        for row in self._rows(CERTAIN):
            matched = narrowed(compiled.goal, row)
            if matched is not None:
                (self.certain if matched[1] else doubtful).append(row)  # type: ignore[arg-type]
        for row in doubtful:
            self._take(row, POSSIBLE)
        for row, strength in self._weaker():
            self._take(row, strength)
        for row, one in self.strengths.items():
            self.strengths[row] = max(one, self._covering(row))
        held = [row for row, one in self.strengths.items() if one > CONCEIVABLE]
        self.excluded = len(self.strengths) - len(held)
        rows = list(map(self.shown, (*self.certain, *held)))
        self.nulls = any(map(has_null_cells, rows))
        self.listed = sorted(rows, key=row_order if self.nulls else None)
        self.weak = {self.shown(row): _verdict(self.strengths[row]) for row in held}

    def _rows(self, least: int) -> Iterable[OpenRow]:
        return self.outcome.rows(self.name, least)

    def _weaker(self) -> Iterator[tuple[OpenRow, int]]:
        """Yield the rows that are not certain, the strongest first."""
        certain = sum(1 for _ in self._rows(CERTAIN))
        if sum(1 for _ in self._rows(CONCEIVABLE)) == certain:
            return
        seen = set(self._rows(CERTAIN))
        for strength in (ACCEPTED, POSSIBLE, CONCEIVABLE):
            for row in self._rows(strength):
                if row not in seen:
                    seen.add(row)
                    yield row, strength

    def _take(self, row: OpenRow, strength: int) -> None:
        found = narrowed(self.compiled.goal, row)
        if found is None:
            return
        narrow, is_certain = found
        strength = strength if is_certain else min(strength, POSSIBLE)
        if OPEN in narrow:
            self.shapes[narrow] = max(strength, self.shapes.get(narrow, ABSENT))
            return
        ground: Row = narrow  # type: ignore[assignment]  # it has no placeholder
        if ground not in self._sure:
            self.strengths[ground] = max(strength, self.strengths.get(ground, ABSENT))

    @cached_property
    def _sure(self) -> frozenset[Row]:
        return frozenset(self.certain)

    def _covering(self, row: Row) -> int:
        """Give the strength of the strongest open shape that may be this row."""
        found = (
            table.get(tuple([row[place] for place in places]), ABSENT)
            for places, table in self._tables.items()
        )
        return max(found, default=ABSENT)

    @cached_property
    def _tables(self) -> Mapping[tuple[int, ...], Mapping[tuple[Slot, ...], int]]:
        """Give the open shapes by the places where they hold values: few, however many they are."""
        tables: dict[tuple[int, ...], dict[tuple[Slot, ...], int]] = {}
        for shape, strength in self.shapes.items():
            places = tuple(place for place, slot in enumerate(shape) if slot is not OPEN)
            tables.setdefault(places, {})[tuple(shape[place] for place in places)] = strength
        return tables

    def shown(self, row: Row) -> Row:
        """Give the values of the answer's columns."""
        return row if self._whole else tuple([row[place] for place in self.compiled.places])

    def fewest(self) -> int:
        """Count the rows that differ for certain: those that differ in labels may be one row."""
        return len(told_apart(dict.fromkeys(self.listed, 1))) if self.nulls else len(self.listed)

    def count_shapes(self, strength: int) -> int:
        """Count the open shapes of a strength."""
        return sum(one == strength for one in self.shapes.values())

    def settled(self) -> Settled:
        """Say whether the set of answers is known."""
        strengths = {*self.strengths.values(), *self.shapes.values()}
        if POSSIBLE in strengths or self.outcome.stopped not in {"", "settled"}:
            return Settled.OPEN
        return Settled.UNDER if strengths else Settled.FOR_CERTAIN

    def facts(self, strength: int) -> tuple[Fact, ...]:
        """Give the rows of a strength, certain or accepted, as facts."""
        if strength == CERTAIN:
            return tuple((self.name, row) for row in self.certain)
        return tuple((self.name, row) for row, one in self.strengths.items() if one == strength)


def _verdict(strength: int) -> Verdict:
    return Verdict.PROVED_UNDER if strength == ACCEPTED else Verdict.UNRESOLVED


def narrowed(goal: Atom, row: OpenRow) -> tuple[OpenRow, bool] | None:
    """Give the part of a row that the goal asks about, and whether the row matches for certain.

    `None` where it does not match.
    """
    slots: list[Slot] = []
    is_certain = True
    for term, slot in zip(goal.terms, row, strict=True):
        cell: object = slot
        if isinstance(cell, NullCell) and not is_wildcard(term):
            if cell.policy.is_empty:
                return None
            carried = cell.is_label and not isinstance(term, Constant)
            is_certain &= carried
            open_slot = term.value if isinstance(term, Constant) else OPEN
            slots.append(slot if carried else open_slot)
        elif not isinstance(term, Constant):
            slots.append(slot)
        elif slot is OPEN or slot == term.value:
            slots.append(term.value)
        else:
            return None
    return tuple(slots), is_certain


def row_goals(compiled: Compiled) -> Callable[[Row], tuple[str, ...]]:
    """Give the function that writes the goals of a row."""
    predicates = compiled.program.program.predicates
    names = [_name(compiled.goal, place) for place in compiled.places]
    atoms = [one.atom for one in compiled.query.literals if isinstance(one, Positive)]
    shapes = [_as_asked(predicates[atom.predicate], atom) for atom in atoms]

    def show(row: Row) -> tuple[str, ...]:
        # Nobody can ask for a value that nobody knows: the goal has a variable there.
        known = [OPEN if has_null_cells((cell,)) else cell for cell in row]
        values = dict(zip(names, known, strict=True))
        return tuple(
            print_row(shape, _filled(atom, values))
            for shape, atom in zip(shapes, atoms, strict=True)
        )

    return show


def _as_asked(predicate: Predicate, atom: Atom) -> Predicate:
    """Name the columns `_` that the query does not read: a variable there would read them."""
    columns = (
        replace(column, name="_") if is_wildcard(term) else column
        for column, term in zip(predicate.columns, atom.terms, strict=True)
    )
    return replace(predicate, columns=tuple(columns))


def _filled(atom: Atom, values: Mapping[str, Slot]) -> OpenRow:
    return tuple(
        term.value
        if isinstance(term, Constant)
        else values.get(term.name, OPEN)
        if isinstance(term, Variable)
        else OPEN
        for term in atom.terms
    )
