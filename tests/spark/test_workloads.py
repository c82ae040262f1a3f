"""The workloads of the benchmarks, small: what Spark computes is what DuckDB and numpy compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.peers.generate import Size, write
from tests.bench.peers.shapes import SHAPES
from tests.bench.peers.workloads import WORKLOADS
from tests.cli.running import run


@pytest.mark.parametrize("name", sorted(WORKLOADS.keys() - SHAPES.keys()))
def test_a_workload_has_the_same_results(name: str, tmp_path: Path, spark_server: str) -> None:
    write(name, tmp_path, Size.SMALL)
    command: list[str | Path] = [
        "run",
        WORKLOADS[name].program(tmp_path),
        "-F",
        tmp_path,
        "-D-",
        "-w",
    ]
    here = run(*command)
    there = run(*command, "--engine", "spark", "--remote", spark_server)
    assert (here.code, there.code) == (0, 0), there.err
    assert there.out == here.out
    assert here.out.strip()
