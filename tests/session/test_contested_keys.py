"""Rows that share a declared key leave that key open, and no other (semantics 6, 22, 50).

Whether they are alike, differ in what is read or only elsewhere: every engine says the same of each
key as `prove` does, and of a key without a second row what it says when the others are not there.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from itertools import product
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from constat.check import check_certificate
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

Bill = tuple[int, int, int, str | None]

RULES: Final = """\
.pragma "constat" "0.1"
@[key = c]
.decl customer(c: number, name: symbol)
.input customer(source = shop, query = "SELECT c, name FROM customer")
@[key = i]
.decl bill(i: number, c: number, total: number, @[null = maybe] note: symbol)
.input bill(source = shop, query = "SELECT i, c, total, note FROM bill")
.decl revenue(c: number, t: number)
revenue(?c, ?t) :- customer(?c, _), ?t = sum ?a : { bill(_i, ?c, ?a, _) }.
.decl rich(c: number)
rich(?c) :- revenue(?c, ?t), ?t >= 100.
.decl bills(c: number, n: number)
bills(?c, ?n) :- customer(?c, _), ?n = count : { bill(_i, ?c, _, _) }.
.decl busy(c: number)
busy(?c) :- bills(?c, ?n), ?n >= 2.
.decl buys(c: number)
buys(?c) :- customer(?c, _), bill(_, ?c, _, _).
.decl idle(c: number)
idle(?c) :- customer(?c, _), !bill(_, ?c, _, _).
.decl noted(c: number)
noted(?c) :- customer(?c, _), bill(_i, ?c, ?t, "x"), ?t > 0.
"""
GOALS: Final = ("rich", "busy", "buys", "idle", "noted")
ENGINES: Final = ("reference", "forward", "auto")
PEOPLE: Final = (1, 4, 5)
PLAIN: Final[tuple[Bill, ...]] = tuple((n, n, 100, "x") for n in range(1, 6))
CONTESTED: Final[dict[str, Bill]] = {
    "another customer": (4, 5, 1, "x"),
    "another total": (4, 4, 1, "x"),
    "another note, which hardly any rule reads": (4, 4, 100, "y"),
    "the same row again": (4, 4, 100, "x"),
    "a note that is not known": (4, 4, 100, None),
}


def write(folder: Path, bills: tuple[Bill, ...], kind: str = "sqlite", uri: str = "") -> Path:
    """Write a project and its data; at an address these lie already."""
    folder.mkdir(exist_ok=True)
    people = [(n, f"n{n}") for n in range(1, 6)]
    shop: dict[str, object] = {"uri": uri or "sqlite:///shop.sqlite"}
    if kind == "csv":
        shop = {"files": {name: f"data/{name}.csv" for name in ("customer", "bill")}}
        (folder / "data").mkdir(exist_ok=True)
        for name, head, rows in (
            ("customer", "c,name", people),
            ("bill", "i,c,total,note", bills),
        ):
            with (folder / "data" / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(head.split(","))
                writer.writerows(rows)
    elif not uri:
        (folder / "shop.sqlite").unlink(missing_ok=True)
        with closing(sqlite3.connect(folder / "shop.sqlite")) as base:
            base.execute("CREATE TABLE customer(c INTEGER, name TEXT)")
            base.execute("CREATE TABLE bill(i INTEGER, c INTEGER, total INTEGER, note TEXT)")
            base.executemany("INSERT INTO customer VALUES (?, ?)", people)
            base.executemany("INSERT INTO bill VALUES (?, ?, ?, ?)", bills)
            base.commit()
    (folder / "r.dl").write_text(RULES)
    databases = json.dumps({"shop": shop})
    (folder / "constat.yaml").write_text(f"rules: [r.dl]\ndatabases: {databases}\n")
    return folder


Said = dict[tuple[str, int], str]


def proved(folder: Path) -> Said:
    """Say what `prove` says of each goal and customer."""
    with Session(folder) as session:
        found = {(goal, n): session.prove(f"{goal}({n})") for goal in GOALS for n in PEOPLE}
    assert all(check_certificate(one.certificate).accepted for one in found.values())
    return {one: result.verdict.value for one, result in found.items()}


def listed(folder: Path, engine: str) -> Said:
    """Say what an engine lists, and what it does not."""
    said: Said = {}
    with Session(folder) as session:
        for goal in GOALS:
            answers = session.query(f"{goal}(?c)", engine=engine, check="off")
            assert not answers.open_shapes
            found = {row.values[0]: row.verdict.value for row in answers.rows}
            said |= {(goal, n): str(found.get(n, "DISPROVED")) for n in PEOPLE}
    return {one: "PROVED" if word == "COMPUTED" else word for one, word in said.items()}


@pytest.mark.sampled(6, "laws")
@pytest.mark.parametrize(
    ("how", "kind"), [*product(CONTESTED, ["sqlite"]), ("the same row again", "csv")]
)
def test_each_engine_says_of_each_key_what_prove_says(tmp_path: Path, how: str, kind: str) -> None:
    contested = CONTESTED[how]
    said = proved(write(tmp_path / "with", (*PLAIN, contested), kind))
    assert said["rich", 4] == said["busy", 4] == "UNRESOLVED"
    for engine in ENGINES:
        assert listed(tmp_path / "with", engine) == said, engine
    plain = proved(write(tmp_path / "without", PLAIN, kind))
    for goal, n in product(GOALS, {*PEOPLE} - {4, contested[1]}):
        assert said[goal, n] == plain[goal, n] != "UNRESOLVED", (goal, n)


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", CONTESTED)
def test_an_engine_says_which_key_it_is(tmp_path: Path, how: str, engine: str) -> None:
    with Session(write(tmp_path / "p", (*PLAIN, CONTESTED[how]))) as session:
        answers = session.query("rich(?c)", engine=engine, check="off")
    (told,) = {one.reason for one in answers.reasons}
    assert "2 rows for one key" in told


@pytest.mark.parametrize("how", ["another total", "the same row again"])
def test_what_is_advised_for_a_contested_key_is_what_helps(tmp_path: Path, how: str) -> None:
    """Stating one of the rows helps nobody, so nobody is told to; the source has to be mended."""
    folder = write(tmp_path / "p", (*PLAIN, CONTESTED[how]))
    advice = "mend the rows of bill with i = 4 in the source; `constat check-data bill` lists them"
    for command in ("prove", "why-not", "missing"):
        told = run(command, "rich(4)", "--project", folder)
        assert advice in told.out, command
        assert "supply it as a fact" not in told.out, command
        assert "if it holds" not in told.out, command
        rows = {"4, 4, 100"} | ({"4, 4, 1"} if how == "another total" else set())
        assert all(f"bill({row}, " in told.out for row in rows), command
    listed_rows = run("query", "rich(?c)", "--project", folder)
    assert "mend the rows of bill in the source" in listed_rows.out
    assert "state a fact" not in listed_rows.out
    (supposed,) = {
        run("what-if", "rich(4)", "--add", "bill(4, 4, 100, x)", "--project", folder).code
    }
    assert supposed == run("prove", "rich(4)", "--project", folder).code == 4
    checked = run("check-data", "bill", "--project", folder)
    assert "bill" in checked.out
    assert checked.code == 5
    with Session(folder) as session:
        page = session.prove("rich(4)")._repr_html_()
    assert "Rows that contradict each other; mend them in the source" in page
    assert "or state it" not in page
    with Session(write(tmp_path / "mended", PLAIN)) as session:
        assert session.prove("rich(4)").verdict.value == "PROVED"


FAULTS: Final[dict[str, tuple[object, ...]]] = {
    "no number": (4, 4, "oops", "x"),
    "no total": (4, 4, None, "x"),
    "no note": (4, 4, 100, None),
}


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_in_a_column_is_met_by_nobody_who_does_not_read_it(
    tmp_path: Path, fault: str
) -> None:
    bills = (*PLAIN[:3], FAULTS[fault], PLAIN[4])
    folder = write(tmp_path / "p", bills)  # type: ignore[arg-type]  # what is wrong with them
    (folder / "r.dl").write_text(RULES.replace("@[null = maybe] note", "note"))
    said = proved(folder)
    assert said["busy", 4] == "DISPROVED"
    assert said["buys", 4] == "PROVED"
    assert said["rich" if fault != "no note" else "noted", 4] == "UNRESOLVED"
    for engine in ENGINES:
        assert listed(folder, engine) == said, engine


@pytest.mark.parametrize("goals", [("buys(4)", "busy(4)"), ("busy(4)", "buys(4)")])
def test_what_one_goal_may_merge_another_counts(tmp_path: Path, goals: tuple[str, str]) -> None:
    folder = write(tmp_path / "p", (*PLAIN, CONTESTED["the same row again"]))
    with Session(folder) as session:
        found = {goal: session.prove(goal).verdict.value for goal in goals}
    assert found == {"buys(4)": "PROVED", "busy(4)": "UNRESOLVED"}


BILL: Final = st.tuples(
    st.integers(1, 3), st.integers(1, 2), st.sampled_from((1, 100)), st.sampled_from(("x", None))
)


@pytest.mark.laws
@settings(max_examples=25)
@given(st.lists(BILL, max_size=6))
def test_so_they_do_over_any_rows(
    tmp_path_factory: pytest.TempPathFactory, bills: list[Bill]
) -> None:
    folder = write(tmp_path_factory.mktemp("any") / "p", tuple(bills))
    said = proved(folder)
    assert listed(folder, "reference") == said
    assert listed(folder, "forward") == said
