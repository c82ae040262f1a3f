"""`constat catalog`, `doctor` and drafts over APIs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from constat.session.diagnosis import diagnose, disagreements
from tests.apis.servers import JSONResponse, Request, Response, Served, serving
from tests.apis.test_answers import SPEC

Project = Callable[..., Path]
Open = Callable[[Path], Session]
State = dict[str, Any]

# The third API of the first description of the product, without the network.
WEATHER = """
type: openapi
url: https://api.weather.gov
spec_inline:
  openapi: "3.0.0"
  paths:
    /points/{lat},{lon}:
      get:
        operationId: getPoint
        parameters:
          - name: lat
            in: path
            required: true
"""


async def spec(request: Request, state: State) -> Response:
    if "spec" not in state and request.headers.get("if-none-match") == "v1":
        return Response(status_code=304)
    return JSONResponse(state.get("spec", SPEC), headers={"etag": "v1"})


async def orders(request: Request, state: State) -> Response:
    lines = [{"sku": "a", "amount": 2}, {"sku": "a", "amount": 2}]
    return JSONResponse({"orders": [{"id": 1, "total": 10.5, "lines": lines}]})


async def shapes(request: Request, state: State) -> Response:
    parts = [{"leaves": [{"sku": "a"}, {"sku": "b"}]}, {"leaves": [{"sku": "c"}]}]
    return JSONResponse([{"id": "s", "ring": [[5, 6], [7]], "parts": parts}])


async def people(request: Request, state: State) -> Response:
    return JSONResponse([{"id": "1", "home": {"city": "Bern"}, "tags": ["new", None]}])


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving({"/spec": spec, "/orders": orders, "/people": people, "/shapes": shapes}) as found:
        yield found


@pytest.fixture
def crm(project: Project, server: Served, opened: Open) -> Callable[..., Session]:
    server.state.pop("spec", None)

    def make(rules: str = ".decl p(x: symbol)\np(a).\n", more: str = "") -> Session:
        settings = f"spec_url: {server.url}/spec\nprivate: true\nauthority: true\n{more}"
        return opened(project(settings, rules))

    return make


def test_operations_are_listed_shown_and_found(crm: Callable[..., Session]) -> None:
    with crm() as session:
        (database,) = session.catalog.databases()
        assert (database.name, database.kind, database.tables) == ("crm", "openapi", 5)
        listed = {one.label: one.kind for one in session.catalog.tables()}
        assert listed["listOrders"] == "operation"
        shown = session.catalog.table("crm.listOrders")
        assert shown.key == ("customer",)
        columns = {one.name: one.declared for one in shown.columns}
        assert columns["customer"] == "query string"
        assert columns["orders[].lines[].sku"] == "string"
        assert session.catalog.table("addOrder").problems == (
            "it may change something, and is not asked",
        )
        hits = session.catalog.search("blocked").hits
        assert ("operation", "crm.getBlocked") in {(one.kind, one.name) for one in hits}
        with pytest.raises(ConstatError) as caught:
            session.catalog.sample("listOrders", allowed=True)
        assert caught.value.diagnostics[0].code == "C0842"


def test_a_draft_is_read_and_answers(crm: Callable[..., Session]) -> None:
    with crm() as session:
        found = session.draft_tables(["listOrders"])
        assert len(found.signatures) == 2
    with crm(found.text) as session:
        assert session.prove('list_orders("C1", 1, 10.5)').verdict is Verdict.PROVED
        # Equal lines are two: their places tell them apart.
        goal = 'list_orders_lines("C1", 1, 1, a, 2)'
        assert session.prove(goal).verdict is Verdict.PROVED


HELD = {"type": "object", "properties": {"sku": {"type": "string"}}}
LINES = {"type": "array", "items": HELD}


@pytest.mark.parametrize(
    ("properties", "rows"),
    [
        # A list with what tells of its pages is a list; a thing with a list in it is a thing.
        ({"total_count": {"type": "integer"}, "next": {}, "lines": LINES}, ['"lines[]"']),
        ({"data": LINES, "meta": HELD, "_links": HELD}, ['"data[]"']),
        ({"id": {"type": "integer"}, "lines": LINES}, ["", '"lines[]"']),
        ({"total": {"type": "number"}, "buyer": HELD, "lines": LINES}, ["", '"lines[]"']),
    ],
)
def test_a_thing_is_no_list_for_having_one(
    project: Project, opened: Open, properties: dict[str, Any], rows: list[str]
) -> None:
    schema = {"type": "object", "properties": properties}
    answer = {"200": {"content": {"application/json": {"schema": schema}}}}
    spec = {"openapi": "3.0.0", "paths": {"/o": {"get": {"operationId": "o", "responses": answer}}}}
    settings = f"url: https://crm.example\nspec_inline: {json.dumps(spec)}"
    with opened(project(settings, ".decl p(x: symbol)\np(a).\n")) as session:
        inputs = session.draft_tables(["crm.o"]).text.split(".input ")[1:]
    assert [one.partition("rows = ")[2].partition(")")[0].split(",")[0] for one in inputs] == rows


def test_a_draft_names_what_may_be_missing_and_null_entries_are_rows(
    project: Project, server: Served, opened: Open
) -> None:
    plain = {"type": "string"}
    place = {"type": "object", "required": ["city"], "properties": {"city": plain}}
    tags = {"type": "array", "items": {"type": "string", "nullable": True}}
    of = {"id": plain, "home": place, "secret": {"writeOnly": True, **plain}, "tags": tags}
    entry = {"type": "object", "required": list(of), "properties": of}
    schema = {"type": "array", "items": entry}
    answer = {"200": {"content": {"application/json": {"schema": schema}}}}
    get = {"operationId": "people", "responses": answer}
    spec = {"openapi": "3.0.0", "paths": {"/people": {"get": get}}}
    settings = f"url: {server.url}\nprivate: true\nauthority: true\nspec_inline: {json.dumps(spec)}"
    with opened(project(settings, ".decl p(x: symbol)\np(a).\n")) as session:
        text = session.draft_tables(["crm.people"]).text
    declared = " ".join(text.partition(".decl people(")[2].partition(")")[0].split())
    assert declared == "home_city: symbol, id: symbol"
    with opened(project(settings, text)) as session:
        assert session.prove('people("Bern", "1")').verdict is Verdict.PROVED
        goal = 'people_tags("1", {}, {})'
        assert session.prove(goal.format(0, '"new"')).verdict is Verdict.PROVED
        # The second entry is null: what it is nobody knows, and there is no third.
        assert session.prove(goal.format(1, '"old"')).verdict is Verdict.UNRESOLVED
        assert session.prove(goal.format(2, "?tag")).verdict is Verdict.DISPROVED


def test_lists_in_lists_are_drafted_to_their_end_and_answer(
    project: Project, server: Served, opened: Open
) -> None:
    number = {"type": "integer"}
    ring = {"type": "array", "items": {"type": "array", "items": number}}
    leaf = {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}}
    part = {"type": "object", "properties": {"leaves": {"type": "array", "items": leaf}}}
    of = {
        "id": {"type": "string"},
        "ring": ring,
        "parts": {"type": "array", "items": part},
        "pairs": {"type": "array", "items": {"type": "array", "prefixItems": [number]}},
        "names": {"type": "object", "additionalProperties": number},
        "any": {"type": "array"},
    }
    entry = {"type": "object", "required": ["id"], "properties": of}
    answer = {
        "200": {"content": {"application/json": {"schema": {"type": "array", "items": entry}}}}
    }
    get = {"operationId": "shapes", "responses": answer}
    spec = {"openapi": "3.1.0", "paths": {"/shapes": {"get": get}}}
    settings = f"url: {server.url}\nprivate: true\nauthority: true\nspec_inline: {json.dumps(spec)}"
    with opened(project(settings, ".decl p(x: symbol)\np(a).\n")) as session:
        text = session.draft_tables(["crm.shapes"]).text
    for name, why in (
        ("[].pairs[][]", "nothing says what its entries are"),
        ("[].any[]", "nothing says what its entries are"),
        ("[].names", "nothing names its fields"),
    ):
        assert f"// Left out: `{name}` is not read: {why}." in text
    assert text.count(".decl") == 3
    with opened(project(settings, text)) as session:
        for goal in ("shapes_ring(s, 1, 0, 7)", 'shapes_parts_leaves(s, 0, 1, "b")'):
            assert session.prove(goal).verdict is Verdict.PROVED
        for goal in ("shapes_ring(s, 0, 1, 7)", 'shapes_parts_leaves(s, 1, 1, "b")'):
            assert session.prove(goal).verdict is Verdict.DISPROVED


def test_what_changes_something_is_not_drafted(crm: Callable[..., Session]) -> None:
    with crm() as session:
        for name, code in (("addOrder", "C0572"), ("listOrder", "C0840")):
            with pytest.raises(ConstatError) as caught:
                session.draft_tables([name])
            assert caught.value.diagnostics[0].code == code


def test_a_description_that_has_changed_is_told(
    crm: Callable[..., Session], server: Served
) -> None:
    with crm() as session:
        session.catalog.databases()
        assert session.catalog.refresh("crm")[0].problems == ()
        changed = json.loads(json.dumps(SPEC).replace('"total"', '"sum"'))
        del changed["paths"]["/names"]
        server.state["spec"] = changed
        (found,) = session.catalog.refresh("crm")
        assert found.changed
        assert "operation `listNames` is gone" in found.problems
        assert "operation `listOrders`: field `orders[].sum` is new" in found.problems


def test_the_first_descriptions_weather_is_shown_and_drafted(
    project: Project, opened: Open
) -> None:
    with opened(project(WEATHER, ".decl p(x: symbol)\np(a).\n", "weather")) as session:
        shown = session.catalog.table("weather.getPoint")
        assert [one.name for one in shown.columns] == ["lat", "lon"]
        text = session.draft_tables(["weather.getPoint"]).text
    assert 'required = "lat, lon"' in text
    with opened(project(WEATHER, text, "weather")) as session:
        assert session.program.program.predicates["get_point"].arity == 2


def test_doctor_looks_at_apis_and_the_declarations_over_them(
    crm: Callable[..., Session],
) -> None:
    wrong = """
    .decl named(ident: symbol)
    .input named(source="crm", operation="listNames")
    """
    with crm(wrong) as session:
        found = [one for one in diagnose(session.project.folder) if one.check == "API crm"]
    assert "C0573" in {one.code for one in found}
    assert "5 operations" in found[-1].message


@pytest.mark.parametrize(
    ("kind", "declared", "edit"),
    [
        ("string", "number", "if there are such values, write `total: symbol`"),
        ("number", "number", "if there are such values, write `total: Decimal`"),
        ("boolean", "number", "write `total: Bool`"),
        ("number", "Decimal", ""),
        ("integer", "symbol", ""),
    ],
)
def test_a_declaration_that_a_field_no_longer_fits_is_told_again_and_again(
    crm: Callable[..., Session], kind: str, declared: str, edit: str
) -> None:
    answer = {"type": "object", "required": ["total"], "properties": {"total": {"type": kind}}}
    response = {"200": {"content": {"application/json": {"schema": answer}}}}
    get = {"operationId": "total", "responses": response}
    spec = {"openapi": "3.0.0", "paths": {"/total": {"get": get}}}
    rules = f'.decl t(total: {declared})\n.input t(source="crm", operation="total")\n'
    with crm(rules) as session:
        folder = session.project.folder
    settings = f"url: https://crm.example\nspec_inline: {json.dumps(spec)}\n"
    lines = "".join(f"    {line}\n" for line in settings.splitlines())
    (folder / "constat.yaml").write_text(f"project: t\nrules: rules\napis:\n  crm:\n{lines}")
    for _ in range(2):
        with Session(folder) as session:
            session.catalog.refresh()
        assert [one.help for one in disagreements(folder, ["crm"])] == ([edit] if edit else [])
        assert list(disagreements(folder, ["other"])) == []


def test_doctor_tells_a_description_that_has_changed_and_leaves_goals_by_the_one_before(
    crm: Callable[..., Session], server: Served
) -> None:
    rules = """
    .decl ordered(customer: symbol, id: number, total: Decimal)
    .input ordered(source="crm", operation="listOrders", required="customer", rows="orders[]")
    """

    def told(session: Session) -> list[tuple[str, str]]:
        found = diagnose(session.project.folder)
        return [(one.state, one.message) for one in found if one.check == "API crm"]

    with crm(rules) as session:
        assert [state for state, _ in told(session)] == ["ok"]
        changed = json.dumps(SPEC).replace('"id": {"type": "integer"}', '"id": {"type": "boolean"}')
        changed = changed.replace('"required": ["id", "total", "lines"]', '"required": ["id"]')
        server.state["spec"] = json.loads(changed)
        for _ in range(2):  # it is told as long as nobody has the description read anew
            states = told(session)
            assert [state for state, _ in states] == ["warning", "warning", "note", "ok"]
            description, misfit, missing, _ = (message for _, message in states)
            assert "operation `listOrders`: field `orders[].id` has changed" in description
            assert "is of type boolean, and `id` is declared number" in misfit
            assert "field `orders[].total` of `listOrders` may be missing" in missing
        assert session.catalog.refresh("crm")[0].changed
        assert [state for state, _ in told(session)] == ["warning", "note", "ok"]


def test_a_description_in_a_file_that_has_changed_is_told(project: Project, opened: Open) -> None:
    folder = project(
        "url: http://127.0.0.1:9\nspec_file: crm.json\nprivate: true", ".decl p(x: symbol)\n"
    )
    (folder / "crm.json").write_text(json.dumps(SPEC))
    with opened(folder) as session:
        assert session.catalog.refresh("crm")[0].problems == ()
    (folder / "crm.json").write_text(json.dumps(SPEC).replace('"total"', '"sum"'))
    with opened(folder) as session:
        (found,) = session.catalog.refresh("crm")
    assert found.problems[-2:] == (
        "operation `listOrders`: column `orders[].total` is gone",
        "operation `listOrders`: column `orders[].sum` is new",
    )
