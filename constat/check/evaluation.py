"""Evaluate terms, instances and comparisons under a binding.

In: a term and a binding.  Out: a spelled value or a hole: ⋆ where a ⋆ went in, an error for ⚡,
unbound where a variable is.  Invariant: an error or a hole never turns into a value.

Example: ``?x + 1`` is ⋆ where ``?x`` is ⋆.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import functions
from .rules import Atom, Binding, Call, Comparison, Constant, Term, Variable
from .values import Hole, Value

if TYPE_CHECKING:
    from .values import OpenRow


def evaluate(term: Term, binding: Binding) -> Value:
    """Return the value of the term; a hole in an argument is a hole in the result."""
    if type(term) is Variable:
        return binding[term.position]
    if type(term) is Constant:
        return term.value
    return _call(term, binding)  # type: ignore[arg-type]


def _call(term: Call, binding: Binding) -> Value:
    args: list[str] = []
    holes: list[Hole] = []
    for inner in term.args:
        value = evaluate(inner, binding)
        if isinstance(value, Hole):
            holes.append(value)
        else:
            args.append(value)
    for worst in (Hole.UNBOUND, Hole.ERROR, Hole.STAR):
        if worst in holes:
            return worst
    kinds = tuple(inner.kind for inner in term.args)
    result = functions.call(term.function, kinds, term.kind, tuple(args))
    return Hole.ERROR if result is None else result


def instance(atom: Atom, binding: Binding) -> OpenRow:
    """Return the values of the atom's arguments."""
    return tuple([evaluate(term, binding) for term in atom.args])


def truth(comparison: Comparison, binding: Binding) -> bool | Hole:
    """Return whether the comparison holds, or the hole that leaves it open."""
    left = evaluate(comparison.left, binding)
    right = evaluate(comparison.right, binding)
    for worst in (Hole.UNBOUND, Hole.ERROR, Hole.STAR):
        if worst in {left, right}:
            return worst
    kind = comparison.left.kind
    found = functions.compare(comparison.operator, kind, str(left), str(right))
    return Hole.ERROR if found is None else found
