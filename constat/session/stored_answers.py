"""Answers that are cached, and results that are materialized in indexed files."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

from constat.diagnostics import ConstatError, Diagnostic
from constat.engine import told_apart
from constat.evaluation import Verdict
from constat.frozen import frozen
from constat.logic import (
    Atom,
    Constant,
    NullCell,
    Variable,
    has_null_cells,
    is_of_type,
    row_order,
)
from constat.logic.structures import types_form
from constat.plan.compilation import predicates_of, rules_by_head
from constat.proof.projection import reading_least
from constat.recount import Recount, State
from constat.session.answers import DIFFERENT, Answers, OpenReason, Settled
from constat.session.asked_goals import read_query
from constat.session.options import BulkOptions
from constat.session.querying import answer_columns, compile_query, narrowed, row_goals
from constat.session.rows import StoredRows
from constat.session.spelling import shown_goal
from constat.store.answers import AnswerStore, AnswerStoreError
from constat.store.clock import now
from constat.store.materialized import PASSED, KeptResult, MaterializedStore, ReplacedError
from constat.syntax import print_rule
from constat.tiers import Chain
from constat.tiers.cache import concerns, scopes
from constat.tiers.declarations import reads_by_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Limits, Observer
    from constat.logic import OpenRow, Predicate, Row, Value
    from constat.project import Project
    from constat.session.checking import Checking, Checks
    from constat.session.current import Watch
    from constat.session.parts import Evaluated
    from constat.session.querying import Compiled
    from constat.store.answers import Stored
    from constat.tiers import Tiers

# Looking changes nothing; clearing costs questions and never a fact, for stated facts are in
# another file.


@frozen
class KeptAnswer:
    """One kept answer: for which bound columns, how many keys and rows, how old (seconds).

    Not `current` where the declaration or the configuration has changed: it is not served.
    """

    predicate: str
    bound: tuple[str, ...]
    keys: int
    rows: int
    source: str
    fetched_at: str
    age: int
    expires_in: int
    served: int
    size: int
    current: bool


@frozen
class KeptOfPredicate:
    """What is kept of one predicate, and how many keys were served and were not."""

    predicate: str
    entries: int
    rows: int
    size: int
    hits: int
    misses: int


@frozen
class Cleared:
    """How many answers were removed; `file` where the damaged file itself was."""

    answers: int
    file: bool = False


class KeptAnswers:
    """The kept answers of one project. The file is opened for each question to it."""

    def __init__(
        self, project: Callable[[], Project], program: Callable[[], AnalysedProgram]
    ) -> None:
        self._project = project
        self._program = program

    def list(self, predicate: str | None = None) -> tuple[KeptAnswer, ...]:
        """Give what is kept, of a predicate or all."""
        predicates = self._program().program.predicates
        current: dict[str, frozenset[str]] = {}
        with self._opened() as store:
            found = store.list(predicate)
            for name in {one.predicate for one in found} & predicates.keys():
                current[name] = frozenset(scopes(store, predicates[name], self._project()))
        now = time.time()
        return tuple(
            _shown(one, predicates.get(one.predicate), now, current.get(one.predicate, frozenset()))
            for one in found
        )

    def statistics(self) -> tuple[KeptOfPredicate, ...]:
        """Give the figures of each predicate."""
        with self._opened() as store:
            found, counts = store.list(), {one.predicate: one for one in store.counts()}
        names = sorted({one.predicate for one in found} | counts.keys())
        figures = []
        for name in names:
            own = [one for one in found if one.predicate == name]
            told = counts.get(name)
            figures.append(
                KeptOfPredicate(
                    name,
                    len(own),
                    sum(one.rows for one in own),
                    sum(one.size for one in own),
                    0 if told is None else told.hits,
                    0 if told is None else told.misses,
                )
            )
        return tuple(figures)

    def clear(
        self,
        predicate: str | None = None,
        *,
        older_than: float | None = None,
        expired: bool = False,
    ) -> Cleared:
        """Remove answers that fit every condition; `older_than` is in seconds.

        Without conditions a damaged file is removed, so that a new one can be begun.
        """
        everything = predicate is None and older_than is None and not expired
        store = AnswerStore(self._project().state)
        try:
            with closing(store):
                count = store.clear(predicate, older_than=older_than, expired=expired)
                return Cleared(count)
        except AnswerStoreError as problem:
            if not everything or not problem.damaged:
                raise _complaint(problem) from problem
        return self._removed(store)

    @staticmethod
    def _removed(store: AnswerStore) -> Cleared:
        try:
            store.remove()
        except AnswerStoreError as problem:
            raise _complaint(problem) from problem
        return Cleared(0, file=True)

    @contextmanager
    def _opened(self) -> Iterator[AnswerStore]:
        with closing(AnswerStore(self._project().state)) as store:
            try:
                yield store
            except AnswerStoreError as problem:
                raise _complaint(problem) from problem


def _shown(
    one: Stored, predicate: Predicate | None, now: float, current: frozenset[str]
) -> KeptAnswer:
    places = [place for place in one.pattern.split(",") if place]
    names = [] if predicate is None else [column.name for column in predicate.columns]
    bound = tuple(names[int(p)] if p.isdigit() and int(p) < len(names) else p for p in places)
    age = max(0.0, now - one.fetched_at)
    return KeptAnswer(
        predicate=one.predicate,
        bound=bound,
        keys=one.keys,
        rows=one.rows,
        source=one.source,
        fetched_at=_moment(one.fetched_at),
        age=int(age),
        expires_in=int(max(0.0, one.max_age - age)),
        served=one.served,
        size=one.size,
        current=one.scope in current,
    )


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError, OSError):
        return ""


def _complaint(problem: AnswerStoreError) -> ConstatError:
    hint = "`constat cache clear` begins a new file" if problem.damaged else ""
    message = f"the file of kept answers: {problem}"
    note = "answers are asked for again; stated facts are in another file"
    return ConstatError([Diagnostic("C0561", message, note=note, help=hint)])


_FORMAT: Final = 1
# A kept result that another takes the place of while it is read is looked for again.
_ATTEMPTS: Final = 3


@frozen
class Surroundings:
    """What of a session is needed: its project and program, and how it evaluates."""

    project: Project
    program: AnalysedProgram
    limits: Limits
    evaluating: Callable[[Observer | None], AbstractContextManager[Tiers]]
    evaluated: Evaluated
    observe: Observer


@frozen
class Materialized:
    """A kept result, and why it may not be used; empty where it may.

    `snapshot` is that of the answers (see `Answers`) where they have just been computed, `checking`
    the check that goes on then.
    """

    result: KeptResult
    stale: str
    snapshot: str | None = None
    checking: Checking | None = None


class MaterializedResults:
    """The kept results of a project."""

    def __init__(self, surroundings: Surroundings, checks: Checks) -> None:
        self._checks = checks
        self._around = surroundings
        self._store = MaterializedStore(surroundings.project.state)

    def keep(
        self, query: str, *, check: str | None = None, observe: Observer | None = None
    ) -> Materialized:
        """Compute the answers of a query, or all rows of a predicate, and keep them.

        `check` is as with `Session.query`; a check that goes on is waited for by `checked`. Raises
        `ConstatError` where the answers are not settled for certain, where the check says that they
        are others, or a source has no state with a name.
        """
        # A point query starts without what computes.
        from constat.session.bulk import BulkQuery, answer_in_bulk  # noqa: PLC0415  loaded when it is used

        compiled = self._compiled(query)
        wanted = self._around.project.check if check is None else check
        created, project = now(), self._around.project
        least = reading_least(
            compiled.program, compiled.goal, lambda one: reads_by_column(one, project)
        )

        def kept(tiers: Tiers) -> tuple[Answers, KeptResult | None]:
            states = _states(compiled, tiers)
            whole = BulkOptions(wanted, checks=self._checks)
            asked = BulkQuery(compiled, tiers.externals, self._around.limits, created, whole, least)
            answers: Answers = answer_in_bulk(asked, self._around.observe)
            if answers.recount is not None and answers.recount.differs:
                raise ConstatError(
                    [_differing(answers.query, answers.recount)], exit_code=DIFFERENT
                )
            if answers.settled is not Settled.FOR_CERTAIN:
                return answers, None
            columns = tuple((one.name, one.kind) for one in answers.columns)
            version = self._version(compiled)
            told = "" if answers.recount is None else _said(answers.recount)
            about = KeptResult(
                *(_name(compiled), columns, 0, created, version, states, told),
                labels=_holds_unknown(answers.sure),
            )
            return answers, self._store.keep(about, answers.sure)

        answers, result = self._around.evaluated(observe, kept)
        if result is None:
            raise ConstatError([_not_settled(answers)])
        return Materialized(result, "", answers.snapshot, answers.checking)

    def keep_current(self, query: str, watch: Callable[[str], Watch]) -> tuple[Materialized, str]:
        """Keep the answers of a query, following what has changed since they were kept like this.

        Also says why everything was computed as a whole; empty where it was not. Raises
        `ConstatError` as `keep` does.
        """
        compiled = self._compiled(query)
        created = now()
        with watch(compiled.query.text) as watched:
            (told,) = watched.goals()
            states = tuple(
                (name, watched.states().get(name, ""))
                for name in sorted(_below(compiled) & compiled.program.external)
            )
            unnamed = [name for name, state in states if not state]
            if told.why or unnamed:
                why = told.why or f"nobody can tell when the rows of `{unnamed[0]}` change"
                return self.keep(query), why
            ((_, found),) = watched.check()
            if found.differs:
                raise ConstatError([_differing(query, found)], exit_code=DIFFERENT)
            rows = watched.answers(told.query)
            columns = tuple((one.name, one.kind) for one in answer_columns(compiled))
            about = KeptResult(
                *(_name(compiled), columns, 0, created, self._version(compiled), states),
                _said(found),
            )
            return Materialized(self._store.keep(about, rows), ""), ""

    def checked(self, kept: Materialized) -> Materialized:
        """Wait for the check of what was just kept, and keep what became of it.

        Gives what is kept by now, where another process has kept it again meanwhile. Raises
        `ConstatError`, and forgets the result, where the answers are others.
        """
        found = None if kept.checking is None else kept.checking.wait()
        if found is None:
            return kept
        if found.differs:
            self._store.drop(kept.result.query)
            raise ConstatError([_differing(kept.result.query, found)], exit_code=DIFFERENT)
        try:
            judged = self._store.judge(kept.result, _said(found))
        except ReplacedError:
            # What another process has kept meanwhile says of itself whether it is proved.
            judged = self._store.find(kept.result.query) or kept.result
        return replace(kept, result=judged, checking=None)

    def list(self) -> tuple[Materialized, ...]:
        """Give what is kept, and whether it may be used now."""
        found = []
        for result in self._store.list():
            try:
                compiled = self._compiled(result.query)
            except ConstatError:
                found.append(Materialized(result, "the rules have no such query any more"))
                continue
            with self._around.evaluating(None) as tiers:
                found.append(Materialized(result, self._stale(result, compiled, tiers)))
        return tuple(found)

    def drop(self, query: str) -> bool:
        """Forget a result; tells whether there was one."""
        try:
            name = _name(self._compiled(query))
        except ConstatError:
            # The rules may have changed since; the name is then what was listed.
            name = query
        return self._store.drop(name)

    def query(self, query: str) -> Answers:
        """Answer a query from what is kept.

        Raises `ConstatError` where nothing is kept for it, or what is kept may be out of date.
        """
        compiled = self._compiled(query)
        for _ in range(_ATTEMPTS):
            with suppress(ReplacedError):
                return self._served(compiled)
        return self._served(compiled)

    def _served(self, compiled: Compiled) -> Answers:
        serving = self._serving(compiled)
        with self._around.evaluating(None) as tiers:
            stale = [self._stale(result, compiled, tiers) for result, _ in serving]
        if all(stale):
            raise ConstatError([_out_of_date(serving[0][0], stale[0])])
        result, whole = serving[stale.index("")]
        bound, places = _bound(compiled, whole=whole)
        found = _of_types(self._store.rows(result, bound), compiled, whole=whole)
        if not whole:
            return _answers(compiled, result, dict.fromkeys(found, True))
        rows: dict[Row, bool] = {}
        for row in found:
            matched = _matched(compiled.goal, row)
            if matched is not None:
                shown = cast("Row", tuple([matched[0][n] for n in places]))
                rows[shown] = matched[1] or rows.get(shown, False)
        return _answers(compiled, result, rows)

    def _serving(self, compiled: Compiled) -> tuple[tuple[KeptResult, bool], ...]:
        """Give the result of this very query, then the whole relation of its atom."""
        named = self._store.find(_name(compiled))
        whole = None if compiled.query.goal is None else self._store.find(_free_name(compiled))
        if named is None and whole is None:
            raise ConstatError([_nothing_kept(compiled)])
        kept = ((named, False), (None if whole == named else whole, True))
        return tuple((one, is_whole) for one, is_whole in kept if one is not None)

    def _compiled(self, query: str) -> Compiled:
        program = self._around.program
        declared = program.program.predicates.get(query.strip())
        if declared is not None:
            query = f"{declared.name}({', '.join(f'?{one.name}' for one in declared.columns)})"
        return compile_query(read_query(query, program), program)

    def _stale(self, result: KeptResult, compiled: Compiled, tiers: Tiers) -> str:
        """Say why a result may be out of date; nothing where it is not."""
        if result.version != self._version(compiled):
            return "rules or configuration have changed"
        try:
            present = dict(_states(compiled, tiers))
        except ConstatError as problem:
            return problem.diagnostics[0].message
        changed = [name for name, state in result.states if present.get(name) != state]
        if changed or len(present) != len(result.states):
            return f"what is behind {', '.join(changed) or 'it'} has changed"
        return ""

    def _version(self, compiled: Compiled) -> str:
        """Name the rules below a query, and the configuration as far as their rows depend on it."""
        analysed = compiled.program
        below = _below(compiled)
        heads = rules_by_head(analysed)
        numbers = sorted(number for name in below for number in heads.get(name, ()))
        predicates = analysed.program.predicates
        told: list[object] = [
            _FORMAT,
            [print_rule(analysed.rules[number]) for number in numbers],
            [
                concerns(predicates[name], self._around.project, "materialized")
                for name in sorted(below & analysed.external)
            ],
        ]
        types = types_form([one for name in sorted(below) for one in predicates[name].columns])
        told += [types] if types else []
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _of_types(rows: Iterable[Row], compiled: Compiled, *, whole: bool) -> Iterator[Row]:
    """Yield rows; raises `ConstatError` at a structure that is none of its column's type."""
    declared = compiled.program.program.predicates[compiled.goal.predicate].columns
    columns = declared if whole else tuple(declared[place] for place in compiled.places)
    if all(one.structures is None for one in columns):
        yield from rows
        return
    for row in rows:
        values = zip(row, columns, strict=True)
        if not all(isinstance(cell, NullCell) or is_of_type(cell, one) for cell, one in values):
            raise ConstatError([_not_ours()])
        yield row


def _below(compiled: Compiled) -> set[str]:
    heads = rules_by_head(compiled.program)
    found: set[str] = set()
    waiting = [compiled.goal.predicate]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for number in heads.get(name, ()):
                for literal in compiled.program.rules[number].body:
                    waiting += predicates_of(literal)
    return found


def _states(compiled: Compiled, tiers: Tiers) -> tuple[tuple[str, str], ...]:
    found = []
    for name in sorted(_below(compiled) & compiled.program.external):
        external = tiers.externals[name]
        state = external.state() if isinstance(external, Chain) else None
        if state is None:
            raise ConstatError([_no_state(name)])
        found.append((name, state))
    return tuple(found)


def _name(compiled: Compiled) -> str:
    """Name a query: an atom by its columns, whatever its variables are called."""
    goal = compiled.query.goal
    return (
        compiled.query.text.rstrip(" .") if goal is None else _materializing_shown(compiled, goal)
    )


def _free_name(compiled: Compiled) -> str:
    columns = compiled.program.program.predicates[compiled.goal.predicate].columns
    return _materializing_shown(
        compiled, Atom(compiled.goal.predicate, tuple(Variable(one.name) for one in columns))
    )


def _materializing_shown(compiled: Compiled, goal: Atom) -> str:
    declared = compiled.program.program.predicates[goal.predicate]
    terms = tuple(
        term if isinstance(term, Constant) else Variable(column.name)
        for term, column in zip(goal.terms, declared.columns, strict=True)
    )
    return shown_goal(declared, Atom(goal.predicate, terms))


def _bound(compiled: Compiled, *, whole: bool) -> tuple[dict[int, Value], tuple[int, ...]]:
    """Give the values to look for in the columns of a result, and the columns to take."""
    if not whole:
        return {}, tuple(range(len(compiled.places)))
    terms = compiled.goal.terms
    bound = {n: term.value for n, term in enumerate(terms) if isinstance(term, Constant)}
    return bound, compiled.places


def _matched(goal: Atom, row: Row) -> tuple[OpenRow, bool] | None:
    """Give what a query asks about of a row, and whether it matches for certain; `None`: it cannot.

    Where a constant meets a label, that label is the constant in all of the row.
    """
    matched = narrowed(goal, row)
    if matched is None or matched[1]:
        return matched
    values: dict[object, Value] = {}
    for term, cell in zip(goal.terms, row, strict=True):
        if not isinstance(term, Constant) or not isinstance(cell, NullCell):
            continue
        if values.setdefault(cell, term.value) != term.value:
            return None
    return tuple([values.get(cell, cell) for cell in matched[0]]), False


def _answers(compiled: Compiled, result: KeptResult, found: Mapping[Row, bool]) -> Answers:
    """Give kept rows, each with whether it is an answer for certain: a label may be a constant."""
    rows = sorted(found, key=row_order if result.labels else None)
    weak = {row: Verdict.UNRESOLVED for row, certain in found.items() if not certain}
    reason = "a row has an unknown value where the query has a constant"
    goal = compiled.query.text
    return Answers(
        query=compiled.query.text,
        columns=answer_columns(compiled),
        settled=Settled.OPEN if weak else Settled.FOR_CERTAIN,
        assumptions=(),
        reasons=(OpenReason(compiled.goal.predicate, reason, "", len(weak), goal, null=True),)
        if weak
        else (),
        open_shapes=0,
        excluded=0,
        calls=(),
        created=result.created,
        stopped="",
        weighed=False,
        sure=rows,
        weak=weak,
        notes={},
        show=row_goals(compiled),
        in_bulk=True,
        fewest=len(told_apart(dict.fromkeys(rows, 1))) if result.labels else None,
        recount=Recount(State.PASSED) if result.check == PASSED else _unchecked(result),
        kept=True,
    )


def _said(found: Recount) -> str:
    return PASSED if found.passed else found.why


def _unchecked(result: KeptResult) -> Recount:
    why = result.check or "nobody has counted it again"
    return Recount(State.NOT_CHECKED, f"when it was kept, {why}")


def _differing(query: str, found: Recount) -> Diagnostic:
    return Diagnostic(
        "C0675",
        f"`{query}` was computed, and counted again from the rules {found.why}",
        note="nothing is kept of it",
        help="`constat query --engine reference` answers goal by goal; report the rules",
    )


def _holds_unknown(rows: Sequence[Row]) -> bool:
    """Tell whether a row has a value that nobody knows; what lies in a database has none."""
    return not isinstance(rows, StoredRows) and any(map(has_null_cells, rows))


def _not_settled(answers: Answers) -> Diagnostic:
    edit = next((one.edit for one in answers.reasons if one.edit), "")
    reason = answers.reasons[0].reason if answers.reasons else "it rests on assumptions"
    return Diagnostic(
        "C0671",
        "the answers are not settled for certain, so nothing is kept",
        note=f"one reason: {reason}",
        help=edit or "`constat query` shows what is known, and what would decide the rest",
    )


def _not_ours() -> Diagnostic:
    return Diagnostic(
        "C0670",
        "a kept result cannot be read: a structure in it is none of its column's type",
        note="what is kept was written by another program, or damaged",
        help="remove the file, and materialize anew",
    )


def _no_state(name: str) -> Diagnostic:
    return Diagnostic(
        "C0672",
        f"nobody can tell when the rows of `{name}` change",
        note="a result is kept only over sources whose state has a name: files, SQLite, DuckDB, "
        "PostgreSQL; a project's own tier has none",
        help="ask by `constat query`, which reads the sources",
    )


def _out_of_date(result: KeptResult, stale: str) -> Diagnostic:
    return Diagnostic(
        "C0673",
        f"the kept result of `{result.query}` is out of date: {stale}",
        note=f"it was computed at {result.created}",
        help=f'compute it anew: `constat materialize "{result.query}"`',
    )


def _nothing_kept(compiled: Compiled) -> Diagnostic:
    wanted = compiled.query.text if compiled.query.goal is None else _free_name(compiled)
    return Diagnostic(
        "C0674",
        "no result is kept that answers this query",
        note="a query is answered by the result of the same query or of its predicate",
        help=f'keep it first: `constat materialize "{wanted}"`',
    )
