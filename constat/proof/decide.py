"""From a goal to a decision: the verdict, what it rests on, and what is missing.

In: an engine, a program, a goal, external predicates.  Out: a ``Decision`` with its proof.  The
hard reading decides first; only where it leaves the goal open do assumptions count, and then a
subset-minimal set of them is named (semantics 3, 8 to 13, 17).  Invariant: nothing outside is asked
after the first evaluation; every later question is put to the recorded answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    Verdict,
    ignore_event,
)
from constat.logic import OPEN, Constant, Variable
from constat.proof.acceptance import Budget, Replay, minimal_reading, wanted_strength
from constat.proof.confidence import MILLION
from constat.proof.missing import Gap, find_gaps
from constat.proof.proofs import Proof, UnsupportedError
from constat.proof.reading import Reading, accepting_reading, hard_reading
from constat.proof.slices import TooLargeError
from constat.proof.unknown import UnknownOutcome

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import Assumption, Engine, Externals, Limits, Observer, Outcome
    from constat.logic import Atom, OpenRow
    from constat.proof.outside import Fact


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a goal.

    ``confidence`` has at most six places and is 0 for UNRESOLVED; ``exact`` tells whether no better
    proof exists.  ``assumptions`` are those the verdict accepts, ``minimal`` whether none of them
    can be left out.  ``gaps`` say what would decide an unresolved goal.  ``answers`` are the
    certain rows of the goal.
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


def decide(  # noqa: PLR0913  # the engine's own arguments, handed through
    engine: Engine,
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    *,
    exhaust: bool = False,
    observe: Observer = ignore_event,
) -> Decision:
    """Evaluate a goal once and say what follows."""
    outcome = engine.evaluate(program, goal, externals, limits, exhaust=exhaust, observe=observe)
    replay = Replay(engine, outcome, externals, limits, Budget(seconds=limits.seconds))
    strength = outcome.strength(goal)
    match strength:
        case _ if strength == CERTAIN:
            return _proved(hard_reading(outcome), outcome, Verdict.PROVED, minimal=True)
        case _ if strength == ABSENT:
            return _disproved(hard_reading(outcome), outcome, Verdict.DISPROVED, minimal=True)
        case _ if strength in {ACCEPTED, CONCEIVABLE}:
            return _under(replay, strength)
        case _:
            return _unresolved(replay)


def _under(replay: Replay, strength: int) -> Decision:
    """Decide under a minimal set of assumptions."""
    outcome = replay.outcome
    every = accepting_reading(outcome)
    proved = strength == ACCEPTED
    first = _shown(every, outcome, proved=proved)
    found = minimal_reading(replay, every, first.used_assumptions(), wanted_strength(strength))
    if proved:
        return _proved(found.reading, outcome, Verdict.PROVED_UNDER, minimal=found.proven)
    return _disproved(found.reading, outcome, Verdict.DISPROVED_UNDER, minimal=found.proven)


def _shown(reading: Reading, outcome: Outcome, *, proved: bool) -> Proof:
    proof = Proof(reading, outcome.goal)
    proof.show(answers_in(reading, outcome.goal) if proved else (), bounded=not proved)
    return proof


def _proved(reading: Reading, outcome: Outcome, verdict: Verdict, *, minimal: bool) -> Decision:
    proof = _shown(reading, outcome, proved=True)
    if not proof.answers:
        raise UnsupportedError("a goal is called proved, and no row of it is certain")
    confidence = max(proof.confidences[answer] for answer in proof.answers)
    return _decision(proof, outcome, verdict, confidence, minimal=minimal)


def _disproved(reading: Reading, outcome: Outcome, verdict: Verdict, *, minimal: bool) -> Decision:
    proof = _shown(reading, outcome, proved=False)
    if proof.slice.possible(outcome.goal.predicate, proof.pattern):
        raise UnsupportedError("a goal is called disproved, and a row of it is possible")
    return _decision(proof, outcome, verdict, proof.absence_confidence(), minimal=minimal)


def _decision(
    proof: Proof, outcome: Outcome, verdict: Verdict, confidence: int, *, minimal: bool
) -> Decision:
    used = proof.used_assumptions()
    return Decision(
        outcome.goal,
        verdict,
        Decimal(confidence) / MILLION,
        confidence == MILLION,
        used,
        minimal,
        (),
        outcome,
        proof,
    )


def _unresolved(replay: Replay) -> Decision:
    outcome = replay.outcome
    proof: Proof | None = None
    gaps: tuple[Gap, ...] = ()
    if outcome.stopped in {"", "settled"}:
        proof = _possible(hard_reading(outcome))
    if proof is None:
        # A limit cut something off, or the slice is too large to show: then nothing is claimed.
        proof = Proof(hard_reading(UnknownOutcome(outcome)), outcome.goal)
        proof.show((), bounded=True)
    else:
        gaps = find_gaps(replay, proof)
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
    )


def _possible(reading: Reading) -> Proof | None:
    """Show that the goal is possible, with everything it rests on; ``None`` if that is too much."""
    proof = Proof(reading, reading.outcome.goal)
    proof.slice.shows_negated = True
    try:
        proof.show((), bounded=True)
    except TooLargeError:
        return None
    return proof


def answers_in(reading: Reading, goal: Atom) -> tuple[Fact, ...]:
    """Return the certain rows that match a goal, in order."""
    found = [
        (goal.predicate, row)
        for row in reading.outcome.rows(goal.predicate, reading.certain)
        if OPEN not in row and agrees(goal, row)
    ]
    return tuple(sorted(found, key=lambda fact: tuple(map(str, fact[1]))))  # type: ignore[arg-type]


def agrees(goal: Atom, row: OpenRow) -> bool:
    """Tell whether a ground row is an instance of a goal."""
    seen: dict[str, object] = {}
    for term, value in zip(goal.terms, row, strict=True):
        match term:
            case Constant(value=wanted):
                if wanted != value:
                    return False
            case Variable(name=name):
                if seen.setdefault(name, value) != value:
                    return False
            case _:
                return False
    return True
