"""Certificates whose rule computes: accepted with the right value, rejected with any other."""

from __future__ import annotations

import pytest

from constat.check import check_certificate
from tests.check.writer import Writer, cmp, fun, pos

N, U, F, D = "number", "unsigned", "float", "Decimal"
LOW, HIGH, TOP = str(-(2**63)), str(2**63 - 1), str(2**64 - 1)


def computed(function: str, kind: str, given: tuple[str, ...], claimed: str, to: str) -> Writer:
    """Return a proof that the function of the given values is what is claimed."""
    w = Writer()
    names = tuple("abc"[: len(given)])
    w.outside("p", " ".join(f"{name}:{kind}" for name in names))
    w.declare("q", f"n:{to}")
    equation = cmp("=", "n", fun(function, to, *names))
    rule = w.rule("computed", pos("q", "n"), pos("p", *names), equation)
    w.facts("p", [list(given)])
    values = dict(zip(names, given, strict=True))
    w.derived(rule, [claimed], {**values, "n": claimed}, [w.given("p", *given), None])
    return w.conclude("PROVED", "q", claimed)


@pytest.mark.parametrize(
    ("function", "kind", "given", "right", "to"),
    [
        ("^", N, ("-3", "3"), "-27", N),
        ("^", U, ("2", "63"), str(2**63), U),
        ("^", D, ("1.05", "2"), "1.1025", D),
        ("^", F, ((2.0).hex(), (0.5).hex()), (2.0**0.5).hex(), F),
        ("band", N, ("-1", "12"), "12", N),
        ("bnot", U, ("0",), TOP, U),
        ("bshl", N, ("3", "62"), "-4611686018427387904", N),
        ("bshr", N, ("-7", "1"), "-4", N),
        ("bshru", N, ("-1", "1"), HIGH, N),
        ("lxor", N, ("0", "9"), "1", N),
        ("min", N, ("10", "9", "11"), "9", N),
        ("max", D, ("9.5", "10"), "10", D),
        ("to_number", F, ((-3.75).hex(),), "-3", N),
        ("to_float", N, (str(2**53 + 1),), (2.0**53).hex(), F),
    ],
)
def test_the_right_value_is_accepted_and_no_other(
    function: str, kind: str, given: tuple[str, ...], right: str, to: str
) -> None:
    assert check_certificate(computed(function, kind, given, right, to).data()).accepted
    others = {N: "7", U: "7", D: "0.7", F: (0.7).hex()}
    wrong = check_certificate(computed(function, kind, given, others[to], to).data())
    assert (wrong.accepted, wrong.code) == (False, "comparison")


@pytest.mark.parametrize(
    ("function", "kind", "given", "claimed", "to"),
    [
        # What machines make of it, and what others call its value.
        ("^", N, ("2", "63"), LOW, N),
        ("^", N, ("2", "-1"), "0", N),
        ("^", D, ("1.05", "19"), "2.5269501953756382286051721572875976562", D),
        ("^", F, ((2.55).hex(), (15.2).hex()), "0x1.7105504965a80p+20", F),
        ("^", F, ((0.0).hex(), (-1.0).hex()), (0.0).hex(), F),
        ("bshl", N, ("1", "64"), "1", N),
        ("bshl", N, ("1", "64"), "0", N),
        ("bshr", N, ("-7", "1"), "-3", N),
        ("bshru", N, ("-7", "1"), "-4", N),
        ("bnot", U, ("0",), "0", U),
        ("land", N, ("2", "4"), "0", N),
        ("lor", N, ("2", "4"), "6", N),
        ("max", N, ("10", "9"), "9", N),
        ("to_unsigned", N, ("-1",), TOP, U),
        ("to_number", F, ((3.75).hex(),), "4", N),
        ("to_number", U, (TOP,), "-1", N),
    ],
)
def test_a_value_that_the_format_does_not_give_is_rejected(
    function: str, kind: str, given: tuple[str, ...], claimed: str, to: str
) -> None:
    found = check_certificate(computed(function, kind, given, claimed, to).data())
    assert (found.accepted, found.code) == (False, "comparison")


@pytest.mark.parametrize(
    ("function", "kind", "count", "to"),
    [
        ("band", F, 2, F),
        ("^", N, 2, F),
        ("min", N, 1, N),
        ("max", "Bool", 2, "Bool"),
        ("bnot", N, 2, N),
        ("to_number", "Date", 1, N),
        ("bxor", "symbol", 2, "symbol"),
    ],
)
def test_a_function_of_other_kinds_is_rejected(
    function: str, kind: str, count: int, to: str
) -> None:
    values = {N: "1", F: (1.0).hex(), "Bool": "true", "Date": "2025-01-31", "symbol": "a"}
    given = (values[kind],) * count
    found = check_certificate(computed(function, kind, given, values[to], to).data())
    assert not found.accepted
    assert found.code != "comparison"


@pytest.mark.parametrize(
    ("function", "given", "claimed", "shown"),
    [
        ("^", ("2", "3"), "8", "(?a ^ ?b)"),
        ("band", ("2", "3"), "2", "(?a band ?b)"),
        ("bnot", ("2",), "-3", "(bnot ?a)"),
        ("max", ("2", "3"), "3", "max(?a, ?b)"),
    ],
)
def test_an_operator_is_shown_as_it_is_written(
    function: str, given: tuple[str, ...], claimed: str, shown: str
) -> None:
    report = check_certificate(computed(function, N, given, claimed, N).data())
    assert any(shown in rule for rule in report.rules)
