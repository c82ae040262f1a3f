"""The command line: in the package, without third-party packages, and on a copied folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import constat.check
from constat.check import check_certificate
from constat.check.command import main
from tests.check.catalog import good

FOLDER = Path(constat.check.__file__).parent


def run(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": ""},
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "proof.json"
    path.write_bytes(good("gold_by_user").data())
    return path


def test_the_module_runs_without_third_party_packages(file: Path) -> None:
    # -S leaves site-packages out.
    outcome = run(["-S", "-m", "constat.check", str(file)], FOLDER.parent.parent)
    assert outcome.returncode == 3, outcome.stderr
    assert outcome.stdout.startswith("PROVED UNDER assumptions: gold(")


@pytest.mark.parametrize("name", ["check", "a copy.v1", "json"])
def test_a_copied_folder_runs_alone(file: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "elsewhere" / name
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    outcome = run(["-I", "-S", str(copy), str(file)], tmp_path)
    assert outcome.returncode == 3, outcome.stderr
    assert outcome.stdout.startswith("PROVED UNDER assumptions: gold(")


def test_the_folder_runs_by_its_bare_name(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "check"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    outcome = run(["check", "--json", str(file)], tmp_path)
    assert outcome.returncode == 3, outcome.stderr
    assert json.loads(outcome.stdout)["accepted"] is True


def test_the_pin_decides(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = good("gold_by_user").tree["header"]["program"]
    assert main([str(file), "--pin", program]) == 3
    assert main([str(file), "--pin", program[:-1] + "x"]) == 1
    assert "REJECTED at header.program" in capsys.readouterr().out


def test_rules_of_nested_certificates_are_trusted_one_by_one(tmp_path: Path) -> None:
    tree = good("nested_in_nested").tree
    inner = tree["proofs"][0]
    pins = [one["header"]["program"] for one in (tree, inner, inner["proofs"][0])]
    file = tmp_path / "nested.json"
    file.write_bytes(good("nested_in_nested").data())
    assert main([str(file), "--pin", pins[0], "--trust", pins[1]]) == 1
    assert main([str(file), "--pin", pins[0], "--trust", pins[1], "--trust", pins[2]]) == 3


def test_a_rejected_file_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(b"{}")
    assert main([str(path)]) == 1
    assert capsys.readouterr().out.startswith("REJECTED: ")


def test_a_file_that_cannot_be_read_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "nothing.json")]) == 2
    assert main(["a\0b"]) == 2
    assert main([str(tmp_path)]) == 2
    assert "cannot read the file" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2


def test_nothing_in_a_certificate_reaches_the_terminal_unescaped() -> None:
    w = good("hostile_texts")
    report = check_certificate(w.data())
    assert report.accepted
    for line in report.to_text().splitlines():
        assert line.isprintable()
    w.tree["header"]["verdict"] = w.tree["assumptions"][0]["text"]
    report = check_certificate(w.data())
    assert not report.accepted
    assert report.to_text().count("\n") == 1
    assert report.to_text().rstrip("\n").isprintable()
