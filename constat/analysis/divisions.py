"""Find divisions of whole numbers, which give whole numbers: 7 / 2 is 3 (semantics 46).

A rule that means it says `@[floor]`. Souffle mode stays silent: its programs are written for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic, Severity
from constat.logic import Apply, Comparison, Constant, Kind, Negative, Positive
from constat.syntax import Mode, print_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.analysis.draft import Draft
    from constat.logic import Literal, Rule, Term

FLOOR = "floor"
_CODE = "C0228"
_WHOLE = frozenset({Kind.NUMBER, Kind.UNSIGNED})


def check_divisions(draft: Draft) -> None:
    """Warn of every `/` whose result is a whole number and whose divisor is not the constant 1."""
    if draft.mode is Mode.SOUFFLE:
        return
    for rule in draft.rules:
        if rule.attributes.get(FLOOR) != "true":
            draft.diagnostics.extend(_cut_short(one, rule) for one in _divisions(rule))


def refused_in_drafts(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Give those warnings as errors that a draft of a model must not leave in."""
    return [replace(one, severity=Severity.ERROR) for one in diagnostics if one.code == _CODE]


def _divisions(rule: Rule) -> Iterator[Apply]:
    waiting: list[Term] = [*rule.head.terms]
    for literal in rule.body:
        waiting += _terms(literal)
    while waiting:
        term = waiting.pop()
        if not isinstance(term, Apply):
            continue
        waiting += term.arguments
        if term.function != "/" or term.kind not in _WHOLE:
            continue
        divisor = term.arguments[1]
        if not (isinstance(divisor, Constant) and divisor.value == 1):
            yield term


def _terms(literal: Literal) -> Iterator[Term]:
    match literal:
        case Positive(atom) | Negative(atom):
            yield from atom.terms
        case Comparison(left=left, right=right):
            yield from (left, right)
        case _:
            if literal.target is not None:
                yield literal.target
            for inner in literal.body:
                yield from _terms(inner)


def _cut_short(division: Apply, rule: Rule) -> Diagnostic:
    left, right = division.arguments
    exact = Apply("as", (left,), Kind.DECIMAL)
    other = right if isinstance(right, Constant) else Apply("as", (right,), Kind.DECIMAL)
    edit = print_term(Apply("/", (exact, other)))
    return Diagnostic(
        _CODE,
        f"`{print_term(division)}` divides whole numbers, so its fraction is cut off",
        division.span or rule.span,
        label="7 / 2 is 3 here, and -7 / 2 is -3",
        note="a share, a mean or a rate computed so is too small, and nothing shows it",
        help=f"write `{edit}` where a Decimal may stand, or `@[{FLOOR}]` before the rule if whole "
        "numbers are meant",
        severity=Severity.WARNING,
    )
