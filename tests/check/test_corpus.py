"""The checker meets every expectation of the corpus; ``UPDATE_GOLDEN=1`` writes the files anew."""

from __future__ import annotations

import importlib
import os

import pytest

from constat.check import check_certificate
from tests.check.catalog import GOOD, good
from tests.check.corpus import (
    GOLDEN,
    Checker,
    outcome,
    rejections,
    sealed_mutants,
    steps_taken,
    unmet,
)

CHECKER = Checker(lambda name: importlib.import_module(f"constat.check.{name}"))


def compare(name: str, found: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == found


def test_the_reports_are_the_golden_ones() -> None:
    for name in GOOD:
        compare(f"{name}.txt", check_certificate(good(name).data()).to_text())


def test_the_report_as_json_is_the_golden_one() -> None:
    name = next(iter(GOOD))
    compare(f"{name}.json", check_certificate(good(name).data()).to_json())


def test_the_texts_of_rejections_are_the_golden_ones() -> None:
    compare("rejected.txt", rejections(check_certificate))


@pytest.mark.laws
def test_mutants_with_fitting_hashes_are_judged_as_before() -> None:
    lines = [f"{name}: {outcome(check_certificate(data))}" for name, data in sealed_mutants()]
    compare("mutants.txt", "\n".join(lines) + "\n")


@pytest.mark.laws
def test_every_step_of_an_enumeration_is_counted() -> None:
    lines = [f"{name}: {steps_taken(CHECKER, good(name).data())}" for name in GOOD]
    compare("steps.txt", "\n".join(lines) + "\n")


@pytest.mark.laws
def test_the_checker_meets_the_corpus() -> None:
    assert list(unmet(CHECKER)) == []
