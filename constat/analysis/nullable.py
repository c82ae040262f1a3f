"""Demand a null policy for columns that are compared and known to hold nulls.

In: a draft. Out: diagnostics C0211. Invariant: a column declared `@[nullable]` is compared only
when column, predicate or input says what a null means. Example: an order not yet shipped has no
date, and `"" > "1998-06-01"` would be false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Related
from constat.logic import Aggregate, Comparison, Positive, Variable, literal_variables
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis.draft import Draft
    from constat.logic import Literal, Predicate, Rule

Found = tuple["Predicate", int]


def check_nulls(draft: Draft) -> None:
    """Report comparisons of columns that can be null without a policy."""
    without = {
        name: places
        for name, predicate in draft.predicates.items()
        if (places := _without_policy(predicate))
    }
    if not without:
        return
    for rule in draft.program.rules:
        draft.diagnostics.extend(_compared(draft, rule, without))


def _without_policy(predicate: Predicate) -> set[int]:
    source = predicate.source.parameters if predicate.source else {}
    if "null" in predicate.attributes or "null" in source:
        return set()
    return {
        place
        for place, column in enumerate(predicate.columns)
        if column.attributes.get("nullable", "false") != "false" and "null" not in column.attributes
    }


def _compared(draft: Draft, rule: Rule, without: dict[str, set[int]]) -> Iterator[Diagnostic]:
    literals = list(_flat(rule.body))
    found: dict[str, Found] = {}
    for literal in literals:
        if isinstance(literal, Positive):
            atom = literal.atom
            for place in without.get(atom.predicate, ()):
                if place < len(atom.terms):
                    term = atom.terms[place]
                    if isinstance(term, Variable):
                        found.setdefault(term.name, (draft.predicates[atom.predicate], place))
    for literal in literals:
        if isinstance(literal, Comparison):
            for variable in literal_variables(literal):
                if variable.name in found:
                    yield _missing_policy(variable, *found.pop(variable.name))


def _flat(body: tuple[Literal, ...]) -> Iterator[Literal]:
    for literal in body:
        yield from literal.body if isinstance(literal, Aggregate) else (literal,)


def _missing_policy(variable: Variable, predicate: Predicate, place: int) -> Diagnostic:
    column = predicate.columns[place]
    declared = column.span or predicate.span
    return Diagnostic(
        "C0211",
        f"column `{column.name}` of `{predicate.name}` can be null, and no policy is given",
        variable.span,
        label=f"`{print_term(variable)}` is compared here",
        note="a null is never a value: `skip` leaves the row out, `unknown` keeps the answer open, "
        "`error` stops",
        help=f"declare it with a policy: `.decl {predicate.name}({_columns(predicate, place)})`",
        related=() if declared is None else (Related(declared, "declared here"),),
    )


def _columns(predicate: Predicate, place: int) -> str:
    return ", ".join(
        ("@[nullable] @[null = skip] " if index == place else "") + f"{one.name}: {one.type_name}"
        for index, one in enumerate(predicate.columns)
    )
