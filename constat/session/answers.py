"""All answers of a query, and whether there can be more.

In: what an evaluation found. Out: rows with a verdict each, in the order of their values; the
settledness of the whole; where it is open, the reasons with their counts. Invariants: a row is
called proved where the goal-directed engine says so, or a certificate of its own; one that bulk
evaluation gives is *computed, not checked* (semantics 38). Asked by itself, more may be known of
an UNRESOLVED row. In a settled set no row is possible that is not listed.

Example::

    with Session("examples/vip") as session:
        answers = session.query("customer_revenue(?c, ?r), ?r > 150000")
        for row in answers.rows.ordered("r", descending=True):
            print(row["c"], row["r"], row.verdict.label)
        print(answers.settled.value, answers.to_pandas()["r"].sum())
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, overload

from constat.diagnostics import ConstatError, Diagnostic
from constat.engine.state import MAX_FAILURES
from constat.evaluation import POSSIBLE, Verdict, conflicts_met, snapshot_met
from constat.frozen import OfSession, frozen
from constat.logic import (
    OPEN,
    Aggregate,
    NullCell,
    NullPolicy,
    Variable,
    display_value,
    null_cells,
    null_policies,
)
from constat.proof.missing import (
    NO_SOURCE,
    atoms_read,
    edit_of,
    is_contested,
    mending,
    unknown_columns,
)
from constat.session.rows import StoredRows, data_frame
from constat.syntax import print_wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal

    import pandas as pd
    import polars as pl

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Assumption, Call, Outcome
    from constat.forward import Results
    from constat.forward.erring import Erring
    from constat.logic import Atom, Kind, OpenRow, Predicate, Row, Rule, Value
    from constat.model import Usage
    from constat.recount import Recount
    from constat.session.checking import Checking


class ArrowStream(Protocol):
    """Rows that other libraries read through the PyCapsule interface of Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows as a stream; each call computes them anew."""
        ...


class Settled(Enum):
    """Whether the set of answers is known. The value is how JSON writes it."""

    FOR_CERTAIN = "SETTLED"
    UNDER = "SETTLED_UNDER"
    OPEN = "OPEN"

    @property
    def exit_code(self) -> int:
        """0 settled, 3 settled under assumptions, 4 open."""
        return _EXIT_CODES[self]


class Computed(Enum):
    """What a row is called that bulk evaluation gives and that nothing has checked.

    The value is how JSON writes it.
    """

    CERTAIN = "COMPUTED"
    UNDER = "COMPUTED_UNDER"

    @property
    def label(self) -> str:
        """In words: `COMPUTED, not checked`."""
        under = " UNDER assumptions" if self is Computed.UNDER else ""
        return f"COMPUTED{under}, not checked"


RowVerdict = Verdict | Computed
_COMPUTED = MappingProxyType(
    {Verdict.PROVED: Computed.CERTAIN, Verdict.PROVED_UNDER: Computed.UNDER}
)
DIFFERENT = 7
"""The exit code where a row that was checked did not prove; as of `diff` and `replay`."""

_EXIT_CODES = MappingProxyType({Settled.FOR_CERTAIN: 0, Settled.UNDER: 3, Settled.OPEN: 4})


@frozen
class AnswerColumn:
    """A variable of the query and the kind of its values."""

    name: str
    kind: Kind


@frozen
class OpenReason:
    """Why there may be more answers: what was not known, how often, and one goal to ask for."""

    predicate: str
    reason: str
    tier: str
    count: int
    goal: str
    null: bool = False
    """Whether it is only that a cell of a row has no value."""
    edit: str = ""
    """What decides it: a declaration where null means that there is none, or a mended source."""
    others: tuple[str, ...] = ()
    """Further goals that this leaves open, at most 99."""

    @property
    def contested(self) -> bool:
        """Whether only the source itself can decide it: stating a fact changes nothing."""
        return is_contested(self.reason)


@frozen
class Notes:
    """What is known of a row beside its verdict.

    `confidence` is `None` where it was not asked for or the row is not proved.
    """

    confidence: Decimal | None = None
    assumptions: tuple[Assumption, ...] = ()


_NOTHING = Notes()


@frozen
class AnswerRow(OfSession):
    """One answer: a value for each column, and a verdict.

    `goals` are what to prove for this row: one goal for a query of one atom.
    """

    columns: tuple[AnswerColumn, ...] = field(repr=False)
    values: Row
    verdict: RowVerdict
    notes: Notes = field(default=_NOTHING, repr=False)
    show: Callable[[Row], tuple[str, ...]] = field(default=lambda _: (), repr=False, compare=False)

    def __getitem__(self, column: str) -> Value:
        """Give the value of a column; raises `KeyError`."""
        for place, one in enumerate(self.columns):
            if one.name == column:
                return self.values[place]
        raise KeyError(column)

    @property
    def confidence(self) -> Decimal | None:
        """The confidence of a proved row, where it was asked for."""
        return self.notes.confidence

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What a row that is proved under assumptions rests on; `prove` finds a smallest set."""
        return self.notes.assumptions

    @property
    def goals(self) -> tuple[str, ...]:
        """The goals to prove for this row."""
        return self.show(self.values)


@frozen
class RowDifference:
    """A row that was computed and did not prove.

    `said` is what it was called, `verdict` what proving it says, if it came to a verdict.
    """

    row: Row
    goal: str
    said: str
    verdict: str
    reason: str


@frozen
class RowCheck:
    """What came of proving some rows one by one; `asked` is how many were wished for."""

    asked: int
    proved: Mapping[Row, Verdict] = field(repr=False)
    differences: tuple[RowDifference, ...]


@frozen
class SecondRows:
    """What another engine says: rows without verdicts, in the order of their values.

    `stopped` says why there is no answer; where it is empty, `rows` are all there are.
    """

    query: str
    columns: tuple[AnswerColumn, ...]
    rows: tuple[Row, ...]
    stopped: str


@dataclass(frozen=True)
class Answers(OfSession):
    """The answers of a query.

    `open_shapes` counts the shapes of rows that may exist besides, `excluded` the ground rows that
    only an assumption rules out. `assumptions` are those that the set as a whole rests on. `calls`
    are the demands that went outside. `stopped` names the limit that ended the search, if any.
    `weighed` tells whether confidences were asked for. `in_bulk` says that whole relations were
    computed: such rows are not proved, except where `recount` has checked them all, and those that
    `check` has proved one by one. `usage` is
    what models have used for it; `None` where the session has not come to any.
    """

    query: str
    columns: tuple[AnswerColumn, ...]
    settled: Settled
    assumptions: tuple[Assumption, ...]
    reasons: tuple[OpenReason, ...]
    open_shapes: int
    excluded: int
    calls: tuple[Call, ...]
    created: str
    stopped: str
    weighed: bool
    sure: Sequence[Row] = field(repr=False)
    weak: Mapping[Row, Verdict] = field(repr=False)
    notes: Mapping[Row, Notes] = field(repr=False)
    show: Callable[[Row], tuple[str, ...]] = field(repr=False, compare=False)
    usage: Usage | None = field(default=None, compare=False)
    in_bulk: bool = field(default=False, compare=False)
    check: RowCheck | None = None
    recount: Recount | None = None
    """What came of checking the rows of bulk as a whole; `None` where none was, or it goes on."""
    kept: bool = field(default=False, compare=False)
    """Whether they were computed earlier, and nothing that they rest on has changed since."""
    checking: Checking | None = field(default=None, repr=False, compare=False)
    """The check that goes on beside what comes next; `checked` waits for it."""
    fewest: int | None = field(default=None, compare=False)
    """How many rows there are at least, where some of them may be one row; `None`: not counted."""

    def __repr__(self) -> str:
        from constat.session.showing import answers_text  # noqa: PLC0415  loaded when it is used

        return answers_text(self.rows)

    def _repr_html_(self) -> str:
        """Show the first rows with their verdicts, and how many there are."""
        from constat.session.showing import answers_html  # noqa: PLC0415  loaded when it is used

        return answers_html(self.rows)

    @property
    def exit_code(self) -> int:
        """0 settled, 3 settled under assumptions, 4 open; 7 where a check found a difference."""
        if self.check is not None and self.check.differences:
            return DIFFERENT
        if self.recount is not None and self.recount.differs:
            return DIFFERENT
        return self.settled.exit_code

    @property
    def computed(self) -> bool:
        """Whether the rows were computed in bulk and not checked as a whole."""
        return self.in_bulk and not (self.recount is not None and self.recount.passed)

    def checked(self, seconds: float | None = None) -> Answers:
        """Wait for the check that goes on, so many seconds at most, and give what it came to.

        Rows that are counted again are proved then; where something differs no row is given out. Of
        answers without such a check, or where it goes on still, it gives these answers.
        """
        found = None if self.checking is None else self.checking.wait(seconds)
        return self if found is None else self.counted(found)

    def counted(self, found: Recount) -> Answers:
        """Give the answers with what counting them again came to."""
        known = replace(self, recount=found, checking=None)
        if not found.differs:
            return known
        told = OpenReason(self.query, f"counted again, {found.why}", "", 1, "")
        # Which rows are wrong the check need not know: none of them is given out.
        return replace(known, sure=(), settled=Settled.OPEN, reasons=(told, *self.reasons))

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Who says another value for a key than what counts."""
        return conflicts_met(self.calls)

    @property
    def snapshot(self) -> str | None:
        """Whether what was read outside is of one state, as `Result.snapshot` says it."""
        return snapshot_met(self.calls)

    @property
    def rows(self) -> Rows:
        """The rows in the order of their values; made when they are read."""
        return Rows(self, self.sure)

    def __iter__(self) -> Iterator[AnswerRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.sure)

    def row(self, values: Row) -> AnswerRow:
        """Give the row of these values."""
        notes = self.notes.get(values, _NOTHING)
        return AnswerRow(self.columns, values, self.verdict(values), notes, self.show)

    def verdict(self, values: Row) -> RowVerdict:
        """Give what a row is called."""
        held = self.weak.get(values, Verdict.PROVED)
        if self.check is not None and values in self.check.proved:
            return self.check.proved[values]
        return self.unchecked(held)

    def unchecked(self, held: Verdict) -> RowVerdict:
        """Give what a row with this strength is called that nobody has proved by itself."""
        return _COMPUTED.get(held, held) if self.computed else held

    @property
    def alike(self) -> bool:
        """Whether all rows are called the same, without a look at them."""
        return not self.weak and not (self.computed and self.check and self.check.proved)

    def count(self, verdict: RowVerdict) -> int:
        """Count the rows with a verdict."""
        certain = len(self.sure) - len(self.weak)
        found = certain if self.unchecked(Verdict.PROVED) is verdict else 0
        found += sum(self.unchecked(one) is verdict for one in self.weak.values())
        proved = {} if self.check is None else self.check.proved
        for row, one in proved.items():
            held = self.unchecked(self.weak.get(row, Verdict.PROVED))
            found += (one is verdict) - (held is verdict)
        return found

    def to_pandas(self) -> pd.DataFrame:
        """Give the rows as a data frame: a column for each variable, then `verdict`.

        Numbers are `Int64` and `UInt64`, floats `Float64`, truth values `boolean`, texts `string`,
        times `datetime64[us, UTC]`, dates `datetime.date` and decimals `Decimal` objects. Where
        confidences were asked for, the last column has them.
        """
        rows = list(self.rows)
        return data_frame(
            {column.name: column.kind for column in self.columns},
            self.sure,
            [row.verdict.value for row in rows],
            [row.confidence for row in rows] if self.weighed else None,
        )

    def to_polars(self) -> pl.DataFrame:
        """Give the rows as a frame of Polars, with the columns and types of `to_arrow`.

        Raises `ConstatError` where Polars is not installed: `pip install 'constat[polars]'`.
        """
        try:
            import polars  # noqa: PLC0415, ICN001  heavy library, loaded on first use
        except ImportError:
            message = "frames of Polars need the package polars"
            hint = "pip install 'constat[polars]'"
            raise ConstatError([Diagnostic("C0434", message, help=hint)]) from None
        return polars.DataFrame(self.to_arrow())

    def to_arrow(self) -> ArrowStream:
        """Give the rows as an object with `__arrow_c_stream__`, for Arrow, Polars and others.

        A column for each variable with its exact type, then `verdict`. Rows of a large query go
        over without becoming Python values. Raises `ConstatError` where decimals of a column need
        more than twelve places.
        """
        # Only this needs DuckDB for answers that are small.
        from constat.session.rows import arrow_rows  # noqa: PLC0415  loaded when it is used

        found: ArrowStream = arrow_rows(self.rows, self.columns)
        return found


@frozen
class Rows(OfSession):
    """Rows of a set of answers, some or all; a row is made when it is read."""

    answers: Answers
    values: Sequence[Row]

    def __repr__(self) -> str:
        from constat.session.showing import answers_text  # noqa: PLC0415  loaded when it is used

        return answers_text(self)

    def _repr_html_(self) -> str:
        from constat.session.showing import answers_html  # noqa: PLC0415  loaded when it is used

        return answers_html(self)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[AnswerRow]:
        return map(self.answers.row, self.values)

    @overload
    def __getitem__(self, place: int) -> AnswerRow: ...
    @overload
    def __getitem__(self, place: slice) -> Rows: ...
    def __getitem__(self, place: int | slice) -> AnswerRow | Rows:
        """Give a row, or some rows."""
        if isinstance(place, slice):
            return Rows(self.answers, self.values[place])
        return self.answers.row(self.values[place])

    def only(self, verdicts: Iterable[RowVerdict]) -> Rows:
        """Give the rows with one of these verdicts."""
        wanted, answers = frozenset(verdicts), self.answers
        if isinstance(self.values, StoredRows) and answers.alike:
            return self if answers.unchecked(Verdict.PROVED) in wanted else self[:0]
        found = [one for one in self.values if answers.verdict(one) in wanted]
        return Rows(self.answers, found)

    def ordered(self, column: str, *, descending: bool = False) -> Rows:
        """Give the rows in the order of a column; rows with equal values keep their order.

        Rows whose value there is not known come last.
        Raises `KeyError` for a column that is not there.
        """
        names = [one.name for one in self.answers.columns]
        if column not in names:
            raise KeyError(column)
        place = names.index(column)
        if isinstance(self.values, StoredRows):
            return Rows(self.answers, self.values.ordered(place, descending=descending))
        known = [row for row in self.values if not isinstance(row[place], NullCell)]
        known.sort(key=lambda row: row[place], reverse=descending)
        unknown = [row for row in self.values if isinstance(row[place], NullCell)]
        return Rows(self.answers, [*known, *unknown])

    def unknown(self, column: str) -> int:
        """Count the rows that may have any value in a column: what stands there is not known."""
        if isinstance(self.values, StoredRows):
            return 0
        place = [one.name for one in self.answers.columns].index(column)
        cells = (row[place] for row in self.values)
        return sum(isinstance(one, NullCell) and not one.policy.is_empty for one in cells)


# Only what no assumption would close is named; each reason has one goal to ask for, which can be
# pasted back.

_Group = tuple[str, str, str, bool, str]
_MOST_GROUPS: Final = 10_000
_MOST_GOALS: Final = 100


def open_reasons(outcome: Outcome) -> tuple[OpenReason, ...]:
    """Group what was left open while a goal was evaluated."""
    program, below = outcome.program, atoms_read(outcome.program, outcome.goal)
    seen = _gaps_of(outcome.calls, below)
    # Of what was asked for only: in bulk nobody lists the groups of what lies below.
    if _folded_columns(program, outcome.goal.predicate):
        name = outcome.goal.predicate
        _add_groups(seen, program, name, outcome.rows(name, POSSIBLE))
    for failure in outcome.failures:
        group = _failing(program, outcome.program.rules[failure.rule], failure.reason)
        shown = ", ".join(f"?{name} = {value}" for name, value in failure.bindings.items())
        seen.setdefault(group, {}).setdefault(shown)
    found = _counted(seen)
    if outcome.stopped not in {"", "settled"}:
        found.append(OpenReason(outcome.goal.predicate, outcome.stopped, "", 1, ""))
    return _sorted(found)


def reasons_in_bulk(results: Results, program: AnalysedProgram) -> tuple[OpenReason, ...]:
    """Group what was left open where whole relations were computed.

    All that the sources below the goal left open is named, also what no question by key would have
    met; of the instances that err so many as the reference engine keeps. What is loose is named.
    """
    atoms: dict[str, list[Atom]] = {}
    for goal in results.wanted:
        # The program as it was asked: in the plan literals read views of what holds null cells.
        for name, found_atoms in atoms_read(program, goal).items():
            atoms.setdefault(name, []).extend(found_atoms)
    seen = _gaps_of(results.calls, atoms)
    for place, goal in enumerate(results.wanted):
        if results.is_in_bulk(place) and _folded_columns(results.plan.program, goal.predicate):
            shapes = (row for row, strength in results.weak_rows(place) if strength == POSSIBLE)
            _add_groups(seen, results.plan.program, goal.predicate, shapes)
    for relation, erring in results.erring.items():
        for bindings, reason in islice(_instances(results, relation, erring), MAX_FAILURES):
            group = _failing(program, erring.rule, reason)
            seen.setdefault(group, {}).setdefault(bindings)
    found = _counted(seen)
    for name, why in results.loose.items():
        reason = (
            f"{why}; over so many rows it is left open, one row can be proved by itself [C0970]"
        )
        found.append(OpenReason(name, reason, "", 1, ""))
    return _sorted(found)


def told_of_check(answers: Answers) -> Answers:
    """Say that nothing is counted again where nothing was computed in bulk."""
    if answers.in_bulk or answers.recount is not None:
        return answers
    from constat.recount import Recount, State  # noqa: PLC0415  loaded when it is used

    why = "it was proved goal by goal, and nothing was computed in bulk"
    return answers.counted(Recount(State.NOT_CHECKED, why))


THE_QUERY: Final = "the query"
"""What a relation is called that nobody wrote: it has the rows of a conjunction."""


def _is_query(program: AnalysedProgram, name: str) -> bool:
    """Tell whether a relation has no declaration, as that of a query's own rule."""
    predicate = program.program.predicates.get(name)
    return predicate is not None and predicate.span is None


def _failing(program: AnalysedProgram, rule: Rule, reason: str) -> _Group:
    """Name what an instance of a rule errs with."""
    name = rule.head.predicate
    if _is_query(program, name):
        return (THE_QUERY, reason, "", False, "")
    return (name, f"rule {rule.id}: {reason}", "", False, "")


def _folded_columns(program: AnalysedProgram, name: str) -> dict[int, str]:
    """Give the columns of a predicate that an aggregate gives, each with what it is called."""
    found: dict[int, str] = {}
    for rule in program.program.rules_for(name):
        folded = {one.result: one.function for one in rule.body if isinstance(one, Aggregate)}
        for place, term in enumerate(rule.head.terms):
            if isinstance(term, Variable) and term in folded:
                found[place] = folded[term]
    return found


def _add_groups(
    seen: dict[_Group, dict[str, None]],
    program: AnalysedProgram,
    name: str,
    rows: Iterable[OpenRow],
) -> None:
    """Name the groups whose total nobody knows, so many as can be looked at."""
    folded, predicate = _folded_columns(program, name), program.program.predicates[name]
    for row in islice(rows, _MOST_GROUPS):
        opened = [place for place, cell in enumerate(row) if cell is OPEN]
        if opened and all(place in folded for place in opened) and len(opened) < len(row):
            words = " and ".join(f"the {folded[place]} of this group" for place in opened)
            called, goal = name, print_wanted(predicate, row)
            if _is_query(program, name):
                cells = zip(predicate.columns, row, strict=True)
                told = (
                    f"?{one.name} = {display_value(cell, one.kind)}"
                    for one, cell in cells
                    if cell is not OPEN
                )
                called, goal = THE_QUERY, ", ".join(told)
            group = (called, f"{words} is not known", "", False, "")
            seen.setdefault(group, {}).setdefault(goal)


def _instances(results: Results, relation: str, erring: Erring) -> Iterator[tuple[str, str]]:
    """Yield the instances that err, as bindings, each with the reason."""
    columns = results.plan.program.program.predicates[relation].columns
    places = {column.name: place for place, column in enumerate(columns)}
    for batch in results.database.rows(relation):
        for row in sorted(batch):
            values = tuple([row[places[name]] for name in erring.site.variables])
            shown = zip(columns, row, strict=True)
            told = [f"?{one.name} = {display_value(value, one.kind)}" for one, value in shown]
            yield ", ".join(told), erring.rows[values]


def _gaps_of(
    calls: Iterable[Call], atoms: Mapping[str, Sequence[Atom]]
) -> dict[_Group, dict[str, None]]:
    """Group what calls left open; of null cells those that one of these atoms reads."""
    seen: dict[_Group, dict[str, None]] = {}
    for call in calls:
        predicate = call.demand.predicate
        for group, row in _gaps(call, atoms.get(predicate.name, ())):
            seen.setdefault(group, {}).setdefault(print_wanted(predicate, row))
    return seen


def _counted(seen: dict[_Group, dict[str, None]]) -> list[OpenReason]:
    return [
        OpenReason(predicate, reason, tier, len(goals), first, null, edit, tuple(others))
        for (predicate, reason, tier, null, edit), goals in seen.items()
        for first, *others in [tuple(islice(goals, _MOST_GOALS))]
    ]


def _sorted(found: list[OpenReason]) -> tuple[OpenReason, ...]:
    return tuple(sorted(found, key=lambda one: (-one.count, one.predicate, one.reason)))


def _gaps(call: Call, atoms: Sequence[Atom]) -> Iterator[tuple[_Group, OpenRow]]:
    predicate = call.demand.predicate
    told = set()
    for opening in call.answer.openings:
        if opening.assumption is None:
            told.add(opening.row)
            edit = mending(predicate) if is_contested(opening.reason) else ""
            if opening.reason.endswith(NO_SOURCE):
                edit = edit_of(predicate, opening.row, opening.reason)
            yield (predicate.name, opening.reason, opening.tier, False, edit), opening.row
    if (OPEN,) * predicate.arity in told:
        return  # that is told of every key
    yield from _nulls(call, atoms)
    for key in call.demand.keys:
        row = _pattern(predicate, dict(zip(call.demand.columns, key, strict=True)))
        if key not in call.answer.answered and row not in told:
            yield (predicate.name, "no tier answered", "", False, ""), row


def _nulls(call: Call, atoms: Sequence[Atom]) -> Iterator[tuple[_Group, OpenRow]]:
    """Yield the certain rows of which a cell that is read may hold a value that nobody knows."""
    predicate = call.demand.predicate
    if not {NullPolicy.MAYBE, NullPolicy.UNKNOWN} & {*null_policies(predicate)}:
        return
    for portion in call.answer.portions:
        for row in portion.rows if portion.assumption is None else ():
            missing = unknown_columns(row, atoms)
            if missing:
                names = ", ".join(predicate.columns[column].name for column in missing)
                reason = f"{names} is NULL in {portion.evidence.source}"
                null = {cell.column for cell in null_cells(row)}
                known = tuple(OPEN if n in null else one for n, one in enumerate(row))
                read = tuple(OPEN if n in missing else 0 for n in range(predicate.arity))
                edit = edit_of(predicate, read, reason)
                yield (predicate.name, reason, portion.evidence.tier, True, edit), known


def _pattern(predicate: Predicate, known: dict[int, object]) -> OpenRow:
    return tuple(known.get(place, OPEN) for place in range(predicate.arity))  # type: ignore[misc]
