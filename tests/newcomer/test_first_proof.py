"""From the installation of the wheel to a checked proof over one's own data."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests.architecture.sources import ROOT
from tests.docs.consoles import agrees, commands, files
from tests.newcomer.conftest import SECONDS
from tests.servers.test_schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase

_MOST_COMMANDS: Final = 10
_MOST_SECONDS: Final = 300


@pytest.fixture(autouse=True)
def _in_time(installed: Path) -> Iterator[None]:
    """Fail where installation and commands together take a newcomer longer than five minutes."""
    started = time.monotonic()
    yield
    installing = float((installed / SECONDS).read_text(encoding="utf-8"))
    assert installing + time.monotonic() - started <= _MOST_SECONDS


def run(line: str, folder: Path, installed: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell where nothing but the new environment is on the path."""
    path = os.pathsep.join([str(installed), "/usr/local/bin", "/usr/bin", "/bin"])
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "COLUMNS": "100", "LANG": "C.UTF-8", **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("name", ["files.md", "database.md"])
def test_a_tutorial_leads_from_the_wheel_to_a_checked_proof(
    name: str, installed: Path, tmp_path: Path
) -> None:
    page = ROOT / "docs" / "tutorial" / name
    for file, text in files(page):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    typed, last, printed = 1, 0, ""  # The first command is the installation.
    for command in commands(page):
        ran = run(f"(exit {last}); {command.line}", tmp_path, installed)
        last, typed, printed = ran.returncode, typed + 1, ran.stdout
        assert agrees(command.output, printed), f"$ {command.line}\n{printed}"
        if command.line.startswith("constat verify"):
            break
    assert printed.startswith("leaves: ")
    assert typed <= _MOST_COMMANDS


def test_an_address_of_a_server_leads_to_a_checked_proof(
    postgresql: ServedDatabase, installed: Path, tmp_path: Path
) -> None:
    postgresql.run(*TABLES)
    begun = run(f"constat init '{postgresql.uri}'", tmp_path, installed)
    (variable,) = re.findall(r"write `(\w+)=...` into", begun.stdout)
    (goal,) = re.findall(r'next: constat prove "(.*)"', begun.stdout)
    (tmp_path / ".env").write_text(f"{variable}={postgresql.server.password}\n")
    proved = run(f'constat prove "{goal}" --certificate c.json --quiet', tmp_path, installed)
    assert proved.stdout.splitlines()[0] == f"PROVED: {goal}", proved.stdout
    checked = run("constat verify c.json --source | tail -n 1", tmp_path, installed)
    assert re.fullmatch(r"leaves: \d+ read again, 0 changed\n", checked.stdout)


def test_a_frame_leads_to_a_checked_proof(installed: Path, tmp_path: Path) -> None:
    program = """
import pandas
from constat import Session, check_certificate

stock = pandas.DataFrame({"item": ["bolt", "nut"], "left": [3, 40]})
rules = '''
@[says = "{item}: {left} left"]
.decl stock(item: symbol, left: number)
@[says = "{item} has to be ordered"]
.decl to_order(item: symbol)
@[id = LOW] @[says = "{left} of {item} are left, fewer than 10"]
to_order(?item) :- stock(?item, ?left), ?left < 10.
'''
with Session(rules=rules, facts={"stock": stock}) as session:
    result = session.prove("to_order(bolt)")
    report = check_certificate(result.certificate)
    print(result.verdict.label, report.accepted)
"""
    (tmp_path / "order.py").write_text(program, encoding="utf-8")
    ran = run("python order.py", tmp_path, installed)
    assert ran.stdout == "PROVED True\n"
