"""An "every" that does not hold names what contradicts it; what is left out is counted."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from constat import Session
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

RULES = """\
.pragma "constat" "0.1"
.decl dept(d: symbol)
@[whole]
.decl invoice(c: symbol, n: number, paid: symbol)
.input invoice(source = "sales", query = "SELECT c, n, paid FROM invoices")
.decl member(d: symbol, m: symbol)
.input member(source = "sales", query = "SELECT d, m FROM members")
.decl trained(m: symbol)
.input trained(source = "sales", query = "SELECT m FROM trained")
.decl unpaid(c: symbol, n: number)
unpaid(?c, ?n) :- invoice(?c, ?n, "no").
.decl all_paid(c: symbol)
all_paid(?c) :- invoice(?c, _, _), !unpaid(?c, _).
.decl all_paid_at_once(c: symbol)
all_paid_at_once(?c) :- invoice(?c, _, _), !invoice(?c, _, "no").
.decl untrained(d: symbol)
untrained(?d) :- member(?d, ?m), !trained(?m).
.decl all_trained(d: symbol)
all_trained(?d) :- dept(?d), !untrained(?d).
.decl none_untrained(d: symbol)
none_untrained(?d) :- dept(?d), ?n = count : { member(?d, ?m), !trained(?m) }, ?n = 0.
.decl unready(d: symbol)
unready(?d) :- member(?d, ?m), !trained(?m).
unready(?d) :- member(?d, "m1").
.decl all_ready(d: symbol)
all_ready(?d) :- dept(?d), !unready(?d).
.decl few(d: symbol)
few(?d) :- dept(?d), count : { member(?d, _m) } <= 1.
.decl many(d: symbol)
many(?d) :- dept(?d), count : { member(?d, _m) } > 100.
.decl light(d: symbol)
light(?d) :- dept(?d), sum 2 : { member(?d, _m) } <= 9.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "sales.sqlite")
    connection.executescript(
        "CREATE TABLE invoices (c, n, paid); CREATE TABLE members (d, m);"
        "CREATE TABLE trained (m); INSERT INTO trained VALUES ('m1')"
    )
    for number in range(8):
        paid = "no" if number % 4 else "yes"
        connection.execute("INSERT INTO invoices VALUES ('C1', ?, ?)", (number, paid))
        connection.execute("INSERT INTO members VALUES ('sales', ?)", (f"m{number}",))
    connection.commit()
    connection.close()
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "constat.yaml").write_text(
        'rules: rules.dl\ndatabases: {sales: {uri: "sqlite:///sales.sqlite"}}\n'
        "facts: {dept: [[sales]]}\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("goal", "count", "first"),
    [
        ("all_paid(C1)", 6, "unpaid(C1, 1), because invoice(C1, 1, no)"),
        ("all_paid_at_once(C1)", 6, "invoice(C1, 1, no)"),
        ("all_trained(sales)", 7, "member(sales, m0) and no trained(m0)"),
        ("none_untrained(sales)", 7, "member(sales, m0) and no trained(m0)"),
        ("few(sales)", 8, "member(sales, m0)"),
    ],
)
def test_the_first_counterexamples_are_named_with_their_source_and_all_are_counted(
    project: Path, goal: str, count: int, first: str
) -> None:
    ran = run("prove", goal, "--project", project)
    assert ran.code == 5
    lines = [line.strip() for line in ran.out.splitlines()]
    place = lines.index(f"counterexamples: {count}")
    assert lines[place + 1] == first
    assert lines[place + 2] == "source: DATABASE (sales)"
    assert f"and {count - 5} more" in lines[place:]
    # What one query read tells it once.
    assert lines[place:].count("source: DATABASE (sales)") == 1
    (attempt,) = run("prove", goal, "--project", project, "--format", "json").json["proof"][
        "attempts"
    ]
    assert attempt["counted"] == count
    assert len(attempt["counterexamples"]) == 5
    assert attempt["counterexamples"][0]["sources"][0]["name"] == "sales"
    told = run("why-not", goal, "--project", project).out
    assert f"counterexamples: {count}" in told
    assert first in told


def test_rows_of_a_sum_are_no_counterexamples(project: Path) -> None:
    told = run("prove", "light(sales)", "--project", project).out
    assert "summed rows: 8" in told
    assert "counterexamples" not in told
    assert "summed rows: 8" in run("why-not", "light(sales)", "--project", project).out


def test_what_only_lacks_rows_has_no_counterexample(project: Path) -> None:
    assert "counterexamples" not in run("prove", "many(sales)", "--project", project).out
    assert "counterexamples" not in run("prove", "all_paid(C9)", "--project", project).out


def test_a_counterexample_is_certain(project: Path) -> None:
    with Session(project) as session:
        session.facts.add("invoice(C1, 99, no)", author="alice")
        tree = session.prove("all_paid(C1)").tree
    (attempt,) = tree.attempts
    assert attempt.counted == 6, "what alice says is only assumed, and six are known"


def test_where_the_engine_stopped_at_the_first_rule_there_are_at_least_so_many(
    project: Path,
) -> None:
    # `m1` is trained: only the second rule counts it, and nobody had to try that one.
    ran = run("prove", "all_ready(sales)", "--project", project)
    assert ran.code == 5
    assert "counterexamples: at least " in ran.out
    assert (
        "counterexamples: at least " in run("why-not", "all_ready(sales)", "--project", project).out
    )
    told = run("why-not", "all_ready(sales)", "--project", project, "--format", "json").json
    assert '"counterexamples_at_least": true' in json.dumps(told)
    told = run("why-not", "all_trained(sales)", "--project", project, "--format", "json").json
    assert '"counterexamples_at_least": false' in json.dumps(told)
