"""Answer questions as if drafts of the quarantine were rules, or as if nothing unapproved were.

In: a session and drafts. Out: sessions over other programs, that answer everything a session does.
Invariants: a draft joins only where it is asked for; what rests on it is UNDER that assumption and
names it; where only approved rules count, what needs another one is UNRESOLVED and says which, and
what needs none is as ever. Example:
`with session.drafted(["3fa1b2c4"]) as other: other.prove("may_leave(C005)")`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.analysis import analyse
from constat.analysis.attributes import NO_REASON, REASONS
from constat.authoring.telling import NotSaid, Pointed, Said, examine, pointed, prompt_for
from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Answer, Opening
from constat.library.approvals import BEYOND
from constat.library.reviewing.drafts import JoinedProgram, join_drafts
from constat.logic import OPEN, Atom, Column, Constant, Kind, Positive, Predicate
from constat.model import ModelError, Task, Usage
from constat.proof.encoding import APPROVALS
from constat.proof.overlay import Overlay, overlaid
from constat.proof.reading import UNAPPROVED
from constat.session.leaves import JoinedDraft
from constat.store import facts as telling
from constat.store.state_file import unprintable
from constat.syntax.mistakes.goals import fact_example

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Demand, Observer
    from constat.logic import Rule
    from constat.model import Reply
    from constat.project import Project
    from constat.session.models import Models
    from constat.session.result import Result
    from constat.session.stated import StatedFacts
    from constat.store import StoredFact
    from constat.store.drafts import Draft, DraftStore
    from constat.tiers import Tiers

# Facts out of a text: a model names them; none is kept whose words the text does not hold.

_LONGEST_NAME: Final = 200


class Listening(Protocol):
    """A session, as far as telling needs one."""

    facts: StatedFacts

    @property
    def program(self) -> AnalysedProgram:
        """The rules."""
        ...

    @property
    def models(self) -> Models:
        """The models."""
        ...

    def prove(self, goal: str, *, observe: Observer | None = None) -> Result:
        """Prove or disprove a goal."""
        ...


@dataclass(frozen=True)
class FactsOfText:
    """What a text says: `said` can be kept, `refused` cannot; `model` found them, if one did.

    `usage` is what finding them has used.
    """

    text: str
    author: str
    goal: str
    said: tuple[Said, ...]
    refused: tuple[NotSaid, ...]
    model: str = ""
    prompt: str = ""
    response: str = ""
    usage: Usage = field(default_factory=Usage)
    session: Listening | None = field(default=None, repr=False, compare=False)
    source: str = ""
    """Which document the text is of, with its hash; empty for none."""

    def keep(self, note: str = "") -> tuple[StoredFact, ...]:
        """Keep the facts that the text says, as stated by its author."""
        note = "; ".join(filter(None, (self.source, note)))
        return tuple(
            self._session.facts.add(
                one.fact,
                author=self.author,
                note=note,
                told=telling.Wording(
                    self.text, one.start, one.end, self.model, self.prompt, self.response
                ),
            )
            for one in self.said
        )

    def retry(self, observe: Observer | None = None) -> Result:
        """Prove the goal again, which lacked these facts."""
        return self._session.prove(self.goal, observe=observe)

    @property
    def _session(self) -> Listening:
        if self.session is None:
            raise TypeError("what was told belongs to no session")
        return self.session


def tell(
    session: Listening, text: str, *, author: str, goal: str = "", atoms: Sequence[str] = ()
) -> FactsOfText:
    """Read what a text says. With `atoms` they are looked for in it, and no model is asked.

    `goal` is what the facts are for: a model is told which ones it lacks. Raises `ConstatError`.
    """
    telling.check_told_text(text)
    if not author.strip() or len(author) > _LONGEST_NAME or unprintable(author):
        message = "a fact needs the name of the person who tells it"
        raise ConstatError([Diagnostic("C0551", message, help="add `--by NAME`")])
    program = session.program
    if atoms:
        said, refused = examine(program, text, [Pointed(one) for one in atoms])
        return FactsOfText(text, author, goal, said, refused, session=session)
    reply = _asked(session, text, goal)
    claims, unread = pointed(reply, program)
    said, refused = examine(program, text, claims)
    return FactsOfText(
        text,
        author,
        goal,
        said,
        (*unread, *refused),
        reply.model,
        reply.prompt_hash,
        reply.response_hash,
        reply.usage,
        session,
    )


def _asked(session: Listening, text: str, goal: str) -> Reply:
    wanted = _lacking(session, goal) if goal else ()
    prompt = prompt_for(session.program, text, wanted)
    try:
        return session.models.client(Task.EXTRACT).ask(prompt)
    except ModelError as problem:
        predicates = session.program.program.predicates
        stated = next((predicates[one] for one in sorted(session.program.external)), None)
        fact = "FACT" if stated is None else fact_example(stated)
        hint = f"name the facts oneself: `--as '{fact}'`"
        raise ConstatError([Diagnostic(problem.code, str(problem), help=hint)]) from None


def _lacking(session: Listening, goal: str) -> tuple[str, ...]:
    """Name the predicates whose facts a goal lacks now."""
    result = session.prove(goal)
    return tuple(dict.fromkeys(name for name, _ in result.decision.missing))


# Answer questions as if drafts of the quarantine were rules, or as if nothing unapproved were.

__all__ = [
    "PLAN_OF",
    "JoinedProgram",
    "approved_only",
    "drafts_of",
    "join_drafts",
    "join_named",
    "unused",
    "was_unused",
    "with_drafts",
    "with_joined",
    "without_plans",
]

PLAN_OF: Final = "sub-plan of "
"""What the purpose of a draft begins with that was made for a predicate nothing answers."""

# The ids that rules of drafts have: `library.reviewing.drafted_rules` makes them.
_DRAFTED: Final = re.compile(r"D([0-9a-f]{8})-[0-9]+\Z")

_GUARD: Final = Predicate(
    UNAPPROVED,
    (Column("rule", "symbol", Kind.SYMBOL),),
    attributes={
        "says": "rule {rule} is approved",
        "says_unknown": "nobody has approved rule {rule}",
    },
)


def with_drafts(program: AnalysedProgram, drafts: Sequence[Draft]) -> AnalysedProgram:
    """Give the program with drafts that add to it. Raises `ConstatError` for one that amends it."""
    return join_drafts(program, drafts).program


def join_named(program: AnalysedProgram, drafts: Sequence[Draft]) -> JoinedProgram:
    """Give the program with drafts that somebody names: they may amend and replace what is there.

    What a sub-plan derives stays open to what people state. Raises `ConstatError`.
    """
    planned = frozenset(
        one.purpose.removeprefix(PLAN_OF) for one in drafts if one.purpose.startswith(PLAN_OF)
    )
    if planned:
        # Few drafts are plans: what only drafting needs is not loaded for the others.
        from constat.authoring.checking import stays_open  # noqa: PLC0415  loaded when it is used

        own = program.program
        opened = {name: stays_open(one, planned) for name, one in own.predicates.items()}
        program = replace(program, program=replace(own, predicates=opened))
    return join_drafts(program, drafts, amending=True)


def drafts_of(
    document: Mapping[str, Any], session: Reviewed, named: Sequence[str] | None
) -> tuple[JoinedDraft, ...]:
    """Give the drafts that a certificate rests on: those named, or those whose rules it has.

    One that the quarantine has not has no status; `ConstatError` where it was named.
    """
    if named is not None:
        drafts = [session.drafts.get(one) for one in named]
        return tuple(JoinedDraft(one.identity, one.status) for one in drafts)
    known = {rule.id for rule in session.program.rules}
    used = (one["id"] for one in document["rules"] if one["id"] not in known)
    prefixes = dict.fromkeys(found[1] for one in used if (found := _DRAFTED.match(one)))
    return tuple(_looked_up(session.drafts, one) for one in prefixes)


def _looked_up(store: DraftStore, prefix: str) -> JoinedDraft:
    try:
        draft = store.get(prefix)
    except ConstatError:
        return JoinedDraft(prefix)
    return JoinedDraft(draft.identity, draft.status)


def approved_only(program: AnalysedProgram) -> AnalysedProgram:
    """Give the program in which a rule that nobody approved gives nothing that could be accepted.

    Each gets a guard of which nothing is known: what the rule would give stays possible. Facts of
    rule files are no rules, and what nobody wrote into a file follows from what somebody did.
    """
    if not any(map(_is_unapproved, program.rules)):
        return program
    rules = tuple(
        _guarded(rule) if _is_unapproved(rule) else rule for rule in program.program.rules
    )
    predicates = {**program.program.predicates, UNAPPROVED: _GUARD}
    diagnostics: list[Diagnostic] = []
    found = analyse(replace(program.program, predicates=predicates, rules=rules), diagnostics)
    if found is None:
        raise TypeError("a program with guards was not analysed")
    return found


def unused(joined: JoinedProgram) -> JoinedProgram:
    """Give a joined program in which the draft decides nothing: neither what is nor what is not."""
    program = joined.program.program
    predicates = {
        name: replace(one, attributes={k: v for k, v in one.attributes.items() if k != "closed"})
        if name.endswith(BEYOND)
        else one
        for name, one in program.predicates.items()
    }
    opened = replace(joined.program, program=replace(program, predicates=predicates))
    return replace(joined, program=approved_only(opened))


def was_unused(document: Mapping[str, Any]) -> bool:
    """Tell whether a certificate was made where only approved rules counted."""
    bodies = (one["body"] for one in document["rules"])
    return any(part[0] == "+" and part[1][0] == UNAPPROVED for body in bodies for part in body)


def _is_unapproved(rule: Rule) -> bool:
    written = bool(rule.body) and rule.span is not None
    return rule.proposed or (written and APPROVALS not in rule.attributes)


def _guarded(rule: Rule) -> Rule:
    guard = Positive(Atom(UNAPPROVED, (Constant(rule.id, Kind.SYMBOL),)))
    attributes = dict(rule.attributes)
    if REASONS in attributes:
        # There is one for each literal, and the guard is no reason.
        attributes[REASONS] += f", {NO_REASON}"
    return replace(rule, body=(*rule.body, guard), attributes=attributes, proposed=False)


class Reviewed(Protocol):
    """A session, as far as drafts are looked up in it."""

    @property
    def program(self) -> AnalysedProgram:
        """The rules."""
        ...

    @property
    def drafts(self) -> DraftStore:
        """The quarantine."""
        ...


def with_joined(tiers: Tiers, program: AnalysedProgram, joined: JoinedProgram) -> Tiers:
    """Give the tiers of a program that drafts have joined."""
    externals = overlaid(tiers.externals, program, Overlay(dropped=joined.dropped))
    if UNAPPROVED in program.external:
        externals = {**externals, UNAPPROVED: _Unapproved()}
    return replace(tiers, externals=externals)


def without_plans(project: Project, joined: JoinedProgram) -> Project:
    """Give a project that plans nothing for what a draft in the program derives already."""
    own = frozenset(joined.rules)
    derived = {rule.head.predicate for rule in joined.program.rules if rule.id in own}
    names = tuple(one for one in project.sub_plans.predicates if one not in derived)
    return replace(project, sub_plans=replace(project.sub_plans, predicates=names))


class _Unapproved:
    """Nobody has approved the rules that are asked for: whether they hold is not known."""

    cost = 1

    def answer(self, demand: Demand) -> Answer:
        """Answer: everything is open, and nothing is there to be accepted."""
        openings = []
        for key in demand.keys:
            rule = str(key[0]) if key else "of the project"
            reason = f"nobody has approved rule {rule}, and only approved ones count"
            openings.append(Opening(key or (OPEN,), reason, "review"))
        return Answer((), tuple(openings), frozenset(demand.keys))


_NO_PREDICATE: Final = re.compile(r"there is no predicate `([A-Za-z]\w*)`")
_UNKNOWN: Final = frozenset({"C0181", "C0201"})


def told_of_drafts(
    problem: ConstatError, drafts: Callable[[str], Sequence[Draft]] | None
) -> ConstatError:
    """Name the draft that waits and defines a predicate that the rules do not have."""
    told = [
        one if drafts is None or one.code not in _UNKNOWN else _told_of_draft(one, drafts)
        for one in problem.diagnostics
    ]
    return ConstatError(told, exit_code=problem.exit_code)


def _told_of_draft(one: Diagnostic, drafts: Callable[[str], Sequence[Draft]]) -> Diagnostic:
    found = _NO_PREDICATE.search(one.message)
    if found is None:
        return one
    defines = re.compile(rf"^\s*(?:\.decl\s+)?{found[1]}\s*\(", re.MULTILINE)
    waiting = [each for each in drafts("proposed") if defines.search(each.text)]
    if not waiting:
        return one
    draft = waiting[-1].short
    note = f"draft {draft} defines it, and waits: a draft counts nowhere until a person approves it"
    edit = (
        f"a person looks at it, `constat rules review {draft}`, and lets it in,"
        f" `constat rules approve {draft} --by NAME --reason TEXT`"
    )
    return replace(one, note=note, help=edit)
