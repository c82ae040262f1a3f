"""Questions that are killed in the middle, and the same question asked by several at once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat.session import Session
from constat.store.model_answers import FOLDER_NAME
from tests.authoring.live import ANSWERS, ENVIRONMENT, ask_server
from tests.loopback.server import ModelServer
from tests.loopback.written import written_answers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback.server import Answer, Asked

pytestmark = pytest.mark.faults

# Two lookups by hand, a proposal and a draft with a query: every step of a question is in it.
QUESTION = "Does customer C001 have an account that was closed?"
DISPROVED_UNDER = 6
DYING = """
import importlib, os, signal, sys
place, owner, name, when, count = sys.argv[1:6]
owner = getattr(importlib.import_module(place), owner) if owner else importlib.import_module(place)
kept, calls = getattr(owner, name), []
def dying(*given, **named):
    calls.append(name)
    if when == "before" and len(calls) == int(count):
        os.kill(os.getpid(), signal.SIGKILL)
    found = kept(*given, **named)
    if when == "after" and len(calls) == int(count):
        os.kill(os.getpid(), signal.SIGKILL)
    return found
setattr(owner, name, dying)
from constat.cli import main
sys.exit(main(sys.argv[6:]))
"""
REPLIES = ("constat.store.model_answers", "ModelAnswers", "add")
DRAFTS = ("constat.store.drafts", "DraftStore", "add")
RECORDS = ("constat.store.replacing", "Transcripts", "keep")
CUTS = {
    "a reply came and is not kept": (*REPLIES, "before", 1),
    "the first reply is kept": (*REPLIES, "after", 1),
    "the last reply is kept": (*REPLIES, "after", 2),
    "the record is not written": (*RECORDS, "before", 1),
    "the record is written": (*RECORDS, "after", 3),
    "the draft is not written": (*DRAFTS, "before", 1),
    "the draft is written": (*DRAFTS, "after", 1),
    "the goal is being proved": ("constat.session.session", "", "decide", "before", 1),
}
UNKEPT = "a reply came and is not kept"


def asking(project: Path) -> list[str]:
    return ["ask", QUESTION, "--project", str(project), "--quiet"]


def started(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_what_is_kept(project: Path) -> None:
    """Hold that every file is whole, and that there is one draft."""
    for path in (project / ".constat").glob("*.sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for path in (project / ".constat" / "questions").glob("*.json"):
        assert json.loads(path.read_text("utf-8"))["question"] == QUESTION
    with Session(project) as session:
        (draft,) = session.drafts.list()
    assert (draft.status, draft.purpose) == ("proposed", QUESTION)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
def test_a_question_that_is_killed_is_taken_up_where_it_was(shop: Path, cut: str) -> None:
    place, owner, name, when, count = CUTS[cut]
    with ModelServer(written_answers(ANSWERS)) as server:
        ask_server(shop, server)
        where = (place, owner, name, when, str(count))
        with started("-c", DYING, *where, *asking(shop)) as died:
            died.communicate()
        assert died.returncode == -signal.SIGKILL
        with started("-m", "constat", *asking(shop)) as again:
            out, err = again.communicate()
    assert again.returncode == DISPROVED_UNDER, err
    assert "goal: had_account(C001)" in out
    # What had been kept was not sent again; what had not is said.
    prompts = [json.dumps(one.body, sort_keys=True) for one in server.asked]
    assert len(prompts) - len(set(prompts)) == (cut == UNKEPT)
    assert ("C0936" in err) == (cut == UNKEPT)
    check_what_is_kept(shop)


@pytest.mark.slow
def test_a_question_that_is_killed_while_it_waits_is_asked_again_at_once(shop: Path) -> None:
    waiting, free = threading.Event(), threading.Event()
    answer = written_answers(ANSWERS)

    def held(asked: Asked) -> Answer:
        if not waiting.is_set():
            waiting.set()
            free.wait(60)
        return answer(asked)

    with ModelServer(held) as server:
        ask_server(shop, server)
        with started("-m", "constat", *asking(shop)) as died:
            assert waiting.wait(60)
            died.kill()
            died.communicate()
        began = time.monotonic()
        with started("-m", "constat", *asking(shop)) as again:
            _, err = again.communicate()
        assert time.monotonic() - began < 60, "nobody waits for a dead program"
        free.set()
    assert again.returncode == DISPROVED_UNDER, err
    assert "C0936" in err
    assert list((shop / ".constat" / FOLDER_NAME).iterdir()) == []
    check_what_is_kept(shop)


@pytest.mark.slow
def test_the_same_question_at_once_is_paid_for_once(shop: Path) -> None:
    answer = written_answers(ANSWERS)

    def slow(asked: Asked) -> Answer:
        time.sleep(1.0)
        return answer(asked)

    with ModelServer(slow) as server:
        ask_server(shop, server)
        many = [started("-m", "constat", *asking(shop)) for _ in range(3)]
        told = [one.communicate() for one in many]
    assert [one.returncode for one in many] == [DISPROVED_UNDER] * 3, told
    assert len({out for out, _ in told}) == 1
    prompts = [json.dumps(one.body, sort_keys=True) for one in server.asked]
    assert len(prompts) == len(set(prompts)) > 1
    served = sum("no model was asked again" in err for _, err in told)
    assert served >= 2, "whoever waited was served, and says so"
    check_what_is_kept(shop)
