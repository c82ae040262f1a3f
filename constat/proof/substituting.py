"""Put values into a literal: the literal as it stands for one binding.

In: a literal and constants for some of its variables.  Out: the literal with these constants.
Invariant: nothing else changes, so what it says for the binding is what the rule says.

Example: ``revenue(?c, ?total)`` with ``c = "C1"`` is ``revenue("C1", ?total)``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from constat.logic import Aggregate, Apply, Comparison, Negative, Positive, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Atom, Constant, Literal, Term


def substituted(literal: Literal, values: Mapping[str, Constant]) -> Literal:
    """Put values in the place of variables; others stay."""
    match literal:
        case Positive(atom):
            return Positive(_atom(atom, values))
        case Negative(atom):
            return Negative(_atom(atom, values))
        case Comparison(left=left, right=right):
            return replace(literal, left=_term(left, values), right=_term(right, values))
        case Aggregate(target=target, body=body):
            inner = tuple(substituted(one, values) for one in body)
            folded = None if target is None else _term(target, values)
            return replace(literal, target=folded, body=inner)  # type: ignore[arg-type]
        case _:
            assert_never(literal)


def _atom(atom: Atom, values: Mapping[str, Constant]) -> Atom:
    return replace(atom, terms=tuple(_term(term, values) for term in atom.terms))


def _term(term: Term, values: Mapping[str, Constant]) -> Term:
    match term:
        case Variable(name=name):
            return values.get(name, term)
        case Apply(arguments=arguments):
            # As deep as the parser allows a term to be nested.
            return replace(term, arguments=tuple(_term(one, values) for one in arguments))
        case _:
            return term
