"""Operations as predicates, through a session: verdicts, certificates, and what goes wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.proof.report.markup import checker_source
from constat.session import Session
from tests.apis.servers import JSONResponse, PlainTextResponse, Request, Response, Served, serving
from tests.report.checker.second_checker import SecondChecker, node

Project = Callable[..., Path]
Open = Callable[[Path], Session]
State = dict[str, Any]


def table(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def answers(schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}


NOTE = {"type": "string", "nullable": True}
TEXT, WHOLE, EXACT = {"type": "string"}, {"type": "integer"}, {"type": "number"}
LINE = table(sku=TEXT, amount=WHOLE)
ORDER = table(id=WHOLE, total=EXACT, lines={"type": "array", "items": LINE})
CUSTOMER = {"name": "customer", "in": "query", "required": True, "schema": TEXT}
SPEC: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "shop", "version": "7"},
    "paths": {
        "/orders": {
            "get": {
                "operationId": "listOrders",
                "parameters": [CUSTOMER],
                "responses": answers(table(orders={"type": "array", "items": ORDER})),
            },
            "post": {"operationId": "addOrder", "responses": answers(ORDER)},
        },
        "/blocked/{id}": {
            "get": {"operationId": "getBlocked", "responses": answers(table(reason=TEXT))}
        },
        "/names": {
            "get": {
                "operationId": "listNames",
                "responses": answers({"type": "array", "items": table(id=TEXT, note=NOTE)}),
            }
        },
        "/search": {
            "post": {
                "operationId": "search",
                "requestBody": {
                    "content": {"application/json": {"schema": table(word=TEXT, most=WHOLE)}}
                },
                "responses": answers({"type": "array", "items": table(id=TEXT)}),
            }
        },
    },
}
RULES = """
.decl customer(c: symbol)
customer("C001"). customer("C002").
.decl ordered(c: symbol, id: number, total: Decimal)
.input ordered(source="crm", operation="listOrders", rows="orders[]", columns="c = {customer}",
               required="c")
.decl line(c: symbol, order: number, sku: symbol, amount: number)
.input line(source="crm", operation="listOrders", rows="orders[].lines[]",
            columns="c = {customer}, order = orders[].id", required="c")
.decl blocked(c: symbol, reason: symbol)
.input blocked(source="crm", operation="getBlocked", columns="c = {id}", required="c")
.decl named(id: symbol)
.input named(source="crm", operation="listNames")
.decl good(c: symbol)
good(?c) :- ordered(?c, _, ?t), customer(?c), ?t > 100.0, !blocked(?c, _).
.decl spent(c: symbol, t: Decimal)
spent(?c, ?t) :- customer(?c), ?t = sum ?x : { ordered(?c, ?i, ?x), ?i > 0 }.
"""


async def spec(request: Request, state: State) -> Response:
    return JSONResponse(state.get("spec", SPEC), headers={"etag": "v1"})


async def orders(request: Request, state: State) -> Response:
    if "orders" in state:
        found: Response = state["orders"](request)
        return found
    lines = [{"sku": "a", "amount": 2}, {"sku": "b", "amount": 1}]
    listed = [{"id": 1, "total": 10.5, "lines": lines}, {"id": 2, "total": 200.25, "lines": []}]
    known = request.query_params["customer"] == "C001"
    return JSONResponse({"orders": listed if known else []})


async def blocked(request: Request, state: State) -> Response:
    if request.path_params["id"] == "C002":
        return JSONResponse({"reason": "fraud"})
    return JSONResponse({"error": "unknown"}, 404)


async def names(request: Request, state: State) -> Response:
    if request.headers.get("if-none-match") == "n1":
        return Response(status_code=304)
    return JSONResponse(
        [{"id": "x", "note": None}, {"id": "y", "note": "b"}], headers={"etag": "n1"}
    )


async def search(request: Request, state: State) -> Response:
    asked = await request.json()
    return JSONResponse([{"id": f"{asked['word']}-{asked['most']}"}])


@pytest.fixture(scope="module")
def shared() -> Iterator[Served]:
    routes = {
        "/spec": spec,
        "/orders": orders,
        "/blocked/{id}": blocked,
        "/names": names,
        "/search": search,
    }
    with serving(routes) as found:
        yield found


@pytest.fixture
def server(shared: Served) -> Served:
    """The server as it is at first."""
    shared.state.pop("orders", None)
    shared.state.pop("spec", None)
    shared.seen.requests.clear()
    return shared


@pytest.fixture
def crm(project: Project, server: Served, opened: Open) -> Callable[..., Session]:
    def make(more: str = "", rules: str = RULES) -> Session:
        return opened(project(f"spec_url: {server.url}/spec\nprivate: true\n{more}", rules))

    return make


TRUSTED = "authority: true\nnot_found: empty\nretries: 0"


@pytest.mark.parametrize(
    ("goal", "trusted", "said"),
    [
        ("good(C001)", Verdict.PROVED, Verdict.UNRESOLVED),
        ("good(C002)", Verdict.DISPROVED, Verdict.DISPROVED_UNDER),
        ("named(x)", Verdict.PROVED, Verdict.PROVED_UNDER),
        ("named(z)", Verdict.DISPROVED, Verdict.UNRESOLVED),
        ("line(C001, 1, a, 2)", Verdict.PROVED, Verdict.PROVED_UNDER),
        ("spent(C001, 210.75)", Verdict.PROVED, Verdict.UNRESOLVED),
        ("spent(C001, 211)", Verdict.DISPROVED, Verdict.UNRESOLVED),
    ],
)
def test_an_answer_is_an_apis_word_unless_it_is_an_authority(
    crm: Callable[..., Session], goal: str, trusted: Verdict, said: Verdict
) -> None:
    with crm(TRUSTED) as session:
        assert session.prove(goal).verdict is trusted
    with crm("not_found: empty") as session:
        result = session.prove(goal)
        assert result.verdict is said
        assert all("API crm says" in one.text for one in result.assumptions)


def test_a_certificate_says_how_it_was_asked_and_both_checkers_take_it(
    crm: Callable[..., Session], server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hush-hush")
    with crm(f"{TRUSTED}\nurl: {server.url}\nauth: {{token: '${{TOKEN}}'}}") as session:
        result = session.prove("good(C001)")
        assert result.verdict is Verdict.PROVED
        assert session.verify(result.certificate).accepted
    assert b"hush-hush" not in result.certificate
    document = json.loads(result.certificate)
    first = document["sources"][0]
    assert first["origin"] == "API"
    assert first["query"] == "GET /orders"
    assert first["parameters"] == ["customer=C001"]
    assert first["authority"] == {"operation": "GET /orders", "pages": 1}
    assert first["attestation"]["agent"]["version"] == "7"
    assert first["attestation"]["note"] == "status 200, a page, as described"
    assert document["header"]["level"] == "C1"
    if node() is None:
        pytest.skip("no JavaScript engine")
    with closing(SecondChecker(checker_source())) as second:
        assert second.check(result.certificate)["accepted"] is True


def test_sources_are_read_again_and_a_change_is_found(
    crm: Callable[..., Session], server: Served
) -> None:
    with crm(TRUSTED) as session:
        result = session.prove("good(C001)")
        assert session.verify_source(result.certificate).exit_code == 0
        asked = len(server.seen.requests)
        server.state["orders"] = lambda _: JSONResponse(
            {"orders": [{"id": 2, "total": 99.5, "lines": []}]}
        )
        report = session.verify_source(result.certificate)
        assert len(server.seen.requests) > asked
        assert report.exit_code == 1


def test_the_cheap_and_the_bound_come_first(crm: Callable[..., Session], server: Served) -> None:
    with crm(TRUSTED) as session:
        session.prove("good(C001)")
    assert [path for path in server.seen.paths if "C002" in path] == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda _: PlainTextResponse("<html>", media_type="text/html"), "C0576"),
        (lambda _: PlainTextResponse("<html>"), "C0576"),
        (lambda _: PlainTextResponse("no", 500), "C0574"),
        (lambda _: PlainTextResponse("no", 403), "C0579"),
        (lambda _: PlainTextResponse("no", 418), "C0574"),
        (lambda _: PlainTextResponse("no", 404), "C0574"),
        (lambda _: JSONResponse({"orders": None}), "C0577"),
        (lambda _: JSONResponse({"orders": [{"id": "1", "total": 1, "lines": []}]}), "C0577"),
        (lambda _: JSONResponse({"orders": [{"id": 1, "lines": []}]}), "C0577"),
        (lambda _: JSONResponse({"data": []}), "C0577"),
        (lambda _: JSONResponse([]), "C0577"),
        (lambda _: PlainTextResponse("[" * 100_000, media_type="application/json"), "C0576"),
    ],
)
def test_what_is_no_answer_makes_facts_unknown_and_never_absent(
    crm: Callable[..., Session], server: Served, answer: Callable[[Request], Response], code: str
) -> None:
    server.state["orders"] = answer
    with crm(TRUSTED) as session:
        result = session.prove("ordered(C001, 1, 10.5)")
        assert result.verdict is Verdict.UNRESOLVED
        reasons = " ".join(str(one) for one in result.calls[0].answer.openings)
        assert f"[{code}]" in reasons


def test_where_drift_is_reported_rows_are_used_and_nothing_is_all_there_is(
    crm: Callable[..., Session], server: Served
) -> None:
    listed = [{"id": 1, "total": 10.5, "lines": [], "more": 1}, {"id": 2, "total": 3}]
    server.state["orders"] = lambda _: JSONResponse({"orders": listed})
    with crm(f"{TRUSTED}\nschema: report") as session:
        assert session.prove("ordered(C001, 1, 10.5)").verdict is Verdict.PROVED_UNDER
        assert session.prove("ordered(C001, 9, 10.5)").verdict is Verdict.UNRESOLVED


ENTRY = {"id": 1, "total": 10.5, "lines": []}
SOLD = {"sku": "a", "amount": 2}


@pytest.mark.parametrize(
    ("goal", "orders", "blank", "verdict"),
    [
        ("ordered(C001, {}, 10.5)", [ENTRY, None], "orders[]", Verdict.PROVED_UNDER),
        ("ordered(C001, {}, 10.5)", [None], "orders[]", Verdict.UNRESOLVED),
        (
            "line(C001, {}, a, 2)",
            [None, {"id": 1, "lines": [SOLD]}],
            "orders[]",
            Verdict.PROVED_UNDER,
        ),
        (
            "line(C001, {}, a, 2)",
            [{"id": 1, "lines": [None, SOLD]}],
            "orders[].lines[]",
            Verdict.PROVED_UNDER,
        ),
    ],
)
def test_an_entry_that_is_null_is_no_row_and_what_it_is_nobody_knows(
    crm: Callable[..., Session],
    server: Served,
    goal: str,
    orders: list[Any],
    blank: str,
    verdict: Verdict,
) -> None:
    spec: Any = copy.deepcopy(SPEC)
    spec["paths"]["/orders"]["get"]["responses"] = answers({"type": "object"})
    server.state.update(spec=spec, orders=lambda _: JSONResponse({"orders": orders}))
    with crm(TRUSTED) as session:
        assert session.prove(goal.format(1)).verdict is verdict
        result = session.prove(goal.format(9))
        assert result.verdict is Verdict.UNRESOLVED
        reasons = " ".join(str(one) for one in result.calls[0].answer.openings)
        assert f"an entry of `{blank}` is null" in reasons
    full = {"orders": [one for one in orders if one and None not in one["lines"]]}
    server.state["orders"] = lambda _: JSONResponse(full)
    with crm(TRUSTED) as session:
        assert session.prove(goal.format(9)).verdict is Verdict.DISPROVED


def test_equal_rows_are_found(crm: Callable[..., Session], server: Served) -> None:
    order = {"id": 1, "total": 10.5, "lines": []}
    server.state["orders"] = lambda _: JSONResponse({"orders": [order, order]})
    with crm(TRUSTED) as session:
        result = session.prove("spent(C001, 10.5)")
        assert "C0523" in str([one.answer.openings for one in result.calls])
        assert result.verdict is Verdict.UNRESOLVED


@pytest.mark.parametrize(
    ("wrong", "right", "code", "edit"),
    [
        ('operation="listNames"', 'operation="listName"', "C0572", 'operation="listNames"'),
        ('operation="listNames"', 'operation="addOrder"', "C0572", "safe: [addOrder]"),
        ('columns="c = {id}"', 'columns="c = {ident}"', "C0573", "{id}"),
        ("named(id: symbol)", "named(ident: symbol)", "C0573", "ident = id"),
        ('operation="listNames"', 'operation="listOrders"', "C0573", "customer"),
        ('operation="listNames"', 'operation="listNames", rows="a..b"', "C0573", "rows="),
        ('operation="listNames"', 'operation="listNames", fixed="q=1"', "C0573", "fixed"),
    ],
)  # fmt: skip
def test_a_declaration_that_does_not_fit_has_a_code_and_an_edit(
    crm: Callable[..., Session], wrong: str, right: str, code: str, edit: str
) -> None:
    assert wrong in RULES
    with crm(TRUSTED, RULES.replace(wrong, right)) as session:
        goal = "blocked(C001, a)" if wrong.startswith("columns") else "named(x)"
        with pytest.raises(ConstatError) as caught:
            session.prove(goal)
        (found,) = caught.value.diagnostics
        assert found.code == code
        assert edit in found.help


@pytest.mark.parametrize("value", ["..", ".", "../orders", "a/../../x", "%2e%2e", "x?y=1", "é\n"])
def test_no_value_of_a_rule_leaves_its_place_in_the_address(
    crm: Callable[..., Session], server: Served, value: str
) -> None:
    with crm(TRUSTED) as session:
        session.query(f'blocked("{value}", ?r)') if "\n" not in value else None
    asked = [path for path in server.seen.paths if not path.startswith("/spec")]
    assert all(path.startswith("/blocked/") and "?" not in path for path in asked)


def test_a_question_that_leaves_a_parameter_open_is_an_error_with_an_edit(
    crm: Callable[..., Session],
) -> None:
    with crm(TRUSTED) as session, pytest.raises(ConstatError) as caught:
        session.prove("blocked(?c, fraud)")
    assert caught.value.diagnostics[0].code == "C0230"


def test_a_question_with_a_body_is_asked_once_it_is_named_as_safe(
    crm: Callable[..., Session],
) -> None:
    rules = """
    .decl hit(word: symbol, id: symbol)
    .input hit(source="crm", operation="search", required="word", fixed="most=3")
    """
    with crm(TRUSTED, rules) as session, pytest.raises(ConstatError) as caught:
        session.prove("hit(a, a-3)")
    assert "safe: [search]" in caught.value.diagnostics[0].help
    with crm(f"{TRUSTED}\nsafe: [search]", rules) as session:
        assert session.prove('hit(a, "a-3")').verdict is Verdict.PROVED


def test_null_fields_are_null_cells(crm: Callable[..., Session]) -> None:
    rules = """
    .decl note(id: symbol, @[null = maybe] note: symbol)
    .input note(source="crm", operation="listNames")
    """
    with crm(TRUSTED, rules) as session:
        assert session.prove("note(y, b)").verdict is Verdict.PROVED
        assert session.prove("note(x, b)").verdict is Verdict.UNRESOLVED
        assert session.prove("note(x, _)").verdict is Verdict.PROVED


def test_what_several_predicates_read_of_one_answer_is_asked_for_once(
    crm: Callable[..., Session], server: Served
) -> None:
    rules = """
    .decl line(customer: symbol, order: number, sku: symbol)
    .input line(source="crm", operation="listOrders", required="customer", rows="orders[].lines[]",
                columns="order = orders[].id")
    .decl order(customer: symbol, id: number)
    .input order(source="crm", operation="listOrders", required="customer", rows="orders[]")
    .decl total(customer: symbol, total: Decimal)
    .input total(source="crm", operation="listOrders", required="customer", rows="orders[]")
    .decl both(customer: symbol)
    both(?c) :- order(?c, ?o), line(?c, ?o, _).
    """
    with crm(TRUSTED, rules) as session:
        before = len(server.seen.requests)
        result = session.prove("both(C001)")
        asked = [path for _, path, _ in server.seen.requests[before:] if path.startswith("/orders")]
        assert (result.verdict, len(asked)) == (Verdict.PROVED, 1)
        assert result.snapshot == "one"
        # The next goal does not take an answer from before it.
        session.prove("total(C001, 10.5)")
        asked = [path for _, path, _ in server.seen.requests[before:] if path.startswith("/orders")]
        assert len(asked) == 2


def test_the_description_is_kept_and_answers_are_asked_for_with_their_tags(
    crm: Callable[..., Session], server: Served
) -> None:
    with crm(TRUSTED) as session:
        session.prove("named(x)")
        result = session.prove("named(y)")
        assert session.verify_source(result.certificate).exit_code == 0
    assert server.seen.paths.count("/spec") == 1
    tags = [h.get("if-none-match") for _, path, h in server.seen.requests if path == "/names"]
    assert tags[0] is None
    assert set(tags[1:]) == {"n1"}
    with crm(TRUSTED) as session:
        assert session.prove("named(x)").verdict is Verdict.PROVED
    assert server.seen.paths.count("/spec") == 1
