"""Ask models behind an OpenAI-compatible interface, local servers among them."""

from __future__ import annotations

import json
import threading
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from constat.frozen import slotted
from constat.model.prompts import Answered, ModelError, RawCall, Usage, plain
from constat.model.retrying import UNREACHED, BrokenReplyError, bounded_client, failure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai import OpenAI

    from constat.model.prompts import Request, Turn

_STOPS: Final = (
    ("stop", "end"),
    ("tool_calls", "tools"),
    ("function_call", "tools"),
    ("length", "length"),
    ("content_filter", "refusal"),
)


@slotted
class _Call:
    identity: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)


@slotted
class Accumulating:
    """One reply that is on its way; `sent` are the bytes of its request."""

    sent: int
    model: str = ""
    stop: str = ""
    begun: bool = False
    _texts: list[str] = field(default_factory=list)
    _refused: bool = False
    _calls: dict[int, _Call] = field(default_factory=dict)
    _usage: Usage | None = None

    def take(self, chunk: Any) -> None:  # noqa: ANN401  whatever the library read
        """Take the next chunk."""
        self.begun = True
        self.model = self.model or _text(getattr(chunk, "model", None))
        self._count(getattr(chunk, "usage", None))
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list) or not choices:
            return
        choice = choices[0]
        told = _text(getattr(choice, "finish_reason", None))
        self.stop = dict(_STOPS).get(told, self.stop)
        delta = getattr(choice, "delta", None)
        self._texts.append(_text(getattr(delta, "content", None)))
        refusal = _text(getattr(delta, "refusal", None))
        self._refused = self._refused or bool(refusal)
        self._texts.append(refusal)
        calls = getattr(delta, "tool_calls", None)
        for call in calls if isinstance(calls, list) else ():
            self._add(call)

    def answered(self, *, whole: bool = True) -> Answered:
        """Give what there is."""
        calls = tuple(
            RawCall(one.identity, one.name, "".join(one.parts) or "{}")
            for _, one in sorted(self._calls.items())
        )
        text, stop = "".join(self._texts), "refusal" if self._refused else self.stop
        usage = self._usage
        if usage is None:
            written = len(text) + sum(len(one.arguments) for one in calls)
            usage = Usage(calls=1, read=self.sent, written=written)
        return Answered(self.model, text, calls, stop, usage, whole)

    def finished(self) -> Answered:
        """Give the reply; raises `BrokenReplyError` where the stream ended before it."""
        if not self.stop:
            reason = "the reply ended before its end" if self.begun else "there was no reply"
            raise BrokenReplyError(reason, self.answered(whole=False))
        return self.answered()

    def _add(self, call: Any) -> None:  # noqa: ANN401  whatever came
        index = getattr(call, "index", None)
        found = self._calls.setdefault(index if type(index) is int else -1, _Call())
        found.identity = found.identity or _text(getattr(call, "id", None))
        function = getattr(call, "function", None)
        found.name = found.name or _text(getattr(function, "name", None))
        found.parts.append(_text(getattr(function, "arguments", None)))

    def _count(self, usage: Any) -> None:  # noqa: ANN401  whatever came
        read = getattr(usage, "prompt_tokens", None)
        written = getattr(usage, "completion_tokens", None)
        if type(read) is int and type(written) is int and read >= 0 and written >= 0:
            details = getattr(usage, "prompt_tokens_details", None)
            cached = getattr(details, "cached_tokens", None)
            cached = cached if type(cached) is int and 0 <= cached <= read else 0
            self._usage = Usage(calls=1, read=read - cached, cached=cached, written=written)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_OWN_HOST: Final = "api.openai.com"
_CONNECT_SECONDS: Final = 10.0
_NO_KEY: Final = "none"
_OTHERS_HEADERS: Final = ("OpenAI-Organization", "OpenAI-Project")
_MISSING: Final = "C0831"


@slotted
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
