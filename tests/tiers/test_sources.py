"""What is recorded of a source, and what is SQLite's own; `test_every_source` has the rest."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.logic import OPEN
from tests.tiers.building import database, declare, open_rows, reasons, rows, setting

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Predicate

ORDERS = "SELECT id, c, amount FROM orders"
PREDICATE = "orders(id: number, c: symbol, amount: Decimal)"
SCRIPT = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, c TEXT, amount NUMERIC);
    INSERT INTO orders VALUES (1, 'C001', 10.5), (2, 'C001', 10.5), (3, 'C002', 7);
"""
C1, C2 = ("C001",), ("C002",)


def test_evidence_says_exactly_what_was_asked_and_what_came(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=SCRIPT)
    (portion,) = found.ask("orders", (1,), C1).portions
    evidence = portion.evidence
    assert evidence.query == (
        f"WITH q(c0, c1, c2) AS (\n{ORDERS}\n)\nSELECT c0, c1, c2 FROM q WHERE c1 = ? OR c1 IS NULL"
    )
    assert evidence.parameters == ("C001",)
    assert (evidence.source, evidence.row_count) == ("sales", 2)
    assert len(evidence.executed_at) == 27
    assert evidence.executed_at.endswith("Z")
    lines = [json.dumps([str(n), "C001", "10.5"], separators=(",", ":")) + "\n" for n in (1, 2)]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert evidence.content_hash == f"sha256:{digest}"
    # Anybody can run it again.
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    again = connection.execute(evidence.query, evidence.parameters).fetchall()
    connection.close()
    assert again == [(1, "C001", 10.5), (2, "C001", 10.5)]


def test_the_snapshot_names_the_state_that_was_read(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=SCRIPT)

    def snapshot() -> str | None:
        answer = found.ask("orders", (1,), C1)
        found.tiers.release()
        return answer.authorities[0].snapshot

    first = snapshot()
    assert first == snapshot()
    database(tmp_path / "shop.sqlite", "UPDATE orders SET amount = 1 WHERE id = 3")
    changed = snapshot()
    assert changed not in {first, None}


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_all_queries_between_releases_see_one_state(tmp_path: Path, mode: str) -> None:
    found = setting(
        tmp_path, declare(PREDICATE, ORDERS), script=f"PRAGMA journal_mode = {mode};{SCRIPT}"
    )
    writer = sqlite3.connect(tmp_path / "shop.sqlite", timeout=0.05, isolation_level=None)
    writer.execute("SELECT count(*) FROM orders").fetchall()
    before = found.ask("orders", (1,), C1).authorities[0].snapshot
    change = "UPDATE orders SET amount = 99 WHERE c = 'C002'"
    if mode == "WAL":
        writer.execute(change)
    else:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            writer.execute(change)
    answer = found.ask("orders", (1,), C2)
    assert rows(answer) == {(3, "C002", Decimal(7))}
    assert answer.authorities[0].snapshot == before is not None
    found.tiers.release()
    if mode == "DELETE":
        writer.execute(change)
    answer = found.ask("orders", (1,), C2)
    assert rows(answer) == {(3, "C002", Decimal(99))}
    assert answer.authorities[0].snapshot != before
    writer.close()


def test_each_state_of_a_write_ahead_log_has_its_own_name(tmp_path: Path) -> None:
    found = setting(
        tmp_path, declare(PREDICATE, ORDERS), script=f"PRAGMA journal_mode = WAL;{SCRIPT}"
    )
    writer = sqlite3.connect(tmp_path / "shop.sqlite", isolation_level=None)
    names = []
    for amount in range(30):
        writer.execute("UPDATE orders SET amount = ?", (amount,))
        if amount % 7 == 0:
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        answer = found.ask("orders", (1,), C2)
        found.tiers.release()
        assert rows(answer) == {(3, "C002", Decimal(amount))}
        names.append(answer.authorities[0].snapshot)
    writer.close()
    known = [name for name in names if name is not None]
    assert len(set(known)) == len(known) >= 25


# Null policies (semantics 26).

NULLS = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, c TEXT, amount NUMERIC);
    INSERT INTO orders VALUES (1, 'C001', 5), (2, 'C001', NULL), (3, NULL, 9), (4, 'C002', 7);
"""


def with_nulls(folder: Path, predicate: Predicate) -> tuple[set[object], set[object], str]:
    found = setting(folder, predicate, script=NULLS)
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == {C1}
    # The whole relation says the same of this key as a demand for it does.
    whole = found.ask("orders")
    assert {row for row in rows(whole) if row[1] == "C001"} == rows(answer)
    assert {row for row in open_rows(whole) if row[1] in {"C001", OPEN}} == open_rows(answer)
    found.tiers.close()
    return set(rows(answer)), set(open_rows(answer)), reasons(answer)


def test_a_columns_null_policy_beats_its_inputs(tmp_path: Path) -> None:
    predicate = declare(PREDICATE, ORDERS, nulls={"amount": "skip"}, parameters={"null": "error"})
    _, possible, _ = with_nulls(tmp_path, predicate)
    assert possible == {(3, OPEN, Decimal(9))}


def test_a_cell_that_is_no_value_opens_its_row_only(tmp_path: Path) -> None:
    script = f"{SCRIPT} INSERT INTO orders VALUES (9, 'C002', 'ten'), (10, 'C003', x'00');"
    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=script)
    answer = found.ask("orders")
    assert len(rows(answer)) == 3
    assert open_rows(answer) == {(9, "C002", OPEN), (10, "C003", OPEN)}
    assert "query of orders, column amount (declared Decimal) is not a decimal number" in reasons(
        answer
    )
    assert "ten" not in reasons(answer).replace("often", "")


def test_a_million_bad_cells_do_not_make_a_million_openings(tmp_path: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    script = f"""
        CREATE TABLE orders (id, c, amount);
        INSERT INTO orders {numbers} SELECT i, 'x', 'y' FROM n;
    """
    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=script)
    answer = found.ask("orders")
    assert len(answer.openings) == 1_001
    assert (OPEN, OPEN, OPEN) in open_rows(answer)


# Equal rows (semantics 22).

PAID = "SELECT c, amount FROM orders"


@pytest.mark.parametrize("where", ["attribute", "parameter"])
def test_distinct_says_that_equal_rows_mean_nothing(tmp_path: Path, where: str) -> None:
    signature = "paid(c: symbol, amount: Decimal)"
    predicate = (
        declare(signature, PAID, distinct="true")
        if where == "attribute"
        else declare(signature, PAID, parameters={"distinct": "true"})
    )
    answer = setting(tmp_path, predicate, script=SCRIPT).ask("paid")
    assert rows(answer) == {("C001", Decimal("10.5")), ("C002", Decimal(7))}
    assert answer.answered == {()}
    assert answer.authorities[0].row_count == 2


# Connections that cannot be used.


def test_a_missing_variable_of_a_connection_is_named_when_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text("")
    config = "facts: {limit: 3}"
    found = setting(
        tmp_path, declare(PREDICATE, ORDERS), declare("limit(x: number)"), config=config
    )
    found.tiers.close()
    from constat.project import load_project
    from constat.tiers import build_externals
    from tests.tiers.building import analysed

    text = "databases: {sales: {uri: 'sqlite:///${CONSTAT_TEST_NOTHING}/x'}}\nfacts: {limit: 3}"
    (tmp_path / "constat.yaml").write_text(text)
    tiers = build_externals(
        load_project(tmp_path), analysed(found.predicates.values()), found.store
    )
    found.tiers = tiers
    assert rows(found.ask("limit")) == {(3,)}
    with pytest.raises(ConstatError, match="CONSTAT_TEST_NOTHING"):
        found.ask("orders", (1,), C1)


@pytest.mark.parametrize(
    "uri",
    [
        "sqlite:///../shop.sqlite", "sqlite:///:memory:", "sqlite:///", "sqlite:///x?mode=rwc",
        "postgres://bob:hunter2@h/d", "postgresql+psycopg2://bob:hunter2@h/d", "nonsense", "file:x",
        "sqlite:///a\0b", "mysql+aiomysql://bob:hunter2@h/d", "postgresql://bob:hunter2@h:port/d",
        "sqlite+pysqlite:///shop.sqlite", "sqlite+pysqlite:////a/b?mode=rwc", "bob:hunter2@h",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_reported_without_showing_it(
    tmp_path: Path, uri: str
) -> None:
    from pathlib import Path as AnyPath

    from constat.catalog import open_connection
    from constat.project import Database, Expanded

    with pytest.raises(ConstatError, match="C0512") as caught:
        open_connection(Database("sales", "sql", Expanded(uri)), AnyPath(tmp_path), 1)
    assert "hunter2" not in str(caught.value)
    assert uri not in str(caught.value)


def test_a_server_that_is_not_there_is_a_failure_without_its_address(tmp_path: Path) -> None:
    from constat.catalog import SourceFailureError, open_connection
    from constat.project import Database, Expanded

    for uri in ("postgresql://bob:hunter2@127.0.0.1:1/d", "mysql://bob:hunter2@127.0.0.1:1/d"):
        with pytest.raises(SourceFailureError) as caught:
            open_connection(Database("sales", "sql", Expanded(uri)), tmp_path, 1)
        assert caught.value.reason == "the server cannot be reached"
        assert caught.value.code == "C0553"


# Sources that fail: unknown with a reason, never "no rows".


def unknown(folder: Path, content: bytes | None, reason: str) -> None:
    found = setting(folder, declare(PREDICATE, ORDERS), script=SCRIPT)
    (folder / "shop.sqlite").unlink()
    if content is not None:
        (folder / "shop.sqlite").write_bytes(content)
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == frozenset()
    assert open_rows(answer) == {(OPEN, "C001", OPEN)}
    assert "database sales" in reasons(answer)
    assert reason in reasons(answer)
    assert str(folder) not in reasons(answer)


def test_a_missing_file(tmp_path: Path) -> None:
    unknown(tmp_path, None, "there is no file")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    unknown(tmp_path, b"hello" * 1_000, "not a database")


def test_a_damaged_file(tmp_path: Path) -> None:
    path = database(tmp_path / "other.sqlite", SCRIPT)
    content = bytearray(path.read_bytes())
    content[4_096:] = b"\xff" * (len(content) - 4_096)
    path.unlink()
    unknown(tmp_path, bytes(content), "malformed")


def test_a_locked_database_is_unknown_and_answers_later(tmp_path: Path) -> None:
    sales = ", seconds: 0.1"
    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=SCRIPT, sales=sales)
    writer = sqlite3.connect(tmp_path / "shop.sqlite", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == frozenset()
    assert "locked" in reasons(answer)
    writer.execute("ROLLBACK")
    writer.close()
    found.tiers.release()
    assert len(rows(found.ask("orders", (1,), C1))) == 2


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


def test_a_query_without_end_is_stopped_and_partial(tmp_path: Path) -> None:
    found = setting(
        tmp_path, declare("p(i: number)", f"{ENDLESS} WHERE i < 3"), sales=", seconds: 0.2"
    )
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert (1,) in rows(answer) <= {(1,), (2,)}
    assert "did not finish within 0.2 s" in reasons(answer)


def test_a_stopped_query_leaves_the_values_of_a_key_uncertain(tmp_path: Path) -> None:
    query = "SELECT c, id FROM orders ORDER BY id"
    predicate = declare("p(c: symbol, id: number)", query, key="c")
    found = setting(tmp_path, predicate, script=SCRIPT, sales=", rows: 1")
    answer = found.ask("p", (0,), C1)
    assert rows(answer) == set()
    assert ("C001", 1) in open_rows(answer)
    assert answer.answered == frozenset()


def test_a_database_that_goes_away_between_queries(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=SCRIPT)
    assert len(rows(found.ask("orders", (1,), C1))) == 2
    (tmp_path / "shop.sqlite").unlink()
    # One state is being read, and it still can be.
    assert found.ask("orders", (1,), C2).answered == {C2}
    found.tiers.release()
    answer = found.ask("orders", (1,), C1)
    assert answer.answered == frozenset()
    assert rows(answer) == set()


def test_a_database_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=SCRIPT)
    found.ask("orders", (1,), C1)
    found.tiers.release()
    other = database(tmp_path / "other.sqlite", SCRIPT.replace("10.5", "99"))
    other.rename(tmp_path / "shop.sqlite")
    assert {row[2] for row in rows(found.ask("orders", (1,), C1))} == {Decimal(99)}


def test_a_query_that_is_cut_off_midway_keeps_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from constat.catalog import SourceFailureError, SqliteConnection

    found = setting(tmp_path, declare(PREDICATE, ORDERS), script=SCRIPT)

    def cut(self: object, *_: object) -> object:
        yield [(1, "C001", 10.5)]
        raise SourceFailureError("SQLite says: disk I/O error")

    monkeypatch.setattr(SqliteConnection, "read", cut)
    answer = found.ask("orders", (1,), C1)
    assert rows(answer) == {(1, "C001", Decimal("10.5"))}
    assert answer.answered == frozenset()
    assert "disk I/O error" in reasons(answer)


def test_the_public_sample_database_is_read_exactly(tmp_path: Path, data_folder: Path) -> None:
    chinook = data_folder / "chinook.sqlite"
    if not chinook.exists():
        pytest.skip("the sample database is not there")
    (tmp_path / "shop.sqlite").write_bytes(chinook.read_bytes())
    query = "SELECT InvoiceId, CustomerId, InvoiceDate, Total FROM Invoice"
    predicate = declare("invoice(i: number, c: number, d: Date, total: Decimal)", query)
    found = setting(tmp_path, predicate)
    answer = found.ask("invoice", (1,), *[(customer,) for customer in range(1, 60)])
    assert answer.openings == ()
    connection = sqlite3.connect(chinook)
    cents, count = connection.execute(
        "SELECT sum(CAST(round(Total * 100) AS INTEGER)), count(*) FROM Invoice"
    ).fetchone()
    connection.close()
    assert len(rows(answer)) == count
    assert sum(Decimal(str(row[3])) for row in rows(answer)) * 100 == cents


def test_an_attribute_of_the_predicate_says_what_its_input_leaves_open(tmp_path: Path) -> None:
    predicate = declare(PREDICATE, ORDERS, null="skip")
    assert with_nulls(tmp_path, predicate)[1] == set()
    folder = tmp_path / "beaten"
    folder.mkdir()
    beaten = declare(PREDICATE, ORDERS, null="skip", parameters={"null": "error"})
    assert with_nulls(folder, beaten)[1] != set()
