"""Tests that need more than Python are marked, counted apart, and told of when they are skipped."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import extras

ROOT: Final = Path(__file__).parents[2]


def report(why: str = "", **keywords: int) -> SimpleNamespace:
    return SimpleNamespace(
        keywords=keywords, longrepr=("file", 1, f"Skipped: {why}") if why else ""
    )


class Reporter:
    """Holds reports as pytest does, and what was printed."""

    def __init__(self, **stats: list[SimpleNamespace]) -> None:
        self.stats = stats
        self.lines: list[str] = []

    def write_line(self, line: str) -> None:
        self.lines.append(line)


def test_runs_add_to_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = tmp_path / "shown.json"
    shown.touch()
    monkeypatch.setenv(extras.SHOWN, str(shown))
    extras.tell(Reporter(passed=[report(), report()], skipped=[report("only root")]))  # type: ignore[arg-type]  # what of it is used
    last = Reporter(passed=[report(browser=1)], failed=[report(mariadb=1)])
    extras.tell(last)  # type: ignore[arg-type]  # what of it is used
    assert last.lines == [
        "",
        "             passed   failed  skipped",
        "core              2        0        1",
        "postgres    not run                  ",
        "mariadb           0        1        0",
        "stores      not run                  ",
        "sandbox     not run                  ",
        "browser           1        0        0",
        "notebook    not run                  ",
        "newcomer    not run                  ",
        "site        not run                  ",
        "spark       not run                  ",
        "data        not run                  ",
        "examples    not run                  ",
        "faults      not run                  ",
        "laws        not run                  ",
        "  core: 1 skipped, not shown: only root",
    ]


def test_a_test_of_the_core_cannot_start_what_belongs_to_an_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(extras.ONLY_CORE, raising=False)
    extras.need("mariadb")
    monkeypatch.setenv(extras.ONLY_CORE, "1")
    with pytest.raises(AssertionError, match=r"@pytest\.mark\.mariadb"):
        extras.need("mariadb")


def test_the_core_tries_a_property_with_a_third_of_its_examples() -> None:
    tried: list[int] = []

    @settings(max_examples=9, database=None)
    @given(st.integers())
    def some_property(number: int) -> None:
        tried.append(number)

    some_property()
    assert len(tried) == 9
    tried.clear()
    extras.draw_fewer(some_property)
    some_property()
    assert len(tried) == 4
    extras.draw_fewer(extras.need)


def test_continuous_integration_runs_the_core_and_each_extra() -> None:
    """What the core leaves out by a mark, the same script runs afterwards."""
    commands = [line.split()[:2] for line in (ROOT / ".ci" / "run").read_text().splitlines()]
    core, rest = commands.index(["make", "test"]), commands.index(["make", "test-extras"])
    assert core < rest
    chosen = " or ".join(extras.EXTRAS)
    # Spark's wheels lie in a folder of their own, which only its tests see.
    beside = " or ".join(one for one in extras.EXTRAS if one != "spark")
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["addopts"][-1] == f"not (slow or {chosen})"
    plan = subprocess.run(
        ["make", "--dry-run", "--old-file=install", "test-extras"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f'-m "({beside} or hypothesis) and not spark and not slow"' in plan
    assert '-m "spark and not slow"' in plan
    for extra in extras.EXTRAS:
        assert f"\ntest-{extra}: install" in (ROOT / "Makefile").read_text()
