"""What exploring needs of a session, and plans checked and approved before they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from constat.catalog import QueryMistakeError, SourceFailureError, guard
from constat.diagnostics import ConstatError, Diagnostic, Severity, nearest
from constat.explore.chain import PERIODS, Chain
from constat.explore.events import Generating, Spent
from constat.explore.pictures import rules_text
from constat.explore.plan import Plan, PlanWord, Work, plan_hashes, plan_rule
from constat.explore.reading import read_plan
from constat.frozen import frozen
from constat.library.approvals import (
    WITHDRAWN,
    Approval,
    certified,
    project_trust,
    read_approvals,
    standing,
)
from constat.library.reviewing.placement import write_records
from constat.model import Client, ModelError, Task, Usage
from constat.project.document import MAX_BYTES
from constat.project.settings import CHECKS
from constat.session.confirmation import plan_reading, require_goal
from constat.session.reviewing import Decided, Subject, approver_of, check_may_approve, word
from constat.store.clock import now
from constat.store.drafts import Decision, DraftStore, NewDraft, check_decision
from constat.tiers.building import Connections
from constat.tiers.declarations import check_declarations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery import DiscoveryTools
    from constat.explore.chain import Link
    from constat.explore.events import ExploreObserver
    from constat.explore.plan import Step
    from constat.library.approvals import Standing, Trust
    from constat.project import Project
    from constat.proof.signing import SigningKey
    from constat.proof.translation import Translation
    from constat.session.exploring import Exploring
    from constat.session.models import Models
    from constat.store.drafts import Draft
    from constat.store.explored import Exploration

# A project's models are not even made before one is asked.

Review = Callable[[Plan, Chain], Plan | None]
"""Sees a plan before it runs; gives the plan to run, or nothing to hold it back."""


@frozen
class ExploreOptions:
    """How a question is to be explored.

    With a `plan` no model plans. `exploration` is one to go on with: an id, empty for the latest,
    `None` for a new one. With `mend` a model may correct a person's plan too. `client` stands for
    the project's models. With `certify` the answer is proved however long that takes; with
    `require_approved` a plan that a model drafted runs only as somebody approved it. `accept_goal`
    is the answer that is meant, in the word of `by`: a plan for another one does not run. With
    `require_confirmed` nothing is settled before somebody has confirmed it. `check` says when rows
    of bulk are counted again, `None` that the project says it.
    """

    plan: Plan | None = None
    exploration: str | None = None
    today: str = ""
    by: str = ""
    review: Review | None = None
    mend: bool = False
    client: Client | None = None
    certify: bool = False
    require_approved: bool = False
    accept_goal: str = ""
    require_confirmed: bool = False
    check: str | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for a check that there is not."""
        if self.check is not None and self.check not in CHECKS:
            raise ValueError(f"`check` is one of {', '.join(CHECKS)}")


class Around(Protocol):
    """What of a session exploring needs beside its parts; models are made when they are asked."""

    @property
    def project(self) -> Project:
        """The project."""
        ...

    @property
    def program(self) -> AnalysedProgram:
        """Its rules."""
        ...

    @property
    def models(self) -> Models:
        """Its language models."""
        ...

    def discovery(self) -> DiscoveryTools:
        """The tools by which a model learns what there is."""
        ...


class ModelAccess:
    """Gives clients, and tells what was spent."""

    def __init__(self, around: Around, tell: ExploreObserver) -> None:
        self._around = around
        self._tell = tell
        self._asked = False

    def client(self, options: ExploreOptions, task: Task) -> Client:
        """Give the model of a task. Raises `ConstatError` where the project has none."""
        if options.client is not None:
            return options.client
        self._asked = True
        try:
            return self._around.models.client(task)
        except ModelError as problem:
            hint = "name one under `models:` in constat.yaml, or write a plan: `--plan FILE`"
            raise ConstatError([Diagnostic(problem.code, str(problem), help=hint)]) from None

    def has(self, options: ExploreOptions, task: Task) -> bool:
        """Whether there is a model for a task."""
        return options.client is not None or self._around.models.configured(task)

    def begin(self, step: int, purpose: str) -> None:
        """Tell that a model is about to be asked."""
        self._tell(Generating(step, purpose))

    def end(self) -> None:
        """Tell what was spent so far."""
        used = self.usage
        self._tell(Spent(used.calls, used.tokens, str(used.cost)))

    @property
    def usage(self) -> Usage:
        """What the session has used so far."""
        return self._around.models.usage if self._asked else Usage()

    @property
    def note(self) -> str:
        """Whose replies were replayed, in words."""
        return self._around.models.note if self._asked else ""


def check_sources(project: Project, chain: Chain, links: Sequence[Link]) -> None:
    """Check databases, queries and their columns of some steps. Raises `ConstatError`."""
    found = list(_unknown(project, links))
    if not found:
        check_declarations(project, chain.analysed, found)
        found = [one for one in found if one.severity is Severity.ERROR]
    if not found:
        connections = Connections(project)
        try:
            found += _queries(connections, links)
        finally:
            connections.close()
    if found:
        raise ConstatError(found)


def _unknown(project: Project, links: Sequence[Link]) -> Iterator[Diagnostic]:
    known = list(project.databases)
    for link in links:
        for name in link.step.sources if link.step.source else ():
            if name not in known or (link.step.work is Work.SQL and name != link.step.source):
                yield _no_database(link.step, name, known)


def _queries(connections: Connections, links: Sequence[Link]) -> Iterator[Diagnostic]:
    for link in links:
        step = link.step
        if step.work is not Work.SQL or not step.source:
            continue
        try:
            connection = connections.reading(step.source)
            guarded = guard(step.text, connection.dialect)
            columns = connection.columns(guarded.text)
        except QueryMistakeError as problem:
            message = f"step `{step.name}`: {problem.reason}"
            yield Diagnostic(problem.code, message, step.span, help=problem.help)
        except SourceFailureError:
            continue
        else:
            wanted = step.outputs[0]
            if len(columns) != len(wanted.columns):
                message = (
                    f"step `{step.name}`: the query gives {len(columns)} columns, and "
                    f"{len(wanted.columns)} are declared"
                )
                hint = f"give exactly `{wanted.declaration}`"
                yield Diagnostic("C0518", message, step.span, help=hint)


def _no_database(step: Step, name: str, known: list[str]) -> Diagnostic:
    shown = name if name.isprintable() else ascii(name)
    near = nearest(name, known)
    hint = f"write `{near}`" if near else f"the databases are {', '.join(known) or 'none'}"
    message = f"step `{step.name}`: there is no database `{shown[:60]}`"
    return Diagnostic("C0892", message, step.span, help=hint)


FOLDER: Final = "plans"


@frozen
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


# Plans of explorations: look at them, check them, edit them, propose their rules for the
# library.


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
