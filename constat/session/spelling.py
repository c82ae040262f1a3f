"""Between values and the texts that certificates and the store of facts keep.

In: canonical texts and kinds, or goals. Out: values, or goals as people type them. Invariant:
`canonical_value(format_value(v, k), k) == v`. Example: the goal `is_vip("C001")` of a rule file is
shown as `is_vip(C001)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.logic import OPEN, Constant, Kind, Variable, parse_value
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.logic import Atom, Predicate, Value


def canonical_value(text: str, kind: Kind) -> Value:
    """Read the canonical spelling of a value; raises `ValueError`."""
    return float.fromhex(text) if kind is Kind.FLOAT else parse_value(text, kind)


def shown_row(predicate: Predicate | None, name: str, texts: Sequence[str]) -> str:
    """Write a row as a goal; as it was kept where it is not of the predicate's kinds."""
    if predicate is not None and predicate.arity == len(texts):
        try:
            pairs = zip(texts, predicate.kinds, strict=True)
            return print_row(predicate, tuple(canonical_value(*pair) for pair in pairs))
        except ValueError:
            pass
    return f"{name}({', '.join(texts)})"


def shown_goal(predicate: Predicate, goal: Atom) -> str:
    """Write a goal as it can be typed, with the names that its variables have."""
    columns = tuple(
        replace(column, name=term.name) if isinstance(term, Variable) else column
        for column, term in zip(predicate.columns, goal.terms, strict=True)
    )
    slots = tuple(term.value if isinstance(term, Constant) else OPEN for term in goal.terms)
    return print_row(replace(predicate, columns=columns), slots)
