"""Stores of documents: what becomes of documents, and of what cannot be read."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session, Verdict
from constat.catalog import drivers, mongodb, stores
from constat.catalog.connection import SourceFailureError
from constat.catalog.schema import introspection
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Write = Callable[..., Path]

ORDERS: list[dict[str, Any]] = [
    {
        "_id": "o1",
        "customer": {"name": "Kim"},
        "paid": True,
        "at": datetime(2026, 1, 31, 10, tzinfo=UTC),
        "price": 7,
        "lines": [{"sku": "a", "n": 2, "tags": ["x", "y"]}, {"sku": "$where", "n": 1}],
    },
    {"_id": "o2", "customer": {"name": "Lou"}, "price": "7", "lines": []},
    {"_id": "o3", "paid": None},
]
SETTINGS = "databases: {shop: {type: mongodb, uri: 'mongodb://u:secret@127.0.0.1:1', database: x}}"
RULES = """
.decl line(order: symbol, place: number, sku: symbol) @[null = skip]
.input line(source = "shop", query = "SELECT _parent, _position, sku FROM orders__lines")
.decl name(order: symbol, name: symbol)
.input name(source = "shop",
  query = "SELECT _id, \\"customer.name\\" FROM orders WHERE \\"customer.name\\" IS NOT NULL")
"""


class Held(stores.Store):
    """A store in memory."""

    down = False
    held: Mapping[str, Sequence[Mapping[str, Any]]] = {"orders": ORDERS}

    def collections(self) -> Sequence[str]:
        return list(self.held)

    def documents(
        self, collection: str, condition: stores.Condition
    ) -> Iterator[Mapping[str, Any]]:
        yield from self.held[collection]
        if self.down:
            raise SourceFailureError("the server does not answer")

    def told(self, collection: str, condition: stores.Condition) -> str:
        return f"all of {collection}"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> type[Held]:
    class Mine(Held):
        pass

    monkeypatch.setattr(mongodb, "MongoStore", lambda *_: Mine())
    return Mine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "constat.yaml").write_text(f"project: p\nrules: [r.dl]\n{SETTINGS}\n")
    (tmp_path / "r.dl").write_text(RULES)
    return tmp_path


@pytest.mark.usefixtures("store")
def test_documents_and_the_lists_in_them_are_tables(folder: Path) -> None:
    with Session(folder) as session:
        assert session.prove('line("o1", 1, "$where")').verdict is Verdict.PROVED
        assert session.prove('line("o2", 0, "a")').verdict is Verdict.DISPROVED
        assert session.prove('name("o2", "Lou")').verdict is Verdict.PROVED


def test_a_store_that_breaks_off_gives_no_answer(folder: Path, store: type[Held]) -> None:
    store.down = True
    with Session(folder) as session:
        assert session.prove('line("o2", 0, "a")').verdict is Verdict.UNRESOLVED


def test_columns_tell_kinds_apart() -> None:
    tables = stores.Tables("orders")
    for one in ORDERS:
        tables.add(one)
    columns = dict(tables.columns("orders").values())
    assert columns == {
        "_id": "VARCHAR",
        "paid": "BOOLEAN",
        "at": "TIMESTAMP",
        "price.whole": "BIGINT",
        "price.text": "VARCHAR",
        "lines.length": "BIGINT",
        "customer.name": "VARCHAR",
    }
    assert [one["_position"] for one in tables.rows["orders__lines__tags"]] == [
        ("text", "0.0"),
        ("text", "0.1"),
    ]


def deep(levels: int) -> dict[str, Any]:
    return {"a": deep(levels - 1)} if levels else {}


def lists(levels: int) -> list[Any]:
    return [lists(levels - 1)] if levels else []


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"_id": 1, "a.b": 1, "a": {"b": 2}}, "two fields a.b"),
        ({"_id": 1, "a.b": None, "a": {"b": 2}}, "two fields a.b"),
        ({"_id": 1, "a": 1, "A": 2}, "differ by their case"),
        ({"_id": 1, "a": deep(90)}, "32 levels"),
        ({"_id": 1, "a": lists(90)}, "32 levels"),
        ({"a": [1]}, "without `_id`"),
        ({"_id": 1, "a\nb": 1}, "cannot be that of a column"),
        ({f"f{n}": n for n in range(2_001)}, "2,000 fields"),
    ],
)
def test_documents_that_cannot_be_read_are_told(document: dict[str, Any], reason: str) -> None:
    tables = stores.Tables("c")
    with pytest.raises(SourceFailureError, match=reason):  # noqa: PT012  one or the other tells
        tables.add(document)
        tables.columns("c")


@pytest.mark.usefixtures("store")
def test_the_catalog_shows_what_was_not_verified(folder: Path) -> None:
    with Session(folder) as session:
        project = session.project
    look = introspection.look_at(project.databases["shop"], project, "")
    assert look.schema is not None
    told = {one.name: one.comment for one in look.schema.tables}
    assert told.keys() == {"orders", "orders__lines", "orders__lines__tags"}
    assert all("unverified" in (one or "") for one in told.values())


def test_a_missing_driver_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymongo", None)
    with Session(folder) as session, pytest.raises(ConstatError) as caught:
        session.prove('name("o2", "Lou")')
    (found,) = caught.value.diagnostics
    assert found.code == "C0552"
    assert "constat[mongodb]" in str(found.help)


def test_a_server_that_is_not_there_is_no_empty_one(folder: Path) -> None:
    pytest.importorskip("pymongo", reason="needs the extra `mongodb`")
    settings = (folder / "constat.yaml").read_text().replace("shop: {", "shop: {seconds: 1, ")
    (folder / "constat.yaml").write_text(settings)
    with Session(folder) as session:
        answer = session.prove('name("o2", "Lou")')
    assert answer.verdict is Verdict.UNRESOLVED
    assert "secret" not in str(answer)


@pytest.mark.usefixtures("store")
def test_what_a_document_is_known_by_is_a_key(folder: Path) -> None:
    with Session(folder) as session:
        project = session.project
    look = introspection.look_at(project.databases["shop"], project, "")
    assert look.schema is not None
    told = {one.name: one for one in look.schema.tables}
    assert told["orders"].key == ("_id",)
    assert told["orders__lines"].key == ("_parent", "_position")
    (pointing,) = [one for one in told["orders__lines"].relationships if one.target == "orders"]
    assert tuple(pointing.columns) == ("_parent",)


def test_a_document_that_comes_twice_is_a_failure(folder: Path, store: type[Held]) -> None:
    store.held = {"orders": [*ORDERS, ORDERS[1]]}
    with Session(folder) as session:
        answer = session.prove('name("o2", "Lou")')
    assert answer.verdict is Verdict.UNRESOLVED


def test_a_collection_that_cannot_be_read_hides_no_other(folder: Path, store: type[Held]) -> None:
    store.held = {"orders": ORDERS, "bad": [{"_id": 1, "a": 1, "A": 2}]}
    with Session(folder) as session:
        project = session.project
    look = introspection.look_at(project.databases["shop"], project, "")
    assert look.schema is not None
    told = {one.name: one for one in look.schema.tables}
    assert "differ by their case" in str(told["bad"].problems)
    assert told["orders"].columns


@pytest.mark.parametrize(
    ("address", "kind", "uri"),
    [
        ("mongodb://u:p@h/shop", "mongodb", "mongodb://u:p@h/shop"),
        ("mongodb+srv://h/shop", "mongodb", "mongodb+srv://h/shop"),
        ("rediss://h", "redis", "rediss://h"),
        ("opensearch+https://h:9200", "opensearch", "https://h:9200"),
        ("dynamodb+http://h", "dynamodb", "http://h"),
        ("opensearch+ftp://h", "", "opensearch+ftp://h"),
        ("postgresql://h/x", "", "postgresql://h/x"),
    ],
)
def test_an_address_says_which_store_it_is_of(address: str, kind: str, uri: str) -> None:
    assert drivers.store_of(address) == (kind, uri)


def test_fields_that_change_are_told_by_a_refresh(folder: Path, store: type[Held]) -> None:
    first = {"_id": "a", "n": 1, "at": "x", "gone": 1}
    store.held = {"orders": [first, {**first, "_id": "b"}]}
    with Session(folder) as session:
        (seen,) = session.catalog.refresh("shop")
        assert seen.problems == session.catalog.refresh("shop")[0].problems
        assert not session.catalog.refresh("shop")[0].changed
        store.held = {
            "orders": [{"_id": "a", "n": "1", "at": "x"}, {"_id": "b", "n": "2", "new": 1}]
        }
        (found,) = session.catalog.refresh("shop")
        assert found.changed
        told = set(found.problems) - set(seen.problems)
    assert told == {
        "table `orders`: column `gone` is gone",
        "table `orders`: column `n` was `BIGINT`, and is `VARCHAR`",
        "table `orders`: column `new` is new",
        "table `orders`: column `at` is no longer in every row that is read",
    }
