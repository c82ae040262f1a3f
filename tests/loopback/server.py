"""A server on the loopback interface that speaks as providers of language models do.

In: what to answer: `Written` answers, which people wrote by hand, or `Raw` bytes for what goes
wrong. Out: the Messages API with streaming and token counts, and OpenAI-compatible chat
completions. Invariants: no model is asked and none is claimed: the server calls itself
`written-answers`; every request is kept in `asked`. Example:
`with ModelServer(lambda asked: Written("yes")) as server: ... server.address`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

WRITTEN_MODEL: Final = "written-answers"
_EVENTS: Final = {"content-type": "text/event-stream"}
_JSON: Final = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Said:
    """One turn as it arrived."""

    role: str
    text: str
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: who speaks which protocol, and what it says."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    system: str
    turns: tuple[Said, ...]

    @property
    def question(self) -> str:
        """The text of the first turn."""
        return self.turns[0].text if self.turns else ""

    @property
    def last(self) -> str:
        """The text of the last turn, with the results of tools in it."""
        turn = self.turns[-1]
        return "\n".join((*turn.results, turn.text))

    @property
    def turn(self) -> int:
        """How many turns the model has had."""
        return sum(said.role == "assistant" for said in self.turns)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that may be called."""
        offered = self.body.get("tools") or ()
        return tuple(one.get("name") or one["function"]["name"] for one in offered)

    @property
    def chat(self) -> bool:
        """Whether it came to the OpenAI-compatible address."""
        return self.path.endswith("/chat/completions")

    @property
    def counting(self) -> bool:
        """Whether only the tokens are wanted."""
        return self.path.endswith("/count_tokens")

    @property
    def tokens(self) -> int:
        """What this server calls the tokens of the request: a quarter of its bytes."""
        return len(json.dumps(self.body)) // 4


@dataclass(frozen=True, slots=True)
class Written:
    """An answer that somebody wrote. Arguments that are a text go out as that text."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    stop: str = ""
    model: str = WRITTEN_MODEL
    cached: int = 0
    stored: int = 0

    @property
    def tokens(self) -> int:
        return (len(self.text) + sum(len(_arguments(a)) for _, a in self.calls)) // 4 + 1


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are. With `cut` the connection ends before the response does."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: _EVENTS)
    chunks: tuple[bytes, ...] = ()
    cut: bool = False


Answer = Written | Raw
Answerer = Callable[[Asked], Answer]


class ModelServer:
    """Runs from `with` to its end, in a thread."""

    def __init__(self, answerer: Answerer) -> None:
        self.asked: list[Asked] = []
        self.counted: list[Asked] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.answerer = answerer
        self._server.owner = self
        # Closing waits for the next look around, which every test would pay for.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def address(self) -> str:
        """The base address of the Messages API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def chat_address(self) -> str:
        """The base address of the OpenAI-compatible interface."""
        return f"{self.address}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answerer: Answerer
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  as overridden
        """Say nothing: clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    # Without both of these each small write waits for an acknowledgement that is delayed.
    wbufsize = -1
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(size))
        asked = _asked(self.path, body, dict(self.headers.items()))
        if asked.counting:
            self.server.owner.counted.append(asked)
            self._send(200, _JSON, (json.dumps({"input_tokens": asked.tokens}).encode(),))
            return
        self.server.owner.asked.append(asked)
        answer = self.server.answerer(asked)
        match answer:
            case Raw():
                self._send(answer.status, answer.headers, answer.chunks, cut=answer.cut)
            case Written() if body.get("stream"):
                told = _chat_events if asked.chat else _events
                self._send(200, _EVENTS, tuple(told(asked, answer)))
            case Written():
                whole = _chat_whole if asked.chat else _whole
                self._send(200, _JSON, (json.dumps(whole(asked, answer)).encode(),))

    def _send(
        self,
        status: int,
        headers: Mapping[str, str],
        chunks: tuple[bytes, ...],
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        missing = 100 if cut else 0
        self.send_header("content-length", str(sum(map(len, chunks)) + missing))
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(chunk)
            self.wfile.flush()
        if cut:
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  as overridden
        """Keep quiet."""


def _asked(path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Asked:
    if path.endswith("/chat/completions"):
        said = tuple(_chat_said(one) for one in body["messages"] if one["role"] != "system")
        system = "".join(str(m["content"]) for m in body["messages"] if m["role"] == "system")
        return Asked(path, body, headers, system, said)
    system = body.get("system") or ""
    if not isinstance(system, str):
        system = "".join(block["text"] for block in system)
    return Asked(path, body, headers, system, tuple(map(_said, body["messages"])))


def _said(message: Mapping[str, Any]) -> Said:
    content = message["content"]
    if isinstance(content, str):
        return Said(message["role"], content)
    kinds: dict[str, list[str]] = {"text": [], "tool_use": [], "tool_result": []}
    for block in content:
        match block["type"]:
            case "text":
                kinds["text"].append(block["text"])
            case "tool_use":
                kinds["tool_use"].append(block["name"])
            case "tool_result":
                inner = block["content"]
                plain = inner if isinstance(inner, str) else "".join(one["text"] for one in inner)
                kinds["tool_result"].append(plain)
    return Said(
        message["role"],
        "".join(kinds["text"]),
        tuple(kinds["tool_use"]),
        tuple(kinds["tool_result"]),
    )


def _chat_said(message: Mapping[str, Any]) -> Said:
    text = message.get("content") or ""
    if message["role"] == "tool":
        return Said("user", "", results=(text,))
    calls = tuple(one["function"]["name"] for one in message.get("tool_calls") or ())
    return Said(message["role"], text, calls)


def _arguments(written: Mapping[str, Any] | str) -> str:
    return written if isinstance(written, str) else json.dumps(written)


def _stop(answer: Written) -> str:
    return answer.stop or ("tool_use" if answer.calls else "end_turn")


def _usage(asked: Asked, answer: Written) -> dict[str, int]:
    return {
        "input_tokens": asked.tokens - answer.cached - answer.stored,
        "cache_read_input_tokens": answer.cached,
        "cache_creation_input_tokens": answer.stored,
        "output_tokens": answer.tokens,
    }


def _whole(asked: Asked, answer: Written) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    for number, (name, arguments) in enumerate(answer.calls):
        given = json.loads(_arguments(arguments))
        blocks.append(
            {"type": "tool_use", "id": f"toolu_{number:02}", "name": name, "input": given}
        )
    return {
        "id": "msg_written",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": blocks,
        "stop_reason": _stop(answer),
        "stop_sequence": None,
        "usage": _usage(asked, answer),
    }


def event(kind: str, **members: object) -> bytes:
    """Give one server-sent event of the Messages API."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def message_start(asked: Asked, answer: Written) -> bytes:
    """Give the first event of a stream."""
    whole = {**_whole(asked, Written(model=answer.model)), "stop_reason": None}
    return event("message_start", message={**whole, "usage": _usage(asked, answer)})


def _events(asked: Asked, answer: Written) -> Iterator[bytes]:
    yield message_start(asked, answer)
    number = 0
    if answer.text:
        block = {"type": "text", "text": ""}
        yield event("content_block_start", index=number, content_block=block)
        for part in _parts(answer.text):
            delta = {"type": "text_delta", "text": part}
            yield event("content_block_delta", index=number, delta=delta)
        yield event("content_block_stop", index=number)
        number += 1
    for place, (name, arguments) in enumerate(answer.calls):
        block = {"type": "tool_use", "id": f"toolu_{place:02}", "name": name, "input": {}}  # type: ignore[dict-item]
        yield event("content_block_start", index=number, content_block=block)
        for part in _parts(_arguments(arguments)):
            delta = {"type": "input_json_delta", "partial_json": part}
            yield event("content_block_delta", index=number, delta=delta)
        yield event("content_block_stop", index=number)
        number += 1
    delta = {"stop_reason": _stop(answer), "stop_sequence": None}  # type: ignore[dict-item]
    yield event("message_delta", delta=delta, usage={"output_tokens": answer.tokens})
    yield event("message_stop")


def _parts(text: str) -> Iterator[str]:
    """Cut a text as streams do, which is anywhere."""
    for start in range(0, len(text), 40):
        yield text[start : start + 40]


_CHAT_STOPS: Final = {
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
}


def _chat_calls(answer: Written) -> list[dict[str, Any]]:
    return [
        {
            "index": number,
            "id": f"call_{number:02}",
            "type": "function",
            "function": {"name": name, "arguments": _arguments(arguments)},
        }
        for number, (name, arguments) in enumerate(answer.calls)
    ]


def _chat_usage(asked: Asked, answer: Written) -> dict[str, Any]:
    return {
        "prompt_tokens": asked.tokens,
        "completion_tokens": answer.tokens,
        "total_tokens": asked.tokens + answer.tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached},
    }


def _chat_whole(asked: Asked, answer: Written) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _chat_calls(answer)
    stop = _stop(answer)
    choice = {"index": 0, "message": message, "finish_reason": _CHAT_STOPS.get(stop, stop)}
    usage = _chat_usage(asked, answer)
    return {**_chat_frame("chat.completion", answer), "choices": [choice], "usage": usage}


def _chat_frame(kind: str, answer: Written) -> dict[str, Any]:
    return {"id": "chatcmpl-written", "object": kind, "created": 0, "model": answer.model}


def _chat_events(asked: Asked, answer: Written) -> Iterator[bytes]:
    frame = _chat_frame("chat.completion.chunk", answer)

    def chunk(delta: Mapping[str, Any], stop: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        return f"data: {json.dumps({**frame, 'choices': [choice]})}\n\n".encode()

    yield chunk({"role": "assistant", "content": ""})
    for part in _parts(answer.text):
        yield chunk({"content": part})
    for one in _chat_calls(answer):
        arguments = one["function"]["arguments"]
        opened = {**one, "function": {"name": one["function"]["name"], "arguments": ""}}
        yield chunk({"tool_calls": [opened]})
        for part in _parts(arguments):
            more = {"index": one["index"], "function": {"arguments": part}}
            yield chunk({"tool_calls": [more]})
    stop = _stop(answer)
    yield chunk({}, _CHAT_STOPS.get(stop, stop))
    usage = {**frame, "choices": [], "usage": _chat_usage(asked, answer)}
    yield f"data: {json.dumps(usage)}\n\n".encode()
    yield b"data: [DONE]\n\n"
