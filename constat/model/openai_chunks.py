"""Put the chunks of a chat completion together.

In: chunks in the order in which they came, from whoever is at the other end. Out: `Answered`.
Invariants: the work is linear in the chunks; nothing is believed but what has the right type; a
stream without a reason for its end is not whole. Example: two chunks of text and one with
`finish_reason: stop` give one text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from constat.model.canonical import Answered, RawCall
from constat.model.prompts import Usage
from constat.model.provider import BrokenReplyError

_STOPS: Final = (
    ("stop", "end"),
    ("tool_calls", "tools"),
    ("function_call", "tools"),
    ("length", "length"),
    ("content_filter", "refusal"),
)


@dataclass(slots=True)
class _Call:
    identity: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
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
