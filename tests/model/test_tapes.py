"""Replies in a file: whose they are, and that nobody edits them unnoticed."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.model import ModelError, tapes
from constat.model.prompts import request_of
from constat.model.tapes import Tape, Taped
from tests.model.speaking import SETTING, Scripted, around, prompt, said

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = replace(said(3), model="written-answers")


def recorded(path: Path, *numbers: int, model: str = "big") -> Tape:
    for number in numbers:
        provider = Scripted([said(number, model=model)])
        around(path.parent / str(number), provider, tape=path).client.ask(prompt(str(number)))
    return Tape(path)


def test_a_tape_replays_without_asking_anybody(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "tape.jsonl", 1, 2)
    assert (tape.answers, tape.models, len(tape.entries)) == ("recorded", ("big",), 2)
    at = around(tmp_path, Scripted([]), tape=tape.path, replaying=True)
    reply = at.client.ask(prompt("2"))
    assert (reply.calls[0].arguments, reply.replayed, reply.at) == ({"n": 2}, True, reply.at)
    assert reply.at == tape.entries[1].at
    assert not (tmp_path / "model_answers.sqlite").exists()


def test_what_is_not_on_the_tape_is_not_asked(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "tape.jsonl", 1)
    at = around(tmp_path, Scripted([]), tape=tape.path, replaying=True)
    with pytest.raises(ModelError) as caught:
        at.client.ask(prompt("2"))
    assert caught.value.code == "C0828"


def test_recording_asks_once_for_each_prompt(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    provider = Scripted([said(1), said(2)])
    for _ in range(2):
        at = around(tmp_path / "state", provider, tape=path, serve=False)
        at.client.ask(prompt("1"))
        at.client.ask(prompt("2"))
    assert len(provider.sent) == 2
    assert len(Tape(path).entries) == 2


def test_a_kept_reply_comes_onto_the_tape_without_being_paid_for_again(tmp_path: Path) -> None:
    first = around(tmp_path, Scripted([said(1)])).client.ask(prompt("1"))
    path = tmp_path / "tape.jsonl"
    around(tmp_path, Scripted([]), tape=path).client.ask(prompt("1"))
    (entry,) = Tape(path).entries
    assert (entry.prompt, entry.at, entry.answered.usage.read) == (first.prompt_hash, first.at, 70)


def test_written_answers_say_so_and_keep_their_name(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "tape.jsonl", 1, model="written-answers")
    assert tape.answers == "written by hand"
    assert json.loads(tape.path.read_text().splitlines()[0])["answers"] == "written by hand"
    at = around(tmp_path, Scripted([]), tape=tape.path, replaying=True)
    assert at.client.ask(prompt("1")).model == "written-answers"


def test_replies_of_models_and_written_ones_do_not_mix(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "tape.jsonl", 1)
    before = tape.path.read_bytes()
    with pytest.raises(ModelError, match="not both"):
        recorded(tape.path, 2, model="written-answers")
    assert tape.path.read_bytes() == before


def test_nothing_is_paid_for_that_has_no_place_on_the_tape(tmp_path: Path) -> None:
    tape = recorded(tmp_path / "tape.jsonl", 1, model="written-answers")
    provider = Scripted([])
    live = replace(SETTING, answers_as=())
    at = around(tmp_path, provider, tape=tape.path, setting=live)
    with pytest.raises(ModelError, match="need one of their own"):
        at.client.ask(prompt("2"))
    assert provider.sent == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('\\"n\\": 1', '\\"n\\": 2'),
        ('"text": "1"', '"text": "2"'),
        ('"model": "big", "stop"', '"model": "bigger", "stop"'),
        ('"answers": "recorded"', '"answers": "written by hand"'),
        ('"format": 1, "models"', '"format": 2, "models"'),
        ('"read": 70', '"read": -70'),
        ('"read": 70', '"read": "70"'),
        ('"calls": [[', '"calls": [[['),
        ('{"prompt"', '{"promp'),
    ],
)
def test_an_edited_tape_is_refused(tmp_path: Path, old: str, new: str) -> None:
    tape = recorded(tmp_path / "tape.jsonl", 1)
    text = tape.path.read_text()
    assert old in text
    tape.path.write_text(text.replace(old, new))
    with pytest.raises(ModelError) as caught:
        Tape(tape.path).find("sha256:0")
    assert caught.value.code == "C0829"


@given(st.binary(max_size=60))
def test_no_file_is_taken_for_a_tape_by_accident(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk.jsonl"
    path.write_bytes(junk)
    with pytest.raises(ModelError) as caught:
        Tape(path).find("sha256:0")
    assert caught.value.code == "C0829"


def test_a_deep_or_odd_reply_survives_the_tape(tmp_path: Path) -> None:
    odd = replace(WRITTEN, text="\ud800 \u2028 \x00 \x1b é", model="big")
    request = request_of(prompt(), "big")
    tape = Tape(tmp_path / "tape.jsonl")
    tape.add(Taped(request.hash, json.loads(request.text), odd, "2026-11-21T00:00:00.000000Z"))
    found = Tape(tape.path).find(request.hash)
    assert found is not None
    assert found.answered == odd


def test_a_tape_that_cannot_be_read_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    provider = Scripted([])
    at = around(tmp_path, provider, tape=tmp_path / "file" / "tape.jsonl")
    with pytest.raises(ModelError) as caught:
        at.client.ask(prompt())
    assert (caught.value.code, provider.sent) == ("C0829", [])


def test_a_reply_that_finds_no_room_on_the_tape_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tapes, "replaced", full)
    at = around(tmp_path, Scripted([said(1)]), tape=tmp_path / "tape.jsonl")
    with pytest.raises(ModelError, match="No space left") as caught:
        at.client.ask(prompt())
    assert caught.value.code == "C0829"
    assert at.kept.find(request_of(prompt(), "big").hash) is not None
