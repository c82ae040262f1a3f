"""`--profile` of `run` and `query`: what each rule took, as a table, an object or a flame graph."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from constat.cli.explain_plan import Frame, folded_lines, frames_of, rules_of, svg_lines
from constat.evaluation import StageReport, ignore_event
from constat.plan.forward import Strategy
from constat.session.plan_explaining import (
    ExplainedPlan,
    PlanQuestion,
    ProgramFile,
    analyze_program,
)
from tests.cli.running import run

ROOT = Path(__file__).parents[2]
REACH = (ROOT / "examples/reach/reach.dl", "--facts", ROOT / "examples/reach/facts")
VIP = ("--project", ROOT / "examples/vip")
SVG = "{http://www.w3.org/2000/svg}"
TIME = r"[0-9.]+ (?:ms|s)"


def reach(strategy: Strategy | None = None) -> ExplainedPlan:
    folder = ROOT / "examples/reach"
    file = ProgramFile(folder / "reach.dl", folder / "facts")
    return analyze_program(file, PlanQuestion(strategy), {}, ignore_event)


def timed(explained: ExplainedPlan, stage: float, rules: tuple[float, ...]) -> ExplainedPlan:
    """Give the first stage other times."""
    assert explained.reports is not None
    first, *others = explained.reports
    pipelines = [
        replace(one, seconds=took) for one, took in zip(first.pipelines, rules, strict=True)
    ]
    changed = replace(first, seconds=stage, pipelines=tuple(pipelines))
    rest = [replace(one, seconds=1.0) for one in others]
    return replace(explained, seconds=20.0, reports=(changed, *rest))


@pytest.mark.parametrize("strategy", ["cte", "loop", "bitmap", "runs"])
def test_a_run_tells_rows_and_estimates_of_each_rule_and_step(strategy: str) -> None:
    told = run("run", *REACH, "--profile", "--strategy", strategy, "--format", "json").json
    rules = {one["rule"]: one for one in told["rules"]}
    assert set(rules) == {"reach.1", "reach.2", "departures.1"}
    assert [step["rows"] for step in rules["reach.2"]["steps"]] == [13, 11, 8]
    assert rules["reach.2"]["rows"] == 8
    assert rules["reach.1"]["estimated_rows"] == 5
    assert all(one["seconds"] > 0 for one in told["rules"])
    for stage in told["stages"]:
        parts = [one["seconds"] for one in told["rules"] if one["stage"] == stage["number"]]
        assert sum(parts) == pytest.approx(stage["seconds"], abs=1e-5)
    assert sum(stage["seconds"] for stage in told["stages"]) <= told["seconds"]


def test_the_slowest_rule_is_first_and_a_stage_is_divided_among_its_rules() -> None:
    found = rules_of(timed(reach(Strategy.LOOP), 8.0, (0.1, 0.3)))
    assert [one.rule for one in found] == ["reach.2", "reach.1", "departures.1"]
    assert [one.seconds for one in found] == pytest.approx([6.0, 2.0, 1.0])


def test_rules_without_a_time_of_their_own_are_last_and_have_none() -> None:
    found = rules_of(timed(reach(Strategy.LOOP), 8.0, (0.0, 0.0)))
    assert [(one.rule, one.seconds) for one in found] == [
        ("departures.1", 1.0),
        ("reach.1", None),
        ("reach.2", None),
    ]
    by_reference = run("run", *REACH, "--profile", "--strategy", "reference").out
    assert re.search(r"^ +- +- +- +5 +reach\.1, stage 1 by reference$", by_reference, re.MULTILINE)


def test_a_query_shows_where_the_estimates_were_wrong() -> None:
    ran = run("query", "is_vip(?c)", "--profile", *VIP)
    assert (ran.code, ran.err) == (0, "")
    rule = rf"^ *{TIME} +\d+% +11 +148 +13x fewer  VIP1, stage 2 by statement$"
    assert re.search(rule, ran.out, re.MULTILINE)
    assert "18x fewer    keep ?total > ?threshold" in ran.out
    assert re.search(rf"^stage 2, is_vip: {TIME}, 42 rows$", ran.out, re.MULTILINE)
    assert "640          640               REV1" in ran.out


def test_a_goal_that_is_open_says_who_answers_it() -> None:
    ran = run("query", "is_strategic(?c)", "--profile", *VIP)
    assert "result is_strategic(?c) by the reference engine" in ran.out
    told = run("query", "is_strategic(?c)", "--profile", "--format", "json", *VIP).json
    assert told["open"] == ["is_strategic(?c)"]
    assert told["left"]
    form = run("schema", "query", "profile").json
    jsonschema.Draft202012Validator(form).validate(told)


def test_a_flame_graph_is_a_picture_of_all_rules(tmp_path: Path) -> None:
    file = tmp_path / "reach.svg"
    ran = run("run", *REACH, "--profile", file)
    assert ran.code == 0
    assert f"flame graph written to {file}" in ran.err
    titles = [str(one.text) for one in ET.parse(file).iter(f"{SVG}title")]  # noqa: S314  made here
    for words in ("stage 1: reach by", "rule reach.2", "keep ?x != ?z: 8 rows, about 9 expected"):
        assert any(words in one for one in titles), words


def test_frames_are_as_wide_as_their_time_and_lie_above_their_whole() -> None:
    whole = frames_of(timed(reach(Strategy.LOOP), 8.0, (0.1, 0.3)), "reach.dl")
    picture = ET.fromstring("\n".join(svg_lines(whole)))  # noqa: S314  made here
    placed = {
        str(group.findtext(f"{SVG}title")).split(",")[0]: box
        for group in picture.iter(f"{SVG}g")
        if (box := group.find(f"{SVG}rect")) is not None
    }
    across = {name: float(box.attrib["width"]) for name, box in placed.items()}
    assert across["reach.dl"] == 1200
    assert across["stage 1: reach by loop"] == 480
    assert across["rule reach.2"] == 360
    left = {name: float(box.attrib["x"]) for name, box in placed.items()}
    assert left["stage 2: departures by statement"] == 480
    assert {left["rule reach.1"], left["rule reach.2"]} == {0, 360}
    top = [int(placed[name].attrib["y"]) for name in ("rule reach.2", "reach.dl")]
    assert top[0] < top[1]


def test_stacks_have_the_time_that_their_parts_do_not_take() -> None:
    frames = frames_of(timed(reach(Strategy.LOOP), 8.0, (0.1, 0.3)), "reach.dl")
    assert list(folded_lines(frames)) == [
        "reach.dl 11000000",
        "reach.dl;stage 1: reach by loop;rule reach.2 6000000",
        "reach.dl;stage 1: reach by loop;rule reach.1 2000000",
        "reach.dl;stage 2: departures by statement;rule departures.1 1000000",
    ]


def test_stacks_are_written_where_the_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / "vips.folded"
    assert run("query", "is_vip(?c)", "--profile", file, *VIP).code == 0
    lines = file.read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"is_vip\(\?c\)(;[^;]+){0,2} \d+", line) for line in lines)
    assert any(";rule REV1 " in line for line in lines)


def test_names_cannot_break_out_of_a_flame_graph() -> None:
    frame = Frame('</title><script>"&\x00\ud800', 1.0, (Frame("a;b\nc 7", 2.0),))
    picture = ET.fromstring("\n".join(svg_lines(frame)))  # noqa: S314  made here
    assert not [one for one in picture.iter() if one.tag.endswith("script")]
    assert list(folded_lines(frame)) == ['</title><script>"&??;a,b c 7 2000000']


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("query", "is_vip(?c)", "--profile", "--limit", "3", *VIP), "--limit cannot be used"),
        (("query", "is_vip(?c)", "--profile", "--format", "csv", *VIP), "--format csv"),
        (("query", "is_vip(?c)", "--profile", "--engine", "reference", *VIP), "no --profile"),
        (("query", "--profile", "is_vip(?c)", *VIP), "write --profile last"),
        (("run", *REACH, "--profile", "-D-"), "--output cannot be used"),
        (("run", *REACH, "--profile", "--check", "always"), "--check cannot be used"),
        (("run", *REACH, "--profile", "--engine", "reference"), "no --profile"),
    ],
)
def test_what_means_nothing_beside_a_profile_is_refused(
    typed: tuple[str | Path, ...], told: str
) -> None:
    ran = run(*typed)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_program_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "reach.dl"
    file.write_bytes(REACH[0].read_bytes())
    before = file.read_bytes()
    assert run("run", "--profile", file).code == 2
    assert run("run", *REACH, "--profile", file).code == 2
    assert file.read_bytes() == before


def test_a_run_with_a_profile_writes_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("run", *REACH, "--profile").code == 0
    assert list(tmp_path.iterdir()) == []


def test_bounds_and_mistakes_are_those_of_a_run(tmp_path: Path) -> None:
    ran = run("run", *REACH, "--profile", "--timeout", "0.000001")
    assert (ran.code, ran.out) == (2, "")
    assert "C0640" in ran.err
    missing = run("run", tmp_path / "missing.dl", "--profile")
    assert (missing.code, missing.out) == (2, "")
    nowhere = run("run", *REACH, "--profile", tmp_path / "nowhere" / "reach.svg")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "C0402" in nowhere.err


def test_a_stage_that_was_not_measured_by_rules_has_its_own_time() -> None:
    explained = reach(Strategy.LOOP)
    assert explained.reports is not None
    bare = tuple(StageReport(one.number, one.strategy, 0, {}, 1.0) for one in explained.reports)
    found = rules_of(replace(explained, reports=bare))
    assert [(one.rule, one.seconds, one.rows) for one in found] == [
        ("departures.1", 1.0, None),
        ("reach.1", None, None),
        ("reach.2", None, None),
    ]
