"""What the catalog says of files: tables, keys, relationships, sizes; kept until they change."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import openpyxl
import pytest

from constat.authoring.discovery import link_lines
from constat.catalog.schema import Relationship
from constat.catalog.schema.described import from_json, to_json
from constat.catalog.schema.introspection import look_at
from constat.diagnostics import ConstatError
from constat.session import Session
from constat.session.diagnosis import disagreements
from constat.store.catalog import CatalogIndex
from tests.catalog.schema_worlds import SHOP, duckdb_file, managed, shop, sqlite_file
from tests.catalog.test_file_kinds import arrow

if TYPE_CHECKING:
    from constat.catalog.schema import SchemaManager, TableSchema


def columns(table: TableSchema) -> list[tuple[str, str, bool]]:
    return [(one.name, one.declared, one.nullable) for one in table.columns]


def code(problem: pytest.ExceptionInfo[ConstatError]) -> str:
    return problem.value.diagnostics[0].code


def test_sqlite_tells_columns_keys_views_and_sizes(tmp_path: Path) -> None:
    catalog = shop(tmp_path)
    assert [(one.label, one.kind, one.rows) for one in catalog.tables()] == [
        ("customers", "table", 3),
        ("large", "view", None),
        ("order_lines", "table", 2),
        ("orders", "table", 3),
    ]
    orders = catalog.table("orders")
    assert columns(orders) == [
        ("id", "INTEGER", False),
        ("customer_id", "TEXT", False),
        ("day", "TEXT", True),
        ("amount", "REAL", True),
    ]
    assert orders.key == ("id",)
    assert orders.unique == (("customer_id", "day"),)
    assert orders.relationships == (Relationship(("customer_id",), "customers", ("id",)),)
    assert catalog.table("order_lines").key == ("order_id", "line")
    # A key of text may be NULL in SQLite, whatever people think.
    assert catalog.table("customers").columns[0].nullable


def test_what_nobody_declared_is_inferred_and_says_so(tmp_path: Path) -> None:
    catalog = shop(tmp_path)
    (found,) = catalog.table("order_lines").relationships
    assert (found.columns, found.target, found.target_columns) == (("order_id",), "orders", ("id",))
    assert not found.declared
    assert "name" in found.evidence
    links = {(one.table, one.target, one.declared) for one in catalog.relationships("orders")}
    assert links == {
        ("orders", "customers", True),
        ("order_lines", "orders", False),
    }


@pytest.mark.parametrize(
    ("column", "target"),
    [
        ("customer_id INTEGER", True),
        ("billing_customer_id INTEGER", True),
        ("CustomerID INTEGER", True),
        ("customers_id INTEGER", False),
        ("customer_id TEXT", False),
        ("customer INTEGER", False),
        ("id INTEGER", False),
    ],
)
def test_a_name_points_to_a_key_of_its_type(tmp_path: Path, column: str, target: bool) -> None:  # noqa: FBT001  a case
    script = f"CREATE TABLE Customers (id INTEGER PRIMARY KEY); CREATE TABLE t ({column});"
    sqlite_file(tmp_path / "shop.sqlite", script)
    found = managed(tmp_path).table("t").relationships
    assert [one.target for one in found] == (["Customers"] if target else [])


def test_duckdb_tells_comments_types_and_schemas(tmp_path: Path) -> None:
    duckdb_file(
        tmp_path / "shop.duckdb",
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL)",
        "CREATE SCHEMA archive",
        "CREATE TABLE archive.orders (id BIGINT, customer_id INTEGER, tags VARCHAR[])",
        "CREATE TABLE orders (n DECIMAL(10, 2), c INTEGER REFERENCES customers (id))",
        "COMMENT ON TABLE customers IS 'who buys'",
        "COMMENT ON COLUMN customers.name IS 'as on the invoice'",
        "CREATE VIEW named AS SELECT name FROM customers",
        "INSERT INTO customers VALUES (1, 'Ada')",
    )
    catalog = managed(tmp_path, 'databases: {d: "duckdb:///shop.duckdb"}')
    customers = catalog.table("customers")
    assert columns(customers) == [("id", "INTEGER", False), ("name", "VARCHAR", False)]
    assert (customers.comment, customers.columns[1].comment) == ("who buys", "as on the invoice")
    assert (customers.key, customers.rows) == (("id",), 1)
    assert catalog.table("d.archive.orders").columns[2].declared == "VARCHAR[]"
    assert catalog.table("ORDERS").relationships == (Relationship(("c",), "customers", ("id",)),)
    assert catalog.table("named").kind == "view"
    # The file is closed again: another program may write it.
    duckdb_file(tmp_path / "shop.duckdb", "CREATE TABLE later (x INTEGER)")
    assert managed(tmp_path, 'databases: {d: "duckdb:///shop.duckdb"}').table("later").columns


def test_any_other_dialect_is_read_through_sqlalchemy(tmp_path: Path) -> None:
    file = sqlite_file(tmp_path / "shop.sqlite")
    text = f'databases: {{other: "sqlite+pysqlite:///{file}"}}'
    catalog = managed(tmp_path, text)
    orders = catalog.table("orders")
    assert columns(orders)[1:] == [
        ("customer_id", "TEXT", False),
        ("day", "TEXT", True),
        ("amount", "REAL", True),
    ]
    assert (orders.key, orders.unique) == (("id",), (("customer_id", "day"),))
    assert orders.relationships[0].target == "customers"
    assert catalog.table("large").kind == "view"
    assert catalog.check("orders").findings == ()
    assert catalog.sample("customers", ["tier"], allowed=True)[0].values == (("gold", 2),)


def test_sources_are_looked_at_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"d{number}" for number in range(4)]
    for name in names:
        sqlite_file(tmp_path / f"{name}.sqlite", f"CREATE TABLE {name} (x TEXT)")
    listed = ", ".join(f'{name}: "sqlite:///{name}.sqlite"' for name in names)
    catalog = managed(tmp_path, f"databases: {{{listed}}}")
    waiting = threading.Barrier(len(names), timeout=30)

    def together(*given: Any) -> object:  # noqa: ANN401  handed through
        # Who comes first waits for the last: one after the other would end with an error.
        waiting.wait()
        return look_at(*given)

    monkeypatch.setattr("constat.catalog.schema.catalogue.look_at", together)
    assert [one.tables for one in catalog.databases()] == [1] * len(names)


def files(folder: Path) -> SchemaManager:
    (folder / "a.csv").write_text("id,zip\n1,00123\n2,99999\n")
    (folder / "b.json").write_text('[{"id": "x", "n": 1}, {"id": "y", "deep": {"k": [1]}}]')
    (folder / "c.jsonl").write_text('{"id": 1}\n{"id": 2, "day": "2025-01-01"}\n')
    book = openpyxl.Workbook()
    book.active.append(["id", "paid"])
    book.active.append([1, True])
    second = book.create_sheet("Second")
    second.append(["b_id"])
    book.save(folder / "e.xlsx")
    duckdb_file(
        folder / "x.duckdb", f"COPY (SELECT 1 AS n, DATE '2025-01-01' AS d) TO '{folder}/d.parquet'"
    )
    listed = "a: a.csv, b: b.json, c: c.jsonl, d: d.parquet, e: e.xlsx, f: e.xlsx#Second"
    return managed(folder, f"databases: {{f: {{files: {{{listed.replace('#', '#')}}}}}}}")


def test_files_tell_their_columns(tmp_path: Path) -> None:
    catalog = files(tmp_path)
    found = {
        one.label: [c.name for c in catalog.table(one.label).columns] for one in catalog.tables()
    }
    assert found == {
        "a": ["id", "zip"],
        "b": ["id", "n", "deep"],
        "c": ["id", "day"],
        "d": ["n", "d"],
        "e": ["id", "paid"],
        "f": ["b_id"],
    }
    assert [one.declared for one in catalog.table("d").columns] == ["INTEGER", "DATE"]
    assert (catalog.table("a").rows, catalog.table("d").counted) == (2, True)
    # Nothing declares a key in a file; what is called `id` is taken for one, and that is said.
    (guessed,) = catalog.table("f").relationships
    assert (guessed.target, "no declaration" in guessed.evidence) == ("b", True)


def test_a_file_that_is_damaged_is_a_table_with_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe")
    (tmp_path / "b.xlsx").write_bytes(b"PK no workbook")
    text = "databases: {f: {files: {a: a.csv, b: b.xlsx, c: gone.csv}}}"
    catalog = managed(tmp_path, text)
    problems = {one.label: catalog.table(one.label).problems for one in catalog.tables()}
    assert all(len(one) == 1 for one in problems.values())
    assert "not UTF-8" in problems["a"][0]
    assert "no workbook" in problems["b"][0]
    assert "no file" in problems["c"][0]


# Names that are hard to write.


def test_hard_names_are_found_checked_and_sampled(tmp_path: Path) -> None:
    hard = ['";drop', "a b", "Größe", "select", "x'y", "1st", "a.b", "`tick`"]
    listed = ", ".join('"' + name.replace('"', '""') + '" TEXT' for name in hard)
    values = ", ".join("'v'" for _ in hard)
    script = f'CREATE TABLE "odd; table" ({listed}); INSERT INTO "odd; table" VALUES ({values});'
    sqlite_file(tmp_path / "shop.sqlite", script)
    catalog = managed(tmp_path)
    table = catalog.table("ODD; TABLE")
    assert [one.name for one in table.columns] == hard
    shown = catalog.sample("odd; table", allowed=True)
    assert [one.values for one in shown] == [(("v", 1),)] * len(hard)
    assert catalog.check("odd; table").findings == ()


def test_a_wide_table_is_read_whole(tmp_path: Path) -> None:
    listed = ", ".join(f"column_{number} INTEGER" for number in range(1_500))
    sqlite_file(tmp_path / "shop.sqlite", f"CREATE TABLE wide ({listed});")
    catalog = managed(tmp_path)
    assert len(catalog.table("wide").columns) == 1_500
    (hit, *_) = catalog.search("column 1499", ("column",)).hits
    assert hit.name == "sales.wide.column_1499"


def test_names_that_no_query_can_spell_are_left_out_and_said(tmp_path: Path) -> None:
    script = 'CREATE TABLE "a\x01b" (x TEXT); CREATE TABLE t ("c\x07" TEXT, d TEXT);'
    sqlite_file(tmp_path / "shop.sqlite", script)
    catalog = managed(tmp_path)
    assert [one.label for one in catalog.tables()] == ["t"]
    assert [one.name for one in catalog.table("t").columns] == ["d"]
    assert "left out" in catalog.databases()[0].problems[0]
    assert "left out" in catalog.table("t").problems[0]


def test_a_broken_view_says_so_and_spoils_no_other(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE t (x TEXT); CREATE VIEW good AS SELECT x FROM t;"
        "CREATE TABLE gone (y TEXT); CREATE VIEW bad AS SELECT y FROM gone;"
        "PRAGMA legacy_alter_table = ON; DROP TABLE gone;"
    )
    sqlite_file(tmp_path / "shop.sqlite", script)
    catalog = managed(tmp_path)
    assert [one.name for one in catalog.table("good").columns] == ["x"]
    assert "not known" in catalog.table("bad").problems[0]


def test_an_unknown_or_ambiguous_table_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "a.sqlite")
    sqlite_file(tmp_path / "b.sqlite")
    text = 'databases: {a: "sqlite:///a.sqlite", b: "sqlite:///b.sqlite"}'
    catalog = managed(tmp_path, text)
    with pytest.raises(ConstatError) as caught:
        catalog.table("oders")
    assert (code(caught), caught.value.diagnostics[0].help) == ("C0840", "write `orders`")
    with pytest.raises(ConstatError) as caught:
        catalog.table("orders")
    assert "`a.orders`, `b.orders`" in caught.value.diagnostics[0].note
    assert catalog.table("b.orders").database == "b"
    with pytest.raises(ConstatError, match="no database"):
        catalog.tables("c")


# Kept until it changes.


def introspections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from constat.catalog.schema import local as from_sqlite

    found: list[str] = []
    real = from_sqlite.introspect

    def counted(connection: object, database: str, seconds: float) -> object:
        found.append(database)
        return real(connection, database, seconds)  # type: ignore[arg-type]

    monkeypatch.setattr(from_sqlite, "introspect", counted)
    return found


def test_tables_are_read_once_and_again_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = introspections(monkeypatch)
    file = sqlite_file(tmp_path / "shop.sqlite")
    for _ in range(2):
        catalog = managed(tmp_path, kept=True)
        assert catalog.table("orders").key == ("id",)
        catalog.close()
    assert read == ["sales"]
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ALTER TABLE orders ADD COLUMN later TEXT")
    catalog = managed(tmp_path, kept=True)
    assert catalog.table("orders").columns[-1].name == "later"
    catalog.close()
    assert len(read) == 2


def test_another_file_in_its_place_is_noticed(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    catalog = managed(tmp_path, kept=True)
    assert len(catalog.tables()) == 4
    catalog.close()
    # As many definitions as before, in the same file.
    content = sqlite_file(tmp_path / "other.sqlite", SHOP.replace("order_lines", "order_lives"))
    (tmp_path / "shop.sqlite").write_bytes(content.read_bytes())
    catalog = managed(tmp_path, kept=True)
    assert "order_lives" in {one.label for one in catalog.tables()}
    # What is gone is found no more.
    hits = catalog.search("order lines", ("table",)).hits
    assert {hit.name for hit in hits} == {"sales.orders", "sales.order_lives"}
    assert catalog.search("order_lines", ("table",)).hits[0].name != "sales.order_lines"
    catalog.close()


def test_what_was_seen_is_given_while_a_source_does_not_answer(tmp_path: Path) -> None:
    file = sqlite_file(tmp_path / "shop.sqlite")
    catalog = managed(tmp_path, kept=True)
    seen = catalog.databases()[0].seen_at
    catalog.close()
    file.rename(tmp_path / "away.sqlite")
    catalog = managed(tmp_path, kept=True)
    (found,) = catalog.databases()
    assert (found.tables, found.seen_at) == (4, seen)
    assert "no file" in found.failure
    assert catalog.table("orders").key == ("id",)
    catalog.close()
    # Without anything seen it is a failure, and no source without tables.
    catalog = managed(tmp_path / "new", 'databases: {sales: "sqlite:///shop.sqlite"}')
    (found,) = catalog.databases()
    assert (found.tables, found.seen_at, bool(found.failure)) == (0, "", True)
    with pytest.raises(ConstatError) as caught:
        catalog.table("orders")
    assert "not reached" in caught.value.diagnostics[0].note


def test_a_database_that_the_project_has_no_more_is_forgotten(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    catalog = managed(tmp_path, kept=True)
    catalog.tables()
    catalog.close()
    text = 'databases: {other: "sqlite:///shop.sqlite"}'
    catalog = managed(tmp_path, text, kept=True)
    catalog.refresh()
    index = CatalogIndex(tmp_path / "catalog.sqlite")
    assert (index.source("sales"), len(index.tables())) == (None, 4)
    index.close()
    catalog.close()


@pytest.mark.parametrize("damage", [b"no database at all" * 300, b""])
def test_a_damaged_file_of_ours_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    catalog = managed(tmp_path, kept=True)
    catalog.tables()
    catalog.close()
    kept = tmp_path / "catalog.sqlite"
    kept.write_bytes(kept.read_bytes()[:100] + damage if damage else b"")
    catalog = managed(tmp_path, kept=True)
    assert len(catalog.tables()) == 4
    catalog.close()


def test_another_programs_file_is_left_alone(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = (tmp_path / "catalog.sqlite").read_bytes()
    catalog = managed(tmp_path, kept=True)
    assert len(catalog.tables()) == 4
    assert "another program" in catalog.trouble
    catalog.close()
    assert (tmp_path / "catalog.sqlite").read_bytes() == before


def test_a_file_that_breaks_down_is_gone_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_file(tmp_path / "shop.sqlite")
    sqlite_file(tmp_path / "b.sqlite", "CREATE TABLE other (x TEXT)")
    text = 'databases: {a: "sqlite:///shop.sqlite", b: "sqlite:///b.sqlite"}'
    catalog = managed(tmp_path, text, kept=True)
    assert len(catalog.tables("a")) == 4
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as connection:
        connection.executescript("DROP TABLE tables; DROP TABLE vocabulary")
    assert catalog.table("other").database == "b"
    assert catalog.table("orders").database == "a"
    assert "no such table" in catalog.trouble
    catalog.close()


def test_a_full_disk_keeps_nobody_from_looking(tmp_path: Path) -> None:
    script = "".join(f"CREATE TABLE orders_{n} (id INTEGER, note TEXT);" for n in range(300))
    sqlite_file(tmp_path / "shop.sqlite", script)
    catalog = managed(tmp_path, kept=True)
    catalog._index._connection.execute("PRAGMA max_page_count = 1")
    assert len(catalog.tables()) == 300
    assert "full" in catalog.trouble
    assert catalog.search("orders 17", ("table",)).hits[0].name == "sales.orders_17"
    catalog.close()


def test_no_value_of_a_row_is_kept(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", SHOP.replace("'Ada'", "'needle-in-hay'"))
    catalog = managed(tmp_path, kept=True)
    catalog.search("customers")
    catalog.check("customers")
    catalog.sample("customers", allowed=True)
    catalog.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("catalog.sqlite*"))
    assert b"customers" in kept
    assert b"needle-in-hay" not in kept
    assert os.stat(tmp_path / "catalog.sqlite").st_mode & 0o077 == 0  # noqa: PTH116  one call


def test_a_table_is_the_same_after_it_was_kept(tmp_path: Path) -> None:
    catalog = shop(tmp_path)
    for table in catalog.all_tables():
        assert from_json(json.loads(json.dumps(to_json(table)))) == table


# What a project hides or shows.


def test_hidden_tables_and_columns_are_nowhere(tmp_path: Path) -> None:
    catalog = shop(tmp_path, "catalog: {hidden: [sales.orders, sales.Customers.NAME]}")
    assert {one.label for one in catalog.tables()} == {"customers", "large", "order_lines"}
    assert [one.name for one in catalog.table("customers").columns] == ["id", "tier"]
    assert catalog.table("order_lines").relationships == ()
    names = {hit.name for hit in catalog.search("name order customer").hits}
    assert not {"sales.orders", "sales.customers.name"} & names
    for hidden in ("orders", "customers.name"):
        with pytest.raises(ConstatError):
            catalog.table(hidden)
    with pytest.raises(ConstatError, match="no column"):
        catalog.sample("customers", ["name"], allowed=True)


def test_values_are_shown_only_where_the_project_says_so(tmp_path: Path) -> None:
    catalog = shop(tmp_path)
    with pytest.raises(ConstatError) as caught:
        catalog.sample("customers", ["tier"])
    assert code(caught) == "C0842"
    # The help is an edit that works.
    edit = caught.value.diagnostics[0].help.split("`")[1]
    catalog = shop(tmp_path, edit)
    (found,) = catalog.sample("customers", ["tier"])
    assert found.values == (("gold", 2),)
    with pytest.raises(ConstatError):
        catalog.sample("customers", ["tier", "name"])
    assert [one.column for one in catalog.sample("customers")] == ["tier"]


def test_samples_are_bounded(tmp_path: Path) -> None:
    script = "CREATE TABLE t (x TEXT, b BLOB);" + "".join(
        f"INSERT INTO t VALUES ('{n}{'y' * 500}', x'00');" for n in range(60)
    )
    sqlite_file(tmp_path / "shop.sqlite", script)
    (found,) = managed(tmp_path).sample("t", most=1_000, allowed=True)
    assert (found.column, len(found.values), found.cut) == ("x", 50, True)
    assert {len(value) for value, _ in found.values} == {80}


def test_a_slip_in_the_configuration_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConstatError) as caught:
        managed(tmp_path, 'databases: {sales: "sqlite:///s"}\ncatalog: {hidden: [sale.customers]}')
    assert (code(caught), caught.value.diagnostics[0].help) == ("C0841", "write `sales`")


# Searching.


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("order line", "sales.order_lines"),
        ("orders", "sales.orders"),
        ("lin", "sales.order_lines"),
        ("amount customer", "sales.orders"),
        ("line NEAR( OR *", "sales.order_lines"),
    ],
)
def test_tables_are_found_by_words(tmp_path: Path, words: str, first: str) -> None:
    assert shop(tmp_path).search(words, ("table",)).hits[0].name == first


def test_a_word_that_nothing_has_suggests_the_nearest(tmp_path: Path) -> None:
    found = shop(tmp_path).search("custmer")
    assert (found.hits, found.meant) == ((), ("customer",))
    assert shop(tmp_path).search("'\"*();--").hits == ()


def as_query(rows: list[dict[str, object]]) -> str:
    """Give rows as a query with types."""
    lines = (
        ", ".join(
            f"{f'{c}::BIGINT' if isinstance(c, int) else repr(c)} AS {n}" for n, c in r.items()
        )
        for r in rows
    )
    return " UNION ALL ".join(f"SELECT {line}" for line in lines)


def written(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows as the kind of file that a name ends with."""
    path.unlink(missing_ok=True)
    match path.suffix:
        case ".csv":
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
            path.write_text("\n".join(lines) + "\n")
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".json":
            path.write_text(json.dumps(rows))
        case ".parquet":
            duckdb.execute(f"COPY ({as_query(rows)}) TO '{path}' (FORMAT parquet)")
        case ".arrows":
            path.write_bytes(arrow(as_query(rows)))
        case ".xlsx":
            book = openpyxl.Workbook()
            for line in [list(rows[0]), *(list(row.values()) for row in rows)]:
                book.active.append(line)
            book.save(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet", "arrows", "xlsx"])
def test_a_column_of_a_file_that_has_come_gone_or_changed_is_told(
    tmp_path: Path, ending: str
) -> None:
    written(tmp_path / f"a.{ending}", [{"id": 1, "price": 2, "day": "x"}])
    text = f"databases: {{lists: {{files: {{a: a.{ending}}}}}}}"
    catalog = managed(tmp_path, text, kept=True)
    assert catalog.refresh()[0].problems == ()
    assert catalog.refresh()[0].problems == ()
    catalog.close()
    written(tmp_path / f"a.{ending}", [{"id": 1, "price": "b", "region": "s"}])
    catalog = managed(tmp_path, text, kept=True)
    (found,) = catalog.refresh()
    typed = ["table `a`: column `price` was `BIGINT`, and is `VARCHAR`"]
    assert list(found.problems) == [
        "table `a`: column `day` is gone",
        *(typed if ending in {"parquet", "arrows"} else ()),
        "table `a`: column `region` is new",
    ]
    assert catalog.refresh()[0].problems == ()
    # Another configuration of the same source is no change of the source.
    catalog.close()
    written(tmp_path / f"a.{ending}", [{"id": 1}])
    written(tmp_path / "b.csv", [{"id": 1}])
    catalog = managed(tmp_path, text.replace("}}}", ", b: b.csv}}}"), kept=True)
    assert catalog.refresh()[0].problems == ()
    (tmp_path / f"a.{ending}").unlink()
    assert catalog.refresh()[0].problems == ("table `a`: its columns are not known now",)
    catalog.close()


BEFORE = """
CREATE TABLE c (id INTEGER PRIMARY KEY);
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, m TEXT, UNIQUE (m));
"""
AFTER = """
CREATE TABLE c (id INTEGER PRIMARY KEY);
CREATE TABLE t (id INTEGER, n REAL, m TEXT NOT NULL REFERENCES c (id), PRIMARY KEY (id, n));
"""


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_types_and_constraints_that_have_changed_are_told(tmp_path: Path, kind: str) -> None:
    def made(script: str) -> None:
        path = tmp_path / f"t.{kind}"
        path.unlink(missing_ok=True)
        if kind == "duckdb":
            with duckdb.connect(str(path)) as other:
                other.execute(script.replace("m TEXT NOT NULL", "m INTEGER NOT NULL"))
            return
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(script)

    made(BEFORE)
    catalog = managed(tmp_path, f'databases: {{d: "{kind}:///t.{kind}"}}')
    catalog.refresh()
    made(AFTER)
    (found,) = catalog.refresh()
    told = " | ".join(one.removeprefix("table `t`: ") for one in found.problems)
    assert "column `n` was `INTEGER`, and is `" in told
    assert "column `m` may not be NULL now" in told
    assert "its key was `id`, and is `id`, `n`" in told
    assert "that `m` repeats no value is no longer declared" in told
    assert "that `m` points to `c` is declared now" in told
    catalog.close()


LINK = ".constraint link: t(m = ?m) => c(id = ?m).\n.decl other"
DECLARED = """
.decl t(id: number, n: number, m: symbol)
.input t(source="d", query="SELECT id, n, m FROM t")
.decl c(id: symbol)
.input c(source="d", query="SELECT id FROM c")
.decl other(id: number)
other(1).
"""
LOOSER = BEFORE.replace("n INTEGER NOT NULL", "n INTEGER")
KEYED = BEFORE.replace("id INTEGER PRIMARY KEY, n INTEGER", "id INTEGER, n INTEGER PRIMARY KEY")
LINKED = BEFORE.replace("m TEXT,", "m TEXT REFERENCES c (id),")


@pytest.mark.parametrize(
    ("first", "script", "told", "edit"),
    [
        ("doctor", LOOSER, "`n` may be NULL now", ("n: number", "@[null = maybe] n: number")),
        ("list", LINKED, "that `m` points to `c` is declared now", (".decl other", LINK)),
        ("refresh", KEYED, "its key was `id`, and is `n`", (".decl t", "@[key = n]\n.decl t")),
    ],
)
def test_a_constraint_that_has_changed_is_told_until_a_declaration_is_another(
    tmp_path: Path, first: str, script: str, told: str, edit: tuple[str, str]
) -> None:
    sqlite_file(tmp_path / "t.sqlite", BEFORE)
    rules = tmp_path / "a.dl"
    rules.write_text(DECLARED)
    (tmp_path / "constat.yaml").write_text('databases: {d: "sqlite:///t.sqlite"}\nrules: a.dl\n')

    def looked(how: str = "refresh") -> list[str]:
        if how != "doctor":
            with Session(tmp_path) as session:
                catalog = session.catalog
                catalog.tables() if how == "list" else catalog.refresh()
        return [one.message for one in disagreements(tmp_path, ["d"])]

    assert looked() == []
    sqlite_file(tmp_path / "t.sqlite", script)
    for how in (first, "doctor", "refresh", "list"):
        (found,) = looked(how)
        assert told in found
        assert "`t` was declared before" in found
        assert "`c`" not in found.partition("table")[0]
    sqlite_file(tmp_path / "t.sqlite", BEFORE)
    assert looked("doctor") == looked() == []
    sqlite_file(tmp_path / "t.sqlite", script)
    assert told in looked("doctor")[0]
    # Moved, or with another comment, it is the declaration that it was.
    rules.write_text("// Other words.\n\n" + DECLARED.replace("other(1)", "other(2)"))
    assert told in looked()[0]
    rules.write_text(DECLARED.replace(*edit))
    assert looked("doctor") == looked() == looked("list") == []
    rules.write_text(DECLARED)
    assert told in looked()[0]


def test_what_nobody_has_declared_is_not_told_again(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "t.sqlite", BEFORE)
    (tmp_path / "a.dl").write_text(".decl other(id: number)\nother(1).\n")
    (tmp_path / "constat.yaml").write_text('databases: {d: "sqlite:///t.sqlite"}\nrules: a.dl\n')
    with Session(tmp_path) as session:
        session.catalog.refresh()
    sqlite_file(tmp_path / "t.sqlite", AFTER)
    with Session(tmp_path) as session:
        assert "its key was" in " ".join(session.catalog.refresh()[0].problems)
    # Who declares it now declares what it is now.
    (tmp_path / "a.dl").write_text(DECLARED)
    assert list(disagreements(tmp_path, ["d"])) == []


def test_relationships_across_sources_are_inferred_from_names_and_marked(tmp_path: Path) -> None:
    sqlite_file(
        tmp_path / "shop.sqlite",
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers,"
        " product_code TEXT, seller_id INTEGER, ware_id DATE)",
    )
    (tmp_path / "products.csv").write_text("code,price\nA,1\n")
    (tmp_path / "sellers.csv").write_text("id,name\n1,Ada\n")
    (tmp_path / "tickets.csv").write_text("id,customer_id,text\n1,1,broken\n")
    duckdb_file(
        tmp_path / "copy.duckdb",
        "CREATE TABLE customers (id INTEGER PRIMARY KEY)",
        "CREATE TABLE wares (id INTEGER PRIMARY KEY)",
    )
    catalog = managed(
        tmp_path,
        "databases:\n  sales: 'sqlite:///shop.sqlite'\n  copy: 'duckdb:///copy.duckdb'\n"
        "  lists: {files: {products: products.csv, sellers: sellers.csv, tickets: tickets.csv}}\n",
    )

    def told(table: str) -> list[tuple[str, str, bool]]:
        return [(*one.ends(), one.declared) for one in catalog.relationships(table)]

    # `customer_id` points to customers of its own source. A file is text, so that any type fits.
    assert told("orders") == [
        ("orders", "customers", True),
        ("sales.orders", "lists.products", False),
        ("sales.orders", "lists.sellers", False),
    ]
    assert told("products") == [("sales.orders", "lists.products", False)]
    assert told("tickets") == [
        ("lists.tickets", "copy.customers", False),
        ("lists.tickets", "sales.customers", False),
    ]
    assert told("sales.customers") == [
        ("orders", "customers", True),
        ("lists.tickets", "sales.customers", False),
    ]
    (link,) = [one for one in catalog.relationships("tickets") if one.target_database == "copy"]
    assert link.evidence == "its name is that of the key it points to"
    lines = link_lines([link])
    assert lines.startswith("lists.tickets.customer_id -> copy.customers.id inferred")
