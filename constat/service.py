"""What other programs ask of a project, the same behind every face: small answers as JSON values.

In: texts and numbers from outside. Out: objects of texts, numbers and lists, each bounded; what
does not fit is named by a reference that can be read on. Invariants: nothing here approves a rule
or confirms a goal; facts are kept only in the name of a person who has said yes; a mistake is an
`error` with code, place, note and help, and no text of an exception that nobody foresaw leaves.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import importlib
import json
import math
import re
import secrets
import threading
import time
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self, TypeVar

from constat.apis.transport import ApiError, Asking, Transport
from constat.diagnostics import ConstatError, Diagnostic, counted, nearest
from constat.diagnostics.diagnostic import to_json
from constat.evaluation import CallFinished, ModelAwaited, StageFinished, Verdict
from constat.explore.events import Generating, PlanReady, StepFailed, StepFinished, StepStarted
from constat.frozen import frozen
from constat.library.listing import list_rules, proposals, unfinished
from constat.logic import NullCell, display_value
from constat.project import find_project, load_project
from constat.project.apis import ApiSetting
from constat.project.loading import is_private_line
from constat.project.settings import ROLES, sight_of
from constat.session import AsyncSession, LogAs
from constat.session.answers import Settled
from constat.session.drafted import told_of_drafts
from constat.tiers.rights import is_shown, may_meet_hidden

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from types import TracebackType

    from jwt import PyJWK

    from constat.diagnostics.diagnostic import JsonObject
    from constat.evaluation import Event, Observer
    from constat.explore.answered import Explored
    from constat.explore.events import ExploreEvent, ExploreObserver
    from constat.library.listing import ListedPredicate
    from constat.memory import Memory
    from constat.project import Project
    from constat.project.settings import LoginSetting, Sight
    from constat.proof.tree import Step
    from constat.session import Answers, Result, Session
    from constat.session.answers import AnswerColumn, AnswerRow
    from constat.session.drafted import FactsOfText
    from constat.session.reviewing import Decided
    from constat.store.facts import StoredFact

Found = TypeVar("Found")

MOST_ROWS: Final = 1_000
ROWS: Final = 50
_CHARACTERS: Final = 6_000
_TEXT: Final = 400
_LISTED: Final = 20
_MOST_REASONED: Final = 200
_REFERENCES: Final = 200
_LARGEST: Final = 32 << 20
_PAGED: Final = 16
_MOST_PAGED: Final = 2_000_000
_PIECE: Final = 1 << 16
_MOST_VIEWS: Final = 64
_CERTIFICATE: Final = "certificate"
_TEXT_OF: Final = "text"
UNSEEN: Final = "C0594"
"""The code of what a role may not see."""


class Refused(Exception):  # noqa: N818  it is an answer
    """What a question is answered with that cannot be answered; `answer` is a JSON value."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.answer: JsonObject = {"error": to_json(diagnostics[:_LISTED])}
        lines = (_line(one) for one in diagnostics[:_LISTED])
        super().__init__("\n".join(lines))


def _project_of(project: Path | str | None) -> Project:
    try:
        return load_project(find_project(None if project is None else Path(project)))
    except ConstatError as problem:
        raise Refused(problem.diagnostics) from None


def _line(one: Diagnostic) -> str:
    parts = (f" at {one.span}" if one.span else "", f"; {one.note}" if one.note else "")
    return f"{one.code}{parts[0]}: {one.message}{parts[1]}" + (
        f"; help: {one.help}" if one.help else ""
    )


class References:
    """Texts that are too long for an answer, and certificates, by names; the oldest go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str] = OrderedDict()

    def keep(self, kind: str, content: str, name: str = "") -> str:
        """Keep a text; gives its name."""
        reference = f"{kind}/{name or hashlib.sha256(content.encode()).hexdigest()[:16]}"
        self._kept[reference] = content
        self._kept.move_to_end(reference)
        while len(self._kept) > _REFERENCES or sum(map(len, self._kept.values())) > _LARGEST:
            self._kept.popitem(last=False)
            if not self._kept:
                break
        return reference

    def get(self, reference: str) -> str | None:
        """Give a text by its name; nothing where it is not kept."""
        return self._kept.get(reference)

    def read(self, reference: str) -> str:
        """Give a text by its name; raises `Refused`."""
        if reference not in self._kept:
            hint = "ask again for what it was part of"
            raise Refused([Diagnostic("C0401", "there is no such reference any more", help=hint)])
        return self._kept[reference]


class Pages:
    """Answers of which more rows may be asked for, by names; the oldest go first."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._kept: OrderedDict[str, Answers] = OrderedDict()

    def keep(self, answers: Answers) -> str:
        """Keep answers; gives their name, which nobody guesses, with the mark before it."""
        name = f"{self._mark}{secrets.token_urlsafe(16)}"
        self._kept[name] = answers
        while len(self._kept) > _PAGED or sum(map(len, self._kept.values())) > _MOST_PAGED:
            self._kept.popitem(last=False)
            if not self._kept:
                break
        return name

    def find(self, name: str) -> Answers:
        """Give answers by their name; raises `Refused`."""
        if name not in self._kept:
            hint = "ask the query again"
            raise Refused([Diagnostic("C0401", "there is no such cursor any more", help=hint)])
        return self._kept[name]


class Service:
    """Answers for one project. `by` is the person on whose behalf programs ask.

    With a `sight` it answers with what that caller may see, and keeps its references to itself;
    what reaches beyond that is refused. A `mark` stands before the names of cursors.
    """

    def __init__(
        self,
        project: Path | str | None = None,
        *,
        by: str = "",
        sight: Sight | None = None,
        mark: str = "",
    ) -> None:
        self.by = by
        self._mark = mark
        self._project = project
        self._sight = sight
        self._session = AsyncSession(project, sight=sight)
        self._references = References()
        self._pages = Pages(mark)
        self._read: Project | None = None
        self._views: OrderedDict[Sight, Service] = OrderedDict()
        self._running = 0
        self._closed = False

    async def as_seen(self, role: str, caller: str) -> Service:
        """Give the service for a caller: this one where the project lets them see everything.

        Rights are read once. Raises `Refused` where the configuration has mistakes. Of the services
        for callers 64 are kept; those that are idle longest are closed first.
        """
        if self._read is None:
            self._read = await asyncio.to_thread(_project_of, self._project)
        sight = sight_of(self._read, role, caller)
        if sight is None:
            return self
        if sight not in self._views:
            told: Any = {"by": self.by, "sight": sight, "mark": self._mark}
            self._views[sight] = Service(self._project, **told)
        self._views.move_to_end(sight)
        found = self._views[sight]
        idle = [one for one, view in self._views.items() if not view._running]  # noqa: SLF001  of this class
        for one in idle[: max(0, len(self._views) - _MOST_VIEWS)]:
            if one != sight:
                await self._views.pop(one).close()
        return found

    @property
    def sees_all(self) -> bool:
        """Whether nothing is hidden from who asks here."""
        return self._sight is None

    def _needs_all(self) -> None:
        """Raise `Refused` where not everything may be seen, and more would be shown."""
        if self._sight is not None:
            message = f"this shows more than the role {self._sight.role} may see"
            hint = "ask somebody whose role has `all` in `rights:`"
            raise Refused([Diagnostic(UNSEEN, message, help=hint)])

    async def run(self, work: Callable[[Session], Found]) -> Found:
        """Do something with the session, by the rules as they are now; a mistake is `Refused`."""

        def by_present_rules(session: Session) -> Found:
            if session.rules_changed():
                session.reload_rules()
            try:
                return work(session)
            except ConstatError as problem:
                # Who may not see everything is shown no draft.
                drafts = session.drafts.list if self._sight is None else None
                raise told_of_drafts(problem, drafts) from None

        if self._closed:
            hint = "ask again"
            raise Refused([Diagnostic("C0401", "what was kept for this is gone", help=hint)])
        self._running += 1
        try:
            return await self._session.run(by_present_rules)
        except ConstatError as problem:
            raise Refused(problem.diagnostics) from None
        finally:
            self._running -= 1

    async def close(self) -> None:
        """Close everything."""
        self._closed = True
        for one in self._views.values():
            await one.close()
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # Questions.

    async def prove(
        self, goal: str, *, by: str = "", observe: Observer | None = None
    ) -> JsonObject:
        """Prove or disprove a goal; certificate and log name who asks, where that is told."""
        log = LogAs(by=by, asked=False) if by else None
        return await self.run(lambda one: self._result(one.prove(goal, observe=observe, log=log)))

    async def why(self, goal: str, *, by: str = "", observe: Observer | None = None) -> JsonObject:
        """Prove or disprove a goal, with the steps of its proof one by one.

        A step names those it rests on (`premises`) by their places; `roots` prove the goal.
        """
        log = LogAs(by=by, asked=False) if by else None

        def work(session: Session) -> JsonObject:
            result = session.prove(goal, observe=observe, log=log)
            tree = result.tree
            steps = [_step(one) for one in tree.steps[:MOST_ROWS]]
            left = len(tree.steps) - len(steps)
            told = {"steps": steps, "steps_left": left, "roots": list(tree.roots)}
            return {**self._result(result), **told}

        return await self.run(work)

    async def ask(
        self,
        question: str,
        *,
        by: str = "",
        accept_goal: str = "",
        require_approved: bool = False,
        observe: Observer | None = None,
    ) -> JsonObject:
        """Answer a question in words, as a model of the project reads it.

        `accept_goal` is the goal that the caller stands for; see `Session.ask`.
        """
        self._needs_all()
        how: Any = {"accept_goal": accept_goal, "require_approved": require_approved}

        def work(session: Session) -> JsonObject:
            found = session.ask(question, by=by or self.by, observe=observe, **how)
            listed = None if found.listed is None else asdict(found.listed)
            draft = None if found.draft is None else found.draft.short
            return {
                "question": question,
                "goal": found.goal,
                "confirmed": found.translation.status.value,
                "draft": draft,
                "rules": list(found.drafted[:_LISTED]),
                "answers": listed and {"columns": listed["columns"], "total": listed["total"]},
                **self._result(found.result),
                "exit_code": found.exit_code,
            }

        return await self.run(work)

    async def solve(  # noqa: PLR0913  each option has a name
        self,
        question: str,
        *,
        exploration: str | None = None,
        today: str = "",
        by: str = "",
        accept_goal: str = "",
        require_approved: bool = False,
        check: str | None = None,
        observe: ExploreObserver | None = None,
    ) -> JsonObject:
        """Answer an exploratory question by steps that a model plans.

        With an `exploration`, its id or an empty text for the latest, the question goes on from it;
        `today` is the day of a new one. `check` is as with `query`, for what steps compute in bulk.
        """
        self._needs_all()
        how: Any = {"by": by or self.by, "accept_goal": accept_goal, "check": check}
        how |= {"require_approved": require_approved, "observe": observe}

        def work(session: Session) -> JsonObject:
            if exploration is None:
                return self._explored(session.solve(question, today=today, **how))
            return self._explored(session.follow_up(question, exploration=exploration, **how))

        return await self.run(work)

    async def history(self, *, start: int = 0, most: int = ROWS) -> JsonObject:
        """List explorations with their questions, the latest first."""
        self._needs_all()

        def work(session: Session) -> JsonObject:
            found = session.history[::-1]
            part = found[start : start + max(1, min(most, MOST_ROWS))]
            listed = [
                {
                    "exploration": one.identity,
                    "title": one.title[:_TEXT],
                    "began": one.began,
                    "questions": [each.text[:_TEXT] for each in one.questions[:_LISTED]],
                }
                for one in part
            ]
            left = max(0, len(found) - start - len(part))
            return {"explorations": listed, "explorations_left": left}

        return await self.run(work)

    async def query(
        self,
        query: str,
        *,
        start: int = 0,
        most: int = ROWS,
        check: str | None = None,
        observe: Observer | None = None,
    ) -> JsonObject:
        """Find all answers of a goal with variables; gives at most `most` rows from `start`.

        What is given out cannot be taken back, so it waits for the check unless that is `off`.
        """

        def work(session: Session) -> JsonObject:
            answers = session.query(query, check=check, observe=observe).checked()
            return self._page(answers, self._pages.keep(answers), start, most)

        return await self.run(work)

    async def more(self, cursor: str, *, most: int = ROWS) -> JsonObject:
        """Give the rows after those of a page, of the very same answers."""
        name, _, start = cursor.rpartition(".")
        answers = self._pages.find(name)
        first = int(start) if start.isascii() and start.isdigit() else 0
        return await self.run(lambda _: self._page(answers, name, first, most))

    @staticmethod
    def _page(answers: Answers, name: str, start: int, most: int) -> JsonObject:
        first = max(0, start)
        rows = answers.rows[first : first + max(1, min(most, MOST_ROWS))]
        left = max(0, len(answers) - first - len(rows))
        return {
            **_answers(answers),
            "start": first,
            "rows": [_row(answers.columns, row) for row in rows],
            "rows_left": left,
            "cursor": f"{name}.{first + len(rows)}" if left else None,
        }

    async def everybody(
        self,
        query: str,
        *,
        among: str = "",
        start: int = 0,
        most: int = ROWS,
        reasons: bool = False,
    ) -> JsonObject:
        """List for whom a goal holds; with `among`, a goal too, also those for whom it does not.

        Who is no answer is disproved where all answers are known; else their goal is proved, for so
        many as a page has. With `reasons` each row of a page of at most 200 has its own: by which
        rule the goal holds, or at which condition each rule stops.
        """

        def work(session: Session) -> JsonObject:
            size = max(1, min(most, _MOST_REASONED if reasons else MOST_ROWS))
            found = _everybody(session, query, among, max(0, start), size)
            rows: Any = found["rows"]
            for row in rows if reasons else ():
                row["reasons"] = _reasons(session, row["goals"])
            return found

        return await self.run(work)

    async def answers(self, query: str, *, check: str | None = None) -> Answers:
        """Find all answers, to be written whole; see `row_lines` and `arrow_of`."""
        return await self.run(lambda session: session.query(query, check=check).checked())

    async def row_lines(self, answers: Answers) -> AsyncIterator[bytes]:
        """Write answers as JSON lines, some rows at a time; others ask in between."""
        for first in range(0, len(answers), MOST_ROWS):
            yield await self.run(partial(_lines, answers, first))

    async def arrow_of(self, answers: Answers) -> AsyncIterator[bytes]:
        """Write answers as a stream of Arrow; raises `Refused` where its extra is lacking."""
        with TemporaryFile() as file:
            await self.run(lambda _: _write_arrow(answers, file))
            file.seek(0)
            while piece := file.read(_PIECE):
                yield piece

    async def why_not(self, goal: str, *, observe: Observer | None = None) -> JsonObject:
        """Say why a goal does not hold, and how far it is from that."""

        def work(session: Session) -> JsonObject:
            found = session.why_not(goal, observe=observe)
            return {**self._result(found.result), "why": self._bounded(found.to_text())}

        return await self.run(work)

    async def what_if(
        self,
        goal: str,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        settings: dict[str, str] | None = None,
        observe: Observer | None = None,
    ) -> JsonObject:
        """Answer a goal as if facts or values were others; nothing is kept."""

        def work(session: Session) -> JsonObject:
            how: dict[str, Any] = {"add": add, "remove": remove, "settings": settings}
            found = session.what_if(goal, observe=observe, **how)
            return {
                "before": found.before.verdict.value,
                "supposed": list(found.supposed[:_LISTED]),
                "without_effect": list(found.without_effect[:_LISTED]),
                "changes": [asdict(one) for one in found.changes[:_LISTED]],
                "changes_left": max(0, len(found.changes) - _LISTED) + found.uncompared,
                **self._result(found.after),
            }

        return await self.run(work)

    async def missing(
        self, goal: str, *, top: int = 3, observe: Observer | None = None
    ) -> JsonObject:
        """Find the cheapest sets of facts that would prove a goal."""

        def work(session: Session) -> JsonObject:
            found = session.missing_facts(goal, top=max(1, min(top, _LISTED)), observe=observe)
            sets = [
                {
                    "cost": f"{one.cost:f}",
                    "add": [asdict(fact) for fact in one.add],
                    "remove": list(one.remove),
                    "verdict": one.verdict.value,
                }
                for one in found.sets
            ]
            rest = {"sets": sets, "others_are_possible": not found.exhausted}
            candidates = list(found.candidates[:_LISTED])
            return {**self._result(found.result), **rest, "candidates": candidates}

        return await self.run(work)

    # Certificates.

    async def verify(self, certificate: str, *, sources: bool = False) -> JsonObject:
        """Check a certificate, given as text or by its reference; with `sources` its leaves too."""
        content = self._given(certificate).encode()
        if sources:
            # Whoever makes a certificate up would learn which rows there are.
            self._needs_all()

        def work(session: Session) -> JsonObject:
            report = session.verify(content)
            told: JsonObject = {
                "accepted": report.accepted,
                "verdict": report.verdict,
                "goal": report.goal,
                "reason": report.reason,
                "identity": report.identity,
                "notes": list(report.notes[:_LISTED]),
            }
            if sources and report.accepted:
                again = session.verify_source(content)
                told["leaves_exit_code"] = again.exit_code
                told["leaves"] = "changed" if again.drift else "unchanged"
                told["rules_changed"] = list(again.rules[:_LISTED])
            return told

        return await self.run(work)

    async def export(self, certificate: str, to: str, *, view: str = "") -> JsonObject:
        """Write a certificate, given as text or by its reference, in another format.

        With a `view` the values that it hides are in none of it, and cannot be opened later: their
        salts are kept nowhere. Formats that are no text come as base64.
        """
        content = self._given(certificate).encode()

        def work(_: Session) -> JsonObject:
            from constat.proof.formats import format_named, write_format  # noqa: PLC0415  loaded when it is used

            chosen = format_named(to)
            written = write_format(chosen, _accepted(content, view))
            told: JsonObject = {"format": chosen.name, "suffix": chosen.suffix}
            if len(written) > _LARGEST:
                raise ConstatError([Diagnostic("C0403", "the export is too long for an answer")])
            if chosen.binary:
                return {**told, "text": None, "base64": base64.b64encode(written).decode()}
            return {**told, "text": written.decode(), "base64": None}

        return await self.run(work)

    async def diff(self, before: str, *, after: str = "") -> JsonObject:
        """Tell what differs between two certificates, or without `after` between one and now."""
        first = self._given(before).encode()
        second = self._given(after).encode() if after.strip() else None

        def work(session: Session) -> JsonObject:
            found = session.diff(first, second)
            changes = [
                {
                    "number": number,
                    "kind": one.kind,
                    "subject": one.subject[:_TEXT],
                    "before": one.before and one.before[:_TEXT],
                    "after": one.after and one.after[:_TEXT],
                    "because": [place + 1 for place in one.because[:_LISTED]],
                }
                for number, one in enumerate(found.changes[:MOST_ROWS], 1)
            ]
            alone = [_short(asdict(one)) for one in found.unaligned[:MOST_ROWS]]
            return {
                "goal": found.goals[0],
                "same": found.is_empty,
                "changes": changes,
                "changes_left": len(found.changes) - len(changes),
                "unaligned": alone,
                "unaligned_left": len(found.unaligned) - len(alone),
            }

        return await self.run(work)

    def _given(self, certificate: str) -> str:
        given = certificate.strip()
        # Its last character is a new line, which is easily lost on the way.
        return self.read(given) if given.startswith(f"{_CERTIFICATE}/") else f"{given}\n"

    def read(self, reference: str) -> str:
        """Give a certificate or a long text by its reference; raises `Refused`."""
        return self._references.read(reference)

    def kept(self, reference: str) -> str | None:
        """Give what a reference names; nothing where that is not kept here."""
        return self._references.get(reference)

    def keep(self, reference: str, content: str) -> None:
        """Keep what another process of this server has made, by its name there."""
        kind, _, name = reference.partition("/")
        self._references.keep(kind, content, name)

    def read_on(self, reference: str, start: int = 0) -> JsonObject:
        """Read on in a text that was cut."""
        content = self.read(reference)
        first = max(0, start)
        part = content[first : first + _CHARACTERS]
        return {"text": part, "start": first, "left": max(0, len(content) - first - len(part))}

    # Facts and rules.

    async def told(
        self, text: str, facts: Sequence[str], *, keep: bool, goal: str = "", by: str = ""
    ) -> JsonObject:
        """Look for facts in the words that say them; with `keep` they are the person's from now on.

        Each fact has to stand in the words. The words are those of `by`.
        """
        self._needs_all()
        who = by or self.by

        def work(session: Session) -> JsonObject:
            found = session.provide_facts(text, author=who, goal=goal, atoms=facts)
            told: JsonObject = {**_told(found), "kept": keep}
            if not keep:
                return told
            shown = [session.facts.show(one) for one in found.keep()]
            conflicts = [text for one in shown for text in session.facts.conflicts(one)]
            return {**told, "by": who, "conflicts": conflicts[:_LISTED]}

        return await self.run(work)

    async def stated(self, predicate: str = "") -> JsonObject:
        """List the facts that people state."""

        def work(session: Session) -> JsonObject:
            found = [
                one for one in session.facts.list(predicate or None) if self._shows(session, one)
            ]
            listed = [_stated(session, one) for one in found[:MOST_ROWS]]
            return {"facts": listed, "facts_left": len(found) - len(listed)}

        return await self.run(work)

    async def state(self, fact: str, *, by: str, note: str = "") -> JsonObject:
        """Keep a fact that a person states."""

        def work(session: Session) -> JsonObject:
            self._check_shown(session, fact)
            self._check_key(session, fact)
            kept = session.facts.add(fact, author=by, note=note)
            # One that is not kept yet says nothing against anybody.
            conflicts = session.facts.conflicts(fact)
            return {**_stated(session, kept), "conflicts": list(conflicts[:_LISTED])}

        return await self.run(work)

    async def retract(self, fact: str, *, by: str, of_anybody: bool = False) -> JsonObject:
        """Take back a fact that this person stated, or with `of_anybody` whoever did."""

        def work(session: Session) -> JsonObject:
            self._check_shown(session, fact)
            found = session.facts.retract(fact, by=by, author=None if of_anybody else by)
            return {"retracted": [_stated(session, one) for one in found[:MOST_ROWS]]}

        return await self.run(work)

    def _shows(self, session: Session, fact: StoredFact) -> bool:
        """Tell whether a stated fact may be seen."""
        if self._sight is None:
            return True
        predicate = session.program.program.predicates.get(fact.predicate)
        return predicate is not None and is_shown(predicate, fact.row, self._sight)

    def _check_shown(self, session: Session, fact: str) -> None:
        """Raise `ConstatError` where a fact is about what may not be seen."""
        if self._sight is None:
            return
        name, row = session.facts.read(fact)
        if not is_shown(session.program.program.predicates[name], row, self._sight):
            message = f"the role {self._sight.role} may not see such a fact of {name}"
            raise ConstatError([Diagnostic(UNSEEN, message)])

    def _check_key(self, session: Session, fact: str) -> None:
        """Raise `ConstatError` where the key of a fact may be that of a row that is not seen."""
        if self._sight is None:
            return
        name, _ = session.facts.read(fact)
        if may_meet_hidden(session.program.program.predicates[name], self._sight):
            role = self._sight.role
            message = f"the role {role} may not see every row of {name}, so it states none"
            note = "whether a fact counts would tell whether a row of others has its key"
            raise ConstatError([Diagnostic(UNSEEN, message, note=note)])

    async def decisions(self, *, start: int = 0, most: int = ROWS) -> JsonObject:
        """List what the log of decisions holds, from an entry on."""
        self._needs_all()

        def work(session: Session) -> JsonObject:
            entries = [one.entry for one in session.decisions.records()]
            part = entries[start : start + max(1, min(most, MOST_ROWS))]
            listed = [
                {
                    "number": one.sequence,
                    "time": one.time,
                    "kind": one.kind,
                    "body": None if one.body is None else dict(one.body),
                }
                for one in part
            ]
            left = max(0, len(entries) - start - len(part))
            return {"entries": listed, "total": len(entries), "entries_left": left}

        return await self.run(work)

    async def rules(self, predicate: str = "", *, most: int = 100) -> JsonObject:
        """List predicates with their columns, and rules."""

        def work(session: Session) -> JsonObject:
            listing = list_rules(session.program).only(predicate=predicate)
            bound = max(1, min(most, MOST_ROWS))
            return {
                "predicates": [asdict(one) for one in listing.predicates[:bound]],
                "predicates_left": max(0, len(listing.predicates) - bound),
                "rules": [asdict(one) for one in listing.rules[:bound]],
                "rules_left": max(0, len(listing.rules) - bound),
            }

        return await self.run(work)

    async def complete(self, text: str, *, most: int = 12) -> JsonObject:
        """Say how a goal may go on after `text`: predicates whose name or words fit its last word.

        `call` is the predicate whose arguments are being written, `place` counts them from 0.
        """

        def work(session: Session) -> JsonObject:
            known = [one for one in list_rules(session.program).predicates if self._named(one)]
            word, called, place = unfinished(text)
            fits = [] if word is None else proposals(known, word)
            call = next((one for one in known if one.name == called), None)
            return {
                "word": word or "",
                "proposals": [_proposal(one) for one in fits[: max(1, min(most, MOST_ROWS))]],
                "proposals_left": max(0, len(fits) - most),
                "call": call and _proposal(call),
                "place": place,
            }

        return await self.run(work)

    async def settings(self) -> JsonObject:
        """List the single values of the configuration, which `what_if` may replace.

        What comes from a variable of the environment, and what a role may not see, is left out.
        """

        def work(session: Session) -> JsonObject:
            found = []
            for one in list_rules(session.program).predicates:
                table = session.project.facts.get(one.name)
                if table is None or table.form != "scalar" or not self._sees_whole(one.name):
                    continue
                (cell,) = table.rows[0].cells
                if cell.text is not None and not cell.variables and cell.parts is None:
                    kind = one.columns[0][1:]
                    told = {"name": one.name, "value": cell.text[:_TEXT], "type": kind[0]}
                    words = {"says": one.says[:_TEXT], "description": one.description[:_TEXT]}
                    found.append({**told, "kind": kind[1], **words})
            return {
                "settings": found[:MOST_ROWS],
                "settings_left": max(0, len(found) - MOST_ROWS),
            }

        return await self.run(work)

    def _sees_whole(self, name: str) -> bool:
        """Tell whether all of a relation may be seen."""
        found = None if self._sight is None else self._sight.of(name)
        return self._sight is None or (found is not None and found.everything)

    def _named(self, one: ListedPredicate) -> bool:
        """Tell whether anything of a predicate may be seen."""
        return self._sight is None or not one.external or self._sight.of(one.name) is not None

    async def rule_text(self, name: str) -> str:
        """Give a rule file by the name that listings use."""

        def work(session: Session) -> str:
            session.program  # noqa: B018  reads the rules
            if name not in session.texts:
                near = nearest(name, sorted(session.texts))
                hint = f"did you mean `{near}`?" if near else "list_rules names the files"
                raise ConstatError([Diagnostic("C0401", "there is no such file", help=hint)])
            return session.texts[name]

        return await self.run(work)

    async def draft(
        self, goal: str, rules: str, purpose: str, *, author: str, asked_by: str = ""
    ) -> JsonObject:
        """Put rules that a model wrote into the quarantine, and prove their goal under them.

        They count for nobody else before a person has approved them, which nothing here can do.
        """
        self._needs_all()
        who = asked_by or self.by

        def work(session: Session) -> JsonObject:
            from constat.session.asking_steps import quarantine  # noqa: PLC0415  loaded when it is used

            draft = quarantine(session, goal, rules, purpose, author=author, asked_by=who)
            found = self._result(session.prove_draft(draft.identity))
            review = f"constat rules review {draft.short}"
            return {"draft": draft.short, "status": draft.status, "review": review, **found}

        return await self.run(work)

    async def hand_in(self, goal: str, rules: str, purpose: str, *, by: str) -> JsonObject:
        """Put rules into the quarantine, and prove their goal under them; `by` handed them in.

        Nobody can see whether a model wrote them, so they count as one's until they are approved.
        """
        return await self.draft(goal, rules, purpose, author=f"handed in by {by}", asked_by=by)

    async def check(self, rules: str, goal: str = "") -> JsonObject:
        """Say what is wrong with rules that somebody writes; nothing is kept, and nothing proved.

        Without a goal they are held against one about the predicate of the last of them.
        """
        self._needs_all()

        def work(session: Session) -> JsonObject:
            from constat.session.asking_steps import mistakes_of  # noqa: PLC0415  loaded when it is used

            asked, found, text = mistakes_of(session, goal, rules)
            return {"mistakes": to_json(found[:_LISTED]), "goal": asked, "rules": text}

        return await self.run(work)

    # Reviews.

    async def drafts(self, *, status: str = "proposed") -> JsonObject:
        """List drafts, and rules that models wrote into files; without a status, all of them."""
        self._needs_all()

        def work(session: Session) -> JsonObject:
            found = session.reviews.items(status or None)
            listed = [one.to_json() for one in found[:MOST_ROWS]]
            return {"drafts": listed, "drafts_left": len(found) - len(listed)}

        return await self.run(work)

    async def review(self, name: str) -> JsonObject:
        """Say what a draft or a rule would change: the rule files, cases, the present answers."""
        self._needs_all()

        def work(session: Session) -> JsonObject:
            found = session.reviews.review(name)
            return {**found.to_json(), "shown": self._bounded("\n".join(found.to_lines()))}

        return await self.run(work)

    async def approve(
        self, name: str, *, by: str, reason: str, into: str = "", rule_id: str = ""
    ) -> JsonObject:
        """Let a draft or a proposed rule in, by the word of a person who did not ask for it.

        The configuration may ask for more; here four eyes are always two people.
        """
        self._needs_all()

        def work(session: Session) -> JsonObject:
            found = session.reviews.approve(
                name, by=by, reason=reason, into=into, rule_id=rule_id, four_eyes=True
            )
            return _decided(found)

        return await self._decided(work)

    async def _decided(self, work: Callable[[Session], JsonObject]) -> JsonObject:
        """Decide about rules, which all read anew from then on."""
        found = await self.run(work)
        for one in self._views.values():
            await one.run(lambda session: session.reload_rules())
        return found

    async def reject(self, name: str, *, by: str, reason: str) -> JsonObject:
        """Refuse a draft, or a rule of a model that was approved, with a reason."""
        self._needs_all()

        def work(session: Session) -> JsonObject:
            return _decided(session.reviews.reject(name, by=by, reason=reason))

        return await self._decided(work)

    # What sources hold.

    async def search(self, words: str) -> JsonObject:
        """Find tables, columns, predicates and rules by words."""
        self._needs_all()
        return await self.run(
            lambda one: {"found": self._bounded(one.discovery().search_tables(words))}
        )

    async def schema(self, table: str = "") -> JsonObject:
        """Describe a table, or list all of them."""
        self._needs_all()

        def work(session: Session) -> JsonObject:
            tools = session.discovery()
            text = tools.get_table_schema(table) if table else tools.list_tables()
            return {"schema": self._bounded(text)}

        return await self.run(work)

    # Memory.

    async def recall(self, session: str, *, about: str = "", words: str = "") -> JsonObject:
        """Give what matters of a conversation that is kept, or the places where words stand."""
        self._needs_all()

        def work(one: Session) -> JsonObject:
            from constat.session import remembering  # noqa: PLC0415  loaded when it is used

            folder = one.project.state
            if not session:
                return {"sessions": list(remembering.sessions(folder)[:MOST_ROWS])}
            with _remembered(one, session) as memory:
                if words:
                    found = memory.search(words, _LISTED)
                    return {"found": [_short(asdict(each)) for each in found]}
                view = memory.view(one.project.memory.tokens, about)
                return {
                    "text": self._bounded(view.text),
                    "passed_over": view.passed_over,
                    "left_out": view.left_out,
                }

        return await self.run(work)

    async def place(self, session: str, place: str) -> JsonObject:
        """Give what was said at a place (`m3`, `m3[12:58]`)."""
        self._needs_all()

        def work(one: Session) -> JsonObject:
            with _remembered(one, session) as memory:
                text = memory.open(place).decode("utf-8", "backslashreplace")
                return {"text": self._bounded(text)}

        return await self.run(work)

    async def why_in_sight(self, session: str, place: str, *, about: str = "") -> JsonObject:
        """Prove why what is said at a place is in sight, or why it is not."""
        self._needs_all()

        def work(one: Session) -> JsonObject:
            from constat.session import remembering  # noqa: PLC0415  loaded when it is used

            with _remembered(one, session) as memory:
                proofs = remembering.proved(memory, place, about)
            why = [
                {
                    "goal": found.proof.goal,
                    "verdict": found.proof.verdict.value,
                    "accepted": found.report.accepted,
                    "proof": self._bounded(found.proof.text),
                }
                for found in proofs[:_LISTED]
            ]
            return {"why": why, "why_left": len(proofs) - len(why)}

        return await self.run(work)

    async def remember(self, session: str, text: str) -> JsonObject:
        """Keep a text in a conversation, as said by a model and never by a person."""
        self._needs_all()

        def work(one: Session) -> JsonObject:
            from constat.session import remembering  # noqa: PLC0415  loaded when it is used

            rules = one.project.memory.rules
            number = remembering.remembered(one.project.state, session, text, rules=rules)
            return {"session": session, "message": number}

        return await self.run(work)

    # Forms.

    def _result(self, result: Result) -> JsonObject:
        certificate = result.certificate
        identity = str(json.loads(certificate)["identity"]).removeprefix("sha256:")
        reference = self._references.keep(_CERTIFICATE, certificate.decode(), identity)
        steps = (result.tree.steps[root] for root in result.tree.roots[:_LISTED])
        return {
            "goal": result.goal,
            "verdict": result.verdict.value,
            "exit_code": result.exit_code,
            "confidence": f"{result.confidence:f}",
            "sentences": [one.reasoning or one.sentence for one in steps],
            "assumptions": [one.text[:_TEXT] for one in islice(result.assumptions, _LISTED)],
            "missing": list(result.missing[:_LISTED]),
            "conflicts": [one[:_TEXT] for one in result.conflicts[:_LISTED]],
            "snapshot": result.snapshot,
            "proof": self._bounded(result.explain()),
            "certificate": reference,
        }

    def _explored(self, found: Explored) -> JsonObject:
        rows = found.cells()
        told: JsonObject = {
            "exploration": found.exploration,
            "question": found.question,
            "sentence": found.sentence,
            "verdict": found.verdict and found.verdict.value,
            "exit_code": found.exit_code,
            "confirmed": found.translation and found.translation.status.value,
            "columns": list(found.relation.names),
            "rows": [[cell[:_TEXT] for cell in row] for row in rows[:MOST_ROWS]],
            "rows_left": max(0, len(rows) - MOST_ROWS),
            "assumptions": [one.text[:_TEXT] for one in islice(found.assumptions, _LISTED)],
            "notes": [one[:_TEXT] for one in found.notes[:_LISTED]],
            "steps": [asdict(one) for one in found.steps[:MOST_ROWS]],
            "why_not_checked": found.proof.why,
            "certificate": None,
        }
        if found.certificate:
            identity = found.proof.identity.removeprefix("sha256:")
            content = found.certificate.decode()
            told["certificate"] = self._references.keep(_CERTIFICATE, content, identity)
        return told

    def _bounded(self, text: str) -> str | JsonObject:
        if len(text) <= _CHARACTERS:
            return text
        reference = self._references.keep(_TEXT_OF, text)
        left = len(text) - _CHARACTERS
        return {"text": text[:_CHARACTERS], "left": left, "reference": reference}


def _everybody(session: Session, query: str, among: str, start: int, most: int) -> JsonObject:
    """List answers, and behind them those of `among` that are none."""
    answers = session.query(query).checked()
    columns, listed = answers.columns, [_row(answers.columns, row) for row in answers.rows]
    counts = Counter(str(one["verdict"]) for one in listed)
    notes: list[str] = []
    if among.strip():
        others, told = _others(session, answers, among)
        known = answers.settled is not Settled.OPEN
        verdict = Verdict.DISPROVED_UNDER if answers.settled is Settled.UNDER else Verdict.DISPROVED
        first = max(0, start - len(listed))
        last = max(0, start + most - len(listed))
        if known:
            counts[verdict.value] += len(others)
        elif others:
            notes.append("others than the answers may hold: each of a page is proved by itself")
        members = len(listed)
        listed += [{**one, "verdict": verdict.value} for one in others]
        for one in listed[members + first : members + last] if not known else ():
            goals: Any = one["goals"]
            one["verdict"] = session.prove(goals[0]).verdict.value
        notes += told
    part = listed[start : start + most]
    return {
        "query": query,
        "among": among,
        "settled": answers.settled.value,
        "total": len(listed),
        "start": start,
        "rows_left": max(0, len(listed) - start - len(part)),
        "counts": dict(counts),
        "columns": [{"name": one.name, "type": one.kind.value} for one in columns],
        "rows": part,
        "notes": notes,
    }


def _reasons(session: Session, goals: Sequence[str]) -> list[str]:
    """Say by which rules a goal holds, or at which condition each rule stops: alike for alike."""
    if not goals:
        return []
    found = session.why_not(goals[0])
    if found.refutation is None:
        steps = found.result.tree.steps
        roots = [steps[root] for root in found.result.tree.roots]
        by = [f"rule {one.rule}" if one.rule else one.kind for one in roots]
    elif found.result.missing:
        by = [f"unknown: {one.partition('(')[0]}" for one in found.result.missing]
    else:
        attempts = [each for one in found.refutation.lacking[:1] for each in one.attempts]
        stops = ((one.rule, one.stop) for one in attempts if one.stop is not None)
        by = [f"rule {rule} stops at {stop.literal}" for rule, stop in stops] or ["no such row"]
    return [one[:_TEXT] for one in dict.fromkeys(by)][:_LISTED]


def _others(session: Session, answers: Answers, among: str) -> tuple[list[JsonObject], list[str]]:
    """Give those of a goal who are no answers of another, each with the goal about them."""
    everybody = session.query(among).checked()
    places = {one.name: place for place, one in enumerate(everybody.columns)}
    names = [one.name for one in answers.columns]
    if lacking := [f"?{name}" for name in names if name not in places]:
        message = f"`{among}` says nothing of {', '.join(lacking)}"
        hint = "write both goals with the same variables: `is_vip(?c)` and `customer(?c, _)`"
        raise ConstatError([Diagnostic("C0401", message, help=hint)])
    members = {row.values for row in answers.rows}
    found: dict[tuple[Any, ...], JsonObject] = {}
    for row in everybody.rows:
        values = tuple(row.values[places[name]] for name in names)
        if values in members or values in found or any(isinstance(c, NullCell) for c in values):
            continue
        shown = dict(zip(names, values, strict=True))
        told = {
            one.name: display_value(shown[one.name], one.kind)[:_TEXT] for one in answers.columns
        }
        found[values] = {"values": told, "verdict": "", "goals": list(answers.show(values))}
    open_too = everybody.settled is Settled.OPEN
    return list(found.values()), ["there may be more of them"] if open_too else []


def _accepted(content: bytes, view: str) -> bytes:
    """Give a certificate that the checker accepts, or its view; raises `ConstatError`."""
    from constat.session.result import checked  # noqa: PLC0415  loaded when it is used

    report = checked(content, None, ())
    if not report.accepted:
        message = f"the certificate is rejected: {report.reason}"
        raise ConstatError([Diagnostic("C0403", message, note="verify says more")])
    if not view:
        return content
    from constat.session.redacting import Hiding, make_view  # noqa: PLC0415  loaded when it is used

    return make_view(content, Hiding(view=view), secrets.token_bytes(32))


def _step(one: Step) -> JsonObject:
    return {
        "kind": one.kind,
        "fact": one.fact[:_TEXT],
        "sentence": one.reasoning or one.sentence,
        "rule": one.rule,
        "assumption": one.assumption[:_TEXT],
        "confidence": one.confidence,
        "premises": list(one.premises),
        "sources": [
            {
                "name": each.name,
                "origin": each.origin,
                "query": None if each.query is None else each.query[:_CHARACTERS],
                "parameters": [text[:_TEXT] for text in each.parameters[:_LISTED]],
                "at": each.executed_at,
                "rows": each.rows,
            }
            for each in one.sources[:_LISTED]
        ],
    }


def _proposal(one: ListedPredicate) -> JsonObject:
    columns = [{"name": name, "type": kind} for name, kind, _ in one.columns]
    return {
        "name": one.name,
        "goal": f"{one.name}({', '.join(f'?{name}' for name, *_ in one.columns)})",
        "columns": columns,
        "says": one.says[:_TEXT],
        "description": one.description[:_TEXT],
    }


def _decided(found: Decided) -> JsonObject:
    return {**asdict(found), "rules": list(found.rules)}


def _remembered(one: Session, session: str) -> Memory:
    from constat.session import remembering  # noqa: PLC0415  loaded when it is used

    options = remembering.CompactionOptions(rules=one.project.memory.rules)
    return remembering.opened(one.project.state, session, options=options)


def _answers(answers: Answers) -> JsonObject:
    return {
        "query": answers.query,
        "total": len(answers),
        "settled": answers.settled.value,
        "exit_code": answers.exit_code,
        "computed_not_checked": answers.computed,
        "check": _recount(answers),
        "assumptions": [one.text[:_TEXT] for one in islice(answers.assumptions, _LISTED)],
        "open_because": [asdict(one) for one in answers.reasons[:_LISTED]],
        "columns": [{"name": one.name, "type": one.kind.value} for one in answers.columns],
    }


def _recount(answers: Answers) -> JsonObject | None:
    """Say what came of counting answers again; nothing where that was not needed or wished for."""
    found = answers.recount
    return None if found is None else {"state": found.state.value, "why": found.why}


def _row(columns: Sequence[AnswerColumn], row: AnswerRow) -> JsonObject:
    values = zip(columns, row.values, strict=True)
    shown: JsonObject = {
        one.name: None if isinstance(cell, NullCell) else display_value(cell, one.kind)[:_TEXT]
        for one, cell in values
    }
    return {"values": shown, "verdict": row.verdict.value, "goals": list(row.goals)}


def _lines(answers: Answers, first: int, _: Session) -> bytes:
    rows = answers.rows[first : first + MOST_ROWS]
    lines = (json.dumps(_row(answers.columns, row), ensure_ascii=True) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _write_arrow(answers: Answers, file: BinaryIO) -> None:
    try:
        ipc = importlib.import_module("nanoarrow.ipc")
    except ImportError:
        message = "Arrow streams are written by a library that is not installed"
        hint = "pip install 'constat[arrow]' where the server runs, or ask for application/x-ndjson"
        raise ConstatError([Diagnostic("C0434", message, help=hint)]) from None
    with ipc.StreamWriter.from_writable(file) as writer:
        writer.write_stream(answers.to_arrow())


def _stated(session: Session, fact: StoredFact) -> JsonObject:
    shown = {"fact": session.facts.show(fact)[:_TEXT], "by": fact.author, "at": fact.added_at}
    return {**shown, "note": fact.note[:_TEXT]}


def _told(told: FactsOfText) -> JsonObject:
    return {
        "said": [{"fact": one.fact, "sentence": one.sentence} for one in told.said],
        "not_said": [{"atom": one.atom, "reason": one.reason} for one in told.refused],
    }


def _short(found: dict[str, Any]) -> JsonObject:
    return {key: str(value)[:_TEXT] for key, value in found.items()}


def what_happens(event: Event | ExploreEvent) -> str:
    """Say what happens, without a value of a source."""
    told = ""
    match event:
        case CallFinished(number=number, predicate=predicate, rows=rows):
            told = f"call {number}: {predicate}, {counted(rows, 'row')}"
        case StageFinished(number=number, of=of, predicates=predicates):
            told = f"stage {number} of {of}: {', '.join(predicates)}"
        case ModelAwaited(model=model, task=task):
            told = f"waiting for {model} ({task})"
        case PlanReady(steps=steps, needed=needed):
            told = f"a plan of {counted(len(steps), 'step')}, {len(needed)} of them needed"
        case StepStarted(step=step, name=name, work=work):
            told = f"step {step}: {name} ({work})"
        case Generating(step=step, purpose=purpose):
            told = f"step {step}: a model is asked ({purpose})"
        case StepFailed(step=step, attempt=attempt, kind=kind):
            told = f"step {step}: attempt {attempt} failed ({kind})"
        case StepFinished(step=step, name=name, rows=rows, how=how):
            told = f"step {step}: {name}, {counted(rows, 'row')}, {how}"
    return told[:200]


# Who may come in, as what, and how often.

__all__ = [
    "MODEL",
    "ROLES",
    "Access",
    "Bounds",
    "Caller",
    "DeniedError",
    "Issuer",
    "Turns",
    "access_of",
    "new_token",
    "read_tokens",
]

MODEL: Final = "model"
_OF_MODELS: Final = ("viewer", "analyst")
_TOKEN_BYTES: Final = 32
_TOKEN_LINE: Final = re.compile(r"(\S{1,100})\s+(\w+)\s+sha256:([0-9a-f]{64})(\s+model)?")
_CODE: Final = "C0592"


@frozen
class Caller:
    """Who asks, and as what. `known` callers have shown a token; `model` is that of a program."""

    name: str
    role: str
    model: bool = False
    known: bool = True

    def may(self, role: str) -> bool:
        """Whether this role, or one above it, is the caller's."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def person(self) -> bool:
        """Whether it is known that a person asks: who has a person's token."""
        return self.known and not self.model


class DeniedError(Exception):
    """A token that lets nobody in; `str()` says why, and `status` is that of HTTP."""

    def __init__(self, reason: str, status: int = 401) -> None:
        super().__init__(reason)
        self.status = status


@frozen
class Access:
    """Who may come in. `tokens` are callers by the SHA-256 of their token; without any, `anybody`.

    Tokens of an `issuer` are taken beside them.

    `hosts` are the names that a request may have for this server where nobody shows a token: a page
    of a browser gets to loopback by a name of its own.
    """

    tokens: Mapping[str, Caller]
    anybody: Caller | None = None
    hosts: frozenset[str] = frozenset()
    issuer: Issuer | None = None

    def caller(self, authorization: str) -> Caller | None:
        """Give who asks; nothing for a token that nobody has.

        Raises `DeniedError` for one of the issuer's that does not count. May wait for the issuer.
        """
        if self.anybody is not None:
            return self.anybody
        scheme, _, token = authorization.partition(" ")
        # No other blank than this one is left out of a token, as in front of other servers.
        token = token.strip(" ")
        if scheme.lower() != "bearer":
            return None
        found = self.tokens.get(hashlib.sha256(token.encode()).hexdigest())
        if found is not None or self.issuer is None:
            return found
        caller = self.issuer.caller(token)
        if any(caller.name == one.name for one in self.tokens.values()):
            raise DeniedError("its name is that of somebody with a token of this server")
        return caller


@frozen
class Bounds:
    """What a server bears: requests at once, requests of a caller in a second, seconds of one."""

    pending: int = 64
    rate: float = 50.0
    burst: int = 200
    seconds: float = 120.0


class Turns:
    """Counts what callers ask: so many at once, and so many more each second."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> bool:
        """Take a turn; false where the caller has none left."""
        now = time.monotonic()
        left, before = self._left.get(name, (float(self._bounds.burst), now))
        left = min(self._bounds.burst, left + (now - before) * self._bounds.rate) - 1
        self._left[name] = (max(left, -1.0), now)
        return left >= 0


def read_tokens(path: Path) -> Mapping[str, Caller]:
    """Read `NAME ROLE sha256:HEX` lines, with ` model` behind those of programs.

    Raises `ConstatError` for a line that is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise _mistake(f"the file of tokens `{path.name}` cannot be read") from None
    tokens: dict[str, Caller] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _TOKEN_LINE.fullmatch(line.strip())
        if found is None or not _fits(found):
            raise _mistake(f"line {number} of `{path.name}` is no token")
        tokens[found[3]] = Caller(found[1], found[2], found[4] is not None)
    if not tokens:
        raise _mistake(f"there is no token in `{path.name}`")
    return tokens


def _fits(line: re.Match[str]) -> bool:
    return line[2] in (ROLES if line[4] is None else _OF_MODELS)


def access_of(
    tokens: str | Path | None, host: str, port: int, who: str, login: LoginSetting | None = None
) -> Access:
    """Say who may come in: who has a token, or without any way to whoever is on this machine."""
    issuer = None if login is None else Issuer(login)
    if tokens is not None or issuer is not None:
        return Access({} if tokens is None else read_tokens(Path(tokens)), issuer=issuer)
    shown = f"[{host}]" if ":" in host else host
    names = (shown, "127.0.0.1", "localhost", "[::1]")
    anybody = Caller(who, ROLES[-1], known=False)
    return Access({}, anybody, frozenset(f"{one}:{port}" for one in names))


def new_token(path: Path, name: str, role: str, kind: str = "") -> str:
    """Add a token to a file, which keeps its hash alone; gives the token, which is shown once.

    `kind` is `model` for a program that a model drives, empty for a person's.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    line = f"{name} {role} sha256:{hashlib.sha256(token.encode()).hexdigest()}"
    found = _TOKEN_LINE.fullmatch(f"{line} {kind}".strip())
    if found is None or kind not in {"", MODEL} or not _fits(found):
        raise _mistake("a token is of a name without spaces, and of a role")
    path.touch(mode=0o600)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{found[0]}\n")
    return token


def _mistake(message: str) -> ConstatError:
    hint = (
        "`constat serve --tokens FILE --new-token NAME:ROLE` adds one; roles: "
        f"{', '.join(ROLES)}; NAME:ROLE:model is that of a program, {' or '.join(_OF_MODELS)}"
    )
    return ConstatError([Diagnostic(_CODE, message, help=hint)])


# Tokens of an issuer of OpenID Connect are JSON Web Tokens (RFC 7519, RFC 9068) signed with one of
# its keys, which it publishes. Nothing that a token says of keys or algorithms is believed: a key
# is one of the issuer's, and signs in its own way only.

_ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_LONGEST_TOKEN: Final = 16_384
_LONGEST_CALLER: Final = 100
_LONGEST_KEYS: Final = 1 << 20
_ISSUER_SECONDS: Final = 5.0
_LEEWAY_SECONDS: Final = 60.0
_FRESH_SECONDS: Final = 600.0
_STALE_SECONDS: Final = 3_600.0
_BETWEEN_SECONDS: Final = 10.0
_NAMED: Final = ("exp", "iss", "aud", "sub")
_CLIENTS: Final = ("azp", "client_id")


class Issuer:
    """Reads the tokens of an issuer. May be used by many threads.

    Its keys are asked for when the first token comes, again after ten minutes and for a key that is
    not known; where it does not answer, those that are known count for an hour.
    """

    def __init__(self, setting: LoginSetting) -> None:
        self._setting = setting
        self._asking = threading.Lock()
        self._keys: Mapping[str, PyJWK] = {}
        self._read_at = self._tried_at = -math.inf

    def caller(self, token: str) -> Caller:
        """Give whose token it is; raises `DeniedError`."""
        claims = self._claims(token)
        name = claims.get(self._setting.name)
        if not isinstance(name, str) or not _is_name(name):
            raise DeniedError(f"its claim {self._setting.name} names nobody")
        roles = [self._setting.roles[one] for one in self._groups(claims)]
        if not roles:
            raise DeniedError("none of its groups has a role here", 403)
        role = max(roles, key=ROLES.index)
        client = next((claims[one] for one in _CLIENTS if one in claims), None)
        if isinstance(client, str) and client in self._setting.people:
            return Caller(name, role)
        return Caller(name, min(role, _OF_MODELS[-1], key=ROLES.index), model=True)

    def _groups(self, claims: Mapping[str, Any]) -> list[str]:
        found: object = claims
        for part in self._setting.claim.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        listed = found.split() if isinstance(found, str) else found
        if not isinstance(listed, list):
            return []
        return [one for one in listed if isinstance(one, str) and one in self._setting.roles]

    def _claims(self, token: str) -> Mapping[str, Any]:
        import jwt  # noqa: PLC0415  heavy library, loaded on first use

        if len(token) > _LONGEST_TOKEN:
            raise DeniedError("the token is too long")
        try:
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._setting.audience,
                issuer=self._setting.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": list(_NAMED)},
            )
        except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError) as problem:
            # What the library says names claims, never their values.
            kind = type(problem).__name__.removesuffix("Error")
            raise DeniedError(f"the token does not count ({kind})") from None
        return claims

    def _key(self, identity: object) -> PyJWK:
        if not isinstance(identity, str):
            raise DeniedError("the token does not say which key signed it")
        fresh = time.monotonic() - self._read_at < _FRESH_SECONDS
        # One asks; the others go on with what is known, if anything is.
        if not (fresh and identity in self._keys) and self._asking.acquire(blocking=not self._keys):
            try:
                self._refresh(identity)
            finally:
                self._asking.release()
        if time.monotonic() - self._read_at > _STALE_SECONDS:
            raise DeniedError("the issuer of tokens does not give its keys", 503)
        found = self._keys.get(identity)
        if found is None:
            raise DeniedError("no key of the issuer signed the token")
        return found

    def _refresh(self, identity: str) -> None:
        now = time.monotonic()
        known = now - self._read_at < _FRESH_SECONDS and identity in self._keys
        if known or now - self._tried_at < _BETWEEN_SECONDS:
            return
        self._tried_at = now
        # Where nothing comes, what is known goes on to count for a while.
        with suppress(ApiError, ValueError, TypeError, KeyError, RecursionError):
            self._keys, self._read_at = self._asked_keys(now + _ISSUER_SECONDS), now

    def _asked_keys(self, until: float) -> Mapping[str, PyJWK]:
        import jwt  # noqa: PLC0415  heavy library, loaded on first use

        issuer = self._setting.issuer
        transport = Transport(
            ApiSetting("login", private=True, seconds=_ISSUER_SECONDS, bytes=_LONGEST_KEYS)
        )
        try:
            place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            told = _asked(transport, place, until)
            if told["issuer"] != issuer:
                raise ValueError("it calls itself otherwise")
            listed = _asked(transport, str(told["jwks_uri"]), until)["keys"]
        finally:
            transport.close()
        keys = {}
        for one in listed if isinstance(listed, list) else ():
            try:
                key = jwt.PyJWK(one)
            except jwt.PyJWTError:
                # Of a kind that this library does not know.
                continue
            if key.key_id and one.get("use", "sig") == "sig" and key.algorithm_name in _ALGORITHMS:
                keys[key.key_id] = key
        return keys


def _asked(transport: Transport, address: str, until: float) -> Mapping[str, Any]:
    """Ask the issuer; raises `ApiError` or `ValueError`."""
    if not is_private_line(address):
        raise ValueError("an address that is not of https")
    reply = transport.fetch(Asking("GET", address, keyed=False), until)
    found = json.loads(reply.body) if reply.status == 200 else None  # noqa: PLR2004  the status of success
    if not isinstance(found, dict):
        raise ValueError("no object came")  # noqa: TRY004  what came is wrong, not its type
    return found


def _is_name(text: str) -> bool:
    return (
        0 < len(text) <= _LONGEST_CALLER and text.isprintable() and not any(map(str.isspace, text))
    )
