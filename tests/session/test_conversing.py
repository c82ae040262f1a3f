"""What is asked goes into a memory, and the next question is told of it, within its bound.

The replies are written by hand and come from a server of ours on the loopback interface, through
the providers' own libraries; no model is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from constat import Session
from constat.cli.repl import ReplContext, enter
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.memory import Memory, estimate
from constat.project import load_project
from constat.session.conversing import Before, Conversation, Done, Exchange
from constat.session.repl import Notebook
from tests.authoring.scripted import Scripted, proposed
from tests.loopback.server import Asked, ModelServer, Written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES: Final = """\
.pragma "constat" "0.1"
/// Accounts with their tier.
@[says = "{account} is {tier}"]
.decl tier(account: symbol, tier: symbol)
tier("A1", "gold").
tier("A2", "silver").
/// Accounts that count.
@[says = "{account} counts"]
.decl counts(account: symbol)
@[says = "{account} is gold"]
counts(?account) :- tier(?account, "gold").
"""
MODELS: Final = """
models:
  named:
    author: {{provider: {provider}, model: written-answers, base_url: "{address}", key: NO_SECRET}}
"""
FIRST: Final = "Does A1 count? You must never name A9."


def written(asked: Asked) -> Written:
    """Read the one question of a turn: `And A2?` is understood from what was said before."""
    question = asked.question.rpartition("The question:")[2]
    goal = "tier(A2, ?tier)" if "And which tier" in question else "counts(A1)"
    if "And A2?" in question:
        goal = "counts(A2)"
    return Written(calls=(("propose", {"goal": goal, "rules": ""}),))


@pytest.fixture
def asked(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, ModelServer]]:
    monkeypatch.setenv("NO_SECRET", "sk-planted-key")
    (tmp_path / "own.dl").write_text(RULES)
    with ModelServer(written) as server:
        models = MODELS.format(
            provider=getattr(request, "param", "anthropic"), address=server.address
        )
        (tmp_path / "constat.yaml").write_text(f"rules: [own.dl]\n{models}")
        yield tmp_path, server


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    (tmp_path / "constat.yaml").write_text("rules: []\n")
    return tmp_path


def configured(folder: Path, more: str) -> None:
    file = folder / "constat.yaml"
    file.write_text(f"{file.read_text()}\n{more}\n")


@pytest.mark.parametrize(
    "asked", ["anthropic", pytest.param("openai", marks=pytest.mark.slow)], indirect=True
)
def test_the_next_question_is_told_what_was_said(asked: tuple[Path, ModelServer]) -> None:
    folder, server = asked
    with Session(folder) as session:
        assert session.ask(FIRST, conversation="accounts").verdict is Verdict.PROVED
        found = session.ask("And A2?", conversation="accounts")
    assert found.verdict is Verdict.DISPROVED
    assert found.remarks == ()
    before, after = server.asked[0].question, server.asked[1].question
    assert "What was said before" not in before
    assert f"person: {FIRST}" in after
    assert 'called: prove {"goal": "counts(A1)"}' in after
    # A verdict follows from values of data, and these may not be told here.
    assert '"verdict": "not told"' in after
    for one in server.asked:
        assert "sk-planted-key" not in str(one.body)


def test_a_question_without_a_conversation_is_told_nothing_and_is_kept(
    asked: tuple[Path, ModelServer],
) -> None:
    folder, server = asked
    with Session(folder, cache=False) as session:
        first = session.ask(FIRST)
        session.ask(FIRST)
        state = session.project.state
    assert server.asked[0].question == server.asked[1].question
    with Memory(state, f"question-{first.transcript}") as memory:
        said = [(one.passage.author.name, one.passage.text) for one in memory.history.texts]
        assert [author for author, _ in said] == ["HUMAN", "ASSISTANT", "TOOL"]
        wishes = [one.fact.value for one in memory.history.claims if one.fact.key == "must_not"]
        assert wishes == ["You must never name A9."]


def test_what_does_not_fit_is_told_as_facts_with_their_places(plain: Path) -> None:
    configured(plain, "memory: {tokens: 300}")
    done = [
        Done(
            "get_order",
            {"id": f"O-{number}"},
            f'{{"order": "O-{number}", "state": "open", "note": "{"so " * 40}"}}',
        )
        for number in range(16)
    ]
    conversation = Conversation(load_project(plain), "accounts")
    assert conversation.before("And A2?") == Before()
    assert conversation.keep(Exchange(FIRST, tuple(done))) == ()
    told = conversation.before("And A2?").text
    assert "[CONTEXT FROM FACTS]" in told
    assert "You must never name A9." in told
    assert "O-15" in told
    assert told.count("so so so") < 28
    assert estimate(told) < 350


def test_orders_that_do_not_fit_are_named_and_no_room_at_all_is_refused(plain: Path) -> None:
    configured(plain, "memory: {tokens: 100}")
    conversation = Conversation(load_project(plain), "accounts")
    orders = [f"You must never forget rule {number}, whatever is asked." for number in range(20)]
    conversation.keep(Exchange("\n".join(orders)))
    conversation.keep(Exchange("Is that clear?"))
    told = conversation.before("And A2?").text
    assert "Is that clear?" in told
    assert 0 < told.count("forget rule") + told.count("@m0") < 40
    settings = plain / "constat.yaml"
    settings.write_text(settings.read_text().replace("tokens: 100", "tokens: 5"))
    conversation = Conversation(load_project(plain), "accounts")
    with pytest.raises(ConstatError) as raised:
        conversation.before("And A2?")
    assert raised.value.diagnostics[0].code == "C0932"


@pytest.mark.parametrize("facts", [False, True])
def test_values_of_data_are_told_only_where_the_project_says_so(
    asked: tuple[Path, ModelServer],
    facts: bool,  # noqa: FBT001
) -> None:
    folder, server = asked
    if facts:
        configured(folder, "authoring: {facts: true}")
    with Session(folder) as session:
        session.ask("And which tier has the other?", conversation="accounts")
        session.ask(FIRST, conversation="accounts")
    assert ("silver" in server.asked[-1].question) is facts
    assert ('"verdict": "PROVED' in server.asked[-1].question) is facts
    # What was told while that was allowed is not told once it is not any more.
    file = folder / "constat.yaml"
    file.write_text(file.read_text().replace("facts: true", "facts: false"))
    assert "silver" not in Conversation(load_project(folder), "accounts").before("So?").text


def test_a_constant_of_a_person_is_known_and_one_of_a_model_is_not(
    asked: tuple[Path, ModelServer],
) -> None:
    folder, _ = asked
    rules = '.decl mine(a: symbol)\nmine(?a) :- tier(?a, "platinum").'
    with Session(folder) as session:

        def invented(question: str) -> tuple[str, ...]:
            client = Scripted(proposed("mine(A1)", rules))
            return session.ask(question, conversation="c", client=client).invented

        assert "platinum" in invented("Is A1 mine?")
        # What came of a goal of the model, or of what it looked for, does not make it known.
        proved = Done("prove", {"goal": "best(?tier)"}, '{"rows": [{"tier": "platinum"}]}')
        looked_up = Done("find_tiers", {"like": "platinum"}, "platinum: no such tier")
        Conversation(session.project, "c").keep(Exchange("Which are there?", (proved, looked_up)))
        assert "platinum" in invented("And now?")
        Conversation(session.project, "c").keep(Exchange("I mean platinum ones."))
        assert "platinum" not in invented("So?")


def test_what_is_typed_in_the_repl_is_one_conversation(asked: tuple[Path, ModelServer]) -> None:
    folder, server = asked
    with Session(folder) as session, Notebook(session) as notebook:
        context = ReplContext(notebook, "ann")
        assert enter(context, "counts(A1)")
        assert enter(context, "And A2?")
        name = notebook.conversation
        with Memory(session.project.state, name) as memory:
            assert len(memory.history.messages) == 6
    assert "person: counts(A1)" in server.asked[-1].question
    assert '"verdict": "not told"' in server.asked[-1].question


def test_an_answer_stands_where_the_exchange_cannot_be_kept(
    asked: tuple[Path, ModelServer],
) -> None:
    folder, _ = asked
    with Session(folder) as session:
        state = session.project.state
        state.mkdir(exist_ok=True)
        (state / "memory.sqlite").mkdir()
        with pytest.raises(ConstatError, match="C0800"):
            session.ask(FIRST, conversation="accounts")
    conversation = Conversation(load_project(folder), "accounts")
    assert [one.code for one in conversation.keep(Exchange("Hello"))] == ["C0931"]


def test_rules_of_ones_own_decide_what_is_told(plain: Path) -> None:
    (plain / "mine").mkdir()
    (plain / "mine" / "more.dl").write_text("this is no rule")
    configured(plain, "memory: {rules: mine, tokens: 30}")
    conversation = Conversation(load_project(plain), "accounts")
    conversation.keep(Exchange(FIRST, (Done("get_order", {"id": 1}, "It is open. " * 9),)))
    with pytest.raises(ConstatError) as raised:
        conversation.before("And A2?")
    assert "more.dl" in str(raised.value.diagnostics[0].span)


@pytest.mark.parametrize(
    "wrong", ["memory: {tokens: 2000000}", "memory: {rules: nowhere}", "memory: {rules: ../..}"]
)
def test_a_wrong_setting_is_refused(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "constat.yaml").write_text(f"rules: []\n{wrong}\n")
    with pytest.raises(ConstatError) as raised:
        load_project(tmp_path)
    assert raised.value.diagnostics[0].code == "C0933"
