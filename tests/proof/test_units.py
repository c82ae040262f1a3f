"""What a column says of its values is how sentences write them, and nothing else."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.analysis import analyse
from constat.logic import Kind
from constat.proof import render_tree
from constat.proof.sentences import Speech, speech_in
from constat.syntax import parse_text

if TYPE_CHECKING:
    from pathlib import Path

    from constat.diagnostics import Diagnostic

PLAIN = Speech()


@pytest.mark.parametrize(
    ("value", "style", "told"),
    [
        ("150000", {"unit": "EUR"}, "150,000 EUR"),
        ("150000", {"unit": "$"}, "$150,000"),
        ("-5", {"unit": "$"}, "-$5"),
        ("60000", {"places": "2"}, "60,000.00"),
        ("0.125", {"places": "2"}, "0.125"),
        ("60000.5", {"places": "2", "unit": "€"}, "€60,000.50"),
        ("0.25", {"percent": "true"}, "25%"),
        ("0.125", {"percent": "true", "places": "2"}, "12.50%"),
        ("-0.00001", {"percent": "true"}, "-0.001%"),
        ("10050", {"id": "true"}, "10050"),
        ("2025", {"year": "true"}, "2025"),
        ("150000", {}, "150,000"),
        (
            "0.12345678901234567890123456789012345678",
            {"percent": "true"},
            "12.345678901234567890123456789012345678%",
        ),
    ],
)
def test_a_decimal_is_written_as_its_column_says(
    value: str, style: dict[str, str], told: str
) -> None:
    assert PLAIN.value(Decimal(value), Kind.DECIMAL, "amount", style) == told


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("release_year", "2025"),
        ("Baujahr", "2025"),
        ("rechnungsnummer", "2025"),
        ("kunden_nr", "2025"),
        ("plz", "2025"),
        ("année", "2025"),
        ("jahre", "2,025"),
        ("piano", "2,025"),
        ("income", "2,025"),
    ],
)
def test_a_number_that_only_names_something_has_no_separators(column: str, told: str) -> None:
    assert PLAIN.value(2025, Kind.NUMBER, column) == told


def test_a_locale_writes_the_number_and_the_column_the_unit() -> None:
    german = speech_in("de_DE")
    style = {"unit": "EUR", "places": "2"}
    assert german.value(Decimal(60000), Kind.DECIMAL, "amount", style) == "60.000,00 EUR"


PROGRAM = """.pragma "constat" "0.1"
.decl orders(id: number, c: symbol, @[unit = "EUR"] @[places = 2] amount: Decimal)
.decl rate(@[percent] value: Decimal)
.decl total(c: symbol, @[unit = "$"] amount: Decimal)
total(?c, ?t) :- orders(_, ?c, _), ?t = sum ?a : { orders(_, ?c, ?a) }.
@[says = "{c} has {t} EUR, more than {least}, at a rate of {r}"]
.decl large(c: symbol)
@[says = "{c} has {a} EUR, at least {least}, at a rate of {r}"]
large(?c) :- orders(_, ?c, ?a), rate(?r), ?least = ?r * 1000.0, ?a >= ?least.
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "rules.dl").write_text(
        PROGRAM.replace('@[says = "{c} has {t} EUR, more than {least}, at a rate of {r}"]\n', "")
    )
    facts = "{orders: [[1, ann, 1500], [2, ann, 0.5]], rate: 0.25}"
    text = f"project: p\nrules: [rules.dl]\nfacts: {facts}\nclosed: [orders]\n"
    (tmp_path / "constat.yaml").write_text(text)
    return Session(tmp_path)


def test_sentences_have_units_once_also_where_the_template_has_them(session: Session) -> None:
    with session:
        result = session.prove("large(ann)")
        text = render_tree(result.tree)
        assert "ann has 1,500.00 EUR, at least 250, at a rate of 25%" in text
        # Nothing but sentences: values and the trace stay as they are.
        assert "rate(value=0.25) = True" in text
        assert session.verify(result.certificate).accepted
        total = session.prove("total(ann, 1500.5)")
        assert "$1,500.5" in render_tree(total.tree)


@pytest.mark.parametrize(
    "column",
    [
        "@[places = many] x: Decimal",
        "@[places = 13] x: Decimal",
        "@[percent] x: symbol",
        "@[percent] @[unit = EUR] x: Decimal",
        "@[year] @[id] x: number",
    ],
)
def test_what_does_not_fit_is_an_error(column: str) -> None:
    found: list[Diagnostic] = []
    assert analyse(parse_text(f".decl p({column})", "x.dl", found), found) is None
    assert [one.code for one in found] == ["C0246"]
    assert found[0].help


def test_ids_may_be_texts_and_any_column_may_have_a_unit() -> None:
    found: list[Diagnostic] = []
    text = ".decl p(@[id] x: symbol, @[unit = days] y: number, @[unit = EUR] z: symbol)"
    assert analyse(parse_text(text, "x.dl", found), found) is not None
    assert found == []


KEYS = """.pragma "constat" "0.1"
.decl owner(owner_no: number, name: symbol)
.decl boat(boat: symbol, owner_no: number, built_year: number, tons: number)
@[says = "owner {o} is known"]
.decl holder(o: number)
@[id = H1]
holder(?o) :- owner(owner_no = ?o).
.decl first(o: number, built: number)
@[id = F1] @[says = "the first of {o} is of {b}"]
first(?o, ?b) :- holder(?o), ?b = min ?y : { boat(_, ?o, ?y, _) }.
.decl heavy(o: number, tons: number, together: number)
@[id = W1] @[says = "{p} has {t} tons and {s}"]
heavy(?p, ?t, ?s) :- boat(_, ?p, _, ?t), first(?p, _), ?s = sum ?n : { boat(_, ?n, _, ?t) }.
.decl either(x: number)
@[says = "either {x}"]
either(?x) :- owner(?x, _).
either(?x) :- boat(_, _, _, ?x).
.decl told(x: number)
told(?x) :- either(?x).
"""


@pytest.mark.parametrize("goal", ["heavy(1014, 2500, 1014)", "told(1014)", "first(1014, 1998)"])
def test_a_key_has_no_separators_in_whatever_column_a_rule_puts_it(
    tmp_path: Path, goal: str
) -> None:
    (tmp_path / "rules.dl").write_text(KEYS)
    facts = "{owner: [[1014, Ann]], boat: [[b, 1014, 1998, 2500]]}"
    text = f"project: p\nrules: [rules.dl]\nfacts: {facts}\nclosed: [owner, boat]\n"
    (tmp_path / "constat.yaml").write_text(text)
    with Session(tmp_path) as session:
        proved = session.prove(goal)
    shown = render_tree(proved.tree)
    if goal.startswith("heavy"):
        assert "1014 has 2,500 tons and 1,014" in shown, shown
    elif goal.startswith("first"):
        assert "The first of 1014 is of 1998" in shown, shown
        assert "\u2018owner\u2019 holds for 1014" in shown, shown
    else:
        # Not every rule of `either` gives it a key.
        assert "Either 1014" in shown, shown
        assert "\u2018either\u2019 holds for 1,014" in shown, shown
