"""`constat init`: the foreign keys of a database become constraints that `check-data` checks."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path


def test_foreign_keys_are_drafted_where_nothing_may_be_missing(tmp_path: Path) -> None:
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
    assert "orders_other" not in written
    ran = run("check-data", "orders_c", "--project", folder)
    assert (ran.code, "violates_orders_c(z)" in ran.out) == (5, True)
