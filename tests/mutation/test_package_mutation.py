"""Broken copies of a package: which are drawn, what each of them breaks, what is argued away."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.mutation import package
from tests.mutation.reaching import breaks_of


def test_a_seed_draws_the_same_copies_from_all_modules() -> None:
    drawn = [one.name for one in package.chosen("diagnostics", 10_000, 1)]
    assert drawn == [one.name for one in package.chosen("diagnostics", 10_000, 2)]
    few = [one.name for one in package.chosen("diagnostics", 5, 1)]
    assert few == [one.name for one in package.chosen("diagnostics", 5, 1)]
    assert set(few) < set(drawn)
    assert few != [one.name for one in package.chosen("diagnostics", 5, 2)]


def test_packages_in_a_package_are_broken_too_and_a_module_alone() -> None:
    assert "constat.plan.forward" in {one.package for one in package.chosen("plan", 10_000, 1)}
    assert {one.path.name for one in package.chosen("mcp", 5, 1)} == {"mcp.py"}


def test_a_copy_differs_from_the_module_in_what_it_says() -> None:
    broken = next(one for one in package.chosen("logic", 10_000, 1) if "->" in one.what)
    whole = ast.unparse(ast.parse(broken.path.read_text(encoding="utf-8")))
    text = broken.text()
    changed = [
        two for one, two in zip(whole.split("\n"), text.split("\n"), strict=True) if one != two
    ]
    assert len(changed) == 1
    assert broken.text() == text


def test_what_is_argued_to_mean_the_same_is_still_written_so() -> None:
    places = {
        (one, path)
        for name in package.equivalent()
        for one, path in package.modules_of(name.partition(".")[0])
        if name.startswith(f"{one}.{path.stem} ".removeprefix("constat."))
    }
    names = {package.name_of(one) for place in places for one in breaks_of(*place)}
    assert package.equivalent() <= names


@pytest.mark.laws
def test_a_package_whose_tests_see_nothing_is_told_from_one_whose_tests_see_much() -> None:
    command = [sys.executable, "-m", "tests.mutation.package", "diagnostics", "--quick"]
    ran = subprocess.run(
        [*command, "--count", "12"], cwd=package.ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    last = ran.stdout.splitlines()[-1].split()
    assert 6 <= int(last[1]) <= int(last[3]) <= 12, ran.stdout
