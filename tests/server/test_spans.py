"""Spans of OpenTelemetry: what is told of a question, and what never is."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from constat import Session
from constat.evaluation import CallStarted, ModelReplied, spans
from constat.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the extra `telemetry` is missing")
server = pytest.importorskip("constat.server", reason="the extra `server` is not installed")


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give what keeps the spans of this test, made by a provider of its own."""
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "tracer", lambda: provider.get_tracer("constat"))
    yield exporter
    provider.shutdown()


def tree_of(exporter: Any) -> dict[str, str]:  # noqa: ANN401  of the SDK
    """Give the names of spans with those of the spans around them."""
    every = exporter.get_finished_spans()
    names = {one.context.span_id: one.name for one in every}
    return {one.name: names.get(one.parent.span_id, "-") if one.parent else "" for one in every}


def test_a_proof_has_spans_for_each_fetch_and_tier(still_shop: Path, exported: Any) -> None:  # noqa: ANN401  as above
    with Session(still_shop) as session:
        assert session.prove("is_vip(C001)").verdict.value == "PROVED"
    tree = tree_of(exported)
    assert tree["prove"] == ""
    assert tree["fetch customer"] == "prove"
    assert tree["tier database"].startswith("fetch ")
    assert any(name.startswith("read ") and above != "" for name, above in tree.items())
    (proof,) = [one for one in exported.get_finished_spans() if one.name == "prove"]
    assert proof.attributes["constat.verdict"] == "PROVED"
    assert all(one.start_time <= one.end_time for one in exported.get_finished_spans())


def test_a_query_tells_how_many_rows(still_shop: Path, exported: Any) -> None:  # noqa: ANN401  as above
    with Session(still_shop) as session:
        answers = session.query("is_vip(?c)")
    (made,) = [one for one in exported.get_finished_spans() if one.name == "query"]
    assert made.attributes["constat.rows"] == len(answers)


def test_no_value_and_no_message_stands_in_a_span(still_shop: Path, exported: Any) -> None:  # noqa: ANN401  as above
    with Session(still_shop) as session:
        session.prove("is_vip(C001)")
        session.query("is_vip(?c), customer(?c)")
        session.why_not("is_vip(C002)")
        with pytest.raises(Exception, match="C0"):
            session.prove('is_vip("Secret Name"')
    told = [one.to_json() for one in exported.get_finished_spans()]
    assert len(told) > 4
    for one in told:
        for value in ("C001", "C002", "Secret", "SELECT", "select ", str(still_shop)):
            assert value not in one
    failed = [one for one in exported.get_finished_spans() if not one.status.is_ok]
    assert [one.attributes["error.type"] for one in failed if one.name == "prove"] == [
        "ConstatError"
    ]


def test_a_request_is_around_what_it_asks(still_shop: Path, exported: Any) -> None:  # noqa: ANN401  as above
    async def main() -> str:
        service = Service(still_shop)
        access = server.Access({}, server.Caller("somebody", "admin"))
        application = server.Application(service, access, tell=str)
        transport = httpx2.ASGITransport(application.asgi())
        async with (
            service,
            httpx2.AsyncClient(transport=transport, base_url="http://constat") as client,
        ):
            above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            told = await client.post(
                "/v1/prove",
                json={"goal": "is_vip(C001)"},
                headers={"traceparent": above, "Authorization": "Bearer of-somebody"},
                timeout=60,
            )
            return str(told.headers["Request-Id"])

    number = asyncio.run(main())
    tree = tree_of(exported)
    assert tree["POST prove"] == "-"
    assert tree["prove"] == "POST prove"
    every = exported.get_finished_spans()
    assert {f"{one.context.trace_id:x}" for one in every} == {"af7651916cd43dd8448eb211c80319c"}
    (request,) = [one for one in every if one.name == "POST prove"]
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["constat.request"] == number
    assert "of-somebody" not in "".join(one.to_json() for one in every)


def test_a_model_has_a_span_that_names_it_and_its_task() -> None:
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    exporter, provider = memory.InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    heard = spans.EventSpans(provider.get_tracer("constat"))
    heard.hear(ModelReplied("small-1", "translate", 0.25))
    heard.hear(ModelReplied("small-1", "translate", 0.25, failed=True))
    heard.hear(CallStarted("order", ("id",), 1))
    heard.close()
    good, bad, stopped = exporter.get_finished_spans()
    assert good.attributes["gen_ai.request.model"] == "small-1"
    assert good.end_time - good.start_time == 250_000_000
    assert (good.status.is_ok, bad.status.is_ok) == (True, False)
    assert stopped.attributes["error.type"] == "stopped"


NOTHING = """
import sys
from constat import Session
with Session(sys.argv[1]) as session:
    assert session.prove("is_vip(C001)").verdict.value == "PROVED"
assert not [one for one in sys.modules if one.startswith("opentelemetry")], "loaded for nothing"
"""


def test_nothing_is_loaded_where_nobody_wants_spans(still_shop: Path) -> None:
    assert spans._SDK == "opentelemetry.sdk.trace"
    subprocess.run([sys.executable, "-c", NOTHING, str(still_shop)], check=True, timeout=120)


def test_a_collector_that_the_environment_names_is_sent_spans(still_shop: Path) -> None:
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        Thread(target=collector.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{collector.server_port}"
        command = [sys.executable, "-m", "constat", "prove", "is_vip(C001)"]
        found = subprocess.run(
            [*command, "--project", str(still_shop), "--format", "json"],
            env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": address},
            check=True,
            capture_output=True,
            timeout=120,
        )
        collector.shutdown()
    assert json.loads(found.stdout)["verdict"] == "PROVED"
    assert {path for path, _ in received} == {"/v1/traces"}
    sent = b"".join(content for _, content in received)
    assert b"prove" in sent or sent.startswith(b"\x1f\x8b")
