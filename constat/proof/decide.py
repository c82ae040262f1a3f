"""From a goal to a decision: the verdict, what it rests on, and what is missing."""

from __future__ import annotations

import time
from dataclasses import field, replace
from decimal import Decimal
from functools import cache, partial
from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    UNTIMED,
    DemandEntry,
    Verdict,
    filled_externals,
    ignore_event,
)
from constat.frozen import frozen
from constat.logic import OPEN, Constant, NullCell, Variable, is_wildcard
from constat.plan import unproductive
from constat.proof.encoding import SharedValues, canonical, structures_in
from constat.proof.levels import MILLION, Ranking
from constat.proof.projection import has_given, with_projections
from constat.proof.proofs import Proof, RuleNode, UnshownError, UnsupportedError
from constat.proof.reading import LateError, Reading, TooLargeError, accepting_reading, hard_reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.evaluation import (
        Assumption,
        Call,
        Clock,
        Derivation,
        Engine,
        Externals,
        Failure,
        Limits,
        Observer,
        Outcome,
    )
    from constat.logic import Atom, OpenRow, Row
    from constat.proof.missing import Gap, Replay
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node

# It is an upper bound of every outcome, so "unresolved" follows from it whatever the limit cut
# off, and its certificate is as small as the rules.


class UnknownOutcome:
    """Everything is possible but rows that no rule can make, whatever sources say."""

    def __init__(self, stopped: Outcome) -> None:
        self._stopped = stopped
        self._derived = dict.fromkeys(rule.head.predicate for rule in stopped.program.rules)
        self._empty = unproductive(stopped.program)

    @property
    def program(self) -> AnalysedProgram:
        """The program that was evaluated."""
        return self._stopped.program

    @property
    def goal(self) -> Atom:
        """The goal that was evaluated."""
        return self._stopped.goal

    @property
    def calls(self) -> tuple[Call, ...]:
        """Nothing that was answered counts here."""
        return ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The instances that erred before evaluation stopped."""
        return self._stopped.failures

    @property
    def stopped(self) -> str:
        """Why evaluation stopped."""
        return self._stopped.stopped

    @property
    def demands(self) -> tuple[DemandEntry, ...]:
        """Every derived predicate as a whole."""
        every: frozenset[Row] = frozenset({()})
        return tuple(DemandEntry(name, (), {}, every) for name in self._derived)

    def strength(self, atom: Atom) -> int:  # noqa: ARG002  the same for every atom
        """Every atom may hold."""
        return POSSIBLE

    def rows(self, predicate: str, least: int) -> Iterable[OpenRow]:
        """One row that stands for all, where possible rows are asked for."""
        if least > POSSIBLE or predicate not in self._derived or predicate in self._empty:
            return ()
        return ((OPEN,) * self.program.program.predicates[predicate].arity,)

    def derivation(self, predicate: str, row: Row, least: int) -> Derivation:  # noqa: ARG002
        """Nothing is known to hold."""
        raise KeyError((predicate, row))


# Nothing is encoded to find out, so that what is too large is left open before it fills the
# memory.  A structure stands in full in each row that has it: a walk down a list of n cells shows
# n tails, whose texts grow with the square of n.

# A checker reads 256 MiB (FORMAT.md, section 1); what is not counted here is small beside it.
MOST_TEXT: Final = 200_000_000
_SHORT: Final = 64


def is_too_long(proof: Proof) -> bool:
    """Tell whether the texts of a proof are longer than can be written down and checked."""
    if not proof.reading.program.has_structures:
        return False
    left = MOST_TEXT
    for row in _rows(proof):
        left -= sum(_length(cell) for cell in row if isinstance(cell, str))
        if left < 0:
            # Most of it may be lists whose rest is another cell, which is written once.
            return _shared_length(proof) > MOST_TEXT
    return False


def _shared_length(proof: Proof) -> int:
    cells = structures_in(proof)
    shared = SharedValues(cells)
    alone = sum(_length(text) for text in cells if text not in shared.places)
    return alone + sum(len(canonical(entry)) for entry in shared.entries)


def _rows(proof: Proof) -> Iterator[Iterable[object]]:
    for node in proof.nodes.values():
        yield node.row
        if isinstance(node, RuleNode):
            yield node.values
    inside = proof.slice.inside
    for rows in inside.shown_rows().values():
        yield from rows
    for entry in inside.entries.values():
        yield from entry.keys


def _length(text: str) -> int:
    return len(text) if len(text) < _SHORT else len(canonical(text))


# Nothing outside is asked after the first evaluation; every later question is put to the recorded
# answers.

_BEST_STEPS = 2_000_000
_MOST_CELLS = 20
# Minimal sets are a service, not the verdict: they may not take longer than a person waits.
_REPLAY_SECONDS = 3.0
_TOO_LARGE = (
    "what shows the goal is too large to write down and to check; "
    "bind more of the goal, or prove what it rests on by itself"
)
_NOT_SHOWN = (
    "evaluation decides the goal, but a certificate lists possible rows without saying which "
    "belong together, and these leave it open; answer what is missing, or bind more of the goal"
)

_WITHHELD = (
    "evaluation leaves the goal open, although what it looked at would decide it; "
    "answer what is missing, or ask for what the goal rests on by itself"
)


@frozen
class Decision:
    """What became of a goal.

    ``confidence`` has at most six places and is 0 for UNRESOLVED; ``exact`` tells whether no better
    proof exists.  ``assumptions`` are those the verdict accepts, ``minimal`` whether none of them
    can be left out.  ``gaps`` say what would decide an unresolved goal.  ``answers`` are the
    certain rows of the goal.  ``limit`` says why a goal that evaluation decides is left open: what
    shows it is too large to write down and to check.  ``recorded_conflicts`` are those of a
    certificate that is made again.  ``gaps_left`` counts gaps that are not listed.  ``program`` is
    the one that was asked, where it has given columns, of which evaluation knows none.  The clock
    ``writing`` bounds how long its certificate may take, until it is released.  ``left_out``
    counts further certain rows of the goal, which are not shown.
    """

    goal: Atom
    verdict: Verdict
    confidence: Decimal
    exact: bool
    assumptions: tuple[Assumption, ...]
    minimal: bool
    gaps: tuple[Gap, ...]
    outcome: Outcome
    proof: Proof
    limit: str = ""
    recorded_conflicts: tuple[str, ...] = ()
    gaps_left: int = 0
    program: AnalysedProgram | None = None
    writing: Clock = field(default=UNTIMED, compare=False, repr=False)
    left_out: int = 0

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Who says another value for a key of a row that is shown, or that is shown not to be."""
        met = (one for call in self.outcome.calls for one in call.answer.conflicts)
        concerned = {one.text for one in met if self.proof.slice.outside.concerns(one)}
        return self.recorded_conflicts or tuple(sorted(concerned))

    @property
    def missing(self) -> tuple[tuple[str, OpenRow], ...]:
        """The gaps as predicates and rows to paste back as goals."""
        return tuple((gap.predicate, gap.row) for gap in self.gaps)

    @property
    def reading(self) -> Reading:
        """The reading that decides the goal."""
        return self.proof.reading

    @property
    def answers(self) -> tuple[Fact, ...]:
        """The rows that prove the goal."""
        return self.proof.answers


@frozen
class _Wanted:
    """What is wanted of the proof: the best, the first of a ranking, at most so many rows."""

    exhaust: bool = False
    ranking: Ranking | None = None
    most: int | None = None
    every: bool = False


def decide(  # noqa: PLR0913  # the engine's own arguments, handed through
    engine: Engine,
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    *,
    exhaust: bool = False,
    ranking: Ranking | None = None,
    most: int | None = None,
    every: bool = False,
    observe: Observer = ignore_event,
) -> Decision:
    """Evaluate a goal and say what follows.

    With `exhaust` the most confident proof is looked for; with a `ranking` the first by it: of
    those the lowest or the smallest, within a bound of steps. `every` row of the goal is looked
    for, also where the first settles it; `most` says how many are shown at most. Where null cells
    leave the goal open it is evaluated again with what somebody says of them.
    """
    limits = limits.begun()
    arguments = (engine, program, goal)
    wanted = (_Wanted(exhaust or ranking is not None, ranking, most, every), observe)
    first = _once(*arguments, externals, limits, *wanted)
    if first.verdict is not Verdict.UNRESOLVED:
        return first
    filled = filled_externals(externals)
    if filled is None or not limits.left:
        return first
    second = _once(*arguments, filled, limits, *wanted)
    return first if second.verdict is Verdict.UNRESOLVED else second


def _once(  # noqa: PLR0913, PLR0917  as above
    engine: Engine,
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    wanted: _Wanted,
    observe: Observer,
) -> Decision:
    """Evaluate a goal once and say what follows."""
    projected = with_projections(program)
    proving = limits.proving()
    bounds = replace(limits, afterwards=proving)
    exhaust = wanted.exhaust or wanted.every
    outcome = engine.evaluate(projected, goal, externals, bounds, exhaust=exhaust, observe=observe)
    # The proof has what evaluation left of the time, and a grace.
    left = (time.monotonic(), min(limits.left, _REPLAY_SECONDS))
    replay = cache(partial(_replay, engine, outcome, externals, limits, left))
    deciding = _Deciding(replay, limits, outcome, wanted, proving)
    strength = outcome.strength(goal)
    try:
        if strength != POSSIBLE and outcome.stopped not in {"", "settled"}:
            decided = _short(_decided_or_open(deciding, strength))
        else:
            decided = _short(_shown_or_open(deciding, strength))
        asked = program if has_given(program) else None
        return replace(decided, program=asked, writing=proving.later(0))
    except LateError as late:
        return _undecided(outcome, _nothing_claimed(outcome), limit=str(late))
    except TooLargeError:
        return _undecided(outcome, _nothing_claimed(outcome), limit=_TOO_LARGE)
    finally:
        proving.release()


def _replay(
    engine: Engine,
    outcome: Outcome,
    externals: Externals,
    limits: Limits,
    left: tuple[float, float],
) -> Replay:
    """Make the outcome ready to be evaluated again; `left` is when, and for how many seconds."""
    from constat.proof.missing import Budget, Replay  # noqa: PLC0415  loaded when it is used

    started, seconds = left
    return Replay(engine, outcome, externals, limits, Budget(seconds=seconds, started=started))


def _short(decision: Decision) -> Decision:
    """Return a decision whose texts a certificate can hold."""
    if is_too_long(decision.proof):
        raise TooLargeError
    return decision


def _decided_or_open(deciding: _Deciding, strength: int) -> Decision:
    """Decide where a limit cut evaluation off: what a proof needs may not have been asked."""
    try:
        return _decided(deciding, strength)
    except UnsupportedError:
        return _unresolved(deciding)


def _shown_or_open(deciding: _Deciding, strength: int) -> Decision:
    """Decide as far as a certificate can show it.

    The engine knows since when a row is possible, and leaves it out of what was complete before.
    What a certificate lists is possible everywhere.  So some goals that evaluation decides are left
    open: under assumptions where these help, else UNRESOLVED (semantics 7).
    """
    try:
        return _decided(deciding, strength)
    except UnshownError:
        if strength in {CERTAIN, ABSENT}:
            try:
                return deciding.under(proved=strength == CERTAIN)
            except UnshownError:
                pass
        return _unresolved(deciding, limit=_NOT_SHOWN)


def _decided(deciding: _Deciding, strength: int) -> Decision:
    """Decide a goal of that strength."""
    match strength:
        case _ if strength == CERTAIN:
            return deciding.proved()
        case _ if strength == ABSENT:
            return deciding.disproved()
        case _ if strength in {ACCEPTED, CONCEIVABLE}:
            return deciding.under(proved=strength == ACCEPTED)
        case _:
            return _unresolved(deciding)


@frozen
class _Deciding:
    """Makes the decision for a goal whose strength is known, as long as `clock` allows."""

    replay: Callable[[], Replay]
    limits: Limits
    outcome: Outcome
    wanted: _Wanted
    clock: Clock

    def proved(self) -> Decision:
        """Decide PROVED in the hard reading."""
        proof, best = self.shown(hard_reading(self.outcome, self.clock))
        return self.decision(proof, Verdict.PROVED, best=best)

    def disproved(self) -> Decision:
        """Decide DISPROVED in the hard reading."""
        proof = self.bounded(hard_reading(self.outcome, self.clock))
        return self.decision(proof, Verdict.DISPROVED, best=proof.absence_confidence())

    def under(self, *, proved: bool) -> Decision:
        """Decide under a minimal set of assumptions, as far as proofs can show that it is."""
        from constat.proof.missing import minimal_reading  # noqa: PLC0415  loaded when it is used

        every = accepting_reading(self.outcome, self.clock)
        first, best = self.proven(every, proved=proved)
        wanted = CERTAIN if proved else ABSENT
        found = minimal_reading(self.replay(), every, first.used_assumptions(), wanted)
        try:
            # Only a confidence that no other set of assumptions beats is exact.
            proof, _ = self.proven(replace(found.reading, clock=self.clock), proved=proved)
        except (UnshownError, LateError):
            proof, found = first, replace(found, proven=False)
        verdict = Verdict.PROVED_UNDER if proved else Verdict.DISPROVED_UNDER
        if not proof.accepted_assumptions():
            verdict = Verdict.PROVED if proved else Verdict.DISPROVED
        return self.decision(proof, verdict, best=best, minimal=found.proven)

    def proven(self, reading: Reading, *, proved: bool) -> tuple[Proof, int | None]:
        """Show that the goal holds, with the best confidence, or that it does not."""
        return self.shown(reading) if proved else (self.bounded(reading), None)

    def shown(self, reading: Reading) -> tuple[Proof, int | None]:
        """Prove the goal; also give the best confidence there is, where it was looked for."""
        answers, left_out = first_answers(reading, self.outcome.goal, self.wanted.most)
        if not answers:
            raise UnsupportedError("a goal is called proved, and no row of it is certain")
        proof = self._first_shown(reading, answers)
        proof.left_out = left_out
        certain = confidence_of(proof) == MILLION
        ranking = self.wanted.ranking
        if not self.wanted.exhaust or (certain and ranking is None):
            return proof, None
        # A better proof is worth the time that was allowed, and no grace.
        reading = replace(reading, clock=self.limits.running())
        better = Proof(reading, self.outcome.goal)
        better.left_out = proof.left_out
        try:
            better.prefer(_first_nodes(reading, answers, _BEST_STEPS, ranking))
            better.show(answers, bounded=False)
        except TooLargeError:
            return proof, None
        return better, None if certain else confidence_of(better)

    def _first_shown(self, reading: Reading, answers: tuple[Fact, ...]) -> Proof:
        """Prove the goal by the derivations that the engine met first, or by others."""
        proof = Proof(reading, self.outcome.goal)
        try:
            proof.show(answers, bounded=False)
        except UnshownError as unshown:
            # One of them rests on an absence that a certificate cannot show; others need not.
            try:
                nodes = _first_nodes(reading, answers, _BEST_STEPS, self.wanted.ranking)
            except TooLargeError:
                raise unshown from None
            proof = Proof(reading, self.outcome.goal)
            proof.prefer(nodes)
            proof.show(answers, bounded=False)
        return proof

    def bounded(self, reading: Reading) -> Proof:
        """Show that nothing that matches the goal is possible."""
        goal = self.outcome.goal
        proof = Proof(reading, goal)
        proof.show((), bounded=True)
        if proof.slice.possible(goal.predicate, proof.pattern, proof.unread):
            raise UnshownError("a goal is called disproved, and a row of it is possible")
        return proof

    def decision(
        self, proof: Proof, verdict: Verdict, *, best: int | None, minimal: bool = True
    ) -> Decision:
        """Return a decided goal."""
        confidence = confidence_of(proof)
        return Decision(
            goal=self.outcome.goal,
            verdict=verdict,
            confidence=Decimal(confidence) / MILLION,
            exact=confidence in {MILLION, best},
            assumptions=proof.accepted_assumptions(),
            minimal=minimal,
            gaps=(),
            outcome=self.outcome,
            proof=proof,
            left_out=proof.left_out,
        )


def _first_nodes(
    reading: Reading, answers: tuple[Fact, ...], steps: int, ranking: Ranking | None
) -> dict[Fact, Node]:
    from constat.proof.topk import first_nodes  # noqa: PLC0415  loaded when it is used

    return first_nodes(reading, answers, steps, ranking)


def confidence_of(proof: Proof) -> int:
    """Return the confidence of the best answer, or of the goal's absence, in millionths."""
    if not proof.answers:
        return proof.absence_confidence()
    return max(proof.confidences[answer] for answer in proof.answers)


def _unresolved(deciding: _Deciding, limit: str = "") -> Decision:
    outcome = deciding.outcome
    if outcome.stopped not in {"", "settled"}:
        return _undecided(outcome, _nothing_claimed(outcome))
    try:
        proof = _possible(hard_reading(outcome, deciding.limits.running()))
    except LateError as late:
        return _undecided(outcome, _nothing_claimed(outcome), limit=str(late))
    except TooLargeError:
        return _undecided(outcome, _nothing_claimed(outcome), limit=_TOO_LARGE)
    except UnshownError:
        return _undecided(outcome, _nothing_claimed(outcome), limit=_NOT_SHOWN)
    if answers_in(proof.reading, outcome.goal) or not _is_possible(proof):
        return _undecided(outcome, _nothing_claimed(outcome), limit=_NOT_SHOWN)
    gaps, left = _gaps(deciding.replay(), proof)
    return replace(_undecided(outcome, proof, gaps=gaps, limit=limit), gaps_left=left)


def _gaps(replay: Replay, proof: Proof) -> tuple[tuple[Gap, ...], int]:
    """Name what would decide the goal: open rows; where there is none, cells that nobody knows."""
    from constat.proof.missing import (  # noqa: PLC0415  loaded when it is used
        Gap,
        deciding_cells,
        find_gaps,
        unknown_rows,
    )

    gaps, left = find_gaps(replay, proof)
    if gaps:
        return gaps, left
    covered = proof.slice.outside.usage.every()
    rows = [one for one in unknown_rows(replay.outcome) if one.is_among(covered)]
    rows = list(deciding_cells(replay, rows))
    gaps = tuple(
        Gap(one.predicate.name, one.pattern, one.reason, one.tier) for one in rows[:_MOST_CELLS]
    )
    return gaps, len(rows) - len(gaps)


def _is_possible(proof: Proof) -> bool:
    return bool(proof.slice.possible(proof.goal.predicate, proof.pattern, proof.unread))


def _nothing_claimed(outcome: Outcome) -> Proof:
    """Return a proof that everything is possible: a limit, or its size, cut the real one off."""
    proof = Proof(hard_reading(UnknownOutcome(outcome)), outcome.goal)
    proof.show((), bounded=True)
    return proof


def withheld(decision: Decision, limit: str = "") -> Decision:
    """Leave a goal open without a claim.

    Either a limit was reached before the claim was written, or what was shown would decide it.
    """
    outcome = decision.outcome
    return _undecided(outcome, _nothing_claimed(outcome), limit=limit or _WITHHELD)


def _undecided(
    outcome: Outcome, proof: Proof, *, gaps: tuple[Gap, ...] = (), limit: str = ""
) -> Decision:
    return Decision(
        goal=outcome.goal,
        verdict=Verdict.UNRESOLVED,
        confidence=Decimal(0),
        exact=False,
        assumptions=(),
        minimal=True,
        gaps=gaps,
        outcome=outcome,
        proof=proof,
        limit=limit,
    )


def _possible(reading: Reading) -> Proof:
    """Show that the goal is possible, with everything it rests on."""
    proof = Proof(reading, reading.outcome.goal)
    proof.slice.shows_negated = True
    proof.show((), bounded=True)
    return proof


def answers_in(reading: Reading, goal: Atom) -> tuple[Fact, ...]:
    """Return the certain rows that match a goal, in order."""
    return first_answers(reading, goal, None)[0]


def first_answers(reading: Reading, goal: Atom, most: int | None) -> tuple[tuple[Fact, ...], int]:
    """Return the first certain rows that match a goal, in order, and how many more there are."""
    rows = list(reading.outcome.rows(goal.predicate, reading.certain))
    names = {term.name for term in goal.terms if isinstance(term, Variable)}
    # Each row of values is an instance of a goal whose terms are different variables.
    any_values = len(names) == len(goal.terms)
    kinds = set(map(type, chain.from_iterable(rows)))
    if any_values and kinds.isdisjoint((type(OPEN), NullCell)):
        found: list[Row] = rows  # type: ignore[assignment]  # without a placeholder
    else:
        found = [row for row in rows if OPEN not in row and agrees(goal, row)]  # type: ignore[misc]
    few = most is not None and len(found) > most
    # The order is the same: of one column its text is all there is to compare.
    text = _texts if len(goal.terms) != 1 else _only_text
    first = nsmallest(most or 0, found, key=text) if few else sorted(found, key=text)
    return tuple([(goal.predicate, row) for row in first]), len(found) - len(first)


def _texts(row: Row) -> tuple[str, ...]:
    return tuple(map(str, row))


def _only_text(row: Row) -> str:
    return str(row[0])


def agrees(goal: Atom, row: OpenRow) -> bool:
    """Tell whether a ground row is an instance of a goal."""
    seen: dict[str, object] = {}
    for term, value in zip(goal.terms, row, strict=True):
        match term:
            case Constant(value=wanted):
                if wanted != value:
                    return False
            case Variable(name=name):
                if is_wildcard(term):
                    continue
                # What may be missing, and is read, may not match.
                if isinstance(value, NullCell) and not value.is_label:
                    return False
                if seen.setdefault(name, value) != value:
                    return False
            case _:
                return False
    return True
