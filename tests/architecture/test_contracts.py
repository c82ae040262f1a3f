"""The import contracts of pyproject.toml hold, and they can fail."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.architecture.sources import PACKAGE, ROOT, configuration, imports, sources

if TYPE_CHECKING:
    from pathlib import Path

LAYERS = "Packages import downward only"
CHECKER_CONTRACT = "Only cli, recount and session use the checker"
RECOUNT_CONTRACT = "What counts again shares nothing with what counted"
CORE_CONTRACT = "The language core knows no database, network, model or command line"

CORE = (
    "analysis",
    "check",
    "diagnostics",
    "engine",
    "evaluation",
    "logic",
    "plan",
    "syntax",
)


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command as main; main()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_import_contracts_hold() -> None:
    outcome = lint_imports(ROOT)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def contract(name: str) -> dict[str, Any]:
    contracts = configuration()["tool"]["importlinter"]["contracts"]
    return next(contract for contract in contracts if contract["name"] == name)


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """Make a project with every package of the contracts, all of them empty."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in re.findall(r"\w+", " ".join(contract(LAYERS)["layers"])):
        folder = tmp_path / "constat" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (tmp_path / "constat" / "__init__.py").touch()
    return tmp_path


def test_the_contracts_accept_packages_that_import_downward(skeleton: Path) -> None:
    text = "import constat.check\nimport constat.tiers\nimport click\n"
    (skeleton / "constat" / "cli" / "show.py").write_text(text, encoding="utf-8")
    outcome = lint_imports(skeleton)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("package", "line", "broken"),
    [
        ("logic", "import constat.cli\n", LAYERS),
        ("engine", "import constat.tiers\n", LAYERS),
        ("check", "import constat.diagnostics\n", LAYERS),
        ("proof", "import constat.check\n", CHECKER_CONTRACT),
        ("recount", "import constat.plan\n", RECOUNT_CONTRACT),
        ("recount", "import constat.columnar\n", RECOUNT_CONTRACT),
        ("engine", "def late():\n    import sqlite3\n", CORE_CONTRACT),
        ("surprise", "", LAYERS),
    ],
)
def test_the_contracts_reject(skeleton: Path, package: str, line: str, broken: str) -> None:
    folder = skeleton / "constat" / package
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / "zz_added.py").write_text(line, encoding="utf-8")
    outcome = lint_imports(skeleton)
    assert outcome.returncode != 0
    assert f"{broken} BROKEN" in outcome.stdout


def test_every_package_is_named_in_the_contracts_that_concern_it() -> None:
    built = [name for name in CORE if (PACKAGE / name / "__init__.py").exists()]
    assert contract(CORE_CONTRACT)["source_modules"] == [f"constat.{name}" for name in built]
    users = [
        name for name in ("cli", "recount", "session") if (PACKAGE / name / "__init__.py").exists()
    ]
    assert contract(CHECKER_CONTRACT)["allowed_importers"] == [f"constat.{n}" for n in users]
    assert contract(CHECKER_CONTRACT)["protected_modules"] == ["constat.check"]


def test_a_layer_in_parentheses_is_one_that_is_not_built_yet() -> None:
    optional = re.findall(r"\((\w+)\)", " ".join(contract(LAYERS)["layers"]))
    built = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert [name for name in optional if name in built] == []


def test_only_cli_recount_and_session_import_the_checker() -> None:
    # Said a second time without the linter: the independence of the checker is the product.
    # `constat` itself has lazy names of it, for types only.
    users = {
        source.name.split(".")[1]
        for source in sources()
        if "." in source.name
        for imported in imports(source)
        if imported.module.startswith("constat.check")
        or (imported.module == "constat" and imported.symbol == "check")
    }
    assert users <= {"cli", "session", "check", "recount"}
