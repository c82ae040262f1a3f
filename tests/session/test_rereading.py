"""What stands for rows that are not shown is compared with that of a new proof."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from constat import Session
from constat.check import check_certificate
from constat.proof import outside
from tests.check.writer import seal

RULES = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.decl sale(id: number, amount: Decimal)
.input sale(source = "s", query = "SELECT id, amount FROM sale")
.decl total(amount: Decimal)
total(?t) :- ?t = sum ?a : { sale(_id, ?a) }.
.decl high(id: number)
high(?i) :- sale(?i, ?a), ?a > 9000.0.
.decl none_high()
none_high() :- !high(_).
"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {s: {uri: 'sqlite:///s.sqlite'}}\n"
    )
    (tmp_path / "r.dl").write_text(RULES)
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE sale (id INTEGER PRIMARY KEY, amount TEXT)")
        rows = ((number, f"{number}.25") for number in range(5_000))
        connection.executemany("INSERT INTO sale VALUES (?, ?)", rows)
    return tmp_path


def test_a_sum_over_rows_that_are_not_shown_is_read_again(large: Path) -> None:
    with Session(large) as session:
        certificate = session.prove("total(?t)").certificate
        assert b'"summaries":[{' in certificate
        assert session.verify_source(certificate).drift == ()
        with closing(sqlite3.connect(large / "s.sqlite")) as connection, connection:
            connection.execute("UPDATE sale SET amount = '7.00' WHERE id = 4000")
        found = {leaf.text: leaf.status for leaf in session.verify_source(certificate).drift}
    assert any(text.startswith("aggregate of rule") for text in found)


def test_rows_that_a_rule_refuses_are_looked_for_again(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "_MOST_WHOLE", 1_000)
    with Session(large) as session:
        found = session.prove("none_high()")
        certificate = json.loads(found.certificate)
        assert (certificate["facts"], len(found.certificate) < 4_000) == ([], True)
        assert [one["for"] for one in certificate["coverage"]] == [[0, 0]]
        assert session.verify_source(found.certificate).drift == ()
        kept = large / "none.json"
        kept.write_bytes(found.certificate)
        assert session.stale([kept]).exit_code == 0
        with closing(sqlite3.connect(large / "s.sqlite")) as connection, connection:
            connection.execute("UPDATE sale SET amount = '9001.00' WHERE id = 4000")
        drift = {leaf.text for leaf in session.verify_source(found.certificate).drift}
        text = "0 rows of sale that pass the comparisons of rule high.1"
        assert text in drift
        assert session.stale([kept]).exit_code == 1
        # Whoever leaves out a row that passes, with the right hash of all rows, is found out, too.
        now = json.loads(session.prove("total(?t)").certificate)["sources"][0]
        certificate["sources"][0] |= {"rows": now["rows"], "hash": now["hash"]}
        forged = seal(certificate)
        assert check_certificate(forged).verdict == "PROVED"
        assert text in {leaf.text for leaf in session.verify_source(forged).drift}
