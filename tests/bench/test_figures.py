"""`make bench` runs this: it measures, and writes the table to stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.bench import (
    bench_columnar,
    bench_evidence,
    bench_exports,
    bench_openings,
    bench_point,
    bench_proofs,
    bench_records,
    bench_recursion,
    bench_reports,
    bench_second_checker,
    bench_start,
)
from tests.bench.measuring import Timing, figure, table
from tests.bench.peers.generate import Size, write
from tests.examples.shop import build_database, copy_shop

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_database(tmp_path / "shop.sqlite")
    shop = copy_shop(tmp_path / "repository", tmp_path / "shop.sqlite")
    chain = tmp_path / "chain"
    chain.mkdir()
    (tmp_path / "exports").mkdir()
    (tmp_path / "evidence").mkdir()
    (tmp_path / "proofs").mkdir()
    orders = tmp_path / "orders"
    write("w6", orders, Size.FULL)
    figures = [
        *bench_start.measure(shop, tmp_path / "bytecode"),
        *bench_recursion.measure(chain),
        *bench_point.measure(orders, tmp_path / "projects", tmp_path / "bytecode"),
        *bench_columnar.measure(),
        *bench_evidence.measure(tmp_path / "evidence"),
        *bench_openings.measure(),
        *bench_exports.measure(tmp_path / "exports"),
        *bench_records.measure(tmp_path / "records"),
        *bench_proofs.measure(tmp_path / "proofs"),
        *bench_reports.measure(),
        *bench_second_checker.measure(),
    ]
    with capsys.disabled():
        sys.stdout.write("\n" + table(figures))
    # Nothing is failed for being slow: the machine may be busy. The table says what was met.
    assert all(one.median for one in figures)


def test_the_table_says_what_was_met() -> None:
    met = figure("a", [Timing(1.0, 0.5), Timing(3.0, 0.5), Timing(1.5, 0.5)], 2.0)
    missed = figure("b", [Timing(0.003, 0.001)], 0.002, milliseconds=True)
    assert table([met, missed]).splitlines()[2:] == [
        "| a | 1.50 s | 0.50 s | < 2 s | yes |",
        "| b | 3.0 ms | 1.0 ms | < 2 ms | no |",
    ]
