"""From which columns of sources each column of a derived predicate comes, by the rules' text.

In: the rules of a certificate.  Out: for a predicate, its columns with their inputs.  Invariant: an
input is named once for each column, by the closest transformation; recursion ends.

Example: in ``revenue(?c, ?t) :- customer(?c), ?t = sum ?a : { order(?c, ?a) }.`` the column ``t``
comes from ``order.a`` by an aggregation.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from constat.proof.export.document import Document, Members

# The closest first: a value that is only passed on is known better than one that went into a sum.
TRANSFORMATIONS: Final = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")

Column = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Input:
    """A column that another comes from; ``how`` is one of ``TRANSFORMATIONS``."""

    predicate: str
    column: int
    how: str


class Lineage:
    """The columns that the rules of a certificate connect."""

    def __init__(self, document: Document) -> None:
        self._external = document.program.external
        self._direct: dict[Column, dict[Column, str]] = defaultdict(dict)
        for rule in document.rules:
            for column, below, how in _connections(rule):
                known = self._direct[column].get(below)
                self._direct[column][below] = how if known is None else min(known, how, key=_rank)

    def inputs(self, predicate: str, column: int) -> list[Input]:
        """Return the columns of sources that a column comes from."""
        best: dict[Column, str] = {(predicate, column): TRANSFORMATIONS[0]}
        waiting = [(predicate, column)]
        while waiting:
            at = waiting.pop()
            for below, how in self._direct.get(at, {}).items():
                whole = max(best[at], how, key=_rank)
                if below not in best or _rank(whole) < _rank(best[below]):
                    best[below] = whole
                    waiting.append(below)
        return [
            Input(name, place, how)
            for (name, place), how in sorted(best.items())
            if name in self._external
        ]


def _rank(how: str) -> int:
    return TRANSFORMATIONS.index(how)


def _connections(rule: Members) -> Iterator[tuple[Column, Column, str]]:
    predicate, terms = rule["head"]
    origins = _origins(rule)
    for place, term in enumerate(terms):
        how = TRANSFORMATIONS[0 if term[0] == "v" else 1]
        for name in _variables(term):
            for below, own in origins.get(name, {}).items():
                yield (predicate, place), below, max(how, own, key=_rank)


def _origins(rule: Members) -> dict[str, dict[Column, str]]:
    """Return for each variable the columns of body atoms that it takes values from."""
    found: dict[str, dict[Column, str]] = defaultdict(dict)
    for literal in _atoms(rule["body"]):
        predicate, terms = literal[1]
        for place, term in enumerate(terms):
            if term[0] == "v":
                found[term[1]].setdefault((predicate, place), TRANSFORMATIONS[0])
    # A chain of equations is as long as the body at most.
    for _ in rule["body"]:
        for name, sources, how in _bindings(rule["body"]):
            for source in sources:
                for column, own in list(found.get(source, {}).items()):
                    found[name].setdefault(column, max(how, own, key=_rank))
    return found


def _atoms(body: Sequence[Any]) -> Iterator[Any]:
    for literal in body:
        if literal[0] == "+":
            yield literal
        elif literal[0] == "a":
            yield from (inner for inner in literal[4] if inner[0] == "+")


def _bindings(body: Sequence[Any]) -> Iterator[tuple[str, Iterable[str], str]]:
    """Yield variables that an equation or an aggregate binds, and the variables they come from."""
    for literal in body:
        inner = literal[4] if literal[0] == "a" else ()
        for one in (literal, *inner):
            if one[0] == "?" and one[1] == "=":
                for side, other in ((one[2], one[3]), (one[3], one[2])):
                    if side[0] == "v":
                        how = TRANSFORMATIONS[0 if other[0] == "v" else 1]
                        yield side[1], list(_variables(other)), how
        if literal[0] == "a":
            target = [] if literal[3] is None else list(_variables(literal[3]))
            counted = target or [name for one in _atoms(literal[4]) for name in _named(one)]
            yield literal[2][1], counted, TRANSFORMATIONS[2]


def _named(literal: Sequence[Any]) -> Iterator[str]:
    for term in literal[1][1]:
        yield from _variables(term)


def _variables(term: Sequence[Any]) -> Iterator[str]:
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if one[0] == "v":
            yield one[1]
        elif one[0] == "f":
            waiting += one[3]
