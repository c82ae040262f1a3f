"""Records and algebraic data types through a whole project: every source, every question about it.

Each certificate passes the independent checker and, where its sources can be read again, agrees
with them.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.evaluation import Verdict
from constat.store.clock import now
from tests.cli.running import run
from tests.tiers.test_model_tier import place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.session import Result

TYPES = """.pragma "constat" "0.1"
.include "constat/prelude.dl"
.type Money = [amount: Decimal, currency: symbol]
.type Cond = AtLeast { least: Decimal } | In { country: symbol } | Both { a: Cond, b: Cond }
           | Nobody {}
"""
RULES = f"""{TYPES}
@[says = "{{c}} was offered {{m}} where {{w}}"] @[abducible]
.decl offer(c: symbol, m: Money, w: Cond)
.input offer(source="shop", query="SELECT c, m, w FROM offer")
@[key = "c"]
.decl price(c: symbol, m: Money)
.input price(source="config", key="price")
.decl word(c: symbol, w: Cond)
.decl euros(c: symbol, a: Decimal)
euros(?c, ?a) :- offer(?c, [?a, "EUR"], _).
.decl dear(c: symbol)
dear(?c) :- price(?c, [?a, "EUR"]), ?a > 1000.
.decl said(c: symbol, k: symbol)
said(?c, ?k) :- word(?c, $In(?k)).
.decl turned(c: symbol, w: Cond)
turned(?c, $Both(?b, ?a)) :- offer(?c, _, $Both(?a, ?b)).
.decl far(c: symbol)
far(?c) :-
  offer(?c, [?a, ?k], $Both($AtLeast(?least), $Both($In(?country), _))),
  ?a > 100,
  ?k != "EUR",
  ?country != "FR",
  ?least < 50.
.decl elsewhere(c: symbol)
elsewhere(?c) :- offer(?c, _, ?w), ?w = $In(?k), ?w != $In("a-1"), ?k != "a".
.decl endless(c: symbol)
endless(?c) :- offer(?c, _, ?w), ?w = $Both(?w, _x).
.decl rich(k: symbol)
rich(?k) :- price(_, [_, ?k]), ?s = sum ?a : {{ offer(_, [?a, ?k], _) }}, ?s > 1000000.
.decl total(k: symbol, s: Decimal)
total(?k, ?s) :- price(_, [_, ?k]), ?s = sum ?a : {{ offer(_, [?a, ?k], _) }}.
"""
CONFIGURATION = """project: offers
rules: [rules.dl]
databases:
  shop: {uri: "sqlite:///shop.sqlite"}
facts:
  price: [[p1, '[2000, "EUR"]'], [p2, "[5, USD]"]]
closed: {price: sales, word: alice}
record: true
"""
OFFERS = [
    ("a", '[950, "EUR"]', '$In("FR")'),
    ("b", '[2000, "USD"]', "$AtLeast(5)"),
    ("c", "[ 10.50 , EUR ]", "$Both($AtLeast(5), $In(FR))"),
    ("x", "nothing", "$In(FR)"),
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "constat.yaml").write_text(CONFIGURATION)
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE offer (c TEXT, m TEXT, w TEXT)")
        connection.executemany("INSERT INTO offer VALUES (?, ?, ?)", OFFERS)
    return tmp_path


@pytest.fixture
def session(shop: Path) -> Iterator[Session]:
    with Session(shop) as opened:
        yield opened


def accepted(session: Session, result: Result) -> str:
    """Give the verdict on which the checker, the sources read again and the session agree."""
    report = check_certificate(result.certificate)
    assert report.accepted, (report.place, report.reason)
    assert report.verdict == result.verdict.value
    assert session.verify_source(result.certificate).drift == ()
    assert session.replay(result.certificate).same
    return result.verdict.value


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ("euros(c, 10.5)", "PROVED"),
        ("euros(b, ?a)", "DISPROVED"),
        ("turned(c, $Both($In(FR), $AtLeast(5)))", "PROVED"),
        ("turned(c, $Both($AtLeast(5), $In(FR)))", "DISPROVED"),
        ("dear(p1)", "PROVED"),
        ("dear(p2)", "DISPROVED"),
        ("total(USD, 2000)", "UNRESOLVED"),
        ("euros(x, ?a)", "UNRESOLVED"),
    ],
)
def test_rows_of_a_database_and_of_the_configuration(
    session: Session, goal: str, verdict: str
) -> None:
    # The record of x says nothing, so that nobody knows what it adds.
    assert accepted(session, session.prove(goal)) == verdict


def test_the_word_of_a_person(session: Session) -> None:
    session.facts.add("word(c9, $In(FR))", author="alice")
    assert accepted(session, session.prove("said(c9, FR)")) == "PROVED_UNDER"
    assert accepted(session, session.prove("said(c9, DE)")) == "DISPROVED_UNDER"


def test_the_word_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-planted-in-the-environment")
    rules = f"""{TYPES}
    @[key = "c"]
    .decl asked(c: symbol, w: Cond)
    .input asked(source="model", about="where an offer to a customer counts")
    .decl where(c: symbol, k: symbol)
    where(?c, ?k) :- asked(?c, $In(?k)).
    """
    with place(tmp_path, rules) as at:
        at.known["c1"] = {"known": True, "rows": [{"w": "$In(FR)"}], "confidence": 0.7}
        at.known["c2"] = {"known": True, "rows": [{"w": "in France"}], "confidence": 0.7}
        assert at.prove("where(c1, FR)").verdict is Verdict.PROVED_UNDER
        assert at.prove("where(c2, FR)").verdict is Verdict.UNRESOLVED


def test_another_proof_is_a_source(session: Session, shop: Path) -> None:
    other = shop / "other"
    (other / "proofs").mkdir(parents=True)
    inner = session.prove("turned(c, $Both($In(FR), $AtLeast(5)))")
    (other / "proofs" / "turned.json").write_bytes(inner.certificate)
    (other / "constat.yaml").write_text("project: other\nrules: [rules.dl]\n")
    (other / "rules.dl").write_text(f"""{TYPES}
    .decl turned(c: symbol, w: Cond)
    .input turned(source="certificates", folder="proofs")
    .decl countries(c: symbol, k: symbol)
    countries(?c, ?k) :- turned(?c, $Both($In(?k), _)).
    """)
    with Session(other) as opened:
        result = opened.prove("countries(c, FR)")
    assert result.verdict is Verdict.PROVED
    assert check_certificate(result.certificate).accepted


# ------------------------------------------------------------------ questions about a proof


def test_what_if_with_structures(session: Session) -> None:
    found = session.what_if("dear(p2)", add=['price(p2, [3000, "EUR"])'], remove=["price(p2, ?m)"])
    assert (found.before.verdict, found.verdict) == (Verdict.DISPROVED, Verdict.PROVED_UNDER)
    assert 'supposed: price(p2, [3000, "EUR"])' in found.supposed
    assert check_certificate(found.certificate).accepted


def test_a_supposed_structure_is_of_the_type(shop: Path) -> None:
    ran = run("what-if", "dear(p2)", "--add", "price(p2, $In(FR))", "--project", shop)
    assert (ran.code, ran.out) == (2, "")
    assert "Money" in ran.err


def test_a_structure_of_values_that_are_known_can_be_missing(session: Session) -> None:
    (found,) = session.missing_facts("euros(z, 7)").sets
    assert [one.fact for one in found.add] == ['offer(z, [7, "EUR"], ?w)']
    (found,) = session.missing_facts("turned(z, $Both($Nobody, $In(FR)))").sets
    assert [one.fact for one in found.add] == ['offer(z, ?m, $Both($In("FR"), $Nobody))']
    assert found.verdict is Verdict.PROVED_UNDER


def test_a_structure_can_be_missing_whose_fields_are_to_be_chosen(session: Session) -> None:
    (found,) = session.missing_facts("far(z)").sets
    (shown,) = found.add
    assert shown.fact == "offer(z, ?m, ?w)"
    assert set(shown.conditions) == {
        "?m = [?a, ?k]",
        "?a > 100",
        "?k != EUR",
        "?w = $Both(?cond_2, ?cond_3)",
        "?cond_2 = $AtLeast(?least)",
        "?least < 50",
        "?cond_3 = $Both(?cond_4, ?b)",
        "?cond_4 = $In(?country)",
        "?country != FR",
    }
    supposed = shown.tried
    assert session.what_if("far(z)", add=[supposed]).verdict is Verdict.PROVED_UNDER


def test_a_structure_of_another_branch_needs_no_search(session: Session) -> None:
    found = session.missing_facts("turned(z, $Nobody)")
    assert (found.sets, found.dropped, found.exhausted) == ((), 0, True)


def test_a_structure_of_chosen_parts_meets_what_is_asked_of_it(session: Session) -> None:
    found = session.missing_facts("elsewhere(z)")
    assert (found.sets, found.dropped, found.exhausted) == ((), 0, False)


def test_a_structure_inside_of_itself_is_no_answer(session: Session) -> None:
    found = session.missing_facts("endless(z)")
    assert found.sets == ()
    assert not found.exhausted


def test_a_sum_of_fields_is_searched_or_said_not_to_be(session: Session) -> None:
    found = session.missing_facts("rich(USD)")
    assert all(one.verdict is Verdict.PROVED_UNDER for one in found.sets)
    assert found.sets or not found.exhausted


def test_why_not_speaks_of_the_pattern(shop: Path) -> None:
    ran = run("why-not", "euros(b, ?a)", "--project", shop)
    assert 'not of the form [a, "EUR"]' in ran.out
    assert "field_of" not in ran.out
    assert "constructor_of" not in ran.out


def test_a_changed_field_is_told_as_the_cause(session: Session, shop: Path) -> None:
    before = session.prove("euros(a, 950)")
    with closing(sqlite3.connect(shop / "shop.sqlite")) as connection, connection:
        connection.execute("UPDATE offer SET m = '[951, \"EUR\"]' WHERE c = 'a'")
    (change, _) = session.diff(before.certificate).changes
    assert (change.kind, change.before, change.after) == (
        "data",
        'offer(a, [950, "EUR"], $In("FR"))',
        'offer(a, [951, "EUR"], $In("FR"))',
    )
    assert session.replay(before.certificate).same
    (gone, _) = session.verify_source(before.certificate).drift
    assert (gone.status, gone.text) == ("gone", 'offer(a, [950, "EUR"], $In("FR"))')


def test_as_of_a_time_the_structures_of_then_count(session: Session, shop: Path) -> None:
    session.keep(session.prove("euros(a, 950)"))
    then = now()
    with closing(sqlite3.connect(shop / "shop.sqlite")) as connection, connection:
        connection.execute("DELETE FROM offer")
    assert session.prove("euros(a, 950)").verdict is Verdict.DISPROVED
    earlier = session.prove("euros(a, 950)", as_of=then)
    assert earlier.verdict is Verdict.PROVED
    assert check_certificate(earlier.certificate).accepted


def test_rows_of_a_query_are_proved_one_by_one(session: Session) -> None:
    goal = "turned(?c, ?w)"
    (row,) = session.query(goal).rows
    assert row.values == ("c", '$Both($In("FR"), $AtLeast(5))')
    with session.row_proofs(goal) as rows:
        (found,) = rows.prove("c, $Both($In(FR), $AtLeast(5))")
    assert found.verdict is Verdict.PROVED
    assert check_certificate(found.certificate).accepted
