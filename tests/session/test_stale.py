"""`stale`: one thing changes, and exactly the certificates that rest on it are listed."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from tests.tiers.building import database
from tests.tiers.kept import allow_age

if TYPE_CHECKING:
    from pathlib import Path

    from constat.session.stale import Conclusion

pytestmark = pytest.mark.sampled(3)

# Each rests on something of its own; the verdicts are of every kind.
VIP = "is_vip(C001)"
NOT_VIP = "is_vip(C002)"
OWNS = "controls(C001, C030)"
REGULAR = "is_regular(C001)"
STRATEGIC = "is_strategic(C009)"
PARTNER = "gets_partner_price(C001)"
GOALS = (VIP, NOT_VIP, OWNS, REGULAR, STRATEGIC, PARTNER)


@pytest.fixture
def proved(shop: Path) -> Path:
    """Return a project that keeps a certificate of each goal."""
    with Session(shop) as session:
        session.facts.add("contract_value(C009, 250000)", author="alice")
        verdicts = [session.prove(goal) for goal in GOALS]
        for result in verdicts:
            session.keep(result)
    assert [one.verdict.value for one in verdicts] == [
        *("PROVED", "DISPROVED", "PROVED", "UNRESOLVED", "PROVED_UNDER", "PROVED"),
    ]
    return shop


def found(shop: Path, status: str = "stale") -> dict[str, Conclusion]:
    with Session(shop) as session:
        report = session.stale()
    assert len(report.conclusions) == len(GOALS)
    return {one.goal.replace('"', ""): one for one in report.conclusions if one.status == status}


def kinds(one: Conclusion) -> set[str]:
    return {reason.kind for reason in one.reasons}


def change(shop: Path, statement: str) -> None:
    with closing(sqlite3.connect(shop / "data" / "shop.sqlite")) as connection, connection:
        connection.execute(statement)


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def library(shop: Path) -> Path:
    return shop.parents[1] / "rules" / "customer-value"


def test_nothing_has_changed(proved: Path) -> None:
    with Session(proved) as session:
        report = session.stale()
    assert [one.status for one in report.conclusions] == ["current"] * len(GOALS)
    assert report.exit_code == 0


def test_a_threshold_makes_stale_what_rests_on_it(proved: Path) -> None:
    rewrite(proved / "constat.yaml", "vip_threshold: 100000", "vip_threshold: 120000")
    stale = found(proved)
    assert set(stale) == {VIP, NOT_VIP, STRATEGIC, PARTNER}
    assert kinds(stale[VIP]) == {"configuration"}
    texts = {reason.text for reason in stale[VIP].reasons}
    assert "vip_threshold(100000) is not configured any more" in texts


def test_a_value_that_was_missing_makes_the_open_question_stale(proved: Path) -> None:
    rewrite(proved / "constat.yaml", "facts:\n", "facts:\n  regular_threshold: 2\n")
    stale = found(proved)
    assert set(stale) == {REGULAR}
    assert kinds(stale[REGULAR]) == {"configuration", "source"}


def test_a_value_that_nothing_rests_on_makes_nothing_stale(proved: Path) -> None:
    rewrite(proved / "constat.yaml", "    - [C020]\n", "    - [C021]\n")
    assert set(found(proved)) == set()


def test_a_retracted_fact_makes_stale_what_rests_on_it(proved: Path) -> None:
    with Session(proved) as session:
        session.facts.retract("contract_value(C009, 250000)", by="bob")
    stale = found(proved)
    assert set(stale) == {STRATEGIC}
    assert kinds(stale[STRATEGIC]) == {"retracted"}


def test_a_fact_stated_about_an_absence_makes_it_stale(proved: Path) -> None:
    with Session(proved) as session:
        session.facts.add("blocked(C001)", author="carol")
    stale = found(proved)
    assert set(stale) == {VIP, PARTNER}
    assert kinds(stale[VIP]) == {"stated"}


@pytest.mark.parametrize(
    ("statement", "goals"),
    [
        ("DELETE FROM orders WHERE customer_id = 'C001'", {VIP, REGULAR, PARTNER}),
        ("DELETE FROM orders WHERE customer_id = 'C007'", set()),
        ("INSERT INTO blocked_customers VALUES ('C001', 'late', NULL)", {VIP, PARTNER}),
        ("UPDATE ownership SET share = 49 WHERE owned_id = 'C030'", {OWNS}),
        ("UPDATE accounts SET tier = 'gold' WHERE customer_id = 'C002'", {NOT_VIP}),
    ],
)
def test_a_row_makes_stale_what_rests_on_it(proved: Path, statement: str, goals: set[str]) -> None:
    change(proved, statement)
    stale = found(proved)
    assert set(stale) == goals
    assert all(kinds(one) == {"source"} for one in stale.values())


@pytest.mark.parametrize(
    ("file", "old", "new", "goals"),
    [
        # A proof rests on the rules it uses; an absence on all that could give it.
        ("vip.dl", "?total > ?threshold,", "?total >= ?threshold,", {VIP, NOT_VIP, PARTNER}),
        ("vip.dl", 'customer_tier(?c, "gold")', 'customer_tier(?c, "iron")', {NOT_VIP}),
        ("vip.dl", "?orders >= ?least.", "?orders > ?least.", {REGULAR}),
        (
            "ownership.dl",
            "owns(?a, ?b, ?share), ?share > 50.0.",
            "owns(?a, ?b, ?share), ?share > 50.5.",
            {OWNS},
        ),
        ("revenue.dl", "?total = sum ?amount", "?total = max ?amount", {VIP, NOT_VIP, PARTNER}),
        # Sentences, owners and comments are no logic.
        ("vip.dl", "{customer} is a VIP", "{customer} counts as a VIP", set()),
        ("vip.dl", "@[id = VIP1]", "// A comment.\n@[id = VIP9]", set()),
    ],
)
def test_a_rule_makes_stale_what_rests_on_it(
    proved: Path, file: str, old: str, new: str, goals: set[str]
) -> None:
    rewrite(library(proved) / file, old, new)
    stale = found(proved)
    assert set(stale) == goals
    assert all("rules" in kinds(one) for one in stale.values())


def test_a_new_rule_makes_stale_what_was_disproved_and_leaves_proofs(proved: Path) -> None:
    path = library(proved) / "vip.dl"
    path.write_text(path.read_text() + '\nis_vip(?c) :- customer_tier(?c, "iron").\n')
    stale = found(proved)
    assert set(stale) == {NOT_VIP}
    assert {one.text for one in stale[NOT_VIP].reasons} == {"the rules of is_vip have changed"}


def test_a_predicate_that_is_gone_makes_stale_what_speaks_of_it(proved: Path) -> None:
    path = library(proved) / "vip.dl"
    path.write_text(path.read_text().replace("gets_partner_price", "has_partner_price"))
    stale = found(proved)
    assert set(stale) == {PARTNER}
    assert kinds(stale[PARTNER]) == {"rules"}


def test_a_source_that_does_not_answer_is_told_apart(proved: Path) -> None:
    (proved / "data" / "shop.sqlite").rename(proved / "data" / "away")
    assert found(proved) == {}
    unknown = found(proved, "unknown")
    assert set(unknown) == {VIP, NOT_VIP, OWNS, REGULAR, PARTNER}
    assert kinds(unknown[VIP]) == {"unreached"}
    with Session(proved) as session:
        assert session.stale().exit_code == 4


def test_a_certificate_that_is_rejected_is_stale(proved: Path) -> None:
    with Session(proved) as session:
        path = session.keep(session.prove(VIP))
        path.write_bytes(path.read_bytes().replace(b"150000", b"150001"))
        report = session.stale([path])
    (one,) = report.conclusions
    assert (one.status, one.goal, report.exit_code) == ("stale", "", 1)
    assert one.reasons[0].kind == "rejected"


def test_a_query_that_is_wrong_now_makes_its_conclusions_stale(proved: Path) -> None:
    change(proved, "ALTER TABLE ownership RENAME TO shares")
    stale = found(proved)
    assert set(stale) == {OWNS}
    assert "C0517" in stale[OWNS].reasons[0].text


def test_a_closure_that_is_withdrawn_makes_stale_what_accepted_it(shop: Path) -> None:
    with Session(shop) as session:
        result = session.prove("gets_partner_price(C003)")
        assert result.verdict.value == "DISPROVED_UNDER"
        session.keep(result)
        assert session.stale().exit_code == 0
    rewrite(shop / "constat.yaml", "closed:\n  partner: sales operations\n", "")
    with Session(shop) as session:
        assert session.stale().exit_code == 1


def test_what_was_not_asked_before_a_limit_makes_nothing_stale(shop: Path) -> None:
    file = shop / "constat.yaml"
    file.write_text(file.read_text() + "limits: {calls: 2}\n")
    with Session(shop) as session:
        result = session.prove(VIP)
        assert result.verdict.value == "UNRESOLVED"
        document = json.loads(result.certificate)
        assert "this was not asked" in {one["reason"] for one in document["open"]}
        session.keep(result)
        assert [one.reasons for one in session.stale().conclusions] == [()]


def test_files_and_folders_can_be_named(proved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "certificates" / "deep"
    folder.mkdir(parents=True)
    with Session(proved) as session:
        (folder / "vip.json").write_bytes(session.prove(VIP).certificate)
        (folder / "notes.txt").write_text("no certificate")
        report = session.stale([tmp_path / "certificates"])
        assert [one.status for one in report.conclusions] == ["current"]
        with pytest.raises(ConstatError, match="C0401"):
            session.stale([tmp_path / "nothing.json"])


@pytest.fixture
def kept(shop: Path) -> Path:
    allow_age(shop, "blocked", "2s")
    return shop


def test_evidence_from_the_cache_makes_stale_when_it_grows_too_old(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(kept) as session:
        session.prove(VIP)
    with Session(kept) as session:
        result = session.prove(VIP)
        document: dict[str, Any] = json.loads(result.certificate)
        assert "cache" in {one["tier"] for one in document["sources"]}
        session.keep(result)
        session.keep(session.prove(OWNS))
        assert session.stale().stale == ()
        now = time.time()
        monkeypatch.setattr("time.time", lambda: now + 3)
        report = session.stale()
    (one,) = report.stale
    assert one.goal.startswith("is_vip")
    assert kinds(one) == {"age"}


def test_a_max_age_that_was_taken_back_makes_stale_what_came_from_the_cache(kept: Path) -> None:
    with Session(kept) as session:
        session.prove(VIP)
    with Session(kept) as session:
        session.keep(session.prove(VIP))
    rewrite(kept / "sources.dl", ' max_age = "2s",', "")
    with Session(kept) as session:
        (one,) = session.stale().stale
    assert "nothing of it is kept any more" in one.reasons[0].text


def test_leaves_from_the_cache_are_read_anew_from_the_source(kept: Path) -> None:
    rewrite(kept / "sources.dl", 'max_age = "2s"', 'max_age = "1h"')
    with Session(kept) as session:
        # Another question brings C001 in a batch that no single goal asks for.
        session.prove("is_vip(?c)")
    with Session(kept) as session:
        certificate = session.prove(VIP).certificate
        assert "cache" in {one["tier"] for one in json.loads(certificate)["sources"]}
        assert session.verify_source(certificate).exit_code == 0
    change(kept, "INSERT INTO blocked_customers VALUES ('C001', 'late', NULL)")
    with Session(kept) as session:
        # The age that the user allows hides the change from a proof, and not from its check.
        assert session.prove(VIP).verdict.value == "PROVED"
        report = session.verify_source(certificate)
        assert {leaf.text for leaf in report.drift} >= {"blocked(C001)"}
        assert report.exit_code == 1


def test_a_query_that_was_forged_into_a_leaf_from_the_cache_is_found(kept: Path) -> None:
    from tests.session.test_leaves import forged

    def forge(document: dict[str, Any]) -> None:
        for source in document["sources"]:
            if source["tier"] == "cache":
                source["query"] = "SELECT 1"

    with Session(kept) as session:
        session.prove(VIP)
    with Session(kept) as session:
        certificate = forged(session.prove(VIP).certificate, forge)
        assert session.verify(certificate).accepted
        assert session.verify_source(certificate).exit_code == 1


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a project whose proof has a sum over more rows than a certificate shows."""
    rows = ",".join(f"({number}, '{'ann' if number % 2 else 'bob'}', 3)" for number in range(3_000))
    database(
        tmp_path / "shop.sqlite",
        "CREATE TABLE paid (id INTEGER PRIMARY KEY, c TEXT, x INTEGER);"
        f"INSERT INTO paid VALUES {rows}",
    )
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {shop: {uri: 'sqlite:///shop.sqlite'}}\n"
    )
    (tmp_path / "r.dl").write_text(
        '.pragma "constat" "0.1"\n.decl paid(i: number, c: symbol, x: number)\n'
        '.input paid(source="shop", query="SELECT id, c, x FROM paid")\n'
        ".decl total(c: symbol, s: number)\n"
        "total(?c, ?s) :- paid(_, ?c, _), ?s = sum ?x : { paid(_i, ?c, ?x) }.\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "goals"),
    [
        ("UPDATE paid SET x = 4 WHERE id = 2999", 1),
        ("DELETE FROM paid WHERE id = 1501", 1),
        ("INSERT INTO paid VALUES (9001, 'ann', 1)", 1),
        ("UPDATE paid SET x = 4 WHERE id = 2998", 0),
        ("INSERT INTO paid VALUES (9002, 'bob', 1)", 0),
    ],
)
def test_a_row_that_stands_in_a_sum_only_makes_it_stale(
    ledger: Path, statement: str, goals: int
) -> None:
    with Session(ledger) as session:
        result = session.prove("total(ann, 4500)")
        assert json.loads(result.certificate)["summaries"]
        session.keep(result)
        assert session.stale().stale == ()
    with closing(sqlite3.connect(ledger / "shop.sqlite")) as connection, connection:
        connection.execute(statement)
    with Session(ledger) as session:
        assert len(session.stale().stale) == goals
