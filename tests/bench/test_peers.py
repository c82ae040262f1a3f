"""The comparison with other engines, on small inputs: the same answers, and honest outcomes."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.peers import report
from tests.bench.peers.__main__ import main
from tests.bench.peers.comparing import Result, compare
from tests.bench.peers.engines import Engine, engines
from tests.bench.peers.generate import Size, write
from tests.bench.peers.running import Run, answers_of, run
from tests.bench.peers.scaling import Curve, rules
from tests.bench.peers.shapes import SHAPES
from tests.bench.peers.workloads import PROGRAMS, WORKLOADS

_LATER = ("w5", "w7", "w8", *(one for one in SHAPES if one not in {"kin", "near", "lists"}))


@pytest.mark.parametrize(
    "workload",
    [
        "w1",
        *(pytest.param(one, marks=pytest.mark.laws) for one in ("kin", "near")),
        *(pytest.param(one, marks=pytest.mark.slow) for one in _LATER),
    ],
)
def test_engines_agree_on_small_inputs(workload: str, tmp_path: Path) -> None:
    write(workload, tmp_path, Size.SMALL)
    (tmp_path / "answers").mkdir()
    chosen = [one for one in engines() if one.name in {"constat", "duckdb, SQL by hand", "clingo"}]
    results = list(compare(chosen, {workload: tmp_path}, 1, {}, lambda _: None))
    assert {one.outcome for one in results} <= {"", "cannot"}, [
        one.runs[-1].said for one in results
    ]
    assert next(one.engine for one in results if not one.outcome) == "constat"
    assert sum(not one.outcome for one in results) >= 2


def test_an_engine_that_answers_wrongly_is_told_apart(tmp_path: Path) -> None:
    right = Engine("right", lambda *_: [sys.executable, "-c", "print('path\\t3')"])
    wrong = Engine("wrong", lambda *_: [sys.executable, "-c", "print('path\\t4')"])
    silent = Engine("silent", lambda *_: [sys.executable, "-c", ""])
    broken = Engine("broken", lambda *_: [sys.executable, "-c", "raise SystemExit(5)"])
    unable = Engine("unable", lambda *_: [sys.executable, "-c", "raise SystemExit(78)"])
    chosen = [right, wrong, silent, broken, unable]
    results = compare(chosen, {"w1": tmp_path}, 2, {}, lambda _: {"path": 3})
    assert [one.outcome for one in results] == ["", "wrong", "wrong", "failed", "cannot"]


def test_a_run_that_takes_too_long_is_ended() -> None:
    one = run([sys.executable, "-c", "import time; time.sleep(60)"], 0.3, {})
    assert one.outcome == "time"


def test_memory_and_processor_time_are_those_of_the_process() -> None:
    hungry = "x = b'x' * 200_000_000; sum(range(2_000_000))"
    one = run([sys.executable, "-c", hungry], 30, {})
    assert not one.outcome
    assert 190 < one.memory < 400
    assert one.processor > 0


def test_only_lines_of_a_name_and_a_count_are_answers() -> None:
    assert answers_of("path\t12\n---\nx y\nname\tnorth\n") == {"path": 12}


def test_the_table_says_what_did_not_end() -> None:
    ended = Run("", 1.5, 2.0, 100.0, {"path": 1})
    table = report.table(
        [Result("a", "w1", "", (ended,)), Result("b", "w1", "time", (ended,))],
    )
    assert table.splitlines()[2:] == [
        "| a | **1.50** (1.50-1.50) s, cpu 2.00 s, 100 MiB |",
        "| b | too long |",
    ]


@pytest.mark.laws
def test_the_plot_is_drawn_where_it_can_be(tmp_path: Path) -> None:
    ended = Run("", 1.5, 2.0, 100.0, {"path": 1})
    one = Result("a", "w1", "", (ended, replace(ended, clock=2.5)))
    late = Result("a", "w1", "time", (ended,))
    curve = Curve("data of w4", (("x1", 1.0, one), ("x4", 4.0, late)))
    drawn = report.plot([one], [curve], tmp_path / "plot.svg")
    assert drawn == (importlib.util.find_spec("matplotlib") is not None)
    assert (tmp_path / "plot.svg").exists() == drawn
    if drawn:
        text = (tmp_path / "plot.svg").read_text(encoding="utf-8")
        assert text.startswith("<?xml")
        report.plot([one], [curve], tmp_path / "again.svg")
        assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text
    assert report.curve(curve).splitlines()[2:] == [
        "| x1 | 2.00 s | 1.50-2.50 | 2.00 s | 100 MiB |",
        "| x4 | too long | | | |",
    ]


@pytest.mark.slow
def test_the_whole_comparison_runs_on_small_inputs(tmp_path: Path) -> None:
    chosen = ["--engines", "constat", "duckdb, SQL by hand"]
    given = ["w1", "w8", "--quick", "--curves", "--output", str(tmp_path), *chosen]
    assert main(given) == 0
    text = (tmp_path / "peers.md").read_text(encoding="utf-8")
    assert "| constat | **" in text
    for title in ("data of w4", "data of w5", "cores of w2", "cores of w7", "rules over 100 rows"):
        assert f"| {title} | median | spread | processor | memory |" in text


def test_inputs_are_the_same_each_time(tmp_path: Path) -> None:
    for place in ("one", "two"):
        write("w8", tmp_path / place, Size.SMALL)
    texts = [(tmp_path / place / "own.facts").read_bytes() for place in ("one", "two")]
    assert texts[0] == texts[1] != b""


def test_generated_rules_are_a_program() -> None:
    assert rules(3).count(":-") == 3
    assert "!r1(b, a)" in rules(3)


def test_workloads_have_their_programs() -> None:
    assert all(one.program(PROGRAMS).exists() for name, one in WORKLOADS.items() if name != "rules")
