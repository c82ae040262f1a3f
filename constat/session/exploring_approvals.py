"""Approvals of whole plans: who let one run, bound to everything that it does.

In: a project, a chain and a plan. Out: records beside the explorations, and what they are worth.
Invariants: an approval is bound to the plan's hash and to the rule that stands for the plan in a
certificate; a plan that is edited or mended has none; the project's `review:` and its keys decide
what counts, as they do for rules. Example: `PlanApprovals(project).approve(subject, "Ada", ...)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.plan_approval import PlanWord, plan_hashes, plan_rule
from constat.library.reviewing.approvals import WITHDRAWN, Approval, read_approvals
from constat.library.reviewing.standing import certified, project_trust, standing
from constat.library.reviewing.writing import write_records
from constat.session.reviewing_report import Decided
from constat.session.reviewing_words import Subject, approver_of, check_may_approve, word
from constat.store.clock import now
from constat.store.draft_values import check_decision
from constat.store.drafts import Decision

if TYPE_CHECKING:
    from pathlib import Path

    from constat.explore.chain import Chain
    from constat.explore.plan import Plan
    from constat.library.reviewing.standing import Standing, Trust
    from constat.project import Project
    from constat.proof.signing import SigningKey

FOLDER: Final = "plans"


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with its chain, the exploration it is kept in, and who asked its question."""

    chain: Chain
    plan: Plan
    exploration: str = ""
    asked_by: str = ""


class PlanApprovals:
    """The approvals of a project's plans; they lie in its state folder."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @property
    def folder(self) -> Path:
        """Where the records lie."""
        return self._project.state / FOLDER

    def records(self, chain: Chain, plan: Plan) -> tuple[Approval, ...]:
        """Give the approvals that count for a plan, if they are as many as are needed."""
        found = self.standing(chain, plan)
        return found.counted if found.approved else ()

    def standing(self, chain: Chain, plan: Plan) -> Standing:
        """Say what the records make of a plan."""
        return standing(read_approvals(self.folder), plan_hashes(chain, plan), self._trust())

    def word(self, chain: Chain, plan: Plan, authors: tuple[str, ...]) -> PlanWord:
        """Say whose word a plan is, by the models that drafted steps of it and by approvals."""
        if not (self.folder / "approvals.jsonl").exists():
            return PlanWord(authors)
        return PlanWord(authors, tuple(map(certified, self.records(chain, plan))))

    def approve(
        self, planned: Planned, *, reason: str, by: str = "", key: SigningKey | None = None
    ) -> Decided:
        """Approve a plan as it is. Raises `ConstatError` where this person may not."""
        trust, at = self._trust(), now()
        approver = approver_of(by, key, trust)
        check_decision(Decision("approved", approver.name, reason, at))
        check_may_approve(approver, planned.asked_by, trust)
        subject = _subject(planned)
        self._write(word(subject, approver, reason, at))
        found = self.standing(planned.chain, planned.plan)
        status = "approved" if found.approved else "proposed"
        return _decided(planned, status, found, signed=key is not None)

    def withdraw(self, planned: Planned, *, by: str, reason: str) -> Decided:
        """Take every approval of a plan back. Raises `ConstatError` where there is none."""
        at, subject = now(), _subject(planned)
        check_decision(Decision("rejected", by.strip(), reason, at))
        found = self.standing(planned.chain, planned.plan)
        if not (found.counted or found.doubts):
            message = "the plan has no approval that could be withdrawn"
            raise ConstatError([Diagnostic("C0953", message, help="`constat plan show` shows it")])
        self._write(
            Approval(
                *(subject.rule, subject.hashes.rule, WITHDRAWN, by.strip(), reason, at),
                subject.draft,
                subject.asked_by,
                queries=subject.hashes.queries,
            )
        )
        return _decided(planned, "rejected", self.standing(planned.chain, planned.plan))

    def require(self, chain: Chain, plan: Plan, authors: tuple[str, ...], exploration: str) -> None:
        """Raise `ConstatError` where models drafted what nobody has approved."""
        if not self.word(chain, plan, authors).proposed:
            return
        found = self.standing(chain, plan)
        who = ", ".join(authors)
        message = f"the plan that {who} drafted is not approved, and only approved ones count"
        note = "; ".join((f"{len(found.counted)} of {found.needed} approvals count", *found.doubts))
        hint = f"look at it (`constat plan show {exploration}`), then `constat plan approve "
        hint += f"{exploration} --by NAME --reason TEXT` and `constat resume {exploration}`"
        raise ConstatError([Diagnostic("C0952", message, note=note, help=hint)], exit_code=4)

    def _write(self, record: Approval) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_records(self.folder, (record,))

    def _trust(self) -> Trust:
        return project_trust(self._project, now())


def _subject(planned: Planned) -> Subject:
    rule, _ = plan_rule(planned.chain, planned.plan, PlanWord())
    hashes = plan_hashes(planned.chain, planned.plan)
    return Subject(rule.id, hashes, planned.exploration, planned.asked_by)


def _decided(planned: Planned, status: str, found: Standing, *, signed: bool = False) -> Decided:
    rule, _ = plan_rule(planned.chain, planned.plan, PlanWord())
    return Decided(
        *(planned.exploration, "plan", status, (rule.id,), ""),
        signed=signed,
        have=len(found.counted),
        needed=found.needed,
    )
