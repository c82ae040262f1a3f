"""The example that asks a model: its tape of written answers fits the prompts of today."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from constat import Session
from constat.check import check_certificate
from constat.model.tapes import Tape
from tests.architecture.sources import ROOT
from tests.loopback.record import main

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "shipments"


@pytest.fixture
def shipments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the example with a state folder of its own, and nobody to ask."""
    for name in ("constat.yaml", "shipments.dl", "tapes/prove.jsonl"):
        copy = tmp_path / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes((EXAMPLE / name).read_bytes())
    # A replay needs no library of a provider: none of these can be imported here.
    for library in ("anthropic", "httpx2", "openai"):
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    return tmp_path


def test_the_example_replays_what_was_written(shipments: Path) -> None:
    with Session(shipments) as session:
        proved = session.prove("needs_cooling(S1)")
        assert proved.verdict.value == "PROVED_UNDER"
        assert [one.text for one in proved.assumptions] == [
            "tier model says shelf_life(raspberries, 3)"
        ]
        assert session.prove("needs_cooling(S2)").verdict.value == "UNRESOLVED"
        assert session.prove("needs_papers(S4)").verdict.value == "PROVED_UNDER"
        assert len(session.query("needs_cooling(?s)").assumptions) == 1
        assert session.models.note == "replaying written answers: no model was asked"
        assert session.models.usage.calls == 0
    assert check_certificate(proved.certificate).accepted
    (told,) = (one for one in json.loads(proved.certificate)["sources"] if one["tier"] == "model")
    assert told["attestation"]["agent"]["name"] == "written-answers"
    with Session(shipments) as session:
        shown = session.model_listing.reply(told["attestation"]["prompt"])
    assert shown.response == told["attestation"]["response"]
    assert "raspberries" in shown.request


@pytest.mark.slow
def test_one_command_makes_the_tape_that_is_checked_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "shipments")
    tape = folder / "tapes" / "prove.jsonl"
    before = tape.read_bytes()
    assert main([str(tape.with_suffix(".yaml"))]) == 0
    assert tape.read_bytes() == before
    assert "5 replies" in capsys.readouterr().out


@pytest.mark.parametrize("tape", sorted((ROOT / "examples").glob("*/tapes/*.jsonl")), ids=str)
def test_every_tape_of_the_examples_says_whose_answers_they_are(tape: Path) -> None:
    assert Tape(tape).answers == "written by hand"
    assert Tape(tape).models == ("written-answers",)
    script = yaml.safe_load(tape.with_suffix(".yaml").read_text(encoding="utf-8"))
    assert script["commands"]
    assert script["answers"]
