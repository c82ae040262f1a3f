"""A new project: its first goal runs, its rules are right, its secrets are in no file."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest

from constat import Session
from constat.catalog import files
from constat.catalog.files import load_csv
from constat.diagnostics import ConstatError
from constat.library import check_rules
from constat.library.listing import rewrite
from constat.project import load_project
from constat.session import starting
from constat.session.cases import run_cases
from constat.session.catalog import LOOKED_AT, draft_tables
from constat.session.starting import beginning, start
from constat.store.replacing import replaced
from tests.catalog.schema_worlds import SHOP, duckdb_file, sqlite_file
from tests.cli.running import run

if TYPE_CHECKING:
    from constat.session.starting import Started


def sound(found: Started) -> None:
    """The project is one, its rules are right and laid out, and its first goal runs as told."""
    rules = [found.folder / "rules" / name for name in ("sources.dl", "first.dl")]
    rules.append(found.folder / "rules" / "cases" / "first.dl")
    checked = check_rules(rules[:2])
    assert (checked.diagnostics, checked.incomplete) == ((), ())
    assert all(rewrite(path.read_bytes(), path.name).status == "unchanged" for path in rules)
    assert run_cases(project=found.folder).failures == ()
    with Session(found.folder) as session:
        assert session.prove(found.goal).verdict is found.result.verdict


def test_a_project_begins_with_the_largest_relationship(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "p" / "shop.sqlite")
    found = start("shop.sqlite", tmp_path / "p", tmp_path / "p")
    sound(found)
    assert (found.goal, found.result.verdict.value) == ("has_orders(C002)", "PROVED")
    # The view is left to drafting.
    assert (found.database, found.left_out) == ("shop", 1)
    text = (tmp_path / "p" / "constat.yaml").read_text(encoding="utf-8")
    assert 'uri: "sqlite:///shop.sqlite"' in text
    rules = {"rules/sources.dl", "rules/first.dl", "rules/cases/first.dl"}
    assert set(found.files) == {*rules, "plans/first.yaml", ".gitignore", "constat.yaml"}


@pytest.mark.parametrize("address", ["../data/shop.sqlite", "sqlite:///../data/shop.sqlite"])
def test_a_file_elsewhere_is_named_absolutely(tmp_path: Path, address: str) -> None:
    file = sqlite_file(tmp_path / "data" / "shop.sqlite")
    here = tmp_path / "here"
    here.mkdir()
    found = start(address, here / "p", here)
    sound(found)
    assert f"sqlite:///{file}" in (here / "p" / "constat.yaml").read_text(encoding="utf-8")


def test_other_kinds_of_sources(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    duckdb_file(
        tmp_path / "d" / "shop.duckdb",
        "CREATE TABLE stock (part VARCHAR, n INTEGER)",
        "INSERT INTO stock VALUES ('bolt', 7)",
    )
    found = start("shop.duckdb", tmp_path / "d", tmp_path / "d")
    sound(found)
    assert found.goal == "is_in_stock(bolt)"
    data = tmp_path / "f" / "data"
    data.mkdir(parents=True)
    (data / "customers.csv").write_text("id,name\nC001,Ada\n")
    (data / "orders.json").write_text('[{"id": 1, "customer_id": "C001"}]')
    (data / "orders.csv").write_text("id\n1\n")
    (data / "notes.txt").write_text("no table")
    found = start("data", tmp_path / "f", tmp_path / "f")
    sound(found)
    assert found.tables == ("data.customers", "data.orders_2", "data.orders")
    assert found.goal == "has_orders_2(C001)"


def test_a_database_without_rows_has_a_goal_that_runs(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", SHOP.partition("INSERT")[0])
    found = start("shop.sqlite", tmp_path, tmp_path)
    sound(found)
    assert (found.goal, found.result.verdict.value) == ("is_in_orders(?id)", "DISPROVED")


def test_many_tables_are_left_to_drafting(tmp_path: Path) -> None:
    script = "".join(f"CREATE TABLE t{n:02} (id INTEGER PRIMARY KEY);" for n in range(40))
    script += "CREATE TABLE uses (t39_id INTEGER);"
    sqlite_file(tmp_path / "shop.sqlite", script)
    found = start("shop.sqlite", tmp_path, tmp_path)
    # What is related to others comes first.
    assert found.tables[:2] == ("shop.t39", "shop.uses")
    assert (len(found.tables), found.left_out) == (starting.MOST_TABLES, 11)
    other = start("shop.sqlite", tmp_path / "other", tmp_path, tables=["t07"])
    assert other.tables == ("shop.t07",)


def test_nothing_is_overwritten_and_an_interrupted_beginning_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_file(tmp_path / "shop.sqlite")

    def interrupted(path: Path, mode: int) -> object:
        if path.name == "constat.yaml":
            raise OSError(28, "No space left on device")
        return replaced(path, mode)

    with monkeypatch.context() as patch:
        patch.setattr("constat.session.starting.replaced", interrupted)
        with pytest.raises(ConstatError, match="No space left"):
            start("shop.sqlite", tmp_path, tmp_path)
    assert not (tmp_path / "constat.yaml").exists()
    assert start("shop.sqlite", tmp_path, tmp_path).files == ("constat.yaml",)
    for change in ("constat.yaml", "rules/sources.dl"):
        if change != "constat.yaml":
            (tmp_path / "constat.yaml").unlink()
            (tmp_path / change).write_text("// mine\n")
        before = (tmp_path / change).read_bytes()
        with pytest.raises(ConstatError) as caught:
            start("shop.sqlite", tmp_path, tmp_path)
        assert caught.value.diagnostics[0].code == "C0851"
        assert (tmp_path / change).read_bytes() == before


@pytest.mark.parametrize(
    ("address", "shown", "secrets"),
    [
        (
            "postgresql://reader:p%40ss@db.example/crm",
            "postgresql://reader:${CRM_PASSWORD}@db.example/crm",
            {"CRM_PASSWORD": "p%40ss"},
        ),
        ("mysql://r:a:b@c@h/x", "mysql://r:${X_PASSWORD}@h/x", {"X_PASSWORD": "a:b@c"}),
        ("postgresql://r:${PW}@h/x", "postgresql://r:${PW}@h/x", {}),
        ("postgresql://h/x", "postgresql://h/x", {}),
        (
            "postgresql://r@h/x?password=geheim&sslmode=require",
            "postgresql://r@h/x?password=${X_PASSWORD}&sslmode=require",
            {"X_PASSWORD": "geheim"},
        ),
    ],
)
def test_secrets_are_taken_out_of_addresses(
    address: str, shown: str, secrets: dict[str, str], tmp_path: Path
) -> None:
    found = beginning(address, tmp_path, tmp_path)
    assert (found.address, dict(found.secrets)) == (shown, secrets)
    assert all(secret not in repr(found) for secret in secrets.values())


@pytest.mark.parametrize(
    "address", ["gone.sqlite", "nope://h/x", "", "a\x1bb", "notes.txt", "empty", "sqlite:///gone"]
)
def test_what_cannot_be_read_begins_nothing(tmp_path: Path, address: str) -> None:
    (tmp_path / "notes.txt").write_text("no table")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConstatError) as caught:
        start(address, tmp_path / "p", tmp_path)
    assert caught.value.diagnostics[0].code == "C0852"
    assert not (tmp_path / "p").exists()


def test_a_database_without_readable_tables_begins_nothing(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", "CREATE TABLE t (b BLOB)")
    with pytest.raises(ConstatError, match="no table"):
        start("shop.sqlite", tmp_path / "p", tmp_path)
    assert not (tmp_path / "p").exists()


ALONE = "CREATE TABLE shop (id INTEGER PRIMARY KEY, town TEXT NOT NULL, note TEXT);"
ALONE += "INSERT INTO shop VALUES (1, 'New Ulm', ''), (2, 'New Ulm', ''), (3, 'New Ulm', NULL),"
ALONE += "(4, 'New Ulm', ''), (5, 'Linz', ''), (6, 'Linz', ''), (7, 'Linz', ''), (8, 'Linz', '');"


def test_rows_of_a_table_that_stands_alone_are_counted(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", ALONE)
    found = start("shop.sqlite", tmp_path, tmp_path)
    sound(found)
    assert (found.goal, found.result.verdict.value) == ("has_several_shops(Linz)", "PROVED")
    assert "?shops = count : { shop(id = _id, town = ?town) }" in (
        tmp_path / "rules" / "first.dl"
    ).read_text(encoding="utf-8")
    with Session(tmp_path) as session:
        assert session.prove("has_several_shops(Graz)").verdict.value == "DISPROVED"


def test_a_table_that_has_a_german_name_in_the_plural_is_named_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "buchungen.csv").write_text("nr,ort\n1,Linz\n2,Graz\n", encoding="utf-8")
    sound(start("buchungen.csv", tmp_path, tmp_path))
    text = "".join(one.read_text(encoding="utf-8") for one in (tmp_path / "rules").glob("*.dl"))
    assert "buchung {nr}: ort {ort}" in text
    assert "buchungens" not in text


def test_the_century_of_short_years_is_what_the_edit_says(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("nr,born\nK1,11.06.56\nK2,1.2.61\n", encoding="utf-8")
    start("k.csv", tmp_path, tmp_path)
    path = tmp_path / "rules" / "sources.dl"
    drafted = path.read_text(encoding="utf-8")
    (edit,) = re.findall(r"for 1900 to 1999 `(.*?)`", drafted)
    text = drafted.replace("born: symbol", "born: Date")
    path.write_text(text.replace("SELECT nr, born", f"SELECT nr, {edit} AS born"), encoding="utf-8")
    with Session(tmp_path) as session:
        assert session.prove('k(K1, "1956-06-11"), k(K2, "1961-02-01")').verdict.value == "PROVED"


def test_the_next_command_can_be_pasted(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", ALONE + "DELETE FROM shop WHERE town = 'Linz';")
    ran = run("init", tmp_path / "shop.sqlite", "--directory", tmp_path / "p")
    (following,) = (one for one in ran.out.splitlines() if one.startswith("next: "))
    assert shlex.split(following)[3] == 'has_several_shops("New Ulm")'


PEOPLE = [("1", "Ann"), ("2", "Bob"), ("2", "Bo"), ("3", "Cy"), ("4", "Di"), ("", "Ed")]


@pytest.mark.parametrize("kind", ["sqlite", "csv"])
def test_what_keeps_a_column_from_being_a_key_is_said_with_the_edit(
    tmp_path: Path, kind: str
) -> None:
    if kind == "csv":
        rows = "".join(f"{number},{name}\n" for number, name in PEOPLE)
        (tmp_path / "customers.csv").write_text(f"customer_id,name\n{rows}")
    else:
        cells = ", ".join(f"({number or 'NULL'}, '{name}')" for number, name in PEOPLE)
        script = "CREATE TABLE customers (customer_id INTEGER, name TEXT);"
        script += f"INSERT INTO customers VALUES {cells};"
        sqlite_file(tmp_path / "customers.sqlite", script)
    begun = run("init", tmp_path / f"customers.{kind}", "--directory", tmp_path)
    said = "customers: `customer_id` is nearly a key: 2 of 6 rows share its values"
    said += ", and 1 of 6 rows have none, for example 2 (2 rows)"
    assert said in begun.out
    assert "constat check-data" in begun.out
    found = run("check-data", "--project", tmp_path)
    edit = "write `@[key = customer_id]` before `.decl customers`"
    assert (said in found.out, edit in found.out) == (True, True)
    rules = tmp_path / "rules" / "sources.dl"
    drafted = rules.read_text()
    assert "is nearly a key: 2 of 6 rows" in drafted
    assert "for example" not in drafted, "a draft shows no value"
    rules.write_text(drafted.replace(".decl customers", "@[key = customer_id]\n.decl customers"))
    found = run("check-data", "--project", tmp_path)
    assert "key of customers: BROKEN, 1 key" in found.out
    assert "customer_id = 2, name = Bob" in found.out
    assert "nearly" not in found.out


STRANGE = {
    # Columns: what the draft makes of them, and the edit that the draft's case has to bear.
    "amount": ("n/a", "Decimal", "amount: Decimal", "amount: Decimal"),
    "day": ("soon", "Date", "day: Date", "day: Date"),
    "due": ("2025-02-31", "symbol", "due: symbol", "due: Date"),
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", ["sqlite", "csv"])
def test_a_value_of_another_kind_than_all_others_is_shown_with_its_row(
    tmp_path: Path, name: str, kind: str
) -> None:
    value, drafted, before, after = STRANGE[name]
    if kind == "csv" and value == "n/a":
        value = "tbc"  # the other one is known to say that there is no value
    plain = [f"{n}.5" if name == "amount" else f"2025-01-0{n}" for n in range(1, 8)]
    rows = [(n, "ab"[n % 2], one) for n, one in enumerate([*plain, value], start=1)]
    if kind == "csv":
        text = "".join(f"{n},{c},{one}\n" for n, c, one in rows)
        (tmp_path / "bills.csv").write_text(f"id,client,{name}\n{text}")
    else:
        script = f"CREATE TABLE bills (id INTEGER PRIMARY KEY, client TEXT NOT NULL, {name} TEXT);"
        script += f"INSERT INTO bills VALUES {', '.join(map(str, rows))};"
        sqlite_file(tmp_path / "bills.sqlite", script)
    ran = run("init", tmp_path / f"bills.{kind}", "--directory", tmp_path)
    spelled = "Date" if name == "due" else drafted
    assert (
        f"all but 1 of 8 values of `{name}` spell a {spelled}: `{value}` where id is 8" in ran.out
    )
    assert (f'`null: {{"{name}": ["{value}"]}}` beside `file`' in ran.out) == (kind == "csv")
    rules = tmp_path / "rules" / "sources.dl"
    written = rules.read_text()
    assert f"{name}: {drafted}" in written
    assert (f"`{name}` spell a {spelled}" in written, value in written) == (True, False)
    rules.write_text(written.replace(before, after))
    tested = run("rules", "test", "--project", tmp_path)
    assert (tested.code, "BROKEN" in tested.out) == (0, False)
    with Session(tmp_path) as session:
        found = session.query(f"bills(id = ?n, {name} = ?v)")
        assert (len(found), bool(found.reasons)) == (7, True)


def test_a_column_that_points_elsewhere_is_no_key_and_one_without_repetition_is_told(
    tmp_path: Path,
) -> None:
    script = (
        "CREATE TABLE customers (id INTEGER, name TEXT); INSERT INTO customers VALUES (1, 'a');"
        "CREATE TABLE bills (customer_id INTEGER, code TEXT);"
        "INSERT INTO bills VALUES (1, 'x'), (1, 'y');"
    )
    sqlite_file(tmp_path / "shop.sqlite", script)
    start("shop.sqlite", tmp_path, tmp_path)
    drafted = (tmp_path / "rules" / "sources.dl").read_text()
    assert "nearly" not in drafted
    assert "`@[key = id]` before" in drafted
    assert "`@[key = code]` before" in drafted


def test_a_view_is_drafted_where_it_is_asked_for(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", ALONE + "CREATE VIEW seen AS SELECT * FROM shop;")
    found = start("shop.sqlite", tmp_path / "p", tmp_path)
    assert (found.tables, found.left_out) == (("shop.shop",), 1)
    asked = start("shop.sqlite", tmp_path / "q", tmp_path, tables=["seen"])
    assert asked.tables == ("shop.seen",)
    assert (
        "1 more is left to"
        in run("init", tmp_path / "shop.sqlite", "--directory", tmp_path / "r").out
    )


def test_units_are_those_that_names_end_with_and_money_has_cents(tmp_path: Path) -> None:
    script = "CREATE TABLE sale (id INTEGER PRIMARY KEY, price DECIMAL NOT NULL,"
    script += " tax_pct DECIMAL NOT NULL, total_usd DECIMAL NOT NULL, unit_cost DECIMAL NOT NULL,"
    script += " bill_length_mm DECIMAL NOT NULL, mm INTEGER NOT NULL);"
    script += "INSERT INTO sale VALUES (1, 1234.5, 6.5, 7, 0.125, 39.1, 5);"
    sqlite_file(tmp_path / "shop.sqlite", script)
    found = start("shop.sqlite", tmp_path, tmp_path)
    ran = run("prove", "sale(1, ?a, ?b, ?c, ?d, ?e, ?f)", "--project", found.folder)
    said = "Sale 1: price 1,234.50, tax 6.5 %, total $7.00, unit cost 0.125, bill length 39.1 mm"
    assert f"{said}, mm 5" in ran.out


def test_a_file_without_a_null_is_known_to_have_none(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n % 7}\n" for n in range(3000))
    (tmp_path / "a.csv").write_text(f"id,part\n{rows}", encoding="utf-8")
    (tmp_path / "b.csv").write_text(f"id,part\n{rows}3001,\n", encoding="utf-8")
    texts = []
    for one in "ab":
        (tmp_path / one).mkdir()
        (tmp_path / f"{one}.csv").rename(tmp_path / one / f"{one}.csv")
        texts.append(kinds(start(f"{one}.csv", tmp_path / one, tmp_path / one)))
    assert ["null = maybe" in text for text in texts] == [False, True]


def test_the_command_says_what_to_do_next(tmp_path: Path) -> None:
    file = sqlite_file(tmp_path / "shop.sqlite")
    ran = run("init", file, "--directory", tmp_path / "p", "--name", "corner shop")
    assert (ran.code, ran.err) == (0, "")
    verdict, following, *_ = ran.out.splitlines()[-4:]
    assert verdict == "PROVED: has_orders(C002)"
    assert following.startswith('next: constat prove "has_orders(C002)" --project ')
    assert load_project(tmp_path / "p").name == "corner shop"


DAYS = "CREATE TABLE days (id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL, other DATETIME);"


def kinds(found: Started) -> str:
    return (found.folder / "rules" / "sources.dl").read_text(encoding="utf-8")


def test_a_moment_is_a_day_where_every_value_is_a_midnight(tmp_path: Path) -> None:
    rows = "INSERT INTO days VALUES (1, '2009-01-01 00:00:00', '2009-01-01 00:00:00'),"
    rows += "(2, '2009-01-02 00:00:00', '2009-01-01 10:00:00');"
    sqlite_file(tmp_path / "shop.sqlite", DAYS + rows)
    text = kinds(start("shop.sqlite", tmp_path, tmp_path))
    assert ("at: Date" in text, "other: Timestamp" in text) == (True, True)


def test_a_midnight_counts_for_all_rows_also_for_those_that_were_not_looked_at(
    tmp_path: Path,
) -> None:
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT"
    rows += " INTO days SELECT i, '2009-01-01 00:00:00', '2009-01-01 ' || "
    rows += "CASE WHEN i < 2900 THEN '00' ELSE '10' END || ':00:00' FROM n;"
    sqlite_file(tmp_path / "shop.sqlite", DAYS + rows)
    text = kinds(start("shop.sqlite", tmp_path, tmp_path))
    assert ("at: Date" in text, "other: Timestamp" in text) == (True, True)
    assert "The table shop.days, 3,000 rows; the first 2,000 were looked at." in text


def test_the_first_goal_is_about_few_rows_that_are_there(tmp_path: Path) -> None:
    script = "CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT, c TEXT, d TEXT);"
    script += "CREATE TABLE empty (id INTEGER PRIMARY KEY, a_id INTEGER NOT NULL REFERENCES a(id));"
    script += "CREATE TABLE many (id INTEGER PRIMARY KEY, a_id INTEGER NOT NULL REFERENCES a(id));"
    script += "INSERT INTO a VALUES (1, '', '', ''), (2, '', '', ''), (3, '', '', '');"
    script += "INSERT INTO many VALUES (1, 1), (2, 1), (3, 2);"
    sqlite_file(tmp_path / "shop.sqlite", script)
    found = start("shop.sqlite", tmp_path, tmp_path)
    sound(found)
    assert (found.goal, found.result.verdict.value) == ("has_many(2)", "PROVED")
    text = kinds(found)
    assert '@[says = "many {id} of a {a_id}"]' in text


def test_whole_numbers_that_name_something_are_never_written_in_groups(tmp_path: Path) -> None:
    script = "CREATE TABLE boss (no INTEGER PRIMARY KEY, pay INTEGER NOT NULL,"
    script += " under INTEGER NOT NULL REFERENCES boss(no));"
    script += "INSERT INTO boss VALUES (1234, 5678, 1234);"
    sqlite_file(tmp_path / "shop.sqlite", script)
    found = start("shop.sqlite", tmp_path, tmp_path)
    ran = run("prove", "boss(1234, ?pay, ?under)", "--project", found.folder)
    assert "Boss 1234 of under 1234: pay 5,678" in ran.out


def test_rules_of_a_begun_project_need_no_path_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    found = start("shop.sqlite", tmp_path, tmp_path)
    for folder in (found.folder, found.folder / "rules" / "cases"):
        monkeypatch.chdir(folder)
        for words in (("check",), ("list",), ("test",), ("fmt", "--check")):
            ran = run("rules", *words)
            assert (ran.code, ran.err) == (0, ""), words


def test_the_plan_of_a_begun_project_runs(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    start("shop.sqlite", tmp_path, tmp_path)
    plan = tmp_path / "plans" / "first.yaml"
    assert run("plan", "check", plan, "--project", tmp_path).code == 0
    ran = run("solve", "--plan", plan, "--project", tmp_path, "--events", "none")
    assert (ran.code, "orders of each customer" in ran.out) == (0, True), ran.err


def test_a_variable_may_stand_in_a_file_that_is_only_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    (tmp_path / "constat.yaml").write_text(
        "databases: {s: {uri: 'sqlite:///${WHERE_A}${WHERE_B}'}}"
    )
    (tmp_path / ".env").write_text("# a comment\nexport WHERE_A='shop'\nWHERE_B=.gone\n")
    monkeypatch.setenv("WHERE_B", ".sqlite")
    before = (tmp_path / ".env").read_bytes()
    assert load_project(tmp_path).databases["s"].uri() == "sqlite:///shop.sqlite"
    assert (tmp_path / ".env").read_bytes() == before


@pytest.mark.parametrize("name", starting.EXAMPLES)
def test_each_example_begins_a_project_whose_first_goal_is_proved(
    tmp_path: Path, name: str
) -> None:
    ran = run("init", "--example", name, "--directory", tmp_path / "p")
    assert (ran.code, ran.err) == (0, "")
    assert not list((tmp_path / "p").rglob("__pycache__"))
    with Session(tmp_path / "p") as session:
        assert session.prove(starting.FIRST_GOALS[name]).verdict.value == "PROVED"
    again = run("init", "--example", name, "--directory", tmp_path / "p")
    assert (again.code, "C0851" in again.err) == (2, True)


def test_what_went_wrong_comes_with_help_that_fits(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "orders.csv").write_text("id\n1\n")
    outside = run("init", tmp_path / "orders.csv", "--directory", tmp_path / "p")
    copied, begun = re.findall("`((?:mkdir|constat init).*?)`", outside.err)
    assert subprocess.run(["/bin/sh", "-c", copied], check=False).returncode == 0
    assert run(*shlex.split(begun)[1:]).code == 0
    shutil.rmtree(tmp_path / "p")
    (tmp_path / "p").mkdir()
    away = run("init", "nosuch://u:p@h/x", "--directory", tmp_path / "p")
    assert "begins with a name that is not known here" in away.err
    driver = run("init", "oracle://u:geheim@127.0.0.1:9/x", "--directory", tmp_path / "p")
    assert ("C0552" in driver.err, "help: install the package" in driver.err) == (True, True)
    down = run("init", "postgresql://u:geheim@127.0.0.1:9/x", "--directory", tmp_path / "p")
    helps = ("help: look whether the server runs", "pip install 'constat[postgresql]'")
    assert (down.code, any(one in down.err for one in helps)) == (2, True), down.err
    assert "geheim" not in down.err
    typo = run("init", tmp_path / "order.csv", "--directory", tmp_path / "p")
    assert "help: write `orders.csv`" in typo.err
    nothing = run("init", "--directory", tmp_path / "p")
    assert "--example vip" in nothing.err
    example = run("init", "--example", "vipp", "--directory", tmp_path / "p")
    assert ("C0853" in example.err, "write `vip`" in example.err) == (True, True)
    lost = run("prove", "x(1)", "--project", tmp_path / "p")
    assert "`constat init FILE_OR_ADDRESS`" in lost.err
    assert "geheim" not in driver.err


def test_a_database_beside_files_is_named_with_what_reads_it(tmp_path: Path) -> None:
    data, only = tmp_path / "data", tmp_path / "only"
    for folder in (data, only):
        folder.mkdir()
        sqlite_file(folder / "crm.db", "CREATE TABLE u (a); INSERT INTO u VALUES (7)")
    refused = run("init", only, "--directory", tmp_path / "p")
    assert "begin with the database in it, `crm.db`" in refused.err
    (data / "t.csv").write_text("a,b\n1,2\n")
    begun = start("data", tmp_path, tmp_path)
    (said,) = (one for one in begun.hints if one.startswith("not read: crm.db, a database"))
    entry = re.findall("`(crm: .*?)`", said)[0]
    config = tmp_path / "constat.yaml"
    config.write_text(config.read_text().replace("databases:\n", f"databases:\n  {entry}\n", 1))
    assert "crm.u" in run("catalog", "list", "--project", tmp_path).out


def test_the_first_goal_of_rows_that_are_numbered_holds(tmp_path: Path) -> None:
    data = tmp_path / "d" / "log.csv"
    data.parent.mkdir()
    data.write_text("account,event,amount\n0100,in,10\n0100,in,10\n0101,out,3\n")
    assert "PROVED: is_in_log(1)" in run("init", data.parent, "--directory", tmp_path).out


def test_equal_rows_of_a_file_are_rows_each(tmp_path: Path) -> None:
    (tmp_path / "fees.csv").write_text("day,fee\n2025-01-01,1.5\n2025-01-01,1.5\n2025-01-02,2\n")
    assert run("init", tmp_path / "fees.csv", "--directory", tmp_path).code == 0
    drafted = (tmp_path / "rules" / "sources.dl").read_text()
    assert "fees(line: number, day: Date, " in drafted
    assert "`line` numbers the rows of the file" in drafted
    found = run("query", "?s = sum ?a : { fees(_, _, ?a) }", "--project", tmp_path)
    assert "1 answer, proved" in found.out
    assert found.out.split()[1] == "5"
    wrong = run("query", "?s = sum ?a : { fees(_, ?a) }", "--project", tmp_path)
    assert (wrong.code, "error[C02" in wrong.err) == (2, True)


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_drafted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "bad.csv").write_text("a,b,c\n1,2,3\n1,2\n4,5,6\n")
    (tmp_path / "data" / "good.csv").write_text("id,name\n1,x\n2,y\n")
    begun = run("init", tmp_path / "data", "--directory", tmp_path)
    assert begun.code == 0
    assert "left out: " in begun.out
    assert "bad.csv, line 3, has 2 fields; 3 are named" in begun.out
    assert ".decl good(" in (tmp_path / "rules" / "sources.dl").read_text()
    (tmp_path / "data" / "bad.csv").write_text("a,,c\n1,2,3\n")
    told = run("doctor", "--project", tmp_path).out
    assert "table bad: bad.csv has no usable name for its column 2" in told
    (tmp_path / "data" / "good.csv").unlink()
    other = tmp_path / "other"
    (tmp_path / "data").rename(other)
    assert run("init", other, "--directory", tmp_path / "other").code == 2


FOREIGN = (
    "id;name;price;day\n1;M\u00fcller;1.234,50;31.12.2025\n2;NA;NA;1.2.2026\n3;X;12;2.2.2026\n"
)


def test_a_file_of_another_country_is_read_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "bills.csv").write_bytes(FOREIGN.encode("windows-1252"))
    begun = run("init", tmp_path / "bills.csv", "--directory", tmp_path)
    assert begun.code == 0
    for said in (
        "bills: NA means that there is no value in `price`",
        "bills: `price`, `day` as written in de_DE",
        "bills is not UTF-8, and is read as windows-1252: where letters look wrong, write",
        'bills: column name holds NA: where that is no value, write `null: {"name": ["NA"]}`',
    ):
        assert said in begun.out
    drafted = (tmp_path / "rules" / "sources.dl").read_text()
    assert "id: number, name: symbol, @[null = maybe" in drafted
    assert "price: Decimal, day: Date" in drafted
    found = run("query", "bills(1, ?name, ?price, ?day)", "--project", tmp_path)
    assert "Müller  1234.5  2025-12-31" in found.out
    assert run("rules", "test", "--project", tmp_path).code == 0
    written = (tmp_path / "constat.yaml").read_text()
    assert "    # bills: column name holds NA: where" in written
    config = written.replace('"price": ["NA"]', '"price": ["NA"]\n          "name": ["NA"]')
    (tmp_path / "constat.yaml").write_text(config)
    rules = tmp_path / "rules" / "sources.dl"
    rules.write_text(drafted.replace("name: symbol", "@[null = none] name: symbol"))
    found = run("query", "bills(2, ?name, _, _)", "--project", tmp_path)
    assert "none" in found.out


def test_a_folder_of_files_is_begun_as_it_is_written(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "fees.csv").write_text('Nummer,fee\n1,"($1,200.50)"\n2,$5.00\nTotal,"($1,195.50)"\n')
    (data / "codes.txt").write_text("a|b\n1|2\n3|4\n")
    (data / "notes.txt").write_text("Read me\nfirst\n")
    (data / "odd.csv").write_text(",\n1,2\n")
    found = start("data", tmp_path, tmp_path)
    assert {*found.tables} == {"data.codes", "data.fees"}
    for said in (
        "fees: `fee` as written in en_US, like 12/31/2025 and 1,234.5",
        "fees: the numbers of `fee` are $",
        "that begin with Total are left out; they have to be there, and agree with the rows",
        "not read: notes.txt",
        "left out: data.odd: odd.csv has no usable name for its column 1",
    ):
        assert any(hint.endswith(said) for hint in found.hints)
    # Numbers that name each row are never written in groups.
    assert ".decl fees(@[id] nummer: number" in (tmp_path / "rules/sources.dl").read_text()
    with Session(tmp_path) as session:
        assert session.prove("fees(1, -1200.5), !fees(_, -1195.5)").verdict.value == "PROVED"
    # Its total tells that a row is missing.
    (data / "fees.csv").write_text('Nummer,fee\n1,"($1,200.50)"\nTotal,"($1,195.50)"\n')
    with Session(tmp_path) as session:
        lost = session.prove("fees(1, -1200.5)")
        assert (lost.verdict.value, "does not agree" in lost.explain()) == ("UNRESOLVED", True)


def test_a_file_whose_separator_cannot_be_told_is_left_out_by_name(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "open.csv").write_text("no;amount, EUR\n1;7,50\n2;8,50\n")
    refused = run("init", data / "open.csv", "--directory", tmp_path)
    assert refused.code != 0
    assert 'write `separator: ","` or `separator: ";"` beside `file`' in refused.err
    (data / "titled.csv").write_text("Sales 2025\nno;amount\n1;7,50\n2;8,50\n")
    found = start("data", tmp_path, tmp_path)
    assert {*found.tables} == {"data.titled"}
    assert "titled: 1 line above the names of the columns left out" in found.hints
    assert any(one.startswith("left out: open.csv may be separated by") for one in found.hints)
    with Session(tmp_path) as session:
        assert session.prove("titled(1, 7.5), titled(2, 8.5)").verdict.value == "PROVED"


def test_what_may_be_thousands_is_a_text_until_somebody_says_it(tmp_path: Path) -> None:
    (tmp_path / "stock.csv").write_text("Art;Menge\nA;3.682\nB;2.607\n")
    begun = run("init", tmp_path / "stock.csv", "--directory", tmp_path)
    said = "every number of column Menge is written like 1.234"
    assert f"note: stock: {said}" in begun.out
    drafted = tmp_path / "rules" / "sources.dl"
    assert f"// CHECK: {said}" in drafted.read_text()
    assert "menge: symbol" in drafted.read_text()
    for words in (("doctor",), ("catalog", "show", "stock"), ("catalog", "draft", "stock")):
        ran = run(*words, "--project", tmp_path)
        assert said in ran.out + ran.err, words
        assert "`locale: {Menge: de_DE}` or `locale: {Menge: en_US}`" in ran.out + ran.err
    config, rules = tmp_path / "constat.yaml", drafted.read_text()
    written, separator = config.read_text(), 'separator: ";"\n'
    assert separator in written
    drafted.write_text(rules.replace("menge: symbol", "menge: Decimal"))
    for locale, value in (("de_DE", "3682"), ("en_US", "3.682")):
        more = f"{separator}        locale: {{Menge: {locale}}}\n"
        config.write_text(written.replace(separator, more))
        found = run("query", 'stock("A", ?menge)', "--project", tmp_path)
        assert found.out.split()[1] == value, found
        assert said not in run("doctor", "--project", tmp_path).out
        again = run("catalog", "draft", "stock", "--project", tmp_path)
        assert ("menge: symbol" not in again.out, said in again.out + again.err) == (True, False)


def test_one_table_that_cannot_be_read_keeps_no_other_from_being_drafted(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("id,name\n1,x\n2,y\n")
    (tmp_path / "bad.csv").write_text("a,b,c\n1,2,3\n1,2\n4,5,6\n")
    (tmp_path / "odd.csv").write_text("a,,c\n1,2,3\n")
    files = "{good: good.csv, bad: bad.csv, odd: odd.csv, gone: gone.csv}"
    (tmp_path / "constat.yaml").write_text(f"databases: {{d: {{files: {files}}}}}")
    ran = run("catalog", "draft", "bad", "good", "odd", "gone", "--project", tmp_path)
    assert (ran.code, ".decl good(" in ran.out) == (1, True)
    for said in ("bad.csv, line 3, has 2 fields", "no usable name for its column 2", "gone.csv"):
        assert said in ran.err
    told = json.loads(
        run("catalog", "draft", "bad", "good", "--project", tmp_path, "--format", "json").out
    )
    assert [one["code"] for one in told["problems"]] == ["C0844"]
    assert run("catalog", "draft", "bad", "--project", tmp_path).code == 2
    assert run("catalog", "draft", "good", "goood", "--project", tmp_path).code == 2


def test_a_name_that_is_not_the_source_s_is_explained(tmp_path: Path) -> None:
    (tmp_path / "sum.csv").write_text("id,Land\n1,x\n2,y\n")
    (tmp_path / "kinds.csv").write_text("id,n\n1,2\n")
    (tmp_path / "constat.yaml").write_text(
        "databases: {d: {files: {sum: sum.csv, kinds: kinds.csv}}}\nrules: [r.dl]"
    )
    (tmp_path / "r.dl").write_text(
        '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n.decl kinds(id: number)\n'
    )
    text = run("catalog", "draft", "sum", "kinds", "--project", tmp_path).out
    assert "// `sum_` is the table sum; `sum` is a word of the language." in text
    assert "// `land_` is the column Land; `land` is a word of the language." in text
    assert "// Named `d_kinds`, because there is a `kinds` already." in text


def test_each_sheet_of_a_workbook_is_begun(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "Offene Posten"
    content: list[list[object]] = [["Liste"], [], ["Nr", "Betrag"], [1, 2.5], [2, 3]]
    for row in (*content, ["Summe", "=SUM(B4:B5)"]):
        book.active.append(row)
    other = book.create_sheet("Kunden")
    customers: list[list[object]] = [["Nr", "Name"], [1, "x"], [2, "y"]]
    for row in customers:
        other.append(row)
    book.create_sheet("Info").append(["Read me"])
    book.save(tmp_path / "op.xlsx")
    begun = run("init", tmp_path / "op.xlsx", "--directory", tmp_path)
    assert begun.code == 0, begun.err
    assert (
        "op.xlsx: no table was seen in 1 sheet, Info; a sheet is read as `op.xlsx#Info`"
        in begun.out
    )
    found = run("query", "?s = sum ?b : { op_offene_posten(_, ?b) }", "--project", tmp_path)
    assert found.out.split()[1] == "5.5", found
    assert "op_kunden" in run("catalog", "list", "--project", tmp_path).out


def test_json_with_objects_within_is_begun_as_tables(tmp_path: Path) -> None:
    lines = [{"sku": "a", "qty": 2}, {"sku": "a", "qty": 2}]
    orders = [{"id": n, "to": {"city": "Bonn"}, "lines": lines} for n in (1, 2)]
    (tmp_path / "sales.json").write_text(json.dumps({"at": "now", "orders": orders}))
    begun = run("init", tmp_path / "sales.json", "--directory", tmp_path)
    assert begun.code == 0, begun.err
    text = (tmp_path / "rules" / "sources.dl").read_text()
    assert ("to_city: symbol" in text, "orders_id: number" in text) == (True, True)
    goal = "?s = sum ?q : { sales_lines(_, _, _, ?q) }"
    found = run("query", goal, "--project", tmp_path)
    assert found.out.split()[1] == "8", found


def _noted(tmp_path: Path, name: str, content: str) -> str:
    (tmp_path / name).write_text(content, encoding="utf-8")
    ran = run("init", tmp_path / name, "--directory", tmp_path)
    return "\n".join(one for one in ran.out.splitlines() if one.startswith("note: "))


BOOKINGS = (
    "Nr;Betrag;Datum\n1;1.250,00-;01.02.2025\n2;250,00;31.02.2025\n3;99,00;03.03.2025\n"
    "4;12,50;04.03.2025\n5;13,50;05.03.2025\n"
)


def test_a_day_that_is_none_is_named_with_its_line_and_the_edits_that_work(tmp_path: Path) -> None:
    noted = _noted(tmp_path, "b.csv", BOOKINGS)
    said = "column Datum holds days as written in de_DE, but for that in line 3, which is none"
    assert said in noted
    assert ": `31.02.2025`; where it is no value" in noted
    # What a person sees on the terminal stands in no file.
    written = (tmp_path / "constat.yaml").read_text(encoding="utf-8")
    drafted = tmp_path / "rules" / "sources.dl"
    text = drafted.read_text(encoding="utf-8")
    assert said in written
    assert said in text
    assert "31.02.2025" not in written + text
    assert "betrag: Decimal, datum: symbol" in text
    # The first edit: that row alone is not known.
    settings = tmp_path / "constat.yaml"
    settings.write_text(written.replace("locale:", "locale:\n          Datum: de_DE", 1))
    drafted.write_text(text.replace("datum: symbol", "datum: Date"))
    with Session(tmp_path) as session:
        assert session.prove('b(nr = 1, betrag = -1250.0, datum = "2025-02-01")').exit_code == 0
        assert session.prove('b(nr = 2, datum = "2025-02-28")').exit_code == 4
    # The second one: it has no value.
    (null,) = re.findall(r"write `(null: .*?)`", noted)
    settings.write_text(
        settings.read_text().replace("        locale:", f"        {null}\n        locale:", 1)
    )
    drafted.write_text(text.replace("datum: symbol", "@[null = none] datum: Date"))
    with Session(tmp_path) as session:
        assert session.prove('b(nr = 2, datum = "2025-02-28")').exit_code == 5


def test_a_word_for_no_value_is_told_with_the_entry_to_copy(tmp_path: Path) -> None:
    noted = _noted(tmp_path, "a.csv", "id,name,n\n1,Ann,5\n2,k.a.,6\n3,Bob,offen\n4,Cy,7\n")
    named, counted = re.findall(r"`(null: .*?)` beside `file`", noted)
    assert (named, counted) == ('null: {"name": ["k.a."]}', 'null: {"n": ["offen"]}')
    text = (tmp_path / "constat.yaml").read_text(encoding="utf-8")
    both = 'null: {"name": ["k.a."], "n": ["offen"]}'
    entry = f'      a:\n        file: "a.csv"\n        {both}\n'
    (tmp_path / "constat.yaml").write_text(text.replace('      a: "a.csv"\n', entry))
    file = tmp_path / "rules" / "sources.dl"
    drafted = file.read_text(encoding="utf-8").replace(
        "name: symbol", "@[null = none] name: symbol"
    )
    file.write_text(drafted.replace(" n: number", " @[null = none] n: number"))
    with Session(tmp_path) as session:
        assert session.prove("a(id = 2, name = ?x)").exit_code == 5
        assert session.prove("a(id = 3, n = ?x)").exit_code == 5


@pytest.mark.parametrize(("day", "read"), [("02.01.68", "2068-01-02"), ("1/31/69", "1969-01-31")])
def test_the_window_of_short_years_is_said_also_under_a_locale(
    tmp_path: Path, day: str, read: str
) -> None:
    noted = _noted(tmp_path, "k.csv", f"nr,born\nK1,{day}\nK2,{day}\n")
    (edit,) = re.findall(r"for 1969 to 2068 `(.*?)`", noted)
    path = tmp_path / "rules" / "sources.dl"
    text = path.read_text(encoding="utf-8").replace("born: symbol", "born: Date")
    path.write_text(text.replace("SELECT nr, born", f"SELECT nr, {edit} AS born"))
    with Session(tmp_path) as session:
        assert session.prove(f'k(K1, "{read}")').exit_code == 0
    settings = tmp_path / "constat.yaml"
    entry = '      k:\n        file: "k.csv"\n        locale: {born: de_DE}\n'
    settings.write_text(settings.read_text().replace('      k: "k.csv"\n', entry))
    path.write_text(text)
    assert "for 1969 to 2068" in run("doctor", "--project", tmp_path).out


def test_a_number_at_the_end_without_a_line_break_is_said(tmp_path: Path) -> None:
    rows = "id,name,amount\n1,a,3.10\n2,b,42.20\n3,c,9.90\n4,d,33.30"
    assert "ends with a number and without a line break" in _noted(tmp_path, "a.csv", rows)
    (tmp_path / "whole").mkdir()
    assert _noted(tmp_path / "whole", "a.csv", f"{rows}\n") == ""


def test_a_file_in_another_encoding_says_which_one_it_is_read_in(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,name\n1,M\xfcller\n2,Bob\n")
    ran = run("init", tmp_path / "a.csv", "--directory", tmp_path)
    assert "a is not UTF-8, and is read as windows-1252: where letters look wrong" in ran.out
    settings = tmp_path / "constat.yaml"
    settings.write_text(settings.read_text().replace("encoding: windows-1252", "encoding: cp850"))
    assert "UTF-8" not in run("doctor", "--project", tmp_path).out


PARTS = "id,name,amount\n1,a,10\n2,b,20\nSubtotal,,30\n3,c,5\n4,d,6\nSubtotal,,11\nTotal,,41\n"


def test_totals_within_have_one_advice_that_begins_a_project(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(PARTS)
    ran = run("init", tmp_path / "s.csv", "--directory", tmp_path)
    assert ran.code == 2
    assert "totals among its rows, first in row 3; leave those out" in ran.err
    assert "footer: [" not in ran.err
    entry, rules = re.findall(r"`((?:databases|rules): .*?)`", ran.err)
    entry = entry.replace(str(tmp_path) + "/", "")
    (tmp_path / "constat.yaml").write_text(f"{entry}\n{rules}\n")
    (tmp_path / "rules").mkdir()
    file = tmp_path / "rules" / "sources.dl"
    drafted = run("catalog", "draft", "s", "--output", file, "--project", tmp_path)
    assert drafted.code == 0
    (condition,) = re.findall(r"`WHERE \.\.\. (.*?)` of the 2nd column", ran.err)
    file.write_text(file.read_text().replace(" FROM s", f" FROM s WHERE name {condition}"))
    goal = "?t = count : { s(id = _i) }"
    assert "4" in run("query", goal, "--project", tmp_path).out


def test_a_total_that_is_not_compared_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,amount\n1,10\n2,20\n3,5\nTotal,35\n")
    run("init", tmp_path / "s.csv", "--directory", tmp_path)
    settings = tmp_path / "constat.yaml"
    checked = settings.read_text()
    assert "not held against the rows" not in run("doctor", "--project", tmp_path).out
    settings.write_text(checked.replace('footer: {checked: ["Total"]}', "footer: [Total]"))
    told = run("doctor", "--project", tmp_path).out
    assert "the line Total is left out, and not held against the rows" in told
    assert 'help: write `footer: {checked: ["Total"]}` beside `file`' in told
    settings.write_text(checked.replace('\n        footer: {checked: ["Total"]}', ""))
    assert "write `footer: {checked: [Total]}`" in run("doctor", "--project", tmp_path).out


def test_several_rows_of_a_table_with_a_german_name_are_called_so(tmp_path: Path) -> None:
    for name in ("buchung", "kunde"):
        (tmp_path / name).mkdir()
        rows = "nr,ort\n1,Linz\n2,Graz\n3,Linz\n4,Linz\n5,Linz\n6,Linz\n7,Graz\n8,Graz\n"
        (tmp_path / name / f"{name}.csv").write_text(rows, encoding="utf-8")
        found = start(f"{name}.csv", tmp_path / name, tmp_path / name)
        sound(found)
        text = (tmp_path / name / "rules" / "first.dl").read_text(encoding="utf-8")
        several = {"buchung": "buchungen", "kunde": "kunden"}[name]
        assert f"has several {several}" in text


@pytest.mark.parametrize(
    ("first", "read"),
    [
        ("2010/01/01 00:15", "2010-01-01T00:15"),
        ("31.12.2010 9:05", "2010-12-31T09:05"),
        ("12/31/2010 23:59:58", "2010-12-31T23:59:58"),
    ],
)
def test_moments_of_another_country_are_drafted_as_moments(
    tmp_path: Path, first: str, read: str
) -> None:
    (tmp_path / "data.csv").write_text(f"id,at\n1,{first}\n2,{first.replace('2010', '2011')}\n")
    begun = run("init", tmp_path / "data.csv", "--directory", tmp_path)
    assert "note: data: `at` as written in " in begun.out
    assert "at: Timestamp" in (tmp_path / "rules" / "sources.dl").read_text()
    found = run("prove", f'data(1, "{read}")', "--project", tmp_path, "--quiet")
    assert found.out.startswith("PROVED: ")


def test_a_word_far_below_is_told_by_init_and_leaves_the_column_one_of_numbers(
    tmp_path: Path,
) -> None:
    lines = [f"{n},{n % 40}" for n in range(1, 2_500)]
    (tmp_path / "days.csv").write_text("\n".join(["id,rain", *lines, "2500,1e3", ""]))
    begun = run("init", tmp_path / "days.csv", "--directory", tmp_path)
    assert (
        "days: all but 1 of 2,500 values of `rain` spell a number: `1e3`; where that says that"
        ' there is no value, `null: {"rain": ["1e3"]}` beside `file`'
    ) in begun.out
    drafted = (tmp_path / "rules" / "sources.dl").read_text()
    assert "rain: number" in drafted
    assert "// C0846: days.days: all but 1 of 2,500 values of column `rain`" in drafted


def test_a_column_that_turns_to_text_far_below_is_one_of_texts(tmp_path: Path) -> None:
    numbers = [f"{n},{n % 40}" for n in range(1, 2_100)]
    words = [f"{n},R{n % 40}" for n in range(2_100, 2_400)]
    (tmp_path / "parts.csv").write_text("\n".join(["id,part", *numbers, *words, ""]))
    run("init", tmp_path / "parts.csv", "--directory", tmp_path)
    assert "part: symbol" in (tmp_path / "rules" / "sources.dl").read_text()
    found = run("query", "parts(2200, ?p)", "--project", tmp_path)
    assert (found.code, "R0" in found.out) == (0, True)


def test_what_a_table_of_sqlite_may_lack_and_no_row_lacks_is_no_maybe(tmp_path: Path) -> None:
    place = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(place)) as base, base:
        base.execute("CREATE TABLE sale (id INTEGER PRIMARY KEY, price REAL, note TEXT)")
        rows = [(n, n / 2, None if n == 2_400 else "x") for n in range(2_500)]
        base.executemany("INSERT INTO sale VALUES (?, ?, ?)", rows)
    run("init", place, "--directory", tmp_path)
    drafted = (tmp_path / "rules" / "sources.dl").read_text()
    assert "price: Decimal, @[null = maybe] note: symbol" in drafted
    assert "// All rows were counted: none has NULL in `price`, which may hold it." in drafted
    here = ("--project", tmp_path)
    assert run("prove", "sale(id = 7, price = ?p)", *here).code == 0
    # A NULL that comes later leaves its row unknown, and says how it is allowed.
    with closing(sqlite3.connect(place)) as base, base:
        base.execute("UPDATE sale SET price = NULL WHERE id = 7")
    found = run("prove", "sale(id = 7, price = ?p)", *here)
    assert (found.code, "column price is NULL; if it may be" in found.out) == (4, True)
    assert run("prove", "sale(id = 8, price = 4.0)", *here).code == 0


def test_columns_that_a_draft_of_a_very_wide_table_leaves_out_are_named(tmp_path: Path) -> None:
    names = ["id", *(f"c{n}" for n in range(1, 45))]
    rows = "".join(",".join(str(n * m) for m in range(1, 46)) + "\n" for n in (1, 2))
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + rows)
    begun = run("init", tmp_path / "wide.csv", "--directory", tmp_path)
    assert (
        "wide: a draft has 40 columns at most, and `c40`, `c41`, `c42` and 2 more are left out: add"
        " what rules need to `.decl wide` and to its query"
    ) in begun.out


def test_each_file_of_separated_values_is_loaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int] = []

    def counting(*given: Any, most: int = 0) -> None:  # noqa: ANN401  whatever is given on
        loaded.append(most)
        load_csv(*given, most=most)

    monkeypatch.setattr(files, "load_csv", counting)
    (tmp_path / "sales.csv").write_text("nr,buyer\n1,a\n2,b\n3,a\n")
    begun = start("sales.csv", tmp_path, tmp_path)
    assert begun.result.verdict.name == "PROVED"
    assert [most for most in loaded if not most] == [0]
    assert loaded[0] == LOOKED_AT
    loaded.clear()
    with Session(load_project(tmp_path)) as session:
        draft_tables(session.catalog, lambda: session.program, ["sales"])
    assert loaded == [0]
