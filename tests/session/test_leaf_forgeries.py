"""Leaf forgeries on a real project: valid in themselves, and found by whoever asks the sources.

Each certificate here is one that the checker accepts: it is a certificate of other data. So each
stands for a threat that only `verify --source` meets (semantics 31); the others are the forger's.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from tests.session.test_leaves import canonical, forged, group, proved, rows_hash, statuses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.session.test_leaves import Document

    Forge = Callable[[Document], None]


def replace_rows(document: Document, predicate: str, rows: list[list[str]]) -> None:
    """Show other rows of a source, with count and hash."""
    found, source = group(document, predicate)
    found["rows"] = sorted(rows)
    source["rows"], source["hash"] = len(rows), rows_hash(rows)


def altered_value(document: Document) -> None:
    """An order is worth 7 more, and with it the sum and all that follows."""
    found, _ = group(document, "placed_order")
    dearest = max(found["rows"], key=lambda row: Decimal(row[2]))
    more = [*dearest[:2], f"{Decimal(dearest[2]) + 7:f}", dearest[3]]
    replace_rows(
        document, "placed_order", [more if row == dearest else row for row in found["rows"]]
    )
    nodes = document["nodes"]
    before = next(one["fact"][1][1] for one in nodes if one["fact"][0] == "customer_revenue")
    after = f"{Decimal(before) + 7:f}"
    document["nodes"] = json.loads(json.dumps(nodes).replace(f'"{before}"', f'"{after}"'))


def invented_row(document: Document) -> None:
    """A customer whom nobody knows is shown as one, with all that is said about C001."""
    text = json.dumps(document).replace('"C001"', '"C999"')
    document.update(json.loads(text))
    for found in document["facts"]:
        replace_rows(document, found["predicate"], found["rows"])


def forged_complete_flag(document: Document) -> None:
    """The source is said to have told about somebody it was never asked about."""
    covered = next(one for one in document["coverage"] if one["predicate"] == "placed_order")
    covered["keys"] = sorted([*covered["keys"], ["C002"]])


def other_origin(document: Document) -> None:
    group(document, "vip_threshold")[1]["origin"] = "DATABASE"


def cut_off_query(document: Document) -> None:
    """The query is said to have had an end that leaves rows out."""
    group(document, "placed_order")[1]["query"] += " LIMIT 3"


def narrowed_query(document: Document) -> None:
    """The query is said to have asked for some orders only."""
    group(document, "placed_order")[1]["query"] += " AND c2 > 10"


FORGERIES = [
    altered_value,
    invented_row,
    forged_complete_flag,
    other_origin,
    cut_off_query,
    narrowed_query,
]


@pytest.fixture(scope="module")
def honest(still_shop: Path) -> bytes:
    return proved(still_shop)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_leaf_forgery_is_valid_and_found_at_the_source(
    forge: Forge, honest: bytes, still_shop: Path
) -> None:
    certificate = forged(honest, forge)
    report = check_certificate(certificate)
    assert report.accepted, (report.place, report.reason)
    assert statuses(still_shop, certificate)


def test_a_row_dropped_behind_a_negation_is_found(shop: Path) -> None:
    """The certificate of a world without the row is good; the row is still there."""
    with Session(shop) as session:
        certificate = session.prove("is_vip(C001)").certificate
        session.facts.add("blocked(C001)", author="bob")
        assert session.verify_source(certificate).drift != ()


def test_a_word_edited_after_the_fact_is_found(shop: Path) -> None:
    """The statement and the assumption that names it are changed together."""

    def forge(document: Document) -> None:
        source = next(one for one in document["sources"] if one["attestation"] is not None)
        source["attestation"]["note"] = "in writing"
        hashed = hashlib.sha256(canonical(source["attestation"])).hexdigest()
        for assumption in document["assumptions"]:
            if assumption["attestations"]:
                assumption["attestations"] = [f"sha256:{hashed}"]

    with Session(shop) as session:
        session.facts.add("contract_value(C009, 250000)", author="alice", note="by telephone")
        certificate = session.prove("is_strategic(C009)").certificate
    assert statuses(shop, certificate) == {}
    changed = forged(certificate, forge)
    assert check_certificate(changed).accepted
    assert statuses(shop, changed)["contract_value(C009, 250000)"] == "changed"
