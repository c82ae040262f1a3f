"""Declared types keep ids apart."""

from __future__ import annotations

import pytest

from tests.analysis.programs import codes, the

TYPES = """
.type Gold <: CustomerId
.type Either = CustomerId | OrderId
.type Same = CustomerId
.type Premium = Gold | Vendor
.type Vendor <: symbol
.decl gold(c: Gold)
.decl either(e: Either)
.decl same(c: Same)
.decl premium(p: Premium)
.decl ordered(o: OrderId)
.decl vendor(v: Vendor)
"""


@pytest.mark.parametrize(
    "rule",
    [
        "chosen(?c) :- customer(?c, _), order(_, ?c, _, _).",
        "chosen(?c) :- gold(?c).",
        "chosen(?c) :- gold(?c), either(?c).",
        "either(?c) :- customer(?c, _).",
        "either(?o) :- ordered(?o).",
        "either(?c) :- gold(?c).",
        "chosen(?c) :- same(?c).",
        "same(?c) :- customer(?c, _).",
        "gold(?c) :- premium(?c), customer(?c, _).",
        "premium(?v) :- vendor(?v).",
        "text(?c) :- customer(?c, _).",
        'chosen("C001").',
        'chosen(?c) :- customer(?c, _), ?c != "C001".',
        'chosen(cat("C", ?t)) :- tier(_, ?t).',
        "chosen(as(?t, CustomerId)) :- tier(_, ?t).",
        "chosen(?c) :- tier(_, ?t), ?c = as(?t, CustomerId), customer(?c, _).",
        "chosen(?c) :- customer(?c, ?n), text(?n), text(?c).",
        "chosen(?c) :- customer(?c, _), either(?e), ?e != ?c.",
        "chosen(?c) :- customer(?c, _), ordered(?o), ?c < ?o.",
        "number_of(?n) :- ?n = count : { customer(?c, _n), gold(?c) }.",
        "chosen(?m) :- ?m = max ?c : { customer(?c, _) }.",
    ],
)
def test_accepted(rule: str) -> None:
    assert codes(TYPES + rule) == []


@pytest.mark.parametrize(
    "rule",
    [
        "chosen(?c) :- customer(?c, _), ordered(?c).",
        "chosen(?c) :- customer(?c, _), ordered(?o), ?c = ?o.",
        "chosen(?c) :- customer(?c, _), ordered(?o), ?c != ?o.",
        "chosen(?c) :- customer(?c, _), !ordered(?c).",
        "chosen(?o) :- ordered(?o).",
        "gold(?v) :- vendor(?v).",
        "chosen(?c) :- customer(?c, _), vendor(?c).",
        "chosen(?c) :- customer(?c, _), ?d = as(?c, OrderId), customer(?d, _).",
        "number_of(?n) :- ?n = count : { customer(?c, _n), ordered(?c) }.",
        "chosen(?c) :- customer(?c, _), ordered(as(?c, CustomerId)).",
    ],
)
def test_ids_of_different_types_never_meet(rule: str) -> None:
    assert codes(TYPES + rule) == ["C0216"]


@pytest.mark.parametrize(
    "rule",
    [
        "chosen(?t) :- tier(_, ?t).",
        "gold(?c) :- customer(?c, _).",
        "chosen(?e) :- either(?e).",
        "gold(?p) :- premium(?p).",
    ],
)
def test_a_head_gets_nothing_wider(rule: str) -> None:
    one = the(TYPES + rule, "C0217")
    assert "as(?" in one.help


def test_both_declarations_are_shown() -> None:
    one = the(TYPES + "chosen(?c) :- customer(?c, _), ordered(?c).", "C0216")
    assert "CustomerId in column `c` of `customer`" in one.message
    assert "OrderId in column `o` of `ordered`" in one.message
    assert len(one.related) == 2
