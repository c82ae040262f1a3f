"""Make rules and goals in a program.

A term is a `Variable`, a Python value, `...` for any value (`_`), or a term that was made before.
What is made are plain nodes; a session writes them as text and reads that as it reads rule files.
Example: `rule(atom("is_big", c), atom("spent", c, t), compare(t, ">", 100.0), id="BIG")`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import EllipsisType
from typing import Final

from constat.logic.program import (
    Aggregate,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Literal,
    Negative,
    Positive,
    Predicate,
    Rule,
    Term,
    Variable,
)
from constat.logic.values import Kind

Given = Term | str | bool | int | float | Decimal | date | EllipsisType
"""What stands for a term."""


_KINDS: Final = (
    (str, Kind.SYMBOL),
    (int, Kind.NUMBER),
    (float, Kind.FLOAT),
    (Decimal, Kind.DECIMAL),
)


def term(value: Given) -> Term:
    """Give the term of a Python value; `TypeError` for a value that no column can hold.

    Texts, truth, whole numbers, floats, decimals, days and moments (without a zone, those of UTC).
    """
    if isinstance(value, Variable | Constant | Apply):
        return value
    if value is ...:
        return Variable("_1")
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)
        return Constant(f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z", Kind.TIMESTAMP)
    if isinstance(value, date):
        return Constant(value.isoformat(), Kind.DATE)
    if isinstance(value, bool):
        return Constant(str(value).lower(), Kind.BOOL)
    for known, kind in _KINDS:
        if isinstance(value, known):
            return Constant(value, kind)
    message = f"no term can be made of {type(value).__name__}"
    raise TypeError(message)


def atom(predicate: str, /, *terms: Given) -> Atom:
    """Apply a predicate to terms."""
    return Atom(predicate, tuple(map(term, terms)))


def compare(left: Given, operator: str, right: Given) -> Comparison:
    """Compare two terms: `compare(t, ">", 100)`; `=` gives a value to a variable."""
    return Comparison(operator, term(left), term(right))


def function(name: str, /, *terms: Given) -> Apply:
    """Apply a function or an operator to terms: `function("+", x, 1)`."""
    return Apply(name, tuple(map(term, terms)))


def aggregate(
    name: str, result: Variable, target: Given | None, *body: Atom | Literal
) -> Aggregate:
    """Give `result = name target : { body }`; `count` has no target."""
    inner = tuple(one for one in map(as_literal, body) if not isinstance(one, Aggregate))
    return Aggregate(name, result, None if target is None else term(target), inner)


def as_literal(given: Atom | Literal) -> Literal:
    """Give a literal; an atom is one that must hold, `Negative(atom)` one that must not."""
    return Positive(given) if isinstance(given, Atom) else given


def rule(head: Atom, /, *body: Atom | Literal, id: str = "", **attributes: str) -> Rule:  # noqa: A002  the word of the language
    """Give a rule, or a fact where there is no body; attributes such as `says` are texts."""
    return Rule(
        id or f"{head.predicate}.1", head, tuple(map(as_literal, body)), attributes=attributes
    )


def negated(one: Atom) -> Negative:
    """Give `!atom`."""
    return Negative(one)


def declare(
    predicate: str, columns: Mapping[str, str], /, description: str = "", **attributes: str
) -> Predicate:
    """Declare a predicate: `declare("spent", {"customer": "symbol", "total": "float"})`."""
    made = tuple(Column(name, kind) for name, kind in columns.items())
    return Predicate(predicate, made, attributes=attributes, description=description)
