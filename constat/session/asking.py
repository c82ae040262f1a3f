"""Answer questions in plain words: a model drafts a goal, and rules where they are lacking.

In: a question and a session. Out: `Answered`: the goal, what was reused and what was drafted, and a
result with its certificate. Invariants: a draft is in the quarantine before anything is proved with
it; what rests on it is UNDER an assumption that names it; the transcript is on the disk before the
next step is taken. Example: `session.ask("Is customer C001 a VIP?").result.verdict`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from constat.evaluation import Verdict
from constat.session.result import Wish

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import Limits, Observer
    from constat.library.reviewing.confirmations import Confirmations
    from constat.model import Client
    from constat.project import Project
    from constat.proof.translation import Translation
    from constat.session.answers import Answers
    from constat.session.options import LogAs
    from constat.session.result import Answered, Result
    from constat.session.session import Session


class Translated(Protocol):
    """An answer: of `ask`, `prove`, `solve`, or a later question of theirs."""

    @property
    def translation(self) -> Translation | None:
        """What was read from the question."""
        ...


class Proving(Protocol):
    """A session as far as a goal can be proved in it."""

    def prove(
        self,
        goal: str,
        *,
        exhaust: bool = False,
        minimal: str | None = None,
        observe: Observer | None = None,
    ) -> Result:
        """Prove or disprove a goal."""
        ...

    def query(
        self,
        query: str,
        *,
        confidence: bool = False,
        engine: str = "auto",
        observe: Observer | None = None,
    ) -> Answers:
        """Find all answers of a goal with variables."""
        ...


class Asking(ABC):
    """The part of a session that answers questions in plain words, and plans what is lacking."""

    _serve: bool
    _locale: str | None
    _plan_remarks: tuple[Diagnostic, ...] = ()
    planning: bool = True
    """Whether sub-plans may be drafted; not where only what is approved counts."""

    @property
    @abstractmethod
    def _whole(self) -> Session:
        """The session that this is a part of."""

    @property
    @abstractmethod
    def project(self) -> Project:
        """The project."""

    @property
    @abstractmethod
    def program(self) -> AnalysedProgram:
        """The rules of the project."""

    @abstractmethod
    def observing(self, observe: Observer | None) -> AbstractContextManager[None]:
        """Let somebody hear what happens meanwhile."""

    def ask(  # noqa: PLR0913  each kind of wish has a name
        self,
        question: str,
        *,
        require_approved: bool = False,
        by: str = "",
        minimal: str | None = None,
        as_of: str | None = None,
        client: Client | None = None,
        observe: Observer | None = None,
        log: LogAs | None = None,
        conversation: str = "",
        accept_goal: str = "",
        require_confirmed: bool = False,
    ) -> Answered:
        """Answer a question such as `Is customer C001 a VIP?`.

        A language model of the project turns it into a goal over the project's predicates, with
        new rules where these do not suffice. The rules are checked, kept as a draft, and the goal
        is proved; what rests on the draft is UNDER that assumption. With `require_approved` no
        draft is used: a question that needs one is refused. A question that goes on with a named
        `conversation` is told what was said in it before (see `conversing`). The answer is settled
        (exit code 0 or 5) only where a person stands for the goal: `accept_goal` names the goal
        that is meant, `confirm` keeps that it was; with `require_confirmed` the exit code is else
        4. Raises `ConstatError` where no proposal passes the checks, where another goal than
        the accepted one comes out, and as `prove` does.
        """
        from constat.session import asking_steps  # noqa: PLC0415  loaded when it is used

        wish = Wish(
            *(require_approved, by, minimal, as_of, log, conversation),
            *(accept_goal, require_confirmed),
        )
        over = partial(
            asking_steps.drafted_session, self._whole, cache=self._serve, locale=self._locale
        )
        with self.observing(observe):
            return asking_steps.answer(
                self._whole, question, wish, over=over, client=client, observe=observe
            )

    def confirm(self, answer: Translated, *, by: str) -> Translation:
        """Keep a person's word that the goal holds exactly when the answer to the question is yes.

        It is bound to the question, the goal, today's date if the goal depends on it, and all rules
        and sources below the goal: any change ends it. Raises `ConstatError` where the goal was
        typed, or nobody is named.
        """
        if answer.translation is None:
            raise TypeError("an answer to a question has no translation")
        return self.confirmations.confirm(answer.translation, by)

    def translation_of_draft(self, identity: str, *, accept_goal: str = "") -> Translation | None:
        """Say what the question of a draft was read as, and who has confirmed that.

        Nothing where the draft was written for no question, or has no goal any more. Raises
        `ConstatError` where `accept_goal` is another goal, or there is no such draft.
        """
        from constat.session.asking_steps import translation_of_draft  # noqa: PLC0415  loaded when it is used

        return translation_of_draft(self._whole, identity, accept_goal)

    def prove_draft(self, identity: str, *, observe: Observer | None = None) -> Result:
        """Prove the goal of a draft's question anew, such as after a fact for it was stated.

        Raises `ConstatError` where the draft has no goal, and as `prove` does.
        """
        from constat.session.asking_steps import prove_draft  # noqa: PLC0415  loaded when it is used

        return prove_draft(self._whole, identity, observe)

    @property
    def confirmations(self) -> Confirmations:
        """Who has confirmed which goal for which question; they can be withdrawn."""
        from constat.library.reviewing.confirmations import Confirmations  # noqa: PLC0415  loaded when it is used

        return Confirmations(self.project.state)

    def transcripts(self) -> tuple[str, ...]:
        """Name the records of questions that were asked."""
        from constat.store.replacing import Transcripts  # noqa: PLC0415  loaded when it is used

        return Transcripts(self.project.state).identities()

    def transcript(self, identity: str) -> dict[str, Any]:
        """Give the record of a question. Raises `ConstatError` where there is none."""
        from constat.store.replacing import Transcripts  # noqa: PLC0415  loaded when it is used

        return Transcripts(self.project.state).read(identity)

    def _sub_planned(
        self,
        result: Result,
        prove: Callable[[Proving], Result],
        limits: Limits,
        observe: Observer | None,
    ) -> Result:
        """Have what an undecided goal lacks planned, where the project names such predicates.

        `prove` proves the goal once more in a session that the plans have joined, within what is
        left of `limits`.
        """
        if result.verdict is not Verdict.UNRESOLVED:
            return result
        found: Result = self._planned(result, prove, limits, observe, of_rows=False)
        return found

    def _sub_planned_rows(
        self,
        answers: Answers,
        query: Callable[[Proving], Answers],
        limits: Limits,
        observe: Observer | None,
    ) -> Answers:
        """Have what leaves the answers of a query open planned, as for a goal."""
        if answers.exit_code != Verdict.UNRESOLVED.exit_code:
            return answers
        found: Answers = self._planned(answers, query, limits, observe, of_rows=True)
        return found

    def _planned(
        self,
        first: Any,  # noqa: ANN401  a result or answers
        again: Callable[[Proving], Any],
        limits: Limits,
        observe: Observer | None,
        *,
        of_rows: bool,
    ) -> Any:  # noqa: ANN401  what was given, or what came instead
        self._plan_remarks = ()
        if not (self.planning and self.project.sub_plans.predicates):
            return first
        from constat.session import asking_steps  # noqa: PLC0415  loaded when it is used

        lacking = asking_steps.lacking_rows if of_rows else asking_steps.lacking
        with self.observing(observe):
            planned = asking_steps.with_sub_plans(
                *(self._whole, first, again, lacking, limits),
                cache=self._serve,
                locale=self._locale,
            )
        self._plan_remarks = planned.remarks
        return planned.result
