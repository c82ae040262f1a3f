"""How far the rules of an undecided or disproved goal get over the rows that a certificate shows.

In: a ``Document`` and its look-ups.  Out: one ``Attempt`` per rule of the goal's predicate.
Invariant: only rows that the certificate shows are walked, in the order in which its closure takes
each body, and in a bounded number of steps; nothing is decided here, the checker does that.

Example: of a disproved ``is_vip(C009)`` the rule ``... ?total > ?threshold`` ends at that
comparison, with 0 for the total and 100,000 for the threshold.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.logic import OPEN, Comparison, Kind, Negative, Open, Positive
from constat.proof.decoding import decode_row
from constat.proof.groups import Group
from constat.proof.instances import AggregateCode, ComparisonCode, is_hole, opened
from constat.proof.ordering import order_of
from constat.proof.render import printable
from constat.proof.sentences import Instance, describe_fact, refute_comparison, show_value
from constat.proof.whynot import Attempt
from constat.proof.written import written_body
from constat.syntax import print_literal, print_row, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.logic import Row, Slot, Value
    from constat.proof.export.document import Document
    from constat.proof.export.lookups import Lookups
    from constat.proof.instances import Binding, Cell, LiteralCode, RuleCode
    from constat.proof.written import Written

_MOST_STEPS: Final = 50_000


def attempts_at(document: Document, lookups: Lookups) -> tuple[Attempt, ...]:
    """Say for each rule of the goal's predicate how far it gets."""
    name, pattern = document.header["goal"]
    row = decode_row(pattern, document.program.program.predicates[name].kinds)
    columns = tuple(place for place, cell in enumerate(row) if cell is not OPEN)
    key: Row = tuple(row[column] for column in columns)  # type: ignore[misc]  # ground
    orders = _orders(document)
    found = []
    for number in document.program.rule_numbers(name):
        attempt = _Attempting(document, lookups, number)
        try:
            found.append(attempt.run(orders.get(number), columns, key))
        except ValueError:
            found.append(attempt.made("not tried", 0))
    return tuple(found)


def _orders(document: Document) -> dict[int, tuple[int, ...]]:
    """Return the order in which the closure takes the body of each rule, as first written."""
    found: dict[int, tuple[int, ...]] = {}
    for entry in document.members["closure"]["entries"]:
        for number, order in entry["orders"]:
            found.setdefault(number, tuple(order))
    return found


class _Attempting:
    """Walks one rule and remembers the furthest binding."""

    def __init__(self, document: Document, lookups: Lookups, number: int) -> None:
        self.lookups = lookups
        self.predicates = document.program.program.predicates
        self.external = document.program.external
        self.rule = document.program.rules[number]
        self.written = written_body(self.rule.body)
        self.code: RuleCode = lookups.code(number)
        self.steps = _MOST_STEPS

    def made(self, state: str, reached: int, **details: str) -> Attempt:
        """Return an attempt of this rule, with printable details."""
        text = ", ".join(print_literal(one.literal, self.predicates) for one in self.written)
        shown = {name: printable(said) for name, said in details.items()}
        name = printable(self.rule.id)
        return Attempt(
            name,
            printable(text),
            state,
            reached,
            len(self.written),
            literal=shown.get("literal", ""),
            sentence=shown.get("sentence", ""),
            actual=shown.get("actual", ""),
            required=shown.get("required", ""),
            distance=shown.get("distance", ""),
        )

    def run(self, order: tuple[int, ...] | None, columns: tuple[int, ...], key: Row) -> Attempt:
        """Walk the body as far as it goes."""
        start = self.code.start(columns, key)
        if start is None:
            return self.made("failed", 0, sentence="its head is about other values")
        order = order or order_of(self.code, columns)
        furthest: tuple[int, Binding] = (0, start)
        waiting = [furthest]
        while waiting:
            depth, binding = waiting.pop()
            if depth > furthest[0]:
                furthest = (depth, binding)
            if depth == len(order):
                return self.possible(binding)
            self.steps -= 1
            if self.steps < 0:
                raise ValueError("the rule has too many instances to be walked here")
            waiting += [(depth + 1, one) for one in self.extended(order[depth], binding)]
        held = set(order[: furthest[0]])
        reached = sum(set(one.places) <= held for one in self.written)
        return self.stopped(reached, order[furthest[0]], furthest[1])

    def extended(self, place: int, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which one literal may be true as well."""
        literal: LiteralCode = self.code.body[place]
        if not isinstance(literal, AggregateCode):
            return reversed(list(self.lookups.tested(literal, binding)))
        known = binding[literal.result]
        value = self.value(literal, binding)
        if value is None or not (is_hole(known) or is_hole(value) or value == known):
            return ()
        extended = list(binding)
        extended[literal.result] = value if is_hole(known) else known
        return (extended,)

    def value(self, literal: AggregateCode, binding: Binding) -> Cell:
        """Return the value of an aggregate; what a recursive total may reach is not looked for."""
        if literal.threshold is not None or any(is_hole(binding[one]) for one in literal.outer):
            return OPEN
        start: Binding = [None] * len(binding)
        for slot in literal.outer:
            start[slot] = binding[slot]
        return Group(self.lookups, literal).exact(start).value

    def instance(self, binding: Binding) -> Instance:
        """Return the rule with the values bound so far."""
        values: dict[str, Slot] = {
            name: slot
            for name, slot, cell in zip(
                self.code.names, opened(tuple(binding)), binding, strict=True
            )
            if cell is not None
        }
        kinds = dict(zip(self.code.names, self.code.kinds, strict=True))
        return Instance(self.rule, values, kinds, self.predicates)

    def possible(self, binding: Binding) -> Attempt:
        """Say that the rule may give the goal, and which of its literals speak of the unknown."""
        instance = self.instance(binding)
        known = [self.unknown(instance, one) for one in self.written]
        unknown = [said for said in known if said] or [
            f"{print_row(self.predicates[atom.predicate], instance.row(atom))} holds"
            for atom in (one.atom for one in self.rule.body if isinstance(one, Positive))
            if atom.predicate not in self.external
        ]
        sentence = f"it would, if {' and '.join(unknown)}" if unknown else ""
        return self.made("open", len(self.written), sentence=sentence)

    def unknown(self, instance: Instance, one: Written) -> str:
        """Say what has to be true for a literal about something unknown; empty for the others."""
        match one.literal:
            case Positive(atom):
                row = instance.row(atom)
                told = OPEN not in row and (
                    # A bound shows which derived rows may be; that one is in it settles nothing.
                    atom.predicate not in self.external
                    or self.lookups.is_certain(atom.predicate, row)
                )
                return "" if told else f"{print_row(self.predicates[atom.predicate], row)} holds"
            case Negative(atom):
                row = instance.row(atom)
                shown = print_row(self.predicates[atom.predicate], row)
                pattern = tuple(None if slot is OPEN else slot for slot in row)
                rows = self.lookups.possible(atom.predicate, pattern)
                return f"there is no {shown}" if rows else ""
            case Comparison(left=left) as literal if one.opened:
                # Its fields are known where the structure is.
                return print_literal(literal) if instance.slot(left) is OPEN else ""
            case Comparison(operator=operator, left=left, right=right):
                sides = (instance.term(left), instance.term(right))
                told = "something unknown" not in sides
                return "" if told else f"{sides[0]} {operator} {sides[1]}"
            case _:
                return ""

    def stopped(self, reached: int, place: int, binding: Binding) -> Attempt:
        """Say what stops the rule."""
        one = next(one for one in self.written if place in one.places)
        literal, code = one.literal, self.code.body[place]
        instance = self.instance(binding)
        details = {"literal": print_literal(literal, self.predicates)}
        match literal:
            case Comparison() if one.opened and isinstance(code, ComparisonCode):
                details["sentence"] = refute_comparison(instance, literal)
                guard = place == one.places[0]
                details |= _unlike(code, binding, print_term(literal.right) if guard else "")
            case Comparison() if isinstance(code, ComparisonCode):
                details["sentence"] = refute_comparison(instance, literal)
                details |= _compared(code, binding)
            case Positive(atom):
                shown = print_row(self.predicates[atom.predicate], instance.row(atom))
                details |= {"required": shown, "sentence": f"there is no {shown}"}
            case Negative(atom):
                declared, row = self.predicates[atom.predicate], instance.row(atom)
                shown = print_row(declared, row)
                details |= {"actual": shown, "required": f"no {shown}"}
                details["sentence"] = describe_fact(declared, row)
            case _ if isinstance(code, AggregateCode):
                details |= self.folded(code, binding)
            case _:
                raise TypeError(literal)
        return self.made("failed", reached, **details)

    def folded(self, code: AggregateCode, binding: Binding) -> dict[str, str]:
        """Say the value of an aggregate that is not the one wanted."""
        value, kind = self.value(code, binding), self.code.kinds[code.result]
        if value is None:
            return {"actual": "no rows", "sentence": f"there is no {code.function} of no rows"}
        actual, wanted = (show_value(one, kind) for one in opened((value, binding[code.result])))
        return {
            "actual": actual,
            "required": f"= {wanted}",
            "sentence": f"the {code.function} is {actual}",
        }


def _unlike(code: ComparisonCode, binding: Binding, wanted: str) -> dict[str, str]:
    """Return the constructor that is not the wanted one, or the field that is another."""
    left, right = opened((code.left.evaluate(binding), code.right.evaluate(binding)))
    if isinstance(left, Open) or isinstance(right, Open):
        return {}
    if wanted:
        return {"actual": str(left), "required": f"= {wanted}"}
    # A field stands on the right, what it has to be on the left.
    return _sides(("=", right, left), code.left.kind)


def _compared(code: ComparisonCode, binding: Binding) -> dict[str, str]:
    """Return both sides of a comparison, and how far a number is off."""
    left, right = opened((code.left.evaluate(binding), code.right.evaluate(binding)))
    if isinstance(left, Open) or isinstance(right, Open):
        return {}
    return _sides((code.operator, left, right), code.left.kind)


def _sides(compared: tuple[str, Value, Value], kind: Kind) -> dict[str, str]:
    operator, left, right = compared
    actual, required = show_value(left, kind), show_value(right, kind)
    details = {"actual": actual, "required": f"{operator} {required}"}
    if kind is Kind.FLOAT:
        details["distance"] = show_value(abs(float(left) - float(right)), kind)
    elif kind.numeric:
        details["distance"] = show_value(abs(Decimal(left) - Decimal(right)), kind)
    return details
