"""Make `?x = range(?a, ?b)` a relation of its own, with the rules that count.

In: a program whose rules use `range`. Out: one without: each use reads a relation such as
`day.range`, whose first row is the begin and whose next rows are one step further, below the end.
So engines, certificates and checkers know nothing of ranges, and the limits of recursion bound
them. Invariant: an addition that is made never leaves the 64 bits, as it stays below the end.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, cast

from constat.analysis.attributes import NO_REASON, REASONS, reason_codes
from constat.analysis.binding import has_range, holds_range, names_in, uses_range
from constat.analysis.demand import binders, demand_relation
from constat.analysis.kind_mistakes import misplaced_range
from constat.analysis.modes import given_names
from constat.analysis.safety import occurrences
from constat.diagnostics import Severity
from constat.logic import (
    RANGE,
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
    literal_variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis.analysed import Draft
    from constat.diagnostics import Diagnostic
    from constat.logic import Literal, Program, Term

_STEPS: Final = 3
_NEXT: Final = "following"
_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})


def name_ranges(program: Program, diagnostics: list[Diagnostic]) -> Program:
    """Give a name to each range that is an argument: `p(range(0, 3)).` has an equation then."""
    rules = tuple(
        _Naming(rule, diagnostics).named() if uses_range(rule) else rule for rule in program.rules
    )
    return program if rules == program.rules else replace(program, rules=rules)


def make_ranges(draft: Draft) -> None:
    """Put relations in place of ranges; a program with errors is left as it is."""
    if any(one.severity is Severity.ERROR for one in draft.diagnostics):
        return
    before = len(draft.rules)
    for number, rule in enumerate(draft.rules[:before]):
        if uses_range(rule):
            draft.rules[number] = _Counting(draft, rule, draft.variable_kinds[number]).rule_read()
    if len(draft.rules) > before:
        # Strata are found in the rules of the program.
        draft.program = replace(draft.program, rules=tuple(draft.rules))


def _reads_range(literal: Literal) -> bool:
    return isinstance(literal, Comparison) and _is_range(literal.right)


def _is_range(term: Term) -> bool:
    return isinstance(term, Apply) and term.function == RANGE


class _Naming:
    """One rule while its ranges are named."""

    def __init__(self, rule: Rule, diagnostics: list[Diagnostic]) -> None:
        self.rule = rule
        self.diagnostics = diagnostics
        self.taken = {one.name for one in occurrences(rule)}

    def named(self) -> Rule:
        body: list[Literal] = []
        codes: list[str] = []
        known = reason_codes(self.rule.attributes)
        for place, literal in enumerate(self.rule.body):
            written = list(self.literal(literal))
            body += written
            codes += known[place : place + 1] * len(written)
        head, equations = self.atom(self.rule.head)
        body += equations
        codes += [NO_REASON] * len(equations) if codes else []
        attributes = self.rule.attributes
        attributes = {**attributes, REASONS: ",".join(codes)} if codes else attributes
        return replace(self.rule, head=head, body=tuple(body), attributes=attributes)

    def literal(self, literal: Literal) -> Iterator[Literal]:
        match literal:
            case Positive(atom):
                named, equations = self.atom(atom)
                yield Positive(named)
                yield from equations
            case Comparison("=", left, right) if _is_range(left) or _is_range(right):
                yield from self.equation(literal)
            case Aggregate(target=target, body=inner):
                self.no_range(() if target is None else (target,))
                kept = tuple(written for one in inner for written in self.literal(one))
                yield replace(literal, body=cast("tuple[Positive | Comparison, ...]", kept))
            case Negative(atom):
                self.no_range(atom.terms)
                yield literal
            case Comparison(left=left, right=right):
                self.no_range((left, right))
                yield literal

    def equation(self, literal: Comparison) -> Iterator[Literal]:
        """Yield an equation with its range on the right; two ranges are two equations."""
        left, right = literal.left, literal.right
        if not _is_range(right):
            left, right = right, left
        if _is_range(left):
            name = self.unused()
            yield Comparison("=", name, left, literal.span)
            self.no_range(cast("Apply", left).arguments)
            left = name
        self.no_range((left, *cast("Apply", right).arguments))
        yield Comparison("=", left, right, literal.span)

    def atom(self, atom: Atom) -> tuple[Atom, list[Comparison]]:
        """Give an atom with variables for its ranges, and their equations."""
        if not any(map(holds_range, atom.terms)):
            return atom, []
        terms: list[Term] = []
        equations: list[Comparison] = []
        for term in atom.terms:
            if not _is_range(term):
                self.no_range((term,))
                terms.append(term)
                continue
            self.no_range(cast("Apply", term).arguments)
            terms.append(self.unused())
            equations.append(Comparison("=", terms[-1], term, cast("Apply", term).span))
        return replace(atom, terms=tuple(terms)), equations

    def no_range(self, terms: Iterable[Term]) -> None:
        """Report a range where one value must stand."""
        found = next((term for term in terms if holds_range(term)), None)
        if found is not None:
            self.diagnostics.append(misplaced_range(cast("Apply", found)))

    def unused(self) -> Variable:
        name, number = "value", 1
        while name in self.taken:
            number += 1
            name = f"value_{number}"
        self.taken.add(name)
        return Variable(name)


class _Counting:
    """One rule while its ranges become relations."""

    def __init__(self, draft: Draft, rule: Rule, kinds: Mapping[str, Kind]) -> None:
        self.draft = draft
        self.rule = rule
        self.kinds = kinds
        self.body = list(rule.body)

    def rule_read(self) -> Rule:
        """Give the rule that reads relations, and add these to the draft.

        A range whose end another one binds waits for it: so each is a relation once.
        """
        waiting = list(self.sites())
        while waiting:
            left = [site for site in waiting if not self.is_read(*site)]
            if len(left) == len(waiting):
                raise TypeError("nothing binds the ends of a range, which analysis has checked")
            waiting = left
        return replace(self.rule, body=tuple(self.body))

    def sites(self) -> Iterator[tuple[int, int]]:
        """Yield the places of ranges; the second is that in an aggregate, or -1."""
        for place, literal in enumerate(self.body):
            if _reads_range(literal):
                yield place, -1
            elif isinstance(literal, Aggregate):
                yield from ((place, at) for at, o in enumerate(literal.body) if _reads_range(o))

    def is_read(self, place: int, inner: int) -> bool:
        """Put a relation in the place of a range, if what binds its ends is known."""
        literal = self.body[place]
        beside = [one for at, one in enumerate(self.body) if at != place]
        if isinstance(literal, Aggregate):
            beside += [one for at, one in enumerate(literal.body) if at != inner]
            found = self.read(literal.body[inner], beside)
            if found is None:
                return False
            body = (*literal.body[:inner], found, *literal.body[inner + 1 :])
            self.body[place] = replace(literal, body=body)
            return True
        found = self.read(literal, beside)
        if found is None:
            return False
        self.body[place] = found
        return True

    def read(self, literal: Literal, beside: Sequence[Literal]) -> Positive | None:
        """Give the literal that reads the relation of a range."""
        equation = cast("Comparison", literal)
        call = cast("Apply", equation.right)
        start = self.start(names_in(call.arguments), [o for o in beside if not has_range(o)])
        if start is None:
            return None
        relation = _relation(self.draft, self.rule.head.predicate, call)
        self.draft.predicates[relation.name] = relation
        used = {one.name for literal in start for one in literal_variables(literal)}
        used |= names_in(call.arguments)
        own = {name: kind for name, kind in self.kinds.items() if name in used}
        columns = dict.fromkeys((*(one.name for one in relation.columns), _NEXT))
        counted = dict.fromkeys(columns, relation.columns[0].kind)
        for number, rule in enumerate(_rules(relation, call, start), start=1):
            named = replace(rule, id=f"{relation.name}.{number}", span=self.rule.span)
            self.draft.rules.append(named)
            first = rule.body[0] if rule.body else None
            counts = isinstance(first, Positive) and first.atom.predicate == relation.name
            kinds = counted if counts else own
            used = {one.name for one in occurrences(rule)}
            self.draft.variable_kinds.append({n: kind for n, kind in kinds.items() if n in used})
        return Positive(Atom(relation.name, (*call.arguments, equation.left), equation.span))

    def start(self, wanted: frozenset[str], beside: Sequence[Literal]) -> list[Literal] | None:
        """Return the literals that bind the ends of a range."""
        predicates = self.draft.predicates
        found = binders(self.rule, predicates, wanted, beside)
        if found is None or not given_names(self.rule, predicates):
            return found
        own = predicates[self.rule.head.predicate]
        relation = demand_relation(own)
        predicates[relation.name] = relation
        terms = tuple(self.rule.head.terms[place] for place in own.given)
        return [Positive(Atom(relation.name, terms)), *found]


def _relation(draft: Draft, owner: str, call: Apply) -> Predicate:
    """Give the relation of a range: its ends, its step where it has one, and a value."""
    kind = call.kind or Kind.NUMBER
    names = ("begin", "end", "step")[: len(call.arguments)]
    columns = tuple(Column(name, kind.value, kind) for name in (*names, "value"))
    step = " in steps of {step}" if len(call.arguments) == _STEPS else ""
    # Names of the language have no point, so this one is free.
    name, number = f"{owner}.range", 1
    while name in draft.predicates:
        number += 1
        name = f"{owner}.range.{number}"
    says = f"{{value}} is in the range from {{begin}} to below {{end}}{step}"
    return Predicate(name, columns, attributes={"says": says}, span=call.span)


def _rules(relation: Predicate, call: Apply, start: Sequence[Literal]) -> Iterator[Rule]:
    """Yield the rules of a range: its first value, and the next one, upwards and downwards."""
    kind = relation.columns[0].kind
    ends = tuple(Variable(column.name) for column in relation.columns[:-1])
    value, following = Variable("value"), Variable(_NEXT)
    stepping = len(ends) == _STEPS
    first = Atom(relation.name, (*call.arguments, call.arguments[0]))
    going = Positive(Atom(relation.name, (*ends, value)))
    further = Atom(relation.name, (*ends, following))
    ways = [upwards for upwards in (True, False) if _can_go(call, kind, upwards=upwards)]
    for upwards in ways:
        before = "<" if upwards else ">"
        limits = [Comparison(before, call.arguments[0], call.arguments[1])]
        if stepping:
            limits.append(Comparison(">=" if upwards else "<", call.arguments[2], _zero(kind)))
        # What the text says by constants needs no test.
        needed = [one for one in limits if not _holds(one)]
        yield Rule("", first, (*start, *needed))
    # A range without values has rules, too: a relation without any would be one from outside.
    for upwards in ways or [True]:
        for body in _next(kind, ends, value, following, upwards=upwards):
            yield Rule("", further, (going, *body))


def _next(
    kind: Kind, ends: tuple[Variable, ...], value: Variable, following: Variable, *, upwards: bool
) -> Iterator[tuple[Literal, ...]]:
    """Yield how the next value is reached; none of these additions overflows in whole numbers."""
    before, after = ("<", ">") if upwards else (">", "<")
    zero, end = _zero(kind), ends[1]
    if len(ends) < _STEPS:
        one = Constant(_value(kind, 1), kind)
        added = _added("+" if upwards else "-", value, one, end, kind)
        # The direction is that of the ends: the same rows may be counted once only.
        yield (
            Comparison(before, ends[0], end),
            Comparison("=", following, added),
            Comparison(before, following, end),
        )
        return
    step = ends[2]
    moves = Comparison(after, step, zero)
    added = _added("+", value, step, end, kind)
    reached = Comparison("=", following, added)
    if kind not in _INTEGERS:
        yield moves, reached, Comparison(before, following, end)
        return
    # On the far side of 0 the distance to the end is exact, on this side the sum is.
    left = Apply("-", (end, value), kind)
    if kind is Kind.NUMBER:
        near = Comparison("<=" if upwards else ">=", value, zero)
        yield moves, near, reached, Comparison(before, following, end)
        yield moves, Comparison(after, value, zero), Comparison(after, left, step), reached
    else:
        yield moves, Comparison(after, left, step), reached


def _added(function: str, value: Term, step: Term, end: Term, kind: Kind) -> Apply:
    """Give the next value; it is unknown where the end is, so that counting ends there, too."""
    nothing = Apply("-", (end, end), kind)
    return Apply("+", (Apply(function, (value, step), kind), nothing), kind)


def _can_go(call: Apply, kind: Kind, *, upwards: bool) -> bool:
    """Tell whether a range may go this way, as far as constants tell."""
    begin, end, *steps = call.arguments
    if isinstance(begin, Constant) and isinstance(end, Constant):
        low, high = (begin, end) if upwards else (end, begin)
        if not low.value < high.value:  # type: ignore[operator]  # numbers of one kind
            return False
    if steps and not upwards and kind is Kind.UNSIGNED:
        return False
    if steps and isinstance(steps[0], Constant):
        return (steps[0].value >= 0) is upwards  # type: ignore[operator]  # a number
    return True


def _holds(test: Comparison) -> bool:
    """Tell whether a test stands between constants; `_can_go` has looked at these."""
    return isinstance(test.left, Constant) and isinstance(test.right, Constant)


def _zero(kind: Kind) -> Constant:
    return Constant(_value(kind, 0), kind)


def _value(kind: Kind, number: int) -> int | float | Decimal:
    if kind is Kind.FLOAT:
        return float(number)
    return Decimal(number) if kind is Kind.DECIMAL else number
