"""Clients over GraphQL and MCP print what their page shows, and believe no server."""

from __future__ import annotations

import runpy
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from constat import Session
from tests.examples.projects import ROOT
from tests.examples.test_readmes import follow
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
pytest.importorskip("strawberry", reason="the extra `server` is not installed")
CLIENTS = ROOT / "examples" / "clients"


@pytest.mark.examples
def test_the_page_of_the_clients_prints_what_it_shows(tmp_path: Path) -> None:
    port = str(free_port())
    serve = [sys.executable, "-m", "constat", "serve", "--tokens", str(tmp_path / "tokens.txt")]
    new = [*serve, "--new-token", "desk:viewer"]
    token = subprocess.run(new, check=True, capture_output=True, text=True).stdout.strip()
    command = [*serve, "--port", port, "--project", str(CLIENTS)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            assert "serving" in server.stderr.readline()
            follow("clients", tmp_path, SERVER=f"http://127.0.0.1:{port}", TOKEN=token)
        finally:
            server.terminate()


def test_the_client_believes_the_checker_and_not_the_server() -> None:
    confirmed = runpy.run_path(str(CLIENTS / "graphql_client.py"))["confirmed"]
    with Session(CLIENTS) as session:
        good = session.prove("free(R1)").certificate
    assert confirmed(good, "free(R1)", "PROVED") == "PROVED: free(R1)"
    assert confirmed(good, "free(R2)", "PROVED") == "REJECTED: it is about free(R1)"
    assert "the server says DISPROVED" in confirmed(good, "free(R1)", "DISPROVED")
    assert confirmed(good.replace(b"heater", b"cooler"), "free(R1)", "PROVED").startswith(
        "REJECTED: the digest"
    )
