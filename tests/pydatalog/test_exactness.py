"""Values stay exact: what pyDatalog rounds, mixes or answers by itself never reaches it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.logic import Kind, Value
from constat.pydatalog.translation import Constants
from constat.pydatalog.wire import read_value
from tests.pydatalog.asking import ask, declared, rows

if TYPE_CHECKING:
    from constat.pydatalog import PyDatalogEngine


def test_values_of_different_kinds_are_different_constants() -> None:
    # For Python these are equal or look alike, and they would meet in pyDatalog.
    alike: list[tuple[Kind, Value]] = [
        (Kind.NUMBER, 1),
        (Kind.UNSIGNED, 1),
        (Kind.FLOAT, 1.0),
        (Kind.DECIMAL, Decimal(1)),
        (Kind.SYMBOL, "1"),
        (Kind.SYMBOL, "true"),
        (Kind.BOOL, "true"),
    ]
    constants = Constants(alike)
    assert len(constants.listed()) == len(alike)
    assert [constants.number(*one) for one in alike] == list(range(len(alike)))
    assert [type(constants.value(number)) for number in range(4)] == [int, int, float, Decimal]


def test_equal_values_of_one_kind_are_one_constant() -> None:
    constants = Constants([(Kind.DECIMAL, Decimal("1.5")), (Kind.FLOAT, 0.5)])
    assert constants.number(Kind.DECIMAL, Decimal("1.50")) == 0
    assert constants.number(Kind.FLOAT, 1 / 2) == 1


@pytest.mark.parametrize("text", ["0x1.999999999999ap-4", "0x1.d6f3454147ae1p+26", "0x0.0p+0"])
def test_floats_cross_the_pipe_bit_by_bit(text: str) -> None:
    assert read_value(text, Kind.FLOAT) == float.fromhex(text)


FLOATS = declared({"f": "x: float", "g": "x: float", "s": "x: float"}, "f") + (
    "g(?x) :- f(?x).\ns(?z) :- f(?x), f(?y), ?x < ?y, ?z = ?x + ?y.\n"
)


def test_floats_are_not_rounded(engine: PyDatalogEngine) -> None:
    # pyDatalog keeps eight digits by default: 1234567.89 became 1234567.890625.
    found = ask(engine, FLOATS, "g(?x)", ["f(1234567.89)", "f(123456789.01)"])
    assert found.rows == {(1234567.89,), (123456789.01,)}
    assert ask(engine, FLOATS, "g(1234567.890625)", ["f(1234567.89)"]).holds is False
    assert ask(engine, FLOATS, "s(0.3)", ["f(0.1)", "f(0.2)"]).holds is False
    assert ask(engine, FLOATS, "s(?x)", ["f(0.1)", "f(0.2)"]).rows == {(0.1 + 0.2,)}


DECIMALS = declared({"d": "x: Decimal", "t": "x: Decimal", "q": "x: Decimal"}, "d") + (
    "t(?z) :- ?z = sum ?x : { d(?x) }.\nq(?z) :- d(?x), d(?y), ?x < ?y, ?z = ?x / ?y.\n"
)


def test_decimals_are_exact(engine: PyDatalogEngine) -> None:
    assert ask(engine, DECIMALS, "t(0.3)", ["d(0.1)", "d(0.2)"]).holds is True
    long = "12345678901234567890123456789012345678"
    assert ask(engine, DECIMALS, "t(?x)", [f"d({long})"]).rows == {(Decimal(long),)}
    found = ask(engine, DECIMALS, "q(?x)", ["d(2)", "d(3)"])
    assert found.rows == {(Decimal("0.666666666667"),)}


NUMBERS = declared({"n": "x: number", "r": "x: number, y: number"}, "n") + (
    "r(?x, ?y) :- n(?x), ?y = ?x / 2.\n"
)
MORE = declared({"n": "x: number", "m": "x: number"}, "n") + "m(?y) :- n(?x), ?y = ?x + 1.\n"


def test_integers_are_divided_towards_zero_and_do_not_wrap(engine: PyDatalogEngine) -> None:
    assert ask(engine, NUMBERS, "r(-7, ?y)", ["n(-7)"]).rows == {(-7, -3)}
    top = (1 << 63) - 1
    assert ask(engine, MORE, "m(?y)", [f"n({top - 1})"]).rows == {(top,)}
    found = ask(engine, MORE, "m(?y)", [f"n({top})"])
    assert found.holds is None
    assert "64 bits" in found.stopped


def test_an_error_inside_an_expression_is_no_answer(engine: PyDatalogEngine) -> None:
    # pyDatalog's own expressions give the exception as an answer.
    rules = NUMBERS.replace("/ 2", "/ (?x - ?x)")
    found = ask(engine, rules, "r(?x, ?y)", ["n(1)"])
    assert (found.holds, found.rows) == (None, frozenset())
    assert found.stopped == "a rule instance errs: division by zero"


def test_an_instance_that_is_refuted_has_no_error(engine: PyDatalogEngine) -> None:
    rules = declared({"n": "x: number", "ok": "x: number", "p": "x: number"}, "n", "ok") + (
        "p(?y) :- ?y = 10 / ?x, n(?x), ?x != 0, ok(?x).\n"
    )
    facts = ["n(0)", "n(5)", "n(2)", "ok(5)"]
    assert ask(engine, rules, "p(?y)", facts).rows == rows(rules, "p(2)")


def test_texts_are_ordered_by_code_points(engine: PyDatalogEngine) -> None:
    rules = declared({"t": "x: symbol", "low": "x: symbol"}, "t") + (
        "low(?z) :- ?z = min ?x : { t(?x) }.\n"
    )
    found = ask(engine, rules, "low(?x)", ['t("é")', 't("z")', 't("Z")', 't("ß")'])
    assert found.rows == {("Z",)}


def test_assignments_of_an_aggregate_count_once_each(engine: PyDatalogEngine) -> None:
    rules = declared({"o": "c: symbol, i: number, v: number", "s": "c: symbol, v: number"}, "o") + (
        "s(?c, ?t) :- o(?c, _, _), ?t = sum ?v : { o(?c, _i, ?v) }.\n"
    )
    facts = ["o(a, 1, 10)", "o(a, 2, 10)", "o(b, 1, 3)"]
    assert ask(engine, rules, "s(?c, ?t)", facts).rows == {("a", 20), ("b", 3)}


def test_an_empty_group_counts_zero_and_has_no_minimum(engine: PyDatalogEngine) -> None:
    rules = declared({"k": "c: symbol", "o": "c: symbol, v: number"}, "k", "o") + (
        ".decl n(c: symbol, n: number)\n.decl m(c: symbol, n: number)\n"
        "n(?c, ?n) :- k(?c), ?n = count : { o(?c, _v) }.\n"
        "m(?c, ?n) :- k(?c), ?n = min ?v : { o(?c, ?v) }.\n"
    )
    assert ask(engine, rules, "n(?c, ?n)", ["k(a)"]).rows == {("a", 0)}
    assert ask(engine, rules, "m(?c, ?n)", ["k(a)"]).rows == frozenset()


def test_two_aggregates_of_one_rule_do_not_meet(engine: PyDatalogEngine) -> None:
    rules = declared({"o": "v: number, w: number", "p": "a: number, b: number"}, "o") + (
        "p(?a, ?b) :- ?a = min ?v : { o(?v, _w) }, ?b = max ?v : { o(?v, _w) }.\n"
    )
    assert ask(engine, rules, "p(?a, ?b)", ["o(1, 7)", "o(9, 2)"]).rows == {(1, 9)}
