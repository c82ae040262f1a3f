"""Which goal a question was read as, and whether a person stands for that.

A goal is stated where the question is, word for word, the sentence of a predicate that people
wrote, or the question of a case; else it is confirmed by a record, or by nobody.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Final

from constat.analysis import check_goal
from constat.authoring.constants import atom_constants, constants_of, unseen
from constat.authoring.losses import losses
from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.chain import PERIODS
from constat.explore.plan import Work, plan_digest, ranking_query
from constat.frozen import frozen
from constat.library.approvals import hash_below
from constat.library.cases.cases import goals_asked
from constat.library.reviewing.confirmations import Confirmations
from constat.logic import Atom, Constant, Kind, Variable
from constat.proof.encoding import canonical, reachable, sha256
from constat.proof.translation import Status, Translation, goal_words
from constat.session.spelling import shown_goal
from constat.syntax import parse_goal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Plan
    from constat.logic import Predicate
    from constat.project import Project
    from constat.proof.sentences import Speech

_PLACEHOLDER: Final = re.compile(r"\\\{\??([A-Za-z_][A-Za-z0-9_]*)\\\}")
_MARKS: Final = (".", "?", "!")
_DAYS: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})
_RELATIVE: Final = re.compile(
    r"\b(today|tonight|yesterday|tomorrow|now|nowadays|current(ly)?|recent(ly)?|so far|to date|ago"
    r"|(this|last|next|past|previous|coming|recent)\s+((\d+|two|three|six|twelve)\s+)?"
    r"(hour|day|night|week|weekend|fortnight|month|quarter|half|year|decade|spring|summer|autumn"
    r"|fall|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?)\b",
    re.IGNORECASE,
)


_PRONOUN: Final = re.compile(
    r"^\W*(and|also|but|or|so|then|what about|how about)\b|\b(he|she|it|they|him|her|hers|his|its|"
    r"them|their|theirs|these|those|same|former|latter|others?|else|instead|again|too)\b",
    re.IGNORECASE,
)


@frozen
class Reading:
    """A question and the goal it was read as, in the program that answers it.

    `base` is the program without drafts: what is only in `program` nobody has approved. `context`
    is what was said before in the conversation, as far as the model was told.
    """

    question: str
    goal: Atom
    program: AnalysedProgram
    base: AnalysedProgram
    context: str = ""

    @property
    def predicate(self) -> Predicate:
        """The predicate of the goal."""
        return self.program.program.predicates[self.goal.predicate]

    @property
    def shown(self) -> str:
        """The goal as it can be typed."""
        return shown_goal(self.predicate, self.goal)


def translate(reading: Reading, speech: Speech, project: Project, *, required: bool) -> Translation:
    """Say whether a person stands for a reading."""
    words = goal_words(reading.predicate, reading.goal, speech)
    if is_stated(reading, speech) or has_case(reading, project.rules):
        return Translation(reading.shown, words, question=reading.question)
    found = Translation(
        reading.shown,
        words,
        Status.UNCONFIRMED,
        reading.question,
        losses(
            *(reading.question, reading.goal, reading.program, reading.base),
            today=today(),
        ),
        day=present_day(reading),
        below=_below(reading),
        required=required,
    )
    return Confirmations(project.state).judged(found)


def _below(reading: Reading) -> str:
    """Give the hash of what lies below a goal, and of what was said before where that matters."""
    below = hash_below(reading.program, [reading.goal.predicate])
    if not (reading.context and depends_on_context(reading)):
        return below
    return sha256(canonical([below, reading.context]))


def depends_on_context(reading: Reading) -> bool:
    """Tell whether a question may mean something else in another conversation.

    "Is he blocked?" does: what it is about does not stand in it.
    """
    return bool(_PRONOUN.search(reading.question)) or bool(
        unseen(_held(reading), [reading.question])
    )


def _held(reading: Reading) -> list[Constant]:
    """Give the constants of the goal and of drafted rules below it."""
    drafted = reachable(reading.program, reading.goal.predicate) - (
        reading.base.program.predicates.keys()
    )
    rules = (one for one in reading.program.rules if one.head.predicate in drafted)
    return [*atom_constants(reading.goal), *constants_of(rules).values()]


def has_case(reading: Reading, files: Iterable[Path]) -> bool:
    """Tell whether a case has the question, and every such case this goal."""
    program = reading.base.program
    found = goals_asked(files, reading.question)
    with suppress(ConstatError):
        goals = [check_goal(parse_goal(one, program), reading.base) for one in found]
        return bool(goals) and all(_anonymous(one) == _anonymous(reading.goal) for one in goals)
    return False


def translate_plan(
    question: str, plan: Plan, chain: Chain, drafters: Sequence[str], *, day: str, goes_on: str = ""
) -> Translation:
    """Say what the answer of a plan is; it is stated where no model drafted a step of it.

    `day` is the day that counts as today, `goes_on` names the exploration that it goes on with.
    Whether it was confirmed is not looked up yet.
    """
    reading = plan_reading(question, plan, chain)
    links = chain.below([plan.answer])
    words = "; then: ".join(one.step.goal for one in links)
    words = words or goal_words(reading.predicate, reading.goal)
    if not drafters:
        return Translation(reading.shown, words, question=question)
    reads = {name for link in links for name in (*link.reads, *link.gives)}
    known = reads & chain.analysed.program.predicates.keys()
    dated = bool(reads & PERIODS.keys()) or bool(present_day(reading))
    return Translation(
        reading.shown,
        words,
        Status.UNCONFIRMED,
        question,
        losses(
            *(question, reading.goal, chain.analysed, chain.base),
            texts=[_ran(one) for one in links],
            besides=sorted(known),
            today=day,
        ),
        day=day if dated else "",
        below=sha256(
            canonical(
                [plan_digest(chain, plan), hash_below(chain.analysed, sorted(known)), goes_on]
            )
        ),
    )


def plan_reading(question: str, plan: Plan, chain: Chain) -> Reading:
    """Give the answer of a plan as a goal: all rows of its relation."""
    columns = chain.analysed.program.predicates[plan.answer].columns
    goal = Atom(plan.answer, tuple(Variable(column.name) for column in columns))
    return Reading(question, goal, chain.analysed, chain.base)


def _ran(link: Link) -> str:
    """Give what a step runs beside rules."""
    step = link.step
    if step.work is Work.RULES:
        return ""
    return step.text if step.ranking is None else ranking_query(step, step.ranking)


def is_stated(reading: Reading, speech: Speech) -> bool:
    """Tell whether the question is a sentence of the goal's predicate, and of no other goal.

    Sentences of drafts count for nothing: whoever drafts a rule would write the question there.
    """
    own = reading.base.program.predicates.get(reading.goal.predicate)
    if own is None or any(isinstance(term, Variable) for term in reading.goal.terms):
        return False
    if any(rule.proposed and rule.head.predicate == own.name for rule in reading.base.rules):
        return False
    template = speech.template(own.attributes, "says") or ""
    said, words = reading.question, goal_words(own, reading.goal, speech)
    if template.endswith("}"):
        # Whether a full stop there ends the sentence or belongs to the value nobody can tell.
        exact = words == said and not said.endswith(_MARKS)
    else:
        exact = words.rstrip("".join(_MARKS)) == said.rstrip("".join(_MARKS))
    if not exact or not _names_all(own, template) or _ways(template, said) != 1:
        return False
    templates = (
        (one.name, found)
        for one in reading.base.program.predicates.values()
        if (found := speech.template(one.attributes, "says"))
    )
    return [name for name, found in templates if _ways(found, said)] == [own.name]


def _ways(template: str, said: str) -> int:
    """Count in how many ways a text can be this sentence: none, one, or more (2)."""
    marks = "".join(_MARKS)
    said, escaped = said.rstrip(marks), re.escape(template.rstrip(marks))
    found = [
        re.fullmatch(_PLACEHOLDER.sub(group, escaped), said, re.DOTALL)
        for group in (r"(.+)", r"(.+?)")
    ]
    if found[0] is None or found[1] is None:
        return 0
    # The longest first and the shortest first are the same where there is only one way.
    return 1 if found[0].groups() == found[1].groups() else 2


def _names_all(predicate: Predicate, template: str) -> bool:
    named = set(_PLACEHOLDER.findall(re.escape(template)))
    return all(column.name in named for column in predicate.columns)


def present_day(reading: Reading) -> str:
    """Give the present day where the reading depends on it, else nothing.

    It does where the question speaks of the present, and where goal or draft hold a date that does
    not stand in the question.
    """
    if _RELATIVE.search(reading.question):
        return today()
    dates = [one for one in _held(reading) if one.kind in _DAYS]
    return today() if unseen(dates, [reading.question]) else ""


def today() -> str:
    """Give the day of the person who asks."""
    return date.today().isoformat()  # noqa: DTZ011  the day of the person who asks


def require_goal(reading: Reading, wanted: str, found: Translation) -> None:
    """Raise `ConstatError` unless the goal is the one that somebody has named."""
    program = reading.program
    try:
        goal = check_goal(parse_goal(wanted, program.program), program)
    except ConstatError as problem:
        raise _another(wanted, found, problem.diagnostics) from None
    if _anonymous(goal) != _anonymous(reading.goal):
        raise _another(wanted, found)


def _anonymous(goal: Atom) -> Atom:
    """Give a goal whose variables have names of ours."""
    terms = tuple(
        Variable(f"{place}") if isinstance(term, Variable) else term
        for place, term in enumerate(goal.terms)
    )
    return replace(goal, terms=terms)


def _another(wanted: str, found: Translation, why: Iterable[Diagnostic] = ()) -> ConstatError:
    reasons = "; ".join(one.message for one in why)
    shown = wanted if wanted.isprintable() else "..."
    message = f"the question was read as another goal than `{shown[:200]}`"
    note = f"it was read as `{found.goal}`: {found.words}" + (f"; {reasons}" if reasons else "")
    hint = f"`--accept-goal '{found.goal}'` accepts it, if it holds exactly when the answer is yes"
    return ConstatError([Diagnostic("C0980", message, note=note, help=hint)])
