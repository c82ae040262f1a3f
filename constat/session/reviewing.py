"""Reviews: what was drafted, what it would change, and the decisions of people about it.

In: the identity of a draft, or the id of a rule that a model wrote into a file. Out: `Item` and
`Review` values; approvals and rejections that stay. Invariants: an approval is a record outside the
text, bound to what the rule says, and counts only as the project's `review:` wants it; what is
rejected stays with its reason, for later drafts. Example:
`session.reviews.approve("3fa1b2c4", by="Ada", reason="as in the contract")`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.library.reviewing.approvals import WITHDRAWN, Approval
from constat.library.reviewing.drafted_rules import is_numbered, read_draft
from constat.library.reviewing.joining import join_drafts
from constat.library.reviewing.placing import case_files, place_draft
from constat.library.reviewing.standing import DRAFT, standing
from constat.library.reviewing.writing import write_cases, write_placement, write_records
from constat.session.reviewing_effects import SECONDS
from constat.session.reviewing_library import ReviewedLibrary
from constat.session.reviewing_report import Decided
from constat.session.reviewing_views import Views, plain, words_of
from constat.session.reviewing_words import Approver, Subject, approver_of, check_may_approve, word
from constat.store.clock import now
from constat.store.draft_values import check_decision
from constat.store.drafts import Decision, Endorsement, NewDraft
from constat.syntax import print_rule

if TYPE_CHECKING:
    from constat.library.reviewing.placing import Placement
    from constat.proof.signing import SigningKey
    from constat.session.reviewing_library import Numbers
    from constat.session.reviewing_report import Item, Review
    from constat.session.reviewing_views import Reviewable
    from constat.store.drafts import Draft

OPEN: Final = "proposed"
_NOBODY: Final = "constat"


@dataclass(frozen=True, slots=True)
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

    def __init__(self, session: Reviewable) -> None:
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

    def approve(
        self,
        name: str,
        *,
        reason: str,
        by: str = "",
        key: SigningKey | None = None,
        into: str = "",
        rule_id: str = "",
    ) -> Decided:
        """Let a draft, or a proposed rule of a file, in. Raises `ConstatError`.

        `by` is who approves, unless a key says so. `into` is the folder of rules or the file that
        the draft goes to, `rule_id` the id of its rule or what their ids begin with. Where the
        project wants several approvers, the rules are in with the last one's word.
        """
        library = self._library()
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

    def _library(self) -> ReviewedLibrary:
        return ReviewedLibrary(self._session.project)

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
            OPEN if any(rule.proposed for rule in rules) else "approved",
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
