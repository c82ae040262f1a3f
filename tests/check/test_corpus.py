"""The checker meets every expectation of the corpus; ``UPDATE_GOLDEN=1`` writes the files anew."""

from __future__ import annotations

import os

import pytest

from constat.check import check_certificate
from tests.check.catalog import GOOD, good
from tests.check.corpus import (
    EXIT_CODES,
    GOLDEN,
    UNBROKEN,
    accepted_within,
    judged_mutants,
    rejections,
    sealed_mutants,
    steps_needed,
    unmet,
)

VERDICTS = frozenset(EXIT_CODES)


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
def test_no_mutant_with_fitting_hashes_is_accepted_but_those_that_are_known() -> None:
    said = zip(sealed_mutants(), judged_mutants(), strict=True)
    accepted = {f"{name}: {verdict}" for (name, _), verdict in said if verdict in VERDICTS}
    bound("accepted_mutants.txt", sorted(accepted))
    assert accepted <= set(listed("accepted_mutants.txt"))


@pytest.mark.laws
def test_no_good_certificate_takes_more_steps_than_are_listed() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        bound("steps.txt", [f"{name}: {steps}" for name, _, steps in steps_needed()])
    most = dict(line.split(": ") for line in listed("steps.txt"))
    assert most.keys() == set(GOOD)
    for name, steps in most.items():
        assert accepted_within(UNBROKEN, good(name).data(), int(steps)), name


def bound(name: str, lines: list[str]) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def listed(name: str) -> list[str]:
    return (GOLDEN / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.laws
def test_the_checker_meets_the_corpus() -> None:
    assert list(unmet(UNBROKEN)) == []
