"""Where nothing keeps code in, it runs only if the configuration and whoever runs it allow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from tests.cli.running import run
from tests.explore.planned import plan, step

if TYPE_CHECKING:
    from pathlib import Path

CODE = "store.put('t', pd.DataFrame({'n': [1]}))"
PLAN = f"""
answer: t
steps:
  - goal: one
    outputs: ["t(n: number)"]
    python: "{CODE}"
"""


@pytest.fixture
def bare(regions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project on a machine without bubblewrap and Landlock."""
    monkeypatch.setattr("constat.explore.sandbox.sandbox.STRONG", ())
    return regions


def allowed(folder: Path, *, weak: bool, flag: bool) -> str:
    """Run a step of code; give the level it ran at."""
    if weak:
        with (folder / "constat.yaml").open("a") as stream:
            stream.write("explore: {sandbox: weak}\n")
    with Session(folder) as session:
        session.allow_unconfined = flag
        explored = session.solve("t?", plan=plan(step("t(n: number)", python=CODE)))
        return explored.steps[0].level


@pytest.mark.parametrize(("weak", "flag"), [(False, False), (True, False), (False, True)])
def test_code_is_refused_unless_both_allow_it(bare: Path, *, weak: bool, flag: bool) -> None:
    with pytest.raises(ConstatError, match="refused: nothing here keeps them away"):
        allowed(bare, weak=weak, flag=flag)


def test_where_both_allow_it_the_result_says_that_nothing_kept_it_in(
    bare: Path, tmp_path: Path
) -> None:
    with (bare / "constat.yaml").open("a") as stream:
        stream.write("explore: {sandbox: weak}\n")
    (tmp_path / "plan.yaml").write_text(PLAN)
    words = ("solve", "t?", "--plan", tmp_path / "plan.yaml", "--project", bare)
    ran = run(*words, "--allow-unconfined", "--format", "json")
    assert ran.code == 3, ran.err
    assert ran.json["steps"][0]["sandbox"] == "none"
