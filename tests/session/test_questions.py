"""Why not, what if and what is missing, as a session answers them on the example."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import hypotheses
from tests.examples.shop import LIBRARY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def session(still_shop: Path) -> Iterator[Session]:
    with Session(still_shop) as found:
        yield found


def contents(folder: Path) -> dict[str, str]:
    """Give the hash of every file of a project."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refused(session: Session, **supposed: object) -> list[str]:
    with pytest.raises(ConstatError) as problem:
        session.what_if("is_vip(C002)", **supposed)  # type: ignore[arg-type]  # as tests give them
    assert problem.value.exit_code == 2
    for one in problem.value.diagnostics:
        assert one.help
    return [one.code for one in problem.value.diagnostics]


# ---------------------------------------------------------------------------- why not


def test_a_goal_that_holds_is_shown_with_its_proof(session: Session) -> None:
    found = session.why_not("is_vip(C001)")
    assert (found.verdict, found.exit_code, found.refutation) == (Verdict.PROVED, 0, None)
    assert "rule: VIP1" in found.to_text()


def test_a_goal_that_does_not_hold_has_the_verdict_of_prove(session: Session) -> None:
    for goal in ("is_vip(C002)", "is_regular(C001)", "gets_partner_price(C003)"):
        found = session.why_not(goal)
        assert found.verdict is session.prove(goal).verdict
        assert found.refutation is not None


def test_the_rows_that_a_rule_lacks_are_followed_to_the_source(session: Session) -> None:
    found = session.why_not("in_vip_group(C999)").refutation
    assert found is not None
    facts = [one.fact for one in found.lacking]
    assert facts == ["in_vip_group(C999)", "controls(?owner, C999)", "owns(?owner, C999, ?share)"]
    assert found.lacking[-1].sources[0].origin == "DATABASE"


# ---------------------------------------------------------------------------- what if


@pytest.mark.parametrize("goal", ["is_vip(C001)", "is_vip(C002)", "may_leave(C005)", "is_vip(?c)"])
def test_without_suppositions_the_answer_is_that_of_prove(session: Session, goal: str) -> None:
    found, proved = session.what_if(goal), session.prove(goal)
    assert (found.verdict, found.confidence) == (proved.verdict, proved.confidence)
    assert found.after.assumptions == proved.assumptions
    assert found.changes == ()
    assert found.uncompared == 0


@pytest.mark.parametrize(
    ("goal", "supposed", "text"),
    [
        ("is_vip(C004)", {"remove": ["blocked(C004)"]}, "supposed: there is no blocked(C004)"),
        (
            "is_vip(C002)",
            {"settings": {"vip_threshold": "50000"}},
            "supposed: vip_threshold(50000)",
        ),
        (
            "is_vip(C002)",
            {"add": ["customer_tier(C002, gold)"]},
            "supposed: customer_tier(C002, gold)",
        ),
        ("is_regular(C001)", {"settings": {"regular_threshold": "3"}}, "regular_threshold(3)"),
    ],
)
def test_a_supposition_that_matters_is_an_assumption_of_a_certificate_that_verifies(
    session: Session, goal: str, supposed: dict[str, object], text: str
) -> None:
    found = session.what_if(goal, **supposed)  # type: ignore[arg-type]  # as parametrised
    assert found.verdict is Verdict.PROVED_UNDER
    assert any(text in one.text for one in found.after.assumptions)
    report = session.verify(found.certificate)
    assert report.accepted
    assert report.verdict == "PROVED_UNDER"
    assert b"supposed: " in found.certificate


def test_conclusions_that_differ_are_told_with_their_values(session: Session) -> None:
    found = session.what_if("is_vip(C002)", add=["placed_order(C002, 99999, 50, 2025-05-05)"])
    told = {(one.kind, one.before, one.after) for one in found.changes}
    assert told == {
        ("appeared", "", "is_vip(C002)"),
        ("changed", "customer_revenue(C002, 100000)", "customer_revenue(C002, 100050)"),
    }


def test_of_a_goal_with_variables_all_rows_that_differ_are_told(session: Session) -> None:
    found = session.what_if("is_vip(?c)", settings={"vip_threshold": "140000"})
    gone = {one.before for one in found.changes if one.kind == "vanished"}
    before = {row["c"] for row in session.query("is_vip(?c)")}
    after = {
        row["c"] for row in session.query("customer_revenue(?c, ?r), ?r > 140000, !blocked(?c)")
    } | {row["c"] for row in session.query('customer_tier(?c, "gold"), !blocked(?c)')}
    assert gone == {f"is_vip({name})" for name in before - after}
    assert gone


def test_of_many_rows_all_are_compared_and_some_are_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = """
    .decl one(i: number)
    .decl free(i: number)
    one(?i) :- ?i = range(0, 15).
    free(?i) :- one(?i), !blocked(?i).
    """
    monkeypatch.setattr(hypotheses, "_MOST_PROVED", 5)
    with Session(rules=rules, facts={"blocked": pd.DataFrame({"i": [7]})}) as session:
        found = session.what_if("free(?i)", remove=["blocked(7)"])
        wider = session.what_if("free(?i)", add=["blocked(14)", "blocked(3)"])
    assert [(one.kind, one.after) for one in found.changes] == [("appeared", "free(7)")]
    assert (found.left_out, found.after.tree.roots[5:]) == (9, ())
    assert (found.before.verdict.value, len(found.before.tree.roots)) == ("PROVED", 1)
    assert check_certificate(found.certificate).accepted
    assert [one.before for one in wider.changes] == ["free(3)", "free(14)"]


def test_a_conjunction_can_be_asked(session: Session) -> None:
    found = session.what_if(
        "customer_revenue(?c, ?t), ?t > 150000",
        add=["placed_order(C002, 99999, 60000, 2025-05-05)"],
        query=True,
    )
    assert "query(C002, 160000)" in {one.after for one in found.changes}


def test_rows_that_were_only_not_asked_before_are_no_change(session: Session) -> None:
    # With a higher revenue the engine asks for `blocked`, which it did not before.
    found = session.what_if("is_vip(C002)", add=["placed_order(C002, 99999, 50, 2025-05-05)"])
    assert {one.predicate for one in found.changes} <= {"is_vip", "customer_revenue"}


def test_removing_the_only_support_changes_the_verdict(session: Session) -> None:
    assert session.prove("is_vip(C001)").verdict is Verdict.PROVED
    found = session.what_if("is_vip(C001)", remove=["placed_order(C001, ?o, ?a, ?d)"])
    assert found.verdict is Verdict.DISPROVED_UNDER
    assert session.verify(found.certificate).accepted


def test_what_has_no_effect_is_named(session: Session) -> None:
    found = session.what_if("is_vip(C001)", add=["owns(C001, C002, 60)"])
    assert found.without_effect == ("supposed: owns(C001, C002, 60)",)
    assert found.verdict is Verdict.PROVED


def test_nothing_is_written_anywhere(shop: Path) -> None:
    sources = shop / "sources.dl"
    text = sources.read_text(encoding="utf-8")
    sources.write_text(
        text.replace(
            'query = "SELECT id FROM customers"',
            'max_age = "1h", query = "SELECT id FROM customers"',
        )
    )
    with Session(shop) as session:
        session.facts.add("contract_value(C009, 250000)", author="alice")
        session.prove("is_vip(C001)")
        before = contents(shop.parent.parent)
        session.what_if("is_vip(C002)", settings={"vip_threshold": "1"}, add=["blocked(C001)"])
        session.missing_facts("is_vip(C002)", abducible={"customer_tier": "1"})
        assert contents(shop.parent.parent) == before


def test_a_supposed_rule_is_added_as_an_assumption(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "extra.dl"
    file.write_text('.pragma "constat" "0.1"\nis_vip(?c) :- customer_tier(?c, "silver").\n')
    found = session.what_if("is_vip(C002)", rules=[file])
    assert found.verdict is Verdict.PROVED_UNDER
    assert any("supposed:" in one.text for one in found.after.assumptions)
    assert session.verify(found.certificate).accepted


def test_a_supposed_rule_may_name_the_arguments_of_what_the_project_declares(
    session: Session, tmp_path: Path
) -> None:
    file = tmp_path / "extra.dl"
    rule = 'is_vip(customer = ?c) :- customer_tier(tier = "silver", customer = ?c).'
    file.write_text(f'.pragma "constat" "0.1"\n{rule}\n')
    found = session.what_if("is_vip(customer = C002)", rules=[file])
    assert found.verdict is Verdict.PROVED_UNDER
    assert session.verify(found.certificate).accepted
    file.write_text(f'.pragma "constat" "0.1"\n{rule.replace("tier =", "tir =")}\n')
    assert refused(session, rules=[file]) == ["C0183"]


def test_a_supposed_rule_takes_the_place_of_the_one_with_its_id(
    session: Session, tmp_path: Path
) -> None:
    file = tmp_path / "other.dl"
    rule = (
        "is_vip(?c) :- customer_revenue(?c, ?total), vip_threshold(?t), ?total > ?t * 2.0, "
        "!blocked(?c)."
    )
    file.write_text(f'.pragma "constat" "0.1"\n@[id = VIP1]\n{rule}\n')
    found = session.what_if("is_vip(C001)", rules=[file])
    assert found.verdict is Verdict.DISPROVED_UNDER
    assert "supposed: rule VIP1 does not stand" in found.supposed
    assert session.verify(found.certificate).accepted


def test_a_file_of_the_same_name_takes_that_files_place(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "vip.dl"
    shutil.copy(LIBRARY / "vip.dl", file)
    unchanged = session.what_if("is_vip(C001)", rules=[file])
    assert (unchanged.supposed, unchanged.verdict) == ((), Verdict.PROVED)
    text = file.read_text(encoding="utf-8")
    start, end = text.index("@[id = VIP1]"), text.index("@[id = VIP2]")
    file.write_text(text[:start] + text[end:], encoding="utf-8")
    found = session.what_if("is_vip(C001)", rules=[file])
    assert found.supposed == ("supposed: rule VIP1 does not stand",)
    assert found.verdict is Verdict.DISPROVED_UNDER


@pytest.mark.parametrize(
    ("supposed", "codes"),
    [
        ({"add": ["is_vip(C001)"]}, ["C0700"]),
        ({"remove": ["customer_revenue(C001, ?t)"]}, ["C0700"]),
        ({"add": ["nobody(C001)"]}, ["C0181"]),
        ({"add": ["blocked(?c)"]}, ["C0188"]),
        ({"add": ["placed_order(C001, x, 5, 2025-01-01)"]}, ["C0186"]),
        ({"settings": {"blocked": "C001"}}, ["C0701"]),
        ({"settings": {"vip_treshold": "1"}}, ["C0701"]),
        ({"settings": {"vip_threshold": "much"}}, ["C0701"]),
        (
            {"settings": {"vip_threshold": "1"}, "add": ["vip_threshold(2)"]},
            ["C0702"],
        ),
        ({"add": ["is_vip(C001)", "nobody(C1)"], "remove": ["x"]}, ["C0700", "C0181", "C0180"]),
    ],
)
def test_mistakes_are_diagnostics(
    session: Session, supposed: dict[str, object], codes: list[str]
) -> None:
    assert sorted(refused(session, **supposed)) == sorted(codes)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (".decl blocked(x: number)\n", "C0703"),
        ('.decl fresh(x: symbol)\n.input fresh(source = "sales", query = "SELECT 1")\n', "C0703"),
        (".decl contract_value(c: symbol)\n", "C0703"),
        ("contract_value(?c, 5.0) :- customer(?c).\n", "C0703"),
        ("is_vip(?c) :- nobody(?c).\n", "C0201"),
    ],
)
def test_supposed_files_may_change_rules_only(
    session: Session, tmp_path: Path, text: str, code: str
) -> None:
    file = tmp_path / "wrong.dl"
    file.write_text(f'.pragma "constat" "0.1"\n{text}')
    assert refused(session, rules=[file]) == [code]


def test_too_many_suppositions_are_refused(session: Session) -> None:
    assert refused(session, add=["blocked(C001)"] * 1_001) == ["C0708"]


# ---------------------------------------------------------------------------- missing


def test_missing_facts_have_conditions_where_no_value_is_forced(session: Session) -> None:
    found = session.missing_facts(
        "is_vip(C002)", abducible={"placed_order": "1", "customer_tier": "2"}
    )
    first, second = found.sets
    (order,) = first.add
    assert order.fact == "placed_order(C002, ?order, ?amount, ?day)"
    assert set(order.conditions) == {"?amount > 0", "?day >= 2025-01-01"}
    assert [one.fact for one in second.add] == ["customer_tier(C002, gold)"]
    assert (str(first.cost), str(second.cost)) == ("1", "2")
    assert found.exhausted


def test_each_set_is_confirmed_by_what_if_and_no_part_of_it(session: Session) -> None:
    found = session.missing_facts(
        "may_leave(C001)", abducible={"customer_tier": "1"}, removable={"placed_order": "1"}
    )
    (one,) = found.sets
    add, remove = [fact.tried for fact in one.add], list(one.remove)
    assert session.what_if("may_leave(C001)", add=add, remove=remove).verdict is one.verdict
    assert one.verdict is Verdict.PROVED_UNDER
    assert len(add) + len(remove) == 4
    for left in range(len(remove)):
        rest = remove[:left] + remove[left + 1 :]
        verdict = session.what_if("may_leave(C001)", add=add, remove=rest).verdict
        assert verdict is Verdict.DISPROVED_UNDER


def test_what_must_not_be_there_is_taken_away(session: Session) -> None:
    found = session.missing_facts("is_vip(C004)", removable={"blocked": "0.5"})
    assert [one.remove for one in found.sets] == [("blocked(C004)",)]


def test_nothing_is_abducible_unless_somebody_says_so(session: Session) -> None:
    found = session.missing_facts("is_vip(C002)")
    assert (found.sets, found.exit_code) == ((), 5)
    assert not found.abducible
    assert "placed_order" in found.candidates


def test_what_holds_misses_nothing(session: Session) -> None:
    found = session.missing_facts("is_vip(C001)", abducible={"customer_tier": "1"})
    assert (found.holds, found.sets, found.exit_code) == (True, (), 0)


def test_declared_costs_are_used(shop: Path) -> None:
    vocabulary = shop.parent.parent / "rules" / "customer-value" / "vocabulary.dl"
    text = vocabulary.read_text(encoding="utf-8")
    text = text.replace(".decl blocked(", "@[removable(cost = 2.5)]\n.decl blocked(")
    text = text.replace(".decl customer_tier(", "@[abducible]\n.decl customer_tier(")
    vocabulary.write_text(text, encoding="utf-8")
    with Session(shop) as session:
        (one,) = session.missing_facts("is_vip(C004)").sets
        assert str(one.cost) == "2.5"
        (other,) = session.missing_facts("is_vip(C002)").sets
        assert str(other.cost) == "1"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"abducible": {"is_vips": "1"}}, "C0704"),
        ({"removable": {"nobody": "1"}}, "C0704"),
        ({"abducible": {"blocked": "0"}}, "C0705"),
        ({"abducible": {"blocked": "1e9"}}, "C0705"),
        ({"abducible": {"blocked": "NaN"}}, "C0705"),
    ],
)
def test_what_cannot_be_abducible_is_refused(
    session: Session, asked: dict[str, dict[str, str]], code: str
) -> None:
    with pytest.raises(ConstatError) as problem:
        session.missing_facts("is_vip(C002)", **asked)  # type: ignore[arg-type]  # as parametrised
    assert [one.code for one in problem.value.diagnostics] == [code]


NEGATED_TWICE = """\
.pragma "constat" "0.1"
.decl placed(c: symbol)
.decl blocked(c: symbol)
.decl excused(c: symbol)
.decl lifted(c: symbol)
lifted(?c) :- excused(?c).
.decl bad(c: symbol)
bad(?c) :- blocked(?c), !lifted(?c).
.decl good(c: symbol)
good(?c) :- placed(?c), !bad(?c).
.decl vip(c: symbol)
vip(?c) :- good(?c).
"""


@pytest.mark.parametrize(
    ("named", "facts", "expected"),
    [
        # Fewer `bad` is fewer `blocked` or, below a second absence, more `excused`.
        (
            {"removable": {"bad": "1"}},
            "placed: [a], blocked: [a], excused: []",
            [([], ["blocked(a)"]), (["excused(a)"], [])],
        ),
        (
            {"abducible": {"good": "1"}},
            "placed: [], blocked: [], excused: []",
            [(["placed(a)"], [])],
        ),
        (
            {"abducible": {"vip": "2"}},
            "placed: [a], blocked: [a], excused: []",
            [([], ["blocked(a)"]), (["excused(a)"], [])],
        ),
        # More of `lifted` is what helps here, and fewer of it never does.
        ({"removable": {"lifted": "1"}}, "placed: [a], blocked: [a], excused: []", []),
        (
            {"abducible": {"lifted": "1"}},
            "placed: [a], blocked: [a], excused: []",
            [(["excused(a)"], [])],
        ),
    ],
)
def test_missing_looks_through_a_conclusion_that_is_named(
    tmp_path: Path,
    named: dict[str, dict[str, str]],
    facts: str,
    expected: list[tuple[list[str], list[str]]],
) -> None:
    (tmp_path / "rules.dl").write_text(NEGATED_TWICE)
    closed = "closed: [placed, blocked, excused]"
    (tmp_path / "constat.yaml").write_text(f"rules: rules.dl\nfacts: {{{facts}}}\n{closed}\n")
    with Session(tmp_path) as session:
        found = session.missing_facts(
            "vip(a)",
            abducible=named.get("abducible", {}),
            removable=named.get("removable", {}),
        )
        sets = [([fact.fact for fact in one.add], list(one.remove)) for one in found.sets]
        assert sorted(sets) == sorted(expected)
        for one in found.sets:
            add = [fact.tried for fact in one.add]
            assert session.what_if("vip(a)", add=add, remove=list(one.remove)).after.verdict in {
                Verdict.PROVED,
                Verdict.PROVED_UNDER,
            }


NULLS = """\
.pragma "constat" "0.1"
@[key = "id"]
.decl person(id: symbol, @[null = maybe] region: symbol, @[null = unknown] age: number)
.input person(source = "shop", query = "SELECT id, region, age FROM people")
.decl trip(id: symbol, @[null = unknown] days: number)
.input trip(source = "shop", query = "SELECT id, days FROM trips")
.decl adult(id: symbol)
adult(?p) :- person(?p, _, ?a), ?a >= 18.
.decl traveller(id: symbol)
traveller(?p) :- trip(?p, ?d), ?d > 7.
.decl together(a: symbol, b: symbol)
together(?a, ?b) :- person(?a, ?r, _), person(?b, ?r, _), ?a != ?b.
"""


@pytest.mark.parametrize(
    ("goal", "allowed", "facts", "code"),
    [
        # What is known of the row stays, and what nobody knows is filled.
        ("adult(p1)", "person", ["person(p1, ?region, ?age)"], 0),
        ("adult(p2)", "person", ["person(p2, south, ?age)"], 0),
        ("together(p2, p3)", "person", ["person(p3, south, 40)"], 0),
        ("traveller(p1)", "trip", ["trip(p1, ?days)"], 0),
        # A known cell is not another one, so none is offered; that is no proof of anything open.
        ("person(p2, north, 20)", "person", [], 5),
        ("adult(p1)", "trip", [], 4),
        ("adult(p1)", "", [], 4),
        ("adult(p4)", "", [], 5),
    ],
)
def test_what_nobody_knows_of_a_row_may_be_supposed(
    tmp_path: Path, goal: str, allowed: str, facts: list[str], code: int
) -> None:
    (tmp_path / "rules.dl").write_text(NULLS)
    (tmp_path / "constat.yaml").write_text(
        "project: people\nrules: [rules.dl]\ndatabases: {shop: 'sqlite:///shop.sqlite'}\n"
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        shop.executescript(
            "CREATE TABLE people (id TEXT NOT NULL, region TEXT, age INTEGER);"
            "CREATE TABLE trips (id TEXT NOT NULL, days INTEGER);"
            "INSERT INTO people VALUES ('p1', NULL, NULL), ('p2', 'south', NULL),"
            " ('p3', NULL, 40), ('p4', 'south', 9);"
            "INSERT INTO trips VALUES ('p1', NULL), ('p1', 2);"
        )
    with Session(tmp_path) as session:
        abducible = {allowed: "1"} if allowed else {}
        found = session.missing_facts(goal, abducible=abducible)
        assert [[fact.fact for fact in one.add] for one in found.sets] == [[f] for f in facts]
        assert found.exit_code == code
        for one in found.sets:
            tried = [fact.tried for fact in one.add]
            assert session.what_if(goal, add=tried).verdict is Verdict.PROVED_UNDER


def test_rows_of_which_nobody_knows_all_are_compared(tmp_path: Path) -> None:
    # Two rows that are known by half could not be sorted: an internal error.
    (tmp_path / "rules.dl").write_text(
        '.pragma "constat" "0.1"\n'
        ".decl trip(id: symbol, @[null = unknown] days: number)\n"
        '.input trip(source = "shop", query = "SELECT id, days FROM trips")\n'
        '.decl gone(id: symbol)\n.input gone(source = "shop", query = "SELECT id FROM gone")\n'
        ".decl left(days: number, id: symbol)\n"
        "left(?d, ?p) :- trip(?p, ?d), !gone(?p).\n"
    )
    (tmp_path / "constat.yaml").write_text(
        "project: people\nrules: [rules.dl]\ndatabases: {shop: 'sqlite:///shop.sqlite'}\n"
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        shop.executescript(
            "CREATE TABLE trips (id TEXT NOT NULL, days INTEGER);"
            "CREATE TABLE gone (id TEXT NOT NULL);"
            "INSERT INTO trips VALUES ('p1', NULL), ('p1', 3), ('p2', NULL);"
        )
    with Session(tmp_path) as session:
        found = session.what_if("left(?d, ?p)", add=["gone(p1)", "gone(p2)"])
        assert found.verdict is Verdict.DISPROVED_UNDER
        assert len(found.changes) + found.uncompared == 3


STOCKED = """\
.pragma "constat" "0.1"
.decl product(code: symbol)
.decl stock_level(code: symbol, place: symbol, pieces: number)
product("P03").
stock_level("P03", "N", 40).
stock_level("P03", "S", 45).
.decl stock_of(code: symbol, pieces: number)
stock_of(?p, ?n) :- product(?p), ?n = sum ?m : { stock_level(?p, _place, ?m) }.
"""


def test_facts_of_rule_files_are_not_taken_for_searched(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text("rules: [stock.dl]\n")
    (tmp_path / "stock.dl").write_text(STOCKED)
    (tmp_path / "more.dl").write_text('.pragma "constat" "0.1"\nstock_level("P03", "X", 15).\n')
    goal = "stock_of(P03, 100)"
    with Session(tmp_path) as session:
        for how in ("abducible", "removable"):
            with pytest.raises(ConstatError) as problem:
                session.missing_facts(goal, **{how: {"stock_level": "1"}})  # type: ignore[arg-type]
            assert problem.value.diagnostics[0].code == "C0704"
            assert "`constat what-if GOAL --rules FILE`" in problem.value.diagnostics[0].help
        # What it says does what was meant.
        assert session.what_if(goal, rules=[tmp_path / "more.dl"]).verdict is Verdict.PROVED_UNDER
        found = session.missing_facts(goal, abducible={"stock_of": "1"})
        assert (found.exhausted, found.exit_code) == (False, 4)
        assert "facts of stock_level, which stand in rule files" in found.unsolved
        with pytest.raises(ConstatError) as problem:
            session.what_if(goal, add=["stock_level(P03, X, 15)"])
        assert "`--rules more.dl`" in problem.value.diagnostics[0].help
        with pytest.raises(ConstatError) as problem:
            session.missing_facts(goal, abducible={"Stock Level": "1"})
        assert problem.value.diagnostics[0].help == "write `--abducible stock_level`"
