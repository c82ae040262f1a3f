"""A reading: an outcome together with the assumptions it accepts.

In: the outcome of an evaluation, the calls it rests on, and the accepted assumptions.  Out: which
rows are certain and which are possible *in that reading*, and which rules hold.  Invariant: certain
rows are possible; what an assumption outside the reading carries is possible only (semantics 10).

Example: the hard reading of an outcome accepts nothing: strength 3 is certain, 0 and up possible.
"""

from __future__ import annotations

from dataclasses import field, replace
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from constat.evaluation import (
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    UNTIMED,
    Assumption,
    Clock,
    LimitReachedError,
    is_accepted,
    with_parts,
)
from constat.frozen import frozen
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Call, Outcome

# When what is shown takes too much: more steps than allowed, or more time.

_One = TypeVar("_One")
_ROWS: Final = 4_096

UNAPPROVED: Final = "rule.approved"
"""The predicate that guards a rule which nobody approved; no program can declare it."""


class TooLargeError(Exception):
    """The slice takes more steps than allowed."""


class LateError(TooLargeError):
    """The slice takes more time than allowed; the text names the limit."""


def look_at(clock: Clock) -> None:
    """Raise ``LateError`` where the time is up."""
    try:
        clock.check()
    except LimitReachedError as limit:
        raise LateError(str(limit)) from None


def timely(clock: Clock, rows: Iterable[_One]) -> Iterator[_One]:
    """Yield rows one by one, with a look at the clock behind every few thousand."""
    left = iter(rows)
    while block := tuple(islice(left, _ROWS)):
        yield from block
        if len(block) == _ROWS:
            look_at(clock)


@frozen
class Reading:
    """What is certain and possible when ``accepted`` is accepted.

    ``program`` is the program as written, ``calls`` the demands made outside; ``outcome`` may come
    from a replay.  Rows of strength ``certain`` are certain, those of ``possible`` possible.  Who
    shows something in it looks at the ``clock``.
    """

    program: AnalysedProgram
    calls: tuple[Call, ...]
    outcome: Outcome
    accepted: frozenset[Assumption]
    certain: int
    possible: int
    clock: Clock = field(default=UNTIMED, compare=False)

    def holds(self, assumption: Assumption | None) -> bool:
        """Tell whether what rests on the assumption holds in this reading."""
        return is_accepted(assumption, self.accepted)


def hard_reading(outcome: Outcome, clock: Clock = UNTIMED) -> Reading:
    """Return the reading that accepts nothing."""
    calls = outcome.calls
    return Reading(outcome.program, calls, outcome, frozenset(), CERTAIN, CONCEIVABLE, clock)


def accepting_reading(outcome: Outcome, clock: Clock = UNTIMED) -> Reading:
    """Return the reading that accepts every assumption the outcome met."""
    every = frozenset(with_parts(assumptions_met(outcome.program, outcome.calls, clock)))
    return Reading(outcome.program, outcome.calls, outcome, every, ACCEPTED, POSSIBLE, clock)


def assumptions_met(
    program: AnalysedProgram, calls: tuple[Call, ...], clock: Clock = UNTIMED
) -> tuple[Assumption, ...]:
    """Return the assumptions of answers and rules, each once, in the order met.

    No row is looked at: the rows of a portion rest on one assumption.
    """
    of_rows: dict[Assumption | None, None] = {}
    of_openings: dict[Assumption | None, None] = {}
    for call in calls:
        of_rows.update(dict.fromkeys(one.assumption for one in call.answer.portions))
        for opening in timely(clock, call.answer.openings):
            told = opening.filled
            if told is not None:
                of_rows[told.assumption] = None
            else:
                of_openings[opening.assumption] = None
    found = {one: None for one in (*of_rows, *of_openings) if one is not None}
    for number in range(len(program.rules)):
        assumption = rule_assumption(program, number)
        if assumption is not None:
            found[assumption] = None
    return tuple(found)


def rule_assumption(program: AnalysedProgram, number: int) -> Assumption | None:
    """Return what must be accepted for a rule, if anything."""
    rule = program.rules[number]
    if not rule.assumed:
        return None
    why = "is only proposed" if rule.proposed else f"has confidence {rule.confidence}"
    bare = replace(rule, id=f"{rule.head.predicate}.1", attributes={}, confidence=Decimal(1))
    shown = " ".join(line.strip() for line in print_rule(bare).splitlines())
    text = f"rule {rule.id} holds, which {why}: {shown}"
    return Assumption("rule", rule.id, text, rule.confidence)


def accept_rules(program: AnalysedProgram, accepted: frozenset[Assumption]) -> AnalysedProgram:
    """Return the program in which the accepted rules are plain and the others are not."""
    plain = frozenset(
        number
        for number, rule in enumerate(program.rules)
        if rule.assumed and rule_assumption(program, number) in accepted
    )
    if not plain:
        return program
    return program.remembered(("accepted", plain), lambda: _with_plain(program, plain))


def _with_plain(program: AnalysedProgram, plain: frozenset[int]) -> AnalysedProgram:
    rules = tuple(
        replace(rule, confidence=Decimal(1), proposed=False) if number in plain else rule
        for number, rule in enumerate(program.rules)
    )
    return replace(program, rules=rules, program=replace(program.program, rules=rules))
