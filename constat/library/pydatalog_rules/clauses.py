"""What a file in pyDatalog's syntax says, before it is translated.

Invariant: nodes are plain values with their places; a function `f[X] == Y` is an atom whose last
argument is its value. Example: `+ (f["a"] == 1)` is the fact `Atom("f", ("a", 1), function=True)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from constat.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Name:
    """A variable; written in capitals there."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Value:
    """A constant: `int`, `float`, `bool` or `str`."""

    value: float | str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator applied to expressions; `neg` has one operand."""

    operator: str
    operands: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


Expression = Name | Value | Operation


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate, or a function with its value as the last argument."""

    predicate: str
    arguments: tuple[Expression, ...]
    function: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom of a body, negated or not."""

    atom: Atom
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two expressions."""

    operator: str
    left: Expression
    right: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """`X.in_((1, 2))`: one of several constants, or none of them."""

    member: Expression
    values: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)
    negated: bool = False


Goal = Literal | Comparison | Membership


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate in a head: `sum_(target, for_each=each)`."""

    function: str
    target: Name
    each: tuple[Name, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Clause:
    """A fact (`body` is empty), a rule, or with `fold` a rule whose value is an aggregate.

    With a fold the head's last argument is missing.
    """

    head: Atom
    body: tuple[Goal, ...]
    fold: Fold | None = None
