"""A schema that lies is found out, and a draft of its tables is accepted as it stands."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from constat.catalog.connection import read_cell
from constat.catalog.schema.checking import _is_forest, check, decide
from constat.catalog.schema.described import ColumnSchema
from constat.catalog.schema.drafting import MOST_COLUMNS
from constat.catalog.schema.words import identifier
from constat.catalog.sqlite import SqliteConnection
from constat.diagnostics import ConstatError
from constat.library import check_rules
from constat.library.listing import rewrite
from constat.logic import Kind, find_locale
from tests.catalog.schema_worlds import (
    STORED,
    all_are_read,
    drafted_otherwise,
    duckdb_file,
    managed,
    shop,
    sqlite_file,
    stored_otherwise,
    wrong_row,
)

LIES = """
CREATE TABLE rooms (code TEXT PRIMARY KEY);
CREATE TABLE readings (
    id INTEGER PRIMARY KEY, room_code TEXT REFERENCES rooms (code), level INTEGER, day DATE,
    zip TEXT, n TEXT, mixed, price REAL, flag BOOLEAN
);
INSERT INTO rooms VALUES ('A'), (NULL);
INSERT INTO readings VALUES
    (1, 'A', 5, '2025-01-01', '00123', '12', 1, 10.5, 0),
    (2, 'B', 'n/a', 'yesterday', '99999', '1.50', 'x', 3, 1);
"""


def codes(folder: Path, table: str) -> list[str]:
    return [one.code for one in managed(folder).check(table).findings]


def test_stored_values_are_held_against_declarations(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", LIES)
    found = managed(tmp_path).check("readings")
    said = ", and 1 of 2 values are not"
    assert [one.message.removeprefix("sales.readings: ") for one in found.findings] == [
        f"column `level` is declared INTEGER{said} of that type",
        f"column `day` is declared DATE{said} of that type",
        f"`room_code` is declared to point to `rooms.code`{said} there",
    ]
    kinds = {one.column.name: (one.kind, one.cast) for one in found.columns}
    assert kinds == {
        "id": (Kind.NUMBER, False),
        "room_code": (Kind.SYMBOL, False),
        "level": (Kind.SYMBOL, True),
        "day": (Kind.SYMBOL, False),
        "zip": (Kind.SYMBOL, False),
        "n": (Kind.DECIMAL, False),
        "mixed": (Kind.SYMBOL, True),
        "price": (Kind.DECIMAL, False),
        "flag": (Kind.BOOL, False),
    }
    assert (found.rows, found.every, found.repeated) == (2, True, False)


def test_a_key_that_is_null_or_repeated_is_told(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", LIES)
    catalog = managed(tmp_path)
    assert [one.code for one in catalog.check("rooms").findings] == ["C0847"]
    # Where a source takes its own word for a key, rows may repeat it.
    script = "CREATE TABLE t (k TEXT, v TEXT); INSERT INTO t VALUES ('a', '1'), ('a', '2');"
    sqlite_file(tmp_path / "shop.sqlite", script)
    catalog = managed(tmp_path)
    table = replace(catalog.table("t"), key=("k",))
    (finding,) = check(catalog.project, table).findings
    assert (finding.code, "repeat" in finding.message) == ("C0847", True)


def test_a_key_that_is_none_is_not_drafted(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", LIES)
    managed(tmp_path)
    with Session(tmp_path) as session:
        text = session.draft_tables(["rooms"]).text
    assert "@[key" not in text
    assert "C0847" in text


@pytest.mark.parametrize(("values", "named"), [("0.05 0.15", False), ("small large", True)])
def test_an_amount_that_is_called_as_its_table_is_no_key(
    tmp_path: Path, values: str, *, named: bool
) -> None:
    low, high = values.split()
    script = f"""CREATE TABLE discount (tier TEXT, discount);
    INSERT INTO discount VALUES ('basic', '{low}'), ('gold', '{high}');"""
    sqlite_file(tmp_path / "shop.sqlite", script)
    assert (managed(tmp_path).check("discount").near is not None) is named


def test_null_where_it_is_declared_not_to_be_is_told(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a TEXT, b TEXT NOT NULL);"
    script += "PRAGMA writable_schema = ON; INSERT INTO t VALUES ('x', 'y'), ('z', NULL);"
    # The declaration is added behind SQLite's back, as a restore without checks would.
    plain = script.replace(" NOT NULL", "")
    change = "UPDATE sqlite_master SET sql = 'CREATE TABLE t (a TEXT, b TEXT NOT NULL)';"
    sqlite_file(tmp_path / "shop.sqlite", plain + change)
    (finding,) = managed(tmp_path).check("t").findings
    assert (finding.code, "NOT NULL" in finding.message) == ("C0846", True)


def test_equal_rows_are_told_and_a_draft_says_distinct(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a TEXT, b TEXT); INSERT INTO t VALUES ('x', NULL), ('x', NULL);"
    sqlite_file(tmp_path / "shop.sqlite", script)
    assert codes(tmp_path, "t") == ["C0849"]
    with Session(tmp_path) as session:
        assert 'distinct = "true"' in session.draft_tables(["t"]).text


def test_what_is_unique_but_may_be_null_tells_no_rows_apart(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a TEXT UNIQUE, b TEXT);"
    script += "INSERT INTO t VALUES (NULL, 'x'), (NULL, 'x');"
    sqlite_file(tmp_path / "shop.sqlite", script)
    assert managed(tmp_path).check("t").repeated is True


def test_a_name_that_misleads_is_found_out(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY); CREATE TABLE t (customer_id INTEGER);"
    )
    script += "INSERT INTO customers VALUES (1); INSERT INTO t VALUES (1), (7), (8);"
    sqlite_file(tmp_path / "shop.sqlite", script)
    (finding,) = managed(tmp_path).check("t").findings
    assert (finding.code, "1 of 3" in finding.message) == ("C0848", True)


def test_a_view_of_duckdb_over_nothing_is_told_when_it_is_looked_at(tmp_path: Path) -> None:
    duckdb_file(
        tmp_path / "shop.duckdb",
        "CREATE TABLE gone (x INTEGER)",
        "CREATE VIEW broken AS SELECT x FROM gone",
        "DROP TABLE gone",
        "CREATE TABLE kept (x INTEGER)",
    )
    catalog = managed(tmp_path, 'databases: {d: "duckdb:///shop.duckdb"}')
    assert catalog.check("kept").findings == ()
    for look in (catalog.check, partial(catalog.sample, allowed=True)):
        with pytest.raises(ConstatError, match="C0844"):
            look("broken")


@pytest.mark.parametrize(
    ("kind", "rooms", "readings"),
    [
        ("csv", "id\nA\n", "id,room_id,n\n1,A,1\n1,gone,x\n"),
        ("jsonl", '{"id": "A"}', '{"id": 1, "room_id": "A", "n": 1}\n{"id": 1, "room_id": "gone"}'),
    ],
)
def test_files_that_mislead_are_found_out(
    tmp_path: Path, kind: str, rooms: str, readings: str
) -> None:
    (tmp_path / f"rooms.{kind}").write_text(rooms, encoding="utf-8")
    (tmp_path / f"readings.{kind}").write_text(readings, encoding="utf-8")
    listed = f"rooms: rooms.{kind}, readings: readings.{kind}"
    found = managed(tmp_path, f"databases: {{f: {{files: {{{listed}}}}}}}").check("readings")
    assert [one.code for one in found.findings] == ["C0848"]
    assert "as its name suggests: 1 of 2" in found.findings[0].message
    # What is called a key is none, so a draft declares none.
    with Session(tmp_path) as session:
        assert "@[key" not in session.draft_tables(["readings"]).text


def test_a_question_that_does_not_end_is_said_to_be_unknown(tmp_path: Path) -> None:
    script = "CREATE TABLE t (k TEXT, v TEXT);"
    endless = "CREATE VIEW w AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
    sqlite_file(tmp_path / "shop.sqlite", f"{script} {endless} SELECT n AS k FROM r;")
    text = 'databases: {sales: "sqlite:///shop.sqlite"}\ncatalog: {seconds: 0.2}'
    catalog = managed(tmp_path, text)
    found = catalog.check("w")
    assert found.repeated is None
    assert [(one.code, one.severity.value) for one in found.findings] == [("C0844", "note")]
    (tmp_path / "shop.sqlite").unlink()
    with pytest.raises(ConstatError, match="could not be asked"):
        catalog.check("t")


def column(declared: str, name: str = "c") -> ColumnSchema:
    return ColumnSchema(name, declared)


@pytest.mark.parametrize(
    ("declared", "name", "cells", "kind", "cast"),
    [
        ("VARCHAR", "c", ["2025-01-01"], Kind.DATE, False),
        ("VARCHAR", "c", ["2025-01-01", ""], Kind.SYMBOL, False),
        ("VARCHAR", "c", ["7", "-12"], Kind.NUMBER, False),
        ("VARCHAR", "c", ["07"], Kind.SYMBOL, False),
        ("VARCHAR", "c", ["+7"], Kind.SYMBOL, False),
        ("VARCHAR", "account_no", ["7"], Kind.SYMBOL, False),
        ("VARCHAR", "c", ["1.50", "2"], Kind.DECIMAL, False),
        ("VARCHAR", "c", ["1e3"], Kind.SYMBOL, False),
        ("VARCHAR", "c", ["true", "false"], Kind.BOOL, False),
        ("VARCHAR", "c", [], Kind.SYMBOL, False),
        ("", "c", [1, 2.5], Kind.DECIMAL, False),
        ("", "c", [1, "x"], Kind.SYMBOL, True),
        ("", "c", [7, "07"], Kind.SYMBOL, True),
        ("", "c", [7, "8"], Kind.NUMBER, False),
        ("BLOB", "c", [], None, False),
        ("TEXT", "c", [b"x"], None, False),
        ("uuid", "c", [], Kind.SYMBOL, True),
        ("bigint unsigned", "c", [2**64 - 1], Kind.UNSIGNED, False),
        ("INTEGER", "c", [2**64], Kind.DECIMAL, False),
        ("REAL", "c", [1e300], Kind.FLOAT, False),
    ],
)
def test_a_kind_is_one_that_every_cell_can_be_read_as(
    declared: str,
    name: str,
    cells: list[object],
    kind: Kind | None,
    cast: bool,  # noqa: FBT001  a case
) -> None:
    found = decide(column(declared, name), cells, typed=True)  # type: ignore[arg-type]
    assert (found.kind, found.cast) == (kind, cast)


# Drafts.


def accepted(folder: Path, text: str) -> None:
    """A draft is right, says everything, and is laid out canonically."""
    path = folder / "drafted.dl"
    path.write_text(text, encoding="utf-8")
    checked = check_rules([path])
    assert (checked.diagnostics, checked.incomplete) == ((), ())
    assert rewrite(path.read_bytes(), "drafted.dl").status == "unchanged"


def test_a_draft_is_accepted_and_its_rows_are_those_of_the_table(tmp_path: Path) -> None:
    shop(tmp_path)
    with Session(tmp_path) as session:
        found = session.draft_tables(["customers", "orders", "order_lines", "large"])
    accepted(tmp_path, found.text)
    assert found.signatures == (
        "customers(id: symbol, name: symbol, tier: symbol)",
        "orders(id: number, customer_id: symbol, day: Date, amount: Decimal)",
        "order_lines(order_id: number, line: number)",
        "large(id: number, amount: Decimal)",
    )
    assert "@[key = id]\n.decl orders(" in found.text
    assert "@[null = maybe] tier: symbol" in found.text
    assert "Left out: note (it holds bytes)" in found.text
    config = (tmp_path / "constat.yaml").read_text(encoding="utf-8")
    (tmp_path / "constat.yaml").write_text(config + "rules: [drafted.dl]\n", encoding="utf-8")
    with Session(tmp_path) as session:
        rows = session.query("orders(?id, ?c, ?day, ?amount)")
        assert [str(row["amount"]) for row in rows if row.verdict.value == "PROVED"] == [
            "10.5",
            "200",
        ]
        # A name that the project has is not taken again.
        assert session.draft_tables(["orders"]).predicates[0].name == "sales_orders"


TOP = """
CREATE TABLE people (
    id INTEGER PRIMARY KEY, boss INTEGER REFERENCES people (id), name TEXT NOT NULL, town TEXT,
    deputy INTEGER REFERENCES people (id)
);
CREATE VIEW named AS SELECT id, name, town FROM people;
INSERT INTO people VALUES (1, {}, 'Ann', NULL, 2), (2, 1, 'Bob', 'Ulm', 1), (3, {}, 'Cy', '', NULL);
"""


@pytest.mark.parametrize(
    ("bosses", "policy"),
    [
        (("NULL", "2"), "none"),
        (
            ("NULL", "NULL"),
            "maybe",
        ),  # nobody is below the third: perhaps it is not known who is above
        (("3", "NULL"), "none"),
        (("NULL", "9"), "maybe"),  # there is no such person
    ],
)
def test_a_column_that_is_null_at_the_top_has_none(
    tmp_path: Path, bosses: tuple[str, str], policy: str
) -> None:
    sqlite_file(tmp_path / "shop.sqlite", TOP.format(*bosses))
    managed(tmp_path)
    with Session(tmp_path) as session:
        text = session.draft_tables(["people"]).text
    accepted(tmp_path, text)
    assert f"@[null = {policy}]\n  boss: number" in text or f"@[null = {policy}] boss:" in text
    assert ("// `boss` is none where nothing is above" in text) == (policy == "none")
    # Two people are the deputies of each other, and the third has none: that shows no top.
    assert "deputy` is none" not in text


def test_rows_that_point_in_a_circle_have_no_top() -> None:
    assert _is_forest([(1, None), (2, 1), (3, 2)])
    assert not _is_forest([(1, None), (2, 1), (3, 4), (4, 3)])
    assert not _is_forest([(1, 2), (2, 1)])
    assert not _is_forest([(1, None), (1, 1)])
    assert not _is_forest([])


def test_what_may_be_null_is_drafted_as_such(tmp_path: Path) -> None:
    """A table says it; of a view, which says nothing, the rows do."""
    sqlite_file(tmp_path / "shop.sqlite", TOP.format("NULL", "2"))
    managed(tmp_path)
    with Session(tmp_path) as session:
        table, view = (session.draft_tables([name]).text for name in ("people", "named"))
    assert "@[null = maybe]\n  town: symbol" in table or "@[null = maybe] town" in table
    assert "name: symbol" in table
    assert "] name: symbol" not in table
    assert ".decl named(id: number, name: symbol, @[null = maybe] town: symbol)" in view


def test_chosen_columns_and_mistakes(tmp_path: Path) -> None:
    shop(tmp_path)
    with Session(tmp_path) as session:
        found = session.draft_tables(["orders"], ["amount", "id"])
        assert found.signatures == ("orders(id: number, amount: Decimal)",)
        for names, columns, code in (
            (["orders", "customers"], ["id"], "C0850"),
            (["orders"], ["ammount"], "C0843"),
            (["order_lines"], ["note"], "C0850"),
        ):
            with pytest.raises(ConstatError) as caught:
                session.draft_tables(names, columns)
            assert caught.value.diagnostics[0].code == code


def test_hard_names_and_wide_tables_are_drafted(tmp_path: Path) -> None:
    wide = ", ".join(f"c{number} INTEGER" for number in range(1_500))
    script = f"""
        CREATE TABLE "count" ("sum" TEXT, "SUM " TEXT, ";drop" TEXT, "Größe" TEXT, "1st" TEXT,
            "日" TEXT, at TEXT);
        INSERT INTO "count" VALUES ('a', 'b', 'c', 'd', 'e', 'f', 'g');
        CREATE TABLE wide (id INTEGER PRIMARY KEY, {wide});
    """
    sqlite_file(tmp_path / "shop.sqlite", script)
    managed(tmp_path)
    with Session(tmp_path) as session:
        found = session.draft_tables(["count", "wide"])
    accepted(tmp_path, found.text)
    assert found.signatures[0] == (
        "count_(sum_: symbol, sum_2: symbol, drop: symbol, grosse: symbol, c_1_st: symbol,"
        " c: symbol, at: symbol)"
    )
    assert len(found.predicates[1].columns) == MOST_COLUMNS
    assert "further columns" in found.text


def test_columns_that_point_to_each_other_get_one_kind(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text("id,name\n007,a\n")
    (tmp_path / "orders.csv").write_text("customer_id\n7\n")
    managed(tmp_path, "databases: {f: {files: {customers: customers.csv, orders: orders.csv}}}")
    with Session(tmp_path) as session:
        found = session.draft_tables(["orders", "customers"])
    assert found.signatures == (
        "orders(customer_id: symbol)",
        "customers(id: symbol, name: symbol)",
    )
    accepted(tmp_path, found.text)


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=30
).filter(lambda name: not name.lower().startswith("sqlite_"))


@settings(max_examples=8)
@given(names=st.lists(NAMES, min_size=1, max_size=4, unique_by=str.casefold), table=NAMES)
def test_any_names_give_a_draft_that_reads_their_rows(
    names: list[str], table: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("named")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        quoted = ['"' + name.replace('"', '""') + '"' for name in (table, *names)]
        listed = ", ".join(f"{name} TEXT" for name in quoted[1:])
        try:
            connection.execute(f"CREATE TABLE {quoted[0]} ({listed})")
        except sqlite3.OperationalError:
            return  # SQLite folds more letters than Python's casefold tells apart
        connection.execute(
            f"INSERT INTO {quoted[0]} VALUES ({', '.join('?' for _ in names)})", names
        )
        connection.commit()
    managed(folder)
    with Session(folder) as session:
        found = session.draft_tables([session.catalog.tables()[0].label])
    accepted(folder, found.text)
    text = 'databases: {sales: "sqlite:///shop.sqlite"}\nrules: [drafted.dl]\n'
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    with Session(folder) as session:
        (predicate,) = found.predicates
        variables = ", ".join(f"?{one.name}" for one in predicate.columns)
        (row,) = session.query(f"{predicate.name}({variables})")
        assert [str(value) for value in row.values] == names


@pytest.mark.parametrize(
    ("name", "own"),
    [("v1_x", "v1_x"), ("g02", "g02"), ("order", "order"), ("Order2", "order_2"), ("1x", "c_1_x")],
)
def test_a_name_that_can_be_one_here_stays(name: str, own: str) -> None:
    assert identifier(name, (), "c") == own


@given(st.lists(st.text(max_size=12), max_size=6))
def test_identifiers_are_names_of_the_language_and_differ(names: list[str]) -> None:
    taken: list[str] = []
    for name in names:
        taken.append(identifier(name, taken, "c"))
    assert len(set(taken)) == len(taken)
    assert all(one.isascii() and one.isidentifier() for one in taken)


def test_days_and_numbers_that_sqlite_stores_in_another_way_are_read(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", ";".join(stored_otherwise()))
    drafted_otherwise(tmp_path, 'databases: {sales: "sqlite:///shop.sqlite"}')
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as base, base:
        base.execute(wrong_row())
    all_are_read(tmp_path)


def test_days_and_numbers_that_duckdb_stores_in_another_way_are_read(tmp_path: Path) -> None:
    duckdb_file(tmp_path / "shop.duckdb", *stored_otherwise())
    drafted_otherwise(tmp_path, 'databases: {sales: "duckdb:///shop.duckdb"}')
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as base:
        base.execute(wrong_row())
    all_are_read(tmp_path)


def test_what_mysql_stores_in_another_way_is_left_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "id INTEGER PRIMARY KEY, born TEXT, paid TEXT, began INTEGER, x TEXT"
    rows = ", ".join(
        f"({n}, '{n + 12}.0{n}.1990', '1.{n}00,50', 2024010{n}, 'a{n}')" for n in range(1, 8)
    )
    script = f"CREATE TABLE stay ({columns}); INSERT INTO stay VALUES {rows}"
    sqlite_file(tmp_path / "shop.sqlite", script)
    managed(tmp_path)
    monkeypatch.setattr(SqliteConnection, "dialect", "mysql")
    with Session(tmp_path) as session:
        text = session.draft_tables(["stay"]).text
    for said in (
        "`born` holds days, such as DD.MM.YYYY, and stays a text:",
        "`paid` holds numbers, such as 1.234,50, and stays a text:",
        "`began` holds days, such as YYYYMMDD, and stays a number:",
    ):
        assert f"// CHECK: {said}" in text, text
    assert text.count("stays a") == 3
    assert "born: symbol" in text
    assert "began: number" in text
    assert "a column of DECIMAL." in text


_WAYS = {
    "en": ("en_US", ""),
    "mixed": ("en_US", ""),
    "de": ("de_DE", ""),
    "small": ("de_DE", ""),
    "swiss": ("de_CH", ""),
    "eur": ("en_US", "\u20ac"),
    "pct": ("en_US", "%"),
    "us_day": ("en_US", ""),
    "de_day": ("de_DE", ""),
    "moment": ("de_DE", ""),
}


def _spoilt(text: str, chance: random.Random) -> str:
    """Change a letter or two of a text: leave out, double, or put another in its place."""
    letters = list(text)
    for _ in range(chance.randrange(1, 3)):
        at = chance.randrange(len(letters))
        letters[at] = chance.choice(["", letters[at] * 2, *"0123456789.,-' /:%\u20ac"])
        letters = list("".join(letters)) or ["0"]
    return "".join(letters)


def _value(text: str, kind: Kind) -> object:
    try:
        return read_cell(text, kind)
    except ValueError:
        return None


@pytest.mark.parametrize("source", ["sqlite", "duckdb"])
def test_no_text_is_read_as_another_value_than_its_country_gives_it(
    tmp_path: Path, source: str
) -> None:
    chance = random.Random(22)
    address = f'databases: {{sales: "{source}:///shop.{source}"}}'
    if source == "sqlite":
        sqlite_file(tmp_path / "shop.sqlite", ";".join(stored_otherwise()))
    else:
        duckdb_file(tmp_path / "shop.duckdb", *stored_otherwise())
    decided = {one.column.name: one for one in managed(tmp_path, address).check("odd").columns}
    base = sqlite3.connect(":memory:") if source == "sqlite" else duckdb.connect(":memory:")
    base.execute("CREATE TABLE odd (was TEXT)")
    for name, (locale, unit) in _WAYS.items():
        kind, stored, _ = STORED[name]
        reading, way = decided[name].reading, find_locale(locale)
        assert reading is not None
        assert way is not None
        texts = {_spoilt(chance.choice(stored), chance) for _ in range(500)}
        base.execute("DELETE FROM odd")
        base.executemany("INSERT INTO odd VALUES (?)", [(one,) for one in texts])
        spelled = reading.sql.replace(f'"{name}"', "was")
        told = base.execute(f"SELECT was, {spelled} FROM odd").fetchall()
        assert len(told) == len(texts)
        for was, now in told:
            found, meant = _value(now, kind), {_value(way.read(was, unit), kind), _value(was, kind)}
            assert found is None or found in meant - {None}, (name, was, now)
            # A plain number may be another one in another country.
            assert found is None or not kind.numeric or found == _value(way.read(was, unit), kind)
    base.close()


def test_two_days_are_enough_and_two_numbers_are_not(tmp_path: Path) -> None:
    rows = "('1,5', '31.12.2024', 20240401), ('2,5', '30.12.2024', 20241031)"
    script = f"CREATE TABLE t (n TEXT, d TEXT, b INTEGER); INSERT INTO t VALUES {rows};"
    sqlite_file(tmp_path / "shop.sqlite", script)
    kinds = {one.column.name: one.kind for one in managed(tmp_path).check("t").columns}
    assert kinds == {"n": Kind.SYMBOL, "d": Kind.DATE, "b": Kind.DATE}
