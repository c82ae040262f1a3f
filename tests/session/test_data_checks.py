"""Constraints and keys: what breaks them, what may, and what cannot be known."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from constat.check import check_certificate
from constat.proof.report.markup import checker_source
from constat.session import Session
from constat.session.data_checks import check_data, worst
from tests.cli.running import Ran, run
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from constat.session.data_checks import DataCheck

RULES = """\
@[key = c] .decl customers(c: symbol, @[null = maybe] n: symbol)
.input customers(source = "shop", query = "SELECT c, n FROM customers")
.decl orders(o: number, @[null = maybe] c: symbol, t: number)
.input orders(source = "shop", query = "SELECT o, c, t FROM orders")
.decl kinds(c: symbol)
.input kinds(source = "shop", query = "SELECT c FROM kinds")
/// Each order is that of a customer.
.constraint known: orders(o = ?o, c = ?c) => customers(?c, _).
.constraint positive: orders(?o, _, ?t) => ?t > 0.
.constraint typed: kinds(?c) => customers(?c, _).
.constraint never: orders(_, _, ?t), ?t > 100 => false.
.constraint some: orders(_, _, 999) => false.
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.executescript(
            "create table customers(c text, n text); create table orders(o integer, c text, t int);"
        )
        base.executemany("insert into customers values(?, ?)", [("a", "A"), ("b", None)])
        base.executemany("insert into orders values(?, ?, ?)", [(1, "a", 5), (2, "z", -1)])
    (tmp_path / "r.dl").write_text(RULES)
    (tmp_path / "constat.yaml").write_text(
        'rules: [r.dl]\ndatabases: {shop: {uri: "sqlite:///shop.db"}}\n'
    )
    return tmp_path


def changed(place: Path, *statements: str) -> None:
    with sqlite3.connect(place / "shop.db") as base:
        for one in statements:
            base.execute(one)


def checked(place: Path, *names: str, most: int = 10) -> dict[str, DataCheck]:
    with Session(place) as session:
        return {one.name: one for one in check_data(session, names, most)}


def command(place: Path, *arguments: str) -> Ran:
    return run("check-data", *arguments, "--project", place)


def test_each_row_that_breaks_a_constraint_is_a_goal(place: Path) -> None:
    found = checked(place)
    assert {name: one.verdict.value for name, one in found.items()} == {
        "known": "DISPROVED",
        "positive": "DISPROVED",
        "typed": "UNRESOLVED",
        "never": "PROVED",
        "some": "PROVED",
        "key of customers": "PROVED",
    }
    assert found["known"].goals == ("violates_known(2, z)",)
    assert found["known"].text == "Each order is that of a customer."
    assert worst(found.values()).exit_code == 5


def test_a_source_that_fails_is_shown_and_the_others_are_checked(place: Path) -> None:
    found = checked(place)
    assert "C0517" in found["typed"].reasons[0]
    assert worst([found["typed"], found["never"]]).exit_code == 4
    assert worst([found["never"]]).exit_code == 0


def test_a_cell_that_is_not_known_may_break_it_and_is_told_apart(place: Path) -> None:
    changed(place, "delete from orders", "insert into orders values(3, null, 1)")
    found = checked(place, "known", "positive")
    assert (found["known"].verdict.value, found["known"].broken) == ("UNRESOLVED", 0)
    assert found["known"].maybe == 1
    assert "orders: c is NULL in shop" in found["known"].reasons
    assert found["positive"].verdict.value == "PROVED"


@pytest.mark.parametrize(
    ("row", "shown"), [("('a', 'B')", 2), ("('a', NULL)", 2), ("('a', 'A')", 1), ("('b', NULL)", 1)]
)
def test_a_key_is_broken_by_any_second_row(place: Path, row: str, shown: int) -> None:
    changed(place, f"insert into customers values{row}")
    (found,) = checked(place, "customers").values()
    assert (found.verdict.value, found.broken, len(found.rows)) == ("DISPROVED", 1, shown)
    assert {one[0] for one in found.rows} == {row[2]}
    assert (found.alike, found.reasons) == (int(shown == 1), ())


def test_the_certificate_of_a_broken_key_is_of_a_table_called_given(
    place: Path, tmp_path: Path
) -> None:
    changed(place, "create table given(c text)", "insert into given values('a'), ('a'), ('b')")
    declared = "@[key = c] .decl given(c: symbol)\n"
    read = '.input given(source = "shop", query = "SELECT c FROM given")'
    (place / "r.dl").write_text(declared + read)
    ran = command(place, "given", "--certificates", str(tmp_path / "to"), "--format", "json")
    (key,) = ran.json["checks"][0]["keys"]
    assert check_certificate(Path(key["certificate"]).read_bytes()).verdict == "PROVED"


def test_a_source_that_fails_leaves_its_key_open(place: Path) -> None:
    changed(place, "insert into customers values(NULL, 'B')")
    (found,) = checked(place, "customers").values()
    assert (found.verdict.value, found.broken) == ("UNRESOLVED", 0)
    assert found.reasons


@pytest.mark.skipif(node() is None, reason="no node")
@pytest.mark.parametrize(
    ("row", "difference"), [("'B'", " and differ in n"), ("'A'", ""), ("NULL", "")]
)
def test_a_broken_key_has_a_certificate_that_both_checkers_accept(
    place: Path, tmp_path: Path, row: str, difference: str
) -> None:
    changed(place, f"insert into customers values('a', {row})")
    ran = command(place, "customers", "--certificates", str(tmp_path / "to"), "--format", "json")
    jsonschema.Draft202012Validator(run("schema", "check-data").json).validate(ran.json)
    (key,) = ran.json["checks"][0]["keys"]
    assert key["text"] == f"two rows of customers have c a{difference}"
    content = Path(key["certificate"]).read_bytes()
    assert check_certificate(content).verdict == "PROVED"
    second = SecondChecker(checker_source())
    try:
        assert second.check(content)["verdict"] == "PROVED"
    finally:
        second.close()
    again = run("verify", key["certificate"], "--source", "--project", place)
    assert (again.code, "3 read again, 0 changed" in again.out) == (0, True)
    # Once the key is right again the source does not show it any more.
    changed(place, "delete from customers where rowid = 3")
    assert run("verify", key["certificate"], "--source", "--project", place).code == 1
    (place / "r.dl").write_text(RULES.replace("@[key = c] ", ""))
    assert run("verify", key["certificate"], "--source", "--project", place).code == 1


def test_a_certificate_of_a_violation_is_accepted(place: Path, tmp_path: Path) -> None:
    ran = command(place, "known", "--certificates", str(tmp_path / "broken"), "--format", "json")
    assert ran.code == 5
    schema = run("schema", "check-data").json
    jsonschema.Draft202012Validator(schema).validate(ran.json)
    (file,) = ran.json["checks"][0]["certificates"]
    assert run("verify", file).code == 0
    again = run("verify", file, "--source", "--project", place)
    assert (again.code, "2 read again" in again.out) == (0, True)
    goal = json.loads((tmp_path / "broken" / "known-1.json").read_text())["header"]["goal"]
    assert goal[0] == "violates_known"


def test_what_is_printed_says_which_hold(place: Path) -> None:
    ran = command(place)
    assert "known: BROKEN, 1 row\n" in ran.out
    assert "  violates_known(2, z)\n" in ran.out
    assert "never: holds\n" in ran.out
    assert "typed: not known\n" in ran.out


def test_fewer_rows_may_be_shown(place: Path) -> None:
    changed(place, "insert into orders values(5, 'y', 1)")
    assert "  and 1 more\n" in command(place, "known", "--most", "1").out


def test_a_name_that_does_not_exist_is_an_error(place: Path) -> None:
    ran = command(place, "knwon")
    assert (ran.code, "C0526" in ran.err, "known" in ran.err) == (2, True, True)


CELLS = """\
@[key = id] .decl days(id: number, @[null = maybe] wind: number, rain: number)
.input days(source = "files", query = "SELECT id, wind, rain FROM days")
"""


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Return a project over a CSV whose 2,500th row has a cell that is no number."""
    lines = [f"{n},,{n % 40}" for n in range(1, 3_001)]
    lines[2_499] = "2500,,1e3"
    (tmp_path / "days.csv").write_text("id,wind,rain\n" + "\n".join(lines) + "\n")
    (tmp_path / "r.dl").write_text(CELLS)
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {files: {files: {days: {file: days.csv}}}}\n"
    )
    return tmp_path


def test_a_key_is_known_where_another_cell_is_no_value(days: Path) -> None:
    (found,) = checked(days).values()
    assert (found.verdict.value, found.broken, found.reasons) == ("PROVED", 0, ())


def test_a_key_that_two_rows_have_is_broken_where_a_cell_of_one_is_no_value(days: Path) -> None:
    text = (days / "days.csv").read_text().replace("2500,,1e3", "7,,1e3")
    (days / "days.csv").write_text(text)
    (found,) = checked(days).values()
    assert (found.verdict.value, found.broken) == ("DISPROVED", 1)
    assert found.text.endswith("; two have id = 7, and a cell of one of them is no value")


def test_a_cell_far_below_is_told_with_its_file_and_line_by_check_and_doctor(days: Path) -> None:
    for command_line in (("rules", "check"), ("doctor",)):
        ran = run(*command_line, "--project", days)
        said = ran.out + ran.err
        assert "a value of `rain` behind the first 2,000 rows is no number" in said
        assert "`1e3` in line 2,501 of days.csv" in said
        assert 'write `rain: float`; where that is no value, `null: {"rain": ["1e3"]}`' in said


@pytest.mark.parametrize(
    ("column", "bound", "null", "answer"),
    [
        ("rain: float", "100.0", "", {(2_500,)}),
        ("@[null = none] rain: number", "100", ', null: {"rain": ["1e3"]}', set()),
    ],
)
def test_the_edits_for_a_cell_that_is_no_number_do_what_they_say(
    days: Path, column: str, bound: str, null: str, answer: set[tuple[int, ...]]
) -> None:
    rule = f".decl wet(n: number) wet(?n) :- days(id = ?n, rain = ?r), ?r > {bound}."
    (days / "r.dl").write_text(CELLS.replace("rain: number", column) + rule)
    (days / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {files: {files: {days: {file: days.csv" + null + "}}}}\n"
    )
    with Session(days) as session:
        answers = session.query("wet(?n)")
        assert ({row.values for row in answers}, answers.exit_code) == (answer, 0)


def test_a_cell_that_is_no_value_is_the_reason_and_not_a_null_beside_it(days: Path) -> None:
    (days / "r.dl").write_text(CELLS.replace("@[key = id] ", ""))
    with Session(days) as session:
        (reason,) = session.query("days(?i, ?w, ?r), ?i = 2500").reasons
    assert reason.reason == (
        "database files: query of days, column rain (declared number) is not an integer [C0525];"
        " if it holds texts now, declare `rain: symbol`;"
        " where no rule reads it, `@[key = ...]` before `.decl` leaves it unread"
    )


def test_rows_of_which_none_is_decided_are_not_called_answers(days: Path) -> None:
    rule = ".decl windy(i: number) windy(?i) :- days(id = ?i, wind = ?w), ?w > 1."
    (days / "r.dl").write_text(CELLS + rule)
    said = run("query", "windy(?i), ?i < 5", "--project", days).out
    assert "\nNo answer is certain; 4 may hold. " in said
