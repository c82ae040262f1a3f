"""The paired run reports what changed twice in a row by more than 2x, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.bench import paired
from tests.bench.peers.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def measured(*ratios: float) -> Callable[[str], float]:
    found = iter(ratios)
    return lambda _name: next(found)


@pytest.mark.parametrize(
    ("ratios", "reported"),
    [
        ((1.9,), {}),
        ((0.55,), {}),
        ((2.1, 1.9), {}),
        ((2.1, 2.3), {"w": (1.0, 2.3)}),
        ((0.45, 0.4), {"w": (1.0, 0.4)}),
    ],
)
def test_a_change_counts_when_it_comes_twice(
    ratios: tuple[float, ...], reported: dict[str, tuple[float, float]]
) -> None:
    assert paired.compared(["w"], {"w": 1.0}, measured(*ratios)) == reported


def test_what_was_never_recorded_is_not_measured() -> None:
    assert paired.compared(["w"], {}, measured()) == {}


def test_every_paired_workload_is_recorded() -> None:
    recorded = json.loads(paired.RECORDED.read_text(encoding="utf-8"))
    assert set(paired.PAIRED) <= recorded.keys() <= WORKLOADS.keys()


@pytest.mark.slow
def test_a_pair_is_recorded_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paired, "RECORDED", tmp_path / "ratios.json")
    assert paired.main(["w3", "--size", "small", "--record"]) == 0
    assert paired.main(["w3", "w2", "--size", "small"]) in {0, 1}
    assert "w2: nothing is recorded" in capsys.readouterr().out
