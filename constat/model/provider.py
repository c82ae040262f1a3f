"""What a provider of models does: one request goes out, one answer comes back, or `ModelError`.

Out: the protocol that the clients of Anthropic and of OpenAI-compatible servers implement.
Invariants: a provider never asks twice by itself, follows no redirect and waits no longer than it
was told; its `repr` shows no key. Example: `AnthropicProvider(address, key).send(request, 30.0)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from constat.model.prompts import ModelError

if TYPE_CHECKING:
    from constat.model.canonical import Answered, Request
    from constat.model.prompts import Usage


class Provider(Protocol):
    """One address that models are asked at."""

    def send(self, request: Request, seconds: float) -> Answered:
        """Ask once; raises `ModelError`, with what came so far where something did."""
        ...

    def count(self, request: Request, seconds: float) -> int | None:
        """Count the tokens of a request without asking; `None` where nobody can tell."""
        ...


class MisfitReplyError(ModelError):
    """A whole reply that calls the wrong tool, or with arguments that do not fit."""

    def __init__(self, message: str, answered: Answered) -> None:
        super().__init__("C0826", message, usage=answered.usage)
        self.answered = answered


class BrokenReplyError(ModelError):
    """A reply that ended too early: what came of it was paid for."""

    def __init__(self, message: str, answered: Answered, *, retryable: bool = True) -> None:
        usage: Usage = answered.usage
        super().__init__("C0826", message, retryable=retryable, usage=usage)
        self.answered = answered
