"""Columns that goal or caller must bind: in goals, rules, negations, aggregates and recursion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Session, Verdict
from constat.analysis import analyse
from constat.syntax import parse_text, print_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.diagnostics import Diagnostic

RULES = """.pragma "constat" "0.1"
.decl due(o: symbol, days: number)
.decl grace(days: number)
.decl customer(c: symbol)
.decl owns(c: symbol, o: symbol)
@[given(days)]
.decl late(o: symbol, days: number)
late(?o, ?days) :- due(?o, ?n), ?n > ?days.
.decl over(o: symbol, @[given] days: number, by: number)
over(?o, ?days, ?by) :- due(?o, ?n), ?by = ?n - ?days, ?by > 0.
.decl overdue(o: symbol)
overdue(?o) :- grace(?days), late(?o, ?days).
.decl fine(o: symbol)
fine(?o) :- due(?o, _), grace(?days), !late(?o, ?days).
.decl number_late(days: number, n: number)
number_late(?days, ?n) :- grace(?days), ?n = count : { late(_, ?days) }.
.decl worst(c: symbol, by: number)
worst(?c, ?by) :- customer(?c), ?by = max ?b : { owns(?c, ?o), over(?o, 20, ?b) }.
@[given(n)]
.decl countdown(n: number, m: number)
countdown(?n, ?n) :- ?n >= 0.
countdown(?n, ?m) :- ?n > 0, ?k = ?n - 1, countdown(?k, ?m).
@[given(days, more)]
.decl late_by(o: symbol, days: number, more: number)
late_by(?o, ?days, ?more) :- ?sum = ?days + ?more, late(?o, ?sum).
"""
FACTS = """{
  due: [[a, 10], [b, 40], [c, 50]], grace: [[30]], customer: [ann, bob],
  owns: [[ann, a], [ann, b], [ann, c], [bob, a]]
}"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "rules.dl").write_text(RULES, encoding="utf-8")
    closed = "closed: [due, grace, customer, owns]"
    text = f"project: p\nrules: [rules.dl]\nfacts: {FACTS}\n{closed}\n"
    (tmp_path / "constat.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    ("goal", "holds"),
    [
        ("late(b, 30)", True),
        ("late(b, 40)", False),
        ("late(?o, 45)", True),
        ("late(?o, 60)", False),
        ("late(o = c, days = 49)", True),
        ("over(b, 30, 10)", True),
        ("over(b, 30, ?by)", True),
        ("over(b, 30, 11)", False),
        ("overdue(b)", True),
        ("overdue(a)", False),
        ("fine(a)", True),
        ("fine(b)", False),
        ("number_late(30, 2)", True),
        ("number_late(30, 3)", False),
        ("worst(ann, 30)", True),
        ("worst(bob, ?by)", False),
        ("countdown(5, 0)", True),
        ("countdown(5, 6)", False),
        ("late_by(b, 30, 9)", True),
        ("late_by(b, 30, 10)", False),
        ("late(?o, 30), !late(?o, 40)", True),
        ("due(?o, ?n), over(?o, ?n, ?by)", False),
        ('late("b", 20 + 19)', True),
    ],
)
def test_a_goal_that_gives_them_is_decided_with_a_certificate(
    session: Session, goal: str, *, holds: bool
) -> None:
    result = session.prove(goal)
    # The closures are declared, so absence rests on them.
    wanted = {True: {Verdict.PROVED, Verdict.PROVED_UNDER}}.get(
        holds, {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}
    )
    assert result.verdict in wanted
    assert session.verify(result.certificate).accepted
    again = session.verify_source(result.certificate)
    assert (again.rules, again.drift) == ((), ())
    assert again.exit_code == result.exit_code


@pytest.mark.parametrize(
    ("goal", "code"),
    [
        ("late(b, ?days)", "C0249"),
        ("late(b, _)", "C0249"),
        ("late(o = b)", "C0249"),
        ("late(?o, ?days), grace(30)", "C0249"),
        ("!late(b, ?days), grace(30)", "C0204"),
        ("late_by(b, 30, ?more)", "C0249"),
    ],
)
def test_a_goal_that_leaves_one_open_is_an_error_and_never_disproved(
    session: Session, goal: str, code: str
) -> None:
    for ask in (session.prove, session.query):
        with pytest.raises(ConstatError) as caught:
            ask(goal)
        assert [one.code for one in caught.value.diagnostics] == [code]
        assert caught.value.diagnostics[0].help


@pytest.mark.parametrize("engine", ["reference", "forward", "auto"])
def test_queries_find_the_rows_of_every_engine(session: Session, engine: str) -> None:
    found = session.query("late(?o, 30)", engine=engine)
    assert sorted(row.values for row in found.rows) == [("b",), ("c",)]
    joined = session.query("grace(?d), over(?o, ?d, ?by)", engine=engine)
    assert sorted(row.values for row in joined.rows) == [(30, "b", 10), (30, "c", 20)]
    down = session.query("countdown(3, ?m)", engine=engine)
    assert sorted(row.values for row in down.rows) == [(0,), (1,), (2,), (3,)]


def test_what_cannot_give_them_refuses(session: Session) -> None:
    for goal in ("late(a, 30)", "overdue(a)"):
        with pytest.raises(ConstatError, match="C0249"):
            session.second_opinion(goal)
    for ask in (session.why_not, session.what_if):
        with pytest.raises(ConstatError, match="C0249"):
            ask("late(a, ?days)")
    # A goal or a rule that gives them is explained and supposed like others.
    known = session.prove("late(a, 30)").verdict
    assert session.why_not("late(a, 30)").result.verdict is known is Verdict.DISPROVED_UNDER
    assert session.what_if("late(a, 30)", add=["grace(5)"]).verdict is known
    assert session.why_not("overdue(a)").refutation is not None
    assert session.what_if("overdue(a)", add=["grace(5)"]).verdict is Verdict.PROVED_UNDER


def test_the_certificate_has_given_columns_and_no_relation_of_what_was_asked(
    session: Session,
) -> None:
    document = json.loads(session.prove("late(b, 30)").certificate)
    given = {one["name"]: one["given"] for one in document["declarations"]}
    assert given["late"] == [1]
    assert "late.given" not in given
    (rule,) = (one for one in document["rules"] if one["head"][0] == "late")
    assert all(literal[1][0] != "late.given" for literal in rule["body"] if literal[0] == "+")


def test_a_key_of_what_is_absent_has_its_given_columns(session: Session) -> None:
    document = json.loads(session.prove("late(b, 999)").certificate)
    (entry,) = (one for one in document["closure"]["entries"] if one["predicate"] == "late")
    assert 1 in entry["columns"]
    assert [key[entry["columns"].index(1)] for key in entry["keys"]] == ["999"]


P = "@[given(d)]\n.decl p(d: number)\np(?d) :- ?d > 1.\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("@[given(day)]\n.decl p(days: number)\np(?d) :- ?d > 1.", "C0247"),
        ('@[given(d)]\n.decl p(d: number)\n.input p(source="x", query="y")', "C0247"),
        ("@[given(d)]\n.decl p(d: number)", "C0247"),
        (f".decl q(d: number)\n{P}q(?d) :- p(?d).", "C0249"),
        (f".decl q(n: number)\n{P}q(?n) :- ?n = count : {{ p(_) }}.", "C0249"),
        ("@[given(d)]\n.decl p(d: number, e: number)\np(?d, ?e) :- ?d > 1.", "C0203"),
    ],
)
def test_rules_that_leave_one_open_are_errors(text: str, code: str) -> None:
    found: list[Diagnostic] = []
    assert analyse(parse_text(text, "x.dl", found), found) is None
    assert {one.code for one in found} == {code}


def test_both_spellings_are_one_and_are_printed_back() -> None:
    found: list[Diagnostic] = []
    program = parse_text(RULES, "x.dl", found)
    assert found == []
    assert parse_text(print_program(program), "x.dl", found) == program
    assert program.predicates["late_by"].given == (1, 2)
    assert program.predicates["over"].given == (1,)


def test_a_changed_caller_is_noticed(project: Path) -> None:
    with Session(project) as session:
        certificate = session.prove("overdue(b)").certificate
    rules = project / "rules.dl"
    rules.write_text(rules.read_text().replace("?n > ?days.", "?n >= ?days."))
    with Session(project) as session:
        assert session.verify_source(certificate).rules


def test_a_goal_that_fails_on_a_denied_projection_has_a_certificate(tmp_path: Path) -> None:
    """What was denied was a projection of a predicate with given columns, and holds."""
    rules = """.pragma "constat" "0.1"
    .decl due(o: symbol, days: number)
    @[given(days)]
    .decl late(o: symbol, days: number)
    late(?o, ?days) :- due(?o, ?n), ?n > ?days.
    @[given(days)]
    .decl calm(o: symbol, days: number)
    calm(?o, ?days) :- due(?o, _), !late(_, ?days).
    .decl asked(days: number)
    @[given(days)]
    .decl first(o: symbol, days: number)
    first(?o, ?days) :- due(?o, _), !calm(?o, ?days).
    """
    (tmp_path / "rules.dl").write_text(rules, encoding="utf-8")
    text = "project: p\nrules: [rules.dl]\nfacts: {due: [[a, 10], [b, 40]]}\nclosed: [due]\n"
    (tmp_path / "constat.yaml").write_text(text, encoding="utf-8")
    with Session(tmp_path) as session:
        for goal, verdict in (
            *(("calm(a, 30)", "DISPROVED"), ("calm(a, 40)", "PROVED")),
            *(("first(a, 30)", "PROVED"), ("first(a, 40)", "DISPROVED")),
        ):
            result = session.prove(goal)
            assert result.verdict.value.startswith(verdict)
            assert session.verify(result.certificate).accepted
