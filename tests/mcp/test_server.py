"""Agents reach a project by the official client of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from constat import Session
from constat.service import References, Refused, Service, new_token
from tests.examples.shop import ROOT
from tests.extras import Late
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

mcp = Late("mcp", extra="mcp")

TOOLS = {
    *("prove", "ask", "query", "why_not", "what_if", "missing", "verify", "read_on"),
    *("provide_facts", "draft_rules", "list_rules", "search_catalog", "get_schema"),
    *("recall", "memory_save", "memory_search", "memory_open", "memory_why"),
}
SAID = {
    "text": "The contract of C009 is worth 250000.",
    "facts": ["contract_value(C009, 250000)"],
}
DRAFT = {
    "goal": "big(C001)",
    "rules": ".decl big(c: symbol)\nbig(?c) :- customer_revenue(?c, ?r), ?r > 1000.0.",
    "purpose": "Is C001 big, that is over 1000?",
}
SLOW = ".decl n(x: number)\nn(0).\nn(?x + 1) :- n(?x), ?x < 100000000.\n"


@asynccontextmanager
async def connected(folder: Path, **options: Any) -> AsyncIterator[Any]:  # noqa: ANN401  the client's types
    """Give the official client of a server in this process."""
    from constat.mcp import server_of

    async with mcp.Client(server_of(Service(folder, by="alice")), **options) as client:
        yield client


async def called(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401  the client's types
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    content: dict[str, Any] = found.structured_content
    return content


async def refused(client: Any, tool: str, **arguments: Any) -> str:  # noqa: ANN401  the client's types
    found = await client.call_tool(tool, arguments)
    assert found.is_error
    return str(found.content[0].text)


def test_the_official_client_talks_to_the_command_over_stdio(still_shop: Path) -> None:
    async def main() -> None:
        arguments = ["-m", "constat", "mcp", "--project", str(still_shop), "--by", "alice"]
        server = mcp.StdioServerParameters(command=sys.executable, args=arguments)
        heard: list[str] = []

        async def progress(_: float, __: float | None, message: str | None) -> None:
            heard.append(str(message))

        async with mcp.Client(server) as client:
            listed = (await client.list_tools()).tools
            assert {one.name for one in listed} == TOOLS
            assert all(one.description for one in listed)
            found = await client.call_tool(
                "prove", {"goal": "is_vip(C001)"}, progress_callback=progress
            )
            answer = found.structured_content
            assert answer["verdict"] == "PROVED"
            report = await called(client, "verify", certificate=answer["certificate"], sources=True)
            assert (report["accepted"], report["leaves"]) == (True, "unchanged")
            assert report["rules_changed"] == []
        assert any("placed_order" in one for one in heard)

    asyncio.run(main())


@pytest.mark.examples
def test_the_entries_of_the_recipe_start_a_server(still_shop: Path) -> None:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    written = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    by_command = re.search(r"`claude mcp add constat -- (.*?)`", page)
    assert written is not None
    assert by_command is not None
    entry = json.loads(written[1])["mcpServers"]["constat"]
    # Both ways of writing it are the same command.
    assert [entry["command"], *entry["args"]] == by_command[1].split()
    words = [str(still_shop) if one == "/srv/shop" else one for one in entry["args"]]
    command = str(Path(sys.executable).parent / entry["command"])

    async def main() -> None:
        parameters = mcp.StdioServerParameters(command=command, args=words)
        async with mcp.Client(parameters) as client:
            answer = await called(client, "prove", goal="is_vip(C001)")
            assert answer["verdict"] == "PROVED"

    asyncio.run(main())


def test_questions_are_answered_as_the_session_answers_them(still_shop: Path) -> None:
    async def main() -> None:
        async with connected(still_shop) as client:
            proved = await called(client, "prove", goal="may_leave(C005)")
            assert proved["verdict"] == "PROVED_UNDER"
            assert "only proposed" in proved["assumptions"][0]
            rows = await called(client, "query", goal="is_vip(?c)", start=1, most=2)
            assert (len(rows["rows"]), rows["settled"]) == (2, "SETTLED")
            assert rows["rows_left"] == rows["total"] - 3
            assert rows["rows"][0]["goals"] == [f"is_vip({rows['rows'][0]['values']['c']})"]
            why = await called(client, "why_not", goal="is_vip(C002)")
            assert "distance: 0" in why["why"]
            settings = {"vip_threshold": "5"}
            what = await called(client, "what_if", goal="is_vip(C002)", settings=settings)
            assert (what["before"], what["verdict"]) == ("DISPROVED", "PROVED_UNDER")
            missing = await called(client, "missing", goal="is_vip(C002)")
            assert "placed_order" in missing["candidates"]
            listed = await called(client, "list_rules", predicate="is_vip")
            assert [one["id"] for one in listed["rules"]] == ["VIP1", "VIP2"]
            assert "placed_order" in json.dumps(await called(client, "get_schema", table="orders"))
            assert "orders" in json.dumps(await called(client, "search_catalog", words="orders"))

    asyncio.run(main())


def test_a_mistake_is_told_with_the_edit_that_works(still_shop: Path) -> None:
    async def main() -> None:
        async with connected(still_shop) as client:
            assert "help: write `is_vip`" in await refused(client, "prove", goal="is_vipp(C001)")
            assert "C0840" in await refused(client, "get_schema", table="nope")
            assert "C0828" in await refused(client, "ask", question="Is C001 a VIP?")
            assert "C0401" in await refused(client, "read_on", reference="text/no")
            assert "C0927" in await refused(client, "recall", conversation="none")

    asyncio.run(main())


def test_resources_are_certificates_rules_and_tables(still_shop: Path) -> None:
    async def main() -> None:
        async with connected(still_shop) as client:
            proved = await called(client, "prove", goal="is_vip(C001)")
            found = await client.read_resource("constat://" + proved["certificate"])
            with Session(still_shop) as session:
                assert session.verify(found.contents[0].text.encode()).verdict == "PROVED"
            rules = await client.read_resource("constat://rules/vip.dl")
            assert "is_vip(?c) :-" in rules.contents[0].text
            table = await client.read_resource("constat://table/orders")
            assert "customer_id" in table.contents[0].text
            with pytest.raises(Exception, match="no such file"):
                await client.read_resource("constat://rules/constat.yaml")

    asyncio.run(main())


def test_a_fact_is_kept_when_the_person_says_yes_and_never_else(shop: Path) -> None:
    answers: list[Any] = []
    shown: list[str] = []

    async def asked(_: object, params: Any) -> Any:  # noqa: ANN401  the client's types
        shown.append(params.message)
        return answers.pop()

    result = mcp.types.ElicitResult
    no = [
        result(action="decline"),
        result(action="cancel"),
        result(action="accept", content={"keep": False}),
    ]

    async def main() -> None:
        async with connected(shop) as silent:
            assert (await called(silent, "provide_facts", **SAID))["kept"] is False
        async with connected(shop, elicitation_callback=asked) as client:
            for one in no:
                answers[:] = [one]
                assert (await called(client, "provide_facts", **SAID))["kept"] is False
            with Session(shop) as session:
                assert session.facts.list() == ()
            # What the words do not say is not asked about.
            told = await called(client, "provide_facts", text="Hello.", facts=SAID["facts"])
            assert (told["said"], told["kept"], len(shown)) == ([], False, len(no))
            answers[:] = [result(action="accept", content={"keep": True})]
            told = await called(client, "provide_facts", **SAID)
            assert (told["kept"], told["by"]) == (True, "alice")
            proved = await called(client, "prove", goal="is_strategic(C009)")
            assert "user alice says" in proved["assumptions"][0]
            assert told["conflicts"] == []
            answers[:] = [result(action="accept", content={"keep": True})]
            against = {"text": "The VIP threshold is 7.", "facts": ["vip_threshold(7)"]}
            told = await called(client, "provide_facts", **against)
            assert "user alice says vip_threshold(7)" in told["conflicts"][0]

    asyncio.run(main())
    assert shown[-2] == "Do you, alice, state these facts?\n  contract_value(C009, 250000)"


def test_what_a_client_s_model_drafts_lies_in_the_quarantine(shop: Path) -> None:
    async def main() -> dict[str, Any]:
        async with connected(shop) as client:
            assert "C0201" in await refused(client, "draft_rules", **{**DRAFT, "rules": "big(1)."})
            approved = "@[approved = alice]\n@[author = alice]\n"
            head, rule = DRAFT["rules"].split("\n")
            rules = f"{head}\n{approved}{rule}"
            return await called(client, "draft_rules", **{**DRAFT, "rules": rules})

    draft = asyncio.run(main())
    assert (draft["verdict"], draft["status"]) == ("PROVED_UNDER", "proposed")
    assert "only proposed" in draft["assumptions"][0]
    with Session(shop) as session:
        kept = session.drafts.get(draft["draft"])
        assert kept.model.startswith("mcp ")
        assert (kept.status, kept.asked_by, kept.purpose) == ("proposed", "alice", DRAFT["purpose"])
        assert "approved" not in kept.text
        # It counts for nobody who has not asked for it.
        assert "big" not in session.program.program.predicates


def test_a_model_remembers_as_a_model(shop: Path) -> None:
    async def main() -> None:
        async with connected(shop) as client:
            text = "Rows come first, 500 of them."
            await called(client, "memory_save", conversation="c1", text=text)
            assert (await called(client, "recall"))["sessions"] == ["c1"]
            found = await called(client, "memory_search", conversation="c1", words="rows")
            (one,) = found["found"]
            assert (one["speaker"], one["snippet"]) == ("assistant", text)
            said = {"conversation": "c1", "place": one["place"]}
            assert (await called(client, "memory_open", **said))["text"] == text
            (why,) = (await called(client, "memory_why", **said))["why"]
            assert (why["accepted"], why["verdict"]) == (True, "PROVED")
            assert "(m0[17:20]" in why["goal"]
            for tool in ("memory_open", "memory_why"):
                assert "C0807" in await refused(client, tool, conversation="c1", place="m9")

    asyncio.run(main())


def test_long_texts_are_cut_and_read_on(still_shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constat.service._CHARACTERS", 500)

    async def main() -> None:
        async with connected(still_shop) as client:
            proved = await called(client, "prove", goal="in_vip_group(C032)")
            first = proved["proof"]
            assert len(json.dumps(proved)) < 12_000
            text, at = first["text"], first["text"]
            while first["left"]:
                first = await called(
                    client, "read_on", reference=proved["proof"]["reference"], start=len(text)
                )
                text += first["text"]
            assert text.startswith(at)
            with Session(still_shop) as session:
                wanted = session.prove("in_vip_group(C032)").explain()
            assert len(text) == len(wanted)

    asyncio.run(main())


def test_references_are_bounded() -> None:
    kept = References()
    names = [kept.keep("text", f"text {n}") for n in range(300)]
    with pytest.raises(Refused):
        kept.read(names[0])
    assert kept.read(names[-1]) == "text 299"


def test_who_goes_away_ends_the_work(tmp_path: Path) -> None:
    (tmp_path / "rules.dl").write_text(SLOW, encoding="utf-8")
    (tmp_path / "constat.yaml").write_text("rules: rules.dl\n", encoding="utf-8")

    async def main() -> None:
        async with connected(tmp_path) as client:
            waiting = asyncio.create_task(client.call_tool("prove", {"goal": "n(99999999)"}))
            await asyncio.sleep(0.5)
            waiting.cancel()
            assert (await called(client, "prove", goal="n(0)"))["verdict"] == "PROVED"

    before = time.monotonic()
    asyncio.run(main())
    # The question would have gone on for the 60 seconds of its limit.
    assert time.monotonic() - before < 50


@pytest.mark.examples
@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_http_is_served_on_loopback_and_nowhere_else(still_shop: Path, host: str) -> None:
    port = str(free_port())
    command = [sys.executable, "-m", "constat", "mcp", "--http", "--port", port]
    beyond = subprocess.run(
        [*command, "--host", "0.0.0.0"],  # noqa: S104  what is refused
        capture_output=True,
        text=True,
        check=False,
    )
    assert (beyond.returncode, "no address of loopback" in beyond.stderr) == (2, True)
    served = subprocess.Popen(
        [*command, "--project", str(still_shop), "--host", host],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        assert served.stderr is not None
        assert f"serving http://{host}" in served.stderr.readline()

        async def main() -> str:
            for _ in range(100):
                try:
                    async with mcp.Client(f"http://{host}:{port}/mcp") as client:
                        return str((await called(client, "prove", goal="is_vip(C001)"))["verdict"])
                except Exception:  # noqa: BLE001  until the server listens, whatever the client says
                    await asyncio.sleep(0.1)
            return "nobody answers"

        assert asyncio.run(main()) == "PROVED"
        # A page of a browser gets here by a name of its own, or says where it comes from.
        for header in ({"Host": f"evil.example:{port}"}, {"Origin": "http://evil.example"}):
            headers = {"Content-Type": "application/json", "Accept": "application/json", **header}
            asked = urllib.request.Request(f"http://{host}:{port}/mcp", b"{}", headers)
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(asked)  # noqa: S310  loopback
            assert caught.value.code in {403, 421}
            caught.value.close()
    finally:
        served.terminate()
        served.communicate()


@asynccontextmanager
async def shown(url: str, token: str) -> AsyncIterator[Any]:
    """Give a client that shows a token with each request."""
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with mcp.Client(transport) as client:
            yield client


@pytest.mark.examples
def test_over_http_a_token_says_who_asks_and_what_they_see(tmp_path: Path) -> None:
    from tests.server.test_attacks import guarded

    folder = guarded(tmp_path / "project", 0)
    tokens, port = tmp_path / "tokens.txt", str(free_port())
    admin = new_token(tokens, "alice", "admin")
    viewer = new_token(tokens, "bot", "viewer", "model")
    command = [sys.executable, "-m", "constat", "mcp", "--http", "--port", port]
    command += ["--host", "0.0.0.0", "--tokens", str(tokens), "--project", str(folder)]  # noqa: S104  with tokens
    served = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    url = f"http://127.0.0.1:{port}/mcp"

    async def main() -> None:
        async with shown(url, admin) as client:
            answer = await called(client, "prove", goal="known(C3)")
            assert answer["verdict"] == "PROVED"
            with Session(folder) as session:
                names = [one.entry.body for one in session.decisions.records()]
            assert any(body and body.get("who") == "alice" for body in names)
        async with shown(url, viewer) as client:
            seen = await called(client, "prove", goal="known(C3)")
            assert seen["verdict"] == "UNRESOLVED"
            assert (await called(client, "prove", goal="north(C1)"))["verdict"] == "PROVED"
            # Neither another's certificate, nor what takes a role above, nor a word of a person.
            for tool, given, said in (
                ("read_on", {"reference": answer["certificate"]}, "no such reference"),
                ("search_catalog", {"words": "Harald"}, "C0594"),
                ("memory_save", {"conversation": "c", "text": "t"}, "the role analyst is needed"),
                ("provide_facts", SAID, "the role analyst is needed"),
            ):
                assert said in await refused(client, tool, **given), tool
            with pytest.raises(mcp.MCPError):
                await client.read_resource("constat://table/customers")
        async with httpx2.AsyncClient() as http:
            for header in ({}, {"Authorization": "Bearer no"}):
                assert (await http.post(url, json={}, headers=header)).status_code == 401

    try:
        assert served.stderr is not None
        assert "serving" in served.stderr.readline()
        asyncio.run(until_it_listens(int(port)))
        asyncio.run(main())
    finally:
        served.terminate()
        served.communicate()


def attacks_on(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Give requests for what others have asked; `name` is that of a certificate of theirs."""
    found: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": tool, "arguments": given})
        for tool, given in (
            ("prove", {"goal": "known(C3)"}),
            ("query", {"goal": "customer(?a, ?b, ?c, ?d)"}),
            ("read_on", {"reference": f"certificate/{name}"}),
            ("verify", {"certificate": f"certificate/{name}"}),
            ("get_schema", {"table": "customers"}),
            ("recall", {}),
            ("provide_facts", {"text": "C1 is blocked", "facts": ["blocked(C1)"]}),
            ("approve", {"name": "R1", "reason": "so"}),
        )
    ]
    found += [
        ("resources/read", {"uri": uri})
        for uri in (
            f"constat://certificate/{name}",
            "constat://table/customers",
            "constat://rules/..%2fconstat.yaml",
            "constat://certificate/..%2f..%2fdata.sqlite",
        )
    ]
    return found


def test_a_session_of_another_is_none_of_ones_own(tmp_path: Path) -> None:
    """What is asked in a session is answered for the token of the request, not of the session."""
    from tests.server.attacks import SECRETS, tells
    from tests.server.test_attacks import guarded

    folder = guarded(tmp_path / "project", 0)
    tokens, port = tmp_path / "tokens.txt", str(free_port())
    admin = new_token(tokens, "alice", "admin")
    others = {
        "viewer": new_token(tokens, "bot", "viewer"),
        # The same name, with a role that was lowered.
        "namesake": new_token(tokens, "alice", "viewer"),
        "nobody": "no-such-token",
    }
    command = [sys.executable, "-m", "constat", "mcp", "--http", "--port", port]
    command += ["--tokens", str(tokens), "--project", str(folder)]
    served = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    url = f"http://127.0.0.1:{port}/mcp"

    async def asked(
        http: httpx2.AsyncClient, token: str, session: str, method: str, **params: object
    ) -> httpx2.Response:
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
        }
        headers |= {"Mcp-Session-Id": session} if session else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await http.post(url, json=body, headers=headers)

    async def main() -> None:
        async with httpx2.AsyncClient(timeout=60) as http:
            begun: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
            begun["clientInfo"] = {"name": "client", "version": "1"}
            session = (await asked(http, admin, "", "initialize", **begun)).headers[
                "mcp-session-id"
            ]
            seen = await asked(
                http, admin, session, "tools/call", name="prove", arguments={"goal": "known(C3)"}
            )
            assert '\\"verdict\\": \\"PROVED\\"' in seen.text
            name = re.search(r"certificate/([0-9a-f]{64})", seen.text)
            assert name is not None
            for who, token in others.items():
                for method, params in attacks_on(name[1]):
                    for place in (session, "0" * 32, ""):
                        answer = await asked(http, token, place, method, **params)
                        told = answer.text
                        assert answer.status_code < 500, (who, params, told)
                        assert "PROVED" not in told.replace("DISPROVED", ""), (who, params, told)
                        said = [one for one in (*SECRETS, "C3", "sqlite:") if tells(one, told)]
                        assert said in ([], ["C3"] if "known" in str(params) else []), (
                            params,
                            told,
                        )
            # Who it belongs to is not locked out of it by the attempts.
            assert (await asked(http, admin, session, "tools/list")).status_code == 200

    try:
        assert served.stderr is not None
        assert "serving" in served.stderr.readline()
        asyncio.run(until_it_listens(int(port)))
        asyncio.run(main())
    finally:
        served.terminate()
        served.communicate()


async def until_it_listens(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("prove", {"goals": "x"}, "`prove` has no argument `goals`; help: write `goal`"),
        ("prove", {}, "`prove` needs `goal`; help: give `goal` (string)"),
        ("prove", {"goal": 7}, "`goal` of `prove` does not fit; help: give `goal` (string)"),
        ("prove", {"goal": ["x"]}, "`goal` of `prove` does not fit; help: give `goal` (string)"),
        ("query", {"goal": "is_vip(?c)", "most": "ten"}, "`most` of `query` does not fit; help:"),
        ("query", {"goal": "is_vip(?c)", "zz": 1}, "has no argument `zz`; help: it takes `goal`"),
        ("provide_facts", {"text": "x", "facts": "p(1)"}, "(array of string)"),
        ("prov", {"goal": "x"}, "there is no tool `prov`; help: write `prove`"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_our_words(
    still_shop: Path, tool: str, arguments: dict[str, Any], told: str
) -> None:
    async def main() -> None:
        async with connected(still_shop) as client:
            text = await refused(client, tool, **arguments)
            assert "C0589: " in text
            assert told in text
            assert "pydantic" not in text
            assert "validation error" not in text

    asyncio.run(main())


def test_a_draft_that_waits_is_named_where_its_relation_is_asked(still_shop: Path) -> None:
    async def main() -> None:
        async with connected(still_shop) as client:
            text = ".decl rich(c: symbol)\nrich(?c) :- customer_revenue(?c, ?t), ?t > 9.0."
            draft = await called(
                client, "draft_rules", goal="rich(C001)", rules=text, purpose="who is rich"
            )
            name = str(draft["draft"])
            told = await refused(client, "prove", goal="rich(C001)")
            assert f"draft {name} defines it" in told
            assert f"constat rules approve {name} --by NAME --reason TEXT" in told
            assert "defines it" not in await refused(client, "prove", goal="poor(C001)")

    asyncio.run(main())


def test_rules_that_change_are_read_before_the_next_answer(shop: Path) -> None:
    async def main() -> None:
        async with connected(shop) as client:
            first = await called(client, "prove", goal="is_vip(C001)")
            (edited,) = [
                one for one in shop.parent.parent.rglob("vip.dl") if "cases" not in str(one)
            ]
            before = edited.read_text()
            edited.write_text(before + "\n.decl three(x: number)\nthree(3).\n")
            assert (await called(client, "prove", goal="three(3)"))["verdict"] == "PROVED"
            second = await called(client, "prove", goal="is_vip(C001)")
            assert first["certificate"] != second["certificate"]
            edited.write_text(before + "\nthree(3).\n")
            assert "C0201" in await refused(client, "prove", goal="is_vip(C001)")
            edited.write_text(before)
            assert (await called(client, "prove", goal="is_vip(C001)"))["verdict"] == "PROVED"

    asyncio.run(main())
