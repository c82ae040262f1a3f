"""Why a goal does not follow: for each rule the furthest it gets, and what stops it there.

In: a decision without answers.  Out: one ``Attempt`` per rule of the goal's predicate.  Invariant:
a rule is called failed only where no instance of it is possible in the decision's reading; numbers
that miss a threshold are given with their distance.

Nobody is asked: the walk goes over the recorded answers, in a slice of its own, so that looking
leaves no trace in the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.logic import OPEN, Kind, Negative
from constat.proof.instances import (
    AggregateCode,
    ComparisonCode,
    NegativeCode,
    PositiveCode,
    decided_by_totals,
    is_ground,
    is_hole,
    opened,
)
from constat.proof.ordering import order_of
from constat.proof.sentences import Instance, describe_fact, refute_comparison, show_value
from constat.proof.slices import Slice, TooLargeError
from constat.syntax import print_literal, print_row

if TYPE_CHECKING:
    from constat.logic import Literal, OpenRow, Row, Slot
    from constat.proof.decide import Decision
    from constat.proof.instances import (
        AtomCode,
        Binding,
        LiteralCode,
        Pattern,
        RuleCode,
        ThresholdCode,
    )
    from constat.proof.relation import Columns

_MOST_STEPS = 200_000
_MOST_NEAR = 3


@dataclass(frozen=True, slots=True)
class Attempt:
    """How far a rule gets.

    ``state`` is ``failed``, ``open`` (it may hold, something is unknown) or ``not tried`` (too much
    to look at).  ``reached`` counts literals of ``of`` that can hold together; ``literal`` is the
    one that stops it, ``actual`` and ``required`` say what is there and what would be needed, and
    ``distance`` how far a number is off.
    """

    rule: str
    rule_text: str
    state: str
    reached: int
    of: int
    literal: str = ""
    sentence: str = ""
    actual: str = ""
    required: str = ""
    distance: str = ""


def attempts_at(decision: Decision) -> tuple[Attempt, ...]:
    """Say for each rule of the goal's predicate how far it gets."""
    walker = Slice(decision.reading, steps=_MOST_STEPS)
    pattern = decision.proof.pattern
    columns = tuple(place for place, cell in enumerate(pattern) if cell is not None)
    key: Row = tuple(pattern[column] for column in columns)  # type: ignore[misc]
    found = []
    for number in decision.reading.program.rule_numbers(decision.goal.predicate):
        attempt = _Attempting(decision, walker, number)
        try:
            found.append(attempt.run(columns, key))
        except TooLargeError:
            found.append(attempt.made("not tried", 0))
    return tuple(found)


class _Attempting:
    """Walks one rule and remembers the furthest binding."""

    def __init__(self, decision: Decision, walker: Slice, number: int) -> None:
        self.decision = decision
        self.walker = walker
        self.program = decision.reading.program
        self.rule = self.program.rules[number]
        self.code: RuleCode = walker.code(number)
        self.predicates = self.program.program.predicates
        self.decided = decided_by_totals(self.code)

    def made(self, state: str, reached: int, **details: str) -> Attempt:
        """Return an attempt of this rule."""
        text = ", ".join(print_literal(literal) for literal in self.rule.body)
        return Attempt(self.rule.id, text, state, reached, len(self.code.body), **details)

    def order(self, columns: Columns) -> tuple[int, ...]:
        """Return the order in which the proof took the body."""
        predicate = self.rule.head.predicate
        for (name, bound), entry in self.decision.proof.slice.inside.entries.items():
            if name == predicate and set(bound) <= set(columns):
                return entry.orders[self.code.number]
        return order_of(self.code, columns)

    def run(self, columns: Columns, key: Row) -> Attempt:
        """Walk the body as far as it goes."""
        start = self.code.start(columns, key)
        if start is None:
            return self.made("failed", 0, sentence="its head is about other values")
        order = self.order(columns)
        furthest: tuple[int, Binding] = (0, start)
        waiting = [(0, start)]
        while waiting:
            depth, binding = waiting.pop()
            if depth > furthest[0]:
                furthest = (depth, binding)
            if depth == len(order):
                return self.possible(binding)
            extended = self.walker.extend(self.code, order[depth], binding)
            self.walker.steps -= 1
            waiting += [(depth + 1, one) for one in reversed(list(extended))]
        return self.stopped(furthest[0], order, furthest[1])

    def instance(self, binding: Binding) -> Instance:
        values: dict[str, Slot] = {
            name: cell  # type: ignore[misc]  # holes but ⋆ are left out
            for name, cell in zip(self.code.names, binding, strict=True)
            if cell is OPEN or not is_hole(cell)
        }
        kinds = dict(zip(self.code.names, self.code.kinds, strict=True))
        return Instance(self.rule, values, kinds, self.predicates)

    def possible(self, binding: Binding) -> Attempt:
        """Say that an instance may hold, and what is unknown about it."""
        unknown = [text for code in self.code.body if (text := self.unknown(code, binding))]
        sentence = f"it would, if {' and '.join(unknown)}" if unknown else ""
        return self.made("open", len(self.code.body), sentence=sentence)

    def unknown(self, code: LiteralCode, binding: Binding) -> str:
        """Say what has to be true for a literal that is not certain; empty for the others."""
        match code:
            case PositiveCode(atom) | NegativeCode(atom):
                negative = isinstance(code, NegativeCode)
                row = atom.pattern(binding)
                if is_ground(row) and self.is_settled(atom.predicate, row, negative=negative):
                    return ""
                shown = print_row(self.predicates[atom.predicate], opened(row))
                return f"there is no {shown}" if negative else f"{shown} holds"
            case ComparisonCode():
                # A threshold speaks for its comparison.
                decided = code in self.decided
                holds = decided or code.truth(binding) is True
                return "" if holds else f"{self.text(code)} is true"
            case AggregateCode():
                place = self.code.body.index(code)
                if code.threshold is not None:
                    return f"{self.text(self.code.body[code.threshold.place])} is true"
                value = self.walker.aggregates.exact(self.code, place, code, binding).value
                return "" if not is_hole(value) else f"{self.text(code)} were known"

    def is_settled(self, predicate: str, row: Pattern, *, negative: bool) -> bool:
        """Tell whether a ground literal is certain."""
        if negative:
            return not self.walker.possible(predicate, row)
        return self.walker.is_certain(predicate, row)  # type: ignore[arg-type]  # ground

    def text(self, code: LiteralCode) -> str:
        """Return a literal as the rule has it."""
        return print_literal(self.rule.body[self.code.body.index(code)])

    def stopped(self, reached: int, order: tuple[int, ...], binding: Binding) -> Attempt:
        """Say what stops the rule."""
        place = order[reached]
        literal, code = self.rule.body[place], self.code.body[place]
        details = {"literal": print_literal(literal)}
        match code:
            case ComparisonCode():
                details |= self.compared(code, binding, literal)
            case AggregateCode():
                details |= self.aggregated(place, code, binding)
            case PositiveCode(atom):
                details |= self.lacking(atom, binding)
            case _:
                details |= self.refuted(literal, binding)
        return self.made("failed", reached, **details)

    def compared(self, code: ComparisonCode, binding: Binding, literal: Literal) -> dict[str, str]:
        left, right = code.left.evaluate(binding), code.right.evaluate(binding)
        kind = code.left.kind
        if is_hole(left) or is_hole(right):
            return {}
        shown = show_value(left, kind), show_value(right, kind)  # type: ignore[arg-type]
        details = {
            "actual": shown[0],
            "required": f"{code.operator} {shown[1]}",
            "sentence": refute_comparison(self.instance(binding), literal),
        }
        if kind.numeric:
            details["distance"] = show_value(_distance(left, right, kind), kind)  # type: ignore[arg-type]
        return details

    def aggregated(self, place: int, code: AggregateCode, binding: Binding) -> dict[str, str]:
        if code.threshold is not None:
            return self.below(place, code, code.threshold, binding)
        exact = self.walker.aggregates.exact(self.code, place, code, binding)
        kind = self.code.kinds[code.result]
        wanted = binding[code.result]
        if exact.value is None:
            return {"actual": "no rows", "sentence": f"there is no {code.function} of no rows"}
        actual = show_value(exact.value, kind)  # type: ignore[arg-type]  # a value: it differs
        return {
            "actual": actual,
            "required": "" if is_hole(wanted) else f"= {show_value(wanted, kind)}",  # type: ignore[arg-type]
            "sentence": f"the {code.function} is {actual}",
        }

    def below(
        self, place: int, code: AggregateCode, threshold: ThresholdCode, binding: Binding
    ) -> dict[str, str]:
        """Say how far a recursive total stays from its bound."""
        kind = self.code.kinds[code.result]
        top = self.walker.growth.top(self.code, place, code, binding)
        bound = threshold.bound.evaluate(binding)
        if top.total is None or is_hole(bound):
            return {}
        total, least = show_value(top.total, kind), show_value(bound, kind)  # type: ignore[arg-type]
        wanted = "more than" if threshold.operator == ">" else "at least"
        return {
            "literal": print_literal(self.rule.body[threshold.place]),
            "actual": total,
            "required": f"{threshold.operator} {least}",
            "sentence": f"the {code.function} is {total} at most, and {wanted} {least} is needed",
            "distance": show_value(_distance(bound, top.total, kind), kind),  # type: ignore[arg-type]
        }

    def lacking(self, atom: AtomCode, binding: Binding) -> dict[str, str]:
        declared = self.predicates[atom.predicate]
        pattern = atom.pattern(binding)
        wanted = print_row(declared, opened(pattern))
        details = {"required": wanted, "sentence": f"there is no {wanted}"}
        near = self.near(atom.predicate, pattern)
        if near:
            details["actual"] = ", ".join(print_row(declared, row) for row in near)
        return details

    def near(self, predicate: str, pattern: Pattern) -> list[OpenRow]:
        """Return known rows that differ from the pattern in its last bound column only."""
        bound = [place for place, cell in enumerate(pattern) if not is_hole(cell)]
        if len(bound) < 2 or predicate not in self.program.external:  # noqa: PLR2004  one to differ
            return []
        columns = tuple(bound[:-1])
        key: Row = tuple(pattern[column] for column in columns)  # type: ignore[misc]
        rows = self.walker.outside.side(predicate).rows.matching(columns, key)
        return [row for row in rows if OPEN not in row][:_MOST_NEAR]

    def refuted(self, literal: Literal, binding: Binding) -> dict[str, str]:
        if not isinstance(literal, Negative):
            return {}
        declared = self.predicates[literal.atom.predicate]
        row = self.instance(binding).row(literal.atom)
        return {
            "actual": print_row(declared, row),
            "required": f"no {print_row(declared, row)}",
            "sentence": describe_fact(declared, row),
        }


def _distance(left: Slot, right: Slot, kind: Kind) -> Slot:
    if kind is Kind.FLOAT:
        return abs(float(left) - float(right))  # type: ignore[arg-type]  # floats
    return abs(Decimal(left) - Decimal(right))  # type: ignore[arg-type]  # numbers
