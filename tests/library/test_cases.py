"""Cases of libraries: what they expect, what they leave open, what is wrong with them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.diagnostics.catalogue import chapter
from constat.library.cases import run_cases, to_junit
from constat.library.cases.cases import find_libraries
from constat.library.cases.running import run_library
from constat.session.cases import run_cases as run_checked
from tests.apis.servers import JSONResponse, Request, Response, serving
from tests.library.folders import FACTS, RULES, library, run

if TYPE_CHECKING:
    from pathlib import Path

    from constat.library.cases import CasesRun

GOOD = f'{FACTS} @[expect(proved = "good(a)")] .output good'


def problems(outcome: CasesRun) -> list[str]:
    return [one.problem for one in outcome.results if one.problem]


def codes(outcome: CasesRun) -> list[str]:
    return [one.code for case in outcome.cases for one in case.diagnostics]


def test_all_verdicts_can_be_expected(tmp_path: Path) -> None:
    text = (
        FACTS
        + """
    .pragma "closed" "banned"
    .pragma "unknown" "given(u, ?n)"
    @[author = "alice"] given("p", 0).
    @[confidence = 0.5] given("q", 0).
    @[expect(
      proved = "good(c)", proved_under = "good(p); good(q); good(a)", unresolved = "good(u)",
      disproved = "good(b)", by = "R2; R2; R2; R1"
    )]
    .output good
    """
    )
    outcome = run(tmp_path, text)
    assert problems(outcome) == []
    assert codes(outcome) == []
    assert outcome.exit_code == 0
    assert [one.verdict for one in outcome.results] == [
        *("PROVED", "PROVED_UNDER", "PROVED_UNDER", "PROVED_UNDER", "UNRESOLVED", "DISPROVED"),
    ]


GIVEN = """
.decl due(x: symbol, n: number)
@[given(days)]
@[owner = tests]
.decl late(x: symbol, days: number)
@[id = L1]
late(?x, ?days) :- due(?x, ?n), ?n > ?days.
@[given(days)]
@[owner = tests]
.decl safe(x: symbol, days: number)
@[id = S1]
safe(?x, ?days) :- due(?x, _), !late(_, ?days).
"""


def test_a_case_asks_for_a_goal_with_given_columns(tmp_path: Path) -> None:
    text = """due("a", 5). due("b", 9).
    @[expect(
      proved = "late(a, 4); late(?x, 8)", disproved = "late(a, 5); late(?x, 9)", by = L1, uses = due
    )]
    .output late
    @[expect(proved = "safe(a, 9)", disproved = "safe(a, 8)", by = S1)] .output safe
    """
    outcome = run(tmp_path, text, GIVEN)
    assert problems(outcome) == []
    assert outcome.exit_code == 0
    (library,) = outcome.libraries
    assert library.coverage.never_fired == ()
    wrong = run(tmp_path / "by", text.replace("by = L1", "by = S1"), GIVEN)
    assert len(problems(wrong)) == 2
    assert all("got one by L1" in one for one in problems(wrong))
    refused = run(tmp_path / "open", text.replace("late(a, 4)", "late(a, ?days)"), GIVEN)
    assert codes(refused) == ["C0441"]


def test_what_a_case_does_not_state_is_not_so_unless_it_is_left_open(tmp_path: Path) -> None:
    closed = run(tmp_path, '@[expect(disproved = "good(a)")] .output good')
    assert closed.exit_code == 0
    opened = '.pragma "open" "given"\n@[expect(unresolved = "good(a)")] .output good'
    assert run(tmp_path / "open", opened).exit_code == 0


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ('disproved = "good(a)"', "expected DISPROVED, got PROVED"),
        ('unresolved = "good(b)"', "expected UNRESOLVED, got DISPROVED"),
        ('proved = "good(a)", by = R2', "expected a proof by R2, got one by R1"),
        ('proved = "good(a); good(c)", by = "R1; R1"', "expected a proof by R1, got one by R2"),
        ('proved = "good(a); good(c)", by = R1', "expected a proof by R1, got one by R2"),
        (
            'proved = "good(c)", uses = "given; least"',
            "its proof does not use least; it uses R2, given, good",
        ),
    ],
)
def test_what_is_not_as_expected_fails_with_its_proof(
    tmp_path: Path, expected: str, problem: str
) -> None:
    outcome = run(tmp_path, f"{FACTS} @[expect({expected})] .output good")
    assert problems(outcome) == [problem]
    assert outcome.exit_code == 1
    (failure,) = outcome.failures
    assert "good(" in failure.proof
    assert failure.span.source == "cases/one.dl"


def test_a_failure_says_why_a_rule_does_not_apply(tmp_path: Path) -> None:
    outcome = run(tmp_path, f'{FACTS} @[expect(proved = "good(b)")] .output good')
    assert "1 >= 3" in outcome.failures[0].proof or "distance" in outcome.failures[0].proof


def test_goals_may_have_variables_quotes_and_semicolons_in_texts(tmp_path: Path) -> None:
    text = """given("a\\";b", 0).
    @[expect(proved = "good(\\"a\\\\\\";b\\"); good(?x)")] .output good"""
    outcome = run(tmp_path, text)
    assert [one.goal for one in outcome.results] == ['good("a\\";b")', "good(?x)"]
    assert outcome.exit_code == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (FACTS, "C0440"),
        ('@[expect(proved = "god(a)")] .output good', "C0441"),
        ('@[expect(proved = "good(a, b)")] .output good', "C0441"),
        ('@[expect(proved = "good(")] .output good', "C0441"),
        ('@[expect(prooved = "good(a)")] .output good', "C0442"),
        ('@[expect = "good(a)"] .output good', "C0442"),
        ('@[expect(proved = ";")] .output good', "C0442"),
        ('@[expect(proved = "good(a)", by = R9)] .output good', "C0442"),
        ('@[expect(proved = "good(a)", by = "R1; R2")] .output good', "C0442"),
        ('@[expect(disproved = "good(a)", by = R1)] .output good', "C0442"),
        ('@[expect(disproved = "good(a)", uses = R1)] .output good', "C0442"),
        ('@[expect(proved = "good(a)", uses = gven)] .output good', "C0442"),
        ('.pragma "opne" "given"\n@[expect(proved = "good(a)")] .output good', "C0443"),
        ('.pragma "open" "good"\n@[expect(proved = "good(a)")] .output good', "C0443"),
        ('.pragma "open"\n@[expect(proved = "good(a)")] .output good', "C0443"),
        ('.pragma "unknown" "given(?x"\n@[expect(proved = "good(a)")] .output good', "C0443"),
        ('good("a").\n@[expect(proved = "good(a)")] .output good', "C0444"),
        ('given("a", 1 + 1).\n@[expect(proved = "good(a)")] .output good', "C0445"),
        ('given("a").\n@[expect(proved = "good(a)")] .output good', "C0202"),
        ('given("a", 1)\n@[expect(proved = "good(a)")] .output good', "C0121"),
    ],
)
def test_a_broken_case_is_an_error_with_a_place(tmp_path: Path, text: str, code: str) -> None:
    outcome = run(tmp_path, text)
    assert codes(outcome) == [code]
    assert outcome.exit_code == 2
    assert outcome.results == ()
    (case,) = outcome.cases
    assert all(one.span is not None for one in case.diagnostics)
    assert all(one.span.source in case.texts for one in case.diagnostics if one.span)


def test_a_broken_case_does_not_keep_others_from_running(tmp_path: Path) -> None:
    good = f'{FACTS} @[expect(proved = "good(a)")] .output good'
    folder = library(tmp_path / "lib", {"a": "p(", "b": good, "c": good.replace("(a)", "(b)")})
    outcome = run_cases([folder])
    assert [case.exit_code for case in outcome.cases] == [2, 0, 1]
    assert outcome.exit_code == 2


def test_a_case_that_lies_elsewhere_is_broken_and_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.dl"
    outside.write_text(GOOD, encoding="utf-8")
    folder = library(tmp_path / "lib", {})
    (folder / "cases" / "link.dl").symlink_to(outside)
    (folder / "cases" / "loop.dl").symlink_to("loop.dl")
    (folder / "cases" / "folder.dl").mkdir()
    outcome = run_cases([folder])
    assert [case.file for case in outcome.cases] == ["lib/cases/link.dl"]
    assert codes(outcome) == ["C0152"]


def test_names_of_files_need_not_be_text(tmp_path: Path) -> None:
    folder = library(tmp_path / "lib", {"a\udcff\x01": GOOD})
    outcome = run_cases([folder])
    assert (outcome.exit_code, codes(outcome)) == (0, [])
    ET.fromstring(to_junit(outcome))  # noqa: S314  our own text


def test_two_expectations_of_one_predicate_both_count(tmp_path: Path) -> None:
    text = f"""{FACTS}
    @[expect(proved = "good(b)")] .output good
    @[expect(proved = "good(a)")] .output good
    """
    assert problems(run(tmp_path, text)) == ["expected PROVED, got DISPROVED"]


def test_a_certificate_that_is_rejected_fails_the_expectation(tmp_path: Path) -> None:
    folder = library(
        tmp_path / "lib", {"one": f'{FACTS} @[expect(proved = "good(a)")] .output good'}
    )

    def rejecting(certificate: bytes) -> str:
        assert certificate.startswith(b"{")
        raise ValueError("no")

    assert problems(run_cases([folder], checker=rejecting)) == ["its certificate is rejected: no"]
    other = run_cases([folder], checker=lambda _: "DISPROVED")
    assert problems(other) == ["its certificate says DISPROVED"]


def test_the_name_of_a_rule_names_its_alternatives(tmp_path: Path) -> None:
    rules = RULES.replace("given(?x, 0)", "given(?x, 0); given(?x, 7)")
    text = f'{FACTS} @[expect(proved = "good(c)", by = R2, uses = R2)] .output good'
    assert run(tmp_path, text, rules).exit_code == 0
    other = text.replace("by = R2", "by = R")
    assert codes(run(tmp_path / "other", other, rules)) == ["C0442"]


def test_facts_that_a_library_states_can_be_added_to(tmp_path: Path) -> None:
    rules = RULES + 'least(3).\n.decl known(x: symbol)\nknown("k").\n'
    text = """
    given("a", 5). known("l").
    @[expect(proved = "good(a)")] .output good
    @[expect(proved = "known(k); known(l)", disproved = "known(m)")] .output known
    """
    outcome = run(tmp_path, text, rules)
    assert (codes(outcome), problems(outcome)) == ([], [])


def test_what_rules_derive_is_never_stated_even_beside_facts_of_the_library(tmp_path: Path) -> None:
    rules = RULES + 'good("always").\n'
    assert codes(run(tmp_path, 'good("a").\n' + GOOD, rules)) == ["C0444"]
    # What has a source besides its rules is asked for outside as well.
    sourced = RULES + '.input good(source="db", query="SELECT x FROM t")\n'
    text = 'good("z").\n' + GOOD.replace("good(a)", "good(a); good(z)")
    assert run(tmp_path / "sourced", text, sourced).exit_code == 0


def test_a_source_in_a_library_is_replaced_by_the_facts_of_the_case(tmp_path: Path) -> None:
    rules = RULES + '.input given(source="db", query="SELECT x, n FROM t")\n'
    text = f'{FACTS} @[expect(proved = "good(a)", disproved = "good(b)")] .output good'
    assert run(tmp_path, text, rules).exit_code == 0


def test_coverage_tells_what_was_never_tried(tmp_path: Path) -> None:
    text = f"""{FACTS}
    @[expect(proved = "good(a)", disproved = "good(b); good(d); good(x)")] .output good
    """
    outcome = run(tmp_path, text)
    (lib,) = outcome.libraries
    by_id = {rule.id: rule for rule in lib.coverage.rules}
    assert list(by_id) == ["R1", "R2", "alone.1"]
    assert by_id["R1"].fired == 1
    # The negation is taken first: 3 of 4 keys pass it, 2 of them are given, 1 of these is enough.
    assert [one.held for one in by_id["R1"].literals] == [2, 2, 1, 3]
    assert [one.failed for one in by_id["R1"].literals] == [1, 0, 1, 1]
    assert [one.never_false for one in by_id["R1"].literals] == [False, True, False, False]
    assert [rule.id for rule in lib.coverage.never_fired] == ["R2", "alone.1"]
    assert by_id["R2"].literals[0].failed == 4
    told = outcome.to_text(coverage=True)
    assert "coverage of lib: 1 of 3 rules fired" in told
    assert "R2: `given(?x, 0)` was never true" in told
    assert "R1: `least(?m)` was never false" in told
    assert "alone.1: `" not in told


def test_a_literal_that_gives_a_value_is_not_blamed_for_never_failing(tmp_path: Path) -> None:
    text = f'{FACTS} @[expect(disproved = "alone(a)")] .output alone'
    (lib,) = run(tmp_path, text).libraries
    alone = lib.coverage.rules[-1]
    assert [one.text for one in alone.literals if one.never_false] == ["good(?x)"]
    # `?all = 1` is taken before the count, gives the variable its value, and cannot fail then.
    assert alone.literals[2].held == alone.literals[2].bound == 1
    assert alone.literals[1].failed == 1


def test_what_is_unknown_neither_holds_nor_fails(tmp_path: Path) -> None:
    text = """given("a", 5). .pragma "open" "least"
    @[expect(unresolved = "good(a)")] .output good"""
    (lib,) = run(tmp_path, text).libraries
    literals = lib.coverage.rules[0].literals
    assert [(one.held, one.failed) for one in literals] == [(1, 0), (0, 0), (0, 0), (1, 0)]


def test_an_open_negation_or_aggregate_neither_holds_nor_fails(tmp_path: Path) -> None:
    text = """given("a", 5). least(3). .pragma "open" "banned"
    @[expect(unresolved = "good(a); alone(a)")] .output good"""
    (lib,) = run(tmp_path, text).libraries
    first = lib.coverage.rules[0]
    assert (first.literals[3].held, first.literals[3].failed) == (0, 0)
    counted = "one(?x) :- given(?x, _), ?all = count : { banned(_) }, ?all = 1.\n"
    rules = f"{RULES} .decl one(x: symbol)\n{counted}"
    (lib,) = run(tmp_path / "count", text.replace("alone(a)", "one(a)"), rules).libraries
    one = lib.coverage.rules[-1]
    assert [(each.held, each.failed) for each in one.literals] == [(1, 0), (0, 0), (1, 0)]


def test_names_choose_cases(tmp_path: Path) -> None:
    text = f'{FACTS} @[expect(proved = "good(a)")] .output good'
    library(tmp_path / "left", {"one": text, "two": text})
    library(tmp_path / "right", {"one": text})
    chosen = run_cases([tmp_path], only="t/one")
    assert [case.name for case in chosen.cases] == ["left/one", "right/one"]
    with pytest.raises(ConstatError, match="C0447"):
        run_cases([tmp_path], only="three")


def test_paths_are_libraries_folders_of_them_or_case_files(tmp_path: Path) -> None:
    text = f'{FACTS} @[expect(proved = "good(a)")] .output good'
    folder = library(tmp_path / "lib", {"one": text, "two": text})
    paths = (tmp_path, folder, folder / "cases", folder / "cases" / "one.dl")
    assert [len(run_cases([path]).cases) for path in paths] == [2, 2, 2, 1]
    assert len(run_cases(list(paths)).cases) == 2
    for wrong in (tmp_path / "nowhere", folder / "rules.dl", tmp_path / "\0"):
        with pytest.raises(ConstatError, match="C0446"):
            run_cases([wrong])


def test_a_project_runs_its_own_cases_and_those_of_its_libraries(shop: Path) -> None:
    outcome = run_checked(project=shop)
    assert outcome.exit_code == 0
    assert {case.library for case in outcome.cases} == {"customer-value"}


def test_the_junit_report_has_a_suite_for_each_case_and_a_test_for_each_goal(
    tmp_path: Path,
) -> None:
    text = f"""{FACTS} given("<&\\"\\a>", 0).
    @[expect(proved = "good(b); good(a); good(\\"<&\\\\\\"\\\\a>\\")")] .output good"""
    folder = library(tmp_path / "lib", {"bad": "p(", "one": text})
    outcome = run_cases([folder])
    root = ET.fromstring(to_junit(outcome))  # noqa: S314  our own text
    assert root.tag == "testsuites"
    assert [suite.get("name") for suite in root] == ["lib/bad", "lib/one"]
    for suite in (root, *root):
        counted = {name: suite.get(name) for name in ("tests", "failures", "errors")}
        cases = list(suite.iter("testcase"))
        assert counted == {
            "tests": str(len(cases)),
            "failures": str(len(list(suite.iter("failure")))),
            "errors": str(len(list(suite.iter("error")))),
        }
        assert float(suite.get("time") or "") >= 0
    broken, one = root
    assert broken[0][0].tag == "error"
    assert one[0].get("name") == "good(b) PROVED"
    assert [len(case) for case in one] == [1, 0, 0]
    assert {case.get("classname") for case in one} == {"lib.one"}
    assert "expected PROVED" in (one[0][0].get("message") or "")


def test_the_codes_of_cases_are_in_the_catalogue() -> None:
    known = [entry.code for entry in chapter("cases")]
    assert known == [f"C{number:04}" for number in range(440, 448)]


SOURCES = """
@[key = id]
.decl orders(id: number, customer: symbol, day: Date, amount: Decimal)
.input orders(source = "lists", query = "SELECT id, customer, day, amount FROM orders")
.decl customers(id: symbol)
.input customers(source = "shop", query = "SELECT id FROM customers")
.decl least(n: Decimal)
.input least(source = "config")
.constraint known: orders(customer = ?c) => customers(?c).
"""
CONTRACT = """
.pragma "source" "orders"
.pragma "source" "customers"
least(0.0).
.decl out_of_range(id: number)
out_of_range(?id) :- orders(id = ?id, amount = ?a), least(?least), ?a <= ?least.
.decl has_rows(n: number)
has_rows(?n) :- ?n = count : { orders(_, _, _, _) }, ?n >= 2.
.decl dated(id: number)
dated(?id) :- orders(id = ?id, day = _day).
.decl undated(id: number)
undated(?id) :- orders(id = ?id), !dated(?id).
.decl twice(customer: symbol, day: Date)
twice(?c, ?d) :- orders(?one, ?c, ?d, _), orders(?other, ?c, ?d, _), ?one != ?other.
@[expect(disproved = "out_of_range(?id)")] .output out_of_range
@[expect(proved = "has_rows(?n)")] .output has_rows
@[expect(disproved = "undated(?id)")] .output undated
@[expect(disproved = "twice(?c, ?day)")] .output twice
@[expect(disproved = "violates_known(?c)")] .output violates_known
"""
SETTINGS = """rules: rules
databases: {lists: {files: {orders: orders.csv}}, shop: "sqlite:///shop.sqlite"}
facts: {least: 7}
closed: [elsewhere]
"""
OPEN = ["has_rows(?n)", "undated(?id)"]
ORDERS = "1,C1,2026-01-01,5\n2,C2,2026-01-02,7.50\n"


def sourced(folder: Path, orders: str = ORDERS, text: str = CONTRACT) -> Path:
    """Lay out a project whose rules have a case about its sources."""
    library(folder / "rules", {"contract": text}, SOURCES + ".decl elsewhere(n: number)\n")
    (folder / "constat.yaml").write_text(SETTINGS)
    (folder / "orders.csv").write_text(f"id,customer,day,amount\n{orders}")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE customers (id TEXT)")
        connection.executemany("INSERT INTO customers VALUES (?)", [("C1",), ("C2",)])
    return folder


@pytest.mark.parametrize(
    ("orders", "failing"),
    [
        (ORDERS, []),
        ("1,C1,2026-01-01,5\n2,C2,2026-01-02,-3\n", ["out_of_range(?id)"]),
        ("1,C1,2026-01-01,5\n", ["has_rows(?n)"]),
        ("1,C1,2026-01-01,5\n2,C9,2026-01-02,7\n", ["violates_known(?c)"]),
        ("1,C1,2026-01-01,5\n2,C1,2026-01-01,7\n", ["twice(?c, ?day)"]),
        # A value that is missing, or is none of its kind, and a key that repeats, are not known.
        ("1,C1,,5\n2,C2,2026-01-02,7\n", OPEN),
        (
            "1,C1,2026-01-01,5\n1,C2,2026-01-02,7\n2,C2,2026-01-03,7\n",
            ["has_rows(?n)", "undated(?id)"],
        ),
    ],
)
def test_a_case_says_what_a_source_must_fulfil(
    tmp_path: Path, orders: str, failing: list[str]
) -> None:
    outcome = run_checked(project=sourced(tmp_path, orders))
    assert codes(outcome) == []
    failed = [one.goal for one in outcome.results if one.problem]
    assert failed == failing
    assert outcome.exit_code == (1 if failing else 0)
    assert not [one for one in outcome.results if "rejected" in one.problem]


DOCUMENTS_AND_API = """
.pragma "constat" "0.1"
.decl notice(document: symbol, days: number)
.input notice(source = "leases", pattern = "Notice period: {days} days")
.decl unit(name: symbol, use: symbol)
.input unit(source = "crm", operation = "units", rows = "[]")
"""
BOTH = """
.pragma "source" "notice"
.pragma "source" "unit"
.decl short(document: symbol)
short(?d) :- notice(?d, ?n), ?n < 14.
.decl noted(n: number)
noted(?n) :- ?n = count : { notice(_, _) }, ?n >= 2.
.decl units(n: number)
units(?n) :- ?n = count : { unit(_, _) }, ?n >= 1.
.decl empty(name: symbol)
empty(?u) :- unit(?u, "none").
@[expect(proved_under = "noted(?n)")] .output noted
@[expect(disproved_under = "short(?d)")] .output short
@[expect(proved = "units(?n)")] .output units
@[expect(disproved = "empty(?u)")] .output empty
"""
UNITS = {
    "operationId": "units",
    "responses": {"200": {"content": {"application/json": {"schema": {"type": "array"}}}}},
}


@pytest.mark.parametrize(
    ("days", "units", "failing"),
    [
        (30, [{"name": "a", "use": "shop"}], []),
        (7, [{"name": "a", "use": "shop"}], ["short(?d)"]),
        (30, [{"name": "a", "use": "none"}], ["empty(?u)"]),
        (30, [], ["units(?n)"]),
        # An answer that is none leaves it unknown.
        (30, {"units": 3}, ["units(?n)", "empty(?u)"]),
    ],
)
def test_a_case_says_what_documents_and_an_api_must_fulfil(
    tmp_path: Path, days: int, units: object, failing: list[str]
) -> None:
    library(tmp_path / "rules", {"contract": BOTH}, DOCUMENTS_AND_API)
    for name, said in (("a", 30), ("b", days)):
        (tmp_path / f"{name}.txt").write_text(f"Notice period: {said} days\n")

    async def told(_: Request, state: dict[str, Any]) -> Response:
        return JSONResponse(units)

    with serving({"/units": told}) as server:
        setting = {
            "spec_inline": {"openapi": "3.0.0", "paths": {"/units": {"get": UNITS}}},
            "url": server.url, "private": True, "authority": True, "retries": 0,
        }  # fmt: skip
        told_settings = f"documents: {{leases: '*.txt'}}\napis: {json.dumps({'crm': setting})}\n"
        (tmp_path / "constat.yaml").write_text(f"rules: rules\nclosed: [notice]\n{told_settings}")
        outcome = run_checked(project=tmp_path)
    assert codes(outcome) == []
    assert [one.goal for one in outcome.results if one.problem] == failing


def test_what_people_have_stated_is_no_word_of_a_source(tmp_path: Path) -> None:
    folder = sourced(tmp_path, "1,C1,2026-01-01,5\n")
    with Session(folder) as session:
        session.facts.add("orders(2, C2, 2026-01-01, 7)", author="eve")
    outcome = run_checked(project=folder)
    assert [one.goal for one in outcome.results if one.problem] == ["has_rows(?n)"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ('.pragma "sources" "orders"\n', "C0443", "no pragma `sources`"),
        ('.pragma "source" "ordres"\n', "C0443", "`ordres` is unknown"),
        ('.pragma "source" "twice"\n', "C0443", "is derived by rules"),
        ('.pragma "source" "elsewhere"\n', "C0443", "has no `.input`"),
        ('customers("C1").\n', "C0443", "the case states facts of `customers`"),
    ],
)
def test_a_source_that_a_case_cannot_read_is_told(
    tmp_path: Path, text: str, code: str, message: str
) -> None:
    used = ".decl uses(n: number) uses(?n) :- elsewhere(?n).\n"
    outcome = run_checked(project=sourced(tmp_path, text=CONTRACT + used + text))
    (case,) = outcome.cases
    assert outcome.exit_code == 2
    assert code in codes(outcome)
    assert message in " ".join(one.message for one in case.diagnostics)


def test_a_source_that_does_not_answer_makes_a_contract_fail(tmp_path: Path) -> None:
    folder = sourced(tmp_path)
    (folder / "orders.csv").unlink()
    outcome = run_checked(project=folder)
    assert outcome.exit_code != 0
    (folder / "orders.csv").write_text("id,customer,amount\n")
    outcome = run_checked(project=folder)
    assert (outcome.exit_code, codes(outcome)) == (2, ["C0515"])


def test_without_a_project_no_source_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sourced(tmp_path)
    (folder / "constat.yaml").unlink()
    monkeypatch.chdir(tmp_path)
    outcome = run_checked([folder / "rules"])
    assert outcome.exit_code == 2
    alone = run_cases([folder / "rules"])
    assert (alone.exit_code, codes(alone)) == (2, ["C0443"])
    # Where a draft is tried, a case about a source is neither broken nor passed.
    (found,) = find_libraries([folder / "rules"])
    assert run_library(found).cases == ()


WIDE = """\
.decl stay(
  id: number, guest: symbol, nights: number, price: Decimal, day: Date, paid: Bool, f: float
)
.decl long_stay(guest: symbol)
long_stay(?g) :- stay(guest = ?g, nights = ?n), ?n > 6.
.decl stays(guest: symbol, n: number)
stays(?g, ?n) :- stay(guest = ?g), ?n = count : { stay(guest = ?g) }.
"""


def test_a_fact_of_a_case_leaves_out_what_no_rule_reads_and_counts_for_itself(
    tmp_path: Path,
) -> None:
    text = """
    stay(guest = "a", nights = 7).
    stay(guest = "b", nights = 3).
    stay(guest = "b", nights = 3).
    @[expect(proved = "long_stay(a); stays(b, 2)", disproved = "long_stay(b); stays(a, 2)")]
    .output long_stay
    """
    outcome = run(tmp_path, text, WIDE)
    assert (problems(outcome), codes(outcome), outcome.exit_code) == ([], [], 0)


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ('stay(guest = "a"). @[expect(disproved = "long_stay(a)")]', "rule long_stay.1"),
        (
            'stay(guest = "a", nights = 3). @[expect(disproved = "stay(id = 9, guest = a)")]',
            "the goal `stay(id = 9, guest = a)`",
        ),
    ],
)
def test_a_fact_of_a_case_may_not_leave_out_what_is_read(
    tmp_path: Path, text: str, reader: str
) -> None:
    outcome = run(tmp_path, f"{text} .output long_stay", WIDE)
    (found,) = (one for case in outcome.cases for one in case.diagnostics)
    assert (found.code, outcome.exit_code) == ("C0159", 2)
    assert found.note.startswith(f"{reader} reads it")
    column = found.help.removeprefix("add `").partition(" = ")[0]
    mended = text.replace('stay(guest = "a"', f'stay({column} = 1, guest = "a"', 1)
    again = run(tmp_path / "again", f"{mended} .output long_stay", WIDE)
    assert (problems(again), codes(again)) == ([], [])


def test_a_fact_of_the_rules_has_every_column(tmp_path: Path) -> None:
    rules = f'{WIDE}stay(guest = "z", nights = 9).\n'
    outcome = run(tmp_path, '@[expect(proved = "long_stay(z)")] .output long_stay', rules)
    assert codes(outcome) == ["C0159"]
