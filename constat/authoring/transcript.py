"""The record of how a question became a goal: what was said, looked up, proposed and found wrong.

In: turns, as they happen. Out: plain JSON. Invariants: a record at any moment is whole; it holds
what was exchanged and nothing of the machine; its identity is that of the question and the moment.
Example: `Transcript("Is C001 a VIP?", "2026-01-31T10:00:00.000000Z").identity` has 16 digits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constat.diagnostics import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.diagnostics import Diagnostic
    from constat.model import Reply, ToolCall, Usage

_DIGITS = 16


@dataclass(slots=True)
class Transcript:
    """What was exchanged about one question, in order; `outcome` is empty until it has ended."""

    question: str
    at: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    outcome: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The beginning of the sha256 of question and moment."""
        return hashlib.sha256(f"{self.at}\n{self.question}".encode()).hexdigest()[:_DIGITS]

    def asked(self, text: str) -> None:
        """Note what the model was told."""
        self.entries.append({"kind": "told", "text": text})

    def replied(self, reply: Reply) -> None:
        """Note what the model said, with its hashes."""
        self.entries.append(
            {
                "kind": "reply",
                "model": reply.model,
                "at": reply.at,
                "replayed": reply.replayed,
                "prompt_hash": reply.prompt_hash,
                "response_hash": reply.response_hash,
                "stop": reply.stop,
                "text": reply.text,
                "calls": [_call(one) for one in reply.calls],
                "usage": usage_json(reply.usage),
            }
        )

    def looked_up(self, call: ToolCall, text: str, *, failed: bool) -> None:
        """Note what a tool gave."""
        self.entries.append({"kind": "lookup", "call": _call(call), "text": text, "failed": failed})

    def checked(self, number: int, diagnostics: Sequence[Diagnostic], *, passed: bool) -> None:
        """Note what a check found in a proposal."""
        self.entries.append(
            {
                "kind": "check",
                "round": number,
                "passed": passed,
                "diagnostics": to_json(diagnostics),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """Give the record so far."""
        return {
            "id": self.identity,
            "question": self.question,
            "at": self.at,
            "entries": list(self.entries),
            "outcome": dict(self.outcome),
        }


def usage_json(usage: Usage) -> dict[str, Any]:
    """Give tokens as numbers and the price as an exact text."""
    return {
        "calls": usage.calls,
        "read": usage.read,
        "cached": usage.cached,
        "stored": usage.stored,
        "written": usage.written,
        "cost": f"{usage.cost:f}",
    }


def _call(call: ToolCall) -> dict[str, Any]:
    given: object = call.arguments
    arguments = dict(given) if isinstance(given, Mapping) else None
    return {"name": call.name, "arguments": arguments}
