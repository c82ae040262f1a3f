"""The steps of a certificate are all of it, in order, and say what the checker says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from constat.check import Report, check_certificate
from constat.proof.export import Document, Step, Steps, steps_of
from constat.proof.export import lookups as looked_up
from constat.proof.export.letter import to_letter
from constat.proof.export.markdown import to_markdown
from tests.check.catalog import GOOD, good
from tests.export.worlds import WORLDS, vip
from tests.proof.asking import Table, analysed, ask, certificate

if TYPE_CHECKING:
    from constat.evaluation import Demand, Evidence


@cache
def content(name: str) -> bytes:
    return good(name).data() if name in GOOD else dict(WORLDS)[name]()


@cache
def told(name: str) -> Steps:
    return steps_of(Document(content(name)))


@cache
def report(name: str) -> Report:
    found = check_certificate(content(name))
    assert found.accepted
    return found


EVERY = [*GOOD, *(name for name, _ in WORLDS)]


def test_every_node_is_one_step_after_those_it_rests_on() -> None:
    for name in EVERY:
        steps = told(name).steps
        names = [step.name for step in steps]
        nodes = json.loads(content(name))["nodes"]
        assert len(set(names)) == len(names), name
        assert {f"node{place}" for place in range(len(nodes))} <= set(names), name
        for place, step in enumerate(steps):
            assert all(premise.step < place for premise in step.premises), name


def test_the_premises_of_the_certificate_are_those_of_the_step() -> None:
    for name in EVERY:
        every = told(name).steps
        steps = {step.name: step for step in every}
        for place, node in enumerate(json.loads(content(name))["nodes"]):
            below = {
                (every[premise.step].name, premise.place)
                for premise in steps[f"node{place}"].premises
            }
            for at, premise in enumerate(node.get("premises", ()), 1):
                if isinstance(premise, int):
                    assert (f"node{premise}", at) in below, name


def test_levels_are_those_of_the_checker() -> None:
    for name in EVERY:
        steps = {step.name: step for step in told(name).steps}
        for one in report(name).levels:
            names = (
                ["absence"]
                if one.node is None or one.premise is None
                else [f"{kind}{one.node}_{one.premise + 1}" for kind in ("absence", "aggregate")]
            )
            found = [steps[step].level for step in names if step in steps]
            assert found == [one.level or ""], (name, one)


class Partly(Table):
    """A table whose source answers more rows than are shown."""

    def evidence(self, demand: Demand) -> Evidence:
        return replace(super().evidence(demand), row_count=9, content_hash="0" * 64)


def test_a_row_that_is_there_counts_with_the_level_of_who_told_of_it() -> None:
    rules = """
    .decl order_line(c: symbol, a: number)
    .input order_line(source="s", query="q")
    .decl customer(c: symbol)
    .input customer(source="s", query="q")
    .decl spent(c: symbol, t: number)
    spent(?c, ?t) :- customer(?c), ?t = sum ?a : { order_line(?c, ?a), customer(?c) }.
    """
    tables = {
        "order_line": Table((("C1", 1), ("C1", 2))),
        "customer": Partly((("C1",),)),
    }
    data = certificate(ask(analysed(rules), "spent(C1, ?t)", tables))
    (level,) = check_certificate(data).levels
    (total,) = (one for one in steps_of(Document(data)).steps if one.kind == "aggregate")
    assert total.level == level.level == "C1"


def test_what_rests_on_an_assumption_holds_where_it_is_accepted() -> None:
    for name, expected in (("under", True), ("undecided", False)):
        document = Document(content(name))
        assumed = [one for one in document.facts if one["assumption"] is not None]
        assert [document.holds(one) for one in assumed] == [expected] * len(assumed)
        assert assumed


def test_an_aggregate_rests_on_the_rows_it_counts_and_no_others() -> None:
    steps = told("proved").steps
    total = next(step for step in steps if step.kind == "aggregate")
    assert [steps[premise.step].row for premise in total.premises] == [
        ("C1", "o1", "150000"),
        ("C1", "o2", "60"),
    ]


def test_rows_that_a_comparison_leaves_out_are_not_counted() -> None:
    steps = told("aggregate_body").steps
    total = next(step for step in steps if step.kind == "aggregate")
    rows = [group["rows"] for group in json.loads(content("aggregate_body"))["facts"]]
    assert 0 < len(total.premises) < sum(map(len, rows))


def test_an_aggregate_with_too_many_rows_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_up, "MOST_LOOKED_AT", 1)
    steps = steps_of(Document(vip("is_vip(C1)"))).steps
    total = next(step for step in steps if step.kind == "aggregate")
    assert total.premises == ()
    assert "more rows than can be listed" in total.note


def test_a_summary_stands_for_rows_that_are_not_there() -> None:
    total = next(step for step in told("summary_proved").steps if step.kind == "aggregate")
    assert (total.summary, total.level, total.premises) == (0, "C1", ())
    assert total.sources


def test_the_answers_are_what_the_verdict_rests_on() -> None:
    def answers(name: str) -> list[str]:
        found = told(name)
        return [found.steps[place].fact for place in found.answers]

    assert answers("proved") == ["is_vip(C1)"]
    assert answers("all") == ["is_vip(C1)"]
    assert answers("disproved") == ["!is_vip(C2)"]
    assert answers("unresolved") == []


def test_sentences_say_the_values() -> None:
    step = next(step for step in told("proved").steps if step.fact == "is_vip(C1)")
    assert "150,060" in step.reasoning
    assert "100,000" in step.reasoning


@pytest.mark.parametrize(
    "damage",
    [
        lambda members: members["nodes"][-1].update(rule=99),
        lambda members: members["nodes"][-1].pop("bind"),
        lambda members: members["nodes"][0].update(facts="x"),
        lambda members: members["rules"][0].update(body=[["+"]]),
        lambda members: members.update(declarations=[]),
        lambda members: members["nodes"][-1].update(premises=[len(members["nodes"]) - 1] * 4),
    ],
)
def test_what_is_no_certificate_is_refused_and_never_crashes(damage: object) -> None:
    members = json.loads(vip("is_vip(C1)"))
    damage(members)  # type: ignore[operator]  # each of the list is a function
    with pytest.raises(ValueError, match="this is no certificate"):
        steps_of(Document(json.dumps(members).encode()))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format":"constat-cert/1"}', b"\xff"])
def test_bytes_that_are_no_certificate_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="this is no certificate"):
        Document(data)


def test_a_step_is_a_value() -> None:
    assert isinstance(told("proved").steps[0], Step)
    assert told("proved") == steps_of(Document(content("proved")))


FREE = """
.decl bed(b: symbol)
.input bed(source="s", query="q")
.decl stay(s: number, b: symbol)
.input stay(source="s", query="q")
.decl over(s: number)
.input over(source="s", query="q")
.decl open_stay(s: number)
.decl busy(b: symbol)
.decl free(b: symbol)
.decl beds(n: number)
.decl many(n: number)
@[id = OPEN] open_stay(?s) :- stay(?s, _), !over(?s).
@[id = BUSY] busy(?b) :- stay(?s, ?b), open_stay(?s).
@[id = FREE] free(?b) :- bed(?b), !busy(?b).
@[id = OTHER] free(?b) :- over(?s), stay(?s, ?b), ?s > 90.
@[id = BEDS] beds(?n) :- ?n = count : { free(_b) }.
@[id = MANY] many(?n) :- beds(?n), ?n > 5.
"""


@pytest.mark.parametrize(
    ("goal", "rules", "deciding"),
    [
        ("free(A)", {"OPEN", "BUSY", "FREE"}, "FREE"),
        ("busy(B)", {"OPEN", "BUSY"}, "BUSY"),
        ("beds(1)", {"OPEN", "BUSY", "FREE", "OTHER", "BEDS"}, "BEDS"),
        ("many(1)", {"OPEN", "BUSY", "FREE", "OTHER", "BEDS", "MANY"}, "MANY"),
    ],
)
def test_documents_name_every_rule_that_a_verdict_rests_on(
    goal: str, rules: set[str], deciding: str
) -> None:
    tables = {"bed": Table((("A",), ("B",))), "stay": Table(((1, "B"),)), "over": Table()}
    data = certificate(ask(analysed(FREE), goal, tables))
    markdown, letter = to_markdown(data), to_letter(data)
    listed, written = markdown.split("## By whose rule")[1].split("## Rules")
    assert set(re.findall(r"- (\w+): \*\*nobody approved", listed)) == rules
    assert set(re.findall(r"id = (\w+)", written)) == rules
    followed = next(line for line in letter.splitlines() if line.startswith("It follows from"))
    assert set(re.findall(r"rule (\w+) \(nobody approved it\)", followed)) == rules
    assert followed.startswith(f"It follows from rule {deciding} (nobody approved it).")
