"""Everything one evaluation knows: relations, what was asked, calls made, limits.

Also the only place where answers from outside become rows: an answer that does not speak for a
demanded key leaves it open.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

from constat.analysis import AnalysedProgram
from constat.diagnostics.interruption import check_interrupted
from constat.engine.asking import ask_together
from constat.engine.joins import LimitReachedError
from constat.engine.relation import Columns, Relation
from constat.engine.served import Served
from constat.engine.texts import Texts
from constat.evaluation import (
    ACCEPTED,
    CONCEIVABLE,
    POSSIBLE,
    Answer,
    Call,
    CallFinished,
    CallStarted,
    ConcurrentPredicate,
    Demand,
    Event,
    Externals,
    Failure,
    Limits,
    Observer,
    Portion,
)
from constat.logic import OPEN, OpenRow, Row, display_value
from constat.plan import GroundFact, RulePlan

MAX_FAILURES = 100
FAR = 100
"""From this cost on a source is across a network or a language model."""
DEAR = 1_000
"""From this cost on an answer is paid for, and nothing is asked on the chance that it helps."""


def open_row(columns: Columns, key: Row, width: int) -> OpenRow:
    """The pattern of a key, with placeholders in the columns that it does not bind."""
    known = dict(zip(columns, key, strict=True))
    return tuple(known.get(place, OPEN) for place in range(width))


def _names(demand: Demand) -> tuple[str, ...]:
    return tuple(demand.predicate.columns[column].name for column in demand.columns)


class State:
    """The growing knowledge of one evaluation. Single-threaded; thrown away with the outcome."""

    def __init__(
        self, program: AnalysedProgram, externals: Externals, limits: Limits, observe: Observer
    ) -> None:
        self.program = program
        self.limits = limits
        self.calls: list[Call] = []
        self.failures: list[Failure] = []
        self.facts: dict[str, dict[Row, Portion]] = {}
        self._derived = frozenset(rule.head.predicate for rule in program.rules)
        self.stated: dict[str, dict[Row, int]] = {}
        self.texts = Texts(limits.memory)
        self._externals = externals
        self._observe = observe
        self._relations: dict[str, Relation] = {}
        self._served: dict[str, Served] = {}
        self._deadline = time.monotonic() + limits.seconds
        self._stamp = 0
        self._rows = 0

    def tell(self, event: Event) -> None:
        """Pass an event on."""
        self._observe(event)

    def may_widen(self, predicate: str) -> bool:
        """Whether a predicate may be asked for more than a key: only from outside, and near."""
        external = self._externals.get(predicate)
        derived = predicate in self._derived
        return external is not None and external.cost < FAR and not derived

    def source_beside(self, predicate: str) -> str:
        """The source of a far predicate that may be asked together with others; else empty."""
        external = self._externals.get(predicate)
        if not isinstance(external, ConcurrentPredicate) or predicate in self._derived:
            return ""
        return external.source if FAR <= external.cost < DEAR else ""

    def relation(self, predicate: str) -> Relation:
        """The relation of a predicate."""
        found = self._relations.get(predicate)
        if found is None:
            arity = self.program.program.predicates[predicate].arity
            found = self._relations[predicate] = Relation(arity)
        return found

    def served(self, predicate: str) -> Served:
        """What was asked of a predicate."""
        found = self._served.get(predicate)
        if found is None:
            found = self._served[predicate] = Served()
        return found

    def complete(self, predicate: str, columns: Columns, keys: Iterable[Row]) -> None:
        """Record that everything about these keys of a predicate is there."""
        self.served(predicate).complete(columns, keys, self._stamp)

    def finish(self) -> None:
        """End the evaluation: its bounds do not bind the search for derivations."""
        self._deadline = math.inf
        self.texts.unbind()

    def check(self) -> None:
        """Stop at a limit, and where an interruption was swallowed."""
        check_interrupted()
        if time.monotonic() > self._deadline:
            raise LimitReachedError(self.limits.reached("seconds"))
        if self._rows > self.limits.rows:
            raise LimitReachedError(self.limits.reached("rows"))

    def add(
        self, predicate: str, sure: Iterable[Row], weak: Iterable[tuple[OpenRow, int]]
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        """Add rows under a new stamp; give what is new."""
        self._stamp += 1
        relation = self.relation(predicate)
        new = relation.add_sure(sure, self._stamp)
        new_weak = relation.add_weak(weak, self._stamp)
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
            if place < len(binding) and name in kinds
        }
        failure = Failure(rule.rule, reason, shown)
        if failure not in self.failures:
            self.failures.append(failure)

    def fetch(
        self, predicate: str, columns: Columns, keys: tuple[Row, ...]
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        """Ask outside for keys and load what comes back; give the rows that are new."""
        return self.fetch_together(((predicate, columns, keys),))[0]

    def fetch_together(
        self, wanted: Sequence[tuple[str, Columns, tuple[Row, ...]]]
    ) -> list[tuple[list[Row], list[tuple[OpenRow, int]]]]:
        """Ask several sources at the same time; what comes back is loaded in the given order."""
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

    def _demand(self, predicate: str, columns: Columns, keys: tuple[Row, ...]) -> Demand:
        declared = self.program.program.predicates[predicate]
        return Demand(declared, columns, tuple(sorted(keys)))

    def _received(
        self, demand: Demand, answer: Answer, seconds: float
    ) -> tuple[list[Row], list[tuple[OpenRow, int]]]:
        call = Call(len(self.calls) + 1, demand, answer, seconds)
        self.calls.append(call)
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
        facts = self.facts.setdefault(name, {})
        sure: list[Row] = []
        weak: list[tuple[OpenRow, int]] = []
        for portion in answer.portions:
            if portion.assumption is None:
                facts.update(dict.fromkeys(portion.rows, portion))
                sure.extend(portion.rows)
                continue
            for row in portion.rows:
                facts.setdefault(row, portion)
                weak.append((row, ACCEPTED))
        weak.extend(
            (opening.row, POSSIBLE if opening.assumption is None else CONCEIVABLE)
            for opening in answer.openings
        )
        width = demand.predicate.arity
        if ((OPEN,) * width, POSSIBLE) not in weak:
            unanswered = (key for key in demand.keys if key not in answer.answered)
            weak.extend((open_row(demand.columns, key, width), POSSIBLE) for key in unanswered)
        return self.add(name, sure, weak)
