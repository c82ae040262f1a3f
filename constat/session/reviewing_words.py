"""A person's word on rules: who may give it, and the record it leaves.

In: names, keys, the project's policy. Out: `Approval` records, signed where there is a key.
Invariants: where the project trusts a key as approver only a signature is a word; nobody approves
what they asked for where four eyes are wanted; the name of a signed word is that of its key.
Example: `word(subject, approver, "as in the contract", now())`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.library.reviewing.approvals import APPROVED, Approval
from constat.library.reviewing.standing import same_person
from constat.project import APPROVER
from constat.proof.signing import RULE_TYPE, Signer, Statement, sign_statement, write_envelope

if TYPE_CHECKING:
    from constat.library.reviewing.hashes import Hashes
    from constat.library.reviewing.standing import Trust
    from constat.proof.signing import SigningKey


@dataclass(frozen=True, slots=True)
class Subject:
    """What a word is about: a rule by id and hashes, and the draft it was, if it was one."""

    rule: str
    hashes: Hashes
    draft: str = ""
    asked_by: str = ""


@dataclass(frozen=True, slots=True)
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
