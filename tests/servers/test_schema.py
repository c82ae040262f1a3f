"""What the catalog says of servers: tables, keys, comments; noticed when they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.catalog.schema import Relationship
from constat.diagnostics import ConstatError
from tests.catalog.schema_worlds import managed
from tests.catalog.test_schema_checks import accepted

if TYPE_CHECKING:
    from pathlib import Path

    from constat.catalog.schema import SchemaManager
    from tests.servers.leasing import ServedDatabase

TABLES = (
    "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, UNIQUE (name, id))",
    """CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id INT, billing_customer_id INT,
       amount DECIMAL(12, 2), day DATE,
       CONSTRAINT whose FOREIGN KEY (customer_id) REFERENCES customers (id))""",
    "CREATE VIEW large AS SELECT id, amount FROM orders WHERE amount > 100",
    "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob')",
    "INSERT INTO orders VALUES (1, 1, 2, 10.50, '2025-01-01'), (2, NULL, 9, 200, NULL)",
)


def catalog(source: ServedDatabase, folder: Path, more: str = "") -> SchemaManager:
    return managed(folder, f'databases: {{sales: {{uri: "{source.uri}"}}}}\n{more}', kept=True)


def test_a_server_tells_columns_keys_and_relationships(
    source: ServedDatabase, tmp_path: Path
) -> None:
    source.run(*TABLES)
    if source.server.kind == "postgresql":
        source.run("COMMENT ON TABLE customers IS 'who buys'", "ANALYZE")
        source.run("COMMENT ON COLUMN customers.name IS 'as on the invoice'")
    else:
        source.run("ALTER TABLE customers COMMENT 'who buys'")
        source.run(
            "ALTER TABLE customers MODIFY name VARCHAR(40) NOT NULL COMMENT 'as on the invoice'"
        )
    found = catalog(source, tmp_path)
    assert [(one.label, one.kind) for one in found.tables()] == [
        ("customers", "table"),
        ("large", "view"),
        ("orders", "table"),
    ]
    customers, orders = found.table("customers"), found.table("orders")
    assert (customers.comment, customers.columns[1].comment) == ("who buys", "as on the invoice")
    assert (customers.key, customers.unique) == (("id",), (("name", "id"),))
    assert customers.rows == 2
    assert [one.nullable for one in customers.columns] == [False, False]
    assert orders.columns[3].declared.startswith(("numeric(12,2)", "decimal(12,2)"))
    declared = Relationship(("customer_id",), "customers", ("id",))
    assert orders.relationships[0] == declared
    assert [(one.columns[0], one.declared) for one in orders.relationships] == [
        ("customer_id", True),
        ("billing_customer_id", False),
    ]
    messages = [one.message for one in found.check("orders").findings]
    assert len(messages) == 1
    assert "billing_customer_id" in messages[0]
    assert found.sample("customers", ["name"], allowed=True)[0].values == (("Ada", 1), ("Bob", 1))
    found.close()


def test_a_change_on_the_server_is_noticed(source: ServedDatabase, tmp_path: Path) -> None:
    source.run(*TABLES)
    changes = (
        "ALTER TABLE orders ADD COLUMN note VARCHAR(10)",
        "ALTER TABLE orders DROP CONSTRAINT whose",
        "ALTER TABLE customers RENAME COLUMN name TO full_name",
        "DROP VIEW large",
    )
    before = None
    for change in ("SELECT 1", "SELECT 1", *changes):
        source.run(change)
        found = catalog(source, tmp_path)
        found.tables()
        kept = found._index.source("sales")
        found.close()
        assert kept is not None
        assert before is None or (kept.seen_at != before) is (change != "SELECT 1"), change
        before = kept.seen_at


def test_a_draft_of_a_servers_tables_reads_their_rows(
    source: ServedDatabase, tmp_path: Path
) -> None:
    source.run(*TABLES)
    catalog(source, tmp_path, "rules: []").close()
    with Session(tmp_path) as session:
        found = session.draft_tables(["orders", "customers"])
    accepted(tmp_path, found.text)
    text = f'databases: {{sales: {{uri: "{source.uri}"}}}}\nrules: [drafted.dl]\n'
    (tmp_path / "constat.yaml").write_text(text, encoding="utf-8")
    with Session(tmp_path) as session:
        assert session.prove('customers(1, "Ada")').verdict.value == "PROVED"
        assert session.prove("orders(1, 1, 2, 10.50, 2025-01-01)").verdict.value == "PROVED"


def test_an_account_sees_what_it_may_read(postgresql: ServedDatabase, tmp_path: Path) -> None:
    postgresql.run(
        *TABLES,
        "CREATE ROLE narrow LOGIN PASSWORD 'pw-narrow'",
        "GRANT SELECT (id) ON customers TO narrow",
    )
    try:
        uri = postgresql.server.uri(postgresql.name, "narrow", "pw-narrow")
        found = managed(tmp_path, f'databases: {{sales: {{uri: "{uri}"}}}}')
        assert [one.label for one in found.tables()] == ["customers"]
        assert [one.name for one in found.table("customers").columns] == ["id"]
        found.close()
    finally:
        postgresql.run("DROP OWNED BY narrow", "DROP ROLE narrow")


def test_a_relationship_into_another_schema_is_checked(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    postgresql.run(
        "CREATE SCHEMA other",
        "CREATE TABLE other.parts (id INT PRIMARY KEY)",
        "CREATE TABLE uses (part_id INT)",
        "INSERT INTO uses VALUES (1)",
        "ALTER TABLE uses ADD FOREIGN KEY (part_id) REFERENCES other.parts (id) NOT VALID",
    )
    found = catalog(postgresql, tmp_path)
    assert found.table("uses").relationships[0].target == "other.parts"
    (finding,) = found.check("uses").findings
    assert (finding.code, "1 of 1" in finding.message) == ("C0848", True)
    found.close()


def test_no_address_is_shown_or_kept(source: ServedDatabase, tmp_path: Path) -> None:
    source.run(*TABLES)
    found = catalog(source, tmp_path)
    found.tables()
    found.close()
    secret = source.server.password
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("catalog.sqlite*"))
    assert secret.encode() not in kept
    wrong = source.uri.replace(secret, "wrong-secret")
    found = managed(tmp_path, f'databases: {{other: {{uri: "{wrong}"}}}}')
    failure = found.databases()[0].failure
    assert failure
    assert "wrong-secret" not in failure
    assert "127.0.0.1" not in failure
    found.close()
    with pytest.raises(ConstatError) as caught:
        managed(tmp_path, f'databases: {{other: {{uri: "{wrong}"}}}}').table("orders")
    assert "wrong-secret" not in str(caught.value)
