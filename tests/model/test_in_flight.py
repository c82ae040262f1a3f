"""Of several that ask the same at once one pays; nobody waits for the dead."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import ModelAwaited, ModelReplied
from constat.model import ModelError
from constat.model.prompts import request_of
from constat.project.settings import Budget
from constat.store.model_answers import FOLDER_NAME, in_flight
from tests.model.speaking import SETTING, Scripted, around, prompt, said

if TYPE_CHECKING:
    from pathlib import Path

    from constat.evaluation import Event
    from constat.model.prompts import Answered, Request
    from constat.store.model_answers import PaidReply

HASH = request_of(prompt(), SETTING.model, SETTING.effort).hash


class Held(Scripted):
    """Answers once it is let go."""

    def __init__(self, *answers: Answered) -> None:
        super().__init__(list(answers))
        self.asked, self.free = threading.Event(), threading.Event()

    def send(self, request: Request, seconds: float) -> Answered:
        self.asked.set()
        assert self.free.wait(30)
        return super().send(request, seconds)


def test_who_asks_the_same_meanwhile_waits_and_is_served(tmp_path: Path) -> None:
    provider = Held(said(3))
    first, second = around(tmp_path, provider), around(tmp_path, Scripted([said(4)]))
    paying = threading.Thread(target=lambda: first.client.ask(prompt()))
    paying.start()
    assert provider.asked.wait(30)
    threading.Timer(0.1, provider.free.set).start()
    served = second.client.ask(prompt())
    paying.join()
    assert (served.replayed, served.calls[0].arguments) == (True, {"n": 3})
    assert (second.ledger.replayed, second.ledger.usage.calls) == (1, 0)
    assert len(second.kept.spent()) == 1
    assert list((tmp_path / FOLDER_NAME).iterdir()) == []


def test_what_came_between_two_looks_is_not_paid_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, late = around(tmp_path, Scripted([said(3)])), around(tmp_path, Scripted([]))
    looks = iter([None])
    find = late.kept.find

    def look(prompt_hash: str, since: str = "") -> PaidReply | None:
        for nothing in looks:
            first.client.ask(prompt())
            return nothing
        return find(prompt_hash, since)

    monkeypatch.setattr(late.kept, "find", look)
    assert late.client.ask(prompt()).calls[0].arguments == {"n": 3}


def test_another_prompt_is_not_waited_for(tmp_path: Path) -> None:
    asking = around(tmp_path, Scripted([said(3)]))
    with in_flight(tmp_path, HASH, 0.0) as other:
        assert other.ours
        assert not asking.client.ask(prompt("How many else?")).replayed


def test_nobody_waits_longer_than_for_the_model_itself(tmp_path: Path) -> None:
    asking = around(tmp_path, Scripted([said(3)]), question=Budget(seconds=0.05))
    with in_flight(tmp_path, HASH, 0.0), asking.ledger.question() as spending:
        with pytest.raises(ModelError) as caught:
            asking.client.ask(prompt())
        assert (caught.value.code, caught.value.retryable) == ("C0935", True)
        # Waiting is what the budget of time is about.
        assert 0.05 <= spending.seconds < 5
        with pytest.raises(ModelError) as again:
            asking.client.ask(prompt("Any other?"))
    assert again.value.code == "C0823"
    assert not asking.ledger.usage.calls


def test_what_a_program_left_that_was_killed_is_asked_again_and_said(tmp_path: Path) -> None:
    (tmp_path / FOLDER_NAME).mkdir()
    (tmp_path / FOLDER_NAME / HASH[7:39]).write_text("2026-01-01T00:00:00.000000Z\x1b[2J")
    asking = around(tmp_path, Scripted([said(3)]))
    assert not asking.client.ask(prompt()).replayed
    ((code, reason),) = asking.warnings
    assert code == "C0936"
    assert "2026-01-01" in reason
    assert reason.isprintable()
    assert list((tmp_path / FOLDER_NAME).iterdir()) == []


def test_who_wants_it_anew_neither_waits_nor_is_served(tmp_path: Path) -> None:
    for serve, keep in ((False, None), (True, 0)):
        asking = around(tmp_path, Scripted([said(4)]), serve=serve, keep=keep)
        with in_flight(tmp_path, HASH, 0.0) as other:
            assert other.ours
            assert asking.client.ask(prompt()).calls[0].arguments == {"n": 4}


def test_where_nothing_can_be_written_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / FOLDER_NAME).write_text("in the way")
    asking = around(tmp_path, Scripted([said(3)]))
    assert not asking.client.ask(prompt()).replayed


def test_whoever_observes_hears_that_a_model_is_awaited(tmp_path: Path) -> None:
    heard: list[Event] = []
    asking = around(tmp_path, Scripted([said(3)]), observe=heard.append)
    for _ in range(2):
        asking.client.ask(prompt())
    awaited, replied = heard
    assert awaited == ModelAwaited("m", "draft")
    assert isinstance(replied, ModelReplied)
    assert not replied.failed


def test_a_file_that_was_removed_meanwhile_gives_nobody_the_right_to_send(tmp_path: Path) -> None:
    ours: list[bool] = []

    def wait() -> None:
        with in_flight(tmp_path, HASH, 0.3) as late:
            ours.append(late.ours)

    waiting = threading.Thread(target=wait)
    with in_flight(tmp_path, HASH, 0.0):
        waiting.start()
        time.sleep(0.05)
    # The file that the thread has open is no longer the one that has the name.
    with in_flight(tmp_path, HASH, 0.0) as next_one:
        assert next_one.ours
        waiting.join()
    assert ours == [False]
