"""Several proofs of a goal, as a session gives them: results one after the other.

In: a goal and a ranking. Out: `FoundProofs`, an iterator of `Result`. Invariants: the sources are
asked once, before the first result, and each further proof is looked for when it is asked for;
where decisions are logged, each is written down before it is given. Example:
`[result.confidence for result in session.proofs("is_vip(C001)")]`.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final

from constat.evaluation import Verdict, ignore_event
from constat.frozen import frozen
from constat.logic import Atom, Constant
from constat.proof.decide import answers_in, confidence_of, decide
from constat.proof.derivations import Ways
from constat.proof.lateness import TooLargeError
from constat.proof.levels import MILLION
from constat.proof.proofs import Proof, RuleNode
from constat.proof.reading import accepting_reading, hard_reading
from constat.proof.topk import Effort, Ranking, TopK
from constat.session.asked_goals import asked_over
from constat.session.options import RANKINGS
from constat.session.result import result_of
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Engine, Externals, Limits, Observer
    from constat.proof import Decision
    from constat.proof.reading import Reading
    from constat.proof.topk import Ranked
    from constat.session.bench import Bench
    from constat.session.result import Result

# Several proofs of a goal as decisions, each with a certificate of its own.

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


@frozen
class Shape:
    """How large a proof is: its different facts, its height, and its size as a tree.

    In a tree a fact counts as often as it is used. Rows that an aggregate reads count as well.
    """

    facts: int
    height: int
    size: int


class FoundProofs:
    """The proofs of a goal, best first: iterate, once.

    A goal that is not proved has the one result that `prove` gives. At the end `complete` tells
    whether there are no other proofs, and `stopped` why that is not known. `shapes` are the
    measures of the proofs that were given.
    """

    def __init__(
        self,
        proofs: Proofs,
        program: AnalysedProgram,
        created: str,
        write: Callable[[Result], Result],
        asked: str = "",
    ) -> None:
        self.shapes: list[Shape] = []
        self._proofs = proofs
        self._program = program
        self._created = created
        self._write = write
        self._asked = asked

    def __iter__(self) -> Iterator[Result]:
        """Iterate over what is left."""
        return self

    def __next__(self) -> Result:
        """Give the next proof."""
        result = self._write(self._result(next(self._proofs)))
        ranked = self._proofs.ranked
        if ranked is not None:
            self.shapes.append(Shape(ranked.facts, ranked.height, ranked.size))
        return result

    @property
    def goal(self) -> str:
        """The goal as it was asked; a result's goal is an instance of it."""
        return self.first.goal

    @cached_property
    def first(self) -> Result:
        """What `prove` says to the goal."""
        return self._result(self._proofs.first)

    @property
    def complete(self) -> bool:
        """Whether all proofs there are have been given."""
        return self._proofs.complete

    @property
    def stopped(self) -> str:
        """Why it is not known whether there are others."""
        return self._proofs.stopped

    def _result(self, decision: Decision) -> Result:
        found = result_of(decision, self._program, self._created)
        return found.asked_as(self._asked) if self._asked else found


def find_proofs(
    bench: Bench,
    goal: str,
    *,
    ranking: str,
    seconds: float,
    observe: Observer | None,
    write: Callable[[Result], Result],
) -> FoundProofs:
    """Evaluate a goal to the end and give its proofs."""
    bench, asked = asked_over(bench, goal)
    created = now()
    proofs = bench.evaluated(
        observe,
        lambda tiers: decide_many(
            bench.engine,
            bench.program,
            asked.atom,
            tiers.externals,
            bench.limits,
            ranking=ranking_of(ranking) or Ranking.HEIGHT,
            effort=Effort(seconds=seconds),
            observe=bench.observe,
        ),
    )
    return FoundProofs(proofs, bench.program, created, write, asked.text)


def ranking_of(name: str) -> Ranking | None:
    """Return what counts among equally confident proofs; nothing else where that is all.

    Raises `ValueError` for a word that is none of `RANKINGS`.
    """
    if name not in RANKINGS:
        raise ValueError(f"proofs are ranked by one of {', '.join(RANKINGS)}")
    return None if name == "confidence" else Ranking(name)
