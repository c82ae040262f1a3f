"""Summaries of a certificate are compared with those of a new proof."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from constat import Session

RULES = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.decl sale(id: number, amount: Decimal)
.input sale(source = "s", query = "SELECT id, amount FROM sale")
.decl total(amount: Decimal)
total(?t) :- ?t = sum ?a : { sale(_id, ?a) }.
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
