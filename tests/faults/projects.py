"""A project with everything that is kept, and the names of the files it consists of."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

RULES: Final = """
.decl sale(customer: symbol, amount: number)
.input sale(source="shop", query="SELECT customer, amount FROM sale", distinct="true",
  max_age="10m")
.decl promised(customer: symbol, amount: number)
.decl total(customer: symbol, amount: number)
total(?c, ?t) :- sale(?c, _), ?t = sum ?a : { sale(?c, ?a) }.
.decl big(customer: symbol)
big(?c) :- total(?c, ?t), ?t > 300.
.decl known(customer: symbol)
known(?c) :- promised(?c, _).
"""
PLAN: Final = """
question: Who bought how much?
title: totals
steps:
  - name: totals
    goal: What each customer bought
    inputs: [sale]
    outputs: "totals(customer: symbol, amount: number)"
    rules: |
      totals(?c, ?t) :- sale(?c, _), ?t = sum ?a : { sale(?c, ?a) }.
  - name: doubled
    goal: Twice as much
    inputs: [totals]
    outputs: "doubled(customer: symbol, amount: number)"
    python: |
      totals = store.get("totals")
      store.put("doubled", totals.assign(amount=totals["amount"] * 2))
"""
PROXY: Final = """
question: Who bought how much, by code?
title: proxy
steps:
  - name: counted
    goal: What each customer bought, added up by the database
    source: shop
    outputs: "counted(customer: symbol, amount: number)"
    python: |
      for turn in range(20):
          found = db.sql("SELECT customer, sum(amount) AS amount FROM sale GROUP BY customer")
      store.put("counted", found)
"""
PROGRAM: Final = """
.decl n(x: number)
.input n
.decl a(x: number, y: number)
a(?x, ?y) :- n(?x), n(?y), ?x < ?y.
.output a
"""
CUSTOMERS: Final = 7
_NUMBER: Final = re.compile(r"[0-9a-f]{8,}|\d+")


def make(folder: Path) -> Path:
    """Write the project; give its folder."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as link, link:
        link.execute("CREATE TABLE sale (customer TEXT NOT NULL, amount INTEGER NOT NULL)")
        rows = [(f"c{number % CUSTOMERS}", number) for number in range(200)]
        link.executemany("INSERT INTO sale VALUES (?, ?)", rows)
    (folder / "constat.yaml").write_text(
        "project: p\nrules: [rules]\ndatabases:\n  shop: {uri: 'sqlite:///shop.sqlite'}\n"
    )
    (folder / "rules").mkdir()
    (folder / "rules" / "r.dl").write_text(RULES)
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "proxy.yaml").write_text(PROXY)
    (folder / "p.dl").write_text(PROGRAM)
    (folder / "n.facts").write_text("".join(f"{number}\n" for number in range(300)))
    (folder / "out").mkdir()
    return folder


def copied(template: Path, folder: Path) -> Path:
    """Copy a project that has been used already."""
    shutil.copytree(template, folder, symlinks=True)
    return folder


def names(folder: Path) -> set[str]:
    """Name every file and folder below, numbers and digests left out.

    SQLite's logs go with the next program that closes their database.
    """
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return {_NUMBER.sub("#", one) for one in found if not one.endswith(("-wal", "-shm"))}
