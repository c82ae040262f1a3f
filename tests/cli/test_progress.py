"""The moving line of long evaluations."""

from __future__ import annotations

import io
import sys
import threading
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING

import pytest

from constat.cli.progress import watching
from constat.evaluation import (
    CallFinished,
    CallStarted,
    ModelAwaited,
    ModelReplied,
    QueryRun,
    RoundFinished,
    ignore_event,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock)
    monkeypatch.setenv("TERM", "xterm")
    return clock


@contextmanager
def on_terminal() -> Iterator[Callable[[], str]]:
    """Give what the terminal shows; pytest puts its own stream in place before each test."""
    terminal = Terminal()
    with redirect_stderr(terminal):
        yield terminal.getvalue


def test_a_short_evaluation_shows_nothing(clock: Clock) -> None:
    with on_terminal() as shown, watching() as observe:
        observe(CallStarted("p", ("x",), 3))
        clock.now = 0.9
        observe(QueryRun("sales", "SELECT 1", 0, 1, 0.1))
    assert shown() == ""


def test_a_long_one_says_what_it_does_and_tidies_up(clock: Clock) -> None:
    with on_terminal() as shown, watching() as observe:
        clock.now = 2.0
        observe(CallStarted("p", ("x",), 3_000))
        assert shown().endswith("0 calls, 0 rows; asking p for 3,000 keys")
        observe(CallFinished(1, "p", ("x",), 3_000, 10, 0, 0.1))
        before = shown()
        clock.now = 2.1
        observe(RoundFinished(("q",), 2, 5))
        assert shown() == before, "at most five times a second"
        clock.now = 2.3
        observe(RoundFinished(("q",), 3, 5))
        assert shown().endswith("1 call, 10 rows; round 3 of q")
    assert shown().endswith("\r\x1b[K")


def test_while_one_long_statement_runs_the_line_counts_the_seconds(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.cli.progress._PAUSE", 0.001)
    drawn = threading.Event()

    class Telling(Terminal):
        def write(self, text: str) -> int:
            if "since" in text:
                drawn.set()
            return super().write(text)

    terminal = Telling()
    with redirect_stderr(terminal), watching() as observe:
        observe(CallStarted("p", ("x",), 3))
        clock.now = 0.9
        assert not drawn.wait(0.02), "nothing in the first second"
        clock.now = 7.0
        assert drawn.wait(30)
        shown = terminal.getvalue()
        drawn.clear()
        observe(QueryRun("sales", "SELECT 1", 0, 1, 7.0))
        assert not drawn.wait(0.02), "something has happened"
    assert shown.endswith("\x1b[K0 calls, 0 rows; asking p for 3 keys; 7 s since")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_nothing_is_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watching() as observe:
        assert observe is ignore_event


def test_while_a_model_is_awaited_the_line_counts_the_seconds(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.cli.progress._PAUSE", 0.001)
    drawn = threading.Event()

    class Telling(Terminal):
        def write(self, text: str) -> int:
            if "waiting for" in text:
                drawn.set()
            return super().write(text)

    terminal = Telling()
    with redirect_stderr(terminal), watching() as observe:
        observe(ModelAwaited("author", "draft"))
        assert not drawn.wait(0.02), "nothing in the first second"
        clock.now = 3.0
        assert drawn.wait(30)
        observe(ModelReplied("author", "draft", 3.0))
        clock.now = 4.0
        observe(QueryRun("sales", "SELECT 1", 0, 1, 0.1))
        shown = terminal.getvalue()
    assert "\x1b[Kwaiting for author (draft), 3 s" in shown
    assert shown.endswith("reading sales"), "the wait is over"
    assert terminal.getvalue().endswith("\r\x1b[K")
