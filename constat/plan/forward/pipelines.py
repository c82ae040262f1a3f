"""Each rule as pipelines, with the kinds, classes and life of their slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Constant,
    Kind,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Value,
    aggregate_kind,
)
from constat.plan.compilation import predicates_of, rules_by_head
from constat.plan.forward.estimates import (
    Bindings,
    Estimates,
    StageDraft,
    advance,
    follow,
    grow,
    head_values,
    plan_rule,
)
from constat.plan.forward.operators import Layout, Pipeline, Reading, Relation
from constat.plan.operators import (
    Absence,
    Call,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    RulePlan,
    Slot,
    Step,
    slots_of,
)

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from constat.analysis import Component
    from constat.plan.forward.estimates import Draft

# Places are numbered from 0 as they are made; marks of a class survive joining.


class Classes:
    """Disjoint classes of places, each of which may be spoiled."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._spoiled: set[int] = set()

    def new(self) -> int:
        """Make a place that is alone in its class."""
        self._parent.append(len(self._parent))
        return len(self._parent) - 1

    def find(self, place: int) -> int:
        """Give the representative of a place."""
        parent = self._parent
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    def join(self, one: int, other: int) -> None:
        """Make two classes one."""
        self._parent[self.find(one)] = self.find(other)

    def spoil(self, place: int) -> None:
        """Mark what the place's class will be in the end."""
        self._spoiled.add(place)

    def spoiled(self) -> set[int]:
        """The representatives of the classes with a mark."""
        return {self.find(place) for place in self._spoiled}


# A frame has as many slots as a binding at the end of the steps. Constants are kept apart by kind,
# as `compile_rule` lays them out.

TEXTS = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.STRUCTURE})
Column = Callable[[str, int], tuple[Kind, int]]
"""The kind and the place of a column."""


@slotted
class Frame:
    """The slots of a binding: kinds and places side by side; `inner` by number of the step.

    `made` are the slots whose values a function or an aggregate makes.
    """

    kinds: list[Kind] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    made: set[int] = field(default_factory=set)
    inner: dict[int, Frame] = field(default_factory=dict)

    def add(self, kind: Kind, place: int) -> None:
        """Append a slot."""
        self.kinds.append(kind)
        self.places.append(place)


@frozen
class Framing:
    """Builds frames and joins the classes of places that share values.

    With `strict` a class that would have to be spelled out again, for an order or a function, is
    spoiled: that is for rules that are evaluated many times.
    """

    classes: Classes
    column: Column
    strict: bool

    def of_rule(self, plan: RulePlan, rule: Rule) -> Frame:
        """Build the frame of a rule."""
        frame = Frame()
        atoms = (rule.head.terms, *_atoms(rule.body))
        for constant in distinct_constants(term for terms in atoms for term in terms):
            frame.add(constant.kind, self.classes.new())
        folds = (rule.body[place] for place in plan.order)
        aggregates = iter([one for one in folds if isinstance(one, Aggregate)])
        for number, step in enumerate(plan.steps):
            if isinstance(step, Fold):
                self._fold(frame, number, step, next(aggregates))
            else:
                self._step(frame, step)
        for column, expression in enumerate(plan.head):
            _, place = self.column(rule.head.predicate, column)
            # What a rule makes once is entered into the dictionary when it is there.
            if self.strict or not _is_made(frame, expression):
                self._equal(frame, expression, place)
        return frame

    def _step(self, frame: Frame, step: Step) -> None:
        match step:
            case Join(predicate=predicate, columns=columns, key=key, kept=kept, same=same):
                self._keys(frame, predicate, columns, key)
                for one, other in same:
                    self.classes.join(
                        self.column(predicate, one)[1], self.column(predicate, other)[1]
                    )
                for column in kept:
                    frame.add(*self.column(predicate, column))
            case Absence(predicate=predicate, columns=columns, key=key):
                self._keys(frame, predicate, columns, key)
            case Filter():
                self._filter(frame, step)
            case Compute(expression=expression):
                kind = _kind(frame, expression)
                place = self.classes.new()
                self._equal(frame, expression, place)
                if _is_made(frame, expression):
                    frame.made.add(len(frame.kinds))
                frame.add(kind, place)
            case Fold():
                raise AssertionError("an aggregate has no aggregate inside")

    def _keys(
        self, frame: Frame, predicate: str, columns: Sequence[int], key: Sequence[int]
    ) -> None:
        for column, slot in zip(columns, key, strict=True):
            self.classes.join(self.column(predicate, column)[1], frame.places[slot])

    def _filter(self, frame: Frame, step: Filter) -> None:
        sides = (step.left, step.right)
        for expression in sides:
            if self.strict and isinstance(expression, Call):
                self._spoil(frame, slots_of(expression))
        match step:
            case Filter(operator="=" | "!=", left=Slot(one), right=Slot(other)):
                self.classes.join(frame.places[one], frame.places[other])
            case Filter(operator="=" | "!=") if not any(isinstance(one, Call) for one in sides):
                pass
            case _ if self.strict:
                self._spoil(frame, [slot for one in sides for slot in slots_of(one)])
            case _:
                pass

    def _equal(self, frame: Frame, expression: Expression, place: int) -> None:
        match expression:
            case Slot(slot):
                self.classes.join(frame.places[slot], place)
            case Literally():
                pass
            case Call():
                self.classes.spoil(place)
                if self.strict:
                    self._spoil(frame, slots_of(expression))

    def _spoil(self, frame: Frame, slots: Iterable[int]) -> None:
        for slot in slots:
            self.classes.spoil(frame.places[slot])

    def _fold(self, frame: Frame, number: int, step: Fold, literal: Aggregate) -> None:
        inner = frame.inner[number] = Frame()
        for slot in step.group:
            inner.add(frame.kinds[slot], frame.places[slot])
        for constant in distinct_constants(
            term for terms in _atoms(literal.body) for term in terms
        ):
            inner.add(constant.kind, self.classes.new())
        for one in step.steps:
            self._step(inner, one)
        if step.target is not None:
            # The result is text again, and so would be what it is compared with.
            self._spoil(inner, slots_of(step.target))
        if self.strict and step.threshold is not None:
            self._spoil(frame, slots_of(step.threshold.bound))
        result = self.classes.new()
        self.classes.spoil(result)
        frame.made.add(len(frame.kinds))
        frame.add(aggregate_kind(step.function, step.kind) or Kind.NUMBER, result)


def _is_made(frame: Frame, expression: Expression) -> bool:
    """Whether a function or an aggregate makes a value."""
    match expression:
        case Slot(slot):
            return slot in frame.made
        case Call():
            return True
        case Literally():
            return False


def _kind(frame: Frame, expression: Expression) -> Kind:
    match expression:
        case Slot(slot):
            return frame.kinds[slot]
        case Call(result=result):
            return result
        case Literally(kind=kind):
            return kind


def distinct_constants(terms: Iterable[Term]) -> Iterator[Constant]:
    """Each constant once, told apart by kind and value, in order."""
    seen: set[tuple[Kind, Value]] = set()
    for term in terms:
        if isinstance(term, Constant) and (term.kind, term.value) not in seen:
            seen.add((term.kind, term.value))
            yield term


def _atoms(body: Iterable[Literal]) -> Iterator[tuple[Term, ...]]:
    for literal in body:
        if isinstance(literal, Positive | Negative):
            yield literal.atom.terms


# Rows may be projected to the live slots, and made distinct, without changing the head, because a
# rule's head is a set. An aggregate reads its group only, so it may be computed once for each
# group.

_PAYS_FROM = 2.0
_PAYS_ROWS = 1000.0


def live_slots(plan: RulePlan) -> tuple[frozenset[int], ...]:
    """The slots that are read after each step."""
    live = {slot for expression in plan.head for slot in slots_of(expression)}
    found: list[frozenset[int]] = []
    widths = list(_widths(plan))
    for step, width in zip(reversed(plan.steps), reversed(widths), strict=True):
        found.append(frozenset(slot for slot in live if slot < width))
        live |= reads(step)
    return tuple(reversed(found))


def reads(step: Step) -> set[int]:
    """The slots a step reads."""
    match step:
        case Join(key=key) | Absence(key=key):
            return set(key)
        case Filter(left=left, right=right):
            return {*slots_of(left), *slots_of(right)}
        case Compute(expression=expression):
            return set(slots_of(expression))
        case Fold(group=group, threshold=threshold):
            return {*group, *(slots_of(threshold.bound) if threshold is not None else ())}


def appended(step: Step) -> int:
    """How many slots a step appends."""
    match step:
        case Join(kept=kept):
            return len(kept)
        case Compute() | Fold():
            return 1
        case _:
            return 0


def worth_dropping(
    plan: RulePlan, live: tuple[frozenset[int], ...], estimates: Estimates
) -> frozenset[int]:
    """The steps after which it pays to drop duplicates of the live slots.

    That is before an aggregate, and before a join that would repeat work for many equal bindings.
    """
    found: set[int] = set()
    if len(plan.steps) < 2:  # noqa: PLR2004  the head is distinct in any case
        return frozenset(found)
    bindings = Bindings(1.0, [1.0] * len(plan.constants))
    width = len(plan.constants)
    dropped = False
    for place, step in enumerate(plan.steps[:-1]):
        advance(bindings, step, estimates)
        width += appended(step)
        if not isinstance(step, Join):
            continue
        held = len(step.columns) + len(step.kept) + len(step.same)
        dropped = dropped or len(live[place]) < width or held < step.arity
        if not dropped:
            continue
        following = plan.steps[place + 1]
        left = bindings.distinct(sorted(live[place]))
        pays = bindings.rows > _PAYS_ROWS and bindings.rows > _PAYS_FROM * left
        if isinstance(following, Fold) or (isinstance(following, Join) and pays):
            found.add(place)
            bindings.rows = min(bindings.rows, left)
    return frozenset(found)


def _widths(plan: RulePlan) -> list[int]:
    width = len(plan.constants)
    found = []
    for step in plan.steps:
        width += appended(step)
        found.append(width)
    return found


# Two columns that a rule joins are both encoded or both not. A class of columns is encoded when it
# holds texts, a recursive stage has one of them, no function or aggregate of a recursive rule makes
# a value of it, and none would have to spell a number out again, for an order or a function. A rule
# that is evaluated once may: its back end decodes what the layout says is encoded, and enters what
# the rule makes.
# Numbers in place of texts made a fixpoint three times as fast and a third as large (measured).


def encode_columns(draft: Draft) -> None:
    """Lay out every pipeline, and describe every relation that the plan uses."""
    columns = _Columns(draft)
    loose = Framing(columns.classes, columns.of, strict=False)
    strict = Framing(columns.classes, columns.of, strict=True)
    frames: dict[int, Frame] = {}
    for stage in draft.drafts:
        for name in stage.component.predicates:
            columns.declare(name)
        for framing, pipelines in ((loose, stage.base), (strict, stage.recursive)):
            for pipeline in pipelines:
                number = pipeline.plan.rule
                rule = draft.program.rules[number]
                for literal in rule.body:
                    for name in predicates_of(literal):
                        columns.declare(name)
                frames[id(pipeline)] = framing.of_rule(pipeline.plan, rule)
    for wanted in draft.wanted:
        columns.declare(wanted.relation)
    encoded = columns.encoded() if draft.options.encode else set[int]()
    for stage in draft.drafts:
        stage.base = [_laid_out(one, frames[id(one)], columns, encoded) for one in stage.base]
        stage.recursive = [
            _laid_out(one, frames[id(one)], columns, encoded) for one in stage.recursive
        ]
    derived = {name for stage in draft.drafts for name in stage.component.predicates}
    for name, places in columns.places.items():
        draft.relations[name] = Relation(
            name=name,
            kinds=columns.kinds(name),
            encoded=tuple(columns.classes.find(place) in encoded for place in places),
            given=name in draft.program.external,
            derived=name in derived,
            made_by=draft.made_by.get(name, ""),
            rows=draft.estimates.rows(name),
        )


def _laid_out(
    pipeline: Pipeline, frame: Frame, columns: _Columns, encoded: AbstractSet[int]
) -> Pipeline:
    inner = {number: columns.layout(one, encoded) for number, one in frame.inner.items()}
    return replace(pipeline, layout=columns.layout(frame, encoded), inner=inner)


@slotted
class _Columns:
    """The columns of the relations that are used, each with its place among the classes."""

    draft: Draft
    classes: Classes
    places: dict[str, tuple[int, ...]]
    known: dict[str, tuple[Kind, ...]]

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.classes = Classes()
        self.places = {}
        self.known = {}

    def kinds(self, name: str) -> tuple[Kind, ...]:
        if name not in self.known:
            self.known[name] = self.draft.program.program.predicates[name].kinds
        return self.known[name]

    def declare(self, name: str) -> tuple[int, ...]:
        found = self.places.get(name)
        if found is None:
            found = self.places[name] = tuple(self.classes.new() for _ in self.kinds(name))
        return found

    def of(self, name: str, column: int) -> tuple[Kind, int]:
        return self.kinds(name)[column], self.declare(name)[column]

    def encoded(self) -> set[int]:
        """The representatives of the classes to encode."""
        found = {
            self.classes.find(place)
            for stage in self.draft.drafts
            if stage.recursive
            for name in stage.component.predicates
            for place, kind in zip(self.places[name], self.kinds(name), strict=True)
            if kind in TEXTS
        }
        return found - self.classes.spoiled()

    def layout(self, frame: Frame, encoded: AbstractSet[int]) -> Layout:
        slots = enumerate(frame.places)
        return Layout(
            tuple(frame.kinds),
            frozenset(slot for slot, place in slots if self.classes.find(place) in encoded),
        )


# For a rule that reads its own stage at the places 1 to n of its body, pipeline i reads the last
# round at i, only older rows before i, and all rows after i. Each combination with a row of the
# last round is thus found by exactly one pipeline: that of its first such place.

_SMALL_BODY = 2
_MANY_PLACES = 12


def compile_pipelines(draft: Draft) -> None:
    """Compile every component, callees first, so that sizes below are known.

    A pass that weighs what the program would do compiles it ahead; that is not done twice.
    """
    program = draft.program
    if draft.compiled is program:
        return
    draft.estimates, draft.drafts, draft.compiled = Estimates(), [], program
    for name in sorted(program.external):
        if name in program.program.predicates:
            arity = program.program.predicates[name].arity
            draft.estimates.take(name, arity, draft.statistics)
    heads = rules_by_head(program)
    for component in program.components:
        draft.drafts.append(_stage(draft, component, heads))


def _stage(draft: Draft, component: Component, heads: Mapping[str, tuple[int, ...]]) -> StageDraft:
    stage = StageDraft(component)
    own = frozenset(component.predicates) if component.recursive else frozenset[str]()
    rules = _Rules(draft, own)
    recursive: list[tuple[int, tuple[int, ...]]] = []
    for name in component.predicates:
        if name not in draft.program.external:
            draft.estimates.counts.setdefault(name, 0.0)
        for number in heads.get(name, ()):
            places = own_places(draft.program.rules[number], own)
            if is_stated(draft.program.rules[number]):
                stage.stated.append(number)
            elif places or _is_threshold(draft.program.rules[number]):
                recursive.append((number, places))
            else:
                stage.base.append(rules.base(number))
    _count_stated(draft, stage)
    for pipeline in stage.base:
        add_head(draft.estimates, pipeline.plan, pipeline.head, rules.bindings[id(pipeline)])
    stage.recursive = [one for number, places in recursive for one in rules.deltas(number, places)]
    stage.linear = all(_occurrences(draft.program.rules[n], places) <= 1 for n, places in recursive)
    stage.rounds = grow(draft, stage)
    stage.rows = sum(draft.estimates.rows(name) for name in component.predicates)
    # The first orders were chosen before the size of this stage was known.
    stage.recursive = [rules.again(one) for one in stage.recursive]
    return stage


def own_places(rule: Rule, own: frozenset[str]) -> tuple[int, ...]:
    """The places of a body that read these predicates."""
    return tuple(
        place
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Positive) and literal.atom.predicate in own
    )


def is_stated(rule: Rule) -> bool:
    """Whether a rule is a fact of the text."""
    return not rule.body and all(isinstance(term, Constant) for term in rule.head.terms)


def add_head(estimates: Estimates, plan: RulePlan, head: str, bindings: Bindings) -> None:
    """Count what a rule adds to its head, from its last bindings."""
    values = head_values(plan, bindings)
    estimates.add(head, bindings.rows, values)


def _is_threshold(rule: Rule) -> bool:
    return any(isinstance(one, Aggregate) and one.recursive for one in rule.body)


def _occurrences(rule: Rule, places: tuple[int, ...]) -> int:
    inside = sum(isinstance(one, Aggregate) and one.recursive for one in rule.body)
    return len(places) + inside


def _count_stated(draft: Draft, stage: StageDraft) -> None:
    columns: dict[str, list[set[object]]] = {}
    counts: dict[str, int] = {}
    for number in stage.stated:
        head = draft.program.rules[number].head
        counts[head.predicate] = counts.get(head.predicate, 0) + 1
        sets = columns.setdefault(head.predicate, [set() for _ in head.terms])
        for values, term in zip(sets, head.terms, strict=True):
            values.add(term.value if isinstance(term, Constant) else term)
    for name, sets in columns.items():
        draft.estimates.add(name, float(counts[name]), [float(len(values)) for values in sets])


@frozen
class _Rules:
    """Makes pipelines of the rules of one stage."""

    draft: Draft
    own: frozenset[str]
    bindings: dict[int, Bindings] = field(default_factory=dict)

    def base(self, number: int) -> Pipeline:
        return self._pipeline(number, None, ())

    def deltas(self, number: int, places: tuple[int, ...]) -> list[Pipeline]:
        rule = self.draft.program.rules[number]
        if _is_threshold(rule):
            return [self._pipeline(number, None, ())]
        if len(places) <= _MANY_PLACES:
            return [self._pipeline(number, place, places) for place in places]
        # An order for each place would take time in the cube of a body's length.
        first = self._pipeline(number, places[0], places)
        return [replace(first, readings=readings_of(first.plan, place, places)) for place in places]

    def again(self, pipeline: Pipeline) -> Pipeline:
        """Order a pipeline anew if it reads this stage at another place than its first."""
        body = self.draft.program.rules[pipeline.plan.rule].body
        delta = _delta_of(pipeline)
        places = own_places(self.draft.program.rules[pipeline.plan.rule], self.own)
        if len(body) > _SMALL_BODY and 1 < len(places) <= _MANY_PLACES:
            return self._pipeline(pipeline.plan.rule, delta, places)
        rows, _ = follow(pipeline.plan, self.draft.estimates)
        distinct = worth_dropping(pipeline.plan, pipeline.live, self.draft.estimates)
        return replace(pipeline, rows=rows, distinct=distinct)

    def _pipeline(self, number: int, delta: int | None, places: tuple[int, ...]) -> Pipeline:
        rule = self.draft.program.rules[number]
        kinds: Mapping[str, Kind] = self.draft.program.variable_kinds[number]
        first = None if delta is None else rule.body[delta]
        estimates = self.draft.estimates
        plan = plan_rule(number, rule, kinds, estimates, first)
        rows, bindings = follow(plan, estimates)
        live = live_slots(plan)
        found = Pipeline(
            head=rule.head.predicate,
            plan=plan,
            readings=readings_of(plan, delta, places),
            live=live,
            distinct=worth_dropping(plan, live, estimates),
            layout=Layout(()),
            rows=rows,
        )
        self.bindings[id(found)] = bindings
        return found


def _delta_of(pipeline: Pipeline) -> int | None:
    for step, reading in zip(pipeline.plan.steps, pipeline.readings, strict=True):
        if isinstance(step, Join) and reading is Reading.DELTA:
            return step.literal
    return None


def readings_of(plan: RulePlan, delta: int | None, places: tuple[int, ...]) -> tuple[Reading, ...]:
    """Say of each step which rows it reads; `delta` is the place that reads the last round."""
    return tuple(
        _reading(step.literal, delta, places)
        if isinstance(step, Join) and delta is not None
        else Reading.FULL
        for step in plan.steps
    )


def _reading(place: int, delta: int | None, places: tuple[int, ...]) -> Reading:
    if place == delta:
        return Reading.DELTA
    if delta is not None and place in places and place < delta:
        return Reading.STABLE
    return Reading.FULL
