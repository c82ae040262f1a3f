"""What a reviewer is shown: lists, and a draft or a proposed rule with all that bears on it.

In: a session and a reading of its rules. Out: `Item` and `Review` values. Invariant: nothing is
written, and no rule of a draft counts anywhere but in its review. Example: the review of a draft
that cannot be approved says why in `problem`.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic
from constat.library.reviewing.approvals import Approval, parse_approvals
from constat.library.reviewing.drafted_rules import read_draft
from constat.library.reviewing.joining import JoinedProgram, join_drafts
from constat.library.reviewing.linting import lint
from constat.library.reviewing.placing import Placement, case_files, place_draft
from constat.library.reviewing.standing import needed_for, why_proposed
from constat.library.reviewing.trying import try_cases
from constat.logic import Comparison, Constant, Kind
from constat.model import ModelError
from constat.session.cases import checked_verdict
from constat.session.drafted import Based, OtherSession
from constat.session.models import Models
from constat.session.reviewing_effects import effects
from constat.session.reviewing_report import Item, Review
from constat.session.reviewing_words import Approver, Subject, word
from constat.store.clock import now
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.library.reviewing.trying import Tried
    from constat.logic import Rule
    from constat.model import Task
    from constat.model.asking import AskingClient
    from constat.session.reviewing_effects import Effect
    from constat.session.reviewing_library import Numbers, ReviewedLibrary
    from constat.store.drafts import Draft, DraftStore
    from constat.tiers import Tiers

_LINES_AROUND = 3


class Reviewable(Based, Protocol):
    """A session, as far as reviews need one."""

    @property
    def drafts(self) -> DraftStore:
        """The quarantine."""
        ...

    def reload_rules(self) -> None:
        """Read the rules anew at the next question."""
        ...


class _NoModels(Models):
    """Models of which none is asked: what they told before is there."""

    def client(self, task: Task) -> AskingClient:
        """Refuse."""
        raise ModelError("C0821", f"a review asks no model for `{task.value}`")


class _Unasking(OtherSession):
    """A session in which looking at effects costs nothing."""

    @property
    def models(self) -> Models:
        """The models, without a client."""
        if self._models is None:
            self._models = _NoModels(self.project)
        return self._models

    def beside(self, program: AnalysedProgram) -> _Beside:
        """Give a session over a part of the program, that reads the very same answers."""
        return _Beside(self, JoinedProgram(program), self._opened())


class _Beside(OtherSession):
    """A session that shares what was read, so that both sides of a comparison see one state."""

    def __init__(self, base: OtherSession, joined: JoinedProgram, tiers: Tiers) -> None:
        super().__init__(base, joined)
        self._shared = tiers

    def _opened(self) -> Tiers:
        return self._shared


class Views:
    """Makes lists and reviews."""

    def __init__(self, session: Reviewable, library: ReviewedLibrary) -> None:
        self.session = session
        self.library = library

    def items(self) -> Iterator[Item]:
        """Yield drafts, then the rules of models in files that were never drafts here."""
        drafts = self.session.drafts.list()
        approvers = self.session.drafts.approvers()
        for draft in drafts:
            yield self.draft_item(draft, approvers.get(draft.identity, ()))
        listed = {number for one in drafts for number in self._landed(one)}
        for number in self.library.written_by_models:
            if number not in listed:
                yield self.rule_item((number,), self.library.program.rules[number].id)

    def _landed(self, draft: Draft) -> Numbers:
        return self.library.landed.get(draft.identity, ())

    def draft_item(self, draft: Draft, approvers: tuple[str, ...]) -> Item:
        """Give a draft in one line."""
        landed = self._landed(draft)
        return Item(
            identity=draft.short,
            kind="draft",
            status="approved" if landed else draft.status,
            purpose=draft.purpose,
            goal=draft.goal,
            model=draft.model,
            asked_by=draft.asked_by,
            at=draft.at,
            rules=tuple(rule.id for rule in self.library.rules(landed)),
            approvals=approvers,
            needed=needed_for(self.library.project.review, draft.asked_by),
            reason="" if draft.decision is None else draft.decision.reason,
        )

    def rule_item(self, numbers: Numbers, name: str) -> Item:
        """Give a rule of a file, or those of one statement, in one line."""
        rules = self.library.rules(numbers)
        found = [self.library.standing(number) for number in numbers]
        subject = self.library.subject(numbers[0])
        counted = min((one.counted for one in found), key=len)
        proposed = any(rule.proposed for rule in rules)
        return Item(
            identity=name,
            kind="rule",
            status="proposed" if proposed else "approved",
            purpose=rules[0].attributes.get("description", ""),
            goal="",
            model=rules[0].attributes.get("author", ""),
            asked_by=subject.asked_by,
            at="",
            rules=tuple(rule.id for rule in rules),
            approvals=tuple(one.by for one in counted),
            needed=needed_for(self.library.project.review, subject.asked_by),
            reason="" if proposed else counted[0].reason,
        )

    # ------------------------------------------------------------------ one draft

    def of_draft(self, draft: Draft, seconds: float) -> Review:
        """Find out what a draft would change."""
        words = self.session.drafts.endorsements(draft.identity)
        item = self.draft_item(draft, tuple(one.by for one in words))
        landed = self._landed(draft)
        if landed:
            return self.of_rules(landed, item, seconds)
        try:
            return self._of_joined(draft, item, seconds)
        except ConstatError as problem:
            reasons = "; ".join(_located(one) for one in problem.diagnostics)
            return Review(item, draft.text, problem=reasons)

    def _of_joined(self, draft: Draft, item: Item, seconds: float) -> Review:
        library, program = self.library, self.library.program
        joined = join_drafts(program, [draft], amending=True)
        known = program.program.predicates
        drafted = read_draft(draft, known)
        placement = place_draft(library.library, drafted)
        dropped = [rule for rule in program.rules if rule.id in joined.dropped]
        heads = dict.fromkeys(rule.head.predicate for rule in (*drafted.rules, *dropped))
        return Review(
            item=item,
            text=draft.text,
            file=library.shown(placement.file),
            difference=_difference(placement, library.shown(placement.file)),
            amended=joined.amended,
            replaced=tuple((rule.id, print_rule(rule, known)) for rule in dropped),
            cases=self._cases(placement, draft),
            effects=self._effects(program, placement.program, heads, seconds),
            remarks=lint(joined, drafted, program),
        )

    def _cases(self, placement: Placement, draft: Draft | None) -> tuple[Tried, ...]:
        cases = () if draft is None else case_files(placement.file, draft)
        subjects = [Subject(rule, hashes) for rule, hashes in placement.hashes.items()]
        records = hypothetical(subjects)
        return try_cases(self.library.project, placement, records, cases, checked_verdict)

    def _effects(
        self,
        before: AnalysedProgram,
        after: AnalysedProgram,
        heads: Mapping[str, None],
        seconds: float,
    ) -> tuple[Effect, ...]:
        with _Unasking(self.session, JoinedProgram(after)) as new:
            return effects(new.beside(before), new, heads, seconds=seconds)

    # ------------------------------------------------------------------ rules of files

    def of_rules(self, numbers: Numbers, item: Item, seconds: float) -> Review:
        """Find out what rules of a file give, against a library without them."""
        library, program = self.library, self.library.program
        rules = library.rules(numbers)
        identities = frozenset(rule.id for rule in rules)
        accepted = _analysed(
            program,
            [
                replace(one, proposed=False) if one.id in identities else one
                for one in program.rules
            ],
        )
        without = _analysed(
            program, [_idle(one) if one.id in identities else one for one in program.rules]
        )
        file = library.file(numbers[0])
        text = library.texts[rules[0].span.source] if rules[0].span else ""
        hashes = {library.program.rules[n].id: library.hashes(n) for n in numbers}
        placement = Placement(file, text, text, accepted, hashes)
        doubts = [
            why_proposed(program.rules[n], library.standing(n), library.records(n))
            for n in numbers
            if program.rules[n].proposed
        ]
        return Review(
            item=item,
            text="\n".join(print_rule(plain(rule), program.program.predicates) for rule in rules),
            file=library.shown(file),
            cases=self._cases(placement, None),
            effects=self._effects(
                without, accepted, dict.fromkeys(one.head.predicate for one in rules), seconds
            ),
            remarks=tuple(filter(None, dict.fromkeys(doubts))),
        )


def hypothetical(subjects: list[Subject]) -> list[Approval]:
    """Give records as if somebody had approved, to see what would follow."""
    return [word(one, Approver("a reviewer"), "to see what follows", now()) for one in subjects]


def _analysed(program: AnalysedProgram, rules: list[Rule]) -> AnalysedProgram:
    found = analyse(replace(program.program, rules=tuple(rules)), [])
    if found is None:
        raise TypeError("a part of a program that was analysed was not")
    return found


def _idle(rule: Rule) -> Rule:
    """Give a rule that holds for nothing: its predicate stays one that rules derive."""
    never = Comparison("=", Constant(0, Kind.NUMBER), Constant(1, Kind.NUMBER))
    return replace(rule, body=(*rule.body, never), proposed=False)


def plain(rule: Rule) -> Rule:
    """Give a rule without what was recorded about it."""
    kept = {key: one for key, one in rule.attributes.items() if not key.startswith("approved")}
    return replace(rule, attributes=kept)


def words_of(record: str) -> tuple[Approval, ...]:
    """Read the words that an endorsement keeps."""
    return parse_approvals(record.encode())


def _difference(placement: Placement, name: str) -> str:
    before = (placement.before or "").splitlines(keepends=True)
    after = placement.after.splitlines(keepends=True)
    old = "/dev/null" if placement.before is None else f"a/{name}"
    lines = difflib.unified_diff(before, after, old, f"b/{name}", n=_LINES_AROUND)
    return "".join(one if one.endswith("\n") else f"{one}\n" for one in lines)


def _located(one: Diagnostic) -> str:
    where = f"line {one.span.line}: " if one.span is not None else ""
    return f"{where}{one.message} [{one.code}]"
