"""Who says that a goal is what was asked: stated, confirmed, unconfirmed, and what ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import jsonschema
import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.library.reviewing.confirmations import FILE_NAME, FOLDER, Confirmations
from constat.proof.translation import NOBODY, Status, Translation
from constat.session import Session, confirmation
from tests.authoring.scripted import Scripted, proposed
from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.session.result import Answered

VIP = "Is customer C001 a VIP?"
NOT = "Is customer C002 a VIP?"
DATED = """
@[says = "{customer} ordered late"]
.decl late(customer: CustomerId)
late(?c) :- placed_order(?c, _, _, ?day), ?day >= "2025-06-01".
"""


@pytest.fixture
def session(shop: Path) -> Iterator[Session]:
    with Session(shop) as found:
        yield found


def ask(session: Session, question: str = VIP, goal: str = "is_vip(C001)") -> Answered:
    return session.ask(question, client=Scripted(proposed(goal)))


def test_what_nobody_confirmed_is_never_settled(session: Session) -> None:
    proved, denied = ask(session), ask(session, NOT, "is_vip(C002)")
    assert (proved.verdict, proved.exit_code) == (Verdict.PROVED, 3)
    assert (denied.verdict, denied.exit_code) == (Verdict.DISPROVED, 6)
    assert proved.translation.words == "C001 is a VIP"
    assert proved.translation.status is Status.UNCONFIRMED
    # The certificate is about the goal, and so is its verdict.
    assert session.verify(proved.result.certificate).exit_code == 0
    assert session.prove(question=VIP).exit_code == 3


def test_a_wrong_goal_is_not_settled_by_being_proved(session: Session) -> None:
    found = ask(session, "Is customer C001 not a VIP?")
    assert (found.verdict, found.exit_code) == (Verdict.PROVED, 3)


def test_a_typed_goal_is_stated(session: Session) -> None:
    found = session.prove("is_vip(C001)")
    assert found.translation is not None
    assert (found.translation.status, found.exit_code) == (Status.STATED, 0)
    with pytest.raises(ConstatError, match="C0981"):
        session.confirm(found, by="ada")


@pytest.mark.parametrize(
    ("question", "goal", "status"),
    [
        ("C001 is a VIP", "is_vip(C001)", Status.STATED),
        ("C001 is a VIP.", "is_vip(C001)", Status.STATED),
        ("C002 is a VIP", "is_vip(C001)", Status.UNCONFIRMED),
        ("C001 is not a VIP", "is_vip(C001)", Status.UNCONFIRMED),
        ("Only C001 is a VIP", "is_vip(C001)", Status.UNCONFIRMED),
        ("c001 is a VIP", "is_vip(C001)", Status.UNCONFIRMED),
        ("C005 may leave", "may_leave(C005)", Status.UNCONFIRMED),
        ("?c is a VIP", "is_vip(?c)", Status.UNCONFIRMED),
    ],
)
def test_the_sentence_of_a_goal_states_it(
    session: Session, question: str, goal: str, status: Status
) -> None:
    assert ask(session, question, goal).translation.status is status


def test_the_sentence_of_a_draft_states_nothing(session: Session) -> None:
    text = "C001 is certainly the best customer of all"
    rules = (
        '@[says = "{c} is certainly the best customer of all"]\n'
        ".decl best(c: CustomerId)\nbest(?c) :- customer(?c)."
    )
    found = session.ask(text, client=Scripted(proposed("best(C001)", rules)))
    assert found.translation.words == text
    assert found.translation.status is Status.UNCONFIRMED


def test_a_sentence_that_two_goals_have_states_neither(shop: Path) -> None:
    library = shop.parent.parent / "rules" / "customer-value" / "vip.dl"
    text = library.read_text(encoding="utf-8")
    twin = '\n@[says = "{customer} is a VIP"]\n.decl vip_too(customer: CustomerId)\n'
    library.write_text(text + twin + "vip_too(?c) :- is_vip(?c).\n", encoding="utf-8")
    with Session(shop) as session:
        assert ask(session, "C001 is a VIP").translation.status is Status.UNCONFIRMED


def test_a_sentence_that_can_be_cut_in_two_ways_states_nothing(shop: Path) -> None:
    library = shop.parent.parent / "rules" / "customer-value" / "vip.dl"
    text = library.read_text(encoding="utf-8")
    pair = '\n@[says = "{a} {b}"]\n.decl pair(a: CustomerId, b: CustomerId)\n'
    rule = "pair(?a, ?b) :- customer(?a), customer(?b).\n"
    library.write_text(text + pair + rule, encoding="utf-8")
    with Session(shop) as session:
        assert ask(session, "x y", "pair(x, y)").translation.status is Status.STATED
        found = ask(session, "x y z", 'pair("x y", z)')
        assert found.translation.status is Status.UNCONFIRMED


def case(shop: Path, name: str, expected: str) -> None:
    folder = shop.parent.parent / "rules" / "customer-value" / "cases"
    fact = 'customer_tier("C001", "gold").\n'
    text = f'.pragma "constat" "0.1"\n{fact}@[expect({expected})]\n.output is_vip\n'
    (folder / name).write_text(text, encoding="utf-8")


def test_the_question_of_a_case_states_its_goal(shop: Path) -> None:
    case(shop, "asked.dl", f'proved = "is_vip(C001)", question = "{VIP}"')
    with Session(shop) as session:
        assert ask(session).translation.status is Status.STATED
        assert ask(session).exit_code == 0
        assert ask(session, goal="is_vip(C003)").translation.status is Status.UNCONFIRMED
        assert ask(session, VIP.lower()).translation.status is Status.UNCONFIRMED
    rules = shop.parent.parent / "rules" / "customer-value"
    assert run("rules", "test", rules, "-k", "asked").code == 0
    # Two cases that do not agree state nothing.
    case(shop, "again.dl", f'disproved = "is_vip(C002)", question = "{VIP}"')
    with Session(shop) as session:
        assert ask(session).translation.status is Status.UNCONFIRMED


def test_a_question_of_several_goals_is_a_mistake_of_the_case_and_states_nothing(
    shop: Path,
) -> None:
    goals = 'proved = "is_vip(C001)", disproved = "is_vip(C002)"'
    case(shop, "asked.dl", f'{goals}, question = "{VIP}"')
    with Session(shop) as session:
        assert ask(session).translation.status is Status.UNCONFIRMED
    rules = shop.parent.parent / "rules" / "customer-value"
    ran = run("rules", "test", rules, "-k", "asked")
    assert "`question` is one goal's, and there are 2" in ran.out + ran.err


@pytest.mark.parametrize(
    ("question", "goal", "stated"),
    [
        ("a knows b", "knows(a, b)", True),
        ("a knows b.", "knows(a, b)", False),
        ("a knows b.", 'knows(a, "b.")', False),
        ("a knows b", 'knows(a, "b.")', False),
        ("a b knows c", 'knows("a  b", c)', False),
        ("a b knows c", 'knows("a b", c)', True),
    ],
)
def test_a_mark_or_blank_of_a_value_is_no_mark_of_the_sentence(
    shop: Path,
    question: str,
    goal: str,
    stated: bool,  # noqa: FBT001  a parameter of the cases
) -> None:
    library = shop.parent.parent / "rules" / "customer-value" / "vip.dl"
    text = library.read_text(encoding="utf-8")
    pair = '\n@[says = "{a} knows {b}"]\n.decl knows(a: CustomerId, b: CustomerId)\n'
    rule = "knows(?a, ?b) :- customer(?a), customer(?b).\n"
    library.write_text(text + pair + rule, encoding="utf-8")
    with Session(shop) as session:
        found = ask(session, question, goal)
    assert (found.translation.status is Status.STATED) is stated


def test_what_depends_on_the_conversation_is_confirmed_for_that_conversation(
    session: Session,
) -> None:
    def talked(name: str, *questions: tuple[str, str]) -> Answered:
        found = [
            session.ask(question, client=Scripted(proposed(goal)), conversation=name)
            for question, goal in questions
        ]
        return found[-1]

    first, his = (VIP, "is_vip(C001)"), ("Is he blocked?", "blocked(C001)")
    session.confirm(talked("one", first, his), by="ada")
    other = ("Is customer C003 a VIP?", "is_vip(C003)")
    assert not talked("two", other, his).translation.confirmed, "he is somebody else there"
    # A question that says all that it is about means the same wherever it is asked.
    session.confirm(talked("three", other, first), by="ada")
    assert talked("four", his, first).translation.confirmed


def test_a_confirmation_settles_and_says_whose_it_is(session: Session) -> None:
    session.confirm(ask(session), by="ada")
    found = ask(session)
    assert (found.exit_code, found.translation.by) == (0, "ada")
    assert found.translation.at.endswith("Z")
    session.confirm(ask(session, NOT, "is_vip(C002)"), by="ada")
    assert ask(session, NOT, "is_vip(C002)").exit_code == 5


def test_the_accepted_goal_is_confirmed_and_another_is_not_proved(session: Session) -> None:
    client = Scripted(proposed("is_vip(C001)"))
    found = session.ask(VIP, client=client, accept_goal="is_vip( customer = C001 )", by="ada")
    assert (found.exit_code, found.translation.by) == (0, "ada")
    for wanted in ("is_vip(C002)", "blocked(C001)", "is_vip(?c)", "nonsense"):
        with pytest.raises(ConstatError) as caught:
            session.ask(VIP, client=client, accept_goal=wanted, by="ada")
        assert caught.value.exit_code == 2
        assert caught.value.diagnostics[0].code == "C0980"


def test_the_names_of_variables_do_not_make_another_goal(session: Session) -> None:
    client = Scripted(proposed("is_vip(?customer)"))
    found = session.ask("Who is a VIP?", client=client, accept_goal="is_vip(?c)", by="ada")
    assert found.translation.confirmed


def test_where_a_confirmation_is_required_nothing_else_settles(session: Session) -> None:
    client = Scripted(proposed("is_vip(C001)"))
    assert session.ask(VIP, client=client, require_confirmed=True).exit_code == 4
    session.confirm(ask(session), by="ada")
    assert session.ask(VIP, client=client, require_confirmed=True).exit_code == 0


def confirmed_then(shop: Path, question: str = VIP) -> Translation:
    """Confirm a reading, and read the same question again."""
    with Session(shop) as session:
        session.confirm(ask(session), by="ada")
    with Session(shop) as session:
        return ask(session, question).translation


def edited(shop: Path, name: str, before: str, after: str) -> None:
    roots = (shop, shop.parent.parent / "rules" / "customer-value")
    path = next(root / name for root in roots if (root / name).exists())
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("vip.dl", "?total > ?threshold", "?total >= ?threshold"),
        ("vip.dl", '"{customer} is a VIP"', '"{customer} is a VIP of ours"'),
        ("revenue.dl", "?day >= ?from", "?day > ?from"),
        ("sources.dl", "WHERE lifted_on IS NULL", "WHERE lifted_on IS NOT NULL"),
        ("sources.dl", 'config")\n.input revenue', 'sales", query = "SELECT 1")\n.input revenue'),
    ],
)
def test_a_change_below_the_goal_ends_a_confirmation(
    shop: Path, name: str, before: str, after: str
) -> None:
    assert confirmed_then(shop).confirmed
    edited(shop, name, before, after)
    with Session(shop) as session:
        found = ask(session).translation
    assert found.status is Status.UNCONFIRMED
    assert "ada confirmed it at" in found.ended
    assert "have changed since" in found.ended


def test_a_change_elsewhere_ends_none(shop: Path) -> None:
    assert confirmed_then(shop).confirmed
    edited(shop, "vip.dl", "{customer} is a regular customer", "{customer} is regular")
    with Session(shop) as session:
        assert ask(session).translation.confirmed


def test_another_character_of_the_question_ends_a_confirmation(shop: Path) -> None:
    assert confirmed_then(shop, VIP).confirmed
    assert not confirmed_then(shop, VIP.replace("?", " ?")).confirmed
    assert not confirmed_then(shop, VIP.replace("VIP", "Vip")).confirmed
    assert confirmed_then(shop, f"  {VIP}\n").confirmed, "blanks around it are no part of it"


def test_another_goal_ends_a_confirmation(session: Session) -> None:
    session.confirm(ask(session), by="ada")
    found = ask(session, goal="is_vip(C003)").translation
    assert (found.status, found.ended[-15:]) == (Status.UNCONFIRMED, "goal: is_vip(C001)"[-15:])


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize(
    ("question", "goal", "rules", "ends"),
    [
        ("Is C001 a VIP today?", "is_vip(C001)", "", True),
        ("Did C001 order in the last 6 months?", "late(C001)", DATED, True),
        ("Did C001 order recently?", "late(C001)", DATED, True),
        ("Did C001 order late?", "late(C001)", DATED, True),
        ("Did C001 order on 2025-06-01 or later?", "late(C001)", DATED, False),
        (VIP, "is_vip(C001)", "", False),
    ],
)
def test_the_next_day_ends_what_depends_on_the_day(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    goal: str,
    rules: str,
    ends: bool,  # noqa: FBT001  a parameter of the cases
) -> None:
    client = Scripted(proposed(goal, rules))
    monkeypatch.setattr(confirmation, "today", lambda: "2026-11-23")
    session.confirm(session.ask(question, client=client), by="ada")
    assert session.ask(question, client=client).translation.confirmed
    monkeypatch.setattr(confirmation, "today", lambda: "2026-11-24")
    found = session.ask(question, client=client).translation
    assert found.confirmed is not ends
    assert ("for another day: 2026-11-23" in found.ended) is ends


def test_another_draft_of_the_same_goal_ends_a_confirmation(session: Session) -> None:
    first = Scripted(proposed("late(C001)", DATED))
    question = "Did C001 order on 2025-06-01, or on 2025-07-01?"
    session.confirm(session.ask(question, client=first), by="ada")
    assert session.ask(question, client=first).translation.confirmed
    other = Scripted(proposed("late(C001)", DATED.replace("06-01", "07-01")))
    assert not session.ask(question, client=other).translation.confirmed


def test_a_withdrawal_ends_it_and_stays(session: Session) -> None:
    session.confirm(ask(session), by="ada")
    assert [one.by for one in session.confirmations.withdraw(VIP, "bob")] == ["ada"]
    assert not ask(session).translation.confirmed
    assert session.confirmations.withdraw(VIP, "bob") == ()
    assert [one.action for one in session.confirmations.records()] == ["confirmed", "withdrawn"]
    session.confirm(ask(session), by="cleo")
    assert ask(session).translation.by == "cleo"


@pytest.mark.parametrize("by", ["", "  ", "a\nb", "x" * 201, "a\u202eb"])
def test_a_confirmation_needs_a_name(session: Session, by: str) -> None:
    with pytest.raises(ConstatError, match="C0981"):
        session.confirm(ask(session), by=by)
    assert session.confirmations.records() == ()


@pytest.mark.parametrize("damage", [b"{}\n", b"x", b'{"a": 1}', b"\n"])
def test_a_damaged_file_confirms_nothing(session: Session, damage: bytes) -> None:
    session.confirm(ask(session), by="ada")
    path = session.project.state / FOLDER / FILE_NAME
    path.write_bytes(path.read_bytes() + damage)
    with pytest.raises(ConstatError, match="C0981"):
        ask(session)


def test_a_record_that_is_spelled_otherwise_is_none(session: Session) -> None:
    session.confirm(ask(session), by="ada")
    path = session.project.state / FOLDER / FILE_NAME
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    with pytest.raises(ConstatError, match="C0981"):
        ask(session)


WRITER = """
    import sys
    from pathlib import Path
    from constat.library.reviewing.confirmations import Confirmations
    from constat.proof.translation import Status, Translation

    store, who = Confirmations(Path(sys.argv[1])), sys.argv[2]
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        question = f"{who} {number}?"
        store.confirm(Translation("p(1)", "p", Status.UNCONFIRMED, question), who)
        print(number, flush=True)
"""


def writer(state: Path, who: str, count: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", textwrap.dedent(WRITER), str(state), who, str(count)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.faults
def test_two_processes_lose_no_confirmation(tmp_path: Path) -> None:
    both = [writer(tmp_path, who, 40) for who in ("ada", "bob")]
    time.sleep(2)
    for one in both:
        # Both have been loaded by now, and begin together.
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.flush()
    for one in both:
        one.communicate()
        assert one.returncode == 0
    kept = {one.question for one in Confirmations(tmp_path).records()}
    assert kept == {f"{who} {number}?" for who in ("ada", "bob") for number in range(40)}


def test_what_was_confirmed_survives_a_kill(tmp_path: Path) -> None:
    with writer(tmp_path, "ada", 100_000) as one:
        assert one.stdout is not None
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.flush()
        told = [int(one.stdout.readline()) for _ in range(5)]
        os.kill(one.pid, signal.SIGKILL)
        told += [int(line) for line in one.stdout.read().splitlines()]
    kept = {record.question for record in Confirmations(tmp_path).records()}
    assert {f"ada {number}?" for number in told} <= kept


def test_the_command_confirms_refuses_and_takes_back(shop: Path) -> None:
    def asked(*words: str) -> tuple[int, list[str]]:
        ran = run("ask", VIP, "--project", shop, "--quiet", *words)
        return ran.code, ran.out.splitlines()

    assert asked() == (
        3,
        [
            "in words: C001 is a VIP",
            "goal: is_vip(C001)",
            f"unconfirmed: {NOBODY}",
            "PROVED: is_vip(C001)",
        ],
    )
    assert asked("--accept-goal", "blocked(C001)", "--by", "ada") == (2, [])
    assert asked("--require-confirmed")[0] == 4
    code, lines = asked("--accept-goal", "is_vip(C001)", "--by", "ada")
    assert code == 0
    assert lines[2].startswith("confirmed: ada confirmed the goal at 20")
    assert asked("--require-confirmed")[0] == 0
    told = run("ask", VIP, "--project", shop, "--format", "json")
    translation = told.json["translation"]
    assert (told.json["exit_code"], told.json["result"]["exit_code"]) == (0, 0)
    assert (translation["status"], translation["confirmed_by"]) == ("confirmed", "ada")
    assert asked("--unconfirm", "--by", "bob")[0] == 0
    assert asked()[0] == 3


LACKING = """
@[says = "{c} is insured"]
.decl insured(c: CustomerId)
@[says = "{c} is covered"]
.decl covered(c: CustomerId)
covered(?c) :- customer(?c), insured(?c).
"""
COVERED = "Is C001 covered?"


def lacking(shop: Path) -> str:
    """Ask a question whose draft lacks a fact; give the draft's id."""
    with Session(shop) as session:
        found = session.ask(COVERED, client=Scripted(proposed("covered(C001)", LACKING)), by="bob")
        assert found.verdict is Verdict.UNRESOLVED
        assert found.result.missing == ("insured(C001)",)
        assert found.draft is not None
        return found.draft.short


def test_a_fact_that_a_draft_lacks_is_stated_and_its_goal_tried_again(shop: Path) -> None:
    draft = lacking(shop)
    words = ("facts", "add", "insured(C001)", "--by", "ada", "--project", shop)
    unknown = run(*words)
    assert (unknown.code, "C0181" in unknown.err) == (2, True)
    ran = run(*words, "--draft", draft)
    assert ran.code == 3, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "added: insured(C001), stated by ada"
    assert f"question: {COVERED}" in lines
    assert "in words: C001 is covered" in lines
    assert "PROVED UNDER assumptions: covered(C001)" in lines
    assert "assuming: user ada says insured(C001)" in ran.out
    listed = run("facts", "list", "--project", shop)
    assert "insured(C001), stated by ada" in listed.out
    back = ("facts", "retract", "insured(C001)", "--by", "ada", "--project", shop)
    assert run(*back).code == 2
    assert run(*back, "--draft", draft).code == 0
    with Session(shop) as session:
        assert session.prove_draft(draft).verdict is Verdict.UNRESOLVED


def test_a_fact_that_a_draft_lacks_is_told_in_words(shop: Path) -> None:
    draft = lacking(shop)
    words = ("facts", "tell", "C001 is insured.", "--as", "insured(C001)", "--by", "ada", "--yes")
    ran = run(*words, "--draft", draft, "--project", shop)
    assert ran.code == 3, ran.err
    assert "added: insured(C001), told by ada" in ran.out
    assert "PROVED UNDER assumptions: covered(C001)" in ran.out
    again = run(*words, "--draft", draft, "--project", shop, "--format", "json")
    assert again.json["verdict"] == "PROVED_UNDER"
    added = ("facts", "add", "insured(C001)", "--by", "ada", "--draft", draft, "--project", shop)
    told = run(*added, "--format", "json")
    assert told.json["then"]["verdict"] == "PROVED_UNDER"
    jsonschema.validate(told.json, run("schema", "facts", "add").json)


def approved(shop: Path, draft: str, *words: str) -> tuple[int, str]:
    by = ("--by", "ada", "--reason", "so it is", "--project", shop)
    ran = run("rules", "approve", draft, *by, *words)
    return ran.code, ran.out + ran.err


def test_approving_a_draft_is_not_confirming_its_question(shop: Path) -> None:
    draft = lacking(shop)
    code, told = approved(shop, draft)
    assert code == 0
    assert "whether the goal is what was asked, nobody has confirmed" in told
    with Session(shop) as session:
        assert ask(session, COVERED, "covered(C001)").exit_code == 4
        assert session.confirmations.records() == ()


def test_approving_with_the_goal_confirms_its_question_separately(shop: Path) -> None:
    draft = lacking(shop)
    code, told = approved(shop, draft, "--accept-goal", "covered(C002)")
    assert (code, "C0980" in told) == (2, True)
    with Session(shop) as session:
        assert session.drafts.get(draft).status == "proposed", "nothing was let in"
    code, told = approved(shop, draft, "--accept-goal", "covered(C001)")
    assert code == 0
    assert f"confirmed: covered(C001) is what was asked: {COVERED}" in told
    with Session(shop) as session:
        found = ask(session, COVERED, "covered(C001)").translation
        assert (found.status, found.by) == (Status.CONFIRMED, "ada")
        # The approval and the confirmation are two records: the one may end without the other.
        session.confirmations.withdraw(COVERED, "ada")
        assert not ask(session, COVERED, "covered(C001)").translation.confirmed
        assert session.drafts.get(draft).status == "approved"


def test_on_a_terminal_the_question_of_a_draft_is_asked_once(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, shown = lacking(shop), []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)

    def confirm(text: str, **_: object) -> bool:
        shown.append(text)
        return True

    monkeypatch.setattr("click.confirm", confirm)
    code, told = approved(shop, draft)
    assert (code, len(shown)) == (0, 1)
    assert told.index(f"question: {COVERED}") < told.index("in words: C001 is covered")
    with Session(shop) as session:
        assert ask(session, COVERED, "covered(C001)").translation.by == "ada"


def test_advice_about_a_negated_goal_is_no_other_question(shop: Path) -> None:
    ran = run("prove", "!is_vip(C001)", "--project", shop)
    assert ran.code == 2
    assert "the atom alone" not in ran.err
    assert "derive what is not so" in ran.err
    assert "does not hold, the verdict is DISPROVED" in ran.err
