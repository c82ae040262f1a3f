"""What a session offers about exploring: solve, follow up, resume, and the state of it all.

In: questions in words, or plans. Out: answers whose rows and sentence were made by steps that can
be looked at. Each is loaded when it is first asked. Example:
`session.solve("What are the top 5 customers by revenue this quarter?").rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery import DiscoveryTools
    from constat.explore.answered import ExplorationState, Explored, StepRecordView
    from constat.explore.events import Telling
    from constat.explore.plan import Plan
    from constat.model import Client
    from constat.project import Project
    from constat.session.bench import Bench
    from constat.session.exploring import Exploring
    from constat.session.models import Models
    from constat.session.plan_approvals import Review
    from constat.session.solving_plans import Plans
    from constat.store.explored import Exploration


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
        check: str | None = None,
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
        `ask`; the goal is the relation that answers. `check` is `always`, `background` or `off`, as
        with `query`: what a step computes in bulk is kept once its check has ended, the step's
        report says what came of it, and a step whose rows differ gives nothing. Without a word the
        project's `check` counts. Raises `ConstatError`.
        """
        from constat.session.plan_approvals import Wish  # noqa: PLC0415  loaded when it is used

        wish = Wish(
            *(plan, None, today, by, review, mend, client, certify, require_approved),
            *(accept_goal, require_confirmed, check),
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
        check: str | None = None,
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
            *(accept_goal, require_confirmed, check),
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
        check: str | None = None,
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
            check=check,
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
        from constat.session import solving_plans as planning  # noqa: PLC0415  loaded when it is used
        from constat.store.drafts import DraftStore  # noqa: PLC0415  loaded when it is used

        drafts = DraftStore(self.project.state)
        found: Plans = planning.Plans(self._exploring(None), drafts)
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
