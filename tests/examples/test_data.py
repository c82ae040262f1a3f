"""The example's database is the same everywhere, and built whole or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from tests.examples.shop import build_database

if TYPE_CHECKING:
    from pathlib import Path


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_two_builds_hold_the_same_rows(tmp_path: Path, shop_database: Path) -> None:
    build_database(tmp_path / "again.sqlite")
    assert dump(tmp_path / "again.sqlite") == dump(shop_database)


def test_the_database_holds_thousands_of_rows(shop_database: Path) -> None:
    with closing(sqlite3.connect(shop_database)) as connection:
        count = connection.execute("SELECT count(*) FROM orders").fetchone()[0]
    assert count >= 5_000


def test_a_build_replaces_an_older_file_and_leaves_no_other(tmp_path: Path) -> None:
    (tmp_path / "shop.sqlite").write_text("not a database")
    build_database(tmp_path / "shop.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["shop.sqlite"]
    assert dump(tmp_path / "shop.sqlite")
