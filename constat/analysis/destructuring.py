"""Rules in the form that engines and checkers know: patterns, projections, computed arguments."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from constat.analysis.analysed import as_warning
from constat.analysis.attributes import REASONS, reason_codes
from constat.analysis.binding import (
    Inputs,
    Step,
    bind,
    equations,
    free_names,
    is_pattern,
    names_in,
    nothing_required,
    pattern_names,
    steps_of,
)
from constat.analysis.modes import given_names, needed_names, required_inputs, required_terms
from constat.analysis.safety import in_aggregate, occurrences
from constat.diagnostics import Severity
from constat.frozen import slotted
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Aggregate,
    Apply,
    Atom,
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
    outer_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis.analysed import Draft
    from constat.diagnostics import Diagnostic, Span
    from constat.logic import Literal

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
