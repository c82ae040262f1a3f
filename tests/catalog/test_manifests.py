"""What a manifest of dbt says of tables: taken over as claims, and held against the rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """
CREATE TABLE customers AS SELECT * FROM (VALUES (1, 'Ada'), (2, 'Ben')) AS t(id, name);
CREATE TABLE orders AS SELECT * FROM (VALUES (10, 1, 5), (11, 2, 7)) AS t(id, customer, amount);
CREATE VIEW large AS SELECT id FROM orders WHERE amount > 6;
"""


def model(name: str, description: str = "", /, **columns: str) -> dict[str, Any]:
    return {
        "resource_type": "model",
        "name": name,
        "schema": "main",
        "description": description,
        "columns": {key: {"name": key, "description": text} for key, text in columns.items()},
        "config": {"materialized": "table"},
    }


def demand(test: str, of: str, column: object, **more: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    config = {"severity": "ERROR", **more.pop("config", {})}
    kwargs = {"column_name": column, **more.pop("kwargs", {})}
    return {
        "resource_type": "test",
        "test_metadata": {"name": test, "namespace": more.pop("namespace", None), "kwargs": kwargs},
        "attached_node": f"model.shop.{of}",
        "config": config,
        **more,
    }


def relationship(column: str = "customer", **more: Any) -> dict[str, Any]:  # noqa: ANN401  as above
    to = {"nodes": ["model.shop.customers", "model.shop.orders"]}
    kwargs = {"to": "ref('customers')", "field": "id"}
    return demand("relationships", "orders", column, kwargs=kwargs, depends_on=to, **more)


PLAIN = [
    demand("unique", "customers", "id"),
    demand("not_null", "customers", "id"),
    demand("unique", "orders", "ID"),
    demand("not_null", "orders", "id"),
    relationship(),
]


def write(folder: Path, tests: list[dict[str, Any]], **models: dict[str, Any]) -> None:
    nodes = {
        "model.shop.customers": model(
            "customers", "Who has\nregistered.", id="Given by us.", name=""
        ),
        "model.shop.orders": model("orders", amount="In full euros."),
        **{f"model.shop.{name}": one for name, one in models.items()},
        **{f"test.shop.{number}": one for number, one in enumerate(tests)},
    }
    version = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}
    (folder / "manifest.json").write_text(json.dumps({"metadata": version, "nodes": nodes}))


def project(folder: Path, tests: list[dict[str, Any]], **models: dict[str, Any]) -> Path:
    with duckdb.connect(str(folder / "w.duckdb")) as warehouse:
        warehouse.execute(TABLES)
    write(folder, tests, **models)
    (folder / "constat.yaml").write_text(
        "databases: {w: {uri: 'duckdb:///w.duckdb', manifest: manifest.json}}\n", encoding="utf-8"
    )
    return folder


def told(folder: Path, *words: str) -> str:
    ran = run("catalog", *words, "--project", folder)
    assert ran.code == 0, ran
    return ran.out


def test_descriptions_and_tests_become_comments_keys_and_foreign_keys(tmp_path: Path) -> None:
    folder = project(tmp_path, PLAIN, large=model("large", "Above 6."))
    drafted = told(folder, "draft", "customers", "orders", "large")
    assert "/// The model w.customers, 2 rows; all were looked at. Who has registered." in drafted
    assert "/// id: Given by us.\n" in drafted
    assert "/// amount: In full euros.\n" in drafted
    assert "/// name:" not in drafted
    assert drafted.count("\n@[key = id]") == 2
    assert ".constraint orders_customer: orders(customer = ?customer) => customers" in drafted
    assert "The model w.large" in drafted
    shown = told(folder, "show", "orders")
    assert "orders(customer) points to customers(id): a test of dbt says so" in shown


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    "change",
    [
        {"config": {"where": "id > 5"}},
        {"config": {"severity": "warn"}},
        {"config": {"enabled": False}},
        {"config": {"error_if": ">10"}},
        {"config": {"limit": 5}},
        {"namespace": "somebody"},
    ],
    ids=str,
)
def test_a_test_that_rows_may_break_declares_nothing(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    loose = [
        demand("unique", "customers", "id", **change),
        demand("not_null", "customers", "id"),
        relationship(**change),
    ]
    drafted = told(project(tmp_path, loose), "draft", "customers", "orders")
    assert "\n@[key" not in drafted
    assert ".constraint" not in drafted


def accepted(column: str, values: object, **more: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    kwargs = {"values": values, **more.pop("kwargs", {})}
    return demand("accepted_values", "orders", column, kwargs=kwargs, **more)


def test_values_that_a_test_accepts_are_a_list_and_a_constraint_that_rows_may_break(
    tmp_path: Path,
) -> None:
    folder = project(tmp_path, [accepted("amount", ["5", 7]), *PLAIN])
    assert "amount is one of 5, 7: a test of dbt says so" in told(folder, "show", "orders")
    drafted = told(folder, "draft", "orders", "customers")
    assert ".decl orders_amount_values(value: number)" in drafted
    assert "\norders_amount_values(5).\norders_amount_values(7).\n" in drafted
    assert "orders(amount = ?value) => orders_amount_values(?value)." in drafted
    (folder / "orders.dl").write_text(drafted, encoding="utf-8")
    with (folder / "constat.yaml").open("a", encoding="utf-8") as file:
        file.write("rules: [orders.dl]\n")
    assert "orders_amount_accepted: holds" in run("check-data", "--project", folder).out
    with duckdb.connect(str(folder / "w.duckdb")) as warehouse:
        # As in dbt a row without a value passes; one with another does not.
        warehouse.execute("INSERT INTO orders VALUES (12, 1, NULL), (13, 1, 6)")
    told(folder, "draft", "orders", "customers")
    (folder / "orders.dl").write_text(told(folder, "draft", "orders", "customers"), "utf-8")
    checked = run("check-data", "--project", folder)
    assert checked.code != 0
    found = checked.out.partition("orders_amount_accepted")[2].partition("orders_customer")[0]
    assert "6" in found
    assert "12" not in found


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    "test",
    [
        accepted("amount", ["5", "seven"]),
        accepted("amount", [True]),
        accepted("amount", []),
        accepted("amount", "5"),
        accepted("amount", list(range(500))),
        accepted("amount", ["id"], kwargs={"quote": False}),
        accepted("amount", [5], config={"where": "id > 5"}),
        accepted("amount", [5], config={"severity": "warn"}),
        accepted("nothing", [5]),
    ],
    ids=range(9),
)
def test_a_list_that_means_something_else_declares_nothing(
    tmp_path: Path, test: dict[str, Any]
) -> None:
    drafted = told(project(tmp_path, [test]), "draft", "orders")
    assert ".constraint" not in drafted
    assert "_values" not in drafted


def contracted(columns: dict[str, Any], *constraints: dict[str, Any], enforced: bool = True) -> Any:  # noqa: ANN401  JSON
    config = {"materialized": "table", "contract": {"enforced": enforced}}
    found = {name: {"name": name, "constraints": said} for name, said in columns.items()}
    told = {**model("orders"), "columns": found, "constraints": list(constraints)}
    return {**told, "config": config}


def test_a_contract_that_is_enforced_declares_what_tests_would(tmp_path: Path) -> None:
    to = {"type": "foreign_key", "to": "ref('customers')", "to_columns": ["id"]}
    said = contracted({"id": [{"type": "primary_key"}], "customer": [to]})
    drafted = told(project(tmp_path, PLAIN[:2], orders=said), "draft", "customers", "orders")
    assert drafted.count("\n@[key = id]") == 2
    assert ".constraint orders_customer: orders(customer = ?customer) => customers" in drafted
    (tmp_path / "w.duckdb").unlink()
    both = {"type": "primary_key", "columns": ["id", "customer"]}
    written = {**to, "to": '"w"."main"."customers"', "columns": ["customer"]}
    said = contracted({}, both, written)
    drafted = told(project(tmp_path, PLAIN[:2], orders=said), "draft", "customers", "orders")
    assert '@[key = "id, customer"]' in drafted
    assert ".constraint orders_customer:" in drafted
    (tmp_path / "w.duckdb").unlink()
    said = contracted({"id": [{"type": "primary_key"}], "customer": [to]}, enforced=False)
    drafted = told(project(tmp_path, PLAIN[:2], orders=said), "draft", "customers", "orders")
    assert drafted.count("\n@[key = id]") == 1
    assert ".constraint" not in drafted


def test_who_uses_a_model_is_said_with_it(tmp_path: Path) -> None:
    folder = project(tmp_path, PLAIN)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["exposures"] = {
        f"exposure.shop.{number}": {
            "type": "dashboard",
            "name": f"weekly_{number}",
            "owner": {"name": "Ana"},
            "depends_on": {"nodes": ["model.shop.orders"]},
        }
        for number in range(5)
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    shown = told(folder, "show", "orders")
    assert "Used by the dashboard weekly_0 of Ana, the dashboard weekly_1 of Ana" in shown
    assert "and 2 more." in shown
    assert "Used by" not in told(folder, "show", "customers")


def test_a_key_of_several_columns_is_taken_from_the_helpers_of_dbt(tmp_path: Path) -> None:
    both = {"combination_of_columns": ["id", "customer"]}
    name = "unique_combination_of_columns"
    tests = [
        demand(name, "orders", None, namespace="dbt_utils", kwargs=both),
        demand("not_null", "orders", "id"),
        demand("not_null", "orders", "customer"),
    ]
    assert '@[key = "id, customer"]' in told(project(tmp_path, tests), "draft", "orders")


def test_what_the_rows_break_is_said_and_is_no_key(tmp_path: Path) -> None:
    folder = project(tmp_path, PLAIN)
    with duckdb.connect(str(folder / "w.duckdb")) as warehouse:
        warehouse.execute("INSERT INTO customers VALUES (2, 'Cy'), (NULL, 'Di')")
    drafted = told(folder, "draft", "customers")
    assert "C0847" in drafted
    assert "\n@[key" not in drafted
    assert "@[null = maybe] id" in " ".join(drafted.split())


def test_a_manifest_that_changes_is_read_anew_and_the_change_is_told(tmp_path: Path) -> None:
    folder = project(tmp_path, [])
    assert "Who has registered." in told(folder, "show", "customers")
    assert "unchanged" in told(folder, "refresh")
    write(folder, PLAIN)
    again = told(folder, "refresh")
    assert "its key was none, and is `id`" in again
    assert "that `customer` points to `customers` is declared now" in again
    (folder / "constat.yaml").write_text("databases: {w: 'duckdb:///w.duckdb'}\n", encoding="utf-8")
    assert "Who has registered." not in told(folder, "show", "customers")


def test_what_only_the_manifest_has_is_said(tmp_path: Path) -> None:
    folder = project(
        tmp_path, [], gone=model("gone"), orders=model("orders", total="Never selected.")
    )
    assert "no table is there for `gone` of the manifest" in told(folder, "list")
    assert "not known: it has no column `total` of the manifest" in told(folder, "show", "orders")


VERSION = {"metadata": {"dbt_schema_version": "https://x/dbt/manifest/v12.json"}}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        ("{", "it is no manifest of dbt"),
        ("[]", "it is no manifest of dbt"),
        ('{"metadata": {"dbt_schema_version": "https://x/dbt/catalog/v1.json"}}', "no manifest"),
        ("[" * 200_000, "it is no manifest of dbt"),
        ("\udcff", "it is no manifest of dbt"),
    ],
    ids=["none", "broken", "list", "catalog", "deep", "bytes"],
)
def test_a_manifest_that_cannot_be_read_is_said_and_costs_no_table(
    tmp_path: Path, content: str | None, why: str
) -> None:
    folder = project(tmp_path, PLAIN)
    (folder / "manifest.json").unlink()
    if content is not None:
        (folder / "manifest.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    listed = told(folder, "list")
    assert "the manifest `manifest.json` was not read" in listed
    assert why in listed
    assert "w.orders" in listed


STRANGE: list[Any] = [
    {"resource_type": "model", "name": "o", "contract": {"enforced": True}, "constraints": [1, {}]},
    {
        "resource_type": "model",
        "name": "p",
        "config": {"contract": {"enforced": True}},
        "constraints": [{"type": "foreign_key", "columns": ["id"], "to": 3, "to_columns": 4}],
        "columns": {"id": {"constraints": {"type": "unique"}}},
    },
    *(None, 1, "text", [], {}, {"resource_type": []}, {"resource_type": "model", "columns": 3}),
    {"resource_type": "test", "test_metadata": [1], "attached_node": "model.shop.orders"},
    demand("unique", "orders", ["id"]),
    demand("unique", "orders", "id + 1"),
    demand("unique", "orders", None, namespace=["a"]),
    demand("relationships", "orders", "customer", depends_on={"nodes": 7}),
    {**relationship(), "depends_on": {"nodes": [["x"], "model.shop.none"]}},
    demand("unique", "orders", "id", config={"severity": ["x"], "where": {}, "error_if": [1]}),
    {**demand("unique", "orders", "id"), "attached_node": ["model.shop.orders"]},
    {**demand("unique", "orders", "id"), "test_metadata": {"name": ["unique"], "kwargs": 5}},
]


@pytest.mark.sampled(5, "laws")
@pytest.mark.parametrize("entry", STRANGE, ids=str)
def test_an_entry_of_another_form_is_passed_over(tmp_path: Path, entry: object) -> None:
    folder = project(tmp_path, PLAIN)
    text = json.loads((folder / "manifest.json").read_text("utf-8"))
    text["nodes"]["model.shop.strange"] = entry
    (folder / "manifest.json").write_text(json.dumps(text), encoding="utf-8")
    assert "a test of dbt says so" in told(folder, "show", "orders")
    assert told(folder, "draft", "orders").count("@[key = id]") == 1


def test_a_project_begins_with_a_manifest(tmp_path: Path) -> None:
    folder = project(tmp_path, PLAIN)
    (folder / "constat.yaml").unlink()
    words = ("init", str(folder / "w.duckdb"), "--directory", str(folder))
    refused = run(*words, "--manifest", str(folder / "no.json"))
    assert (refused.code, "C0852" in refused.err) == (2, True)
    assert "the manifest cannot be read: No such file" in refused.err
    begun = run(*words, "--manifest", str(folder / "manifest.json"))
    assert begun.code == 0, begun
    assert 'manifest: "manifest.json"' in (folder / "constat.yaml").read_text("utf-8")
    assert "Who has registered." in (folder / "rules" / "sources.dl").read_text("utf-8")
    assert run("check-data", "--project", folder).code == 0
