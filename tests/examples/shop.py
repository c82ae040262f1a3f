"""A copy of the example for tests: project, library and a freshly built database."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = ROOT / "examples" / "vip"
LIBRARY: Final = ROOT / "rules" / "customer-value"


def build_database(path: Path) -> None:
    """Run the example's own program."""
    runpy.run_path(str(PROJECT / "make_data.py"))["build"](path)


def copy_shop(folder: Path, database: Path) -> Path:
    """Copy what the repository has to `folder`; give the copied project's folder."""
    ignored = shutil.ignore_patterns("data", ".constat", "__pycache__")
    project = folder / "examples" / "vip"
    shutil.copytree(PROJECT, project, ignore=ignored)
    shipments = folder / "examples" / "shipments"
    shutil.copytree(ROOT / "examples" / "shipments", shipments, ignore=ignored)
    shutil.copytree(LIBRARY, folder / "rules" / "customer-value", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (project / "data").mkdir()
    shutil.copy(database, project / "data" / "shop.sqlite")
    return project
