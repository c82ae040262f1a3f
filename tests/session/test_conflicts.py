"""A conflict stands with every verdict it is met under: in text, JSON, certificate and replay."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from constat.proof.export.markdown import to_markdown
from constat.proof.report.page import to_html
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

RULES = """\
.pragma "constat" "0.1"
@[key = "c"]
.decl tier(c: symbol, t: symbol)
.input tier(source = "sales", query = "SELECT c, t FROM tiers")
.decl limit(n: number)
.decl gold(c: symbol)
gold(?c) :- tier(?c, "gold").
.decl tiers(n: number)
tiers(?n) :- ?n = count : { tier(_c, _t) }.
"""
TOLD = (
    "conflict: database sales says tier(C1, silver), user alice says tier(C1, gold): "
    "the first counts"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "sales.sqlite")
    connection.executescript(
        "CREATE TABLE tiers (c, t);"
        "INSERT INTO tiers VALUES ('C1', 'silver'), ('C2', 'silver'), ('C3', 'a'), ('C3', 'b')"
    )
    connection.close()
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "constat.yaml").write_text(
        'rules: rules.dl\ndatabases: {sales: {uri: "sqlite:///sales.sqlite"}}\nfacts: {limit: 5}\n'
    )
    return tmp_path


def test_who_states_a_fact_hears_at_once_who_says_otherwise(project: Path) -> None:
    ran = run("facts", "add", "tier(C1, gold)", "--by", "alice", "--project", project)
    assert ran.out == f"added: tier(C1, gold), stated by alice\n{TOLD}\n"
    ran = run("facts", "add", "tier(C9, gold)", "--by", "alice", "--project", project)
    assert "conflict" not in ran.out
    ran = run(
        "facts", "add", "tier(C9, a)", "--by", "bob", "--project", project, "--format", "json"
    )
    assert ran.json["conflicts"] == [
        "user alice says tier(C9, gold), user bob says tier(C9, a): neither counts"
    ]
    assert (ran.code, ran.err) == (0, "")
    ran = run("facts", "add", "tier(C9, b)", "--by", "carl", "--project", project)
    assert ran.out.endswith("user carl says tier(C9, b): none of them counts\n")
    ran = run("facts", "add", "tier(C9, a)", "--by", "bob", "--project", project)
    assert ran.out.startswith("already stated: tier(C9, a), by bob at 2")
    # A source that cannot be asked keeps nobody from stating a fact.
    (project / "sales.sqlite").unlink()
    ran = run("facts", "add", "tier(C2, gold)", "--by", "alice", "--project", project)
    assert ran.code == 0


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [("gold(C1)", "DISPROVED"), ("tier(C1, silver)", "PROVED"), ("tier(C1, gold)", "DISPROVED")],
)
def test_the_conflict_stands_on_the_verdicts_line_everywhere(
    project: Path, tmp_path: Path, goal: str, verdict: str
) -> None:
    with Session(project) as session:
        session.facts.add("tier(C1, gold)", author="alice")
        result = session.prove(goal)
    assert [f"conflict: {one}" for one in result.conflicts] == [TOLD]
    kept = tmp_path / "one.json"
    ran = run("prove", goal, "--project", project, "--quiet", "--certificate", kept)
    assert ran.out == f"{verdict}: {goal} ({TOLD})\n"
    ran = run("prove", goal, "--project", project, "--format", "json")
    assert ran.json["conflicts"] == [TOLD.removeprefix("conflict: ")]
    report = check_certificate(kept.read_bytes())
    assert report.accepted
    assert TOLD in report.notes
    assert run("verify", kept).out.splitlines()[0].endswith(f"({TOLD})")
    assert run("replay", kept, "--project", project).out.startswith("the same bytes")
    # It is part of what was proved: without it the identity is another.
    document = json.loads(kept.read_text())
    assert [one["text"] for one in document["assumptions"]] == [TOLD]
    document["assumptions"] = []
    assert not check_certificate((json.dumps(document) + "\n").encode()).accepted


def test_two_rows_of_one_source_are_unresolved_and_told(project: Path) -> None:
    ran = run("prove", "tier(C3, a)", "--project", project, "--quiet")
    assert ran.code == 4
    assert ran.out.startswith("UNRESOLVED: tier(C3, a) (conflict: database sales says tier(C3, a),")


@pytest.mark.parametrize("engine", ["reference", "forward"])
def test_a_query_tells_conflicts_whichever_way_it_is_answered(project: Path, engine: str) -> None:
    with Session(project) as session:
        session.facts.add("tier(C1, gold)", author="alice")
        answers = session.query("tier(?c, ?t)", engine=engine)
    assert TOLD.removeprefix("conflict: ") in answers.conflicts
    assert len(answers.conflicts) == 2
    ran = run("query", "tier(?c, ?t)", "--project", project, "--engine", engine)
    assert "different values for one key:\n" in ran.out
    told = run("query", "tier(?c, ?t)", "--project", project, "--format", "json").json
    assert told["conflicts"] == list(answers.conflicts)


def test_the_second_engine_agrees_where_a_conflict_is_settled_and_refuses_it_where_not(
    project: Path,
) -> None:
    connection = sqlite3.connect(project / "sales.sqlite")
    connection.execute("DELETE FROM tiers WHERE c = 'C3'")
    connection.commit()
    connection.close()
    with Session(project) as session:
        session.facts.add("tier(C1, gold)", author="alice")
    ran = run("prove", "gold(C1)", "--project", project, "--engine", "pydatalog")
    assert ran.out.startswith("NO: gold(C1)")
    configuration = project / "constat.yaml"
    configuration.write_text(configuration.read_text() + "conflicts: unresolved\n")
    ran = run("prove", "gold(C1)", "--project", project, "--engine", "pydatalog")
    assert "C0422" in ran.err
    assert run("prove", "gold(C1)", "--project", project, "--quiet").code == 4


def test_a_setting_of_conflicts_is_one_of_three(project: Path) -> None:
    configuration = project / "constat.yaml"
    configuration.write_text(configuration.read_text() + "conflicts: users\n")
    ran = run("prove", "gold(C1)", "--project", project)
    assert ran.code == 2
    assert "C0504" in ran.err
    assert "`user`" in ran.err or "conflicts: user" in ran.err


def test_many_conflicts_are_counted_where_not_all_are_shown(project: Path) -> None:
    with Session(project) as session:
        for number in range(3):
            session.facts.add(f"tier(C2, t{number})", author="alice")
        session.facts.add("tier(C1, gold)", author="alice")
        assert len(session.prove("tiers(2)").conflicts) == 3
    ran = run("prove", "tiers(2)", "--project", project, "--quiet")
    assert ran.out.rstrip().endswith(", and 2 more)")


def test_a_conflict_that_was_met_on_the_way_stands_with_the_row_that_is_used(
    project: Path,
) -> None:
    with sqlite3.connect(project / "sales.sqlite") as connection:
        connection.execute("INSERT INTO tiers VALUES ('C5', 'silver')")
    connection.close()
    (project / "rules.dl").write_text(
        RULES + '.decl other(a: symbol)\nother(?a) :- tier(?a, ?t), tier(?b, ?t), ?b > "C3".\n'
    )
    with Session(project) as session:
        session.facts.add("tier(C1, gold)", author="alice")
        # C1 has the same tier and is asked for with it; C5 is what the proof rests on.
        result = session.prove("other(C2)")
        met = [one for call in result.decision.outcome.calls for one in call.answer.conflicts]
        assert met
        assert (result.verdict.value, result.conflicts) == ("PROVED", ())
        assert b"alice" not in result.certificate


def test_a_conflict_stands_only_with_verdicts_that_rest_on_its_row(project: Path) -> None:
    (project / "rules.dl").write_text(
        RULES + ".decl pair(a: symbol, b: symbol)\npair(?a, ?b) :- tier(?a, ?t), tier(?b, ?t).\n"
    )
    with Session(project) as session:
        session.facts.add("tier(C1, gold)", author="alice")
        # A join by another column meets rows that the proof does not use.
        for goal in ("pair(C2, C2)", "tier(C2, silver)"):
            result = session.prove(goal)
            assert (result.verdict.value, result.conflicts) == ("PROVED", ())
            assert b"alice" not in result.certificate
        # What is absent, counted or concluded from a contested row does rest on it.
        for goal in ("pair(C1, C2)", "gold(C1)", "tiers(3)"):
            assert [one for one in session.prove(goal).conflicts if "C1" in one], goal


def test_a_conflict_is_seen_in_every_document(project: Path) -> None:
    with Session(project) as session:
        session.facts.add("tier(C1, gold)", author="alice")
        certificate = session.prove("tier(C1, silver)").certificate
    told = TOLD.removeprefix("conflict: ")
    page = to_html(certificate)
    opening = page[: page.index("</section>")]
    assert f"<dt>Conflicts</dt><dd><ul><li>{told}</ul></dd>" in opening
    # Nothing rests on it, so it is not told as a word that nobody accepted.
    assert f"<strong>conflict: {told}</strong></ol>" in page
    assert f"- Conflicts:\n  - {told}" in to_markdown(certificate).replace("\\", "")
    with Session(project) as session:
        certificate = session.prove("tier(C2, silver)").certificate
    assert "Conflicts" not in to_html(certificate)
    assert "Conflicts" not in to_markdown(certificate)
