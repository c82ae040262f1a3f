"""A column that no rule below a goal reads is not fetched and not shown (semantics 50)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat.check import check_certificate
from constat.proof import render_tree
from constat.proof.formats import format_named, write_format
from constat.session import Session
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

RULES = """
.pragma "constat" "0.1"
@[says = "{id} is called {name}"]
.decl patient(id: symbol, name: symbol, ssn: symbol, income: number)
.input patient(source = main, query = "SELECT id, name, ssn, income FROM patients")
@[key = id]
.decl loan(id: number, patient: symbol, amount: number, remark: symbol)
.input loan(source = main, query = "SELECT id, patient, amount, remark FROM loans")
.decl keyless(patient: symbol, amount: number, remark: symbol)
.input keyless(source = main, query = "SELECT patient, amount, remark FROM loans")
.decl credit(p: symbol)
credit(?p) :- patient(?p, _, _, ?i), ?t = sum ?a : { loan(_l, ?p, ?a, _) }, ?i > ?t.
.decl owes(p: symbol)
owes(?p) :- patient(?p, _, _, _), keyless(?p, _, _).
.decl total(p: symbol, t: number)
total(?p, ?t) :- patient(?p, _, _, _), ?t = sum ?a : { keyless(?p, ?a, _) }.
.decl borrowed(p: symbol, t: number)
borrowed(?p, ?t) :- patient(?p, _, _, _), ?t = sum ?a : { loan(_, ?p, ?a, _) }.
.decl least(p: symbol, t: number)
least(?p, ?t) :- patient(?p, _, _, _), ?t = min ?a : { keyless(?p, ?a, _) }.
.decl named(p: symbol, n: symbol)
named(?p, ?n) :- patient(?p, ?n, _, _).
.decl free(p: symbol)
free(?p) :- patient(?p, _, _, _), !keyless(?p, _, _).
"""
SECRETS = ("Ann", "078-05", "remark a", "remark b")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as base:
        base.execute("CREATE TABLE patients(id TEXT, name TEXT, ssn TEXT, income INTEGER)")
        base.execute("CREATE TABLE loans(id INTEGER, patient TEXT, amount INTEGER, remark TEXT)")
        base.executemany(
            "INSERT INTO patients VALUES (?, ?, ?, ?)",
            [("P1", "Ann", "078-05-1120", 500), ("P2", "Anna", "078-05-1121", 90)],
        )
        base.executemany(
            "INSERT INTO loans VALUES (?, ?, ?, ?)",
            [(1, "P1", 100, "remark a"), (2, "P1", 100, "remark b")],
        )
        base.commit()
    (tmp_path / "constat.yaml").write_text(
        'project: c\nrules: [r.dl]\ndatabases: {main: {uri: "sqlite:///c.sqlite"}}\n'
    )
    (tmp_path / "r.dl").write_text(RULES)
    return tmp_path


def prove(folder: Path, goal: str) -> tuple[str, str]:
    with Session(folder) as session:
        result = session.prove(goal)
        report = session.verify_source(result.certificate)
    assert report.exit_code == check_certificate(result.certificate).exit_code
    assert not report.drift
    return result.verdict.value, result.certificate.decode()


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ("credit(P1)", "PROVED"),
        ("credit(P3)", "DISPROVED"),
        # The key tells rows apart although nothing names it; the least is that of rows alike.
        ("borrowed(P1, 200)", "PROVED"),
        ("borrowed(P1, 100)", "DISPROVED"),
        ("least(P1, 100)", "PROVED"),
        ("least(P1, 200)", "DISPROVED"),
        ("owes(P1)", "PROVED"),
        ("owes(P2)", "DISPROVED"),
        ("free(P1)", "DISPROVED"),
        ("free(P2)", "PROVED"),
    ],
)
def test_what_no_rule_reads_stands_nowhere(folder: Path, goal: str, verdict: str) -> None:
    found, text = prove(folder, goal)
    assert found == verdict
    assert not [one for one in SECRETS if one in text]
    printed = run("prove", goal, "--project", folder).out
    assert not [one for one in SECRETS if one in printed]
    queries = [one["query"] for one in json.loads(text)["sources"]]
    assert queries
    assert all(", NULL" in one.partition("\n)\n")[2] for one in queries)


def test_a_rule_that_reads_a_column_has_it(folder: Path) -> None:
    found, text = prove(folder, "named(P1, Ann)")
    assert found == "PROVED"
    assert '"Ann"' in text
    assert "078-05" not in text


def test_an_aggregate_without_a_key_reads_all_since_rows_alike_are_two(folder: Path) -> None:
    found, text = prove(folder, "total(P1, 200)")
    assert found == "PROVED"
    assert "remark a" in text


def test_two_rows_of_one_key_leave_a_total_open(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "c.sqlite")) as base:
        base.execute("UPDATE loans SET id = 1")
        base.commit()
    assert prove(folder, "credit(P1)")[0] == "UNRESOLVED"
    assert prove(folder, "borrowed(P1, 200)")[0] == "UNRESOLVED"


MANY = """
.pragma "constat" "0.1"
@[key = id]
.decl sale(id: number, shop: symbol, @[null = maybe] price: Decimal, @[null = maybe] note: symbol)
.input sale(source = main, query = "SELECT id, shop, price, note FROM sales")
.decl sales(n: number)
sales(?n) :- ?n = count : { sale(id = _i) }.
.decl last(n: number)
last(?n) :- ?n = max ?i : { sale(id = ?i) }.
.decl noted(n: number)
noted(?n) :- sales(?n), sale(id = 1, note = "a"), sale(id = 2, price = ?p), ?p > 1.0.
"""


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ("sales(2000)", "PROVED"),
        ("sales(1999)", "DISPROVED"),
        ("last(2000)", "PROVED"),
        ("last(1999)", "DISPROVED"),
        # Here somebody reads the columns, so that rows have nulls where the count reads nothing.
        ("noted(2000)", "PROVED"),
        ("noted(1999)", "DISPROVED"),
    ],
)
def test_many_rows_are_folded_whatever_stands_in_what_is_not_read(
    tmp_path: Path, goal: str, verdict: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as base:
        base.execute("CREATE TABLE sales(id INTEGER PRIMARY KEY, shop TEXT, price REAL, note TEXT)")
        rows = (
            (n, f"s{n % 7}", None if n % 5 == 0 else n + 0.5, "a" if n % 3 else None)
            for n in range(1, 2001)
        )
        base.executemany("INSERT INTO sales VALUES (?, ?, ?, ?)", rows)
        base.commit()
    (tmp_path / "constat.yaml").write_text(
        'project: c\nrules: [r.dl]\ndatabases: {main: {uri: "sqlite:///c.sqlite"}}\n'
    )
    (tmp_path / "r.dl").write_text(MANY)
    found, text = prove(tmp_path, goal)
    assert found == verdict
    (summary,) = json.loads(text)["summaries"] or [None]
    if verdict == "PROVED":
        assert summary["count"] == 2000


def test_goals_of_one_session_never_share_rows_of_which_less_was_read(folder: Path) -> None:
    with Session(folder) as session:
        first = [session.prove(one).verdict.value for one in ("owes(P1)", "named(P1, Ann)")]
        rows = list(session.query("named(?p, ?n)").rows.values)
        again = session.prove("patient(P1, Ann, _, _)").verdict.value
    assert (first, again) == (["PROVED", "PROVED"], "PROVED")
    assert sorted(rows) == [("P1", "Ann"), ("P2", "Anna")]


def test_of_a_stated_fact_too_only_what_is_read_is_shown(folder: Path) -> None:
    assert run("facts", "add", "keyless(P2, 5, told)", "--by", "al", "--project", folder).code == 0
    found, text = prove(folder, "owes(P2)")
    assert found == "PROVED_UNDER"
    assert "told" not in text


@pytest.mark.parametrize("goal", ["owes(P1)", "named(P1, Ann)", "credit(P1)"])
def test_a_stated_fact_of_another_row_changes_nothing(folder: Path, goal: str) -> None:
    with Session(folder) as session:
        before = session.prove(goal)
        session.facts.add("keyless(P2, 5, told)", author="al")
        session.facts.add('patient(P2, Bo, "078-05-1121", 90)', author="al")
        again = session.prove(goal)
        report = session.verify_source(before.certificate)
    assert before.verdict is again.verdict
    for text in ('"al"', "told", '"Bo"', "078-05", "remark a"):
        assert text not in again.certificate.decode()
    assert (report.drift, report.exit_code) == ((), 0)
    # It has said "same" of the leaves: it does not say that they were not read.
    assert not [one for one in report.report.notes if "not re-read" in one]


def test_a_fact_that_repeats_a_row_is_no_conflict(folder: Path) -> None:
    with Session(folder) as session:
        session.facts.add('loan(1, P1, 100, "remark a")', author="al")
        result = session.prove("loan(1, P1, 100, _)")
    assert (result.verdict.value, result.conflicts) == ("PROVED", ())


def test_a_declaration_may_ask_for_whole_rows(folder: Path) -> None:
    (folder / "r.dl").write_text(RULES.replace(".decl keyless", "@[whole]\n.decl keyless"))
    assert "remark a" in prove(folder, "owes(P1)")[1]


def test_what_is_left_out_is_no_part_of_leaves(folder: Path) -> None:
    _, text = prove(folder, "owes(P1)")
    with closing(sqlite3.connect(folder / "c.sqlite")) as base:
        base.execute("UPDATE loans SET remark = 'other', amount = 7")
        base.commit()
    with Session(folder) as session:
        assert not session.verify_source(text.encode()).drift
    with closing(sqlite3.connect(folder / "c.sqlite")) as base:
        base.execute("DELETE FROM loans")
        base.commit()
    with Session(folder) as session:
        assert session.verify_source(text.encode()).drift


def test_a_check_of_the_rules_names_the_columns_that_none_of_them_uses(folder: Path) -> None:
    told = run("rules", "check", "--project", folder).out
    assert "no rule uses ssn of `patient`\n" in told
    assert "no rule uses remark of `loan`\n" in told
    assert "of `keyless`" not in told


def test_a_certificate_is_for_its_owner_alone(folder: Path) -> None:
    certificate = folder / "own.json"
    for _ in range(2):
        run("prove", "owes(P1)", "--project", folder, "--certificate", certificate)
        assert certificate.stat().st_mode & 0o777 == 0o600
        # Another proof has other rows: whoever may read the last one may not read this one.
        certificate.chmod(0o644)


def test_a_report_stays_open_for_those_who_may_read_it(folder: Path) -> None:
    certificate, page = folder / "own.json", folder / "own.md"
    run("prove", "owes(P1)", "--project", folder, "--certificate", certificate)
    for mode in (0o600, 0o644):
        assert run("export", certificate, "--to", "markdown", "-o", page).code == 0
        assert page.stat().st_mode & 0o777 == mode
        page.chmod(0o644)


def test_the_page_says_that_a_cell_was_not_read(folder: Path) -> None:
    certificate: Any = folder / "x.json"
    run("prove", "owes(P1)", "--project", folder, "--certificate", certificate)
    page = folder / "x.html"
    assert run("export", certificate, "--to", "html", "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "(not read)" in text
    assert not [one for one in SECRETS if one in text]


def test_the_first_screen_says_what_decides_whose_rules_and_who_asked(folder: Path) -> None:
    certificate, page = folder / "no.json", folder / "no.html"
    owned = RULES.replace(".decl owes", '@[owner = "credit office"]\n.decl owes')
    (folder / "r.dl").write_text(owned.replace("owes(?p) :-", "@[id = OWES1]\nowes(?p) :-"))
    asked = ("prove", "owes(P2)", "--project", folder, "--by", "eve", "--certificate", certificate)
    assert run(*asked).code == 5
    run("export", certificate, "--to", "html", "-o", page)
    first = page.read_text(encoding="utf-8").partition("</section>")[0]
    assert "What decides it" in first
    assert "\u2018keyless\u2019 holds for" in first
    assert ", owned by credit office. <b>Nobody approved this rule.</b>" in first
    assert "Asked by eve" in first
    run("rules", "approve", "OWES1", "--by", "ada", "--reason", "agreed", "--project", folder)
    run(*asked)
    run("export", certificate, "--to", "html", "-o", page)
    assert "Approved by ada on " in page.read_text(encoding="utf-8").partition("</section>")[0]


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    "stated", [(), ('patient(P2, Bo, "078", 90)',), ("patient(P3, Al, x, 1)",)]
)
@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE patients SET ssn = NULL",
        "UPDATE patients SET income = 'much'",
        "INSERT INTO patients SELECT id, name, 'other', 7 FROM patients",
    ],
)
def test_what_is_wrong_in_a_column_that_nothing_reads_is_met_by_nobody(
    folder: Path, wrong: str, stated: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(folder / "c.sqlite")) as base, base:
        base.execute(wrong)
    with Session(folder) as session:
        for one in stated:
            session.facts.add(one, author="al")
        for goal, verdict in {
            "named(P1, Ann)": "PROVED",
            "named(P1, Bo)": "DISPROVED",
            "patient(P1, _, _, _)": "PROVED",
            "named(P1, ?n), !named(P1, Bo)": "PROVED",
            "named(P9, ?n)": "DISPROVED",
        }.items():
            result = session.prove(goal)
            assert result.verdict.value == verdict, goal
            assert session.verify(result.certificate).accepted, goal
            assert not session.verify_source(result.certificate).drift, goal
            assert session.why_not(goal).verdict.value == verdict, goal
            assert session.what_if(goal, add=["keyless(P7, 1, x)"]).verdict.value == verdict, goal
            assert session.missing_facts(goal).result.verdict.value == verdict, goal
        rows = session.query("named(?p, Ann)", engine="reference").rows
        assert [(str(one.values[0]), one.verdict.value) for one in rows] == [("P1", "PROVED")]


def test_a_column_that_is_read_shows_what_is_wrong_in_it(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "c.sqlite")) as base, base:
        base.execute("UPDATE patients SET ssn = NULL")
    with Session(folder) as session:
        assert session.prove('patient(P1, _, "078-05-1120", _)').verdict.value == "UNRESOLVED"
        assert session.prove("patient(id = P1, ssn = _)").verdict.value == "UNRESOLVED"


def test_sentences_say_nothing_of_what_is_not_read(folder: Path) -> None:
    text = (folder / "r.dl").read_text()
    says = '@[says = "loan {id}: patient {patient}, amount {amount}, remark {remark}"]\n'
    text = text.replace("@[key = id]\n", f"{says}@[key = id]\n")
    text += ".decl lent(p: symbol)\nlent(?p) :- loan(_, ?p, _, _), !loan(7, ?p, _, _).\n"
    (folder / "r.dl").write_text(text)
    with Session(folder) as session:
        result = session.prove("lent(P1)")
        tree = render_tree(result.tree)
        page = write_format(format_named("html"), result.certificate).decode()
    assert "Loan 1: patient P1" in tree
    assert "something unknown" not in tree + page
    assert "(not read)" not in tree


STATED = """
.pragma "constat" "0.1"
.decl told(id: symbol, name: symbol, ssn: symbol)
.input told(source = config)
.decl word(id: symbol, ssn: symbol)
.decl known(p: symbol)
known(?p) :- told(?p, _, _), word(?p, _).
.decl code(id: number, name: symbol)
.decl fine(id: number)
fine(?i) :- code(?i, _), !code(?i, "none").
.decl codes(n: number)
codes(?n) :- ?n = count : { code(_i, _n) }.
"""


@pytest.fixture
def stated(tmp_path: Path) -> Path:
    (tmp_path / "constat.yaml").write_text(
        'project: c\nrules: [r.dl]\nfacts: {told: [[P1, Ann, "078-05"], [P2, Bo, "078-06"]]}\n'
    )
    codes = "".join(f'code({n}, "{"none" if n == 7 else f"code {n}"}").\n' for n in range(300))
    (tmp_path / "r.dl").write_text(STATED + codes)
    return tmp_path


def test_configured_and_stated_rows_are_shown_by_column_too(stated: Path) -> None:
    added = run("facts", "add", 'word(P1, "078-05")', "--by", "al", "--project", stated)
    assert added.code == 0
    found, text = prove(stated, "known(P1)")
    assert found == "PROVED_UNDER"
    assert not [one for one in ("Ann", "078-05") if one in text]
    assert prove(stated, "known(P2)")[0] == "UNRESOLVED"


@pytest.mark.parametrize(
    ("goal", "verdict", "shown"),
    [
        ("fine(250)", "PROVED", ("code 250",)),
        ("fine(7)", "DISPROVED", ()),
        ("fine(900)", "DISPROVED", ()),
        ("code(3, 'code 3')".replace("'", '"'), "PROVED", ("code 3",)),
    ],
)
def test_facts_of_a_rule_file_that_a_goal_does_not_meet_stay_out(
    stated: Path, goal: str, verdict: str, shown: tuple[str, ...]
) -> None:
    found, text = prove(stated, goal)
    assert found == verdict
    told = [one for one in range(300) if f'"code {one}"' in text]
    assert told == [int(one.split()[1]) for one in shown]
    (source,) = json.loads(text)["sources"]
    assert (source["origin"], source["name"], source["rows"]) == ("CONFIG", "r.dl", 300)
    assert run("why-not", goal, "--project", stated).out.count("code") < 9


def test_the_file_of_facts_is_read_again(stated: Path) -> None:
    with Session(stated) as session:
        fine, count = (session.prove(one).certificate for one in ("fine(250)", "codes(300)"))
    rules = stated / "r.dl"
    rules.write_text(rules.read_text() + 'code(250, "none").\n')
    with Session(stated) as session:
        for one in (fine, count):
            report = session.verify_source(one)
            assert not report.rules
            assert report.drift
    rules.write_text(STATED + 'code(250, "code 250").\n')
    with Session(stated) as session:
        changed = [one.text for one in session.verify_source(fine).drift]
    assert changed == ["CONFIG r.dl"]


def test_facts_that_somebody_has_to_answer_for_stay_rules(stated: Path) -> None:
    rules = stated / "r.dl"
    rules.write_text(rules.read_text() + '@[confidence = 0.5]\ncode(900, "unsure").\n')
    found, text = prove(stated, "fine(900)")
    assert found == "PROVED_UNDER"
    assert len(json.loads(text)["rules"]) > 300


@pytest.mark.parametrize("null", ["", "@[null = none] ", "@[null = maybe] "])
def test_why_not_names_the_row_that_is_there_and_none_of_what_nobody_read(
    folder: Path, null: str
) -> None:
    declared = ".decl keyless(patient: symbol, amount: number, remark: symbol)"
    assert declared in RULES
    rules = RULES.replace(declared, declared.replace("remark", f"{null}remark"))
    (folder / "r.dl").write_text(rules)
    with Session(folder) as session:
        found = session.why_not("free(P1)")
        told = found.to_text()
    assert found.verdict.value == "DISPROVED"
    assert "because keyless(P1, " in told
    assert "source: DATABASE (main)" in told
    assert not [one for one in SECRETS if one in told]
