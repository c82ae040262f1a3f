"""One goal over sources of every kind: proved, accepted by the checker, read again."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest

from constat import Session
from constat.check import check_certificate
from tests.tiers.kinds import Table, write_csv, write_duckdb, write_lines, write_parquet

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """
project: together
rules: [rules.dl]
databases:
  crm: "sqlite:///crm.sqlite"
  shop: "duckdb:///shop.duckdb"
  data:
    files:
      customers: customers.csv
      payments: "payments*.parquet"
      visits: visits.jsonl
facts: {threshold: 100}
"""
RULES = """
.decl threshold(x: Decimal)
.decl tier(c: symbol, t: symbol)
.input tier(source="crm", query="SELECT id, tier FROM accounts")
.decl order_(o: number, c: symbol, day: Date)
.input order_(source="shop", query="SELECT id, c, day::DATE FROM orders WHERE day IS NOT NULL")
.decl name(c: symbol, n: symbol)
.input name(source="data", query="SELECT id, name FROM customers")
.decl payment(o: number, x: Decimal)
.input payment(source="data", query="SELECT o, amount FROM payments")
.decl visit(v: number, c: symbol)
.input visit(source="data", query="SELECT id, c FROM visits")

.decl good(c: symbol, n: symbol)
good(?c, ?n) :-
    tier(?c, "gold"), name(?c, ?n), order_(?o, ?c, _), payment(?o, ?x), threshold(?limit),
    ?x >= ?limit, visit(_, ?c), !blocked(?c).
.decl blocked(c: symbol)
.input blocked(source="data", query="SELECT id FROM customers WHERE blocked = 'yes'")
"""
PAYMENTS = {"payments": Table({"o": "integer", "amount": "decimal"}, [(1, Decimal("150.50"))])}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "crm.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE accounts (id TEXT, tier TEXT)")
        connection.execute("INSERT INTO accounts VALUES ('001', 'gold'), ('002', 'gold')")
    orders = Table(
        {"id": "integer", "c": "text", "day": "text"},
        [(1, "001", "2026-01-31"), (2, "002", "2026-02-01")],
    )
    write_duckdb(tmp_path, {"orders": orders})
    customers = Table(
        {"id": "text", "name": "text", "blocked": "text"},
        [("001", "Ann", "no"), ("002", "Bob", "yes")],
    )
    write_csv(tmp_path, {"customers": customers})
    write_parquet(tmp_path, PAYMENTS)
    write_lines(
        tmp_path, {"visits": Table({"id": "integer", "c": "text"}, [(1, "001"), (2, "002")])}
    )
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "constat.yaml").write_text(CONFIGURATION)
    return tmp_path


def prove(project: Path, goal: str) -> tuple[str, bytes]:
    with Session(project) as session:
        result = session.prove(goal)
    return result.verdict.value, result.certificate


def test_a_goal_over_four_kinds_of_source_is_proved_and_accepted(project: Path) -> None:
    verdict, certificate = prove(project, "good(001, Ann)")
    assert verdict == "PROVED"
    report = check_certificate(certificate)
    assert report.accepted, report.reason
    text = certificate.decode()
    for source in ("crm", "shop", "data"):
        assert f'"{source}"' in text
    with Session(project) as session:
        read = session.verify_source(certificate)
    assert read.exit_code == 0
    assert not read.drift


def test_what_the_sources_say_against_it_disproves(project: Path) -> None:
    verdict, certificate = prove(project, "good(002, Bob)")
    assert verdict == "DISPROVED"
    assert check_certificate(certificate).accepted


@pytest.mark.parametrize("name", ["customers.csv", "payments.parquet", "visits.jsonl"])
def test_a_file_that_is_gone_leaves_the_goal_open(project: Path, name: str) -> None:
    (project / name).unlink()
    verdict, certificate = prove(project, "good(001, Ann)")
    assert verdict == "UNRESOLVED"
    assert check_certificate(certificate).accepted
    assert str(project) not in certificate.decode()


def test_a_changed_leaf_is_found_when_the_source_is_read_again(project: Path) -> None:
    _, certificate = prove(project, "good(001, Ann)")
    changed = Table({"o": "integer", "amount": "decimal"}, [(1, Decimal("150.49"))])
    write_parquet(project, {"payments": changed})
    with duckdb.connect(str(project / "shop.duckdb")) as connection:
        connection.execute("UPDATE orders SET c = '999' WHERE id = 1")
    with Session(project) as session:
        read = session.verify_source(certificate)
    assert read.exit_code == 1
    assert {"payment", "order_"} <= {leaf.text.partition("(")[0] for leaf in read.drift}


COLD = """
import sys
from constat import Session
with Session(sys.argv[1]) as session:
    print(session.prove("tier(001, gold)").verdict.value)
    print(sorted({"duckdb", "sqlalchemy", "pandas"} & set(sys.modules)))
    print(session.prove("name(001, Ann)").verdict.value)
    print("duckdb" in sys.modules)
"""


def test_no_driver_is_loaded_before_its_source_is_needed(project: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", COLD, str(project)], capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n") == ["PROVED", "[]", "PROVED", "True", ""]
