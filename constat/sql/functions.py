"""The functions, comparisons and aggregates of the language as SQL, meaning exactly the same.

In: a function with its kinds, and the trees of its arguments. Out: a tree. Invariant: for all
values of these kinds SQL gives the value that `constat.logic` gives, or fails; nothing becomes
NULL, wraps or is rounded. Where SQL has no such function, or one that differs, the tree calls the
Python function itself (`Outside.function`). Example: `%` on numbers guards the divisor -1, for
which DuckDB overflows and the language gives 0.

A `Let` names an intermediate value that is read more than once: without it, nested functions would
double the text with each level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from constat.logic import CONSTRUCTOR_OF, FIELD_OF, RECORD, Kind, is_constructor
from constat.logic.vocabulary import FUNCTIONS
from constat.logic.wrapping import bounds, unwrapped
from constat.sql import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    Let = Callable[[exp.Expr], exp.Expr]
    Arguments = Sequence[exp.Expr]

_LONGEST: Final = 1 << 20
_INTEGERS: Final = (Kind.NUMBER, Kind.UNSIGNED)
_NUMERIC: Final = (*_INTEGERS, Kind.FLOAT, Kind.DECIMAL)
# How a column holds a Decimal or a float tells nothing of how a certificate spells it.
_SPELLED: Final = frozenset(Kind) - {Kind.FLOAT, Kind.DECIMAL}
_PARTS: Final = ("year", "month", "day", "quarter")
_NEVER_FAIL: Final = frozenset({name for name, word in FUNCTIONS.items() if word.total}) | {
    CONSTRUCTOR_OF
}


class Outside(Protocol):
    """What trees need of the database that will run them."""

    @property
    def careful(self) -> bool:
        """Whether nothing may be computed for rows that an earlier step removes."""
        ...

    def function(self, function: str, parameters: tuple[Kind, ...], result: Kind) -> str:
        """The name of a SQL function that calls the implementation."""
        ...

    def test(self, operator: str, kind: Kind) -> str:
        """The name of a SQL function that decides a comparison."""
        ...

    def fold(self, function: str, kind: Kind, result: Kind) -> str:
        """The name of a SQL function that folds a list of values."""
        ...

    def text_number(self, value: str) -> exp.Expr:
        """The number of a text in the dictionary."""
        ...


def may_fail(function: str, parameters: tuple[Kind, ...], result: Kind) -> bool:
    """Whether there are values for which the function errs."""
    if function == "as":
        return parameters[0] is not result and result is not Kind.SYMBOL
    if function == FIELD_OF:
        # A column of Decimals has not all the places that a field may have.
        return result is Kind.DECIMAL
    return function not in _NEVER_FAIL


class Functions:
    """Writes calls; `let` gives a name to what is read twice."""

    def __init__(self, outside: Outside, let: Let) -> None:
        self._outside = outside
        self._let = let

    def call(
        self, function: str, parameters: tuple[Kind, ...], result: Kind, arguments: Arguments
    ) -> exp.Expr:
        """The value of a function."""
        plain, width = unwrapped(function)
        found = (
            self._wrapping(plain, width, result, arguments)
            if width
            else self._native(plain, parameters, result, arguments)
        )
        if found is not None:
            return found
        return trees.call(self._outside.function(function, parameters, result), *arguments)

    def compare(self, operator: str, kind: Kind, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """The truth of a comparison."""
        match operator:
            case "match" | "!match":
                found = trees.call(self._outside.test("match", kind), left, right)
            case "contains" | "!contains":
                found = trees.call("contains", right, left)
            case _:
                return trees.binary(operator, left, right)
        return trees.opposite(found) if operator.startswith("!") else found

    def _wrapping(
        self, plain: str, width: int, result: Kind, arguments: Arguments
    ) -> exp.Expr | None:
        """Arithmetic of machine words; 128 bits hold every intermediate result but one."""
        if result is Kind.FLOAT and width == 64:  # noqa: PLR2004  as the language has it
            return self._native(plain, (result,) * len(arguments), result, arguments)
        small = plain in {"+", "-"} or (plain == "*" and result is Kind.NUMBER)
        if result not in _INTEGERS or not small:
            return None
        wide = [trees.cast(one, trees.typed("INT128")) for one in arguments]
        return self.wrapped(trees.binary(plain, *wide), result, width)

    def wrapped(self, wide: exp.Expr, kind: Kind, width: int) -> exp.Expr:
        """An integer of 128 bits brought into the range of a machine word."""
        huge = trees.typed("INT128")
        mask = trees.cast(trees.integer((1 << width) - 1), huge)
        low = self._let(trees.binary("&", wide, mask))
        if kind is Kind.NUMBER:
            top = bounds(kind, width)[1]
            turned = trees.binary("-", low, trees.cast(trees.integer(1 << width), huge))
            above = trees.binary(">", low, trees.cast(trees.integer(top), huge))
            low = trees.choose(above, turned, low)
        return trees.cast(low, trees.type_of(kind))

    def _native(
        self, function: str, parameters: tuple[Kind, ...], result: Kind, arguments: Arguments
    ) -> exp.Expr | None:
        match function:
            case "+" | "-" | "*" | "/" | "%" | "neg":
                return self._arithmetic(function, result, arguments)
            case "min" | "max":
                return trees.call("least" if function == "min" else "greatest", *arguments)
            case "band" | "bor":
                return trees.binary("&" if function == "band" else "|", *arguments)
            case "cat":
                return self._concatenated(arguments)
            case "strlen":
                return trees.call("strlen", *arguments)
            case "as":
                return self._conversion(parameters[0], result, arguments[0])
            case "to_string":
                return _text(parameters[0], arguments[0])
            case _:
                made = is_constructor(function)
                return (
                    self._structure(function, parameters, arguments)
                    if made
                    else self._time(function, arguments)
                )

    def _time(self, function: str, arguments: Arguments) -> exp.Expr | None:
        match function:
            case "year":
                return _digits(arguments[0], 1, 4)
            case "month":
                return _digits(arguments[0], 6, 2)
            case "day":
                return _digits(arguments[0], 9, 2)
            case "quarter":
                ahead = trees.binary("+", _digits(arguments[0], 6, 2), trees.integer(2))
                return trees.binary("//", ahead, trees.integer(3))
            case "date_of":
                return trees.call("substring", arguments[0], trees.integer(1), trees.integer(10))
            case "days_between":
                days = [trees.cast(one, trees.typed("DATE")) for one in arguments]
                return trees.call("date_diff", trees.text("day"), *days)
            case _:
                return None

    def _arithmetic(self, function: str, kind: Kind, arguments: Arguments) -> exp.Expr | None:
        match kind:
            case Kind.FLOAT:
                return self._floating(function, arguments)
            case Kind.DECIMAL:
                return self._decimal(function, arguments)
            case _:
                return self._integral(function, kind, arguments)

    def _integral(self, function: str, kind: Kind, arguments: Arguments) -> exp.Expr:
        zero = trees.constant(0, kind)
        match function:
            case "neg" if kind is Kind.UNSIGNED:
                value = self._let(arguments[0])
                return trees.choose(trees.binary("=", value, zero), zero, _failure("overflow"))
            case "neg":
                # DuckDB's own minus turns the constant of the least number into a wider one.
                return trees.binary("-", zero, arguments[0])
            case "/":
                return trees.binary("//", *arguments)
            case "%" if kind is Kind.NUMBER:
                left, right = arguments[0], self._let(arguments[1])
                minus_one = trees.binary("=", right, trees.integer(-1))
                return trees.choose(minus_one, zero, trees.binary("%", left, right))
            case _:
                return trees.binary(function, *arguments)

    def _floating(self, function: str, arguments: Arguments) -> exp.Expr:
        zero = trees.constant(0.0, Kind.FLOAT)
        match function:
            case "neg":
                found = trees.binary("-", zero, arguments[0])
            case "/":
                left, right = arguments[0], self._let(arguments[1])
                nothing = trees.binary("=", right, zero)
                quotient = trees.binary("/", left, right)
                found = trees.choose(nothing, _failure("division by zero"), quotient)
            case _:
                found = trees.binary(function, *arguments)
        return self.canonical_float(found)

    def canonical_float(self, node: exp.Expr) -> exp.Expr:
        """A finite float with one zero."""
        value = self._let(node)
        zero = trees.constant(0.0, Kind.FLOAT)
        one_zero = trees.choose(trees.binary("=", value, zero), zero, value)
        return trees.choose(trees.call("isfinite", value), one_zero, _failure("no finite float"))

    def _decimal(self, function: str, arguments: Arguments) -> exp.Expr | None:
        match function:
            case "neg":
                return trees.binary("-", trees.constant(0, Kind.DECIMAL), arguments[0])
            case "+" | "-":
                return trees.binary(function, *arguments)
            case "*":
                product = self._let(trees.binary("*", *arguments))
                narrow = trees.cast(product, trees.type_of(Kind.DECIMAL))
                again = trees.cast(narrow, trees.decimal_type(2 * trees.PLACES))
                same = trees.binary("=", again, product)
                return trees.choose(same, narrow, _failure("too many places"))
            case _:
                return None

    def _structure(
        self, function: str, parameters: tuple[Kind, ...], arguments: Arguments
    ) -> exp.Expr | None:
        if not arguments or not _SPELLED.issuperset(parameters):
            return None
        record = function == RECORD
        pieces = [trees.text("[" if record else f"{function}(")]
        for place, (one, kind) in enumerate(zip(arguments, parameters, strict=True)):
            pieces += [trees.text(", ")] * bool(place) + _field(one, kind)
        return self._concatenated([*pieces, trees.text("]" if record else ")")])

    def _concatenated(self, arguments: Arguments) -> exp.Expr:
        # In one call: a chain of operators would nest as deep as there are arguments.
        joined = self._let(trees.call("concat", *arguments))
        fits = trees.binary("<=", trees.call("strlen", joined), trees.integer(_LONGEST))
        return trees.choose(fits, joined, _failure("the text is too long"))

    def _conversion(self, source: Kind, target: Kind, value: exp.Expr) -> exp.Expr | None:
        if source is target or target is Kind.SYMBOL:
            return value
        if source in _INTEGERS and target in {*_INTEGERS, Kind.DECIMAL}:
            return trees.cast(value, trees.type_of(target))
        if source in _INTEGERS and target is Kind.FLOAT:
            whole = self._let(value)
            near = self._let(trees.cast(whole, trees.type_of(target)))
            huge = trees.typed("INT128")
            same = trees.binary("=", trees.cast(near, huge), trees.cast(whole, huge))
            return trees.choose(same, near, _failure("no float has exactly this value"))
        return None


def folded(
    outside: Outside, function: str, kind: Kind | None, result: Kind, target: exp.Expr | None
) -> exp.Expr:
    """The aggregate of a group; `target` is evaluated for each row."""
    plain, width = unwrapped(function)
    if plain == "count":
        return trees.call("count", trees.integer(1))
    if target is None or kind is None:
        raise AssertionError("only count has no target")
    if plain in {"min", "max"}:
        return trees.call(plain, target)
    if plain == "sum" and kind in {*_INTEGERS, Kind.DECIMAL}:
        total = trees.call("sum", target)
        if width and kind in _INTEGERS:
            return Functions(outside, lambda node: node).wrapped(total, kind, width)
        return trees.cast(total, trees.type_of(kind))
    return trees.call(outside.fold(function, kind, result), trees.call("list", target))


def has_constructor(structure: exp.Expr, wanted: str, told: exp.Expr) -> exp.Expr:
    """Whether a structure has a constructor, which `told` says by a call of Python.

    Most structures of other branches are told by how they begin, without the call.
    """
    name, _, arity = wanted.rpartition("/")
    if arity == "0":
        return trees.binary("=", structure, trees.text(name))
    beginning = trees.text("[" if name == RECORD else f"{name}(")
    begins = trees.call("starts_with", structure, beginning)
    return trees.choose(begins, told, trees.binary("=", trees.integer(0), trees.integer(1)))


def _field(value: exp.Expr, kind: Kind) -> list[exp.Expr]:
    """The spelling of a field, in pieces; see `structure_text`."""
    if kind is Kind.STRUCTURE:
        return [value]
    if kind in _INTEGERS:
        return [trees.cast(value, trees.typed("VARCHAR"))]
    escaped = trees.call("replace", value, trees.text("\\"), trees.text("\\\\"))
    escaped = trees.call("replace", escaped, trees.text('"'), trees.text('\\"'))
    return [trees.text('"'), escaped, trees.text('"')]


def _digits(moment: exp.Expr, start: int, length: int) -> exp.Expr:
    part = trees.call("substring", moment, trees.integer(start), trees.integer(length))
    return trees.cast(part, trees.type_of(Kind.NUMBER))


def _text(kind: Kind, value: exp.Expr) -> exp.Expr | None:
    if kind in _INTEGERS:
        return trees.cast(value, trees.typed("VARCHAR"))
    return None if kind in _NUMERIC else value


def _failure(reason: str) -> exp.Expr:
    return trees.call("error", trees.text(reason))
