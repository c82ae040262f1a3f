"""Which rules and literals the cases of a library have tried, and with what result.

In: decisions. Out: for each rule how often it fired, for each literal of its body how often it held
and how often not. Definitions. What the evaluation asked of a rule's predicate is a key. An
*attempt* takes the body of a rule for a key in the order of the evaluation, one literal after the
other; under each binding that has got so far a literal *holds* when it is certain in the reading
that decides the goal, *fails* when it is impossible in it, and is neither when something is
unknown; only where it holds does the attempt go on. A rule *fires* when an attempt reaches the end.
A literal that gives a value to a variable, such as `?x = ?y + 1`, cannot fail and is not blamed.

Invariant: nobody outside is asked. This is condition coverage of Myers, The Art of Software Testing
(1979), with rules for branches.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, assert_never

from constat.frozen import slotted
from constat.logic import OPEN
from constat.proof.derivations import certainly_exceeds
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    decided_by_totals,
    is_ground,
    is_hole,
)
from constat.proof.reading import TooLargeError
from constat.proof.slices import Slice
from constat.syntax import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.diagnostics import Span
    from constat.logic import Rule
    from constat.proof import Decision
    from constat.proof.instances import Binding, LiteralCode, RuleCode

_MOST_STEPS: Final = 2_000_000


@slotted
class LiteralTried:
    """A literal: `bound` counts the attempts in which it only gave a variable its value."""

    text: str
    held: int = 0
    failed: int = 0
    bound: int = 0

    @property
    def never_tried(self) -> bool:
        """Whether no attempt got so far, or every one that did met something unknown."""
        return not self.held and not self.failed

    @property
    def never_true(self) -> bool:
        """Whether it never held."""
        return self.held == 0

    @property
    def never_false(self) -> bool:
        """Whether it held and could have failed, and never did."""
        return self.held > self.bound and self.failed == 0


@slotted
class RuleTried:
    """A rule of a library."""

    id: str
    span: Span | None
    fired: int = 0
    literals: list[LiteralTried] = field(default_factory=list)


class Coverage:
    """What has been tried so far of one library's rules."""

    def __init__(self) -> None:
        self._rules: dict[str, RuleTried] = {}
        self.complete = True
        """Whether every decision could be looked through."""

    @property
    def rules(self) -> tuple[RuleTried, ...]:
        """The rules in the order of the library."""
        return tuple(self._rules.values())

    @property
    def never_fired(self) -> tuple[RuleTried, ...]:
        """The rules that no case made fire."""
        return tuple(rule for rule in self._rules.values() if not rule.fired)

    def know(self, rules: Iterable[Rule]) -> None:
        """Add the rules of the library, before anything is tried."""
        for rule in rules:
            if rule.id not in self._rules:
                literals = [LiteralTried(print_literal(literal)) for literal in rule.body]
                self._rules[rule.id] = RuleTried(rule.id, rule.span, 0, literals)

    def add(self, decision: Decision) -> None:
        """Go through what the evaluation behind a decision asked of the rules."""
        attempts = _Attempts(decision, self._rules)
        try:
            attempts.run()
        except TooLargeError:
            self.complete = False


class _Attempts:
    """The attempts of one decision."""

    def __init__(self, decision: Decision, rules: dict[str, RuleTried]) -> None:
        self._decision = decision
        self._rules = rules
        self._walker = Slice(decision.reading, steps=_MOST_STEPS)

    def run(self) -> None:
        """Attempt every rule for every key it was asked for."""
        program = self._decision.reading.program
        for entry in self._decision.reading.outcome.demands:
            for number, order in sorted(entry.orders.items()):
                tried = self._rules.get(program.rules[number].id)
                if tried is None:
                    continue
                code = self._walker.code(number)
                for key in sorted(entry.keys, key=str):
                    start = code.start(entry.columns, key)
                    if start is not None:
                        self._attempt(code, order, start, tried)

    def _attempt(
        self, code: RuleCode, order: tuple[int, ...], start: Binding, tried: RuleTried
    ) -> None:
        waiting = [(0, start)]
        # A rule with given columns is evaluated with a literal before its own: what is asked.
        first = len(code.body) - len(tried.literals)
        while waiting:
            reached, binding = waiting.pop()
            if reached == len(order):
                tried.fired += 1
                continue
            place = order[reached]
            literal = tried.literals[place - first] if place >= first else LiteralTried("")
            found = list(self._walker.extend(code, place, binding))
            self._walker.steps -= 1 + len(found)
            if self._walker.steps < 0:
                raise TooLargeError
            if not found:
                literal.failed += 1
                continue
            certain = [one for one in found if self._holds(code, place, one)]
            if certain:
                literal.held += 1
                literal.bound += gives_value(code.body[place], binding)
            waiting.extend((reached + 1, one) for one in certain)

    def _holds(self, code: RuleCode, place: int, binding: Binding) -> bool:
        """Whether a literal is certain under a binding that makes it possible."""
        walker, literal = self._walker, code.body[place]
        match literal:
            case PositiveCode(atom):
                row = atom.pattern(binding)
                return is_ground(row) and walker.is_certain(atom.predicate, row)  # type: ignore[arg-type]  # no hole
            case NegativeCode(atom):
                return not walker.possible(atom.predicate, atom.pattern(binding))
            case ComparisonCode():
                return literal in decided_by_totals(code) or literal.truth(binding) is True
            case AggregateCode() if literal.threshold is not None:
                return certainly_exceeds(walker, code, place, literal, binding)
            case AggregateCode():
                # The result may be known from elsewhere while the value of the group is not.
                return not is_hole(walker.aggregates.exact(code, place, literal, binding).value)
            case _:
                assert_never(literal)


def gives_value(literal: LiteralCode, binding: Binding) -> bool:
    """Whether a literal only gives a variable its value under a binding, so that it cannot fail."""
    match literal:
        case ComparisonCode():
            # A recursive threshold is decided with its aggregate, its comparison is only read.
            return literal.truth(binding) in {None, OPEN}
        case AggregateCode() if literal.threshold is not None:
            return False
        case AggregateCode():
            # The least of no rows has no value: min, max and mean can fail, sum and count cannot.
            return binding[literal.result] is None and literal.function in {"sum", "count"}
        case PositiveCode() | NegativeCode():
            return False
