"""`verify --source`: what a valid certificate shows is held against the sources."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Document = dict[str, Any]


def proved(shop: Path, goal: str = "is_vip(C001)") -> bytes:
    with Session(shop) as session:
        return session.prove(goal).certificate


def statuses(shop: Path, certificate: bytes) -> dict[str, str]:
    """Give the leaves that are not as shown."""
    with Session(shop) as session:
        report = session.verify_source(certificate)
    assert report.report.accepted, report.report.reason
    assert report.exit_code == (1 if report.drift else report.report.exit_code)
    return {leaf.text: leaf.status for leaf in report.drift}


def change(shop: Path, statement: str) -> None:
    with closing(sqlite3.connect(shop / "data" / "shop.sqlite")) as connection, connection:
        connection.execute(statement)


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def forged(certificate: bytes, forge: Callable[[Document], None]) -> bytes:
    """Change a certificate and make its hashes fit again, as a forger would."""
    document: Document = json.loads(certificate)
    forge(document)
    rules = {"declarations": document["declarations"], "rules": document["rules"]}
    document["header"]["program"] = "sha256:" + hashlib.sha256(canonical(rules)).hexdigest()
    outside = ("proofs", "record", "identity", "digest")
    proof = {key: value for key, value in document.items() if key not in outside}
    document["identity"] = "sha256:" + hashlib.sha256(canonical(proof)).hexdigest()
    whole = {key: value for key, value in document.items() if key != "digest"}
    document["digest"] = "sha256:" + hashlib.sha256(canonical(whole)).hexdigest()
    return canonical(document) + b"\n"


def rows_hash(rows: list[list[str]]) -> str:
    content = b"".join(canonical(row) + b"\n" for row in sorted(rows))
    return "sha256:" + hashlib.sha256(content).hexdigest()


def group(document: Document, predicate: str) -> tuple[Document, Document]:
    found = next(one for one in document["facts"] if one["predicate"] == predicate)
    return found, document["sources"][found["source"]]


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    "goal",
    [
        "is_vip(C001)",
        "is_vip(C002)",
        "is_vip(?c)",
        "in_vip_group(C032)",
        "may_leave(C005)",
        "gets_partner_price(C003)",
        "is_strategic(C009)",
        "is_regular(C001)",
        "customer_revenue(C150, ?total)",
    ],
)
def test_leaves_that_have_not_changed_are_the_same(shop: Path, goal: str) -> None:
    assert statuses(shop, proved(shop, goal)) == {}


def test_a_row_that_has_gone_is_reported(shop: Path) -> None:
    certificate = proved(shop)
    change(shop, "DELETE FROM orders WHERE customer_id = 'C001' AND amount = '40000.05'")
    found = statuses(shop, certificate)
    assert "gone" in found.values()
    assert found["DATABASE sales"] == "changed"


def test_a_row_that_has_come_is_reported(shop: Path) -> None:
    certificate = proved(shop)
    change(shop, "INSERT INTO blocked_customers VALUES ('C001', 'late', NULL)")
    assert statuses(shop, certificate)["blocked(C001)"] == "new"


def test_a_change_elsewhere_in_the_database_is_no_drift(shop: Path) -> None:
    certificate = proved(shop)
    change(shop, "DELETE FROM orders WHERE customer_id = 'C002'")
    assert statuses(shop, certificate) == {}


def test_a_changed_configuration_is_reported(shop: Path) -> None:
    certificate = proved(shop)
    file = shop / "constat.yaml"
    file.write_text(file.read_text().replace("vip_threshold: 100000", "vip_threshold: 120000"))
    assert statuses(shop, certificate)["vip_threshold(100000)"] == "gone"


def test_a_source_that_cannot_be_read_is_reported(shop: Path) -> None:
    certificate = proved(shop)
    (shop / "data" / "shop.sqlite").unlink()
    assert statuses(shop, certificate)


def test_a_retracted_fact_is_reported(shop: Path) -> None:
    with Session(shop) as session:
        session.facts.add("contract_value(C009, 250000)", author="alice")
        certificate = session.prove("is_strategic(C009)").certificate
        assert session.verify_source(certificate).exit_code == 3
        session.facts.retract("contract_value(C009, 250000)", by="bob")
        assert session.verify_source(certificate).exit_code == 1


def test_a_dropped_row_with_matching_count_and_hash_is_found(shop: Path) -> None:
    dropped = ["C001", "C033", "50"]

    def forge(document: Document) -> None:
        for found in document["facts"]:
            if dropped in found["rows"]:
                found["rows"].remove(dropped)
                source = document["sources"][found["source"]]
                source["rows"] -= 1
                source["hash"] = rows_hash(found["rows"])

    certificate = forged(proved(shop, "controls(C001, C033)"), forge)
    report = check_certificate(certificate)
    assert report.accepted, report.reason
    assert statuses(shop, certificate)["owns(C001, C033, 50)"] == "new"


def test_a_changed_threshold_is_found(shop: Path) -> None:
    def forge(document: Document) -> None:
        found, source = group(document, "vip_threshold")
        found["rows"] = [["140000"]]
        source["hash"] = rows_hash(found["rows"])
        for node in document["nodes"]:
            if node["fact"][0] == "vip_threshold":
                node["fact"][1] = ["140000"]
            node["bind"] = (
                ["140000" if value == "100000" else value for value in node["bind"]]
                if "bind" in node
                else None
            )
            if node["bind"] is None:
                del node["bind"]

    certificate = forged(proved(shop), forge)
    report = check_certificate(certificate)
    assert report.accepted, report.reason
    assert statuses(shop, certificate)["vip_threshold(140000)"] == "gone"


def test_a_relabelled_source_is_found(shop: Path) -> None:
    def rename(document: Document) -> None:
        group(document, "placed_order")[1]["name"] = "ledger"

    def requery(document: Document) -> None:
        source = group(document, "placed_order")[1]
        source["query"] = source["query"].replace("orders", "audited_orders")

    for forge in (rename, requery):
        certificate = forged(proved(shop), forge)
        assert check_certificate(certificate).accepted
        assert statuses(shop, certificate)


def test_no_text_of_a_certificate_is_run_as_a_query(shop: Path) -> None:
    def forge(document: Document) -> None:
        group(document, "placed_order")[1]["query"] = "DROP TABLE orders"

    certificate = forged(proved(shop), forge)
    assert statuses(shop, certificate)
    assert statuses(shop, proved(shop)) == {}


def test_a_certificate_of_another_project_is_told_apart(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "constat.yaml").write_text("rules: [r.dl]\n")
    (other / "r.dl").write_text('.pragma "constat" "0.1"\n.decl blocked(customer: number)\n')
    assert statuses(other, proved(shop))


def test_the_report_is_text_and_json(shop: Path) -> None:
    certificate = proved(shop)
    with Session(shop) as session:
        report = session.verify_source(certificate)
        rejected = session.verify_source(certificate[:-2])
    assert "read again, 0 changed" in report.to_text()
    told = report.to_json()
    assert (told["leaves_reread"], told["drift"], told["exit_code"]) == (True, 0, 0)
    assert rejected.to_text().startswith("REJECTED")
    assert (rejected.exit_code, rejected.to_json()["leaves_reread"]) == (1, False)


def rule_of(document: Document, identity: str) -> Document:
    return next(one for one in document["rules"] if one["id"] == identity)


def without_the_block(document: Document) -> None:
    """Let the rule forget what speaks against its head."""
    rule = rule_of(document, "VIP1")
    place = next(i for i, literal in enumerate(rule["body"]) if literal[0] == "-")
    del rule["body"][place]
    for node in document["nodes"]:
        if node["kind"] == "rule" and document["rules"][node["rule"]] is rule:
            del node["premises"][place]
    document["coverage"] = [one for one in document["coverage"] if one["predicate"] != "blocked"]


def with_nothing_blocked(document: Document) -> None:
    """Declare that no source and no rule gives what speaks against the head."""
    next(one for one in document["declarations"] if one["name"] == "blocked")["external"] = 0
    document["coverage"] = [one for one in document["coverage"] if one["predicate"] != "blocked"]


def without_any_rule(document: Document) -> None:
    """Disprove the goal by leaving out all that could give it."""
    for member in ("rules", "nodes", "facts", "coverage", "sources"):
        document[member] = []
    document["record"]["executed"] = []
    document["header"] |= {"verdict": "DISPROVED", "snapshot": None, "level": None}


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (without_the_block, "rule VIP1 has changed"),
        (with_nothing_blocked, "the declaration of blocked has changed"),
        (without_any_rule, "the rules of is_vip have changed"),
    ],
)
def test_rules_that_the_project_does_not_have_are_named(
    shop: Path, forge: Callable[[Document], None], told: str
) -> None:
    certificate = forged(proved(shop), forge)
    path = shop / "forged.json"
    path.write_bytes(certificate)
    with Session(shop) as session:
        refused = session.verify_source(certificate)
        report = session.verify_source(certificate, allow_other_rules=True)
        (stale,) = session.stale([path]).stale
    assert report.report.accepted, report.report.reason
    assert (report.drift, report.rules) == ((), (told,))
    note = f"the rules are not those of the project now: {told}"
    assert f"note: {note}\n" in report.to_text()
    assert report.to_json()["notes"] == [note]
    assert told in {one.text for one in stale.reasons}
    assert (report.exit_code, report.to_json()["accepted"]) == (report.report.exit_code, True)
    assert (refused.exit_code, refused.to_json()["verdict"]) == (1, None)
    assert refused.to_text().startswith(f"REJECTED at rules: {note}; --allow-other-rules")
    assert "PROVED" not in refused.to_text()


def test_a_rule_has_no_name_of_two_lines(shop: Path) -> None:
    def forge(document: Document) -> None:
        without_the_block(document)
        rule_of(document, "VIP1")["id"] = "VIP1\nleaves: 9 read again, 0 changed"

    with Session(shop) as session:
        certificate = forged(proved(shop), forge)
        report = session.verify_source(certificate, allow_other_rules=True)
    assert report.rules == ('rule "VIP1\\nleaves: 9 read again, 0 changed" has changed',)
    assert report.to_text().count("\nleaves: ") == 1


def test_rules_of_the_project_need_no_note(shop: Path) -> None:
    with Session(shop) as session:
        report = session.verify_source(proved(shop))
    assert (report.rules, report.to_json()["notes"]) == ((), [])


WORDED = """
.decl income(who: symbol, @[unit = "EUR"] amount: number)
.decl loan(who: symbol, owed: number)
@[says = "{who} may get the credit"]
@[says(de = "{who} bekommt den Kredit")]
@[says_not = "{who} is refused"]
@[says_unknown = "nobody knows about {who}"]
.decl credit(who: symbol)
income("a", 10).
income("b", 1).
loan("c", 7).
@[id = CR1]
@[says = "{w} earns {x}, more than 5"]
@[owner = "credit desk"]
@[reasons = "R01, R02"]
@[cites = "Act 1, section 2"]
@[reason(R01 = "income is too low")]
credit(?w) :- income(?w, ?x), ?x > 5.
@[id = CR3]
@[says = "{w} owes {x}, more than 5"]
@[reasons = "R03, -"]
credit(?w) :- loan(?w, ?x), ?x > 5.
"""


@pytest.fixture
def worded(tmp_path: Path) -> Path:
    (tmp_path / "constat.yaml").write_text("rules: [credit.dl]\n")
    (tmp_path / "credit.dl").write_text(WORDED)
    return tmp_path


def reword(folder: Path, old: str, new: str) -> None:
    path = folder / "credit.dl"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("may get", "may NOT get", "the sentence of credit"),
        ("bekommt", "bekommt nie", "the sentence in de of credit"),
        ("is refused", "is accepted", "the sentence for what is false of credit"),
        ("nobody knows", "we know", "the sentence for what is open of credit"),
        ("earns", "earned", "the sentence of rule CR1"),
        ("R01, R02", "R02, R01", "the list of reason codes of rule CR1"),
        ("is too low", "is too high", "the text of reason R01 of rule CR1"),
        ("section 2", "section 3", "the citation of rule CR1"),
        ('"EUR"', '"USD"', "the unit of column amount of income"),
        ("amount:", "debt:", "the name of column 2 of income"),
        ("credit desk", "board", "the owner of rule CR1"),
        ("= CR1", "= CR2", "the id of rule CR1"),
    ],
)
@pytest.mark.parametrize("goal", ['credit("a")', 'credit("b")'])
def test_words_turned_round_are_found(
    worded: Path, goal: str, old: str, new: str, told: str
) -> None:
    """A certificate whose rules are said otherwise now is one of other rules, and still stands."""
    certificate = proved(worded, goal)
    path = worded / "kept.json"
    path.write_bytes(certificate)
    reword(worded, old, new)
    with Session(worded) as session:
        report = session.verify_source(certificate)
        allowed = session.verify_source(certificate, allow_other_rules=True)
        live = session.replay_live(certificate)
        stale = session.stale([path])
    first, *rest = report.rules
    assert first.startswith(f'{told} has changed: the certificate says "'), report.rules
    if "column" not in told:
        assert not rest
    assert (report.exit_code, report.place, report.drift) == (1, "rules", ())
    assert report.to_json()["rules_changed"] == list(report.rules)
    assert first in report.to_text()
    assert allowed.exit_code == report.report.exit_code
    assert (live.exit_code, live.rules) == (7, report.rules)
    (conclusion,) = stale.conclusions
    assert (conclusion.status, stale.exit_code, stale.reworded) == ("current", 0, (conclusion,))
    assert {(one.kind, one.text) for one in conclusion.reasons} == {
        ("wording", text) for text in report.rules
    }


def test_words_of_rules_that_are_not_used_stay_out(worded: Path) -> None:
    certificate = proved(worded, 'credit("a")')
    refusal = proved(worded, 'credit("b")')
    for old, new in (("owes", "owned"), ("R03", "R04"), ("owed:", "due:"), ("CR3", "CR4")):
        reword(worded, old, new)
    with Session(worded) as session:
        assert not session.verify_source(certificate).rules
        assert len(session.verify_source(refusal).rules) == 4


def test_one_of_two_rules_that_mean_the_same_may_say_it(worded: Path) -> None:
    reword(worded, "@[id = CR1]", "@[description = one]")
    certificate = proved(worded, 'credit("a")')
    again = '@[says = "in other words"]\ncredit(?w) :- income(?w, ?x), ?x > 5.\n'
    reword(worded, "@[description = one]", again)
    with Session(worded) as session:
        assert not session.verify_source(certificate).rules


def test_rules_without_an_id_may_change_places(worded: Path) -> None:
    reword(worded, "@[id = CR1]\n", "")
    certificate = proved(worded, 'credit("a")')
    reword(worded, '@[says = "{w} earns', 'credit(?w) :- loan(?w, 8).\n@[says = "{w} earns')
    with Session(worded) as session:
        assert not session.verify_source(certificate).rules


def test_a_sentence_of_two_lines_is_told_on_one(worded: Path) -> None:
    def forge(document: Document) -> None:
        rule_of(document, "CR1")["says"] = "{w}\nleaves: 9 read again, 0 changed\u202e"
        rule_of(document, "CR1")["texts"].append(["says\nleaves: 9", "x"])

    certificate = forged(proved(worded, 'credit("a")'), forge)
    with Session(worded) as session:
        report = session.verify_source(certificate)
    assert report.report.accepted, report.report.reason
    assert len(report.rules) == 2
    assert report.to_text().count("\nleaves: ") == 1
    assert "\u202e" not in report.to_text()


def test_a_word_made_surer_is_found(shop: Path) -> None:
    with Session(shop) as session:
        session.facts.add("contract_value(C009, 250000)", author="alice")

    def forge(document: Document) -> None:
        group(document, "contract_value")[1]["confidence"] = "0.9"
        for node in document["nodes"]:
            if node["fact"][0] != "vip_threshold":
                node["confidence"] = "0.9"
        document["header"]["confidence"] = "0.9"

    certificate = forged(proved(shop, "is_strategic(C009)"), forge)
    assert statuses(shop, certificate) == {"contract_value(C009, 250000)": "changed"}


def test_a_declaration_made_surer_is_found(shop: Path) -> None:
    def forge(document: Document) -> None:
        for one in (*document["assumptions"], document["header"]):
            one["confidence"] = "0.9"

    certificate = forged(proved(shop, "gets_partner_price(C003)"), forge)
    assert statuses(shop, certificate) == {"partner(C003)": "unknown"}
