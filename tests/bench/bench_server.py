"""Load on a server: warm point proofs in a second, and how long each waits.

`python -m tests.bench.bench_server [--seconds 20] [--clients 16] [--workers 1]` serves a copy of
the example, warms it, and lets callers, each with a token and a connection of their own, prove
goals about its customers one after another. It prints proofs in a second, the median and the 99th
percentile, and for one proof the processor time of the server and of the callers: the first says
more where others use the machine, the second that the callers do not hold it up. Each proof writes
a certificate.

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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from constat.service import new_token
from tests.examples.shop import ROOT
from tests.servers.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CUSTOMERS = 40


def processor_seconds(process: int) -> float:
    """Give the processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Asker(asyncio.Protocol):
    """One caller on one connection: asks, waits for the answer, asks again, until the time is up.

    Speaks HTTP by hand, because a library of clients takes as long as the server does.
    """

    def __init__(self, token: str, first: int, until: float, ended: asyncio.Future[None]) -> None:
        self._head = (
            "POST /v1/prove HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {token}\r\nContent-Length: "
        ).encode()
        self._number, self._until, self._ended = first, until, ended
        self._content, self._length, self._asked_at = b"", 0, 0.0
        self.taken: list[float] = []
        self.refused: Counter[str] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask the first time."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._number += 1
        body = b'{"goal": "is_vip(C%03d)"}' % (self._number % CUSTOMERS + 1)
        self._asked_at = time.perf_counter()
        self._transport.write(self._head + b"%d\r\n\r\n" % len(body) + body)

    def data_received(self, data: bytes) -> None:
        """Take in a part of an answer; after the last one, ask again."""
        self._content += data
        if not self._length:
            head, end, _ = self._content.partition(b"\r\n\r\n")
            if not end:
                return
            long = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
            self._length = len(head) + len(end) + int(long)
        if len(self._content) < self._length:
            return
        now, rest = time.perf_counter(), 0.0
        if self._content.startswith(b"HTTP/1.1 200 ") and b'"verdict"' in self._content:
            self.taken.append(now - self._asked_at)
        else:
            self.refused[self._content.partition(b"\r\n")[0].decode()] += 1
            rest = 0.1
        self._content, self._length = b"", 0
        if now < self._until:
            asyncio.get_running_loop().call_later(rest, self._ask)
        else:
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        """Tell that it is over."""
        if not self._ended.done():
            self._ended.set_result(None)


async def asked(port: int, tokens: Sequence[str], seconds: float) -> list[Asker]:
    """Let each token's caller ask for so many seconds."""
    loop = asyncio.get_running_loop()
    until, found, ends = time.perf_counter() + seconds, [], []
    for number, token in enumerate(tokens):
        ends.append(loop.create_future())
        made = partial(Asker, token, number * 7, until, ends[-1])
        found.append((await loop.create_connection(made, "127.0.0.1", port))[1])
    await asyncio.gather(*ends)
    return found


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
def serving(
    workers: int, callers: int = 0
) -> Iterator[tuple[int, subprocess.Popen[bytes], list[str]]]:
    """Serve a copy of the example; gives the port, the first process, and callers' tokens."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        shutil.copytree(ROOT / "rules", root / "rules")
        shutil.copytree(ROOT / "examples", root / "examples")
        project, port = root / "examples" / "vip", free_port()
        made = [sys.executable, str(project / "make_data.py")]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        command = [sys.executable, "-m", "constat", "serve", "--port", str(port)]
        command += ["--workers", str(workers), "--project", str(project)]
        file = Path(folder) / "tokens.txt"
        tokens = [new_token(file, f"caller{number}", "viewer") for number in range(callers)]
        if tokens:
            command += ["--tokens", str(file)]
        served = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            until_ready(f"http://127.0.0.1:{port}")
            yield port, served, tokens
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
    if wish.subscriptions:
        with serving(wish.workers) as (port, _, _):
            found = asyncio.run(subscribed(port, wish.subscriptions))
            until_ready(f"http://127.0.0.1:{port}")
        for line, number in found.most_common():
            print(f"{number:6} {line}")  # noqa: T201  the figures
        print("and it answers")  # noqa: T201  the figures
        return
    with serving(wish.workers, wish.clients) as (port, served, tokens):
        measure(processes(served.pid), port, tokens, wish)


def measure(
    served: Sequence[int], port: int, tokens: Sequence[str], wish: argparse.Namespace
) -> None:
    """Warm, ask, and print."""
    asyncio.run(asked(port, tokens, 3.0))
    before, ours = [processor_seconds(one) for one in served], time.process_time()
    began = time.perf_counter()
    askers = asyncio.run(asked(port, tokens, wish.seconds))
    seconds = time.perf_counter() - began
    ours = time.process_time() - ours
    shares = [processor_seconds(one) - was for one, was in zip(served, before, strict=True)]
    used = sum(shares)
    taken = sorted(one for asker in askers for one in asker.taken)
    line = (
        f"{len(taken) / seconds:.0f} proofs/s; median {taken[len(taken) // 2] * 1000:.0f} ms,"
        f" p99 {taken[len(taken) * 99 // 100] * 1000:.0f} ms; processor for each:"
        f" {used / len(taken) * 1000:.2f} ms of the server, {ours / len(taken) * 1000:.2f} of us;"
        f" each process {' + '.join(f'{one:.1f}' for one in shares if one > 0.1)} s of"
        f" {seconds:.1f}; load {os.getloadavg()[0]:.1f}"
    )
    print(f"{wish.workers} processes, {wish.clients} callers: {line}")  # noqa: T201  the figures
    for refused, number in sum((one.refused for one in askers), Counter[str]()).items():
        print(f"{number:6} {refused}")  # noqa: T201  the figures


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
