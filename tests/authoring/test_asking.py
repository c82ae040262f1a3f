"""Questions through the whole of a session: the tape of the example, drafts, records, verdicts."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import jsonschema
import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from constat.store.drafts import Decision
from tests.authoring.scripted import Scripted, proposed, said
from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.model import Prompt, Reply

VIP = "Is customer C001 a VIP?"
CLOSED = "Does customer C001 have an account that was closed?"
SLEEPING = (
    "Is customer C005 a sleeping gold customer, that is gold without an order since orders count?"
)
QUERIED = proposed(
    "shut(C006)",
    '.decl shut(c: CustomerId)\n.input shut(source = "sales", '
    'query = "SELECT DISTINCT customer_id FROM accounts WHERE closed_on IS NOT NULL")',
)


@pytest.fixture
def session(shop: Path) -> Iterator[Session]:
    with Session(shop) as found:
        yield found


def check(value: object, name: str) -> None:
    jsonschema.Draft202012Validator(run("schema", name).json).validate(value)


def test_the_example_is_answered_from_its_tape_without_a_model(session: Session) -> None:
    found = session.ask(VIP)
    assert (found.goal, found.verdict, found.draft) == ("is_vip(C001)", Verdict.PROVED, None)
    assert found.replayed
    assert found.note == "replaying written answers: no model was asked"
    assert found.usage.calls == 0
    assert session.verify(found.result.certificate).accepted


def test_a_draft_is_kept_repaired_and_assumed(session: Session) -> None:
    found = session.ask(SLEEPING)
    assert found.verdict is Verdict.PROVED_UNDER
    assert found.rounds == 2
    assert found.draft is not None
    kept = session.drafts.get(found.draft.short)
    assert (kept.status, kept.purpose, kept.model) == ("proposed", SLEEPING, "written-answers")
    (assumed,) = found.result.assumptions
    assert assumed.kind == "rule"
    assert "only proposed" in assumed.text
    report = session.verify(found.result.certificate)
    assert report.accepted


def test_a_drafted_query_makes_neither_presence_nor_absence_certain(session: Session) -> None:
    there = session.ask("Was an account of C006 shut?", client=Scripted(QUERIED))
    assert there.verdict is Verdict.PROVED_UNDER
    absent = session.ask(CLOSED)
    assert absent.verdict is Verdict.DISPROVED_UNDER
    for found in (there, absent):
        assert found.result.assumptions
        assert session.verify(found.result.certificate).accepted
        assert b"SELECT DISTINCT customer_id" in found.result.certificate


def test_what_people_approve_is_plain_from_then_on(shop: Path) -> None:
    with Session(shop) as session:
        found = session.ask("Was an account of C006 shut?", client=Scripted(QUERIED))
        assert found.draft is not None
        session.reviews.approve(found.draft.short, by="ada", reason="closed is shut")
    with Session(shop) as session:
        assert session.prove("shut(C006)").verdict is Verdict.PROVED
        assert session.prove("shut(C001)").verdict is Verdict.DISPROVED


def test_what_a_draft_lacks_is_shown_as_missing(session: Session) -> None:
    rules = (
        ".decl signed(c: CustomerId)\n.decl ok(c: CustomerId)\nok(?c) :- customer(?c), signed(?c)."
    )
    found = session.ask("Is C001 ok?", client=Scripted(proposed("ok(C001)", rules)))
    assert found.verdict is Verdict.UNRESOLVED
    assert "signed(C001)" in found.result.missing


def test_a_goal_over_several_lines_is_kept_as_one(session: Session) -> None:
    arguments = dict(QUERIED.calls[0].arguments, goal="shut(\n  C006\n)")
    found = session.ask("Was C006 shut?", client=Scripted(said(("propose", arguments))))
    assert found.goal == "shut(C006)"
    assert found.draft is not None
    assert "\n" not in found.draft.goal


def test_without_approval_nothing_is_concluded_from_a_draft(session: Session) -> None:
    for client in (Scripted(QUERIED), None):
        question = "Was an account of C006 shut?" if client else CLOSED
        found = session.ask(question, require_approved=True, client=client)
        assert found.verdict is Verdict.UNRESOLVED
        assert "C0871" in {one.code for one in found.remarks}
        assert session.verify(found.result.certificate).accepted
    # No person has approved the rules of people either.
    assert session.ask(VIP, require_approved=True).verdict is Verdict.UNRESOLVED


def test_rules_of_the_project_that_nobody_approved_do_not_count_either(session: Session) -> None:
    client = Scripted(proposed("may_leave(C005)"))
    assert session.ask("May C005 leave?", client=client).verdict is Verdict.PROVED_UNDER
    found = session.ask("May C005 leave?", client=client, require_approved=True)
    assert found.verdict is Verdict.UNRESOLVED


def test_a_session_proves_questions_too(session: Session) -> None:
    assert session.prove(question=VIP).verdict is Verdict.PROVED


def test_the_transcript_is_on_the_disk_before_the_next_step(session: Session) -> None:
    seen: list[int] = []

    class Looking(Scripted):
        def ask(self, prompt: Prompt) -> Reply:
            found = [session.transcript(one) for one in session.transcripts()]
            seen.extend(len(one["entries"]) for one in found)
            return super().ask(prompt)

    wrong = proposed("shut(C006)", "shut(?c) :- nothing(?c).")
    client = Looking(said(("show_predicate", {"name": "is_vip"})), wrong, QUERIED)
    found = session.ask("Was an account of C006 shut?", client=client)
    assert seen == [3, 5]
    record = session.transcript(found.transcript)
    kinds = [one["kind"] for one in record["entries"]]
    assert kinds == ["told", "reply", "lookup", "reply", "check", "reply", "check"]
    assert record["outcome"]["verdict"] == "PROVED_UNDER"
    assert record == found.record


def test_a_question_that_fails_keeps_its_transcript(session: Session) -> None:
    with pytest.raises(ConstatError):
        session.ask("Is it so?", client=Scripted(proposed("no_such(C001)")))
    (identity,) = session.transcripts()
    record = session.transcript(identity)
    assert record["outcome"]["error"][0]["code"] == "C0867"
    assert sum(one["kind"] == "check" for one in record["entries"]) == 3


def test_a_rejected_draft_is_told_to_the_next(session: Session) -> None:
    client = Scripted(QUERIED)
    draft = session.ask("Was an account of C006 shut?", client=client).draft
    assert draft is not None
    decision = Decision("rejected", "ada", "closed is not shut")
    assert session.drafts.decide(draft.identity, decision).status == "rejected"
    other = proposed(
        "shut(C006)",
        '.decl shut(c: CustomerId)\n.input shut(source = "sales", '
        'query = "SELECT customer_id FROM accounts WHERE closed_on IS NOT NULL")',
    )
    again = Scripted(QUERIED, other)
    found = session.ask("Is an account of C001 shut?", client=again)
    assert "closed is not shut" in again.prompts[0].turns[0].text
    assert "C0871" in again.prompts[1].turns[-1].results[0].text
    assert found.draft is not None
    assert found.draft.status == "proposed"
    elsewhere = Scripted(*[proposed("no_such(C001)")] * 3)
    with pytest.raises(ConstatError):
        session.ask("Which town has most of them?", client=elsewhere)
    assert "closed is not shut" not in elsewhere.prompts[0].turns[0].text


def test_the_command_shows_how_the_question_was_read(shop: Path) -> None:
    ran = run("ask", VIP, "--project", shop, "--depth", "0")
    assert ran.code == 3
    assert ran.out.splitlines()[:4] == [
        f"question: {VIP}",
        "in words: C001 is a VIP",
        "goal: is_vip(C001)",
        "unconfirmed: whether that is what you asked, nobody has confirmed",
    ]
    assert "drafted: nothing" in ran.out
    assert "replaying written answers: no model was asked" in ran.err
    ran = run("ask", CLOSED, "--project", shop, "--transcript")
    assert ran.code == 6
    assert "which nobody has approved" in ran.out
    assert "constat rules review" in ran.out
    assert "calls get_table_schema" in ran.out


def test_a_goal_with_variables_lists_its_answers(shop: Path) -> None:
    ran = run("ask", "Which gold customers are blocked?", "--project", shop, "--depth", "0")
    assert ran.code == 3
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "C004 PROVED UNDER assumptions" in lines
    assert "1 answer. Under the assumptions there are no others." in lines
    with Session(shop) as session:
        client = Scripted(proposed("is_vip(?customer)"))
        listed = session.ask("Who is a VIP?", client=client).listed
    assert listed is not None
    assert (("C001",), Verdict.PROVED) in listed.rows
    assert (listed.total, listed.settled.value) == (len(listed.rows), "SETTLED")


def test_the_command_gives_json_and_old_transcripts(shop: Path) -> None:
    many = ("ask", "Which gold customers are blocked?", "--project", shop)
    listed = run(*many, "--format", "json").json
    check(listed, "ask")
    assert listed["answers"]["rows"] == [{"values": ["C004"], "verdict": "PROVED_UNDER"}]
    told = run("ask", CLOSED, "--project", shop, "--format", "json", "--transcript").json
    check(told, "ask")
    assert told["exit_code"] == 6
    assert told["draft"]["status"] == "proposed"
    shown = run("ask", "--show", told["transcript"], "--project", shop, "--format", "json").json
    assert shown["question"] == CLOSED
    for wrong in ("../../x", "0" * 16):
        assert "C0873" in run("ask", "--show", wrong, "--project", shop).err


def test_without_a_tape_for_it_a_question_is_refused_clearly(shop: Path) -> None:
    ran = run("ask", "Will it rain?", "--project", shop, "--format", "json")
    assert (ran.code, ran.out) == (2, "")
    assert json.loads(ran.err)["diagnostics"][0]["code"].startswith("C082")


def test_facts_are_looked_up_only_where_the_project_lets_them(shop: Path) -> None:
    look = said(("resolve_fact", {"goal": "customer_tier(C003, ?tier)"}))
    shut = Scripted(look, QUERIED)
    with Session(shop) as session:
        session.ask("Was an account of C006 shut?", client=shut)
    config = shop / "constat.yaml"
    config.write_text(config.read_text() + "\nauthoring: {facts: true}\n")
    opened = Scripted(look, QUERIED)
    with Session(shop) as session:
        session.ask("Was an account of C006 shut?", client=opened)
    results = [one.prompts[1].turns[-1].results[0] for one in (shut, opened)]
    assert [one.failed for one in results] == [True, False]
    assert "gold" not in results[1].text, "values are shown only where samples are allowed"


def test_what_cannot_be_written_down_is_not_asked(shop: Path) -> None:
    (shop / ".constat").mkdir(exist_ok=True)
    (shop / ".constat" / "questions").write_text("in the way")
    client = Scripted(QUERIED)
    with Session(shop) as session, pytest.raises(ConstatError) as caught:
        session.ask("Was an account of C006 shut?", client=client)
    assert [one.code for one in caught.value.diagnostics] == ["C0873"]
    assert len(client.prompts) == 1


def test_a_model_that_calls_no_tools_is_told_all_tables(shop: Path) -> None:
    config = shop / "constat.yaml"
    config.write_text(config.read_text().replace("claude-sonnet-4-5", "claude-2"))
    client = Scripted(QUERIED)
    with Session(shop) as session:
        session.ask("Was an account of C006 shut?", client=client)
    names = {tool.name for tool in client.prompts[0].tools}
    assert "list_tables" not in names
    assert "closed_on" in client.prompts[0].system


PARCELS = """
.pragma "constat" "0.1"
@[key = id]
.decl parcel(id: number, @[null = maybe] weight: number, boxes: number)
.input parcel(source = main, query = "SELECT id, weight, boxes FROM parcels")
"""


@pytest.fixture
def parcels(tmp_path: Path) -> Iterator[Session]:
    with closing(sqlite3.connect(tmp_path / "p.sqlite")) as base:
        base.execute("CREATE TABLE parcels (id INTEGER PRIMARY KEY, weight INTEGER, boxes INTEGER)")
        base.execute("INSERT INTO parcels VALUES (1, NULL, 0), (2, 70211, 3)")
        base.commit()
    (tmp_path / "constat.yaml").write_text(
        'project: p\nrules: [r.dl]\ndatabases: {main: {uri: "sqlite:///p.sqlite"}}\n'
    )
    (tmp_path / "r.dl").write_text(PARCELS)
    with Session(tmp_path) as found:
        yield found


def sent_back(client: Scripted) -> list[str]:
    turns = client.prompts[-1].turns if len(client.prompts) > 1 else ()
    return [one.text for turn in turns for one in turn.results if "UNRESOLVED" in one.text]


def test_what_a_null_leaves_open_goes_back_once_with_the_reason(parcels: Session) -> None:
    read = proposed("heavy(1)", ".decl heavy(id: number)\nheavy(?i) :- parcel(?i, ?w, _), ?w > 1.")
    other = proposed("known(1)", ".decl known(id: number)\nknown(?i) :- parcel(?i, _, _).")
    client = Scripted(read, other)
    found = parcels.ask("Is there a parcel 1?", client=client)
    assert (found.goal, found.verdict) == ("known(1)", Verdict.PROVED_UNDER)
    (told,) = sent_back(client)
    assert "parcel.weight is null in rows that the goal reads" in told
    assert "70211" not in told
    # What is open again was the answer before: the first stands, and nothing goes back twice.
    client = Scripted(read)
    found = parcels.ask("Is parcel 1 heavy?", client=client)
    assert (found.goal, found.verdict) == ("heavy(1)", Verdict.UNRESOLVED)
    assert len(client.prompts) == 2


def test_what_an_error_leaves_open_goes_back_as_well(parcels: Session) -> None:
    rule = ".decl per_box(id: number)\nper_box(?i) :- parcel(?i, _, ?b),"
    rule += " as(6, Decimal) / as(?b, Decimal) > 2.0."
    kept = rule.replace("as(6,", "?b > 0, as(6,")
    client = Scripted(proposed("per_box(1)", rule), proposed("per_box(1)", kept))
    found = parcels.ask("Does parcel 1 have 2 per box?", client=client)
    assert found.verdict in {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}
    (told,) = sent_back(client)
    assert "divides by zero, overflows or fails to convert: " in told
    assert "per_box(?i) :- parcel(?i, _, ?b)" in told


def test_what_is_decided_or_lacks_a_fact_does_not_go_back(parcels: Session) -> None:
    client = Scripted(
        proposed("known(9)", ".decl known(id: number)\nknown(?i) :- parcel(?i, _, _).")
    )
    assert parcels.ask("Is there a parcel 9?", client=client).verdict is Verdict.DISPROVED_UNDER
    assert len(client.prompts) == 1
