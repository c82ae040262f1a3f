"""Demand a null policy for columns that are read and known to hold nulls (C0211).

A literal reads a column when it writes anything but `_` there. An order not yet shipped has no
date, and what a rule over dates says of it is for the declaration to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Related
from constat.logic import Aggregate, Negative, Positive, Variable, is_wildcard
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis.draft import Draft
    from constat.logic import Literal, Predicate, Rule, Term


def check_nulls(draft: Draft) -> None:
    """Report columns that can be null and are read without a policy, one for each rule."""
    without = {
        name: places
        for name, predicate in draft.predicates.items()
        if (places := _without_policy(predicate))
    }
    if not without:
        return
    for rule in draft.program.rules:
        draft.diagnostics.extend(_read(draft, rule, without))


def _without_policy(predicate: Predicate) -> set[int]:
    source = predicate.source.parameters if predicate.source else {}
    if "null" in predicate.attributes or "null" in source:
        return set()
    return {
        place
        for place, column in enumerate(predicate.columns)
        if column.attributes.get("nullable", "false") != "false" and "null" not in column.attributes
    }


def _read(draft: Draft, rule: Rule, without: dict[str, set[int]]) -> Iterator[Diagnostic]:
    told: set[tuple[str, int]] = set()
    for literal in flat(rule.body):
        if not isinstance(literal, Positive | Negative):
            continue
        atom = literal.atom
        for place in sorted(without.get(atom.predicate, ())):
            if (atom.predicate, place) in told or place >= len(atom.terms):
                continue
            term = atom.terms[place]
            if not (isinstance(term, Variable) and is_wildcard(term)):
                told.add((atom.predicate, place))
                yield _missing_policy(term, draft.predicates[atom.predicate], place)


def flat(body: tuple[Literal, ...]) -> Iterator[Literal]:
    """Yield the literals of a body; of an aggregate those inside it."""
    for literal in body:
        yield from literal.body if isinstance(literal, Aggregate) else (literal,)


def _missing_policy(term: Term, predicate: Predicate, place: int) -> Diagnostic:
    column = predicate.columns[place]
    declared = column.span or predicate.span
    return Diagnostic(
        "C0211",
        f"column `{column.name}` of `{predicate.name}` can be null, and no policy is given",
        term.span,
        label=f"`{print_term(term)}` reads it here",
        note="a null is never a value: `skip` leaves the row out; `none` says that there is no "
        "value, `unknown` that nobody knows it, `maybe` leaves that open; `error` stops",
        help=f"declare it with a policy: `.decl {predicate.name}({_columns(predicate, place)})`",
        related=() if declared is None else (Related(declared, "declared here"),),
    )


def _columns(predicate: Predicate, place: int) -> str:
    return ", ".join(
        ("@[nullable] @[null = maybe] " if index == place else "") + f"{one.name}: {one.type_name}"
        for index, one in enumerate(predicate.columns)
    )
