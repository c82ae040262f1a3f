"""Terms of a search for missing facts: values, unbound variables, and values still to be chosen.

In: terms of rules and what is bound so far.  Out: cells, conditions on the values to be chosen, and
a choice that meets them.  Invariant: a cell is a value, an unbound ``Hole``, or ``Linear`` in one
value to be chosen; a condition that cannot be solved for one such value is an ``UnsolvedError``,
never a guess.

Example: with a revenue of 400 and one more order of ``x``, ``?total > 1,000`` becomes ``x > 600``.
"""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.frozen import frozen
from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    Apply,
    Constant,
    EvaluationError,
    Kind,
    NullCell,
    Variable,
    comparison,
    implementation,
    is_constructor,
    made_of,
)
from constat.logic.functors import date_add
from constat.proof.sentences import show_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from constat.logic import Term, Value

_TURNED: Final = MappingProxyType(
    {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
)
_MOST_PLACES: Final = 12
_MOST_STEPS: Final = 40


class UnsolvedError(Exception):
    """A condition that this search does not solve."""


@frozen
class Hole:
    """An unbound variable, or a value to be chosen."""

    number: int

    def __bool__(self) -> bool:
        """Raise: what nobody knows is no truth value (`is True` and `is False` ask for one)."""
        raise TypeError("a hole is neither true nor false")


@frozen
class Linear:
    """``factor * x + offset`` of a number ``x`` to be chosen; the factor is not 0."""

    hole: int
    factor: Fraction
    offset: Fraction

    @property
    def plain(self) -> bool:
        """Whether it is the number itself."""
        return self.factor == 1 and self.offset == 0


Cell = Hole | Linear | int | float | str | Decimal


@frozen
class Condition:
    """What a value to be chosen has to fulfil: ``x operator bound``."""

    hole: int
    operator: str
    bound: Value


def is_value(cell: Cell) -> bool:
    """Tell whether a cell is a value."""
    return not isinstance(cell, Hole | Linear)


def follow(cell: Cell, bound: Mapping[int, Cell], kinds: Mapping[int, Kind]) -> Cell:
    """Return what a cell stands for; a number to be chosen becomes linear in itself."""
    while isinstance(cell, Hole) and cell.number in bound:
        cell = bound[cell.number]
    if isinstance(cell, Linear) and cell.hole in bound:
        inner = follow(Hole(cell.hole), bound, kinds)
        return _scaled(inner, cell, kinds)
    return cell


def _scaled(inner: Cell, outer: Linear, kinds: Mapping[int, Kind]) -> Cell:
    if isinstance(inner, Hole):
        return Linear(inner.number, outer.factor, outer.offset)
    if isinstance(inner, Linear):
        return Linear(
            inner.hole, outer.factor * inner.factor, outer.factor * inner.offset + outer.offset
        )
    return number_of(outer.factor * Fraction(inner) + outer.offset, kinds[outer.hole])


def number_of(number: Fraction, kind: Kind) -> Value:
    """Return a number as a value of a kind."""
    if kind is Kind.FLOAT:
        return float(number)
    if kind is Kind.DECIMAL:
        scaled = number * 10**_MOST_PLACES
        if scaled.denominator != 1:
            raise UnsolvedError("a value that is no decimal of twelve places")
        exact = Decimal(scaled.numerator).scaleb(-_MOST_PLACES)
        return exact.quantize(Decimal(1)) if number.denominator == 1 else exact.normalize()
    if number.denominator != 1:
        raise UnsolvedError("a value that is no whole number")
    return int(number)


@frozen
class Binding:
    """What holes are bound to, their kinds, and which of them are values to be chosen."""

    bound: Mapping[int, Cell]
    kinds: Mapping[int, Kind]
    free: frozenset[int]

    def follow(self, cell: Cell) -> Cell:
        """Return what a cell stands for."""
        return follow(cell, self.bound, self.kinds)

    def is_free(self, cell: Cell) -> bool:
        """Tell whether a cell is a value to be chosen, or made of one."""
        return isinstance(cell, Linear) or (isinstance(cell, Hole) and cell.number in self.free)


def evaluated(term: Term, env: Mapping[str, int], state: Binding) -> Cell | None:
    """Evaluate a term; ``None`` where a function's argument is still unbound."""
    match term:
        case Variable(name=name):
            return state.follow(Hole(env[name]))
        case Constant(value=value):
            return value
        case Apply(arguments=arguments, kind=kind) if kind is not None:
            cells = [evaluated(one, env, state) for one in arguments]
            kinds = [kind_of(one, env, state) for one in arguments]
            return _applied(term.function, cells, (kinds, kind), state)
        case _:
            raise TypeError("a function without a kind was not analysed")


def kind_of(term: Term, env: Mapping[str, int], state: Binding) -> Kind:
    """Return the kind of a term."""
    match term:
        case Variable(name=name):
            return state.kinds[env[name]]
        case Constant(kind=kind):
            return kind
        case Apply(kind=kind) if kind is not None:
            return kind
        case _:
            raise TypeError("a function without a kind was not analysed")


def _applied(
    function: str, cells: Sequence[Cell | None], kinds: tuple[list[Kind], Kind], state: Binding
) -> Cell | None:
    known = [cell for cell in cells if cell is not None]
    if len(known) != len(cells):
        return None
    if any(isinstance(cell, NullCell) for cell in known):
        made = made_of(function, known)
        if isinstance(made, NullCell) and all(
            isinstance(cell, NullCell) or is_value(cell) for cell in known
        ):
            return cast("Cell", made)
        raise UnsolvedError(f"`{function}` of a value that nobody knows")
    if all(map(is_value, known)):
        try:
            result: Value = implementation(function, tuple(kinds[0]), kinds[1])(*known)
        except EvaluationError as problem:
            raise UnsolvedError(f"`{function}` errs: {problem}") from None
        return result
    if not all(is_value(cell) or state.is_free(cell) for cell in known):
        return None
    if function in {CONSTRUCTOR_OF, FIELD_OF} or is_constructor(function):
        # No condition speaks of a part of a structure: it waits until what it needs is bound.
        return None
    return _linear(function, [as_linear(cell, state) for cell in known])


def as_linear(cell: Cell, state: Binding) -> Cell:
    """Return a number to be chosen as linear in itself."""
    if isinstance(cell, Hole) and cell.number in state.free and state.kinds[cell.number].numeric:
        return Linear(cell.number, Fraction(1), Fraction(0))
    return cell


def _linear(function: str, cells: list[Cell]) -> Cell:
    if function == "neg" and isinstance(cells[0], Linear):
        return Linear(cells[0].hole, -cells[0].factor, -cells[0].offset)
    if len(cells) == 2:  # noqa: PLR2004  a binary operator
        found = _binary(function, cells[0], cells[1])
        if found is not None:
            return found
    raise UnsolvedError(f"`{function}` of a value that is to be chosen")


def _binary(function: str, left: Cell, right: Cell) -> Cell | None:
    match function, left, right:
        case ("+", Linear(), Linear()) | ("-", Linear(), Linear()):
            return None
        case "+", Linear(), value:
            return Linear(left.hole, left.factor, left.offset + Fraction(value))  # type: ignore[arg-type]
        case "+", value, Linear():
            return Linear(right.hole, right.factor, right.offset + Fraction(value))  # type: ignore[arg-type]
        case "-", Linear(), value:
            return Linear(left.hole, left.factor, left.offset - Fraction(value))  # type: ignore[arg-type]
        case "-", value, Linear():
            return Linear(right.hole, -right.factor, Fraction(value) - right.offset)  # type: ignore[arg-type]
        case "*", Linear(), value if value != 0 and not isinstance(value, Linear):
            by = Fraction(value)  # type: ignore[arg-type]
            return Linear(left.hole, left.factor * by, left.offset * by)
        case "*", value, Linear() if value != 0 and not isinstance(value, Linear):
            by = Fraction(value)  # type: ignore[arg-type]
            return Linear(right.hole, right.factor * by, right.offset * by)
        case _:
            return None


def scaled(cell: Cell, factor: Fraction, offset: Fraction, kind: Kind) -> Cell:
    """Return ``factor * cell + offset``."""
    if factor == 1 and offset == 0:
        return cell
    if isinstance(cell, Linear):
        return Linear(cell.hole, cell.factor * factor, cell.offset * factor + offset)
    if isinstance(cell, Hole | str):
        raise UnsolvedError("arithmetic on what is no number")
    return number_of(Fraction(cell) * factor + offset, kind)


def condition(
    operator: str, left: Cell, right: Cell, kind: Kind, kinds: Mapping[int, Kind]
) -> Condition | bool:
    """Compare two cells: a truth where both are values, else a condition on the other one."""
    if isinstance(left, NullCell) or isinstance(right, NullCell):
        if is_value(left) and is_value(right):
            # Of what nobody knows only that it is itself is certain (semantics 26a).
            return left == right and operator in {"=", "<=", ">="}
        raise UnsolvedError("a comparison with a value that nobody knows")
    if is_value(left) and is_value(right):
        try:
            return bool(comparison(operator, kind)(left, right))  # type: ignore[arg-type]  # values
        except EvaluationError as problem:
            raise UnsolvedError(f"`{operator}` errs: {problem}") from None
    if not is_value(left) and not is_value(right):
        raise UnsolvedError("a comparison of two values that are to be chosen")
    if is_value(left):
        turned = _TURNED.get(operator)
        if turned is None:
            raise UnsolvedError(f"`{operator}` with a pattern that is given")
        return condition(turned, right, left, kind, kinds)
    return _about(left, operator, right, kinds)  # type: ignore[arg-type]  # right is a value


def _about(left: Cell, operator: str, bound: Value, kinds: Mapping[int, Kind]) -> Condition:
    if operator not in _TURNED:
        raise UnsolvedError(f"`{operator}` on a text that is to be chosen")
    if isinstance(left, Hole):
        return Condition(left.number, operator, bound)
    if not isinstance(left, Linear):
        raise TypeError(left)
    limit = (Fraction(bound) - left.offset) / left.factor
    turned = _TURNED[operator] if left.factor < 0 else operator
    return Condition(left.hole, *_rounded(limit, turned, kinds[left.hole]))


def _rounded(limit: Fraction, operator: str, kind: Kind) -> tuple[str, Value]:
    """Return a bound as a value of its kind; one that lies between two becomes the inner one."""
    places = 0 if kind in {Kind.NUMBER, Kind.UNSIGNED} else _MOST_PLACES
    steps = limit * 10**places
    if kind is Kind.FLOAT or steps.denominator == 1:
        return operator, number_of(limit, kind)
    if operator in {"=", "!="}:
        raise UnsolvedError("a value between two that its column can hold")
    floor = steps.numerator // steps.denominator
    above = operator in {">", ">="}
    inner = Fraction(floor + 1 if above else floor, 10**places)
    return (">=" if above else "<="), number_of(inner, kind)


def choose(
    kind: Kind,
    conditions: Sequence[Condition],
    taken: Collection[Value],
    others: Sequence[Value] = (),
    is_free: Callable[[Value], bool] | None = None,
) -> Value:
    """Choose a value that meets all conditions and, where it may be any, is not taken.

    ``others`` are tried where the kind alone does not tell what a value may be. A value that the
    conditions do not force has to be free, too.
    """
    forced = any(one.operator == "=" for one in conditions)
    for candidate in itertools.chain(_candidates(kind, conditions, taken), others):
        if all(comparison(one.operator, kind)(candidate, one.bound) for one in conditions) and (
            forced or is_free is None or is_free(candidate)
        ):
            return candidate
    raise UnsolvedError("no value was found that meets all conditions")


def _candidates(
    kind: Kind, conditions: Sequence[Condition], taken: Collection[Value]
) -> Iterator[Value]:
    forced = [one.bound for one in conditions if one.operator == "="]
    if forced:
        yield from forced
        return
    bounds = [one.bound for one in conditions]
    for bound in bounds:
        if bound not in taken or kind is not Kind.NUMBER:
            yield bound
    for bound in bounds:
        yield from _beside(bound, kind)
    if kind.numeric and bounds:
        numbers = [Fraction(bound) for bound in bounds]
        middle = (min(numbers) + max(numbers)) / 2
        if kind in {Kind.FLOAT, Kind.DECIMAL}:
            yield number_of(Fraction(round(middle * 10**6), 10**6), kind)
    yield from _fresh(kind, taken)


def _beside(bound: Value, kind: Kind) -> Iterator[Value]:
    """Yield values right above and below a bound, those first that are easy to read."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            yield int(bound) + 1
            yield int(bound) - 1
        case Kind.DECIMAL | Kind.FLOAT:
            whole = Fraction(bound)
            for step in (Fraction(1), Fraction(1, 100), Fraction(1, 10**6)):
                yield number_of(whole + step, kind)
                yield number_of(whole - step, kind)
        case Kind.DATE:
            for days in (1, -1):
                yield date_add(str(bound), days)
        case Kind.TIMESTAMP:
            moment = datetime.fromisoformat(str(bound))
            for seconds in (1, -1):
                text = (moment + timedelta(seconds=seconds)).isoformat(timespec="microseconds")
                yield text.replace("+00:00", "Z")
        case Kind.STRUCTURE:
            # Which texts belong to its type is not known here.
            return
        case _:
            yield f"{bound}-1"


def _fresh(kind: Kind, taken: Collection[Value]) -> Iterator[Value]:
    match kind:
        case Kind.SYMBOL:
            numbers = (*range(1, len(taken) + 1), *_steps(len(taken) + 1))
            yield from (name for number in numbers if (name := f"new-{number}") not in taken)
        case Kind.BOOL:
            yield from ("true", "false")
        case Kind.DATE:
            yield "2000-01-01"
        case Kind.TIMESTAMP:
            yield "2000-01-01T00:00:00.000000Z"
        case Kind.STRUCTURE:
            # A structure belongs to its type: none is invented.
            return
        case _:
            above = max((int(one) for one in taken if not isinstance(one, str)), default=0) + 1
            yield from (number_of(Fraction(one), kind) for one in _steps(max(above, 1)))


def _steps(first: int) -> Iterator[int]:
    """Yield numbers in growing steps: a key that is free is not far, however many there are."""
    return (first + 2**step - 1 for step in range(_MOST_STEPS))


def show_condition(one: Condition, kind: Kind, name: str) -> str:
    """Write a condition: ``?amount > 1,000``."""
    return f"?{name} {one.operator} {show_value(one.bound, kind, name)}"
