"""Recording what sources said, and proving goals as of a time from that."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.evaluation import Answer, Opening, Origin, Portion, Verdict
from constat.frozen import frozen
from constat.logic import OPEN, NullPolicy, null_policies
from constat.logic.structures import types_form
from constat.proof import decide
from constat.session.result import result_of
from constat.store.answers import AnswerStore, AnswerStoreError
from constat.store.clock import now
from constat.store.facts import FactsAt
from constat.store.materialized import FreshRecord, RecordStore
from constat.tiers.cache import answer_text, key_text, read_answer, scopes
from constat.tiers.cache_age import age_allowed, seconds_of
from constat.tiers.tier import filled_in, key_of, openings_for, rows_for
from constat.tiers.user import USER, UserFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Call, Demand, Evidence, Externals, Observer
    from constat.logic import Atom, OpenRow, Predicate, Row
    from constat.project import Project
    from constat.proof import Decision
    from constat.proof.levels import Ranking
    from constat.proof.sentences import Speech
    from constat.session.parts import SessionParts
    from constat.session.result import Result
    from constat.store.materialized import Recorded

# The future is refused, since nothing is recorded of it; a time without a zone is UTC.

_FORMS = "write a date such as `2026-11-21`, or a time such as `2026-11-21T10:30:00Z`"


def parse_moment(text: str) -> str:
    """Read a time. Raises `ConstatError` for what is none, and for the future."""
    try:
        # A date means its start.
        found = datetime.fromisoformat(text.strip())
        moment = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
        spelled = f"{moment.year:04}" + moment.strftime("-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError):
        shown = text[:60]
        message = f"`{shown}` is no time"
        raise ConstatError([Diagnostic("C0723", message, help=_FORMS)]) from None
    present = now()
    if spelled > present:
        message = f"{spelled} lies in the future"
        note = f"it is {present} now, and nothing is recorded of what comes"
        raise ConstatError([Diagnostic("C0724", message, note=note, help=_FORMS)])
    return spelled


# An answer counts from when it was fetched until it was as old as its `max_age` allows, and only
# while the source and the configuration it came from are those of today.

AnswerOfKey = tuple["Answer", tuple[int, ...]]
"""An answer, and the columns that its keys bind."""

_SETTLED: Final = 0


class CachedAt:
    """The kept answers about one predicate at a time; none where the file cannot be used."""

    def __init__(self, predicate: Predicate, project: Project, moment: str) -> None:
        self._predicate = predicate
        self._project = project
        self._store = AnswerStore(project.state)
        self._moment = seconds_of(moment) or 0.0

    def answers(self, columns: tuple[int, ...], keys: list[Row]) -> dict[Row, AnswerOfKey]:
        """Give the answers about keys, each the last that had been fetched."""
        try:
            with closing(self._store):
                names = scopes(self._store, self._predicate, self._project)
                scope = names[_SETTLED] if names else ""
                return self._answers(scope, columns, keys) if scope else {}
        except AnswerStoreError:
            # The cache is a copy: what is wrong with it costs what only it has.
            return {}

    def _answers(
        self, scope: str, columns: tuple[int, ...], keys: list[Row]
    ) -> dict[Row, AnswerOfKey]:
        found: dict[Row, tuple[float, AnswerOfKey]] = {}
        for pattern in self._store.patterns(scope):
            places = tuple(int(place) for place in pattern.split(",") if place)
            if not set(places) <= set(columns):
                continue
            kinds = [self._predicate.kinds[place] for place in places]
            narrow = {key: tuple(key[columns.index(place)] for place in places) for key in keys}
            texts = list(dict.fromkeys(key_text(one, kinds) for one in narrow.values()))
            for stored in self._store.at(scope, pattern, texts, self._moment):
                answer = self._read(stored.body, places) if stored.whole else None
                for key, one in narrow.items():
                    latest = found[key][0] if key in found else -1.0
                    if answer and one in answer.answered and stored.fetched_at > latest:
                        found[key] = stored.fetched_at, (answer, places)
        return {key: told for key, (_, told) in found.items()}

    def _read(self, body: str, places: tuple[int, ...]) -> Answer | None:
        try:
            return read_answer(body, self._predicate, places)
        except ValueError:
            return None


RECORD: Final = "record"
_NOBODY_ABOVE: Final = "it is not recorded whether a source says otherwise"
_TRUE: Final = "true"
# Keeping a proof may not take longer than finding it: whoever wants more says so.
_MOST_ROWS: Final = 100_000


def is_recorded(predicate: Predicate, project: Project) -> bool:
    """Tell whether answers about a predicate are recorded whenever it is asked about."""
    source = predicate.source
    wish = source.parameters.get(RECORD) if source else None
    if wish is not None:
        return wish == _TRUE
    return project.record.covers(source.name if source and source.name else "config")


def record(project: Project, calls: Iterable[Call], moment: str, *, every: bool = False) -> int:
    """Record what was answered; without `every` only for what the project records.

    With `every` answers that are not too large as well. Gives how many answers are new. Raises
    `AnswerStoreError` where the record cannot be written.
    """
    fresh = [
        one
        for call in calls
        if is_recorded(call.demand.predicate, project) or (every and _is_small(call))
        for one in _fresh(call)
    ]
    return RecordStore(project.state).add(fresh, moment, _oldest(project.record.days, moment))


def _is_small(call: Call) -> bool:
    return sum(len(portion.rows) for portion in call.answer.portions) <= _MOST_ROWS


def _oldest(days: int | None, moment: str) -> str:
    """Give the time before which records leave."""
    if days is None:
        return ""
    then = datetime.fromisoformat(moment).astimezone(UTC) - timedelta(days=days)
    return then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _fresh(call: Call) -> Iterator[FreshRecord]:
    demand = call.demand
    answer = _without_people(call.answer, demand.predicate)
    predicate = demand.predicate
    nested = any(portion.evidence.proved is not None for portion in answer.portions)
    told = answer.portions or demand.columns
    if nested or (not told and any(one.row_count for one in answer.authorities)):
        # Certificates are kept by themselves; a relation that never became values is not here.
        return
    kinds = [predicate.kinds[column] for column in demand.columns]
    yield FreshRecord(
        predicate=predicate.name,
        shape=_shape(predicate),
        pattern=",".join(map(str, demand.columns)),
        source=predicate.source.name if predicate.source else "",
        keys={key_text(key, kinds): key in answer.answered for key in demand.keys},
        rows=sum(len(portion.rows) for portion in answer.portions),
        content=_content(answer, demand),
        body=answer_text(answer, predicate, demand.columns),
    )


def _without_people(answer: Answer, predicate: Predicate) -> Answer:
    """Leave out what people stated; what their word fills is open without it."""
    filling = filled_in(predicate)
    return replace(
        answer,
        portions=tuple(
            one for one in answer.portions if one.evidence.origin is not Origin.USER_PROVIDED
        ),
        openings=tuple(
            replace(one, assumption=None)
            if one.filled is not None or one.assumption == filling
            else one
            for one in answer.openings
            if one.tier != USER
        ),
    )


def _content(answer: Answer, demand: Demand) -> str:
    """Hash what an answer says, without when it was fetched and from which state."""
    timeless = {id(one): replace(one, executed_at="", snapshot=None) for one in _evidence(answer)}
    bare = replace(
        answer,
        portions=tuple(
            replace(one, evidence=timeless[id(one.evidence)]) for one in answer.portions
        ),
        authorities=tuple(timeless[id(one)] for one in answer.authorities),
    )
    document = json.loads(answer_text(bare, demand.predicate, demand.columns))
    document["answered"].sort()
    text = json.dumps(document, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _evidence(answer: Answer) -> Iterator[Evidence]:
    yield from (portion.evidence for portion in answer.portions)
    yield from answer.authorities


def _shape(predicate: Predicate) -> str:
    """Name the declaration that recorded texts fit."""
    kinds = ",".join(kind.value for kind in predicate.kinds)
    types = types_form(predicate.columns)
    told = f"{kinds};{json.dumps(types)}" if types else kinds
    # A cell that nobody read is no empty one: without these columns it is another declaration.
    policies = null_policies(predicate)
    unread = [n for n, policy in enumerate(policies) if policy is NullPolicy.UNREAD]
    return f"{told};unread={unread}" if unread else told


class AsOf:
    """One predicate as it was recorded at a time; `cost` is that of its sources.

    So a plan is what it was, and asks for what was asked for then.
    """

    def __init__(
        self,
        predicate: Predicate,
        store: RecordStore,
        people: UserFacts,
        moment: str,
        *,
        cost: int,
        kept: CachedAt | None,
    ) -> None:
        self.cost = cost
        self._kept = kept
        self._predicate = predicate
        self._store = store
        self._people = people
        self._moment = moment
        self._patterns = store.patterns(predicate.name, _shape(predicate))
        self.damaged = False

    def answer(self, demand: Demand) -> Answer:
        """Answer what the record answers."""
        recorded = self._recorded(demand.columns, demand.keys)
        stated = self._people.answer(demand)
        if not stated.portions and not stated.openings:
            return recorded
        portions, openings = list(recorded.portions), list(recorded.openings)
        openings += stated.openings
        for portion in stated.portions:
            self._state(portion, demand, recorded, portions, openings)
        return replace(recorded, portions=tuple(portions), openings=tuple(dict.fromkeys(openings)))

    def _recorded(self, columns: tuple[int, ...], keys: tuple[Row, ...]) -> Answer:
        """Give what is recorded about keys, or was kept for them; the others are open."""
        told = self._told(columns, keys)
        portions: list[Portion] = []
        openings = {self._unknown(columns, key): None for key in keys if key not in told}
        answered: set[Row] = set()
        authorities: dict[int, Evidence] = {}
        by_answer: dict[int, list[Row]] = {}
        for key, (answer, _) in told.items():
            by_answer.setdefault(id(answer), []).append(key)
        for wanted in by_answer.values():
            answer, places = told[wanted[0]]
            for portion in answer.portions:
                rows = rows_for(portion.rows, columns, wanted)
                portions += [replace(portion, rows=rows)] if rows else []
            openings.update(dict.fromkeys(openings_for(answer.openings, columns, set(wanted))))
            complete = [k for k in wanted if _narrowed(k, columns, places) in answer.answered]
            answered.update(complete)
            if complete:
                authorities.update((id(one), one) for one in answer.authorities)
        return Answer(
            tuple(portions), tuple(openings), frozenset(answered), tuple(authorities.values())
        )

    def _told(self, columns: tuple[int, ...], keys: tuple[Row, ...]) -> dict[Row, AnswerOfKey]:
        """Give for each key the answer that speaks of it, in the order of the keys."""
        last = self._last(columns, keys)
        read = {one.id: self._read(one) for one in last.values()}
        found: dict[Row, AnswerOfKey] = {}
        for key, one in last.items():
            told = read[one.id]
            if told is not None:
                found[key] = told
        missing = [key for key in keys if key not in found]
        if missing and self._kept is not None:
            found.update(self._kept.answers(columns, missing))
        return {key: found[key] for key in keys if key in found}

    def _last(self, columns: tuple[int, ...], keys: tuple[Row, ...]) -> Mapping[Row, Recorded]:
        """Give for each key the last answer that speaks of it, or of a wider pattern."""
        found: dict[Row, Recorded] = {}
        for pattern in self._patterns:
            places = _columns(pattern)
            if not set(places) <= set(columns):
                continue
            kinds = [self._predicate.kinds[place] for place in places]
            texts = {key: key_text(_narrowed(key, columns, places), kinds) for key in keys}
            place = (self._predicate.name, _shape(self._predicate), pattern)
            told = self._store.find(place, list(dict.fromkeys(texts.values())), self._moment)
            for key, text in texts.items():
                one, before = told.get(text), found.get(key)
                if one is not None and (before is None or _better(one, before)):
                    found[key] = one
        return found

    def _read(self, one: Recorded) -> AnswerOfKey | None:
        places = _columns(one.pattern)
        if one.whole:
            try:
                return read_answer(one.body, self._predicate, places), places
            except ValueError:
                pass
        self.damaged = True
        return None

    def _unknown(self, columns: tuple[int, ...], key: Row) -> Opening:
        bound = dict(zip(columns, key, strict=True))
        row: OpenRow = tuple(bound.get(place, OPEN) for place in range(self._predicate.arity))
        return Opening(row, f"not recorded at {self._moment}", RECORD)

    def _state(
        self,
        portion: Portion,
        demand: Demand,
        recorded: Answer,
        portions: list[Portion],
        openings: list[Opening],
    ) -> None:
        """Add what a person stated, unless somebody above says something for its key."""
        key = self._predicate.key
        if not key:
            portions.append(portion)
            return
        for row in portion.rows:
            above = recorded
            value = key_of(row, key)
            bound: Row = key_of(row, demand.columns)
            if not set(key) <= set(demand.columns):
                above, bound = self._recorded(key, (value,)), value
            if any(key_of(one, key) == value for told in above.portions for one in told.rows):
                continue
            if bound in above.answered and not any(
                opening.assumption is None for opening in openings_for(above.openings, key, {value})
            ):
                portions.append(replace(portion, rows=(row,)))
            else:
                openings.append(Opening(row, _NOBODY_ABOVE, RECORD))


def as_of_externals(
    project: Project, analysed: AnalysedProgram, moment: str, live: Externals
) -> dict[str, AsOf]:
    """Give the external predicates of a project as they were recorded at a time.

    `live` are those of the present, which are not asked.
    """
    store = RecordStore(project.state)
    people = UserFacts(FactsAt(project.state, moment))
    predicates = analysed.program.predicates
    return {
        name: AsOf(
            predicates[name],
            store,
            people,
            moment,
            cost=live[name].cost,
            kept=CachedAt(predicates[name], project, moment)
            if age_allowed(predicates[name])
            else None,
        )
        for name in sorted(analysed.external)
        if name in predicates
    }


def _columns(pattern: str) -> tuple[int, ...]:
    return tuple(int(place) for place in pattern.split(",") if place)


def _narrowed(key: Row, columns: tuple[int, ...], places: tuple[int, ...]) -> Row:
    return tuple(key[columns.index(place)] for place in places)


def _better(one: Recorded, other: Recorded) -> bool:
    """Tell whether an answer counts before another: complete, later, about a narrower pattern."""
    return _rank(one) > _rank(other)


def _rank(one: Recorded) -> tuple[bool, str, int, int]:
    return one.answered, one.recorded_at, len(one.pattern), one.id


_TROUBLE = "C0726"


def decide_as_of(  # noqa: PLR0913  what a decision takes, handed through
    parts: SessionParts,
    goal: Atom,
    time: str,
    *,
    exhaust: bool,
    ranking: Ranking | None,
    speech: Speech,
    observe: Observer | None,
) -> tuple[Result, tuple[Diagnostic, ...]]:
    """Decide a goal from the record; also gives what was wrong with it.

    Raises `ConstatError` for a time that is none, and where the record cannot be read.
    """
    moment = parse_moment(time)
    created = now()
    limits = parts.limits.begun()
    # Answers are recorded as they were read: whole, or without the columns that the goal lets be.
    program, least = parts.program, parts.reading_least(parts.program, goal)
    try:
        # The sources of the present are at hand for what they cost, and are not asked.
        with parts.evaluating(observe) as tiers:

            def decided(asked: AnalysedProgram) -> tuple[Decision, dict[str, AsOf]]:
                found = as_of_externals(parts.project, asked, moment, tiers.externals)
                wish = (parts.engine, asked, goal, found, limits)
                told = {"exhaust": exhaust, "ranking": ranking, "observe": parts.observe}
                return decide(*wish, **told), found  # type: ignore[arg-type]  # each by its name

            decision, externals = decided(program)
            if decision.verdict is Verdict.UNRESOLVED and least is not program and limits.left:
                program = least
                decision, externals = decided(program)
    except AnswerStoreError as problem:
        hint = f"`{parts.project.state}` holds it; a damaged file may be moved away"
        message = f"the record cannot be read: {problem}"
        raise ConstatError([Diagnostic(_TROUBLE, message, help=hint)]) from problem
    damaged = sorted(name for name, one in externals.items() if one.damaged)
    troubles = tuple(
        _warning(f"a recorded answer about {name} is not what was written; it is not used")
        for name in damaged
    )
    result = result_of(decision, program, created, speech)
    return result.altered(as_of=moment), troubles


def record_result(parts: SessionParts, result: Result, *, every: bool) -> tuple[Diagnostic, ...]:
    """Record what a result was made from; gives what was wrong, which changes no verdict."""
    try:
        record(parts.project, result.calls, now(), every=every)
    except AnswerStoreError as problem:
        return (_warning(f"what was answered could not be recorded: {problem}"),)
    return ()


def _warning(message: str) -> Diagnostic:
    return Diagnostic(_TROUBLE, message, severity=Severity.WARNING)


# Looking changes nothing; only answers leave, stated facts are never touched.


@frozen
class RecordedAnswer:
    """An answer in the record: about how many keys of which columns, and when it was recorded."""

    predicate: str
    bound: tuple[str, ...]
    keys: int
    rows: int
    source: str
    recorded_at: str
    size: int


class RecordedAnswers:
    """The record of one project."""

    def __init__(self, project: Project, program: AnalysedProgram) -> None:
        self._store = RecordStore(project.state)
        self._predicates = program.program.predicates

    def list(self, predicate: str | None = None) -> tuple[RecordedAnswer, ...]:
        """Give what is recorded, by predicate and time. Raises `ConstatError`."""
        with _complaints():
            found = self._store.list(predicate)
        return tuple(
            RecordedAnswer(
                one.predicate,
                self._names(one.predicate, one.pattern),
                *(one.keys, one.rows, one.source, one.recorded_at, one.size),
            )
            for one in found
        )

    def forget(self, before: str, predicate: str | None = None) -> int:
        """Remove what was recorded before a time; gives how many answers. Raises `ConstatError`."""
        moment = parse_moment(before)
        with _complaints():
            return self._store.forget(moment, predicate)

    def _names(self, name: str, pattern: str) -> tuple[str, ...]:
        declared = self._predicates.get(name)
        columns = () if declared is None else declared.columns
        places = [place for place in pattern.split(",") if place]
        return tuple(
            columns[int(place)].name if int(place) < len(columns) else place for place in places
        )


@contextmanager
def _complaints() -> Iterator[None]:
    try:
        yield
    except AnswerStoreError as problem:
        hint = "the file `recorded.sqlite` of the state folder holds it"
        message = f"the record cannot be used: {problem}"
        raise ConstatError([Diagnostic("C0726", message, help=hint)]) from problem
