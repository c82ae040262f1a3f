"""Broken copies of the engine are noticed in processes of their own; all: ``make mutants``."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from constat.evaluation import CERTAIN, Limits
from tests.engine.tables import Table, goal, program
from tests.mutation.copies import folder_of, noticed
from tests.mutation.engine import CORE, PACKAGE
from tests.mutation.engine_corpus import current
from tests.mutation.operators import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
RULES = '.decl p(x: number)\n.input p(source="t", query="q")\n'


def mutant(module: str, what: str) -> Mutant:
    path = folder_of(PACKAGE) / f"{module}.py"
    return next(one for one in mutants_of(path) if one.what == what)


def proves() -> str | None:
    analysed = program(RULES)
    asked = goal("p(1)", analysed)
    outcome = current().evaluate(analysed, asked, {"p": Table([(1,)])}, Limits())
    return None if outcome.strength(asked) == CERTAIN else "p(1) is not proved"


def endless() -> str | None:
    while True:
        time.sleep(0)


def test_the_core_can_be_broken_in_every_module() -> None:
    for module in CORE:
        assert next(mutants_of(folder_of(PACKAGE) / f"{module}.py"), None) is not None


@pytest.mark.laws
def test_a_break_is_noticed_in_a_child_and_leaves_no_trace() -> None:
    broken = mutant(
        "relation",
        "dropped: sure.update(every if len(new) == len(every) else dict.fromkeys(new, stamp))",
    )
    assert noticed(PACKAGE, None, proves, 20) is None
    assert noticed(PACKAGE, broken, proves, 20) == "p(1) is not proved"
    assert proves() is None


@pytest.mark.slow
def test_an_exception_and_an_endless_loop_are_noticed() -> None:
    assert noticed(PACKAGE, None, lambda: str(1 // 0), 20) == (
        "ZeroDivisionError: integer division or modulo by zero"
    )
    assert noticed(PACKAGE, None, endless, 0.2) == "it does not end"


@pytest.mark.slow
def test_a_sample_of_broken_engines_is_noticed() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.mutation.engine", "--step", "41", "--more", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"(\d+) of (\d+) mutants killed", outcome.stdout)
    assert found is not None
    killed, made = map(int, found.groups())
    # SURVIVORS.md argues why the rest is equivalent.
    assert killed >= 0.8 * made, outcome.stdout


@pytest.mark.slow
def test_a_sample_of_broken_bulk_evaluations_is_noticed() -> None:
    words = ["forward.loosening", "plan.forward.linearise", "--step", "23", "--size", "40"]
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.mutation.forward", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"(\d+) of (\d+) mutants killed", outcome.stdout)
    assert found is not None
    killed, made = map(int, found.groups())
    assert killed >= 0.5 * made, outcome.stdout
