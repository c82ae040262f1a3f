"""The REPL: what is typed, what it does, and what a terminal sees."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat import Session
from constat.cli.exploration import plan_file
from constat.cli.repl import ReplContext, coloured, constants, enter, entries, offers
from constat.session import repl
from constat.session.repl import Kind, Notebook, is_complete, kind_of
from constat.session.result import Result
from constat.session.suppositions import Suppositions
from tests.authoring.scripted import Scripted, proposed
from tests.cli.running import Ran, run
from tests.cli.terminal import LONGEST, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def typed(still_shop: Path) -> Iterator[ReplContext]:
    """A context to look at, without a terminal."""
    with Session(still_shop) as session, Notebook(session) as notebook:
        yield ReplContext(notebook, "ada")


Entered = Callable[..., Ran]


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> Entered:
    """Run the REPL of a project with these lines on stdin."""

    def enter(shop: Path, *lines: str) -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return run("repl", "--project", shop, "--by", "ada")

    return enter


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("is_vip(C001)", Kind.GOAL),
        ("  ?- is_vip(?c), !blocked(?c)", Kind.GOAL),
        ("!blocked(C001)", Kind.GOAL),
        ("Is C001 a VIP?", Kind.QUESTION),
        ("Is C001 (the bakery) a VIP?", Kind.QUESTION),
        ("/why", Kind.COMMAND),
        ("big(?c) :- is_vip(?c).", Kind.RULES),
        (".decl big(c: symbol)", Kind.RULES),
        ("@[id = X1] big(?c) :- is_vip(?c).", Kind.RULES),
        ("tier(C001, gold).", Kind.RULES),
        ("// remark", Kind.NOTHING),
        (" ", Kind.NOTHING),
    ],
)
def test_a_text_is_told_by_its_looks(text: str, kind: Kind) -> None:
    assert kind_of(text) is kind


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("big(?c) :- is_vip(?c)", False),
        ("big(?c) :- is_vip(?c),\n  !blocked(?c).", True),
        ("is_vip(", False),
        ('is_vip("a)', False),
        ('is_vip("a\\")")', True),
        (".decl big(c: symbol", False),
        (".decl big(c: symbol)", True),
        ("What is it (really", True),
        ("/query SELECT (", True),
    ],
)
def test_an_entry_goes_on_until_it_is_whole(text: str, *, complete: bool) -> None:
    assert is_complete(text) is complete


@given(text=st.text(max_size=60))
def test_any_text_is_something_and_a_question_never_waits(text: str) -> None:
    kind = kind_of(text)
    if kind in {Kind.QUESTION, Kind.COMMAND, Kind.NOTHING}:
        assert is_complete(text)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (".type T = [", False),
        (".type T = [\n  x: number,", False),
        (".type T = [\n  x: number\n]", True),
        (".type T =\n  A {}\n  | B {\n    x: T\n  }", True),
        (".type T = [x: T]\np(?x) :- ?x = sum ?y : {\n  q(?y)\n}", False),
        ("p([1,", False),
        ("p([1, nil]).", True),
    ],
)
def test_a_type_may_stand_on_several_lines(text: str, *, complete: bool) -> None:
    assert is_complete(text) is complete


def test_lines_become_entries() -> None:
    lines = ["is_vip(C001)\n", "big(?c) :-\n", "  is_vip(?c).\n", "open(\n"]
    assert list(entries(lines)) == ["is_vip(C001)\n", "big(?c) :-\n  is_vip(?c).\n", "open(\n"]


def test_goals_are_proved_and_answered(still_shop: Path, entered: Entered) -> None:
    ran = entered(still_shop, "is_vip(C001)", "is_vip(C002)?", "?- partner(?c)", "/why")
    assert ran.code == 0, ran.err
    assert "PROVED: is_vip(C001)" in ran.out
    assert "DISPROVED: is_vip(C002)" in ran.out
    assert "C001\nC020\n\n2 answers, all proved." in ran.out
    assert ran.out.count("DISPROVED: is_vip(C002)") == 2


def test_typed_rules_count_until_they_are_taken_back(still_shop: Path, entered: Entered) -> None:
    ran = entered(
        still_shop,
        ".decl big(c: CustomerId)",
        "big(?c) :- customer_revenue(?c, ?r),",
        "  ?r > 100000.",
        "big(C001)",
        "/why-not big(C002)",
        "/rules",
        "/undo",
        "/undo",
        "big(C001)",
    )
    assert ran.code == 2
    assert "PROVED UNDER assumptions: big(C001)" in ran.out
    assert "assuming: rule supposed:big.1 holds, which is only proposed" in ran.out
    assert "DISPROVED: big(C002)" in ran.out
    assert ".decl big(c: CustomerId)\n\nbig(?c) :- customer_revenue(?c, ?r),\n" in ran.out
    assert "taken back: typed rules" in ran.out
    assert "C0181" in ran.err


def test_a_rule_with_a_mistake_changes_nothing_and_shows_the_place(
    still_shop: Path, entered: Entered
) -> None:
    ran = entered(still_shop, "vip(?c) :- is_vipp(?c).", "/rules")
    assert ran.code == 2
    assert "there is no predicate `is_vipp`" in ran.err
    assert "vip(?c) :- is_vipp(?c)." in ran.err
    assert "no rule has been typed" in ran.out


def test_suppositions_are_counted_in_and_named(still_shop: Path, entered: Entered) -> None:
    ran = entered(
        still_shop,
        "/what-if set vip_threshold=50000",
        "/what-if remove blocked(C004)",
        "is_vip(C002)",
        "/what-if",
        "/what-if add nonsense(1)",
        "/forget",
        "is_vip(C002)",
        "/undo",
        "/what-if",
    )
    assert "WHAT IF: PROVED UNDER assumptions: is_vip(C002)" in ran.out
    assert "as it is: DISPROVED" in ran.out
    assert "supposed absent: blocked(C004)\nsupposed: vip_threshold = 50000" in ran.out
    assert "DISPROVED: is_vip(C002)" in ran.out
    assert "taken back: everything that was typed" in ran.out
    assert "nonsense" in ran.err
    assert ran.code == 2


def test_facts_are_stated_listed_and_taken_back(shop: Path, entered: Entered) -> None:
    ran = entered(
        shop,
        "is_strategic(C009)",
        "/unresolved",
        "/facts contract_value(C009, 250000)",
        "is_strategic(C009)",
        "/unresolved",
        "/facts",
        "/undo",
        "/facts",
        "contract_value(C009, 1).",
    )
    assert "is_strategic(C009)\n  missing: contract_value(C009, ?amount)" in ran.out
    assert "added: contract_value(C009, 250000), stated by ada" in ran.out
    assert "assuming: user ada says contract_value(C009, 250000)" in ran.out
    assert "nothing that was asked lacks a fact" in ran.err
    assert "taken back: the fact contract_value(C009, 250000)" in ran.out
    assert "no facts are stated" in ran.err
    assert "/facts contract_value(C009, 1)   or   /what-if add" in ran.err


def test_proofs_rules_and_files_go_in_and_out(shop: Path, entered: Entered, tmp_path: Path) -> None:
    rules = tmp_path / "mine.dl"
    ran = entered(
        shop,
        "/export certificate c001.json",
        "is_vip(C001)",
        f"/export certificate {tmp_path / 'c001.json'}",
        f"/export csv {tmp_path / 'c001.csv'}",
        ".decl big(c: CustomerId)",
        f"/save {rules}",
        "/forget",
        f"/load {rules}",
        "/rules",
    )
    assert "no goal has been proved yet" in ran.err
    assert run("verify", tmp_path / "c001.json").code == 0
    assert (tmp_path / "c001.csv").read_text().startswith("")
    assert rules.read_text() == ".decl big(c: CustomerId)\n\n"
    assert ran.out.endswith(".decl big(c: CustomerId)\n")


def test_explorations_are_looked_at(shop: Path, entered: Entered) -> None:
    plan = shop / "plans" / "top5.yaml"
    ran = entered(
        shop,
        "/tables",
        f"/plan {plan}",
        "/history",
        "/tables",
        "/state",
        "/variables",
        "/resume",
        "/query DROP TABLE x",
        "/query SELECT * FROM nowhere",
        "/query SELECT 1 + 1 AS two",
        "/resume zzzz",
    )
    assert "nothing has been explored yet" in ran.err
    assert "step 1" in ran.out
    assert "1 question" in ran.out
    assert "two\n  2" in ran.out
    assert "not a SELECT" in ran.err
    assert "there is no table `nowhere`" in ran.err
    assert "there is no such exploration" in ran.err


def test_a_question_is_read_by_a_model_of_the_project(shop: Path, entered: Entered) -> None:
    ran = entered(shop, "Is customer C001 a VIP?", "/why")
    assert ran.code == 0, ran.err
    assert "goal: is_vip(C001)" in ran.out
    assert "written" in ran.err
    assert ran.out.count("PROVED: is_vip(C001)") == 2


def test_a_question_is_confirmed_without_being_waited_for(shop: Path, entered: Entered) -> None:
    question = "Is customer C001 a VIP?"
    ran = entered(shop, ":confirm", question, ":confirm", question, "/undo", question, "/confirm x")
    assert "no question in words has been answered yet" in ran.err
    lines = ran.out.splitlines()
    words = [place for place, line in enumerate(lines) if line == "in words: C001 is a VIP"]
    verdicts = [place for place, line in enumerate(lines) if line == "PROVED: is_vip(C001)"]
    assert words[0] < verdicts[0]
    said = [line.partition(":")[0] for line in lines if line.startswith(("unconf", "confirmed"))]
    assert said == ["unconfirmed", "confirmed", "confirmed", "unconfirmed", "confirmed"]
    assert "taken back: a confirmation" in lines


DRAFTED = """
.decl insured(c: CustomerId)
.decl covered(c: CustomerId)
covered(?c) :- customer(?c), insured(?c).
"""


def test_a_fact_that_the_last_question_lacks_is_stated_and_it_is_tried_again(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Session(shop) as session, Notebook(session) as notebook:
        context = ReplContext(notebook, "ada")
        client = Scripted(proposed("covered(C001)", DRAFTED))
        notebook.answered(session.ask("Is C001 covered?", client=client))
        assert enter(context, "/unresolved")
        assert capsys.readouterr().out == "covered(C001)\n  missing: insured(C001)\n"
        assert enter(context, "/facts insured(C001)")
        told = capsys.readouterr().out
        assert "added: insured(C001), stated by ada" in told
        assert "PROVED UNDER assumptions: covered(C001)" in told
        assert notebook.unresolved().goals == ()
        assert enter(context, "/undo")
        assert notebook.unresolved().goals == (("covered(C001)", ("insured(C001)",)),)
        # Once something else was asked the draft is not meant any more.
        assert enter(context, "is_vip(C001)")
        assert not enter(context, "/facts insured(C001)")
        assert notebook.unresolved().goals == (("covered(C001)", ("insured(C001)",)),)


def test_goals_that_are_tried_again_share_one_limit_of_time(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(shop) as session, Notebook(session) as notebook:
        goals = ["is_strategic(C009)", "is_strategic(C008)", "is_strategic(C007)"]
        for goal in goals:
            notebook.prove(goal)
        allowed = session.project.limits.seconds
        tried: list[float] = []
        prove = Session.prove

        def watched(asked: Session, goal: str) -> Result:
            tried.append(asked.project.limits.seconds)
            return prove(asked, goal)

        clock = iter([0.0, 0.0, allowed - 30, allowed + 1])
        with monkeypatch.context() as patched:
            patched.setattr(Session, "prove", watched)
            patched.setattr(repl, "time", SimpleNamespace(monotonic=lambda: next(clock)))
            found = notebook.unresolved()
        assert tried == [allowed, 30]
        assert [goal for goal, _ in found.goals] == goals[:2]
        assert found.untried == (goals[2],)
        assert session.project.limits.seconds == allowed
        with session.within(0):
            assert enter(ReplContext(notebook, "ada"), "/unresolved")
    told = capsys.readouterr().out
    assert told.startswith("not tried again to the end within the limits of the project")
    assert all(f"\n  {goal}\n" in told for goal in goals)


def test_a_goal_that_a_limit_cut_off_is_told(shop: Path) -> None:
    with Session(shop) as session, Notebook(session) as notebook:
        notebook.prove("is_strategic(C009)")
        bounds = replace(session.project.limits, calls=0)
        session._project = replace(session.project, limits=bounds)
        found = notebook.unresolved()
    assert (found.goals, found.untried) == ((), ("is_strategic(C009)",))


def test_what_is_unresolved_is_never_stale(shop: Path, entered: Entered) -> None:
    ran = entered(
        shop,
        "is_strategic(C009)",
        "/facts contract_value(C009, 250000)",
        "/unresolved",
        "/retract contract_value(C009, 250000)",
        "/unresolved",
        "/what-if add contract_value(C009, 250000)",
        "/unresolved",
    )
    assert ran.out.count("missing: contract_value(C009, ?amount)") == 1
    assert ran.err.count("nothing that was asked lacks a fact") == 2


def test_without_a_model_a_sentence_is_explained(shop: Path, entered: Entered) -> None:
    configuration = shop / "constat.yaml"
    text = configuration.read_text()
    configuration.write_text(text[: text.index("models:")])
    ran = entered(shop, "Is C001 a VIP?")
    assert ran.code == 2
    assert "neither a goal nor a rule" in ran.err


@pytest.mark.parametrize(
    "line", ["/tabels", "/", "/query", "/export x", "/retract", "/explain", "/load"]
)
def test_a_wrong_command_says_what_is_wrong(still_shop: Path, entered: Entered, line: str) -> None:
    ran = entered(still_shop, line)
    assert (ran.code, ran.out) == (2, "")
    assert "C092" in ran.err


def test_help_names_every_command_and_quit_leaves(still_shop: Path, entered: Entered) -> None:
    ran = entered(still_shop, "/help", "/explain C0910", "/quit", "is_vip(C001)")
    for name in ("tables", "query", "state", "history", "resume", "unresolved", "facts", "why",
                 "why-not", "what-if", "export", "undo"):  # fmt: skip
        assert f"/{name}" in ran.out
    assert "C0910: nothing here keeps code away" in ran.out
    assert "PROVED" not in ran.out


RULE = ".decl big{0}(c: CustomerId)\nbig{0}(?c) :- is_vip(?c)."
CHANGES = st.lists(st.sampled_from(["rules", "suppose", "forget"]), max_size=5)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
def test_what_is_taken_back_is_as_it_was(typed: ReplContext, changes: list[str]) -> None:
    notebook = typed.notebook
    states = [(notebook.rules, notebook.supposed)]
    for number, change in enumerate(changes):
        match change:
            case "rules":
                notebook.add_rules(RULE.format(number))
            case "suppose":
                notebook.suppose(Suppositions(settings=(("vip_threshold", str(number)),)))
            case _:
                notebook.forget()
        states.append((notebook.rules, notebook.supposed))
    while states:
        assert (notebook.rules, notebook.supposed) == states.pop()
        known = notebook.session.program.program.predicates
        assert {one for one in known if one.startswith("big")} == {
            rule.partition("(")[0].removeprefix(".decl ") for rule in notebook.rules
        }
        assert bool(notebook.undo()) is bool(states)


def texts(context: ReplContext, before: str) -> list[str]:
    return [one.text for one in offers(context, before)]


def test_what_fits_is_offered(typed: ReplContext) -> None:
    assert texts(typed, "is_v") == ["is_vip(?customer)"]
    assert texts(typed, "is_vip(?c), cust")[0].startswith("customer(")
    assert "?customer)" in texts(typed, "is_vip(")
    assert texts(typed, "/what") == ["/what-if"]
    assert "is_vip(?customer)" in texts(typed, "/why is_v")
    assert texts(typed, "/export prov-")
    assert texts(typed, "/explain c0910") == ["C0910"]
    assert texts(typed, "What is is_v") == []
    assert texts(typed, "big(?c) :- is_v") == ["is_vip(?customer)"]
    assert "C020)" in texts(typed, "partner(C0")


def test_columns_are_offered_by_name(typed: ReplContext) -> None:
    assert texts(typed, "owns(owned = C001, sh") == ["share = ?share"]
    assert texts(typed, "owns(owned = ?ow") == ["?owned"]


def test_structures_are_coloured_as_values() -> None:
    pieces = coloured("pair([$Add($Zero, nil)], nilpotent)", frozenset({"pair"}))
    values = [text for style, text, *_ in pieces if style == "class:constructor"]
    assert values == ["$Add", "$Zero", "nil"]
    assert "class:unknown" not in {style for style, *_ in pieces}


def test_tables_and_columns_of_an_exploration_are_offered(shop: Path) -> None:
    written = plan_file(str(shop / "plans" / "top5.yaml")).plan()
    with Session(shop) as session, Notebook(session) as notebook:
        explored = session.solve("", plan=written)
        context = ReplContext(notebook, "ada")
        offered = texts(context, "/query SELECT * FROM ")
        assert explored.relation.output.name in offered
        assert set(explored.relation.names) <= set(offered)
        assert texts(context, "/resume ") == [explored.exploration]


def test_constants_that_were_seen_are_offered_and_draw_nothing(typed: ReplContext) -> None:
    typed.saw(["Größe 1", "\x1b[31m", "C777", 'say "x"'])
    known = list(constants(typed))
    assert '"Größe 1"' in known
    assert '"say \\"x\\""' in known
    assert "C777" in known
    assert all(one.isprintable() for one in known)


def test_a_terminal_has_a_prompt_with_completion_history_and_long_entries(shop: Path) -> None:
    terminal = Terminal("--project", str(shop), "--by", "ada")
    try:
        terminal.until("constat>")
        terminal.type("is_vip(C001)\r")
        assert "\x1b[1;32mPROVED: is_vip(C001)" in terminal.until("/why shows the proof")
        terminal.type("partner(?c)\r")
        # What colours a heading reaches the terminal as that, and not spelled out.
        assert "\\x1b" not in terminal.until("2 answers")
        terminal.type(".decl big(c: CustomerId)\r")
        terminal.until("declared")
        terminal.type("big(?c) :- is_vip(?c),\r")
        terminal.until(r"\.\.\.")
        terminal.type("!blocked(?c).\r")
        terminal.until("1 typed rule")
        terminal.type("/unre\t")
        terminal.until("/unresolved")
        terminal.type("\r")
        terminal.until("lacks a fact")
        terminal.type("half of a line\x03")
        terminal.until("constat>")
        terminal.type("\x04")
        assert terminal.process.wait(LONGEST) == 0
    finally:
        terminal.close()
    history = shop / ".constat" / "repl-history"
    assert "+is_vip(C001)" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_an_interruption_ends_the_answer_and_not_the_prompt(shop: Path) -> None:
    terminal = Terminal("--project", str(shop), "--no-history")
    try:
        terminal.until("constat>")
        terminal.type(".decl n(x: number)\r")
        terminal.until("declared")
        terminal.type("n(?x) :- ?x = range(0, 300000000).\r")
        terminal.until("constat>")
        terminal.type("n(?x)\r")
        time.sleep(1)
        os.killpg(terminal.process.pid, signal.SIGINT)
        terminal.until("constat>")
        terminal.type("/quit\r")
        assert terminal.process.wait(LONGEST) == 0
    finally:
        terminal.close()
    assert not (shop / ".constat" / "repl-history").exists()
