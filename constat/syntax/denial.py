"""Deny what Souffle lets `!` stand before: comparisons and groups.

In: surface literals. Out: literals that hold exactly where the given ones do not. Invariant: `!` is
left at atoms only, so what follows knows nothing of denied groups. Example: `!(p(x), x < 3)` is
`(!p(x); x >= 3)`. The laws are De Morgan's; they hold here because comparisons of values without
NaN are decided one way or the other.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from constat.syntax.surface import Choice, Compared, SignedAtom, SurfaceLiteral

if TYPE_CHECKING:
    from constat.diagnostics import Span

TRUTHS: Final = frozenset({"true", "false"})
_OPPOSITES: Final = MappingProxyType(
    {"=": "!=", "<": ">=", ">": "<=", "match": "!match", "contains": "!contains"}
)
_DENIED: Final = MappingProxyType({**_OPPOSITES, **{b: a for a, b in _OPPOSITES.items()}})


def denial(literal: SurfaceLiteral) -> SurfaceLiteral:
    """Give the opposite of one literal; groups nest as deep as the parser allows, 200 levels."""
    match literal:
        case SignedAtom(negative=negative):
            return replace(literal, negative=not negative)
        case Compared(operator=operator):
            return replace(literal, operator=_DENIED[operator])
        case Choice(branches=branches, span=span):
            return Choice((denied_choice(branches, span),), span)
        case _:
            assert_never(literal)


def denied_choice(
    branches: tuple[tuple[SurfaceLiteral, ...], ...], span: Span
) -> tuple[SurfaceLiteral, ...]:
    """Give the conjunction that denies alternatives: in each branch one literal fails."""
    denied = []
    for branch in branches:
        opposites = tuple((denial(literal),) for literal in branch)
        denied.append(opposites[0][0] if len(opposites) == 1 else Choice(opposites, span))
    return tuple(denied)
