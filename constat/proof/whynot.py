"""Why a goal does not follow: for each rule the furthest it gets, and what stops it there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.logic import Aggregate, Comparison
from constat.proof.counterexamples import Counterexample, counterexamples
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    decided_by_totals,
    is_ground,
    is_hole,
    order_of,
)
from constat.proof.obstacles import Describing
from constat.proof.reading import LateError, TooLargeError
from constat.proof.sentences import (
    PLAIN,
    ask_comparison,
    describe_pattern,
    name_aggregate,
    say_form,
    say_possible,
)
from constat.proof.slices import Slice, filled_head
from constat.proof.written import original_literal, original_row
from constat.syntax import print_literal

if TYPE_CHECKING:
    from constat.evaluation import DemandEntry
    from constat.logic import Row
    from constat.proof.decide import Decision
    from constat.proof.instances import Binding, LiteralCode, Pattern, RuleCode
    from constat.proof.outside import Columns
    from constat.proof.sentences import Speech

# The literals before it can hold together under each of the bindings, and the literal cannot;
# where a whole body may hold, the rule is open and not failed.

MOST_STEPS: Final = 200_000
MOST_BINDINGS: Final = 10_000

FAILED, OPEN_STATE, NOT_TRIED = "failed", "open", "not tried"


@frozen
class Halt:
    """Where a rule stops.

    ``state`` is ``failed``, ``open`` or ``not tried``; ``place`` the literal that stops it, or
    ``None``, also where only the head differs; ``held`` the places of the literals before it,
    ``behind`` of those after it.  ``bindings`` are those that got there (the one that is open,
    where the rule is); ``tried`` counts all of them.
    """

    code: RuleCode
    state: str
    held: tuple[int, ...] = ()
    place: int | None = None
    bindings: tuple[Binding, ...] = ()
    tried: int = 0
    behind: tuple[int, ...] = ()


def walk_rule(
    walker: Slice, number: int, columns: Columns, key: Row, order: tuple[int, ...] | None
) -> Halt:
    """Walk a rule's body as far as it goes; ``order`` is the engine's, where it is on record."""
    code = walker.code(number)
    start = code.start(columns, key)
    if start is None:
        return Halt(code, FAILED)
    taken = order_of(code, columns) if order is None else order
    try:
        return _walked(walker, code, taken, start, (columns, key))
    except TooLargeError:
        return Halt(code, NOT_TRIED)


def _walked(
    walker: Slice,
    code: RuleCode,
    order: tuple[int, ...],
    start: Binding,
    wanted: tuple[Columns, Row],
) -> Halt:
    deepest, furthest, tried = 0, [start], 1
    beyond: dict[int, list[Binding]] = {}
    waiting = [(0, start)]
    while waiting:
        depth, binding = waiting.pop()
        # A head that calculates may give another value than the one that is asked for.
        whole = depth == len(order)
        if whole and filled_head(code.head.pattern(binding), *wanted) is not None:
            ruled_out = walker.aggregates.ruled_out(code, binding)
            if ruled_out is None:
                return Halt(code, OPEN_STATE, order, None, (binding,), 1)
            beyond.setdefault(ruled_out[0], []).append(binding)
        if depth > deepest:
            deepest, furthest, tried = depth, [], 0
        if depth == deepest > 0:
            tried += 1
            if len(furthest) < MOST_BINDINGS:
                furthest.append(binding)
        walker.spend(1)
        if whole:
            continue
        extended = walker.extend(code, order[depth], binding)
        waiting += [(depth + 1, one) for one in reversed(list(extended))]
    for stop, bindings in beyond.items():
        others = tuple(one for one in order if one != stop)
        return Halt(code, FAILED, others, stop, tuple(bindings[:MOST_BINDINGS]), len(bindings))
    if deepest == len(order):
        return Halt(code, FAILED, order, None, tuple(furthest), tried)
    held, place, behind = order[:deepest], order[deepest], order[deepest + 1 :]
    return Halt(code, FAILED, held, place, tuple(furthest), tried, behind)


def engine_order(
    demands: tuple[DemandEntry, ...], predicate: str, number: int, columns: Columns
) -> tuple[int, ...] | None:
    """Return the order in which the engine took a rule's body for these columns or fewer."""
    serving = [
        one
        for one in demands
        if one.predicate == predicate and set(one.columns) <= set(columns) and number in one.orders
    ]
    best = max(serving, key=lambda one: len(one.columns), default=None)
    return None if best is None else tuple(best.orders[number])


# A rule is called failed only where no instance of it is possible in the decision's reading;
# numbers that miss a threshold are given with their distance.
# Nobody is asked: the walk goes over the recorded answers, in a slice of its own, so that looking
# leaves no trace in the certificate. (`refutation` asks, and goes down into what the rules rest
# on.)

_SECONDS: Final = 0.5


@frozen
class Attempt:
    """How far a rule gets.

    ``state`` is ``failed``, ``open`` (it may hold, something is unknown) or ``not tried`` (too much
    to look at).  ``reached`` counts the literals of ``of`` that were tried before and can hold
    together: how many, depends on the order in which the engine takes them.  ``literal`` is the
    one that stops it, ``untried`` are those behind it; ``actual`` and ``required`` say what is
    there and what would be needed, ``distance`` how far a comparison is off.  ``tried`` counts the
    bindings that got that far; the first is described.  Where the literal asks for absence,
    ``counterexamples`` are the first rows
    that are there all the same, and ``counted`` how many there are.
    """

    rule: str
    rule_text: str
    state: str
    reached: int
    of: int
    literal: str = ""
    sentence: str = ""
    actual: str = ""
    required: str = ""
    distance: str = ""
    tried: int = 0
    counterexamples: tuple[Counterexample, ...] = ()
    counted: int = 0
    at_least: bool = False
    summed: bool = False
    untried: tuple[str, ...] = ()


def attempts_at(decision: Decision, speech: Speech = PLAIN) -> tuple[Attempt, ...]:
    """Say for each rule of the goal's predicate how far it gets."""
    # Worth a moment of its own, whenever somebody looks: it proves nothing.
    clock = decision.reading.clock.anew(_SECONDS)
    reading = replace(decision.reading, clock=clock)
    walker = Slice(reading, MOST_STEPS, decision.proof.slice.outside.book)
    walker.speech = speech
    try:
        return _attempts(decision, walker)
    except LateError:
        return ()


def _attempts(decision: Decision, walker: Slice) -> tuple[Attempt, ...]:
    pattern = decision.proof.pattern
    columns = tuple(place for place, cell in enumerate(pattern) if cell is not None)
    key: Row = tuple(pattern[column] for column in columns)  # type: ignore[misc]
    found = []
    for number in decision.reading.program.rule_numbers(decision.goal.predicate):
        order = _order(decision, number, columns)
        found.append(_attempt(walker, walk_rule(walker, number, columns, key, order)))
    return tuple(found)


def _order(decision: Decision, number: int, columns: Columns) -> tuple[int, ...] | None:
    """Return the order in which the proof took a rule's body."""
    predicate = decision.goal.predicate
    for (name, bound), entry in decision.proof.slice.inside.entries.items():
        if name == predicate and set(bound) <= set(columns):
            return entry.orders[number]
    return None


def _attempt(walker: Slice, halt: Halt) -> Attempt:
    rule = walker.program.rules[halt.code.number]
    describing = Describing(walker, halt.code)
    text = ", ".join(
        print_literal(original_literal(walker.program, one.literal), describing.predicates)
        for one in describing.written
    )
    held = describing.held(halt.held)
    made = (rule.id, text, halt.state, len(held), len(describing.written))
    if halt.state == "open":
        return Attempt(*made, sentence=what_is_unknown(walker, halt))
    if halt.place is None:
        headless = "its head is about other values" if halt.state == "failed" else ""
        return Attempt(*made, sentence=headless)
    stop = describing.obstacle(halt.place, halt.bindings[0])
    against = counterexamples(walker, halt.code, halt.place, halt.bindings[0])
    return Attempt(
        *made,
        literal=stop.literal,
        sentence=stop.sentence,
        actual=stop.actual,
        required=stop.required,
        distance=stop.distance,
        tried=halt.tried,
        counterexamples=against.shown,
        counted=against.count,
        at_least=against.at_least,
        summed=against.summed,
        untried=untried(describing, halt),
    )


def untried(describing: Describing, halt: Halt) -> tuple[str, ...]:
    """Give the literals behind the one that stops a rule, as they are written."""
    behind = (one for one in describing.written if set(one.places) & set(halt.behind))
    literals = (one.literal for one in behind if halt.place not in one.places)
    program, declared = describing.walker.program, describing.predicates
    return tuple(print_literal(original_literal(program, one), declared) for one in literals)


def what_is_unknown(walker: Slice, halt: Halt) -> str:
    """Say what has to be true for an open rule to hold."""
    unknown = _Unknown(walker, halt)
    texts = [text for code in halt.code.body if (text := unknown.text_of(code, halt.bindings[0]))]
    # The parts of a pattern are one literal of the text.
    return say_possible(texts, walker.speech)


class _Unknown:
    """Finds the literals of an open instance that are not certain."""

    def __init__(self, walker: Slice, halt: Halt) -> None:
        self.walker = walker
        self.code = halt.code
        self.program = walker.program
        self.predicates = self.program.program.predicates
        self.describing = Describing(walker, halt.code)
        self.decided = decided_by_totals(halt.code)

    def text_of(self, code: LiteralCode, binding: Binding) -> str:
        """Say what has to be true for a literal that is not certain; empty for the others."""
        match code:
            case PositiveCode(atom) | NegativeCode(atom):
                negative = isinstance(code, NegativeCode)
                row = atom.pattern(binding)
                if is_ground(row) and self.is_settled(atom.predicate, row, negative=negative):
                    return ""
                name, shape = original_row(self.program, atom.predicate, atom.shape(row))
                declared, speech = self.predicates[name], self.walker.speech
                return describe_pattern(declared, shape, holds=not negative, speech=speech)
            case ComparisonCode():
                # A threshold speaks for its comparison.
                decided = code in self.decided
                holds = decided or code.truth(binding) is True
                return "" if holds else self.demanded(code, binding)
            case AggregateCode():
                return self.total(code, binding)

    def demanded(self, code: ComparisonCode, binding: Binding) -> str:
        """Say what a comparison asks, in words where it is one of the text."""
        place = self.code.body.index(code)
        one = next(one for one in self.describing.written if place in one.places)
        if not isinstance(one.literal, Comparison):
            return self.is_true(code)
        instance = self.describing.instance(binding)
        if one.opened:
            return say_form(instance, one.literal)
        return ask_comparison(instance, one.literal)

    def total(self, code: AggregateCode, binding: Binding) -> str:
        """Say what has to be known of an aggregate."""
        place = self.code.body.index(code)
        if code.threshold is not None:
            return self.reached(code.threshold.place, binding)
        value = self.walker.aggregates.exact(self.code, place, code, binding).value
        literal = self.describing.literal(place)
        if not is_hole(value) or not isinstance(literal, Aggregate):
            return ""
        said = name_aggregate(self.describing.instance(binding), literal)
        return self.walker.speech.say("{0} were known", "{0} ist bekannt", said)

    def reached(self, place: int, binding: Binding) -> str:
        """Say what a total has to reach that nobody knows."""
        literal, instance = self.describing.literal(place), self.describing.instance(binding)
        totals = {one.result.name for one in instance.rule.body if isinstance(one, Aggregate)}
        values = {name: one for name, one in instance.values.items() if name not in totals}
        if not isinstance(literal, Comparison):
            return self.is_true(self.code.body[place])
        return ask_comparison(replace(instance, values=values), literal)

    def is_true(self, code: LiteralCode) -> str:
        """Say that a literal holds, by its text."""
        shown = self.describing.text(code)
        return self.walker.speech.say("{0} is true", "{0} ist wahr", shown)

    def is_settled(self, predicate: str, row: Pattern, *, negative: bool) -> bool:
        """Tell whether a ground literal is certain."""
        if negative:
            return not self.walker.possible(predicate, row)
        return self.walker.is_certain(predicate, row)  # type: ignore[arg-type]  # ground
