"""Finding by words: what fits best is found wherever it stands, and how much is looked at."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.catalog.schema import ColumnSchema
from constat.catalog.schema.search import column_hits, learned_synonyms, lines_of
from constat.store import catalog as catalog_search
from constat.store.catalog import CatalogIndex, Entry, KeptSource
from tests.bench import bench_search
from tests.catalog.schema_worlds import duckdb_file, managed, sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from constat.catalog.schema import SchemaManager


def index_of(names: Iterable[tuple[str, str]]) -> CatalogIndex:
    """Give an index of tables with those words in their names, and in their columns."""
    index = CatalogIndex(None)
    entries = [
        Entry("s", "table", f"t{place}", "s", "", name, more)
        for place, (name, more) in enumerate(names)
    ]
    index.replace(KeptSource("s", "", "", ""), (), entries)
    return index


def found(index: CatalogIndex, words: str, most: int = 5) -> list[str]:
    return [one.label for one in index.search(words.split(), (), most)]


def exact(index: CatalogIndex, words: str, most: int) -> list[float]:
    """Give the scores of the best by ranking everything."""
    match = " OR ".join(f'"{word}"' for word in words.split())
    asked = "SELECT -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    return [float(score) for (score,) in index._rows(asked, (match, most))]


def test_the_best_is_found_behind_thousands_that_fit_less() -> None:
    # No table has all three words; the one that has two of them is the last of all.
    rows = [("", "status amount"[: 6 + 7 * (place % 2)]) for place in range(3_000)]
    index = index_of([*rows, ("", "region"), *[("", "other")] * 7_000, ("", "region currency")])
    assert found(index, "status region currency")[0] == "t10001"


def test_a_word_that_most_have_neither_hides_nor_is_hidden() -> None:
    index = index_of([*[("", "status")] * 60, ("", "ledger"), ("", "ledger status")])
    assert found(index, "status ledger") == ["t61", "t60", "t0", "t1", "t2"]
    assert found(index, "status", 3) == ["t0", "t1", "t2"]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_out_of_a_ranking_would_not_be_among_the_best(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(catalog_search, "_MOST_RANKED", 150)
    chosen = random.Random(seed)
    words = [f"word{place}" for place in range(6)]
    frequent = [chosen.random() ** 2 / 2 for _ in words]
    index = index_of(
        (
            "",
            " ".join(
                w for w, often in zip(words, frequent, strict=True) if chosen.random() < often
            ),
        )
        for _ in range(300)
    )
    search = catalog_search.WordSearch(index._rows, words, (), 5)
    telling = [one for one in search._known if one.weight > catalog_search._LIGHTEST]
    text = " ".join(one.text.strip('"') for one in telling)
    scores = [round(score, 9) for _, score in search._best(telling)]
    assert scores == [round(score, 9) for score in exact(index, text, 5)]


def test_several_common_words_outweigh_a_rare_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_search, "_MOST_RANKED", 50)
    singles = [("", word) for word in ("status", "amount", "region") for _ in range(95)]
    index = index_of(
        [*[("", "ledger")] * 40, *singles, *[("", "")] * 50, *[("", "status amount region")] * 5]
    )
    assert found(index, "ledger status amount region") == [f"t{375 + n}" for n in range(5)]


def test_few_rows_are_ranked_where_a_rare_word_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    index = index_of([*[("", "amount")] * 400, *[("", "")] * 500, *[("ledger", "")] * 9])
    rows = index._rows

    def counting(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        asked.append(statement)
        return rows(statement, values)

    monkeypatch.setattr(catalog_search, "_MOST_RANKED", 100)
    search = catalog_search.WordSearch(counting, ["ledger", "amount"], (), 5)
    assert len(search._best(search._known)) == 5
    ranking = [one for one in asked if "rank" in one]
    assert len(ranking) == 1
    assert "+rowid IN" in ranking[0]


def test_columns_are_found_by_their_words_with_their_comments() -> None:
    columns = [
        ColumnSchema("id"),
        ColumnSchema("CustomerId", comment="who\nbuys\x1fid\x1f"),
        ColumnSchema("total amount"),
        ColumnSchema("categories"),
    ]
    tables = [("s", "t", lines_of(columns)), ("s", "wide", lines_of([ColumnSchema("amount")]))]
    assert [one.name for one in column_hits(["amount"], tables, 9)] == [
        "s.t.total amount",
        "s.wide.amount",
    ]
    assert column_hits(["id", "customers"], tables, 1)[0].about == "who buys id"
    assert [one.name for one in column_hits(["category"], tables, 9)] == ["s.t.categories"]
    assert column_hits(["who"], tables, 9) == []


def test_among_thousands_of_like_columns_the_one_with_more_words_is_found() -> None:
    columns = [ColumnSchema(f"id_{place}") for place in range(1_500)]
    columns[1_400] = ColumnSchema("id_of_supplier")
    hits = column_hits(["id", "supplier"], [("s", "t", lines_of(columns))], 3)
    assert [one.name for one in hits] == ["s.t.id_of_supplier", "s.t.id_0", "s.t.id_1"]


def test_only_the_wanted_kinds_are_found(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", "CREATE TABLE orders (orders_id INTEGER)")
    catalog = managed(tmp_path)
    kinds = [one.kind for one in catalog.search("orders").hits]
    assert kinds == ["table", "column"]
    assert [one.kind for one in catalog.search("orders", ("column",)).hits] == ["column"]
    assert catalog.search("orders", ("rule",)).hits == ()


def names(catalog: SchemaManager, words: str, *kinds: str) -> list[str]:
    return [one.name for one in catalog.search(words, kinds or ("table", "column")).hits]


def test_synonyms_are_found_where_no_name_has_the_words(tmp_path: Path) -> None:
    script = "CREATE TABLE customers (cust_no INTEGER, zip TEXT); CREATE TABLE track (a INTEGER)"
    sqlite_file(tmp_path / "shop.sqlite", script)
    catalog = managed(tmp_path)
    assert names(catalog, "song") == ["sales.track"]
    assert names(catalog, "Kunde") == ["sales.customers", "sales.customers.cust_no"]
    columns = ["sales.customers.cust_no", "sales.customers.zip"]
    assert names(catalog, "buyer postcode") == ["sales.customers", *columns]
    assert names(catalog, "giraffe") == []


def test_who_asks_by_name_is_not_shown_synonyms(tmp_path: Path) -> None:
    script = "CREATE TABLE buyers (a INTEGER); CREATE TABLE client (b INTEGER)"
    sqlite_file(tmp_path / "shop.sqlite", script)
    catalog = managed(tmp_path)
    assert names(catalog, "client") == ["sales.client"]
    assert names(catalog, "customer") == ["sales.buyers", "sales.client"]


def test_comments_tell_what_words_stand_for_elsewhere_too(tmp_path: Path) -> None:
    duckdb_file(
        tmp_path / "shop.duckdb",
        "CREATE TABLE a (kd_nr INTEGER, umsz DECIMAL(9, 2))",
        "CREATE TABLE b (kd_nr INTEGER, lief_nr INTEGER)",
        "COMMENT ON COLUMN a.kd_nr IS 'number of the widget'",
        "COMMENT ON COLUMN b.lief_nr IS 'number of the gadget'",
    )
    catalog = managed(tmp_path, 'databases: {sales: "duckdb:///shop.duckdb"}')
    assert names(catalog, "widget", "column")[:2] == ["sales.a.kd_nr", "sales.b.kd_nr"]
    assert "sales.b.lief_nr" not in names(catalog, "widget", "column")
    assert names(catalog, "gadget", "column")[0] == "sales.b.lief_nr"


def test_rules_tell_what_tables_are_called(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", "CREATE TABLE t_017 (id INTEGER); CREATE TABLE x (y)")
    (tmp_path / "constat.yaml").write_text(
        'databases: {sales: "sqlite:///shop.sqlite"}\nrules: [rules.dl]', encoding="utf-8"
    )
    (tmp_path / "rules.dl").write_text(
        ".decl widget(id: number)\n"
        '.input widget(source = "sales", query = "SELECT id FROM t_017")\n'
        ".decl oversized(id: number)\noversized(?id) :- widget(?id), ?id > 7.\n",
        encoding="utf-8",
    )
    with Session(tmp_path) as session:
        for words in ("widget", "oversized widgets", "oversized"):
            assert names(session.catalog, words, "table") == ["sales.t_017"], words


def test_only_short_texts_and_frequent_pairs_are_learned() -> None:
    said = [("client number", "cust_no"), ("product number", "prod_no"), ("b c d e f g h i j", "z")]
    learned = learned_synonyms([*said, *[("other thing", f"x{place} code") for place in range(9)]])
    assert ("client", "cust") in learned
    assert ("number", "no") in learned
    assert ("client", "no") not in learned
    assert ("thing", "code") in learned
    assert not [one for one in learned if one[1] == "z"]


def test_synonyms_of_a_source_go_with_it() -> None:
    index = CatalogIndex(None)
    index.replace(KeptSource("s", "", "", ""), (), (), [("client", "cust")])
    assert index.synonyms("client") == ("cust",)
    index.replace(KeptSource("s", "", "", ""), (), ())
    assert index.synonyms("client") == ()


def test_words_that_no_name_has_find_what_is_meant() -> None:
    found = [at for world in bench_search.worlds().values() for at in bench_search.places(world)]
    assert len(found) == 120
    assert sum(at < 5 for at in found) >= 94
