"""Numpy is denied slow instructions only on processors that have them, and only in time."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from constat.evaluation.processor import load_numpy, sorts_slowly

if TYPE_CHECKING:
    from pathlib import Path

AMD = "vendor_id : AuthenticAMD\nflags : fpu avx2 avx512f avx512bw\n"
INTEL = "vendor_id : GenuineIntel\nflags : fpu avx2 avx512f avx512bw\n"
OLDER = "vendor_id : AuthenticAMD\nflags : fpu avx2\n"


@pytest.mark.parametrize(("text", "slow"), [(AMD, True), (INTEL, False), (OLDER, False)])
def test_only_amd_processors_with_avx512_sort_slowly(
    tmp_path: Path,
    text: str,
    slow: bool,  # noqa: FBT001
) -> None:
    description = tmp_path / "cpuinfo"
    description.write_text(text)
    assert sorts_slowly(description) is slow


def test_a_machine_that_does_not_describe_itself_is_left_alone(tmp_path: Path) -> None:
    assert not sorts_slowly(tmp_path / "nothing")


def test_numpy_that_is_loaded_is_left_alone(tmp_path: Path) -> None:
    description = tmp_path / "cpuinfo"
    description.write_text(AMD)
    importlib.import_module("numpy")
    assert not load_numpy(description)


def test_a_new_process_sorts_right_and_leaves_no_variable_behind() -> None:
    script = (
        "import constat.forward, os, numpy\n"
        "print(os.environ.get('NPY_DISABLE_CPU_FEATURES'))\n"
        "print(numpy.sort(numpy.array([3, -1, 2])).tolist())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["None", "[-1, 2, 3]"]
