"""Openings inside certificates: level C2, whose roots they are, and what a forger does to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.proof.rebuilding import rebuild, with_commitments
from constat.proof.signing import TrustedKey, write_public_key
from constat.session import snapshots as opening_inside
from constat.session.snapshots import OpeningReport, check_commitments, read_snapshot
from tests.check.committed import Relation
from tests.check.writer import seal
from tests.cli.running import run
from tests.signing.keys import key

if TYPE_CHECKING:
    from pathlib import Path

Document = dict[str, Any]
SOURCE, ENGINE = key("source", "Sales", 7), key("engine", "Constat", 8)
TRUSTED = {SOURCE.public.id: TrustedKey(SOURCE.public, frozenset({"source"}))}
LEAVES = ("customer", "customer_tier", "placed_order", "revenue_since", "vip_threshold")
GOAL = "is_vip(C002)"
Opened = tuple[bytes, bytes, dict[str, bytes]]


@pytest.fixture(scope="module")
def vip(still_shop: Path) -> Opened:
    """Give a certificate, the same with its openings inside, and the signed snapshots."""
    with Session(still_shop) as session:
        lines = {name: session.snapshot(name, SOURCE).line for name in LEAVES}
        # The tables were read whole just now: the certificate shows a part of that.
        plain = session.prove(GOAL).certificate
        inside = session.openings(
            plain, [(line, name) for name, line in lines.items()], inside=True
        )
    return plain, inside, lines


def judged(content: bytes, lines: dict[str, bytes]) -> OpeningReport:
    report = check_certificate(content)
    assert report.accepted, (report.place, report.reason)
    return check_commitments(content, [read_snapshot(one, TRUSTED, "x") for one in lines.values()])


def commitment(document: Document, predicate: str) -> Document:
    found: Document = next(
        source["commitment"]
        for source in document["sources"]
        if source["commitment"] and source["commitment"]["predicate"] == predicate
    )
    return found


def test_rows_that_are_opened_inside_are_committed_and_not_only_re_runnable(vip: Opened) -> None:
    plain, inside, lines = vip
    before, after = check_certificate(plain), check_certificate(inside)
    assert (before.verdict, before.level) == ("DISPROVED", "C1")
    assert (after.verdict, after.level, after.goal) == ("DISPROVED", "C2", before.goal)
    report = judged(inside, lines)
    assert (report.reason, report.whole) == ("", True)
    assert dict(report.opened)["placed_order"] == 2
    assert len(inside) - len(plain) < 5_000
    assert sum("the root of " in note for note in after.notes) == len(LEAVES)


def test_nothing_but_roots_level_and_hashes_differs(vip: Opened) -> None:
    plain, inside, _ = vip
    assert with_commitments(inside, {}) == plain
    assert check_certificate(inside).identity != check_certificate(plain).identity


def test_a_certificate_with_openings_is_made_again_byte_for_byte(vip: Opened) -> None:
    assert rebuild(vip[1]).same


def test_an_order_left_out_is_in_the_openings(vip: Opened) -> None:
    document = json.loads(vip[1])
    next(one for one in document["facts"] if one["predicate"] == "placed_order")["rows"].pop()
    report = check_certificate(seal(document))
    assert (report.code, report.accepted) == ("commitment", False)


def test_a_tree_that_the_owner_did_not_sign_is_not_taken_for_theirs(vip: Opened) -> None:
    """The forger builds a tree of their own: it opens, and nobody signed it."""
    _, inside, lines = vip
    document = json.loads(inside)
    one = commitment(document, "customer_tier")
    row = ["C002", "silver"]
    forged = Relation("customer_tier", [["C001", "gold"], row, ["C003", "gold"]], one["order"])
    keys = [(opening["columns"], opening["key"]) for opening in one["openings"]]
    one.update(forged.commitment(*keys))
    report = judged(seal(document), lines)
    assert report.reason == "customer_tier: the root in the certificate is not that of the snapshot"


@pytest.mark.parametrize(("member", "value"), [("name", "archive"), ("query", "SELECT 1")])
def test_rows_of_another_place_are_not_those_of_the_snapshot(
    vip: Opened, member: str, value: str
) -> None:
    document = json.loads(vip[1])
    place = next(one for one in document["facts"] if one["predicate"] == "placed_order")["source"]
    document["sources"][place][member] = value
    assert "placed_order: its rows are said to" in judged(seal(document), vip[2]).reason


def test_a_snapshot_that_nobody_trusted_signed_does_not_count(
    still_shop: Path, vip: Opened
) -> None:
    with Session(still_shop) as session:
        line = session.snapshot("placed_order", ENGINE).line
    assert "does not count" in judged(vip[1], {"placed_order": line}).reason


def test_what_is_in_no_root_is_named(vip: Opened, still_shop: Path) -> None:
    plain, _, lines = vip
    with Session(still_shop) as session:
        some = session.openings(plain, [(lines["placed_order"], "x")], inside=True)
    assert check_certificate(some).level == "C1"
    report = judged(some, {"placed_order": lines["placed_order"]})
    assert not report.whole
    assert "customer_tier" in report.not_opened
    assert judged(some, lines).reason == "customer: rows of it are opened in no root"


def test_openings_that_are_too_large_go_beside(
    still_shop: Path, vip: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening_inside, "MOST_BYTES", 100)
    with Session(still_shop) as session, pytest.raises(ConstatError, match="C0960"):
        session.openings(vip[0], [(vip[2]["placed_order"], "x")], inside=True)


def test_snapshots_of_other_rows_are_refused(still_shop: Path, vip: Opened) -> None:
    with Session(still_shop) as session:
        line = session.snapshot("blocked", SOURCE).line
        with pytest.raises(ConstatError, match="C0961"):
            session.openings(vip[0], [(line, "x")], inside=True)


def test_a_certificate_without_the_rows_of_the_snapshot_is_refused(
    still_shop: Path, vip: Opened
) -> None:
    document = json.loads(vip[0])
    group = next(one for one in document["facts"] if one["predicate"] == "placed_order")
    group["rows"][0][2] = "99999.5"
    source = document["sources"][group["source"]]
    source["rows"] += 1
    with Session(still_shop) as session, pytest.raises(ConstatError, match="C0962"):
        session.openings(seal(document), [(vip[2]["placed_order"], "x")], inside=True)


def test_the_commands_open_and_verify(still_shop: Path, vip: Opened, tmp_path: Path) -> None:
    plain, inside, lines = vip
    (tmp_path / "c.json").write_bytes(plain)
    (tmp_path / "key.pem").write_bytes(write_public_key(SOURCE))
    snapshots = []
    for name, line in lines.items():
        (tmp_path / name).write_bytes(line)
        snapshots += ["--snapshot", str(tmp_path / name)]
    target = tmp_path / "opened.json"
    where = ("--project", still_shop, "-o", target)
    ran = run("openings", tmp_path / "c.json", *snapshots, "--inside", *where)
    assert (ran.code, ran.err) == (0, f"certificate written to {target}\n")
    assert target.read_bytes() == inside
    ran = run("verify", target, *snapshots, "--key", f"source={tmp_path / 'key.pem'}")
    assert ran.code == 5, ran.err
    assert "weakest completeness: C2" in ran.out
    assert "opened: placed_order, 2 rows\n" in ran.out
    ran = run("verify", tmp_path / "c.json", *snapshots, "--key", f"source={tmp_path / 'key.pem'}")
    assert (ran.code, "C0761" in ran.err) == (2, True)
