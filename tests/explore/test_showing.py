"""What people and programs see: events, the checklist, charts, the commands."""

from __future__ import annotations

import io
import json
import re
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.cli.exploration import Checklist, displayed
from constat.diagnostics import ConstatError
from constat.explore import events
from constat.explore.answered import Explored
from constat.explore.pictures import chart, shape_of
from constat.explore.plan import Output, write_plan
from constat.explore.relations import Relation
from constat.logic import Kind
from constat.store.tables import DataStore
from tests.cli.running import run
from tests.explore.planned import plan, step
from tests.explore.test_running import COUNTS, KEPT, RANKED, TOTALS
from tests.explore.worlds import TODAY

if TYPE_CHECKING:
    from pathlib import Path

EVENTS: tuple[events.ExploreEvent, ...] = (
    events.Generating(0, "plan"),
    events.Spent(1, 1500, "0.01"),
    events.PlanReady("ab12", "Which? \x1b[2J", ((1, "a", "sum [b]"), (2, "b", "x")), (1,)),
    events.StepStarted(1, "a", "sum", "sql"),
    events.Executing(1, 1),
    events.StepFailed(1, 1, "missing column", 'no "amont"\n', retryable=True),
    events.Generating(1, "correction"),
    events.Retrying(1, 2, corrected=True),
    events.Executing(1, 2),
    events.FactResolved(1, "sale", 240, 0.01),
    events.TableCreated(1, "a", 4, 1, "00"),
    events.StepFinished(1, "a", 1.25, 4, "computed"),
    events.Answered("a", 4, "SETTLED", 2.5),
)


def test_every_event_is_told_as_json() -> None:
    told = [events.event_json(one) for one in EVENTS]
    assert [one["event"] for one in told] == [
        *("generating", "spent", "plan_ready", "step_start", "executing", "step_error"),
        *("generating", "retry", "executing", "fact_resolved", "table_created"),
        *("step_complete", "answered"),
    ]
    assert json.loads(json.dumps(told[2]))["steps"][1] == {"step": 2, "name": "b", "goal": "x"}


def test_where_there_is_no_terminal_each_step_is_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    for form in ("none", "auto"):
        with displayed(form) as tell:
            for one in EVENTS:
                tell(one)
    assert stream.getvalue().splitlines() == [
        "asking a model for a plan",
        "plan: 2 steps, 1 needed",
        'step 1, attempt 1: missing column: no "amont" ',
        "asking a model for a correction",
        "step 1: attempt 2, as corrected",
        "step 1, a: 4 rows, 1.2 s",
    ]


def test_the_checklist_shows_marks_tries_and_cost_and_no_control_characters() -> None:
    shown = Checklist()
    try:
        for one in EVENTS[:8]:
            shown.tell(one)
        middle = shown.drawn().plain
        for one in EVENTS[8:11]:
            shown.tell(one)
        kept = shown.drawn().plain
        for one in EVENTS[11:]:
            shown.tell(one)
        last = shown.drawn().plain
    finally:
        shown.close()
    assert "↻ 1. a  attempt 2, corrected" in middle
    assert "▸ 1. a  a: 4 rows" in kept
    assert "✓ 1. a  4 rows, 1.2 s" in last
    assert "- 2. b  not needed" in last
    assert "1 call, 1,500 tokens, 0.01" in last
    assert "\x1b" not in last


def explored(*rows: tuple[object, ...], kinds: str = "symbol Decimal", **more: str) -> Explored:
    listed = [Kind(one) for one in kinds.split()]
    columns = tuple((f"c{n}", kind.value) for n, kind in enumerate(listed))
    relation = Relation(Output("t", columns), tuple(listed), tuple(rows))  # type: ignore[arg-type]
    made = plan(step("t(a: symbol)", rules="x"), title="<b>title</b> $x^2$", **more)
    return Explored("ab", 1, "what?", made, relation, (), "a & b", TODAY)


def test_a_chart_is_drawn_where_it_helps() -> None:
    bars = explored(("<i>North</i>", Decimal(3)), ("$South$", Decimal(5)))
    png, page = chart(bars, "png"), chart(bars, "html").decode()
    assert png.startswith(b"\x89PNG")
    assert chart(bars, "png") == png
    assert "&lt;i&gt;North&lt;/i&gt;" in page
    assert "<i>" not in page
    assert "<script" not in page
    assert chart(bars, "svg").startswith(b"<?xml")


def test_a_chart_that_the_plan_wants_is_kept_with_its_table(regions: Path) -> None:
    with Session(regions) as session:
        drawn = session.solve("which?", plan=plan(TOTALS, chart="bar"))
        session.resume()
        store = DataStore(session.project.state, drawn.exploration)
        [artifact] = store.artifacts(kind="chart")
        assert (artifact.name, artifact.step, artifact.media) == ("totals", 1, "image/png")
        assert store.content(artifact).startswith(b"\x89PNG")
        names = plan(
            step("names(r: symbol)", rules="names(?r) :- sale(_, ?r, _, _, _)."), chart="bar"
        )
        assert any("no chart" in note for note in session.solve("who?", plan=names).notes)


@pytest.mark.parametrize(
    ("kinds", "rows", "form"),
    [
        ("symbol Decimal", [("a", Decimal(1))], "bar"),
        ("Date float", [("2024-01-01", 1.0)], "line"),
        ("number Decimal", [(1, Decimal(2))], "bar"),
        ("symbol", [("a",)], None),
        ("Decimal", [(Decimal(1),)], None),
        ("symbol Decimal", [], None),
        ("symbol number", [(f"n{n}", n) for n in range(100)], None),
    ],
)
def test_what_a_chart_shows(kinds: str, rows: list[tuple[object, ...]], form: str | None) -> None:
    found = shape_of(explored(*rows, kinds=kinds).relation)
    assert (found and found.form) == form
    if form is None:
        with pytest.raises(ConstatError):
            chart(explored(*rows, kinds=kinds), "png")


def test_the_commands_go_from_a_plan_to_its_rules(regions: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(write_plan(plan(TOTALS, COUNTS, RANKED, question="Which regions lead?")))
    project = ("--project", regions)
    ran = run("solve", "--plan", file, "--today", TODAY, *project)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("ranked: 2 rows, first place 1, region ")
    assert "\nPROVED\n" in ran.out
    identity = re.findall(r"exploration (\w{16}), question 1", ran.out)[0]
    listed = run("plan", "show", identity[:6], *project).out
    assert listed.count("[x]") == 2
    assert "[-] 2. counts (rules)" in listed
    written = run("plan", "show", "--format", "yaml", *project).out
    file.write_text(written.replace("top: 2", "top: 1"))
    assert run("plan", "edit", file, *project).code == 0
    again = run("resume", "--format", "csv", *project)
    assert again.out.count("\r\n") == 2
    assert "step 3, ranked: 1 row, " in again.err
    assert "edited" in run("plan", "show", "--history", *project).out
    told = run("resume", "--events", "jsonl", *project)
    seen = [json.loads(line) for line in told.err.splitlines() if line.startswith("{")]
    assert seen[0]["event"] == "plan_ready"
    assert {one["how"] for one in seen if one["event"] == "step_complete"} == {"kept"}
    assert seen[-1]["event"] == "answered"
    assert seen[-1]["rows"] == 1
    assert "Which regions lead?" in run("history", *project).out
    state = run("history", "last", "--format", "json", *project).json["state"]
    assert [one["version"] for one in state["tables"]] == [2, 1]
    # Its rules go into the quarantine; what is no rule does not.
    assert run("plan", "promote", *project).code == 2
    promoted = run("plan", "promote", "--step", "totals", "--by", "ada", *project)
    assert promoted.code == 0, promoted.err
    with Session(regions) as session:
        [draft] = session.drafts.list()
        assert draft.asked_by == "ada"
        assert "totals(?r, ?t) :-" in draft.text
        # As a draft the rules prove what the plan has found, with a certificate.
        _, region, total = session.resume().rows[0]
        result = session.with_drafts([draft.identity]).prove(f"totals({region}, {total})")
        assert result.verdict.value == "PROVED_UNDER"


def test_what_is_wrong_is_said_with_its_place(regions: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    wrong = step("t(region: symbol)", rules='t(?r) :- sale(_, ?r, _, _, _), keepr(?r, "ann").')
    file.write_text(write_plan(plan(wrong)))
    ran = run("plan", "check", file, "--project", regions)
    assert ran.code == 2
    assert "<step 1: t>:1:" in ran.err
    assert 'keepr(?r, "ann")' in ran.err
    assert "write `keeper`" in ran.err
    open_answer = plan(TOTALS, KEPT)
    file.write_text(write_plan(open_answer))
    ran = run("solve", "--plan", file, "--project", regions, "--chart", tmp_path / "a.html")
    assert ran.code == 2
    assert "C0903" in ran.err
    assert not (tmp_path / "a.html").exists()
    ran = run("solve", "--plan", file, "--project", regions)
    assert ran.code == 4
    assert "not known:" in ran.out
    assert run("resume", "0000", "--project", regions).code == 2
    assert run("solve", "--project", regions).code == 2
