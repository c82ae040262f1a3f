"""Which engine computes where nobody names one: row by row where little is to do, else in bulk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.run.places import Place, codes

REACH = """.decl edge(x: number, y: number)
.decl reach(x: number, y: number)
.input edge
.output reach
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), edge(y, z).
"""


def _engine(place: Place, program: str, *options: str) -> str:
    ran = place.run(program, "--format", "json", *options, engine="auto")
    assert ran.code == 0, ran.err
    return str(json.loads(ran.out)["engine"])


def _chain(edges: int) -> str:
    return "".join(f"{one}\t{one + 1}\n" for one in range(edges))


@pytest.mark.parametrize(
    ("edges", "engine"),
    [(20, "reference"), (90, "forward"), (9_000, "forward")],
    ids=["small", "few rows that give many", "a large file"],
)
def test_what_is_small_is_computed_row_by_row(edges: int, engine: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    program = (
        REACH if edges < 1_000 else REACH.replace("reach(x, z) :- reach(x, y), edge(y, z).", "")
    )
    place.fact("edge.facts", _chain(edges))
    assert _engine(place, program) == engine
    written = place.results()
    assert place.run(program, engine="forward").code == 0
    assert place.results() == written


@pytest.mark.parametrize("options", [("--check", "always"), ("--strategy", "loop")])
def test_what_is_about_bulk_is_computed_in_bulk(options: tuple[str, str], tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.fact("edge.facts", _chain(3))
    assert _engine(place, REACH, *options) == "forward"


def test_the_standard_input_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "program.dl"
    path.write_text(REACH.replace(".input edge", ".input edge(IO=stdin)"), encoding="utf-8")
    command = [sys.executable, "-m", "constat", "run", str(path), "-D", str(tmp_path)]
    ran = subprocess.run(
        [*command, "--format", "json"], input=_chain(3), capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout)["engine"] == "forward"
    assert len((tmp_path / "reach.csv").read_text().splitlines()) == 6


def test_a_mistake_of_a_small_program_is_told_once(tmp_path: Path) -> None:
    place = Place(tmp_path)
    program = ".decl n(x: number)\n.decl m(x: number)\n.output m\nn(0). n(2).\nm(1 / x) :- n(x).\n"
    told = [place.run(program, engine=one) for one in ("auto", "forward")]
    assert [(one.code, codes(one)) for one in told] == [(2, ["C0608"])] * 2
    assert told[0].err == told[1].err
    assert place.results() == {}


def test_a_small_run_loads_no_library_that_computes_in_bulk(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.fact("edge.facts", _chain(3))
    path = tmp_path / "program.dl"
    path.write_text(REACH, encoding="utf-8")
    told = "import sys; from constat.cli import main; main(sys.argv[1:]); "
    loaded = "print([m for m in ('numpy', 'duckdb', 'sqlglot', 'pandas') if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", told + loaded, "run", path, "-F", tmp_path / "facts", "-D-"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == "[]"
