"""More data than memory: strategies that keep all of it give way to one that spills."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import MemoryNeededError, Resources
from constat.forward import Options, Rows, evaluate
from constat.plan.forward import Strategy
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Row

REACH = """
.decl edge(a: number, b: number)
.input edge
.decl r(a: number)
r(0).
r(?b) :- r(?a), edge(?a, ?b).
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""
EDGES: list[Row] = [(node, node + 1) for node in range(40)]
HUB: list[Row] = [
    *((node, 0) for node in range(1, 301)),
    *((0, node) for node in range(1001, 1301)),
]


def computed(
    goal: str, edges: list[Row], resources: Resources, strategy: Strategy | None
) -> tuple[int, str, list[str]]:
    found = program(REACH)
    options = Options(resources, strategy=strategy)
    wanted = [parse_goal(goal, found.program)]
    with evaluate(found, wanted, {"edge": Rows(edges)}, options) as results:
        report = results.reports[-1]
        return results.count(0), report.strategy, [why for _, why in report.tried]


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (Strategy.CTE, "joins in each round"),
        (Strategy.RUNS, "its arrays would need"),
        (Strategy.BITMAP, "its arrays would need"),
    ],
)
def test_what_needs_more_than_the_memory_gives_way_to_rounds_of_statements(
    strategy: Strategy, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = Resources(seconds=60, memory=256 << 20, threads=1, scratch=tmp_path)
    assert computed("path(?a, ?b)", EDGES, resources, strategy) == (820, strategy.value, [])
    # Each row is made to look as large as if there were millions of them.
    for module, name in (("sql.stages", "_ENTRY"), ("forward.stages", "_BYTES")):
        monkeypatch.setattr(importlib.import_module(f"constat.{module}"), name, 100 << 20)
    count, by, tried = computed("path(?a, ?b)", EDGES, resources, strategy)
    assert (count, by) == (820, Strategy.LOOP.value)
    assert reason in tried[0]
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_to_spill_into_it_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.import_module("constat.forward.stages"), "_BYTES", 100 << 20)
    resources = Resources(seconds=60, memory=256 << 20, threads=1)
    with pytest.raises(MemoryNeededError, match=r"would need 8,000 MB of 256 MB") as caught:
        computed("path(?a, ?b)", EDGES, resources, Strategy.RUNS)
    assert caught.value.__notes__[0].startswith("0 of ")


@pytest.mark.parametrize(
    "strategy", [Strategy.CTE, Strategy.LOOP, Strategy.RUNS, Strategy.BITMAP, None]
)
def test_a_node_that_everything_goes_through_costs_no_more_than_its_pairs(
    strategy: Strategy | None,
) -> None:
    resources = Resources(seconds=60, memory=128 << 20, threads=1)
    count, by, tried = computed("path(?a, ?b)", HUB, resources, strategy)
    assert count == 300 * 300 + 600
    assert tried == []
    assert strategy is None or by == strategy.value


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy", ["auto", *(one.value for one in (Strategy.CTE, Strategy.RUNS))]
)
def test_a_large_join_in_a_recursion_spills_and_ends(strategy: str, tmp_path: Path) -> None:
    # A process of its own: DuckDB 2.0.0 ends the process where a join inside of a recursive
    # expression spills.
    rows = 3_300_000
    facts = tmp_path / "edge.facts"
    with facts.open("w", encoding="ascii") as out:
        out.writelines(f"{(node - 1) // 2}\t{node}\n" for node in range(1, rows))
    text = REACH.partition(".decl path")[0] + ".printsize r\n"
    (tmp_path / "reach.dl").write_text(f'.pragma "constat" "0.1"\n{text}', encoding="utf-8")
    words = ["run", "reach.dl", "-F", ".", "-D", ".", "--memory", "64MB", "--format", "json"]
    words += [] if strategy == "auto" else ["--strategy", strategy]
    ran = subprocess.run(
        [sys.executable, "-m", "constat", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-500:]
    assert json.loads(ran.stdout)["results"][0]["rows"] == rows


FULL = """
    import resource, sys
    from pathlib import Path
    from constat.evaluation import ResourceError, Resources
    from tests.forward.test_bounds import MANY, PAIRS
    from constat.forward import Options, evaluate
    from constat.syntax import parse_goal
    from tests.language.worlds_of_text import program

    scratch = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, resource.RLIM_INFINITY))
    found = program(PAIRS)
    options = Options(Resources(seconds=60, memory=64 << 20, threads=1, scratch=scratch))
    try:
        evaluate(found, [parse_goal("pair(?a, ?b, ?c)", found.program)], {"e": MANY}, options)
    except ResourceError as problem:
        print(problem)
    print(list(scratch.iterdir()))
"""


@pytest.mark.slow
def test_a_file_system_that_takes_no_more_is_a_clear_error(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.splitlines() == [
        "the disk space for intermediate results is used up",
        "[]",
    ], ran.stderr[-500:]
