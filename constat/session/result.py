"""What a session answers to a goal.

In: a decision. Out: the verdict and what it rests on, as values; the proof's tree and the
certificate are made when they are first asked for. Invariant: a result does not change when the
sources do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from constat import __version__
from constat.proof import build_certificate, proof_tree

if TYPE_CHECKING:
    from decimal import Decimal

    from constat.evaluation import Assumption, Call, Verdict
    from constat.proof import Decision, Tree


@dataclass(frozen=True)
class Result:
    """A verdict with its reasons.

    `confidence` is from 0 to 1; unless `exact`, better proofs may exist. `assumptions` are those
    that the verdict accepts. `missing` are goals to paste back, whose answers would decide this
    one. `calls` are the demands that went outside, in order. `created` is UTC, as in certificates.
    """

    goal: str
    verdict: Verdict
    confidence: Decimal
    exact: bool
    assumptions: tuple[Assumption, ...]
    missing: tuple[str, ...]
    calls: tuple[Call, ...]
    created: str
    decision: Decision = field(repr=False, compare=False)

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict."""
        return self.verdict.exit_code

    @cached_property
    def tree(self) -> Tree:
        """The proof, from the goal down to the rows of the sources."""
        return proof_tree(self.decision)

    @cached_property
    def certificate(self) -> bytes:
        """The certificate: everything a checker needs, in canonical form."""
        return build_certificate(
            self.decision, created=self.created, engine_version=f"constat {__version__}"
        )
