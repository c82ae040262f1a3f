"""The example over an API: its own server runs, on a port of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from constat.session.starting import start_api

EXAMPLE = Path(__file__).parents[2] / "examples" / "deliveries"


@pytest.fixture(scope="module")
def carrier() -> Iterator[str]:
    command = [sys.executable, str(EXAMPLE / "server.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def test_the_example_proves_what_it_says(carrier: str, tmp_path: Path) -> None:
    folder = tmp_path / "deliveries"
    shutil.copytree(EXAMPLE, folder)
    settings = (folder / "constat.yaml").read_text()
    (folder / "constat.yaml").write_text(settings.replace("http://127.0.0.1:8642", carrier))
    expected = {
        "waiting(C001, P3)": Verdict.PROVED,
        "waiting(C001, P1)": Verdict.DISPROVED,
        "waiting(C002, P4)": Verdict.DISPROVED,
        "ordered(C001, 813.3)": Verdict.PROVED,
        "ordered(C001, 1)": Verdict.DISPROVED,
    }
    with Session(folder) as session:
        for goal, verdict in expected.items():
            result = session.prove(goal)
            assert result.verdict is verdict
            assert session.verify_source(result.certificate).exit_code == result.exit_code
            # Nobody asks where a parcel goes, or when it was sent.
            assert not [one for one in (b"Basel", b"2026-11-20") if one in result.certificate]


def test_a_project_begins_with_the_file_of_a_description(tmp_path: Path) -> None:
    found = start_api(str(EXAMPLE / "tracking.yaml"), tmp_path / "begun", tmp_path)
    assert found.api == "tracking"
    assert found.operations == ("tracking.listEvents", "tracking.listParcels")
    with Session(tmp_path / "begun") as session:
        names = set(session.program.program.predicates)
    assert {"list_events", "list_parcels", "list_parcels_items"} <= names


@pytest.mark.parametrize("text", ["nothing here", "{}", "openapi: 3.0.0\npaths: {}"])
def test_what_describes_no_api_leaves_nothing_behind(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ConstatError):
        start_api("a.yaml", tmp_path / "begun", tmp_path)
    assert list((tmp_path / "begun").rglob("*")) == []


@pytest.mark.parametrize("name", ["api", "cache", "document", "certificates"])
def test_an_api_is_not_called_as_a_tier_is(tmp_path: Path, name: str) -> None:
    text = (EXAMPLE / "tracking.yaml").read_text(encoding="utf-8")
    (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    found = start_api(f"{name}.yaml", tmp_path / "begun", tmp_path)
    assert found.api == f"{name}_api"
    assert (tmp_path / "begun" / "rules" / "sources.dl").is_file()
