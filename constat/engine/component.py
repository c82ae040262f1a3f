"""The fixpoint of a recursive component, semi-naive and driven by demand."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from constat.engine.batch import Batch, Binding, slot_of, widest
from constat.engine.joins import Waiting, join
from constat.engine.relation import tuple_getter
from constat.engine.state import Procedures, State
from constat.engine.steps import Request, Steps, Totals, inside
from constat.evaluation import ABSENT, ACCEPTED, POSSIBLE, LimitReachedError, RoundFinished
from constat.frozen import frozen, slotted
from constat.logic import OPEN, EvaluationError, OpenRow, Row
from constat.plan import Beyond, Columns, Expression, Fold, Join, Procedure, RulePlan, Slot, Step

if TYPE_CHECKING:
    from constat.logic import Slot as SlotValue


def start(rule: RulePlan, keys: Iterable[Row]) -> Batch:
    """The first bindings of a rule.

    A key and the rule's constants, where the head can match the key.
    """
    bindings: list[Binding] = [key + rule.constants for key in keys]
    for one, other in rule.checks:
        bindings = [binding for binding in bindings if binding[one] == binding[other]]
    return Batch(bindings)


def heads(
    rule: RulePlan, batch: Batch, state: State
) -> tuple[dict[Row, None], list[tuple[OpenRow, int]]]:
    """The head rows of a finished batch: certain ones and weaker ones, in the order found.

    An assumed rule gives no certain rows.
    """
    over = state.clock.over
    weak = [(_open_row(rule, binding, state), strength) for binding, strength in over(batch.weak)]
    if all(isinstance(one, Slot) for one in rule.head):
        getter = tuple_getter([one.place for one in rule.head if isinstance(one, Slot)])
        sure = dict.fromkeys(map(getter, over(batch.sure)))
    else:
        rows = [_open_row(rule, binding, state) for binding in over(batch.sure)]
        sure = dict.fromkeys(row for row in rows if OPEN not in row)
        weak.extend((row, POSSIBLE) for row in rows if OPEN in row)
    if rule.assumed:
        weak.extend((row, ACCEPTED) for row in sure)
        weak = [(row, min(strength, ACCEPTED)) for row, strength in weak]
        sure = {}
    weak = [(row, min(strength, POSSIBLE) if OPEN in row else strength) for row, strength in weak]
    return sure, weak  # type: ignore[return-value]  # certain bindings hold no placeholder


def _open_row(rule: RulePlan, binding: Binding, state: State) -> OpenRow:
    return tuple(_slot(one, rule, binding, state) for one in rule.head)


def _slot(expression: Expression, rule: RulePlan, binding: Binding, state: State) -> SlotValue:
    if isinstance(expression, Slot):
        return binding[expression.place]
    try:
        return slot_of(expression, binding, state.texts)
    except EvaluationError as error:
        state.fail(rule, binding, str(error))
        return OPEN


# Rows live through three stages: *added* in this round (not yet visible), *recent* (joined with
# everything that waits for them), and *stable*. Every rule is cut at its recursive literals; the
# bindings that reach one are kept there (`Waiting`), so that a binding meets the rows it found
# when it came and, later, each row that is new. Demands of recursive literals become new keys of
# the component's own procedures. What lies below is complete before it is used, because it is
# requested and waited for. The assignments of a threshold over the component itself are found in
# the same way, by a chain of steps of its own that ends in `Totals`: only groups with new rows are
# summed.
# Invariant at the end of `run`: no key is pending and no row is recent, so every demanded pattern
# is complete. See Balbin and Ramamohanarao, A generalization of the differential approach to
# recursive query evaluation (1987).

_MANY = 64
"""From this many weak bindings on it pays to look for those that say nothing of their own."""


@frozen
class _Chain:
    """The steps of a rule of a procedure, or of the threshold at a step of it.

    The steps of a threshold end in its totals, and go on behind `fold` in the chain `outer`.
    """

    procedure: Procedure
    rule: RulePlan
    steps: tuple[Step, ...]
    outer: _Chain | None = None
    fold: int = -1

    @property
    def name(self) -> tuple[str, Columns, int, int]:
        """What tells this chain from others."""
        return (self.procedure.predicate, self.procedure.columns, self.rule.rule, self.fold)


@slotted
class _Stage:
    """A chain, cut before the recursive literal at `place`."""

    chain: _Chain
    place: int
    waiting: Waiting


@slotted
class _Added:
    """Rows that came in this round and are not visible yet."""

    sure: dict[Row, None] = field(default_factory=dict)
    weak: dict[OpenRow, int] = field(default_factory=dict)


class Component:
    """One strongly connected component during one evaluation; keeps its state between demands."""

    def __init__(self, number: int, procedures: Procedures, state: State, steps: Steps) -> None:
        plan = procedures.plan
        self.predicates = tuple(name for name, one in plan.component.items() if one == number)
        self._procedures = procedures
        self._state = state
        self._steps = steps
        self._pending: dict[tuple[str, Columns], list[Row]] = {}
        self._added: dict[str, _Added] = {name: _Added() for name in self.predicates}
        self._recent: dict[str, tuple[list[Row], list[tuple[OpenRow, int]]]] = {}
        self._stages: dict[tuple[str, Columns, int, int, int], _Stage] = {}
        self._totals: dict[tuple[str, Columns, int, int], tuple[_Chain, Totals]] = {}
        self._asked: list[tuple[str, Columns, list[Row]]] = []
        self._round = 0

    def demand(self, predicate: str, columns: Columns, keys: Iterable[Row]) -> None:
        """Ask for keys that are not served yet."""
        state = self._state
        new = state.missing(predicate, columns, dict.fromkeys(keys))
        if not new:
            return
        plain = state.ask(predicate, columns, new)
        if not columns:
            self._supersede(predicate)
        facts = self._procedures.get(predicate, columns).facts
        self._see(predicate, *state.state_facts(predicate, facts))
        if plain and predicate in state.program.external:
            self._see(predicate, *state.fetch(predicate, columns, tuple(plain)))
        self._pending.setdefault((predicate, columns), []).extend(new)
        self._asked.append((predicate, columns, new))

    def _supersede(self, predicate: str) -> None:
        """Drop the work for single keys of a predicate of which everything is asked for now.

        A rule such as `part(?t) :- part(?l), ?t = field_of(?l, 1).` asks for everything whatever
        the key. Its keys would each be compared with each row, for rows that come without them.
        """
        self._state.served(predicate).narrow_no_more()
        for name in [one for one in self._pending if one[0] == predicate and one[1]]:
            del self._pending[name]
        for stage in [one for one in self._stages if one[0] == predicate and one[1]]:
            del self._stages[stage]
        for totals in [one for one in self._totals if one[0] == predicate and one[1]]:
            del self._totals[totals]

    def _is_superseded(self, procedure: Procedure) -> bool:
        return bool(procedure.columns) and self._state.served(procedure.predicate).whole

    def _see(self, predicate: str, sure: list[Row], weak: list[tuple[OpenRow, int]]) -> None:
        """Rows that are visible at once are recent too: what waits must still meet them."""
        if sure or weak:
            earlier = self._recent.get(predicate, ([], []))
            self._recent[predicate] = (earlier[0] + sure, earlier[1] + weak)

    def run(self, settled: Callable[[], bool]) -> Generator[Request, None, None]:
        """Work until nothing is pending and nothing is recent, or until the goal is settled."""
        lifted = False
        while True:
            if self._pending or self._recent:
                # What was lifted rests on all that is possible in its group: it stays recorded.
                if not lifted and settled():
                    break
                yield from self._round_of_work()
            elif (yield from self._lift()):
                lifted = True
            else:
                break
        if not self._pending and not self._recent:
            for predicate, columns, keys in self._asked:
                self._state.complete(predicate, columns, keys)
            self._asked.clear()

    def _round_of_work(self) -> Generator[Request, None, None]:
        self._round += 1
        self._state.check()
        if self._round > self._state.limits.rounds:
            raise LimitReachedError(
                f"the limit of {self._state.limits.rounds:,} rounds was reached"
            )
        yield from self._meet_recent()
        while self._pending:
            (predicate, columns), keys = self._pending.popitem()
            yield from self._open_keys(self._procedures.get(predicate, columns), keys)
        self._promote()

    def _lift(self) -> Generator[Request, None, bool]:
        """Let the groups that are complete now give certain rows; tell whether any did."""
        batches = [(chain, totals.lift()) for chain, totals in self._totals.values()]
        lifted = [(chain, batch) for chain, batch in batches if batch]
        for chain, batch in lifted:
            yield from self._leave(chain, batch)
        if lifted:
            self._promote()
        return bool(lifted)

    def _meet_recent(self) -> Generator[Request, None, None]:
        """Join what waits with the recent rows, all before anything new waits."""
        met: list[tuple[_Stage, Batch]] = []
        for stage in self._stages.values():
            recent = self._recent.get(stage.waiting.step.predicate)
            if recent is not None:
                met.append((stage, stage.waiting.meet(*recent, nulls=self._state.nulls)))
        self._recent = {}
        for stage, batch in met:
            yield from self._advance(stage.chain, stage.place + 1, batch)

    def _open_keys(self, procedure: Procedure, keys: list[Row]) -> Generator[Request, None, None]:
        for rule in procedure.rules:
            yield from self._advance(_Chain(procedure, rule, rule.steps), 0, start(rule, keys))

    def _advance(self, chain: _Chain, place: int, batch: Batch) -> Generator[Request, None, None]:
        """Take bindings from a step of a chain to its end."""
        if self._is_superseded(chain.procedure):
            return
        for number in range(place, len(chain.steps)):
            if not batch:
                return
            if len(batch.weak) > _MANY:
                batch.weak = widest(batch.weak)
            step = chain.steps[number]
            match step:
                case Join(predicate=predicate) if predicate in self._added:
                    batch = self._wait(chain, number, step, batch)
                case Fold(threshold=Beyond() as threshold):
                    batch = yield from self._total(chain, number, step, threshold, batch)
                case _:
                    batch = yield from self._steps.step(chain.steps, number, batch, chain.rule)
            self._state.check()
        if not batch:
            return
        if chain.outer is None:
            self._add(chain.procedure.predicate, chain.rule, batch)
        else:
            _, totals = self._totals[chain.name]
            yield from self._leave(chain, totals.add(batch))

    def _leave(self, chain: _Chain, batch: Batch) -> Generator[Request, None, None]:
        """Go on with the rule behind its threshold."""
        if chain.outer is not None:
            yield from self._advance(chain.outer, chain.fold + 1, batch)

    def _total(
        self, chain: _Chain, number: int, step: Fold, threshold: Beyond, batch: Batch
    ) -> Generator[Request, None, Batch]:
        """Let bindings wait for their totals; give those that need not, and look for the rest."""
        inner = _Chain(chain.procedure, inside(chain.rule), step.steps, chain, number)
        known = self._totals.get(inner.name)
        if known is None:

            def fail(binding: Binding, reason: str) -> None:
                self._state.fail(chain.rule, binding, reason)

            known = self._totals[inner.name] = (
                inner,
                Totals(step, threshold, fail, self._state.texts, self._state.clock),
            )
        released, groups = known[1].wait(batch)
        yield from self._advance(inner, 0, Batch([group + step.constants for group in groups]))
        return released

    def _wait(self, chain: _Chain, number: int, step: Join, batch: Batch) -> Batch:
        name = (*chain.name, number)
        stage = self._stages.get(name)
        if stage is None:
            stage = self._stages[name] = _Stage(chain, number, Waiting(step, self._state.clock))
        new = stage.waiting.add(batch, nulls=self._state.nulls)
        if self._state.is_whole(step.predicate):
            self.demand(step.predicate, (), ((),))
        else:
            self.demand(step.predicate, step.columns, new.keys(tuple_getter(step.key)))
        for columns, keys in self._state.wider(step, new):
            self.demand(step.predicate, columns, keys)
        if self._is_superseded(chain.procedure):
            self._stages.pop(name, None)
            return Batch()
        state = self._state
        served = state.served(step.predicate)
        relation = state.relation(step.predicate)
        return join(step, new, relation, served, state.limits, nulls=state.nulls)

    def _add(self, predicate: str, rule: RulePlan, batch: Batch) -> None:
        if not batch:
            return
        sure, weak = heads(rule, batch, self._state)
        added = self._added[predicate]
        relation = self._state.relation(predicate)
        known = relation.sure
        added.sure |= dict.fromkeys([row for row in sure if row not in known])
        for row, strength in weak:
            # What is wholly open in a recursion would be spelled out pair by pair.
            if strength > added.weak.get(row, ABSENT) and not relation.says(row, strength):
                added.weak[row] = strength

    def _promote(self) -> None:
        """Make the rows of this round visible; they are recent in the next."""
        total = 0
        for predicate, added in self._added.items():
            if not added.sure and not added.weak:
                continue
            self._added[predicate] = _Added()
            sure, weak = self._state.add(predicate, added.sure, added.weak.items())
            if sure or weak:
                earlier = self._recent.get(predicate, ([], []))
                self._recent[predicate] = (earlier[0] + sure, earlier[1] + weak)
                total += len(sure) + len(weak)
        self._state.tell(RoundFinished(self.predicates, self._round, total))
