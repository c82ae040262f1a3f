"""Explore: from a question to a plan, from a plan to an answer, and on to the next question."""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.answered import ExplorationState, Explored, StepAttempt, StepRecordView
from constat.explore.chain import Chain, compile_chain
from constat.explore.plan import LONGEST_QUESTION, Plan, Work, write_plan
from constat.explore.planning import Earlier, Planning, PlanningDesk, check_draft
from constat.explore.reading import read_plan
from constat.library.reviewing.confirmations import Confirmations
from constat.model import Task
from constat.session.confirmation import plan_reading, require_goal
from constat.session.conversing import (
    EXPLORE,
    MOST_ROWS,
    Conversation,
    Done,
    Exchange,
    tells_values,
    told_before,
    told_mistakes,
)
from constat.session.exploring_runs import Asked, Runs, kept_certificate
from constat.session.plan_approvals import Around, ModelAccess, PlanApprovals, Wish, check_sources
from constat.store.explored import ANSWERED, NewQuestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.explore.events import Telling
    from constat.explore.plan import Step
    from constat.project import Project
    from constat.proof.translation import Translation
    from constat.session.bench import Bench
    from constat.store.explored import Exploration, Question
    from constat.store.table_values import StoredTable
    from constat.store.tables import DataStore


def conversation_of(project: Project, exploration: str) -> Conversation:
    """Give the conversation of an exploration."""
    return Conversation(project, f"exploration-{exploration}")


def exchange_of(explored: Explored, *, values: bool) -> Exchange:
    """Give what was exchanged about an answered question; `values` are told only where wanted."""
    relation = explored.relation
    given: dict[str, object] = {"settled": explored.settlement.value}
    if values:
        given["rows in all"] = len(explored.rows)
        given["assumptions"] = [one.text for one in explored.assumptions]
        cells = explored.cells()[:MOST_ROWS]
        given["rows"] = [dict(zip(relation.names, one, strict=True)) for one in cells]
        if not explored.narrated:
            given["sentence"] = explored.sentence
    said = explored.sentence if values and explored.narrated else ""
    asked = {"answer": relation.output.name, "steps": [one.name for one in explored.plan.steps]}
    return Exchange(explored.question, (_done(asked, given),), said)


def failed_exchange(asked: Asked, problem: ConstatError, *, values: bool) -> Exchange:
    """Give what was exchanged about a question whose steps came to no answer."""
    told = {"error": told_mistakes(problem.diagnostics, values=values)}
    return Exchange(asked.text, (_done({"answer": asked.plan.answer}, told, failed=True),))


def _done(
    asked: Mapping[str, object], given: Mapping[str, object], *, failed: bool = False
) -> Done:
    return Done(EXPLORE, asked, json.dumps(given, ensure_ascii=False), failed)


_MOST_TITLE: Final = 200
_MOST_NOTES: Final = 100


class Exploring:
    """Explores on behalf of a session, whose parts `bench` gives."""

    def __init__(self, session: Around, bench: Bench, tell: Telling) -> None:
        self._session = session
        self._bench = bench
        self.project = self._project = session.project
        self._models = ModelAccess(session, tell)
        self._runs = Runs(bench, self._models, tell)
        self.store = self._runs.store

    def solve(self, question: str, wish: Wish) -> Explored:
        """Answer a question. Raises `ConstatError`."""
        text = _checked(question or (wish.plan.question if wish.plan else ""))
        asks = wish.plan is None or wish.mend or wish.plan.author
        with self._question() if asks and wish.client is None else nullcontext():
            return self._solve(text, wish)

    def _question(self) -> AbstractContextManager[object]:
        """Let all that models are asked meanwhile share the budget of one question."""
        return self._session.models.question()

    def _solve(self, text: str, wish: Wish) -> Explored:
        started = time.monotonic()
        before = None if wish.exploration is None else self.store.get(wish.exploration)
        today = self._today(wish, before)
        earlier = self._earlier(before)
        if before is not None and wish.plan is None:
            earlier = replace(earlier, said=self._said(before, text))
        plan, chain = self._planned(text, wish, earlier, today)
        held = False
        if wish.review is not None:
            reviewed = wish.review(plan, chain)
            held = reviewed is None
            if reviewed is not None and reviewed != plan:
                plan, chain = reviewed, self._compiled(reviewed, earlier)
        exploration = before or self.store.begin(text[:_MOST_TITLE])
        first = len(earlier.steps) + 1
        new = NewQuestion(text, first, today.isoformat(), write_plan(plan), wish.by)
        number = self.store.ask(exploration.identity, new)
        if held:
            raise _waiting(exploration.identity)
        asked = Asked(
            *(exploration.identity, number, text, today, plan, chain, first), earlier.authors
        )
        return self._run(asked, wish, started)

    def _run(self, asked: Asked, wish: Wish, started: float) -> Explored:
        """Run a question, and have what became of it in the exploration's conversation."""
        if wish.require_approved:
            drafters = asked.drafters(asked.plan.author)
            approvals = PlanApprovals(self._project)
            approvals.require(asked.chain, asked.plan, drafters, asked.exploration)
        if wish.accept_goal:
            self._accept(asked, wish)
        conversation = conversation_of(self._project, asked.exploration)
        try:
            explored = self._runs.run(asked, wish, started)
        except ConstatError as problem:
            told = failed_exchange(asked, problem, values=conversation.tells_values)
            conversation.keep(told)
            raise
        exchange = exchange_of(explored, values=conversation.tells_values)
        unkept = tuple(one.message for one in conversation.keep(exchange))
        return replace(explored, notes=(*explored.notes, *unkept))

    def _accept(self, asked: Asked, wish: Wish) -> None:
        """Keep that the plan's answer is what was asked. Raises `ConstatError` for another one."""
        found = self._runs.translation(asked)
        require_goal(plan_reading(asked.text, asked.plan, asked.chain), wish.accept_goal, found)
        if not found.confirmed:
            Confirmations(self._project.state).confirm(found, wish.by)

    def translation(self, prefix: str) -> Translation:
        """Say what the answer of an exploration's last question is, and who confirmed it."""
        found = self.store.get(prefix)
        if not found.questions:
            raise _waiting(found.identity)
        return self._runs.translation(self._again(found, found.questions[-1]))

    def _said(self, before: Exploration, question: str) -> str:
        """Tell what was said in an exploration so far; empty where nothing is known of it."""
        said = conversation_of(self._project, before.identity).before(question).text
        return told_before(said) if said else ""

    def resume(self, prefix: str, wish: Wish) -> Explored:
        """Go on with an exploration where it ended: its first question that has no answer yet.

        Where all have, the last is answered again; steps whose inputs have not changed are kept.
        """
        found = self.store.get(prefix)
        if not found.questions:
            raise _waiting(found.identity)
        waiting = (one for one in found.questions if one.status != ANSWERED)
        question = next(waiting, found.questions[-1])
        asked = self._again(found, question)
        asks = wish.mend or asked.plan.author
        with self._question() if asks and wish.client is None else nullcontext():
            return self._run(asked, wish, time.monotonic())

    def _again(self, exploration: Exploration, question: Question) -> Asked:
        upto = [one for one in exploration.questions if one.number < question.number]
        earlier = self._earlier(replace(exploration, questions=tuple(upto)))
        plan = _plan_of(question)
        chain = self._compiled(plan, earlier)
        first = len(earlier.steps) + 1
        day = date.fromisoformat(question.today)
        return Asked(
            *(exploration.identity, question.number, question.text, day, plan, chain, first),
            earlier.authors,
        )

    def state(self, prefix: str) -> ExplorationState:
        """Tell what an exploration holds now."""
        found = self.store.get(prefix)
        store = self._runs.tables(found.identity)
        tables = tuple(map(_table_json, store.tables()))
        return ExplorationState(
            found.identity,
            found.title,
            found.questions[0].today if found.questions else "",
            tuple((one.number, one.text, one.status) for one in found.questions),
            tables,
            dict(store.state()),
            tuple(one.text for one in store.notes()),
        )

    def certificate(self, prefix: str, question: int = 0) -> bytes:
        """Give the certificate kept with an answer; without a number, of the last question."""
        found = self.store.get(prefix)
        number = question or len(found.questions)
        kept = kept_certificate(self._runs.tables(found.identity), number)
        if not kept:
            message = f"no certificate is kept of question {number} of exploration {found.identity}"
            hint = f"`constat resume {found.identity} --certificate FILE` proves the last answer"
            raise ConstatError([Diagnostic("C0951", message, help=hint)])
        return kept

    def step(self, prefix: str, number: int) -> StepRecordView:
        """Give what is kept of a step: each try with its text, output and error."""
        found = self.store.get(prefix)
        steps = [(one, step) for one in found.questions for step in _plan_of(one).steps]
        if not 0 < number <= len(steps):
            message = f"exploration {found.identity} has no step {number}"
            hint = f"its steps are numbered from 1 to {len(steps)}"
            raise ConstatError([Diagnostic("C0899", message, help=hint)])
        question, step = steps[number - 1]
        store = self._runs.tables(found.identity)
        tables = {one.name: one for one in store.tables() if one.step == number}
        names = [one.name for one in step.outputs]
        return StepRecordView(
            *(number, step.name, step.goal, step.work.value, question.number, step.source),
            *(step.inputs, tuple(one.declaration for one in step.outputs)),
            _attempts(store, number, step),
            tuple(_table_json(tables[name]) for name in names if name in tables),
        )

    def chain_of(self, prefix: str) -> tuple[Exploration, Plan, Chain]:
        """Give the plan of the last question of an exploration, compiled with what it rests on."""
        found = self.store.get(prefix)
        if not found.questions:
            raise _waiting(found.identity)
        asked = self._again(found, found.questions[-1])
        return found, asked.plan, asked.chain

    def edit(self, prefix: str, plan: Plan) -> tuple[Exploration, Chain]:
        """Put another plan in the place of that of the last question; `resume` runs it."""
        found, old, _ = self.chain_of(prefix)
        question = found.questions[-1]
        upto = replace(found, questions=found.questions[:-1])
        taken = replace(plan, question=plan.question or old.question)
        chain = self._compiled(taken, self._earlier(upto))
        self.store.plan(found.identity, question.number, write_plan(taken), "edited")
        return found, chain

    def check(self, plan: Plan) -> Chain:
        """Compile a plan over the project, without keeping anything. Raises `ConstatError`."""
        return self._compiled(plan, Earlier())

    def _planned(self, text: str, wish: Wish, earlier: Earlier, today: date) -> tuple[Plan, Chain]:
        if wish.plan is not None:
            plan = replace(wish.plan, question=text)
            return plan, self._compiled(plan, earlier)
        self._models.begin(0, "plan")
        planned = Planning(self._desk(wish, earlier, today)).plan(text)
        self._models.end()
        return planned.plan, planned.chain

    def _desk(self, wish: Wish, earlier: Earlier, today: date) -> PlanningDesk:
        from constat.authoring.prompts import PromptBuilder  # noqa: PLC0415  loaded when it is used

        setting = self._project.models.of(Task.PLAN.value)
        tools = self._session.discovery()
        told = PromptBuilder(tools).build_prompt("" if setting is None else setting.model)
        return PlanningDesk(
            program=self._session.program,
            client=self._models.client(wish, Task.PLAN),
            today=today.isoformat(),
            sources=told.text,
            context=self._project.authoring.context,
            lookups=tools.tools() if told.use_tools else (),
            earlier=earlier,
            python=self._project.explore.python,
            rounds=self._project.authoring.rounds,
            most_lookups=self._project.authoring.lookups,
            check=self._check,
            values=self._project.authoring.facts,
        )

    def _compiled(self, plan: Plan, earlier: Earlier) -> Chain:
        steps = (*earlier.steps, *plan.steps)
        chain = compile_chain(self._session.program, steps, texts=self._bench.texts)
        check_draft(chain, plan)
        self._check(chain, plan)
        return chain

    def _check(self, chain: Chain, plan: Plan) -> None:
        # A source that has changed since stands in the way of those only who need it.
        check_sources(self._project, chain, chain.below([plan.answer]))

    def _earlier(self, exploration: Exploration | None) -> Earlier:
        if exploration is None:
            return Earlier()
        plans = [_plan_of(one) for one in exploration.questions]
        told = plans and tells_values(self._project, self._session.program)
        notes = self._runs.tables(exploration.identity).notes() if told else ()
        return Earlier(
            tuple(step for plan in plans for step in plan.steps),
            tuple(plan.author for plan in plans for _ in plan.steps),
            tuple(one.text for one in exploration.questions),
            tuple(one.text for one in notes[-_MOST_NOTES:]),
        )

    @staticmethod
    def _today(wish: Wish, before: Exploration | None) -> date:
        """Give the day that counts: the exploration's own, the wished one, or that of the clock."""
        if before is not None and before.questions:
            return date.fromisoformat(before.questions[0].today)
        if not wish.today:
            return date.today()  # noqa: DTZ011  the day of the person who asks
        try:
            return date.fromisoformat(wish.today)
        except ValueError:
            message = "the day that counts as today is none of the calendar"
            hint = "write it as `2025-11-21`"
            raise ConstatError([Diagnostic("C0902", message, help=hint)]) from None


def _table_json(one: StoredTable) -> dict[str, object]:
    return {
        "name": one.name,
        "step": one.step,
        "version": one.version,
        "rows": one.rows,
        "columns": [list(column) for column in one.columns],
        "sha256": one.sha256,
        "at": one.at,
    }


def _attempts(store: DataStore, number: int, step: Step) -> tuple[StepAttempt, ...]:
    """Gather what each try of a step left; it begins with the text that ran."""
    work = "query" if step.work is Work.SQL else "code"
    found: list[StepAttempt] = []
    for one in store.artifacts(step=number):
        if one.kind not in {"code", "query", "output", "error"}:
            continue
        text = store.content(one).decode("utf-8", "replace")
        if one.kind == work and one.name == step.name:
            found.append(StepAttempt(one.attempt, text, ended=one.at))
        elif found and one.kind == "query":
            found[-1] = replace(found[-1], queries=(*found[-1].queries, f"{one.name}: {text}"))
        elif found and one.kind == "output":
            found[-1] = replace(found[-1], output=text)
        elif found and one.kind == "error":
            found[-1] = replace(found[-1], error=text)
    return tuple(found)


def _plan_of(question: Question) -> Plan:
    return read_plan(question.plan.encode(), f"<plan of question {question.number}>")


def _checked(question: str) -> str:
    text = " ".join(question.split())
    problem = ""
    if not text:
        problem = "the question is empty"
    elif len(text) > LONGEST_QUESTION:
        problem = f"the question is longer than {LONGEST_QUESTION:,} characters"
    elif not text.isprintable():
        problem = "the question holds control characters"
    if problem:
        hint = 'write a sentence: `constat solve "What are the top 5 customers by revenue?"`'
        raise ConstatError([Diagnostic("C0898", problem, help=hint)])
    return text


def _waiting(identity: str) -> ConstatError:
    hint = f"`constat plan show {identity}` prints it, `constat resume {identity}` runs it"
    message = f"nothing was run: the plan is kept in exploration {identity}"
    return ConstatError([Diagnostic("C0901", message, help=hint)], exit_code=4)
