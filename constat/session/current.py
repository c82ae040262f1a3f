"""Answers that stay current: goals that are watched, and what of them has changed.

In: goals, and changes: of sources, of what people state, of a file of changes. Out: the
conclusions that came and went, each with the goal that proves it. Invariants: what is told as
changed is the difference between two full evaluations; a goal whose answers cannot be kept current
row by row is asked anew as a whole, and says why. Example: `session.watch(["is_vip(?c)"]).poll()`.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import (
    Answer,
    Demand,
    Evidence,
    Origin,
    Portion,
    RelationPredicate,
    ResourceError,
    Resources,
    Verdict,
)
from constat.forward.inputs import Nulls, View, load_stream, over_views
from constat.forward.results import matches
from constat.frozen import frozen, slotted
from constat.incremental import Fact, Maintained, NotKeptError, StateBusyError, StateFile
from constat.logic import (
    Atom,
    Constant,
    Kind,
    has_null_cells,
    is_of_type,
    null_policies,
    parse_value,
)
from constat.plan.compilation import rules_by_head
from constat.plan.forward import PlanOptions, Relation, Sizes, plan_forward
from constat.plan.forward.demand import reachable
from constat.recount import Claim, Recount, State, recount
from constat.session.asked_goals import read_query
from constat.session.querying import Compiled, compile_query, row_goals
from constat.sql import Database
from constat.store.clock import now
from constat.store.replacing import replaced
from constat.store.state_file import WAIT_SECONDS, lock_within, locked_file
from constat.tiers import Chain

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.incremental import Update
    from constat.logic import Predicate, Row, Value
    from constat.session.answers import Answers
    from constat.tiers import Tiers

FOLDER: Final = "current"
_KINDS: Final = frozenset({"insert", "delete", "update"})
_MOST_ROWS: Final = 1 << 40
_LONGEST: Final = 1 << 20
_UNNAMED: Final = ""


@frozen
class ChangedConclusion:
    """A conclusion that came or went.

    `query` is what is watched, `goal` what `constat prove` proves; `verdict` is that with which the
    conclusion came, or had before it went.
    """

    query: str
    goal: str
    came: bool
    verdict: Verdict

    def told(self) -> dict[str, object]:
        """Give it as an object of JSON, with the command that proves it."""
        return {
            "change": "+" if self.came else "-",
            "query": self.query,
            "goal": self.goal,
            "verdict": self.verdict.value,
            "prove": f"constat prove {shlex.quote(self.goal)}",
        }


@frozen
class Watching:
    """How a goal is watched: `rows` answers now; `why` says why it is asked anew as a whole."""

    query: str
    rows: int
    why: str


@frozen
class Around:
    """What of a session is needed."""

    program: AnalysedProgram
    state: Path
    evaluating: Callable[[], AbstractContextManager[Tiers]]
    ask: Callable[[str], Answers]


@slotted
class _Goal:
    """One goal: kept row by row, or with the verdicts of its rows when it was last asked."""

    compiled: Compiled
    goal: Atom
    relation: str
    kept: Maintained | None = None
    file: StateFile | None = None
    why: str = ""
    verdicts: dict[Row, Verdict] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    """What rules read of inputs with columns that may be null, by the names of inputs of `kept`."""

    def sources(self, kept: Maintained) -> tuple[str, ...]:
        """Name the predicates from outside whose rows are kept."""
        views = self.views
        named = {views[one].base.name if one in views else one for one in kept.inputs}
        return tuple(sorted(named))

    def seen(self, name: str, rows: Sequence[Row]) -> Iterator[tuple[str, Iterable[Row]]]:
        """Give what rules read of the rows of a source, by the inputs of what is kept.

        Raises `NotKeptError` where they read a cell that nobody knows.
        """
        views = {key: view for key, view in self.views.items() if view.base.name == name}
        nulls = [row for row in rows if has_null_cells(row)]
        if not views:
            if nulls:
                raise NotKeptError(f"`{name}` holds unknown values")
            yield name, rows
            return
        whole = [row for row in rows if not has_null_cells(row)] if nulls else rows
        for key, view in views.items():
            sure, weak = Nulls(tuple(nulls)).through(view, whole)
            if weak:
                raise NotKeptError(f"a rule reads values of `{name}` that nobody knows")
            yield key, {*view.whole(whole), *sure}

    def told(self, fact: Fact) -> Iterator[Fact]:
        """Give a change of a source as changes of the inputs of what is kept."""
        views = {key: one for key, one in self.views.items() if one.base.name == fact.predicate}
        if not views:
            yield fact
        for key, view in views.items():
            has_key = bool(view.base.key) and set(view.base.key) <= {*view.kept}
            if view.unread and not view.flagged and not has_key:
                raise NotKeptError(f"`{view.base.name}` has no key that tells its rows apart")
            (row,) = view.whole([fact.row])
            yield Fact(key, row, gone=fact.gone)

    @property
    def query(self) -> str:
        return self.compiled.query.text

    def conclusion(self, row: Row, verdict: Verdict, *, came: bool) -> ChangedConclusion:
        shown = ", ".join(row_goals(self.compiled)(row))
        return ChangedConclusion(self.query, shown, came, verdict)

    def of(self, rows: Iterable[Row], *, came: bool) -> Iterator[ChangedConclusion]:
        """Give the conclusions of rows of the relation."""
        for row in rows:
            if matches(self.goal, row):
                shown = tuple([row[place] for place in self.compiled.places])
                yield self.conclusion(shown, Verdict.PROVED, came=came)


class Watch:
    """Watched goals, a context manager. With `keep` what is known lasts beyond the process."""

    def __init__(
        self,
        around: Around,
        goals: Sequence[str],
        *,
        keep: bool = False,
        telling: Receiving | None = None,
    ) -> None:
        """Read the sources and answer every goal once. Raises `ConstatError`.

        `telling` gets what has changed before what is kept says that it was seen: what is told
        there may come twice after a crash, and is never lost.
        """
        self._around = around
        self._keep = keep
        self._telling = telling
        self._told: set[str] = set()
        """The relations whose changes come by a file: their source is not read again."""
        self._states: dict[str, str] = {}
        self._goals: list[_Goal] = []
        self.since: list[ChangedConclusion] = []
        """What has changed since another process kept these goals."""
        try:
            for text in goals:
                self._goals.append(self._begun(text))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files of what is kept."""
        for one in self._goals:
            if one.file is not None:
                one.file.close()

    def goals(self) -> tuple[Watching, ...]:
        """Say of each goal how it is watched."""
        found = []
        for one in self._goals:
            rows = len(one.verdicts)
            if one.kept is not None:
                rows = sum(1 for row in one.kept.rows(one.relation) if matches(one.goal, row))
            found.append(Watching(one.query, rows, one.why))
        return tuple(found)

    # -------------------------------------------------------------------------------- the start

    def _begun(self, text: str) -> _Goal:
        compiled = compile_query(read_query(text, self._around.program), self._around.program)
        program, goal, relation = _demanded(compiled)
        program, views = _over_nulls(program, relation)
        found = _Goal(compiled, goal, relation)
        try:
            kept = Maintained(program, [relation])
            found.views = {name: view for name, view in views.items() if name in kept.inputs}
            self._fill(found, kept)
        except (NotKeptError, ResourceError) as problem:
            self._ask_anew(found, str(problem))
        except StateBusyError:
            raise ConstatError([_busy(text)]) from None
        return found

    def _fill(self, goal: _Goal, kept: Maintained) -> None:
        version = _version(goal, kept)
        file = StateFile(self._path(goal)) if self._keep else None
        goal.file = file
        about = None if file is None else file.about()
        sources = goal.sources(kept)
        with self._around.evaluating() as tiers:
            states = _states(sources, tiers)
            if (
                file is not None
                and about is not None
                and about.get("version") == version
                and file.load(kept)
            ):
                known = about.get("states")
                before = known if isinstance(known, dict) else {}
                names = [n for n in sources if not _same(before.get(n), states[n])]
                facts = [
                    one for n in names for one in _difference(goal, kept, n, _read(n, kept, tiers))
                ]
                goal.kept = kept
                self.since += self._changed(goal, kept.update(facts), states)
            else:
                rows = dict(
                    one for name in sources for one in goal.seen(name, _read(name, kept, tiers))
                )
                goal.kept = Maintained(kept.program, [goal.relation], rows)
                if file is not None:
                    file.save(goal.kept, {"version": version, "states": states})
        self._states |= states

    def _path(self, goal: _Goal) -> Path:
        name = hashlib.sha256(goal.query.encode()).hexdigest()[:32]
        return self._around.state / FOLDER / f"{name}.duckdb"

    def _ask_anew(self, goal: _Goal, why: str) -> None:
        goal.kept, goal.why = None, why
        goal.verdicts = _verdicts(self._around.ask(goal.query))
        with self._around.evaluating() as tiers:
            names = _outside(goal.compiled.program, goal.compiled.goal)
            self._states |= {
                n: s for n, s in _states(names, tiers).items() if n not in self._states
            }

    # ------------------------------------------------------------------------------- the changes

    def poll(self) -> list[ChangedConclusion]:
        """Look whether sources or stated facts have changed; give what follows from that."""
        names = sorted({n for one in self._goals for n in self._read_by(one)} - self._told)
        changed: list[ChangedConclusion] = []
        with self._around.evaluating() as tiers:
            states = _states(names, tiers)
            stale = {n for n in names if not _same(self._states.get(n), states[n])}
            rows: dict[str, list[Row] | NotKeptError] = {}
            for goal in self._goals:
                if goal.kept is None or not stale.intersection(self._read_by(goal)):
                    continue
                facts: list[Fact] = []
                try:
                    for name in sorted(stale.intersection(self._read_by(goal))):
                        if name not in rows:
                            rows[name] = _read_or_why(name, goal.kept, tiers)
                        facts += _difference(goal, goal.kept, name, rows[name])
                except NotKeptError as problem:
                    goal.why = str(problem)
                else:
                    changed += self._updated(goal, facts, states)
        self._states |= states
        for goal in self._goals:
            if goal.kept is not None and goal.why:
                changed += self._turned(goal)
            elif goal.kept is None and stale.intersection(self._read_by(goal)):
                changed += self._asked(goal)
        return changed

    def tell(self, facts: Sequence[Fact]) -> list[ChangedConclusion]:
        """Take changes of rows; give what follows. Raises `ConstatError` for a goal asked anew."""
        names = {fact.predicate for fact in facts}
        self._told |= names
        own = [(goal, self._told_of(goal, facts)) for goal in self._goals]
        changed: list[ChangedConclusion] = []
        for goal, taken in own:
            if taken:
                changed += self._updated(goal, taken, self._states)
            if taken and goal.why:
                raise ConstatError([_not_told(goal)])
        return changed

    def _told_of(self, goal: _Goal, facts: Sequence[Fact]) -> list[Fact]:
        """Give changes as those of the inputs that a goal keeps."""
        read = self._read_by(goal)
        own = [fact for fact in facts if fact.predicate in read]
        if own and goal.kept is None:
            raise ConstatError([_not_told(goal)])
        try:
            return [one for fact in own for one in goal.told(fact)]
        except NotKeptError as problem:
            raise ConstatError([_not_told(replace(goal, why=str(problem)))]) from None

    def states(self) -> Mapping[str, str]:
        """Name the states of the sources that were read; empty where nobody can tell."""
        return self._states

    def answers(self, query: str) -> list[Row]:
        """Give the answers of a goal that is kept row by row."""
        (goal,) = [one for one in self._goals if one.query == query]
        rows = () if goal.kept is None else goal.kept.rows(goal.relation)
        places = goal.compiled.places
        return [tuple([r[n] for n in places]) for r in rows if matches(goal.goal, r)]

    def check(self) -> list[tuple[str, Recount]]:
        """Count the answers that are kept row by row again from the rules, over the kept inputs."""
        found = []
        for goal in self._goals:
            kept, compiled = goal.kept, goal.compiled
            if kept is None:
                continue
            rows = self.answers(goal.query)
            program, _ = _over_nulls(compiled.program, compiled.goal.predicate)
            if set(_outside(program, compiled.goal)) <= set(kept.inputs):
                held = {name: _Held(list(kept.rows(name))) for name in kept.inputs}
                claim = Claim(compiled.goal, compiled.places, rows)
                found.append((goal.query, recount(program, claim, held)))
            else:
                why = "not every input below it is kept"
                found.append((goal.query, Recount(State.NOT_CHECKED, why)))
        return found

    def _read_by(self, goal: _Goal) -> tuple[str, ...]:
        if goal.kept is not None:
            return goal.sources(goal.kept)
        return _outside(goal.compiled.program, goal.compiled.goal)

    def _updated(
        self, goal: _Goal, facts: Sequence[Fact], states: Mapping[str, str]
    ) -> list[ChangedConclusion]:
        if goal.kept is None:
            return []
        try:
            return self._changed(goal, goal.kept.update(facts), states)
        except (NotKeptError, ResourceError) as problem:
            goal.why = str(problem)
            return []

    def _changed(
        self, goal: _Goal, update: Update, states: Mapping[str, str]
    ) -> list[ChangedConclusion]:
        """Tell the conclusions that an update has changed, write it down, and give them."""
        told = update.changed.get(goal.relation)
        found: list[ChangedConclusion] = []
        if told is not None:
            found = [*goal.of(told.minus, came=False), *goal.of(told.plus, came=True)]
        self._tell(found)
        if goal.file is not None and goal.kept is not None:
            known = {**self._states, **states}
            own = {name: known.get(name, _UNNAMED) for name in goal.sources(goal.kept)}
            about: dict[str, object] = {"version": _version(goal, goal.kept), "states": own}
            goal.file.append(goal.kept, about, anew=bool(update.anew))
        return found

    def _tell(self, found: list[ChangedConclusion]) -> list[ChangedConclusion]:
        if self._telling is not None and found:
            self._telling(found)
        return found

    def _turned(self, goal: _Goal) -> list[ChangedConclusion]:
        """Ask a goal as a whole that was kept row by row so far."""
        kept = goal.kept
        listed = kept.rows(goal.relation) if kept is not None else ()
        rows = (row for row in listed if matches(goal.goal, row))
        before = {tuple([r[n] for n in goal.compiled.places]): Verdict.PROVED for r in rows}
        self._ask_anew(goal, goal.why)
        return self._tell(_compared(goal, before))

    def _asked(self, goal: _Goal) -> list[ChangedConclusion]:
        before = goal.verdicts
        goal.verdicts = _verdicts(self._around.ask(goal.query))
        return self._tell(_compared(goal, before))

    def predicate(self, name: str) -> Predicate | None:
        """Give the declaration of a relation that a watched goal reads."""
        if any(name in self._read_by(one) for one in self._goals):
            return self._around.program.program.predicates[name]
        return None

    def knows(self, name: str) -> bool:
        """Whether the project declares a relation."""
        return name in self._around.program.program.predicates


@frozen
class _Held:
    """The kept rows of an input, as whoever checks asks for them."""

    rows: list[Row] = field(hash=False)
    cost: int = 1

    def answer(self, demand: Demand) -> Answer:
        keys = set(demand.keys)
        rows = [row for row in self.rows if tuple([row[n] for n in demand.columns]) in keys]
        evidence = Evidence("kept", Origin.DATABASE, demand.predicate.name, now())
        portions = (Portion(tuple(rows), evidence),)
        return Answer(portions, answered=frozenset(demand.keys), authorities=(evidence,))


def _demanded(compiled: Compiled) -> tuple[AnalysedProgram, Atom, str]:
    """Give the program to keep: where the goal has constants, that of what they demand."""
    goal = compiled.goal
    derived = goal.predicate in rules_by_head(compiled.program)
    if not derived or not any(isinstance(term, Constant) for term in goal.terms):
        return compiled.program, goal, goal.predicate
    plan = plan_forward(compiled.program, [goal], Sizes(), PlanOptions(magic=True))
    return plan.program, goal, plan.wanted[0].relation


def _over_nulls(
    program: AnalysedProgram, relation: str
) -> tuple[AnalysedProgram, Mapping[str, View]]:
    """Give the program that reads views of the inputs with columns that may be null."""
    predicates = program.program.predicates
    names = [one for one in program.external - {relation} if any(null_policies(predicates[one]))]
    return over_views(program, names) if names else (program, {})


def _outside(program: AnalysedProgram, goal: Atom) -> tuple[str, ...]:
    """Name the predicates from outside that a goal may read."""
    return tuple(sorted(reachable(program, [goal.predicate]) & program.external))


def _version(goal: _Goal, kept: Maintained) -> str:
    """Name the rules and the declarations that what is kept rests on."""
    told = [repr(rule) for rule in kept.program.rules]
    told += [repr(kept.program.program.predicates[name]) for name in kept.relations]
    return hashlib.sha256(json.dumps([goal.query, goal.relation, told]).encode()).hexdigest()


def _states(names: Iterable[str], tiers: Tiers) -> dict[str, str]:
    """Name the states of predicates; empty where nobody can tell when one changes."""
    found = {}
    for name in names:
        external = tiers.externals[name]
        state = external.state() if isinstance(external, Chain) else None
        found[name] = state or _UNNAMED
    return found


def _same(before: object, now: str) -> bool:
    return bool(now) and before == now


def _difference(
    goal: _Goal, kept: Maintained, name: str, rows: list[Row] | NotKeptError
) -> list[Fact]:
    """Say by content which rows of the inputs that a source gives came and went."""
    if isinstance(rows, NotKeptError):
        raise rows
    facts: list[Fact] = []
    for key, seen in goal.seen(name, rows):
        before, now = set(kept.rows(key)), set(seen)
        facts += [Fact(key, row, gone=True) for row in before - now]
        facts += [Fact(key, row) for row in now - before]
    return facts


def _read_or_why(name: str, kept: Maintained, tiers: Tiers) -> list[Row] | NotKeptError:
    try:
        return _read(name, kept, tiers)
    except NotKeptError as problem:
        return problem


def _read(name: str, kept: Maintained, tiers: Tiers) -> list[Row]:
    """Read all rows of an input. Raises `NotKeptError` where they are not all there is."""
    predicate = kept.program.program.predicates[name]
    externals: Externals = tiers.externals
    external = externals[name]
    demand = Demand(predicate, (), ((),))
    if isinstance(external, RelationPredicate) and Kind.STRUCTURE not in predicate.kinds:
        readable = external.as_relation(demand, _MOST_ROWS)
        if readable is not None:
            if readable.openings or readable.evidence.confidence != 1:
                raise NotKeptError(f"`{name}` is not known for certain")
            relation = Relation(
                name, predicate.kinds, (False,) * predicate.arity, given=True, derived=False
            )
            with Database(Resources()) as database:
                database.declare(relation)
                load_stream(database, name, readable)
                whole = [row for batch in database.rows(name) for row in batch]
                return whole + list(readable.nulls)
    return _sure(external.answer(demand), name)


def _sure(answer: Answer, name: str) -> list[Row]:
    told = [*[one.evidence for one in answer.portions], *answer.authorities]
    assumed = next((one.assumption for one in answer.portions if one.assumption is not None), None)
    if assumed is not None:
        raise NotKeptError(f"`{name}` rests on an assumption")
    if answer.openings or () not in answer.answered or answer.conflicts:
        raise NotKeptError(f"`{name}` is not known as a whole")
    if any(one.confidence != 1 for one in told):
        raise NotKeptError(f"`{name}` has less than full confidence")
    return [row for one in answer.portions for row in one.rows]


def _verdicts(answers: Answers) -> dict[Row, Verdict]:
    weak = dict(answers.weak)
    return dict.fromkeys(answers.sure, Verdict.PROVED) | weak


def _compared(goal: _Goal, before: Mapping[Row, Verdict]) -> list[ChangedConclusion]:
    after = goal.verdicts
    gone = [row for row, verdict in before.items() if after.get(row) is not verdict]
    came = [row for row, verdict in after.items() if before.get(row) is not verdict]
    found = [goal.conclusion(row, before[row], came=False) for row in gone]
    return found + [goal.conclusion(row, after[row], came=True) for row in came]


# ---------------------------------------------------------------------- whoever is told of them

Receiving = Callable[[Sequence[ChangedConclusion]], None]
LOG_NAME: Final = "changes.jsonl"
_LINES: Final = 10_000
_MOST_WAITING: Final = 10_000
_SECONDS: Final = 20.0
_TRIES: Final = 2
_TAKEN: Final = range(200, 300)


def log_changes(state: Path) -> Receiving:
    """Give what appends changes with their time to a file of the state folder, durably."""
    path = state / FOLDER / LOG_NAME

    def tell(found: Sequence[ChangedConclusion]) -> None:
        moment = now()
        lines = "".join(f"{json.dumps({'time': moment, **one.told()})}\n" for one in found)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = _locked(path)
            with os.fdopen(descriptor, "r+b", buffering=0) as file:
                # Whoever was killed while it wrote has left half a line.
                torn = file.seek(0, os.SEEK_END) > 0
                if torn:
                    file.seek(-1, os.SEEK_END)
                    torn = file.read(1) != b"\n"
                left = memoryview((b"\n" if torn else b"") + lines.encode())
                while left:
                    left = left[file.write(left) :]
                os.fsync(descriptor)
        except OSError as problem:
            raise ConstatError([_not_written(LOG_NAME, problem)]) from problem

    return tell


def _locked(path: Path) -> int:
    """Open a file that no other program writes meanwhile; raises `OSError`."""
    descriptor = locked_file(path, WAIT_SECONDS)
    if descriptor is None:
        raise OSError(errno.EBUSY, "another program has it")
    return descriptor


class Outbox:
    """Changes on their way to the address of a receiver: files, each until it was taken.

    They are taken in their order, each at least once. A request has in `Constat-Delivery` the
    name of the file, in `Constat-Time` the seconds since 1970, and in `Constat-Signature`
    `sha256=` and the HMAC of both and the body, with dots in between. Its body are lines of JSON.
    """

    def __init__(self, state: Path, address: str, secret: str) -> None:
        from constat.apis import Transport  # noqa: PLC0415  loaded when it is used
        from constat.project.apis import ApiSetting  # noqa: PLC0415  loaded when it is used

        self._address = address
        self._secret = secret.encode()
        # An address may hold what nobody else should know.
        name = hashlib.sha256(address.encode()).hexdigest()[:16]
        self._folder = state / FOLDER / f"to-{name}"
        setting = ApiSetting("receiver", private=True, seconds=_SECONDS, retries=_TRIES)
        self._transport = Transport(setting)

    def tell(self, found: Sequence[ChangedConclusion]) -> None:
        """Queue changes; raises `ConstatError` where they cannot be written, or too many wait."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            waiting = self._waiting()
            if len(waiting) >= _MOST_WAITING:
                raise ConstatError([_too_many(len(waiting))])
            last = int(waiting[-1].stem) if waiting else 0
            number = max(last + 1, time.time_ns())
            for begin in range(0, len(found), _LINES):
                with replaced(self._folder / f"{number + begin:020d}.jsonl", 0o600) as stream:
                    for one in found[begin : begin + _LINES]:
                        stream.write(f"{json.dumps(one.told())}\n".encode())
        except OSError as problem:
            raise ConstatError([_not_written("what waits for the receiver", problem)]) from problem

    def _waiting(self) -> list[Path]:
        return sorted(one for one in self._folder.glob("*.jsonl") if one.stem.isdigit())

    def send(self) -> tuple[int, str]:
        """Send what waits; give how many files still wait, and why."""
        if not self._folder.is_dir():
            return 0, ""
        lock = os.open(self._folder, os.O_RDONLY)
        try:
            if not lock_within(lock, 0.0, shared=False):
                return len(self._waiting()), "another process sends it"
            self._transport.restart()
            waiting = self._waiting()
            for number, one in enumerate(waiting):
                why = self._refused(one)
                if why:
                    return len(waiting) - number, why
                one.unlink()
        finally:
            os.close(lock)
        return 0, ""

    def _refused(self, delivery: Path) -> str:
        """Send one file; say why it was not taken, without what an address may hold."""
        from constat.apis import ApiError, Asking  # noqa: PLC0415  loaded when it is used

        body, moment = delivery.read_bytes(), str(int(time.time()))
        signed = b".".join([delivery.stem.encode(), moment.encode(), body])
        headers = {
            "content-type": "application/x-ndjson",
            "constat-delivery": delivery.stem,
            "constat-time": moment,
            "constat-signature": f"sha256={hmac.new(self._secret, signed, 'sha256').hexdigest()}",
        }
        asking = Asking("POST", self._address, headers, body, keyed=False)
        try:
            reply = self._transport.fetch(asking, time.monotonic() + _SECONDS)
        except ApiError as problem:
            return problem.reason
        return "" if reply.status in _TAKEN else f"it answers {reply.status}"

    def close(self) -> None:
        """Close the connection; what waits stays."""
        self._transport.close()


def _not_written(what: str, problem: OSError) -> Diagnostic:
    reason = problem.strerror or type(problem).__name__
    message = f"changes cannot be written down ({what}): {reason}"
    return Diagnostic("C0679", message, help="let the state folder be written")


def _too_many(waiting: int) -> Diagnostic:
    return Diagnostic(
        "C0679",
        f"{waiting:,} deliveries wait for the receiver of --on-change",
        note="what has changed now is told again by the next `watch --keep`",
        help="let the receiver take them, or remove them from the state folder",
    )


# ------------------------------------------------------------------------- a file of changes


def read_changes(lines: Iterable[str], watch: Watch, name: str, first: int = 1) -> list[Fact]:
    """Read lines such as `{"op": "insert", "relation": "edge", "row": [1, 2]}`.

    An update has the row as it was in `before`. What no watched goal reads is left out. Raises
    `ConstatError` with the line for anything else, and then nothing of these lines is taken.
    """
    found: list[Fact] = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            found += _read_change(line, watch)
        except ValueError as problem:
            raise ConstatError([_malformed(name, number, str(problem))]) from None
    return found


def _read_change(line: str, watch: Watch) -> list[Fact]:
    if len(line) > _LONGEST:
        raise ValueError("the line is longer than 1,048,576 characters")
    try:
        told = json.loads(line, parse_float=str)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(told, dict) or told.get("op") not in _KINDS:
        raise ValueError('`"op"` is none of insert, delete and update')
    relation = told.get("relation")
    if not isinstance(relation, str) or not watch.knows(relation):
        raise ValueError('`"relation"` names no predicate of the project')
    predicate = watch.predicate(relation)
    if predicate is None:
        return []
    row = _row(told.get("row"), predicate, "row")
    if told["op"] == "update":
        before = _row(told.get("before"), predicate, "before")
        return [Fact(relation, before, gone=True), Fact(relation, row)]
    return [Fact(relation, row, gone=told["op"] == "delete")]


def _row(cells: object, predicate: Predicate, member: str) -> Row:
    if not isinstance(cells, list) or len(cells) != predicate.arity:
        raise ValueError(f'`"{member}"` is no list of {predicate.arity} values')
    found: list[Value] = []
    for cell, column in zip(cells, predicate.columns, strict=True):
        if isinstance(cell, bool):
            text = "true" if cell else "false"
        elif isinstance(cell, int | str):
            text = str(cell)
        else:
            raise ValueError(f"`{column.name}` is no value: a null, a list or an object")  # noqa: TRY004  of a file
        if isinstance(cell, int) and column.kind is Kind.SYMBOL:
            raise ValueError(f"`{column.name}` is a text, and the value is none")
        try:
            value = parse_value(text, column.kind)
        except ValueError as problem:
            raise ValueError(f"`{column.name}` {problem}") from None
        if column.structures is not None and not is_of_type(value, column):
            raise ValueError(f"`{column.name}` is none of its type")
        found.append(value)
    return tuple(found)


def _malformed(name: str, number: int, why: str) -> Diagnostic:
    return Diagnostic(
        "C0676",
        f"line {number} of {name} is no change: {why}",
        note="nothing of this batch was taken",
        help='write {"op": "insert", "relation": "edge", "row": [1, 2]}',
    )


def _not_told(goal: _Goal) -> Diagnostic:
    return Diagnostic(
        "C0677",
        f"`{goal.query}` cannot take changes of single rows: {goal.why}",
        note="such a goal is asked anew as a whole when its sources change",
        help="leave `--changes` out, and let the sources change",
    )


def _busy(text: str) -> Diagnostic:
    return Diagnostic(
        "C0678",
        f"another process keeps `{text}` current",
        help="end it first, or watch without `--keep`",
    )
