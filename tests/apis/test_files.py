"""Descriptions of APIs in several files: each is read once, and none outside of the project."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat.apis import Api, ApiError
from tests.apis.servers import JSONResponse, Request, Response, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from constat.apis import Description
    from constat.project.apis import ApiSetting

    Read = Callable[[str], ApiSetting]

MAIN = {
    "openapi": "3.0.0",
    "paths": {
        "/orders": {
            "get": {
                "operationId": "listOrders",
                "parameters": [{"$ref": "parts/common.json#/parameters/customer"}],
                "responses": {"200": {"$ref": "parts/common.json#/responses/orders"}},
            }
        }
    },
    "components": {"schemas": {"Money": {"type": "number"}}},
}
COMMON = {
    "parameters": {"customer": {"name": "customer", "in": "query", "schema": {"type": "string"}}},
    "responses": {
        "orders": {"content": {"application/json": {"schema": {"$ref": "#/schemas/orders"}}}}
    },
    "schemas": {
        "orders": {"type": "array", "items": {"$ref": "order.yaml"}},
    },
}
ORDER = """
type: object
required: [id]
properties:
  id: {type: integer}
  total: {$ref: "../spec.json#/components/schemas/Money"}
  part: {$ref: "order.yaml"}
"""


def told(description: Description) -> tuple[set[str], list[str], dict[str, str]]:
    operation = description.operations["listOrders"]
    names = [one.name for one in operation.parameters]
    fields = description.fields(operation)
    listed: Any = fields.fields
    kinds = {".".join(one.path): one.kind for one in listed}
    return set(description.operations), names, kinds


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / "api" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


FILES = {
    "spec.json": json.dumps(MAIN),
    "parts/common.json": json.dumps(COMMON),
    "parts/order.yaml": ORDER,
}


def described(folder: Path, setting: Read) -> Description:
    found = setting("spec_file: api/spec.json\nurl: https://crm.example")
    return Api(found, folder, folder / "state").description(time.monotonic() + 10)


def test_references_lead_into_other_files(tmp_path: Path, setting: Read) -> None:
    write(tmp_path, FILES)
    operations, names, kinds = told(described(tmp_path, setting))
    assert operations == {"listOrders"}
    assert names == ["customer"]
    assert kinds["[].id"] == "integer"
    assert kinds["[].total"] == "number"


def test_answers_are_held_against_schemas_of_other_files(tmp_path: Path, setting: Read) -> None:
    write(tmp_path, FILES)
    found = described(tmp_path, setting)
    operation = found.operations["listOrders"]
    assert found.problem(operation, [{"id": 1, "part": {"id": 2}}]) == ""
    assert found.problem(operation, [{"id": 1, "part": {"id": "2"}}]) != ""


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("parts/gone.json#/a", "gone.json, to which .* cannot be read"),
        ("../../../outside.json", "leads out of the project"),
        ("/etc/passwd", "leads out of the project"),
        ("parts/broken.json", "neither JSON nor YAML|cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, setting: Read, reference: str, reason: str
) -> None:
    write(tmp_path, FILES | {"parts/broken.json": "a: [", "parts/common.json": json.dumps(
        COMMON | {"schemas": {"orders": {"$ref": reference}}})})  # fmt: skip
    if reference.startswith("parts"):
        reference = reference.removeprefix("parts/")
        text = json.dumps(COMMON | {"schemas": {"orders": {"$ref": reference}}})
        write(tmp_path, {"parts/common.json": text})
    with pytest.raises(ApiError, match=reason):
        described(tmp_path, setting)


@pytest.mark.parametrize("reference", ["https://other.example/a.json", "file:///etc/passwd"])
def test_references_elsewhere_are_not_followed(
    tmp_path: Path, setting: Read, reference: str
) -> None:
    schemas = {"orders": {"type": "array", "items": {"$ref": reference}}}
    write(tmp_path, FILES | {"parts/common.json": json.dumps(COMMON | {"schemas": schemas})})
    _, names, _ = told(described(tmp_path, setting))
    assert names == ["customer"]


def test_files_beside_an_address_are_fetched_from_its_host_alone(
    tmp_path: Path, setting: Read
) -> None:
    async def main(request: Request, state: dict[str, Any]) -> Response:
        return JSONResponse(MAIN)

    async def common(request: Request, state: dict[str, Any]) -> Response:
        items = {"type": "object", "properties": {"id": {"type": "integer"}}}
        order = {"allOf": [items, {"$ref": "http://127.0.0.1:9/other.json"}]}
        schemas = {"orders": {"type": "array", "items": order}}
        return JSONResponse(COMMON | {"schemas": schemas})

    with serving({"/d/spec.json": main, "/d/parts/common.json": common}) as server:
        found = setting(f"spec_url: {server.url}/d/spec.json\nprivate: true")
        until = time.monotonic() + 10
        found_twice = []
        for _ in range(2):
            with closing(Api(found, tmp_path, tmp_path / "state")) as api:
                found_twice.append(told(api.description(until))[1:])
        assert server.seen.paths == ["/d/spec.json", "/d/parts/common.json"]
    assert found_twice == [(["customer"], {"[].id": "integer"})] * 2
