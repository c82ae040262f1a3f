"""``import constat`` is light; its public names come from their own packages."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

import constat


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
