"""What goes to a language model and what comes back, the same for every provider, and its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, Protocol

from constat.frozen import frozen

_LONGEST: Final = 200


def printable(text: str, key: str = "") -> str:
    """Give foreign text as one bounded printable line without the key."""
    if key:
        text = text.replace(key, "***")
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * _LONGEST])
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def since(seconds: int | None) -> str:
    """Give the time before which a reply is too old; empty where none is."""
    if seconds is None:
        return ""
    oldest = datetime.now(UTC) - timedelta(seconds=seconds)
    return oldest.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# Nothing in here is a secret; the texts are what the hashes of an attestation are taken of.

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


@frozen
class Tool:
    """A function the model may call; `parameters` is the JSON Schema of its one object."""

    name: str
    description: str
    parameters: Json = field(hash=False)


@frozen
class ToolCall:
    """The model's wish to call a tool, with the arguments as they were parsed."""

    identity: str
    name: str
    arguments: Json = field(hash=False)


@frozen
class ToolResult:
    """What a tool gave, as text for the model."""

    identity: str
    text: str
    failed: bool = False


@frozen
class Turn:
    """One turn: a `user` says text or gives tool results; the `assistant` says text or calls."""

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


@frozen
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


@frozen
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


@frozen
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


_FORMAT: Final = 1


@frozen
class Request:
    """A prompt for one model. `text` is its canonical form, `hash` that of the text."""

    prompt: Prompt
    model: str
    effort: str
    text: str = field(repr=False)
    hash: str


@frozen
class RawCall:
    """A call as it came: the arguments are text that nobody has looked at."""

    identity: str
    name: str
    arguments: str


@frozen
class Answered:
    """What a provider sent, before anybody has looked whether it can be used.

    `stop` is the provider's word in our spelling; `usage` has no price yet. It is not `whole`
    where the stream ended before the reply did.
    """

    model: str
    text: str
    calls: tuple[RawCall, ...]
    stop: str
    usage: Usage = field(default_factory=Usage)
    whole: bool = True

    @property
    def form(self) -> str:
        """The canonical form of the reply."""
        return canonical(
            {
                "calls": [[one.identity, one.name, one.arguments] for one in self.calls],
                "model": self.model,
                "stop": self.stop,
                "text": self.text,
            }
        )


def request_of(prompt: Prompt, model: str, effort: str = "") -> Request:
    """Give the request that asks a model; raises `ValueError` for what JSON cannot say."""
    members = {
        "effort": effort,
        "format": _FORMAT,
        "model": model,
        "most_tokens": prompt.most_tokens,
        "must_call": prompt.must_call,
        "system": prompt.system,
        "tools": [_tool(one) for one in prompt.tools],
        "turns": [_turn(one) for one in prompt.turns],
    }
    text = canonical(members)
    return Request(prompt, model, effort, text, hash_of(text))


def answered_of(form: str, usage: Usage | None = None) -> Answered:
    """Read what `Answered.form` wrote; raises `ValueError` for anything else."""
    members = json.loads(form)
    if not isinstance(members, dict):
        raise ValueError("is no reply")  # noqa: TRY004  callers catch one type
    try:
        calls = tuple(RawCall(*map(_text, call)) for call in members["calls"])
        texts = [_text(members[name]) for name in ("model", "text", "stop")]
    except (KeyError, TypeError) as problem:
        raise ValueError("is no reply") from problem
    found = Answered(texts[0], texts[1], calls, texts[2], usage or Usage())
    if found.form != form:
        raise ValueError("is not in canonical form")
    return found


def canonical(value: object) -> str:
    """Spell a value of JSON in the one way that hashes are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(text: str) -> str:
    """Give `sha256:<hex>` of a text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def plain(value: Any) -> Any:  # noqa: ANN401  any JSON
    """Give mappings and sequences as the types that `json` writes; depth is that of our schemas."""
    if hasattr(value, "items"):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def _tool(tool: Tool) -> Mapping[str, object]:
    return {
        "description": tool.description,
        "name": tool.name,
        "parameters": plain(tool.parameters),
    }


def _turn(turn: Turn) -> Mapping[str, object]:
    return {
        "calls": [[one.identity, one.name, plain(one.arguments)] for one in turn.calls],
        "results": [[one.identity, one.text, one.failed] for one in turn.results],
        "role": turn.role,
        "text": turn.text,
    }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("holds something that is no text")
    return value
