"""Load on a server: warm point proofs in a second, and how long each waits.

`python -m tests.bench.bench_server [--seconds 20] [--clients 16] [--processes 1]` serves a copy of
the example, warms it, and lets clients prove goals about its customers one after another. It prints
proofs in a second, the median and the 99th percentile, and the processor time of the server for one
proof, which says more where others use the machine. Each proof writes a certificate.
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
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from tests.examples.shop import ROOT
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--processes", type=int, default=1)
    wish = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        shutil.copytree(ROOT / "rules", root / "rules")
        shutil.copytree(ROOT / "examples", root / "examples")
        project = root / "examples" / "vip"
        subprocess.run(
            [sys.executable, project / "make_data.py"], check=True, stdout=subprocess.DEVNULL
        )
        ports = [free_port() for _ in range(wish.processes)]
        served = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "constat",
                    "serve",
                    "--port",
                    str(port),
                    "--project",
                    project,
                ],
                stderr=subprocess.DEVNULL,
            )
            for port in ports
        ]
        try:
            measure(served, [f"http://127.0.0.1:{port}" for port in ports], wish)
        finally:
            for one in served:
                one.send_signal(signal.SIGTERM)
            for one in served:
                one.wait()


def measure(
    served: Sequence[subprocess.Popen[bytes]], urls: Sequence[str], wish: argparse.Namespace
) -> None:
    """Warm, ask, and print."""
    for url in urls:
        until_ready(url)
    asyncio.run(asked(urls, wish.clients, 3.0))
    before = sum(processor_seconds(one.pid) for one in served)
    taken = sorted(asyncio.run(asked(urls, wish.clients, wish.seconds)))
    used = sum(processor_seconds(one.pid) for one in served) - before
    line = (
        f"{len(taken) / wish.seconds:.0f} proofs/s; median {taken[len(taken) // 2] * 1000:.0f} ms,"
        f" p99 {taken[len(taken) * 99 // 100] * 1000:.0f} ms;"
        f" {used / len(taken) * 1000:.1f} ms of a processor each"
    )
    print(f"{wish.processes} processes, {wish.clients} clients: {line}")  # noqa: T201  the figures


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
