"""Ask Anthropic's models through their library.

In: a `Request`, and how long to wait. Out: `Answered`, read from a stream event by event, so that
time and size are bounded and what came before a break is known. Invariants: the system text and
the tools, which stay the same from call to call, are marked for the provider's prompt cache; the
key is never in `repr`. Example: `AnthropicProvider("https://api.anthropic.com", key)`.
Reference: the Messages API, version 2026-10-21 as the library sends it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from constat.model.anthropic_events import Accumulating
from constat.model.canonical import plain
from constat.model.failures import UNREACHED, failure_of
from constat.model.http_bounds import bounded_client
from constat.model.prompts import ModelError
from constat.model.provider import BrokenReplyError

if TYPE_CHECKING:
    from anthropic import Anthropic

    from constat.model.canonical import Answered, Request
    from constat.model.prompts import Turn

ADDRESS: Final = "https://api.anthropic.com"
_CACHED: Final = (("type", "ephemeral"),)
_CONNECT_SECONDS: Final = 10.0


@dataclass(slots=True)
class AnthropicProvider:
    """Models behind the Messages API at one address. May be used by several threads."""

    address: str
    key: str = field(repr=False)
    _client: Anthropic | None = field(default=None, repr=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, init=False)

    def send(self, request: Request, seconds: float) -> Answered:
        """Ask once, reading the reply as a stream."""
        gathered = Accumulating()
        try:
            with self._opened().messages.create(
                **_parameters(request),
                max_tokens=request.prompt.most_tokens,
                stream=True,
                timeout=_timeout(seconds),
            ) as stream:
                for event in stream:
                    gathered.take(event)
        except Exception as problem:  # noqa: BLE001  what a library does with hostile bytes
            failure = failure_of(problem, self.key)
            if gathered.begun:
                retryable = failure.code == UNREACHED
                answered = gathered.answered(whole=False)
                raise BrokenReplyError(str(failure), answered, retryable=retryable) from None
            raise failure from None
        return gathered.finished()

    def count(self, request: Request, seconds: float) -> int | None:
        """Ask how many tokens a request has; that costs nothing."""
        try:
            found = self._opened().messages.count_tokens(
                **_parameters(request), timeout=_timeout(seconds)
            )
        except Exception as problem:  # noqa: BLE001  what a library does with hostile bytes
            raise failure_of(problem, self.key) from None
        tokens = found.input_tokens
        if type(tokens) is not int or tokens < 0:
            raise ModelError("C0826", "the provider's count of tokens is no number")
        return tokens

    def close(self) -> None:
        """Close connections; they are opened anew when they are needed."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> Anthropic:
        import anthropic  # noqa: PLC0415  heavy library, loaded on first use

        with self._lock:
            if self._client is None:
                # Retries are ours: the library would wait for as long as a server tells it to.
                self._client = anthropic.Anthropic(
                    api_key=self.key,
                    base_url=self.address,
                    max_retries=0,
                    http_client=bounded_client(self.address),
                )
            return self._client


def _timeout(seconds: float) -> Any:  # noqa: ANN401  of httpx2
    import httpx2  # noqa: PLC0415  heavy library, loaded on first use

    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


def _parameters(request: Request) -> dict[str, Any]:
    """Give what both asking and counting send."""
    prompt = request.prompt
    found: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(turn) for turn in prompt.turns],
    }
    if prompt.system:
        found["system"] = [
            {"type": "text", "text": prompt.system, "cache_control": dict(_CACHED)},
        ]
    if prompt.tools:
        tools = [
            {"name": t.name, "description": t.description, "input_schema": plain(t.parameters)}
            for t in prompt.tools
        ]
        tools[-1]["cache_control"] = dict(_CACHED)
        found["tools"] = tools
    if prompt.must_call is not None:
        found["tool_choice"] = {
            "type": "tool",
            "name": prompt.must_call,
            "disable_parallel_tool_use": True,
        }
    if request.effort:
        found["output_config"] = {"effort": request.effort}
    return found


def _message(turn: Turn) -> dict[str, Any]:
    # Results come first: the interface asks for them at once after the calls.
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": one.identity,
            "content": one.text,
            "is_error": one.failed,
        }
        for one in turn.results
    ]
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {"type": "tool_use", "id": one.identity, "name": one.name, "input": plain(one.arguments)}
        for one in turn.calls
    ]
    return {"role": turn.role, "content": blocks}
