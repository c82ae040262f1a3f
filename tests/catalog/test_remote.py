"""Files behind an address: what is fetched, what is refused, and what stands in the evidence.

The servers are applications of Starlette, run by uvicorn.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from constat import Session, Verdict
from constat.catalog.remote import sign_s3
from constat.diagnostics import ConstatError
from constat.project import load_project
from tests.apis.servers import serving
from tests.extras import Late

State = dict[str, Any]
Route = Callable[[Request, State], Awaitable[Response]]
RULES = """
.decl placed(id: symbol, n: number)
.input placed(source = "shop", query = "SELECT id, n FROM orders")
.decl large(id: symbol)
large(?i) :- placed(?i, ?n), ?n > 100.
.decl note(id: symbol, text: symbol)
.input note(source = "shop", query = "SELECT id, text FROM notes")
"""
CSV = "id,n\nA,50\nB,150\n"
Opened = Callable[..., Session]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Open a project whose database has these files and settings."""
    sessions: list[Session] = []

    def make(files: dict[str, str], more: str = "private: true") -> Session:
        listed = json.dumps(files)
        (tmp_path / "constat.yaml").write_text(
            f"project: t\nrules: a.dl\nlimits: {{seconds: 20}}\n"
            f"databases: {{shop: {{files: {listed}{', ' if more else ''}{more}}}}}\n"
        )
        (tmp_path / "a.dl").write_text(RULES)
        sessions.append(Session(tmp_path))
        return sessions[-1]

    yield make
    for one in sessions:
        one.close()


def saying(content: str | bytes, headers: dict[str, str] | None = None, status: int = 200) -> Route:
    async def answer(_: Request, state: State) -> Response:
        return Response(state.get("content", content), status, headers=headers or {})

    return answer


def tagged(content: str, kind: str = "text/csv") -> Route:
    """Answer with a tag, and with 304 where it is known."""

    async def answer(request: Request, state: State) -> Response:
        said = state.get("content", content)
        tag = f'"{hashlib.md5(said.encode()).hexdigest()[:8]}"'  # noqa: S324  a tag
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"etag": tag})
        return Response(said, headers={"etag": tag}, media_type=kind)

    return answer


def reason_of(session: Session, goal: str = "large(B)") -> str:
    result = session.prove(goal)
    assert result.verdict is Verdict.UNRESOLVED
    return " ".join(str(one) for call in result.calls for one in call.answer.openings)


def test_a_file_behind_an_address_is_a_table_and_its_state_is_evidence(opened: Opened) -> None:
    with serving({"/data/orders.csv": tagged(CSV)}) as server:
        session = opened({"orders": f"{server.url}/data/orders.csv"})
        found = session.prove("large(B)")
        assert found.verdict is Verdict.PROVED
        assert session.prove("large(A)").verdict is Verdict.DISPROVED
        queries = [one["query"] for one in json.loads(found.certificate)["sources"]]
        told = next(one for one in queries if "-- read:" in one)
        digest = hashlib.sha256(CSV.encode()).hexdigest()
        assert f"-- read: {server.url}/data/orders.csv: etag " in told
        assert f"sha256:{digest}, {len(CSV)} bytes" in told
        assert found.snapshot == "one"


def test_an_object_is_asked_for_once_in_an_evaluation_and_by_its_tag_in_the_next(
    opened: Opened,
) -> None:
    with serving({"/orders.csv": tagged(CSV)}) as server:
        session = opened({"orders": f"{server.url}/orders.csv"})
        session.prove("large(B)")
        assert len(server.seen.requests) == 1
        session.prove("large(A)")
        assert [one[2].get("if-none-match") is not None for one in server.seen.requests] == [
            False,
            True,
        ]


def test_what_the_server_changes_counts_in_the_next_evaluation(opened: Opened) -> None:
    with serving({"/orders.csv": tagged(CSV)}) as server:
        session = opened({"orders": f"{server.url}/orders.csv"})
        first = session.prove("large(A)")
        server.state["content"] = CSV.replace("A,50", "A,500")
        second = session.prove("large(A)")
        assert (first.verdict, second.verdict) == (Verdict.DISPROVED, Verdict.PROVED)


@pytest.mark.parametrize("tag", ["", 'W/"1"'])
def test_without_a_strong_tag_the_content_tells(opened: Opened, tag: str) -> None:
    with serving({"/orders.csv": saying(CSV, {"etag": tag} if tag else {})}) as server:
        session = opened({"orders": f"{server.url}/orders.csv"})
        assert session.prove("large(A)").verdict is Verdict.DISPROVED
        server.state["content"] = CSV.replace("A,50", "A,500")
        assert session.prove("large(A)").verdict is Verdict.PROVED


def test_two_objects_are_not_one_snapshot(opened: Opened) -> None:
    routes = {"/orders.csv": tagged(CSV), "/notes.csv": saying("id,text\nB,late\n")}
    with serving(routes) as server:
        session = opened({"orders": f"{server.url}/orders.csv", "notes": f"{server.url}/notes.csv"})
        found = session.query("placed(?i, ?n), note(?i, ?t)")
        assert found.snapshot == "not one snapshot"
        assert [row["i"] for row in found] == ["B"]


def test_a_table_that_nobody_asks_is_not_fetched(opened: Opened) -> None:
    routes = {"/orders.csv": tagged(CSV), "/notes.csv": saying("id,text\nB,late\n")}
    with serving(routes) as server:
        session = opened({"orders": f"{server.url}/orders.csv", "notes": f"{server.url}/notes.csv"})
        session.prove("large(B)")
        assert server.seen.paths == ["/orders.csv"]


def test_a_check_at_the_source_tells_that_the_object_is_another_one(
    opened: Opened, tmp_path: Path
) -> None:
    with serving({"/orders.csv": tagged(CSV)}) as server:
        session = opened({"orders": f"{server.url}/orders.csv"})
        certificate = session.prove("large(B)").certificate
        same = session.verify_source(certificate)
        assert {leaf.status for leaf in same.leaves} == {"same"}
        server.state["content"] = CSV + "C,1\n"
        other = session.verify_source(certificate)
        assert "another state" in " ".join(leaf.detail for leaf in other.leaves)
        server.state["content"] = CSV.replace("B,150", "B,151")
        gone = session.verify_source(certificate)
        assert {"gone", "changed"} & {leaf.status for leaf in gone.leaves}


# ------------------------------------------------------------------- what is refused


def test_addresses_of_this_machine_are_refused_unless_allowed(opened: Opened) -> None:
    with serving({"/orders.csv": tagged(CSV)}) as server:
        said = reason_of(opened({"orders": f"{server.url}/orders.csv"}, ""))
        assert "private: true" in said
        assert "C0575" in said
        assert server.seen.paths == []


def endless(kind: str = "text/csv") -> Route:
    async def answer(_: Request, __: State) -> Response:
        async def parts() -> Any:  # noqa: ANN401  a generator
            yield b"id,n\n"
            while True:
                yield b"A,1\n" * 1000
                await asyncio.sleep(0)

        return StreamingResponse(parts(), media_type=kind)

    return answer


async def dripping(_: Request, __: State) -> Response:
    async def parts() -> Any:  # noqa: ANN401  a generator
        for _ in range(1000):
            yield b"i"
            await asyncio.sleep(0.1)

    return StreamingResponse(parts(), media_type="text/csv")


async def elsewhere(_: Request, __: State) -> Response:
    return RedirectResponse("http://169.254.169.254/latest/orders.csv")


PAGE = "<!DOCTYPE html><html><body>Sign in: canary</body></html>"


@pytest.mark.parametrize(
    ("route", "code", "said"),
    [
        (endless(), "C0576", "bytes"),
        (elsewhere, "C0575", "169.254.169.254"),
        (saying(PAGE, {"content-type": "text/html; charset=utf-8"}), "C0576", "page for people"),
        (saying(PAGE, {"content-type": "text/csv"}), "C0576", "page for people"),
        (saying("x", {"content-type": "text/html"}), "C0576", "page for people"),
        (saying("canary", status=404), "C0574", "no object"),
        (saying("canary", status=403), "C0579", "let us in"),
        (saying("canary", status=500), "C0574", "status 500"),
        (saying(CSV, status=206), "C0574", "status 206"),
        (saying(CSV, {"content-encoding": "gzip"}), "C0576", "compressed"),
        (saying("id,n\nA\n", {"content-type": "text/csv"}), "C0543", "has 1 field"),
        (saying("", {"content-type": "text/csv"}), "C0543", "orders.csv"),
    ],
)
def test_what_a_server_gives_that_is_no_such_file_leaves_the_goal_open(
    opened: Opened, route: Route, code: str, said: str
) -> None:
    with serving({"/orders.csv": route}) as server:
        session = opened(
            {"orders": f"{server.url}/orders.csv"}, "private: true, bytes: 100000, seconds: 3"
        )
        told = reason_of(session)
        assert code in told
        assert said in told
        assert "canary" not in told


def test_a_body_that_drips_ends_at_its_time(opened: Opened) -> None:
    with serving({"/orders.csv": dripping}) as server:
        session = opened({"orders": f"{server.url}/orders.csv"}, "private: true, seconds: 1")
        told = reason_of(session)
        # Which one depends on who notices first: the watch beside the request, or the reader.
        assert "did not answer in time" in told or "took longer than it was given" in told


def test_a_failure_is_asked_again_by_the_next_evaluation(opened: Opened) -> None:
    async def at_first(_: Request, state: State) -> Response:
        state["asked"] = state.get("asked", 0) + 1
        return Response("no" if state["asked"] == 1 else CSV, 404 if state["asked"] == 1 else 200)

    routes = {"/orders.csv": at_first, "/notes.csv": saying("id,text\nB,late\n")}
    with serving(routes) as server:
        session = opened({"orders": f"{server.url}/orders.csv", "notes": f"{server.url}/notes.csv"})
        assert session.prove("large(B)").verdict is Verdict.UNRESOLVED
        assert session.prove("large(B)").verdict is Verdict.PROVED


def test_who_asks_is_said_by_the_environment_and_shown_nowhere(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def guarded(request: Request, _: State) -> Response:
        good = request.headers.get("authorization") == "Bearer canary-token"
        return Response(CSV if good and request.query_params["sig"] == "canary-sig" else "", 200)

    monkeypatch.setenv("SHOP_TOKEN", "canary-token")
    monkeypatch.setenv("SHOP_SIG", "canary-sig")
    with serving({"/orders.csv": guarded}) as server:
        session = opened(
            {"orders": f"{server.url}/orders.csv?sig=${{SHOP_SIG}}"},
            'private: true, auth: {token: "${SHOP_TOKEN}"}',
        )
        found = session.prove("large(B)")
        assert found.verdict is Verdict.PROVED
        assert b"canary" not in found.certificate
        assert "canary" not in repr(session.project)
        monkeypatch.setenv("SHOP_SIG", "canary-other")
        told = reason_of(opened({"orders": f"{server.url}/orders.csv?sig=${{SHOP_SIG}}"}))
        assert "canary" not in told


def test_a_variable_that_is_not_set_is_named(opened: Opened) -> None:
    session = opened({"orders": "https://shop.example/orders.csv?sig=${NOT_SET_HERE}"})
    assert "NOT_SET_HERE" in reason_of(session)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://u:canary@shop.example/a.csv", "auth"),
        ("https://shop.example/*.csv", "no list"),
        ("https://shop.example/a.exe", "kind that cannot be read"),
        ("https://shop.example/a b.csv", "%20"),
        ("s3://bucket", "names no bucket"),
        ("s3://bucket/a.csv?x=1", "versionId"),
        ("gs:///a.csv", "names no bucket"),
        ("https://${/a.csv", "`${`"),
        ("../a.csv", "leads out"),
    ],
)
def test_addresses_that_cannot_be_meant_are_mistakes(
    tmp_path: Path, address: str, said: str
) -> None:
    (tmp_path / "constat.yaml").write_text(
        f"project: t\ndatabases: {{shop: {{files: {{orders: {json.dumps(address)}}}}}}}\n"
    )
    with pytest.raises(ConstatError) as caught:
        load_project(tmp_path)
    told = " ".join(f"{one.message} {one.note} {one.help}" for one in caught.value.diagnostics)
    assert said in told
    assert "canary" not in told


def test_what_is_said_of_objects_is_no_word_about_files_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "constat.yaml").write_text(
        "project: t\ndatabases: {shop: {files: {orders: a.csv}, private: true}}\n"
    )
    with pytest.raises(ConstatError, match="`private` of database `shop`"):
        load_project(tmp_path)


def test_other_kinds_of_files_and_parts_of_them(opened: Opened) -> None:
    told = json.dumps({"orders": [{"id": "A", "n": 5}, {"id": "B", "n": 500}]})
    with serving({"/all.json": saying(told, {"content-type": "application/json"})}) as server:
        session = opened({"orders": f"{server.url}/all.json#orders[]"})
        assert session.prove("large(B)").verdict is Verdict.PROVED
        assert session.prove("large(A)").verdict is Verdict.DISPROVED


def test_the_catalog_shows_what_lies_behind_an_address(opened: Opened) -> None:
    with serving({"/orders.csv": tagged(CSV)}) as server:
        session = opened({"orders": f"{server.url}/orders.csv", "notes": f"{server.url}/gone.csv"})
        found = session.catalog
        assert [one.name for one in found.table("orders").columns] == ["id", "n"]
        assert any("no object" in one for one in found.table("notes").problems)


# ------------------------------------------------------------------- S3 and GCS by hand

botocore = Late("botocore.auth", extra="dynamodb")


@pytest.mark.parametrize("token", ["", "canary-session"])
@pytest.mark.parametrize(
    "url",
    [
        "https://b.s3.eu-west-1.amazonaws.com/orders/a%20b.csv",
        "http://127.0.0.1:9000/b/?list-type=2&prefix=orders%2F",
        "https://b.s3.eu-west-1.amazonaws.com/a.csv?versionId=x%2By",
    ],
)
def test_requests_are_signed_as_the_library_of_aws_signs_them(url: str, token: str) -> None:
    from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]  # it has no types
    from botocore.credentials import Credentials  # type: ignore[import-untyped]  # it has no types

    now = dt.datetime.now(dt.UTC)
    ours = sign_s3(url, ("AKIA1", "canary-secret", token), "eu-west-1", now)
    request = AWSRequest("GET", url, headers={"x-amz-content-sha256": ours["x-amz-content-sha256"]})
    request.context["timestamp"] = ours["x-amz-date"]
    request.context["payload_signing_enabled"] = True
    signer = botocore.S3SigV4Auth(
        Credentials("AKIA1", "canary-secret", token or None), "s3", "eu-west-1"
    )
    if token:
        request.headers["X-Amz-Security-Token"] = token
    request.headers["X-Amz-Date"] = ours["x-amz-date"]
    canonical = signer.canonical_request(request)
    text = signer.string_to_sign(request, canonical)
    assert ours["authorization"].endswith(signer.signature(text, request))


def listing(*keys: str, after: str = "", tag: str = "&quot;t&quot;") -> str:
    items = "".join(f"<Contents><Key>{key}</Key><ETag>{tag}</ETag></Contents>" for key in keys)
    more = f"<NextContinuationToken>{after}</NextContinuationToken>" if after else ""
    return (
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<IsTruncated>{'true' if after else 'false'}</IsTruncated>{items}{more}</ListBucketResult>"
    )


BOMB = '<!DOCTYPE a [<!ENTITY b "canary">]><ListBucketResult>&b;</ListBucketResult>'


@pytest.mark.parametrize(
    ("lists", "tag", "code", "said"),
    [
        ([listing("o/1.csv", after="a"), listing("o/2.csv", after="a")], '"t"', "C0578", "leads"),
        ([listing("o/1.csv")], '"other"', "C0542", "changed while it was read"),
        ([BOMB], '"t"', "C0576", "no list of objects"),
        (["<a>" * 100_000], '"t"', "C0576", "no list of objects"),
        ([PAGE], '"t"', "C0576", "no list of objects"),
        ([listing()], '"t"', "C0574", "no object matches"),
        ([listing(*(f"o/{n}.csv" for n in range(1001)))], '"t"', "C0576", "more than 1,000"),
        ([listing("o/1.csv").replace("false", "true")], '"t"', "C0576", "cut off"),
    ],
)
def test_lists_of_buckets_that_lie_leave_the_goal_open(
    opened: Opened,
    monkeypatch: pytest.MonkeyPatch,
    lists: list[str],
    tag: str,
    code: str,
    said: str,
) -> None:
    async def bucket(request: Request, _: State) -> Response:
        page = lists[1 if "continuation-token" in request.query_params else 0]
        return Response(page, media_type="application/xml")

    routes = {
        "/b/": bucket,
        "/b/o/1.csv": saying(CSV, {"etag": tag}),
        "/b/o/2.csv": saying(CSV, {"etag": tag}),
    }
    with serving(routes) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.url)
        told = reason_of(opened({"orders": "s3://b/o/*.csv"}))
        assert code in told
        assert said in told
        assert "canary" not in told


def test_a_token_is_not_sent_over_a_line_that_anybody_can_read(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://store.example")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "canary-session")
    told = reason_of(opened({"orders": "s3://b/o.csv"}))
    assert "http" in told
    assert "canary" not in told
