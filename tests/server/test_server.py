"""A project over HTTP: what is answered, to whom, and what never leaves."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import jsonschema
import nanoarrow
import nanoarrow.ipc
import pytest

from constat import ConstatError, Session
from constat.service import Service
from constat.session import exploring
from tests.check.writer import seal
from tests.cli.running import run
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

server = pytest.importorskip("constat.server", reason="the extra `server` is not installed")

graph = pytest.importorskip("constat.server.graph", reason="the extra `server` is not installed")

TOKENS = {name: f"token-of-{name}" for name in server.ROLES}
DOCUMENT = server.openapi()
SLOW = ".decl n(x: number)\nn(0).\nn(?x + 1) :- n(?x), ?x < 100000000.\n"


def access() -> Any:  # noqa: ANN401  the extra may be absent
    callers = {
        hashlib.sha256(token.encode()).hexdigest(): server.Caller(name, name)
        for name, token in TOKENS.items()
    }
    model = hashlib.sha256(b"of-a-model").hexdigest()
    return server.Access({**callers, model: server.Caller("bot", "analyst", model=True)})


def served(
    folder: Path, work: Callable[[httpx2.AsyncClient], Awaitable[None]], **how: object
) -> list[dict[str, Any]]:
    """Do something with a client of an application in this process; gives the lines of its log."""
    lines: list[str] = []

    async def main() -> None:
        service = Service(folder)
        let = how.get("let") or access()
        application = server.Application(service, let, how.get("bounds"), lines.append)
        transport = httpx2.ASGITransport(application.asgi())
        async with (
            service,
            httpx2.AsyncClient(
                transport=transport, base_url="http://constat", timeout=120
            ) as client,
        ):
            await work(client)

    asyncio.run(main())
    return [json.loads(one) for one in lines]


def of(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[role]}"}


async def answered(
    client: httpx2.AsyncClient, path: str, role: str = "viewer", **body: object
) -> dict[str, Any]:
    response = await client.post(path, json=body, headers=of(role))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    gives = next(one.gives for one in server.operations() if one.path == path)
    form = {"$ref": f"#/components/schemas/{gives}", "components": DOCUMENT["components"]}
    jsonschema.validate(found, form)
    return found


def test_questions_are_answered_as_the_document_says(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        assert (await client.get("/openapi.json")).json() == DOCUMENT
        proved = await answered(client, "/v1/prove", goal="is_vip(C001)")
        assert proved["verdict"] == "PROVED"
        identity = proved["certificate"].partition("/")[2]
        found = await client.get(f"/v1/certificates/{identity}", headers=of("viewer"))
        with Session(still_shop) as session:
            assert session.verify(found.content).verdict == "PROVED"
        report = await answered(
            client, "/v1/verify", certificate=proved["certificate"], sources=True
        )
        assert (report["accepted"], report["leaves"]) == (True, "unchanged")
        assert (report["leaves_exit_code"], report["rules_changed"]) == (0, [])
        turned = seal(json.loads(found.text.replace("is a VIP", "is NO VIP")))
        report = await answered(client, "/v1/verify", certificate=turned.decode(), sources=True)
        assert (report["leaves"], report["leaves_exit_code"]) == ("unchanged", 1)
        assert report["rules_changed"][0].startswith("the sentence of is_vip has changed: ")
        for text in (found.text, found.text.rstrip("\n")):
            report = await answered(client, "/v1/verify", certificate=text)
            assert (report["accepted"], report["verdict"]) == (True, "PROVED")
        rows = await answered(client, "/v1/query", query="is_vip(?c)", most=2)
        assert len(rows["rows"]) == 2
        whole = b'{"query": "is_vip(?c)", "start": 1.0, "most": 1}'
        headers = {**of("viewer"), "Content-Type": "application/json"}
        second = await client.post("/v1/query", content=whole, headers=headers)
        assert second.json()["rows"] == rows["rows"][1:]
        why = await answered(client, "/v1/why-not", goal="is_vip(C002)")
        assert "distance: 0" in why["why"]
        settings = {"vip_threshold": "5"}
        what = await answered(client, "/v1/what-if", goal="is_vip(C002)", settings=settings)
        assert what["verdict"] == "PROVED_UNDER"
        await answered(client, "/v1/missing", goal="is_vip(C002)", top=1)
        rules = await answered(client, "/v1/rules", predicate="is_vip")
        assert [one["id"] for one in rules["rules"]] == ["VIP1", "VIP2"]
        assert "orders" in str(await answered(client, "/v1/catalog/search", words="orders"))
        assert "customer_id" in str(await answered(client, "/v1/catalog/table", table="orders"))

    lines = served(still_shop, work)
    asked = [one for one in lines if one["operation"] != "openapi"]
    assert {(one["who"], one["status"]) for one in asked} == {("viewer", 200)}


def test_facts_are_those_of_the_caller_and_the_log_names_who_asked(shop: Path) -> None:
    config = shop / "constat.yaml"
    config.write_text(config.read_text() + "\nlog: {on: true}\n")
    fact = "contract_value(C009, 250000)"

    async def work(client: httpx2.AsyncClient) -> None:
        stated = await answered(client, "/v1/facts/add", "analyst", fact=fact, note="signed")
        assert (stated["fact"], stated["by"]) == (fact, "analyst")
        listed = await answered(client, "/v1/facts")
        assert [(one["by"], one["note"]) for one in listed["facts"]] == [("analyst", "signed")]
        proved = await answered(client, "/v1/prove", goal="is_strategic(C009)")
        assert "user analyst says" in proved["assumptions"][0]
        # Nobody takes back what somebody else has said, but an admin.
        other = await client.post("/v1/facts/retract", json={"fact": fact}, headers=of("approver"))
        assert other.json()["error"][0]["code"] == "C0406"
        await answered(client, "/v1/facts/retract", "admin", fact=fact)
        assert (await answered(client, "/v1/facts"))["facts"] == []
        against = await answered(client, "/v1/facts/add", "analyst", fact="vip_threshold(7)")
        assert "user analyst says vip_threshold(7)" in against["conflicts"][0]
        log = await answered(client, "/v1/log", "admin")
        decisions = [one["body"] for one in log["entries"] if one["kind"] == "decision"]
        assert [one["who"] for one in decisions] == ["viewer"]

    served(shop, work)


BODIES: dict[str, dict[str, str]] = {
    "prove": {"goal": "is_vip(C001)"},
    "query": {"query": "is_vip(?c)"},
    **{name: {"goal": "is_vip(C002)"} for name in ("why", "why_not", "what_if", "missing")},
    "verify": {"certificate": "{}"},
    "read_on": {"reference": "text/x"},
    "search": {"words": "orders"},
    "state": {"fact": "contract_value(C9, 1)"},
    "retract": {"fact": "contract_value(C9, 1)"},
    "export": {"certificate": "{}", "to": "markdown"},
    **{name: {"question": "Is C001 a VIP?"} for name in ("ask", "solve", "follow_up")},
    "confirm": {"question": "Is C001 a VIP?", "goal": "is_vip(C001)"},
    "draft": {"goal": "big(C001)", "rules": "big(C001).", "purpose": "who is big?"},
    "review": {"name": "DRAFT1"},
    **{name: {"name": "none", "reason": "so"} for name in ("approve", "reject")},
}


def test_each_operation_asks_for_its_role_and_no_other(shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        for one in server.operations():
            body = BODIES.get(one.name, {})
            for role in server.ROLES:
                status = (await client.post(one.path, json=body, headers=of(role))).status_code
                enough = server.ROLES.index(role) >= server.ROLES.index(one.role)
                assert (status != 403) == enough, (one.name, role, status)
            for shown, said in (
                ("", "a bearer token is needed"),
                (TOKENS["admin"], "a bearer token is needed"),
                ("Bearer no", "nobody has this token"),
            ):
                headers = {"Authorization": shown} if shown else {}
                found = await client.post(one.path, json=body, headers=headers)
                assert found.status_code == 401
                assert found.headers["www-authenticate"].startswith("Bearer")
                assert found.json()["error"][0]["message"] == said
        assert (await client.get("/v1/certificates/x")).status_code == 401

    lines = served(shop, work)
    refused = {(one["who"], one["status"]) for one in lines if one["status"] in {401, 403}}
    # Who has a token is named when refused, too.
    assert {("viewer", 403), ("-", 401)} <= refused
    assert ("-", 403) not in refused


WRONG: dict[str, tuple[str, dict[str, Any], int]] = {
    "a goal with a slip": ("/v1/prove", {"json": {"goal": "is_vipp(C001)"}}, 400),
    "no goal": ("/v1/prove", {"json": {}}, 400),
    "a goal that is a number": ("/v1/prove", {"json": {"goal": 7}}, 400),
    "a word that nobody knows": ("/v1/prove", {"json": {"goal": "p(1)", "approve": True}}, 400),
    "a long goal": ("/v1/prove", {"json": {"goal": "p" * 30_000}}, 400),
    "no JSON": (
        "/v1/prove",
        {"content": b"{", "headers": {"Content-Type": "application/json"}},
        400,
    ),
    "a deep body": (
        "/v1/prove",
        {"content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}},
        400,
    ),
    "half a character": (
        "/v1/facts/add",
        {
            "content": b'{"fact": "contract_value(C9, 1)", "note": "\\ud800"}',
            "headers": {"Content-Type": "application/json", **of("admin")},
        },
        400,
    ),
    "a list": ("/v1/prove", {"json": ["is_vip(C001)"]}, 400),
    "a form": ("/v1/prove", {"data": {"goal": "is_vip(C001)"}}, 415),
    "a long body": (
        "/v1/prove",
        {"content": b" " * (9 << 20), "headers": {"Content-Type": "application/json"}},
        413,
    ),
    "a page of elsewhere": (
        "/v1/prove",
        {"json": {"goal": "is_vip(C001)"}, "headers": {"Origin": "http://evil.example"}},
        403,
    ),
    "no such place": ("/v1/approve", {"json": {}}, 404),
    "no such reference": ("/v1/read-on", {"json": {"reference": "text/x"}}, 404),
}
MEMBERS = {
    "no goal": "the schema of prove (see /openapi.json): it needs goal",
    "a word that nobody knows": "(see /openapi.json): it takes goal",
}


def test_what_is_wrong_is_told_and_nothing_else(still_shop: Path) -> None:
    form = server.openapi()["components"]["schemas"]["Error"]

    async def work(client: httpx2.AsyncClient) -> None:
        for case, (path, request, status) in WRONG.items():
            headers = {**of("viewer"), **request.get("headers", {})}
            response = await client.post(path, **{**request, "headers": headers})
            assert response.status_code == status, case
            jsonschema.validate(response.json(), form)
            assert "Traceback" not in response.text
            assert "access-control-allow-origin" not in response.headers
            if case in MEMBERS:
                assert MEMBERS[case] in response.text

    served(still_shop, work)


def test_what_nobody_foresaw_leaves_a_number_and_no_word(
    still_shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        message = "the password is hunter2"
        raise RuntimeError(message)

    monkeypatch.setattr(Session, "prove", broken)

    async def work(client: httpx2.AsyncClient) -> None:
        response = await client.post("/v1/prove", json={"goal": "p(1)"}, headers=of("viewer"))
        assert response.status_code == 500
        seen.append(response.text)

    seen: list[str] = []
    error, _ = served(still_shop, work)
    assert error["error"] in seen[0]
    assert error["type"] == "RuntimeError"
    assert any("test_server.py" in one for one in error["at"])
    assert "hunter2" not in seen[0] + json.dumps(error)
    assert "RuntimeError" not in seen[0]


def test_a_caller_who_asks_too_often_waits_and_others_do_not(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        found = [
            (
                await client.post("/v1/prove", json={"goal": "is_vip(C001)"}, headers=of(role))
            ).status_code
            for role in ("viewer", "viewer", "viewer", "admin")
        ]
        assert found == [200, 200, 429, 200]

    served(still_shop, work, bounds=server.Bounds(rate=0.0001, burst=2))


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    (tmp_path / "rules.dl").write_text(SLOW, encoding="utf-8")
    (tmp_path / "constat.yaml").write_text("rules: rules.dl\n", encoding="utf-8")
    return tmp_path


@pytest.mark.faults
def test_work_that_takes_too_long_is_stopped_and_more_at_once_is_refused(slow: Path) -> None:
    async def asked(client: httpx2.AsyncClient, goal: str) -> int:
        response = await client.post("/v1/prove", json={"goal": goal}, headers=of("viewer"))
        status: int = response.status_code
        return status

    async def work(client: httpx2.AsyncClient) -> None:
        long = [asyncio.create_task(asked(client, f"n({n})")) for n in (99999998, 99999999)]
        await asyncio.sleep(0.2)
        assert await asked(client, "n(0)") == 503
        assert [await one for one in long] == [504, 504]
        assert await asked(client, "n(0)") == 200

    before = time.monotonic()
    served(slow, work, bounds=server.Bounds(pending=2, seconds=1.0))
    # Each question would have gone on for the 60 seconds of its limit.
    assert time.monotonic() - before < 50


def test_who_goes_away_ends_the_work(slow: Path) -> None:
    lines: list[str] = []
    headers = [(b"host", b"x"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/prove", "query_string": b""}
    scope |= {"headers": [*headers, (b"authorization", of("viewer")["Authorization"].encode())]}

    async def main() -> None:
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": b'{"goal": "n(99999999)"}', "more_body": False}
        ]

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            await asyncio.sleep(0.3)
            return {"type": "http.disconnect"}

        async def send(_: object) -> None:
            """Nobody listens."""

        service = Service(slow)
        async with service:
            application = server.Application(service, access(), None, lines.append)
            await application.asgi()(scope, receive, send)

    before = time.monotonic()
    asyncio.run(main())
    assert json.loads(lines[0])["status"] == 499
    # The question would have gone on for the 60 seconds of its limit.
    assert time.monotonic() - before < 50


def test_without_tokens_a_page_of_a_browser_does_not_get_in(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        body = {"goal": "is_vip(C001)"}
        here = await client.post("/v1/prove", json=body, headers={"Host": "localhost:80"})
        assert here.status_code == 200
        for host in ("evil.example", "localhost:81", "127.0.0.1.evil.example:80"):
            there = await client.post("/v1/prove", json=body, headers={"Host": host})
            assert there.status_code == 421

    served(still_shop, work, let=server.access_of(None, "127.0.0.1", 80, "alice"))


def test_tokens_are_kept_as_hashes_and_a_line_that_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "tokens.txt"
    token = server.new_token(file, "alice", "analyst")
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    let = server.access_of(file, "0.0.0.0", 80, "bob")  # noqa: S104  with tokens
    assert let.caller(f"Bearer {token}") == server.Caller("alice", "analyst")
    assert let.caller("") is None
    for wrong in ("alice king sha256:" + "0" * 64, f"alice viewer {token}", "\n# nothing\n"):
        file.write_text(wrong)
        with pytest.raises(ConstatError, match="C0592"):
            server.access_of(file, "127.0.0.1", 80, "bob")
    for name, role in (("a b", "viewer"), ("a", "king"), ("a\nb", "viewer")):
        with pytest.raises(ConstatError, match="C0592"):
            server.new_token(file, name, role)


def test_each_request_is_a_line_of_the_log(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        for path in ("/healthz", "/readyz", "/openapi.json", "/nothing/here"):
            await client.get(path)

    lines = served(still_shop, work)
    told = [(one["who"], one["operation"], one["status"]) for one in lines]
    assert told == [
        ("-", "healthz", 200),
        ("-", "readyz", 200),
        ("-", "openapi", 200),
        ("-", "-", 404),
    ]


def test_a_source_that_the_rules_name_and_nobody_has_makes_the_server_not_ready(
    shop: Path,
) -> None:
    (more,) = [one for one in shop.rglob("*.dl") if "blocked" in one.read_text()][:1]
    more.write_text(more.read_text() + '\n.decl lost(x: symbol)\n.input lost(source = "sale")\n')

    async def work(client: httpx2.AsyncClient) -> None:
        assert (await client.get("/readyz")).status_code == 503

    served(shop, work)


def test_who_interrupts_twice_is_told_no_traceback(still_shop: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "constat", "serve", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--project", str(still_shop)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    process.stderr.readline()
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in told, "interrupted" in told) == (130, False, True)


@pytest.mark.faults
def test_who_still_waits_when_a_server_ends_is_told_so(slow: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "constat", "serve", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--project", str(slow)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    process.stderr.readline()

    async def main() -> httpx2.Response:
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            assert (await client.get("/healthz")).is_success
            asked = asyncio.create_task(client.post("/v1/prove", json={"goal": "n(99999999)"}))
            await asyncio.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            return await asked

    found = asyncio.run(main())
    _, told = process.communicate(timeout=60)
    assert (found.status_code, "the server ends" in found.text) == (503, True)
    assert "Traceback" not in told
    # Whose request it was stands in the log.
    assert '"operation": "prove", "status": 503' in told


@pytest.mark.parametrize("command", [["serve"], ["mcp", "--http"]])
def test_a_port_that_is_taken_is_bad_usage(command: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = run(*command, "--port", port)
    assert ran.code == 2
    assert f"nothing can be served at 127.0.0.1:{port}: Address already in use" in ran.err


@pytest.mark.faults
def test_the_command_serves_loopback_and_ends_on_a_signal(still_shop: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "constat", "serve", "--port", str(port)]
    beyond = subprocess.run(
        [*command, "--host", "0.0.0.0"],  # noqa: S104  what is refused
        capture_output=True,
        text=True,
        check=False,
    )
    assert (beyond.returncode, "it needs --tokens" in beyond.stderr) == (2, True)
    process = subprocess.Popen(
        [*command, "--project", str(still_shop)], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert process.stderr is not None
        assert f"serving http://127.0.0.1:{port}" in process.stderr.readline()
        body = {"goal": "is_vip(C001)"}
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for _ in range(100):
                try:
                    assert client.get("/healthz").json() == {"status": "ok"}
                    break
                except httpx2.TransportError:
                    time.sleep(0.1)
            assert client.get("/readyz").json() == {"status": "ready"}
            assert client.post("/v1/prove", json=body).json()["verdict"] == "PROVED"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode in {143, -signal.SIGTERM}


# GraphQL.


async def graphed(
    client: httpx2.AsyncClient, document: str, role: str = "viewer", **variables: object
) -> dict[str, Any]:
    body = {"query": document, "variables": variables}
    response = await client.post("/graphql", json=body, headers=of(role))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_the_schema_that_is_kept_is_the_one_that_is_served() -> None:
    kept = (Path(server.__file__).parent / "schema.graphql").read_text(encoding="utf-8")
    assert kept == graph.schema_text()
    names = re.findall(r"^  (\w+)[(:]", kept.split("type Query {")[1].split("}")[0], re.MULTILINE)
    assert {"prove", "whyNot", "whatIf", "log"} <= set(names)


def test_a_field_answers_what_its_operation_answers(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        document = """query($goal: String!) {
          prove(goal: $goal) { verdict exitCode assumptions proof { text left } certificate }
          no: whyNot(goal: "is_vip(C002)") { verdict why { text } }
          query(query: "is_vip(?c)", most: 1) { total rows { values verdict } settled }
          what: whatIf(goal: "is_vip(C002)", settings: {vip_threshold: "5"}) { before verdict }
          why(goal: $goal) { roots steps { sentence premises sources { name query } } }
        }"""
        data = (await graphed(client, document, goal="is_vip(C001)"))["data"]
        proved = await answered(client, "/v1/prove", goal="is_vip(C001)")
        assert data["prove"]["verdict"] == proved["verdict"] == "PROVED"
        # The time of reading differs.
        assert data["prove"]["proof"]["text"][:500] == proved["proof"][:500]
        assert "distance: 0" in data["no"]["why"]["text"]
        assert (data["query"]["total"], data["query"]["settled"]) == (42, "SETTLED")
        assert data["what"] == {"before": "DISPROVED", "verdict": "PROVED_UNDER"}
        steps = data["why"]["steps"]
        assert "exceeds the VIP threshold" in steps[data["why"]["roots"][0]]["sentence"]
        identity = data["prove"]["certificate"].partition("/")[2]
        found = await client.get(f"/v1/certificates/{identity}", headers=of("viewer"))
        assert found.status_code == 200
        exported = """mutation { state(fact: "contract_value(C9, 1)") { fact } }"""
        refused = await graphed(client, exported)
        assert refused["errors"][0]["extensions"]["code"] == "HTTP403"

    lines = served(still_shop, work)
    assert lines[0]["asked"] == ["prove", "why_not", "query", "what_if", "why"]
    assert lines[0]["who"] == "viewer"


ASKED: dict[str, str] = {
    **dict.fromkeys(("prove", "why"), 'goal: "is_vip(C001)"'),
    **dict.fromkeys(("whyNot", "whatIf", "missing"), 'goal: "is_vip(C002)"'),
    "query": 'query: "is_vip(?c)", most: 1',
    "everybody": 'query: "is_vip(?c)", most: 1',
    "more": 'cursor: "@cursor"',
    "verify": 'certificate: "@certificate"',
    "export": 'certificate: "@certificate", to: "html"',
    "diff": 'before: "@certificate"',
    "readOn": 'reference: "@certificate"',
    "complete": 'text: "is_v"',
    "search": 'words: "customer"',
    "check": 'rules: ".decl p(x: number)"',
    "review": 'name: "@draft"',
}
"""What the operations that only read are asked here; the others take nothing they need."""


def everything(kind: Any) -> str:  # noqa: ANN401  a type of the extra
    """Ask for all fields of a type."""
    import graphql

    named = graphql.get_named_type(kind)
    if not isinstance(named, graphql.GraphQLObjectType):
        return ""
    return f"{{ {' '.join(f'{n} {everything(one.type)}' for n, one in named.fields.items())} }}"


def test_all_fields_of_what_is_read_have_data(shop: Path) -> None:
    """A field that is null where it may not be takes the whole answer with it."""
    import graphql

    reading = graphql.build_schema(graph.schema_text()).query_type
    assert reading is not None
    fields = reading.fields
    documents = {
        name: f"{{ {name}{f'({ASKED[name]})' if name in ASKED else ''} {everything(one.type)} }}"
        for name, one in fields.items()
    }

    async def work(client: httpx2.AsyncClient) -> None:
        drafted = """mutation { draft(goal: "big(C001)", purpose: "to see",
            rules: ".decl big(c: symbol)\\nbig(?c) :- is_vip(?c).") { draft } }"""
        known = {"draft": (await graphed(client, drafted, "analyst"))["data"]["draft"]["draft"]}
        for name, document in documents.items():
            asked = re.sub(r"@(\w+)", lambda found: known[found[1]], document)
            answer = await graphed(client, asked, "admin")
            assert "errors" not in answer, (name, answer["errors"])
            for one in ("certificate", "cursor"):
                known[one] = answer["data"][name].get(one) or known.get(one, "")

    served(shop, work)


def test_fields_of_a_document_are_answered_in_its_order(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first field waits for does not let another take its entry of the log."""
    with (shop / "constat.yaml").open("a") as file:
        file.write("log: {on: true}\n")
    seen, waits = Service.as_seen, [0.2, 0.0, 0.1, 0.0, 0.0, 0.0]

    async def slow(self: Service, role: str, caller: str) -> Service:
        await asyncio.sleep(waits.pop(0))
        return await seen(self, role, caller)

    async def work(client: httpx2.AsyncClient) -> None:
        goal = '(goal: "is_vip(C001)") { certificate }'
        document = (
            f"{{ before: log {{ total }} b: prove{goal} a: why{goal} after: log {{ total }} }}"
        )
        data = (await graphed(client, document, role="admin"))["data"]
        # The log begins with an entry of its own.
        assert (data["before"]["total"], data["after"]["total"]) == (0, 3)
        for number, name in enumerate("ba", 1):
            place = data[name]["certificate"].replace("certificate/", "/v1/certificates/")
            found = await client.get(place, headers=of("admin"))
            assert f"entry {number} of the log" in found.text

    monkeypatch.setattr(Service, "as_seen", slow)
    served(shop, work)
    assert not waits


TOO_MUCH: dict[str, str] = {
    "deep": "{ __schema" + "{ types { fields { type" * 5 + "{ name }" + "}}}" * 5 + "} }",
    "long": "{ healthy" + " x" * 5_000 + " }",
    "wide": "{" + "".join(f" a{n}: facts {{ factsLeft }}" for n in range(31)) + "}",
    "many": "{" + "".join(f" a{n}: facts {{ factsLeft }}" for n in range(21)) + "}",
}


def test_a_document_that_asks_too_much_is_refused(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        told = {case: await graphed(client, one) for case, one in TOO_MUCH.items()}
        assert all(one["errors"] for one in told.values())
        assert "one document may ask 20" in str(told["many"])
        for body in ({}, {"query": 1}, {"query": "{", "variables": []}, {"query": "{", "x": 1}):
            response = await client.post("/graphql", json=body, headers=of("viewer"))
            assert response.status_code == (200 if "x" in body else 400)
        slip = await graphed(client, '{ prove(goal: "is_vipp(C001)") { verdict } }')
        assert slip["errors"][0]["extensions"]["error"][0]["help"]
        assert slip["errors"][0]["extensions"]["code"].startswith("C0")
        assert (await client.post("/graphql", json={"query": "{ x }"})).status_code == 401
        several = "query a { caller { name } } query b { caller { role } }"
        for name, member in (("b", "data"), ("c", "errors"), (None, "errors")):
            named = {"query": several, "operationName": name}
            response = await client.post("/graphql", json=named, headers=of("viewer"))
            assert response.status_code == 200, response.text
            assert list(response.json()) == [member]
        assert (await client.post("/v1/prove/", json={}, headers=of("viewer"))).status_code == 404

    served(still_shop, work)


def test_what_nobody_foresaw_in_a_field_leaves_a_number(
    still_shop: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        message = "the password is hunter2"
        raise RuntimeError(message)

    monkeypatch.setattr(Session, "prove", broken)

    async def work(client: httpx2.AsyncClient) -> None:
        seen.append(json.dumps(await graphed(client, '{ prove(goal: "p(1)") { verdict } }')))

    seen: list[str] = []
    error, _ = served(still_shop, work)
    assert error["error"] in seen[0]
    assert "hunter2" not in seen[0] + json.dumps(error) + caplog.text


def test_a_subscription_tells_what_happens_and_then_the_result(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        document = 'subscription { proving(goal: "is_vip(C001)") { message result { verdict } } }'
        headers = {**of("viewer"), "Accept": "text/event-stream"}
        response = await client.post("/graphql", json={"query": document}, headers=headers)
        assert response.headers["content-type"].startswith("text/event-stream")
        told = [
            json.loads(line.removeprefix("data: "))["data"]["proving"]
            for line in response.text.splitlines()
            if line.startswith("data: ")
        ]
        assert response.text.rstrip().endswith("event: complete\ndata:")
        assert any(one["message"].startswith("call 1: ") for one in told)
        assert told[-1] == {"message": "done", "result": {"verdict": "PROVED"}}
        assert [one["result"] for one in told[:-1]] == [None] * (len(told) - 1)
        # Over plain JSON there is nothing to stream.
        assert "errors" in await graphed(client, document)

    served(still_shop, work)


# Drafts and exports.

DRAFT = {
    "goal": "big(C001)",
    "rules": ".decl big(customer: symbol)\nbig(?c) :- customer_revenue(?c, ?r), ?r > 140000.",
    "purpose": "who is big?",
}


def test_four_eyes_are_two_people_and_none_of_them_a_model(shop: Path) -> None:
    async def decided(client: httpx2.AsyncClient, token: str, name: str) -> httpx2.Response:
        body = {"name": name, "reason": "as the contract says"}
        headers = {"Authorization": f"Bearer {token}"}
        return await client.post("/v1/drafts/approve", json=body, headers=headers)

    async def work(client: httpx2.AsyncClient) -> None:
        before = await client.post("/v1/prove", json={"goal": "big(C001)"}, headers=of("viewer"))
        assert before.status_code == 400
        drafted = await answered(client, "/v1/drafts/add", "approver", **DRAFT)
        assert drafted["verdict"] == "PROVED_UNDER"
        name = drafted["draft"]
        listed = await answered(client, "/v1/drafts", "analyst")
        mine = next(one for one in listed["drafts"] if one["identity"] == name)
        assert (mine["asked_by"], mine["status"]) == ("approver", "proposed")
        review = await answered(client, "/v1/drafts/review", "analyst", name=name)
        assert "big" in review["difference"]
        # Who handed it in, who may only ask, and who is a program.
        assert (await decided(client, TOKENS["approver"], name)).json()["error"][0][
            "code"
        ] == "C0883"
        assert (await decided(client, TOKENS["analyst"], name)).status_code == 403
        assert (await decided(client, "of-a-model", name)).status_code == 403
        assert (await decided(client, TOKENS["admin"], name)).json()["status"] == "approved"
        proved = await answered(client, "/v1/prove", goal="big(C001)")
        assert proved["verdict"] == "PROVED"

    served(shop, work)


def test_a_token_of_a_program_is_none_of_a_person(tmp_path: Path, shop: Path) -> None:
    file = tmp_path / "tokens.txt"
    for role in ("approver", "admin"):
        with pytest.raises(ConstatError, match="C0592"):
            server.new_token(file, "bot", role, "model")
        file.write_text(f"bot {role} sha256:{'0' * 64} model\n")
        with pytest.raises(ConstatError, match="C0592"):
            server.read_tokens(file)
    file.unlink()
    token = server.new_token(file, "bot", "analyst", "model")

    async def work(client: httpx2.AsyncClient) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        for one in server.operations():
            body = BODIES.get(one.name, {})
            status = (await client.post(one.path, json=body, headers=headers)).status_code
            may = one.role in {"viewer", "analyst"} and one.asks == "anybody"
            assert (status != 403) == may, one.name

    served(shop, work, let=server.Access(server.read_tokens(file)))


def test_the_explorer_is_given_to_this_place_alone_and_runs_nothing_else(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        here = {"Host": "localhost:80"}
        for path in ("/explore", "/explore/explore.js", "/explore/explore.css"):
            page = await client.get(path, headers=here)
            assert page.status_code == 200
            policy = page.headers["content-security-policy"]
            assert "script-src 'self'; style-src 'self'; connect-src 'self'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert (await client.get(path, headers={"Host": "evil.example"})).status_code == 421
            away = {**here, "Origin": "http://evil.example"}
            assert (await client.get(path, headers=away)).status_code == 403
            assert (await client.post(path, headers=here)).status_code == 405
        for path in ("/explore/explore.html", "/explore/..%2fgraph.py"):
            assert (await client.get(path, headers=here)).status_code == 404

    served(still_shop, work, let=server.access_of(None, "127.0.0.1", 80, "alice"))


def test_a_goal_is_completed_with_words_and_columns(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        found = await answered(client, "/v1/complete", text="is_vi")
        assert found["word"] == "is_vi"
        assert [one["goal"] for one in found["proposals"]] == ["is_vip(?customer)"]
        assert found["proposals"][0]["says"] == "{customer} is a VIP"
        inside = await answered(client, "/v1/complete", text="placed_order(C001, ", most=1)
        assert (inside["call"]["name"], inside["place"]) == ("placed_order", 1)
        assert (len(inside["proposals"]), inside["proposals_left"] > 5) == (1, True)
        document = '{ complete(text: "is_vi") { proposals { name } } caller { name role person } }'
        assert (await graphed(client, document))["data"] == {
            "complete": {"proposals": [{"name": "is_vip"}]},
            "caller": {"name": "viewer", "role": "viewer", "person": True},
        }

    served(still_shop, work)


def test_nobody_without_a_token_approves(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        body = {"name": "DRAFT1", "reason": "as the contract says"}
        for path in ("/v1/drafts/approve", "/v1/drafts/reject"):
            found = await client.post(path, json=body, headers={"Host": "localhost:80"})
            assert found.status_code == 403
            assert "token of a person" in found.json()["error"][0]["message"]

    served(still_shop, work, let=server.access_of(None, "127.0.0.1", 80, "alice"))


def test_a_certificate_is_written_in_other_formats(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        proved = await answered(client, "/v1/prove", goal="is_vip(C001)")
        named = {"certificate": proved["certificate"]}
        text = await answered(client, "/v1/export", to="markdown", **named)
        assert "# C001 is a VIP." in text["text"]
        binary = await answered(client, "/v1/export", to="xlsx", **named)
        assert base64.b64decode(binary["base64"])[:2] == b"PK"
        wrong = {"certificate": "{}", "to": "markdown"}
        refused = await client.post("/v1/export", json=wrong, headers=of("viewer"))
        assert refused.json()["error"][0]["code"] == "C0403"

    served(still_shop, work)


# Pages, rows, repetitions, figures.


def test_pages_go_on_in_the_very_same_answers(shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        query: dict[str, Any] = {"query": "contract_value(?c, ?v)", "most": 2}
        for number in range(5):
            fact = f"contract_value(C{number}, {number})"
            await answered(client, "/v1/facts/add", "analyst", fact=fact)
        page = await answered(client, "/v1/query", **query)
        await answered(client, "/v1/facts/add", "analyst", fact="contract_value(C0a, 7)")
        seen = page["rows"]
        while page["cursor"]:
            page = await answered(client, "/v1/query/more", cursor=page["cursor"], most=2)
            seen += page["rows"]
        assert [one["values"]["c"] for one in seen] == [f"C{number}" for number in range(5)]
        for cursor in ("no.2", "no", ""):
            body = {"cursor": cursor}
            gone = await client.post("/v1/query/more", json=body, headers=of("viewer"))
            assert gone.status_code == (404 if cursor else 400)

    served(shop, work)


def test_all_rows_are_written_as_lines_and_as_arrow(
    still_shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.service.MOST_ROWS", 10)

    async def work(client: httpx2.AsyncClient) -> None:
        body = {"query": "is_vip(?c)"}
        lines = await client.post("/v1/query/rows", json=body, headers=of("viewer"))
        rows = [json.loads(one) for one in lines.text.splitlines()]
        assert len(rows) == int(lines.headers["constat-total"]) == 42
        assert lines.headers["constat-settled"] == "SETTLED"
        assert rows[0] == {
            "values": {"c": "C001"},
            "verdict": "PROVED",
            "goals": ["is_vip(C001)"],
        }
        arrow = "application/vnd.apache.arrow.stream"
        headers = {**of("viewer"), "Accept": arrow}
        found = await client.post("/v1/query/rows", json=body, headers=headers)
        assert found.headers["content-type"] == arrow
        with nanoarrow.ipc.InputStream.from_readable(io.BytesIO(found.content)) as stream:
            table = nanoarrow.Array(stream).to_pylist()
        assert [one["c"] for one in table] == [one["values"]["c"] for one in rows]
        none = await client.post(
            "/v1/query/rows", json={"query": "is_vip(no)"}, headers=of("viewer")
        )
        assert (none.status_code, none.content) == (200, b"")
        wrong = await client.post("/v1/query/rows", json={"query": "is_vipp(?c)"}, headers=headers)
        assert wrong.status_code == 400

    served(still_shop, work)


def test_a_request_with_a_key_is_done_once(shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        async def stated(fact: str, key: str, role: str = "analyst") -> httpx2.Response:
            headers = {**of(role), "Idempotency-Key": key}
            return await client.post("/v1/facts/add", json={"fact": fact}, headers=headers)

        first, second = await asyncio.gather(
            *(stated("contract_value(C009, 1)", "k1") for _ in range(2))
        )
        assert first.json() == second.json()
        assert (await stated("contract_value(C009, 2)", "k1")).status_code == 409
        # Another caller's key is another key, and whoever may not gets nothing by one.
        other = await stated("contract_value(C009, 1)", "k1", "admin")
        assert other.json()["by"] == "admin"
        assert (await stated("contract_value(C009, 1)", "k1", "viewer")).status_code == 403
        # What was refused may be tried again.
        for _ in range(2):
            assert (await stated("contract_valu(C009, 1)", "k2")).status_code == 400
        assert (await stated("contract_value(C010, 1)", "k2")).status_code == 200
        for key in ("", "k" * 201):
            assert (await stated("contract_value(C009, 1)", key)).status_code == 400

    served(shop, work)


def test_figures_name_operations_and_no_caller(still_shop: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        await answered(client, "/v1/prove", goal="is_vip(C001)")
        found = await client.get("/metrics", headers=of("viewer"))
        assert 'constat_requests_total{operation="prove",status="200"} 1.0' in found.text
        assert "C001" not in found.text
        assert found.headers["request-id"]
        assert (await client.get("/metrics")).status_code == 401

    lines = served(still_shop, work)
    assert lines[0].keys() == {"at", "id", "who", "operation", "status", "seconds"}


def test_questions_in_words_are_answered_and_confirmed_by_people(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tape of the example holds replies that people wrote, so no model is asked."""
    # Its tables are small; in bulk there is something to count again.
    monkeypatch.setattr(exploring, "try_small", lambda *_: None)

    async def work(client: httpx2.AsyncClient) -> None:
        question = "Is customer C001 a VIP?"
        asked = await answered(client, "/v1/ask", "analyst", question=question)
        told = (asked["goal"], asked["verdict"], asked["confirmed"], asked["exit_code"])
        assert told == ("is_vip(C001)", "PROVED", "unconfirmed", 3)
        body = {"question": question, "goal": asked["goal"]}
        confirmed = await answered(client, "/v1/ask/confirm", "analyst", **body)
        assert (confirmed["confirmed"], confirmed["exit_code"]) == ("confirmed", 0)
        question = "What are the top 5 customers by revenue this quarter?"
        body = {"question": question, "today": "2025-11-21"}
        solved = await answered(client, "/v1/solve", "analyst", **body, check="always")
        assert solved["rows"][0] == ["1", "C175", "34330.4"]
        assert "passed" in {one["check"] for one in solved["steps"]}
        unchecked = await answered(client, "/v1/solve", "analyst", **body, check="off")
        assert "passed" not in {one["check"] for one in unchecked["steps"]}
        content = await client.get(
            f"/v1/certificates/{solved['certificate'].partition('/')[2]}", headers=of("viewer")
        )
        with Session(shop) as session:
            assert session.verify(content.content).verdict == solved["verdict"]
        history = await answered(client, "/v1/history", "analyst")
        assert history["explorations"][0]["questions"] == [question]

    served(shop, work)
