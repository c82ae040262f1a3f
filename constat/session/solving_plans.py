"""Plans of explorations: look at them, check them, edit them, propose their rules for the library.

In: a session. Out: plans with their chains, drafts. Invariants: an edited plan has passed every
check and stands beside the earlier versions; promoting puts nothing into a library, but a draft
into the quarantine. Example: `session.plans.promote("12ab", ("totals",), by="Ada")`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.explore.chain import PERIODS
from constat.explore.pictures import rules_text
from constat.explore.plan import Work
from constat.explore.reading import read_plan
from constat.project.document import MAX_BYTES
from constat.session.confirmation import plan_reading, require_goal
from constat.session.plan_approvals import PlanApprovals, Planned
from constat.store.drafts import DraftStore, NewDraft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Plan
    from constat.library.approvals import Approval
    from constat.proof.signing import SigningKey
    from constat.proof.translation import Translation
    from constat.session.exploring import Exploring
    from constat.session.reviewing_report import Decided
    from constat.store.drafts import Draft
    from constat.store.explored import Exploration


class Plans:
    """The plans of a session's explorations."""

    def __init__(self, exploring: Exploring, drafts: DraftStore) -> None:
        self._exploring = exploring
        self._drafts = drafts

    def of(self, exploration: str = "") -> tuple[Exploration, Plan, Chain]:
        """Give the plan of an exploration's last question, with the chain it is part of."""
        return self._exploring.chain_of(exploration)

    @staticmethod
    def read(path: Path | str) -> Plan:
        """Read a plan file. Raises `ConstatError`, also for a file that cannot be read."""
        try:
            with Path(path).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as problem:
            message = f"the plan cannot be read ({type(problem).__name__})"
            raise ConstatError([Diagnostic("C0890", message)]) from None
        return read_plan(content, Path(path).name)

    def check(self, plan: Plan) -> Chain:
        """Compile a plan over the project; nothing is kept. Raises `ConstatError`."""
        return self._exploring.check(plan)

    def edit(self, plan: Plan, exploration: str = "") -> Exploration:
        """Put a plan in the place of that of the last question; `resume` runs it."""
        found, _ = self._exploring.edit(exploration, plan)
        return found

    def approve(
        self,
        exploration: str = "",
        *,
        reason: str,
        by: str = "",
        key: SigningKey | None = None,
    ) -> Decided:
        """Approve the plan of the last question as it is. Raises `ConstatError`.

        The record is bound to everything that the plan does; `resume` then counts it, and the
        certificate of the answer names it. What the project asks of approvers is as for rules.
        """
        return self._approvals.approve(self._planned(exploration), reason=reason, by=by, key=key)

    def translation(self, exploration: str = "") -> Translation:
        """Say what the answer of the last question is, and who confirmed that it was asked."""
        return self._exploring.translation(exploration)

    def require_goal(self, exploration: str, goal: str) -> None:
        """Raise `ConstatError` unless a goal is the answer of the last question."""
        found, plan, chain = self._exploring.chain_of(exploration)
        reading = plan_reading(found.questions[-1].text, plan, chain)
        require_goal(reading, goal, self.translation(exploration))

    def withdraw(self, exploration: str = "", *, reason: str, by: str) -> Decided:
        """Take the approvals of the plan of the last question back. Raises `ConstatError`."""
        return self._approvals.withdraw(self._planned(exploration), reason=reason, by=by)

    def approvals(self, exploration: str = "") -> tuple[Approval, ...]:
        """Give the approvals that count for the plan of the last question."""
        planned = self._planned(exploration)
        return self._approvals.records(planned.chain, planned.plan)

    @property
    def _approvals(self) -> PlanApprovals:
        return PlanApprovals(self._exploring.project)

    def _planned(self, exploration: str) -> Planned:
        found, plan, chain = self._exploring.chain_of(exploration)
        return Planned(chain, plan, found.identity, found.questions[-1].asked_by)

    def promote(self, exploration: str = "", steps: Sequence[str] = (), *, by: str = "") -> Draft:
        """Propose steps by rules, with the steps that they need, as one draft.

        Without `steps` it is the whole plan. Raises `ConstatError` where one is not by rules.
        """
        found, plan, chain = self._exploring.chain_of(exploration)
        links = chain.below(self._wanted(chain, plan, steps))
        others = [one for one in links if one.step.work is not Work.RULES]
        if others:
            raise _not_rules(others[0])
        for link in links:
            for name in set(link.reads) & (PERIODS.keys() - chain.base.program.predicates.keys()):
                raise _not_dated(link, name)
        goal = f"{plan.answer}({', '.join('_' for _ in _columns(chain, plan.answer))})"
        return self._drafts.add(
            NewDraft(
                rules_text(chain, links),
                f"explored: {found.questions[-1].text}",
                goal=goal if not steps else "",
                model=plan.author,
                asked_by=by or found.questions[-1].asked_by,
            )
        )

    @staticmethod
    def _wanted(chain: Chain, plan: Plan, steps: Sequence[str]) -> list[str]:
        if not steps:
            return [plan.answer]
        by_name = {link.step.name: link for link in chain.links}
        unknown = [one for one in steps if one not in by_name]
        if unknown:
            near = nearest(unknown[0], list(by_name))
            hint = f"write `--step {near}`" if near else f"the steps are {', '.join(by_name)}"
            message = "the plan has no step of this name"
            raise ConstatError([Diagnostic("C0904", message, help=hint)])
        return [name for one in steps for name in by_name[one].gives]


def _columns(chain: Chain, name: str) -> tuple[object, ...]:
    return chain.analysed.program.predicates[name].columns


def _not_dated(link: Link, name: str) -> ConstatError:
    message = f"step `{link.step.name}` reads `{name}`, which only explorations have"
    note = "a library means the same on each day; what depends on the day is a configured fact"
    hint = "declare a predicate such as `revenue_since(day: Date)`, and edit the plan to read it"
    return ConstatError([Diagnostic("C0904", message, note=note, help=hint)])


def _not_rules(link: Link) -> ConstatError:
    message = f"step `{link.step.name}` is not by rules but by {link.step.work.value}"
    reads = ", ".join(link.reads)
    hint = f"promote what it reads: `--step {link.reads[0]}`" if reads else "promote other steps"
    return ConstatError([Diagnostic("C0904", message, help=hint)])
