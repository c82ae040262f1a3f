"""`constat memory`: logs of both providers come in, facts with their places come out."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from constat.memory import HeldAttachments, Memory, Message, Role, Text
from constat.memory.archive import Archive
from constat.memory.decisions import rules_folder
from constat.memory.extract.by_model import TOOL
from constat.memory.journal import forget
from constat.memory.logs import read_log, write_log
from constat.memory.messages import MessageFormatError
from tests.cli.running import Ran, run
from tests.examples.shop import ROOT
from tests.loopback.server import ModelServer, Written
from tests.memory.logs import public_logs

LOG = ROOT / "examples" / "memory" / "refund.json"
CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"id": "O-7"}'}}
OPENAI = [
    {"role": "system", "content": "Be exact."},
    {"role": "user", "content": "Where is O-7?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"state": "sent"}'},
]
USE = {"type": "tool_use", "id": "c1", "name": "get", "input": {"id": "O-7"}}
GIVEN = {"type": "tool_result", "tool_use_id": "c1", "content": '{"state": "sent"}'}
ANTHROPIC = {
    "system": "Be exact.",
    "messages": [
        {"role": "user", "content": "Where is O-7?"},
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [GIVEN]},
    ],
}


def lines(*values: object) -> bytes:
    return "\n".join(map(json.dumps, values)).encode()


@pytest.mark.parametrize(
    ("content", "form", "count"),
    [
        (lines(OPENAI), "openai", 4),
        (lines(*OPENAI), "openai", 4),
        (lines({"messages": OPENAI}), "openai", 4),
        (lines({"messages": OPENAI[:2]}, {"messages": OPENAI}), "openai", 4),
        (lines({"messages": OPENAI}, {"messages": OPENAI[::-1]}), "openai", 8),
        (lines([{"traj": OPENAI}, {"traj": OPENAI[::-1]}]), "openai", 8),
        (lines({"request": {"messages": OPENAI}}), "openai", 4),
        (lines(ANTHROPIC), "anthropic", 4),
        (lines(ANTHROPIC["messages"]), "anthropic", 3),
        (b"\xef\xbb\xbf" + lines(ANTHROPIC), "anthropic", 4),
    ],
)
def test_a_log_is_read_as_programs_write_it(content: bytes, form: str, count: int) -> None:
    log = read_log(content, HeldAttachments())
    assert (log.format, len(log.messages)) == (form, count)
    assert sum(len(one.calls) for one in log.messages) == sum(
        len(one.results) for one in log.messages
    )


@pytest.mark.parametrize("value", [{"messages": OPENAI}, ANTHROPIC])
def test_a_log_is_written_as_it_was_read(value: dict[str, Any]) -> None:
    log = read_log(lines(value), HeldAttachments())
    written = json.loads(write_log(log, HeldAttachments()))
    again = read_log(json.dumps(written).encode(), HeldAttachments())
    assert [one.text for one in again.messages] == [one.text for one in log.messages]
    assert (again.format, "system" in written) == (log.format, "system" in value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff", "no UTF-8"),
        (b"[" * 100_000, "too deep"),
        (b"{}\n{", "line 2 is no JSON"),
        (b'{"answer": 42}', "neither a message nor holds messages"),
        (b"[]", "no messages"),
        (b'[{"role": "robot", "content": "a"}]', "no role"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(content: bytes, words: str) -> None:
    with pytest.raises(MessageFormatError, match=words):
        read_log(content, HeldAttachments())


@pytest.mark.data
def test_public_logs_are_read() -> None:
    folder = public_logs()
    for file in (*folder.glob("openhands/*.json"), *folder.glob("swe-agent/*.traj")):
        if "function_calling" not in file.name:
            assert read_log(file.read_bytes(), HeldAttachments()).messages, file.name


def remember(*words: object, store: Path) -> Ran:
    return run("memory", *map(str, words), "--store", store)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    ran = remember("compact", LOG, "--session", "refund", "--budget", 600, store=folder)
    assert ran.code == 0, ran.err
    assert "in sight: " in ran.out
    return folder


def test_a_context_holds_rules_wishes_and_errors_and_no_order_of_a_tool(store: Path) -> None:
    shown = remember("show", "--session", "refund", store=store).out
    assert 'constraint must_not "Never refund more than was paid." @m0[34:66]' in shown
    assert 'constraint must "Only use the gift card, please."' in shown
    assert "(not put right; refund did well in @m12)" in shown
    assert "twice" not in "".join(
        line for line in shown.splitlines() if line.startswith("constraint")
    )


def test_a_log_that_goes_on_is_read_from_where_it_is_known(tmp_path: Path) -> None:
    log = json.loads(LOG.read_text())
    part, whole = tmp_path / "part.json", tmp_path / "whole.json"
    part.write_text(json.dumps(log[:7]))
    whole.write_text(json.dumps(log))
    for file, count in ((part, 7), (whole, 19), (whole, 19)):
        ran = remember("compact", file, "--session", "s", "--format", "json", store=tmp_path)
        assert ran.json["messages"] == count


def test_the_compacted_messages_are_a_log_again(tmp_path: Path) -> None:
    file = tmp_path / "short.json"
    ran = run("memory", "compact", LOG, "--budget", "500", "-o", file, "--format", "json")
    assert (ran.code, ran.json["compacted"]) == (0, True)
    again = run("memory", "compact", file, "--format", "json")
    assert again.json["messages"] == ran.json["context_messages"]
    assert ran.json["tokens_after"] <= 500 < ran.json["tokens_before"]


def test_a_budget_that_is_too_small_for_the_message_to_be_answered_is_told() -> None:
    assert run("memory", "compact", LOG, "--budget", "40").code == 0
    ran = run("memory", "compact", LOG, "--budget", "12")
    assert (ran.code, ran.out) == (2, "")
    assert "C0803" in ran.err
    assert "give at least" in ran.err


def test_every_line_can_be_opened_and_proved(store: Path) -> None:
    shown = remember("show", "--session", "refund", "--format", "json", store=store).json
    for line in (shown["lines"][0], shown["lines"][-1]):
        opened = remember("open", line["place"], "--session", "refund", store=store)
        assert (opened.code, bool(opened.out.strip())) == (0, True)
        proved = remember("why", line["place"], "--session", "refund", store=store)
        assert proved.code == 0, proved.err
        assert proved.out.rstrip().endswith("checked")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "--session", "refnud"), "C0927"),
        (("open", "m999", "--session", "refund"), "C0807"),
        (("why", "m999", "--session", "refund"), "C0807"),
        (("forget", "m999", "--session", "refund", "--by", "a", "--reason", "b"), "C0926"),
        (("forget", "m2", "--session", "refund", "--by", " ", "--reason", "b"), "C0926"),
        (("compact", ROOT / "pyproject.toml"), "C0925"),
        (("compact", ROOT / "no-such-file"), "C0401"),
    ],
)
def test_mistakes_are_told_with_their_code(
    store: Path, words: tuple[object, ...], code: str
) -> None:
    ran = remember(*words, store=store)
    assert (ran.code, ran.out) == (2, "")
    assert code in ran.err


def test_a_text_without_a_fact_is_told_from_a_place_where_nothing_was_said(tmp_path: Path) -> None:
    with Memory(tmp_path, "one") as memory:
        memory.append([Message(Role.ASSISTANT, (Text("Hm."),))])
        name = memory.history.texts[0].name
    ran = run("memory", "why", name, "--session", "one", "--store", tmp_path)
    assert f"no fact was found in what was said at `{name}`" in ran.err
    assert "nothing was said" not in ran.err


CARD = "4111-1111-1111-1111"


def test_what_is_forgotten_leaves_the_file_and_its_digest_stays(tmp_path: Path) -> None:
    said = [
        Message(Role.USER, (Text(f"My card is {CARD}. " * 500),)),
        Message(Role.USER, (Text("Hi"),)),
    ]
    digests = set()
    for name in ("one", "two"):
        with Memory(tmp_path, name) as memory:
            memory.append(said)
            memory.context(2_000)
            digests.add(memory.history.texts[0].passage.archive)
    (digest,) = digests
    # Another program has the file open, so its write-ahead log is not removed with ours.
    release = Archive(tmp_path).hold()
    who = ("--by", "ann", "--reason", "r")
    ran = remember("forget", "m0", "--session", "one", *who, store=tmp_path)
    assert ran.code == 0, ran.err
    assert digest in ran.out
    for file in tmp_path.iterdir():
        assert CARD.encode() not in file.read_bytes(), file.name
    release()
    for name in ("one", "two"):
        with Memory(tmp_path, name) as memory:
            assert len(memory.history.messages) == 2
            assert CARD not in memory.view(1_000).text
            assert memory.open("m0") == b'{"forgotten":true}'
    with closing(sqlite3.connect(tmp_path / "memory.sqlite")) as connection:
        (row,) = connection.execute("SELECT digest, author, reason FROM forgotten")
    assert row == (digest, "ann", "r")


def test_arguments_that_are_forgotten_can_still_be_written_for_a_provider(tmp_path: Path) -> None:
    log = read_log(lines(ANTHROPIC), HeldAttachments())
    with Memory(tmp_path, "s") as memory:
        memory.append(log.messages)
        digests = [one.passage.archive for one in memory.history.texts]
    assert forget(Archive(tmp_path), digests, by="ann", reason="all").messages == 4
    with Memory(tmp_path, "s") as memory:
        written = write_log(
            log.__class__("anthropic", tuple(memory.history.messages)), memory.archive
        )
    assert b"O-7" not in written
    assert json.loads(written)["messages"][1]["content"][0]["input"] == {"forgotten": True}


def test_forgetting_one_of_several_that_is_not_kept_forgets_none(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        memory.append([Message(Role.USER, (Text("Hello"),))])
        digest = memory.history.texts[0].passage.archive
        with pytest.raises(Exception, match="no text"):
            forget(memory.archive, [digest, f"sha256:{'0' * 64}"], by="ann", reason="r")
        assert memory.archive.get(digest) == b"Hello"


def test_rules_of_ones_own_take_the_place_of_those_of_memory(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    given = (rules_folder() / "view.dl").read_text()
    words = ("memory", "compact", str(LOG), "--budget", "560", "--format", "json")

    def classes(*more: str) -> set[int]:
        lines = run(*words, *more).json["lines"]
        return {one["class"] for one in lines if any("] column" in name for name in one["claims"])}

    (own / "view.dl").write_text(f'{given}\npinned_kind("column").\n')
    assert classes("--rules", str(own)) == {1}
    assert 1 not in classes()
    (own / "view.dl").write_text("pinned_kind(")
    assert run(*words, "--rules", str(own)).code == 2
    assert "C0933" in run(*words, "--rules", str(tmp_path / "none")).err


@pytest.mark.parametrize("provider", ["anthropic", pytest.param("openai", marks=pytest.mark.slow)])
def test_a_model_is_asked_through_the_providers_own_library_and_stands_before_the_gate(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply was written by hand; no model is asked."""
    said = "My sister Ann lives in Utrecht."
    fact = {"kind": "user_fact", "subject": "Ann", "key": "lives", "value": "Utrecht"}
    place = {"text": 0, "quote": "lives in Utrecht", "denied": False}
    claims = [{**fact, **place}, {**fact, **place, "value": "Paris"}]
    monkeypatch.setenv("NO_SECRET", "sk-planted-key")
    log = tmp_path / "log.json"
    log.write_text(json.dumps([{"role": "user", "content": said}]))
    with ModelServer(lambda _: Written(calls=((TOOL, {"facts": claims}),))) as server:
        (tmp_path / "constat.yaml").write_text(
            "rules: []\nmodels:\n  named:\n    author: {provider: "
            f'{provider}, model: written-answers, base_url: "{server.address}", key: NO_SECRET}}\n'
        )
        ran = run(
            *("memory", "compact", str(log), "--with-model", "--format", "json"),
            *("--project", str(tmp_path)),
        )
    assert ran.code == 0, ran.err
    assert (ran.json["by_model"]["facts"], ran.json["by_model"]["rejected"]) == (1, 1)
    (asked,) = [one for one in server.asked if not one.counting]
    assert asked.chat is (provider == "openai")
    assert TOOL in asked.tools
    assert said in asked.question
    assert "sk-planted-key" not in ran.out + ran.err + str(asked.body)


def told(*words: str, store: Path, session: str = "s") -> str:
    found = run("memory", *words, "--session", session, "--store", str(store))
    assert found.code == 0, found.err
    return found.out


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize(
    ("profile", "begins", "kept"),
    [
        ("seed001", "[CONVERSATION SUMMARY] (source: ref:history-19-", 7),
        ("seed002", "## Completed Work Summary", 16),
        ("seed003", "## Session Summary (Compaction Round 1)", 12),
        ("seed004", "## Session Summary (Compaction Round 1)", 12),
    ],
)
def test_a_design_works_as_it_was_drawn(
    tmp_path: Path, profile: str, begins: str, kept: int
) -> None:
    asked = ("compact", str(LOG), "--profile", profile)
    assert "not compacted" in told(*asked, store=tmp_path)
    output = str(tmp_path / "short.json")
    found = json.loads(told(*asked, "--now", "-o", output, "--format", "json", store=tmp_path))
    assert found["block"].startswith(begins)
    assert found["context_messages"] == kept
    assert json.dumps(begins)[1:-1] in (tmp_path / "short.json").read_text()
    (event,) = json.loads(told("events", "--format", "json", store=tmp_path))
    assert (event["profile"], event["number"], event["round"]) == (profile, 1, 1)
    assert event["summary"] == found["block"]
    if profile == "seed001":
        reference = found["block"].partition("(source: ")[2].partition(")")[0]
        assert "two desk lamps" in told("open", reference, store=tmp_path)
    # What was made of a text goes with it.
    told("forget", "all", "--by", "ann", "--reason", "closed", store=tmp_path)
    assert json.loads(told("events", "--format", "json", store=tmp_path)) == []
    (tmp_path / "short.json").unlink()
    assert b"desk lamps" not in b"".join(one.read_bytes() for one in tmp_path.iterdir())


def test_a_person_pins_and_takes_back(tmp_path: Path) -> None:
    told("compact", str(LOG), store=tmp_path)
    assert told("pin", "m11", "--by", "ann", store=tmp_path) == "pinned: m11\n"
    assert 'PROVED: pinned("m11' in told("why", "m11", store=tmp_path)
    wish = "m8[34:65]"
    assert told("retract", wish, "--by", "ann", store=tmp_path) == f"taken back: {wish}\n"
    assert "PROVED: superseded(" in told("why", wish, store=tmp_path)
    # What the system says no person takes back.
    assert "it still holds" in told("retract", "m0[34:66]", "--by", "ann", store=tmp_path)
    assert run("memory", "pin", "m99", "--session", "s", "--store", str(tmp_path)).code == 2


def test_a_branch_begins_and_comes_back(tmp_path: Path) -> None:
    told("compact", str(LOG), store=tmp_path)
    told("branch", "marco", store=tmp_path)
    file = tmp_path / "marco.json"
    file.write_bytes(lines([{"role": "user", "content": "Look at O-99 as well."}]))
    told("compact", str(file), "--branch", "marco", store=tmp_path)
    assert "O-99" not in told("show", "--budget", "4000", store=tmp_path)
    told("branch", "marco", "--merge", store=tmp_path)
    assert "O-99" in told("show", "--budget", "4000", store=tmp_path)
    again = run("memory", "branch", "marco", "--session", "s", "--store", str(tmp_path))
    assert (again.code, "C0806" in again.err) == (2, True)


def test_what_tasks_found_can_be_asked(tmp_path: Path) -> None:
    told("compact", str(LOG), store=tmp_path)
    about = ("--task", "t1", "--title", "refunds")
    told("know", "refunds take 3 days", *about, "--confidence", "0.8", store=tmp_path)
    told("know", "labels come by mail", *about, "--tag", "mail", store=tmp_path)

    def asked(*words: str) -> list[str]:
        found = json.loads(told("knowledge", *words, "--format", "json", store=tmp_path))
        return [one["content"] for one in found]

    assert asked() == ["refunds take 3 days", "labels come by mail"]
    assert asked("--least", "0.9") == asked("--tag", "mail") == ["labels come by mail"]
    assert asked("days") == ["refunds take 3 days"]
    assert asked("--source", "task:t2") == []
    assert len(asked("--source", "task:t1")) == 2


def test_a_place_that_is_not_there_and_a_system_line_are_told_apart(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    said = [("system", "Be brief."), ("user", "My budget is 500 euros.")]
    log.write_text(json.dumps([{"role": role, "content": text} for role, text in said]))
    there = ("--session", "s", "--store", tmp_path / "kept")
    assert run("memory", "compact", log, *there).code == 0
    assert "it is a system's text" in run("memory", "why", "m0", *there).err
    missing = run("memory", "why", "m9", *there)
    assert (missing.code, "the texts of this session are `m0` to `m1`" in missing.err) == (2, True)
    opened = run("memory", "open", "m9", *there)
    assert (opened.code, "`m0` to `m1`" in opened.err) == (2, True)


def test_memory_needs_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log.json"
    log.write_text('[{"role": "user", "content": "My budget is 500 euros."}]')
    command = ("memory", "compact", log, "--session", "s")
    refused = run(*command)
    assert (refused.code, "`--store DIR`" in refused.err) == (2, True)
    assert run(*command, "--store", tmp_path / "kept").code == 0
