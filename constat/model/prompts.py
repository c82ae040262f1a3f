"""What goes to a language model and what comes back, the same for every provider.

In: nothing. Out: frozen values and the protocol of a client. Invariant: nothing in here is a
secret; the texts are what the hashes of an attestation are taken of. Example:
`client.ask(Prompt(Task.DRAFT, "You write rules.", (Turn("user", "Is C001 a VIP?"),)))`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, Protocol

Json = Mapping[str, Any]


class Task(Enum):
    """What a model is asked for; the project chooses a model for each."""

    DRAFT = "draft"
    KNOWLEDGE = "knowledge"
    HEURISTIC = "heuristic"
    SUB_PLAN = "sub-plan"
    EXTRACT = "extract"
    PLAN = "plan"
    CODE = "code"
    NARRATE = "narrate"


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; `parameters` is the JSON Schema of its one object."""

    name: str
    description: str
    parameters: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's wish to call a tool, with the arguments as they were parsed."""

    identity: str
    name: str
    arguments: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave, as text for the model."""

    identity: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: a `user` says text or gives tool results; the `assistant` says text or calls."""

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to a model.

    With `must_call` the reply has to call that tool. `system` is the part that stays the same, so
    that providers may cache it. `most_tokens` bounds the reply.
    """

    task: Task
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    must_call: str | None = None
    most_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several calls, and their price where the project tells prices.

    `read` are tokens of prompts at the full price, `cached` those that the provider had kept,
    `stored` those that it keeps from now on, `written` those of replies: no token counts twice.
    """

    calls: int = 0
    read: int = 0
    cached: int = 0
    written: int = 0
    cost: Decimal = Decimal(0)
    stored: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.read + other.read,
            self.cached + other.cached,
            self.written + other.written,
            self.cost + other.cost,
            self.stored + other.stored,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.calls - other.calls,
            self.read - other.read,
            self.cached - other.cached,
            self.written - other.written,
            self.cost - other.cost,
            self.stored - other.stored,
        )

    @property
    def tokens(self) -> int:
        """All tokens, whatever they cost."""
        return self.read + self.cached + self.stored + self.written


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    `stop` is `end`, `tools`, `length` or `refusal`. `prompt_hash` and `response_hash` are
    `sha256:<hex>` of the exact request and response; `at` is the time of the answer (UTC,
    `Timestamp` spelling), the original one where it is `replayed`; a replayed reply has cost
    nothing, so its usage is empty.
    """

    model: str
    text: str
    calls: tuple[ToolCall, ...]
    stop: Literal["end", "tools", "length", "refusal"]
    usage: Usage
    prompt_hash: str
    response_hash: str
    at: str
    replayed: bool = False


class ModelError(Exception):
    """No reply: `code` is that of a diagnostic; `retryable` tells whether later may be better.

    `retry_after` are the seconds that the provider asks to wait; `usage` is what was paid in vain;
    `unsettled` where nobody knows whether the provider has worked on it. The message is one
    printable line of bounded length, in which no key stands.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        usage: Usage | None = None,
        unsettled: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.retry_after = retry_after
        self.usage = Usage() if usage is None else usage
        self.unsettled = unsettled


class Client(Protocol):
    """Asks a model. Budgets are checked before, usage and reply are kept after each call."""

    def ask(self, prompt: Prompt) -> Reply:
        """Ask once; raises `ModelError`."""
        ...
