"""Who let a rule in, when and why, and which rules of models are approved by that."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Any, Final

from constat.analysis import QUERIED
from constat.diagnostics import ConstatError, Diagnostic, Severity, Span
from constat.frozen import frozen
from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Kind,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
)
from constat.logic.structures import constructions, types_form
from constat.project import APPROVALS_FILE, APPROVER, ReviewSetting
from constat.proof.encoding import APPROVALS, canonical, clean, reachable, rule_digest, sha256
from constat.proof.signing import (
    RULE_TYPE,
    VALID,
    TrustedKey,
    configured_keys,
    judge,
    read_envelope,
)
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.logic import Literal, Program
    from constat.project import Project

BEYOND: Final = "_beyond_draft"
RESERVED: Final = (QUERIED, BEYOND)
"""Endings of names that no draft may give to a predicate of its own."""


def left_open(program: Program, drafted: Mapping[str, str]) -> Program:
    """Leave drafted predicates open; `drafted` names for each the draft that declares it whole."""
    predicates, rules = dict(program.predicates), list(program.rules)
    for name, draft in drafted.items():
        predicate, beyond = predicates[name], name + BEYOND
        columns = tuple(replace(column, attributes={}) for column in predicate.columns)
        says = sentence(f"{name} has, beyond the draft,", columns)
        attributes = {"closed": draft, "says": says}
        predicates[beyond] = Predicate(beyond, columns, attributes=attributes)
        rules.append(bridge(predicate, beyond, f"{beyond}.1"))
    return replace(program, predicates=predicates, rules=tuple(rules))


def bridge(predicate: Predicate, below: str, identity: str) -> Rule:
    """Give the rule by which the rows of one predicate are rows of another."""
    terms = tuple(Variable(column.name) for column in predicate.columns)
    says = predicate.attributes.get("says") or sentence(f"{predicate.name} has", predicate.columns)
    body = (Positive(Atom(below, terms)),)
    return Rule(identity, Atom(predicate.name, terms), body, attributes={"says": says})


def sentence(start: str, columns: Sequence[Column]) -> str:
    """Give a sentence that names every column."""
    named = ", ".join(f"{{{column.name}}}" for column in columns)
    return f"{start} {named}".rstrip()


def is_fenced_in(name: str, rules: Sequence[Rule]) -> bool:
    """Tell whether the rows of a drafted query reach nothing but the predicate that it serves."""
    if not name.endswith(QUERIED):
        return False
    served = name.removesuffix(QUERIED)
    users = [rule for rule in rules if name in set(used(rule.body))]
    heads = {rule.head.predicate for rule in rules}
    return name not in heads and all(_is_bridge(rule, served) for rule in users)


def used(body: Sequence[Literal]) -> Iterator[str]:
    """Yield the predicates of a body, those inside aggregates too."""
    for literal in body:
        match literal:
            case Positive(atom) | Negative(atom):
                yield atom.predicate
            case Aggregate(body=inner):
                yield from used(inner)
            case _:
                pass


def _is_bridge(rule: Rule, served: str) -> bool:
    return (
        rule.head.predicate == served
        and len(rule.body) == 1
        and isinstance(rule.body[0], Positive)
        and rule.body[0].atom.terms == rule.head.terms
    )


@frozen
class Hashes:
    """The hash of a rule, as certificates have it, and of what it rests on; empty where nothing.

    It rests on the drafted queries and the definitions of structure types that it uses.
    """

    rule: str
    queries: str = ""


def hashes_of(program: AnalysedProgram, number: int) -> Hashes:
    """Give what an approval of a rule is bound to."""
    return Hashes(rule_digest(program, number), _queries(program, number))


def hash_below(program: AnalysedProgram, names: Iterable[str]) -> str:
    """Give the hash of everything below some predicates: rules, declarations, sources, types.

    Who has approved a rule is no part of it; a sentence and a query are.
    """
    found = frozenset().union(*(reachable(program, name) for name in names))
    predicates = program.program.predicates
    declared = [predicates[name] for name in sorted(found) if name in predicates]
    numbered = enumerate(program.rules)
    rules = sorted(rule_digest(program, n) for n, one in numbered if one.head.predicate in found)
    told: dict[str, Any] = {
        one.name: [
            [[column.name, column.type_name, dict(column.attributes)] for column in one.columns],
            dict(one.attributes),
            None if one.source is None else dict(one.source.parameters),
        ]
        for one in declared
    }
    types = types_form([column for one in declared for column in one.columns])
    return sha256(canonical({"declared": told, "rules": rules, "types": types}))


def _queries(program: AnalysedProgram, number: int) -> str:
    predicates = program.program.predicates
    names = {name for name in used(program.rules[number].body) if name.endswith(QUERIED)}
    sources = {name: predicates[name].source for name in sorted(names)}
    told: dict[str, Any] = {
        name: dict(one.parameters) for name, one in sources.items() if one is not None
    }
    types = types_form(_columns(program, program.rules[number]))
    # No predicate has a dot in its name.
    told |= {".type": types} if types else {}
    return sha256(canonical(told)) if told else ""


def _columns(program: AnalysedProgram, rule: Rule) -> Iterator[Column]:
    """Yield the columns of a rule's predicates, and one for each structure that it makes."""
    predicates = program.program.predicates
    columns = [column for one in predicates.values() for column in one.columns]
    structures = next((one.structures for one in columns if one.structures is not None), None)
    for name in (rule.head.predicate, *used(rule.body)):
        yield from predicates[name].columns
    for made in constructions([rule]):
        yield Column(made.function, made.type_name, Kind.STRUCTURE, structures=structures)


FILE_NAME: Final = APPROVALS_FILE
APPROVED: Final = "approved"
WITHDRAWN: Final = "withdrawn"
FORMAT: Final = "constat-approval/1"
MOST_BYTES: Final = 4 << 20
_LONGEST_LINE: Final = 64 << 10
_LONGEST_TEXT: Final = 4_000
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z", re.ASCII)


@frozen
class Approval:
    """One person's word on one rule.

    `rule` is its id, `digest` the hash of what it says and `queries` that of what it rests on (the
    drafted queries it reads, the structure types it uses), empty where that is nothing. `draft` is
    the identity of the draft it was, and `asked_by` who asked for that; both are empty where there
    was none. `envelope` is the signed statement, empty where nobody signed.
    """

    rule: str
    digest: str
    action: str
    by: str
    reason: str
    at: str
    draft: str = ""
    asked_by: str = ""
    envelope: str = ""
    queries: str = ""

    @property
    def hashes(self) -> Hashes:
        """What it is bound to."""
        return Hashes(self.digest, self.queries)

    def says(self) -> dict[str, object]:
        """Give what a signed statement says of it beside signer and time."""
        return {
            "asked_by": self.asked_by,
            "draft": self.draft,
            "queries": self.queries,
            "reason": self.reason,
            "rule": self.rule,
        }

    def to_line(self) -> bytes:
        """Write it as a line."""
        return (canonical({"format": FORMAT, **asdict(self)}) + "\n").encode()


_MEMBERS: Final = frozenset({"format", *Approval.__dataclass_fields__})


def read_approvals(folder: Path) -> tuple[Approval, ...]:
    """Read the records of a folder; none where it has no such file.

    Raises `ConstatError` for a file that is damaged: what cannot be read might withdraw something.
    """
    name = f"{folder.name}/{FILE_NAME}"
    try:
        with (folder / FILE_NAME).open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return ()
    except OSError as problem:
        raise _damaged(problem.strerror or type(problem).__name__, name) from None
    return parse_approvals(content, name)


def parse_approvals(content: bytes, name: str = FILE_NAME) -> tuple[Approval, ...]:
    """Read the records of a file's bytes; `name` is the file's. Raises `ConstatError`."""
    if len(content) > MOST_BYTES:
        raise _damaged(f"it is larger than {MOST_BYTES >> 20} MiB", name)
    if content and not content.endswith(b"\n"):
        raise _damaged("it does not end with a line end", name)
    found = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            found.append(_read_line(line))
        except ValueError as problem:
            raise _damaged(str(problem), name, number) from None
    return tuple(found)


def _read_line(line: bytes) -> Approval:
    """Read one record; raises `ValueError` with the reason against it."""
    try:
        written = json.loads(line) if len(line) <= _LONGEST_LINE else None
    except (ValueError, RecursionError):
        written = None
    if not isinstance(written, dict) or written.keys() != _MEMBERS:
        raise ValueError("the line is no record of an approval")
    if not all(isinstance(one, str) for one in written.values()) or written["format"] != FORMAT:
        raise ValueError("the line is no record of an approval")
    del written["format"]
    found = Approval(**written)
    # One spelling: whoever adds a line can compare bytes, and nothing hides in white space.
    if found.to_line() != line + b"\n":
        raise ValueError("the line is not in canonical form")
    problem = _misfit(found)
    if problem:
        raise ValueError(problem)
    return found


def _misfit(one: Approval) -> str:
    if one.action not in {APPROVED, WITHDRAWN}:
        return "the record neither approves nor withdraws"
    hashes = (one.digest, *filter(None, (one.queries,)))
    if not all(map(_SHA256.match, hashes)) or not _TIME.match(one.at):
        return "the record has no hash of a rule, or no time"
    named = one.by.strip() and one.by.isprintable() and one.rule.strip()
    if not named or any(len(text) > _LONGEST_TEXT for text in (one.by, one.reason, one.rule)):
        return "the record does not name who and what"
    return ""


def _damaged(reason: str, name: str, line: int = 0) -> ConstatError:
    span = Span(name, line, 1, line, 2) if line else None
    message = f"`{name}` cannot be used: {reason}"
    note = "until it is mended nothing that it approves can be told from what it withdraws"
    hint = "take the file of the last commit"
    return ConstatError([Diagnostic("C0885", message, span, note=note, help=hint)])


BY: Final = "approved.by"
AT: Final = "approved.at"
DRAFT: Final = "approved.by.draft"
"""The attribute that names the drafts which an approved rule was; no text can set it."""


@frozen
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


@frozen
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

    A rule that a person wrote is plain without, unless the project requires that it is approved.
    Raises `ConstatError` for records that are damaged.
    """
    required = trust.setting.required
    records = [one for folder in dict.fromkeys(folders) for one in read_approvals(folder)]
    if not (records or required):
        return program
    known = {one.rule for one in records}
    rules = list(program.rules)
    for number, rule in enumerate(rules):
        needs = rule.proposed or (required and bool(rule.body))
        if not needs and rule.id not in known:
            continue
        found = standing(records, hashes_of(program, number), trust)
        if found.approved:
            rules[number] = _approved(rule, found.counted)
        elif needs:
            rules[number] = replace(rule, proposed=True)
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
