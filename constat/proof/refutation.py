"""Why a goal does not hold, down to what its rules rest on: a tree of attempts, kept flat."""

from __future__ import annotations

import heapq
import time
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

from constat.analysis.attributes import NO_REASON, reason_codes
from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, Limits
from constat.frozen import frozen, slotted
from constat.logic import OPEN, Atom, Constant, NullPolicy, Variable, null_policies
from constat.proof.counterexamples import Counterexample, Counterexamples, counterexamples
from constat.proof.decide import decide
from constat.proof.instances import (
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    is_ground,
    is_hole,
    opened,
)
from constat.proof.obstacles import MOST_NEAR, Describing, Obstacle
from constat.proof.outside import Usage
from constat.proof.reading import TooLargeError, accepting_reading, hard_reading
from constat.proof.sentences import PLAIN
from constat.proof.shown import SourceShown, source_shown
from constat.proof.slices import Slice
from constat.proof.tree import Tree, proof_tree
from constat.proof.whynot import MOST_STEPS, engine_order, untried, walk_rule, what_is_unknown
from constat.proof.written import original_literal
from constat.syntax import print_literal, print_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.evaluation import Engine, Externals, Outcome
    from constat.logic import OpenRow, Row
    from constat.proof.decide import Decision
    from constat.proof.instances import AtomCode, Binding, Pattern
    from constat.proof.outside import Outside
    from constat.proof.reading import Reading
    from constat.proof.sentences import Speech
    from constat.proof.whynot import Halt

# A literal is named only where it fails for every completion of the binding: what cannot be told
# without the literal that failed is left out.


class Asking(Protocol):
    """What evaluates further goals."""

    def atom(self, shape: tuple[str, OpenRow]) -> Atom:
        """Return the goal that asks for a shape."""
        ...

    def outcome(self, shape: tuple[str, OpenRow]) -> Outcome | None:
        """Evaluate a goal; ``None`` when no more may be asked."""
        ...


def besides(
    describing: Describing, asking: Asking, binding: Binding, places: tuple[int, ...]
) -> Iterator[Obstacle]:
    """Yield the literals that fail besides, in the order of the walk."""
    for place in places:
        code = describing.code.body[place]
        if isinstance(code, ComparisonCode):
            # A field of a structure that has another constructor says nothing.
            truth = OPEN if describing.is_idle(place, binding) else code.truth(binding)
            if truth is False:
                yield describing.obstacle(place, binding)
            elif truth is None:
                binding = code.assigned(binding) or binding
        elif isinstance(code, PositiveCode):
            found = _matching(describing, asking, code.atom, binding)
            if found is None:
                continue
            absent, rows = found
            if absent:
                yield describing.obstacle(place, binding)
            elif len(rows) == 1:
                pattern = code.atom.pattern(binding)
                binding = code.atom.unify(pattern, rows[0], binding) or binding
        elif isinstance(code, NegativeCode) and _is_there(asking, code.atom, binding):
            yield describing.obstacle(place, binding)


def _matching(
    describing: Describing, asking: Asking, atom: AtomCode, binding: Binding
) -> tuple[bool, list[OpenRow]] | None:
    """Return whether no row can match an atom, and those that do; ``None`` if nobody can tell."""
    pattern = atom.pattern(binding)
    if any(c is None and s < 0 for c, s in zip(pattern, atom.slots, strict=True)):
        # A function of what is not bound: which rows match depends on the literal that failed.
        return None
    if all(cell is None for cell in pattern) and not describing.is_configured(atom.predicate):
        # Nothing narrows it: that would read a whole relation for a remark.
        return None
    shape = (atom.predicate, opened(pattern))
    outcome = asking.outcome(shape)
    if outcome is None:
        return None
    strength = outcome.strength(asking.atom(shape))
    if strength in {ABSENT, CONCEIVABLE}:
        return True, []
    rows = [
        row
        for row in outcome.rows(atom.predicate, ACCEPTED)
        if OPEN not in row and atom.unify(pattern, row, binding) is not None
    ]
    return False, rows if strength in {CERTAIN, ACCEPTED} else []


def _is_there(asking: Asking, atom: AtomCode, binding: Binding) -> bool:
    row = atom.pattern(binding)
    if not is_ground(row):
        return False
    shape = (atom.predicate, opened(row))
    outcome = asking.outcome(shape)
    return outcome is not None and outcome.strength(asking.atom(shape)) in {CERTAIN, ACCEPTED}


# `inline` is said only where every row that the source answered is among those looked at.
# * `declared`: somebody vouches that nothing is missing, or a silent tier was passed over (C0); *
# `re-runnable`: the source's query answered more than is shown here, and can be run again (C1); *
# `inline`: all rows that the sources answered are shown (C3); * `derived`: only conclusions were
# looked up; no rule gives more of them (C4).

LEVELS: Final = ("declared", "re-runnable", "inline", "derived")


def level_of(outside: Outside, usage: Usage) -> str:
    """Return the weakest level of what was used."""
    if any(one.kind in {"closure", "fall-through"} for one in usage.assumptions):
        return "declared"
    levels = {"re-runnable"} if usage.sifted else set()
    for predicate, columns, key in usage.covered:
        rows = outside.side(predicate).rows.matching(columns, key)
        shown = sum(OPEN not in row for row in rows)
        for evidence in outside.sources((predicate, columns, key)):
            levels.add("inline" if evidence.row_count <= shown else "re-runnable")
    return weakest(levels or {"derived"})


def weakest(levels: Iterable[str]) -> str:
    """Return the weakest of some levels; empty where there is none."""
    known = [LEVELS.index(level) for level in levels if level]
    return LEVELS[min(known)] if known else ""


Shape = tuple[str, "OpenRow"]

_MOST_PROBES: Final = 300
_PROBE_SECONDS: Final = 5.0
_MOST_PROOFS: Final = 10


@frozen
class Candidate:
    """A binding that got as far as any: the conclusion it would give, and what stops it."""

    fact: str
    obstacle: Obstacle


@frozen
class RuleAttempt:
    """How far a rule gets.

    ``state`` is ``failed``, ``open`` or ``not tried``.  ``holds`` are the literals that can hold
    together, with their values; ``stop`` is the one that fails (of the nearest candidate),
    ``others`` what fails besides behind it, ``untried`` the rest of what is behind it: whether that
    holds was not asked, or it does not fail.  ``candidates`` are the nearest, ``tried`` counts all
    that got there.  ``level`` says what the "no" rests on.  ``below`` are numbers of conclusions
    that are lacking, ``because`` numbers of proofs of what must not be there, of ``unproved`` more
    there is none.  ``counterexamples`` are the first of ``counted`` that contradict an "every",
    or of more, with ``at_least``.
    """

    rule: str
    rule_text: str
    state: str
    reached: int
    of: int
    tried: int = 0
    level: str = ""
    holds: tuple[str, ...] = ()
    stop: Obstacle | None = None
    others: tuple[Obstacle, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    sentence: str = ""
    below: tuple[int, ...] = ()
    because: tuple[int, ...] = ()
    codes: tuple[str, ...] = ()
    counterexamples: tuple[Counterexample, ...] = ()
    counted: int = 0
    at_least: bool = False
    summed: bool = False
    unproved: int = 0
    untried: tuple[str, ...] = ()


@frozen
class Lacking:
    """A conclusion or row that is not there.

    ``state`` is ``absent``, ``open`` (it may be there) or ``there``.  ``sources`` were asked for it
    and ``nearest`` are rows of theirs that differ in one column; ``farther`` counts more of them.
    """

    fact: str
    state: str
    level: str
    sources: tuple[SourceShown, ...]
    nearest: tuple[str, ...]
    attempts: tuple[RuleAttempt, ...]
    farther: int = 0


@frozen
class Refutation:
    """The tree: ``lacking[0]`` is the goal.  ``left`` counts conclusions not looked into."""

    lacking: tuple[Lacking, ...]
    proofs: tuple[Tree, ...]
    left: int


def refute(
    engine: Engine,
    decision: Decision,
    externals: Externals,
    limits: Limits,
    *,
    most: int = 40,
    speech: Speech = PLAIN,
) -> Refutation:
    """Say why a decided goal does not hold; at most so many conclusions are looked into."""
    prober = Prober(engine, decision, externals, limits, speech)
    return _Refuting(prober, decision, most).run()


@slotted
class Prober:
    """Evaluates further goals in the world of a decision, within a budget."""

    engine: Engine
    decision: Decision
    externals: Externals
    limits: Limits
    speech: Speech = PLAIN
    left: int = _MOST_PROBES
    started: float = field(default_factory=time.monotonic)

    def is_spent(self) -> bool:
        """Tell whether nothing more may be evaluated."""
        spent = time.monotonic() - self.started > _PROBE_SECONDS
        return self.left <= 0 or spent or not self.limits.left

    def atom(self, shape: Shape) -> Atom:
        """Return the goal that asks for a shape."""
        predicate = self.decision.outcome.program.program.predicates[shape[0]]
        # A variable would read a column, and of a column that no rule reads nothing is known.
        unread = {n for n, one in enumerate(null_policies(predicate)) if one is NullPolicy.UNREAD}
        terms = [
            Variable(f"_{place}" if place in unread else f"c{place}")
            if slot is OPEN
            else Constant(slot, kind)
            for place, (slot, kind) in enumerate(zip(shape[1], predicate.kinds, strict=True))
        ]
        return Atom(shape[0], tuple(terms))

    def outcome(self, shape: Shape) -> Outcome | None:
        """Evaluate a goal; ``None`` when the budget is spent."""
        if self.is_spent():
            return None
        self.left -= 1
        program = self.decision.outcome.program
        limits = self.limits.at_most(_PROBE_SECONDS)
        return self.engine.evaluate(program, self.atom(shape), self.externals, limits)

    def proof(self, shape: Shape) -> Tree | None:
        """Prove a row that is there; ``None`` where that is not possible."""
        if self.is_spent():
            return None
        self.left -= 1
        program = self.decision.outcome.program
        found = decide(self.engine, program, self.atom(shape), self.externals, self.limits)
        return proof_tree(found, self.speech) if found.answers else None


def reading_of(outcome: Outcome, goal: Atom) -> Reading:
    """Return the reading that decides a goal, as a decision chooses it."""
    accepted = outcome.strength(goal) in {ACCEPTED, CONCEIVABLE}
    return accepting_reading(outcome) if accepted else hard_reading(outcome)


class _Refuting:
    """Looks into conclusions one after the other, the goal first."""

    def __init__(self, prober: Prober, decision: Decision, most: int) -> None:
        self.prober = prober
        self.decision = decision
        self.most = most
        self.numbers: dict[Shape, int] = {}
        self.waiting: list[Shape] = []
        self.proofs: list[Tree] = []
        self.proved: dict[Shape, int] = {}
        self.left: set[Shape] = set()
        self.clock = prober.limits.proving()

    def run(self) -> Refutation:
        """Look into the goal and what it rests on, breadth first."""
        pattern = self.decision.proof.pattern
        shape = tuple(OPEN if is_hole(cell) else cell for cell in pattern)
        root: Shape = (self.decision.goal.predicate, shape)  # type: ignore[assignment]  # no holes
        self.number(root)
        found: list[Lacking] = []
        while self.waiting:
            one = self.waiting.pop(0)
            outcome, reading = self.world(one, is_root=one == root)
            if outcome is None or reading is None:
                self.left.add(one)
                found.append(_unexplored(self.shown(one)))
            else:
                found.append(self.looked_into(one, outcome, reading))
        return Refutation(tuple(found), tuple(self.proofs), len(self.left))

    def looked_into(self, shape: Shape, outcome: Outcome, reading: Reading) -> Lacking:
        """Look into a conclusion, as far as there is time."""
        timed = replace(reading, clock=self.clock)
        try:
            return _Looking(self, shape, outcome, timed).lacking()
        except TooLargeError:
            self.left.add(shape)
            return _unexplored(self.shown(shape))

    def world(self, shape: Shape, *, is_root: bool) -> tuple[Outcome | None, Reading | None]:
        if is_root:
            return self.decision.outcome, self.decision.reading
        outcome = self.prober.outcome(shape)
        if outcome is None:
            return None, None
        return outcome, reading_of(outcome, self.prober.atom(shape))

    def number(self, shape: Shape) -> int | None:
        """Return the number of a conclusion that is or will be looked into; bounded."""
        known = self.numbers.get(shape)
        if known is None:
            if len(self.numbers) >= self.most:
                self.left.add(shape)
                return None
            known = self.numbers[shape] = len(self.numbers)
            self.waiting.append(shape)
        return known

    def because(self, shape: Shape) -> int | None:
        """Return the number of the proof of a row that must not be there."""
        known = self.proved.get(shape)
        if known is None and len(self.proofs) < _MOST_PROOFS:
            tree = self.prober.proof(shape)
            if tree is not None:
                known = self.proved[shape] = len(self.proofs)
                self.proofs.append(tree)
        return known

    def shown(self, shape: Shape) -> str:
        return print_row(self.decision.outcome.program.program.predicates[shape[0]], shape[1])


def _unexplored(fact: str) -> Lacking:
    return Lacking(fact, "not tried", "", (), (), ())


class _Looking:
    """Looks into one conclusion."""

    def __init__(
        self, refuting: _Refuting, shape: Shape, outcome: Outcome, reading: Reading
    ) -> None:
        self.refuting = refuting
        self.shape = shape
        self.outcome = outcome
        self.walker = Slice(reading, steps=MOST_STEPS)
        self.walker.speech = refuting.prober.speech
        self.program = reading.program
        self.columns = tuple(p for p, slot in enumerate(shape[1]) if slot is not OPEN)
        self.key: Row = tuple(shape[1][c] for c in self.columns)  # type: ignore[misc]  # ground

    def lacking(self) -> Lacking:
        """Say what was asked for it and how far its rules get."""
        name, _ = self.shape
        self.walker.outside.usage = usage = Usage()
        sources: tuple[SourceShown, ...] = ()
        near: list[str] = []
        if name in self.program.external:
            self.walker.outside.possible(name, self.pattern())
            sources = self.sources(usage)
            near = self.nearest()
        attempts = tuple(self.attempt(number) for number in self.program.rule_numbers(name))
        state = self.state()
        levels = [one.level for one in attempts]
        if name in self.program.external:
            levels.append(level_of(self.walker.outside, usage))
        level = weakest(levels) or "derived"
        return Lacking(
            self.refuting.shown(self.shape),
            state,
            level if state == "absent" else "",
            sources,
            tuple(near[:MOST_NEAR]),
            attempts,
            max(0, len(near) - MOST_NEAR),
        )

    def pattern(self) -> Pattern:
        return tuple(None if slot is OPEN else slot for slot in self.shape[1])

    def state(self) -> str:
        strength = self.outcome.strength(self.refuting.prober.atom(self.shape))
        if strength in {ABSENT, CONCEIVABLE}:
            return "absent"
        return "there" if strength in {CERTAIN, ACCEPTED} else "open"

    def sources(self, usage: Usage) -> tuple[SourceShown, ...]:
        found: dict[SourceShown, None] = {}
        for covered in sorted(usage.every(), key=str):
            for evidence in self.walker.outside.sources(covered):
                found[source_shown(evidence)] = None
        return tuple(found)

    def nearest(self) -> list[str]:
        """Ask for rows that differ in one column: outside the key, else the last that is bound."""
        declared = self.program.program.predicates[self.shape[0]]
        free = [column for column in self.columns if column not in declared.key]
        if not free or len(self.columns) < 2:  # noqa: PLR2004  one column to differ, one to stay
            return []
        relaxed = tuple(
            OPEN if place == free[-1] else slot for place, slot in enumerate(self.shape[1])
        )
        outcome = self.refuting.prober.outcome((self.shape[0], relaxed))
        if outcome is None:
            return []
        rows = [row for row in outcome.rows(self.shape[0], ACCEPTED) if OPEN not in row]
        stay = [column for column in self.columns if column != free[-1]]
        over = self.refuting.clock.over
        near = [row for row in over(rows) if all(row[column] == relaxed[column] for column in stay)]
        return [print_row(declared, row) for row in sorted(near, key=str)]

    def attempt(self, number: int) -> RuleAttempt:
        """Walk one rule and describe where it stops."""
        order = engine_order(self.outcome.demands, self.shape[0], number, self.columns)
        self.walker.outside.usage = usage = Usage()
        halt = walk_rule(self.walker, number, self.columns, self.key, order)
        level = level_of(self.walker.outside, usage)
        rule = self.program.rules[number]
        describing = Describing(self.walker, halt.code)
        body = (original_literal(self.program, one.literal) for one in describing.written)
        text = ", ".join(map(print_literal, body))
        made = RuleAttempt(
            rule.id,
            text,
            halt.state,
            len(describing.held(halt.held)),
            len(describing.written),
            codes=reason_codes(rule.attributes),
        )
        if halt.state == "open":
            return replace(made, sentence=what_is_unknown(self.walker, halt))
        if halt.place is None:
            headless = "its head is about other values" if halt.state == "failed" else ""
            return replace(made, sentence=headless)
        return self.stopped(replace(made, level=level), halt, describing)

    def stopped(self, made: RuleAttempt, halt: Halt, describing: Describing) -> RuleAttempt:
        """Describe the literal that stops a rule, for its nearest bindings."""
        place = halt.place or 0
        nearest = nearest_bindings(describing, place, halt.bindings)
        obstacles = [describing.obstacle(place, binding) for binding in nearest]
        candidates = tuple(
            Candidate(describing.head(binding), obstacle)
            for binding, obstacle in zip(nearest, obstacles, strict=True)
        )
        behind = besides(describing, self.refuting.prober, nearest[0], halt.behind)
        others = tuple(_once(obstacles[0], behind))
        # A rule about structures of another form says nothing here, whatever else it lacks.
        misshapen = obstacles[0].misshapen
        below, because, unproved = ((), (), 0) if misshapen else self.under(obstacles, others)
        against = counterexamples(self.walker, halt.code, place, nearest[0])
        if because and against.count == 1:
            # Its proof says more.
            against = Counterexamples()
        return replace(
            made,
            tried=halt.tried,
            holds=tuple(describing.claim(one, nearest[0]) for one in describing.held(halt.held)),
            stop=obstacles[0],
            others=others,
            candidates=candidates if halt.tried > 1 else (),
            sentence=obstacles[0].sentence,
            below=below,
            because=because,
            counterexamples=against.shown,
            counted=against.count,
            at_least=against.at_least,
            summed=against.summed,
            unproved=unproved,
            untried=tuple(
                one for one in untried(describing, halt) if one not in {o.literal for o in others}
            ),
        )

    def under(
        self, obstacles: list[Obstacle], others: tuple[Obstacle, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Number what is lacking, and the proofs of what must not be there; count what has none."""
        unproved = 0
        below: dict[int, None] = {}
        because: dict[int, None] = {}
        for one in (*obstacles, *others):
            if one.atom is None:
                continue
            into = below if one.kind == "lacking" else because
            look = self.refuting.number if one.kind == "lacking" else self.refuting.because
            number = look(one.atom)
            if number is not None:
                into[number] = None
            elif one.kind != "lacking":
                unproved += 1
        return tuple(below), tuple(because), unproved


def _once(stop: Obstacle, behind: Iterator[Obstacle]) -> Iterator[Obstacle]:
    """Yield what fails of other literals, each once: several fields of one pattern may be wrong."""
    seen = {stop.number}
    for one in behind:
        if one.number not in seen:
            seen.add(one.number)
            yield one


def nearest_bindings(
    describing: Describing, place: int, bindings: tuple[Binding, ...]
) -> list[Binding]:
    """Return the bindings under which a literal is nearest to holding; ties in the order met."""
    return heapq.nsmallest(MOST_NEAR, bindings, key=lambda one: describing.gap(place, one))


# Each reason is a literal that fails for this goal, with its values; none comes from a list.  A
# literal with a code speaks for itself; one that lacks a derived conclusion and has no code is
# looked into.
# Rank: by the gap to holding (`distances`), 0 nearest; a literal that lacks a derived conclusion
# is as near as the nearest literal that conclusion stops at, anything else without a distance is
# farthest. Ties go by the order of rules and then of the body. A code is given once, at its
# nearest.

MOST: Final = 4


@frozen
class Reason:
    """One reason: its code, the literal that fails and where it stands in the rule's text."""

    code: str
    rule: str
    place: int
    obstacle: Obstacle
    gap: Fraction


def principal_reasons(refutation: Refutation, most: int | None = MOST) -> tuple[Reason, ...]:
    """Rank the reason codes of what fails; at most so many, or all."""
    found = list(_Collecting(refutation).reasons())
    # Sorting keeps the order met, which is that of rules and bodies, where gaps are equal.
    ranked = sorted(found, key=lambda one: one.gap)
    first: dict[str, Reason] = {}
    for one in ranked:
        first.setdefault(one.code, one)
    return tuple(first.values())[:most]


class _Collecting:
    """Walks from the goal down to literals with codes."""

    def __init__(self, refutation: Refutation) -> None:
        self.lacking = refutation.lacking
        self.places = {one.fact: place for place, one in enumerate(refutation.lacking)}
        self.nearest: dict[int, Fraction] = {}

    def reasons(self) -> Iterator[Reason]:
        """Yield the reasons in the order of rules and bodies, each conclusion once."""
        waiting = [0] if self.lacking else []
        seen = set(waiting)
        while waiting:
            conclusion = self.lacking[waiting.pop(0)]
            for attempt in conclusion.attempts:
                for obstacle in sorted(_failing(attempt), key=lambda one: one.place):
                    code = _code(attempt, obstacle)
                    number = self.below(obstacle)
                    if code:
                        gap = obstacle.gap if number is None else self.gap_of(number)
                        yield Reason(code, attempt.rule, obstacle.number, obstacle, gap)
                    elif number is not None and number not in seen:
                        seen.add(number)
                        waiting.append(number)

    def below(self, obstacle: Obstacle) -> int | None:
        """Return the number of the conclusion that an obstacle lacks, if it was looked into."""
        return self.places.get(obstacle.required) if obstacle.kind == "lacking" else None

    def gap_of(self, number: int) -> Fraction:
        """Return the gap of the nearest literal that a conclusion stops at, however deep."""
        known = self.nearest.get(number)
        if known is None:
            known = self.nearest[number] = min(self.gaps(number), default=Fraction(1))
        return known

    def gaps(self, number: int) -> Iterator[Fraction]:
        waiting, seen = [number], {number}
        while waiting:
            for attempt in self.lacking[waiting.pop()].attempts:
                if attempt.stop is None:
                    continue
                below = self.below(attempt.stop)
                if below is None:
                    yield attempt.stop.gap
                elif below not in seen:
                    seen.add(below)
                    waiting.append(below)


def _failing(attempt: RuleAttempt) -> list[Obstacle]:
    return [] if attempt.stop is None else [attempt.stop, *attempt.others]


def _code(attempt: RuleAttempt, obstacle: Obstacle) -> str:
    # Analysis gave what takes a structure apart the code of the literal that it comes from.
    if obstacle.place >= len(attempt.codes):
        return ""
    code = attempt.codes[obstacle.place]
    return "" if code == NO_REASON else code
