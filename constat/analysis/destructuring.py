"""Rules in the form that engines and checkers know: patterns, projections, computed arguments."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field, replace
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, Final, cast

from constat.analysis.analysed import as_warning
from constat.analysis.attributes import NO_REASON, REASONS, reason_codes
from constat.analysis.binding import (
    Inputs,
    Step,
    bind,
    equations,
    free_names,
    has_range,
    holds_range,
    is_pattern,
    names_in,
    nothing_required,
    pattern_names,
    steps_of,
    uses_range,
)
from constat.analysis.demand import binders, demand_relation
from constat.analysis.kind_mistakes import misplaced_range
from constat.analysis.modes import given_names, needed_names, required_inputs, required_terms
from constat.analysis.safety import in_aggregate, occurrences
from constat.diagnostics import Severity
from constat.frozen import slotted
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
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
    Program,
    Rule,
    Term,
    Variable,
    is_wildcard,
    literal_variables,
    outer_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis.analysed import Draft
    from constat.diagnostics import Diagnostic, Span
    from constat.logic import Literal

# Make `?x = range(?a, ?b)` a relation of its own, with the rules that count.
#
# Each use reads a relation such as `day.range`, whose first row is the begin and whose next rows
# are one step further, below the end. So engines, certificates and checkers know nothing of
# ranges, and the limits of recursion bound them. Invariant: an addition that is made never leaves
# the 64 bits, as it stays below the end.

_STEPS: Final = 3
_NEXT: Final = "following"
_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})


def name_ranges(program: Program, diagnostics: list[Diagnostic]) -> Program:
    """Give a name to each range that is an argument: `p(range(0, 3)).` has an equation then."""
    rules = tuple(
        _RangeNaming(rule, diagnostics).named() if uses_range(rule) else rule
        for rule in program.rules
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


class _RangeNaming:
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


# Rules in the form that engines and checkers know: patterns, projections, computed arguments.

# The rule means the same, a safe rule stays safe, an opened rule is left as it is, and each added
# literal has the reason code of the literal it comes from.
# An equation whose variables are bound already where the text comes to it stays: it makes the
# structure, so that rows are looked up by it. After `expr(?e), ?e = $Add(?l, ?r)` the atom
# `eval(?l, ?n)` is asked for one value; read the other way round, `?e` would be.

_NO_LETTER = re.compile(r"[^a-z0-9_]+")


def open_structures(draft: Draft) -> None:
    """Open the patterns of all rules; a program with errors is left as it is."""
    if any(one.severity is Severity.ERROR for one in draft.diagnostics):
        return
    numbers = [number for number, rule in enumerate(draft.rules) if has_patterns(rule)]
    if not numbers:
        return
    required = required_inputs(draft.rules, draft.predicates)
    for number in numbers:
        rule, kinds = draft.rules[number], draft.variable_kinds[number]
        given = needed_names(rule, required) if required else set()
        given |= given_names(rule, draft.predicates)
        opening = _Opening(rule, kinds, required_terms(required), given)
        draft.rules[number] = opening.opened()
        draft.variable_kinds[number] = opening.variable_kinds()


def has_patterns(rule: Rule) -> bool:
    """Tell whether a positive atom or an equation of the body holds a constructor."""
    for literal in rule.body:
        inner: Iterable[Literal] = literal.body if isinstance(literal, Aggregate) else (literal,)
        for one in inner:
            match one:
                case Positive(atom) if any(map(is_pattern, atom.terms)):
                    return True
                case Comparison("=", left, right) if is_pattern(left) or is_pattern(right):
                    return True
                case _:
                    pass
    return False


@slotted
class _Opening:
    """One rule while its patterns are opened."""

    rule: Rule
    kinds: Mapping[str, Kind]
    inputs: Inputs
    given: set[str]
    fresh: dict[str, Kind] = field(default_factory=dict)
    numbers: Counter[str] = field(default_factory=Counter)
    uses: Counter[str] = field(init=False)
    outer: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.uses = Counter(one.name for one in occurrences(self.rule))
        self.outer = set(outer_names(self.rule))

    def opened(self) -> Rule:
        body: list[Literal] = []
        codes: list[str] = []
        for place, literal in self.opened_body(self.rule.body, set()):
            if isinstance(literal, Aggregate):
                inner = [one for _, one in self.opened_body(literal.body, self.outer)]
                kept = cast("tuple[Positive | Negative | Comparison, ...]", tuple(inner))
                body.append(replace(literal, body=kept))
            else:
                body.append(literal)
            # There is one code for each literal of the text: what it became has the same.
            codes.extend(reason_codes(self.rule.attributes)[place : place + 1])
        attributes = self.rule.attributes
        if codes:
            attributes = {**attributes, REASONS: ",".join(codes)}
        return replace(self.rule, body=tuple(body), attributes=attributes)

    def variable_kinds(self) -> dict[str, Kind]:
        kept = {name: kind for name, kind in self.kinds.items() if self.uses[name]}
        return {**kept, **self.fresh}

    def opened_body(
        self, body: Iterable[Literal], bound: set[str]
    ) -> Iterator[tuple[int, Literal]]:
        """Yield the literals of a body, each with the place of the one it comes from."""
        flat = [(place, one) for place, literal in enumerate(body) for one in self.flat(literal)]
        chosen = self.chosen([one for _, one in flat], bound)
        for number, (place, literal) in enumerate(flat):
            if number in chosen and isinstance(literal, Comparison):
                for one in self.equation(literal, chosen[number]):
                    yield place, one
            else:
                yield place, literal

    def flat(self, literal: Literal) -> Iterator[Literal]:
        """Yield a literal with its patterns moved out of the atom, and equations of parts."""
        match literal:
            case Positive(atom) if any(map(is_pattern, atom.terms)):
                terms: list[Term] = []
                moved: list[Comparison] = []
                for term in atom.terms:
                    if is_pattern(term):
                        terms.append(self.variable(term))
                        moved.append(Comparison("=", terms[-1], term, term.span or atom.span))
                    else:
                        terms.append(term)
                yield Positive(replace(atom, terms=tuple(terms)))
                yield from moved
            case Comparison("=", left, right) if is_pattern(left) and is_pattern(right):
                for one, other in equations(left, right):
                    yield replace(literal, left=one, right=other)
            case _:
                yield literal

    def chosen(self, body: list[Literal], bound: set[str]) -> dict[int, frozenset[str]]:
        """Choose the equations that are opened; with each what no other literal gives."""
        free = free_names(self.rule)
        steps = list(steps_of(body, self.outer, free, self.inputs))
        chosen = bind(steps, bound | self.given, _turns(body)).opened
        if self.inputs is nothing_required:
            return chosen
        # A proof knows nothing of what a source requires: there each variable is bound by the body.
        again = [
            _eager(step, chosen) for step in steps_of(body, self.outer, free, nothing_required)
        ]
        for place, names in bind(again, bound).opened.items():
            chosen[place] = chosen.get(place, frozenset()) | names
        return chosen

    def equation(self, literal: Comparison, fresh: frozenset[str]) -> Iterator[Comparison]:
        left, right = literal.left, literal.right
        if is_pattern(left) and (pattern_names(left) & fresh or not is_pattern(right)):
            left, right = right, left
        if not isinstance(left, Variable):
            subject = self.variable(cast("Apply", right))
            yield replace(literal, left=subject, right=left)
            left = subject
        yield from self.groups(left, cast("Apply", right), fresh, literal.span)

    def groups(
        self, subject: Variable, pattern: Apply, fresh: frozenset[str], span: Span | None
    ) -> Iterator[Comparison]:
        """Yield the constructor and the fields of a pattern, then those of the patterns in it."""
        stack = [(subject, pattern)]
        while stack:
            subject, pattern = stack.pop()
            nested: list[tuple[Variable, Apply]] = []
            indicator = Constant(f"{pattern.function}/{len(pattern.arguments)}", Kind.SYMBOL, span)
            constructor = Apply(CONSTRUCTOR_OF, (subject,), Kind.SYMBOL, span)
            yield Comparison("=", constructor, indicator, span)
            for number, argument in enumerate(pattern.arguments):
                if self.is_any(argument):
                    continue
                term = argument
                if is_pattern(argument) and pattern_names(argument) & fresh:
                    term = self.variable(argument)
                    nested.append((term, argument))
                read = (subject, Constant(number, Kind.NUMBER, span))
                kind = self.kind(term)
                yield Comparison("=", term, Apply(FIELD_OF, read, kind, span), span)
            stack.extend(reversed(nested))

    def is_any(self, term: Term) -> bool:
        """Tell whether a field is `_`, or a `_name` that stands nowhere else; it is left out."""
        if not isinstance(term, Variable) or term.name[0] != "_" or self.uses[term.name] != 1:
            return False
        self.uses[term.name] = 0
        return True

    def kind(self, term: Term) -> Kind:
        if isinstance(term, Variable):
            return self.fresh.get(term.name) or self.kinds[term.name]
        return term.kind or Kind.STRUCTURE

    def variable(self, pattern: Apply) -> Variable:
        """Give a fresh variable for a structure, named after its type."""
        name = _NO_LETTER.sub("_", pattern.type_name.lower()).strip("_") or "structure"
        number = self.numbers[name] + 1
        while f"{name}_{number}" in self.uses:
            number += 1
        self.numbers[name] = number
        self.fresh[f"{name}_{number}"] = Kind.STRUCTURE
        return Variable(f"{name}_{number}", pattern.span)


def _turns(body: Iterable[Literal]) -> list[int]:
    """Give each literal its turn: an atom and the comparisons behind it have one together.

    So the literals of an opened pattern, too, are looked at together.
    """
    return list(accumulate(not isinstance(one, Comparison) for one in body))


def _eager(step: Step, chosen: Mapping[int, frozenset[str]]) -> Step:
    """Take what is opened anyway as soon as it can be."""
    return step._replace(opens=False) if step.place in chosen else step


# The new predicates have names that no text can spell, and the answers stay the same.


def with_projections(program: Program, diagnostics: list[Diagnostic]) -> Program:
    """Give the program with a predicate for each denied atom that leaves columns out."""
    projecting = _Projecting(program, diagnostics)
    rules = [projecting.rule(rule) for rule in program.rules]
    if not projecting.predicates:
        return program
    predicates = {**program.predicates, **projecting.predicates}
    return replace(program, predicates=predicates, rules=(*rules, *projecting.rules))


@slotted
class _Projecting:
    """The predicates and rules made so far."""

    program: Program
    diagnostics: list[Diagnostic]
    predicates: dict[str, Predicate] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)

    def rule(self, rule: Rule) -> Rule:
        body: list[Literal] = []
        for literal in rule.body:
            if isinstance(literal, Aggregate):
                inner = tuple(
                    self.denied(rule, literal, one) if isinstance(one, Negative) else one
                    for one in literal.body
                )
                body.append(replace(literal, body=inner))
            else:
                body.append(literal)
        return replace(rule, body=tuple(body))

    def denied(self, rule: Rule, aggregate: Aggregate, denied: Negative) -> Negative:
        atom = denied.atom
        predicate = self.program.predicates.get(atom.predicate)
        left_out = {place for place, term in enumerate(atom.terms) if is_wildcard(term)}
        if not left_out or predicate is None or predicate.arity != len(atom.terms):
            return denied
        first = atom.terms[min(left_out)]
        if isinstance(first, Variable):
            self.diagnostics.append(as_warning(in_aggregate(rule, first, aggregate)))
        places = [place for place in range(predicate.arity) if place not in left_out]
        # Where nothing is kept the dot alone tells it from the predicate itself.
        name = f"{predicate.name}.{'.'.join(map(str, places))}"
        if name not in self.predicates:
            self.add(name, predicate, places, atom)
        return Negative(Atom(name, tuple(atom.terms[place] for place in places), atom.span))

    def add(self, name: str, predicate: Predicate, places: list[int], atom: Atom) -> None:
        columns = tuple(replace(predicate.columns[place], attributes={}) for place in places)
        self.predicates[name] = Predicate(name, columns, span=predicate.span)
        # What the head takes is read, and no `_`.
        letters = ["v" if place in places else "_" for place in range(predicate.arity)]
        variables = [Variable(f"{letter}{n}") for n, letter in enumerate(letters, 1)]
        head = Atom(name, tuple(variables[place] for place in places), atom.span)
        body = Positive(Atom(predicate.name, tuple(variables), atom.span))
        self.rules.append(Rule(name, head, (body,), span=atom.span))


# `e(?x, ?x + 1)` becomes `e(?x, ?y), ?y = ?x + 1`. Where other literals bind `?x`, the atom stays
# as it is: then it is looked up by the value.


def with_equations(program: Program) -> Program:
    """Give the program in which no atom waits for a value that it binds itself."""
    rules = tuple(
        _Naming(rule, program.predicates).named() if _computes(rule.body) else rule
        for rule in program.rules
    )
    return program if rules == program.rules else replace(program, rules=rules)


def _computes(body: Iterable[Literal]) -> bool:
    for literal in body:
        match literal:
            case Positive(atom) if any(map(_is_computed, atom.terms)):
                return True
            case Aggregate(body=inner) if _computes(inner):
                return True
            case _:
                pass
    return False


def _is_computed(term: Term) -> bool:
    return isinstance(term, Apply) and not is_pattern(term) and bool(names_in((term,)))


class _Naming:
    """One rule while its arguments are named."""

    def __init__(self, rule: Rule, predicates: Mapping[str, Predicate]) -> None:
        self.rule = rule
        self.predicates = predicates
        self.outer = set(outer_names(rule))
        self.taken = {one.name for one in occurrences(rule)}

    def named(self) -> Rule:
        """Give the rule; as it is where names would bind nothing."""
        rule = self.rule
        free = free_names(rule)
        bound = bind(steps_of(rule.body, self.outer, free), ())
        body: list[Literal] = []
        codes: list[str] = []
        for place, literal in enumerate(rule.body):
            written = list(self.literal(literal, waits=place in bound.waiting, bound=bound.names))
            body += written
            # What a literal became has the reason code of the literal.
            codes += reason_codes(rule.attributes)[place : place + 1] * len(written)
        if len(body) > len(rule.body):
            fresh = self.taken - {one.name for one in occurrences(rule)}
            again = bind(steps_of(body, self.outer | fresh, free), ())
            if len(again.waiting) >= len(bound.waiting):
                return rule
        attributes = {**rule.attributes, REASONS: ",".join(codes)} if codes else rule.attributes
        return replace(rule, body=tuple(body), attributes=attributes)

    def literal(self, literal: Literal, *, waits: bool, bound: set[str]) -> Iterator[Literal]:
        """Yield what a literal becomes."""
        match literal:
            case Positive(atom) if waits:
                yield from self.atom(atom)
            case Aggregate(body=inner):
                body = list(self.inside(inner, bound))
                kept = cast("tuple[Positive | Comparison, ...]", tuple(body))
                yield replace(literal, body=kept) if len(body) > len(inner) else literal
            case _:
                yield literal

    def inside(self, body: Sequence[Literal], bound: set[str]) -> Iterator[Literal]:
        """Yield the literals of an aggregate, in which the outer variables are bound."""
        waiting = bind(steps_of(body, self.outer, set()), bound | self.outer).waiting
        for place, literal in enumerate(body):
            yield from self.literal(literal, waits=place in waiting, bound=bound)

    def atom(self, atom: Atom) -> Iterator[Literal]:
        """Yield an atom with variables for what it computes, and their equations."""
        terms: list[Term] = []
        equations: list[Comparison] = []
        for place, term in enumerate(atom.terms):
            if not _is_computed(term):
                terms.append(term)
                continue
            name = self.unused(atom.predicate, place)
            span = term.span if isinstance(term, Apply) else None
            terms.append(Variable(name, span))
            equations.append(Comparison("=", Variable(name, span), term, span))
        yield Positive(replace(atom, terms=tuple(terms)))
        yield from equations

    def unused(self, predicate: str, place: int) -> str:
        """Give a name that the rule does not use, that of the column if it can be."""
        declared = self.predicates.get(predicate)
        known = declared is not None and place < declared.arity
        stem = declared.columns[place].name if declared is not None and known else "value"
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name
