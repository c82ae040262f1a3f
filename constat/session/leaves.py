"""Read the leaves of a certificate again and tell which the sources no longer show.

In: a certificate that the checker accepted, the project's external predicates, and a new proof of
the same goal. Out: a `LeafReport` with one line for each fact and source. Invariant: no text of the
certificate is ever run as a query; the project is asked its own questions and the answers are
compared. So a dropped row, a changed threshold and a relabelled source are found, though such a
certificate is valid in itself (it is a certificate of other rows).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from constat.proof.decoding import read_members
from constat.session.rereading import Rereading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.check import Report
    from constat.evaluation import Externals
    from constat.logic import Program
    from constat.session.rereading import Leaf
    from constat.session.result import Result

REJECTED: Final = 1
_DIGITS: Final = 16
_RULES: Final = "rules"
_LEAVES: Final = "leaves"
_NOT_READ: Final = "leaves were not re-read"


@dataclass(frozen=True, slots=True)
class JoinedDraft:
    """A draft that a certificate rests on; without a status the quarantine does not have it."""

    identity: str
    status: str = ""

    @property
    def text(self) -> str:
        """What became of it, in words."""
        short = self.identity[:_DIGITS]
        if not self.status:
            return f"draft {short} is not in the quarantine of this project"
        return f"with draft {short}, which is {self.status}"


@dataclass(frozen=True, slots=True)
class LeafReport:
    """The checker's report, what became of the leaves, and the drafts that were asked with."""

    report: Report
    leaves: tuple[Leaf, ...] = ()
    drafts: tuple[JoinedDraft, ...] = ()
    rules: tuple[str, ...] = ()
    """What the rules that it was proved by are not, as the project has them now."""
    allows_other_rules: bool = False

    @property
    def drift(self) -> tuple[Leaf, ...]:
        """The leaves that are not as the certificate shows them."""
        return tuple(leaf for leaf in self.leaves if leaf.status != "same")

    @property
    def exit_code(self) -> int:
        """The verdict's own code; 1 for other rules, a leaf that has changed, or a rejection."""
        return REJECTED if self.reason else self.report.exit_code

    @property
    def place(self) -> str:
        """What a verdict that the checker accepts fails at: the rules, the leaves, or nothing."""
        if not self.report.accepted:
            return ""
        if self.rules and not self.allows_other_rules:
            return _RULES
        return _LEAVES if self.drift else ""

    @property
    def reason(self) -> str:
        """Why a verdict that the checker accepts is not shown: other rules, or other rows."""
        if self.place == _LEAVES:
            return (
                f"{len(self.drift)} of {len(self.leaves)} are not as the certificate shows them, so"
                " its verdict is one of other data"
            )
        if not self.place:
            return ""
        return (
            f"the rules are not those of the project now: {'; '.join(self.rules)}; "
            "--allow-other-rules shows what these give"
        )

    @property
    def notes(self) -> list[str]:
        """The checker's notes but for the one that is answered, and whose rules these are."""
        if not self.report.accepted:
            return list(self.report.notes)
        other = "; ".join(self.rules)
        mine = [f"the rules are not those of the project now: {other}"] if other else []
        return [one for one in self.report.notes if not one.startswith(_NOT_READ)] + mine

    def to_json(self) -> dict[str, object]:
        """Give the report as a JSON object."""
        told = json.loads(self.report.to_json())
        if self.reason:
            told |= {"accepted": False, "verdict": None, "code": self.place, "place": self.place}
            told |= {"reason": self.reason}
        return {
            **told,
            "notes": self.notes,
            "exit_code": self.exit_code,
            "leaves_reread": self.report.accepted,
            "drift": len(self.drift),
            "drafts": [{"id": one.identity, "status": one.status or None} for one in self.drafts],
            "leaves": [
                {"leaf": leaf.text, "status": leaf.status, "detail": leaf.detail}
                for leaf in self.leaves
            ],
        }

    def to_text(self) -> str:
        """Give the report for people."""
        if not self.report.accepted:
            return self.report.to_text()
        lines = [f"REJECTED at {self.place}: {self.reason}"]
        if not self.reason:
            lines = replace(self.report, notes=tuple(self.notes)).to_text().splitlines()
        lines.append(f"leaves: {len(self.leaves)} read again, {len(self.drift)} changed")
        lines += [f"  {one.text}" for one in self.drafts]
        lines += [f"  {leaf.status}: {leaf.text}{_tail(leaf.detail)}" for leaf in self.drift]
        return "\n".join(lines) + "\n"


def reread(
    report: Report,
    document: Mapping[str, Any],
    program: Program,
    externals: Externals,
    again: Sequence[Result],
) -> LeafReport:
    """Compare the leaves of an accepted certificate with what the sources say now.

    `document` is the certificate, `again` the same goal proved now, in each way in which it may
    have been proved then (none where the project does not know the goal).
    """
    rereading = Rereading(document, program, externals)
    leaves: Sequence[Leaf] = (
        *rereading.facts(),
        *rereading.fillings(),
        *rereading.coverage(),
        *rereading.sources(call for one in again for call in one.calls),
        *rereading.summaries(read_members(one.certificate) for one in again),
    )
    return LeafReport(report, tuple(dict.fromkeys(leaves)))


def _tail(detail: str) -> str:
    return f" ({detail})" if detail else ""
