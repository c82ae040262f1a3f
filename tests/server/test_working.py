"""What the explorer works with: everybody, rules while they are written, differences, progress."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.test_server import answered, of, served

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

server = pytest.importorskip("constat.server", reason="the extra `server` is not installed")

PLAIN = """
.decl person(id: symbol, age: number)
person("a", 70). person("b", 20). person("c", 66).
.decl rested(id: symbol)
.decl old(id: symbol)
@[id = OLD]
old(?p) :- person(?p, ?age), ?age > 65.
.decl tired(id: symbol)
tired(?p) :- person(?p, _), !rested(?p).
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Give a project in which some are old, and nobody knows who has rested."""
    (tmp_path / "rules.dl").write_text(PLAIN)
    (tmp_path / "constat.yaml").write_text("rules: rules.dl\n")
    return tmp_path


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {one["values"]["p"]: one["verdict"] for one in found["rows"]}


def test_everybody_has_a_verdict(people: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        path, body = "/v1/query/everybody", {"query": "old(?p)", "among": "person(?p, _)"}
        found = await answered(client, path, **body)
        assert verdicts(found) == {"a": "PROVED", "b": "DISPROVED", "c": "PROVED"}
        assert found["counts"] == {"PROVED": 2, "DISPROVED": 1}
        page = await answered(client, path, **body, start=2, most=1)
        assert (verdicts(page), page["rows_left"]) == ({"b": "DISPROVED"}, 0)
        assert [one["goals"] for one in page["rows"]] == [["old(b)"]]
        told = await answered(client, path, **body, reasons=True)
        because = {one["values"]["p"]: one["reasons"] for one in told["rows"]}
        stops = ["rule OLD stops at ?age > 65"]
        assert because == {"a": ["rule OLD"], "b": stops, "c": ["rule OLD"]}
        assert "reasons" not in found["rows"][0]
        asked = '{ everybody(query: "tired(?p)", among: "person(?p, _)", reasons: true)'
        document = {"query": f"{asked} {{ rows {{ reasons }} }} }}"}
        reply = await client.post("/graphql", json=document, headers=of("viewer"))
        rows = reply.json()["data"]["everybody"]["rows"]
        assert {each for one in rows for each in one["reasons"]} == {"unknown: rested"}
        # Where others may hold, nobody is disproved unasked.
        open_ones = await answered(client, path, query="tired(?p)", among="person(?p, _)")
        assert set(verdicts(open_ones).values()) == {"UNRESOLVED"}
        wrong = {"query": "old(?p)", "among": "person(?q, _)"}
        refused = await client.post(path, json=wrong, headers=of("viewer"))
        assert refused.status_code in {400, 404}
        assert "says nothing of ?p" in refused.text

    served(people, work)


def test_rules_are_checked_while_they_are_written(people: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        path = "/v1/drafts/check"
        rules = ".decl young(id: symbol)\nyoung(?p) :- person(?p, ?age), ?age < 30."
        fine = await answered(client, path, "analyst", rules=rules)
        assert fine["goal"] == "young(?v0)"
        assert [one for one in fine["mistakes"] if one["severity"] == "error"] == []
        wrong = await answered(
            client, path, "analyst", rules=rules.replace("?age < 30", "?ag < 30")
        )
        assert wrong["mistakes"][0]["code"]
        broken = await answered(client, path, "analyst", rules="young(?p) :- ", goal="young(?p)")
        assert broken["mistakes"]
        drafts = await answered(client, "/v1/drafts", "analyst", status="")
        assert drafts["drafts"] == []
        refused = await client.post(path, json={"rules": rules}, headers=of("viewer"))
        assert refused.status_code == 403

    served(people, work)


def test_a_proof_is_compared_with_now(people: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        before = (await answered(client, "/v1/prove", goal="old(c)"))["certificate"]
        same = await answered(client, "/v1/diff", before=before)
        assert (same["same"], same["changes"]) == (True, [])
        (people / "rules.dl").write_text(PLAIN.replace("> 65", "> 69"))
        after = await answered(client, "/v1/diff", before=before)
        assert not after["same"]
        assert {"rule", "verdict"} <= {one["kind"] for one in after["changes"]}
        now = (await answered(client, "/v1/prove", goal="old(c)"))["certificate"]
        both = await answered(client, "/v1/diff", before=before, after=now)
        assert both["changes"] == after["changes"]

    served(people, work)


async def followed(client: httpx2.AsyncClient, role: str, query: str) -> list[dict[str, Any]]:
    headers = {**of(role), "Accept": "text/event-stream"}
    response = await client.post("/graphql", json={"query": query}, headers=headers)
    assert response.status_code == 200, response.text
    lines = [one for one in response.text.splitlines() if one.startswith("data: ")]
    return [json.loads(one.removeprefix("data: ")) for one in lines]


def test_what_happens_is_told_of_what_takes_longer(shop: Path) -> None:
    """The tape of the example holds replies that people wrote, so no model is asked."""

    async def work(client: httpx2.AsyncClient) -> None:
        question = "What are the top 5 customers by revenue this quarter?"
        asked = f'solving(question: "{question}", today: "2025-11-21")'
        query = f"subscription {{ {asked} {{ message result {{ sentence rows }} }} }}"
        events = [one["data"]["solving"] for one in await followed(client, "analyst", query)]
        said = [one["message"] for one in events]
        assert any(one.startswith("a plan of") for one in said)
        assert any(one.startswith("step 1") for one in said)
        assert all(one["result"] is None for one in events[:-1])
        assert events[-1]["result"]["rows"][0] == ["1", "C175", "34330.4"]
        assert not any("C175" in one for one in said)
        asked = 'asking(question: "Is customer C001 a VIP?")'
        query = f"subscription {{ {asked} {{ message result {{ goal verdict }} }} }}"
        told = (await followed(client, "analyst", query))[-1]["data"]["asking"]["result"]
        assert told == {"goal": "is_vip(C001)", "verdict": "PROVED"}
        query = 'subscription { querying(query: "is_vip(?c)") { message result { total } } }'
        told = (await followed(client, "viewer", query))[-1]["data"]["querying"]["result"]
        assert told["total"] == len(
            (await answered(client, "/v1/query", query="is_vip(?c)"))["rows"]
        )
        query = 'subscription { solving(question: "x") { message } }'
        (refused,) = await followed(client, "viewer", query)
        assert refused["errors"][0]["extensions"]["code"] == "HTTP403"

    served(shop, work)


def test_a_subscription_that_has_no_place_is_refused_before_it_begins(people: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        query = 'subscription { proving(goal: "old(a)") { message } }'
        headers = {**of("viewer"), "Accept": "text/event-stream"}
        for _ in range(3):
            response = await client.post("/graphql", json={"query": query}, headers=headers)
            assert response.status_code == 503
            assert response.headers["Retry-After"] == "1"

    served(people, work, bounds=server.Bounds(pending=0))


def test_places_of_subscriptions_are_given_back(people: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        query = 'subscription { proving(goal: "old(a)") { message } }'
        for _ in range(5):
            assert await followed(client, "viewer", query)

    served(people, work, bounds=server.Bounds(pending=1))
