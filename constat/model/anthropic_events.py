"""Put the events of a Messages stream together.

In: events in the order in which they came, from whoever is at the other end. Out: `Answered`.
Invariants: the work is linear in the events; nothing an event says is believed but its type, so
that blocks out of order, of unknown kinds or never ended make a reply that is not whole, and no
exception of theirs. Example: start, delta, delta, stop give one text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from constat.model.canonical import Answered, RawCall, canonical
from constat.model.prompts import Usage
from constat.model.provider import BrokenReplyError

_STOPS: Final = (
    ("end_turn", "end"),
    ("stop_sequence", "end"),
    ("tool_use", "tools"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("refusal", "refusal"),
)


@dataclass(slots=True)
class _Block:
    kind: str
    identity: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    given: str = ""
    ended: bool = False


@dataclass(slots=True)
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
