"""Enumerate the assignments under which a body may be true.

In: literals, a binding, possible rows.  Out: bindings, depth first, without recursion.  Invariant:
every assignment under which the body *is* true is among those enumerated or is an instance of one
with ⋆; only what is certain removes an assignment.

Example: ``p(?x), ?x > 5`` with possible rows ("3"), ("7"), (⋆) gives ``?x`` = 7 and ``?x`` = ⋆.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .rejection import Rejected
from .rules import Comparison, Negative, Positive, Variable, Wildcard
from .values import NONE, Hole, Label, Null, Value, is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .rows import Certainty, Rows
    from .rules import Atom, Binding, Term, Test
    from .values import OpenRow

AnyLiteral = TypeVar("AnyLiteral")


def search(
    start: Binding,
    literals: tuple[AnyLiteral, ...],
    choose: Callable[[Binding, tuple[AnyLiteral, ...]], int],
    extend: Callable[[AnyLiteral, Binding], Iterable[Binding]],
) -> Iterator[Binding]:
    """Yield the bindings that survive all literals; ``choose`` picks which literal comes next."""
    branches: list[tuple[Iterator[Binding], tuple[AnyLiteral, ...]]] = [(iter([start]), literals)]
    while branches:
        candidates, left = branches[-1]
        binding = next(candidates, None)
        if binding is None:
            branches.pop()
        elif not left:
            yield binding
        else:
            chosen = choose(binding, left)
            rest = left[:chosen] + left[chosen + 1 :]
            branches.append((iter(extend(left[chosen], binding)), rest))


class Joins:
    """Extends bindings by literals; ``lookup`` gives the rows that may match a pattern."""

    def __init__(self, rows: Rows, lookup: Callable[[str, OpenRow], list[OpenRow]]) -> None:
        self.rows = rows
        self.evaluator = rows.evaluator
        self.lookup = lookup
        self.free: frozenset[int] = frozenset()
        self.consulted: set[int] = set()

    def extend(self, test: Test, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which the literal may be true as well."""
        self.rows.spend(1)
        match test:
            case Positive(atom):
                return self._positive(atom, binding)
            case Negative(atom):
                return () if self._is_certain(atom, binding) else (binding,)
            case Comparison():
                return self._compared(test, binding)

    def _positive(self, atom: Atom, binding: Binding) -> Iterator[Binding]:
        pattern = self.evaluator.instance(atom, binding)
        check_arguments(atom, pattern)
        for row in self.lookup(atom.predicate, pattern):
            extended = unify(atom, pattern, row, binding)
            if extended is not None:
                yield extended

    def _is_certain(self, atom: Atom, binding: Binding) -> bool:
        row = self.evaluator.instance(atom, binding)
        if Hole.STAR in row or Hole.ERROR in row:
            return False
        if Hole.UNBOUND not in row and Hole.ANY not in row:
            return self.certain(atom.predicate, row) is not None
        for term, value in zip(atom.args, row, strict=True):
            # Any other unbound variable waits for a later literal: "any" would remove too much.
            free = isinstance(term, Variable) and term.position in self.free
            if value is Hole.UNBOUND and not free:
                return False
        # What is certain needs no completeness, so this is no look-up that has a level.
        shown = self.rows.shown(atom.predicate, row)
        return any(self.certain(atom.predicate, found) is not None for found in shown)

    def _compared(self, test: Comparison, binding: Binding) -> tuple[Binding, ...]:
        found = self.evaluator.truth(test, binding)
        if found is Hole.UNBOUND:
            return (self._assigned(test, binding),)
        return (binding,) if found is not False else ()

    def _assigned(self, test: Comparison, binding: Binding) -> Binding:
        for side, other in ((test.left, test.right), (test.right, test.left)):
            if is_assignment(test, side, binding):
                value = self.evaluator.value(other, binding)
                if value is not Hole.UNBOUND:
                    return assign(side, value, binding)
        raise Rejected("unbound", "a comparison comes before what binds its variables")

    def certain(self, predicate: str, row: OpenRow) -> Certainty | None:
        """Return why a ground row is certain, and note the node that says so."""
        found = self.rows.certain(predicate, row)
        if found is not None and found.node is not None:
            self.consulted.add(found.node)
        return found


def check_arguments(atom: Atom, pattern: OpenRow) -> None:
    """Reject a function of variables that are not bound yet: no row can be matched with it."""
    for term, value in zip(atom.args, pattern, strict=True):
        if value is Hole.UNBOUND and not isinstance(term, Variable):
            raise Rejected("unbound", "a function in an atom comes before what binds it")


def unify(atom: Atom, pattern: OpenRow, row: OpenRow, binding: Binding) -> Binding | None:
    """Return the binding with the row's values, ``None`` where they differ.

    What is known takes the place of what is not: a value that of a label, either that of ⋆.
    """
    extended = list(binding)
    for term, bound, cell in zip(atom.args, pattern, row, strict=True):
        form, value = type(term), cell
        if form is Wildcard:
            extended[term.position] = value  # type: ignore[union-attr]  # it has a place
            continue
        if type(value) is Null:
            if value == NONE:
                return None
            value = Hole.STAR
        if form is Variable:
            # Looked up again: the same variable may stand in an earlier column of this atom.
            known = extended[term.position]  # type: ignore[union-attr]
            if _gives_way(known, value):
                extended[term.position] = value  # type: ignore[union-attr]
                continue
        else:
            known = bound
        if known != value and is_known(known) and is_known(value):
            return None
    return extended


def _gives_way(known: Value, value: Value) -> bool:
    """Tell whether a variable takes the value instead of what it has."""
    return known is Hole.UNBOUND or known is Hole.STAR or (type(known) is Label and is_known(value))


def is_assignment(test: Comparison, side: Term, binding: Binding) -> bool:
    """Tell whether the side is a variable that this test can bind."""
    return (
        test.operator == "="
        and isinstance(side, Variable)
        and binding[side.position] is Hole.UNBOUND
    )


def assign(side: Term, value: Value, binding: Binding) -> Binding:
    """Return the binding with the variable bound; an error is a value that nobody knows."""
    extended = list(binding)
    if isinstance(side, Variable):
        extended[side.position] = Hole.STAR if value is Hole.ERROR else value
    return extended
