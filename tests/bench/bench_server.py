"""Load on a server: warm point proofs in a second, and how long each waits.

`python -m tests.bench.bench_server [--seconds 20] [--clients 16] [--workers 1]` serves a copy of
the example, warms it, and lets clients prove goals about its customers one after another. It prints
proofs in a second, the median and the 99th percentile, and the processor time of the server for one
proof, which says more where others use the machine. Each proof writes a certificate.

`--subscriptions 10000` opens so many subscriptions at once instead, and tells how each was
answered, and whether the server answers afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from tests.examples.shop import ROOT
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CUSTOMERS = 40


def processor_seconds(process: int) -> float:
    """Give the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def asked(urls: Sequence[str], clients: int, seconds: float) -> list[float]:
    """Ask for so many seconds; gives how long each answer took."""
    taken: list[float] = []

    async def one(number: int) -> None:
        until = time.perf_counter() + seconds
        async with httpx2.AsyncClient(base_url=urls[number % len(urls)], timeout=60) as client:
            while time.perf_counter() < until:
                goal = f"is_vip(C{(number + len(taken)) % CUSTOMERS + 1:03d})"
                before = time.perf_counter()
                response = await client.post("/v1/prove", json={"goal": goal})
                if response.status_code == 429:
                    await asyncio.sleep(0.05)
                    continue
                response.raise_for_status()
                taken.append(time.perf_counter() - before)

    await asyncio.gather(*(one(number) for number in range(clients)))
    return taken


SUBSCRIBED = b"""{"query": "subscription { proving(goal: \\"is_vip(C001)\\") { message } }"}"""


async def subscribed(port: int, many: int) -> Counter[str]:
    """Open subscriptions, all at once and each kept open; tells how the first lines were."""
    head = (
        f"POST /graphql HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(SUBSCRIBED)}\r\n\r\n"
    ).encode()
    links: list[asyncio.StreamWriter] = []

    async def one() -> str:
        try:
            async with asyncio.timeout(240):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                links.append(writer)
                writer.write(head + SUBSCRIBED)
                line = await reader.readline()
                return line.decode().strip() or "closed without an answer"
        except (OSError, TimeoutError) as problem:
            return type(problem).__name__

    found = await asyncio.gather(*(one() for _ in range(many)))
    for writer in links:
        writer.close()
    return Counter(found)


@contextmanager
def serving(workers: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Serve a copy of the example; gives the port, and the process or that of all of them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        shutil.copytree(ROOT / "rules", root / "rules")
        shutil.copytree(ROOT / "examples", root / "examples")
        project, port = root / "examples" / "vip", free_port()
        made = [sys.executable, str(project / "make_data.py")]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        command = [sys.executable, "-m", "constat", "serve", "--port", str(port)]
        command += ["--workers", str(workers), "--project", str(project)]
        served = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            until_ready(f"http://127.0.0.1:{port}")
            yield port, served
        finally:
            served.send_signal(signal.SIGTERM)
            served.wait()


def processes(first: int) -> list[int]:
    """Give a process and those that it has begun."""
    told = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii")
    return [first, *map(int, told.split())]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--subscriptions", type=int, default=0)
    wish = parser.parse_args()
    with serving(wish.workers) as (port, served):
        if not wish.subscriptions:
            measure(processes(served.pid), [f"http://127.0.0.1:{port}"], wish)
            return
        found = asyncio.run(subscribed(port, wish.subscriptions))
        until_ready(f"http://127.0.0.1:{port}")
        for line, number in found.most_common():
            print(f"{number:6} {line}")  # noqa: T201  the figures
        print("and it answers")  # noqa: T201  the figures


def measure(served: Sequence[int], urls: Sequence[str], wish: argparse.Namespace) -> None:
    """Warm, ask, and print."""
    asyncio.run(asked(urls, wish.clients, 3.0))
    before = sum(map(processor_seconds, served))
    taken = sorted(asyncio.run(asked(urls, wish.clients, wish.seconds)))
    used = sum(map(processor_seconds, served)) - before
    line = (
        f"{len(taken) / wish.seconds:.0f} proofs/s; median {taken[len(taken) // 2] * 1000:.0f} ms,"
        f" p99 {taken[len(taken) * 99 // 100] * 1000:.0f} ms;"
        f" {used / len(taken) * 1000:.1f} ms of a processor each"
    )
    print(f"{wish.workers} processes, {wish.clients} clients: {line}")  # noqa: T201  the figures


def until_ready(url: str) -> None:
    """Wait until a server answers."""
    for _ in range(600):
        try:
            if httpx2.get(f"{url}/readyz", timeout=60).is_success:
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    raise SystemExit("nobody answers")


if __name__ == "__main__":
    main()
