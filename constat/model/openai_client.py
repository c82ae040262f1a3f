"""Ask models behind an OpenAI-compatible interface, local servers among them.

In: a `Request`, and how long to wait. Out: `Answered`, read from a stream chunk by chunk. The
library is the extra `openai`. Invariants: an organisation or project of the environment, which is
another provider's business, is not sent; a server that does not tell its usage is taken to have
used as many tokens as there were bytes. Example:
`OpenAIProvider("http://localhost:11434/v1", "")`.
Reference: chat completions with tools, as many servers implement them.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from constat.model.canonical import plain
from constat.model.failures import UNREACHED, failure_of
from constat.model.http_bounds import bounded_client
from constat.model.openai_chunks import Accumulating
from constat.model.prompts import ModelError
from constat.model.provider import BrokenReplyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai import OpenAI

    from constat.model.canonical import Answered, Request
    from constat.model.prompts import Turn

_OWN_HOST: Final = "api.openai.com"
_CONNECT_SECONDS: Final = 10.0
_NO_KEY: Final = "none"
_OTHERS_HEADERS: Final = ("OpenAI-Organization", "OpenAI-Project")
_MISSING: Final = "C0831"


@dataclass(slots=True)
class OpenAIProvider:
    """Models behind chat completions at one address. May be used by several threads."""

    address: str
    key: str = field(repr=False)
    _client: OpenAI | None = field(default=None, repr=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, init=False)

    def send(self, request: Request, seconds: float) -> Answered:
        """Ask once, reading the reply as a stream."""
        client = self._opened()
        gathered = Accumulating(len(request.text))
        try:
            with client.chat.completions.create(
                **_parameters(request, self.address),
                stream=True,
                stream_options={"include_usage": True},
                timeout=_timeout(seconds),
            ) as stream:
                for chunk in stream:
                    gathered.take(chunk)
        except Exception as problem:  # noqa: BLE001  what a library does with hostile bytes
            failure = failure_of(problem, self.key)
            if gathered.begun:
                retryable = failure.code == UNREACHED
                answered = gathered.answered(whole=False)
                raise BrokenReplyError(str(failure), answered, retryable=retryable) from None
            raise failure from None
        return gathered.finished()

    def count(self, request: Request, seconds: float) -> int | None:  # noqa: ARG002  the protocol
        """Give nothing: the interface does not count."""
        return None

    def close(self) -> None:
        """Close connections; they are opened anew when they are needed."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> OpenAI:
        try:
            import openai  # noqa: PLC0415  heavy library, loaded on first use
        except ImportError:
            reason = "the library `openai` is not installed: `pip install constat[openai]`"
            raise ModelError(_MISSING, reason) from None
        # The library takes them for values that are left out, which its types do not say.
        nothing_of_others: Any = dict.fromkeys(_OTHERS_HEADERS, openai.Omit())
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self.key or _NO_KEY,
                    base_url=self.address,
                    max_retries=0,
                    default_headers=nothing_of_others,
                    http_client=bounded_client(self.address),
                )
            return self._client


def _timeout(seconds: float) -> Any:  # noqa: ANN401  of httpx2
    import httpx2  # noqa: PLC0415  heavy library, loaded on first use

    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


def _parameters(request: Request, address: str) -> dict[str, Any]:
    prompt = request.prompt
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    messages += [message for turn in prompt.turns for message in _messages(turn)]
    # The company's own models want the new name, which other servers mostly do not know.
    own = urlsplit(address).hostname == _OWN_HOST
    found: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "max_completion_tokens" if own else "max_tokens": prompt.most_tokens,
    }
    if prompt.tools:
        found["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": one.name,
                    "description": one.description,
                    "parameters": plain(one.parameters),
                },
            }
            for one in prompt.tools
        ]
    if prompt.must_call is not None:
        found["tool_choice"] = {"type": "function", "function": {"name": prompt.must_call}}
    if request.effort:
        found["reasoning_effort"] = request.effort
    return found


def _messages(turn: Turn) -> Iterator[dict[str, Any]]:
    """Give a turn as messages: each result of a tool is one of its own."""
    for one in turn.results:
        text = f"error: {one.text}" if one.failed else one.text
        yield {"role": "tool", "tool_call_id": one.identity, "content": text}
    if not turn.text and not turn.calls:
        return
    message: dict[str, Any] = {"role": turn.role, "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": one.identity,
                "type": "function",
                "function": {"name": one.name, "arguments": json.dumps(plain(one.arguments))},
            }
            for one in turn.calls
        ]
    yield message
