"""Certificates against signed snapshots: what a forger does to leaves is found offline."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.proof.signing import TrustedKey
from constat.session.snapshots import (
    OpeningReport,
    check_commitments,
    check_openings,
    read_openings,
    read_snapshot,
)
from tests.check.writer import rows_hash, seal
from tests.signing.keys import key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Document = dict[str, Any]
SOURCE = key("source", "Sales", 7)
TRUSTED = {SOURCE.public.id: TrustedKey(SOURCE.public, frozenset({"source"}))}
LEAVES = ("placed_order", "customer", "blocked", "vip_threshold", "revenue_since")


def prepared(shop: Path, goal: str, names: Sequence[str]) -> tuple[bytes, list[bytes], bytes]:
    """Prove a goal, commit to some predicates, and open the certificate."""
    with Session(shop) as session:
        certificate = session.prove(goal).certificate
        lines = [session.snapshot(name, SOURCE).line for name in names]
        opened = session.openings(certificate, [(line, "x") for line in lines])
    return certificate, lines, opened


@pytest.fixture(scope="module")
def vip(
    still_shop: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[bytes, list[bytes], bytes]:
    return prepared(still_shop, "is_vip(C001)", LEAVES)


def judged(certificate: bytes, lines: Sequence[bytes], opened: bytes) -> OpeningReport:
    report = check_certificate(certificate)
    assert report.accepted, report.reason
    snapshots = [read_snapshot(line, TRUSTED, "x") for line in lines]
    return check_openings(certificate, snapshots, read_openings(opened))


def group(document: Document, name: str) -> tuple[Document, Document]:
    found = next(one for one in document["facts"] if one["predicate"] == name)
    return found, document["sources"][found["source"]]


def test_a_true_certificate_passes_and_every_leaf_is_opened(
    vip: tuple[bytes, list[bytes], bytes],
) -> None:
    report = judged(*vip)
    assert (report.reason, report.not_opened, report.whole) == ("", (), True)
    assert dict(report.opened) == {
        "placed_order": 4,
        "customer": 1,
        "blocked": 0,
        "vip_threshold": 1,
        "revenue_since": 1,
    }


def test_what_nobody_committed_to_is_named(still_shop: Path) -> None:
    report = judged(*prepared(still_shop, "is_vip(C001)", ["blocked"]))
    assert report.reason == ""
    assert not report.whole
    assert report.not_opened == ("customer", "placed_order", "revenue_since", "vip_threshold")


def old_order(document: Document) -> list[str]:
    """Find an order that the sum leaves out, so that dropping it keeps the proof."""
    rows: list[list[str]] = group(document, "placed_order")[0]["rows"]
    return next(row for row in rows if row[3] < "2025-01-01")


def dropped(document: Document) -> None:
    """Leave a row out, with count and hash made to fit."""
    found, source = group(document, "placed_order")
    found["rows"].remove(old_order(document))
    source["rows"] -= 1
    source["hash"] = rows_hash(found["rows"])


def changed(document: Document) -> None:
    """Change a row that the sum leaves out."""
    found, source = group(document, "placed_order")
    old_order(document)[2] = "1"
    found["rows"].sort()
    source["hash"] = rows_hash(found["rows"])


def added(document: Document) -> None:
    found, source = group(document, "placed_order")
    found["rows"].append(["C001", "999999", "1", "2020-01-01"])
    found["rows"].sort()
    source["rows"] += 1
    source["hash"] = rows_hash(found["rows"])


def threshold(document: Document) -> None:
    """Change a threshold, and everything that follows from it."""
    text = json.dumps(document)
    tree = json.loads(text.replace('"100000"', '"140000"'))
    document.clear()
    document.update(tree)
    found, source = group(document, "vip_threshold")
    source["hash"] = rows_hash(found["rows"])


def renamed(document: Document) -> None:
    group(document, "placed_order")[1]["name"] = "ledger"


def relabelled(document: Document) -> None:
    group(document, "placed_order")[1]["origin"] = "CONFIG"


def requeried(document: Document) -> None:
    source = group(document, "placed_order")[1]
    source["query"] = source["query"].replace("orders", "audited_orders")


def retyped(document: Document) -> None:
    """Call a column something else."""
    for declaration in document["declarations"]:
        if declaration["name"] == "placed_order":
            declaration["columns"][1][0] = "invoice"


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (dropped, "has a row that is not shown"),
        (changed, "has a row that is not shown"),
        (added, "has no row"),
        (threshold, "no opening of amount=140000"),
        (renamed, "said to be of DATABASE ledger"),
        (relabelled, "said to be of CONFIG sales"),
        (requeried, "another query"),
        (retyped, "other columns"),
    ],
)
def test_a_forged_leaf_that_the_checker_accepts_is_found_offline(
    vip: tuple[bytes, list[bytes], bytes], forge: Callable[[Document], None], reason: str
) -> None:
    certificate, lines, opened = vip
    document: Document = json.loads(certificate)
    forge(document)
    report = judged(seal(document), lines, opened)
    assert reason in report.reason
    assert not report.whole


def test_a_blocked_customer_cannot_be_shown_as_free(shop: Path) -> None:
    """The row behind a negation is left out, with count, hash and coverage that fit."""
    with closing(sqlite3.connect(shop / "data" / "shop.sqlite")) as connection:
        ((name,),) = connection.execute(
            "SELECT customer_id FROM blocked_customers WHERE lifted_on IS NULL"
            " ORDER BY customer_id LIMIT 1"
        )
    _, lines, opened = prepared(shop, f"blocked({name})", ["blocked"])
    other = shop.parent / "other"
    shutil.copytree(shop, other)
    with closing(sqlite3.connect(other / "data" / "shop.sqlite")) as connection, connection:
        connection.execute("DELETE FROM blocked_customers WHERE customer_id = ?", (name,))
    with Session(other) as session:
        forged = session.prove(f"blocked({name})").certificate
    assert check_certificate(forged).verdict == "DISPROVED"
    assert "not shown" in judged(forged, lines, opened).reason


def test_openings_that_are_missing_or_of_something_else_reject(
    vip: tuple[bytes, list[bytes], bytes],
) -> None:
    certificate, lines, opened = vip
    document = json.loads(opened)
    full = document["openings"]
    document["openings"] = []
    assert "no opening of customer=C001" in judged(certificate, lines, dumped(document)).reason
    document["openings"] = [one | {"rows": one["rows"][:-1]} for one in full]
    assert judged(certificate, lines, dumped(document)).reason
    document["openings"] = [one | {"start": one["start"] + 1} for one in full]
    assert judged(certificate, lines, dumped(document)).reason
    other = [one for one in full if one["predicate"] == "customer"]
    document["openings"] = [one | {"root": other[0]["root"]} for one in full]
    assert judged(certificate, lines, dumped(document)).reason


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


OPENING = b'{"predicate":"p","root":"r","columns":[],"key":[],"start":0,"rows":[],"path":[]}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format":"constat-openings/3","openings":[]}',
        b'{"format":"constat-openings/1","openings":{}}',
        b'{"format":"constat-openings/1","openings":[{}]}',
        b'{"format":"constat-openings/1","openings":[7]}',
        b'{"format":"constat-openings/1","openings":[%s]}' % OPENING.replace(b"0", b"true"),
        b'{"format":"constat-openings/1","openings":[%s]}' % OPENING.replace(b"[]", b"[[1]]"),
        b"{" * 100_000,
    ],
    ids=range(10),
)
def test_another_file_is_no_file_of_openings(content: bytes) -> None:
    with pytest.raises(ConstatError) as caught:
        read_openings(content)
    assert caught.value.diagnostics[0].code == "C0761"


def test_a_snapshot_that_nobody_trusted_signed_does_not_count(
    vip: tuple[bytes, list[bytes], bytes],
) -> None:
    certificate, lines, opened = vip
    for trusted in (
        {},
        {SOURCE.public.id: TrustedKey(SOURCE.public, frozenset({"approver"}))},
        {SOURCE.public.id: TrustedKey(SOURCE.public, None, revoked="2026-01-01")},
    ):
        snapshots = [read_snapshot(line, trusted, "x") for line in lines]
        report = check_openings(certificate, snapshots, read_openings(opened))
        assert "does not count" in report.reason


def test_a_source_that_has_changed_gives_no_openings(shop: Path) -> None:
    with Session(shop) as session:
        certificate = session.prove("is_vip(C001)").certificate
        line = session.snapshot("placed_order", SOURCE).line
    with closing(sqlite3.connect(shop / "data" / "shop.sqlite")) as connection, connection:
        connection.execute("UPDATE orders SET amount = amount + 1")
    with Session(shop) as session, pytest.raises(ConstatError) as caught:
        session.openings(certificate, [(line, "x")])
    assert caught.value.diagnostics[0].code == "C0762"


def test_the_order_must_serve_the_keys_of_the_certificate(still_shop: Path) -> None:
    with Session(still_shop) as session:
        certificate = session.prove("is_vip(C001)").certificate
        line = session.snapshot("placed_order", SOURCE, ["order"]).line
        with pytest.raises(ConstatError) as caught:
            session.openings(certificate, [(line, "x")])
    assert caught.value.diagnostics[0].code == "C0763"
    assert "--sorted-by customer" in caught.value.diagnostics[0].help
    # Whoever makes openings all the same is refused by the reader.
    snapshots = [read_snapshot(line, TRUSTED, "x")]
    nothing = read_openings(b'{"format":"constat-openings/1","openings":[]}')
    assert check_openings(certificate, snapshots, nothing).reason


@pytest.mark.parametrize(
    ("name", "columns", "reason"),
    [
        ("is_vip", [], "rules derive"),
        ("nothing", [], "no predicate"),
        ("contract_value", [], "not all of"),
        ("placed_order", ["price"], "no column `price`"),
        ("placed_order", ["day", "day"], "named twice"),
    ],
)
def test_what_cannot_be_committed_to_is_refused(
    still_shop: Path, name: str, columns: list[str], reason: str
) -> None:
    with Session(still_shop) as session, pytest.raises(ConstatError, match=reason) as caught:
        session.snapshot(name, SOURCE, columns)
    assert caught.value.diagnostics[0].code == "C0760"


def test_what_people_state_beside_a_source_is_no_part_of_its_snapshot(shop: Path) -> None:
    with Session(shop) as session:
        session.facts.add("customer_tier(C009, gold)", author="alice")
        with pytest.raises(ConstatError, match="2 sources"):
            session.snapshot("customer_tier", SOURCE)


@pytest.mark.parametrize("line", [b"", b"x\n", b"{}\n", b"\n\n"])
def test_another_file_is_no_snapshot(line: bytes) -> None:
    with pytest.raises(ConstatError) as caught:
        read_snapshot(line, TRUSTED, "x")
    assert caught.value.diagnostics[0].code == "C0761"


NULLS = """
.pragma "constat" "0.1"
@[key = i] @[whole = "true"]
.decl bill(i: number, c: symbol, @[null = {0}] region: symbol)
.input bill(source = shop, query = "SELECT i, c, region FROM bill")
.decl bills(c: symbol, n: number)
bills(?c, ?n) :- bill(_, ?c, _), ?n = count : {{ bill(_i, ?c, _) }}.
.decl beside(i: number, j: number)
beside(?i, ?j) :- bill(?i, _, ?r), bill(?j, _, ?r).
.decl lone(r: symbol)
lone(?r) :- bill(_, _, ?r), !bill(_, "b", ?r).
"""
BILLS = [(1, "a", "north"), (2, "a", None), (3, "b", None), (4, "b", None)]


def bills(folder: Path, policy: str, rows: Sequence[tuple[object, ...]] = BILLS) -> Path:
    with closing(sqlite3.connect(folder / "s.sqlite")) as base:
        base.execute("CREATE TABLE bill(i INTEGER, c TEXT, region TEXT)")
        base.executemany("INSERT INTO bill VALUES (?, ?, ?)", rows)
        base.commit()
    (folder / "r.dl").write_text(NULLS.format(policy))
    (folder / "constat.yaml").write_text(
        'rules: [r.dl]\ndatabases: {shop: {uri: "sqlite:///s.sqlite"}}\n'
    )
    return folder


def of_bills(folder: Path, goal: str, *first: str) -> tuple[bytes, list[bytes], bytes]:
    with Session(folder) as session:
        line = session.snapshot("bill", SOURCE, first).line
        certificate = session.prove(goal).certificate
        return certificate, [line], session.openings(certificate, [(line, "x")])


@pytest.mark.parametrize("policy", ["none", "maybe", "unknown"])
def test_rows_with_null_cells_are_committed_to_as_they_are(tmp_path: Path, policy: str) -> None:
    certificate, lines, opened = of_bills(bills(tmp_path, policy), "bills(a, 2)", "c")
    assert json.loads(opened)["format"] == "constat-openings/2"
    report = judged(certificate, lines, opened)
    assert (report.reason, report.not_opened, dict(report.opened)) == ("", (), {"bill": 2})
    assert check_certificate(certificate).verdict == "PROVED"
    # The row with NULL is left out, with count and hash made to fit: then there is one bill.
    other = tmp_path / "other"
    other.mkdir()
    with Session(bills(other, policy, BILLS[:1])) as session:
        forged = session.prove("bills(a, 1)").certificate
    assert "not shown, (2, a, NULL)" in judged(forged, lines, opened).reason
    # It has a value that the source does not have.
    shutil.rmtree(other)
    other.mkdir()
    with Session(bills(other, policy, [BILLS[0], (2, "a", "south")])) as session:
        forged = session.prove("bills(a, 2)").certificate
    assert "(2, a, NULL)" in judged(forged, lines, opened).reason
    # A text is no NULL, whatever it says.
    text = opened.replace(b"null", b'"null"')
    assert "do not lead to the root" in judged(certificate, lines, text).reason
    with pytest.raises(ConstatError, match="no list of texts"):
        read_openings(opened.replace(b"openings/2", b"openings/1"))


def test_a_row_whose_key_is_null_may_have_any_key(tmp_path: Path) -> None:
    with pytest.raises(ConstatError, match="may have any region") as raised:
        of_bills(bills(tmp_path, "maybe"), "lone(north)", "region", "c")
    (told,) = raised.value.diagnostics
    assert (told.code, "@[null = none] region" in str(told.help)) == ("C0763", True)
    (tmp_path / "r.dl").write_text(NULLS.format("none"))
    certificate, lines, opened = of_bills(tmp_path, "lone(north)", "region", "c")
    report = judged(certificate, lines, opened)
    assert (report.reason, check_certificate(certificate).verdict) == ("", "PROVED")
    # Who verifies does not take the word of who opened.
    (tmp_path / "r.dl").write_text(NULLS.format("maybe"))
    with Session(tmp_path) as session:
        other = session.prove("lone(north)").certificate
    assert "may have any region" in judged(other, lines, opened).reason


def test_rows_alike_but_for_what_is_null_are_refused(tmp_path: Path) -> None:
    bills(tmp_path, "unknown", [(1, "a", None), (1, "a", None)])
    (tmp_path / "r.dl").write_text(NULLS.format("unknown").replace("@[key = i] ", ""))
    with Session(tmp_path) as session, pytest.raises(ConstatError, match="alike but") as raised:
        session.snapshot("bill", SOURCE)
    assert raised.value.diagnostics[0].code == "C0760"


def test_openings_inside_are_of_values(tmp_path: Path) -> None:
    bills(tmp_path, "none")
    with Session(tmp_path) as session:
        line = session.snapshot("bill", SOURCE, ["c"]).line
        certificate = session.prove("bills(a, 2)").certificate
        with pytest.raises(ConstatError, match="openings inside are of values") as raised:
            session.openings(certificate, [(line, "x")], inside=True)
    assert "leave `--inside` out" in str(raised.value.diagnostics[0].help)
    report = check_commitments(certificate, [read_snapshot(line, TRUSTED, "x")])
    assert "opened beside only" in report.reason
