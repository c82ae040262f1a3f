"""Reviews: what was drafted, what it would change, and the decisions of people about it."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.library.approvals import (
    DRAFT,
    WITHDRAWN,
    Approval,
    needed_for,
    parse_approvals,
    standing,
    why_proposed,
)
from constat.library.loading import load_rules
from constat.library.reviewing.drafts import (
    JoinedProgram,
    is_numbered,
    join_drafts,
    lint,
    read_draft,
)
from constat.library.reviewing.placement import (
    Placement,
    case_files,
    place_draft,
    try_cases,
    write_cases,
    write_placement,
    write_records,
)
from constat.logic import Comparison, Constant, Kind
from constat.model import ModelError
from constat.session.cases import checked_verdict
from constat.session.models import Models
from constat.session.reviewing_library import (
    Approver,
    ReviewedLibrary,
    Subject,
    approver_of,
    check_may_approve,
    word,
)
from constat.session.reviewing_report import SECONDS, Decided, Item, Review, effects
from constat.store.clock import now
from constat.store.drafts import Decision, Endorsement, NewDraft, check_decision
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from constat.analysis import AnalysedProgram
    from constat.library.reviewing.placement import Tried
    from constat.logic import Rule
    from constat.model import Task
    from constat.model.asking import AskingClient
    from constat.project import Project
    from constat.proof.signing import SigningKey
    from constat.session.reviewing_library import Numbers
    from constat.session.reviewing_report import Effect
    from constat.session.session import Session
    from constat.store.drafts import Draft

# Nothing is written, and no rule of a draft counts anywhere but in its review.

_LINES_AROUND = 3


class _NoModels(Models):
    """Models of which none is asked: what they told before is there."""

    def client(self, task: Task, left: Callable[[], float] | None = None) -> AskingClient:  # noqa: ARG002  as it is asked
        """Refuse."""
        raise ModelError("C0821", f"a review asks no model for `{task.value}`")


def _unasking(session: Session, program: AnalysedProgram) -> Session:
    """Give a session in which looking at effects costs nothing."""
    return session.over(JoinedProgram(program), models=_NoModels(session.project))


class Views:
    """Makes lists and reviews."""

    def __init__(self, session: Session, library: ReviewedLibrary) -> None:
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
        proposed = not all(one.approved for one in found)
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
        with _unasking(self.session, after) as new:
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


@frozen
class Upgrade:
    """What other rule files would change: rules by their ids, and rows of predicates.

    `needed` are predicates that then want rows from outside and did not before. Rules that are
    new or gone are written with their attributes.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[tuple[str, str, str], ...]
    """Each with its id, its text before and after."""
    needed: tuple[str, ...]
    effects: tuple[Effect, ...]


def compare_upgrade(session: Session, project: Project, seconds: float = SECONDS) -> Upgrade:
    """Compare a session with the same project over other rule files, on the present data.

    Nothing is written, and no model is asked. Raises `ConstatError` where those files are wrong.
    """
    before, texts = session.program, dict[str, str]()
    after = load_rules(project, texts)
    old, new = _texts_of(before), _texts_of(after)
    changed = [name for name in old.keys() & new.keys() if old[name][1:] != new[name][1:]]
    different = {*changed, *(old.keys() ^ new.keys())}
    heads = dict.fromkeys(
        part[name][0] for part in (old, new) for name in sorted(different) if name in part
    )
    rows = _facts_of(before) ^ _facts_of(after)
    heads |= dict.fromkeys(sorted(head for head, _ in rows))
    joined = JoinedProgram(after, texts=texts)
    with session.over(joined, models=_NoModels(session.project)) as other:
        found = effects(other.beside(before), other, heads, seconds=seconds)
    return Upgrade(
        added=tuple(new[name][1] for name in sorted(new.keys() - old.keys())),
        removed=tuple(old[name][1] for name in sorted(old.keys() - new.keys())),
        changed=tuple((name, old[name][1], new[name][1]) for name in sorted(changed)),
        needed=tuple(sorted(after.external - before.external)),
        effects=found,
    )


def _texts_of(program: AnalysedProgram) -> dict[str, tuple[str, str]]:
    """Give head and text of each rule by its id."""
    known = program.program.predicates
    return {
        rule.id: (rule.head.predicate, print_rule(plain(rule), known))
        for rule in program.rules
        if rule.body
    }


def _facts_of(program: AnalysedProgram) -> set[tuple[str, str]]:
    known = program.program.predicates
    return {
        (rule.head.predicate, print_rule(plain(rule), known))
        for rule in program.rules
        if not rule.body
    }


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


OPEN: Final = "proposed"
_NOBODY: Final = "constat"


@frozen
class _Word:
    """One person's word, before it is about anything."""

    approver: Approver
    reason: str
    at: str

    def about(self, subjects: tuple[Subject, ...]) -> tuple[Approval, ...]:
        return tuple(word(one, self.approver, self.reason, self.at) for one in subjects)

    @property
    def decision(self) -> Decision:
        return Decision("approved", self.approver.name, self.reason, self.at)


class Reviews:
    """The reviews of one session's project."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def items(self, status: str | None = OPEN) -> tuple[Item, ...]:
        """List drafts, and rules that models wrote into files, of one status or all."""
        views = Views(self._session, self._library())
        return tuple(one for one in views.items() if status in {None, one.status})

    def review(self, name: str, *, seconds: float = SECONDS) -> Review:
        """Find out what a draft or a rule of a model would change. Raises `ConstatError`."""
        library = self._library()
        views = Views(self._session, library)
        numbers = library.named(name)
        if numbers:
            return views.of_rules(numbers, views.rule_item(numbers, name), seconds)
        return views.of_draft(self._session.drafts.get(name), seconds)

    def approve(  # noqa: PLR0913  each kind of wish has a name
        self,
        name: str,
        *,
        reason: str,
        by: str = "",
        key: SigningKey | None = None,
        into: str = "",
        rule_id: str = "",
        four_eyes: bool = False,
    ) -> Decided:
        """Let a draft, or a proposed rule of a file, in. Raises `ConstatError`.

        `by` is who approves, unless a key says so. `into` is the folder of rules or the file that
        the draft goes to, `rule_id` the id of its rule or what their ids begin with. Where the
        project wants several approvers, the rules are in with the last one's word. With
        `four_eyes` who asked for it cannot, whatever the project says.
        """
        library = self._library(four_eyes=four_eyes)
        given = _Word(approver_of(by, key, library.trust), reason, now())
        check_decision(given.decision)
        numbers = library.named(name)
        if numbers:
            return self._approve_rules(library, name, numbers, given)
        draft = self._session.drafts.get(name)
        if draft.identity in library.landed:
            return self._finish(library, draft)
        check_may_approve(given.approver, draft.asked_by, library.trust)
        join_drafts(library.program, [draft], amending=True)
        drafted = read_draft(draft, library.program.program.predicates)
        placement = place_draft(library.library, drafted, into=into, named=rule_id)
        return self._approve_draft(library, draft, placement, given)

    def reject(self, name: str, *, by: str, reason: str) -> Decided:
        """Refuse a draft or a rule of a file, with a reason that later drafts are told.

        A rule that was approved is proposed again. Raises `ConstatError`.
        """
        library = self._library()
        decision = Decision("rejected", by.strip(), reason, now())
        check_decision(decision)
        numbers = library.named(name)
        if numbers:
            return self._reject_rules(library, name, numbers, decision)
        draft = self._session.drafts.get(name)
        if draft.identity in library.landed:
            rules = library.rules(library.landed[draft.identity])
            message = f"the draft is approved, as {', '.join(f'`{one.id}`' for one in rules)}"
            hint = f"withdraw that: `constat rules reject {rules[0].id} --by NAME --reason TEXT`"
            raise ConstatError([Diagnostic("C0883", message, help=hint)])
        self._session.drafts.decide(draft.identity, decision)
        return Decided(draft.short, "draft", "rejected")

    def _library(self, *, four_eyes: bool = False) -> ReviewedLibrary:
        project = self._session.project
        if four_eyes:
            project = replace(project, review=replace(project.review, four_eyes=True))
        return ReviewedLibrary(project)

    # ------------------------------------------------------------------ drafts

    def _approve_draft(
        self, library: ReviewedLibrary, draft: Draft, placement: Placement, given: _Word
    ) -> Decided:
        subjects = tuple(
            Subject(rule, hashes, draft.identity, draft.asked_by)
            for rule, hashes in placement.hashes.items()
        )
        words = given.about(subjects)
        store = self._session.drafts
        # Who approved the draft as other rules, or under other ids, has not approved these.
        earlier = [
            one
            for endorsed in store.endorsements(draft.identity)
            for one in words_of(endorsed.record)
            if one.by != given.approver.name and one.hashes in placement.hashes.values()
        ]
        found = standing((*earlier, *words), words[0].hashes, library.trust)
        decided = Decided(
            draft.short,
            "draft",
            OPEN,
            tuple(placement.hashes),
            library.shown(placement.file),
            signed=given.approver.key is not None,
            have=len(found.counted),
            needed=found.needed,
        )
        record = b"".join(one.to_line() for one in words).decode()
        endorsement = Endorsement(given.approver.name, given.reason, given.at, record)
        if found.approved:
            cases = case_files(placement.file, draft)
            write_placement(placement, (*earlier, *words), cases)
            decided = replace(decided, status="approved")
        store.endorse(draft.identity, endorsement)
        if found.approved:
            self._conclude(library, draft, given.decision)
        return decided

    def _conclude(self, library: ReviewedLibrary, draft: Draft, decision: Decision) -> None:
        """Write down that a draft is in, and that drafts which gave way to it are not."""
        store = self._session.drafts
        store.decide(draft.identity, decision)
        rules = {rule.id: rule for rule in library.program.rules}
        gone = {
            identity
            for one in draft.replaces
            for identity in rules[one].attributes.get(DRAFT, "").split()
        }
        for one in store.list() if gone else ():
            if one.identity in gone:
                reason = f"the draft {draft.short} took its place"
                store.decide(one.identity, Decision("superseded", _NOBODY, reason, now()))
        self._session.reload_rules()

    def _finish(self, library: ReviewedLibrary, draft: Draft) -> Decided:
        """Do what an approval left undone that was cut off when its rules were in."""
        numbers = library.landed[draft.identity]
        found = library.standing(numbers[0])
        last = max(found.counted, key=lambda one: one.at)
        file = library.file(numbers[0])
        write_cases(case_files(file, draft))
        if draft.status != "approved":
            self._session.drafts.decide(
                draft.identity, Decision("approved", last.by, last.reason, last.at)
            )
        return Decided(
            draft.short,
            "draft",
            "approved",
            tuple(rule.id for rule in library.rules(numbers)),
            library.shown(file),
            signed=bool(last.envelope),
            have=len(found.counted),
            needed=found.needed,
        )

    # ------------------------------------------------------------------ rules of files

    def _approve_rules(
        self, library: ReviewedLibrary, name: str, numbers: Numbers, given: _Word
    ) -> Decided:
        _require_ids(library, numbers)
        for number, subject in zip(numbers, library.subjects(numbers), strict=True):
            check_may_approve(given.approver, subject.asked_by, library.trust)
            write_records(library.file(number).parent, given.about((subject,)))
        self._session.reload_rules()
        again = self._library()
        return self._decided(again, name, again.named(name), signed=given.approver.key is not None)

    def _reject_rules(
        self, library: ReviewedLibrary, name: str, numbers: Numbers, decision: Decision
    ) -> Decided:
        for number in numbers:
            subject = library.subject(number)
            record = Approval(
                subject.rule,
                subject.hashes.rule,
                WITHDRAWN,
                decision.by,
                decision.reason,
                decision.at,
                subject.draft,
                subject.asked_by,
                queries=subject.hashes.queries,
            )
            if any(one.hashes == subject.hashes for one in library.records(number)):
                write_records(library.file(number).parent, (record,))
        self._remember(library, numbers, decision)
        self._session.reload_rules()
        return replace(self._decided(self._library(), name, numbers), status="rejected")

    def _remember(self, library: ReviewedLibrary, numbers: Numbers, decision: Decision) -> None:
        """Keep rejected rules of a file as a rejected draft, so that later drafts are told."""
        rules = library.rules(numbers)
        if not set(numbers) & set(library.written_by_models):
            # No later draft is about it: it stays in its file, and nobody has approved it.
            return
        text = "\n".join(print_rule(plain(rule)) for rule in rules)
        purpose = f"the rule {rules[0].id} of {library.shown(library.file(numbers[0]))}"
        author = rules[0].attributes.get("author", "")
        kept = self._session.drafts.add(NewDraft(text, purpose, model=author))
        self._session.drafts.decide(kept.identity, decision)

    @staticmethod
    def _decided(
        library: ReviewedLibrary, name: str, numbers: Numbers, *, signed: bool = False
    ) -> Decided:
        rules = library.rules(numbers)
        found = min((library.standing(one) for one in numbers), key=lambda one: len(one.counted))
        return Decided(
            name,
            "rule",
            "approved" if all(library.standing(one).approved for one in numbers) else OPEN,
            tuple(rule.id for rule in rules),
            library.shown(library.file(numbers[0])),
            signed,
            len(found.counted),
            found.needed,
        )


def _require_ids(library: ReviewedLibrary, numbers: Numbers) -> None:
    """Raise where a rule has no id of its own: with the next rule before it, it had another."""
    for rule in library.rules(numbers):
        if is_numbered(rule.id):
            message = f"the rule `{rule.id}` has no id of its own, only its number"
            note = "another rule before it changes its number, and it would lose its approval"
            hint = f"write `@[id = {rule.head.predicate.upper()}1]` above it"
            raise ConstatError([Diagnostic("C0885", message, rule.span, note=note, help=hint)])
