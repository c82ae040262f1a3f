"""All ways to derive facts, settled from the bottom up, the best first (Knuth's algorithm)."""

from __future__ import annotations

import heapq
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from constat.evaluation import UNTIMED
from constat.frozen import frozen, slotted
from constat.logic import OPEN, add_exactly, is_beyond
from constat.proof.groups import Group
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    decided_by_totals,
    is_ground,
    is_hole,
    is_ready,
)
from constat.proof.levels import MILLION, millionths, rule_confidence
from constat.proof.outside import Relation
from constat.proof.proofs import FactNode, RuleNode
from constat.proof.reading import TooLargeError, look_at, rule_assumption
from constat.proof.slices import Listed, Number, Slice, Summand, premises_of, summand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from constat.evaluation import Clock
    from constat.logic import OpenRow, Row, Value
    from constat.proof.instances import (
        AtomCode,
        Binding,
        LiteralCode,
        Pattern,
        RuleCode,
        ThresholdCode,
    )
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node
    from constat.proof.reading import Reading

# Every instance whose premises are certain is among them; absences and aggregates are taken by the
# walker, so those that come out need not hold.  Unlike an upper bound, which needs all that is
# possible, this may read a literal by whichever columns have the fewest rows.

_Open = tuple["Binding", tuple[int, ...]]
"""A binding and the places of the body that it was not held against yet."""


class CertainBodies:
    """The certain rows of a reading, indexed by whatever columns are bound."""

    def __init__(self, walker: Slice) -> None:
        self._walker = walker
        self._relations: dict[str, Relation] = {}

    def search(self, code: RuleCode, start: Binding) -> Iterator[Binding]:
        """Yield the bindings; depth first, without recursion."""
        stack: list[Iterator[_Open]] = [iter(((start, tuple(range(len(code.body)))),))]
        while stack:
            self._walker.look(1)
            state = next(stack[-1], None)
            if state is None:
                stack.pop()
            elif state[1]:
                stack.append(self._step(code, *state))
            else:
                yield state[0]

    def _step(self, code: RuleCode, binding: Binding, left: tuple[int, ...]) -> Iterator[_Open]:
        place, rows = self._cheapest(code, binding, left)
        rest = tuple([one for one in left if one != place])
        literal = code.body[place]
        if not isinstance(literal, PositiveCode):
            return iter([(one, rest) for one in self._walker.extend(code, place, binding)])
        pattern = literal.atom.pattern(binding)
        self._walker.spend(1 + len(rows))
        extended = (literal.atom.unify(pattern, row, binding) for row in rows)
        return iter([(one, rest) for one in extended if one is not None])

    def _cheapest(
        self, code: RuleCode, binding: Binding, left: tuple[int, ...]
    ) -> tuple[int, list[OpenRow]]:
        """Choose a comparison that can be made, else the atom with the fewest rows, else the rest.

        Absences and aggregates cost more than a look into an index, and fewer bindings reach them.
        """
        bound = {slot for slot, cell in enumerate(binding) if cell is not None}
        # What is never ready ("any" under a negation) comes last, as it is.
        ready = [place for place in left if is_ready(code.body[place], bound)] or list(left)
        best: tuple[int, list[OpenRow]] | None = None
        for place in ready:
            literal = code.body[place]
            if isinstance(literal, ComparisonCode):
                return place, []
            if isinstance(literal, PositiveCode):
                rows = self._matching(literal.atom, literal.atom.pattern(binding))
                if best is None or len(rows) < len(best[1]):
                    best = place, rows
        return best or (ready[0], [])

    def _matching(self, atom: AtomCode, pattern: Pattern) -> list[OpenRow]:
        columns = tuple([place for place, cell in enumerate(pattern) if not is_hole(cell)])
        key = tuple([pattern[column] for column in columns])
        return self._relation(atom.predicate).matching(columns, key)  # type: ignore[arg-type]

    def _relation(self, predicate: str) -> Relation:
        found = self._relations.get(predicate)
        if found is None:
            found = self._relations[predicate] = Relation(self._certain(predicate))
        return found

    def _certain(self, predicate: str) -> Iterable[OpenRow]:
        reading, outside = self._walker.reading, self._walker.outside
        rows = dict.fromkeys(reading.outcome.rows(predicate, reading.certain))
        if predicate in reading.program.external:
            rows.update(dict.fromkeys(outside.side(predicate).given))
        return [row for row in rows if OPEN not in row]


# Premises are settled in falling confidence, so the summands that are there when the bound is
# first exceeded make the most confident total that there is; of these the greatest are kept, since
# fewer rows say the same.


@slotted
class Waiting:
    """A summand, and how many of its premises are not settled."""

    summand: Summand
    value: Number
    waits: int


@slotted
class Open:
    """A total that has to exceed a bound; ``needs_absence`` where it also rests on what is not."""

    place: int
    result: int
    operator: str
    bound: Number
    needs_absence: bool
    waiting: list[Waiting]
    ready: list[Waiting] = field(default_factory=list)
    total: Number = 0

    def fresh(self) -> Open:
        """Return the same total with nothing settled."""
        waiting = [replace(one, waits=len(facts_of(one))) for one in self.waiting]
        return replace(self, waiting=waiting, ready=[], total=0)

    @property
    def reached(self) -> bool:
        """Whether the summands that are settled exceed the bound."""
        return is_beyond(self.total, self.operator, self.bound)

    def settle(self, one: Waiting) -> None:
        """Take note that one more premise of a summand is settled."""
        one.waits -= 1
        if one.waits == 0:
            self.ready.append(one)
            self.total = add_exactly(self.total, one.value)

    def listed(self) -> Listed:
        """Return the greatest of the settled summands, as many as are needed."""
        total: Number = 0
        kept: list[Summand] = []
        for one in sorted(self.ready, key=lambda one: (-one.value, str(one.summand.values))):
            if is_beyond(total, self.operator, self.bound):
                break
            total = add_exactly(total, one.value)
            kept.append(one.summand)
        return Listed(tuple(kept), total)


def open_total(
    walker: Slice, code: RuleCode, place: int, literal: AggregateCode, binding: Binding
) -> Open | None:
    """Return the total of an instance; ``None`` where it cannot hold for certain."""
    threshold = cast("ThresholdCode", literal.threshold)
    bound = threshold.bound.evaluate(binding)
    if is_hole(bound):
        return None
    if not threshold.proven and not walker.growth.top(code, place, literal, binding).grows:
        return None
    start: Binding = [None] * len(code.names)
    for slot in literal.outer:
        start[slot] = binding[slot]
    waiting: list[Waiting] = []
    negated = False
    for cells, inner in Group(walker, literal).distinct(start).items():
        value = summand(literal, inner)
        if value is not None and is_ground(cells) and _is_certain(walker, literal, inner):
            premises = tuple(premises_of(literal, inner))
            below = {one for one in premises if one is not None}
            waiting.append(Waiting(Summand(cast("Row", cells), premises), value, len(below)))
            negated |= any(isinstance(test, NegativeCode) for test in literal.body)
    absence = not threshold.proven or negated
    wanted = cast("Number", bound)
    return Open(place, literal.result, threshold.operator, wanted, absence, waiting)


def certainly_exceeds(
    walker: Slice, code: RuleCode, place: int, literal: AggregateCode, binding: Binding
) -> bool:
    """Tell whether rows that are certain carry the threshold of an instance."""
    total = open_total(walker, code, place, literal, binding)
    if total is None:
        return False
    for one in total.waiting:
        total.total = add_exactly(total.total, one.value)
    return total.reached


def with_totals(
    values: tuple[Value, ...], totals: Iterable[tuple[Open, Listed]]
) -> tuple[Value, ...]:
    """Return the values of an instance with the totals that the chosen summands reach."""
    found = list(values)
    for one, chosen in totals:
        found[one.result] = chosen.total
    return tuple(found)


def facts_of(one: Waiting) -> tuple[Fact, ...]:
    """Return the distinct premises of a summand, in order."""
    return tuple(dict.fromkeys(filter(None, one.summand.premises)))


def _is_certain(walker: Slice, literal: AggregateCode, inner: Binding) -> bool:
    for test in literal.body:
        if isinstance(test, ComparisonCode):
            if test.truth(inner) is not True:
                return False
            continue
        row = test.atom.pattern(inner)
        if not is_ground(row):
            return False
        if isinstance(test, NegativeCode):
            if walker.possible(test.atom.predicate, row):
                return False
        elif not walker.is_certain(test.atom.predicate, cast("Row", row)):
            return False
    return True


# A way is there iff a certificate may use it as the node of its fact; whether its premises can be
# shown without the fact itself is left to the search.


@frozen(eq=False)
class Way:
    """One way to derive a fact, compared by identity.

    ``cap`` is the confidence of what is no premise, ``factor`` that of the rule; ``totals`` are
    recursive thresholds, whose summands the search chooses: none of them has been settled.
    """

    fact: Fact
    node: Node
    cap: int
    factor: int
    premises: tuple[Fact, ...] = ()
    totals: tuple[Open, ...] = ()

    def settled(self, listed: tuple[Listed, ...]) -> Node:
        """Return the node, with the summands that were chosen for its totals."""
        if not self.totals or not isinstance(self.node, RuleNode):
            return self.node
        pairs = tuple(zip(self.totals, listed, strict=True))
        totals = tuple((one.place, chosen) for one, chosen in pairs)
        return replace(self.node, values=with_totals(self.node.values, pairs), totals=totals)

    def below(self, listed: tuple[Listed, ...]) -> tuple[Fact, ...]:
        """Return what the fact rests on when those summands are chosen."""
        if not listed:
            return self.premises
        chosen = (premise for one in listed for premise in one.premises())
        return tuple(dict.fromkeys((*self.premises, *chosen)))


class Ways:
    """The ways below some facts, found once.

    Raises ``TooLargeError`` where there are more instances than ``steps`` allows.
    """

    def __init__(self, reading: Reading, facts: Iterable[Fact], steps: int) -> None:
        self.reading = reading
        self.walker = Slice(reading, steps)
        self._bodies = CertainBodies(self.walker)
        closing = [
            millionths(one.confidence)
            for one in reading.accepted
            if one.kind in {"closure", "fall-through"}
        ]
        self._absence = min(closing, default=MILLION)
        self._ways: dict[Fact, tuple[Way, ...]] = {}
        self._collect(facts)

    def of(self, fact: Fact) -> tuple[Way, ...]:
        """Return the ways to derive a fact, that of its source first."""
        return self._ways[fact]

    @property
    def is_exact(self) -> bool:
        """Whether confidences found here are those of the proofs, not only bounds below them."""
        return self._absence == MILLION

    def _collect(self, facts: Iterable[Fact]) -> None:
        """Find all ways to derive the facts, and what they rest on, and so on."""
        waiting = list(facts)
        while waiting:
            fact = waiting.pop()
            if fact not in self._ways:
                found = self._ways[fact] = tuple(self._ways_of(fact))
                waiting += [premise for way in found for premise in way.premises]
                for way in found:
                    waiting += [f for one in way.totals for w in one.waiting for f in facts_of(w)]

    def _ways_of(self, fact: Fact) -> list[Way]:
        predicate, row = fact
        found: list[Way] = []
        grounds = self.walker.outside.grounds(predicate, row)
        if grounds is not None:
            sure = millionths(grounds.confidence)
            found.append(Way(fact, FactNode(predicate, row), sure, MILLION))
        columns = tuple(range(len(row)))
        for number in self.reading.program.rule_numbers(predicate):
            if not self.reading.holds(rule_assumption(self.reading.program, number)):
                continue
            code = self.walker.code(number)
            start = code.start(columns, row)
            if start is None:
                continue
            instances: dict[tuple[object, ...], Way] = {}
            for binding in self._bodies.search(code, start):
                way = self._way(fact, code, binding)
                if way is not None:
                    # A possible row beside the certain one may lead to the same instance again.
                    instances.setdefault(tuple(binding), way)
            # In order, so that of equal ways it is always the same one that is taken.
            found += [way for _, way in sorted(instances.items(), key=lambda one: str(one[0]))]
        return found

    def _way(self, fact: Fact, code: RuleCode, binding: Binding) -> Way | None:
        """Return the instance as a way to derive the fact, if it holds for certain."""
        totals = self._totals(code, binding)
        if totals is None:
            return None
        decided = {one.result for one in totals}
        known = [cell for slot, cell in enumerate(binding[: code.outer]) if slot not in decided]
        if not is_ground(known) or code.head.pattern(binding) != fact[1]:
            return None
        cap = MILLION
        below: dict[Fact, None] = {}
        premises: list[Fact | None] = []
        for place, literal in enumerate(code.body):
            rests = self._rests_on(code, place, literal, binding)
            if rests is None:
                return None
            below.update(dict.fromkeys(rests))
            positive = isinstance(literal, PositiveCode)
            premises.append(rests[0] if positive else None)
            if not positive and not isinstance(literal, ComparisonCode):
                cap = min(cap, self._absence)
        if any(one.needs_absence for one in totals):
            cap = min(cap, self._absence)
        rule = self.reading.program.rules[code.number]
        values = tuple(binding[: code.outer])
        node = RuleNode(*fact, code.number, values, tuple(premises), ())  # type: ignore[arg-type]
        return Way(fact, node, cap, millionths(rule.confidence), tuple(below), tuple(totals))

    def _totals(self, code: RuleCode, binding: Binding) -> list[Open] | None:
        """Return the recursive totals of an instance; ``None`` where one cannot be certain."""
        found: list[Open] = []
        for place, literal in enumerate(code.body):
            if isinstance(literal, AggregateCode) and literal.threshold is not None:
                total = open_total(self.walker, code, place, literal, binding)
                if total is None:
                    return None
                found.append(total)
        return found

    def _rests_on(
        self, code: RuleCode, place: int, literal: LiteralCode, binding: Binding
    ) -> tuple[Fact, ...] | None:
        """Return the facts a literal rests on; ``None`` where it is not certain."""
        match literal:
            case PositiveCode(atom):
                row = atom.pattern(binding)
                certain = is_ground(row) and self.walker.is_certain(atom.predicate, row)  # type: ignore[arg-type]
                return ((atom.predicate, row),) if certain else None  # type: ignore[return-value]
            case NegativeCode(atom):
                row = atom.pattern(binding)
                absent = is_ground(row) and not self.walker.possible(atom.predicate, row)
                return () if absent else None
            case ComparisonCode():
                decided = literal in decided_by_totals(code)
                return () if decided or literal.truth(binding) is True else None
            case AggregateCode() if literal.threshold is not None:
                return ()
            case AggregateCode():
                exact = self.walker.aggregates.exact(code, place, literal, binding)
                return tuple(exact.read) if exact.value == binding[literal.result] else None


# No label is better than the labels it was made from, so taking facts by rising label finds the
# best ones first and never in a circle; every fact rests on facts that were settled before it.
# Reference: Knuth, A generalization of Dijkstra's algorithm, 1977.
# A *state* is a fact together with the confidence it is needed with.  Where a rule is worth less
# than 1, a fact may be needed with several; ways that cannot give what is needed are left out.

State = tuple["Fact", int]
Label = Any
"""What a measure gives: labels of one measure compare with each other, the less the better."""


class Measure(Protocol):
    """How good a derivation is, made up from the labels of what it rests on."""

    def start(self, way: Way) -> Label:
        """Return what is known before any premise is settled."""
        ...

    def take(self, known: Label, premise: Label) -> Label:
        """Return what is known once one more premise is settled."""
        ...

    def label(self, way: Way, known: Label) -> Label:
        """Return the label of the fact that is derived."""
        ...


class ByConfidence:
    """Falling confidence, then height as far as the search decides it."""

    def start(self, way: Way) -> Label:
        """Begin with what the way is worth whatever its premises are."""
        return way.cap, 0

    def take(self, known: Label, premise: Label) -> Label:
        """Take the least confidence and the greatest height."""
        return min(known[0], -premise[0]), max(known[1], premise[1] + 1)

    def label(self, way: Way, known: Label) -> Label:
        """Apply the rule's own confidence."""
        return -rule_confidence(known[0], way.factor), known[1]


class ByHeight:
    """The height of the proof tree: 0 for a row of a source."""

    def start(self, way: Way) -> Label:  # noqa: ARG002  the same for every way
        """Begin at the bottom."""
        return 0

    def take(self, known: Label, premise: Label) -> Label:
        """Stand above the premise."""
        return max(known, premise + 1)

    def label(self, way: Way, known: Label) -> Label:  # noqa: ARG002  the same for every way
        """Stand above the highest premise."""
        return known


class BySize:
    """The size of the proof tree, in which a fact counts as often as it is used.

    For a recursive total the summand that reaches it counts alone: whichever are listed, one of
    them is as large, so this is a lower bound.
    """

    def start(self, way: Way) -> Label:  # noqa: ARG002  the same for every way
        """Count the fact itself."""
        return 1

    def take(self, known: Label, premise: Label) -> Label:
        """Add the premise."""
        return known + premise

    def label(self, way: Way, known: Label) -> Label:  # noqa: ARG002  the same for every way
        """Return the sum."""
        return known


class ByConfidenceAndSize(ByConfidence):
    """Falling confidence, then size as far as the search decides it."""

    def take(self, known: Label, premise: Label) -> Label:
        """Take the least confidence and add the size."""
        return min(known[0], -premise[0]), known[1] + premise[1] + 1


_STEPS_A_LOOK: Final = 1_000
BY_CONFIDENCE: Final = ByConfidence()
BY_CONFIDENCE_AND_SIZE: Final = ByConfidenceAndSize()
BY_HEIGHT: Final = ByHeight()
BY_SIZE: Final = BySize()


@slotted
class Steps:
    """How many options may still be looked at."""

    left: int
    clock: Clock = UNTIMED
    unlooked: int = 0

    def spend(self, count: int = 1) -> None:
        """Take steps; raises ``TooLargeError`` where none is left, or no time."""
        self.left -= count
        if self.left < 0:
            raise TooLargeError
        self.unlooked += count
        if self.unlooked > _STEPS_A_LOOK:
            self.unlooked = 0
            look_at(self.clock)


@frozen
class Settled:
    """The way by which a state is best, the summands chosen for its totals, and its label."""

    way: Way
    listed: tuple[Listed, ...]
    label: Label
    need: int

    def below(self) -> list[State]:
        """Return the states it rests on."""
        wanted = needed(self.need, self.way.factor)
        return [(fact, wanted) for fact in self.way.below(self.listed)]


@slotted
class _Option:
    """One way for one state, while it waits for its premises."""

    state: State
    way: Way
    known: Label
    totals: list[Open]
    waits: int = 0


@slotted
class _Race:
    """Who waits for which state, and who is ready."""

    measure: Measure
    users: dict[State, list[_Option]] = field(default_factory=dict)
    summands: dict[State, list[tuple[_Option, Open, Waiting]]] = field(default_factory=dict)
    heap: list[tuple[Label, int, _Option]] = field(default_factory=list)
    pushed: int = 0

    def enter(self, state: State, way: Way, wanted: int) -> Iterable[State]:
        """Let a way take part; return the states it may rest on."""
        totals = [one.fresh() for one in way.totals]
        option = _Option(state, way, self.measure.start(way), totals)
        option.waits = len(way.premises) + sum(not one.reached for one in totals)
        below: list[State] = [(premise, wanted) for premise in way.premises]
        for premise in below:
            self.users.setdefault(premise, []).append(option)
        for total in totals:
            for one in total.waiting:
                for fact in facts_of(one):
                    self.summands.setdefault((fact, wanted), []).append((option, total, one))
                    below.append((fact, wanted))
        if not option.waits:
            self.push(option)
        return below

    def push(self, option: _Option) -> None:
        """Put an option whose premises are settled on the heap; of equal ones the first wins."""
        self.pushed += 1
        label = self.measure.label(option.way, option.known)
        heapq.heappush(self.heap, (label, self.pushed, option))

    def served(self, option: _Option, label: Label) -> None:
        """Take note that an option waits for one thing less."""
        option.waits -= 1
        option.known = self.measure.take(option.known, label)
        if not option.waits:
            self.push(option)

    def run(self, target: State | None, steps: Steps) -> dict[State, Settled]:
        """Settle states until the target is, or until none is left."""
        chosen: dict[State, Settled] = {}
        while self.heap:
            label, _, option = heapq.heappop(self.heap)
            state = option.state
            if state in chosen:
                continue
            listed = tuple([one.listed() for one in option.totals])
            chosen[state] = Settled(option.way, listed, label, state[1])
            if state == target:
                break
            users = self.users.get(state, ())
            summands = self.summands.get(state, ())
            steps.spend(1 + len(users) + len(summands))
            for user in users:
                self.served(user, label)
            for user, total, one in summands:
                if not total.reached:
                    total.settle(one)
                    if total.reached:
                        self.served(user, label)
        return chosen


def settle(
    targets: Sequence[Fact],
    ways_of: Callable[[Fact], Iterable[Way]],
    measure: Measure,
    steps: Steps,
    need: int = 0,
) -> dict[State, Settled]:
    """Settle the targets, each with at least the confidence ``need``, and what they rest on.

    A single target ends the search; it is missing from what is returned where it has no such
    derivation.  Raises ``TooLargeError`` beyond the steps.
    """
    race = _Race(measure)
    waiting: list[State] = [(fact, need) for fact in targets]
    met: set[State] = set()
    while waiting:
        state = waiting.pop()
        if state in met:
            continue
        met.add(state)
        fact, least = state
        for way in ways_of(fact):
            wanted = needed(least, way.factor)
            if way.cap >= wanted:
                steps.spend()
                waiting += race.enter(state, way, wanted)
    only = (targets[0], need) if len(targets) == 1 else None
    return race.run(only, steps)


def needed(least: int, factor: int) -> int:
    """Return what premises must be worth for a conclusion worth at least that."""
    if not least:
        return 0
    # A confidence below a millionth counts as none: nothing certain follows by such a rule.
    return -(-least * MILLION // factor) if factor else MILLION + 1
