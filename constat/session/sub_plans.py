"""The sub-plan tier: rules for a predicate that nothing answers, where the project wants that.

In: a result or answers that are open, and the session they came from. Out: those of the same goal
or query in a program that drafted rules have joined, or the first ones. Invariants: a sub-plan is
rules, checked as drafts are, in the program and its strata (semantics 14), never an answer;
predicates that the project does not name are not planned; it is asked for only once everything else
has left the goal open, and for what would decide it; its depth is bounded. What people state of a
planned predicate still counts, and what a plan does not derive stays unknown. Example: with
`sub_plans: {predicates: [contract_value]}` the goal `is_strategic(C009)` has one drafted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from constat.authoring.checking import stays_open
from constat.authoring.drafting import draft_for
from constat.authoring.joining import reachable
from constat.authoring.proposals import MOST_GOAL, one_line
from constat.authoring.transcript import Transcript
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.evaluation import Verdict
from constat.library.reviewing.joining import JoinedProgram, join_drafts
from constat.model import Task
from constat.project import LogSetting, SubPlanSetting, suggestion
from constat.session.answers import Settled
from constat.session.asking_steps import (
    DraftedSession,
    desk_of,
    ground_of,
    keep_record,
)
from constat.session.drafted import PLAN_OF
from constat.store.clock import now
from constat.store.drafts import Draft, DraftStore, NewDraft
from constat.store.transcripts import Transcripts
from constat.syntax import print_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.session.answers import Answers
    from constat.session.result import Result
    from constat.session.session import Session

_MOST_AT_ONCE: Final = 8
_MOST_REJECTED: Final = 3


Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Planned(Generic[Found]):
    """What came of planning: the result, the drafts that joined, and what went wrong."""

    result: Found
    drafts: tuple[Draft, ...] = ()
    remarks: tuple[Diagnostic, ...] = ()


class PlannedSession(DraftedSession):
    """A session that plans have joined: it plans nothing more, and leaves the log to the first."""

    def __init__(
        self, base: Session, joined: JoinedProgram, *, cache: bool, locale: str | None
    ) -> None:
        super().__init__(base, joined, cache=cache, locale=locale)
        self._project = replace(base.project, log=LogSetting(), sub_plans=SubPlanSetting())


def lacking(result: Result) -> tuple[str, ...]:
    """Name the predicates whose facts would decide a goal; none where it is decided."""
    open_goal = result.verdict is Verdict.UNRESOLVED
    return tuple(dict.fromkeys(name for name, _ in result.decision.missing)) if open_goal else ()


def lacking_rows(answers: Answers) -> tuple[str, ...]:
    """Name the predicates that leave the answers of a query open; none where they are settled."""
    is_open = answers.settled is Settled.OPEN
    return tuple(dict.fromkeys(one.predicate for one in answers.reasons)) if is_open else ()


def with_sub_plans(
    session: Session,
    result: Found,
    ask: Callable[[Session], Found],
    lacks: Callable[[Found], tuple[str, ...]],
    *,
    cache: bool = True,
    locale: str | None = None,
) -> Planned[Found]:
    """Plan what an answer lacks; `ask` asks the same again in another session."""
    setting = session.project.sub_plans
    check_plannable(session.program, setting.predicates)
    planning = _Planning(session, frozenset(setting.predicates))
    with session.models.question():
        for _ in range(setting.depth):
            names = lacks(result)
            if not names or not list(planning.plan(names)):
                break
            with PlannedSession(session, planning.joined(), cache=cache, locale=locale) as other:
                result = ask(other)
    return Planned(result, tuple(planning.drafts.values()), tuple(planning.remarks))


def check_plannable(program: AnalysedProgram, names: tuple[str, ...]) -> None:
    """Raise `ConstatError` for names of predicates that have an answer, or are not there."""
    found = []
    for name in names:
        predicate = program.program.predicates.get(name)
        if predicate is None:
            message = f"`sub_plans` names `{name[:60]}`, which is no predicate"
            found.append((message, suggestion(name, program.program.predicates)))
        elif name not in program.external or predicate.source is not None:
            what = "rules" if name not in program.external else "a source"
            message = f"`sub_plans` names `{name}`, which has {what}"
            found.append((message, "leave it out: only what nothing answers is planned"))
    if found:
        raise ConstatError(Diagnostic("C0876", message, help=hint) for message, hint in found)


class _Planning:
    """The plans of one goal."""

    def __init__(self, session: Session, allowed: frozenset[str]) -> None:
        self.session = session
        self.allowed = allowed
        self.drafts: dict[str, Draft] = {}
        self.remarks: list[Diagnostic] = []
        self.tried: set[str] = set()
        self.store = DraftStore(session.project.state)

    def plan(self, names: Sequence[str]) -> Iterator[Draft]:
        """Draft rules for what would decide the goal, each predicate once."""
        lacked = list(names)
        if self.drafts:
            # A planned predicate stays open itself, and may hide what its plan lacks.
            rules = [one for one in self.joined().program.rules if one.proposed]
            lacked += sorted(reachable(rules, lacked) - set(lacked))
        wanted = [one for one in lacked if one in self.allowed and one not in self.tried]
        for name in wanted[:_MOST_AT_ONCE]:
            self.tried.add(name)
            try:
                draft = self.kept(name) or self.drafted(name)
                # Two plans may each be right, and together rest on their own absence.
                self.join([*self.drafts.values(), draft])
            except ConstatError as problem:
                self.remarks += _failed(name, problem)
                continue
            self.drafts[name] = draft
            yield draft

    def kept(self, name: str) -> Draft | None:
        """Give the plan that was drafted before and still fits, so that nothing is asked twice."""
        purpose = PLAN_OF + name
        for draft in reversed(self.store.list("proposed")):
            if draft.purpose == purpose:
                try:
                    self.join([draft])
                except ConstatError:
                    continue
                return draft
        return None

    def drafted(self, name: str) -> Draft:
        """Ask a model for rules of a predicate, and keep them."""
        question = self.question(name)
        transcript = Transcript(question, now())
        records = Transcripts(self.session.project.state)
        ground = ground_of(self.session, frozenset({name}))
        rejected = [
            (one.text, one.decision.reason)
            for one in self.store.rejections_about([name])
            if one.decision
        ]
        desk = replace(
            desk_of(self.session, replace(ground, must_derive=name), Task.SUB_PLAN),
            rejected=tuple(rejected[:_MOST_REJECTED]),
            keep=lambda: keep_record(records, transcript),
        )
        found = draft_for(question, desk, transcript)
        new = NewDraft(
            found.checked.text,
            PLAN_OF + name,
            goal=one_line(found.proposal.goal, MOST_GOAL),
            model=found.reply.model,
            prompt=found.reply.prompt_hash,
            response=found.reply.response_hash,
        )
        draft = self.store.add(new)
        transcript.outcome = {"draft": draft.identity}
        keep_record(records, transcript)
        return draft

    def question(self, name: str) -> str:
        predicate = self.session.program.program.predicates[name]
        told = " ".join(predicate.description.split())[:500]
        return (
            f"Nothing answers the predicate {print_signature(predicate)}. {told} Draft rules that"
            f" derive {name} itself from other predicates; the goal is {name} with variables."
        )

    def joined(self) -> JoinedProgram:
        return self.join(list(self.drafts.values()))

    def join(self, drafts: list[Draft]) -> JoinedProgram:
        """Put plans into the program; the planned predicates stay open to what people state."""
        base = self.session.program
        predicates = {
            name: stays_open(one, self.allowed) for name, one in base.program.predicates.items()
        }
        opened = replace(base, program=replace(base.program, predicates=predicates))
        return join_drafts(opened, drafts, amending=True)


def _failed(name: str, problem: ConstatError) -> Iterator[Diagnostic]:
    first = problem.diagnostics[0]
    message = f"no sub-plan for `{name}`: {first.message} [{first.code}]"
    yield Diagnostic("C0877", message, help=first.help, severity=Severity.WARNING)
