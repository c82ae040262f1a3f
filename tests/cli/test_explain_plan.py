"""`constat explain-plan` says how answers in bulk are computed, in three forms."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.running import run

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
REACH = (ROOT / "examples/reach/reach.dl", "--facts", ROOT / "examples/reach/facts")
VIP = ("--project", ROOT / "examples/vip")
TIMES = re.compile(r"[0-9.]+ (?:ms|s)\b")
SIZES = re.compile(r", [0-9.]+ (?:bytes|[KMG]iB)$", re.MULTILINE)


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


CASES = {
    "program.txt": REACH,
    "program.dot": (*REACH, "--format", "dot"),
    "program.json": (*REACH, "--format", "json"),
    "goal.txt": ("is_vip(?c)", *VIP),
    "constant.txt": ("controls(C001, ?b)", *VIP),
    "without_demands.txt": ("controls(C001, ?b)", "--no-magic", *VIP),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_shown_as_before(name: str) -> None:
    ran = run("explain-plan", *CASES[name])
    assert (ran.code, ran.err) == (0, "")
    golden(f"explain_plan_{name}", ran.out.replace(str(ROOT), "."))


@pytest.mark.parametrize("strategy", ["cte", "loop", "bitmap", "runs", "reference"])
def test_an_analyzed_plan_counts_the_rows(strategy: str) -> None:
    ran = run("explain-plan", *REACH, "--analyze", "--strategy", strategy)
    assert ran.code == 0
    assert f"  by {strategy}: " in ran.out
    assert "counted 13 rows" in ran.out
    assert "computed in" in ran.out


def test_an_analyzed_goal_has_figures_of_its_steps() -> None:
    ran = run("explain-plan", "is_vip(?c)", "--analyze", *VIP)
    text = SIZES.sub("", TIMES.sub("some time", ran.out))
    golden("explain_plan_analyzed.txt", text)


def test_a_goal_that_is_open_says_who_answers_it() -> None:
    ran = run("explain-plan", "is_strategic(?c)", "--analyze", *VIP)
    assert ran.code == 0
    assert "by the reference engine: what it rests on is open" in ran.out


def test_a_program_that_wants_nothing_has_no_plan(tmp_path: Path) -> None:
    file = tmp_path / "nothing.dl"
    file.write_text(".decl e(x: number)\n.input e\n", encoding="utf-8")
    ran = run("explain-plan", file)
    assert (ran.code, ran.out) == (2, "")
    assert "C0615" in ran.err


def test_mistakes_are_shown_where_they_are(tmp_path: Path) -> None:
    file = tmp_path / "wrong.dl"
    file.write_text('.pragma "constat" "0.1"\n.decl p(x: number)\np(?x) :- q(?x).\n.output p\n')
    ran = run("explain-plan", file)
    assert ran.code == 2
    assert "q(?x)" in ran.err
    assert run("explain-plan", "no_such_predicate(?x)", *VIP).code == 2
    assert run("explain-plan", tmp_path / "missing.dl").code == 2


def test_a_plan_that_takes_too_long_is_stopped() -> None:
    ran = run("explain-plan", *REACH, "--analyze", "--timeout", "0.000001")
    assert (ran.code, ran.out) == (2, "")
    assert "C0640" in ran.err


def test_names_cannot_break_out_of_the_graph(tmp_path: Path) -> None:
    file = tmp_path / "quotes.dl"
    file.write_text('.pragma "constat" "0.1"\n.decl p(x: symbol)\np("a\\"b").\n.output p\n')
    ran = run("explain-plan", file, "--format", "dot")
    assert ran.code == 0
    assert ran.out.count('"') % 2 == 0


def test_a_program_is_read_as_a_run_reads_it(tmp_path: Path) -> None:
    (tmp_path / "e.facts").write_text("3000000000\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "rules.dl").write_text(".decl e(x: number)\n.input e\n")
    program = (
        '.include "rules.dl"\n.output e\n.decl big(x: number)\nbig(3000000000).\n.output big\n'
    )
    options = ("--facts", tmp_path, "--include", tmp_path / "inner", "--analyze")
    strict, plain = tmp_path / "strict.dl", tmp_path / "plain.dl"
    strict.write_text('.pragma "constat" "0.1"\n' + program)
    plain.write_text(program)
    assert run("explain-plan", strict, *options).code == 0
    assert "C0611" in run("explain-plan", plain, *options).err
    assert run("explain-plan", plain, *options, "--word-size", "64").code == 0


def test_a_graph_says_which_rows_were_counted_by_nobody() -> None:
    ran = run("explain-plan", "is_vip(?c)", "--format", "dot", *VIP)
    assert r'"placed_order" [shape=box, label="placed_order\nrows not counted"]' in ran.out
