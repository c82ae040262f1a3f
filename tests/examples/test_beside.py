"""Other tools answer as their page says, each where it is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from tests.docs.consoles import agrees, commands
from tests.examples.projects import ROOT

BESIDE: Final = ROOT / ".venv" / "beside"
FOLDER: Final = ROOT / "examples" / "beside"
TOOLS: Final = MappingProxyType(
    {
        "OPA": "opa",
        "Great Expectations": "great_expectations",
        "Drools": "drools_jpy",
        "Two negations": "",
    }
)
"""The sections of the page that have commands, and the packages that these need beside ours."""


def sections() -> dict[str, str]:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE))


def test_each_command_of_the_page_is_under_a_tool_that_is_tried() -> None:
    shown = {name for name, text in sections().items() if "```console" in text}
    assert shown == set(TOOLS)


@pytest.mark.examples
@pytest.mark.parametrize("name", list(TOOLS))
def test_a_tool_answers_as_the_page_says(name: str, tmp_path: Path) -> None:
    if TOOLS[name] and not (BESIDE / f"{TOOLS[name]}.stamp").exists():
        pytest.skip(f"{TOOLS[name]} is not there; `make beside` fetches it")
    if name == "Drools" and shutil.which("javac") is None:
        pytest.skip("no development kit of Java is there")
    folder = tmp_path / "beside"
    shutil.copytree(FOLDER, folder)
    page = tmp_path / "page.md"
    page.write_text(sections()[name], encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    typed = commands(page)
    assert typed
    for command in typed:
        ran = subprocess.run(
            ["bash", "-c", command.line],
            cwd=folder,
            env={**os.environ, "BESIDE": str(BESIDE), "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout
        assert agrees(command.output, ran.stdout), ran.stdout
