"""An empty environment in which nothing but the built wheel, and what it asks for, is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests import extras
from tests.architecture.sources import ROOT
from tests.servers.conftest import postgresql, postgresql_server

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["installed", "postgresql", "postgresql_server"]

SECONDS: Final = "installed.seconds"
"""The file that says how long the installation took."""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of programs of a new environment, without this checkout."""
    extras.need("newcomer")
    folder = tmp_path_factory.mktemp("newcomer")
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)])
    (wheel,) = folder.glob("constat-*.whl")
    _run([sys.executable, "-m", "venv", str(folder / "own")])
    python = folder / "own" / "bin" / "python"
    wanted = f"{wheel}[postgresql,server]"
    uv = shutil.which("uv", path=os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ["PATH"]]))
    by = [uv] if uv else [str(python), "-m"]
    where = ["--python", str(python)] if uv else []
    install = [*by, "pip", "install", "--quiet", *where, wanted]
    started = time.monotonic()
    installing = subprocess.run(install, capture_output=True, text=True, check=False)
    (python.parent / SECONDS).write_text(str(time.monotonic() - started), encoding="utf-8")
    if installing.returncode:
        pytest.skip("the wheel's requirements cannot be installed: there is no package index")
    return python.parent


def _run(command: list[str]) -> None:
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
