"""Why a goal does not hold, in the world of a session.

In: a goal. Out: a `WhyNotResult`: the verdict with its certificate, the tree of attempts, and the
principal reasons. Invariants: nothing is written; a goal that holds has no refutation, one that is
open has what is missing beside it. Example: `session.why_not("is_vip(C002)").to_text()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.proof import decide, render_tree
from constat.proof.reasons import MOST, Reason, principal_reasons
from constat.proof.refutation import Refutation, refute
from constat.proof.refutation_text import render_refutation
from constat.session.asked_goals import asked_over
from constat.session.result import Result, result_of
from constat.store.clock import now

if TYPE_CHECKING:
    from constat.evaluation import Observer, Verdict
    from constat.proof import Decision
    from constat.session.bench import Bench
    from constat.tiers import Tiers


@dataclass(frozen=True)
class WhyNotResult:
    """Why a goal does not hold; `refutation` is `None` where it does."""

    result: Result
    refutation: Refutation | None

    @property
    def goal(self) -> str:
        """The goal."""
        return self.result.goal

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.result.verdict

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict."""
        return self.result.exit_code

    def reasons(self, most: int = MOST) -> tuple[Reason, ...]:
        """Rank the reason codes of what fails, the nearest to holding first."""
        return () if self.refutation is None else principal_reasons(self.refutation, most)

    def reasons_left(self, most: int) -> int:
        """Count the reasons beyond so many."""
        if self.refutation is None:
            return 0
        return max(0, len(principal_reasons(self.refutation, None)) - most)

    def to_text(self, *, reasons: int = 0) -> str:
        """Write it for people; a goal that holds is shown with its proof."""
        if self.refutation is None:
            _, _, proof = render_tree(self.result.tree, moment=self.result.created).partition("\n")
            return proof
        ranked = self.reasons(reasons) if reasons else ()
        left = self.reasons_left(reasons) if reasons else 0
        return render_refutation(self.refutation, ranked, left=left, moment=self.result.created)


def why_not(bench: Bench, goal: str, *, most: int, observe: Observer | None = None) -> WhyNotResult:
    """Say why a goal does not hold. Raises `ConstatError` as `prove` does."""
    bench, asked = asked_over(bench, goal)
    created, bench = now(), bench.begun()

    def answered(tiers: Tiers) -> tuple[Decision, Refutation | None]:
        externals = tiers.externals
        decision = decide(
            bench.engine, bench.program, asked.atom, externals, bench.limits, observe=bench.observe
        )
        if decision.answers:
            return decision, None
        return decision, refute(bench.engine, decision, externals, bench.limits, most=most)

    decision, refutation = bench.evaluated(observe, answered)
    result = result_of(decision, bench.program, created)
    return WhyNotResult(result.asked_as(asked.text) if asked.text else result, refutation)
