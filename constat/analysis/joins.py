"""Offer the join that leads from a name to an id.

In: a column that holds ids and a text that stands opposite. Out: an atom as text, or nothing.
Invariant: the atom is of a declared predicate that has both a column of the id's type or name and
one of texts. Example: for `orders(?o, "Alice")` with a numeric customer column it is
`customer(?customer, "Alice")`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from constat.logic import Atom, Constant, Kind, Term, Variable
from constat.syntax import print_atom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis.kind_classes import Origin
    from constat.logic import Column, Predicate

_LOOKED_AT = 1000
_IDS = ("id", "key", "code", "no", "nr")
_NAMES = ("name", "title", "label", "symbol")


def offered_join(
    kinds: tuple[Kind, Kind],
    origins: tuple[Origin | None, Origin | None],
    predicates: Mapping[str, Predicate],
    text: Constant | None = None,
) -> str:
    """Give the atom of a predicate that holds both the id and the name, else an empty text."""
    if (kinds[0] is Kind.SYMBOL) == (kinds[1] is Kind.SYMBOL):
        return ""
    place = 1 if kinds[0] is Kind.SYMBOL else 0
    origin, other = origins[place], origins[1 - place]
    if origin is None or origin.predicate is None:
        return ""
    wanted = origin.predicate.columns[origin.column]
    for predicate in islice(predicates.values(), _LOOKED_AT):
        if predicate.name == origin.predicate.name:
            continue
        found = _pair(predicate, wanted)
        if found is not None and _is_other(predicate, found[1], other):
            return _atom(predicate, found, origin, text)
    return ""


def _pair(predicate: Predicate, wanted: Column) -> tuple[int, int] | None:
    """Give the places of the id and of the name in a predicate that has both."""
    ids = [
        place
        for place, column in enumerate(predicate.columns)
        if column.kind is wanted.kind and _same_id(column, wanted)
    ]
    texts = [
        place
        for place, one in enumerate(predicate.columns)
        if one.type_name == Kind.SYMBOL.value or (one.kind is Kind.SYMBOL and place not in ids)
    ]
    named = [
        place for place in texts if any(part in predicate.columns[place].name for part in _NAMES)
    ]
    if not ids or not texts:
        return None
    return ids[0], (named or texts)[0]


def _same_id(column: Column, wanted: Column) -> bool:
    if wanted.type_name != wanted.kind.value:
        return column.type_name == wanted.type_name
    return column.name == wanted.name and column.name.casefold().endswith(_IDS)


def _is_other(predicate: Predicate, place: int, other: Origin | None) -> bool:
    """Tell whether the name comes from elsewhere than this very column."""
    return other is None or other.predicate is not predicate or other.column != place


def _atom(
    predicate: Predicate, found: tuple[int, int], origin: Origin, text: Constant | None
) -> str:
    terms: list[Term] = [Variable("_1")] * len(predicate.columns)
    wanted = origin.predicate.columns[origin.column] if origin.predicate else None
    shown = origin.term if isinstance(origin.term, Variable) else None
    terms[found[0]] = shown or Variable(wanted.name if wanted else "id")
    terms[found[1]] = text or Variable(predicate.columns[found[1]].name)
    return print_atom(Atom(predicate.name, tuple(terms)))
