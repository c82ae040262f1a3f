"""Check that ids of different types never meet.

In: a draft whose kinds are known. Out: diagnostics C0216 and C0217. Invariant: the columns that a
variable stands in have a common subtype, and a head column only gets what lies below its type, as
in Souffle. Constants, and what functions and aggregates give, fit every subtype of their kind.
Example: `customer(?c), order(?c)` with different id types is C0216.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.analysis.type_table import Below, common, is_below
from constat.diagnostics import Diagnostic, Related
from constat.logic import Aggregate, Apply, Comparison, Kind, Negative, Positive, Variable
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis.draft import Draft
    from constat.diagnostics import Span
    from constat.logic import Atom, Column, Literal, Predicate, Rule, Term


@dataclass(slots=True)
class _Typed:
    """What is known about the type of a variable, and which column told it last."""

    below: Below
    name: str
    predicate: Predicate | None
    column: Column | None
    span: Span | None


def check_subtypes(draft: Draft) -> None:
    """Report variables whose columns have no common subtype, and heads that get too much."""
    if not draft.program.types:
        return
    for rule in draft.program.rules:
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
        for literal in literals:
            if isinstance(literal, Comparison) and literal.operator == "=":
                self.equate(literal)
        for literal in literals:
            if isinstance(literal, Positive):
                yield from self.meet(literal.atom)
        for literal in literals:
            if isinstance(literal, Comparison) and literal.operator in {"=", "!="}:
                yield from self.compare(literal)
            elif isinstance(literal, Negative):
                yield from self.meet(literal.atom)
        yield from self.give(self.rule.head)

    def equate(self, comparison: Comparison) -> None:
        left, right = comparison.left, comparison.right
        if isinstance(left, Variable) and isinstance(right, Variable):
            one, other = self.root(left.name), self.root(right.name)
            if one != other:
                self.same[one] = other

    def root(self, name: str) -> str:
        while name in self.same:
            name = self.same[name]
        return name

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
            if column.type_name in self.draft.types.kinds:
                below = self.draft.types.below(column.type_name)
                typed = _Typed(below, column.type_name, predicate, column, term.span or atom.span)
                yield term, typed, column.kind

    def meet(self, atom: Atom) -> Iterator[Diagnostic]:
        """Intersect the types of an atom's terms with those of its columns."""
        for term, column, kind in self.columns(atom):
            known = self.of_term(term)
            if known is not None and self.kind_of(known) is not kind:
                continue
            if known is not None and not _meets(known.below, column.below):
                yield from self.report(term, known, column)
            elif isinstance(term, Variable):
                self.types[self.root(term.name)] = _narrowed(known, column)

    def kind_of(self, typed: _Typed) -> Kind | None:
        return self.draft.types.kinds.get(typed.name)

    def compare(self, comparison: Comparison) -> Iterator[Diagnostic]:
        left, right = self.of_term(comparison.left), self.of_term(comparison.right)
        if left is None or right is None or self.kind_of(left) is not self.kind_of(right):
            return
        if not _meets(left.below, right.below):
            yield from self.report(comparison.right, left, right)

    def give(self, head: Atom) -> Iterator[Diagnostic]:
        """Check that what the head's columns get lies below their types."""
        for term, column, kind in self.columns(head):
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
        yield Diagnostic(
            "C0217",
            f"`{name}` is {_shown(known)}, which is wider than {_shown(column)}",
            column.span or self.rule.span,
            label=f"not every {known.name} is a {column.name}",
            note="a head column gets only values of its type or of a subtype",
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


def _meets(left: Below, right: Below) -> bool:
    found = common(left, right)
    return found is None or bool(found)


def _narrowed(known: _Typed | None, column: _Typed) -> _Typed:
    if known is None:
        return column
    below = common(known.below, column.below)
    return (
        known
        if below == known.below
        else _Typed(below, column.name, column.predicate, column.column, column.span)
    )


def _shown(typed: _Typed) -> str:
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
