"""Everything one evaluation knows: relations, procedures, what was asked, calls, limits."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from threading import Thread

from constat.analysis import AnalysedProgram
from constat.engine.batch import Batch
from constat.engine.relation import (
    Columns,
    Relation,
    Texts,
    has_hole,
    has_null,
    is_hole,
    tuple_getter,
)
from constat.evaluation import (
    ACCEPTED,
    CONCEIVABLE,
    POSSIBLE,
    UNTIMED,
    Answer,
    Call,
    CallFinished,
    CallStarted,
    ConcurrentPredicate,
    Demand,
    Event,
    ExternalPredicate,
    Externals,
    Failure,
    LimitReachedError,
    Limits,
    Observer,
    PackedRows,
    Portion,
    RelationPredicate,
)
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    NullCell,
    OpenRow,
    Positive,
    Row,
    Variable,
    display_value,
    is_wildcard,
)
from constat.plan import Absence, GroundFact, Join, Plan, Procedure, ProcedureKey, RulePlan, adorn
from constat.plan.compilation import predicates_of


class Procedures:
    """Finds the procedure for bound columns of a derived predicate.

    A plan has those that constants and variables of the text ask for. A premise that nobody knows
    asks with fewer columns; such a procedure is planned when it is asked for.
    """

    def __init__(self, program: AnalysedProgram, plan: Plan) -> None:
        self.plan = plan
        self.known: dict[ProcedureKey, Procedure] = dict(plan.procedures)
        self._program = program

    def find(self, predicate: str, columns: Columns) -> Procedure | None:
        """Give the procedure for these columns; `None` where no rule derives the predicate."""
        if predicate not in self.plan.component:
            return None
        key = (predicate, columns)
        if key not in self.known:
            self.known = adorn(self._program, key, self.plan.costs, self.known)
        return self.known.get(key)

    def get(self, predicate: str, columns: Columns) -> Procedure:
        """Give the procedure of a predicate that rules derive."""
        found = self.find(predicate, columns)
        if found is None:
            raise KeyError((predicate, columns))
        return found


# A served pattern is complete: every row that matches it is in the relation (derived as far as the
# rules go, fetched as far as the sources told). A wider pattern serves a narrower one, never the
# reverse. Once a pattern is complete, what might exist for it is known: an open row that a wider
# question brings later says nothing new about it, and would make a proof that was found forget
# why.


class Served:
    """The keys asked for, by the columns they bind, with the stamp at which each was complete."""

    def __init__(self) -> None:
        self._keys: dict[Columns, dict[Row, float]] = {}

    def missing(self, columns: Columns, keys: Iterable[Row]) -> list[Row]:
        """The keys that no served pattern covers."""
        left = list(keys)
        for wide, served in self._keys.items():
            if not left:
                break
            if wide == columns:
                left = [key for key in left if key not in served]
            elif set(wide) <= set(columns):
                project = tuple_getter([columns.index(column) for column in wide])
                left = [key for key in left if project(key) not in served]
        return left

    def covers(self, columns: Columns, key: Row) -> bool:
        """Whether the pattern is served."""
        return not self.missing(columns, (key,))

    def add(self, columns: Columns, keys: Iterable[Row]) -> None:
        """Record that keys were asked for; they are not complete yet."""
        asked = self._keys.setdefault(columns, {})
        for key in keys:
            asked.setdefault(key, math.inf)

    def complete(self, columns: Columns, keys: Iterable[Row], stamp: int) -> None:
        """Record that everything about these keys is there; the first time counts."""
        asked = self._keys.get(columns, {})
        for key in keys:
            # What was forgotten meanwhile is not complete.
            if asked.get(key) == math.inf:
                asked[key] = stamp

    def completed(self, columns: Columns, key: Row) -> float:
        """The earliest stamp at which everything about a pattern was there; infinite before."""
        first = math.inf
        for wide, asked in self._keys.items():
            if wide == columns:
                first = min(first, asked.get(key, math.inf))
            elif set(wide) <= set(columns):
                project = tuple_getter([columns.index(column) for column in wide])
                first = min(first, asked.get(project(key), math.inf))  # type: ignore[arg-type]  # values of a key
        return first

    @property
    def whole(self) -> bool:
        """Whether everything was asked for, complete or not."""
        return bool(self._keys.get(()))

    def narrow_no_more(self) -> None:
        """Forget the keys that are not complete yet, where everything was asked for meanwhile."""
        for columns in [one for one in self._keys if one]:
            kept = {key: at for key, at in self._keys[columns].items() if at < math.inf}
            self._keys[columns] = kept

    def clear(self) -> None:
        """Forget everything: the relation may be incomplete."""
        self._keys.clear()

    def entries(self) -> Iterator[tuple[Columns, frozenset[Row]]]:
        """All keys by columns."""
        for columns, keys in self._keys.items():
            yield columns, frozenset(keys)


AskedDemand = tuple[ExternalPredicate | None, Demand]


class _Asking:
    """One demand under way."""

    def __init__(self, asked: AskedDemand) -> None:
        self._external, self._demand = asked
        self.answer = Answer()
        self.seconds = 0.0
        self.problem: BaseException | None = None

    def run(self) -> None:
        """Ask; without a predicate outside nothing is known."""
        before = time.monotonic()
        try:
            if self._external is not None:
                self.answer = self._external.answer(self._demand)
        except BaseException as problem:  # noqa: BLE001  raised again where the answer is wanted
            self.problem = problem
        self.seconds = time.monotonic() - before


def ask_together(demands: Sequence[AskedDemand]) -> list[tuple[Answer, float]]:
    """Ask all and wait; the last one is asked in the calling thread."""
    askings = [_Asking(one) for one in demands]
    # Daemons: a program that was interrupted ends without waiting for a far source.
    threads = [Thread(target=asking.run, daemon=True) for asking in askings[:-1]]
    for thread in threads:
        thread.start()
    if askings:
        last = askings[-1]
        last.run()
        if isinstance(last.problem, KeyboardInterrupt):
            raise last.problem
    for thread in threads:
        thread.join()
    for asking in askings:
        if asking.problem is not None:
            raise asking.problem
    return [(asking.answer, asking.seconds) for asking in askings]


# Also the only place where answers from outside become rows: an answer that does not speak for a
# demanded key leaves it open.

MAX_FAILURES = 100
FAR = 100
"""From this cost on a source is across a network or a language model."""
DEAR = 1_000
"""From this cost on an answer is paid for, and nothing is asked on the chance that it helps."""
MORE_ROWS = 100_000
"""So many rows more than a first evaluation may one with wider keys make."""
OFTEN = 64
"""From so many calls on a near source may be read as a whole: this often, and each time doubled."""
ROWS_A_CALL = 200
"""So many rows are read as a whole in the time that one more call takes, at least."""


def open_row(columns: Columns, key: Row, width: int) -> OpenRow:
    """The pattern of a key, with placeholders in the columns that it does not bind."""
    known = dict(zip(columns, key, strict=True))
    return tuple(known.get(place, OPEN) for place in range(width))


def _only_shown(program: AnalysedProgram) -> frozenset[str]:
    """The predicates from outside, derived by no rule, of which a proof only shows rows.

    What is below a denial or an aggregate has to be closed as well.
    """
    uses: dict[str, set[str]] = {}
    waiting: list[str] = []
    for rule in program.rules:
        for literal in rule.body:
            read = tuple(predicates_of(literal))
            uses.setdefault(rule.head.predicate, set()).update(read)
            if not isinstance(literal, Positive):
                waiting.extend(read)
    closed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in closed:
            closed.add(name)
            waiting.extend(uses.get(name, ()))
    derived = {rule.head.predicate for rule in program.rules}
    return frozenset(program.external) - derived - closed


def _is_plain(demand: Demand, answer: Answer) -> bool:
    """Whether an answer says for certain all that was asked for, without cells that have none."""
    cells = chain.from_iterable(row for one in answer.portions for row in one.rows)
    return (
        not answer.openings
        and not answer.conflicts
        and answer.answered.issuperset(demand.keys)
        and all(one.assumption is None for one in answer.portions)
        and NullCell not in set(map(type, cells))
    )


def _names(demand: Demand) -> tuple[str, ...]:
    return tuple(demand.predicate.columns[column].name for column in demand.columns)


@frozen
class Earlier:
    """An evaluation that left its goal open, and what may be asked now.

    Nothing far is below the derived predicates `near`: they may be asked with wider keys. With
    `whole` they are asked for all their rows: a key's value that meets a label is no longer known
    to be that label, and a row that is derived without the key is.
    """

    state: State
    near: frozenset[str]
    whole: bool = False


class State:
    """The growing knowledge of one evaluation. Single-threaded; thrown away with the outcome.

    With `earlier`, an evaluation that left its goal open, derived predicates are asked for more
    than a literal's key. What was answered then is known from the start. With `keyed`, one that
    read sources as a whole, what it was answered key by key is known, and no more is read whole.
    """

    def __init__(
        self,
        program: AnalysedProgram,
        externals: Externals,
        limits: Limits,
        observe: Observer,
        *,
        earlier: Earlier | None = None,
        keyed: State | None = None,
    ) -> None:
        self.program = program
        self.limits = limits
        self._most_rows = limits.rows
        self.clock = limits.running()
        self.calls: list[Call] = []
        self.failures: list[Failure] = []
        self._facts: dict[str, dict[Row, Portion]] = {}
        self._packed: dict[str, Portion] = {}
        self._derived = frozenset(rule.head.predicate for rule in program.rules)
        self.stated: dict[str, dict[Row, int]] = {}
        self.texts = Texts(limits.memory)
        self._externals = externals
        self._observe = observe
        self._relations: dict[str, Relation] = {}
        self._served: dict[str, Served] = {}
        self._stamp = 0
        self._rows = 0
        self.narrowed = False
        """Whether a derived predicate was not asked with a wider key, and so counts as open."""
        self._earlier = earlier
        self._answered: dict[str, Served] = {}
        self.nulls = False
        """Whether any row that was met holds null cells."""
        self._labelled: dict[str, Served] = {}
        self._often: Counter[str] = Counter()
        self._begins = earlier is None and keyed is None
        self.wholes: frozenset[int] = frozenset()
        """The numbers of the calls that read a source as a whole for its size."""
        first = keyed if earlier is None else earlier.state
        if first is not None:
            self._begin_with(first)

    def _begin_with(self, first: State) -> None:
        """Take over what was answered in an earlier evaluation, and what is left of its bounds."""
        self.clock = first.clock
        self._most_rows = min(self._most_rows, first._rows + MORE_ROWS)
        for call in first.calls:
            if call.number in first.wholes:
                continue
            demand = call.demand
            name = demand.predicate.name
            self.calls.append(call)
            self._load(demand, call.answer)
            # Where rules derive the predicate, too, the pattern is not complete yet.
            served = self._answered if name in self._derived else self._served
            keys = served.setdefault(name, Served())
            keys.add(demand.columns, demand.keys)
            keys.complete(demand.columns, demand.keys, self._stamp)

    def learn(self, calls: Iterable[Call]) -> None:
        """Take over the rows that a later evaluation was given, whose other results are dropped.

        What it was not told is left out: the keys that were asked here keep their own answers.
        """
        for call in calls:
            told = replace(call.answer, openings=(), answered=frozenset(call.demand.keys))
            self._load(call.demand, told)
            # Last: where there is no time to load its rows, a call tells nothing here.
            self.calls.append(call)

    def fact(self, predicate: str, row: Row) -> Portion | None:
        """Give the portion of an answer that a row came with."""
        return self._facts_of(predicate).get(row)

    def _facts_of(self, predicate: str) -> dict[Row, Portion]:
        facts = self._facts.setdefault(predicate, {})
        packed = self._packed.pop(predicate, None)
        if packed is not None:
            facts.update(dict.fromkeys(self.clock.over(packed.rows), packed))
        return facts

    def is_only_outside(self, predicate: str) -> bool:
        """Whether all rows of a predicate come from outside."""
        return predicate in self._externals and predicate not in self._derived

    def tell(self, event: Event) -> None:
        """Pass an event on."""
        self._observe(event)

    def may_widen(self, predicate: str, columns: Columns = (), key: Row = ()) -> bool:
        """Whether a predicate may be asked for more than the key of a literal.

        From outside where it is near; a derived one where nothing far is below it, and only once a
        goal has stayed open without. What was asked for anyway may be asked for again.
        """
        if predicate not in self._derived:
            external = self._externals.get(predicate)
            return external is not None and external.cost < FAR
        earlier = self._earlier
        if earlier is None:
            return False
        return predicate in earlier.near or earlier.state.served(predicate).covers(columns, key)

    def is_whole(self, predicate: str) -> bool:
        """Whether all rows of a derived predicate are asked for, whatever the key of a literal."""
        earlier = self._earlier
        return earlier is not None and earlier.whole and predicate in earlier.near

    def wider(self, step: Join | Absence, batch: Batch) -> list[tuple[Columns, tuple[Row, ...]]]:
        """Give what to ask with the columns that are known where others hold placeholders.

        A label is one, too: any row may match it.
        """
        wanted: dict[Columns, dict[Row, None]] = {}
        doubtful = [binding for binding, _ in batch.weak]
        if self.nulls:
            doubtful += batch.sure
        for binding in doubtful:
            key = [binding[place] for place in step.key]
            if has_hole(key):
                known = [(c, v) for c, v in zip(step.columns, key, strict=True) if not is_hole(v)]
                columns = tuple(column for column, _ in known)
                wanted.setdefault(columns, {})[tuple(value for _, value in known)] = None  # type: ignore[misc]  # no hole
        found: list[tuple[Columns, tuple[Row, ...]]] = []
        name = step.predicate
        for columns, keys in sorted(wanted.items()):
            missing = self.served(name).missing(columns, keys)
            allowed = tuple(one for one in missing if self.may_widen(name, columns, one))
            self.narrowed |= len(allowed) < len(missing)
            if allowed:
                found.append((columns, allowed))
        return found

    def source_beside(self, predicate: str) -> str:
        """The source of a far predicate that may be asked together with others; else empty."""
        external = self._externals.get(predicate)
        if external is None or predicate in self._derived or not FAR <= external.cost < DEAR:
            return ""
        # Asked last: looking for all members of a protocol takes longer than the rest.
        return external.source if isinstance(external, ConcurrentPredicate) else ""

    def relation(self, predicate: str) -> Relation:
        """The relation of a predicate."""
        found = self._relations.get(predicate)
        if found is None:
            arity = self.program.program.predicates[predicate].arity
            found = self._relations[predicate] = Relation(arity, self.clock)
        return found

    def served(self, predicate: str) -> Served:
        """What was asked of a predicate."""
        found = self._served.get(predicate)
        if found is None:
            found = self._served[predicate] = Served()
        return found

    def missing(self, predicate: str, columns: Columns, keys: Iterable[Row]) -> list[Row]:
        """The keys that were not asked for yet.

        A key that holds a label asks for the rows that hold the same one, for certain; so only
        rules can be asked, and such a key never counts as served.
        """
        found = self.served(predicate).missing(columns, keys)
        if not self.nulls or not any(map(has_null, found)):
            return found
        if predicate not in self._derived:
            return [key for key in found if not has_null(key)]
        labelled = self._labelled.setdefault(predicate, Served())
        left = set(labelled.missing(columns, filter(has_null, found)))
        return [key for key in found if not has_null(key) or key in left]

    def ask(self, predicate: str, columns: Columns, keys: Iterable[Row]) -> list[Row]:
        """Record that keys were asked for; give those that sources can be asked for, too."""
        plain = list(keys)
        if self.nulls:
            labelled = [key for key in plain if has_null(key)]
            self._labelled.setdefault(predicate, Served()).add(columns, labelled)
            plain = [key for key in plain if not has_null(key)]
        self.served(predicate).add(columns, plain)
        return plain

    def complete(self, predicate: str, columns: Columns, keys: Iterable[Row]) -> None:
        """Record that everything about these keys of a predicate is there."""
        self.served(predicate).complete(columns, keys, self._stamp)

    def forget(self, predicate: str) -> None:
        """Record that what was asked of a predicate may be incomplete."""
        self.served(predicate).clear()
        self._labelled.pop(predicate, None)

    def finish(self) -> None:
        """End the evaluation: other bounds than its own bind the search for derivations."""
        self.clock = self.limits.afterwards or UNTIMED
        for relation in self._relations.values():
            relation.clock = self.clock
        self.texts.unbind()

    def check(self) -> None:
        """Stop at a limit, and where an interruption was swallowed."""
        self.clock.check()
        if self._rows > self._most_rows:
            raise LimitReachedError(self.limits.reached("rows"))

    def add(
        self, predicate: str, sure: Iterable[Row], weak: Iterable[tuple[OpenRow, int]]
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        """Add rows under a new stamp; give what is new."""
        self._stamp += 1
        relation = self.relation(predicate)
        new = relation.add_sure(sure, self._stamp, nulls=self.nulls)
        new_weak = relation.add_weak(weak, self._stamp, nulls=self.nulls)
        self._rows += len(new) + len(new_weak)
        return new, new_weak

    def fail(self, rule: RulePlan, binding: tuple[object, ...], reason: str) -> None:
        """Record a rule instance that erred."""
        if len(self.failures) >= MAX_FAILURES:
            return
        kinds = self.program.variable_kinds[rule.rule]
        shown = {
            name: display_value(binding[place], kinds[name])  # type: ignore[arg-type]  # a slot
            for name, place in rule.variables.items()
            if place < len(binding) and name in kinds and not is_wildcard(Variable(name))
        }
        failure = Failure(rule.rule, reason, shown)
        if failure not in self.failures:
            self.failures.append(failure)

    def fetch_packed(self, predicate: str, columns: Columns, keys: tuple[Row, ...]) -> None:
        """Ask outside for keys whose rows somebody only goes through; very many come packed."""
        if self._answered or len(self.calls) >= self.limits.calls:
            self.fetch(predicate, columns, keys)
            return
        self.check()
        demand = replace(self._demand(predicate, columns, keys), packs=True)
        self._observe(CallStarted(predicate, _names(demand), len(keys)))
        ((answer, seconds),) = ask_together([(self._externals.get(predicate), demand)])
        self._received(demand, answer, seconds)

    def fetch(
        self, predicate: str, columns: Columns, keys: tuple[Row, ...]
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        """Ask outside for keys and load what comes back; give the rows that are new."""
        found = self.fetch_together(((predicate, columns, keys),))
        return found[0] if found else ([], [])

    def fetch_together(
        self, wanted: Sequence[tuple[str, Columns, tuple[Row, ...]]]
    ) -> list[tuple[list[Row], list[tuple[OpenRow, int]]]]:
        """Ask several sources at the same time; what comes back is loaded in the given order."""
        if self._answered:
            wanted = [one for one in map(self._unanswered, wanted) if one[2]]
        if len(self.calls) + len(wanted) > self.limits.calls:
            raise LimitReachedError(self.limits.reached("calls"))
        self.check()
        demands = [self._demand(*one) for one in wanted]
        for demand in demands:
            self._observe(CallStarted(demand.predicate.name, _names(demand), len(demand.keys)))
        answered = ask_together(
            [(self._externals.get(one[0]), d) for one, d in zip(wanted, demands, strict=True)]
        )
        return [
            self._received(demand, answer, seconds)
            for demand, (answer, seconds) in zip(demands, answered, strict=True)
        ]

    def fetch_whole(self, predicate: str) -> bool:
        """Read all of a near source that was asked often for its size; tell whether that was done.

        A recursion asks for one key after the other. What is no plain answer is dropped: its other
        keys would be open for what is wrong with one of them. Where a proof says that there are no
        other rows, each key is asked: such an answer is shown as it came.
        """
        asked = self._often[predicate]
        external = self._externals.get(predicate)
        if asked < OFTEN or asked & (asked - 1) or self.nulls:
            return False
        if not self._begins or predicate not in _only_shown(self.program):
            return False
        if not isinstance(external, RelationPredicate) or external.cost >= FAR:
            return False
        rows = external.estimate()
        if rows is None or rows > asked * ROWS_A_CALL:
            return False
        self.check()
        demand = replace(self._demand(predicate, (), ((),)), passing=True)
        ((answer, seconds),) = ask_together([(external, demand)])
        if not _is_plain(demand, answer):
            # It is tried no more.
            self._often[predicate] = -self.limits.calls
            return False
        self._observe(CallStarted(predicate, (), 1))
        self._received(demand, answer, seconds)
        self.wholes |= {len(self.calls)}
        self.served(predicate).add((), ((),))
        self.complete(predicate, (), ((),))
        return True

    def _unanswered(
        self, wanted: tuple[str, Columns, tuple[Row, ...]]
    ) -> tuple[str, Columns, tuple[Row, ...]]:
        predicate, columns, keys = wanted
        served = self._answered.get(predicate)
        return (
            wanted if served is None else (predicate, columns, tuple(served.missing(columns, keys)))
        )

    def _demand(self, predicate: str, columns: Columns, keys: tuple[Row, ...]) -> Demand:
        declared = self.program.program.predicates[predicate]
        return Demand(declared, columns, tuple(sorted(self.clock.over(keys))), self.clock)

    def _received(
        self, demand: Demand, answer: Answer, seconds: float
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        call = Call(len(self.calls) + 1, demand, answer, seconds)
        self.calls.append(call)
        self._often[demand.predicate.name] += 1
        rows = sum(len(portion.rows) for portion in answer.portions)
        self._observe(
            CallFinished(
                call.number,
                demand.predicate.name,
                _names(demand),
                len(demand.keys),
                rows,
                len(answer.openings),
                seconds,
            )
        )
        return self._load(demand, answer)

    def state_facts(
        self, predicate: str, facts: Iterable[GroundFact]
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        """Load the facts that the rules state of a predicate, once; give the rows that are new."""
        if predicate in self.stated:
            return [], []
        stated = self.stated[predicate] = {}
        sure: list[Row] = []
        weak: list[tuple[OpenRow, int]] = []
        for fact in facts:
            if fact.assumed:
                weak.append((fact.row, ACCEPTED))
            else:
                sure.append(fact.row)
                stated.setdefault(fact.row, fact.rule)
        return self.add(predicate, sure, weak)

    def _load(self, demand: Demand, answer: Answer) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        name = demand.predicate.name
        if self._takes_packed(name, demand, answer):
            return [], []
        facts = self._facts_of(name)
        sure: list[Row] = []
        weak: list[tuple[OpenRow, int]] = []
        for portion in answer.portions:
            if portion.assumption is None:
                for block in self.clock.blocks(portion.rows):
                    facts.update(dict.fromkeys(block, portion))
                    sure.extend(block)
                continue
            for row in self.clock.over(portion.rows):
                facts.setdefault(row, portion)
                weak.append((row, ACCEPTED))
        weak.extend(
            (opening.row, POSSIBLE if opening.assumption is None else CONCEIVABLE)
            for opening in self.clock.over(answer.openings)
        )
        if not self.nulls:
            cells = chain.from_iterable(chain(sure, (row for row, _ in weak)))
            self.nulls = NullCell in set(map(type, cells))
        width = demand.predicate.arity
        if ((OPEN,) * width, POSSIBLE) not in weak:
            unanswered = (key for key in self.clock.over(demand.keys) if key not in answer.answered)
            weak.extend((open_row(demand.columns, key, width), POSSIBLE) for key in unanswered)
        return self.add(name, sure, weak)

    def _takes_packed(self, name: str, demand: Demand, answer: Answer) -> bool:
        """Take the rows of an answer packed, where they are all there is of a predicate yet."""
        portion = answer.portions[0] if len(answer.portions) == 1 else None
        if portion is None or not isinstance(portion.rows, PackedRows):
            return False
        plain = portion.assumption is None and not answer.openings
        if not plain or name in self._derived or not answer.answered.issuperset(demand.keys):
            return False
        if not self.relation(name).take_packed(portion.rows, self._stamp + 1):
            return False
        self._stamp += 1
        self._rows += len(portion.rows)
        self._packed[name] = portion
        return True
