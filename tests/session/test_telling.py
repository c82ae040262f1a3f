"""Facts told in words: found, held against the words, confirmed, kept with their sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.authoring.telling import examine, pointed
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.model import Reply, ToolCall, Usage
from tests.cli.running import run
from tests.loopback.server import WRITTEN_MODEL, ModelServer, Written
from tests.model.speaking import KEY
from tests.session.reviewed import make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback.server import Asked

MARCH = "There were 1 million people at the march. It was a sunny day."
ATOM = "crowd(march, 1000000)"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_project(tmp_path_factory.mktemp("told"))
    rules = (folder / "modelled.dl").read_text(encoding="utf-8")
    rules += '@[says = "{place} is full"] .decl full(place: symbol)\n'
    rules += "full(?p) :- crowd(?p, ?n), ?n > 999999.\n"
    (folder / "modelled.dl").write_text(rules, encoding="utf-8")
    return folder


@pytest.fixture
def session(place: Path) -> Iterator[Session]:
    with Session(place) as found:
        yield found


# Each text with the one fact that it is asked for.
SAID = [
    (MARCH, ATOM),
    ("Some came. The march had 1,000,000 people!", ATOM),
    ("At the March there were 1.0 million people", ATOM),
    ("march: 1000000", ATOM),
    ("Äh. " * 1_500 + MARCH, ATOM),
]
NOT_SAID = [
    ("There were about 1 million people at the march.", ATOM, "about"),
    ("There were not 1 million people at the march.", ATOM, "denies"),
    ("Were there 1 million people at the march?", ATOM, "asks"),
    ("Maybe there were 1 million people at the march.", ATOM, "supposes"),
    ("There were 2 million people at the march.", ATOM, "1000000"),
    ("There were many people. 1 million is a number. We saw the march.", ATOM, "name this"),
    ("There were 1 million people at the marches.", ATOM, "march"),
    (MARCH, "crowd(march, many)", "not an integer"),
    (MARCH, "good(march)", "derived"),
    (MARCH, "crowds(march, 1000000)", "no predicate"),
    (MARCH, "crowd(march)", ""),
]


@pytest.mark.parametrize(("text", "atom"), SAID)
def test_what_one_sentence_says_is_a_fact(session: Session, text: str, atom: str) -> None:
    told = session.provide_facts(text, author="alice", atoms=[atom])
    (said,) = told.said
    assert said.fact == ATOM
    assert text.encode()[said.start : said.end].decode() == said.sentence
    assert "million" in said.sentence or "000" in said.sentence


@pytest.mark.parametrize(("text", "atom", "reason"), NOT_SAID)
def test_what_the_words_do_not_say_is_refused(
    session: Session, text: str, atom: str, reason: str
) -> None:
    told = session.provide_facts(text, author="alice", atoms=[atom])
    assert told.said == ()
    (refused,) = told.refused
    assert reason in refused.reason


@pytest.mark.parametrize(
    ("text", "author", "code"),
    [
        ("", "alice", "C0888"),
        ("x" * 200_000, "alice", "C0888"),
        ("a\x1b[2Jb", "alice", "C0888"),
        ("a\u202eb", "alice", "C0888"),
        ("a\0b", "alice", "C0888"),
        (MARCH, " ", "C0551"),
        (MARCH, "al\nice", "C0551"),
    ],
)
def test_hostile_words_are_refused(session: Session, text: str, author: str, code: str) -> None:
    with pytest.raises(ConstatError) as problem:
        session.provide_facts(text, author=author, atoms=[ATOM])
    assert problem.value.diagnostics[0].code == code


def test_a_told_fact_is_kept_with_its_sentence(tmp_path: Path, place: Path) -> None:
    text = f"Grüße aus Köln. {MARCH}"
    with Session(place) as session:
        assert session.prove("full(march)").verdict.value == "UNRESOLVED"
        told = session.provide_facts(text, author="alice", goal="full(march)", atoms=[ATOM])
        assert session.facts.list("crowd") == ()
        (kept,) = told.keep("by phone")
        result = told.retry()
        assert result.verdict.value == "PROVED_UNDER"
        assert [one.text for one in result.assumptions] == [f"user alice says {ATOM}"]
        report = check_certificate(result.certificate)
        assert report.accepted
        quote = attestations(result.certificate)[0]["quote"]
        words = text.encode()[quote["start"] : quote["end"]].decode()
        assert words == quote["text"] == "There were 1 million people at the march."
        assert kept.told is not None
        assert (kept.note, quote["hash"]) == ("by phone", kept.told.hash)
        assert session.facts.list("crowd") == (kept,)
        session.facts.retract(ATOM, by="alice")
        assert session.facts.list("crowd", history=True)[0].told == kept.told


def attestations(certificate: bytes) -> list[dict[str, Any]]:
    sources = json.loads(certificate)["sources"]
    return [one["attestation"] for one in sources if one["attestation"] is not None]


# ---------------------------------------------------------------------- with a model


def pointing(asked: Asked) -> Written:
    """Answer as somebody wrote by hand: one fact that is there, and others that are not."""
    facts = [
        {"predicate": "crowd", "values": ["march", "1,000,000"], "words": "1 million people"},
        {"predicate": "crowd", "values": ["march", "2000000"], "words": "1 million people"},
        {"predicate": "crowd", "values": ["parade", "1000000"], "words": "a sunny day"},
        {"predicate": "crowd", "values": ["march", "1) . good("], "words": "people"},
        {"predicate": "good", "values": ["march"], "words": "at the march"},
        {"predicate": "nothing", "values": [], "words": ""},
        {"predicate": "crowd", "values": ["march"], "words": ""},
    ]
    assert "crowd(place: symbol, people: number)" in asked.system
    assert "good(" not in asked.system
    return Written(calls=(("state_facts", {"facts": facts}),))


@pytest.fixture
def modelled(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = (place / "constat.yaml").read_text(encoding="utf-8")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ModelServer(pointing) as server:
        model = {"provider": "anthropic", "model": WRITTEN_MODEL, "base_url": server.address}
        told = {**json.loads(before), "models": {"named": {"written": model}}}
        (place / "constat.yaml").write_text(json.dumps(told), encoding="utf-8")
        yield place
    (place / "constat.yaml").write_text(before, encoding="utf-8")


def test_a_model_points_and_the_words_decide(modelled: Path) -> None:
    with Session(modelled) as session:
        told = session.provide_facts(MARCH, author="alice")
        assert [one.fact for one in told.said] == [ATOM]
        assert len(told.refused) == 6
        (kept,) = told.keep()
        result = session.prove(ATOM)
        (said,) = attestations(result.certificate)
        assert said["agent"] == {"digest": None, "kind": "person", "name": "alice", "version": None}
        assert WRITTEN_MODEL in str(said["note"])
        assert kept.told is not None
        assert (kept.told.tool, kept.told.prompt) == (WRITTEN_MODEL, told.prompt)
        assert check_certificate(result.certificate).accepted
        session.facts.retract(ATOM, by="alice")


@pytest.mark.parametrize(
    "facts",
    [
        None,
        7,
        ["no fact"],
        [{"predicate": 7, "values": [], "words": ""}],
        [{"predicate": "crowd", "values": ["a", None], "words": ""}],
        [{"predicate": "crowd", "values": ["a", "9" * 9_999], "words": ""}],
        [{"predicate": "crowd", "values": ["a\x1b", "1"], "words": ""}] * 99,
    ],
)
def test_what_is_no_fact_at_all_is_refused(session: Session, facts: object) -> None:
    call = ToolCall("1", "state_facts", {"facts": facts})
    sha = "sha256:" + "0" * 64
    reply = Reply(WRITTEN_MODEL, "", (call,), "tools", Usage(), sha, sha, "")
    claims, refused = pointed(reply, session.program)
    said, unsaid = examine(session.program, MARCH, claims)
    assert said == ()
    assert bool(refused or unsaid) is isinstance(facts, list)
    assert len(claims) <= 50


def test_without_a_model_the_help_names_another_way(session: Session) -> None:
    with pytest.raises(ConstatError) as problem:
        session.provide_facts(MARCH, author="alice")
    (found,) = problem.value.diagnostics
    assert (found.code, "--as" in found.help) == ("C0821", True)


# ---------------------------------------------------------------------- the command


def test_the_command_keeps_nothing_that_nobody_confirms(place: Path) -> None:
    given = ("facts", "tell", MARCH, "--as", ATOM, "--by", "alice", "--project", place)
    ran = run(*given)
    assert (ran.code, "says: " + ATOM in ran.out) == (2, True)
    assert "C0888" in ran.err
    assert run("facts", "list", "--project", place).out == ""
    kept = run(*given, "--yes", "--then", "full(march)")
    assert (kept.code, f"added: {ATOM}, told by alice" in kept.out) == (3, True)
    assert "PROVED UNDER" in kept.out
    assert "1 million" in run("facts", "list", "--project", place).out
    run("facts", "retract", ATOM, "--by", "alice", "--project", place)
    denied = ("facts", "tell", "No march", "--as", ATOM, "--by", "alice", "--yes")
    refused = run(*denied, "--project", place)
    assert (refused.code, "refused: " + ATOM in refused.err) == (4, True)
