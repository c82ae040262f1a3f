"""Results of a run are counted again before they are written."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from constat.plan.forward import planning
from tests.run.places import Place, codes
from tests.session.test_row_checks import LiteralsOnly

if TYPE_CHECKING:
    from pathlib import Path

PATHS = """
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(a, b) :- edge(a, b).
path(a, c) :- path(a, b), edge(b, c).
.decl ends(a: number)
ends(a) :- path(_, a), !edge(a, _).
.output path
.printsize ends
"""
# Two rules that a planner once let share a relation which neither of them may.
SHARED = """
.decl w(a: number, f: float)
.decl v(a: number)
.decl s(x: number)
.decl p(x: number)
w(1, 1.5).
v(2).
s(5).
p(x) :- s(x).
p(b + 10) :- p(b), p(c), w(a, f), b < 7, c < 7.
p(b + 100) :- p(b), p(c), w(a, f), v(a), b < 7, c < 7.
.output p
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path)
    found.fact("edge.facts", "1\t2\n2\t3\n3\t1\n3\t4\n2\t3\n")
    return found


def test_a_run_says_what_was_counted_again(place: Place) -> None:
    ran = place.run(PATHS, "--check", "always", "-w", engine="forward")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        "path: counted again from the rules, it is the same",
        "ends: counted again from the rules, it is the same",
    ]
    assert len(place.results()["path.csv"].splitlines()) == 12
    assert place.run(PATHS, "-w", engine="forward").err == ""


def test_json_says_it_too(place: Place) -> None:
    told = place.run(PATHS, "--check", "always", "--format", "json", engine="forward").json
    assert told["checks"] == [
        {"relation": "path", "state": "passed", "why": ""},
        {"relation": "ends", "state": "passed", "why": ""},
    ]
    assert place.run(PATHS, "--format", "json", engine="forward").json["checks"] == []


def test_what_came_by_the_standard_input_cannot_be_read_again(tmp_path: Path) -> None:
    program = tmp_path / "program.dl"
    program.write_text(PATHS.replace(".input edge", ".input edge(IO=stdin)"), encoding="utf-8")
    command = [sys.executable, "-m", "constat", "run", str(program), "-D-", "--check", "always"]
    ran = subprocess.run(command, input="1\t2\n", capture_output=True, text=True, check=False)
    assert (ran.returncode, "ends\t1" in ran.stdout) == (0, True)
    assert "path: not checked: nobody gives the rows of edge" in ran.stderr


def test_a_function_of_machine_words_has_no_clause(place: Place) -> None:
    text = PATHS + "path(a + 1, a) :- edge(a, _), a > 9.\n"
    ran = place.run(text, "--check", "always", engine="forward")
    assert "path: not checked: the function" in ran.err


def test_a_result_that_does_not_follow_is_not_written(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "Cut", LiteralsOnly)
    text = SHARED.replace("b + 10)", "c0)").replace("b + 100)", "c1)")
    text = (
        text.replace(".output p", "").replace("c0)", "15)").replace("c1)", "105)") + ".output p\n"
    )
    assert place.run(text, engine="forward").code == 0
    wrong = place.results()
    assert sorted(map(int, wrong["p.csv"].split())) == [5, 15, 105]
    ran = place.run(text, "--check", "always", engine="forward")
    assert (ran.code, codes(ran)) == (7, ["C0616"])
    assert "counted again from the rules 1 row does not follow" in ran.err
    assert place.results() == wrong
    # Once it is written it is taken back by what is said of it, and by the exit code.
    (place.folder / "results" / "p.csv").unlink()
    ran = place.run(text, "--check", "background", engine="forward")
    assert (ran.code, codes(ran)) == (7, ["C0616"])
    assert "the files were written before it was counted again, and none of them counts" in ran.err
    assert place.results() == wrong


def test_a_run_is_checked_once_it_is_written(place: Place) -> None:
    ran = place.run(PATHS, "--check", "background", "-w", engine="forward")
    assert ran.code == 0
    assert "path: counted again from the rules, it is the same\n" in ran.err
    assert len(place.results()["path.csv"].splitlines()) == 12
    assert place.run(PATHS, "--check", "background", engine="reference").code == 0


STRICT = """
.pragma "constat" "0.1"
.decl w(a: number, f: float)
.decl v(a: number)
.decl s(x: number)
.decl p(x: number)
w(1, 1.5).
v(2).
s(5).
p(?x) :- s(?x).
p(?b + 10) :- p(?b), p(?c), w(?a, ?f), ?f > 1.0, ?a > 0, ?b < 7, ?c < 7.
p(?b + 100) :- p(?b), p(?c), w(?a, ?f), ?f > 1.0, ?a > 0, v(?a), ?b < 7, ?c < 7.
.output p
"""


def test_the_defect_of_shared_projections_is_noticed_when_it_is_put_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What two rules shared was known by its literals alone, so one took the other's columns."""
    assert place.run(STRICT, "--check", "always", engine="forward").code == 0
    right = place.results()["p.csv"]
    assert place.run(STRICT).code == 0
    assert place.results()["p.csv"] == right == "5\n15\n"
    monkeypatch.setattr(planning, "Cut", LiteralsOnly)
    assert place.run(STRICT, engine="forward").code == 0
    # It is back: bulk evaluation gives a row that does not follow.
    assert place.results()["p.csv"] == "5\n15\n105\n"
    ran = place.run(STRICT, "--check", "always", engine="forward")
    assert (ran.code, codes(ran)) == (7, ["C0616"])
    assert "counted again from the rules 1 row does not follow" in ran.err
