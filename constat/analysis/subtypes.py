"""Check that ids of different types never meet.

In: a draft whose rules are typed. Out: diagnostics C0216 and C0217. Invariant: the columns that a
variable stands in have a common subtype, and a head column only gets what lies below its type, as
in Souffle. The fields of structures are columns in this: a constructor that takes a value apart
tells the types of its parts, and one that makes a value gets them. Constants, and what functions
and aggregates give, fit every subtype of their kind. Example: `customer(?c), order(?c)` with
different id types is C0216.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.analysis.binding import (
    Step,
    bind,
    equations,
    is_pattern,
    names_in,
    pattern_names,
)
from constat.analysis.types import Below, common, is_below
from constat.diagnostics import Diagnostic, Related
from constat.frozen import slotted
from constat.logic import RECORD, Aggregate, Apply, Comparison, Kind, Negative, Positive, Variable
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis.analysed import Draft
    from constat.diagnostics import Span
    from constat.logic import Atom, Branch, Column, Literal, Predicate, Rule, Term


@slotted
class _Typed:
    """What is known about the type of a variable, and which column or field told it last."""

    below: Below
    name: str
    predicate: Predicate | None
    column: Column | None
    span: Span | None
    branch: Branch | None = None


def check_subtypes(draft: Draft) -> None:
    """Report variables whose columns have no common subtype, and heads that get too much."""
    if not draft.program.types:
        return
    for rule in draft.rules:
        draft.diagnostics.extend(_Check(draft, rule).run())


class _Check:
    """The types of the variables of one rule; `=` between two variables makes them one."""

    def __init__(self, draft: Draft, rule: Rule) -> None:
        self.draft = draft
        self.rule = rule
        self.types: dict[str, _Typed] = {}
        self.same: dict[str, str] = {}
        self.reported: set[str] = set()

    def run(self) -> Iterator[Diagnostic]:
        literals = list(_flat(self.rule.body))
        pairs = [pair for literal in literals for pair in _equations(literal)]
        for left, right in pairs:
            self.equate(left, right)
        for literal in literals:
            if isinstance(literal, Positive):
                yield from self.meet(self.columns(literal.atom))
        taken, made = self.patterns(literals, pairs)
        for pattern in taken:
            yield from self.meet(self.fields(pattern))
        for literal in literals:
            if isinstance(literal, Comparison) and literal.operator == "!=":
                yield from self.compare(literal.left, literal.right)
            elif isinstance(literal, Negative):
                yield from self.meet(self.columns(literal.atom))
        for left, right in pairs:
            yield from self.compare(left, right)
        for pattern in made:
            yield from self.give(self.fields(pattern))
        yield from self.give(self.columns(self.rule.head))

    def equate(self, left: Term, right: Term) -> None:
        if isinstance(left, Variable) and isinstance(right, Variable):
            one, other = self.root(left.name), self.root(right.name)
            if one != other:
                self.same[one] = other

    def root(self, name: str) -> str:
        while name in self.same:
            name = self.same[name]
        return name

    def patterns(
        self, literals: list[Positive | Negative | Comparison], pairs: list[tuple[Term, Term]]
    ) -> tuple[list[Apply], list[Apply]]:
        """Give the constructors that take something apart, and those that make something."""
        found = [
            (pattern, other)
            for one in pairs
            for pattern, other in (one, one[::-1])
            if is_pattern(pattern)
        ]
        if not found:
            return [], []
        known = _known_without_making(self.rule, literals, pairs)
        taken: list[Apply] = []
        made: list[Apply] = []
        for pattern, other in found:
            is_known = not isinstance(other, Variable) or other.name in known
            (taken if is_known else made).append(pattern)
        return taken, made

    def of_term(self, term: Term) -> _Typed | None:
        """Give the type of a variable or a cast; other terms fit every subtype."""
        if isinstance(term, Variable):
            return self.types.get(self.root(term.name))
        if isinstance(term, Apply) and term.function == "as" and term.type_name:
            below = self.draft.types.below(term.type_name)
            return _Typed(below, term.type_name, None, None, term.span)
        return None

    def columns(self, atom: Atom) -> Iterator[tuple[Term, _Typed, Kind]]:
        predicate = self.draft.predicates.get(atom.predicate)
        if predicate is None:
            return
        for term, column in zip(atom.terms, predicate.columns, strict=False):
            if is_pattern(term):
                yield from self.fields(term)
            # The types of structures are told apart with the kinds: they have no subtypes.
            elif column.kind is not Kind.STRUCTURE and column.type_name in self.draft.types.kinds:
                below = self.draft.types.below(column.type_name)
                typed = _Typed(below, column.type_name, predicate, column, term.span or atom.span)
                yield term, typed, column.kind

    def fields(self, pattern: Apply) -> Iterator[tuple[Term, _Typed, Kind]]:
        """Yield the terms in the fields of a constructor, also of those in it."""
        types = self.draft.types
        stack = [pattern]
        while stack:
            part = stack.pop()
            branch = types.branch(part.type_name, part.function)
            if branch is None:
                continue
            for term, column in zip(part.arguments, branch.fields, strict=False):
                if is_pattern(term):
                    stack.append(term)
                elif column.kind is not Kind.STRUCTURE and column.type_name in types.kinds:
                    below, span = types.below(column.type_name), term.span or part.span
                    yield (
                        term,
                        _Typed(below, column.type_name, None, column, span, branch),
                        column.kind,
                    )

    def meet(self, columns: Iterable[tuple[Term, _Typed, Kind]]) -> Iterator[Diagnostic]:
        """Intersect the types of terms with those of the columns and fields they stand in."""
        for term, column, kind in columns:
            known = self.of_term(term)
            if known is not None and self.kind_of(known) is not kind:
                continue
            if known is not None and not _meets(known.below, column.below):
                yield from self.report(term, known, column)
            elif isinstance(term, Variable):
                self.types[self.root(term.name)] = _narrowed(known, column)

    def kind_of(self, typed: _Typed) -> Kind | None:
        return self.draft.types.kinds.get(typed.name)

    def compare(self, one: Term, other: Term) -> Iterator[Diagnostic]:
        left, right = self.of_term(one), self.of_term(other)
        if left is None or right is None or self.kind_of(left) is not self.kind_of(right):
            return
        if not _meets(left.below, right.below):
            yield from self.report(other, left, right)

    def give(self, columns: Iterable[tuple[Term, _Typed, Kind]]) -> Iterator[Diagnostic]:
        """Check that what columns of the head and fields get lies below their types."""
        for term, column, kind in columns:
            known = self.of_term(term)
            if known is None or self.kind_of(known) is not kind:
                continue
            if not _meets(known.below, column.below):
                yield from self.report(term, known, column)
            elif not is_below(known.below, column.below):
                yield from self.report_wide(term, known, column)

    def report(self, term: Term, known: _Typed, other: _Typed) -> Iterator[Diagnostic]:
        name = print_term(term)
        if name in self.reported:
            return
        self.reported.add(name)
        yield Diagnostic(
            "C0216",
            f"`{name}` is {_shown(known)}, but {_shown(other)}",
            other.span or known.span or self.rule.span,
            label=f"{other.name} here",
            note="values of different declared types never meet without a common subtype",
            help=f"use two variables, or cast one: `as({name}, {other.name})`",
            related=_places(known, other),
        )

    def report_wide(self, term: Term, known: _Typed, column: _Typed) -> Iterator[Diagnostic]:
        name = print_term(term)
        if name in self.reported:
            return
        self.reported.add(name)
        what = "a head column" if column.branch is None else "a field"
        yield Diagnostic(
            "C0217",
            f"`{name}` is {_shown(known)}, which is wider than {_shown(column)}",
            column.span or self.rule.span,
            label=f"not every {known.name} is a {column.name}",
            note=f"{what} gets only values of its type or of a subtype",
            help=f"bind `{name}` in a column of type {column.name}, or cast it: "
            f"`as({name}, {column.name})`",
            related=_places(known, column),
        )


def _flat(body: tuple[Literal, ...]) -> Iterator[Positive | Negative | Comparison]:
    for literal in body:
        if isinstance(literal, Aggregate):
            yield from literal.body
        else:
            yield literal


def _equations(literal: Positive | Negative | Comparison) -> Iterator[tuple[Term, Term]]:
    if isinstance(literal, Comparison) and literal.operator == "=":
        yield from equations(literal.left, literal.right)


def _known_without_making(
    rule: Rule,
    literals: list[Positive | Negative | Comparison],
    pairs: list[tuple[Term, Term]],
) -> set[str]:
    """Give the variables that are bound when no equation makes a structure."""
    given = {one.result.name for one in rule.body if isinstance(one, Aggregate)}
    for literal in literals:
        if isinstance(literal, Positive):
            given.update(*map(pattern_names, literal.atom.terms))
    steps = [
        Step(place, names_in((known,)), pattern_names(other))
        for place, pair in enumerate(pairs)
        for known, other in (pair, pair[::-1])
        if not is_pattern(known)
    ]
    return bind(steps, given).names


def _meets(left: Below, right: Below) -> bool:
    found = common(left, right)
    return found is None or bool(found)


def _narrowed(known: _Typed | None, column: _Typed) -> _Typed:
    if known is None:
        return column
    below = common(known.below, column.below)
    return known if below == known.below else replace(column, below=below)


def _shown(typed: _Typed) -> str:
    if typed.branch is not None and typed.column is not None:
        owner = (
            "the record" if typed.branch.constructor == RECORD else f"`{typed.branch.constructor}`"
        )
        return f"{typed.name} in field `{typed.column.name}` of {owner}"
    if typed.predicate is None or typed.column is None:
        return f"{typed.name} by `as`"
    return f"{typed.name} in column `{typed.column.name}` of `{typed.predicate.name}`"


def _places(*several: _Typed) -> tuple[Related, ...]:
    found = {}
    for one in several:
        declared = (one.column.span if one.column else None) or (
            one.predicate.span if one.predicate else None
        )
        if declared is not None:
            found[declared] = Related(declared, f"declared as {one.name} here")
    return tuple(found.values())
