"""A sample of broken checkers is noticed by the corpus; all of them: ``make mutants``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.checker import FOLDER, every_module
from tests.mutation.operators import mutants_of

ROOT = Path(__file__).parents[2]


@pytest.mark.laws
def test_every_module_can_be_broken() -> None:
    for module in every_module():
        assert next(mutants_of(FOLDER / f"{module}.py"), None) is not None


@pytest.mark.slow
def test_broken_checkers_are_noticed() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.mutation.checker", "--step", "37"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"(\d+) of (\d+) mutants killed", outcome.stdout)
    assert found is not None
    killed, made = map(int, found.groups())
    # SURVIVORS.md argues why the rest is equivalent.
    assert killed >= 0.9 * made, outcome.stdout
