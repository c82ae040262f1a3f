"""`constat init`: the foreign keys of a database become constraints that `check-data` checks."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from tests.cli.running import run

if TYPE_CHECKING:
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
