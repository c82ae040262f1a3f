"""`make bench-all` runs this: it measures, and writes the table to stdout."""

from __future__ import annotations

import gc
import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.bench.measuring import Timing, figure, table
from tests.bench.peers.generate import Size, write
from tests.examples.shop import build_database, copy_shop

if TYPE_CHECKING:
    from pathlib import Path


def measured(name: str, *given: object) -> Any:  # noqa: ANN401  figures, of a module found by name
    """Measure; a benchmark is loaded where it runs, for some load half of all tests."""
    return importlib.import_module(f"tests.bench.bench_{name}").measure(*given)


# WeasyPrint warns of the fonts here, and leaves the file of its colour profile to the collector.
_OF_THE_PDF = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:weasyprint",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@pytest.mark.slow
@_OF_THE_PDF
def test_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_database(tmp_path / "shop.sqlite")
    shop = copy_shop(tmp_path / "repository", tmp_path / "shop.sqlite")
    chain = tmp_path / "chain"
    chain.mkdir()
    (tmp_path / "exports").mkdir()
    (tmp_path / "evidence").mkdir()
    (tmp_path / "proofs").mkdir()
    (tmp_path / "rows").mkdir()
    (tmp_path / "catalog").mkdir()
    orders = tmp_path / "orders"
    write("w6", orders, Size.FULL)
    figures = [
        *measured("start", shop, tmp_path / "bytecode"),
        *measured("recursion", chain),
        *measured("point", orders, tmp_path / "projects", tmp_path / "bytecode"),
        *measured("columnar"),
        *measured("planning"),
        *measured("evidence", tmp_path / "evidence"),
        *measured("openings"),
        *measured("exports", tmp_path / "exports"),
        *measured("records", tmp_path / "records"),
        *measured("rows", tmp_path / "rows"),
        *measured("proofs", tmp_path / "proofs"),
        *measured("reports"),
        *measured("reviews"),
        *measured("second_checker"),
        *measured("catalog", tmp_path / "catalog"),
    ]
    # Here, where its warnings are let pass.
    gc.collect()
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
