"""Ask Anthropic's models through their library."""

from __future__ import annotations

import threading
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from constat.frozen import slotted
from constat.model.prompts import Answered, ModelError, RawCall, Usage, canonical, plain
from constat.model.retrying import UNREACHED, BrokenReplyError, bounded_client, failure_of

if TYPE_CHECKING:
    from anthropic import Anthropic

    from constat.model.prompts import Request, Turn

_STOPS: Final = (
    ("end_turn", "end"),
    ("stop_sequence", "end"),
    ("tool_use", "tools"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("refusal", "refusal"),
)


@slotted
class _Block:
    kind: str
    identity: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    given: str = ""
    ended: bool = False


@slotted
class Accumulating:
    """One reply that is on its way."""

    model: str = ""
    stop: str = ""
    begun: bool = False
    _ended: bool = False
    _blocks: dict[int, _Block] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def take(self, event: Any) -> None:  # noqa: ANN401  whatever the library read
        """Take the next event."""
        match getattr(event, "type", None):
            case "message_start":
                self.begun = True
                message = getattr(event, "message", None)
                self.model = _text(getattr(message, "model", None))
                self._count(getattr(message, "usage", None))
            case "content_block_start":
                self._blocks[_index(event)] = _block(getattr(event, "content_block", None))
            case "content_block_delta":
                self._add(_index(event), getattr(event, "delta", None))
            case "content_block_stop":
                block = self._blocks.get(_index(event))
                if block is not None:
                    block.ended = True
            case "message_delta":
                told = _text(getattr(getattr(event, "delta", None), "stop_reason", None))
                self.stop = dict(_STOPS).get(told, "")
                self._count(getattr(event, "usage", None))
            case "message_stop":
                self._ended = True

    def answered(self, *, whole: bool = True) -> Answered:
        """Give what there is."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text = "".join(part for one in blocks if one.kind == "text" for part in one.parts)
        calls = tuple(
            RawCall(one.identity, one.name, "".join(one.parts) or one.given or "{}")
            for one in blocks
            if one.kind == "tool_use" and one.ended
        )
        received = 0 if whole else sum(len(part) for one in blocks for part in one.parts)
        return Answered(self.model, text, calls, self.stop, self._usage(received), whole)

    def finished(self) -> Answered:
        """Give the reply; raises `BrokenReplyError` where the stream ended before it."""
        if not self._ended or not self.stop:
            reason = "the reply ended before its end" if self.begun else "there was no reply"
            raise BrokenReplyError(reason, self.answered(whole=False))
        return self.answered()

    def _add(self, index: int, delta: Any) -> None:  # noqa: ANN401  whatever came
        block = self._blocks.get(index)
        if block is None:
            return
        match getattr(delta, "type", None), block.kind:
            case "text_delta", "text":
                block.parts.append(_text(getattr(delta, "text", None)))
            case "input_json_delta", "tool_use":
                block.parts.append(_text(getattr(delta, "partial_json", None)))

    def _count(self, usage: Any) -> None:  # noqa: ANN401  whatever came
        # The figures of a later event are those of the whole reply so far.
        for name in (
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
        ):
            found = getattr(usage, name, None)
            if type(found) is int and found >= 0:
                self._counts[name] = found

    def _usage(self, received: int) -> Usage:
        # A stream that broke off has not told its tokens: none has less than a character.
        count = self._counts.get
        return Usage(
            calls=1,
            read=count("input_tokens", 0),
            cached=count("cache_read_input_tokens", 0),
            written=max(count("output_tokens", 0), received),
            stored=count("cache_creation_input_tokens", 0),
        )


def _block(written: Any) -> _Block:  # noqa: ANN401  whatever came
    found = _Block(_text(getattr(written, "type", None)))
    if found.kind == "tool_use":
        found.identity = _text(getattr(written, "id", None))
        found.name = _text(getattr(written, "name", None))
        given = getattr(written, "input", None)
        found.given = canonical(given) if given and isinstance(given, dict) else ""
    elif found.kind == "text":
        found.parts.append(_text(getattr(written, "text", None)))
    return found


def _index(event: Any) -> int:  # noqa: ANN401  whatever came
    found = getattr(event, "index", None)
    return found if type(found) is int else -1


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


ADDRESS: Final = "https://api.anthropic.com"
_CACHED: Final = (("type", "ephemeral"),)
_CONNECT_SECONDS: Final = 10.0


@slotted
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
