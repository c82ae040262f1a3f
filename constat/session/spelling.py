"""Between values and the texts that certificates and the store of facts keep.

In: canonical texts, or goals. Out: goals as people type them. Invariant: a text that is no value of
its column's type is shown as it was kept. Example: the goal `is_vip("C001")` of a rule file is
shown as `is_vip(C001)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.logic import OPEN, Constant, Variable, is_wildcard
from constat.syntax import print_row, print_stated
from constat.tiers.tier import read_canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.logic import Atom, Predicate


def shown_row(predicate: Predicate | None, name: str, texts: Sequence[str]) -> str:
    """Write a row as a goal; as it was kept where it is not of the predicate's kinds."""
    if predicate is not None and predicate.arity == len(texts):
        try:
            row = tuple(map(read_canonical, texts, predicate.columns))
            return print_row(predicate, row)
        except ValueError:
            pass
    return f"{name}({', '.join(texts)})"


def shown_stated(predicate: Predicate | None, name: str, texts: Sequence[str | None]) -> str:
    """Write what somebody stated of a row as it can be typed; columns may be left out."""
    if predicate is None or predicate.arity != len(texts):
        return f"{name}({', '.join('_' if text is None else text for text in texts)})"
    written = [text for text in texts if text is not None]
    if len(written) == len(texts):
        return shown_row(predicate, name, written)
    pairs = list(zip(texts, predicate.columns, strict=True))
    try:
        cells = [None if text is None else read_canonical(text, column) for text, column in pairs]
    except ValueError:
        listed = (f"{column.name} = {text}" for text, column in pairs if text is not None)
        return f"{name}({', '.join(listed)})"
    return print_stated(predicate, cells)


def shown_goal(predicate: Predicate, goal: Atom) -> str:
    """Write a goal as it can be typed, with the names that its variables have."""
    columns = tuple(
        replace(column, name="_" if is_wildcard(term) else term.name)
        if isinstance(term, Variable)
        else column
        for column, term in zip(predicate.columns, goal.terms, strict=True)
    )
    slots = tuple(term.value if isinstance(term, Constant) else OPEN for term in goal.terms)
    return print_row(replace(predicate, columns=columns), slots)
