"""Steps of Airflow and Dagster that are proofs, each run by the orchestrator's own library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from constat.check import check_certificate
from tests.examples.projects import ROOT

pytestmark = pytest.mark.examples

DAGSTER = ROOT / ".venv" / "dagster" / "bin" / "python"
AIRFLOW = ROOT / ".venv" / "airflow" / "bin" / "python"
CONSTAT = Path(sys.executable).parent / "constat"

ASSET = """
import json
from dagster import materialize
import constat_dagster as one
ran = materialize([one.orders, one.may_close], raise_on_error=False)
(check,) = ran.get_asset_check_evaluations()
told = {name: value.value for name, value in check.metadata.items()}
print(json.dumps({"run": ran.success, "check": check.passed, **told}))
"""
OPERATOR = """
import json, sys
from airflow.exceptions import AirflowFailException
from constat_airflow import ConstatProve, dag
assert list(dag.task_dict) == ["may_close"], dag.task_dict
day, place = sys.argv[1:]
goal = f"may_close({day})"
one = ConstatProve(task_id="one", goal=goal, project=".", certificate=place)
try:
    print(json.dumps({"certificate": one.execute({})}))
except AirflowFailException as problem:
    print(json.dumps({"why": str(problem)}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "pipelines"
    kept = shutil.ignore_patterns("build", ".constat", "__pycache__")
    return Path(shutil.copytree(ROOT / "examples" / "pipelines", place, ignore=kept))


def ran(python: Path, folder: Path, text: str, *words: str, **more: str) -> dict[str, object]:
    """Run a program with an orchestrator's Python; gives the last line, which is JSON."""
    quiet = {
        **os.environ,
        "CONSTAT": str(CONSTAT),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "DAGSTER_HOME": "",
        "PYTHONPATH": str(folder),
        **more,
    }
    done = subprocess.run(
        [str(python), "-c", text, *words],
        cwd=folder,
        env=quiet,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not DAGSTER.exists(), reason="Dagster is not there; `make orchestrators`")
def test_a_check_of_an_asset_is_a_goal(folder: Path) -> None:
    found = ran(DAGSTER, folder, ASSET, DAY="2026-03-01")
    assert (found["check"], found["verdict"]) == (True, "PROVED")
    assert check_certificate(Path(str(found["certificate"])).read_bytes()).verdict == "PROVED"
    found = ran(DAGSTER, folder, ASSET, DAY="2026-03-02")
    assert found["check"] is False
    assert "unpaid(O3, 2026-03-02)" in str(found["why"])


@pytest.mark.skipif(not AIRFLOW.exists(), reason="Airflow is not there; `make orchestrators`")
def test_a_task_is_a_goal_and_fails_for_good_where_it_does_not_hold(folder: Path) -> None:
    place = folder / "build" / "one.json"
    found = ran(AIRFLOW, folder, OPERATOR, "2026-03-01", str(place))
    assert found == {"certificate": str(place)}
    report = check_certificate(place.read_bytes())
    assert (report.verdict, report.goal) == ("PROVED", 'may_close("2026-03-01")')
    found = ran(AIRFLOW, folder, OPERATOR, "2026-03-02", str(folder / "two.json"))
    assert "unpaid(O3, 2026-03-02)" in str(found["why"])


def test_the_gate_believes_the_exit_code_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    import gate  # type: ignore[import-not-found]  # of the example

    monkeypatch.setenv("CONSTAT", str(CONSTAT))
    place = str(folder / "build" / "one.json")
    assert gate.prove("may_close(2026-03-01)", str(folder), place)["verdict"] == "PROVED"
    with pytest.raises(gate.NotProvedError, match="unpaid"):
        gate.prove("may_close(2026-03-02)", str(folder), place)
