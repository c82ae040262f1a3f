"""Functions of the language that SQL calls back into Python for.

In: a function with its kinds. Out: the name of a SQL function that calls the implementation.
Invariant: DuckDB hands over and takes back values exactly (64-bit integers, doubles, decimals of 38
digits, texts); an `EvaluationError` fails the statement. Results are remembered, so a call costs
little where arguments repeat. Example: `function("substr", (SYMBOL, NUMBER, NUMBER), SYMBOL)`.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Final

from constat.evaluation import StrategyError
from constat.logic import (
    EvaluationError,
    Kind,
    Parts,
    canonical_decimal,
    comparison,
    fold,
    implementation,
)
from constat.sql import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.logic import Value
    from constat.sql.connection import Connection

_REMEMBERED: Final = 1 << 16


class PythonFunctions:
    """The functions that one connection knows, each under a name of ours."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names: dict[tuple[object, ...], str] = {}
        self._parts = Parts()

    def function(self, function: str, parameters: tuple[Kind, ...], result: Kind) -> str:
        """The SQL function that calls the implementation."""
        key = ("function", function, parameters, result)
        if key not in self._names:
            try:
                found = implementation(function, parameters, result, self._parts)
            except KeyError:
                raise StrategyError(f"no function {function} of these kinds") from None
            kinds = [written(kind) for kind in parameters]
            canonical = _canonical(found, parameters)
            exact = _checked(canonical) if result is Kind.DECIMAL else canonical
            if Kind.STRUCTURE not in {*parameters, result}:
                # Structures may be long, and their parts are remembered in bounds.
                exact = lru_cache(_REMEMBERED)(exact)
            self._create(key, exact, kinds, written(result))
        return self._names[key]

    def test(self, operator: str, kind: Kind) -> str:
        """The SQL function that decides a comparison."""
        key = ("test", operator, kind)
        if key not in self._names:
            found = lru_cache(_REMEMBERED)(comparison(operator, kind))
            self._create(key, found, [written(kind)] * 2, "BOOLEAN")
        return self._names[key]

    def fold(self, function: str, kind: Kind, result: Kind) -> str:
        """The SQL function that folds a list of values."""
        key = ("fold", function, kind, result)
        if key not in self._names:
            found = _folding(function, kind)
            self._create(key, found, [f"{written(kind)}[]"], written(result))
        return self._names[key]

    def _create(
        self,
        key: tuple[object, ...],
        function: Callable[..., object],
        parameters: Sequence[str],
        result: str,
    ) -> None:
        label = f"constat_{len(self._names)}"
        self._connection.driver.create_function(
            label, _plain(function, len(parameters)), list(parameters), result
        )
        self._names[key] = label


def written(kind: Kind) -> str:
    """The type of a kind as DuckDB writes it."""
    return trees.type_of(kind).sql("duckdb")


def _plain(function: Callable[..., object], arity: int) -> Callable[..., object]:
    """Hide the signature: the driver evaluates annotations, and some name unloaded types."""

    def compute(*values: object) -> object:
        return function(*values)

    compute.__annotations__ = {}
    kind = Parameter.POSITIONAL_ONLY
    listed = [Parameter(f"value{place}", kind) for place in range(arity)]
    compute.__signature__ = Signature(listed)  # type: ignore[attr-defined]  # `inspect` looks there
    return compute


def _canonical(function: Callable[..., Value], parameters: Sequence[Kind]) -> Callable[..., Value]:
    """Strip the zeros that a column of Decimals fills up its places with."""
    if Kind.DECIMAL not in parameters:
        return function

    def compute(*values: Value) -> Value:
        return function(
            *(canonical_decimal(one) if isinstance(one, Decimal) else one for one in values)
        )

    return compute


def _checked(function: Callable[..., Value]) -> Callable[..., Value]:
    """Refuse the Decimals that a column would round."""

    def compute(*values: Value) -> Value:
        return trees.checked_decimal(Decimal(function(*values)))

    return compute


def _folding(function: str, kind: Kind) -> Callable[[Sequence[Value]], Value]:
    def compute(values: Sequence[Value]) -> Value:
        found = fold(function, kind, values)
        if found is None:
            raise EvaluationError("an aggregate of nothing")
        return trees.checked_decimal(Decimal(found)) if kind is Kind.DECIMAL else found

    return compute
