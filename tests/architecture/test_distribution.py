"""The wheel holds everything that Constat reads at run time."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import PACKAGE, ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    (built,) = folder.glob("constat-*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"constat/py.typed", "constat/check/FORMAT.md"} <= expected
    assert expected - names == set()


def test_the_wheel_holds_no_tests_and_carries_the_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.startswith("tests/")]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_no_link_of_the_page_of_the_package_leads_nowhere(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        page = archive.read(name).decode().partition("\n\n")[2]
    assert page.startswith("# Constat")
    assert [one for one in re.findall(r"\]\(([^)]*)\)", page) if "://" not in one] == []
    # What a link is called is still there.
    assert "docs/server.md" in page
    assert "](docs/server.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_wheel_holds_the_rules_of_memory_and_finds_them(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    names = {path.name for path in (tmp_path / "constat" / "memory" / "rules").glob("*.dl")}
    assert names == {path.name for path in (ROOT / "rules" / "memory").glob("*.dl")}
    assert "view.dl" in names
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from constat.memory.decisions import load_rules, rules_folder; "
        "print(rules_folder()); load_rules()"
    )
    # Isolated, so that the checkout cannot be found in its place.
    ran = subprocess.run(
        [sys.executable, "-I", "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert ran.stdout.strip() == str(tmp_path / "constat" / "memory" / "rules")
