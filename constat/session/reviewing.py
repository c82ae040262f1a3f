"""Reviews: what was drafted, what it would change, and the decisions of people about it."""

from __future__ import annotations

import difflib
import time
from collections import Counter
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from constat.analysis import analyse
from constat.analysis.goals import below
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.library.approvals import (
    APPROVED,
    DRAFT,
    WITHDRAWN,
    Approval,
    Hashes,
    Standing,
    Trust,
    hashes_of,
    needed_for,
    parse_approvals,
    project_trust,
    read_approvals,
    same_person,
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
    Library,
    Placement,
    case_files,
    place_draft,
    try_cases,
    write_cases,
    write_placement,
    write_records,
)
from constat.logic import Comparison, Constant, Kind, Positive, Rule
from constat.model import ModelError
from constat.plan.compilation import predicates_of
from constat.project import APPROVER
from constat.project.reading import suggestion
from constat.proof.sentences import RuleWords
from constat.proof.signing import RULE_TYPE, Signer, Statement, sign_statement, write_envelope
from constat.proof.written import written_body
from constat.session.answers import Settled
from constat.session.cases import checked_verdict
from constat.session.models import Models
from constat.store.clock import now
from constat.store.drafts import Decision, Endorsement, NewDraft, check_decision
from constat.syntax import print_row, print_rule
from constat.syntax.lowering import is_proposed, letters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.library.reviewing.placement import Tried
    from constat.logic import Predicate, Row
    from constat.model import Task
    from constat.model.asking import AskingClient
    from constat.project import Project
    from constat.proof.sentences import Speech
    from constat.proof.signing import SigningKey
    from constat.session.answers import AnswerRow, Answers
    from constat.session.session import Session
    from constat.store.drafts import Draft

# A review as people and programs read it: what rules would change, before and after.

SECONDS: Final = 30.0
MOST_ROWS: Final = 2_000_000
_MOST_PREDICATES: Final = 40
_MOST_SHOWN: Final = 5
ABSENT: Final = "absent"


class Answering(Protocol):
    """A session, as far as effects need one."""

    @property
    def program(self) -> AnalysedProgram:
        """The rules that count."""
        ...

    def query(self, query: str) -> Answers:
        """Find all answers."""
        ...


@frozen
class Transition:
    """So many rows had one verdict and have another; `ABSENT` is that of rows not listed."""

    before: str
    after: str
    count: int
    shown: tuple[str, ...]


@frozen
class Effect:
    """What becomes of one predicate: rows before and after, whether the sets are known.

    `reason` says why the rows were not compared, or not all; empty where they were.
    """

    predicate: str
    rows_before: int
    rows_after: int
    settled_before: str
    settled_after: str
    transitions: tuple[Transition, ...]
    reason: str = ""

    @property
    def changes(self) -> int:
        """The number of rows that differ."""
        return sum(one.count for one in self.transitions)

    @property
    def is_none(self) -> bool:
        """Whether it is known that nothing has changed."""
        known = self.settled_before == self.settled_after != Settled.OPEN.value
        return known and not self.transitions and not self.reason


def effects(
    before: Answering, after: Answering, heads: Iterable[str], *, seconds: float = SECONDS
) -> tuple[Effect, ...]:
    """Compare the predicates that rules for `heads` bear on, the nearest first.

    What rests only on predicates that stay as they are stays as it is, and is not looked at.
    """
    until = time.monotonic() + seconds
    predicates = after.program.program.predicates
    using = _dependents(after.program)
    waiting = dict.fromkeys(name for name in heads if name in predicates)
    found: dict[str, Effect] = {}
    while waiting:
        name = next(iter(waiting))
        del waiting[name]
        if len(found) >= _MOST_PREDICATES or time.monotonic() > until:
            reason = "not compared: there is no time left for it"
            found[name] = Effect(name, 0, 0, "", "", (), reason)
        else:
            found[name] = _effect(predicates[name], before, after, until)
        if not found[name].is_none:
            waiting |= dict.fromkeys(one for one in using.get(name, ()) if one not in found)
    return tuple(found.values())


def _dependents(program: AnalysedProgram) -> dict[str, dict[str, None]]:
    """Name for each predicate those whose rules speak about it."""
    using: dict[str, dict[str, None]] = {}
    for rule in program.rules:
        for literal in rule.body:
            for name in predicates_of(literal):
                using.setdefault(name, {})[rule.head.predicate] = None
    return using


def _effect(predicate: Predicate, before: Answering, after: Answering, until: float) -> Effect:
    known = predicate.name in before.program.program.predicates
    try:
        later = after.query(_goal(predicate)).checked()
        earlier = before.query(_goal(predicate)).checked() if known else None
    except ConstatError as problem:
        reason = f"not compared: {problem.diagnostics[0].message}"
        return Effect(predicate.name, 0, 0, "", "", (), reason)
    stopped = later.stopped or (earlier.stopped if earlier is not None else "")
    transitions, complete = ((), True) if stopped else _compare(predicate, earlier, later, until)
    reason = f"not compared: {stopped}" if stopped else ""
    if not complete:
        reason = "only the first rows were compared"
    return Effect(
        predicate.name,
        0 if earlier is None else len(earlier),
        len(later),
        "" if earlier is None else earlier.settled.value,
        later.settled.value,
        transitions,
        reason,
    )


def _goal(predicate: Predicate) -> str:
    return f"{predicate.name}({', '.join(f'?c{place}' for place in range(predicate.arity))})"


def _compare(
    predicate: Predicate, earlier: Answers | None, later: Answers, until: float
) -> tuple[tuple[Transition, ...], bool]:
    """Walk through both sides in the order of their values."""
    counts: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], list[str]] = {}
    complete = True
    for number, (row, *verdicts) in enumerate(_merged(earlier, later)):
        if number >= MOST_ROWS or (number % 10_000 == 0 and time.monotonic() > until):
            complete = False
            break
        pair = (verdicts[0], verdicts[1])
        if _decided(pair[0]) != _decided(pair[1]):
            counts[pair] += 1
            examples = shown.setdefault(pair, [])
            if len(examples) < _MOST_SHOWN:
                examples.append(print_row(predicate, row))
    found = tuple(
        Transition(pair[0], pair[1], count, tuple(shown[pair]))
        for pair, count in sorted(counts.items())
    )
    return found, complete


def _decided(label: str) -> str:
    """Leave out whether a row was proved or computed: which engine found it is no effect."""
    return label.removesuffix(", not checked").replace("COMPUTED", "PROVED")


def _merged(earlier: Answers | None, later: Answers) -> Iterator[tuple[Row, str, str]]:
    """Yield each row of either side once, with its verdicts."""
    olds: Iterator[AnswerRow] = iter(()) if earlier is None else iter(earlier)
    news = iter(later)
    old, new = next(olds, None), next(news, None)
    while old is not None or new is not None:
        if new is None or (old is not None and old.values < new.values):
            if old is None:
                raise TypeError("one side has a row")
            yield old.values, old.verdict.label, ABSENT
            old = next(olds, None)
        elif old is None or new.values < old.values:
            yield new.values, ABSENT, new.verdict.label
            new = next(news, None)
        else:
            yield new.values, old.verdict.label, new.verdict.label
            old, new = next(olds, None), next(news, None)


# Both say the same; nothing is cut in JSON.


@frozen
class Item:
    """A draft, or a proposed rule of a file (`kind` is `draft` or `rule`), in one line.

    `identity` is what `approve` and `reject` take. `approvals` of `needed` are there.
    """

    identity: str
    kind: str
    status: str
    purpose: str
    goal: str
    model: str
    asked_by: str
    at: str
    rules: tuple[str, ...]
    approvals: tuple[str, ...]
    needed: int
    reason: str = ""

    def to_json(self) -> dict[str, object]:
        """Give it as a JSON object."""
        return {name: _listed(value) for name, value in asdict(self).items()}


@frozen
class Review:
    """What a person should know before they decide.

    `meanings` say each rule in words, `rests_on` names what they rest on and no rule derives.
    `file` is where the rules are or would be. `difference` is a unified one. `amended` are
    predicates that were there and get rules, `replaced` the ids and texts of rules that give way.
    `problem` says why it cannot be approved as it is; then the rest is empty.
    """

    item: Item
    text: str
    file: str = ""
    difference: str = ""
    amended: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    cases: tuple[Tried, ...] = ()
    effects: tuple[Effect, ...] = ()
    remarks: tuple[str, ...] = ()
    problem: str = ""
    meanings: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Give it as a JSON object."""
        return {
            **self.item.to_json(),
            "text": self.text,
            "file": self.file,
            "difference": self.difference,
            "amended": list(self.amended),
            "replaced": [{"id": one, "text": text} for one, text in self.replaced],
            "cases": [
                {"name": one.name, "own": one.own, "problems": list(one.problems)}
                for one in self.cases
            ],
            "effects": [effect_to_json(one) for one in self.effects],
            "remarks": list(self.remarks),
            "problem": self.problem,
            "meanings": list(self.meanings),
            "rests_on": list(self.rests_on),
        }

    def to_lines(self) -> Iterator[str]:
        """Give it for people."""
        item = self.item
        yield f"{item.kind} {item.identity}: {item.status}"
        yield from _told("asked", item.purpose)
        yield from _told("goal", item.goal)
        drafter = item.model or "somebody"
        yield from _told("drafted by", f"{drafter} at {item.at}" if item.at else drafter)
        yield from _told("asked by", item.asked_by)
        yield f"approvals: {len(item.approvals)} of {item.needed}" + (
            f" ({', '.join(item.approvals)})" if item.approvals else ""
        )
        yield from _told("reason", item.reason)
        yield ""
        if self.problem:
            yield from _indented(self.text)
            yield ""
            yield f"cannot be approved: {self.problem}"
            return
        for one in self.amended:
            yield f"amends: {one}, which has rules or rows already"
        for identity, text in self.replaced:
            yield f"takes the place of {identity}:"
            yield from _indented(text)
        if self.difference:
            yield from self.difference.rstrip("\n").split("\n")
        else:
            yield f"in {self.file}:"
            yield from _indented(self.text)
        yield ""
        if self.meanings:
            yield "in words:"
        yield from (f"  {one}" for one in self.meanings)
        if self.rests_on:
            yield f"rests on: {', '.join(self.rests_on)}"
        yield from self._findings()

    def _findings(self) -> Iterator[str]:
        failing = [one for one in self.cases if one.problems]
        bare = self.item.kind == "draft" and not any(one.own for one in self.cases)
        yield f"cases: {len(self.cases) - len(failing)} of {len(self.cases)} pass" + (
            "; the draft brings none of its own" if bare else ""
        )
        for one in failing:
            yield from (f"  {one.name}: {problem}" for problem in one.problems)
        yield "effect on the present data:"
        for effect in self.effects:
            yield from effect_lines(effect)
        if not self.effects:
            yield "  none"
        if self.remarks:
            yield "remarks:"
        yield from (f"  {one}" for one in self.remarks)


@frozen
class Decided:
    """What a decision came to: the status that the draft or the rules have now.

    `file` is where the rules are, `signed` whether the word is signed; `have` of the `needed`
    approvals count.
    """

    identity: str
    kind: str
    status: str
    rules: tuple[str, ...] = ()
    file: str = ""
    signed: bool = False
    have: int = 0
    needed: int = 0


def _told(label: str, text: str) -> Iterator[str]:
    if text:
        first, *rest = text.split("\n")
        yield f"{label}: {first}"
        yield from (f"  {line}" for line in rest)


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.rstrip("\n").split("\n"))


def effect_lines(effect: Effect) -> Iterator[str]:
    """Say in lines how the rows of a predicate differ."""
    if effect.reason and not effect.transitions:
        yield f"  {effect.predicate}: {effect.reason}"
        return
    rows = f"{effect.rows_before:,} rows before, {effect.rows_after:,} after"
    yield f"  {effect.predicate}: {rows}, {effect.changes:,} differ" + (
        f" ({effect.reason})" if effect.reason else ""
    )
    for one in effect.transitions:
        more = f", and {one.count - len(one.shown):,} more" if one.count > len(one.shown) else ""
        yield f"    {one.before} -> {one.after}: {', '.join(one.shown)}{more}"


def effect_to_json(effect: Effect) -> dict[str, object]:
    """Give it as JSON values."""
    found = {name: _listed(value) for name, value in asdict(effect).items()}
    found["transitions"] = [
        {name: _listed(value) for name, value in asdict(one).items()} for one in effect.transitions
    ]
    return found


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


# The rules of a project as a reviewer sees them, and a person's word on them.


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


def check_owned(
    approver: Approver, items: Iterable[Rule | Predicate], program: AnalysedProgram, trust: Trust
) -> None:
    """Raise `ConstatError` where others decide about rules and declarations of that owner."""
    listed = trust.setting.owners
    if not listed:
        return
    predicates = program.program.predicates
    there = {*map(_owner, program.rules), *map(_owner, predicates.values())}
    if unknown := sorted(listed.keys() - there):
        # A slip would leave its rules to every approver.
        message = f"`review: {{owners: ...}}` names `{unknown[0]}`, which owns no rule"
        hint = suggestion(unknown[0], there - {""}) or f"write `@[owner = {unknown[0]}]` at a rule"
        raise ConstatError([Diagnostic("C0889", message, help=hint)])
    # Whoever holds a trusted key may have written any name into it.
    name = approver.name
    if approver.key is not None and trust.signed:
        name = trust.owners.get(approver.key.public.id, "")
    for item in items:
        above = predicates.get(item.head.predicate) if isinstance(item, Rule) else None
        for owner in (_owner(item), "" if above is None else _owner(above)):
            people = listed.get(owner)
            if people is not None and not any(same_person(name, one) for one in people):
                note = f"it is for {', '.join(people[:5]) or 'nobody'}: `review: {{owners: ...}}`"
                hint = "ask one of them"
                raise _refused(f"{name} does not decide about rules of {owner}", hint, note)


def _owner(item: Rule | Predicate) -> str:
    return item.attributes.get("owner", "")


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

    def read(self, draft: Draft) -> tuple[Rule | Predicate, ...]:
        """Give what a draft proposes: nothing where it cannot be read, so anybody may reject it."""
        known = self.program.program.predicates
        try:
            found = read_draft(draft, known)
        except ConstatError:
            return ()
        return (*found.rules, *(one for name, one in found.predicates.items() if name not in known))

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
        found = Review(
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
        return _explained(found, placement.program, drafted.rules, self.session.speech)

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
        found = Review(
            item=item,
            text="\n".join(print_rule(plain(rule), program.program.predicates) for rule in rules),
            file=library.shown(file),
            cases=self._cases(placement, None),
            effects=self._effects(
                without, accepted, dict.fromkeys(one.head.predicate for one in rules), seconds
            ),
            remarks=tuple(filter(None, dict.fromkeys(doubts))),
        )
        return _explained(found, program, rules, self.session.speech)


def _explained(
    review: Review, program: AnalysedProgram, rules: Iterable[Rule], speech: Speech
) -> Review:
    """Say its rules in words, and name the relations that they rest on and no rule derives."""
    rules_for = program.program.rules_for
    meanings, found = [], dict[str, None]()
    for rule in rules:
        words = RuleWords.of(rule, program.program.predicates, speech)
        every = (words.requires(one.literal) for one in written_body(rule.body))
        asked = "; ".join(filter(None, every))
        said = words.says() or words.requires(Positive(rule.head))
        meanings.append(f"{rule.id}: {said}" + (f". It requires that {asked}." if asked else ""))
        found |= dict.fromkeys(below(program, rule.head.predicate))
    given = tuple(one for one in found if not any(rule.body for rule in rules_for(one)))
    return replace(review, meanings=tuple(meanings), rests_on=given)


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

    def approve(  # noqa: PLR0913  each option has a name
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
        check_owned(given.approver, library.read(draft), library.program, library.trust)
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
        who = Approver(decision.by)
        if numbers:
            check_owned(who, library.rules(numbers), library.program, library.trust)
            return self._reject_rules(library, name, numbers, decision)
        draft = self._session.drafts.get(name)
        check_owned(who, library.read(draft), library.program, library.trust)
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
        check_owned(given.approver, library.rules(numbers), library.program, library.trust)
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
