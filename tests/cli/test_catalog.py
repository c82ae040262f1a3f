"""`constat catalog`: what is printed, and that nothing of a source draws on the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from constat.cli.completion import offers
from constat.cli.entry import cli
from tests.catalog.schema_worlds import managed, shop, sqlite_file
from tests.catalog.test_schema_checks import LIES
from tests.cli.running import Ran, run

if TYPE_CHECKING:
    from pathlib import Path


def catalog(folder: Path, *words: str) -> Ran:
    return run("catalog", *words, "--project", folder)


def test_tables_are_listed_and_shown(tmp_path: Path) -> None:
    shop(tmp_path)
    assert catalog(tmp_path, "list").out.splitlines() == [
        "sales: 4 tables",
        "TABLE              KIND   ROWS  COLUMNS",
        "sales.customers    table     3        3",
        "sales.large        view               2",
        "sales.order_lines  table     2        3",
        "sales.orders       table     3        4",
    ]
    assert catalog(tmp_path, "show", "orders").out.splitlines() == [
        "sales.orders: table, about 3 rows",
        "COLUMN       TYPE     IS              COMMENT",
        "id           INTEGER  key, not null",
        "customer_id  TEXT     not null",
        "day          TEXT     may be missing",
        "amount       REAL     may be missing",
        "unique: customer_id, day",
        "orders(customer_id) points to customers(id)",
        "order_lines(order_id) may point to orders(id): its name is that of the key it points to",
    ]


SHOWN = """\
databases:
  shop: "sqlite:///shop.sqlite"
  lists: {files: {prices: prices.csv}}
documents: {papers: papers.md}
apis:
  crm:
    url: https://crm.example
    spec_inline:
      openapi: "3.0.0"
      paths:
        /rates/{since}:
          get:
            operationId: rates
            parameters:
              - {name: since, in: path, required: true, schema: {type: string, format: date}}
            responses:
              "200":
                content:
                  application/json:
                    schema:
                      type: array
                      items:
                        type: object
                        properties: {rate: {type: number}, code: {}, open: {type: boolean}}
"""


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize(
    ("table", "words", "kinds"),
    [
        ("shop.sold", ["--check"], "id: number, day: Date, price: symbol"),
        ("lists.prices", [], "item: symbol, price: Decimal, since: Date"),
        # What documents write in columns of these names is no place of a row.
        ("papers.prices", [], "item: symbol, price: Decimal, line: number"),
        ("papers.fields", [], "document: symbol, pages: number"),
        ("crm.rates", [], "since: Date, code: symbol, open: Bool, rate: Decimal"),
    ],
)
def test_a_table_is_shown_with_the_kinds_of_its_draft(
    tmp_path: Path, table: str, words: list[str], kinds: str
) -> None:
    sold = "CREATE TABLE sold (id INTEGER PRIMARY KEY, day TEXT NOT NULL, price NOT NULL);"
    values = "INSERT INTO sold VALUES (1, '2026-01-01', 2.5), (2, '2026-01-02', 'free 7');"
    sqlite_file(tmp_path / "shop.sqlite", sold + values)
    (tmp_path / "prices.csv").write_text("item,price,since\na,1.50,2026-01-01\n")
    lines = "# Prices\n\npages: 7\n\n|item|price|line|\n|---|---|---|\n|a|1.50|3|\n"
    (tmp_path / "papers.md").write_text(lines)
    (tmp_path / "constat.yaml").write_text(SHOWN)
    shown = catalog(tmp_path, "show", table, *words, "--format", "json").json["columns"]
    told = [f"{one['name'].removeprefix('[].')}: {one['kind']}" for one in shown]
    assert set(kinds.split(", ")) <= set(told)
    found = catalog(tmp_path, "draft", table, "--format", "json").json["predicates"][0]
    assert set(kinds.split(", ")) <= {
        one.strip().replace("line_2:", "line:") for one in found.partition("(")[2][:-1].split(",")
    }
    heads = catalog(tmp_path, "show", table, *words).out
    assert "KIND" in heads


def test_a_check_tells_lies_and_exits_with_1(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", LIES)
    managed(tmp_path)
    ran = catalog(tmp_path, "show", "readings", "--check")
    assert ran.code == 1
    assert "warning[C0846]: sales.readings: column `level` is declared INTEGER" in ran.out
    assert "n/a" not in ran.out
    ran = catalog(tmp_path, "show", "readings", "--check", "--format", "json")
    assert (ran.code, len(ran.json["findings"])) == (1, 3)


def test_a_source_that_does_not_answer_is_told(tmp_path: Path) -> None:
    managed(tmp_path)
    assert "does not answer: there is no file" in catalog(tmp_path, "list").out
    assert catalog(tmp_path, "refresh").code == 2
    ran = catalog(tmp_path, "draft", "orders")
    assert (ran.code, ran.out) == (2, "")
    assert "not reached" in ran.err


def test_a_draft_takes_the_place_of_no_file(tmp_path: Path) -> None:
    shop(tmp_path)
    output = tmp_path / "drafted.dl"
    ran = catalog(tmp_path, "draft", "orders", "--output", str(output))
    assert ran.code == 0
    before = output.read_bytes()
    assert b".decl orders(\n  id: number" in before
    ran = catalog(tmp_path, "draft", "customers", "--output", str(output))
    assert (ran.code, "C0845" in ran.err) == (2, True)
    assert output.read_bytes() == before


def test_nothing_of_a_source_draws_on_the_terminal(tmp_path: Path) -> None:
    script = 'CREATE TABLE "t\u202e\u2028x" ("c\u009b31m" TEXT); '
    script += "INSERT INTO \"t\u202e\u2028x\" VALUES ('\x1b[2J');"
    sqlite_file(tmp_path / "shop.sqlite", script)
    managed(tmp_path)
    for words in (["list"], ["show", "t\u202e\u2028x"], ["search", "t"]):
        out = catalog(tmp_path, *words).out
        assert not {"\u202e", "\u2028", "\x9b", "\x1b"} & set(out), words
        assert "\\x202e" in out
    sampled = catalog(tmp_path, "sample", "t\u202e\u2028x", "--allow")
    assert "\x1b" not in sampled.out + sampled.err
    assert "\\x1b[2J" in sampled.out


def test_tables_are_offered_once_they_are_known(tmp_path: Path) -> None:
    shop(tmp_path)
    words = ["catalog", "show", "--project", str(tmp_path)]
    assert list(offers(cli, words, "sales.o")) == []
    catalog(tmp_path, "list")
    offered = [one.value for one in offers(cli, words, "sales.o")]
    assert offered == ["sales.order_lines", "sales.orders"]


FOREIGN = """id,price,share_pct,weight,day
1,EUR 12.50,5%,NA,2026-01-01
2,EUR 13,6%,7,2026-01-02
2,EUR 1.5,8%,9,2026-01-03
4,EUR 2.5,8%,9,later
"""
SAID = "file: p.csv, null: {weight: [NA]}, unit: {price: EUR, share_pct: '%'}"


def test_a_draft_says_of_files_what_init_would_have_written(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(FOREIGN)
    settings = tmp_path / "constat.yaml"
    settings.write_text("databases: {lists: {files: {p: p.csv}}}\n")
    ran = catalog(tmp_path, "draft", "p")
    assert ran.code == 0
    for told in (
        "p: NA means that there is no value in `weight`; say so beside `file` in constat.yaml",
        "p: the numbers of `price` are EUR; say so beside `file` in constat.yaml",
        "p: the numbers of `share_pct` are %; say so beside `file` in constat.yaml",
        "p: all but 1 of 4 values of `day` spell a Date; `null` beside `file` lists",
        "p: `id` is nearly a key: 2 of 4 rows share its values",
    ):
        assert told in ran.err
    # No value of a row is shown, but for the words that say that there is none.
    assert "later" not in ran.out + ran.err
    settings.write_text(f"databases: {{lists: {{files: {{p: {{{SAID}}}}}}}}}\n")
    ran = catalog(tmp_path, "draft", "p")
    assert "beside `file` in" not in ran.err
    declared = " ".join(ran.out.split())
    assert '@[unit = "EUR"] @[places = 2] price: Decimal' in declared
    assert '@[unit = "%"] share_pct: number' in declared
    assert "price {price}, share {share_pct}, weight {weight}" in declared
    found = json.loads(catalog(tmp_path, "draft", "p", "--format", "json").out)
    assert len(found["hints"]) == 2


def test_init_drafts_as_the_catalog_does(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(FOREIGN)
    assert run("init", tmp_path / "p.csv", "--directory", tmp_path).code == 0
    drafted = (tmp_path / "rules" / "sources.dl").read_text()
    # Beside the first draft the predicate would need another name.
    (tmp_path / "rules" / "sources.dl").unlink()
    ran = catalog(tmp_path, "draft", "p", "--format", "json")
    assert json.loads(ran.out)["text"] == drafted


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("t.csv", "id,n\n1,10\n2,20\n", "id,n\n1,ten\n2,twenty\n"),
        ("t.json", '[{"id": 1, "n": 10}]', '[{"id": 1, "n": "ten"}]'),
        ("t.csv", "id,n\n1,2025-01-01\n", "id,n\n1,Monday\n"),
    ],
)
def test_a_column_that_changed_its_type_is_told_until_the_declaration_fits(
    tmp_path: Path, name: str, before: str, after: str
) -> None:
    (tmp_path / name).write_text(before)
    (tmp_path / "constat.yaml").write_text(
        f"databases: {{shop: {{files: {{t: {name}}}}}}}\nrules: [r.dl]\n"
    )
    (tmp_path / "r.dl").write_text("")
    rules = catalog(tmp_path, "draft", "t").out
    (tmp_path / "r.dl").write_text(rules)
    assert "C0854" not in catalog(tmp_path, "refresh").out
    (tmp_path / name).write_text(after)
    for _ in range(2):
        ran = catalog(tmp_path, "refresh", "shop")
        assert (ran.code, ran.out.count("C0854")) == (0, 1)
        assert "help: write `n: symbol`" in ran.out
    (told,) = catalog(tmp_path, "refresh", "--format", "json").json["declarations"]
    assert (told["check"], told["state"]) == ("database shop", "warning")
    kind = "Date" if "2025" in before else "number"
    (tmp_path / "r.dl").write_text(rules.replace(f"n: {kind}", "n: symbol"))
    assert "C0854" not in catalog(tmp_path, "refresh").out
