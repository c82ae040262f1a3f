"""The steps of a rule, each executed on a whole batch of bindings.

In: a step and a batch. Out: the next batch. Where a step needs rows that were not asked for yet
it *yields* a `Request` and goes on when that has been completed; a driver with its own stack
answers (see `evaluation`), so that deep rule chains cost heap and not call stack. Negated and
aggregated predicates are therefore complete before they are used (semantics 14).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from constat.engine.aggregates import Groups
from constat.engine.batch import Batch, Binding, Weak
from constat.engine.expressions import reads_hole, reads_open, same_label, test_of, value_of
from constat.engine.joins import join
from constat.engine.null_cells import has_hole, is_hole
from constat.engine.products import Finder, pairs
from constat.engine.relation import Columns, assign, key_getter, tuple_getter
from constat.engine.state import State
from constat.engine.totals import NO_VALUE
from constat.evaluation import ABSENT, CERTAIN, POSSIBLE, LimitReachedError
from constat.logic import OPEN, EvaluationError, Row
from constat.plan import Absence, Compute, Filter, Fold, Join, RulePlan, Slot, Step

REFLEXIVE = frozenset({"=", "<=", ">="})
IRREFLEXIVE = frozenset({"!=", "<", ">"})
_MANY = 8
"""From this many bindings on it is looked for an equation that saves a product."""


@dataclass(frozen=True, slots=True)
class Request:
    """Make the rows of a predicate complete for these keys.

    `beside` are requests that will be needed as well, to other sources, far away all of them.
    """

    predicate: str
    columns: Columns
    keys: tuple[Row, ...]
    beside: tuple[Request, ...] = ()


Requests = Generator[Request, None, Batch]


class Steps:
    """Executes steps against the state of one evaluation.

    With `closed` nothing is asked for any more: what was not asked for counts as open. That is
    how derivations are found afterwards, when an answer must not rest on questions nobody asked.
    """

    def __init__(self, state: State, *, closed: bool = False) -> None:
        self._state = state
        self._closed = closed
        self._finder = Finder(state.texts)

    def run(
        self, steps: tuple[Step, ...], batch: Batch, rule: RulePlan, *, inner: bool = False
    ) -> Requests:
        """Run steps one after the other; stop early when no binding is left."""
        for number in range(len(steps)):
            if not batch:
                break
            batch = yield from self.step(steps, number, batch, rule, inner=inner)
            self._state.check()
        return batch

    def step(
        self,
        steps: tuple[Step, ...],
        number: int,
        batch: Batch,
        rule: RulePlan,
        *,
        inner: bool = False,
    ) -> Requests:
        """Run one of the steps."""
        step = steps[number]
        match step:
            case Join():
                yield from self._need(step, batch, steps[number + 1 :])
                served = self._state.served(step.predicate)
                relation = self._state.relation(step.predicate)
                out = self._product(step, batch, steps[number + 1 :])
                if out is None:
                    nulls = self._state.nulls
                    out = join(step, batch, relation, served, self._state.limits, nulls=nulls)
                if self._closed and inner:
                    self._open_unserved(step, batch, out)
                return out
            case Absence():
                yield from self._need(step, batch, steps[number + 1 :])
                return self._absence(step, batch)
            case Filter():
                return self._filter(step, batch, rule)
            case Compute():
                return self._compute(step, batch, rule)
            case Fold():
                return (yield from self._fold(step, batch, rule))
            case _:
                assert_never(step)

    def _product(self, step: Join, batch: Batch, later: tuple[Step, ...]) -> Batch | None:
        """Join without a key where all is known and a later equation chooses the pairs."""
        state = self._state
        relation = state.relation(step.predicate)
        if self._closed and not (batch.weak or relation.weak or state.nulls):
            return self._found(step, batch, later)
        if step.columns or batch.weak or relation.weak or len(batch.sure) < _MANY:
            return None
        if self._state.nulls:
            return None
        rows = relation.lookup((), step.kept, step.same).get((), ())
        found = pairs(batch.sure, rows, later, state.texts, state.limits.rows, clock=state.clock)
        return None if found is None else Batch(found)

    def _found(self, step: Join, batch: Batch, later: tuple[Step, ...]) -> Batch:
        """Join where rows change no more: those are looked up that a later equation lets pass."""
        lookup = self._state.relation(step.predicate).lookup
        get = lookup(step.columns, step.kept, step.same, step.read).get
        key_of, limits = key_getter(step.key), self._state.limits
        out: list[Binding] = []
        for binding in self._state.clock.over(batch.sure):
            key = key_of(binding)
            rows = self._finder.rows(step, later, binding, key, get(key, ()))
            if len(out) + len(rows) > limits.rows:
                message = f"a rule joins more than {limits.rows:,} rows{limits.raising('rows')}"
                raise LimitReachedError(message)
            out += [binding + row for row in rows]
        return Batch(out)

    def _need(
        self, step: Join | Absence, batch: Batch, later: tuple[Step, ...]
    ) -> Generator[Request, None, None]:
        if self._closed:
            return
        if self._state.is_whole(step.predicate):
            if self._state.missing(step.predicate, (), ((),)):
                yield Request(step.predicate, (), ((),))
            return
        missing = self._missing(step, batch)
        if missing:
            beside = self._beside(step, batch, later)
            yield Request(step.predicate, step.columns, missing, beside)
        if (batch.weak and isinstance(step, Join)) or self._state.nulls:
            # Otherwise an unknown premise could hide that the next one is false whatever it is
            # (semantics 12).
            for columns, keys in self._state.wider(step, batch):
                yield Request(step.predicate, columns, keys)

    def _missing(self, step: Join | Absence, batch: Batch) -> tuple[Row, ...]:
        keys = batch.keys(tuple_getter(step.key))
        return tuple(self._state.missing(step.predicate, step.columns, keys))

    def _beside(
        self, step: Join | Absence, batch: Batch, later: tuple[Step, ...]
    ) -> tuple[Request, ...]:
        """Give what later steps will ask of other far sources with slots that are known already.

        While one far source is waited for, another can answer. Some keys may turn out not to be
        needed; that is why near sources, and those that are paid for, are never asked ahead.
        """
        sources = {self._state.source_beside(step.predicate)}
        if "" in sources:
            return ()
        width = len(batch.sure[0] if batch.sure else batch.weak[0][0])
        found = []
        for other in later:
            if not isinstance(other, Join | Absence) or max(other.key, default=-1) >= width:
                continue
            source = self._state.source_beside(other.predicate)
            missing = self._missing(other, batch) if source and source not in sources else ()
            if missing:
                sources.add(source)
                found.append(Request(other.predicate, other.columns, missing))
        return tuple(found)

    def _open_unserved(self, step: Join, batch: Batch, out: Batch) -> None:
        served = self._state.served(step.predicate)
        key = tuple_getter(step.key)
        unknown = (OPEN,) * len(step.kept)
        over = self._state.clock.over
        for binding in over((*batch.sure, *(weak for weak, _ in batch.weak))):
            asked = key(binding)
            if not has_hole(asked) and not served.covers(step.columns, asked):  # type: ignore[arg-type]  # no placeholder
                out.weak.append((binding + unknown, POSSIBLE))

    def _absence(self, step: Absence, batch: Batch) -> Batch:
        relation = self._state.relation(step.predicate)
        key = tuple_getter(step.key)
        out = Batch()
        plain = not relation.weak and not self._closed and not self._state.nulls
        if plain and len(step.columns) == step.arity:
            sure = relation.sure
            over = self._state.clock.over
            out.sure = [binding for binding in over(batch.sure) if key(binding) not in sure]
            return self._absence_weak(step, batch, out)
        for binding in self._state.clock.over(batch.sure):
            self._keep(out, binding, CERTAIN, self._absence_strength(step, binding))
        return self._absence_weak(step, batch, out)

    def _absence_weak(self, step: Absence, batch: Batch, out: Batch) -> Batch:
        for binding, strength in self._state.clock.over(batch.weak):
            self._keep(out, binding, strength, self._absence_strength(step, binding))
        return out

    def _absence_strength(self, step: Absence, binding: Binding) -> int:
        values = [binding[place] for place in step.key]
        if OPEN in values:
            return POSSIBLE
        served = self._state.served(step.predicate)
        relation = self._state.relation(step.predicate)
        bound = assign(step.columns, values)
        found = relation.strength(bound, served.completed, step.read)
        known = {column: value for column, value in bound.items() if not is_hole(value)}
        if (self._closed or len(known) < len(bound)) and not served.covers(
            tuple(known),
            tuple(known.values()),  # type: ignore[arg-type]  # no placeholder
        ):
            found = max(found, POSSIBLE)
        # In max-min logic over -1..3 negation mirrors the chain: certain and absent change places.
        return CERTAIN - 1 - found

    @staticmethod
    def _keep(out: Batch, binding: Binding, *strengths: int) -> None:
        least = min(strengths)
        if least == CERTAIN:
            out.sure.append(binding)
        elif least > ABSENT:
            out.weak.append((binding, least))

    def _filter(self, step: Filter, batch: Batch, rule: RulePlan) -> Batch:
        holds = test_of(step, self._state.texts)
        out = Batch()
        over = self._state.clock.over
        if self._state.nulls:
            self._filter_all(step, ((one, CERTAIN) for one in batch.sure), rule, out)
        else:
            try:
                out.sure = list(filter(holds, over(batch.sure)))
            except EvaluationError:
                self._filter_all(step, ((one, CERTAIN) for one in batch.sure), rule, out)
        self._filter_all(step, batch.weak, rule, out)
        return out

    def _filter_all(
        self, step: Filter, bindings: Iterable[Weak], rule: RulePlan, out: Batch
    ) -> None:
        holds = test_of(step, self._state.texts)
        for binding, strength in self._state.clock.over(bindings):
            if same_label(step.left, step.right, binding):
                if step.operator in REFLEXIVE:
                    self._keep(out, binding, strength)
                elif step.operator not in IRREFLEXIVE:
                    out.weak.append((binding, min(strength, POSSIBLE)))
            elif reads_hole(step.left, binding) or reads_hole(step.right, binding):
                # An equality could fix the placeholder, and need not: less precise, never wrong
                # (semantics 7).
                out.weak.append((binding, min(strength, POSSIBLE)))
            else:
                self._filter_one(holds, binding, strength, rule, out)

    def _filter_one(
        self,
        holds: Callable[[Binding], bool],
        binding: Binding,
        strength: int,
        rule: RulePlan,
        out: Batch,
    ) -> None:
        try:
            if holds(binding):
                self._keep(out, binding, strength)
        except EvaluationError as error:
            self._state.fail(rule, binding, str(error))
            out.weak.append((binding, min(strength, POSSIBLE)))

    def _compute(self, step: Compute, batch: Batch, rule: RulePlan) -> Batch:
        out = Batch()
        over = self._state.clock.over
        if self._state.nulls:
            self._compute_all(step, ((one, CERTAIN) for one in batch.sure), rule, out)
        else:
            value = value_of(step.expression, self._state.texts)
            try:
                out.sure = [(*binding, value(binding)) for binding in over(batch.sure)]
            except EvaluationError:
                self._compute_all(step, ((one, CERTAIN) for one in batch.sure), rule, out)
        self._compute_all(step, batch.weak, rule, out)
        return out

    def _compute_all(
        self, step: Compute, bindings: Iterable[Weak], rule: RulePlan, out: Batch
    ) -> None:
        value = value_of(step.expression, self._state.texts)
        carries = isinstance(step.expression, Slot)
        for binding, strength in self._state.clock.over(bindings):
            # A variable carries a label on; functions make of it what nobody knows.
            if reads_hole(step.expression, binding) and not (
                carries and not reads_open(step.expression, binding)
            ):
                out.weak.append(((*binding, OPEN), min(strength, POSSIBLE)))
            else:
                self._compute_one(value, binding, strength, rule, out)

    def _compute_one(
        self,
        value: Callable[[Binding], object],
        binding: Binding,
        strength: int,
        rule: RulePlan,
        out: Batch,
    ) -> None:
        try:
            self._keep(out, (*binding, value(binding)), strength)  # type: ignore[arg-type]  # a value of the plan
        except EvaluationError as error:
            self._state.fail(rule, binding, str(error))
            out.weak.append(((*binding, OPEN), min(strength, POSSIBLE)))

    def _fold(self, step: Fold, batch: Batch, rule: RulePlan) -> Requests:
        if step.threshold is not None:
            # The component decides it as rows come; whoever looks back lists the rows itself.
            return passed(batch)
        group = tuple_getter(step.group)
        groups = batch.keys(group)
        inner = Batch([key + step.constants for key in groups])
        inner = yield from self.run(step.steps, inner, inside(rule), inner=True)

        def fail(reason: str) -> None:
            self._state.fail(rule, (), reason)

        nulls, clock = self._state.nulls, self._state.clock
        folded = Groups(step, groups, inner, fail, self._state.texts, nulls=nulls, clock=clock)
        out = Batch()
        every = [*((one, CERTAIN) for one in batch.sure), *batch.weak]
        for binding, strength in self._state.clock.over(every):
            key = group(binding)
            if OPEN in key:
                out.weak.append(((*binding, OPEN), min(strength, POSSIBLE)))
                continue
            for value, other in folded.values(key):
                self._keep(out, (*binding, value), strength, other)
        return out


def inside(rule: RulePlan) -> RulePlan:
    """The rule as the steps of an aggregate see it.

    There slots mean other variables: a failure is told by its rule and reason alone.
    """
    return replace(rule, variables={})


def passed(batch: Batch) -> Batch:
    """Give a batch with the slot of a threshold, undecided."""
    return Batch(
        [(*one, NO_VALUE) for one in batch.sure],
        [((*one, NO_VALUE), strength) for one, strength in batch.weak],
    )
