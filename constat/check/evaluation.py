"""Evaluate terms, instances and comparisons under a binding.

In: a term and a binding.  Out: a spelled value or a hole: ⋆ where a ⋆ went in, an error for ⚡,
unbound where a variable is.  Invariant: an error or a hole never turns into a value; long texts and
large patterns cost steps, so a small certificate cannot ask for much work.

Example: ``?x + 1`` is ⋆ where ``?x`` is ⋆.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from . import fields, functions
from .pattern import work
from .rules import Atom, Binding, Call, Comparison, Constant, Term, Variable, Wildcard
from .structures import Structure
from .values import Hole, Label, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from .structures import Structures
    from .values import Known, OpenRow

CHARACTERS_PER_STEP: Final = 256
TESTS_PER_STEP: Final = 4
_WORST_FIRST: Final = (Hole.UNBOUND, Hole.ERROR, Hole.STAR)

# A label stands for one value, which equals itself; all else about it is open.
_OF_ONE_LABEL: Final = MappingProxyType(
    {"=": True, "<=": True, ">=": True, "!=": False, "<": False, ">": False}
)


def _length(value: Value) -> int:
    return len(value) if isinstance(value, str) else 1


class Evaluator:
    """Evaluates; ``spend`` takes the steps that it costs."""

    def __init__(self, spend: Callable[[int], None], structures: Structures) -> None:
        self.spend = spend
        self.structures = structures

    def value(self, term: Term, binding: Binding) -> Value:
        """Return the value of the term; a hole in an argument is a hole in the result."""
        if type(term) is Variable:
            return binding[term.position]
        if type(term) is Constant:
            return term.value
        if type(term) is Wildcard:
            # Only a group binds it, to the cell that it met.
            cell = binding[term.position]
            return Hole.ANY if cell is Hole.UNBOUND else cell
        return self._call(term, binding)  # type: ignore[arg-type]

    def _call(self, term: Call, binding: Binding) -> Value:
        args = [self.value(inner, binding) for inner in term.args]
        for worst in _WORST_FIRST:
            if worst in args:
                return worst
        if any(type(value) is Label for value in args):
            return Hole.STAR
        self.spend(1 + sum(map(_length, args)) // CHARACTERS_PER_STEP)
        kinds = tuple(inner.kind for inner in term.args)
        result: Known | None
        if fields.is_about_structures(term.function):
            known: list[Known] = args  # type: ignore[assignment]  # no hole and no label is left
            result = fields.call(self.structures, term.function, kinds, term.kind, known)
        else:
            texts = tuple(map(str, args))
            result = functions.call(term.function, kinds, term.kind, texts)
        return Hole.ERROR if result is None else result

    def instance(self, atom: Atom, binding: Binding) -> OpenRow:
        """Return the values of the atom's arguments."""
        return tuple([self.value(term, binding) for term in atom.args])

    def truth(self, comparison: Comparison, binding: Binding) -> bool | Hole:
        """Return whether the comparison holds, or the hole that leaves it open."""
        left = self.value(comparison.left, binding)
        right = self.value(comparison.right, binding)
        for worst in _WORST_FIRST:
            if left is worst or right is worst:
                return worst
        if type(left) is Label or type(right) is Label:
            return _OF_ONE_LABEL.get(comparison.operator, Hole.STAR) if left == right else Hole.STAR
        if isinstance(left, Structure):
            return (left is right) == (comparison.operator == "=")
        texts = str(left), str(right)
        self.spend(sum(map(len, texts)) // CHARACTERS_PER_STEP)
        if comparison.operator in {"match", "!match"}:
            self.spend(work(*texts) // TESTS_PER_STEP)
        found = functions.compare(comparison.operator, comparison.left.kind, *texts)
        return Hole.ERROR if found is None else found
