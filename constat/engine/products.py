"""Joins that compare nothing: a later equation decides which pairs are worth making.

In: the bindings before a join without a key, the rows, the steps behind it. Out: the pairs for
which an equation between both sides holds; `None` where there is no such equation. Invariant: the
steps behind the join are run all the same, so this drops nothing that they would keep. Example:
with many keys for ?n the rule `named(?n, ?o) :- owner(?o), ?o = $Person(?n).` would compare each
key with the name in each row; the rows are found by their names instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from constat.engine.batch import Binding
from constat.engine.expressions import value_of
from constat.engine.relation import Key
from constat.engine.texts import Texts
from constat.evaluation import UNTIMED, Clock, LimitReachedError
from constat.logic import CONSTRUCTOR_OF, FIELD_OF, Value
from constat.logic import Slot as Held
from constat.plan import Call, Compute, Expression, Filter, Join, Literally, Slot, Step, slots_of

_TOTAL: Final = frozenset({CONSTRUCTOR_OF, FIELD_OF})
"""What errs for no value: only such functions are computed before their turn."""
_MANY: Final = 32
"""From this many rows on it pays to file them."""


def pairs(
    bindings: Sequence[Binding],
    rows: Sequence[tuple[Held, ...]],
    later: Sequence[Step],
    texts: Texts,
    most: int,
    *,
    clock: Clock = UNTIMED,
) -> list[Binding] | None:
    """Give the bindings extended by those rows that an equation lets pass."""
    if len(bindings) < 2 or len(rows) < 2:  # noqa: PLR2004  nothing to gain
        return None
    width = len(bindings[0])
    equation = _equation(later, width, len(rows[0]))
    if equation is None:
        return None
    left, right = equation
    of_binding, of_row = value_of(left, texts), value_of(right, texts)
    by_value: dict[Value, list[tuple[Held, ...]]] = {}
    padding = bindings[0]
    for row in clock.over(rows):
        # Nothing of the padding is read.
        by_value.setdefault(of_row(padding + row), []).append(row)
    keyed = [(one, by_value.get(of_binding(one), ())) for one in clock.over(bindings)]
    if sum(len(found) for _, found in keyed) > most:
        raise LimitReachedError(f"a rule joins more than {most:,} rows")
    return [one + row for one, found in clock.over(keyed) for row in found]


class Finder:
    """Finds the rows that a binding meets by the equation behind a join.

    For relations that change no more: of a step and a key the rows are filed once, however many
    bindings come. A proof that goes down a list looks for each premise among all of them.
    """

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        # The step is kept, so that no other one gets its identity.
        self._equations: dict[int, tuple[Join, tuple[Expression, Expression] | None]] = {}
        self._filed: dict[tuple[int, Key], tuple[int, dict[Value, list[tuple[Held, ...]]]]] = {}

    def rows(
        self,
        step: Join,
        later: Sequence[Step],
        binding: Binding,
        key: Key,
        rows: Sequence[tuple[Held, ...]],
    ) -> Sequence[tuple[Held, ...]]:
        """Give those of the rows with a key that the equation lets pass, or all of a few."""
        if len(rows) < _MANY:
            return rows
        known = self._equations.get(id(step))
        if known is None:
            equation = _equation(later, len(binding), len(rows[0]))
            known = self._equations[id(step)] = (step, equation)
        if known[1] is None:
            return rows
        left, right = known[1]
        count, filed = self._filed.get((id(step), key), (-1, {}))
        if count != len(rows):
            filed, of_row = {}, value_of(right, self._texts)
            for row in rows:
                filed.setdefault(of_row(binding + row), []).append(row)
            self._filed[id(step), key] = (len(rows), filed)
        return filed.get(value_of(left, self._texts)(binding), ())


def _equation(
    later: Sequence[Step], width: int, added: int
) -> tuple[Expression, Expression] | None:
    """Find an equation of something known before with something of the row."""
    made: dict[int, Expression] = {place: Slot(place) for place in range(width + added)}
    for step in later:
        match step:
            case Compute(expression):
                made[len(made)] = _spelled(expression, made)
            case Filter("=", one, other):
                sides = _spelled(one, made), _spelled(other, made)
                for left, right in (sides, sides[::-1]):
                    if _is_of(left, 0, width) and _is_of(right, width, width + added):
                        return left, right
            case Filter():
                pass
            case _:
                break
    return None


def _spelled(expression: Expression, made: Mapping[int, Expression]) -> Expression:
    match expression:
        case Slot(place):
            return made[place]
        case Literally():
            return expression
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(_spelled(one, made) for one in arguments))


def _is_of(expression: Expression, first: int, end: int) -> bool:
    """Whether an expression reads some of these slots, no others, and never errs."""
    places = slots_of(expression)
    return bool(places) and all(first <= one < end for one in places) and _is_total(expression)


def _is_total(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return True
    return expression.function in _TOTAL and all(map(_is_total, expression.arguments))
