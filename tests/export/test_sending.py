"""Events of OpenLineage reach a collector, and a key reaches nobody else."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.running import run
from tests.export.worlds import vip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Collector(HTTPServer):
    """A collector that keeps what it is sent, and answers with a status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: list[tuple[str, str, dict[str, Any]]] = []
        self.status = 201

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api/v1/lineage"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers.get("Authorization", "")
        self.server.taken.append((self.path, key, json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  as overridden
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    file = tmp_path / "c001.json"
    file.write_bytes(vip("is_vip(C001)"))
    return file


def test_a_run_is_told_as_it_is_exported(
    collector: Collector, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "canary-key")
    words = ("export", certificate, "--to", "openlineage")
    ran = run(*words, "--send", collector.url)
    assert (ran.code, ran.out) == (0, "")
    assert "sent: 2 events" in ran.err
    assert [one for _, _, one in collector.taken] == json.loads(run(*words).out)
    assert {(path, key) for path, key, _ in collector.taken} == {
        ("/api/v1/lineage", "Bearer canary-key")
    }


def test_an_event_that_is_not_taken_is_told(collector: Collector, certificate: Path) -> None:
    collector.status = 422
    ran = run("export", certificate, "--to", "openlineage", "--send", collector.url)
    assert ran.code == 2
    assert "C0437" in ran.err
    assert "status 422" in ran.err
    assert len(collector.taken) == 1
    gone = run("export", certificate, "--to", "openlineage", "--send", "http://127.0.0.1:9/")
    assert (gone.code, "C0437" in gone.err) == (2, True)


def test_a_key_goes_over_no_open_line(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "canary-key")
    words = ("export", certificate, "--to", "openlineage")
    ran = run(*words, "--send", "http://lineage.example.com/api/v1/lineage")
    assert ran.code == 2
    assert "https" in ran.err
    assert "canary-key" not in ran.err


def test_only_events_are_sent(certificate: Path) -> None:
    ran = run("export", certificate, "--to", "csv", "--send", "http://127.0.0.1:9/")
    assert ran.code == 2
    assert "--to openlineage" in ran.err


def test_databases_are_named_as_others_name_them(certificate: Path) -> None:
    words = ("export", certificate, "--to", "openlineage", "--namespace")
    ran = run(*words, "sales=postgres://db.example:5432/shop.public")
    tables = [
        (table["namespace"], table["name"])
        for one in json.loads(ran.out)[1]["inputs"]
        for table in one["facets"].get("symlinks", {}).get("identifiers", ())
    ]
    assert {owner for owner, _ in tables} == {"postgres://db.example:5432"}
    assert {name for _, name in tables} == {"shop.public.customer", "shop.public.tier"}


@pytest.mark.parametrize(
    ("target", "named", "why"),
    [
        ("openlineage", "other=postgres://db.example", "the proof reads no database other"),
        ("openlineage", "sales", "write --namespace NAME=URI"),
        ("csv", "sales=postgres://db.example", "write --to openlineage"),
    ],
)
def test_a_namespace_of_nothing_is_refused(
    certificate: Path, target: str, named: str, why: str
) -> None:
    ran = run("export", certificate, "--to", target, "--namespace", named)
    assert ran.code == 2
    assert why in ran.err
