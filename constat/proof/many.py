"""Several proofs of a goal as decisions, each with a certificate of its own.

In: what ``decide`` takes, and a ranking.  Out: ``Proofs``, an iterator of decisions: the proofs of
a goal that is proved, best first, in the reading that decides it (a proved goal's proofs rest on no
assumption, those of a goal proved under assumptions each name their own); for any other goal the
one decision there is.  Each proof of a goal with variables is one of an instance, and says so.
Invariant: two proofs differ in a rule instance of some fact.  Everything is looked up in the
answers of one evaluation, so iterating asks nobody.

The order counts an absence with the least confidence of all closures that are accepted; a proof
that rests on some of them only may be worth a little more than its place says.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.evaluation import Verdict, ignore_event
from constat.logic import Atom, Constant
from constat.proof.decide import answers_in, confidence_of, decide
from constat.proof.derivations import Ways
from constat.proof.lateness import TooLargeError
from constat.proof.levels import MILLION
from constat.proof.proofs import Proof, RuleNode
from constat.proof.reading import accepting_reading, hard_reading
from constat.proof.topk import Effort, Ranking, TopK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Engine, Externals, Limits, Observer
    from constat.proof.decide import Decision
    from constat.proof.reading import Reading
    from constat.proof.topk import Ranked

_WAYS_STEPS: Final = 2_000_000
_TOO_MANY: Final = "there are too many rule instances to look for other proofs"

Signature = frozenset[tuple[object, ...]]


class Proofs:
    """The proofs of a goal: iterate, once.

    ``first`` is what ``decide`` says, ``ranked`` the place of the proof that was given last: how
    high and large it is (missing where no proof was looked for).  At the end ``complete`` tells
    whether there are no others, and ``stopped`` why that is not known.
    """

    def __init__(self, first: Decision, ranking: Ranking, effort: Effort | None) -> None:
        self.first = first
        self.complete = False
        self.stopped = ""
        self.ranked: Ranked | None = None
        self._ranking = ranking
        self._effort = effort or Effort()
        self._decisions = self._found()

    def __iter__(self) -> Iterator[Decision]:
        """Iterate over what is left."""
        return self._decisions

    def __next__(self) -> Decision:
        """Give the next proof; it is looked for now."""
        return next(self._decisions)

    def _found(self) -> Iterator[Decision]:
        if self.first.verdict not in {Verdict.PROVED, Verdict.PROVED_UNDER}:
            self.complete = True
            yield self.first
            return
        reading = _deciding_reading(self.first)
        given = False
        for one in self._ranked(reading):
            given = True
            yield one
        if not given:
            # The search gave up before its first proof; the engine's own is a proof all the same.
            yield self.first

    def _ranked(self, reading: Reading) -> Iterator[Decision]:
        answers = answers_in(reading, self.first.goal)
        seen: set[Signature] = set()
        best: int | None = None
        try:
            ways = Ways(reading, answers, _WAYS_STEPS)
            search = TopK(ways, answers, self._ranking, self._effort)
            for ranked in search:
                proof = _shown(reading, ranked)
                signature = _signature(proof)
                if signature in seen:
                    # They differ where a certificate shows nothing: how a row that is there
                    # anyway could have been derived as well.
                    continue
                seen.add(signature)
                if best is None and ways.is_exact:
                    best = confidence_of(proof)
                self.ranked = ranked
                yield _decision(self.first, proof, best)
        except TooLargeError:
            self.stopped = _TOO_MANY
            return
        self.complete, self.stopped = search.complete, search.stopped


def decide_many(  # noqa: PLR0913  # the engine's own arguments, handed through
    engine: Engine,
    program: AnalysedProgram,
    goal: Atom,
    externals: Externals,
    limits: Limits,
    *,
    ranking: Ranking = Ranking.HEIGHT,
    effort: Effort | None = None,
    observe: Observer = ignore_event,
) -> Proofs:
    """Evaluate a goal once, to the end, and give its proofs."""
    first = decide(engine, program, goal, externals, limits, exhaust=True, observe=observe)
    return Proofs(first, ranking, effort)


def _deciding_reading(decision: Decision) -> Reading:
    """Return the reading in which all proofs of the verdict hold."""
    if decision.verdict is Verdict.PROVED:
        return hard_reading(decision.outcome)
    return accepting_reading(decision.outcome)


def _shown(reading: Reading, ranked: Ranked) -> Proof:
    """Return the proof of one answer, which is an instance of a goal with variables."""
    predicate, row = ranked.answer
    kinds = reading.program.program.predicates[predicate].kinds
    terms = tuple(Constant(value, kind) for value, kind in zip(row, kinds, strict=True))
    proof = Proof(reading, Atom(predicate, terms))
    proof.prefer(ranked.nodes)
    proof.show((ranked.answer,), bounded=False)
    return proof


def _signature(proof: Proof) -> Signature:
    """Return what makes a proof this one: the instance of each fact, but no choice of summands."""
    found: list[tuple[object, ...]] = []
    for fact, node in proof.nodes.items():
        if isinstance(node, RuleNode):
            bounds = {proof.code(node.rule).body[place] for place, _ in node.totals}
            results = {getattr(one, "result", None) for one in bounds}
            values = (v for slot, v in enumerate(node.values) if slot not in results)
            found.append((fact, node.rule, *values))
        else:
            found.append((fact,))
    return frozenset(found)


def _decision(first: Decision, proof: Proof, best: int | None) -> Decision:
    confidence = confidence_of(proof)
    return replace(
        first,
        goal=proof.goal,
        confidence=Decimal(confidence) / MILLION,
        exact=confidence in {MILLION, best},
        assumptions=proof.accepted_assumptions(),
        minimal=False,
        proof=proof,
    )
