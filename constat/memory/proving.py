"""Why a claim stands in a context, or does not, as a proof that others can check.

In: the rules, their rows, and a claim.  Out: goals about it, decided, with the certificate of each.
Invariants: the rules are those by which the context was made; each row of a proof that says what
somebody stated names the bytes that say it; whether a certificate is right is for a checker to say,
and memory has none.

Example: ``pinned("m3[12:58] constraint")`` is PROVED, since it is a constraint that still holds.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from constat import __version__
from constat.engine import LazyEngine
from constat.evaluation import Answer, Evidence, Limits, Origin, Portion
from constat.logic import Atom, Constant, Kind
from constat.memory.answering import SOURCE, SaidRows
from constat.memory.deciding import LAST
from constat.store import clock
from constat.tiers.hashing import content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.evaluation import Demand, Verdict
    from constat.logic import Predicate, Row
    from constat.memory.deciding import Decided, MemoryRules
    from constat.memory.history import Claim
    from constat.proof import Decision, Tree

_LIMITS: Final = Limits(seconds=20.0, rows=2_000_000, calls=100_000)


@dataclass(frozen=True)
class Proof:
    """One goal about a claim, with its verdict; tree and certificate are made when asked for."""

    goal: str
    verdict: Verdict
    created: str
    decision: Decision = field(repr=False, compare=False)

    @cached_property
    def tree(self) -> Tree:
        """The proof, from the goal down to what was said."""
        tree: Tree = importlib.import_module("constat.proof").proof_tree(self.decision)
        return tree

    @cached_property
    def text(self) -> str:
        """The proof for people."""
        text: str = importlib.import_module("constat.proof").render_tree(self.tree)
        return text

    @cached_property
    def certificate(self) -> bytes:
        """The certificate, for a checker."""
        proving = importlib.import_module("constat.proof")
        written: bytes = proving.build_certificate(
            self.decision, created=self.created, engine_version=f"constat {__version__}"
        )
        return written


class Proving:
    """Decides goals about one state of a history; ``state`` says which, for the evidence."""

    def __init__(
        self,
        rules: MemoryRules,
        rows: Mapping[str, Sequence[Row]],
        claims: Mapping[str, Claim],
        state: str,
    ) -> None:
        self._rules = rules
        self._externals = {
            name: _CitedRows(rows.get(name, ()), claims if name == "stated" else {}, state)
            for name in rules.program.external
        }

    def why(self, claim: str, decided: Decided) -> Proof:
        """Prove what the rules say of a claim: why it is in sight, or why it is not."""
        level = decided.level(claim)
        if level == 0:
            return self.prove("refused" if claim in decided.refused else "superseded", claim)
        if level == 1:
            return self.prove("pinned", claim)
        return (
            self.prove("current", claim) if level == LAST else self.prove("of_class", claim, level)
        )

    def prove(self, predicate: str, claim: str, *others: int) -> Proof:
        """Decide a predicate of a claim."""
        # Proofs are made for people who ask; contexts are made without them.
        proving = importlib.import_module("constat.proof")
        numbers = (Constant(one, Kind.NUMBER) for one in others)
        goal = Atom(predicate, (Constant(claim, Kind.SYMBOL), *numbers))
        created = clock.now()
        decision: Decision = proving.decide(
            LazyEngine(), self._rules.program, goal, self._externals, _LIMITS
        )
        asked = ", ".join(map(str, (claim, *others)))
        return Proof(f"{predicate}({asked})", decision.verdict, created, decision)


class _CitedRows(SaidRows):
    """Rows with where each of them was said."""

    def __init__(self, rows: Sequence[Row], claims: Mapping[str, Claim], state: str) -> None:
        super().__init__(rows)
        self._claims = claims
        self._state = state

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch."""
        rows = self.matching(demand)
        predicate = demand.predicate
        whole = self._evidence(predicate, self.rows)
        cited = [row for row in rows if str(row[0]) in self._claims]
        other = tuple(row for row in rows if str(row[0]) not in self._claims)
        portions = [Portion((row,), self._cited(predicate, row)) for row in cited]
        portions += [Portion(other, whole)] if other else []
        return Answer(tuple(portions), (), frozenset(demand.keys), (whole,))

    def _evidence(self, predicate: Predicate, rows: Sequence[Row]) -> Evidence:
        distinct = tuple(dict.fromkeys(rows))
        return Evidence(
            tier="database",
            origin=Origin.DATABASE,
            source=SOURCE,
            executed_at=clock.now(),
            query=f"{predicate.name}: extracted from {self._state}",
            row_count=len(distinct),
            content_hash=content_hash(distinct, predicate.kinds),
            snapshot=self._state,
        )

    def _cited(self, predicate: Predicate, row: Row) -> Evidence:
        claim = self._claims[str(row[0])]
        span = claim.fact.span
        return Evidence(
            tier="database",
            origin=Origin.DATABASE,
            source=SOURCE,
            executed_at=clock.now(),
            query=f"bytes {span.start} to {span.end} of {span.archive}, which is {claim.text.name}",
            row_count=1,
            content_hash=content_hash((row,), predicate.kinds),
            snapshot=self._state,
        )
