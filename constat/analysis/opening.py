"""Put functions in place of patterns: the form of rules that engines and checkers know.

In: a draft whose rules are typed. Out: rules without patterns: a constructor in a positive atom is
a variable and an equation behind the atom, and an equation that takes a structure apart is one
comparison for its constructor and one for each field that matters. Invariant: the rule means the
same, a safe rule stays safe, an opened rule is left as it is, and each added literal has the reason
code of the literal it comes from. Example: `p([?x, _])` becomes `p(?pair_1), ?pair_1 = [?x, _]`,
where the equation stands as `constructor_of(?pair_1) = "[]/2", ?x = field_of(?pair_1, 0)`.

An equation whose variables are bound already where the text comes to it stays: it makes the
structure, so that rows are looked up by it. After `expr(?e), ?e = $Add(?l, ?r)` the atom
`eval(?l, ?n)` is asked for one value; read the other way round, `?e` would be.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from constat.analysis.abducing import REASONS, reason_codes
from constat.analysis.binding import (
    Inputs,
    Step,
    bind,
    equations,
    free_names,
    is_pattern,
    nothing_required,
    pattern_names,
    steps_of,
)
from constat.analysis.given_columns import given_names
from constat.analysis.modes import needed_names, required_inputs, required_terms
from constat.analysis.unbound import occurrences
from constat.diagnostics import Severity
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Term,
    Variable,
    outer_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.analysis.draft import Draft
    from constat.diagnostics import Span
    from constat.logic import Literal, Rule

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


@dataclass(slots=True)
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
