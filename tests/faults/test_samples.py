"""A few rounds of every kind of fault; all of them: `make faults`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.faults.families import FAMILIES
from tests.faults.kills import FaultError, need

pytestmark = pytest.mark.faults

ROOT: Final = Path(__file__).parents[2]
ROUNDS: Final = {"kills": 2, "signals": 2, "disks": 2, "changes": 3, "mixtures": 8}


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_lost_and_nothing_stays(family: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = [family, "--rounds", str(ROUNDS[family]), "--log", str(log)]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.faults", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    found = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["fault"] for one in found] == [""] * len(FAMILIES[family].kinds), ran.stderr
    assert ran.returncode == 0


def test_a_fault_is_told() -> None:
    with pytest.raises(FaultError, match="lost"):
        need([], "lost: a fact")
