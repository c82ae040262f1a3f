"""The steps of a rule on a whole batch of bindings: joins, aggregates, totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import field, replace
from decimal import Decimal
from typing import assert_never, cast

from constat.engine.batch import (
    Batch,
    Binding,
    Weak,
    cell_of,
    reads_hole,
    same_label,
    strongest,
    test_of,
    value_of,
    values_of,
)
from constat.engine.joins import Finder, join, pairs
from constat.engine.relation import (
    Columns,
    Key,
    Texts,
    are_distinct,
    assign,
    has_hole,
    is_doubtful,
    is_hole,
    is_null,
    key_getter,
    told_apart,
    tuple_getter,
)
from constat.engine.state import State
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    UNTIMED,
    Clock,
    LimitReachedError,
    PackedColumn,
    PackedRows,
)
from constat.frozen import frozen, slotted
from constat.logic import (
    OPEN,
    TURNED,
    EvaluationError,
    Row,
    Value,
    add_exactly,
    fold,
    is_beyond,
    is_ruled_out,
)
from constat.logic import Slot as SlotValue
from constat.plan import (
    Absence,
    Beyond,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    RulePlan,
    Slot,
    Step,
    slots_of,
)

Fail = Callable[[str], None]


class Groups:
    """The assignments of an aggregate, by group."""

    def __init__(  # noqa: PLR0913  what an aggregate is folded from
        self,
        step: Fold,
        groups: set[tuple[Value, ...]],
        inner: Batch,
        fail: Fail,
        texts: Texts,
        *,
        nulls: bool = False,
        clock: Clock = UNTIMED,
    ) -> None:
        self._nulls = nulls
        self._step = step
        self._fail = fail
        self._texts = texts
        self._over = clock.over
        self._width = len(step.group)
        self._sure: dict[Binding, dict[Binding, Binding]] = {group: {} for group in groups}
        self._weak: dict[Binding, dict[Binding, tuple[Binding, int]]] = {}
        self._folded: dict[Binding, list[tuple[SlotValue, int]]] = {}
        self._sort(inner)

    def _sort(self, inner: Batch) -> None:
        width = self._width
        distinct = tuple_getter(self._step.distinct)
        if len(self._sure) == 1:
            # All assignments are those of the one group, so nobody has to look for theirs.
            (only,) = self._sure.values()
            only.update(zip(map(distinct, self._over(inner.sure)), inner.sure, strict=True))
        else:
            for binding in self._over(inner.sure):
                self._sure[binding[:width]][distinct(binding)] = binding
        for binding, strength in strongest(self._over(inner.weak)).items():
            group, assignment = binding[:width], distinct(binding)
            if assignment in self._sure[group]:
                continue
            weak = self._weak.setdefault(group, {})
            if assignment not in weak or weak[assignment][1] < strength:
                weak[assignment] = (binding, strength)

    def values(self, group: Binding) -> list[tuple[SlotValue, int]]:
        """The aggregate's values for a group with their strengths.

        None where an exact value does not exist.
        """
        folded = self._folded.get(group)
        if folded is None:
            folded = self._folded[group] = self._fold_group(group)
        return folded

    def _fold_group(self, group: Binding) -> list[tuple[SlotValue, int]]:
        sure = list(self._sure[group].values())
        weak = list(self._weak.get(group, {}).values())
        if not weak:
            return self._exact(sure, CERTAIN)
        if any(strength == POSSIBLE for _, strength in weak):
            return [(OPEN, POSSIBLE)]
        accepted = sure + [binding for binding, strength in weak if strength == ACCEPTED]
        # The hard reading does not know the assumed rows; the accepted one does.
        return [*self._exact(accepted, ACCEPTED), (OPEN, CONCEIVABLE)]

    def members(self, group: Binding) -> tuple[Value | None, Value | None]:
        """The member that is furthest out, of those that are certain and of those accepted too.

        Where the least or the greatest is not exact, it is not within these.
        """
        sure = list(self._sure[group].values())
        weak = self._weak.get(group, {}).values()
        accepted = [binding for binding, strength in weak if strength == ACCEPTED]
        return self._furthest(sure), self._furthest(sure + accepted)

    def _furthest(self, bindings: list[Binding]) -> Value | None:
        place = cast("Slot", self._step.target).place
        cells = [cell for one in bindings if not is_hole(cell := one[place])]
        return fold(self._step.function, self._step.kind, cast("list[Value]", cells))

    def _is_exact(self, bindings: list[Binding]) -> bool:
        """Whether bindings with null cells are as many in every case, or their number is no matter.

        What nobody knows may make two of them one.
        """
        if self._step.function in {"min", "max"}:
            return True
        return are_distinct(list(map(tuple_getter(self._step.distinct), bindings)))

    def _exact(self, bindings: list[Binding], strength: int) -> list[tuple[SlotValue, int]]:
        target = self._step.target
        try:
            values: list[Value] | None = [1] * len(bindings)
            if target is not None:
                values = values_of(target, bindings, self._texts, nulls=self._nulls)
            if values is None or (self._nulls and not self._is_exact(bindings)):
                return [(OPEN, POSSIBLE)]
            value = fold(self._step.function, self._step.kind, values)
        except EvaluationError as error:
            self._fail(str(error))
            return [(OPEN, POSSIBLE)]
        return [] if value is None else [(value, strength)]


class PackedGroups:
    """What the assignments of an aggregate add, by group; all of them are different and certain."""

    def __init__(
        self, step: Fold, groups: set[tuple[Value, ...]], fail: Fail, texts: Texts
    ) -> None:
        self._step = step
        self._fail = fail
        self._texts = texts
        self._width = len(step.group)
        self._counts: Counter[Binding] = Counter()
        self._added: dict[Binding, PackedColumn] = {group: PackedColumn() for group in groups}

    def add(self, bindings: list[Binding]) -> bool:
        """Take assignments; tell whether each adds a value. Raises `EvaluationError`."""
        width, target = self._width, self._step.target
        for group in self._added:
            mine = [one for one in bindings if one[:width] == group]
            self._counts[group] += len(mine)
            if target is not None and mine:
                values = values_of(target, mine, self._texts)
                if values is None:
                    return False
                self._added[group].extend(values)
        return True

    def values(self, group: Binding) -> list[tuple[SlotValue, int]]:
        """The aggregate's value for a group; none where an exact value does not exist."""
        counted = self._step.target is None
        values = [1] * self._counts[group] if counted else self._added[group]
        try:
            value = fold(self._step.function, self._step.kind, values)
        except EvaluationError as error:
            self._fail(str(error))
            return [(OPEN, POSSIBLE)]
        return [] if value is None else [(value, CERTAIN)]


# What was given out is never taken back, because a total of rows that are certain is a lower bound
# of the true total as long as no summand is negative.
# Where the text does not rule negative summands out (`Beyond.proven` is false), a group is at most
# possible until `lift`: the component calls it when nothing new can come, and then a group with a
# summand below zero, or with one that nobody knows, stays undecided (semantics 9).

FailOfTotal = Callable[[Binding, str], None]
Number = int | Decimal

NO_VALUE = 0
"""What stands in the slot of a threshold's result: nothing reads it."""


@slotted
class _Waiter:
    """A binding, as strong as it came; `released` is how strong it has been given out."""

    strength: int
    bound: Number
    released: int = ABSENT


@slotted
class _Group:
    """`totals[s]` adds the assignments of at least strength s; negative ones add nothing.

    `unknown` is the greatest strength at which there may be any number of further summands,
    `negative` that of a summand that is, or may be, below zero.
    """

    assignments: dict[Binding, int] = field(default_factory=dict)
    totals: list[Number] = field(default_factory=lambda: [0, 0, 0, 0])
    waiters: dict[Binding, _Waiter] = field(default_factory=dict)
    unknown: int = ABSENT
    negative: int = ABSENT
    lifted: bool = False
    doubtful: dict[Binding, Number] = field(default_factory=dict)
    """What assignments add that may be the same as others, because they hold null cells."""

    def strength(self, operator: str, bound: Number) -> int:
        """How surely the total is beyond a bound, as far as rows are known."""
        for level in (CERTAIN, ACCEPTED, POSSIBLE, CONCEIVABLE):
            if self.unknown >= level or is_beyond(self._total(level), operator, bound):
                return min(level, self.most)
        return ABSENT

    def _total(self, level: int) -> Number:
        """The least that is there at a level, and the most where it is only possible."""
        if not self.doubtful or level < ACCEPTED:
            return self.totals[level]
        there = [one for one, strength in self.assignments.items() if strength >= level]
        values: dict[Binding, Number] = {one: self.doubtful.get(one, 0) for one in there}
        more = sum(values[one] for one in told_apart(values))
        return add_exactly(self.totals[level], more)

    @property
    def most(self) -> int:
        """How strong a conclusion from the group can be."""
        if not self.lifted or self.negative >= POSSIBLE:
            return POSSIBLE
        return ACCEPTED if self.negative == CONCEIVABLE else CERTAIN


class Totals:
    """All groups of one threshold of one rule."""

    def __init__(
        self,
        step: Fold,
        threshold: Beyond,
        fail: FailOfTotal,
        texts: Texts,
        clock: Clock = UNTIMED,
    ) -> None:
        self._threshold = threshold
        self._clock = clock
        self._target: Expression | None = step.target
        self._fail = fail
        self._group = tuple_getter(step.group)
        self._width = len(step.group)
        self._distinct = tuple_getter(step.distinct)
        self._value = None if step.target is None else value_of(step.target, texts)
        self._bound = value_of(threshold.bound, texts)
        self._groups: dict[Binding, _Group] = {}
        self._waiting: list[_Group] = []

    def wait(self, batch: Batch) -> tuple[Batch, list[Binding]]:
        """Take bindings; give those that hold already, and the groups that are new."""
        out = Batch()
        new: list[Binding] = []
        for binding, strength in self._all(batch):
            key = self._group(binding)
            bound = self._bound_of(binding)
            if bound is None or OPEN in key:
                _give(out, binding, min(strength, POSSIBLE))
                continue
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _Group(lifted=self._threshold.proven)
                new.append(key)
                if not group.lifted:
                    self._waiting.append(group)
            waiter = group.waiters.setdefault(binding, _Waiter(strength, bound))
            waiter.strength = max(waiter.strength, strength)
            self._release(group, binding, waiter, out)
        return out, new

    def add(self, inner: Batch) -> Batch:
        """Take assignments; give the bindings that hold by them."""
        touched: dict[Binding, _Group] = {}
        for binding, strength in self._all(inner):
            key = binding[: self._width]
            group = self._groups[key]
            if self._added(group, binding, strength):
                touched[key] = group
        return self._released(touched.values())

    def lift(self) -> Batch:
        """Let complete groups give certain conclusions, where no summand can be negative."""
        groups, self._waiting = self._waiting, []
        for group in self._clock.over(groups):
            group.lifted = True
        return self._released(groups)

    def _all(self, batch: Batch) -> Iterator[tuple[Binding, int]]:
        for binding in self._clock.over(batch.sure):
            yield binding, CERTAIN
        yield from self._clock.over(batch.weak)

    def _bound_of(self, binding: Binding) -> Number | None:
        if reads_hole(self._threshold.bound, binding):
            return None
        try:
            return cast("Number", self._bound(binding))
        except EvaluationError as error:
            self._fail(binding, str(error))
            return None

    def _added(self, group: _Group, binding: Binding, strength: int) -> bool:
        assignment = self._distinct(binding)
        before = group.assignments.get(assignment, ABSENT)
        if strength <= before:
            return False
        group.assignments[assignment] = strength
        value = self._value_of(binding)
        if value is None or value < 0:
            group.negative = max(group.negative, self._doubt(strength, value))
        if value is None or OPEN in assignment:
            # Such a row stands for any number of rows.
            group.unknown = max(group.unknown, min(strength, POSSIBLE))
        elif value > 0:
            if any(map(is_doubtful, assignment)):
                group.doubtful[assignment] = value
                strength = min(strength, POSSIBLE)
            for level in range(before + 1, strength + 1):
                group.totals[level] = add_exactly(group.totals[level], value)
        return True

    def _doubt(self, strength: int, value: Number | None) -> int:
        """How possible it is that this summand is negative."""
        if self._threshold.proven:
            return ABSENT
        if value is not None:
            message = f"{value} is negative, and a recursive sum must not fall"
            self._fail((), message)
        return strength

    def _value_of(self, binding: Binding) -> Number | None:
        if self._value is None or self._target is None:
            return 1
        if reads_hole(self._target, binding):
            return None
        try:
            return cast("Number", self._value(binding))
        except EvaluationError as error:
            self._fail((), str(error))
            return None

    def _released(self, groups: Iterable[_Group]) -> Batch:
        out = Batch()
        for group in self._clock.over(groups):
            waiters = group.waiters.items()
            for binding, waiter in self._clock.over(waiters):
                self._release(group, binding, waiter, out)
        return out

    def _release(self, group: _Group, binding: Binding, waiter: _Waiter, out: Batch) -> None:
        if waiter.released >= waiter.strength:
            return
        found = min(waiter.strength, group.strength(self._threshold.operator, waiter.bound))
        if found > waiter.released:
            waiter.released = found
            _give(out, binding, found)


def _give(out: Batch, binding: Binding, strength: int) -> None:
    extended = (*binding, NO_VALUE)
    if strength == CERTAIN:
        out.sure.append(extended)
    else:
        out.weak.append((extended, strength))


REFLEXIVE = frozenset({"=", "<=", ">="})
IRREFLEXIVE = frozenset({"!=", "<", ">"})
_MANY = 8
"""From this many bindings on it is looked for an equation that saves a product."""


@frozen
class Request:
    """Make the rows of a predicate complete for these keys.

    `beside` are requests that will be needed as well, to other sources, far away all of them. Of
    one that `packs` the rows are only gone through.
    """

    predicate: str
    columns: Columns
    keys: tuple[Row, ...]
    beside: tuple[Request, ...] = ()
    packs: bool = False


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
        self._members: dict[tuple[int, Binding], tuple[Value | None, Value | None]] = {}
        """By the step of a least or greatest and its group: the members that bound it."""

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
        batch = yield from self._step(steps, number, batch, rule, inner=inner)
        return self._within(batch, rule) if steps is rule.steps else batch

    def _step(
        self,
        steps: tuple[Step, ...],
        number: int,
        batch: Batch,
        rule: RulePlan,
        *,
        inner: bool,
    ) -> Requests:
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
        relation = self._state.relation(step.predicate)
        alone = key_getter(step.key)(batch.sure[0]) if len(batch.sure) == 1 else None
        get = relation.lookup(step.columns, step.kept, step.same, step.read, alone).get
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
        out = Batch()
        over = self._state.clock.over
        doubtful = self._doubtful(step, len(batch.sure))
        if doubtful is None:
            for binding in over(batch.sure):
                self._keep(out, binding, CERTAIN, self._absence_strength(step, binding))
            return self._absence_weak(step, batch, out)
        key: Callable[[Binding], Key]
        there: Collection[Key]
        if len(step.columns) == step.arity:
            key, there = tuple_getter(step.key), relation.sure.keys()
        else:
            key = key_getter(step.key)
            there = relation.lookup(step.columns, ()).keys()
        if not doubtful:
            out.sure = [binding for binding in over(batch.sure) if key(binding) not in there]
            return self._absence_weak(step, batch, out)
        for binding in over(batch.sure):
            asked = key(binding)
            if asked in doubtful:
                self._keep(out, binding, CERTAIN, self._absence_strength(step, binding))
            elif asked not in there:
                out.sure.append(binding)
        return self._absence_weak(step, batch, out)

    def _doubtful(self, step: Absence, count: int) -> Collection[Key] | None:
        """Give the keys of rows that are not certain, or `None` where any key may be one."""
        relation = self._state.relation(step.predicate)
        if self._closed or self._state.nulls or len(relation.weak) > count:
            return None
        whole = len(step.columns) == step.arity
        key = tuple_getter(step.columns) if whole else key_getter(step.columns)
        if any(OPEN in row for row in relation.weak):
            return None
        return frozenset(map(key, relation.weak))

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
            if same_label(step.left, step.right, binding, self._state.texts):
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
        for binding, strength in self._state.clock.over(bindings):
            if reads_hole(step.expression, binding):
                cell = cell_of(step.expression, binding, self._state.texts)
                # A label is carried on, and so is what a total function makes of one.
                known = strength if is_null(cell) else min(strength, POSSIBLE)
                self._keep(out, (*binding, cell), known)
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

        def fail(reason: str) -> None:
            self._state.fail(rule, (), reason)

        folded: Groups | PackedGroups | None = yield from self._packed(step, groups, rule, fail)
        if folded is None:
            inner = Batch([key + step.constants for key in groups])
            inner = yield from self.run(step.steps, inner, inside(rule), inner=True)
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
        if isinstance(folded, Groups) and out.weak and _has_members(step):
            for one in groups:
                if any(value is OPEN for value, _ in folded.values(one)):
                    self._members[id(step), one] = folded.members(one)
        return out

    def _within(self, batch: Batch, rule: RulePlan) -> Batch:
        """Drop what holds an extreme that a member of its group rules out, though it is open."""
        if not batch.weak or not self._members:
            return batch
        width = len(batch.weak[0][0])
        extremes = [one for one in _extremes(rule) if one.place < width]
        if not extremes:
            return batch
        out = Batch(batch.sure)
        for binding, strength in self._state.clock.over(batch.weak):
            levels = [self._ruled_out(one, binding) for one in extremes]
            self._keep(out, binding, strength, *levels)
        return out

    def _ruled_out(self, extreme: _Extreme, binding: Binding) -> int:
        """Give how strong a binding is at most, by the members of a group."""
        group = tuple([binding[place] for place in extreme.step.group])
        sure, accepted = self._members.get((id(extreme.step), group), (None, None))
        if sure is None and accepted is None:
            return CERTAIN
        most = CERTAIN
        for operator, other in extreme.tests:
            cell = self._value(other, binding)
            if is_hole(cell):
                continue
            function, value = extreme.step.function, cast("Value", cell)
            if sure is not None and is_ruled_out(function, operator, value, sure):
                return ABSENT
            if is_ruled_out(function, operator, value, cast("Value", accepted)):
                most = CONCEIVABLE
        return most

    def _value(self, expression: Expression, binding: Binding) -> SlotValue:
        """Evaluate what is known by now; what errs nobody knows."""
        if any(place >= len(binding) for place in slots_of(expression)):
            return OPEN
        return cell_of(expression, binding, self._state.texts)

    def _packed(
        self, step: Fold, groups: set[tuple[Value, ...]], rule: RulePlan, fail: Fail
    ) -> Generator[Request, None, PackedGroups | None]:
        """Fold rows as they come packed from outside; `None` where that has to be done otherwise.

        All rows are different, and so are the assignments, where no column is left out.
        """
        if not step.steps:
            return None
        first, state, batch = step.steps[0], self._state, Batch()
        if not _reads_all(step) or not isinstance(first, Join) or len(groups) > _FEW_GROUPS:
            return None
        if not state.is_only_outside(first.predicate):
            return None
        batch.sure = [key + step.constants for key in groups]
        missing = () if self._closed else self._missing(first, batch)
        if missing:
            beside = self._beside(first, batch, step.steps[1:])
            yield Request(first.predicate, first.columns, missing, beside, packs=True)
        rows = state.relation(first.predicate).packed
        if rows is None or state.nulls or self._missing(first, batch):
            return None
        found = PackedGroups(step, groups, fail, state.texts)
        for block in self._blocks(first, batch.sure, rows):
            try:
                passed = yield from self.run(step.steps[1:], block, inside(rule), inner=True)
                if passed.weak or not found.add(passed.sure):
                    return None
            except EvaluationError:
                return None
        return found

    def _blocks(self, step: Join, bindings: list[Binding], rows: PackedRows) -> Iterator[Batch]:
        """Join bindings with rows, some thousand at a time."""
        state, key_of, kept = self._state, key_getter(step.columns), tuple_getter(step.kept)
        by_key: dict[Key, list[Binding]] = {}
        for binding in bindings:
            by_key.setdefault(key_getter(step.key)(binding), []).append(binding)
        count = 0
        for block in state.clock.blocks(rows):
            joined = [
                one + kept(row)
                for row in block
                for one in by_key.get(key_of(row), ())
                if all(row[left] == row[right] for left, right in step.same)
            ]
            count += len(joined)
            if count > state.limits.rows:
                message = f"a rule joins more than {state.limits.rows:,} rows"
                raise LimitReachedError(message + state.limits.raising("rows"))
            yield Batch(joined)


@frozen
class _Extreme:
    """A least or greatest of a rule, its slot, and what stands in the rule for it to compare with.

    The first of the `tests` is the slot itself, which may have met a value since.
    """

    step: Fold
    place: int
    tests: tuple[tuple[str, Expression], ...]


def _has_members(step: Fold) -> bool:
    """Whether a member of a group bounds its least or greatest: the target is a variable."""
    found = step.function in {"min", "max"} and isinstance(step.target, Slot)
    return found and not any(isinstance(one, Absence) for one in step.steps)


def _extremes(rule: RulePlan) -> Iterator[_Extreme]:
    """Yield the leasts and greatests of a rule that members bound."""
    width = len(rule.columns) + len(rule.constants)
    tests: list[tuple[str, Expression, Expression]] = []
    folds: list[tuple[Fold, int]] = []
    for step in rule.steps:
        match step:
            case Filter():
                tests.append((step.operator, step.left, step.right))
            case Compute():
                tests.append(("=", Slot(width), step.expression))
            case Fold() if _has_members(step):
                folds.append((step, width))
            case _:
                pass
        width += len(step.kept) if isinstance(step, Join) else isinstance(step, Compute | Fold)
    both = [*tests, *((TURNED.get(one, ""), right, left) for one, left, right in tests)]
    for step, place in folds:
        slot = Slot(place)
        found = [(one, other) for one, left, other in both if one in TURNED and left == slot]
        yield _Extreme(step, place, (("=", slot), *found))


_FEW_GROUPS = 8
"""Of so many groups at most each row is held against all."""


def _reads_all(step: Fold) -> bool:
    """Whether an aggregate tells apart whatever its one relation tells apart."""
    first = step.steps[0]
    if not isinstance(first, Join):
        return False
    if not all(isinstance(one, Filter | Compute) for one in step.steps[1:]):
        return False
    begun = len(step.group) + len(step.constants)
    kept = range(begun, begun + len(first.kept))
    same = (place for pair in first.same for place in pair)
    return len({*first.columns, *first.kept, *same}) == first.arity and {*kept} <= {*step.distinct}


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
