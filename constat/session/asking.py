"""Answer questions in plain words: a model drafts a goal, and rules where they are lacking.

In: a question and a session. Out: `Answered`: the goal, what was reused and what was drafted, and a
result with its certificate. Invariants: a draft is in the quarantine before anything is proved with
it; what rests on it is UNDER an assumption that names it; the transcript is on the disk before the
next step is taken. Example: `session.ask("Is customer C001 a VIP?").result.verdict`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from constat.evaluation import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import Observer
    from constat.library.reviewing.confirmations import Confirmations
    from constat.model import Client, Usage
    from constat.project import Project
    from constat.proof.translation import Translation
    from constat.session.answers import Answers, RowVerdict, Settled
    from constat.session.options import LogAs
    from constat.session.result import Result
    from constat.store.drafts import Draft


@dataclass(frozen=True, slots=True)
class Wish:
    """How a question is to be answered.

    With `require_approved` no draft is used. `by` is who asks. `conversation` is the one that the
    question goes on with; without a name it begins one of its own. `accept_goal` is the goal that
    is meant, in the word of `by`: another one is not proved. With `require_confirmed` nothing is
    settled before somebody has confirmed the goal. The rest is as in `prove`.
    """

    require_approved: bool = False
    by: str = ""
    minimal: str | None = None
    as_of: str | None = None
    log: LogAs | None = None
    conversation: str = ""
    accept_goal: str = ""
    require_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """The answers of a goal with variables: its columns, the first rows as texts with verdicts.

    `total` counts all rows; `settled` tells whether there can be others.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], RowVerdict], ...]
    total: int
    settled: Settled


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its answer.

    `goal` is how a model read the question. `reused` are predicates of the project; `draft` is
    what was drafted besides, and `drafted` its rules one by one; `invented` are constants of it
    that were neither asked for nor looked up. `listed` has the answers where the goal has
    variables; the result then tells that there is one. `usage` is that of the whole question:
    drafting, sub-plans, and facts that models told; its cost is in `currency`. `remarks` are
    warnings about goal and draft. `model` is who answered; `replayed` says that a tape did, `note`
    in which words to say so. `transcript` is the record's id.
    """

    question: str
    goal: str
    result: Result
    reused: tuple[str, ...]
    draft: Draft | None
    drafted: tuple[str, ...]
    invented: tuple[str, ...]
    remarks: tuple[Diagnostic, ...]
    rounds: int
    usage: Usage
    model: str
    replayed: bool
    note: str
    transcript: str
    record: dict[str, Any]
    listed: Listed | None = None
    currency: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict about the goal."""
        return self.result.verdict

    @property
    def translation(self) -> Translation:
        """The goal in words, and whether a person has confirmed that it is what was asked."""
        if self.result.translation is None:
            raise TypeError("an answer to a question has no translation")
        return self.result.translation

    @property
    def exit_code(self) -> int:
        """The exit code: the verdict's, unless nobody has confirmed that this was asked."""
        return self.result.exit_code


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
        answering = importlib.import_module("constat.session.asking_steps")
        wish = Wish(
            *(require_approved, by, minimal, as_of, log, conversation),
            *(accept_goal, require_confirmed),
        )
        over = partial(answering.DraftedSession, self, cache=self._serve, locale=self._locale)
        with self.observing(observe):
            found: Answered = answering.answer(
                self, question, wish, over=over, client=client, observe=observe
            )
        return found

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
        answering = importlib.import_module("constat.session.asking_steps")
        found: Translation | None = answering.translation_of_draft(self, identity, accept_goal)
        return found

    def prove_draft(self, identity: str, *, observe: Observer | None = None) -> Result:
        """Prove the goal of a draft's question anew, such as after a fact for it was stated.

        Raises `ConstatError` where the draft has no goal, and as `prove` does.
        """
        answering = importlib.import_module("constat.session.asking_steps")
        found: Result = answering.prove_draft(self, identity, observe)
        return found

    @property
    def confirmations(self) -> Confirmations:
        """Who has confirmed which goal for which question; they can be withdrawn."""
        keeping = importlib.import_module("constat.library.reviewing.confirmations")
        found: Confirmations = keeping.Confirmations(self.project.state)
        return found

    def transcripts(self) -> tuple[str, ...]:
        """Name the records of questions that were asked."""
        keeping = importlib.import_module("constat.store.replacing")
        names: tuple[str, ...] = keeping.Transcripts(self.project.state).identities()
        return names

    def transcript(self, identity: str) -> dict[str, Any]:
        """Give the record of a question. Raises `ConstatError` where there is none."""
        keeping = importlib.import_module("constat.store.replacing")
        record: dict[str, Any] = keeping.Transcripts(self.project.state).read(identity)
        return record

    def _sub_planned(
        self, result: Result, prove: Callable[[Proving], Result], observe: Observer | None
    ) -> Result:
        """Have what an undecided goal lacks planned, where the project names such predicates.

        `prove` proves the goal once more in a session that the plans have joined.
        """
        if result.verdict is not Verdict.UNRESOLVED:
            return result
        found: Result = self._planned(result, prove, "lacking", observe)
        return found

    def _sub_planned_rows(
        self, answers: Answers, query: Callable[[Proving], Answers], observe: Observer | None
    ) -> Answers:
        """Have what leaves the answers of a query open planned, as for a goal."""
        if answers.exit_code != Verdict.UNRESOLVED.exit_code:
            return answers
        found: Answers = self._planned(answers, query, "lacking_rows", observe)
        return found

    def _planned(
        self,
        first: Any,  # noqa: ANN401  a result or answers
        again: Callable[[Proving], Any],
        lacks: str,
        observe: Observer | None,
    ) -> Any:  # noqa: ANN401  what was given, or what came instead
        self._plan_remarks = ()
        if not (self.planning and self.project.sub_plans.predicates):
            return first
        # Most projects plan nothing: they start without what drafts.
        planning = importlib.import_module("constat.session.asking_steps")
        how = {"cache": self._serve, "locale": self._locale}
        with self.observing(observe):
            planned = planning.with_sub_plans(self, first, again, getattr(planning, lacks), **how)
        self._plan_remarks = planned.remarks
        return planned.result
