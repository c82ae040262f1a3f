"""A run that is stopped writes nothing and leaves nothing behind."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from constat.cli.run import command
from tests.run.places import ENGINES, Place, codes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.faults

LONG = """
.decl n(x: number)
.input n
.decl far(x: number, y: number)
far(x, y) :- n(x), n(y), x * 7 + y < 3.
far(x, z) :- far(x, y), far(y, z).
.decl pair(x: number, y: number, z: number)
pair(x, y, z) :- n(x), n(y), n(z), !far(x, y), x + y * z != 12.
.output pair
"""
NUMBERS = "".join(f"{number}\n" for number in range(3000))


def options_of_run(said: str) -> set[str]:
    """Give the options that are named; each is one of `constat run`."""
    named = set(re.findall(r"--[a-z][a-z-]*", said))
    assert named <= {option for one in command.params for option in one.opts}
    return named


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_ends_at_its_timeout(engine: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.fact("n.facts", NUMBERS)
    (tmp_path / "results" / "pair.csv").write_text("old\n", encoding="utf-8")
    ran = place.run(LONG, "--timeout", "0.5", engine=engine)
    assert ran.code == 2
    assert "C0609" in codes(ran)
    assert options_of_run(ran.err) == {"--timeout"}
    assert place.results() == {"pair.csv": "old\n"}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupted_run_says_so_and_writes_nothing(engine: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    program = tmp_path / "program.dl"
    program.write_text(LONG.replace(".input n", ".input n(IO=stdin)"), encoding="utf-8")
    folders = ("-F", str(tmp_path / "facts"), "-D", str(tmp_path / "results"))
    running = subprocess.Popen(
        [sys.executable, "-m", "constat", "run", str(program), *folders, "--engine", engine],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin", "TMPDIR": str(tmp_path)},
    )
    assert running.stdin
    # A pipe holds 64 KiB: once all of this is written, the run is under way.
    running.stdin.write((NUMBERS * 20).encode())
    running.stdin.close()
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    running.stdin = None
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert b"interrupted" in said
    assert b"Traceback" not in said
    assert place.results() == {}
    assert not list(tmp_path.glob("constat-*"))


def test_texts_that_grow_for_ever_end_at_the_memory_that_is_allowed(tmp_path: Path) -> None:
    growing = ".type L = [h: number, t: L]\n.decl l(x: L)\nl(nil).\nl([1, x]) :- l(x).\n.output l\n"
    ran = Place(tmp_path).run(growing, "--memory", "70MB")
    assert ran.code == 2
    assert "C0609" in codes(ran)
    assert "the limit of 70 MB of long texts was reached" in ran.err
    assert options_of_run(ran.err) == {"--memory"}
