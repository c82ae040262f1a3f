"""Which rules of models are approved, by the records beside them and what the project asks.

In: an analysed program, records, the project's keys and its `review:`. Out: the program in which
approved rules are plain, and what each record is worth. Invariants: the text of a rule never
approves it; an approval counts for exactly what the rule said when it was given; where a project
trusts a key as approver only signatures count. Example: DRAFT1 with one record by Ada is approved,
and after a change of its threshold it is proposed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.library.reviewing.approvals import APPROVED, WITHDRAWN, Approval, read_approvals
from constat.library.reviewing.hashes import hashes_of
from constat.project import APPROVER, ReviewSetting
from constat.proof.canonical import canonical, clean
from constat.proof.encoding import APPROVALS
from constat.proof.signing import RULE_TYPE, TrustedKey, judge, read_envelope
from constat.proof.signing.configured_keys import configured_keys
from constat.proof.signing.trust import VALID
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.library.reviewing.hashes import Hashes
    from constat.logic import Rule
    from constat.project import Project

BY: Final = "approved.by"
AT: Final = "approved.at"
DRAFT: Final = "approved.by.draft"
"""The attribute that names the drafts which an approved rule was; no text can set it."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What makes an approval count: the project's policy and its keys.

    `owners` are the names that the project gives the keys, by their ids: the name in a signature is
    the signer's own word.
    """

    setting: ReviewSetting
    keys: Mapping[str, TrustedKey] = field(default_factory=dict, hash=False)
    owners: Mapping[str, str] = field(default_factory=dict, hash=False)
    present: str = ""

    @property
    def signed(self) -> bool:
        """Whether only signatures count."""
        if self.setting.signed is not None:
            return self.setting.signed
        return any(one.roles is None or APPROVER in one.roles for one in self.keys.values())


@dataclass(frozen=True, slots=True)
class Standing:
    """What the records say of one rule: those that count, how many are needed, and doubts."""

    counted: tuple[Approval, ...]
    needed: int
    doubts: tuple[str, ...] = ()

    @property
    def approved(self) -> bool:
        """Whether the rule is approved."""
        return len(self.counted) >= self.needed


def project_trust(project: Project, present: str) -> Trust:
    """Give what makes an approval count in a project. Raises `ConstatError` for a broken key."""
    settings = tuple(project.keys.values())
    owners = {key: one.name for one in settings for key in configured_keys((one,))}
    return Trust(project.review, configured_keys(settings), owners, present)


def same_person(one: str, other: str) -> bool:
    """Whether two names are one: neither case nor spaces around make two people."""
    return one.strip().casefold() == other.strip().casefold()


def needed_for(setting: ReviewSetting, asked_by: str) -> int:
    """Give how many approvers a rule needs.

    Where nobody knows who asked, four eyes are two approvers: one of them was somebody else.
    """
    unknown = setting.four_eyes and not asked_by.strip()
    return max(setting.approvers, 2) if unknown else setting.approvers


def standing(records: Iterable[Approval], hashes: Hashes, trust: Trust) -> Standing:
    """Say what the records make of the rule with these hashes, in the order of the file."""
    alive: list[Approval] = []
    for one in records:
        if one.hashes == hashes:
            alive = [*alive, one] if one.action == APPROVED else []
    asked_by = next((one.asked_by for one in alive if one.asked_by), "")
    counted: dict[str, Approval] = {}
    doubts: list[str] = []
    for one in alive:
        doubt = _doubt(one, asked_by, trust)
        if doubt:
            doubts.append(f"the word of {one.by}: {doubt}")
        else:
            counted.setdefault(_person(one, trust), one)
    return Standing(tuple(counted.values()), needed_for(trust.setting, asked_by), tuple(doubts))


def _person(one: Approval, trust: Trust) -> str:
    """Name who gave a word: by the key where signatures count, for its owner may write any name."""
    return _key_of(one.envelope) if trust.signed else one.by.strip().casefold()


def _doubt(one: Approval, asked_by: str, trust: Trust) -> str:
    """Say why an approval does not count; empty where it does."""
    own = "who asks for a rule does not approve it"
    if trust.setting.four_eyes and same_person(one.by, asked_by):
        return own
    if not trust.signed:
        return ""
    if not one.envelope:
        return "it is not signed"
    subject = (RULE_TYPE, one.digest.removeprefix("sha256:"), one.says())
    findings = judge(one.envelope.encode() + b"\n", trust.keys, subject, trust.present)
    if len(findings) != 1 or findings[0].signer is None:
        return findings[0].reason if findings else "it is not signed"
    found, signer = findings[0], findings[0].signer
    if found.status != VALID:
        return found.reason
    if signer.role != APPROVER or signer.name != one.by or signer.time != one.at:
        return "the signature is another person's, in another role or of another time"
    owner = trust.owners.get(signer.key, "")
    return own if trust.setting.four_eyes and same_person(owner, asked_by) else ""


def with_approvals(
    program: AnalysedProgram,
    folders: Iterable[Path],
    trust: Trust,
    diagnostics: list[Diagnostic],
) -> AnalysedProgram:
    """Give the program in which approved rules are plain; `diagnostics` receives doubts.

    Raises `ConstatError` for records that are damaged.
    """
    if not any(rule.proposed for rule in program.rules):
        return program
    records = [one for folder in dict.fromkeys(folders) for one in read_approvals(folder)]
    if not records:
        return program
    rules = list(program.rules)
    for number, rule in enumerate(rules):
        if rule.proposed:
            found = standing(records, hashes_of(program, number), trust)
            if found.approved:
                rules[number] = _approved(rule, found.counted)
            else:
                diagnostics += _lost(rule, found, records)
    kept = tuple(rules)
    return replace(program, rules=kept, program=replace(program.program, rules=kept))


def approved_program(
    program: AnalysedProgram,
    files: Iterable[Path],
    project: Project | None,
    diagnostics: list[Diagnostic],
) -> AnalysedProgram | None:
    """Give the program with the approvals beside its files; `None` where a record is damaged."""
    try:
        trust = Trust(ReviewSetting(signed=False))
        if project is not None:
            trust = project_trust(project, now())
        return with_approvals(program, [one.parent for one in files], trust, diagnostics)
    except ConstatError as problem:
        diagnostics += problem.diagnostics
        return None


def _approved(rule: Rule, counted: Sequence[Approval]) -> Rule:
    said = {
        BY: ", ".join(one.by for one in counted),
        AT: max(one.at for one in counted),
        DRAFT: " ".join(dict.fromkeys(one.draft for one in counted if one.draft)),
        APPROVALS: "\n".join(map(certified, counted)),
    }
    return replace(rule, proposed=False, attributes={**rule.attributes, **said})


def certified(one: Approval) -> str:
    """Write an approval as certificates carry it (FORMAT.md, section 3)."""
    key = _key_of(one.envelope) if one.envelope else None
    return canonical({"at": one.at, "by": clean(one.by), "key": key, "rule": one.digest})


def _key_of(envelope: str) -> str:
    return read_envelope(envelope.encode()).key_id


def why_proposed(rule: Rule, found: Standing, records: Sequence[Approval]) -> str:
    """Say why a rule is proposed although there are records about it; empty without any."""
    earlier = [one for one in records if one.rule == rule.id]
    if found.counted or found.doubts:
        enough = f"{len(found.counted)} of {found.needed} approvals count"
        return "; ".join((enough, *found.doubts))
    if not earlier:
        return ""
    if earlier[-1].action == WITHDRAWN:
        return f"{earlier[-1].by} has withdrawn the approval"
    return f"it was edited since {earlier[-1].by} approved it"


def _lost(rule: Rule, found: Standing, records: Sequence[Approval]) -> Iterable[Diagnostic]:
    """Warn of a rule that is proposed although there are records about it."""
    reason = why_proposed(rule, found, records)
    if not reason:
        return
    yield Diagnostic(
        "C0885",
        f"the rule `{rule.id}` is only proposed: {reason}",
        rule.span,
        note="an approval counts for what the rule said when it was given",
        help=f"look at it, then `constat rules approve {rule.id} --by NAME --reason TEXT`",
        severity=Severity.WARNING,
    )
