"""The steps of answering a question: draft, keep, join, prove; plans for what is lacking."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from constat.analysis import check_goal
from constat.authoring.checking import (
    MOST_GOAL,
    Proposal,
    check_proposal,
    one_line,
    reachable,
    stays_open,
)
from constat.authoring.drafting import DraftContext, Transcript, check_question, draft_for
from constat.authoring.fragments import Ground, check_query, read_fragment, refused
from constat.authoring.prompts import PromptBuilder, stems
from constat.catalog import SourceFailureError, open_connection
from constat.diagnostics import ConstatError, Diagnostic, Severity, to_json
from constat.evaluation import Verdict
from constat.frozen import frozen
from constat.library.reviewing.drafts import join_drafts as drafts_join_drafts
from constat.logic import Variable, display_value
from constat.model import ModelError, Task
from constat.model.tapes import MISSING
from constat.project import LogSetting, SubPlanSetting, suggestion
from constat.proof.missing import unknown_rows
from constat.session.answers import Settled
from constat.session.confirmation import Reading, require_goal, translate
from constat.session.conversing import (
    MOST_ROWS,
    PROVE,
    Conversation,
    Done,
    Exchange,
    result_json,
    told_before,
    verdict_json,
)
from constat.session.drafted import (
    PLAN_OF,
    JoinedProgram,
    approved_only,
    join_drafts,
    unused,
)
from constat.session.result import Answered, Listed
from constat.session.spelling import shown_goal
from constat.store.clock import now
from constat.store.drafts import Draft, DraftStore, NewDraft
from constat.store.replacing import Transcripts
from constat.syntax import parse_goal, print_rule, print_signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.authoring.checking import Checked
    from constat.authoring.drafting import Drafted
    from constat.evaluation import Limits, Observer
    from constat.logic import Atom, Predicate, Program
    from constat.model import Client, Usage
    from constat.project import Project
    from constat.proof.translation import Translation
    from constat.session.answers import Answers
    from constat.session.result import AskOptions, Result
    from constat.session.session import Session

    Over = Callable[[JoinedProgram], Session]
    """Gives a session over another program, with the same settings."""

_MOST_REJECTED: Final = 5
_SAYS_LITTLE: Final = frozenset(
    stems(
        (
            *("all", "and", "any", "are", "been", "did", "does", "every", "for", "from", "had"),
            *("has", "have", "how", "its", "less", "many", "more", "most", "much", "not", "our"),
            *("than", "that", "the", "their", "there", "this", "was", "were", "what", "when"),
            *("where", "which", "who", "whose", "why", "will", "with"),
        )
    )
)
"""Words of questions about anything."""
_MOST_LISTED: Final = 1_000
_OPENING_SECONDS: Final = 5.0
_MOST_REASONS: Final = 10
_ONCE: Final = (
    "If the question does not need these, propose once more: `_` reads no column, a comparison"
    " keeps the error away. Otherwise propose the same again."
)


def drafted_session(
    session: Session, joined: JoinedProgram, *, cache: bool, locale: str | None
) -> Session:
    """Give a session that a draft joined; what it asks of models counts for the same question."""
    return session.over(joined, cache=cache, locale=locale, models=session.models)


def answer(
    session: Session,
    question: str,
    options: AskOptions,
    *,
    over: Over,
    client: Client | None = None,
    observe: Observer | None = None,
) -> Answered:
    """Answer a question; `over` gives a session over another program. Raises `ConstatError`."""
    asked = check_question(question)
    answering = _Answering(session, asked, options, over=over, client=client, observe=observe)
    return answering.run()


class _Answering:
    """One question."""

    def __init__(
        self,
        session: Session,
        question: str,
        options: AskOptions,
        *,
        over: Over,
        client: Client | None,
        observe: Observer | None,
    ) -> None:
        self.session = session
        self.over = over
        self.project = session.project
        self.options = options
        self.observe = observe
        self.transcript = Transcript(question, now())
        self.records = Transcripts(self.project.state)
        self.client = client
        self.listed: Listed | None = None
        self.before = session.models.usage
        name = options.conversation or f"question-{self.transcript.identity}"
        self.conversation = Conversation(self.project, name)
        self.remarked: tuple[Diagnostic, ...] = ()
        self.context = ""

    def run(self) -> Answered:
        ground = ground_of(self.session)
        with self.session.models.question(), self.recorded():
            drafted = self.draft(ground)
            kept, result = self.proved(drafted)
            listed = self.listed
            # A goal that was named is the one that is answered.
            reason = "" if self.options.accept_goal else left_open(result)
            other = drafted.again(reason) if reason else None
            if other is not None:
                again, better = self.proved(other)
                if better.verdict is Verdict.UNRESOLVED:
                    self.listed = listed
                else:
                    drafted, kept, result = other, again, better
            translation = result.translation
            self.transcript.outcome = {
                "goal": result.goal,
                "verdict": result.verdict.value,
                "draft": None if kept is None else kept.identity,
                "translation": None if translation is None else translation.as_json(),
            }
        return self.answered(drafted, kept, result)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Have the transcript on the disk, however the question ends."""
        try:
            yield
        except (ConstatError, KeyboardInterrupt) as problem:
            mistakes = to_json(problem.diagnostics) if isinstance(problem, ConstatError) else None
            self.transcript.outcome = {"error": mistakes or "interrupted"}
            self.converse()
            # What ended the question is said, also where a full disk keeps it out of the record.
            with suppress(ConstatError):
                self.save()
            raise
        self.converse()
        self.save()

    def converse(self) -> None:
        """Have the exchange in the conversation, however the question ends."""
        values = self.conversation.tells_values
        listed = self.listed if values else None
        exchange = exchange_of(self.transcript, listed, values=values)
        self.remarked += self.conversation.keep(exchange)

    def save(self) -> None:
        keep_record(self.records, self.transcript)

    def draft(self, ground: Ground) -> Drafted:
        context = draft_context(self.session, ground, Task.DRAFT, self.client)
        context = replace(context, rejected=self.rejected(), keep=self.save)
        before = self.conversation.before(self.transcript.question)
        if not before.text:
            return draft_for(self.transcript.question, context, self.transcript)
        informed = replace(context, before=told_before(before.text), seen=before.seen)
        try:
            found = draft_for(self.transcript.question, informed, self.transcript)
        except ConstatError as problem:
            if problem.diagnostics[0].code != MISSING:
                raise
            # A tape of single questions knows none that goes on.
            self.remarked = (_told_alone(),)
            return draft_for(self.transcript.question, context, self.transcript)
        self.context = before.text
        return found

    def rejected(self) -> tuple[tuple[str, str], ...]:
        """Give the drafts that people rejected for similar questions, the most similar first.

        A draft may mention no predicate of the project, so all of them are looked through.
        """
        words = stems([self.transcript.question]) - _SAYS_LITTLE
        shared = (
            (len(words & stems([one.purpose])), one) for one in self.session.drafts.list("rejected")
        )
        found = [(count, one.decision.at, one) for count, one in shared if count and one.decision]
        found.sort(key=lambda each: each[:2], reverse=True)
        return tuple(
            (one.text, one.decision.reason) for *_, one in found[:_MOST_REJECTED] if one.decision
        )

    def keep(self, drafted: Drafted) -> Draft | None:
        """Put the draft into the quarantine, unless there is none."""
        checked = drafted.checked
        if not checked.text:
            return None
        new = NewDraft(
            checked.text,
            self.transcript.question,
            goal=one_line(drafted.proposal.goal, MOST_GOAL),
            model=drafted.reply.model,
            prompt=drafted.reply.prompt_hash,
            response=drafted.reply.response_hash,
            asked_by=self.options.by,
        )
        return self.session.drafts.add(new)

    def proved(self, drafted: Drafted) -> tuple[Draft | None, Result]:
        """Keep a draft, and prove its goal."""
        self.listed = None
        kept = self.keep(drafted)
        joined = join_drafts(self.session.program, [] if kept is None else [kept])
        translation = self.translated(drafted, joined)
        return kept, self.prove(drafted, kept, joined).translated(translation)

    def rules_of(self, fragment: Program) -> tuple[str, ...]:
        """Write the rules of a draft."""
        known = {**self.session.program.program.predicates, **fragment.predicates}
        return tuple(print_rule(rule, known) for rule in fragment.rules)

    def translated(self, drafted: Drafted, joined: JoinedProgram) -> Translation:
        """Say on whose word the goal is what was asked, before anything is proved."""
        session, options = self.session, self.options
        question = self.transcript.question
        goal = _goal(drafted)
        reading = Reading(question, goal, joined.program, session.program, self.context)
        required = options.require_confirmed
        found = translate(reading, session.speech, self.project, required=required)
        if options.accept_goal:
            require_goal(reading, options.accept_goal, found)
            if not found.confirmed:
                return session.confirmations.confirm(found, options.by)
        return found

    def prove(self, drafted: Drafted, draft: Draft | None, joined: JoinedProgram) -> Result:
        if draft is not None:
            with self.over(unused(joined) if self.options.require_approved else joined) as other:
                other.planning = not self.options.require_approved
                return self.proved_by(other, drafted)
        if self.options.require_approved:
            approved = JoinedProgram(approved_only(self.session.program))
            with self.over(approved) as other:
                other.planning = False
                return self.proved_by(other, drafted)
        return self.proved_by(self.session, drafted)

    def proved_by(self, session: Session, drafted: Drafted) -> Result:
        options, goal = self.options, _goal(drafted)
        predicate = session.program.program.predicates[goal.predicate]
        text = shown_goal(predicate, goal)
        if options.as_of is None and any(isinstance(term, Variable) for term in goal.terms):
            self.listed = _listed(session.query(text, observe=self.observe).checked())
        return session.prove(
            text,
            exhaust=options.minimal is not None,
            minimal=None if options.minimal == "confidence" else options.minimal,
            as_of=options.as_of,
            observe=self.observe,
            log=options.log,
        )

    def answered(self, drafted: Drafted, draft: Draft | None, result: Result) -> Answered:
        checked, fragment = drafted.checked, drafted.checked.fragment
        return Answered(
            question=self.transcript.question,
            goal=result.goal,
            result=result,
            reused=checked.reused,
            draft=draft,
            drafted=() if fragment is None else self.rules_of(fragment),
            invented=checked.invented,
            remarks=tuple(self.remarks(checked, draft)),
            rounds=drafted.rounds,
            usage=self.used(drafted),
            currency=self.project.models.currency,
            model=drafted.reply.model,
            replayed=drafted.replayed,
            note=self.session.models.note,
            transcript=self.transcript.identity,
            record=self.transcript.as_json(),
            listed=self.listed,
        )

    def used(self, drafted: Drafted) -> Usage:
        """Give what the whole question has used: drafting, plans, and facts that models told."""
        used = self.session.models.usage - self.before
        return used if self.client is None else used + drafted.usage

    def remarks(self, checked: Checked, draft: Draft | None) -> Iterator[Diagnostic]:
        """Yield what people should know of goal and draft."""
        yield from (one for one in checked.diagnostics if one.severity is not Severity.ERROR)
        yield from self.remarked
        if draft is not None and self.options.require_approved:
            yield _unapproved(draft)


def left_open(result: Result) -> str:
    """Say for a model why cells that nobody knows, or an error, leave a goal open.

    Nothing where it is decided, or open for another reason. No value of a row is in it.
    """
    if result.verdict is not Verdict.UNRESOLVED:
        return ""
    outcome = result.decision.outcome
    columns = dict.fromkeys(
        f"{one.predicate.name}.{one.predicate.columns[place].name}"
        for one in unknown_rows(outcome)
        for place in one.columns
    )
    program = outcome.program
    rules = dict.fromkeys(
        print_rule(program.rules[one.rule], program.program.predicates) for one in outcome.failures
    )
    reasons = [f"{one} is null in rows that the goal reads" for one in columns]
    reasons += [f"this rule divides by zero, overflows or fails to convert: {one}" for one in rules]
    return (
        "\n".join(["The goal is UNRESOLVED:", *reasons[:_MOST_REASONS], _ONCE]) if reasons else ""
    )


def translation_of_draft(
    session: Session, identity: str, accept_goal: str = ""
) -> Translation | None:
    """Say what the question of a draft was read as; see `Asking.translation_of_draft`."""
    draft = session.drafts.get(identity)
    if not draft.goal or draft.purpose.startswith(PLAN_OF):
        return None
    approved = draft.status == "approved"
    program = session.program if approved else join_drafts(session.program, [draft]).program
    try:
        goal = check_goal(parse_goal(draft.goal, program.program), program)
    except ConstatError:
        # It was approved under other names, or what it reads has changed.
        return None
    reading = Reading(draft.purpose, goal, program, session.program)
    found = translate(reading, session.speech, session.project, required=False)
    if accept_goal:
        require_goal(reading, accept_goal, found)
    return found


def quarantine(
    session: Session, goal: str, rules: str, purpose: str, *, author: str, asked_by: str = ""
) -> Draft:
    """Check rules that another program's model wrote for a goal, and keep them as a draft.

    They pass the same boundary as what a model of the project writes. Raises `ConstatError` with
    what is wrong with them, or where nothing is left to keep.
    """
    proposal = Proposal(goal, rules)
    checked = check_proposal(proposal, ground_of(session), (purpose, goal))
    if checked.errors:
        raise ConstatError(checked.errors)
    if not checked.text:
        message = "the goal needs none of these rules, so there is nothing to keep"
        raise ConstatError([Diagnostic("C0882", message, help="prove the goal as it is")])
    kept_goal = one_line(goal, MOST_GOAL)
    new = NewDraft(checked.text, purpose, goal=kept_goal, model=author, asked_by=asked_by)
    return session.drafts.add(new)


def mistakes_of(session: Session, goal: str, rules: str) -> tuple[str, tuple[Diagnostic, ...], str]:
    """Hold rules that somebody writes against the project, as `quarantine` does; keep nothing.

    Gives the goal, what is wrong, and the rules that would be kept. Without a goal it is one about
    the predicate of the last rule.
    """
    diagnostics: list[Diagnostic] = []
    ground = ground_of(session)
    if not goal.strip():
        known = ground.program.program.predicates
        how = ground.setting.variables
        read = read_fragment(rules, diagnostics, variables=how, known=known)
        if read is None or not read.program.rules:
            return "", tuple(diagnostics), ""
        head = read.program.rules[-1].head
        goal = f"{head.predicate}({', '.join(f'?v{n}' for n in range(len(head.terms)))})"
    checked = check_proposal(Proposal(goal, rules), ground, (rules, goal))
    return goal, checked.diagnostics, checked.text


def prove_draft(session: Session, identity: str, observe: Observer | None) -> Result:
    """Prove the goal of a draft's question anew; see `Asking.prove_draft`."""
    draft = session.drafts.get(identity)
    if not draft.goal:
        message = f"the draft {draft.short} was written for no goal"
        hint = "name one: `constat prove GOAL --draft ID`"
        raise ConstatError([Diagnostic("C0882", message, help=hint)])
    with session.with_drafts([draft.identity]) as other:
        result = other.prove(draft.goal, observe=observe)
    translation = translation_of_draft(session, draft.identity)
    return result if translation is None else result.translated(translation)


def _goal(drafted: Drafted) -> Atom:
    goal = drafted.checked.goal
    if goal is None:
        raise TypeError("a proposal that passed has a goal")
    return goal


def exchange_of(transcript: Transcript, listed: Listed | None, *, values: bool) -> Exchange:
    """Give what was exchanged about a question; `listed` are answers that may be told.

    Without `values` neither the verdict is in it nor messages of errors, which may quote cells.
    """
    looked_up = [one for one in transcript.entries if one["kind"] == "lookup"]
    done = [
        Done(one["call"]["name"], one["call"]["arguments"] or {}, one["text"], one["failed"])
        for one in looked_up
    ]
    outcome = transcript.outcome
    if "goal" in outcome:
        given = verdict_json(outcome["verdict"], values=values)
        if listed is not None:
            rows = [row for row, _ in listed.rows[:MOST_ROWS]]
            given = result_json(outcome["verdict"], listed.columns, rows)
        done.append(Done(PROVE, {"goal": outcome["goal"]}, given))
    else:
        told = outcome.get("error")
        if not values and isinstance(told, list):
            told = [{"code": one["code"]} for one in told]
        done.append(Done(PROVE, {}, json.dumps({"error": told}), failed=True))
    return Exchange(transcript.question, tuple(done))


def keep_record(records: Transcripts, transcript: Transcript) -> None:
    """Have the transcript as it is now on the disk."""
    records.keep(transcript.as_json())


def model_for(session: Session, task: Task, left: Callable[[], float] | None = None) -> Client:
    """Give the model of a task, with the seconds that it may take, where something bounds them.

    Raises `ConstatError` where the project has none.
    """
    try:
        return session.models.client(task, left)
    except ModelError as problem:
        hint = "name one under `models:` in constat.yaml; `constat models` lists them"
        raise ConstatError([Diagnostic(problem.code, str(problem), help=hint)]) from None


def ground_of(session: Session, plannable: frozenset[str] = frozenset()) -> Ground:
    """Give what proposals about a session's project are held against."""
    project = session.project
    return Ground(
        program=session.program,
        databases=tuple(project.databases),
        setting=project.authoring,
        check_query=lambda predicate: _query_mistakes(project, predicate),
        plannable=plannable,
        rejected={
            one.text: one.decision.reason for one in session.drafts.list("rejected") if one.decision
        },
    )


def draft_context(
    session: Session, ground: Ground, task: Task, client: Client | None = None
) -> DraftContext:
    """Give what drafting works with: the model of a task, and what it may look up.

    A model that cannot call tools is told all tables at once. What it looks up are schemas: values
    only where the project lets samples or facts be shown.
    """
    setting = session.project.models.of(task.value)
    tools = session.discovery(facts=session.project.authoring.facts)
    told = PromptBuilder(tools).build_prompt("" if setting is None else setting.model)
    return DraftContext(
        ground,
        client or model_for(session, task),
        tools.needed() if told.use_tools else (),
        told.text,
        task=task,
    )


def _query_mistakes(project: Project, predicate: Predicate) -> list[Diagnostic]:
    """Prepare a drafted query at its source; nothing of it is run."""
    name = "" if predicate.source is None else predicate.source.name
    try:
        connection = open_connection(project.databases[name], project.folder, _OPENING_SECONDS)
    except SourceFailureError as problem:
        return [refused(predicate, f"the source does not answer: {problem.reason}", "")]
    try:
        connection.begin()
        return check_query(predicate, connection, project.authoring.query_rows)
    except SourceFailureError as problem:
        return [refused(predicate, f"the source does not answer: {problem.reason}", "")]
    finally:
        connection.close()


def _listed(answers: Answers) -> Listed:
    """Take the first rows over: the session that has them ends with the question."""
    kinds = [column.kind for column in answers.columns]
    rows = tuple(
        (tuple(display_value(v, k) for v, k in zip(row.values, kinds, strict=True)), row.verdict)
        for row in answers.rows[:_MOST_LISTED]
    )
    names = tuple(column.name for column in answers.columns)
    return Listed(names, rows, len(answers), answers.settled)


def _told_alone() -> Diagnostic:
    message = "the question was read alone: the tape has no reply that goes on from earlier ones"
    hint = "record the conversation as a whole, or ask a model"
    return Diagnostic("C0934", message, help=hint, severity=Severity.WARNING)


def _unapproved(draft: Draft) -> Diagnostic:
    message = "the answer needs rules that nobody has approved"
    note = "they are kept as a draft; nothing was concluded from them"
    hint = f"look at them with `constat rules review {draft.short}`"
    return Diagnostic("C0871", message, note=note, help=hint, severity=Severity.WARNING)


_MOST_AT_ONCE: Final = 8
_SUB_MOST_REJECTED: Final = 3


Found = TypeVar("Found")


@frozen
class Planned(Generic[Found]):
    """What came of planning: the result, the drafts that joined, and what went wrong."""

    result: Found
    drafts: tuple[Draft, ...] = ()
    remarks: tuple[Diagnostic, ...] = ()


def _planned_session(
    planning: _Planning, limits: Limits, *, cache: bool, locale: str | None
) -> Session:
    # Plans have joined it: it plans nothing more, and leaves the log to the first.
    session = planning.session
    project = replace(session.project, log=LogSetting(), sub_plans=SubPlanSetting())
    return session.over(
        planning.joined(),
        cache=cache,
        locale=locale,
        project=project,
        models=session.models,
        limits=limits,
    )


def lacking(result: Result) -> tuple[str, ...]:
    """Name the predicates whose facts would decide a goal; none where it is decided."""
    open_goal = result.verdict is Verdict.UNRESOLVED
    return tuple(dict.fromkeys(name for name, _ in result.decision.missing)) if open_goal else ()


def lacking_rows(answers: Answers) -> tuple[str, ...]:
    """Name the predicates that leave the answers of a query open; none where they are settled."""
    is_open = answers.settled is Settled.OPEN
    return tuple(dict.fromkeys(one.predicate for one in answers.reasons)) if is_open else ()


def with_sub_plans(  # noqa: PLR0913  each option has a name
    session: Session,
    result: Found,
    ask: Callable[[Session], Found],
    lacks: Callable[[Found], tuple[str, ...]],
    limits: Limits,
    *,
    cache: bool = True,
    locale: str | None = None,
) -> Planned[Found]:
    """Plan what an answer lacks; `ask` asks the same again in another session.

    All of it, what a model writes as well, takes what is left of the question's `limits`.
    """
    setting = session.project.sub_plans
    check_plannable(session.program, setting.predicates)
    planning = _Planning(session, frozenset(setting.predicates), limits)
    with session.models.question():
        for _ in range(setting.depth):
            names = lacks(result) if limits.left > 0 else ()
            if not names or not list(planning.plan(names)):
                break
            with _planned_session(planning, limits, cache=cache, locale=locale) as other:
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

    def __init__(self, session: Session, allowed: frozenset[str], limits: Limits) -> None:
        self.session = session
        self.allowed = allowed
        self.limits = limits
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
                self.remarks += self.failed(name, problem)
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
        client = model_for(self.session, Task.SUB_PLAN, lambda: self.limits.left)
        context = replace(
            draft_context(self.session, replace(ground, must_derive=name), Task.SUB_PLAN, client),
            rejected=tuple(rejected[:_SUB_MOST_REJECTED]),
            keep=lambda: keep_record(records, transcript),
        )
        found = draft_for(question, context, transcript)
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
        return drafts_join_drafts(opened, drafts, amending=True)

    def failed(self, name: str, problem: ConstatError) -> Iterator[Diagnostic]:
        first = problem.diagnostics[0]
        message = f"no sub-plan for `{name}`: {first.message} [{first.code}]"
        late = self.limits.reached("seconds") + ", plans included"
        hint = first.help if self.limits.left > 0 else late
        yield Diagnostic("C0877", message, help=hint, severity=Severity.WARNING)
