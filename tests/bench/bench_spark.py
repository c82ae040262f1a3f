"""What a workload costs on Spark Connect servers: rounds, seconds, with one worker and with two.

In: names of workloads, a factor for their size, `--remote ADDRESS` for a server that runs already.
Out: a line for each. Without an address Sail is started as a cluster on this machine, with so many
workers, and as many cores for all of them. Answers that are not those of `workloads.py` are a
mistake. It needs the wheels of `make spark`. Example:
`PYTHONPATH=.venv/spark python -m tests.bench.bench_spark w2 w5`.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bench.peers.generate import Size, write
from tests.bench.peers.workloads import PROGRAMS, WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SERVER: Final = """
import os, sys, time
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", int(sys.argv[1]))
server.start(background=True)
print("ready", flush=True)
while True:
    time.sleep(1)
"""
_SIZE: Final = re.compile(r"^(\w+)\t(\d+)$", re.MULTILINE)
_CLOCK: Final = os.sysconf("SC_CLK_TCK")


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, int]]:
    """Start Sail with so many workers; give its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "SAIL_MODE": "local-cluster",
        "SAIL_CLUSTER__WORKER_INITIAL_COUNT": str(workers),
        "SAIL_CLUSTER__WORKER_MAX_COUNT": str(workers),
        # Its tasks wait for each other: a stage with fewer slots than partitions is refused.
        "SAIL_CLUSTER__WORKER_TASK_SLOTS": "8",
        "SAIL_EXECUTION__DEFAULT_PARALLELISM": "4",
        "RUST_LOG": "error",
    }
    child = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(port), str(workers)],
        env=environment,
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield f"sc://127.0.0.1:{port}", child.pid
    finally:
        child.kill()
        child.wait()


def measure(
    name: str, folder: Path, remote: str, answers: Mapping[str, int]
) -> tuple[float, dict[str, int]]:
    """Run a workload; give the seconds by the clock."""
    program = WORKLOADS[name].program(PROGRAMS)
    command = [sys.executable, "-m", "constat", "run", str(program), "-F", str(folder), "-w", "-D-"]
    started = time.monotonic()
    ran = subprocess.run(
        [*command, "--engine", "spark", "--remote", remote],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - started
    assert ran.returncode == 0, ran.stderr
    found = {one: int(count) for one, count in _SIZE.findall(ran.stdout)}
    if answers:
        assert {one: found.get(one) for one in answers} == answers, found
    return seconds, found


def processor(pid: int) -> float:
    """Give the seconds of the processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK


def _tell(what: str, seconds: float, used: float = 0.0) -> None:
    server = f", of the server's processor {used:.1f} s" if used else ""
    load = os.getloadavg()[0]
    sys.stdout.write(f"{what}: {seconds:.1f} s by the clock{server}; load {load:.1f}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_spark")
    parser.add_argument("names", nargs="*", default=["w1", "w2", "w5"])
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--remote", default="")
    given = parser.parse_args(arguments)
    for name in given.names:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            write(name, folder, Size.FULL, given.factor)
            answers = WORKLOADS[name].answers if given.factor == 1.0 else {}
            answers = {one: count for one, count in answers.items() if name != "w8"}
            if given.remote:
                seconds, _ = measure(name, folder, given.remote, answers)
                _tell(f"{name} at the server that runs", seconds)
                continue
            for workers in (1, 2):
                with cluster(workers) as (remote, pid):
                    before = processor(pid)
                    seconds, _ = measure(name, folder, remote, answers)
                    used = processor(pid) - before
                    _tell(f"{name}, {workers} workers", seconds, used)


if __name__ == "__main__":
    main()
