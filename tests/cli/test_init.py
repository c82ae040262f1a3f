"""`constat init`: the foreign keys of a database become constraints that `check-data` checks."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_foreign_keys_are_drafted_and_null_refers_to_nothing(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.executescript(
            "create table customers(c text primary key, n text not null);"
            "create table orders(o integer primary key, c text not null references customers(c),"
            " other text references customers(c));"
            "insert into customers values('a', 'A');"
            "insert into orders values(1, 'a', 'a'), (2, 'z', null);"
        )
    folder = tmp_path / "shop"
    assert run("init", tmp_path / "shop.db", "--directory", folder).code == 0
    written = (folder / "rules" / "sources.dl").read_text()
    assert ".constraint orders_c: orders(c = ?c) => customers(c = ?c).\n" in written
    drafted = "@[null = none]\n.constraint orders_other: orders(other = ?other) => customers("
    assert drafted in written
    ran = run("check-data", "orders_c", "--project", folder)
    assert (ran.code, "violates_orders_c(z)" in ran.out) == (5, True)
    assert run("check-data", "orders_other", "--project", folder).code == 0
    # Without that word the row may refer to anything.
    (folder / "rules" / "sources.dl").write_text(written.replace("@[null = none]\n.con", ".con"))
    assert run("check-data", "orders_other", "--project", folder).code == 4
    (folder / "rules" / "sources.dl").write_text(written)
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("insert into orders values(3, 'a', 'q')")
    ran = run("check-data", "orders_other", "--certificates", tmp_path / "to", "--project", folder)
    assert (ran.code, "violates_orders_other(q)" in ran.out) == (5, True)
    file = tmp_path / "to" / "orders_other-1.json"
    assert run("verify", file, "--source", "--project", folder).code == 0


def _customers(folder: Path) -> None:
    with sqlite3.connect(folder / "crm.db") as base:
        base.executescript(
            "create table customers(c text primary key, name text not null collate nocase,"
            " city text collate nocase, note text);"
            "create table orders(o integer primary key, c text not null references customers(c),"
            " amount integer not null);"
            "insert into customers values('C1', 'Anna', 'Rome', 'x'), ('C2', 'Bob', null, null);"
            "insert into orders values(1, 'C1', 5), (2, 'C9', 6);"
        )


def test_what_the_source_compares_otherwise_is_said_with_edits_that_work(tmp_path: Path) -> None:
    _customers(tmp_path)
    ran = run("init", tmp_path / "crm.db", "--directory", tmp_path / "p")
    assert "note: `customers.name`, `customers.city`: the source takes `a` and `A`" in ran.out
    file = tmp_path / "p" / "rules" / "sources.dl"
    text = file.read_text()
    assert "// In `name` and `city` the source takes `a` and `A` for equal" in text
    first, second, *_ = (line for line in text.splitlines() if line.startswith("// `"))
    goal = first.split("`")[1].replace("[Aa]bc", "[Aa]nna")
    ran = run("query", f"customers(c = ?c, name = ?name), {goal}", "--project", tmp_path / "p")
    assert "C1  Anna" in ran.out
    lowered = second.split("`")[1]
    assert lowered == "lower(name)"
    file.write_text(text.replace("SELECT c, name,", f"SELECT c, {lowered},"))
    goal = 'customers(c = "C1", name = "anna")'
    assert run("prove", goal, "--project", tmp_path / "p").code == 0


def test_rows_that_point_nowhere_are_told_where_the_source_does_not_look(tmp_path: Path) -> None:
    _customers(tmp_path)
    ran = run("init", tmp_path / "crm.db", "--directory", tmp_path / "p")
    told = "orders: `c` is declared to point to `customers.c`, and 1 of 2 values are not there"
    assert f"note: {told}" in ran.out
    assert f"// C0848: crm.{told}" in (tmp_path / "p" / "rules" / "sources.dl").read_text()
    assert "constat check-data" in ran.out


def test_several_columns_that_point_nowhere_are_told(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "crm.db") as base:
        base.executescript(
            "create table shelf(room text, place integer, primary key(room, place));"
            "create table box(b integer primary key, room text, place integer,"
            " foreign key(room, place) references shelf(room, place));"
            "insert into shelf values('A', 1), ('B', 2);"
            "insert into box values(1, 'A', 1), (2, 'A', 2), (3, 'C', null), (4, 'B', 2);"
        )
    ran = run("init", tmp_path / "crm.db", "--directory", tmp_path / "p")
    said = "declared to point to `shelf.room, shelf.place`, and 1 of 3 values are not there"
    assert f"note: box: `room, place` is {said}" in ran.out


def test_a_database_is_drafted_by_its_name(tmp_path: Path) -> None:
    _customers(tmp_path)
    folder = tmp_path / "p"
    run("init", tmp_path / "crm.db", "--directory", folder, "--tables", "orders")
    ran = run(
        "catalog", "draft", "crm", "--output", folder / "rules" / "all.dl", "--project", folder
    )
    assert "drafted: customers(" in ran.out
    assert "all.dl, which the rules of the project include now" in ran.out
    assert run("rules", "check", "--project", folder).code == 0
    ran = run("catalog", "draft", "crm", "--output", tmp_path / "all.dl", "--project", folder)
    assert "all.dl; name it in `rules:` of constat.yaml" in ran.out
    ran = run("catalog", "show", "crm", "--project", folder)
    assert (ran.code, "`crm` is a database, and no table" in ran.err) == (2, True)
    assert "it has `crm.customers`, `crm.orders`" in ran.err


def test_what_cannot_be_set_is_told_with_a_row_that_can(tmp_path: Path) -> None:
    _customers(tmp_path)
    folder = tmp_path / "p"
    run("init", tmp_path / "crm.db", "--directory", folder)
    for wrong in ("orders=5", "orders(1)=5", "has_orders=C2", "has_orders(C2)"):
        ran = run("what-if", "has_orders(C2)", "--set", wrong, "--project", folder)
        assert (ran.code, "such as `" in ran.err) == (2, True), wrong
        option, row = shlex.split(ran.err.partition("such as `")[2].partition("`")[0])
        ran = run("what-if", "has_orders(C2)", option, row, "--quiet", "--project", folder)
        assert (ran.code, "supposed: " in ran.out + ran.err) == (5, True), wrong


def _staff(folder: Path) -> Path:
    with sqlite3.connect(folder / "staff.db") as base:
        base.executescript(
            "create table emp(id integer primary key, dept text not null, salary integer);"
            "insert into emp values(1, 'a', 10), (2, 'a', 20), (3, 'a', null), (4, 'b', 30);"
            "insert into emp values(5, 'b', 40), (6, 'b', 50), (7, 'b', 60);"
        )
    run("init", folder / "staff.db", "--directory", folder / "p")
    (folder / "p" / "rules" / "own.dl").write_text(
        '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n.include "sources.dl"\n.once\n'
        ".decl paid(dept: symbol, total: number)\n"
        "paid(?d, ?t) :- emp(dept = ?d), ?t = sum ?s : { emp(id = _i, dept = ?d, salary = ?s) }.\n"
        ".decl cheap(dept: symbol)\ncheap(?d) :- paid(?d, ?t), ?t < 175.\n"
        ".decl alone(dept: symbol)\nalone(?d) :- emp(dept = ?d), !paid(?d, 180).\n"
    )
    return folder / "p"


def test_what_is_open_in_a_query_names_no_relation_that_nobody_wrote(tmp_path: Path) -> None:
    goal = "emp(id = ?i, dept = ?d), ?m = max ?s : { emp(id = _i, dept = ?d, salary = ?s) }"
    ran = run("query", goal, "--project", _staff(tmp_path))
    assert "the query: the max of this group is not known (3 times)" in ran.out
    assert "    where ?i = 1, ?d = a or ?i = 2, ?d = a or ?i = 3, ?d = a\n" in ran.out
    assert "query(" not in ran.out


def test_sets_of_another_kind_are_shown_where_they_are_as_cheap(tmp_path: Path) -> None:
    project = _staff(tmp_path)
    alone = run("missing", "cheap(b)", "--removable", "emp", "--project", project)
    assert alone.out.count("  remove emp(") == 3
    both = run(
        "missing", "cheap(b)", "--removable", "emp", "--abducible", "emp", "--project", project
    )
    assert (both.out.count("  remove emp("), both.out.count("  add emp(")) == (2, 1)


def test_what_would_prove_a_goal_is_asked_by_a_command_to_copy(tmp_path: Path) -> None:
    project = _staff(tmp_path)
    first = run("missing", "cheap(b)", "--project", project)
    (command,) = (one for one in first.out.splitlines() if one.startswith("  constat missing"))
    assert (
        "  remove emp("
        in run(*shlex.split(command)[1:], "--removable", "emp", "--project", project).out
    )
    # What stands below a negation is taken away.
    shop = run("missing", "is_vip(C004)", "--abducible", "vip_threshold=3")
    (command,) = (one for one in shop.out.splitlines() if one.startswith("  constat missing"))
    assert "--abducible vip_threshold=3 " in command
    assert "remove blocked(C004)" in run(*shlex.split(command)[1:]).out


def test_a_goal_of_several_literals_is_called_the_goal(tmp_path: Path) -> None:
    project = _staff(tmp_path)
    ran = run("prove", "emp(id = ?i, salary = ?s), ?s > 1000", "--project", project)
    assert "the goal: may give it, but something is unknown" in ran.out
    ran = run("prove", "emp(id = 1, salary = ?s), 5 / (?s - 10) > 1", "--project", project)
    assert "the goal could not be evaluated: division by zero" in ran.out
    assert "the.goal" not in ran.out


def test_what_another_language_takes_for_a_variable_is_said(tmp_path: Path) -> None:
    project = _staff(tmp_path)
    ran = run("prove", "emp(1, D, ?s)", "--project", project)
    assert 'no emp has the dept "D"; if a variable is meant, write ?d' in ran.err
    assert run("prove", "emp(1, ?d, ?s)", "--quiet", "--project", project).code == 0
    ran = run("prove", "emp(1, Dept, ?s)", "--project", project)
    assert "if a variable is meant, write ?dept" in ran.err
    ran = run("prove", "emp(1, sales, ?s)", "--project", project)
    assert "variable" not in ran.err


def begun(folder: Path, schema: str) -> Path:
    with closing(sqlite3.connect(folder / "data.sqlite")) as connection:
        connection.executescript(schema)
    assert run("init", folder / "data.sqlite", "--directory", folder).code == 0
    return folder / "rules"


def test_a_table_that_stands_alone_teaches_a_yes_a_no_a_count_and_a_sum(tmp_path: Path) -> None:
    rules = begun(
        tmp_path,
        "CREATE TABLE sales (id INTEGER PRIMARY KEY, amount REAL NOT NULL, day DATE);"
        "INSERT INTO sales VALUES (1, 2.5, '2024-01-01'), (2, 7.25, '2024-01-02');",
    )
    tried = [line for line in (rules / "first.dl").read_text("utf-8").splitlines() if "# " in line]
    codes = []
    for line in tried:
        _, _, verb, goal, *_ = shlex.split(line)
        codes.append(run(verb, goal, "--project", tmp_path).code)
    assert codes == [0, 5, 0], tried
    assert "2" in run("query", "number_of_sales(?n)", "--project", tmp_path).out
    assert "9.75" in run("query", "total_amount_of_sales(?t)", "--project", tmp_path).out


def test_words_of_tables_are_those_that_their_keys_and_names_say(tmp_path: Path) -> None:
    rules = begun(
        tmp_path,
        "CREATE TABLE Tiere (TierNr INTEGER PRIMARY KEY, Name TEXT NOT NULL);"
        "CREATE TABLE tblBikes_V2 (id INTEGER PRIMARY KEY, tier INTEGER REFERENCES Tiere);"
        "CREATE TABLE damage (a INTEGER, b INTEGER);"
        "CREATE TABLE visits (tier INTEGER, visit_no INTEGER, PRIMARY KEY (tier, visit_no));"
        "INSERT INTO Tiere VALUES (1, 'Rex'), (2, 'Lux'); INSERT INTO tblBikes_V2 VALUES (1, 1);"
        "INSERT INTO damage VALUES (1, 2);",
    )
    drafted = (rules / "sources.dl").read_text("utf-8")
    for sentence in (
        "tier {tier_nr}: name {name}",
        "bike {id} of ",
        "damage: a {a}, b {b}",
        "visit {visit_no} of tier {tier}",
    ):
        assert f'"{sentence}' in drafted, drafted
    assert "the number of bikes of tier {tier_nr}" in (rules / "first.dl").read_text("utf-8")


_TABLES = "CREATE TABLE {} (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"


@pytest.mark.parametrize(
    ("tables", "nouns"),
    [
        (
            ("houses", "statuses", "movies", "series", "news", "people", "caches", "prizes", "Gas"),
            ("house", "status", "movie", "series", "news", "person", "cache", "prize", "gas"),
        ),
        (
            ("Boote", "Orte", "Autos", "Häuser", "Mitarbeiter", "Kurs", "Rechnungen"),
            ("boote", "orte", "autos", "häuser", "mitarbeiter", "kurs", "rechnung"),
        ),
    ],
)
def test_a_table_is_called_in_the_singular_or_as_it_is(
    tmp_path: Path, tables: Sequence[str], nouns: Sequence[str]
) -> None:
    rules = begun(tmp_path, "".join(map(_TABLES.format, tables)))
    drafted = (rules / "sources.dl").read_text("utf-8")
    for noun in nouns:
        assert f'"{noun} {{id}}: name {{name}}"' in drafted, noun


def test_what_points_to_a_table_says_how_a_row_is_called(tmp_path: Path) -> None:
    rules = begun(
        tmp_path,
        "CREATE TABLE Kunden (KundenNr INTEGER PRIMARY KEY, Größe INTEGER NOT NULL);"
        "CREATE TABLE Häuser (HausNr INTEGER PRIMARY KEY, Kunde INTEGER REFERENCES Kunden);"
        "CREATE TABLE boat (boat TEXT NOT NULL, length INTEGER NOT NULL);"
        "CREATE TABLE trip (trip INTEGER, day TEXT NOT NULL, PRIMARY KEY (day, trip));"
        "INSERT INTO Kunden VALUES (1, 3); INSERT INTO Häuser VALUES (1, 1);"
        "INSERT INTO boat VALUES ('Ada', 3); INSERT INTO trip VALUES (1, 'x');",
    )
    drafted = (rules / "sources.dl").read_text("utf-8")
    for sentence in (
        "kunde {kunden_nr}: größe {grosse}",
        "haus {haus_nr} of kunde {kunde}",
        "boat {boat}: length {length}",
        "trip {trip} of day {day}",
    ):
        assert f'"{sentence}"' in drafted, drafted
    assert "kunde {kunden_nr} has häuser" in (rules / "first.dl").read_text("utf-8")


def test_names_that_say_little_are_told_by_what_they_stand_for(tmp_path: Path) -> None:
    rules = begun(
        tmp_path,
        "CREATE TABLE Kunden (KdNr INTEGER PRIMARY KEY, Ort TEXT NOT NULL);"
        "CREATE TABLE Auftr (AuftrNr INTEGER PRIMARY KEY, KdNr INTEGER NOT NULL REFERENCES Kunden,"
        " Menge INTEGER NOT NULL);"
        "CREATE TABLE T017 (id INTEGER PRIMARY KEY, Bez TEXT NOT NULL);"
        "INSERT INTO Kunden VALUES (1, 'Linz'); INSERT INTO Auftr VALUES (7, 1, 3);"
        "INSERT INTO T017 VALUES (1, 'a');",
    )
    drafted = (rules / "sources.dl").read_text("utf-8")
    assert '"auftr {auftr_nr} of kunden {kd_nr}: menge {menge}"' in drafted
    assert '"T017 {id}: bez {bez}"' in drafted
