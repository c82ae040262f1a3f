"""Explore a question by a plan: approve, run, resume, look at it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
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

    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery import DiscoveryTools
    from constat.explore.answered import ExplorationState, Explored, StepRecordView
    from constat.explore.chain import Chain, Link
    from constat.explore.events import Telling
    from constat.explore.plan import Plan
    from constat.library.approvals import Approval
    from constat.model import Client
    from constat.project import Project
    from constat.proof.signing import SigningKey
    from constat.proof.translation import Translation
    from constat.session.bench import Bench
    from constat.session.exploring import Exploring
    from constat.session.models import Models
    from constat.session.plan_approvals import Review
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


class Solving(ABC):
    """The part of a session that explores."""

    allow_unconfined: bool = False
    """Whether code may run where nothing keeps it in, if the configuration allows that too."""

    @property
    @abstractmethod
    def project(self) -> Project:
        """The project."""

    @property
    @abstractmethod
    def program(self) -> AnalysedProgram:
        """The rules of the project."""

    @property
    @abstractmethod
    def models(self) -> Models:
        """The language models."""

    @abstractmethod
    def discovery(self) -> DiscoveryTools:
        """The tools by which a model learns what there is."""

    @abstractmethod
    def _bench(self) -> Bench:
        """Give what is needed to answer."""

    def solve(  # noqa: PLR0913  each kind of wish has a name
        self,
        question: str,
        *,
        plan: Plan | None = None,
        today: str = "",
        by: str = "",
        review: Review | None = None,
        mend: bool = False,
        certify: bool = False,
        require_approved: bool = False,
        accept_goal: str = "",
        require_confirmed: bool = False,
        client: Client | None = None,
        observe: Telling | None = None,
    ) -> Explored:
        """Answer an exploratory question, such as `What are the top 5 customers by revenue?`.

        A model of the project plans the steps, or `plan` says them. Steps become a chain of rules,
        rankings, SELECTs and sandboxed code, and only those run that the answer needs. `today` is
        the day that counts as today. `review` is shown the plan before it runs. With `mend` a model
        may correct the steps of a plan that a person wrote. `Explored.certificate` proves the
        answer where that takes less than a moment, with `certify` however long it takes; where that
        fails the answer was computed and not checked, and `Explored.proof.why` says why. With
        `require_approved` a plan that a model drafted is kept and not run before somebody has
        approved it (`plans.approve`). `accept_goal`, `require_confirmed` and `confirm` are as with
        `ask`; the goal is the relation that answers. Raises `ConstatError`.
        """
        from constat.session.plan_approvals import Wish  # noqa: PLC0415  loaded when it is used

        wish = Wish(
            *(plan, None, today, by, review, mend, client, certify, require_approved),
            *(accept_goal, require_confirmed),
        )
        found: Explored = self._exploring(observe).solve(question, wish)
        return found

    def follow_up(  # noqa: PLR0913  as in `solve`
        self,
        question: str,
        *,
        exploration: str = "",
        plan: Plan | None = None,
        by: str = "",
        review: Review | None = None,
        mend: bool = False,
        certify: bool = False,
        require_approved: bool = False,
        accept_goal: str = "",
        require_confirmed: bool = False,
        client: Client | None = None,
        observe: Telling | None = None,
    ) -> Explored:
        """Answer a question that goes on from earlier ones, by their relations and its own steps.

        `exploration` is an id or the beginning of one; without it, the latest. What an earlier
        question was answered stays as it is.
        """
        from constat.session.plan_approvals import Wish  # noqa: PLC0415  loaded when it is used

        wish = Wish(
            *(plan, exploration, "", by, review, mend, client, certify, require_approved),
            *(accept_goal, require_confirmed),
        )
        found: Explored = self._exploring(observe).solve(question, wish)
        return found

    def resume(  # noqa: PLR0913  as in `solve`
        self,
        exploration: str = "",
        *,
        by: str = "",
        mend: bool = False,
        certify: bool = False,
        require_approved: bool = False,
        accept_goal: str = "",
        require_confirmed: bool = False,
        client: Client | None = None,
        observe: Telling | None = None,
    ) -> Explored:
        """Go on with an exploration where it ended, however it ended; finished steps are kept."""
        from constat.session.plan_approvals import Wish  # noqa: PLC0415  loaded when it is used

        wish = Wish(
            by=by,
            mend=mend,
            client=client,
            certify=certify,
            require_approved=require_approved,
            accept_goal=accept_goal,
            require_confirmed=require_confirmed,
        )
        found: Explored = self._exploring(observe).resume(exploration, wish)
        return found

    def kept_certificate(self, exploration: str = "", question: int = 0) -> bytes:
        """Give the certificate that was kept with an answer, of the last question without one.

        Raises `ConstatError` where none was.
        """
        found: bytes = self._exploring(None).certificate(exploration, question)
        return found

    def get_step(self, number: int, exploration: str = "") -> StepRecordView:
        """Give what is kept of a step: each try with the text that ran, its output and error."""
        found: StepRecordView = self._exploring(None).step(exploration, number)
        return found

    def get_state(self, exploration: str = "") -> ExplorationState:
        """Tell what an exploration holds: tables with their steps, variables, the scratchpad."""
        found: ExplorationState = self._exploring(None).state(exploration)
        return found

    @property
    def history(self) -> tuple[Exploration, ...]:
        """All explorations of the project, the oldest first, with questions, plans and answers."""
        from constat.store.explored import ExploredStore  # noqa: PLC0415  loaded when it is used

        found: tuple[Exploration, ...] = ExploredStore(self.project.state).list()
        return found

    @property
    def plans(self) -> Plans:
        """The plans of explorations: show, check, edit, promote."""
        from constat.store.drafts import DraftStore  # noqa: PLC0415  loaded when it is used

        drafts = DraftStore(self.project.state)
        found: Plans = Plans(self._exploring(None), drafts)
        return found

    def _exploring(self, observe: Telling | None) -> Exploring:
        from constat.explore.events import ignore  # noqa: PLC0415  loaded when it is used
        from constat.session import exploring  # noqa: PLC0415  loaded when it is used

        bench = self._bench()
        if self.allow_unconfined:
            explore = replace(bench.project.explore, unconfined=True)
            bench = replace(bench, project=replace(bench.project, explore=explore))
        found: Exploring = exploring.Exploring(self, bench, observe or ignore)
        return found
