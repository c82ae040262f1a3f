"""A certificate made again: from its own record, or from the sources and rules of today.

In: a certificate. Out: a `Replay`, which tells whether the same bytes come out; or a `LiveReplay`,
which tells of every fact whether it is still there. Invariants: a replay from the record asks
nobody and needs no project; what the checker rejects is not replayed; a source that does not answer
is told apart from one that no longer has the row. Example: `session.replay(content).same`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat import __version__
from constat.proof.decoding import read_members
from constat.proof.rebuilding import rebuild
from constat.session.comparing_certificates import compare_with_present, require_accepted
from constat.session.rereading import Rereading
from constat.session.stale_rules import PresentRules

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals
    from constat.proof.comparison import Comparison
    from constat.session.comparing_certificates import ProveAgain
    from constat.session.rereading import Leaf

SAME: Final = 0
UNTOLD: Final = 4
DIFFERENT: Final = 7
_WORDS: Final = (("gone", "vanished"), ("new", "appeared"), ("changed", "changed"))


@dataclass(frozen=True, slots=True)
class Replay:
    """What the record gives. Where the bytes differ, `members` are those that do.

    `content` is missing where the record does not hold everything; `reason` says what it lacks.
    `made_by` wrote the certificate, `replayed_by` made it again.
    """

    verdict: str
    identity: str
    same: bool
    reason: str
    members: tuple[str, ...]
    content: bytes | None
    made_by: str
    replayed_by: str

    @property
    def exit_code(self) -> int:
        """0 the same bytes, 7 others, 4 the record does not hold everything."""
        if self.content is None:
            return UNTOLD
        return SAME if self.same else DIFFERENT


@dataclass(frozen=True, slots=True)
class Drift:
    """A fact of the certificate today.

    `status` is `unchanged`, `changed`, `vanished`, `appeared` or `cannot be read`.
    """

    fact: str
    status: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LiveReplay:
    """The same goal with the sources and rules of today: facts, rules, and what differs."""

    verdict: str
    verdict_now: str
    facts: tuple[Drift, ...]
    rules: tuple[str, ...]
    comparison: Comparison

    @property
    def drift(self) -> tuple[Drift, ...]:
        """The facts that are not as they were, or cannot be read."""
        return tuple(one for one in self.facts if one.status != "unchanged")

    @property
    def exit_code(self) -> int:
        """0 everything is as it was, 7 something is not, 4 some facts cannot be read."""
        told = {one.status for one in self.facts} - {"unchanged"}
        if self.rules or told - {"cannot be read"} or self._other_verdict(told):
            return DIFFERENT
        return UNTOLD if told else SAME

    def _other_verdict(self, told: set[str]) -> bool:
        # Where a source does not answer, the verdict is another one for that reason.
        return self.verdict != self.verdict_now and not told


def replay(certificate: bytes) -> Replay:
    """Make a certificate again from its own rules, rows and nodes."""
    require_accepted(certificate, "the certificate")
    rebuilt = rebuild(certificate)
    members = json.loads(certificate)
    return Replay(
        verdict=members["header"]["verdict"],
        identity=members["identity"],
        same=rebuilt.same,
        reason=rebuilt.reason,
        members=rebuilt.members,
        content=rebuilt.content,
        made_by=members["record"]["engine"],
        replayed_by=f"constat {__version__}",
    )


def replay_live(
    certificate: bytes,
    analysed: AnalysedProgram,
    externals: Externals,
    prove_again: ProveAgain,
) -> LiveReplay:
    """Prove the goal again and read every fact of the certificate again."""
    comparison, result = compare_with_present(certificate, analysed, prove_again)
    document = read_members(certificate)
    rereading = Rereading(document, analysed.program, externals)
    leaves = dict.fromkeys((*rereading.facts(), *rereading.coverage()))
    return LiveReplay(
        verdict=document["header"]["verdict"],
        verdict_now=result.verdict.value,
        facts=tuple(map(_drift, leaves)),
        rules=tuple(PresentRules(analysed).changes(document)),
        comparison=comparison,
    )


def _drift(leaf: Leaf) -> Drift:
    if leaf.status == "same":
        return Drift(leaf.text, "unchanged", leaf.detail)
    if not leaf.reached:
        return Drift(leaf.text, "cannot be read", leaf.detail)
    return Drift(leaf.text, dict(_WORDS).get(leaf.status, "changed"), leaf.detail)
