"""Certificates are decoded into what was encoded, and everything else is refused."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from constat.logic import OPEN, Aggregate, Kind
from constat.proof.decoding import decode_instance, decode_program, decode_row
from constat.proof.encoding import encode_program
from tests.proof.asking import REACH, VIP, analysed
from tests.report.certificates import vip

RICH = """
.decl e(x: symbol, n: number, d: Decimal, f: float, t: Date)
.input e(source="s", query="q")
.decl holds(x: symbol, y: symbol, w: number)
.input holds(source="s", query="q")
.decl r(x: symbol, k: number)
.decl top(x: symbol, m: Decimal)
@[confidence = 0.8]
r(?x, ?n * 2 + 1) :- e(?x, ?n, _d, ?f, ?t), ?f > 0.5, ?t < "2026-01-01", !holds(?x, ?x, 1).
top(?x, ?m) :- r(?x, _k), ?m = max ?d : { e(?x, _n, ?d, _f, _t), ?d > 10.5 }.
.decl controls(x: symbol, y: symbol)
controls(?x, ?y) :- holds(?x, ?y, ?w), ?w > 50.
controls(?x, ?y) :- holds(?x, _z, _v), holds(_q, ?y, _u),
  ?s = sum ?w : { controls(?x, ?z), holds(?z, ?y, ?w), ?w >= 0 }, ?s > 50.
"""


@pytest.mark.parametrize(
    ("text", "goal"), [(VIP, "is_vip"), (REACH, "reached"), (RICH, "top"), (RICH, "controls")]
)
def test_encoding_what_was_decoded_gives_the_same_certificate_text(text: str, goal: str) -> None:
    encoded = encode_program(analysed(text), goal)
    members = {
        "declarations": encoded.declarations,
        "rules": encoded.rules,
        "facts": [],
        "sources": [],
    }
    again = encode_program(decode_program(json.loads(json.dumps(members))), goal)
    assert again.rules == encoded.rules
    assert again.declarations == encoded.declarations
    assert again.pin == encoded.pin


def test_a_total_over_its_own_predicate_is_recursive_and_no_other() -> None:
    encoded = encode_program(analysed(RICH), "controls")
    members = {
        "declarations": encoded.declarations,
        "rules": encoded.rules,
        "facts": [],
        "sources": [],
    }
    rules = decode_program(members).rules
    folds = [one for rule in rules for one in rule.body if isinstance(one, Aggregate)]
    assert [one.recursive for one in folds] == [True]
    plain = encode_program(analysed(VIP), "is_vip")
    members |= {"declarations": plain.declarations, "rules": plain.rules}
    folds = [o for r in decode_program(members).rules for o in r.body if isinstance(o, Aggregate)]
    assert [one.recursive for one in folds] == [False]


def test_rows_are_read_in_the_spelling_of_certificates() -> None:
    kinds = (Kind.SYMBOL, Kind.FLOAT, Kind.DECIMAL, Kind.NUMBER)
    row = decode_row(["a", (0.1).hex(), "10.5", None], kinds)
    assert row == ("a", 0.1, Decimal("10.5"), OPEN)


def test_an_instance_has_the_values_of_its_node() -> None:
    members = json.loads(vip("is_vip(C1)"))
    program = decode_program(members)
    node = next(one for one in members["nodes"] if one["fact"][0] == "is_vip")
    instance = decode_instance(program, node)
    assert instance.values == {"c": "C1", "total": Decimal(150060), "x": Decimal(100000)}


@pytest.mark.parametrize(
    "damage",
    [
        {"rules": [{}]},
        {"rules": [None]},
        {"declarations": [{"name": "p"}]},
        {"declarations": [{"name": "p", "columns": [["x", "what"]], "external": 0, "says": None}]},
        {"facts": [{"source": 7, "predicate": "p"}]},
    ],
)
def test_what_has_another_shape_is_no_certificate(damage: dict[str, object]) -> None:
    members = json.loads(vip("is_vip(C1)")) | damage
    with pytest.raises(ValueError):
        decode_program(members)


def test_terms_that_are_nested_too_deep_are_refused_without_recursion() -> None:
    term: list[object] = ["v", "x"]
    for _ in range(5_000):
        term = ["f", "neg", "number", [term]]
    rule = {
        "id": "r",
        "head": ["p", [term]],
        "body": [],
        "variables": [["x", "number"]],
        "confidence": "1",
        "says": None,
        "assumption": None,
    }
    with pytest.raises(ValueError):
        decode_program({"declarations": [], "rules": [rule], "facts": [], "sources": []})
