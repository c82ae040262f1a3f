"""The words and the arithmetic of Spark, where they differ from those of DuckDB.

A server may be one whose integers wrap without a word, and Spark rounds the sum of two wide
decimals. So nothing rests on a server's own checks: an integer is computed in a decimal without
places, which holds every result of 64-bit words, and its bounds are compared; what a decimal would
round is refused when it comes. A function without an exact form has none here: `StrategyError`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Kind
from constat.logic.arithmetic import bounds
from constat.sql import trees
from constat.sql.trees import Functions

if TYPE_CHECKING:
    from sqlglot import exp

    from constat.sql.trees import Arguments

FAILED: Final = "constat: "
"""How the messages begin that our own statements raise."""
_WORD: Final = 64
_EXACT_FLOATS: Final = 1 << 53
_NARROW_PLACES: Final = 6
_LARGEST_TOTAL: Final = 1e25
_LARGEST_PRODUCT: Final = 3e19
_GREATEST: Final = float.fromhex("0x1.fffffffffffffp+1023")
_NAMES: Final = MappingProxyType(
    {"LIST": "collect_list", "STARTS_WITH": "startswith", "RANDOM": "rand"}
)


class SparkFunctions(Functions):
    """Writes calls and aggregates for Spark."""

    def wrapped(self, wide: exp.Expr, kind: Kind, width: int) -> exp.Expr:
        """An integer brought into the range of a machine word, by remainders."""
        span = _whole(trees.integer(1 << width))
        low = trees.binary("%", self._let(wide), span)
        low = self._let(trees.binary("%", trees.binary("+", low, span.copy()), span.copy()))
        if kind is Kind.NUMBER:
            half = _whole(trees.integer(1 << (width - 1)))
            above = trees.binary(">=", low, half)
            low = trees.choose(above, trees.binary("-", low, span.copy()), low)
        return trees.cast(low, trees.type_of(kind))

    def _native(
        self, function: str, parameters: tuple[Kind, ...], result: Kind, arguments: Arguments
    ) -> exp.Expr | None:
        if function in {"band", "bor"} and result is not Kind.NUMBER:
            return None
        return super()._native(function, parameters, result, arguments)

    def _integral(self, function: str, kind: Kind, arguments: Arguments) -> exp.Expr:
        zero = trees.constant(0, kind)
        match function:
            case "neg":
                turned = trees.binary("-", _whole(zero), _whole(arguments[0]))
                return self.narrowed(self._let(turned), kind)
            case "/":
                return self._quotient(kind, arguments)
            case "%":
                right = self._let(arguments[1])
                nothing = trees.binary("=", right, zero)
                minus_one = trees.binary("=", right, trees.integer(-1))
                rest = trees.binary("%", arguments[0], right)
                rest = trees.choose(minus_one, zero.copy(), rest) if kind is Kind.NUMBER else rest
                return trees.choose(nothing, failure("division by zero"), rest)
            case "*" if kind is Kind.UNSIGNED:
                left, right = (self._let(one) for one in arguments)
                about = trees.binary("*", _double(left), _double(right))
                small = trees.binary("<", about, trees.constant(_LARGEST_PRODUCT, Kind.FLOAT))
                # What the guard leaves is exact; what it does not is computed and not looked at.
                product = trees.binary("*", _whole(left), _whole(right))
                product = trees.choose(small, product, failure("overflow"))
                return self.narrowed(self._let(product), kind)
            case _:
                wide = self._let(trees.binary(function, *map(_whole, arguments)))
                return self.narrowed(wide, kind)

    def _quotient(self, kind: Kind, arguments: Arguments) -> exp.Expr:
        left, right = (self._let(one) for one in arguments)
        nothing = trees.binary("=", right, trees.constant(0, kind))
        if kind is Kind.UNSIGNED:
            # Without the remainder the quotient of two decimals is whole.
            rest = trees.binary("%", left, right)
            found = trees.binary("/", trees.binary("-", left, rest), right)
            found = trees.cast(found, trees.type_of(kind))
        else:
            turned = trees.binary("-", _whole(trees.integer(0)), _whole(left))
            minus_one = trees.binary("=", right, trees.integer(-1))
            found = trees.choose(
                minus_one, self.narrowed(turned, kind), trees.binary("//", left, right)
            )
        return trees.choose(nothing, failure("division by zero"), found)

    def _decimal(self, function: str, arguments: Arguments) -> exp.Expr | None:
        match function:
            case "+" | "-":
                # Of one digit less, so that the sum keeps all places.
                less = [trees.cast(one, _decimal(37, trees.PLACES)) for one in arguments]
                return trees.cast(trees.binary(function, *less), trees.type_of(Kind.DECIMAL))
            case "neg":
                return self._decimal("-", [trees.constant(0, Kind.DECIMAL), arguments[0]])
            case "*":
                return self._product(arguments)
            case _:
                return None

    def _product(self, arguments: Arguments) -> exp.Expr:
        """The product of two decimals of half the places, which holds all of its own."""
        whole = [self._let(one) for one in arguments]
        size = trees.constant(10**12 - 1, Kind.DECIMAL)
        fits = trees.binary(
            "and",
            *(trees.binary("<=", trees.call("abs", one), size.copy()) for one in whole),
        )
        halves = [trees.cast(one, _decimal(18, _NARROW_PLACES)) for one in whole]
        same = trees.binary(
            "and",
            *(
                trees.binary("=", trees.cast(half, trees.type_of(Kind.DECIMAL)), one)
                for half, one in zip(halves, whole, strict=True)
            ),
        )
        product = trees.cast(
            trees.binary("*", *(one.copy() for one in halves)), trees.type_of(Kind.DECIMAL)
        )
        refused = failure(f"a product of Decimals beyond {_NARROW_PLACES} places or 10^12")
        return trees.choose(fits, trees.choose(same, product, refused), refused.copy())

    def _conversion(self, source: Kind, target: Kind, value: exp.Expr) -> exp.Expr | None:
        if source in {Kind.NUMBER, Kind.UNSIGNED} and target is Kind.FLOAT:
            whole = self._let(value)
            size = trees.call("abs", _whole(whole))
            small = trees.binary("<=", size, _whole(trees.integer(_EXACT_FLOATS)))
            refused = failure("a number beyond 2^53 as a float")
            return trees.choose(small, trees.cast(whole, trees.type_of(target)), refused)
        if {source, target} == {Kind.NUMBER, Kind.UNSIGNED}:
            return self.narrowed(self._let(_whole(value)), target)
        return super()._conversion(source, target, value)

    def total(self, kind: Kind, target: exp.Expr) -> exp.Expr:
        """The exact sum of a group."""
        if kind is not Kind.DECIMAL:
            return trees.call("sum", trees.cast(target, trees.wide_integer(28)))
        most = trees.call("max", trees.call("abs", _double(target)))
        about = trees.binary("*", most, _double(trees.call("count", trees.integer(1))))
        small = trees.binary("<", about, trees.constant(_LARGEST_TOTAL, Kind.FLOAT))
        total = trees.call("sum", target.copy())
        return trees.choose(small, total, failure("a sum of Decimals beyond 10^25"))

    def narrowed(self, wide: exp.Expr, kind: Kind) -> exp.Expr:
        """A wide value as one of its kind; fails where it does not fit."""
        if kind is Kind.DECIMAL:
            return trees.cast(wide, trees.type_of(kind))
        low, high = bounds(kind, _WORD)
        fits = trees.binary(
            "and",
            trees.binary(">=", wide, _whole(trees.integer(low))),
            trees.binary("<=", wide.copy(), _whole(trees.integer(high))),
        )
        return trees.choose(fits, trees.cast(wide.copy(), trees.type_of(kind)), failure("overflow"))


def failure(reason: str) -> exp.Expr:
    """A call that ends the statement."""
    return trees.call("error", trees.text(reason))


def _whole(node: exp.Expr) -> exp.Expr:
    return trees.cast(node, trees.typed("INT128"))


def _double(node: exp.Expr) -> exp.Expr:
    return trees.cast(node, trees.type_of(Kind.FLOAT))


def _decimal(digits: int, places: int) -> exp.DataType:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (digits, places)]
    return exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=sizes)


def written(tree: exp.Expr) -> str:
    """Write a tree as Spark reads it."""
    return tree.transform(_adapted, copy=True).sql("spark")


def _adapted(node: exp.Expr) -> exp.Expr:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    match node:
        case exp.CTE():
            node.set("materialized", None)
        case exp.DataType(this=exp.DataType.Type.UBIGINT):
            return trees.wide_integer(20)
        case exp.DataType(this=exp.DataType.Type.INT128):
            return trees.wide_integer(38)
        case exp.Anonymous():
            return _call(node)
    return node


def _call(node: exp.Anonymous) -> exp.Expr:
    arguments = node.expressions
    match str(node.this).lower():
        case "error":
            reason = arguments[0]
            return trees.call("raise_error", trees.text(f"{FAILED}{reason.name}"))
        case "strlen":
            return _long(trees.call("octet_length", *arguments))
        case "isfinite":
            greatest = trees.constant(_GREATEST, Kind.FLOAT)
            return trees.binary("<=", trees.call("abs", *arguments), greatest)
        case "date_diff":
            return _long(trees.call("datediff", arguments[2], arguments[1]))
        case other:
            node.set("this", _NAMES.get(other.upper(), node.this))
            return node


def _long(node: exp.Expr) -> exp.Expr:
    return trees.cast(node, trees.typed("BIGINT"))
