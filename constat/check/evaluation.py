"""Evaluate terms, instances and comparisons under a binding.

In: a term and a binding.  Out: a spelled value or a hole: ⋆ where a ⋆ went in, an error for ⚡,
unbound where a variable is.  Invariant: an error or a hole never turns into a value; long texts and
large patterns cost steps, so a small certificate cannot ask for much work.

Example: ``?x + 1`` is ⋆ where ``?x`` is ⋆.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import functions
from .fields import APART
from .pattern import work
from .rules import Atom, Binding, Call, Comparison, Constant, Term, Variable
from .values import Hole, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from .values import OpenRow

CHARACTERS_PER_STEP: Final = 256
# A structure is read sign by sign where other texts are copied.
PARTED_PER_STEP: Final = 64
TESTS_PER_STEP: Final = 4
_WORST_FIRST: Final = (Hole.UNBOUND, Hole.ERROR, Hole.STAR)


class Evaluator:
    """Evaluates; ``spend`` takes the steps that it costs."""

    def __init__(self, spend: Callable[[int], None]) -> None:
        self.spend = spend

    def value(self, term: Term, binding: Binding) -> Value:
        """Return the value of the term; a hole in an argument is a hole in the result."""
        if type(term) is Variable:
            return binding[term.position]
        if type(term) is Constant:
            return term.value
        return self._call(term, binding)  # type: ignore[arg-type]

    def _call(self, term: Call, binding: Binding) -> Value:
        args = [self.value(inner, binding) for inner in term.args]
        for worst in _WORST_FIRST:
            if worst in args:
                return worst
        texts = tuple(map(str, args))
        dear = term.function in APART
        self.spend(1 + sum(map(len, texts)) // (PARTED_PER_STEP if dear else CHARACTERS_PER_STEP))
        kinds = tuple(inner.kind for inner in term.args)
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
            if worst in {left, right}:
                return worst
        texts = str(left), str(right)
        self.spend(sum(map(len, texts)) // CHARACTERS_PER_STEP)
        if comparison.operator in {"match", "!match"}:
            self.spend(work(*texts) // TESTS_PER_STEP)
        found = functions.compare(comparison.operator, comparison.left.kind, *texts)
        return Hole.ERROR if found is None else found
