"""What a session answers to a goal, checked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from constat import __version__
from constat.evaluation import NOT_ONE, Verdict, snapshot_met
from constat.frozen import OfSession, frozen
from constat.proof import build_certificate, proof_tree
from constat.proof.certificate import Circumstances
from constat.proof.decide import withheld
from constat.proof.formats import proof_as_graph
from constat.proof.reading import UNAPPROVED, LateError
from constat.proof.sentences import PLAIN, Speech
from constat.proof.translation import Translation, goal_words
from constat.session.spelling import shown_goal
from constat.syntax import print_wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    import networkx as nx

    from constat.analysis import AnalysedProgram
    from constat.check import Report
    from constat.diagnostics import Diagnostic
    from constat.evaluation import Assumption, Call
    from constat.model import Usage
    from constat.proof import Decision, Tree
    from constat.session.answers import RowVerdict, Settled
    from constat.session.options import LogAs
    from constat.store.drafts import Draft

# Tiers never see the checker; it is handed in where both are known.


def checked(certificate: bytes, pin: str | None, trusted: Sequence[str]) -> Report:
    """Check a certificate; with a pin its rules are these, and those of nested ones trusted."""
    # A goal is proved without the checker, which takes a twentieth of a cold start to load.
    from constat.check import check_certificate  # noqa: PLC0415  loaded when it is used

    report: Report = check_certificate(certificate, pin=pin, trusted=trusted)
    return report


# A result does not change when the sources do.

# Open goals with longer certificates are given out unchecked: checking them would take seconds.
_MOST_CHECKED: Final = 1 << 20
# Certificates of more rows take long to write.
_MANY: Final = 4_096


@dataclass(frozen=True)
class Result(OfSession):
    """A verdict with its reasons.

    `confidence` is from 0 to 1; unless `exact`, better proofs may exist. `assumptions` are those
    that the verdict accepts. `missing` are goals to paste back, whose answers would decide this
    one. `calls` are the demands that went outside, in order. `created` is UTC, as in certificates.
    """

    goal: str
    verdict: Verdict
    confidence: Decimal
    exact: bool
    assumptions: tuple[Assumption, ...]
    missing: tuple[str, ...]
    calls: tuple[Call, ...]
    created: str
    decision: Decision = field(repr=False, compare=False)
    speech: Speech = field(default=PLAIN, repr=False, compare=False)
    """How its sentences are said."""
    supersedes: str | None = None
    """The identity of the proof that this one takes the place of."""
    as_of: str | None = None
    """The time at which the facts had been recorded; without one they are those of the present."""
    logged: int | None = field(default=None, compare=False)
    """The number under which the decision log has it, where it has."""
    usage: Usage | None = field(default=None, compare=False)
    """What language models have used for it; nothing in a session that has come to none."""
    told: Circumstances | None = field(default=None, compare=False, repr=False)
    """Who asked, where the log stood, and which libraries of rules there were."""
    translation: Translation | None = field(default=None, compare=False)
    """Which question the goal was read from, and whether a person stands for that."""

    def __repr__(self) -> str:
        from constat.session.showing import result_text  # noqa: PLC0415  loaded when it is used

        return result_text(self)

    def _repr_html_(self) -> str:
        """Show verdict, sentences, the proof folded and whether the checker accepts it."""
        from constat.session.showing import result_html  # noqa: PLC0415  loaded when it is used

        return result_html(self)

    def explain(self, depth: int | None = None) -> str:
        """Give the verdict and its proof as text, down to a depth where one is named."""
        from constat.session.showing import explained  # noqa: PLC0415  loaded when it is used

        return explained(self, depth)

    def logged_as(self, number: int) -> Result:
        """Give this result with its number in the log, and the very certificate that is there."""
        found = self.altered(logged=number)
        vars(found)["certificate"] = self.certificate
        return found

    def altered(self, **changes: Any) -> Result:  # noqa: ANN401  members of the result
        """Give this result with other members, and the certificate that is written already."""
        found = replace(self, **changes)
        same = (self.supersedes, self.as_of, self.told)
        if (found.supersedes, found.as_of, found.told) == same:
            made = vars(self).items()
            vars(found).update({name: one for name, one in made if name in {"certificate", "tree"}})
        return found

    def told_with(self, changes: tuple[Mapping[str, str | None], ...]) -> Result:
        """Give this result with changes that turn it, which its certificate lists unproved."""
        return self.altered(told=replace(self.told or Circumstances(), changes=changes))

    def asked_as(self, text: str) -> Result:
        """Give this result as that of a goal that was typed as more than one atom."""
        return self.altered(goal=text, translation=Translation(text, text))

    def translated(self, translation: Translation) -> Result:
        """Give this result as the answer to a question that was read as its goal."""
        return self.altered(translation=translation)

    @property
    def exit_code(self) -> int:
        """The exit code: the verdict's, unless nobody has confirmed that this was asked."""
        code = self.verdict.exit_code
        return code if self.translation is None else self.translation.exit_code(code)

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Who says another value for a key than what counts; met on the way to the verdict."""
        return self.decision.conflicts

    @property
    def unapproved(self) -> tuple[str, ...]:
        """Rules whose approval would decide the goal, where only approved rules count."""
        missing = self.decision.missing
        return tuple(str(row[0]) for name, row in missing if name == UNAPPROVED)

    @cached_property
    def snapshot(self) -> str | None:
        """Whether what was read outside is of one state: as the certificate's header says."""
        met = snapshot_met(self.calls)
        if met != NOT_ONE:
            return met
        # Not everything that was asked is what the verdict rests on.
        found: str | None = json.loads(self.certificate)["header"]["snapshot"]
        return found

    @cached_property
    def tree(self) -> Tree:
        """The proof, from the goal down to the rows of the sources."""
        tree = proof_tree(self.decision, self.speech)
        return tree if self.as_of is None else replace(tree, as_of=self.as_of)

    @cached_property
    def certificate(self) -> bytes:
        """The certificate: everything a checker needs, in canonical form."""
        return build_certificate(
            self.decision,
            created=self.created,
            engine_version=f"constat {__version__}",
            supersedes=self.supersedes,
            as_of=self.as_of,
            told=self.told,
            clock=self.decision.writing,
        )

    def graph(self) -> nx.DiGraph[str]:
        """Give the proof as a directed graph: from the goal to what each conclusion rests on.

        Nodes and edges, and their attributes, are those that `constat.proof.export.graph` lists:
        a node has a `kind` and a `label`, an edge a `role`. Each call gives a graph of its own.
        """
        return proof_as_graph(self.certificate)


def result_of(
    decision: Decision,
    program: AnalysedProgram,
    created: str,
    speech: Speech = PLAIN,
    told: Circumstances | None = None,
) -> Result:
    """Make the result of a decision about a goal of a program; `told` is who asked, and the like.

    A goal is open only where what is shown leaves it open, which is what the checker says: where
    it sees more than the engine does, nothing is shown. A long certificate is written at once:
    what takes longer than the limit to write is open, too.
    """
    result = _made(decision, program, created, speech, told)
    try:
        if _is_long(decision):
            vars(result)["certificate"] = result.certificate
    except LateError as late:
        decision = withheld(decision, str(late))
        result = _made(decision, program, created, speech, told)
    finally:
        decision.writing.release()
    if decision.verdict is not Verdict.UNRESOLVED:
        return result
    if len(result.certificate) > _MOST_CHECKED:
        return result
    report = checked(result.certificate, None, ())
    if report.accepted or report.place != "header.verdict":
        return result
    return _made(withheld(decision), program, created, speech, told)


def _is_long(decision: Decision) -> bool:
    calls = decision.proof.reading.calls
    rows = (len(portion.rows) for call in calls for portion in call.answer.portions)
    return len(decision.proof.nodes) > _MANY or any(count > _MANY for count in accumulate(rows))


def _made(
    decision: Decision,
    program: AnalysedProgram,
    created: str,
    speech: Speech,
    told: Circumstances | None,
) -> Result:
    predicates = program.program.predicates
    predicate = predicates[decision.goal.predicate]
    goal = shown_goal(predicate, decision.goal)
    return Result(
        goal=goal,
        verdict=decision.verdict,
        confidence=decision.confidence,
        exact=decision.exact,
        assumptions=decision.assumptions,
        missing=tuple(
            print_wanted(predicates[name], row)
            for name, row in decision.missing
            if name != UNAPPROVED
        ),
        calls=decision.outcome.calls,
        created=created,
        decision=decision,
        speech=speech,
        told=told,
        translation=Translation(goal, goal_words(predicate, decision.goal, speech)),
    )


@frozen
class AskOptions:
    """How a question is to be answered.

    With `require_approved` no draft is used. `by` is who asks. `conversation` is the one that the
    question goes on with; without a name it begins one of its own. `accept_goal` is the goal that
    is meant, in the word of `by`: another one is not proved. With `require_confirmed` nothing is
    settled before somebody has confirmed the goal. The rest is as in `prove`.
    """

    require_approved: bool = False
    by: str = ""
    minimal: str | None = None
    as_of: str | None = None
    log: LogAs | None = None
    conversation: str = ""
    accept_goal: str = ""
    require_confirmed: bool = False


@frozen
class Listed:
    """The answers of a goal with variables: its columns, the first rows as texts with verdicts.

    `total` counts all rows; `settled` tells whether there can be others.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], RowVerdict], ...]
    total: int
    settled: Settled


@frozen
class Answered(OfSession):
    """A question with its answer.

    `goal` is how a model read the question. `reused` are predicates of the project; `draft` is
    what was drafted besides, and `drafted` its rules one by one; `invented` are constants of it
    that were neither asked for nor looked up. `listed` has the answers where the goal has
    variables; the result then tells that there is one. `usage` is that of the whole question:
    drafting, sub-plans, and facts that models told; its cost is in `currency`. `remarks` are
    warnings about goal and draft. `model` is who answered; `replayed` says that a tape did, `note`
    in which words to say so. `transcript` is the record's id.
    """

    question: str
    goal: str
    result: Result
    reused: tuple[str, ...]
    draft: Draft | None
    drafted: tuple[str, ...]
    invented: tuple[str, ...]
    remarks: tuple[Diagnostic, ...]
    rounds: int
    usage: Usage
    model: str
    replayed: bool
    note: str
    transcript: str
    record: dict[str, Any]
    listed: Listed | None = None
    currency: str = ""

    def __repr__(self) -> str:
        from constat.session.showing import cut  # noqa: PLC0415  loaded when it is used

        return f"<{cut(self.question)} read as {cut(self.goal)}: {self.result!r}>"

    def _repr_html_(self) -> str:
        """Show the goal that the question was read as, and its result."""
        from constat.session.showing import answered_html  # noqa: PLC0415  loaded when it is used

        return answered_html(self)

    @property
    def verdict(self) -> Verdict:
        """The verdict about the goal."""
        return self.result.verdict

    @property
    def translation(self) -> Translation:
        """The goal in words, and whether a person has confirmed that it is what was asked."""
        if self.result.translation is None:
            raise TypeError("an answer to a question has no translation")
        return self.result.translation

    @property
    def exit_code(self) -> int:
        """The exit code: the verdict's, unless nobody has confirmed that this was asked."""
        return self.result.exit_code
