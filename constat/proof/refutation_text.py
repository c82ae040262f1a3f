"""Write a refutation as text for people, or as values for JSON.

In: a ``Refutation`` and ranked reasons.  Out: the goal with its rules, then each conclusion that is
lacking under its number; depth is in the numbers, so nothing recurses and nothing walks off the
page. Invariant: no control character of data reaches a terminal.

JSON: ``lacking`` (objects with the fields of ``Lacking``, attempts with those of ``RuleAttempt``),
``proofs`` (trees as ``constat prove`` gives them), ``not_looked_into`` and ``reasons``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from constat.diagnostics import counted
from constat.proof.render import (
    begin_sentence,
    counterexample_lines,
    printable,
    source_lines,
    stop_lines,
    tree_to_json,
)
from constat.proof.sentences import ASKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.proof.obstacles import Obstacle
    from constat.proof.refutation import Candidate, Lacking, Reason, Refutation, RuleAttempt
    from constat.proof.shown import SourceShown
    from constat.proof.tree import Tree

_INDENT: Final = "  "
_MOST_ROOTS: Final = 3
_LEVELS: Final = (
    ("declared", "somebody vouches that nothing is missing"),
    ("re-runnable", "the source's query, which can be run again"),
    ("inline", "every row that the sources answered, all looked at"),
    ("derived", "its rules, which were followed to the rows: none of them gives it"),
)
_STATES: Final = (
    ("absent", "does not hold"),
    ("open", "may hold, something is unknown"),
    ("there", "holds"),
    ("not tried", "was not looked into"),
)


def render_refutation(
    refutation: Refutation, reasons: Sequence[Reason] = (), *, left: int = 0, moment: str = ""
) -> str:
    """Return the tree as text; with a moment rows from the cache say how old they were then.

    ``left`` counts the reasons that are not among those given.
    """
    writer = _Writer(refutation, moment)
    writer.reasons(reasons, left)
    for number, lacking in enumerate(refutation.lacking):
        writer.lacking(number, lacking)
    if refutation.left:
        writer.line(0, f"and {refutation.left:,} more conclusions that were not looked into")
    return "\n".join(writer.lines) + "\n"


class _Writer:
    """Collects lines."""

    def __init__(self, refutation: Refutation, moment: str) -> None:
        self.refutation = refutation
        self.moment = moment
        self.lines: list[str] = []

    def line(self, level: int, text: str) -> None:
        # No text can spell the relation of a goal of several literals, and nobody has to read it.
        said = text.replace(f"rule {ASKED}.1", "the goal").replace(f"{ASKED}(", "the goal (")
        self.lines.append(_INDENT * level + printable(said))

    def reasons(self, reasons: Sequence[Reason], left: int) -> None:
        """Write the principal reasons, the first first."""
        if not reasons:
            return
        self.line(0, "principal reasons:")
        for place, reason in enumerate(reasons, start=1):
            said = begin_sentence(reason.obstacle.sentence, reason.obstacle.claim)
            off = f" (distance {reason.obstacle.distance})" if reason.obstacle.distance else ""
            self.line(1, f"{place}. {reason.code}: {said}{off}")
            self.line(2, f"rule: {reason.rule}, literal {reason.place + 1}")
        if left:
            self.line(1, f"and {left:,} more reasons; `--most-reasons` lists more")

    def lacking(self, number: int, lacking: Lacking) -> None:
        """Write one conclusion and what became of its rules."""
        mark = f"[{number}] " if number else ""
        self.line(0, f"{mark}{lacking.fact} {dict(_STATES)[lacking.state]}")
        if lacking.level:
            self.line(1, f"rests on: {dict(_LEVELS)[lacking.level]}")
        if lacking.nearest:
            more = f" and {lacking.farther:,} more" if lacking.farther else ""
            self.line(1, f"nearest: {', '.join(lacking.nearest)}{more}")
        for source in lacking.sources:
            self.source(source)
        unlike = _unlike(lacking.attempts)
        for attempt in lacking.attempts:
            if attempt not in unlike:
                self.attempt(attempt, lacking.fact)
        if unlike:
            self.unlike(unlike)

    def source(self, source: SourceShown) -> None:
        for text in source_lines(source, self.moment):
            self.line(1, text)

    def attempt(self, attempt: RuleAttempt, fact: str) -> None:
        """Write how far a rule gets."""
        if attempt.state == "open":
            self.line(1, f"rule {attempt.rule}: may give it, but something is unknown")
        elif attempt.state != "failed":
            self.line(1, f"rule {attempt.rule}: was not looked at: too many possibilities")
        elif attempt.stop is None:
            self.line(1, f"rule {attempt.rule}: does not give it")
        else:
            stop = attempt.stop
            said = begin_sentence(stop.sentence, stop.claim) or stop.literal
            self.line(1, f"rule {attempt.rule} stops at: {said}")
            for text in stop_lines(stop.required, stop.actual, stop.distance):
                self.line(2, text)
        if attempt.stop is None and attempt.sentence:
            self.line(2, f"reasoning: {begin_sentence(attempt.sentence, fact)}")
        self.besides(attempt)
        if attempt.below:
            numbers = ", ".join(f"[{number}]" for number in attempt.below)
            self.line(2, f"lacking: {numbers}")

    def besides(self, attempt: RuleAttempt) -> None:
        """Write other candidates, what fails besides, and what is there and must not be."""
        for candidate in attempt.candidates:
            self.candidate(candidate)
        if attempt.tried > len(attempt.candidates) > 0:
            left = counted(attempt.tried - len(attempt.candidates), "more candidate")
            self.line(2, f"and {left}")
        for other in attempt.others:
            said = other.sentence or f"{other.literal}{_because(other)}"
            self.line(2, f"fails besides: {said}")
        if attempt.untried:
            left = counted(len(attempt.untried), "condition")
            self.line(2, f"behind it, not shown to fail: {left}")
        for proof in attempt.because:
            self.proof(self.refutation.proofs[proof])
        if attempt.unproved:
            self.line(2, f"and {attempt.unproved:,} more rows that must not be there")
        self.lines += counterexample_lines(attempt, 2, self.moment)

    def unlike(self, attempts: Sequence[RuleAttempt]) -> None:
        """Write in one line which rules are about structures of other forms."""
        stops = [one.stop for one in attempts if one.stop is not None]
        names = ", ".join(one.rule for one in attempts)
        forms = ", ".join(dict.fromkeys(one.required.removeprefix("= ") for one in stops))
        self.line(1, f"rules {names} are for other forms than {stops[0].actual}: {forms}")

    def candidate(self, candidate: Candidate) -> None:
        self.line(2, f"near: {candidate.fact}{_because(candidate.obstacle)}")

    def proof(self, tree: Tree) -> None:
        """Say in one line why a row is there that must not be."""
        for root in tree.roots[:_MOST_ROOTS]:
            step = tree.steps[root]
            by = f", by rule {step.rule}" if step.rule else ""
            said = step.reasoning or step.sentence
            self.line(2, f"because {tree.goal} holds{by}: {said}")
            for source in step.sources:
                for text in source_lines(source, self.moment):
                    self.line(3, text)
        if len(tree.roots) > _MOST_ROOTS:
            self.line(2, f"and {len(tree.roots) - _MOST_ROOTS:,} more rows")


def _unlike(attempts: Sequence[RuleAttempt]) -> list[RuleAttempt]:
    """Return the rules that stop at the form of one structure, where there are several of them.

    What evaluates a tree has a rule for each branch, and all but one of them are about others.
    """
    found = [one for one in attempts if one.stop is not None and one.stop.misshapen]
    forms = {one.stop.actual for one in found if one.stop is not None}
    return found if len(found) > 1 and len(forms) == 1 else []


def _because(obstacle: Obstacle) -> str:
    parts = []
    if obstacle.kind in {"lacking", "present"}:
        parts.append(obstacle.sentence)
    elif obstacle.actual and obstacle.required:
        parts.append(f"{obstacle.actual} where {obstacle.required} is needed")
    if obstacle.distance:
        parts.append(f"distance {obstacle.distance}")
    return f": {', '.join(parts)}" if parts else ""


def refutation_json(refutation: Refutation, reasons: Sequence[Reason] = ()) -> dict[str, object]:
    """Return the refutation as values for JSON; gaps are decimals with six places."""
    return {
        "lacking": [_lacking_json(one) for one in refutation.lacking],
        "proofs": [json.loads(tree_to_json(tree)) for tree in refutation.proofs],
        "not_looked_into": refutation.left,
        "reasons": [
            {
                "code": one.code,
                "rule": one.rule,
                "literal_number": one.place + 1,
                "gap": f"{float(one.gap):.6f}",
                **_obstacle_json(one.obstacle),
            }
            for one in reasons
        ],
    }


def _lacking_json(lacking: Lacking) -> dict[str, object]:
    return {
        "fact": lacking.fact,
        "state": lacking.state,
        "level": lacking.level,
        "nearest": list(lacking.nearest),
        "nearest_left": lacking.farther,
        "sources": [_source_json(one) for one in lacking.sources],
        "attempts": [_attempt_json(one) for one in lacking.attempts],
    }


def _source_json(source: SourceShown) -> dict[str, object]:
    return {
        "tier": source.tier,
        "origin": source.origin,
        "name": source.name,
        "query": source.query,
        "parameters": list(source.parameters),
        "executed_at": source.executed_at,
        "rows": source.rows,
        "author": source.author,
    }


def _attempt_json(attempt: RuleAttempt) -> dict[str, object]:
    return {
        "rule": attempt.rule,
        "rule_text": attempt.rule_text,
        "state": attempt.state,
        "reached": attempt.reached,
        "of": attempt.of,
        "untried": list(attempt.untried),
        "tried": attempt.tried,
        "level": attempt.level,
        "sentence": attempt.sentence,
        "holds": list(attempt.holds),
        "stop": None if attempt.stop is None else _obstacle_json(attempt.stop),
        "fails_besides": [_obstacle_json(one) for one in attempt.others],
        "candidates": [
            {"fact": one.fact, **_obstacle_json(one.obstacle)} for one in attempt.candidates
        ],
        "below": list(attempt.below),
        "because": list(attempt.because),
        "because_left": attempt.unproved,
        "counterexamples": [
            {
                "fact": one.fact,
                "because": list(one.because),
                "sources": [_source_json(source) for source in one.sources],
            }
            for one in attempt.counterexamples
        ],
        "counterexamples_in_all": attempt.counted,
        "counterexamples_at_least": attempt.at_least,
    }


def _obstacle_json(obstacle: Obstacle) -> dict[str, object]:
    return {
        "kind": obstacle.kind,
        "literal": obstacle.literal,
        "claim": obstacle.claim,
        "actual": obstacle.actual,
        "required": obstacle.required,
        "distance": obstacle.distance,
        "sentence": obstacle.sentence,
    }
