"""Prompts, clients and servers for the tests of models."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.evaluation import ignore_event
from constat.model import ModelError, Prompt, Task, Tool, Turn, Usage
from constat.model.anthropic_client import AnthropicProvider
from constat.model.asking import AskingClient, Ledger, Surroundings
from constat.model.openai_client import OpenAIProvider
from constat.model.prompts import Answered, RawCall
from constat.model.retrying import Clock
from constat.model.tapes import Tape
from constat.project import ModelSetting
from constat.project.settings import Budget, Prices
from constat.store.model_answers import ModelAnswers
from tests.loopback.server import WRITTEN_MODEL, Answer, ModelServer, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from constat.evaluation import Observer
    from constat.model.prompts import Request
    from constat.model.retrying import Provider
    from tests.loopback.server import Asked

KEY = "sk-planted-0123456789"
PARAMETERS = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
COUNT = Tool("count", "Counts.", PARAMETERS)
PRICES = Prices(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
FREE = Budget()
JSON = {"content-type": "application/json"}


def prompt(text: str = "How many?", *, must: bool = True, most: int = 100) -> Prompt:
    """Give a prompt that has to be answered by a call, or by a text."""
    tools = (COUNT,) if must else ()
    turns = (Turn("user", text),)
    return Prompt(Task.DRAFT, "You count.", turns, tools, "count" if must else None, most)


def counting(number: object = 3) -> Written:
    return Written(calls=(("count", {"n": number}),))


@dataclass
class FakeTime:
    """A clock that only moves when somebody waits."""

    at: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        return Clock(lambda: self.at, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.at += seconds


@dataclass
class Scripted:
    """A provider that says what a test wrote for it; nobody is asked."""

    answers: list[Answered | ModelError]
    tokens: int | None = None
    sent: list[Request] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def send(self, request: Request, seconds: float) -> Answered:
        self.sent.append(request)
        self.seconds.append(seconds)
        answer = self.answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    def count(self, request: Request, seconds: float) -> int | None:
        return self.tokens


def said(number: int = 3, *, model: str = "big", read: int = 70, written: int = 5) -> Answered:
    """Give an answer that calls `count`."""
    call = RawCall("id_0", "count", f'{{"n": {number}}}')
    return Answered(model, "", (call,), "tools", Usage(calls=1, read=read, written=written))


SETTING = ModelSetting("m", "anthropic", "big", answers_as=(WRITTEN_MODEL,), prices=PRICES)


@dataclass
class Table:
    """A client with everything around it."""

    client: AskingClient
    ledger: Ledger
    kept: ModelAnswers
    time: FakeTime
    warnings: list[tuple[str, str]]


@dataclass
class ServedTable(Table):
    """A client that speaks to a server through a provider's own library."""

    server: ModelServer


def around(
    folder: Path,
    provider: Provider,
    *,
    setting: ModelSetting = SETTING,
    question: Budget = FREE,
    session: Budget = FREE,
    tape: Path | None = None,
    replaying: bool = False,
    serve: bool = True,
    keep: int | None = None,
    observe: Observer = ignore_event,
) -> Table:
    """Put a client on the table."""
    warnings: list[tuple[str, str]] = []
    time, kept, ledger = FakeTime(), ModelAnswers(folder), Ledger(question, session)
    surroundings = Surroundings(
        lambda _: provider,
        ledger,
        kept,
        lambda code, reason: warnings.append((code, reason)),
        tape=None if tape is None else Tape(tape),
        replaying=replaying,
        serve=serve,
        keep=keep,
        clock=time.clock(),
        observe=observe,
    )
    # Python 3.13 warns of connections that are dropped open, and here warnings are errors.
    weakref.finalize(time, kept.close)
    return Table(AskingClient(setting, surroundings), ledger, kept, time, warnings)


@contextmanager
def table(
    folder: Path,
    answer: Callable[[Asked], Answer] | Answer,
    *,
    setting: ModelSetting = SETTING,
    serve: bool = True,
) -> Iterator[ServedTable]:
    """Let a client speak with a server."""
    answerer = answer if callable(answer) else lambda _: answer
    with ModelServer(answerer) as server:
        kind = AnthropicProvider if setting.provider == "anthropic" else OpenAIProvider
        address = server.address if setting.provider == "anthropic" else server.chat_address
        provider = kind(address, KEY)
        found = around(folder, provider, setting=setting, serve=serve)
        try:
            yield ServedTable(
                found.client, found.ledger, found.kept, found.time, found.warnings, server
            )
        finally:
            provider.close()
            found.kept.close()


def chat(setting: ModelSetting = SETTING) -> ModelSetting:
    """Give the same model behind the other interface."""
    return replace(setting, provider="openai")
