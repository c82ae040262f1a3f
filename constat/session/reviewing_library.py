"""The rules of a project as a reviewer sees them, and a person's word on them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.library.approvals import (
    APPROVED,
    DRAFT,
    Approval,
    Hashes,
    Standing,
    Trust,
    hashes_of,
    project_trust,
    read_approvals,
    same_person,
    standing,
)
from constat.library.loading import load_rules
from constat.library.reviewing.placement import Library
from constat.project import APPROVER
from constat.proof.signing import RULE_TYPE, Signer, Statement, sign_statement, write_envelope
from constat.store.clock import now
from constat.syntax.lowering import is_proposed, letters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.logic import Rule
    from constat.project import Project
    from constat.proof.signing import SigningKey


@frozen
class Subject:
    """What a word is about: a rule by id and hashes, and the draft it was, if it was one."""

    rule: str
    hashes: Hashes
    draft: str = ""
    asked_by: str = ""


@frozen
class Approver:
    """Who gives the word, and the key it is signed with, if any."""

    name: str
    key: SigningKey | None = None


def approver_of(by: str, key: SigningKey | None, trust: Trust) -> Approver:
    """Say who approves. Raises `ConstatError` where that person cannot."""
    if key is None:
        if trust.signed:
            note = "the project trusts keys as approver, so that only signatures count"
            raise _refused("the approval is not signed", "add `--key FILE`", note)
        if not by.strip():
            raise _refused("nobody is named", "add `--by NAME`")
        return Approver(by.strip())
    if by and not same_person(by, key.name):
        raise _refused(f"the key is {key.name}'s", "leave `--by` out, or use one's own key")
    if key.role != APPROVER:
        hint = "make one: `constat keygen --role approver`"
        raise _refused(f"the key signs as {key.role}, not as approver", hint)
    if trust.signed and key.public.id not in trust.keys:
        hint = "add its public key under `keys:` in constat.yaml with `roles: [approver]`"
        raise _refused("the project does not trust this key", hint)
    return Approver(key.name, key)


def check_may_approve(approver: Approver, asked_by: str, trust: Trust) -> None:
    """Raise `ConstatError` where four eyes are wanted and these are the same two."""
    owner = "" if approver.key is None else trust.owners.get(approver.key.public.id, "")
    own = same_person(approver.name, asked_by) or same_person(owner, asked_by)
    if trust.setting.four_eyes and asked_by and own:
        note = "the project asks for four eyes: `review: {four_eyes: true}`"
        hint = "ask somebody else to approve it"
        raise _refused(f"{asked_by} asked for this draft and cannot approve it", hint, note)


def word(subject: Subject, approver: Approver, reason: str, at: str) -> Approval:
    """Give the record of an approval."""
    record = Approval(
        rule=subject.rule,
        digest=subject.hashes.rule,
        action=APPROVED,
        by=approver.name,
        reason=reason,
        at=at,
        draft=subject.draft,
        asked_by=subject.asked_by,
        queries=subject.hashes.queries,
    )
    key = approver.key
    if key is None:
        return record
    signer = Signer(key.role, key.name, APPROVED, key.public.id, at)
    digest = record.digest.removeprefix("sha256:")
    statement = Statement(RULE_TYPE, digest, signer, record.says())
    line = write_envelope(sign_statement(statement, key)).decode().rstrip("\n")
    return replace(record, envelope=line)


def _refused(message: str, hint: str, note: str = "") -> ConstatError:
    return ConstatError([Diagnostic("C0883", message, note=note, help=hint)])


# It is one reading: after a decision another is made.

Numbers = tuple[int, ...]


class ReviewedLibrary:
    """One reading of a project's rules, with the records beside them."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.texts: dict[str, str] = {}
        places: dict[str, Path] = {}
        self.program: AnalysedProgram = load_rules(project, self.texts, places)
        self.library = Library(project, self.program, places)
        self._records: dict[Path, tuple[Approval, ...]] = {}

    @cached_property
    def trust(self) -> Trust:
        """What makes an approval count."""
        return project_trust(self.project, now())

    @cached_property
    def written_by_models(self) -> Numbers:
        """The numbers of the rules that models wrote, approved or not."""
        rules = enumerate(self.program.rules)
        return tuple(number for number, rule in rules if is_proposed(dict(rule.attributes)))

    @cached_property
    def landed(self) -> dict[str, Numbers]:
        """The drafts that are approved and in a file, with the numbers of their rules."""
        found: dict[str, Numbers] = {}
        for number in self.written_by_models:
            for identity in self.program.rules[number].attributes.get(DRAFT, "").split():
                found[identity] = (*found.get(identity, ()), number)
        return found

    def named(self, name: str) -> Numbers:
        """Find the rules with an id, or those of a statement with alternatives."""
        rules = self.program.rules
        bodied = [number for number, rule in enumerate(rules) if rule.body]
        exact = tuple(n for n in bodied if rules[n].id == name)
        if exact:
            return exact
        lettered = {f"{name}{letters(place)}" for place in range(len(rules))} if name else set()
        return tuple(n for n in bodied if rules[n].id in lettered)

    def rules(self, numbers: Numbers) -> tuple[Rule, ...]:
        """Give the rules of these numbers."""
        return tuple(self.program.rules[number] for number in numbers)

    def file(self, number: int) -> Path:
        """Give the file that a rule is in."""
        rule = self.program.rules[number]
        found = None if rule.span is None else self.library.places.get(rule.span.source)
        if found is None:
            message = f"the rule `{rule.id}` lies in no file of the project"
            raise ConstatError([Diagnostic("C0884", message)])
        return found

    def shown(self, file: Path) -> str:
        """Give a file as people know it: from the project, or by the name diagnostics use."""
        for name, path in self.library.places.items():
            if path == file:
                return name
        folder = self.project.folder
        if file.is_relative_to(folder):
            return file.relative_to(folder).as_posix()
        return f"{file.parent.name}/{file.name}"

    def records(self, number: int) -> tuple[Approval, ...]:
        """Give the records beside a rule."""
        folder = self.file(number).parent
        if folder not in self._records:
            self._records[folder] = read_approvals(folder)
        return self._records[folder]

    def hashes(self, number: int) -> Hashes:
        """Give what an approval of a rule is bound to."""
        return hashes_of(self.program, number)

    def standing(self, number: int) -> Standing:
        """Say what the records make of a rule."""
        return standing(self.records(number), self.hashes(number), self.trust)

    def subject(self, number: int) -> Subject:
        """Say what a word about a rule is about; who asked is known from earlier records."""
        rule = self.program.rules[number]
        earlier = [one for one in self.records(number) if one.rule == rule.id]
        draft = next((one.draft for one in reversed(earlier) if one.draft), "")
        asked_by = next((one.asked_by for one in reversed(earlier) if one.asked_by), "")
        return Subject(rule.id, self.hashes(number), draft, asked_by)

    def subjects(self, numbers: Sequence[int]) -> tuple[Subject, ...]:
        """Say what words about rules are about."""
        return tuple(self.subject(number) for number in numbers)
