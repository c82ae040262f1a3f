"""Certificates say who set a configured value and by what, and what a database is."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.proof.formats import format_named, write_format
from constat.proof.report.page import to_html

if TYPE_CHECKING:
    from pathlib import Path

RULES = """.pragma "constat" "0.1"
.decl catch(id: number, kg: number)
.input catch(source = "logbook", query = "SELECT id, kg FROM catch")
.decl quota(kg: number)
.input quota(source = "config")
.decl over(id: number)
over(?i) :- catch(?i, ?k), quota(?q), ?k > ?q.
"""
CONFIG = """rules: [r.dl]
databases:
  logbook: {uri: 'sqlite:///l.sqlite', description: the logbooks of the harbour}
facts: {quota: 100}
set_by: {quota: 'the harbour board on 2026-03-01, by the fishing order, article 9'}
"""
WHO = "the harbour board on 2026-03-01, by the fishing order, article 9"
WHAT = "the logbooks of the harbour"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "r.dl").write_text(RULES)
    (tmp_path / "constat.yaml").write_text(CONFIG)
    with closing(sqlite3.connect(tmp_path / "l.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE catch (id INTEGER NOT NULL, kg INTEGER NOT NULL)")
        connection.execute("INSERT INTO catch VALUES (1, 140), (2, 60)")
    return Session(tmp_path)


@pytest.mark.parametrize("goal", ["over(1)", "over(2)"])
def test_a_certificate_says_who_set_a_value_and_what_a_database_is(
    session: Session, goal: str
) -> None:
    with session:
        certificate = session.prove(goal).certificate
        assert session.verify_source(certificate).drift == ()
    report = check_certificate(certificate)
    assert report.accepted
    said = {one["origin"]: one["author"] for one in json.loads(certificate)["sources"]}
    assert said == {"CONFIG": WHO, "DATABASE": WHAT}
    told = "\n".join(report.sources)
    assert f"CONFIG constat.yaml by {WHO}" in told
    assert f"DATABASE logbook ({WHAT})" in told


def test_pages_and_exports_say_it(session: Session) -> None:
    with session:
        result = session.prove("over(1)")
        page = to_html(result.certificate)
        assert f"constat.yaml (configuration), set by {WHO}:" in page
        assert f"logbook (database), {WHAT}:" in page
        assert f"set by: {WHO}" in result.explain()
        assert f"described as: {WHAT}" in result.explain()
    for form in ("markdown", "turtle", "prov-json"):
        shown = write_format(format_named(form), result.certificate).decode()
        assert WHO in shown, form
        assert WHAT in shown, form
