"""What the words of the language promise: which functions err on no values, and which do."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest

from constat.logic import OPERATORS, EvaluationError, Kind, implementation, signatures
from constat.logic.vocabulary import FUNCTIONS

EDGES = {
    Kind.SYMBOL: ("", "7", "-1", "é", "2024-02-30", "9" * 40, "a" * (1 << 20)),
    Kind.NUMBER: (0, 1, -1, 64, 2**63 - 1, -(2**63)),
    Kind.UNSIGNED: (0, 1, 64, 2**64 - 1),
    Kind.FLOAT: (0.0, -1.0, 1e308, 5e-324, 2.0**64),
    Kind.DECIMAL: (Decimal(0), Decimal(-1), Decimal(10**38 - 1), Decimal("1e-38")),
    Kind.DATE: ("0001-01-01", "2024-02-29", "9999-12-31"),
    Kind.TIMESTAMP: ("0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"),
    Kind.BOOL: ("true", "false"),
    Kind.STRUCTURE: ("nil", "[1, 2]"),
}


def failing(function: str) -> list[tuple[object, ...]]:
    """Give the edges on which a function errs, under any of its signatures."""
    found = []
    for one in signatures(function):
        run = implementation(function, one.parameters, one.result)
        for values in itertools.product(*(EDGES[kind] for kind in one.parameters)):
            try:
                run(*values)
            except EvaluationError:
                found.append((one.result, *values))
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_errs_on_some_values_unless_it_is_total(function: str) -> None:
    assert not failing(function) or not FUNCTIONS[function].total
    assert failing(function) or FUNCTIONS[function].total


def test_every_operator_has_signatures() -> None:
    for name in OPERATORS:
        assert signatures(name), name
