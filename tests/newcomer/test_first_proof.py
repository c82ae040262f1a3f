"""From the installation of the wheel to a checked proof over one's own data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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


class Newcomer:
    """Somebody who has typed `pip install` and goes on in an empty folder."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.folder, self.installed, self.typed = folder, installed, 1

    def types(self, line: str, last: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a line of a shell where nothing but the new environment is on the path."""
        self.typed += 1
        path = os.pathsep.join([str(self.installed), "/usr/local/bin", "/usr/bin", "/bin"])
        home = str(self.folder)
        return subprocess.run(
            ["bash", "-c", f"(exit {last}); {line}"],
            cwd=self.folder,
            env={"PATH": path, "HOME": home, "COLUMNS": "100", "LANG": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture
def newcomer(installed: Path, tmp_path: Path) -> Iterator[Newcomer]:
    """Fail where it takes more than ten commands; how long they took is printed only."""
    started = time.monotonic()
    one = Newcomer(tmp_path, installed)
    yield one
    installing = float((installed / SECONDS).read_text(encoding="utf-8"))
    sys.stdout.write(f"{one.typed} commands, {installing + time.monotonic() - started:.0f} s\n")
    assert 1 < one.typed <= _MOST_COMMANDS


@pytest.mark.parametrize("name", ["files.md", "database.md"])
def test_a_tutorial_leads_from_the_wheel_to_a_checked_proof(name: str, newcomer: Newcomer) -> None:
    page = ROOT / "docs" / "tutorial" / name
    for file, text in files(page):
        (newcomer.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (newcomer.folder / file).write_text(text, encoding="utf-8")
    last, printed = 0, ""
    for command in commands(page):
        ran = newcomer.types(command.line, last)
        last, printed = ran.returncode, ran.stdout
        assert agrees(command.output, printed), f"$ {command.line}\n{printed}"
        if command.line.startswith("constat verify"):
            break
    assert printed.startswith("leaves: ")


def test_an_address_of_a_server_leads_to_a_checked_proof(
    postgresql: ServedDatabase, newcomer: Newcomer
) -> None:
    postgresql.run(*TABLES)
    begun = newcomer.types(f"constat init '{postgresql.uri}'")
    (variable,) = re.findall(r"write `(\w+)=...` into", begun.stdout)
    (goal,) = re.findall(r'next: constat prove "(.*)"', begun.stdout)
    newcomer.types(f"echo '{variable}={postgresql.server.password}' > .env")
    proved = newcomer.types(f'constat prove "{goal}" --certificate c.json --quiet')
    assert proved.stdout.splitlines()[0] == f"PROVED: {goal}", proved.stdout
    checked = newcomer.types("constat verify c.json --source | tail -n 1")
    assert re.fullmatch(r"leaves: \d+ read again, 0 changed\n", checked.stdout)


def test_a_frame_leads_to_a_checked_proof(newcomer: Newcomer) -> None:
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
    (newcomer.folder / "order.py").write_text(program, encoding="utf-8")
    ran = newcomer.types("python order.py")
    assert ran.stdout == "PROVED True\n"
