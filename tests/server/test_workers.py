"""Several processes at one address: what a caller may expect of one holds for all of them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from constat.cli import faces
from constat.service import Bounds, Service
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

server = pytest.importorskip("constat.server", reason="the extra `server` is not installed")
workers = pytest.importorskip("constat.server.workers", reason="the extra is not installed")

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]

PROCESSES = 3
ROUNDS = 24
CONNECTIONS = 60


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str], Path]]:
    """Serve a project by several processes; gives the address, the first process and its log."""
    port = free_port()
    log = folder / "requests.log"
    command = [sys.executable, "-m", "constat", "serve", "--project", str(folder)]
    command += ["--port", str(port), "--workers", str(PROCESSES), *arguments]
    with log.open("w") as stream:
        process = subprocess.Popen(command, stderr=stream, text=True)
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: ready(url))
        yield url, process, log
    finally:
        process.terminate()
        process.wait(timeout=60)


def ready(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return bool(httpx2.get(f"{url}/readyz", timeout=60).is_success)
    return False


def until(met: Any) -> None:  # noqa: ANN401  any question
    for _ in range(1_200):
        if met():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def children(process: subprocess.Popen[str]) -> set[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    return {int(one) for one in found.stdout.split()}


def asked(url: str, path: str, headers: dict[str, str] | None = None, **body: object) -> Any:  # noqa: ANN401  JSON
    """Ask on a connection of its own, which any process may take."""
    return httpx2.post(f"{url}/v1/{path}", json=body, headers=headers or {}, timeout=120)


def test_a_reference_and_a_cursor_are_answered_by_every_process(still_shop: Path) -> None:
    with running(still_shop) as (url, process, _):
        assert len(children(process)) == PROCESSES
        proved = asked(url, "prove", goal="is_vip(C001)").json()
        reference = proved["certificate"]
        place = reference.replace("certificate/", "certificates/")
        page = asked(url, "query", query="is_vip(?c)", most=1).json()
        assert page["cursor"]
        first = asked(url, "query/more", cursor=page["cursor"], most=1).json()
        contents, following = set(), set()
        for _ in range(ROUNDS):
            contents.add(httpx2.get(f"{url}/v1/{place}", timeout=60).text)
            assert asked(url, "verify", certificate=reference).json()["accepted"]
            more = asked(url, "query/more", cursor=page["cursor"], most=1)
            following.add(json.dumps(more.json()["rows"]))
        assert len(contents) == 1
        assert following == {json.dumps(first["rows"])}
        assert asked(url, "query/more", cursor="1~no-such.1").status_code == 404
        assert asked(url, "query/more", cursor="77~no-such.1").status_code == 404


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all have one queue")
def test_connections_are_spread_over_the_processes() -> None:
    listening = faces._shared("127.0.0.1", free_port(), PROCESSES)
    with ExitStack() as ends:
        for one in listening:
            ends.enter_context(one)
        for _ in range(CONNECTIONS):
            ends.enter_context(socket.create_connection(listening[0].getsockname()))
        taken = [0] * PROCESSES
        for number, one in enumerate(listening):
            one.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    ends.enter_context(one.accept()[0])
                    taken[number] += 1
        assert sum(taken) == CONNECTIONS
        assert min(taken) >= CONNECTIONS // PROCESSES // 4, "whoever comes first takes them all"


def test_no_packet_of_an_answer_waits_for_the_one_before() -> None:
    listening = faces._shared("127.0.0.1", free_port(), 2)
    for one in listening[1:]:
        one.close()
    with listening[0] as first, socket.create_connection(first.getsockname()):
        accepted, _ = first.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_second_server_does_not_take_part_of_the_port(still_shop: Path) -> None:
    with running(still_shop) as (url, _, _):
        port = url.rpartition(":")[2]
        command = [sys.executable, "-m", "constat", "serve", "--project", str(still_shop)]
        for many in ("1", "2"):
            second = subprocess.run(
                [*command, "--port", port, "--workers", many],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert second.returncode == 2
            assert "Address already in use" in second.stderr


def test_what_others_have_is_asked_for_where_a_request_names_something(
    still_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[str] = []

    async def first(message: dict[str, Any]) -> None:
        named.append(message["reference"])

    peers = workers.Peers(0, 2, tmp_path)
    monkeypatch.setattr(peers, "first", first)

    async def main() -> None:
        service = Service(still_shop)
        anybody = server.Caller("somebody", "admin")
        application = server.Application(service, server.Access({}, anybody), tell=str, peers=peers)
        transport = httpx2.ASGITransport(application.asgi())
        async with (
            service,
            httpx2.AsyncClient(transport=transport, base_url="http://constat") as client,
        ):
            proved = await client.post("/v1/prove", json={"goal": "is_vip(C001)"}, timeout=60)
            assert proved.json()["verdict"] == "PROVED"
            assert named == []
            await client.post("/v1/verify", json={"certificate": "certificate/none"}, timeout=60)
            assert named == ["certificate/none"]

    # The package that counts would count for several processes from then on.
    monkeypatch.setattr("constat.server.application.metrics", lambda _: None)
    asyncio.run(main())


def test_a_request_with_a_key_is_done_once_whoever_takes_it(still_shop: Path) -> None:
    with running(still_shop) as (url, _, _):
        key = {"Idempotency-Key": "one"}
        answers = [
            asked(url, "facts/add", key, fact="contract_value(C009, 7)", note="said once").json()
            for _ in range(ROUNDS)
        ]
        assert all(one == answers[0] for one in answers)
        assert "error" not in answers[0], answers[0]
        other = {
            asked(url, "facts/add", key, fact="contract_value(C010, 7)").status_code
            for _ in range(6)
        }
        assert other == {409}


def test_turns_are_counted_for_all_processes(still_shop: Path, tmp_path: Path) -> None:
    turns = [workers.SharedTurns(Bounds(rate=0.0, burst=10), tmp_path / "turns") for _ in range(3)]
    taken = [turns[one % 3].take("alice") for one in range(15)]
    assert taken == [True] * 10 + [False] * 5
    assert turns[0].take("bob")
    slow = workers.SharedTurns(Bounds(rate=1e6, burst=1), tmp_path / "turns")
    until(lambda: slow.take("alice"))


def test_a_process_that_is_killed_is_begun_anew_and_all_end_together(still_shop: Path) -> None:
    with running(still_shop) as (url, process, log):
        before = children(process)
        gone = min(before)
        time.sleep(workers._YOUNG_SECONDS)
        os.kill(gone, signal.SIGKILL)
        until(lambda: len(children(process)) == PROCESSES and gone not in children(process))
        for _ in range(ROUNDS):
            until(lambda: ready(url))
            assert asked(url, "prove", goal="is_vip(C001)").json()["verdict"] == "PROVED"
        every = children(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
        until(lambda: not any(Path(f"/proc/{one}").exists() for one in every))
        assert "begun anew" in log.read_text()


def test_processes_end_where_the_first_one_is_killed(still_shop: Path) -> None:
    with running(still_shop) as (_, process, _):
        every = children(process)
        process.kill()
        until(lambda: not any(alive(one) for one in every))


def alive(process: int) -> bool:
    with suppress(OSError):
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    return False


def test_figures_are_those_of_all_processes(still_shop: Path) -> None:
    pytest.importorskip("prometheus_client")
    with running(still_shop) as (url, _, _):
        for _ in range(ROUNDS):
            asked(url, "prove", goal="is_vip(C001)")
        told = httpx2.get(f"{url}/metrics", timeout=60).text
        found = re.search(
            r'constat_requests_total\{operation="prove",status="200"\} ([0-9.]+)', told
        )
        assert found is not None, told
        assert float(found[1]) == ROUNDS


def test_a_peer_that_is_gone_is_said(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(workers.PeerGoneError):
            await workers.Peers(0, 2, tmp_path).ask(1, {})
        assert await workers.Peers(0, 2, tmp_path).first({}) is None

    asyncio.run(main())
