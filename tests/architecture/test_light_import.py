"""``import constat`` is light; its public names come from their own packages."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

import constat
from tests.architecture.sources import ROOT

# To be lowered, not raised: the aim is 90.
MOST_MODULES_OF_A_PROOF = 144


def test_importing_constat_loads_no_other_module_of_constat() -> None:
    program = "import sys, constat; print(*(m for m in sys.modules if m.startswith('constat.')))"
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.split() == []


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("ConstatError", "constat.diagnostics"),
        ("Result", "constat.session"),
        ("Session", "constat.session"),
        ("Verdict", "constat.evaluation"),
    ],
)
def test_a_public_name_is_the_one_of_its_package(name: str, home: str) -> None:
    assert getattr(constat, name) is getattr(importlib.import_module(home), name)
    assert name in dir(constat)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'constat' has no attribute 'Sesion'"):
        _ = constat.Sesion


def test_the_version_is_written_in_one_place() -> None:
    assert importlib.metadata.version("constat") == constat.__version__


def test_a_proof_loads_only_what_proofs_need() -> None:
    program = (
        "import sys; from constat.cli import main;"
        " main(['prove', 'is_vip(C001)', '--project', 'examples/vip', '--quiet']);"
        " own = [name for name in sys.modules if name.startswith('constat.')];"
        " print(len(own), *sorted({name.split('.')[1] for name in own}), file=sys.stderr)"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    count, *packages = outcome.stderr.split()
    assert set(packages) & {"authoring", "columnar", "explore", "forward", "memory", "sql"} == set()
    assert int(count) <= MOST_MODULES_OF_A_PROOF
