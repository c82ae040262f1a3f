"""Decide which aggregates may run through recursion: thresholds, and nothing else.

In: a draft whose rules have kinds, and the members of a component. Out: the rules of the component,
with `Aggregate.recursive` set where one of them is aggregated over, and diagnostics C0280 to C0282
for those that are no threshold. Invariant: what is accepted is monotone, so that a least fixpoint
exists. Example: `sum ?w : { holds(?x, _, ?y, ?w) } > 50` is accepted, `< 50` is not.

A float total is refused: it is rounded, so it could reach a bound that the exact sum does not, or
the other way round, and the rounding depends on what else was added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic
from constat.logic import (
    Aggregate,
    Comparison,
    Constant,
    Kind,
    Positive,
    Variable,
    threshold_of,
)
from constat.syntax import print_literal, print_term

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from constat.analysis.draft import Draft
    from constat.logic import Rule, Term

GROWING = frozenset({"sum", "count"})
"""Aggregates that more rows can only make greater, as long as none is negative."""


def mark_thresholds(draft: Draft, members: AbstractSet[str]) -> None:
    """Mark the aggregates of a component over itself, and report those that are no threshold."""
    for number, rule in enumerate(draft.rules):
        if rule.head.predicate not in members:
            continue
        marked = tuple(
            replace(literal, recursive=True)
            if isinstance(literal, Aggregate) and is_over(literal, members)
            else literal
            for literal in rule.body
        )
        draft.rules[number] = replace(rule, body=marked)
        for place, literal in enumerate(marked):
            if isinstance(literal, Aggregate) and literal.recursive:
                kinds = draft.variable_kinds[number]
                draft.diagnostics.extend(_mistakes(rule, place, literal, kinds))


def is_over(aggregate: Aggregate, members: AbstractSet[str]) -> bool:
    """Whether an aggregate has an atom of one of these predicates."""
    return any(
        isinstance(inner, Positive) and inner.atom.predicate in members for inner in aggregate.body
    )


def compares(rule: Rule, aggregate: Aggregate) -> Comparison | None:
    """The first comparison in which the aggregate's result stands alone on a side."""
    for literal in rule.body:
        if isinstance(literal, Comparison) and aggregate.result in {literal.left, literal.right}:
            return literal
    return None


def _mistakes(
    rule: Rule, place: int, aggregate: Aggregate, kinds: Mapping[str, Kind]
) -> Iterator[Diagnostic]:
    compared = compares(rule, aggregate)
    if aggregate.function not in GROWING or compared is None:
        return
    if threshold_of(rule, place) is None:
        yield _no_threshold(aggregate, compared)
    elif aggregate.target is not None and _kind(aggregate.target, kinds) is Kind.FLOAT:
        yield _rounded(aggregate)
    elif isinstance(aggregate.target, Constant) and aggregate.target.value < 0:  # type: ignore[operator]  # a number
        yield _falling(aggregate)


def _kind(term: Term, kinds: Mapping[str, Kind]) -> Kind | None:
    return kinds.get(term.name) if isinstance(term, Variable) else term.kind


def _term(aggregate: Aggregate) -> str:
    """Write an aggregate as it stands in a comparison."""
    return print_literal(aggregate).partition(" = ")[2]


def _no_threshold(aggregate: Aggregate, compared: Comparison) -> Diagnostic:
    shown = _term(aggregate)
    turned = compared.right == aggregate.result
    other = compared.left if turned else compared.right
    return Diagnostic(
        "C0280",
        f"a recursive {aggregate.function} that is not only compared by `>` or `>=`",
        aggregate.span,
        label="its rows depend on this rule",
        note="the rows are not all known when the rule is tried; more of them can only make the "
        f"{aggregate.function} greater, so nothing but a lower bound can be relied on",
        help=f"compare it once, and use the value nowhere else: `{shown} > {print_term(other)}`",
    )


def _rounded(aggregate: Aggregate) -> Diagnostic:
    return Diagnostic(
        "C0281",
        "a recursive sum of floats",
        aggregate.span,
        label="this sum is rounded",
        note="whether a rounded sum is beyond a bound can depend on rows that are added later",
        help="declare the column Decimal, or sum whole units: `as(?x, Decimal)` converts a value",
    )


def _falling(aggregate: Aggregate) -> Diagnostic:
    counted = replace(aggregate, function="count", target=None)
    return Diagnostic(
        "C0282",
        "a recursive sum of negative values",
        aggregate.span,
        label="every row makes it smaller",
        note="a rule that needs its own rows to be few contradicts itself; only what grows can be "
        "summed in a recursion",
        help=f"sum what is positive, or count: `{_term(counted)} > 5`",
    )
