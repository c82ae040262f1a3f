"""Clauses for pyDatalog as plain values: what crosses the pipe to the child.

A term is the number of a constant or the name of a variable, a relation is a number: pyDatalog
never sees a text of the program or of a source. Invariant: in every body the literals stand in an
order in which each finds bound what it reads, for pyDatalog takes them from left to right.

Example: `p(?x) :- q(?x), ?x < 3.` is `Clause(Premise(0, ("x",)), (Premise(1, ("x",)),
Condition("<", Kind.NUMBER, "x", 7)))`, where constant 7 is the number 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from constat.logic import Kind, Row, Value

Term = int | str
Terms = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Premise:
    """A relation applied to terms, or its absence."""

    relation: int
    terms: Terms
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of a predicate stand: in a relation of its own, or in a shared one.

    Rows of a shared relation begin with the `tag` of their predicate and end with `padding`. It is
    asked for all of its rows only, so that it waits for itself and for nothing that waits for it.
    """

    relation: int
    tag: Term | None = None
    padding: int = 0

    def premise(self, terms: Sequence[Term]) -> Premise:
        """The predicate applied to terms."""
        tag = () if self.tag is None else (self.tag,)
        return Premise(self.relation, (*tag, *terms, *(0,) * self.padding))


@dataclass(frozen=True, slots=True)
class Stage:
    """A shared relation that is asked once, in full, before what uses it.

    Its rows with tag i become facts of `members[i]`, a relation and its width.
    """

    relation: int
    members: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Same:
    """Two bound terms have the same number."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two bound terms of one kind."""

    operator: str
    kind: Kind
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Computation:
    """`result = function(arguments)`; the arguments are bound, the result need not be."""

    function: str
    parameters: tuple[Kind, ...]
    kind: Kind
    arguments: Terms
    result: Term


@dataclass(frozen=True, slots=True)
class Summary:
    """`result = function` over the rows of `relation` whose first columns are `group`.

    Then come `local` columns, one for each variable of the aggregate that is not outside, and the
    folded value where `kind` is not `None`. `result_kind` is the kind of the result.
    """

    function: str
    kind: Kind | None
    result_kind: Kind
    relation: int
    group: Terms
    local: int
    result: Term

    @property
    def width(self) -> int:
        """How many columns the relation has beside the group."""
        return self.local + (self.kind is not None)


Literal = Premise | Same | Condition | Computation | Summary


@dataclass(frozen=True, slots=True)
class Clause:
    """A head that follows from a body."""

    head: Premise
    body: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Everything one run of pyDatalog needs. `arities[i]` is the width of relation i."""

    constants: tuple[tuple[Kind, Value], ...]
    arities: tuple[int, ...]
    facts: Mapping[int, tuple[Terms, ...]]
    clauses: tuple[Clause, ...]
    goal: Premise
    kinds: tuple[Kind, ...]
    """The kinds of the goal's columns."""
    stages: tuple[Stage, ...] = ()
    """Callees first."""


class Constants:
    """Numbers for values: the same number exactly for the same value of the same kind.

    For Python, and for pyDatalog, 1, 1.0 and True are one constant; here the kind is part of it.
    """

    def __init__(self, listed: Iterable[tuple[Kind, Value]] = ()) -> None:
        self._values: list[Value] = []
        self._numbers: dict[tuple[Kind, Value], int] = {}
        for kind, value in listed:
            self.number(kind, value)

    def number(self, kind: Kind, value: Value) -> int:
        """The number of a value, a new one where it has none yet."""
        found = self._numbers.setdefault((kind, value), len(self._values))
        if found == len(self._values):
            self._values.append(value)
        return found

    def value(self, number: int) -> Value:
        """The value with that number."""
        return self._values[number]

    def listed(self) -> tuple[tuple[Kind, Value], ...]:
        """All of them, by number."""
        return tuple(self._numbers)

    def row(self, row: Row, kinds: Iterable[Kind]) -> tuple[int, ...]:
        """The numbers of the values of a row."""
        return tuple(self.number(kind, value) for kind, value in zip(kinds, row, strict=True))
